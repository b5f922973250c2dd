/* past_write.c - writes the history of containers on a thread. */
#include "past/past.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/str.h>

#include "past/past_open.h"

#define PENDING_MAX ((size_t)2 << 20) /* bytes that may wait for the disk */
#define RETRY_MS 10000                /* after a disk was full */
#define LOCK_MS 2000                  /* for the lock */
#define STOP_WAIT_MS 500
#define FRESH_MS 60000 /* a row that was seen since then is not given away */
#define TIRED_MS (INT64_C(7) * 86400 * 1000)

/* Of one record that is not complete. */
struct past_sums {
	uint32_t tick, n;
	double v[PAST_VALUES]; /* sums, or the highest */
};

enum past_phase { PAST_WAITS, PAST_OPENED, PAST_RUNS, PAST_FAILED };

/* Shared with the thread, which frees it where the owner does not wait. */
struct past_hand {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum past_phase phase; /* PAST_OPENED: `held` is what was read */
	bool tried, quit, ended, left;
	struct str pending;
	char trouble[ERR_MSG_MAX];
	struct past_held held;
	char path[PATH_MAX];
};

struct past_writer {
	struct past_hand *hand;
	pthread_t thread;
	bool started, runs; /* runs: as past_writes last said */
	bool yields;        /* no thread; to any that has one */
	int fd;             /* then: the file, -1 not open */
	struct past_entry entry[PAST_ROWS];
	bool changed[PAST_ROWS];
	uint64_t events;
	struct past_sums sums[PAST_ROWS][PAST_LEVELS];
	struct str batch;
	int64_t saved_ms;
};

/* What goes to the thread: this, then so many bytes. */
struct past_piece {
	int64_t at;
	uint64_t n;
};

/* -- the thread ------------------------------------------------------------------------------------------ */

