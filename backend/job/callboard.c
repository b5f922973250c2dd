/* callboard.c - writes the calls of this MCP server for other processes to see. */
#include "job/board.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "job/board_layout.h"

struct callboard {
	pthread_mutex_t lock; /* of everything: a call is two short stores */
	int fd;               /* holds the lock that says we live */
	struct calls_header *header;
	struct call_slot *slots;
	size_t next; /* slot */
	uint64_t last_serial;
};

static void *map_calls(int fd, struct err *e)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	void *map = MAP_FAILED;

	/* Reserved, not only sized: a full disk must show here, not as SIGBUS on a store. */
	if (fcntl(fd, F_OFD_SETLK, &lock) == 0 &&
		(errno = posix_fallocate(fd, 0, CALLS_BYTES)) == 0)
		map = mmap(NULL, CALLS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED)
		return map;
	err_sys(e, errno, "cannot make room for the list of calls");
	return NULL;
}

static int create_callboard(struct callboard *b, const char *agent, struct err *e)
{
	char dir[PATH_MAX], calls[PATH_MAX];
	AUTO_FREE char *temporary = NULL, *path = NULL;
	void *map;

	if (runtime_dir(dir, sizeof dir, e) < 0 ||
		runtime_subdir(calls, sizeof calls, dir, CALLS_FOLDER, e) < 0)
		return -1;
	temporary = xasprintf("%s/.new-XXXXXX", calls);
	path = xasprintf("%s/%d-%llu" CALLS_SUFFIX, calls, (int)getpid(),
		(unsigned long long)process_started(getpid()));
	b->fd = mkostemp(temporary, O_CLOEXEC);
	if (b->fd < 0)
		return err_sys(e, errno, "cannot create a list of calls in %.400s", calls);
	map = map_calls(b->fd, e);
	if (map) {
		b->header = map;
		b->slots = (struct call_slot *)((char *)map + CALLS_HEADER);
		memcpy(b->header->magic, CALLS_MAGIC, 8);
		b->header->version = CALLS_VERSION;
		b->header->slots = CALLS_KEPT;
		b->header->slot_size = sizeof(struct call_slot);
		b->header->pid = getpid();
		snprintf(b->header->agent, sizeof b->header->agent, "%s", agent);
	}
	/* Whole when it gets its name; one of that name is of a process that is dead. */
	if (map && rename(temporary, path) == 0)
		return 0;
	if (map)
		err_sys(e, errno, "cannot create %.400s", path);
	if (map)
		munmap(map, CALLS_BYTES);
	unlink(temporary);
	close(b->fd);
	return -1;
}

struct callboard *callboard_open(const char *agent, struct err *e)
{
	struct callboard *b = xcalloc(1, sizeof *b);

