/* memory_fs.c - reconfigures a container's in-memory file systems from outside. */
#include "container/memory_fs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include <berth/mem.h>

#include "container/mountinfo.h"

bool memory_fs_needed(const struct spec *s)
{
	return s->product && s->product->tmpfs_plain;
}

/* Only what is named changes: size, mode and what lies in it stay. */
static int limit_files(int place, uint64_t files)
{
	AUTO_CLOSE int fs = fspick(place, "", FSPICK_CLOEXEC | FSPICK_EMPTY_PATH);
	char number[24];

	snprintf(number, sizeof number, "%" PRIu64, files);
	return fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "nr_inodes", number, 0) ||
			fsconfig(fs, FSCONFIG_CMD_RECONFIGURE, NULL, NULL, 0)
		? -1
		: 0;
}

static int own_place(int place, const struct spec *s)
{
	struct stat st;

	if (fstat(place, &st))
		return -1;
	return st.st_uid == s->uid && st.st_gid == s->gid
		? 0
		: fchownat(place, "", s->uid, s->gid, AT_EMPTY_PATH);
}

static int limit_memory_fs(const struct spec *s, const struct memory_fs *m, int root, struct err *e)
{
	AUTO_CLOSE int place = mountinfo_open(root, m->target);
	struct statfs fs = {0};

	if (place >= 0 && (fstatfs(place, &fs) || fs.f_type != TMPFS_MAGIC))
		return err_set(e, ERR_REFUSED,
			"%s of %s is not in memory as requested, so the container was killed.",
			m->target, s->name);
	if (place < 0 || limit_files(place, m->files) || (m->owned && own_place(place, s)))
		return err_set(e, ERR_REFUSED,
			"the number of files in %s of %s cannot be limited (%s), and %s cannot do it either; run berth as root on the engine's machine.",
			m->target, s->name, strerrordesc_np(errno), s->product->name);
	if (fstatfs(place, &fs) || fs.f_files != m->files)
		return err_set(e, ERR_REFUSED,
			"the number of files in %s of %s is not limited as requested, so the container was killed.",
			m->target, s->name);
	return 0;
}

int memory_fs_set(const struct spec *s, pid_t init, struct err *e)
{
	struct memory_fs fs[SPEC_MEMORY_MAX];
	size_t n = spec_memory(s, fs);
	AUTO_CLOSE int root = -1;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/root", (int)init);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_set(e, ERR_REFUSED,
			"the file systems of %s cannot be reached (%s), and %s limits no number of "
			"files; run berth as root on the engine's machine.",
			s->name, strerrordesc_np(errno), s->product->name);
	for (size_t i = 0; i < n; i++)
		if (limit_memory_fs(s, &fs[i], root, e))
			return -1;
	return 0;
}
