/*
 * limits.h - changes the limits of a running container and verifies them.
 *
 * Through policy and the log like every act.  The engine is asked to change them, and they are then read from the
 * kernel (of an engine elsewhere: from the engine, which is said): what is not in force is an error.
 *
 * Thread: any; it blocks.
 */
#ifndef BERTH_LIMITS_H
#define BERTH_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"
#include "snapshot.h"

#define LIMITS_MEMORY_LEAST (UINT64_C(6) << 20) /* what engines take */
#define LIMITS_CPUS_LEAST 0.01
#define LIMITS_PIDS_MOST 4194304

/* 0: as it is; read back: none. */
struct container_limits {
	uint64_t memory_bytes; /* and with it that of memory and swap, where they were the same */
	double cpus;
	int64_t pids;
};

struct limits_change {
	const char *host, *context; /* of the engine */
	const struct policy *policy;
	const struct container *container; /* as a snapshot has it */
	struct container_limits want;
};

/* *ret: what holds now; *ret_kernel: the kernel said so.  ERR_FAILED: it is not what was asked for. */
int limits_set(const struct limits_change *c, struct container_limits *ret, bool *ret_kernel,
	struct err *e);

#endif
