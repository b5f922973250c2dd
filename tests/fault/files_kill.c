/*
 * files_kill.c - an all-or-nothing batch killed at every one of its system calls.
 *
 * A child writes the batch under ptrace and is killed with SIGKILL before its k-th system call, for
 * every k.  Afterwards the next change in the directory must find all files old or all new, and
 * nothing left over.  Then the same for recovery itself: killed at every call, and run again.  And
 * the same with the file system shut down under it at that call, as if the power had gone: ext4 and
 * XFS on a loop device, with and without what their logs hold in memory.  BERTH_SOAK=1: at every
 * call, else at some.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "files/files.h"
#include "lib/killed.h"
#include "lib/tree.h"

#define N 5

static const char *const names[N] = {"a", "d/b", "d/c", "d/e/f", "new"};

static void write_batch(enum files_promise promise, const char *text)
{
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	struct files_put puts[N];
	struct files_writing *w;

	for (int i = 0; i < N; i++)
		puts[i] = (struct files_put){.path = names[i], .bytes = text, .len = strlen(text)};
	files_write(f, r, puts, N, &(struct files_write_options){.promise = promise}, &w, NULL);
	files_writing_free(w);
	files_root_close(r);
	files_close(f);
}

/* Any change: that is when recovery happens. */
static void touch_root(void)
{
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	struct files_put p = {.path = "touched", .bytes = "x", .len = 1};
	struct files_writing *w;
	struct err e = ERR_INIT;

	if (files_write(f, r, &p, 1, &(struct files_write_options){0}, &w, &e) < 0)
		fprintf(stderr, "%s\n", e.msg);
	files_writing_free(w);
	files_root_close(r);
	files_close(f);
}

static void (*before_kill)(void); /* or NULL */

static void reset_kill_tree(void)
{
	char command[PATH_MAX];

	snprintf(command, sizeof command, "rm -rf %s/* %s/.berth-* %s", tree_path("root"),
		tree_path("root"), tree_path("state"));
	assert_int_equal(system(command), 0);
	tree_mkdirs("root/d/e");
	for (int i = 0; i < N - 1; i++) {
		char at[64];

		snprintf(at, sizeof at, "root/%s", names[i]);
		tree_text(at, "old");
	}
}

/* How many files are new; any that is neither old nor new is a failure. */
static int count_new(void)
{
	int n = 0;

	for (int i = 0; i < N; i++) {
		char at[64];

		snprintf(at, sizeof at, "root/%s", names[i]);
		if (tree_has(at, "brand new"))
			n++;
		else if (i == N - 1)
			assert_false(tree_exists(at));
		else
			assert_true(tree_has(at, "old"));
	}
	return n;
}

static void assert_nothing_left(void)
{
	/* Who closed last found nothing that is still needed, nor a dead owner. */
	assert_true(tree_is_clean("root"));
}

/* As on NFS, and FUSE mostly. */
static bool no_flags;

int renameat2(int a, const char *from, int b, const char *to, unsigned flags)
{
	if (no_flags && flags) {
		errno = EINVAL;
		return -1;
	}
	return ((__typeof__(&renameat2))dlsym(RTLD_NEXT, "renameat2"))(a, from, b, to, flags);
}

static void batch_a(void)
{
	write_batch(FILES_ALL_OR_NOTHING, "brand new");
}

static void batch_d(void)
{
	write_batch(FILES_DURABLE, "brand new");
}

static void test_all_or_nothing(void **state)
{
	int none = 0, all = 0, k;
	bool more = true;

	(void)state;
	for (k = 0; more; k++) {
		int n;

		reset_kill_tree();
		more = killed_at(k, batch_a, before_kill);
		touch_root();
		n = count_new();
		if (n != 0 && n != N)
			fail_msg("killed before call %d: %d of %d files are new", k, n, N);
		none += n == 0;
		all += n == N;
		assert_nothing_left();
	}
	/* The kills met the batch on both sides of its commit point. */
	assert_true(none > 20 && all > 10);
	print_message(
		"killed before each of %d calls: %d times none, %d times all\n", k, none, all);
}

static void test_without_flags(void **state)
{
	no_flags = true;
	test_all_or_nothing(state);
	no_flags = false;
}

