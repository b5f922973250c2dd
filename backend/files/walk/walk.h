/*
 * walk.h - a tree, walked by as many threads as pay.
 *
 * A directory is a unit of work: a worker opens it relative to its parent's descriptor (never
 * following a symlink), lists it, pushes what is below to its own stack and hands the entries to
 * the operation; workers without work take half of another's stack.  Directories with many entries
 * are handed over in pieces that others can take.  One thread starts; others join when there is
 * enough to do, and many when a directory had to be waited for.
 */
#ifndef BERTH_FILES_WALK_H
#define BERTH_FILES_WALK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "files/walk/filter.h"
#include "files/common/paths.h"
#include "files/common/op.h"

#define WALK_PIECE 256

struct walk_meta {
	uint64_t size, blocks;
	int64_t mtime_ns;
	uint64_t dev;
	uint32_t mode, uid, gid, nlink;
};

struct walk_entry {
	const char *name;
	struct walk_dir *dir;   /* of a directory that is walked, else NULL */
	struct walk_meta *meta; /* when it was asked for and could be had */
	uint64_t inode;
	uint16_t name_len;
	uint8_t type; /* enum files_type */
	bool wanted;  /* by the filter; set by walk (names, type) and the operation (meta) */
};

struct walk_dir {
	struct walk_dir *parent;
	const char *name; /* "" of the start */
	struct walk_entry *entries;
	size_t n;
	const struct rules *rules;
	int fd;           /* while somebody needs it; -1: reopen by path */
	_Atomic int refs; /* of fd: itself, children not yet opened, pieces not yet done */
	unsigned depth;
	int error; /* errno: it could not be read */
	size_t path_len;
	void *data; /* the operation's */
};

struct walk_worker {
	struct walk *walk;
	unsigned index;
	struct slab slab;
	char *buf; /* for getdents */
	struct str
		path; /* of the directory in hand, with a trailing slash unless it is the start */
	void *data;   /* the operation's, made by worker_begin */
	struct slab *names; /* for entries: of the walk, or of the directory in hand alone */
	uint64_t bytes;     /* handled by the operation since the walk told of them last */
	uint64_t waits;     /* voluntary switches that were our own */
	uint64_t switches, blocks_read; /* of the thread, when last looked at */
	struct files_scan_totals totals;
};

struct walk_ops {
	/* Optional: both run on the worker's own thread. */
	void (*worker_begin)(struct walk_worker *me);
	void (*worker_end)(struct walk_worker *me);
	/* Entries [from, to) of d, all wanted or not; with the descriptor of d, open. */
	void (*entries)(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to);
	/* Optional: d was listed, its children not yet pushed (copy makes the directory here).
	 * false: do not go on below it. */
	bool (*enter)(struct walk_worker *me, struct walk_dir *d, int fd);
	/* Optional: d, below the start, could not be opened or listed (errno); it is then not counted as an error. */
	void (*failed)(struct walk_worker *me, const struct walk_dir *d, int errnum);
};

/* What a long walk is told by a second one, which counts ahead of it. */
enum walk_ahead { AHEAD_NOT, AHEAD_ENTRIES, AHEAD_BYTES };

struct walk {
	struct op *op;
	const struct files_root *root;
	const char *start; /* relative to the root */
	const char *verb;  /* what the job is called once it is shown; NULL: it is */
	const struct files_filter *filter;
	const struct walk_ops *ops;
	void *ctx;
	bool sorted;     /* entries of a directory by name */
	bool whole_dirs; /* never in pieces */
	bool passing;    /* one thread alone, and a directory's entries go when they were handled */
	enum walk_ahead ahead;
	uint64_t max_entries;
	/* filled in by the walk */
	int64_t begun;
	struct slab_chain chain;
	struct walk_dir *top;
	struct files_scan_totals totals;
	_Atomic uint64_t entries;        /* listed */
	_Atomic uint64_t handled, bytes; /* by the operation */
	struct ahead *_Atomic scout;
	_Atomic int64_t named_ns; /* when the job was told last what is in hand */
	_Atomic bool stop;        /* enough: a limit, or an operation that has what it wants */
	_Atomic bool cold;        /* something had to be waited for */
	struct walk_private *private;
};

/* enum files_type of a mode. */
uint8_t walk_type(uint32_t mode);
/* Walk; all in walk_init's fields set before.  -1: the start cannot be opened, or cancelled. */
int walk_run(struct walk *w, struct err *e);
void walk_release(struct walk *w); /* frees directories and entries */

/* Show the job, or only if it takes longer than one would notice: for what may.  While it is not
 * shown only one thread works. */
void walk_show(struct walk *w);
void walk_show_late(struct walk *w); /* and from 0.3 s on somebody counts ahead, where wanted */

/* The path of d below the root's start, without a trailing slash; "" of the start. */
void walk_path(const struct walk_dir *d, struct str *out);
/* The path of an entry of d below the root: with the start in front. */
void walk_entry_path(const struct walk *w, const struct walk_dir *d, const struct walk_entry *entry,
	struct str *out);

/* Fill in e->meta of entries [from, to) (relative to fd); in inode order while the cache is cold.
 */
void walk_stat(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to);

#endif
