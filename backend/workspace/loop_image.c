/*
 * loop_image.c - creates workspaces with a file system of their own: an image on a loop device.
 *
 *   .images/task:ID       root's alone, all of its space taken; its inode stands for the workspace in what is kept of it
 *                         (.limits, .held, .ended), for the top of each such file system has the same
 *   .images/.new.task:ID  begins to be, or ends: gone at the next opening
 *
 * The directory below the mount is empty and of mode 0, so that where nothing is mounted nobody takes it for an empty
 * workspace, and no agent gets in.  An image is made, mounted and removed under the lock of the tree.  Which device it
 * has is asked of the kernel each time; two mounts of an image share its device, and so its file system.
 */
#include "workspace/loop_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/spawn.h>
#include <berth/str.h>
#include <berth/text.h>

#define IMAGES ".images"
#define IMAGE_PATH (sizeof IMAGES "/" UNFINISHED "project:" + WORKSPACE_NAME_MAX)
#define FS_BLOCK UINT64_C(4096)
#define GROUP_BLOCKS (8 * FS_BLOCK) /* that a bitmap of one block tells of */
#define INODE_SIZE 256
#define JOURNAL_MB 4
#define RESERVED_INODES 11
#define SPARE ((JOURNAL_MB + 1) * (UINT64_C(1) << 20)) /* what a small one needs for itself */
#define SIZE_LEAST (UINT64_C(9) << 20)                 /* smaller ones get no journal */
#define BYTES_A_FILE 16384                             /* where no number of files was said */
#define BYTES_MAX (UINT64_C(1) << 43)
#define FILES_MAX (UINT64_C(1) << 28)
#define DEVICE_TRIES 64
#define TOP_INODE 2
#define RESIZE _IOW('f', 16, uint64_t) /* EXT4_IOC_RESIZE_FS, in no header of the kernel's */

enum image_name { IMAGE_WHOLE, IMAGE_UNFINISHED };

static void name_image(
	char path[IMAGE_PATH], enum image_name which, enum workspace_kind kind, const char *name)
{
	snprintf(path, IMAGE_PATH, IMAGES "/%s%s:%s", which == IMAGE_WHOLE ? "" : UNFINISHED,
		workspace_kind_name(kind), name);
}

