/*
 * quota.c - sets limits by project quotas of the file system (XFS, ext4).
 *
 * What is created below a directory of a project belongs to it, and nothing can be renamed or linked into it from
 * elsewhere, so only what was there before has to be walked.  Who owns a file may take it out of its project by an
 * ioctl: the profile of agents refuses those (configs/seccomp.json).
 */
#include "workspace/loop_image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/files.h>
#include <berth/mem.h>

#define PROJECTS UINT32_C(2)      /* the type of quota; not in every <sys/quota.h> */
#define OURS UINT32_C(0x40000000) /* our numbers begin here: others' begin at 1 */
#define OWN_MASK UINT32_C(0x3fffffff)
#define NUMBER_TRIES 64
#define WALKS 8
#define BLOCK 512 /* bytes of what these structures count */

static int ask_quota(int dir, unsigned cmd, uint32_t id, void *at)
{
	return (int)syscall(SYS_quotactl_fd, dir, QCMD(cmd, PROJECTS), id, at);
}

/* They are counted there, and what goes beyond fails. */
static bool enforces_projects(int dir)
{
	struct fs_quota_statv s = {.qs_version = FS_QSTATV_VERSION1};

	return !ask_quota(dir, Q_XGETQSTATV, 0, &s) && (s.qs_flags & FS_QUOTA_PDQ_ENFD);
}

bool workspace_quotas(struct workspaces *w)
{
	return workspace_images(w) || (!geteuid() && enforces_projects(w->fd));
}

static uint32_t project_number(uint64_t inode, uint32_t i)
{
	return OURS | (((uint32_t)inode + i) & OWN_MASK);
}

/* The number of its project: 0 it is in none, UINT32_MAX it is somebody else's or cannot be in one.  What is ours
 * but of another directory counts as none: whoever put it there shared a limit that is not its own. */
static uint32_t read_project(int dir)
{
	struct fsxattr x;
	struct stat st;

	if (ioctl(dir, FS_IOC_FSGETXATTR, &x) < 0 || fstat(dir, &st) < 0)
		return UINT32_MAX;
	if ((x.fsx_projid & ~OWN_MASK) != OURS)
		return x.fsx_projid ? UINT32_MAX : 0;
	return (x.fsx_xflags & FS_XFLAG_PROJINHERIT) &&
			((x.fsx_projid - project_number(st.st_ino, 0)) & OWN_MASK) < NUMBER_TRIES
		? x.fsx_projid
		: 0;
}

enum workspace_kept workspace_quota(int dir, struct workspace_quota *ret)
{
	uint32_t id = read_project(dir);
	struct fs_disk_quota q = {0};

	*ret = (struct workspace_quota){0};
	if (workspace_image_quota(dir, ret))
		return WORKSPACE_LOOP_IMAGE;
	/* Root alone is told. */
	if (!id || id == UINT32_MAX || !enforces_projects(dir) ||
		ask_quota(dir, Q_XGETQUOTA, id, &q) < 0)
		return WORKSPACE_COUNTED;
	ret->bytes = q.d_blk_hardlimit * BLOCK;
	ret->files = q.d_ino_hardlimit;
	ret->used_bytes = q.d_bcount * BLOCK;
	ret->used_files = q.d_icount;
	return ret->bytes || ret->files ? WORKSPACE_PROJECT_QUOTA : WORKSPACE_COUNTED;
}

/* One that counts nothing yet; 0: none. */
static uint32_t find_number(int dir)
{
	struct stat st;

	if (fstat(dir, &st) < 0)
		return 0;
	for (uint32_t i = 0; i < NUMBER_TRIES; i++) {
		uint32_t id = project_number(st.st_ino, i);
		struct fs_disk_quota q = {0};

		if (ask_quota(dir, Q_XGETQUOTA, id, &q) < 0 ? errno == ENOENT : !q.d_icount)
			return id;
	}
	return 0;
}

/* 1: it was of another one before. */
static int put_in_project(int fd, uint32_t id, bool directory)
{
	struct fsxattr x;
	uint32_t inherit = directory ? FS_XFLAG_PROJINHERIT : 0;

	if (ioctl(fd, FS_IOC_FSGETXATTR, &x) < 0)
		return -1;
	if (x.fsx_projid == id && (x.fsx_xflags & FS_XFLAG_PROJINHERIT) == inherit)
		return 0;
	x.fsx_projid = id;
	x.fsx_xflags |= inherit;
	return ioctl(fd, FS_IOC_FSSETXATTR, &x) < 0 ? -1 : 1;
}

