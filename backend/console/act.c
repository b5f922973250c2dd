/*
 * act.c - starts, stops, removes and otherwise changes containers, several at a time.
 *
 * Every target of every command passes act_begin -> on_act_intent -> on_act_done.
 * act_begin says no (another engine, gone, busy, policy); on_act_intent comes when the audit log has
 * what is going to be done (on disk, where the operation is one that must not happen otherwise); act_outcome is
 * reached exactly once for every act_begin that said yes.
 * Many targets are a job, eight at a time.  A row goes only when the engine says that it is gone.
 */
#include "console/core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/signals.h>
#include <berth/undo.h>

#define ACTS_AT_ONCE 8

struct act_item {
	struct act_batch *batch;
	struct site *at;
	const char *engine, *id, *name; /* as the person saw it */
	struct gate_ticket *ticket;
};

struct act_batch {
	struct act_batch *next;
	struct backend *b;
	uint64_t id; /* of the command */
	char of[24]; /* how many targets it has, for the record */
	enum act act;
	bool force, volumes;
	int timeout_s, signal;
	size_t n, begun, flying, done, failed;
	struct act_item *item;
	struct job *job;  /* NULL for a single target */
	struct err error; /* the first one */
	char error_name[128];
	struct arena mem;
};

bool act_busy(const struct backend *b)
{
	return b->acts != NULL;
}

/* Through the gate: policy and the audit log are told what it is. */
static struct gate_ticket *pass_gate(struct act_item *it, gate_fn *go, struct err *e)
{
	const struct act_batch *batch = it->batch;
	const struct target t = {it->engine, it->id, it->name};
	char name[SIGNAL_NAME_MAX];
	struct key_value params[4];
	struct record_target of;
	struct audit_record r = record_of_container(it->at, operation_of_act(batch->act), &t, &of);

	r.params = params;
	if (batch->force)
		params[r.nparams++] = (struct key_value){"force", "yes", false};
	if (batch->volumes)
		params[r.nparams++] = (struct key_value){"volumes", "yes", false};
	if (batch->act == ACT_KILL && batch->signal)
		params[r.nparams++] =
			(struct key_value){"signal", signal_name(batch->signal, name), false};
	if (batch->n > 1)
		params[r.nparams++] = (struct key_value){"of", batch->of, false};
	return gate_begin(gate_of(it->at), &r, &of, go, it, e);
}

static void on_act_intent(void *ctx, const struct err *err);

/* May this be done?  0, and the row says what is pending; or -1 with a sentence. */
static int act_begin(struct act_item *it, struct err *e)
{
	struct act_batch *batch = it->batch;
	struct backend *b = batch->b;
	char what[256];
	struct row *r;

	snprintf(what, sizeof what, "%s %.200s", act_name(batch->act), it->name);
	it->at = site_of(b, it->engine);
	if (!it->at)
		return err_set(e, ERR_CONFLICT,
			"%s belongs to a different engine than the one connected now: "
			"nothing was done.",
			it->name);
	r = model_find(&it->at->model, it->id);
	if (!r)
		return err_set(e, ERR_NOT_FOUND, "%s no longer exists.", it->name);
	if (site_may_change(it->at, what, e) < 0)
		return -1;
	if (r->c.pending)
		return err_set(e, ERR_CONFLICT, "berth is already %s %s.", act_doing(r->c.pending),
			it->name);
	it->ticket = pass_gate(it, on_act_intent, e);
	if (!it->ticket)
		return -1;
	row_set_problem(r, NULL);
	r->c.pending = batch->act;
	r->settling = false;
	batch->flying++;
	return 0;
}

static void count_target(struct act_item *it, const struct err *err)
{
	struct act_batch *batch = it->batch;

	if (!err) {
		batch->done++;
	} else {
		if (!batch->failed++) {
			batch->error = *err;
			snprintf(batch->error_name, sizeof batch->error_name, "%s", it->name);
		}
	}
	if (batch->job)
		job_add(batch->job, 1, 0, 0);
	if (batch->job && err) {
		char text[JOB_ERROR_MAX];

		snprintf(text, sizeof text, "%.48s: %s", it->name, err->msg);
		job_fail(batch->job, text);
	}
}

