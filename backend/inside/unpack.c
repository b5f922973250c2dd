/* unpack.c - unpacks a hostile tar below a directory: nothing leads out of it, files are whole or as before. */
#include "inside/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <locale.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/beneath.h>
#include <berth/check.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/path.h>
#include <berth/text.h>

enum { BLOCK = 256 << 10, TEMPORARY_MAX = 64 };

/* A directory that was made, while the entries in it come: it gets its owner, mode and time when all are there. */
struct made_dir {
	char *path; /* from the directory of the destination */
	dev_t dev;
	ino_t ino;
	mode_t mode;
	int64_t uid, gid;
	struct timespec mtime;
};

/* A file or link that this run put in place; dev 0: the hash of a name that was left out. */
struct known {
	dev_t dev;
	ino_t ino;
};

struct unpacking {
	const struct unpack *u;
	struct inside_copied *ret;
	struct archive *in;
	struct made_dir *made; /* each in the one before */
	size_t nmade, made_cap;
	void *known; /* of tsearch(3) */
	uint64_t entries, unchecked;
	uint64_t run; /* with a number behind it: a name that no one else has */
	unsigned serial;
};

static int refuse_entry(const char *path, const char *why, struct err *e)
{
	char shown[256];

	return err_set(e, ERR_PROTOCOL, "stopped at \"%s\" in the container's tar, which %s.",
		text_clean(shown, sizeof shown, path), why);
}

static int refuse_tar(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the container's tar is damaged or ends early.");
}

static int fail_with(const struct unpacking *x, int failed, const char *path, struct err *e)
{
	char shown[128], dir[128];

	return err_sys(e, failed, "cannot write %s in %s", text_clean(shown, sizeof shown, path),
		text_clean(dir, sizeof dir, x->u->shown));
}

static int fail_at(const struct unpacking *x, const char *path, struct err *e)
{
	return fail_with(x, errno, path, e);
}

/* Where beneath_open() failed. */
static int fail_on_way(const struct unpacking *x, const char *path, struct err *e)
{
	int failed = errno;
	char shown[128], dir[128];

	if (failed != EXDEV && failed != ELOOP)
		return fail_with(x, failed, path, e);
	return err_set(e, ERR_CONFLICT,
		"%s leads through a symbolic link in %s: it was not written.",
		text_clean(shown, sizeof shown, path), text_clean(dir, sizeof dir, x->u->shown));
}

static int refuse_replaced(const struct unpacking *x, const char *path, struct err *e)
{
	char shown[128], dir[128];

	return err_set(e, ERR_CONFLICT, "%s in %s was replaced while it was being copied.",
		text_clean(shown, sizeof shown, path), text_clean(dir, sizeof dir, x->u->shown));
}

static bool is_good(int rc)
{
	return rc == ARCHIVE_OK || rc == ARCHIVE_WARN;
}

static int check_stop(const struct unpacking *x, struct err *e)
{
	return inside_check_stop(x->u->stop, x->u->ctx, e);
}

/* --- where an entry goes --- */

/* Is every part of it a name? */
static bool has_plain_parts(const char *path)
{
	for (const char *at = path; *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n > NAME_MAX || (n == 1 && *at == '.') || (n == 2 && !strncmp(at, "..", 2)))
			return false;
		at += n;
	}
	return true;
}

static int check_depth(const char *given, const char *path, struct err *e)
{
	char shown[256];
	int depth = 0;

	for (; *path; path++)
		depth += *path == '/';
	if (depth < INSIDE_DEPTH_MAX)
		return 0;
	return err_set(e, ERR_PROTOCOL,
		"stopped at \"%s\" in the container's tar: directories are nested more than %d levels deep.",
		text_clean(shown, sizeof shown, given), INSIDE_DEPTH_MAX);
}

/* `path` of the tar as one from the destination's directory: 1, or 0 for the root if that directory itself is it. */
static int place_entry(const struct unpacking *x, const char *path, char **ret, struct err *e)
{
	const char *given = path, *root = x->u->root;
	size_t n = strlen(root);
	AUTO_FREE char *rest = NULL;

	while (*path == '/' || !strncmp(path, "./", 2))
		path += *path == '/' ? 1 : 2;
	if (*root) {
		if (strncmp(path, root, n) != 0 || (path[n] && path[n] != '/'))
			return refuse_entry(given, "is not below what was asked for", e);
		path += n;
	}
	path += strspn(path, "/");
	rest = xstrdup(strcmp(path, ".") ? path : "");
	for (size_t len = strlen(rest); len && rest[len - 1] == '/'; len--)
		rest[len - 1] = '\0';
	if (!has_plain_parts(rest))
		return refuse_entry(given, "is not a path below what was asked for", e);
	if (check_depth(given, rest, e))
		return -1;
	if (!x->u->name && !*rest)
		return 0;
	*ret = x->u->name ? xasprintf("%s%s%s", x->u->name, *rest ? "/" : "", rest) : xstrdup(rest);
	return 1;
}

