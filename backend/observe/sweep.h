/*
 * sweep.h - one round of readings over all rows whose cgroups are readable from here.
 *
 * Thread: the backend's.
 */
#ifndef BERTH_OBSERVE_SWEEP_H
#define BERTH_OBSERVE_SWEEP_H

#include "observe/model.h"

struct sweep {
	struct cgroup_mounts mounts;
	size_t fd_budget;     /* descriptors that readers may hold together */
	uint64_t host_memory; /* limit of a container without one */
	double stolen;        /* as rates_sample wants it */
	bool local;           /* a container's processes were found on this machine */
};

/* `fd_budget`: raise the soft limit of open files to the hard one and leave room for the rest. */
size_t sweep_raise_fds(void);

/* Open the row's files if that has not been tried in this life of the container. */
void sweep_attach(struct sweep *s, struct model *m, struct row *r);
/* Read one row.  A cgroup that vanished marks the row dirty. */
void sweep_row(struct sweep *s, struct model *m, struct row *r);
/* Read all; returns how many were. */
size_t sweep_all(struct sweep *s, struct model *m);
/* Read those that have one sample only, so that they have rates. */
size_t sweep_young(struct sweep *s, struct model *m, int64_t older_than_ns);

#endif
