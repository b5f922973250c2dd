/* overview.c - all workspaces at a glance: what is told, when it changed, what a hostile tree makes of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/live.h>
#include <berth/overview.h>

#include "lib/tree.h"

static struct arena mem;
static struct err e;
static struct workspaces *w;

static int setup(void **state)
{
	(void)state;
	tree_make("overview");
	arena_init(&mem, 0);
	e = (struct err)ERR_INIT;
	w = NULL;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	workspaces_close(w);
	arena_release(&mem);
	tree_remove();
	return 0;
}

static void make_workspace_named(enum workspace_kind kind, const char *name)
{
	const struct workspace_new n = {
		.kind = kind, .name = name, .uid = (uid_t)-1, .gid = (gid_t)-1};

	if (!w)
		w = workspaces_open(tree_path("workspaces"), &e);
	assert_non_null(w);
	assert_int_equal(workspace_create(w, &n, &e), 0);
}

static struct overview take_look(void)
{
	struct overview o;

	assert_int_equal(overview_look(tree_path(""), 0, 0, &o, &mem, &e), 0);
	return o;
}

static void make_checkpoint_of(const char *store, const char *of, const char *name)
{
	struct checkpoint_store *s;
	int root = open(tree_path(of), O_RDONLY | O_DIRECTORY);

	mkdir(tree_path("checkpoints"), 0700);
	mkdir(tree_path("checkpoints/tasks"), 0700);
	s = checkpoint_open(tree_path(store), &e);
	assert_true(root >= 0);
	assert_non_null(s);
	assert_int_equal(checkpoint_make(s, root, name, NULL, NULL, &e), 0);
	checkpoint_close(s);
	close(root);
}

static void test_nothing_there(void **state)
{
	struct overview o = take_look();

	(void)state;
	assert_int_equal(o.n, 0);
	assert_string_equal(o.dir, "");
	assert_false(tree_exists("workspaces"));
	assert_int_equal(overview_look(tree_path("no/such"), 0, 0, &o, &mem, &e), 0);
	assert_int_equal(overview_look(tree_path("no/such"), 0, o.stamp, &o, &mem, &e), 1);
	assert_false(tree_exists("no"));
}

static void test_what_is_told(void **state)
{
	struct overview o;

	(void)state;
	make_workspace_named(WORKSPACE_PROJECT, "site");
	make_workspace_named(WORKSPACE_TASK, "a");
	make_workspace_named(WORKSPACE_TASK, "b");
	make_checkpoint_of("checkpoints/tasks/b", "workspaces/tasks/b", "one");
	make_checkpoint_of("checkpoints/tasks/b", "workspaces/tasks/b", "two");
	assert_int_equal(workspace_end(w, "a", WORKSPACE_FAILED, 1, &e), 0);
	o = take_look();
	assert_int_equal(o.n, 3);
	assert_string_equal(o.rows[0].usage.info.name, "a");
	assert_int_equal(o.rows[0].usage.info.state, WORKSPACE_FAILED);
	assert_int_equal(o.rows[0].usage.counted_ns, 0);
	assert_int_equal(o.rows[0].checkpoints, 0);
	assert_int_equal(o.rows[1].checkpoints, 2);
	assert_string_equal(o.rows[1].newest, "two");
	assert_true(o.rows[1].newest_ns > 0);
	assert_string_equal(o.rows[1].branch, "");
	assert_string_equal(o.rows[2].branch, "main");
	assert_string_equal(o.dir, tree_path("workspaces"));
	assert_int_equal(o.nshared, 5);
	assert_string_equal(o.shared[0].name, "configs");
}

/* As soon as nothing is so new that one more change could have its time. */
static uint64_t wait_settled(void)
{
	struct overview o;
	uint64_t was;

	do
		was = take_look().stamp;
	while (overview_look(tree_path(""), 0, was, &o, &mem, &e) == 0);
	return was;
}

