/* logs.c - a container's log: frames or a terminal's bytes, cut into lines with their times. */
#include <inttypes.h>
#include <stdlib.h>

#include <berth/mem.h>

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
	/* The batch of one read: texts one after the other, offsets until all are in. */
	struct log_line *batch;
	size_t nbatch, batch_cap;
	struct str text;
};

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

	str_addf(&after, "/logs?stdout=1&stderr=1&timestamps=1&follow=%d", l->follow);
	if (l->span.tail >= 0)
		str_addf(&after, "&tail=%d", l->span.tail);
	add_moment(&after, "since", l->span.since_ns);
	add_moment(&after, "until", l->span.until_ns);
	call_send_to(c, "GET", "/containers/", after.s, HTTP_LANE_STREAM, 0);
}

static void batch_line(void *ctx, const struct log_line *line)
{
	struct logs *l = ctx;

	l->batch = mem_grow(l->batch, &l->batch_cap, l->nbatch + 1, sizeof *l->batch);
	l->batch[l->nbatch++] = *line;
	str_add(&l->text, line->text, line->len);
}

static void deliver_batch(struct logs *l)
{
	const char *at = l->text.s;
	size_t n = l->nbatch;

	if (n == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		l->batch[i].text = at;
		at += l->batch[i].len;
	}
	l->nbatch = 0;
	l->fn(l->ctx, l->batch, n);
	str_clear(&l->text);
}

static void one_piece(void *ctx, int stream, const char *bytes, size_t n)
{
	struct logs *l = ctx;

	lines_feed(&l->lines, stream, bytes, n, batch_line, l);
}

static void logs_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct logs *l = (struct logs *)c;

	if (l->tty)
		lines_feed(&l->lines, 1, bytes, n, batch_line, l);
	else if (demux_feed(&l->demux, bytes, n, one_piece, l, &c->err))
		http_cancel(c->http);
	deliver_batch(l);
}

static void logs_eof(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;

	lines_end(&l->lines, batch_line, l);
	deliver_batch(l);
	l->end(l->ctx, NULL);
	call_free(c);
}

static void logs_failed(struct engine_call *c, const struct err *err)
{
	struct logs *l = (struct logs *)c;

	l->end(l->ctx, err);
}

static void logs_release(struct engine_call *c)
{
	struct logs *l = (struct logs *)c;

	lines_release(&l->lines);
	str_release(&l->text);
	free(l->batch);
}

static const struct call_ops logs_ops = {
	.what = "read the log of %s",
	.start = logs_start,
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
	lines_init(&l->lines);
	str_init(&l->text);
	return &l->call;
}
