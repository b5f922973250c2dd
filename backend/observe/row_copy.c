/* row_copy.c - copies rows into a snapshot's arena. */
#include "observe/observe.h"

#include <string.h>

#include <berth/check.h>

const char *copy_text(struct arena *a, const char *s)
{
	return s && *s ? arena_strdup(a, s) : "";
}

/* Engines that refused this often have nothing to say about a container. */
#define STATS_HOPELESS 2

static void copy_row_labels(const struct row *r, struct container *c, struct arena *a)
{
	struct key_value *to = arena_array(a, r->nlabels + 1, sizeof *to);

	for (size_t i = 0; i < r->nlabels; i++)
		to[i] = (struct key_value){
			copy_text(a, r->labels[i].key), copy_text(a, r->labels[i].value), false};
	c->labels = to;
	c->nlabels = r->nlabels;
}

static void copy_row(const struct model *m, const struct row *r, const char *engine,
	struct container *c, struct arena *a)
{
	*c = r->c;
	c->engine = engine;
	c->host = m->host ? m->host : "";
	c->lost = m->lost;
	c->id = copy_text(a, c->id);
	c->name = copy_text(a, c->name);
	c->image = copy_text(a, c->image);
	c->image_id = copy_text(a, c->image_id);
	c->command = copy_text(a, c->command);
	c->agent = copy_text(a, c->agent);
	c->session = copy_text(a, c->session);
	c->role = copy_text(a, c->role);
	c->proof = copy_text(a, c->proof);
	c->compose_project = copy_text(a, c->compose_project);
	c->ports = copy_text(a, c->ports);
	c->networks = copy_text(a, c->networks);
	c->binds = copy_text(a, c->binds);
	c->compose_service = copy_text(a, c->compose_service);
	c->problem = c->problem ? arena_strdup(a, c->problem) : NULL;
	if (m->labels)
		copy_row_labels(r, c, a);
}

static bool is_row_done(const struct row *r)
{
	return r->inspected &&
		(!row_runs(r) || r->c.stats.rates || r->stats_failed >= STATS_HOPELESS);
}

bool copy_rows(struct model *const *models, size_t n, struct snapshot *s, struct arena *a)
{
	const char *engine[HOSTS_MAX];
	size_t at[HOSTS_MAX] = {0}, all = 0;
	struct container *out;
	bool done = true;

	CHECK(n <= HOSTS_MAX);
	for (size_t i = 0; i < n; i++) {
		model_sort(models[i]);
		engine[i] = copy_text(a, models[i]->engine);
		all += models[i]->n;
	}
	out = arena_array(a, all + 1, sizeof *out);
	for (size_t k = 0; k < all; k++) {
		size_t best = n;

		for (size_t i = 0; i < n; i++)
			if (at[i] < models[i]->n &&
				(best == n ||
					row_order(models[i]->row[at[i]],
						models[best]->row[at[best]]) < 0))
				best = i;
		copy_row(models[best], models[best]->row[at[best]], engine[best], &out[k], a);
		done &= models[best]->lost || is_row_done(models[best]->row[at[best]]);
		at[best]++;
	}
	s->containers = out;
	s->ncontainers = all;
	return done;
}

void copy_engine(const struct engine_state *from, struct engine_state *to, struct arena *a)
{
	*to = *from;
	to->endpoint = copy_text(a, from->endpoint);
	to->source = copy_text(a, from->source);
	to->id = copy_text(a, from->id);
	to->name = copy_text(a, from->name);
	to->version = copy_text(a, from->version);
	to->api = copy_text(a, from->api);
	to->product = copy_text(a, from->product);
	to->os = copy_text(a, from->os);
	to->kernel = copy_text(a, from->kernel);
	to->arch = copy_text(a, from->arch);
	to->root_dir = copy_text(a, from->root_dir);
	to->storage = copy_text(a, from->storage);
	to->cgroup = copy_text(a, from->cgroup);
	to->runtimes = copy_text(a, from->runtimes);
	to->problem = from->problem ? arena_strdup(a, from->problem) : NULL;
	to->unrecorded = from->unrecorded ? arena_strdup(a, from->unrecorded) : NULL;
}

static const struct key_value *copy_pairs(const struct key_value *from, size_t n, struct arena *a)
{
	struct key_value *to = arena_array(a, n ? n : 1, sizeof *to);

	for (size_t i = 0; i < n; i++)
		to[i] = (struct key_value){
			copy_text(a, from[i].key), copy_text(a, from[i].value), from[i].secret};
	return to;
}

void copy_detail(const struct detail *from, struct detail *to, struct arena *a)
{
	struct mount_info *mounts = arena_array(a, from->nmounts + 1, sizeof *mounts);
	struct posture_item *posture = arena_array(a, from->nposture + 1, sizeof *posture);
	struct process_info *processes = arena_array(a, from->nprocesses + 1, sizeof *processes);

	*to = *from;
	to->engine = copy_text(a, from->engine);
	to->id = copy_text(a, from->id);
	to->problem = from->problem ? arena_strdup(a, from->problem) : NULL;
	to->config = copy_pairs(from->config, from->nconfig, a);
	to->env = copy_pairs(from->env, from->nenv, a);
	to->labels = copy_pairs(from->labels, from->nlabels, a);
	to->limits = copy_pairs(from->limits, from->nlimits, a);
	for (size_t i = 0; i < from->nmounts; i++) {
		mounts[i] = from->mounts[i];
		mounts[i].type = copy_text(a, mounts[i].type);
		mounts[i].source = copy_text(a, mounts[i].source);
		mounts[i].target = copy_text(a, mounts[i].target);
	}
	for (size_t i = 0; i < from->nposture; i++) {
		posture[i] = from->posture[i];
		posture[i].what = copy_text(a, posture[i].what);
	}
	for (size_t i = 0; i < from->nprocesses; i++) {
		processes[i] = from->processes[i];
		processes[i].user = copy_text(a, processes[i].user);
		processes[i].state = copy_text(a, processes[i].state);
		processes[i].command = copy_text(a, processes[i].command);
	}
	to->mounts = mounts;
	to->posture = posture;
	to->processes = processes;
}
