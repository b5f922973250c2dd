/* task_acts.c - starts file jobs, image operations and checks from the console. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "app/app_state.h"

static const struct kind {
	enum action act;
	const char *program, *room, *verb;
	const char *ask; /* for the prompt; NULL: nothing needs to be said */
	bool engine;     /* it talks to the console's */
} kinds[] = {
	{DO_SEARCH, "berth-files", "files", "search", "search, PATTERN [DIR]", false},
	{DO_GREP, "berth-core", "logs", "--grep", "grep, PATTERN [CONTAINER...]", true},
	{DO_SCAN, "berth-files", "files", "scan", "scan, [DIR]", false},
	{DO_TRANSFORM, "berth-files", "files", "transform", "transform, PATTERN REPLACEMENT [DIR]",
		false},
	{DO_COPY_FILES, "berth-files", "files", "copy", "copy, FROM TO", false},
	{DO_DELETE, "berth-files", "files", "delete", "delete, [-r] PATH", false},
	{DO_PULL, "berth-image", "image", "pull", "pull, IMAGE", true},
	{DO_BUILD, "berth-image", "image", "build", "build, NAME [DIR]", true},
	{DO_UNDO, "berth-core", NULL, "undo", NULL, true},
	{DO_CONTEXT, "berth-core", "names", "contexts", NULL, false},
	{DO_VERIFY, "berth-core", "audit", "verify", NULL, false},
	{DO_COMPARE, "berth-bench", "bench", "compare", NULL, false},
	{DO_TREND, "berth-bench", "bench", "trend", NULL, false},
};

static const struct kind *find_kind_of_task(enum action act)
{
	for (size_t i = 0; i < COUNT(kinds); i++)
		if (kinds[i].act == act)
			return &kinds[i];
	return NULL;
}

bool tasks_are(enum action act)
{
	return find_kind_of_task(act) != NULL;
}

/* A place for one more.  NULL: all run. */
static struct task **free_place(struct app *a)
{
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (!a->task[i])
			return &a->task[i];
	return NULL;
}

static struct task *begin_task(struct app *a, const char *title, const char *const *argv)
{
	struct task **place = free_place(a);
	struct err e = ERR_INIT;

	if (!place) {
		app_say(a, ROLE_WARN, "%d commands run already; C in Jobs cancels one.", TASKS_MAX);
		return NULL;
	}
	*place = task_start(title, argv, &e);
	if (!*place)
		app_say(a, ROLE_BAD, "%s", e.msg);
	return *place;
}

/* `more`: an option of berth's own choice, or NULL. */
static struct task *launch_task(
	struct app *a, const struct kind *k, const char *line, const char *more)
{
	AUTO_FREE char *words = xstrdup(line);
	const char *typed[TASK_WORDS_MAX], *argv[TASK_WORDS_MAX + 8];
	struct err e = ERR_INIT;
	char title[160];
	int n = task_words(words, typed, &e), at = 0;

	if (n < 0) {
		app_say(a, ROLE_WARN, "%s: %s.", k->verb, e.msg);
		return NULL;
	}
	argv[at++] = k->program;
	if (k->engine) {
		argv[at++] = "-H";
		argv[at++] = a->live->engine.endpoint;
	}
	if (k->room)
		argv[at++] = k->room;
	argv[at++] = k->verb;
	if (more)
		argv[at++] = more;
	for (int i = 0; i < n; i++)
		argv[at++] = typed[i];
	argv[at] = NULL;
	snprintf(title, sizeof title, *line ? "%s %s" : "%s", k->verb + strspn(k->verb, "-"), line);
	return begin_task(a, title, argv);
}

/* The words stay for the answer. */
static void ask_about_task(
	struct app *a, const struct kind *k, const char *line, const struct dialog_ask *ask)
{
	free(a->asked_line);
	a->asked_line = xstrdup(line);
	a->asked_do = k->act;
	dialog_open(&a->dialog, ask, clock_mono_ns());
	a->asking = ASK_TASK;
	a->dirty = true;
}

void tasks_ask_about(struct app *a, enum action act, const char *line, const struct dialog_ask *ask)
{
	ask_about_task(a, find_kind_of_task(act), line, ask);
}

