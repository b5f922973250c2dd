/*
 * diff.c - finds the lines that differ (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986) and writes
 * unified diffs.
 *
 * No library of Debian's does this on memory; git and diff(1) are programs.
 */
#include <berth/diff.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/text.h>

#define CONTEXT 3

static size_t skip_line(const char *s, size_t n, size_t at)
{
	const char *nl = memchr(s + at, '\n', n - at);

	return nl ? (size_t)(nl + 1 - s) : n;
}

static size_t previous_line(const char *s, size_t at)
{
	const char *nl = at > 1 ? memrchr(s, '\n', at - 1) : NULL;

	return nl ? (size_t)(nl + 1 - s) : 0;
}

static size_t lines_in(const char *s, size_t from, size_t to)
{
	size_t n = 0;

	for (size_t at = from; at < to; at = skip_line(s, to, at))
		n++;
	return n;
}

static void put_lines(
	struct str *out, size_t most, char mark, const char *s, size_t n, size_t from, size_t to)
{
	for (size_t at = from, end; at < to && out->len < most; at = end) {
		end = skip_line(s, n, at);
		str_addc(out, mark);
		str_add(out, s + at, end - at < most ? end - at : most);
		if (s[end - 1] != '\n')
			str_adds(out, "\n\\ No newline at end of file\n");
	}
}

static void put_range(struct str *out, size_t line, size_t count)
{
	if (count == 1)
		str_addf(out, "%zu", line);
	else
		str_addf(out, "%zu,%zu", count ? line : line - 1, count);
}

/* Where the context behind `at` ends: CONTEXT lines, not beyond `limit`. */
static size_t context_end(const char *s, size_t n, size_t at, size_t limit)
{
	for (int i = 0; i < CONTEXT && at < limit; i++)
		at = skip_line(s, n, at);
	return at < limit ? at : limit;
}

static void put_name(struct str *out, char side, const char *path)
{
	AUTO_STR struct str name = STR_INIT;

	str_addf(&name, "%c/%s", side, path);
	text_quote_name(out, name.s, name.len);
}

static void put_name_or_null(struct str *out, char side, const char *path, unsigned mode)
{
	if (mode)
		put_name(out, side, path);
	else
		str_adds(out, "/dev/null");
}

/* As git: quoted where it has to be, and a blank in it ends with a tab, which patch takes for the end. */
static void put_header(
	struct str *out, const char *mark, char side, const char *path, unsigned mode)
{
	str_adds(out, mark);
	put_name_or_null(out, side, path, mode);
	str_adds(out, mode && strchr(path, ' ') ? "\t\n" : "\n");
}

static void put_hunks(struct str *out, size_t most, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n)
{
	size_t old_line = 1, old_at = 0; /* line number of old_at */
	ptrdiff_t shift = 0;             /* new line number less old line number */

	for (size_t first = 0, last; first < n && out->len < most; first = last + 1) {
		size_t from = changes[first].old_from, to, old_count, new_count = 0, at;
		ptrdiff_t grown = 0;

		for (int i = 0; i < CONTEXT && from > (first ? changes[first - 1].old_to : 0); i++)
			from = previous_line(old, from);
		/* Changes whose contexts touch are one hunk. */
		for (last = first; last + 1 < n; last++) {
			size_t gap = context_end(
				old, old_n, changes[last].old_to, changes[last + 1].old_from);

			if (context_end(old, old_n, gap, changes[last + 1].old_from) <
				changes[last + 1].old_from)
				break;
		}
		to = context_end(old, old_n, changes[last].old_to,
			last + 1 < n ? changes[last + 1].old_from : old_n);
		old_line += lines_in(old, old_at, from);
		old_at = from;
		old_count = lines_in(old, from, to);
		for (size_t i = first; i <= last; i++)
			grown += (ptrdiff_t)lines_in(new, changes[i].new_from, changes[i].new_to) -
				(ptrdiff_t)lines_in(old, changes[i].old_from, changes[i].old_to);
		new_count = (size_t)((ptrdiff_t)old_count + grown);
		str_adds(out, "@@ -");
		put_range(out, old_line, old_count);
		str_adds(out, " +");
		put_range(out, (size_t)((ptrdiff_t)old_line + shift), new_count);
		str_adds(out, " @@\n");
		at = from;
		for (size_t i = first; i <= last; i++) {
			put_lines(out, most, ' ', old, old_n, at, changes[i].old_from);
			put_lines(
				out, most, '-', old, old_n, changes[i].old_from, changes[i].old_to);
			put_lines(
				out, most, '+', new, new_n, changes[i].new_from, changes[i].new_to);
			at = changes[i].old_to;
		}
		put_lines(out, most, ' ', old, old_n, at, to);
		shift += grown;
	}
}

