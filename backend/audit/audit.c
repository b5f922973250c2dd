/* audit.c - the writer thread of the audit log: commits submitted records in groups and notifies their submitters. */
#include "audit/audit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "audit/chain.h"

#define BATCH_MAX ((size_t)4 << 20)    /* bytes committed at once */
#define GROUP_ENOUGH ((size_t)1 << 20) /* so many bytes do not wait for more company */
#define INTENTS_MAX 65536              /* intents whose outcome is still to come */
#define TROUBLE_MS 1000 /* how long after a failure grouped records are turned away */

/* What the answer waits for. */
enum wanted {
	WANT_GROUP,   /* the disk, in company */
	WANT_WRITTEN, /* the file: outlives this process; the disk follows within commit_ms */
	WANT_DURABLE  /* the disk, at once */
};

struct item {
	struct item *next;
	uint64_t ticket, after, intent, seq;
	audit_done_fn done;
	void *ctx;
	struct err *err; /* NULL, or why this one alone failed */
	enum operation operation;
	enum wanted wanted;
	bool is_intent;
	size_t len; /* of the body that follows */
};

struct audit {
	/* Under `alone`; self, self_text, sys and o are constant and anybody's. */
	struct chain chain;
	struct {
		uint64_t ticket, seq;
	} * intents; /* under `alone` */
	size_t nintents, intents_cap;
	_Atomic int64_t sign_at_ns; /* set under `alone`; 0: nothing to sign */
	_Atomic int64_t sync_at_ns; /* likewise; 0: nothing is written that is not durable */
	struct item *mine;          /* writer thread: taken from the queue, counted in bytes */
	pthread_t thread;
	/* One at a time works on the chain: the writer thread, or whoever submits.  He does while there is no writer
	 * thread, because none is wanted or the system refuses one, and for a record that he waits for while that thread
	 * has nothing to do: to wake it and to be woken takes longer than to write. */
	pthread_mutex_t alone;

	pthread_mutex_t lock; /* all below */
	pthread_cond_t work, finished;
	struct item *first, **last;
	size_t bytes;
	int64_t due_ns; /* when the first should be on its way to the disk */
	uint64_t tickets;
	bool idle, grouping, urgent, closing, tried, threaded, probing;
	struct err trouble;
	int64_t trouble_ns;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* -- the submitting side ------------------------------------------------------------------------
 */

static void fill_in(const struct audit *a, const struct audit_record *r, struct audit_record *full)
{
	const struct audit_record *self = &a->chain.self;

	*full = *r;
	if (!full->agent || !*full->agent)
		full->agent = self->agent;
	if (!full->session || !*full->session)
		full->session = self->session;
	full->wall_ms = a->chain.sys->wall_ms();
	full->mono_us = a->chain.sys->mono_us();
}

static struct item *item_new(const struct audit *a, const struct audit_record *r, uint64_t after,
	audit_done_fn done, void *ctx)
{
	static const struct item blank;
	struct audit_record full;
	struct str s = STR_INIT;
	struct item *item;

	fill_in(a, r, &full);
	str_reserve(&s, sizeof *item + 640);
	str_add(&s, &blank, sizeof blank);
	record_body_by(&s, &full, &a->chain.self_text);
	/* malloc'ed, so aligned for an item. */
	item = (struct item *)(void *)s.s;
	item->len = s.len - sizeof *item;
	item->after = after;
	item->intent = r->intent;
	item->done = done;
	item->ctx = ctx;
	item->operation = r->operation;
	item->is_intent = r->phase == AUDIT_INTENT;
	return item;
}

static bool may_submit(struct audit *a, const struct item *item, struct err *e)
{
	const struct operation_info *operation = &operation_table[item->operation];
	bool outcome = item->after || item->intent;

	if (a->bytes > AUDIT_QUEUE_MAX) {
		err_set(e, ERR_FAILED, "The audit log cannot keep up; try again in a moment.");
		return false;
	}
	if (a->trouble.kind && !item->wanted && !outcome && !(operation->flags & OP_FREES) &&
		now_ns() - a->trouble_ns < (int64_t)TROUBLE_MS * 1000000) {
		err_copy(e, &a->trouble);
		return false;
	}
	return true;
}

static int64_t commit_ns(const struct audit *a)
{
	return (int64_t)(a->chain.o.commit_ms ? a->chain.o.commit_ms : AUDIT_COMMIT_MS) * 1000000;
}

/* Called with the lock. */
static void enqueue_item(struct audit *a, struct item *item)
{
	bool urgent = item->wanted != WANT_GROUP;

	/* Who joins others goes when they go. */
	if (!a->first)
		a->due_ns = now_ns() + (urgent ? 0 : commit_ns(a));
	*a->last = item;
	a->last = &item->next;
	a->bytes += sizeof *item + item->len;
	a->urgent |= urgent;
	if (a->idle || (a->grouping && (urgent || a->bytes > GROUP_ENOUGH)))
		pthread_cond_signal(&a->work);
}

static void commit_items(struct audit *a, struct item *items, size_t bytes, bool keep);
static int64_t next_chore_ns(const struct audit *a);
static bool start_writer(struct audit *a);

/* There was no writer thread: the work is done here, unless there can be one now. */
static void submit_alone(struct audit *a, struct item *item)
{
	pthread_mutex_lock(&a->alone);
	if (a->chain.o.direct || (!a->threaded && !start_writer(a))) {
		/* Nobody would see to the disk later. */
		if (!a->chain.o.direct)
			item->wanted = WANT_DURABLE;
		commit_items(a, item, item->len + RECORD_TAIL + 64, true);
		pthread_mutex_unlock(&a->alone);
		return;
	}
	pthread_mutex_unlock(&a->alone);
	pthread_mutex_lock(&a->lock);
	enqueue_item(a, item);
	pthread_mutex_unlock(&a->lock);
}

/* With `alone`, in the place of the writer thread, which has the disk and the signature to see to. */
static void commit_here(struct audit *a, struct item *item)
{
	int64_t chore = next_chore_ns(a), now;

	commit_items(a, item, item->len + RECORD_TAIL + 64, false);
	now = next_chore_ns(a);
	pthread_mutex_unlock(&a->alone);
	if (!now || (chore && chore <= now))
		return;
	/* With the lock, or it could be about to wait for longer. */
	pthread_mutex_lock(&a->lock);
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
}

/* `here`: the submitter waits for it, and may as well do it. */
static uint64_t submit_item(
	struct audit *a, struct item *item, enum wanted wanted, bool here, struct err *e)
{
	uint64_t ticket;
	bool threaded;

