/* recording.c - checks the policy and writes audit records for the console. */
#include "console/core.h"

#define PROBE_S 5 /* how often it is looked whether the log can be written */

static void wake_gate(void *ctx)
{
	struct backend *b = ctx;

	uv_async_send(&b->wake);
}

void recording_init(struct backend *b, const struct backend_options *o)
{
	static const struct policy open;
	struct recording_state *s = &b->recording;
	const struct audit_options log = {.program = b->program,
		.keep_ms = o->audit_keep_ms,
		.keep_bytes = o->audit_keep_bytes};

	arena_init(&s->mem, 0);
	policy_copy(&s->policy, o->policy ? o->policy : &open, &s->mem);
	if (o->read_only)
		s->policy.read_only = true;
	b->home->state.read_only = s->policy.read_only;
	s->watches = o->audit_watch;
	gate_init(&s->gate, &log, &s->policy, wake_gate, b);
}

struct gate *gate_of(struct site *at)
{
	struct gate *g = &at->b->recording.gate;

	g->by.endpoint = at->state.endpoint;
	g->by.engine_name = at->state.name;
	return g;
}

struct audit_record record_of_container(struct site *at, enum operation operation,
	const struct target *c, struct record_target *ret)
{
	const struct row *row = model_find(&at->model, c->id);

	*ret = (struct record_target){0};
	if (row)
		*ret = (struct record_target){.images = &row->c.image,
			.nimages = 1,
			.labels = row->labels,
			.nlabels = row->nlabels};
	return (struct audit_record){.operation = operation,
		.target_type = "container",
		.engine = c->engine,
		.target = c->id,
		.name = c->name,
		.agent = row ? row->c.agent : NULL,
		.session = row ? row->c.session : NULL};
}

int recording_may_read(struct backend *b, struct err *e)
{
	const struct recording_state *s = &b->recording;

	if (!s->trouble.kind || s->policy.unrecorded)
		return 0;
	err_copy(e, &s->trouble);
	return err_wrap(e, "Nothing was read, because it could not be recorded");
}

void recording_pulse(struct backend *b)
{
	struct recording_state *s = &b->recording;
	struct audit *log = s->gate.by.audit;
	struct err why = ERR_INIT;

	/* Of the other recorders of this process. */
	if (record_state(&why) != RECORD_WHOLE)
		backend_notice(b, "%s", why.msg);
	if (!log && !s->watches)
		return;
	if (!log || backend_now(b) >= s->probe_ns) {
		audit_probe(gate_log(&s->gate));
		s->probe_ns = backend_now(b) + (int64_t)PROBE_S * 1000000000;
		return;
	}
	if (!audit_trouble(log, &why)) {
		if (s->trouble.kind)
			backend_notice(b, "Actions are being recorded again.");
		s->trouble.kind = ERR_NONE;
		b->home->state.unrecorded = NULL;
	} else if (!s->trouble.kind) {
		s->trouble = why;
		b->home->state.unrecorded = s->trouble.msg;
		backend_notice(b, "Actions cannot be recorded now. %s", why.msg);
	}
}

void recording_release(struct backend *b)
{
	gate_release(&b->recording.gate);
	arena_release(&b->recording.mem);
}
