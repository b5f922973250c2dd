/* look.c - `berth logs|inspect|top|events`: what the console shows of containers, for scripts. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/regex.h>
#include <berth/text.h>

#include "cli/run.h"
#include "views/audit/audit_text.h"

#define DETAIL_MS 5000 /* then processes that nobody has told are not shown */

/* What all of these begin with. */
struct look {
	const struct cli *c;
	struct policy policy;
	struct arena mem;
	struct backend *b;
	const struct snapshot *s;
	const struct container **chosen;
};

static int open_look(struct look *l, const struct cli *c, const struct settings *s, struct err *e)
{
	*l = (struct look){.c = c};
	arena_init(&l->mem, 1024);
	policy_from_settings(&l->policy, s, &l->mem);
	l->chosen = xcalloc((size_t)c->argc + 1, sizeof *l->chosen);
	l->b = cli_backend(
		c, c->command->name, &l->policy, strcmp(c->command->name, "events") != 0, e);
	if (l->b)
		l->s = cli_wait(l->b, false, e);
	return l->s ? cli_chosen(c, l->s, l->chosen, e) : -1;
}

static void close_look(struct look *l)
{
	snapshot_unref(l->s);
	if (l->b)
		backend_stop(l->b);
	free(l->chosen);
	arena_release(&l->mem);
}

/* Lines go to a terminal neutralised, anywhere else as they are. */
static void print_outside(FILE *to, const char *s, size_t n)
{
	AUTO_STR struct str shown = STR_INIT;

	if (!isatty(fileno(to))) {
		fwrite(s, 1, n, to);
		return;
	}
	text_neutralise(&shown, s, n, false);
	fwrite(shown.s, 1, shown.len, to);
}

/* --- logs --- */

#define GREP_AT_ONCE 16 /* containers */
#define GREP_LINES 10000

struct log_print {
	const struct look *l;
	int64_t since_ns, until_ns; /* 0: open */
	int tail;
	size_t n;                    /* containers, of l->chosen */
	const struct container **of; /* those being read now: the sources of lines */
	struct regex *grep;
	bool inverse; /* lines that do not match */
	bool json, named, colours;
	size_t found, most;
	struct err unread; /* why some of them could not be searched */
};

static int read_moment(const struct cli *c, const char *option, int64_t *ret, struct err *e)
{
	const char *text = cli_value(c, option);
	int64_t ms;

	*ret = 0;
	if (!text)
		return 0;
	ms = audit_text_time(text, clock_wall_ms(), e);
	if (ms < 0)
		return -1;
	*ret = ms * 1000000;
	return 0;
}

static int read_lines_option(const struct cli *c, const char *option, int *ret, struct err *e)
{
	const char *text = cli_value(c, option);
	char *end;
	long n;

	if (!text || !strcmp(text, "all"))
		return 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || n < 0 || n > 100000000)
		return err_set(
			e, ERR_USAGE, "--%s takes a number of lines, not \"%.40s\".", option, text);
	*ret = (int)n;
	return 0;
}

/* A piece in this colour, harmless; "" none. */
static void print_piece(FILE *to, const char *colour, const char *s, size_t n)
{
	if (*colour)
		fputs(colour, to);
	print_outside(to, s, n);
	if (*colour)
		fputs("\033[0m", to);
}

/* Never an empty one. */
static bool find_in_log(const struct log_print *p, const struct log_line *line, size_t from,
	size_t *start, size_t *end)
{
	while (p->grep && !p->inverse && from <= line->len &&
		regex_find(p->grep, line->text, line->len, from, start, end) == 1) {
		if (*end > *start)
			return true;
		from = *end + 1;
	}
	return false;
}

static bool is_log_wanted(const struct log_print *p, const struct log_line *line)
{
	return !p->grep ||
		(regex_find(p->grep, line->text, line->len, 0, NULL, NULL) == 1) != p->inverse;
}

/* The line with what was sought in it. */
static void print_log_text(const struct log_print *p, FILE *to, const struct log_line *line)
{
	size_t at = 0, start, end;

	while (p->colours && find_in_log(p, line, at, &start, &end)) {
		print_outside(to, line->text + at, start - at);
		print_piece(to, "\033[1;31m", line->text + start, end - start);
		at = end;
	}
	print_outside(to, line->text + at, line->len - at);
	putc('\n', to);
}

