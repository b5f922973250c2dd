/* ps.c - `berth ps`: one snapshot of the containers, as a table or as JSON. */
#include <stdio.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include <berth/jsonw.h>
#include "cli/run.h"

static bool is_listed_state(const struct container *c, bool all)
{
	return all || c->state == CONTAINER_RUNNING || c->state == CONTAINER_PAUSED ||
		c->state == CONTAINER_RESTARTING;
}

static bool is_ended_state(const struct container *c)
{
	return c->state == CONTAINER_EXITED || c->state == CONTAINER_DEAD;
}

static bool has_sample(const struct container *c)
{
	return c->stats.source != STATS_NONE;
}

/* ---- what is listed */

/* --filter KEY=VALUE; NULL: berth knows no such key. */
static const char *filtered_field(const struct container *c, const char *key, size_t n)
{
	const struct {
		const char *key, *value;
	} fields[] = {{"id", c->id}, {"name", c->name}, {"agent", c->agent},
		{"state", container_state_name(c->state)}, {"health", health_name(c->health)},
		{"image", c->image}, {"project", c->compose_project}};

	for (size_t i = 0; i < COUNT(fields); i++)
		if (strlen(fields[i].key) == n && !memcmp(fields[i].key, key, n))
			return fields[i].value;
	return NULL;
}

/* A name, an id and an image fit by a part of them, as docker's; the others as a whole. */
static bool fits_filter(const struct container *c, const char *filter)
{
	size_t n = strcspn(filter, "=");
	const char *value = filter + n + 1, *field = filtered_field(c, filter, n);

	if (!strncmp(filter, "id=", 3))
		return !strncmp(field, value, strlen(value));
	return !strncmp(filter, "name=", 5) || !strncmp(filter, "image=", 6)
		? strstr(field, value) != NULL
		: !strcmp(field, value);
}

static int check_filters(const struct cli *c, struct err *e)
{
	static const struct container none = {
		.id = "", .name = "", .agent = "", .image = "", .compose_project = ""};

	for (size_t i = 0; i < c->ngiven; i++) {
		const char *text = c->given[i].value;
		size_t n;

		if (strcmp(c->given[i].option->name, "filter") != 0)
			continue;
		n = strcspn(text, "=");
		if (!text[n] || !filtered_field(&none, text, n))
			return err_set(e, ERR_USAGE,
				"--filter takes id, name, agent, state, health, image or project "
				"with = and a value, not \"%.60s\".",
				text);
	}
	return 0;
}

/* Of several filters with one key one must fit, of each key. */
static bool fits_filters(const struct cli *c, const struct container *k)
{
	for (size_t i = 0; i < c->ngiven; i++) {
		const char *text = c->given[i].value;
		bool fits = false;

		if (strcmp(c->given[i].option->name, "filter") != 0)
			continue;
		for (size_t o = 0; o < c->ngiven && !fits; o++)
			fits = !strcmp(c->given[o].option->name, "filter") &&
				!strncmp(c->given[o].value, text, strcspn(text, "=") + 1) &&
				fits_filter(k, c->given[o].value);
		if (!fits)
			return false;
	}
	return true;
}

/* Of `stats NAME ...` these are meant. */
static bool is_named(const struct cli *c, const struct container *k)
{
	for (int i = 0; i < c->argc; i++)
		if (!strcmp(k->name, c->argv[i]) || !strcmp(k->agent, c->argv[i]) ||
			!strncmp(k->id, c->argv[i], strlen(c->argv[i])))
			return true;
	return !c->argc;
}

static bool is_shown_row(const struct cli *c, const struct container *k)
{
	return is_listed_state(k, cli_flag(c, "all")) && is_named(c, k) && fits_filters(c, k);
}

/* ---- the table */

#define CELL_MAX 512

static void put_bytes_rate(char *buf, const struct container *c, double v)
{
	char number[FORMAT_MAX];

	if (c->stats.net && c->stats.rates)
		snprintf(buf, CELL_MAX, "%s", format_bytes(number, v > 0 ? (uint64_t)v : 0));
}

