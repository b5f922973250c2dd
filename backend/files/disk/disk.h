/*
 * disk.h - how many requests at once a disk is worth, and whether io_uring is the better way.
 *
 * Measured once per file system, kernel and number of processors, with small files of our own on
 * the same file system, when an operation had to wait and nobody measured yet: afterwards, on a
 * worker, for a third of a second at most, and not while the machine is busy.  Kept in $XDG_STATE_HOME/berth/disks, a line each.  Until
 * then, where nothing of ours can be written, and where it cannot be told: FILES_IO_DEPTH, io_uring.
 * Thread: any.
 */
#ifndef BERTH_FILES_DISK_H
#define BERTH_FILES_DISK_H

#include "files/common/op.h"

struct files_root;

struct files_disk disk_of(struct files *f, const struct files_root *r);
/* Something had to be waited for: measure, when that was not done and is not fixed. */
void disk_waited(struct files *f, const struct files_root *r);

#endif
