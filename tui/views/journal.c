/* journal.c - shows the commands of an agent, and the output of one. */
#include "views/journal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/journal_play.h"
#include "views/page.h"
#include "views/wrap.h"
#include "widgets/widgets.h"

#define ID_MAX 24
#define ASK_EVERY_NS 1000000000

/* A row of the page: part of a line of what a command printed. */
struct printed {
	const char *text;
	size_t len;
	int stream;
};

struct journal {
	char *name;      /* of the agent's container */
	int64_t next_ms; /* Unix time: the first command since then is shown in full; 0: the list */
	struct table table;
	struct journal_command *commands;
	size_t n, cap;
	char (*ids)[ID_MAX];
	size_t ids_cap;
	uint64_t asked_id;
	bool asked, told; /* an answer is awaited; one was here */
	int64_t asked_ns, wall_ms;
	/* One command's output, in place of the list. */
	bool one, follow;
	char sought[128]; /* what `/` looks for in it */
	size_t hit;       /* the row found last */
	uint64_t seq, missed;
	char problem[ERR_MSG_MAX];
	struct player play;
	size_t shown;    /* bytes of the text that the rows are of */
	struct str text; /* all pieces; what lines point into */
	struct stretch { /* of one stream */
		size_t from, n;
		int stream;
	} * stretch;
	size_t nstretches, stretches_cap;
	struct printed *row;
	size_t nrows, rows_cap;
	int width; /* that the rows were folded for */
	struct page page;
	struct area body;
};

static const struct journal_command *command_of(const struct table_row *r)
{
	return r->item;
}

/* Columns. */

static void ended_words(const struct journal_command *k, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(WARN);
	if (k->running)
		snprintf(buf, cap, "running");
	else if (k->lost)
		snprintf(buf, cap, "lost");
	else if (k->ended == ENDED_EXIT)
		snprintf(buf, cap, "exit %d", k->exit_code);
	else if (k->ended == ENDED_SIGNAL)
		snprintf(buf, cap, "signal %d", k->exit_code - 128);
	else
		snprintf(buf, cap, "%s", run_ended_name(k->ended));
	if (k->running)
		st->role = ROLE_BUSY;
	else if (!k->lost && k->ended == ENDED_EXIT && !k->exit_code)
		st->role = ROLE_DIM;
}

static void command_time_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", format_wall(n, command_of(r)->started_wall_ms));
}

static void command_argv_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = command_of(r)->running ? STYLE(STRONG) : STYLE(TEXT);
	snprintf(buf, cap, "%s", command_of(r)->argv);
}

static void ended_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	ended_words(command_of(r), buf, cap, st);
}

char *journal_took(char *buf, int64_t ms)
{
	if (ms < 1000)
		snprintf(buf, FORMAT_MAX, "%d ms", (int)ms);
	else
		format_age(buf, ms);
	return buf;
}

static void took_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	char n[FORMAT_MAX];

	(void)st;
	snprintf(buf, cap, "%s", journal_took(n, (int64_t)command_of(r)->duration_ms));
}

static void printed_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	uint64_t bytes = command_of(r)->out_bytes + command_of(r)->error_bytes;
	char n[FORMAT_MAX];

	*st = bytes ? STYLE(TEXT) : STYLE(DIM);
	snprintf(buf, cap, "%s", format_bytes(n, bytes));
}

static void command_by_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", command_of(r)->program);
}

static void command_path_text(const struct table_row *r, char *buf, size_t cap, struct style *st)
{
	*st = STYLE(DIM);
	snprintf(buf, cap, "%s", command_of(r)->path == RUN_LANE ? "lane" : "engine");
}

static int when_compare(const struct table_row *a, const struct table_row *b)
{
	uint64_t x = command_of(a)->seq, y = command_of(b)->seq;

	return x < y ? -1 : x > y;
}

static int took_compare(const struct table_row *a, const struct table_row *b)
{
	double x = command_of(a)->duration_ms, y = command_of(b)->duration_ms;

	return x < y ? -1 : x > y;
}

