/* watched.c - what is known of trees that change is what counting all of them finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "keeper/watched.h"
#include "lib/tree.h"

#define ROUNDS 400
#define STEPS 25

static struct watched all;
static struct watched_tree one;

static int setup(void **state)
{
	(void)state;
	tree_make("watched");
	tree_mkdirs("in");
	one = (struct watched_tree){.changed = true, .anew = true};
	one.root = open(tree_path("in"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(one.root >= 0);
	return watched_open(&all, NULL);
}

static int teardown(void **state)
{
	(void)state;
	watched_close(&all);
	close(one.root);
	tree_remove();
	return 0;
}

/* As the keeper does; what is on its way to elsewhere is found by the next look. */
static void count_to_end(void)
{
	for (int i = 0; i < 8; i++) {
		if (watched_drain(&all))
			one.anew = one.changed = true;
		if (!one.changed)
			return;
		watched_count(&all, &one);
	}
	fail_msg("it does not come to an end");
}

static uint64_t nfiles, nsizes;

static int add_regular(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)at;
	if (type == FTW_F && S_ISREG(st->st_mode)) {
		nfiles++;
		nsizes += (uint64_t)st->st_size;
	}
	return 0;
}

static void check_files(void)
{
	AUTO_FREE char *dir = xasprintf("/proc/self/fd/%d/.", one.root);

	nfiles = nsizes = 0;
	assert_int_equal(nftw(dir, add_regular, 16, FTW_PHYS), 0);
	assert_int_equal(one.files, nfiles);
	assert_int_equal((uint64_t)one.sizes, nsizes);
}

static void check_sum(void)
{
	struct workspace_amount found;

	count_to_end();
	assert_false(one.blind);
	assert_int_equal(workspace_amount(one.root, &found, NULL, NULL, NULL), 0);
	assert_int_equal(one.sum.files, found.files);
	assert_int_equal(one.sum.bytes, found.bytes);
	if (found.bytes < INT64_MAX) /* else they come to more than a number holds */
		check_files();
}

static void append_bytes(const char *path, int n)
{
	AUTO_CLOSE int fd =
		open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);

	for (int i = 0; i < n && fd >= 0; i++)
		assert_int_equal(write(fd, "0123456789", 10), 10);
}

/* -- anything ---------------------------------------------------------------------------------------- */

/* Up to four levels of three names each, half of them of files. */
static const char *pick_place(void)
{
	static _Thread_local char at[4][64];
	static _Thread_local unsigned next;
	char *path = at[next++ % 4];
	int n = snprintf(path, sizeof at[0], "in");

	for (long depth = 1 + random() % 4; depth > 0; depth--)
		n += snprintf(
			path + n, sizeof at[0] - (size_t)n, "/%c", (int)("abcdef"[random() % 6]));
	return path;
}

static void do_anything(void)
{
	const char *a = tree_path(pick_place()), *b = tree_path(pick_place());

	switch (random() % 10) {
	case 0:
	case 1:
	case 2: mkdir(a, 0755); break;
	case 3:
	case 4: append_bytes(a, (int)(random() % 900)); break;
	case 5: rename(a, b); break;
	case 6: renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE); break;
	case 7: (void)!truncate(a, random() % 100000); break;
	case 8: unlink(a); break;
	default: (void)!(rmdir(a) || symlink(b, a)); break;
	}
}

static void test_anything_that_happens(void **state)
{
	(void)state;
	srandom(14);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < STEPS; i++)
			do_anything();
		check_sum();
	}
}

/* A count in the middle of it changes nothing of what is found in the end. */
static void test_counts_between(void **state)
{
	(void)state;
	srandom(41);
	for (int i = 0; i < ROUNDS * STEPS; i++) {
		do_anything();
		if (random() % 3 == 0 && watched_drain(&all))
			one.anew = true;
		if (random() % 3 == 0)
			watched_count(&all, &one);
	}
	check_sum();
}

/* -- in particular ----------------------------------------------------------------------------------- */

static void test_moved_away_and_back(void **state)
{
	(void)state;
	tree_mkdirs("in/a/b/c");
	append_bytes(tree_path("in/a/b/c/f"), 500);
	check_sum();
	assert_int_equal(rename(tree_path("in/a"), tree_path("out")), 0);
	check_sum();
	assert_int_equal(one.sum.files, 0);
	append_bytes(tree_path("out/b/c/f"), 500);
	check_sum();
	assert_int_equal(rename(tree_path("out"), tree_path("in/z")), 0);
	check_sum();
	assert_int_equal(one.sum.files, 4);
}

