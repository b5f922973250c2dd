/* manifest.c - entries of a checkpoint in memory and on disk; reading trusts nothing. */
#include "checkpoint/manifest.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>

#define MAGIC "berthck1"
#define ORDER 0x01020304u
#define FILE_MAX_BYTES (8ull << 30)

_Static_assert(sizeof(struct entry) == 136, "an entry has no gaps");
_Static_assert(sizeof(struct header) == 208, "a header has no gaps");

struct hasher {
	EVP_MD_CTX *ctx;
	EVP_MD *md;
	EVP_CIPHER_CTX *keyed; /* or NULL */
};

struct hasher *hasher_new(void)
{
	struct hasher *h = xcalloc(1, sizeof *h);

	h->ctx = EVP_MD_CTX_new();
	h->md = EVP_MD_fetch(NULL, "SHA256", NULL);
	CHECK(h->ctx && h->md);
	return h;
}

/* GMAC: bytes that GCM authenticates and does not encrypt.  Its tags stay in here, so one nonce does for all. */
static const uint8_t nonce[12];
#define TAG_BYTES 16
#define KEYED_AT_ONCE ((size_t)1 << 30)

struct hasher *hasher_new_keyed(const uint8_t key[READBACK_KEY_BYTES])
{
	struct hasher *h = xcalloc(1, sizeof *h);

	h->keyed = EVP_CIPHER_CTX_new();
	CHECK(h->keyed && EVP_EncryptInit_ex(h->keyed, EVP_aes_128_gcm(), NULL, key, nonce) == 1);
	return h;
}

void hasher_free(struct hasher *h)
{
	if (!h)
		return;
	EVP_CIPHER_CTX_free(h->keyed);
	EVP_MD_CTX_free(h->ctx);
	EVP_MD_free(h->md);
	free(h);
}

void hasher_begin(struct hasher *h)
{
	if (h->keyed)
		CHECK(EVP_EncryptInit_ex(h->keyed, NULL, NULL, NULL, nonce) == 1);
	else
		CHECK(EVP_DigestInit_ex2(h->ctx, h->md, NULL) == 1);
}

void hasher_add(struct hasher *h, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	int out;

	if (!h->keyed) {
		CHECK(EVP_DigestUpdate(h->ctx, bytes, n) == 1);
		return;
	}
	while (n > 0) { /* the library takes an int */
		size_t part = n < KEYED_AT_ONCE ? n : KEYED_AT_ONCE;

		CHECK(EVP_EncryptUpdate(h->keyed, NULL, &out, at, (int)part) == 1);
		at += part;
		n -= part;
	}
}

void hasher_end(struct hasher *h, uint8_t hash[HASH_BYTES])
{
	int out;

	if (!h->keyed) {
		CHECK(EVP_DigestFinal_ex(h->ctx, hash, NULL) == 1);
		return;
	}
	memset(hash, 0, HASH_BYTES);
	CHECK(EVP_EncryptFinal_ex(h->keyed, hash, &out) == 1 &&
		EVP_CIPHER_CTX_ctrl(h->keyed, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, hash) == 1);
}

void manifest_init(struct manifest *m)
{
	*m = (struct manifest){.text = STR_INIT};
	str_addc(&m->text, '\0');
}

void manifest_release(struct manifest *m)
{
	free(m->entry);
	free(m->index);
	str_release(&m->text);
	*m = (struct manifest){.text = STR_INIT};
}

struct entry *manifest_add(struct manifest *m)
{
	struct entry *x;

	if (m->n >= ENTRIES_MAX)
		return NULL;
	m->entry = mem_grow(m->entry, &m->cap, m->n + 1, sizeof *m->entry);
	x = &m->entry[m->n];
	*x = (struct entry){.link = (uint32_t)m->n};
	m->n++;
	return x;
}

