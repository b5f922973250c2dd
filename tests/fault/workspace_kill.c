/* workspace_kill.c - killed before each system call of making a workspace: nothing is there, or a whole one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/workspace.h>

#include "lib/killed.h"
#include "lib/tree.h"

static const char *const parts[] = {
	"files", "logs", "context.json", "prompt.md", "output", ".env", ".gitignore"};

static struct workspaces *w;

static int create_task(void)
{
	return workspace_create(w,
		&(struct workspace_new){
			.kind = WORKSPACE_TASK, .name = "t", .uid = (uid_t)-1, .gid = (gid_t)-1},
		NULL);
}

static void create_killed(void)
{
	create_task();
}

static int fill_with_parts(void *ctx, int dir, struct err *e)
{
	(void)ctx;
	(void)e;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (mkdirat(dir, parts[i], 0700) < 0)
			return -1;
	return 0;
}

static int create_filled(void)
{
	return workspace_create(w,
		&(struct workspace_new){
			.kind = WORKSPACE_TASK, .name = "t", .fill = fill_with_parts},
		NULL);
}

static void create_filled_killed(void)
{
	create_filled();
}

static void reopen_workspaces(void)
{
	workspaces_close(w);
	w = workspaces_open(tree_path("w"), NULL);
	assert_non_null(w);
}

static const struct workspace_limits own = {.bytes = 1 << 20, .files = 100};

static int create_image(void)
{
	return workspace_create(w,
		&(struct workspace_new){.kind = WORKSPACE_TASK,
			.name = "t",
			.uid = (uid_t)-1,
			.gid = (gid_t)-1,
			.image = &own},
		NULL);
}

static void create_image_killed(void)
{
	create_image();
}

static void remove_image_killed(void)
{
	workspace_remove(w, WORKSPACE_TASK, "t", NULL);
}

/* Killed before each call of `killed`; `whole` makes it where that left nothing. */
static void kill_at_each(void (*killed)(void), int (*whole)(void), int least)
{
	int k = 0, without = 0;
	bool more = true;

	for (; more; k++) {
		tree_make("workspace-kill");
		reopen_workspaces();
		more = killed_at(k, killed, NULL);
		reopen_workspaces();
		assert_false(tree_exists("w/tasks/.new.t"));
		assert_false(tree_exists("w/.images/.new.task:t"));
		if (!tree_exists("w/tasks/t")) {
			assert_true(more);
			without++;
			assert_int_equal(whole(), 0);
		}
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			char path[64];

			snprintf(path, sizeof path, "w/tasks/t/%s", parts[i]);
			assert_true(tree_exists(path));
		}
		assert_int_equal(workspace_remove(w, WORKSPACE_TASK, "t", NULL), 0);
		workspaces_close(w);
		w = NULL;
		tree_remove();
	}
	/* It was killed in between, not only before or after. */
	assert_true(without > least);
	assert_true(k > without + 1);
}

static void test_kills(void **state)
{
	(void)state;
	kill_at_each(create_killed, create_task, 20);
}

/* What its caller fills in, a fork. */
static void test_kills_while_filling(void **state)
{
	(void)state;
	kill_at_each(create_filled_killed, create_filled, 7);
}

static void test_kills_of_image(void **state)
{
	(void)state;
	kill_at_each(create_image_killed, create_image, 40);
}

/* It is whole or gone, and never an empty directory where it was. */
static void test_kills_of_image_that_goes(void **state)
{
	int whole = 0, gone = 0;
	bool more = true;

	(void)state;
	for (int k = 0; more; k++) {
		struct workspace_info *all;
		struct err e = ERR_INIT;
		size_t n;

		tree_make("workspace-kill");
		reopen_workspaces();
		assert_int_equal(create_image(), 0);
		more = killed_at(k, remove_image_killed, NULL);
		reopen_workspaces();
		assert_int_equal(workspace_list(w, &all, &n, NULL), 0);
		free(all);
		assert_false(tree_exists("w/.images/.new.task:t"));
		assert_int_equal(tree_exists("w/.images/task:t"), n);
		assert_int_equal(tree_exists("w/tasks/t/prompt.md"), n);
		whole += n == 1;
		gone += n == 0;
		if (n && workspace_remove(w, WORKSPACE_TASK, "t", &e))
			fail_msg("%s", e.msg);
		workspaces_close(w);
		w = NULL;
		tree_remove();
	}
	assert_true(whole > 10 && gone > 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills),
		cmocka_unit_test(test_kills_while_filling), cmocka_unit_test(test_kills_of_image),
		cmocka_unit_test(test_kills_of_image_that_goes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