/* The directory that `path` is in, and its name there.  No link is followed. */
static int open_parent(const struct unpacking *x, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	AUTO_FREE char *parent = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");

	*name = slash ? slash + 1 : path;
	return beneath_open(x->u->dir, parent, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

/* What is not in place yet has such a name, next to the one it will get. */
static char *temporary_name(struct unpacking *x, char buf[TEMPORARY_MAX])
{
	snprintf(buf, TEMPORARY_MAX, ".berth-cp-%016llx-%u", (unsigned long long)x->run,
		x->serial++);
	return buf;
}

static int put_in_place(struct unpacking *x, int parent, const char *made, const char *name,
	const char *path, struct err *e)
{
	if (!renameat(parent, made, parent, name))
		return 0;
	fail_at(x, path, e);
	unlinkat(parent, made, 0);
	return -1;
}

/* --- owner, mode and time --- */

/* By descriptor: the name may be another file's by now.  -1 with errno. */
static int give_owner(const struct unpacking *x, int fd, int64_t uid, int64_t gid)
{
	if (!x->u->keep_owner)
		return 0;
	/* All ones would leave the owner as it is. */
	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX) {
		errno = EINVAL;
		return -1;
	}
	return fchownat(fd, "", (uid_t)uid, (gid_t)gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
}

static int order_known(const void *a, const void *b)
{
	const struct known *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static void note_known(struct unpacking *x, dev_t dev, ino_t ino)
{
	struct known *k = xcalloc(1, sizeof *k), **found;

	*k = (struct known){dev, ino};
	found = tsearch(k, &x->known, order_known);
	CHECK(found);
	if (*found != k)
		free(k);
}

static bool is_known(struct unpacking *x, dev_t dev, ino_t ino)
{
	return tfind(&(struct known){dev, ino}, &x->known, order_known);
}

static ino_t name_hash(const char *path)
{
	return hash_string(HASH_START, path);
}

static void leave_out(struct unpacking *x, const char *path)
{
	note_known(x, 0, name_hash(path));
	if (!x->ret->left_out++)
		text_clean(x->ret->first_left_out, sizeof x->ret->first_left_out, path);
}

static struct timespec entry_mtime(struct archive_entry *entry)
{
	return (struct timespec){archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
}

static int finish_dir(struct unpacking *x, struct err *e)
{
	const struct made_dir d = x->made[--x->nmade];
	AUTO_FREE char *path = d.path;
	const struct timespec times[2] = {d.mtime, d.mtime};
	AUTO_CLOSE int fd =
		beneath_open(x->u->dir, path, O_RDONLY | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
	struct stat st;

	if (fd < 0)
		return fail_on_way(x, path, e);
	if (!fstat(fd, &st) && (st.st_dev != d.dev || st.st_ino != d.ino))
		return refuse_replaced(x, path, e);
	if (give_owner(x, fd, d.uid, d.gid) || futimens(fd, times) || fchmod(fd, d.mode))
		return fail_at(x, path, e);
	return 0;
}

/* Finishes the directories that `path` is not in: an engine sends all that is in one before it goes on. */
static int leave_dirs(struct unpacking *x, const char *path, struct err *e)
{
	int rc = 0;

	while (!rc && x->nmade && !path_is_in(path, x->made[x->nmade - 1].path))
		rc = finish_dir(x, e);
	return rc;
}

/* --- one entry --- */

static void note_made(
	struct unpacking *x, const char *path, struct archive_entry *entry, const struct stat *st)
{
	x->made = mem_grow(x->made, &x->made_cap, x->nmade + 1, sizeof *x->made);
	x->made[x->nmade++] = (struct made_dir){.path = xstrdup(path),
		.dev = st->st_dev,
		.ino = st->st_ino,
		.mode = archive_entry_perm(entry) & 01777,
		.uid = archive_entry_uid(entry),
		.gid = archive_entry_gid(entry),
		.mtime = entry_mtime(entry)};
	if (archive_entry_perm(entry) & 06000)
		x->ret->cleared++;
}

static int unpack_dir(
	struct unpacking *x, const char *path, struct archive_entry *entry, struct err *e)
{
	const char *name;
	AUTO_CLOSE int parent = open_parent(x, path, &name);
	struct stat st;
	bool made;

	if (parent < 0)
		return fail_on_way(x, path, e);
	made = !mkdirat(parent, name, 0700);
	if ((!made && errno != EEXIST) || fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW))
		return fail_at(x, path, e);
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return fail_at(x, path, e);
	}
	if (made) /* one that was there keeps its mode */
		note_made(x, path, entry, &st);
	x->ret->dirs++;
	return 0;
}

/* The content of an entry, without holes: what claims to have some could fill a disk with nothing.  No engine sends such. */
static int next_piece(
	struct unpacking *x, uint64_t done, const void **bytes, size_t *n, struct err *e)
{
	int64_t at;
	int rc = archive_read_data_block(x->in, bytes, n, &at);

	if (rc == ARCHIVE_EOF) {
		*n = 0;
		return 0;
	}
	return !is_good(rc) || (*n && (uint64_t)at != done) ? refuse_tar(e) : check_stop(x, e);
}

static int write_content(
	struct unpacking *x, int fd, const char *path, uint64_t size, struct err *e)
{
	uint64_t done = 0;

	while (done < size) {
		const void *bytes;
		size_t n;

		if (next_piece(x, done, &bytes, &n, e))
			return -1;
		if (!n || n > size - done)
			return refuse_tar(e);
		if (inside_check_space(fd, &x->unchecked, n, x->u->shown, e))
			return -1;
		if (file_write(fd, bytes, n))
			return fail_at(x, path, e);
		done += n;
	}
	return 0;
}

static int fill_file(
	struct unpacking *x, int fd, const char *path, struct archive_entry *entry, struct err *e)
{
	const struct timespec times[2] = {entry_mtime(entry), entry_mtime(entry)};
	mode_t mode = archive_entry_perm(entry);

	if (write_content(x, fd, path, (uint64_t)archive_entry_size(entry), e))
		return -1;
	if (give_owner(x, fd, archive_entry_uid(entry), archive_entry_gid(entry)) ||
		fchmod(fd, mode & 0777) || futimens(fd, times))
		return fail_at(x, path, e);
	if (mode & 06000)
		x->ret->cleared++;
	return 0;
}

/* Without a name until it is complete, where the file system can do that: nothing stays of it then, even if berth is
 * killed.  *made: else its name until then. */
static int open_new(struct unpacking *x, int parent, char made[TEMPORARY_MAX])
{
	int fd = openat(parent, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);

	*made = '\0';
	return fd >= 0 ? fd
		       : openat(parent, temporary_name(x, made),
				 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* Some file systems report a full disk only when a descriptor is closed. */
static int check_stored(int fd)
{
	int other = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return other < 0 ? -1 : close(other);
}

/* Puts it in place; -1 with errno. */
static int give_name(
	struct unpacking *x, int fd, int parent, char made[TEMPORARY_MAX], const char *name)
{
	char self[64];

	snprintf(self, sizeof self, "/proc/self/fd/%d", fd);
	if (!*made && !linkat(AT_FDCWD, self, parent, name, AT_SYMLINK_FOLLOW))
		return 0;
	/* A link replaces nothing. */
	if (!*made &&
		(errno != EEXIST ||
			linkat(AT_FDCWD, self, parent, temporary_name(x, made), AT_SYMLINK_FOLLOW)))
		return -1;
	return renameat(parent, made, parent, name);
}

static int unpack_file(
	struct unpacking *x, const char *path, struct archive_entry *entry, struct err *e)
{
	const char *name;
	AUTO_CLOSE int parent = open_parent(x, path, &name);
	AUTO_CLOSE int fd = -1;
	char made[TEMPORARY_MAX];
	struct stat st;
	int rc;

	if (parent < 0)
		return fail_on_way(x, path, e);
	fd = open_new(x, parent, made);
	if (fd < 0)
		return fail_at(x, path, e);
	rc = fill_file(x, fd, path, entry, e);
	if (!rc && (fstat(fd, &st) || check_stored(fd) || give_name(x, fd, parent, made, name)))
		rc = fail_at(x, path, e);
	if (rc) {
		if (*made)
			unlinkat(parent, made, 0);
		return -1;
	}
	note_known(x, st.st_dev, st.st_ino);
	x->ret->files++;
	x->ret->bytes += (uint64_t)st.st_size;
	return 0;
}

/* By its text alone, where what is unsure counts: the name before a ".." decides where that leads.  So if none is said to
 * lead out, none does. */
static bool leads_out(const struct unpacking *x, const char *path, const char *target)
{
	int depth = x->u->name ? -1 : 0; /* of its directory, below the destination */
	bool named = false;

	for (; *path; path++)
		depth += *path == '/';
	if (*target == '/' || depth < 0)
		return true;
	for (const char *at = target; *at; at += strspn(at, "/")) {
		size_t n = strcspn(at, "/");

		if (n == 2 && !memcmp(at, "..", 2)) {
			if (named || !depth--)
				return true;
		} else if (n != 1 || *at != '.') {
			named = true;
		}
		at += n;
	}
	return false;
}

static void count_link(struct unpacking *x, const char *path, const char *target)
{
	x->ret->links++;
	if (leads_out(x, path, target) && !x->ret->outward++)
		text_clean(x->ret->first_outward, sizeof x->ret->first_outward, path);
}

/* The link at `made`, which may be something else by now. */
static int settle_link(const struct unpacking *x, int parent, const char *made, const char *path,
	struct archive_entry *entry, struct stat *st, struct err *e)
{
	AUTO_CLOSE int fd = openat(parent, made, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, st))
		return fail_at(x, path, e);
	if (!S_ISLNK(st->st_mode))
		return refuse_replaced(x, path, e);
	return give_owner(x, fd, archive_entry_uid(entry), archive_entry_gid(entry))
		? fail_at(x, path, e)
		: 0;
}

static int unpack_link(
	struct unpacking *x, const char *path, struct archive_entry *entry, struct err *e)
{
	const char *name, *target = archive_entry_symlink(entry);
	AUTO_CLOSE int parent = open_parent(x, path, &name);
	char made[TEMPORARY_MAX];
	struct stat st;

	if (!target || !*target)
		return refuse_entry(path, "is a link without a target", e);
	if (parent < 0)
		return fail_on_way(x, path, e);
	if (symlinkat(target, parent, temporary_name(x, made)))
		return fail_at(x, path, e);
	if (settle_link(x, parent, made, path, entry, &st, e)) {
		unlinkat(parent, made, 0);
		return -1;
	}
	if (put_in_place(x, parent, made, name, path, e))
		return -1;
	note_known(x, st.st_dev, st.st_ino);
	count_link(x, path, target);
	return 0;
}

/* `first` in `from` and, from now on, `name` in `parent`. */
static int link_name(struct unpacking *x, int from, const char *first, int parent, const char *name,
	const char *path, struct err *e)
{
	char made[TEMPORARY_MAX], target[PATH_MAX];
	ssize_t n;

	if (linkat(from, first, parent, temporary_name(x, made), 0))
		return fail_at(x, path, e);
	n = readlinkat(parent, made, target, sizeof target - 1);
	if (put_in_place(x, parent, made, name, path, e))
		return -1;
	unlinkat(parent, made, 0); /* rename leaves it if both were one file already */
	if (n < 0) {
		x->ret->files++;
		return 0;
	}
	target[n] = '\0';
	count_link(x, path, target);
	return 0;
}

/* Another name of what came before; not of a file that was here, where a change of either would be one of both. */
static int unpack_name(struct unpacking *x, const char *path, const char *of, struct err *e)
{
	AUTO_FREE char *first = NULL;
	const char *name, *first_name;
	AUTO_CLOSE int parent = open_parent(x, path, &name);
	AUTO_CLOSE int from = -1;
	struct stat st = {0};
	int rc;

	if (parent < 0)
		return fail_on_way(x, path, e);
	rc = place_entry(x, of, &first, e);
	if (rc <= 0)
		return rc ? -1 : refuse_entry(path, "is another name of a directory", e);
	from = open_parent(x, first, &first_name);
	if (from >= 0 && !fstatat(from, first_name, &st, AT_SYMLINK_NOFOLLOW) &&
		is_known(x, st.st_dev, st.st_ino))
		return link_name(x, from, first_name, parent, name, path, e);
	if (is_known(x, 0, name_hash(first))) {
		leave_out(x, path);
		return 0;
	}
	if (from < 0)
		return fail_on_way(x, path, e);
	if (!st.st_mode)
		return fail_at(x, path, e);
	return refuse_entry(path,
		S_ISREG(st.st_mode) || S_ISLNK(st.st_mode)
			? "is another name of a file that was here before"
			: "is another name of something that is not a file",
		e);
}

static int unpack_entry(struct unpacking *x, struct archive_entry *entry, struct err *e)
{
	const char *path = archive_entry_pathname(entry), *of = archive_entry_hardlink(entry);
	AUTO_FREE char *place = NULL;
	int rc;

	if (!path || !*path)
		return refuse_entry("", "has no name", e);
	rc = place_entry(x, path, &place, e);
	if (rc < 0)
		return -1;
	if (rc == 0)
		return archive_entry_filetype(entry) == AE_IFDIR
			? 0
			: refuse_entry(path, "is not a directory", e);
	if (leave_dirs(x, place, e))
		return -1;
	if (of)
		return unpack_name(x, place, of, e);
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG: return unpack_file(x, place, entry, e);
	case AE_IFDIR: return unpack_dir(x, place, entry, e);
	case AE_IFLNK: return unpack_link(x, place, entry, e);
	default: leave_out(x, place); return 0;
	}
}

static int unpack_all(struct unpacking *x, struct err *e)
{
	for (;;) {
		struct archive_entry *entry;
		int rc = archive_read_next_header(x->in, &entry);

		if (rc == ARCHIVE_EOF)
			return x->entries ? 0 : refuse_tar(e);
		if (!is_good(rc))
			return refuse_tar(e);
		if (check_stop(x, e))
			return -1;
		if (++x->entries > INSIDE_ENTRIES_MAX)
			return err_set(e, ERR_FAILED, "stopped after %d files and directories.",
				INSIDE_ENTRIES_MAX);
		if (unpack_entry(x, entry, e))
			return -1;
	}
}

/* Reads a tar, and nothing that is compressed.  In the C locale libarchive leaves names as they are, byte for byte, with a
 * warning. */
static int with_tar(int fd, struct unpacking *x, int (*read_it)(struct unpacking *x, struct err *e),
	struct err *e)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c);
	int rc;

	x->in = archive_read_new();
	archive_read_support_format_tar(x->in);
	if (lseek(fd, 0, SEEK_SET) < 0)
		rc = err_sys(e, errno, "cannot read the tar again");
	else if (archive_read_open_fd(x->in, fd, BLOCK) != ARCHIVE_OK)
		rc = refuse_tar(e);
	else
		rc = read_it(x, e);
	archive_read_free(x->in);
	uselocale(before);
	freelocale(c);
	return rc;
}

int inside_unpack(const struct unpack *u, struct inside_copied *ret, struct err *e)
{
	struct unpacking x = {.u = u, .ret = ret};
	int rc;

	CHECK(getrandom(&x.run, sizeof x.run, 0) == sizeof x.run);
	rc = with_tar(u->fd, &x, unpack_all, e);
	/* Also after a failure: its error is the one that counts. */
	while (x.nmade)
		if (finish_dir(&x, rc ? NULL : e))
			rc = -1;
	free(x.made);
	tdestroy(x.known, free);
	return rc;
}

/* --- a single file --- */

struct reading {
	struct unpacking x;
	size_t most;
	struct str *text;
};

static int read_first(struct unpacking *x, struct err *e)
{
	struct reading *r = (struct reading *)x;
	struct archive_entry *entry;
	int rc = archive_read_next_header(x->in, &entry);
	uint64_t done = 0;
	const void *bytes;
	size_t n;

	if (!is_good(rc) || archive_entry_filetype(entry) != AE_IFREG)
		return refuse_tar(e);
	for (;;) {
		if (next_piece(x, done, &bytes, &n, e))
			return -1;
		if (!n)
			return 0;
		if (n > r->most - done)
			return refuse_tar(e);
		str_add(r->text, bytes, n);
		done += n;
	}
}

int inside_read_file(int fd, size_t most, struct str *ret, struct err *e)
{
	static const struct unpack unasked;
	struct reading r = {.x = {.u = &unasked}, .most = most, .text = ret};

	return with_tar(fd, &r.x, read_first, e);
}
