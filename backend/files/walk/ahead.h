/*
 * ahead.h - a second walk that only counts, on its own thread, for the total of a long walk.
 *
 * It passes over the same entries, keeps none of them, and tells the job its totals: "at least" until it
 * is through.  What it cannot read stays out of them, as it does in the work.
 */
#ifndef BERTH_FILES_AHEAD_H
#define BERTH_FILES_AHEAD_H

#include "files/walk/walk.h"

void ahead_start(struct walk *w); /* once; w's job is shown.  From any of its threads. */
void ahead_stop(struct walk *w);  /* w is over: so is this */

#endif
