/* archive.c - archives, unarchives and removes workspaces. */
#include "workspace/loop_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/leak_blocks.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define FILE_NAME_MAX (sizeof UNFINISHED + WORKSPACE_NAME_MAX + sizeof ARCHIVED)
#define PATH_SHOWN (16 + WORKSPACE_NAME_MAX) /* "tasks/ID" */

struct ending {
	struct workspaces *w;
	int kind, folder; /* of the archives */
	int top;          /* of an image that is out of its place; or -1 */
	const char *name; /* of the workspace */
	char path[PATH_SHOWN], archive[FILE_NAME_MAX], unfinished[FILE_NAME_MAX],
		leaving[FILE_NAME_MAX], hidden[FILE_NAME_MAX];
};

static int begin_ending(struct ending *x, struct workspaces *w, enum workspace_kind kind,
	const char *name, const char *archive, struct err *e)
{
	*x = (struct ending){.w = w, .kind = (int)kind, .name = name, .folder = -1, .top = -1};
	if (workspaces_check_name(name, e) < 0 || workspaces_check_name(archive, e) < 0)
		return -1;
	snprintf(x->path, sizeof x->path, "%s/%s", workspace_kind_folder(kind), name);
	snprintf(x->archive, sizeof x->archive, "%s" ARCHIVED, archive);
	snprintf(x->unfinished, sizeof x->unfinished, UNFINISHED "%s", archive);
	snprintf(x->leaving, sizeof x->leaving, LEAVING "%s", name);
	snprintf(x->hidden, sizeof x->hidden, UNFINISHED "%s", name);
	x->folder = workspaces_archives(w, x->kind, e);
	return x->folder < 0 ? -1 : 0;
}

static void end_ending(struct ending *x)
{
	if (x->folder >= 0)
		close(x->folder);
	if (x->top >= 0)
		close(x->top);
}

/* --- into an archive --- */

static int refuse_taken(const struct ending *x, struct err *e)
{
	return err_set(e, ERR_CONFLICT,
		"an archive %s already exists: give this one another name with --as", x->archive);
}