	item->wanted = wanted;
	pthread_mutex_lock(&a->lock);
	CHECK(!a->closing);
	if (!may_submit(a, item, e)) {
		pthread_mutex_unlock(&a->lock);
		free(item);
		return 0;
	}
	ticket = item->ticket = ++a->tickets;
	threaded = a->threaded;
	/* Idle: all that was submitted before is in the file. */
	here = here && threaded && a->idle && !a->first && !pthread_mutex_trylock(&a->alone);
	if (threaded && !here)
		enqueue_item(a, item);
	pthread_mutex_unlock(&a->lock);
	if (here)
		commit_here(a, item);
	else if (!threaded)
		submit_alone(a, item);
	return ticket;
}

static enum wanted wanted_for(const struct audit_record *r, bool waits)
{
	if (r->phase == AUDIT_INTENT && operation_table[r->operation].class == OP_GUARDED)
		return WANT_DURABLE;
	return r->phase == AUDIT_INTENT && waits ? WANT_WRITTEN : WANT_GROUP;
}

uint64_t audit_submit(struct audit *a, const struct audit_record *r, uint64_t after,
	audit_done_fn done, void *ctx, struct err *e)
{
	CHECK(r->operation > OP_NONE && r->operation < OP_COUNT);
	CHECK(operation_table[r->operation].class != OP_INTERNAL);
	return submit_item(
		a, item_new(a, r, after, done, ctx), wanted_for(r, done != NULL), false, e);
}

struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	uint64_t seq;
	struct err err;
};

static void wake_waiter(void *ctx, uint64_t seq, const struct err *err)
{
	struct waiter *w = ctx;

	pthread_mutex_lock(&w->lock);
	w->seq = seq;
	if (err)
		w->err = *err;
	w->done = true;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->lock);
}

static int submit_and_wait(struct audit *a, const struct audit_record *r, enum wanted wanted,
	uint64_t *ret_seq, struct err *e)
{
	struct waiter w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0, ERR_INIT};

	CHECK(r->operation > OP_NONE && r->operation < OP_COUNT);
	CHECK(operation_table[r->operation].class != OP_INTERNAL);
	if (!submit_item(a, item_new(a, r, 0, wake_waiter, &w), wanted, wanted == WANT_WRITTEN, e))
		return -1;
	pthread_mutex_lock(&w.lock);
	while (!w.done)
		pthread_cond_wait(&w.cond, &w.lock);
	pthread_mutex_unlock(&w.lock);
	pthread_cond_destroy(&w.cond);
	pthread_mutex_destroy(&w.lock);
	if (w.err.kind)
		return err_copy(e, &w.err);
	if (ret_seq)
		*ret_seq = w.seq;
	return 0;
}

