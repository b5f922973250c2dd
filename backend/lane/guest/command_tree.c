/*
 * command_tree.c - finds and kills everything a command started.
 *
 * The supervisor is a subreaper, so whatever a command starts stays below it, setsid and double
 * forks included.  Who is below is read from /proc/PID/stat: /proc/PID/task/TID/children needs a
 * kernel option that is often off.  Killing from a list that is a moment old is safe against forks,
 * because a process with a fatal signal pending cannot fork any more (copy_process fails), so every
 * pass leaves only what was forked during the pass; it ends when wait() knows no child.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

struct process {
	pid_t pid, parent;
	bool below;
};

static struct process table[GUEST_PROCESSES_MAX]; /* untouched pages cost nothing */

int64_t guest_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The fourth field of /proc/PID/stat; the second, the name, may hold anything but ends at the last
 * ')'. -1: gone. */
static pid_t read_parent_at(int proc, const char *pid)
{
	char path[32], text[512];
	const char *after;
	ssize_t n;
	int fd;

	memcpy(path, pid, strlen(pid) + 1);
	strcat(path, "/stat");
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	after = strrchr(text, ')');
	if (!after || strlen(after) < 5)
		return -1;
	return (pid_t)atoi(after + 4); /* ") S 12" */
}

static int read_table(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	if (!d)
		return 0;
	while (n < GUEST_PROCESSES_MAX && (e = readdir(d))) {
		pid_t parent;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || strlen(e->d_name) > 10)
			continue;
		parent = read_parent_at(dirfd(d), e->d_name);
		if (parent >= 0)
			table[n++] = (struct process){(pid_t)atoi(e->d_name), parent, false};
	}
	closedir(d);
	return n;
}

int guest_children(pid_t parent, pid_t *out, int max)
{
	int n = read_table(), found = 0;

	for (int i = 0; i < n && found < max; i++)
		if (table[i].parent == parent)
			out[found++] = table[i].pid;
	return found;
}

unsigned guest_signal_tree(int sig)
{
	pid_t self = getpid();
	int n = read_table();
	unsigned found = 0;
	bool grew = true;

	/* Children usually have larger numbers than parents, so one or two rounds do. */
	while (grew) {
		grew = false;
		for (int i = 0; i < n; i++) {
			bool below = table[i].parent == self;

			for (int k = 0; !below && !table[i].below && k < n; k++)
				below = table[k].below && table[k].pid == table[i].parent;
			if (below && !table[i].below)
				table[i].below = grew = true;
		}
	}
	for (int i = 0; i < n; i++)
		if (table[i].below && !kill(table[i].pid, sig))
			found++;
	return found;
}

unsigned guest_end_tree(int64_t limit_ns)
{
	int64_t deadline = guest_now_ns() + limit_ns;

	for (;;) {
		pid_t pid;
		unsigned found;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0 && errno == ECHILD)
			return 0;
		found = guest_signal_tree(SIGKILL);
		if (guest_now_ns() > deadline)
			return found ? found : 1;
		sched_yield();
	}
}
