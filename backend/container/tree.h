/*
 * tree.h - kills what a command started in a container, from the host.
 *
 * The engine can start a command but not end one.  Where berth may make cgroups (as root, on the engine's
 * machine), the command gets one of its own below the container's: no process in there can leave it, whatever it
 * does to its parents, its session and its environment.  So that nothing is started before it is in there, the
 * command begins as a shell that stops itself and becomes the command when it is let go (TREE_GATE).
 *
 * Elsewhere what belongs to a command is known by a variable in its environment that only it has, RUN_MARK, which
 * children inherit, and by descent; both together find sessions of their own, double forks, stopped processes and
 * those that ignore signals.  What has left its parents AND wiped its environment is not found: that is a best
 * effort, and said to be one.
 *
 * Thread: any.
 */
#ifndef CONTAINER_TREE_H
#define CONTAINER_TREE_H

#include <stdbool.h>
#include <sys/types.h>

#include "lane/lane.h"

#define RUN_MARK GUEST_RUN_MARK

/* sh -c TREE_GATE sh CMD ARG...: 127 before it stops when there is no CMD, 126 when it is not a program; what shells
 * export of themselves is taken back. */
#define TREE_GATE                                                                        \
	"case $1 in "                                                                    \
	"*/*) [ -e \"$1\" ] || exit 127; [ -f \"$1\" ] && [ -x \"$1\" ] || exit 126 ;; " \
	"*) command -v \"$1\" >/dev/null 2>&1 || exit 127 ;; "                           \
	"esac; unset PWD OLDPWD SHLVL; kill -STOP $$; exec \"$@\""

/* Whether process `pid` of this machine is in the cgroup of container `id`: then the engine is here. */
bool tree_is_here(pid_t pid, const char *id);

/* Kill what lives of the command with this mark (its value) or below `pid` (0: not known), but nothing
 * outside of container `id`.  How many were found alive; -1: this user may not. */
int tree_kill(const char *id, const char *mark, pid_t pid);

/* A cgroup for one command, named after its mark; path "": none. */
struct tree_group {
	char path[CGROUP_PATH_MAX];
	char id[LANE_ID_MAX]; /* of its container */
};

/* Below that of container `id`, whose init is `init`, if this user may and the container has a shell for
 * the gate.  -1: not here. */
int tree_group_make(struct tree_group *g, pid_t init, const char *id, const char *mark);
/* Is process `pid` at the gate: 1 it is, 0 not yet, -1 it has ended. */
int tree_at_gate(pid_t pid);
/* In it goes and on it runs; -1: it runs outside, for it was not stopped or could not be moved, or it is
 * not in the container. */
int tree_group_take(const struct tree_group *g, pid_t pid);
/* Kill everything in it; how many were found alive. */
int tree_group_kill(const struct tree_group *g);
/* The group itself, once it is empty: blocks up to 0.1 s while what was killed in it goes. */
void tree_group_remove(struct tree_group *g);

#endif
