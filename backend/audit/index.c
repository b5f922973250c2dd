/* index.c - builds, stores and queries the index of a segment. */
#include "audit/index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "audit/record.h"
#include "audit/sys.h"

/* "BthIdx02"; what was made when there were other operations had other bits, and is made again. */
#define MAGIC (0x3230786449687442u ^ ((uint64_t)OP_COUNT << 32))
#define READ ((size_t)1 << 20)

struct header {
	uint64_t magic, size, n, sum;
};

uint64_t index_agent(const char *agent)
{
	uint64_t h = hash_more(HASH_START, agent, strlen(agent));

	return *agent ? (uint64_t)1 << (1 + (h >> 32) % 63) : 1;
}

uint64_t index_operation(enum operation d)
{
	return (uint64_t)1 << d % 64;
}

static uint64_t sum_of(const struct index_entry *v, size_t n)
{
	uint8_t hash[SEAL_HASH];
	uint64_t sum;

	seal_hash(v, n * sizeof *v, hash);
	memcpy(&sum, hash, sizeof sum);
	return sum;
}

static char *index_name(char buf[SEGMENT_NAME], uint64_t first)
{
	segment_name(buf, first);
	strcpy(strchr(buf, '.'), ".idx");
	return buf;
}

/* A quote inside a string is written with a backslash, so this is found only where it is a member;
 * one of the params may be found instead of a missing member, which only makes an entry say
 * "perhaps". */
static const char *find_member(const char *line, const char *end, const char *key, size_t *ret_len)
{
	size_t n = strlen(key);
	const char *at = memmem(line, (size_t)(end - line), key, n), *close;

	if (!at)
		return NULL;
	at += n;
	for (close = at; close < end && *close != '"'; close++)
		if (*close == '\\')
			close++;
	*ret_len = close < end ? (size_t)(close - at) : 0;
	return close < end ? at : NULL;
}

static uint64_t agent_bit(const char *line, const char *end)
{
	size_t n;
	const char *agent = find_member(line, end, ",\"agent\":\"", &n);
	char id[256];

	if (!agent)
		return 1;
	/* An id with anything escaped or long in it: it could be anybody. */
	if (n >= sizeof id || memchr(agent, '\\', n))
		return UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)agent[i] >= 0x80)
			return UINT64_MAX;
	memcpy(id, agent, n);
	id[n] = '\0';
	return index_agent(id);
}

static uint64_t name_bit(const char *name, size_t n, bool operation)
{
	char word[32];

	if (n >= sizeof word)
		return UINT64_MAX;
	memcpy(word, name, n);
	word[n] = '\0';
	if (operation)
		return index_operation(operation_named(word));
	for (int i = 0; i <= AUDIT_TIMEOUT; i++)
		if (strcmp(audit_result_name((enum audit_result)i), word) == 0)
			return (uint64_t)1 << i;
	return UINT64_MAX;
}

static void index_line(struct index_entry *x, const char *line, const char *end)
{
	size_t n;
	const char *operation = find_member(line, end, ",\"act\":\"", &n);
	const char *wall = memmem(line, (size_t)(end - line), ",\"wall_ms\":", 11);
	const char *result;
	int64_t ms = 0;

	x->operations |= operation ? name_bit(operation, n, true) : UINT64_MAX;
	x->agents |= agent_bit(line, end);
	result = find_member(line, end, ",\"outcome\":\"", &n);
	x->results |= result ? name_bit(result, n, false) : 1;
	if (wall)
		for (wall += 11; wall < end && *wall >= '0' && *wall <= '9' && ms < INT64_MAX / 16;
			wall++)
			ms = ms * 10 + (*wall - '0');
	if (ms < x->wall_min)
		x->wall_min = ms;
	if (ms > x->wall_max)
		x->wall_max = ms;
}

static struct index_entry *new_entry(struct index *x, size_t *cap, uint64_t offset)
{
	x->v = mem_grow(x->v, cap, x->n + 1, sizeof *x->v);
	x->v[x->n] = (struct index_entry){offset, INT64_MAX, INT64_MIN, 0, 0, 0};
	return &x->v[x->n++];
}

