/*
 * remove.c - deletes and moves trees: one rename hides a tree, then it is deleted.
 *
 * A tree goes into the stage first.  Where that lies on another file system (a mount below the
 * root), it goes into a directory made beside it, and a note in the stage tells recovery of that.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "files/files.h"
#include "files/stage/recover.h"
#include "files/stage/removal.h"

#define LOCK_MS 10000

struct place {
	int dir;
	const char *leaf;
	struct stat st;
	uint64_t key;
};

static int judge_find(const struct files_root *r, const char *path, struct place *p, struct err *e)
{
	struct stat dir;

	p->dir = path_parent_to_change(r, path, NULL, &p->leaf, e);
	if (p->dir < 0)
		return -1;
	if (fstat(p->dir, &dir) < 0)
		return path_error(e, errno, "reach the directory of", path);
	p->key = staging_key(&dir, p->leaf);
	return 0;
}

/* What another process is changing this moment. */
static int refuse_staging(const char *path, struct err *e)
{
	char first[NAME_MAX + 1];
	size_t n;

	while (path[0] == '.' && path[1] == '/')
		path += 2 + strspn(path + 2, "/");
	n = strcspn(path, "/");
	if (n >= sizeof first)
		return 0;
	memcpy(first, path, n);
	first[n] = '\0';
	return staging_is_ours(first)
		? err_set(e, ERR_REFUSED, "%s is berth's staging directory and cannot be removed",
			  first)
		: 0;
}

static int refuse_fixed(const struct files_root *r, const struct stat *st, const char *path,
	const char *verb, struct err *e)
{
	return S_ISDIR(st->st_mode) && path_holds_fixed(r, st)
		? err_set(e, ERR_REFUSED,
			  "%.200s cannot be %s: it is, or holds, something that is read-only here",
			  path, verb)
		: 0;
}

int files_check_going(struct files_root *r, const char *path, const char *verb, struct err *e)
{
	const char *leaf;
	AUTO_CLOSE int dir = -1;
	struct stat st;

	if (refuse_staging(path, e) < 0 ||
		(dir = path_parent_to_change(r, path, NULL, &leaf, e)) < 0)
		return -1;
	return fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0
		? 0
		: refuse_fixed(r, &st, path, verb, e);
}

static int delete_path(struct op *op, struct files_root *r, const char *path, bool recursive,
	struct files_tree_totals *t, struct err *e)
{
	struct place p = {.dir = -1};
	AUTO_CLOSE int dir = -1, lock = -1;
	const struct patience wait = patience(LOCK_MS, op);
	AUTO_STAGING struct staging *s = NULL;
	struct err why = ERR_INIT;
	char away[STAGE_NAME_MAX];

	if (refuse_staging(path, e) < 0 || judge_find(r, path, &p, e) < 0)
		return -1;
	dir = p.dir;
	s = staging_get(r, &wait, &why);
	/* Who deletes makes room: where there is none for a stage it goes where it is. */
	if (!s && why.sys != ENOSPC && why.sys != EDQUOT)
		return err_copy(e, &why);
	if (s && (lock = staging_lock(s, &p.key, 1, &wait, e)) < 0)
		return -1;
	if (fstatat(dir, p.leaf, &p.st, AT_SYMLINK_NOFOLLOW) < 0)
		return path_error(e, errno, "delete", path);
	if (refuse_fixed(r, &p.st, path, "deleted", e) < 0)
		return -1;
	if (!S_ISDIR(p.st.st_mode)) {
		if (unlinkat(dir, p.leaf, 0) < 0)
			return path_error(e, errno, "delete", path);
		t->links += S_ISLNK(p.st.st_mode);
		t->files += !S_ISLNK(p.st.st_mode);
		return 0;
	}
	if (unlinkat(dir, p.leaf, AT_REMOVEDIR) == 0) {
		t->dirs++;
		return 0;
	}
	if (!recursive && (errno == ENOTEMPTY || errno == EEXIST))
		return err_set(e, ERR_REFUSED,
			"%.200s is a directory that is not empty: delete it recursively", path);
	if (!recursive)
		return path_error(e, errno, "delete", path);
	if (op_stopped(op))
		return op_cancelled(e);
	/* From here on it is gone for everybody, whatever interrupts us. */
	if (s)
		stage_name(s, away);
	if (!s)
		remove_in_place(r, dir, p.leaf, op, t);
	else if (removal_hide(dir, p.leaf, s->stage, away) == 0)
		remove_tree(s, s->stage, away, op, t);
	else if (errno == EXDEV) {
		if (remove_beside(s, path, dir, p.leaf, op, t, e) < 0)
			return -1;
	} else if (errno == ENOSPC || errno == EDQUOT) {
		/* No room even for a new name: what is in it goes where it is, piece by piece. */
		remove_tree(s, dir, p.leaf, op, t);
	} else {
		return path_error(e, errno, "delete", path);
	}
	if (op_stopped(op))
		return op_cancelled(e);
	return t->errors ? err_copy(e, &t->first) : 0;
}

