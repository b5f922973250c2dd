/* trees.c - what a tree holds, to be looked at: a checkpoint, a live one, what a fork began with. */
#include "checkpoint/trees.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "checkpoint/below.h"

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
	if (t->opened) {
		packs_release(&t->packs);
		hands_release(&t->hands);
	}
	manifest_release(&t->m);
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
		e, ERR_NOT_FOUND, "it is not a fork: berth does not know what it began with");
}

struct checkpoint_tree *checkpoint_tree_start(struct checkpoint_store *s, int root, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->fd, START, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct checkpoint_tree *t;
	struct stat st;
	int rc;

	if (fd < 0) {
		if (errno == ENOENT)
			refuse_start(e);
		else
			err_sys(e, errno, "cannot read what the tree began with in %.300s",
				s->name);
		return NULL;
	}
	t = new_tree(s, TREE_NAMES);
	rc = manifest_read(&t->m, fd, START, e);
	/* Of a tree of the same name that is gone. */
	if (rc == 0 &&
		(fstat(root, &st) < 0 || st.st_ino != t->m.head.root_ino ||
			st.st_dev != t->m.head.root_dev))
		rc = refuse_start(e);
	return finish_tree(t, rc);
}

static int write_start(struct checkpoint_store *s, const struct manifest *m, struct err *e)
{
	AUTO_CLOSE int fd = openat(
		s->fd, START ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, errno, "cannot note in %.300s what a fork began with", s->name);
	if (manifest_write(m, fd, e) < 0)
		return -1;
	if (fsync(fd) < 0 || renameat(s->fd, START ".new", s->fd, START) < 0)
		return err_sys(e, errno, "cannot note in %.300s what a fork began with", s->name);
	return 0;
}

int checkpoint_begin(struct checkpoint_store *s, int root, struct checkpoint_store *from,
	const char *name, struct err *e)
{
	struct manifest m;
	struct stat st;
	int rc;

	manifest_init(&m);
	rc = store_load(from, name, &m, e);
	if (rc == 0 && fstat(root, &st) < 0)
		rc = err_sys(e, errno, "cannot look at the fork of %.64s", name);
	if (rc == 0)
		rc = store_lock(s, e);
	if (rc == 0) {
		m.head.root_ino = st.st_ino;
		m.head.root_dev = st.st_dev;
		rc = write_start(s, &m, e);
		store_unlock(s);
	}
	manifest_release(&m);
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

/* --- contents --- */

static void open_packs(struct checkpoint_tree *t)
{
	if (t->opened)
		return;
	packs_init(&t->packs, t->store, &t->m);
	hands_init(&t->hands);
	t->opened = true;
}

static int refuse_length(struct err *e, const struct manifest *m, uint32_t i, uint64_t most)
{
	AUTO_STR struct str path = STR_INIT;

	manifest_path(m, i, &path);
	return err_set(e, ERR_REFUSED, "%.200s is longer than %llu bytes", path.s,
		(unsigned long long)most);
}

/* A pack's object is read only where it is what was stored. */
static int read_stored(struct checkpoint_tree *t, uint32_t i, struct str *ret, struct err *e)
{
	const struct entry *x = &t->m.entry[i];
	AUTO_CLOSE int memory = memfd_create("berth", MFD_CLOEXEC);
	size_t before = ret->len;
	int pack;

	open_packs(t);
	pack = packs_fd(&t->packs, x->pack);
	if (memory < 0)
		return err_sys(e, errno, "cannot read from the checkpoint %s", t->m.head.name);
	if (x->stored &&
		(pack_check(pack, &t->hands, x) < 0 ||
			pack_get(pack, &t->hands, x, memory, false) < 0))
		return errno == EBADMSG || errno == EBADF
			? err_set(e, ERR_FAILED,
				  "the checkpoint %s is damaged: `berth workspace verify` tells more",
				  t->m.head.name)
			: below_error(e, errno, "read", &t->m, i, NULL);
	if (lseek(memory, 0, SEEK_SET) < 0 || file_rest(memory, "memory", x->size, ret, e) < 0)
		return -1;
	return ret->len - before == x->size
		? 0
		: err_set(e, ERR_FAILED, "the checkpoint %s is damaged", t->m.head.name);
}

/* Of a file without holes. */
static bool is_content_of(const struct entry *x, const void *bytes, size_t n)
{
	struct hasher *h;
	uint8_t hash[HASH_BYTES];

	if (x->size != n)
		return false;
	h = hasher_new();
	hasher_begin(h);
	hasher_add(h, bytes, n);
	hasher_end(h, hash);
	hasher_free(h);
	return n == 0 || memcmp(hash, x->hash, HASH_BYTES) == 0;
}

static int read_live(
	struct checkpoint_tree *t, uint32_t i, uint64_t most, struct str *ret, struct err *e)
{
	const struct entry *x = &t->m.entry[i];
	size_t before = ret->len;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (below_goto(t->root, &t->m, x->parent, &t->place) < 0)
		return below_error(e, errno, "read", &t->m, x->parent, NULL);
	fd = below_open_own(
		t->place.fd, manifest_name(&t->m, i), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOATIME);
	if (fd < 0 || fstat(fd, &st) < 0)
		return below_error(e, errno, "read", &t->m, i, NULL);
	if (!S_ISREG(st.st_mode) || st.st_ino != x->ino)
		return below_error(e, ENOENT, "read", &t->m, i, NULL);
	if (file_rest(fd, manifest_name(&t->m, i), most, ret, e) < 0)
		return -1;
	/* Who writes there may set the times back, but the hash tells; of one with holes only the times do. */
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size != x->size ||
		(x->flags & ENTRY_SPARSE ? below_ns(st.st_ctim) != x->ctime_ns
					 : !is_content_of(x, ret->s + before, ret->len - before)))
		return below_error(e, ENOENT, "read", &t->m, i, NULL);
	return 0;
}

int checkpoint_content(struct checkpoint_tree *t, const struct checkpoint_entry *f, uint64_t most,
	struct str *ret, struct err *e)
{
	const struct entry *x = &t->m.entry[f->id];

	if (!S_ISREG(x->mode) || x->flags & ENTRY_MOUNT)
		return below_error(e, EXDEV, "read", &t->m, f->id, NULL);
	if (x->size > most)
		return refuse_length(e, &t->m, f->id, most);
	switch (t->from) {
	case TREE_PACKS: return read_stored(t, f->id, ret, e);
	case TREE_LIVE: return read_live(t, f->id, most, ret, e);
	case TREE_NAMES: break;
	}
	return err_set(e, ERR_NOT_FOUND, "of what a fork began with the contents are not kept");
}

bool checkpoint_has_content(const struct checkpoint_tree *t, const struct checkpoint_entry *f,
	const void *bytes, size_t n)
{
	const struct entry *x = &t->m.entry[f->id];

	return S_ISREG(x->mode) && !(x->flags & (ENTRY_SPARSE | ENTRY_MOUNT)) &&
		is_content_of(x, bytes, n);
}