void diff_unified(struct str *out, const char *path, const char *old, size_t old_n, const char *new,
	size_t new_n, const struct change *changes, size_t n)
{
	diff_unified_most(out, SIZE_MAX, path, old, old_n, new, new_n, changes, n);
}

void diff_unified_most(struct str *out, size_t most, const char *path, const char *old,
	size_t old_n, const char *new, size_t new_n, const struct change *changes, size_t n)
{
	if (n == 0)
		return;
	put_header(out, "--- ", 'a', path, DIFF_PLAIN);
	put_header(out, "+++ ", 'b', path, DIFF_PLAIN);
	put_hunks(out, most, old, old_n, new, new_n, changes, n);
}

static void put_git_head(struct str *out, const char *path, unsigned old_mode, unsigned new_mode)
{
	str_adds(out, "diff --git ");
	put_name(out, 'a', path);
	str_addc(out, ' ');
	put_name(out, 'b', path);
	str_addc(out, '\n');
	if (!old_mode)
		str_addf(out, "new file mode %06o\n", new_mode);
	else if (!new_mode)
		str_addf(out, "deleted file mode %06o\n", old_mode);
	else if (old_mode != new_mode)
		str_addf(out, "old mode %06o\nnew mode %06o\n", old_mode, new_mode);
}

void diff_git(struct str *out, const char *path, const struct diff_side *old,
	const struct diff_side *new, const struct change *changes, size_t n)
{
	put_git_head(out, path, old->mode, new->mode);
	if (n == 0)
		return;
	put_header(out, "--- ", 'a', path, old->mode);
	put_header(out, "+++ ", 'b', path, new->mode);
	put_hunks(out, SIZE_MAX, old->text, old->n, new->text, new->n, changes, n);
}

void diff_git_binary(struct str *out, const char *path, unsigned old_mode, unsigned new_mode)
{
	put_git_head(out, path, old_mode, new_mode);
	str_adds(out, "Binary files ");
	put_name_or_null(out, 'a', path, old_mode);
	str_adds(out, " and ");
	put_name_or_null(out, 'b', path, new_mode);
	str_adds(out, " differ\n");
}

/* -- finding the changes --------------------------------------------------------------------------- */

struct text_line {
	size_t at, n;
	uint64_t hash;
};

struct line_list {
	const char *text;
	size_t n;
	struct text_line *line;
};

static void split_lines(struct line_list *l, const char *s, size_t n)
{
	size_t cap = 64, end;

	*l = (struct line_list){.text = s, .line = xmalloc(cap * sizeof *l->line)};
	for (size_t at = 0; at < n; at = end) {
		end = skip_line(s, n, at);
		if (l->n == cap)
			l->line = xrealloc(l->line, (cap *= 2) * sizeof *l->line);
		l->line[l->n++] =
			(struct text_line){at, end - at, hash_more(HASH_START, s + at, end - at)};
	}
}

static bool equal_lines(const struct line_list *a, size_t i, const struct line_list *b, size_t j)
{
	const struct text_line *x = &a->line[i], *y = &b->line[j];

	return x->hash == y->hash && x->n == y->n &&
		!memcmp(a->text + x->at, b->text + y->at, x->n);
}

static size_t start_of_line(const struct line_list *l, size_t i)
{
	return i < l->n ? l->line[i].at : l->n ? l->line[l->n - 1].at + l->line[l->n - 1].n : 0;
}

struct change_list {
	struct change *v;
	size_t n, cap;
};

