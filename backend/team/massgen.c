/*
 * massgen.c - reads MassGen's configuration files.
 *
 * `agent: {...}` or `agents: [{...}]`, each with `backend:`, and `orchestrator:`.  Which keys count
 * is the list of MassGen 0.1.x's code (filesystem_manager, _docker_manager.py), not of its
 * documents: these name some that no code reads.  A key of the families command_line_docker_* that
 * is not in the table, or any key that is one or two letters from a known one or shortens its words,
 * is an error: MassGen itself would silently ignore a misspelt limit.  Everything else is
 * MassGen's own business, ignored and listed; so is an agent without backend.cwd, which has no
 * container in MassGen either.  Where a run of MassGen exists, the workspaces are its (massgen_runs.c).  command_line_execution_mode may say anything that MassGen knows:
 * an agent with a workspace gets a container, for berth runs no command of an agent on the host.
 * Commands end with MassGen's own time at the latest (timeout_settings), and a map custom_tools: is of
 * containers, as in berth's files.  A context path with `permission: write` is read-only in MassGen while agents coordinate and writable
 * for the one that presents the result: here for the only agent of a file, or for the one that
 * team_final names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "team/mounts.h"
#include "team/team_forms.h"

#define IGNORED_MAX 1024

#define MASSGEN_IMAGE "massgen/mcp-runtime:latest"
#define MASSGEN_IMAGE_SUDO "massgen/mcp-runtime-sudo:latest"

struct gathering { /* the reader's ctx */
	struct team *team;
	const char *path;          /* "agents[0].backend" */
	const struct field *known; /* keys of this level, for spelling */
	struct ignored_key *ignored;
	size_t nignored;
	struct tool_def *tools;
	size_t ntools;
	int64_t seconds; /* how long MassGen runs; 0: not said */
	bool sole;       /* there is one agent: it is the final one */
};

struct backend_reading {
	const char *cwd, *image, *temporary, *snapshots;
	bool commands, sudo, read_before_delete;
	int mode, network;
	uint64_t memory;
	double cpus;
	struct credentials credentials;
	struct packages packages;
	struct words allow, block;
	struct grants grants;
	struct own_tools {
		size_t n;
		struct tool_def *def;
	} tools;
};

static int read_own_tools(const struct reader *r, const struct node *n, void *at, struct err *e);
static int read_servers(const struct reader *r, const struct node *n, void *at, struct err *e);

enum { MODE_DOCKER }; /* of mode_words; -1: not said */
static const char *const mode_words[] = {"docker", "local", "srt", NULL};
static const char *const network_words[] = {"none", "bridge", "host", NULL};

static const struct field backend_fields[] = {
	{"cwd", FIELD_PATH, AT(backend_reading, cwd), 0, 0, NULL, NULL},
	{"enable_mcp_command_line", FIELD_BOOL, AT(backend_reading, commands), 0, 0, NULL, NULL},
	{"command_line_execution_mode", FIELD_CHOICE, AT(backend_reading, mode), 0, 0, mode_words,
		NULL},
	{"command_line_docker_image", FIELD_TEXT, AT(backend_reading, image), 0, 0, NULL, NULL},
	{"command_line_docker_memory_limit", FIELD_BYTES, AT(backend_reading, memory), 6 * MIB,
		1024 * GIB, NULL, NULL},
	{"command_line_docker_cpu_limit", FIELD_NUMBER, AT(backend_reading, cpus), 0.01, 1024, NULL,
		NULL},
	{"command_line_docker_network_mode", FIELD_CHOICE, AT(backend_reading, network), 0, 0,
		network_words, NULL},
	{"command_line_docker_enable_sudo", FIELD_BOOL, AT(backend_reading, sudo), 0, 0, NULL,
		NULL},
	{"command_line_docker_credentials", FIELD_NESTED, AT(backend_reading, credentials), 0, 0,
		NULL, team_read_credentials},
	{"command_line_docker_packages", FIELD_NESTED, AT(backend_reading, packages), 0, 0, NULL,
		team_read_packages},
	{"command_line_allowed_commands", FIELD_WORDS, AT(backend_reading, allow), 0, 0, NULL,
		NULL},
	{"command_line_blocked_commands", FIELD_WORDS, AT(backend_reading, block), 0, 0, NULL,
		NULL},
	{"context_paths", FIELD_NESTED, AT(backend_reading, grants), 0, 0, NULL, team_read_grants},
	{"agent_temporary_workspace", FIELD_PATH, AT(backend_reading, temporary), 0, 0, NULL, NULL},
	{"snapshot_storage", FIELD_PATH, AT(backend_reading, snapshots), 0, 0, NULL, NULL},
	{"enforce_read_before_delete", FIELD_BOOL, AT(backend_reading, read_before_delete), 0, 0,
		NULL, NULL},
	{"custom_tools", FIELD_NESTED, AT(backend_reading, tools), 0, 0, NULL, read_own_tools},
	{"mcp_servers", FIELD_NESTED, 0, 0, 0, NULL, read_servers},
	{0},
};