static void print_log_json(const struct log_print *p, const struct log_line *line)
{
	const struct container *c = p->of[line->source];
	size_t at = 0, start, end;
	char stamp[FORMAT_MAX];
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "at", format_stamp(stamp, line->wall_ns / 1000000));
	jsonw_text(&j, "id", c->id);
	jsonw_text(&j, "container", c->name);
	jsonw_text(&j, "agent", *c->agent ? c->agent : NULL);
	jsonw_text(&j, "stream", line->stream == 2 ? "stderr" : "stdout");
	jsonw_textn(&j, "text", line->text, line->len);
	jsonw_bool(&j, "clipped", line->clipped);
	jsonw_array(&j, "hits");
	while (find_in_log(p, line, at, &start, &end)) {
		jsonw_textn(&j, NULL, line->text + start, end - start);
		at = end;
	}
	jsonw_end(&j);
	jsonw_end(&j);
	jsonw_print(&j);
}

static void print_taken_line(const struct log_print *p, const struct log_line *line)
{
	FILE *to = line->stream == 2 && !p->grep ? stderr : stdout;
	char stamp[FORMAT_MAX], shown[128];

	if (p->json) {
		print_log_json(p, line);
		return;
	}
	if (p->named) {
		text_clean(shown, sizeof shown, p->of[line->source]->name);
		print_piece(to, p->colours ? "\033[36m" : "", shown, strlen(shown));
		fputs(" | ", to);
	}
	if (cli_flag(p->l->c, "timestamps"))
		fprintf(to, "%s ", format_stamp(stamp, line->wall_ns / 1000000));
	print_log_text(p, to, line);
}

static void take_log_lines(struct log_print *p, const struct event *ev)
{
	for (size_t i = 0; i < ev->nlines && p->found < p->most; i++) {
		const struct log_line *line = &ev->lines[i];

		if (line->wall_ns < p->since_ns || (p->until_ns && line->wall_ns > p->until_ns) ||
			!is_log_wanted(p, line))
			continue;
		print_taken_line(p, line);
		p->found += p->grep != NULL;
	}
	fflush(stdout);
}

/* The logs of some of the containers, to their end.  1: enough was printed, or nobody reads it. */
static int read_logs(struct log_print *p, size_t from, size_t n, bool follow, struct err *e)
{
	struct command *cmd = command_new(CMD_LOGS_OPEN);
	struct event *ev;
	uint64_t id;
	int over = 0;

	cmd->logs.follow = follow;
	cmd->logs.span.tail = p->tail;
	cmd->logs.span.since_ns = p->since_ns;
	p->of = p->l->chosen + from;
	cli_target_all(cmd, p->of, n);
	id = backend_send(p->l->b, cmd);
	while (!over && (ev = cli_answer(p->l->b, id, e))) {
		bool last = ev->kind == EV_LOG_END;
		bool enough;

		take_log_lines(p, ev);
		enough = ferror(stdout) || p->found >= p->most;
		if (last && ev->err.kind && !p->unread.kind)
			p->unread = ev->err;
		event_free(ev);
		over = last || enough;
		if (enough) {
			cmd = command_new(CMD_LOGS_CLOSE);
			cmd->ref = id;
			backend_send(p->l->b, cmd);
			return 1;
		}
	}
	return over ? 0 : -1;
}

/* Those that are named, else all, as far as the filters let them through. */
static size_t choose_logs(struct look *l)
{
	size_t n = 0, all = l->c->argc ? (size_t)l->c->argc : l->s->ncontainers;
	const struct container **of = xcalloc(all + 1, sizeof *of);

	for (size_t i = 0; i < all; i++) {
		const struct container *k = l->c->argc ? l->chosen[i] : &l->s->containers[i];

		if (cli_fits_filters(l->c, &cli_container_filters, k))
			of[n++] = k;
	}
	free(l->chosen);
	l->chosen = of;
	return n;
}

/* As the console's: small letters match capitals until there is a capital, a leading ! inverts. */
static int read_grep(struct log_print *p, const char *text, struct err *e)
{
	char why[REGEX_WHY_MAX];
	unsigned flags = REGEX_FOLD;

	p->inverse = *text == '!';
	text += p->inverse;
	for (const char *at = text; *at; at++)
		if (*at >= 'A' && *at <= 'Z')
			flags = 0;
	if (!*text)
		return err_set(e, ERR_USAGE, "--grep takes an expression.");
	p->grep = regex_new(text, flags, why);
	return p->grep
		? 0
		: err_set(e, ERR_USAGE, "`%.80s` is not a regular expression: %s.", text, why);
}

