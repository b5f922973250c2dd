/*
 * untar.c - unpacks an archive; only the contents come from the tar, and they are verified by hash.
 *
 * Names, types, modes and links come from the manifest, whose every entry is one component below another that
 * is a directory; so no path of the tar can lead anywhere, and no more bytes are written than it says.
 */
#include "checkpoint/tarball.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/mem.h>
#include <berth/sum.h>

#include "checkpoint/below.h"
#include "checkpoint/capture.h"
#include "checkpoint/restore.h"
#include "checkpoint/trees.h"
#include "files/files.h"

#define ENTRIES_OVER (ENTRIES_MAX * 2ull) /* of a tar; further names of inodes are entries, too */

struct untar {
	struct archive *in;
	int file;
	uint64_t at, bytes;
	struct tarball_growth *growth;
	uint64_t entries;
	uint64_t base; /* where in the file that is written a content begins */
	struct hasher *sha, *keyed, *hasher; /* hasher: that of this file */
	char *buf;
};

/* --- bytes --- */

/* How far it may be read; waits until that is further than where we are. */
static uint64_t wait_for_growth(struct untar *u)
{
	uint64_t bytes = u->bytes;

	if (u->growth) {
		pthread_mutex_lock(&u->growth->lock);
		while (u->growth->bytes <= u->at && !u->growth->ended)
			pthread_cond_wait(&u->growth->more, &u->growth->lock);
		bytes = u->growth->bytes;
		pthread_mutex_unlock(&u->growth->lock);
	}
	return bytes;
}

static ssize_t get_packed(struct archive *a, void *ctx, const void **bytes)
{
	struct untar *u = ctx;
	uint64_t left = wait_for_growth(u) - u->at;
	ssize_t n = pread(
		u->file, u->buf, left < PACK_BUFFER ? (size_t)left : PACK_BUFFER, (off_t)u->at);

	if (n < 0) {
		archive_set_error(a, errno, "read");
		return -1;
	}
	u->at += (uint64_t)n;
	*bytes = u->buf;
	return n;
}

struct untar *untar_open(
	int file, uint64_t bytes, struct tarball_growth *growth, struct hasher *keyed)
{
	struct untar *u = xcalloc(1, sizeof *u);

	*u = (struct untar){.file = file,
		.bytes = bytes,
		.growth = growth,
		.in = archive_read_new(),
		.sha = hasher_new(),
		.keyed = keyed,
		.buf = xmalloc(PACK_BUFFER)};
	archive_read_support_format_tar(u->in);
	archive_read_support_filter_zstd(u->in);
	return u;
}

void untar_close(struct untar *u)
{
	if (!u)
		return;
	archive_read_free(u->in);
	hasher_free(u->sha);
	free(u->buf);
	free(u);
}

static int is_no_tar(void)
{
	errno = EBADMSG;
	return -1;
}

/* --- one file --- */

/* The next entry that is a file of its own.  1, 0 at the end, -1 and errno. */
static int next_regular(struct untar *u, struct archive_entry **ret)
{
	if (u->entries == 0 && archive_read_open(u->in, u, NULL, get_packed, NULL) != ARCHIVE_OK)
		return is_no_tar();
	for (;;) {
		int rc = archive_read_next_header(u->in, ret);

		if (rc == ARCHIVE_EOF)
			return 0;
		if (rc < ARCHIVE_WARN || ++u->entries > ENTRIES_OVER)
			return is_no_tar();
		if (archive_entry_filetype(*ret) == AE_IFREG && !archive_entry_hardlink(*ret))
			return 1;
	}
}

/* Into the hash: the table of what is no hole, as a pack's object has it. */
static struct extent *read_extents(struct untar *u, struct archive_entry *entry, uint64_t *count)
{
	struct extent *list = NULL;
	int64_t from, length;
	size_t cap = 0;

	*count = 0;
	archive_entry_sparse_reset(entry);
	while (archive_entry_sparse_next(entry, &from, &length) == ARCHIVE_OK) {
		if (length == 0)
			continue;
		if (*count == EXTENTS_MAX) {
			free(list);
			is_no_tar();
			return NULL;
		}
		list = mem_grow(list, &cap, *count + 1, sizeof *list);
		list[(*count)++] = (struct extent){(uint64_t)from, (uint64_t)length};
	}
	hasher_add(u->hasher, count, sizeof *count);
	if (*count)
		hasher_add(u->hasher, list, *count * sizeof *list);
	return list ? list : xmalloc(1);
}

