/*
 * build.h - which berth this is: what the build knew of itself.
 *
 * Constant; any thread.  Defined once in each program, by a file that CMake writes.
 */
#ifndef BERTH_BUILD_H
#define BERTH_BUILD_H

#include <stdbool.h>

struct build {
	const char *version; /* "0.2.0" */
	bool io_uring; /* built with liburing: many files are read through it where that is faster */
	bool bench_console; /* built with libvterm: the suite console can be measured */
};

extern const struct build berth_build;

#endif
