/* move.c - moves across file systems: copies, then removes exactly what was copied and has not changed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/common/paths.h"
#include "files/common/token.h"
#include "files/files.h"

static bool is_unchanged(const struct stat *was, const struct stat *now)
{
	if (!path_is_same(was, now) || (was->st_mode & S_IFMT) != (now->st_mode & S_IFMT))
		return false;
	/* Another name of the same file that went is a change of this one, too. */
	return S_ISDIR(was->st_mode) ||
		(was->st_size == now->st_size && stat_mtime_ns(was) == stat_mtime_ns(now) &&
			(was->st_nlink > 1 || stat_ctime_ns(was) == stat_ctime_ns(now)));
}

/* false: it is still there. */
static bool take_one_away(struct files_root *r, const struct copied *c)
{
	const char *leaf;
	struct err why = ERR_INIT;
	AUTO_CLOSE int dir = path_parent_to_change(r, c->path, NULL, &leaf, &why);
	int flag = S_ISDIR(c->st.st_mode) ? AT_REMOVEDIR : 0;
	struct stat now;

	if (dir < 0)
		return why.kind == ERR_NOT_FOUND;
	if (fstatat(dir, leaf, &now, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (!is_unchanged(&c->st, &now))
		return false;
	if (unlinkat(dir, leaf, flag) == 0)
		return true;
	/* Our own directory that we may not write: give ourselves the right first, as a deletion does. */
	return errno == EACCES && fchmodat(dir, ".", 0700, 0) == 0 &&
		unlinkat(dir, leaf, flag) == 0;
}

size_t copied_take_away(
	struct files_root *from_root, const struct copied_list *l, const char **ret_first)
{
	size_t kept = 0;

	*ret_first = NULL;
	/* From the inner ones out.  A directory stays because something in it does: that one is what counts, where it is known. */
	for (size_t i = l->n; i-- > 0;) {
		if (take_one_away(from_root, &l->v[i]))
			continue;
		if (!*ret_first || !S_ISDIR(l->v[i].st.st_mode))
			*ret_first = l->v[i].path;
		kept += !S_ISDIR(l->v[i].st.st_mode) || !kept;
	}
	return kept;
}

void copied_release(struct copied_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	*l = (struct copied_list){0};
}

int files_move_between(struct files *f, struct files_root *from_root, const char *from,
	struct files_root *to_root, const char *to, const struct files_copy_options *o,
	struct files_tree_totals *totals, struct err *e)
{
	struct copied_list noted = {0};
	struct files_tree_totals gone;
	const char *first;
	size_t kept;
	int rc;

	*totals = (struct files_tree_totals){0};
	if (files_check_going(from_root, from, "moved", e))
		return -1;
	rc = files_copy_noting(f, from_root, from, to_root, to, o, &noted, totals, e);
	if (rc < 0) {
		/* What somebody else put there, or it is under another name, stays. */
		if (totals->made)
			files_delete(f, to_root, to, true, &gone, NULL);
		copied_release(&noted);
		return -1;
	}
	kept = copied_take_away(from_root, &noted, &first);
	if (totals->special)
		rc = err_set(e, ERR_FAILED,
			"%.150s was copied to %.150s, but sockets and devices cannot be (%" PRIu64
			"): they remain at the source",
			from, to, totals->special);
	else if (kept)
		rc = err_set(e, ERR_CONFLICT,
			"%.120s was copied to %.120s, but %.120s changed in the meantime (%zu in all): changed files remain at the source",
			from, to, first, kept);
	copied_release(&noted);
	return rc;
}
