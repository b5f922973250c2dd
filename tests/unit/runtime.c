/* runtime.c - the directories berth keeps its files in, and what it refuses to use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/err.h>
#include <berth/runtime.h>

static char top[64];

/* top/NAME in a static buffer. */
static const char *in_top(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof path, "%s/%s", top, name);
	return path;
}

static int setup(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "/tmp/berth-unit-XXXXXX");
	return mkdtemp(top) ? 0 : -1;
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	return system(cmd);
}

static void test_runtime_made(void **state)
{
	char buf[PATH_MAX];
	struct stat st;
	struct err e = ERR_INIT;

	(void)state;
	setenv("XDG_RUNTIME_DIR", top, 1);
	assert_int_equal(runtime_dir(buf, sizeof buf, &e), 0);
	assert_string_equal(buf, in_top("berth"));
	assert_int_equal(stat(buf, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	/* a second time it is simply there */
	assert_int_equal(runtime_dir(buf, sizeof buf, &e), 0);
	assert_int_equal(runtime_subdir(buf, sizeof buf, in_top("berth"), "jobs", &e), 0);
	assert_int_equal(stat(buf, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(e.kind, ERR_NONE);
}

static void test_runtime_refused(void **state)
{
	char buf[PATH_MAX];
	struct err e = ERR_INIT;

	(void)state;
	setenv("XDG_RUNTIME_DIR", top, 1);
	assert_int_equal(mkdir(in_top("berth"), 0700), 0);
	assert_int_equal(chmod(in_top("berth"), 0755), 0);
	assert_int_equal(runtime_dir(buf, sizeof buf, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_non_null(strstr(e.msg, "chmod 700"));

	assert_int_equal(rmdir(in_top("berth")), 0);
	assert_int_equal(symlink("/tmp", in_top("berth")), 0);
	assert_int_equal(runtime_dir(buf, sizeof buf, &e), -1);
	assert_non_null(strstr(e.msg, "symbolic link"));

	assert_int_equal(runtime_dir(buf, 8, &e), -1);
	assert_int_equal(e.kind, ERR_CONFIG);
}

static void test_runtime_not_ours(void **state)
{
	char buf[PATH_MAX];
	struct err e = ERR_INIT;

	(void)state;
	/* relative or foreign: the next place is taken; which one depends on the machine */
	setenv("XDG_RUNTIME_DIR", "relative", 1);
	setenv("TMPDIR", top, 1);
	assert_int_equal(runtime_dir(buf, sizeof buf, &e), 0);
	assert_int_equal(buf[0], '/');
	if (geteuid() == 0) {
		assert_int_equal(mkdir(in_top("foreign"), 0755), 0);
		assert_int_equal(chown(in_top("foreign"), 12345, 12345), 0);
		setenv("XDG_RUNTIME_DIR", in_top("foreign"), 1);
		assert_int_equal(runtime_dir(buf, sizeof buf, &e), 0);
		assert_null(strstr(buf, "foreign"));
	}
	unsetenv("TMPDIR");
}

static void test_state(void **state)
{
	char buf[PATH_MAX];
	struct stat st;
	struct err e = ERR_INIT;

	(void)state;
	setenv("XDG_STATE_HOME", in_top("a/b"), 1);
	assert_int_equal(state_dir(buf, sizeof buf, &e), 0);
	assert_string_equal(buf, in_top("a/b/berth"));
	assert_int_equal(stat(buf, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);

	unsetenv("XDG_STATE_HOME");
	setenv("HOME", top, 1);
	assert_int_equal(state_dir(buf, sizeof buf, &e), 0);
	assert_string_equal(buf, in_top(".local/state/berth"));
	assert_int_equal(chmod(buf, 0777), 0);
	assert_int_equal(state_dir(buf, sizeof buf, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
}

static void test_config(void **state)
{
	char buf[PATH_MAX];
	struct err e = ERR_INIT;

	(void)state;
	setenv("XDG_CONFIG_HOME", "/nowhere//", 1);
	assert_int_equal(config_dir(buf, sizeof buf, &e), 0);
	assert_string_equal(buf, "/nowhere///berth");
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", "/h", 1);
	assert_int_equal(config_dir(buf, sizeof buf, &e), 0);
	assert_string_equal(buf, "/h/.config/berth");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_runtime_made),
		TEST(test_runtime_refused),
		TEST(test_runtime_not_ours),
		TEST(test_state),
		TEST(test_config),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
