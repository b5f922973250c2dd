/* agents.c - provides a team of agents for suites, in directories of the benchmark's own. */
#include "suites/agents.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/str.h>

static int make_places(struct crew *k, struct err *e)
{
	char path[300];

	chmod(k->dir.path, 0755);
	snprintf(path, sizeof path, "%s/run", k->dir.path);
	mkdir(path, 0700);
	setenv("XDG_RUNTIME_DIR", path, 1);
	snprintf(path, sizeof path, "%s/state", k->dir.path);
	mkdir(path, 0700);
	setenv("XDG_STATE_HOME", path, 1);
	snprintf(k->workspace, sizeof k->workspace, "%s/ws", k->dir.path);
	mkdir(k->workspace, 0755);
	return chown(k->workspace, 1000, 1000)
		? err_set(e, ERR_NOT_FOUND, "only root can give the workspace to the agent's user")
		: 0;
}

int crew_open(struct crew *k, struct err *e)
{
	k->mini.fd = -1;
	if (mini_open(&k->mini, e) || mini_image(&k->mini, BOX, e) || scratch_init(&k->dir, e))
		return -1;
	mini_url(&k->mini, k->url, sizeof k->url);
	if (!make_places(k, e))
		return 0;
	crew_close(k);
	return -1;
}

void crew_close(struct crew *k)
{
	agents_close(k->host);
	if (k->read)
		team_release(&k->team);
	mini_close(&k->mini);
	scratch_release(&k->dir);
}

int crew_read(struct crew *k, const char *text, struct err *e)
{
	FILE *f;

	snprintf(k->file, sizeof k->file, "%s/team.yaml", k->dir.path);
	f = fopen(k->file, "we");
	if (!f)
		return err_set(e, ERR_FAILED, "cannot write %s", k->file);
	fputs(text, f);
	fclose(f);
	k->read = !team_read(k->file, "/", &k->team, e);
	return k->read ? 0 : -1;
}

void crew_take_down(struct crew *k, size_t agent)
{
	char volume[160];

	agents_down(k->host, k->team.agents[agent].container, NULL);
	snprintf(volume, sizeof volume, "/volumes/berth-home-%s", k->team.agents[agent].container);
	mini_call(&k->mini, "DELETE", volume, NULL, NULL, NULL);
}

void crew_output(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)stream;
	str_add(ctx, bytes, n);
}
