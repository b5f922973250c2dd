/* workspaces_keys.c - handles the keys of the Workspaces view, for the row under the cursor or the marked ones. */
#include "views/workspaces/workspaces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>

#include "views/list.h"
#include "views/table_view.h"

/* --- all of them --- */

void workspaces_count(struct view *v, int64_t older_ns)
{
	struct workspaces_view *s = v->state;
	struct command *c;

	if (s->counting)
		return;
	c = command_new(CMD_WORKSPACES);
	c->workspaces.older_ns = older_ns;
	s->counting = app_send(v->app, c);
}

/* --- the row under the cursor, or those marked --- */

/* The row under the cursor, where it is a workspace; said where it is none. */
static const struct workspace_row *workspace_here(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (r && workspace_of(r)->w)
		return workspace_of(r);
	if (r && workspace_of(r)->archive)
		app_say(v->app, ROLE_DIM, "%s is an archive: U makes a workspace of it again.",
			workspace_of(r)->archive->name);
	else
		app_say(v->app, ROLE_DIM,
			r ? "This row is not a workspace."
			  : "There is no workspace yet: N makes one.");
	return NULL;
}

static const char *path_here(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct workspace_row *r = workspace_here(v);

	return r ? workspace_path(s->about, r->w->usage.info.kind, r->w->usage.info.name) : NULL;
}

static void open_workspace(struct view *v, const char *said)
{
	const struct workspace_row *r = workspace_here(v);

	if (r)
		app_push(v->app, &workspace_view,
			&(struct workspace_seed){
				r->w->usage.info.kind, r->w->usage.info.name, said});
}

static void diff_with_newest(struct view *v, const struct workspace_row *r)
{
	char path[WORKSPACE_PATH_MAX];
	AUTO_FREE char *point = NULL;

	workspace_path(path, r->w->usage.info.kind, r->w->usage.info.name);
	if (!r->w->checkpoints) {
		app_say(v->app, ROLE_DIM,
			"%s has no checkpoint to compare with: S makes one, or mark two workspaces.",
			path);
		return;
	}
	point = xasprintf("%s@%s", path, r->w->newest);
	workspace_run(v, true, (const char *const[]){"diff", point, path, NULL});
}

static bool has_workspace_named(
	const struct workspaces_view *s, enum workspace_kind kind, const char *name)
{
	for (size_t i = 0; i < s->o.n; i++)
		if (s->o.rows[i].usage.info.kind == kind &&
			!strcmp(s->o.rows[i].usage.info.name, name))
			return true;
	return false;
}

/* As commands name it; false: it is neither a workspace nor an archive. */
static bool name_side(const struct workspace_row *x, char path[WORKSPACE_PATH_MAX])
{
	if (x->w)
		workspace_path(path, x->w->usage.info.kind, x->w->usage.info.name);
	else if (x->archive)
		snprintf(path, WORKSPACE_PATH_MAX, "archives/%s/%s",
			workspace_kind_folder(x->archive->kind), x->archive->name);
	return x->w || x->archive;
}

/* Of an archive: what it held, and the workspace of that name that came after it. */
static void diff_archive(struct view *v, const struct overview_archive *a)
{
	struct workspaces_view *s = v->state;
	const struct workspace_row x = {.archive = a};
	char path[2][WORKSPACE_PATH_MAX];

	name_side(&x, path[0]);
	workspace_path(path[1], a->kind, a->name);
	if (has_workspace_named(s, a->kind, a->name))
		workspace_run(v, true, (const char *const[]){"diff", path[0], path[1], NULL});
	else
		app_say(v->app, ROLE_DIM,
			"There is no workspace %s to compare with: mark two rows.", path[1]);
}

