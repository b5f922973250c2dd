/*
 * checkpoint_kill.c - making, restoring and dropping checkpoints killed at their system calls.
 *
 * Whenever the kill comes, all that was in the tree is there or in a sound checkpoint, no checkpoint is
 * there by half, and doing it again ends it.  BERTH_SOAK=1: at every call, else at some.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "lib/killed.h"
#include "lib/tree.h"

#define AT_MOST 3000 /* calls; none of these makes as many */

static struct err e;
static struct checkpoint_store *store;
static int root;

static int step_between_kills(void)
{
	return getenv("BERTH_SOAK") ? 1 : 5;
}

/* One processor: one thread, which ptrace follows.  No mappings but our own: the calls are the same each time. */
static const struct checkpoint_options *quiet_options(void)
{
	static struct checkpoint_options o;
	static pid_t me;

	me = getpid();
	o = (struct checkpoint_options){.pids = &me, .npids = 1};
	return &o;
}

static void open_killed(void)
{
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
}

static void close_killed(void)
{
	checkpoint_close(store);
	close(root);
}

static void describe_killed(const char *name, struct str *out)
{
	struct dirent **list;
	int n = scandir(tree_path(name), &list, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char path[256], target[64] = "";
		AUTO_FREE char *text = NULL;
		struct stat st;

		if (strcmp(list[i]->d_name, ".") == 0 || strcmp(list[i]->d_name, "..") == 0) {
			free(list[i]);
			continue;
		}
		snprintf(path, sizeof path, "%s/%.100s", name, list[i]->d_name);
		free(list[i]);
		if (lstat(tree_path(path), &st) < 0)
			fail_msg("%s: %s", path, strerror(errno));
		str_addf(out, "%s %o %u %u %d %ld.%09ld ", path, st.st_mode, st.st_uid, st.st_gid,
			S_ISDIR(st.st_mode) ? 0 : (int)st.st_nlink, (long)st.st_mtim.tv_sec,
			st.st_mtim.tv_nsec);
		if (S_ISLNK(st.st_mode) && readlink(tree_path(path), target, sizeof target - 1) > 0)
			str_adds(out, target);
		if (S_ISREG(st.st_mode) && (text = tree_read(path)))
			str_adds(out, text);
		str_addc(out, '\n');
		if (S_ISDIR(st.st_mode))
			describe_killed(path, out);
	}
	if (n >= 0)
		free(list);
}

static void assert_root_is(const struct str *want, int k)
{
	AUTO_STR struct str is = STR_INIT;

	describe_killed("root", &is);
	if (strcmp(is.s, want->s) != 0)
		fail_msg("killed before call %d: the tree is\n%s\nand should be\n%s", k, is.s,
			want->s);
}

/* The tree as it is at first, with checkpoint a of it. */
static void begin_killed(struct str *was)
{
	char command[PATH_MAX];

	snprintf(command, sizeof command,
		"rm -rf %s %s && mkdir -p %s && cd %s && mkdir -p d/deep e && echo one > f && "
		"echo two > d/two && ln f d/link && ln -s /etc d/sym && echo x > d/deep/x && chmod 751 d "
		"&& mkfifo pipe",
		tree_path("root"), tree_path("store"), tree_path("root"), tree_path("root"));
	assert_int_equal(system(command), 0);
	open_killed();
	assert_int_equal(checkpoint_make(store, root, "a", quiet_options(), NULL, &e), 0);
	close_killed();
	str_clear(was);
	describe_killed("root", was);
}

static void change_killed(struct str *is)
{
	char command[PATH_MAX];

	snprintf(command, sizeof command,
		"cd %s && echo changed > d/two && rm -r d/deep e pipe && mkdir -p n/m && echo new > n/m/new "
		"&& echo file > e && chmod 700 d",
		tree_path("root"));
	assert_int_equal(system(command), 0);
	str_clear(is);
	describe_killed("root", is);
}

static bool has_point(const char *name)
{
	struct checkpoint_info i;

	return checkpoint_show(store, name, &i, NULL) == 0;
}

