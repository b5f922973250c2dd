/* cgroup.c - finds a container's cgroup files and reads its counters. */
#include "observe/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "observe/proc_scan.h"

#define PROC_FILE_MAX ((size_t)16 << 20)
/* memory.stat costs more than all other files together, and while memory.usage hardly moves the
 * inactive file cache does neither: then it is read every so many sweeps only. */
#define INACTIVE_EVERY 8
#define INACTIVE_MOVED 256 /* usage moved by more than this part of it */
/* A container that uses no CPU time changes nothing itself, except that what it began may still be
 * counted; what others may do to it (reclaim) is looked for every so many sweeps. */
#define QUIET_AFTER 2
#define QUIET_USAGE_EVERY 4
#define QUIET_EVERY 32
#define NO_LIMIT ((uint64_t)1 << 60) /* v1 says "none" with a number near 2^63 */

/* The files behind each counter, by version. */
static const struct {
	const char *controller; /* v1; NULL: it has no such file */
	const char *v1[2];      /* second: where the first does not exist */
	const char *v2;         /* NULL: nor has version 2 */
} files[CGROUP_NET] = {
	[CGROUP_CPU] = {"cpuacct", {"cpuacct.usage", NULL}, "cpu.stat"},
	[CGROUP_MEMORY] = {"memory", {"memory.usage_in_bytes", NULL}, "memory.current"},
	[CGROUP_MEMORY_STAT] = {"memory", {"memory.stat", NULL}, "memory.stat"},
	[CGROUP_IO] = {"blkio",
		{"blkio.throttle.io_service_bytes_recursive", "blkio.io_service_bytes_recursive"},
		"io.stat"},
	[CGROUP_PIDS] = {"pids", {"pids.current", NULL}, "pids.current"},
	[CGROUP_THROTTLE] = {"cpu", {"cpu.stat", NULL}, NULL},
	[CGROUP_PRESSURE_CPU] = {NULL, {NULL, NULL}, "cpu.pressure"},
	[CGROUP_PRESSURE_MEMORY] = {NULL, {NULL, NULL}, "memory.pressure"},
	[CGROUP_PRESSURE_IO] = {NULL, {NULL, NULL}, "io.pressure"},
};

/* One line of mountinfo: ID PARENT MAJ:MIN BASE POINT OPTIONS [TAG...] - TYPE SOURCE SUPER */
static void parse_mount_line(struct cgroup_mounts *m, size_t *cap, char *line)
{
	char *dash = strstr(line, " - "), *save = NULL, *field[6], *type, *super;
	struct cgroup_mount *mount;

	if (!dash)
		return;
	*dash = '\0';
	for (size_t i = 0; i < COUNT(field); i++) {
		field[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!field[i])
			return;
	}
	type = strtok_r(dash + 3, " ", &save);
	if (!type || !strtok_r(NULL, " ", &save))
		return;
	super = strtok_r(NULL, " ", &save);
	if (!super || (strcmp(type, "cgroup") != 0 && strcmp(type, "cgroup2") != 0))
		return;
	m->mount = mem_grow(m->mount, cap, m->n + 1, sizeof *m->mount);
	mount = &m->mount[m->n++];
	text_undo_octal(field[3]);
	text_undo_octal(field[4]);
	mount->base = xstrdup(field[3]);
	mount->point = xstrdup(field[4]);
	mount->controllers = strcmp(type, "cgroup2") == 0 ? NULL : xasprintf(",%s,", super);
}

int cgroup_mounts_read(struct cgroup_mounts *m, const char *root, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	AUTO_FREE char *path = xasprintf("%s/proc/self/mountinfo", root);
	char *save = NULL;
	size_t cap = 0;

	memset(m, 0, sizeof *m);
	if (file_read(AT_FDCWD, path, 0, PROC_FILE_MAX, &text, NULL) < 0)
		return err_sys(e, errno, "Cannot read %s to find the cgroups", path);
	m->root = xstrdup(root);
	for (char *l = strtok_r(text.s, "\n", &save); l; l = strtok_r(NULL, "\n", &save))
		parse_mount_line(m, &cap, l);
	return 0;
}