/* 1: it was not in it yet, 0: it was, or it is gone by now, or something is mounted there. */
static int join_entry(int dir, uint32_t id, const char *path, struct err *e)
{
	AUTO_CLOSE int fd = beneath_open(
		dir, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	struct stat st;
	int rc;

	if (fd < 0 &&
		(errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == ENXIO ||
			errno == EXDEV))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot open %.300s to count it", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	rc = put_in_project(fd, id, S_ISDIR(st.st_mode));
	return rc < 0
		? err_sys(e, errno, "cannot put %.300s into the project of its workspace", path)
		: rc;
}

/* How many were not in it yet.  Links, pipes and the like stay outside: they cannot be opened, and hold nothing. */
static int put_below(int dir, uint32_t id, struct files *f, struct files_root *r, struct err *e)
{
	const struct files_scan_options how = {.one_device = true};
	struct files_scan *s = NULL;
	struct files_entry x;
	int moved = 0, rc = 0;

	if (files_scan(f, r, "", &how, &s, e))
		return -1;
	while (rc >= 0 && files_scan_next(s, &x)) {
		if (x.path_len && (x.type == FILES_FILE || x.type == FILES_DIR))
			rc = join_entry(dir, id, x.path, e);
		moved |= rc;
	}
	files_scan_free(s);
	return rc < 0 ? -1 : moved;
}

/* Again while that finds more: somebody may create in a directory just before it is put into the project. */
static int put_tree(int dir, uint32_t id, struct err *e)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", dir);
	struct files *f =
		files_open(&(struct files_options){.program = "workspace", .cpu_width = 1});
	struct files_root *r = files_root_open(f, path, e);
	int moved = r ? 1 : -1;

	for (int i = 0; moved > 0 && i < WALKS; i++)
		moved = put_below(dir, id, f, r, e);
	files_root_close(r);
	files_close(f);
	return moved > 0 ? err_set(e, ERR_CONFLICT, "a process keeps moving files in the workspace")
			 : moved;
}

/* The directory itself between two walks: once it is in its project, so is all that is in it but for what came
 * meanwhile. */
static int join_project(int dir, uint32_t id, struct err *e)
{
	if (put_tree(dir, id, e) < 0)
		return -1;
	if (put_in_project(dir, id, true) < 0)
		return err_sys(e, errno, "cannot put a workspace into a project");
	return put_tree(dir, id, e);
}

static uint64_t pick_limit(uint64_t limit, uint64_t let)
{
	return limit && let > limit ? let : limit;
}

/* No soft ones, so that there is no grace. */
static int set_limits_of(int dir, uint32_t id, const struct workspace_limits *l)
{
	struct fs_disk_quota q = {.d_version = FS_DQUOT_VERSION,
		.d_flags = FS_PROJ_QUOTA,
		.d_fieldmask = FS_DQ_BHARD | FS_DQ_IHARD | FS_DQ_BSOFT | FS_DQ_ISOFT,
		.d_id = id,
		.d_blk_hardlimit = (pick_limit(l->bytes, l->let_bytes) + BLOCK - 1) / BLOCK,
		.d_ino_hardlimit = pick_limit(l->files, l->let_files)};

	return ask_quota(dir, Q_XSETQLIM, id, &q);
}

int workspace_keep_quota(int dir, const struct workspace_limits *l, struct err *e)
{
	uint32_t id, old;

	if (geteuid() || !enforces_projects(dir))
		return 0;
	old = read_project(dir);
	if (old == UINT32_MAX)
		return 0;
	id = old ? old : find_number(dir);
	if (!id)
		return 0;
	if (set_limits_of(dir, id, l) < 0)
		return err_sys(e, errno, "cannot set the project quota of a workspace");
	return !old && join_project(dir, id, e) < 0 ? -1 : 1;
}

int workspace_quota_begin(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *usual, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, kind, name, e);
	struct workspace_limits l = *usual;
	struct workspace_info i;
	int rc;

	if (dir < 0 || workspaces_lock(w, e) < 0)
		return -1;
	if (workspace_describe(w, (int)kind, name, &i))
		workspace_limits(w, &i, &l);
	rc = workspace_keep_quota(dir, &l, e);
	flock(w->fd, LOCK_UN);
	return rc;
}

int workspace_limit(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *l, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, kind, name, e);
	struct stat st;
	int rc = -1;

	if (dir < 0 || workspaces_lock(w, e) < 0)
		return -1;
	/* The record last: who looks at the tree looks anew when it changes. */
	if (fstat(dir, &st) < 0)
		err_sys(e, errno, "cannot look at the %s %s", workspace_kind_name(kind), name);
	else if (workspace_grow_image(w, kind, name, dir, l, e) == 0 &&
		workspace_keep_quota(dir, l, e) >= 0)
		rc = workspace_keep_limits(
			w, workspace_number(w, kind, name, &st), kind, name, l, e);
	flock(w->fd, LOCK_UN);
	return rc;
}
