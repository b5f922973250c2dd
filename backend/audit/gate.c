/*
 * gate.c - runs every operation: checks the policy, records the intent, performs it, records the outcome.
 *
 * Blocking callers use record_act. Code on an event loop uses gate_begin, gets the result through a mailbox and calls
 * gate_end; the log is then written by its own thread (audit.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/spawn.h>
#include <berth/str.h>

#include "audit/audit.h"
#include "audit/gap.h"
#include "audit/seal.h"

/* What was done and is not in the log, until somebody asks.  A process has one, for what is recorded deep
 * in it is told by whoever speaks to the person. */
static struct {
	pthread_mutex_t lock;
	enum record_state state;
	struct err why;
} missing = {PTHREAD_MUTEX_INITIALIZER, RECORD_WHOLE, ERR_INIT};

enum record_state record_state(struct err *ret)
{
	enum record_state state;

	pthread_mutex_lock(&missing.lock);
	state = missing.state;
	if (state != RECORD_WHOLE)
		err_copy(ret, &missing.why);
	missing.state = RECORD_WHOLE;
	pthread_mutex_unlock(&missing.lock);
	return state;
}

static void note_missing(enum record_state state, const struct err *why)
{
	pthread_mutex_lock(&missing.lock);
	if (state > missing.state) {
		missing.state = state;
		missing.why = *why;
	}
	pthread_mutex_unlock(&missing.lock);
}

static enum audit_result result_of_error(const struct err *err)
{
	switch (err ? err->kind : ERR_NONE) {
	case ERR_NONE: return AUDIT_OK;
	case ERR_REFUSED: return AUDIT_REFUSED;
	case ERR_CANCELLED: return AUDIT_CANCELLED;
	case ERR_TIMEOUT: return AUDIT_TIMEOUT;
	default: return AUDIT_FAILED;
	}
}

/* Opened at the first operation: what only looks pays nothing. */
static int open_audit_log(struct recorder *by, struct err *e)
{
	const struct audit_options o = {
		.program = by->program, .direct = by->direct, .brief = by->direct};

	if (!by->audit)
		by->audit = audit_open(&o, e);
	return by->audit ? 0 : -1;
}

static void close_record(struct audit_record *r, enum audit_phase phase, const struct err *err)
{
	r->phase = phase;
	r->result = result_of_error(err);
	r->error = err && err->kind ? err->msg : NULL;
}

static int put_record(
	struct recorder *by, const struct audit_record *r, uint64_t *ret_seq, struct err *e)
{
	bool durable =
		r->phase == AUDIT_INTENT && operation_table[r->operation].class == OP_GUARDED;
	uint64_t seq = 0;

	if (open_audit_log(by, e) || (durable ? audit_write : audit_put)(by->audit, r, &seq, e))
		return -1;
	by->last = seq;
	if (ret_seq)
		*ret_seq = seq;
	return 0;
}

/* Where the settings prefer that it is done: true, and it is counted. */
static bool count_unrecorded(const struct recorder *by, enum operation operation)
{
	return by->policy && by->policy->unrecorded && gap_add(operation, NULL) == 0;
}

static int go_unrecorded(const struct recorder *by, enum operation operation, const struct err *why)
{
	struct err told = *why;

	if (!count_unrecorded(by, operation))
		return -1;
	err_wrap(&told, "Actions are currently not recorded in the audit log, only counted");
	note_missing(RECORD_GAP, &told);
	return 0;
}

void record_event(struct recorder *by, const struct audit_record *r, const struct err *err)
{
	struct audit_record out = *r;
	struct err why = ERR_INIT;

	close_record(&out, AUDIT_EVENT, err);
	if (put_record(by, &out, NULL, &why) && go_unrecorded(by, r->operation, &why)) {
		err_wrap(&why, "This action is not in the audit log");
		note_missing(RECORD_GAP, &why);
	}
}

static int ask_policy(const struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e)
{
	static const struct policy nothing;
	static const struct key_value none = {"", "", false}; /* "" is a known nothing */
	struct policy_act act = {.operation = r->operation,
		.endpoint = by->endpoint,
		.engine_name = by->engine_name,
		.name = r->name,
		.id = r->target ? r->target : "",
		.image = "",
		.labels = t && t->labels ? t->labels : &none,
		.nlabels = t ? t->nlabels : 0,
		.secrets = t && t->secrets};
	size_t i = 0;

	do {
		if (t && i < t->nimages)
			act.image = t->images[i];
		if (policy_check(by->policy ? by->policy : &nothing, &act, e))
			return -1;
	} while (t && ++i < t->nimages);
	return 0;
}

