/*
 * roster.c - refreshes the agent list once a second.
 *
 * The look (agents/survey.h) blocks, so it runs on a worker thread.  What is done to agents is in
 * roster_acts.c.
 */
#include "console/roster.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "observe/observe.h"

#define LOOK_EVERY_NS (1000 * 1000000LL)

/* Looking. */

static void look_work(struct blocking_task *w)
{
	struct roster *r = w->data;

	survey_look(r->survey, &r->look);
}

/* Every agent that is up was inspected, and compared with its definition where it has one. */
static bool is_roster_done(const struct roster *r)
{
	for (size_t i = 0; i < r->shown.n; i++)
		if (r->shown.agents[i].state == AGENT_UP && r->shown.agents[i].defined &&
			!r->shown.agents[i].checked_wall_ms)
			return false;
	return r->whole;
}

static void look_done(struct blocking_task *w)
{
	struct roster *r = w->data;
	struct backend *b = r->b;

	r->looking = false;
	if (b->stopping) {
		arena_release(&r->look.mem);
		return;
	}
	if (r->look.notice[0])
		backend_notice(b, "%s", r->look.notice);
	arena_release(&r->shown.mem);
	r->shown = r->look;
	r->shown_ns = backend_now(b);
	r->whole = r->looking_whole;
	if (b->once && !is_roster_done(r))
		r->looked_ns = 0;
	if (r->shown.n || r->again || b->once)
		publish_soon(b);
}

static struct survey_seen seen_of(const struct row *row, struct arena *mem)
{
	const struct container *c = &row->c;
	struct survey_seen s = {.name = copy_text(mem, c->name),
		.id = copy_text(mem, c->id),
		.agent = copy_text(mem, c->agent),
		.session = copy_text(mem, c->session),
		.role = copy_text(mem, c->role),
		.proof = "",
		.image = copy_text(mem, c->image),
		.state = c->state,
		.inspected = row->inspected,
		.pid = c->pid};

	for (size_t i = 0; i < row->nlabels; i++)
		if (!strcmp(row->labels[i].key, "berth.proof"))
			s.proof = copy_text(mem, row->labels[i].value);
	return s;
}

static void look_at_agents(struct backend *b, bool check_now)
{
	struct roster *r = b->roster;
	struct survey_look *l = &r->look;
	struct survey_seen *seen;

	memset(l, 0, sizeof *l);
	arena_init(&l->mem, 8192);
	r->looking_whole = true;
	seen = arena_array(&l->mem, b->home->model.n + 1, sizeof *seen);
	for (size_t i = 0; i < b->home->model.n; i++)
		if (*b->home->model.row[i]->c.agent) {
			seen[l->nseen++] = seen_of(b->home->model.row[i], &l->mem);
			r->looking_whole &= b->home->model.row[i]->inspected;
		}
	l->seen = seen;
	l->engine = copy_text(&l->mem, b->home->model.engine);
	l->reachable = b->home->watch.up;
	l->check_now = check_now;
	r->looking = true;
	r->again = false;
	r->looked_ns = backend_now(b);
	r->work.data = r;
	if (!blocking_start(&b->loop, &r->work, look_work, look_done))
		return;
	/* no thread for it: it is looked again later */
	r->looking = false;
	arena_release(&r->look.mem);
}

void roster_pulse(struct backend *b)
{
	struct roster *r = b->roster;

	if (!r)
		return;
	roster_stop_acts(r, false);
	/* Before the first list every agent would look gone. */
	if (!b->home->listed || r->looking || !b->home->model.engine || !*b->home->model.engine)
		return;
	if (r->again || backend_now(b) - r->looked_ns >= LOOK_EVERY_NS)
		look_at_agents(b, r->again);
}

/* What is known of acts. */

struct told *roster_told(struct roster *r, const char *name, bool make)
{
	for (size_t i = 0; i < r->ntold; i++)
		if (!strcmp(r->told[i].name, name))
			return &r->told[i];
	if (!make || r->ntold == TOLD_MAX)
		return NULL;
	r->told[r->ntold] = (struct told){.name = xstrdup(name)};
	return &r->told[r->ntold++];
}

const struct agent *roster_shown(const struct roster *r, const char *name)
{
	for (size_t i = 0; i < r->shown.n; i++)
		if (!strcmp(r->shown.agents[i].name, name))
			return &r->shown.agents[i];
	return NULL;
}

/* Into a snapshot. */

