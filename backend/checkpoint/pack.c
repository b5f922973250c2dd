/* pack.c - stores file contents in packs and reads them back. */
#include "checkpoint/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#define LARGE (64u << 10) /* from here on a reflink is worth its call */

void pack_init(struct pack *p, int fd, uint32_t serial)
{
	*p = (struct pack){.fd = fd, .serial = serial};
	pthread_mutex_init(&p->lock, NULL);
}

void pack_release(struct pack *p)
{
	free(p->known);
	pthread_mutex_destroy(&p->lock);
}

void hands_init(struct pack_hands *h)
{
	h->hasher = hasher_new();
	h->buf = xmalloc(PACK_BUFFER);
}

void hands_release(struct pack_hands *h)
{
	hasher_free(h->hasher);
	free(h->buf);
}

/* --- what is known already --- */

static struct object *find_object(struct object *known, size_t size, const uint8_t *hash)
{
	uint64_t at;

	memcpy(&at, hash, sizeof at);
	for (;; at++) {
		struct object *o = &known[at & (size - 1)];

		if (!o->used || memcmp(o->hash, hash, HASH_BYTES) == 0)
			return o;
	}
}

static void grow_known(struct pack *p)
{
	size_t size = p->size ? p->size * 2 : 1024;
	struct object *bigger = xcalloc(size, sizeof *bigger);

	for (size_t i = 0; i < p->size; i++)
		if (p->known[i].used)
			*find_object(bigger, size, p->known[i].hash) = p->known[i];
	free(p->known);
	p->known = bigger;
	p->size = size;
}

/* Under the lock. */
static void learn_object(struct pack *p, const struct entry *x)
{
	struct object *o;

	if (p->n * 2 >= p->size)
		grow_known(p);
	o = find_object(p->known, p->size, x->hash);
	if (o->used)
		return;
	*o = (struct object){
		.offset = x->offset, .stored = x->stored, .pack = x->pack, .used = true};
	memcpy(o->hash, x->hash, HASH_BYTES);
	p->n++;
}

void pack_know(struct pack *p, const struct manifest *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (S_ISREG(m->entry[i].mode) && m->entry[i].stored > 0)
			learn_object(p, &m->entry[i]);
}

static bool recall_object(struct pack *p, struct entry *x)
{
	const struct object *o;

	pthread_mutex_lock(&p->lock);
	o = p->size ? find_object(p->known, p->size, x->hash) : NULL;
	if (o && o->used && o->stored == x->stored) {
		x->pack = o->pack;
		x->offset = o->offset;
	} else {
		o = NULL;
	}
	pthread_mutex_unlock(&p->lock);
	return o != NULL;
}

static void keep_object(struct pack *p, const struct entry *x)
{
	pthread_mutex_lock(&p->lock);
	learn_object(p, x);
	pthread_mutex_unlock(&p->lock);
	atomic_fetch_add(&p->stored, x->stored);
}

/* --- bytes --- */

static int write_fully(int fd, const char *buf, size_t n, uint64_t at)
{
	while (n > 0) {
		ssize_t did = pwrite(fd, buf, n, (off_t)at);

		if (did < 0 && errno == EINTR)
			continue;
		if (did < 0)
			return -1;
		buf += did;
		at += (uint64_t)did;
		n -= (size_t)did;
	}
	return 0;
}

static uint64_t reserve_range(struct pack *p, uint64_t n)
{
	uint64_t at = atomic_load(&p->end), from;

	do {
		from = n >= LARGE ? (at + PACK_BLOCK - 1) / PACK_BLOCK * PACK_BLOCK : at;
	} while (!atomic_compare_exchange_weak(&p->end, &at, from + n));
	return from;
}

/* What is not needed after all gives its blocks back, where that is to be had. */
static void forget_range(struct pack *p, uint64_t from, uint64_t n)
{
	int saved = errno;

	if (n >= LARGE)
		fallocate(p->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)n);
	errno = saved;
}

/* Whole blocks of `from` at `at` become `to`'s at `where`: how many bytes, 0 where it cannot be. */
static uint64_t link_blocks(int from, uint64_t at, uint64_t n, int to, uint64_t where)
{
	struct file_clone_range range = {.src_fd = from,
		.src_offset = at,
		.src_length = n / PACK_BLOCK * PACK_BLOCK,
		.dest_offset = where};

	if (range.src_length == 0 || at % PACK_BLOCK || where % PACK_BLOCK)
		return 0;
	return ioctl(to, FICLONERANGE, &range) == 0 ? range.src_length : 0;
}

/* `n` bytes of the file from `from` on into the pack at `at` (or nowhere), and into the hash.  Fewer
 * where the file ends before; -1 and errno. */
