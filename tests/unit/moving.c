/* moving.c - a tree that somebody else changes while it is captured or restored. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "checkpoint/capture.h"
#include "checkpoint/restore.h"
#include "files/files.h"
#include "lib/tree.h"

static struct checkpoint_store *store;
static int root;
static struct err e;

static int setup(void **state)
{
	(void)state;
	tree_make("moving");
	tree_mkdirs("root");
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
	assert_non_null(store);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	checkpoint_close(store);
	close(root);
	tree_remove();
	return 0;
}

static void swap(const char *a, const char *b)
{
	assert_int_equal(
		renameat2(AT_FDCWD, tree_path(a), AT_FDCWD, tree_path(b), RENAME_EXCHANGE), 0);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(lstat(tree_path(name), &st), 0);
	return st.st_mode & 07777;
}

/* --- restore --- */

/* Restores "a" after `a` and `b` have exchanged their names behind the back of what was seen. */
static void expect_refused_swap(const char *a, const char *b)
{
	struct pool *pool = pool_new();
	struct manifest live, to;

	manifest_init(&live);
	manifest_init(&to);
	assert_int_equal(store_load(store, "a", &to, &e), 0);
	assert_int_equal(capture_tree(&(struct capture){.root = root, .pool = pool}, &live, &e), 0);
	manifest_index(&live);
	swap(a, b);
	assert_int_equal(restore_tree(&(struct restore){.store = store,
					      .pool = pool,
					      .root = root,
					      .live = &live,
					      .to = &to},
				 NULL, &e),
		-1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_non_null(strstr(e.msg, "changed in the meantime"));
	manifest_release(&live);
	manifest_release(&to);
	pool_free(pool);
}

/* The mode (by root: the owner) that is given back is for the file that had the name when it was looked at. */
static void test_dressed_is_the_one_seen(void **state)
{
	(void)state;
	tree_text("root/shown", "x");
	tree_text("root/secret", "y");
	assert_int_equal(chmod(tree_path("root/shown"), 0644), 0);
	assert_int_equal(chmod(tree_path("root/secret"), 0600), 0);
	assert_int_equal(checkpoint_make(store, root, "a", NULL, NULL, &e), 0);
	assert_int_equal(chmod(tree_path("root/shown"), 0400), 0);
	expect_refused_swap("root/shown", "root/secret");
	assert_int_equal(mode_of("root/shown"), 0600);
}

static void test_dressed_directory_is_the_one_seen(void **state)
{
	(void)state;
	tree_mkdirs("root/shown");
	tree_mkdirs("root/secret");
	assert_int_equal(chmod(tree_path("root/shown"), 0755), 0);
	assert_int_equal(chmod(tree_path("root/secret"), 0700), 0);
	assert_int_equal(checkpoint_make(store, root, "a", NULL, NULL, &e), 0);
	assert_int_equal(chmod(tree_path("root/shown"), 0750), 0);
	expect_refused_swap("root/shown", "root/secret");
	assert_int_equal(mode_of("root/shown"), 0700);
}

/* Nor is anything removed or made in a directory that has come into the place of another. */
static void test_changed_directory_is_the_one_seen(void **state)
{
	(void)state;
	tree_mkdirs("root/a");
	tree_mkdirs("root/b");
	tree_text("root/b/x", "kept");
	assert_int_equal(checkpoint_make(store, root, "a", NULL, NULL, &e), 0);
	tree_text("root/a/x", "surplus");
	expect_refused_swap("root/a", "root/b");
	assert_true(tree_exists("root/a/x"));
	assert_true(tree_exists("root/b/x"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {CASE(test_dressed_is_the_one_seen),
		CASE(test_dressed_directory_is_the_one_seen),
		CASE(test_changed_directory_is_the_one_seen)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
