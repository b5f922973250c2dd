/* actions.c - performs the app's own actions: prompts, palette, save, copy, themes, quitting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app_state.h"

/* Filter and search */

static bool tell_filter(struct app *a, const char *text, bool done)
{
	struct view *v = &app_top(a)->view;
	struct err e = ERR_INIT;
	bool good = v->ops->filter(v, text, done, &e);

	snprintf(a->prompt_problem, sizeof a->prompt_problem, "%s", good ? "" : e.msg);
	return good;
}

void action_filter_off(struct app *a)
{
	struct slot *s = app_top(a);

	free(s->filter);
	s->filter = NULL;
	if (s->view.ops->filter)
		tell_filter(a, NULL, true);
	a->prompt_problem[0] = '\0';
}

static void open_filter(struct app *a)
{
	struct slot *s = app_top(a);

	if (!s->view.ops->filter) {
		app_say(a, ROLE_DIM, "Nothing to filter in this view.");
		return;
	}
	prompt_open(&a->prompt, s->filter, &a->filters);
	prompt_select(&a->prompt);
	a->prompting = PROMPT_FILTER;
	a->prompt_problem[0] = '\0';
}

static void filter_prompt(struct app *a, enum prompt_end end)
{
	struct slot *s = app_top(a);

	if (end == PROMPT_CANCELLED) {
		a->prompting = PROMPT_OFF;
		action_filter_off(a);
		return;
	}
	if (end == PROMPT_STAYS)
		return;
	if (!tell_filter(a, a->prompt.text, end == PROMPT_DONE) || end != PROMPT_DONE)
		return;
	a->prompting = PROMPT_OFF;
	free(s->filter);
	s->filter = a->prompt.len ? xstrdup(a->prompt.text) : NULL;
}

/* Save and copy */

