/*
 * journal_writer.c - writes a command's entry, in the process that runs it.
 *
 * The slot's ring is built in memory and written at most every FLUSH_MS, and at the end: what a command
 * prints without end costs a copy and nothing else.  Secrets are looked for in what is kept, each time
 * before it is written, so one that came in two pieces is masked as soon as its second half is there.  Of
 * what falls out of the ring so much is remembered that a secret is still found by both its halves.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "journal/entry.h"
#include "journal/journal.h"
#include "journal/layout.h"

#define SPAN_MAX ((size_t)1 << 17) /* no secret is that long, but the file may say so */

static void ring_write(struct journal_entry *j, uint64_t at, const void *bytes, size_t n)
{
	size_t cap = j->file->cap, from = (size_t)(at % cap),
	       part = n < cap - from ? n : cap - from;

	memcpy(j->ring + from, bytes, part);
	memcpy(j->ring, (const char *)bytes + part, n - part);
}

static void read_ring(const struct journal_entry *j, uint64_t at, void *bytes, size_t n)
{
	size_t cap = j->file->cap, from = (size_t)(at % cap),
	       part = n < cap - from ? n : cap - from;

	memcpy(bytes, j->ring + from, part);
	memcpy((char *)bytes + part, j->ring, n - part);
}

static uint32_t frame_at(const struct journal_entry *j, uint64_t at)
{
	uint32_t word;

	read_ring(j, at, &word, sizeof word);
	return word;
}

static void remember_bytes(struct journal_entry *j, int stream, const char *bytes, size_t n)
{
	struct before *b = &j->before[stream - 1];

	if (n > j->span) {
		bytes += n - j->span;
		n = j->span;
	}
	if (!n)
		return;
	if (!b->bytes)
		b->bytes = xmalloc(2 * j->span); /* so that not every byte moves all the others */
	if (b->n + n > 2 * j->span) {
		size_t keep = j->span - n;

		memmove(b->bytes, b->bytes + b->n - keep, keep);
		b->n = keep;
	}
	memcpy(b->bytes + b->n, bytes, n);
	b->n += n;
}

static void drop_frame(struct journal_entry *j)
{
	size_t cap = j->file->cap;
	uint32_t word = frame_at(j, j->head.first), len = FRAME_LEN(word);

	if (j->head.first == j->told_at)
		j->told_at = UINT64_MAX;
	j->head.first += FRAME_HEAD + len;
	if (j->span && FRAME_STREAM(word) != FRAME_TIME) {
		size_t n = len < j->span ? len : j->span,
		       from = (size_t)((j->head.first - n) % cap),
		       part = n < cap - from ? n : cap - from;

		remember_bytes(j, FRAME_STREAM(word), j->ring + from, part);
		remember_bytes(j, FRAME_STREAM(word), j->ring, n - part);
	}
}

static void drop_all(struct journal_entry *j)
{
	while (j->head.first < j->head.last)
		drop_frame(j);
}

static void put_frame(struct journal_entry *j, int stream, const char *bytes, size_t n)
{
	uint32_t word = (uint32_t)n | (uint32_t)stream << 30;
	struct journal_slot *s = &j->head;

	while (s->last + FRAME_HEAD + n - s->first > j->file->cap)
		drop_frame(j);
	ring_write(j, s->last, &word, sizeof word);
	ring_write(j, s->last + FRAME_HEAD, bytes, n);
	s->last += FRAME_HEAD + n;
}

/* Before what comes now, unless the ring says it already. */
static void put_frame_time(struct journal_entry *j)
{
	uint32_t ms = (uint32_t)((clock_mono_ns() - j->head.mono_ns) / 1000000);

	if (j->told_at != UINT64_MAX && j->told_ms == ms)
		return;
	put_frame(j, FRAME_TIME, (const char *)&ms, sizeof ms);
	j->told_at = j->head.last - FRAME_HEAD - sizeof ms;
	j->told_ms = ms;
}

