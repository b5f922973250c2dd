/*
 * archive_kill.c - archiving and bringing back, killed before each system call: at every moment all is in the
 * workspace or in an archive that is sound, and doing it again ends it.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mount.h>
#include <cmocka.h>

#include <berth/workspace.h>

#include "lib/killed.h"
#include "lib/tree.h"

#define AT_MOST 20000 /* calls; none of these makes as many */

static struct workspaces *w;
static struct err e;

static void reopen_killed(void)
{
	workspaces_close(w);
	w = workspaces_open(tree_path("w"), &e);
	if (!w)
		fail_msg("%s", e.msg);
}

/* One processor and no threads: one thread, which ptrace follows. */
static int archive_task(void)
{
	return workspace_archive(
		w, &(struct workspace_archiving){.kind = WORKSPACE_TASK, .name = "t"}, NULL, &e);
}

static int unarchive_task(void)
{
	return workspace_unarchive(
		w, &(struct workspace_unarchiving){.kind = WORKSPACE_TASK, .name = "t"}, &e);
}

static int remove_task(void)
{
	return workspace_remove(w, WORKSPACE_TASK, "t", &e);
}

static void archive_killed(void)
{
	archive_task();
}

static void unarchive_killed(void)
{
	unarchive_task();
}

static void remove_killed(void)
{
	remove_task();
}

static void begin_archive_kill(void)
{
	tree_make("archive-kill");
	reopen_killed();
	assert_int_equal(workspace_create(w,
				 &(struct workspace_new){.kind = WORKSPACE_TASK,
					 .name = "t",
					 .prompt = "all of this\n",
					 .uid = (uid_t)-1,
					 .gid = (gid_t)-1},
				 &e),
		0);
	assert_int_equal(symlink("nowhere", tree_path("w/tasks/t/files/link")), 0);
	assert_int_equal(
		link(tree_path("w/tasks/t/prompt.md"), tree_path("w/tasks/t/logs/again")), 0);
}

static void end_archive_kill(void)
{
	workspaces_close(w);
	w = NULL;
	tree_remove();
}

static bool is_whole_task(void)
{
	return tree_has("w/tasks/t/prompt.md", "all of this\n") &&
		tree_has("w/tasks/t/logs/again", "all of this\n") &&
		tree_exists("w/tasks/t/context.json") && tree_exists("w/tasks/t/.gitignore");
}

static bool is_sound_archive(void)
{
	return workspace_verify_archive(w, WORKSPACE_TASK, "t", &e) == 0;
}

static void assert_nothing_half(int k)
{
	static const char *const left[] = {
		"w/tasks/.new.t", "w/tasks/.end.t", "w/archives/tasks/.new.t"};

	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		if (tree_exists(left[i]))
			fail_msg("killed before call %d: %s is left", k, left[i]);
}

static int step_of_kills(void)
{
	return getenv("BERTH_SOAK") ? 1 : 3;
}

static void test_archive_killed(void **state)
{
	(void)state;
	int kept = 0, gone = 0;
	bool more = true;

	for (int k = 0; more && k < AT_MOST; k += step_of_kills()) {
		begin_archive_kill();
		more = killed_at(k, archive_killed, NULL);
		reopen_killed();
		assert_nothing_half(k);
		if (tree_exists("w/tasks/t")) {
			kept++;
			if (!is_whole_task())
				fail_msg("killed before call %d: the workspace is not whole", k);
			if (tree_exists("w/archives/tasks/t.tar.zst"))
				assert_true(is_sound_archive());
			else if (archive_task() < 0)
				fail_msg("killed before call %d: not again: %s", k, e.msg);
		} else {
			gone++;
			if (!is_sound_archive())
				fail_msg("killed before call %d: %s", k, e.msg);
			assert_int_equal(unarchive_task(), 0);
			assert_true(is_whole_task());
		}
		end_archive_kill();
	}
	assert_false(more);
	assert_true(kept > 30);
	assert_true(gone > 3);
}

static void test_unarchive_killed(void **state)
{
	(void)state;
	int before = 0, after = 0;
	bool more = true;

	for (int k = 0; more && k < AT_MOST; k += step_of_kills()) {
		begin_archive_kill();
		assert_int_equal(archive_task(), 0);
		more = killed_at(k, unarchive_killed, NULL);
		reopen_killed();
		assert_nothing_half(k);
		if (tree_exists("w/tasks/t")) {
			after++;
			if (!is_whole_task())
				fail_msg("killed before call %d: the workspace is not whole", k);
		} else {
			before++;
			if (!is_sound_archive() || unarchive_task() < 0)
				fail_msg("killed before call %d: %s", k, e.msg);
			assert_true(is_whole_task());
		}
		end_archive_kill();
	}
	assert_false(more);
	assert_true(before > 30);
	assert_true(after > 0);
}

/* What is to go is there as a whole, or not at all. */
static void test_remove_killed(void **state)
{
	(void)state;
	int whole = 0, gone = 0;
	bool more = true;

	for (int k = 0; more && k < AT_MOST; k += step_of_kills()) {
		begin_archive_kill();
		more = killed_at(k, remove_killed, NULL);
		reopen_killed();
		assert_nothing_half(k);
		if (tree_exists("w/tasks/t")) {
			whole++;
			assert_true(is_whole_task());
		} else {
			gone++;
		}
		end_archive_kill();
	}
	assert_false(more);
	assert_true(whole > 3);
	assert_true(gone > 3);
}

/* With no processes but our own in /proc: who looks at all of them makes the same calls each time. */
static int run_alone(int (*run)(void))
{
	int status;
	pid_t pid;

	if (unshare((geteuid() ? CLONE_NEWUSER : 0) | CLONE_NEWNS | CLONE_NEWPID) < 0) {
		printf("no namespaces here\n");
		return 77;
	}
	pid = fork();
	if (pid == 0) {
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("proc", "/proc", "proc", 0, NULL) < 0) {
			printf("no /proc of our own here\n");
			exit(77);
		}
		exit(run());
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return 1;
	/* Whose PID namespace has ended has no more children: LeakSanitizer needs one, and the child had its own. */
	_exit(WEXITSTATUS(status));
}

static int run_kills(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_archive_killed),
		cmocka_unit_test(test_unarchive_killed),
		cmocka_unit_test(test_remove_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof one, &one);
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && found++)
			CPU_CLR(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	return run_alone(run_kills);
}
