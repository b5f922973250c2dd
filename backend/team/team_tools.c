/* team_tools.c - reads a custom tool of a team file. */
#include <string.h>

#include <berth/mem.h>

#include "team/team_forms.h"

const struct limits tool_limits = {.memory_bytes = (uint64_t)512 << 20,
	.cpus = 1,
	.pids = 64,
	.tmp_bytes = (uint64_t)64 << 20,
	.file_bytes = (uint64_t)1 << 30,
	.open_files = 256,
	.timeout_s = 60,
	.output_bytes = (uint64_t)1 << 20};

struct tool_reading {
	struct tool_def def;
	struct place_choice place;
	struct limits limits;
	int type, files, apparmor;
	const char *script, *line; /* line: of command:, for a shell */
	struct net_choice network;
	int64_t pool_size, pool_idle_s;
};

static const char *const type_words[] = {"docker", NULL};
static const char *const files_words[] = {"read-only", "workspace", NULL};

static int read_resources(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {TEAM_LIMIT_FIELDS(tool_reading), {0}};

	return field_read(r, n, fields, at, e);
}

static int read_isolation(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field fields[] = {
		{"network", FIELD_NESTED, AT(tool_reading, network), 0, 0, NULL, team_read_network},
		{"filesystem", FIELD_CHOICE, AT(tool_reading, files), 0, 0, files_words, NULL},
		{"workspace", FIELD_NESTED, AT(tool_reading, place), 0, 0, NULL, team_read_place},
		{"apparmor", FIELD_CHOICE, AT(tool_reading, apparmor), 0, 0, team_apparmor_words,
			NULL},
		{"runtime", FIELD_NESTED, AT(tool_reading, def.runtime), 0, 0, NULL,
			team_read_runtime},
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

/* A list is the program and its arguments, or its name alone; a line is for a shell. */
static int read_tool_command(const struct reader *r, const struct node *n, void *at, struct err *e)
{
	static const struct field words = {"command", FIELD_WORDS, 0, 0, 0, NULL, NULL};
	struct tool_reading *t = at;

	if (n->kind == NODE_SCALAR && strpbrk(n->value, " \t\n;|&<>()$`\"'*?")) {
		t->line = arena_strdup(r->mem, n->value);
		return 0;
	}
	return field_one(r, &words, n, &t->def.command, e);
}

static const struct field tool_fields[] = {
	{"type", FIELD_CHOICE, AT(tool_reading, type), 0, 0, type_words, NULL},
	{"image", FIELD_TEXT, AT(tool_reading, def.image), 0, 0, NULL, NULL},
	{"script", FIELD_TEXT, AT(tool_reading, script), 0, 0, NULL, NULL},
	{"command", FIELD_NESTED, 0, 0, 0, NULL, read_tool_command},
	{"resources", FIELD_NESTED, 0, 0, 0, NULL, read_resources},
	{"isolation", FIELD_NESTED, 0, 0, 0, NULL, read_isolation},
	{"timeout", FIELD_INT, AT(tool_reading, limits.timeout_s), 0, 604800, NULL, NULL},
	{"output", FIELD_BYTES, AT(tool_reading, limits.output_bytes), 0, 16 * GIB, NULL, NULL},
	{"env", FIELD_NESTED, AT(tool_reading, def.env), 0, 0, NULL, team_read_env},
	{"secrets", FIELD_WORDS, AT(tool_reading, def.secrets), 0, 0, NULL, NULL},
	{"agents", FIELD_WORDS, AT(tool_reading, def.agents), 0, 0, NULL, NULL},
	{"pool", FIELD_NESTED, 0, 0, 0, NULL, read_pool},
	{0},
};

int team_read_tool(
	const struct reader *r, const struct node *n, struct tool_def *out, struct err *e)
{
	struct tool_reading t = {.limits = tool_limits, .pool_idle_s = 300};
	static const char *const shell[] = {"/bin/sh", "-c"};
	const char **argv;

	if (team_check_id(r->c, n, n->key, e) || field_read(r, n, tool_fields, &t, e) ||
		team_check_image(r->c, n, t.def.image, e))
		return -1;
	if (!t.def.image)
		return node_err(r->c, n, e, "the tool %s needs image:.", n->key);
	if (t.network.egress.on)
		return node_err(r->c, n, e,
			"the tool %s: network: allow: is for agents; a tool has none, bridge, host or "
			"internal.",
			n->key);
	if (!!t.script + !!t.line + !!t.def.command.n != 1)
		return node_err(
			r->c, n, e, "the tool %s needs either script: or command:.", n->key);
	*out = t.def;
	out->workspace = t.place.path;
	if (t.script && team_is_script_file(t.script)) {
		if (team_read_script(r, n, t.script, out, e))
			return -1;
	} else if (t.script || t.line) {
		/* The words after the tool's own name become its positional parameters. */
		argv = arena_array(r->mem, 4, sizeof *argv);
		memcpy(argv, shell, sizeof shell);
		argv[2] = t.script ? t.script : t.line;
		argv[3] = arena_strdup(r->mem, n->key);
		out->command = (struct words){4, argv};
	}
	out->name = arena_strdup(r->mem, n->key);
	out->apparmor_optional = t.apparmor == 1;
	out->limits = t.limits;
	out->network = t.network.mode;
	out->net_name = t.network.name;
	out->files = (enum tool_files)t.files;
	out->pool_size = (int)t.pool_size;
	out->pool_idle_s = (int)t.pool_idle_s;
	out->at = (struct place){n->key_line, n->key_column};
	return 0;
}
