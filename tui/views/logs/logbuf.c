/* logbuf.c - keeps log lines in a bounded ring, in the order of their time stamps. */
#include "views/logs/logbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#define CHUNK_BYTES 65536u
/* Tabs can make a line longer; what goes beyond this is clipped. */
#define STORED_MAX (LOG_LINE_MAX + LOG_LINE_MAX / 2)
#define TAB_STOP 8

void logbuf_init(struct logbuf *b, size_t max_bytes, size_t max_lines)
{
	memset(b, 0, sizeof *b);
	b->nchunks = max_bytes / CHUNK_BYTES < 2 ? 2 : max_bytes / CHUNK_BYTES;
	CHECK(b->nchunks <= 65536 && max_lines > 1);
	b->max_lines = max_lines;
	/* Pages not yet written are not resident: the bound costs nothing until it is reached. */
	b->line = xmalloc(max_lines * sizeof *b->line);
	b->chunk = xcalloc(b->nchunks, sizeof *b->chunk);
	b->live = xcalloc(b->nchunks, sizeof *b->live);
	b->used = xcalloc(b->nchunks, sizeof *b->used);
	b->last_ns = xcalloc(LOGBUF_SOURCES, sizeof *b->last_ns);
}

void logbuf_release(struct logbuf *b)
{
	for (size_t i = 0; i < b->nchunks; i++)
		free(b->chunk[i]);
	free(b->chunk);
	free(b->live);
	free(b->used);
	free(b->line);
	free(b->last_ns);
	free(b->scratch);
	memset(b, 0, sizeof *b);
}

void logbuf_clear(struct logbuf *b)
{
	size_t bytes = b->nchunks * CHUNK_BYTES, lines = b->max_lines;

	logbuf_release(b);
	logbuf_init(b, bytes, lines);
}

static struct logbuf_line *line_slot(const struct logbuf *b, size_t i)
{
	size_t at = b->first + i;

	return &b->line[at < b->max_lines ? at : at - b->max_lines];
}

const struct logbuf_line *logbuf_at(const struct logbuf *b, size_t i)
{
	CHECK(i < b->count);
	return line_slot(b, i);
}

const char *logbuf_text(const struct logbuf *b, const struct logbuf_line *l)
{
	return b->chunk[l->at >> 16] + (l->at & 0xFFFF);
}

static void evict_line(struct logbuf *b)
{
	struct logbuf_line *l = line_slot(b, 0);

	b->live[l->at >> 16]--;
	b->first = b->first + 1 < b->max_lines ? b->first + 1 : 0;
	b->count--;
}

/* Room for `n` bytes at the end of the current chunk, or in one that is free or becomes so. */
static char *make_chunk_room(struct logbuf *b, size_t n, uint32_t *at)
{
	size_t c = b->current;

	if (!b->chunk[c] || b->used[c] + n > CHUNK_BYTES) {
		for (c = 0; c < b->nchunks && b->live[c]; c++)
			;
		while (c == b->nchunks) {
			size_t oldest = line_slot(b, 0)->at >> 16;

			evict_line(b);
			if (!b->live[oldest])
				c = oldest;
		}
		if (!b->chunk[c])
			b->chunk[c] = xmalloc(CHUNK_BYTES);
		b->used[c] = 0;
		b->current = c;
	}
	*at = (uint32_t)(c << 16 | b->used[c]);
	return b->chunk[c] + b->used[c];
}

/* The end of the escape sequence at s[0] (ESC): CSI, strings (OSC, DCS ...), or two bytes. */
static size_t escape_len(const char *s, size_t n)
{
	size_t i = 2;

	if (n < 2)
		return n;
	if (s[1] == '[') {
		while (i < n && (unsigned char)s[i] >= 0x20 && (unsigned char)s[i] < 0x40)
			i++;
		return i < n && (unsigned char)s[i] >= 0x40 && (unsigned char)s[i] < 0x7F ? i + 1
											  : i;
	}
	if (strchr("]PX^_", s[1])) {
		for (; i < n; i++) {
			if (s[i] == '\a')
				return i + 1;
			if (s[i] == '\x1b')
				return i + 1 < n && s[i + 1] == '\\' ? i + 2 : i;
		}
		return n;
	}
	while (i <= n && (unsigned char)s[i - 1] >= 0x20 && (unsigned char)s[i - 1] < 0x30)
		i++; /* intermediates, as in ESC ( B */
	return i < n ? i : n;
}

