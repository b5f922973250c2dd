/* contents.c - reads a recorded file block by block, and fails if it differs from the record. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/hex.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "checkpoint/trees.h"

#define RACY_NS 20000000 /* two ticks of the slowest clock */
#define READ_AGAIN_MAX 8 /* times that a file may change while it is read */

struct checkpoint_reader {
	struct checkpoint_tree *t;
	uint32_t id;
	const struct entry *x;
	int fd;
	bool own;              /* fd is ours to close */
	bool live;             /* fd is the file itself, else its object begins at `base` of it */
	uint64_t base, at;     /* at: in the file */
	struct hasher *hasher; /* NULL: it was checked before */
	uint64_t hashed;       /* bytes of the object */
	bool sparse;
	struct extent *list; /* of a sparse one, and the first that does not end before `at` */
	uint32_t n, next;
};

static int refuse_object(const struct checkpoint_reader *r, struct err *e)
{
	if (r->live)
		return below_error(e, ENOENT, "read", &r->t->m, r->id, NULL);
	return err_set(e, ERR_FAILED,
		"the checkpoint %s is damaged: `berth workspace verify` shows details",
		r->t->m.head.name);
}

static void hash_object(struct checkpoint_reader *r, const void *bytes, size_t n)
{
	if (r->hasher)
		hasher_add(r->hasher, bytes, n);
	r->hashed += n;
}

/* --- beginning --- */

static int open_live(struct checkpoint_reader *r, struct err *e)
{
	struct checkpoint_tree *t = r->t;
	struct stat st;

	r->live = r->own = true;
	if (below_goto(t->root, &t->m, r->x->parent, &t->place) < 0)
		return below_error(e, errno, "read", &t->m, r->x->parent, NULL);
	r->fd = below_open_to_read(t->place.fd, manifest_name(&t->m, r->id));
	if (r->fd < 0 || fstat(r->fd, &st) < 0)
		return below_error(e, errno, "read", &t->m, r->id, NULL);
	return S_ISREG(st.st_mode) && st.st_ino == r->x->ino ? 0 : refuse_object(r, e);
}

static int open_stored(struct checkpoint_reader *r, struct err *e)
{
	struct checkpoint_tree *t = r->t;

	if (!t->opened) {
		packs_init(&t->packs, t->store, &t->m);
		t->opened = true;
	}
	r->base = r->x->offset;
	r->fd = packs_fd(&t->packs, r->x->pack);
	return r->fd >= 0 || !r->x->stored ? 0 : refuse_object(r, e);
}

/* Checked when it was fetched, into a file that is nobody else's. */
static int open_fetched(struct checkpoint_reader *r, struct err *e)
{
	const struct checkpoint_tree *t = r->t;

	r->x = &t->m.entry[r->x->link];
	r->base = t->fetched[r->x->link];
	r->fd = t->scratch;
	return r->base != NOT_FETCHED
		? 0
		: err_set(e, ERR_NOT_FOUND, "that content of the archive was not read");
}

/* In order, none beyond the end of the file. */
static bool are_extents_sound(const struct checkpoint_reader *r)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < r->n; i++) {
		const struct extent *x = &r->list[i];

		if (!x->length || x->from < at || x->from > r->x->size ||
			x->length > r->x->size - x->from)
			return false;
		at = x->from + x->length;
	}
	return true;
}

static bool read_extent_table(struct checkpoint_reader *r, void *to, size_t n)
{
	ssize_t got = n ? pread(r->fd, to, n, (off_t)(r->base + r->hashed)) : 0;

	hash_object(r, to, n);
	return got == (ssize_t)n;
}

/* Where the data of a sparse file are: of the object as it was stored, of a live file as it lies there now. */
static int find_extents(struct checkpoint_reader *r, struct err *e)
{
	uint64_t count = 0;

	r->sparse = true;
	if (r->live) {
		r->list = pack_extents(r->fd, r->x->size, &r->n);
		if (r->n == UINT32_MAX)
			return refuse_object(r, e);
		count = r->n;
		hash_object(r, &count, sizeof count);
		hash_object(r, r->list, r->n * sizeof *r->list);
	} else {
		if (!read_extent_table(r, &count, sizeof count) || count > EXTENTS_MAX)
			return refuse_object(r, e);
		r->n = (uint32_t)count;
		r->list = xcalloc(r->n + 1, sizeof *r->list);
		if (!read_extent_table(r, r->list, r->n * sizeof *r->list))
			return refuse_object(r, e);
	}
	return are_extents_sound(r) ? 0 : refuse_object(r, e);
}

