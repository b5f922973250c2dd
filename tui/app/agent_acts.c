/* agent_acts.c - actions on agents: policy check and dialog. */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app_state.h"

static const struct act_words acts[AGENT_ACT_COUNT] = {
	[AGENT_BRING_UP] = {"Bring up", "Brought up",
		"Creates and starts a container as the team file says;\nmounts are "
		"checked before anything runs in it.",
		false},
	[AGENT_TAKE_DOWN] = {"Take down", "Took down",
		"Ends its session: removes the container and its /tmp.\nKept: the "
		"workspace, the home volume with its packages.",
		true},
	[AGENT_RECREATE] = {"Recreate", "Recreated",
		"Removes the container, then recreates it from the team file.\nKept: "
		"the workspace, the home volume with its packages.",
		true},
	[AGENT_RUN] = {"Run", "Ran the command in", "", false},
};

int app_may_agent(struct app *a, enum agent_act act, const struct agent *agent, struct err *e)
{
	const struct engine_state *eng = &a->live->engine;
	const struct key_value label = {"berth.agent", agent->id, false};
	const struct policy_act may = {.operation = act == AGENT_BRING_UP ? OP_AGENT_UP
			: act == AGENT_RUN                                ? OP_CONTAINER_EXEC
									  : OP_AGENT_DOWN,
		.endpoint = eng->endpoint,
		.engine_name = eng->name,
		.name = agent->name,
		.id = agent->container ? agent->container->id : NULL,
		.image = agent->image,
		.labels = &label,
		.nlabels = 1,
		.guess = true};

	return policy_check(&a->policy, &may, e);
}

static struct listed choose_agents(
	struct app *a, struct command *c, const struct agent *const *agents, size_t n)
{
	struct listed l = {.item = arena_array(&c->mem, n, sizeof *l.item)};
	const char **kept = arena_array(&c->mem, n, sizeof *kept);

	for (size_t i = 0; i < n; i++) {
		const struct agent *g = agents[i];
		struct err why = ERR_INIT;

		if (app_may_agent(a, c->agents.what, g, &why) < 0) {
			kept[l.kept++] = arena_strdup(&c->mem, why.msg);
			continue;
		}
		/* Found again by its container's name, which is what up and down go by. */
		command_target(
			c, a->live->engine.id, g->container ? g->container->id : "", g->name);
		l.item[l.n++] = arena_printf(&c->mem, "%.48s  %.64s  %s%s", g->id,
			c->agents.what == AGENT_BRING_UP ? g->image : g->name,
			agent_state_name(g->state),
			g->nrunning ? arena_printf(&c->mem, ", runs %zu", g->nrunning) : "");
		l.running += g->nrunning;
	}
	memcpy(l.item + l.n, kept, l.kept * sizeof *kept);
	l.n += l.kept;
	return l;
}

static const char *effect_of_agent_act(struct command *c, const struct listed *l)
{
	const char *text = acts[c->agents.what].effect;

	if (acts[c->agents.what].danger && l->running)
		text = arena_printf(&c->mem, "%zu command%s still running, killed first.\n%s",
			l->running, l->running == 1 ? " is" : "s are", text);
	return text;
}

static void ask_agent_act(
	struct app *a, struct command *c, const struct listed *l, const char *id, size_t hidden)
{
	const struct act_words *w = &acts[c->agents.what];
	const char *more = acts_hidden(&c->mem, hidden);
	struct dialog_ask ask = {.where = acts_where(&c->mem, &a->live->engine, ""),
		.effect = effect_of_agent_act(c, l)};

	ask.title = c->ntargets == 1
		? arena_printf(&c->mem, "%s %.60s%s", w->verb, id, more)
		: arena_printf(&c->mem, "%s %zu agents%s", w->verb, c->ntargets, more);
	acts_ask_listed(a, c, l, w, &ask, id);
}

void app_confirm_agents(struct app *a, enum agent_act act, const struct agent *const *agents,
	size_t n, size_t hidden)
{
	struct command *c = command_new(CMD_AGENTS);
	const char *id = "";
	struct listed l;

	c->agents.what = act;
	l = choose_agents(a, c, agents, n);
	if (acts_all_kept(a, c, &l, n))
		return;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(agents[i]->name, c->targets[0].name))
			id = arena_strdup(&c->mem, agents[i]->id);
	ask_agent_act(a, c, &l, id, hidden);
}

void app_prompt_run(struct app *a, const struct agent *const *agents, size_t n)
{
	struct command *c = command_new(CMD_AGENTS);
	char id[64];

	c->agents.what = AGENT_RUN;
	/* Those seen now, whatever the cursor does while one types. */
	for (size_t i = 0; i < n; i++)
		command_target(c, a->live->engine.id, "", agents[i]->name);
	if (n == 1)
		snprintf(a->prompt_label, sizeof a->prompt_label,
			" run in %s: ", text_clean(id, sizeof id, agents[0]->id));
	else
		snprintf(a->prompt_label, sizeof a->prompt_label, " run in %zu agents: ", n);
	command_free(a->prompted);
	a->prompted = c;
	prompt_open(&a->prompt, NULL, &a->runs);
	a->prompting = PROMPT_RUN;
	a->prompt_problem[0] = '\0';
}

void agents_run_prompt(struct app *a, enum prompt_end end)
{
	static const char *const shell[] = {"sh", "-c"};
	AUTO_FREE char *name = NULL;
	struct command *c;

	if (end != PROMPT_CANCELLED && end != PROMPT_DONE)
		return;
	a->prompting = PROMPT_OFF;
	c = STEAL(a->prompted);
	if (end == PROMPT_CANCELLED || !a->prompt.len) {
		command_free(c);
		return;
	}
	c->agents.argv = arena_array(&c->mem, 3, sizeof *c->agents.argv);
	memcpy(c->agents.argv, shell, sizeof shell);
	c->agents.argv[2] = arena_strdup(&c->mem, a->prompt.text);
	c->agents.argc = 3;
	name = c->ntargets == 1 ? xstrdup(c->targets[0].name) : NULL;
	app_send(a, c);
	app_say(a, ROLE_TEXT, "Running; `o` shows what it prints.");
	if (name && app_top(a)->view.ops->ran)
		app_top(a)->view.ops->ran(&app_top(a)->view, name);
}

void agents_result(struct app *a, const struct event *e)
{
	char id[64];

	if (e->err.kind || !e->agent_act)
		return;
	if (e->done == 1)
		app_say(a, ROLE_GOOD, "%s %s.", acts[e->agent_act].done,
			text_clean(id, sizeof id, e->target.name));
	else
		app_say(a, ROLE_GOOD, "%s %zu agents.", acts[e->agent_act].done, e->done);
}
