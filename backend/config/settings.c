/* settings.c - reads berth.yaml into struct settings by one table. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/hosts.h>
#include <berth/runtime.h>
#include <berth/settings.h>
#include <berth/where.h>
#include <berth/check.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "config/node.h"

static const char *const ascii_words[] = {"auto", "yes", "no", NULL};

static const char *const chart_words[] = {"auto", "braille", "blocks", NULL};

static const char *const breach_words[] = {"freeze", "warn", "kill", "refuse", NULL};

static const char *const unavailable_words[] = {"refuse", "warn", NULL};

#define AT(field) offsetof(struct settings, field)

const struct setting setting_table[] = {
	{"theme", SETTING_TEXT, AT(theme), 0, 0, NULL,
		"Colours: auto, the name of a shipped theme, or the path of a theme file."},
	{"ascii", SETTING_CHOICE, AT(ascii), 0, 0, ascii_words,
		"Draw with ASCII only: auto (by the locale), yes or no."},
	{"charts", SETTING_CHOICE, AT(charts), 0, 0, chart_words,
		"Draw charts in braille or in blocks: auto (by the terminal), braille or blocks."},
	{"mouse", SETTING_BOOL, AT(mouse), 0, 0, NULL,
		"Use the mouse; when off, the terminal selects text as usual."},
	{"read_only", SETTING_BOOL, AT(read_only), 0, 0, NULL,
		"Refuse everything that changes something."},
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
		"For this many items or more, a dialog asks you to type their number."},
	{"protected.names", SETTING_LIST, AT(protected_names), 0, 0, NULL,
		"Containers, networks and volumes that are never removed: patterns of names."},
	{"protected.labels", SETTING_LIST, AT(protected_labels), 0, 0, NULL,
		"Objects with these labels are never removed: patterns of KEY or KEY=VALUE."},
	{"protected.images", SETTING_LIST, AT(protected_images), 0, 0, NULL,
		"Images that are never removed: patterns of references."},
	{"hosts", SETTING_HOSTS, AT(nhosts), 0, 0, NULL,
		"Named engines, and rules for single engines in addition to the general ones: a list of maps."},
	{"alerts", SETTING_ALERTS, AT(nalerts), 0, 0, NULL,
		"Alerts: a list of maps, each with a condition and how to notify."},
	{"audit.unavailable", SETTING_CHOICE, AT(audit_unavailable), 0, 0, unavailable_words,
		"When nothing can be recorded: refuse, or warn (continue, and count unrecorded operations)."},
	{"audit.keep_days", SETTING_INT, AT(audit_keep_days), 0, 36500, NULL,
		"Days after which parts of the audit log are removed; 0: never."},
	{"audit.keep_bytes", SETTING_BYTES, AT(audit_keep_bytes), 0, 1e15, NULL,
		"Size of the audit log above which its oldest parts are removed, at least 256k; 0: never."},
	{"clean.home_days", SETTING_INT, AT(clean_home_days), 0, 36500, NULL,
		"Days without use before `berth clean` marks the home volume of an ended session; 0: never."},
	{"journal.commands", SETTING_INT, AT(journal_commands), 0, 4096, NULL,
		"Commands of each agent that are kept with their output; 0: none."},
	{"journal.output", SETTING_BYTES, AT(journal_bytes), 4 << 10, 64 << 20, NULL,
		"How much of each command's output is kept; its end is kept if it is longer."},
	{"terminals.detach", SETTING_TEXT, AT(terminal_detach), 0, 0, NULL,
		"Key that detaches from an agent's terminal: a key with Ctrl, except C-t, which takes over."},
	{"egress.ask_seconds", SETTING_INT, AT(egress_ask_s), 1, 600, NULL,
		"How long a connection of an agent with network: {ask: true} waits for a person's answer."},
	{"files.io_depth", SETTING_INT, AT(files_io_depth), 0, 64, NULL,
		"Number of concurrent requests while files wait for a disk; 0: 64."},
	{"files.io_uring", SETTING_CHOICE, AT(files_io_uring), 0, 0, ascii_words,
		"Use io_uring for these requests: auto or yes (where the kernel permits it), or no."},
	{"mcp.memory", SETTING_BYTES, AT(mcp_memory), 64 << 20, 1e12, NULL,
		"Memory of one `berth mcp` for its calls and their answers; beyond it, calls wait or are refused."},
	{"workspaces.done_days", SETTING_INT, AT(workspaces_done_days), -1, 36500, NULL,
		"Days after which `workspace clean --due` archives a task that is done; -1: never."},
	{"workspaces.failed_days", SETTING_INT, AT(workspaces_failed_days), -1, 36500, NULL,
		"Days after which `workspace clean --due` removes a task that failed; -1: never."},
	{"workspaces.idle_days", SETTING_INT, AT(workspaces_idle_days), -1, 36500, NULL,
		"Days without a change after which `workspace clean --due` archives a project; -1: never."},
	{"workspaces.clean_hours", SETTING_INT, AT(workspaces_clean_hours), 0, 8760, NULL,
		"Hours after which an open console runs `workspace clean --due` again; 0: never."},
	{"workspaces.verify_days", SETTING_INT, AT(workspaces_verify_days), 0, 3650, NULL,
		"Days after which an open console runs `workspace verify` again; 0: never."},
	{"workspaces.archive_level", SETTING_INT, AT(workspaces_level), 1, 19, NULL,
		"Level at which zstd compresses archives."},
	{"workspaces.archive_threads", SETTING_INT, AT(workspaces_threads), 0, 64, NULL,
		"Threads that compress an archive; 0: only the reading thread."},
	{"workspaces.limit_bytes", SETTING_BYTES, AT(workspace_bytes), 0, 1e15, NULL,
		"How much a workspace may hold while an agent has it; 0: no limit."},
	{"workspaces.limit_files", SETTING_INT, AT(workspace_files), 0, 1e15, NULL,
		"How many files and directories a workspace may hold while an agent has it; 0: no limit."},
	{"workspaces.active", SETTING_INT, AT(workspaces_active), 0, 1e6, NULL,
		"Number of tasks that may have a container at a time; agents of further tasks wait in line; 0: no limit."},
	{"workspaces.total_bytes", SETTING_BYTES, AT(workspaces_bytes), 0, 1e15, NULL,
		"How much all tasks together may hold before agents of further tasks wait in line; 0: no limit."},
	{"workspaces.on_breach", SETTING_CHOICE, AT(workspace_breach), 0, 0, breach_words,
		"Action above the limit: freeze its containers, warn, kill the processes in them, or refuse new commands."},
	{"workspaces.checkpoint_bytes", SETTING_BYTES, AT(checkpoint_bytes), 0, 1e15, NULL,
		"Disk space of a workspace's checkpoints up to which agents may add more; 0: no limit."},
	{"workspaces.checkpoint_count", SETTING_INT, AT(checkpoint_count), 0, 1e6, NULL,
		"Number of a workspace's checkpoints up to which agents may add more; 0: no limit."},
	{"commands", SETTING_COMMANDS, AT(ncommands), 0, 0, NULL,
		"Commands of your own for the container of a row: a list of maps."},
	{"keys", SETTING_KEYS, AT(keys), 0, 0, NULL,
		"Keys of actions, as ACTION: \"KEY KEY\"; an empty text removes the keys."},
	{0},
};

#undef AT
#define AT(field) offsetof(struct host_rule, field)

const struct setting setting_host_table[] = {
	{"name", SETTING_TEXT, AT(name), 0, 0, NULL,
		"Name of an engine, shown by the console and accepted by -H; with endpoint."},
	{"endpoint", SETTING_TEXT, AT(endpoint), 0, 0, NULL,
		"Its address: ssh://[USER@]HOST[:PORT][/SOCKET], tcp://HOST:PORT or unix:///PATH."},
	{"host", SETTING_TEXT, AT(host), 0, 0, NULL,
		"Instead of name and endpoint: a pattern of endpoints or engine names that the rest applies to."},
	{"read_only", SETTING_BOOL, AT(read_only), 0, 0, NULL, "Change nothing on that engine."},
	{"secrets", SETTING_BOOL, AT(secrets), 0, 0, NULL,
		"For a named engine: whether containers there may get secrets and keys; false if not set."},
	{"protected.names", SETTING_LIST, AT(protected_names), 0, 0, NULL,
		"Like protected.names, for this engine."},
	{"protected.labels", SETTING_LIST, AT(protected_labels), 0, 0, NULL,
		"Like protected.labels, for this engine."},
	{"protected.images", SETTING_LIST, AT(protected_images), 0, 0, NULL,
		"Like protected.images, for this engine."},
	{0},
};
#undef AT
#define AT(field) offsetof(struct alert_rule, field)

static const char *const notify_words[] = {"no", "osc9", "osc777", NULL};

const struct setting setting_alert_table[] = {
	{"name", SETTING_TEXT, AT(name), 0, 0, NULL, "Its name; default: its condition."},
	{"when", SETTING_TEXT, AT(when), 0, 0, NULL,
		"The condition, as in the filter, and for how long it must hold; required."},
	{"bell", SETTING_BOOL, AT(bell), 0, 0, NULL, "Ring the terminal's bell; true if not set."},
	{"notify", SETTING_CHOICE, AT(notify), 0, 0, notify_words,
		"Have the terminal show a notification: osc9 (iTerm2, Windows Terminal, kitty), osc777 "
		"(rxvt, foot, VTE) or no."},
	{"command", SETTING_TEXT, AT(command), 0, 0, NULL,
		"A line for /bin/sh on this machine; the details are in its environment, BERTH_NAME and so on."},
	{"webhook", SETTING_TEXT, AT(webhook), 0, 0, NULL,
		"An http:// or https:// address that gets it as a JSON POST."},
	{"again_seconds", SETTING_INT, AT(again_s), 0, 31536000, NULL,
		"Interval at which it is repeated while it holds; 0: once."},
	{"quiet", SETTING_LIST, AT(quiet_words), 0, 0, NULL,
		"Quiet hours: [\"22:00-07:00\"]; afterwards, conditions that still hold are reported."},
	{0},
};
#undef AT
#define AT(field) offsetof(struct custom_command, field)

static const char *const confirm_words[] = {"yes", "no", "name", NULL};

const struct setting setting_command_table[] = {
	{"name", SETTING_TEXT, AT(name), 0, 0, NULL,
		"Its name for `:` and `berth custom`; required."},
	{"key", SETTING_TEXT, AT(key), 0, 0, NULL, "Its key in views with rows; must be unused."},
	{"help", SETTING_TEXT, AT(help), 0, 0, NULL, "Its help text."},
	{"run", SETTING_TEXT, AT(run), 0, 0, NULL,
		"A line for sh on this machine; fields of the row are in its environment, as BERTH_NAME."},
	{"exec", SETTING_TEXT, AT(exec), 0, 0, NULL, "Or a line for sh in the container."},
	{"confirm", SETTING_CHOICE, AT(confirm), 0, 0, confirm_words,
		"Whether the console asks first: yes, no, or name (type the container's name)."},
	{0},
};
#undef AT

/* true: an error was handed on, the reader continues with what is next. */
static bool go_on(const struct settings *s, struct err *e)
{
	if (!s->found)
		return false;
	s->found->fn(s->found->ctx, e);
	++*s->found->n;
	*e = (struct err)ERR_INIT;
	return true;
}