static void test_moved_keeps_its_watch(void **state)
{
	(void)state;
	tree_mkdirs("in/a/b");
	tree_mkdirs("in/x");
	check_sum();
	assert_int_equal(rename(tree_path("in/a"), tree_path("in/x/y")), 0);
	append_bytes(tree_path("in/x/y/b/f"), 1000);
	check_sum();
	assert_true(one.sum.bytes >= 10000);
}

/* Written by a name that is gone. */
static void test_second_name(void **state)
{
	AUTO_CLOSE int fd = -1;

	(void)state;
	tree_mkdirs("in/a");
	tree_mkdirs("in/b");
	check_sum();
	fd = open(tree_path("in/a/f"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(link(tree_path("in/a/f"), tree_path("in/b/g")), 0);
	assert_int_equal(unlink(tree_path("in/a/f")), 0);
	check_sum();
	assert_int_equal(ftruncate(fd, 5000000), 0);
	count_to_end();
	watched_doubt(&all, &one);
	check_sum();
	assert_int_equal(one.sum.bytes, 5000000);
}

static void test_more_than_the_kernel_keeps(void **state)
{
	char text[32];
	int most;

	(void)state;
	assert_true(file_text("/proc/sys/fs/inotify/max_queued_events", text, sizeof text) > 0);
	most = atoi(text);
	check_sum();
	for (int i = 0; i < most + 100; i++)
		append_bytes(tree_path(i % 2 ? "in/odd" : "in/even"), 1);
	tree_mkdirs("in/new");
	append_bytes(tree_path("in/new/f"), 1);
	check_sum();
	assert_int_equal(one.sum.files, 4);
}

static void test_too_deep(void **state)
{
	int at = openat(one.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (int i = 0; i < 100; i++) {
		int below;

		assert_int_equal(mkdirat(at, "d", 0755), 0);
		below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = below;
	}
	close(at);
	for (int i = 0; i < 4; i++)
		watched_count(&all, &one);
	assert_true(one.blind);
	assert_int_equal(all.live, 0);
}

static void test_nothing_is_followed(void **state)
{
	(void)state;
	tree_mkdirs("out/deep");
	append_bytes(tree_path("out/deep/f"), 1000);
	tree_mkdirs("in/a");
	check_sum();
	assert_int_equal(rmdir(tree_path("in/a")), 0);
	assert_int_equal(symlink("../out", tree_path("in/a")), 0);
	check_sum();
	assert_int_equal(one.sum.files, 1);
	assert_int_equal(one.sum.bytes, 0);
}

static void make_holes(const char *dir, const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/%s", dir, name);
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_int_equal(ftruncate(fd, INT64_MAX), 0);
}

/* Three files of holes come to more than 64 bits hold: that is not little again.  Where the largest file is smaller (ext4)
 * it takes a million. */
static void test_more_than_a_number_holds(void **state)
{
	static const char *const names[] = {"a", "b", "c", "deep/a", "deep/b", "deep/c"};
	char dir[] = "/dev/shm/berth-watched-XXXXXX";
	struct statfs fs;

	(void)state;
	if (!mkdtemp(dir) || statfs(dir, &fs) || fs.f_type != TMPFS_MAGIC)
		skip();
	close(one.root);
	one.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(mkdirat(one.root, "deep", 0700), 0);
	for (size_t i = 0; i < COUNT(names); i++) {
		make_holes(dir, names[i]);
		check_sum();
		assert_true(one.sum.bytes >= INT64_MAX);
	}
	assert_true(one.sum.bytes == UINT64_MAX);
	for (size_t i = COUNT(names); i-- > 0;) {
		assert_int_equal(unlinkat(one.root, names[i], 0), 0);
		check_sum();
	}
	assert_int_equal(one.sum.bytes, 0);
	assert_int_equal(unlinkat(one.root, "deep", AT_REMOVEDIR), 0);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_anything_that_happens, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts_between, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved_away_and_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_moved_keeps_its_watch, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_name, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_the_kernel_keeps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_deep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_is_followed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_more_than_a_number_holds, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
