/* workspace.c - the tree of workspaces: making it, making one in it, listing. */
#include "workspace/room.h"

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

#define UNFINISHED_PREFIX ".new." /* no name of a workspace begins with a dot */

static const struct {
	const char *word, *folder;
} kinds[WORKSPACE_KINDS] = {{"task", "tasks"}, {"project", "projects"}};

static const char *const tree[] = {"tasks", "projects", "shared", "shared/templates",
	"shared/libraries", "shared/datasets", "shared/configs", "shared/inter_task", NULL};

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

const char *workspace_kind_name(enum workspace_kind k)
{
	return kinds[k].word;
}

const char *workspace_kind_folder(enum workspace_kind k)
{
	return kinds[k].folder;
}

static int check_workspace_name(const char *name, struct err *e)
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

static int open_kinds(struct workspaces *w, struct err *e)
{
	for (size_t i = 0; tree[i]; i++)
		if (mkdirat(w->fd, tree[i], 0700) < 0 && errno != EEXIST)
			return err_sys(e, errno, "cannot make %s in %.300s", tree[i], w->dir);
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		w->kind[k] = openat(
			w->fd, kinds[k].folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (w->kind[k] < 0)
			return err_sys(
				e, errno, "cannot open %s in %.300s", kinds[k].folder, w->dir);
	}
	return 0;
}

int workspaces_lock(struct workspaces *w, struct err *e)
{
	while (flock(w->fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock the workspaces in %.400s", w->dir);
	return 0;
}

/* Takes a tree away without following a link; the folder is ours, the names in it are known. */
static int remove_unfinished(struct workspaces *w, int kind, const char *name, struct err *e)
{
	struct files *f = files_open(&(struct files_options){.program = "workspace"});
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", w->kind[kind]);
	struct files_root *r = files_root_open(f, path, e);
	struct files_tree_totals t;
	int rc = r ? files_delete(f, r, name, true, &t, e) : -1;

	files_root_close(r);
	files_close(f);
	return rc;
}

static DIR *open_listing_of(struct workspaces *w, int kind, struct err *e)
{
	AUTO_CLOSE int fd = openat(w->kind[kind], ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d)
		err_sys(e, errno, "cannot read %s in %.400s", kinds[kind].folder, w->dir);
	else
		steal_fd(&fd);
	return d;
}

/* Whoever holds the lock finds only what dead processes left. */
static int recover_kind(struct workspaces *w, int kind, struct err *e)
{
	DIR *d = open_listing_of(w, kind, e);
	struct dirent *at;
	int rc = d ? 0 : -1;

	while (rc == 0 && (at = readdir(d)) != NULL)
		if (!strncmp(at->d_name, UNFINISHED_PREFIX, strlen(UNFINISHED_PREFIX)))
			rc = remove_unfinished(w, kind, at->d_name, e);
	if (d)
		closedir(d);
	return rc;
}

static int recover_workspaces(struct workspaces *w, struct err *e)
{
	int rc = 0;

	if (workspaces_lock(w, e) < 0)
		return -1;
	for (int k = 0; rc == 0 && k < WORKSPACE_KINDS; k++)
		rc = recover_kind(w, k, e);
	flock(w->fd, LOCK_UN);
	return rc;
}

struct workspaces *workspaces_open(const char *dir, struct err *e)
{
	struct workspaces *w = xcalloc(1, sizeof *w);
	struct stat st;

	*w = (struct workspaces){.fd = -1, .kind = {-1, -1}, .dir = xstrdup(dir)};
	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		err_sys(e, errno, "cannot make the folder of workspaces %.400s", dir);
		goto fail;
	}
	w->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->fd < 0 || fstat(w->fd, &st) < 0) {
		err_sys(e, errno, "cannot open the folder of workspaces %.400s", dir);
		goto fail;
	}
	if (st.st_uid != geteuid() || st.st_mode & 0077) {
		err_set(e, ERR_REFUSED,
			"the folder of workspaces %.400s is open to others: it must be "
			"yours, with mode 0700",
			dir);
		goto fail;
	}
	if (open_kinds(w, e) < 0 || recover_workspaces(w, e) < 0)
		goto fail;
	return w;
fail:
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

static int build_workspace(
	struct workspaces *w, const struct workspace_new *n, const char *hidden, struct err *e)
{
	int kind = w->kind[n->kind];
	AUTO_CLOSE int dir = -1;

	if (mkdirat(kind, hidden, 0700) < 0)
		return err_sys(e, errno, "cannot make workspace %s in %.300s", n->name, w->dir);
	dir = openat(kind, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0)
		return err_sys(e, errno, "cannot open workspace %s in %.300s", n->name, w->dir);
	if (n->fill ? n->fill(n->ctx, dir, e) < 0 || rename_context(dir, n, e) < 0
		    : fill_workspace(dir, n, e) < 0)
		return -1;
	if (renameat2(kind, hidden, kind, n->name, RENAME_NOREPLACE) == 0)
		return 0;
	return errno == EEXIST
		? err_set(e, ERR_CONFLICT, "the %s %s already exists", kinds[n->kind].word, n->name)
		: err_sys(e, errno, "cannot put workspace %s into its place", n->name);
}

int workspace_create(struct workspaces *w, const struct workspace_new *n, struct err *e)
{
	char hidden[sizeof UNFINISHED_PREFIX + WORKSPACE_NAME_MAX];
	struct err ignored = ERR_INIT;
	int rc;

	if (check_workspace_name(n->name, e) < 0 || workspaces_lock(w, e) < 0)
		return -1;
	snprintf(hidden, sizeof hidden, UNFINISHED_PREFIX "%s", n->name);
	/* One of its name may have ended; what cannot be forgotten must not end this one. */
	rc = n->kind == WORKSPACE_TASK &&
			faccessat(w->kind[n->kind], n->name, F_OK, AT_SYMLINK_NOFOLLOW) < 0
		? workspace_forget_end(w, n->name, e)
		: 0;
	if (rc == 0)
		rc = build_workspace(w, n, hidden, e);
	/* What cannot be removed now goes at the next opening. */
	if (rc < 0 && faccessat(w->kind[n->kind], hidden, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		remove_unfinished(w, (int)n->kind, hidden, &ignored);
	flock(w->fd, LOCK_UN);
	return rc;
}

/* --- looking --- */

bool workspace_describe(struct workspaces *w, int kind, const char *name, struct workspace_info *i)
{
	struct stat st;

	if (!text_is_plain_name(name, WORKSPACE_NAME_MAX) ||
		fstatat(w->kind[kind], name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
		return false;
	*i = (struct workspace_info){.kind = (enum workspace_kind)kind,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.mode = st.st_mode & 07777,
		.inode = st.st_ino,
		.changed_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec};
	snprintf(i->name, sizeof i->name, "%s", name);
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
			count += workspace_describe(w, k, at->d_name, &found[count]);
		}
		closedir(d);
	}
	if (count)
		qsort(found, count, sizeof *found, compare_workspaces);
	*ret = STEAL(found);
	*n = count;
	return 0;
}

int workspace_enter(struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	int fd;

	if (check_workspace_name(name, e) < 0)
		return -1;
	fd = openat(w->kind[kind], name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	if (errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "there is no %s %s", kinds[kind].word, name);
	if (errno == ENOTDIR || errno == ELOOP)
		return err_set(e, ERR_REFUSED,
			"%s %s is no longer a directory: see what took its place", kinds[kind].word,
			name);
	return err_sys(e, errno, "cannot open %s %s", kinds[kind].word, name);
}