void cgroup_mounts_release(struct cgroup_mounts *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->mount[i].controllers);
		free(m->mount[i].point);
		free(m->mount[i].base);
	}
	free(m->mount);
	free(m->root);
	memset(m, 0, sizeof *m);
}

/* Is `word` one of the comma-separated `list`? */
static bool has_option(const char *list, size_t len, const char *word)
{
	size_t n = strlen(word);

	while (len >= n) {
		const char *comma = memchr(list, ',', len);
		size_t part = comma ? (size_t)(comma - list) : len;

		if (part == n && memcmp(list, word, n) == 0)
			return true;
		if (!comma)
			break;
		list += part + 1;
		len -= part + 1;
	}
	return false;
}

/* Cut `path` behind the component that holds the id: a container's own init may have moved into a
 * group below it.  false when the id is not there at all, or when the path leaves our view. */
static bool cut_at_id(char *path, const char *id)
{
	const char *end = id_in_cgroup(path, id);

	if (!end || path[0] != '/' || strstr(path, "/../"))
		return false;
	path[end - path] = '\0';
	return true;
}

/* Directory of the process's cgroup in the hierarchy of `controller` (NULL: version 2). */
static bool hierarchy_dir(const struct cgroup_mounts *m, const char *text, const char *id,
	const char *controller, char *buf, size_t cap)
{
	for (const char *line = text; *line; line = strchrnul(line, '\n'), line += *line == '\n') {
		size_t len = (size_t)(strchrnul(line, '\n') - line), list_len;
		const char *list = memchr(line, ':', len), *path;
		char want[64], own[PATH_MAX];

		if (!list)
			continue;
		list++;
		path = memchr(list, ':', len - (size_t)(list - line));
		if (!path)
			continue;
		list_len = (size_t)(path++ - list);
		if (controller ? !has_option(list, list_len, controller) : list_len > 0)
			continue;
		len -= (size_t)(path - line);
		if (len >= sizeof own)
			continue;
		memcpy(own, path, len);
		own[len] = '\0';
		if (!cut_at_id(own, id))
			continue;
		if (controller)
			snprintf(want, sizeof want, ",%s,", controller);
		for (size_t i = 0; i < m->n; i++) {
			const struct cgroup_mount *mount = &m->mount[i];
			size_t base = strcmp(mount->base, "/") == 0 ? 0 : strlen(mount->base);

			if (controller ? !mount->controllers || !strstr(mount->controllers, want)
				       : mount->controllers != NULL)
				continue;
			if (strncmp(own, mount->base, base) != 0 || own[base] != '/')
				continue;
			return snprintf(buf, cap, "%s%s%s", m->root, mount->point, own + base) <
				(int)cap;
		}
	}
	return false;
}

static int proc_cgroup(
	const struct cgroup_mounts *m, const char *id, pid_t pid, struct str *out, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/proc/%d/cgroup", m->root, (int)pid);

	if (!id_is_whole(id) || pid <= 0)
		return err_set(e, ERR_NOT_FOUND, "The container has no process.");
	if (file_read(AT_FDCWD, path, 0, PROC_FILE_MAX, out, NULL) < 0)
		return err_set(e, errno == ENOENT || errno == ESRCH ? ERR_NOT_FOUND : ERR_SYS,
			"Cannot read %s: %s.", path, strerrordesc_np(errno));
	if (memchr(out->s, '\0', out->len) || !id_in_cgroup(out->s, id))
		return err_set(e, ERR_NOT_FOUND,
			"Process %d of this machine is not in container %.12s.", (int)pid, id);
	return 0;
}

int cgroup_path(const struct cgroup_mounts *m, const char *id, pid_t pid, const char *controller,
	const char *v1_file, const char *v2_file, char *buf, size_t cap, bool *v2, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char dir[PATH_MAX];

	if (proc_cgroup(m, id, pid, &text, e) < 0)
		return -1;
	*v2 = !hierarchy_dir(m, text.s, id, controller, dir, sizeof dir);
	if (*v2 && !hierarchy_dir(m, text.s, id, NULL, dir, sizeof dir))
		return err_set(e, ERR_NOT_FOUND, "There is no %s cgroup for container %.12s.",
			controller, id);
	if (snprintf(buf, cap, "%s/%s", dir, *v2 ? v2_file : v1_file) >= (int)cap)
		return err_set(e, ERR_FAILED, "The path of a cgroup is too long.");
	return 0;
}

