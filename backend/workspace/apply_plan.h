/* apply_plan.h - the private part of a plan of files to apply. */
#ifndef WORKSPACE_APPLY_PLAN_H
#define WORKSPACE_APPLY_PLAN_H

#include <pthread.h>
#include <sys/stat.h>

#include <berth/files.h>
#include <berth/apply.h>

#define APPLY_TEXT_MAX (8ull << 20)  /* of which lines are compared, and which is held */
#define APPLY_HELD_MAX (64ull << 20) /* of all that is */
#define APPLY_BLOCK (256u << 10)

/* Beside each item. */
struct applying {
	struct plan *plan;
	struct checkpoint_entry entry; /* in `from` */
	bool held;                     /* in `content`; else it is read when it is needed */
	struct str content, old;       /* old: the target's, for hunks, where it is `compared` */
	struct str made;               /* where only some hunks pass: all of it */
	struct str old_masked,
		masked; /* both, once a hunk was shown, where likely secrets are in them */
	bool looked;    /* for those */
	bool compared, partly;
	struct files_token token; /* of what the target has */
	bool there;               /* in the target */
	int executable;           /* what becomes of it there, as in struct files_put */
	struct checkpoint_reader *reader;
	struct apply_secret *secret; /* of one that is not held */
	size_t nsecret, cap_secret;
	const char *unchecked; /* why */
};

struct plan {
	struct apply public;
	struct apply_wish wish;
	struct checkpoint_changes changes;
	struct applying *applying;
	size_t cap_item, cap_applying, cap_secret, cap_unchecked, cap_runs, cap_hunk;
	uint64_t bytes, held;
	pthread_mutex_t opening; /* of readers */
	struct files *files;
	struct files_root *into;
};

static inline bool apply_is_executable(uint32_t mode)
{
	return S_ISREG(mode) && mode & 0111;
}

static inline void apply_set_fate(struct apply_item *item, enum apply_fate fate, const char *why)
{
	item->fate = fate;
	item->why = why;
}

/* apply_target.c: what the target has under this name, opened only to look at it; -1: nothing, or *why not. */
int apply_look_into(int into, const char *path, const char **why);
/* The fate of what the target has a file of; reads both as far as that asks for.  -1: what is taken cannot be read. */
int apply_judge(struct plan *p, struct apply_item *item, struct applying *x, struct err *e);

/* apply_bare.c: no directory of the target becomes a bare git repository, and none that is one is written to. */
struct apply_bare;
struct apply_bare *apply_bare_begin(const struct apply *t); /* uses the paths of t */
/* Names of which it matters whether the target has them; they are b's. */
size_t apply_bare_ask(struct apply_bare *b, char *const **ret);
void apply_bare_drop(struct apply_bare *b, struct apply *t, int into);
void apply_bare_end(struct apply_bare *b);

/* apply_runs.c: a sentence on which tool runs what is in the file, or NULL; `content` NULL: not at hand. */
const char *apply_what_runs(const char *path, const struct str *content);
/* Whether some file system takes the path's component `part` for `name`. */
bool apply_is_named(const char *part, const char *name);
/* The next character of a path (up to `end`; NULL: all of it), folded as the least strict of file systems folds names; 0: no
 * more. */
uint32_t apply_next_letter(const char **at, const char *end);

#endif
