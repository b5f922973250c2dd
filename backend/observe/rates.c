/* rates.c - computes percentages, bytes per second and history from counters. */
#include "observe/rates.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

void history_get(const struct rate_history *h, enum series_kind kind, struct series *out)
{
	out->len = h ? h->len : 0;
	for (int i = 0; i < out->len; i++)
		out->v[i] = h->v[(h->next - h->len + i + SERIES_LEN) % SERIES_LEN][kind];
}

void rates_clear(struct rates *r)
{
	free(r->history);
	memset(r, 0, sizeof *r);
}

void rates_restart(struct rates *r)
{
	r->any = false;
}

static void store_history(struct rates *r, const struct container_stats *s, double dt)
{
	struct rate_history *h = r->history;
	float *v;

	if (!h)
		h = r->history = xcalloc(1, sizeof *h);
	v = h->v[h->next];
	v[SERIES_CPU] = (float)s->cpu_percent;
	v[SERIES_MEMORY] = (float)s->memory_bytes;
	v[SERIES_NET_RX] = (float)s->net_rx_bytes_per_s;
	v[SERIES_NET_TX] = (float)s->net_tx_bytes_per_s;
	v[SERIES_BLOCK_READ] = (float)s->block_read_bytes_per_s;
	v[SERIES_BLOCK_WRITE] = (float)s->block_write_bytes_per_s;
	h->next = (h->next + 1) % SERIES_LEN;
	if (h->len < SERIES_LEN)
		h->len++;
	h->interval_s = h->interval_s > 0 ? (h->interval_s + dt) / 2 : dt;
}

static void push_spark(struct container_stats *s)
{
	double tenths = s->cpu_percent * 10 + 0.5;

	if (s->spark_len == SPARK_LEN)
		memmove(s->spark, s->spark + 1, (SPARK_LEN - 1) * sizeof s->spark[0]);
	else
		s->spark_len++;
	s->spark[s->spark_len - 1] = tenths >= UINT16_MAX ? UINT16_MAX : (uint16_t)tenths;
}

/* Share of a core between two samples; -1 when the clock or the counters went backwards. */
static double cpu_percent(const struct counters *a, const struct counters *b, double stolen)
{
	double cpu = (double)(b->cpu_ns - a->cpu_ns), whole;

	if (b->system_ns > 0) {
		if (b->system_ns <= a->system_ns)
			return -1;
		whole = (double)(b->system_ns - a->system_ns);
		return cpu / whole * (b->online_cpus ? b->online_cpus : 1) * 100;
	}
	if (stolen < 0 || stolen > 0.9)
		stolen = 0;
	whole = (double)(b->at_ns - a->at_ns) * (1 - stolen);
	return cpu / whole * 100;
}

static bool runs_backwards(const struct counters *a, const struct counters *b)
{
	return b->cpu_ns < a->cpu_ns || b->net_rx < a->net_rx || b->net_tx < a->net_tx ||
		b->block_read < a->block_read || b->block_write < a->block_write ||
		b->periods < a->periods || b->throttled < a->throttled;
}

/* A rate in which something could not be computed leaves the previous figures alone. */
static void take_rates(
	struct rates *r, const struct counters *now, double stolen, struct container_stats *out)
{
	const struct counters *was = &r->last;
	double dt = (double)(now->at_ns - was->at_ns) / 1e9, cpu;

	cpu = cpu_percent(was, now, stolen);
	if (cpu < 0)
		return;
	out->rates = true;
	out->cpu_percent = cpu;
	out->net_rx_bytes_per_s = (double)(now->net_rx - was->net_rx) / dt;
	out->net_tx_bytes_per_s = (double)(now->net_tx - was->net_tx) / dt;
	out->block_read_bytes_per_s = (double)(now->block_read - was->block_read) / dt;
	out->block_write_bytes_per_s = (double)(now->block_write - was->block_write) / dt;
	out->throttled_percent = now->periods > was->periods
		? 100 * (double)(now->throttled - was->throttled) /
			(double)(now->periods - was->periods)
		: 0;
	store_history(r, out, dt);
	push_spark(out);
}

void rates_sample(struct rates *r, const struct counters *now, enum stats_source source,
	uint64_t host_memory, double stolen, struct container_stats *out)
{
	bool again = r->any && out->source == source && !runs_backwards(&r->last, now);

	if (!again) {
		out->rates = false;
		out->throttled_percent = 0;
		out->cpu_percent = out->net_rx_bytes_per_s = out->net_tx_bytes_per_s = 0;
		out->block_read_bytes_per_s = out->block_write_bytes_per_s = 0;
	}
	out->source = source;
	out->at_ns = now->at_ns;
	out->memory_bytes = now->memory_bytes;
	out->memory_limited =
		now->memory_limit > 0 && (!host_memory || now->memory_limit < host_memory);
	out->memory_limit_bytes = out->memory_limited ? now->memory_limit : host_memory;
	out->net = now->net;
	out->net_rx_bytes = now->net_rx;
	out->net_tx_bytes = now->net_tx;
	out->block_read_bytes = now->block_read;
	out->block_write_bytes = now->block_write;
	out->pids = now->pids;
	out->pids_limit = now->pids_limit;
	out->cpu_limit_percent = now->cpu_limit_percent;
	out->throttles = now->periods > 0;
	out->pressed = now->pressed;
	out->pressure_cpu = now->pressure_cpu;
	out->pressure_memory = now->pressure_memory;
	out->pressure_io = now->pressure_io;
	if (again && now->at_ns - r->last.at_ns < RATES_MIN_NS)
		return;
	if (again)
		take_rates(r, now, stolen, out);
	r->last = *now;
	r->any = true;
}