static const struct agent_command *copy_commands(
	const struct agent_command *from, size_t n, struct arena *a)
{
	struct agent_command *to = arena_array(a, n + 1, sizeof *to);

	for (size_t i = 0; i < n; i++) {
		to[i] = from[i];
		to[i].text = copy_text(a, from[i].text);
		to[i].ended = copy_text(a, from[i].ended);
	}
	return to;
}

static void copy_agent(const struct agent *from, struct agent *to, struct arena *a)
{
	struct agent_check *checks = arena_array(a, from->nchecks + 1, sizeof *checks);
	const char **loose = arena_array(a, from->nloosened + 1, sizeof *loose);

	*to = *from;
	to->id = copy_text(a, from->id);
	to->role = copy_text(a, from->role);
	to->name = copy_text(a, from->name);
	to->session = copy_text(a, from->session);
	to->file = copy_text(a, from->file);
	to->base = copy_text(a, from->base);
	to->image = copy_text(a, from->image);
	to->workspace = copy_text(a, from->workspace);
	to->mounts_problem = from->mounts_problem ? arena_strdup(a, from->mounts_problem) : NULL;
	to->held = from->held ? arena_strdup(a, from->held) : NULL;
	to->commands = copy_commands(from->commands, from->ncommands, a);
	to->last = from->last ? copy_commands(from->last, 1, a) : NULL;
	for (size_t i = 0; i < from->nchecks; i++)
		checks[i] = (struct agent_check){copy_text(a, from->checks[i].what),
			copy_text(a, from->checks[i].asked), copy_text(a, from->checks[i].actual),
			from->checks[i].same};
	for (size_t i = 0; i < from->nloosened; i++)
		loose[i] = copy_text(a, from->loosened[i]);
	to->checks = checks;
	to->loosened = loose;
}

static int by_id(const void *a, const void *b)
{
	const struct agent *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order ? order : strcmp(x->name, y->name);
}

void roster_copy(struct backend *b, struct snapshot *s, struct arena *a)
{
	struct roster *r = b->roster;
	struct agent *out;

	if (!r)
		return;
	out = arena_array(a, r->shown.n + 1, sizeof *out);
	for (size_t i = 0; i < r->shown.n; i++) {
		const struct told *t = roster_told(r, r->shown.agents[i].name, false);

		copy_agent(&r->shown.agents[i], &out[i], a);
		if (*r->shown.ids[i])
			out[i].container = snapshot_find(s, b->home->model.engine, r->shown.ids[i]);
		if (out[i].container)
			((struct container *)(uintptr_t)out[i].container)->mounts = out[i].mounts;
		if (t) {
			out[i].pending = t->pending;
			out[i].problem = t->problem ? copy_text(a, t->problem) : NULL;
		}
	}
	mem_sort(out, r->shown.n, sizeof *out, by_id);
	s->agents = out;
	s->nagents = r->shown.n;
	s->agents_done = is_roster_done(r);
}

/* The module's interface, and its users. */

void roster_wake(void *ctx)
{
	struct roster *r = ctx;

	pthread_mutex_lock(&r->lock);
	if (r->b)
		uv_async_send(&r->b->wake);
	pthread_mutex_unlock(&r->lock);
}

void roster_leave(struct roster *r)
{
	bool last;

	pthread_mutex_lock(&r->lock);
	last = --r->users == 0;
	pthread_mutex_unlock(&r->lock);
	if (!last)
		return;
	while (mailbox_take(&r->letters))
		;
	mailbox_release(&r->letters);
	pthread_mutex_destroy(&r->lock);
	free(r->host);
	free(r->context);
	free(r);
}

void roster_open(struct backend *b, const struct backend_options *o)
{
	struct roster *r;

	if (o->once && !o->agents)
		return;
	r = b->roster = xcalloc(1, sizeof *r);
	pthread_mutex_init(&r->lock, NULL);
	r->b = b;
	r->users = 1;
	r->host = o->host ? xstrdup(o->host) : NULL;
	r->context = o->context ? xstrdup(o->context) : NULL;
	r->defaults = o->defaults;
	mailbox_init(&r->letters, roster_wake, r);
	r->survey = survey_open(&(struct survey_options){o->host, o->context, o->team});
}

/* Threads that are still at work keep the roster; what they make is on record. */
void roster_close(struct backend *b)
{
	struct roster *r = STEAL(b->roster);

	if (!r)
		return;
	pthread_mutex_lock(&r->lock);
	r->b = NULL;
	pthread_mutex_unlock(&r->lock);
	roster_stop_acts(r, true);
	for (size_t i = 0; i < r->ntold; i++) {
		free(r->told[i].name);
		free(r->told[i].problem);
	}
	survey_close(r->survey);
	arena_release(&r->shown.mem);
	roster_leave(r);
}
