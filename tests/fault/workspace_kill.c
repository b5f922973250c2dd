/* workspace_kill.c - killed at each system call of making a workspace: nothing is there, or a whole one. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/workspace.h>

#include "lib/tree.h"

static const char *const parts[] = {
	"files", "logs", "context.json", "prompt.md", "output", ".env", ".gitignore"};

static int create_task(struct workspaces *w)
{
	return workspace_create(w,
		&(struct workspace_new){
			.kind = WORKSPACE_TASK, .name = "t", .uid = (uid_t)-1, .gid = (gid_t)-1},
		NULL);
}

/* A child that makes one and is killed at its n-th stop.  1: it came to its end before. */
static int kill_at_stop(struct workspaces *w, int n)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		raise(SIGSTOP);
		_exit(create_task(w) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return 77;
	for (int i = 0; i < n && WIFSTOPPED(status); i++) {
		assert_int_equal(ptrace(PTRACE_SYSCALL, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return 1;
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return 0;
}

static void test_kills(void **state)
{
	int n = 1, ended = 0, without = 0;

	(void)state;
	for (; !ended; n++) {
		struct workspaces *w;

		tree_make("workspace-kill");
		w = workspaces_open(tree_path("w"), NULL);
		assert_non_null(w);
		ended = kill_at_stop(w, n);
		workspaces_close(w);
		if (ended == 77) {
			tree_remove();
			print_message("no ptrace here\n");
			skip();
		}
		w = workspaces_open(tree_path("w"), NULL);
		assert_non_null(w);
		assert_false(tree_exists("w/tasks/.new.t"));
		if (!tree_exists("w/tasks/t")) {
			without++;
			assert_int_equal(create_task(w), 0);
		}
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
			char path[64];

			snprintf(path, sizeof path, "w/tasks/t/%s", parts[i]);
			assert_true(tree_exists(path));
		}
		workspaces_close(w);
		tree_remove();
	}
	/* It was killed in between, not only before or after. */
	assert_true(without > 40);
	assert_true(n > without + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kills)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
