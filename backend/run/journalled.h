/* journalled.h - the journal's entry of a command, for who runs or refuses it. */
#ifndef RUN_JOURNALLED_H
#define RUN_JOURNALLED_H

#include <berth/agents.h>

struct journal_entry;
struct lane_about;

/* NULL: none is kept of this container. */
struct journal_entry *journal_open_for(const struct run_request *r, const struct lane_about *about);

#endif
