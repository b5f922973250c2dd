/*
 * process.h - the processes of one container, and what holds them, read from this machine's /proc.
 *
 * Reading another process's command line may block (it takes that process's memory lock), so this
 * runs on a worker thread, on a struct that nobody else touches meanwhile.
 */
#ifndef BERTH_OBSERVE_PROCESS_H
#define BERTH_OBSERVE_PROCESS_H

#include <berth/apparmor.h>
#include <berth/arena.h>
#include <berth/snapshot.h>

#include "observe/cgroup.h"

#define PROCESSES_MAX 512
#define COMMAND_MAX 512

/* CPU time of a process as seen last, to make a percentage of. */
struct process_seen {
	int pid;
	uint64_t started, ticks;
};

struct process_list {
	/* in */
	char id[65];
	pid_t pid; /* init process */
	bool with_limits;
	/* kept from one reading to the next */
	int64_t at_ns;
	size_t nseen;
	struct process_seen seen[PROCESSES_MAX];
	/* out: in `mem` */
	bool ok;
	size_t n;
	struct process_info *process; /* by pid */
	/* what is in force, read from the cgroup and /proc/PID/status; -1 unknown */
	int64_t memory_limit, memory_swap_limit, pids_limit; /* 0: none */
	double cpus;                                         /* 0: none */
	int64_t cap_effective, cap_bounding;                 /* masks */
	int seccomp, no_new_privileges, uid;
	char apparmor
		[APPARMOR_LABEL_MAX]; /* of the init: "docker-default (enforce)"; "" unknown, or none here */
	struct arena mem;
};

void process_list_init(struct process_list *l);
void process_list_release(struct process_list *l);
/* Fills in l->process and the rest; l->ok tells whether the container was there. */
void process_list_read(struct process_list *l, const struct cgroup_mounts *m);

/* Fields of /proc/PID/stat; the name in it may hold anything, parentheses too. */
bool process_scan_stat(char *text, char *state, char **name, uint64_t *ticks, uint64_t *started,
	uint64_t *rss_pages);

#endif