static int write_piece(int fd, const struct past_piece *p, const char *bytes)
{
	size_t done = 0;

	while (done < p->n) {
		ssize_t n = pwrite(fd, bytes + done, p->n - done, p->at + (int64_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return 0;
}

static int write_pieces(int fd, const struct str *batch)
{
	struct past_piece p;

	for (size_t at = 0; at + sizeof p <= batch->len; at += sizeof p + p.n) {
		memcpy(&p, batch->s + at, sizeof p);
		if (write_piece(fd, &p, batch->s + at + sizeof p))
			return -1;
	}
	return 0;
}

/* Called with the lock. */
static void wait_for_hand(struct past_hand *h, int64_t ms)
{
	struct timespec until = clock_in_ms(ms);

	if (ms < 0)
		pthread_cond_wait(&h->changed, &h->lock);
	else
		pthread_cond_clockwait(&h->changed, &h->lock, CLOCK_MONOTONIC, &until);
}

static void set_hand_phase(struct past_hand *h, enum past_phase phase, const char *trouble)
{
	pthread_mutex_lock(&h->lock);
	h->phase = phase;
	h->tried = true;
	if (*trouble)
		snprintf(h->trouble, sizeof h->trouble, "%s", trouble);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

static int open_for_hand(struct past_hand *h)
{
	char notice[ERR_MSG_MAX];
	struct err e = ERR_INIT;
	int fd = past_open(h->path, &h->held, notice, sizeof notice, &e);

	if (fd >= 0)
		set_hand_phase(h, PAST_OPENED, notice);
	else if (e.sys == EWOULDBLOCK)
		set_hand_phase(h, PAST_WAITS, "");
	else if (h->phase != PAST_FAILED) /* said once */
		set_hand_phase(h, PAST_FAILED, e.msg);
	return fd;
}

/* Until something is to be written, or it is to end: false. */
static bool next_batch(struct past_hand *h, struct str *batch)
{
	bool more;

	str_clear(batch);
	pthread_mutex_lock(&h->lock);
	while (!h->quit && !h->pending.len)
		wait_for_hand(h, -1);
	more = h->pending.len > 0;
	if (more) {
		struct str empty = *batch;

		*batch = h->pending;
		h->pending = empty;
	}
	pthread_mutex_unlock(&h->lock);
	return more;
}

static bool rest_of_retry(struct past_hand *h)
{
	int64_t until, left;
	bool quit;

	pthread_mutex_lock(&h->lock);
	until = clock_real_ms() + (h->phase == PAST_WAITS ? LOCK_MS : RETRY_MS);
	while (!h->quit && (left = until - clock_real_ms()) > 0)
		wait_for_hand(h, left);
	quit = h->quit;
	pthread_mutex_unlock(&h->lock);
	return !quit;
}

static void write_until_told(struct past_hand *h, int fd)
{
	AUTO_STR struct str batch = STR_INIT;
	char why[ERR_MSG_MAX] = "";

	while (next_batch(h, &batch)) {
		if (!write_pieces(fd, &batch))
			continue;
		snprintf(why, sizeof why, "History is not kept for now: cannot write %.300s: %s.",
			h->path, strerrordesc_np(errno));
		set_hand_phase(h, PAST_FAILED, why);
		break;
	}
	close(fd);
}

static void free_hand(struct past_hand *h)
{
	str_release(&h->pending);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->changed);
	free(h);
}

static void *run_hand(void *arg)
{
	struct past_hand *h = arg;
	AUTO_CLOSE int here = past_be_present(h->path);
	bool left;

	do {
		int fd = open_for_hand(h);

		if (fd >= 0)
			write_until_told(h, fd);
	} while (rest_of_retry(h));
	pthread_mutex_lock(&h->lock);
	cleanup_close(&here);
	here = -1;
	h->ended = true;
	left = h->left;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	if (left)
		free_hand(h);
	return NULL;
}

/* -- the owner ------------------------------------------------------------------------------------------- */

static struct past_writer *new_past_writer(void)
{
	struct past_writer *p = xcalloc(1, sizeof *p);
	struct past_hand *h = p->hand = xcalloc(1, sizeof *h);

	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	str_init(&h->pending);
	str_init(&p->batch);
	return p;
}

struct past_writer *past_start(const char *path)
{
	struct past_writer *p = new_past_writer();
	struct past_hand *h = p->hand;
	struct err e = ERR_INIT;

	if (path)
		snprintf(h->path, sizeof h->path, "%s", path);
	else if (past_path(h->path, sizeof h->path, &e))
		set_hand_phase(h, PAST_FAILED, e.msg);
	if (h->phase == PAST_FAILED)
		return p;
	p->started = spawn_thread(&p->thread, run_hand, h) == 0;
	if (p->started)
		pthread_setname_np(p->thread, "berth-past");
	else
		set_hand_phase(h, PAST_FAILED, "History is not kept: cannot start a thread.");
	return p;
}

static void put_piece(struct past_writer *p, int64_t at, const void *bytes, size_t n)
{
	struct past_piece piece = {at, n};

	str_add(&p->batch, &piece, sizeof piece);
	str_add(&p->batch, bytes, n);
}

static void stop_writing_here(struct past_writer *p)
{
	cleanup_close(&p->fd);
	p->fd = -1;
	p->runs = false;
}

static void write_at_once(struct past_writer *p)
{
	if (p->fd >= 0 && write_pieces(p->fd, &p->batch))
		stop_writing_here(p);
	str_clear(&p->batch);
}

static void hand_over_batch(struct past_writer *p)
{
	struct past_hand *h = p->hand;

	if (!p->batch.len)
		return;
	if (p->yields) {
		write_at_once(p);
		return;
	}
	pthread_mutex_lock(&h->lock);
	if (h->phase == PAST_RUNS && h->pending.len + p->batch.len <= PENDING_MAX) {
		str_add(&h->pending, p->batch.s, p->batch.len);
		pthread_cond_broadcast(&h->changed);
	}
	pthread_mutex_unlock(&h->lock);
	str_clear(&p->batch);
}

struct past_writer *past_start_yielding(const char *path)
{
	struct past_writer *p = new_past_writer();
	struct past_hand *h = p->hand;

	p->yields = true;
	p->fd = -1;
	if (path)
		snprintf(h->path, sizeof h->path, "%s", path);
	else if (past_path(h->path, sizeof h->path, NULL))
		*h->path = '\0';
	return p;
}

/* The file as it is now is what the owner goes on from. */
static void take_held(struct past_writer *p)
{
	memcpy(p->entry, p->hand->held.entry, sizeof p->entry);
	memset(p->changed, 0, sizeof p->changed);
	memset(p->sums, 0, sizeof p->sums);
	p->events = p->hand->held.events;
	p->hand->phase = PAST_RUNS;
}

/* Without a thread: whether nobody else is there is looked at each time. */
static bool writes_here(struct past_writer *p)
{
	char notice[ERR_MSG_MAX];

	if (!*p->hand->path || past_others_present(p->hand->path)) {
		stop_writing_here(p);
		return false;
	}
	if (p->fd < 0) {
		p->fd = past_open(p->hand->path, &p->hand->held, notice, sizeof notice, NULL);
		if (p->fd >= 0)
			take_held(p);
	}
	return p->runs = p->fd >= 0;
}

bool past_writes(struct past_writer *p)
{
	struct past_hand *h = p->hand;

	if (p->yields)
		return writes_here(p);
	pthread_mutex_lock(&h->lock);
	if (h->phase == PAST_OPENED)
		take_held(p);
	p->runs = h->phase == PAST_RUNS;
	pthread_mutex_unlock(&h->lock);
	return p->runs;
}

bool past_wait(struct past_writer *p)
{
	struct past_hand *h = p->hand;

	pthread_mutex_lock(&h->lock);
	while (p->started && !h->tried)
		wait_for_hand(h, -1);
	pthread_mutex_unlock(&h->lock);
	return past_writes(p);
}

bool past_trouble(struct past_writer *p, char *buf, size_t cap)
{
	struct past_hand *h = p->hand;

	pthread_mutex_lock(&h->lock);
	snprintf(buf, cap, "%s", h->trouble);
	h->trouble[0] = '\0';
	pthread_mutex_unlock(&h->lock);
	return *buf;
}

/* -- rows ------------------------------------------------------------------------------------------------ */

static void put_past_entry(struct past_writer *p, size_t row)
{
	struct past_entry *x = &p->entry[row];

	x->sum = hash_more(HASH_START, x, offsetof(struct past_entry, sum));
	put_piece(p, past_entry_at(row), x, sizeof *x);
	p->changed[row] = false;
}

/* One that is not used; else, of those that are not seen any more, the one with the shortest past, for what lived for
 * days is looked for longer than what lived for a minute. */
static int free_row(const struct past_writer *p, int64_t now_ms)
{
	int64_t least = INT64_MAX;
	int found = -1;

	for (int i = 0; i < PAST_ROWS; i++) {
		const struct past_row *r = &p->entry[i].row;
		int64_t lived = r->last_ms - r->since_ms, worth;

		if (!p->entry[i].used)
			return i;
		worth = r->last_ms + (lived < TIRED_MS ? lived : TIRED_MS);
		if (r->last_ms < now_ms - FRESH_MS && worth < least) {
			least = worth;
			found = i;
		}
	}
	return found;
}

static void set_entry_text(char *to, size_t cap, const char *from)
{
	if (strcmp(to, from) != 0) {
		memset(to, 0, cap);
		snprintf(to, cap, "%s", from);
	}
}

int past_row_of(struct past_writer *p, const char *engine, const char *name, const char *agent,
	bool make, int64_t now_ms)
{
	struct past_entry *x;
	int row;

	if (!p->runs || strlen(name) >= PAST_NAME_MAX || strlen(engine) >= PAST_ENGINE_MAX)
		return -1;
	if (strlen(agent) >= PAST_NAME_MAX)
		agent = "";
	for (int i = 0; i < PAST_ROWS; i++) {
		x = &p->entry[i];
		if (!x->used || strcmp(x->row.name, name) != 0 ||
			strcmp(x->row.engine, engine) != 0)
			continue;
		set_entry_text(x->row.agent, sizeof x->row.agent, agent);
		p->changed[i] = true;
		return i;
	}
	row = make ? free_row(p, now_ms) : -1;
	if (row < 0)
		return -1;
	x = &p->entry[row];
	memset(x, 0, sizeof *x);
	memset(p->sums[row], 0, sizeof p->sums[row]);
	x->used = 1;
	set_entry_text(x->row.engine, sizeof x->row.engine, engine);
	set_entry_text(x->row.name, sizeof x->row.name, name);
	set_entry_text(x->row.agent, sizeof x->row.agent, agent);
	x->row.since_ms = x->row.last_ms = now_ms;
	put_past_entry(p, (size_t)row);
	return row;
}

/* -- values ---------------------------------------------------------------------------------------------- */

static bool is_highest(enum past_value v)
{
	return v == PAST_CPU_MAX || v == PAST_MEMORY_MAX || v == PAST_PIDS;
}

static bool is_newest(enum past_value v)
{
	return v == PAST_MEMORY_LIMIT || v == PAST_PIDS_LIMIT;
}

static void put_past_record(struct past_writer *p, size_t row, size_t level)
{
	struct past_sums *s = &p->sums[row][level];
	struct past_record r = {.tick = s->tick};

	if (!s->n)
		return;
	for (int i = 0; i < PAST_VALUES; i++) {
		bool whole = is_highest((enum past_value)i) || is_newest((enum past_value)i);

		r.v[i] = past_code(whole ? s->v[i] : s->v[i] / s->n);
	}
	put_piece(p, past_record_at(row, level, s->tick), &r, sizeof r);
	*s = (struct past_sums){0};
}

static void add_values(struct past_sums *s, const double v[PAST_VALUES])
{
	for (int i = 0; i < PAST_VALUES; i++) {
		bool highest = is_highest((enum past_value)i);

		if (is_newest((enum past_value)i) || (highest && v[i] > s->v[i]))
			s->v[i] = v[i];
		else if (!highest)
			s->v[i] += v[i];
	}
	s->n++;
}

void past_add(struct past_writer *p, int row, int64_t now_ms, const struct container_stats *s)
{
	const double v[PAST_VALUES] = {[PAST_CPU] = s->cpu_percent * 100,
		[PAST_CPU_MAX] = s->cpu_percent * 100,
		[PAST_MEMORY] = (double)s->memory_bytes,
		[PAST_MEMORY_MAX] = (double)s->memory_bytes,
		[PAST_MEMORY_LIMIT] = s->memory_limited ? (double)s->memory_limit_bytes : 0,
		[PAST_NET_RX] = s->net_rx_bytes_per_s,
		[PAST_NET_TX] = s->net_tx_bytes_per_s,
		[PAST_BLOCK_READ] = s->block_read_bytes_per_s,
		[PAST_BLOCK_WRITE] = s->block_write_bytes_per_s,
		[PAST_PIDS] = (double)s->pids,
		[PAST_PIDS_LIMIT] = (double)s->pids_limit,
		[PAST_THROTTLED] = s->throttles ? s->throttled_percent * 100 : 0};

	if (row < 0 || row >= PAST_ROWS || now_ms < 0)
		return;
	for (size_t l = 0; l < PAST_LEVELS; l++) {
		struct past_sums *to = &p->sums[row][l];
		uint32_t tick = (uint32_t)(now_ms / 1000 / past_levels[l].step_s);

		if (to->n && to->tick != tick)
			put_past_record(p, (size_t)row, l);
		to->tick = tick;
		add_values(to, v);
	}
	p->entry[row].row.last_ms = now_ms;
	p->changed[row] = true;
}

void past_tell(struct past_writer *p, int row, int64_t at_ms, enum past_what what, int32_t value)
{
	struct past_happened h = {.number = p->events + 1, .at_ms = at_ms, .value = value};
	struct past_entry *x = row >= 0 && row < PAST_ROWS ? &p->entry[row] : NULL;
	int64_t *told = !x                                               ? NULL
		: what == PAST_STARTED                                   ? &x->started_ms
		: what == PAST_ENDED || (what == PAST_OOM && value >= 0) ? &x->ended_ms
									 : NULL;

	if (!x || !p->runs || (told && *told >= at_ms))
		return;
	if (told)
		*told = at_ms;
	p->events++;
	h.what = (uint32_t)what;
	memcpy(h.engine, x->row.engine, sizeof h.engine);
	memcpy(h.name, x->row.name, sizeof h.name);
	h.sum = hash_more(HASH_START, &h, offsetof(struct past_happened, sum));
	put_piece(p, past_event_at(h.number % PAST_EVENTS), &h, sizeof h);
	put_past_entry(p, (size_t)row);
}

/* What is over, or all there is. */
static void put_over(struct past_writer *p, int64_t now_ms, bool all)
{
	for (size_t r = 0; r < PAST_ROWS; r++)
		for (size_t l = 0; l < PAST_LEVELS; l++)
			if (all ||
				p->sums[r][l].tick !=
					(uint32_t)(now_ms / 1000 / past_levels[l].step_s))
				put_past_record(p, r, l);
}

static void put_changed(struct past_writer *p)
{
	for (size_t i = 0; i < PAST_ROWS; i++)
		if (p->changed[i])
			put_past_entry(p, i);
}

void past_round(struct past_writer *p, int64_t now_ms)
{
	put_over(p, now_ms, false);
	if (now_ms - p->saved_ms >= 10000 || now_ms < p->saved_ms) {
		put_changed(p);
		p->saved_ms = now_ms;
	}
	hand_over_batch(p);
}

/* true: the thread has ended. */
static bool wait_for_hand_end(struct past_hand *h)
{
	int64_t until = clock_real_ms() + STOP_WAIT_MS, left;
	bool ended;

	pthread_mutex_lock(&h->lock);
	h->quit = true;
	pthread_cond_broadcast(&h->changed);
	while (!h->ended && (left = until - clock_real_ms()) > 0)
		wait_for_hand(h, left);
	ended = h->ended;
	h->left = !ended;
	pthread_mutex_unlock(&h->lock);
	return ended;
}

void past_stop(struct past_writer *p)
{
	if (!p)
		return;
	if (past_writes(p)) {
		put_over(p, 0, true);
		put_changed(p);
		hand_over_batch(p);
	}
	if (p->yields)
		stop_writing_here(p);
	if (!p->started) {
		free_hand(p->hand);
	} else if (wait_for_hand_end(p->hand)) {
		pthread_join(p->thread, NULL);
		free_hand(p->hand);
	} else {
		pthread_detach(p->thread); /* its disk does not answer; it frees what it has */
	}
	str_release(&p->batch);
	free(p);
}