int files_delete(struct files *f, struct files_root *r, const char *path, bool recursive,
	struct files_tree_totals *totals, struct err *e)
{
	struct op op;
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], dirs[FORMAT_COUNTED_MAX];
	int rc;

	*totals = (struct files_tree_totals){0};
	op_begin(&op, f, "entries", "delete %s", path);
	rc = delete_path(&op, r, path, recursive, totals, &why);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&op, rc, &why, "Deleted %s, %s.",
		format_counted(files, totals->files + totals->links, "file", "files"),
		format_counted(dirs, totals->dirs, "directory", "directories"));
}

/* Onto another file system. */
static int move_across(const struct op *op, struct files *f, struct files_root *r, const char *from,
	const char *to, bool overwrite, struct files_tree_totals *t, struct err *e)
{
	const struct files_copy_options o = {
		.durable = true, .keep_owner = true, .overwrite = overwrite};
	int rc;

	op_within(op);
	rc = files_move_between(f, r, from, r, to, &o, t, e);
	op_within(NULL);
	return rc;
}

/* Where both are names of one file already a rename does nothing: the old one goes.  Not straight away, because a
 * directory that ignores case may hold but one name, which was both. */
static int drop_old_name(const struct place *a, const struct place *b)
{
	char temporary[64];
	struct stat now;

	if (S_ISDIR(a->st.st_mode) || fstatat(a->dir, a->leaf, &now, AT_SYMLINK_NOFOLLOW) < 0 ||
		!path_is_same(&now, &a->st))
		return 0;
	snprintf(temporary, sizeof temporary, ".berth.%d.move", (int)getpid());
	if (rename_new(a->dir, a->leaf, a->dir, temporary) < 0)
		return -1;
	if (fstatat(b->dir, b->leaf, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return renameat(a->dir, temporary, b->dir, b->leaf);
	return unlinkat(a->dir, temporary, 0);
}

static int move_path(struct op *op, struct files_root *r, const char *from, const char *to,
	bool overwrite, struct err *e)
{
	struct place a = {.dir = -1}, b = {.dir = -1};
	AUTO_CLOSE int dir_a = -1, dir_b = -1, lock = -1;
	const struct patience wait = patience(LOCK_MS, op);
	AUTO_STAGING struct staging *s = NULL;
	uint64_t keys[2];
	bool linked;

	if (refuse_staging(from, e) < 0 || refuse_staging(to, e) < 0 ||
		judge_find(r, from, &a, e) < 0)
		return -1;
	dir_a = a.dir;
	if (judge_find(r, to, &b, e) < 0)
		return -1;
	dir_b = b.dir;
	keys[0] = a.key < b.key ? a.key : b.key;
	keys[1] = a.key < b.key ? b.key : a.key;
	s = staging_get(r, &wait, e);
	if (!s || (lock = staging_lock(s, keys, 2, &wait, e)) < 0)
		return -1;
	if (op_stopped(op))
		return op_cancelled(e);
	if (fstatat(dir_a, a.leaf, &a.st, AT_SYMLINK_NOFOLLOW) < 0)
		return path_error(e, errno, "move", from);
	if (refuse_fixed(r, &a.st, from, "moved", e) < 0)
		return -1;
	linked = fstatat(dir_b, b.leaf, &b.st, AT_SYMLINK_NOFOLLOW) == 0 &&
		path_is_same(&a.st, &b.st) && !(a.key == b.key && !strcmp(a.leaf, b.leaf));
	if ((overwrite ? renameat(dir_a, a.leaf, dir_b, b.leaf)
		       : rename_new(dir_a, a.leaf, dir_b, b.leaf)) == 0 &&
		(!linked || drop_old_name(&a, &b) == 0))
		return 0;
	if (errno == EINVAL)
		return err_set(e, ERR_REFUSED, "%.200s cannot be moved into itself", from);
	return errno == EXDEV ? 1 : path_error(e, errno, "move to", to);
}

int files_move(struct files *f, struct files_root *r, const char *from, const char *to,
	bool overwrite, struct files_tree_totals *totals, struct err *e)
{
	struct op op;
	struct err why = ERR_INIT;
	int rc;

	*totals = (struct files_tree_totals){0};
	op_begin(&op, f, "entries", "move %s", from);
	rc = move_path(&op, r, from, to, overwrite, &why);
	if (rc > 0)
		rc = move_across(&op, f, r, from, to, overwrite, totals, &why);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&op, rc, &why, "Moved to %s.", to);
}
