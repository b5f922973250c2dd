/*
 * cleaning.c - clean-up for the console: plans and their execution on worker threads, orphans counted.
 *
 * The calls of clean.h block, so each command has a worker; what it has to say on the way comes through
 * a mailbox and becomes events here, on the loop.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/clean.h>
#include <berth/mem.h>
#include <berth/message.h>

#define UNDO_MS 10000
#define COUNT_EVERY_NS (30 * 1000000000LL) /* a process may die without the engine knowing */
#define COUNT_SOON_NS (2 * 1000000000LL)

struct cleaning_work {
	struct errand work;
	struct cleaning_work *next;
	struct backend *b;
	uint64_t id; /* of the command; 0: counting orphans */
	bool foreign;
	struct clean_plan *plan; /* to be carried out, in mem; NULL: to be made */
	struct arena mem;
	struct policy policy;
	struct event *answer;
	int orphans;

	pthread_mutex_t lock;
	struct clean_host *host; /* under lock: while there is one to interrupt */
	atomic_bool stop;
};

struct cleaning {
	char *host, *context;
	struct mailbox letters;
	struct cleaning_work *works;
	bool counting;
	int orphans;
	size_t rows; /* when counted last */
	int64_t counted_ns;
};

struct letter {           /* how far one item is */
	struct mail mail; /* first */
	uint64_t id;
	size_t item;
	struct clean_outcome outcome;
};

static void wake_from_cleaning(void *ctx)
{
	struct backend *b = ctx;

	uv_async_send(&b->wake);
}

void cleaning_open(struct backend *b, const struct backend_options *o)
{
	struct cleaning *c = b->cleaning = xcalloc(1, sizeof *c);

	c->host = xstrdup(o->host);
	c->context = xstrdup(o->context);
	mailbox_init(&c->letters, wake_from_cleaning, b);
}

void cleaning_close(struct backend *b)
{
	struct cleaning *c = STEAL(b->cleaning);
	struct mail *m;

	while ((m = mailbox_take(&c->letters)))
		free(m);
	mailbox_release(&c->letters);
	free(c->host);
	free(c->context);
	free(c);
}

void cleaning_drain(struct backend *b)
{
	struct letter *l;

	while ((l = (struct letter *)mailbox_take(&b->cleaning->letters))) {
		struct event *ev = event_new(EV_CLEAN_ITEM);
		struct clean_outcome *o = arena_alloc(&ev->mem, sizeof *o);

		*o = l->outcome;
		ev->id = l->id;
		ev->item = l->item;
		ev->outcome = o;
		backend_up(b, ev);
		free(l);
	}
}

/* The worker's. */

static bool told_to_stop(void *ctx)
{
	struct cleaning_work *w = ctx;

	return atomic_load(&w->stop);
}

static void on_item(void *ctx, size_t item, const struct clean_outcome *o)
{
	struct cleaning_work *w = ctx;
	struct letter *l = xcalloc(1, sizeof *l);

	l->id = w->id;
	l->item = item;
	l->outcome = *o;
	l->mail.bytes = sizeof *l;
	mailbox_put(&w->b->cleaning->letters, &l->mail);
}

static struct clean_host *open_clean_host(struct cleaning_work *w, struct err *e)
{
	const struct clean_options o = {.host = w->b->cleaning->host,
		.context = w->b->cleaning->context,
		.program = w->b->program,
		.policy = &w->policy,
		.stop = told_to_stop,
		.stop_ctx = w};
	struct clean_host *h = atomic_load(&w->stop) ? NULL : clean_open(&o, e);

	pthread_mutex_lock(&w->lock);
	w->host = h;
	if (h && atomic_load(&w->stop))
		clean_interrupt(h);
	pthread_mutex_unlock(&w->lock);
	return h;
}

static void shut_host(struct cleaning_work *w, struct clean_host *h)
{
	pthread_mutex_lock(&w->lock);
	w->host = NULL;
	pthread_mutex_unlock(&w->lock);
	clean_close(h);
}

static void run_clean_up(struct cleaning_work *w, struct clean_host *h)
{
	const struct clean_run how = {.grace_s = -1,
		.undo_ms = UNDO_MS,
		.user = w->b->user,
		.board = w->b->board,
		.cancelled = told_to_stop,
		.changed = on_item,
		.ctx = w};
	struct clean_outcome *outcome = arena_array(&w->mem, w->plan->n + 1, sizeof *outcome);
	struct clean_sum sum;

	clean_carry_out(h, w->plan, &how, outcome, &sum, &w->answer->err);
	w->answer->done = sum.done;
	w->answer->failed = sum.failed + sum.refused;
	w->answer->freed_bytes = sum.bytes;
}

