/* tree.c - finding a command's processes in /proc and ending them. */
#include "agents/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>

#include "lane/peer.h"

#define PROCESSES_MAX 65536
#define ENVIRON_MAX ((size_t)256 << 10)

struct process {
	pid_t pid, parent;
	bool ours;
};

bool tree_is_here(pid_t pid, const char *id)
{
	char groups[8192];

	return pid > 0 && !proc_file(pid, "cgroup", groups, sizeof groups) && strstr(groups, id);
}

/* 'Z' and 'X' are no more to be killed; the parent is the fourth field, the name ends at the last ')'. */
static pid_t living_parent(pid_t pid)
{
	char text[1024];
	const char *after;

	if (proc_file(pid, "stat", text, sizeof text) || !(after = strrchr(text, ')')) ||
		strlen(after) < 5 || after[2] == 'Z' || after[2] == 'X')
		return -1;
	return (pid_t)atoi(after + 4);
}

/* 1, 0, or -1 when this user may not look. */
static int has_mark(pid_t pid, const char *mark, char *buf)
{
	char path[64], want[128];
	AUTO_CLOSE int fd = -1;
	size_t n = 0;
	ssize_t r;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	while (n < ENVIRON_MAX && (r = read(fd, buf + n, ENVIRON_MAX - n)) > 0)
		n += (size_t)r;
	snprintf(want, sizeof want, RUN_MARK "=%s", mark);
	return memmem(buf, n, want, strlen(want) + 1) ? 1 : 0;
}

/* Every living process of the container; those with the mark are ours. */
static size_t look(const char *id, const char *mark, pid_t top, struct process *list, bool *blind)
{
	AUTO_FREE char *buf = xmalloc(ENVIRON_MAX);
	DIR *d = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	while (d && n < PROCESSES_MAX && (entry = readdir(d))) {
		pid_t pid = (pid_t)atoi(entry->d_name), parent;
		int marked;

		if (pid <= 1 || !tree_is_here(pid, id) || (parent = living_parent(pid)) < 0)
			continue;
		marked = pid == top ? 1 : has_mark(pid, mark, buf);
		*blind |= marked < 0;
		list[n++] = (struct process){pid, parent, marked == 1};
	}
	if (d)
		closedir(d);
	return n;
}

static void add_children(struct process *list, size_t n)
{
	bool grew = true;

	while (grew) {
		grew = false;
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; !list[i].ours && k < n; k++)
				if (list[k].ours && list[k].pid == list[i].parent)
					list[i].ours = grew = true;
	}
}

/* Held by a descriptor and looked at again, so that a number that went to somebody else is not hit. */
static int end_one(pid_t pid, const char *id)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || !tree_is_here(pid, id))
		return 0;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0))
		return errno == ESRCH ? 0 : -1;
	return 1;
}

int tree_kill(const char *id, const char *mark, pid_t pid)
{
	AUTO_FREE struct process *list = xcalloc(PROCESSES_MAX, sizeof *list);
	bool blind = false;
	size_t n = look(id, mark, pid, list, &blind);
	int found = 0;

	if (blind)
		return -1;
	add_children(list, n);
	for (size_t i = 0; i < n; i++) {
		int r = list[i].ours ? end_one(list[i].pid, id) : 0;

		if (r < 0)
			return -1;
		found += r;
	}
	return found;
}
