/*
 * execute.c - carries out a clean-up plan with several workers, each with its own engine connection.
 *
 *     check -> [intent of the stop -> stop -> outcome] -> check -> intent -> remove -> outcome
 *
 * First the containers: what does not run is removed while what runs is stopped; what was stopped waits
 * for its undo time, and only then goes.  Then networks, volumes, images, files: each kind after all
 * that could use it.  Nothing is remembered between two runs: the next plan, or the same plan again,
 * finds what is left by looking.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/undo.h>
#include <berth/users.h>

#include "run/rulebook.h"
#include "clean/planner.h"
#include "egress/egress.h"
#include "job/board.h"
#include "lane/lane.h"
#include "terminals/terminals.h"

#define WIDTH 8
#define WIDTH_SSH 4 /* each has a connection, and the engine one more */
#define ASK_MS 120000
#define LIMIT_MS 300000    /* for a plan, and */
#define LIMIT_ITEM_MS 5000 /* more for each of its items */
#define ALIVE_MS 300       /* in which a living engine answers */
#define RESTORE_MS 10000   /* in which it starts a container again */

enum stage { STAGE_FIRST, STAGE_STOPPED, STAGE_NETWORK, STAGE_VOLUME, STAGE_IMAGE, STAGE_FILES };

struct running {
	struct clean_host *h;
	const struct clean_plan *p;
	const struct clean_run *how;
	struct recorder by; /* shared: its log is open, and takes records from any thread */
	struct job *job;
	enum stage stage;
	bool alone; /* entered: no agent is brought up meanwhile */
	int64_t until_ns;

	pthread_mutex_t lock; /* the rest */
	size_t next;
	struct clean_outcome *outcome;
	struct clean_sum sum;
	struct err first; /* failure */
	bool lost, late;
};

struct worker {
	struct running *r;
	struct engine_sync *en;
	size_t at;
	int64_t restoring_until_ns; /* 0: it starts nothing again now */
};

/* sessions_exclude keeps other clean-ups out as well, also one of this process: all hosts share what one of them holds. */
static struct {
	pthread_mutex_t lock;
	size_t n; /* that are in it */
	int fd;
} alone = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static pthread_mutex_t forgetting = PTHREAD_MUTEX_INITIALIZER; /* one at a time */

/* No agent is brought up until all have left.  False: one is at this moment, or another berth cleans up. */
static bool enter_alone(void)
{
	bool entered;

	pthread_mutex_lock(&alone.lock);
	if (!alone.n)
		alone.fd = sessions_exclude();
	entered = alone.fd >= 0;
	alone.n += entered;
	pthread_mutex_unlock(&alone.lock);
	return entered;
}

static void leave_alone(void)
{
	pthread_mutex_lock(&alone.lock);
	if (!--alone.n) {
		close(alone.fd);
		alone.fd = -1;
	}
	pthread_mutex_unlock(&alone.lock);
}

static const char *const states[] = {"waiting", "checking", "stopping", "stopped", "removing",
	"removed", "gone", "skipped", "refused", "kept", "failed"};

const char *clean_state_name(enum clean_state s)
{
	return s < COUNT(states) ? states[s] : "unknown";
}

