/* held.c - which containers have a workspace: one for a task, several for a project; what is written is not trusted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/workspace.h>

#include "lib/tree.h"

static struct workspaces *w;
static struct err e;

static int setup_held(void **state)
{
	(void)state;
	tree_make("held");
	e = (struct err)ERR_INIT;
	w = workspaces_open(tree_path("w"), &e);
	return w ? 0 : -1;
}

static int clear_held(void **state)
{
	(void)state;
	workspaces_close(w);
	tree_remove();
	return 0;
}

static void make_held(enum workspace_kind kind, const char *name)
{
	const struct workspace_new n = {
		.kind = kind, .name = name, .uid = (uid_t)-1, .gid = (gid_t)-1};

	if (workspace_create(w, &n, &e))
		fail_msg("%s", e.msg);
}

static int hold_named(enum workspace_kind kind, const char *name, const char *container)
{
	struct workspace_holder by = {.agent = "a", .engine = "E:1"};

	e = (struct err)ERR_INIT;
	snprintf(by.container, sizeof by.container, "%s", container);
	return workspace_hold(w, kind, name, &by, &e);
}

static size_t count_holders(size_t at, const char *first)
{
	struct workspace_holder all[WORKSPACE_HOLDERS_MAX];
	struct workspace_info *list;
	size_t n, found;

	assert_int_equal(workspace_list(w, &list, &n, &e), 0);
	assert_true(at < n);
	found = workspace_holders(w, &list[at], all);
	free(list);
	if (found && first)
		assert_string_equal(all[0].container, first);
	return found;
}

/* What its team file says of checkpoints goes with it, also when that changes under a container that stays. */
static void test_checkpoints_asked(void **state)
{
	struct workspace_holder by = {.container = "berth-a", .agent = "a", .engine = "E:1"},
				found[WORKSPACE_HOLDERS_MAX];
	struct workspace_info *list, i;
	size_t n;

	(void)state;
	make_held(WORKSPACE_TASK, "t");
	assert_int_equal(workspace_list(w, &list, &n, &e), 0);
	i = list[0];
	free(list);
	for (int64_t every = 0; every < 3; every++) {
		by.every_s = every;
		by.keep = every * 7;
		assert_int_equal(workspace_hold(w, WORKSPACE_TASK, "t", &by, &e), every == 0);
		assert_int_equal(workspace_holders(w, &i, found), 1);
		assert_int_equal(found[0].every_s, every);
		assert_int_equal(found[0].keep, every * 7);
	}
}

static void test_task_of_one(void **state)
{
	(void)state;
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-a"), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	make_held(WORKSPACE_TASK, "t");
	assert_int_equal(workspace_check_free(w, WORKSPACE_TASK, "t", &e), 0);
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-a"), 1);
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-a"), 0);
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-b"), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.msg, "in use by the container berth-a"));
	assert_int_equal(count_holders(0, "berth-a"), 1);
	assert_int_equal(workspace_check_free(w, WORKSPACE_TASK, "t", &e), -1);
	/* Another engine's container of that name holds nothing here. */
	assert_int_equal(workspace_release(w, "berth-a", "E:2", &e), 0);
	assert_int_equal(count_holders(0, "berth-a"), 1);
	assert_int_equal(workspace_release(w, "berth-a", "E:1", &e), 0);
	assert_int_equal(count_holders(0, NULL), 0);
	assert_int_equal(workspace_check_free(w, WORKSPACE_TASK, "t", &e), 0);
	assert_false(tree_exists("w/.held/task:t"));
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "two words"), -1);
	assert_int_equal(e.kind, ERR_USAGE);
}

static int turn_within(const char *container, struct workspace_most most, struct workspace_turn *t,
	struct workspace_line *line)
{
	struct workspace_holder by = {.agent = "a", .engine = "E:1"};

	snprintf(by.container, sizeof by.container, "%s", container);
	return workspace_turn(w, &by, &most, t, line, &e);
}

static int turn_of(
	const char *container, size_t most, struct workspace_turn *t, struct workspace_line *line)
{
	return turn_within(container, (struct workspace_most){.active = most}, t, line);
}

