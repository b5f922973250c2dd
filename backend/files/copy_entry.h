/*
 * copy_entry.h - one copy while it runs, and how it copies one entry.
 *
 * Thread: any worker of the walk, each with its own struct worker; what the lock guards says so.
 */
#ifndef FILES_COPY_ENTRY_H
#define FILES_COPY_ENTRY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include <berth/str.h>

#include "files/common/attrs.h"
#include "files/files.h"
#include "files/walk/walk.h"

/* A file, link or pipe with several names: the first copy, and the names still to be given to it. */
struct linked {
	uint64_t dev, ino;
	char *path; /* NULL: it could not be copied */
};

struct later {
	size_t first; /* index into linked */
	char *path;
	bool symlink;
};

struct dir_end {
	char *path; /* below to_root */
	struct stat st;
	dev_t made_dev; /* what has that path now may be another */
	ino_t made_ino;
	struct str attrs;
};

struct copying {
	struct walk walk;
	struct op op;
	const struct files_copy_options *o;
	struct files_root *to_root;
	const char *from, *to;
	_Atomic bool no_reflink;
	pthread_mutex_t lock; /* guards what follows */
	struct files_tree_totals totals;
	struct linked *linked;
	size_t nlinked, linked_cap;
	struct later *later;
	size_t nlater, later_cap;
	struct dir_end *dirs;
	size_t ndirs, dirs_cap;
	struct copied_list *noted; /* or NULL */
};

struct worker {
	char *buf;
	struct files_tree_totals t;
	int to_dir;    /* the directory that the current one is copied to */
	bool inherits; /* what is made in it has an access list from it */
	struct str attrs;
};

/* An error of that entry; the copy continues. */
void copying_fail(
	struct worker *w, struct walk *walk, int errnum, const char *verb, const char *name);
void copying_add(struct files_tree_totals *to, const struct files_tree_totals *t);
/* Give owner, attributes, mode, in this order: each may take away some of those before it.  -1 and errno. */
int copying_dress(const struct copying *x, struct attributed out, const struct str *attrs,
	const struct stat *st);
/* One that may not be changed; errno says so. */
bool copying_is_fixed(const struct copying *x, const struct stat *there);
/* A link is replaced itself, never what it points to; a directory never. */
bool copying_may_replace(const struct copying *x, const struct stat *there);
/* It was copied as `st` says.  `d` NULL: the start itself, else that directory, or `name` in it. */
void copying_note(
	struct copying *x, const struct walk_dir *d, const char *name, const struct stat *st);
/* Where it is copied to, below to_root; `name` NULL: the directory itself. */
/* Where it comes from, below the root of the source. */
void copying_source(
	const struct copying *x, const struct walk_dir *d, const char *name, struct str *out);
void copying_path(struct copying *x, const struct walk_dir *d, const char *name, struct str *out);

/* `name` in the directory `from_dir`, which is `d`, into w->to_dir; `type` when it was listed (enum files_type).  Where
 * another has the name by now that is copied, as what it is; a directory is an error then, for it was not listed. */
void copying_entry(struct copying *x, struct worker *w, const struct walk_dir *d, int from_dir,
	const char *name, uint8_t type);
/* A start that is not a directory. */
int copying_single(struct copying *x, int from_dir, const char *leaf, const struct stat *st,
	int to_dir, const char *to_leaf, const char *from, struct err *e);

#endif
