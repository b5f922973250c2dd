/*
 * exec.c - runs a command in a container: create, start (hijacked), resize, exit code.
 *
 * The engine answers 101 before the command runs, so the first resize may come too early and is
 * tried again; and the exit code may come a little after the end of the stream, so it is asked for
 * until it is there.  Bytes typed before the 101 wait here: the engine would lose them.
 */
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "engine/call.h"
#include "engine/json.h"
#include "engine/split.h"

enum { RESIZE_TRIES = 20, EXIT_TRIES = 60, RETRY_MS = 25, SLOW_MS = 250 };

struct tty_call {
	struct engine_call call;
	struct engine_tty *tty; /* NULL: it has ended meanwhile */
};

struct engine_tty {
	struct engine *en;
	struct engine_tty *prev, *next;
	const struct engine_tty_events *ev;
	void *ctx;
	uv_timer_t timer;
	struct stream *stream;
	struct tty_call *create, *resize, *inspect;
	char *container, *exec_id;
	struct str early; /* input before the stream is open */
	char *body;       /* of create, behind its first brace */
	bool open, closing, resized, paused, tty, finish;
	struct demux demux; /* without a terminal */
	demux_fn frame;
	int (*made)(void *ctx, struct err *e);
	bool no_frames; /* what came is the engine's complaint, as it is */
	int columns, rows, resize_tries, exit_tries;
};

static void tty_gone(uv_handle_t *handle)
{
	struct engine_tty *t = handle->data;
	struct engine *en = t->en;

	*(t->prev ? &t->prev->next : &en->ttys) = t->next;
	if (t->next)
		t->next->prev = t->prev;
	free(t->container);
	free(t->exec_id);
	free(t->body);
	str_release(&t->early);
	free(t);
	engine_maybe_closed(en);
}

static void cancel_tty_call(struct tty_call **slot)
{
	if (!*slot)
		return;
	(*slot)->tty = NULL;
	engine_cancel(&(*slot)->call);
	*slot = NULL;
}

static void tty_end(struct engine_tty *t, int exit_code, const struct err *err)
{
	cancel_tty_call(&t->create);
	cancel_tty_call(&t->resize);
	cancel_tty_call(&t->inspect);
	t->ev->end(t->ctx, exit_code, err);
	uv_close((uv_handle_t *)&t->timer, tty_gone);
}

static void tty_hung_up(struct engine_tty *t)
{
	struct err e = ERR_INIT;

	err_set(&e, ERR_CANCELLED, "the terminal was closed");
	tty_end(t, -1, &e);
}

static void call_failed(struct engine_call *c, const struct err *err)
{
	struct tty_call *k = (struct tty_call *)c;
	struct engine_tty *t = k->tty;

	if (!t)
		return;
	t->create = t->inspect = NULL;
	tty_end(t, -1, err);
}

static struct tty_call *tty_call(struct engine_tty *t, const struct call_ops *ops)
{
	struct tty_call *k = call_new(t->en, ops, sizeof *k, t->container);

	k->tty = t;
	return k;
}

/* Resize */

static void send_resize(struct engine_tty *t);
static void on_tty_timer(uv_timer_t *timer);

static void resize_start(struct engine_call *c)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;
	AUTO_STR struct str target = STR_INIT;

	str_adds(&target, "/exec/");
	url_escape(&target, t ? t->exec_id : "");
	str_addf(&target, "/resize?h=%d&w=%d", t ? t->rows : 24, t ? t->columns : 80);
	if (t)
		t->resized = true; /* until it changes again */
	call_send(c, "POST", target.s, NULL, HTTP_LANE_SHORT, 0);
}

static void resize_reply(struct engine_call *c, const struct http_reply *r)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;

	(void)r;
	call_free(c);
	if (!t)
		return;
	t->resize = NULL;
	t->resize_tries = 0;
	if (!t->resized)
		send_resize(t);
}

static void resize_failed(struct engine_call *c, const struct err *err)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;

	(void)err;
	if (!t)
		return;
	t->resize = NULL;
	if (t->stream && ++t->resize_tries < RESIZE_TRIES)
		uv_timer_start(&t->timer, on_tty_timer, RETRY_MS, 0);
}

static const struct call_ops resize_ops = {
	.what = "resize the terminal in %s",
	.start = resize_start,
	.reply = resize_reply,
	.failed = resize_failed,
};

static void send_resize(struct engine_tty *t)
{
	if (t->tty && t->open && t->stream && !t->resize)
		t->resize = tty_call(t, &resize_ops);
}

