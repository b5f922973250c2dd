/*
 * rates.h - computes percentages, bytes per second and history from counters.
 *
 * A rate needs two samples of the same life of a container: a counter that went backwards (restart)
 * starts over, and the interval is the real time between the samples, so that a machine that slept
 * or a process that was stopped gives a mean and not a peak.
 * Thread: one owner at a time.
 */
#ifndef BERTH_OBSERVE_RATES_H
#define BERTH_OBSERVE_RATES_H

#include <berth/snapshot.h>

#include "engine/engine.h" /* struct counters */

enum series_kind {
	SERIES_CPU,
	SERIES_MEMORY,
	SERIES_NET_RX,
	SERIES_NET_TX,
	SERIES_BLOCK_READ,
	SERIES_BLOCK_WRITE,
	SERIES_KINDS,
};

/* The last SERIES_LEN values of each kind. */
struct rate_history {
	int len, next;
	double interval_s;                 /* between two values, as it really was (smoothed) */
	float v[SERIES_LEN][SERIES_KINDS]; /* one sample side by side: a sweep touches one line */
};

void history_get(const struct rate_history *h, enum series_kind kind, struct series *out);

struct rates {
	bool any; /* `last` holds a sample */
	struct counters last;
	struct rate_history *history; /* NULL until the second sample */
};

void rates_clear(struct rates *r);   /* forget everything, history too */
void rates_restart(struct rates *r); /* the next sample is a first one; history stays */

/* Shorter intervals give no rate: the sample only refreshes what is not a rate. */
#define RATES_MIN_NS (20 * 1000 * 1000LL)

/* Take one sample and fill *out.  `host_memory`: the limit of a container that has none.
 * `stolen`: the share (0..1) of this machine's CPU time that its hypervisor gave to others;
 * docker stats divides by the host's own CPU time, in which that share is missing. */
void rates_sample(struct rates *r, const struct counters *now, enum stats_source source,
	uint64_t host_memory, double stolen, struct container_stats *out);

#endif
