/*
 * audit_fault.h - the audit log on system calls that count, fail or are the last one of the
 * process, and what the tests of its faults look at afterwards.
 */
#ifndef TESTS_FAULT_AUDIT_FAULT_H
#define TESTS_FAULT_AUDIT_FAULT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>

#include "audit_log.h"
#include "audit/head.h"
#include "audit/sys.h"

/* -- system calls that count, fail or kill -------------------------------------------------------
 */

enum when { BEFORE, WITHIN, AFTER };

static struct {
	atomic_int calls; /* so far */
	int die_at;       /* 0: never */
	enum when when;
	int fail_from, fail_until; /* calls of kind that fail */
	const char *fail_kind;
	int fail_errno;
	atomic_int of_kind;
	char head_on_disk[HEAD_SIZE]; /* what a power failure leaves of the head at least */
} plan;

static inline void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Is it this call's turn to fail?  Dies where it is its turn to die. */
static inline bool fails(const char *kind)
{
	if (atomic_fetch_add(&plan.calls, 1) + 1 == plan.die_at && plan.when == BEFORE)
		die();
	if (plan.fail_kind && strcmp(kind, plan.fail_kind) == 0) {
		int n = atomic_fetch_add(&plan.of_kind, 1) + 1;

		if (n >= plan.fail_from && n <= plan.fail_until) {
			errno = plan.fail_errno;
			return true;
		}
	}
	return false;
}

static inline void then(void)
{
	if (atomic_load(&plan.calls) == plan.die_at && plan.when == AFTER)
		die();
}

static inline int t_openat(int dir, const char *name, int flags, mode_t mode)
{
	int fd = fails("openat") ? -1 : openat(dir, name, flags, mode);

	then();
	return fd;
}

static inline ssize_t t_pwrite(int fd, const void *bytes, size_t n, off_t at)
{
	ssize_t w;

	if (fails("pwrite"))
		return -1;
	if (atomic_load(&plan.calls) == plan.die_at && plan.when == WITHIN) {
		if (pwrite(fd, bytes, n - n / 3, at) < 0)
			abort();
		die();
	}
	w = pwrite(fd, bytes, n, at);
	then();
	return w;
}

#define CALL(name, params, ...)                                  \
	static inline int t_##name params                        \
	{                                                        \
		int ret = fails(#name) ? -1 : name(__VA_ARGS__); \
                                                                 \
		then();                                          \
		return ret;                                      \
	}
CALL(fdatasync, (int fd), fd)
CALL(ftruncate, (int fd, off_t size), fd, size)
CALL(fallocate, (int fd, int mode, off_t at, off_t n), fd, mode, at, n)
CALL(unlinkat, (int dir, const char *name, int flags), dir, name, flags)

static inline int t_fsync(int fd)
{
	int ret = fails("fsync") ? -1 : fsync(fd);
	struct stat st;

	if (ret == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == HEAD_SIZE)
		ret = pread(fd, plan.head_on_disk, HEAD_SIZE, 0) == HEAD_SIZE ? 0 : -1;
	then();
	return ret;
}

static inline int64_t t_wall(void)
{
	return audit_sys_real.wall_ms();
}

static inline int64_t t_mono(void)
{
	return audit_sys_real.mono_us();
}

static const struct audit_sys test_sys = {t_openat, t_pwrite, t_fdatasync, t_fsync, t_ftruncate,
	t_fallocate, t_unlinkat, t_wall, t_mono};

static inline struct audit *open_log(const char *dir, struct err *e)
{
	return audit_open(&(struct audit_options){.dir = dir,
				  .program = "fault",
				  .segment_bytes = 4096,
				  .reserve_bytes = 65536,
				  .checkpoint_records = 5,
				  .commit_ms = 1,
				  .sys = &test_sys},
		e);
}

/* What a killed process leaves is the same on every file system; here it is quick. */
static inline char *memory_dir_new(void)
{
	char *dir;

	if (access("/dev/shm", W_OK) < 0)
		return log_dir_new();
	dir = xstrdup("/dev/shm/berth-audit-XXXXXX");
	assert_non_null(mkdtemp(dir));
	return dir;
}

struct ack {
	uint64_t seq;
	char name[24];
};

struct held {
	struct ack *acks;
	size_t n, found;
	uint64_t first;
};

static inline void check_held(void *ctx, const struct audit_record *r, const char *line, size_t len)
{
	struct held *h = ctx;

	(void)line;
	(void)len;
	if (!h->first)
		h->first = r->seq;
	for (size_t i = 0; i < h->n; i++)
		if (h->acks[i].seq == r->seq && strcmp(h->acks[i].name, r->name) == 0)
			h->found++;
}

static inline void expect_clean(const char *dir, const char *after)
{
	struct audit_verdict v = log_verify(dir, NULL);

	if (v.fault != AUDIT_CLEAN)
		fail_msg("%s: %s at %lu: %s", after, audit_fault_name(v.fault),
			(unsigned long)v.at_seq, v.sentence);
}

/* Everything acknowledged in this round is there, or was pruned in it. */
static inline void expect_held(const char *dir, struct ack *acks, size_t n, const char *after)
{
	struct audit_reader *r = audit_reader_open(dir, NULL, NULL);
	struct held h = {acks, n, 0, 0};

	assert_non_null(r);
	while (audit_reader_forward(r, 1000, 0, check_held, &h, NULL) > 0)
		;
	audit_reader_close(r);
	for (size_t i = 0; i < n; i++)
		if (acks[i].seq < h.first)
			h.found++;
	if (h.found != n)
		fail_msg("%s: %zu acknowledged, %zu there", after, n, h.found);
}

#endif
