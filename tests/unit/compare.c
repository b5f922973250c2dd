/* compare.c - two trees compared by what is known of them: each kind of difference, mounts, starts, contents. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "lib/tree.h"

static struct checkpoint_store *store;
static int root;
static struct err e;

static int setup(void **state)
{
	(void)state;
	tree_make("compare");
	tree_mkdirs("root/dir/deep");
	tree_text("root/dir/deep/a", "one\n");
	tree_text("root/b", "two\n");
	tree_text("root/c", "");
	assert_int_equal(symlink("b", tree_path("root/link")), 0);
	e = (struct err)ERR_INIT;
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
	assert_non_null(store);
	assert_int_equal(checkpoint_make(store, root, "before", NULL, NULL, &e), 0);
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

static struct checkpoint_tree *tree_before(void)
{
	struct checkpoint_tree *t = checkpoint_tree_of(store, "before", &e);

	assert_non_null(t);
	return t;
}

static struct checkpoint_tree *tree_now(void)
{
	struct checkpoint_tree *t = checkpoint_tree_now(store, root, NULL, &e);

	assert_non_null(t);
	return t;
}

/* "+new -old ~content !type =mode", by path. */
static void assert_changes(const char *want)
{
	struct checkpoint_tree *a = tree_before(), *b = tree_now();
	AUTO_STR struct str told = STR_INIT;
	struct checkpoint_changes c;

	checkpoint_compare(a, b, &c);
	for (size_t i = 0; i < c.n; i++)
		str_addf(&told, "%c%s ", "+-~!="[c.all[i].what], c.all[i].path);
	assert_string_equal(told.s, want);
	checkpoint_changes_release(&c);
	checkpoint_tree_free(a);
	checkpoint_tree_free(b);
}

static void test_nothing_differs(void **state)
{
	(void)state;
	assert_changes("");
	/* Times are no difference. */
	assert_int_equal(utimensat(AT_FDCWD, tree_path("root/b"), NULL, 0), 0);
	assert_changes("");
}

static void test_each_difference(void **state)
{
	(void)state;
	tree_text("root/b", "TWO\n");
	tree_text("root/new/x", "x");
	assert_int_equal(chmod(tree_path("root/c"), 0755), 0);
	assert_int_equal(unlink(tree_path("root/link")), 0);
	tree_text("root/link", "no link any more");
	assert_int_equal(rename(tree_path("root/dir/deep"), tree_path("root/deep")), 0);
	assert_changes("~b =c +deep +deep/a -dir/deep -dir/deep/a !link +new +new/x ");
}

static void test_target_differs(void **state)
{
	(void)state;
	assert_int_equal(unlink(tree_path("root/link")), 0);
	assert_int_equal(symlink("c", tree_path("root/link")), 0);
	assert_changes("~link ");
}

static bool is_content(const struct checkpoint_tree *t, const struct checkpoint_entry *x,
	const char *bytes, size_t n)
{
	struct checkpoint_sum *sum = checkpoint_sum_new();
	bool is;

	checkpoint_sum_add(sum, bytes, n / 2);
	checkpoint_sum_add(sum, bytes + n / 2, n - n / 2);
	is = checkpoint_sum_is(sum, t, x);
	checkpoint_sum_free(sum);
	return is;
}

static void assert_content(struct checkpoint_tree *t, const char *path, const char *want)
{
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x;

	assert_true(checkpoint_lookup(t, path, &x));
	if (checkpoint_content(t, &x, 1000, &text, &e))
		fail_msg("%s: %s", path, e.msg);
	assert_string_equal(text.s, want);
	assert_true(is_content(t, &x, want, strlen(want)));
	assert_false(is_content(t, &x, "other", 5));
}

static void test_contents(void **state)
{
	struct checkpoint_tree *a, *b;

	(void)state;
	tree_text("root/dir/deep/a", "changed\n");
	a = tree_before();
	b = tree_now();
	assert_content(a, "dir/deep/a", "one\n");
	assert_content(b, "dir/deep/a", "changed\n");
	assert_content(b, "./dir//deep/a", "changed\n");
	assert_content(a, "c", "");
	checkpoint_tree_free(a);
	checkpoint_tree_free(b);
}

