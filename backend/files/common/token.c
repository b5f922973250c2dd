/* token.c - creates, compares, prints and parses tokens. */
#include "files/common/token.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/check.h>
#include <berth/mem.h>

/* Two ticks of the slowest clock in use (CONFIG_HZ=100): a file changed that short before it was
 * read may change again without a new time stamp. */
#define RACY_NS 20000000

int64_t time_ns(int64_t seconds, int64_t ns)
{
	int64_t all;

	if (__builtin_mul_overflow(seconds, INT64_C(1000000000), &all) ||
		__builtin_add_overflow(all, ns, &all))
		return seconds < 0 ? INT64_MIN : INT64_MAX;
	return all;
}

static int64_t timespec_ns(const struct timespec *t)
{
	return time_ns(t->tv_sec, t->tv_nsec);
}

int64_t stat_mtime_ns(const struct stat *st)
{
	return timespec_ns(&st->st_mtim);
}

int64_t stat_ctime_ns(const struct stat *st)
{
	return timespec_ns(&st->st_ctim);
}

int64_t token_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return timespec_ns(&now);
}

void token_fill(struct files_token *t, const struct stat *st, int64_t read_ns)
{
	*t = (struct files_token){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = timespec_ns(&st->st_mtim),
		.ctime_ns = timespec_ns(&st->st_ctim),
		.read_ns = read_ns,
	};
}

void token_hash(struct files_token *t, const void *bytes, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(bytes, n);

	t->hash[0] = h.high64;
	t->hash[1] = h.low64;
	t->hashed = true;
}

/* Its members are the library's. */
static XXH3_state_t *state_of_hasher(struct token_hasher *h)
{
	return (XXH3_state_t *)(void *)h;
}

struct token_hasher *token_hasher_new(void)
{
	XXH3_state_t *state = XXH3_createState();

	CHECK(state != NULL);
	XXH3_128bits_reset(state);
	return (struct token_hasher *)(void *)state;
}

void token_hasher_add(struct token_hasher *h, const void *bytes, size_t n)
{
	XXH3_128bits_update(state_of_hasher(h), bytes, n);
}

void token_hasher_end(struct token_hasher *h, struct files_token *t)
{
	XXH128_hash_t sum = XXH3_128bits_digest(state_of_hasher(h));

	XXH3_freeState(state_of_hasher(h));
	if (!t)
		return;
	t->hash[0] = sum.high64;
	t->hash[1] = sum.low64;
	t->hashed = true;
}

bool token_racy(const struct files_token *t)
{
	/* ctime moves with every change, whatever somebody does to mtime. */
	return t->ctime_ns + RACY_NS > t->read_ns;
}

static bool same_content(const struct files_token *t, int fd)
{
	AUTO_FREE char *buf = xmalloc(256 * 1024);
	struct token_hasher *h = token_hasher_new();
	struct files_token now;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, 256 * 1024, at)) > 0) {
		token_hasher_add(h, buf, (size_t)n);
		at += n;
	}
	token_hasher_end(h, &now);
	return n == 0 && now.hash[0] == t->hash[0] && now.hash[1] == t->hash[1];
}

bool token_holds(const struct files_token *t, const struct stat *st, int fd)
{
	bool same = t->dev == st->st_dev && t->ino == st->st_ino &&
		t->size == (uint64_t)st->st_size && t->mtime_ns == timespec_ns(&st->st_mtim) &&
		t->ctime_ns == timespec_ns(&st->st_ctim);

	if (same && !token_racy(t))
		return true;
	/* The same bytes under new time stamps are what the reader saw, too. */
	return t->hashed && t->size == (uint64_t)st->st_size && same_content(t, fd);
}

char *files_token_print(char buf[FILES_TOKEN_MAX], const struct files_token *t)
{
	int n = snprintf(buf, FILES_TOKEN_MAX,
		"1:%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64, t->dev,
		t->ino, t->size, (uint64_t)t->mtime_ns, (uint64_t)t->ctime_ns,
		(uint64_t)t->read_ns);

	if (t->hashed)
		snprintf(buf + n, FILES_TOKEN_MAX - (size_t)n, ":%016" PRIx64 ":%016" PRIx64,
			t->hash[0], t->hash[1]);
	return buf;
}

int files_token_parse(const char *text, struct files_token *t, struct err *e)
{
	uint64_t v[8];
	size_t n = 0;
	const char *at = text;

	if (strncmp(at, "1:", 2) == 0)
		for (at += 1; *at == ':' && n < COUNT(v);) {
			size_t digits = strspn(++at, "0123456789abcdef");

			if (digits == 0 || digits > 16)
				break;
			v[n++] = strtoull(at, NULL, 16);
			at += digits;
		}
	if (*at || (n != 6 && n != 8))
		return err_set(e, ERR_USAGE,
			"%.40s is not a version token: use the one that `files read` printed",
			text);
	*t = (struct files_token){v[0], v[1], v[2], (int64_t)v[3], (int64_t)v[4], (int64_t)v[5],
		{n == 8 ? v[6] : 0, n == 8 ? v[7] : 0}, n == 8};
	return 0;
}