static void cell_name(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, CELL_MAX, c->name);
}

static void cell_agent(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, CELL_MAX, c->agent);
}

static void cell_state(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (is_ended_state(c))
		snprintf(buf, CELL_MAX, "%s %d%s", container_state_name(c->state), c->exit_code,
			c->oom_killed ? " OOM" : "");
	else if (c->mounts == MOUNTS_CHANGED || c->mounts == MOUNTS_UNKNOWN)
		snprintf(buf, CELL_MAX, "mounts %s", mounts_state_name(c->mounts));
	else if (c->own_health == HEALTH_UNHEALTHY)
		snprintf(buf, CELL_MAX, "%s, init unhealthy", container_state_name(c->state));
	else if (c->health != HEALTH_NONE)
		snprintf(buf, CELL_MAX, "%s, %s", container_state_name(c->state),
			health_name(c->health));
	else
		snprintf(buf, CELL_MAX, "%s", container_state_name(c->state));
}

static void cell_cpu(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (c->stats.rates)
		format_percent(buf, c->stats.cpu_percent);
}

static void cell_memory(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (has_sample(c))
		format_bytes(buf, c->stats.memory_bytes);
}

static void cell_limit(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (has_sample(c) && c->stats.memory_limited)
		format_bytes(buf, c->stats.memory_limit_bytes);
}

static void cell_rx(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	put_bytes_rate(buf, c, c->stats.net_rx_bytes_per_s);
}

static void cell_tx(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	put_bytes_rate(buf, c, c->stats.net_tx_bytes_per_s);
}

static void cell_pids(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (has_sample(c))
		snprintf(buf, CELL_MAX, "%llu", (unsigned long long)c->stats.pids);
}

static int64_t uptime_s(const struct container *c, const struct snapshot *s)
{
	if (is_ended_state(c) || c->state == CONTAINER_CREATED || c->started_wall_ms <= 0)
		return -1;
	return s->at_wall_ms > c->started_wall_ms ? (s->at_wall_ms - c->started_wall_ms) / 1000 : 0;
}

static void cell_up(char *buf, const struct container *c, const struct snapshot *s)
{
	int64_t up = uptime_s(c, s);

	if (up >= 0)
		format_span(buf, up);
}

static void cell_image(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, CELL_MAX, c->image);
}

static const struct column {
	const char *head;
	bool right;
	bool optional; /* left out when no row has it */
	int keep;      /* 0: always; on a narrow terminal the smallest number goes first */
	void (*cell)(char *buf, const struct container *c, const struct snapshot *s);
} columns[] = {
	{"NAME", false, false, 0, cell_name},
	{"AGENT", false, true, 0, cell_agent},
	{"STATE", false, false, 0, cell_state},
	{"CPU %", true, false, 0, cell_cpu},
	{"MEM", true, false, 0, cell_memory},
	{"LIMIT", true, true, 2, cell_limit},
	{"RX/S", true, true, 1, cell_rx},
	{"TX/S", true, true, 1, cell_tx},
	{"PIDS", true, false, 4, cell_pids},
	{"UP", true, false, 5, cell_up},
	{"IMAGE", false, false, 3, cell_image},
};
#define NCOLUMNS COUNT(columns)

static void add_blanks(struct str *out, int n)
{
	while (n-- > 0)
		str_addc(out, ' ');
}

/* Append a line, trailing blanks cut, at most `columns` wide (0: all of it). */
static void print_line(struct str *line, int width)
{
	size_t end = line->len, at = 0;
	int used = 0;

	while (end && line->s[end - 1] == ' ')
		end--;
	while (width && at < end) {
		uint32_t cp;
		size_t n = utf8_next(line->s + at, end - at, &cp);
		int w = text_cp_width(cp);

		if (used + w > width)
			break;
		used += w;
		at += n;
	}
	printf("%.*s\n", (int)(width ? at : end), line->s);
	str_clear(line);
}

static void add_cell(struct str *line, const struct column *col, const char *text, int width)
{
	int w = text_width(text, strlen(text));

	if (line->len)
		str_adds(line, "  ");
	if (col->right)
		add_blanks(line, width - w);
	str_adds(line, text);
	if (!col->right)
		add_blanks(line, width - w);
}

