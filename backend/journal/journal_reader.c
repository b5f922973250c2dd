/* journal_reader.c - reads an agent's command log, also while it is written. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/journal.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "journal/layout.h"
#include "lane/lane.h"

#define RUNNING_MAX 64
#define TRIES 5 /* for a slot that is written just now */

static int open_for(const char *who, struct journal_file *file)
{
	struct lane_about about;
	int fd = journal_open(who, O_RDONLY, file);

	if (fd < 0 && !lane_find(who, &about, NULL))
		fd = journal_open(about.name, O_RDONLY, file);
	return fd;
}

static int read_slot(int fd, const struct journal_file *f, uint32_t slot, struct journal_slot *s)
{
	for (int i = 0; i < TRIES; i++) {
		if (pread(fd, s, sizeof *s, journal_slot_at(f, slot)) != (ssize_t)sizeof *s)
			return -1;
		if (s->state == SLOT_EMPTY)
			return -1;
		if (s->check == journal_check(s) && s->state <= SLOT_ENDED &&
			s->argv_len <= sizeof s->argv && s->ended <= ENDED_FAILED &&
			s->path <= RUN_ENGINE && s->first <= s->last &&
			s->last - s->first <= f->cap)
			return 0;
	}
	return -1;
}

static bool is_range_locked(int fd, int64_t at)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return !fcntl(fd, F_OFD_GETLK, &lock) && lock.l_type != F_UNLCK;
}

static void describe_slot(int fd, const struct journal_file *f, uint32_t slot,
	const struct journal_slot *s, struct journal_command *c)
{
	size_t n = s->argv_len < sizeof c->argv ? s->argv_len : sizeof c->argv - 1;
	bool alive = s->state == SLOT_RUNNING && is_range_locked(fd, journal_slot_at(f, slot));

	*c = (struct journal_command){.seq = s->seq,
		.running = alive,
		.lost = s->state == SLOT_RUNNING && !alive,
		.terminal = s->terminal,
		.ended = (enum run_ended)s->ended,
		.path = (enum run_path)s->path,
		.exit_code = s->exit_code,
		.pid = s->pid,
		.uid = s->uid,
		.started_wall_ms = s->wall_ms,
		.duration_ms =
			(double)(alive ? clock_mono_ns() - s->mono_ns : s->duration_ns) / 1e6,
		.out_bytes = s->out_bytes,
		.error_bytes = s->error_bytes};
	memcpy(c->program, s->program, sizeof c->program - 1);
	memcpy(c->ended_note, s->note, sizeof c->ended_note - 1);
	memcpy(c->argv, s->argv, n);
}

static size_t collect_commands(
	const char *who, struct journal_command *out, size_t max, bool running)
{
	struct journal_file file;
	AUTO_CLOSE int fd = open_for(who, &file);
	uint64_t next;
	size_t n = 0;

	if (fd < 0)
		return 0;
	next = atomic_load(&file.next) % file.slots;
	for (uint32_t back = 1; back <= file.slots && n < max; back++) {
		uint32_t slot = (uint32_t)((next + file.slots - back) % file.slots);
		struct journal_slot s;

		/* A command that ran long stands in a slot that later numbers passed over. */
		if (read_slot(fd, &file, slot, &s) || (running && s.state != SLOT_RUNNING))
			continue;
		describe_slot(fd, &file, slot, &s, &out[n]);
		n += !running || out[n].running;
	}
	return n;
}

static int newest_first(const void *a, const void *b)
{
	const struct journal_command *x = a, *y = b;

	return (x->seq < y->seq) - (x->seq > y->seq);
}

static int oldest_first(const void *a, const void *b)
{
	return newest_first(b, a);
}

size_t journal_list(const char *name, struct journal_command *out, size_t max)
{
	size_t n = collect_commands(name, out, max, false);

	mem_sort(out, n, sizeof *out, newest_first);
	return n;
}

size_t journal_running(const char *name, struct journal_command *out, size_t max)
{
	size_t n = collect_commands(name, out, max, true);

	mem_sort(out, n, sizeof *out, oldest_first);
	return n;
}

static void ring_copy(const char *ring, size_t cap, uint64_t at, char *out, size_t n)
{
	size_t from = (size_t)(at % cap), part = n < cap - from ? n : cap - from;

	memcpy(out, ring + from, part);
	memcpy(out + part, ring, n - part);
}