static int64_t copy_hashed(
	struct pack *p, struct pack_hands *h, int file, uint64_t from, uint64_t n, uint64_t at)
{
	uint64_t linked = 0, done = 0;

	if (p && n >= LARGE && !atomic_load(&p->no_reflink)) {
		linked = link_blocks(file, from, n, p->fd, at);
		if (linked == 0)
			atomic_store(&p->no_reflink, true);
	}
	while (done < n) {
		bool here = done < linked;
		uint64_t left = here ? linked - done : n - done;
		size_t want = left > PACK_BUFFER ? PACK_BUFFER : (size_t)left;
		ssize_t got = here ? file_fill_at(p->fd, h->buf, want, (off_t)(at + done))
				   : file_fill_at(file, h->buf, want, (off_t)(from + done));

		if (got < 0)
			return -1;
		hasher_add(h->hasher, h->buf, (size_t)got);
		if (!here && p && write_fully(p->fd, h->buf, (size_t)got, at + done) < 0)
			return -1;
		done += (uint64_t)got;
		if ((size_t)got < want)
			break;
	}
	return (int64_t)done;
}

/* --- putting --- */

static int put_small(struct pack *p, struct pack_hands *h, int file, struct entry *x)
{
	ssize_t n = file_fill_at(file, h->buf, (size_t)x->size, 0);

	if (n < 0)
		return -1;
	x->size = x->stored = (uint64_t)n;
	hasher_begin(h->hasher);
	hasher_add(h->hasher, h->buf, (size_t)n);
	hasher_end(h->hasher, x->hash);
	if (!p || n == 0 || recall_object(p, x))
		return 0;
	x->pack = p->serial;
	x->offset = reserve_range(p, x->stored);
	if (write_fully(p->fd, h->buf, (size_t)n, x->offset) < 0)
		return -1;
	keep_object(p, x);
	return 0;
}

/* Settle an object that was written at x->offset before its hash was known. */
static void settle_object(struct pack *p, struct entry *x, uint64_t reserved)
{
	struct entry there = *x;

	if (!p)
		return;
	if (recall_object(p, &there)) {
		forget_range(p, x->offset, reserved);
		x->offset = there.offset;
		x->pack = there.pack;
	} else {
		keep_object(p, x);
	}
}

static int put_large(struct pack *p, struct pack_hands *h, int file, struct entry *x)
{
	uint64_t reserved = x->size;
	int64_t n;

	x->pack = p ? p->serial : 0;
	x->offset = p ? reserve_range(p, reserved) : 0;
	hasher_begin(h->hasher);
	n = copy_hashed(p, h, file, 0, reserved, x->offset);
	if (n < 0)
		return -1;
	hasher_end(h->hasher, x->hash);
	x->size = x->stored = (uint64_t)n;
	settle_object(p, x, reserved);
	return 0;
}

struct extent *pack_extents(int file, uint64_t size, uint32_t *n)
{
	struct extent *list = NULL;
	size_t cap = 0;
	off_t at = 0;

	*n = 0;
	while ((uint64_t)at < size) {
		off_t from = lseek(file, at, SEEK_DATA), to;

		if (from < 0 && errno == ENXIO)
			break;
		to = from < 0 ? -1 : lseek(file, from, SEEK_HOLE);
		if (from < 0 || to <= from || *n == EXTENTS_MAX) {
			free(list);
			*n = UINT32_MAX;
			return NULL;
		}
		if ((uint64_t)from >= size)
			break;
		if ((uint64_t)to > size)
			to = (off_t)size;
		list = mem_grow(list, &cap, *n + 1, sizeof *list);
		list[(*n)++] = (struct extent){(uint64_t)from, (uint64_t)(to - from)};
		at = to;
	}
	return list;
}

static int put_extents(struct pack *p, struct pack_hands *h, int file, struct entry *x,
	const struct extent *list, uint32_t n)
{
	uint64_t count = n, table = sizeof count + n * sizeof *list, at, all = table;

	/* So that every extent can be a reflink. */
	for (uint32_t i = 0; i < n; i++)
		all = (all + PACK_BLOCK - 1) / PACK_BLOCK * PACK_BLOCK + list[i].length;
	x->flags |= ENTRY_SPARSE;
	x->stored = all;
	x->pack = p ? p->serial : 0;
	x->offset = p ? reserve_range(p, all < LARGE ? LARGE : all) : 0;
	hasher_begin(h->hasher);
	hasher_add(h->hasher, &count, sizeof count);
	if (n)
		hasher_add(h->hasher, list, n * sizeof *list);
	if (p &&
		(write_fully(p->fd, (const char *)&count, sizeof count, x->offset) < 0 ||
			write_fully(p->fd, (const char *)list, n * sizeof *list,
				x->offset + sizeof count) < 0))
		return -1;
	at = table;
	for (uint32_t i = 0; i < n; i++) {
		static const char zeros[PACK_BLOCK];
		uint64_t gap = (PACK_BLOCK - at % PACK_BLOCK) % PACK_BLOCK;
		int64_t did;

		hasher_add(h->hasher, zeros, (size_t)gap);
		at += gap;
		did = copy_hashed(p, h, file, list[i].from, list[i].length, x->offset + at);
		if (did < 0)
			return -1;
		if ((uint64_t)did < list[i].length) {
			errno = EAGAIN; /* cut short while it was read: once more */
			return -1;
		}
		at += list[i].length;
	}
	hasher_end(h->hasher, x->hash);
	settle_object(p, x, all);
	return 0;
}