int audit_write(struct audit *a, const struct audit_record *r, uint64_t *ret_seq, struct err *e)
{
	return submit_and_wait(a, r, WANT_DURABLE, ret_seq, e);
}

int audit_put(struct audit *a, const struct audit_record *r, uint64_t *ret_seq, struct err *e)
{
	return submit_and_wait(a, r, WANT_WRITTEN, ret_seq, e);
}

bool audit_trouble(struct audit *a, struct err *ret)
{
	bool trouble;

	pthread_mutex_lock(&a->lock);
	trouble = a->trouble.kind != ERR_NONE;
	if (trouble)
		err_copy(ret, &a->trouble);
	pthread_mutex_unlock(&a->lock);
	return trouble;
}

void audit_probe(struct audit *a)
{
	pthread_mutex_lock(&a->lock);
	a->probing = true;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
}

/* -- the writer thread --------------------------------------------------------------------------
 */

static void remember_intent(struct audit *a, const struct item *item)
{
	if (a->nintents == INTENTS_MAX)
		a->intents[0] = a->intents[--a->nintents];
	a->intents = mem_grow(a->intents, &a->intents_cap, a->nintents + 1, sizeof *a->intents);
	a->intents[a->nintents].ticket = item->ticket;
	a->intents[a->nintents++].seq = item->seq;
}

/* Its number, and the table forgets it; 0: not known. */
static uint64_t take_intent(struct audit *a, uint64_t ticket)
{
	for (size_t i = a->nintents; i-- > 0;) {
		uint64_t seq = a->intents[i].seq;

		if (a->intents[i].ticket != ticket)
			continue;
		a->intents[i] = a->intents[--a->nintents];
		return seq;
	}
	return 0;
}

static uint64_t intent_of(struct audit *a, const struct item *item)
{
	return item->after ? take_intent(a, item->after) : item->intent;
}

static bool all_want_written(const struct item *items)
{
	for (; items; items = items->next)
		if (items->wanted != WANT_WRITTEN)
			return false;
	return true;
}

/* Put the items into the chain's buffer, and into the file or onto the disk.  Where this fails none of them
 * happened. */
static int write_items(struct audit *a, struct item *items, struct err *e)
{
	struct err one = ERR_INIT;

	for (struct item *i = items; i; i = i->next) {
		const char *body = (const char *)(i + 1);

		if (chain_add(&a->chain, i->operation, body, i->len, intent_of(a, i), &i->seq,
			    &one) < 0) {
			i->err = xmalloc(sizeof one);
			*i->err = one;
		} else if (i->is_intent) {
			remember_intent(a, i);
		}
	}
	if ((all_want_written(items) ? chain_write : chain_sync)(&a->chain, e) == 0)
		return 0;
	/* Their numbers go to other records now. */
	for (struct item *i = items; i; i = i->next)
		if (i->is_intent)
			take_intent(a, i->ticket);
	return -1;
}

static void answer_items(struct item *items, const struct err *all)
{
	struct item *next;

	for (struct item *i = items; i; i = next) {
		const struct err *err = i->err ? i->err : all;

		next = i->next;
		if (i->done)
			i->done(i->ctx, err ? 0 : i->seq, err);
		free(i->err);
		free(i);
	}
}

static void set_trouble(struct audit *a, const struct err *err)
{
	pthread_mutex_lock(&a->lock);
	if (err)
		a->trouble = *err;
	else
		a->trouble = (struct err)ERR_INIT;
	a->trouble_ns = now_ns();
	pthread_mutex_unlock(&a->lock);
}

/* What is left to be done later, and when. */
static void note_chores(struct audit *a)
{
	const struct chain *c = &a->chain;

	if (!c->dirty)
		a->sync_at_ns = 0;
	else if (!a->sync_at_ns)
		a->sync_at_ns = now_ns() + commit_ns(a);
	if (c->head.seq == c->head.signed_seq)
		a->sign_at_ns = 0;
	else if (!a->sign_at_ns)
		a->sign_at_ns = now_ns() + (int64_t)AUDIT_CHECKPOINT_S * 1000000000;
}

/* What may be done late is done after everybody has his answer. */
static void keep_chain(struct audit *a, uint64_t unsigned_max)
{
	struct chain *c = &a->chain;

	if (chain_unsigned(c, unsigned_max))
		chain_checkpoint(c, NULL);
	chain_rotate(c, NULL);
	note_chores(a);
}