static void test_holes_are_read(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x;
	struct checkpoint_tree *t;
	int fd = open(tree_path("root/sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	(void)state;
	assert_int_equal(pwrite(fd, "end", 3, 1 << 20), 3);
	close(fd);
	assert_int_equal(checkpoint_make(store, root, "holes", NULL, NULL, &e), 0);
	t = checkpoint_tree_of(store, "holes", &e);
	assert_true(checkpoint_lookup(t, "sparse", &x));
	assert_int_equal(checkpoint_content(t, &x, 2 << 20, &text, &e), 0);
	assert_int_equal(text.len, (1 << 20) + 3);
	assert_memory_equal(text.s + (1 << 20), "end", 3);
	assert_int_equal(text.s[0], 0);
	checkpoint_tree_free(t);
}

/* In blocks that end anywhere: how many bytes, and their sum by place. */
static int64_t read_in_blocks(
	struct checkpoint_tree *t, const char *path, size_t block, uint64_t *sum)
{
	AUTO_FREE char *buf = xmalloc(block);
	struct checkpoint_entry x;
	struct checkpoint_reader *r;
	int64_t at = 0;
	ssize_t n;

	*sum = 0;
	assert_true(checkpoint_lookup(t, path, &x));
	r = checkpoint_reader_open(t, &x, &e);
	if (!r)
		return -1;
	while ((n = checkpoint_read(r, buf, block, &e)) > 0)
		for (ssize_t i = 0; i < n; i++)
			*sum += (uint64_t)(unsigned char)buf[i] * (uint64_t)(++at);
	checkpoint_reader_close(r);
	return n < 0 ? -1 : at;
}

/* Dense and with holes at the start, between and at the end; live and stored. */
static void test_blocks(void **state)
{
	AUTO_FREE char *bytes = xmalloc(3 << 20);
	AUTO_CLOSE int fd = open(tree_path("root/holes"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	static const size_t blocks[] = {997, 4096, 1 << 20, 16 << 20};
	struct checkpoint_tree *t[2];
	uint64_t dense = 0, sum;

	(void)state;
	for (int i = 0; i < 3 << 20; i++) {
		bytes[i] = (char)(i * 7 + (i >> 12));
		dense += (uint64_t)(unsigned char)bytes[i] * (uint64_t)(i + 1);
	}
	tree_write("root/dense", bytes, 3 << 20);
	assert_int_equal(pwrite(fd, "one", 3, 1 << 20), 3);
	assert_int_equal(pwrite(fd, "two", 3, 5 << 20), 3);
	assert_int_equal(ftruncate(fd, 8 << 20), 0);
	assert_int_equal(checkpoint_make(store, root, "blocks", NULL, NULL, &e), 0);
	t[0] = checkpoint_tree_of(store, "blocks", &e);
	t[1] = tree_now();
	for (size_t i = 0; i < COUNT(blocks); i++)
		for (int k = 0; k < 2; k++) {
			uint64_t m = 1 << 20, end = 5 << 20;

			assert_int_equal(read_in_blocks(t[k], "dense", blocks[i], &sum), 3 << 20);
			assert_int_equal(sum, dense);
			assert_int_equal(read_in_blocks(t[k], "holes", blocks[i], &sum), 8 << 20);
			assert_int_equal(sum,
				'o' * (m + 1) + 'n' * (m + 2) + 'e' * (m + 3) + 't' * (end + 1) +
					'w' * (end + 2) + 'o' * (end + 3));
		}
	/* Bytes that change, or go, while it is read, wherever we are. */
	assert_int_equal(pwrite(fd, "2", 1, 5 << 20), 1);
	assert_int_equal(read_in_blocks(t[1], "holes", 4096, &sum), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_int_equal(truncate(tree_path("root/dense"), 5000), 0);
	assert_int_equal(read_in_blocks(t[1], "dense", 4096, &sum), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	tree_write("root/dense", bytes, 3 << 20);
	assert_int_equal(read_in_blocks(t[1], "dense", 4096, &sum), 3 << 20); /* as it was */
	tree_write("root/more", bytes, 3 << 20);
	assert_int_equal(rename(tree_path("root/more"), tree_path("root/dense")), 0);
	assert_int_equal(read_in_blocks(t[1], "dense", 4096, &sum), -1); /* another file */
	checkpoint_tree_free(t[0]);
	checkpoint_tree_free(t[1]);
}

static void refuse_content(struct checkpoint_tree *t, const char *path, enum err_kind kind)
{
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x;

	assert_true(checkpoint_lookup(t, path, &x));
	assert_int_equal(checkpoint_content(t, &x, 5, &text, &e), -1);
	assert_int_equal(e.kind, kind);
}

static void test_content_is_refused(void **state)
{
	struct checkpoint_tree *t;
	struct checkpoint_entry x;

	(void)state;
	tree_text("root/b", "longer than five");
	t = tree_now();
	refuse_content(t, "b", ERR_REFUSED);
	assert_false(checkpoint_lookup(t, "../root/b", &x));
	assert_false(checkpoint_lookup(t, "dir/none", &x));
	assert_false(checkpoint_lookup(t, "b/x", &x));
	/* Something else is there now: a link that leads out is not followed. */
	assert_int_equal(unlink(tree_path("root/c")), 0);
	assert_int_equal(symlink("/etc/hostname", tree_path("root/c")), 0);
	refuse_content(t, "c", ERR_CONFLICT);
	assert_int_equal(rename(tree_path("root/dir"), tree_path("root/moved")), 0);
	assert_int_equal(symlink("moved", tree_path("root/dir")), 0);
	refuse_content(t, "dir/deep/a", ERR_CONFLICT);
	checkpoint_tree_free(t);
}

/* Another content of the same size, with the times set back: it is not taken for the one that was recorded. */
static void test_change_is_recorded(void **state)
{
	struct checkpoint_tree *t = tree_now(), *before = tree_before();
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x, was;
	struct timespec times[2];
	struct stat st;

	(void)state;
	assert_int_equal(stat(tree_path("root/b"), &st), 0);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	tree_text("root/b", "TWO\n");
	assert_int_equal(utimensat(AT_FDCWD, tree_path("root/b"), times, 0), 0);
	assert_true(checkpoint_lookup(t, "b", &x));
	assert_true(checkpoint_lookup(before, "b", &was));
	assert_int_equal(checkpoint_content(t, &x, 5, &text, &e), 0);
	assert_string_equal(text.s, "TWO\n");
	assert_false(checkpoint_same(t, &x, before, &was));
	checkpoint_tree_free(before);
	checkpoint_tree_free(t);
}

/* As every program saves: the new one is read, and the tree knows its size. */
static void test_saved_is_read(void **state)
{
	struct checkpoint_tree *t = tree_now();
	AUTO_STR struct str text = STR_INIT;
	struct checkpoint_entry x;

	(void)state;
	tree_text("root/b.new", "saved!\n");
	assert_int_equal(rename(tree_path("root/b.new"), tree_path("root/b")), 0);
	assert_true(checkpoint_lookup(t, "b", &x));
	assert_int_equal(checkpoint_content(t, &x, 5, &text, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED); /* longer by now */
	assert_int_equal(checkpoint_content(t, &x, 100, &text, &e), 0);
	assert_string_equal(text.s, "saved!\n");
	checkpoint_entry_again(t, &x);
	assert_int_equal(x.size, 7);
	checkpoint_tree_free(t);
}

static void test_damage_is_not_read(void **state)
{
	struct checkpoint_tree *t = tree_before();
	int fd = open(tree_path("store/packs/1"), O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(pwrite(fd, "XXXXXXXXXXXXXXXX", 16, 0), 16);
	close(fd);
	refuse_content(t, "b", ERR_FAILED);
	checkpoint_tree_free(t);
}

static void test_start_of_fork(void **state)
{
	struct checkpoint_tree *start, *before;
	struct checkpoint_changes c;
	struct checkpoint_target t;
	struct checkpoint_store *own;
	int fork;

	(void)state;
	tree_mkdirs("fork");
	fork = open(tree_path("fork"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	own = checkpoint_open(tree_path("own"), &e);
	assert_non_null(own);
	assert_null(checkpoint_tree_start(own, fork, &e));
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	t = (struct checkpoint_target){.root = fork, .begins = own};
	assert_int_equal(checkpoint_fork(store, "before", &t, 1, &e), 0);
	assert_int_equal(t.err.kind, ERR_NONE);
	before = tree_before();
	/* The checkpoint itself is not needed any more. */
	assert_int_equal(checkpoint_drop(store, "before", NULL, &e), 0);
	start = checkpoint_tree_start(own, fork, &e);
	assert_non_null(start);
	assert_string_equal(checkpoint_tree_name(start), "before");
	assert_true(checkpoint_tree_same(start, before));
	checkpoint_compare(start, before, &c);
	assert_int_equal(c.n, 0);
	refuse_content(start, "b", ERR_NOT_FOUND);
	checkpoint_tree_free(start);
	/* Another directory did not begin so. */
	assert_null(checkpoint_tree_start(own, root, &e));
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	checkpoint_tree_free(before);
	checkpoint_close(own);
	close(fork);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nothing_differs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_each_difference, setup, teardown),
		cmocka_unit_test_setup_teardown(test_target_differs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_contents, setup, teardown),
		cmocka_unit_test_setup_teardown(test_holes_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_blocks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_content_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_change_is_recorded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_saved_is_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage_is_not_read, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_of_fork, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
