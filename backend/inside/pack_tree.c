/* pack_tree.c - packs a file or a tree of this machine as a tar for a container; no link in it is followed. */
#include "inside/inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <archive.h>
#include <archive_entry.h>

#include <berth/mem.h>
#include <berth/text.h>

enum { BLOCK = 256 << 10 };

struct packing {
	const struct pack *p;
	struct inside_copied *ret;
	struct archive *out;
	struct archive_entry_linkresolver *names; /* of files that have several */
	uint64_t entries, unchecked;
	char *block;
};

static int fail_to_read(const char *path, struct err *e)
{
	int failed = errno;
	char shown[256];

	return err_sys(e, failed, "cannot read %s", text_clean(shown, sizeof shown, path));
}

static int fail_to_pack(struct packing *x, struct err *e)
{
	int failed = archive_errno(x->out);

	return err_sys(
		e, failed > 0 ? failed : EIO, "cannot write a temporary file (" INSIDE_SPOOL ")");
}

static int refuse_changed(const char *path, struct err *e)
{
	char shown[256];

	return err_set(e, ERR_CONFLICT, "%s changed while it was being read: nothing was copied.",
		text_clean(shown, sizeof shown, path));
}

static int check_stop(const struct packing *x, struct err *e)
{
	return inside_check_stop(x->p->stop, x->p->ctx, e);
}

/* 1: the content follows, 0: there is none, or a name of the same file has it. */
static int put_header(struct packing *x, const char *path, const struct stat *st,
	const char *target, struct err *e)
{
	struct archive_entry *entry = archive_entry_new(), *spare = NULL;
	AUTO_FREE char *name = xasprintf("%s%s", x->p->prefix, path);
	/* The set-group-ID bit of a directory tells what group its files get; that of a program gives rights. */
	mode_t keeps = S_ISDIR(st->st_mode) ? 03777 : 01777;
	bool content;
	int rc;

	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, st->st_mode & S_IFMT);
	archive_entry_set_perm(entry, st->st_mode & keeps);
	archive_entry_set_mtime(entry, st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	archive_entry_set_uid(entry, x->p->keep_owner ? st->st_uid : x->p->uid);
	archive_entry_set_gid(entry, x->p->keep_owner ? st->st_gid : x->p->gid);
	archive_entry_set_size(entry, S_ISREG(st->st_mode) ? st->st_size : 0);
	if (target)
		archive_entry_copy_symlink(entry, target);
	if (S_ISREG(st->st_mode) && st->st_nlink > 1) {
		archive_entry_set_dev(entry, st->st_dev);
		archive_entry_set_ino64(entry, (int64_t)st->st_ino);
		archive_entry_set_nlink(entry, (unsigned)st->st_nlink);
		archive_entry_linkify(x->names, &entry, &spare);
	}
	content = S_ISREG(st->st_mode) && !archive_entry_hardlink(entry);
	rc = archive_write_header(x->out, entry);
	archive_entry_free(entry);
	if (rc != ARCHIVE_OK && rc != ARCHIVE_WARN)
		return fail_to_pack(x, e);
	if (++x->entries > INSIDE_ENTRIES_MAX)
		return err_set(e, ERR_USAGE, "there are more than %d files and directories.",
			INSIDE_ENTRIES_MAX);
	if ((content || S_ISDIR(st->st_mode)) && st->st_mode & ~keeps & 06000)
		x->ret->cleared++;
	return content;
}

/* Files in /proc, and those of some FUSE file systems, are said to have no bytes, and have some. */
static int check_empty(struct packing *x, int fd, const char *path, struct err *e)
{
	struct stat now;
	char shown[256];
	ssize_t n;

	do
		n = read(fd, x->block, 1);
	while (n < 0 && errno == EINTR);
	if (n < 0 || fstat(fd, &now))
		return fail_to_read(path, e);
	if (n == 0 || now.st_size)
		return 0; /* it has grown since */
	return err_set(e, ERR_USAGE,
		"%s has content, but its size is not known: copy it to a file first.",
		text_clean(shown, sizeof shown, path));
}

/* As much as the file had when it was opened: one that grows is cut there. */
static int put_content(
	struct packing *x, int fd, const char *path, const struct stat *st, struct err *e)
{
	uint64_t left = (uint64_t)st->st_size;

	if (!left)
		return check_empty(x, fd, path, e);
	while (left) {
		ssize_t n = read(fd, x->block, left < BLOCK ? (size_t)left : BLOCK);

		if (check_stop(x, e))
			return -1;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_to_read(path, e);
		if (n == 0)
			return refuse_changed(path, e);
		if (inside_check_space(x->p->fd, &x->unchecked, (size_t)n, INSIDE_SPOOL, e))
			return -1;
		if (archive_write_data(x->out, x->block, (size_t)n) != n)
			return fail_to_pack(x, e);
		left -= (uint64_t)n;
	}
	x->ret->bytes += (uint64_t)st->st_size;
	return 0;
}

