/* survey.c - joins definitions, session records and containers into the list of agents. */
#include "agents/survey.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/route.h>

#include "agents/pace.h"
#include "container/container.h"
#include "job/board.h"
#include "lane/lane.h"

#define TEAMS_MAX 16
#define SESSIONS_MAX 256
#define AGENTS_MAX 512
#define COMMANDS_READ 64
#define COMMANDS_SHOWN 16
#define CHECKS_AT_ONCE 4
#define CHECK_EVERY_NS (20 * 1000000000LL)
#define TRY_AGAIN_NS (5 * 1000000000LL)
#define LANE_TRY_MS 2000

/* A team file as read last, and again when it changes. */
struct known_team {
	char *path, *base;
	struct stat as;
	unsigned version; /* counts what was read */
	bool good;
	struct team team;
	struct err why; /* not good */
};

/* What a container was found to be, until it is looked at again. */
struct known_check {
	char *id; /* of the container */
	int64_t lane_at_ns;
	bool lane_lost;
	int pid;          /* of its init then */
	unsigned version; /* of the team file */
	int64_t at_ns, wall_ms;
	bool failed;
	struct err why;
	struct agent_checked found;
};

struct survey {
	char *host, *context;
	struct agents_host *engine; /* opened by the first check */
	struct known_team team[TEAMS_MAX];
	size_t nteams;
	struct known_check *check;
	size_t nchecks, checks_cap;
	bool waited;                          /* in this look, for an init that did not answer */
	struct session session[SESSIONS_MAX]; /* work space */
	struct journal_command command[COMMANDS_READ];
	struct calls_of calls[AGENTS_MAX];
};

struct survey *survey_open(const struct survey_options *o)
{
	struct survey *s = xcalloc(1, sizeof *s);
	char *cwd = getcwd(NULL, 0);

	s->host = o->host ? xstrdup(o->host) : NULL;
	s->context = o->context ? xstrdup(o->context) : NULL;
	if (o->team) {
		char *real = realpath(o->team, NULL);

		s->team[s->nteams++] = (struct known_team){
			.path = real ? real : xstrdup(o->team), .base = xstrdup(cwd ? cwd : "/")};
	}
	free(cwd);
	return s;
}

static void forget_team(struct known_team *k)
{
	if (k->good)
		team_release(&k->team);
	k->good = false;
}

void survey_close(struct survey *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nteams; i++) {
		forget_team(&s->team[i]);
		free(s->team[i].path);
		free(s->team[i].base);
	}
	for (size_t i = 0; i < s->nchecks; i++)
		free(s->check[i].id);
	free(s->check);
	agents_close(s->engine);
	free(s->host);
	free(s->context);
	free(s);
}

/* Team files. */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
		a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
		a->st_mtim.tv_nsec == b->st_mtim.tv_nsec && a->st_mode == b->st_mode &&
		a->st_uid == b->st_uid;
}

static void reread_team(struct known_team *k, struct survey_look *l)
{
	struct stat st = {0};

	if (stat(k->path, &st) == 0 && same_file(&st, &k->as))
		return;
	forget_team(k);
	k->version++;
	k->why = (struct err)ERR_INIT;
	k->good = !team_read(k->path, k->base, &k->team, &k->why);
	/* A file that is not there is worth one sentence too, not one a second. */
	if (!k->good && (st.st_ino != k->as.st_ino || !k->as.st_ino) && !l->notice[0])
		snprintf(l->notice, sizeof l->notice, "%s", k->why.msg);
	k->as = st;
	if (!st.st_ino)
		k->as.st_size = -1;
}

static const struct known_team *team_of(const struct survey *s, const char *path)
{
	for (size_t i = 0; i < s->nteams; i++)
		if (!strcmp(s->team[i].path, path))
			return &s->team[i];
	return NULL;
}

/* Files that agents on record came from are known from then on, so that an agent that was taken down
 * can be brought up again. */
static void learn_team(struct survey *s, const struct session *from)
{
	if (from->file[0] != '/' || s->nteams == TEAMS_MAX || team_of(s, from->file))
		return;
	s->team[s->nteams++] = (struct known_team){
		.path = xstrdup(from->file), .base = xstrdup(from->base[0] ? from->base : "/")};
}

static const struct agent_def *def_in(const struct known_team *k, const char *container)
{
	for (size_t i = 0; k && k->good && i < k->team.nagents; i++)
		if (!strcmp(k->team.agents[i].container, container))
			return &k->team.agents[i];
	return NULL;
}

/* Rows. */

