/*
 * housekeeping.c - ends workspaces whose retention has passed, and verifies stored data, while a console is open.
 *
 * Both are what a timer would run: `workspace clean --due` and `workspace verify`, processes of their own, whose
 * acts pass policy and are recorded like anybody's.  One console at a time does it (a lock beside the
 * workspaces, with the times of the last runs in the file), at the pace that the settings say; not while it is
 * read-only.  A worker thread waits for them; who quits ends them, and the next console begins again.
 */
#include "console/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/str.h>
#include <berth/text.h>

#define LOOK_NS (60 * INT64_C(1000000000)) /* between looks whether something is due */
#define SAID_MAX ((size_t)1 << 20)         /* bytes kept of what one prints */
#define LAST_MAX 80                        /* bytes of the file */
#define NICE 10

struct upkeep {
	struct blocking_task work;
	struct backend *b;
	bool works;
	int64_t next_ns, clean_ms, verify_ms; /* 0: never */
	char *settings;                       /* the file; NULL: the usual one */
	pthread_mutex_t lock;
	pid_t child; /* under the lock; 0: none */
	bool stop;   /* under the lock */
	struct str told;
};

/* ---- the worker's */

static int spawn_upkeep(struct upkeep *u, const char *const *argv, int out)
{
	struct err why = ERR_INIT;
	char path[PATH_MAX];
	struct spawn p = {.path = path, .argv = argv, .out = out, .err = out, .apart = SPAWN_GROUP};
	int rc = ECANCELED;

	if (runtime_program(argv[0], path, &why) < 0)
		return ENOENT;
	pthread_mutex_lock(&u->lock);
	if (!u->stop)
		rc = spawn_start(&p, &u->child);
	if (rc == 0)
		setpriority(PRIO_PROCESS, (id_t)u->child, NICE);
	else
		u->child = 0;
	pthread_mutex_unlock(&u->lock);
	return rc;
}

static void read_upkeep_words(int from, struct str *said)
{
	char buf[4096];

	for (;;) {
		ssize_t n = read(from, buf, sizeof buf);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		if (said->len + (size_t)n <= SAID_MAX)
			str_add(said, buf, (size_t)n);
	}
}

/* Its exit code; -1: it did not start, or was ended. */
static int run_upkeep(struct upkeep *u, const char *verb, const char *option, struct str *said)
{
	const char *argv[8] = {"berth-image"};
	size_t n = 1;
	int ends[2], status = 0;
	pid_t pid;

	if (u->settings) {
		argv[n++] = "--settings";
		argv[n++] = u->settings;
	}
	argv[n++] = "workspace";
	argv[n++] = verb;
	argv[n++] = option;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	if (spawn_upkeep(u, argv, ends[1])) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[1]);
	read_upkeep_words(ends[0], said);
	close(ends[0]);
	pid = u->child; /* this thread alone sets it */
	/* Until it is reaped nobody else has its number. */
	while (waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&u->lock);
	u->child = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	pthread_mutex_unlock(&u->lock);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* "tasks/fix  done 3 d ago: archived": how each ended. */