static void test_each_file_whole(void **state)
{
	bool more = true;

	(void)state;
	for (int k = 0; more; k++) {
		reset_kill_tree();
		more = killed_at(k, batch_d, before_kill);
		count_new(); /* old or new, nothing else */
		touch_root();
		count_new();
		assert_nothing_left();
	}
}

static void test_recovery_killed(void **state)
{
	int recoveries = 0;
	bool more = true;

	(void)state;
	for (int k = 0; more; k += 3) {
		reset_kill_tree();
		more = killed_at(k, batch_a, before_kill);
		if (!more || tree_records("root") == 0)
			continue;
		/* Each try gets a little further than the one before, over the same remains. */
		for (int j = 0; killed_at(j, touch_root, before_kill); j += 2)
			recoveries++;
		touch_root();
		int n = count_new();

		if (n != 0 && n != N)
			fail_msg("recovery after call %d: %d of %d files are new", k, n, N);
		assert_nothing_left();
	}
	assert_true(recoveries > 50);
}

/* --- the power goes --- */

#define SHUTDOWN _IOR('X', 125, uint32_t) /* XFS_IOC_GOINGDOWN, and ext4's */

static uint32_t how; /* 1: what the log holds is written first, 2: it is lost */

static void shut_down(void)
{
	int fd = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(ioctl(fd, SHUTDOWN, &how), 0);
	close(fd);
}

static int mount_shell(const char *format, const char *fs)
{
	char command[4 * PATH_MAX];

	snprintf(command, sizeof command, format, tree_path("image"), tree_path("root"), fs);
	return system(command);
}

static void mount_again(void)
{
	assert_int_equal(umount(tree_path("root")), 0);
	assert_int_equal(mount_shell("mount -o loop %s %s", NULL), 0);
}

/* false: not here. */
static bool with_disk(const char *fs)
{
	if (mount_shell("truncate -s 320M %1$s && mkfs.%3$s -q %1$s >/dev/null 2>&1 && "
			"mount -o loop %1$s %2$s 2>/dev/null",
		    fs) != 0) {
		print_message("not run: no %s on a loop device here\n", fs);
		unlink(tree_path("image"));
		return false;
	}
	return true;
}

static void power_loss(const char *fs, enum files_promise promise)
{
	int step = getenv("BERTH_SOAK") ? 1 : 23, kills = 0;
	bool more = true;

	for (int k = 0; more; k += step) {
		int n;

		reset_kill_tree();
		sync();
		before_kill = shut_down;
		more = killed_at(k, promise == FILES_DURABLE ? batch_d : batch_a, before_kill);
		before_kill = NULL;
		if (!more)
			shut_down();
		mount_again();
		n = count_new();
		/* What was said to be done is done. */
		if (!more)
			assert_int_equal(n, N);
		touch_root();
		n = count_new();
		if (promise == FILES_ALL_OR_NOTHING && n != 0 && n != N)
			fail_msg("%s shut down (%u) before call %d: %d of %d files are new", fs,
				how, k, n, N);
		assert_nothing_left();
		kills++;
	}
	print_message("%s: shut down (%u) before %d calls\n", fs, how, kills);
}

static void test_power_loss(void **state)
{
	static const char *const kinds[] = {"ext4", "xfs"};

	(void)state;
	/* Mounts of our own: a container started meanwhile would take them with it. */
	if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
		mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		print_message("not run: mounting takes root\n");
		skip();
	}
	for (size_t i = 0; i < COUNT(kinds); i++) {
		if (!with_disk(kinds[i]))
			continue;
		for (how = 1; how <= 2; how++) {
			power_loss(kinds[i], FILES_ALL_OR_NOTHING);
			power_loss(kinds[i], FILES_DURABLE);
		}
		assert_int_equal(umount(tree_path("root")), 0);
		unlink(tree_path("image"));
	}
}

static int setup(void **state)
{
	(void)state;
	tree_make("files-kill");
	tree_mkdirs("root");
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_without_flags),
		cmocka_unit_test(test_each_file_whole),
		cmocka_unit_test(test_recovery_killed),
		cmocka_unit_test(test_power_loss),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
