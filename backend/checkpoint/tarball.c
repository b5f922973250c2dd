/*
 * tarball.c - writes a directory tree into an archive.
 *
 * The tree is listed, then every file is read once: hashed, looked at and written in one go.  A second thread
 * reads the archive back while it grows, so that checking it costs little time where there are two processors: it
 * is compared under a key, for SHA-256 twice over everything is what took the longest after compressing.
 */
#include "checkpoint/tarball.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "checkpoint/below.h"
#include "checkpoint/capture.h"
#include "checkpoint/trees.h"
#include "files/files.h"

#define AHEAD (8u << 20) /* bytes after which the kernel is told to begin writing them */
#define TEXT_SEEN (8u << 10)

/* What was read back: of each file in the tar, and all of their paths. */
struct read_back {
	struct untar *from;
	struct tarball_file *file;
	size_t n, cap;
	struct hasher *paths, *keyed;
	int rc, sys;
};

struct tarring {
	struct archive *out;
	int file;
	const struct checkpoint_archiving *o;
	struct pack_hands hands;
	struct str path;
	bool begun; /* all but the files is written */
	enum {
		SHOWN_NOTHING,
		SHOWN_NAME,
		SHOWN_TEXT
	} shown;                         /* of the file in hand, to the caller */
	uint8_t key[READBACK_KEY_BYTES]; /* nobody else's, of this archive */
	struct hasher *keyed;
	uint8_t (*written)
		[HASH_BYTES]; /* of each entry that is a file without holes: what is to be read back */
	uint64_t flushed;
	struct tarball_growth growth;
	struct read_back back;
	pthread_t reader;
	bool reading;
};

/* --- bytes --- */

static ssize_t put_packed(struct archive *a, void *ctx, const void *bytes, size_t n)
{
	struct tarring *t = ctx;

	if (file_write(t->file, bytes, n) < 0) {
		archive_set_error(a, errno, "write");
		return -1;
	}
	pthread_mutex_lock(&t->growth.lock);
	t->growth.bytes += n;
	pthread_cond_signal(&t->growth.more);
	pthread_mutex_unlock(&t->growth.lock);
	if (t->growth.bytes - t->flushed >= AHEAD) {
		sync_file_range(t->file, (off_t)t->flushed, (off_t)(t->growth.bytes - t->flushed),
			SYNC_FILE_RANGE_WRITE);
		t->flushed = t->growth.bytes;
	}
	return (ssize_t)n;
}

static int refuse_write(struct tarring *t, struct err *e)
{
	int sys = archive_errno(t->out);

	if (sys == ENOSPC || sys == EDQUOT)
		return err_sys(e, sys,
			"not enough space for the archive of %.64s; nothing was changed",
			t->o->name);
	return err_sys(e, sys > 0 ? sys : EIO, "cannot write the archive of %.64s", t->o->name);
}

/* --- entries --- */

static struct archive_entry *describe_entry(struct tarring *t, const struct manifest *m, uint32_t i)
{
	struct archive_entry *entry = archive_entry_new();
	const struct entry *x = &m->entry[i];
	const char *attrs, *end;
	size_t n;

	str_clear(&t->path);
	manifest_path(m, i, &t->path);
	archive_entry_set_pathname(entry, t->path.s);
	archive_entry_set_mode(entry, x->mode);
	archive_entry_set_uid(entry, x->uid);
	archive_entry_set_gid(entry, x->gid);
	archive_entry_set_mtime(entry, below_mtime(x).tv_sec, below_mtime(x).tv_nsec);
	archive_entry_set_size(entry, S_ISREG(x->mode) ? (int64_t)x->size : 0);
	if (S_ISLNK(x->mode))
		archive_entry_set_symlink(entry, m->text.s + x->target);
	if (S_ISCHR(x->mode) || S_ISBLK(x->mode))
		archive_entry_set_rdev(entry, x->size);
	attrs = manifest_attrs(m, i, &n);
	for (end = attrs ? attrs + n : NULL; attrs < end;) {
		const char *name = attrs;
		attrs_length length;

		attrs += strlen(name) + 1;
		memcpy(&length, attrs, sizeof length);
		attrs += sizeof length;
		archive_entry_xattr_add_entry(entry, name, attrs, length);
		attrs += length;
	}
	return entry;
}

static int put_described(struct tarring *t, struct archive_entry *entry, struct err *e)
{
	int rc = archive_write_header(t->out, entry);

	archive_entry_free(entry);
	return rc < ARCHIVE_WARN ? refuse_write(t, e) : 0;
}

