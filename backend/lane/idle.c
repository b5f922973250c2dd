/*
 * idle.c - keeps the idle rule of each agent and who paused it, and wakes agents.
 *
 * By the engine, so that everybody sees it paused, over its socket: who wakes one has no library for more.  The note lies
 * where it is looked before every command whether one may begin (still.c), so that nothing more is asked of others.
 * Who pauses and who wakes take turns by a lock on the directory of the lane.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/str.h>

#include "lane/lane.h"

#define IDLE_MAX 512
#define ENGINE_S 10

/* -- the rule: beside the lane, and gone with it ----------------------------------------------------- */

static int idle_path(const char *name, char path[LANE_PATH_MAX + 8], struct err *e)
{
	char dir[LANE_PATH_MAX];

	if (lane_place(name, dir, e))
		return -1;
	snprintf(path, LANE_PATH_MAX + 8, "%s" LANE_IDLE, dir);
	return 0;
}

int lane_idle_save(const struct lane_idle *i, struct err *e)
{
	char path[LANE_PATH_MAX + 8];
	AUTO_STR struct str s = STR_INIT;

	if (idle_path(i->name, path, e))
		return -1;
	if (!i->after_s)
		return unlink(path) && errno != ENOENT ? err_sys(e, errno, "cannot remove %s", path)
						       : 0;
	str_addf(&s, "%s %d %" PRId64 "\n%s\n", i->id, (int)i->init, i->after_s, i->socket);
	return file_replace(path, s.s, s.len, false) < 0
		? err_sys(e, errno, "cannot note when %s is paused", i->name)
		: 0;
}

static bool read_idle_rule(const char *name, struct lane_idle *ret)
{
	char path[LANE_PATH_MAX + 8], text[IDLE_MAX];
	int init;

	*ret = (struct lane_idle){0};
	if (idle_path(name, path, NULL) || file_text(path, text, sizeof text) <= 0 ||
		sscanf(text, "%64s %d %" SCNd64 "\n%107[^\n]", ret->id, &init, &ret->after_s,
			ret->socket) != 4)
		return false;
	ret->init = init;
	snprintf(ret->name, sizeof ret->name, "%s", name);
	return ret->after_s > 0 && init > 0;
}

size_t lane_idle_list(struct lane_idle *ret, size_t max)
{
	char dir[PATH_MAX / 4], sub[PATH_MAX / 2], name[LANE_NAME_MAX];
	struct dirent *at;
	size_t n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (runtime_dir(dir, sizeof dir, NULL) ||
		runtime_subdir(sub, sizeof sub, dir, "lanes", NULL))
		return 0;
	d = opendir(sub);
	while (d && n < max && (at = readdir(d))) {
		size_t len = strlen(at->d_name), end = strlen(LANE_IDLE);

		if (len <= end || len - end >= sizeof name ||
			strcmp(at->d_name + len - end, LANE_IDLE) != 0)
			continue;
		snprintf(name, sizeof name, "%.*s", (int)(len - end), at->d_name);
		n += read_idle_rule(name, &ret[n]);
	}
	return n;
}

uint64_t lane_cpu_ns(pid_t init, const char *id)
{
	static const char *const v1[] = {"cpuacct", "cpu,cpuacct"};
	char path[CGROUP_PATH_MAX], text[256];
	uint64_t n = 0;

	for (size_t i = 0; i < COUNT(v1); i++)
		if (!cgroup_file(init, id, v1[i], "cpuacct.usage", path) &&
			file_text(path, text, sizeof text) > 0 && sscanf(text, "%" SCNu64, &n) == 1)
			return n;
	if (!cgroup_file(init, id, "", "cpu.stat", path) &&
		file_text(path, text, sizeof text) > 0 &&
		sscanf(text, "usage_usec %" SCNu64, &n) == 1)
		return n * 1000;
	return 0;
}

/* -- the engine ------------------------------------------------------------------------------------------ */

static int call_idle_engine(const struct lane_idle *i, const char *verb, struct err *e)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval most = {ENGINE_S, 0};
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	char text[256] = "";
	int status = 0;

	snprintf(to.sun_path, sizeof to.sun_path, "%s", i->socket);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) ||
		connect(fd, (struct sockaddr *)&to, sizeof to))
		return err_sys(e, errno, "cannot reach the engine at %s to %s %s", i->socket, verb,
			i->name);
	snprintf(text, sizeof text,
		"POST /containers/%s/%s HTTP/1.1\r\nHost: berth\r\nContent-Length: 0\r\n"
		"Connection: close\r\n\r\n",
		i->id, verb);
	if (file_write(fd, text, strlen(text)) < 0 || file_fill(fd, text, sizeof text - 1) < 12 ||
		sscanf(text, "HTTP/1.%*1d %3d", &status) != 1)
		return err_set(e, ERR_PROTOCOL, "the engine does not report whether it %sd %s",
			verb, i->name);
	return status == 204
		? 0
		: err_set(e, ERR_FAILED, "the engine refused to %s %s (%d)", verb, i->name, status);
}

/* -- pausing and waking ----------------------------------------------------------------------------------- */

static int take_idle_turn(const char *name, int how, struct err *e)
{
	char dir[LANE_PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (lane_place(name, dir, e))
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (fd >= 0 && flock(fd, how) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock %s", dir);
	return fd >= 0 ? steal_fd(&fd) : err_sys(e, errno, "cannot open %s", dir);
}

int lane_idle_pause(const struct lane_idle *i, struct err *e)
{
	AUTO_CLOSE int turn = take_idle_turn(i->name, LOCK_EX | LOCK_NB, e);
	pid_t some[1];

	if (turn < 0)
		return -1;
	if (lane_frozen(i->init, i->id) || lane_commands(i->init, i->id, some, 1))
		return err_set(e, ERR_CONFLICT, "%s is not idle any more", i->name);
	if (lane_asleep_note(i, e))
		return -1;
	if (!call_idle_engine(i, "pause", e))
		return 0;
	lane_asleep_forget(i->id);
	return -1;
}

int lane_wake(const char *id, struct err *e)
{
	struct lane_idle i;
	AUTO_CLOSE int turn = -1;

	if (!lane_asleep(id, &i, NULL))
		return 0;
	turn = take_idle_turn(i.name, LOCK_EX, e);
	if (turn < 0)
		return -1;
	/* Another one was quicker; or somebody else let it go on. */
	if (!lane_asleep(id, &i, NULL))
		return 0;
	if (lane_frozen(i.init, id) && call_idle_engine(&i, "unpause", e))
		return -1;
	lane_asleep_forget(id);
	return 1;
}
