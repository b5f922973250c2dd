/* log_reader.c - reads records of the audit log: newest first, following, filtered. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/audit.h>
#include <berth/arena.h>
#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/regex.h>
#include <berth/text.h>

#include "audit/index.h"
#include "audit/record.h"
#include "audit/segments.h"
#include "audit/sys.h"

#define BLOCK ((size_t)256 << 10)

struct place {
	size_t seg;      /* index into the list of segments; .n: before the first */
	uint64_t offset; /* everything before (older) or from (newer) here is still to come */
};

struct audit_reader {
	int dir;
	struct audit_filter filter; /* texts owned */
	char *needle;               /* bytes that every matching line holds, or NULL */
	struct regex *text;         /* of filter.text without its !; NULL: every line matches */
	bool not_text;
	uint64_t agent_bits, operation_bits;
	struct segments segs;
	struct place older, newer;
	bool forward; /* newer began at the beginning */
	int fd;
	uint64_t open_first; /* the segment fd is */
	struct index index;
	uint64_t index_first; /* the segment index is of; 0: none */
	char *block;
	struct arena mem;
};

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?") != NULL;
}

static bool plain_ascii(const char *s)
{
	for (; *s; s++)
		if (*s < 0x20 || *s >= 0x7F || *s == '"' || *s == '\\')
			return false;
	return true;
}

/* 0 with NULL: there is none. */
static int compile_text(const char *text, struct regex **ret, struct err *e)
{
	char why[REGEX_WHY_MAX], shown[64];
	unsigned fold = REGEX_FOLD;

	*ret = NULL;
	text += text && *text == '!';
	if (!text || !*text)
		return 0;
	for (const char *p = text; *p; p++)
		if (isupper((unsigned char)*p))
			fold = 0;
	*ret = regex_new(text, fold, why);
	if (*ret)
		return 0;
	return err_set(e, ERR_USAGE, "`%s` is not a regular expression: %s.",
		text_clean(shown, sizeof shown, text), why);
}

int audit_filter_check(const struct audit_filter *f, struct err *e)
{
	struct regex *r;

	if (compile_text(f->text, &r, e) < 0)
		return -1;
	regex_free(r);
	return 0;
}

static int take_filter(struct audit_reader *r, const struct audit_filter *f, struct err *e)
{
	static const struct audit_filter all;

	r->filter = f ? *f : all;
	r->filter.agent = xstrdup(r->filter.agent ? r->filter.agent : "");
	r->filter.operation = xstrdup(r->filter.operation ? r->filter.operation : "");
	r->filter.target = xstrdup(r->filter.target ? r->filter.target : "");
	r->filter.text = xstrdup(r->filter.text ? r->filter.text : "");
	r->agent_bits = r->operation_bits = UINT64_MAX;
	if (*r->filter.agent && !is_pattern(r->filter.agent)) {
		r->agent_bits = index_agent(r->filter.agent);
		if (plain_ascii(r->filter.agent))
			r->needle = xasprintf(",\"agent\":\"%s\"", r->filter.agent);
	}
	if (*r->filter.operation) {
		r->operation_bits = 0;
		for (int d = 1; d < OP_COUNT; d++)
			if (policy_match(r->filter.operation, operation_table[d].name))
				r->operation_bits |= index_operation((enum operation)d);
	}
	r->not_text = *r->filter.text == '!';
	return compile_text(r->filter.text, &r->text, e);
}

struct audit_reader *audit_reader_open(
	const char *dir, const struct audit_filter *filter, struct err *e)
{
	struct audit_reader *r = xcalloc(1, sizeof *r);
	char path[PATH_MAX];

	r->dir = r->fd = -1;
	arena_init(&r->mem, 8192);
	r->block = xmalloc(BLOCK);
	if (take_filter(r, filter, e) < 0) {
		audit_reader_close(r);
		return NULL;
	}
	r->dir = segments_dir(dir, false, path, sizeof path, e);
	if (r->dir < 0 || segments_list(r->dir, &r->segs, e) < 0) {
		audit_reader_close(r);
		return NULL;
	}
	if (!r->segs.n) {
		err_set(e, ERR_NOT_FOUND, "There is no audit log in %s yet.", path);
		audit_reader_close(r);
		return NULL;
	}
	r->older.seg = r->newer.seg = r->segs.n - 1;
	r->older.offset = r->newer.offset = r->segs.v[r->segs.n - 1].size;
	return r;
}

void audit_reader_close(struct audit_reader *r)
{
	if (!r)
		return;
	if (r->dir >= 0)
		close(r->dir);
	if (r->fd >= 0)
		close(r->fd);
	segments_release(&r->segs);
	index_release(&r->index);
	free((char *)r->filter.agent);
	free((char *)r->filter.operation);
	free((char *)r->filter.target);
	free((char *)r->filter.text);
	free(r->needle);
	regex_free(r->text);
	free(r->block);
	arena_release(&r->mem);
	free(r);
}

