/* report.c - `berth report`: gathers the data; report_page.c prints the page. */
#include "cli/report.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>
#include <berth/when.h>

#include "cli/run.h"
#include "views/audit/audit_text.h"

#define SESSIONS_MOST 256
#define DAY_MS ((int64_t)86400000)

struct gathering {
	struct report *r;
	const char *session; /* NULL: all */
	size_t wanted;       /* records that may still come */
};

bool report_is_command(const struct report_row *r)
{
	return r->operation == OP_CONTAINER_EXEC || r->operation == OP_TOOL_RUN ||
		r->operation == OP_CONTAINER_SHELL || r->operation == OP_TERMINAL_START;
}

bool report_is_decision(const struct report_row *r)
{
	return r->operation == OP_NET_ALLOW || r->operation == OP_NET_DENY ||
		r->operation == OP_NET_FORGET || r->operation == OP_JOB_ALLOW;
}

static const char *row_param(struct arena *mem, const struct audit_record *r, const char *key)
{
	for (size_t i = 0; i < r->nparams; i++)
		if (strcmp(r->params[i].key, key) == 0)
			return arena_strdup(mem, r->params[i].value);
	return "";
}

static const char *about_row(struct arena *mem, const struct audit_record *r)
{
	AUTO_STR struct str text = STR_INIT;
	struct audit_record bare = *r;

	bare.error = "";
	if (r->operation == OP_CONTAINER_EXEC || r->operation == OP_TERMINAL_START)
		return row_param(mem, r, "command");
	audit_text_detail(&text, &bare);
	return arena_strdup(mem, text.s);
}

static void take_reported(void *ctx, const struct audit_record *a, const char *line, size_t len)
{
	struct gathering *g = ctx;
	struct report *r = g->r;
	struct arena *mem = &r->mem;

	(void)line;
	(void)len;
	if (operation_table[a->operation].class == OP_INTERNAL ||
		(g->session && strcmp(a->session, g->session) != 0))
		return;
	if (!g->wanted) {
		r->older++;
		return;
	}
	g->wanted--;
	r->row = mem_grow(r->row, &r->rows_cap, r->nrows + 1, sizeof *r->row);
	r->row[r->nrows++] = (struct report_row){.seq = a->seq,
		.intent = a->intent,
		.items = a->items,
		.at_ms = a->wall_ms,
		.duration_us = a->duration_us,
		.operation = a->operation,
		.phase = a->phase,
		.result = a->result,
		.who = arena_strdup(mem, *a->agent ? a->agent : a->user),
		.agent = arena_strdup(mem, a->agent),
		.name = arena_strdup(mem, *a->name ? a->name : a->target),
		.about = about_row(mem, a),
		.error = arena_strdup(mem, a->error),
		.image = a->operation == OP_AGENT_UP ? row_param(mem, a, "image") : "",
		.network = a->operation == OP_AGENT_UP ? row_param(mem, a, "network") : ""};
}

