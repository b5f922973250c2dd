/* trees.c - reads trees: a checkpoint, a live directory, or the initial contents of a fork. */
#include "checkpoint/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "checkpoint/below.h"
#include "checkpoint/capture.h"
#include "files/files.h"

static struct checkpoint_tree *new_tree(struct checkpoint_store *s, enum tree_contents from)
{
	struct checkpoint_tree *t = xcalloc(1, sizeof *t);

	*t = (struct checkpoint_tree){.store = s, .from = from, .root = -1};
	t->place = (struct below_place)BELOW_NO_PLACE;
	manifest_init(&t->m);
	return t;
}

void checkpoint_tree_free(struct checkpoint_tree *t)
{
	if (!t)
		return;
	below_leave(&t->place);
	if (t->opened)
		packs_release(&t->packs);
	manifest_release(&t->m);
	free(t->fetched);
	free(t);
}

static struct checkpoint_tree *finish_tree(struct checkpoint_tree *t, int rc)
{
	if (rc == 0) {
		manifest_index(&t->m);
		return t;
	}
	checkpoint_tree_free(t);
	return NULL;
}

struct checkpoint_tree *checkpoint_tree_of(
	struct checkpoint_store *s, const char *name, struct err *e)
{
	struct checkpoint_tree *t = new_tree(s, TREE_PACKS);

	return finish_tree(t, store_load(s, name, &t->m, e));
}

struct checkpoint_tree *checkpoint_tree_empty(void)
{
	struct checkpoint_tree *t = new_tree(NULL, TREE_NAMES);

	manifest_add(&t->m)->mode = S_IFDIR | 0700;
	return finish_tree(t, 0);
}

struct checkpoint_tree *checkpoint_tree_now(
	struct checkpoint_store *s, int root, const struct checkpoint_options *o, struct err *e)
{
	struct checkpoint_tree *t = new_tree(s, TREE_LIVE);
	int rc = store_lock(s, e);

	t->root = root;
	if (rc == 0) {
		rc = store_survey(s, root, o, &t->m, e);
		store_unlock(s);
	}
	return finish_tree(t, rc);
}

/* --- what a fork began with --- */

static int refuse_start(struct err *e)
{
	return err_set(
		e, ERR_NOT_FOUND, "it is not a fork: berth does not know its initial contents");
}

static struct checkpoint_tree *load_start(
	struct checkpoint_store *s, uint64_t dev, uint64_t ino, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->fd, START, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct checkpoint_tree *t;
	int rc;

	if (fd < 0) {
		if (errno == ENOENT)
			refuse_start(e);
		else
			err_sys(e, errno, "cannot read the initial contents of the tree in %.300s",
				s->name);
		return NULL;
	}
	t = new_tree(s, TREE_NAMES);
	rc = manifest_read(&t->m, fd, START, e);
	/* Of a tree of the same name that is gone. */
	if (rc == 0 && (ino != t->m.head.root_ino || dev != t->m.head.root_dev))
		rc = refuse_start(e);
	return finish_tree(t, rc);
}

struct checkpoint_tree *checkpoint_tree_start(struct checkpoint_store *s, int root, struct err *e)
{
	struct stat st;

	if (fstat(root, &st) < 0) {
		refuse_start(e);
		return NULL;
	}
	return load_start(s, st.st_dev, st.st_ino, e);
}

struct checkpoint_tree *checkpoint_tree_start_of(
	struct checkpoint_store *s, const struct checkpoint_tree *t, struct err *e)
{
	return load_start(s, t->m.head.root_dev, t->m.head.root_ino, e);
}

static int write_start(struct checkpoint_store *s, const struct manifest *m, struct err *e)
{
	AUTO_CLOSE int fd = openat(
		s->fd, START ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, errno, "cannot record in %.300s the initial contents of a fork",
			s->name);
	if (manifest_write(m, fd, e) < 0)
		return -1;
	if (fsync(fd) < 0 || renameat(s->fd, START ".new", s->fd, START) < 0)
		return err_sys(e, errno, "cannot record in %.300s the initial contents of a fork",
			s->name);
	return 0;
}

int store_begin(struct checkpoint_store *s, int root, const struct manifest *m, struct err *e)
{
	struct manifest own = *m;
	struct stat st;
	int rc;

	if (fstat(root, &st) < 0)
		return err_sys(e, errno, "cannot look at the fork of %.64s", m->head.name);
	if (store_lock(s, e) < 0)
		return -1;
	own.head.root_ino = st.st_ino;
	own.head.root_dev = st.st_dev;
	rc = write_start(s, &own, e);
	store_unlock(s);
	return rc;
}

const char *checkpoint_tree_name(const struct checkpoint_tree *t)
{
	return t->m.head.name;
}

bool checkpoint_tree_same(const struct checkpoint_tree *a, const struct checkpoint_tree *b)
{
	const struct header *x = &a->m.head, *y = &b->m.head;

	return x->begun_ns == y->begun_ns && x->serial == y->serial && x->entries == y->entries &&
		x->bytes == y->bytes && memcmp(x->boot, y->boot, sizeof x->boot) == 0 &&
		strcmp(x->name, y->name) == 0;
}

void checkpoint_tree_info(const struct checkpoint_tree *t, struct checkpoint_info *ret)
{
	manifest_info(&t->m.head, ret);
}

bool checkpoint_tree_unread(const struct checkpoint_tree *t, uint32_t *at, struct str *path)
{
	while (++*at < t->m.n)
		if (t->m.entry[*at].flags & ENTRY_UNREAD) {
			manifest_path(&t->m, *at, path);
			return true;
		}
	return false;
}

/* --- what became of it --- */

static int compare_with_live(const struct manifest *was, const struct manifest *live, struct err *e)
{
	AUTO_FREE uint32_t *match = xcalloc(live->n, sizeof *match);

	for (uint32_t i = 0; i < live->n; i++) {
		const struct entry *x = &live->entry[i];
		uint32_t k =
			i == 0 ? 0 : manifest_find(was, match[x->parent], manifest_name(live, i));

		match[i] = k;
		if (k == NOWHERE || !manifest_same_content(was, k, live, i) ||
			!manifest_same_dress(was, k, live, i) ||
			was->entry[k].mtime_ns != x->mtime_ns ||
			was->entry[k].mtime_far != x->mtime_far)
			return below_error(e, ENOENT, "archive", live, i, NULL);
	}
	return live->n == was->n ? 0
				 : err_set(e, ERR_CONFLICT,
					   "something was removed in the meantime: stop what "
					   "writes there, then try again");
}

int checkpoint_unchanged(const struct checkpoint_tree *t, int root, struct err *e)
{
	struct capture how = {.root = root, .base = &t->m, .pool = pool_new(), .whole = true};
	struct manifest live;
	int rc;

	manifest_init(&live);
	rc = capture_tree(&how, &live, e);
	if (rc == 0)
		rc = compare_with_live(&t->m, &live, e);
	pool_free(how.pool);
	manifest_release(&live);
	return rc;
}
