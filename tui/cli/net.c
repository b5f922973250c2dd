/* net.c - `berth net`: manages the network rules of an agent, and prints its connections. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/egress.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/route.h>
#include <berth/team.h>

#include "cli/commands.h"
#include "cli/gate.h"

#define LOG_LINES 50
#define SESSIONS_READ 1024

struct rule_book { /* of one agent, while it is looked at or changed */
	const struct cli *c;
	char name[64]; /* of the container */
	struct egress_rule rule[EGRESS_RULES_MAX];
	size_t n;
	const char *file; /* --save: the team file; NULL */
};

static int open_rule_book(struct rule_book *b, const struct cli *c, struct err *e)
{
	b->c = c;
	return egress_container(c->argv[0], b->name, e) ||
			egress_load_rules(b->name, b->rule, &b->n, e)
		? -1
		: 0;
}

static void print_rule(const struct egress_rule *r, int64_t now_s)
{
	char text[EGRESS_RULE_MAX], age[FORMAT_MAX];

	egress_write_rule(r, text);
	if (r->rate)
		printf("%-6s %s a second, each way\n", "rate", format_bytes(text, r->rate));
	else if (r->net_bits)
		printf("%-6s %-40s a network of the engine: by address only\n", "engine", text);
	else if (r->ask_s)
		printf("%-6s %-40s team file, waits %u s\n", "ask", "anything else", r->ask_s);
	else if (r->origin == EGRESS_FILE)
		printf("%-6s %-40s team file%s%s\n", egress_rule_verb(r), text,
			*r->preset ? ", preset " : "", r->preset);
	else
		printf("%-6s %-40s %s ago\n", egress_rule_verb(r), text,
			format_span(age, now_s > r->since_s ? now_s - r->since_s : 0));
}

static void add_rule_json(struct jsonw *j, const struct egress_rule *r)
{
	char text[EGRESS_RULE_MAX];

	egress_write_rule(r, text);
	jsonw_object(j, NULL);
	jsonw_text(j, "rule", r->ask_s ? NULL : text);
	jsonw_text(j, "verb", egress_rule_verb(r));
	jsonw_bool(j, "allow", r->allow);
	jsonw_bool(j, "tls", r->allow && egress_wants_tls(r, &r->at));
	jsonw_text(j, "origin", egress_origin_name(r->origin));
	jsonw_text(j, "preset", *r->preset ? r->preset : NULL);
	if (r->since_s)
		jsonw_int(j, "since", r->since_s);
	else
		jsonw_null(j, "since");
	jsonw_end(j);
}

int cli_net_list(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct rule_book *b = xcalloc(1, sizeof *b);
	struct jsonw j;

	(void)s;
	if (open_rule_book(b, c, e))
		return -1;
	if (!cli_flag(c, "json")) {
		for (size_t i = 0; i < b->n; i++)
			print_rule(&b->rule[i], clock_wall_ms() / 1000);
		return cli_finish();
	}
	jsonw_document(&j, "berth.net_rules/1");
	jsonw_text(&j, "container", b->name);
	jsonw_array(&j, "rules");
	for (size_t i = 0; i < b->n; i++)
		add_rule_json(&j, &b->rule[i]);
	return jsonw_print(&j);
}

/* What a person said before about this target, or what the file says word for word. */
static size_t find_rule(const struct rule_book *b, const struct egress_rule *r)
{
	size_t i = 0;

	while (i < b->n &&
		(!egress_rule_decides(&b->rule[i]) || strcmp(b->rule[i].at.host, r->at.host) != 0 ||
			b->rule[i].at.port != r->at.port || b->rule[i].below != r->below ||
			b->rule[i].allow != r->allow ||
			(b->rule[i].tls != r->tls && b->rule[i].origin == EGRESS_FILE)))
		i++;
	return i;
}

static int decide_rule(struct rule_book *b, const char *text, bool allow, struct err *e)
{
	struct egress_rule r;
	size_t i;

	if (egress_parse_rule(text, allow, &r, e))
		return -1;
	i = find_rule(b, &r);
	if (i < b->n && !b->file && b->rule[i].tls == r.tls)
		return 0;
	if (i == EGRESS_RULES_MAX)
		return err_set(e, ERR_REFUSED, "%s already has %d rules, which is the limit",
			b->name, EGRESS_RULES_MAX);
	r.origin = b->file ? EGRESS_FILE : EGRESS_SESSION;
	r.since_s = b->file ? 0 : clock_wall_ms() / 1000;
	if (i == b->n)
		b->rule[b->n++] = r;
	else if (b->rule[i].origin != EGRESS_FILE)
		b->rule[i] = r;
	return 0;
}

