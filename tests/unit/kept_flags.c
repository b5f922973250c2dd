/* kept_flags.c - what the keeper flags in a tree that changes: nothing more than is there, nothing that is not new. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "keeper/watched.h"
#include "lib/tree.h"

#define SECRET "API_TOKEN=abcd1234efgh5678\n"

static struct watched all;
static struct watched_tree one;
static struct kept_flags flags;
static int64_t since;

static int setup(void **state)
{
	(void)state;
	tree_make("flagged");
	tree_mkdirs("in/a/b");
	tree_mkdirs("out");
	since = 0;
	flags = (struct kept_flags){0};
	one = (struct watched_tree){.changed = true, .anew = true};
	one.root = open(tree_path("in"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(one.root >= 0);
	return watched_open(&all, NULL);
}

static int teardown(void **state)
{
	(void)state;
	kept_flags_release(&flags);
	watched_close(&all);
	close(one.root);
	tree_remove();
	return 0;
}

static const struct flag_sums *look(void)
{
	watched_drain(&all);
	for (int i = 0; i < 8 && one.changed; i++) {
		watched_count(&all, &one);
		watched_drain(&all);
	}
	assert_false(one.changed);
	kept_flags_look(&flags, &all, &one, tree_path("in"), since);
	assert_false(one.fresh);
	return &flags.sums;
}

/* What has changed by now is not new any more: the clock of files has ticks. */
static void begin_new(void)
{
	struct stat st, next;

	tree_text("tick", "");
	assert_int_equal(stat(tree_path("tick"), &st), 0);
	do {
		assert_int_equal(chmod(tree_path("tick"), 0600), 0);
		assert_int_equal(stat(tree_path("tick"), &next), 0);
	} while (next.st_ctim.tv_sec == st.st_ctim.tv_sec &&
		next.st_ctim.tv_nsec == st.st_ctim.tv_nsec);
	since = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
}

static void test_nothing_new(void **state)
{
	const struct flag_sums *s;

	(void)state;
	tree_text("in/a/run", "#!/bin/sh\n");
	tree_text("in/a/b/.env", SECRET);
	assert_int_equal(chmod(tree_path("in/a/run"), 0755), 0);
	begin_new();
	s = look();
	assert_int_equal(s->executables + s->links + s->secrets + s->unsearched + s->small, 0);
	assert_int_equal(flags.n, 0);
}

static void test_executables(void **state)
{
	(void)state;
	assert_int_equal(look()->executables, 0);
	tree_text("in/a/run", "#!/bin/sh\n");
	assert_int_equal(look()->executables, 0);
	/* A mode alone is told, too. */
	assert_int_equal(chmod(tree_path("in/a/run"), 0755), 0);
	assert_int_equal(look()->executables, 1);
	assert_int_equal(rename(tree_path("in/a/run"), tree_path("in/a/b/run")), 0);
	assert_int_equal(look()->executables, 1);
	begin_new();
	assert_int_equal(look()->executables, 0);
	assert_int_equal(chmod(tree_path("in/a/b/run"), 0700), 0);
	assert_int_equal(look()->executables, 1);
	assert_int_equal(unlink(tree_path("in/a/b/run")), 0);
	assert_int_equal(look()->executables, 0);
}

static void test_links(void **state)
{
	const struct {
		const char *target;
		bool out;
	} links[] = {{"b", false}, {"../a/b", false}, {"nowhere", false}, {"../../out", true},
		{"../..", true}, {"/etc", true}, {"../x/../../out", false},
		{"../a/../../out", true}};
	char inside[PATH_MAX + 8];

	(void)state;
	for (size_t i = 0; i < COUNT(links); i++) {
		assert_int_equal(symlink(links[i].target, tree_path("in/a/l")), 0);
		assert_int_equal(look()->links, links[i].out);
		assert_int_equal(unlink(tree_path("in/a/l")), 0);
	}
	assert_int_equal(look()->links, 0);
	/* By its own absolute name it leads back. */
	snprintf(inside, sizeof inside, "%s/a/b", tree_path("in"));
	assert_int_equal(symlink(inside, tree_path("in/l")), 0);
	assert_int_equal(look()->links, 0);
	snprintf(inside, sizeof inside, "%s/../out", tree_path("in"));
	assert_int_equal(symlink(inside, tree_path("in/m")), 0);
	assert_int_equal(look()->links, 1);
	snprintf(inside, sizeof inside, "%sside", tree_path("in"));
	assert_int_equal(symlink(inside, tree_path("in/n")), 0);
	assert_int_equal(look()->links, 2);
}

