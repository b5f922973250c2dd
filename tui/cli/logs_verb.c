/* logs_verb.c - `berth logs`: prints or searches the logs of containers, merged by time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/regex.h>
#include <berth/text.h>
#include <berth/when.h>

#include "cli/logs_agent.h"
#include "cli/look.h"

#define GREP_AT_ONCE 16 /* containers */
#define GREP_LINES 10000

/* What is between others, or is searched, or becomes JSON has to be whole. */
#define WHOLE_LINE_MAX (1u << 20)
#define PIECE_MAX 8192u
#define FLUSH_BYTES ((size_t)256 << 10)

struct log_print {
	const struct look *l;
	int64_t since_ns, until_ns; /* 0: open */
	int tail;
	size_t n;                    /* containers, of l->chosen */
	const struct container **of; /* those being read now: the sources of lines */
	struct regex *grep;
	bool inverse; /* lines that do not match */
	bool json, named, colours;
	bool plain; /* the bytes of one container, as the program wrote them */
	size_t found, most;
	size_t cut;        /* lines of which the end is missing */
	struct str out;    /* what is printed next, */
	int to;            /* there: 0 stdout, 1 stderr */
	bool tty[2];       /* so only what is harmless may go there */
	bool within[2];    /* of a line a piece was printed */
	bool unended[2];   /* likewise, and it has no newline */
	struct err unread; /* why some of them could not be searched */
};

