/* tree.c - finds a command's processes in /proc and kills them. */
#include "container/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "lane/lane.h"

#define REMOVE_TRIES 50 /* of 2 ms: a group whose last process is on its way out */
#define PROCESSES_MAX 65536
#define ENVIRON_MAX ((size_t)256 << 10)

struct process {
	pid_t pid, parent;
	bool ours;
};

bool tree_is_here(pid_t pid, const char *id)
{
	return proc_in_container(pid, id);
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
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	n = file_text(path, buf, ENVIRON_MAX);
	if (n < 0)
		return errno == EACCES || errno == EPERM ? -1 : 0;
	snprintf(want, sizeof want, RUN_MARK "=%s", mark);
	return memmem(buf, (size_t)n, want, strlen(want) + 1) ? 1 : 0;
}

/* Every living process of the container; those with the mark are ours. */
static size_t scan_tree(
	const char *id, const char *mark, pid_t top, struct process *list, bool *blind)
{
	AUTO_FREE char *buf = xmalloc(ENVIRON_MAX);
	AUTO_CLOSEDIR DIR *d = opendir("/proc");
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

/* Is it in a cgroup whose last component is "/berth-MARK"? */
static bool is_in_group(pid_t pid, const char *name)
{
	char groups[8192];
	const char *hit;

	if (proc_file(pid, "cgroup", groups, sizeof groups) || !(hit = strstr(groups, name)))
		return false;
	return strchr("/\n", hit[strlen(name)]) != NULL;
}

/* Held by a descriptor and looked at again, so that a number that went to somebody else is not hit.  In `group`, or
 * NULL: in the container. */
static int kill_process(pid_t pid, const char *id, const char *group)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0 || (group ? !is_in_group(pid, group) : !tree_is_here(pid, id)))
		return 0;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0))
		return errno == ESRCH ? 0 : -1;
	return 1;
}

int tree_kill(const char *id, const char *mark, pid_t pid)
{
	AUTO_FREE struct process *list = xcalloc(PROCESSES_MAX, sizeof *list);
	bool blind = false;
	size_t n = scan_tree(id, mark, pid, list, &blind);
	int found = 0;

	if (blind)
		return -1;
	add_children(list, n);
	for (size_t i = 0; i < n; i++) {
		int r = list[i].ours ? kill_process(list[i].pid, id, NULL) : 0;

		if (r < 0)
			return -1;
		found += r;
	}
	return found;
}

/* -- a cgroup of its own ------------------------------------------------------------------------- */

static bool has_shell(pid_t init)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT};
	AUTO_CLOSE int root = -1, sh = -1;
	struct stat st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/root", (int)init);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	sh = root < 0 ? -1 : (int)syscall(SYS_openat2, root, "bin/sh", &how, sizeof how);
	return sh >= 0 && !fstat(sh, &st) && S_ISREG(st.st_mode) && st.st_mode & 0111;
}

int tree_group_make(struct tree_group *g, pid_t init, const char *id, const char *mark)
{
	/* The freezer lets what forks without end be killed at once; version 2 can do that everywhere. */
	static const char *const controllers[] = {"", "freezer", "pids"};
	char name[64];

	snprintf(g->id, sizeof g->id, "%s", id);
	snprintf(name, sizeof name, "berth-%s", mark);
	for (size_t i = 0; has_shell(init) && i < COUNT(controllers); i++)
		if (!cgroup_file(init, id, controllers[i], name, g->path) && !mkdir(g->path, 0755))
			return 0;
	g->path[0] = '\0';
	return -1;
}

static int group_tell(const struct tree_group *g, const char *file, const char *word)
{
	char path[CGROUP_PATH_MAX + 32];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof path, "%s/%s", g->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && !file_write(fd, word, strlen(word)) ? 0 : -1;
}

int tree_at_gate(pid_t pid)
{
	char text[1024];
	const char *after;

	if (proc_file(pid, "stat", text, sizeof text) || !(after = strrchr(text, ')')) ||
		strlen(after) < 3 || after[2] == 'Z' || after[2] == 'X')
		return -1;
	return after[2] == 'T';
}

int tree_group_take(const struct tree_group *g, pid_t pid)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	char number[32];
	int result;

	/* The number comes from the engine. */
	if (!tree_is_here(pid, g->id))
		return -1;
	snprintf(number, sizeof number, "%d", (int)pid);
	/* Whoever woke it too early may have let it fork outside. */
	result = group_tell(g, "cgroup.procs", number) || tree_at_gate(pid) <= 0 ? -1 : 0;
	if (fd >= 0)
		syscall(SYS_pidfd_send_signal, fd, SIGCONT, NULL, 0);
	return result;
}

int tree_group_kill(const struct tree_group *g)
{
	AUTO_FREE char *text = xmalloc(ENVIRON_MAX);
	char path[CGROUP_PATH_MAX + 32], *save = NULL;
	bool frozen =
		group_tell(g, "cgroup.kill", "1") && !group_tell(g, "freezer.state", "FROZEN");
	int found = 0;

	snprintf(path, sizeof path, "%s/cgroup.procs", g->path);
	file_text(path, text, ENVIRON_MAX);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		pid_t pid = (pid_t)atoi(line);

		/* Its name, the mark, is in no other group's path. */
		if (living_parent(pid) >= 0)
			found += kill_process(pid, g->id, strrchr(g->path, '/')) == 1;
	}
	if (frozen)
		group_tell(g, "freezer.state", "THAWED");
	return found;
}

void tree_group_remove(struct tree_group *g)
{
	static const struct timespec moment = {.tv_nsec = 2000000};

	/* The last process that was killed in it may not be reaped yet. */
	for (int tries = 0; *g->path && rmdir(g->path); tries++) {
		if (errno != EBUSY || tries == REMOVE_TRIES)
			return; /* what cannot be ended is in it; it goes with the container's */
		nanosleep(&moment, NULL);
	}
	g->path[0] = '\0';
}
