/* agents_acts.c - brings agents up, takes them down and recreates them from their view. */
#include "views/agents/agents.h"

#include <stdlib.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "app/app.h"

/* Acts and the states they make sense in.  What berth did not make here it does not touch. */
#define IN(state) (1u << AGENT_##state)
static const unsigned possible[AGENT_ACT_COUNT] = {
	[AGENT_BRING_UP] = IN(DOWN) | IN(STOPPED) | IN(GONE),
	[AGENT_TAKE_DOWN] = IN(UP) | IN(STOPPED) | IN(GONE),
	[AGENT_RECREATE] = IN(UP) | IN(STOPPED) | IN(GONE),
	[AGENT_RUN] = IN(UP),
};
#undef IN

static enum agent_act agent_act_of(enum action a)
{
	return a == DO_AGENT_UP       ? AGENT_BRING_UP
		: a == DO_AGENT_DOWN  ? AGENT_TAKE_DOWN
		: a == DO_AGENT_RENEW ? AGENT_RECREATE
		: a == DO_AGENT_RUN   ? AGENT_RUN
				      : AGENT_LEAVE;
}

static bool can_act(const struct agent *a, enum agent_act act)
{
	return !a->pending && possible[act] >> a->state & 1 &&
		(act == AGENT_TAKE_DOWN || act == AGENT_RUN || a->defined);
}

static void say_agent_impossible(struct view *v, const struct agents_chosen *k, enum agent_act act)
{
	const struct agent *a = k->a[0];
	char id[64], file[128];

	text_clean(id, sizeof id, a->id);
	if (k->n > 1)
		app_say(v->app, ROLE_WARN, "None of these %zu is in a state to %s.", k->n,
			agent_act_name(act));
	else if (a->pending)
		app_say(v->app, ROLE_WARN, "%s is already %s.", id, agent_act_doing(a->pending));
	else if (a->state == AGENT_STRANGER)
		app_say(v->app, ROLE_WARN,
			"A container is named %s, but berth did not create it here: it "
			"is left alone.",
			id);
	else if (!(possible[act] >> a->state & 1))
		app_say(v->app, ROLE_WARN, "%s is %s: there is nothing to %s.", id,
			agent_state_name(a->state), agent_act_name(act));
	else if (*a->file)
		app_say(v->app, ROLE_WARN, "%s no longer defines %s.",
			text_clean(file, sizeof file, a->file), id);
	else
		app_say(v->app, ROLE_WARN,
			"No team file is known that defines %s: start the console with -c FILE.",
			id);
}

bool agents_ask(struct view *v, enum action action)
{
	enum agent_act act = agent_act_of(action);
	struct agents_chosen k;
	size_t n = 0;

	if (!act)
		return false;
	k = agents_chosen(v);
	for (size_t i = 0; i < k.n; i++)
		if (can_act(k.a[i], act)) {
			const struct agent *a = k.a[i];

			k.a[i] = k.a[n];
			k.a[n++] = a;
		}
	if (!k.n && k.hidden)
		app_say(v->app, ROLE_WARN,
			"No marked row is on the list: Esc clears the filter, u the marks.");
	else if (!k.n)
		app_say(v->app, ROLE_WARN, "There is no agent on this row.");
	else if (!n)
		say_agent_impossible(v, &k, act);
	else if (n < k.n)
		app_say(v->app, ROLE_DIM, "%zu of %zu are in a state to %s.", n, k.n,
			agent_act_name(act));
	if (n && act == AGENT_RUN)
		app_prompt_run(v->app, k.a, n);
	else if (n)
		app_confirm_agents(v->app, act, k.a, n, k.hidden);
	free(k.a);
	return true;
}

bool agents_refused(struct view *v, enum action action)
{
	enum agent_act act = agent_act_of(action);
	struct agents_chosen k;
	size_t asked = 0;
	bool may = false;

	if (!app_guarded(v->app))
		return false;
	if (action == DO_SHELL)
		return app_may(v->app, OP_CONTAINER_SHELL, NULL, NULL) < 0;
	if (action == DO_OPEN_PORT)
		return app_may(v->app, OP_PORT_OPEN, NULL, NULL) < 0;
	if (!act)
		return false;
	k = agents_chosen(v);
	for (size_t i = 0; i < k.n && !may; i++) {
		if (!can_act(k.a[i], act))
			continue;
		asked++;
		may = app_may_agent(v->app, act, k.a[i], NULL) == 0;
	}
	free(k.a);
	return asked && !may;
}