static void diff_workspaces_marked(struct view *v)
{
	struct workspaces_view *s = v->state;
	char path[2][WORKSPACE_PATH_MAX];
	const struct table_row *r = table_current(&s->table);
	const struct workspace_row *here;
	size_t hidden, at = 0, n = 0, marked = table_marked(&s->table, &hidden);

	if (!marked && r && workspace_of(r)->archive) {
		diff_archive(v, workspace_of(r)->archive);
		return;
	}
	if (!marked) {
		here = workspace_here(v);
		if (here)
			diff_with_newest(v, here);
		return;
	}
	while (n < 2 && (r = table_next_marked(&s->table, &at)))
		n += name_side(workspace_of(r), path[n]);
	if (marked != 2 || n != 2)
		app_say(v->app, ROLE_DIM, "Mark two workspaces to compare: %zu %s marked.", marked,
			marked == 1 ? "is" : "are");
	else
		workspace_run(v, true, (const char *const[]){"diff", path[0], path[1], NULL});
}

static void overlap_of_marked(struct view *v)
{
	struct workspaces_view *s = v->state;
	size_t hidden, at = 0, n = 1, marked = table_marked(&s->table, &hidden);
	char(*path)[WORKSPACE_PATH_MAX] = xcalloc(marked + 1, sizeof *path);
	const char **words = xcalloc(marked + 2, sizeof *words);
	const struct table_row *r;

	words[0] = "overlap";
	while ((r = table_next_marked(&s->table, &at)) && n <= marked)
		if (name_side(workspace_of(r), path[n - 1])) {
			words[n] = path[n - 1];
			n++;
		}
	if (n > 2)
		workspace_run(v, true, words);
	else
		app_say(v->app, ROLE_DIM, "Mark two or more forks of the same workspace.");
	free(words);
	free(path);
}

static void verify_here(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);
	char path[WORKSPACE_PATH_MAX];
	const char *words[] = {"verify", NULL, NULL};

	if (r && workspace_of(r)->w && name_side(workspace_of(r), path))
		words[1] = path;
	workspace_run(v, true, words);
}

static void shell_of_holder(struct view *v)
{
	const struct workspace_row *r = workspace_here(v);
	const struct container *c = r ? r->holder.c : NULL;
	struct target t;

	if (!r)
		return;
	if (!c || c->state != CONTAINER_RUNNING) {
		app_say(v->app, ROLE_DIM, "No running container holds it; o shows its files.");
		return;
	}
	t = (struct target){c->engine, c->id, c->name};
	app_shell(v->app, &t);
}

static void browse_here(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct workspace_row *x = r ? workspace_of(r) : NULL;
	AUTO_FREE char *path = NULL, *title = NULL;

	if (!x || x->group || x->archive)
		return;
	path = x->w ? xasprintf("%s/%s/%s", s->o.dir, workspace_kind_folder(x->w->usage.info.kind),
			      x->w->usage.info.name)
		    : xasprintf("%s/shared/%s", s->o.dir, x->shared->name);
	title = xasprintf("files of %s", path + strlen(s->o.dir) + 1);
	app_run_task(v,
		&(struct app_task){title,
			(const char *const[]){"berth-files", "files", "scan", "--", path, NULL},
			true});
}

/* --- what needs words --- */

static void ask_words(
	struct view *v, enum asked what, const char *label, const char *text, const char *hint)
{
	struct workspaces_view *s = v->state;

	s->asked = what;
	app_ask(v->app, label, text, hint);
}

static const char *name_here(struct view *v)
{
	return path_here(v) ? strchr(((struct workspaces_view *)v->state)->about, '/') + 1 : NULL;
}

static void open_hunks(struct view *v, const char *from, const char *into)
{
	app_push(v->app, &hunks_view, &(struct hunks_seed){from, into});
}

/* The project that a fork of that name began as, most likely; "": none. */
static const char *guess_project(const struct workspaces_view *s, const char *name)
{
	size_t n = strlen(name);

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	for (size_t i = 0; n > 1 && name[n - 1] == '-' && i < s->o.n; i++) {
		const struct workspace_info *w = &s->o.rows[i].usage.info;

		if (w->kind == WORKSPACE_PROJECT && strlen(w->name) == n - 1 &&
			!strncmp(w->name, name, n - 1))
			return w->name;
	}
	return "";
}