/* -- one record ----------------------------------------------------------------------------------
 */

static bool text_matches(const char *want, const char *text)
{
	return !*want || (is_pattern(want) ? policy_match(want, text) : strcmp(want, text) == 0);
}

static bool target_matches(const char *want, const struct audit_record *r)
{
	if (text_matches(want, r->name) || text_matches(want, r->target))
		return true;
	return strlen(want) >= 12 && strncmp(r->target, want, strlen(want)) == 0;
}

static bool passes_filter(const struct audit_filter *f, const struct audit_record *r)
{
	/* An intent has not ended in another way: its outcome says how it did. */
	if (f->by_result &&
		(f->not_result ? r->result == f->result || r->phase == AUDIT_INTENT
			       : r->result != f->result))
		return false;
	if ((f->since_ms && r->wall_ms < f->since_ms) || (f->until_ms && r->wall_ms > f->until_ms))
		return false;
	return text_matches(f->agent, r->agent) && target_matches(f->target, r) &&
		(!*f->operation || policy_match(f->operation, operation_table[r->operation].name));
}

/* Hand out one line if it is a record that passes; returns how many (0 or 1). */
static size_t consider_line(
	struct audit_reader *r, const char *line, size_t len, audit_record_fn fn, void *ctx)
{
	struct audit_record record;
	int found;

	if (r->needle && !memmem(line, len, r->needle, strlen(r->needle)))
		return 0;
	/* One that takes too many steps to tell is shown: nothing hides from who looks for it. */
	found = r->text ? regex_find(r->text, line, len, 0, NULL, NULL) : -1;
	if (found >= 0 && (found > 0) == r->not_text)
		return 0;
	arena_reset(&r->mem);
	/* A damaged line is nothing to show: finding it is what verifying is for. */
	if (!record_parse(line, len, &r->mem, &record) || !passes_filter(&r->filter, &record))
		return 0;
	fn(ctx, &record, line, len);
	return 1;
}

/* -- moving through the segments -----------------------------------------------------------------
 */

