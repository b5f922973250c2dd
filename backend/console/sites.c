/*
 * sites.c - keeps the list of engines: their names, and the state of each.
 *
 * The first is the one that was named by -H, --context or the environment, as everywhere; the others are hosts of the
 * settings and contexts.  One that cannot be opened stands there with the reason, and costs the others nothing.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

/* Is one of them this engine? */
static bool has_endpoint(const struct backend *b, const struct endpoint *ep)
{
	for (size_t i = 0; i < b->nsites; i++)
		if (b->site[i].endpoint.url && !strcmp(b->site[i].endpoint.url, ep->url))
			return true;
	return false;
}

static bool has_name(const struct backend_options *o, const char *name)
{
	for (size_t i = 0; i < o->nhosts; i++)
		if (!strcmp(o->hosts[i].name, name))
			return true;
	return false;
}

static int choose_host(const struct host_spec *h, struct endpoint *ret, struct err *e)
{
	const struct endpoint_options eo = {.host = h->endpoint,
		.context = h->endpoint ? NULL : h->context,
		.source = "hosts in berth.yaml"};

	return endpoint_choose(&eo, ret, e);
}

/* Nobody named an engine, and none is here: the first of the hosts is as good. */
static bool is_nowhere(const struct backend_options *o, const struct endpoint *ep)
{
	return o->nhosts && !o->host && !o->context && endpoint_is_nowhere(ep);
}

static char *host_prefix(const struct host_spec *h)
{
	return xasprintf(SITE_PREFIX "%s/", h->name);
}

static int choose_home(struct site *at, const struct backend_options *o, struct err *e)
{
	const struct endpoint_options eo = {.host = o->host, .context = o->context};

	if (endpoint_choose(&eo, &at->endpoint, e) < 0)
		return -1;
	if (!is_nowhere(o, &at->endpoint))
		return 0;
	/* It stands in for the one that is not here, and must not be taken for it: it could say that it is that one. */
	endpoint_release(&at->endpoint);
	free(at->prefix);
	at->prefix = host_prefix(&o->hosts[0]);
	return choose_host(&o->hosts[0], &at->endpoint, e);
}

/* It says why it cannot be reached for as long as it stands there. */
static void keep_problem(struct site *at, const struct err *why)
{
	at->problem_text = xstrdup(why->msg);
	at->state.problem = at->problem_text;
	at->watch.ended = true;
}

static void add_host(struct backend *b, const struct host_spec *h)
{
	struct site *at = &b->site[b->nsites];
	struct err why = ERR_INIT;

	if (choose_host(h, &at->endpoint, &why) < 0) {
		keep_problem(at, &why);
	} else if (!strcmp(at->endpoint.url, b->home->endpoint.url) && !b->home->name) {
		b->home->name = xstrdup(h->name);
		b->home->read_only = h->read_only;
	}
	if (!why.kind && has_endpoint(b, &at->endpoint)) {
		endpoint_release(&at->endpoint);
		return;
	}
	at->name = xstrdup(h->name);
	at->prefix = host_prefix(h);
	at->read_only = h->read_only;
	b->nsites++;
}

/* What the first is called where nobody gave it a name: by where it is. */
static void name_home(struct site *at, const struct backend_options *o)
{
	const char *name = endpoint_name(&at->endpoint);

	if (!at->name)
		at->name = xstrdup(has_name(o, name) ? at->endpoint.url : name);
}

int sites_choose(struct backend *b, const struct backend_options *o, struct err *e)
{
	b->site = b->home = xcalloc(o->nhosts + 1, sizeof *b->site);
	b->nsites = 1;
	b->home->prefix = xstrdup("");
	if (choose_home(b->home, o, e) < 0)
		return -1;
	for (size_t i = 0; i < o->nhosts && b->nsites < HOSTS_MAX; i++)
		add_host(b, &o->hosts[i]);
	b->many = o->together || b->nsites > 1;
	if (b->many) {
		name_home(b->home, o);
	} else {
		free(b->home->name);
		b->home->name = NULL;
	}
	return 0;
}

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

static void set_up_site(struct backend *b, struct site *at)
{
	struct engine_state *s = &at->state;

	at->b = b;
	at->images = at->networks = at->volumes = -1;
	at->watch.latency_us = -1;
	s->since_ns = backend_now(b);
	s->endpoint = text_or_empty(at->endpoint.url);
	s->source = text_or_empty(at->endpoint.source);
	/* As its rows are called before it has said who it is: else they would be taken for the first one's. */
	s->id = at->prefix;
	s->name = s->version = s->api = s->product = "";
	s->os = s->kernel = s->arch = s->root_dir = "";
	s->storage = s->cgroup = s->runtimes = "";
	arena_init(&at->state_mem, 0);
	model_init(&at->model);
	at->model.labels = b->labels;
	model_name(&at->model, at->prefix);
	timer_init(b, &at->watch.retry, at);
	timer_init(b, &at->watch.opening, at);
	timer_init(b, &at->stats.young, at);
}

/* What containers use is read here of those engines that may be on this machine: an id and a process's number that
 * another one names could be those of a container here. */
static void set_up_sweep(struct backend *b)
{
	struct err e = ERR_INIT;
	size_t budget;

	CHECK(b->nsites > 0);
	budget = sweep_raise_fds() / b->nsites;

	/* Without this nothing is local, which the engine's own figures make up for. */
	if (cgroup_mounts_read(&b->home->sweep.mounts, "", &e) < 0)
		backend_notice(b, "%s", e.msg);
	for (size_t i = 0; i < b->nsites; i++) {
		struct sweep *s = &b->site[i].sweep;

		s->mounts = b->home->sweep.mounts;
		s->fd_budget = budget;
		s->elsewhere =
			*b->site[i].prefix && b->site[i].endpoint.transport != TRANSPORT_UNIX;
	}
}

void sites_set_up(struct backend *b)
{
	for (size_t i = 0; i < b->nsites; i++)
		set_up_site(b, &b->site[i]);
	set_up_sweep(b);
}

int sites_open(struct backend *b, struct err *e)
{
	for (size_t i = 0; i < b->nsites; i++) {
		struct site *at = &b->site[i];
		struct err why = ERR_INIT;

		if (!at->watch.ended)
			at->engine = engine_open(&b->loop, &at->endpoint, &why);
		if (at->engine)
			continue;
		if (i == 0)
			return err_copy(e, &why);
		if (!at->watch.ended)
			keep_problem(at, &why);
		b->nclosed++;
	}
	return 0;
}

void sites_free(struct backend *b)
{
	cgroup_mounts_release(&b->home->sweep.mounts);
	for (size_t i = 0; i < b->nsites; i++) {
		struct site *at = &b->site[i];

		model_release(&at->model);
		endpoint_release(&at->endpoint);
		arena_release(&at->state_mem);
		free(at->problem_text);
		free(at->name);
		free(at->prefix);
	}
	free(b->site);
}
