/*
 * audit_log.h - what the tests of the audit log share: a directory of their own, records, edits.
 */
#ifndef TESTS_AUDIT_LOG_H
#define TESTS_AUDIT_LOG_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "audit/audit.h"
#include "audit/chain.h"

static inline char *log_dir_new(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/berth-audit-XXXXXX", tmp ? tmp : "/tmp");

	if (!mkdtemp(dir))
		abort();
	return dir;
}

static inline void log_dir_clear(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)))
		unlinkat(dirfd(d), entry->d_name, 0);
	if (d)
		closedir(d);
}

static inline void log_dir_free(char *dir)
{
	log_dir_clear(dir);
	rmdir(dir);
	free(dir);
}

static inline struct audit_record log_record(enum operation operation, enum audit_phase phase)
{
	return (struct audit_record){.operation = operation,
		.phase = phase,
		.target_type = "container",
		.engine = "QLSZ:PNHK",
		.target = "8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d8f2d6c0e3b1a4f5d",
		.name = "berth-agent_a",
		.duration_us = -1};
}

static inline char *log_path(const char *dir, const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

/* The n-th segment (from 0) in order; "" when there are not so many. */
static inline char *log_segment(const char *dir, int n)
{
	char *names[512] = {0}, *ret = NULL;
	int count = 0;
	DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && count < 512 && (entry = readdir(d)))
		if (strlen(entry->d_name) == 26 && strcmp(entry->d_name + 20, ".jsonl") == 0) {
			int at = count++;

			for (; at > 0 && strcmp(names[at - 1], entry->d_name) > 0; at--)
				names[at] = names[at - 1];
			names[at] = strdup(entry->d_name);
		}
	if (d)
		closedir(d);
	if (n < 0)
		n += count;
	ret = n >= 0 && n < count ? log_path(dir, names[n]) : strdup("");
	for (int i = 0; i < count; i++)
		free(names[i]);
	return ret;
}

static inline char *file_read(const char *path, size_t *ret_len)
{
	FILE *f = fopen(path, "re");
	struct str s = STR_INIT;
	char buf[4096];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof buf, f)) > 0)
		str_add(&s, buf, n);
	if (f)
		fclose(f);
	if (ret_len)
		*ret_len = s.len;
	return str_detach(&s);
}

static inline void file_write(const char *path, const char *bytes, size_t n)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		abort();
}

static inline struct audit_verdict log_verify(const char *path, const char *head)
{
	struct audit_verify what = {.path = path, .head = head};
	struct audit_verdict v;
	struct err e = ERR_INIT;

	if (audit_verify(&what, &v, &e) < 0) {
		fprintf(stderr, "verify: %s\n", e.msg);
		abort();
	}
	return v;
}

/* Retention without waiting for a segment to be full, as another process would do it.  `sys` NULL: real system calls. */
static inline int log_prune(
	const char *dir, const struct audit_sys *sys, uint64_t keep_bytes, uint64_t *ret_removed)
{
	const struct audit_options o = {.dir = dir,
		.program = "prune",
		.reserve_bytes = 65536,
		.checkpoint_records = 7,
		.sys = sys};
	struct chain c;
	int rc;

	chain_init(&c, &o);
	rc = chain_open(&c, NULL);
	if (!rc && !(rc = chain_begin(&c, 0, NULL))) {
		rc = chain_sync(&c, NULL);
		if (!rc)
			rc = chain_prune(&c, 0, keep_bytes, ret_removed, NULL);
		chain_end(&c);
	}
	chain_release(&c);
	return rc;
}

#endif
