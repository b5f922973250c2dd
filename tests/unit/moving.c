/* moving.c - a tree that somebody else changes while it is captured or restored. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/apply.h>

#include "checkpoint/restore.h"
#include "files/files.h"
#include "lib/tree.h"

#define SAVED_TIMES 8
#define COPIES_MAX 100000

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

static void swap_names(const char *a, const char *b)
{
	assert_int_equal(
		renameat2(AT_FDCWD, tree_path(a), AT_FDCWD, tree_path(b), RENAME_EXCHANGE), 0);
}

static mode_t mode_below_top(const char *name)
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
	swap_names(a, b);
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
	assert_int_equal(mode_below_top("root/shown"), 0600);
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
	assert_int_equal(mode_below_top("root/shown"), 0700);
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

/* --- while somebody saves --- */

static void save_file(const char *name, unsigned n)
{
	char text[32], fresh[64];

	snprintf(text, sizeof text, "saved %u", n);
	snprintf(fresh, sizeof fresh, "%s.new", name);
	tree_text(fresh, text);
	rename(tree_path(fresh), tree_path(name));
}

/* Another process: files that are saved, a link that is set anew, a file and a directory that come and go. */
static pid_t start_saving(void)
{
	pid_t parent = getpid(), pid;
	int began[2];
	char byte;

	assert_int_equal(pipe(began), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned n = 0; getppid() == parent; n++) {
			save_file("root/a", n);
			save_file("root/dir/b", n);
			(void)!symlink("a", tree_path("root/link.new"));
			rename(tree_path("root/link.new"), tree_path("root/link"));
			tree_text("root/passing/c", "c");
			unlink(tree_path("root/passing/c"));
			rmdir(tree_path("root/passing"));
			if (n == 1 && write(began[1], "x", 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(read(began[0], &byte, 1), 1);
	close(began[0]);
	close(began[1]);
	return pid;
}

static void end_saving(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int fork_into(const char *name, int fd, struct checkpoint_restored *r)
{
	struct checkpoint_target t = {.root = fd};
	int rc = checkpoint_fork(store, name, &t, 1, &e);

	if (rc == 0 && t.err.kind != ERR_NONE)
		rc = err_copy(&e, &t.err);
	if (rc == 0 && r)
		*r = t.done;
	return rc;
}

static void fork_point(const char *name)
{
	AUTO_CLOSE int fd = (tree_mkdirs(name), open(tree_path(name), O_RDONLY | O_DIRECTORY));
	char path[64];

	if (fork_into(name, fd, NULL) < 0)
		fail_msg("%s", e.msg);
	snprintf(path, sizeof path, "%s/a", name);
	assert_true(tree_exists(path));
	snprintf(path, sizeof path, "%s/dir/b", name);
	assert_true(tree_exists(path));
	snprintf(path, sizeof path, "%s/link", name);
	assert_true(tree_exists(path));
}

/* All that has changed since, with its contents, as `berth workspace diff` reads them. */
static void read_changes(struct checkpoint_tree *before)
{
	struct checkpoint_tree *now = checkpoint_tree_now(store, root, NULL, &e);
	struct checkpoint_changes c;

	if (!now)
		fail_msg("%s", e.msg);
	checkpoint_compare(before, now, &c);
	for (size_t i = 0; i < c.n; i++) {
		AUTO_STR struct str text = STR_INIT;

		if (S_ISREG(c.all[i].new.mode) &&
			checkpoint_content(now, &c.all[i].new, 1000, &text, &e) < 0 &&
			e.kind != ERR_CONFLICT)
			fail_msg("%s: %s", c.all[i].path, e.msg);
		if (!strcmp(c.all[i].path, "a") || !strcmp(c.all[i].path, "dir/b"))
			assert_memory_equal(text.s, "saved ", 6);
	}
	checkpoint_changes_release(&c);
	checkpoint_tree_free(now);
}

static void apply_changes(struct checkpoint_tree *before)
{
	static const char *const all[] = {"."};
	AUTO_CLOSE int into =
		(tree_mkdirs("into"), open(tree_path("into"), O_RDONLY | O_DIRECTORY));
	struct checkpoint_tree *now = checkpoint_tree_now(store, root, NULL, &e);
	struct apply *t;

	if (!now)
		fail_msg("%s", e.msg);
	t = apply_prepare(
		&(struct apply_wish){
			.from = now, .start = before, .path = all, .npath = 1, .into = into},
		&e);
	if (!t || apply_carry_out(t, true, &e) < 0)
		fail_msg("%s", e.msg);
	apply_free(t);
	checkpoint_tree_free(now);
	assert_true(tree_exists("into/a"));
}

static void test_while_somebody_saves(void **state)
{
	struct checkpoint_tree *before;
	pid_t saver;

	(void)state;
	tree_mkdirs("root/dir");
	save_file("root/a", 0);
	save_file("root/dir/b", 0);
	assert_int_equal(symlink("b", tree_path("root/link")), 0);
	assert_int_equal(checkpoint_make(store, root, "start", NULL, NULL, &e), 0);
	before = checkpoint_tree_of(store, "start", &e);
	saver = start_saving();
	for (unsigned i = 0; i < SAVED_TIMES; i++) {
		char name[16];

		snprintf(name, sizeof name, "p%u", i);
		if (checkpoint_make(store, root, name, NULL, NULL, &e) < 0)
			fail_msg("%s", e.msg);
		fork_point(name);
		read_changes(before);
		apply_changes(before);
	}
	end_saving(saver);
	checkpoint_tree_free(before);
}

/* Copies and listings of the tree until one of them missed a directory and a file: none of them fails. */
static void test_copies_while_somebody_saves(void **state)
{
	struct files *f = files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD});
	struct files_root *top = files_root_open(f, tree_path("."), &e);
	const struct files_scan_options all = {0};
	uint64_t gone_of_copies = 0, gone_of_scans = 0;
	pid_t saver;

	(void)state;
	tree_mkdirs("root/dir");
	save_file("root/a", 0);
	save_file("root/dir/b", 0);
	assert_int_equal(symlink("b", tree_path("root/link")), 0);
	saver = start_saving();
	for (unsigned i = 0; i < COPIES_MAX && (!gone_of_copies || !gone_of_scans); i++) {
		struct files_tree_totals t;
		struct files_scan *s;
		struct files_entry it;

		if (files_copy(
			    f, top, "root", top, "copy", &(struct files_copy_options){0}, &t, &e))
			fail_msg("%s", e.msg);
		assert_true(tree_exists("copy/a") && tree_exists("copy/dir/b") &&
			tree_exists("copy/link"));
		assert_int_equal(t.errors, 0);
		gone_of_copies += t.gone;
		assert_int_equal(files_delete(f, top, "copy", true, &t, &e), 0);
		if (files_scan(f, top, "root", &all, &s, &e))
			fail_msg("%s", e.msg);
		while (files_scan_next(s, &it))
			;
		assert_int_equal(files_scan_totals(s)->errors, 0);
		assert_null(files_scan_error(s, 0));
		gone_of_scans += files_scan_totals(s)->gone;
		files_scan_free(s);
	}
	end_saving(saver);
	assert_true(gone_of_copies && gone_of_scans);
	files_root_close(top);
	files_close(f);
}

/* --- what is closed --- */

/* As an ordinary user, to whom root gives the tree. */
static void run_as_user(void (*body)(void))
{
	int status;
	pid_t pid;

	assert_int_equal(chdir(tree_path(".")), 0);
	if (geteuid() == 0) {
		assert_int_equal(system("chown -R 12345:12345 ."), 0);
		checkpoint_close(store);
		store = NULL;
	}
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (geteuid() == 0) {
			assert_int_equal(setgroups(0, NULL), 0);
			assert_int_equal(setgid(12345), 0);
			assert_int_equal(setuid(12345), 0);
			prctl(PR_SET_DUMPABLE, 1); /* for /proc/self/fd */
			store = checkpoint_open("store", &e);
			if (!store) {
				fprintf(stderr, "%s\n", e.msg);
				_exit(1);
			}
		}
		body();
		fflush(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	if (!store)
		assert_int_equal(system("chown -R root:root . && chmod -R u+rwX ."), 0);
}

/* A failed assertion would go on in the child as if nothing were. */
#define NEED(ok)                                                               \
	do {                                                                   \
		if (!(ok)) {                                                   \
			fprintf(stderr, "%d: " #ok ": %s\n", __LINE__, e.msg); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static const mode_t closed[] = {0, 0200, 0400};
static const char *const closed_name[] = {"root/m0", "root/m0200", "root/m0400"};

static void set_closed(bool shut)
{
	for (size_t i = 0; i < COUNT(closed); i++)
		NEED(chmod(closed_name[i], shut ? closed[i] : 0755) == 0);
}

static size_t count_unread(struct checkpoint_tree *t)
{
	AUTO_STR struct str paths = STR_INIT;
	size_t n = 0;

	for (uint32_t at = 0; checkpoint_tree_unread(t, &at, &paths); n++)
		str_addc(&paths, ' ');
	NEED(n == 0 || !strcmp(paths.s, "m0 m0200 m0400 ") || strstr(paths.s, "m0400 "));
	return n;
}

static void work_beside_closed(void)
{
	struct checkpoint_restored r;
	struct checkpoint_tree *open_then, *now;
	struct checkpoint_changes c;
	struct checkpoint_info info;
	int fork;

	for (size_t i = 0; i < COUNT(closed); i++) {
		char path[32];
		int fd;

		NEED(mkdir(closed_name[i], 0755) == 0);
		snprintf(path, sizeof path, "%s/in", closed_name[i]);
		fd = open(path, O_WRONLY | O_CREAT, 0644);
		NEED(fd >= 0);
		close(fd);
	}
	NEED(checkpoint_make(store, root, "open", NULL, &info, &e) == 0);
	NEED(info.unread == 0);
	set_closed(true);
	NEED(checkpoint_make(store, root, "shut", NULL, &info, &e) == 0);
	NEED(info.unread == COUNT(closed) && info.mounts == 0);

	/* Nothing is said of what nobody saw. */
	open_then = checkpoint_tree_of(store, "open", &e);
	now = checkpoint_tree_now(store, root, NULL, &e);
	NEED(open_then && now && count_unread(now) == COUNT(closed) && !count_unread(open_then));
	checkpoint_compare(open_then, now, &c);
	NEED(c.n == 0);
	checkpoint_changes_release(&c);
	checkpoint_compare(now, open_then, &c);
	NEED(c.n == 0);
	checkpoint_changes_release(&c);
	checkpoint_tree_free(open_then);
	checkpoint_tree_free(now);

	NEED(mkdir("fork", 0755) == 0);
	fork = open("fork", O_RDONLY | O_DIRECTORY);
	NEED(fork_into("shut", fork, &r) == 0);
	NEED(r.left == COUNT(closed) && access("fork/m0", F_OK) < 0);

	/* Closed now, or when the checkpoint was made: what is there stays. */
	NEED(checkpoint_restore(store, root, "open", "undo1", NULL, &r, &e) == 0);
	NEED(r.left == COUNT(closed));
	set_closed(false);
	NEED(checkpoint_restore(store, root, "shut", "undo2", NULL, &r, &e) == 0);
	NEED(r.left == COUNT(closed) && r.removed == 0);
	for (size_t i = 0; i < COUNT(closed); i++) {
		char path[32];

		snprintf(path, sizeof path, "%s/in", closed_name[i]);
		NEED(access(path, F_OK) == 0);
	}
}

static void test_closed_directories(void **state)
{
	(void)state;
	run_as_user(work_beside_closed);
}

/* Another name of a file that lies in a closed directory: it is left as it is, too, not taken away. */
static void link_into_closed(void)
{
	struct checkpoint_restored r;
	int fd;

	NEED(mkdir("root/a", 0755) == 0);
	fd = open("root/a/x", O_WRONLY | O_CREAT, 0644);
	NEED(fd >= 0);
	close(fd);
	NEED(link("root/a/x", "root/b") == 0);
	NEED(checkpoint_make(store, root, "open", NULL, NULL, &e) == 0);
	NEED(chmod("root/a", 0) == 0);
	NEED(checkpoint_restore(store, root, "open", "undo", NULL, &r, &e) == 0);
	NEED(chmod("root/a", 0755) == 0);
	NEED(r.left == 1 && access("root/b", F_OK) == 0 && access("root/a/x", F_OK) == 0);
}

static void test_link_into_closed(void **state)
{
	(void)state;
	run_as_user(link_into_closed);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {CASE(test_dressed_is_the_one_seen),
		CASE(test_dressed_directory_is_the_one_seen),
		CASE(test_changed_directory_is_the_one_seen), CASE(test_while_somebody_saves),
		CASE(test_copies_while_somebody_saves), CASE(test_closed_directories),
		CASE(test_link_into_closed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
