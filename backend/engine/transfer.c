/*
 * transfer.c - pulls, builds and imports images, and follows the progress.
 *
 * What goes up comes from a file, read by uv's workers into two buffers, one ahead of the other; curl takes
 * from them.  A refusal may come after HTTP 200, as an object in the reply's stream.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "engine/call.h"
#include "engine/parse.h"
#include "net/blocking.h"
#include "engine/split.h"

enum { SLOT_SIZE = 256 << 10 };
#define PROGRESS_MAX ((size_t)1 << 20)

struct transfer;

/* Outlives the call while a worker is busy with it. */
struct source {
	struct transfer *owner; /* NULL: abandoned */
	uv_loop_t *loop;
	struct blocking_task blocking;
	bool busy, failed;
	int fd;
	ssize_t got; /* of the last read */
	uint64_t size, asked, taken;
	int error;
	struct slot {
		char *bytes;
		size_t len, at;
		bool full;
	} slot[2];
	int reading, sending; /* which slot */
	char *path;
	bool regular;
};

struct transfer {
	struct engine_call call;
	struct call_ops ops; /* with the caller's words */
	struct source *source;
	char *what, *method, *path, *target, *header;
	uint64_t told; /* to `progress` while the answer came */
	int fd;        /* the caller's; -1: the path, or nothing goes up */
	void (*said)(void *ctx, const struct engine_said *said);
	void (*progress)(void *ctx, uint64_t sent, uint64_t total);
	engine_done_fn fn;
	void *ctx;
	struct objects objects;
};

static void source_drop(struct source *s)
{
	s->owner = NULL;
	if (s->busy)
		return;
	if (s->fd >= 0)
		close(s->fd);
	free(s->path);
	free(s->slot[0].bytes);
	free(s->slot[1].bytes);
	free(s);
}

static void on_read(struct blocking_task *x);

static void read_into_slot(struct blocking_task *x)
{
	struct source *s = x->data;
	uint64_t left = s->size - s->asked;

	do
		s->got = pread(s->fd, s->slot[s->reading].bytes,
			left < SLOT_SIZE ? left : SLOT_SIZE, (off_t)s->asked);
	while (s->got < 0 && errno == EINTR);
	s->error = s->got < 0 ? errno : 0;
}

static void read_more(struct source *s)
{
	struct slot *slot = &s->slot[s->reading];
	int failed;

	if (s->busy || s->failed || slot->full || s->asked == s->size)
		return;
	s->busy = true;
	failed = blocking_start(s->loop, &s->blocking, read_into_slot, on_read);
	if (failed) {
		s->busy = false;
		s->failed = true;
		s->error = failed;
	}
}