/* The gap that a pack leaves before each piece. */
static uint64_t hash_gap(struct untar *u, uint64_t at)
{
	static const char zeros[PACK_BLOCK];
	uint64_t gap = (PACK_BLOCK - at % PACK_BLOCK) % PACK_BLOCK;

	hasher_add(u->hasher, zeros, (size_t)gap);
	return at + gap;
}

static int take_block(struct untar *u, int into, const void *bytes, size_t n, int64_t at)
{
	const char *p = bytes;

	hasher_add(u->hasher, bytes, n);
	while (into >= 0 && n > 0) {
		ssize_t did = pwrite(into, p, n, (off_t)u->base + at);

		if (did < 0 && errno == EINTR)
			continue;
		if (did < 0)
			return -1;
		p += did;
		at += did;
		n -= (size_t)did;
	}
	return 0;
}

/* A block and no more: 1, 0 at the end, -1 and errno. */
static int next_block(struct untar *u, const void **bytes, size_t *n, int64_t *at)
{
	int rc = archive_read_data_block(u->in, bytes, n, at);

	if (rc == ARCHIVE_EOF)
		return 0;
	return rc < ARCHIVE_WARN ? is_no_tar() : 1;
}

static int untar_whole(struct untar *u, int into, struct tarball_file *f)
{
	uint64_t done = 0;
	const void *bytes;
	int64_t at;
	size_t n;
	int rc;

	while ((rc = next_block(u, &bytes, &n, &at)) == 1) {
		if ((uint64_t)at != done || n > f->size - done)
			return is_no_tar();
		if (take_block(u, into, bytes, n, at) < 0)
			return -1;
		done += n;
	}
	f->stored = done;
	return rc < 0 || done == f->size ? rc : is_no_tar();
}

/* The bytes of the pieces, whatever blocks they come in. */
static int untar_pieces(struct untar *u, int into, struct tarball_file *f,
	const struct extent *list, uint64_t count)
{
	uint64_t k = 0, done = 0;
	const void *bytes;
	int64_t at;
	size_t n;
	int rc;

	f->stored = sizeof count + count * sizeof *list;
	if (into >= 0 && ftruncate(into, (off_t)(u->base + f->size)) < 0)
		return -1;
	while ((rc = next_block(u, &bytes, &n, &at)) == 1) {
		while (n > 0) {
			size_t part;

			if (k == count || (uint64_t)at != list[k].from + done ||
				list[k].from > f->size || list[k].length > f->size - list[k].from)
				return is_no_tar();
			if (done == 0)
				f->stored = hash_gap(u, f->stored);
			part = n < list[k].length - done ? n : (size_t)(list[k].length - done);
			if (take_block(u, into, bytes, part, at) < 0)
				return -1;
			f->stored += part;
			done += part;
			bytes = (const char *)bytes + part;
			at += (int64_t)part;
			n -= part;
			if (done == list[k].length) {
				k++;
				done = 0;
			}
		}
	}
	return rc < 0 || k == count ? rc : is_no_tar();
}

int untar_next(struct untar *u, int into, uint64_t most, struct tarball_file *ret)
{
	AUTO_FREE struct extent *list = NULL;
	struct archive_entry *entry;
	uint64_t count = 0;
	int rc = next_regular(u, &entry);

	if (rc <= 0)
		return rc;
	*ret = (struct tarball_file){.path = archive_entry_pathname(entry),
		.size = (uint64_t)archive_entry_size(entry),
		.sparse = archive_entry_sparse_count(entry) > 0};
	if (!ret->path || archive_entry_size(entry) < 0 || ret->size > most)
		return is_no_tar();
	u->hasher = u->keyed && !ret->sparse ? u->keyed : u->sha;
	hasher_begin(u->hasher);
	if (ret->sparse)
		list = read_extents(u, entry, &count);
	if (ret->sparse && !list)
		return -1;
	rc = ret->sparse ? untar_pieces(u, into, ret, list, count) : untar_whole(u, into, ret);
	hasher_end(u->hasher, ret->hash);
	return rc < 0 ? -1 : 1;
}

bool untar_is(const struct tarball_file *f, const struct entry *x)
{
	return f->size == x->size && f->stored == x->stored &&
		f->sparse == ((x->flags & ENTRY_SPARSE) != 0) &&
		memcmp(f->hash, x->hash, HASH_BYTES) == 0;
}

