/* private.c - berth's own engine, for real: start, crash, start again, stop, nothing left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/err.h>
#include <berth/private_engine.h>
#include <berth/text.h>

static int engines_in_run(void)
{
	DIR *run = opendir("/run");
	int n = 0;

	assert_non_null(run);
	for (struct dirent *d; (d = readdir(run));)
		n += strncmp(d->d_name, "berth-engine-", 13) == 0;
	closedir(run);
	return n;
}

static void test_private_life(void **state)
{
	struct private_engine pe;
	struct err e = ERR_INIT;
	pid_t first;
	int before = engines_in_run();

	(void)state;
	if (private_engine_start(&pe, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(pe.started);
	assert_true(pe.answers);
	first = pe.pid;

	assert_int_equal(private_engine_start(&pe, &e), 0);
	assert_false(pe.started);
	assert_int_equal(pe.pid, first);

	/* a crash: pid file, socket and containerd's leavings stay behind */
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitpid(first, NULL, 0), first);
	assert_int_equal(private_engine_status(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
	assert_false(pe.answers);

	if (private_engine_start(&pe, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(pe.started);
	assert_int_not_equal(pe.pid, first);
	assert_int_equal(private_engine_stop(&pe, &e), 0);
	assert_int_not_equal(pe.pid, 0);
	waitpid(pe.pid, NULL, 0);
	assert_int_equal(access(pe.socket, F_OK), -1);
	assert_int_equal(engines_in_run(), before);
	assert_int_equal(private_engine_status(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
}

/* Its own network: docker0 and iptables of this machine are not ours to change. */
static int setup(void **state)
{
	static char top[64];

	(void)state;
	text_init();
	snprintf(top, sizeof top, "%s/pe-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (unshare(CLONE_NEWNET) < 0 || !mkdtemp(top) || setenv("XDG_STATE_HOME", top, 1) < 0)
		return -1;
	*state = top;
	return 0;
}

static int teardown(void **state)
{
	struct private_engine pe;
	char cmd[128];

	if (private_engine_stop(&pe, NULL) < 0)
		return -1;
	snprintf(cmd, sizeof cmd, "rm -rf %s", (char *)*state);
	return system(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_private_life, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