/* Of those that were decided here, whether they allow or deny. */
static int forget_rule(struct rule_book *b, const char *text, struct err *e)
{
	struct egress_rule r;
	size_t left = 0, found = 0, of_file = 0;

	if (egress_parse_rule(text, true, &r, e))
		return -1;
	for (size_t i = 0; i < b->n; i++) {
		const struct egress_rule *old = &b->rule[i];
		bool same = egress_rule_decides(old) && egress_same_target(&old->at, &r.at) &&
			old->below == r.below;

		found += same && old->origin != EGRESS_FILE;
		of_file += same && old->origin == EGRESS_FILE;
		if (!same || old->origin == EGRESS_FILE)
			b->rule[left++] = *old;
	}
	b->n = left;
	if (found)
		return 0;
	return of_file
		? err_set(e, ERR_REFUSED,
			  "%s comes from the team file: change it there and run berth up, or `berth net deny` "
			  "it",
			  text)
		: err_set(e, ERR_NOT_FOUND, "%s has no rule %s; `berth net list` lists them",
			  b->name, text);
}

struct deciding_rules {
	const struct cli *c;
	const char *container;
	char file[PATH_MAX], agent[64]; /* "": not to be saved */
};

/* The live rules change when the file has: nothing is half done that could be refused. */
static int do_decide(void *ctx, struct audit_record *r, struct err *e)
{
	AUTO_FREE struct rule_book *b = xcalloc(1, sizeof *b);
	const struct deciding_rules *d = ctx;
	const struct cli *c = d->c;
	bool allow = *c->command->name == 'a';
	AUTO_CLOSE int lock = -1;

	(void)r;
	if (open_rule_book(b, c, e) || (lock = egress_lock(b->name, e)) < 0)
		return -1;
	/* Under the lock, as they are now. */
	if (egress_load_rules(b->name, b->rule, &b->n, e))
		return -1;
	b->file = *d->file ? d->file : NULL;
	for (int i = 1; i < c->argc; i++)
		if (*c->command->name == 'f' ? forget_rule(b, c->argv[i], e)
					     : decide_rule(b, c->argv[i], allow, e))
			return -1;
	if (b->file &&
		team_save_rules(b->file, d->agent, allow, (const char *const *)c->argv + 1,
			(size_t)c->argc - 1, e))
		return -1;
	return egress_save_rules(b->name, b->rule, b->n, e);
}

/* The file that -c names, or the one that the agent came up from; and what the agent is called there. */
static int find_saving_file(struct deciding_rules *d, struct err *e)
{
	AUTO_FREE struct agent_session *all = xcalloc(SESSIONS_READ, sizeof *all);
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *file = cli_value(d->c, "team");
	size_t n = agents_sessions(all, SESSIONS_READ);
	struct team team;

	for (size_t i = 0; !file && i < n; i++)
		if (!strcmp(all[i].container, d->container))
			file = all[i].file;
	if (!file || !*file)
		return err_set(e, ERR_USAGE,
			"the team file of %s is unknown; give it: berth -c FILE net ...",
			d->container);
	if (team_read(file, cwd ? cwd : "/", &team, e))
		return -1;
	for (size_t i = 0; i < team.nagents; i++)
		if (!strcmp(team.agents[i].container, d->container))
			snprintf(d->agent, sizeof d->agent, "%s", team.agents[i].id);
	if (*d->agent)
		snprintf(d->file, sizeof d->file, "%s", team.path);
	team_release(&team);
	return *d->agent ? 0
			 : err_set(e, ERR_NOT_FOUND, "%.200s has no agent whose container is %s",
				   file, d->container);
}

int cli_net_decide(const struct cli *c, const struct settings *s, struct err *e)
{
	const enum operation operation = *c->command->name == 'a' ? OP_NET_ALLOW
		: *c->command->name == 'd'                        ? OP_NET_DENY
								  : OP_NET_FORGET;
	bool save = *c->command->name != 'f' && cli_flag(c, "save");
	struct policy policy;
	struct recorder by = {.program = "net", .policy = &policy, .direct = true};
	AUTO_STR struct str rules = STR_INIT;
	struct deciding_rules d = {.c = c};
	struct key_value kv[] = {{.key = "rules"}, {.key = "saved", .value = d.file}};
	struct audit_record r = {.operation = operation,
		.target_type = "container",
		.params = kv,
		.nparams = save ? 2 : 1};
	char name[64];
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc = -1;

	(void)s;
	if (!save && cli_value(c, "team"))
		return err_set(e, ERR_USAGE, "-c FILE is where --save writes to.");
	for (int i = 1; i < c->argc; i++)
		str_addf(&rules, "%s%s", i > 1 ? " " : "", c->argv[i]);
	kv[0].value = rules.s;
	r.agent = c->argv[0];
	d.container = name;
	if (!egress_container(c->argv[0], name, e) && !(save && find_saving_file(&d, e)) &&
		!cli_policy(c, &policy, &mem, e)) {
		r.name = name;
		rc = record_act(&by, &r, NULL, do_decide, &d, e);
		recorder_settle(&by);
	}
	return rc < 0 ? -1 : cli_recorded(cli_finish() ? 1 : rc, 1);
}