/* Where an item stands.  Ended ones are counted. */
static void set_outcome(struct running *r, size_t i, enum clean_state state, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void set_outcome(struct running *r, size_t i, enum clean_state state, const char *fmt, ...)
{
	const struct clean_item *it = &r->p->item[i];
	struct clean_outcome *o = &r->outcome[i];
	va_list ap;

	pthread_mutex_lock(&r->lock);
	o->state = state;
	va_start(ap, fmt);
	vsnprintf(o->said, sizeof o->said, fmt, ap);
	va_end(ap);
	if (clean_ended(state)) {
		r->sum.done += state == CLEAN_REMOVED;
		r->sum.gone += state == CLEAN_GONE;
		r->sum.skipped += state == CLEAN_SKIPPED;
		r->sum.refused += state == CLEAN_REFUSED;
		r->sum.kept += state == CLEAN_KEPT;
		r->sum.failed += state == CLEAN_FAILED;
		if (state == CLEAN_REMOVED && it->bytes > 0)
			r->sum.bytes += (uint64_t)it->bytes;
		job_add(r->job, 1, it->bytes > 0 ? (uint64_t)it->bytes : 0, state == CLEAN_FAILED);
	}
	if (r->how->changed)
		r->how->changed(r->how->ctx, i, o);
	pthread_mutex_unlock(&r->lock);
}

static bool is_clean_cancelled(struct running *r)
{
	return job_cancelled(r->job) || (r->how->cancelled && r->how->cancelled(r->how->ctx));
}

/* Does an answer that has not come count as one that will not? */
static bool must_end(void *ctx)
{
	const struct worker *k = ctx;
	int64_t now = clock_mono_ns();

	if (k->restoring_until_ns)
		return now > k->restoring_until_ns;
	return now > k->r->until_ns || is_clean_cancelled(k->r);
}

static void fail_item(struct running *r, size_t i, const struct err *e)
{
	pthread_mutex_lock(&r->lock);
	if (!r->first.kind)
		r->first = *e;
	/* Nobody answers any more: the others need not find that out one by one. */
	r->lost |= e->kind == ERR_UNREACHABLE;
	r->late |= clock_mono_ns() > r->until_ns;
	pthread_mutex_unlock(&r->lock);
	set_outcome(r, i, e->kind == ERR_REFUSED ? CLEAN_REFUSED : CLEAN_FAILED, "%s",
		e->kind == ERR_CANCELLED
			? "Stopped waiting for the engine's answer: the removal may still happen."
			: e->msg);
}

/* Does what the plan says still hold?  True: go on; else the item's outcome is set. */
static bool check_item(
	struct worker *k, size_t i, bool stopped, bool *ret_running, bool *ret_paused)
{
	struct running *r = k->r;
	const struct clean_item *it = &r->p->item[i], *now = NULL;
	struct clean_plan *fresh = NULL;
	struct world w = {.engine = r->h->at.info.id};
	struct err e = ERR_INIT;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);
	bool there = true, good = false;

	if (it->type == CLEAN_CONTAINER) {
		struct clean_plan one = {.engine = r->p->engine,
			.engine_name = r->h->at.info.name,
			.endpoint = r->h->at.endpoint.url,
			.foreign = it->foreign};

		fresh = memcpy(arena_alloc(&mem, sizeof *fresh), &one, sizeof one);
		if (!world_container(k->en, it->id, &w, &mem, &e) &&
			!world_sessions(&w, &mem, &e)) {
			rules_plan(&w, &r->h->at.policy, fresh, &mem);
			there = w.ncontainers > 0;
			*ret_paused = there && w.container[0].state == CONTAINER_PAUSED;
		}
	} else {
		fresh = it->reason == CLEAN_CHOSEN
			? host_choose(r->h, k->en, it->type, &it->id, 1, false, &mem, &e)
			: host_plan(r->h, k->en, r->p->foreign, false, &mem, &e);
	}
	if (!e.kind)
		now = plan_find(fresh, it->type, it->id);
	if (e.kind)
		fail_item(r, i, &e);
	else if (!there)
		set_outcome(r, i, CLEAN_GONE, "It was already gone.");
	else if (!now)
		set_outcome(r, i, CLEAN_SKIPPED, "It no longer qualifies: left alone.");
	else if (now->foreign != it->foreign || now->reason != it->reason)
		set_outcome(r, i, CLEAN_SKIPPED,
			"It has changed since the plan was made, now: %s.  Left alone.", now->why);
	else if (now->running && (stopped || !it->running))
		set_outcome(
			r, i, CLEAN_SKIPPED, "It was started after the plan was made: left alone.");
	else if (now->keep)
		set_outcome(r, i, CLEAN_REFUSED, "%s", now->keep);
	else
		good = true;
	*ret_running = good && now->running;
	return good;
}

static struct audit_record record_of_item(const struct running *r, const struct clean_item *it,
	enum operation operation, struct key_value *params)
{
	params[0] = (struct key_value){"plan", r->p->name, false};
	params[1] = (struct key_value){"reason", clean_reason_name(it->reason), false};
	return (struct audit_record){.operation = operation,
		.target_type = clean_type_name(it->type),
		.target = it->id,
		.name = it->name,
		.params = params,
		.nparams = 2};
}

