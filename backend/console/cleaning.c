/*
 * cleaning.c - makes and executes clean-up plans on worker threads, and counts orphans.
 *
 * The calls of clean.h block, so each command has a worker; what it has to say on the way comes through
 * a mailbox and becomes events here, on the loop.
 */
#include "console/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clean.h>
#include <berth/holdings.h>
#include <berth/mem.h>
#include <berth/message.h>

#define UNDO_MS 10000
#define COUNT_EVERY_NS (30 * 1000000000LL) /* a process may die without the engine knowing */
#define COUNT_SOON_NS (2 * 1000000000LL)

struct cleaning_work {
	struct blocking_task work;
	struct cleaning_work *next;
	struct backend *b;
	uint64_t ref; /* the command's id; 0: none */
	enum { COUNT_ORPHANS, MAKE_PLAN, CHOOSE_PLAN, RUN_PLAN, LOOK } what;
	bool foreign, measure;
	enum clean_type type;    /* CHOOSE_PLAN */
	enum holding_kind kind;  /* LOOK */
	size_t nids;             /* CHOOSE_PLAN; LOOK: at most one */
	const char **id;         /* in mem */
	struct clean_plan *plan; /* RUN_PLAN; in mem */
	struct arena mem;
	struct policy policy;
	struct event *answer;
	int orphans;

	pthread_mutex_t lock;
	struct clean_host *host; /* under lock: while there is one to interrupt */
	atomic_bool stop;
};

struct cleaning {
	char *host, *context,
		*name; /* name: of a host that stands in for the engine that is not here; NULL */
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
	char plan[16];
	struct clean_outcome outcome;
};

static void wake_from_cleaning(void *ctx)
{
	struct backend *b = ctx;

	uv_async_send(&b->wake);
}

void cleaning_open(struct backend *b, const struct backend_options *o)
{
	const struct host_spec *h = *b->home->prefix ? &o->hosts[0] : NULL;
	struct cleaning *c = b->cleaning = xcalloc(1, sizeof *c);

	c->host = xstrdup(h ? h->endpoint : o->host);
	c->context = xstrdup(h && !h->endpoint ? h->context : o->context);
	c->name = xstrdup(h ? h->name : NULL);
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
	free(c->name);
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
		ev->plan_name = arena_strdup(&ev->mem, l->plan);
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

	l->id = w->ref;
	l->item = item;
	snprintf(l->plan, sizeof l->plan, "%s", w->plan->name);
	l->outcome = *o;
	l->mail.bytes = sizeof *l;
	mailbox_put(&w->b->cleaning->letters, &l->mail);
}

static struct clean_host *open_clean_host(struct cleaning_work *w, struct err *e)
{
	const struct clean_options o = {.host = w->b->cleaning->host,
		.context = w->b->cleaning->context,
		.name = w->b->cleaning->name,
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
	w->answer->plan_name = arena_strdup(&w->answer->mem, w->plan->name);
}

static struct event *new_answer(const struct cleaning_work *w)
{
	static const enum event_kind kinds[] = {[MAKE_PLAN] = EV_CLEAN_PLAN,
		[CHOOSE_PLAN] = EV_CLEAN_PLAN,
		[RUN_PLAN] = EV_CLEAN_END,
		[LOOK] = EV_HOLDINGS};

