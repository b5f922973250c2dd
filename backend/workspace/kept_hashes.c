/* kept_hashes.c - saves the hashes of tasks that failed and are kept, where no task can write, and checks them. */
#include "workspace/workspace_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/mem.h>

#define UNSEALED ".new"
#define SEALED_PATH (sizeof SEALED "/" + WORKSPACE_NAME_MAX)

/* Locked: one is made at a time. */
static int open_seals(struct workspaces *w, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(w->fd, SEALED, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " SEALED " in %.300s", w->dir);
	fd = openat(w->fd, SEALED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "cannot open " SEALED " in %.300s", w->dir);
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock " SEALED " in %.300s", w->dir);
	return steal_fd(&fd);
}

static bool is_failed(struct workspaces *w, const char *name, const struct workspace_info *was)
{
	struct workspace_info i;

	return workspace_describe(w, WORKSPACE_TASK, name, &i) && i.state == WORKSPACE_FAILED &&
		(!was || (i.inode == was->inode && i.ended_ms == was->ended_ms));
}

/* Hashing takes its time, so it is under no lock that others wait for; the task must then still be what it was. */
int workspace_seal(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, WORKSPACE_TASK, name, e), seals = -1, file = -1;
	struct workspace_info was;
	int rc;

	if (dir < 0 || workspace_check_free(w, WORKSPACE_TASK, name, e) < 0)
		return -1;
	if (!workspace_describe(w, WORKSPACE_TASK, name, &was) || !is_failed(w, name, NULL))
		return err_set(e, ERR_CONFLICT, "task %s did not fail", name);
	if ((seals = open_seals(w, e)) < 0)
		return -1;
	file = openat(seals, UNSEALED, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return err_sys(e, errno, "cannot save the hashes of task %s", name);
	if (checkpoint_seal(dir, file, e) < 0 || workspaces_lock(w, e) < 0)
		return -1;
	rc = !is_failed(w, name, &was)
		? err_set(e, ERR_CONFLICT, "task %s changed in the meantime", name)
		: renameat(seals, UNSEALED, seals, name) < 0
		? err_sys(e, errno, "cannot save the hashes of task %s", name)
		: 0;
	flock(w->fd, LOCK_UN);
	return rc;
}

bool workspace_is_sealed(struct workspaces *w, const char *name)
{
	char path[SEALED_PATH];

	snprintf(path, sizeof path, SEALED "/%s", name);
	return faccessat(w->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int workspace_verify_kept(struct workspaces *w, const char *name, bool *sealed, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, WORKSPACE_TASK, name, e), file = -1;
	AUTO_FREE char *shown = xasprintf("the failed task %s", name);
	char path[SEALED_PATH];

	*sealed = true;
	if (dir < 0)
		return -1;
	snprintf(path, sizeof path, SEALED "/%s", name);
	file = openat(w->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file >= 0)
		return checkpoint_check_seal(dir, file, shown, e);
	*sealed = false;
	return errno == ENOENT ? 0 : err_sys(e, errno, "cannot read the hashes of %s", shown);
}
