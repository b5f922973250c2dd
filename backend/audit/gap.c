/* gap.c - counts the operations that could not be recorded. */
#include "audit/gap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#define LINE 64 /* bytes: "1763839262000 container.exec", filled up with blanks */

static int open_gap_file(int flags, struct err *e)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];
	int fd;

	if (runtime_dir(dir, sizeof dir, e) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/audit-gap", dir);
	fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, errno, "Cannot open %s", path);
	return fd;
}

/* Locked, and still the one in the directory. */
static int open_locked(int flags, struct err *e)
{
	for (;;) {
		AUTO_CLOSE int fd = open_gap_file(flags, e);
		struct stat st;

		if (fd < 0)
			return -1;
		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
			return err_set(e, ERR_REFUSED,
				"audit-gap in the runtime directory is not your file: remove it.");
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return err_sys(e, errno, "Cannot lock audit-gap");
		if (fstat(fd, &st) == 0 && st.st_nlink)
			return steal_fd(&fd);
	}
}

int gap_add(enum operation operation, struct err *e)
{
	AUTO_CLOSE int fd = open_locked(O_WRONLY | O_CREAT | O_APPEND, e);
	char line[LINE + 1];

	if (fd < 0)
		return -1;
	snprintf(line, sizeof line, "%-20" PRId64 " %-42.42s\n", clock_wall_ms(),
		operation_table[operation].name);
	if (write(fd, line, LINE) != LINE)
		return err_sys(e, errno ? errno : ENOSPC,
			"Cannot count the actions that are not recorded");
	return 0;
}

static void count_gap_line(struct gap *g, const char *line, bool seen[OP_COUNT])
{
	char name[LINE];
	enum operation operation;
	int64_t ms;

	g->count++;
	if (sscanf(line, "%" SCNd64 " %42s", &ms, name) != 2 ||
		!(operation = operation_named(name)))
		return;
	if (!g->from_ms || ms < g->from_ms)
		g->from_ms = ms;
	if (ms > g->to_ms)
		g->to_ms = ms;
	if (!seen[operation] &&
		strlen(g->acts) + strlen(operation_table[operation].name) + 3 < sizeof g->acts) {
		if (*g->acts)
			strcat(g->acts, ", ");
		strcat(g->acts, operation_table[operation].name);
	}
	seen[operation] = true;
}

bool gap_take(struct gap *g)
{
	bool seen[OP_COUNT] = {false};
	char line[LINE + 1] = "";

	*g = (struct gap){.fd = open_locked(O_RDONLY, NULL)};
	if (g->fd < 0)
		return false;
	while (read(g->fd, line, LINE) == LINE)
		count_gap_line(g, line, seen);
	if (!g->count)
		gap_release(g, true);
	return g->count > 0;
}

void gap_release(struct gap *g, bool told)
{
	char dir[PATH_MAX], path[PATH_MAX + 16];

	if (g->fd < 0)
		return;
	if (told && runtime_dir(dir, sizeof dir, NULL) == 0) {
		snprintf(path, sizeof path, "%s/audit-gap", dir);
		unlink(path);
	}
	close(g->fd);
	g->fd = -1;
}
