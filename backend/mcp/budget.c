/*
 * budget.c - reserves the memory that calls and their answers may use in total.
 *
 * What a call may build is estimated from its arguments; it waits, before it holds anything, until that fits beside the
 * others, and keeps it until its answer has been written: a client that reads nothing stops the calls, not the machine.
 * What turns out larger than it was estimated is refused.  Of the budget a half is for long calls, an eighth for all
 * others, so that none waits for those; an eighth for messages (calls.c), the output of commands and the
 * results of tasks each.  A call beside which no other of its kind runs may take half of it.
 */
#include <time.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "mcp/tools_files.h"

#define MIB ((size_t)1 << 20)
#define DEFAULT (256 * MIB)
#define WEIGHT 5 /* of a text: as read, as the call's, quoted, and twice in the answer */
#define RAW_MOST (16 * MIB)
#define SUM_MOST (24 * MIB)
#define TREE_BYTES (8 * MIB)
#define LOOKED_AT 64 /* paths; of more the most is taken */
#define NAMES_MS 3000

size_t budget_total(const struct server *s)
{
	return s->o->memory ? (size_t)s->o->memory : DEFAULT;
}

size_t budget_transform(const struct server *s)
{
	return budget_total(s) / 4;
}

/* -- estimates ------------------------------------------------------------------------------------- */

/* A file's size; of a directory its names are longer than what it says, where that is counted in entries. */
static size_t place_bytes(struct call *c, const char *path)
{
	struct err why = ERR_INIT;
	struct files_entry it;
	struct place_in p;

	if (!path || reach_find(call_reach(c), path, REACH_READ, &p, &why) ||
		files_look(p.root, p.rel, &it, &why))
		return 0;
	if (it.type == FILES_DIR)
		return it.size < TREE_BYTES / 16 ? 65536 + (size_t)it.size * 16 : TREE_BYTES;
	return it.size < RAW_MOST ? (size_t)it.size : RAW_MOST;
}

static size_t paths_bytes(struct call *c)
{
	static const char *const names[] = {"path", "file1", "file2"};
	size_t n, sum = 4096;
	const char *const *paths = call_texts(c, "paths", &n);

	for (size_t i = 0; i < COUNT(names); i++)
		sum += place_bytes(c, call_text(c, names[i]));
	for (size_t i = 0; i < n && n <= LOOKED_AT; i++)
		sum += place_bytes(c, paths[i]);
	return n > LOOKED_AT ? RAW_MOST : sum < SUM_MOST ? sum : SUM_MOST;
}

/* `each` bytes of each of the most that is asked for. */
static size_t limit_bytes(struct call *c, const char *name, int64_t otherwise, size_t each)
{
	size_t n = (size_t)call_number(c, name, otherwise);

	return !n || n > TREE_BYTES / each ? TREE_BYTES : n * each;
}

static size_t context_lines(struct call *c)
{
	size_t n = (size_t)call_number(c, "context", 0);

	return n < CONTEXT_MOST ? n : CONTEXT_MOST;
}

static size_t estimate_answer(struct call *c)
{
	switch (c->tool->hints & ANSWERS_MASK) {
	case ANSWERS_FILES: return paths_bytes(c);
	case ANSWERS_TREE: return TREE_BYTES;
	case ANSWERS_ENTRIES: return limit_bytes(c, "limit", 1000, 512);
	case ANSWERS_MATCHES:
		return limit_bytes(c, "limit", 200, 1200 * (1 + 2 * context_lines(c)));
	case ANSWERS_TRANSFORM:
	case ANSWERS_LITTLE:
	default: return 0;
	}
}

/* -- reservations ---------------------------------------------------------------------------------- */

/* Of two: that of long calls, and one for all others. */
static struct call_queue *queue_of_memory(const struct call *c)
{
	struct server *s = c->server;
	bool is_long = c->worker->queue == &s->queue[QUEUE_LONG];

	return &s->queue[is_long ? QUEUE_LONG : QUEUE_SHORT];
}

/* Under the lock: does so much more fit?  The only call that holds anything has half of it all. */
static bool has_room(const struct call *c, size_t more)
{
	const struct server *s = c->server;
	const struct call_queue *q = queue_of_memory(c);
	size_t total = budget_total(s),
	       all = s->queue[QUEUE_SHORT].reserved + s->queue[QUEUE_LONG].reserved;
	size_t part = q == &s->queue[QUEUE_SHORT] ? total / 8 : total / 2;

	if (all == c->reserved)
		return all + more <= total / 2;
	if (q->reserved == c->reserved)
		part = total / 2;
	return q->reserved + more <= part && all + more <= total / 4 * 3;
}

