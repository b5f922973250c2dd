/* names.c - `berth names KIND`: prints names known on this machine, one per line, for shell completion. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/bench.h>
#include <berth/config.h>
#include <berth/holdings.h>
#include <berth/images.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/team.h>
#include <berth/text.h>
#include <berth/workspace.h>

#include "cli/run.h"
#include "terminal/terminal.h"

#define PATIENCE_S 2 /* a shell waits for it; SIGALRM ends the process */

static void put_name(const char *name)
{
	char shown[256];

	if (*name)
		puts(text_clean(shown, sizeof shown, name));
}

/* With a colon behind each: what `cp` takes before a path. */
static void put_container(const char *name, bool side)
{
	AUTO_FREE char *with = side && *name ? xasprintf("%s:", name) : NULL;

	put_name(with ? with : name);
}

static int name_containers(const struct cli *c, struct err *e)
{
	bool sides = !strcmp(c->argv[0], "sides");
	struct backend *b = cli_backend(c, "names", NULL, true, e);
	const struct snapshot *s = b ? cli_wait(b, false, e) : NULL;

	for (size_t i = 0; s && i < s->ncontainers; i++) {
		put_container(s->containers[i].name, sides);
		if (strcmp(s->containers[i].role, "agent") == 0)
			put_container(s->containers[i].agent, sides);
	}
	snapshot_unref(s);
	if (b)
		backend_stop(b);
	return s ? 0 : -1;
}

static int name_tools(const struct cli *c, struct err *e)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct team t;

	if (!cli_value(c, "team"))
		return 0;
	if (team_read(cli_value(c, "team"), cwd ? cwd : "/", &t, e))
		return -1;
	for (size_t i = 0; i < t.ntools; i++)
		put_name(t.tools[i].name);
	team_release(&t);
	return 0;
}

/* JSON is YAML, so the configuration's reader reads it. */
static bool name_context(const char *path, const char *wanted)
{
	struct config c;
	const struct node *name;
	bool found;

	if (config_read(path, &c, NULL) < 0)
		return false;
	name = node_get(c.root, "Name");
	found = name && name->kind == NODE_SCALAR;
	if (found && wanted)
		found = !strcmp(name->value, wanted);
	else if (found)
		put_name(name->value);
	config_release(&c);
	return found;
}

/* All of them are printed; `wanted`: is there that one? */
static bool walk_contexts(const char *wanted)
{
	const char *docker = getenv("DOCKER_CONFIG"), *home = getenv("HOME");
	AUTO_FREE char *dir = xasprintf("%s%s/contexts/meta",
		docker         ? docker
			: home ? home
			       : "",
		docker ? "" : "/.docker");
	bool found = wanted && !strcmp(wanted, "default");
	AUTO_CLOSEDIR DIR *list = opendir(dir);
	struct dirent *d;

	if (!wanted)
		put_name("default");
	while (list && !found && (d = readdir(list))) {
		AUTO_FREE char *path = xasprintf("%s/%s/meta.json", dir, d->d_name);

		if (d->d_name[0] != '.')
			found = name_context(path, wanted) && wanted;
	}
	return found;
}

static int name_contexts(const struct cli *c, struct err *e)
{
	(void)c;
	(void)e;
	walk_contexts(NULL);
	return 0;
}

int cli_check_context(const char *name, struct err *e)
{
	return walk_contexts(name)
		? 0
		: err_set(e, ERR_NOT_FOUND,
			  "There is no docker context %.80s; `:context` lists them.", name);
}

static int name_themes(const struct cli *c, struct err *e)
{
	char name[32];

	(void)c;
	(void)e;
	put_name("auto");
	for (size_t i = 0; theme_name(i, name); i++)
		put_name(name);
	return 0;
}

static int name_suites(const struct cli *c, struct err *e)
{
#define SUITE(name, about) #name,
	static const char *const names[] = {SUITES(SUITE)};
#undef SUITE
	struct own_suite *own = xcalloc(OWN_SUITES_MAX, sizeof *own);
	size_t n = own_suites(own, OWN_SUITES_MAX);

	(void)c;
	(void)e;
	for (size_t i = 0; i < COUNT(names); i++)
		put_name(names[i]);
	for (size_t i = 0; i < n; i++)
		put_name(own[i].name);
	free(own);
	return 0;
}