static int tar_others(struct tarring *t, const struct manifest *m, struct err *e)
{
	t->begun = true;
	t->written = xcalloc(m->n, sizeof *t->written);
	for (uint32_t i = 1; i < m->n; i++) {
		const struct entry *x = &m->entry[i];

		if (S_ISREG(x->mode) || S_ISSOCK(x->mode) || x->link != i || x->flags & ENTRY_MOUNT)
			continue;
		if (put_described(t, describe_entry(t, m, i), e) < 0)
			return -1;
	}
	return 0;
}

static int tar_names(struct tarring *t, const struct manifest *m, struct err *e)
{
	AUTO_STR struct str first = STR_INIT;

	for (uint32_t i = 1; i < m->n; i++) {
		const struct entry *x = &m->entry[i];
		struct archive_entry *entry;

		if (x->link == i || S_ISSOCK(x->mode) || x->flags & ENTRY_MOUNT)
			continue;
		str_clear(&first);
		manifest_path(m, x->link, &first);
		entry = describe_entry(t, m, i);
		archive_entry_set_size(entry, 0);
		archive_entry_set_hardlink(entry, first.s);
		if (put_described(t, entry, e) < 0)
			return -1;
	}
	return 0;
}

/* --- files --- */

static int put_data(struct tarring *t, const void *bytes, size_t n, struct err *e)
{
	return archive_write_data(t->out, bytes, n) == (la_ssize_t)n ? 0 : refuse_write(t, e);
}

/* The next block of the file, in the buffer; of what is not text only its first byte, for the name. */
static void show_content(struct tarring *t, size_t n)
{
	if (!t->o->look || n == 0 || t->shown == SHOWN_NAME)
		return;
	if (t->shown == SHOWN_NOTHING && memchr(t->hands.buf, '\0', n < TEXT_SEEN ? n : TEXT_SEEN))
		t->shown = SHOWN_NAME;
	else
		t->shown = SHOWN_TEXT;
	t->o->look(t->o->ctx, t->path.s, t->hands.buf, t->shown == SHOWN_NAME ? 1 : n);
}

static void end_showing(struct tarring *t)
{
	if (t->shown)
		t->o->look(t->o->ctx, t->path.s, "", 0);
	t->shown = SHOWN_NOTHING;
}

static int tar_whole(struct tarring *t, struct manifest *m, uint32_t i, int file, struct err *e)
{
	struct entry *x = &m->entry[i];
	uint64_t at = 0;

	if (put_described(t, describe_entry(t, m, i), e) < 0)
		return -1;
	hasher_begin(t->hands.hasher);
	hasher_begin(t->keyed);
	while (at < x->size) {
		uint64_t left = x->size - at;
		ssize_t n = file_fill(
			file, t->hands.buf, left < PACK_BUFFER ? (size_t)left : PACK_BUFFER);

		if (n <= 0)
			return below_error(e, n < 0 ? errno : ENOENT, "read", m, i, NULL);
		hasher_add(t->hands.hasher, t->hands.buf, (size_t)n);
		hasher_add(t->keyed, t->hands.buf, (size_t)n);
		show_content(t, (size_t)n);
		if (put_data(t, t->hands.buf, (size_t)n, e) < 0)
			return -1;
		at += (uint64_t)n;
	}
	hasher_end(t->hands.hasher, x->hash);
	hasher_end(t->keyed, t->written[i]);
	x->stored = x->size;
	return 0;
}

static int tar_range(struct tarring *t, struct manifest *m, uint32_t i, int file, uint64_t from,
	uint64_t length, bool hole, struct err *e)
{
	while (length > 0) {
		size_t want = length < PACK_BUFFER ? (size_t)length : PACK_BUFFER;

		/* Of a hole the writer takes the length only. */
		if (!hole && pread(file, t->hands.buf, want, (off_t)from) != (ssize_t)want)
			return below_error(e, ENOENT, "read", m, i, NULL);
		if (!hole)
			show_content(t, want);
		if (put_data(t, t->hands.buf, want, e) < 0)
			return -1;
		from += want;
		length -= want;
	}
	return 0;
}

