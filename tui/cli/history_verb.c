/* history_verb.c - `berth history`: prints a container's usage over time, and its events. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/past.h>
#include <berth/text.h>
#include <berth/when.h>

#include "cli/commands.h"

#define LINES_SHOWN 60
#define HOUR_MS INT64_C(3600000)

struct asked {
	const struct cli *c;
	int64_t from_ms, to_ms, step_ms;
	struct past past;
};

/* --- what is asked --- */

static int read_history_time(const struct cli *c, const char *option, int64_t *ret, struct err *e)
{
	const char *text = cli_value(c, option);
	int64_t ms = text ? when_ms(text, clock_wall_ms(), e) : *ret;

	if (ms < 0)
		return -1;
	*ret = ms;
	return 0;
}

/* As fine as it is kept that far back; for people no more lines than they read. */
static int64_t usual_step(const struct asked *a)
{
	static const int64_t nice_s[] = {
		1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400};
	int64_t span_s = (a->to_ms - a->from_ms) / 1000,
		ago_s = (clock_wall_ms() - a->from_ms) / 1000;
	int64_t least = ago_s <= 600 ? 1 : ago_s <= 21600 ? 10 : 300;
	int64_t most =
		cli_flag(a->c, "json") || cli_flag(a->c, "csv") ? PAST_POINTS_MAX : LINES_SHOWN;

	for (size_t i = 0; i < COUNT(nice_s); i++)
		if (nice_s[i] >= least && span_s / nice_s[i] <= most)
			return nice_s[i] * 1000;
	return nice_s[COUNT(nice_s) - 1] * 1000;
}

static int read_step(struct asked *a, struct err *e)
{
	const char *text = cli_value(a->c, "step");
	char *end = NULL;
	long s = text ? strtol(text, &end, 10) : 0;

	if (text && (end == text || *end || s < 1 || s > 30L * 86400))
		return err_set(e, ERR_USAGE, "--step takes seconds, not \"%.40s\".", text);
	a->step_ms = text ? s * 1000 : usual_step(a);
	return 0;
}

static int read_history_options(struct asked *a, struct err *e)
{
	int64_t now = clock_wall_ms(), n;

	a->to_ms = now;
	if (read_history_time(a->c, "until", &a->to_ms, e))
		return -1;
	a->from_ms = a->to_ms - HOUR_MS;
	if (read_history_time(a->c, "since", &a->from_ms, e))
		return -1;
	if (a->from_ms >= a->to_ms)
		return err_set(e, ERR_USAGE, "--since is not before --until.");
	if (cli_flag(a->c, "json") && cli_flag(a->c, "csv"))
		return err_set(e, ERR_USAGE, "Give --json or --csv, not both.");
	if (read_step(a, e))
		return -1;
	a->from_ms -= a->from_ms % a->step_ms;
	n = (a->to_ms - a->from_ms + a->step_ms - 1) / a->step_ms;
	if (n > PAST_POINTS_MAX)
		return err_set(e, ERR_USAGE,
			"That makes %" PRId64
			" steps; at most %d are possible: give a longer --step.",
			n, PAST_POINTS_MAX);
	a->past.npoints = (size_t)n;
	return 0;
}

/* --- for people --- */

static void print_history_event(const struct asked *a, const struct past_event *x)
{
	char at[64], name[PAST_NAME_MAX];
	struct tm tm;
	time_t t = (time_t)(x->at_ms / 1000);

	strftime(at, sizeof at, "%m-%d %H:%M:%S", localtime_r(&t, &tm));
	printf("%s  ", at);
	if (!*a->past.row.name)
		printf("%s ", text_clean(name, sizeof name, x->name));
	fputs(past_what_name(x->what), stdout);
	if ((x->what == PAST_ENDED || x->what == PAST_OOM) && x->value >= 0)
		printf(" with %d", (int)x->value);
	putchar('\n');
}

