/* private.c - the private engine against dockerds that only pretend (the real one: tests/engine).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/err.h>
#include <berth/private_engine.h>
#include <berth/text.h>

static char top[64];

/* A program called dockerd, first in PATH. */
static void pretend_dockerd(const char *script)
{
	char path[PATH_MAX];
	FILE *f;

	snprintf(path, sizeof path, "%s/dockerd", top);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

static int setup(void **state)
{
	char path[PATH_MAX];

	(void)state;
	text_init();
	snprintf(top, sizeof top, "/tmp/berth-unit-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(path, sizeof path, "%s:/usr/bin:/bin", top);
	setenv("PATH", path, 1);
	setenv("XDG_STATE_HOME", top, 1);
	return 0;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	return system(cmd);
}

static void test_not_running(void **state)
{
	struct private_engine pe;
	struct err e = ERR_INIT;
	char sock[108], expect[108];

	(void)state;
	assert_int_equal(private_engine_status(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
	assert_false(pe.answers);
	assert_int_equal(private_engine_stop(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
	assert_int_equal(private_engine_socket(sock, sizeof sock), 0);
	snprintf(expect, sizeof expect, "%s/berth/engine/docker.sock", top);
	assert_string_equal(sock, expect);
}

/* A pid file that names a living process which is not our dockerd: it must never be touched. */
static void test_foreign_pid(void **state)
{
	struct private_engine pe;
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	pid_t bystander = fork();
	FILE *f;

	(void)state;
	if (bystander == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(private_engine_status(&pe, &e), 0);
	snprintf(path, sizeof path, "%s/berth/engine/docker.pid", top);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%d", (int)bystander);
	fclose(f);
	assert_int_equal(private_engine_status(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
	assert_int_equal(private_engine_stop(&pe, &e), 0);
	assert_int_equal(waitpid(bystander, NULL, WNOHANG), 0);
	kill(bystander, SIGKILL);
	waitpid(bystander, NULL, 0);
}

static void test_dies(void **state)
{
	struct private_engine pe;
	struct err e = ERR_INIT;

	(void)state;
	if (geteuid() != 0) {
		assert_int_equal(private_engine_start(&pe, &e), -1);
		return;
	}
	pretend_dockerd(
		"echo 'level=error msg=\"first\"'; printf 'failed to start: no \\033[31mcgroups\\n' >&2; exit 1");
	assert_int_equal(private_engine_start(&pe, &e), -1);
	assert_int_equal(e.kind, ERR_FAILED);
	assert_non_null(strstr(e.msg, "failed to start: no "));
	assert_null(strchr(e.msg, '\033'));
	assert_int_equal(private_engine_status(&pe, &e), 0);
	assert_int_equal(pe.pid, 0);
}

static void test_long_path(void **state)
{
	struct private_engine pe;
	struct err e = ERR_INIT;
	char path[PATH_MAX];

	(void)state;
	snprintf(path, sizeof path, "%s/%0100d", top, 0);
	setenv("XDG_STATE_HOME", path, 1);
	assert_int_equal(private_engine_status(&pe, &e), -1);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_non_null(strstr(e.msg, "XDG_STATE_HOME"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_not_running),
		TEST(test_foreign_pid),
		TEST(test_dies),
		TEST(test_long_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
