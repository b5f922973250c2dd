/*
 * host.h - the machine berth runs on, and berth itself.
 *
 * Thread: one owner at a time.
 */
#ifndef BERTH_OBSERVE_HOST_H
#define BERTH_OBSERVE_HOST_H

#include <berth/snapshot.h>

struct host {
	int fd_stat, fd_meminfo; /* kept open */
	bool any;
	int64_t at_ns;
	uint64_t busy, total, steal; /* ticks, as last read */
	double stolen;               /* share of CPU time taken by a hypervisor, smoothed */
	int64_t self_at_ns, self_cpu_ns;
	int64_t disk_at_ns, fds_at_ns;
	int fds;
	struct series cpu, memory;
};

void host_init(struct host *h);
void host_release(struct host *h);

/* Fill both with new readings.  `root_dir`: the engine's, NULL when it is not on this machine;
 * its file system is asked every 10 s only. */
void host_read(struct host *h, const char *root_dir, struct host_stats *out);
void host_read_self(struct host *h, struct self_stats *out);

/* CPU ticks of /proc/stat's first line: all, those spent working, those stolen. */
bool host_scan_cpu(const char *p, size_t n, uint64_t *total, uint64_t *busy, uint64_t *steal);

#endif