/* Nothing in it that settle_line() would change. */
static bool needs_no_settling(const char *s, size_t n)
{
	return !memchr(s, '\x1b', n) && !memchr(s, '\r', n) && !memchr(s, '\t', n) &&
		!memchr(s, '\n', n);
}

/* The changes of colour in a line that is being settled. */
struct runs {
	struct log_run run[LOG_RUNS_MAX];
	size_t n;
	struct ink now, last;
};

/* Text is to be written at `used`. */
static void ink_text(struct runs *r, size_t used)
{
	if (memcmp(&r->now, &r->last, sizeof r->now) == 0 || r->n == LOG_RUNS_MAX)
		return;
	r->run[r->n++] = (struct log_run){(uint16_t)used, r->now};
	r->last = r->now;
}

/* Of all escape sequences only those for colours mean something. */
static void take_escape(struct runs *r, const char *s, size_t n)
{
	if (n > 2 && s[1] == '[' && s[n - 1] == 'm')
		ink_take(&r->now, s + 2, n - 3);
}

/* Copy what a terminal would be left with.  Returns bytes written, at most `cap`. */
static size_t settle_line(
	char *out, size_t cap, const char *s, size_t n, struct runs *runs, bool *clipped)
{
	size_t used = 0, column = 0;

	while (n && (s[n - 1] == '\r' || s[n - 1] == '\n'))
		n--;
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t len;
		int w;

		if (s[i] == '\x1b') {
			len = escape_len(s + i, n - i);
			take_escape(runs, s + i, len);
			i += len;
			continue;
		}
		if (s[i] == '\r') {
			used = column = 0;
			runs->n = 0;
			runs->last = (struct ink){0};
			i++;
			continue;
		}
		ink_text(runs, used);
		if (s[i] == '\t') {
			len = TAB_STOP - column % TAB_STOP;
			if (used + len > cap) {
				*clipped = true;
				break;
			}
			memset(out + used, ' ', len);
			used += len;
			column += len;
			i++;
			continue;
		}
		for (len = 0;
			i + len < n && used + len < cap && s[i + len] >= 0x20 && s[i + len] < 0x7F;)
			len++;
		w = (int)len;
		if (!len) {
			len = utf8_next(s + i, n - i, &cp);
			w = text_cp_width(cp);
		}
		if (used + len > cap) {
			*clipped = true;
			break;
		}
		memcpy(out + used, s + i, len);
		column += (size_t)(w < 0 ? 1 : w);
		used += len;
		i += len;
	}
	return used;
}

static int64_t newest_ns(const struct logbuf *b)
{
	return b->count ? line_slot(b, b->count - 1)->key.ns : 0;
}

static int64_t order_ns(struct logbuf *b, uint16_t source, int64_t wall_ns)
{
	if (wall_ns <= 0)
		wall_ns = newest_ns(b);
	if (wall_ns < b->last_ns[source])
		wall_ns = b->last_ns[source];
	return b->last_ns[source] = wall_ns;
}

static size_t stored_bytes(const struct logbuf_line *l)
{
	return l->len + l->nruns * sizeof(struct log_run);
}

static void keep_line_bytes(struct logbuf *b, const struct logbuf_line *l)
{
	b->used[b->current] += (uint32_t)stored_bytes(l);
	b->live[b->current]++;
}

struct log_run logbuf_run(const struct logbuf *b, const struct logbuf_line *l, size_t i)
{
	struct log_run r;

	memcpy(&r, logbuf_text(b, l) + l->len + i * sizeof r, sizeof r);
	return r;
}

static void push_line(struct logbuf *b, const struct log_line *in, uint8_t flags)
{
	struct logbuf_line l = {.source = in->source, .stream = in->stream, .flags = flags};
	size_t n = in->len < LOG_LINE_MAX ? in->len : LOG_LINE_MAX;
	size_t most = memchr(in->text, '\t', n) ? STORED_MAX : n;
	struct runs runs;
	bool clipped = in->clipped;
	char *to;

	if (b->count == b->max_lines)
		evict_line(b);
	if (needs_no_settling(in->text, n)) {
		to = make_chunk_room(b, n, &l.at);
		memcpy(to, in->text, n);
		l.len = (uint16_t)n;
	} else {
		runs.n = 0;
		runs.now = runs.last = (struct ink){0};
		to = make_chunk_room(b, most + sizeof runs.run, &l.at);
		l.len = (uint16_t)settle_line(to, most, in->text, n, &runs, &clipped);
		l.nruns = (uint16_t)runs.n;
		memcpy(to + l.len, runs.run, runs.n * sizeof *runs.run);
	}
	keep_line_bytes(b, &l);
	if (clipped)
		l.flags |= LOG_CLIPPED;
	if (in->wall_ns <= 0)
		l.flags |= LOG_NO_STAMP;
	l.key.ns = flags & LOG_GAP ? newest_ns(b) : order_ns(b, in->source, in->wall_ns);
	l.key.serial = ++b->serial;
	b->count++;
	*line_slot(b, b->count - 1) = l;
}