void engine_tty_resize(struct engine_tty *t, int columns, int rows)
{
	t->columns = columns;
	t->rows = rows;
	t->resized = false;
	send_resize(t);
}

/* The exit code */

static void start_exec_inspect(struct engine_call *c)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;
	AUTO_STR struct str target = STR_INIT;

	str_adds(&target, "/exec/");
	url_escape(&target, t ? t->exec_id : "");
	str_adds(&target, "/json");
	call_send(c, "GET", target.s, NULL, HTTP_LANE_SHORT, 0);
}

bool engine_exec_ended(const struct engine *en, const cJSON *root)
{
	return root && !ejson_bool(root, "Running") && ejson_get(root, "ExitCode") &&
		(!en->product->exec_zero || ejson_bool(root, "CanRemove"));
}

static void take_exec_inspect(struct engine_call *c, const struct http_reply *r)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;
	AUTO_JSON cJSON *root = call_json(c, r);
	struct err e = ERR_INIT;

	if (!root)
		return;
	call_free(c);
	if (!t)
		return;
	t->inspect = NULL;
	if (engine_exec_ended(t->en, root)) {
		tty_end(t, ejson_int(root, "ExitCode", -1), NULL);
	} else if (++t->exit_tries < EXIT_TRIES || !t->tty) {
		/* A command may close its streams and live on; it is its owner's to end it. */
		uv_timer_start(&t->timer, on_tty_timer,
			t->exit_tries < EXIT_TRIES ? RETRY_MS : SLOW_MS, 0);
	} else {
		err_set(&e, ERR_FAILED,
			"the command's terminal ended, but the engine reports that the command is still running");
		tty_end(t, -1, &e);
	}
}

static const struct call_ops inspect_ops = {
	.what = "ask how the command in %s ended",
	.start = start_exec_inspect,
	.reply = take_exec_inspect,
	.failed = call_failed,
};

static void on_tty_timer(uv_timer_t *timer)
{
	struct engine_tty *t = timer->data;

	if (t->stream)
		send_resize(t);
	else if (t->closing)
		tty_hung_up(t);
	else if (!t->inspect)
		t->inspect = tty_call(t, &inspect_ops);
}

/* The stream */

static void stream_opened(void *ctx, int status)
{
	struct engine_tty *t = ctx;

	(void)status;
	t->open = true;
	if (t->early.len > 0)
		stream_write(t->stream, t->early.s, t->early.len);
	str_clear(&t->early);
	if (t->finish)
		stream_finish(t->stream);
	send_resize(t);
	t->ev->ready(t->ctx);
}

static void stream_bytes(void *ctx, const char *bytes, size_t n)
{
	struct engine_tty *t = ctx;

	if (t->closing)
		return;
	if (t->tty)
		t->ev->output(t->ctx, bytes, n);
	else if (!t->no_frames && demux_feed(&t->demux, bytes, n, t->frame, t->ctx, NULL))
		t->no_frames = true;
}

static void stream_ended(void *ctx, const struct http_reply *r, const struct err *err)
{
	struct engine_tty *t = ctx;
	struct engine_call words = {
		.ops = &(const struct call_ops){.what = "start the command in %s"},
		.subject = t->container};
	struct err e = ERR_INIT;

	t->stream = NULL;
	if (t->closing) {
		tty_hung_up(t);
	} else if (err) {
		reach_explain(&t->en->ep, r, err, &e);
		tty_end(t, -1, &e);
	} else if (r->status >= 400) {
		call_refusal(&words, r, &e);
		tty_end(t, -1, &e);
	} else {
		uv_timer_start(&t->timer, on_tty_timer, 0, 0);
	}
}

static const struct stream_events stream_events = {stream_opened, stream_bytes, stream_ended};

/* Create */

static void create_start(struct engine_call *c)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;
	AUTO_STR struct str target = STR_INIT, body = STR_INIT;

	str_adds(&target, "/containers/");
	url_escape(&target, c->subject);
	str_adds(&target, "/exec");
	str_addc(&body, '{');
	if (c->en->product->detach_keys)
		str_addf(&body, "\"DetachKeys\":\"%s\",", c->en->product->detach_keys);
	str_adds(&body, t ? t->body : "}");
	call_send(c, "POST", target.s, body.s, HTTP_LANE_SHORT, 0);
}