/* How it ended.  The row shows it; what it has become, an inspection tells. */
static void act_outcome(struct act_item *it, const struct err *err)
{
	struct act_batch *batch = it->batch;
	struct backend *b = batch->b;
	struct row *r = model_find(&it->at->model, it->id);

	count_target(it, err);
	if (!r)
		return;
	if (err) {
		r->c.pending = ACT_NONE;
		row_set_problem(r, err->msg);
	} else {
		r->settling = true;
	}
	r->dirty = true;
	watch_inspect(it->at);
	publish_soon(b);
}

static void act_pump(struct act_batch *batch);

static void on_act_done(void *ctx, const struct err *err)
{
	struct act_item *it = ctx;
	struct act_batch *batch = it->batch;
	struct backend *b = batch->b;

	gate_end(it->ticket, err);
	batch->flying--;
	if (b->stopping) {
		count_target(it, err);
	} else {
		if (!err)
			it->at->watch.heard_ns = backend_now(b);
		act_outcome(it, err);
		if (err)
			watch_trouble(it->at, err);
	}
	act_pump(batch);
}

static struct engine_call *ask_for_act(struct act_item *it)
{
	const struct act_batch *batch = it->batch;

	return engine_act(it->at->engine, batch->act, it->id, batch->force, batch->volumes,
		batch->act == ACT_KILL ? batch->signal : batch->timeout_s, on_act_done, it);
}

static bool is_too_late(const struct act_item *it, struct err *e)
{
	if (!it->batch->b->stopping && it->at->engine)
		return false;
	err_set(e, ERR_CANCELLED, "berth ended before %s was requested.", act_name(it->batch->act));
	return true;
}

/* Its own time to stop, before it is asked to: how long the engine may take depends on that.  One that does not answer here
 * would not answer then either, and that would be known a minute later. */
static void on_stop_look(void *ctx, const struct engine_container *k, const char *json, size_t n,
	const struct err *err)
{
	struct act_item *it = ctx;
	struct err e = ERR_INIT;

	(void)json;
	(void)n;
	if (err && (err->kind == ERR_TIMEOUT || err->kind == ERR_UNREACHABLE)) {
		on_act_done(it, err);
	} else if (is_too_late(it, &e)) {
		on_act_done(it, &e);
	} else {
		struct engine_call *c = ask_for_act(it);

		if (!err)
			engine_act_grace(c, k->stop_timeout_s);
	}
}

/* What it was, before it is removed.  Without that it is removed all the same: it cannot be undone then. */
static void on_last_look(void *ctx, const struct engine_container *k, const char *json, size_t n,
	const struct err *err)
{
	struct act_item *it = ctx;
	struct err e = ERR_INIT;

	(void)k;
	if (!err)
		undo_keep(
			it->at->endpoint.url, it->engine + strlen(it->at->prefix), it->id, json, n);
	if (is_too_late(it, &e))
		on_act_done(it, &e);
	else
		ask_for_act(it);
}

/* The intent is on disk, or it is known why it is not. */
static void on_act_intent(void *ctx, const struct err *err)
{
	struct act_item *it = ctx;
	struct act_batch *batch = it->batch;
	struct backend *b = batch->b;
	struct err e = ERR_INIT;

	if (!err && is_too_late(it, &e))
		err = &e;
	if (!err) {
		if (batch->act == ACT_REMOVE)
			engine_inspect(it->at->engine, it->id, on_last_look, it);
		else if (batch->timeout_s < 0 &&
			(batch->act == ACT_STOP || batch->act == ACT_RESTART))
			engine_inspect(it->at->engine, it->id, on_stop_look, it);
		else
			ask_for_act(it);
		return;
	}
	gate_end(it->ticket, err);
	batch->flying--;
	if (b->stopping)
		count_target(it, err);
	else
		act_outcome(it, err);
	act_pump(batch);
}