/* Try to open the log; again with every batch, as what stood in the way may be gone. */
static int ensure_open(struct audit *a, struct err *e)
{
	if (a->chain.open)
		return 0;
	if (chain_open(&a->chain, e) < 0)
		return -1;
	if (a->chain.head.seq != a->chain.head.signed_seq)
		a->sign_at_ns = now_ns() + (int64_t)AUDIT_CHECKPOINT_S * 1000000000;
	return 0;
}

/* What is due of keep_chain's work is left to the writer thread. */
static void leave_chain(struct audit *a)
{
	const struct chain *c = &a->chain;

	note_chores(a);
	if (chain_unsigned(c, c->o.checkpoint_records) ||
		(c->head.offset >= c->o.segment_bytes && !c->low))
		a->sign_at_ns = now_ns();
}

/* `keep`: with what has to be done now and then. */
static void commit_items(struct audit *a, struct item *items, size_t bytes, bool keep)
{
	struct err err = ERR_INIT;
	const struct err *trouble = NULL;

	if (ensure_open(a, &err) < 0 || chain_begin(&a->chain, bytes, &err) < 0) {
		a->chain.look_for_gap = true;
		set_trouble(a, &err);
		answer_items(items, &err);
		return;
	}
	if (write_items(a, items, &err) < 0)
		trouble = &err;
	else if (items->err)
		trouble = items->err;
	a->chain.look_for_gap |= trouble != NULL;
	set_trouble(a, trouble);
	answer_items(items, err.kind ? &err : NULL);
	if (!keep)
		leave_chain(a);
	else if (!a->chain.o.brief)
		keep_chain(a, a->chain.o.checkpoint_records);
	chain_end(&a->chain);
}

static void sign_now(struct audit *a)
{
	a->sign_at_ns = 0;
	if (!a->chain.open || chain_begin(&a->chain, 0, NULL) < 0)
		return;
	if (chain_sync(&a->chain, NULL) == 0)
		keep_chain(a, 1);
	chain_end(&a->chain);
	/* What could not be signed now is tried again after a while, not in a loop. */
	if (a->sign_at_ns == 0 && a->chain.head.seq != a->chain.head.signed_seq)
		a->sign_at_ns = now_ns() + (int64_t)AUDIT_CHECKPOINT_S * 1000000000;
}

static void probe_chain(struct audit *a)
{
	struct err err = ERR_INIT;

	pthread_mutex_lock(&a->lock);
	a->probing = false;
	pthread_mutex_unlock(&a->lock);
	if (ensure_open(a, &err) == 0 && chain_begin(&a->chain, CHAIN_PROBE, &err) == 0) {
		chain_sync(&a->chain, &err);
		if (a->chain.low && !err.kind)
			chain_full(&a->chain, &err);
		chain_end(&a->chain);
	}
	set_trouble(a, err.kind ? &err : NULL);
}

static void sync_now(struct audit *a)
{
	struct err err = ERR_INIT;

	a->sync_at_ns = 0;
	if (a->chain.open && chain_flush(&a->chain, &err) < 0)
		set_trouble(a, &err);
}

static int64_t next_chore_ns(const struct audit *a)
{
	if (!a->sync_at_ns || (a->sign_at_ns && a->sign_at_ns < a->sync_at_ns))
		return a->sign_at_ns;
	return a->sync_at_ns;
}

static void wait_until(struct audit *a, int64_t ns)
{
	struct timespec t = {ns / 1000000000, ns % 1000000000};

	pthread_cond_clockwait(&a->work, &a->lock, CLOCK_MONOTONIC, &t);
}

/* Wait for work, and take all there is.  Called with the lock. */
static void take_all(struct audit *a)
{
	while (!a->first && !a->closing && !a->probing) {
		a->idle = true;
		if (!next_chore_ns(a))
			pthread_cond_wait(&a->work, &a->lock);
		else if (now_ns() < next_chore_ns(a))
			wait_until(a, next_chore_ns(a));
		else
			break;
	}
	a->idle = false;
	a->grouping = true;
	while (a->first && !a->urgent && !a->closing && a->bytes <= GROUP_ENOUGH &&
		now_ns() < a->due_ns)
		wait_until(a, a->due_ns);
	a->grouping = false;
	a->mine = a->first;
	a->first = NULL;
	a->last = &a->first;
	a->urgent = false;
}

/* The next batch, or NULL.  Without the lock: nobody who submits waits for a long walk. */
static struct item *cut_batch(struct audit *a, size_t *bytes)
{
	struct item *items = a->mine, *i;
	size_t held = 0;