static int begin_reading(struct checkpoint_reader *r, struct err *e)
{
	bool fetched = r->t->from == TREE_FETCHED;
	int rc;

	if (!S_ISREG(r->x->mode) || r->x->flags & ENTRY_MOUNT)
		return below_error(e, r->x->flags & ENTRY_UNREAD ? EACCES : EXDEV, "read", &r->t->m,
			r->id, NULL);
	switch (r->t->from) {
	case TREE_PACKS: rc = open_stored(r, e); break;
	case TREE_LIVE: rc = open_live(r, e); break;
	case TREE_FETCHED: rc = open_fetched(r, e); break;
	default: return err_set(e, ERR_NOT_FOUND, "the initial contents of a fork were not saved");
	}
	if (rc || fetched)
		return rc;
	r->hasher = hasher_new();
	hasher_begin(r->hasher);
	return r->x->flags & ENTRY_SPARSE ? find_extents(r, e) : 0;
}

struct checkpoint_reader *checkpoint_reader_open(
	struct checkpoint_tree *t, const struct checkpoint_entry *x, struct err *e)
{
	struct checkpoint_reader *r = xcalloc(1, sizeof *r);

	*r = (struct checkpoint_reader){.t = t, .id = x->id, .x = &t->m.entry[x->id], .fd = -1};
	if (begin_reading(r, e) == 0)
		return r;
	checkpoint_reader_close(r);
	return NULL;
}

void checkpoint_reader_close(struct checkpoint_reader *r)
{
	if (!r)
		return;
	if (r->own && r->fd >= 0)
		close(r->fd);
	if (r->hasher)
		hasher_free(r->hasher);
	free(r->list);
	free(r);
}

/* --- block by block --- */

/* Who writes there may set the times back, but the hash tells.  Where the holes of a file lie, and so the hash, may
 * change by reading it: then its times tell, unless somebody could write it without a trace in them, or they are so
 * young that a second change might have the same. */
static bool is_as_recorded(struct checkpoint_reader *r)
{
	const struct entry *x = r->x;
	uint8_t hash[HASH_BYTES];
	struct stat st;

	hasher_end(r->hasher, hash);
	if (r->live && (fstat(r->fd, &st) < 0 || (uint64_t)st.st_size != x->size))
		return false;
	if ((x->size == 0 && !r->sparse) || memcmp(hash, x->hash, HASH_BYTES) == 0)
		return true;
	return r->live && r->sparse && !(x->flags & ENTRY_MAPPED) &&
		below_ns(st.st_ctim) == x->ctime_ns &&
		x->ctime_ns < r->t->m.head.begun_ns - RACY_NS;
}

static int end_reading(struct checkpoint_reader *r, struct err *e)
{
	bool good = !r->hasher || is_as_recorded(r);

	if (r->hasher)
		hasher_free(STEAL(r->hasher));
	return good ? 0 : refuse_object(r, e);
}

/* What the object has between two extents, so that each can be a reflink. */
static void pass_gap(struct checkpoint_reader *r)
{
	static const char zeros[PACK_BLOCK];

	hash_object(r, zeros, (PACK_BLOCK - r->hashed % PACK_BLOCK) % PACK_BLOCK);
}

