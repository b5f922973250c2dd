/* planner.c - opens an engine for clean-up and makes plans. */
#include "clean/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <berth/clock.h>
#include <berth/mem.h>

struct clean_host *clean_open(const struct clean_options *o, struct err *e)
{
	struct clean_host *h = xcalloc(1, sizeof *h);
	const struct engine_session_options how = {.host = o->host,
		.context = o->context,
		.program = o->program,
		.policy = o->policy,
		.audit = o->audit,
		.stop = o->stop,
		.ctx = o->stop_ctx,
		.unasked = o->unasked};

	if (engine_session_open(&h->at, &how, e)) {
		free(h);
		return NULL;
	}
	if (o->name) {
		h->name = arena_strdup(&h->at.mem, o->name);
		h->at.recorder.engine = arena_printf(&h->at.mem, "@%s/%s", o->name, h->at.info.id);
	}
	pthread_mutex_init(&h->lock, NULL);
	return h;
}

void clean_close(struct clean_host *h)
{
	if (!h)
		return;
	engine_session_close(&h->at);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

void clean_interrupt(struct clean_host *h)
{
	pthread_mutex_lock(&h->lock);
	h->interrupted = true;
	sync_interrupt(h->at.engine);
	for (size_t i = 0; i < COUNT(h->worker); i++)
		if (h->worker[i])
			sync_interrupt(h->worker[i]);
	pthread_mutex_unlock(&h->lock);
}

static struct clean_plan *head_plan(const struct clean_host *h, bool foreign, struct arena *mem)
{
	struct clean_plan *p = arena_alloc(mem, sizeof *p);
	uint32_t number = 0;

	if (getrandom(&number, sizeof number, 0) != sizeof number)
		number = (uint32_t)clock_mono_ns();
	*p = (struct clean_plan){.name = arena_printf(mem, "%08x", number),
		.engine = arena_strdup(mem, h->at.info.id),
		.engine_name = arena_strdup(mem, h->at.info.name),
		.endpoint = arena_strdup(mem, h->at.endpoint.url),
		.made_ms = clock_wall_ms(),
		.foreign = foreign};
	return p;
}

/* Docker does since 23.0; podman, with lower numbers, does not.  Who says no number is taken to. */
static bool does_label_anonymous(const char *version)
{
	unsigned long major = version ? strtoul(version, NULL, 10) : 0;

	return major == 0 || major >= 23;
}

int host_refuse_claim(const struct clean_host *h, struct err *e)
{
	char other[512];

	if (!h->name || !session_at_other(h->at.info.id, h->at.endpoint.url, other))
		return 0;
	return err_set(e, ERR_CONFLICT,
		"It has the id of the engine at %.200s, where agents were brought up: left out.",
		other);
}

struct clean_plan *host_plan(struct clean_host *h, struct engine_sync *en, bool foreign, bool sizes,
	struct arena *mem, struct err *e)
{
	struct world w = {.engine = h->at.info.id,
		.labels_anonymous = does_label_anonymous(h->at.info.version)};
	struct clean_plan *p;
	bool making;

	/* Files are looked at before the engine's list, for a container that comes in between has
	 * them too; sessions after it, for by then what the list has is either recorded or being made. */
	if (host_refuse_claim(h, e) || world_sessions(&w, mem, e))
		return NULL;
	/* Only by the engine that is meant here: what another one says of itself must not make files of this machine
	 * leftovers. */
	if (!h->name)
		world_files(&w, mem);
	making = w.making;
	if (world_look(en, foreign, sizes, &w, mem, e) || world_sessions(&w, mem, e))
		return NULL;
	w.making |= making;
	w.now_ms = clock_wall_ms();
	for (size_t i = 0; i < w.nvolumes; i++)
		if (rules_own_volume(&w, &w.volume[i]))
			w.volume[i].used_ms = home_used_ms(w.volume[i].name);
	p = head_plan(h, foreign, mem);
	rules_plan(&w, &h->at.policy, p, mem);
	return p;
}

struct clean_plan *clean_plan_make(
	struct clean_host *h, bool foreign, bool sizes, struct arena *mem, struct err *e)
{
	return host_plan(h, h->at.engine, foreign, sizes, mem, e);
}

struct clean_plan *host_choose(struct clean_host *h, struct engine_sync *en, enum clean_type type,
	const char *const *id, size_t n, bool sizes, struct arena *mem, struct err *e)
{
	struct world w = {.engine = h->at.info.id};
	struct clean_plan *p;

	if (world_type(en, type, sizes, &w, mem, e) || world_sessions(&w, mem, e))
		return NULL;
	p = head_plan(h, false, mem);
	rules_choose(&w, &h->at.policy, p, type, id, n, mem);
	return p;
}

struct clean_plan *clean_plan_choose(struct clean_host *h, enum clean_type type,
	const char *const *id, size_t n, bool sizes, struct arena *mem, struct err *e)
{
	return host_choose(h, h->at.engine, type, id, n, sizes, mem, e);
}

int clean_orphans(struct clean_host *h)
{
	struct world w = {.engine = h->at.info.id};
	struct clean_plan p = {.engine = h->at.info.id,
		.engine_name = h->at.info.name,
		.endpoint = h->at.endpoint.url};
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);
	int n = -1;

	if (!world_containers(h->at.engine, &w, &mem, NULL) && !world_sessions(&w, &mem, NULL)) {
		rules_plan(&w, NULL, &p, &mem);
		n = (int)clean_totals(&p).orphans;
	}
	return n;
}