static void on_read(struct blocking_task *x)
{
	struct source *s = x->data;
	struct slot *slot = &s->slot[s->reading];
	ssize_t n = s->got;

	s->busy = false;
	if (!s->owner) {
		source_drop(s);
		return;
	}
	if (n <= 0) { /* 0: it became shorter while it was read */
		s->failed = true;
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

static ssize_t pull_slot(void *ctx, char *buf, size_t n)
{
	struct source *s = ((struct transfer *)ctx)->source;
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

static void send_it(struct transfer *t)
{
	struct source *s = t->source;
	struct http_request rq = {.method = t->method,
		.target = t->target,
		.header = t->header,
		.lane = HTTP_LANE_STREAM};

	if (s) {
		rq.pull = pull_slot;
		rq.upload = s->size;
		s->slot[0].bytes = xmalloc(SLOT_SIZE);
		s->slot[1].bytes = xmalloc(SLOT_SIZE);
		read_more(s);
	}
	call_send_request(&t->call, &rq);
}

static void fail_sys(struct transfer *t, int errnum)
{
	struct err e = ERR_INIT;
	char path[256];

	if (t->call.cancelled)
		err_set(&e, ERR_CANCELLED, "cancelled");
	else
		err_sys(&e, errnum, "cannot read %s", text_clean(path, sizeof path, t->path));
	call_fail(&t->call, &e);
}

/* Opens the path, unless it is open, and looks how much there is. */
static void look_at_source(struct blocking_task *x)
{
	struct source *s = x->data;
	struct stat st = {0};

	if (s->fd < 0)
		s->fd = open(s->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	s->error = s->fd < 0 || fstat(s->fd, &st) < 0 ? errno : 0;
	s->regular = S_ISREG(st.st_mode);
	s->size = (uint64_t)st.st_size;
}

static void on_looked(struct blocking_task *x)
{
	struct source *s = x->data;
	struct err e = ERR_INIT;

	s->busy = false;
	if (!s->owner) {
		source_drop(s);
	} else if (s->error || s->owner->call.cancelled) {
		fail_sys(s->owner, s->error);
	} else if (!s->regular || s->size == 0) {
		err_set(&e, ERR_USAGE, "cannot import %s: it is %s", s->owner->path,
			s->regular ? "empty" : "not a regular file");
		call_fail(&s->owner->call, &e);
	} else {
		send_it(s->owner);
	}
}

static void transfer_start(struct engine_call *c)
{
	struct transfer *t = (struct transfer *)c;
	struct source *s;
	int failed;

	if (!t->path) {
		send_it(t);
		return;
	}
	s = xcalloc(1, sizeof *s);
	t->source = s;
	s->owner = t;
	s->loop = c->en->loop;
	s->fd = -1;
	s->blocking.data = s;
	s->path = xstrdup(t->path);
	if (t->fd >= 0)
		s->fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 0);
	/* Once the blocking task has begun, the source is its thread's. */
	s->busy = true;
	failed = t->fd >= 0 && s->fd < 0
		? errno
		: blocking_start(s->loop, &s->blocking, look_at_source, on_looked);
	if (failed) {
		s->busy = false;
		fail_sys(t, failed);
	}
}

const char *parse_stream_error(const cJSON *root)
{
	const char *detail = ejson_text(ejson_path(root, "errorDetail", "message", NULL));

	return *detail ? detail : ejson_string(root, "error");
}

static void one_object(void *ctx, const char *json, size_t n)
{
	struct transfer *t = ctx;
	AUTO_JSON cJSON *root = json ? ejson_parse(json, n, NULL) : NULL;
	const char *wrong = parse_stream_error(root);
	const cJSON *detail = ejson_path(root, "progressDetail", NULL);
	char clean[ERR_MSG_MAX / 2], name[65], what[128];

	if (t->call.err.kind || t->call.cancelled)
		return;
	if (*wrong) {
		snprintf(what, sizeof what, t->what, short_id(t->call.subject, name));
		err_set(&t->call.err, ERR_FAILED, "cannot %s: %s", what,
			text_clean(clean, sizeof clean, wrong));
		http_cancel(t->call.http);
	} else if (root && t->said) {
		const struct engine_said said = {.id = ejson_string(root, "id"),
			.status = ejson_string(root, "status"),
			.stream = ejson_string(root, "stream"),
			.image = ejson_text(ejson_path(root, "aux", "ID", NULL)),
			.current = ejson_i64(detail, "current", -1),
			.total = ejson_i64(detail, "total", -1)};

		t->said(t->ctx, &said);
	}
}

static void transfer_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct transfer *t = (struct transfer *)c;
	struct err wrong = ERR_INIT;

	/* An answer often begins when all has arrived: nothing else tells that the last bytes left. */
	if (t->progress && t->source && t->told != t->source->taken) {
		t->told = t->source->taken;
		t->progress(t->ctx, t->told, t->source->size);
	}
	if (!c->err.kind && objects_feed(&t->objects, bytes, n, one_object, t, &wrong) &&
		!c->err.kind) {
		c->err = wrong;
		http_cancel(c->http);
	}
}

static void transfer_eof(struct engine_call *c)
{
	struct transfer *t = (struct transfer *)c;
	struct err e = ERR_INIT;

	if (objects_inside(&t->objects)) {
		err_set(&e, ERR_PROTOCOL,
			"the engine's answer about %s ended in the middle of a message",
			c->subject);
	} else if (t->progress && t->source) {
		t->progress(t->ctx, t->source->taken, t->source->size);
	}
	t->fn(t->ctx, e.kind ? &e : NULL);
	call_free(c);
}

static void transfer_failed(struct engine_call *c, const struct err *err)
{
	struct transfer *t = (struct transfer *)c;
	struct err e = ERR_INIT;

	if (t->source && t->source->failed && err->kind != ERR_CANCELLED) {
		if (t->source->error)
			err_sys(&e, t->source->error, "cannot read %s", t->path);
		else
			err_set(&e, ERR_FAILED, "cannot import %s: it shrank in the meantime",
				t->path);
		err = &e;
	}
	t->fn(t->ctx, err);
}

static void transfer_release(struct engine_call *c)
{
	struct transfer *t = (struct transfer *)c;

	if (t->source)
		source_drop(t->source);
	objects_release(&t->objects);
	free(t->what);
	free(t->method);
	free(t->path);
	free(t->target);
	free(t->header);
}

static const struct call_ops transfer_ops = {
	.start = transfer_start,
	.data = transfer_data,
	.eof = transfer_eof,
	.failed = transfer_failed,
	.release = transfer_release,
};

struct engine_call *engine_transfer(struct engine *en, const char *subject,
	const struct engine_transfer *what, engine_done_fn fn, void *ctx)
{
	struct transfer *t = call_new(en, &transfer_ops, sizeof *t, subject);

	t->what = xstrdup(what->what);
	t->method = xstrdup(what->method ? what->method : "POST");
	t->ops = transfer_ops;
	t->ops.what = t->what;
	t->call.ops = &t->ops;
	t->path = xstrdup(what->path);
	t->fd = what->path ? what->fd : -1;
	t->target = xstrdup(what->target);
	t->header = xstrdup(what->header);
	t->said = what->said;
	t->progress = what->progress;
	t->fn = fn;
	t->ctx = ctx;
	objects_init(&t->objects, PROGRESS_MAX);
	return &t->call;
}

void engine_import_target(struct str *target, const char *reference)
{
	const char *slash = strrchr(reference, '/');

	/* All of it in repo, as the docker CLI does: podman 4.3 ignores the parameter tag.  The colon
	 * of a registry's port is no tag's. */
	str_adds(target, "/images/create?fromSrc=-&repo=");
	url_escape(target, reference);
	if (!strchr(slash ? slash : reference, ':'))
		url_escape(target, ":latest");
}

struct engine_call *engine_import(struct engine *en, const char *path, const char *reference,
	void (*progress)(void *ctx, uint64_t sent, uint64_t total), engine_done_fn fn, void *ctx)
{
	AUTO_STR struct str target = STR_INIT;
	struct engine_transfer t = {
		.what = "import %s", .path = path, .fd = -1, .progress = progress};

	engine_import_target(&target, reference);
	t.target = target.s;
	return engine_transfer(en, reference, &t, fn, ctx);
}