	*bytes = 0;
	if (!items)
		return NULL;
	for (i = items;; i = i->next) {
		held += sizeof *i + i->len;
		*bytes += i->len + RECORD_TAIL + 64;
		if (!i->next || *bytes >= BATCH_MAX)
			break;
	}
	a->mine = STEAL(i->next);
	pthread_mutex_lock(&a->lock);
	a->bytes -= held;
	pthread_mutex_unlock(&a->lock);
	return items;
}

static void open_first(struct audit *a)
{
	struct err err = ERR_INIT;

	set_trouble(a, ensure_open(a, &err) < 0 ? &err : NULL);
	pthread_mutex_lock(&a->lock);
	a->tried = true;
	pthread_cond_broadcast(&a->finished);
	pthread_mutex_unlock(&a->lock);
}

/* The last thing: everything is durable, and signed unless somebody else will. */
static void finish_chain(struct audit *a)
{
	if (a->sync_at_ns)
		sync_now(a);
	if (chain_last_out(&a->chain))
		sign_now(a);
}

static void *run_writer(void *arg)
{
	struct audit *a = arg;

	open_first(a);
	for (;;) {
		struct item *items;
		size_t bytes;
		bool leave, asking;

		pthread_mutex_lock(&a->lock);
		if (!a->mine)
			take_all(a);
		asking = a->probing;
		leave = a->closing && !a->mine;
		pthread_mutex_unlock(&a->lock);
		items = cut_batch(a, &bytes);
		pthread_mutex_lock(&a->alone);
		if (items)
			commit_items(a, items, bytes, true);
		else if (asking)
			probe_chain(a);
		else if (a->sync_at_ns && (leave || now_ns() >= a->sync_at_ns))
			sync_now(a);
		else if (!leave && a->sign_at_ns && now_ns() >= a->sign_at_ns)
			sign_now(a);
		if (leave && !items)
			finish_chain(a);
		pthread_mutex_unlock(&a->alone);
		if (leave && !items)
			return NULL;
	}
}

/* false: the system has no thread for us now. */
static bool start_writer(struct audit *a)
{
	int failed = spawn_thread(&a->thread, run_writer, a);

	if (failed)
		return false;
	pthread_setname_np(a->thread, "berth-audit");
	pthread_mutex_lock(&a->lock);
	a->threaded = true;
	pthread_mutex_unlock(&a->lock);
	return true;
}

struct audit *audit_start(const struct audit_options *o)
{
	struct audit *a = xcalloc(1, sizeof *a);

	chain_init(&a->chain, o);
	a->last = &a->first;
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->work, NULL);
	pthread_cond_init(&a->finished, NULL);
	pthread_mutex_init(&a->alone, NULL);
	if (o->direct || !start_writer(a))
		open_first(a);
	return a;
}

struct audit *audit_open(const struct audit_options *o, struct err *e)
{
	struct audit *a = audit_start(o);
	bool open;

	pthread_mutex_lock(&a->lock);
	while (!a->tried)
		pthread_cond_wait(&a->finished, &a->lock);
	open = !a->trouble.kind;
	if (!open)
		err_copy(e, &a->trouble);
	pthread_mutex_unlock(&a->lock);
	if (open)
		return a;
	audit_close(a);
	return NULL;
}

void audit_close(struct audit *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->closing = true;
	pthread_cond_signal(&a->work);
	pthread_mutex_unlock(&a->lock);
	if (a->threaded)
		pthread_join(a->thread, NULL);
	else if (!a->chain.o.direct)
		finish_chain(a);
	CHECK(!a->first && !a->mine);
	pthread_mutex_destroy(&a->alone);
	pthread_cond_destroy(&a->work);
	pthread_cond_destroy(&a->finished);
	pthread_mutex_destroy(&a->lock);
	chain_release(&a->chain);
	free(a->intents);
	free(a);
}

void audit_settle(const struct audit_options *o, uint64_t seq)
{
	struct audit *a = xcalloc(1, sizeof *a);
	struct timespec nap = {0, 0};

	chain_init(&a->chain, o);
	pthread_mutex_init(&a->lock, NULL);
	nap.tv_nsec = commit_ns(a);
	nanosleep(&nap, NULL);
	if (chain_open(&a->chain, NULL) == 0) {
		/* Of many in a row the first one syncs for those that came while it waited. */
		if (a->chain.durable < seq)
			chain_flush(&a->chain, NULL);
		finish_chain(a);
	}
	pthread_mutex_destroy(&a->lock);
	chain_release(&a->chain);
	free(a);
}
