/*
 * quota.c - out of the project of one's workspace by each way that there is, and then as much into it as goes.
 *
 * `quota BYTES FILES OTHER`: what the limits are, and a directory of the same file system that is mounted, too, and no
 * part of the workspace, which is the working directory.
 */
#include "inside.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/quota.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_SETATTR 469 /* newer than our headers */
#define PROJECTS 2
#define PIECE (256 << 10)
#define POURS 1024 /* pieces, at most: far more than any limit here */

static const int refusals[] = {EPERM, ENOSYS, 0};
static const int other_mount[] = {EXDEV, 0};
static const int no_room[] = {EDQUOT, ENOSPC, EFBIG, 0};

/* All that changes the project of a file that one owns; the kernel drops the upper half of a request. */
static void leave_project(int dir)
{
	struct fsxattr x = {0};
	int flags = 0;

	report(0, ioctl(dir, FS_IOC_FSGETXATTR, &x) == 0 && x.fsx_projid, "it is in the project %u",
		x.fsx_projid);
	x.fsx_projid = 0;
	refused(0, "FS_IOC_FSSETXATTR", ioctl(dir, FS_IOC_FSSETXATTR, &x), eperm);
	refused(0, "the same with more bits",
		syscall(SYS_ioctl, dir, FS_IOC_FSSETXATTR | 1UL << 32, &x), eperm);
	ioctl(dir, FS_IOC_GETFLAGS, &flags);
	flags &= ~FS_PROJINHERIT_FL;
	refused(0, "FS_IOC_SETFLAGS", ioctl(dir, FS_IOC_SETFLAGS, &flags), eperm);
	refused(0, "the same with more bits",
		syscall(SYS_ioctl, dir, FS_IOC_SETFLAGS | 1UL << 63, &flags), eperm);
	refused(0, "file_setattr", syscall(FILE_SETATTR, dir, "", &x, sizeof x, AT_EMPTY_PATH),
		refusals);
}

static void change_quota(int dir)
{
	struct fsxattr x = {0};
	struct fs_disk_quota q = {.d_version = FS_DQUOT_VERSION,
		.d_flags = FS_PROJ_QUOTA,
		.d_fieldmask = FS_DQ_BHARD | FS_DQ_IHARD | FS_DQ_BTIMER};
	unsigned off = FS_QUOTA_PDQ_ENFD;

	ioctl(dir, FS_IOC_FSGETXATTR, &x);
	refused(0, "Q_XSETQLIM",
		syscall(SYS_quotactl_fd, dir, QCMD(Q_XSETQLIM, PROJECTS), x.fsx_projid, &q),
		refusals);
	refused(0, "Q_XQUOTAOFF",
		syscall(SYS_quotactl_fd, dir, QCMD(Q_XQUOTAOFF, PROJECTS), 0, &off), refusals);
}

static void cross_directories(const char *other)
{
	char there[512];
	int fd = open("moved", O_CREAT | O_WRONLY, 0600);

	close(fd);
	snprintf(there, sizeof there, "%s/linked", other);
	refused(0, "a link to elsewhere", link("moved", there), other_mount);
	refused(0, "a rename to elsewhere", rename("moved", there), other_mount);
	fd = open(there, O_CREAT | O_WRONLY, 0600);
	close(fd);
	refused(0, "a link from elsewhere", link(there, "linked"), other_mount);
	refused(0, "a rename from elsewhere", rename(there, "linked"), other_mount);
	unlink(there);
	unlink("moved");
}

static void pour_zeros(int fd)
{
	static const char zeros[PIECE];

	for (int i = 0; i < POURS && write(fd, zeros, sizeof zeros) > 0; i++)
		;
	/* The rest of a piece. */
	for (int i = 0; i < PIECE / 512 && write(fd, zeros, 512) > 0; i++)
		;
}

static uint64_t space_of(int fd)
{
	struct stat st;

	return fsync(fd) == 0 && fstat(fd, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
}

/* Without a name, without ever having had one, with holes, with many names. */
static void fill_up(uint64_t most)
{
	int gone = open("gone", O_CREAT | O_RDWR | O_EXCL, 0600),
	    nameless = open(".", O_TMPFILE | O_RDWR, 0600),
	    holes = open("holes", O_CREAT | O_RDWR, 0600);
	uint64_t sum;
	char name[32];

	unlink("gone");
	refused(0, "space at once", fallocate(nameless, 0, 0, (off_t)most + (1 << 20)), no_room);
	report(0, ftruncate(holes, (off_t)most * 4) == 0, "a hole may be of any size");
	pour_zeros(gone);
	pour_zeros(nameless);
	for (off_t at = (off_t)most * 4; at > 0; at -= 1 << 20)
		if (pwrite(holes, "x", 1, at - 1) < 0)
			break;
	refused(0, "one byte into a hole", pwrite(holes, "x", 1, 4096), no_room);
	for (int i = 0; i < 8; i++) {
		snprintf(name, sizeof name, "name-%d", i);
		report(0, link("holes", name) == 0, "another name is no other file");
	}
	sum = space_of(gone) + space_of(nameless) + space_of(holes);
	report(0, sum <= most && sum > most / 2,
		"%" PRIu64 " bytes went in, and the limit is %" PRIu64, sum, most);
	close(gone);
	close(nameless);
	close(holes);
	unlink("holes");
}

static void flood_names(unsigned most)
{
	char name[32];
	unsigned n = 0;

	for (; n <= most; n++) {
		int fd;

		snprintf(name, sizeof name, "n%u", n);
		fd = open(name, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			break;
		close(fd);
	}
	report(0, n > 0 && n < most, "%u files went in, and the limit is %u", n, most);
	while (n-- > 0) {
		snprintf(name, sizeof name, "n%u", n);
		unlink(name);
	}
}

void quota(const struct words *w)
{
	int dir = open(".", O_RDONLY | O_DIRECTORY);

	signal(SIGXFSZ, SIG_IGN);
	leave_project(dir);
	change_quota(dir);
	cross_directories(word_or(w, 2, "/"));
	flood_names((unsigned)strtoul(word_or(w, 1, "0"), NULL, 10));
	fill_up(strtoull(word_or(w, 0, "0"), NULL, 10));
	close(dir);
}
