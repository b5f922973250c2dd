/* team.c - berth's own team file, and what both forms share. */
#include <berth/team.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "agents/team_forms.h"

#define MIB ((double)(1 << 20))
#define GIB ((double)(1 << 30))
#define AT(type, member) offsetof(struct type, member)

static const char *const net_words[] = {"none", "bridge", "host", "internal", NULL};

const char *net_mode_name(enum net_mode m)
{
	return net_words[m];
}

const struct limits agent_limits = {.memory_bytes = (uint64_t)2 << 30,
	.cpus = 2,
	.pids = 256,
	.tmp_bytes = (uint64_t)256 << 20,
	.file_bytes = (uint64_t)4 << 30,
	.open_files = 1024,
	.timeout_s = 0,
	.output_bytes = (uint64_t)1 << 20};

const struct limits tool_limits = {.memory_bytes = (uint64_t)512 << 20,
	.cpus = 1,
	.pids = 64,
	.tmp_bytes = (uint64_t)64 << 20,
	.file_bytes = (uint64_t)1 << 30,
	.open_files = 256,
	.timeout_s = 60,
	.output_bytes = (uint64_t)1 << 20};

/* none | bridge | host | internal: NAME */
static int read_network(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct net_choice *out = at;
	int mode;

	if (n->kind == NODE_MAP && n->n == 1 && !strcmp(n->child[0]->key, "internal") &&
		n->child[0]->kind == NODE_SCALAR && *n->child[0]->value) {
		out->mode = NET_INTERNAL;
		out->name = arena_strdup(r->mem, n->child[0]->value);
		return 0;
	}
	if (n->kind != NODE_SCALAR || !strcmp(n->value, "internal"))
		return node_err(r->c, n, e,
			"expected none, bridge, host, or internal: NAME with a name from networks:.");
	if (node_choice(r->c, n, net_words, &mode, e))
		return -1;
	out->mode = (enum net_mode)mode;
	return 0;
}

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
	*out = (struct path_grant){
		g.path, g.permission == 1, {g.protected_paths.n, below}, {n->line, n->column}};
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
		if (read_grant(r, n->child[i], &out->grant[i], e))
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

static int read_files(const struct reader *r, const struct node *n, void *at, struct err *e)
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
		{"files", FIELD_NESTED, 0, 0, 0, NULL, read_files},
		{"additional_mounts", FIELD_NESTED, 0, 0, 0, NULL, read_files},
		{"env_vars", FIELD_WORDS, AT(credentials, env), 0, 0, NULL, NULL},
		{"env", FIELD_WORDS, AT(credentials, env), 0, 0, NULL, NULL},
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

static int read_env(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	struct words *out = at;
	const char **word;

	if (field_expect_map(r, n, e))
		return -1;
	word = arena_array(r->mem, n->n, sizeof *word);
	for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++) {
		const struct node *v = n->child[i];

		if (v->kind != NODE_SCALAR)
			return node_err(
				r->c, v, e, "expected the value of the variable %s.", v->key);
		if (!*v->key || strchr(v->key, '='))
			return node_err(r->c, v, e, "\"%s\" cannot name a variable.", v->key);
		word[i] = arena_printf(r->mem, "%s=%s", v->key, v->value);
	}
	*out = (struct words){n->kind == NODE_MAP ? n->n : 0, word};
	return 0;
}

#define LIMIT_FIELDS(type)                                                                       \
	{"memory", FIELD_BYTES, AT(type, limits.memory_bytes), 6 * MIB, 1024 * GIB, NULL, NULL}, \
		{"cpu", FIELD_NUMBER, AT(type, limits.cpus), 0.01, 1024, NULL, NULL},            \
		{"cpus", FIELD_NUMBER, AT(type, limits.cpus), 0.01, 1024, NULL, NULL},           \
		{"pids", FIELD_INT, AT(type, limits.pids), 8, 4194304, NULL, NULL},              \
		{"tmp", FIELD_BYTES, AT(type, limits.tmp_bytes), MIB, 64 * GIB, NULL, NULL},     \
		{"file_size", FIELD_BYTES, AT(type, limits.file_bytes), MIB, 16384 * GIB, NULL,  \
			NULL},                                                                   \
	{                                                                                        \
		"open_files", FIELD_INT, AT(type, limits.open_files), 16, 1048576, NULL, NULL    \
	}