static void unlink_batch(struct act_batch *batch)
{
	struct act_batch **p = &batch->b->acts;

	while (*p != batch)
		p = &(*p)->next;
	*p = batch->next;
}

/* All targets have ended: tell the person. */
static void report_batch(struct act_batch *batch)
{
	struct backend *b = batch->b;
	struct event *ev = event_new(EV_RESULT);
	size_t left = batch->n - batch->done - batch->failed;
	struct err sum = ERR_INIT;

	if (batch->failed && batch->n == 1)
		sum = batch->error;
	else if (batch->failed)
		err_set(&sum, batch->error.kind, "%s: %zu of %zu containers failed; %s: %s",
			act_name(batch->act), batch->failed, batch->n, batch->error_name,
			batch->error.msg);
	else if (left)
		err_set(&sum, ERR_CANCELLED, "%s was cancelled after %zu of %zu containers.",
			act_name(batch->act), batch->done, batch->n);
	ev->id = batch->id;
	ev->act = batch->act;
	ev->done = batch->done;
	ev->failed = batch->failed;
	ev->err = sum;
	if (batch->n)
		ev->target = (struct target){arena_strdup(&ev->mem, batch->item[0].engine),
			arena_strdup(&ev->mem, batch->item[0].id),
			arena_strdup(&ev->mem, batch->item[0].name)};
	if (batch->job)
		job_end(batch->job,
			batch->failed  ? JOB_FAILED
				: left ? JOB_CANCELLED
				       : JOB_DONE,
			sum.msg);
	unlink_batch(batch);
	arena_release(&batch->mem);
	free(batch);
	/* Whoever hears of the result finds it in the rows already. */
	publish_now(b);
	backend_up(b, ev);
}

static void act_pump(struct act_batch *batch)
{
	struct backend *b = batch->b;

	while (batch->begun < batch->n && batch->flying < ACTS_AT_ONCE && !b->stopping &&
		!(batch->job && job_cancelled(batch->job))) {
		struct act_item *it = &batch->item[batch->begun++];
		struct err e = ERR_INIT;

		if (batch->job)
			job_current(batch->job, it->name);
		if (act_begin(it, &e) < 0)
			count_target(it, &e);
	}
	if (!batch->flying)
		report_batch(batch);
	publish_soon(b);
}

static void take_act_targets(struct act_batch *batch, const struct command *c)
{
	batch->n = c->ntargets;
	snprintf(batch->of, sizeof batch->of, "%zu", batch->n);
	batch->item = arena_array(&batch->mem, c->ntargets + 1, sizeof *batch->item);
	for (size_t i = 0; i < c->ntargets; i++) {
		const struct target *t = &c->targets[i];

		batch->item[i] = (struct act_item){.batch = batch,
			.engine = arena_strdup(&batch->mem, t->engine),
			.id = arena_strdup(&batch->mem, t->id),
			.name = arena_strdup(&batch->mem, t->name)};
	}
}

void act_command(struct backend *b, const struct command *c)
{
	struct act_batch *batch = xcalloc(1, sizeof *batch);
	char name[JOB_TEXT_MAX];

	arena_init(&batch->mem, 1024);
	batch->b = b;
	batch->id = c->id;
	batch->act = c->act.what;
	batch->force = c->act.force;
	batch->volumes = c->act.volumes;
	batch->timeout_s = c->act.timeout_s;
	batch->signal = c->act.signal;
	take_act_targets(batch, c);
	if (batch->n > 1) {
		snprintf(name, sizeof name, "%s %zu containers", act_name(batch->act), batch->n);
		batch->job = job_new(backend_board(b), name, b->user, "containers", true);
		job_total(batch->job, batch->n, 0);
	}
	batch->next = b->acts;
	b->acts = batch;
	act_pump(batch);
}

void act_pulse(struct backend *b)
{
	struct act_batch *batch = b->acts, *next;

	/* A cancelled batch with nothing under way ends here. */
	for (; batch; batch = next) {
		next = batch->next;
		if (!batch->flying)
			act_pump(batch);
	}
}