void clean_refused(struct clean_host *h, const struct clean_plan *p, const struct clean_item *it,
	const struct err *why)
{
	const struct key_value kv[] = {{"endpoint", p->endpoint, false}};
	const struct audit_record r = {.operation = clean_operation(it->type),
		.engine = h->at.recorder.engine,
		.target_type = clean_type_name(it->type),
		.target = it->id,
		.name = it->name,
		.params = kv,
		.nparams = COUNT(kv),
		.duration_us = -1};

	record_event(&h->at.recorder, &r, why);
}

typedef int clean_fn(struct worker *k, const struct clean_item *it, struct err *e);

struct cleaning_act {
	struct worker *k;
	const struct clean_item *it;
	clean_fn *doing;
	struct err gone;
};

static int do_clean(void *ctx, struct audit_record *r, struct err *e)
{
	struct cleaning_act *a = ctx;
	struct err why = ERR_INIT;

	(void)r;
	a->doing(a->k, a->it, &why);
	if (why.kind == ERR_NOT_FOUND)
		a->gone = why;
	return why.kind && !a->gone.kind ? err_copy(e, &why) : 0;
}

/* One act through the gate.  What is gone, or another is removing, is no failure in the log. */
static int do_recorded(struct worker *k, const struct clean_item *it, enum operation operation,
	clean_fn *doing, struct err *e)
{
	struct recorder by = k->r->by;
	struct cleaning_act a = {k, it, doing, ERR_INIT};
	struct key_value params[2];
	struct audit_record record = record_of_item(k->r, it, operation, params);

	if (record_act(&by, &record, NULL, do_clean, &a, e))
		return -1;
	return a.gone.kind ? err_copy(e, &a.gone) : 0;
}

/* Containers. */

static int do_stop(struct worker *k, const struct clean_item *it, struct err *e)
{
	lane_hold_release(it->id);
	return sync_act(k->en, ACT_STOP, it->id, false, false, k->r->how->grace_s, e);
}

static int do_stop_paused(struct worker *k, const struct clean_item *it, struct err *e)
{
	/* Frozen processes cannot take a signal. */
	return sync_act(k->en, ACT_UNPAUSE, it->id, false, false, -1, e) || do_stop(k, it, e) ? -1
											      : 0;
}

static int do_start(struct worker *k, const struct clean_item *it, struct err *e)
{
	return sync_act(k->en, ACT_START, it->id, false, false, -1, e);
}

/* Never by force: what was started a moment ago is refused by the engine itself. */
static int do_remove(struct worker *k, const struct clean_item *it, struct err *e)
{
	AUTO_FREE char *target = xasprintf("/containers/%s/json", it->id);
	AUTO_STR struct str was = STR_INIT;

	/* Without it the removal cannot be undone; what berth made is made anew by `up`. */
	if (it->foreign &&
		!sync_ask(k->en, "look at %s", it->name, "GET", target, NULL, ASK_MS, &was, NULL))
		undo_keep(k->r->h->at.endpoint.url, k->r->h->at.info.id, it->id, was.s, was.len);
	return sync_act(k->en, ACT_REMOVE, it->id, false, !it->foreign, -1, e);
}

/* The engine removes an image of several names by its id only by force, which asks nobody who uses it.  So all names
 * but the last go first; one that means another image by now is not touched. */
static int untag_others(struct worker *k, const struct clean_item *it, struct err *e)
{
	AUTO_JSON cJSON *image = NULL;
	int there = sync_image(k->en, it->id, ASK_MS, &image, e);
	const cJSON *tags = ejson_get(image, "RepoTags");
	size_t n = ejson_count(tags);

	if (there <= 0)
		return there; /* its removal says that it is gone */
	for (size_t i = 0; i + 1 < n; i++) {
		AUTO_STR struct str target = STR_INIT;
		const char *tag = ejson_text(cJSON_GetArrayItem((cJSON *)(uintptr_t)tags, (int)i));
		AUTO_JSON cJSON *now = NULL;

		if (!*tag || sync_image(k->en, tag, ASK_MS, &now, NULL) <= 0 ||
			strcmp(ejson_string(now, "Id"), it->id) != 0)
			continue;
		url_image(&target, tag, "?noprune=1");
		if (sync_ask(k->en, "remove the name %s", tag, "DELETE", target.s, NULL, ASK_MS,
			    NULL, e))
			return -1;
	}
	return 0;
}

