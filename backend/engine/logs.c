/* logs.c - reads a container's log and cuts it into lines with time stamps. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "engine/call.h"
#include "engine/split.h"

struct logs {
	struct engine_call call;
	bool tty, follow;
	struct log_span span;
	engine_log_fn fn;
	engine_done_fn end;
	void *ctx;
	struct demux demux;
	struct lines lines;
	struct str said; /* by the engine itself: why it cannot read on */
};

/* How an engine begins that, where a terminal's bytes leave it no frame to say it in.  What programs write has stamps. */
#define RAW_COMPLAINT "Error grabbing logs: "
#define SAID_MAX 300

static void add_moment(struct str *query, const char *name, int64_t wall_ns)
{
	if (wall_ns > 0)
		str_addf(query, "&%s=%" PRId64 ".%09" PRId64, name, wall_ns / 1000000000,
			wall_ns % 1000000000);
}

static void logs_start(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;
	AUTO_STR struct str after = STR_INIT;

	l->lines.piece_stamps = c->en->product->piece_stamps;
	str_addf(&after, "/logs?stdout=1&stderr=1&timestamps=1&follow=%d", l->follow);
	if (l->span.tail >= 0)
		str_addf(&after, "&tail=%d", l->span.tail);
	add_moment(&after, "since", l->span.since_ns);
	add_moment(&after, "until", l->span.until_ns);
	call_send_to(c, "GET", after.s, HTTP_LANE_STREAM, 0);
}

static void batch_line(void *ctx, const struct log_line *line)
{
	struct logs *l = ctx;
	struct log_batch *b = &l->call.en->batch;

	if (l->said.len)
		return;
	if (l->tty && !l->lines.stamped && line->len > strlen(RAW_COMPLAINT) &&
		memcmp(line->text, RAW_COMPLAINT, strlen(RAW_COMPLAINT)) == 0) {
		str_add(&l->said, line->text, line->len < SAID_MAX ? line->len : SAID_MAX);
		return;
	}
	b->line = mem_grow(b->line, &b->cap, b->n + 1, sizeof *b->line);
	b->line[b->n++] = *line;
	str_add(&b->text, line->text, line->len);
}

void log_batch_release(struct log_batch *b)
{
	str_release(&b->text);
	free(b->line);
	*b = (struct log_batch){0};
	str_init(&b->text);
}

/* The callback may end a call, and with it another batch. */
static void deliver_batch(struct logs *l)
{
	struct engine *en = l->call.en;
	struct log_batch b = en->batch;
	const char *at = b.text.s;

	if (b.n == 0)
		return;
	for (size_t i = 0; i < b.n; i++) {
		b.line[i].text = at;
		at += b.line[i].len;
	}
	en->batch = (struct log_batch){0};
	str_init(&en->batch.text);
	l->fn(l->ctx, b.line, b.n);
	log_batch_release(&en->batch);
	b.n = 0;
	str_clear(&b.text);
	en->batch = b;
}

static void one_piece(void *ctx, int stream, const char *bytes, size_t n)
{
	struct logs *l = ctx;

	if (stream == 3) {
		if (l->said.len < SAID_MAX)
			str_add(&l->said, bytes, n < SAID_MAX ? n : SAID_MAX);
		return;
	}
	if (l->said.len)
		return; /* what would come after it is not the log */
	if (l->demux.fresh)
		lines_frame(&l->lines, stream, batch_line, l);
	lines_feed(&l->lines, stream, bytes, n, batch_line, l);
}

/* It has said why it cannot read on, all of it or as much as came. */
static bool take_complaint(struct logs *l)
{
	char clean[SAID_MAX + 1], name[65];
	struct err *e = &l->call.err;

	if (!l->said.len || e->kind)
		return false;
	while (l->said.len && strchr("\r\n", l->said.s[l->said.len - 1]))
		l->said.s[--l->said.len] = '\0';
	text_clean(clean, sizeof clean, l->said.s);
	err_set(e, ERR_FAILED, "cannot read the log of %s to its end: the engine reports: %s",
		short_id(l->call.subject, name), clean);
	return true;
}

static void logs_head(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;

	l->fn(l->ctx, NULL, 0);
}

static void logs_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct logs *l = (struct logs *)c;
	bool wrong = false;

	if (l->tty)
		lines_feed(&l->lines, 1, bytes, n, batch_line, l);
	else
		wrong = demux_feed(&l->demux, bytes, n, one_piece, l, &c->err) != 0;
	if (wrong || (!demux_inside(&l->demux) && take_complaint(l)))
		http_cancel(c->http);
	deliver_batch(l);
}

/* Of a stream that is followed the rest comes when it is opened again, unless it was passed on already. */
static void end_lines(struct logs *l, bool cut)
{
	if (!cut || !l->follow || l->span.pieces)
		lines_end(&l->lines, cut, batch_line, l);
	deliver_batch(l);
}

static void logs_eof(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;
	struct err e = ERR_INIT;
	char name[65];

	if (take_complaint(l)) {
		e = c->err;
	} else if (demux_inside(&l->demux)) {
		err_set(&e, ERR_PROTOCOL,
			"the log of %s was cut: the engine ended it in the middle of a frame",
			short_id(c->subject, name));
	} else {
		end_lines(l, false);
		l->end(l->ctx, NULL);
		call_free(c);
		return;
	}
	call_fail(c, &e);
}

static void logs_failed(struct engine_call *c, const struct err *err)
{
	struct logs *l = (struct logs *)c;

	if (!c->cancelled)
		end_lines(l, true);
	l->end(l->ctx, err);
}

static void logs_release(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;

	lines_release(&l->lines);
	str_release(&l->said);
}

static const struct call_ops logs_ops = {
	.what = "read the log of %s",
	.start = logs_start,
	.head = logs_head,
	.data = logs_data,
	.eof = logs_eof,
	.failed = logs_failed,
	.release = logs_release,
};

struct engine_call *engine_logs(struct engine *en, const char *id, bool tty, bool follow,
	struct log_span span, engine_log_fn fn, engine_done_fn end, void *ctx)
{
	struct logs *l = call_new(en, &logs_ops, sizeof *l, id);

	l->tty = tty;
	l->follow = follow;
	l->span = span;
	l->fn = fn;
	l->end = end;
	l->ctx = ctx;
	lines_init(&l->lines, &span, tty);
	str_init(&l->said);
	return &l->call;
}
