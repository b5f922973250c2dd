/*
 * files.h - parallel file operations: read, write, scan, search, transform, copy, move, delete.
 *
 * All work happens below a root directory that is opened once; paths are relative to it and the
 * kernel keeps them inside (openat2, RESOLVE_BENEATH; without it a walk that follows no symlink).
 * Bytes of a path are taken as given: nothing is trimmed, expanded or folded.  Only regular files
 * are read; what is written appears by rename, so another name of the old file keeps its content.
 *
 * Every operation that is not over at once is a job on the job board, works on the calling thread and takes more threads
 * when that pays: as many as there are processors for what is cached, many more (files_options
 * .io_depth) once something had to be waited for.  Results keep the order of the request.  One
 * item's failure is reported with the item; only a batch of writes fails as a whole where so asked.
 *
 * Ownership: results are freed with the function named beside them; paths given are not kept.
 * Thread: any; several operations may run at once on one struct files and on one root.
 * Errors: ERR_REFUSED (leads out of the root, not a regular file, a limit), ERR_NOT_FOUND,
 * ERR_CONFLICT (exists, or changed since it was read), ERR_TIMEOUT (a lock), ERR_CANCELLED,
 * ERR_SYS, ERR_USAGE (a bad path or pattern).
 */
#ifndef BERTH_FILES_H
#define BERTH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"
#include "job.h"
#include "str.h"

struct files;      /* worker threads, ring, job board */
struct files_root; /* an open directory that paths start from */

/* Kernel features not to use although they are there (files_options.avoid), for tests. */
#define FILES_AVOID_URING 1u
#define FILES_AVOID_OPENAT2 2u
#define FILES_AVOID_CACHED 4u /* no try whether data are cached: always the blocking calls */
#define FILES_AVOID_BOARD 8u  /* jobs are not shown to other processes */
#define FILES_AVOID_REFLINK 16u

struct files_options {
	const char *program; /* for the job board: "files" */
	void (*shown)(
		void);     /* called when an operation turns out long enough to be shown; or NULL */
	const char *owner; /* agent id or user name that jobs carry */
	unsigned cpu_width; /* threads for work on cached data; 0: usable processors */
	unsigned io_depth;  /* requests at once when waiting for a disk, at most 64; 0: 64 */
	int io_uring;       /* for these: -1 no, otherwise where the kernel lets us */
	unsigned avoid;
	/* Asked before the names of a tree that is walked take so many bytes more; -1 and *e: the walk ends with that.  Any
	 * thread, one at a time for a walk.  NULL: they may. */
	int (*hold)(void *ctx, size_t bytes, struct err *e);
	void *hold_ctx;
};

/* Never fails for want of a job board: jobs are then not shown. */
struct files *files_open(const struct files_options *o);
void files_close(struct files *f);
void files_cancel(struct files *f); /* every running operation; async-signal-safe */
/* The newest running operation of f; false when there is none. */
bool files_progress(struct files *f, struct job_info *out);

/* `path` may be anything that leads to a directory.  Unfinished all-or-nothing batches of dead
 * processes below it are finished or undone by the first operation that changes something. */
struct files_root *files_root_open(struct files *f, const char *path, struct err *e);
/* Of a directory that is open (O_PATH will do) and stays the caller's; `name` is what sentences call it. */
struct files_root *files_root_open_at(struct files *f, int dir, const char *name, struct err *e);
void files_root_close(struct files_root *r);
/* What a dead process had begun to change here, and what shows as half done, is finished or taken back.  As any change
 * does before it begins; for who looks first.  Where nothing can be changed it stays. */
void files_settle(struct files_root *r);
/* Before r is used: neither these nor anything below them is changed through r, whatever path leads there.  `dir` is an
 * open directory (O_PATH will do) and stays the caller's; `leaf` a file in it, or NULL: the directory. */
struct files_place {
	int dir;
	const char *leaf;
};
int files_root_fix(struct files_root *r, const struct files_place *places, size_t n, struct err *e);

/*
 * What a file was when it was read.  A write that expects a token fails with ERR_CONFLICT when the
 * file is no longer that one.  A file changed so short before it was read that its time stamps
 * cannot tell (git's "racy" rule) is compared by content.
 */
