/*
 * gate.c - the one gate: policy says yes, the intent is on disk, then it is done, then the outcome.
 *
 * The audit log has a thread of its own (audit/audit.h); its answers come through a mailbox and are
 * taken here, on the loop.  Deeds that are not GUARDED do not wait for theirs.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/record.h>

#include "audit/gap.h"

#define PROBE_S 5 /* how often it is looked whether the log can be written */

struct answer {
	struct mail mail; /* first */
	struct backend *b;
	enum deed deed;
	gate_fn *go;
	void *ctx;
	struct err err;
};

static void wake_gate(void *ctx)
{
	struct backend *b = ctx;

	uv_async_send(&b->wake);
}

void gate_init(struct backend *b, const struct backend_options *o)
{
	static const struct policy open;
	struct gate *g = &b->gate;

	arena_init(&g->mem, 0);
	policy_copy(&g->policy, o->policy ? o->policy : &open, &g->mem);
	g->keep_ms = o->audit_keep_ms;
	g->keep_bytes = o->audit_keep_bytes;
	if (o->read_only)
		g->policy.read_only = true;
	b->state.read_only = g->policy.read_only;
	g->watches = o->audit_watch;
	mailbox_init(&g->answers, wake_gate, b);
}

/* Opened by its own thread, and only by those who do something. */
static struct audit *log_of(struct backend *b)
{
	if (!b->gate.audit)
		b->gate.audit = audit_start(&(struct audit_options){.program = b->program,
			.keep_ms = b->gate.keep_ms,
			.keep_bytes = b->gate.keep_bytes});
	return b->gate.audit;
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static void describe_deed(const struct deed_in_hand *d, struct audit_record *r)
{
	*r = (struct audit_record){.deed = d->deed,
		.target_type = d->target_type,
		.engine = d->engine,
		.target = d->id,
		.name = d->name,
		.agent = d->row ? text_or_empty(d->row->c.agent) : d->agent,
		.session = d->row ? text_or_empty(d->row->c.session) : d->session,
		.params = d->params,
		.nparams = d->nparams,
		.duration_us = -1};
}

static enum audit_result audit_result_of(const struct err *err)
{
	switch (err ? err->kind : ERR_NONE) {
	case ERR_NONE: return AUDIT_OK;
	case ERR_REFUSED: return AUDIT_REFUSED;
	case ERR_CANCELLED: return AUDIT_CANCELLED;
	case ERR_TIMEOUT: return AUDIT_TIMEOUT;
	default: return AUDIT_FAILED;
	}
}

static void submit_end(struct backend *b, const struct deed_in_hand *d, enum audit_phase phase,
	uint64_t ticket, int64_t begun_ns, const struct err *err)
{
	struct audit_record r;

	describe_deed(d, &r);
	r.phase = phase;
	r.result = audit_result_of(err);
	r.error = err ? err->msg : NULL;
	if (begun_ns)
		r.duration_us = (backend_now(b) - begun_ns) / 1000;
	/* It has happened; that it could not be recorded is told by gate_pulse. */
	audit_submit(log_of(b), &r, ticket, NULL, NULL, NULL);
}

int gate_ask(struct backend *b, const struct deed_in_hand *d, struct err *e)
{
	const struct row *row = d->row;
	const struct policy_act act = {.deed = d->deed,
		.endpoint = b->state.endpoint,
		.engine_name = b->state.name,
		.name = d->name,
		.id = d->id,
		.image = row ? text_or_empty(row->c.image) : "",
		.labels = row ? row->labels : (const struct key_value[]){{"", "", false}},
		.nlabels = row ? row->nlabels : 0};
	struct err why = ERR_INIT;

	if (policy_check(&b->gate.policy, &act, &why) == 0)
		return 0;
	submit_end(b, d, AUDIT_EVENT, 0, 0, &why);
	return err_copy(e, &why);
}

/* Thread: the audit log's.  May only wake. */
static void on_recorded(void *ctx, uint64_t seq, const struct err *err)
{
	struct answer *a = ctx;

	(void)seq;
	if (err)
		a->err = *err;
	mailbox_put(&a->b->gate.answers, &a->mail);
}

/* What is done without a record where the settings say so is counted, and told at the next pulse. */
static bool count_unrecorded(struct backend *b, enum deed deed)
{
	return b->gate.policy.unrecorded && gap_add(deed, NULL) == 0;
}

int gate_intent(struct backend *b, const struct deed_in_hand *d, uint64_t *ret_ticket, gate_fn *go,
	void *ctx, struct err *e)
{
	struct answer *a = xcalloc(1, sizeof *a);
	struct audit_record r;
	struct err why = ERR_INIT;

	describe_deed(d, &r);
	r.phase = AUDIT_INTENT;
	*a = (struct answer){.b = b, .deed = d->deed, .go = go, .ctx = ctx};
	*ret_ticket = audit_submit(log_of(b), &r, 0, on_recorded, a, &why);
	if (!*ret_ticket && count_unrecorded(b, d->deed)) {
		mailbox_put(&b->gate.answers, &a->mail);
	} else if (!*ret_ticket) {
		free(a);
		err_wrap(&why, "%s was not done, for it could not be recorded",
			text_or_empty(d->name));
		return err_copy(e, &why);
	}
	b->gate.waiting++;
	return 0;
}

void gate_outcome(struct backend *b, const struct deed_in_hand *d, uint64_t ticket,
	int64_t begun_ns, const struct err *err)
{
	submit_end(b, d, AUDIT_OUTCOME, ticket, begun_ns, err);
}

void gate_note(struct backend *b, const struct deed_in_hand *d, const struct err *err)
{
	submit_end(b, d, AUDIT_EVENT, 0, 0, err);
}

void gate_drain(struct backend *b)
{
	struct answer *a;

	while ((a = (struct answer *)mailbox_take(&b->gate.answers))) {
		b->gate.waiting--;
		if (a->err.kind && count_unrecorded(b, a->deed))
			a->err = (struct err)ERR_INIT;
		if (a->err.kind)
			err_wrap(&a->err, "Nothing was done, for it could not be recorded");
		a->go(a->ctx, a->err.kind ? &a->err : NULL);
		free(a);
	}
}

int gate_may_read(struct backend *b, struct err *e)
{
	if (!b->gate.trouble.kind || b->gate.policy.unrecorded)
		return 0;
	err_copy(e, &b->gate.trouble);
	return err_wrap(e, "Nothing was read, for it could not be recorded");
}

void gate_pulse(struct backend *b)
{
	struct err why = ERR_INIT;

	/* Of the other recorders of this process. */
	if (record_state(&why) != RECORD_WHOLE)
		backend_notice(b, "%s", why.msg);
	if (!b->gate.audit && !b->gate.watches)
		return;
	if (!b->gate.audit || backend_now(b) >= b->gate.probe_ns) {
		audit_probe(log_of(b));
		b->gate.probe_ns = backend_now(b) + (int64_t)PROBE_S * 1000000000;
		return;
	}
	if (!audit_trouble(b->gate.audit, &why)) {
		if (b->gate.trouble.kind)
			backend_notice(b, "What is done now is recorded again.");
		b->gate.trouble.kind = ERR_NONE;
		b->state.unrecorded = NULL;
	} else if (!b->gate.trouble.kind) {
		b->gate.trouble = why;
		b->state.unrecorded = b->gate.trouble.msg;
		backend_notice(b, "What is done now cannot be recorded. %s", why.msg);
	}
}

void gate_close(struct backend *b)
{
	audit_close(b->gate.audit);
	b->gate.audit = NULL;
}

void gate_release(struct backend *b)
{
	/* Left open only when the thread never ran. */
	gate_close(b);
	mailbox_release(&b->gate.answers);
	arena_release(&b->gate.mem);
}