static const struct field orchestrator_fields[] = {
	{"context_paths", FIELD_NESTED, AT(backend_reading, grants), 0, 0, NULL, team_read_grants},
	{"agent_temporary_workspace", FIELD_PATH, AT(backend_reading, temporary), 0, 0, NULL, NULL},
	{"snapshot_storage", FIELD_PATH, AT(backend_reading, snapshots), 0, 0, NULL, NULL},
	{"enforce_read_before_delete", FIELD_BOOL, AT(backend_reading, read_before_delete), 0, 0,
		NULL, NULL},
	{0},
};

/* Names only: what the top of the file may hold. */
static const struct field top_fields[] = {{.key = "agent"}, {.key = "agents"},
	{.key = "orchestrator"}, {.key = "timeout_settings"}, {.key = "custom_tools"}, {0}};

static const struct field timeout_fields[] = {
	{"orchestrator_timeout_seconds", FIELD_INT, AT(gathering, seconds), 1, 604800, NULL, NULL},
	{0},
};

/* "command_line_exec_mode" of "command_line_execution_mode": each word as it is, or its beginning. */
static bool shortens_key(const char *key, const char *known)
{
	while (*key || *known) {
		size_t n = strcspn(key, "_"), m = strcspn(known, "_");

		if (!n || n > m || (n < m && n < 3) || strncmp(key, known, n) != 0 ||
			!key[n] != !known[m])
			return false;
		key += n + !!key[n];
		known += m + !!known[m];
	}
	return true;
}

/* The known key nearest to this one, and whether it is so near that it must be meant: one or two
 * letters off, one for short keys, or everything would be near them; or shortened. */
static const char *nearest_field(const char *key, const struct field *known, bool *meant)
{
	const char *best = NULL;
	size_t least = SIZE_MAX;

	for (; known->key; known++) {
		size_t d = shortens_key(key, known->key) ? 0 : word_distance(key, known->key);

		if (d < least) {
			least = d;
			best = known->key;
		}
	}
	*meant = best && least <= (strlen(best) <= 4 ? 1 : 2);
	return best;
}

static bool has_field(const struct field *known, const char *key)
{
	while (known->key && strcmp(known->key, key) != 0)
		known++;
	return known->key != NULL;
}

bool massgen_has_key(const char *key)
{
	return !strncmp(key, "command_line_", 13) || has_field(top_fields, key) ||
		has_field(backend_fields, key) || has_field(orchestrator_fields, key) ||
		!strcmp(key, "backend");
}

static void note_ignored(
	const struct reader *r, const char *key, int line, int column, const char *why)
{
	struct gathering *g = r->ctx;

	if (g->nignored < IGNORED_MAX)
		g->ignored[g->nignored++] = (struct ignored_key){*g->path
				? arena_printf(r->mem, "%s%s%s", g->path, *key ? "." : "", key)
				: arena_strdup(r->mem, key),
			why, {line, column}};
}