/* A file under a hidden name, which nobody takes for left behind as long as it is open. */
static int open_unfinished(const struct ending *x, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	int rc;

	if (faccessat(x->folder, x->archive, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return refuse_taken(x, e);
	if (workspaces_lock(x->w, e) < 0)
		return -1;
	fd = openat(x->folder, x->unfinished, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		rc = err_sys(e, errno, "cannot make the archive of %s", x->path);
	else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		rc = err_set(e, ERR_CONFLICT, "%s is already being archived", x->path);
	else
		rc = ftruncate(fd, 0);
	flock(x->w->fd, LOCK_UN);
	return rc < 0 ? -1 : steal_fd(&fd);
}

/* Nobody has it: neither a container of berth's, nor what else is seen to have it mounted. */
static int check_unused(const struct ending *x, int dir, struct err *e)
{
	return workspace_check_free(x->w, (enum workspace_kind)x->kind, x->name, e) < 0
		? -1
		: workspace_check_mounted(dir, x->path, e);
}

/* Is `dir` still what is under the name? */
static int check_in_place(const struct ending *x, int dir, const char *name, struct err *e)
{
	struct stat a, b;

	if (fstat(dir, &a) == 0 &&
		fstatat(x->w->kind[x->kind], name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
		a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return 0;
	return err_set(e, ERR_CONFLICT, "%s was replaced in the meantime", x->path);
}

static int move_workspace(const struct ending *x, const char *from, const char *to, struct err *e)
{
	int kind = x->w->kind[x->kind];

	return renameat2(kind, from, kind, to, RENAME_NOREPLACE) < 0
		? err_sys(e, errno, "cannot move %s away", x->path)
		: 0;
}

/* Nobody finds it any more, and it can still come back. */
static int hide_workspace(struct ending *x, struct err *e)
{
	enum workspace_kind kind = (enum workspace_kind)x->kind;

	if (!workspace_image(x->w, kind, x->name))
		return move_workspace(x, x->name, x->leaving, e);
	x->top = workspace_detach_image(x->w, kind, x->name, e);
	return x->top < 0 ? -1 : 0;
}

static void bring_back(const struct ending *x)
{
	struct err ignored = ERR_INIT;

	if (x->top < 0)
		move_workspace(x, x->leaving, x->name, &ignored);
	else
		workspace_attach_image(
			x->w, (enum workspace_kind)x->kind, x->name, x->top, &ignored);
}

static int give_up_workspace(const struct ending *x, struct err *e)
{
	return x->top < 0 ? move_workspace(x, x->leaving, x->hidden, e)
			  : workspace_drop_image(x->w, (enum workspace_kind)x->kind, x->name, e);
}

/* The archive is whole and on disk; it gets its name, and the workspace loses its own. */
static int replace_by_archive(
	struct ending *x, int dir, const struct checkpoint_tree *holds, struct err *e)
{
	if (check_in_place(x, dir, x->name, e) < 0 || check_unused(x, dir, e) < 0 ||
		hide_workspace(x, e) < 0)
		return -1;
	/* Who was in it already may have written. */
	if (checkpoint_unchanged(holds, dir, e) < 0)
		goto back;
	if (renameat2(x->folder, x->unfinished, x->folder, x->archive, RENAME_NOREPLACE) < 0) {
		if (errno == EEXIST)
			refuse_taken(x, e);
		else
			err_sys(e, errno, "cannot move the archive of %s into place", x->path);
		goto back;
	}
	if (fsync(x->folder) < 0) {
		err_sys(e, errno, "cannot sync the archive of %s", x->path);
		goto back;
	}
	return give_up_workspace(x, e);
back:
	bring_back(x);
	return -1;
}

static int end_archived(
	struct ending *x, int dir, const struct checkpoint_tree *holds, struct err *e)
{
	struct err left = ERR_INIT;
	int rc;

	if (workspaces_lock(x->w, e) < 0)
		return -1;
	rc = replace_by_archive(x, dir, holds, e);
	/* What cannot be removed now goes at the next opening. */
	if (rc == 0) {
		if (x->top < 0)
			workspace_remove_tree(x->w->kind[x->kind], x->hidden, &left);
		if (x->kind == WORKSPACE_TASK)
			workspace_forget_end(x->w, x->name, &left);
	} else if (faccessat(x->folder, x->unfinished, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		unlinkat(x->folder, x->unfinished, 0);
	}
	flock(x->w->fd, LOCK_UN);
	return rc;
}

struct seeking_leaks {
	const struct workspace_archiving *o;
	struct leak_search search; /* of the file in hand */
	bool begun, full;
};

static void seek_leaks(void *ctx, const char *path, const char *bytes, size_t n)
{
	struct seeking_leaks *s = ctx;

	if (!s->begun)
		leak_search_init(&s->search, path, s->o->leak, s->o->ctx);
	s->begun = true;
	if (n && !s->full)
		s->full = !leak_search_add(&s->search, bytes, n);
	if (n)
		return;
	leak_search_end(&s->search);
	leak_search_release(&s->search);
	s->begun = s->full = false;
}

int workspace_archive(struct workspaces *w, const struct workspace_archiving *o,
	struct workspace_archive *ret, struct err *e)
{
	const char *as = o->as ? o->as : o->name;
	struct seeking_leaks leaks = {.o = o};
	struct checkpoint_archiving how = {.name = as,
		.level = o->level,
		.threads = o->threads,
		.look = o->leak ? seek_leaks : NULL,
		.ctx = &leaks};
	AUTO_CLOSE int dir = -1, file = -1;
	struct checkpoint_tree *holds = NULL;
	struct ending x;
	int rc = -1;

	if (begin_ending(&x, w, o->kind, o->name, as, e) == 0 &&
		(dir = workspace_enter(w, o->kind, o->name, e)) >= 0 &&
		check_unused(&x, dir, e) == 0 && workspace_check_removable(dir, x.path, e) == 0 &&
		(file = open_unfinished(&x, e)) >= 0) {
		holds = checkpoint_archive(dir, file, &how, e);
		if (holds)
			rc = end_archived(&x, dir, holds, e);
		else
			unlinkat(x.folder, x.unfinished, 0);
	}
	checkpoint_tree_free(holds);
	if (rc == 0 && ret)
		rc = workspace_show_archive(w, o->kind, as, ret, e);
	end_ending(&x);
	return rc;
}

/* --- and back --- */

struct unpacking_into {
	const struct workspace_unarchiving *o;
	int file;
};

static int fill_from_archive(void *ctx, int dir, struct err *e)
{
	const struct unpacking_into *u = ctx;

	if (checkpoint_unarchive(u->file, u->o->name, dir, u->o->dropped, u->o->ctx, NULL, e) < 0)
		return -1;
	/* The archive goes next. */
	return syncfs(dir) < 0 ? err_sys(e, errno, "cannot sync what was unpacked") : 0;
}

static int open_archive(const struct ending *x, struct err *e)
{
	int fd = openat(x->folder, x->archive, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	return errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "there is no archive of %s", x->path)
			       : err_sys(e, errno, "cannot open the archive of %s", x->path);
}

static int remove_archive(const struct ending *x, struct err *e)
{
	return fsync(x->w->kind[x->kind]) < 0 || unlinkat(x->folder, x->archive, 0) < 0
		? err_sys(e, errno, "%s was restored, but its archive cannot be removed", x->path)
		: 0;
}

int workspace_unarchive(struct workspaces *w, const struct workspace_unarchiving *o, struct err *e)
{
	struct unpacking_into into = {.o = o};
	struct workspace_new n = {.kind = o->kind,
		.name = o->as ? o->as : o->name,
		.now_ms = o->now_ms,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.fill = fill_from_archive,
		.as_it_was = !o->as || !strcmp(o->as, o->name),
		.ctx = &into};
	AUTO_CLOSE int file = -1;
	struct ending x;
	int rc = -1;

	if (begin_ending(&x, w, o->kind, o->name, o->name, e) == 0 &&
		(file = open_archive(&x, e)) >= 0) {
		into.file = file;
		rc = workspace_create(w, &n, e);
		if (rc == 0 && !o->keep)
			rc = remove_archive(&x, e);
	}
	end_ending(&x);
	return rc;
}

/* --- looking --- */

int workspace_verify_archive(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_CLOSE int file = -1;
	struct ending x;
	int rc = -1;

	if (begin_ending(&x, w, kind, name, name, e) == 0 && (file = open_archive(&x, e)) >= 0)
		rc = checkpoint_archive_verify(file, x.path, e);
	end_ending(&x);
	return rc;
}

int workspace_open_archive(struct workspaces *w, enum workspace_kind kind, const char *name,
	int *scratch, struct err *e)
{
	AUTO_CLOSE int file = -1;
	struct ending x;

	*scratch = -1;
	if (begin_ending(&x, w, kind, name, name, e) == 0 && (file = open_archive(&x, e)) >= 0) {
		*scratch = openat(x.folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
		if (*scratch < 0) /* not every file system has it */
			*scratch = memfd_create("berth", MFD_CLOEXEC);
		if (*scratch < 0) {
			close(steal_fd(&file));
			err_sys(e, errno, "cannot make a file to read %s into", x.path);
		}
	}
	end_ending(&x);
	return steal_fd(&file);
}

/* --- for good --- */

static int remove_hidden(const struct ending *x, struct err *e)
{
	struct err why = ERR_INIT;

	if (x->top >= 0 || workspace_remove_tree(x->w->kind[x->kind], x->hidden, &why) == 0)
		return 0;
	return err_set(e, why.kind,
		"%s is gone, but not all of it could be deleted (%.200s); the rest is in a hidden directory in %.300s/%s",
		x->path, why.msg, x->w->dir, workspace_kind_folder((enum workspace_kind)x->kind));
}

int workspace_remove(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_CLOSE int dir = -1;
	struct ending x;
	int rc = begin_ending(&x, w, kind, name, name, e);

	if (rc == 0)
		dir = workspace_enter(w, kind, name, e);
	if (dir < 0 || workspace_check_removable(dir, x.path, e) < 0 || workspaces_lock(w, e) < 0) {
		end_ending(&x);
		return -1;
	}
	if (check_in_place(&x, dir, name, e) < 0 || check_unused(&x, dir, e) < 0 ||
		hide_workspace(&x, e) < 0 || give_up_workspace(&x, e) < 0 ||
		remove_hidden(&x, e) < 0 ||
		(kind == WORKSPACE_TASK && workspace_forget_end(w, name, e) < 0))
		rc = -1;
	flock(w->fd, LOCK_UN);
	end_ending(&x);
	return rc;
}

int workspace_remove_archive(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	struct ending x;
	int rc = begin_ending(&x, w, kind, name, name, e);

	if (rc == 0 && unlinkat(x.folder, x.archive, 0) < 0)
		rc = errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "there is no archive %.80s", name)
				     : err_sys(e, errno, "cannot remove the archive of %s", x.path);
	end_ending(&x);
	return rc;
}
