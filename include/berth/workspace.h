/*
 * workspace.h - the tree in which agents work: tasks, projects, shared files.
 *
 *   tasks/ID              temporary, one for each task
 *   projects/NAME         stays; a git repository with tasks/ of its own
 *   shared/templates, libraries, datasets, configs, inter_task
 *
 * A workspace is there as a whole or not at all, after kill -9 too: it is made under a hidden name beside
 * its place and renamed.  What a dead process left unfinished goes at the next workspaces_open, or where another
 * process changes the tree just then with the next change.  (Nothing is synced: a power failure may cost the newest
 * ones.)
 *
 * Names: 1 to 64 of A-Z a-z 0-9 . _ - and no dot in front.
 * Thread: any; one struct workspaces per thread.  Processes that change the tree wait for each other
 * (a lock on it); to open it, and to use a workspace that is there, waits for nobody.
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
#include "repo.h"
#include "str.h"

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
/* To look only: makes and mends nothing and waits for nobody.  ERR_NOT_FOUND: there is no such tree yet. */
struct workspaces *workspaces_peek(const char *dir, struct err *e);
void workspaces_close(struct workspaces *w); /* NULL is fine */
/* What of it could not be removed when it was opened, and why; no kind: nothing. */
const struct err *workspaces_left(const struct workspaces *w);

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
	bool as_it_was; /* but not the context.json */
	/* Of a task, where root is asked, without fill: it is a file system of its own (ext4) with room for that, in an
	 * image whose space is taken at once.  workspaces_open mounts it, after a reboot too; where it is not mounted
	 * nobody can enter it.  workspace_limit makes it larger.  NULL: it lies in the tree's file system. */
	const struct workspace_limits *image;
};
int workspace_create(struct workspaces *w, const struct workspace_new *n, struct err *e);

/* Several that are filled at once and are in all else as n says, whose name, fill and image take no part.  Each is
 * there as a whole, or `err` says why it is not: ERR_CONFLICT, for one, where there is one of its name. */
struct workspace_one {
	const char *name;
	int dir; /* while it is filled; -1: it was not begun, and is none of fill's business */
	struct err err;
};
typedef void workspace_fill_fn(void *ctx, struct workspace_one *all, size_t count);
/* -1: nothing was tried. */
int workspace_create_together(struct workspaces *w, const struct workspace_new *n,
	struct workspace_one *all, size_t count, workspace_fill_fn *fill, struct err *e);

struct workspace_info {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	uid_t uid;
	gid_t gid;
	mode_t mode;        /* permission bits */
	uint64_t inode;     /* of its top directory, or of its image */
	bool unmounted;     /* it has an image, which is not in its place: nothing else is known */
	int64_t changed_ns; /* Unix time of the last change of its top directory */
	enum workspace_state state;
	int64_t ended_ms; /* Unix time; 0 while it is open */
};
/* Tasks first, by name; free(*ret).  What is not a directory, or has no such name, is none. */
int workspace_list(struct workspaces *w, struct workspace_info **ret, size_t *n, struct err *e);
/* Says how a task ended, or with WORKSPACE_OPEN that it goes on.  On disk when this returns; kept where no task
 * can write, and of this directory alone: a new task of that name is open. */
int workspace_end(struct workspaces *w, const char *name, enum workspace_state state,
	int64_t now_ms, struct err *e);
/* The hashes of a task that failed, and is kept for a while, saved where no task can write until it is marked anew.
 * ERR_CONFLICT: it did not fail, or a container has it. */