static const struct survey_seen *seen_as(
	const struct survey_look *l, const char *id, const char *name)
{
	const struct survey_seen *by_name = NULL;

	for (size_t i = 0; i < l->nseen; i++) {
		if (*id && !strcmp(l->seen[i].id, id))
			return &l->seen[i];
		if (!strcmp(l->seen[i].name, name))
			by_name = &l->seen[i];
	}
	return *id ? NULL : by_name;
}

static bool is_listed(const struct survey_look *l, const char *container)
{
	for (size_t i = 0; i < l->n; i++)
		if (!strcmp(l->agents[i].name, container))
			return true;
	return false;
}

static struct agent *append_agent(struct survey_look *l, const char *container, const char *id)
{
	struct agent *a;

	if (l->n == AGENTS_MAX)
		return NULL;
	a = &l->agents[l->n];
	*a = (struct agent){.id = arena_strdup(&l->mem, id),
		.role = "",
		.name = arena_strdup(&l->mem, container),
		.session = "",
		.file = "",
		.base = "",
		.image = "",
		.workspace = ""};
	l->ids[l->n++] = "";
	return a;
}

static void take_def(struct survey_look *l, struct agent *a, const struct known_team *k,
	const struct agent_def *d)
{
	if (k) {
		a->file = arena_strdup(&l->mem, k->path);
		a->base = arena_strdup(&l->mem, k->base);
	}
	if (!d)
		return;
	a->defined = true;
	a->role = arena_strdup(&l->mem, d->role);
	a->image = arena_strdup(&l->mem, d->image);
	a->workspace = arena_strdup(&l->mem, d->workspace);
}

static void copy_command(
	struct survey_look *l, struct agent_command *to, const struct journal_command *from)
{
	char ended[48] = "";

	if (from->lost)
		snprintf(ended, sizeof ended, "lost");
	else if (!from->running && from->ended == ENDED_EXIT)
		snprintf(ended, sizeof ended, "exit %d", from->exit_code);
	else if (!from->running && from->ended == ENDED_SIGNAL)
		snprintf(ended, sizeof ended, "signal %d", from->exit_code - 128);
	else if (!from->running)
		snprintf(ended, sizeof ended, "%s", run_ended_name(from->ended));
	*to = (struct agent_command){.seq = from->seq,
		.text = arena_strdup(&l->mem, from->argv),
		.started_wall_ms = from->started_wall_ms,
		.duration_ms = (int64_t)from->duration_ms,
		.ended = arena_strdup(&l->mem, ended),
		.good = *ended && from->ended == ENDED_EXIT && !from->exit_code && !from->lost};
}

/* What its journal tells: what runs now, oldest first, and what ended last. */
static void take_journal(struct survey *s, struct survey_look *l, struct agent *a)
{
	struct agent_command *list = arena_array(&l->mem, COMMANDS_SHOWN + 1, sizeof *list);
	struct agent_command *last = &list[COMMANDS_SHOWN];
	size_t n = journal_running(a->name, s->command, COMMANDS_READ);

	a->nrunning = n;
	a->commands = list;
	for (a->ncommands = 0; a->ncommands < n && a->ncommands < COMMANDS_SHOWN; a->ncommands++)
		copy_command(l, &list[a->ncommands], &s->command[a->ncommands]);
	n = journal_list(a->name, s->command, COMMANDS_READ);
	a->pace = pace_of(s->command, n, clock_wall_ms(), &a->usual_ms);
	for (size_t i = 0; i < n && !a->last; i++)
		if (!s->command[i].running) {
			copy_command(l, last, &s->command[i]);
			a->last = last;
		}
}

/* Over its workspace's limit, mostly: nothing goes on until a person decides. */
static void look_at_holds(struct survey_look *l, struct agent *a, const struct survey_seen *c)
{
	struct lane_hold h;
	char why[256];

	if (lane_hold_read(c->id, &h) && !h.brief)
		a->held = arena_strdup(&l->mem, h.why);
	else if (lane_refused(c->id, why, sizeof why))
		a->held = arena_strdup(&l->mem, why);
	a->asleep_wall_ms = lane_asleep(c->id, NULL, NULL);
}

/* Every start is looked at, whoever made it. */
static void look_at_mounts(struct survey_look *l, struct agent *a, const struct survey_seen *c)
{
	struct err why = ERR_INIT;
	struct start start;

	if (!c->inspected)
		return;
	a->mounts = checked_look(c->id, c->pid, &start, &why);
	if (why.kind)
		a->mounts_problem = arena_strdup(&l->mem, why.msg);
	a->secrets_gone = checked_secrets(c->id, NULL) != 0;
}

static void look_at_routes(struct agent *a)
{
	struct route_figures route[ROUTES_MAX];
	size_t n;

	if (route_read_figures(a->name, route, &n, NULL))
		return;
	a->routes = n;
	for (size_t i = 0; i < n; i++) {
		a->tokens += route[i].tokens_in + route[i].tokens_out;
		a->nano_dollars += route[i].nano_dollars;
		a->budget_spent |= route[i].state == ROUTE_SPENT;
	}
}

