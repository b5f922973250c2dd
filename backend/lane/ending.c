/*
 * ending.c - kills the remaining processes of a command from the host.
 *
 * The guest ends what its commands started.  When it says that something is left, or does not answer, the
 * host does it: who is there is read from the container's cgroup, which no process can leave; who belongs
 * to the command, from parents, for a command's supervisor is the subreaper of all it starts.  A process is
 * held by a pidfd before it is looked at and killed through it, so a number that was given to another
 * process in between does no harm.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "lane/lane.h"
#include "lane/peer.h"

#define LIST_MAX ((size_t)512 << 10) /* bytes of cgroup.procs: the kernel's limit of processes */
#define ROUND_MS 5

struct member {
	pid_t pid, parent;
	char state;
	bool below, known; /* of the command; whether that is known */
};

/* State and parent; the name may hold anything but ends at the last ')'. */
static int read_proc_entry(pid_t pid, struct member *m)
{
	char text[1024];
	const char *after;

	if (proc_file(pid, "stat", text, sizeof text) || !(after = strrchr(text, ')')) ||
		strlen(after) < 5)
		return -1;
	*m = (struct member){pid, (pid_t)atoi(after + 4), after[2], false, false};
	return 0;
}

/* Everyone in the group that `path` lists; zombies are nobody. */
static size_t list_members(const char *path, struct member **out)
{
	AUTO_FREE char *text = xmalloc(LIST_MAX);
	size_t n = 0, cap = 0;
	char *save = NULL;

	*out = NULL;
	if (file_text(path, text, LIST_MAX) < 0)
		return 0;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct member m;

		if (read_proc_entry((pid_t)atoi(line), &m) || m.state == 'Z' || m.state == 'X')
			continue;
		*out = mem_grow(*out, &cap, n + 1, sizeof **out);
		(*out)[n++] = m;
	}
	return n;
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = ((const struct member *)a)->pid, y = ((const struct member *)b)->pid;

	return (x > y) - (x < y);
}

static struct member *parent_of(struct member *all, size_t n, const struct member *m)
{
	struct member key = {.pid = m->parent};

	return bsearch(&key, all, n, sizeof *all, compare_pids);
}

/*
 * Marks what descends from `top` or from who is marked already.  Each process is walked over once, up to one of which it
 * is known: a container may fork thousands, in any order.  Read while numbers are given again, parents may form a circle.
 */
static void mark_below(struct member *all, size_t n, pid_t top)
{
	mem_sort(all, n, sizeof *all, compare_pids);
	for (size_t i = 0; i < n; i++)
		all[i].known = all[i].below;
	for (size_t i = 0; i < n; i++) {
		struct member *m = &all[i];
		size_t steps = 0;
		bool below;

		while (m && !m->known && m->parent != top && steps++ < n)
			m = parent_of(all, n, m);
		below = m && (m->known ? m->below : m->parent == top);
		for (m = &all[i]; m && !m->known; m = parent_of(all, n, m)) {
			m->known = true;
			m->below = below;
			if (m->parent == top)
				break;
		}
	}
}

/* `parent` 0: whoever that is. */
static void end_process(pid_t pid, pid_t parent, const char *id)
{
	AUTO_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct member now;

	if (fd < 0 || !proc_in_container(pid, id) ||
		(parent && (read_proc_entry(pid, &now) || now.parent != parent)))
		return;
	syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

/* A list of the container's processes, v2 or v1. */
static int list_path(pid_t guest, const char *id, char path[CGROUP_PATH_MAX])
{
	static const char *const controllers[] = {"", "pids", "memory", "freezer"};

	for (size_t i = 0; i < COUNT(controllers); i++)
		if (!cgroup_file(guest, id, controllers[i], "cgroup.procs", path) &&
			!access(path, R_OK))
			return 0;
	return -1;
}

static void pause_ms(int ms)
{
	poll(NULL, 0, ms);
}

/* A child of the init that does not run the init's program: its supervisor is dead. */
static bool is_stray(const struct member *m, pid_t guest)
{
	char path[64];
	struct stat init, its;

	if (m->parent != guest)
		return false;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)guest);
	if (stat(path, &init))
		return false;
	snprintf(path, sizeof path, "/proc/%d/exe", (int)m->pid);
	return !stat(path, &its) && (its.st_dev != init.st_dev || its.st_ino != init.st_ino);
}

