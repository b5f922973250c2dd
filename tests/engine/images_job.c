/*
 * images_job.c - a build of another process on the job board: its steps and bytes, and cancelling it from
 * here, as the console's Jobs view does.  BERTH_TEST_ENGINE names the engine, with the image box:1.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "job/board.h"
#include "lib/paths.h"

#define PATIENCE_NS (120 * INT64_C(1000000000))

static pid_t child; /* not waited for yet */
static char top[] = "/tmp/berth-imgjob-XXXXXX";

static void write_context_file(const char *name, const char *text)
{
	AUTO_FREE char *path = xasprintf("%s/%s", top, name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static pid_t begin_build(void)
{
	AUTO_FREE char *context = xasprintf("%s/context", top), *out = xasprintf("%s/out", top);
	pid_t pid = fork();

	if (pid) {
		child = pid;
		return pid;
	}
	if (!freopen(out, "w", stdout) || !freopen(out, "a", stderr))
		_exit(126);
	execl(test_program, "berth", "-H", getenv("BERTH_TEST_ENGINE"), "image", "build", "-t",
		"imgjob:1", "--no-cache", context, NULL);
	_exit(127);
}

/* The one job there is, once `ready` says so. */
static void wait_for_job(struct job_info *job, bool (*ready)(const struct job_info *job))
{
	int64_t end = clock_mono_ns() + PATIENCE_NS;

	for (;;) {
		if (jobs_read(NULL, job, 1) == 1 && ready(job))
			return;
		if (clock_mono_ns() > end)
			fail_msg("the job did not come so far: %s", job->current);
		usleep(20000);
	}
}

static bool in_second_step(const struct job_info *job)
{
	return job->state == JOB_RUNNING && job->items_done == 1 &&
		strstr(job->current, "sleep 4713");
}

static int exit_code(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	child = 0;
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_cancelled_from_elsewhere(void **state)
{
	struct job_info job = {0};
	struct err e = ERR_INIT;
	pid_t pid;

	(void)state;
	pid = begin_build();
	wait_for_job(&job, in_second_step);
	assert_string_equal(job.name, "build image imgjob:1");
	assert_string_equal(job.unit, "steps");
	assert_int_equal(job.items_total, 2);
	assert_int_equal(job.id.pid, pid);
	assert_true(job.cancellable);
	/* The context went up, and counts no more: half of the steps are done, and that is how far it is. */
	assert_int_equal(job.bytes_done, 0);
	assert_true(job.fraction == 0.5);
	if (jobs_cancel(&job.id, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(exit_code(pid), 1);
	/* How it ended is to be seen although it is gone. */
	assert_int_equal(jobs_read(NULL, &job, 1), 1);
	assert_int_equal(job.state, JOB_CANCELLED);
}

static int setup(void **state)
{
	AUTO_FREE char *context = NULL, *run = NULL, *big = NULL;

	(void)state;
	if (!getenv("BERTH_TEST_ENGINE")) {
		print_error("BERTH_TEST_ENGINE is not set: start an engine with tests/run\n");
		return -1;
	}
	assert_non_null(mkdtemp(top));
	context = xasprintf("%s/context", top);
	run = xasprintf("%s/run", top);
	mkdir(context, 0755);
	mkdir(run, 0700);
	setenv("XDG_RUNTIME_DIR", run, 1);
	setenv("XDG_STATE_HOME", top, 1);
	write_context_file("context/Dockerfile", "FROM box:1\nRUN sleep 4713\n");
	write_context_file("context/big", "");
	big = xasprintf("%s/context/big", top);
	return truncate(big, 1 << 20);
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	(void)state;
	if (child > 0) {
		kill(child, SIGINT);
		waitpid(child, NULL, 0);
	}
	return system(rm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cancelled_from_elsewhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
