/*
 * file.h - reading and writing whole files.
 *
 * Thread: any.
 */
#ifndef BERTH_FILE_H
#define BERTH_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "err.h"
#include "str.h"

/* A regular file (of /proc and /sys, too) for reading, `path` below the directory `dir` or AT_FDCWD, with
 * more `flags` of open(2).  It never waits, not for the writer of a FIFO either, and no terminal becomes
 * ours.  -1 with errno: EINVAL for what is not a regular file. */
int file_open(int dir, const char *path, int flags);

/* From where `fd` is to its end, at most `cap` bytes; how many, or -1 with errno. */
ssize_t file_fill(int fd, void *buf, size_t cap);
/* The same from `at` on; where the descriptor stands does not change. */
ssize_t file_fill_at(int fd, void *buf, size_t cap, off_t at);

/* As a str, behind what `ret` holds: all of a regular file of at most `most` bytes.  -1 with errno: EINVAL
 * not a regular file, EFBIG longer; the error's kind is ERR_SYS or ERR_CONFIG. */
int file_read(int dir, const char *path, int flags, size_t most, struct str *ret, struct err *e);

/* What `fd` gives until its end, of any kind: a pipe, a terminal.  As file_read; `name` is for the error. */
int file_rest(int fd, const char *name, size_t most, struct str *ret, struct err *e);

/* A small file of the kernel's as text, cut at cap - 1 bytes: its length, or -1 with errno and "". */
ssize_t file_text(const char *path, char *buf, size_t cap);

/* All of it, waiting where the descriptor does not; -1 with errno. */
int file_write(int fd, const void *bytes, size_t n);

/* Write `path` anew, mode 0600: who reads it sees all of the old bytes or all of the new.  `synced`: they are
 * on disk before they have the name.  While it is written it is PATH.TID.  -1 with errno. */
int file_replace(const char *path, const void *bytes, size_t n, bool synced);

/* An empty file without a name, in $TMPDIR or /var/tmp (what is large does not belong in /tmp, which is often
 * memory); the caller's.  -1 with *e. */
int file_temporary(struct err *e);

#endif