static void look_at_calls(struct survey *s, struct survey_look *l)
{
	size_t n = calls_read_now(s->calls, AGENTS_MAX);

	for (size_t i = 0; i < l->n; i++)
		for (size_t k = 0; k < n; k++)
			if (l->agents[i].state != AGENT_STRANGER &&
				!strcmp(l->agents[i].id, s->calls[k].agent))
				l->agents[i].calls = s->calls[k].now;
}

static struct known_check *find_known_check(struct survey *s, const char *id);

/* Asked seldom, and one that does not answer holds up one look in which no other is asked. */
static bool is_lane_lost(
	struct survey *s, const struct survey_look *l, const struct lane_about *about)
{
	struct known_check *k = find_known_check(s, about->id);
	int64_t age = clock_mono_ns() - k->lane_at_ns;
	struct err why = ERR_INIT;

	if (!s->waited &&
		(!k->lane_at_ns || l->check_now ||
			age > (k->lane_lost ? TRY_AGAIN_NS : CHECK_EVERY_NS))) {
		k->lane_lost = lane_try(about, LANE_TRY_MS, &why) && why.kind != ERR_NOT_FOUND;
		k->lane_at_ns = clock_mono_ns();
		s->waited = k->lane_lost;
	}
	return k->lane_lost;
}

static void take_seen(
	struct survey *s, struct survey_look *l, struct agent *a, const struct survey_seen *c)
{
	struct lane_about about;

	l->ids[a - l->agents] = arena_strdup(&l->mem, c->id);
	a->state = c->state == CONTAINER_RUNNING || c->state == CONTAINER_PAUSED ? AGENT_UP
										 : AGENT_STOPPED;
	if (!*a->image)
		a->image = arena_strdup(&l->mem, c->image);
	a->lane = a->state == AGENT_UP && !lane_find(c->name, &about, NULL) &&
		!strcmp(about.id, c->id) && !lane_is_none(c->name);
	a->no_lane = a->state == AGENT_UP && sandbox_is(c->pid);
	a->lane_lost = a->lane && c->state == CONTAINER_RUNNING && is_lane_lost(s, l, &about);
	if (a->state == AGENT_UP) {
		take_journal(s, l, a);
		look_at_mounts(l, a, c);
		look_at_holds(l, a, c);
		look_at_routes(a);
	}
}

static void from_record(struct survey *s, struct survey_look *l, const struct session *r)
{
	const struct survey_seen *c = seen_as(l, r->id, r->name);
	const struct known_team *k = team_of(s, r->file);
	struct agent *a = append_agent(l, r->name, r->agent);

	if (!a)
		return;
	a->session = arena_strdup(&l->mem, r->session);
	take_def(l, a, k, def_in(k, r->name));
	a->state = AGENT_GONE;
	if (c)
		take_seen(s, l, a, c);
}

bool agents_made(const struct container *c)
{
	return own_made(c->engine, c->name, c->id, c->session, c->proof);
}

static void from_container(struct survey *s, struct survey_look *l, const struct survey_seen *c)
{
	struct agent *a = append_agent(l, c->name, c->agent);

	if (!a)
		return;
	a->session = arena_strdup(&l->mem, c->session);
	take_seen(s, l, a, c);
	if (!own_proven(l->engine, c->name, c->session, c->proof))
		a->state = AGENT_STRANGER;
}

/* Checks: what is asked against what is. */

static struct known_check *find_known_check(struct survey *s, const char *id)
{
	for (size_t i = 0; i < s->nchecks; i++)
		if (!strcmp(s->check[i].id, id))
			return &s->check[i];
	s->check = mem_grow(s->check, &s->checks_cap, s->nchecks + 1, sizeof *s->check);
	s->check[s->nchecks] = (struct known_check){.id = xstrdup(id)};
	return &s->check[s->nchecks++];
}

static bool still_there(const struct survey_look *l, const char *id)
{
	for (size_t i = 0; i < l->nseen; i++)
		if (!strcmp(l->seen[i].id, id))
			return true;
	return false;
}

static void forget_checks(struct survey *s, const struct survey_look *l)
{
	for (size_t i = s->nchecks; i-- > 0;)
		if (!still_there(l, s->check[i].id)) {
			free(s->check[i].id);
			s->check[i] = s->check[--s->nchecks];
		}
}