static int do_delete(struct worker *k, const struct clean_item *it, struct err *e)
{
	static const struct {
		const char *what, *before, *after;
	} how[CLEAN_TYPES] = {[CLEAN_NETWORK] = {"remove the network %s", "/networks/", ""},
		[CLEAN_VOLUME] = {"remove the volume %s", "/volumes/", ""},
		[CLEAN_IMAGE] = {"remove the image %s", "/images/", "?noprune=1"}};
	AUTO_STR struct str target = STR_INIT;

	if (it->type == CLEAN_IMAGE && it->reason == CLEAN_CHOSEN && untag_others(k, it, e))
		return -1;
	str_adds(&target, how[it->type].before);
	url_escape(&target, it->id);
	str_adds(&target, how[it->type].after);
	return sync_ask(
		k->en, how[it->type].what, it->name, "DELETE", target.s, NULL, ASK_MS, NULL, e);
}

/* Of an engine that is meant, or that its agent was brought up on: what another one says of itself must not take files away. */
static bool may_forget(const struct clean_host *h, const struct session *record, bool recorded)
{
	return !h->name || (recorded && !strcmp(record->endpoint, h->at.endpoint.url));
}

/* The files that went with a container of ours, unless another one has them now. */
static void forget_files(struct running *r, const char *name, const char *id)
{
	struct session record;
	bool entered = enter_alone(), recorded, mine;

	pthread_mutex_lock(&forgetting);
	recorded = !session_load(name, &record, NULL);
	mine = !recorded || !id ||
		(!strcmp(record.id, id) && !strcmp(record.engine, r->h->at.info.id));
	if (entered && mine && may_forget(r->h, &record, recorded)) {
		lane_forget(name);
		egress_forget(name);
		terminals_forget(name);
		rulebook_forget(name);
		session_forget(name);
		agents_unbind(name, r->h->at.info.id, NULL);
	}
	pthread_mutex_unlock(&forgetting);
	if (entered)
		leave_alone();
}

/* How a removal ended, in the item's words. */
static void settle_removal(struct running *r, size_t i, int failed, const struct err *e)
{
	const struct clean_item *it = &r->p->item[i];
	bool busy = e->sys == 409 || (e->sys == 403 && it->type == CLEAN_NETWORK);

	if (failed && e->kind == ERR_NOT_FOUND)
		set_outcome(r, i, CLEAN_GONE, "It was already gone.");
	else if (failed && busy)
		set_outcome(r, i, CLEAN_SKIPPED,
			"It is in use, or being removed by another program: %s", e->msg);
	else if (failed)
		fail_item(r, i, e);
	if (!failed || e->kind == ERR_NOT_FOUND) {
		if (it->type == CLEAN_CONTAINER && !it->foreign)
			forget_files(r, it->name, it->id);
		if (!failed)
			set_outcome(r, i, CLEAN_REMOVED, "%s", "");
	}
}

static void remove_container(struct worker *k, size_t i)
{
	struct err e = ERR_INIT;

	set_outcome(k->r, i, CLEAN_REMOVING, "%s", "");
	settle_removal(
		k->r, i, do_recorded(k, &k->r->p->item[i], OP_CONTAINER_REMOVE, do_remove, &e), &e);
}

static void remove_first(struct worker *k, size_t i)
{
	struct running *r = k->r;
	bool running, paused = false;
	struct err e = ERR_INIT;
	int failed;

	set_outcome(r, i, CLEAN_CHECKING, "%s", "");
	if (!check_item(k, i, false, &running, &paused))
		return;
	if (!running) {
		remove_container(k, i);
		return;
	}
	set_outcome(r, i, CLEAN_STOPPING, "%s", "");
	failed = do_recorded(
		k, &r->p->item[i], OP_CONTAINER_STOP, paused ? do_stop_paused : do_stop, &e);
	if (failed)
		settle_removal(r, i, failed, &e);
	else
		set_outcome(r, i, CLEAN_STOPPED, "Stopped; cancelling starts it again.");
}

