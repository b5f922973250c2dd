/*
 * files.h - the door of this room for the backend: what include/berth/files.h offers, on a job
 * board that the process has already; and its worker threads, for who has other work to share.
 */
#ifndef BERTH_FILES_FILES_H
#define BERTH_FILES_FILES_H

#include <berth/files.h>

#include "files/common/workers.h"
#include "job/board.h"

/* As files_open; the board stays the caller's and must outlive the struct files. */
struct files *files_open_on(struct board *board, const struct files_options *o);

#endif
