/* repo.c - starts berth-git, waits for it and validates its output. */
#include <berth/repo.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#include "repo/shut_in.h"

static const struct {
	const char *name, *words;
} whys[] = {
	[REPO_FINE] = {NULL, "not looked at yet"},
	[REPO_NONE] = {"none", "no git repository"},
	[REPO_LINKED] = {"linked", "its .git leads elsewhere: not followed"},
	[REPO_FOREIGN] = {"foreign", "its .git is another user's: not read"},
	[REPO_BROKEN] = {"broken", "its .git cannot be read"},
	[REPO_LATE] = {"late", "too much to be read in time"},
	[REPO_UNCONFINED] = {"unconfined",
		"not read: no user namespaces here to isolate the reader"},
	[REPO_MISNAMED] = {"misnamed", "that is not a name of a branch"},
	[REPO_TAKEN] = {"taken", "there is a branch of that name"},
	[REPO_UNWRITTEN] = {"unwritten",
		"it could not be written: a full disk, or a file where a directory would be"},
};

const char *repo_why_name(enum repo_why why)
{
	return whys[why].name;
}

bool repo_has_work(const struct repo_state *s)
{
	return s->staged || s->changed || s->untracked || s->conflicts || s->unpushed;
}

void repo_words(const struct repo_state *s, char *buf, size_t cap)
{
	const struct {
		uint64_t n;
		const char *word;
	} part[] = {{s->conflicts, "in conflict"}, {s->staged, "staged"}, {s->changed, "changed"},
		{s->untracked, "untracked"},
		{s->unpushed, s->remotes ? "not pushed" : "commits, no remote"}};
	size_t used = 0;

	*buf = '\0';
	for (size_t i = 0; i < COUNT(part); i++)
		if (part[i].n && used < cap)
			used += (size_t)snprintf(buf + used, cap - used, "%s%" PRIu64 " %s",
				used ? ", " : "", part[i].n, part[i].word);
	if (s->why != REPO_FINE || !s->known)
		snprintf(buf + (used < cap ? used : cap), used < cap ? cap - used : 0, "%s%s",
			used ? "; " : "", whys[s->why].words);
	else if (!used)
		snprintf(buf, cap, "clean");
}

int repo_spawn(int dir, const char *word, int in, int out, pid_t *pid, struct err *e)
{
	char program[PATH_MAX];
	const char *const argv[] = {REPO_PROGRAM, word, NULL};
	char *const no_environment[] = {NULL};
	struct spawn p = {.path = program,
		.argv = argv,
		.env = no_environment,
		.in = in < 0 ? 0 : in,
		.out = out,
		.dir = dir};
	int bad;

	if (runtime_program(REPO_PROGRAM, program, e))
		return -1;
	bad = spawn_start(&p, pid);
	return bad ? err_sys(e, bad, "cannot start %s", program) : 0;
}

/* The last state that it wrote whole; false: it did not end in time. */
static bool read_states(int fd, struct repo_state *ret)
{
	int64_t until = clock_mono_ns() + REPO_MS * (int64_t)1000000;
	struct repo_state next;
	size_t have = 0;

	for (;;) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		int64_t left = (until - clock_mono_ns()) / 1000000;
		ssize_t n;

		if (left <= 0)
			return false;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(fd, (char *)&next + have, sizeof next - have);
		if (n <= 0)
			return n == 0;
		have += (size_t)n;
		if (have == sizeof next) {
			*ret = next;
			have = 0;
		}
	}
}

/* Whatever the agent made of the reader: words are in their range, and a name ends. */
static void mend_state(struct repo_state *s)
{
	s->known &= REPO_KNOWS_ALL;
	if (s->why >= REPO_WHYS)
		s->why = REPO_BROKEN;
	s->branch[sizeof s->branch - 1] = '\0';
	for (char *at = s->branch; *at; at++)
		if ((unsigned char)*at <= ' ' || *at == 0x7f)
			*at = '?';
	s->remotes = !!s->remotes;
	if (s->unpushed > REPO_COMMITS_MAX)
		s->unpushed = REPO_COMMITS_MAX;
}

int repo_look(int dir, struct repo_state *ret, struct err *e)
{
	AUTO_CLOSE int in = -1;
	int p[2], status = 0;
	bool ended;
	pid_t pid;

	*ret = (struct repo_state){0};
	if (pipe2(p, O_CLOEXEC))
		return err_sys(e, errno, "cannot make a pipe");
	in = p[0];
	if (repo_spawn(dir, NULL, -1, p[1], &pid, e)) {
		close(p[1]);
		return -1;
	}
	close(p[1]);
	ended = read_states(in, ret);
	if (!ended)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	mend_state(ret);
	if (ret->why == REPO_FINE && ret->known != REPO_KNOWS_ALL)
		ret->why = !ended || WIFSIGNALED(status) ? REPO_LATE : REPO_BROKEN;
	return 0;
}