static int other_key(const struct reader *r, const struct node *n, struct err *e)
{
	struct gathering *g = r->ctx;
	bool meant;
	const char *nearest = nearest_field(n->key, g->known, &meant);

	if (meant || !strncmp(n->key, "command_line_docker_", 20))
		return err_set(e, ERR_CONFIG, "%s:%d:%d: unknown key \"%s\"; did you mean %s?",
			r->c->file, n->key_line, n->key_column, n->key, nearest);
	note_ignored(r, n->key, n->key_line, n->key_column, NULL);
	return 0;
}

/* A map is of containers, as in berth's files; MassGen's own list names functions that it calls itself. */
static int read_own_tools(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct own_tools *out = at;

	if (n->kind == NODE_LIST) {
		note_ignored(r, "custom_tools", n->key_line, n->key_column,
			"MassGen calls these functions itself, on the host; for a container of its own "
			"write NAME: {type: docker, image: ..., script: ...}");
		return 0;
	}
	if (field_expect_map(r, n, e))
		return -1;
	out->def = arena_array(r->mem, n->n, sizeof *out->def);
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++)
		if (!team_read_tool(r, n->child[i], &out->def[out->n], e))
			out->n++;
		else if (field_go_on(r, e))
			return -1;
	return 0;
}

static bool starts_berth(const struct node *server)
{
	const struct node *command = node_get(server, "command");
	const char *word = command && command->kind == NODE_SCALAR ? command->value : "";
	const char *slash = strrchr(word, '/');

	return !strcmp(slash ? slash + 1 : word, "berth");
}

/* A list, or a map of name -> server. */
static int read_servers(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	size_t own = 0;

	(void)at;
	(void)e;
	for (size_t i = 0; i < n->n; i++)
		own += n->child[i]->kind == NODE_MAP && starts_berth(n->child[i]);
	if (n->n > own)
		note_ignored(r, "mcp_servers", n->key_line, n->key_column,
			own ? "MassGen starts these servers itself, on the host; berth uses none of the "
			      "others"
			    : "MassGen starts these servers itself, on the host; berth does not use "
			      "them");
	return 0;
}

/* `agent` NULL: they are everybody's. */
static int add_tools(const struct reader *r, const struct own_tools *more, const char *agent,
	const char *workspace, struct err *e)
{
	struct gathering *g = r->ctx;
	struct tool_def *all = arena_array(r->mem, g->ntools + more->n, sizeof *all);

	if (g->ntools)
		memcpy(all, g->tools, g->ntools * sizeof *all);
	g->tools = all;
	for (size_t i = 0; i < more->n; i++) {
		struct tool_def *d = &all[g->ntools];

		for (size_t k = 0; k < g->ntools; k++)
			if (!strcmp(all[k].name, more->def[i].name) &&
				err_set(e, ERR_CONFIG,
					"%s:%d:%d: the tool %s is defined twice; give one of them another "
					"name, or define it once, in custom_tools: of the file itself.",
					r->c->file, more->def[i].at.line, more->def[i].at.column,
					all[k].name) &&
				field_go_on(r, e))
				return -1;
		*d = more->def[i];
		if (agent && !d->agents.word) {
			const char **own = arena_array(r->mem, 1, sizeof *own);

			own[0] = agent;
			d->agents = (struct words){1, own};
		}
		if (d->files == TOOL_WORKSPACE && !d->workspace)
			d->workspace = workspace;
		g->ntools++;
	}
	return 0;
}

static int read_backend(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct gathering *g = r->ctx;
	const char *outer = g->path;
	const struct field *outer_known = g->known;
	int result;

	g->path = arena_printf(r->mem, "%s.backend", outer);
	g->known = backend_fields;
	result = field_read_known(r, n, backend_fields, at, other_key, e);
	g->path = outer;
	g->known = outer_known;
	return result;
}

struct massgen_agent {
	const char *id;
	struct backend_reading backend;
};

static const struct field agent_fields[] = {
	{"id", FIELD_TEXT, AT(massgen_agent, id), 0, 0, NULL, NULL},
	{"backend", FIELD_NESTED, AT(massgen_agent, backend), 0, 0, NULL, read_backend},
	{0},
};

