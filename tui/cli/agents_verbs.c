/* agents_verbs.c - `berth up` and `berth down`: the agents of a team file, several at once. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/journal.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/text.h>

#include <berth/jsonw.h>
#include "cli/progress.h"
#include "cli/run.h"

#define AT_ONCE 5
#define SESSIONS_MAX 256
#define RUNNING_SHOWN 16 /* of each agent */

struct work {                        /* one agent, on one thread at a time */
	const struct agent_def *def; /* NULL: going down */
	const char *container;
	const char *engine; /* of `down --all`: where it is up */
	struct agent_up up;
	struct err err;
	bool failed, in_hand, elsewhere;
};

struct crew {
	bool create; /* workspaces that are missing */
	bool replace;
	const struct cli *c;
	const struct team *team;
	struct policy policy;
	struct agents_defaults defaults;
	const char *program;
	struct work *work;
	size_t cap;
	size_t n, next, done; /* next, done: under lock, as is what each work says of itself */
	int64_t start_ns;
	pthread_mutex_t lock;
};

static struct work *take_work(struct crew *crew)
{
	struct work *w = NULL;

	pthread_mutex_lock(&crew->lock);
	if (crew->next < crew->n) {
		w = &crew->work[crew->next++];
		w->in_hand = true;
	}
	pthread_mutex_unlock(&crew->lock);
	return w;
}

static void hand_back(struct crew *crew, struct work *w)
{
	pthread_mutex_lock(&crew->lock);
	w->in_hand = false;
	crew->done++;
	pthread_mutex_unlock(&crew->lock);
}

/* How far it is, for the line on the terminal: how many are through, and which are in hand. */
static bool read_crew_progress(void *ctx, struct job_info *out)
{
	struct crew *crew = ctx;
	size_t used = 0;

	*out = (struct job_info){.state = JOB_RUNNING, .eta_ms = -1, .rate = -1};
	snprintf(out->name, sizeof out->name, "%s", crew->program);
	snprintf(out->unit, sizeof out->unit, "agents");
	pthread_mutex_lock(&crew->lock);
	out->items_done = crew->done;
	out->items_total = crew->n;
	for (size_t i = 0; i < crew->n && used < sizeof out->current; i++)
		if (crew->work[i].in_hand)
			used += (size_t)snprintf(out->current + used, sizeof out->current - used,
				"%s%s", used ? ", " : "",
				crew->work[i].def ? crew->work[i].def->id
						  : crew->work[i].container);
	pthread_mutex_unlock(&crew->lock);
	out->fraction = crew->n ? (double)out->items_done / (double)crew->n : -1;
	out->elapsed_ms = (clock_mono_ns() - crew->start_ns) / 1000000;
	return true;
}

/* The first C-c lets what is under way end in order, and begins nothing new; the second is the usual one. */
static atomic_bool interrupted;

static void on_agents_signal(int sig)
{
	(void)sig;
	interrupted = true;
}

static void mind_signals(void)
{
	struct sigaction act = {.sa_handler = on_agents_signal, .sa_flags = (int)SA_RESETHAND};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
}

static bool is_interrupted(void *ctx)
{
	(void)ctx;
	return interrupted;
}

/* What an installer prints; threads may speak at once, each in whole lines. */
static void print_prepared(void *ctx, const char *agent, const char *line)
{
	(void)ctx;
	fprintf(stderr, "%s: %s\n", agent, line);
}

static struct agents_host *open_host(const struct crew *crew, struct err *e)
{
	const struct agents_options o = {.host = cli_value(crew->c, "host"),
		.context = cli_value(crew->c, "context"),
		.program = crew->program,
		.policy = &crew->policy,
		.defaults = crew->defaults,
		.own_board = true,
		.create = crew->create,
		.replace = crew->replace,
		.stop = is_interrupted,
		.say = cli_flag(crew->c, "json") ? NULL : print_prepared};

	return agents_open(&o, e);
}

/* Each thread has an engine of its own; what fails for one agent does not stop the others. */
static void *work_on_agents(void *ctx)
{
	struct crew *crew = ctx;
	struct agents_host *h = NULL;
	struct work *w;

	while ((w = take_work(crew))) {
		if (!h && !interrupted)
			h = open_host(crew, &w->err);
		if (interrupted)
			w->failed =
				err_set(&w->err, ERR_CANCELLED, "%s was left unchanged: cancelled.",
					w->def ? w->def->id : w->container);
		else if (!h)
			w->failed = true;
		else if (w->def)
			w->failed = agents_up(h, crew->team, w->def, &w->up, &w->err);
		else if (w->engine && strcmp(w->engine, agents_engine(h)) != 0)
			w->elsewhere = true;
		else
			w->failed = agents_down(h, w->container, &w->err);
		hand_back(crew, w);
	}
	agents_close(h);
	return NULL;
}

