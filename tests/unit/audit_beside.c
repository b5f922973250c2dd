/* audit_beside.c - the audit log is verified while other processes write to it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "audit_log.h"

#define WRITERS 8
#define ROUND 25 /* verifications of one log, from before its first record on */

/* Processes, as commands are: records that are only written, records that are durable, signatures, new segments and,
 * with keep_bytes, retention, until killed wherever they are. */
static void write_until_killed(const char *dir, uint64_t keep_bytes, unsigned nth)
{
	struct audit_record r = log_record(OP_CONTAINER_EXEC, AUDIT_EVENT);
	struct audit *a = NULL;

	for (unsigned i = nth;; i++) {
		/* Some open the log for a few records, some keep it open. */
		if (a && i % (4 << nth % 4) == 0) {
			audit_close(a);
			a = NULL;
		}
		if (!a)
			a = audit_open(&(struct audit_options){.dir = dir,
					       .program = "writer",
					       .segment_bytes = 8192,
					       .reserve_bytes = 65536,
					       .checkpoint_records = 8 + nth,
					       .keep_bytes = keep_bytes,
					       .direct = true},
				NULL);
		/* Commands: written, and durable a moment later; one in 16 is durable before it is done. */
		if (a)
			(i % 16 ? audit_put : audit_write)(a, &r, NULL, NULL);
		/* The log is read again and again: it is not to grow without end. */
		nanosleep(&(struct timespec){0, 2000000}, NULL);
	}
}

static void start_writers(const char *dir, uint64_t keep_bytes, pid_t pid[WRITERS])
{
	for (unsigned i = 0; i < WRITERS; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			write_until_killed(dir, keep_bytes, i);
		}
	}
}

static void kill_writers(const pid_t pid[WRITERS])
{
	for (unsigned i = 0; i < WRITERS; i++)
		kill(pid[i], SIGKILL);
	for (unsigned i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_true(WIFSIGNALED(status)); /* until then */
	}
}

static void check_beside_writers(const char *path, const char *head)
{
	struct audit_verify what = {.path = path, .head = head};
	struct audit_verdict v;
	struct err e = ERR_INIT;

	if (audit_verify(&what, &v, &e) < 0)
		fail_msg("%s", e.msg);
	if (v.fault != AUDIT_CLEAN)
		fail_msg("%s at %lu of %lu: %s", audit_fault_name(v.fault), (unsigned long)v.at_seq,
			(unsigned long)v.last_seq, v.sentence);
}

/* One log in three ways: as it is, with a head taken just before, as a bundle.  Returns whether there was one. */
static bool check_each_way(const char *dir, const char *bundle, bool pruned, unsigned nth)
{
	struct audit_head head;
	struct err e = ERR_INIT;

	if (audit_head_read(dir, &head, &e) < 0) {
		if (e.kind != ERR_NOT_FOUND)
			fail_msg("%s", e.msg);
		return false;
	}
	if (nth % 3 == 2) {
		if (audit_export(dir, bundle, NULL, &e) < 0)
			fail_msg("%s", e.msg);
		check_beside_writers(bundle, NULL);
		unlink(bundle);
	} else {
		/* Retention may remove the head meanwhile. */
		check_beside_writers(dir, nth % 3 == 1 && !pruned ? head.hash : NULL);
	}
	return true;
}

/* However many others write, sign, begin segments and prune: no false alarm, from the first record on. */
static void test_verify_beside_writers(void **state)
{
	unsigned wanted = getenv("BERTH_SOAK") ? 10000 : 100;
	char *dir = log_dir_new(), *bundle = xasprintf("%s-bundle", dir);

	(void)state;
	for (unsigned n = 0; n < wanted;) {
		bool pruned = n / ROUND % 2;
		pid_t pid[WRITERS];

		start_writers(dir, pruned ? 20000 : 0, pid);
		for (unsigned i = 0; i < ROUND;)
			i += check_each_way(dir, bundle, pruned, i);
		kill_writers(pid);
		check_beside_writers(dir, NULL);
		log_dir_clear(dir);
		n += ROUND;
	}
	free(bundle);
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verify_beside_writers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