static int put_file(struct packing *x, int fd, const char *shown, const char *as, struct err *e)
{
	struct stat st;
	int content;

	if (fd < 0 || fstat(fd, &st))
		return fail_to_read(shown, e);
	if (!S_ISREG(st.st_mode))
		return refuse_changed(shown, e);
	content = put_header(x, as, &st, NULL, e);
	if (content < 0 || (content && put_content(x, fd, shown, &st, e)))
		return -1;
	x->ret->files++;
	return 0;
}

static int put_link(struct packing *x, int dir, const char *name, const char *shown, const char *as,
	int depth, const struct stat *st, struct err *e)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(dir, name, target, sizeof target - 1);

	if (n < 0)
		return errno == ENOENT && depth ? 0 : fail_to_read(shown, e);
	target[n] = '\0';
	if (put_header(x, as, st, target, e) < 0)
		return -1;
	x->ret->links++;
	return 0;
}

static int put_below(struct packing *x, int fd, const char *shown, const char *as, int depth,
	bool there, struct err *e);

/* What has gone since its name was read is left out: people save meanwhile.  `there`: the directory that it goes to is in
 * the container already. */
static int put_entry(struct packing *x, int dir, const char *name, const char *shown,
	const char *as, int depth, bool there, struct err *e)
{
	int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT && depth ? 0 : fail_to_read(shown, e);
	if (!S_ISDIR(st.st_mode) && !*as)
		return refuse_changed(shown, e);
	if (S_ISLNK(st.st_mode))
		return put_link(x, dir, name, shown, as, depth, &st, e);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		if (!depth)
			return refuse_changed(shown, e);
		if (!x->ret->left_out++)
			text_clean(x->ret->first_left_out, sizeof x->ret->first_left_out, shown);
		return 0;
	}
	fd = openat(dir, name, S_ISDIR(st.st_mode) ? flags | O_DIRECTORY : flags);
	if (fd < 0 && errno == ENOENT && depth)
		return 0;
	if (S_ISDIR(st.st_mode))
		return put_below(x, fd, shown, as, depth, there, e);
	return put_file(x, fd, shown, as, e);
}

static int is_name(const struct dirent *d)
{
	return strcmp(d->d_name, ".") && strcmp(d->d_name, "..");
}

/* The directory fd and what is in it; as "": only that. */
static int put_below(struct packing *x, int fd, const char *shown, const char *as, int depth,
	bool there, struct err *e)
{
	struct dirent **list = NULL;
	struct stat st;
	int n, rc = 0;

	if (fd < 0 || fstat(fd, &st))
		return fail_to_read(shown, e);
	if (depth > INSIDE_DEPTH_MAX)
		return err_set(e, ERR_USAGE, "directories are nested more than %d levels deep.",
			INSIDE_DEPTH_MAX);
	if (*as) {
		int found = there && x->p->is_there ? x->p->is_there(x->p->ctx, as, e) : 0;

		if (found < 0 || (!found && put_header(x, as, &st, NULL, e) < 0))
			return -1;
		there = found;
		x->ret->dirs++;
	}
	/* In order, so that the same tree makes the same tar. */
	n = scandirat(fd, ".", &list, is_name, alphasort);
	if (n < 0)
		return fail_to_read(shown, e);
	for (int i = 0; i < n; i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", shown, list[i]->d_name),
			       *below = xasprintf("%s%s%s", as, *as ? "/" : "", list[i]->d_name);

		if (!rc)
			rc = check_stop(x, e);
		if (!rc)
			rc = put_entry(x, fd, list[i]->d_name, path, below, depth + 1, there, e);
		free(list[i]);
	}
	free(list);
	return rc;
}

int inside_pack(const struct pack *p, struct inside_copied *ret, struct err *e)
{
	struct packing x = {.p = p,
		.ret = ret,
		.out = archive_write_new(),
		.names = archive_entry_linkresolver_new(),
		.block = xmalloc(BLOCK)};
	/* In the C locale libarchive writes names as they are, byte for byte; with a warning. */
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = uselocale(c);
	int rc;

	archive_write_set_format_pax_restricted(x.out);
	archive_write_set_bytes_in_last_block(x.out, 1);
	archive_entry_linkresolver_set_strategy(x.names, ARCHIVE_FORMAT_TAR);
	if (archive_write_open_fd(x.out, p->fd) == ARCHIVE_OK)
		rc = put_entry(&x, p->dir, p->from, p->path, p->name ? p->name : "", 0, true, e);
	else
		rc = fail_to_pack(&x, e);
	if (rc)
		archive_write_fail(x.out); /* else the rest of a file would be filled with zeros */
	else if (archive_write_close(x.out) != ARCHIVE_OK)
		rc = fail_to_pack(&x, e);
	archive_write_free(x.out);
	archive_entry_linkresolver_free(x.names);
	uselocale(before);
	freelocale(c);
	free(x.block);
	return rc;
}