/* clang-format off */
static const struct table_column columns[] = {
	{.name = "when", .head = "WHEN", .min = 8, .ideal = 8, .keep = 30, .descending = true,
		.text = command_time_text, .compare = when_compare},
	{.name = "command", .head = "COMMAND", .min = 18, .ideal = 40, .grow = 3,
		.text = command_argv_text},
	{.name = "ended", .head = "ENDED", .min = 9, .ideal = 10, .text = ended_text},
	{.name = "took", .head = "TOOK", .min = 7, .ideal = 7, .keep = 10, .right = true,
		.descending = true, .text = took_text, .compare = took_compare},
	{.name = "printed", .head = "PRINTED", .min = 7, .ideal = 7, .keep = 20, .right = true,
		.text = printed_text},
	{.name = "by", .head = "BY", .min = 8, .ideal = 8, .keep = 50, .text = command_by_text},
	{.name = "path", .head = "PATH", .min = 6, .ideal = 6, .keep = 60, .text = command_path_text},
};
/* clang-format on */

/* Asking. */

static void ask_for_commands(struct view *v)
{
	struct journal *s = v->state;
	struct command *c = command_new(CMD_JOURNAL);

	c->journal.output_of = s->one ? s->seq + 1 : 0;
	command_target(c, "", "", s->name);
	s->asked_id = app_send(v->app, c);
	s->asked = true;
	s->asked_ns = app_now_ns(v->app);
}

static void rebuild_commands(struct journal *s)
{
	s->ids = mem_grow(s->ids, &s->ids_cap, s->n + 1, sizeof *s->ids);
	table_begin(&s->table);
	for (size_t i = 0; i < s->n; i++) {
		snprintf(s->ids[i], ID_MAX, "%llu", (unsigned long long)s->commands[i].seq);
		table_add(&s->table,
			(struct table_row){.engine = "", .id = s->ids[i], .item = &s->commands[i]});
	}
	table_end(&s->table);
}

static void take_list(struct journal *s, const struct event *e)
{
	s->commands = mem_grow(s->commands, &s->cap, e->ncommands + 1, sizeof *s->commands);
	s->n = e->ncommands;
	if (s->n)
		memcpy(s->commands, e->commands, s->n * sizeof *s->commands);
	rebuild_commands(s);
}

static void add_printed_row(struct journal *s, const char *text, size_t len, int stream)
{
	s->row = mem_grow(s->row, &s->rows_cap, s->nrows + 1, sizeof *s->row);
	s->row[s->nrows++] = (struct printed){text, len, stream};
}

static void wrap_output(struct journal *s, int width)
{
	s->nrows = 0;
	s->shown = s->play.on ? player_shown(&s->play) : s->text.len;
	for (size_t i = 0; i < s->nstretches; i++) {
		const char *at = s->text.s + s->stretch[i].from, *end = at + s->stretch[i].n;

		if (end > s->text.s + s->shown)
			end = s->text.s + s->shown;
		while (at < end) {
			const char *nl = memchr(at, '\n', (size_t)(end - at));
			size_t len = (size_t)((nl ? nl : end) - at), from = 0;

			/* What a terminal would take as "back to the start" ends the line too. */
			if (len && at[len - 1] == '\r')
				len--;
			do {
				size_t next = len ? wrap_next(at, len, from, width) : 0;

				add_printed_row(s, at + from, next - from, s->stretch[i].stream);
				from = next;
			} while (from < len);
			at = nl ? nl + 1 : end;
		}
	}
	s->width = width;
}