static int read_log_options(struct log_print *p, struct err *e)
{
	const struct cli *c = p->l->c;
	const char *plain = getenv("NO_COLOR");
	int most = 0;

	if (read_lines_option(c, "tail", &p->tail, e) || read_moment(c, "since", &p->since_ns, e) ||
		read_moment(c, "until", &p->until_ns, e) || read_lines_option(c, "max", &most, e) ||
		(cli_value(c, "grep") && read_grep(p, cli_value(c, "grep"), e)))
		return -1;
	p->most = p->grep ? most ? (size_t)most : GREP_LINES : SIZE_MAX;
	p->json = cli_flag(c, "json");
	p->colours = p->grep && isatty(1) && !(plain && *plain);
	return 0;
}

static int end_of_search(const struct log_print *p)
{
	char why[ERR_MSG_MAX];

	fflush(stdout);
	if (p->found >= p->most)
		fprintf(stderr, "berth: ended after %zu lines; --max takes more.\n", p->found);
	if (p->unread.kind)
		fprintf(stderr, "berth: not all was searched: %s\n",
			text_clean(why, sizeof why, p->unread.msg));
	return cli_finish() ? 1 : !p->found;
}

static int print_logs(struct look *l, struct err *e)
{
	struct log_print p = {.l = l, .tail = -1};
	bool follow = cli_flag(l->c, "follow");
	size_t step;
	int rc = read_log_options(&p, e);

	p.n = rc ? 0 : choose_logs(l);
	p.named = p.n > 1 || p.grep;
	step = p.grep && !follow ? GREP_AT_ONCE : p.n;
	for (size_t i = 0; i < p.n && !rc; i += step)
		rc = read_logs(&p, i, p.n - i < step ? p.n - i : step, follow, e);
	if (rc < 0)
		rc = e->kind == ERR_CANCELLED ? 0 : -1; /* C-c is how following ends */
	else if (p.grep)
		rc = end_of_search(&p);
	else
		rc = p.unread.kind ? err_copy(e, &p.unread) : cli_finish();
	regex_free(p.grep);
	return rc;
}

/* --- inspect --- */

static int print_inspected(struct look *l, struct err *e)
{
	for (int i = 0; i < l->c->argc; i++) {
		struct command *cmd = command_new(CMD_INSPECT);
		struct event *ev;

		cli_target_all(cmd, l->chosen + i, 1);
		ev = cli_answer(l->b, backend_send(l->b, cmd), e);
		if (!ev)
			return -1;
		if (ev->err.kind) {
			err_copy(e, &ev->err);
			event_free(ev);
			return -1;
		}
		fputs(i ? ",\n" : "[\n", stdout);
		print_outside(stdout, ev->bytes, ev->nbytes);
		event_free(ev);
	}
	puts("\n]");
	return cli_finish();
}

/* --- top --- */

static void print_process_table(const struct detail *d)
{
	char memory[FORMAT_MAX], cpu[FORMAT_MAX], user[64], shown[512];

	printf("%7s  %-10s %6s %6s  %s\n", "PID", "USER", "CPU %", "MEM", "COMMAND");
	for (size_t i = 0; i < d->nprocesses; i++) {
		const struct process_info *p = &d->processes[i];

		printf("%7d  %-10s %6s %6s  %s\n", p->pid,
			p->user && *p->user ? text_clean(user, sizeof user, p->user) : "-",
			p->cpu_percent < 0 ? "-" : format_percent(cpu, p->cpu_percent),
			format_bytes(memory, p->memory_bytes),
			text_clean(shown, sizeof shown, p->command));
	}
}