/* In the files a mode and a name are one key; in the definitions they are two members. */
struct agent_reading {
	struct agent_def def;
	struct limits limits;
	struct net_choice network;
	struct packages packages;
	struct grants grants;
};

static const struct field agent_fields[] = {
	LIMIT_FIELDS(agent_reading),
	{"role", FIELD_TEXT, AT(agent_reading, def.role), 0, 0, NULL, NULL},
	{"image", FIELD_TEXT, AT(agent_reading, def.image), 0, 0, NULL, NULL},
	{"workspace", FIELD_PATH, AT(agent_reading, def.workspace), 0, 0, NULL, NULL},
	{"temporary_workspace", FIELD_PATH, AT(agent_reading, def.temporary), 0, 0, NULL, NULL},
	{"timeout", FIELD_INT, AT(agent_reading, limits.timeout_s), 0, 604800, NULL, NULL},
	{"output", FIELD_BYTES, AT(agent_reading, limits.output_bytes), 0, 16 * GIB, NULL, NULL},
	{"network", FIELD_NESTED, AT(agent_reading, network), 0, 0, NULL, read_network},
	{"network_rate", FIELD_BYTES, AT(agent_reading, def.net_rate_bytes), 1024, 1024 * GIB, NULL,
		NULL},
	{"sudo", FIELD_BOOL, AT(agent_reading, def.sudo), 0, 0, NULL, NULL},
	{"read_before_delete", FIELD_BOOL, AT(agent_reading, def.read_before_delete), 0, 0, NULL,
		NULL},
	{"credentials", FIELD_NESTED, AT(agent_reading, def.credentials), 0, 0, NULL,
		team_read_credentials},
	{"packages", FIELD_NESTED, AT(agent_reading, packages), 0, 0, NULL, team_read_packages},
	{"context_paths", FIELD_NESTED, AT(agent_reading, grants), 0, 0, NULL, team_read_grants},
	{"env", FIELD_NESTED, AT(agent_reading, def.env), 0, 0, NULL, read_env},
	{"secrets", FIELD_WORDS, AT(agent_reading, def.secrets), 0, 0, NULL, NULL},
	{"allow", FIELD_WORDS, AT(agent_reading, def.allow), 0, 0, NULL, NULL},
	{"block", FIELD_WORDS, AT(agent_reading, def.block), 0, 0, NULL, NULL},
	{0},
};

int team_check_id(const struct config *c, const struct node *n, const char *id, struct err *e)
{
	if (!*id || strlen(id) > 48 ||
		!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", *id) ||
		strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") !=
			strlen(id))
		return node_err(c, n, e,
			"\"%.60s\" cannot be a name here: letters, digits, _ . and -, a letter or "
			"digit first, at most 48.",
			id);
	return 0;
}

static int read_agent(
	const struct reader *r, const struct node *n, struct agent_def *out, struct err *e)
{
	struct agent_reading a = {.limits = agent_limits, .def = {.commands = true, .role = ""}};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, agent_fields, &a, e))
		return -1;
	if (!a.def.workspace)
		return node_err(
			r->c, n, e, "the agent %s needs workspace: with a directory.", n->key);
	*out = a.def;
	out->id = arena_strdup(r->mem, n->key);
	out->container = arena_printf(r->mem, "berth-%s", n->key);
	out->image = a.def.image ? a.def.image : a.def.sudo ? IMAGE_RUNTIME_SUDO : IMAGE_RUNTIME;
	out->limits = a.limits;
	out->network = a.network.mode;
	out->net_name = a.network.name;
	out->python = a.packages.python;
	out->npm = a.packages.npm;
	out->system = a.packages.system;
	out->npaths = a.grants.n;
	out->paths = a.grants.grant;
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

struct tool_reading {
	struct tool_def def;
	struct limits limits;
	int type, files;
	const char *script;
	struct net_choice network;
	int64_t pool_size, pool_idle_s;
};

static const char *const type_words[] = {"docker", NULL};
static const char *const files_words[] = {"read-only", "workspace", NULL};

