/*
 * list.h - every suite, once.  A new suite is a file in suites/ and a line here.
 */
#ifndef BENCH_LIST_H
#define BENCH_LIST_H

#define SUITES(SUITE) SUITE(self) SUITE(files_read)

#endif
