/* settings.c - berth.yaml read into struct settings by one table. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/check.h>
#include <berth/mem.h>

#include "config/node.h"

static const char *const ascii_words[] = {"auto", "yes", "no", NULL};

static const char *const unavailable_words[] = {"refuse", "warn", NULL};

#define AT(field) offsetof(struct settings, field)

const struct setting setting_table[] = {
	{"theme", SETTING_TEXT, AT(theme), 0, 0, NULL,
		"Colours: auto, the name of a shipped theme, or the path of a theme file."},
	{"ascii", SETTING_CHOICE, AT(ascii), 0, 0, ascii_words,
		"Draw with ASCII only: auto (by the locale), yes or no."},
	{"mouse", SETTING_BOOL, AT(mouse), 0, 0, NULL,
		"Use the mouse; when off, the terminal selects text as usual."},
	{"read_only", SETTING_BOOL, AT(read_only), 0, 0, NULL,
		"Look at everything, change nothing."},
	{"hz", SETTING_NUMBER, AT(hz), 0.1, 10, NULL, "Samples of statistics per second."},
	{"groups", SETTING_BOOL, AT(groups), 0, 0, NULL,
		"Group containers by agent and compose project."},
	{"stopped", SETTING_BOOL, AT(stopped), 0, 0, NULL, "List stopped containers, too."},
	{"sort", SETTING_TEXT, AT(sort), 0, 0, NULL,
		"Column to sort containers by; a minus sign before it inverts the order."},
	{"columns", SETTING_LIST, AT(columns), 0, 0, NULL,
		"Columns of the container table; an empty list shows the usual ones."},
	{"logs.buffer", SETTING_BYTES, AT(log_buffer_bytes), 64 << 10, 1 << 30, NULL,
		"Memory for the lines of a logs view; older lines are dropped."},
	{"logs.tail", SETTING_INT, AT(log_tail), 0, 1000000, NULL,
		"Lines of history read when logs are opened, for all containers together."},
	{"confirm_threshold", SETTING_INT, AT(confirm_threshold), 1, 1000000, NULL,
		"Number of items from which a dialog asks for their number to be typed."},
	{"protected.names", SETTING_LIST, AT(protected_names), 0, 0, NULL,
		"Containers, networks and volumes that are never removed: patterns of names."},
	{"protected.labels", SETTING_LIST, AT(protected_labels), 0, 0, NULL,
		"Never removed: patterns of KEY or KEY=VALUE of labels."},
	{"protected.images", SETTING_LIST, AT(protected_images), 0, 0, NULL,
		"Images that are never removed: patterns of references."},
	{"hosts", SETTING_HOSTS, AT(nhosts), 0, 0, NULL,
		"Rules for single engines, on top of what holds everywhere: a list of maps."},
	{"audit.unavailable", SETTING_CHOICE, AT(audit_unavailable), 0, 0, unavailable_words,
		"When nothing can be recorded: refuse, or warn (act, and count what was done)."},
	{"audit.keep_days", SETTING_INT, AT(audit_keep_days), 0, 36500, NULL,
		"Days after which parts of the audit log are removed; 0: never."},
	{"audit.keep_bytes", SETTING_BYTES, AT(audit_keep_bytes), 0, 1e15, NULL,
		"Size of the audit log above which its oldest parts are removed; 0: never."},
	{"journal.commands", SETTING_INT, AT(journal_commands), 0, 4096, NULL,
		"Commands that the journal of an agent keeps with their output; 0: no journal."},
	{"journal.output", SETTING_BYTES, AT(journal_bytes), 4 << 10, 64 << 20, NULL,
		"Output that the journal keeps of each command: its end."},
	{"files.io_depth", SETTING_INT, AT(files_io_depth), 0, 64, NULL,
		"Requests at once while files wait for a disk; 0: measured once per disk."},
	{"files.io_uring", SETTING_CHOICE, AT(files_io_uring), 0, 0, ascii_words,
		"Use io_uring for these: auto (where it measured faster), yes or no."},
	{"keys", SETTING_KEYS, AT(keys), 0, 0, NULL,
		"Keys of actions, as ACTION: \"KEY KEY\"; an empty text takes the keys away."},
	{0},
};

#undef AT
#define AT(field) offsetof(struct host_rule, field)

const struct setting setting_host_table[] = {
	{"host", SETTING_TEXT, AT(host), 0, 0, NULL,
		"Pattern of the engine's endpoint or name; needed."},
	{"read_only", SETTING_BOOL, AT(read_only), 0, 0, NULL, "Change nothing on that engine."},
	{"protected.names", SETTING_LIST, AT(protected_names), 0, 0, NULL,
		"As protected.names, there."},
	{"protected.labels", SETTING_LIST, AT(protected_labels), 0, 0, NULL,
		"As protected.labels, there."},
	{"protected.images", SETTING_LIST, AT(protected_images), 0, 0, NULL,
		"As protected.images, there."},
	{0},
};
#undef AT

/* Lists and texts go into the settings' own arena: the file's tree may go. */
static int read_text_list(struct settings *s, const struct config *c, const struct node *n,
	struct text_list *out, struct err *e)
{
	const char **item;

