/*
 * own.c - comparisons that people write themselves: any command against any other.
 *
 * Each sample is a process of its own, in a process group of its own, with nothing on standard input.
 * What it prints is hashed (check: output) and must be the same for all arms; its exit code must be the
 * one asked for.  One that takes longer than its time-out is killed with all that it started.
 */
#include "plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/text.h>

#define OWN_SAMPLES 30
#define OUTPUT_MAX ((size_t)256 << 20) /* of one sample: more is an error, not a hang */
#define POLL_MS 200

extern char **environ;

struct own {
	char ***argv; /* one for each arm */
	char **prepare;
	const char *directory; /* NULL: where berth was started */
	int64_t exit_code, timeout_s;
	bool output;                 /* compare what they print */
	const struct bench_run *run; /* while it runs */
};

struct ended {
	int status;
	uint64_t digest;
	struct rusage usage;
};

static pid_t start_arm(const struct own *o, char **argv, int out, struct err *e)
{
	AUTO_CLOSE int dir =
		o->directory ? open(o->directory, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	const struct spawn program = {.path = argv[0],
		.argv = (const char *const *)argv,
		.out = out > 0 ? out : 0,
		.dir = dir > 0 ? dir : 0,
		.apart = SPAWN_GROUP};
	pid_t pid = -1;
	int rc = o->directory && dir < 0 ? errno : spawn_start(&program, &pid);

	if (rc == 0)
		return pid;
	err_sys(e, rc, "cannot run %s", argv[0]);
	return -1;
}

/* Read until the other end closes it; false: time is up, or it is to stop, or it is too much. */
static bool drain_output(const struct own *o, int fd, int64_t until_ns, uint64_t *digest)
{
	char buf[65536];
	size_t all = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (clock_mono_ns() > until_ns || (o->run && bench_cancelled(o->run)))
			return false;
		if (poll(&p, 1, POLL_MS) <= 0)
			continue;
		n = read(fd, buf, sizeof buf);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return true;
		*digest = digest_bytes(*digest, buf, (size_t)n);
		if ((all += (size_t)n) > OUTPUT_MAX)
			return false;
	}
}

static int run_one(const struct own *o, char **argv, struct ended *ret, struct err *e)
{
	int64_t until = clock_mono_ns() + o->timeout_s * 1000000000;
	int ends[2];
	bool ended;
	pid_t pid;

	memset(ret, 0, sizeof *ret);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	pid = start_arm(o, argv, ends[1], e);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return -1;
	}
	ended = drain_output(o, ends[0], until, &ret->digest);
	close(ends[0]);
	if (!ended)
		kill(-pid, SIGKILL);
	while (wait4(pid, &ret->status, 0, &ret->usage) < 0 && errno == EINTR)
		;
	/* What it left behind in its group would disturb the next sample. */
	kill(-pid, SIGKILL);
	if (!ended && o->run && bench_cancelled(o->run))
		return err_set(e, ERR_CANCELLED, "cancelled");
	return ended
		? 0
		: err_set(e, ERR_TIMEOUT,
			  "it was ended: it ran longer than %lld s, or printed more than 256 MiB",
			  (long long)o->timeout_s);
}

static int own_run(void *ctx, struct sample *s, struct err *e)
{
	struct own *o = ctx;
	int64_t begun = clock_mono_ns();
	struct ended r;

	if (run_one(o, o->argv[s->arm], &r, e) < 0)
		return -1;
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	s->usage.peak_bytes = (uint64_t)r.usage.ru_maxrss * 1024;
	if (!WIFEXITED(r.status))
		return err_set(e, ERR_FAILED, "it was ended by signal %d", WTERMSIG(r.status));
	if (WEXITSTATUS(r.status) != o->exit_code)
		return err_set(e, ERR_FAILED, "it exited with %d, not %lld", WEXITSTATUS(r.status),
			(long long)o->exit_code);
	s->digest = o->output ? r.digest : 1;
	return 0;
}

