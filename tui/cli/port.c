/* port.c - `berth port`: makes a server in a container reachable from this machine. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/port.h>
#include <berth/record.h>

#include "cli/commands.h"
#include "cli/gate.h"

#define ROWS_MAX 1024

struct port_act {
	const struct cli *c;
	struct port_spec spec;
	struct port_row row; /* when it was opened */
};

static int do_port_open(void *ctx, struct audit_record *r, struct err *e)
{
	struct port_act *a = ctx;

	(void)r;
	return port_open(a->c->argv[0], &a->spec, &a->row, e);
}

static int do_port_close(void *ctx, struct audit_record *r, struct err *e)
{
	const struct port_act *a = ctx;

	(void)r;
	return port_close(a->c->argv[0], a->spec.port, e);
}

static int act_on_port(
	struct port_act *a, enum operation operation, record_act_fn *act, struct err *e)
{
	struct port_row said = {.at = a->spec.at, .host_port = a->spec.host_port};
	char where[PORT_WHERE_MAX], port[8];
	const struct key_value kv[] = {{"port", port, false}, {"at", where, false}};
	struct policy policy;
	struct recorder by = {.program = "port", .policy = &policy, .direct = true};
	struct audit_record r = {.operation = operation,
		.target_type = "container",
		.agent = a->c->argv[0],
		.params = kv,
		.nparams = operation == OP_PORT_OPEN ? 2 : 1};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char name[64];
	int rc = -1;

	snprintf(port, sizeof port, "%u", a->spec.port);
	port_write_where(&said, where);
	if (!egress_container(a->c->argv[0], name, e) && !cli_policy(a->c, &policy, &mem, e)) {
		r.name = name;
		rc = record_act(&by, &r, NULL, act, a, e);
		recorder_settle(&by);
	}
	return rc;
}

/* Members of the open object. */
static void add_port_members(struct jsonw *j, const struct port_row *r)
{
	struct port_row at = *r;
	char where[PORT_WHERE_MAX];

	port_write_where(&at, where);
	*strrchr(where, ':') = '\0';
	jsonw_text(j, "container", r->container);
	jsonw_text(j, "agent", *r->agent ? r->agent : NULL);
	jsonw_uint(j, "port", r->port);
	jsonw_text(j, "host_address", where);
	jsonw_uint(j, "host_port", r->host_port);
	jsonw_text(j, "state", r->lost ? "lost" : "open");
	jsonw_int(j, "since", r->since_ms);
	jsonw_uint(j, "open", r->open);
	jsonw_uint(j, "connections", r->connections);
	jsonw_uint(j, "refused", r->refused);
	jsonw_uint(j, "up", r->up);
	jsonw_uint(j, "down", r->down);
}

static int tell_opened(const struct cli *c, const struct port_row *r)
{
	char where[PORT_WHERE_MAX];
	struct jsonw j;

	if (!cli_flag(c, "json")) {
		port_write_where(r, where);
		printf("port %u of %s is at %s\n", r->port, r->container, where);
		return cli_finish();
	}
	jsonw_document(&j, "berth.port/1");
	add_port_members(&j, r);
	return jsonw_print(&j);
}

int cli_port_open(const struct cli *c, const struct settings *s, struct err *e)
{
	struct port_act a = {.c = c};
	const char *address = cli_value(c, "address");
	int rc;

	(void)s;
	if (port_parse(c->argv[1], &a.spec, e) ||
		(address && port_set_address(&a.spec, address, cli_flag(c, "public"), e)))
		return -1;
	rc = act_on_port(&a, OP_PORT_OPEN, do_port_open, e);
	if (rc < 0)
		return -1;
	return cli_recorded(a.row.port && tell_opened(c, &a.row) ? 1 : rc, 1);
}

int cli_port_close(const struct cli *c, const struct settings *s, struct err *e)
{
	struct port_act a = {.c = c};
	int rc;

	(void)s;
	if (strchr(c->argv[1], ':'))
		return err_set(e, ERR_USAGE,
			"give the port number inside the container, without HOSTPORT, not \"%.40s\".",
			c->argv[1]);
	if (port_parse(c->argv[1], &a.spec, e))
		return -1;
	rc = act_on_port(&a, OP_PORT_CLOSE, do_port_close, e);
	if (rc < 0)
		return -1;
	if (!rc)
		printf("port %u of %s is closed\n", a.spec.port, c->argv[0]);
	return cli_recorded(cli_finish() ? 1 : rc, 1);
}

static void print_port(const struct port_row *r)
{
	char where[PORT_WHERE_MAX], since[FORMAT_MAX], up[FORMAT_MAX], down[FORMAT_MAX];

	port_write_where(r, where);
	printf("%-20s %5u %-22s %8s %4u %6" PRIu64 " %8s %8s  %s\n",
		*r->agent ? r->agent : r->container, r->port, where,
		format_span(since, (clock_wall_ms() - r->since_ms) / 1000), r->open, r->connections,
		format_bytes(up, r->up), format_bytes(down, r->down), r->lost ? "lost" : "open");
}

int cli_port_list(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct port_row *row = xcalloc(ROWS_MAX, sizeof *row);
	char name[64];
	struct jsonw j;
	size_t n;

	(void)s;
	if (c->argc && egress_container(c->argv[0], name, e))
		return -1;
	n = port_list(c->argc ? name : NULL, row, ROWS_MAX);
	if (!cli_flag(c, "json")) {
		if (!n)
			puts("no port is open");
		else
			printf("%-20s %5s %-22s %8s %4s %6s %8s %8s  %s\n", "AGENT", "PORT", "AT",
				"SINCE", "OPEN", "CONNS", "UP", "DOWN", "STATE");
		for (size_t i = 0; i < n; i++)
			print_port(&row[i]);
		return cli_finish();
	}
	jsonw_document(&j, "berth.ports/1");
	jsonw_array(&j, "ports");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		add_port_members(&j, &row[i]);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}
