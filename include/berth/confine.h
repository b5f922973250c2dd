/*
 * confine.h - dropping the privileges of a process that reads an agent's data.
 *
 * No new privileges, no core, no memory that others may read, and a filter of system calls: no program, no file
 * written, no signal.  Between the two calls it gives up its user.
 *
 * Thread: the only one.
 */
#ifndef BERTH_CONFINE_H
#define BERTH_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

int confine_begin(struct err *e);
/* From here on no file is opened but to read below these directories; those that are not there do not count.  A kernel without
 * Landlock (before 5.13) is left as it is. */
int confine_files(const char *const *dirs, size_t n, struct err *e);
/* `internet`: sockets of the internet, and threads; else neither.  There is no way back. */
int confine_calls(bool internet, struct err *e);
/* Instead: files may be written, where its root lets it; no links that lead elsewhere, no devices, no owners; else as above. */
int confine_writer(struct err *e);

#endif