/* The bytes of one stream as one text, or back again. */
static size_t gather_stream(struct journal_entry *j, int stream, char *text, bool back)
{
	size_t n = 0;

	for (uint64_t at = j->head.first; at < j->head.last;) {
		uint32_t word = frame_at(j, at), len = FRAME_LEN(word);

		if (FRAME_STREAM(word) == stream) {
			if (back)
				ring_write(j, at + FRAME_HEAD, text + n, len);
			else
				read_ring(j, at + FRAME_HEAD, text + n, len);
			n += len;
		}
		at += FRAME_HEAD + len;
	}
	return n;
}

static void mask_ring(struct journal_entry *j)
{
	AUTO_FREE char *text = xmalloc(j->file->cap + j->span);

	for (int stream = 1; stream <= 2; stream++) {
		struct before *b = &j->before[stream - 1];
		size_t had = b->n < j->span ? b->n : j->span;

		if (had)
			memcpy(text, b->bytes + b->n - had, had);
		if (mask_text(j->file, text, had + gather_stream(j, stream, text + had, false))) {
			if (had)
				memcpy(b->bytes + b->n - had, text, had);
			gather_stream(j, stream, text + had, true);
			j->written = j->head.first;
		}
	}
}

static void write_at(struct journal_entry *j, const void *bytes, size_t n, int64_t at)
{
	if (!j->broken && n && pwrite(j->fd, bytes, n, at) != (ssize_t)n)
		j->broken = true;
}

static void put_head(struct journal_entry *j)
{
	j->head.check = journal_check(&j->head);
	write_at(j, &j->head, offsetof(struct journal_slot, argv) + j->head.argv_len, j->at);
	j->first = j->head.first;
}

static void flush_slot(struct journal_entry *j)
{
	struct journal_slot *s = &j->head;
	uint64_t from, last = s->last, cap = j->file->cap;

	if (j->dirty && j->file->nmasks)
		mask_ring(j);
	if (j->dirty) {
		/* A reader must know what is gone before it is written over. */
		if (s->first != j->first) {
			s->last = j->written > s->first ? j->written : s->first;
			put_head(j);
			s->last = last;
		}
		for (from = j->written > s->first ? j->written : s->first; from < last;) {
			uint64_t off = from % cap,
				 n = cap - off < last - from ? cap - off : last - from;

			write_at(j, j->ring + off, (size_t)n,
				j->at + JOURNAL_SLOT_HEAD + (int64_t)off);
			from += n;
		}
		j->written = last;
	}
	put_head(j);
	j->dirty = false;
	j->flushed_ns = clock_mono_ns();
}