void tasks_run(struct app *a, enum action act, const char *line)
{
	const struct kind *k = find_kind_of_task(act);
	struct task *t;

	line += strspn(line, " ");
	if (act == DO_COMPARE && !*line)
		line = "previous";
	if (act == DO_DELETE) {
		delete_ask(a, line);
		return;
	}
	t = launch_task(a, k, line, NULL);
	if (!t)
		return;
	t->preview = act == DO_TRANSFORM;
	t->line = xstrdup(line);
	app_push(a, a->o->output, t);
}

void tasks_ask(struct app *a, enum action act)
{
	const struct kind *k = find_kind_of_task(act);

	if (!k->ask) {
		tasks_run(a, act, "");
		return;
	}
	snprintf(a->prompt_label, sizeof a->prompt_label, " %s: ", k->ask);
	prompt_open(&a->prompt, NULL, &a->files);
	a->prompting = PROMPT_TASK;
	a->asked_do = act;
	a->prompt_problem[0] = '\0';
}

void tasks_prompt(struct app *a, enum prompt_end end)
{
	if (end != PROMPT_CANCELLED && end != PROMPT_DONE)
		return;
	a->prompting = PROMPT_OFF;
	if (end == PROMPT_DONE && (a->prompt.len || a->asked_do == DO_SCAN))
		tasks_run(a, a->asked_do, a->prompt.text);
}

void tasks_confirmed(struct app *a)
{
	AUTO_FREE char *line = STEAL(a->asked_line);
	struct task *t = launch_task(a, find_kind_of_task(a->asked_do), line,
		a->asked_do == DO_TRANSFORM ? "--apply" : NULL);

	if (t)
		app_push(a, a->o->output, t);
}

void app_open_text(struct app *a, const char *path, size_t line)
{
	AUTO_FREE char *dir = xstrdup(path);
	char *slash = strrchr(dir, '/');
	const char *root = !slash ? "." : slash == dir ? "/" : dir;
	const char *argv[] = {"berth-files", "files", "read", "--root", root, "--",
		slash ? slash + 1 : dir, NULL};
	struct task *t;

	if (slash)
		*slash = '\0';
	t = begin_task(a, path, argv);
	if (!t)
		return;
	t->at_line = line;
	app_push(a, a->o->output, t);
}

/* ---- of views */

static bool start_for_view(struct app *a, const struct view_ops *of, const struct app_task *what)
{
	struct task *t = begin_task(a, what->title, what->argv);

	if (!t)
		return false;
	t->of = of;
	t->page = what->page;
	if (t->page) {
		t->at_line = 1;
		app_push(a, a->o->output, t);
	}
	return true;
}

bool app_run_task(struct view *v, const struct app_task *t)
{
	return start_for_view(v->app, v->ops, t);
}

void app_confirm_task(struct view *v, const struct dialog_ask *ask, const struct app_task *t)
{
	struct asked_task *k = &v->app->asked_task;
	size_t n = 0;

	tasks_view_asked(v->app, false);
	while (t->argv[n])
		n++;
	*k = (struct asked_task){
		v->ops, xstrdup(t->title), xcalloc(n + 1, sizeof *k->argv), t->page};
	for (size_t i = 0; i < n; i++)
		k->argv[i] = xstrdup(t->argv[i]);
	dialog_open(&v->app->dialog, ask, clock_mono_ns());
	v->app->asking = ASK_VIEW_TASK;
	v->app->dirty = true;
}

void tasks_view_asked(struct app *a, bool confirmed)
{
	struct asked_task k = a->asked_task;

	a->asked_task = (struct asked_task){0};
	if (confirmed)
		start_for_view(
			a, k.of, &(struct app_task){k.title, (const char *const *)k.argv, k.page});
	for (size_t i = 0; k.argv && k.argv[i]; i++)
		free(k.argv[i]);
	free(k.argv);
	free(k.title);
}

/* The view that has run it, as long as it is there. */
static struct view *owner_of_task(struct app *a, const struct task *t)
{
	for (size_t i = a->npushed; i-- > 0;)
		if (a->pushed[i].view.ops == t->of)
			return &a->pushed[i].view;
	for (size_t i = 0; i < a->ntabs; i++)
		if (a->tab[i].view.ops == t->of)
			return &a->tab[i].view;
	return NULL;
}

/* Its columns were for lines below each other. */
static void squeeze_blanks(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || at[1] != ' ')
			*to++ = *at;
	*to = '\0';
}