static void open_save(struct app *a)
{
	struct view *v = &app_top(a)->view;
	time_t t = (time_t)(clock_wall_ms() / 1000);
	char name[128], stamp[32];
	struct tm tm;

	if (!v->ops->save) {
		app_say(a, ROLE_DIM, "Nothing to save in this view.");
		return;
	}
	localtime_r(&t, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
	snprintf(name, sizeof name, "berth-%s-%s.txt", v->ops->name, stamp);
	prompt_open(&a->prompt, name, &a->files);
	a->prompting = PROMPT_SAVE;
	a->prompt_problem[0] = '\0';
}

static void save_view(struct app *a)
{
	struct view *v = &app_top(a)->view;
	AUTO_FREE char *path = complete_path(a->prompt.text);
	AUTO_STR struct str out = STR_INIT;
	struct command *c;
	char *bytes;

	if (!v->ops->save(v, &out)) {
		app_say(a, ROLE_DIM, "Nothing to save here.");
		return;
	}
	c = command_new(CMD_SAVE);
	c->save.path = arena_strdup(&c->mem, path);
	bytes = arena_alloc(&c->mem, out.len + 1);
	memcpy(bytes, out.s, out.len);
	c->save.bytes = bytes;
	c->save.n = out.len;
	snprintf(a->save_path, sizeof a->save_path, "%s", path);
	a->save_id = app_send(a, c);
}

static void save_prompt(struct app *a, enum prompt_end end)
{
	if (end == PROMPT_CANCELLED || end == PROMPT_DONE)
		a->prompting = PROMPT_OFF;
	if (end == PROMPT_DONE && a->prompt.len)
		save_view(a);
}

/* Images */

static bool may_import(struct app *a)
{
	struct err e = ERR_INIT;

	if (app_may(a, OP_IMAGE_IMPORT, NULL, &e) == 0)
		return true;
	app_say(a, ROLE_WARN, "%s", e.msg);
	return false;
}

/* "FILE NAME"; the file may have blanks in its name, an image cannot. */
static void import_tar(struct app *a, const char *words)
{
	AUTO_FREE char *typed = xstrdup(words + strspn(words, " ")), *path = NULL;
	size_t n = strlen(typed);
	struct command *c;
	char *name;

	while (n && typed[n - 1] == ' ')
		typed[--n] = '\0';
	name = strrchr(typed, ' ');
	if (!name) {
		app_say(a, ROLE_WARN,
			"An import needs a tar file and a name for the image: import FILE NAME.");
		return;
	}
	*name++ = '\0';
	for (n = strlen(typed); n && typed[n - 1] == ' ';)
		typed[--n] = '\0';
	path = complete_path(typed);
	c = command_new(CMD_IMAGE_IMPORT);
	c->import.path = arena_strdup(&c->mem, path);
	c->import.reference = arena_strdup(&c->mem, name);
	app_send(a, c);
	app_say(a, ROLE_TEXT, "Importing %s as %s: see Jobs.", typed, name);
}

static void open_import(struct app *a)
{
	if (!may_import(a))
		return;
	prompt_open(&a->prompt, NULL, &a->files);
	a->prompting = PROMPT_IMPORT;
	a->prompt_problem[0] = '\0';
}

static void import_prompt(struct app *a, enum prompt_end end)
{
	if (end == PROMPT_CANCELLED || end == PROMPT_DONE)
		a->prompting = PROMPT_OFF;
	if (end == PROMPT_DONE && a->prompt.len)
		import_tar(a, a->prompt.text);
}

void app_ask_file(struct app *a, const char *what)
{
	snprintf(a->prompt_label, sizeof a->prompt_label, " %s: ", what);
	prompt_open(&a->prompt, NULL, &a->files);
	a->prompting = PROMPT_FILE;
	a->prompt_problem[0] = '\0';
}

static void file_prompt(struct app *a, enum prompt_end end)
{
	AUTO_FREE char *path = NULL;
	struct view *v = &app_top(a)->view;

	if (end == PROMPT_CANCELLED || end == PROMPT_DONE)
		a->prompting = PROMPT_OFF;
	if (end != PROMPT_DONE || !a->prompt.len || !v->ops->file)
		return;
	path = complete_path(a->prompt.text);
	v->ops->file(v, path);
}

void app_ask(struct app *a, const char *label, const char *text, const char *hint)
{
	snprintf(a->prompt_label, sizeof a->prompt_label, " %s: ", label);
	snprintf(a->prompt_was, sizeof a->prompt_was, "%s", text);
	a->prompt_hint = hint;
	prompt_open(&a->prompt, text, &a->filters);
	prompt_select(&a->prompt);
	a->prompting = PROMPT_VIEW;
	a->prompt_problem[0] = '\0';
}

static void view_prompt(struct app *a, enum prompt_end end)
{
	struct view *v = &app_top(a)->view;
	const char *text = end == PROMPT_CANCELLED ? a->prompt_was : a->prompt.text;
	struct err e = ERR_INIT;

	if (end == PROMPT_STAYS || !v->ops->typed)
		return;
	a->prompt_problem[0] = '\0';
	if (!v->ops->typed(v, text, end == PROMPT_DONE, &e))
		snprintf(a->prompt_problem, sizeof a->prompt_problem, "%s", e.msg);
	else if (end != PROMPT_EDITED)
		a->prompting = PROMPT_OFF;
}

void action_prompt(struct app *a, enum prompt_end end)
{
	if (a->prompting == PROMPT_FILTER)
		filter_prompt(a, end);
	else if (a->prompting == PROMPT_SAVE)
		save_prompt(a, end);
	else if (a->prompting == PROMPT_IMPORT)
		import_prompt(a, end);
	else if (a->prompting == PROMPT_RUN)
		agents_run_prompt(a, end);
	else if (a->prompting == PROMPT_FILE)
		file_prompt(a, end);
	else if (a->prompting == PROMPT_TASK)
		tasks_prompt(a, end);
	else if (a->prompting == PROMPT_VIEW)
		view_prompt(a, end);
}

/* What is copied is pasted, often into a shell, and comes from containers: lines without control characters, and no end of
 * the last one, with which a shell would run it. */
static void neutralise_lines(struct str *out, const char *s, size_t n)
{
	while (n && strchr("\r\n", s[n - 1]))
		n--;
	for (const char *end = s + n, *nl; s <= end && n; s = nl + 1) {
		nl = memchr(s, '\n', (size_t)(end - s));
		text_neutralise(out, s, (size_t)((nl ? nl : end) - s), false);
		if (!nl)
			return;
		str_addc(out, '\n');
	}
}

static void copy_view(struct app *a)
{
	struct view *v = &app_top(a)->view;
	AUTO_STR struct str raw = STR_INIT, out = STR_INIT;
	size_t lines = 1;
	char shown[48];

	if (v->ops->copy && v->ops->copy(v, &raw))
		neutralise_lines(&out, raw.s, raw.len);
	if (out.len == 0) {
		app_say(a, ROLE_DIM, "Nothing to copy here.");
		return;
	}
	if (out.len > SCREEN_COPY_MAX) {
		app_say(a, ROLE_WARN,
			"Too much to copy (%zu bytes, terminals take %d): save it instead.",
			out.len, SCREEN_COPY_MAX);
		return;
	}
	if (a->screen)
		screen_copy(a->screen, out.s, out.len);
	for (size_t i = 0; i + 1 < out.len; i++)
		lines += out.s[i] == '\n';
	if (lines > 1)
		app_say(a, ROLE_TEXT, "Copied: %zu lines.", lines);
	else
		app_say(a, ROLE_TEXT, "Copied: %s%s", text_clean(shown, sizeof shown, out.s),
			out.len >= sizeof shown ? "\u2026" : "");
}

/* Themes */

int action_theme(struct app *a, const char *name, struct err *e)
{
	if (theme_load(name, &a->theme, e) < 0)
		return -1;
	a->themed = true;
	if (a->screen)
		screen_redraw(a->screen);
	app_say(a, ROLE_TEXT, "Theme %s: %s.", a->theme.name, a->theme.about);
	return 0;
}

static void next_theme(struct app *a)
{
	char name[32], first[32];
	struct err e = ERR_INIT;
	size_t i = 0;

	while (theme_name(i, name) && strcmp(name, a->theme.name) != 0)
		i++;
	if (!theme_name(i + 1, name)) {
		theme_name(0, first);
		memcpy(name, first, sizeof name);
	}
	if (action_theme(a, name, &e) < 0)
		app_say(a, ROLE_BAD, "%s", e.msg);
}

/* Quitting */

void action_quit(struct app *a, bool again)
{
	struct dialog_ask ask = {.title = "Quit berth", .verb = "Quit"};
	const char *names[64];
	char key[KEY_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i < a->live->njobs && n < COUNT(names); i++)
		if (a->live->jobs[i].own && !job_ended(a->live->jobs[i].state))
			names[n++] = a->live->jobs[i].name;
	for (size_t i = 0; i < TASKS_MAX && n < COUNT(names); i++)
		if (a->task[i] && !task_ended(a->task[i]))
			names[n++] = a->task[i]->title;
	for (size_t i = 0; i < a->ntabs && n < COUNT(names); i++) {
		struct view *v = &a->tab[i].view;
		const char *what = v->ops->runs ? v->ops->runs(v) : NULL;

		if (what)
			names[n++] = what;
	}
	if (n == 0 && !again) {
		keymap_first(&a->keys, DO_QUIT, key);
		app_say(a, ROLE_TEXT, "Press q again to quit%s%s.", *key ? "; immediately: " : "",
			key);
		return;
	}
	if (n == 0) {
		a->quit = true;
		return;
	}
	ask.where = "These jobs of this console still run:";
	ask.items = names;
	ask.nitems = n;
	ask.effect = "Quitting cancels them.  Completed work is kept.";
	a->asking = ASK_QUIT;
	dialog_open(&a->dialog, &ask, clock_mono_ns());
}

/* Palette */

/* Words that fingers know from other programs. */
static const char *words_of_others(const char *name)
{
	static const struct {
		const char *name, *also;
	} words[] = {
		{"quit", "q q! qa qa! exit"},
		{"back", "close bd"},
		{"help", "h ?"},
		{"save", "w"},
		{"refresh", "e e!"},
		{"context", "ctx contexts"},
		{"sort", "order"},
		{"shell", "sh"},
		{"images", "img image"},
		{"volumes", "vol volume"},
		{"agents", "ag agent"},
		{"containers", "c co container ps po pods"},
		{"workspaces", "ws workspace"},
		{"events", "ev event"},
		{"jobs", "job"},
		{"logs", "log"},
	};

	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcmp(words[i].name, name))
			return words[i].also;
	return NULL;
}

