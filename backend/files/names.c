/* names.c - stats a name in a tree, or creates a directory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/files.h>
#include <berth/mem.h>

#include "files/common/paths.h"
#include "files/common/token.h"
#include "files/walk/walk.h"

int files_look(struct files_root *r, const char *path, struct files_entry *ret, struct err *e)
{
	const char *slash = strrchr(path, '/');
	struct stat st;
	AUTO_CLOSE int fd = -1;

	if (path_check(path, e))
		return -1;
	fd = path_open(r, path, O_PATH | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &st) < 0)
		return path_error(e, errno, "look at", path);
	*ret = (struct files_entry){.path = path,
		.path_len = strlen(path),
		.name = slash ? slash + 1 : path,
		.type = S_ISREG(st.st_mode)   ? FILES_FILE
			: S_ISDIR(st.st_mode) ? FILES_DIR
			: S_ISLNK(st.st_mode) ? FILES_LINK
					      : FILES_OTHER,
		.inode = st.st_ino,
		.meta = true,
		.size = (uint64_t)st.st_size,
		.blocks = (uint64_t)st.st_blocks,
		.mtime_ns = stat_mtime_ns(&st),
		.mode = st.st_mode,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.nlink = (uint32_t)st.st_nlink};
	return 0;
}

/* Or a link that leads to one in the tree. */
static bool is_directory(const struct files_root *r, const char *path)
{
	AUTO_CLOSE int fd = path_open(r, path, O_PATH | O_DIRECTORY);

	return fd >= 0;
}

int files_make_directory(struct files_root *r, const char *path, struct err *e)
{
	struct made made = {0};
	const char *leaf;
	int dir, failed;

	if (!strcmp(path, "."))
		return 0;
	dir = path_parent_to_change(r, path, &made, &leaf, e);
	if (dir < 0) {
		made_undo(r, &made);
		made_release(&made);
		return -1;
	}
	failed = mkdirat(dir, leaf, 0777) < 0 ? errno : 0;
	close(dir);
	if (failed && failed != EEXIST)
		made_undo(r, &made);
	made_release(&made);
	if (failed == EEXIST && is_directory(r, path))
		return 0;
	return failed == EEXIST ? err_set(e, ERR_CONFLICT, "%s exists and is not a directory", path)
		: failed        ? path_error(e, failed, "make the directory", path)
				: 0;
}