static void tell_cleaned(struct upkeep *u, char *said)
{
	unsigned archived = 0, removed = 0, stayed = 0;
	char *rest = NULL;

	for (char *line = strtok_r(said, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *end = strrchr(line, ':');

		if (!strncmp(line, "secret ", 7) || !end)
			continue;
		if (!strcmp(end, ": archived"))
			archived++;
		else if (!strcmp(end, ": removed"))
			removed++;
		else
			stayed++;
	}
	if (!archived && !removed && !stayed)
		return;
	str_addf(&u->told, "Expired workspaces: %u archived, %u removed", archived, removed);
	if (stayed)
		str_addf(&u->told,
			", %u could not be removed (`berth workspace clean --due` shows why)",
			stayed);
	str_adds(&u->told, ".");
}

static void tell_damage(struct upkeep *u, const char *said)
{
	const char *line = strstr(said, "berth: ");
	AUTO_FREE char *first = NULL;
	char clean[200];

	if (!line)
		return;
	first = xstrndup(line + 7, strcspn(line + 7, "\n"));
	str_addf(&u->told,
		"%sStored workspaces are damaged: %s (`berth workspace verify` lists all)",
		u->told.len ? "  " : "", text_clean(clean, sizeof clean, first));
}

/* A time that is yet to come was of another clock. */
static bool upkeep_is_due(int64_t every_ms, int64_t last_ms, int64_t now_ms)
{
	return every_ms && (last_ms > now_ms || now_ms - last_ms >= every_ms);
}

/* What ran is noted at once, for the next may be ended. */
static void note_runs(int fd, int64_t cleaned, int64_t verified)
{
	char text[LAST_MAX];
	int n = snprintf(text, sizeof text, "%" PRId64 " %" PRId64 "\n", cleaned, verified);

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return; /* it runs once more than it needs to */
}

static void run_what_is_due(struct upkeep *u, int fd)
{
	AUTO_STR struct str clean = STR_INIT, verify = STR_INIT;
	int64_t cleaned = 0, verified = 0, now = clock_wall_ms();
	char last[LAST_MAX + 1] = "";

	if (file_fill(fd, last, LAST_MAX) < 0 ||
		sscanf(last, "%" SCNd64 " %" SCNd64, &cleaned, &verified) != 2)
		cleaned = verified = 0;
	if (upkeep_is_due(u->clean_ms, cleaned, now)) {
		if (run_upkeep(u, "clean", "--due", &clean) < 0)
			return;
		note_runs(fd, now, verified);
		cleaned = now;
		tell_cleaned(u, clean.s);
	}
	if (upkeep_is_due(u->verify_ms, verified, now)) {
		int rc = run_upkeep(u, "verify", NULL, &verify);

		if (rc < 0)
			return;
		note_runs(fd, cleaned, now);
		if (rc)
			tell_damage(u, verify.s);
	}
}

static void work_on_upkeep(struct blocking_task *x)
{
	struct upkeep *u = x->data;
	char dir[PATH_MAX - 16], path[PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (workspaces_dir(dir, sizeof dir, NULL))
		return;
	snprintf(path, sizeof path, "%s/.upkeep", dir);
	/* Where there are no workspaces there is no such directory either. */
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB))
		run_what_is_due(u, fd);
}

/* ---- the loop's */

static void on_upkeep_done(struct blocking_task *x)
{
	struct upkeep *u = x->data;

	u->works = false;
	if (u->told.len && !u->b->stopping)
		backend_notice(u->b, "%s", u->told.s);
	str_clear(&u->told);
}

void upkeep_open(struct backend *b, const struct backend_options *o)
{
	struct upkeep *u;

	if (!o->clean_ms && !o->verify_ms)
		return;
	b->upkeep = u = xcalloc(1, sizeof *u);
	u->b = b;
	u->work.data = u;
	u->clean_ms = o->clean_ms;
	u->verify_ms = o->verify_ms;
	u->settings = o->settings_file ? xstrdup(o->settings_file) : NULL;
	pthread_mutex_init(&u->lock, NULL);
	str_init(&u->told);
}

void upkeep_pulse(struct backend *b)
{
	struct upkeep *u = b->upkeep;

	if (!u || u->works || b->recording.policy.read_only || backend_now(b) < u->next_ns)
		return;
	u->next_ns = backend_now(b) + LOOK_NS;
	u->works = blocking_start(&b->loop, &u->work, work_on_upkeep, on_upkeep_done) == 0;
}

void upkeep_stop(struct backend *b)
{
	struct upkeep *u = b->upkeep;

	if (!u)
		return;
	pthread_mutex_lock(&u->lock);
	u->stop = true;
	if (u->child)
		kill(u->child, SIGTERM);
	pthread_mutex_unlock(&u->lock);
}

void upkeep_close(struct backend *b)
{
	struct upkeep *u = STEAL(b->upkeep);

	if (!u)
		return;
	pthread_mutex_destroy(&u->lock);
	str_release(&u->told);
	free(u->settings);
	free(u);
}