/* --- archives --- */

/* Files as they are asked for. */
struct unpacking {
	struct untar *from;
	const struct manifest *m;
	struct str path;
	const char *name;
	struct err err;
};

static int unpack_content(void *ctx, uint32_t i, int into)
{
	struct unpacking *p = ctx;
	struct tarball_file f;
	int rc = untar_next(p->from, into, p->m->entry[i].size, &f);

	str_clear(&p->path);
	manifest_path(p->m, i, &p->path);
	if (rc == 1 && untar_is(&f, &p->m->entry[i]) && strcmp(f.path, p->path.s) == 0)
		return 0;
	if (rc >= 0)
		errno = EBADMSG;
	if (errno == EBADMSG)
		tarball_refuse(&p->err, p->name, "a file in it differs from what was stored");
	else
		below_error(&p->err, errno, "unpack", p->m, i, NULL);
	return -1;
}

/* Nothing follows what the manifest knows of. */
static int expect_tar_end(struct unpacking *p)
{
	struct tarball_file f;

	return untar_next(p->from, -1, 0, &f) == 0
		? 0
		: tarball_refuse(&p->err, p->name, "it contains more than its manifest lists");
}

int checkpoint_archive_verify(int file, const char *name, struct err *e)
{
	struct unpacking p = {.path = STR_INIT, .name = name};
	struct manifest m;
	uint64_t bytes;
	int rc;

	manifest_init(&m);
	rc = tarball_load(file, name, &m, &bytes, e);
	if (rc == 0) {
		p.m = &m;
		p.from = untar_open(file, bytes, NULL, NULL);
		for (uint32_t i = 0; rc == 0 && i < m.n; i++)
			if (tarball_has(&m, i))
				rc = unpack_content(&p, i, -1);
		if (rc == 0)
			rc = expect_tar_end(&p);
		if (rc < 0)
			err_copy(e, &p.err);
		untar_close(p.from);
	}
	str_release(&p.path);
	manifest_release(&m);
	return rc;
}

/* --- some contents --- */

/* One behind the other; what is no wanted file's is NOT_FETCHED. */
static uint32_t place_wanted(struct checkpoint_tree *t, const struct checkpoint_entry *const *files,
	size_t n, bool *want)
{
	uint32_t last = NOWHERE;
	uint64_t at = 0;

	for (size_t k = 0; k < n; k++) {
		const struct entry *x = &t->m.entry[files[k]->id];

		want[x->link] = S_ISREG(x->mode) && tarball_has(&t->m, x->link) &&
			t->m.entry[x->link].size == x->size;
	}
	for (uint32_t i = 0; i < t->m.n; i++) {
		t->fetched[i] = want[i] ? at : NOT_FETCHED;
		sum_add(&at, want[i] ? t->m.entry[i].size : 0);
		last = want[i] ? i : last;
	}
	return last;
}

int checkpoint_archive_fetch(struct checkpoint_tree *t, int file, int scratch,
	const struct checkpoint_entry *const *files, size_t n, struct err *e)
{
	struct unpacking p = {.path = STR_INIT, .name = t->m.head.name, .m = &t->m};
	AUTO_FREE bool *want = xcalloc(t->m.n, sizeof *want);
	struct manifest again;
	uint64_t bytes;
	uint32_t last;
	int rc;

	t->fetched = xcalloc(t->m.n, sizeof *t->fetched);
	t->scratch = scratch;
	t->from = TREE_FETCHED;
	last = place_wanted(t, files, n, want);
	manifest_init(&again);
	rc = last == NOWHERE ? 0 : tarball_load(file, p.name, &again, &bytes, e);
	manifest_release(&again);
	if (rc < 0 || last == NOWHERE)
		return rc;
	p.from = untar_open(file, bytes, NULL, NULL);
	for (uint32_t i = 0; rc == 0 && i <= last; i++) {
		if (!tarball_has(&t->m, i))
			continue;
		p.from->base = want[i] ? t->fetched[i] : 0;
		rc = unpack_content(&p, i, want[i] ? scratch : -1);
	}
	if (rc < 0)
		err_copy(e, &p.err);
	untar_close(p.from);
	str_release(&p.path);
	return rc;
}

/* --- unpacking --- */

