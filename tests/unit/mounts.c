/* mounts.c - what is never mounted is not mounted by its other name either. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "team/mounts.h"

static char top[] = "/tmp/berth-XXXXXX";

/* real/ is where things are, home -> real/home and run -> real/run the names that the environment has. */
static int setup(void **state)
{
	static const char *const dirs[] = {"real", "real/home", "real/home/work", "real/home/.ssh",
		"real/home/.local", "real/home/.config", "real/run", "elsewhere", "real/home/data",
		"real/home/data/berth", "real/home/data/berth/workspaces",
		"real/home/data/berth/workspaces/tasks", "real/home/data/berth/workspaces/tasks/a"};

	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	for (size_t i = 0; i < COUNT(dirs); i++)
		assert_int_equal(mkdir(dirs[i], 0700), 0);
	assert_int_equal(symlink("real/home", "home"), 0);
	assert_int_equal(symlink("real/run", "run"), 0);
	assert_int_equal(symlink("../../elsewhere", "real/home/.kube"), 0);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	return 0;
}

static int teardown(void **state)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	(void)state;
	return chdir("/") || system(rm);
}

static void test_mount_links(void **state)
{
	static const struct {
		const char *path, *why; /* NULL: it is fine */
	} table[] = {
		{"real/home/work", NULL},
		{"real/home", "is a home directory"},
		{"real/home/.ssh", "holds credentials"},
		{"real/home/.ssh/id_rsa", "holds credentials"},
		{"elsewhere", "holds credentials"},
		{"real/home/.aws", "holds credentials"},
		{"home/.aws/new", "holds credentials"},
		{"home/work/new", NULL},
		{"real/home/.local/state/berth/audit", "belongs to berth itself"},
		{"real/home/.config/berth", "belongs to berth itself"},
		{"real/run/berth/x", "belongs to berth itself"},
		{"real/home/.local", "which belongs to berth itself"},
		{"real/home/data", "which belongs to berth itself"},
		{"real/home/data/berth", "belongs to berth itself"},
		{"real/home/data/berth/checkpoints/tasks/a", "belongs to berth itself"},
		{"real/home/data/berth/workspaces", "belongs to berth itself"},
		{"real/home/data/berth/workspaces/tasks", "belongs to berth itself"},
		{"real/home/data/berth/workspaces/.images/tasks/a", "belongs to berth itself"},
		{"real/home/data/berth/workspaces/tasks/a", NULL},
		{"real/home/data/berth/workspaces/tasks/a/src", NULL},
		{"real/home/data/berth/workspaces/.versions/1/templates", NULL},
		{"real/home/data/berth2", NULL},
		{"real/home/.config", "which belongs to berth itself"},
		{"real", "which belongs to berth itself"},
	};

	(void)state;
	/* By the plain names, then by the links. */
	for (int linked = 0; linked < 2; linked++) {
		AUTO_FREE char *home = xasprintf("%s/%s", top, linked ? "home" : "real/home");
		AUTO_FREE char *run = xasprintf("%s/%s", top, linked ? "run" : "real/run");
		AUTO_FREE char *data = xasprintf("%s/data", home);

		setenv("HOME", home, 1);
		setenv("XDG_RUNTIME_DIR", run, 1);
		setenv("XDG_DATA_HOME", data, 1);
		for (size_t i = 0; i < COUNT(table); i++) {
			AUTO_FREE char *path = xasprintf("%s/%s", top, table[i].path);
			struct mount_list l = {0};
			struct err e = ERR_INIT;
			/* What is there is taken the whole way, which looks at what is below it, too. */
			int failed = access(path, F_OK)
				? mounts_foresee(MOUNT_DECLARED, path, &e)
				: mounts_add(&l, MOUNT_DECLARED, path, path, false, NULL, 0, &e);

			mounts_release(&l);
			if (failed != (table[i].why ? -1 : 0))
				fail_msg("%s, %d: %s", path, linked, failed ? e.msg : "taken");
			if (failed)
				assert_int_equal(e.kind, ERR_REFUSED);
			if (failed && table[i].why && !strstr(e.msg, table[i].why))
				fail_msg("%s, %d: %s", path, linked, e.msg);
		}
	}
}