/* An engine that hangs is found out by a question that costs nothing, not by the container. */
static int revive_container(struct worker *k, size_t i, struct err *e)
{
	k->restoring_until_ns = clock_mono_ns() + RESTORE_MS * INT64_C(1000000);
	if (sync_ask(k->en, "reach %s", "the engine", "GET", "/_ping", NULL, ALIVE_MS, NULL, e) ||
		do_recorded(k, &k->r->p->item[i], OP_CONTAINER_START, do_start, e))
		return -1;
	return 0;
}

static void restart_stopped(struct worker *k, size_t i)
{
	struct err e = ERR_INIT;
	int failed = revive_container(k, i, &e);

	k->restoring_until_ns = 0;
	if (failed) {
		if (e.kind == ERR_TIMEOUT || e.kind == ERR_CANCELLED)
			e.kind = ERR_UNREACHABLE;
		err_wrap(&e, "It was stopped, and could not be started again");
		fail_item(k->r, i, &e);
	} else {
		set_outcome(k->r, i, CLEAN_KEPT, "Cancelled: it was stopped, and started again.");
	}
}

static void remove_stopped(struct worker *k, size_t i)
{
	struct running *r = k->r;
	bool running, paused;

	if (is_clean_cancelled(r))
		restart_stopped(k, i);
	else if (check_item(k, i, true, &running, &paused))
		remove_container(k, i);
}

/* The rest. */

static void remove_other(struct worker *k, size_t i)
{
	struct running *r = k->r;
	const struct clean_item *it = &r->p->item[i];
	bool running, paused = false;
	struct err e = ERR_INIT;

	set_outcome(r, i, CLEAN_CHECKING, "%s", "");
	if (!it->foreign && it->type != CLEAN_IMAGE && !r->alone) {
		set_outcome(r, i, CLEAN_SKIPPED,
			"An agent is being brought up, or another clean-up is running: "
			"left alone.");
		return;
	}
	if (!check_item(k, i, false, &running, &paused))
		return;
	set_outcome(r, i, CLEAN_REMOVING, "%s", "");
	settle_removal(r, i, do_recorded(k, it, clean_operation(it->type), do_delete, &e), &e);
}

static int do_forget(struct worker *k, const struct clean_item *it, struct err *e)
{
	(void)e; /* what cannot be unlinked is found again by the next plan */
	forget_files(k->r, it->id, NULL);
	return 0;
}

static void remove_files(struct worker *k, size_t i)
{
	struct running *r = k->r;
	bool running, paused = false;
	struct err e = ERR_INIT;

	set_outcome(r, i, CLEAN_CHECKING, "%s", "");
	if (!r->alone)
		set_outcome(r, i, CLEAN_SKIPPED,
			"An agent is being brought up, or another clean-up is running: "
			"left alone.");
	else if (check_item(k, i, false, &running, &paused))
		settle_removal(
			r, i, do_recorded(k, &r->p->item[i], OP_SESSION_FORGET, do_forget, &e), &e);
}

static const struct {
	enum clean_type type;
	enum clean_state from; /* items in this state have their turn */
	void (*work)(struct worker *k, size_t i);
} stages[] = {
	[STAGE_FIRST] = {CLEAN_CONTAINER, CLEAN_WAITING, remove_first},
	[STAGE_STOPPED] = {CLEAN_CONTAINER, CLEAN_STOPPED, remove_stopped},
	[STAGE_NETWORK] = {CLEAN_NETWORK, CLEAN_WAITING, remove_other},
	[STAGE_VOLUME] = {CLEAN_VOLUME, CLEAN_WAITING, remove_other},
	[STAGE_IMAGE] = {CLEAN_IMAGE, CLEAN_WAITING, remove_other},
	[STAGE_FILES] = {CLEAN_LEFTOVER, CLEAN_WAITING, remove_files},
};

/* The next item whose turn it is. */
static bool take_item(struct running *r, size_t *ret)
{
	bool stop = r->stage != STAGE_STOPPED && is_clean_cancelled(r), found = false;

	pthread_mutex_lock(&r->lock);
	r->late |= clock_mono_ns() > r->until_ns;
	stop |= r->lost || r->late;
	while (!stop && !found && r->next < r->p->n) {
		size_t i = r->next++;

		found = r->p->item[i].marked && r->p->item[i].type == stages[r->stage].type &&
			r->outcome[i].state == stages[r->stage].from;
		*ret = i;
	}
	pthread_mutex_unlock(&r->lock);
	return found;
}

