/*
 * workspace_verbs_kill.c - `berth workspace fork`, `share`, `hand-over` and `apply` killed before their calls that change
 * something: the next command leaves nothing half done, and what was said to be done is done.
 *
 * BERTH_SOAK=1: before every such call, else before some.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <cmocka.h>

#include <berth/str.h>

#include "lib/killed.h"
#include "lib/orphans.h"
#include "lib/tree.h"

#define AT_MOST 5000 /* calls; none of these makes as many */
#define WORDS 16

static const char *const *killed_words; /* of the command that is killed */
static int now;                         /* before which call */

static int step_of_calls(void)
{
	return getenv("BERTH_SOAK") ? 1 : 7;
}

static void become_berth(const char *const words[])
{
	const char *argv[WORDS + 3] = {getenv("BERTH"), "workspace"};
	int out = open(tree_path("said"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (int i = 0; words[i]; i++)
		argv[i + 2] = words[i];
	dup2(out, 1);
	dup2(out, 2);
	execv(argv[0], (char *const *)argv);
	_exit(127);
}

static void become_killed(void)
{
	const char *asan = getenv("ASAN_OPTIONS");
	char options[256];

	/* Leaks are looked for as by a debugger: there is one already. */
	snprintf(options, sizeof options, "%s:detect_leaks=0", asan ? asan : "");
	setenv("ASAN_OPTIONS", options, 1);
	become_berth(killed_words);
}

static int run_words(const char *const words[])
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		become_berth(words);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define WORDS_OF(...) ((const char *const[]){__VA_ARGS__, NULL})
#define NEED(...) need_words(WORDS_OF(__VA_ARGS__))

static void fail_kill(const char *what)
{
	char *said = tree_read("said");

	fail_msg("killed before change %d: %s: %s", now, what, said ? said : "");
}

static void need_words(const char *const words[])
{
	if (run_words(words))
		fail_kill(words[0]);
}

#define PLACE "data/berth/workspaces/"

static void write_in(const char *workspace, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, PLACE "%s/%s", workspace, name);
	tree_text(path, text);
}

static bool has_in(const char *workspace, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof path, PLACE "%s/%s", workspace, name);
	return tree_has(path, text);
}

static bool exists_in(const char *workspace, const char *name)
{
	char path[256];

	snprintf(path, sizeof path, PLACE "%s/%s", workspace, name);
	return tree_exists(path);
}

/* A name below w that begins so; what berth leaves for later is called so. */
static bool has_beginning(const char *folder, const char *beginning)
{
	char path[256];
	struct dirent *at;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof path, PLACE "%s", folder);
	d = opendir(tree_path(path));
	while (d && (at = readdir(d)))
		found = found || strncmp(at->d_name, beginning, strlen(beginning)) == 0;
	if (d)
		closedir(d);
	return found;
}

static bool was_said(const char *text)
{
	char *said = tree_read("said");
	bool found = said && strstr(said, text);

	free(said);
	return found;
}

static void begin_kills(void)
{
	tree_make("verbs-kill");
	setenv("HOME", tree_top, 1);
	setenv("XDG_DATA_HOME", tree_path("data"), 1);
	setenv("XDG_CONFIG_HOME", tree_path("config"), 1);
	setenv("XDG_RUNTIME_DIR", tree_path("run"), 1);
	mkdir(tree_path("run"), 0700);
}

/* Those that sign the log go on for a moment. */
static void end_kills(void)
{
	int left = orphans_wait();

	tree_remove();
	if (left)
		fail_msg("a process of a command goes on");
}

/* `begin` before each; `killed` is killed; `check` then, with whether it was. */
static void kill_verb(void (*begin)(void), const char *const killed[], void (*check)(bool killed))
{
	bool more = true;

	for (now = 0; more && now < AT_MOST; now += step_of_calls()) {
		begin_kills();
		begin();
		unlink(tree_path("said")); /* by the commands before */
		killed_words = killed;
		more = killed_at_change(now, become_killed);
		check(more);
		end_kills();
	}
	assert_false(more);
}