static void look_closer(struct survey *s, struct known_check *k, const struct known_team *t,
	const struct agent_def *d)
{
	const struct agents_options o = {
		.host = s->host, .context = s->context, .program = "console"};

	k->why = (struct err)ERR_INIT;
	if (!s->engine)
		s->engine = agents_open(&o, &k->why);
	k->failed = !s->engine || agents_check(s->engine, &t->team, d, k->id, &k->found, &k->why);
	/* A connection that broke is made anew next time. */
	if (k->failed && k->why.kind == ERR_UNREACHABLE && s->engine)
		agents_close(STEAL(s->engine));
	k->at_ns = clock_mono_ns();
	k->wall_ms = clock_wall_ms();
}

static void show_check(struct survey_look *l, struct agent *a, const struct known_check *k)
{
	struct agent_check *c = arena_array(&l->mem, ENFORCED_MAX + 1, sizeof *c);
	const char **loose = arena_array(&l->mem, COUNT(k->found.loosened), sizeof *loose);

	a->checks = c;
	a->checked_wall_ms = k->wall_ms;
	if (k->failed) {
		c[0] = (struct agent_check){"definition", "that it can be brought up",
			arena_strdup(&l->mem, k->why.msg), false};
		a->nchecks = 1;
	}
	for (size_t i = 0; !k->failed && i < k->found.n; i++) {
		const struct enforced *f = &k->found.item[i];

		c[a->nchecks++] = (struct agent_check){f->what, arena_strdup(&l->mem, f->asked),
			arena_strdup(&l->mem, f->actual), f->same};
	}
	for (size_t i = 0; i < a->nchecks; i++)
		a->ndrift += !c[i].same;
	for (size_t i = 0; !k->failed && i < k->found.nloosened; i++)
		loose[a->nloosened++] = k->found.loosened[i];
	a->loosened = loose;
}

/* Its file was changed so that it cannot be brought up from it again. */
static void show_undefined(struct survey_look *l, struct agent *a, const struct known_team *t)
{
	struct agent_check *c = arena_array(&l->mem, 1, sizeof *c);

	*c = (struct agent_check){"definition", "in its team file",
		t->good ? "not there any more" : arena_strdup(&l->mem, t->why.msg), false};
	a->checks = c;
	a->nchecks = a->ndrift = 1;
	a->checked_wall_ms = clock_wall_ms();
}

static void check_all(struct survey *s, struct survey_look *l)
{
	size_t asked = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct agent *a = &l->agents[i];
		const struct known_team *t = team_of(s, a->file);
		const struct agent_def *d = def_in(t, a->name);
		struct known_check *k;
		const struct survey_seen *c;
		int pid;

		if (a->state == AGENT_UP && t && !d)
			show_undefined(l, a, t);
		if (a->state != AGENT_UP || !d)
			continue;
		k = find_known_check(s, l->ids[i]);
		/* Another start is another thing to look at. */
		c = seen_as(l, l->ids[i], a->name);
		pid = c ? c->pid : 0;
		if (l->reachable && asked < CHECKS_AT_ONCE &&
			(!k->at_ns || l->check_now || k->pid != pid || k->version != t->version ||
				clock_mono_ns() - k->at_ns > CHECK_EVERY_NS)) {
			look_closer(s, k, t, d);
			k->pid = pid;
			k->version = t->version;
			asked++;
		}
		if (k->at_ns)
			show_check(l, a, k);
	}
	forget_checks(s, l);
}

void survey_look(struct survey *s, struct survey_look *l)
{
	size_t n = session_all(s->session, SESSIONS_MAX);

	l->agents = arena_array(&l->mem, AGENTS_MAX, sizeof *l->agents);
	l->ids = arena_array(&l->mem, AGENTS_MAX, sizeof *l->ids);
	l->n = 0;
	l->notice[0] = '\0';
	s->waited = false;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s->session[i].engine, l->engine))
			learn_team(s, &s->session[i]);
	for (size_t i = 0; i < s->nteams; i++)
		reread_team(&s->team[i], l);
	for (size_t i = 0; i < n; i++)
		if (!strcmp(s->session[i].engine, l->engine))
			from_record(s, l, &s->session[i]);
	for (size_t i = 0; i < l->nseen; i++)
		if (*l->seen[i].agent && !strcmp(l->seen[i].role, "agent") &&
			!is_listed(l, l->seen[i].name))
			from_container(s, l, &l->seen[i]);
	for (size_t t = 0; t < s->nteams; t++)
		for (size_t i = 0; s->team[t].good && i < s->team[t].team.nagents; i++) {
			const struct agent_def *d = &s->team[t].team.agents[i];
			struct agent *a = is_listed(l, d->container)
				? NULL
				: append_agent(l, d->container, d->id);

			if (a)
				take_def(l, a, &s->team[t], d);
		}
	look_at_calls(s, l);
	check_all(s, l);
}