static void run_crew(struct crew *crew)
{
	pthread_t thread[AT_ONCE];
	size_t n = crew->n < AT_ONCE ? crew->n : AT_ONCE, started = 0;

	pthread_mutex_init(&crew->lock, NULL);
	mind_signals();
	crew->start_ns = clock_mono_ns();
	cli_progress_start(read_crew_progress, crew);
	while (started + 1 < n && !pthread_create(&thread[started], NULL, work_on_agents, crew))
		started++;
	work_on_agents(crew);
	for (size_t i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	cli_progress_stop();
	pthread_mutex_destroy(&crew->lock);
}

static void print_up(const struct work *w)
{
	const struct agent_up *u = &w->up;
	char shown[sizeof u->warning];

	if (w->failed)
		return;
	printf("%-16s %-11s %.12s  %s", w->def->id,
		u->was_up                  ? "unchanged"
			: u->offered_again ? "reconnected"
			: u->replaced      ? "recreated"
					   : "up",
		u->id, w->def->image);
	if (!u->was_up)
		printf("  %.0f ms", (double)(u->created_us + u->started_us + u->ready_us) / 1e3);
	putchar('\n');
	if (u->created)
		printf("  created: %s\n", w->def->workspace);
	if (*u->warning)
		printf("  warning: %s\n", text_clean(shown, sizeof shown, u->warning));
	for (size_t i = 0; i < u->nloosened; i++)
		printf("  loosened: %s\n", u->loosened[i]);
	for (size_t i = 0; i < u->nenforced; i++)
		if (!u->enforced[i].same)
			printf("  not enforced: %s declared %s, actual %s\n", u->enforced[i].what,
				u->enforced[i].asked, u->enforced[i].actual);
}

static void json_up(struct jsonw *j, const struct work *w)
{
	const struct agent_up *u = &w->up;

	jsonw_object(j, NULL);
	jsonw_text(j, "agent", w->def->id);
	jsonw_text(j, "container", w->def->container);
	jsonw_text(j, "id", u->id);
	jsonw_bool(j, "up", !w->failed);
	jsonw_bool(j, "was_up", u->was_up);
	jsonw_bool(j, "workspace_created", u->created);
	jsonw_bool(j, "replaced", u->replaced);
	jsonw_bool(j, "offered_again", u->offered_again);
	if (w->failed)
		jsonw_text(j, "error", w->err.msg);
	if (*u->warning)
		jsonw_text(j, "warning", u->warning);
	jsonw_array(j, "loosened");
	for (size_t i = 0; i < u->nloosened; i++)
		jsonw_text(j, NULL, u->loosened[i]);
	jsonw_end(j);
	jsonw_array(j, "enforced");
	for (size_t i = 0; i < u->nenforced; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "what", u->enforced[i].what);
		jsonw_text(j, "asked", u->enforced[i].asked);
		jsonw_text(j, "actual", u->enforced[i].actual);
		jsonw_bool(j, "same", u->enforced[i].same);
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_end(j);
}

/* 0, or the exit code of the worst failure; each gets its sentence. */
static int tell_failures(const struct crew *crew)
{
	int worst = 0;

	for (size_t i = 0; i < crew->n; i++)
		if (crew->work[i].failed) {
			int rc = cli_fail(&crew->work[i].err);

			worst = rc > worst ? rc : worst;
		}
	return worst;
}

static void prepare_crew(struct crew *crew, const struct cli *c, const struct settings *s,
	const char *program, const struct team *team, struct arena *mem)
{
	*crew = (struct crew){
		.c = c, .team = team, .program = program, .defaults = agents_defaults(s)};
	policy_from_settings(&crew->policy, s, mem);
}

/* --create, or a person who is asked for all that are missing at once. */
static bool may_create(const struct cli *c, const struct team *t)
{
	char line[16], shown[256];
	size_t missing = 0;

	if (cli_flag(c, "create"))
		return true;
	if (cli_flag(c, "json") || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	for (size_t i = 0; i < t->nagents; i++)
		if (access(t->agents[i].workspace, F_OK) && errno == ENOENT && ++missing)
			printf("The workspace %s of %s does not exist.\n",
				text_clean(shown, sizeof shown, t->agents[i].workspace),
				t->agents[i].id);
	if (!missing)
		return false;
	printf("Create %s? [y/N] ", missing == 1 ? "it" : "them");
	fflush(stdout);
	return fgets(line, sizeof line, stdin) && (*line == 'y' || *line == 'Y');
}

static bool has_restarts(const struct agent_def *a)
{
	for (size_t i = 0; i < a->nterminals; i++)
		if (a->terminals[i].on_failure)
			return true;
	return false;
}

/* A workspace of berth's has limits, an end may die, a terminal may fail. */
static bool has_kept(const struct crew *crew)
{
	for (size_t i = 0; i < crew->n; i++)
		if ((crew->work[i].def->bound || crew->work[i].def->egress.on ||
			    crew->work[i].def->idle_pause_s || has_restarts(crew->work[i].def)) &&
			!crew->work[i].failed)
			return true;
	return false;
}

/* Where a file is, also one that is gone: its folder's real path and its name. */
static void find_file(const char *file, char out[PATH_MAX])
{
	AUTO_FREE char *a = xstrdup(file), *b = xstrdup(file), *folder = NULL;

	if (realpath(file, out))
		return;
	folder = realpath(dirname(a), NULL);
	snprintf(out, PATH_MAX, "%s/%s", folder ? folder : "", basename(b));
}

static bool is_named(const struct team *team, const char *container)
{
	for (size_t i = 0; i < team->nagents; i++)
		if (!strcmp(team->agents[i].container, container))
			return true;
	return false;
}

/* Agents that the file had when they were brought up run on when they are taken out of it. */
static void tell_left_out(const struct crew *crew)
{
	static struct agent_session all[SESSIONS_MAX];
	size_t n = agents_sessions(all, SESSIONS_MAX);
	struct agents_host *h = NULL;
	char real[PATH_MAX];

	find_file(crew->c->argv[0], real);
	for (size_t i = 0; i < n && !interrupted; i++) {
		if (strncmp(all[i].file, real, sizeof all->file - 1) != 0 ||
			is_named(crew->team, all[i].container))
			continue;
		h = h ? h : open_host(crew, NULL);
		if (!h || strcmp(all[i].engine, agents_engine(h)) != 0)
			continue;
		if (agents_runs(h, all[i].container, NULL) > 0)
			fprintf(stderr,
				"berth: %s is still running, but this file no longer defines its agent: `berth rm -f %s` removes it.\n",
				all[i].container, all[i].container);
	}
	agents_close(h);
}

int cli_up(const struct cli *c, const struct settings *s, struct err *e)
{
	char *cwd = getcwd(NULL, 0);
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	struct team team;
	struct crew crew;
	struct jsonw j;
	int rc;

	if (team_read(c->argv[0], cwd ? cwd : "/", &team, e)) {
		free(cwd);
		return -1;
	}
	free(cwd);
	if ((cli_value(c, "final") && team_final(&team, cli_value(c, "final"), e)) ||
		cli_run_workspaces(c, &team, team.nagents == 1 ? team.agents[0].id : NULL, e)) {
		team_release(&team);
		return -1;
	}
	prepare_crew(&crew, c, s, "up", &team, &mem);
	if (!cli_flag(c, "json"))
		team_notes_print(&team, stderr);
	cli_orphans(c);
	crew.create = may_create(c, &team);
	crew.replace = cli_flag(c, "replace");
	crew.n = team.nagents;
	crew.work = xcalloc(crew.n, sizeof *crew.work);
	for (size_t i = 0; i < crew.n; i++)
		crew.work[i].def = &team.agents[i];
	run_crew(&crew);
	if (has_kept(&crew))
		cli_start_keeper(c);
	if (cli_flag(c, "json")) {
		jsonw_document(&j, "berth.up/1");
		jsonw_array(&j, "agents");
		for (size_t i = 0; i < crew.n; i++)
			json_up(&j, &crew.work[i]);
		jsonw_end(&j);
		team_notes_json(&team, &j);
		jsonw_print(&j);
	} else {
		for (size_t i = 0; i < crew.n; i++)
			print_up(&crew.work[i]);
	}
	if (!crew.n && !cli_flag(c, "json"))
		printf("%s: no agent needs a container\n", c->argv[0]);
	tell_left_out(&crew);
	rc = tell_failures(&crew);
	rc = rc ? rc : cli_finish();
	free(crew.work);
	team_release(&team);
	return rc;
}

static void add_down(struct crew *crew, const char *container, const char *engine)
{
	for (size_t i = 0; i < crew->n; i++)
		if (!strcmp(crew->work[i].container, container))
			return;
	crew->work = mem_grow(crew->work, &crew->cap, crew->n + 1, sizeof *crew->work);
	crew->work[crew->n++] = (struct work){.container = container, .engine = engine};
}

/* Up, but from another file that is there. */
static const struct agent_session *other_session(
	const struct agent_session *all, size_t n, const char *container, const char *real)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(all[i].container, container) && *all[i].file &&
			strncmp(all[i].file, real, sizeof all->file - 1) != 0 &&
			!access(all[i].file, F_OK))
			return &all[i];
	return NULL;
}