static int read_resources(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {LIMIT_FIELDS(tool_reading), {0}};

	return field_read(r, n, fields, at, e);
}

static int read_isolation(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"network", FIELD_NESTED, AT(tool_reading, network), 0, 0, NULL, read_network},
		{"filesystem", FIELD_CHOICE, AT(tool_reading, files), 0, 0, files_words, NULL},
		{"workspace", FIELD_PATH, AT(tool_reading, def.workspace), 0, 0, NULL, NULL},
		{0},
	};

	return field_read(r, n, fields, at, e);
}

static int read_pool(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"size", FIELD_INT, AT(tool_reading, pool_size), 0, 64, NULL, NULL},
		{"idle", FIELD_INT, AT(tool_reading, pool_idle_s), 1, 86400, NULL, NULL},
		{0},
	};

	return field_read(r, n, fields, at, e);
}

static const struct field tool_fields[] = {
	{"type", FIELD_CHOICE, AT(tool_reading, type), 0, 0, type_words, NULL},
	{"image", FIELD_TEXT, AT(tool_reading, def.image), 0, 0, NULL, NULL},
	{"script", FIELD_TEXT, AT(tool_reading, script), 0, 0, NULL, NULL},
	{"command", FIELD_WORDS, AT(tool_reading, def.command), 0, 0, NULL, NULL},
	{"resources", FIELD_NESTED, 0, 0, 0, NULL, read_resources},
	{"isolation", FIELD_NESTED, 0, 0, 0, NULL, read_isolation},
	{"timeout", FIELD_INT, AT(tool_reading, limits.timeout_s), 0, 604800, NULL, NULL},
	{"output", FIELD_BYTES, AT(tool_reading, limits.output_bytes), 0, 16 * GIB, NULL, NULL},
	{"env", FIELD_NESTED, AT(tool_reading, def.env), 0, 0, NULL, read_env},
	{"secrets", FIELD_WORDS, AT(tool_reading, def.secrets), 0, 0, NULL, NULL},
	{"pool", FIELD_NESTED, 0, 0, 0, NULL, read_pool},
	{0},
};

static int read_tool(
	const struct reader *r, const struct node *n, struct tool_def *out, struct err *e)
{
	struct tool_reading t = {.limits = tool_limits, .pool_idle_s = 300};
	static const char *const shell[] = {"/bin/sh", "-c"};
	const char **argv;

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, tool_fields, &t, e))
		return -1;
	if (!t.def.image)
		return node_err(r->c, n, e, "the tool %s needs image:.", n->key);
	if (!t.script == !t.def.command.n)
		return node_err(
			r->c, n, e, "the tool %s needs either script: or command:.", n->key);
	*out = t.def;
	if (t.script) {
		/* The words after the script's own name become its positional parameters. */
		argv = arena_array(r->mem, 4, sizeof *argv);
		memcpy(argv, shell, sizeof shell);
		argv[2] = t.script;
		argv[3] = arena_strdup(r->mem, n->key);
		out->command = (struct words){4, argv};
	}
	out->name = arena_strdup(r->mem, n->key);
	out->limits = t.limits;
	out->network = t.network.mode;
	out->net_name = t.network.name;
	out->files = (enum tool_files)t.files;
	out->pool_size = (int)t.pool_size;
	out->pool_idle_s = (int)t.pool_idle_s;
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

static int read_network_def(
	const struct reader *r, const struct node *n, struct network_def *out, struct err *e)
{
	static const struct field fields[] = {
		{"members", FIELD_WORDS, AT(network_def, members), 0, 0, NULL, NULL},
		{0},
	};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, fields, out, e))
		return -1;
	out->name = arena_strdup(r->mem, n->key);
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

static int read_secret(
	const struct reader *r, const struct node *n, struct secret_def *out, struct err *e)
{
	struct secret {
		const char *env, *file;
		struct words command;
	} s = {0};
	static const struct field fields[] = {
		{"env", FIELD_TEXT, AT(secret, env), 0, 0, NULL, NULL},
		{"file", FIELD_PATH, AT(secret, file), 0, 0, NULL, NULL},
		{"command", FIELD_WORDS, AT(secret, command), 0, 0, NULL, NULL},
		{0},
	};

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, fields, &s, e))
		return -1;
	if (!!s.env + !!s.file + !!s.command.n != 1)
		return node_err(r->c, n, e,
			"the secret %s needs one of env:, file: or command:; its value never stands in "
			"a file of berth's.",
			n->key);
	out->name = arena_strdup(r->mem, n->key);
	out->from = s.env ? SECRET_ENV : s.file ? SECRET_FILE : SECRET_COMMAND;
	out->source = s.env ? s.env : s.file;
	out->command = s.command;
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}