struct files_token {
	uint64_t dev, ino, size;
	int64_t mtime_ns, ctime_ns, read_ns; /* Unix time */
	uint64_t hash[2];                    /* XXH3-128 of the content, when hashed */
	bool hashed;
};
#define FILES_TOKEN_MAX 192
char *files_token_print(char buf[FILES_TOKEN_MAX], const struct files_token *t);
int files_token_parse(const char *text, struct files_token *t, struct err *e);

/* --- one name --- */

struct files_entry;
/* What is at `path`, a symlink there not followed; ret->path is `path`. */
int files_look(struct files_root *r, const char *path, struct files_entry *ret, struct err *e);
/* With its parents; one that is there is fine.  ERR_CONFLICT: something else is. */
int files_make_directory(struct files_root *r, const char *path, struct err *e);

/* --- read --- */

struct files_want {
	const char *path;
	const char *named;              /* as the person gave it, for sentences; NULL: path */
	uint64_t offset, length;        /* bytes; length 0: to the end */
	uint64_t first_line, last_line; /* 1-based, inclusive; 0: from the start, to the end */
	uint64_t tail_lines;            /* instead of these: so many at the end; 0: all */
};

struct files_got {
	struct err *err; /* NULL when it worked */
	char *bytes;     /* NUL-terminated after len */
	size_t len;
	struct files_token token; /* of the whole file */
	bool clipped;             /* a limit cut it short */
	bool unstable;            /* changed while it was read, twice in a row */
};

struct files_read_options {
	uint64_t max_file_bytes;  /* 0: 64 MiB */
	uint64_t max_total_bytes; /* 0: 1 GiB; items beyond it fail with ERR_REFUSED */
	bool hash; /* put the content's hash into every token of a file read in full */
};

struct files_reading {
	size_t n, failed;
	struct files_got *items; /* in the order of the request */
	uint64_t bytes;
	const char *backend; /* "inline", "threads", "io_uring" */
	unsigned width;      /* threads or ring slots that took part */
	void *memory;        /* private: the bytes of all items */
};

/* -1 only for cancellation; everything else is per item.  Free with files_reading_free. */
int files_read(struct files *f, struct files_root *r, const struct files_want *want, size_t n,
	const struct files_read_options *o, struct files_reading **ret, struct err *e);
void files_reading_free(struct files_reading *r);
/* All of a regular file of any size, in blocks, to `each`, whose -1 ends it; *ret: its token, hashed.  `each` NULL: its
 * token alone, not hashed.  On the calling thread, and no job.  ERR_CONFLICT: it changed meanwhile. */
typedef int files_block_fn(void *ctx, const char *bytes, size_t n, struct err *e);
int files_read_blocks(struct files_root *r, const char *path, files_block_fn *each, void *ctx,
	struct files_token *ret, struct err *e);
/* What is wanted of one file, however much that is, in blocks to `each`: to the end that it has when that is reached.
 * On the calling thread, and no job. */
int files_read_part(struct files *f, struct files_root *r, const struct files_want *w,
	files_block_fn *each, void *ctx, struct err *e);

/* What a file holds, by all of its bytes.  Who searches, changes, edits or shows text asks this. */
enum files_text {
	FILES_TEXT,
	FILES_UTF16, /* text in UTF-16, as the byte order mark at its start says */
	FILES_BINARY /* a NUL byte */
};
enum files_text files_judge(const char *bytes, size_t n);

/* --- write --- */

enum files_promise {
	FILES_VISIBLE, /* every reader sees the old or the new file; nothing about power loss */
	FILES_DURABLE, /* and on return every file survives power loss */
	FILES_ALL_OR_NOTHING /* and after a crash at any point either all files are new, or none */
};

/* The next bytes of a content, at most `n`: how many; 0 at its end; -1 and *e: it cannot be had. */
typedef ssize_t files_pull_fn(void *ctx, void *to, size_t n, struct err *e);

struct files_put {
	const char *path;
	const void *bytes;
	uint64_t len;
	/* Or, where there is one: gives `len` bytes and then 0, else nothing is written (ERR_CONFLICT).  Called on any
	 * thread, by one at a time, before anything is in place.  Long zeros become holes. */
	files_pull_fn *pull;
	void *ctx;
	bool create_only;                 /* ERR_CONFLICT when it is there */
	const struct files_token *expect; /* or NULL */
	int mode;       /* of a new file; 0: 0666 less umask.  An old one keeps its own */
	int executable; /* 1: for all that may read it, -1: for nobody; 0: as `mode` says */
};