static int name_shipped(const struct cli *c, struct err *e)
{
	(void)c;
	(void)e;
	for (const struct image_shipped *i = images_shipped; i->name; i++)
		put_name(i->name);
	return 0;
}

static int name_held(const struct cli *c, enum holding_kind kind, struct err *e)
{
	const struct clean_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.program = "names"};
	struct clean_host *h = clean_open(&o, e);
	const struct holdings *all;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);

	all = h ? holdings_look(h, kind, NULL, false, &mem, e) : NULL;
	for (size_t i = 0; all && i < all->n; i++) {
		const struct holding *one = &all->item[i];

		for (size_t k = 0; k < one->nnames; k++)
			put_name(one->names[k]);
		if (kind != HOLDING_IMAGES)
			put_name(one->name);
	}
	clean_close(h);
	return all ? 0 : -1;
}

static int name_tags(const struct cli *c, struct err *e)
{
	return name_held(c, HOLDING_IMAGES, e);
}

static int name_volumes(const struct cli *c, struct err *e)
{
	return name_held(c, HOLDING_VOLUMES, e);
}

static int name_networks(const struct cli *c, struct err *e)
{
	return name_held(c, HOLDING_NETWORKS, e);
}

static void name_entries(const char *path, const char *prefix)
{
	AUTO_CLOSEDIR DIR *list = opendir(path);
	struct dirent *d;

	while (list && (d = readdir(list))) {
		AUTO_FREE char *name = xasprintf("%s%s", prefix, d->d_name);

		if (d->d_name[0] != '.')
			put_name(name);
	}
}

/* Read as they lie, for workspaces_open would make the tree. */
static int name_workspaces(const struct cli *c, struct err *e)
{
	char dir[PATH_MAX];

	(void)c;
	if (data_dir(dir, sizeof dir, e))
		return -1;
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		const char *folder = workspace_kind_folder((enum workspace_kind)k);
		AUTO_FREE char *path = xasprintf("%s/workspaces/%s", dir, folder);
		AUTO_FREE char *prefix = xasprintf("%s/", folder);

		name_entries(path, prefix);
	}
	return 0;
}

/* Of the workspace that is named: NAME, tasks/NAME or projects/NAME. */
static int name_checkpoints(const struct cli *c, struct err *e)
{
	const char *of = c->argc > 1 ? c->argv[1] : "";
	const char *slash = strchr(of, '/');
	const char *name = slash ? slash + 1 : of;
	char dir[PATH_MAX];

	if (!*name || *name == '.' || strchr(name, '/'))
		return 0;
	if (data_dir(dir, sizeof dir, e))
		return -1;
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		const char *folder = workspace_kind_folder((enum workspace_kind)k);
		AUTO_FREE char *path =
			xasprintf("%s/checkpoints/%s/%s/checkpoints", dir, folder, name);
		size_t n = strlen(folder);

		if (!slash || (n == (size_t)(slash - of) && !memcmp(of, folder, n)))
			name_entries(path, "");
	}
	return 0;
}

/* What --filter of a command takes: KEY=, or KEY=VALUE where there are only so many. */
static int name_filters(const struct cli *c, struct err *e)
{
	bool events = c->argc > 1 && !strcmp(c->argv[1], "events");
	const struct cli_filter *f = events ? cli_event_filters : cli_container_filters;

	(void)e;
	for (; f->key; f++) {
		if (!f->values)
			printf("%s=\n", f->key);
		for (size_t i = 0; f->values && f->values[i]; i++)
			printf("%s=%s\n", f->key, f->values[i]);
	}
	return 0;
}

int cli_names(const struct cli *c, const struct settings *s, struct err *e)
{
	static const struct {
		const char *kind;
		int (*print)(const struct cli *c, struct err *e);
	} kinds[] = {{"containers", name_containers}, {"sides", name_containers},
		{"tools", name_tools}, {"contexts", name_contexts}, {"themes", name_themes},
		{"suites", name_suites}, {"images", name_shipped}, {"workspaces", name_workspaces},
		{"tags", name_tags}, {"volumes", name_volumes}, {"networks", name_networks},
		{"checkpoints", name_checkpoints}, {"filters", name_filters}};
	int rc = 0;

	(void)s;
	alarm(PATIENCE_S);
	for (size_t i = 0; i < COUNT(kinds) && rc == 0; i++)
		if (!strcmp(kinds[i].kind, c->argv[0]))
			rc = kinds[i].print(c, e);
	return rc ? rc : cli_finish();
}