static int print_processes(struct look *l, struct err *e)
{
	int64_t late = clock_mono_ns() + DETAIL_MS * INT64_C(1000000);
	struct command *cmd = command_new(CMD_FOCUS);

	cli_target_all(cmd, l->chosen, 1);
	backend_send(l->b, cmd);
	while (clock_mono_ns() < late) {
		struct pollfd p = {.fd = backend_fd(l->b), .events = POLLIN};
		const struct snapshot *s;
		struct event *ev;

		while ((ev = backend_next(l->b)))
			event_free(ev);
		s = backend_snapshot(l->b);
		if (s->detail && !strcmp(s->detail->id, l->chosen[0]->id) &&
			s->detail->nprocesses) {
			print_process_table(s->detail);
			snapshot_unref(s);
			return cli_finish();
		}
		snapshot_unref(s);
		poll(&p, 1, 100);
	}
	return err_set(e, ERR_FAILED,
		"%s has no process: it does not run, or the engine did not say.",
		l->chosen[0]->name);
}

/* --- events --- */

static void print_engine_event(const struct look *l, const struct engine_event *v)
{
	char stamp[FORMAT_MAX], type[32], action[64], name[128], more[256];
	struct jsonw j;

	if (!cli_flag(l->c, "json")) {
		printf("%s  %-9s %-14s %s  %s\n", format_stamp(stamp, v->wall_ns / 1000000),
			text_clean(type, sizeof type, v->type),
			text_clean(action, sizeof action, v->action),
			text_clean(name, sizeof name, v->name),
			text_clean(more, sizeof more, v->more));
		return;
	}
	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "at", format_stamp(stamp, v->wall_ns / 1000000));
	jsonw_text(&j, "type", v->type);
	jsonw_text(&j, "action", v->action);
	jsonw_text(&j, "id", v->id);
	jsonw_text(&j, "name", v->name);
	jsonw_text(&j, "more", v->more);
	jsonw_end(&j);
	jsonw_print(&j);
}

static const char *event_field(const void *row, const char *key, size_t n)
{
	const struct engine_event *v = row;
	const struct {
		const char *key, *value;
	} of[] = {{"type", v->type}, {"event", v->action}, {"name", v->name}, {"id", v->id}};

	for (size_t i = 0; i < COUNT(of); i++)
		if (strlen(of[i].key) == n && !memcmp(of[i].key, key, n))
			return of[i].value;
	return NULL;
}

static const struct engine_event no_event = {.type = "", .action = "", .name = "", .id = ""};
static const struct cli_filters event_filters = {"type, event, name or id", &no_event, event_field};

/* Those of the containers named, or all. */
static int print_events(struct look *l, struct err *e)
{
	struct event *ev;

	while ((ev = cli_answer(l->b, 0, e))) {
		const struct engine_event *v = &ev->engine_event;
		bool meant = !l->c->argc && ev->kind == EV_ENGINE;

		for (int i = 0; i < l->c->argc && ev->kind == EV_ENGINE; i++)
			meant |= !strcmp(l->chosen[i]->id, v->id);
		meant = meant && cli_fits_filters(l->c, &event_filters, v);
		if (meant)
			print_engine_event(l, v);
		event_free(ev);
		if (meant && (fflush(stdout) || ferror(stdout)))
			return cli_finish();
	}
	return e->kind == ERR_CANCELLED ? 0 : -1;
}

static int run_look(const struct cli *c, const struct settings *s,
	int (*verb)(struct look *l, struct err *e), struct err *e)
{
	struct look l;
	int rc = open_look(&l, c, s, e) ? -1 : verb(&l, e);

	close_look(&l);
	return rc;
}

int cli_logs(const struct cli *c, const struct settings *s, struct err *e)
{
	if (!c->argc && !cli_value(c, "grep") && !cli_value(c, "filter"))
		return err_set(e, ERR_USAGE,
			"logs takes containers, or --grep RE over all of them (berth help logs).");
	if (cli_value(c, "max") && !cli_value(c, "grep"))
		return err_set(e, ERR_USAGE, "--max goes with --grep.");
	if (cli_check_filters(c, &cli_container_filters, e))
		return -1;
	return run_look(c, s, print_logs, e);
}

int cli_inspect(const struct cli *c, const struct settings *s, struct err *e)
{
	return run_look(c, s, print_inspected, e);
}

int cli_top(const struct cli *c, const struct settings *s, struct err *e)
{
	return run_look(c, s, print_processes, e);
}

int cli_events(const struct cli *c, const struct settings *s, struct err *e)
{
	if (cli_check_filters(c, &event_filters, e))
		return -1;
	return run_look(c, s, print_events, e);
}