static size_t count_faults(const struct settings *s)
{
	return s->found ? *s->found->n : 0;
}

/* Lists and texts go into the settings' own arena: the file's tree may go. */
static int read_text_list(struct settings *s, const struct config *c, const struct node *n,
	struct text_list *out, struct err *e)
{
	const char **item;
	size_t len = 0;

	if (n->kind != NODE_LIST)
		return node_err(c, n, e, "found %s, expected a list such as [a, b].",
			n->kind == NODE_MAP ? "keys with values" : "a single value");
	item = arena_array(&s->mem, n->n, sizeof *item);
	for (size_t i = 0; i < n->n; i++) {
		if (n->child[i]->kind == NODE_SCALAR && *n->child[i]->value) {
			item[len++] = arena_strdup(&s->mem, n->child[i]->value);
			continue;
		}
		node_err(c, n->child[i], e, "found %s, expected a word.",
			n->child[i]->kind == NODE_SCALAR ? "nothing" : "a list or keys");
		if (!go_on(s, e))
			return -1;
	}
	out->n = len;
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
	/* Whole parts of the log are removed, and the newest stays. */
	if (v && v < SETTINGS_LOG_LEAST && !strcmp(t->name, "audit.keep_bytes"))
		return node_err(c, n, e,
			"found \"%s\", expected 0 (any size) or at least %dk, the smallest part of the audit log.",
			n->value, SETTINGS_LOG_LEAST >> 10);
	*out = v;
	return 0;
}

