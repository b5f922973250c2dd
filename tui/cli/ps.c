/* ps.c - `berth ps`: prints one snapshot of the containers, as a table or as JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/form.h"
#include "cli/ps.h"

static bool is_listed_state(const struct container *c, bool all)
{
	return all || container_is_up(c->state);
}

bool ps_is_ended(const struct container *c)
{
	return c->state == CONTAINER_EXITED || c->state == CONTAINER_DEAD;
}

bool ps_has_sample(const struct container *c)
{
	return c->stats.source != STATS_NONE;
}

/* ---- what is listed */

#define FIELD_OF(what, text)                          \
	static const char *what##_of(const void *row) \
	{                                             \
		const struct container *c = row;      \
                                                      \
		return text;                          \
	}
FIELD_OF(id, c->id)
FIELD_OF(name, c->name)
FIELD_OF(agent, c->agent)
FIELD_OF(state, container_state_name(c->state))
FIELD_OF(image, c->image)
FIELD_OF(project, c->compose_project)
FIELD_OF(host, c->host)

static const char *health_of(const void *row)
{
	const struct container *c = row;
	enum health h = c->own_health ? c->own_health : c->health;

	return h ? health_name(h) : "none";
}

static bool has_label(const void *row, const char *value)
{
	const struct container *c = row;
	size_t n = strcspn(value, "=");

	for (size_t i = 0; i < c->nlabels; i++)
		if (!strncmp(c->labels[i].key, value, n) && !c->labels[i].key[n] &&
			(!value[n] || !strcmp(c->labels[i].value, value + n + 1)))
			return true;
	return false;
}

static bool has_exit_code(const void *row, const char *value)
{
	const struct container *c = row;

	return ps_is_ended(c) && c->exit_code == atoi(value);
}

static const char *const states[] = {
	"created", "running", "paused", "restarting", "removing", "exited", "dead", NULL};
static const char *const healths[] = {"starting", "healthy", "unhealthy", "none", NULL};

const struct cli_filter cli_container_filters[] = {{"id", FIT_ID, NULL, id_of, NULL},
	{"name", FIT_REGEX, NULL, name_of, NULL}, {"agent", FIT_WHOLE, NULL, agent_of, NULL},
	{"state", FIT_WHOLE, states, state_of, NULL}, {"status", FIT_WHOLE, states, state_of, NULL},
	{"health", FIT_WHOLE, healths, health_of, NULL}, {"image", FIT_IMAGE, NULL, image_of, NULL},
	{"project", FIT_WHOLE, NULL, project_of, NULL}, {"label", FIT_LABEL, NULL, NULL, has_label},
	{"exited", FIT_CODE, NULL, NULL, has_exit_code}, {"host", FIT_WHOLE, NULL, host_of, NULL},
	{0}};

/* Who asks for a state means containers in it, listed without --all or not; so does docker. */
static bool asks_for_states(const struct cli *c)
{
	return cli_flag(c, "all") || cli_has_filter(c, cli_container_filters, "state") ||
		cli_has_filter(c, cli_container_filters, "status") ||
		cli_has_filter(c, cli_container_filters, "exited");
}

/* Which hosts there are is known only now. */
static int check_hosts(const struct cli *c, const struct snapshot *s, struct err *e)
{
	AUTO_STR struct str all = STR_INIT;
	char shown[64];

	for (size_t k = 0; k < s->nhosts; k++)
		str_addf(&all, "%s%s", k ? ", " : "", s->hosts[k].name);
	for (size_t i = 0; i < c->ngiven; i++) {
		const char *value = c->given[i].value;
		size_t k = 0;

		if (strcmp(c->given[i].option->name, "filter") || strncmp(value, "host=", 5))
			continue;
		while (k < s->nhosts && strcmp(s->hosts[k].name, value + 5) != 0)
			k++;
		if (k < s->nhosts)
			continue;
		text_clean(shown, sizeof shown, value + 5);
		return s->nhosts
			? err_set(e, ERR_USAGE, "--filter host= takes %.300s, not \"%s\".", all.s,
				  shown)
			: err_set(e, ERR_USAGE,
				  "--filter host= needs --all-hosts: there is one engine, and \"%s\" is not queried.",
				  shown);
	}
	return 0;
}