/* Of two marked: into the project, or into the second one. */
static void choose_of_marked(struct view *v)
{
	struct workspaces_view *s = v->state;
	char path[2][WORKSPACE_PATH_MAX];
	const struct table_row *r;
	size_t at = 0, n = 0;
	bool swap = false;

	while (n < 2 && (r = table_next_marked(&s->table, &at)))
		if (workspace_of(r)->w) {
			const struct workspace_info *i = &workspace_of(r)->w->usage.info;

			workspace_path(path[n], i->kind, i->name);
			swap = n == 0 ? i->kind == WORKSPACE_PROJECT
				      : swap && i->kind != WORKSPACE_PROJECT;
			n++;
		}
	if (n == 2)
		open_hunks(v, path[swap], path[!swap]);
	else
		app_say(v->app, ROLE_DIM, "Mark two workspaces, or none.");
}

static void choose_what_to_take(struct view *v)
{
	struct workspaces_view *s = v->state;
	size_t hidden, marked = table_marked(&s->table, &hidden);
	const char *name = marked ? NULL : name_here(v);
	AUTO_FREE char *label = name ? workspace_label("apply from ", name, " into") : NULL;

	if (marked == 2)
		choose_of_marked(v);
	else if (marked)
		app_say(v->app, ROLE_DIM, "Mark two workspaces, or none.");
	else if (label)
		ask_words(
			v, ASKED_TAKE, label, guess_project(s, name), "a project, or a directory");
}

static void ask_fork(struct view *v)
{
	const char *name = name_here(v);
	AUTO_FREE char *label = name ? workspace_label("fork ", name, " into") : NULL;

	if (label)
		ask_words(v, ASKED_FORK, label, "1", "how many tasks");
}

static void ask_hand_over(struct view *v)
{
	const struct workspace_row *r = workspace_here(v);
	AUTO_FREE char *label = NULL;

	if (!r)
		return;
	if (r->w->usage.info.kind != WORKSPACE_TASK) {
		app_say(v->app, ROLE_DIM, "%s is a project: only tasks hand over files.",
			r->w->usage.info.name);
		return;
	}
	label = workspace_label("hand over from ", name_here(v), " to");
	ask_words(v, ASKED_HAND_OVER, label, "", "TASK PATH...: review files/report.md");
}

/* "TASK PATH..." */
static void hand_over(struct view *v, const char *typed)
{
	struct workspaces_view *s = v->state;
	AUTO_FREE char *text = xstrdup(typed);
	AUTO_FREE const char **words = xcalloc(strlen(typed) / 2 + 4, sizeof *words);
	size_t n = 2;
	char *rest = NULL;

	words[0] = "hand-over";
	words[1] = s->about;
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	if (n > 3)
		workspace_run(v, true, words);
	else
		app_say(v->app, ROLE_DIM,
			"Nothing was handed over: name a task and at least one path.");
}

static void ask_limit(struct view *v)
{
	const char *name = name_here(v);
	AUTO_FREE char *label = name ? workspace_label("", name, " may hold") : NULL;

	if (label)
		ask_words(v, ASKED_LIMIT, label, "", "2G, or 2G 20000: bytes and files; none: any");
}

static void ask_archive_here(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct workspace_row *r = workspace_here(v);
	const char *name = r ? name_here(v) : NULL;

	if (name && r->holder.name)
		app_say(v->app, ROLE_DIM, "%s holds %s: `berth down` first.", r->holder.name,
			s->about);
	else if (name)
		workspace_ask_archive(v, s->about, name);
}