	if (create_callboard(b, agent, e) < 0) {
		free(b);
		return NULL;
	}
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

void callboard_close(struct callboard *b)
{
	if (!b)
		return;
	atomic_store(&b->header->dead_since, clock_wall_ms());
	munmap(b->header, CALLS_BYTES);
	close(b->fd);
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* No NUL in the middle, no character cut in half. */
static void put_call_text(char *to, size_t cap, const char *from, size_t n)
{
	bool cut = n > cap - 1;

	n = cut ? cap - 1 : n;
	while (cut && n && ((unsigned char)from[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		to[i] = from[i] ? from[i] : ' ';
	memset(to + n, 0, cap - n);
}

static void begin_shown_write(_Atomic uint64_t *seq)
{
	atomic_fetch_add_explicit(seq, 1, memory_order_acq_rel);
	atomic_thread_fence(memory_order_seq_cst);
}

static void end_shown_write(_Atomic uint64_t *seq)
{
	atomic_fetch_add_explicit(seq, 1, memory_order_release);
}

static void put_current_call(struct calls_state *now, const struct call_slot *s)
{
	now->serial = s ? s->serial : 0;
	now->started_wall_ms = s ? s->started_wall_ms : 0;
	memset(now->tool, 0, sizeof now->tool);
	if (s)
		memcpy(now->tool, s->tool, sizeof now->tool);
}

static void count_in_second(struct calls_state *now, int64_t second)
{
	int64_t gone = now->second ? second - now->second : CALLS_SECONDS;

	for (int64_t i = 0; i < gone && i < CALLS_SECONDS; i++)
		now->made[(second - i) % CALLS_SECONDS] = 0;
	now->second = second;
	now->made[second % CALLS_SECONDS]++;
}

/* Under the lock. */
static void show_beginning(struct calls_header *h, const struct call_slot *s)
{
	begin_shown_write(&h->seq);
	h->now.running++;
	count_in_second(&h->now, clock_mono_ns() / 1000000000);
	if (s && !h->now.serial)
		put_current_call(&h->now, s);
	end_shown_write(&h->seq);
}

static const struct call_slot *find_oldest_running(const struct callboard *b)
{
	const struct call_slot *best = NULL;

	for (size_t i = 0; i < CALLS_KEPT; i++) {
		const struct call_slot *s = &b->slots[i];

		if (s->serial && s->state == CALL_RUNS && (!best || s->serial < best->serial))
			best = s;
	}
	return best;
}

/* Under the lock. */
static void show_ending(const struct callboard *b, uint64_t serial)
{
	struct calls_header *h = b->header;

	begin_shown_write(&h->seq);
	h->now.running--;
	if (h->now.serial == serial)
		put_current_call(&h->now, h->now.running ? find_oldest_running(b) : NULL);
	end_shown_write(&h->seq);
}

/* The one after the last, but none of a call that runs; NULL: they all do. */
static struct call_slot *next_call_slot(struct callboard *b)
{
	for (size_t i = 0; i < CALLS_KEPT; i++) {
		struct call_slot *s = &b->slots[(b->next + i) % CALLS_KEPT];

		if (s->serial && s->state == CALL_RUNS)
			continue;
		b->next = (b->next + i + 1) % CALLS_KEPT;
		return s;
	}
	return NULL;
}

uint64_t callboard_begin(
	struct callboard *b, const char *tool, const char *arguments, size_t n, uint64_t in_bytes)
{
	struct call_slot *s;
	uint64_t serial;

	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	serial = ++b->last_serial;
	s = next_call_slot(b);
	if (s) {
		begin_shown_write(&s->seq);
		s->serial = serial;
		s->state = CALL_RUNS;
		s->started_wall_ms = clock_wall_ms();
		s->started_mono_ns = clock_mono_ns();
		s->ended_mono_ns = 0;
		s->in_bytes = in_bytes;
		s->out_bytes = 0;
		put_call_text(s->tool, sizeof s->tool, tool, strlen(tool));
		put_call_text(s->arguments, sizeof s->arguments, arguments, n);
		put_call_text(s->result, sizeof s->result, "", 0);
		end_shown_write(&s->seq);
	}
	show_beginning(b->header, s);
	pthread_mutex_unlock(&b->lock);
	atomic_fetch_add(&b->header->calls, 1);
	atomic_fetch_add(&b->header->in_bytes, in_bytes);
	return serial;
}

static struct call_slot *find_call_slot(struct callboard *b, uint64_t serial)
{
	for (size_t i = 0; i < CALLS_KEPT; i++)
		if (b->slots[i].serial == serial)
			return &b->slots[i];
	return NULL;
}

void callboard_end(struct callboard *b, uint64_t serial, enum call_state state, const char *result,
	size_t n, uint64_t out_bytes)
{
	struct call_slot *s;

	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	s = find_call_slot(b, serial);
	if (s) {
		begin_shown_write(&s->seq);
		s->state = state;
		s->ended_mono_ns = clock_mono_ns();
		s->out_bytes = out_bytes;
		put_call_text(s->result, sizeof s->result, result, n);
		end_shown_write(&s->seq);
	}
	show_ending(b, serial);
	pthread_mutex_unlock(&b->lock);
	atomic_fetch_add(&b->header->failed, state == CALL_FAILED);
	atomic_fetch_add(&b->header->out_bytes, out_bytes);
}