/* Only one of several is the final agent, and which one MassGen chooses while it runs. */
static void hold_writes(const struct reader *r, struct grants *g)
{
	const struct gathering *about = r->ctx;

	for (size_t i = 0; !about->sole && i < g->n; i++) {
		struct path_grant *one = &g->grant[i];

		one->final = one->write;
		one->write = false;
		if (one->final)
			note_ignored(r, "context_paths", one->at.line, one->at.column,
				arena_printf(r->mem,
					"MassGen lets only its final agent write to %s, so it is "
					"read-only for all; `berth up --final AGENT` gives it to "
					"one",
					one->path));
	}
}

/* As MassGen joins them: a path that the orchestrator has too is the orchestrator's. */
static void join_grants(const struct reader *r, const struct grants *a, const struct grants *b,
	struct agent_def *out)
{
	struct path_grant *all = arena_array(r->mem, a->n + b->n, sizeof *all);

	if (a->n)
		memcpy(all, a->grant, a->n * sizeof *all);
	out->npaths = a->n;
	for (size_t i = 0, k; i < b->n; i++) {
		for (k = 0; k < a->n && strcmp(a->grant[k].path, b->grant[i].path) != 0; k++)
			;
		if (k == a->n)
			all[out->npaths++] = b->grant[i];
	}
	out->paths = all;
}

/* Which directory it is, and why. */
static void note_place(const struct reader *r, const struct node *n, const char *own,
	const struct massgen_place *p)
{
	const struct node *at = node_get(node_get(n, "backend"), "cwd");
	const char *why;

	if (p->unclear)
		why = arena_printf(r->mem,
			"the workspace is %s; MassGen's newest run has it in one of %s*, and their "
			"names do not show which: use --workspace DIR",
			own, p->prefix[1]);
	else if (p->found)
		why = arena_printf(r->mem, "the workspace is %s, of MassGen's newest run%s",
			p->found,
			p->by_order
				? "; only the order in which they were created shows that it is this agent's"
				: "");
	else
		why = arena_printf(r->mem,
			"the workspace is %s until MassGen has run, which moves it to %sID with a new ID for "
			"each run",
			own, p->prefix[1]);
	note_ignored(r, "backend.cwd", at->key_line, at->key_column, why);
}

/* 1: it needs no container, and is left out. */
static int read_agent(struct reader *r, const struct node *n, size_t number,
	const struct backend_reading *shared, const struct massgen_place *place,
	struct agent_def *out, struct err *e)
{
	struct massgen_agent a = {.backend = {.mode = -1}};
	const struct backend_reading *b = &a.backend;

	if (field_read_known(r, n, agent_fields, &a, other_key, e))
		return -1;
	if (!a.id)
		a.id = arena_printf(r->mem, "agent%zu", number);
	if (team_check_id(r->c, n, a.id, e) || team_check_image(r->c, n, b->image, e))
		return -1;
	if (!b->cwd) {
		if (b->tools.n)
			note_ignored(r, "backend.custom_tools", n->line, n->column,
				"not used: without backend.cwd berth serves this agent nothing");
		note_ignored(r, "", n->line, n->column,
			"no backend.cwd, so MassGen gives this agent no files and no commands: it needs no "
			"container");
		return 1;
	}
	note_place(r, n, b->cwd, place);
	if (place->found)
		a.backend.cwd = place->found;
	if (add_tools(r, &b->tools, a.id, b->cwd, e))
		return -1;
	hold_writes(r, &a.backend.grants);
	if (!b->commands)
		note_ignored(r, "backend.enable_mcp_command_line", n->line, n->column,
			"not set: the container is created, but `berth mcp` runs no commands in it");
	else if (b->mode != MODE_DOCKER)
		note_ignored(r, "backend.command_line_execution_mode", n->line, n->column,
			"MassGen would run commands on the host; here the agent gets a container, as "
			"for docker");
	*out = (struct agent_def){.id = a.id,
		.role = "",
		.container = arena_printf(r->mem, "massgen-%s", a.id),
		.image = b->image ? b->image
			: b->sudo ? MASSGEN_IMAGE_SUDO
				  : MASSGEN_IMAGE,
		.workspace = b->cwd,
		.runs = {place->prefix[0], place->prefix[1]},
		.temporary = b->temporary ? b->temporary : shared->temporary,
		.snapshots = b->snapshots ? b->snapshots : shared->snapshots,
		.limits = agent_limits,
		.network = (enum net_mode)b->network,
		.sudo = b->sudo,
		.commands = b->commands,
		.read_before_delete = b->read_before_delete || shared->read_before_delete,
		.credentials = b->credentials,
		.python = b->packages.python,
		.npm = b->packages.npm,
		.system = b->packages.system,
		.allow = b->allow,
		.block = b->block,
		.at = {n->line, n->column}};
	out->credentials.lenient = true;
	out->default_memory = !b->memory;
	out->default_cpus = b->cpus <= 0;
	if (b->memory)
		out->limits.memory_bytes = b->memory;
	if (b->cpus > 0)
		out->limits.cpus = b->cpus;
	out->limits.timeout_s = ((const struct gathering *)r->ctx)->seconds;
	join_grants(r, &shared->grants, &b->grants, out);
	return 0;
}

