/* engine_session.c - opens and closes a session with one engine, with its policy and its recorder. */
#include "engine_session/engine_session.h"

#include <berth/runtime.h>

int engine_session_open(
	struct engine_session *o, const struct engine_session_options *how, struct err *e)
{
	static const struct policy nothing;
	const struct endpoint_options where = {.host = how->host, .context = how->context};
	const struct endpoint_reach reach = {
		!how->unasked && runtime_may_ask(), how->stop, how->ctx};

	*o = (struct engine_session){.borrowed = how->audit != NULL};
	arena_init(&o->mem, 512);
	policy_copy(&o->policy, how->policy ? how->policy : &nothing, &o->mem);
	if (endpoint_choose(&where, &o->endpoint, e) == 0 &&
		endpoint_reach(&o->endpoint, &reach, e) == 0)
		o->engine = sync_open(&o->endpoint, e);
	if (o->engine && how->stop)
		sync_heed(o->engine, how->stop, how->ctx);
	if (!o->engine || sync_hello(o->engine, &o->info, e)) {
		engine_session_close(o);
		return -1;
	}
	o->recorder = (struct recorder){.program = arena_strdup(&o->mem, how->program),
		.policy = &o->policy,
		.endpoint = o->endpoint.url,
		.engine_name = o->info.name,
		.engine = o->info.id,
		.audit = how->audit};
	return 0;
}

void engine_session_close(struct engine_session *o)
{
	sync_close(o->engine);
	if (!o->borrowed)
		recorder_close(&o->recorder);
	arena_release(&o->mem);
	endpoint_release(&o->endpoint);
	*o = (struct engine_session){0};
}
