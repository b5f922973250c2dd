/* team_agents.c - reads an agent of a team file; grants, packages and credentials in both forms. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/port.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "team/team_forms.h"

#define PLACE_NAME_MAX 64
#define RUNTIME_NAME_MAX 64

const struct limits agent_limits = {.memory_bytes = (uint64_t)2 << 30,
	.cpus = 2,
	.pids = 256,
	.tmp_bytes = (uint64_t)256 << 20,
	.file_bytes = (uint64_t)4 << 30,
	.open_files = 1024,
	.timeout_s = 0,
	.output_bytes = (uint64_t)1 << 20};

static const char *const permission_words[] = {"read", "write", NULL};

static int read_grant(
	const struct reader *r, const struct node *n, struct path_grant *out, struct err *e)
{
	struct grant {
		const char *path;
		int permission;
		struct words protected_paths;
	} g = {0};
	static const struct field fields[] = {
		{"path", FIELD_PATH, AT(grant, path), 0, 0, NULL, NULL},
		{"permission", FIELD_CHOICE, AT(grant, permission), 0, 0, permission_words, NULL},
		{"protected_paths", FIELD_WORDS, AT(grant, protected_paths), 0, 0, NULL, NULL},
		{0},
	};
	const char **below;

	if (field_read(r, n, fields, &g, e))
		return -1;
	if (!g.path)
		return node_err(r->c, n, e, "expected path: with a file or directory.");
	below = arena_array(r->mem, g.protected_paths.n, sizeof *below);
	for (size_t i = 0; i < g.protected_paths.n; i++) {
		struct reader inside = *r;
		size_t len = strlen(g.path);

		inside.base = g.path;
		below[i] = field_path(&inside, g.protected_paths.word[i]);
		if (strncmp(below[i], g.path, len) || (below[i][len] && below[i][len] != '/'))
			return node_err(r->c, n, e, "the protected path %s is not below %s.",
				below[i], g.path);
	}
	*out = (struct path_grant){.path = g.path,
		.write = g.permission == 1,
		.protected_paths = {g.protected_paths.n, below},
		.at = {n->line, n->column}};
	return 0;
}

int team_read_grants(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct grants *out = at;

	if (n->kind == NODE_SCALAR && !*n->value)
		return 0;
	if (n->kind != NODE_LIST)
		return node_err(r->c, n, e, "expected a list of path: and permission:.");
	out->grant = arena_array(r->mem, n->n, sizeof *out->grant);
	out->n = n->n;
	for (size_t i = 0; i < n->n; i++)
		if (read_grant(r, n->child[i], &out->grant[i], e) && field_go_on(r, e))
			return -1;
	return 0;
}

int team_read_packages(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field inner[] = {
		{"python", FIELD_WORDS, AT(packages, python), 0, 0, NULL, NULL},
		{"npm", FIELD_WORDS, AT(packages, npm), 0, 0, NULL, NULL},
		{"system", FIELD_WORDS, AT(packages, system), 0, 0, NULL, NULL},
		{0},
	};
	const struct node *pre = n->kind == NODE_MAP ? node_get(n, "preinstall") : NULL;
	struct packages *p = at;

	if (pre && n->n == 1)
		n = pre;
	if (field_read(r, n, inner, p, e))
		return -1;
	/* They become words of a command line, whatever the package manager makes of them. */
	for (int k = 0; k < 3; k++) {
		const struct words *w = k == 0 ? &p->python : k == 1 ? &p->npm : &p->system;

		for (size_t i = 0; i < w->n; i++)
			if (w->word[i][0] == '-')
				return node_err(r->c, n, e,
					"\"%s\" is an option, expected the name of a package.",
					w->word[i]);
	}
	return 0;
}

static const char *const mount_words[] = {
	"ssh_keys", "git_config", "gh_config", "npm_config", "pypi_config", NULL};

