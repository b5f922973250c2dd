/* audit.c - shows the audit log, newest first: followed, filtered, in detail, with its verification state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/audit/audit_text.h"
#include "views/audit/audit.h"
#include "views/audit/audit_rows.h"
#include "views/list.h"

#define AHEAD 200 /* rows loaded beyond what is on screen */
#define DETAIL_H 9
#define WHEN_DAY 13 /* columns of "20 Nov 21:45" and a blank */
#define WHEN_FULL 20

struct audit_state {
	struct audit_rows rows;
	uint64_t asked;               /* the command that the rows' look is away with */
	char unrecorded[ERR_MSG_MAX]; /* why nothing can be recorded now; "": it can */
	struct audit_check *check;    /* under way, or done and kept */
	struct audit_check_state checked;
	bool opened, detail;
	uint64_t top_seq, cursor_seq; /* not following: these stay where they are */
	bool follow;
	int page;
};

/* ---- rows */

static size_t count_records(const struct audit_state *s)
{
	return audit_rows_count(&s->rows);
}

/* Index of the newest row that is not newer than `seq`. */
static size_t find_record_row(const struct audit_state *s, uint64_t seq)
{
	size_t low = 0, high = count_records(s);

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (audit_row(&s->rows, mid)->seq > seq)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static size_t audit_cursor(const struct audit_state *s)
{
	size_t at = s->follow ? 0 : find_record_row(s, s->cursor_seq);

	return at < count_records(s) ? at : count_records(s) ? count_records(s) - 1 : 0;
}

static size_t audit_top(const struct audit_state *s)
{
	size_t top = s->follow ? 0 : find_record_row(s, s->top_seq),
	       page = s->page > 0 ? (size_t)s->page : 1, cursor = audit_cursor(s);

	if (cursor < top)
		top = cursor;
	if (cursor >= top + page)
		top = cursor - page + 1;
	return top;
}

static size_t rows_wanted(const struct audit_state *s)
{
	return audit_cursor(s) + (size_t)(s->page > 0 ? s->page : 50) + AHEAD;
}

/* Further back and what is new, where nothing is being read already. */
static void step_records(struct view *v)
{
	struct audit_state *s = v->state;
	struct view_work *l = audit_rows_ask(&s->rows, rows_wanted(s));
	struct command *c;

	if (!l)
		return;
	c = command_new(CMD_WORK);
	command_work(c, l);
	s->asked = app_send(v->app, c);
}

static void audit_event(struct view *v, const struct event *e)
{
	struct audit_state *s = v->state;
	struct view_work *l =
		e->kind == EV_WORKED && e->id == s->asked ? view_work_take(e->work) : NULL;

	if (!l)
		return;
	if (audit_rows_take(&s->rows, l, rows_wanted(s)))
		step_records(v);
	if (!s->follow) {
		s->cursor_seq = audit_rows_moved(&s->rows, s->cursor_seq);
		s->top_seq = audit_rows_moved(&s->rows, s->top_seq);
	}
	app_dirty(v->app);
}

/* Put the cursor on a row; before the newest one means to follow. */
static void go_to_record(struct view *v, long to)
{
	struct audit_state *s = v->state;
	size_t top = audit_top(s), at;

	if (to < 0 || !count_records(s)) {
		s->follow = true;
		return;
	}
	at = (size_t)to < count_records(s) ? (size_t)to : count_records(s) - 1;
	s->top_seq = audit_row(&s->rows, top < count_records(s) ? top : 0)->seq;
	s->cursor_seq = audit_row(&s->rows, at)->seq;
	s->follow = false;
	s->top_seq = audit_row(&s->rows, audit_top(s))->seq;
	step_records(v);
}

/* ---- life */

static void refresh_audit(struct view *v)
{
	struct audit_state *s = v->state;

	if (s->check && !s->checked.done)
		audit_check_poll(s->check, &s->checked);
	step_records(v);
}

static void start_verify(struct audit_state *s)
{
	audit_check_free(s->check);
	memset(&s->checked, 0, sizeof s->checked);
	s->check = audit_check_start(NULL);
}

static void audit_open_view(struct view *v)
{
	struct audit_state *s = v->state;

	s->follow = true;
}

static void audit_close_view(struct view *v)
{
	struct audit_state *s = v->state;

	audit_check_free(s->check);
	if (s->opened)
		audit_rows_release(&s->rows);
}

/* Nothing is read before somebody looks. */
static void audit_show(struct view *v)
{
	struct audit_state *s = v->state;

	if (!s->opened) {
		audit_rows_open(&s->rows, "", NULL);
		s->opened = true;
	}
	if (!s->check)
		start_verify(s);
	refresh_audit(v);
}

static void audit_snapshot(struct view *v, const struct snapshot *snapshot)
{
	struct audit_state *s = v->state;

	snprintf(s->unrecorded, sizeof s->unrecorded, "%s",
		snapshot->engine.unrecorded ? snapshot->engine.unrecorded : "");
	if (!s->opened)
		return;
	refresh_audit(v);
	app_dirty(v->app);
}

void audit_view_about(struct view *v, const char *name, const char *id)
{
	struct audit_state *s = v->state;
	char filter[AUDIT_FILTER_MAX];

	snprintf(filter, sizeof filter, "target=%s", *name ? name : id);
	audit_rows_open(&s->rows, filter, NULL);
	app_filtered(v->app, v, filter);
	s->opened = true;
	s->follow = true;
}

/* ---- drawing */

static enum role outcome_role(const struct audit_record *r)
{
	switch (r->result) {
	case AUDIT_OK: return ROLE_GOOD;
	case AUDIT_PENDING: return ROLE_DIM;
	case AUDIT_CANCELLED:
	case AUDIT_TIMEOUT: return ROLE_WARN;
	default: return ROLE_BAD;
	}
}

static void draw_verdict(const struct audit_state *s, struct canvas *c, int x, int y, int w)
{
	const struct audit_check_state *k = &s->checked;
	char age[FORMAT_MAX], n[FORMAT_MAX], text[400];

	if (!s->check)
		return;
	if (!k->done) {
		canvas_printf(c, x, y, w, STYLE(DIM), "checking %d %%",
			k->bytes_total ? (int)(100 * k->bytes_done / k->bytes_total) : 0);
		return;
	}
	format_age(age, clock_wall_ms() - k->at_wall_ms);
	if (k->err.kind)
		canvas_clip(c, x, y, w, STYLE(WARN), k->err.msg);
	else if (k->verdict.fault == AUDIT_CLEAN) {
		snprintf(text, sizeof text,
			w < 32 ? "chain \u2713 %s ago" : "chain \u2713 verified %s ago", age);
		if (w >= 48 && k->verdict.last_seq > k->verdict.signed_seq)
			snprintf(text + strlen(text), sizeof text - strlen(text),
				", last %s not signed yet",
				format_count(n, k->verdict.last_seq - k->verdict.signed_seq));
		canvas_clip(c, x, y, w, STYLE(GOOD), text);
	} else {
		snprintf(text, sizeof text, "\u2717 %s at record %llu (%s ago): %s",
			audit_fault_name(k->verdict.fault), (unsigned long long)k->verdict.at_seq,
			age, k->verdict.sentence);
		canvas_clip(c, x, y, w, STYLE(BAD), text);
	}
}

static void draw_audit_head(const struct audit_state *s, struct canvas *c, struct area a)
{
	char n[FORMAT_MAX * 2];
	int x = a.x + 1;

	if (*s->unrecorded) {
		canvas_printf(c, x, a.y, a.w - 1, STYLE(BAD), "unavailable: %s", s->unrecorded);
		return;
	}
	if (s->rows.has_head)
		x += canvas_printf(c, x, a.y, a.w, STYLE(STRONG), "%s  ",
			format_counted(
				n, s->rows.head.seq + 1 - s->rows.head.first, "record", "records"));
	if (s->rows.has_head && a.w >= 100 && !s->rows.checkpoints)
		x += canvas_text(c, x, a.y, a.w, STYLE(DIM), "without checkpoints (e)  ");
	if (s->rows.has_head)
		draw_verdict(s, c, x, a.y, a.w - (x - a.x) - (a.w >= 80 ? 22 : 1));
	if (s->rows.has_head && a.w >= 80)
		canvas_printf(c, a.x + a.w - 21, a.y, 20, STYLE(DIM), "head %.6s\u2026%s",
			s->rows.head.hash, s->rows.head.hash + 58);
}

/* Local time, as the clock in the header; of another day the day, and the time where there is room. */
static void record_time_text(char buf[FORMAT_MAX], int64_t wall_ms, int w)
{
	time_t t = (time_t)(wall_ms / 1000), now = (time_t)(clock_wall_ms() / 1000);
	struct tm then = {0}, today = {0};
	bool same = localtime_r(&t, &then) && localtime_r(&now, &today) &&
		then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
	const char *form = w >= WHEN_FULL ? "%Y-%m-%d %H:%M:%S"
		: same && w < 9           ? "%H:%M"
		: same                    ? "%H:%M:%S"
		: w >= WHEN_DAY           ? "%d %b %H:%M"
					  : "%d %b";

	if (!strftime(buf, FORMAT_MAX, form, &then))
		*buf = '\0';
}

/* Where each part of a row stands; 0 wide: not shown. */
struct audit_columns {
	int when, who, act, target, outcome;
};

static struct audit_columns lay_out_audit(int w)
{
	if (w >= 140)
		return (struct audit_columns){WHEN_FULL, 20, 19, 24, 15};
	if (w >= 100)
		return (struct audit_columns){WHEN_DAY, 16, 19, 20, 15};
	if (w >= 60)
		return (struct audit_columns){9, 14, 17, 15, 15};
	/* How it ended is a sign before the time, which has no seconds. */
	return (struct audit_columns){6, 11, 11, w - 31, 0};
}

static void draw_audit_heads(struct canvas *c, struct area a)
{
	struct audit_columns k = lay_out_audit(a.w);
	int x = a.x + (k.outcome ? 1 : 3);

	canvas_text(c, x, a.y, k.when - 1, STYLE(COLUMN), "TIME");
	x += k.when;
	canvas_text(c, x, a.y, k.who - 1, STYLE(COLUMN), "WHO");
	x += k.who;
	canvas_text(c, x, a.y, k.act - 1, STYLE(COLUMN), "WHAT");
	x += k.act;
	canvas_text(c, x, a.y, k.target - 1, STYLE(COLUMN), "ON");
	x += k.target;
	if (!k.outcome)
		return;
	canvas_text(c, x, a.y, k.outcome - 1, STYLE(COLUMN), "OUTCOME");
	x += k.outcome;
	canvas_text(c, x, a.y, a.x + a.w - x, STYLE(COLUMN), "MORE");
}

static void draw_audit_row(struct canvas *c, struct area a, const struct audit_record *r)
{
	struct audit_columns k = lay_out_audit(a.w);
	struct style ended = {.role = (uint8_t)outcome_role(r)};
	int x = a.x + 1;
	/* What an outcome follows, or berth does for itself, is not what one looks for. */
	bool aside =
		r->result == AUDIT_PENDING || operation_table[r->operation].class == OP_INTERNAL;
	AUTO_STR struct str text = STR_INIT;
	char when[FORMAT_MAX];

	if (!k.outcome) {
		canvas_glyph(c, x, a.y, ended,
			r->result == AUDIT_OK                ? GLYPH_TICK
				: r->result == AUDIT_PENDING ? GLYPH_RING
							     : GLYPH_CROSS);
		x += 2;
	}
	record_time_text(when, r->wall_ms, k.when);
	canvas_text(c, x, a.y, k.when - 1, STYLE(DIM), when);
	x += k.when;
	audit_text_who(&text, r);
	canvas_clip_name(c, x, a.y, k.who - 1, aside ? STYLE(DIM) : STYLE(TEXT), text.s);
	x += k.who;
	canvas_clip(c, x, a.y, k.act - 1,
		aside                                                       ? STYLE(DIM)
			: operation_table[r->operation].class == OP_GUARDED ? STYLE(WARN)
									    : STYLE(TEXT),
		operation_table[r->operation].name);
	x += k.act;
	str_clear(&text);
	audit_text_target(&text, r);
	canvas_clip_name(c, x, a.y, k.target - 1, aside ? STYLE(DIM) : STYLE(STRONG), text.s);
	x += k.target;
	if (!k.outcome)
		return;
	str_clear(&text);
	audit_text_outcome(&text, r);
	canvas_clip(c, x, a.y, k.outcome - 1, ended, text.s);
	x += k.outcome;
	str_clear(&text);
	audit_text_detail(&text, r);
	if (x < a.x + a.w)
		canvas_clip(c, x, a.y, a.x + a.w - x, STYLE(DIM), text.s);
}

/* All of one record, as lines. */
static void describe_record(const struct audit_record *r, struct str *out)
{
	char when[FORMAT_MAX], hash[AUDIT_HEX];

	format_stamp(when, r->wall_ms);
	str_addf(out, "record %llu  %s  %s %s", (unsigned long long)r->seq, when,
		operation_table[r->operation].name, audit_phase_name(r->phase));
	if (r->intent)
		str_addf(out, " of %llu", (unsigned long long)r->intent);
	str_adds(out, "  ");
	audit_text_outcome(out, r);
	str_adds(out, "\nby ");
	text_neutralise(out, r->user, strlen(r->user), false);
	str_addf(out, " (uid %u), program ", r->uid);
	text_neutralise(out, r->program, strlen(r->program), false);
	str_addf(out, ", pid %u on ", r->pid);
	text_neutralise(out, r->host, strlen(r->host), false);
	if (*r->agent) {
		str_adds(out, "\nagent ");
		text_neutralise(out, r->agent, strlen(r->agent), false);
		str_adds(out, "  session ");
		text_neutralise(out, r->session, strlen(r->session), false);
	}
	str_adds(out, "\non ");
	text_neutralise(out, r->target_type, strlen(r->target_type), false);
	str_adds(out, " ");
	text_neutralise(out, r->name, strlen(r->name), false);
	str_adds(out, "  ");
	text_neutralise(out, r->target, strlen(r->target), false);
	str_adds(out, "\n");
	audit_text_detail(out, r);
	hex_text(hash, r->hash, AUDIT_HASH);
	str_addf(out, "\nhash %s\n", hash);
}

static void draw_record_detail(const struct audit_state *s, struct canvas *c, struct area a)
{
	AUTO_STR struct str text = STR_INIT;

	canvas_hline(c, a.x, a.y, a.w, STYLE(RULE));
	describe_record(audit_row(&s->rows, audit_cursor(s)), &text);
	canvas_wrap(c, (struct area){a.x + 1, a.y + 1, a.w - 2, a.h - 1}, STYLE(TEXT), text.s);
}

static void audit_draw(struct view *v, struct canvas *c, struct area a)
{
	struct audit_state *s = v->state;
	int detail = s->detail && count_records(s) && a.h > DETAIL_H + 4 ? DETAIL_H : 0;
	size_t top, cursor = audit_cursor(s);

	s->page = a.h - 2 - detail;
	top = audit_top(s);
	draw_audit_head(s, c, (struct area){a.x, a.y, a.w, 1});
	draw_audit_heads(c, (struct area){a.x, a.y + 1, a.w, 1});
	if (!count_records(s)) {
		struct area empty = {a.x + 2, a.y + 3, a.w - 4, a.h - 3};
		int used = canvas_wrap(c, empty, STYLE(DIM),
			s->rows.problem[0]          ? s->rows.problem
				: s->rows.more      ? "Searching for matching records \u2026"
				: s->rows.filter[0] ? "No record matches the filter; Esc clears it."
						    : "Nothing has been recorded yet.");

		if (s->rows.problem[0] && !s->rows.has_head && used < empty.h)
			canvas_wrap(c,
				(struct area){empty.x, empty.y + used, empty.w, empty.h - used},
				STYLE(DIM),
				"Everything berth does to containers, files and "
				"settings, or refuses to do, is listed here.");
	}
	for (int y = 0; y < s->page && top + (size_t)y < count_records(s); y++) {
		struct area row = {a.x, a.y + 2 + y, a.w, 1};

		draw_audit_row(c, row, audit_row(&s->rows, top + (size_t)y));
		if (top + (size_t)y == cursor && !(s->follow && !s->detail)) {
			canvas_glyph(c, row.x, row.y, STYLE(ACCENT), GLYPH_EDGE);
			canvas_under(c, row, ROLE_CURSOR);
		}
	}
	if (detail)
		draw_record_detail(s, c, (struct area){a.x, a.y + a.h - detail, a.w, detail});
}

/* ---- keys */

static bool audit_act(struct view *v, enum action a)
{
	struct audit_state *s = v->state;
	long at = (long)audit_cursor(s);
	int by = action_rows(a, s->page);

	if (by) {
		go_to_record(v, a == DO_DOWN && s->follow ? 0 : at + by);
		app_dirty(v->app);
		return true;
	}
	switch (a) {
	case DO_FOLLOW: go_to_record(v, s->follow ? at : -1); break;
	case DO_ENTER: s->detail = !s->detail; break;
	case DO_VERIFY_LOG:
	case DO_REFRESH: start_verify(s); break;
	case DO_CHECKPOINTS:
		s->rows.checkpoints = !s->rows.checkpoints;
		audit_rows_open(&s->rows, s->rows.filter, NULL);
		step_records(v);
		break;
	case DO_BACK:
		if (!s->detail)
			return false;
		s->detail = false;
		break;
	default: return false;
	}
	app_dirty(v->app);
	return true;
}

static bool audit_filter(struct view *v, const char *text, bool done, struct err *e)
{
	struct audit_state *s = v->state;
	struct err why = ERR_INIT;

	text = text ? text : "";
	if (strcmp(text, s->rows.filter) == 0)
		return true;
	/* While it is typed a word may be half of one. */
	if (audit_rows_open(&s->rows, text, &why) < 0) {
		if (done)
			err_copy(e, &why);
		return !done;
	}
	s->follow = true;
	step_records(v);
	return true;
}

static void audit_wheel(struct view *v, int lines)
{
	struct audit_state *s = v->state;

	go_to_record(v, (long)audit_cursor(s) + lines);
	app_dirty(v->app);
}

static void audit_click(struct view *v, int x, int y, bool twice)
{
	struct audit_state *s = v->state;

	(void)x;
	if (y > 1 && y <= s->page + 1 && audit_top(s) + (size_t)y - 2 < count_records(s)) {
		go_to_record(v, (long)audit_top(s) + y - 2);
		s->detail |= twice;
	}
	app_dirty(v->app);
}

static void audit_status(struct view *v, char *buf, size_t cap)
{
	struct audit_state *s = v->state;
	char n[FORMAT_MAX];

	*buf = '\0';
	if (s->rows.filter[0])
		snprintf(buf, cap, "filter: %s  %s%s", s->rows.filter,
			format_count(n, count_records(s)), s->rows.more ? " and more" : "");
}

static bool audit_copy(struct view *v, struct str *out)
{
	struct audit_state *s = v->state;

	if (!count_records(s))
		return false;
	describe_record(audit_row(&s->rows, audit_cursor(s)), out);
	return true;
}

static bool audit_save(struct view *v, struct str *out)
{
	struct audit_state *s = v->state;

	for (size_t i = 0; i < count_records(s); i++) {
		describe_record(audit_row(&s->rows, i), out);
		str_addc(out, '\n');
	}
	return count_records(s) > 0;
}

const struct view_ops audit_view = {
	.name = "audit",
	.tab = "Audit",
	.tab_short = "Au",
	.context = IN_AUDIT,
	.state_size = sizeof(struct audit_state),
	.open = audit_open_view,
	.close = audit_close_view,
	.show = audit_show,
	.snapshot = audit_snapshot,
	.event = audit_event,
	.draw = audit_draw,
	.act = audit_act,
	.click = audit_click,
	.wheel = audit_wheel,
	.filter = audit_filter,
	.filter_hint = "regex, agent= act= target= outcome= since= until=",
	.status = audit_status,
	.copy = audit_copy,
	.save = audit_save,
};