static void test_overview_stamp(void **state)
{
	struct overview o;
	uint64_t was;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	/* What was changed just now may change again within the same tick. */
	assert_int_equal(overview_look(tree_path(""), 0, take_look().stamp, &o, &mem, &e), 0);
	was = wait_settled();
	make_workspace_named(WORKSPACE_TASK, "b");
	assert_int_not_equal(take_look().stamp, was);
	was = take_look().stamp;
	assert_int_equal(workspace_end(w, "a", WORKSPACE_DONE, 1, &e), 0);
	assert_int_not_equal(take_look().stamp, was);
	was = take_look().stamp;
	make_checkpoint_of("checkpoints/tasks/a", "workspaces/tasks/a", "one");
	assert_int_not_equal(take_look().stamp, was);
	was = take_look().stamp;
	make_checkpoint_of("checkpoints/tasks/a", "workspaces/tasks/a", "two");
	assert_int_not_equal(take_look().stamp, was);
	was = take_look().stamp;
	assert_int_equal(workspace_usage_renew(w, INT64_MAX, NULL, NULL, &e), 0);
	assert_int_not_equal(take_look().stamp, was);
	was = take_look().stamp;
	assert_int_equal(mkdir(tree_path("workspaces/shared/libraries/x"), 0700), 0);
	assert_int_not_equal(take_look().stamp, was);
	assert_int_equal(take_look().shared[3].entries, 1);
}

/* What an agent can write in its project leads nowhere and keeps nobody waiting. */
static void test_hostile_head(void **state)
{
	char text[4096];

	(void)state;
	make_workspace_named(WORKSPACE_PROJECT, "p");
	tree_text("workspaces/projects/p/.git/HEAD", "ref: refs/heads/a b\033[31m\nmore\n");
	assert_string_equal(
		take_look().rows[0].branch, "a b\033[31m"); /* raw: neutralised where it is shown */
	tree_text("workspaces/projects/p/.git/HEAD", "0123456789abcdef0123456789abcdef01234567\n");
	assert_string_equal(take_look().rows[0].branch, "01234567");
	tree_text("workspaces/projects/p/.git/HEAD", "");
	assert_string_equal(take_look().rows[0].branch, "");
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	memcpy(text, "ref: refs/heads/", 16);
	tree_text("workspaces/projects/p/.git/HEAD", text);
	assert_int_equal(strlen(take_look().rows[0].branch), 1024 - 16);
	assert_int_equal(unlink(tree_path("workspaces/projects/p/.git/HEAD")), 0);
	assert_int_equal(mkfifo(tree_path("workspaces/projects/p/.git/HEAD"), 0600), 0);
	assert_string_equal(take_look().rows[0].branch, "");
	assert_int_equal(unlink(tree_path("workspaces/projects/p/.git/HEAD")), 0);
	tree_text("secret", "ref: refs/heads/secret\n");
	assert_int_equal(
		symlink(tree_path("secret"), tree_path("workspaces/projects/p/.git/HEAD")), 0);
	assert_string_equal(take_look().rows[0].branch, "");
	assert_int_equal(rename(tree_path("workspaces/projects/p/.git"), tree_path("git")), 0);
	assert_int_equal(unlink(tree_path("git/HEAD")), 0);
	tree_text("git/HEAD", "ref: refs/heads/elsewhere\n");
	assert_int_equal(symlink(tree_path("git"), tree_path("workspaces/projects/p/.git")), 0);
	assert_string_equal(take_look().rows[0].branch, "");
}

