/*
 * gap.h - counts operations without a record, if the settings allow them (audit.unavailable: warn).
 *
 * Each act adds a line to a file in the runtime directory, which is not where the log lies and usually not on
 * a disk.  The next process that can write to the log counts the lines, says so in a record "log.gap" and
 * removes the file; killed in between it leaves the file, and the same gap is reported twice, never lost.
 *
 * Thread: any; a lock on the file keeps counting and adding apart.
 */
#ifndef BERTH_AUDIT_GAP_H
#define BERTH_AUDIT_GAP_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/operation.h>
#include <berth/err.h>

/* One act more.  -1: it cannot be counted either, so it must not be done. */
int gap_add(enum operation operation, struct err *e);

struct gap {
	int fd; /* held open and locked until gap_release; -1: there is none */
	uint64_t count;
	int64_t from_ms, to_ms;
	char acts[512]; /* "container.exec, file.write" */
};

/* Is there one?  Reads and locks it. */
bool gap_take(struct gap *ret);
/* `told`: its record is in the log, and the file goes. */
void gap_release(struct gap *g, bool told);

#endif