static void assert_sound(const char *name, int k)
{
	if (checkpoint_verify(store, name, &e) < 0)
		fail_msg("killed before call %d: %s: %s", k, name, e.msg);
}

static void restore_killed(const char *name, const char *undo, int k)
{
	if (checkpoint_restore(store, root, name, undo, quiet_options(), NULL, &e) < 0)
		fail_msg("killed before call %d: %s", k, e.msg);
}

static void run_make(void)
{
	open_killed();
	checkpoint_make(store, root, "b", quiet_options(), NULL, NULL);
}

static void run_restore(void)
{
	open_killed();
	checkpoint_restore(store, root, "a", "u", quiet_options(), NULL, NULL);
}

static void run_drop(void)
{
	open_killed();
	checkpoint_drop(store, "a", NULL, NULL);
}

static void test_make_killed(void **state)
{
	AUTO_STR struct str was = STR_INIT, is = STR_INIT;
	int there = 0, none = 0;
	bool more = true;

	(void)state;
	for (int k = 0; more && k < AT_MOST; k += step_between_kills()) {
		begin_killed(&was);
		change_killed(&is);
		more = killed_at(k, run_make, NULL);
		assert_root_is(&is, k);
		open_killed();
		assert_sound("a", k);
		if (has_point("b")) {
			there++;
			assert_sound("b", k);
		} else {
			none++;
			assert_int_equal(
				checkpoint_make(store, root, "b", quiet_options(), NULL, &e), 0);
		}
		restore_killed("a", NULL, k);
		assert_root_is(&was, k);
		restore_killed("b", NULL, k);
		assert_root_is(&is, k);
		close_killed();
	}
	assert_false(more);
	assert_true(there > 0 && none > 5);
}

static void test_restore_killed(void **state)
{
	AUTO_STR struct str was = STR_INIT, is = STR_INIT;
	char pending[CHECKPOINT_NAME_MAX + 1];
	int began = 0;
	bool more = true;

	(void)state;
	for (int k = 0; more && k < AT_MOST; k += step_between_kills()) {
		begin_killed(&was);
		change_killed(&is);
		more = killed_at(k, run_restore, NULL);
		open_killed();
		if (!has_point("u")) {
			assert_root_is(&is, k);
			assert_false(checkpoint_pending(store, pending));
		} else {
			assert_sound("u", k);
			if (checkpoint_pending(store, pending)) {
				assert_string_equal(pending, "a");
				began++;
			}
		}
		assert_sound("a", k);
		restore_killed("a", "v", k);
		assert_false(checkpoint_pending(store, pending));
		assert_root_is(&was, k);
		if (has_point("u")) {
			restore_killed("u", NULL, k);
			assert_root_is(&is, k);
		}
		close_killed();
	}
	assert_false(more);
	assert_true(began > 5);
}

static void test_drop_killed(void **state)
{
	AUTO_STR struct str was = STR_INIT, is = STR_INIT;
	bool more = true;

	(void)state;
	for (int k = 0; more && k < AT_MOST; k += step_between_kills()) {
		begin_killed(&was);
		change_killed(&is);
		open_killed();
		assert_int_equal(checkpoint_make(store, root, "b", quiet_options(), NULL, &e), 0);
		close_killed();
		more = killed_at(k, run_drop, NULL);
		open_killed();
		if (has_point("a")) {
			assert_sound("a", k);
			assert_int_equal(checkpoint_drop(store, "a", NULL, &e), 0);
		}
		assert_sound("b", k);
		restore_killed("b", NULL, k);
		assert_root_is(&is, k);
		/* What the kill left over goes with the next. */
		assert_int_equal(checkpoint_drop(store, "b", NULL, &e), 0);
		assert_false(tree_exists("store/packs/1"));
		assert_false(tree_exists("store/packs/2"));
		close_killed();
	}
	assert_false(more);
}

static int setup(void **state)
{
	cpu_set_t one;

	(void)state;
	sched_getaffinity(0, sizeof one, &one);
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && found++)
			CPU_CLR(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	tree_make("checkpoint_kill");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_make_killed),
		cmocka_unit_test(test_restore_killed), cmocka_unit_test(test_drop_killed)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