void manifest_leave_out(struct manifest *m, const bool *out)
{
	AUTO_FREE uint32_t *to = xreallocarray(NULL, m->n, sizeof *to);
	AUTO_FREE uint32_t *first = xreallocarray(NULL, m->n, sizeof *first); /* of an inode */
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->n; i++)
		first[i] = NOWHERE;
	for (uint32_t i = 0; i < m->n; i++) {
		struct entry x = m->entry[i];

		to[i] = NOWHERE;
		if (i && (out[i] || to[x.parent] == NOWHERE))
			continue;
		to[i] = n;
		if (first[x.link] == NOWHERE)
			first[x.link] = n;
		x.link = first[x.link];
		x.parent = i ? to[x.parent] : 0;
		m->entry[n++] = x;
	}
	m->n = n;
}

uint32_t manifest_text(struct manifest *m, const void *bytes, size_t n, struct err *e)
{
	size_t at = m->text.len;

	if (n > UINT32_MAX - 1 || at + n + 1 > UINT32_MAX) {
		err_set(e, ERR_REFUSED,
			"the names and attributes of this tree are more than 4 GiB: no checkpoint can hold them");
		return 0;
	}
	str_add(&m->text, bytes, n);
	str_addc(&m->text, '\0');
	return (uint32_t)at;
}

const char *manifest_attrs(const struct manifest *m, uint32_t i, size_t *n)
{
	attrs_length length;

	*n = 0;
	if (!m->entry[i].attrs)
		return NULL;
	memcpy(&length, m->text.s + m->entry[i].attrs, sizeof length);
	*n = length;
	return m->text.s + m->entry[i].attrs + sizeof length;
}

void manifest_path(const struct manifest *m, uint32_t i, struct str *out)
{
	size_t from, at, n = 0;

	if (i == 0) {
		str_addc(out, '.');
		return;
	}
	for (uint32_t k = i; k != 0; k = m->entry[k].parent)
		n += strlen(manifest_name(m, k)) + 1;
	from = out->len;
	str_reserve(out, n);
	for (at = 0; at < n - 1; at++)
		str_addc(out, '/');
	at = from + n - 1;
	for (uint32_t k = i; k != 0; k = m->entry[k].parent) {
		const char *name = manifest_name(m, k);
		size_t length = strlen(name);

		at -= length;
		memcpy(out->s + at, name, length);
		at--; /* the slash before it */
	}
}

static uint64_t hash_name(uint32_t parent, const char *name)
{
	uint64_t h = hash_string(hash_more(HASH_START, &parent, sizeof parent), name);

	return h ^ h >> 29;
}

void manifest_index(struct manifest *m)
{
	size_t size = 64;

	while (size < m->n * 2)
		size *= 2;
	free(m->index);
	m->index = xreallocarray(NULL, size, sizeof *m->index);
	memset(m->index, 0xff, size * sizeof *m->index);
	m->index_mask = size - 1;
	for (uint32_t i = 1; i < m->n; i++) {
		size_t at = hash_name(m->entry[i].parent, manifest_name(m, i)) & m->index_mask;

		while (m->index[at] != NOWHERE)
			at = (at + 1) & m->index_mask;
		m->index[at] = i;
	}
}

uint32_t manifest_find(const struct manifest *m, uint32_t parent, const char *name)
{
	size_t at;

	if (parent == NOWHERE || !m->index)
		return NOWHERE;
	at = hash_name(parent, name) & m->index_mask;
	for (; m->index[at] != NOWHERE; at = (at + 1) & m->index_mask) {
		uint32_t i = m->index[at];

		if (m->entry[i].parent == parent && strcmp(manifest_name(m, i), name) == 0)
			return i;
	}
	return NOWHERE;
}

bool manifest_same_content(
	const struct manifest *a, uint32_t i, const struct manifest *b, uint32_t k)
{
	const struct entry *x = &a->entry[i], *y = &b->entry[k];

	switch (x->mode & S_IFMT) {
	case S_IFREG:
		return x->size == y->size && x->stored == y->stored &&
			memcmp(x->hash, y->hash, HASH_BYTES) == 0;
	case S_IFLNK: return strcmp(a->text.s + x->target, b->text.s + y->target) == 0;
	case S_IFCHR:
	case S_IFBLK: return x->size == y->size;
	default: return true;
	}
}