int workspace_seal(struct workspaces *w, const char *name, struct err *e);
bool workspace_is_sealed(struct workspaces *w, const char *name);
/* Is it still what it was?  *sealed false: nothing is known.  ERR_FAILED names the first file that differs. */
int workspace_verify_kept(struct workspaces *w, const char *name, bool *sealed, struct err *e);
/* Its directory, opened for reading: nothing can be put in its place.  -1: *e. */
int workspace_enter(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

/*
 * Which containers have a workspace mounted, from `berth up` to `berth down`: kept where no task can write, and of
 * this directory alone, as how it ended is.  A stopped container holds it, too: it may be started again.
 */
struct workspace_holder {
	char container[64], agent[64], engine[128];
	int64_t every_s,
		keep; /* a checkpoint so often, so many of them are kept; 0: none by a clock */
};
#define WORKSPACE_HOLDERS_MAX 16
/* A task has one, a project several.  1: it does from now on; 0: it did already.  ERR_CONFLICT: another does. */
int workspace_hold(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_holder *by, struct err *e);
/*
 * Until so many tasks have a container, or all tasks together hold so much, others wait in line: a turn is a file that is
 * locked, so one that dies leaves the line.  1: this container's task may begin (or it has one already); 0: not yet, ask
 * again later, *ret says why.  The place in line is kept in *t until workspace_turn_end, after workspace_hold.
 */
struct workspace_most {
	size_t active;  /* tasks that have a container at a time */
	uint64_t bytes; /* of all tasks, as limits count them; 0, both: any number */
};
#define WORKSPACE_LARGEST 3
struct workspace_total {
	uint64_t bytes;
	size_t n; /* of largest */
	struct workspace_large {
		char name[WORKSPACE_NAME_MAX + 1];
		enum workspace_state state;
		uint64_t bytes;
	} largest[WORKSPACE_LARGEST];
};
/* Of all tasks; counts those that were counted before that Unix time, or never. */
int workspace_sum_tasks(
	struct workspaces *w, int64_t older_ns, struct workspace_total *ret, struct err *e);
struct workspace_turn {
	int fd;                       /* -1: not in line */
	char name[16];                /* then "" */
	struct workspace_total total; /* where bytes are limited */
	int64_t summed_ns;            /* monotonic; 0: not yet */
};
struct workspace_line {
	size_t active, before; /* tasks that have a container; who waits before this one */
	bool mine;             /* it has one already */
	bool full;             /* the total is over its limit: t->total */
};
int workspace_turn(struct workspaces *w, const struct workspace_holder *by,
	const struct workspace_most *most, struct workspace_turn *t, struct workspace_line *ret,
	struct err *e);
void workspace_turn_end(struct workspaces *w, struct workspace_turn *t);
/* Whatever this container of this engine held, it does so no longer. */
int workspace_release(
	struct workspaces *w, const char *container, const char *engine, struct err *e);
size_t workspace_holders(struct workspaces *w, const struct workspace_info *i,
	struct workspace_holder ret[WORKSPACE_HOLDERS_MAX]);
/* -1, ERR_CONFLICT: a container has it, and it is not to be archived, moved or removed. */
int workspace_check_free(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

/* What a team file says of it: "task:ID" or "project:NAME".  NULL: it is neither; else ID or NAME, as it was
 * written, however wrong. */
const char *workspace_word(const char *said, enum workspace_kind *kind);

/* Where lies what other tasks hand over to a task, shared/inter_task/TO, or of that what FROM did (NULL: all).
 * Made where it is missing, opened for reading; all may read it but who has no way to it.  -1: *e. */
int workspace_inbox(struct workspaces *w, const char *to, const char *from, struct err *e);

/*
 * How much one may hold, as a person said; counted, by `berth workspace keep` (keeper.h), while a container has
 * it.  Kept where no task can write, and of this directory alone.
 */
enum workspace_breach {
	WORKSPACE_FREEZE, /* its containers stand still until there is room, or a person lets them go on */
	WORKSPACE_WARN,   /* it is recorded, and that is all */
	WORKSPACE_KILL,   /* what runs in its containers is ended */
	WORKSPACE_REFUSE, /* what runs goes on, and new commands and writes of berth's are refused */
	WORKSPACE_BREACHES
};
const char *workspace_breach_name(enum workspace_breach b); /* "freeze" */
struct workspace_limits {
	uint64_t bytes, files; /* 0: no limit */
	enum workspace_breach breach;
	uint64_t let_bytes,
		let_files; /* so much was in it when a person let it go on: more is a breach again */
};
/* *ret, which holds what goes for all, gets what was said of this one. */
void workspace_limits(
	struct workspaces *w, const struct workspace_info *i, struct workspace_limits *ret);
int workspace_limit(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *l, struct err *e);

/*
 * The same kept by the file system itself, where it keeps quotas of projects (XFS, ext4; mounted with prjquota) and
 * berth is root's: what goes beyond fails.  It counts the space that is really taken, and each inode, the directory
 * itself, too.  Root's own writes may go further on ext4.
 */
struct workspace_quota {
	uint64_t bytes, files; /* 0: no limit */
	uint64_t used_bytes, used_files;
};
/* Can there be any in this tree, or an image, for this user?  One question for all of its workspaces. */
bool workspace_quotas(struct workspaces *w);
/* What keeps a limit of this directory beside berth's own count, if anything does. */
enum workspace_kept { WORKSPACE_COUNTED, WORKSPACE_PROJECT_QUOTA, WORKSPACE_LOOP_IMAGE };
enum workspace_kept workspace_quota(int dir, struct workspace_quota *ret);
const char *workspace_limit_kind(enum workspace_kept k); /* "counted", "project quota" */
/* Has what was said of it, or else `usual`, kept from now on for all that is in it.  Before anything runs in it: a
 * file that is moved about meanwhile may be missed.  1: it is; 0: it cannot be here, and is counted alone. */
int workspace_quota_begin(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *usual, struct err *e);

/* What counts: of each name of a regular file its size, or the disk space that it has where that is more; and how
 * many names there are, of directories too. */
struct workspace_amount {
	uint64_t bytes, files;
	uint64_t unread; /* directories that could not be read */
};
bool workspace_over(const struct workspace_limits *l, const struct workspace_amount *a);
/* Counted now, in the directory `dir`.  `tell` (or NULL) gets the path of each directory below it, before that is
 * read. */
typedef void workspace_dir_fn(void *ctx, const char *path);
int workspace_amount(
	int dir, struct workspace_amount *ret, workspace_dir_fn *tell, void *ctx, struct err *e);

/* How much is in one.  What is mounted in it is not counted, each name of a file is. */
struct workspace_usage {
	struct workspace_info info;
	uint64_t files, dirs, others; /* others: links, devices, ... */
	uint64_t bytes;               /* of files */
	uint64_t disk;                /* as limits count them: struct workspace_amount */
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
/* What was counted last, and nothing is counted now: counted_ns is 0 of what nothing is known of. */
int workspace_usage_known(
	struct workspaces *w, struct workspace_usage **ret, size_t *n, struct err *e);
/* Counts those that were counted before that Unix time, or never, and keeps that.  `go` (or NULL) is told which
 * comes next; it says false to stop. */
typedef bool workspace_go_fn(void *ctx, const struct workspace_info *next, size_t done, size_t all);
int workspace_usage_renew(
	struct workspaces *w, int64_t older_ns, workspace_go_fn *go, void *ctx, struct err *e);

/* The git state of a project, as it was seen last; looked_ns 0: never, or it is none. */
struct workspace_git {
	struct repo_state state;
	int64_t looked_ns; /* Unix time */
};
void workspace_git(struct workspaces *w, const struct workspace_info *i, struct workspace_git *ret);
/* Looks now, and keeps that. */
int workspace_git_look(
	struct workspaces *w, const char *name, struct workspace_git *ret, struct err *e);
/* As workspace_usage_renew. */
int workspace_git_renew(
	struct workspaces *w, int64_t older_ns, workspace_go_fn *go, void *ctx, struct err *e);

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
/* What it would find becomes asterisks, as many, of all lines alike: for whoever shows a content.  How many there are is
 * not what that tells. */
size_t workspace_mask_secrets(const char *path, char *bytes, size_t n);
/* Append a name, the target of a link or another short text, masked in the same way.  true: something was. */
bool workspace_add_masked(struct str *out, const char *text, size_t n);

/*
 * The end of one.  An archive is archives/tasks/NAME.tar.zst or archives/projects/NAME.tar.zst: synced, read back
 * and checked before its workspace goes.  Whenever a kill or a power failure comes, the data is in the workspace
 * or in the archive.  What runs in a container that has it mounted, or writes there meanwhile, keeps it from
 * being archived or removed (ERR_CONFLICT); nothing is then changed.
 */
struct workspace_archiving {
	enum workspace_kind kind;
	const char *name;
	const char *as; /* the archive's name; NULL: the same */
	int level;      /* of zstd */
	unsigned threads;
	workspace_secret_fn *leak; /* is told of likely secrets; or NULL */
	void *ctx;
};
struct workspace_archive {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	int64_t made_ms;              /* Unix time */
	uint64_t files, dirs, others; /* in it */
	uint64_t bytes, packed;       /* of the files; of the archive */
	bool damaged;                 /* seen at a glance; nothing but `packed` is then filled in */
};
struct workspace_unarchiving {
	enum workspace_kind kind;
	const char *name, *as; /* of the archive, of the workspace; as NULL: the same */
	bool keep;
	int64_t now_ms;
	void (*dropped)(void *ctx, const char *path, const char *what); /* or NULL */
	void *ctx;
};
int workspace_archive(struct workspaces *w, const struct workspace_archiving *o,
	struct workspace_archive *ret, struct err *e);
/* A new workspace `as` of what the archive holds; the archive goes, but with `keep`.  Told what does not pass, as
 * checkpoint_unarchive. */
int workspace_unarchive(struct workspaces *w, const struct workspace_unarchiving *o, struct err *e);
int workspace_verify_archive(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);
/* Opened for reading; *scratch becomes an empty file without a name beside it, for what is read from it. */
int workspace_open_archive(struct workspaces *w, enum workspace_kind kind, const char *name,
	int *scratch, struct err *e);
/* As workspace_list; of one. */
int workspace_archives(
	struct workspaces *w, struct workspace_archive **ret, size_t *n, struct err *e);
int workspace_show_archive(struct workspaces *w, enum workspace_kind kind, const char *name,
	struct workspace_archive *ret, struct err *e);
bool workspace_is_archived(struct workspaces *w, int kind, const char *name);
/* For good.  Its checkpoints stay. */
int workspace_remove(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

int workspace_remove_archive(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

/* What is due to end at `now_ms`, by the days that each is kept; less than 0: for ever. */
struct workspace_rules {
	int64_t done_days;   /* of tasks that are done: archived then */
	int64_t failed_days; /* of tasks that failed: removed then */
	int64_t idle_days;   /* of projects since anything in them changed: archived then */
	int64_t now_ms;
};
struct workspace_due {
	struct workspace_info info;
	bool remove;      /* else it is archived */
	int64_t since_ms; /* when it ended, or was used last */
};
/* As workspace_list. */
int workspace_list_due(struct workspaces *w, const struct workspace_rules *rules,
	struct workspace_due **ret, size_t *n, struct err *e);

#endif