struct files_write_options {
	enum files_promise promise;
	bool parents;        /* make missing directories */
	int lock_timeout_ms; /* 0: 10 s */
	bool partial;        /* VISIBLE and DURABLE: write the good ones when some cannot be */
};

struct files_put_result {
	struct err *err;          /* NULL when it is in place */
	struct files_token token; /* of what was written */
};

struct files_writing {
	size_t n, failed;
	struct files_put_result *items;
	uint64_t bytes;
	struct err *same; /* private: what all items share that failed with the batch */
};

/* 0 when all are in place.  -1 and *e otherwise, with *ret telling item by item (also then to be
 * freed).  Without `partial` a failing item leaves every target as it was, unless the failure came
 * while renaming (VISIBLE, DURABLE); the items tell. */
int files_write(struct files *f, struct files_root *r, const struct files_put *puts, size_t n,
	const struct files_write_options *o, struct files_writing **ret, struct err *e);
void files_writing_free(struct files_writing *w);

/* --- scan --- */

enum files_type { FILES_FILE = 1, FILES_DIR = 2, FILES_LINK = 4, FILES_OTHER = 8 };

/* What of a tree takes part.  All zero: everything. */
struct files_filter {
	/* Any must match the path or, without a slash in it, the name; {a,b} is either, !x is left out. */
	const char *const *globs;
	size_t nglobs;
	const char *const *excludes; /* as .gitignore lines of the start directory */
	size_t nexcludes;
	bool ignore_files; /* honour .gitignore and .ignore, and leave .git out */
	bool skip_hidden;
	unsigned max_depth;          /* 1: only the directory itself; 0: no limit */
	unsigned types;              /* enum files_type, or-ed; 0: all */
	uint64_t min_size, max_size; /* 0: none; regular files only */
	int64_t newer_ns, older_ns;  /* Unix time of modification; 0: none */
};

struct files_entry {
	const char *path; /* relative to the root; valid until the next call */
	const char *name;
	size_t path_len;
	enum files_type type;
	unsigned depth;
	uint64_t inode;
	bool meta;             /* the rest is filled in */
	uint64_t size, blocks; /* blocks of 512 bytes */
	int64_t mtime_ns;
	uint32_t mode, uid, gid, nlink;
};

struct files_scan_options {
	struct files_filter filter;
	bool meta;            /* sizes, times, modes; a filter that needs them asks by itself */
	bool sorted;          /* by name within each directory, directories in place */
	bool one_device;      /* nothing below a mount of another file system */
	uint64_t max_entries; /* that fit the filter; 0: 50 million of all */
};

struct files_scan_totals {
	uint64_t files, dirs, links, others, bytes, errors;
	uint64_t gone;    /* directories that disappeared before they were read */
	uint64_t ignored; /* hidden, or left out by an ignore file, with all below; not .git */
	bool clipped;     /* there are more than max_entries */
	unsigned width;
};

struct files_scan;
int files_scan(struct files *f, struct files_root *r, const char *start,
	const struct files_scan_options *o, struct files_scan **ret, struct err *e);
const struct files_scan_totals *files_scan_totals(const struct files_scan *s);
bool files_scan_next(struct files_scan *s, struct files_entry *out); /* depth first */
/* The i-th directory that could not be read; NULL after the last. */
const struct err *files_scan_error(const struct files_scan *s, size_t i);
void files_scan_free(struct files_scan *s);

/* --- search --- */

struct files_pattern {
	const char *text;
	size_t len;
	bool regex; /* Perl syntax (PCRE2), else literal bytes */
	bool ignore_case, word;
};

struct files_search_options {
	struct files_pattern pattern;
	struct files_filter filter;
	unsigned before, after;  /* lines of context */
	uint64_t max_hits;       /* 0: no limit */
	uint64_t max_file_hits;  /* 0: no limit */
	uint64_t max_file_bytes; /* files beyond are skipped and counted; 0: 4 GiB */
	uint32_t max_line;       /* of longer lines that much around the match is shown; 0: 4096 */
	bool names_only;         /* one hit per file, no text */
	bool sorted;             /* hits in order of the paths; results come at the end */
	bool binary;             /* take files with NUL bytes for text, too */
};