bool manifest_same_dress(const struct manifest *a, uint32_t i, const struct manifest *b, uint32_t k)
{
	const struct entry *x = &a->entry[i], *y = &b->entry[k];
	size_t nx, ny;
	const char *ax = manifest_attrs(a, i, &nx), *ay = manifest_attrs(b, k, &ny);

	return x->mode == y->mode && x->uid == y->uid && x->gid == y->gid && nx == ny &&
		(nx == 0 || memcmp(ax, ay, nx) == 0);
}

/* --- on disk --- */

static int write_hashed(int fd, struct hasher *h, const void *bytes, size_t n, struct err *e)
{
	if (h)
		hasher_add(h, bytes, n);
	return file_write(fd, bytes, n) < 0
		? err_sys(e, errno, "cannot write the checkpoint's manifest")
		: 0;
}

int manifest_write(const struct manifest *m, int fd, struct err *e)
{
	struct hasher *h = hasher_new();
	struct header head = m->head;
	uint8_t sum[HASH_BYTES];
	int rc;

	memcpy(head.magic, MAGIC, sizeof head.magic);
	head.order = ORDER;
	head.entry_bytes = sizeof(struct entry);
	head.entries = m->n;
	head.text_bytes = m->text.len;
	hasher_begin(h);
	rc = write_hashed(fd, h, &head, sizeof head, e) < 0 ||
			write_hashed(fd, h, m->entry, m->n * sizeof *m->entry, e) < 0 ||
			write_hashed(fd, h, m->text.s, m->text.len, e) < 0
		? -1
		: 0;
	hasher_end(h, sum);
	hasher_free(h);
	return rc < 0 ? -1 : write_hashed(fd, NULL, sum, sizeof sum, e);
}

/* A name is one component; its end is there, for text ends in a NUL. */
static bool is_entry_name(const struct manifest *m, uint32_t at)
{
	const char *name = m->text.s + at;
	size_t n = strnlen(name, NAME_MAX + 1);

	return n > 0 && n <= NAME_MAX && !memchr(name, '/', n) && strcmp(name, ".") != 0 &&
		strcmp(name, "..") != 0;
}

static bool are_attrs(const struct manifest *m, uint32_t at)
{
	attrs_length all, one;
	const char *p, *end;

	if (m->text.len - at < sizeof all)
		return false;
	memcpy(&all, m->text.s + at, sizeof all);
	p = m->text.s + at + sizeof all;
	if (all > m->text.len - at - sizeof all)
		return false;
	for (end = p + all; p < end; p += one) {
		size_t n = strnlen(p, (size_t)(end - p));

		if (n == 0 || n > NAME_MAX || (size_t)(end - p) - n < 1 + sizeof one)
			return false;
		p += n + 1;
		memcpy(&one, p, sizeof one);
		p += sizeof one;
		if (one > (size_t)(end - p))
			return false;
	}
	return true;
}

static bool is_sound_entry(const struct manifest *m, uint32_t i)
{
	const struct entry *x = &m->entry[i], *up, *first;

	if (x->name >= m->text.len || x->target >= m->text.len || x->attrs >= m->text.len)
		return false;
	if (x->attrs && !are_attrs(m, x->attrs))
		return false;
	if (i == 0)
		return S_ISDIR(x->mode) && x->link == 0 && x->parent == 0 && !*manifest_name(m, 0);
	if (!is_entry_name(m, x->name) || x->parent >= i || x->link > i)
		return false;
	up = &m->entry[x->parent];
	first = &m->entry[x->link];
	if (!S_ISDIR(up->mode) || up->flags & ENTRY_MOUNT)
		return false;
	if (x->link != i &&
		(first->link != x->link || S_ISDIR(x->mode) ||
			(first->mode & S_IFMT) != (x->mode & S_IFMT)))
		return false;
	switch (x->mode & S_IFMT) {
	case S_IFREG:
		return x->offset <= INT64_MAX && x->stored <= INT64_MAX - x->offset &&
			x->size <= INT64_MAX && (x->flags & ENTRY_SPARSE || x->stored == x->size);
	case S_IFLNK: return strnlen(m->text.s + x->target, PATH_MAX) < PATH_MAX;
	case S_IFDIR:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK: return true;
	default: return false;
	}
}