static void take_stretches(struct journal *s, const struct event *e)
{
	snprintf(s->problem, sizeof s->problem, "%s", e->err.kind ? e->err.msg : "");
	if (e->err.kind)
		return;
	str_clear(&s->text);
	s->nstretches = 0;
	player_clear(&s->play);
	s->stretch = mem_grow(s->stretch, &s->stretches_cap, e->npieces + 1, sizeof *s->stretch);
	for (size_t i = 0; i < e->npieces; i++) {
		const struct journal_piece *p = &e->pieces[i];

		/* A line may come in several pieces. */
		if (s->nstretches && s->stretch[s->nstretches - 1].stream == p->stream)
			s->stretch[s->nstretches - 1].n += p->n;
		else
			s->stretch[s->nstretches++] =
				(struct stretch){s->text.len, p->n, p->stream};
		str_add(&s->text, p->bytes, p->n);
		player_add(&s->play, s->text.len, p->at_ms);
	}
	s->missed = e->missed;
	/* At once, for the rows point into the text that was, and a key may look at them before they are drawn. */
	if (s->width)
		wrap_output(s, s->width);
	/* The command's own line may have changed with it. */
	for (size_t i = 0; i < s->n && e->ncommands; i++)
		if (s->commands[i].seq == e->commands[0].seq)
			s->commands[i] = e->commands[0];
}

static void show_command(struct view *v, const struct journal_command *k)
{
	struct journal *s = v->state;

	s->one = k;
	s->seq = k ? k->seq : 0;
	s->page = (struct page){0};
	s->told = false;
	s->problem[0] = '\0';
	str_clear(&s->text);
	player_clear(&s->play);
	s->nstretches = s->nrows = 0;
	s->width = 0;
	s->missed = 0;
	s->sought[0] = '\0';
	s->hit = 0;
	s->follow = k && k->running;
	ask_for_commands(v);
}

/* The oldest of those that began since the person asked for one. */
static void show_next(struct view *v)
{
	struct journal *s = v->state;
	const struct journal_command *next = NULL;

	for (size_t i = 0; i < s->n; i++)
		if (s->commands[i].started_wall_ms >= s->next_ms)
			next = &s->commands[i];
	if (!next)
		return;
	s->next_ms = 0;
	show_command(v, next);
}

static void journal_event(struct view *v, const struct event *e)
{
	struct journal *s = v->state;

	/* The answer to what was shown before has another id. */
	if (e->kind != EV_JOURNAL || e->id != s->asked_id)
		return;
	s->asked = false;
	s->told = true;
	/* Asked before it was played. */
	if (s->one && s->play.on)
		return;
	if (s->one)
		take_stretches(s, e);
	else
		take_list(s, e);
	if (!s->one && s->next_ms)
		show_next(v);
	app_dirty(v->app);
}

static void journal_snapshot(struct view *v, const struct snapshot *snap)
{
	struct journal *s = v->state;

	s->wall_ms = snap->at_wall_ms;
	/* What is played stays as it is. */
	if (!s->asked && !s->play.on && app_now_ns(v->app) - s->asked_ns >= ASK_EVERY_NS)
		ask_for_commands(v);
}

/* The output. */

static const struct journal_command *shown_command(const struct journal *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->commands[i].seq == s->seq)
			return &s->commands[i];
	return NULL;
}

static bool holds_text(const struct printed *r, const char *text)
{
	size_t len = strlen(text);

	for (size_t k = 0; len && k + len <= r->len; k++)
		if (!strncasecmp(r->text + k, text, len))
			return true;
	return false;
}

