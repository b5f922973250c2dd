/*
 * hosted.h - for tests of agents and tools on a real engine: a place of their own, a team, a host.
 *
 * Header only, for test programs of one file.  BERTH_TEST_ENGINE names the engine, with the image box:1.
 */
#ifndef TESTS_LIB_HOSTED_H
#define TESTS_LIB_HOSTED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/mem.h>

static char top[] = "/tmp/berth-XXXXXX"; /* run/: of this program; ws/: a workspace, of user 1000 */
static const char *engine;
static struct agents_host *host;
static struct team team;

static inline void hosted_dir(const char *name, mode_t mode, uid_t owner)
{
	AUTO_FREE char *dir = xasprintf("%s/%s", top, name);

	assert_int_equal(mkdir(dir, mode), 0);
	assert_int_equal(chown(dir, owner, owner), 0);
}

/* For a group's setup: -1 when there is no engine. */
static inline int hosted_place(void)
{
	AUTO_FREE char *run = NULL;

	engine = getenv("BERTH_TEST_ENGINE");
	if (!engine) {
		print_error("BERTH_TEST_ENGINE is not set: start an engine with tests/run\n");
		return -1;
	}
	assert_non_null(mkdtemp(top));
	chmod(top, 0755);
	hosted_dir("run", 0700, 0);
	hosted_dir("ws", 0755, 1000);
	run = xasprintf("%s/run", top);
	setenv("XDG_RUNTIME_DIR", run, 1);
	setenv("XDG_STATE_HOME", top, 1);
	return 0;
}

/* yaml NULL: the team is there already. */
static inline void hosted_open(struct agents_options *o, const char *yaml)
{
	struct err e = ERR_INIT;

	o->host = engine;
	if ((yaml && team_parse("team", yaml, strlen(yaml), "/", &team, &e)) ||
		!(host = agents_open(o, &e)))
		fail_msg("%s", e.msg);
}

/* Takes the agents down, too. */
static inline int hosted_close(void)
{
	AUTO_FREE char *rm = xasprintf("rm -rf %s", top);

	for (size_t i = 0; host && i < team.nagents; i++)
		agents_down(host, team.agents[i].container, NULL);
	agents_close(host);
	team_release(&team);
	return system(rm);
}

#endif
