/* take_plan.h - the private part of a plan of files to apply. */
#ifndef WORKSPACE_TAKE_PLAN_H
#define WORKSPACE_TAKE_PLAN_H

#include <pthread.h>
#include <sys/stat.h>

#include <berth/files.h>
#include <berth/take.h>

#define TAKE_TEXT_MAX (8ull << 20)  /* of which lines are compared, and which is held */
#define TAKE_HELD_MAX (64ull << 20) /* of all that is */
#define TAKE_BLOCK (256u << 10)

/* Beside each item. */
struct taking {
	struct plan *plan;
	struct checkpoint_entry entry; /* in `from` */
	bool held;                     /* in `content`; else it is read when it is needed */
	struct str content, old;       /* old: the target's, for hunks, where it is `compared` */
	struct str made;               /* where only some hunks pass: all of it */
	bool compared, partly;
	struct files_token token; /* of what the target has */
	bool there;               /* in the target */
	int executable;           /* what becomes of it there, as in struct files_put */
	struct checkpoint_reader *reader;
	struct take_secret *secret; /* of one that is not held */
	size_t nsecret, cap_secret;
	const char *unchecked; /* why */
};

struct plan {
	struct take public;
	struct take_wish wish;
	struct checkpoint_changes changes;
	struct taking *taking;
	size_t cap_item, cap_taking, cap_secret, cap_unchecked, cap_runs, cap_hunk;
	uint64_t bytes, held;
	pthread_mutex_t opening; /* of readers */
	struct files *files;
	struct files_root *into;
};

static inline bool take_is_executable(uint32_t mode)
{
	return S_ISREG(mode) && mode & 0111;
}

static inline void take_set_fate(struct take_item *item, enum take_fate fate, const char *why)
{
	item->fate = fate;
	item->why = why;
}

/* take_target.c: what the target has under this name, opened only to look at it; -1: nothing, or *why not. */
int take_look_into(int into, const char *path, const char **why);
/* The fate of what the target has a file of; reads both as far as that asks for.  -1: what is taken cannot be read. */
int take_judge(struct plan *p, struct take_item *item, struct taking *x, struct err *e);

/* take_bare.c: no directory of the target becomes a bare git repository, and none that is one is written to. */
struct take_bare;
struct take_bare *take_bare_begin(const struct take *t); /* uses the paths of t */
/* Names of which it matters whether the target has them; they are b's. */
size_t take_bare_ask(struct take_bare *b, char *const **ret);
void take_bare_drop(struct take_bare *b, struct take *t, int into);
void take_bare_end(struct take_bare *b);

/* take_runs.c: a sentence on which tool runs what is in the file, or NULL; `content` NULL: not at hand. */
const char *take_what_runs(const char *path, const struct str *content);

#endif
