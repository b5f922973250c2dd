/*
 * gate.c - the one gate: policy says yes, the intent is on disk, then it is done, then the outcome.
 *
 * The audit log has a thread of its own (audit/audit.h); its answers come through a mailbox and are
 * taken here, on the loop.  Deeds that are not GUARDED do not wait for theirs.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

struct answer {
	struct mail mail; /* first */
	struct backend *b;
	gate_fn *go;
	void *ctx;
	struct err err;
};

static void wake(void *ctx)
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
	mailbox_init(&g->answers, wake, b);
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

static const char *known(const char *s)
{
	return s ? s : "";
}

static void describe(const struct deed_in_hand *d, struct audit_record *r)
{
	*r = (struct audit_record){.deed = d->deed,
		.target_type = d->target_type,
		.engine = d->engine,
		.target = d->id,
		.name = d->name,
		.agent = d->row ? known(d->row->c.agent) : d->agent,
		.session = d->row ? known(d->row->c.session) : d->session,
		.params = d->params,
		.nparams = d->nparams,
		.duration_us = -1};
}

static enum audit_result result_of(const struct err *err)
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

	describe(d, &r);
	r.phase = phase;
	r.result = result_of(err);
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
		.image = row ? known(row->c.image) : "",
		.labels = row ? row->labels : (const struct key_value[]){{"", "", false}},
		.nlabels = row ? row->nlabels : 0};
	struct err why = ERR_INIT;

	if (policy_check(&b->gate.policy, &act, &why) == 0)
		return 0;
	submit_end(b, d, AUDIT_EVENT, 0, 0, &why);
	return err_copy(e, &why);
}

/* Thread: the audit log's.  May only wake. */
static void on_durable(void *ctx, uint64_t seq, const struct err *err)
{
	struct answer *a = ctx;

	(void)seq;
	if (err)
		a->err = *err;
	mailbox_put(&a->b->gate.answers, &a->mail);
}

int gate_intent(struct backend *b, const struct deed_in_hand *d, uint64_t *ret_ticket, gate_fn *go,
	void *ctx, struct err *e)
{
	bool waits = deed_table[d->deed].class == DEED_GUARDED;
	struct answer *a = waits ? xcalloc(1, sizeof *a) : NULL;
	struct audit_record r;

	describe(d, &r);
	r.phase = AUDIT_INTENT;
	if (a)
		*a = (struct answer){.b = b, .go = go, .ctx = ctx};
	*ret_ticket = audit_submit(log_of(b), &r, 0, a ? on_durable : NULL, a, e);
	if (!*ret_ticket) {
		free(a);
		return err_wrap(e, "%s was not done, for it could not be recorded", known(d->name));
	}
	b->gate.waiting += waits;
	return waits ? 0 : 1;
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
		if (a->err.kind)
			err_wrap(&a->err, "Nothing was done, for it could not be recorded");
		a->go(a->ctx, a->err.kind ? &a->err : NULL);
		free(a);
	}
}

void gate_pulse(struct backend *b)
{
	struct err why;

	if (!b->gate.audit)
		return;
	if (!audit_trouble(b->gate.audit, &why)) {
		b->gate.in_trouble = false;
	} else if (!b->gate.in_trouble) {
		b->gate.in_trouble = true;
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
