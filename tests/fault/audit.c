/*
 * audit.c - the audit log on disks that fail or are full, on a read-only file system, and written
 * by many processes at once.
 */
#include "fault/audit_fault.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <berth/text.h>

/* -- disks that fail -----------------------------------------------------------------------------
 */

static void fail_calls(const char *kind, int errnum, int from, int until)
{
	memset(&plan, 0, sizeof plan);
	plan.fail_kind = kind;
	plan.fail_errno = errnum;
	plan.fail_from = from;
	plan.fail_until = until;
}

static void test_fsync_fails(void **state)
{
	char *dir = log_dir_new();
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct err e = ERR_INIT;
	struct audit *a;
	uint64_t before, seq;

	(void)state;
	memset(&plan, 0, sizeof plan);
	a = open_log(dir, &e);
	assert_int_equal(audit_write(a, &r, &before, &e), 0);
	fail_calls("fdatasync", EIO, 1, 1);
	assert_int_equal(audit_write(a, &r, &seq, &e), -1);
	assert_int_equal(e.sys, EIO);
	/* The disk says it is well again: this process must not believe it. */
	assert_int_equal(audit_write(a, &r, &seq, &e), -1);
	assert_non_null(strstr(e.msg, "start berth again"));
	assert_true(audit_trouble(a, &e));
	audit_close(a);
	/* What failed is not in the log. */
	expect_clean(dir, "after a failed fdatasync");
	assert_int_equal(log_verify(dir, NULL).last_seq, before);
	/* A new process reads everything again, and goes on. */
	a = open_log(dir, &e);
	assert_int_equal(audit_write(a, &r, &seq, &e), 0);
	assert_int_equal(seq, before + 1);
	audit_close(a);
	expect_clean(dir, "after starting again");
	log_dir_free(dir);
}

/* What an act waits for is one fdatasync; checkpoints come after the answer. */
static void test_one_fdatasync(void **state)
{
	char *dir = memory_dir_new();
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct err e = ERR_INIT;
	struct audit *a;

	(void)state;
	memset(&plan, 0, sizeof plan);
	a = audit_open(&(struct audit_options){.dir = dir, .sys = &test_sys}, &e);
	fail_calls("fdatasync", EIO, INT_MAX, INT_MAX);
	for (int i = 1; i <= 100; i++) {
		assert_int_equal(audit_write(a, &r, NULL, &e), 0);
		assert_int_equal(atomic_load(&plan.of_kind), i);
	}
	audit_close(a);
	log_dir_free(dir);
}

static void test_write_fails(void **state)
{
	static const int errors[] = {EIO, ENOSPC, EDQUOT};

	(void)state;
	for (size_t i = 0; i < COUNT(errors); i++) {
		char *dir = log_dir_new();
		struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
		struct err e = ERR_INIT;
		struct audit *a;
		uint64_t before, seq;

		memset(&plan, 0, sizeof plan);
		a = open_log(dir, &e);
		assert_int_equal(audit_write(a, &r, &before, &e), 0);
		fail_calls("pwrite", errors[i], 1, 1);
		assert_int_equal(audit_write(a, &r, &seq, &e), -1);
		assert_int_equal(e.sys, errors[i]);
		assert_true(audit_trouble(a, NULL));
		/* A write that did not happen may be tried again. */
		assert_int_equal(audit_write(a, &r, &seq, &e), 0);
		assert_int_equal(seq, before + 1);
		assert_false(audit_trouble(a, NULL));
		audit_close(a);
		expect_clean(dir, "after a failed write");
		log_dir_free(dir);
	}
}

/* Each kind of call fails at each place once: never a lie, never a broken log. */
static void test_any_call_fails(void **state)
{
	static const char *const kinds[] = {
		"openat", "pwrite", "fdatasync", "fsync", "ftruncate", "fallocate", "unlinkat"};
	char *dir = memory_dir_new();
	int failures = 0;

	(void)state;
	for (size_t k = 0; k < COUNT(kinds); k++) {
		for (int at = 1, reached = 1; reached; at++) {
			struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
			struct ack acks[16];
			struct audit *a;
			char after[64];
			size_t n = 0;

			log_dir_clear(dir);
			fail_calls(kinds[k], at % 2 ? EIO : ENOSPC, at, at);
			a = open_log(dir, NULL);
			for (int i = 0; a && i < 16; i++) {
				snprintf(acks[n].name, sizeof acks[n].name, "%d", i);
				r.name = acks[n].name;
				n += audit_write(a, &r, &acks[n].seq, NULL) == 0;
				if (i == 11)
					log_prune(dir, &test_sys, 8000, NULL);
			}
			audit_close(a);
			reached = atomic_load(&plan.of_kind) >= at;
			failures += reached;
			snprintf(after, sizeof after, "%s number %d failed", kinds[k], at);
			memset(&plan, 0, sizeof plan);
			a = open_log(dir, NULL);
			assert_non_null(a);
			audit_close(a);
			expect_clean(dir, after);
			expect_held(dir, acks, n, after);
		}
	}
	print_message("           %d failed calls\n", failures);
	assert_true(failures > 100);
	log_dir_free(dir);
}

