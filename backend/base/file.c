/* file.c - reads and writes whole files. */
#include <berth/file.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#define STEP ((size_t)64 << 10)

int file_open(int dir, const char *path, int flags)
{
	AUTO_CLOSE int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (!S_ISREG(st.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return steal_fd(&fd);
}

/* at NULL: where it stands. */
static ssize_t fill(int fd, char *to, size_t cap, const off_t *at)
{
	size_t n = 0;

	while (n < cap) {
		ssize_t got = !at ? read(fd, to + n, cap - n)
				  : pread(fd, to + n, cap - n, *at + (off_t)n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

ssize_t file_fill(int fd, void *buf, size_t cap)
{
	return fill(fd, buf, cap, NULL);
}

ssize_t file_fill_at(int fd, void *buf, size_t cap, off_t at)
{
	return fill(fd, buf, cap, &at);
}

static int refuse_file(const char *name, int errnum, size_t most, struct err *e)
{
	char shown[256];

	text_clean(shown, sizeof shown, name);
	if (errnum == EINVAL)
		err_set(e, ERR_CONFIG, "%s is not a regular file: name one.", shown);
	else if (errnum == EFBIG)
		err_set(e, ERR_CONFIG, "%s is longer than %zu bytes.", shown, most);
	else
		err_sys(e, errnum, "Cannot open %s", shown);
	errno = errnum;
	return -1;
}

/* The byte above `most` tells that there is more. */
static int append_rest(int fd, size_t expected, size_t most, struct str *ret)
{
	size_t begin = ret->len;

	for (size_t step = expected + 1;; step = STEP) {
		size_t room = most + 1 - (ret->len - begin);
		ssize_t n;

		if (step > room)
			step = room;
		str_reserve(ret, step);
		n = file_fill(fd, ret->s + ret->len, step);
		if (n < 0)
			return errno;
		ret->len += (size_t)n;
		ret->s[ret->len] = '\0';
		if (ret->len - begin > most)
			return EFBIG;
		if ((size_t)n < step)
			return 0;
	}
}

int file_read(int dir, const char *path, int flags, size_t most, struct str *ret, struct err *e)
{
	AUTO_CLOSE int fd = file_open(dir, path, flags);
	struct stat st;
	int failed;

	if (fd < 0 || fstat(fd, &st) < 0)
		return refuse_file(path, errno, most, e);
	/* Secrets are not copied about as the string grows: room for all, when it is known. */
	failed = append_rest(fd, st.st_size ? (size_t)st.st_size : STEP, most, ret);
	return failed ? refuse_file(path, failed, most, e) : 0;
}

int file_rest(int fd, const char *name, size_t most, struct str *ret, struct err *e)
{
	int failed = append_rest(fd, STEP, most, ret);

	return failed ? refuse_file(name, failed, most, e) : 0;
}

ssize_t file_text(const char *path, char *buf, size_t cap)
{
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : file_fill(fd, buf, cap - 1);

	buf[n > 0 ? n : 0] = '\0';
	return n;
}

int file_write(int fd, const void *bytes, size_t n)
{
	const char *from = bytes;

	while (n > 0) {
		ssize_t done = write(fd, from, n);

		if (done < 0 && errno == EAGAIN) {
			struct pollfd p = {.fd = fd, .events = POLLOUT};

			poll(&p, 1, -1);
		} else if (done == 0 || (done < 0 && errno != EINTR)) {
			errno = done ? errno : EIO;
			return -1;
		} else if (done > 0) {
			from += done;
			n -= (size_t)done;
		}
	}
	return 0;
}

int file_replace(const char *path, const void *bytes, size_t n, bool synced)
{
	char fresh[PATH_MAX + 32];
	AUTO_CLOSE int fd = -1;
	int failed;

	if (snprintf(fresh, sizeof fresh, "%s.%d", path, (int)gettid()) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (!file_write(fd, bytes, n) && !(synced && fdatasync(fd)) && !rename(fresh, path))
		return 0;
	failed = errno;
	unlink(fresh);
	errno = failed;
	return -1;
}

int file_temporary(struct err *e)
{
	const char *dir = getenv("TMPDIR");
	AUTO_FREE char *path = NULL;
	int fd;

	if (!dir || *dir != '/')
		dir = "/var/tmp";
	fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0)
		return fd;
	path = xasprintf("%s/berth-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0)
		err_sys(e, errno, "cannot make a temporary file in %s", dir);
	else
		unlink(path);
	return fd;
}
