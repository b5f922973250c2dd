/*
 * stats.c - reads a container's counters from the engine.
 *
 * Memory as docker stats shows it: usage less the inactive file cache, where that is smaller.
 * Source: docker/cli cli/command/container/stats_helpers.go (calculateMemUsageUnixNoCache).
 */
#include <string.h>
#include <strings.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "engine/call.h"
#include "engine/parse.h"

static uint64_t read_memory_used(const cJSON *memory)
{
	const cJSON *stats = ejson_get(memory, "stats");
	uint64_t usage = ejson_u64(memory, "usage"), cache;

	if (ejson_get(stats, "total_inactive_file")) { /* cgroup v1 */
		cache = ejson_u64(stats, "total_inactive_file");
		if (cache < usage)
			return usage - cache;
	}
	cache = ejson_u64(stats, "inactive_file");
	return cache < usage ? usage - cache : usage;
}

static void read_net_counters(const cJSON *networks, struct counters *c)
{
	const cJSON *n;

	c->net = cJSON_IsObject(networks) && ejson_count(networks) > 0;
	if (!c->net)
		return;
	cJSON_ArrayForEach(n, networks)
	{
		c->net_rx += ejson_u64(n, "rx_bytes");
		c->net_tx += ejson_u64(n, "tx_bytes");
	}
}

static void read_block(const cJSON *array, struct counters *c)
{
	const cJSON *item;

	if (!cJSON_IsArray(array))
		return;
	cJSON_ArrayForEach(item, array)
	{
		const char *op = ejson_string(item, "op");

		if (strcasecmp(op, "read") == 0)
			c->block_read += ejson_u64(item, "value");
		else if (strcasecmp(op, "write") == 0)
			c->block_write += ejson_u64(item, "value");
	}
}

int parse_stats(const cJSON *root, struct counters *c, struct err *e)
{
	const cJSON *cpu = ejson_get(root, "cpu_stats"), *memory = ejson_get(root, "memory_stats");

	*c = (struct counters){0};
	if (!cJSON_IsObject(cpu))
		return err_set(e, ERR_PROTOCOL, "the statistics have no cpu_stats");
	c->cpu_ns = ejson_u64(ejson_get(cpu, "cpu_usage"), "total_usage");
	c->system_ns = ejson_u64(cpu, "system_cpu_usage");
	c->online_cpus = (uint32_t)ejson_u64(cpu, "online_cpus");
	if (c->online_cpus == 0)
		c->online_cpus =
			(uint32_t)ejson_count(ejson_path(cpu, "cpu_usage", "percpu_usage", NULL));
	c->periods = ejson_u64(ejson_get(cpu, "throttling_data"), "periods");
	c->throttled = ejson_u64(ejson_get(cpu, "throttling_data"), "throttled_periods");
	c->memory_bytes = read_memory_used(memory);
	c->memory_limit = ejson_u64(memory, "limit");
	if (c->memory_limit >= (uint64_t)1 << 62) /* "no limit", as the kernel writes it */
		c->memory_limit = 0;
	read_net_counters(ejson_get(root, "networks"), c);
	read_block(ejson_path(root, "blkio_stats", "io_service_bytes_recursive", NULL), c);
	c->pids = ejson_u64(ejson_get(root, "pids_stats"), "current");
	c->pids_limit = ejson_u64(ejson_get(root, "pids_stats"), "limit");
	if (c->pids_limit > (uint64_t)1 << 62)
		c->pids_limit = 0;
	return 0;
}

struct stats {
	struct engine_call call;
	engine_stats_fn fn;
	void *ctx;
};

static void start_stats(struct engine_call *c)
{
	call_send_to(c, "GET", c->en->product->stats, HTTP_LANE_SHORT, 0);
}

static void stats_reply(struct engine_call *c, const struct http_reply *r)
{
	struct stats *s = (struct stats *)c;
	int64_t now = clock_mono_ns();
	AUTO_JSON cJSON *root = call_json(c, r);
	struct counters counters;
	struct err e = ERR_INIT;

	if (!root)
		return;
	if (parse_stats(root, &counters, &e)) {
		s->fn(s->ctx, NULL, &e);
	} else {
		counters.at_ns = now;
		s->fn(s->ctx, &counters, NULL);
	}
	call_free(c);
}

static void stats_failed(struct engine_call *c, const struct err *err)
{
	struct stats *s = (struct stats *)c;

	s->fn(s->ctx, NULL, err);
}

static const struct call_ops stats_ops = {
	.what = "read the statistics of %s",
	.start = start_stats,
	.reply = stats_reply,
	.failed = stats_failed,
};

struct engine_call *engine_stats(struct engine *en, const char *id, engine_stats_fn fn, void *ctx)
{
	struct stats *s = call_new(en, &stats_ops, sizeof *s, id);

	s->fn = fn;
	s->ctx = ctx;
	return &s->call;
}