/* A map of name -> definition becomes an array of definitions. */
#define READ_ALL(name, type, one)                                                              \
	static int name(const struct reader *r, const struct node *n, void *at, struct err *e) \
	{                                                                                      \
		struct many *out = at;                                                         \
		struct type *def;                                                              \
                                                                                               \
		if (field_expect_map(r, n, e))                                                 \
			return -1;                                                             \
		def = arena_array(r->mem, n->n, sizeof *def);                                  \
		for (size_t i = 0; n->kind == NODE_MAP && i < n->n; i++)                       \
			if (one(r, n->child[i], &def[i], e))                                   \
				return -1;                                                     \
		*out = (struct many){n->kind == NODE_MAP ? n->n : 0, def};                     \
		return 0;                                                                      \
	}

struct many {
	size_t n;
	void *def;
};
READ_ALL(read_agents, agent_def, read_agent)
READ_ALL(read_tools, tool_def, read_tool)
READ_ALL(read_networks, network_def, read_network_def)
READ_ALL(read_secrets, secret_def, read_secret)

struct team_reading {
	struct many agents, tools, networks, secrets;
	struct words protected_names, protected_labels, protected_images;
};

static int read_policy(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"protected_names", FIELD_WORDS, AT(team_reading, protected_names), 0, 0, NULL,
			NULL},
		{"protected_labels", FIELD_WORDS, AT(team_reading, protected_labels), 0, 0, NULL,
			NULL},
		{"protected_images", FIELD_WORDS, AT(team_reading, protected_images), 0, 0, NULL,
			NULL},
		{0},
	};

	return field_read(r, n, fields, at, e);
}

static const struct field team_fields[] = {
	{"agents", FIELD_NESTED, AT(team_reading, agents), 0, 0, NULL, read_agents},
	{"custom_tools", FIELD_NESTED, AT(team_reading, tools), 0, 0, NULL, read_tools},
	{"networks", FIELD_NESTED, AT(team_reading, networks), 0, 0, NULL, read_networks},
	{"secrets", FIELD_NESTED, AT(team_reading, secrets), 0, 0, NULL, read_secrets},
	{"policy", FIELD_NESTED, 0, 0, 0, NULL, read_policy},
	{0},
};

static int complain(const struct team *t, struct place at, struct err *e, const char *sentence)
{
	return err_set(e, ERR_CONFIG, "%s:%d:%d: %s", t->file, at.line, at.column, sentence);
}

/* Names that must exist elsewhere in the file. */
static int check_references(const struct team *t, struct err *e)
{
	char text[256];

	for (size_t i = 0; i < t->nagents + t->ntools; i++) {
		const struct agent_def *a = i < t->nagents ? &t->agents[i] : NULL;
		const struct tool_def *tool = a ? NULL : &t->tools[i - t->nagents];
		const struct words *secrets = a ? &a->secrets : &tool->secrets;
		const char *net = a ? a->net_name : tool->net_name;
		struct place at = a ? a->at : tool->at;
		bool found = !net;

		for (size_t k = 0; net && k < t->nnetworks; k++)
			found |= !strcmp(t->networks[k].name, net);
		if (!found) {
			snprintf(text, sizeof text,
				"the network %.64s is not declared under networks:.", net);
			return complain(t, at, e, text);
		}
		for (size_t k = 0; k < secrets->n; k++) {
			found = false;
			for (size_t j = 0; j < t->nsecrets; j++)
				found |= !strcmp(t->secrets[j].name, secrets->word[k]);
			if (!found) {
				snprintf(text, sizeof text,
					"the secret %.64s is not declared under secrets:.",
					secrets->word[k]);
				return complain(t, at, e, text);
			}
		}
	}
	for (size_t i = 0; i < t->nnetworks; i++)
		for (size_t k = 0; k < t->networks[i].members.n; k++)
			if (!team_agent(t, t->networks[i].members.word[k])) {
				snprintf(text, sizeof text,
					"the member %.64s of the network is no agent of this file.",
					t->networks[i].members.word[k]);
				return complain(t, t->networks[i].at, e, text);
			}
	return 0;
}

