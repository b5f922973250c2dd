/* process.c - lists the processes of a container, and the limits in force, from /proc and its cgroup. */
#include "observe/observe.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "observe/proc_scan.h"

#define CGROUP_UNLIMITED ((uint64_t)1 << 60)
#define GROUPS_MAX 1024 /* of one container */
#define GROUPS_DEEP 16

void process_list_init(struct process_list *l)
{
	memset(l, 0, sizeof *l);
	arena_init(&l->mem, 4096);
}

void process_list_release(struct process_list *l)
{
	arena_release(&l->mem);
}

bool process_scan_stat(char *text, char *state, char **name, uint64_t *ticks, uint64_t *started,
	uint64_t *rss_pages)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')'), *p, *end;
	unsigned long long field[25] = {0};
	int i;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	*close = '\0';
	*name = open + 1;
	*state = close[2];
	/* field 4 (ppid) is the first number behind the state */
	p = close + 3;
	for (i = 4; i < 25; i++) {
		field[i] = strtoull(p, &end, 10);
		if (end == p)
			return false;
		p = end;
	}
	*ticks = field[14] + field[15];
	*started = field[22];
	*rss_pages = field[24];
	return true;
}

static const char *state_word(char c)
{
	static const struct {
		char c;
		const char *word;
	} words[] = {{'R', "running"}, {'S', "sleeping"}, {'D', "disk"}, {'Z', "zombie"},
		{'T', "stopped"}, {'t', "traced"}, {'I', "idle"}, {'X', "dead"}};

	for (size_t i = 0; i < COUNT(words); i++)
		if (words[i].c == c)
			return words[i].word;
	return "unknown";
}

/* Arguments joined by blanks; "[name]" for a process without any. */
static const char *read_command_line(struct arena *a, const char *dir, const char *name)
{
	char path[64], buf[COMMAND_MAX];
	ssize_t n;

	snprintf(path, sizeof path, "%s/cmdline", dir);
	n = file_text(path, buf, sizeof buf);
	while (n > 0 && buf[n - 1] == '\0')
		n--;
	if (n <= 0)
		return arena_printf(a, "[%s]", name);
	for (ssize_t i = 0; i < n; i++)
		if (!buf[i])
			buf[i] = ' ';
	return arena_strndup(a, buf, (size_t)n);
}

static const char *user_of(struct arena *a, const char *status)
{
	const char *line = strstr(status, "\nUid:\t");
	uint64_t uid;

	if (!line || !scan_u64(line + 6, line + strlen(line), &uid))
		return "";
	/* The names of this machine need not be the container's. */
	return uid == 0 ? "root" : arena_printf(a, "%llu", (unsigned long long)uid);
}

static double process_cpu(
	const struct process_list *l, int pid, uint64_t started, uint64_t ticks, int64_t now)
{
	double dt = (double)(now - l->at_ns) / 1e9;

	for (size_t i = 0; i < l->nseen; i++)
		if (l->seen[i].pid == pid && l->seen[i].started == started &&
			ticks >= l->seen[i].ticks && dt > 0.05)
			return (double)(ticks - l->seen[i].ticks) * 100 /
				(double)sysconf(_SC_CLK_TCK) / dt;
	return -1;
}

static bool read_process(struct process_list *l, int pid, int64_t now, struct process_info *out,
	struct process_seen *seen)
{
	char dir[32], path[64], stat[1024], status[4096], *name, state;
	uint64_t ticks, started, rss;

	snprintf(dir, sizeof dir, "/proc/%d", pid);
	snprintf(path, sizeof path, "%s/stat", dir);
	if (file_text(path, stat, sizeof stat) <= 0 ||
		!process_scan_stat(stat, &state, &name, &ticks, &started, &rss))
		return false;
	snprintf(path, sizeof path, "%s/status", dir);
	if (file_text(path, status, sizeof status) <= 0)
		status[0] = '\0';
	*out = (struct process_info){.pid = pid,
		.user = user_of(&l->mem, status),
		.state = state_word(state),
		.command = read_command_line(&l->mem, dir, name),
		.cpu_percent = process_cpu(l, pid, started, ticks, now),
		.memory_bytes = rss * (uint64_t)sysconf(_SC_PAGESIZE),
		.cpu_ms = (int64_t)(ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK))};
	*seen = (struct process_seen){pid, started, ticks};
	return true;
}

