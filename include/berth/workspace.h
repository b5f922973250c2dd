/*
 * workspace.h - the tree in which agents work: tasks, projects, what they share.
 *
 *   tasks/ID              temporary, one for each task
 *   projects/NAME         stays; a git repository with tasks/ of its own
 *   shared/templates, libraries, datasets, configs, inter_task
 *
 * A workspace is there as a whole or not at all, after kill -9 too: it is made under a hidden name beside
 * its place and renamed.  What a dead process left unfinished goes at the next workspaces_open.  (Nothing
 * is synced: a power failure may cost the newest ones.)
 *
 * Names: 1 to 64 of A-Z a-z 0-9 . _ - and no dot in front.
 * Thread: any; one struct workspaces per thread.  Processes wait for each other (a lock on the tree).
 * Errors: ERR_SYS, ERR_USAGE (a name), ERR_CONFLICT (exists), ERR_NOT_FOUND, ERR_REFUSED (not ours, or no
 * directory).
 */
#ifndef BERTH_WORKSPACE_H
#define BERTH_WORKSPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define WORKSPACE_NAME_MAX 64

enum workspace_kind { WORKSPACE_TASK, WORKSPACE_PROJECT, WORKSPACE_KINDS };
const char *workspace_kind_name(enum workspace_kind k);   /* "task" */
const char *workspace_kind_folder(enum workspace_kind k); /* "tasks": where it lies in the tree */

/* How a task ended, as a person or a program said; a project is always open. */
enum workspace_state { WORKSPACE_OPEN, WORKSPACE_DONE, WORKSPACE_FAILED, WORKSPACE_STATES };
const char *workspace_state_name(enum workspace_state s); /* "done" */

struct workspaces;

/* Makes what is missing of the tree; the parent of `dir` must exist.  `dir` is ours alone (0700). */
struct workspaces *workspaces_open(const char *dir, struct err *e);
void workspaces_close(struct workspaces *w); /* NULL is fine */

struct workspace_new {
	enum workspace_kind kind;
	const char *name;
	const char *prompt; /* of a task; NULL: none */
	const char
		*environment; /* of a task, for its context.json: an image, say; NULL: not known */
	int64_t now_ms;       /* Unix time that context.json says */
	uid_t uid;            /* who shall own it and all in it; (uid_t)-1: this process's user */
	gid_t gid;            /* (gid_t)-1: this process's group */
	/* Fills its empty directory, owner and mode too, in place of all that it would begin with; NULL: no.  The
	 * context.json of a task is then made anew, where it has one. */
	int (*fill)(void *ctx, int dir, struct err *e);
	void *ctx;
};
int workspace_create(struct workspaces *w, const struct workspace_new *n, struct err *e);

struct workspace_info {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	uid_t uid;
	gid_t gid;
	mode_t mode;        /* permission bits */
	uint64_t inode;     /* of its top directory */
	int64_t changed_ns; /* Unix time of the last change of its top directory */
	enum workspace_state state;
	int64_t ended_ms; /* Unix time; 0 while it is open */
};
/* Tasks first, by name; free(*ret).  What is no directory, or has no such name, is none. */
int workspace_list(struct workspaces *w, struct workspace_info **ret, size_t *n, struct err *e);
/* Says how a task ended, or with WORKSPACE_OPEN that it goes on.  On disk when this returns; kept where no task
 * can write, and of this directory alone: a new task of that name is open. */
int workspace_end(struct workspaces *w, const char *name, enum workspace_state state,
	int64_t now_ms, struct err *e);
/* Its directory, opened for reading: nothing can be put in its place.  -1: *e. */
int workspace_enter(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

/* How much is in one.  What is mounted in it is not counted, each name of a file is. */
struct workspace_usage {
	struct workspace_info info;
	uint64_t files, dirs, others; /* others: links, devices, ... */
	uint64_t bytes;               /* of files */
	uint64_t unread;              /* directories that could not be read */
	int64_t used_ns;              /* Unix time of the newest change of anything in it */
	int64_t counted_ns;           /* Unix time at which this was counted */
};
/* Of one, counted now. */
int workspace_count(struct workspaces *w, enum workspace_kind kind, const char *name,
	struct workspace_usage *ret, struct err *e);
/* Of all, in the order of workspace_list; free(*ret).  `cached`: what was counted last is good enough, and only
 * those are counted of which nothing is known. */
int workspace_usage(
	struct workspaces *w, bool cached, struct workspace_usage **ret, size_t *n, struct err *e);

/*
 * Likely secrets in a file: what leaves a workspace is looked at by this first.  By the last part of `path`
 * (line 0: ".env" that is not empty), by tokens of known forms, private keys, passwords in addresses, and
 * values of names that tell a secret; at most one for each line (from 1 on).  `what` is words for a person
 * ("a token of GitHub"); the secret itself is never told.  Any bytes will do; none is a proof that there
 * are none.  Returns how many; `tell` may be NULL.
 */
typedef void workspace_secret_fn(void *ctx, const char *path, unsigned line, const char *what);
size_t workspace_find_secrets(
	const char *path, const char *bytes, size_t n, workspace_secret_fn *tell, void *ctx);

#endif