int pack_put(struct pack *p, struct pack_hands *h, int file, struct entry *x)
{
	struct stat st;
	struct extent *list;
	uint32_t n = 0;
	int rc;

	if (fstat(file, &st) < 0)
		return -1;
	x->flags &= ~(uint32_t)ENTRY_SPARSE;
	x->size = (uint64_t)st.st_size;
	if ((uint64_t)st.st_blocks * 512 < x->size && x->size > PACK_BLOCK) {
		list = pack_extents(file, x->size, &n);
		if (n == UINT32_MAX || (n == 1 && list[0].length == x->size)) {
			free(list);
		} else {
			rc = put_extents(p, h, file, x, list, n);
			free(list);
			return rc;
		}
	}
	return x->size <= PACK_BUFFER ? put_small(p, h, file, x) : put_large(p, h, file, x);
}

/* --- taking --- */

int pack_check(int fd, struct pack_hands *h, const struct entry *x)
{
	uint8_t hash[HASH_BYTES];
	uint64_t at = 0;

	hasher_begin(h->hasher);
	while (at < x->stored) {
		uint64_t left = x->stored - at;
		size_t want = left > PACK_BUFFER ? PACK_BUFFER : (size_t)left;
		ssize_t got = file_fill_at(fd, h->buf, want, (off_t)(x->offset + at));

		if (got < 0)
			return -1;
		if ((size_t)got < want)
			break;
		hasher_add(h->hasher, h->buf, want);
		at += want;
	}
	hasher_end(h->hasher, hash);
	if (at == x->stored && memcmp(hash, x->hash, HASH_BYTES) == 0)
		return 0;
	errno = EBADMSG;
	return -1;
}

static int copy_out(int fd, struct pack_hands *h, uint64_t from, uint64_t n, int file, uint64_t at,
	bool reflink)
{
	uint64_t done = reflink && n >= LARGE ? link_blocks(fd, from, n, file, at) : 0;

	while (done < n) {
		size_t want = n - done > PACK_BUFFER ? PACK_BUFFER : (size_t)(n - done);
		ssize_t got = file_fill_at(fd, h->buf, want, (off_t)(from + done));

		if (got < 0)
			return -1;
		if ((size_t)got < want) {
			errno = EBADMSG;
			return -1;
		}
		if (write_fully(file, h->buf, want, at + done) < 0)
			return -1;
		done += want;
	}
	return 0;
}

int pack_get(int fd, struct pack_hands *h, const struct entry *x, int file, bool reflink)
{
	uint64_t count, at;
	AUTO_FREE struct extent *list = NULL;
	size_t table;

	if (!(x->flags & ENTRY_SPARSE))
		return copy_out(fd, h, x->offset, x->stored, file, 0, reflink);
	errno = EBADMSG;
	if (file_fill_at(fd, &count, sizeof count, (off_t)x->offset) != sizeof count ||
		count > EXTENTS_MAX || x->stored < sizeof count + count * sizeof *list)
		return -1;
	table = (size_t)count * sizeof *list;
	list = xmalloc(table + 1);
	if (file_fill_at(fd, list, table, (off_t)(x->offset + sizeof count)) != (ssize_t)table)
		return -1;
	if (ftruncate(file, (off_t)x->size) < 0)
		return -1;
	at = sizeof count + table;
	for (uint64_t i = 0; i < count; i++) {
		at = (at + PACK_BLOCK - 1) / PACK_BLOCK * PACK_BLOCK;
		if (list[i].from > x->size || list[i].length > x->size - list[i].from ||
			at > x->stored || list[i].length > x->stored - at) {
			errno = EBADMSG;
			return -1;
		}
		if (copy_out(fd, h, x->offset + at, list[i].length, file, list[i].from, reflink) <
			0)
			return -1;
		at += list[i].length;
	}
	return 0;
}
