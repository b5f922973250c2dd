/*
 * path.h - where paths lead, and what is in which directory.
 *
 * Thread: any.
 */
#ifndef BERTH_PATH_H
#define BERTH_PATH_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* Is `path` the directory `dir`, or below it?  By text: both without links, "//", "." and "..". */
bool path_is_in(const char *path, const char *dir);

/* Where a path is, for the caller to free: links above its last name followed, with `through` that one, too.  Of what is not
 * there yet the end stays as it is. */
char *path_place(const char *path, bool through);

/* An absolute path, then what it becomes as its first link is followed, then the next, until it has none: whoever replaces
 * one of these replaces what is at the end.  How many; the texts are in `mem`. */
#define PATH_PLACES 41 /* the kernel follows 40 links */
size_t path_places(struct arena *mem, const char *path, const char *ret[PATH_PLACES]);
/* Does `fits` hold for `other` and any of these? */
bool path_place_fits(
	const char *path, const char *other, bool (*fits)(const char *other, const char *place));

#endif
