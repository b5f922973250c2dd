/* acts.c - actions on containers: policy check, dialog and result. */
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>

#include "app/app_state.h"

static const struct act_words acts[ACT_COUNT] = {
	[ACT_START] = {"Start", "Started", "Starts with the configuration it was created with.",
		false},
	[ACT_STOP] = {"Stop", "Stopped",
		"SIGTERM, then SIGKILL after the container's grace period.\nNothing is removed.",
		false},
	[ACT_RESTART] = {"Restart", "Restarted",
		"Stops with its grace period, then starts again.\nFiles are kept; what "
		"is in memory is lost.",
		false},
	[ACT_PAUSE] = {"Pause", "Paused",
		"Processes are frozen where they are; memory stays in use.", false},
	[ACT_UNPAUSE] = {"Unpause", "Unpaused", "Processes continue where they were.", false},
	[ACT_KILL] = {"Kill", "Killed",
		"SIGKILL immediately: no time to save anything.\n"
		"The container and its files are kept.",
		true},
	[ACT_REMOVE] = {"Remove", "Removed",
		"Deletes the container and its writable layer.\nThis cannot be "
		"undone.\nKept: images, volumes, networks, bind mounts.",
		true},
};

/* A name that every keyboard can type; else the beginning of the id. */
static char *typable_name(struct arena *mem, const struct target *t)
{
	const char *p = t->name;

	while (*p > 0x20 && *p < 0x7F)
		p++;
	if (*p || p == t->name || p - t->name > 40)
		return arena_printf(mem, "%.12s", t->id);
	return arena_strdup(mem, t->name);
}

static size_t count_running(struct app *a, const struct command *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->ntargets; i++) {
		const struct container *k =
			snapshot_find(a->live, c->targets[i].engine, c->targets[i].id);

		n += k && container_is_up(k->state);
	}
	return n;
}

/* What a row says of its labels. */
static size_t known_labels(const struct container *c, struct key_value labels[5])
{
	const struct key_value all[5] = {{"berth.agent", c->agent, false},
		{"berth.session", c->session, false}, {"berth.role", c->role, false},
		{"com.docker.compose.project", c->compose_project, false},
		{"com.docker.compose.service", c->compose_service, false}};
	size_t n = 0;

	for (size_t i = 0; i < COUNT(all); i++)
		if (*all[i].value)
			labels[n++] = all[i];
	return n;
}

bool app_guarded(struct app *a)
{
	const struct policy_protected *keep = &a->policy.keep;

	return keep->names.n || keep->labels.n || keep->images.n || a->policy.nhosts;
}

int app_may(struct app *a, enum operation operation, const struct container *c, struct err *e)
{
	const struct engine_state *eng = c ? snapshot_engine(a->live, c->engine) : &a->live->engine;
	struct policy_act act = {.operation = operation,
		.endpoint = eng->endpoint,
		.engine_name = eng->name,
		.guess = true};
	struct key_value labels[5];

	if (c) {
		act.name = c->name;
		act.id = c->id;
		act.image = c->image;
		act.labels = labels;
		act.nlabels = known_labels(c, labels);
	}
	return policy_check(&a->policy, &act, e);
}

bool app_greyed(struct app *a, enum action act)
{
	struct view *v = &app_top(a)->view;

	if (!(action_info[act].flags & ACTION_CHANGES))
		return false;
	if (app_read_only(a))
		return true;
	if (act == DO_IMPORT)
		return app_may(a, OP_IMAGE_IMPORT, NULL, NULL) < 0;
	return v->ops->refused && v->ops->refused(v, act);
}

static struct listed choose_targets(
	struct app *a, struct command *c, const struct target *targets, size_t n)
{
	struct listed l = {.item = arena_array(&c->mem, n, sizeof *l.item)};
	const char **kept = arena_array(&c->mem, n, sizeof *kept);

	for (size_t i = 0; i < n; i++) {
		const struct target *t = &targets[i];
		const struct container *k = snapshot_find(a->live, t->engine, t->id);
		struct err why = ERR_INIT;

		if (app_may(a, operation_of_act(c->act.what), k, &why) < 0) {
			kept[l.kept++] = arena_strdup(&c->mem, why.msg);
			continue;
		}
		/* The ids are those seen now; the dialog's answer cannot come to mean others. */
		command_target(c, t->engine, t->id, t->name);
		l.item[l.n++] = arena_printf(&c->mem, "%.80s  %.12s  %s%s%s", t->name, t->id,
			k ? container_state_name(k->state) : "gone", k && *k->host ? "  on " : "",
			k ? k->host : "");
	}
	memcpy(l.item + l.n, kept, l.kept * sizeof *kept);
	l.n += l.kept;
	return l;
}

