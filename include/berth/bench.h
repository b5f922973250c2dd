/*
 * bench.h - every suite of benchmarks, once: the program that runs them and the console that offers them
 * know it from here.  A new suite is a file in bench/suites/ and a line here.
 *
 * And the person's own suites: files in YAML (bench/plan.h has their form) in the folder `bench` of the
 * configuration directory, ~/.config/berth/bench/NAME.yaml.
 */
#ifndef BERTH_BENCH_H
#define BERTH_BENCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* clang-format off */
#define SUITES(SUITE) \
	SUITE(self, "the noise floor") \
	SUITE(stats, "reading statistics") \
	SUITE(console, "what the person at the console feels") \
	SUITE(audit, "the audit log") \
	SUITE(clean, "cleaning up") \
	SUITE(files_read, "reading many files") \
	SUITE(files_scan, "listing a tree") \
	SUITE(files_search, "searching a tree") \
	SUITE(files_change, "writing, transforming, copying") \
	SUITE(containers, "creation, start, many at once, clean-up") \
	SUITE(inside, "work in containers") \
	SUITE(lane, "commands and tools in containers, over the lane") \
	SUITE(sandbox, "an agent in gVisor, next to runc") \
	SUITE(workspaces, "the end of a workspace: its archive") \
	SUITE(checkpoints, "workspaces: creation, checkpoints, forks, sizes") \
	SUITE(mcp, "the MCP server, next to the reference file server") \
	SUITE(egress, "out of a container without a network")
/* clang-format on */

#define OWN_SUITES_MAX 64

struct own_suite {
	char path[PATH_MAX];
	char name[80];   /* of the file, without .yaml; safe to show */
	char about[120]; /* what its first line says, where that is a comment; safe to show */
};

/* Those in the person's folder, by name; returns how many.  No folder, or one that cannot be read: none.
 * What is in the files is not looked at beyond the first line.  Thread: any; reads the disk. */
size_t own_suites(struct own_suite *ret, size_t max);
/* One of any path: fills *ret, whether it is there or not. */
void own_suite_at(struct own_suite *ret, const char *path);
/* The path of the one of this name ("web" or "web.yaml") in the folder; false: there is none. */
bool own_suite_path(const char *name, char *buf, size_t cap);

#endif
