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

#endif