/* What was brought up from a file, whatever has become of that since, and what it says now. */
static int name_file_agents(const struct cli *c, struct team *team, struct crew *crew,
	const struct agent_session *all, size_t n, struct err *e)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	char real[PATH_MAX], shown[512];
	struct err why = ERR_INIT;

	find_file(c->argv[0], real);
	for (size_t i = 0; i < n; i++)
		if (*all[i].file && !strncmp(all[i].file, real, sizeof all->file - 1))
			add_down(crew, all[i].container, NULL);
	if (team_read(c->argv[0], cwd ? cwd : "/", team, &why)) {
		if (!crew->n)
			return err_copy(e, &why);
		cli_fail(&why);
		return 0;
	}
	for (size_t i = 0; i < team->nagents; i++) {
		const char *container = team->agents[i].container;
		const struct agent_session *other = other_session(all, n, container, real);

		if (other)
			printf("%-24s is up from another file, %s: left unchanged\n", container,
				text_clean(shown, sizeof shown, other->file));
		else
			add_down(crew, container, NULL);
	}
	return 0;
}

/* The containers of a file's agents, or of every session of this user. */
static int name_them(const struct cli *c, struct team *team, struct crew *crew,
	const struct agent_session *all, size_t n, struct err *e)
{
	bool every = cli_flag(c, "all");

	if (every && c->argc)
		return err_set(e, ERR_USAGE, "down takes FILE or --all, not both.");
	if (!every && !c->argc)
		return err_set(
			e, ERR_USAGE, "down needs FILE, or --all to take down all of your agents.");
	if (!every)
		return name_file_agents(c, team, crew, all, n, e);
	for (size_t i = 0; i < n; i++)
		add_down(crew, all[i].container, *all[i].engine ? all[i].engine : NULL);
	return 0;
}

