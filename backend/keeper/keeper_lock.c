/* keeper_lock.c - ensures one keeper per user by a locked file in the runtime directory. */
#include "keeper/keeper_lock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <berth/egress.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#define WAIT_ROUNDS 40
#define WAIT_MS 50
#define ENDS_COUNTED 64

static int open_place(int flags, struct err *e)
{
	char dir[PATH_MAX - 16], path[PATH_MAX];
	int fd;

	if (runtime_dir(dir, sizeof dir, e))
		return -1;
	snprintf(path, sizeof path, "%s/keeper", dir);
	fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 ? fd : err_sys(e, errno, "cannot open %s", path);
}

pid_t keeper_find(void)
{
	AUTO_CLOSE int fd = open_place(O_RDONLY, &(struct err)ERR_INIT);
	char text[32] = "";

	if (fd < 0 || !flock(fd, LOCK_SH | LOCK_NB) || file_fill(fd, text, sizeof text - 1) <= 0)
		return 0;
	return (pid_t)atoi(text);
}

/* A name for each, in the tree of workspaces (workspace.h). */
size_t keeper_missed(void)
{
	char dir[PATH_MAX - 16], path[PATH_MAX];
	struct dirent *at;
	size_t n = 0;
	DIR *d;

	if (workspaces_dir(dir, sizeof dir, NULL))
		return 0;
	snprintf(path, sizeof path, "%s/.held", dir);
	d = opendir(path);
	while (d && (at = readdir(d)))
		n += *at->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

size_t keeper_missed_ends(void)
{
	char names[ENDS_COUNTED][64];
	struct egress_usage u;
	size_t n = egress_names(names, ENDS_COUNTED), live = 0;

	for (size_t i = 0; i < n; i++)
		live += !egress_ask_usage(names[i], &u, NULL);
	return live;
}

/* One that is about to end has let go of what came since: it is waited for. */
int keeper_take_place(struct err *e)
{
	AUTO_CLOSE int fd = open_place(O_RDWR | O_CREAT, e);

	for (int i = 0; fd >= 0 && i < WAIT_ROUNDS; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			if (ftruncate(fd, 0) || dprintf(fd, "%d\n", (int)getpid()) < 0)
				return err_sys(e, errno, "cannot write the keeper's file");
			return steal_fd(&fd);
		}
		poll(NULL, 0, WAIT_MS);
	}
	return fd < 0 ? -1 : err_set(e, ERR_CONFLICT, "another keeper is already running.");
}
