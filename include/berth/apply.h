/*
 * apply.h - applies files of an agent's workspace to a directory of the user as one batch.
 *
 * A plan reads both sides and changes nothing; carrying it out writes all of it or none, and nothing that has
 * changed since the plan.  Of a tree whose start is known only what changed since passes, and a file of the
 * target that is neither what it was at the start nor what is taken is in conflict; without a start every file
 * that differs is.
 *
 * Regular files pass, with their content and whether they may be executed.  Links, devices, FIFOs and sockets
 * never do, nor does anything called .git: a configuration or a hook in it is a program of the agent's.  Nor does
 * what would make a directory of the target a bare git repository, or is in one.  Other files by which a tool runs
 * what the agent wrote (a Makefile, .envrc) pass, and are listed.  Set-id bits, extended attributes (capabilities)
 * and owners are dropped and listed. Removed files are only listed.  In the target no symbolic link is followed and
 * no mount crossed.
 *
 * Hunks are between what the target holds now and what is taken; a file in conflict may be taken in part, too, and what
 * was chosen of it passes as with force once a person has seen it.
 *
 * Files of up to 8 MiB are held while the plan lives, at most 64 MiB of them; all others are read when they are compared,
 * looked through for secrets and written, and are as they were planned or the batch fails.
 *
 * Limits: 256 GiB and 100,000 files a batch, and no more than there is room for.
 * Thread: any.
 * Errors: ERR_NOT_FOUND (no such path), ERR_REFUSED (a limit), ERR_CONFLICT, and those of files.h.
 */
#ifndef BERTH_APPLY_H
#define BERTH_APPLY_H

#include "checkpoint.h"
#include "diff.h"
#include "workspace.h"

enum apply_fate {
	APPLY_NEW,      /* the target has none */
	APPLY_CHANGED,  /* the target has it as it was at the start */
	APPLY_SAME,     /* the target has it already */
	APPLY_CONFLICT, /* the target has another: passes only with force */
	APPLY_BLOCKED,  /* something is in its place that is not written to: a link, a directory */
	APPLY_DROPPED,  /* it never passes */
	APPLY_LEFT,     /* none of its hunks was chosen */
	APPLY_FATES
};

struct apply_item {
	const char *path; /* the same in both */
	enum apply_fate fate;
	const char *why;     /* in words; NULL: there is nothing more to say */
	const char *without; /* what of it does not pass; NULL: nothing */
	uint64_t size;
	bool executable;
};

/* A likely secret in what passes. */
struct apply_secret {
	const char *path, *what;
	unsigned line;
};

/* What was not looked through for secrets to its end. */
struct apply_unchecked {
	const char *path, *why;
};

/* What of the files that pass some tool of the person's runs. */
struct apply_runs {
	const char *path, *what; /* what: a sentence */
};

/* What a person may choose of what passes: lines of a text that differ from the target's, or a file as a whole. */
struct apply_hunk {
	size_t item;
	bool whole;          /* a new file, or no text */
	struct change lines; /* from the target's to what is taken */
};

struct apply {
	struct apply_item *item; /* by path */
	struct apply_secret *secret;
	struct apply_unchecked *unchecked;
	struct apply_runs *runs;
	struct apply_hunk *hunk; /* in the order of items, where it was wished for */
	size_t nitem, nsecret, nunchecked, nruns, nhunk;
	uint64_t count[APPLY_FATES];
};

struct apply_wish {
	struct checkpoint_tree *from, *start; /* start NULL: not known */
	const char *const *path;              /* files, or directories with all below; "." is all */
	size_t npath;
	const char *own; /* a path that is never taken without a word, "context.json"; NULL: none */
	int into;        /* the target, an open directory; the caller's */
	bool hunks;
	/* Where the target is no directory of files but, say, a commit: brings what it has under these paths into `into`
	 * before that is looked at; or NULL. */
	int (*fetch)(void *ctx, const char *const *path, size_t n, struct err *e);
	void *ctx;
};

/* The texts are the plan's; the trees must stay as long.  NULL: *e. */
struct apply *apply_prepare(const struct apply_wish *wish, struct err *e);
/* What both sides hold of the items, as far as the plan knows them: another plan with the same says and does the same. */
#define APPLY_ID_MAX 33
char *apply_id(const struct apply *t, char id[APPLY_ID_MAX]);
/* A hunk of a text in unified form, with three lines around it; of a whole file nothing. */
void apply_show_hunk(const struct apply *t, size_t hunk, struct str *out);
/* Only these hunks pass from now on: chosen[0..nhunk). */
void apply_choose(struct apply *t, const bool *chosen);
/* ERR_CONFLICT where something is in conflict, and not `force`, or blocked. */
int apply_carry_out(struct apply *t, bool force, struct err *e);
void apply_free(struct apply *t); /* NULL is fine */

#endif