int record_intent(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e)
{
	struct err why = ERR_INIT;

	*rec = (struct recording){.by = by, .r = *r, .start_ns = clock_mono_ns()};
	rec->r.engine = r->engine ? r->engine : by->engine;
	rec->r.duration_us = -1;
	rec->r.phase = AUDIT_INTENT;
	if (put_record(by, &rec->r, &rec->intent, &why) == 0 ||
		go_unrecorded(by, r->operation, &why) == 0)
		return 0;
	err_wrap(&why, "nothing was done, because it could not be recorded");
	/* Not the thing that it was to be done to. */
	if (why.kind == ERR_NOT_FOUND)
		why.kind = ERR_FAILED;
	return err_copy(e, &why);
}

int record_begin_on(struct recording *rec, struct recorder *by, const struct audit_record *r,
	const struct record_target *t, struct err *e)
{
	struct audit_record refused = *r;
	struct err why = ERR_INIT;

	if (ask_policy(by, r, t, &why) == 0)
		return record_intent(rec, by, r, e);
	*rec = (struct recording){.by = by};
	refused.engine = by->engine;
	refused.duration_us = -1;
	record_event(by, &refused, &why);
	return err_copy(e, &why);
}

int record_begin(
	struct recording *rec, struct recorder *by, const struct audit_record *r, struct err *e)
{
	return record_begin_on(rec, by, r, NULL, e);
}

int record_end(struct recording *rec, const struct err *err)
{
	struct err why = ERR_INIT;

	/* Begun without a record; it is counted already. */
	if (!rec->intent)
		return 0;
	rec->r.duration_us = (clock_mono_ns() - rec->start_ns) / 1000;
	rec->r.intent = rec->intent;
	close_record(&rec->r, AUDIT_OUTCOME, err);
	if (put_record(rec->by, &rec->r, NULL, &why) == 0 ||
		go_unrecorded(rec->by, rec->r.operation, &why) == 0)
		return 0;
	err_wrap(&why, "It was done, but its outcome could not be recorded");
	note_missing(RECORD_LOST, &why);
	return -1;
}

int record_act(struct recorder *by, const struct audit_record *r, const struct record_target *t,
	record_act_fn *act, void *ctx, struct err *e)
{
	struct recording rec;
	struct err why = ERR_INIT;
	int result;

	if (record_begin_on(&rec, by, r, t, e))
		return -1;
	result = act(ctx, &rec.r, &why);
	record_end(&rec, &why);
	return result < 0 ? err_copy(e, &why) : result;
}

const char *record_agent(void)
{
	const char *agent = getenv(AUDIT_FOR_AGENT);

	return agent && *agent ? agent : NULL;
}

void record_manifest(struct audit_record *r, size_t n, const char *const *word)
{
	AUTO_STR struct str all = STR_INIT;

	for (size_t i = 0; i < n; i++)
		str_add(&all, word[i], strlen(word[i]) + 1);
	seal_hash(all.s, all.len, r->manifest);
	r->has_manifest = true;
	if (!r->items)
		r->items = n;
}

void recorder_close(struct recorder *by)
{
	audit_close(by->audit);
	by->audit = NULL;
}

/* In a child of its own session, which holds no stream of ours and no file system. */
static void become_child(void)
{
	int null;

	setsid();
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	/* Whoever waits for the end of a pipe does not wait for this. */
	close_range(3, ~0u, 0);
	if (chdir("/"))
		_exit(1);
}

static void settle_by(struct recorder *by, pid_t (*divide)(void))
{
	const struct audit_options o = {.program = by->program, .linger_ms = AUDIT_LINGER_MS};
	pid_t pid;

	if (!by->audit)
		return;
	CHECK(by->direct);
	recorder_close(by);
	pid = divide();
	if (pid > 0)
		return;
	if (pid == 0)
		become_child();
	/* Where there can be no child, it is waited for after all. */
	audit_settle(&o, by->last);
	if (pid == 0)
		_exit(0);
}

void recorder_settle(struct recorder *by)
{
	settle_by(by, fork);
}

void recorder_settle_on(struct recorder *by)
{
	settle_by(by, spawn_orphan);
}

/* ---- without waiting */

struct gate_ticket {
	struct mail mail; /* first */
	struct gate *gate;
	struct audit_record r; /* its texts in mem */
	uint64_t ticket;       /* 0: its intent is not in the log, so neither is its end */
	int64_t start_ns;
	gate_fn *go;
	void *ctx;
	struct err err;
	struct arena mem;
};