static void draw_output(struct view *v, struct canvas *c, struct area a)
{
	struct journal *s = v->state;
	const struct journal_command *k = shown_command(s);
	struct area body = {a.x, a.y + 2, a.w, a.h - 2};
	char ended[48], text[160], n[FORMAT_MAX], m[FORMAT_MAX];
	struct style st;
	int x = a.x + 1;

	if (k) {
		x += canvas_clip(c, x, a.y, a.w - 2, STYLE(STRONG), k->argv);
		ended_words(k, ended, sizeof ended, &st);
		x = a.x + 1 + canvas_text(c, a.x + 1, a.y + 1, a.w - 2, st, ended);
		snprintf(text, sizeof text, "  %s  printed %s%s",
			journal_took(n, (int64_t)k->duration_ms),
			format_bytes(m, k->out_bytes + k->error_bytes),
			k->terminal ? ", on a terminal" : "");
		x += canvas_text(c, x, a.y + 1, a.x + a.w - x, STYLE(DIM), text);
		if (s->missed)
			canvas_printf(c, x, a.y + 1, a.x + a.w - x, STYLE(WARN),
				"  the first %s are no longer kept", format_bytes(n, s->missed));
		/* Here, for the smallest screens have no place for a status. */
		if (s->play.on) {
			player_text(&s->play, text, sizeof text);
			canvas_right(c, a.x, a.y + 1, a.w - 1, STYLE(ACCENT), text);
		}
	}
	if (s->width != a.w - 2)
		wrap_output(s, a.w - 2);
	s->page.length = (int)s->nrows;
	s->page.seen = body.h;
	if (s->follow)
		page_scroll(&s->page, s->page.length);
	if (s->problem[0])
		canvas_clip(c, a.x + 1, body.y, a.w - 2, STYLE(BAD), s->problem);
	else if (!s->nrows && !s->play.on)
		canvas_text(c, a.x + 1, body.y, a.w - 2, STYLE(DIM),
			s->told ? "It printed nothing." : "…");
	for (int y = 0; y < body.h && s->page.scroll + y < (int)s->nrows; y++) {
		const struct printed *r = &s->row[s->page.scroll + y];

		canvas_textn(c, a.x + 1, body.y + y, a.w - 2,
			r->stream == 2 ? STYLE(WARN) : STYLE(TEXT), r->text, r->len);
		if (holds_text(r, s->sought))
			canvas_under(c, (struct area){a.x, body.y + y, a.w, 1},
				s->page.scroll + y == (int)s->hit ? ROLE_HIT : ROLE_MARK);
	}
}

/* The view. */

static void step_player(struct view *v)
{
	struct journal *s = v->state;

	if (!s->one || !s->play.on)
		return;
	player_step(&s->play, clock_mono_ns());
	if (s->width && player_shown(&s->play) != s->shown)
		wrap_output(s, s->width);
	if (!s->play.paused)
		app_dirty(v->app);
}

/* true: it was a key of the player. */
static bool act_on_player(struct view *v, enum action a)
{
	struct journal *s = v->state;

	if (a == DO_PLAY && !s->text.len) {
		app_say(v->app, ROLE_DIM, "It printed nothing, so there is nothing to play.");
	} else if (a == DO_PLAY) {
		player_press(&s->play, clock_mono_ns());
		s->follow = true;
		if (s->width)
			wrap_output(s, s->width);
	} else if (s->play.on && (a == DO_FASTER || a == DO_SLOWER)) {
		player_change(&s->play, a == DO_FASTER ? 1 : -1);
	} else if (s->play.on && a == DO_BACK) {
		s->play.on = false;
		if (s->width)
			wrap_output(s, s->width);
	} else {
		return false;
	}
	return true;
}

static void journal_draw(struct view *v, struct canvas *c, struct area a)
{
	struct journal *s = v->state;

	s->body = a;
	if (s->one) {
		page_draw(&s->page, v, c, a, draw_output);
		return;
	}
	s->table.empty =
		s->told ? "Nothing was run in this agent yet, or its commands are not kept." : "…";
	table_draw(&s->table, c, a);
}

/* The next row in a direction that holds what is looked for; round the end. */
static void seek_hit(struct journal *s, int step, bool here)
{
	size_t n = s->nrows;

	for (size_t i = here ? 0 : 1; *s->sought && n && i <= n; i++) {
		size_t row = (s->hit + n + (step > 0 ? i : n - i % n)) % n;

		if (!holds_text(&s->row[row], s->sought))
			continue;
		s->follow = false;
		s->hit = row;
		if ((int)row < s->page.scroll || (int)row >= s->page.scroll + s->page.seen)
			s->page.scroll = (int)row;
		return;
	}
}

