/*
 * list.h - every suite, once.  A new suite is a file in suites/ and a line here.
 */
#ifndef BENCH_LIST_H
#define BENCH_LIST_H

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
	SUITE(inside)
/* clang-format on */

#endif
