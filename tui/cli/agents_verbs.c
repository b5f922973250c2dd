/* agents_verbs.c - `berth up` and `berth down`: the agents of a team file, several at once. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/text.h>

#include <berth/jsonw.h>
#include "cli/progress.h"
#include "cli/run.h"

#define AT_ONCE 5
#define SESSIONS_MAX 256

struct work {                        /* one agent, on one thread at a time */
	const struct agent_def *def; /* NULL: going down */
	const char *container;
	struct agent_up up;
	struct err err;
	bool failed, in_hand;
};

struct crew {
	bool create; /* workspaces that are missing */
	const struct cli *c;
	const struct team *team;
	struct policy policy;
	size_t journal_commands;
	uint64_t journal_bytes;
	const char *program;
	struct work *work;
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

/* Each thread has an engine of its own; what fails for one agent does not stop the others. */
static void *work_on_agents(void *ctx)
{
	struct crew *crew = ctx;
	const struct agents_options o = {.host = cli_value(crew->c, "host"),
		.context = cli_value(crew->c, "context"),
		.program = crew->program,
		.policy = &crew->policy,
		.journal_commands = crew->journal_commands,
		.journal_bytes = crew->journal_bytes,
		.own_board = true,
		.create = crew->create,
		.stop = is_interrupted,
		.say = cli_flag(crew->c, "json") ? NULL : print_prepared};
	struct agents_host *h = NULL;
	struct work *w;

	while ((w = take_work(crew))) {
		if (!h && !interrupted)
			h = agents_open(&o, &w->err);
		if (interrupted)
			w->failed =
				err_set(&w->err, ERR_CANCELLED, "%s was left unchanged: cancelled.",
					w->def ? w->def->id : w->container);
		else if (!h)
			w->failed = true;
		else if (w->def)
			w->failed = agents_up(h, crew->team, w->def, &w->up, &w->err);
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
	*crew = (struct crew){.c = c, .team = team, .program = program};
	policy_from_settings(&crew->policy, s, mem);
	crew->journal_commands = (size_t)s->journal_commands;
	crew->journal_bytes = s->journal_bytes;
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

int cli_up(const struct cli *c, const struct settings *s, struct err *e)
{
	char *cwd = getcwd(NULL, 0);
	struct arena mem;
	struct team team;
	struct crew crew;
	struct jsonw j;
	int rc;

	if (team_read(c->argv[0], cwd ? cwd : "/", &team, e)) {
		free(cwd);
		return -1;
	}
	arena_init(&mem, 1024);
	prepare_crew(&crew, c, s, "up", &team, &mem);
	cli_orphans(c);
	crew.create = may_create(c, &team);
	crew.n = team.nagents;
	crew.work = xcalloc(crew.n, sizeof *crew.work);
	for (size_t i = 0; i < crew.n; i++)
		crew.work[i].def = &team.agents[i];
	run_crew(&crew);
	if (cli_flag(c, "json")) {
		jsonw_init(&j, false);
		jsonw_object(&j, NULL);
		jsonw_text(&j, "schema", "berth.up/1");
		jsonw_array(&j, "agents");
		for (size_t i = 0; i < crew.n; i++)
			json_up(&j, &crew.work[i]);
		jsonw_end(&j);
		jsonw_end(&j);
		jsonw_print(&j);
	} else {
		for (size_t i = 0; i < crew.n; i++)
			print_up(&crew.work[i]);
	}
	rc = tell_failures(&crew);
	rc = rc ? rc : cli_finish();
	free(crew.work);
	arena_release(&mem);
	team_release(&team);
	free(cwd);
	return rc;
}

/* The containers of a file's agents, or of every session of this user. */
static int name_them(
	const struct cli *c, struct team *team, struct crew *crew, char (*names)[64], struct err *e)
{
	char *cwd;

	if (cli_flag(c, "all")) {
		if (c->argc)
			return err_set(e, ERR_USAGE, "down takes FILE or --all, not both.");
		crew->n = agents_sessions(names, SESSIONS_MAX);
		crew->work = xcalloc(crew->n, sizeof *crew->work);
		for (size_t i = 0; i < crew->n; i++)
			crew->work[i].container = names[i];
		return 0;
	}
	if (!c->argc)
		return err_set(e, ERR_USAGE, "down needs FILE, or --all for every agent of yours.");
	cwd = getcwd(NULL, 0);
	if (team_read(c->argv[0], cwd ? cwd : "/", team, e)) {
		free(cwd);
		return -1;
	}
	free(cwd);
	crew->n = team->nagents;
	crew->work = xcalloc(crew->n, sizeof *crew->work);
	for (size_t i = 0; i < crew->n; i++)
		crew->work[i].container = team->agents[i].container;
	return 0;
}

int cli_down(const struct cli *c, const struct settings *s, struct err *e)
{
	static char names[SESSIONS_MAX][64];
	struct team team = {0};
	struct arena mem;
	struct crew crew;
	int rc;

	arena_init(&mem, 1024);
	prepare_crew(&crew, c, s, "down", &team, &mem);
	if (name_them(c, &team, &crew, names, e)) {
		arena_release(&mem);
		return -1;
	}
	run_crew(&crew);
	for (size_t i = 0; i < crew.n; i++) {
		struct work *w = &crew.work[i];

		/* Going down is idempotent: what is not up is down. */
		if (w->failed && w->err.kind == ERR_NOT_FOUND) {
			w->failed = false;
			printf("%-24s was not up\n", w->container);
		} else if (!w->failed) {
			printf("%-24s down\n", w->container);
		}
	}
	if (!crew.n)
		puts("No agent of yours is up.");
	rc = tell_failures(&crew);
	rc = rc ? rc : cli_finish();
	free(crew.work);
	arena_release(&mem);
	if (team.file)
		team_release(&team);
	return rc;
}
