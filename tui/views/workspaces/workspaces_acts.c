/* workspaces_acts.c - runs berth commands on workspaces, each as a child process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "views/workspaces/workspaces.h"

#define LABEL_NAME \
	16 /* of a name in a prompt: what is typed has to be seen on narrow screens too */

char *workspace_path(char buf[WORKSPACE_PATH_MAX], enum workspace_kind kind, const char *name)
{
	snprintf(buf, WORKSPACE_PATH_MAX, "%s/%s", workspace_kind_folder(kind), name);
	return buf;
}

/* No other word is an option, whatever was typed. */
static bool is_own_option(const char *verb, const char *word)
{
	if (!strcmp(verb, "limit"))
		return !strncmp(word, "--bytes=", 8) || !strncmp(word, "--files=", 8);
	return !strcmp(verb, "unarchive") && !strncmp(word, "--as=", 5);
}

/* Where its verb lives. */
static const char *program_of_verb(const char *verb)
{
	static const char *const packing[] = {
		"archive", "unarchive", "clean", "diff", "overlap", "remove", "verify"};

	for (size_t i = 0; i < COUNT(packing); i++)
		if (!strcmp(verb, packing[i]))
			return "berth-image";
	return "berth-files";
}

/* argv of a command, and its title; names may begin with a dash. */
static const char **describe_run(const char *const *words, struct str *title)
{
	const char **argv;
	size_t n = 0, at = 0, options;

	while (words[n])
		n++;
	argv = xcalloc(n + 4, sizeof *argv);
	argv[at++] = program_of_verb(words[0]);
	argv[at++] = "workspace";
	argv[at++] = words[0];
	while (at - 2 < n && is_own_option(words[0], words[at - 2])) {
		argv[at] = words[at - 2];
		at++;
	}
	options = at - 3;
	argv[at++] = "--";
	for (size_t i = 0; i < n; i++) {
		str_addf(title, "%s%s", i ? " " : "", words[i]);
		if (i > options)
			argv[at++] = words[i];
	}
	return argv;
}

void workspace_run(struct view *v, bool page, const char *const *words)
{
	AUTO_STR struct str title = STR_INIT;
	AUTO_FREE const char **argv = describe_run(words, &title);

	app_run_task(v, &(struct app_task){title.s, argv, page});
}

void workspace_confirm(struct view *v, const struct dialog_ask *ask, const char *const *words)
{
	AUTO_STR struct str title = STR_INIT;
	AUTO_FREE const char **argv = describe_run(words, &title);

	app_confirm_task(v, ask, &(struct app_task){title.s, argv, false});
}

void workspace_ask_archive(struct view *v, const char *path, const char *name)
{
	AUTO_FREE char *title = xasprintf("Archive %s", path);

	workspace_confirm(v,
		&(struct dialog_ask){.title = title,
			.where = "on this machine",
			.effect =
				"It is compressed into archives/, checked, and removed; its checkpoints stay.  "
				"`berth workspace unarchive` brings it back.",
			.verb = "Archive",
			.word = name,
			.danger = true},
		(const char *const[]){"archive", path, NULL});
}

void workspace_ask_unarchive(struct view *v, const char *path, const char *name, const char *as)
{
	AUTO_FREE char *title = xasprintf("Unarchive %s", path);
	AUTO_FREE char *effect = xasprintf(
		"It is checked and becomes the workspace %s; then the archive is removed.",
		as ? as : name);
	AUTO_FREE char *option = as ? xasprintf("--as=%s", as) : NULL;

	workspace_confirm(v,
		&(struct dialog_ask){.title = title,
			.where = "on this machine",
			.effect = effect,
			.verb = "Unarchive"},
		(const char *const[]){
			"unarchive", option ? option : path, option ? path : NULL, NULL});
}

/* One is confirmed by its name, several by their number.  A workspace is saved before; an archive cannot be. */
void workspace_ask_remove(struct view *v, const char *const *path, size_t n, size_t hidden)
{
	AUTO_FREE char *title = n == 1 ? xasprintf("Remove %s", path[0])
				       : xasprintf("Remove %zu workspaces and archives", n);
	AUTO_FREE char *number = xasprintf("%zu", n), *effect = NULL;
	const char **words = xcalloc(n + 2, sizeof *words);
	bool archives = false;

	for (size_t i = 0; i < n; i++)
		archives |= !strncmp(path[i], "archives/", 9);
	effect = xasprintf("%s%s", hidden ? "Marked ones that the filter hides stay.\n" : "",
		archives ? "This cannot be undone.  Checkpoints stay."
			 : "A checkpoint is made first;\nthen you are shown how to undo it.");
	words[0] = archives ? "clean" : "remove";
	memcpy(words + 1, path, n * sizeof *path);
	workspace_confirm(v,
		&(struct dialog_ask){.title = title,
			.where = archives ? "on this machine, for good:" : "on this machine:",
			.effect = effect,
			.nitems = n,
			.items = path,
			.verb = "Remove",
			.word = n == 1 ? strrchr(path[0], '/') + 1 : number,
			.danger = true},
		words);
	free(words);
}

/* "2G", or "2G 20000": bytes, and how many files. */
void workspace_set_limit(struct view *v, const char *path, const char *typed)
{
	AUTO_FREE char *text = xstrdup(typed), *bytes = NULL, *files = NULL;
	char *rest = NULL, *first = strtok_r(text, " ", &rest),
	     *second = strtok_r(NULL, " ", &rest);

	if (!first)
		return;
	bytes = xasprintf("--bytes=%s", first);
	files = second ? xasprintf("--files=%s", second) : NULL;
	workspace_run(v, false,
		(const char *const[]){
			"limit", bytes, files ? files : path, files ? path : NULL, NULL});
}

char *workspace_label(const char *before, const char *name, const char *after)
{
	bool cut = strlen(name) > LABEL_NAME;

	return xasprintf("%s%.*s%s%s", before, LABEL_NAME - cut, name, cut ? "\u2026" : "", after);
}

void workspace_ask_checkpoint(struct view *v, const char *name)
{
	AUTO_FREE char *label = workspace_label("checkpoint ", name, " as");

	app_ask(v->app, label, "", "its name; empty: the time");
}

void workspace_make_checkpoint(struct view *v, const char *path, const char *typed)
{
	const char *words[] = {"checkpoint", path, *typed ? typed : NULL, NULL};

	app_say(v->app, ROLE_TEXT, "Saving what %s holds\u2026", path);
	workspace_run(v, false, words);
}
