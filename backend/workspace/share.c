/* share.c - manages the versions of shared/: .versions/NAME, and the links .versions/.present and .versions/.shown. */
#include "workspace/workspace_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/share.h>
#include <berth/str.h>
#include <berth/text.h>

#define VERSIONS ".versions"
#define PRESENT VERSIONS "/.present"
#define SHOWN VERSIONS "/.shown"
#define BUILT VERSIONS "/.new"
#define VIEW VERSIONS "/.view"
#define HASHES VERSIONS "/.hashes"
#define KEPT_DIR ".kept"
#define FIRST_VERSION "start"
#define DEEPEST 64

static const char *const share_kinds[SHARE_KINDS] = {
	"templates", "libraries", "datasets", "configs"};

const char *share_kind_name(enum share_kind k)
{
	return share_kinds[k];
}

enum share_kind share_kind_of(const char *word)
{
	enum share_kind k = SHARE_TEMPLATES;

	while (k < SHARE_KINDS && strcmp(word, share_kinds[k]))
		k++;
	return k;
}

/* --- small steps --- */

/* The name that a link of ours says, behind its last slash. */
static bool read_pointer(struct workspaces *w, const char *link, char name[WORKSPACE_NAME_MAX + 1])
{
	char to[PATH_MAX];
	ssize_t n = readlinkat(w->fd, link, to, sizeof to - 1);
	const char *last;

	if (n <= 0)
		return false;
	to[n] = '\0';
	last = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
	snprintf(name, WORKSPACE_NAME_MAX + 1, "%s", last);
	return text_is_plain_name(last, WORKSPACE_NAME_MAX);
}

static int set_pointer(struct workspaces *w, const char *link, const char *to, struct err *e)
{
	AUTO_FREE char *beside = xasprintf("%s.new", link);

	if ((unlinkat(w->fd, beside, 0) < 0 && errno != ENOENT) ||
		symlinkat(to, w->fd, beside) < 0 || renameat(w->fd, beside, w->fd, link) < 0)
		return err_sys(e, errno, "cannot determine which version of shared/ is meant");
	return 0;
}

static int open_part_of(int dir, const char *path, struct err *e)
{
	int fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_sys(e, errno, "cannot open %s of the workspaces", path) : fd;
}

static int link_entry(int from, int to, const struct dirent *at, unsigned depth, struct err *e);

/* Both open; what is neither file nor directory does not come along. */
static int link_tree(int from, int to, unsigned depth, struct err *e)
{
	AUTO_CLOSE int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *at;
	int rc = 0;

	if (!d)
		return err_sys(e, errno, "cannot read a version of shared/");
	steal_fd(&fd);
	while (rc == 0 && (at = readdir(d)) != NULL)
		if (strcmp(at->d_name, ".") && strcmp(at->d_name, ".."))
			rc = link_entry(from, to, at, depth, e);
	closedir(d);
	return rc;
}

