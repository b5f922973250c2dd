/* removable.c - finds what of a workspace this user could not remove, before anything of it goes. */
#include "workspace/workspace_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>
#include <berth/users.h>

#define NAMED 3

struct removable {
	int root;
	struct str named;
	size_t n;
};

static bool is_empty(int fd)
{
	AUTO_CLOSE int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *at;
	size_t n = 0;

	if (!d)
		return false;
	steal_fd(&copy);
	while (n < 3 && (at = readdir(d)))
		n++;
	closedir(d);
	return n < 3;
}

/* Its owner can give himself any right. */
static bool keeps_entries(int fd, const struct stat *st)
{
	if (st->st_uid == geteuid())
		return false;
	return (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0 || st->st_mode & S_ISVTX) &&
		!is_empty(fd);
}

static void look_at_dir(struct removable *r, const char *path)
{
	AUTO_CLOSE int fd = beneath_open(r->root, *path ? path : ".",
		O_PATH | O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	AUTO_STR struct str shown = STR_INIT;
	char owner[USER_NAME_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !keeps_entries(fd, &st))
		return;
	if (r->n++ < NAMED) {
		str_adds(&r->named, r->n > 1 ? ", " : "");
		workspace_add_masked(&shown, path, strlen(path));
		text_quote_name(&r->named, shown.len ? shown.s : ".", shown.len ? shown.len : 1);
		str_addf(&r->named, " of %s", user_name(st.st_uid, owner));
	}
}

static int look_at_dirs(
	struct removable *r, struct files *f, struct files_root *root, struct err *e)
{
	static const struct files_scan_options how = {.one_device = true};
	struct files_scan *s = NULL;
	struct files_entry x;
	int rc = root ? files_scan(f, root, "", &how, &s, e) : -1;

	while (rc == 0 && files_scan_next(s, &x))
		if (x.type == FILES_DIR)
			look_at_dir(r, x.path);
	files_scan_free(s);
	return rc;
}

int workspace_check_removable(int root, const char *path, struct err *e)
{
	struct removable r = {.root = root, .named = STR_INIT};
	AUTO_FREE char *place = xasprintf("/proc/self/fd/%d", root);
	struct files_root *top = NULL;
	struct files *f = NULL;
	int rc = 0;

	if (!geteuid())
		return 0;
	f = files_open(&(struct files_options){.program = "workspace", .cpu_width = 1});
	top = files_root_open(f, place, e);
	rc = look_at_dirs(&r, f, top, e);
	files_root_close(top);
	files_close(f);
	if (rc == 0 && r.n)
		rc = err_set(e, ERR_REFUSED,
			"%s is unchanged: only their owner or root can remove what is in %s%s",
			path, r.named.s, r.n > NAMED ? ", and others" : "");
	str_release(&r.named);
	return rc;
}