static void ask_unarchive(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);
	const struct overview_archive *a = r ? workspace_of(r)->archive : NULL;
	AUTO_FREE char *label = NULL;

	if (!a) {
		app_say(v->app, ROLE_DIM, "This row is not an archive.");
		return;
	}
	workspace_path(s->about, a->kind, a->name);
	if (!has_workspace_named(s, a->kind, a->name)) {
		workspace_ask_unarchive(v, s->about, a->name, NULL);
		return;
	}
	label = workspace_label("", a->name, " is taken, so");
	ask_words(v, ASKED_UNARCHIVE, label, "", "the name of the new workspace");
}

/* What a removal is of, as `berth workspace clean` names it; false: it cannot go. */
static bool name_removed(struct view *v, const struct workspace_row *x, char **ret)
{
	if (x->archive)
		*ret = xasprintf("archives/%s/%s", workspace_kind_folder(x->archive->kind),
			x->archive->name);
	else if (x->w && !x->holder.name)
		*ret = xasprintf("%s/%s", workspace_kind_folder(x->w->usage.info.kind),
			x->w->usage.info.name);
	else if (x->w)
		app_say(v->app, ROLE_DIM, "%s holds %s: `berth down` first.", x->holder.name,
			x->w->usage.info.name);
	else
		app_say(v->app, ROLE_DIM, "This row is neither a workspace nor an archive.");
	return *ret != NULL;
}

/* The marked ones, or that under the cursor. */
static void ask_remove(struct view *v)
{
	struct workspaces_view *s = v->state;
	size_t hidden, at = 0, n = 0, marked = table_marked(&s->table, &hidden);
	const struct table_row *here = marked ? NULL : table_current(&s->table), *r;
	char **path = xcalloc(marked + 2, sizeof *path);

	if (here)
		n += name_removed(v, workspace_of(here), &path[n]);
	while ((r = table_next_marked(&s->table, &at)) &&
		name_removed(v, workspace_of(r), &path[n]))
		n++;
	if (n && n == (marked ? marked : 1))
		workspace_ask_remove(v, (const char *const *)path, n, hidden);
	for (size_t i = 0; i < n; i++)
		free(path[i]);
	free(path);
}

static void thaw_here(struct view *v)
{
	struct workspaces_view *s = v->state;

	if (name_here(v))
		workspace_run(v, false, (const char *const[]){"thaw", s->about, NULL});
}

static void ask_point(struct view *v)
{
	struct workspaces_view *s = v->state;
	const char *name = name_here(v);

	if (!name)
		return;
	s->asked = ASKED_POINT;
	workspace_ask_checkpoint(v, name);
}

static void ask_end(struct view *v)
{
	struct workspaces_view *s = v->state;
	size_t hidden, marked = table_marked(&s->table, &hidden);
	const struct workspace_row *r = marked ? NULL : workspace_here(v);
	AUTO_FREE char *label = NULL;

	if (!marked && !r)
		return;
	if (r && r->w->usage.info.kind != WORKSPACE_TASK) {
		app_say(v->app, ROLE_DIM, "%s is a project: only tasks have a status.",
			r->w->usage.info.name);
		return;
	}
	label = marked ? xasprintf("%zu marked are now", marked)
		       : workspace_label("", name_here(v), " is now");
	ask_words(v, ASKED_END, label,
		r && r->w->usage.info.state != WORKSPACE_OPEN ? "open" : "done",
		"done, failed or open");
}

static void say_how_ended(struct view *v, const char *state)
{
	struct workspaces_view *s = v->state;
	size_t hidden, at = 0, n = 0, marked = table_marked(&s->table, &hidden);
	char(*path)[WORKSPACE_PATH_MAX] = xcalloc(marked + 1, sizeof *path);
	const char **words = xcalloc(marked + 4, sizeof *words);
	const struct table_row *r;

	words[n++] = "mark";
	while ((r = table_next_marked(&s->table, &at)) && n <= marked)
		if (workspace_of(r)->w) {
			const struct workspace_info *i = &workspace_of(r)->w->usage.info;

			words[n] = workspace_path(path[n - 1], i->kind, i->name);
			n++;
		}
	if (!marked)
		words[n++] = s->about;
	words[n] = state;
	workspace_run(v, false, words);
	table_unmark_all(&s->table);
	free(words);
	free(path);
}

