/*
 * below.h - opens paths below a root so that no link leads out of it.
 *
 * Every directory is opened again from the root, or from the one before it, by openat2 with
 * RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and RESOLVE_NO_XDEV: a directory that is swapped in the meantime causes an
 * error and never leads elsewhere. Without openat2 nothing is opened.
 */
#ifndef CHECKPOINT_BELOW_H
#define CHECKPOINT_BELOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "checkpoint/manifest.h"

/* One worker's last directory: its neighbours and its children are found from there. */
struct below_place {
	uint32_t dir;
	int fd; /* -1: none */
};
#define BELOW_NO_PLACE      \
	{                   \
		NOWHERE, -1 \
	}

/* A name in an open directory.  -1 and errno; EXDEV: a mount point. */
int below_open_leaf(int dir, const char *name, int flags);
/* The same; where the mode keeps its owner from it, given for the moment of opening. */
int below_open_own(int dir, const char *name, int flags);

/* A file of any owner's that is to be read. */
int below_open_to_read(int dir, const char *name);

/* Entry `dir` of m, open for reading in p->fd, which stays p's.  m must not grow meanwhile. */
int below_goto(int root, const struct manifest *m, uint32_t dir, struct below_place *p);
void below_leave(struct below_place *p);

/* /proc/self/fd/DIR/NAME: for calls that know paths only; the last component is not followed by them. */
#define BELOW_PROC_MAX 320
char *below_proc(char buf[BELOW_PROC_MAX], int dir, const char *name);
/* /proc/self/fd/FD: the same for the inode itself, be it a link. */
char *below_self(char buf[BELOW_PROC_MAX], int fd);

/* The sentence for errno `errnum` of trying to `verb` ("read") entry i; `name` of it, or NULL. */
int below_error(struct err *e, int errnum, const char *verb, const struct manifest *m, uint32_t i,
	const char *name);

/* Its low 64 bits, which tell times apart; those of an entry are kept whole. */
static inline int64_t below_ns(struct timespec t)
{
	return (int64_t)((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
}

void below_keep_mtime(struct entry *x, struct timespec t);
void below_keep_atime(struct entry *x, struct timespec t);
struct timespec below_mtime(const struct entry *x);
struct timespec below_atime(const struct entry *x);

/* Of a file, before and after it was read: nothing came between. */
static inline bool below_is_same_reading(const struct stat *a, const struct stat *b)
{
	return a->st_size == b->st_size && below_ns(a->st_mtim) == below_ns(b->st_mtim) &&
		below_ns(a->st_ctim) == below_ns(b->st_ctim);
}

#endif