static bool journal_act(struct view *v, enum action a)
{
	struct journal *s = v->state;
	const struct table_row *r;

	app_dirty(v->app);
	if (s->one && act_on_player(v, a))
		return true;
	if (s->one) {
		if (a == DO_BACK) {
			show_command(v, NULL);
			return true;
		}
		if (a == DO_FOLLOW) {
			s->follow = !s->follow;
			return true;
		}
		if (a == DO_NEXT_HIT || a == DO_PREV_HIT) {
			seek_hit(s, a == DO_NEXT_HIT ? 1 : -1, false);
			return true;
		}
		if (!page_act(&s->page, v, a))
			return false;
		/* At the end again: what comes is followed, as in the logs. */
		s->follow = s->page.scroll + s->page.seen >= s->page.length;
		return true;
	}
	r = table_current(&s->table);
	if (a == DO_ENTER && r && !s->table.choosing) {
		show_command(v, command_of(r));
		return true;
	}
	return table_act(&s->table, a);
}

static void journal_click(struct view *v, int x, int y, bool twice)
{
	struct journal *s = v->state;
	const struct table_row *r;

	if (s->one)
		return;
	if (table_click(&s->table, s->body.x + x, s->body.y + y) && twice && y > 0 &&
		(r = table_current(&s->table)))
		show_command(v, command_of(r));
	app_dirty(v->app);
}

static void journal_wheel(struct view *v, int lines)
{
	struct journal *s = v->state;

	if (s->one) {
		page_scroll(&s->page, lines);
		s->follow = s->page.scroll + s->page.seen >= s->page.length;
	} else {
		table_wheel(&s->table, lines);
	}
	app_dirty(v->app);
}

static bool journal_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct journal *s = v->state;

	(void)done;
	if (s->one) {
		snprintf(s->sought, sizeof s->sought, "%s", text ? text : "");
		seek_hit(s, 1, true);
		app_dirty(v->app);
		return true;
	}
	return table_filter(&s->table, text, e) == 0;
}

static void journal_status(struct view *v, char *buf, size_t cap)
{
	struct journal *s = v->state;
	char about[128] = "", name[96];

	if (s->one && s->follow && !s->play.on)
		snprintf(about, sizeof about, "following");
	else if (!s->one)
		table_status(&s->table, about, sizeof about);
	snprintf(buf, cap, "%s%s%s", text_clean(name, sizeof name, s->name), *about ? "  " : "",
		about);
}

static bool journal_copy(struct view *v, struct str *out)
{
	struct journal *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (s->one)
		str_add(out, s->text.s, s->text.len);
	else if (r)
		str_adds(out, command_of(r)->argv);
	return out->len > 0;
}

static bool journal_save(struct view *v, struct str *out)
{
	struct journal *s = v->state;

	if (s->one)
		str_add(out, s->text.s, s->text.len);
	else
		table_save(&s->table, out);
	return true;
}

static void open_journal(struct view *v)
{
	struct journal *s = v->state;

	const struct journal_seed *seed = v->seed;

	s->name = xstrdup(seed->name);
	s->next_ms = seed->next ? clock_wall_ms() : 0;
	str_init(&s->text);
	table_init(&s->table, columns, COUNT(columns), NULL);
	ask_for_commands(v);
}

static void journal_close(struct view *v)
{
	struct journal *s = v->state;

	table_release(&s->table);
	str_release(&s->text);
	player_release(&s->play);
	free(s->name);
	free(s->commands);
	free(s->ids);
	free(s->stretch);
	free(s->row);
}

const struct view_ops journal_view = {
	.name = "commands",
	.context = IN_JOURNAL,
	.state_size = sizeof(struct journal),
	.open = open_journal,
	.close = journal_close,
	.draw = journal_draw,
	.step = step_player,
	.snapshot = journal_snapshot,
	.event = journal_event,
	.act = journal_act,
	.click = journal_click,
	.wheel = journal_wheel,
	.filter = journal_filter,
	.filter_word = "find",
	.status = journal_status,
	.copy = journal_copy,
	.save = journal_save,
};