static void print_history_point(const struct past_point *p)
{
	char at[64], cpu[FORMAT_MAX], max[FORMAT_MAX], mem[FORMAT_MAX], lim[FORMAT_MAX];
	char rx[FORMAT_MAX], tx[FORMAT_MAX], in[FORMAT_MAX], out[FORMAT_MAX];
	struct tm tm;
	time_t t = (time_t)(p->at_ms / 1000);

	strftime(at, sizeof at, "%m-%d %H:%M:%S", localtime_r(&t, &tm));
	printf("%s %7s %7s %8s %8s %8s %8s %8s %8s %5.0f\n", at,
		format_percent(cpu, p->v[PAST_CPU]), format_percent(max, p->v[PAST_CPU_MAX]),
		format_bytes(mem, (uint64_t)p->v[PAST_MEMORY_MAX]),
		p->v[PAST_MEMORY_LIMIT] > 0 ? format_bytes(lim, (uint64_t)p->v[PAST_MEMORY_LIMIT])
					    : "-",
		format_bytes(rx, (uint64_t)p->v[PAST_NET_RX]),
		format_bytes(tx, (uint64_t)p->v[PAST_NET_TX]),
		format_bytes(in, (uint64_t)p->v[PAST_BLOCK_READ]),
		format_bytes(out, (uint64_t)p->v[PAST_BLOCK_WRITE]), (double)p->v[PAST_PIDS]);
}

static int print_history_text(const struct asked *a)
{
	const struct past *p = &a->past;
	bool gap = false;
	size_t next = 0;

	printf("%-14s %7s %7s %8s %8s %8s %8s %8s %8s %5s\n", "TIME", "CPU %", "HIGHEST", "MEM",
		"LIMIT", "NET IN/s", "OUT/s", "READ/s", "WRITE/s", "PIDS");
	for (size_t i = 0; i < p->npoints; i++) {
		const struct past_point *at = &p->point[i];

		if (at->seen)
			print_history_point(at);
		else if (!gap)
			puts("               nothing is kept of what follows");
		gap = !at->seen;
		for (; next < p->nevents && p->event[next].at_ms < at->at_ms + p->step_ms; next++) {
			print_history_event(a, &p->event[next]);
			gap = false;
		}
	}
	return cli_finish();
}

/* --- for programs --- */

static const struct {
	const char *name;
	int decimals;
} value_names[PAST_VALUES] = {[PAST_CPU] = {"cpu_percent", 2},
	[PAST_CPU_MAX] = {"cpu_percent_highest", 2},
	[PAST_MEMORY] = {"memory_bytes", 0},
	[PAST_MEMORY_MAX] = {"memory_bytes_highest", 0},
	[PAST_MEMORY_LIMIT] = {"memory_limit_bytes", 0},
	[PAST_NET_RX] = {"net_rx_bytes_per_s", 0},
	[PAST_NET_TX] = {"net_tx_bytes_per_s", 0},
	[PAST_BLOCK_READ] = {"block_read_bytes_per_s", 0},
	[PAST_BLOCK_WRITE] = {"block_write_bytes_per_s", 0},
	[PAST_PIDS] = {"pids", 0},
	[PAST_PIDS_LIMIT] = {"pids_limit", 0},
	[PAST_THROTTLED] = {"throttled_percent", 2}};

static int print_history_csv(const struct past *p)
{
	char at[FORMAT_MAX];

	fputs("at", stdout);
	for (int i = 0; i < PAST_VALUES; i++)
		printf(",%s", value_names[i].name);
	putchar('\n');
	for (size_t k = 0; k < p->npoints; k++) {
		if (!p->point[k].seen)
			continue;
		fputs(format_stamp(at, p->point[k].at_ms), stdout);
		for (int i = 0; i < PAST_VALUES; i++)
			printf(",%.*f", value_names[i].decimals, (double)p->point[k].v[i]);
		putchar('\n');
	}
	return cli_finish();
}

static void add_event_json(struct jsonw *j, const struct past_event *x)
{
	char at[FORMAT_MAX];

	jsonw_object(j, NULL);
	jsonw_text(j, "at", format_stamp(at, x->at_ms));
	jsonw_text(j, "container", x->name);
	jsonw_text(j, "event", past_what_name(x->what));
	if ((x->what == PAST_ENDED || x->what == PAST_OOM) && x->value >= 0)
		jsonw_int(j, "exit_code", x->value);
	else
		jsonw_null(j, "exit_code");
	jsonw_end(j);
}

