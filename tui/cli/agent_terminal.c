/* agent_terminal.c - `berth terminal`: agents' own terminals, which go on without a console. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/egress.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/terminal.h>
#include <berth/terminal_status.h>
#include <berth/text.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/run.h"

#define ROWS_MAX 1024

static const char *terminal_name(const struct cli *c)
{
	return c->argc > 1 ? c->argv[1] : USUAL_NAME;
}

/* "120x30" */
static int read_size(const char *text, int *columns, int *rows, struct err *e)
{
	int end = 0;

	if (sscanf(text, "%4dx%4d%n", columns, rows, &end) == 2 && !text[end] && *columns > 0 &&
		*rows > 0)
		return 0;
	return err_set(e, ERR_USAGE, "--size takes COLUMNSxROWS, 120x30, not `%.40s`.", text);
}

int cli_terminal_start(const struct cli *c, const struct settings *s, struct err *e)
{
	struct run_request q = {.agent = c->argv[0],
		.program = "terminal",
		.cwd = cli_value(c, "workdir"),
		.restart = cli_flag(c, "restart")};
	const char *size = cli_value(c, "size");
	struct policy policy;
	struct arena mem;
	int rc;

	(void)s;
	if (size && read_size(size, &q.columns, &q.rows, e))
		return -1;
	if (c->nwords) {
		q.argv = (const char *const *)c->words;
		q.argc = (size_t)c->nwords;
	}
	arena_init(&mem, 1024);
	rc = cli_policy(c, &policy, &mem, e);
	if (!rc)
		rc = agents_start_terminal(&q, terminal_name(c), &policy, e);
	arena_release(&mem);
	if (rc)
		return -1;
	if (agents_restarts_terminal(c->argv[0], terminal_name(c)))
		cli_start_keeper(c);
	printf("terminal %s of %s is running\n", terminal_name(c), c->argv[0]);
	return cli_recorded(cli_finish() ? 1 : 0, 1);
}

static int do_stop_terminal(void *ctx, struct audit_record *r, struct err *e)
{
	return terminals_stop(r->name, ctx, e);
}

int cli_terminal_stop(const struct cli *c, const struct settings *s, struct err *e)
{
	const char *name = terminal_name(c);
	const struct key_value kv[] = {{"terminal", name, false}};
	const struct audit_record r = {
		.operation = OP_TERMINAL_STOP, .params = kv, .nparams = COUNT(kv)};
	struct policy policy;
	struct arena mem;
	int rc;

	(void)s;
	arena_init(&mem, 1024);
	rc = cli_policy(c, &policy, &mem, e);
	if (!rc)
		rc = agents_act_on_terminal(
			c->argv[0], &r, &policy, do_stop_terminal, (void *)(uintptr_t)name, e);
	arena_release(&mem);
	if (rc)
		return -1;
	printf("terminal %s of %s is stopped\n", name, c->argv[0]);
	return cli_recorded(cli_finish() ? 1 : 0, 1);
}

static const char *state_of(const struct terminal_screen *s)
{
	static const char *const words[] = {"running", "ended", "lost"};

	return words[s->status];
}

/* Members of the open object. */
static void add_terminal_members(struct jsonw *j, const struct terminal_screen *s)
{
	jsonw_text(j, "state", state_of(s));
	if (s->status == TERMINAL_ENDED)
		jsonw_int(j, "exit_code", s->exit_code);
	else
		jsonw_null(j, "exit_code");
	jsonw_text(j, "command", s->command);
	jsonw_text(j, "title", s->title);
	jsonw_text(j, "notice", s->notice);
	jsonw_int(j, "columns", s->columns);
	jsonw_int(j, "rows", s->rows);
	jsonw_int(j, "started", s->started_ms);
	jsonw_int(j, "changed", s->changed_ms);
	jsonw_uint(j, "bells", s->bells);
	jsonw_uint(j, "notices", s->notices);
	jsonw_uint(j, "missed_bytes", s->missed);
}

