/*
 * view.h - a view is one file in views/ ending in one const ops struct; the list is terminal/action.h.
 *
 * The app owns the snapshot, the canvas and the key map and calls the ops on the main thread. Views
 * send commands through app_send and never block.  All ops but `title` and `draw` may be NULL.
 */
#ifndef APP_VIEW_H
#define APP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/err.h>
#include <berth/snapshot.h>

#include "terminal/terminal.h"

struct app;
struct event; /* message.h */
struct jsonw;
struct node; /* config.h */
struct str;
struct task; /* task.h */

struct view {
	const struct view_ops *ops;
	struct app *app;
	void *state;      /* what the view keeps between calls; ops->state_size bytes, zeroed */
	const void *seed; /* what app_push was given; valid during `open` */
};

struct view_ops {
	const char *name;      /* "containers": palette, script, config */
	const char *tab;       /* "Containers"; NULL: pushed on top (inspect, help), no tab */
	const char *tab_short; /* for narrow screens */
	uint32_t context;      /* IN_CONTAINERS ... */
	size_t state_size;
	void (*open)(struct view *v);
	void (*close)(struct view *v);
	/* What a person chose here lasts: written into an object when the console ends, and read from one after
	 * `open`.  That came from a file: what makes no sense is left out. */
	void (*keep)(struct view *v, struct jsonw *j);
	void (*recall)(struct view *v, const struct node *kept);
	void (*show)(struct view *v); /* it became the one on screen, after `snapshot` */
	void (*hide)(struct view *v);
	/* Paints what is there and notes where.  Body only; header, tabs, message line and keys are the
	 * app's. */
	void (*draw)(struct view *v, struct canvas *c, struct area body);
	void (*step)(struct view *v);  /* before a picture: a slice of work that takes several */
	void (*drawn)(struct view *v); /* after it: the backend may be told what is on screen */
	/* true: done; false: the app handles it (movement of nothing, quitting, ...). */
	bool (*act)(struct view *v, enum action a);
	/* Would policy refuse all that this action is about now?  Then it is shown in grey. */
	bool (*refused)(struct view *v, enum action a);
	/* Is there something here now to do that to?  Where there is not its key is not offered.  NULL: always. */
	bool (*offers)(struct view *v, enum action a);
	/* A newer one than it has had, which ends: for the view on screen alone.  Others get the newest
	 * when it is their turn; until then what they keep may point into the one they had. */
	void (*snapshot)(struct view *v, const struct snapshot *s);
	/* Came, on screen or not: only for what cannot wait. */
	void (*pulse)(struct view *v, const struct snapshot *s);
	void (*event)(struct view *v, const struct event *e);
	void (*click)(struct view *v, int x, int y, bool twice); /* relative to the body */
	void (*wheel)(struct view *v, int lines);
	/* Live text of the filter or search prompt; NULL text: cancelled.  `done` when Enter. */
	bool (*filter)(struct view *v, const char *text, bool done, struct err *e);
	/* The same of app_ask. */
	bool (*typed)(struct view *v, const char *text, bool done, struct err *e);
	/* `:sort COLUMN`; -1 and what there is to sort by. */
	int (*sort)(struct view *v, const char *column, struct err *e);
	const char *filter_word; /* what that does here, for the keys; NULL: "filter" */
	const char *filter_hint; /* how it may be written; NULL: a regular expression, for rows */
	/* The container of the row under the cursor, for a command of the person's own; NULL: none. */
	const struct container *(*row)(struct view *v);
	/* Shown beside the tabs: "filter: web  3 of 12"; may leave it empty. */
	void (*status)(struct view *v, char *buf, size_t cap);
	/* What it has started that ends with the console: "benchmarks"; NULL: nothing. */
	const char *(*runs)(struct view *v);
	/* What `y` copies and `C-s` saves; false: nothing to offer. */
	bool (*copy)(struct view *v, struct str *out);
	bool (*save)(struct view *v, struct str *out);
	/* The command typed for app_prompt_run was sent, to that one agent's container. */
	void (*ran)(struct view *v, const char *name);
	/* What app_run_task began has ended.  true: nothing more need be said of it. */
	bool (*task)(struct view *v, const struct task *t);
	void (*file)(struct view *v, const char *path); /* the answer to app_ask_file, absolute */
};

#endif
