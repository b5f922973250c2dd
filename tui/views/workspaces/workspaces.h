/*
 * workspaces.h - shared by the files of the Workspaces view.
 *
 * Thread: main.
 */
#ifndef VIEWS_WORKSPACES_H
#define VIEWS_WORKSPACES_H

#include "app/app.h"
#include "views/table_view.h"
#include "views/workspaces/workspaces_rows.h"

#define WORKSPACE_PATH_MAX (24 + WORKSPACE_NAME_MAX) /* "archives/projects/NAME" */
#define WORKSPACE_LOOK_NS (2 * (int64_t)1000000000)  /* while on screen, whether anything changed */

/* workspaces.c: what the view keeps. */
enum asked {
	ASKED_NOTHING,
	ASKED_POINT,
	ASKED_FORK,
	ASKED_END,
	ASKED_NEW,
	ASKED_LIMIT,
	ASKED_TAKE,
	ASKED_HAND_OVER,
	ASKED_UNARCHIVE
};

struct workspaces_view {
	struct table table; /* first: table_view.h */
	struct arena mem;   /* of o */
	struct overview o;
	bool known;
	struct str problem; /* why it is not */
	struct workspace_row *rows;
	size_t nrows;
	uint64_t looking, counting; /* commands that are not answered yet; 0: none */
	int64_t looked_ns;
	bool came; /* on screen, and nothing was counted since */
	enum asked asked;
	char about[WORKSPACE_PATH_MAX]; /* what the prompt is about */
	struct area body;
	int top; /* lines of it above the table */
};
TABLE_COMES_FIRST(struct workspaces_view);

/* workspaces_keys.c: members of workspaces_view; Enter, or a click twice, on the row under the cursor; what was
 * counted before `older_ns` is counted again. */
bool workspaces_act(struct view *v, enum action a);
bool workspaces_typed(struct view *v, const char *text, bool done, struct err *e);
void workspaces_enter(struct view *v);
void workspaces_count(struct view *v, int64_t older_ns);

/* workspace_page.c: the page of one; the seed of workspace_view. */
struct workspace_seed {
	enum workspace_kind kind;
	const char *name;
	const char *said; /* for the message line; NULL: nothing */
};

/* workspace_hunks.c: the seed of hunks_view; both as commands name them. */
struct hunks_seed {
	const char *from, *into;
};

/* workspaces_acts.c: commands of `berth workspace` for this view; the first word is the verb, NULL ends them. */
void workspace_run(struct view *v, bool page, const char *const *words);
void workspace_confirm(struct view *v, const struct dialog_ask *ask, const char *const *words);
/* What a prompt about that workspace begins with; free it. */
char *workspace_label(const char *before, const char *name, const char *after);
/* Asks what a checkpoint of that workspace will be called; `typed` of the view gets it. */
void workspace_ask_checkpoint(struct view *v, const char *name);
void workspace_make_checkpoint(struct view *v, const char *path, const char *typed);
/* Asks, then makes a workspace `as` (NULL: of the same name) of an archive; removes for good what is named as
 * `berth workspace clean` does. */
void workspace_ask_unarchive(struct view *v, const char *path, const char *name, const char *as);
void workspace_ask_remove(struct view *v, const char *const *path, size_t n, size_t hidden);
/* Asks, then archives it; sets its limits, "2G" or "2G 20000". */
void workspace_ask_archive(struct view *v, const char *path, const char *name);
void workspace_set_limit(struct view *v, const char *path, const char *typed);
char *workspace_path(char buf[WORKSPACE_PATH_MAX], enum workspace_kind kind, const char *name);

#endif