static void work_on_cleaning(struct errand *x)
{
	struct cleaning_work *w = x->data;
	struct clean_host *h;

	w->answer = w->id ? event_new(w->plan ? EV_CLEAN_END : EV_CLEAN_PLAN) : NULL;
	h = open_clean_host(w, w->answer ? &w->answer->err : NULL);
	if (!h)
		w->orphans = -1;
	else if (!w->id)
		w->orphans = clean_orphans(h);
	else if (w->plan)
		run_clean_up(w, h);
	else
		w->answer->plan =
			clean_plan_make(h, w->foreign, true, &w->answer->mem, &w->answer->err);
	shut_host(w, h);
}

/* The loop's. */

static void on_cleaning_done(struct errand *x)
{
	struct cleaning_work *w = x->data, **p = &w->b->cleaning->works;
	struct backend *b = w->b;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	cleaning_drain(b); /* the last steps before the end */
	if (w->answer) {
		w->answer->id = w->id;
		backend_up(b, w->answer);
	} else if (!w->id) {
		b->cleaning->counting = false;
		if (w->orphans >= 0 && w->orphans != b->cleaning->orphans) {
			b->cleaning->orphans = w->orphans;
			publish_soon(b);
		}
	}
	if (w->id && !b->stopping) {
		b->cleaning->counted_ns = 0;
		watch_refresh(b);
	}
	if (b->stopping)
		uv_async_send(&b->wake); /* whoever waits for the last one */
	pthread_mutex_destroy(&w->lock);
	arena_release(&w->mem);
	free(w);
}

static void begin_cleaning(
	struct backend *b, uint64_t id, bool foreign, const struct clean_plan *plan)
{
	struct cleaning_work *w = xcalloc(1, sizeof *w);
	int refused;

	pthread_mutex_init(&w->lock, NULL);
	arena_init(&w->mem, 4096);
	w->b = b;
	w->id = id;
	w->foreign = foreign;
	w->plan = plan ? clean_plan_copy(plan, &w->mem) : NULL;
	policy_copy(&w->policy, &b->recording.policy, &w->mem);
	if (plan)
		backend_board(b); /* made here: the worker only uses it */
	w->next = b->cleaning->works;
	b->cleaning->works = w;
	w->work.data = w;
	refused = errand_start(&b->loop, &w->work, work_on_cleaning, on_cleaning_done);
	if (!refused)
		return;
	w->orphans = -1;
	w->answer = id ? event_new(plan ? EV_CLEAN_END : EV_CLEAN_PLAN) : NULL;
	if (w->answer)
		err_sys(&w->answer->err, refused, "Cannot start a thread to clean up");
	on_cleaning_done(&w->work);
}

void cleaning_command(struct backend *b, const struct command *c)
{
	struct err e = ERR_INIT;
	bool run = c->kind == CMD_CLEAN_RUN;

	if (backend_may_change(b, run ? "clean up" : "make a plan", &e))
		backend_result(b, c->id, &e);
	else
		begin_cleaning(b, c->id, !run && c->foreign, run ? c->plan : NULL);
}

/* Containers that berth made: without any there are no orphans. */
static bool any_ours(const struct backend *b)
{
	for (size_t i = 0; i < b->model.n; i++)
		if (*b->model.row[i]->c.role)
			return true;
	return false;
}

void cleaning_pulse(struct backend *b)
{
	struct cleaning *c = b->cleaning;
	int64_t ago = backend_now(b) - c->counted_ns;

	if (b->once || c->counting || !b->listed || !b->watch.up ||
		ago < (c->rows != b->model.n ? COUNT_SOON_NS : COUNT_EVERY_NS))
		return;
	c->rows = b->model.n;
	c->counted_ns = backend_now(b);
	if (any_ours(b)) {
		c->counting = true;
		begin_cleaning(b, 0, false, NULL);
	} else if (c->orphans) {
		c->orphans = 0;
		publish_soon(b);
	}
}

int cleaning_orphans(const struct backend *b)
{
	return b->cleaning->orphans;
}

/* What was stopped is started again where there is time for that; what waits for the engine is not
 * waited for. */
void cleaning_stop(struct backend *b)
{
	for (struct cleaning_work *w = b->cleaning->works; w; w = w->next) {
		atomic_store(&w->stop, true);
		pthread_mutex_lock(&w->lock);
		if (w->host)
			clean_interrupt(w->host);
		pthread_mutex_unlock(&w->lock);
	}
}

bool cleaning_works(const struct backend *b)
{
	return b->cleaning->works != NULL;
}

/* Asked to end: true while something is still under way. */
bool cleaning_busy(struct backend *b)
{
	for (struct cleaning_work *w = b->cleaning->works; w; w = w->next)
		atomic_store(&w->stop, true);
	return b->cleaning->works != NULL;
}
