/* tests.c - the tests that suite files name (plan.h); `berth bench list --tests` prints them. */
#include "plan.h"
#include "suites/templates.h"

static const struct bench_case *const reads[] = {&files_read_warm, &files_read_cold, NULL};
static const struct bench_case *const writes[] = {&files_write_many, NULL};

#define FILES_AT_MOST 100000

const struct bench_test bench_tests[] = {
	{"file_operations", "read_files_parallel", "read many files, cached and guest-cold", NULL,
		"file_count", 1, FILES_AT_MOST, {10, 50, 100}, reads},
	{"file_operations", "write_files_batch", "write many files durably, as one batch", NULL,
		"file_count", 1, FILES_AT_MOST, {10, 100}, writes},
	{"file_operations", "scan", "walk a tree of 100,000 files", "files_scan/*", NULL, 0, 0, {0},
		NULL},
	{"file_operations", "search", "search a tree of 100,000 files", "files_search/*", NULL, 0,
		0, {0}, NULL},
	{"file_operations", "transform", "replace in 10,000 files", "files_change/transform", NULL,
		0, 0, {0}, NULL},
	{"file_operations", "copy", "copy a tree of 20,000 files", "files_change/copy", NULL, 0, 0,
		{0}, NULL},
	{0},
};