static int refuse_manifest(struct err *e, const char *name, const char *why)
{
	return err_set(e, ERR_FAILED,
		"the checkpoint %.64s is damaged (%s): it cannot be used, only dropped", name, why);
}

bool manifest_is_form(const struct header *h, uint64_t bytes)
{
	return memcmp(h->magic, MAGIC, sizeof h->magic) == 0 && h->order == ORDER &&
		h->entry_bytes == sizeof(struct entry) && h->entries > 0 &&
		h->entries <= ENTRIES_MAX && h->text_bytes > 0 && h->text_bytes <= UINT32_MAX &&
		memchr(h->name, '\0', sizeof h->name) &&
		bytes == sizeof *h + h->entries * sizeof(struct entry) + h->text_bytes + HASH_BYTES;
}

int manifest_parse(struct manifest *m, const char *bytes, size_t n, const char *name, struct err *e)
{
	uint8_t sum[HASH_BYTES];
	struct hasher *h;
	size_t entries;

	manifest_release(m);
	if (n < sizeof m->head)
		return refuse_manifest(e, name, "its manifest is truncated");
	memcpy(&m->head, bytes, sizeof m->head);
	if (!manifest_is_form(&m->head, n))
		return refuse_manifest(e, name, "its manifest has another format");
	h = hasher_new();
	hasher_begin(h);
	hasher_add(h, bytes, n - HASH_BYTES);
	hasher_end(h, sum);
	hasher_free(h);
	if (memcmp(sum, bytes + n - HASH_BYTES, HASH_BYTES) != 0)
		return refuse_manifest(e, name, "its manifest differs from what was written");
	m->n = m->cap = (size_t)m->head.entries;
	entries = m->n * sizeof *m->entry;
	m->entry = xmalloc(entries);
	memcpy(m->entry, bytes + sizeof m->head, entries);
	str_add(&m->text, bytes + sizeof m->head + entries, (size_t)m->head.text_bytes);
	if (m->text.s[0] || m->text.s[m->text.len - 1]) {
		manifest_release(m);
		return refuse_manifest(e, name, "its names are not terminated");
	}
	for (uint32_t i = 0; i < m->n; i++)
		if (!is_sound_entry(m, i)) {
			manifest_release(m);
			return refuse_manifest(e, name, "an entry is invalid");
		}
	return 0;
}

void manifest_info(const struct header *h, struct checkpoint_info *ret)
{
	*ret = (struct checkpoint_info){.serial = h->serial,
		.made_ns = h->begun_ns,
		.files = h->files,
		.dirs = h->dirs,
		.others = h->others,
		.bytes = h->bytes,
		.stored = h->stored,
		.moving = h->moving,
		.gone = h->gone,
		.mounts = h->mounts,
		.unread = h->unread};
	snprintf(ret->name, sizeof ret->name, "%.*s", CHECKPOINT_NAME_MAX, h->name);
}

int manifest_head(struct header *h, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			pread(fd, h, sizeof *h, 0) == sizeof *h &&
			manifest_is_form(h, (uint64_t)st.st_size)
		? 0
		: -1;
}

int manifest_read(struct manifest *m, int fd, const char *name, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	struct header h;
	struct stat st;
	ssize_t got;

	/* The length is checked against the header before memory is asked for. */
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size > FILE_MAX_BYTES ||
		manifest_head(&h, fd) < 0)
		return refuse_manifest(e, name, "its manifest has another format");
	bytes = xmalloc((size_t)st.st_size);
	got = file_fill(fd, bytes, (size_t)st.st_size);
	if (got < 0)
		return err_sys(e, errno, "cannot read the checkpoint %.64s", name);
	return manifest_parse(m, bytes, (size_t)got, name, e);
}
