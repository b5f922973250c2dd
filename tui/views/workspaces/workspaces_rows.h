/*
 * workspaces_rows.h - the rows of the Workspaces view, with the containers that hold each.
 *
 * Thread: main.
 */
#ifndef WORKSPACES_ROWS_H
#define WORKSPACES_ROWS_H

#include <berth/overview.h>
#include <berth/settings.h>
#include <berth/snapshot.h>

#include "widgets/widgets.h"

/* Whose container has a workspace mounted, as of the newest snapshot. */
struct workspace_held {
	const char *name;          /* agent, else container; NULL: nobody */
	const struct container *c; /* NULL: an agent that is down */
	bool runs, agent;
	unsigned more; /* further ones */
};

struct workspace_sum {
	size_t n, state[WORKSPACE_STATES], uncounted;
	uint64_t bytes, files;
};

struct workspace_row {
	const struct overview_row *w; /* NULL: a head, an archive, or a folder of shared/ */
	const struct overview_shared *shared;
	const struct overview_archive *archive;
	const char *group;              /* of a head: "tasks" */
	bool packed;                    /* that head's rows are archives */
	struct workspace_limits limits; /* of w */
	struct workspace_sum sum;
	struct workspace_held holder;
	int64_t now_ms;
};

static inline const struct workspace_row *workspace_of(const struct table_row *r)
{
	return r->item;
}

/* "in use", "open", "done", "failed" */
const char *workspace_row_word(const struct workspace_row *r, struct style *st, enum glyph *sign);
void workspace_row_age(char *buf, size_t cap, int64_t now_ms, int64_t then_ns); /* "3 h ago" */

/* What was said of it, or goes for all. */
struct workspace_limits workspace_row_limits(
	const struct settings *s, const struct overview_row *w);
/* How much of a limit is used, 0..; less than 0: not known, or there is no limit. */
double workspace_fill_bytes(const struct workspace_row *r);
double workspace_fill_files(const struct workspace_row *r);
/* The keeper sees in it what a person should look at: executables alone are nothing special. */
bool workspace_row_flagged(const struct overview_row *w);
/* How many names count: the directory itself does not. */
uint64_t workspace_names(const struct workspace_usage *u);

/* Fills in the holders of rows[0..n), which are in the order of the overview `o`. */
void workspaces_hold(
	const struct overview *o, const struct snapshot *s, struct workspace_row *rows, size_t n);

/* A copy that lives in `mem`. */
struct overview overview_keep(const struct overview *o, struct arena *mem);

extern const struct table_column workspace_columns[];
extern const size_t workspace_ncolumns;

#endif