void gate_init(struct gate *g, const struct audit_options *log, const struct policy *policy,
	void (*wake)(void *ctx), void *ctx)
{
	*g = (struct gate){.by = {.program = log->program, .policy = policy}, .log = *log};
	mailbox_init(&g->answers, wake, ctx);
}

struct audit *gate_log(struct gate *g)
{
	if (!g->by.audit)
		g->by.audit = audit_start(&g->log);
	return g->by.audit;
}

void gate_note(struct gate *g, const struct audit_record *r, const struct err *err)
{
	struct audit_record out = *r;

	out.duration_us = -1;
	close_record(&out, AUDIT_EVENT, err);
	/* It has happened; that it could not be recorded audit_trouble tells. */
	audit_submit(gate_log(g), &out, 0, NULL, NULL, NULL);
}

static void keep_record(struct gate_ticket *p, const struct audit_record *r)
{
	const char **texts[] = {&p->r.agent, &p->r.session, &p->r.target_type, &p->r.engine,
		&p->r.target, &p->r.name};
	struct key_value *params = arena_array(&p->mem, r->nparams + 1, sizeof *params);

	p->r = *r;
	for (size_t i = 0; i < COUNT(texts); i++)
		*texts[i] = arena_strdup(&p->mem, *texts[i] ? *texts[i] : "");
	for (size_t i = 0; i < r->nparams; i++)
		params[i] = (struct key_value){arena_strdup(&p->mem, r->params[i].key),
			arena_strdup(&p->mem, r->params[i].value), r->params[i].secret};
	p->r.params = params;
	p->r.duration_us = -1;
	p->r.phase = AUDIT_INTENT;
}

static void free_gate_ticket(struct gate_ticket *p)
{
	arena_release(&p->mem);
	free(p);
}

/* Thread: the audit log's.  May only wake. */
static void on_recorded(void *ctx, uint64_t seq, const struct err *err)
{
	struct gate_ticket *p = ctx;

	(void)seq;
	if (err)
		p->err = *err;
	mailbox_put(&p->gate->answers, &p->mail);
}

struct gate_ticket *gate_intent(
	struct gate *g, const struct audit_record *r, gate_fn *go, void *ctx, struct err *e)
{
	struct gate_ticket *p = xcalloc(1, sizeof *p);
	struct err why = ERR_INIT;

	p->gate = g;
	p->go = go;
	p->ctx = ctx;
	arena_init(&p->mem, 512);
	keep_record(p, r);
	p->ticket = audit_submit(gate_log(g), &p->r, 0, on_recorded, p, &why);
	if (!p->ticket && count_unrecorded(&g->by, r->operation)) {
		mailbox_put(&g->answers, &p->mail);
	} else if (!p->ticket) {
		free_gate_ticket(p);
		err_wrap(&why, "Nothing was done, because it could not be recorded");
		err_copy(e, &why);
		return NULL;
	}
	g->waiting++;
	return p;
}

struct gate_ticket *gate_begin(struct gate *g, const struct audit_record *r,
	const struct record_target *t, gate_fn *go, void *ctx, struct err *e)
{
	struct err why = ERR_INIT;

	if (ask_policy(&g->by, r, t, &why) == 0)
		return gate_intent(g, r, go, ctx, e);
	gate_note(g, r, &why);
	err_copy(e, &why);
	return NULL;
}

void gate_end(struct gate_ticket *p, const struct err *err)
{
	if (!p)
		return;
	if (p->ticket) {
		p->r.duration_us = (clock_mono_ns() - p->start_ns) / 1000;
		close_record(&p->r, AUDIT_OUTCOME, err);
		audit_submit(gate_log(p->gate), &p->r, p->ticket, NULL, NULL, NULL);
	}
	free_gate_ticket(p);
}

void gate_drain(struct gate *g)
{
	struct gate_ticket *p;

	while ((p = (struct gate_ticket *)mailbox_take(&g->answers))) {
		struct err err = p->err;

		g->waiting--;
		if (err.kind)
			p->ticket = 0;
		if (err.kind && count_unrecorded(&g->by, p->r.operation))
			err = (struct err)ERR_INIT;
		if (err.kind)
			err_wrap(&err, "Nothing was done, because it could not be recorded");
		p->start_ns = clock_mono_ns();
		p->go(p->ctx, err.kind ? &err : NULL);
	}
}

void gate_close(struct gate *g)
{
	recorder_close(&g->by);
}

void gate_release(struct gate *g)
{
	/* Left open only when the thread never ran. */
	gate_close(g);
	mailbox_release(&g->answers);
}