static void offer_actions(struct app *a, bool hidden)
{
	struct view *v = &app_top(a)->view;
	uint32_t context = v->ops->context;

	for (int act = 1; act < DO_COUNT; act++) {
		const struct action_info *info = &action_info[act];
		struct palette_item it = {.kind = PALETTE_ACTION, .action = (enum action)act};

		if (!(info->where & context) || act == DO_PALETTE ||
			(act >= DO_VIEW_1 && act <= DO_VIEW_10) ||
			hidden != !!(info->flags & ACTION_HIDDEN) ||
			(v->ops->offers && !v->ops->offers(v, (enum action)act)))
			continue;
		snprintf(it.name, sizeof it.name, "%s", info->name);
		snprintf(it.help, sizeof it.help, "%s", info->help);
		keymap_first(&a->keys, (enum action)act, it.key);
		it.greyed = app_greyed(a, (enum action)act);
		it.takes_words = act == DO_IMPORT || act == DO_SORT || act == DO_SPLIT ||
			act == DO_SHELL || tasks_are((enum action)act);
		it.also = words_of_others(it.name);
		palette_add(&a->palette, it);
	}
}

/* What a view is about first, movement last. */
static void open_palette(struct app *a)
{
	struct palette_item it;
	char name[32];

	palette_open(&a->palette, &a->commands);
	a->palette.note = a->offers;
	a->offers[0] = '\0';
	offer_actions(a, false);
	custom_offer(a);
	for (size_t i = 0; i < a->ntabs; i++) {
		it = (struct palette_item){.kind = PALETTE_VIEW};
		snprintf(it.name, sizeof it.name, "%s", a->tab[i].view.ops->name);
		it.also = words_of_others(it.name);
		snprintf(it.help, sizeof it.help, "go to view %s", a->tab[i].view.ops->tab);
		if (DO_VIEW_1 + i <= DO_VIEW_10)
			keymap_first(&a->keys, (enum action)(DO_VIEW_1 + i), it.key);
		palette_add(&a->palette, it);
	}
	for (size_t i = 0; theme_name(i, name); i++) {
		it = (struct palette_item){.kind = PALETTE_THEME};
		snprintf(it.name, sizeof it.name, "theme %s", name);
		snprintf(it.help, sizeof it.help, "look: %s", name);
		palette_add(&a->palette, it);
	}
	offer_actions(a, true);
	palette_ready(&a->palette);
}

