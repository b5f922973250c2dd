/*
 * custom.c - `berth custom`: runs a command of berth.yaml for one container.
 *
 * The line is the person's and goes to sh as it stands.  What is known of the container, which is from outside, arrives
 * in the environment and never in the line.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/snapshot.h>
#include <berth/spawn.h>
#include <berth/str.h>
#include <berth/text.h>

#include "cli/gate.h"
#include "cli/run.h"

extern char **environ;

static volatile sig_atomic_t told; /* for the handler: the child, or less than 0: its group */

struct custom_run {
	const struct custom_command *k;
	const struct container *on;
	const char *endpoint;
	char **env;
	int code;
};

static void pass_signal_on(int sig)
{
	if (told)
		kill(told, sig);
}

#define FIELDS_MAX 16

static bool is_set_anew(const char *entry, char *const *fields, size_t n)
{
	size_t len = strcspn(entry, "=") + 1;

	if (!strncmp(entry, "DOCKER_CONTEXT=", len))
		return true;
	for (size_t i = 0; i < n; i++)
		if (!strncmp(entry, fields[i], len))
			return true;
	return false;
}

/* An image may bring labels, and what they say may end on a terminal. */
static char *field_entry(struct arena *mem, const char *name, const char *value)
{
	AUTO_STR struct str clean = STR_INIT;

	if (value)
		text_neutralise(&clean, value, strlen(value), false);
	return arena_printf(mem, "%s=%s", name, clean.len ? clean.s : "");
}

/* This process's environment with the container's fields; what they are called is theirs alone. */
static char **custom_environment(const struct custom_run *x, struct arena *mem)
{
	const struct container *c = x->on;
	const struct {
		const char *name, *value;
	} fields[] = {{"BERTH_NAME", c->name}, {"BERTH_ID", c->id}, {"BERTH_IMAGE", c->image},
		{"BERTH_STATE", container_state_name(c->state)}, {"BERTH_AGENT", c->agent},
		{"BERTH_SESSION", c->session}, {"BERTH_ROLE", c->role},
		{"BERTH_PROJECT", c->compose_project}, {"BERTH_SERVICE", c->compose_service},
		{"BERTH_PID", arena_printf(mem, "%d", c->pid)}, {"BERTH_PORTS", c->ports},
		{"BERTH_NETWORKS", c->networks}};
	size_t n = 0, all = 0;
	char **env;

	_Static_assert(COUNT(fields) < FIELDS_MAX, "fields");
	while (environ[all])
		all++;
	env = arena_array(mem, all + FIELDS_MAX + 1, sizeof *env);
	for (size_t i = 0; i < COUNT(fields); i++)
		env[n++] = field_entry(mem, fields[i].name, fields[i].value);
	env[n++] = arena_printf(mem, "DOCKER_HOST=%s", x->endpoint);
	for (size_t i = 0; i < all; i++)
		if (!is_set_anew(environ[i], env, COUNT(fields) + 1))
			env[n++] = environ[i];
	return env;
}

static int wait_for_child(struct custom_run *x, pid_t pid, struct err *e)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot wait for %s", x->k->name);
	told = 0;
	x->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	if (x->code)
		err_set(e, ERR_FAILED, "It ended with %d.", x->code);
	return 0;
}

static int do_custom(void *ctx, struct audit_record *r, struct err *e)
{
	const struct sigaction pass = {.sa_handler = pass_signal_on};
	struct custom_run *x = ctx;
	AUTO_CLOSE int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	const char *const argv[] = {"sh", "-c", x->k->run, NULL};
	/* Where nobody types, whoever asks at the terminal would be stopped, and stay so. */
	bool alone = !isatty(STDIN_FILENO);
	const struct spawn p = {.path = "/bin/sh",
		.argv = argv,
		.env = x->env,
		.in = in < 0 ? 0 : in,
		.out = STDOUT_FILENO,
		.err = STDERR_FILENO,
		.apart = alone ? SPAWN_SESSION : SPAWN_TOGETHER};
	sigset_t both, before;
	pid_t pid;
	int bad;

	(void)r;
	sigaction(SIGINT, &pass, NULL);
	sigaction(SIGTERM, &pass, NULL);
	/* One that came between the start and `told` would be passed on to nobody. */
	sigemptyset(&both);
	sigaddset(&both, SIGINT);
	sigaddset(&both, SIGTERM);
	sigprocmask(SIG_BLOCK, &both, &before);
	bad = spawn_start(&p, &pid);
	if (!bad)
		told = alone ? -pid : pid;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (bad)
		return err_sys(e, bad, "cannot start sh for %s", x->k->name);
	return wait_for_child(x, pid, e);
}