/* A column that is half there says wrong numbers: it goes whole. */
static void fit_widths(int *width, int terminal)
{
	for (int rank = 1;; rank++) {
		int all = -2, left = 0;

		for (size_t k = 0; k < NCOLUMNS; k++) {
			all += width[k] ? width[k] + 2 : 0;
			left += width[k] && columns[k].keep >= rank;
		}
		if (all <= terminal || !left)
			return;
		for (size_t k = 0; k < NCOLUMNS; k++)
			if (columns[k].keep == rank)
				width[k] = 0;
	}
}

static int print_table(const struct cli *c, const struct snapshot *s, bool ascii)
{
	AUTO_FREE char *cells = xcalloc(s->ncontainers * NCOLUMNS + 1, CELL_MAX);
	AUTO_STR struct str line = STR_INIT;
	int width[NCOLUMNS] = {0}, terminal = cli_columns();
	size_t rows = 0;

	for (size_t i = 0; i < s->ncontainers; i++) {
		char *row = cells + rows * NCOLUMNS * CELL_MAX;

		if (!is_shown_row(c, &s->containers[i]))
			continue;
		rows++;
		for (size_t k = 0; k < NCOLUMNS; k++) {
			char *cell = row + k * CELL_MAX;
			AUTO_STR struct str plain = STR_INIT;
			int w;

			columns[k].cell(cell, &s->containers[i], s);
			if (ascii) {
				text_neutralise(&plain, cell, strlen(cell), true);
				snprintf(cell, CELL_MAX, "%s", plain.s);
			}
			w = text_width(cell, strlen(cell));
			if (w > width[k])
				width[k] = w;
		}
	}
	for (size_t k = 0; k < NCOLUMNS; k++) {
		int head = (int)strlen(columns[k].head);

		if ((!columns[k].optional || width[k]) && head > width[k])
			width[k] = head;
	}
	if (terminal)
		fit_widths(width, terminal);
	for (size_t k = 0; k < NCOLUMNS; k++) {
		if (!width[k])
			continue;
		add_cell(&line, &columns[k], columns[k].head, width[k]);
	}
	print_line(&line, terminal);
	for (size_t i = 0; i < rows; i++) {
		for (size_t k = 0; k < NCOLUMNS; k++) {
			const char *cell = cells + (i * NCOLUMNS + k) * CELL_MAX;

			if (width[k])
				add_cell(&line, &columns[k], *cell ? cell : "-", width[k]);
		}
		print_line(&line, terminal);
	}
	return cli_finish();
}

/* ---- JSON, berth.ps/1 */

static void json_stamp(struct jsonw *j, const char *key, int64_t wall_ms)
{
	char buf[FORMAT_MAX];

	jsonw_text(j, key, wall_ms > 0 ? format_stamp(buf, wall_ms) : NULL);
}

static void json_or_null(struct jsonw *j, const char *key, const char *s)
{
	jsonw_text(j, key, s && *s ? s : NULL);
}

static void json_rate(struct jsonw *j, const char *key, bool known, double v)
{
	if (known && v >= 0)
		jsonw_number(j, key, v, 1);
	else
		jsonw_null(j, key);
}

static void json_total(struct jsonw *j, const char *key, bool known, uint64_t v)
{
	if (known)
		jsonw_uint(j, key, v);
	else
		jsonw_null(j, key);
}

