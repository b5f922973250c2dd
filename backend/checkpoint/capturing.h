/* capturing.h - the state of a running capture, shared by the lister and the readers. */
#ifndef CHECKPOINT_CAPTURING_H
#define CHECKPOINT_CAPTURING_H

#include <pthread.h>
#include <stdatomic.h>

#include "checkpoint/below.h"
#include "checkpoint/capture.h"

struct crew;

#define ATTRS_MAX (1u << 20) /* bytes of attributes of one entry */

enum mark {
	MARK_READ = 1,  /* its content is known */
	MARK_AGAIN = 2, /* its name is another's now, which is looked at again */
	MARK_GONE = 4
};

/* Attributes of a file that came into the place of the one that was listed. */
struct late {
	uint32_t i;
	char *attrs;
	size_t n;
};

struct capturing {
	const struct capture *s;
	struct manifest *m;
	struct mapped mapped;
	int64_t racy_from; /* a ctime from then on vouches for nothing */
	uid_t me;
	bool whole; /* nothing may be left out, and nothing may change */

	/* Held by who looks at a symbolic link of several names, until it is an entry: reading it changes its time of
	 * access, so the first one to have looked must be the first entry.  Comes before `lock`. */
	pthread_mutex_t symlinks;
	pthread_mutex_t lock; /* guards all below, and m while directories are listed */
	pthread_cond_t more;
	uint32_t *todo; /* directories to be listed, the newest first */
	size_t ntodo, cap;
	unsigned busy;
	bool failed;
	struct err err;
	struct late *late;
	size_t nlate, cap_late;
	uint64_t gone; /* names that were listed and not there any more */

	uint32_t *match; /* of each entry, that of the base, or NOWHERE */
	/* Of each entry; while contents are read each thread sets those of its own files. */
	uint8_t *mark;
	size_t match_cap, mark_cap;
	uint32_t *fresh; /* files to be read */
	size_t nfresh;
	_Atomic size_t next;
	_Atomic uint64_t moving;
	atomic_bool again; /* a file was not the one that was listed */
};

void capture_fail(struct capturing *g, const struct err *e);

/* A thread's own while it lists or reads; its buffers are made when they are needed. */
struct lister {
	struct capturing *g;
	struct below_place place;
	char *names, *attrs, *list;
};
void lister_init(struct lister *l, struct capturing *g);
void lister_release(struct lister *l);

/* All attributes of the open `fd` as they stand in a manifest, in l->attrs; the length, or -1 and errno. */
ssize_t lister_attrs(struct lister *l, int fd);
void listing_stat(struct entry *x, const struct stat *st);
bool listing_may_be_mapped(const struct capturing *g, const struct stat *st);

/* Entry i, of which errno says why it is not read: left out where it is gone or closed to us, else -1. */
int listing_leave_out(struct capturing *g, uint32_t i, int errnum, struct err *e);

int listing_begin(struct capturing *g, struct err *e);
/* For a crew: all that is to do. */
void listing_run(void *ctx, unsigned worker, struct crew *c);
/* What is marked MARK_AGAIN, anew; in one thread. */
int listing_again(struct capturing *g, struct err *e);

#endif
