/*
 * run.c - `berth-guest run CMD ARG...`: runs a command that the engine starts, with the same guarantees as over the
 * lane.
 *
 * For containers without a lane whose processes the host cannot see.  When the command ends, what it has started ends: its
 * descendants, and what has its mark in the environment, for a kernel of another kind may know no subreapers (gVisor's of
 * 2022 does not).  Who has left its parents and wiped its environment is not found.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define END_LIMIT_NS INT64_C(5000000000)
#define MARK_MAX 128

/* Cut into pieces: the mark may lie across two. */
static bool has_own_mark(int proc, const char *pid, const char *mark, size_t len)
{
	static char buf[65536 + MARK_MAX];
	size_t kept = 0;
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%.16s/environ", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, buf + kept, sizeof buf - kept)) > 0) {
		size_t all = kept + (size_t)n;

		if (memmem(buf, all, mark, len)) {
			close(fd);
			return true;
		}
		kept = all < len ? all : len;
		memmove(buf, buf + all - kept, kept);
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static unsigned kill_marked(const char *mark, size_t len)
{
	DIR *proc = opendir("/proc");
	unsigned found = 0;
	struct dirent *e;

	while (proc && (e = readdir(proc))) {
		pid_t pid = (pid_t)atoi(e->d_name);

		if (pid > 1 && pid != getpid() && has_own_mark(dirfd(proc), e->d_name, mark, len) &&
			!kill(pid, SIGKILL))
			found++;
	}
	if (proc)
		closedir(proc);
	return found;
}

/* Those that it starts meanwhile are found the next time; a process that is killed has no environment any more. */
static void end_marked(void)
{
	const struct timespec moment = {.tv_nsec = 2000000};
	int64_t deadline = guest_now_ns() + END_LIMIT_NS;
	const char *value = getenv(GUEST_RUN_MARK);
	char mark[MARK_MAX];
	int len;

	if (!value || strlen(value) > MARK_MAX / 2)
		return;
	len = snprintf(mark, sizeof mark, GUEST_RUN_MARK "=%s", value) + 1;
	while (kill_marked(mark, (size_t)len) && guest_now_ns() < deadline)
		nanosleep(&moment, NULL);
}

static int become_command(char **argv)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvp(argv[0], argv);
	fprintf(stderr, GUEST_NOT_RUN "%s: %s\n", argv[0], strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

int guest_run(char **argv)
{
	sigset_t all;
	int status = 0;
	pid_t pid, ended;

	prctl(PR_SET_CHILD_SUBREAPER, 1); /* where there is such a thing */
	prctl(PR_SET_NAME, "berth-command");
	sigfillset(&all);
	/* A terminal's keys are for the command. */
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = fork();
	if (!pid)
		_exit(become_command(argv));
	if (pid < 0) {
		fprintf(stderr, GUEST_NOT_RUN "%s: %s\n", argv[0], strerror(errno));
		return 126;
	}
	do
		ended = waitpid(-1, &status, 0);
	while (ended != pid && (ended > 0 || errno == EINTR));
	guest_end_tree(END_LIMIT_NS);
	end_marked();
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