static int open_segment(struct audit_reader *r, size_t seg, struct err *e)
{
	uint64_t first = r->segs.v[seg].first;
	char name[SEGMENT_NAME];

	if (r->fd >= 0 && r->open_first == first)
		return 0;
	if (r->fd >= 0)
		close(r->fd);
	r->open_first = first;
	r->fd = openat(
		r->dir, segment_name(name, first), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (r->fd < 0)
		return err_sys(e, errno, "Cannot open the audit log's segment %s", name);
	return 0;
}

static bool is_filter_narrow(const struct audit_reader *r)
{
	const struct audit_filter *f = &r->filter;

	return r->agent_bits != UINT64_MAX || r->operation_bits != UINT64_MAX || f->by_result ||
		f->since_ms || f->until_ms;
}

/* The index of a closed segment, when the filter can use it; NULL otherwise. */
static const struct index *index_of(struct audit_reader *r, size_t seg, size_t *read, struct err *e)
{
	if (!is_filter_narrow(r) || seg + 1 >= r->segs.n || !r->segs.v[seg].size)
		return NULL;
	if (r->index_first == r->segs.v[seg].first)
		return &r->index;
	index_release(&r->index);
	r->index_first = 0;
	if (index_load(r->dir, &r->segs.v[seg], &r->index, read, e) < 0)
		return NULL;
	r->index_first = r->segs.v[seg].first;
	return &r->index;
}

/* The entry that offset lies in. */
static size_t entry_at(const struct index *x, uint64_t offset)
{
	size_t low = 0, high = x->n;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (x->v[middle].offset <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Step back over parts that cannot hold anything. */
static void skip_back(struct audit_reader *r, const struct index *x)
{
	while (r->older.offset && x->n) {
		size_t i = entry_at(x, r->older.offset - 1);

		if (index_may_hold(&x->v[i], &r->filter, r->agent_bits, r->operation_bits))
			return;
		r->older.offset = x->v[i].offset;
	}
}

/* One block back from older.offset. */
static int block_back(struct audit_reader *r, size_t max, size_t *found, size_t *read,
	audit_record_fn fn, void *ctx, struct err *e)
{
	size_t want = r->older.offset < BLOCK ? (size_t)r->older.offset : BLOCK, end = want;
	uint64_t base = r->older.offset - want;
	bool whole = base == 0;

	if (open_segment(r, r->older.seg, e) < 0)
		return -1;
	if (file_fill_at(r->fd, r->block, want, (off_t)base) != (ssize_t)want)
		return err_set(
			e, ERR_FAILED, "The audit log shrank while it was being read; verify it.");
	*read += want;
	/* What follows the last newline is being written, or torn. */
	while (end && r->block[end - 1] != '\n')
		end--;
	r->older.offset = base + end;
	while (end && *found < max) {
		char *before = end > 1 ? memrchr(r->block, '\n', end - 1) : NULL;
		size_t start = before ? (size_t)(before + 1 - r->block) : 0;

		if (!before && !whole)
			break; /* begins in an earlier block */
		*found += consider_line(r, r->block + start, end - 1 - start, fn, ctx);
		end = start;
		r->older.offset = base + end;
	}
	/* A block without any line is no log: go over it rather than round in circles. */
	if (r->older.offset == base + want && *found < max)
		r->older.offset = base;
	return 0;
}

int audit_reader_older(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e)
{
	size_t found = 0, read = 0;

	while (found < max && (!budget || read < budget)) {
		const struct index *x;

		if (!r->older.offset) {
			if (!r->older.seg)
				return 0;
			r->older.seg--;
			r->older.offset = r->segs.v[r->older.seg].size;
			continue;
		}
		x = index_of(r, r->older.seg, &read, e);
		if (x)
			skip_back(r, x);
		if (r->older.offset && block_back(r, max, &found, &read, fn, ctx, e) < 0)
			return -1;
	}
	return 1;
}

static void skip_forward(struct audit_reader *r, const struct index *x)
{
	while (r->newer.offset < x->size && x->n) {
		size_t i = entry_at(x, r->newer.offset);

		if (index_may_hold(&x->v[i], &r->filter, r->agent_bits, r->operation_bits))
			return;
		r->newer.offset = i + 1 < x->n ? x->v[i + 1].offset : x->size;
	}
}

/* Segments that were opened since; the places keep meaning what they meant. */
static int look_for_more(struct audit_reader *r, struct err *e)
{
	uint64_t older = r->segs.v[r->older.seg].first, newer = r->segs.v[r->newer.seg].first;
	struct segments now;

	if (segments_list(r->dir, &now, e) < 0)
		return -1;
	if (!now.n) {
		segments_release(&now);
		return err_set(e, ERR_FAILED, "The audit log's segments are missing; verify it.");
	}
	segments_release(&r->segs);
	r->segs = now;
	/* Retention may have taken a segment away: the next one that is left is where to go on. */
	for (r->newer.seg = 0; r->newer.seg + 1 < now.n && now.v[r->newer.seg].first < newer;)
		r->newer.seg++;
	if (now.v[r->newer.seg].first != newer)
		r->newer.offset = 0;
	for (r->older.seg = 0; r->older.seg + 1 < now.n && now.v[r->older.seg].first < older;)
		r->older.seg++;
	if (now.v[r->older.seg].first != older)
		r->older.offset = 0;
	return 0;
}

/* One block on from newer.offset; 0 bytes of progress means that there is nothing whole yet. */
static int block_on(struct audit_reader *r, size_t max, size_t *found, size_t *read,
	audit_record_fn fn, void *ctx, struct err *e)
{
	char *line = r->block, *end;
	ssize_t n;

	if (open_segment(r, r->newer.seg, e) < 0)
		return -1;
	n = file_fill_at(r->fd, r->block, BLOCK, (off_t)r->newer.offset);
	if (n < 0)
		return err_sys(e, errno, "Cannot read the audit log");
	*read += (size_t)n;
	while (*found < max && (end = memchr(line, '\n', (size_t)(r->block + n - line)))) {
		*found += consider_line(r, line, (size_t)(end - line), fn, ctx);
		line = end + 1;
	}
	if (line == r->block && n == (ssize_t)BLOCK)
		line = r->block + n;
	r->newer.offset += (uint64_t)(line - r->block);
	return line > r->block;
}

int audit_reader_newer(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e)
{
	size_t found = 0, read = 0;
	bool looked = false;

	while (found < max && (!budget || read < budget)) {
		const struct index *x = index_of(r, r->newer.seg, &read, e);
		int moved;

		if (x)
			skip_forward(r, x);
		moved = block_on(r, max, &found, &read, fn, ctx, e);
		if (moved < 0)
			return -1;
		if (moved)
			continue;
		if (r->newer.seg + 1 < r->segs.n) {
			r->newer.seg++;
			r->newer.offset = 0;
		} else if (!looked) {
			if (look_for_more(r, e) < 0)
				return -1;
			looked = true;
		} else {
			return 0;
		}
	}
	return 1;
}

int audit_reader_forward(struct audit_reader *r, size_t max, size_t budget, audit_record_fn fn,
	void *ctx, struct err *e)
{
	if (!r->forward) {
		r->forward = true;
		r->newer = (struct place){0, 0};
	}
	return audit_reader_newer(r, max, budget, fn, ctx, e);
}