/* The head is not synced with each record: a power failure brings an older one back. */
static void test_power_failure(void **state)
{
	enum { FROM_THE_START, AS_SYNCED, PRUNED, CASES };

	(void)state;
	for (int c = 0; c < CASES; c++) {
		char *dir = memory_dir_new(), *path = log_path(dir, "head"), *last, *old = NULL;
		struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
		struct ack acks[60];
		struct err e = ERR_INIT;
		struct head head;
		struct audit *a;
		uint64_t next;

		memset(&plan, 0, sizeof plan);
		a = open_log(dir, &e);
		assert_non_null(a);
		for (int i = 0; i < 60; i++) {
			snprintf(acks[i].name, sizeof acks[i].name, "%d", i);
			r.name = acks[i].name;
			assert_int_equal(audit_write(a, &r, &acks[i].seq, &e), 0);
			if (!i)
				old = file_read(path, NULL);
		}
		if (c == PRUNED)
			assert_int_equal(log_prune(dir, &test_sys, 8000, NULL), 0);
		audit_close(a);
		next = log_verify(dir, NULL).last_seq + 1;
		/* Never older than the segment: of others nothing is to be seen when they were pruned. */
		last = log_segment(dir, -1);
		assert_true(head_parse(plan.head_on_disk, &head));
		assert_int_equal(head.segment, strtoull(strrchr(last, '/') + 1, NULL, 10));
		if (c == PRUNED)
			assert_true(head.pruned_to > 0);
		file_write(path, c == FROM_THE_START ? old : plan.head_on_disk, HEAD_SIZE);
		expect_clean(dir, "after a power failure");
		a = open_log(dir, &e);
		assert_non_null(a);
		r.name = "next";
		assert_int_equal(audit_write(a, &r, &acks[0].seq, &e), 0);
		assert_int_equal(acks[0].seq, next);
		snprintf(acks[0].name, sizeof acks[0].name, "next");
		audit_close(a);
		expect_clean(dir, "after a power failure and another record");
		expect_held(dir, acks, COUNT(acks), "after a power failure");
		free(old);
		free(last);
		free(path);
		log_dir_free(dir);
	}
}

static void test_grouped_are_told(void **state)
{
	char *dir = log_dir_new();
	struct audit_record intent = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct audit_record command = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
	struct err e = ERR_INIT;
	struct audit *a;

	(void)state;
	memset(&plan, 0, sizeof plan);
	a = open_log(dir, &e);
	fail_calls("pwrite", ENOSPC, 1, 1000);
	assert_int_equal(audit_write(a, &intent, NULL, &e), -1);
	/* Right after a failure nothing is taken that would not be waited for. */
	assert_int_equal(audit_submit(a, &command, 0, NULL, NULL, &e), 0);
	assert_int_equal(e.sys, ENOSPC);
	memset(&plan, 0, sizeof plan);
	assert_int_equal(audit_write(a, &intent, NULL, &e), 0);
	assert_true(audit_submit(a, &command, 0, NULL, NULL, &e));
	audit_close(a);
	expect_clean(dir, "after trouble");
	log_dir_free(dir);
}

static void take_ack(void *ctx, uint64_t seq, const struct err *err)
{
	*(uint64_t *)ctx = err ? 0 : seq;
}

struct links {
	uint64_t intent[16]; /* by sequence number */
};

static void take_links(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct links *l = ctx;

	(void)line;
	(void)len;
	if (r->seq < COUNT(l->intent))
		l->intent[r->seq] = r->intent;
}