/* --- fork --- */

static void begin_fork(void)
{
	NEED("create", "task", "t");
	write_in("tasks/t", "files/d/a", "one\n");
	write_in("tasks/t", "files/d/b", "two\n");
	assert_int_equal(symlink("nowhere", tree_path(PLACE "tasks/t/files/link")), 0);
	assert_int_equal(
		link(tree_path(PLACE "tasks/t/files/d/a"), tree_path(PLACE "tasks/t/files/hard")),
		0);
}

/* With its own name in it. */
static bool is_whole_fork(const char *name)
{
	char path[256], id[64], *context;
	bool named;

	snprintf(path, sizeof path, PLACE "%s/context.json", name);
	snprintf(id, sizeof id, "\"task_id\": \"%s\"", name + sizeof "tasks/" - 1);
	context = tree_read(path);
	named = context && strstr(context, id);
	free(context);
	return named && has_in(name, "files/d/a", "one\n") && has_in(name, "files/d/b", "two\n") &&
		has_in(name, "files/hard", "one\n") && exists_in(name, "files/link") &&
		exists_in(name, "prompt.md") && exists_in(name, ".gitignore");
}

static int forks_none, forks_all;

static void check_fork(bool killed)
{
	static const char *const names[] = {"tasks/t-1", "tasks/t-2", "tasks/t-3"};
	bool said[3];
	int there = 0;

	for (int i = 0; i < 3; i++)
		said[i] = was_said(names[i]);
	NEED("list");
	if (has_beginning("tasks", ".new."))
		fail_kill("half a fork is left");
	for (int i = 0; i < 3; i++) {
		if (!exists_in(names[i], "")) {
			if (said[i] || !killed)
				fail_kill("a fork that was told is not there");
			continue;
		}
		there++;
		if (!is_whole_fork(names[i]))
			fail_kill("a fork is not whole");
		if (run_words(WORDS_OF("diff", "t", names[i], "--stat")))
			fail_kill("a fork cannot be compared");
	}
	forks_none += there == 0;
	forks_all += there == 3;
	NEED("fork", "t", "3");
	for (int i = 0; i < 3; i++)
		if (!is_whole_fork(names[i]))
			fail_kill("a fork made after it is not whole");
}

static void test_fork_killed(void **state)
{
	(void)state;
	kill_verb(begin_fork, WORDS_OF("fork", "t", "3"), check_fork);
	assert_true(forks_none > 5);
	assert_true(forks_all > 0);
}

/* What share, hand-over and apply change, they change as a whole. */
static int outcomes_old, outcomes_new;

static void count_outcome(bool old, bool changed, bool told)
{
	if (!old && !changed)
		fail_kill("some of it is changed, and some is not");
	if (old && told)
		fail_kill("what was told is not so");
	outcomes_old += old;
	outcomes_new += !old;
}

static void expect_both_outcomes(void)
{
	assert_true(outcomes_old > 5);
	assert_true(outcomes_new > 0);
	outcomes_old = outcomes_new = 0;
}

/* --- share --- */

static void begin_share(void)
{
	NEED("create", "project", "site");
	write_in("projects/site", "docs/a", "old\n");
	write_in("projects/site", "docs/b", "old\n");
	NEED("share", "--as", "v1", "site", "docs", "--into", "templates");
	write_in("projects/site", "docs/a", "new\n");
	write_in("projects/site", "docs/b", "new\n");
}

/* Both files of that generation. */
static bool are_both(const char *workspace, const char *text)
{
	return has_in(workspace, "docs/a", text) && has_in(workspace, "docs/b", text);
}

