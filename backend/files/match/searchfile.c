/* searchfile.c - searches one file in windows that end at a line's end; collects hits with their context. */
#include "files/match/searchfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <berth/mem.h>

#define FIRST_BUFFER (64u << 10)
#define WINDOW (4u << 20) /* most that is held of a file; a longer line is looked at in pieces */
#define BINARY_HEAD 8192
#define TEXT_MAX (16u << 20) /* text of hits kept of one file */
#define HITS_MANY 16384      /* hits of one file that are handed over before its end */

void searcher_init(struct searcher *s, const struct matcher *m)
{
	*s = (struct searcher){0};
	matcher_local_init(&s->local, m);
	str_init(&s->found.text);
}

void searcher_release(struct searcher *s)
{
	matcher_local_release(&s->local);
	free(s->buf);
	free(s->utf16.raw);
	free(s->found.hits);
	str_release(&s->found.text);
}

int search_open(int dirfd, const char *name, struct stat *st)
{
	int fd = openat(dirfd, name, PATH_READ | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && (fstat(fd, st) < 0 || !S_ISREG(st->st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* A window onto the file. */
struct view {
	struct searcher *s;
	const struct files_search_options *o;
	uint64_t offset; /* of buf[0] in the file */
	size_t n;        /* bytes in buf */
	uint64_t line;   /* number of the line that `counted` lies in */
	size_t counted;
	size_t context_from; /* lines before this were shown already */
	unsigned after_left; /* context lines still to be shown */
	bool full;           /* nothing else is */
	bool mid_line;       /* buf[0] is not the start of a line */
	uint64_t line_start; /* with mid_line: where that line starts in the file */
	size_t line_begin;   /* in buf: start of the last line */
	bool line_shown;     /* a match of the line that mid_line continues was shown */
	size_t limit;        /* of buf, what is searched now */
};

static uint64_t count_lines_plainly(const char *s, size_t n)
{
	uint64_t lines = 0;

	for (size_t at = 0; at < n; at++)
		lines += s[at] == '\n';
	return lines;
}

#if defined(__x86_64__)
__attribute__((target("avx2,popcnt"))) static uint64_t count_lines_avx2(const char *s, size_t n)
{
	const __m256i nl = _mm256_set1_epi8('\n');
	uint64_t lines = 0;
	size_t at = 0;

	for (; at + 32 <= n; at += 32) {
		__m256i x = _mm256_loadu_si256((const __m256i *)(const void *)(s + at));

		lines += (unsigned)__builtin_popcount(
			(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, nl)));
	}
	return lines + count_lines_plainly(s + at, n - at);
}
#endif

static uint64_t count_lines(const char *s, size_t n)
{
#if defined(__x86_64__)
	if (n >= 32 && __builtin_cpu_supports("avx2"))
		return count_lines_avx2(s, n);
#endif
	return count_lines_plainly(s, n);
}

static uint64_t line_number(struct view *v, size_t at)
{
	v->line += count_lines(v->s->buf + v->counted, at - v->counted);
	v->counted = at;
	return v->line;
}

/* `most` bytes of a line, with the match in them: its beginning where that has it, else some of what is before it. */
static void cut_around(const char *s, size_t *from, size_t *to, size_t match, size_t match_end,
	size_t most, struct files_hit *hit)
{
	size_t start = *from, end;

	if (match_end - start > most) {
		size_t lead = match_end - match < most ? (most - (match_end - match)) / 2 : 0;

		start = match - (lead < match - start ? lead : match - start);
		if (*to - start < most)
			start = *to - most;
		/* No character is cut in two. */
		while (start > *from && start < match && ((unsigned char)s[start] & 0xC0) == 0x80)
			start++;
	}
	end = *to - start > most ? start + most : *to;
	for (int i = 0; i < 3 && end > start && end < *to && ((unsigned char)s[end] & 0xC0) == 0x80;
		i++)
		end--;
	hit->cut_before = hit->cut_before || start > *from;
	hit->clipped = hit->clipped || end < *to;
	*from = start;
	*to = end;
}

static void add_hit(
	struct view *v, size_t from, size_t to, size_t match, size_t match_end, bool context)
{
	struct found *f = &v->s->found;
	uint32_t most = v->o->max_line ? v->o->max_line : 4096;
	struct files_hit hit = {.line = line_number(v, from), .offset = v->offset + from};

	if (!context) {
		uint64_t start = from == 0 && v->mid_line ? v->line_start : v->offset + from;

		f->matches++;
		hit.offset = v->offset + match;
		hit.column = hit.offset - start < UINT32_MAX - 1
			? (uint32_t)(hit.offset - start) + 1
			: UINT32_MAX;
		hit.match_len =
			match_end - match < UINT32_MAX ? (uint32_t)(match_end - match) : UINT32_MAX;
	}
	if (f->text.len > TEXT_MAX)
		most = 0;
	hit.cut_before = from == 0 && v->mid_line;
	hit.clipped = to == v->limit && v->s->local.cut;
	if (to - from > most)
		cut_around(v->s->buf, &from, &to, context ? from : match,
			context ? from : match_end, most, &hit);
	hit.len = to - from;
	/* By offset for now: the buffer may still move. */
	hit.text = NULL;
	f->hits = mem_grow(f->hits, &f->cap, f->n + 1, sizeof *f->hits);
	f->hits[f->n++] = hit;
	str_add(&f->text, v->s->buf + from, hit.len);
}

/* Context before `at` (the start of a line), back to what was shown. */
static void show_before(struct view *v, size_t at)
{
	size_t from = at;

	for (unsigned i = 0; i < v->o->before && from > v->context_from; i++) {
		const char *nl = memrchr(v->s->buf + v->context_from, '\n',
			from - 1 > v->context_from ? from - 1 - v->context_from : 0);

		from = nl ? (size_t)(nl + 1 - v->s->buf) : v->context_from;
	}
	/* A line whose beginning is gone cannot be shown. */
	if (from == 0 && v->mid_line)
		return;
	while (from < at) {
		const char *nl = memchr(v->s->buf + from, '\n', at - from);
		size_t end = nl ? (size_t)(nl - v->s->buf) : at;

		add_hit(v, from, end, 0, 0, true);
		from = end + 1;
	}
}

static void show_after(struct view *v, size_t limit)
{
	while (v->after_left > 0 && v->context_from < limit) {
		const char *nl = memchr(v->s->buf + v->context_from, '\n', limit - v->context_from);
		size_t end = nl ? (size_t)(nl - v->s->buf) : limit;

		add_hit(v, v->context_from, end, 0, 0, true);
		v->context_from = nl ? end + 1 : limit;
		v->after_left--;
	}
}

/* Search buf[from .. limit), which ends with a line unless the line is longer than the window.
 * false: enough was found and shown. */
static bool search_window(struct view *v, size_t from, size_t limit)
{
	struct searcher *s = v->s;
	size_t at, end;

	v->limit = limit;
	while (!v->full && from < limit &&
		matcher_find(&s->local, s->buf, limit, from, &at, &end)) {
		const char *nl = at > 0 ? memrchr(s->buf, '\n', at) : NULL;
		size_t line = nl ? (size_t)(nl + 1 - s->buf) : 0, stop;

		/* An empty match behind the last line feed is no line. */
		if (at == limit && at > 0 && s->buf[at - 1] == '\n')
			break;
		nl = memchr(s->buf + at, '\n', limit - at);
		stop = nl ? (size_t)(nl - s->buf) : limit;
		from = stop + 1;
		if (line == 0 && v->mid_line && v->line_shown)
			continue;
		if (v->o->names_only || s->binary) {
			s->found.matches = 1;
			return false;
		}
		if (v->after_left)
			show_after(v, line);
		if (v->o->before)
			show_before(v, line);
		add_hit(v, line, stop, at, end, false);
		if (!nl)
			v->line_shown = true;
		v->context_from = nl ? stop + 1 : limit;
		v->after_left = v->o->after;
		v->full = v->o->max_file_hits && s->found.matches >= v->o->max_file_hits;
		if (v->o->max_hits && s->found.matches > v->o->max_hits)
			return false;
	}
	if (v->after_left)
		show_after(v, limit);
	return !v->full || v->after_left;
}

/* Drop what is done from the front of the buffer, but for the context a later line may want.
 * Returns where `done` is now. */
static size_t slide_window(struct view *v, size_t done, bool line_ended)
{
	char *buf = v->s->buf;
	size_t keep = done, least = v->context_from < done ? v->context_from : done;

	for (unsigned i = 0; i < v->o->before && line_ended && keep > least; i++) {
		const char *nl = keep > 1 ? memrchr(buf, '\n', keep - 1) : NULL;

		keep = nl ? (size_t)(nl + 1 - buf) : 0;
	}
	if (keep < least)
		keep = least;
	/* Never more than half a window, or there would be no room to go on. */
	if (done - keep > WINDOW / 2)
		keep = done;
	if (keep > v->counted)
		line_number(v, keep);
	memmove(buf, buf + keep, v->n - keep);
	v->n -= keep;
	v->offset += keep;
	v->counted -= keep;
	v->context_from = v->context_from > keep ? v->context_from - keep : 0;
	if (keep > 0)
		v->mid_line = !line_ended;
	return done - keep;
}

static bool grow_buffer(struct searcher *s, size_t want)
{
	if (want <= s->cap)
		return true;
	if (s->cap >= WINDOW)
		return false;
	s->cap = want > WINDOW ? WINDOW : want < FIRST_BUFFER ? FIRST_BUFFER : want;
	s->buf = xrealloc(s->buf, s->cap);
	return true;
}

static void finish_hits(struct found *f)
{
	const char *text = f->text.s;

	for (size_t i = 0; i < f->n; i++) {
		f->hits[i].text = text;
		text += f->hits[i].len;
	}
}

static void flush_hits(struct searcher *s)
{
	finish_hits(&s->found);
	s->flush(s->flush_ctx, s);
	s->found.n = 0;
	str_clear(&s->found.text);
}

/* The file's first bytes are in the buffer: leave out a byte order mark, and go over to UTF-8 where
 * it says UTF-16. */
static ssize_t begin_text(struct view *v, int fd, ssize_t got)
{
	struct searcher *s = v->s;
	size_t mark = utf16_mark(&s->utf16, s->buf, (size_t)got), rest = (size_t)got - mark;

	if (mark == 0)
		return got;
	if (!s->utf16.on) {
		memmove(s->buf, s->buf + mark, rest);
		v->offset = mark;
		return (ssize_t)rest;
	}
	if (rest > UTF16_RAW) {
		if (lseek(fd, (off_t)(mark + UTF16_RAW), SEEK_SET) < 0)
			return -1;
		rest = UTF16_RAW;
	}
	utf16_push(&s->utf16, s->buf + mark, rest);
	return utf16_read(&s->utf16, fd, s->buf, s->cap);
}

/* `n` more bytes of the file are at buf[from].  A file with a NUL byte is not text: that it matches is told, no line of it
 * is.  false: it is left out, or that it matches is known. */
static bool look_for_nul(struct view *v, size_t from, size_t n)
{
	struct searcher *s = v->s;
	const char *nul;

	if (v->o->binary || s->binary || !(nul = memchr(s->buf + from, '\0', n)))
		return true;
	s->binary = true;
	s->nul_at = v->offset + (size_t)(nul - s->buf);
	v->after_left = 0;
	return s->found.matches == 0 && (s->named || s->nul_at >= BINARY_HEAD);
}

static void add_binary_hit(struct found *f, uint64_t nul_at)
{
	f->hits = mem_grow(f->hits, &f->cap, 1, sizeof *f->hits);
	f->hits[0] = (struct files_hit){.offset = nul_at, .binary = true};
	f->n = f->matches = 1;
	str_clear(&f->text);
}

enum searched search_fd(struct searcher *s, int fd, const struct stat *st,
	const struct files_search_options *o, const struct op *op)
{
	struct view v = {.s = s, .o = o, .line = 1};
	uint64_t most = o->max_file_bytes ? o->max_file_bytes : UINT64_C(4) << 30;
	size_t done = 0; /* of the buffer, searched already */
	bool eof = false, first = true;

	s->local.op = op;
	s->found.n = 0;
	s->found.matches = 0;
	s->told = 0;
	s->binary = false;
	s->utf16.on = false;
	str_clear(&s->found.text);
	if ((uint64_t)st->st_size > most)
		return SEARCH_LARGE;
	grow_buffer(s, (size_t)st->st_size + 1 > WINDOW ? WINDOW : (size_t)st->st_size + 1);
	while (!eof) {
		ssize_t got;
		const char *nl;
		bool full;

		if (s->cap - v.n < (s->utf16.on ? 8 : 1) && !grow_buffer(s, 2 * s->cap)) {
			/* One line fills the window: keep what a match across the cut needs. */
			size_t skip, overlap = matcher_overlap(s->local.m, &skip) + skip;

			if (!v.mid_line)
				v.line_start = v.offset + v.line_begin;
			done = v.n > overlap ? skip : 0;
			slide_window(&v, v.n > overlap ? v.n - overlap : v.n, false);
			v.line_begin = 0;
		}
		got = s->utf16.on ? utf16_read(&s->utf16, fd, s->buf + v.n, s->cap - v.n)
				  : read(fd, s->buf + v.n, s->cap - v.n);
		if (got < 0 && errno == EINTR)
			continue;
		if (first && got > 0)
			got = begin_text(&v, fd, got);
		if (got < 0 || op_stopped(op))
			return SEARCH_FAILED;
		first = false;
		if (!look_for_nul(&v, v.n, (size_t)got)) {
			if (!s->found.matches)
				return SEARCH_BINARY;
			break;
		}
		s->totals.bytes += (uint64_t)got;
		if (st->st_size > SEARCH_JOB) {
			s->told += (uint64_t)got;
			op_add(op, 0, (uint64_t)got);
		}
		v.n += (size_t)got;
		/* A short read of a file whose size is reached is its end. */
		eof = got == 0 ||
			(!s->utf16.on && v.n < s->cap && v.offset + v.n >= (uint64_t)st->st_size);
		nl = eof ? NULL : memrchr(s->buf + done, '\n', v.n - done);
		full = s->cap >= WINDOW && s->cap - v.n < (s->utf16.on ? 8 : 1);
		/* No line's end yet: a larger window first. */
		if (!nl && !eof && !full)
			continue;
		s->local.cut = !nl && !eof;
		if (!search_window(&v, done, nl ? (size_t)(nl + 1 - s->buf) : v.n))
			break;
		if (s->flush && s->found.n > HITS_MANY)
			flush_hits(s);
		if (nl) {
			v.line_begin = done = slide_window(&v, (size_t)(nl + 1 - s->buf), true);
			v.line_shown = false;
		} else {
			done = v.n;
		}
	}
	if (s->binary && s->found.matches && !o->names_only)
		add_binary_hit(&s->found, s->nul_at);
	finish_hits(&s->found);
	return SEARCHED;
}