/* Its last line: what came of it, or why not.  Empty: it printed nothing. */
static void last_line(const struct task *t, char clean[ERR_MSG_MAX])
{
	size_t end = t->text.len, from;
	char line[ERR_MSG_MAX];

	while (end && t->text.s[end - 1] == '\n')
		end--;
	for (from = end; from && t->text.s[from - 1] != '\n';)
		from--;
	snprintf(line, sizeof line, "%.*s", (int)(end - from), t->text.s + from);
	text_clean(clean, ERR_MSG_MAX, strncmp(line, "berth: ", 7) ? line : line + 7);
	squeeze_blanks(clean);
}

static void say_last_line(struct app *a, const struct task *t)
{
	char line[ERR_MSG_MAX];

	last_line(t, line);
	app_say(a, t->code ? ROLE_WARN : ROLE_GOOD, "%s", *line ? line : "Done.");
}

static void tell_view_task(struct app *a, const struct task *t)
{
	struct view *v = owner_of_task(a, t);

	if ((!v || !v->ops->task || !v->ops->task(v, t)) && !t->page)
		say_last_line(a, t);
}

/* The change as it would be made, line by line, without what the command says about it. */
static void ask_transform(struct app *a, const struct task *t)
{
	AUTO_FREE char *text = xstrdup(t->text.s);
	AUTO_FREE const char **item = NULL;
	struct dialog_ask ask = {.title = "Replace text in files",
		.where = "on this machine, as one batch: all of them or none",
		.effect = "If a file has changed since the diff, nothing is changed.",
		.verb = "Apply"};
	size_t n = 0, cap = 0;

	for (char *at = text, *end; *at; at = end) {
		end = strchrnul(at, '\n');
		if (*end)
			*end++ = '\0';
		if (strncmp(at, "berth: ", 7) == 0)
			continue;
		item = mem_grow(item, &cap, n + 1, sizeof *item);
		item[n++] = at;
	}
	ask.items = item;
	ask.nitems = n;
	ask_about_task(a, find_kind_of_task(DO_TRANSFORM), t->line, &ask);
}

/* A search that failed says why; one that found nothing prints nothing. */
static bool found_nothing(const struct task *t)
{
	return t->code == 1 && !t->text.len &&
		(!strncmp(t->title, "search ", 7) || !strncmp(t->title, "grep ", 5));
}

static void tell_failed(struct app *a, const struct task *t, const char *title)
{
	char why[ERR_MSG_MAX];

	last_line(t, why);
	if (t->code > 128)
		app_say(a, ROLE_WARN, "%s: ended by signal %d (%s).", title, t->code - 128,
			sigdescr_np(t->code - 128) ? sigdescr_np(t->code - 128) : "unknown");
	else
		app_say(a, ROLE_WARN, "%s: failed (exit %d): %s", title, t->code,
			*why ? why : "it gave no reason.");
}

static void tell_ended(struct app *a, struct task *t)
{
	char title[80];

	if (t->of) {
		tell_view_task(a, t);
		return;
	}
	text_clean(title, sizeof title, t->title);
	if (t->preview && t->code == 0 && strstr(t->text.s, "\n@@ ") && !a->dialog.open)
		ask_transform(a, t);
	else if (found_nothing(t))
		app_say(a, ROLE_DIM, "%s: nothing found.", title);
	else if (t->code)
		tell_failed(a, t, title);
	else if (!t->at_line)
		app_say(a, ROLE_GOOD, "%s: done.", title);
}

void tasks_pulse(struct app *a)
{
	for (size_t i = 0; i < TASKS_MAX; i++) {
		struct task *t = a->task[i];

		if (!t || !task_read(t))
			continue;
		a->dirty = true;
		if (task_ended(t)) {
			tell_ended(a, t);
			task_unref(STEAL(
				a->task[i])); /* what it printed is its page's, as long as that is open */
		}
	}
}

size_t tasks_poll(struct app *a, struct pollfd fds[TASKS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < TASKS_MAX; i++)
		if (a->task[i])
			fds[n++] = (struct pollfd){.fd = task_fd(a->task[i]), .events = POLLIN};
	return n;
}

void tasks_release(struct app *a)
{
	for (size_t i = 0; i < TASKS_MAX; i++)
		task_unref(STEAL(a->task[i]));
	free(a->asked_line);
	tasks_view_asked(a, false);
}
