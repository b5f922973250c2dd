/* tape_reader.c - reads a recording line by line as untrusted input. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <berth/tape.h>
#include <berth/arena.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/snapshot.h>
#include <berth/str.h>

#include "base/snapshot.h"
#include "tape/shape.h"

/* Times that a clock of ours may show: from 1970 for thousands of years, and boots of hundreds. */
#define MONO_MOST ((int64_t)1 << 60)
#define WALL_MOST ((int64_t)1 << 47)

struct tape_reader {
	char *path;
	gzFile file;
	size_t nline;
	struct str line;
	struct arena head_mem, mem; /* mem: of the line */
	struct tape_head head;
	struct tape_input input;
	bool cut;
};

static int refuse_tape_line(struct tape_reader *r, struct err *e)
{
	e->kind = ERR_USAGE;
	return err_wrap(e, "%s, line %zu, is not a valid record", r->path, r->nline);
}

/* 1: there is one; 0: none any more. */
static int read_tape_line(struct tape_reader *r, struct err *e)
{
	char part[16384];
	int state;

	str_clear(&r->line);
	while (gzgets(r->file, part, sizeof part)) {
		size_t n = strlen(part);

		if (r->line.len + n > TAPE_LINE_MAX)
			return err_set(e, ERR_USAGE, "%s, line %zu, is longer than berth records.",
				r->path, r->nline + 1);
		str_add(&r->line, part, n);
		if (n && part[n - 1] == '\n') {
			r->nline++;
			return 1;
		}
		if (!n)
			break; /* a NUL byte: not ours */
	}
	gzerror(r->file, &state);
	if (state != Z_OK && state != Z_BUF_ERROR)
		return err_set(e, ERR_USAGE, "%s is damaged after line %zu.", r->path, r->nline);
	r->cut |= state == Z_BUF_ERROR || r->line.len;
	return 0;
}

static const struct json *parse_tape_line(struct tape_reader *r, struct err *e)
{
	struct err fault;
	const struct json *j;

	arena_reset(&r->mem);
	j = json_parse(&r->mem, r->line.s, r->line.len, &fault, e);
	if (j && fault.kind)
		return err_null(err_copy(e, &fault));
	if (j && !json_is(j, JSON_OBJECT))
		return err_null(err_set(e, ERR_USAGE, "there is no object"));
	return j;
}

static int read_head(struct tape_reader *r, struct err *e)
{
	const struct json *j;
	const char *schema;
	int got = read_tape_line(r, e);

	if (got < 0)
		return -1;
	j = got ? parse_tape_line(r, e) : NULL;
	schema = j ? json_string(j, "schema") : NULL;
	if (!schema || strncmp(schema, "berth.recording/", 16) != 0)
		return err_set(e, ERR_USAGE, "%s is not a berth recording.", r->path);
	if (strcmp(schema + 16, "1") != 0)
		return err_set(e, ERR_USAGE,
			"%s was recorded by a newer berth, in a format that this version does not know.",
			r->path);
	if (shape_read(&shape_head, json_member(j, "head"), &r->head_mem, &r->head, e) < 0)
		return refuse_tape_line(r, e);
	if (r->head.columns < 1 || r->head.columns > 1000 || r->head.rows < 1 ||
		r->head.rows > 500 || abs(r->head.utc_offset_s) > 86400 ||
		strlen(r->head.settings) > TAPE_SETTINGS_MAX)
		return err_set(e, ERR_USAGE, "%s begins with impossible sizes.", r->path);
	return 0;
}

struct tape_reader *tape_open(const char *path, struct err *e)
{
	struct tape_reader *r;
	int fd = file_open(AT_FDCWD, path, 0);
	struct err why = ERR_INIT;

	if (fd < 0) {
		err_sys(&why, errno, "--replay: cannot read %s", path);
		why.kind = ERR_USAGE;
		err_copy(e, &why);
		return NULL;
	}
	r = xcalloc(1, sizeof *r);
	r->path = xstrdup(path);
	r->file = gzdopen(fd, "rb");
	arena_init(&r->mem, 1 << 16);
	arena_init(&r->head_mem, 0);
	str_init(&r->line);
	if (r->file && read_head(r, e) == 0)
		return r;
	tape_release(r);
	return NULL;
}