static int print_history_json(const struct asked *a)
{
	const struct past *p = &a->past;
	char at[FORMAT_MAX];
	struct jsonw j;

	jsonw_document(&j, "berth.history/1");
	jsonw_text(&j, "engine", p->row.engine);
	jsonw_text(&j, "container", *p->row.name ? p->row.name : NULL);
	jsonw_text(&j, "agent", *p->row.agent ? p->row.agent : NULL);
	jsonw_text(&j, "since", format_stamp(at, a->from_ms));
	jsonw_text(&j, "until", format_stamp(at, a->to_ms));
	jsonw_int(&j, "step_s", p->step_ms / 1000);
	jsonw_array(&j, "points");
	for (size_t k = 0; k < p->npoints; k++) {
		if (!p->point[k].seen)
			continue;
		jsonw_object(&j, NULL);
		jsonw_text(&j, "at", format_stamp(at, p->point[k].at_ms));
		for (int i = 0; i < PAST_VALUES; i++)
			jsonw_number(
				&j, value_names[i].name, p->point[k].v[i], value_names[i].decimals);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_array(&j, "events");
	for (size_t i = 0; i < p->nevents; i++)
		add_event_json(&j, &p->event[i]);
	return jsonw_print(&j);
}

/* --- what there is --- */

static void add_kept_json(struct jsonw *j, const struct past_row *r)
{
	char at[FORMAT_MAX];

	jsonw_object(j, NULL);
	jsonw_text(j, "engine", r->engine);
	jsonw_text(j, "container", *r->name ? r->name : NULL);
	jsonw_text(j, "agent", *r->agent ? r->agent : NULL);
	jsonw_text(j, "since", format_stamp(at, r->since_ms));
	jsonw_text(j, "last", format_stamp(at, r->last_ms));
	jsonw_end(j);
}

static void print_kept_row(const struct past_row *r)
{
	char name[PAST_NAME_MAX], agent[PAST_NAME_MAX], since[FORMAT_MAX], last[FORMAT_MAX];
	int64_t now = clock_wall_ms();

	printf("%-40s %-16s %8s %8s\n",
		*r->name ? text_clean(name, sizeof name, r->name) : "(all together)",
		text_clean(agent, sizeof agent, r->agent),
		format_span(since, (now - r->since_ms) / 1000),
		format_span(last, (now - r->last_ms) / 1000));
}

static int list_history(const struct cli *c, const char *path, struct err *e)
{
	AUTO_FREE struct past_row *rows = NULL;
	struct jsonw j;
	size_t n;

	if (cli_flag(c, "csv"))
		return err_set(e, ERR_USAGE, "--csv needs a container, or --all.");
	if (past_list(path, &rows, &n, e))
		return -1;
	if (!cli_flag(c, "json")) {
		printf("%-40s %-16s %8s %8s\n", "CONTAINER", "AGENT", "SINCE", "LAST");
		for (size_t i = 0; i < n; i++)
			print_kept_row(&rows[i]);
		return cli_finish();
	}
	jsonw_document(&j, "berth.history_list/1");
	jsonw_array(&j, "containers");
	for (size_t i = 0; i < n; i++)
		add_kept_json(&j, &rows[i]);
	return jsonw_print(&j);
}

int cli_history(const struct cli *c, const struct settings *s, struct err *e)
{
	struct asked a = {.c = c};
	bool all = cli_flag(c, "all");
	char path[PATH_MAX];
	int rc;

	(void)s;
	if (all && c->argc)
		return err_set(e, ERR_USAGE, "Give a container or --all, not both.");
	if (read_history_options(&a, e) || past_path(path, sizeof path, e))
		return -1;
	if (!all && !c->argc)
		return list_history(c, path, e);
	rc = past_read(path, NULL, all ? "" : c->argv[0], a.from_ms, a.step_ms, a.past.npoints,
		&a.past, e);
	if (rc == 0)
		rc = cli_flag(c, "json")     ? print_history_json(&a)
			: cli_flag(c, "csv") ? print_history_csv(&a.past)
					     : print_history_text(&a);
	past_release(&a.past);
	return rc;
}
