/* past_open.c - finds, creates and locks the history file; a foreign one is renamed. */
#include "past/past_open.h"

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

static int lock_past(int fd, const char *path, struct err *e)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return err_sys(e, errno, "Cannot lock %s", path);
		err_set(e, ERR_CONFLICT, "Another berth is writing %s.", path);
		if (e)
			e->sys = EWOULDBLOCK;
		return -1;
	}
	return 0;
}

/* Still what has that name? */
static bool is_past_there(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
		a.st_ino == b.st_ino;
}

static int open_past_file(const char *path, struct err *e)
{
	AUTO_CLOSE int fd =
		open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;

	if (fd < 0)
		return err_sys(e, errno, "Cannot open %s, so no history is recorded", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return err_set(e, ERR_REFUSED,
			"%s is not your file, so no history is recorded: remove it.", path);
	if (st.st_mode & 077)
		fchmod(fd, 0600);
	return steal_fd(&fd);
}

static int begin_past(int fd, const char *path, struct err *e)
{
	struct past_header h;

	past_header_fill(&h);
	/* The header last: without it the file is known as unfinished. */
	if (ftruncate(fd, past_size()) < 0 || pwrite(fd, &h, sizeof h, 0) != sizeof h)
		return err_sys(e, errno, "Cannot write %s, so no history is recorded", path);
	return 0;
}

static int put_past_aside(
	const char *path, const struct err *why, char *notice, size_t cap, struct err *e)
{
	char to[PATH_MAX];

	if (snprintf(to, sizeof to, "%s.damaged-%" PRId64, path, clock_wall_ms() / 1000) >=
		(int)sizeof to)
		return err_set(e, ERR_FAILED, "The path %s is too long.", path);
	if (rename(path, to) < 0)
		return err_sys(e, errno, "%s, and it cannot be renamed", why->msg);
	snprintf(notice, cap, "%s: it was renamed to %s, and a new one was started.", why->msg, to);
	return 0;
}

static uint64_t find_newest_event(int fd)
{
	AUTO_FREE struct past_happened *all = xcalloc(PAST_EVENTS, sizeof *all);
	ssize_t n = pread(fd, all, PAST_EVENTS * sizeof *all, past_event_at(0));
	uint64_t newest = 0;

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *all; i++)
		if (past_event_good(&all[i], i) && all[i].number > newest)
			newest = all[i].number;
	return newest;
}

static int load_past(int fd, const char *path, struct past_held *held, struct err *e)
{
	if (pread(fd, held->entry, sizeof held->entry, past_entry_at(0)) != sizeof held->entry)
		return err_sys(e, errno ? errno : EIO, "Cannot read %s", path);
	for (size_t i = 0; i < PAST_ROWS; i++)
		if (!past_entry_good(&held->entry[i]))
			memset(&held->entry[i], 0, sizeof held->entry[i]);
	held->events = find_newest_event(fd);
	return 0;
}

/* 1: it was put aside, once more. */
static int try_past(
	const char *path, struct past_held *held, char *notice, size_t cap, int *ret, struct err *e)
{
	AUTO_CLOSE int fd = open_past_file(path, e);
	struct err why = ERR_INIT;
	struct stat st;
	int bad;

	if (fd < 0 || lock_past(fd, path, e))
		return -1;
	if (!is_past_there(fd, path))
		return 1;
	if (fstat(fd, &st) == 0 && st.st_size == 0 && begin_past(fd, path, e))
		return -1;
	bad = past_check(fd, path, &why);
	if (bad > 0)
		return err_copy(e, &why);
	if (bad < 0)
		return put_past_aside(path, &why, notice, cap, e) ? -1 : 1;
	if (load_past(fd, path, held, e))
		return -1;
	*ret = steal_fd(&fd);
	return 0;
}

int past_open(const char *path, struct past_held *held, char *notice, size_t cap, struct err *e)
{
	int fd = -1, rc = 1;

	*notice = '\0';
	for (int i = 0; i < 4 && rc > 0; i++)
		rc = try_past(path, held, notice, cap, &fd, e);
	if (rc > 0)
		return err_set(e, ERR_CONFLICT, "%s keeps being replaced.", path);
	return rc ? -1 : fd;
}

static int open_presence(const char *path, int flags)
{
	char at[PATH_MAX];

	if (snprintf(at, sizeof at, "%s.consoles", path) >= (int)sizeof at)
		return -1;
	return open(at, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

int past_be_present(const char *path)
{
	int fd = open_presence(path, O_RDWR | O_CREAT);

	while (fd >= 0 && flock(fd, LOCK_SH) < 0 && errno == EINTR)
		;
	return fd;
}

bool past_others_present(const char *path)
{
	AUTO_CLOSE int fd = open_presence(path, O_RDONLY);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}