bool ps_is_shown(const struct cli *c, const struct container *k)
{
	return is_listed_state(k, asks_for_states(c)) &&
		cli_fits_filters(c, cli_container_filters, k);
}

/* ---- the table */

static void put_bytes_rate(char *buf, const struct container *c, double v)
{
	char number[FORMAT_MAX];

	if (c->stats.net && c->stats.rates)
		snprintf(buf, PS_CELL_MAX, "%s", format_bytes(number, v > 0 ? (uint64_t)v : 0));
}

static void cell_name(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, PS_CELL_MAX, c->name);
}

static void cell_host(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, PS_CELL_MAX, c->host);
}

static void cell_agent(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, PS_CELL_MAX, c->agent);
}

static void cell_state(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (ps_is_ended(c))
		snprintf(buf, PS_CELL_MAX, "%s %d%s", container_state_name(c->state), c->exit_code,
			c->oom_killed ? " OOM" : "");
	else if (c->mounts == MOUNTS_CHANGED || c->mounts == MOUNTS_UNKNOWN)
		snprintf(buf, PS_CELL_MAX, "mounts %s", mounts_state_name(c->mounts));
	else if (c->own_health == HEALTH_UNHEALTHY)
		snprintf(buf, PS_CELL_MAX, "%s, init unhealthy", container_state_name(c->state));
	else if (c->health != HEALTH_NONE)
		snprintf(buf, PS_CELL_MAX, "%s, %s", container_state_name(c->state),
			health_name(c->health));
	else
		snprintf(buf, PS_CELL_MAX, "%s", container_state_name(c->state));
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
	if (ps_has_sample(c))
		format_bytes(buf, c->stats.memory_bytes);
}

static void cell_limit(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (ps_has_sample(c) && c->stats.memory_limited)
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
	if (ps_has_sample(c))
		snprintf(buf, PS_CELL_MAX, "%llu", (unsigned long long)c->stats.pids);
}

int64_t ps_uptime_s(const struct container *c, const struct snapshot *s)
{
	/* One that is restarting waits for its next run. */
	if (ps_is_ended(c) || c->state == CONTAINER_CREATED || c->state == CONTAINER_RESTARTING ||
		c->started_wall_ms <= 0)
		return -1;
	return s->at_wall_ms > c->started_wall_ms ? (s->at_wall_ms - c->started_wall_ms) / 1000 : 0;
}

static void cell_up(char *buf, const struct container *c, const struct snapshot *s)
{
	int64_t up = ps_uptime_s(c, s);

	if (up >= 0)
		format_span(buf, up);
}

/* As docker has it: an id is twelve digits, and a name goes without its digest. */
static void cell_image(char *buf, const struct container *c, const struct snapshot *s)
{
	const char *id = strncmp(c->image, "sha256:", 7) != 0 ? "" : c->image + 7;
	char *digest;

	(void)s;
	text_clean(buf, PS_CELL_MAX, c->image);
	digest = strstr(buf, "@sha256:");
	if (digest && digest > buf)
		*digest = '\0';
	else if (strspn(id, "0123456789abcdef") == 64)
		snprintf(buf, PS_CELL_MAX, "%.12s", id);
}

/* As the console has them, with the arrow in ASCII: scripts read it. */
void ps_ports(char *buf, const struct container *c, const struct snapshot *s)
{
	static const char arrow[] = "\u2192";
	char *at = buf;

	(void)s;
	text_clean(buf, PS_CELL_MAX, c->ports);
	while ((at = strstr(at, arrow))) {
		memcpy(at, "->", 2);
		memmove(at + 2, at + sizeof arrow - 1, strlen(at + sizeof arrow - 1) + 1);
	}
}

