/*
 * oom.h - how often the kernel ended something in a container for want of memory.
 */
#ifndef LANE_OOM_H
#define LANE_OOM_H

#include <stdint.h>
#include <sys/types.h>

/* The oom_kill counter of the memory cgroup that process `pid` of container `id` is in; 0 when it cannot
 * be read.  Read before and after a command, it tells an OOM kill from any other SIGKILL. */
uint64_t oom_kills(pid_t pid, const char *id);

#endif