/* "task NAME", "project NAME", or the name of a task. */
static void make_workspace(struct view *v, const char *typed)
{
	AUTO_FREE char *text = xstrdup(typed);
	char *rest = NULL, *kind = strtok_r(text, " ", &rest), *name = strtok_r(NULL, " ", &rest);

	if (kind)
		workspace_run(v, false,
			(const char *const[]){
				"create", name ? kind : "task", name ? name : kind, NULL});
}

bool workspaces_typed(struct view *v, const char *text, bool done, struct err *e)
{
	struct workspaces_view *s = v->state;

	(void)e;
	if (!done)
		return true;
	switch (s->asked) {
	case ASKED_POINT: workspace_make_checkpoint(v, s->about, text); break;
	case ASKED_FORK:
		workspace_run(v, false, (const char *const[]){"fork", s->about, text, NULL});
		break;
	case ASKED_END: say_how_ended(v, text); break;
	case ASKED_NEW: make_workspace(v, text); break;
	case ASKED_UNARCHIVE:
		if (*text)
			workspace_ask_unarchive(v, s->about, strchr(s->about, '/') + 1, text);
		break;
	case ASKED_LIMIT: workspace_set_limit(v, s->about, text); break;
	case ASKED_HAND_OVER: hand_over(v, text); break;
	case ASKED_TAKE:
		if (*text)
			open_hunks(v, s->about, text);
		break;
	default: break;
	}
	s->asked = ASKED_NOTHING;
	return true;
}

void workspaces_enter(struct view *v)
{
	struct workspaces_view *s = v->state;
	const struct table_row *r = table_current(&s->table);

	if (!r || table_fold(&s->table))
		return;
	if (workspace_of(r)->archive)
		ask_unarchive(v);
	else if (workspace_of(r)->shared)
		browse_here(v);
	else
		open_workspace(v, NULL);
}

bool workspaces_act(struct view *v, enum action a)
{
	struct workspaces_view *s = v->state;

	app_dirty(v->app);
	if (s->table.choosing)
		return table_act(&s->table, a);
	switch (a) {
	case DO_ENTER: workspaces_enter(v); return true;
	case DO_RESTORE:
		open_workspace(v, "Go to the checkpoint to restore, then press R.");
		return true;
	case DO_DIFF: diff_workspaces_marked(v); return true;
	case DO_CHOOSE: choose_what_to_take(v); return true;
	case DO_CHECKPOINT: ask_point(v); return true;
	case DO_FORK: ask_fork(v); return true;
	case DO_ENDED: ask_end(v); return true;
	case DO_ARCHIVE: ask_archive_here(v); return true;
	case DO_UNARCHIVE: ask_unarchive(v); return true;
	case DO_REMOVE_WORKSPACE: ask_remove(v); return true;
	case DO_OVERLAP: overlap_of_marked(v); return true;
	case DO_HAND_OVER: ask_hand_over(v); return true;
	case DO_VERIFY_KEPT: verify_here(v); return true;
	case DO_LIMIT: ask_limit(v); return true;
	case DO_THAW: thaw_here(v); return true;
	case DO_NEW_WORKSPACE:
		ask_words(v, ASKED_NEW, "new workspace", "task ", "task NAME or project NAME");
		return true;
	case DO_BROWSE: browse_here(v); return true;
	case DO_SHELL: shell_of_holder(v); return true;
	case DO_REFRESH: workspaces_count(v, INT64_MAX); return false; /* and the engine is asked */
	case DO_BACK: return table_view_back(v);
	default: return table_act(&s->table, a);
	}
}
