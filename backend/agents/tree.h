/*
 * tree.h - ending what a command started in a container, from the host.
 *
 * The engine can start a command but not end one.  What belongs to a command is known by a variable
 * in its environment that only it has, RUN_MARK, which children inherit, and by descent; both
 * together find sessions of their own, double forks, stopped processes and those that ignore
 * signals.  What has left its parents AND wiped its environment is not found: only the guest's lane
 * or the end of the container is complete.
 *
 * Thread: any.
 */
#ifndef AGENTS_TREE_H
#define AGENTS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

#define RUN_MARK "BERTH_RUN"

/* Whether process `pid` of this machine is in the cgroup of container `id`: then the engine is here. */
bool tree_is_here(pid_t pid, const char *id);

/* Kill what lives of the command with this mark (its value) or below `pid` (0: not known), but nothing
 * outside of container `id`.  How many were found alive; -1: this user may not. */
int tree_kill(const char *id, const char *mark, pid_t pid);

#endif