static void check_share(bool killed)
{
	bool told = !killed || was_said("shared/ is version v2");
	bool old = are_both("shared/templates", "old\n");

	count_outcome(old, are_both("shared/templates", "new\n"), told);
	NEED("shared", "--json");
	if (was_said("\"v2\"") && !are_both(".versions/v2/templates", "new\n"))
		fail_kill("a version is not whole");
	NEED("share", "--as", "v3", "site", "docs", "--into", "templates");
	if (!are_both("shared/templates", "new\n") ||
		!are_both(".versions/v1/templates", "old\n") ||
		!are_both(".versions/v3/templates", "new\n"))
		fail_kill("the next one is not what was shared");
	if (exists_in(".versions", ".new") || exists_in(".versions", ".view"))
		fail_kill("half a version is left");
	NEED("verify");
}

static void test_share_killed(void **state)
{
	(void)state;
	kill_verb(begin_share,
		WORDS_OF("share", "--as", "v2", "site", "docs", "--into", "templates"),
		check_share);
	expect_both_outcomes();
}

/* --- hand-over --- */

#define BOX "shared/inter_task/reader/maker/files"

static void begin_hand_over(void)
{
	NEED("create", "task", "maker");
	NEED("create", "task", "reader");
	write_in("tasks/maker", "files/docs/a", "old\n");
	write_in("tasks/maker", "files/docs/b", "old\n");
	NEED("hand-over", "maker", "reader", "files");
	write_in("tasks/maker", "files/docs/a", "new\n");
	write_in("tasks/maker", "files/docs/b", "new\n");
}

static void check_hand_over(bool killed)
{
	bool told = !killed || was_said("2 handed over"), old;

	/* Whatever looks at it next. */
	NEED("hand-over", "--dry-run", "maker", "reader", "files");
	old = are_both(BOX, "old\n");
	count_outcome(old, are_both(BOX, "new\n"), told);
	NEED("hand-over", "maker", "reader", "files");
	if (!are_both(BOX, "new\n"))
		fail_kill("the next time it is not handed over");
	if (has_beginning("shared/inter_task/reader/maker", ".berth"))
		fail_kill("half of it is left");
}

static void test_hand_over_killed(void **state)
{
	(void)state;
	kill_verb(begin_hand_over, WORDS_OF("hand-over", "maker", "reader", "files"),
		check_hand_over);
	expect_both_outcomes();
}

/* --- take --- */

static void begin_take(void)
{
	NEED("create", "project", "site");
	write_in("projects/site", "docs/a", "old\n");
	write_in("projects/site", "docs/b", "old\n");
	NEED("fork", "site", "1");
	write_in("tasks/site-1", "docs/a", "new\n");
	write_in("tasks/site-1", "docs/b", "new\n");
	write_in("tasks/site-1", "docs/more/c", "new\n");
}

static void check_take(bool killed)
{
	bool told = !killed || was_said("3 applied"), old;

	NEED("apply", "--dry-run", "site-1", "docs", "--into", "site");
	old = are_both("projects/site", "old\n") && !exists_in("projects/site", "docs/more/c");
	count_outcome(old,
		are_both("projects/site", "new\n") &&
			has_in("projects/site", "docs/more/c", "new\n"),
		told);
	NEED("apply", "site-1", "docs", "--into", "site");
	if (!are_both("projects/site", "new\n") || !has_in("projects/site", "docs/more/c", "new\n"))
		fail_kill("the next time it is not taken");
	if (has_beginning("projects/site", ".berth"))
		fail_kill("half of it is left");
}

static void test_take_killed(void **state)
{
	(void)state;
	kill_verb(begin_take, WORDS_OF("apply", "site-1", "docs", "--into", "site"), check_take);
	expect_both_outcomes();
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_fork_killed),
		cmocka_unit_test(test_share_killed), cmocka_unit_test(test_hand_over_killed),
		cmocka_unit_test(test_take_killed)};
	cpu_set_t one;

	if (!getenv("BERTH")) {
		printf("BERTH says which program\n");
		return 1;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* One processor: one thread, which ptrace follows. */
	sched_getaffinity(0, sizeof one, &one);
	for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &one) && found++)
			CPU_CLR(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