#define GROUP_TEXT ((size_t)PROCESSES_MAX * 12) /* a line for each */

/* A reading of all groups of a container. */
struct group_walk {
	struct process_list *l;
	struct process_seen *seen; /* PROCESSES_MAX */
	int64_t now;
	size_t groups;       /* so far */
	char path[PATH_MAX]; /* of the present one */
	char *text;          /* what it lists */
};

/* One that moves from group to group meanwhile is listed once. */
static bool is_pid_listed(const struct process_list *l, uint64_t pid)
{
	for (size_t i = 0; i < l->n; i++)
		if ((uint64_t)l->process[i].pid == pid)
			return true;
	return false;
}

static void read_group(struct group_walk *g, size_t len)
{
	struct process_list *l = g->l;
	const char *p = g->text, *end;
	uint64_t pid;
	ssize_t n;

	snprintf(g->path + len, sizeof g->path - len, "/cgroup.procs");
	n = file_text(g->path, g->text, GROUP_TEXT);
	end = g->text + (n > 0 ? n : 0);
	while (p < end && l->n < PROCESSES_MAX && (p = scan_u64(p, end, &pid))) {
		while (p < end && *p == '\n')
			p++;
		if (pid > 0 && pid < INT_MAX && !is_pid_listed(l, pid) &&
			read_process(l, (int)pid, g->now, &l->process[l->n], &g->seen[l->n]))
			l->n++;
	}
}

/* A group and those below it: what runs in a container may make some (systemd, an engine of its own), and docker's
 * top lists their processes, too.  Bounded, for the container decides how many there are. */
static void read_groups(struct group_walk *g, size_t len, int deep)
{
	struct dirent *entry;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (len + sizeof "/cgroup.procs" > sizeof g->path || g->groups++ == GROUPS_MAX)
		return;
	read_group(g, len);
	g->path[len] = '\0';
	d = deep < GROUPS_DEEP ? opendir(g->path) : NULL;
	while (d && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
			len + n + 2 > sizeof g->path)
			continue;
		g->path[len] = '/';
		memcpy(g->path + len + 1, entry->d_name, n + 1);
		read_groups(g, len + 1 + n, deep + 1);
	}
}

