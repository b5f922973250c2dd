/* commit_record.c - writes the commit record of an all-or-nothing batch, and completes it in recovery. */
#include "files/common/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "files/stage/commit_record.h"
#include "files/common/token.h"

#define MAGIC "berthwal"
#define VERSION 2
#define LARGEST (256u << 20)
#define KEPT_NAME_MAX (STAGE_NAME_MAX + 8)
enum direction { FORWARD = 'f', BACK = 'b' };

struct header {
	char magic[8];
	uint32_t version, count;
	uint64_t checksum; /* of everything behind the header */
	uint64_t size;     /* of the file */
	uint8_t direction; /* one byte, so that turning it is one write */
	uint8_t pad[7];
};

struct record {
	uint64_t new_ino, old_ino, old_size;
	int64_t new_ctime_ns, old_mtime_ns;
	uint32_t existed, path_len;
	char stage[STAGE_NAME_MAX];
	/* the path follows, with its NUL */
};

int journal_commit(struct staging *s, const struct journal_item *items, size_t n,
	char name[STAGE_NAME_MAX], struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	AUTO_CLOSE int fd = -1;
	struct header h = {
		.magic = MAGIC, .version = VERSION, .count = (uint32_t)n, .direction = FORWARD};
	AS_PROCESS;

	if (s->journal < 0)
		return err_set(e, ERR_REFUSED,
			"cannot write all or nothing: berth's state directory, which holds the record of the batch, is not writable");
	str_add(&out, &h, sizeof h);
	for (size_t i = 0; i < n; i++) {
		struct record rec = {
			.new_ino = items[i].new_ino,
			.old_ino = items[i].old_ino,
			.old_size = items[i].old_size,
			.new_ctime_ns = items[i].new_ctime_ns,
			.old_mtime_ns = items[i].old_mtime_ns,
			.existed = items[i].existed,
			.path_len = (uint32_t)strlen(items[i].path),
		};

		memcpy(rec.stage, items[i].stage, sizeof rec.stage);
		str_add(&out, &rec, sizeof rec);
		str_add(&out, items[i].path, rec.path_len + 1);
	}
	h.size = out.len;
	h.checksum = XXH3_64bits(out.s + sizeof h, out.len - sizeof h);
	memcpy(out.s, &h, sizeof h);
	stage_name(s, name);
	fd = openat(s->journal, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0 && file_write(fd, out.s, out.len) == 0 && fsync(fd) == 0 &&
		fsync(s->journal) == 0)
		return 0;
	err_sys(e, errno, "cannot write the journal of the batch");
	if (fd >= 0)
		unlinkat(s->journal, name, 0);
	return -1;
}