/* From piece `*from` on all came by then. */
static void tell_time(struct journal_output *o, size_t *from, int64_t *at_ms, uint32_t ms)
{
	for (*at_ms = ms; *from < o->npieces; ++*from)
		if (o->piece[*from].at_ms < 0)
			o->piece[*from].at_ms = ms;
}

/* The frames from `first` to `last`; false when they do not add up. */
static bool cut_frames(
	struct journal_output *o, const char *ring, size_t cap, uint64_t first, uint64_t last)
{
	size_t used = 0, room = 0, untold = 0;
	int64_t at_ms = -1;

	o->mem = xmalloc((size_t)(last - first) + 1);
	for (uint64_t at = first; at < last;) {
		uint32_t word, len;

		if (last - at < FRAME_HEAD)
			return false;
		ring_copy(ring, cap, at, (char *)&word, sizeof word);
		len = FRAME_LEN(word);
		at += FRAME_HEAD;
		if (last - at < len || FRAME_STREAM(word) < 1)
			return false;
		if (FRAME_STREAM(word) == FRAME_TIME) {
			if (len != sizeof word)
				return false;
			ring_copy(ring, cap, at, (char *)&word, sizeof word);
			tell_time(o, &untold, &at_ms, word);
			at += len;
			continue;
		}
		o->piece = mem_grow(o->piece, &room, o->npieces + 1, sizeof *o->piece);
		o->piece[o->npieces++] =
			(struct journal_piece){FRAME_STREAM(word), at_ms, o->mem + used, len};
		ring_copy(ring, cap, at, o->mem + used, len);
		used += len;
		at += len;
	}
	o->missed = o->command.out_bytes + o->command.error_bytes;
	o->missed = o->missed > used ? o->missed - used : 0;
	return true;
}

/* 1 done, 0 it changed under our hands, -1 not there. */
static int try_read(
	int fd, const struct journal_file *f, uint64_t seq, char *ring, struct journal_output *ret)
{
	uint32_t slot = (uint32_t)(seq % f->slots);
	struct journal_slot s, after;
	int64_t at = journal_slot_at(f, slot);

	if (read_slot(fd, f, slot, &s) || s.seq != seq)
		return -1;
	if (pread(fd, ring, f->cap, at + JOURNAL_SLOT_HEAD) != (ssize_t)f->cap)
		return -1;
	if (read_slot(fd, f, slot, &after) || after.seq != seq)
		return -1;
	if (after.first > s.last)
		return 0;
	describe_slot(fd, f, slot, &s, &ret->command);
	if (cut_frames(ret, ring, f->cap, after.first, s.last))
		return 1;
	journal_output_release(ret);
	return 0;
}

int journal_read(const char *name, uint64_t seq, struct journal_output *ret, struct err *e)
{
	struct journal_file file;
	AUTO_CLOSE int fd = open_for(name, &file);
	AUTO_FREE char *ring = NULL;
	int found = -1;

	memset(ret, 0, sizeof *ret);
	if (fd >= 0) {
		ring = xmalloc(file.cap);
		for (int i = 0; i < TRIES && (found = try_read(fd, &file, seq, ring, ret)) == 0;
			i++)
			;
	}
	if (found > 0)
		return 0;
	return err_set(e, ERR_NOT_FOUND,
		found ? "command %llu of %s is no longer in its journal."
		      : "command %llu of %s is still being written; try again.",
		(unsigned long long)seq, name);
}

void journal_output_release(struct journal_output *o)
{
	free(o->piece);
	free(o->mem);
	o->piece = NULL;
	o->mem = NULL;
	o->npieces = 0;
}

void journal_add_running(const char *name, struct str *out)
{
	AUTO_FREE struct journal_command *running = xcalloc(RUNNING_MAX, sizeof *running);
	size_t n = journal_running(name, running, RUNNING_MAX);
	char shown[64];

	if (!n)
		return;
	str_addf(out, ", and runs `%s`", text_clean(shown, sizeof shown, running->argv));
	if (n > 1)
		str_addf(out, " and %zu other command%s", n - 1, n == 2 ? "" : "s");
}