static int read_shared(
	struct reader *r, const struct node *n, struct backend_reading *out, struct err *e)
{
	struct gathering *g = r->ctx;

	g->path = "orchestrator";
	g->known = orchestrator_fields;
	if (n && field_read_known(r, n, orchestrator_fields, out, other_key, e))
		return -1;
	hold_writes(r, &out->grants);
	return 0;
}

/* What the file says of the run as a whole: no command outlives that. */
static int read_whole_run(struct reader *r, const struct node *root, struct err *e)
{
	const struct node *limit = node_get(root, "timeout_settings"),
			  *tools = node_get(root, "custom_tools");
	struct own_tools all = {0};
	struct gathering *g = r->ctx;

	g->path = "timeout_settings";
	g->known = timeout_fields;
	if (limit && field_read_known(r, limit, timeout_fields, g, other_key, e))
		return -1;
	g->path = "";
	return tools && (read_own_tools(r, tools, &all, e) || add_tools(r, &all, NULL, NULL, e))
		? -1
		: 0;
}

/* The workspaces of a run, and what that has moved besides. */
static struct massgen_place *follow_run(const struct reader *r, const struct node *const *agent,
	size_t n, struct backend_reading *shared)
{
	struct massgen_place *places = arena_array(r->mem, n, sizeof *places);
	const struct node *temporary =
		node_get(node_get(r->c->root, "orchestrator"), "agent_temporary_workspace");

	for (size_t i = 0; i < n; i++) {
		const struct node *cwd = node_get(node_get(agent[i], "backend"), "cwd");

		places[i] = (struct massgen_place){
			.cwd = cwd && cwd->kind == NODE_SCALAR && *cwd->value ? cwd->value : NULL};
	}
	massgen_find_runs(r, places, n);
	for (size_t i = 0; i < n; i++) {
		const char *moved = places[i].found && shared->temporary
			? massgen_moved(r, temporary->value, ".massgen")
			: NULL;

		if (moved && !access(moved, F_OK))
			shared->temporary = moved;
	}
	return places;
}

static int read_agents(struct reader *r, const struct node *single, const struct node *list,
	struct backend_reading *shared, struct err *e)
{
	struct gathering *g = r->ctx;
	struct team *t = g->team;
	size_t n = single ? 1 : list->n, made = 0;
	struct agent_def *def = arena_array(r->mem, n, sizeof *def);
	const struct node *const *all = single ? &single : (const struct node *const *)list->child;
	const struct massgen_place *places = follow_run(r, all, n, shared);

	for (size_t i = 0; i < n; i++) {
		const struct node *at = all[i];
		int rc;

		g->path = single ? "agent" : arena_printf(r->mem, "agents[%zu]", i);
		g->known = agent_fields;
		rc = read_agent(r, at, i + 1, shared, &places[i], &def[made], e);
		if (rc < 0 && field_go_on(r, e))
			return -1;
		if (rc)
			continue;
		for (size_t k = 0; k < made; k++)
			if (!strcmp(def[k].id, def[made].id) &&
				node_err(r->c, at, e, "the id %s is used twice.", def[made].id) &&
				field_go_on(r, e))
				return -1;
		made++;
	}
	t->agents = def;
	t->nagents = made;
	return 0;
}