	if (n->kind != NODE_LIST)
		return node_err(c, n, e, "found %s, expected a list such as [a, b].",
			n->kind == NODE_MAP ? "keys with values" : "a single value");
	item = arena_array(&s->mem, n->n, sizeof *item);
	for (size_t i = 0; i < n->n; i++) {
		if (n->child[i]->kind != NODE_SCALAR || !*n->child[i]->value)
			return node_err(c, n->child[i], e, "found %s, expected a word.",
				n->child[i]->kind == NODE_SCALAR ? "nothing" : "a list or keys");
		item[i] = arena_strdup(&s->mem, n->child[i]->value);
	}
	out->n = n->n;
	out->item = item;
	return 0;
}

static int read_keys(
	const struct config *c, const struct node *n, const struct node **out, struct err *e)
{
	if (n->kind != NODE_MAP && (n->kind == NODE_LIST || *n->value))
		return node_err(c, n, e, "found no map, expected lines of ACTION: \"KEY KEY\".");
	*out = n->kind == NODE_MAP ? n : NULL;
	return 0;
}

static int read_byte_setting(const struct setting *t, const struct config *c, const struct node *n,
	uint64_t *out, struct err *e)
{
	uint64_t v;

	if (node_bytes(c, n, &v, e) < 0)
		return -1;
	if (v < (uint64_t)t->min || v > (uint64_t)t->max)
		return node_err(c, n, e, "found \"%s\", expected an amount from %lldk to %lldm.",
			n->value, (long long)t->min >> 10, (long long)t->max >> 20);
	*out = v;
	return 0;
}

static int read_map(struct settings *s, const struct setting *table, void *base,
	const struct config *c, const struct node *map, const char *section, struct err *e);

static int read_hosts(
	struct settings *s, const struct config *c, const struct node *n, struct err *e)
{
	struct host_rule *rules;

	/* `hosts:` with every rule under it commented out. */
	if (n->kind == NODE_MAP || (n->kind == NODE_SCALAR && *n->value))
		return node_err(c, n, e,
			"found %s, expected a list of rules such as - host: \"tcp://prod*\".",
			n->kind == NODE_MAP ? "keys with values" : "a single value");
	rules = arena_array(&s->mem, n->n + 1, sizeof *rules);
	for (size_t i = 0; i < n->n; i++) {
		const struct node *rule = n->child[i];

		rules[i] = (struct host_rule){0};
		if (rule->kind != NODE_MAP)
			return node_err(c, rule, e,
				"found %s, expected a rule such as host: \"tcp://prod*\".",
				rule->kind == NODE_LIST ? "a list" : "a single value");
		if (read_map(s, setting_host_table, &rules[i], c, rule, "", e) < 0)
			return -1;
		if (!rules[i].host)
			return node_err(c, rule, e,
				"a rule without \"host\", expected the pattern of an endpoint or an "
				"engine's name.");
	}
	s->nhosts = n->n;
	s->hosts = rules;
	return 0;
}

static int read_setting(struct settings *s, const struct setting *t, void *base,
	const struct config *c, const struct node *n, struct err *e)
{
	void *at = (char *)base + t->offset;

	switch (t->type) {
	case SETTING_TEXT:
		if (n->kind != NODE_SCALAR || !*n->value)
			return node_err(c, n, e, "found %s, expected a word.",
				n->kind == NODE_SCALAR ? "nothing" : "a list or keys");
		*(const char **)at = arena_strdup(&s->mem, n->value);
		return 0;
	case SETTING_BOOL: return node_bool(c, n, at, e);
	case SETTING_INT: return node_int(c, n, (int64_t)t->min, (int64_t)t->max, at, e);
	case SETTING_NUMBER: return node_double(c, n, t->min, t->max, at, e);
	case SETTING_BYTES: return read_byte_setting(t, c, n, at, e);
	case SETTING_CHOICE: return node_choice(c, n, t->words, at, e);
	case SETTING_LIST: return read_text_list(s, c, n, at, e);
	case SETTING_KEYS: return read_keys(c, n, at, e);
	case SETTING_HOSTS: return read_hosts(s, c, n, e);
	}
	return 0;
}