static void sort_view(struct app *a, const char *column)
{
	struct view *v = &app_top(a)->view;
	struct err e = ERR_INIT;

	if (!v->ops->sort)
		app_say(a, ROLE_DIM, "Nothing to sort in this view.");
	else if (v->ops->sort(v, column, &e) < 0)
		app_say(a, ROLE_WARN, "%s", e.msg);
}

/* Another engine is another console: this one ends, as by quit, and that one begins in its place. */
static void leave_for_context(struct app *a, const char *name)
{
	struct err e = ERR_INIT;

	if (!a->o->ret_context || !a->o->check_context) {
		app_say(a, ROLE_WARN, "Not here: start `berth --context %s`.", name);
	} else if (a->o->check_context(name, &e) < 0) {
		app_say(a, ROLE_WARN, "%s", e.msg);
	} else {
		snprintf(a->o->ret_context, CONTEXT_NAME_MAX, "%s", name);
		action_quit(a, true);
	}
}

/* `:split VIEW`; without one the tab that was left last, or one view again. */
static void split_view(struct app *a, const char *name)
{
	size_t i = a->ndepth ? a->came_from[a->ndepth - 1] : 0;

	if (!*name && a->split) {
		stack_unsplit(a);
		return;
	}
	for (size_t k = 0; *name && k <= a->ntabs; k++) {
		if (k == a->ntabs) {
			app_say(a, ROLE_WARN, "There is no view %.40s to split with.", name);
			return;
		}
		i = k;
		if (!strcasecmp(a->tab[k].view.ops->name, name))
			break;
	}
	/* Without a word, and nothing left: what happens on the engine. */
	if (!*name && i == a->at)
		for (i = 0; i + 1 < a->ntabs && strcmp(a->tab[i].view.ops->name, "events"); i++)
			;
	stack_split(a, i);
}

static void turn_to_other_half(struct app *a)
{
	if (!a->split)
		app_say(a, ROLE_DIM, "There is one view; :split VIEW shows another one with it.");
	else if (a->npushed)
		app_say(a, ROLE_DIM, "Esc closes this page first.");
	else
		stack_swap(a);
}