static int read_map(struct settings *s, const struct setting *table, void *base,
	const struct config *c, const struct node *map, const char *section, struct err *e);

/* What a list of maps holds. */
struct list_kind {
	const char *many, *one, *like; /* "rules", "a rule", and one as it is written */
	size_t most, size;
	const void *fresh; /* one before it is read */
	const struct setting *table;
	int (*check)(struct settings *s, const struct config *c, const struct node *n, void *all,
		size_t i, struct err *e);
};

/* n->n of them; NULL and *e.  `hosts:` with every rule under it commented out has none. */
static void *read_maps(struct settings *s, const struct list_kind *k, const struct config *c,
	const struct node *n, struct err *e)
{
	char *all;
	size_t faults;

	if (n->kind == NODE_MAP || (n->kind == NODE_SCALAR && *n->value)) {
		node_err(c, n, e, "found %s, expected a list of %s such as - %s.",
			n->kind == NODE_MAP ? "keys with values" : "a single value", k->many,
			k->like);
		return NULL;
	}
	if (n->n > k->most) {
		node_err(c, n, e, "found %zu %s, expected at most %zu.", n->n, k->many, k->most);
		return NULL;
	}
	all = arena_array(&s->mem, n->n + 1, k->size);
	for (size_t i = 0; i < n->n; i++) {
		const struct node *one = n->child[i];
		void *at = memcpy(all + i * k->size, k->fresh, k->size);

		faults = count_faults(s);
		if (one->kind != NODE_MAP)
			node_err(c, one, e, "found %s, expected %s such as %s.",
				one->kind == NODE_LIST ? "a list" : "a single value", k->one,
				k->like);
		else if (read_map(s, k->table, at, c, one, "", e) == 0 &&
			(count_faults(s) > faults || k->check(s, c, one, all, i, e) == 0))
			continue;
		if (!go_on(s, e))
			return NULL;
	}
	return all;
}