static int read_moment(const struct cli *c, const char *option, int64_t *ret, struct err *e)
{
	const char *text = cli_value(c, option);

	*ret = text ? when_ns(text, clock_wall_ms(), e) : 0;
	return *ret < 0 ? -1 : 0;
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

static void flush_lines(struct log_print *p)
{
	FILE *to = p->to ? stderr : stdout;

	fwrite(p->out.s, 1, p->out.len, to);
	fflush(to);
	str_clear(&p->out);
}

/* What comes next goes there: what came before has gone, so that the order is kept where both are one. */
static void print_to(struct log_print *p, int to)
{
	if (p->out.len && (p->to != to || p->out.len > FLUSH_BYTES))
		flush_lines(p);
	p->to = to;
}

static void add_outside(struct log_print *p, const char *s, size_t n)
{
	if (p->tty[p->to])
		text_neutralise(&p->out, s, n, false);
	else
		str_add(&p->out, s, n);
}

/* A piece in this colour, harmless; "" none. */
static void print_piece(struct log_print *p, const char *colour, const char *s, size_t n)
{
	str_adds(&p->out, colour);
	add_outside(p, s, n);
	if (*colour)
		str_adds(&p->out, "\033[0m");
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
	int found = p->grep ? regex_find(p->grep, line->text, line->len, 0, NULL, NULL) : -1;

	/* What takes too many steps to tell is shown. */
	return found < 0 || (found > 0) != p->inverse;
}

/* The text with what was sought in it. */
static void print_log_text(struct log_print *p, const struct log_line *line)
{
	size_t at = 0, start, end;

	while (p->colours && find_in_log(p, line, at, &start, &end)) {
		add_outside(p, line->text + at, start - at);
		print_piece(p, "\033[1;31m", line->text + start, end - start);
		at = end;
	}
	add_outside(p, line->text + at, line->len - at);
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
	jsonw_print(&j);
}

static void print_log_stamp(struct log_print *p, const struct log_line *line)
{
	char stamp[FORMAT_MAX];

	if (cli_flag(p->l->c, "timestamps"))
		str_addf(&p->out, "%s ", format_stamp(stamp, line->wall_ns / 1000000));
}

/* Byte for byte, but that pieces of a line are told apart where each has its time. */
static void print_plain_line(struct log_print *p, const struct log_line *line)
{
	int to = p->to;

	if (p->unended[to] && (cli_flag(p->l->c, "timestamps") || p->tty[to]))
		str_addc(&p->out, '\n');
	p->unended[to] = line->unended;
	if (!p->within[to])
		print_log_stamp(p, line);
	p->within[to] = line->more;
	add_outside(p, line->text, line->len);
	if (line->cr && !p->tty[to])
		str_addc(&p->out, '\r');
	if (!line->more && !line->unended)
		str_addc(&p->out, '\n');
}

static void print_taken_line(struct log_print *p, const struct log_line *line)
{
	char shown[128];

	if (p->json) {
		print_log_json(p, line);
		return;
	}
	print_to(p, line->stream == 2 && !p->grep);
	if (p->plain) {
		print_plain_line(p, line);
		return;
	}
	if (p->named) {
		text_clean(shown, sizeof shown, p->of[line->source]->name);
		print_piece(p, p->colours ? "\033[36m" : "", shown, strlen(shown));
		str_adds(&p->out, " | ");
	}
	print_log_stamp(p, line);
	print_log_text(p, line);
	str_adds(&p->out, line->clipped ? " [cut]\n" : "\n");
}

static void take_log_lines(struct log_print *p, const struct log_line *lines, size_t n)
{
	for (size_t i = 0; i < n && p->found < p->most; i++) {
		const struct log_line *line = &lines[i];

		/* One that is too long may have what is sought behind its cut. */
		p->cut += line->clipped && line->len >= WHOLE_LINE_MAX;
		if ((p->until_ns && line->wall_ns > p->until_ns) || !is_log_wanted(p, line))
			continue;
		print_taken_line(p, line);
		p->found += p->grep != NULL;
	}
	flush_lines(p);
	fflush(stdout); /* of JSON */
}

/* The logs of some of the containers, to their end.  1: enough was printed, or nobody reads it. */
static int read_logs(struct log_print *p, size_t from, size_t n, bool follow, struct err *e)
{
	struct command *cmd = command_new(CMD_LOGS_OPEN);
	struct event *ev;
	uint64_t id;
	int over = 0;

	cmd->logs.follow = cmd->logs.until_ended = follow;
	cmd->logs.by_time = n > 1;
	cmd->logs.span.tail = p->tail;
	cmd->logs.span.since_ns = p->since_ns;
	cmd->logs.span.until_ns = p->until_ns;
	cmd->logs.span.pieces = p->plain;
	cmd->logs.span.line_max = p->plain ? PIECE_MAX : WHOLE_LINE_MAX;
	p->of = p->l->chosen + from;
	cli_target_all(cmd, p->of, n);
	id = backend_send(p->l->b, cmd);
	while (!over && (ev = cli_answer(p->l->b, id, e))) {
		bool last = ev->kind == EV_LOG_END;
		bool enough;

		take_log_lines(p, ev->lines, ev->nlines);
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

/* Whether one of them is up still; what has come from the engine meanwhile is of no interest. */
static bool are_up(const struct look *l, size_t n)
{
	const struct snapshot *s;
	struct event *ev;
	bool up = false;

	while ((ev = backend_next(l->b)))
		event_free(ev);
	s = backend_snapshot(l->b);
	for (size_t i = 0; i < n && !up; i++) {
		const struct container *k =
			snapshot_find(s, l->chosen[i]->engine, l->chosen[i]->id);

		up = k && container_is_up(k->state);
	}
	snapshot_unref(s);
	return up;
}

/* What the commands of those that are agents printed; with `follow` until none of them is up. */
static int read_agents(struct log_print *p, bool follow)
{
	AUTO_FREE const char **name = xcalloc(p->n + 1, sizeof *name);
	struct agent_logs *logs;
	const struct log_line *line;
	size_t agents = 0, n, from = 0;
	bool last;

	for (size_t i = 0; i < p->n; i++)
		if (*p->l->chosen[i]->agent && !strcmp(p->l->chosen[i]->role, "agent")) {
			name[i] = p->l->chosen[i]->name;
			agents++;
		}
	if (!agents)
		return 0;
	p->of = p->l->chosen;
	logs = agent_logs_open(name, p->n);
	do {
		last = !follow || !are_up(p->l, p->n);
		n = agent_logs_next(logs, last, &line);
		while (from < n && p->since_ns && line[from].wall_ns < p->since_ns)
			from++;
		if (p->tail >= 0 && n - from > (size_t)p->tail)
			from = n - (size_t)p->tail;
		take_log_lines(p, line + from, n - from);
		from = 0;
		p->tail = -1;
	} while (!last && !ferror(stdout) && p->found < p->most && cli_pause(500));
	agent_logs_close(logs);
	return 0;
}

/* Only agents are followed by what their commands print. */
static bool only_agents(const struct log_print *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (!*p->l->chosen[i]->agent || strcmp(p->l->chosen[i]->role, "agent") != 0)
			return false;
	return p->n > 0;
}

static bool is_among(const struct container *const *of, size_t n, const struct container *k)
{
	while (n && of[n - 1] != k)
		n--;
	return n > 0;
}

/* Those that are named, each once, else all, as far as the filters let them through. */
static size_t choose_logs(struct look *l)
{
	size_t n = 0, all = l->c->argc ? (size_t)l->c->argc : l->s->ncontainers;
	const struct container **of = xcalloc(all + 1, sizeof *of);

	for (size_t i = 0; i < all; i++) {
		const struct container *k = l->c->argc ? l->chosen[i] : &l->s->containers[i];

		if (cli_fits_filters(l->c, cli_container_filters, k) &&
			!(l->c->argc && is_among(of, n, k)))
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

static int tell_cut(const struct log_print *p, struct err *e)
{
	return err_set(e, ERR_FAILED, "%zu %s longer than %u bytes: the rest of %s was left out.",
		p->cut, p->cut == 1 ? "line was" : "lines were", WHOLE_LINE_MAX,
		p->cut == 1 ? "it" : "them");
}

static int end_of_search(const struct log_print *p)
{
	char why[ERR_MSG_MAX];
	struct err cut = ERR_INIT;

	fflush(stdout);
	if (p->found >= p->most)
		fprintf(stderr, "berth: stopped after %zu lines; raise it with --max.\n", p->found);
	if (p->unread.kind)
		fprintf(stderr, "berth: the search is incomplete: %s\n",
			text_clean(why, sizeof why, p->unread.msg));
	if (p->cut) {
		tell_cut(p, &cut);
		fprintf(stderr, "berth: the search is incomplete: %s\n", cut.msg);
	}
	return cli_finish() ? 1 : !p->found;
}

static int print_logs(struct look *l, struct err *e)
{
	struct log_print p = {.l = l, .tail = -1, .out = STR_INIT};
	bool follow = cli_flag(l->c, "follow"), agents;
	size_t step;
	int rc = read_log_options(&p, e);

	p.n = rc ? 0 : choose_logs(l);
	p.named = p.n > 1 || p.grep;
	p.plain = p.n == 1 && !p.grep && !p.json;
	p.tty[0] = isatty(STDOUT_FILENO);
	p.tty[1] = isatty(STDERR_FILENO);
	step = p.grep && !follow ? GREP_AT_ONCE : p.n;
	agents = only_agents(&p);
	for (size_t i = 0; i < p.n && !rc; i += step)
		rc = read_logs(&p, i, p.n - i < step ? p.n - i : step, follow && !agents, e);
	if (!rc && (!follow || agents))
		rc = read_agents(&p, follow);
	if (rc < 0)
		rc = e->kind == ERR_CANCELLED ? 0 : -1; /* C-c is how following ends */
	else if (p.grep)
		rc = end_of_search(&p);
	else
		rc = p.unread.kind ? err_copy(e, &p.unread)
			: p.cut    ? tell_cut(&p, e)
				   : cli_finish();
	str_release(&p.out);
	regex_free(p.grep);
	return rc;
}

int cli_logs(const struct cli *c, const struct settings *s, struct err *e)
{
	if (!c->argc && !cli_value(c, "grep") && !cli_value(c, "filter"))
		return err_set(e, ERR_USAGE,
			"logs takes containers, or --grep RE over all of them (berth help logs).");
	if (cli_value(c, "max") && !cli_value(c, "grep"))
		return err_set(e, ERR_USAGE, "--max goes with --grep.");
	if (cli_check_filters(c, cli_container_filters, e))
		return -1;
	return cli_look(c, s, print_logs, e);
}