static int tar_sparse(struct tarring *t, struct manifest *m, uint32_t i, int file, struct err *e)
{
	struct entry *x = &m->entry[i];
	uint64_t at = 0;
	uint32_t n;
	AUTO_FREE struct extent *list = pack_extents(file, x->size, &n);
	struct archive_entry *entry;
	int rc;

	if (n == UINT32_MAX)
		return below_error(e, ENOENT, "read", m, i, NULL);
	entry = describe_entry(t, m, i);
	for (uint32_t k = 0; k < n; k++)
		archive_entry_sparse_add_entry(
			entry, (int64_t)list[k].from, (int64_t)list[k].length);
	if (n == 0)
		archive_entry_sparse_add_entry(entry, 0, 0);
	rc = put_described(t, entry, e);
	for (uint32_t k = 0; rc == 0 && k < n; k++) {
		rc = tar_range(t, m, i, file, at, list[k].from - at, true, e);
		if (rc == 0)
			rc = tar_range(t, m, i, file, list[k].from, list[k].length, false, e);
		at = list[k].from + list[k].length;
	}
	return rc < 0 ? -1 : tar_range(t, m, i, file, at, x->size - at, true, e);
}

static int put_file(struct tarring *t, struct manifest *m, uint32_t i, int file, struct err *e)
{
	struct entry *x = &m->entry[i];
	struct stat st;

	if (fstat(file, &st) < 0)
		return below_error(e, errno, "read", m, i, NULL);
	x->size = (uint64_t)st.st_size;
	if (x->size > TARBALL_LONGEST)
		return err_set(e, ERR_REFUSED,
			"%.200s is longer than 1 TiB: remove or shorten it first",
			manifest_name(m, i));
	if ((uint64_t)st.st_blocks * 512 >= x->size || x->size <= PACK_BLOCK)
		return tar_whole(t, m, i, file, e);
	if (pack_put(NULL, &t->hands, file, x) < 0)
		return below_error(e, errno == EAGAIN ? ENOENT : errno, "read", m, i, NULL);
	return x->flags & ENTRY_SPARSE ? tar_sparse(t, m, i, file, e) : tar_whole(t, m, i, file, e);
}

static int tar_file(void *ctx, struct manifest *m, uint32_t i, int file, struct err *e)
{
	struct tarring *t = ctx;
	int rc;

	if (!t->begun && tar_others(t, m, e) < 0)
		return -1;
	rc = put_file(t, m, i, file, e);
	end_showing(t);
	return rc;
}

/* --- reading back --- */

static void *read_all_back(void *ctx)
{
	struct read_back *b = ctx;
	struct tarball_file f;

	while ((b->rc = untar_next(b->from, -1, UINT64_MAX, &f)) == 1) {
		hasher_add(b->paths, f.path, strlen(f.path) + 1);
		b->file = mem_grow(b->file, &b->cap, b->n + 1, sizeof *b->file);
		b->file[b->n++] = f;
	}
	b->sys = errno;
	return NULL;
}

static bool is_file_back(
	const struct tarring *t, const struct tarball_file *f, const struct manifest *m, uint32_t i)
{
	struct entry x = m->entry[i];

	if (!(x.flags & ENTRY_SPARSE))
		memcpy(x.hash, t->written[i], HASH_BYTES);
	return untar_is(f, &x);
}

/* What was read back is what was to be written. */
static bool is_all_back(struct tarring *t, const struct manifest *m)
{
	uint8_t want[HASH_BYTES], have[HASH_BYTES];
	size_t k = 0;

	hasher_begin(t->hands.hasher);
	for (uint32_t i = 0; i < m->n; i++) {
		if (!tarball_has(m, i))
			continue;
		if (k == t->back.n || !is_file_back(t, &t->back.file[k++], m, i))
			return false;
		str_clear(&t->path);
		manifest_path(m, i, &t->path);
		hasher_add(t->hands.hasher, t->path.s, t->path.len + 1);
	}
	hasher_end(t->hands.hasher, want);
	hasher_end(t->back.paths, have);
	return k == t->back.n && memcmp(want, have, HASH_BYTES) == 0;
}

static void start_reader(struct tarring *t)
{
	t->back.paths = hasher_new();
	hasher_begin(t->back.paths);
	t->back.keyed = hasher_new_keyed(t->key);
	t->back.from = untar_open(t->file, 0, &t->growth, t->back.keyed);
	t->reading =
		t->o->threads > 0 && pthread_create(&t->reader, NULL, read_all_back, &t->back) == 0;
}

/* Nothing more comes. */
static void end_reader(struct tarring *t)
{
	pthread_mutex_lock(&t->growth.lock);
	t->growth.ended = true;
	pthread_cond_signal(&t->growth.more);
	pthread_mutex_unlock(&t->growth.lock);
	if (t->reading)
		pthread_join(t->reader, NULL);
	else
		read_all_back(&t->back);
	t->reading = false;
}

/* --- the whole --- */