static void print_connection(const struct egress_event *v)
{
	char target[EGRESS_HOST_MAX + 8] = "-", up[FORMAT_MAX], down[FORMAT_MAX], at[FORMAT_MAX];

	if (v->to.port)
		egress_write_target(&v->to, target);
	printf("%s  %-11s %-40s %8s up %8s down  %s%s\n", format_wall(at, v->at_ms),
		egress_verdict_name(v->verdict), target, format_bytes(up, v->up),
		format_bytes(down, v->down), v->address, v->open ? "  open" : "");
}

static void add_connection_json(struct jsonw *j, const struct egress_event *v)
{
	jsonw_object(j, NULL);
	jsonw_uint(j, "id", v->id);
	jsonw_int(j, "at", v->at_ms);
	jsonw_text(j, "verdict", egress_verdict_name(v->verdict));
	jsonw_text(j, "host", v->to.port ? v->to.host : NULL);
	jsonw_uint(j, "port", v->to.port);
	jsonw_text(j, "address", *v->address ? v->address : NULL);
	jsonw_uint(j, "up", v->up);
	jsonw_uint(j, "down", v->down);
	jsonw_int(j, "took_us", v->took_us);
	jsonw_bool(j, "open", v->open);
	jsonw_end(j);
}

/* They are counted from 1, and the end keeps the last. */
static void print_older(uint64_t older, bool all)
{
	if (older && all)
		printf("%" PRIu64
		       " older ones are no longer kept; \"berth net usage\" has the sums of what was reached\n",
			older);
	else if (older)
		printf("%" PRIu64 " older ones are not shown; --last %d shows all that are kept\n",
			older, EGRESS_EVENTS_MAX);
}

static int read_count(const struct cli *c, size_t *n, struct err *e)
{
	const char *said = cli_value(c, "last");
	char *end;

	*n = said ? strtoul(said, &end, 10) : LOG_LINES;
	if (said && (*end || !*n || *n > EGRESS_EVENTS_MAX || *said < '0' || *said > '9'))
		return err_set(e, ERR_USAGE, "--last is a number from 1 to %d, not \"%.40s\".",
			EGRESS_EVENTS_MAX, said);
	return 0;
}

int cli_net_log(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct egress_event *v = xcalloc(EGRESS_EVENTS_MAX, sizeof *v);
	char name[64];
	struct jsonw j;
	size_t want;
	int n;

	(void)s;
	if (read_count(c, &want, e) || egress_container(c->argv[0], name, e))
		return -1;
	n = egress_ask_log(name, v, want, e);
	if (n < 0)
		return -1;
	if (!cli_flag(c, "json")) {
		for (int i = 0; i < n; i++)
			print_connection(&v[i]);
		print_older(n ? v[0].id - 1 : 0, want == EGRESS_EVENTS_MAX);
		return cli_finish();
	}
	jsonw_document(&j, "berth.net_log/1");
	jsonw_text(&j, "container", name);
	jsonw_uint(&j, "older", n ? v[0].id - 1 : 0);
	jsonw_array(&j, "connections");
	for (int i = 0; i < n; i++)
		add_connection_json(&j, &v[i]);
	return jsonw_print(&j);
}

static void print_usage_line(const char *name, const struct egress_usage *u)
{
	char up[FORMAT_MAX], down[FORMAT_MAX], since[FORMAT_MAX];

	printf("%s: %" PRIu64 " connections in %s, %u open, %" PRIu64
	       " refused, %s up, %s down, %u rules%s\n",
		name, u->connections, format_span(since, (clock_wall_ms() - u->since_ms) / 1000),
		u->open, u->refused, format_bytes(up, u->up), format_bytes(down, u->down), u->rules,
		u->relayed ? ", by a relay" : "");
}

