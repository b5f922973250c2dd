/* source.c - reads the lines of an audit log in order. */
#include "audit/source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/hex.h>

#include "audit/record.h"

#define BUFFER ((size_t)1 << 20)

void source_bundle_line(char out[SOURCE_BUNDLE_LINE], const char *first_key, const struct head *h)
{
	char hash[AUDIT_HEX] = "";

	hex_digits(hash, h->hash, SEAL_HASH);
	memset(out, ' ', SOURCE_BUNDLE_LINE);
	out[snprintf(out, SOURCE_BUNDLE_LINE,
		"{\"berth_audit_bundle\":1,\"first_key\":\"%s\",\"head_seq\":%" PRIu64
		",\"head\":\"%s\"}",
		first_key, h->seq, hash)] = ' ';
	out[SOURCE_BUNDLE_LINE - 1] = '\n';
}

/* The first line of a bundle; what follows is the log itself. */
static int open_bundle(struct source *s, const char *path, struct err *e)
{
	char line[SOURCE_BUNDLE_LINE + 1] = "", hash[AUDIT_HEX] = "";
	struct stat st;

	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0 || fstat(s->fd, &st) < 0)
		return err_sys(e, errno, "Cannot open %s", path);
	if (file_fill_at(s->fd, line, SOURCE_BUNDLE_LINE, 0) != SOURCE_BUNDLE_LINE ||
		line[SOURCE_BUNDLE_LINE - 1] != '\n' ||
		sscanf(line,
			"{\"berth_audit_bundle\":1,\"first_key\":\"%64[0-9a-f]\",\"head_seq\":%" SCNu64
			",\"head\":\"%64[0-9a-f]\"}",
			s->first_key, &s->head.seq, hash) != 3 ||
		strlen(hash) != 2 * SEAL_HASH || !hex_parse(s->head.hash, hash, SEAL_HASH))
		return err_set(e, ERR_FAILED,
			"%s is neither a directory of an audit log nor a bundle made by \"berth audit export\".",
			path);
	s->has_head = true;
	s->segs.v = xcalloc(1, sizeof *s->segs.v);
	s->segs.n = 1;
	s->offset = SOURCE_BUNDLE_LINE;
	s->segs.v[0].size = s->bytes = (uint64_t)st.st_size - s->offset;
	s->line = 1;
	return 0;
}

