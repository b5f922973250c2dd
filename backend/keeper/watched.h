/*
 * watched.h - how much is in directory trees, known again as soon as something changes in them.
 *
 * Each directory is watched (inotify) and has a sum of what lies in it by itself: where something changed, that
 * directory alone is looked at again.  A directory that is moved keeps its watch, and so its sum.  Who writes there
 * is hostile: nothing is followed, what is opened must be what is watched under that name, and where that cannot be
 * (too deep, too many, a watch refused) the tree is blind, and somebody else has to count it.
 *
 * Thread: one.
 */
#ifndef KEEPER_WATCHED_H
#define KEEPER_WATCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/flags.h>
#include <berth/workspace.h>

__extension__ typedef unsigned __int128 watched_bytes;

struct watched_tree {
	int root; /* the caller's */
	struct workspace_amount sum;
	watched_bytes bytes; /* sum.bytes, which ends at the highest number, without an end */
	watched_bytes sizes; /* of its files, whatever space they take */
	uint64_t files;      /* regular ones */
	bool touched;        /* something happened; whoever asks resets it */
	bool changed;        /* since it was counted */
	bool anew;           /* nothing of it is known, or not for sure */
	bool blind;
	bool fresh; /* something changed in a directory since watched_look */
	uint32_t
		moved; /* a directory that went from its place and was seen nowhere else yet; 0: none */
};

struct watched_dir;
struct watched {
	int fd;                  /* readable: something changed */
	struct watched_dir *dir; /* by watch */
	size_t n, cap, live;
	int *todo; /* watches of directories to look at */
	size_t ntodo, todo_cap;
};

int watched_open(struct watched *w, struct err *e);
void watched_close(struct watched *w);
/* What happened meanwhile.  true: the kernel lost some of it, all trees have to be counted anew. */
bool watched_drain(struct watched *w);
/* Brings t->sum up to date, as of the last drain. */
void watched_count(struct watched *w, struct watched_tree *t);
/* The next count looks at all of it.  Needed by who wants to be sure: of a file with several names the kernel tells
 * of the one alone by which it was opened, even when that is gone. */
void watched_doubt(struct watched *w, struct watched_tree *t);

/* Each directory in which something changed since the last look, modes included, opened, with its path below the root;
 * *seen, 0 at first, is the caller's. */
typedef void watched_look_fn(void *ctx, int dir, int watch, const char *path, uint32_t *seen);
void watched_look(struct watched *w, struct watched_tree *t, watched_look_fn *look, void *ctx);
/* The next look takes this one, too. */
void watched_again(struct watched *w, int watch);
bool watched_has(const struct watched *w, int watch);

/*
 * What looks suspicious in a tree (berth/flags.h), by directory: where something changed, that directory alone is looked at
 * again.  As flags_look finds it, but less thorough, so that it costs next to nothing: files of more than 256 KiB, or beyond
 * a megabyte of new contents a second, are not searched for secrets, which is counted; and of links only the path to what
 * they name is followed.  New is what changed after `since_ns`.
 */
struct flagged_dir;
struct flagged_secret;
struct kept_flags {
	int64_t since_ns;
	struct flag_sums sums;   /* as of the last look */
	struct flagged_dir *dir; /* those with something in them, by watch */
	size_t n, cap;
	struct flagged_secret
		*secret; /* files with likely secrets, so as not to search them again */
	size_t nsecrets, secret_cap;
	uint64_t room; /* bytes that may be searched now */
	int64_t filled_ns;
};

/* What changed since the last look, in a tree whose directory has the absolute name `place`. */
void kept_flags_look(struct kept_flags *f, struct watched *w, struct watched_tree *t,
	const char *place, int64_t since_ns);
void kept_flags_release(struct kept_flags *f);

#endif