/* A worker's engine stays open over all stages. */
static struct engine_sync *engine_of(struct worker *k, struct err *e)
{
	struct clean_host *h = k->r->h;
	struct engine_sync *en;

	pthread_mutex_lock(&h->lock);
	if (!h->worker[k->at])
		h->worker[k->at] = sync_open(&h->at.endpoint, e);
	en = h->worker[k->at];
	if (en)
		sync_heed(en, must_end, k);
	if (en && h->interrupted)
		sync_interrupt(en);
	pthread_mutex_unlock(&h->lock);
	return en;
}

static void *run_worker(void *ctx)
{
	struct worker *k = ctx;
	struct err e = ERR_INIT;
	size_t i;

	while (take_item(k->r, &i)) {
		if (!k->en)
			k->en = engine_of(k, &e);
		job_current(k->r->job, k->r->p->item[i].name);
		if (k->en)
			stages[k->r->stage].work(k, i);
		else
			fail_item(k->r, i, &e);
	}
	return NULL;
}

static size_t count_turns(const struct running *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->p->n; i++)
		n += r->p->item[i].marked && r->p->item[i].type == stages[r->stage].type &&
			r->outcome[i].state == stages[r->stage].from;
	return n;
}

static void run_stage(struct running *r, enum stage stage)
{
	size_t width = r->h->at.endpoint.transport == TRANSPORT_SSH ? WIDTH_SSH : WIDTH, n,
	       started = 0;
	struct worker worker[CLEAN_WIDTH_MAX];
	pthread_t thread[CLEAN_WIDTH_MAX];

	if (r->how->width > 0)
		width = (size_t)r->how->width;
	r->stage = stage;
	r->next = 0;
	n = count_turns(r);
	width = width < CLEAN_WIDTH_MAX ? width : CLEAN_WIDTH_MAX;
	width = width < n ? width : n;
	for (size_t i = 0; i < width; i++)
		worker[i] = (struct worker){.r = r, .at = i};
	while (started + 1 < width &&
		!pthread_create(&thread[started], NULL, run_worker, &worker[started + 1]))
		started++;
	if (n)
		run_worker(&worker[0]);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
}

static bool any_stopped(const struct running *r)
{
	for (size_t i = 0; i < r->p->n; i++)
		if (r->outcome[i].state == CLEAN_STOPPED)
			return true;
	return false;
}

/* The time in which what was stopped can still be had back. */
static void undo_time(struct running *r)
{
	int64_t until = clock_mono_ns() + r->how->undo_ms * 1000000;
	const struct timespec tick = {0, 50000000};

	if (!any_stopped(r))
		return;
	while (!is_clean_cancelled(r) && clock_mono_ns() < until)
		nanosleep(&tick, NULL);
	r->until_ns += r->how->undo_ms * 1000000; /* the engine was not waited for */
}

static void run_stages(struct running *r)
{
	r->until_ns = clock_mono_ns() +
		(r->how->limit_ms ? r->how->limit_ms
				  : LIMIT_MS + LIMIT_ITEM_MS * (int64_t)clean_totals(r->p).marked) *
			INT64_C(1000000);
	run_stage(r, STAGE_FIRST);
	undo_time(r);
	run_stage(r, STAGE_STOPPED);
	r->alone = enter_alone();
	for (enum stage s = STAGE_NETWORK; s <= STAGE_FILES; s++)
		run_stage(r, s);
	if (r->alone)
		leave_alone();
	r->alone = false;
	for (size_t i = 0; i < r->p->n; i++) {
		if (!r->p->item[i].marked || clean_ended(r->outcome[i].state))
			continue;
		set_outcome(r, i, CLEAN_KEPT, "%s%s",
			r->outcome[i].state == CLEAN_STOPPED ? "Stopped, but not removed: " : "",
			r->lost           ? "the engine was lost before it was reached."
				: r->late ? "the time ran out before it was reached."
					  : "cancelled before it was reached.");
	}
}