static int put_manifest(struct tarring *t, const struct manifest *m, struct err *e)
{
	struct tarball_end end = {.tar_bytes = t->growth.bytes};
	struct tarball_skip skip = {.magic = TARBALL_SKIPPED};
	uint64_t length =
		sizeof m->head + m->n * sizeof *m->entry + m->text.len + HASH_BYTES + sizeof end;

	if (length > UINT32_MAX)
		return err_set(e, ERR_REFUSED,
			"%.64s has too many files for an archive: more than 4 GiB of names and "
			"hashes",
			t->o->name);
	skip.length = (uint32_t)length;
	memcpy(end.magic, TARBALL_END, sizeof end.magic);
	if (file_write(t->file, &skip, sizeof skip) == 0 && manifest_write(m, t->file, e) == 0 &&
		file_write(t->file, &end, sizeof end) == 0 && fsync(t->file) == 0)
		return 0;
	archive_set_error(t->out, errno, "write");
	return refuse_write(t, e);
}

static int open_tarring(struct tarring *t, struct err *e)
{
	char options[64];

	archive_write_set_format_pax_restricted(t->out);
	archive_write_add_filter_zstd(t->out);
	snprintf(options, sizeof options, "zstd:compression-level=%d,zstd:threads=%u",
		t->o->level ? t->o->level : 3, t->o->threads);
	if (archive_write_set_options(t->out, options) != ARCHIVE_OK ||
		archive_write_set_bytes_per_block(t->out, PACK_BUFFER) != ARCHIVE_OK ||
		archive_write_set_bytes_in_last_block(t->out, 1) != ARCHIVE_OK ||
		archive_write_open(t->out, t, NULL, put_packed, NULL) != ARCHIVE_OK)
		return err_set(e, ERR_FAILED, "cannot begin the archive of %.64s: %.200s",
			t->o->name, archive_error_string(t->out));
	return 0;
}

static int tar_tree(struct tarring *t, int root, struct manifest *m, struct err *e)
{
	struct capture how = {.root = root, .put = tar_file, .ctx = t, .pool = pool_new()};
	int rc = capture_tree(&how, m, e);

	pool_free(how.pool);
	if (rc == 0 && m->head.mounts)
		rc = err_set(e, ERR_REFUSED,
			"something is mounted in %.64s: unmount it, then try again", t->o->name);
	if (rc == 0 && !t->begun)
		rc = tar_others(t, m, e);
	if (rc == 0)
		rc = tar_names(t, m, e);
	if (rc == 0 && archive_write_close(t->out) != ARCHIVE_OK)
		rc = refuse_write(t, e);
	return rc;
}

static int archive_tree(struct tarring *t, int root, struct manifest *m, struct err *e)
{
	int rc;

	if (getrandom(t->key, sizeof t->key, 0) != sizeof t->key)
		return err_sys(e, errno, "cannot archive %.64s: no random numbers", t->o->name);
	t->keyed = hasher_new_keyed(t->key);
	rc = open_tarring(t, e);
	if (rc < 0)
		return -1;
	start_reader(t);
	rc = tar_tree(t, root, m, e);
	if (rc == 0 && strlen(t->o->name) < sizeof m->head.name)
		memcpy(m->head.name, t->o->name, strlen(t->o->name) + 1);
	if (rc < 0)
		archive_write_fail(t->out);
	if (rc == 0 || t->reading)
		end_reader(t);
	if (rc == 0)
		rc = put_manifest(t, m, e);
	if (rc == 0 && (t->back.rc < 0 || !is_all_back(t, m)))
		rc = err_set(e, ERR_FAILED,
			"the archive of %.64s does not read back as written: check the disk (dmesg); nothing was changed",
			t->o->name);
	return rc;
}

struct checkpoint_tree *checkpoint_archive(
	int root, int file, const struct checkpoint_archiving *o, struct err *e)
{
	struct tarring t = {.file = file, .o = o, .out = archive_write_new(), .path = STR_INIT};
	struct checkpoint_tree *again = NULL;
	struct manifest m;
	int rc;

	pthread_mutex_init(&t.growth.lock, NULL);
	pthread_cond_init(&t.growth.more, NULL);
	hands_init(&t.hands);
	manifest_init(&m);
	rc = archive_tree(&t, root, &m, e);
	/* The manifest is read back, too. */
	if (rc == 0)
		again = checkpoint_archive_open(file, o->name, e);
	manifest_release(&m);
	archive_write_free(t.out);
	untar_close(t.back.from);
	hasher_free(t.back.paths);
	hasher_free(t.back.keyed);
	hasher_free(t.keyed);
	free(t.written);
	free(t.back.file);
	hands_release(&t.hands);
	str_release(&t.path);
	pthread_cond_destroy(&t.growth.more);
	pthread_mutex_destroy(&t.growth.lock);
	return again;
}