/* Over the total nobody begins but who has begun; with room made the line goes on, in its order. */
static void test_total(void **state)
{
	struct workspace_turn t[3] = {{.fd = -1}, {.fd = -1}, {.fd = -1}};
	const struct workspace_most most = {.bytes = 200000};
	struct workspace_line line;

	(void)state;
	for (const char *const *name = (const char *const[]){"a", "b", "c", "d", "e", NULL}; *name;
		name++)
		make_held(WORKSPACE_TASK, *name);
	make_held(WORKSPACE_PROJECT, "p");
	tree_text("w/projects/p/docs/large", "");
	assert_int_equal(truncate(tree_path("w/projects/p/docs/large"), 1000000), 0);
	assert_int_equal(turn_within("berth-a", most, &t[0], &line), 1); /* projects do not count */
	assert_int_equal(hold_named(WORKSPACE_TASK, "a", "berth-a"), 1);
	workspace_turn_end(w, &t[0]);
	for (const char *const *name = (const char *const[]){"a", "b", "c", "d", NULL}; *name;
		name++) {
		char large[32];

		snprintf(large, sizeof large, "w/tasks/%s/files/large", *name);
		tree_text(large, "");
		assert_int_equal(truncate(tree_path(large), 20000 + 1000 * (**name - 'a')), 0);
	}
	tree_text("w/.usage", ""); /* what was counted before is not known any more */
	assert_int_equal(turn_within("berth-b", most, &t[1], &line), 1);
	workspace_turn_end(w, &t[1]);
	assert_int_equal(truncate(tree_path("w/tasks/c/files/large"), 150000), 0);
	assert_int_equal(workspace_end(w, "c", WORKSPACE_FAILED, 1, &e), 0);
	tree_text("w/.usage", "");
	assert_int_equal(turn_within("berth-b", most, &t[1], &line), 0);
	assert_true(line.full && line.before == 0);
	assert_true(t[1].total.bytes > most.bytes);
	assert_int_equal(t[1].total.n, WORKSPACE_LARGEST);
	assert_string_equal(t[1].total.largest[0].name, "c");
	assert_true(t[1].total.largest[0].bytes > 150000);
	assert_int_equal(t[1].total.largest[0].state, WORKSPACE_FAILED);
	assert_string_equal(t[1].total.largest[1].name, "d");
	assert_string_equal(t[1].total.largest[2].name, "b");
	assert_int_equal(turn_within("berth-d", most, &t[2], &line), 0);
	assert_int_equal(line.before, 1);
	assert_int_equal(turn_within("berth-a", most, &t[0], &line), 1); /* it has one already */
	assert_int_equal(workspace_remove(w, WORKSPACE_TASK, "c", &e), 0);
	t[1].summed_ns = t[2].summed_ns = 0; /* later */
	assert_int_equal(turn_within("berth-d", most, &t[2], &line), 0);
	assert_false(line.full);
	assert_int_equal(turn_within("berth-b", most, &t[1], &line), 1);
	workspace_turn_end(w, &t[1]);
	assert_int_equal(turn_within("berth-d", most, &t[2], &line), 1);
	workspace_turn_end(w, &t[2]);
}

/* Two at a time: the third waits for one of them, the fourth for the third. */
static void test_line(void **state)
{
	struct workspace_turn t[4] = {{.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}};
	struct workspace_line line;

	(void)state;
	for (const char *const *name = (const char *const[]){"a", "b", "c", "d", NULL}; *name;
		name++)
		make_held(WORKSPACE_TASK, *name);
	make_held(WORKSPACE_PROJECT, "p");
	assert_int_equal(hold_named(WORKSPACE_PROJECT, "p", "berth-p"), 1); /* does not count */
	assert_int_equal(turn_of("berth-a", 0, &t[0], &line), 1);
	assert_int_equal(turn_of("berth-a", 2, &t[0], &line), 1);
	/* Granted, but not taken yet: who comes now is behind it. */
	assert_int_equal(turn_of("berth-b", 2, &t[1], &line), 0);
	assert_int_equal(line.before, 1);
	assert_int_equal(hold_named(WORKSPACE_TASK, "a", "berth-a"), 1);
	workspace_turn_end(w, &t[0]);
	assert_int_equal(turn_of("berth-b", 2, &t[1], &line), 1);
	assert_int_equal(hold_named(WORKSPACE_TASK, "b", "berth-b"), 1);
	workspace_turn_end(w, &t[1]);
	assert_int_equal(turn_of("berth-c", 2, &t[2], &line), 0);
	assert_true(line.active == 2 && line.before == 0 && !line.mine);
	assert_int_equal(turn_of("berth-d", 2, &t[3], &line), 0);
	assert_int_equal(line.before, 1);
	assert_int_equal(turn_of("berth-a", 2, &t[0], &line), 1);
	assert_true(line.mine && t[0].fd < 0);
	assert_int_equal(workspace_release(w, "berth-a", "E:1", &e), 0);
	assert_int_equal(turn_of("berth-d", 2, &t[3], &line), 0);
	assert_int_equal(turn_of("berth-c", 2, &t[2], &line), 1);
	workspace_turn_end(w, &t[2]); /* it failed meanwhile */
	assert_int_equal(turn_of("berth-d", 2, &t[3], &line), 1);
	workspace_turn_end(w, &t[3]);
}

