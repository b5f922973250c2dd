/* cast.c - exports the commands of an agent as a terminal recording (asciicast v2). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/journal.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#define CAST_COLUMNS 80 /* what a command had is not in the journal */
#define CAST_ROWS 24
#define IDLE_S 2 /* a player shortens what is longer: an agent thinks for minutes */

enum cast_kind { CAST_PROMPT, CAST_PIECE, CAST_END };

struct cast_event {
	int64_t at_ms; /* Unix time */
	size_t of;     /* which command */
	enum cast_kind kind;
	size_t piece;
	size_t order; /* among those of one moment */
};

struct cast {
	bool raw;
	size_t n; /* commands, oldest first */
	struct journal_output *of;
	struct journal_tamer (*tamer)[2];
	struct cast_event *event;
	size_t nevents, cap;
	bool at_start;  /* of a line */
	char last_byte; /* of what was printed */
	struct str *out;
};

static void add_cast_event(
	struct cast *c, size_t of, enum cast_kind kind, size_t piece, int64_t at_ms)
{
	c->event = mem_grow(c->event, &c->cap, c->nevents + 1, sizeof *c->event);
	c->event[c->nevents] = (struct cast_event){at_ms, of, kind, piece, c->nevents};
	c->nevents++;
}

static void add_command_events(struct cast *c, size_t of)
{
	const struct journal_output *o = &c->of[of];
	const struct journal_command *k = &o->command;
	int64_t end = (int64_t)k->duration_ms;

	add_cast_event(c, of, CAST_PROMPT, 0, k->started_wall_ms);
	for (size_t i = 0; i < o->npieces; i++) {
		int64_t at = o->piece[i].at_ms;

		if (at > end && !k->running)
			at = end;
		add_cast_event(c, of, CAST_PIECE, i, k->started_wall_ms + (at < 0 ? end : at));
	}
	if (!k->running && !k->lost)
		add_cast_event(c, of, CAST_END, 0, k->started_wall_ms + end);
}

static int compare_cast_events(const void *a, const void *b)
{
	const struct cast_event *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void put_cast_line(struct cast *c, const struct cast_event *v, const struct str *text)
{
	struct jsonw j;

	if (!text->len)
		return;
	jsonw_init(&j, true);
	jsonw_array(&j, NULL);
	jsonw_number(&j, NULL, (double)(v->at_ms - c->event[0].at_ms) / 1e3, 3);
	jsonw_text(&j, NULL, "o");
	jsonw_textn(&j, NULL, text->s, text->len);
	jsonw_end(&j);
	str_add(c->out, j.out.s, j.out.len);
	jsonw_release(&j);
}

static void put_prompt(struct cast *c, const struct journal_command *k, struct str *text)
{
	if (!c->at_start)
		str_adds(text, "\r\n");
	str_adds(text, "\x1b[0m\x1b[1m$ ");
	text_neutralise(text, k->argv, strlen(k->argv), false);
	str_adds(text, "\x1b[0m\r\n");
	c->at_start = true;
}

/* Without a terminal a program ends lines with a line feed alone. */
static void add_with_returns(struct cast *c, struct str *text, const struct str *from)
{
	for (size_t i = 0; i < from->len; i++) {
		if (from->s[i] == '\n' && c->last_byte != '\r')
			str_addc(text, '\r');
		str_addc(text, from->s[i]);
		c->last_byte = from->s[i];
	}
}

static void put_printed(struct cast *c, const struct cast_event *v, struct str *text)
{
	const struct journal_output *o = &c->of[v->of];
	const struct journal_piece *p = &o->piece[v->piece];
	AUTO_STR struct str tame = STR_INIT;

	if (!v->piece && o->missed)
		str_addf(text, "\x1b[2m[%llu bytes before this are no longer kept]\x1b[0m\r\n",
			(unsigned long long)o->missed);
	if (c->raw)
		str_add(&tame, p->bytes, p->n);
	else
		journal_tame(&c->tamer[v->of][p->stream - 1], p->bytes, p->n, &tame);
	add_with_returns(c, text, &tame);
	if (text->len)
		c->at_start = text->s[text->len - 1] == '\n';
}

static void put_ending(struct cast *c, const struct journal_command *k, struct str *text)
{
	char took[FORMAT_MAX];

	if (k->ended == ENDED_EXIT && !k->exit_code)
		return;
	if (!c->at_start)
		str_adds(text, "\r\n");
	str_addf(text, "\x1b[0m\x1b[2m[%s %d after %s]\x1b[0m\r\n", run_ended_name(k->ended),
		k->exit_code, format_age(took, (int64_t)k->duration_ms));
	c->at_start = true;
}

static void put_cast_event(struct cast *c, const struct cast_event *v)
{
	AUTO_STR struct str text = STR_INIT;

	if (v->kind == CAST_PROMPT)
		put_prompt(c, &c->of[v->of].command, &text);
	else if (v->kind == CAST_PIECE)
		put_printed(c, v, &text);
	else
		put_ending(c, &c->of[v->of].command, &text);
	put_cast_line(c, v, &text);
}

static void put_cast_head(struct cast *c, const char *name)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_int(&j, "version", 2);
	jsonw_int(&j, "width", CAST_COLUMNS);
	jsonw_int(&j, "height", CAST_ROWS);
	jsonw_int(&j, "timestamp", c->event[0].at_ms / 1000);
	jsonw_number(&j, "idle_time_limit", IDLE_S, 1);
	jsonw_text(&j, "title", name);
	jsonw_end(&j);
	str_add(c->out, j.out.s, j.out.len);
	jsonw_release(&j);
}

/* Those that are there, oldest first; what was written over meanwhile is left out. */
static int read_cast(struct cast *c, const char *name, const uint64_t *seq, struct err *e)
{
	AUTO_FREE struct journal_command *all = NULL;
	size_t n = 1;

	if (!seq) {
		all = xcalloc(JOURNAL_COMMANDS_MAX, sizeof *all);
		n = journal_list(name, all, JOURNAL_COMMANDS_MAX);
	}
	c->of = xcalloc(n + 1, sizeof *c->of);
	for (size_t i = n; i--;) {
		if (!journal_read(name, seq ? *seq : all[i].seq, &c->of[c->n], seq ? e : NULL))
			c->n++;
		else if (seq)
			return -1;
	}
	return c->n ? 0
		    : err_set(e, ERR_NOT_FOUND,
			      "%s has not run a command yet, or its commands are not kept.", name);
}

int journal_cast(const char *name, const uint64_t *seq, bool raw, struct str *out,
	size_t *ret_commands, struct err *e)
{
	struct cast c = {.raw = raw, .out = out, .at_start = true};
	int rc = read_cast(&c, name, seq, e);

	if (!rc) {
		c.tamer = xcalloc(c.n, sizeof *c.tamer);
		for (size_t i = 0; i < c.n; i++)
			add_command_events(&c, i);
		mem_sort(c.event, c.nevents, sizeof *c.event, compare_cast_events);
		put_cast_head(&c, name);
		for (size_t i = 0; i < c.nevents; i++)
			put_cast_event(&c, &c.event[i]);
	}
	if (ret_commands)
		*ret_commands = c.n;
	for (size_t i = 0; i < c.n; i++)
		journal_output_release(&c.of[i]);
	free(c.of);
	free(c.tamer);
	free(c.event);
	return rc;
}