static int own_prepare(void *ctx, struct err *e)
{
	struct own *o = ctx;
	struct ended r;

	if (!o->prepare)
		return 0;
	if (run_one(o, o->prepare, &r, e) < 0)
		return -1;
	return WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0
		? 0
		: err_set(e, ERR_FAILED, "the command of `prepare` failed");
}

static bool program_exists(const char *program)
{
	const char *path = getenv("PATH");
	char buf[PATH_MAX];

	if (strchr(program, '/'))
		return access(program, X_OK) == 0;
	for (const char *at = path ? path : "/usr/bin:/bin"; *at;) {
		size_t n = strcspn(at, ":");

		snprintf(buf, sizeof buf, "%.*s/%s", (int)n, at, program);
		if (access(buf, X_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

static void *own_setup(struct bench_run *r, struct err *e)
{
	const struct bench_case *c = bench_what(r);
	struct own *o = (struct own *)c->data;

	o->run = r;
	for (size_t i = 0; i < ARMS_MAX && c->arms[i].name; i++)
		if (!o->directory && !program_exists(o->argv[i][0]))
			return err_null(
				err_set(e, ERR_NOT_FOUND, "%s of the arm %s is not on this machine",
					o->argv[i][0], c->arms[i].name));
	return o;
}

static void own_teardown(void *ctx)
{
	((struct own *)ctx)->run = NULL;
}

/* A list is argv as it is; one line of text is for the shell. */
static char **argv_of(struct plan *p, const struct config *c, const struct node *n, struct err *e)
{
	char **argv;

	if (n->kind == NODE_SCALAR && *n->value) {
		argv = arena_array(&p->mem, 4, sizeof *argv);
		argv[0] = arena_strdup(&p->mem, "/bin/sh");
		argv[1] = arena_strdup(&p->mem, "-c");
		argv[2] = arena_strdup(&p->mem, n->value);
		argv[3] = NULL;
		return argv;
	}
	if (n->kind != NODE_LIST || !n->n)
		return err_null(node_err(c, n, e,
			"a command must be a list of words ([rg, -c, x]) or a line for the shell."));
	argv = arena_array(&p->mem, n->n + 1, sizeof *argv);
	for (size_t i = 0; i < n->n; i++) {
		if (n->child[i]->kind != NODE_SCALAR)
			return err_null(
				node_err(c, n->child[i], e, "a word of a command must be text."));
		argv[i] = arena_strdup(&p->mem, n->child[i]->value);
	}
	argv[n->n] = NULL;
	return argv;
}

static int read_arms(struct plan *p, const struct config *c, const struct node *test,
	struct bench_case *k, struct own *o, struct err *e)
{
	const struct node *arms = node_get(test, "arms"), *base = node_get(test, "baseline");
	bool found = !base;

	if (!arms || arms->kind != NODE_MAP || arms->n < 1 || arms->n > ARMS_MAX)
		return node_err(c, arms ? arms : test, e,
			"`arms` must be a map of one to %d names, each with a command.", ARMS_MAX);
	o->argv = arena_array(&p->mem, arms->n, sizeof *o->argv);
	for (size_t i = 0; i < arms->n; i++) {
		const struct node *n = arms->child[i];

		if (!(o->argv[i] = argv_of(p, c, n, e)))
			return -1;
		k->arms[i] = (struct arm){arena_strndup(&p->mem, n->key, 60), own_run};
		if (base && base->kind == NODE_SCALAR && !strcmp(base->value, n->key)) {
			k->baseline = (int)i;
			found = true;
		}
	}
	return found ? 0 : node_err(c, base, e, "`baseline` must be the name of one of the arms.");
}

static int goals_of(struct plan *p, const struct config *c, const struct node *test,
	struct bench_case *k, struct err *e)
{
	const struct node *goals = node_get(test, "at_least");

	if (!goals)
		return 0;
	if (goals->kind != NODE_MAP || goals->n > TARGETS_MAX)
		return node_err(c, goals, e,
			"`at_least` must be a map from the name of an arm to how many times as fast as the baseline it must be.");
	for (size_t i = 0; i < goals->n; i++) {
		const struct node *n = goals->child[i];
		const char *arm = NULL;
		double factor;

		for (size_t a = 0; a < ARMS_MAX && k->arms[a].name; a++)
			if (!strcmp(k->arms[a].name, n->key) && (int)a != k->baseline)
				arm = k->arms[a].name;
		if (!arm)
			return node_err(
				c, n, e, "`%.60s` is not an arm other than the baseline.", n->key);
		if (node_double(c, n, 0.0001, 1e6, &factor, e) < 0)
			return -1;
		k->targets[i] =
			(struct goal){arena_printf(&p->mem, "%s is at least %gx as fast as %s", arm,
					      factor, k->arms[k->baseline].name),
				arm, ON_RATIO, factor, NO_BOUND};
	}
	return 0;
}

int own_case(struct plan *p, const struct config *c, const struct node *test,
	const struct bench_suite *suite, struct err *e)
{
	static const char *const known[] = {"test", "name", "arms", "baseline", "check", "exit",
		"timeout", "directory", "prepare", "at_least", "repetitions", "warmup", NULL};
	static const char *const checks[] = {"output", "exit", NULL};
	const struct node *name = node_get(test, "name"), *n;
	struct bench_case *k = arena_alloc(&p->mem, sizeof *k);
	struct own *o = arena_alloc(&p->mem, sizeof *o);
	int64_t reps = OWN_SAMPLES, warmup = 2;
	int check = 0;

	memset(k, 0, sizeof *k);
	memset(o, 0, sizeof *o);
	o->timeout_s = 60;
	if (node_unknown(c, test, known, e) < 0)
		return -1;
	if (!name || name->kind != NODE_SCALAR || !*name->value || strlen(name->value) > 60 ||
		strpbrk(name->value, "/\t\n"))
		return node_err(c, name ? name : test, e,
			"a `command` test needs a `name` of at most 60 letters, without a slash.");
	if (((n = node_get(test, "repetitions")) &&
		    node_int(c, n, 1, REPETITIONS_MAX, &reps, e) < 0) ||
		((n = node_get(test, "warmup")) && node_int(c, n, 0, 1000, &warmup, e) < 0) ||
		((n = node_get(test, "exit")) && node_int(c, n, 0, 255, &o->exit_code, e) < 0) ||
		((n = node_get(test, "timeout")) &&
			node_int(c, n, 1, 86400, &o->timeout_s, e) < 0) ||
		((n = node_get(test, "check")) && node_choice(c, n, checks, &check, e) < 0))
		return -1;
	if ((n = node_get(test, "prepare")) && !(o->prepare = argv_of(p, c, n, e)))
		return -1;
	if ((n = node_get(test, "directory"))) {
		const char *slash = strrchr(c->file, '/');

		if (n->kind != NODE_SCALAR || !*n->value)
			return node_err(c, n, e, "`directory` must be a path.");
		o->directory = n->value[0] == '/' || !slash
			? arena_strdup(&p->mem, n->value)
			: arena_printf(
				  &p->mem, "%.*s/%s", (int)(slash - c->file), c->file, n->value);
	}
	if (read_arms(p, c, test, k, o, e) < 0)
		return -1;
	o->output = check == 0;
	k->name = arena_strdup(&p->mem, name->value);
	k->about = "commands of a suite file";
	k->samples = (int)reps;
	k->warmup = (int)warmup;
	k->setup = own_setup;
	k->teardown = own_teardown;
	k->prepare = own_prepare;
	k->data = o;
	if (goals_of(p, c, test, k, e) < 0)
		return -1;
	plan_push(p, suite, k, (int)reps);
	return 0;
}
