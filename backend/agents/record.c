/* record.c - asking and recording. */
#include "agents/record.h"

#include <berth/clock.h>
#include <berth/policy.h>

#include "audit/audit.h"

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

/* Opened at the first deed: what only looks pays nothing. */
static int open_log(struct agents_host *h, struct err *e)
{
	const struct audit_options o = {.program = h->program};

	if (!h->audit)
		h->audit = audit_open(&o, e);
	return h->audit ? 0 : err_wrap(e, "nothing was done, for it could not be recorded");
}

void record_event(struct agents_host *h, const struct audit_record *r, const struct err *err)
{
	struct audit_record out = *r;

	out.phase = AUDIT_EVENT;
	out.result = result_of(err);
	out.error = err && err->kind ? err->msg : NULL;
	if (!open_log(h, NULL))
		audit_submit(h->audit, &out, 0, NULL, NULL, NULL);
}

int record_begin(
	struct recording *rec, struct agents_host *h, const struct audit_record *r, struct err *e)
{
	const struct policy_act act = {.deed = r->deed,
		.endpoint = h->endpoint.url,
		.engine_name = h->info.name,
		.name = r->name,
		.id = r->target ? r->target : "",
		.image = "",
		.labels = (const struct key_value[]){{"", "", false}}};
	struct err why = ERR_INIT;

	*rec = (struct recording){.h = h, .r = *r, .start_ns = clock_mono_ns()};
	rec->r.engine = h->info.id;
	rec->r.duration_us = -1;
	if (policy_check(&h->policy, &act, &why)) {
		record_event(h, &rec->r, &why);
		return err_copy(e, &why);
	}
	rec->r.phase = AUDIT_INTENT;
	if (open_log(h, e))
		return -1;
	return audit_write(h->audit, &rec->r, &rec->intent, e)
		? err_wrap(e, "nothing was done, for it could not be recorded")
		: 0;
}

void record_end(struct recording *rec, const struct err *err)
{
	rec->r.phase = AUDIT_OUTCOME;
	rec->r.intent = rec->intent;
	rec->r.result = result_of(err);
	rec->r.error = err && err->kind ? err->msg : NULL;
	rec->r.duration_us = (clock_mono_ns() - rec->start_ns) / 1000;
	audit_submit(rec->h->audit, &rec->r, 0, NULL, NULL, NULL);
}
