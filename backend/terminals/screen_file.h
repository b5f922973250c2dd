/*
 * screen_file.h - a terminal's screen in a file that any process of this user reads.
 *
 * One writer, which holds a lock on the file as long as it lives; what is in the file of a writer that died is its last
 * picture.  A counter that is odd while a picture is written tells readers to look again (a sequence lock).  Both sides
 * use pread and pwrite: neither a full disk nor a file that is cut short ends a process.
 *
 * Readers trust nothing of it: sizes are bounded, each cell is one that may be shown, texts are neutralised.
 * Thread: a writer has one owner; reading: any.
 */
#ifndef TERMINALS_SCREEN_FILE_H
#define TERMINALS_SCREEN_FILE_H

#include <berth/terminal.h>

struct screen_file {
	int fd;
	uint32_t seq;
	size_t size; /* that it has on the disk; 0: not known */
};

/* The terminal at `path` runs.  One that ended does not, even if its writer has not let go of the file yet. */
bool screen_file_kept(const char *path);
/* What else is at `path` is replaced.  ERR_CONFLICT: a terminal that runs is. */
int screen_file_open(struct screen_file *f, const char *path, struct err *e);
/* Where there is no room on the disk what was there before stays. */
int screen_file_write(struct screen_file *f, const struct terminal_screen *s, struct err *e);
void screen_file_close(struct screen_file *f); /* the file stays */

/* *ret is released by the caller, and may be one that was read before.  ERR_NOT_FOUND: there is no picture;
 * ERR_TIMEOUT: none that is whole, for a tenth of a second. */
int screen_file_read(const char *path, struct terminal_screen *ret, struct err *e);
/* The same without its cells: also while these are being written. */
int screen_file_head(const char *path, struct terminal_screen *ret, struct err *e);

#endif
