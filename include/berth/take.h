/*
 * take.h - files of an agent's tree into a directory of a person's: what may pass, what is in the way, as one batch.
 *
 * A plan reads both sides and changes nothing; carrying it out writes all of it or none, and nothing that has
 * changed since the plan.  Of a tree whose start is known only what changed since passes, and a file of the
 * target that is neither what it was at the start nor what is taken is in conflict; without a start every file
 * that differs is.
 *
 * Regular files pass, with their content and whether they may be executed.  Links, devices, FIFOs and sockets
 * never do, nor does anything called .git: a configuration or a hook in it is a program of the agent's.  Nor do
 * set-id bits, extended attributes (capabilities) and owners: the file is told and passes without.  What was
 * removed there is told only.  In the target no symbolic link is followed and no mount crossed.
 *
 * Limits: 64 MiB a file, 256 MiB and 100,000 files a batch.
 * Thread: any.
 * Errors: ERR_NOT_FOUND (no such path), ERR_REFUSED (a limit), ERR_CONFLICT, and those of files.h.
 */
#ifndef BERTH_TAKE_H
#define BERTH_TAKE_H

#include "checkpoint.h"
#include "workspace.h"

enum take_fate {
	TAKE_NEW,      /* the target has none */
	TAKE_CHANGED,  /* the target has it as it was at the start */
	TAKE_SAME,     /* the target has it already */
	TAKE_CONFLICT, /* the target has another: passes only with force */
	TAKE_BLOCKED,  /* something is in its place that is not written to: a link, a directory */
	TAKE_DROPPED   /* it never passes */
};

struct take_item {
	const char *path; /* the same in both */
	enum take_fate fate;
	const char *why;     /* of the last three, in words */
	const char *without; /* what of it does not pass; NULL: nothing */
	uint64_t size;
	bool executable;
};

/* A likely secret in what passes. */
struct take_secret {
	const char *path, *what;
	unsigned line;
};

struct take {
	struct take_item *item; /* by path */
	struct take_secret *secret;
	size_t nitem, nsecret;
	uint64_t count[TAKE_DROPPED + 1];
};

struct take_wish {
	struct checkpoint_tree *from, *start; /* start NULL: not known */
	const char *const *path;              /* files, or directories with all below; "." is all */
	size_t npath;
	const char *own; /* a path that is never taken without a word, "context.json"; NULL: none */
	int into;        /* the target, an open directory; the caller's */
};

/* The texts are the plan's; the trees must stay as long.  NULL: *e. */
struct take *take_prepare(const struct take_wish *wish, struct err *e);
/* ERR_CONFLICT where something is in conflict, and not `force`, or blocked. */
int take_carry_out(struct take *t, bool force, struct err *e);
void take_free(struct take *t); /* NULL is fine */

#endif