static void json_stats(struct jsonw *j, const struct container *c, const struct snapshot *s)
{
	const struct container_stats *t = &c->stats;
	bool any = has_sample(c), rates = any && t->rates;

	jsonw_text(j, "stats_source",
		t->source == STATS_CGROUP           ? "cgroup"
			: t->source == STATS_ENGINE ? "engine"
						    : NULL);
	if (any)
		jsonw_int(j, "stats_age_ms", (s->at_ns - t->at_ns) / 1000000);
	else
		jsonw_null(j, "stats_age_ms");
	if (rates)
		jsonw_number(j, "cpu_percent", t->cpu_percent, 2);
	else
		jsonw_null(j, "cpu_percent");
	json_total(j, "memory_bytes", any, t->memory_bytes);
	json_total(j, "memory_limit_bytes", any && t->memory_limited, t->memory_limit_bytes);
	json_total(j, "pids", any, t->pids);
	json_total(j, "pids_limit", any && t->pids_limit, t->pids_limit);
	json_rate(j, "net_rx_bytes_per_s", rates && t->net, t->net_rx_bytes_per_s);
	json_rate(j, "net_tx_bytes_per_s", rates && t->net, t->net_tx_bytes_per_s);
	json_total(j, "net_rx_bytes", any && t->net, t->net_rx_bytes);
	json_total(j, "net_tx_bytes", any && t->net, t->net_tx_bytes);
	json_rate(j, "block_read_bytes_per_s", rates, t->block_read_bytes_per_s);
	json_rate(j, "block_write_bytes_per_s", rates, t->block_write_bytes_per_s);
	json_total(j, "block_read_bytes", any, t->block_read_bytes);
	json_total(j, "block_write_bytes", any, t->block_write_bytes);
}

static void json_container(struct jsonw *j, const struct container *c, const struct snapshot *s)
{
	int64_t up = uptime_s(c, s);

	jsonw_object(j, NULL);
	jsonw_text(j, "id", c->id);
	jsonw_text(j, "name", c->name);
	json_or_null(j, "agent", c->agent);
	json_or_null(j, "session", c->session);
	json_or_null(j, "role", c->role);
	json_or_null(j, "compose_project", c->compose_project);
	json_or_null(j, "compose_service", c->compose_service);
	jsonw_text(j, "state", container_state_name(c->state));
	json_or_null(j, "health", health_name(c->health));
	json_or_null(j, "own_health", health_name(c->own_health));
	json_or_null(j, "mounts", c->mounts ? mounts_state_name(c->mounts) : NULL);
	if (is_ended_state(c))
		jsonw_int(j, "exit_code", c->exit_code);
	else
		jsonw_null(j, "exit_code");
	jsonw_bool(j, "oom_killed", c->oom_killed);
	jsonw_text(j, "image", c->image);
	json_or_null(j, "image_id", c->image_id);
	json_or_null(j, "command", c->command);
	json_stamp(j, "created_at", c->created_wall_ms);
	json_stamp(j, "started_at", c->started_wall_ms);
	json_stamp(j, "finished_at", is_ended_state(c) ? c->finished_wall_ms : 0);
	if (up >= 0)
		jsonw_int(j, "uptime_s", up);
	else
		jsonw_null(j, "uptime_s");
	jsonw_int(j, "restarts", c->restarts);
	json_total(j, "pid", c->pid > 0, (uint64_t)c->pid);
	json_stats(j, c, s);
	jsonw_end(j);
}

