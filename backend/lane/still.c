/*
 * still.c - freezes a container by the kernel's freezer, version 1 or 2, and records who froze it.
 *
 * The note outlives who wrote it: a container that a dead process left frozen is told from one that somebody
 * paused.  Thread: any; a note is written whole and renamed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/str.h>

#include "lane/lane.h"

#define ROUND_MS 1
#define HOLD_MAX 1024
#define ASLEEP '!' /* begins the second line of a note that refuses nothing: idle.c */

/* -- the freezer ----------------------------------------------------------------------------------- */

static int write_control(
	pid_t guest, const char *id, const char *controller, const char *file, const char *word)
{
	char path[CGROUP_PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (cgroup_file(guest, id, controller, file, path))
		return errno = ESRCH, -1;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && !file_write(fd, word, strlen(word)) ? 0 : -1;
}

/* Version 1 where the machine has that: then version 2 does not hold this container. */
static int write_freezer(pid_t guest, const char *id, bool freeze)
{
	if (!write_control(guest, id, "freezer", "freezer.state", freeze ? "FROZEN" : "THAWED"))
		return 0;
	if (errno == EACCES || errno == EPERM || errno == EROFS)
		return -1;
	return write_control(guest, id, "", "cgroup.freeze", freeze ? "1" : "0");
}

/* All of it stands: FREEZING does not. */
static bool stands_still(pid_t guest, const char *id)
{
	char file[CGROUP_PATH_MAX], text[256];

	if (!cgroup_file(guest, id, "freezer", "freezer.state", file) &&
		file_text(file, text, sizeof text) >= 0)
		return !strncmp(text, "FROZEN", 6);
	return lane_frozen(guest, id);
}

int lane_freeze(pid_t guest, const char *id, int limit_ms, struct err *e)
{
	int64_t deadline = clock_mono_ns() + (int64_t)limit_ms * 1000000;

	/* Written again: a process that was just forked, or in the middle of a fault, is taken by the next try. */
	for (;;) {
		if (write_freezer(guest, id, true))
			return err_sys(e, errno, "cannot freeze the container %.12s", id);
		if (stands_still(guest, id))
			return 0;
		if (clock_mono_ns() > deadline)
			break;
		poll(NULL, 0, ROUND_MS);
	}
	write_freezer(guest, id, false);
	return err_set(e, ERR_TIMEOUT,
		"the container %.12s could not be frozen within %d ms: a process in it waits in the kernel.",
		id, limit_ms);
}

int lane_thaw(pid_t guest, const char *id, struct err *e)
{
	return write_freezer(guest, id, false)
		? err_sys(e, errno, "cannot thaw the container %.12s", id)
		: 0;
}

/* -- the note -------------------------------------------------------------------------------------- */

static int hold_path(const char *id, char path[PATH_MAX], struct err *e)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];

	if (!id_is_whole(id))
		return err_set(e, ERR_USAGE, "`%.80s` is not a full container id", id);
	if (runtime_dir(dir, sizeof dir, e) || runtime_subdir(sub, sizeof sub, dir, "frozen", e))
		return -1;
	snprintf(path, PATH_MAX, "%s/%s", sub, id);
	return 0;
}

/* Clock ticks after boot at which a process began; 0: it is gone. */
static uint64_t read_start(pid_t pid)
{
	char text[1024];
	const char *at;
	unsigned long long since = 0;

	if (pid <= 0 || proc_file(pid, "stat", text, sizeof text) || !(at = strrchr(text, ')')))
		return 0;
	for (int field = 2; field < 22 && at; field++)
		at = strchr(at + 1, ' ');
	return at && sscanf(at, " %llu", &since) == 1 ? since : 0;
}

int lane_hold_save(const char *id, const struct lane_hold *h, struct err *e)
{
	AUTO_STR struct str s = STR_INIT;
	char path[PATH_MAX];

	if (hold_path(id, path, e))
		return -1;
	str_addf(&s, "%d %" PRIu64 " %d %d %d %" PRId64 "\n%s\n", (int)h->by, read_start(h->by),
		(int)h->init, h->brief, h->paused, h->since_ms, h->why);
	return file_replace(path, s.s, s.len, false) < 0
		? err_sys(e, errno, "cannot note who froze the container %.12s", id)
		: 0;
}

bool lane_hold_read(const char *id, struct lane_hold *ret)
{
	char path[PATH_MAX], text[HOLD_MAX], *why;
	uint64_t since;
	int by, init, brief, paused;

	if (hold_path(id, path, NULL) || file_text(path, text, sizeof text) <= 0 ||
		sscanf(text, "%d %" SCNu64 " %d %d %d %" SCNd64, &by, &since, &init, &brief,
			&paused, &ret->since_ms) != 6 ||
		!(why = strchr(text, '\n')))
		return false;
	ret->by = by;
	ret->init = init;
	ret->brief = brief;
	ret->paused = paused;
	ret->alive = since && read_start(by) == since;
	snprintf(ret->why, sizeof ret->why, "%.*s", (int)strcspn(why + 1, "\n"), why + 1);
	return true;
}