/* The number of an intent that failed becomes another record's: its outcome must not name that one. */
static void test_failed_intent_has_no_outcome(void **state)
{
	char *dir = log_dir_new();
	struct audit_record intent = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct audit_record outcome = log_record(OP_CONTAINER_REMOVE, AUDIT_OUTCOME);
	uint64_t failed, good, seq = 1, others;
	struct links links = {0};
	struct audit_reader *reader;
	struct err e = ERR_INIT;
	struct audit *a;

	(void)state;
	outcome.result = AUDIT_OK;
	memset(&plan, 0, sizeof plan);
	a = open_log(dir, &e);
	assert_non_null(a);
	fail_calls("pwrite", ENOSPC, 1, 1);
	failed = audit_submit(a, &intent, 0, take_ack, &seq, &e);
	assert_true(failed);
	while (!audit_trouble(a, &e))
		sched_yield();
	assert_int_equal(audit_write(a, &intent, &others, &e), 0);
	good = audit_submit(a, &intent, 0, NULL, NULL, &e);
	assert_true(audit_submit(a, &outcome, good, NULL, NULL, &e));
	assert_true(audit_submit(a, &outcome, failed, NULL, NULL, &e));
	audit_close(a);
	assert_int_equal(seq, 0);
	expect_clean(dir, "after a failed intent");
	reader = audit_reader_open(dir, NULL, NULL);
	assert_non_null(reader);
	while (audit_reader_forward(reader, 100, 0, take_links, &links, NULL) > 0)
		;
	audit_reader_close(reader);
	assert_int_equal(others, 2);
	assert_int_equal(links.intent[4], 3);
	assert_int_equal(links.intent[5], 0);
	log_dir_free(dir);
}

/* A large batch goes to the file in pieces: where one of them cannot, none of the batch was written. */
static void test_large_batch_fails(void **state)
{
	enum { MANY = 3000 };
	static const char *const kinds[] = {"pwrite", "fdatasync"};
	static uint64_t seq[MANY];

	(void)state;
	for (int k = 0; k < 2; k++) {
		for (int at = 1; at <= (k ? 1 : 4); at++) {
			char *dir = memory_dir_new();
			struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
			struct audit_options o = {.dir = dir, .commit_ms = 1000, .sys = &test_sys};
			struct ack *acks = xcalloc(MANY, sizeof *acks);
			struct err e = ERR_INIT;
			struct audit *a;
			size_t n = 0;

			memset(&plan, 0, sizeof plan);
			a = audit_open(&o, &e);
			assert_non_null(a);
			fail_calls(kinds[k], EIO, at, at);
			for (int i = 0; i < MANY; i++) {
				snprintf(acks[i].name, sizeof acks[i].name, "%d", i);
				r.name = acks[i].name;
				seq[i] = 0;
				/* What comes after the failure may be turned away. */
				audit_submit(a, &r, 0, take_ack, &seq[i], &e);
			}
			audit_close(a);
			assert_true(atomic_load(&plan.of_kind) >= at);
			assert_int_equal(seq[0], 0);
			for (int i = 0; i < MANY; i++)
				if ((acks[n].seq = seq[i])) {
					snprintf(acks[n].name, sizeof acks[n].name, "%d", i);
					n++;
				}
			expect_clean(dir, kinds[k]);
			expect_held(dir, acks, n, kinds[k]);
			free(acks);
			log_dir_free(dir);
		}
	}
}

/* -- real file systems, in a mount namespace of the test's own -----------------------------------
 */

static bool own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 &&
		mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

static void in_child(int (*run)(const char *dir), const char *needs)
{
	char *dir = log_dir_new();
	pid_t child = fork();
	int status;

	if (child == 0) {
		memset(&plan, 0, sizeof plan);
		_exit(own_mounts() ? run(dir) : 77);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	rmdir(dir);
	free(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message(
			"           not run: unshare(CLONE_NEWNS) and mount say no; needs %s\n",
			needs);
		skip();
	}
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#define MUST(cond)                                                                 \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                                  \
		}                                                                  \
	} while (0)

