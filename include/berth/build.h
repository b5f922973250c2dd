/*
 * build.h - the version of this build.
 *
 * Constant; any thread.  Defined once in each program, by a file that CMake writes.
 */
#ifndef BERTH_BUILD_H
#define BERTH_BUILD_H

#include <stdbool.h>

struct build {
	const char *version; /* "0.2.0", or "0.2.0+20261122201500.8ac7f6310b2e" after it */
	const char *commit;  /* 12 hexadecimal digits; "": unknown */
	bool io_uring;       /* built with liburing: many files are read through it */
	bool bench_console; /* built with libvterm: agents have terminals, the suite console can be measured */
};

extern const struct build berth_build;

#endif