/* Who dies in the line leaves it. */
static void test_dead_in_line(void **state)
{
	struct workspace_turn t = {.fd = -1};
	struct workspace_line line;
	int ready[2];
	pid_t pid;
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		struct workspace_turn mine = {.fd = -1};

		c = (char)turn_of("berth-x", 1, &mine, &line);
		(void)!write(ready[1], &c, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 1);
	assert_int_equal(turn_of("berth-a", 1, &t, &line), 0);
	assert_int_equal(line.before, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(turn_of("berth-a", 1, &t, &line), 1);
	workspace_turn_end(w, &t);
	close(ready[0]);
	close(ready[1]);
}

static void test_shared_project(void **state)
{
	char name[20];

	(void)state;
	make_held(WORKSPACE_PROJECT, "p");
	for (int i = 0; i < WORKSPACE_HOLDERS_MAX; i++) {
		snprintf(name, sizeof name, "berth-%d", i);
		assert_int_equal(hold_named(WORKSPACE_PROJECT, "p", name), 1);
	}
	assert_int_equal(hold_named(WORKSPACE_PROJECT, "p", "berth-more"), -1);
	assert_int_equal(workspace_release(w, "berth-0", "E:1", &e), 0);
	assert_int_equal(count_holders(0, "berth-1"), WORKSPACE_HOLDERS_MAX - 1);
}

/* The next directory of that name may have its inode. */
static void test_of_one_directory(void **state)
{
	char text[100];
	struct stat st;

	(void)state;
	make_held(WORKSPACE_TASK, "t");
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-a"), 1);
	assert_int_equal(rename(tree_path("w/tasks/t"), tree_path("gone")), 0);
	make_held(WORKSPACE_TASK, "t");
	assert_false(tree_exists("w/.held/task:t"));
	assert_int_equal(stat(tree_path("gone"), &st), 0);
	snprintf(text, sizeof text, "%ju berth-a a E:1\n", (uintmax_t)st.st_ino);
	tree_text("w/.held/task:t", text);
	assert_int_equal(count_holders(0, NULL), 0);
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-b"), 1);
	assert_int_equal(count_holders(0, "berth-b"), 1);
}

static void test_kept_is_not_trusted(void **state)
{
	char text[300];
	struct stat st;

	(void)state;
	make_held(WORKSPACE_TASK, "t");
	assert_int_equal(stat(tree_path("w/tasks/t"), &st), 0);
	assert_int_equal(hold_named(WORKSPACE_TASK, "t", "berth-a"), 1);
	snprintf(text, sizeof text, "\n%ju\nx y z q\n%ju berth-%0200d a E\n%ju berth-c a E:1\n",
		(uintmax_t)st.st_ino, (uintmax_t)st.st_ino, 1, (uintmax_t)st.st_ino);
	tree_text("w/.held/task:t", text);
	assert_true(count_holders(0, NULL) <= 2);
	tree_text("elsewhere", text);
	assert_int_equal(unlink(tree_path("w/.held/task:t")), 0);
	assert_int_equal(symlink(tree_path("elsewhere"), tree_path("w/.held/task:t")), 0);
	assert_int_equal(count_holders(0, NULL), 0);
	/* Letting go takes away what belongs to no workspace, too, and only in its own folder. */
	tree_text("w/.held/task:gone", text);
	tree_text("w/.held/other", "stays");
	assert_int_equal(workspace_release(w, "berth-c", "E:1", &e), 0);
	assert_false(tree_exists("w/.held/task:gone"));
	assert_true(tree_has("w/.held/other", "stays"));
	assert_true(tree_has("elsewhere", text));
}

static void test_team_words(void **state)
{
	enum workspace_kind kind;

	(void)state;
	assert_string_equal(workspace_word("task:x", &kind), "x");
	assert_int_equal(kind, WORKSPACE_TASK);
	assert_string_equal(workspace_word("project:y", &kind), "y");
	assert_int_equal(kind, WORKSPACE_PROJECT);
	assert_null(workspace_word("tasks/x", &kind));
	assert_null(workspace_word("task", &kind));
}

int main(void)
{
#define HELD_CASE(f) cmocka_unit_test_setup_teardown(f, setup_held, clear_held)
	const struct CMUnitTest tests[] = {HELD_CASE(test_checkpoints_asked),
		HELD_CASE(test_task_of_one), HELD_CASE(test_line), HELD_CASE(test_dead_in_line),
		HELD_CASE(test_total), HELD_CASE(test_shared_project),
		HELD_CASE(test_of_one_directory), HELD_CASE(test_kept_is_not_trusted),
		cmocka_unit_test(test_team_words)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
