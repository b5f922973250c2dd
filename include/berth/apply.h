/*
 * apply.h - applies files of an agent's workspace to a directory of the user as one batch.
 *
 * Making a plan reads both sides and changes nothing.  Carrying it out writes everything or nothing, and nothing that has
 * changed since the plan.  If the start of the tree is known, only what changed since then is applied; a file of the
 * target that equals neither the start nor the new version is a conflict.  Without a start, every file that differs is.
 *
 * Regular files are applied with their content and executable bit.  Links, devices, FIFOs and sockets never are, nor is
 * anything called .git: a configuration or a hook in it is a program of the agent's.  Nor is anything that would turn a
 * directory of the target into a bare git repository, or that is in one.  Other files from which a tool runs what the
 * agent wrote (a Makefile, .envrc) are applied and listed.  Set-id bits, extended attributes (capabilities) and owners are
 * dropped and listed.  Removed files are only listed.  In the target, no symbolic link is followed and no mount crossed.
 *
 * Hunks are between what the target holds now and the new version.  A file in conflict may be applied in part, too; the
 * hunks that a person chose are applied as with force.
 *
 * Files of up to 8 MiB are kept in memory while the plan exists, at most 64 MiB in total.  All others are read again when
 * they are compared, searched for secrets and written; if one has changed since the plan, the batch fails.
 *
 * Limits: 256 GiB and 100,000 files per batch, and the free space of the target.
 * Thread: any.
 * Errors: ERR_NOT_FOUND (no such path), ERR_REFUSED (a limit), ERR_CONFLICT, and those of files.h.
 */
#ifndef BERTH_APPLY_H
#define BERTH_APPLY_H

#include "checkpoint.h"
#include "diff.h"
#include "workspace.h"

enum apply_fate {
	APPLY_NEW,      /* not in the target */
	APPLY_CHANGED,  /* in the target as it was at the start */
	APPLY_SAME,     /* equal in the target */
	APPLY_CONFLICT, /* different in the target: applied only with force */
	APPLY_BLOCKED,  /* the target has something else there: a link, a directory */
	APPLY_DROPPED,  /* never applied */
	APPLY_LEFT,     /* none of its hunks was chosen */
	APPLY_FATES
};

struct apply_item {
	const char *path; /* relative to both trees */
	enum apply_fate fate;
	const char *why;     /* in words; NULL: there is nothing more to say */
	const char *without; /* what of it is not applied; NULL: nothing */
	uint64_t size;
	bool executable;
};

/* A likely secret in a file to apply. */
struct apply_secret {
	const char *path, *what;
	unsigned line;
};

/* A file that was not searched completely for secrets. */
struct apply_unchecked {
	const char *path, *why;
};

/* A file to apply that some tool of the user runs. */
struct apply_runs {
	const char *path, *what; /* what: a sentence */
};

/* A part that can be chosen: lines that differ from the target's, or a whole file. */
struct apply_hunk {
	size_t item;
	bool whole;          /* a new file, or not text */
	struct change lines; /* from the target's to the new ones */
};

struct apply {
	struct apply_item *item; /* by path */
	struct apply_secret *secret;
	struct apply_unchecked *unchecked;
	struct apply_runs *runs;
	struct apply_hunk *hunk; /* in the order of items, if asked for */
	size_t nitem, nsecret, nunchecked, nruns, nhunk;
	size_t nchanged; /* items dropped because they were removed or changed while they were read */
	uint64_t count[APPLY_FATES];
};

struct apply_wish {
	struct checkpoint_tree *from, *start; /* start NULL: not known */
	const char *const
		*path; /* files, or directories with everything below; "." is everything */
	size_t npath;
	const char *
		own; /* a path that is skipped unless named explicitly, "context.json"; NULL: none */
	int into;    /* the target, an open directory; the caller's */
	bool settle; /* what another process had begun to write there when it died is finished first */
	bool hunks;
	/* For a target that is not a directory, such as a commit: writes its files at these paths to `into` before they are
	 * compared; or NULL. */
	int (*fetch)(void *ctx, const char *const *path, size_t n, struct err *e);
	void *ctx;
};

/* The strings belong to the plan; the trees must stay open as long.  NULL: *e. */
struct apply *apply_prepare(const struct apply_wish *wish, struct err *e);
/* Identifies the plan: the items and their contents on both sides.  Plans with the same id are the same. */
#define APPLY_ID_MAX 33
char *apply_id(const struct apply *t, char id[APPLY_ID_MAX]);
/* A hunk in unified form with three lines of context, likely secrets masked but with `secrets`; nothing for a whole file. */
void apply_show_hunk(struct apply *t, size_t hunk, bool secrets, struct str *out);
/* Apply only these hunks: chosen[0..nhunk). */
void apply_choose(struct apply *t, const bool *chosen);
/* ERR_CONFLICT if an item is blocked, or in conflict without `force`. */
int apply_carry_out(struct apply *t, bool force, struct err *e);
void apply_free(struct apply *t); /* NULL is fine */

#endif