/* The view knows in which container. */
static void open_shell_with(struct app *a, char *words)
{
	a->shell_words = words;
	app_do(a, DO_SHELL);
	a->shell_words = NULL;
}

void action_palette(struct app *a, enum prompt_end end, const struct palette_item *chosen)
{
	AUTO_FREE char *words = NULL;
	struct palette_item it;
	struct err e = ERR_INIT;

	if (end != PROMPT_DONE && end != PROMPT_CANCELLED)
		return;
	if (chosen) {
		it = *chosen;
		words = xstrdup(palette_words(&a->palette, chosen));
	}
	palette_close(&a->palette);
	if (end == PROMPT_CANCELLED || !chosen)
		return;
	if (it.action == DO_IMPORT && words[0] && !it.greyed)
		import_tar(a, words);
	else if (it.action == DO_SPLIT)
		split_view(a, words);
	else if (it.action == DO_SORT)
		sort_view(a, words);
	else if (it.action == DO_CONTEXT && words[0])
		leave_for_context(a, words);
	else if (tasks_are(it.action) && words[0] && !it.greyed)
		tasks_run(a, it.action, words);
	else if (it.action == DO_SHELL && words[0])
		open_shell_with(a, words);
	else if (it.kind == PALETTE_CUSTOM)
		custom_run(a, it.custom);
	else if (it.kind == PALETTE_ACTION)
		app_do(a, it.action);
	else if (it.kind == PALETTE_VIEW)
		app_switch(a, it.name);
	else if (action_theme(a, it.name + strlen("theme "), &e) < 0)
		app_say(a, ROLE_BAD, "%s", e.msg);
}

/* The dialog's answer */

void action_dialog(struct app *a, enum dialog_end end)
{
	enum asking what = a->asking;

	if (end == DIALOG_STAYS)
		return;
	dialog_close(&a->dialog);
	a->asking = ASK_NOTHING;
	if (end == DIALOG_CANCELLED) {
		command_free(STEAL(a->asked));
		free(STEAL(a->asked_line));
		tasks_view_asked(a, false);
		if (a->o->ret_context)
			a->o->ret_context[0] = '\0';
		app_say(a, ROLE_DIM, "Cancelled: nothing was done.");
	} else if (what == ASK_ACT) {
		app_send(a, STEAL(a->asked));
	} else if (what == ASK_TASK) {
		tasks_confirmed(a);
	} else if (what == ASK_VIEW_TASK) {
		tasks_view_asked(a, true);
	} else if (what == ASK_QUIT) {
		a->quit = true;
	}
}

/* The rest */

static void change_rate(struct app *a, int by)
{
	static const double steps[] = {0.2, 0.5, 1, 2, 5, 10};
	double now = a->asked_hz > 0 ? a->asked_hz : a->settings->hz;
	struct command *c = command_new(CMD_RATE);
	int i = 0;

	while (i < (int)COUNT(steps) - 1 && steps[i] < now - 0.01)
		i++;
	i += by;
	i = i < 0 ? 0 : i >= (int)COUNT(steps) ? (int)COUNT(steps) - 1 : i;
	c->hz = a->asked_hz = steps[i]; /* the next key counts from here, whenever that applies */
	app_send(a, c);
	app_say(a, ROLE_TEXT, "%g sample%s a second.", steps[i], steps[i] == 1 ? "" : "s");
}

bool app_read_only_stays(const struct app *a)
{
	return a->o->read_only || a->settings->read_only;
}

static void toggle_read_only(struct app *a)
{
	struct command *c = command_new(CMD_READ_ONLY);

	if (a->policy.read_only && app_read_only_stays(a)) {
		command_free(c);
		app_say(a, ROLE_WARN,
			"Read-only was set at start-up and cannot be turned off here.");
		return;
	}
	/* What is in force, which may differ from what was asked for last: off takes a record. */
	a->policy.read_only = !app_read_only(a);
	c->read_only = a->policy.read_only;
	app_send(a, c);
	app_say(a, ROLE_TEXT,
		a->policy.read_only ? "Read-only: nothing will be changed from now on."
				    : "Read-only ends as soon as that is recorded.");
}

static void freeze_picture(struct app *a)
{
	a->frozen = !a->frozen;
	a->frozen_ns = clock_mono_ns();
	if (a->frozen)
		app_say(a, ROLE_TEXT, "Display frozen; the same key resumes it.");
	else
		app_show_live(a);
}