static int check_host(struct settings *s, const struct config *c, const struct node *n, void *all,
	size_t i, struct err *e)
{
	const char *fault = host_rule_fault(all, i);

	(void)s;
	return fault ? node_err(c, n, e, "%s", fault) : 0;
}

static int read_hosts(
	struct settings *s, const struct config *c, const struct node *n, struct err *e)
{
	static const struct host_rule fresh;
	const struct list_kind rules = {"rules", "a rule", "host: \"tcp://prod*\"", SIZE_MAX,
		sizeof fresh, &fresh, setting_host_table, check_host};

	s->hosts = read_maps(s, &rules, c, n, e);
	s->nhosts = s->hosts ? n->n : 0;
	return s->hosts ? 0 : -1;
}

static bool read_time_of_day(const char *s, int *ret)
{
	for (size_t i = 0; i < 5; i++)
		if (i == 2 ? s[i] != ':' : s[i] < '0' || s[i] > '9')
			return false;
	*ret = ((s[0] - '0') * 10 + s[1] - '0') * 60 + (s[3] - '0') * 10 + s[4] - '0';
	return *ret < 24 * 60 && s[3] < '6';
}

static int read_quiet(struct settings *s, const struct config *c, const struct node *n,
	struct alert_rule *rule, struct err *e)
{
	struct day_span *spans = arena_array(&s->mem, rule->quiet_words.n + 1, sizeof *spans);

	for (size_t i = 0; i < rule->quiet_words.n; i++) {
		const char *text = rule->quiet_words.item[i];

		if (strlen(text) != 11 || text[5] != '-' ||
			!read_time_of_day(text, &spans[i].from) ||
			!read_time_of_day(text + 6, &spans[i].to) || spans[i].from == spans[i].to)
			return node_err(c, node_get(n, "quiet")->child[i], e,
				"found \"%.40s\", expected a time of day such as \"22:00-07:00\".",
				text);
	}
	rule->quiet = spans;
	rule->nquiet = rule->quiet_words.n;
	return 0;
}

static bool is_web_address(const char *s)
{
	size_t n = !strncmp(s, "https://", 8) ? 8 : !strncmp(s, "http://", 7) ? 7 : 0;

	if (!n || !s[n] || s[n] == '/')
		return false;
	for (; *s; s++)
		if (*s <= ' ' || *s >= 127)
			return false;
	return true;
}