static int full_disk(const char *dir)
{
	struct audit_record remove = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct audit_record create = log_record(OP_CONTAINER_CREATE, AUDIT_INTENT);
	char *filler = log_path(dir, "filler"), block[4096] = {0};
	struct err e = ERR_INIT;
	struct audit *a, *other;
	struct audit_verdict v;
	int fd;

	MUST(mount("tmpfs", dir, "tmpfs", 0, "size=2m,mode=0700") == 0);
	a = open_log(dir, &e);
	MUST(a && audit_write(a, &create, NULL, &e) == 0);
	fd = open(filler, O_WRONLY | O_CREAT, 0600);
	while (write(fd, block, sizeof block) > 0)
		;
	close(fd);
	/* What adds to the disk is refused as soon as the reserve would be touched ... */
	for (int i = 0; i < 100000 && audit_write(a, &create, NULL, &e) == 0; i++)
		;
	MUST(strstr(e.msg, "full"));
	MUST(audit_write(a, &create, NULL, &e) < 0);
	/* ... and cleaning up still is recorded, also by a process that comes now. */
	for (int i = 0; i < 50; i++)
		MUST(audit_write(a, &remove, NULL, &e) == 0);
	other = open_log(dir, &e);
	MUST(other);
	MUST(audit_write(other, &create, NULL, &e) < 0);
	MUST(audit_write(other, &remove, NULL, &e) == 0);
	unlink(filler);
	/* Space again: everything goes on. */
	MUST(audit_write(a, &create, NULL, &e) == 0);
	MUST(audit_write(other, &create, NULL, &e) == 0);
	audit_close(other);
	audit_close(a);
	v = log_verify(dir, NULL);
	if (v.fault != AUDIT_CLEAN)
		fprintf(stderr, "%s\n", v.sentence);
	MUST(v.fault == AUDIT_CLEAN);
	free(filler);
	return 0;
}

static void test_full_disk(void **state)
{
	(void)state;
	in_child(full_disk, "root");
}

static int read_only_fs(const char *dir)
{
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct err e = ERR_INIT;
	struct audit *a;

	MUST(mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=0700") == 0);
	MUST(mount("tmpfs", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	MUST(!open_log(dir, &e) && e.sys == EROFS);
	MUST(mount("tmpfs", dir, NULL, MS_REMOUNT, NULL) == 0);
	a = open_log(dir, &e);
	MUST(a && audit_write(a, &r, NULL, &e) == 0);
	audit_close(a);
	/* A log that cannot be written can still be read and checked. */
	MUST(mount("tmpfs", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	MUST(!open_log(dir, &e) && e.sys == EROFS);
	MUST(log_verify(dir, NULL).fault == AUDIT_CLEAN);
	return 0;
}

static void test_read_only_fs(void **state)
{
	(void)state;
	in_child(read_only_fs, "root");
}

/* -- many processes ------------------------------------------------------------------------------
 */

#define PROCESSES 8

static atomic_int failed_records;

static void count_failure(void *ctx, uint64_t seq, const struct err *err)
{
	(void)ctx;
	(void)seq;
	if (err)
		atomic_fetch_add(&failed_records, 1);
}

static int write_one_of_many(const char *dir, int n)
{
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
	struct err e = ERR_INIT;
	struct audit *a = audit_open(
		&(struct audit_options){.dir = dir, .program = "many", .segment_bytes = 1 << 20},
		&e);

	MUST(a);
	for (int i = 0; i < n; i++) {
		if (i % 500 == 0)
			MUST(audit_write(a, &r, NULL, &e) == 0);
		else
			MUST(audit_submit(a, &r, 0, count_failure, NULL, &e));
	}
	audit_close(a);
	MUST(atomic_load(&failed_records) == 0);
	return 0;
}

struct counted {
	uint64_t records, last;
};

static void count_execs(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct counted *c = ctx;

	(void)line;
	(void)len;
	c->records += r->operation == OP_CONTAINER_EXEC;
	assert_int_equal(r->seq, c->last + 1);
	c->last = r->seq;
}

static void test_many_processes(void **state)
{
	const char *asked = getenv("BERTH_AUDIT_RECORDS");
	int n = asked ? atoi(asked) : 10000;
	char *dir = log_dir_new();
	struct counted c = {0};
	struct audit_reader *r;
	pid_t children[PROCESSES];

	(void)state;
	for (int i = 0; i < PROCESSES; i++) {
		children[i] = fork();
		if (children[i] == 0)
			_exit(write_one_of_many(dir, n));
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		assert_int_equal(waitpid(children[i], &status, 0), children[i]);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
	}
	expect_clean(dir, "8 processes");
	r = audit_reader_open(dir, NULL, NULL);
	while (audit_reader_forward(r, 100000, 0, count_execs, &c, NULL) > 0)
		;
	audit_reader_close(r);
	assert_int_equal(c.records, (uint64_t)n * PROCESSES);
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fsync_fails),
		cmocka_unit_test(test_one_fdatasync),
		cmocka_unit_test(test_write_fails),
		cmocka_unit_test(test_power_failure),
		cmocka_unit_test(test_grouped_are_told),
		cmocka_unit_test(test_failed_intent_has_no_outcome),
		cmocka_unit_test(test_large_batch_fails),
		cmocka_unit_test(test_any_call_fails),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_read_only_fs),
		cmocka_unit_test(test_many_processes),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