/* Every agent of a person's is much to lose.  1: go on; else the exit code. */
static int confirm_all(const struct crew *crew)
{
	AUTO_FREE struct journal_command *running = xcalloc(RUNNING_SHOWN, sizeof *running);
	size_t commands = 0;
	char line[16], shown[64];

	for (size_t i = 0; i < crew->n; i++) {
		const char *name = crew->work[i].container;
		size_t n = journal_running(name, running, RUNNING_SHOWN);

		for (size_t k = 0; k < n; k++)
			printf("%-24s runs %s\n", name,
				text_clean(shown, sizeof shown, running[k].argv));
		commands += n;
	}
	printf("%zu agent%s would go down, and %zu running command%s with %s.\n", crew->n,
		crew->n == 1 ? "" : "s", commands, commands == 1 ? "" : "s",
		crew->n == 1 ? "it" : "them");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		fflush(stdout);
		fputs("berth: nothing was done: give --yes.\n", stderr);
		return 2;
	}
	fputs("Go on? [y/N] ", stdout);
	fflush(stdout);
	if (fgets(line, sizeof line, stdin) && (*line == 'y' || *line == 'Y'))
		return 1;
	puts("Nothing was done.");
	return 0;
}

/* Going down is idempotent: what is not up is down. */
static void tell_down(struct work *w)
{
	char shown[160];

	if (w->elsewhere)
		printf("%-24s is up on another engine (%s): left unchanged\n", w->container,
			text_clean(shown, sizeof shown, w->engine));
	else if (w->failed && w->err.kind == ERR_NOT_FOUND)
		printf("%-24s was not up\n", w->container);
	else if (!w->failed)
		printf("%-24s down\n", w->container);
	w->failed &= w->err.kind != ERR_NOT_FOUND;
}

int cli_down(const struct cli *c, const struct settings *s, struct err *e)
{
	static struct agent_session all[SESSIONS_MAX];
	struct team team = {0};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	struct crew crew;
	int rc;

	if (cli_flag(c, "yes") && !cli_flag(c, "all"))
		return err_set(e, ERR_USAGE, "--yes is for --all: down FILE does not ask.");
	prepare_crew(&crew, c, s, "down", &team, &mem);
	if (name_them(c, &team, &crew, all, agents_sessions(all, SESSIONS_MAX), e))
		return -1;
	rc = cli_flag(c, "all") && crew.n && !cli_flag(c, "yes") ? confirm_all(&crew) : 1;
	if (rc != 1) {
		free(crew.work);
		return rc;
	}
	run_crew(&crew);
	for (size_t i = 0; i < crew.n; i++)
		tell_down(&crew.work[i]);
	if (!crew.n && cli_flag(c, "all"))
		puts("None of your agents is up.");
	else if (!crew.n && !team.nagents)
		printf("No agent of %s is up.\n", c->argv[0]);
	rc = tell_failures(&crew);
	rc = rc ? rc : cli_finish();
	free(crew.work);
	if (team.file)
		team_release(&team);
	return rc;
}