static int read_credential_files(
	const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct credentials *out = at;
	struct credential_file *f;

	if (field_expect_map(r, n, e))
		return -1;
	f = arena_array(r->mem, n->n, sizeof *f);
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++) {
		const struct node *item = n->child[i], *bind = NULL;

		/* SOURCE: TARGET, or MassGen's SOURCE: {bind: TARGET, mode: ro} */
		if (item->kind == NODE_MAP) {
			const struct node *mode = node_get(item, "mode");

			bind = node_get(item, "bind");
			if (mode && (mode->kind != NODE_SCALAR || strcmp(mode->value, "ro")))
				return node_err(r->c, mode, e,
					"credentials are mounted read-only: expected mode: ro.");
		} else {
			bind = item;
		}
		if (!bind || bind->kind != NODE_SCALAR || bind->value[0] != '/')
			return node_err(r->c, item, e,
				"expected the absolute path that %s gets in the container.",
				item->key);
		f[i].source = field_path(r, item->key);
		f[i].target = arena_strdup(r->mem, bind->value);
	}
	out->files = f;
	out->nfiles = n->kind == NODE_MAP ? n->n : 0;
	return 0;
}

int team_read_credentials(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"mount", FIELD_WORDS, AT(credentials, mount), 0, 0, NULL, NULL},
		{"files", FIELD_NESTED, 0, 0, 0, NULL, read_credential_files},
		{"additional_mounts", FIELD_NESTED, 0, 0, 0, NULL, read_credential_files},
		{"env_vars", FIELD_WORDS, AT(credentials, env), 0, 0, NULL, NULL},
		{"env", FIELD_WORDS, AT(credentials, env), 0, 0, NULL, NULL},
		{"env_vars_from_file", FIELD_WORDS, AT(credentials, from_file), 0, 0, NULL, NULL},
		{"env_file", FIELD_PATH, AT(credentials, env_file), 0, 0, NULL, NULL},
		{0},
	};
	struct credentials *c = at;

	if (n->kind == NODE_MAP && node_get(n, "pass_all_env"))
		return node_err(r->c, node_get(n, "pass_all_env"), e,
			"pass_all_env would hand every secret of this shell to the agent; name the "
			"variables under env_vars: instead.");
	if (field_read(r, n, fields, c, e))
		return -1;
	if (c->from_file.n && !c->env_file)
		return node_err(r->c, n, e,
			"env_vars_from_file: chooses from the variables of a file; name it under "
			"env_file:.");
	for (size_t i = 0; i < c->mount.n; i++) {
		bool known = false;

		for (size_t k = 0; mount_words[k]; k++)
			known |= !strcmp(mount_words[k], c->mount.word[i]);
		if (!known)
			return node_err(r->c, n, e,
				"found \"%s\" under mount:, expected ssh_keys, git_config, gh_config, "
				"npm_config or pypi_config.",
				c->mount.word[i]);
	}
	return 0;
}

/* A directory, or one of berth's own workspaces by its name. */
int team_read_place(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const char *const kinds[][2] = {{"task:", "tasks"}, {"project:", "projects"}};
	struct place_choice *out = at;
	char dir[PATH_MAX];

	if (n->kind != NODE_SCALAR || !*n->value)
		return node_err(r->c, n, e,
			"expected a directory, task:ID or project:NAME (`berth workspace list`).");
	*out = (struct place_choice){.path = field_path(r, n->value)};
	for (size_t i = 0; i < COUNT(kinds); i++) {
		const char *name = n->value + strlen(kinds[i][0]);

		if (strncmp(n->value, kinds[i][0], strlen(kinds[i][0])) != 0)
			continue;
		if (!text_is_plain_name(name, PLACE_NAME_MAX))
			return node_err(r->c, n, e,
				"\"%.80s\" is not a valid workspace: after %s use 1 to %d letters, digits, . "
				"_ or -, and no leading dot.",
				n->value, kinds[i][0], PLACE_NAME_MAX);
		if (workspaces_dir(dir, sizeof dir, e))
			return -1;
		out->path = arena_printf(r->mem, "%s/%s/%s", dir, kinds[i][1], name);
		out->bound = arena_strdup(r->mem, n->value);
	}
	return 0;
}