/* By lines, from the end to the start; what touches the one before becomes part of it. */
static void push_change(struct change_list *c, size_t x0, size_t x1, size_t y0, size_t y1)
{
	struct change *last = c->n ? &c->v[c->n - 1] : NULL;

	if (last && last->old_from == x1 && last->new_from == y1) {
		last->old_from = x0;
		last->new_from = y0;
		return;
	}
	c->v = mem_grow(c->v, &c->cap, c->n + 1, sizeof *c->v);
	c->v[c->n++] = (struct change){x0, x1, y0, y1};
}

/* The part of both that is neither equal at the start nor at the end: [x, x + n) and [x, x + m). */
struct middle {
	const struct line_list *a, *b;
	size_t x;
	ptrdiff_t n, m;
};

/* How far one gets on diagonal k in d steps, and from which diagonal. */
static ptrdiff_t step_to(const ptrdiff_t *v, ptrdiff_t k, ptrdiff_t d, bool *down)
{
	*down = k == -d || (k != d && v[k - 1] < v[k + 1]);
	return *down ? v[k + 1] : v[k - 1] + 1;
}

/* From the end back to the start, by what each round of `trace` had reached. */
static void walk_back(
	const struct middle *m, ptrdiff_t *const *trace, ptrdiff_t d, struct change_list *c)
{
	ptrdiff_t x = m->n, y = m->m;

	for (; d > 0; d--) {
		const ptrdiff_t *v = trace[d - 1] + d;
		ptrdiff_t k = x - y, from_k, from_x;
		bool down;

		step_to(v, k, d, &down);
		from_k = down ? k + 1 : k - 1;
		from_x = v[from_k];
		x = from_x;
		y = from_x - from_k;
		push_change(c, m->x + (size_t)x, m->x + (size_t)x + !down, m->x + (size_t)y,
			m->x + (size_t)y + down);
	}
}

/* false: it takes too many steps. */
static bool search_changes(const struct middle *m, struct change_list *c)
{
	ptrdiff_t *trace[DIFF_STEPS_MAX + 1] = {0}, d, rounds = 0;
	bool found = false;

	for (d = 0; d <= DIFF_STEPS_MAX && !found; d++) {
		/* Round d knows diagonals -d..d, and leaves room for its neighbours. */
		ptrdiff_t *now = xcalloc((size_t)(2 * d + 3), sizeof *now), *v = now + d + 1;
		const ptrdiff_t *before = d ? trace[d - 1] + d : NULL;

		trace[rounds++] = now;
		for (ptrdiff_t k = -d; k <= d; k += 2) {
			bool down;
			ptrdiff_t x = d ? step_to(before, k, d, &down) : 0;

			while (x < m->n && x - k < m->m && x - k >= 0 &&
				equal_lines(m->a, m->x + (size_t)x, m->b, m->x + (size_t)(x - k)))
				x++;
			v[k] = x;
			if (x >= m->n && x - k >= m->m) {
				found = true;
				break;
			}
		}
	}
	if (found)
		walk_back(m, trace, d - 1, c);
	while (rounds)
		free(trace[--rounds]);
	return found;
}

size_t diff_lines(const char *old, size_t old_n, const char *new, size_t new_n, struct change **ret)
{
	struct change_list c = {0};
	struct line_list a, b;
	struct middle m = {.a = &a, .b = &b};
	size_t end = 0;

	split_lines(&a, old, old_n);
	split_lines(&b, new, new_n);
	while (m.x < a.n && m.x < b.n && equal_lines(&a, m.x, &b, m.x))
		m.x++;
	while (end + m.x < a.n && end + m.x < b.n &&
		equal_lines(&a, a.n - 1 - end, &b, b.n - 1 - end))
		end++;
	m.n = (ptrdiff_t)(a.n - end - m.x);
	m.m = (ptrdiff_t)(b.n - end - m.x);
	if ((m.n || m.m) && !search_changes(&m, &c))
		push_change(&c, m.x, a.n - end, m.x, b.n - end);
	*ret = xmalloc((c.n + 1) * sizeof **ret);
	for (size_t i = 0; i < c.n; i++) {
		const struct change *l = &c.v[c.n - 1 - i];

		(*ret)[i] = (struct change){start_of_line(&a, l->old_from),
			start_of_line(&a, l->old_to), start_of_line(&b, l->new_from),
			start_of_line(&b, l->new_to)};
	}
	free(c.v);
	free(a.line);
	free(b.line);
	return c.n;
}
