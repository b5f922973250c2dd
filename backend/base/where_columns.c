/* where_columns.c - lists the columns that conditions can use. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <berth/where.h>

#include "base/snapshot.h"

static bool give_text(const char *s, char *buf, size_t cap)
{
	if (!s || !*s)
		return false;
	snprintf(buf, cap, "%s", s);
	return true;
}

static bool give_number(bool known, double v, double *ret)
{
	*ret = v;
	return known;
}

#define TEXT_OF(name, value)                                                       \
	static bool where_##name(const struct where_row *r, char *buf, size_t cap) \
	{                                                                          \
		return r->c && give_text(value, buf, cap);                         \
	}
#define NUMBER_OF(name, known, value)                                    \
	static bool where_##name(const struct where_row *r, double *ret) \
	{                                                                \
		return r->c && give_number(known, (double)(value), ret); \
	}
#define SAMPLED (r->c->state == CONTAINER_RUNNING && r->c->stats.source != STATS_NONE)
#define ENDED (r->c->state == CONTAINER_EXITED || r->c->state == CONTAINER_DEAD)

TEXT_OF(id, r->c->id)
TEXT_OF(image, r->c->image)
TEXT_OF(host, r->c->host)
TEXT_OF(session, r->c->session)
TEXT_OF(ports, r->c->ports)
TEXT_OF(networks, r->c->networks)
TEXT_OF(compose_project, r->c->compose_project)
TEXT_OF(compose_service, r->c->compose_service)
TEXT_OF(state, container_state_name(r->c->state))
TEXT_OF(health, health_name(r->c->own_health ? r->c->own_health : r->c->health))
TEXT_OF(oom_killed, r->c->oom_killed ? "true" : "false")
NUMBER_OF(exit_code, ENDED, r->c->exit_code)
NUMBER_OF(restarts, true, r->c->restarts)
NUMBER_OF(uptime, r->c->state == CONTAINER_RUNNING && r->c->started_wall_ms > 0,
	(double)(r->wall_ms - r->c->started_wall_ms) / 1000)
NUMBER_OF(cpu, SAMPLED && r->c->stats.rates, r->c->stats.cpu_percent)
NUMBER_OF(memory, SAMPLED, r->c->stats.memory_bytes)
NUMBER_OF(memory_limit, SAMPLED && r->c->stats.memory_limited, r->c->stats.memory_limit_bytes)
NUMBER_OF(memory_percent, SAMPLED && r->c->stats.memory_limited && r->c->stats.memory_limit_bytes,
	100.0 * (double)r->c->stats.memory_bytes / (double)r->c->stats.memory_limit_bytes)
NUMBER_OF(pids, SAMPLED, r->c->stats.pids)
NUMBER_OF(pids_limit, SAMPLED && r->c->stats.pids_limit, r->c->stats.pids_limit)
NUMBER_OF(pids_percent, SAMPLED && r->c->stats.pids_limit,
	100.0 * (double)r->c->stats.pids / (double)r->c->stats.pids_limit)
#define RATE_OF(name, field, known) \
	NUMBER_OF(name, SAMPLED && r->c->stats.rates && (known), r->c->stats.field)
RATE_OF(net_rx, net_rx_bytes_per_s, r->c->stats.net)
RATE_OF(net_tx, net_tx_bytes_per_s, r->c->stats.net)
RATE_OF(block_read, block_read_bytes_per_s, true)
RATE_OF(block_write, block_write_bytes_per_s, true)
RATE_OF(throttled, throttled_percent, r->c->stats.throttles)
NUMBER_OF(pressure_cpu, SAMPLED && r->c->stats.pressed, r->c->stats.pressure_cpu)
NUMBER_OF(pressure_memory, SAMPLED && r->c->stats.pressed, r->c->stats.pressure_memory)
NUMBER_OF(pressure_io, SAMPLED && r->c->stats.pressed, r->c->stats.pressure_io)

/* What both have. */

static bool where_name(const struct where_row *r, char *buf, size_t cap)
{
	return give_text(r->c ? r->c->name : r->a->name, buf, cap);
}

static bool where_agent(const struct where_row *r, char *buf, size_t cap)
{
	return give_text(r->a ? r->a->id : r->c->agent, buf, cap);
}

static bool where_role(const struct where_row *r, char *buf, size_t cap)
{
	return give_text(r->a && *r->a->role ? r->a->role : r->c ? r->c->role : "", buf, cap);
}

/* Of agents. */

static bool where_agent_state(const struct where_row *r, char *buf, size_t cap)
{
	return r->a && give_text(agent_state_name(r->a->state), buf, cap);
}

static bool where_attention(const struct where_row *r, char *buf, size_t cap)
{
	return r->a && agent_attention(r->a, buf, cap) != ATTENTION_NONE;
}

static bool where_attention_s(const struct where_row *r, double *ret)
{
	return r->a &&
		give_number(r->a->need_wall_ms > 0,
			(double)(r->wall_ms - r->a->need_wall_ms) / 1000, ret);
}

static bool where_command(const struct where_row *r, char *buf, size_t cap)
{
	return r->a ? r->a->ncommands && give_text(r->a->commands[0].text, buf, cap)
		    : give_text(r->c->command, buf, cap);
}

static bool where_commands(const struct where_row *r, double *ret)
{
	return r->a && give_number(r->a->state == AGENT_UP, (double)r->a->nrunning, ret);
}

static bool where_last(const struct where_row *r, char *buf, size_t cap)
{
	return r->a && r->a->last && give_text(r->a->last->ended, buf, cap);
}

