/*
 * row_copy.h - deep copies into a snapshot's arena.
 *
 * Thread: the backend's.
 */
#ifndef OBSERVE_ROW_COPY_H
#define OBSERVE_ROW_COPY_H

#include <berth/arena.h>
#include <berth/snapshot.h>

#include "observe/model.h"

/* "" is shared, everything else copied; NULL gives "". */
const char *copy_text(struct arena *a, const char *s);

/* Rows, sorted; returns whether every running one has rates (or cannot have any). */
bool copy_rows(struct model *m, struct snapshot *s, struct arena *a);
void copy_engine(const struct engine_state *from, struct engine_state *to, struct arena *a);
void copy_detail(const struct detail *from, struct detail *to, struct arena *a);

#endif