static int print_terminals_json(
	const struct terminal_row *row, const struct terminal_judged *judged, size_t n)
{
	struct jsonw j;

	jsonw_document(&j, "berth.terminals/1");
	jsonw_array(&j, "terminals");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "container", row[i].container);
		jsonw_text(&j, "agent", *row[i].agent ? row[i].agent : NULL);
		jsonw_text(&j, "name", row[i].name);
		add_terminal_members(&j, &row[i].screen);
		jsonw_text(&j, "status", terminal_does_name(judged[i].does));
		if (judged[i].since_ms > 0)
			jsonw_int(&j, "since", judged[i].since_ms);
		else
			jsonw_null(&j, "since");
		jsonw_text(&j, "reason", judged[i].reason);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static void print_terminal(const struct terminal_row *r, const struct terminal_judged *judged)
{
	const struct terminal_screen *s = &r->screen;
	char since[FORMAT_MAX] = "-";
	AUTO_STR struct str title = STR_INIT;

	terminal_title_text(s, &title);
	if (judged->since_ms > 0)
		format_span(since, (clock_wall_ms() - judged->since_ms) / 1000);
	printf("%-20s %-12s %-8s %8s  %-36s %s\n", *r->agent ? r->agent : r->container, r->name,
		terminal_does_name(judged->does), since, judged->reason, title.s);
}

static void judge_terminals(const struct terminal_row *row, size_t n, struct terminal_judged *ret)
{
	struct err why = ERR_INIT;
	struct terminal_programs *p = n ? terminal_programs_open(&why) : NULL;

	if (n && !p)
		fprintf(stderr, "berth: programs in terminals are not recognised: %s\n", why.msg);
	for (size_t i = 0; i < n; i++)
		terminal_judge_row(&row[i], p, &ret[i]);
	terminal_programs_free(p);
}

int cli_terminal_list(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct terminal_row *row = xcalloc(ROWS_MAX, sizeof *row);
	AUTO_FREE struct terminal_judged *judged = xcalloc(ROWS_MAX, sizeof *judged);
	char container[64];
	size_t n;

	(void)s;
	text_init();
	if (c->argc && egress_container(c->argv[0], container, e))
		return -1;
	n = terminals_list(c->argc ? container : NULL, row, ROWS_MAX);
	judge_terminals(row, n, judged);
	if (cli_flag(c, "json"))
		return print_terminals_json(row, judged, n);
	if (!n)
		puts("there is no terminal");
	else
		printf("%-20s %-12s %-8s %8s  %-36s %s\n", "AGENT", "NAME", "STATUS", "SINCE",
			"REASON", "TITLE");
	for (size_t i = 0; i < n; i++)
		print_terminal(&row[i], &judged[i]);
	return cli_finish();
}

static int print_screen_json(
	const struct cli *c, const char *container, const struct terminal_screen *s)
{
	struct jsonw j;

	jsonw_document(&j, "berth.terminal_screen/1");
	jsonw_text(&j, "container", container);
	jsonw_text(&j, "name", terminal_name(c));
	add_terminal_members(&j, s);
	jsonw_object(&j, "cursor");
	jsonw_int(&j, "column", s->cursor_x + 1);
	jsonw_int(&j, "row", s->cursor_y + 1);
	jsonw_bool(&j, "shown", s->cursor_shown);
	jsonw_end(&j);
	jsonw_array(&j, "lines");
	for (int y = 0; y < s->rows; y++) {
		AUTO_STR struct str line = STR_INIT;

		terminal_row_text(s, y, false, &line);
		jsonw_text(&j, NULL, line.s);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

/* Without the empty lines at its end. */
static int print_screen_text(const struct terminal_screen *s)
{
	AUTO_STR struct str all = STR_INIT;
	size_t last = 0;

	for (int y = 0; y < s->rows; y++) {
		size_t before = all.len;

		terminal_row_text(s, y, false, &all);
		if (all.len > before)
			last = all.len + 1;
		str_addc(&all, '\n');
	}
	fwrite(all.s, 1, last, stdout);
	return cli_finish();
}

int cli_terminal_screen(const struct cli *c, const struct settings *s, struct err *e)
{
	struct terminal_screen screen = {0};
	char container[64];
	int rc;

	(void)s;
	text_init();
	if (egress_container(c->argv[0], container, e) ||
		terminals_read(container, terminal_name(c), &screen, e))
		rc = -1;
	else
		rc = cli_flag(c, "json") ? print_screen_json(c, container, &screen)
					 : print_screen_text(&screen);
	terminal_screen_release(&screen);
	return rc;
}