static void print_route_line(const struct route_figures *f)
{
	char up[FORMAT_MAX], down[FORMAT_MAX];

	printf("route %s: %s, %" PRIu64 " requests, %" PRIu64 " refused, %s up, %s down, %" PRIu64
	       " tokens read, %" PRIu64 " written, $%.4f",
		f->name, route_state_name((enum route_state)f->state), f->requests, f->refused,
		format_bytes(up, f->up), format_bytes(down, f->down), f->tokens_in, f->tokens_out,
		(double)f->nano_dollars / 1e9);
	if (f->estimated)
		printf(", %" PRIu64 " by their bytes", f->estimated);
	if (f->unpriced)
		printf(", %" PRIu64 " of models without a price", f->unpriced);
	putchar('\n');
}

static void add_route_json(struct jsonw *j, const struct route_figures *f)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "name", f->name);
	jsonw_text(j, "state", route_state_name((enum route_state)f->state));
	jsonw_uint(j, "requests", f->requests);
	jsonw_uint(j, "refused", f->refused);
	jsonw_uint(j, "up", f->up);
	jsonw_uint(j, "down", f->down);
	jsonw_uint(j, "tokens_in", f->tokens_in);
	jsonw_uint(j, "tokens_out", f->tokens_out);
	jsonw_number(j, "dollars", (double)f->nano_dollars / 1e9, 6);
	jsonw_uint(j, "estimated", f->estimated);
	jsonw_uint(j, "unpriced", f->unpriced);
	jsonw_end(j);
}

static void write_reached(const struct egress_reached *r, char out[EGRESS_HOST_MAX + 8])
{
	if (r->to.port)
		egress_write_target(&r->to, out);
	else
		snprintf(out, EGRESS_HOST_MAX + 8, "all others");
}

static void print_reached(const struct egress_reached *r, size_t n, int64_t since_ms)
{
	char target[EGRESS_HOST_MAX + 8], up[FORMAT_MAX], down[FORMAT_MAX], first[FORMAT_MAX],
		last[FORMAT_MAX];

	printf("reached since %s, when the agent's proxy started:%s\n",
		format_stamp(first, since_ms), n ? "" : " nothing");
	for (size_t i = 0; i < n; i++) {
		write_reached(&r[i], target);
		printf("%-40s %6" PRIu64 " connection%s %8s up %8s down  first %s, last %s\n",
			target, r[i].connections, r[i].connections == 1 ? " " : "s",
			format_bytes(up, r[i].up), format_bytes(down, r[i].down),
			format_stamp(first, r[i].first_ms), format_stamp(last, r[i].last_ms));
	}
}

static void add_reached_json(struct jsonw *j, const struct egress_reached *r)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "host", r->to.port ? r->to.host : NULL);
	jsonw_uint(j, "port", r->to.port);
	jsonw_uint(j, "connections", r->connections);
	jsonw_uint(j, "up", r->up);
	jsonw_uint(j, "down", r->down);
	jsonw_int(j, "first", r->first_ms);
	jsonw_int(j, "last", r->last_ms);
	jsonw_end(j);
}

int cli_net_usage(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct egress_reached *reached = xcalloc(EGRESS_REACHED_MAX + 1, sizeof *reached);
	struct route_figures route[ROUTES_MAX];
	struct egress_usage u;
	struct err none = ERR_INIT;
	char name[64];
	struct jsonw j;
	int nreached;
	size_t n;

	(void)s;
	if (egress_container(c->argv[0], name, e) || egress_ask_usage(name, &u, e) ||
		(nreached = egress_ask_reached(name, reached, e)) < 0 ||
		(route_read_figures(name, route, &n, &none) && none.kind != ERR_NOT_FOUND &&
			err_copy(e, &none)))
		return -1;
	if (!cli_flag(c, "json")) {
		print_usage_line(name, &u);
		for (size_t i = 0; i < n; i++)
			print_route_line(&route[i]);
		print_reached(reached, (size_t)nreached, u.since_ms);
		return cli_finish();
	}
	jsonw_document(&j, "berth.net_usage/1");
	jsonw_text(&j, "container", name);
	jsonw_text(&j, "path", u.relayed ? "relay" : "lane");
	jsonw_int(&j, "since", u.since_ms);
	jsonw_uint(&j, "connections", u.connections);
	jsonw_uint(&j, "open", u.open);
	jsonw_uint(&j, "refused", u.refused);
	jsonw_uint(&j, "up", u.up);
	jsonw_uint(&j, "down", u.down);
	jsonw_uint(&j, "rules", u.rules);
	jsonw_uint(&j, "held", u.held);
	jsonw_array(&j, "routes");
	for (size_t i = 0; i < n; i++)
		add_route_json(&j, &route[i]);
	jsonw_end(&j);
	jsonw_array(&j, "reached");
	for (int i = 0; i < nreached; i++)
		add_reached_json(&j, &reached[i]);
	return jsonw_print(&j);
}