static int lock_slot(int fd, int64_t at, short how)
{
	struct flock lock = {.l_type = how, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

	return fcntl(fd, F_OFD_SETLK, &lock);
}

/* The next slot that no living process is writing. */
static int claim_slot(struct journal_entry *j, struct journal_file *shared)
{
	for (uint32_t tries = 0; tries < shared->slots; tries++) {
		uint64_t seq = atomic_fetch_add(&shared->next, 1);

		j->at = journal_slot_at(j->file, (uint32_t)(seq % shared->slots));
		j->head.seq = seq;
		if (!lock_slot(j->fd, j->at, F_WRLCK))
			return 0;
	}
	return -1;
}

void journal_mask(const char *name, char *text, size_t n)
{
	struct journal_file head, *map;
	AUTO_CLOSE int fd = journal_open(name, O_RDONLY, &head);

	if (fd < 0)
		return;
	map = mmap(NULL, head.data_at, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return;
	mask_text(map, text, n);
	munmap(map, head.data_at);
}

static size_t span_of(const struct journal_file *f)
{
	size_t most = 0;

	for (uint32_t i = 0; i < f->nmasks; i++)
		if (f->mask[i].len > most + 1)
			most = f->mask[i].len - 1;
	return most < SPAN_MAX ? most : SPAN_MAX;
}

/* As much of a text as there is room for; a secret that the end cuts is seen whole before. */
static size_t keep_text(const struct journal_entry *j, char *to, size_t room, const char *text)
{
	size_t n = strnlen(text, room + j->span);
	AUTO_FREE char *whole = NULL;

	if (n <= room) {
		memcpy(to, text, n);
		mask_text(j->file, to, n);
		return n;
	}
	whole = xmalloc(n);
	memcpy(whole, text, n);
	mask_text(j->file, whole, n);
	memcpy(to, whole, room);
	return room;
}

struct journal_entry *journal_begin(
	const char *name, const char *program, const char *command, bool terminal)
{
	struct journal_entry *j;
	struct journal_file head, *map;
	AUTO_CLOSE int fd = journal_open(name, O_RDWR, &head);

	if (fd < 0)
		return NULL;
	map = mmap(NULL, head.data_at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return NULL;
	j = xcalloc(1, sizeof *j);
	j->fd = steal_fd(&fd);
	j->file = map;
	j->span = span_of(map);
	j->told_at = UINT64_MAX;
	if (claim_slot(j, map)) {
		munmap(map, map->data_at);
		close(j->fd);
		free(j);
		return NULL;
	}
	j->head.state = SLOT_RUNNING;
	j->head.terminal = terminal;
	j->head.pid = getpid();
	j->head.uid = getuid();
	j->head.wall_ms = clock_wall_ms();
	j->head.mono_ns = clock_mono_ns();
	snprintf(j->head.program, sizeof j->head.program, "%s", program ? program : "");
	j->head.argv_len = (uint32_t)keep_text(j, j->head.argv, sizeof j->head.argv, command);
	put_head(j);
	j->flushed_ns = j->head.mono_ns;
	return j;
}

void journal_put(struct journal_entry *j, int stream, const char *bytes, size_t n)
{
	struct before *b = &j->before[stream - 1];
	size_t cap = j->file->cap, piece;

	if (!j->ring)
		j->ring = xmalloc(cap);
	*(stream == 2 ? &j->head.error_bytes : &j->head.out_bytes) += n;
	if (b->skip) {
		piece = n < b->skip ? n : b->skip;
		remember_bytes(j, stream, bytes, piece);
		b->skip -= piece;
		bytes += piece;
		n -= piece;
	}
	if (n > cap) {
		drop_all(j);
		remember_bytes(j, stream, bytes, n - cap);
		bytes += n - cap;
		n = cap;
	}
	for (; n; n -= piece, bytes += piece) {
		piece = n < cap / 8 ? n : cap / 8;
		put_frame_time(j);
		put_frame(j, stream, bytes, piece);
	}
	j->dirty = true;
}

void journal_add(struct journal_entry *j, int stream, const char *bytes, size_t n)
{
	if (!j || !n)
		return;
	tap_drain(j); /* came before */
	journal_put(j, stream, bytes, n);
}

void journal_lose(struct journal_entry *j, int stream, uint64_t n)
{
	*(stream == 2 ? &j->head.error_bytes : &j->head.out_bytes) += n;
	drop_all(j);
	/* What begins in the lost bytes ends within the next `span`, and cannot be told from other text. */
	j->before[stream - 1].n = 0;
	j->before[stream - 1].skip = j->span;
	j->dirty = true;
}

int journal_wait_ms(const struct journal_entry *j)
{
	int64_t left;

	if (!j || (!j->dirty && !j->tap[0].held && !j->tap[1].held))
		return -1;
	left = FLUSH_MS - (clock_mono_ns() - j->flushed_ns) / 1000000;
	return left > 0 ? (int)left : 0;
}

void journal_tick(struct journal_entry *j)
{
	if (journal_wait_ms(j))
		return;
	tap_drain(j);
	flush_slot(j);
}

void journal_end(struct journal_entry *j, const struct run_result *r)
{
	if (!j)
		return;
	tap_drain(j);
	tap_release(j);
	j->head.state = SLOT_ENDED;
	j->head.ended = (uint32_t)r->ended;
	j->head.path = (uint32_t)r->path;
	j->head.exit_code = r->exit_code;
	j->head.duration_ns = r->duration_ms > 0 ? (int64_t)(r->duration_ms * 1e6)
						 : clock_mono_ns() - j->head.mono_ns;
	if (r->err.kind)
		keep_text(j, j->head.note, sizeof j->head.note - 1, r->err.msg);
	flush_slot(j);
	lock_slot(j->fd, j->at, F_UNLCK);
	munmap((void *)j->file, j->file->data_at);
	close(j->fd);
	for (int i = 0; i < 2; i++)
		free(j->before[i].bytes);
	free(j->ring);
	free(j);
}