static void begin_clean_job(struct running *r, struct board *board)
{
	struct clean_totals t = clean_totals(r->p);
	char name[JOB_TEXT_MAX], user[USER_NAME_MAX];

	snprintf(name, sizeof name, "clean up %zu item%s%s%.64s", t.marked,
		t.marked == 1 ? "" : "s", r->h->name ? " on " : "", r->h->name ? r->h->name : "");
	r->job = job_new(board, name, r->how->user ? r->how->user : user_name(geteuid(), user),
		"items", true);
	job_total(r->job, t.marked, 0);
}

/* How it all ended; fills in *e for -1. */
static int sum_up(struct running *r, struct err *e)
{
	if (r->late)
		return err_set(e, ERR_TIMEOUT,
			"The engine took too long: %zu removed, %zu unanswered, %zu "
			"left; run the plan again when it has recovered.",
			r->sum.done, r->sum.failed, r->sum.kept);
	if (r->first.kind == ERR_CANCELLED || (!r->sum.failed && r->sum.kept && !r->lost))
		return err_set(e, ERR_CANCELLED,
			"The clean-up was cancelled: %zu removed, %zu unanswered by "
			"the engine, %zu left unchanged.",
			r->sum.done, r->sum.failed, r->sum.kept);
	if (r->sum.failed && r->sum.failed + r->sum.kept > 1)
		return err_set(e, r->first.kind, "%zu of the plan's items could not be removed: %s",
			r->sum.failed + r->sum.kept, r->first.msg);
	if (r->first.kind)
		return err_copy(e, &r->first);
	if (r->sum.refused)
		return err_set(e, ERR_REFUSED, "%zu of the plan's items are now protected.",
			r->sum.refused);
	return 0;
}

static int do_plan(void *ctx, struct audit_record *record, struct err *e)
{
	struct running *r = ctx;

	(void)record;
	r->by = r->h->at.recorder;
	run_stages(r);
	return sum_up(r, e);
}

static int carry_out_plan(struct running *r, struct err *e)
{
	struct clean_totals t = clean_totals(r->p);
	struct key_value params[2] = {{"endpoint", r->p->endpoint, false}};
	struct audit_record record = {.operation = OP_CLEAN,
		.target_type = "plan",
		.name = r->p->name,
		.params = params,
		.nparams = 1,
		.items = t.marked};
	const char **id = xcalloc(t.marked + 1, sizeof *id);
	size_t n = 0;

	for (size_t i = 0; i < r->p->n; i++)
		if (r->p->item[i].marked)
			id[n++] = r->p->item[i].id;
	record_manifest(&record, n, id);
	free(id);
	return record_act(&r->h->at.recorder, &record, NULL, do_plan, r, e);
}

int clean_carry_out(struct clean_host *h, const struct clean_plan *p, const struct clean_run *how,
	struct clean_outcome *outcome, struct clean_sum *ret, struct err *e)
{
	struct running r = {.h = h, .p = p, .how = how, .outcome = outcome};
	struct board *own = NULL;
	struct err why = ERR_INIT;
	int result;

	memset(outcome, 0, p->n * sizeof *outcome);
	memset(ret, 0, sizeof *ret);
	if (strcmp(p->engine, h->at.info.id) != 0)
		return err_set(e, ERR_CONFLICT,
			"The plan was made for the engine %.64s (%.80s); %.80s is a "
			"different one: nothing was done.",
			p->engine_name, p->endpoint, h->at.endpoint.url);
	if (host_refuse_claim(h, e))
		return -1;
	pthread_mutex_init(&r.lock, NULL);
	if (!how->board)
		own = board_open(h->at.recorder.program, NULL);
	begin_clean_job(&r, how->board ? how->board : own);
	result = carry_out_plan(&r, &why);
	job_end(r.job,
		!result                             ? JOB_DONE
			: why.kind == ERR_CANCELLED ? JOB_CANCELLED
						    : JOB_FAILED,
		why.msg);
	board_close(own);
	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < COUNT(h->worker); i++) {
		sync_close(h->worker[i]);
		h->worker[i] = NULL;
	}
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_destroy(&r.lock);
	*ret = r.sum;
	return result ? err_copy(e, &why) : 0;
}
