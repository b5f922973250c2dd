/*
 * context.c - packs the build context: a directory as a tar in an unnamed temporary file.
 *
 * The tree is read by descriptors and no symbolic link is followed, so that what changes meanwhile cannot
 * lead out of it.  Everything belongs to root in the image, as with the docker command.
 */
#include "image/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/beneath.h>
#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#define CONTEXT_MAX ((uint64_t)1 << 30)
#define FILES_MAX 100000
#define DEPTH_MAX 64
#define IGNORE_MAX (1 << 20)
#define CHUNK (256 << 10)

struct packing {
	struct images *im;
	struct archive *out;
	struct ignore *ignore;
	const char *dir, *file; /* of the Dockerfile: always sent */
	const char *rules;      /* the file that `ignore` is from */
	uint64_t bytes, max;
	size_t files;
	char *chunk;
};

static int archive_failed(struct archive *out, struct err *e)
{
	return err_sys(e, archive_errno(out) ? archive_errno(out) : EIO,
		"cannot write the build's context to the temporary directory");
}

static int put_header(struct archive *out, const char *path, const struct stat *st,
	const char *link, struct err *e)
{
	struct archive_entry *entry = archive_entry_new();
	int rc;

	archive_entry_set_pathname(entry, path);
	archive_entry_set_filetype(entry, st->st_mode & S_IFMT);
	archive_entry_set_perm(entry, st->st_mode & 07777);
	archive_entry_set_mtime(entry, st->st_mtime, 0);
	archive_entry_set_size(entry, S_ISREG(st->st_mode) ? st->st_size : 0);
	if (link)
		archive_entry_set_symlink(entry, link);
	rc = archive_write_header(out, entry);
	archive_entry_free(entry);
	return rc < ARCHIVE_WARN ? archive_failed(out, e) : 0;
}

static int count_packed(struct packing *p, uint64_t bytes, struct err *e)
{
	char dir[256], max[FORMAT_MAX];

	p->bytes += bytes;
	if (image_stop(p->im))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (p->bytes <= p->max && p->files <= FILES_MAX)
		return 0;
	return err_set(e, ERR_USAGE,
		"the context %s has more than %s or %d files: exclude what does not "
		"belong to it in a .dockerignore, or give a larger --max-context.",
		text_clean(dir, sizeof dir, p->dir), format_bytes(max, p->max), FILES_MAX);
}

static int put_bytes(
	struct packing *p, int fd, const char *path, const struct stat *st, struct err *e)
{
	uint64_t left = (uint64_t)st->st_size;
	char shown[256];

	while (left) {
		ssize_t n = read(fd, p->chunk, left < CHUNK ? (size_t)left : CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(
				e, errno, "cannot read %s", text_clean(shown, sizeof shown, path));
		if (!n)
			return err_set(e, ERR_CONFLICT, "%s shrank while it was being read.",
				text_clean(shown, sizeof shown, path));
		if (archive_write_data(p->out, p->chunk, (size_t)n) != n)
			return archive_failed(p->out, e);
		left -= (uint64_t)n;
		if (image_stop(p->im))
			return err_set(e, ERR_CANCELLED, "cancelled");
	}
	return 0;
}

/* What has gone since its name was read is left out: people save while they build.  The context itself is not. */
static int fail_entry(const struct packing *p, int errnum, const char *path, struct err *e)
{
	char shown[256];

	return errnum == ENOENT && *path
		? 0
		: err_sys(e, errnum, "cannot read %s",
			  text_clean(shown, sizeof shown, *path ? path : p->dir));
}

static int put_file(struct packing *p, int at, const char *name, const char *path, struct err *e)
{
	AUTO_CLOSE int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	char shown[256];

	if (fd < 0 || fstat(fd, &st))
		return fail_entry(p, errno, path, e);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_CONFLICT, "%s changed while it was being read.",
			text_clean(shown, sizeof shown, path));
	p->files++;
	if (count_packed(p, (uint64_t)st.st_size, e) || put_header(p->out, path, &st, NULL, e))
		return -1;
	return put_bytes(p, fd, path, &st, e);
}

static int put_link(struct packing *p, int at, const char *name, const char *path,
	const struct stat *st, struct err *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(at, name, target, sizeof target - 1);

	if (n < 0)
		return fail_entry(p, errno, path, e);
	target[n] = '\0';
	p->files++;
	return count_packed(p, 0, e) || put_header(p->out, path, st, target, e) ? -1 : 0;
}

static int put_dir(struct packing *p, int at, const char *name, const char *path, int depth,
	bool ignored, struct err *e);

static bool is_always_sent(const struct packing *p, const char *path)
{
	return !strcmp(path, p->file) || !strcmp(path, p->rules);
}

static int put_entry(
	struct packing *p, int at, const char *name, const char *path, int depth, struct err *e)
{
	bool ignored = !is_always_sent(p, path) && ignore_matches(p->ignore, path);
	size_t n = strlen(path);
	struct stat st;

	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return fail_entry(p, errno, path, e);
	if (S_ISDIR(st.st_mode)) {
		/* The Dockerfile may lie in what is ignored. */
		if (ignored && !ignore_may_turn(p->ignore) &&
			!(!strncmp(p->file, path, n) && p->file[n] == '/'))
			return 0;
		return put_dir(p, at, name, path, depth + 1, ignored, e);
	}
	if (ignored)
		return 0;
	if (S_ISREG(st.st_mode))
		return put_file(p, at, name, path, e);
	if (S_ISLNK(st.st_mode))
		return put_link(p, at, name, path, &st, e);
	return 0; /* sockets, pipes and devices are no content */
}

static int is_visible(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
}