/* The names below `section` ("" for the top), each once: what may stand in that map. */
#define NAMES_MAX 32
static void names_in(const struct setting *table, const char *section, const char *names[NAMES_MAX],
	char mem[NAMES_MAX][32])
{
	size_t len = strlen(section), n = 0;

	for (const struct setting *t = table; t->name; t++) {
		const char *name, *dot;
		size_t size;

		if (strncmp(t->name, section, len) != 0)
			continue;
		name = t->name + len;
		dot = strchr(name, '.');
		size = dot ? (size_t)(dot - name) : strlen(name);
		if (n && !strncmp(names[n - 1], name, size) && !names[n - 1][size])
			continue;
		CHECK(n + 1 < NAMES_MAX && size < 32);
		memcpy(mem[n], name, size);
		mem[n][size] = '\0';
		names[n] = mem[n];
		n++;
	}
	names[n] = NULL;
}

/* `base` is what the table's offsets are in. */
static int read_map(struct settings *s, const struct setting *table, void *base,
	const struct config *c, const struct node *map, const char *section, struct err *e)
{
	const char *names[NAMES_MAX];
	char mem[NAMES_MAX][32];
	const struct setting *t;

	names_in(table, section, names, mem);
	if (node_unknown(c, map, names, e) < 0)
		return -1;
	for (size_t i = 0; i < map->n; i++) {
		const struct node *n = map->child[i];
		char path[96];

		snprintf(path, sizeof path, "%s%s", section, n->key);
		for (t = table; t->name && strcmp(t->name, path) != 0; t++)
			;
		if (t->name) {
			if (read_setting(s, t, base, c, n, e) < 0)
				return -1;
			continue;
		}
		snprintf(path, sizeof path, "%s%s.", section, n->key);
		if (n->kind == NODE_SCALAR && !*n->value)
			continue;
		if (n->kind != NODE_MAP)
			return node_err(
				c, n, e, "found no map, expected the settings of \"%s\".", n->key);
		if (read_map(s, table, base, c, n, path, e) < 0)
			return -1;
	}
	return 0;
}

static void read_defaults(struct settings *s)
{
	struct config shipped;
	const char *text;
	struct err bug = ERR_INIT;
	size_t len;
	int rc;

	text = embedded_file(SETTINGS_DEFAULTS, &len);
	CHECK(text && config_parse(SETTINGS_DEFAULTS, text, len, &shipped, &bug) == 0);
	rc = read_map(s, setting_table, s, &shipped, shipped.root, "", &bug);
	CHECK(rc == 0);
	s->keys = NULL; /* the shipped file takes the keys of the action list */
	config_release(&shipped);
}

/* Takes *c on success. */
static int apply_config(struct settings *s, struct config *c, struct err *e)
{
	if (c && read_map(s, setting_table, s, c, c->root, "", e) < 0) {
		settings_release(s);
		return -1;
	}
	if (c) {
		s->source = *c;
		*c = (struct config){0};
	}
	return 0;
}

int settings_from(struct config *c, struct settings *ret, struct err *e)
{
	*ret = (struct settings){0};
	arena_init(&ret->mem, 2048);
	read_defaults(ret);
	return apply_config(ret, c, e);
}

int settings_path(char *buf, size_t cap, struct err *e)
{
	size_t len;

	if (config_dir(buf, cap, e) < 0)
		return -1;
	len = strlen(buf);
	if (len + sizeof "/berth.yaml" > cap)
		return err_set(e, ERR_CONFIG, "The path %s/berth.yaml is too long.", buf);
	strcpy(buf + len, "/berth.yaml");
	return 0;
}

static int load_settings(const char *file, struct settings *s, struct err *e)
{
	char path[PATH_MAX];
	struct config c;
	int rc;

	if (!file) {
		/* Without a home directory there are no settings either; that is no error. */
		if (settings_path(path, sizeof path, NULL) < 0)
			return 0;
		if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
			return 0;
		file = path;
	}
	if (config_read(file, &c, e) < 0) {
		settings_release(s);
		return -1;
	}
	rc = apply_config(s, &c, e);
	if (rc < 0)
		config_release(&c);
	return rc;
}

int settings_load(const char *file, struct settings *ret, struct err *e)
{
	*ret = (struct settings){0};
	arena_init(&ret->mem, 2048);
	read_defaults(ret);
	return load_settings(file, ret, e);
}

int settings_load_bare(const char *file, struct settings *ret, struct err *e)
{
	*ret = (struct settings){0};
	arena_init(&ret->mem, 2048);
	return load_settings(file, ret, e);
}

void settings_release(struct settings *s)
{
	if (!s)
		return;
	config_release(&s->source);
	arena_release(&s->mem);
}