static void test_one(void **state)
{
	struct overview_one one;
	uint64_t stamp;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	assert_int_equal(overview_one(tree_path(""), 0, WORKSPACE_TASK, "a", 0, &one, &mem, &e), 0);
	assert_int_equal(one.npoints, 0);
	assert_string_equal(one.path, tree_path("workspaces/tasks/a"));
	assert_false(tree_exists("checkpoints"));
	make_checkpoint_of("checkpoints/tasks/a", "workspaces/tasks/a", "one");
	make_checkpoint_of("checkpoints/tasks/a", "workspaces/tasks/a", "two");
	assert_int_equal(
		overview_one(tree_path(""), 0, WORKSPACE_TASK, "a", one.stamp, &one, &mem, &e), 0);
	assert_int_equal(one.npoints, 2);
	assert_string_equal(one.points[0].name, "two");
	stamp = wait_settled();
	assert_int_equal(
		overview_one(tree_path(""), 0, WORKSPACE_TASK, "a", stamp, &one, &mem, &e), 1);
	assert_int_equal(
		overview_one(tree_path(""), 0, WORKSPACE_TASK, "b", 0, &one, &mem, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

/* Told before each; stops at the second. */
static bool stop_at_second(void *ctx, const struct workspace_info *next, size_t done, size_t all)
{
	unsigned *calls = ctx;

	assert_int_equal(all, 3);
	assert_int_equal(done, *calls);
	assert_int_equal(next->name[0], 'a' + (int)done);
	return ++*calls < 2;
}

static void test_holder(void **state)
{
	const struct workspace_holder by = {
		.container = "box-1", .agent = "alpha", .engine = "engine-1"};
	struct overview o;
	uint64_t was;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	make_workspace_named(WORKSPACE_TASK, "b");
	was = wait_settled();
	assert_int_equal(workspace_hold(w, WORKSPACE_TASK, "b", &by, &e), 1);
	assert_int_equal(overview_look(tree_path(""), 0, was, &o, &mem, &e), 0);
	assert_int_equal(o.rows[0].nheld, 0);
	assert_int_equal(o.rows[1].nheld, 1);
	assert_string_equal(o.rows[1].held.agent, "alpha");
	assert_string_equal(o.rows[1].held.container, "box-1");
}

static void test_limits_told(void **state)
{
	const struct workspace_limits l = {
		.bytes = 5000, .files = 7, .breach = WORKSPACE_WARN, .let_files = 9};
	struct overview o;
	uint64_t was;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	make_workspace_named(WORKSPACE_TASK, "b");
	was = wait_settled();
	assert_int_equal(workspace_limit(w, WORKSPACE_TASK, "b", &l, &e), 0);
	assert_int_equal(overview_look(tree_path(""), 0, was, &o, &mem, &e), 0);
	assert_false(o.rows[0].limited);
	assert_true(o.rows[1].limited);
	assert_int_equal(o.rows[1].limits.bytes, 5000);
	assert_int_equal(o.rows[1].limits.files, 7);
	assert_int_equal(o.rows[1].limits.breach, WORKSPACE_WARN);
	assert_int_equal(o.rows[1].limits.let_files, 9);
}

/* What the keeper counts holds at once, for what was counted before as for what never was; once it is gone nothing of it
 * does. */
static void test_live(void **state)
{
	struct live l[] = {{.kind = WORKSPACE_TASK,
				   .name = "b",
				   .amount = {.bytes = 8192, .files = 9, .unread = 1},
				   .bytes = 5000,
				   .files = 7},
		{.kind = WORKSPACE_TASK, .name = "c", .inode = 1, .bytes = 3}};
	struct workspace_usage *u;
	struct overview o;
	uint64_t was;
	size_t n;
	int lock;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	make_workspace_named(WORKSPACE_TASK, "b");
	make_workspace_named(WORKSPACE_TASK, "c");
	l[0].inode = take_look().rows[1].usage.info.inode;
	l[0].changed_ns = take_look().rows[1].usage.info.changed_ns + 5;
	lock = live_start(w, &e);
	assert_true(lock >= 0);
	was = wait_settled();
	assert_int_equal(live_write(w, l, 2, &e), 0);
	assert_int_equal(overview_look(tree_path(""), 0, was, &o, &mem, &e), 0);
	assert_int_equal(o.rows[0].usage.counted_ns, 0);
	assert_int_equal(o.rows[1].usage.bytes, 5000);
	assert_int_equal(o.rows[1].usage.disk, 8192);
	assert_int_equal(o.rows[1].usage.files, 7);
	assert_int_equal(o.rows[1].usage.files + o.rows[1].usage.dirs + o.rows[1].usage.others, 10);
	assert_int_equal(o.rows[1].usage.unread, 1);
	assert_int_equal(o.rows[1].usage.used_ns, l[0].changed_ns);
	assert_true(o.rows[1].usage.counted_ns > 0);
	assert_int_equal(o.rows[2].usage.counted_ns, 0); /* of another directory of that name */
	/* Nor is it counted a second time. */
	assert_int_equal(workspace_usage(w, true, &u, &n, &e), 0);
	assert_int_equal(u[1].bytes, 5000);
	assert_true(u[0].files > 0);
	free(u);
	close(lock);
	l[0].bytes = 6000;
	assert_int_equal(live_write(w, l, 2, &e), 0);
	assert_int_equal(workspace_usage_known(w, &u, &n, &e), 0);
	assert_int_equal(u[1].bytes, 5000);
	free(u);
	assert_int_equal(live_read(w, &(struct live *){NULL}), 0);
}

/* What is new is so until the next checkpoint; a link that leads out is always one. */
static void test_live_flags(void **state)
{
	struct live l = {.kind = WORKSPACE_TASK,
		.name = "a",
		.flags = {.executables = 3, .links = 2, .secrets = 1, .small = 5000}};
	struct overview_one one;
	int64_t since;
	int lock;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	l.inode = take_look().rows[0].usage.info.inode;
	lock = live_start(w, &e);
	assert_int_equal(live_write(w, &l, 1, &e), 0);
	assert_false(take_look().rows[0].live); /* none was looked for yet */
	l.flags_ns = clock_wall_ms() * 1000000;
	assert_int_equal(live_write(w, &l, 1, &e), 0);
	assert_true(take_look().rows[0].live);
	assert_int_equal(take_look().rows[0].flags.secrets, 1);
	assert_int_equal(overview_one(tree_path(""), 0, WORKSPACE_TASK, "a", 0, &one, &mem, &e), 0);
	assert_int_equal(one.row.flags.executables, 3);
	assert_int_equal(live_since(w, &one.row.usage.info), 0);
	assert_int_equal(
		workspace_hold(w, WORKSPACE_TASK, "a",
			&(struct workspace_holder){.container = "b", .agent = "a", .engine = "e"},
			&e),
		1);
	since = live_since(w, &one.row.usage.info);
	assert_true(since > 0);
	while (clock_wall_ms() * 1000000 <= l.flags_ns + 20000000)
		; /* the clock of files has ticks */
	make_checkpoint_of("checkpoints/tasks/a", "workspaces/tasks/a", "one");
	assert_true(live_since(w, &one.row.usage.info) > since);
	assert_int_equal(take_look().rows[0].flags.secrets, 0);
	assert_int_equal(take_look().rows[0].flags.executables, 0);
	assert_int_equal(take_look().rows[0].flags.small, 0);
	assert_int_equal(take_look().rows[0].flags.links, 2);
	close(lock);
	assert_false(take_look().rows[0].live);
}

/* Too large to be watched: how much is counted, but not of which sizes. */
static void test_live_partly(void **state)
{
	struct live l = {.kind = WORKSPACE_TASK,
		.name = "a",
		.amount = {.bytes = 8192, .files = 90},
		.partly = true};
	struct workspace_usage *u;
	uint64_t bytes;
	size_t n;
	int lock;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	tree_text("workspaces/tasks/a/files/x", "12345");
	l.inode = take_look().rows[0].usage.info.inode;
	lock = live_start(w, &e);
	assert_int_equal(live_write(w, &l, 1, &e), 0);
	assert_int_equal(take_look().rows[0].usage.counted_ns, 0);
	assert_int_equal(workspace_usage(w, false, &u, &n, &e), 0);
	bytes = u[0].bytes;
	free(u);
	assert_int_equal(workspace_usage_known(w, &u, &n, &e), 0);
	assert_int_equal(u[0].bytes, bytes);
	assert_int_equal(u[0].disk, 8192);
	free(u);
	close(lock);
}

/* What is written there is not trusted. */
static void test_live_lines(void **state)
{
	struct live *all;
	int lock;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	lock = live_start(w, &e);
	tree_text("workspaces/.live/now",
		"\n0 a 5 1 2 3 4 5 0 6\n"
		"0 a 5 1 2 3 4 5 0 6 7 1 2 3 4 5 6 7 8\n"
		"9 a 5 1 2 3 4 5 0 6 7 1 2 3 4 5 6 7\n"
		"0 ../a 5 1 2 3 4 5 0 6 7 1 2 3 4 5 6 7\n"
		"1 b 5 1 2 3 4 5 0 6 7 1 2 3 4 5 6 7\nx");
	assert_int_equal(live_read(w, &all), 1);
	assert_string_equal(all[0].name, "b");
	assert_int_equal(all[0].flags.unread, 7);
	free(all);
	tree_text("workspaces/.live/now", "");
	assert_int_equal(live_read(w, &all), 0);
	free(all);
	close(lock);
}

/* That it came or went is a change, though the tree is the same. */
static void test_keeper_told(void **state)
{
	struct overview_one one;
	struct overview o;
	uint64_t was;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	was = wait_settled();
	assert_int_equal(overview_look(tree_path(""), 0, was, &o, &mem, &e), 1);
	assert_int_equal(overview_look(tree_path(""), 812, was, &o, &mem, &e), 0);
	assert_int_equal(o.keeper, 812);
	assert_int_equal(
		overview_one(tree_path(""), 812, WORKSPACE_TASK, "a", was, &one, &mem, &e), 0);
	assert_int_equal(one.keeper, 812);
}

/* By their files alone; what is no archive is none. */
static void test_archives_told(void **state)
{
	struct overview o;
	uint64_t was;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	tree_text("workspaces/archives/projects/site.tar.zst", "12345");
	tree_text("workspaces/archives/tasks/old.tar.zst", "not even one");
	was = wait_settled();
	tree_text("workspaces/archives/tasks/fix.tar.zst", "1");
	tree_text("workspaces/archives/tasks/.new.x", "unfinished");
	tree_text("workspaces/archives/tasks/.x.tar.zst", "");
	tree_text("workspaces/archives/tasks/.tar.zst", "");
	tree_text("workspaces/archives/tasks/a b.tar.zst", "");
	assert_int_equal(mkdir(tree_path("workspaces/archives/tasks/dir.tar.zst"), 0700), 0);
	assert_int_equal(
		symlink("/etc/passwd", tree_path("workspaces/archives/tasks/link.tar.zst")), 0);
	assert_int_equal(overview_look(tree_path(""), 0, was, &o, &mem, &e), 0);
	assert_int_equal(o.narchives, 3);
	assert_string_equal(o.archives[0].name, "fix");
	assert_string_equal(o.archives[1].name, "old");
	assert_int_equal(o.archives[1].packed, 12);
	assert_true(o.archives[1].made_ns > 0);
	assert_int_equal(o.archives[2].kind, WORKSPACE_PROJECT);
	assert_string_equal(o.archives[2].name, "site");
}

static void test_count_stopped(void **state)
{
	unsigned calls = 0;
	struct overview o;
	int64_t first;

	(void)state;
	make_workspace_named(WORKSPACE_TASK, "a");
	make_workspace_named(WORKSPACE_TASK, "b");
	make_workspace_named(WORKSPACE_TASK, "c");
	assert_int_equal(workspace_usage_renew(w, INT64_MAX, stop_at_second, &calls, &e), 0);
	assert_int_equal(calls, 2);
	o = take_look();
	first = o.rows[0].usage.counted_ns;
	assert_true(first > 0);
	assert_int_equal(o.rows[0].usage.files, 5);
	assert_true(o.rows[0].usage.disk >= o.rows[0].usage.bytes);
	assert_int_equal(o.rows[1].usage.counted_ns, 0);
	/* What was counted since then is good. */
	assert_int_equal(workspace_usage_renew(w, first, NULL, NULL, &e), 0);
	o = take_look();
	assert_int_equal(o.rows[0].usage.counted_ns, first);
	assert_true(o.rows[2].usage.counted_ns >= first);
}

static void test_workspaces_peek(void **state)
{
	(void)state;
	assert_null(workspaces_peek(tree_path("workspaces"), &e));
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	e = (struct err)ERR_INIT;
	make_workspace_named(WORKSPACE_TASK, "a");
	workspaces_close(w);
	assert_int_equal(mkdir(tree_path("workspaces/tasks/.new.x"), 0700), 0);
	w = workspaces_peek(tree_path("workspaces"), &e);
	assert_non_null(w);
	assert_true(tree_exists("workspaces/tasks/.new.x")); /* of one that is being made, maybe */
	assert_int_equal(chmod(tree_path("workspaces"), 0755), 0);
	assert_null(workspaces_peek(tree_path("workspaces"), &e));
	assert_int_equal(e.kind, ERR_REFUSED);
}

#define CASE(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_nothing_there),
		CASE(test_what_is_told),
		CASE(test_overview_stamp),
		CASE(test_hostile_head),
		CASE(test_one),
		CASE(test_holder),
		CASE(test_limits_told),
		CASE(test_live),
		CASE(test_live_flags),
		CASE(test_live_partly),
		CASE(test_live_lines),
		CASE(test_keeper_told),
		CASE(test_archives_told),
		CASE(test_count_stopped),
		CASE(test_workspaces_peek),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
