/* flags.c - what is suspicious in a workspace: executables, links that lead out, floods of small files, secrets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/flags.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "lib/tree.h"

static int top;
static struct flag_sums got;
static struct str told;

static int setup_flags(void **state)
{
	(void)state;
	tree_make("flags");
	tree_mkdirs("w/dir");
	top = open(tree_path("w"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return top < 0 ? -1 : 0;
}

static int clear_flags(void **state)
{
	(void)state;
	close(top);
	str_release(&told);
	tree_remove();
	return 0;
}

static void on_flag(void *ctx, enum flag flag, const char *path, unsigned line, const char *what)
{
	(void)ctx;
	str_addf(&told, "%c %s:%u %s\n", "xls"[flag], path, line, what);
}

static void look(int64_t since_ns)
{
	struct err e = ERR_INIT;

	str_clear(&told);
	if (flags_look(top, tree_path("w"), since_ns, &got, on_flag, NULL, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(got.unread, 0);
}

static bool was_told(const char *line)
{
	return told.len && strstr(told.s, line);
}

/* The time of the last change of that file, which no container can set. */
static int64_t change_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(tree_path(name), &st), 0);
	return (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static void link_to(const char *target, const char *name)
{
	assert_int_equal(symlink(target, tree_path(name)), 0);
}

static void test_nothing(void **state)
{
	(void)state;
	tree_text("w/dir/a", "some text\n");
	look(0);
	assert_int_equal(got.executables + got.links + got.secrets + got.unsearched, 0);
	assert_int_equal(got.small, 1);
	assert_int_equal(told.len, 0);
}

static void test_links(void **state)
{
	(void)state;
	tree_text("secret", "outside\n");
	tree_text("w/dir/a", "inside\n");
	link_to("a", "w/dir/in");
	link_to("../dir/a", "w/dir/round");
	link_to(tree_path("w/dir/a"), "w/own"); /* by the name that it has in its container, too */
	link_to(tree_path("w"), "w/itself");
	link_to(tree_path("w/not-there-yet"), "w/later");
	link_to("nowhere", "w/dangling");
	link_to("loop", "w/loop");
	look(0);
	assert_int_equal(got.links, 0);

	link_to("../../secret", "w/dir/up");
	link_to("/etc/passwd", "w/far");
	link_to("/nowhere/at/all", "w/far-dangling");
	link_to(tree_path("w-other"), "w/beside"); /* its name only begins like the workspace's */
	link_to("dir/up", "w/by-another");
	link_to(tree_path("w/../secret"), "w/out-again");
	look(0);
	assert_int_equal(got.links, 6);
	assert_true(was_told("l dir/up:0 ../../secret\n"));
	assert_true(was_told("l far:0 /etc/passwd\n"));
	assert_true(was_told("l far-dangling:0 /nowhere/at/all\n"));
	assert_true(was_told("l by-another:0 dir/up\n"));
	assert_true(was_told("l beside:0 "));
	assert_true(was_told("l out-again:0 "));
}

/* By the kernel's clock: a file that says that it is from 2001 is as new as it is. */
static void test_new_executables(void **state)
{
	struct timespec old[2] = {{.tv_sec = 978307200}, {.tv_sec = 978307200}};
	int64_t before;

	(void)state;
	tree_text("w/tool", "#!/bin/sh\n");
	assert_int_equal(chmod(tree_path("w/tool"), 0755), 0);
	look(0);
	assert_int_equal(got.executables, 1);
	before = change_of("w/tool");
	while (change_of("w/tool") == before) { /* of a clock that ticks in milliseconds */
		tree_text("w/other", "#!/bin/sh\n");
		if (change_of("w/other") > before)
			break;
	}
	assert_int_equal(chmod(tree_path("w/other"), 0700), 0);
	assert_int_equal(utimensat(AT_FDCWD, tree_path("w/other"), old, 0), 0);
	look(before);
	assert_int_equal(got.executables, 1);
	assert_string_equal(told.s, "x other:0 \n");
}

static void test_secrets(void **state)
{
	char token[64] = "x = ghp_"; /* in two parts, so that nobody takes it for one */
	AUTO_FREE char *large = xmalloc((2 << 20) + 1);

	(void)state;
	snprintf(token + strlen(token), sizeof token - strlen(token), "%s",
		"aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC4eF0hI2");
	tree_text("w/dir/conf", token);
	tree_text("w/.env", "MODE=fast\n");
	assert_int_equal(mkfifo(tree_path("w/pipe"), 0600), 0);
	memset(large, 'x', 2 << 20);
	large[2 << 20] = '\0';
	tree_text("w/large", large);
	look(0);
	assert_true(was_told("s dir/conf:1 a token of GitHub\n"));
	assert_true(was_told("s .env:0 "));
	assert_int_equal(got.secrets, 2);
	assert_int_equal(got.unsearched, 1);
	look(change_of("w/large"));
	assert_int_equal(got.secrets + got.unsearched, 0);
}

/* Where they are made over the end of a minute, one of the two saw half of them. */
static void test_flood(void **state)
{
	char name[32];

	(void)state;
	for (int i = 0; i < 2200; i++) {
		snprintf(name, sizeof name, "w/dir/%d", i);
		tree_text(name, "x");
	}
	look(0);
	assert_true(got.small >= 1100 && got.small <= 2200);
	assert_true(got.small >= FLAG_FLOOD);
	assert_true(llabs((long long)(got.small_ns / 1000000000 - time(NULL))) < 3600);
}

int main(void)
{
#define FLAGS_CASE(f) cmocka_unit_test_setup_teardown(f, setup_flags, clear_flags)
	const struct CMUnitTest tests[] = {FLAGS_CASE(test_nothing), FLAGS_CASE(test_links),
		FLAGS_CASE(test_new_executables), FLAGS_CASE(test_secrets), FLAGS_CASE(test_flood)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
