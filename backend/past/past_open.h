/*
 * past_open.h - opens the history file for writing: locked, validated and read.
 *
 * Thread: the writer's own; it waits for the disk.
 */
#ifndef PAST_PAST_OPEN_H
#define PAST_PAST_OPEN_H

#include "past/past_format.h"

/* What an opened file holds that the next writer has to know. */
struct past_held {
	struct past_entry entry[PAST_ROWS];
	uint64_t events; /* number of the newest */
};

/* The descriptor, locked, or -1: ERR_CONFLICT with errno EWOULDBLOCK in e->sys when another one writes.  `notice` says
 * it when a file was put aside; "" it was not. */
int past_open(const char *path, struct past_held *held, char *notice, size_t cap, struct err *e);

/* A console is there: who yields does not write (past_start_yielding).  A descriptor to be kept, or -1. */
int past_be_present(const char *path);
bool past_others_present(const char *path);

#endif
