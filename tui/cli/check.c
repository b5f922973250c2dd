/*
 * check.c - `berth check`: one line and the exit code of a monitoring plug-in.
 *
 * The form is that of the Monitoring Plugins Development Guidelines: "BERTH STATE - text | label=value;warn;crit;min;max".
 * What is not known is UNKNOWN, never OK.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/audit.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/team.h>
#include <berth/text.h>
#include <berth/where.h>

#include "cli/run.h"

#define TIMEOUT_MS 10000 /* as the plug-ins of the guidelines */
#define DISK_MS 1500     /* after everything else: the disk is read with the second sample */
#define NEAR_PERCENT 95
#define NAMES_MAX 4
#define RULES_MAX 64
#define SESSIONS_MAX 256
#define WARNING_USUAL "disk>80%,limits>0,drift>0"
#define CRITICAL_USUAL "down>0,unhealthy>0,restarting>0,oom>0,blocked>0,disk>90%"

enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_CRITICAL, LEVEL_UNKNOWN }; /* the exit codes */

static const char *const level_words[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
static const enum level level_order[] = {LEVEL_CRITICAL, LEVEL_UNKNOWN, LEVEL_WARNING};

enum figure_id {
	FIGURE_AGENTS,
	FIGURE_UP,
	FIGURE_DOWN,
	FIGURE_UNHEALTHY,
	FIGURE_RESTARTING,
	FIGURE_OOM,
	FIGURE_LIMITS,
	FIGURE_BLOCKED,
	FIGURE_DRIFT,
	FIGURE_DISK,
	FIGURES
};

struct figure {
	bool known;
	double value;
	const char *why; /* it is not known */
	size_t named;
	struct str names; /* of the agents that it counts, with reasons */
};

struct rule {
	enum level level;
	char *text;
	struct where *where;
};

struct checkup {
	int64_t end_ns;
	struct figure figure[FIGURES];
	size_t nrules;
	struct rule rule[RULES_MAX];
	struct str found[4]; /* by level */
	struct str summary;
	bool intact; /* the audit log */
};

/* -- figures -------------------------------------------------------------------------------------------- */

static bool read_figure(const struct where_row *row, enum figure_id id, double *ret)
{
	const struct checkup *k = row->own;

	*ret = k->figure[id].value;
	return k->figure[id].known;
}

#define FIGURE_OF(name, id)                                               \
	static bool figure_##name(const struct where_row *r, double *ret) \
	{                                                                 \
		return read_figure(r, id, ret);                           \
	}
FIGURE_OF(agents, FIGURE_AGENTS)
FIGURE_OF(up, FIGURE_UP)
FIGURE_OF(down, FIGURE_DOWN)
FIGURE_OF(unhealthy, FIGURE_UNHEALTHY)
FIGURE_OF(restarting, FIGURE_RESTARTING)
FIGURE_OF(oom, FIGURE_OOM)
FIGURE_OF(limits, FIGURE_LIMITS)
FIGURE_OF(blocked, FIGURE_BLOCKED)
FIGURE_OF(drift, FIGURE_DRIFT)
FIGURE_OF(disk, FIGURE_DISK)

/* By figure_id.  What each counts is documented with the command (commands.h). */
static const struct where_column figures[] = {
	{"agents", "agents", WHERE_NUMBER, NULL, figure_agents},
	{"up", "up", WHERE_NUMBER, NULL, figure_up},
	{"down", "down", WHERE_NUMBER, NULL, figure_down},
	{"unhealthy", "unhealthy", WHERE_NUMBER, NULL, figure_unhealthy},
	{"restarting", "restarting", WHERE_NUMBER, NULL, figure_restarting},
	{"oom", "out of memory", WHERE_NUMBER, NULL, figure_oom},
	{"limits", "at a limit", WHERE_NUMBER, NULL, figure_limits},
	{"blocked", "blocked", WHERE_NUMBER, NULL, figure_blocked},
	{"drift", "not as declared", WHERE_NUMBER, NULL, figure_drift},
	{"disk", "disk", WHERE_PERCENT, NULL, figure_disk},
	{0},
};

static void count_in(struct checkup *k, enum figure_id id, const struct agent *a, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
static void count_in(
	struct checkup *k, enum figure_id id, const struct agent *a, const char *fmt, ...)
{
	struct figure *f = &k->figure[id];
	char reason[128];
	va_list ap;

	f->value++;
	if (++f->named > NAMES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof reason, fmt, ap);
	va_end(ap);
	str_addf(&f->names, "%s%s%s%s", f->named > 1 ? ", " : "", a->id, *reason ? ": " : "",
		reason);
}

static void forget_figure(struct checkup *k, enum figure_id id, const char *why)
{
	k->figure[id].known = false;
	k->figure[id].why = why;
}

/* -- agents --------------------------------------------------------------------------------------------- */

static double percent_of(double part, double all)
{
	return all > 0 ? part / all * 100 : 0;
}

static void count_limits(struct checkup *k, const struct agent *a)
{
	const struct container_stats *t = &a->container->stats;
	double memory = t->memory_limited
		? percent_of((double)t->memory_bytes, (double)t->memory_limit_bytes)
		: 0;
	double pids = percent_of((double)t->pids, (double)t->pids_limit);

	if (a->container->state == CONTAINER_RUNNING && t->source == STATS_NONE)
		forget_figure(k, FIGURE_LIMITS, "the engine gives no statistics of an agent");
	else if (memory >= NEAR_PERCENT)
		count_in(k, FIGURE_LIMITS, a, "memory at %.0f %%", memory);
	else if (pids >= NEAR_PERCENT)
		count_in(k, FIGURE_LIMITS, a, "processes at %.0f %%", pids);
	else if (a->budget_spent)
		count_in(k, FIGURE_LIMITS, a, "a budget is spent");
}

static const char *why_blocked(const struct agent *a)
{
	return a->mounts == MOUNTS_CHANGED             ? "its mounts changed"
		: a->held                              ? a->held
		: a->lane_lost                         ? "its init does not answer"
		: a->secrets_gone                      ? "a restart lost its secrets"
		: a->egress.state == AGENT_EGRESS_LOST ? "egress lost"
						       : NULL;
}

static void count_drift(struct checkup *k, const struct agent *a)
{
	if (!a->defined)
		count_in(k, FIGURE_DRIFT, a, "its team file does not define it");
	else if (!a->checked_wall_ms)
		forget_figure(k, FIGURE_DRIFT, "an agent was not compared with its team file");
	else if (a->ndrift)
		count_in(k, FIGURE_DRIFT, a, "%zu", a->ndrift);
}

static void count_agent(struct checkup *k, const struct agent *a)
{
	const struct container *c = a->container;
	char why[128];

	k->figure[FIGURE_AGENTS].value++;
	agent_attention(a, why, sizeof why);
	if (c && c->state == CONTAINER_RESTARTING)
		count_in(k, FIGURE_RESTARTING, a, "%s", "");
	else if (a->state != AGENT_UP || !c)
		count_in(k, FIGURE_DOWN, a, "%s", why);
	else
		k->figure[FIGURE_UP].value++;
	if (c && c->oom_killed)
		count_in(k, FIGURE_OOM, a, "%s", "");
	if (a->state != AGENT_UP || !c)
		return;
	if (c->health == HEALTH_UNHEALTHY || c->own_health == HEALTH_UNHEALTHY)
		count_in(k, FIGURE_UNHEALTHY, a, "%s", "");
	if (a->restarted)
		count_in(k, FIGURE_RESTARTING, a, "%d times", c->restarts);
	if (!c->oom_killed && a->last && !strcmp(a->last->ended, run_ended_name(ENDED_OOM)))
		count_in(k, FIGURE_OOM, a, "its last command");
	if (why_blocked(a))
		count_in(k, FIGURE_BLOCKED, a, "%s", why_blocked(a));
	count_limits(k, a);
	count_drift(k, a);
}

/* -- what was found ------------------------------------------------------------------------------------- */

static void find_fault(struct checkup *k, enum level level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void find_fault(struct checkup *k, enum level level, const char *fmt, ...)
{
	struct str *s = &k->found[level];
	char text[ERR_MSG_MAX + 64];
	va_list ap;
	size_t n;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	n = strlen(text);
	if (n && text[n - 1] == '.') /* of a sentence */
		text[n - 1] = '\0';
	str_addf(s, "%s%s", s->len ? "; " : "", text);
}

static const struct agent *find_agent(const struct snapshot *s, const char *container)
{
	for (size_t i = 0; i < s->nagents; i++)
		if (!strcmp(s->agents[i].name, container))
			return &s->agents[i];
	return NULL;
}

static void tell_foreign(struct checkup *k, size_t n)
{
	find_fault(k, LEVEL_UNKNOWN,
		"%zu agent%s here %s not this user's: run berth check as the user who ran `berth up`",
		n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

/* Those of the file, each of which should be up. */
static void count_declared(struct checkup *k, const struct snapshot *s, const struct team *team)
{
	size_t foreign = 0;

	for (size_t i = 0; i < team->nagents; i++) {
		const struct agent_def *d = &team->agents[i];
		const struct agent *a = find_agent(s, d->container);
		const struct agent down = {.id = d->id, .state = AGENT_DOWN};

		if (a && a->state == AGENT_STRANGER)
			foreign++;
		else
			count_agent(k, a ? a : &down);
	}
	if (foreign)
		tell_foreign(k, foreign);
}

/* Those that were brought up and not taken down. */
static void count_sessions(const struct cli *c, struct checkup *k, const struct snapshot *s)
{
	AUTO_FREE struct agent_session *all = xcalloc(SESSIONS_MAX, sizeof *all);
	size_t foreign = 0, elsewhere = 0, n = agents_sessions(all, SESSIONS_MAX);

	for (size_t i = 0; i < s->nagents; i++)
		if (s->agents[i].state == AGENT_STRANGER)
			foreign++;
		else if (*s->agents[i].session)
			count_agent(k, &s->agents[i]);
	for (size_t i = 0; i < n; i++)
		elsewhere += !find_agent(s, all[i].container);
	if (foreign && !k->figure[FIGURE_AGENTS].value)
		tell_foreign(k, foreign);
	if (elsewhere && !cli_value(c, "host") && !cli_value(c, "context"))
		find_fault(k, LEVEL_UNKNOWN,
			"%zu agent%s on another engine than %s: name it with -H", elsewhere,
			elsewhere == 1 ? " is" : "s are", s->engine.endpoint);
}

static void read_figures(
	const struct cli *c, struct checkup *k, const struct snapshot *s, const struct team *team)
{
	const struct host_stats *h = &s->host;
	double all = (double)h->disk_used_bytes + (double)h->disk_free_bytes;
	struct figure *disk = &k->figure[FIGURE_DISK];

	for (size_t i = 0; i < FIGURES; i++)
		k->figure[i].known = true;
	if (team)
		count_declared(k, s, team);
	else
		count_sessions(c, k, s);
	for (size_t i = 0; !s->agents_done && i < FIGURE_DISK; i++)
		forget_figure(k, (enum figure_id)i, "the agents were not all looked at in time");
	disk->value = percent_of((double)h->disk_used_bytes, all);
	if (all <= 0)
		forget_figure(k, FIGURE_DISK, "the engine's disk cannot be read from here");
	if (!s->agents_done)
		return;
	str_addf(&k->summary, "%.0f of %.0f agents up", k->figure[FIGURE_UP].value,
		k->figure[FIGURE_AGENTS].value);
	if (disk->known)
		str_addf(&k->summary, ", disk %.1f %%", disk->value);
}

/* -- the engine and the log ----------------------------------------------------------------------------- */

static bool is_seen(const struct snapshot *s, int64_t now, int64_t *disk_end)
{
	if (!s->listed || !*s->engine.version || !s->stats_done || !s->agents_done)
		return false;
	if (!*disk_end)
		*disk_end = now + DISK_MS * INT64_C(1000000);
	return s->host.disk_total_bytes || now >= *disk_end;
}

static int take_notices(struct backend *b, struct err *e)
{
	struct event *ev;
	int rc = 0;

	while ((ev = backend_next(b))) {
		if (!rc && ev->kind == EV_NOTICE && ev->err.kind)
			rc = err_copy(e, &ev->err);
		event_free(ev);
	}
	return rc;
}

/* What is known when all is, or the time is over; NULL with *e: the engine does not answer. */
static const struct snapshot *look_at_engine(
	const struct checkup *k, struct backend *b, struct err *e)
{
	struct pollfd fd = {.fd = backend_fd(b), .events = POLLIN};
	int64_t disk_end = 0;

	for (;;) {
		int64_t now = clock_mono_ns(), left = (k->end_ns - now) / 1000000;
		const struct snapshot *s;

		if (take_notices(b, e))
			return NULL;
		s = backend_snapshot(b);
		if (is_seen(s, now, &disk_end) || (left <= 0 && s->listed))
			return s;
		snapshot_unref(s);
		if (left <= 0)
			return err_null(
				err_set(e, ERR_TIMEOUT, "the engine did not answer in time"));
		poll(&fd, 1, left < 100 ? (int)left : 100);
	}
}

/* Of an engine that may not be asked nothing is known; one that fails is down. */
static void tell_no_engine(struct checkup *k, const struct err *e)
{
	bool unknown = e->kind == ERR_USAGE || e->kind == ERR_CONFIG || e->kind == ERR_REFUSED ||
		e->sys == EACCES || e->sys == EPERM || e->sys == 401 || e->sys == 403;

	find_fault(k, unknown ? LEVEL_UNKNOWN : LEVEL_CRITICAL, "engine: %s", e->msg);
}

static bool is_late(void *ctx, uint64_t done, uint64_t total)
{
	const struct checkup *k = ctx;

	(void)done;
	(void)total;
	return clock_mono_ns() >= k->end_ns;
}

static void check_log(struct checkup *k)
{
	const struct audit_verify what = {.progress = is_late, .ctx = k};
	struct audit_verdict v;
	struct err e = ERR_INIT;

	if (audit_works(NULL, &e))
		find_fault(k,
			e.kind == ERR_USAGE || e.kind == ERR_CONFIG ? LEVEL_UNKNOWN
								    : LEVEL_CRITICAL,
			"audit log: %s", e.msg);
	e = (struct err)ERR_INIT;
	if (audit_verify(&what, &v, &e) == 0 && v.fault == AUDIT_CLEAN)
		k->intact = true;
	else if (!e.kind)
		find_fault(k, LEVEL_CRITICAL, "audit log: %s", v.sentence);
	else
		find_fault(k, LEVEL_UNKNOWN, "audit log: %s",
			e.kind == ERR_CANCELLED ? "not all of it was verified in time" : e.msg);
}

/* -- rules ---------------------------------------------------------------------------------------------- */

static bool is_overridden(const struct checkup *k, size_t given, const struct rule *usual)
{
	for (size_t i = 0; i < given; i++)
		for (const struct where_column *f = figures; f->name; f++)
			if (k->rule[i].level == usual->level && where_uses(k->rule[i].where, f) &&
				where_uses(usual->where, f))
				return true;
	return false;
}

/* A list of conditions.  `given`: so many rules take the place of those here that are about the same figures. */
static int read_rules(
	struct checkup *k, enum level level, const char *list, size_t given, struct err *e)
{
	AUTO_FREE char *copy = xstrdup(list);
	char *rest = copy, *part;

	while ((part = strsep(&rest, ","))) {
		struct rule r = {.level = level};

		if (k->nrules == RULES_MAX)
			return err_set(
				e, ERR_USAGE, "More than %d conditions are too many.", RULES_MAX);
		r.where = where_new_over(figures, part, WHERE_CHECK, e);
		if (!r.where)
			return err_wrap(e, "--%s \"%.60s\"",
				level == LEVEL_WARNING ? "warning" : "critical", part);
		if (is_overridden(k, given, &r)) {
			where_free(r.where);
			continue;
		}
		r.text = xstrdup(part + strspn(part, " \t"));
		k->rule[k->nrules++] = r;
	}
	return 0;
}

static int read_all_rules(const struct cli *c, struct checkup *k, struct err *e)
{
	const char *warning = cli_value(c, "warning"), *critical = cli_value(c, "critical");
	size_t given;

	if ((warning && read_rules(k, LEVEL_WARNING, warning, 0, e)) ||
		(critical && read_rules(k, LEVEL_CRITICAL, critical, 0, e)))
		return -1;
	given = k->nrules;
	return read_rules(k, LEVEL_WARNING, WARNING_USUAL, given, e) ||
			read_rules(k, LEVEL_CRITICAL, CRITICAL_USUAL, given, e)
		? -1
		: 0;
}

static void tell_rule(struct checkup *k, const struct rule *r)
{
	const struct where_column *column;
	const struct figure *f;
	const char *op;
	double bound;

	if (!where_is_bound(r->where, &column, &op, &bound)) {
		find_fault(k, r->level, "%s", r->text);
		return;
	}
	f = &k->figure[column - figures];
	if (column == &figures[FIGURE_DISK])
		find_fault(k, r->level, "disk %.1f %% (%s)", f->value, r->text);
	else if (!f->named)
		find_fault(k, r->level, "%.0f %s (%s)", f->value, column->help, r->text);
	else
		find_fault(k, r->level, "%.0f %s (%s%s)", f->value, column->help, f->names.s,
			f->named > NAMES_MAX ? ", ..." : "");
}

/* A level is reported once for each cause: what is critical is no warning, too. */
static bool is_told(const struct checkup *k, const struct rule *r, const bool *critical)
{
	for (size_t i = 0; i < FIGURES; i++)
		if (critical[i] && where_uses(r->where, &figures[i]) && r->level == LEVEL_WARNING &&
			k->figure[i].known)
			return true;
	return false;
}

static void judge_level(
	struct checkup *k, enum level level, bool unknown[FIGURES], bool critical[FIGURES])
{
	const struct where_row row = {.own = k};

	for (size_t i = 0; i < k->nrules; i++) {
		const struct rule *r = &k->rule[i];
		bool holds = r->level == level && where_holds(r->where, &row);
		bool open = r->level == level && !holds && where_may_hold(r->where, &row);

		if (holds && !is_told(k, r, critical))
			tell_rule(k, r);
		for (size_t f = 0; f < FIGURES; f++) {
			bool used = where_uses(r->where, &figures[f]);

			critical[f] |= holds && used && level == LEVEL_CRITICAL;
			if (!open || !used || k->figure[f].known || unknown[f])
				continue;
			unknown[f] = true;
			find_fault(k, LEVEL_UNKNOWN, "%s is not known: %s", figures[f].name,
				k->figure[f].why);
		}
	}
}

static void judge_rules(struct checkup *k)
{
	bool unknown[FIGURES] = {0}, critical[FIGURES] = {0};

	judge_level(k, LEVEL_CRITICAL, unknown, critical);
	judge_level(k, LEVEL_WARNING, unknown, critical);
}

/* -- the line ------------------------------------------------------------------------------------------- */

/* A bound in the guidelines' form of a range: outside of it is an alert, with @ inside. */
static void add_range(struct str *out, const char *op, double n)
{
	if (!strcmp(op, ">"))
		str_addf(out, "%.10g", n);
	else if (!strcmp(op, ">="))
		str_addf(out, "@%.10g:", n);
	else if (!strcmp(op, "<"))
		str_addf(out, "%.10g:", n);
	else if (!strcmp(op, "<="))
		str_addf(out, "@~:%.10g", n);
	else
		str_addf(out, "%s%.10g:%.10g", *op == '=' ? "@" : "", n, n);
}

static void add_bound(struct str *out, const struct checkup *k, size_t id, enum level level)
{
	for (size_t i = 0; i < k->nrules; i++) {
		const struct where_column *column;
		const char *op;
		double n;

		if (k->rule[i].level != level || !where_uses(k->rule[i].where, &figures[id]) ||
			!where_is_bound(k->rule[i].where, &column, &op, &n))
			continue;
		add_range(out, op, n);
		return;
	}
}

static void add_performance(struct str *out, const struct checkup *k)
{
	for (size_t i = 0; i < FIGURES; i++) {
		const struct figure *f = &k->figure[i];
		bool percent = figures[i].type == WHERE_PERCENT;

		str_addf(out, " %s=", figures[i].name);
		if (f->known)
			str_addf(out, percent ? "%.1f%%;" : "%.0f;", f->value);
		else
			str_adds(out, "U;");
		add_bound(out, k, i, LEVEL_WARNING);
		str_addc(out, ';');
		add_bound(out, k, i, LEVEL_CRITICAL);
		str_adds(out, percent ? ";0;100" : ";0");
	}
}

static int print_check(const struct checkup *k)
{
	AUTO_STR struct str text = STR_INIT, line = STR_INIT;
	enum level worst = LEVEL_OK;

	for (size_t i = 0; i < COUNT(level_order); i++) {
		const struct str *s = &k->found[level_order[i]];

		if (!s->len)
			continue;
		worst = worst == LEVEL_OK ? level_order[i] : worst;
		str_addf(&text, "%s%s", text.len ? "; " : "", s->s);
	}
	str_addf(&text, "%s%s", text.len && k->summary.len ? "; " : "", k->summary.s);
	if (k->intact)
		str_addf(&text, "%saudit log intact", k->summary.len ? ", " : text.len ? "; " : "");
	text_neutralise(&line, text.s, text.len, false);
	for (size_t i = 0; i < line.len; i++)
		if (line.s[i] == '|') /* the end of the text */
			line.s[i] = '/';
	str_adds(&line, " |");
	add_performance(&line, k);
	printf("BERTH %s - %s\n", level_words[worst], line.s);
	return cli_finish() ? LEVEL_UNKNOWN : (int)worst;
}

static void init_checkup(struct checkup *k, int64_t ms)
{
	*k = (struct checkup){.end_ns = clock_mono_ns() + ms * INT64_C(1000000)};
	for (size_t i = 0; i < FIGURES; i++)
		str_init(&k->figure[i].names);
	for (size_t i = 0; i < COUNT(k->found); i++)
		str_init(&k->found[i]);
	str_init(&k->summary);
}

static void release_checkup(struct checkup *k)
{
	for (size_t i = 0; i < k->nrules; i++) {
		where_free(k->rule[i].where);
		free(k->rule[i].text);
	}
	for (size_t i = 0; i < FIGURES; i++)
		str_release(&k->figure[i].names);
	for (size_t i = 0; i < COUNT(k->found); i++)
		str_release(&k->found[i]);
	str_release(&k->summary);
}

static int check_everything(
	const struct cli *c, struct checkup *k, const struct team *team, struct err *e)
{
	const struct backend_options o = {.host = cli_value(c, "host"),
		.context = cli_value(c, "context"),
		.hz = 2,
		.read_only = true,
		.once = true,
		.agents = true,
		.team = team ? cli_value(c, "team") : NULL,
		.program = "check"};
	struct backend *b = backend_start(&o, e);
	struct err why = ERR_INIT;
	const struct snapshot *s;

	if (!b)
		return -1;
	check_log(k); /* while the engine is asked */
	s = look_at_engine(k, b, &why);
	if (s) {
		read_figures(c, k, s, team);
		judge_rules(k);
	} else {
		tell_no_engine(k, &why);
	}
	snapshot_unref(s);
	backend_stop(b);
	return print_check(k);
}

int cli_check(const struct cli *c, const struct settings *s, struct err *e)
{
	AUTO_FREE struct checkup *k = xmalloc(sizeof *k);
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *file = cli_value(c, "team");
	struct team team = {0};
	int64_t ms;
	int rc;

	(void)s;
	if (cli_timeout(c, &ms, e))
		return -1;
	init_checkup(k, ms ? ms : TIMEOUT_MS);
	rc = read_all_rules(c, k, e);
	if (!rc && file)
		rc = team_read(file, cwd ? cwd : "/", &team, e);
	if (!rc)
		rc = check_everything(c, k, file ? &team : NULL, e);
	if (team.file)
		team_release(&team);
	release_checkup(k);
	return rc;
}