static int put_dir(struct packing *p, int at, const char *name, const char *path, int depth,
	bool ignored, struct err *e)
{
	AUTO_CLOSE int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **list = NULL;
	struct stat st;
	int n, rc = 0;
	char shown[256];

	text_clean(shown, sizeof shown, *path ? path : p->dir);
	if (depth > DEPTH_MAX)
		return err_set(
			e, ERR_USAGE, "%s is more than %d directories deep.", shown, DEPTH_MAX);
	if (fd < 0 || fstat(fd, &st))
		return fail_entry(p, errno, path, e);
	if (*path && !ignored && put_header(p->out, path, &st, NULL, e))
		return -1;
	/* In order, so that the same tree makes the same tar. */
	n = scandirat(fd, ".", &list, is_visible, alphasort);
	if (n < 0)
		return fail_entry(p, errno, path, e);
	for (int i = 0; i < n; i++) {
		AUTO_FREE char *below =
			xasprintf("%s%s%s", path, *path ? "/" : "", list[i]->d_name);

		if (!rc)
			rc = put_entry(p, fd, list[i]->d_name, below, depth, e);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* 0: there is none of that name; 1.  A link is followed to a file of the context, as by docker; one to elsewhere is refused,
 * not taken for none: the files that it names would be in the image. */
static int read_ignore(int dir, const char *name, struct ignore **ret, struct err *e)
{
	AUTO_CLOSE int fd = beneath_open(dir, name, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	int failed = fd < 0 ? errno : 0;
	AUTO_STR struct str text = STR_INIT;
	struct stat st;
	char shown[256];

	text_clean(shown, sizeof shown, name);
	if (failed == ENOENT && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (failed == ENOENT || failed == EXDEV || failed == ELOOP)
		return err_set(e, ERR_USAGE,
			"%s is a symbolic link that does not lead to a file in the context: use a relative link, or the file itself.",
			shown);
	if (failed)
		return err_sys(e, failed, "cannot read %s", shown);
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return err_set(e, ERR_USAGE, "%s is not a regular file.", shown);
	return file_rest(fd, shown, IGNORE_MAX, &text, e) ||
			ignore_parse(shown, text.s, text.len, ret, e)
		? -1
		: 1;
}

static struct archive *begin_tar(int fd)
{
	struct archive *out = archive_write_new();

	archive_write_set_format_pax_restricted(out);
	archive_write_set_bytes_in_last_block(out, 1);
	archive_write_open_fd(out, fd);
	return out;
}

/* The engine and every layer of the image would have the keys, the log and all workspaces. */
static int refuse_own_dir(
	const struct images *im, const char *dir, const char *shown, struct err *e)
{
	AUTO_FREE char *real = realpath(dir, NULL);
	const char *own = real ? policy_own_dir(&im->at.policy, real) : NULL;

	return own
		? err_set(e, ERR_REFUSED,
			  "%s cannot be a build context: it contains, or is, a directory of berth itself (%s).",
			  shown, own)
		: 0;
}

int context_of_dir(struct images *im, const struct image_build *b, int *ret_fd, uint64_t *ret_size,
	struct err *e)
{
	struct packing p = {.im = im,
		.dir = b->dir,
		.file = b->file,
		.max = b->context_max ? b->context_max : CONTEXT_MAX};
	AUTO_CLOSE int dir = open(b->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;
	AUTO_FREE char *own = xasprintf("%s.dockerignore", p.file);
	struct stat st;
	char shown[256];
	int rc;

	text_clean(shown, sizeof shown, b->dir);
	if (refuse_own_dir(im, b->dir, shown, e))
		return -1;
	if (dir < 0)
		return err_sys(e, errno, "cannot read the directory %s", shown);
	if (fstatat(dir, p.file, &st, 0) || !S_ISREG(st.st_mode))
		return err_set(
			e, ERR_USAGE, "%s not found in %s: nothing to build.", p.file, shown);
	fd = file_temporary(e);
	if (fd < 0)
		return -1;
	/* Of the two only one, as docker's BuildKit does. */
	p.rules = own;
	rc = read_ignore(dir, p.rules, &p.ignore, e);
	if (rc == 0) {
		p.rules = ".dockerignore";
		rc = read_ignore(dir, p.rules, &p.ignore, e);
	}
	p.out = begin_tar(fd);
	p.chunk = xmalloc(CHUNK);
	rc = rc < 0 ? rc : put_dir(&p, dir, ".", "", 0, false, e);
	if (archive_write_close(p.out) != ARCHIVE_OK && !rc)
		rc = archive_failed(p.out, e);
	archive_write_free(p.out);
	ignore_free(p.ignore);
	free(p.chunk);
	if (rc)
		return -1;
	*ret_size = p.bytes;
	*ret_fd = steal_fd(&fd);
	return 0;
}

int context_of_files(const struct image_file *file, size_t n, int *ret_fd, struct err *e)
{
	AUTO_CLOSE int fd = file_temporary(e);
	struct archive *out;
	int rc = 0;

	if (fd < 0)
		return -1;
	out = begin_tar(fd);
	for (size_t i = 0; i < n && !rc; i++) {
		const struct stat st = {.st_mode = S_IFREG | 0644, .st_size = (off_t)file[i].len};

		rc = put_header(out, file[i].name, &st, NULL, e);
		if (!rc &&
			archive_write_data(out, file[i].bytes, file[i].len) !=
				(la_ssize_t)file[i].len)
			rc = archive_failed(out, e);
	}
	if (archive_write_close(out) != ARCHIVE_OK && !rc)
		rc = archive_failed(out, e);
	archive_write_free(out);
	if (!rc)
		*ret_fd = steal_fd(&fd);
	return rc;
}