static void create_reply(struct engine_call *c, const struct http_reply *r)
{
	struct engine_tty *t = ((struct tty_call *)c)->tty;
	AUTO_JSON cJSON *root = call_json(c, r);
	AUTO_STR struct str target = STR_INIT, body = STR_INIT;
	struct err e = ERR_INIT;

	if (!root)
		return;
	call_free(c);
	if (!t)
		return;
	t->create = NULL;
	if (!*ejson_string(root, "Id")) {
		err_set(&e, ERR_PROTOCOL, "the engine returned no id for the command");
		tty_end(t, -1, &e);
		return;
	}
	if (t->made && t->made(t->ctx, &e)) {
		tty_end(t, -1, &e);
		return;
	}
	t->exec_id = xstrdup(ejson_string(root, "Id"));
	str_addf(&target, "/v1.%d/exec/", t->en->minor);
	url_escape(&target, t->exec_id);
	str_adds(&target, "/start");
	str_addf(&body, "{\"Detach\":false,\"Tty\":%s", t->tty ? "true" : "false");
	/* Engines that know it give the terminal its size before the command can ask. */
	if (t->tty && t->en->minor >= 42)
		str_addf(&body, ",\"ConsoleSize\":[%d,%d]", t->rows, t->columns);
	str_addc(&body, '}');
	t->stream = stream_open(t->en->http, target.s, body.s, &stream_events, t);
	stream_pause(t->stream, t->paused);
}

static const struct call_ops create_ops = {
	.what = "start a command in %s",
	.start = create_start,
	.reply = create_reply,
	.failed = call_failed,
};

static void quote_all(struct str *s, const char *name, const char *const *word, size_t n)
{
	str_addf(s, ",\"%s\":[", name);
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			str_addc(s, ',');
		str_add_json(s, word[i]);
	}
	str_addc(s, ']');
}

static char *create_body(const struct engine_exec_ask *ask)
{
	struct str s = STR_INIT;

	str_addf(&s, "\"AttachStdin\":%s,\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":%s",
		ask->input ? "true" : "false", ask->tty ? "true" : "false");
	quote_all(&s, "Env", ask->env, ask->envc);
	quote_all(&s, "Cmd", ask->argv, ask->argc);
	if (ask->cwd) {
		str_adds(&s, ",\"WorkingDir\":");
		str_add_json(&s, ask->cwd);
	}
	if (ask->user) {
		str_adds(&s, ",\"User\":");
		str_add_json(&s, ask->user);
	}
	str_addc(&s, '}');
	return str_detach(&s);
}

struct engine_tty *engine_exec(struct engine *en, const char *id, const struct engine_exec_ask *ask,
	const struct engine_tty_events *ev, void *ctx)
{
	struct engine_tty *t = xcalloc(1, sizeof *t);

	t->en = en;
	t->ev = ev;
	t->ctx = ctx;
	t->tty = ask->tty;
	t->frame = ask->frame;
	t->made = ask->made;
	t->columns = ask->columns;
	t->rows = ask->rows;
	t->container = xstrdup(id);
	t->body = create_body(ask);
	str_init(&t->early);
	uv_timer_init(en->loop, &t->timer);
	t->timer.data = t;
	t->next = en->ttys;
	if (t->next)
		t->next->prev = t;
	en->ttys = t;
	t->create = tty_call(t, &create_ops);
	return t;
}

const char *engine_tty_exec_id(const struct engine_tty *t)
{
	return t->exec_id ? t->exec_id : "";
}

void engine_tty_finish(struct engine_tty *t)
{
	t->finish = true;
	if (t->stream && t->open)
		stream_finish(t->stream);
}

bool engine_tty_input(struct engine_tty *t, const char *bytes, size_t n)
{
	if (t->open)
		return !t->stream || stream_write(t->stream, bytes, n);
	if (t->early.len + n > STREAM_WRITE_MAX)
		return false;
	str_add(&t->early, bytes, n);
	return true;
}

void engine_tty_pause(struct engine_tty *t, bool paused)
{
	t->paused = paused;
	if (t->stream)
		stream_pause(t->stream, paused);
}

void engine_tty_close(struct engine_tty *t)
{
	if (t->closing)
		return;
	t->closing = true;
	if (t->stream) {
		stream_cancel(t->stream);
	} else {
		cancel_tty_call(&t->create);
		cancel_tty_call(&t->inspect);
		uv_timer_start(&t->timer, on_tty_timer, 0, 0);
	}
}

void engine_ttys_abandon(struct engine *en)
{
	for (struct engine_tty *t = en->ttys; t; t = t->next)
		engine_tty_close(t);
}