static int link_directory(int from, int to, const char *name, unsigned depth, struct err *e)
{
	AUTO_CLOSE int below = -1, made = -1;

	if (depth == DEEPEST)
		return err_set(e, ERR_REFUSED, "shared/ is more than %d directories deep", DEEPEST);
	if ((below = open_part_of(from, name, e)) < 0)
		return -1;
	if (mkdirat(to, name, 0755) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make %.200s in a version of shared/", name);
	made = open_part_of(to, name, e);
	if (made < 0)
		return -1;
	return fchmod(made, 0755) < 0 ? err_sys(e, errno, "cannot give shared/ its modes")
				      : link_tree(below, made, depth + 1, e);
}

static int link_entry(int from, int to, const struct dirent *at, unsigned depth, struct err *e)
{
	struct stat st;

	if (fstatat(from, at->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(e, errno, "cannot look at %.200s in shared/", at->d_name);
	if (S_ISDIR(st.st_mode))
		return link_directory(from, to, at->d_name, depth, e);
	if (!S_ISREG(st.st_mode))
		return 0;
	return linkat(from, at->d_name, to, at->d_name, 0) < 0
		? err_sys(e, errno, "cannot save %.200s in a version of shared/", at->d_name)
		: 0;
}

static int remove_below(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_CLOSE int dir = -1;

	if (faccessat(w->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	dir = open_part_of(w->fd, VERSIONS, e);
	return dir < 0 ? -1 : workspace_remove_tree(dir, strrchr(name, '/') + 1, e);
}

/* A copy of `from` under `to`, which must not be there. */
static int copy_version(struct workspaces *w, const char *from, const char *to, struct err *e)
{
	AUTO_CLOSE int old = -1, new = -1;

	if (mkdirat(w->fd, to, 0755) < 0)
		return err_sys(e, errno, "cannot make a version of shared/");
	if ((old = open_part_of(w->fd, from, e)) < 0 || (new = open_part_of(w->fd, to, e)) < 0)
		return -1;
	for (int k = 0; k < SHARE_KINDS; k++)
		if (link_directory(old, new, share_kinds[k], 0, e))
			return -1;
	return fchmod(new, 0755) < 0 ? err_sys(e, errno, "cannot give shared/ its modes") : 0;
}

/* What BUILT holds, before it is a version: none is ever without its hashes. */
static int seal_version(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf(HASHES "/%s", name);
	AUTO_FREE char *beside = xasprintf("%s.new", path);
	AUTO_CLOSE int dir = open_part_of(w->fd, BUILT, e), file = -1;

	if (dir < 0)
		return -1;
	if (mkdirat(w->fd, HASHES, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " HASHES " in %.300s", w->dir);
	file = openat(w->fd, beside, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return err_sys(e, errno, "cannot save the hashes of the version %s", name);
	if (checkpoint_seal(dir, file, e))
		return -1;
	return renameat(w->fd, beside, w->fd, path) < 0
		? err_sys(e, errno, "cannot save the hashes of the version %s", name)
		: 0;
}

int share_verify(struct workspaces *w, const char *version, bool *kept, struct err *e)
{
	AUTO_CLOSE int dir = share_open(w, version, e), file = -1;
	AUTO_FREE char *path = xasprintf(HASHES "/%s", version);
	AUTO_FREE char *name = xasprintf("the version %s of shared/", version);

	*kept = true;
	if (dir < 0)
		return -1;
	file = openat(w->fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file >= 0)
		return checkpoint_check_seal(dir, file, name, e);
	*kept = false;
	return errno == ENOENT ? 0 : err_sys(e, errno, "cannot read the hashes of %s", name);
}

/* --- what shared/ shows --- */

/* Each folder is the old one or the new one to who looks.  After a kill the next change, or keeper, does it again. */
static int show_version(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_FREE char *from = xasprintf(VERSIONS "/%s", name);

	if (remove_below(w, VIEW, e) || copy_version(w, from, VIEW, e))
		return -1;
	for (int k = 0; k < SHARE_KINDS; k++) {
		AUTO_FREE char *new = xasprintf(VIEW "/%s", share_kinds[k]);
		AUTO_FREE char *old = xasprintf("shared/%s", share_kinds[k]);

		if (renameat2(w->fd, new, w->fd, old, RENAME_EXCHANGE) < 0)
			return err_sys(e, errno, "cannot move %s into place", old);
	}
	return set_pointer(w, SHOWN, name, e) || remove_below(w, VIEW, e) ? -1 : 0;
}

/* Under the lock: there is a present version, and shared/ shows it.  The first is what lies there by hand. */
static int settle_versions(struct workspaces *w, char name[WORKSPACE_NAME_MAX + 1], struct err *e)
{
	char shown[WORKSPACE_NAME_MAX + 1];

	if (mkdirat(w->fd, VERSIONS, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " VERSIONS " in %.300s", w->dir);
	if (remove_below(w, BUILT, e))
		return -1;
	if (!read_pointer(w, PRESENT, name)) {
		if (remove_below(w, VERSIONS "/" FIRST_VERSION, e) ||
			copy_version(w, "shared", BUILT, e) || seal_version(w, FIRST_VERSION, e))
			return -1;
		if (renameat(w->fd, BUILT, w->fd, VERSIONS "/" FIRST_VERSION) < 0)
			return err_sys(e, errno, "cannot move a version of shared/ into place");
		if (set_pointer(w, PRESENT, FIRST_VERSION, e))
			return -1;
		snprintf(name, WORKSPACE_NAME_MAX + 1, FIRST_VERSION);
	}
	return read_pointer(w, SHOWN, shown) && !strcmp(shown, name) ? 0 : show_version(w, name, e);
}

/* --- changing --- */

static int check_version_name(const char *name, struct err *e)
{
	char shown[80];

	return text_is_plain_name(name, WORKSPACE_NAME_MAX)
		? 0
		: err_set(e, ERR_USAGE,
			  "\"%s\" is not a valid version name: use 1 to 64 letters, digits, . _ or -, and "
			  "no leading dot",
			  text_clean(shown, sizeof shown, name));
}

static int build_version(
	struct workspaces *w, const char *name, share_change_fn *change, void *ctx, struct err *e)
{
	AUTO_FREE char *to = xasprintf(VERSIONS "/%s", name);
	char present[WORKSPACE_NAME_MAX + 1];
	AUTO_FREE char *from = NULL;
	AUTO_CLOSE int dir = -1;

	if (settle_versions(w, present, e))
		return -1;
	from = xasprintf(VERSIONS "/%s", present);
	if (faccessat(w->fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return err_set(e, ERR_CONFLICT, "the version %s of shared/ already exists", name);
	if (copy_version(w, from, BUILT, e) || (dir = open_part_of(w->fd, BUILT, e)) < 0 ||
		change(ctx, dir, e) || seal_version(w, name, e))
		return -1;
	if (syncfs(dir) < 0 || renameat2(w->fd, BUILT, w->fd, to, RENAME_NOREPLACE) < 0)
		return err_sys(e, errno, "cannot move the version %s of shared/ into place", name);
	return set_pointer(w, PRESENT, name, e) || show_version(w, name, e) ? -1 : 0;
}

int share_make(
	struct workspaces *w, const char *name, share_change_fn *change, void *ctx, struct err *e)
{
	struct err ignored = ERR_INIT;
	int rc;

	if (check_version_name(name, e) || workspaces_lock(w, e) < 0)
		return -1;
	rc = build_version(w, name, change, ctx, e);
	remove_below(w, BUILT, &ignored);
	flock(w->fd, LOCK_UN);
	return rc;
}

static int return_to(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_FREE char *path = xasprintf(VERSIONS "/%s", name);
	char present[WORKSPACE_NAME_MAX + 1];

	if (settle_versions(w, present, e))
		return -1;
	if (faccessat(w->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return err_set(e, ERR_NOT_FOUND,
			"there is no version %s of shared/; `berth workspace shared` lists them",
			name);
	return set_pointer(w, PRESENT, name, e) || show_version(w, name, e) ? -1 : 0;
}

int share_return(struct workspaces *w, const char *name, struct err *e)
{
	int rc;

	if (check_version_name(name, e) || workspaces_lock(w, e) < 0)
		return -1;
	rc = return_to(w, name, e);
	flock(w->fd, LOCK_UN);
	return rc;
}

/* --- what a task keeps --- */

static int keep_present(struct workspaces *w, const char *task, struct err *e)
{
	AUTO_FREE char *link = xasprintf(KEPT_DIR "/%s", task), *to = NULL;
	char present[WORKSPACE_NAME_MAX + 1];

	if (read_pointer(w, link, present))
		return 0;
	if (settle_versions(w, present, e))
		return -1;
	to = xasprintf("../" VERSIONS "/%s", present);
	if (mkdirat(w->fd, KEPT_DIR, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " KEPT_DIR " in %.300s", w->dir);
	return set_pointer(w, link, to, e);
}

int share_keep(struct workspaces *w, const char *task, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, WORKSPACE_TASK, task, e);
	int rc;

	if (dir < 0 || workspaces_lock(w, e) < 0)
		return -1;
	rc = keep_present(w, task, e);
	flock(w->fd, LOCK_UN);
	return rc;
}

int share_kept(
	struct workspaces *w, const char *task, char name[WORKSPACE_NAME_MAX + 1], struct err *e)
{
	AUTO_FREE char *link = xasprintf(KEPT_DIR "/%s", task);

	return check_version_name(task, e) ? -1
		: read_pointer(w, link, name)
		? 0
		: err_set(e, ERR_NOT_FOUND, "the task %s keeps no version of shared/ yet", task);
}

/* Of a task that is being made, under the lock: one of its name kept another.  Where nothing was ever shared it keeps
 * what is there when it is first brought up. */
int workspace_begin_kept(struct workspaces *w, const char *task, struct err *e)
{
	AUTO_FREE char *link = xasprintf(KEPT_DIR "/%s", task);
	char present[WORKSPACE_NAME_MAX + 1];

	if (unlinkat(w->fd, link, 0) < 0 && errno != ENOENT)
		return err_sys(e, errno, "cannot clear what an earlier task %s kept", task);
	return read_pointer(w, PRESENT, present) ? keep_present(w, task, e) : 0;
}

/* --- looking --- */

int share_open(struct workspaces *w, const char *version, struct err *e)
{
	char name[WORKSPACE_NAME_MAX + 1];
	AUTO_FREE char *path = NULL;
	int fd;

	if (version && check_version_name(version, e))
		return -1;
	if (!version && !read_pointer(w, PRESENT, name))
		return err_set(e, ERR_NOT_FOUND, "nothing has been shared yet");
	path = xasprintf(VERSIONS "/%s", version ? version : name);
	fd = openat(w->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0
		? err_set(e, ERR_NOT_FOUND,
			  "there is no version %s of shared/; `berth workspace shared` lists them",
			  version ? version : name)
		: fd;
}

static int measure_shared(struct workspaces *w, struct share_version *v, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" VERSIONS, w->dir);
	struct files *f = files_open(&(struct files_options){.program = "workspace"});
	struct files_root *r = files_root_open(f, path, e);
	static const struct files_scan_options how = {.meta = true, .one_device = true};
	struct files_scan *s = NULL;
	int rc = r ? files_scan(f, r, v->name, &how, &s, e) : -1;

	if (rc == 0) {
		v->files = files_scan_totals(s)->files;
		v->bytes = files_scan_totals(s)->bytes;
	}
	files_scan_free(s);
	files_root_close(r);
	files_close(f);
	return rc;
}

static int compare_versions(const void *left, const void *right)
{
	const struct share_version *a = left, *b = right;

	return a->made_ms != b->made_ms ? (a->made_ms < b->made_ms ? -1 : 1)
					: strcmp(a->name, b->name);
}

static DIR *open_listing_in(struct workspaces *w, const char *dir)
{
	AUTO_CLOSE int fd = openat(w->fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (d)
		steal_fd(&fd);
	return d;
}

static void count_keepers(struct workspaces *w, struct share_version *all, size_t n)
{
	DIR *d = open_listing_in(w, KEPT_DIR);
	struct dirent *at;

	while (d && (at = readdir(d)) != NULL) {
		AUTO_FREE char *link = xasprintf(KEPT_DIR "/%s", at->d_name);
		char name[WORKSPACE_NAME_MAX + 1];

		if (faccessat(w->kind[WORKSPACE_TASK], at->d_name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
			!read_pointer(w, link, name))
			continue;
		for (size_t i = 0; i < n; i++)
			all[i].ntasks += !strcmp(all[i].name, name);
	}
	if (d)
		closedir(d);
}

int share_list(struct workspaces *w, struct share_version **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct share_version *all = NULL;
	DIR *d = open_listing_in(w, VERSIONS);
	char present[WORKSPACE_NAME_MAX + 1] = "";
	size_t cap = 0, count = 0;
	struct dirent *at;
	struct stat st;
	int rc = 0;

	read_pointer(w, PRESENT, present);
	while (d && rc == 0 && (at = readdir(d)) != NULL) {
		struct share_version *v;

		if (!text_is_plain_name(at->d_name, WORKSPACE_NAME_MAX) ||
			fstatat(dirfd(d), at->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
			!S_ISDIR(st.st_mode))
			continue;
		all = mem_grow(all, &cap, count + 1, sizeof *all);
		v = &all[count++];
		*v = (struct share_version){.present = !strcmp(at->d_name, present),
			.made_ms = st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000};
		snprintf(v->name, sizeof v->name, "%s", at->d_name);
		rc = measure_shared(w, v, e);
	}
	if (d)
		closedir(d);
	if (rc < 0)
		return -1;
	if (count) {
		mem_sort(all, count, sizeof *all, compare_versions);
		count_keepers(w, all, count);
	}
	*ret = STEAL(all);
	*n = count;
	return 0;
}
