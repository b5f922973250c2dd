/* tests.c - lists the tests that suite files can name (plan.h); `berth bench list --tests` prints them. */
#include "plan.h"
#include "suites/templates.h"

static const struct bench_case *const reads[] = {&files_read_warm, &files_read_cold, NULL};
static const struct bench_case *const writes[] = {&files_write_many, NULL};

#define FILES_AT_MOST 100000

#define CONTAINERS(name, about, cases)                                  \
	{                                                               \
		"containers", name, about, cases, NULL, 0, 0, {0}, NULL \
	}

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
	CONTAINERS("creation", "create a container", "containers/creation"),
	CONTAINERS("start", "start one, and a tool's cold start", "containers/*start"),
	CONTAINERS("end_to_end", "create, start, run, read, remove", "containers/end-to-end"),
	CONTAINERS("parallel", "five at once", "containers/parallel-five"),
	CONTAINERS("load", "10, 20 and 50 at once", "containers/load-*"),
	CONTAINERS("cleanup", "remove one, remove five", "containers/cleanup-*"),
	CONTAINERS("memory_limits", "512m, 1g, 2g", "containers/memory-limits"),
	CONTAINERS("exec_overhead", "trivial, compute and data work", "inside/exec-*"),
	CONTAINERS("seccomp", "with and without a profile", "inside/seccomp"),
	CONTAINERS("network", "none and bridge: latency and throughput", "inside/network-*"),
	CONTAINERS("dependencies", "load time of dependencies per image", "inside/import-*"),
	{0},
};