void cgroup_reader_init(struct cgroup_reader *r)
{
	memset(r, 0, sizeof *r);
	for (int i = 0; i < CGROUP_FILES; i++)
		r->fd[i] = -1;
}

void cgroup_reader_close(struct cgroup_reader *r)
{
	for (int i = 0; i < CGROUP_FILES; i++)
		if (r->fd[i] >= 0)
			close(r->fd[i]);
	cgroup_reader_init(r);
}

static int open_below(const char *dir, const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof path, "%s/%s", dir, name) >= (int)sizeof path)
		return -1;
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static uint64_t read_limit(const char *dir, const char *name)
{
	AUTO_CLOSE int fd = open_below(dir, name);
	char buf[64];
	uint64_t v;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, buf, sizeof buf);
	if (n <= 0 || !scan_number(buf, (size_t)n, 0, &v))
		return 0;
	return v >= NO_LIMIT ? 0 : v;
}

/* Open file `f`, version 1 where that controller is mounted so, else version 2. */
static void open_cgroup_file(struct cgroup_reader *r, const struct cgroup_mounts *m,
	const char *text, const char *id, enum cgroup_file f)
{
	char dir[PATH_MAX];

	if (files[f].controller &&
		hierarchy_dir(m, text, id, files[f].controller, dir, sizeof dir)) {
		for (int i = 0; i < 2 && files[f].v1[i] && r->fd[f] < 0; i++)
			r->fd[f] = open_below(dir, files[f].v1[i]);
	} else if (files[f].v2 && hierarchy_dir(m, text, id, NULL, dir, sizeof dir)) {
		r->v2[f] = true;
		r->fd[f] = open_below(dir, files[f].v2);
	}
}

/* "200000 100000": two cores; "max 100000": no limit. */
static double read_cpu_max(const char *dir)
{
	AUTO_CLOSE int fd = open_below(dir, "cpu.max");
	uint64_t quota, period;
	char buf[64];
	const char *p;
	ssize_t n = fd < 0 ? 0 : read(fd, buf, sizeof buf);

	if (n <= 0 || !(p = scan_u64(buf, buf + n, &quota)) || !scan_u64(p, buf + n, &period))
		return 0;
	return period ? 100.0 * (double)quota / (double)period : 0;
}

static double read_cfs_quota(const char *dir)
{
	uint64_t quota = read_limit(dir, "cpu.cfs_quota_us"),
		 period = read_limit(dir, "cpu.cfs_period_us");

	return period ? 100.0 * (double)quota / (double)period : 0;
}

static void read_cgroup_limits(
	struct cgroup_reader *r, const struct cgroup_mounts *m, const char *text, const char *id)
{
	char dir[PATH_MAX];

	if (hierarchy_dir(m, text, id, r->v2[CGROUP_MEMORY] ? NULL : "memory", dir, sizeof dir))
		r->memory_limit = read_limit(
			dir, r->v2[CGROUP_MEMORY] ? "memory.max" : "memory.limit_in_bytes");
	if (hierarchy_dir(m, text, id, r->v2[CGROUP_PIDS] ? NULL : "pids", dir, sizeof dir))
		r->pids_limit = read_limit(dir, "pids.max");
	if (hierarchy_dir(m, text, id, r->v2[CGROUP_CPU] ? NULL : "cpu", dir, sizeof dir))
		r->cpu_limit_percent = r->v2[CGROUP_CPU] ? read_cpu_max(dir) : read_cfs_quota(dir);
}

void cgroup_limits(struct cgroup_reader *r, const struct cgroup_mounts *m, const char *id)
{
	AUTO_STR struct str text = STR_INIT;

	if (r->open && proc_cgroup(m, id, r->pid, &text, NULL) == 0)
		read_cgroup_limits(r, m, text.s, id);
}