static int compare_log_keys(struct log_key a, struct log_key b)
{
	if (a.ns != b.ns)
		return a.ns < b.ns ? -1 : 1;
	return a.serial < b.serial ? -1 : a.serial > b.serial;
}

static int compare_lines(const void *a, const void *b)
{
	return compare_log_keys(
		((const struct logbuf_line *)a)->key, ((const struct logbuf_line *)b)->key);
}

/* The last `n` lines are new: bring them in order among themselves and with those before. */
static void merge_lines(struct logbuf *b, size_t n)
{
	size_t old, at, i, out;
	bool sorted = true;

	if (n > b->count)
		n = b->count;
	old = b->count - n;
	for (i = b->count - n; i + 1 < b->count && sorted; i++)
		sorted = compare_log_keys(line_slot(b, i)->key, line_slot(b, i + 1)->key) < 0;
	if (sorted &&
		(!old || !n ||
			compare_log_keys(line_slot(b, old - 1)->key, line_slot(b, old)->key) < 0))
		return;
	b->scratch = mem_grow(b->scratch, &b->scratch_cap, n, sizeof *b->scratch);
	for (i = 0; i < n; i++)
		b->scratch[i] = *line_slot(b, old + i);
	if (!sorted)
		mem_sort(b->scratch, n, sizeof *b->scratch, compare_lines);
	/* From the end: the larger of the two tails goes to its final place. */
	for (i = n, at = old, out = b->count; i;) {
		out--;
		if (at && compare_log_keys(line_slot(b, at - 1)->key, b->scratch[i - 1].key) > 0)
			*line_slot(b, out) = *line_slot(b, --at);
		else
			*line_slot(b, out) = b->scratch[--i];
	}
}

void logbuf_append(struct logbuf *b, const struct log_line *lines, size_t n)
{
	size_t pushed = 0;

	for (size_t i = 0; i < n; i++) {
		if (lines[i].source >= LOGBUF_SOURCES) {
			b->lost++;
			continue;
		}
		push_line(b, &lines[i], 0);
		pushed++;
	}
	merge_lines(b, pushed);
}

void logbuf_copy(struct logbuf *b, const struct logbuf *from, const struct logbuf_line *l)
{
	struct logbuf_line copy = *l;

	if (b->count == b->max_lines)
		evict_line(b);
	memcpy(make_chunk_room(b, stored_bytes(l), &copy.at), logbuf_text(from, l),
		stored_bytes(l));
	keep_line_bytes(b, &copy);
	copy.key.ns = order_ns(b, l->source, l->flags & LOG_NO_STAMP ? 0 : l->key.ns);
	copy.key.serial = ++b->serial;
	b->count++;
	*line_slot(b, b->count - 1) = copy;
	merge_lines(b, 1);
}

void logbuf_gap(struct logbuf *b, uint64_t n)
{
	char count[FORMAT_MAX], text[80];
	struct log_line note = {.text = text};

	b->lost += n;
	note.len = (uint32_t)snprintf(text, sizeof text,
		"%s %s lost here, faster than they could be read", format_count(count, n),
		n == 1 ? "line" : "lines");
	push_line(b, &note, LOG_GAP);
}

size_t logbuf_find(const struct logbuf *b, struct log_key key)
{
	size_t low = 0, high = b->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (compare_log_keys(line_slot(b, mid)->key, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

int logbuf_search(
	const struct logbuf *b, const struct pattern *p, bool forward, size_t budget, size_t *i)
{
	for (; *i < b->count; *i += forward ? 1 : SIZE_MAX) {
		const struct logbuf_line *l = line_slot(b, *i);
		size_t start, end;

		if (pattern_next(p, logbuf_text(b, l), l->len, 0, &start, &end))
			return 1;
		if (budget < (size_t)l->len + 16)
			return -1;
		budget -= (size_t)l->len + 16;
	}
	return 0;
}