const struct tape_head *tape_head_of(const struct tape_reader *r)
{
	return &r->head;
}

bool tape_is_cut(const struct tape_reader *r)
{
	return r->cut;
}

static int read_taped_snapshot(const struct json *j, struct tape_moment *ret, struct err *e)
{
	struct arena *mem;
	struct snapshot *s = snapshot_new(0, &mem);

	memset(s, 0, sizeof *s);
	if (shape_read(&shape_snapshot, j, mem, s, e) < 0) {
		snapshot_unref(s);
		return -1;
	}
	ret->snapshot = s;
	return 0;
}

/* What its kind promises is there. */
static bool event_is_whole(const struct event *ev)
{
	if (ev->kind == EV_CLEAN_ITEM)
		return ev->outcome;
	if (ev->kind == EV_WORKSPACES)
		return ev->overview;
	if (ev->kind == EV_WORKSPACE)
		return ev->workspace;
	return ev->kind != EV_CLEAN_PLAN || ev->plan || ev->err.kind;
}

static int read_taped_event(const struct json *j, struct tape_moment *ret, struct err *e)
{
	struct event *ev = event_new(EV_RESULT);
	int rc = shape_read(&shape_event, j, &ev->mem, ev, e);

	if (rc == 0 && !event_is_whole(ev))
		rc = err_set(e, ERR_USAGE, "an event lacks a member of its kind");
	if (rc < 0)
		event_free(ev);
	else
		ret->event = ev;
	return rc;
}

static int read_input_line(
	struct tape_reader *r, const struct json *j, struct tape_moment *ret, struct err *e)
{
	r->input = (struct tape_input){0};
	ret->input = &r->input;
	return shape_read(&shape_input, j, &r->mem, &r->input, e);
}

static bool read_times(const struct json *j, struct tape_moment *ret)
{
	int64_t sent = 0;

	if (!json_integer(json_member(j, "at"), &ret->mono_ns) ||
		!json_integer(json_member(j, "wall"), &ret->wall_ms) ||
		(json_member(j, "sent") && !json_integer(json_member(j, "sent"), &sent)))
		return false;
	ret->sent = (uint64_t)sent;
	return sent >= 0 && ret->mono_ns >= 0 && ret->mono_ns < MONO_MOST && ret->wall_ms >= 0 &&
		ret->wall_ms < WALL_MOST;
}

static int read_tape_moment(
	struct tape_reader *r, const struct json *j, struct tape_moment *ret, struct err *e)
{
	const struct json *what, *picture = json_member(j, "picture");

	if (!read_times(j, ret))
		return err_set(e, ERR_USAGE, "its time is impossible");
	if ((what = json_member(j, "snapshot")))
		return read_taped_snapshot(what, ret, e);
	if ((what = json_member(j, "event")))
		return read_taped_event(what, ret, e);
	if ((what = json_member(j, "input")))
		return read_input_line(r, what, ret, e);
	if (!json_is(picture, JSON_NUMBER))
		return err_set(e, ERR_USAGE, "it holds nothing that berth knows");
	ret->picture = strtoull(picture->text, NULL, 10) | 1;
	return 0;
}

int tape_next(struct tape_reader *r, struct tape_moment *ret, struct err *e)
{
	const struct json *j;
	int got = read_tape_line(r, e);

	*ret = (struct tape_moment){0};
	if (got <= 0)
		return got;
	j = parse_tape_line(r, e);
	if (!j || read_tape_moment(r, j, ret, e) < 0)
		return refuse_tape_line(r, e);
	return 1;
}

void tape_release(struct tape_reader *r)
{
	if (!r)
		return;
	if (r->file)
		gzclose(r->file);
	arena_release(&r->mem);
	arena_release(&r->head_mem);
	str_release(&r->line);
	free(r->path);
	free(r);
}
