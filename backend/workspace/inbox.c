/* inbox.c - manages shared/inter_task, where tasks hand over files to each other. */
#include "workspace/workspace_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>

#define INBOXES "shared/inter_task"

/* Ours, in a folder that is ours alone; who runs in a container may read it. */
static int open_letter_box(int folder, const char *name, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make %s in " INBOXES, name);
	fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0755) < 0)
		return err_sys(e, errno, "cannot open %s in " INBOXES, name);
	return steal_fd(&fd);
}

int workspace_inbox(struct workspaces *w, const char *to, const char *from, struct err *e)
{
	AUTO_CLOSE int task = workspace_enter(w, WORKSPACE_TASK, to, e), all = -1, box = -1;
	struct err why = ERR_INIT;

	if (task < 0)
		return -1;
	all = openat(w->fd, INBOXES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (all < 0)
		return err_sys(e, errno, "cannot open " INBOXES " in %.300s", w->dir);
	box = open_letter_box(all, to, &why);
	if (box < 0)
		return err_copy(e, &why);
	return from ? open_letter_box(box, from, e) : steal_fd(&box);
}
