/*
 * audit_kill.c - the audit log, killed before, within and after each system call that changes
 * anything.
 *
 * The kill points are the calls of struct audit_sys, counted: a child runs the same work again and
 * again and dies at the first, second, third ... call, until it gets through.  What it was told is
 * durable goes to the parent through a pipe, and must be in the log afterwards.
 */
#include "fault/audit_fault.h"

#include <sys/wait.h>

#include <berth/text.h>

#include "audit/chain.h"

/* -- killed at every step ------------------------------------------------------------------------
 */

#define WORK 40 /* records; some 200 system calls */

/* Open, write, sign, rotate, prune, close, as the writer thread does it, but in one thread: so each
 * run makes the same calls.  Each acknowledgement goes down the pipe. */
static void work_until_killed(const char *dir, int out, int round)
{
	const struct audit_options o = {.dir = dir,
		.program = "fault",
		.segment_bytes = 4096,
		.reserve_bytes = 65536,
		.checkpoint_records = 5,
		.sys = &test_sys};
	struct audit_record r = log_record(OP_CONTAINER_REMOVE, AUDIT_INTENT);
	struct str body = STR_INIT;
	struct chain c;

	chain_init(&c, &o);
	if (chain_open(&c, NULL) < 0)
		_exit(1);
	r.host = r.boot = r.program = r.user = "";
	for (int i = 0; i < WORK; i++) {
		struct ack ack = {0};

		snprintf(ack.name, sizeof ack.name, "%d.%d", round, i);
		r.name = ack.name;
		str_clear(&body);
		record_body(&body, &r);
		if (chain_begin(&c, body.len, NULL) < 0 ||
			chain_add(&c, r.operation, body.s, body.len, 0, &ack.seq, NULL) < 0 ||
			chain_sync(&c, NULL) < 0 || write(out, &ack, sizeof ack) != sizeof ack)
			_exit(1);
		if (chain_unsigned(&c, o.checkpoint_records))
			chain_checkpoint(&c, NULL);
		chain_rotate(&c, NULL);
		if (i == WORK / 2)
			chain_prune(&c, 0, 12000, NULL, NULL);
		chain_end(&c);
	}
	str_release(&body);
	chain_release(&c);
}

/* Runs the work in a child that dies at call `at`; returns whether it did. */
static bool run_and_die(
	const char *dir, int at, enum when when, int round, struct ack *acks, size_t *n)
{
	int ends[2], status;
	pid_t child;
	ssize_t got;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (child == 0) {
		close(ends[0]);
		memset(&plan, 0, sizeof plan);
		plan.die_at = at;
		plan.when = when;
		work_until_killed(dir, ends[1], round);
		_exit(0);
	}
	close(ends[1]);
	*n = 0;
	while ((got = read(ends[0], &acks[*n], sizeof *acks)) == sizeof *acks)
		++*n;
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
	return WIFSIGNALED(status);
}

static void test_killed_at_every_step(void **state)
{
	char *dir = memory_dir_new();
	struct ack acks[WORK + 1];
	int kills = 0, calls = 0;

	(void)state;
	for (int fresh = 0; fresh < 2; fresh++) {
		for (int when = BEFORE; when <= AFTER; when++) {
			log_dir_clear(dir);
			for (int at = 1;; at++) {
				char after[64];
				struct err e = ERR_INIT;
				struct chain c;
				bool died;
				size_t n;

				/* On an empty directory each time, or on what the last death left.
				 */
				if (fresh)
					log_dir_clear(dir);
				died = run_and_die(dir, at, (enum when)when, at, acks, &n);
				snprintf(after, sizeof after, "killed %s call %d%s",
					(const char *const[]){"before", "within", "after"}[when],
					at, fresh ? " of a new log" : "");
				kills += died;
				/* Before anything else touches it, and after somebody did. */
				if (n)
					expect_clean(dir, after);
				memset(&plan, 0, sizeof plan);
				chain_init(&c, &(struct audit_options){.dir = dir});
				if (chain_open(&c, &e) < 0)
					fail_msg("%s: %s", after, e.msg);
				chain_release(&c);
				expect_clean(dir, after);
				expect_held(dir, acks, n, after);
				/* Only a write has a middle. */
				if (!died && (when != WITHIN || at > calls))
					break;
				calls = when == BEFORE ? at : calls;
			}
		}
	}
	print_message("           %d kills\n", kills);
	assert_true(kills >= 1000);
	log_dir_free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed_at_every_step)};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
