/* workspace.c - creates the tree of workspaces and workspaces in it, and lists them. */
#include "workspace/loop_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/files.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

static const char *const tree[] = {"tasks", "projects", "shared", "shared/templates",
	"shared/libraries", "shared/datasets", "shared/configs", "shared/inter_task", "archives",
	"archives/tasks", "archives/projects", NULL};

/* What a workspace begins with; a directory has no text. */
struct part {
	const char *path, *text;
};

#define IGNORED "*.env\n*.key\n*.pem\n*.secret\n"

/* The repository is that of `git init`, without its samples: no program of anybody's has to run here. */
static const struct part project_parts[] = {
	{".git", NULL},
	{".git/objects", NULL},
	{".git/refs", NULL},
	{".git/refs/heads", NULL},
	{".git/HEAD", "ref: refs/heads/main\n"},
	{".git/config",
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"},
	{"src", NULL},
	{"tests", NULL},
	{"docs", NULL},
	{"tasks", NULL},
	{".env.example", ""},
	{".gitignore", IGNORED "/.env\n/tasks/\n"},
	{0},
};

int workspaces_check_name(const char *name, struct err *e)
{
	char shown[80];

	if (text_is_plain_name(name, WORKSPACE_NAME_MAX))
		return 0;
	return err_set(e, ERR_USAGE,
		"\"%s\" is not a valid workspace name: use 1 to 64 letters, digits, . "
		"_ or -, and no leading dot",
		text_clean(shown, sizeof shown, name));
}

/* --- the tree --- */

static int make_kinds(struct workspaces *w, struct err *e)
{
	for (size_t i = 0; tree[i]; i++)
		if (mkdirat(w->fd, tree[i], 0700) < 0 && errno != EEXIST)
			return err_sys(e, errno, "cannot make %s in %.300s", tree[i], w->dir);
	return 0;
}

static int open_kinds(struct workspaces *w, struct err *e)
{
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		w->kind[k] = openat(w->fd, workspace_kind_folder((enum workspace_kind)k),
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (w->kind[k] < 0)
			return err_sys(e, errno, "cannot open %s in %.300s",
				workspace_kind_folder((enum workspace_kind)k), w->dir);
	}
	return 0;
}

int workspace_remove_tree(int folder, const char *name, struct err *e)
{
	struct files *f = files_open(&(struct files_options){.program = "workspace"});
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", folder);
	struct files_root *r = files_root_open(f, path, e);
	struct files_tree_totals t;
	int rc = r ? files_delete(f, r, name, true, &t, e) : -1;

	files_root_close(r);
	files_close(f);
	return rc;
}

int workspaces_archives(struct workspaces *w, int kind, struct err *e)
{
	char path[32];
	int fd;

	snprintf(
		path, sizeof path, "archives/%s", workspace_kind_folder((enum workspace_kind)kind));
	fd = openat(w->fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, errno, "cannot open %s in %.300s", path, w->dir) : fd;
}

static DIR *open_listing_of(struct workspaces *w, int kind, struct err *e)
{
	AUTO_CLOSE int fd = openat(w->kind[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		err_sys(e, errno, "cannot read %s in %.400s",
			workspace_kind_folder((enum workspace_kind)kind), w->dir);
	else
		steal_fd(&fd);
	return d;
}

/* What cannot be removed is told to who asks, and keeps nobody from anything else: an agent may have seen to it. */
static void remove_left(struct workspaces *w, int kind, const char *name)
{
	struct err why = ERR_INIT;

	if (workspace_remove_tree(w->kind[kind], name, &why) < 0)
		err_set(&w->left, why.kind, "%s/%s/%s cannot be removed: %s", w->dir,
			workspace_kind_folder((enum workspace_kind)kind), name, why.msg);
}

const struct err *workspaces_left(const struct workspaces *w)
{
	return &w->left;
}

/* Whoever holds the lock finds only what dead processes left. */
static int recover_kind(struct workspaces *w, int kind, struct err *e)
{
	DIR *d = open_listing_of(w, kind, e);
	struct dirent *at;

	if (!d)
		return -1;
	while ((at = readdir(d)) != NULL)
		if (!strncmp(at->d_name, UNFINISHED, strlen(UNFINISHED)))
			remove_left(w, kind, at->d_name);
		else if (!strncmp(at->d_name, LEAVING, strlen(LEAVING)))
			renameat2(w->kind[kind], at->d_name, w->kind[kind],
				at->d_name + strlen(LEAVING), RENAME_NOREPLACE);
	closedir(d);
	return 0;
}

/* An archive may take longer than anybody shall wait: who writes one holds a lock on it. */
static int recover_archives(struct workspaces *w, int kind, struct err *e)
{
	AUTO_CLOSE int folder = workspaces_archives(w, kind, e);
	DIR *d = folder < 0 ? NULL : fdopendir(dup(folder));
	struct dirent *at;

	while (d && (at = readdir(d)) != NULL) {
		AUTO_CLOSE int fd = -1;

		if (strncmp(at->d_name, UNFINISHED, strlen(UNFINISHED)) != 0)
			continue;
		fd = openat(folder, at->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			unlinkat(folder, at->d_name, 0);
	}
	if (d)
		closedir(d);
	return folder < 0 ? -1 : 0;
}

/* Under the lock, once. */
static int recover_workspaces(struct workspaces *w, struct err *e)
{
	int rc = 0;

	for (int k = 0; rc == 0 && k < WORKSPACE_KINDS; k++) {
		rc = recover_kind(w, k, e);
		if (rc == 0)
			rc = recover_archives(w, k, e);
	}
	workspace_recover_images(w);
	w->recovered = rc == 0;
	if (rc < 0)
		flock(w->fd, LOCK_UN);
	return rc;
}

int workspaces_lock(struct workspaces *w, struct err *e)
{
	while (flock(w->fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock the workspaces in %.400s", w->dir);
	return w->recovered ? 0 : recover_workspaces(w, e);
}

/* Who creates, archives or removes a workspace may hold the lock for minutes: those who only use another do not wait. */
static int recover_unless_busy(struct workspaces *w, struct err *e)
{
	if (flock(w->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK
			? 0
			: err_sys(e, errno, "cannot lock the workspaces in %.400s", w->dir);
	if (recover_workspaces(w, e) < 0)
		return -1;
	flock(w->fd, LOCK_UN);
	return 0;
}

/* The folder of the tree, which has to be there. */
static int open_tree(struct workspaces *w, struct err *e)
{
	struct stat st;

	w->fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0 || fstat(w->fd, &st) < 0)
		return err_sys(e, errno, "cannot open the folder of workspaces %.400s", w->dir);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_REFUSED,
			"the folder of workspaces %.300s belongs to user %u, not to user %u",
			w->dir, (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 0077)
		return err_set(e, ERR_REFUSED,
			"the folder of workspaces %.200s is accessible to other users (mode %04o): run chmod 700 %.200s",
			w->dir, (unsigned)(st.st_mode & 07777), w->dir);
	w->device = st.st_dev;
	return 0;
}

static struct workspaces *alloc_workspaces(const char *dir)
{
	struct workspaces *w = xcalloc(1, sizeof *w);

	*w = (struct workspaces){.fd = -1, .kind = {-1, -1}, .dir = xstrdup(dir)};
	return w;
}

struct workspaces *workspaces_open(const char *dir, struct err *e)
{
	struct workspaces *w = alloc_workspaces(dir);

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		err_sys(e, errno, "cannot make the folder of workspaces %.400s", dir);
	else if (open_tree(w, e) == 0 && make_kinds(w, e) == 0 && open_kinds(w, e) == 0 &&
		recover_unless_busy(w, e) == 0)
		return w;
	workspaces_close(w);
	return NULL;
}

struct workspaces *workspaces_peek(const char *dir, struct err *e)
{
	struct workspaces *w = alloc_workspaces(dir);

	if (access(dir, F_OK) < 0 && errno == ENOENT)
		err_set(e, ERR_NOT_FOUND, "there are no workspaces in %.400s", dir);
	else if (open_tree(w, e) == 0 && open_kinds(w, e) == 0)
		return w;
	workspaces_close(w);
	return NULL;
}

void workspaces_close(struct workspaces *w)
{
	if (!w)
		return;
	for (int k = 0; k < WORKSPACE_KINDS; k++)
		if (w->kind[k] >= 0)
			close(w->kind[k]);
	if (w->fd >= 0)
		close(w->fd);
	free(w->dir);
	free(w);
}

/* --- making one --- */

static int write_part(int dir, const struct part *p, const struct workspace_new *n)
{
	AUTO_CLOSE int fd = -1;

	if (!p->text) {
		if (mkdirat(dir, p->path, 0700) < 0)
			return -1;
		fd = openat(dir, p->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	} else {
		fd = openat(
			dir, p->path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	}
	if (fd < 0)
		return -1;
	if (p->text && file_write(fd, p->text, strlen(p->text)) < 0)
		return -1;
	/* Whatever the umask of the caller is. */
	if (fchown(fd, n->uid, n->gid) < 0)
		return -1;
	return fchmod(fd, p->text ? 0600 : 0700);
}

static void describe_task(struct str *out, const struct workspace_new *n)
{
	AUTO_STR struct str clean = STR_INIT;
	char at[FORMAT_MAX];

	format_stamp(at, n->now_ms);
	str_addf(out, "{\n  \"task_id\": \"%s\",\n  \"created_at\": \"%s\",\n  \"environment\": ",
		n->name, at);
	if (n->environment) {
		text_neutralise(&clean, n->environment, strlen(n->environment), false);
		str_add_json(out, clean.s);
	} else {
		str_adds(out, "null");
	}
	str_adds(out, "\n}\n");
}

static int fill_workspace(int dir, const struct workspace_new *n, struct err *e)
{
	AUTO_STR struct str context = STR_INIT, readme = STR_INIT;
	const struct part task[] = {
		{"files", NULL},
		{"logs", NULL},
		{"context.json", NULL},
		{"prompt.md", n->prompt ? n->prompt : ""},
		{"output", ""},
		{".env", ""},
		{".gitignore", IGNORED},
		{0},
	};
	const struct part *p = n->kind == WORKSPACE_TASK ? task : project_parts;
	struct part described;

	if (n->kind == WORKSPACE_TASK)
		describe_task(&context, n);
	str_addf(&readme, "# %s\n", n->name);
	for (; p->path; p++) {
		described = *p;
		if (!strcmp(p->path, "context.json"))
			described.text = context.s;
		if (write_part(dir, &described, n) < 0)
			return err_sys(
				e, errno, "cannot make %s of workspace %s", p->path, n->name);
	}
	described = (struct part){"README.md", readme.s};
	if (n->kind == WORKSPACE_PROJECT && write_part(dir, &described, n) < 0)
		return err_sys(e, errno, "cannot make README.md of workspace %s", n->name);
	if (fchown(dir, n->uid, n->gid) < 0 || fchmod(dir, 0700) < 0)
		return err_sys(e, errno, "cannot give workspace %s to its owner", n->name);
	return 0;
}

/* It says whose it is: that of a task by the name that it now has. */
static int rename_context(int dir, const struct workspace_new *n, struct err *e)
{
	AUTO_STR struct str context = STR_INIT;
	struct workspace_new owner = *n;
	struct stat st;

	if (n->kind != WORKSPACE_TASK ||
		fstatat(dir, "context.json", &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	owner.uid = st.st_uid;
	owner.gid = st.st_gid;
	describe_task(&context, n);
	return unlinkat(dir, "context.json", 0) < 0 ||
			write_part(dir, &(struct part){"context.json", context.s}, &owner) < 0
		? err_sys(e, errno, "cannot make context.json of workspace %s", n->name)
		: 0;
}

/* Its directory, empty and hidden. */
static int begin_workspace(
	struct workspaces *w, const struct workspace_new *n, const char *hidden, struct err *e)
{
	int dir;

	if (mkdirat(w->kind[n->kind], hidden, 0700) < 0)
		return err_sys(e, errno, "cannot make workspace %s in %.300s", n->name, w->dir);
	dir = openat(w->kind[n->kind], hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? err_sys(e, errno, "cannot open workspace %s in %.300s", n->name, w->dir)
		       : dir;
}

static int place_workspace(
	struct workspaces *w, const struct workspace_new *n, const char *hidden, struct err *e)
{
	int kind = w->kind[n->kind];

	if (renameat2(kind, hidden, kind, n->name, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EEXIST ? err_set(e, ERR_CONFLICT, "the %s %s already exists",
					 workspace_kind_name(n->kind), n->name)
			       : err_sys(e, errno, "cannot move workspace %s into place", n->name);
}

static int build_workspace(
	struct workspaces *w, const struct workspace_new *n, const char *hidden, struct err *e)
{
	AUTO_CLOSE int dir = begin_workspace(w, n, hidden, e);

	if (dir < 0 ||
		(n->fill ? n->fill(n->ctx, dir, e) < 0 ||
					(!n->as_it_was && rename_context(dir, n, e) < 0)
			 : fill_workspace(dir, n, e) < 0))
		return -1;
	return place_workspace(w, n, hidden, e);
}

/* In a file system of its own. */
static int build_in_image(struct workspaces *w, const struct workspace_new *n, struct err *e)
{
	AUTO_CLOSE int top = -1, dir = -1;
	uint64_t number;

	dir = workspace_begin_image(w, n->kind, n->name, n->image, &top, &number, e);
	if (dir >= 0 && workspace_keep_limits(w, number, n->kind, n->name, n->image, e) == 0 &&
		fill_workspace(dir, n, e) == 0 &&
		workspace_place_image(w, n->kind, n->name, top, dir, e) == 0)
		return 0;
	workspace_spoil_image(w, n->kind, n->name);
	return -1;
}

/* What was handed to another task of that name is not for this one. */
static int forget_inbox(struct workspaces *w, const char *name, struct err *e)
{
	AUTO_CLOSE int all =
		openat(w->fd, "shared/inter_task", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (all < 0)
		return err_sys(e, errno, "cannot open shared/inter_task in %.300s", w->dir);
	return faccessat(all, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0
		? 0
		: workspace_remove_tree(all, name, e);
}

static int forget_git_state(struct workspaces *w, const char *name, struct err *e)
{
	char path[sizeof GIT_STATE "/" + WORKSPACE_NAME_MAX];

	snprintf(path, sizeof path, GIT_STATE "/%s", name);
	return unlinkat(w->fd, path, 0) < 0 && errno != ENOENT
		? err_sys(e, errno, "cannot clear what git says of %s", name)
		: 0;
}

/* One of its name may have ended, been in use, or been handed something; what cannot be forgotten must not be this one's. */
static int forget_former(struct workspaces *w, const struct workspace_new *n, struct err *e)
{
	if (n->kind == WORKSPACE_TASK &&
		(workspace_forget_end(w, n->name, e) || forget_inbox(w, n->name, e) ||
			workspace_begin_kept(w, n->name, e)))
		return -1;
	if (n->kind == WORKSPACE_PROJECT && forget_git_state(w, n->name, e))
		return -1;
	return workspace_forget_holders(w, n->kind, n->name, e);
}

/* Before it is filled: who fills it writes under its name elsewhere, too. */
static int check_new(struct workspaces *w, const struct workspace_new *n, struct err *e)
{
	if (faccessat(w->kind[n->kind], n->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return forget_former(w, n, e);
	return err_set(
		e, ERR_CONFLICT, "the %s %s already exists", workspace_kind_name(n->kind), n->name);
}

/* What cannot be removed now goes at the next opening. */
static void discard_hidden(struct workspaces *w, enum workspace_kind kind, const char *hidden)
{
	if (faccessat(w->kind[kind], hidden, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		workspace_remove_tree(w->kind[kind], hidden, NULL);
}

int workspace_create(struct workspaces *w, const struct workspace_new *n, struct err *e)
{
	char hidden[sizeof UNFINISHED + WORKSPACE_NAME_MAX];
	int rc;

	if (workspaces_check_name(n->name, e) < 0 || workspaces_lock(w, e) < 0)
		return -1;
	snprintf(hidden, sizeof hidden, UNFINISHED "%s", n->name);
	rc = check_new(w, n, e);
	if (rc == 0)
		rc = n->image ? build_in_image(w, n, e) : build_workspace(w, n, hidden, e);
	if (rc < 0)
		discard_hidden(w, n->kind, hidden);
	flock(w->fd, LOCK_UN);
	return rc;
}

int workspace_create_together(struct workspaces *w, const struct workspace_new *n,
	struct workspace_one *all, size_t count, workspace_fill_fn *fill, struct err *e)
{
	char hidden[sizeof UNFINISHED + WORKSPACE_NAME_MAX];
	struct workspace_new one = *n;

	if (workspaces_lock(w, e) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		struct workspace_one *o = &all[i];

		one.name = o->name;
		o->dir = -1;
		o->err = (struct err)ERR_INIT;
		snprintf(hidden, sizeof hidden, UNFINISHED "%.*s", WORKSPACE_NAME_MAX, o->name);
		if (workspaces_check_name(o->name, &o->err) == 0 &&
			check_new(w, &one, &o->err) == 0)
			o->dir = begin_workspace(w, &one, hidden, &o->err);
	}
	fill(n->ctx, all, count);
	for (size_t i = 0; i < count; i++) {
		struct workspace_one *o = &all[i];

		one.name = o->name;
		snprintf(hidden, sizeof hidden, UNFINISHED "%.*s", WORKSPACE_NAME_MAX, o->name);
		if (o->dir < 0)
			continue;
		if (o->err.kind != ERR_NONE ||
			(!n->as_it_was && rename_context(o->dir, &one, &o->err) < 0) ||
			place_workspace(w, &one, hidden, &o->err) < 0)
			discard_hidden(w, n->kind, hidden);
		close(o->dir);
		o->dir = -1;
	}
	flock(w->fd, LOCK_UN);
	return 0;
}

/* --- looking --- */

bool workspace_is_archived(struct workspaces *w, int kind, const char *name)
{
	char path[sizeof "archives/projects/" + WORKSPACE_NAME_MAX + sizeof ARCHIVED];

	snprintf(path, sizeof path, "archives/%s/%.*s" ARCHIVED,
		workspace_kind_folder((enum workspace_kind)kind), WORKSPACE_NAME_MAX, name);
	return text_is_plain_name(name, WORKSPACE_NAME_MAX) &&
		faccessat(w->fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* All but how it ended. */
static bool describe_directory(
	struct workspaces *w, int kind, const char *name, struct workspace_info *i)
{
	struct stat st;

	if (!text_is_plain_name(name, WORKSPACE_NAME_MAX) ||
		fstatat(w->kind[kind], name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	*i = (struct workspace_info){.kind = (enum workspace_kind)kind,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.mode = st.st_mode & 07777,
		.inode = workspace_number(w, (enum workspace_kind)kind, name, &st),
		.changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
	i->unmounted = i->inode != st.st_ino && st.st_dev == w->device;
	snprintf(i->name, sizeof i->name, "%s", name);
	return true;
}

bool workspace_describe(struct workspaces *w, int kind, const char *name, struct workspace_info *i)
{
	if (!describe_directory(w, kind, name, i))
		return false;
	workspace_recall_end(w, i);
	return true;
}

static int compare_workspaces(const void *left, const void *right)
{
	const struct workspace_info *a = left, *b = right;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

int workspace_list(struct workspaces *w, struct workspace_info **ret, size_t *n, struct err *e)
{
	AUTO_FREE struct workspace_info *found = NULL;
	size_t count = 0, cap = 0;

	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		DIR *d = open_listing_of(w, k, e);
		struct dirent *at;

		if (!d)
			return -1;
		while ((at = readdir(d)) != NULL) {
			found = mem_grow(found, &cap, count + 1, sizeof *found);
			count += describe_directory(w, k, at->d_name, &found[count]);
		}
		closedir(d);
	}
	mem_sort(found, count, sizeof *found, compare_workspaces);
	if (count)
		workspace_recall_ends(w, found, count, compare_workspaces);
	*ret = STEAL(found);
	*n = count;
	return 0;
}

static int open_workspace(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_CLOSE int fd =
		openat(w->kind[kind], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return workspace_check_image(w, kind, name, fd, e) < 0 ? -1 : steal_fd(&fd);
	if (errno == ENOENT)
		return err_set(
			e, ERR_NOT_FOUND, "there is no %s %s", workspace_kind_name(kind), name);
	if (errno == ENOTDIR || errno == ELOOP)
		return err_set(e, ERR_REFUSED, "%s %s is no longer a directory",
			workspace_kind_name(kind), name);
	return err_sys(e, errno, "cannot open %s %s", workspace_kind_name(kind), name);
}

int workspace_enter(struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	struct err why = ERR_INIT;
	int fd;

	if (workspaces_check_name(name, e) < 0)
		return -1;
	fd = open_workspace(w, kind, name, &why);
	if (fd >= 0)
		return fd;
	/* It may be out of its place, or not mounted yet: then, and only then, who changes the tree is waited for. */
	if (w->recovered || (why.kind != ERR_NOT_FOUND && why.kind != ERR_CONFLICT))
		return err_copy(e, &why);
	if (workspaces_lock(w, e) < 0)
		return -1;
	flock(w->fd, LOCK_UN);
	return open_workspace(w, kind, name, e);
}