int massgen_read(const struct reader *from, struct team *t, struct err *e)
{
	const struct config *c = from->c;
	struct gathering g = {.team = t, .path = "", .known = top_fields};
	struct reader r = *from;
	const struct node *single = node_get(c->root, "agent"), *list = node_get(c->root, "agents");
	struct backend_reading shared = {0};

	r.ctx = &g;
	t->kind = TEAM_MASSGEN;
	g.ignored = arena_array(&t->mem, IGNORED_MAX, sizeof *g.ignored);
	if (single && list)
		return node_err(c, list, e, "found agent: and agents:, expected one of them.");
	for (size_t i = 0; i < c->root->n; i++) {
		const struct field *f = top_fields;

		while (f->key && strcmp(f->key, c->root->child[i]->key))
			f++;
		if (!f->key && other_key(&r, c->root->child[i], e) && field_go_on(&r, e))
			return -1;
	}
	if (!single && (!list || list->kind != NODE_LIST))
		return err_set(
			e, ERR_CONFIG, "%s: expected agent:, or agents: with a list.", c->file);
	g.sole = single || list->n == 1;
	if (read_whole_run(&r, c->root, e) ||
		read_shared(&r, node_get(c->root, "orchestrator"), &shared, e) ||
		read_agents(&r, single, list, &shared, e))
		return -1;
	t->tools = g.tools;
	t->ntools = g.ntools;
	t->ignored = g.ignored;
	t->nignored = g.nignored;
	return 0;
}

int team_workspace(struct team *t, const char *id, const char *dir, struct err *e)
{
	struct agent_def *a = (struct agent_def *)(uintptr_t)team_agent(t, id);
	AUTO_FREE char *real = realpath(dir, NULL);
	const char *old;

	if (t->kind != TEAM_MASSGEN)
		return err_set(e, ERR_USAGE,
			"%s is not MassGen's: the workspace of an agent is what the file says.",
			t->file);
	if (!a)
		return err_set(
			e, ERR_USAGE, "%s makes no container for an agent %.64s.", t->file, id);
	if (!real || !massgen_is_run(a->runs, real) || mounts_within(t->path, real))
		return err_set(e, ERR_USAGE,
			"%.512s is not a workspace that a run of MassGen has for the agent %s: expected "
			"%s and 8 hex digits.",
			dir, id, a->runs[1]);
	old = a->workspace;
	a->workspace = arena_strdup(&t->mem, real);
	for (size_t i = 0; i < t->ntools; i++) {
		struct tool_def *d = (struct tool_def *)(uintptr_t)&t->tools[i];

		if (d->workspace && !strcmp(d->workspace, old))
			d->workspace = a->workspace;
	}
	return 0;
}

int team_final(struct team *t, const char *id, struct err *e)
{
	struct agent_def *all;

	if (t->kind != TEAM_MASSGEN)
		return err_set(e, ERR_USAGE,
			"%s is not MassGen's: each of its agents may write what the file says.",
			t->file);
	if (!team_agent(t, id))
		return err_set(
			e, ERR_USAGE, "%s makes no container for an agent %.64s.", t->file, id);
	all = arena_array(&t->mem, t->nagents, sizeof *all);
	memcpy(all, t->agents, t->nagents * sizeof *all);
	for (size_t i = 0; i < t->nagents; i++) {
		struct path_grant *grant = arena_array(&t->mem, all[i].npaths, sizeof *grant);

		if (all[i].npaths)
			memcpy(grant, all[i].paths, all[i].npaths * sizeof *grant);
		for (size_t k = 0; k < all[i].npaths; k++)
			grant[k].write |= grant[k].final && !strcmp(all[i].id, id);
		all[i].paths = grant;
	}
	t->agents = all;
	return 0;
}