uint64_t workspace_image(struct workspaces *w, enum workspace_kind kind, const char *name)
{
	char path[IMAGE_PATH];
	struct stat st;

	name_image(path, IMAGE_WHOLE, kind, name);
	return fstatat(w->fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_ino;
}

uint64_t workspace_number(
	struct workspaces *w, enum workspace_kind kind, const char *name, const struct stat *top)
{
	uint64_t image = top->st_dev == w->device && top->st_mode & 0777
		? 0
		: workspace_image(w, kind, name);

	return image ? image : top->st_ino;
}

bool workspace_images(struct workspaces *w)
{
	return faccessat(w->fd, IMAGES, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Nobody else's is ever mounted: a file of root's alone, with one name, in a folder of root's alone, in a tree that is
 * (workspaces_open). */
static int open_image(struct workspaces *w, const char *path, struct err *e)
{
	AUTO_CLOSE int folder =
		openat(w->fd, IMAGES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int fd = folder < 0 ? -1
				       : openat(folder, strchr(path, '/') + 1,
						 O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat dir, st;

	if (fd < 0 || fstat(folder, &dir) < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot open the image %s in %.300s", path, w->dir);
	if (dir.st_uid || dir.st_mode & 0077 || !S_ISREG(st.st_mode) || st.st_uid ||
		(st.st_mode & 07777) != 0600 || st.st_nlink != 1)
		return err_set(e, ERR_REFUSED,
			"%.300s/%s is not mounted: it must be a file of root's with mode 0600 and "
			"one name, in a folder that is root's alone",
			w->dir, path);
	return steal_fd(&fd);
}

/* --- its device --- */

static bool backs_device(int device, const struct stat *image)
{
	struct loop_info64 i;

	return ioctl(device, LOOP_GET_STATUS64, &i) == 0 && i.lo_inode == image->st_ino &&
		i.lo_device == image->st_dev;
}

static int open_device(const char *name)
{
	char path[32];

	snprintf(path, sizeof path, "/dev/%.20s", name);
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* The one that it has already, as where another table of mounts has it, so that it is never two file systems. */
static int find_device(const struct stat *image, char name[32])
{
	DIR *d = opendir("/sys/block");
	struct dirent *at;
	int fd = -1;

	while (d && fd < 0 && (at = readdir(d))) {
		if (strncmp(at->d_name, "loop", 4) != 0 || strlen(at->d_name) > 20)
			continue;
		fd = open_device(at->d_name);
		if (fd >= 0 && backs_device(fd, image))
			snprintf(name, 32, "%.20s", at->d_name);
		else if (fd >= 0)
			close(steal_fd(&fd));
	}
	if (d)
		closedir(d);
	return fd;
}

/* It is free again with its last mount.  Others look for one, too. */
static int take_device(int image, char name[32])
{
	struct loop_config how = {.fd = (uint32_t)image,
		.block_size = FS_BLOCK,
		.info = {.lo_flags = LO_FLAGS_AUTOCLEAR, .lo_file_name = "berth"}};
	AUTO_CLOSE int control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);

	for (int i = 0; control >= 0 && i < DEVICE_TRIES; i++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE), fd;

		if (number < 0)
			return -1;
		snprintf(name, 32, "loop%d", number);
		fd = open_device(name);
		if (fd < 0 || ioctl(fd, LOOP_CONFIGURE, &how) == 0)
			return fd;
		close(fd);
		if (errno != EBUSY)
			return -1;
	}
	return -1;
}

static int open_device_of(int image, char name[32], struct err *e)
{
	struct stat st;
	int fd;

	if (fstat(image, &st) < 0)
		return err_sys(e, errno, "cannot look at the image of a workspace");
	fd = find_device(&st, name);
	if (fd < 0)
		fd = take_device(image, name);
	return fd < 0 ? err_sys(e, errno, "cannot get a loop device for the image of a workspace")
		      : fd;
}

/* --- mounting --- */

/* In no place yet: gone with its last descriptor. */
static int mount_image(int image, struct err *e)
{
	char name[32], source[40];
	AUTO_CLOSE int device = open_device_of(image, name, e);
	AUTO_CLOSE int fs = -1;
	int top;

	if (device < 0)
		return -1;
	snprintf(source, sizeof source, "/dev/%s", name);
	fs = fsopen("ext4", FSOPEN_CLOEXEC);
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", source, 0) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
		(top = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)) < 0)
		return err_sys(e, errno, "cannot mount the image of a workspace");
	return top;
}

static int place_mount(
	struct workspaces *w, enum workspace_kind kind, const char *name, int top, struct err *e)
{
	return move_mount(top, "", w->kind[kind], name, MOVE_MOUNT_F_EMPTY_PATH) < 0
		? err_sys(e, errno, "cannot mount the image of the %s %s in its place",
			  workspace_kind_name(kind), name)
		: 0;
}

static bool has_mount(struct workspaces *w, enum workspace_kind kind, const char *name)
{
	struct stat st;

	return fstatat(w->kind[kind], name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != w->device;
}

static int mount_missing(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_CLOSE int image = -1, top = -1;
	char path[IMAGE_PATH];

	if (has_mount(w, kind, name))
		return 0;
	name_image(path, IMAGE_WHOLE, kind, name);
	image = open_image(w, path, e);
	if (image >= 0)
		top = mount_image(image, e);
	return top < 0 ? -1 : place_mount(w, kind, name, top, e);
}

/* What begins to be has no workspace yet, what ends has none any more: the place below the mount goes, if it is one. */
static void drop_unfinished(struct workspaces *w, enum workspace_kind kind, const char *name)
{
	char path[IMAGE_PATH];
	struct stat st;

	if (!workspace_image(w, kind, name) &&
		fstatat(w->kind[kind], name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISDIR(st.st_mode) && !(st.st_mode & 07777) && st.st_dev == w->device)
		unlinkat(w->kind[kind], name, AT_REMOVEDIR);
	name_image(path, IMAGE_UNFINISHED, kind, name);
	unlinkat(w->fd, path, 0);
}

static void recover_image(struct workspaces *w, const char *file)
{
	bool unfinished = !strncmp(file, UNFINISHED, strlen(UNFINISHED));
	enum workspace_kind kind;
	const char *name = workspace_word(unfinished ? file + strlen(UNFINISHED) : file, &kind);

	if (!name || !text_is_plain_name(name, WORKSPACE_NAME_MAX))
		return;
	if (unfinished)
		drop_unfinished(w, kind, name);
	else
		mount_missing(w, kind, name, &w->unmounted); /* who wants it is told */
}

void workspace_recover_images(struct workspaces *w)
{
	int fd = geteuid() ? -1
			   : openat(w->fd, IMAGES, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *at;

	while (d && (at = readdir(d)))
		recover_image(w, at->d_name);
	if (d)
		closedir(d);
}

int workspace_check_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, int dir, struct err *e)
{
	struct stat st;

	if (fstat(dir, &st) < 0 || st.st_dev != w->device || !workspace_image(w, kind, name))
		return 0;
	return err_set(e, ERR_CONFLICT, "the image of the %s %s is not mounted%s%.300s",
		workspace_kind_name(kind), name,
		w->unmounted.kind ? ": " : "; `berth workspace list` as root mounts it",
		w->unmounted.kind ? w->unmounted.msg : "");
}

/* --- making one --- */

static uint64_t count_asked_files(const struct workspace_limits *l)
{
	return l->files ? l->files : l->bytes / BYTES_A_FILE;
}

/* What a file system takes for itself is no part of what was asked for. */
static uint64_t size_of_image(const struct workspace_limits *l)
{
	uint64_t size = l->bytes + l->bytes / 64 +
		(count_asked_files(l) + RESERVED_INODES) * INODE_SIZE + SPARE;

	size = size < SIZE_LEAST ? SIZE_LEAST : size;
	return (size + FS_BLOCK - 1) / FS_BLOCK * FS_BLOCK;
}

static int check_size(const struct workspace_limits *l, struct err *e)
{
	return !l->bytes || l->bytes > BYTES_MAX || l->files > FILES_MAX
		? err_set(e, ERR_USAGE,
			  "a loop image needs a size: give --bytes, up to 8T, and at most %" PRIu64
			  " files",
			  FILES_MAX)
		: 0;
}

static int make_file_system(int image, uint64_t files, struct err *e)
{
	static char *const env[] = {(char *)"LC_ALL=C", NULL};
	char inodes[24], journal[24];
	const char *argv[] = {"mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-m",
		"0", "-e", "remount-ro", "-J", journal, "-N", inodes, "-E",
		"nodiscard,lazy_itable_init=0", "/proc/self/fd/0", NULL};
	struct spawn p = {.path = "/sbin/mke2fs",
		.argv = argv,
		.env = env,
		.in = image,
		.apart = SPAWN_SESSION};
	pid_t pid;
	int bad, status;

	snprintf(journal, sizeof journal, "size=%d", JOURNAL_MB);
	snprintf(inodes, sizeof inodes, "%" PRIu64, files + RESERVED_INODES);
	bad = spawn_start(&p, &pid);
	if (bad == ENOENT)
		return err_set(e, ERR_FAILED,
			"/sbin/mke2fs is missing, and a loop image needs it: install e2fsprogs");
	if (bad)
		return err_sys(e, bad, "cannot start /sbin/mke2fs");
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot wait for /sbin/mke2fs");
	return status ? err_set(e, ERR_FAILED, "/sbin/mke2fs could not make a file system") : 0;
}

static int make_image(
	struct workspaces *w, const char *path, const struct workspace_limits *l, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(w->fd, IMAGES, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " IMAGES " in %.300s", w->dir);
	fd = openat(w->fd, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) < 0)
		return err_sys(e, errno, "cannot make the image %s in %.300s", path, w->dir);
	if (fallocate(fd, 0, 0, (off_t)size_of_image(l)) < 0)
		return err_sys(e, errno, "cannot reserve %" PRIu64 " bytes for the image %s",
			size_of_image(l), path);
	return make_file_system(fd, count_asked_files(l), e);
}

int workspace_begin_image(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *l, int *top, uint64_t *number, struct err *e)
{
	AUTO_CLOSE int image = -1, dir = -1;
	char path[IMAGE_PATH];
	struct stat st;

	if (geteuid())
		return err_set(e, ERR_USAGE, "only root can mount a loop image");
	name_image(path, IMAGE_UNFINISHED, kind, name);
	if (check_size(l, e) < 0 || make_image(w, path, l, e) < 0 ||
		(image = open_image(w, path, e)) < 0 || (*top = mount_image(image, e)) < 0)
		return -1;
	dir = openat(*top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || (unlinkat(dir, "lost+found", AT_REMOVEDIR) < 0 && errno != ENOENT))
		return err_sys(e, errno, "cannot use the image %s", path);
	if (fstat(image, &st) < 0)
		return err_sys(e, errno, "cannot look at the image %s", path);
	*number = st.st_ino;
	return steal_fd(&dir);
}

/* The image's name comes last: until then all goes at the next opening. */
int workspace_place_image(struct workspaces *w, enum workspace_kind kind, const char *name, int top,
	int dir, struct err *e)
{
	char from[IMAGE_PATH], to[IMAGE_PATH];
	struct err ignored = ERR_INIT;

	name_image(from, IMAGE_UNFINISHED, kind, name);
	name_image(to, IMAGE_WHOLE, kind, name);
	if (syncfs(dir) < 0)
		return err_sys(e, errno, "cannot sync the image %s", from);
	if (mkdirat(w->kind[kind], name, 0) < 0)
		return errno == EEXIST ? err_set(e, ERR_CONFLICT, "the %s %s already exists",
						 workspace_kind_name(kind), name)
				       : err_sys(e, errno, "cannot make workspace %s", name);
	if (renameat2(w->fd, from, w->fd, to, RENAME_NOREPLACE) < 0)
		return err_sys(e, errno, "cannot move the image %s into place", from);
	if (place_mount(w, kind, name, top, e) == 0)
		return 0;
	workspace_drop_image(w, kind, name, &ignored);
	return -1;
}

void workspace_spoil_image(struct workspaces *w, enum workspace_kind kind, const char *name)
{
	char path[IMAGE_PATH];

	name_image(path, IMAGE_UNFINISHED, kind, name);
	if (faccessat(w->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		drop_unfinished(w, kind, name);
}

/* --- its end --- */

int workspace_detach_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d/%s", w->kind[kind], name);
	AUTO_CLOSE int top = open_tree(w->kind[kind], name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (top < 0 || umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return err_sys(e, errno, "cannot unmount the image of the %s %s",
			workspace_kind_name(kind), name);
	return steal_fd(&top);
}

int workspace_attach_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, int top, struct err *e)
{
	return place_mount(w, kind, name, top, e);
}

int workspace_drop_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	char from[IMAGE_PATH], to[IMAGE_PATH];

	name_image(from, IMAGE_WHOLE, kind, name);
	name_image(to, IMAGE_UNFINISHED, kind, name);
	/* From here on it is gone, whatever happens. */
	if (renameat(w->fd, from, w->fd, to) < 0 ||
		unlinkat(w->kind[kind], name, AT_REMOVEDIR) < 0 || unlinkat(w->fd, to, 0) < 0)
		return err_sys(e, errno, "cannot remove the image of the %s %s",
			workspace_kind_name(kind), name);
	return 0;
}

/* --- how much it holds --- */

/* The top of a file system on a loop device whose image lies where ours do. */
static bool is_image(int dir)
{
	char path[80], backing[PATH_MAX];
	struct statfs fs;
	struct stat st;

	if (fstat(dir, &st) < 0 || major(st.st_dev) != LOOP_MAJOR || st.st_ino != TOP_INODE ||
		fstatfs(dir, &fs) < 0 || fs.f_type != EXT4_SUPER_MAGIC)
		return false;
	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/loop/backing_file", major(st.st_dev),
		minor(st.st_dev));
	return file_text(path, backing, sizeof backing) > 0 && strstr(backing, "/" IMAGES "/");
}

bool workspace_image_quota(int dir, struct workspace_quota *ret)
{
	struct statfs fs;
	uint64_t size;

	if (!is_image(dir) || fstatfs(dir, &fs) < 0)
		return false;
	size = (uint64_t)fs.f_bsize;
	*ret = (struct workspace_quota){.bytes = fs.f_blocks * size,
		.files = fs.f_files,
		.used_bytes = (fs.f_blocks - fs.f_bfree) * size,
		.used_files = fs.f_files - fs.f_ffree};
	return true;
}

static uint64_t count_groups(uint64_t bytes)
{
	return (bytes / FS_BLOCK + GROUP_BLOCKS - 1) / GROUP_BLOCKS;
}

/* Of each group there are as many as when it was made. */
static int check_files(int dir, uint64_t size, uint64_t now, uint64_t files, struct err *e)
{
	struct statfs fs;
	uint64_t most;

	if (fstatfs(dir, &fs) < 0)
		return err_sys(e, errno, "cannot look at the image of a workspace");
	most = fs.f_files / count_groups(now) * count_groups(size > now ? size : now) -
		RESERVED_INODES;
	return files > most ? err_set(e, ERR_REFUSED,
				      "its loop image was made for at most %" PRIu64
				      " files and cannot hold more; a larger --bytes allows more",
				      most)
			    : 0;
}

static int resize_image(int dir, int image, uint64_t size, uint64_t now, struct err *e)
{
	uint64_t blocks = size / FS_BLOCK;
	char name[32];
	AUTO_CLOSE int device = open_device_of(image, name, e);
	struct statfs before, after;
	int why;

	if (device < 0)
		return -1;
	if (fstatfs(dir, &before) < 0)
		return err_sys(e, errno, "cannot look at the file system of a workspace");
	if (fallocate(image, 0, 0, (off_t)size) == 0 && ioctl(device, LOOP_SET_CAPACITY, 0) == 0 &&
		ioctl(dir, RESIZE, &blocks) == 0)
		return 0;
	why = errno;
	/* It grows group by group: what it counts already is its own. */
	if (fstatfs(dir, &after) == 0 && after.f_blocks == before.f_blocks &&
		ftruncate(image, (off_t)now) == 0)
		ioctl(device, LOOP_SET_CAPACITY, 0);
	return err_sys(e, why, "cannot make the image of a workspace larger%s",
		why == EPERM ? " (the kernel needs CAP_SYS_RESOURCE for that)" : "");
}

int workspace_grow_image(struct workspaces *w, enum workspace_kind kind, const char *name, int dir,
	const struct workspace_limits *l, struct err *e)
{
	AUTO_CLOSE int image = -1;
	uint64_t size = size_of_image(l), now;
	char path[IMAGE_PATH];
	struct stat st;

	if (!workspace_image(w, kind, name))
		return 0;
	name_image(path, IMAGE_WHOLE, kind, name);
	if (check_size(l, e) < 0 || (image = open_image(w, path, e)) < 0)
		return -1;
	if (fstat(image, &st) < 0)
		return err_sys(e, errno, "cannot look at the image %s", path);
	now = (uint64_t)st.st_size;
	if (check_files(dir, size, now, l->files, e) < 0)
		return -1;
	return size > now ? resize_image(dir, image, size, now, e) : 0;
}