static int check_alert(struct settings *s, const struct config *c, const struct node *n, void *all,
	size_t i, struct err *e)
{
	struct alert_rule *rule = &((struct alert_rule *)all)[i];
	struct err why = ERR_INIT;
	struct where *where;

	if (!rule->when)
		return node_err(c, n, e,
			"found an alert without \"when\", expected a condition such as \"memory_percent > 90 for "
			"30s\".");
	where = where_new(rule->when, WHERE_ALERT, &why);
	if (!where)
		return node_err(c, node_get(n, "when"), e, "in \"when\" %s.", why.msg);
	where_free(where);
	if (rule->webhook && !is_web_address(rule->webhook))
		return node_err(c, node_get(n, "webhook"), e,
			"found \"%.60s\", expected an address that begins with https:// or http://.",
			rule->webhook);
	if (!rule->name)
		rule->name = rule->when;
	return read_quiet(s, c, n, rule, e);
}

static int read_alerts(
	struct settings *s, const struct config *c, const struct node *n, struct err *e)
{
	static const struct alert_rule fresh = {.bell = true};
	const struct list_kind alerts = {"alerts", "an alert", "when: \"memory_percent > 90\"",
		ALERTS_MAX, sizeof fresh, &fresh, setting_alert_table, check_alert};

	s->alerts = read_maps(s, &alerts, c, n, e);
	s->nalerts = s->alerts ? n->n : 0;
	return s->alerts ? 0 : -1;
}

static int check_custom(struct settings *s, const struct config *c, const struct node *n, void *all,
	size_t i, struct err *e)
{
	const struct custom_command *first = all, *k = &first[i];

	(void)s;
	if (!k->name || !text_is_plain_name(k->name, 40))
		return node_err(c, n, e,
			"a command without a \"name\" of letters, digits, dots and dashes.");
	if (!k->run == !k->exec)
		return node_err(c, n, e,
			"the command %s has %s, expected either \"run\" (on this machine) or \"exec\" (in the "
			"container).",
			k->name, k->run ? "both" : "neither");
	for (size_t j = 0; j < i; j++)
		if (first[j].name && !strcmp(first[j].name, k->name))
			return node_err(c, n, e, "a second command is called %s.", k->name);
	return 0;
}

static int read_commands(
	struct settings *s, const struct config *c, const struct node *n, struct err *e)
{
	static const struct custom_command fresh;
	const struct list_kind commands = {"commands", "a command", "name: ports",
		CUSTOM_COMMANDS_MAX, sizeof fresh, &fresh, setting_command_table, check_custom};

	s->commands = read_maps(s, &commands, c, n, e);
	s->ncommands = s->commands ? n->n : 0;
	return s->commands ? 0 : -1;
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
	case SETTING_ALERTS: return read_alerts(s, c, n, e);
	case SETTING_COMMANDS: return read_commands(s, c, n, e);
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
	for (size_t i = 0; i < map->n; i++) {
		const struct node *n = map->child[i], one = {.n = 1, .child = &map->child[i]};
		char path[96];

		if (node_unknown(c, &one, names, e) < 0) {
			if (!go_on(s, e))
				return -1;
			continue;
		}
		snprintf(path, sizeof path, "%s%s", section, n->key);
		for (t = table; t->name && strcmp(t->name, path) != 0; t++)
			;
		if (t->name) {
			if (read_setting(s, t, base, c, n, e) < 0 && !go_on(s, e))
				return -1;
			continue;
		}
		snprintf(path, sizeof path, "%s%s.", section, n->key);
		if (n->kind == NODE_SCALAR && !*n->value)
			continue;
		if (n->kind != NODE_MAP)
			node_err(c, n, e, "found no map, expected the settings of \"%s\".", n->key);
		else if (read_map(s, table, base, c, n, path, e) == 0)
			continue;
		if (!go_on(s, e))
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

void settings_check(struct config *c, struct settings *ret,
	void (*fn)(void *ctx, const struct err *e), void *ctx)
{
	size_t n = 0;
	const struct settings_found found = {fn, ctx, &n};
	struct err e = ERR_INIT;
	int rc;

	*ret = (struct settings){0};
	arena_init(&ret->mem, 2048);
	read_defaults(ret);
	ret->found = &found;
	rc = apply_config(ret, c, &e);
	CHECK(rc == 0);
	ret->found = NULL;
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
