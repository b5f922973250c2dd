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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kills), cmocka_unit_test(test_kills_while_filling)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