int lane_end_command(const struct lane_command *c, int limit_ms)
{
	int64_t deadline = clock_mono_ns() + (int64_t)limit_ms * 1000000;
	char path[CGROUP_PATH_MAX];
	pid_t top = c->supervisor;

	if (list_path(c->guest, c->id, path))
		return 0; /* the init is gone, and the kernel has ended the rest */
	if (top > 0 && !proc_in_container(top, c->id))
		top = 0;
	for (;;) {
		AUTO_FREE struct member *all = NULL;
		size_t n = list_members(path, &all);
		int left = 0;

		for (size_t i = 0; i < n; i++)
			all[i].below = is_stray(&all[i], c->guest);
		if (n)
			mark_below(all, n, top > 0 ? top : -1);
		for (size_t i = 0; i < n; i++)
			if (all[i].below) {
				end_process(all[i].pid, all[i].parent, c->id);
				left++;
			}
		if (!left || clock_mono_ns() > deadline) {
			/* Last, for as long as it lives nobody of its tree can go elsewhere. */
			if (top > 0)
				end_process(top, c->guest, c->id);
			return left;
		}
		pause_ms(ROUND_MS);
	}
}

static int write_word(const char *path, const char *word)
{
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && !file_write(fd, word, strlen(word)) ? 0 : -1;
}

int lane_end_container(pid_t guest, const char *id, int limit_ms)
{
	int64_t deadline = clock_mono_ns() + (int64_t)limit_ms * 1000000;
	char list[CGROUP_PATH_MAX], file[CGROUP_PATH_MAX];
	bool frozen;

	if (list_path(guest, id, list))
		return 0;
	if (!cgroup_file(guest, id, "", "cgroup.kill", file))
		write_word(file, "1");
	/* What stands still cannot fork; the signals are taken when it is let go. */
	frozen = !cgroup_file(guest, id, "freezer", "freezer.state", file) &&
		!write_word(file, "FROZEN");
	for (;;) {
		AUTO_FREE struct member *all = NULL;
		size_t n = list_members(list, &all);

		for (size_t i = 0; i < n; i++)
			end_process(all[i].pid, 0, id);
		/* Also when somebody else had paused it: nobody can die who stands still. */
		if (frozen)
			write_word(file, "THAWED");
		if (!n || clock_mono_ns() > deadline)
			return (int)n;
		pause_ms(ROUND_MS);
	}
}

/* Supervisors end by themselves with what they watch, and tell who waits. */
static bool is_supervising(const struct member *m, pid_t guest)
{
	char name[64];

	return m->parent == guest && !proc_file(m->pid, "comm", name, sizeof name) &&
		!strncmp(name, "berth-command", 13);
}

/* A supervisor that no command was given yet: the agent's egress holds one for as long as it lives. */
static bool is_spare(const struct member *all, size_t n, const struct member *m, pid_t guest)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].parent == m->pid)
			return false;
	return is_supervising(m, guest);
}

size_t lane_commands(pid_t guest, const char *id, pid_t *ret, size_t max)
{
	AUTO_FREE struct member *all = NULL;
	char path[CGROUP_PATH_MAX];
	size_t n = list_path(guest, id, path) ? 0 : list_members(path, &all), found = 0;

	for (size_t i = 0; i < n && found < max; i++)
		if (all[i].pid != guest && !is_spare(all, n, &all[i], guest))
			ret[found++] = all[i].pid;
	return found;
}

int lane_end_commands(pid_t guest, const char *id, int limit_ms)
{
	int64_t start = clock_mono_ns(), deadline = start + (int64_t)limit_ms * 1000000;
	char path[CGROUP_PATH_MAX];

	if (list_path(guest, id, path))
		return 0;
	for (;;) {
		AUTO_FREE struct member *all = NULL;
		size_t n = list_members(path, &all);
		int64_t now = clock_mono_ns();
		int left = 0;

		for (size_t i = 0; i < n; i++) {
			if (all[i].pid == guest)
				continue;
			left++;
			/* One that took a supervisor's name has half of the time. */
			if (!is_supervising(&all[i], guest) || now > start + (deadline - start) / 2)
				end_process(all[i].pid, all[i].parent, id);
		}
		if (!left || now > deadline)
			return left;
		pause_ms(ROUND_MS);
	}
}

bool lane_frozen(pid_t guest, const char *id)
{
	char file[CGROUP_PATH_MAX], text[256];

	if (!cgroup_file(guest, id, "freezer", "freezer.state", file) &&
		file_text(file, text, sizeof text) >= 0 && !strncmp(text, "FRO", 3))
		return true;
	return !cgroup_file(guest, id, "", "cgroup.events", file) &&
		file_text(file, text, sizeof text) >= 0 && strstr(text, "frozen 1");
}
