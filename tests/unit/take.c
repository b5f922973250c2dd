/* take.c - files taken from one tree into another: nothing that changed since it was looked at is written over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/take.h>

#include "lib/tree.h"

static struct checkpoint_store *store;
static struct checkpoint_tree *from, *start;
static int root, into;
static struct err e;

/* a and b as they were in both; then the agent's change. */
static int setup(void **state)
{
	(void)state;
	tree_make("take");
	tree_text("root/a", "one");
	tree_text("root/b", "one");
	tree_text("into/a", "one");
	tree_text("into/b", "one");
	e = (struct err)ERR_INIT;
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	into = open(tree_path("into"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
	assert_non_null(store);
	assert_int_equal(checkpoint_make(store, root, "start", NULL, NULL, &e), 0);
	start = checkpoint_tree_of(store, "start", &e);
	tree_text("root/a", "agent");
	tree_text("root/new", "new");
	from = checkpoint_tree_now(store, root, NULL, &e);
	assert_non_null(from);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	checkpoint_tree_free(from);
	checkpoint_tree_free(start);
	checkpoint_close(store);
	close(root);
	close(into);
	tree_remove();
	return 0;
}

static struct take *prepare_all(void)
{
	static const char *const all[] = {"."};
	const struct take_wish wish = {
		.from = from, .start = start, .path = all, .npath = 1, .into = into};
	struct take *t = take_prepare(&wish, &e);

	if (!t)
		fail_msg("%s", e.msg);
	return t;
}

static void assert_refused(struct take *t, bool force)
{
	assert_int_equal(take_carry_out(t, force, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	take_free(t);
	assert_false(tree_exists("into/new"));
}

static void test_take_what_changed(void **state)
{
	struct take *t = prepare_all();

	(void)state;
	assert_int_equal(t->nitem, 2);
	assert_string_equal(t->item[0].path, "a");
	assert_int_equal(t->item[0].fate, TAKE_CHANGED);
	assert_int_equal(t->item[1].fate, TAKE_NEW);
	assert_true(tree_has("into/a", "one")); /* looking changes nothing */
	assert_int_equal(take_carry_out(t, false, &e), 0);
	take_free(t);
	assert_true(tree_has("into/a", "agent"));
	assert_true(tree_has("into/new", "new"));
}

static void test_target_changed_since(void **state)
{
	struct take *t = prepare_all();

	(void)state;
	tree_text("into/a", "a person's");
	assert_refused(t, true);
	assert_true(tree_has("into/a", "a person's"));
}

static void test_target_came_since(void **state)
{
	struct take *t = prepare_all();

	(void)state;
	tree_text("into/new", "a person's");
	assert_int_equal(take_carry_out(t, true, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	take_free(t);
	assert_true(tree_has("into/new", "a person's"));
	assert_true(tree_has("into/a", "one"));
}

static void test_target_became_a_link(void **state)
{
	struct take *t = prepare_all();

	(void)state;
	tree_text("away", "one");
	assert_int_equal(unlink(tree_path("into/a")), 0);
	assert_int_equal(symlink("../away", tree_path("into/a")), 0);
	assert_int_equal(take_carry_out(t, true, &e), -1);
	take_free(t);
	assert_true(tree_has("away", "one"));
	assert_false(tree_exists("into/new"));
}

/* What is taken is what was listed, not what the agent put there since. */
static void test_source_changed_since(void **state)
{
	static const char *const all[] = {"."};
	const struct take_wish wish = {
		.from = from, .start = start, .path = all, .npath = 1, .into = into};

	(void)state;
	assert_int_equal(unlink(tree_path("root/a")), 0);
	assert_int_equal(symlink("/etc/passwd", tree_path("root/a")), 0);
	assert_null(take_prepare(&wish, &e));
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_true(tree_has("into/a", "one"));
}

static void test_take_conflict(void **state)
{
	struct take *t;

	(void)state;
	tree_text("into/a", "a person's");
	t = prepare_all();
	assert_int_equal(t->item[0].fate, TAKE_CONFLICT);
	assert_refused(t, false);
	t = prepare_all();
	assert_int_equal(take_carry_out(t, true, &e), 0);
	take_free(t);
	assert_true(tree_has("into/a", "agent"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_take_what_changed),
		CASE(test_target_changed_since),
		CASE(test_target_came_since),
		CASE(test_target_became_a_link),
		CASE(test_source_changed_since),
		CASE(test_take_conflict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