static int run_here(
	struct custom_run *x, const struct policy *policy, const struct snapshot *s, struct err *e)
{
	struct recorder by = {.program = "custom",
		.policy = policy,
		.endpoint = s->engine.endpoint,
		.engine_name = s->engine.name,
		.engine = s->engine.id};
	const struct key_value params[] = {
		{"command", x->k->name, false}, {"line", x->k->run, false}};
	const struct audit_record r = {.operation = OP_COMMAND_RUN,
		.target_type = "container",
		.target = x->on->id,
		.name = x->on->name,
		.params = params,
		.nparams = COUNT(params)};
	struct err why = ERR_INIT;
	int rc = record_act(&by, &r, NULL, do_custom, x, &why);

	recorder_close(&by);
	if (rc < 0)
		return err_copy(e, &why);
	return cli_recorded(x->code, 125);
}

/* `berth exec` does the rest: policy, record, the agent's journal. */
static int run_inside(const struct cli *c, const struct custom_run *x, struct err *e)
{
	const char *argv[14], *settings = cli_value(c, "settings");
	AUTO_FREE char *name = xstrdup(x->on->name), *host = xstrdup(x->endpoint);
	int n = 0;

	argv[n++] = "berth";
	argv[n++] = "-H";
	argv[n++] = host;
	if (settings) {
		argv[n++] = "--settings";
		argv[n++] = settings;
	}
	if (cli_flag(c, "read-only"))
		argv[n++] = "--read-only";
	argv[n++] = "exec";
	argv[n++] = name;
	argv[n++] = "--";
	argv[n++] = "sh";
	argv[n++] = "-c";
	argv[n++] = x->k->exec;
	argv[n] = NULL;
	return cli_become("berth", (char **)(uintptr_t)argv, e);
}

static const struct custom_command *find_custom(
	const struct settings *s, const char *name, struct err *e)
{
	AUTO_STR struct str names = STR_INIT;

	for (size_t i = 0; i < s->ncommands; i++) {
		if (!strcmp(s->commands[i].name, name))
			return &s->commands[i];
		str_addf(&names, "%s%s", i ? ", " : "", s->commands[i].name);
	}
	return err_null(s->ncommands
			? err_set(e, ERR_USAGE, "berth.yaml has no command %.40s; it has %.200s.",
				  name, names.s)
			: err_set(e, ERR_USAGE, "berth.yaml has no commands."));
}

int cli_custom(const struct cli *c, const struct settings *s, struct err *e)
{
	struct custom_run x = {.k = find_custom(s, c->argv[0], e)};
	struct cli rest = *c;
	const struct snapshot *snap;
	struct policy policy;
	struct backend *b;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	int rc = -1;

	if (!x.k)
		return -1;
	rest.argc--;
	rest.argv++;
	policy_from_settings(&policy, s, &mem);
	if (s->read_only)
		policy.read_only_by = cli_flag(c, "read-only") ? "--read-only" : "berth.yaml";
	b = cli_backend(c, "custom", &policy, true, e);
	snap = b ? cli_wait(b, false, e) : NULL;
	if (snap && cli_chosen(&rest, snap, &x.on, e) == 0) {
		x.endpoint = snap->engine.endpoint;
		x.env = custom_environment(&x, &mem);
		/* What follows forks, or becomes another program: nothing else may run. */
		backend_stop(STEAL(b));
		rc = x.k->run ? run_here(&x, &policy, snap, e) : run_inside(c, &x, e);
	}
	snapshot_unref(snap);
	if (b)
		backend_stop(b);
	return rc;
}
