/* custom_acts.c - commands of the person's own (settings, `commands`): their keys, the dialog before them, running them. */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>

#include "app/app_state.h"

#define IN_CUSTOM (IN_CONTAINERS | IN_AGENTS)

void custom_open(struct app *a)
{
	char key[KEY_TEXT_MAX];

	for (size_t i = 0; i < a->settings->ncommands; i++) {
		const struct custom_command *k = &a->settings->commands[i];
		struct err e = ERR_INIT;
		enum action taken;
		struct key *to = &a->custom_key[i];

		if (!k->key)
			continue;
		if (key_parse(k->key, strlen(k->key), to, &e) < 0) {
			app_say(a, ROLE_WARN, "commands: %s: %s", k->name, e.msg);
			*to = (struct key){0};
			continue;
		}
		taken = keymap_find(&a->keys, *to, IN_CUSTOM);
		for (size_t j = 0; j < i && !taken; j++)
			if (key_same(a->custom_key[j], *to))
				taken = DO_COUNT;
		if (!taken)
			continue;
		app_say(a, ROLE_WARN, "commands: %s: the key %s is %s's; `:%s` runs it.", k->name,
			key_format(key, *to),
			taken < DO_COUNT ? action_info[taken].name : "another command", k->name);
		*to = (struct key){0};
	}
}

static const char *typable_or_id(const struct container *c)
{
	const char *p = c->name;

	while (*p > 0x20 && *p < 0x7F)
		p++;
	return *p || !*c->name ? c->id : c->name;
}

/* What is asked is about the line as it stands: nothing of the row is put into it. */
static void ask_custom(struct app *a, const struct custom_command *k, const struct container *c,
	const struct app_task *t)
{
	const char *line = k->run ? k->run : k->exec;
	AUTO_FREE char *title = xasprintf("Run %s for %s", k->name, c->name);
	struct dialog_ask ask = {.title = title,
		.where = k->run ? "on this machine, as you, by sh" : "in the container, by sh",
		.effect = k->run
			? "The row's fields are in its environment: BERTH_NAME, BERTH_ID ..."
			: "As with `berth exec`.",
		.items = &line,
		.nitems = 1,
		.verb = "Run",
		.word = k->confirm == CUSTOM_WANTS_NAME ? typable_or_id(c) : NULL,
		.danger = k->confirm == CUSTOM_WANTS_NAME};

	app_confirm_task(&app_top(a)->view, &ask, t);
}

void custom_run(struct app *a, size_t i)
{
	const struct custom_command *k = &a->settings->commands[i];
	struct view *v = &app_top(a)->view;
	const struct container *c = v->ops->row ? v->ops->row(v) : NULL;
	const char *argv[10];
	AUTO_FREE char *title = NULL;
	struct app_task t = {.argv = argv, .page = true};
	int n = 0;

	if (app_read_only(a)) {
		app_say(a, ROLE_WARN, "Read-only: `%s` is not run.", k->name);
		return;
	}
	if (!c) {
		app_say(a, ROLE_DIM, "%s is for the container of a row.", k->name);
		return;
	}
	argv[n++] = "berth-core";
	argv[n++] = "-H";
	argv[n++] = snapshot_engine(a->live, c->engine)->endpoint;
	if (a->settings->source.file) {
		argv[n++] = "--settings";
		argv[n++] = a->settings->source.file;
	}
	argv[n++] = "custom";
	argv[n++] = k->name;
	argv[n++] = c->id;
	argv[n] = NULL;
	t.title = title = xasprintf("%s %s", k->name, c->name);
	if (k->confirm == CUSTOM_ASKS_NOT)
		app_run_task(v, &t);
	else
		ask_custom(a, k, c, &t);
}

char *app_custom_key(struct app *a, size_t i, char *buf)
{
	buf[0] = '\0';
	return a->custom_key[i].code ? key_format(buf, a->custom_key[i]) : buf;
}

bool custom_key(struct app *a, struct key key)
{
	if (!app_top(a)->view.ops->row)
		return false;
	for (size_t i = 0; i < a->settings->ncommands; i++)
		if (a->custom_key[i].code && key_same(a->custom_key[i], key)) {
			custom_run(a, i);
			return true;
		}
	return false;
}

void custom_offer(struct app *a)
{
	for (size_t i = 0; app_top(a)->view.ops->row && i < a->settings->ncommands; i++) {
		const struct custom_command *k = &a->settings->commands[i];
		struct palette_item it = {
			.kind = PALETTE_CUSTOM, .custom = i, .greyed = app_read_only(a)};

		snprintf(it.name, sizeof it.name, "%s", k->name);
		snprintf(it.help, sizeof it.help, "%s",
			k->help          ? k->help
				: k->run ? k->run
					 : k->exec);
		app_custom_key(a, i, it.key);
		palette_add(&a->palette, it);
	}
}