int cgroup_reader_open(struct cgroup_reader *r, const struct cgroup_mounts *m, const char *id,
	pid_t pid, bool net, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;

	cgroup_reader_close(r);
	if (proc_cgroup(m, id, pid, &text, e) < 0)
		return -1;
	for (int f = 0; f < CGROUP_NET; f++)
		open_cgroup_file(r, m, text.s, id, (enum cgroup_file)f);
	if (r->fd[CGROUP_CPU] < 0) {
		int failed = errno;

		cgroup_reader_close(r);
		return err_sys(e, failed, "Cannot read the cgroup of container %.12s", id);
	}
	if (net) {
		AUTO_FREE char *path = xasprintf("%s/proc/%d/net/dev", m->root, (int)pid);

		r->fd[CGROUP_NET] = open(path, O_RDONLY | O_CLOEXEC);
		/* Opened by pid: was it still the same process? */
		str_clear(&text);
		if (proc_cgroup(m, id, pid, &text, e) < 0) {
			cgroup_reader_close(r);
			return -1;
		}
	}
	r->open = true;
	r->pid = pid;
	/* Readers opened together must not all read memory.stat in the same sweep. */
	r->round = (uint8_t)id[strlen(id) - 1];
	r->inactive_usage = r->cpu_ns = UINT64_MAX;
	read_cgroup_limits(r, m, text.s, id);
	return 0;
}

/* What fits, cut at the last whole line when there is more.  0: nothing could be read. */
static size_t read_lines(int fd, char *buf, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		ssize_t n = pread(fd, buf + len, cap - len, (off_t)len);

		if (n <= 0)
			break;
		len += (size_t)n;
		/* A seq_file gives at most a page at a time; a short read was the last one. */
		if (n < 3072)
			return len;
	}
	while (len > 0 && buf[len - 1] != '\n')
		len--;
	return len;
}

static bool is_quiet(const struct cgroup_reader *r)
{
	return r->quiet >= QUIET_AFTER;
}

static void read_inactive(struct cgroup_reader *r, char *buf, size_t cap)
{
	size_t n =
		r->fd[CGROUP_MEMORY_STAT] < 0 ? 0 : read_lines(r->fd[CGROUP_MEMORY_STAT], buf, cap);

	r->inactive = 0;
	r->inactive_usage = r->usage;
	if (r->v2[CGROUP_MEMORY_STAT])
		scan_key(buf, n, "inactive_file ", 14, &r->inactive);
	else
		scan_key(buf, n, "total_inactive_file ", 20, &r->inactive);
}

static bool usage_moved(const struct cgroup_reader *r)
{
	uint64_t was = r->inactive_usage, now = r->usage;

	return (now > was ? now - was : was - now) > now / INACTIVE_MOVED;
}

static uint64_t read_memory_usage(struct cgroup_reader *r, char *buf, size_t cap)
{
	size_t n;

	if (r->fd[CGROUP_MEMORY] < 0)
		return 0;
	if (!is_quiet(r) || r->round % QUIET_USAGE_EVERY == 0) {
		n = read_lines(r->fd[CGROUP_MEMORY], buf, cap);
		if (!n || !scan_number(buf, n, 0, &r->usage))
			return 0;
		if (usage_moved(r) || r->round % (is_quiet(r) ? QUIET_EVERY : INACTIVE_EVERY) == 0)
			read_inactive(r, buf, cap);
	}
	return r->inactive < r->usage ? r->usage - r->inactive : r->usage;
}

/* Version 1 counts a transfer for the group of whoever submits it, so who does not run has none;
 * version 2 also counts what the kernel writes back for a group later. */
static void read_blocks(struct cgroup_reader *r, char *buf, size_t cap)
{
	size_t n;

	if (r->fd[CGROUP_IO] < 0 ||
		(!r->v2[CGROUP_IO] && is_quiet(r) && r->round % QUIET_EVERY != 0))
		return;
	n = read_lines(r->fd[CGROUP_IO], buf, cap);
	if (r->v2[CGROUP_IO])
		scan_io_stat(buf, n, &r->block_read, &r->block_write);
	else
		scan_blkio(buf, n, &r->block_read, &r->block_write);
}