/* Head, sizes and keys belong together: read them under the lock, for as long as that takes. */
static int open_directory(struct source *s, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->dir, "head", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	char raw[HEAD_SIZE];
	size_t skip = 0;
	bool begun = false;
	int ret;

	if (fd >= 0 && head_lock(fd, false, 10000, e) < 0)
		return -1;
	ret = segments_list(s->dir, &s->segs, e);
	if (fd >= 0) {
		ssize_t n = file_fill_at(fd, raw, sizeof raw, 0);

		s->has_head = n == HEAD_SIZE && head_parse(raw, &s->head);
		begun = n != 0 || faccessat(s->dir, "key", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
		s->nkeys = keys_held(s->dir, s->key);
		head_unlock(fd);
	}
	if (ret < 0)
		return -1;
	/* Whoever makes the log makes the head first, and then waits for its lock. */
	if (!begun && !s->segs.n)
		return err_set(e, ERR_NOT_FOUND, "There is no audit log yet.");
	/* What retention has signed away, but was interrupted in removing. */
	while (skip + 1 < s->segs.n && s->segs.v[skip + 1].first <= s->head.pruned_to + 1)
		skip++;
	memmove(s->segs.v, s->segs.v + skip, (s->segs.n - skip) * sizeof *s->segs.v);
	s->segs.n -= skip;
	for (size_t i = 0; i < s->segs.n; i++)
		s->bytes += s->segs.v[i].size;
	return 0;
}

bool source_moved(const struct source *s, const char *path)
{
	struct source now;
	bool moved;

	if (s->dir < 0 || source_open(&now, path, NULL) < 0)
		return false;
	moved = now.bytes != s->bytes || now.segs.n != s->segs.n ||
		memcmp(&now.head, &s->head, sizeof now.head) != 0;
	source_close(&now);
	return moved;
}

int source_open(struct source *s, const char *path, struct err *e)
{
	char where[PATH_MAX];
	struct stat st;
	int ret;

	memset(s, 0, sizeof *s);
	s->dir = s->fd = -1;
	s->buf = xmalloc(BUFFER);
	if (path && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) {
		ret = open_bundle(s, path, e);
	} else {
		s->dir = segments_dir(path, false, where, sizeof where, e);
		ret = s->dir < 0 ? -1 : open_directory(s, e);
	}
	if (ret < 0)
		source_close(s);
	return ret;
}

void source_close(struct source *s)
{
	if (s->dir >= 0)
		close(s->dir);
	if (s->fd >= 0)
		close(s->fd);
	s->dir = s->fd = -1;
	segments_release(&s->segs);
	free(STEAL(s->buf));
}

static int open_next_segment(struct source *s, struct err *e)
{
	char name[SEGMENT_NAME];

	if (s->fd >= 0) {
		close(s->fd);
		s->fd = -1;
		s->at++;
	}
	if (s->dir < 0 || s->at >= s->segs.n)
		return 0;
	s->fd = openat(s->dir, segment_name(name, s->segs.v[s->at].first),
		O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (s->fd < 0)
		return err_sys(e, errno, "Cannot open the audit log's segment %s", name);
	posix_fadvise(s->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	s->offset = s->line = 0;
	return 1;
}

/* More bytes behind those buffered; 0 at the end of the segment (as of opening). */
static ssize_t fill_source(struct source *s, struct err *e)
{
	uint64_t base = s->dir < 0 ? s->offset : s->segs.v[s->at].size;
	size_t room;
	ssize_t n;

	if (s->start) {
		memmove(s->buf, s->buf + s->start, s->len);
		s->start = 0;
	}
	room = BUFFER - s->len;
	if (s->dir >= 0 && room > base - s->offset)
		room = (size_t)(base - s->offset);
	n = file_fill_at(s->fd, s->buf + s->len, room, (off_t)s->offset);
	if (n < 0)
		return err_sys(e, errno, "Cannot read the audit log");
	s->offset += (uint64_t)n;
	s->len += (size_t)n;
	return n;
}

static int hand_out(struct source *s, size_t n, size_t skip, const char **line, size_t *len)
{
	*line = s->buf + s->start;
	*len = n;
	s->start += n + skip;
	s->len -= n + skip;
	s->done += n + skip;
	s->line++;
	return 1;
}

int source_line(struct source *s, const char **ret_line, size_t *ret_len, struct err *e)
{
	for (;;) {
		char *from = s->buf + s->start,
		     *newline = s->len ? memchr(from, '\n', s->len) : NULL;
		ssize_t n;

		if (newline)
			return hand_out(s, (size_t)(newline - from), 1, ret_line, ret_len);
		if (s->len > AUDIT_LINE_MAX)
			return hand_out(s, s->len, 0, ret_line, ret_len);
		n = s->fd < 0 ? 0 : fill_source(s, e);
		if (n < 0)
			return -1;
		if (n > 0)
			continue;
		if (s->len && (s->dir < 0 || s->at + 1 >= s->segs.n)) {
			/* The end of the log is within a line. */
			s->torn = true;
			s->torn_bytes = s->len;
			return 0;
		}
		if (s->len)
			return hand_out(s, s->len, 0, ret_line, ret_len);
		n = open_next_segment(s, e);
		if (n <= 0)
			return (int)n;
	}
}

const char *source_name(const struct source *s, char buf[64])
{
	char name[SEGMENT_NAME];

	if (s->dir < 0)
		snprintf(buf, 64, "the bundle");
	else
		snprintf(buf, 64, "%s",
			s->at < s->segs.n ? segment_name(name, s->segs.v[s->at].first) : "the end");
	return buf;
}