struct files_hit {
	uint64_t line;   /* 1-based; 0 with names_only, and with `binary` */
	uint64_t offset; /* of the match in the file */
	uint32_t column; /* 1-based byte of the match in its line; 0: a context line */
	uint32_t match_len;
	const char *text; /* the line without its newline */
	size_t len;
	bool cut_before, clipped; /* the line has more before this, or after it */
	bool binary; /* the file matches, and is not text (a NUL byte at `offset`): no line is shown */
};

/* The hits of one file, in order.  Never called twice at once; false stops the search. */
typedef bool files_hit_fn(void *ctx, const char *path, const struct files_hit *hits, size_t n);

struct files_search_totals {
	uint64_t files, matched_files, hits, bytes, skipped_large, errors;
	uint64_t
		skipped_binary; /* not text by their first 8 KiB; the start itself is searched all the same */
	uint64_t gave_up; /* lines on which the pattern reached its match limit */
	uint64_t ignored; /* as of a scan */
	int error;        /* errno of one of the errors */
	bool clipped;     /* max_hits reached */
	unsigned width;
	const char *engine; /* "literal", "pcre2-jit", "pcre2" */
};
int files_search(struct files *f, struct files_root *r, const char *start,
	const struct files_search_options *o, files_hit_fn *hit, void *ctx,
	struct files_search_totals *totals, struct err *e);

/* --- transform --- */

struct files_transform_options {
	struct files_pattern pattern;
	const char *replacement; /* with a regular expression $1, ${name} and $$ are expanded */
	size_t replacement_len;
	struct files_filter filter;
	bool preview; /* change nothing, only fill in the diff */
	bool diff;    /* fill in the diff when applying, too */
	enum files_promise promise;
	uint64_t max_file_bytes; /* 0: 64 MiB */
	/* Of all that is held at a time: files as they were and will be, what changes in them, the diff.  More is refused;
	 * 0: 1 GiB. */
	uint64_t max_held;
	size_t max_diff; /* of the diff no more is wanted, which costs less; 0: all of it */
};

struct files_transform_result {
	uint64_t files, changed, replacements, skipped_binary, skipped_large, errors;
	uint64_t gave_up; /* lines as they were: the pattern reached its match limit there */
	uint64_t ignored; /* as of a scan */
	int error;        /* errno of one of the errors */
	/* Unified, three lines of context, files in order of their paths, UTF-16 as UTF-8; longer than max_diff: there is
	 * more. */
	struct str diff;
};
/* `start` is a directory or a file.  All changes are one batch of the promise asked for; a file that changed
 * meanwhile fails it. */
int files_transform(struct files *f, struct files_root *r, const char *start,
	const struct files_transform_options *o, struct files_transform_result *res, struct err *e);

/* --- copy, move, delete --- */

struct files_copy_options {
	bool resume;    /* files of equal size and time at the destination are left alone */
	bool overwrite; /* else ERR_CONFLICT for a file that is there */
	bool durable;
	bool keep_owner; /* and set-id bits; needs privilege */
};

struct files_tree_totals {
	uint64_t files, dirs, links, bytes, skipped, reflinked, errors;
	uint64_t special; /* sockets and devices, which are not copied */
	uint64_t gone;    /* of a copy: what disappeared before it was read */
	bool made;        /* of a copy: `to` itself is there, was not before, and is its work */
	struct err first; /* of the errors */
};
/* `from` below `from_root` becomes `to` below `to_root` (not: a child of it).  "." is the whole root:
 * of a root that is copied to, what is there stays as with `overwrite` and `resume` unset: a
 * conflict for each name that exists on both sides.  Symlinks are copied as links, pipes as pipes; sockets and devices are
 * left out and counted, and refused where `from` is one.  What disappears meanwhile is left out and counted, too. */
int files_copy(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct files_tree_totals *totals, struct err *e);
/* One rename, or across file systems as files_move_between.  Never replaces unless `overwrite`. */
int files_move(struct files *f, struct files_root *r, const char *from, const char *to,
	bool overwrite, struct files_tree_totals *totals, struct err *e);
/* A durable copy, then what was copied goes, name by name, where it is still what was copied.  What is not (it changed
 * or came meanwhile, or is a socket or device) stays, and is an error. */
int files_move_between(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct files_tree_totals *totals, struct err *e);
/* A directory only with `recursive`.  What a symlink points to is never touched. */
int files_delete(struct files *f, struct files_root *r, const char *path, bool recursive,
	struct files_tree_totals *totals, struct err *e);

#endif