static int compare_row_seqs(const void *a, const void *b)
{
	const struct report_row *x = a, *y = b;

	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

/* What began with an intent began then. */
static void join_intents(struct report *r)
{
	mem_sort(r->row, r->nrows, sizeof *r->row, compare_row_seqs);
	for (size_t i = 0; i < r->nrows; i++) {
		struct report_row key = {.seq = r->row[i].intent}, *intent;

		intent = key.seq ? bsearch(&key, r->row, r->nrows, sizeof *r->row, compare_row_seqs)
				 : NULL;
		if (intent && intent->phase == AUDIT_INTENT) {
			intent->told = true;
			r->row[i].at_ms = intent->at_ms;
		}
	}
}

static int read_records(struct gathering *g, struct err *e)
{
	const struct audit_filter filter = {.since_ms = g->r->since_ms, .until_ms = g->r->until_ms};
	struct audit_reader *log = audit_reader_open(NULL, &filter, e);
	int more = 1;

	if (!log)
		return -1;
	while (more > 0)
		more = audit_reader_older(log, 4096, 0, take_reported, g, e);
	audit_reader_close(log);
	join_intents(g->r);
	return more < 0 ? -1 : 0;
}

static struct report_agent *find_reported(struct report *r, const char *name)
{
	for (size_t i = 0; i < r->nagents; i++)
		if (strcmp(r->agent[i].name, name) == 0)
			return &r->agent[i];
	return NULL;
}

static void count_row(struct report_agent *a, const struct report_row *row)
{
	a->last_ms = row->at_ms;
	if (row->operation == OP_AGENT_UP && row->result == AUDIT_OK) {
		a->container = row->name;
		a->image = row->image;
		a->network = row->network;
	}
	a->commands += report_is_command(row);
	a->refused += row->result == AUDIT_REFUSED;
	a->failed += report_is_command(row) && row->result != AUDIT_OK &&
		row->result != AUDIT_REFUSED && row->result != AUDIT_PENDING;
}

static void list_reported(struct report *r)
{
	for (size_t i = 0; i < r->nrows; i++) {
		const struct report_row *row = &r->row[i];
		struct report_agent *a;

		if (row->told || !*row->agent)
			continue;
		a = find_reported(r, row->agent);
		if (!a && r->nagents < REPORT_AGENTS) {
			a = &r->agent[r->nagents++];
			*a = (struct report_agent){.name = row->agent,
				.container = "",
				.image = "",
				.network = "",
				.first_ms = row->at_ms};
		}
		if (a)
			count_row(a, row);
	}
}

/* What its last commands printed, as far as it is kept. */
static void read_outputs(struct report *r, const char *container)
{
	AUTO_FREE struct journal_command *all = xcalloc(REPORT_OUTPUTS, sizeof *all);
	size_t n = journal_list(container, all, REPORT_OUTPUTS);

	for (size_t i = n; i--;) {
		struct report_output *o;

		if (all[i].started_wall_ms < r->since_ms || all[i].started_wall_ms > r->until_ms)
			continue;
		r->output =
			mem_grow(r->output, &r->outputs_cap, r->noutputs + 1, sizeof *r->output);
		o = &r->output[r->noutputs];
		if (journal_read(container, all[i].seq, &o->kept, NULL))
			continue;
		o->agent = arena_strdup(&r->mem, container);
		r->noutputs++;
	}
}

static struct report_connection *find_connection(
	struct report *r, const char *agent, const struct egress_event *v)
{
	struct report_connection *k;

	for (size_t i = 0; i < r->nconnections; i++) {
		k = &r->connection[i];
		if (k->verdict == v->verdict && egress_same_target(&k->to, &v->to) &&
			!strcmp(k->agent, agent))
			return k;
	}
	r->connection = mem_grow(
		r->connection, &r->connections_cap, r->nconnections + 1, sizeof *r->connection);
	k = &r->connection[r->nconnections++];
	*k = (struct report_connection){.agent = agent, .to = v->to, .verdict = v->verdict};
	return k;
}

static void read_connections(struct report *r, const char *container)
{
	AUTO_FREE struct egress_event *v = xcalloc(EGRESS_EVENTS_MAX, sizeof *v);
	int n = egress_ask_log(container, v, EGRESS_EVENTS_MAX, NULL);
	const char *agent = arena_strdup(&r->mem, container);
	int64_t known_ms = egress_known_since(container);

	if (known_ms > r->since_ms && known_ms > r->connections_known_ms)
		r->connections_known_ms = known_ms;
	/* All are counted from 1, and the first that is kept came after the beginning of the report. */
	if (n > 0 && v[0].at_ms > r->since_ms)
		r->connections_lost += v[0].id - 1;
	for (int i = 0; i < n; i++) {
		struct report_connection *k;

		if (v[i].at_ms < r->since_ms || v[i].at_ms > r->until_ms)
			continue;
		k = find_connection(r, agent, &v[i]);
		k->n++;
		k->up += v[i].up;
		k->down += v[i].down;
		k->last_ms = v[i].at_ms;
	}
}

/* Of a session only its own agents: the log says which. */
static bool is_reported(const struct report *r, const char *container, const char *session)
{
	for (size_t i = 0; i < r->nagents; i++)
		if (strcmp(r->agent[i].container, container) == 0)
			return true;
	return !session;
}

static void read_living(struct report *r, const char *session)
{
	AUTO_FREE struct agent_session *up = xcalloc(SESSIONS_MOST, sizeof *up);
	size_t n = agents_sessions(up, SESSIONS_MOST);

	for (size_t i = 0; i < n; i++)
		if (is_reported(r, up[i].container, session)) {
			read_outputs(r, up[i].container);
			read_connections(r, up[i].container);
		}
}

static void release_report(struct report *r)
{
	for (size_t i = 0; i < r->noutputs; i++)
		journal_output_release(&r->output[i].kept);
	for (size_t i = 0; i < r->ncurves; i++)
		past_release(&r->curve[i].past);
	free(r->row);
	free(r->output);
	free(r->connection);
	arena_release(&r->mem);
}

static int read_report_times(const struct cli *c, struct report *r, struct err *e)
{
	const char *since = cli_value(c, "since"), *until = cli_value(c, "until");
	int64_t now = clock_wall_ms();

	/* A session is shown whole. */
	r->since_ms = cli_value(c, "session") ? 0 : now - DAY_MS;
	r->until_ms = now;
	if ((since && (r->since_ms = when_ms(since, now, e)) < 0) ||
		(until && (r->until_ms = when_ms(until, now, e)) < 0))
		return -1;
	if (r->until_ms < r->since_ms)
		return err_set(e, ERR_USAGE, "--until is before --since.");
	return 0;
}

static int gather_report(const struct cli *c, struct report *r, struct err *e)
{
	struct gathering g = {
		.r = r, .session = cli_value(c, "session"), .wanted = 2 * REPORT_ROWS};
	char host[HOST_NAME_MAX + 1] = "";
	char from[FORMAT_MAX];

	if (read_report_times(c, r, e) || read_records(&g, e))
		return -1;
	if (g.session && !r->nrows)
		return err_set(e, ERR_NOT_FOUND,
			"The audit log has no record of a session %.80s in this period.",
			g.session);
	gethostname(host, sizeof host - 1);
	r->host = arena_strdup(&r->mem, host);
	/* A session, or all since the beginning of the log, begins with its first record. */
	if (r->nrows && r->since_ms < r->row[0].at_ms && !cli_value(c, "since"))
		r->since_ms = r->row[0].at_ms;
	format_stamp(from, r->since_ms)[16] = '\0';
	r->what = g.session ? arena_printf(&r->mem, "session %s", g.session)
			    : arena_printf(&r->mem, "all sessions since %sZ", from);
	list_reported(r);
	read_living(r, g.session);
	report_read_curves(r);
	audit_verify(&(struct audit_verify){0}, &r->verdict, &r->unverified);
	return 0;
}

int cli_report(const struct cli *c, const struct settings *s, struct err *e)
{
	struct report *r = xcalloc(1, sizeof *r);
	AUTO_FREE char *page = NULL;
	const char *to = cli_value(c, "out");
	size_t n = 0;
	FILE *out;
	int rc = -1;

	(void)s;
	arena_init(&r->mem, 65536);
	if (!to && isatty(STDOUT_FILENO)) {
		err_set(e, ERR_USAGE,
			"The report is an HTML page, not text for a terminal: give --out FILE.html.");
	} else if (!gather_report(c, r, e)) {
		out = open_memstream(&page, &n);
		report_print(out, r);
		fclose(out);
		rc = cli_put_document(to, page, n, e);
	}
	release_report(r);
	free(r);
	return rc ? -1 : cli_finish();
}
