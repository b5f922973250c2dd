/*
 * bench.h - every suite of benchmarks, once.  A new suite is a file in bench/suites/ and a line here: the
 * program that runs them and the console that offers them know it from here.
 */
#ifndef BERTH_BENCH_H
#define BERTH_BENCH_H

/* clang-format off */
#define SUITES(SUITE) \
	SUITE(self) \
	SUITE(stats) \
	SUITE(console) \
	SUITE(audit) \
	SUITE(clean) \
	SUITE(files_read) \
	SUITE(files_scan) \
	SUITE(files_search) \
	SUITE(files_change) \
	SUITE(containers) \
	SUITE(inside) \
	SUITE(lane)
/* clang-format on */

#endif
