/*
 * pace.h - whether an agent is busy, or idle, for longer than it was before.
 *
 * "Longer" is three times the longest of the commands, or of the pauses between them, that its journal still has; and
 * nothing is said before it has several of them, nor within a minute of work or ten of rest.
 *
 * Thread: any.
 */
#ifndef AGENTS_PACE_H
#define AGENTS_PACE_H

#include <berth/journal.h>
#include <berth/snapshot.h>

/* `list`: newest first, as journal_list gives it.  *ret_usual_ms: the longest so far, where it is not PACE_USUAL. */
enum agent_pace pace_of(
	const struct journal_command *list, size_t n, int64_t now_wall_ms, int64_t *ret_usual_ms);

#endif