static int print_ps_json(const struct cli *c, const struct snapshot *s)
{
	const struct engine_state *en = &s->engine;
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.ps/1");
	json_stamp(&j, "at", s->at_wall_ms);
	jsonw_object(&j, "engine");
	jsonw_text(&j, "id", en->id);
	jsonw_text(&j, "name", en->name);
	jsonw_text(&j, "endpoint", en->endpoint);
	jsonw_text(&j, "source", en->source);
	jsonw_text(&j, "product", en->product);
	jsonw_text(&j, "version", en->version);
	jsonw_text(&j, "api", en->api);
	jsonw_bool(&j, "local", en->local);
	jsonw_end(&j);
	jsonw_array(&j, "containers");
	for (size_t i = 0; i < s->ncontainers; i++)
		if (is_shown_row(c, &s->containers[i]))
			json_container(&j, &s->containers[i], s);
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

/* ---- lines of the person's own form: {{.Name}} */

static void cell_id(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	snprintf(buf, CELL_MAX, "%.12s", c->id);
}

static const struct {
	const char *name;
	void (*cell)(char *buf, const struct container *c, const struct snapshot *s);
} fields[] = {{"ID", cell_id}, {"Name", cell_name}, {"Names", cell_name}, {"Agent", cell_agent},
	{"State", cell_state}, {"Status", cell_state}, {"CPU", cell_cpu}, {"Memory", cell_memory},
	{"Limit", cell_limit}, {"RX", cell_rx}, {"TX", cell_tx}, {"PIDs", cell_pids},
	{"Up", cell_up}, {"Image", cell_image}};

/* A line of `format`; with out NULL it is only checked. */
static int expand_format(struct str *out, const char *format, const struct container *c,
	const struct snapshot *s, struct err *e)
{
	for (const char *p = format; *p;) {
		const char *end = !strncmp(p, "{{", 2) ? strstr(p, "}}") : NULL;
		char cell[CELL_MAX] = "", name[32];
		size_t i = 0;

		if (!end) {
			bool tab = p[0] == '\\' && p[1] == 't', line = p[0] == '\\' && p[1] == 'n';

			if (out)
				str_addc(out, tab ? '\t' : line ? '\n' : *p);
			p += 1 + (tab || line);
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)(end - p - 2), p + 2);
		for (i = 0; i < COUNT(fields); i++)
			if (name[0] == '.' && !strcmp(name + 1, fields[i].name))
				break;
		if (i == COUNT(fields))
			return err_set(e, ERR_USAGE,
				"--format knows no {{%s}}: .ID, .Name, .Agent, .State, .CPU, "
				".Memory, .Limit, .RX, .TX, .PIDs, .Up and .Image.",
				name);
		if (out) {
			fields[i].cell(cell, c, s);
			str_adds(out, *cell ? cell : "-");
		}
		p = end + 2;
	}
	return 0;
}

static int print_own_lines(const struct cli *c, const struct snapshot *s, const char *format)
{
	AUTO_STR struct str line = STR_INIT;

	for (size_t i = 0; i < s->ncontainers; i++) {
		if (!is_shown_row(c, &s->containers[i]))
			continue;
		str_clear(&line);
		expand_format(&line, format, &s->containers[i], s, NULL);
		fwrite(line.s, 1, line.len, stdout);
		putchar('\n');
	}
	return cli_finish();
}

int cli_ps(const struct cli *c, const struct settings *s, struct err *e)
{
	const char *format = cli_flag(c, "quiet") ? "{{.ID}}" : cli_value(c, "format");
	bool json = cli_flag(c, "json") || (format && !strcmp(format, "json"));
	const struct snapshot *snapshot;
	struct backend *b;
	int rc;

	if (format && (!strcmp(format, "table") || json))
		format = NULL;
	if (check_filters(c, e) || (format && expand_format(NULL, format, NULL, NULL, e)))
		return -1;
	b = cli_backend(c, "ps", NULL, true, e);
	if (!b)
		return -1;
	snapshot = cli_wait(b, !cli_flag(c, "quiet"), e);
	if (!snapshot)
		rc = -1;
	else if (json)
		rc = print_ps_json(c, snapshot);
	else if (format)
		rc = print_own_lines(c, snapshot, format);
	else
		rc = print_table(c, snapshot, s->ascii == ASCII_YES);
	snapshot_unref(snapshot);
	backend_stop(b);
	return rc;
}

int cli_stats(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE const struct container **chosen = xcalloc((size_t)c->argc + 1, sizeof *chosen);
	bool once = cli_flag(c, "no-stream");
	struct backend *b = cli_backend(c, "stats", NULL, once, e);
	const struct snapshot *shot;
	int rc;

	if (!b)
		return -1;
	shot = cli_wait(b, true, e);
	rc = shot && !cli_chosen(c, shot, chosen, e) ? 0 : -1;
	while (rc == 0) {
		/* A terminal is a page, anything else gets one table after the other. */
		if (!once && cli_columns())
			fputs("\033[H\033[J", stdout);
		rc = print_table(c, shot, s->ascii == ASCII_YES);
		if (once || rc || !cli_pause(1000))
			break;
		snapshot_unref(shot);
		shot = cli_wait(b, true, e);
		rc = shot ? 0 : -1;
	}
	snapshot_unref(shot);
	backend_stop(b);
	return rc;
}