static int read_berth(const struct config *c, struct team *t, struct err *e)
{
	struct reader r = {c, &t->mem, t->base, NULL};
	struct team_reading all = {0};

	if (field_read(&r, c->root, team_fields, &all, e))
		return -1;
	t->kind = TEAM_BERTH;
	t->nagents = all.agents.n;
	t->agents = all.agents.def;
	t->ntools = all.tools.n;
	t->tools = all.tools.def;
	t->nnetworks = all.networks.n;
	t->networks = all.networks.def;
	t->nsecrets = all.secrets.n;
	t->secrets = all.secrets.def;
	t->protected_names = all.protected_names;
	t->protected_labels = all.protected_labels;
	t->protected_images = all.protected_images;
	return 0;
}

/* MassGen has `agent:`, or `agents:` as a list. */
static bool is_massgen(const struct config *c)
{
	const struct node *agents = node_get(c->root, "agents");

	return node_get(c->root, "agent") || node_get(c->root, "orchestrator") ||
		(agents && agents->kind == NODE_LIST);
}

static int from_tree(
	const struct config *c, const char *base, const char *cwd, struct team *t, struct err *e)
{
	bool massgen = is_massgen(c);

	t->file = arena_strdup(&t->mem, c->file);
	t->base = arena_strdup(&t->mem, massgen ? cwd : base);
	if (massgen ? massgen_read(c, t, e) : read_berth(c, t, e))
		return -1;
	if (!t->nagents && !t->ntools)
		return err_set(e, ERR_CONFIG,
			"%s: neither agents: nor custom_tools: says what to run.", t->file);
	return check_references(t, e);
}

int team_parse(const char *name, const char *text, size_t n, const char *base, struct team *ret,
	struct err *e)
{
	struct config c;
	int result;

	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	if (config_parse(name, text, n, &c, e))
		return -1;
	result = from_tree(&c, base, base, ret, e);
	config_release(&c);
	if (result)
		team_release(ret);
	return result;
}

static int check_owner(const char *file, struct err *e)
{
	struct stat st;

	if (stat(file, &st))
		return err_set(
			e, ERR_CONFIG, "%s cannot be read: %s.", file, strerrordesc_np(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, ERR_CONFIG,
			"%s belongs to another user (%u); a team file names host paths and commands, "
			"so it must be yours or root's.",
			file, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return err_set(e, ERR_CONFIG,
			"%s can be written by others (mode %04o); take that away with `chmod go-w %s`.",
			file, (unsigned)st.st_mode & 07777, file);
	return 0;
}

int team_read(const char *file, const char *cwd, struct team *ret, struct err *e)
{
	AUTO_FREE char *real = NULL;
	struct config c;
	char *slash;
	int result;

	if (check_owner(file, e) || config_read(file, &c, e))
		return -1;
	real = realpath(file, NULL);
	if (!real) {
		err_set(e, ERR_CONFIG, "%s cannot be read: %s.", file, strerrordesc_np(errno));
		config_release(&c);
		return -1;
	}
	slash = strrchr(real, '/');
	slash[slash == real] = '\0';
	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	result = from_tree(&c, real, cwd, ret, e);
	config_release(&c);
	if (result)
		team_release(ret);
	return result;
}

void team_release(struct team *t)
{
	arena_release(&t->mem);
	memset(t, 0, sizeof *t);
}

const struct agent_def *team_agent(const struct team *t, const char *id)
{
	for (size_t i = 0; i < t->nagents; i++)
		if (!strcmp(t->agents[i].id, id))
			return &t->agents[i];
	return NULL;
}

const struct tool_def *team_tool(const struct team *t, const char *name)
{
	for (size_t i = 0; i < t->ntools; i++)
		if (!strcmp(t->tools[i].name, name))
			return &t->tools[i];
	return NULL;
}