static void refresh_engine(struct app *a)
{
	struct command *c = command_new(CMD_REFRESH);

	app_send(a, c);
}

static void open_network(struct app *a)
{
	if (a->o->network && app_top(a)->view.ops != a->o->network)
		app_push(a, a->o->network, NULL);
}

/* One of the pages of that name, in place of another of them. */
static void open_page(struct app *a, const char *name)
{
	const struct view_ops *const *page = a->o->pages, *top = app_top(a)->view.ops;
	const struct view_ops *meant = NULL;
	bool replaces = false;

	for (size_t i = 0; page && page[i]; i++) {
		replaces |= page[i] == top;
		if (!strcmp(page[i]->name, name))
			meant = page[i];
	}
	if (!meant || meant == top)
		return;
	if (replaces)
		app_pop(a);
	app_push(a, meant, NULL);
}

/* The view of agents knows them, and which one is next. */
static void go_to_attention(struct app *a)
{
	struct view *agents = app_view(a, "agents");

	/* Somebody waits for an answer, not for long. */
	if (snapshot_held(a->shown) && a->o->network && app_top(a)->view.ops != a->o->network) {
		open_network(a);
		return;
	}
	if (!agents)
		return;
	app_switch(a, "agents");
	agents->ops->act(agents, DO_ATTENTION);
}

bool action_run(struct app *a, enum action act)
{
	if (act >= DO_VIEW_1 && act <= DO_VIEW_10) {
		app_show_tab(a, (size_t)(act - DO_VIEW_1));
		return true;
	}
	switch (act) {
	case DO_HELP:
		if (app_top(a)->view.ops != a->o->help)
			app_push(a, a->o->help, (void *)(uintptr_t)app_top(a)->view.ops);
		return true;
	case DO_QUIT: action_quit(a, true); return true;
	case DO_ATTENTION: go_to_attention(a); return true;
	case DO_NETWORK: open_network(a); return true;
	case DO_IMAGES:
	case DO_VOLUMES:
	case DO_HISTORY:
	case DO_NETWORKS: open_page(a, action_info[act].name); return true;
	case DO_PULL_IMAGE: tasks_ask(a, DO_PULL); return true;
	case DO_BUILD_IMAGE: tasks_ask(a, DO_BUILD); return true;
	case DO_FILTER: open_filter(a); return true;
	case DO_PALETTE: open_palette(a); return true;
	case DO_COPY: copy_view(a); return true;
	case DO_SAVE:
		/* Whoever wrote it is not who plays it. */
		if (a->demo)
			app_say(a, ROLE_WARN, "A demo saves nothing.");
		else
			open_save(a);
		return true;
	case DO_SPLIT: split_view(a, ""); return true;
	case DO_OTHER_HALF: turn_to_other_half(a); return true;
	case DO_PAGER:
		a->paging = a->screen;
		if (!a->screen)
			app_say(a, ROLE_WARN, "A pager needs a terminal.");
		return true;
	case DO_IMPORT: open_import(a); return true;
	case DO_FASTER: change_rate(a, 1); return true;
	case DO_SLOWER: change_rate(a, -1); return true;
	case DO_FREEZE: freeze_picture(a); return true;
	case DO_THEME: next_theme(a); return true;
	case DO_READ_ONLY: toggle_read_only(a); return true;
	case DO_REFRESH: refresh_engine(a); return true;
	case DO_MOUSE:
		a->mouse = !a->mouse;
		if (a->screen)
			screen_mouse(a->screen, a->mouse);
		app_say(a, ROLE_TEXT,
			a->mouse ? "Mouse on: it clicks and scrolls here."
				 : "Mouse off: it selects text as usual.");
		return true;
	case DO_GREP:
	case DO_SEARCH:
	case DO_SCAN:
	case DO_TRANSFORM:
	case DO_COPY_FILES:
	case DO_DELETE:
	case DO_PULL:
	case DO_BUILD:
	case DO_VERIFY:
	case DO_COMPARE:
	case DO_UNDO:
	case DO_CONTEXT:
	case DO_TREND: tasks_ask(a, act); return true;
	case DO_REDRAW:
		if (a->screen)
			screen_redraw(a->screen);
		return true;
	case DO_SUSPEND:
		if (a->screen)
			screen_suspend(a->screen);
		return true;
	default: return false;
	}
}