static ssize_t read_data(struct checkpoint_reader *r, void *to, size_t n, struct err *e)
{
	uint64_t from = r->live ? r->at : r->base + r->hashed;
	ssize_t got;

	do {
		got = pread(r->fd, to, n, (off_t)from);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return below_error(e, errno, "read", &r->t->m, r->id, NULL);
	if (got == 0 && r->t->from != TREE_FETCHED)
		return refuse_object(r, e);
	if (got == 0) { /* a hole at its end */
		memset(to, 0, n);
		got = (ssize_t)n;
	}
	hash_object(r, to, (size_t)got);
	return got;
}

ssize_t checkpoint_read(struct checkpoint_reader *r, void *to, size_t n, struct err *e)
{
	const struct extent *x = r->next < r->n ? &r->list[r->next] : NULL;
	uint64_t left = r->x->size - r->at;
	ssize_t got;

	if (left == 0)
		return end_reading(r, e);
	if (r->sparse && (!x || r->at < x->from)) {
		left = x ? x->from - r->at : left;
		n = left < n ? (size_t)left : n;
		memset(to, 0, n);
		r->at += n;
		return (ssize_t)n;
	}
	if (x && r->at == x->from)
		pass_gap(r);
	left = x ? x->from + x->length - r->at : left;
	got = read_data(r, to, left < n ? (size_t)left : n, e);
	if (got < 0)
		return -1;
	r->at += (uint64_t)got;
	r->next += x && r->at == x->from + x->length;
	return got;
}

static int refuse_long(const struct checkpoint_tree *t, uint32_t id, uint64_t most, struct err *e)
{
	AUTO_STR struct str path = STR_INIT;

	manifest_path(&t->m, id, &path);
	return err_set(e, ERR_REFUSED, "%.200s is longer than %llu bytes", path.s,
		(unsigned long long)most);
}

static int read_recorded(
	struct checkpoint_tree *t, const struct checkpoint_entry *x, struct str *ret, struct err *e)
{
	struct checkpoint_reader *r = checkpoint_reader_open(t, x, e);
	size_t before = ret->len;
	ssize_t n = -1;

	if (r) {
		str_reserve(ret, x->size + 1);
		while ((n = checkpoint_read(
				r, ret->s + ret->len, x->size - (ret->len - before), e)) > 0)
			ret->len += (size_t)n;
	}
	checkpoint_reader_close(r);
	if (n < 0)
		ret->len = before;
	return n < 0 ? -1 : 0;
}

/* Until nothing changes meanwhile, or for the last time. */
static int read_settled(int fd, struct stat *st, uint64_t most, struct str *ret)
{
	size_t before = ret->len;

	for (int times = 1;; times++) {
		struct stat after;
		ssize_t n;

		ret->len = before;
		if (fstat(fd, st) < 0)
			return -1;
		if (!S_ISREG(st->st_mode) || (uint64_t)st->st_size > most)
			return 0;
		str_reserve(ret, (size_t)st->st_size + 1);
		n = file_fill_at(fd, ret->s + before, (size_t)st->st_size, 0);
		if (n < 0 || fstat(fd, &after) < 0)
			return -1;
		ret->len = before + (size_t)n;
		if (times == READ_AGAIN_MAX ||
			(below_is_same_reading(st, &after) && n == (ssize_t)st->st_size))
			return 0;
	}
}

/* It is what was read now, and the tree says so from now on. */
static void record_again(struct entry *x, const struct stat *st, const char *bytes, size_t n)
{
	struct hasher *h = hasher_new();

	hasher_begin(h);
	hasher_add(h, bytes, n);
	hasher_end(h, x->hash);
	hasher_free(h);
	x->ino = st->st_ino;
	x->size = x->stored = n;
	x->mode = st->st_mode;
	x->uid = st->st_uid;
	x->gid = st->st_gid;
	below_keep_mtime(x, st->st_mtim);
	x->ctime_ns = 0; /* vouches for nothing */
	x->flags &= ~(uint32_t)ENTRY_SPARSE;
}

/* What has the name of entry `id` by now: it was saved anew since the tree was read. */
static int read_saved(
	struct checkpoint_tree *t, uint32_t id, uint64_t most, struct str *ret, struct err *e)
{
	struct entry *x = &t->m.entry[id];
	size_t before = ret->len;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	below_leave(&t->place);
	if (below_goto(t->root, &t->m, x->parent, &t->place) == 0)
		fd = below_open_to_read(t->place.fd, manifest_name(&t->m, id));
	if (fd < 0 || read_settled(fd, &st, most, ret) < 0)
		return below_error(e, errno, "read", &t->m, id, NULL);
	if (!S_ISREG(st.st_mode))
		return below_error(e, ENOENT, "read", &t->m, id, NULL);
	if ((uint64_t)st.st_size > most)
		return refuse_long(t, id, most, e);
	record_again(x, &st, ret->s + before, ret->len - before);
	return 0;
}

int checkpoint_content(struct checkpoint_tree *t, const struct checkpoint_entry *x, uint64_t most,
	struct str *ret, struct err *e)
{
	struct err why = ERR_INIT;
	int rc;

	if (S_ISREG(x->mode) && x->size > most)
		return refuse_long(t, x->id, most, e);
	rc = read_recorded(t, x, ret, &why);
	if (rc < 0 && t->from == TREE_LIVE && why.kind == ERR_CONFLICT)
		rc = read_saved(t, x->id, most, ret, e);
	else if (rc < 0)
		err_copy(e, &why);
	if (ret->s)
		ret->s[ret->len] = '\0';
	return rc;
}

/* --- is it that one? --- */

struct checkpoint_sum {
	struct hasher *hasher;
	uint64_t bytes;
};

struct checkpoint_sum *checkpoint_sum_new(void)
{
	struct checkpoint_sum *s = xcalloc(1, sizeof *s);

	s->hasher = hasher_new();
	hasher_begin(s->hasher);
	return s;
}

void checkpoint_sum_add(struct checkpoint_sum *s, const void *bytes, size_t n)
{
	hasher_add(s->hasher, bytes, n);
	s->bytes += n;
}

bool checkpoint_sum_is(
	struct checkpoint_sum *s, const struct checkpoint_tree *t, const struct checkpoint_entry *f)
{
	const struct entry *x = &t->m.entry[f->id];
	uint8_t hash[HASH_BYTES];

	hasher_end(s->hasher, hash);
	return S_ISREG(x->mode) && !(x->flags & (ENTRY_SPARSE | ENTRY_MOUNT)) &&
		x->size == s->bytes && (!s->bytes || memcmp(hash, x->hash, HASH_BYTES) == 0);
}

void checkpoint_sum_print(struct checkpoint_sum *s, char hex[65])
{
	uint8_t hash[HASH_BYTES];

	hasher_end(s->hasher, hash);
	hex_text(hex, hash, HASH_BYTES);
}

const uint8_t *checkpoint_hash_of(const struct checkpoint_tree *t, const struct checkpoint_entry *x)
{
	return t->m.entry[x->id].hash;
}

void checkpoint_sum_free(struct checkpoint_sum *s)
{
	if (!s)
		return;
	hasher_free(s->hasher);
	free(s);
}
