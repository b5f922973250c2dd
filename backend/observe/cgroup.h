/*
 * cgroup.h - the counters of one container, read from its cgroup files and /proc/PID/net/dev.
 *
 * Version 1, version 2 and the mix of both ("hybrid") are found per controller through
 * /proc/PID/cgroup and /proc/self/mountinfo.  A reader keeps its descriptors open and a sweep is a
 * handful of pread calls into a stack buffer: no allocation, no path look-up.  A file whose numbers
 * cannot have moved is left alone: each costs the kernel a microsecond, most of it in cache misses.
 * What the numbers mean is what `docker stats` shows: memory without the inactive file cache, all
 * interfaces but lo.
 *
 * A reader is bound to a container by its full id: one that cannot be found in the process's cgroup
 * path is refused, which also guards against a pid that is somebody else's by now, and is how berth
 * knows that an engine is local.  Once open, the files belong to that one cgroup: after its end
 * they give ENODEV, never another container's numbers.
 *
 * Sources: Documentation/admin-guide/cgroup-v1 and cgroup-v2.rst, proc(5), and the docker CLI's
 * cli/command/container/stats_helpers.go for the subtraction of the cache.
 * Thread: one owner at a time.
 */
#ifndef BERTH_OBSERVE_CGROUP_H
#define BERTH_OBSERVE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>

#include "engine/engine.h" /* struct counters */

enum cgroup_file {
	CGROUP_CPU,
	CGROUP_MEMORY,
	CGROUP_MEMORY_STAT,
	CGROUP_IO,
	CGROUP_PIDS,
	CGROUP_THROTTLE,     /* version 1; of version 2 it is in CGROUP_CPU */
	CGROUP_PRESSURE_CPU, /* version 2 alone */
	CGROUP_PRESSURE_MEMORY,
	CGROUP_PRESSURE_IO,
	CGROUP_NET,
	CGROUP_FILES,
};

/* Where the hierarchies are mounted.  `root` stands before every path read, so that tests can point
 * at recorded trees; "" in life. */
struct cgroup_mounts {
	char *root;
	size_t n;
	struct cgroup_mount {
		char *controllers; /* ",cpu,cpuacct,"; NULL for version 2 */
		char *point;       /* mount point */
		char *base;        /* the part of the hierarchy that is mounted there */
	} * mount;
};

int cgroup_mounts_read(struct cgroup_mounts *m, const char *root, struct err *e);
void cgroup_mounts_release(struct cgroup_mounts *m);

struct cgroup_reader {
	bool open;
	bool v2[CGROUP_FILES];
	int fd[CGROUP_FILES];              /* -1: not there */
	uint64_t memory_limit, pids_limit; /* 0: none; read when opened and by cgroup_limits */
	double cpu_limit_percent;          /* likewise */
	uint64_t cpu_ns, pids, block_read, block_write; /* as last read */
	uint64_t periods, throttled;
	bool pressed;             /* the kernel counts these */
	double pressure[3];       /* CPU, memory, I/O */
	uint64_t usage, inactive; /* memory, and its inactive file cache ... */
	uint64_t inactive_usage;  /* ... as read when the usage was this */
	uint8_t round;            /* counts sweeps */
	uint8_t quiet;            /* sweeps in a row without any CPU time used, saturating */
	pid_t pid;
};

void cgroup_reader_init(struct cgroup_reader *r);
void cgroup_reader_close(struct cgroup_reader *r); /* may be opened again */

/* Find and open the files of container `id` whose init process is `pid`.  ERR_NOT_FOUND: that
 * process is not of this container (or not of this machine).  `net`: read /proc/PID/net/dev too
 * (false for containers in the host's network, which docker stats shows no traffic for). */
int cgroup_reader_open(struct cgroup_reader *r, const struct cgroup_mounts *m, const char *id,
	pid_t pid, bool net, struct err *e);

/* Read all counters.  -1 when the cgroup is gone: close it and look again. */
int cgroup_read(struct cgroup_reader *r, struct counters *out);
/* The limits may be changed by `docker update`: read them again. */
void cgroup_limits(struct cgroup_reader *r, const struct cgroup_mounts *m, const char *id);

/* The path of a file in the container's cgroup of one controller ("memory", "pids"...), for
 * readings that are not part of a sweep.  v1 and v2 name differently: the one that applies is
 * chosen. */
int cgroup_path(const struct cgroup_mounts *m, const char *id, pid_t pid, const char *controller,
	const char *v1_file, const char *v2_file, char *buf, size_t cap, bool *v2, struct err *e);

#define CGROUP_FDS CGROUP_FILES /* descriptors that an open reader may hold */

#endif
