/*
 * job.h - a long-running job: name, total, done, rate, ETA, and cancelling it.
 *
 * A process's jobs live on its job board, one mmap'ed file in the runtime directory, so that every
 * berth process sees every job (backend/job).  This is what the others see of one.
 *
 * Thread: plain data.
 */
#ifndef BERTH_JOB_H
#define BERTH_JOB_H

#include <stdbool.h>
#include <stdint.h>

#define JOB_TEXT_MAX 128
#define JOB_ERRORS 2 /* sentences about failed items that are kept: the first ones */
#define JOB_ERROR_MAX 168

enum job_state {
	JOB_QUEUED,
	JOB_RUNNING,
	JOB_DONE,
	JOB_FAILED,
	JOB_CANCELLED,
	JOB_ORPHANED, /* its process died before it ended */
};
static inline bool job_ended(enum job_state s)
{
	return s >= JOB_DONE;
}

/* Identity of a job on this machine: process, its start time, and a serial within it. */
struct job_id {
	int32_t pid;
	uint64_t started; /* start time of the process, clock ticks since boot (/proc/PID/stat) */
	uint32_t serial;
};

struct job_info {
	struct job_id id;
	enum job_state state;
	bool own;                     /* of this process */
	bool ours;                    /* of this process or of one that it started */
	bool cancellable, cancelling; /* asked to stop, not yet stopped */
	bool asks;                    /* it waits for a person's word: CMD_JOB_ALLOW, or cancel */
	char name[JOB_TEXT_MAX];      /* "image import shell", "stop 4 containers" */
	char owner[JOB_TEXT_MAX];     /* agent id, or the user's name */
	char current[JOB_TEXT_MAX];   /* item in hand; "" when none */
	char result[JOB_TEXT_MAX];    /* sentence: how it ended, or the error */
	char unit[16];                /* what items are: "files", "containers" */
	uint64_t items_done, items_total;       /* total 0: unknown */
	uint64_t bytes_done, bytes_total;       /* total 0: unknown or not counted */
	bool counting;                          /* the totals are "at least": they grow still */
	uint64_t failed;                        /* items that failed */
	char error[JOB_ERRORS][JOB_ERROR_MAX];  /* about the first of these; "" none */
	int64_t started_wall_ms, ended_wall_ms; /* ended 0 while it runs */
	int64_t elapsed_ms;
	double rate;     /* bytes/s where bytes are counted, else items/s; -1 unknown */
	int64_t eta_ms;  /* -1 unknown */
	double fraction; /* 0..1; -1 unknown, as it is while the totals grow */
};

#endif
