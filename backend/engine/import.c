/*
 * import.c - send a tar file as an image.
 *
 * The file is read by uv's workers into two buffers, one ahead of the other; curl takes from them.
 * A refusal may come after HTTP 200, as an object in the reply's stream.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "engine/call.h"
#include "engine/parse.h"
#include "net/split.h"

enum { SLOT_SIZE = 256 << 10 };
#define PROGRESS_MAX ((size_t)1 << 20)

struct import;

/* Outlives the call while a worker is busy with it. */
struct source {
	struct import *owner; /* NULL: abandoned */
	uv_loop_t *loop;
	uv_fs_t req;
	bool busy, failed;
	uv_file fd;
	uint64_t size, asked, taken;
	int error;
	struct slot {
		char *bytes;
		size_t len, at;
		bool full;
	} slot[2];
	int reading, sending; /* which slot */
};

struct import {
	struct engine_call call;
	struct source *source;
	char *path;
	void (*progress)(void *ctx, uint64_t sent, uint64_t total);
	engine_done_fn fn;
	void *ctx;
	struct objects objects;
	struct err refused; /* what the stream said */
};

static void source_drop(struct source *s)
{
	s->owner = NULL;
	if (s->busy)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->slot[0].bytes);
	free(s->slot[1].bytes);
	free(s);
}

static void on_read(uv_fs_t *req);

static void read_more(struct source *s)
{
	struct slot *slot = &s->slot[s->reading];
	uint64_t left = s->size - s->asked;
	uv_buf_t buf;

	if (s->busy || s->failed || slot->full || left == 0)
		return;
	buf = uv_buf_init(slot->bytes, left < SLOT_SIZE ? (unsigned)left : SLOT_SIZE);
	s->busy = true;
	uv_fs_read(s->loop, &s->req, s->fd, &buf, 1, (int64_t)s->asked, on_read);
}

static void on_read(uv_fs_t *req)
{
	struct source *s = req->data;
	struct slot *slot = &s->slot[s->reading];
	ssize_t n = req->result;

	uv_fs_req_cleanup(req);
	s->busy = false;
	if (!s->owner) {
		source_drop(s);
		return;
	}
	if (n <= 0) { /* 0: it became shorter while it was read */
		s->failed = true;
		s->error = n < 0 ? (int)-n : 0;
	} else {
		*slot = (struct slot){.bytes = slot->bytes, .len = (size_t)n, .full = true};
		s->asked += (uint64_t)n;
		s->reading ^= 1;
		read_more(s);
	}
	if (s->owner->call.http)
		http_more(s->owner->call.http);
	if (s->owner->progress && !s->owner->call.cancelled)
		s->owner->progress(s->owner->ctx, s->taken, s->size);
}

static ssize_t pull(void *ctx, char *buf, size_t n)
{
	struct source *s = ((struct import *)ctx)->source;
	struct slot *slot = &s->slot[s->sending];

	if (s->taken == s->size)
		return 0;
	if (!slot->full)
		return s->failed ? HTTP_PULL_FAIL : HTTP_PULL_WAIT;
	if (n > slot->len - slot->at)
		n = slot->len - slot->at;
	memcpy(buf, slot->bytes + slot->at, n);
	slot->at += n;
	s->taken += n;
	if (slot->at == slot->len) {
		slot->full = false;
		s->sending ^= 1;
		read_more(s);
	}
	return (ssize_t)n;
}

/* All of it in repo, as the docker CLI does: podman 4.3 ignores the parameter tag.  The colon of a
 * registry's port is no tag's. */
static void add_reference(struct str *target, const char *reference)
{
	const char *slash = strrchr(reference, '/');

	str_adds(target, "&repo=");
	url_escape(target, reference);
	if (!strchr(slash ? slash : reference, ':'))
		url_escape(target, ":latest");
}

static void send_it(struct import *i)
{
	AUTO_STR struct str target = STR_INIT;
	struct source *s = i->source;
	struct http_request rq = {
		.method = "POST", .lane = HTTP_LANE_STREAM, .pull = pull, .upload = s->size};

	str_adds(&target, "/images/create?fromSrc=-");
	add_reference(&target, i->call.subject);
	rq.target = target.s;
	s->slot[0].bytes = xmalloc(SLOT_SIZE);
	s->slot[1].bytes = xmalloc(SLOT_SIZE);
	read_more(s);
	call_send_request(&i->call, &rq);
}

