/* queue.c - lets so many tasks have a container at a time; who comes later waits in line. */
#include "workspace/workspace_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define LINE ".waiting" /* a file for each that waits, locked by it: who dies leaves the line */
#define NUMBER_LEN 10
#define SUM_NS INT64_C(2000000000)  /* between two sums of all tasks */
#define OLD_NS INT64_C(30000000000) /* what was counted longer ago is counted again */

static bool is_number(const char *name)
{
	return strlen(name) == NUMBER_LEN && strspn(name, "0123456789") == NUMBER_LEN;
}

/* Whoever has left the line without a word is taken out of it. */
static bool waits_still(int line, const char *name)
{
	AUTO_CLOSE int fd = openat(line, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return true;
	unlinkat(line, name, 0);
	return false;
}

/* How many wait before `own`, all of them before ""; *last: the highest number. */
static size_t count_waiting(int line, const char *own, unsigned long *last)
{
	int copy = dup(line);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *at;
	size_t n = 0;

	*last = 0;
	if (!d) {
		if (copy >= 0)
			close(copy);
		return 0;
	}
	rewinddir(d);
	while ((at = readdir(d))) {
		unsigned long number;

		if (!is_number(at->d_name))
			continue;
		number = strtoul(at->d_name, NULL, 10);
		*last = number > *last ? number : *last;
		if (strcmp(at->d_name, own) != 0 && waits_still(line, at->d_name))
			n += !*own || strcmp(at->d_name, own) < 0;
	}
	closedir(d);
	return n;
}

static int join_line(int line, struct workspace_turn *t, unsigned long last)
{
	snprintf(t->name, sizeof t->name, "%0*lu", NUMBER_LEN, last + 1);
	t->fd = openat(line, t->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (t->fd < 0)
		return -1;
	return flock(t->fd, LOCK_EX | LOCK_NB);
}

/* Under the lock.  Everyone joins, for what is granted is taken only a moment later: who comes meanwhile is behind. */
static int look_at_line(struct workspaces *w, const struct workspace_most *most,
	struct workspace_turn *t, struct workspace_line *ret)
{
	AUTO_CLOSE int line = -1;
	unsigned long last;

	if (ret->mine)
		return 1;
	if (t->fd < 0 && mkdirat(w->fd, LINE, 0700) < 0 && errno != EEXIST)
		return -1;
	line = openat(w->fd, LINE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (line < 0)
		return -1;
	ret->before = count_waiting(line, t->name, &last);
	if (t->fd < 0 && join_line(line, t, last) < 0)
		return -1;
	return ret->before == 0 && !ret->full && (!most->active || ret->active < most->active);
}

/* Not by everybody who waits, twenty times a second; a task that is removed counts no longer at once. */
static int sum_now_and_then(struct workspaces *w, struct workspace_turn *t, struct err *e)
{
	int64_t now = clock_mono_ns();

	if (t->summed_ns && now - t->summed_ns < SUM_NS)
		return 0;
	if (workspace_sum_tasks(w, clock_wall_ms() * 1000000 - OLD_NS, &t->total, e))
		return -1;
	t->summed_ns = clock_mono_ns();
	return 0;
}

int workspace_turn(struct workspaces *w, const struct workspace_holder *by,
	const struct workspace_most *most, struct workspace_turn *t, struct workspace_line *ret,
	struct err *e)
{
	int rc;

	*ret = (struct workspace_line){0};
	if (!most->active && !most->bytes)
		return 1;
	if (most->bytes && sum_now_and_then(w, t, e))
		return -1;
	ret->full = most->bytes && t->total.bytes > most->bytes;
	if (workspaces_lock(w, e) < 0)
		return -1;
	ret->mine = workspace_count_active(w, by, &ret->active);
	rc = look_at_line(w, most, t, ret);
	if (rc < 0)
		err_sys(e, errno, "cannot wait in line in %.300s/" LINE, w->dir);
	flock(w->fd, LOCK_UN);
	return rc;
}

void workspace_turn_end(struct workspaces *w, struct workspace_turn *t)
{
	AUTO_FREE char *path = xasprintf(LINE "/%s", t->name);

	if (t->fd < 0)
		return;
	unlinkat(w->fd, path, 0);
	close(t->fd);
	*t = (struct workspace_turn){.fd = -1};
}