/* A task sees what others hand over to it, and its version of what all share. */
static void grant_beside_task(const struct reader *r, struct agent_def *a)
{
	static const char *const shared[] = {"templates", "libraries", "datasets", "configs"};
	const char *id = a->bound && !strncmp(a->bound, "task:", 5) ? a->bound + 5 : NULL;
	struct path_grant *all;
	char dir[PATH_MAX];

	if (!id || workspaces_dir(dir, sizeof dir, NULL))
		return;
	all = arena_array(r->mem, a->npaths + 1 + COUNT(shared), sizeof *all);
	if (a->npaths)
		memcpy(all, a->paths, a->npaths * sizeof *all);
	all[a->npaths++] = (struct path_grant){
		.path = arena_printf(r->mem, "%s/shared/inter_task/%s", dir, id),
		.handed = true,
		.at = a->at};
	for (size_t i = 0; i < COUNT(shared); i++)
		all[a->npaths++] = (struct path_grant){
			.path = arena_printf(r->mem, "%s/shared/%s", dir, shared[i]),
			.source = arena_printf(r->mem, "%s/.kept/%s/%s", dir, id, shared[i]),
			.handed = true,
			.at = a->at};
	a->paths = all;
}

/* In the files a mode and a name are one key; in the definitions they are two members. */
struct agent_reading {
	struct agent_def def;
	struct place_choice place;
	struct limits limits;
	struct net_choice network;
	struct packages packages;
	struct grants grants;
	struct terminals_choice terminals;
	int apparmor;
};

const char *const team_apparmor_words[] = {"required", "optional", NULL};

/* As engines name theirs: "runsc", "io.containerd.runc.v2". */
int team_read_runtime(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	const char **out = at;

	if (n->kind != NODE_SCALAR || !text_is_plain_name(n->value, RUNTIME_NAME_MAX))
		return node_err(r->c, n, e,
			"expected the name of a runtime of the engine (`berth doctor` lists them): 1 to %d "
			"letters, digits, . _ or -, and no leading dot.",
			RUNTIME_NAME_MAX);
	*out = arena_strdup(r->mem, n->value);
	return 0;
}

/* Those that it may open by itself: of its own side, for which one of this machine it gets is not its choice. */
static int read_open_ports(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	const struct field words = {"ports", FIELD_WORDS, 0, 0, 0, NULL, NULL};
	struct words *out = at;
	struct port_spec s;

	if (field_one(r, &words, n, out, e))
		return -1;
	if (out->n > PORTS_MAX)
		return node_err(
			r->c, n, e, "found %zu ports, expected at most %d.", out->n, PORTS_MAX);
	for (size_t i = 0; i < out->n; i++)
		if (strchr(out->word[i], ':') || port_parse(out->word[i], &s, NULL))
			return node_err(r->c, n->kind == NODE_LIST ? n->child[i] : n, e,
				"found \"%s\", expected the number of a port, 1 to 65535.",
				out->word[i]);
	return 0;
}

