/* proc_cgroup.h - where the kernel keeps what it knows of a container. */
#ifndef LANE_PROC_CGROUP_H
#define LANE_PROC_CGROUP_H

#include <sys/types.h>

#define CGROUP_PATH_MAX 4200

/* The path of `file` in the cgroup of `pid`, of one controller (v1) or of all ("": v2).  -1 unless that
 * cgroup's name holds the container's id. */
int cgroup_file(pid_t pid, const char *id, const char *controller, const char *file,
	char path[CGROUP_PATH_MAX]);

#endif