static const struct column {
	const char *head;
	bool right;
	bool optional; /* left out when no row has it */
	int keep;      /* 0: always; on a narrow terminal the smallest number goes first */
	void (*cell)(char *buf, const struct container *c, const struct snapshot *s);
} columns[] = {
	{"NAME", false, false, 0, cell_name},
	{"HOST", false, true, 0, cell_host},
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
	{"PORTS", false, true, 1, ps_ports},
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

/* The containers that `stats` was asked for, whatever state they are in; none: as for ps. */
struct asked_for {
	struct arena mem;
	struct target *of;
	size_t n;
};

static bool is_asked_for(const struct asked_for *a, const struct container *k)
{
	for (size_t i = 0; i < a->n; i++)
		if (!strcmp(a->of[i].id, k->id) && !strcmp(a->of[i].engine, k->engine))
			return true;
	return false;
}

static bool is_row(const struct cli *c, const struct asked_for *asked, const struct container *k)
{
	return asked && asked->n ? is_asked_for(asked, k) : ps_is_shown(c, k);
}

static int print_table(
	const struct cli *c, const struct snapshot *s, const struct asked_for *asked, bool ascii)
{
	AUTO_FREE char *cells = xcalloc(s->ncontainers * NCOLUMNS + 1, PS_CELL_MAX);
	AUTO_STR struct str line = STR_INIT;
	int width[NCOLUMNS] = {0}, terminal = cli_columns();
	size_t rows = 0;

	for (size_t i = 0; i < s->ncontainers; i++) {
		char *row = cells + rows * NCOLUMNS * PS_CELL_MAX;

		if (!is_row(c, asked, &s->containers[i]))
			continue;
		rows++;
		for (size_t k = 0; k < NCOLUMNS; k++) {
			char *cell = row + k * PS_CELL_MAX;
			AUTO_STR struct str plain = STR_INIT;
			int w;

			columns[k].cell(cell, &s->containers[i], s);
			if (ascii) {
				text_neutralise(&plain, cell, strlen(cell), true);
				snprintf(cell, PS_CELL_MAX, "%s", plain.s);
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
			const char *cell = cells + (i * NCOLUMNS + k) * PS_CELL_MAX;

			if (width[k])
				add_cell(&line, &columns[k], *cell ? cell : "-", width[k]);
		}
		print_line(&line, terminal);
	}
	return cli_finish();
}

/* ---- lines of the person's own form: {{.Name}} */

static void cell_id(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	snprintf(buf, PS_CELL_MAX, "%.12s", c->id);
}

static void cell_networks(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	text_clean(buf, PS_CELL_MAX, c->networks);
}

static void cell_exit_code(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	if (ps_is_ended(c))
		snprintf(buf, PS_CELL_MAX, "%d", c->exit_code);
}

static void cell_restarts(char *buf, const struct container *c, const struct snapshot *s)
{
	(void)s;
	snprintf(buf, PS_CELL_MAX, "%d", c->restarts);
}

static const struct {
	const char *name;
	void (*cell)(char *buf, const struct container *c, const struct snapshot *s);
} fields[] = {{"ID", cell_id}, {"Name", cell_name}, {"Names", cell_name}, {"Agent", cell_agent},
	{"Host", cell_host}, {"State", cell_state}, {"Status", cell_state}, {"CPU", cell_cpu},
	{"Memory", cell_memory}, {"Limit", cell_limit}, {"RX", cell_rx}, {"TX", cell_tx},
	{"PIDs", cell_pids}, {"Up", cell_up}, {"Image", cell_image}, {"Ports", ps_ports},
	{"Networks", cell_networks}, {"ExitCode", cell_exit_code}, {"Restarts", cell_restarts}};

struct ps_row {
	const struct container *c;
	const struct snapshot *s;
};

static int add_field(struct str *out, const char *name, bool json, const void *row, struct err *e)
{
	const struct ps_row *r = row;
	char cell[PS_CELL_MAX] = "";

	for (size_t i = 0; i < COUNT(fields); i++) {
		if (strcmp(name, fields[i].name) != 0)
			continue;
		if (r)
			fields[i].cell(cell, r->c, r->s);
		return form_text(out, cell, json);
	}
	return form_no_field(name,
		".ID, .Name, .Host, .Agent, .State, .CPU, .Memory, .Limit, .RX, .TX, .PIDs, .Up, .Image, "
		".Ports, .Networks, .ExitCode and .Restarts",
		e);
}

static int print_own_lines(const struct cli *c, const struct snapshot *s,
	const struct asked_for *asked, const struct form *form)
{
	AUTO_STR struct str lines = STR_INIT;

	for (size_t i = 0; i < s->ncontainers; i++)
		if (is_row(c, asked, &s->containers[i]))
			form_line(form, &(struct ps_row){&s->containers[i], s}, &lines, NULL);
	form_print(form, &lines);
	return cli_finish();
}

int cli_ps(const struct cli *c, const struct settings *s, struct err *e)
{
	const char *format = cli_flag(c, "quiet") ? "{{.ID}}" : cli_value(c, "format");
	bool json = cli_flag(c, "json") || (format && !strcmp(format, "json"));
	struct form form = {.words = {"table", "json"}, .cell = add_field};
	const struct snapshot *snapshot;
	struct backend *b;
	int rc;

	if (cli_check_filters(c, cli_container_filters, e) ||
		form_read(&form, cli_flag(c, "json") ? NULL : format, e))
		return -1;
	b = cli_flag(c, "all-hosts") ? cli_backend_hosts(c, s, "ps", true, e)
				     : cli_backend(c, "ps", NULL, true, e);
	if (!b)
		return -1;
	/* Whether it is healthy is known once it was inspected. */
	snapshot = cli_wait(
		b, !cli_flag(c, "quiet") || cli_has_filter(c, cli_container_filters, "health"), e);
	if (!snapshot || check_hosts(c, snapshot, e))
		rc = -1;
	else if (json)
		rc = ps_print_json(c, snapshot);
	else if (form.text)
		rc = print_own_lines(c, snapshot, NULL, &form);
	else
		rc = print_table(c, snapshot, NULL, s->ascii == ASCII_YES);
	/* The others are printed; that some are missing is said, and is the exit code. */
	if (rc == 0 && cli_tell_silent(snapshot))
		rc = err_exit_code(&(struct err){.kind = ERR_UNREACHABLE});
	snapshot_unref(snapshot);
	backend_stop(b);
	return rc;
}

/* Found once: who takes the name of one later is another. */
static int ask_for(
	struct asked_for *a, const struct cli *c, const struct snapshot *s, struct err *e)
{
	AUTO_FREE const struct container **chosen = xcalloc((size_t)c->argc + 1, sizeof *chosen);

	if (cli_chosen(c, s, chosen, e))
		return -1;
	a->n = (size_t)c->argc;
	a->of = arena_array(&a->mem, a->n + 1, sizeof *a->of);
	for (size_t i = 0; i < a->n; i++)
		a->of[i] = (struct target){arena_strdup(&a->mem, chosen[i]->engine),
			arena_strdup(&a->mem, chosen[i]->id),
			arena_strdup(&a->mem, chosen[i]->name)};
	return 0;
}

/* One that is stopped may be started again; when the last is removed there is nothing left to wait for. */
static int check_asked_for(const struct asked_for *a, const struct snapshot *s, struct err *e)
{
	char shown[128];

	for (size_t i = 0; i < s->ncontainers; i++)
		if (is_asked_for(a, &s->containers[i]))
			return 0;
	if (!a->n)
		return 0;
	return err_set(e, ERR_NOT_FOUND, "%s%s removed.",
		text_clean(shown, sizeof shown, a->of[0].name),
		a->n > 1 ? " and the others were" : " was");
}

int cli_stats(const struct cli *c, const struct settings *s, struct err *e)
{
	struct asked_for asked = {0};
	bool once = cli_flag(c, "no-stream");
	struct form form = {.words = {"table"}, .cell = add_field};
	const struct snapshot *shot;
	struct backend *b;
	int rc;

	if (form_read(&form, cli_value(c, "format"), e))
		return -1;
	b = cli_flag(c, "all-hosts") ? cli_backend_hosts(c, s, "stats", once, e)
				     : cli_backend(c, "stats", NULL, once, e);
	if (!b)
		return -1;
	arena_init(&asked.mem, 1024);
	shot = cli_wait(b, true, e);
	rc = shot ? ask_for(&asked, c, shot, e) : -1;
	while (rc == 0) {
		/* A terminal is a page, anything else gets one table after the other. */
		if (!once && cli_columns())
			fputs("\033[H\033[J", stdout);
		rc = form.text ? print_own_lines(c, shot, &asked, &form)
			       : print_table(c, shot, &asked, s->ascii == ASCII_YES);
		if (once || rc || !cli_pause(1000))
			break;
		snapshot_unref(shot);
		shot = cli_wait(b, true, e);
		rc = shot ? check_asked_for(&asked, shot, e) : -1;
	}
	snapshot_unref(shot);
	backend_stop(b);
	arena_release(&asked.mem);
	return rc;
}
