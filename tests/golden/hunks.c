/* hunks.c - what is taken from a workspace in the console: real commands on a tree of real workspaces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/str.h>

#include "app/app.h"
#include "lib/orphans.h"
#include "lib/tree.h"
#include "golden/fixture/play.h"

#define PROJECT "data/berth/workspaces/projects/website/"
#define TASK "data/berth/workspaces/tasks/review-auth/"

static void run_take_script(const char *text, bool read_only)
{
	AUTO_FREE char *script =
		xasprintf("size 100 30\nkey 0\nwait 9 workspaces\nkey /\ntype review-auth\n"
			  "key Enter\nkey G\n%s",
			text);

	play_script("full", script, read_only);
}

/* `fmt` with the program that knows workspaces. */
static void run_files(const char *fmt)
{
	char program[PATH_MAX];
	AUTO_FREE char *command = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(runtime_program("berth-files", program, &e), 0);
	command = xasprintf("'%s' %s >out 2>&1", program, fmt);
	if (system(command))
		fail_msg("%s", fmt);
}

/* A project, and a fork of it under a name that the fixture has; line 1 and 20 of `n` are the agent's, 20 of `m` both's. */
static int setup(void **state)
{
	char text[200] = "";

	(void)state;
	tree_make("hunks");
	setenv("XDG_RUNTIME_DIR", tree_path(""), 1);
	setenv("XDG_STATE_HOME", tree_path("state"), 1);
	setenv("XDG_CONFIG_HOME", tree_path("config"), 1);
	setenv("XDG_DATA_HOME", tree_path("data"), 1);
	prctl(PR_SET_CHILD_SUBREAPER, 1L, 0L, 0L, 0L);
	if (chdir(tree_top))
		return -1;
	run_files("workspace create project website");
	for (int i = 0; i < 20; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "line %d\n", i + 1);
	tree_text(PROJECT "n", text);
	tree_text(PROJECT "m", text);
	run_files("workspace fork website 1");
	assert_int_equal(
		system("cd data/berth && mv workspaces/tasks/website-1 workspaces/tasks/review-auth && "
		       "mv checkpoints/tasks/website-1 checkpoints/tasks/review-auth"),
		0);
	assert_int_equal(system("sed -i '1s/$/ by the agent/; 20s/$/ by the agent/' " TASK "n && "
				"sed -i '20s/$/ by the agent/' " TASK
				"m && sed -i '20s/$/ by a person/' " PROJECT
				"m && ln -s /etc/passwd " TASK "link"),
		0);
	return 0;
}

static int teardown(void **state)
{
	int left = orphans_wait();

	(void)state;
	tree_remove();
	return left;
}

#define OPEN \
	"key t\nexpect apply from review-auth into\ntype website\nkey Enter\nwait 0 of 3 marked\n"

static void test_one_hunk(void **state)
{
	(void)state;
	run_take_script(OPEN
		"expect [ ] hunk 1 of 3  conflict m  it changed there, too\n"
		"expect +line 20 by the agent\nexpect -line 20 by a person\n"
		"key n n\nkey Space\nexpect 1 of 3 marked\nexpect [x] hunk 3 of 3\n"
		"key A\nexpect Apply 1 hunk to website\nexpect hunk 3 of 3  changed  n\n"
		"refuse in conflict\nadvance 400\nkey Esc\nexpect nothing was done\n"
		"key A\nadvance 400\nkey y\nwait 1 applied\nwait 0 of 2 marked\n",
		false);
	assert_int_equal(system("test \"$(tail -n 1 " PROJECT "n)\" = 'line 20 by the agent' && "
				"test \"$(head -n 1 " PROJECT "n)\" = 'line 1' && "
				"test \"$(tail -n 1 " PROJECT "m)\" = 'line 20 by a person'"),
		0);
}

/* All of them, the one in conflict, too: that is said. */
static void test_hunks_in_conflict(void **state)
{
	(void)state;
	run_take_script(OPEN
		"key *\nexpect 3 of 3 marked, 1 in conflict\nkey u\nexpect 0 of 3 marked\n"
		"key A\nexpect Mark hunks first\n"
		"key *\nkey A\nexpect Apply 3 hunks to website\nexpect 1 in conflict: the target\n"
		"advance 400\nkey y\nexpect Apply 3 hunks\nkey Esc\nkey A\nadvance 400\nkey 1 Enter\nwait 2 applied\nwait There is nothing to apply\n"
		"expect dropped  link\n",
		false);
	assert_int_equal(system("cmp " TASK "n " PROJECT "n && cmp " TASK "m " PROJECT "m"), 0);
}

/* What an agent writes while a person looks is not what they chose. */
static void test_changed_while_shown(void **state)
{
	(void)state;
	tree_text("evil", "by the attacker\n");
	run_take_script(OPEN "key *\nkey :\ntype copy-files --overwrite evil " TASK
			     "n\nkey Enter\nwait done.\nkey Esc\nexpect 3 of 3 marked\n"
			     "key A\nexpect Apply 3 hunks\nadvance 400\nkey 1 Enter\n"
			     "wait changed since that plan was made\nwait 0 of 2 marked\n",
		false);
	assert_int_equal(system("! grep -q by " PROJECT "n && grep -q attacker " TASK
				"n && test \"$(tail -n 1 " PROJECT "m)\" = 'line 20 by a person'"),
		0);
}

/* HEAD has no person's line yet, so nothing is in conflict; the files stay as they are. */
static void test_hunks_as_a_branch(void **state)
{
	(void)state;
	assert_int_equal(system("cd " PROJECT " && export GIT_CONFIG_COUNT=3 "
				"GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' "
				"GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=a "
				"GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2=a@b && "
				"sed -i '20s/ by.*//' m && git add -A && git commit -qm one && "
				"sed -i '20s/$/ by a person/' m && cp m ../m"),
		0);
	run_take_script(OPEN
		"expect conflict m\nkey b\nexpect apply as branch\ntype no name\nkey Enter\n"
		"wait branch no name\nwait 0 of 3 marked\nkey *\nkey A\nadvance 400\nkey y\n"
		"wait not a name of a branch\nwait 0 of 3 marked\nkey b\nkey C-u\ntype agent/one\n"
		"key Enter\nwait branch agent/one\nwait 0 of 3 marked\nrefuse conflict\nkey *\n"
		"key A\nexpect as the branch agent/one\nexpect As a commit on HEAD\nadvance 400\n"
		"key y\nwait branch agent/one is\nwait 0 of 3 marked\nkey b\nkey C-u\nkey Enter\n"
		"wait conflict m\n",
		false);
	assert_int_equal(
		system("cd " PROJECT " && cmp m ../m && test \"$(tail -n 1 n)\" = 'line 20' && "
		       "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory "
		       "GIT_CONFIG_VALUE_0='*' && git cat-file blob agent/one:m | "
		       "grep -qx 'line 20 by the agent' && "
		       "git cat-file blob agent/one:n | grep -qx 'line 1 by the agent'"),
		0);
}

static void test_hunks_refused(void **state)
{
	(void)state;
	run_take_script("key t\nkey C-u\ntype nowhere\nkey Enter\nwait nowhere is not a workspace\n"
			"key A\nexpect The changes are not known yet\n",
		false);
	run_take_script(OPEN "key *\nkey A\nrefuse Apply 3 hunks\n", true);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_hunks_as_a_branch),
		CASE(test_one_hunk),
		CASE(test_hunks_in_conflict),
		CASE(test_changed_while_shown),
		CASE(test_hunks_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
