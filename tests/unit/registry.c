/* registry.c - the files of the pool of warm containers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cmocka.h>

#include "run/pool_registry.h"

#define KEY "0123456789abcdef"

static char top[64];

static int setup(void **state)
{
	(void)state;
	snprintf(top, sizeof top, "/tmp/berth-unit-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	return setenv("XDG_RUNTIME_DIR", top, 1);
}

static int teardown(void **state)
{
	char cmd[128];

	(void)state;
	snprintf(cmd, sizeof cmd, "rm -rf %s", top);
	return system(cmd);
}

static size_t count_registry_entries(const char *path)
{
	DIR *d = opendir(path);
	size_t n = 0;

	assert_non_null(d);
	for (struct dirent *entry; (entry = readdir(d));)
		n += entry->d_name[0] != '.';
	closedir(d);
	return n;
}

/* A keeper tries again each time its file changes: what failed must leave nothing. */
static void test_board_that_cannot_be_written(void **state)
{
	char dir[PATH_MAX];
	struct err e = ERR_INIT;
	struct rlimit was, none;
	struct pool_board *b;
	size_t open_before;
	int fd = -1;

	(void)state;
	assert_int_equal(registry_dir(dir, &e), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = was.rlim_max};
	open_before = count_registry_entries("/proc/self/fd");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	b = registry_board(KEY, &fd, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_null(b);
	assert_int_equal(fd, -1);
	assert_int_not_equal(e.kind, 0);
	assert_int_equal(count_registry_entries("/proc/self/fd"), open_before);
	assert_int_equal(count_registry_entries(dir), 0);
	/* The first try is not in the way of the next. */
	b = registry_board(KEY, &fd, &e);
	assert_non_null(b);
	assert_int_equal(count_registry_entries(dir), 1);
	registry_board_close(KEY, b, fd);
	assert_int_equal(count_registry_entries(dir), 0);
	assert_int_equal(count_registry_entries("/proc/self/fd"), open_before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_board_that_cannot_be_written, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