static bool where_idle(const struct where_row *r, double *ret)
{
	return r->a && r->a->last &&
		give_number(r->a->state == AGENT_UP && !r->a->nrunning,
			(double)(r->wall_ms - r->a->last->started_wall_ms -
				r->a->last->duration_ms) /
				1000,
			ret);
}

static bool where_drift(const struct where_row *r, double *ret)
{
	return r->a && give_number(r->a->checked_wall_ms > 0, (double)r->a->ndrift, ret);
}

static bool where_cost(const struct where_row *r, double *ret)
{
	return r->a && give_number(r->a->routes > 0, (double)r->a->nano_dollars / 1e9, ret);
}

/* clang-format off */
const struct where_column where_columns[] = {
	{"name", "of the container", WHERE_TEXT, where_name, NULL},
	{"id", "of the container, in full", WHERE_TEXT, where_id, NULL},
	{"state", "created, running, paused, restarting, removing, exited or dead", WHERE_TEXT, where_state, NULL},
	{"health", "starting, healthy or unhealthy", WHERE_TEXT, where_health, NULL},
	{"exit_code", "of what ended", WHERE_NUMBER, NULL, where_exit_code},
	{"oom_killed", "true or false", WHERE_TEXT, where_oom_killed, NULL},
	{"restarts", "by the engine", WHERE_NUMBER, NULL, where_restarts},
	{"uptime_s", "since its start", WHERE_SECONDS, NULL, where_uptime},
	{"image", "as it was asked for", WHERE_TEXT, where_image, NULL},
	{"cpu_percent", "100 is one core", WHERE_PERCENT, NULL, where_cpu},
	{"memory_bytes", "without the page cache", WHERE_BYTES, NULL, where_memory},
	{"memory_limit_bytes", "where there is one", WHERE_BYTES, NULL, where_memory_limit},
	{"memory_percent", "of its limit", WHERE_PERCENT, NULL, where_memory_percent},
	{"pids", "processes and threads", WHERE_NUMBER, NULL, where_pids},
	{"pids_limit", "where there is one", WHERE_NUMBER, NULL, where_pids_limit},
	{"pids_percent", "of its limit", WHERE_PERCENT, NULL, where_pids_percent},
	{"net_rx_bytes_per_s", "received", WHERE_BYTES, NULL, where_net_rx},
	{"net_tx_bytes_per_s", "sent", WHERE_BYTES, NULL, where_net_tx},
	{"block_read_bytes_per_s", "read from disks", WHERE_BYTES, NULL, where_block_read},
	{"block_write_bytes_per_s", "written to disks", WHERE_BYTES, NULL, where_block_write},
	{"throttled_percent", "share of its CPU limit's periods in which it was throttled", WHERE_PERCENT, NULL,
		where_throttled},
	{"pressure_cpu", "share of the last ten seconds in which something in it waited for CPU (PSI)", WHERE_PERCENT, NULL,
		where_pressure_cpu},
	{"pressure_memory", "likewise, for memory", WHERE_PERCENT, NULL, where_pressure_memory},
	{"pressure_io", "likewise, for I/O", WHERE_PERCENT, NULL, where_pressure_io},
	{"ports", "that are published", WHERE_TEXT, where_ports, NULL},
	{"networks", "by name", WHERE_TEXT, where_networks, NULL},
	{"host", "name of its host, where several are shown", WHERE_TEXT, where_host, NULL},
	{"compose_project", "by its label", WHERE_TEXT, where_compose_project, NULL},
	{"compose_service", "by its label", WHERE_TEXT, where_compose_service, NULL},
	{"session", "of the agent", WHERE_TEXT, where_session, NULL},
	{"role", "of an agent, the role in its file; else agent, tool, pool or helper", WHERE_TEXT, where_role, NULL},
	{"agent", "its id", WHERE_TEXT, where_agent, NULL},
	{"agent_state", "down, up, stopped, gone ...", WHERE_TEXT, where_agent_state, NULL},
	{"attention", "why a person should look at the agent, in words", WHERE_TEXT, where_attention, NULL},
	{"attention_s", "for how long", WHERE_SECONDS, NULL, where_attention_s},
	{"command", "what the agent runs; of another container its program", WHERE_TEXT, where_command, NULL},
	{"commands", "that the agent runs at once", WHERE_NUMBER, NULL, where_commands},
	{"last", "how the agent's last command ended: exit 0, timeout ...", WHERE_TEXT, where_last, NULL},
	{"idle_s", "since the agent's last command", WHERE_SECONDS, NULL, where_idle},
	{"drift", "points in which the agent is not as its file says", WHERE_NUMBER, NULL, where_drift},
	{"cost_usd", "of the agent's routes with keys", WHERE_NUMBER, NULL, where_cost},
	{"log", "a line that the container prints; in alerts only", WHERE_LOG, NULL, NULL},
	{0},
};
/* clang-format on */

bool where_value(
	const struct where_column *k, const struct where_row *row, char buf[WHERE_VALUE_MAX])
{
	double v;

	*buf = '\0';
	if (k->text)
		return k->text(row, buf, WHERE_VALUE_MAX);
	if (!k->number || !k->number(row, &v) || !isfinite(v))
		return false;
	if (v == floor(v) && fabs(v) < 1e15)
		snprintf(buf, WHERE_VALUE_MAX, "%.0f", v);
	else
		snprintf(buf, WHERE_VALUE_MAX, "%.2f", v);
	return true;
}