struct dropping {
	struct manifest *m;
	checkpoint_dropped_fn *tell;
	void *ctx;
};

static void tell_dropped(const struct dropping *d, uint32_t i, const char *what)
{
	AUTO_STR struct str path = STR_INIT;

	if (!d->tell)
		return;
	manifest_path(d->m, i, &path);
	d->tell(d->ctx, path.s, what);
}

static bool is_harmless_attr(const char *name)
{
	return strncmp(name, "user.", 5) == 0;
}

/* Only attributes that mean nothing to the kernel.  A new text, for entries may share one. */
static bool drop_attrs(struct manifest *m, uint32_t i)
{
	AUTO_STR struct str kept = STR_INIT;
	attrs_length length = 0;
	size_t n;
	const char *all = manifest_attrs(m, i, &n);

	str_add(&kept, &length, sizeof length);
	for (const char *at = all; at < all + n;) {
		size_t used = strlen(at) + 1;

		memcpy(&length, at + used, sizeof length);
		used += sizeof length + length;
		if (is_harmless_attr(at))
			str_add(&kept, at, used);
		at += used;
	}
	if (kept.len == n + sizeof length)
		return false;
	length = (attrs_length)(kept.len - sizeof length);
	memcpy(kept.s, &length, sizeof length);
	m->entry[i].attrs = length ? manifest_text(m, kept.s, kept.len, NULL) : 0;
	return true;
}

static void drop_from_entry(const struct dropping *d, uint32_t i, uid_t uid, gid_t gid)
{
	struct entry *x = &d->m->entry[i];

	if (S_ISCHR(x->mode) || S_ISBLK(x->mode)) {
		x->flags |= ENTRY_MOUNT; /* takes no part */
		tell_dropped(d, i, "a device");
		return;
	}
	if (x->mode & (S_ISUID | S_ISGID)) {
		x->mode &= ~(uint32_t)(S_ISUID | S_ISGID);
		tell_dropped(d, i, "its set-id bits");
	}
	if (x->attrs && drop_attrs(d->m, i))
		tell_dropped(d, i, "its attributes (capabilities, access lists)");
	if (x->uid != uid || x->gid != gid) {
		tell_dropped(d, i, "its owner");
		x->uid = uid;
		x->gid = gid;
	}
}

/* The manifest becomes that of what may pass. */
static void drop_what_may_not_pass(const struct dropping *d)
{
	struct entry *top = &d->m->entry[0];
	uid_t uid = geteuid() == 0 ? top->uid : geteuid();
	gid_t gid = geteuid() == 0 ? top->gid : getegid();

	for (uint32_t i = 0; i < d->m->n; i++)
		drop_from_entry(d, i, uid, gid);
}

static int unpack_tree(
	struct unpacking *p, int root, struct checkpoint_restored *ret, struct err *e)
{
	struct capture how = {.root = root, .pool = pool_new()};
	struct manifest live;
	int rc;

	manifest_init(&live);
	rc = capture_tree(&how, &live, e);
	if (rc == 0 && live.n != 1)
		rc = err_set(e, ERR_CONFLICT, "the directory for %.80s is not empty", p->name);
	if (rc == 0) {
		manifest_index(&live);
		rc = restore_tree(&(struct restore){.pool = how.pool,
					  .root = root,
					  .live = &live,
					  .to = p->m,
					  .get = unpack_content,
					  .ctx = p},
			ret, e);
		if (rc == 0)
			rc = expect_tar_end(p);
		if (p->err.kind)
			err_copy(e, &p->err);
	}
	pool_free(how.pool);
	manifest_release(&live);
	return rc;
}

int checkpoint_unarchive(int file, const char *name, int root, checkpoint_dropped_fn *dropped,
	void *ctx, struct checkpoint_restored *ret, struct err *e)
{
	struct unpacking p = {.path = STR_INIT, .name = name};
	struct manifest m;
	uint64_t bytes;
	int rc;

	manifest_init(&m);
	rc = tarball_load(file, name, &m, &bytes, e);
	if (rc == 0) {
		drop_what_may_not_pass(&(struct dropping){&m, dropped, ctx});
		p.m = &m;
		p.from = untar_open(file, bytes, NULL, NULL);
		rc = unpack_tree(&p, root, ret, e);
		untar_close(p.from);
	}
	str_release(&p.path);
	manifest_release(&m);
	return rc;
}