/* Whoever can replace a link to a directory of ours chooses what is in that directory. */
static void test_links_to_ours(void **state)
{
	static const char *const refused[] = {
		"real/home/.config", "dot", "dot/berth", "dot/berth/x"};
	AUTO_FREE char *home = xasprintf("%s/real/home", top),
		       *good = xasprintf("%s/dot/other", top);
	struct err e = ERR_INIT;

	(void)state;
	setenv("HOME", home, 1);
	assert_int_equal(mkdir("dot", 0700) | mkdir("dot/berth", 0700), 0);
	assert_int_equal(symlink("../../../dot/berth", "real/home/.config/berth"), 0);
	for (size_t i = 0; i < COUNT(refused); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", top, refused[i]);

		assert_int_equal(mounts_judge(MOUNT_DECLARED, path, &e), -1);
		assert_non_null(strstr(e.msg, "belongs to berth itself"));
	}
	assert_int_equal(mounts_judge(MOUNT_DECLARED, good, &e), 0);
	assert_int_equal(unlink("real/home/.config/berth"), 0);
}

static void test_within(void **state)
{
	AUTO_FREE char *work = xasprintf("%s/real/home/work", top),
		       *near = xasprintf("%s/home/wor", top);
	AUTO_FREE char *link = xasprintf("%s/home", top), *new = xasprintf("%s/home/new", top);
	AUTO_FREE char *deep = xasprintf("%s/real/home/new/x", top);

	(void)state;
	assert_true(mounts_within(work, work));
	assert_true(mounts_within(work, link));
	assert_false(mounts_within(work, near));
	assert_false(mounts_within(work, new));
	assert_true(mounts_within(deep, new)); /* where it will be */
}

/* What leads to a protected path is mounted, as far as nothing read-only holds it in place, and becomes no more
 * writable by that. */
static void test_pins(void **state)
{
	static const struct {
		const char *mounted; /* read-only, relative to the grant; NULL: nothing */
		const char *path;
		const char *pins[3];
	} table[] = {
		{NULL, "work/a/b/file", {"work/a", "work/a/b"}},
		{NULL, "work/file", {NULL}},
		{NULL, "work", {NULL}},
		{"work/a", "work/a/b/file", {NULL}},
		{"work/a/b", "work/a/b/file", {"work/a"}},
	};
	char grant[256];

	(void)state;
	snprintf(grant, sizeof grant, "%s/real/home/work", top);
	assert_int_equal(mkdir("real/home/work/a", 0700) | mkdir("real/home/work/a/b", 0700), 0);
	for (size_t i = 0; i < COUNT(table); i++) {
		struct mount_list l = {0};
		struct err e = ERR_INIT;
		char path[256];
		size_t n = 0;

		assert_int_equal(
			mounts_add(&l, MOUNT_DECLARED, grant, grant, false, NULL, 0, &e), 0);
		snprintf(path, sizeof path, "%s/real/home/%s", top,
			table[i].mounted ? table[i].mounted : "");
		if (table[i].mounted)
			assert_int_equal(
				mounts_add(&l, MOUNT_DECLARED, path, path, true, NULL, 0, &e), 0);
		n = l.n;
		snprintf(path, sizeof path, "%s/real/home/%s", top, table[i].path);
		if (mounts_pin(&l, grant, path, &e))
			fail_msg("%s", e.msg);
		for (size_t k = 0; k < COUNT(table->pins) && table[i].pins[k]; k++, n++) {
			snprintf(path, sizeof path, "%s/real/home/%s", top, table[i].pins[k]);
			assert_true(n < l.n);
			assert_string_equal(l.mount[n].target, path);
			assert_false(l.mount[n].read_only);
		}
		assert_int_equal(l.n, n);
		mounts_release(&l);
	}
	assert_int_equal(rmdir("real/home/work/a/b") | rmdir("real/home/work/a"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pins),
		cmocka_unit_test(test_mount_links),
		cmocka_unit_test(test_links_to_ours),
		cmocka_unit_test(test_within),
	};

	text_init();
	return cmocka_run_group_tests(tests, setup, teardown);
}