static int by_pid(const void *a, const void *b)
{
	const struct process_info *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void read_processes(struct process_list *l, const char *dir)
{
	struct group_walk g = {.l = l, .now = clock_mono_ns()};
	int len = snprintf(g.path, sizeof g.path, "%s", dir);

	g.text = xmalloc(GROUP_TEXT);
	g.seen = xcalloc(PROCESSES_MAX, sizeof *g.seen);
	l->process = arena_array(&l->mem, PROCESSES_MAX, sizeof *l->process);
	read_groups(&g, (size_t)len, 0);
	l->at_ns = g.now;
	l->nseen = l->n;
	memcpy(l->seen, g.seen, l->n * sizeof *g.seen);
	free(g.seen);
	free(g.text);
	mem_sort(l->process, l->n, sizeof *l->process, by_pid);
}

static int64_t one_number(const struct process_list *l, const struct cgroup_mounts *m,
	const char *controller, const char *v1, const char *v2)
{
	char path[PATH_MAX], text[64];
	bool is_v2;
	uint64_t v;
	ssize_t n;

	if (cgroup_path(m, l->id, l->pid, controller, v1, v2, path, sizeof path, &is_v2, NULL) < 0)
		return -1;
	n = file_text(path, text, sizeof text);
	if (n <= 0)
		return -1;
	if (text[0] == '-') /* cfs_quota_us */
		return 0;
	if (!scan_number(text, (size_t)n, 0, &v))
		return -1;
	return v >= CGROUP_UNLIMITED ? 0 : (int64_t)v;
}

static double cpu_limit(const struct process_list *l, const struct cgroup_mounts *m)
{
	char path[PATH_MAX], text[64];
	uint64_t quota, period;
	const char *p;
	bool v2;
	int64_t q, per;
	ssize_t n;

	if (cgroup_path(m, l->id, l->pid, "cpu", "cpu.cfs_quota_us", "cpu.max", path, sizeof path,
		    &v2, NULL) < 0)
		return -1;
	if (!v2) {
		q = one_number(l, m, "cpu", "cpu.cfs_quota_us", "cpu.max");
		per = one_number(l, m, "cpu", "cpu.cfs_period_us", "cpu.max");
		return q < 0 || per <= 0 ? -1 : (double)q / (double)per;
	}
	n = file_text(path, text, sizeof text);
	if (n <= 0)
		return -1;
	if (strncmp(text, "max", 3) == 0)
		return 0;
	p = scan_u64(text, text + n, &quota);
	if (!p || !scan_u64(p, text + n, &period) || !period)
		return -1;
	return (double)quota / (double)period;
}

static bool swap_forbidden(const char *dir)
{
	char path[PATH_MAX], text[16];

	return snprintf(path, sizeof path, "%smemory.swap.max", dir) < (int)sizeof path &&
		file_text(path, text, sizeof text) > 0 && text[0] == '0';
}

/* Memory and swap together: v1 limits the sum, v2 the swap alone. */
static int64_t swap_limit(const struct process_list *l, const struct cgroup_mounts *m)
{
	char path[PATH_MAX];
	bool v2;
	int64_t v;

	if (cgroup_path(m, l->id, l->pid, "memory", "", "", path, sizeof path, &v2, NULL) < 0)
		return -1;
	if (!v2)
		return one_number(l, m, "memory", "memory.memsw.limit_in_bytes", "");
	v = one_number(l, m, "memory", "", "memory.swap.max");
	/* scan_number gives 0 for "max", and a real 0 means no swap at all: only the text tells. */
	if (v < 0 || l->memory_limit <= 0)
		return v < 0 ? -1 : 0;
	return v > 0 || swap_forbidden(path) ? l->memory_limit + v : 0;
}

static int64_t status_field(const char *status, const char *key, int base)
{
	const char *at = strstr(status, key);

	return at ? (int64_t)strtoull(at + strlen(key), NULL, base) : -1;
}

static void read_limits(struct process_list *l, const struct cgroup_mounts *m)
{
	char path[64], status[4096];

	l->memory_limit = one_number(l, m, "memory", "memory.limit_in_bytes", "memory.max");
	l->memory_swap_limit = swap_limit(l, m);
	l->pids_limit = one_number(l, m, "pids", "pids.max", "pids.max");
	l->cpus = cpu_limit(l, m);
	snprintf(path, sizeof path, "/proc/%d/status", (int)l->pid);
	if (file_text(path, status, sizeof status) <= 0)
		return;
	l->uid = (int)status_field(status, "\nUid:\t", 10);
	l->cap_effective = status_field(status, "\nCapEff:\t", 16);
	l->cap_bounding = status_field(status, "\nCapBnd:\t", 16);
	l->seccomp = (int)status_field(status, "\nSeccomp:\t", 10);
	l->no_new_privileges = (int)status_field(status, "\nNoNewPrivs:\t", 10);
	if (apparmor_here())
		apparmor_label(l->pid, l->apparmor);
}

void process_list_read(struct process_list *l, const struct cgroup_mounts *m)
{
	char path[PATH_MAX];
	bool v2;

	arena_reset(&l->mem);
	l->n = 0;
	l->process = NULL;
	l->memory_limit = l->memory_swap_limit = l->pids_limit = -1;
	l->cpus = -1;
	l->cap_effective = l->cap_bounding = -1;
	l->seccomp = l->no_new_privileges = l->uid = -1;
	l->apparmor[0] = '\0';
	l->ok = cgroup_path(m, l->id, l->pid, "pids", "", "", path, sizeof path, &v2, NULL) == 0;
	if (!l->ok)
		return;
	path[strlen(path) - 1] = '\0'; /* the slash before no file */
	read_processes(l, path);
	read_limits(l, m);
}