	return w->what == COUNT_ORPHANS ? NULL : event_new(kinds[w->what]);
}

static void answer_cleaning(struct cleaning_work *w, struct clean_host *h)
{
	struct event *ev = w->answer;

	switch (w->what) {
	case COUNT_ORPHANS: w->orphans = clean_orphans(h); break;
	case MAKE_PLAN: ev->plan = clean_plan_make(h, w->foreign, true, &ev->mem, &ev->err); break;
	case CHOOSE_PLAN:
		ev->plan = clean_plan_choose(h, w->type, w->id, w->nids, false, &ev->mem, &ev->err);
		break;
	case RUN_PLAN: run_clean_up(w, h); break;
	case LOOK:
		ev->holdings = holdings_look(
			h, w->kind, w->nids ? w->id[0] : NULL, w->measure, &ev->mem, &ev->err);
		break;
	}
}

static void work_on_cleaning(struct blocking_task *x)
{
	struct cleaning_work *w = x->data;
	struct clean_host *h;

	w->answer = new_answer(w);
	h = open_clean_host(w, w->answer ? &w->answer->err : NULL);
	if (h)
		answer_cleaning(w, h);
	else
		w->orphans = -1;
	shut_host(w, h);
}

/* The loop's. */

static void on_cleaning_done(struct blocking_task *x)
{
	struct cleaning_work *w = x->data, **p = &w->b->cleaning->works;
	struct backend *b = w->b;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	cleaning_drain(b); /* the last steps before the end */
	if (w->answer) {
		w->answer->id = w->ref;
		backend_up(b, w->answer);
	} else {
		b->cleaning->counting = false;
		if (w->orphans >= 0 && w->orphans != b->cleaning->orphans) {
			b->cleaning->orphans = w->orphans;
			publish_soon(b);
		}
	}
	if (w->what != COUNT_ORPHANS && w->what != LOOK && !b->stopping) {
		b->cleaning->counted_ns = 0;
		watch_refresh(b->home);
	}
	if (b->stopping)
		uv_async_send(&b->wake); /* whoever waits for the last one */
	pthread_mutex_destroy(&w->lock);
	arena_release(&w->mem);
	free(w);
}

static struct cleaning_work *new_cleaning(struct backend *b, uint64_t ref)
{
	struct cleaning_work *w = xcalloc(1, sizeof *w);

	pthread_mutex_init(&w->lock, NULL);
	arena_init(&w->mem, 4096);
	w->b = b;
	w->ref = ref;
	policy_copy(&w->policy, &b->recording.policy, &w->mem);
	return w;
}

static void begin_cleaning(struct cleaning_work *w)
{
	struct backend *b = w->b;
	int refused;

	if (w->what == RUN_PLAN)
		backend_board(b); /* made here: the worker only uses it */
	w->next = b->cleaning->works;
	b->cleaning->works = w;
	w->work.data = w;
	refused = blocking_start(&b->loop, &w->work, work_on_cleaning, on_cleaning_done);
	if (!refused)
		return;
	w->orphans = -1;
	w->answer = new_answer(w);
	if (w->answer)
		err_sys(&w->answer->err, refused, "Cannot start a thread to clean up");
	on_cleaning_done(&w->work);
}

void cleaning_command(struct backend *b, const struct command *c)
{
	struct err e = ERR_INIT;
	struct cleaning_work *w;

	if (c->kind != CMD_HOLDINGS &&
		site_may_change(
			b->home, c->kind == CMD_CLEAN_RUN ? "clean up" : "make a plan", &e)) {
		backend_result(b, c->id, &e);
		return;
	}
	w = new_cleaning(b, c->id);
	w->nids = c->ntargets;
	w->id = arena_array(&w->mem, c->ntargets + 1, sizeof *w->id);
	for (size_t i = 0; i < c->ntargets; i++)
		w->id[i] = arena_strdup(&w->mem, c->targets[i].id);
	if (c->kind == CMD_HOLDINGS) {
		w->what = LOOK;
		w->kind = (enum holding_kind)c->holdings.kind;
		w->measure = c->holdings.measure;
	} else if (c->kind == CMD_CLEAN_RUN) {
		w->what = RUN_PLAN;
		w->plan = clean_plan_copy(c->plan, &w->mem);
	} else {
		w->what = c->ntargets ? CHOOSE_PLAN : MAKE_PLAN;
		w->foreign = c->clean.foreign;
		w->type = (enum clean_type)c->clean.type;
	}
	begin_cleaning(w);
}

/* Containers that berth made: without any there are no orphans. */
static bool any_ours(const struct backend *b)
{
	for (size_t i = 0; i < b->home->model.n; i++)
		if (*b->home->model.row[i]->c.role)
			return true;
	return false;
}

void cleaning_pulse(struct backend *b)
{
	struct cleaning *c = b->cleaning;
	int64_t ago = backend_now(b) - c->counted_ns;

	if (b->once || c->counting || !b->home->listed || !b->home->watch.up ||
		ago < (c->rows != b->home->model.n ? COUNT_SOON_NS : COUNT_EVERY_NS))
		return;
	c->rows = b->home->model.n;
	c->counted_ns = backend_now(b);
	if (any_ours(b)) {
		c->counting = true;
		begin_cleaning(new_cleaning(b, 0));
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