static void fail_sys(struct import *i, int errnum)
{
	struct err e = ERR_INIT;
	char path[256];

	if (i->call.cancelled)
		err_set(&e, ERR_CANCELLED, "cancelled");
	else
		err_sys(&e, errnum, "cannot read %s", text_clean(path, sizeof path, i->path));
	call_fail(&i->call, &e);
}

static void on_stat(uv_fs_t *req)
{
	struct source *s = req->data;
	uv_stat_t st = req->statbuf;
	ssize_t rc = req->result;
	struct err e = ERR_INIT;

	uv_fs_req_cleanup(req);
	s->busy = false;
	if (!s->owner) {
		source_drop(s);
	} else if (rc < 0 || s->owner->call.cancelled) {
		fail_sys(s->owner, (int)-rc);
	} else if (!S_ISREG(st.st_mode) || st.st_size == 0) {
		err_set(&e, ERR_USAGE, "cannot import %s: it is %s", s->owner->path,
			S_ISREG(st.st_mode) ? "empty" : "no regular file");
		call_fail(&s->owner->call, &e);
	} else {
		s->size = st.st_size;
		send_it(s->owner);
	}
}

static void on_open(uv_fs_t *req)
{
	struct source *s = req->data;
	ssize_t fd = req->result;

	uv_fs_req_cleanup(req);
	s->busy = false;
	if (fd >= 0)
		s->fd = (uv_file)fd;
	if (!s->owner) {
		source_drop(s);
	} else if (fd < 0 || s->owner->call.cancelled) {
		fail_sys(s->owner, (int)-fd);
	} else {
		s->busy = true;
		uv_fs_fstat(s->loop, req, s->fd, on_stat);
	}
}

static void import_start(struct engine_call *c)
{
	struct import *i = (struct import *)c;
	struct source *s = xcalloc(1, sizeof *s);

	i->source = s;
	s->owner = i;
	s->loop = c->en->loop;
	s->fd = -1;
	s->req.data = s;
	s->busy = true;
	uv_fs_open(s->loop, &s->req, i->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, on_open);
}

const char *parse_stream_error(const cJSON *root)
{
	const char *detail = ejson_text(ejson_path(root, "errorDetail", "message", NULL));

	return *detail ? detail : ejson_string(root, "error");
}

static void one_object(void *ctx, const char *json, size_t n)
{
	struct import *i = ctx;
	AUTO_JSON cJSON *root = json ? ejson_parse(json, n, NULL) : NULL;
	const char *said = parse_stream_error(root);
	char clean[ERR_MSG_MAX / 2], name[65];

	if (*said)
		err_set(&i->refused, ERR_FAILED, "cannot import %s: %s",
			short_id(i->call.subject, name), text_clean(clean, sizeof clean, said));
}

static void import_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct import *i = (struct import *)c;

	if (objects_feed(&i->objects, bytes, n, one_object, i, &c->err))
		http_cancel(c->http);
}

static void import_eof(struct engine_call *c)
{
	struct import *i = (struct import *)c;

	if (i->progress && !i->refused.kind)
		i->progress(i->ctx, i->source->taken, i->source->size);
	i->fn(i->ctx, i->refused.kind ? &i->refused : NULL);
	call_free(c);
}

static void import_failed(struct engine_call *c, const struct err *err)
{
	struct import *i = (struct import *)c;
	struct err e = ERR_INIT;

	if (i->source && i->source->failed && err->kind != ERR_CANCELLED) {
		if (i->source->error)
			err_sys(&e, i->source->error, "cannot read %s", i->path);
		else
			err_set(&e, ERR_FAILED, "cannot import %s: it became shorter meanwhile",
				i->path);
		err = &e;
	}
	i->fn(i->ctx, err);
}

static void import_release(struct engine_call *c)
{
	struct import *i = (struct import *)c;

	if (i->source)
		source_drop(i->source);
	objects_release(&i->objects);
	free(i->path);
}

static const struct call_ops import_ops = {
	.what = "import %s",
	.start = import_start,
	.data = import_data,
	.eof = import_eof,
	.failed = import_failed,
	.release = import_release,
};

struct engine_call *engine_import(struct engine *en, const char *path, const char *reference,
	void (*progress)(void *ctx, uint64_t sent, uint64_t total), engine_done_fn fn, void *ctx)
{
	struct import *i = call_new(en, &import_ops, sizeof *i, reference);

	i->path = xstrdup(path);
	i->progress = progress;
	i->fn = fn;
	i->ctx = ctx;
	objects_init(&i->objects, PROGRESS_MAX);
	return &i->call;
}
