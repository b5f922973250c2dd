/* ready.c - the user, the writable paths and the lane of a container. */
#include "container/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>

#define LANE_WAIT_MS 10000
#define OF_ROOT 1000 /* who runs in workspaces of root's */

int ready_user(const char *who, const char *workspace, uid_t *uid, gid_t *gid, struct err *e)
{
	struct stat st;

	/* Before any advice: what is never mounted is not to be given away either. */
	if (mounts_foresee(MOUNT_DECLARED, workspace, e))
		return -1;
	if (stat(workspace, &st) && errno == ENOENT)
		return err_set(e, ERR_CONFIG,
			"the workspace %s of %s does not exist; create it first (mkdir %s; berth up --create does).",
			workspace, who, workspace);
	if (access(workspace, F_OK))
		return err_sys(e, errno, "cannot reach the workspace %s of %s", workspace, who);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, ERR_CONFIG,
			"the workspace %s of %s is not a directory; name one.", workspace, who);
	*uid = st.st_uid;
	*gid = st.st_gid;
	if (st.st_uid)
		return 0;
	*uid = *gid = OF_ROOT;
	if (!(st.st_mode & S_IWOTH) && !(st.st_gid == 1000 && st.st_mode & S_IWGRP))
		return err_set(e, ERR_REFUSED,
			"the workspace %s belongs to root, and %s runs as 1000:1000, which cannot write "
			"there; give it to that user: chown 1000:1000 %s",
			workspace, who, workspace);
	return 0;
}

int ready_make(const char *workspace, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mounts_foresee(MOUNT_DECLARED, workspace, e))
		return -1;
	if (mkdir(workspace, 0755))
		return errno == EEXIST
			? 0
			: err_sys(e, errno, "cannot create the workspace %s", workspace);
	fd = open(workspace, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || (!geteuid() && fchown(fd, OF_ROOT, OF_ROOT)))
		return err_sys(e, errno, "cannot hand over the workspace %s", workspace);
	return 1;
}

size_t ready_writable(const struct team *t, struct arena *mem, const char *const **out)
{
	size_t n = 0, cap = t->ntools;
	const char **list;

	for (size_t i = 0; i < t->nagents; i++)
		cap += 1 + t->agents[i].npaths;
	list = arena_array(mem, cap, sizeof *list);
	for (size_t i = 0; i < t->nagents; i++) {
		list[n++] = t->agents[i].workspace;
		for (size_t k = 0; k < t->agents[i].npaths; k++)
			if (t->agents[i].paths[k].write)
				list[n++] = t->agents[i].paths[k].path;
	}
	for (size_t i = 0; i < t->ntools; i++)
		if (t->tools[i].files == TOOL_WORKSPACE && t->tools[i].workspace)
			list[n++] = t->tools[i].workspace;
	*out = list;
	return n;
}

int ready_lane(struct lane_offer *offer, const struct lane_about *about,
	const struct mount_list *mounts, const struct secret_values *secrets, struct err *e)
{
	AUTO_FREE struct lane_mount *seen = xcalloc(mounts->n, sizeof *seen);
	size_t n = 0;

	for (size_t i = 0; i < mounts->n; i++)
		if (!mounts->mount[i].private_ours)
			seen[n++] = (struct lane_mount){mounts->mount[i].target,
				mounts->mount[i].dev, mounts->mount[i].ino};
	return lane_hand_over(offer, about, seen, n, secrets->secret, secrets->n, LANE_WAIT_MS, e);
}