static int build_index(int dir, const struct segment *s, struct index *x, struct err *e)
{
	char name[SEGMENT_NAME];
	AUTO_CLOSE int fd = openat(
		dir, segment_name(name, s->first), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	AUTO_FREE char *buf = xmalloc(READ + AUDIT_LINE_MAX);
	struct index_entry *entry = NULL;
	uint64_t offset = 0;
	size_t cap = 0, len = 0;

	if (fd < 0)
		return err_sys(e, errno, "Cannot open the audit log's segment %s", name);
	x->size = s->size;
	for (;;) {
		ssize_t n = file_fill_at(fd, buf + len, READ, (off_t)(offset + len));
		char *line = buf, *end;

		if (n < 0)
			return err_sys(e, errno, "Cannot read the audit log's segment %s", name);
		len += (size_t)n;
		while ((end = memchr(line, '\n', (size_t)(buf + len - line)))) {
			uint64_t at = offset + (uint64_t)(line - buf);

			if (!entry || at - entry->offset >= INDEX_STRIDE)
				entry = new_entry(x, &cap, at);
			index_line(entry, line, end);
			line = end + 1;
		}
		/* What is no line within the limit belongs to nobody: read over it. */
		if (line == buf && len >= AUDIT_LINE_MAX)
			line = buf + len;
		if (n == 0)
			return 0;
		offset += (uint64_t)(line - buf);
		len -= (size_t)(line - buf);
		memmove(buf, line, len);
	}
}

static bool read_kept(int dir, const struct segment *s, struct index *x)
{
	char name[SEGMENT_NAME];
	AUTO_CLOSE int fd = openat(
		dir, index_name(name, s->first), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct header h;
	size_t bytes;

	if (fd < 0 || file_fill_at(fd, &h, sizeof h, 0) != sizeof h || h.magic != MAGIC ||
		h.size != s->size || h.n > s->size / INDEX_STRIDE + 1)
		return false;
	bytes = h.n * sizeof *x->v;
	x->v = xmalloc(bytes);
	x->n = h.n;
	x->size = h.size;
	if (file_fill_at(fd, x->v, bytes, sizeof h) != (ssize_t)bytes ||
		sum_of(x->v, x->n) != h.sum)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].offset >= s->size || (i && x->v[i].offset <= x->v[i - 1].offset))
			return false;
	return true;
}

/* Best effort: without it the next reader has to build it again. */
static void store_index(int dir, const struct segment *s, const struct index *x)
{
	struct header h = {MAGIC, x->size, x->n, sum_of(x->v, x->n)};
	char name[SEGMENT_NAME], temp[SEGMENT_NAME + 16];
	int fd;

	index_name(name, s->first);
	snprintf(temp, sizeof temp, "%s.%d", name, (int)getpid());
	fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	if (audit_pwrite_all(&audit_sys_real, fd, &h, sizeof h, 0) < 0 ||
		audit_pwrite_all(&audit_sys_real, fd, x->v, x->n * sizeof *x->v, sizeof h) < 0 ||
		renameat(dir, temp, dir, name) < 0)
		unlinkat(dir, temp, 0);
	close(fd);
}

int index_load(int dir, const struct segment *s, struct index *ret, size_t *ret_read, struct err *e)
{
	*ret_read = 0;
	memset(ret, 0, sizeof *ret);
	if (read_kept(dir, s, ret))
		return 0;
	index_release(ret);
	*ret_read = (size_t)s->size;
	if (build_index(dir, s, ret, e) < 0) {
		index_release(ret);
		return -1;
	}
	store_index(dir, s, ret);
	return 0;
}

void index_release(struct index *x)
{
	free(x->v);
	memset(x, 0, sizeof *x);
}

bool index_may_hold(const struct index_entry *x, const struct audit_filter *f, uint64_t agent_bits,
	uint64_t operation_bits)
{
	uint64_t result = (uint64_t)1 << f->result;

	if (!(x->agents & agent_bits) || !(x->operations & operation_bits))
		return false;
	if (f->by_result && !(x->results & (f->not_result ? ~result : result)))
		return false;
	return !(f->since_ms && x->wall_max < f->since_ms) &&
		!(f->until_ms && x->wall_min > f->until_ms);
}