static const struct field agent_fields[] = {
	TEAM_LIMIT_FIELDS(agent_reading),
	{"role", FIELD_TEXT, AT(agent_reading, def.role), 0, 0, NULL, NULL},
	{"image", FIELD_TEXT, AT(agent_reading, def.image), 0, 0, NULL, NULL},
	{"workspace", FIELD_NESTED, AT(agent_reading, place), 0, 0, NULL, team_read_place},
	{"temporary_workspace", FIELD_PATH, AT(agent_reading, def.temporary), 0, 0, NULL, NULL},
	{"timeout", FIELD_INT, AT(agent_reading, limits.timeout_s), 0, 604800, NULL, NULL},
	{"output", FIELD_BYTES, AT(agent_reading, limits.output_bytes), 0, 16 * GIB, NULL, NULL},
	{"network", FIELD_NESTED, AT(agent_reading, network), 0, 0, NULL, team_read_network},
	{"network_rate", FIELD_BYTES, AT(agent_reading, def.net_rate_bytes), 1024, 1024 * GIB, NULL,
		NULL},
	{"sudo", FIELD_BOOL, AT(agent_reading, def.sudo), 0, 0, NULL, NULL},
	{"apparmor", FIELD_CHOICE, AT(agent_reading, apparmor), 0, 0, team_apparmor_words, NULL},
	{"runtime", FIELD_NESTED, AT(agent_reading, def.runtime), 0, 0, NULL, team_read_runtime},
	{"read_before_delete", FIELD_BOOL, AT(agent_reading, def.read_before_delete), 0, 0, NULL,
		NULL},
	{"credentials", FIELD_NESTED, AT(agent_reading, def.credentials), 0, 0, NULL,
		team_read_credentials},
	{"packages", FIELD_NESTED, AT(agent_reading, packages), 0, 0, NULL, team_read_packages},
	{"context_paths", FIELD_NESTED, AT(agent_reading, grants), 0, 0, NULL, team_read_grants},
	{"env", FIELD_NESTED, AT(agent_reading, def.env), 0, 0, NULL, team_read_env},
	{"secrets", FIELD_WORDS, AT(agent_reading, def.secrets), 0, 0, NULL, NULL},
	{"allow", FIELD_WORDS, AT(agent_reading, def.allow), 0, 0, NULL, NULL},
	{"block", FIELD_WORDS, AT(agent_reading, def.block), 0, 0, NULL, NULL},
	{"checkpoints", FIELD_NESTED, AT(agent_reading, def.checkpoints), 0, 0, NULL,
		team_read_checkpoints},
	{"terminal", FIELD_NESTED, AT(agent_reading, terminals), 0, 0, NULL, team_read_terminals},
	{"idle", FIELD_NESTED, AT(agent_reading, def.idle_pause_s), 0, 0, NULL, team_read_idle},
	{"forks", FIELD_INT, AT(agent_reading, def.forks), 0, 100, NULL, NULL},
	{"ports", FIELD_NESTED, AT(agent_reading, def.ports), 0, 0, NULL, read_open_ports},
	{"hand_over", FIELD_WORDS, AT(agent_reading, def.hand_over), 0, 0, NULL, NULL},
	{0},
};

int team_read_agent(
	const struct reader *r, const struct node *n, struct agent_def *out, struct err *e)
{
	struct agent_reading a = {.limits = agent_limits, .def = {.commands = true, .role = ""}};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, agent_fields, &a, e) ||
		team_check_image(r->c, n, a.def.image, e))
		return -1;
	if (!a.place.path)
		return node_err(r->c, n, e,
			"the agent %s needs workspace: with a directory, task:ID or project:NAME.",
			n->key);
	if (a.def.checkpoints.keep && !a.place.bound)
		return node_err(r->c, node_get(n, "checkpoints"), e,
			"checkpoints: of the agent %s: they need a berth workspace; set workspace: task:ID or project:NAME.",
			n->key);
	if (a.def.net_rate_bytes && !a.network.egress.on && a.network.mode != NET_BRIDGE &&
		a.network.mode != NET_INTERNAL)
		return node_err(r->c, n, e, "network_rate of the agent %s: network: %s %s.", n->key,
			net_mode_name((enum net_mode)a.network.mode),
			a.network.mode == NET_HOST ? "is the host's own, which cannot be limited"
						   : "has nothing to limit");
	if (a.def.ports.n && a.network.mode == NET_HOST)
		return node_err(r->c, n, e,
			"ports of the agent %s: with network: host they are already open on the host.",
			n->key);
	*out = a.def;
	out->workspace = a.place.path;
	out->bound = a.place.bound;
	out->id = arena_strdup(r->mem, n->key);
	out->container = arena_printf(r->mem, "berth-%s", n->key);
	out->image = a.def.image ? a.def.image : a.def.sudo ? IMAGE_RUNTIME_SUDO : IMAGE_RUNTIME;
	out->apparmor_optional = a.apparmor == 1;
	out->limits = a.limits;
	out->network = a.network.mode;
	out->net_name = a.network.name;
	out->egress = a.network.egress;
	out->python = a.packages.python;
	out->npm = a.packages.npm;
	out->system = a.packages.system;
	out->nterminals = a.terminals.n;
	out->terminals = a.terminals.terminal;
	out->npaths = a.grants.n;
	out->paths = a.grants.grant;
	out->at = (struct place){n->key_line, n->key_column};
	grant_beside_task(r, out);
	return 0;
}