/* Nor is there more for a long time. */
static void spend_room(void)
{
	flags.room = 0;
	flags.filled_ns = INT64_MAX / 2;
}

static void test_secrets(void **state)
{
	(void)state;
	look();
	tree_text("in/a/settings", SECRET SECRET);
	tree_text("in/a/b/.env", SECRET);
	assert_int_equal(look()->secrets, 4); /* one by its name */
	/* Later another change in that directory finds them without a search. */
	clock_hold(clock_mono_ns(), clock_wall_ms() + 10000);
	tree_text("in/a/plain", "text\n");
	tree_text("in/a/b/plain", "text\n");
	assert_int_equal(look()->secrets, 4);
	tree_text("in/a/more", "text\n");
	tree_text("in/a/b/more", "text\n");
	spend_room();
	assert_int_equal(look()->secrets, 4);
	clock_let_go();
	flags.filled_ns = 0;
	tree_text("in/a/settings", "empty now\n");
	assert_int_equal(look()->secrets, 2);
	assert_int_equal(rename(tree_path("in/a/b"), tree_path("b")), 0);
	assert_int_equal(look()->secrets, 0);
	assert_int_equal(flags.nsecrets, 0);
}

/* Not searched is not clean. */
static void test_unsearched(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	look();
	fd = open(tree_path("in/a/large"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(look()->unsearched, 1);
	assert_int_equal(ftruncate(fd, 10), 0);
	assert_int_equal(look()->unsearched, 0);
	spend_room();
	tree_text("in/a/b/settings", SECRET);
	assert_int_equal(look()->unsearched, 1);
	assert_int_equal(flags.sums.secrets, 0);
	flags.filled_ns = 0;
	tree_text("in/a/b/other", "text\n");
	assert_int_equal(look()->unsearched, 0);
	assert_int_equal(flags.sums.secrets, 1);
	/* What is no file keeps nobody waiting. */
	assert_int_equal(mkfifo(tree_path("in/a/b/pipe"), 0600), 0);
	assert_int_equal(look()->secrets, 1);
}

static void make_small(const char *dir, unsigned from, unsigned to)
{
	char name[64];

	for (unsigned i = from; i < to; i++) {
		snprintf(name, sizeof name, "%s/%u", dir, i);
		tree_text(name, "x");
	}
}

/* Of several directories together; and who looks twice does not count twice. */
static void test_flood(void **state)
{
	time_t minute;

	(void)state;
	look();
	do {
		minute = time(NULL) / 60;
		begin_new();
		look();
		make_small("in/a", 0, 300);
		look();
		make_small("in/a/b", 0, 400);
		look();
		make_small("in/a", 300, 600);
		look();
	} while (minute != time(NULL) / 60);
	assert_int_equal(flags.sums.small, 1000);
	assert_int_equal(flags.sums.small_ns, (int64_t)minute * 60 * 1000000000);
	/* It was one, whatever is left of it. */
	assert_int_equal(rename(tree_path("in/a"), tree_path("gone")), 0);
	assert_int_equal(look()->small, 1000);
	begin_new();
	assert_int_equal(look()->small, 0);
}

/* More directories with something in them than are kept: that is said. */
static void test_many(void **state)
{
	char name[64];

	(void)state;
	for (int i = 0; i < 4200; i++) {
		snprintf(name, sizeof name, "in/d%d", i);
		tree_mkdirs(name);
		snprintf(name, sizeof name, "in/d%d/run", i);
		tree_text(name, "x");
		assert_int_equal(chmod(tree_path(name), 0755), 0);
	}
	assert_int_equal(look()->unread, 1);
	assert_true(flags.sums.executables >= 4000);
}

int main(void)
{
#define FLAGS_CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {FLAGS_CASE(test_nothing_new),
		FLAGS_CASE(test_executables), FLAGS_CASE(test_links), FLAGS_CASE(test_secrets),
		FLAGS_CASE(test_unsearched), FLAGS_CASE(test_flood), FLAGS_CASE(test_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
