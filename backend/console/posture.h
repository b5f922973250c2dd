/*
 * posture.h - describes what a container may use and how it is isolated: requested and in force.
 *
 * Asked is what the engine was told (inspect); in force is what the kernel says (its cgroup and the
 * init process's status), where those can be read.  Thread: any.
 */
#ifndef CONSOLE_POSTURE_H
#define CONSOLE_POSTURE_H

#include <berth/arena.h>
#include <berth/snapshot.h>

#include "engine/engine.h"
#include "observe/observe.h"

/* The part of an inspection that the texts below need; plain data, strings in the given arena. */
struct asked {
	uint64_t memory, memory_swap;
	double cpus;
	int64_t pids;
	bool privileged, read_only_root, no_new_privileges, host_pid, host_ipc, no_caps;
	bool engine_socket;
	size_t ncap_add, ndevices;
	const char *user, *seccomp, *apparmor, *network, *runtime;
};

void asked_take(struct asked *to, const struct engine_container *c, struct arena *a);

/* `in_force` is NULL where nothing could be read; own_kernel: its runtime has one, and what is seen of its init is the
 * sandbox.  Results live in `a`. */
size_t limits_text(const struct asked *as, const struct process_list *in_force, struct arena *a,
	const struct key_value **ret);
size_t posture_text(const struct asked *as, const struct process_list *in_force, bool own_kernel,
	struct arena *a, const struct posture_item **ret);

#endif