/* Who has no limit, or does nothing, is not stopped by it. */
static void read_throttling(struct cgroup_reader *r, char *buf, size_t cap)
{
	size_t n;

	if (r->fd[CGROUP_THROTTLE] < 0 || r->quiet || r->cpu_limit_percent <= 0)
		return;
	n = read_lines(r->fd[CGROUP_THROTTLE], buf, cap);
	scan_key(buf, n, "nr_periods ", 11, &r->periods);
	scan_key(buf, n, "nr_throttled ", 13, &r->throttled);
}

/* "some avg10=1.23 avg60=...": the kernel brings it up to date every two seconds. */
static double scan_pressure(const char *p, size_t n)
{
	static const char head[] = "some avg10=";
	uint64_t whole, part;
	const char *end = p + n, *at;

	if (n < sizeof head || memcmp(p, head, sizeof head - 1) != 0 ||
		!(at = scan_u64(p + sizeof head - 1, end, &whole)) || at + 3 > end || *at != '.' ||
		!scan_u64(at + 1, at + 3, &part))
		return 0;
	return (double)(whole > 100 ? 100 : whole) + (double)part / 100;
}

static void read_pressure(struct cgroup_reader *r, char *buf, size_t cap)
{
	if (r->fd[CGROUP_PRESSURE_CPU] < 0)
		return;
	if (r->pressed && (is_quiet(r) ? r->round % QUIET_USAGE_EVERY != 0 : r->round % 2 != 0))
		return;
	for (int i = 0; i < 3; i++) {
		int fd = r->fd[CGROUP_PRESSURE_CPU + i];
		size_t n = fd >= 0 ? read_lines(fd, buf, cap) : 0;

		r->pressure[i] = scan_pressure(buf, n);
		r->pressed |=
			n > 0; /* the file is there also of a kernel that was told not to count */
	}
}

int cgroup_read(struct cgroup_reader *r, struct counters *out)
{
	char buf[8192];
	uint64_t cpu;
	size_t n;

	if (!r->open)
		return -1;
	memset(out, 0, sizeof *out);
	out->at_ns = clock_mono_ns();
	n = read_lines(r->fd[CGROUP_CPU], buf, sizeof buf);
	if (!n)
		return -1;
	if (r->v2[CGROUP_CPU]) {
		if (!scan_key(buf, n, "usage_usec ", 11, &cpu))
			return -1;
		out->cpu_ns = cpu > UINT64_MAX / 1000 ? UINT64_MAX : cpu * 1000;
		if (r->cpu_limit_percent > 0) {
			scan_key(buf, n, "nr_periods ", 11, &r->periods);
			scan_key(buf, n, "nr_throttled ", 13, &r->throttled);
		}
	} else if (!scan_number(buf, n, 0, &out->cpu_ns)) {
		return -1;
	}
	if (out->cpu_ns != r->cpu_ns)
		r->quiet = 0;
	else if (r->quiet < UINT8_MAX)
		r->quiet++;
	r->cpu_ns = out->cpu_ns;
	r->round++;
	out->memory_bytes = read_memory_usage(r, buf, sizeof buf);
	out->memory_limit = r->memory_limit;
	read_blocks(r, buf, sizeof buf);
	out->block_read = r->block_read;
	out->block_write = r->block_write;
	/* Nobody comes or goes without using some CPU time. */
	if (r->fd[CGROUP_PIDS] >= 0 && !r->quiet) {
		n = read_lines(r->fd[CGROUP_PIDS], buf, sizeof buf);
		scan_number(buf, n, 0, &r->pids);
	}
	read_throttling(r, buf, sizeof buf);
	out->periods = r->periods;
	out->throttled = r->throttled;
	read_pressure(r, buf, sizeof buf);
	out->pressed = r->pressed;
	out->pressure_cpu = r->pressure[0];
	out->pressure_memory = r->pressure[1];
	out->pressure_io = r->pressure[2];
	out->pids = r->pids;
	out->pids_limit = r->pids_limit;
	out->cpu_limit_percent = r->cpu_limit_percent;
	if (r->fd[CGROUP_NET] >= 0) {
		n = read_lines(r->fd[CGROUP_NET], buf, sizeof buf);
		out->net = n > 0;
		scan_net_dev(buf, n, &out->net_rx, &out->net_tx);
	}
	return 0;
}
