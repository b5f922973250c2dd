/*
 * filter.h - which entries of a tree take part: shell patterns, ignore files, type, size, time.
 *
 * Ignore files follow gitignore(5): later lines win, inner directories win, `!` takes back, a
 * pattern with a slash before its end counts from its own directory, a trailing slash means
 * directories only, `**` alone between slashes crosses directories.  Where that page leaves something
 * open it is as git does it (tests/oracle/ignore.py).  Thread: rules are read-only once compiled.
 *
 * Why not fnmatch: it knows no `**`, depends on the locale, and takes exponential time for some patterns.
 */
#ifndef BERTH_FILES_FILTER_H
#define BERTH_FILES_FILTER_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/files.h>

#include "files/common/slab.h"

/* The whole of `text` against `pattern`: * ? [..] [[:alpha:]] \x, and with `path` neither * nor ? crosses
 * a slash while ** does where it stands alone.  What is not closed or not known matches nothing.  Never
 * slower than pattern times text. */
bool glob_match(const char *pattern, const char *text, bool path);

/* Why the pattern matches nothing whatever; NULL: there is something. */
const char *glob_flaw(const char *pattern);
/* What follows the brackets that begin at p; NULL: they are not closed, or name an unknown class. */
const char *glob_skip_bracket(const char *p);

/* The lines of one ignore file; inner files point to outer ones. */
struct rules;

/* `base`: length of the path (from the start of the walk, with its slash) of the directory that the
 * file lies in.  Memory comes from the slab.  `text` need not end in NUL. */
struct rules *rules_compile(
	struct slab *slab, const struct rules *outer, const char *text, size_t n, size_t base);
/* The same for a file in a directory above the start: `prefix` leads from there to the start, with
 * a slash in the end, and stays the caller's. */
struct rules *rules_compile_above(struct slab *slab, const struct rules *outer, const char *text,
	size_t n, const char *prefix);
struct rules *rules_from_list(struct slab *slab, const char *const *lines, size_t n);
/* `path` of the entry from the start of the walk, `name` its last component.  1: ignored, 0: a rule says that it is not,
 * -1: no rule matches. */
int rules_judge(const struct rules *r, const char *path, const char *name, bool dir);

bool filter_wants_meta(const struct files_filter *f);
bool filter_meta(
	const struct files_filter *f, enum files_type type, uint64_t size, int64_t mtime_ns);

#endif
