/* many.c - clean-up over several hosts: each with a plan of its own, made and carried out on a thread of its own. */
#include <stdlib.h>
#include <string.h>

#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "clean/planner.h"
#include "job/board.h"

/* What all of them share. */
struct together {
	const struct clean_options *o;
	bool foreign;
	const struct clean_run *how;
	struct board *board;
	pthread_mutex_t lock; /* `changed` is called by one at a time */
};

struct part {
	struct together *all;
	struct clean_site *s;
	pthread_t thread;
	bool apart;
};

static void run_parts(struct clean_site *s, size_t n, struct together *all, void *(*run)(void *))
{
	struct part *part = xcalloc(n + 1, sizeof *part);

	for (size_t i = 0; i < n; i++) {
		part[i] = (struct part){.all = all, .s = &s[i]};
		part[i].apart = spawn_thread(&part[i].thread, run, &part[i]) == 0;
	}
	for (size_t i = 0; i < n; i++)
		if (!part[i].apart)
			run(&part[i]);
	for (size_t i = 0; i < n; i++)
		if (part[i].apart)
			pthread_join(part[i].thread, NULL);
	free(part);
}

static void *open_part(void *ctx)
{
	struct part *part = ctx;
	struct clean_site *s = part->s;
	struct clean_options o = *part->all->o;

	if (s->err.kind)
		return NULL;
	o.host = s->host;
	o.context = s->context;
	o.name = s->prefixed ? s->name : NULL;
	o.unasked = true;
	s->h = clean_open(&o, &s->err);
	if (s->h && !s->plan)
		s->plan = clean_plan_make(s->h, part->all->foreign, true, &s->mem, &s->err);
	return NULL;
}

/* By two names, or a machine that was copied, or one that lies: what is recorded of the first is not true of the other. */
static void refuse_same_engines(struct clean_site *s, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = 0; k < i && !s[i].err.kind; k++)
			if (s[i].h && s[k].h && !strcmp(s[i].h->at.info.id, s[k].h->at.info.id)) {
				err_set(&s[i].err, ERR_CONFLICT,
					"It is the same engine as %.64s, or a copy of its machine: left out.",
					s[k].name);
				s[i].plan = NULL;
			}
}

void clean_open_sites(struct clean_site *s, size_t n, const struct clean_options *o, bool foreign)
{
	struct together all = {.o = o, .foreign = foreign};

	run_parts(s, n, &all, open_part);
	refuse_same_engines(s, n);
}

static bool is_part_cancelled(void *ctx)
{
	const struct part *part = ctx;

	return part->all->how->cancelled && part->all->how->cancelled(part->all->how->ctx);
}

static void on_part_changed(void *ctx, size_t i, const struct clean_outcome *outcome)
{
	const struct part *part = ctx;

	pthread_mutex_lock(&part->all->lock);
	part->all->how->changed(part->s, i, outcome);
	pthread_mutex_unlock(&part->all->lock);
}

static void *carry_out_part(void *ctx)
{
	struct part *part = ctx;
	struct clean_site *s = part->s;
	struct clean_run how = *part->all->how;

	if (!s->h || !s->plan || s->err.kind || !clean_totals(s->plan).marked)
		return NULL;
	how.board = part->all->board;
	how.cancelled = is_part_cancelled;
	how.changed = how.changed ? on_part_changed : NULL;
	how.ctx = part;
	s->outcome = arena_array(&s->mem, s->plan->n + 1, sizeof *s->outcome);
	clean_carry_out(s->h, s->plan, &how, s->outcome, &s->sum, &s->err);
	return NULL;
}

void clean_run_sites(
	struct clean_site *s, size_t n, const char *program, const struct clean_run *how)
{
	struct together all = {.how = how, .board = how->board};
	struct board *own = how->board ? NULL : board_open(program, NULL);

	if (own)
		all.board = own;
	pthread_mutex_init(&all.lock, NULL);
	run_parts(s, n, &all, carry_out_part);
	pthread_mutex_destroy(&all.lock);
	board_close(own);
}

void clean_close_sites(struct clean_site *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		clean_close(s[i].h);
		arena_release(&s[i].mem);
	}
}
