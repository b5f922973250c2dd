/* containers_acts.c - starts operations on containers, depending on their state. */
#include "views/containers/containers.h"

#include <stdlib.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/audit/audit.h"
#include "views/logs/logs.h"

/* Acts and the states they make sense in. */
#define IN(state) (1u << CONTAINER_##state)
static const unsigned possible[ACT_COUNT] = {
	[ACT_START] = IN(CREATED) | IN(EXITED) | IN(DEAD),
	[ACT_STOP] = IN(RUNNING) | IN(PAUSED) | IN(RESTARTING),
	[ACT_RESTART] = IN(CREATED) | IN(RUNNING) | IN(PAUSED) | IN(RESTARTING) | IN(EXITED),
	[ACT_PAUSE] = IN(RUNNING),
	[ACT_UNPAUSE] = IN(PAUSED),
	[ACT_KILL] = IN(RUNNING) | IN(PAUSED) | IN(RESTARTING),
	[ACT_REMOVE] = ~0u,
};
#undef IN

static size_t count_possible(const struct chosen *k, enum act act)
{
	size_t n = 0;

	for (size_t i = 0; i < k->n; i++)
		n += possible[act] >> k->c[i]->state & 1;
	return n;
}

/* The act an action means: the first that one of the chosen is in a state for. */
static const struct meaning {
	enum action action;
	enum act act, other;
} meanings[] = {
	{DO_START_STOP, ACT_STOP, ACT_START},
	{DO_RESTART, ACT_RESTART, ACT_NONE},
	{DO_PAUSE, ACT_PAUSE, ACT_UNPAUSE},
	{DO_KILL, ACT_KILL, ACT_NONE},
	{DO_REMOVE, ACT_REMOVE, ACT_NONE},
};

static const struct meaning *find_meaning(enum action a)
{
	for (size_t i = 0; i < COUNT(meanings); i++)
		if (meanings[i].action == a)
			return &meanings[i];
	return NULL;
}

static void say_container_impossible(struct view *v, const struct chosen *k, enum act act)
{
	char name[64];

	if (!k->n && k->hidden)
		app_say(v->app, ROLE_WARN,
			"No marked row is on the list: Esc clears the filter, u the marks.");
	else if (k->n == 1)
		app_say(v->app, ROLE_WARN, "%s is %s: there is nothing to %s.",
			text_clean(name, sizeof name, k->c[0]->name),
			container_state_name(k->c[0]->state), act_name(act));
	else if (k->n)
		app_say(v->app, ROLE_WARN, "None of these %zu is in a state to %s.", k->n,
			act_name(act));
}

bool containers_ask(struct view *v, enum action a)
{
	const struct meaning *m = find_meaning(a);
	struct chosen k;
	struct target *t;
	enum act act;
	size_t n, at = 0;

	if (!m)
		return false;
	k = containers_chosen(v);
	n = count_possible(&k, act = m->act);
	if (!n)
		n = count_possible(&k, act = m->other);
	if (!n) {
		say_container_impossible(v, &k, m->act);
		free(k.c);
		return true;
	}
	t = xcalloc(n, sizeof *t);
	for (size_t i = 0; i < k.n; i++)
		if (possible[act] >> k.c[i]->state & 1)
			t[at++] = (struct target){k.c[i]->engine, k.c[i]->id, k.c[i]->name};
	if (n < k.n)
		app_say(v->app, ROLE_DIM, "%zu of %zu are in a state to %s.", n, k.n,
			act_name(act));
	app_confirm_act(v->app, act, t, n, k.hidden);
	free(t);
	free(k.c);
	return true;
}

bool containers_refused(struct view *v, enum action a)
{
	const struct meaning *m = find_meaning(a);
	struct chosen k;
	enum act act;
	size_t asked = 0;
	bool may = false;

	if (!app_guarded(v->app))
		return false;
	if (a == DO_SHELL) /* harms nothing by itself: no rule but a host's looks at it */
		return app_may(v->app, OP_CONTAINER_SHELL, NULL, NULL) < 0;
	if (!m)
		return false;
	k = containers_chosen(v);
	act = count_possible(&k, m->act) ? m->act : m->other;
	for (size_t i = 0; i < k.n && !may; i++) {
		if (!(possible[act] >> k.c[i]->state & 1))
			continue;
		asked++;
		may = app_may(v->app, operation_of_act(act), k.c[i], NULL) == 0;
	}
	free(k.c);
	return asked && !may;
}

void containers_records(struct view *v)
{
	struct chosen k = containers_chosen(v);
	struct view *audit = app_view(v->app, "audit");

	if (k.n && audit) {
		audit_view_about(audit, k.c[0]->name, k.c[0]->id);
		app_switch(v->app, "audit");
	}
	free(k.c);
}

void containers_logs(struct view *v)
{
	struct chosen k = containers_chosen(v);
	struct view *logs = app_view(v->app, "logs");
	struct target *t = xcalloc(k.n + 1, sizeof *t);

	for (size_t i = 0; i < k.n; i++)
		t[i] = (struct target){k.c[i]->engine, k.c[i]->id, k.c[i]->name};
	if (k.n && logs) {
		logs_open(logs, t, k.n);
		app_switch(v->app, "logs");
	}
	free(t);
	free(k.c);
}