static void reserve_bytes(struct call *c, size_t more)
{
	queue_of_memory(c)->reserved += more;
	c->reserved += more;
}

static int refuse_memory(const struct call *c, size_t more, struct err *e)
{
	return err_set(e, ERR_REFUSED,
		"This call needs %zu MiB of the %zu MiB that all calls share (mcp.memory in berth.yaml): request less, or retry when other calls have ended.",
		(c->reserved + more + MIB - 1) / MIB, budget_total(c->server) / MIB);
}

int budget_wait(struct server *s)
{
	struct timespec until = clock_in_ms(100);

	return pthread_cond_clockwait(&s->less, &s->lock, CLOCK_MONOTONIC, &until);
}

int budget_enter(struct call *c, struct err *e)
{
	struct server *s = c->server;
	size_t bytes = (c->tool->hints & ANSWERS_MASK) == ANSWERS_TRANSFORM
		? budget_transform(s)
		: WEIGHT * estimate_answer(c);
	int rc = 0;

	if (!bytes)
		return 0;
	pthread_mutex_lock(&s->lock);
	if (bytes > budget_total(s) / 2)
		rc = refuse_memory(c, bytes, e);
	while (!rc && !has_room(c, bytes)) {
		if (call_cancelled(c))
			rc = err_set(e, ERR_CANCELLED, "cancelled");
		else
			budget_wait(s);
	}
	if (!rc)
		reserve_bytes(c, bytes);
	c->estimated = c->reserved;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

int budget_more(struct call *c, size_t bytes, struct err *e)
{
	struct server *s = c->server;
	bool room;

	if (c->looks) /* no call: there is one of it at a time */
		return 0;
	pthread_mutex_lock(&s->lock);
	room = has_room(c, bytes);
	if (room)
		reserve_bytes(c, bytes);
	pthread_mutex_unlock(&s->lock);
	return room ? 0 : refuse_memory(c, bytes, e);
}

/* What the answer was estimated to take is not there before the walk has ended: half of that is for its names.  For more
 * it waits a while, as others may do that hold some: not for ever. */
int budget_names(struct call *c, size_t bytes, struct err *e)
{
	struct server *s = c->server;
	int64_t until = clock_mono_ns() + NAMES_MS * 1000000ll;
	bool room;

	if (c->looks)
		return 0;
	pthread_mutex_lock(&s->lock);
	c->names += bytes;
	room = c->names <= c->estimated / 2;
	if (!room) {
		while (!(room = has_room(c, bytes)) && !call_cancelled(c) &&
			c->reserved + bytes <= budget_total(s) / 2 && clock_mono_ns() < until)
			budget_wait(s);
		if (room)
			reserve_bytes(c, bytes);
	}
	pthread_mutex_unlock(&s->lock);
	return room ? 0 : refuse_memory(c, bytes, e);
}

void budget_leave(struct call *c)
{
	struct server *s = c->server;

	if (!c->reserved)
		return;
	pthread_mutex_lock(&s->lock);
	queue_of_memory(c)->reserved -= c->reserved;
	c->reserved = 0;
	pthread_cond_broadcast(&s->less);
	pthread_mutex_unlock(&s->lock);
}

/* -- the answer ------------------------------------------------------------------------------------ */

/* About what jsonw_quote makes of it. */
static size_t quoted_bytes(const char *s, size_t n)
{
	size_t sum = 2;

	for (size_t i = 0; i < n; i++) {
		size_t plain = text_plain_span(s + i, n - i);
		unsigned char b;

		sum += plain;
		i += plain;
		if (i == n)
			break;
		b = (unsigned char)s[i];
		sum += b >= 0x80 || b == '"' || b == '\\' || b == '\n' || b == '\t' ? 2
			: b < ' ' || b == 0x7F                                      ? 6
										    : 1;
	}
	return sum;
}

int budget_answer(struct call *c, struct err *e)
{
	const struct str *s = c->tool->json ? &c->out.out : &c->text;
	size_t bytes = s->cap + c->extra.cap;

	/* Twice as it will be read, once as a string of its own. */
	if (bytes > 65536)
		bytes += 3 * quoted_bytes(s->s, s->len) + c->extra.len;
	return bytes <= 65536 || bytes <= c->reserved ? 0 : budget_more(c, bytes - c->reserved, e);
}