void lane_hold_forget(const char *id)
{
	char path[PATH_MAX];

	if (!hold_path(id, path, NULL))
		unlink(path);
}

void lane_hold_release(const char *id)
{
	struct err ignored = ERR_INIT;
	struct lane_hold h;

	lane_refuse_no_more(id);
	if (!lane_hold_read(id, &h))
		return;
	if (!h.paused)
		lane_thaw(h.init, id, &ignored);
	lane_hold_forget(id);
}

void lane_hold_each(lane_hold_fn *tell, void *ctx)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];
	struct dirent *at;
	struct lane_hold h;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (runtime_dir(dir, sizeof dir, NULL) ||
		runtime_subdir(sub, sizeof sub, dir, "frozen", NULL))
		return;
	d = opendir(sub);
	while (d && (at = readdir(d)))
		if (lane_hold_read(at->d_name, &h))
			tell(ctx, at->d_name, &h);
}

/* -- nothing new ------------------------------------------------------------------------------------- */

/* Asked before every command: the folder is not looked at. */
static int refusal_path(const char *id, char path[PATH_MAX])
{
	char dir[PATH_MAX / 4];

	if (!id_is_whole(id) || runtime_dir(dir, sizeof dir, NULL))
		return -1;
	snprintf(path, PATH_MAX, "%s/refused/%s", dir, id);
	return 0;
}

int lane_refuse(const char *id, const char *why, struct err *e)
{
	AUTO_STR struct str s = STR_INIT;
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2], path[PATH_MAX];

	if (runtime_dir(dir, sizeof dir, e) || runtime_subdir(sub, sizeof sub, dir, "refused", e))
		return -1;
	if (refusal_path(id, path))
		return err_set(e, ERR_USAGE, "`%.80s` is not a full container id", id);
	if (*why != ASLEEP)
		lane_wake(id, NULL);
	str_addf(&s, "%d %" PRIu64 "\n%s\n", (int)getpid(), read_start(getpid()), why);
	return file_replace(path, s.s, s.len, false) < 0
		? err_sys(e, errno, "cannot note that the container %.12s begins nothing new", id)
		: 0;
}

enum lane_room lane_room(const char *id, char *why, size_t cap)
{
	char path[PATH_MAX], text[HOLD_MAX], *said;
	uint64_t since;
	int by;

	if (refusal_path(id, path) || file_text(path, text, sizeof text) <= 0 ||
		sscanf(text, "%d %" SCNu64, &by, &since) != 2 || !(said = strchr(text, '\n')))
		return LANE_ROOM;
	if (said[1] == ASLEEP)
		return LANE_ASLEEP;
	if (!since || read_start(by) != since)
		return LANE_ROOM;
	snprintf(why, cap, "%.*s", (int)strcspn(said + 1, "\n"), said + 1);
	return LANE_REFUSED;
}

bool lane_refused(const char *id, char *why, size_t cap)
{
	return lane_room(id, why, cap) == LANE_REFUSED;
}

int lane_asleep_note(const struct lane_idle *i, struct err *e)
{
	AUTO_FREE char *text = xasprintf("%c%" PRId64 " %d %s %s", ASLEEP, clock_wall_ms(),
		(int)i->init, i->name, i->socket);

	return lane_refuse(i->id, text, e);
}

int64_t lane_asleep(const char *id, struct lane_idle *ret, pid_t *by)
{
	char path[PATH_MAX], text[HOLD_MAX];
	struct lane_idle i = {0};
	int64_t since = 0;
	int who, init;

	if (refusal_path(id, path) || file_text(path, text, sizeof text) <= 0 ||
		sscanf(text, "%d %*u\n!%" SCNd64 " %d %63s %107[^\n]", &who, &since, &init, i.name,
			i.socket) != 5)
		return 0;
	snprintf(i.id, sizeof i.id, "%s", id);
	i.init = init;
	if (ret)
		*ret = i;
	if (by)
		*by = who;
	return since;
}

void lane_asleep_forget(const char *id)
{
	char path[PATH_MAX];

	if (lane_asleep(id, NULL, NULL) && !refusal_path(id, path))
		unlink(path);
}

void lane_wake_all(pid_t by)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2];
	struct dirent *at;
	pid_t who;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (runtime_dir(dir, sizeof dir, NULL) ||
		runtime_subdir(sub, sizeof sub, dir, "refused", NULL))
		return;
	d = opendir(sub);
	while (d && (at = readdir(d)))
		if (id_is_whole(at->d_name) && lane_asleep(at->d_name, NULL, &who) && who == by)
			lane_wake(at->d_name, NULL);
}

void lane_refuse_no_more(const char *id)
{
	char path[PATH_MAX];

	lane_wake(id, NULL);
	if (!refusal_path(id, path))
		unlink(path);
}