int journal_reverse(struct staging *s, const char *name, struct err *e)
{
	AS_PROCESS;
	AUTO_CLOSE int fd = openat(s->journal, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	char back = BACK;

	if (fd < 0 || pwrite(fd, &back, 1, offsetof(struct header, direction)) != 1 ||
		fsync(fd) < 0)
		return err_sys(e, errno, "cannot switch the journal of the batch");
	return 0;
}

/* 0 where there is none.  -1: that could not be found out. */
static int staged_stat(int stage, const struct journal_item *item, const char *name,
	struct stat *st, struct err *e)
{
	bool there = fstatat(stage, name, st, AT_SYMLINK_NOFOLLOW) == 0;

	if (!there && errno != ENOENT)
		return path_error(e, errno, "prepare", item->path);
	if (!there || !S_ISREG(st->st_mode))
		*st = (struct stat){0};
	return 0;
}

int journal_seal(int stage, struct journal_item *item, struct err *e)
{
	struct stat st;

	if (staged_stat(stage, item, item->stage, &st, e) < 0)
		return -1;
	if (st.st_ino != item->new_ino)
		return err_set(e, ERR_CONFLICT,
			"%.200s: another program replaced what was to be put there", item->path);
	item->new_ctime_ns = stat_ctime_ns(&st);
	return 0;
}

/* Somebody else changed what is there.  Else the machine failed: the same may succeed later. */
static bool changed_since(const struct err *e)
{
	switch (e->kind) {
	case ERR_CONFLICT: return e->sys != EAGAIN; /* its directories are being moved */
	case ERR_NOT_FOUND:
	case ERR_REFUSED:
	case ERR_USAGE: return true;
	default: return e->sys == ENOTDIR;
	}
}

static bool was_old(const struct journal_item *item, const struct stat *st)
{
	return st->st_ino == item->old_ino && (uint64_t)st->st_size == item->old_size &&
		stat_mtime_ns(st) == item->old_mtime_ns;
}

/* What the old file is called in the stage where it cannot be swapped. */
static char *kept_name(const struct journal_item *item, char buf[KEPT_NAME_MAX])
{
	snprintf(buf, KEPT_NAME_MAX, "%s.old", item->stage);
	return buf;
}

/* Swap where the kernel can, so that the old file is still there should it be needed.
 * -2: what is there cannot be kept for taking it back. */
static int put_in_place(
	int stage, const struct journal_item *item, int dir, const char *leaf, _Atomic bool *kept)
{
	char name[KEPT_NAME_MAX];

	if (!item->existed)
		return rename_new(stage, item->stage, dir, leaf);
	if (renameat2(stage, item->stage, dir, leaf, RENAME_EXCHANGE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (kept) {
		if (linkat(dir, leaf, stage, kept_name(item, name), 0) < 0)
			return errno == EPERM || errno == EOPNOTSUPP ? -2 : -1;
		*kept = true;
	}
	return renameat(stage, item->stage, dir, leaf);
}

int journal_forward(struct files_root *r, int stage, const struct journal_item *item,
	_Atomic bool *kept, struct err *e)
{
	const char *leaf;
	AUTO_CLOSE int dir = -1;
	struct stat st, staged;
	bool there, same;

	if (staged_stat(stage, item, item->stage, &staged, e) < 0)
		return -1;
	if (staged.st_ino != item->new_ino)
		return 0; /* it is in place already */
	/* Whoever owns the tree could write to it, but not turn its change time back. */
	if (stat_ctime_ns(&staged) != item->new_ctime_ns)
		return err_set(e, ERR_CONFLICT,
			"%.200s: another program changed what was to be put there", item->path);
	dir = path_parent_to_change(r, item->path, NULL, &leaf, e);
	if (dir < 0)
		return -1;
	there = fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT)
		return path_error(e, errno, "replace", item->path);
	if (there && !item->existed && st.st_ino == item->new_ino)
		return 0; /* it only has its other name still */
	same = there && item->existed && was_old(item, &st);
	if (there ? !same : item->existed)
		return err_set(e, ERR_CONFLICT,
			"%.200s was changed by another program in the meantime", item->path);
	switch (put_in_place(stage, item, dir, leaf, kept)) {
	case 0: return 0;
	case -2:
		return err_set(e, ERR_REFUSED,
			"cannot replace %.200s all or nothing: files can neither be "
			"swapped nor linked here; use the promise durable or visible",
			item->path);
	default: return path_error(e, errno, "put in place", item->path);
	}
}

static int put_back(struct files_root *r, int stage, const struct journal_item *item, struct err *e)
{
	char kept[KEPT_NAME_MAX];
	const char *leaf;
	AUTO_CLOSE int dir = path_parent_to_change(r, item->path, NULL, &leaf, e);
	struct stat st, staged, old;
	int rc = 0;

	if (dir < 0 || staged_stat(stage, item, item->stage, &staged, e) < 0 ||
		staged_stat(stage, item, kept_name(item, kept), &old, e) < 0)
		return -1;
	if (fstatat(dir, leaf, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return path_error(e, errno, "take back", item->path);
	if (st.st_ino != item->new_ino)
		return 0;
	if (!item->existed)
		rc = unlinkat(dir, leaf, 0);
	else if (was_old(item, &staged))
		rc = renameat2(stage, item->stage, dir, leaf, RENAME_EXCHANGE);
	else if (was_old(item, &old))
		rc = renameat(stage, kept, dir, leaf);
	return rc < 0 ? path_error(e, errno, "take back", item->path) : 0;
}

int journal_back(struct files_root *r, int stage, const struct journal_item *item, struct err *e)
{
	struct err why = ERR_INIT;

	return put_back(r, stage, item, &why) == 0 || changed_since(&why) ? 0 : err_copy(e, &why);
}

/* Take the next record out of the journal; false: it is damaged. */
static bool next_record(const char **at, const char *end, struct journal_item *item)
{
	struct record rec;

	if ((size_t)(end - *at) < sizeof rec)
		return false;
	memcpy(&rec, *at, sizeof rec);
	*at += sizeof rec;
	if (rec.path_len >= (size_t)(end - *at) || (*at)[rec.path_len] != '\0' ||
		strlen(*at) != rec.path_len || !memchr(rec.stage, '\0', sizeof rec.stage) ||
		strchr(rec.stage, '/') || rec.stage[0] == '.' || !rec.stage[0])
		return false;
	*item = (struct journal_item){
		.path = *at,
		.existed = rec.existed,
		.new_ino = rec.new_ino,
		.old_ino = rec.old_ino,
		.old_size = rec.old_size,
		.new_ctime_ns = rec.new_ctime_ns,
		.old_mtime_ns = rec.old_mtime_ns,
	};
	memcpy(item->stage, rec.stage, sizeof item->stage);
	*at += rec.path_len + 1;
	return true;
}

/* The journal's bytes; NULL in *ret: not there, not whole.  An unfinished one was never past
 * its commit point.  -1: it could not be read. */
static int load_journal(
	struct staging *s, const char *name, struct header *h, char **ret, struct err *e)
{
	AS_PROCESS;
	AUTO_CLOSE int fd =
		openat(s->journal, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	AUTO_FREE char *bytes = NULL;
	struct stat st;
	ssize_t n;

	*ret = NULL;
	/* A link or a socket is not ours. */
	if (fd < 0 && (errno == ENOENT || errno == ELOOP || errno == ENXIO))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot open its journal");
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof *h || st.st_size > (off_t)LARGEST)
		return 0;
	bytes = xmalloc((size_t)st.st_size);
	n = pread(fd, bytes, (size_t)st.st_size, 0);
	if (n != st.st_size)
		return err_sys(e, n < 0 ? errno : EIO, "cannot read its journal");
	memcpy(h, bytes, sizeof *h);
	if (memcmp(h->magic, MAGIC, sizeof h->magic) == 0 && h->size == (uint64_t)st.st_size &&
		XXH3_64bits(bytes + sizeof *h, (size_t)st.st_size - sizeof *h) == h->checksum)
		*ret = STEAL(bytes);
	return 0;
}

static void remove_kept(int stage, const struct journal_item *item)
{
	char kept[KEPT_NAME_MAX];

	unlinkat(stage, kept_name(item, kept), 0);
}

static void remove_record(struct staging *s, const char *name)
{
	AS_PROCESS;

	unlinkat(s->journal, name, 0);
}

void journal_done(struct staging *s, const char *name, const struct journal_item *items, size_t n)
{
	/* Its removal need not be durable: doing it all once more changes nothing. */
	remove_record(s, name);
	for (size_t i = 0; s->kept && i < n; i++)
		if (items[i].existed)
			remove_kept(s->stage, &items[i]);
}

/* Every item, as far as others left its target alone.  -1: some are still to be done. */
static int replay_journal(
	struct files_root *r, int stage, const struct header *h, const char *bytes, struct err *e)
{
	const char *at = bytes + sizeof *h;
	struct journal_item item;

	for (uint32_t i = 0; i < h->count && next_record(&at, bytes + h->size, &item); i++) {
		struct err why = ERR_INIT;

		if ((h->direction == BACK ? put_back(r, stage, &item, &why)
					  : journal_forward(r, stage, &item, NULL, &why)) < 0 &&
			!changed_since(&why))
			return err_copy(e, &why);
	}
	if (syncfs(stage) < 0)
		return err_sys(e, errno, "it could not be flushed to disk");
	at = bytes + sizeof *h;
	for (uint32_t i = 0; i < h->count && next_record(&at, bytes + h->size, &item); i++) {
		unlinkat(stage, item.stage, 0);
		remove_kept(stage, &item);
	}
	return 0;
}

int journal_replay(struct files_root *r, struct staging *s, const char *name, struct err *e)
{
	struct header h = {0};
	AUTO_FREE char *bytes = NULL;
	AUTO_CLOSE int stage = staging_open_stage(s, name);
	int rc;

	/* Without its stage, or with one of somebody else's, nothing of it is left to be done. */
	if (stage >= 0)
		rc = load_journal(s, name, &h, &bytes, e);
	else if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP || errno == EPERM)
		rc = 0;
	else
		rc = err_sys(e, errno, "its files cannot be reached");

	if (bytes && h.version != VERSION)
		return err_set(e, ERR_REFUSED,
			"%s holds an unfinished batch of another version of berth: finish it with that version",
			r->name);
	if (bytes)
		rc = replay_journal(r, stage, &h, bytes, e);
	/* All that is needed stays where it is. */
	if (rc < 0)
		return err_wrap(e,
			"a batch interrupted in %.200s cannot be finished now, the next change tries again",
			r->name);
	remove_record(s, name);
	return 0;
}
