/* ps_json.c - `berth ps --json`: prints berth.ps/1. */
#include <berth/format.h>
#include <berth/jsonw.h>

#include "cli/ps.h"

static void json_stamp(struct jsonw *j, const char *key, int64_t wall_ms)
{
	char buf[FORMAT_MAX];

	jsonw_text(j, key, wall_ms > 0 ? format_stamp(buf, wall_ms) : NULL);
}

static void json_or_null(struct jsonw *j, const char *key, const char *s)
{
	jsonw_text(j, key, s && *s ? s : NULL);
}

static void json_rate(struct jsonw *j, const char *key, bool known, double v)
{
	if (known && v >= 0)
		jsonw_number(j, key, v, 1);
	else
		jsonw_null(j, key);
}

static void json_total(struct jsonw *j, const char *key, bool known, uint64_t v)
{
	if (known)
		jsonw_uint(j, key, v);
	else
		jsonw_null(j, key);
}

static void json_percent(struct jsonw *j, const char *key, bool known, double v)
{
	if (known)
		jsonw_number(j, key, v, 2);
	else
		jsonw_null(j, key);
}

static void json_stats(struct jsonw *j, const struct container *c, const struct snapshot *s)
{
	const struct container_stats *t = &c->stats;
	bool any = ps_has_sample(c), rates = any && t->rates;

	jsonw_text(j, "stats_source",
		t->source == STATS_CGROUP           ? "cgroup"
			: t->source == STATS_ENGINE ? "engine"
						    : NULL);
	if (any)
		jsonw_int(j, "stats_age_ms", (s->at_ns - t->at_ns) / 1000000);
	else
		jsonw_null(j, "stats_age_ms");
	json_percent(j, "cpu_percent", rates, t->cpu_percent);
	if (any && t->cpu_limit_percent > 0)
		jsonw_number(j, "cpus_limit", t->cpu_limit_percent / 100, 3);
	else
		jsonw_null(j, "cpus_limit");
	json_percent(j, "throttled_percent", rates && t->throttles, t->throttled_percent);
	json_percent(j, "pressure_cpu", any && t->pressed, t->pressure_cpu);
	json_percent(j, "pressure_memory", any && t->pressed, t->pressure_memory);
	json_percent(j, "pressure_io", any && t->pressed, t->pressure_io);
	json_total(j, "memory_bytes", any, t->memory_bytes);
	json_total(j, "memory_limit_bytes", any && t->memory_limited, t->memory_limit_bytes);
	json_total(j, "pids", any, t->pids);
	json_total(j, "pids_limit", any && t->pids_limit, t->pids_limit);
	json_rate(j, "net_rx_bytes_per_s", rates && t->net, t->net_rx_bytes_per_s);
	json_rate(j, "net_tx_bytes_per_s", rates && t->net, t->net_tx_bytes_per_s);
	json_total(j, "net_rx_bytes", any && t->net, t->net_rx_bytes);
	json_total(j, "net_tx_bytes", any && t->net, t->net_tx_bytes);
	json_rate(j, "block_read_bytes_per_s", rates, t->block_read_bytes_per_s);
	json_rate(j, "block_write_bytes_per_s", rates, t->block_write_bytes_per_s);
	json_total(j, "block_read_bytes", any, t->block_read_bytes);
	json_total(j, "block_write_bytes", any, t->block_write_bytes);
}

static void json_container(struct jsonw *j, const struct container *c, const struct snapshot *s)
{
	int64_t up = ps_uptime_s(c, s);
	char ports[PS_CELL_MAX];

	jsonw_object(j, NULL);
	jsonw_text(j, "id", c->id);
	jsonw_text(j, "name", c->name);
	if (*c->host)
		jsonw_text(j, "host", c->host);
	json_or_null(j, "agent", c->agent);
	json_or_null(j, "session", c->session);
	json_or_null(j, "role", c->role);
	json_or_null(j, "compose_project", c->compose_project);
	json_or_null(j, "compose_service", c->compose_service);
	jsonw_text(j, "state", container_state_name(c->state));
	json_or_null(j, "health", health_name(c->health));
	json_or_null(j, "own_health", health_name(c->own_health));
	json_or_null(j, "mounts", c->mounts ? mounts_state_name(c->mounts) : NULL);
	if (ps_is_ended(c))
		jsonw_int(j, "exit_code", c->exit_code);
	else
		jsonw_null(j, "exit_code");
	jsonw_bool(j, "oom_killed", c->oom_killed);
	jsonw_text(j, "image", c->image);
	json_or_null(j, "image_id", c->image_id);
	json_or_null(j, "command", c->command);
	json_stamp(j, "created_at", c->created_wall_ms);
	json_stamp(j, "started_at", c->started_wall_ms);
	json_stamp(j, "finished_at", ps_is_ended(c) ? c->finished_wall_ms : 0);
	if (up >= 0)
		jsonw_int(j, "uptime_s", up);
	else
		jsonw_null(j, "uptime_s");
	jsonw_int(j, "restarts", c->restarts);
	ps_ports(ports, c, s);
	json_or_null(j, "ports", ports);
	json_or_null(j, "networks", c->networks);
	json_total(j, "pid", c->pid > 0, (uint64_t)c->pid);
	json_stats(j, c, s);
	jsonw_end(j);
}

static void json_ps_hosts(struct jsonw *j, const struct snapshot *s)
{
	jsonw_array(j, "hosts");
	for (size_t i = 0; i < s->nhosts; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "name", s->hosts[i].name);
		jsonw_bool(j, "listed", s->hosts[i].listed);
		json_or_null(j, "problem", s->hosts[i].engine.problem);
		jsonw_end(j);
	}
	jsonw_end(j);
}

int ps_print_json(const struct cli *c, const struct snapshot *s)
{
	const struct engine_state *en = &s->engine;
	struct jsonw j;

	jsonw_document(&j, "berth.ps/1");
	json_stamp(&j, "at", s->at_wall_ms);
	jsonw_object(&j, "engine");
	jsonw_text(&j, "id", en->id);
	jsonw_text(&j, "name", en->name);
	jsonw_text(&j, "endpoint", en->endpoint);
	jsonw_text(&j, "source", en->source);
	jsonw_text(&j, "product", en->product);
	jsonw_text(&j, "version", en->version);
	jsonw_text(&j, "api", en->api);
	jsonw_bool(&j, "local", en->local);
	jsonw_end(&j);
	if (s->nhosts)
		json_ps_hosts(&j, s);
	jsonw_array(&j, "containers");
	for (size_t i = 0; i < s->ncontainers; i++)
		if (ps_is_shown(c, &s->containers[i]))
			json_container(&j, &s->containers[i], s);
	return jsonw_print(&j);
}