static const char *effect_of_act(struct command *c, size_t running)
{
	const char *text = acts[c->act.what].effect;

	if (c->act.what == ACT_REMOVE && running)
		text = arena_printf(&c->mem, "%zu still running, killed first.\n%s", running, text);
	return text;
}

const char *acts_hidden(struct arena *mem, size_t n)
{
	return n ? arena_printf(mem, " (not %zu marked but hidden)", n) : "";
}

const char *acts_where(struct arena *mem, const struct engine_state *eng, const char *host)
{
	return arena_printf(mem, "on %.60s (%.20s %.20s, %.80s)",
		*host                  ? host
			: eng->name[0] ? eng->name
				       : eng->source,
		eng->product, eng->version, eng->endpoint);
}

/* Of one engine what it is; of several that they are several, for each target says its own. */
static const char *tell_where(struct app *a, struct command *c)
{
	const struct engine_state *eng = snapshot_engine(a->live, c->targets[0].engine);
	const struct container *k = snapshot_find(a->live, c->targets[0].engine, c->targets[0].id);

	for (size_t i = 1; i < c->ntargets; i++)
		if (strcmp(c->targets[i].engine, c->targets[0].engine) != 0)
			return "on several hosts: see each";
	return acts_where(&c->mem, eng, k ? k->host : "");
}

void acts_ask(struct app *a, struct command *c, const struct dialog_ask *ask)
{
	command_free(a->asked);
	a->asked = c;
	dialog_open(&a->dialog, ask, clock_mono_ns());
	a->asking = ASK_ACT;
	a->dirty = true;
}

bool acts_all_kept(struct app *a, struct command *c, const struct listed *l, size_t n)
{
	if (l->kept < n)
		return false;
	if (n == 1)
		app_say(a, ROLE_WARN, "%s", l->item[0]);
	else
		app_say(a, ROLE_WARN, "All %zu are protected. %s", n, l->item[0]);
	command_free(c);
	return true;
}

void acts_ask_listed(struct app *a, struct command *c, const struct listed *l,
	const struct act_words *w, struct dialog_ask *ask, const char *name)
{
	size_t n = c->ntargets;

	ask->verb = w->verb;
	ask->danger = w->danger;
	if (l->kept)
		ask->effect = arena_printf(&c->mem, "%zu protected, left as %s: see above.\n%s",
			l->kept, l->kept == 1 ? "it is" : "they are", ask->effect);
	ask->items = l->item;
	ask->nitems = l->n;
	if (n >= (size_t)a->settings->confirm_threshold || (w->danger && n > 1))
		ask->word = arena_printf(&c->mem, "%zu", n);
	else if (w->danger)
		ask->word = name;
	acts_ask(a, c, ask);
}

static void ask_act(struct app *a, struct command *c, const struct listed *l, size_t hidden)
{
	const struct act_words *w = &acts[c->act.what];
	size_t n = c->ntargets, running = count_running(a, c);
	struct dialog_ask ask = {.where = tell_where(a, c), .effect = effect_of_act(c, running)};

	c->act.force = c->act.what == ACT_REMOVE && running > 0;
	ask.title = arena_printf(&c->mem, "%s %zu container%s%s", w->verb, n, n == 1 ? "" : "s",
		acts_hidden(&c->mem, hidden));
	acts_ask_listed(a, c, l, w, &ask, typable_name(&c->mem, &c->targets[0]));
}

void app_confirm_act(
	struct app *a, enum act act, const struct target *targets, size_t n, size_t hidden)
{
	struct command *c;
	struct listed l;

	if (n == 0 || act == ACT_NONE)
		return;
	if (app_read_only(a)) {
		app_say(a, ROLE_WARN, "Read-only: nothing is %s.", acts[act].done);
		return;
	}
	c = command_new(CMD_ACT);
	c->act.what = act;
	l = choose_targets(a, c, targets, n);
	if (!acts_all_kept(a, c, &l, n))
		ask_act(a, c, &l, hidden);
}

void acts_result(struct app *a, const struct event *e)
{
	if (e->id && e->id == a->save_id) {
		a->save_id = 0;
		if (!e->err.kind) {
			app_say(a, ROLE_GOOD, "Saved to %s.", a->save_path);
			return;
		}
	}
	if (e->err.kind) {
		app_say(a, ROLE_BAD, "%s", e->err.msg);
	} else if (e->act && e->act < ACT_COUNT && e->failed) {
		app_say(a, ROLE_BAD, "%s %zu, %zu failed: see the rows.", acts[e->act].done,
			e->done, e->failed);
	} else if (e->act && e->act < ACT_COUNT) {
		app_say(a, ROLE_GOOD, "%s %zu container%s.", acts[e->act].done, e->done,
			e->done == 1 ? "" : "s");
	}
	agents_result(a, e);
}
