/* edit.c - finds where an edit belongs and puts the new text there. */
#include "mcp/edit.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/mem.h>
#include <berth/regex.h>
#include <berth/text.h>

#define SHOWN 8          /* places that an error names */
#define LOOK_EVERY 65536 /* steps between two looks whether to give up */
/* Bytes compared: what repeats itself takes as long as both are long, multiplied. */
#define WORK_MAX ((size_t)1 << 28)

struct place {
	size_t from, to; /* bytes of the text */
	size_t line;     /* of `from`, counted from 0 */
};

struct places {
	struct place first;
	size_t n;
	size_t lines[SHOWN];
	size_t inside; /* the line of one within a longer word, counted from 1; 0: none */
	size_t near;   /* of one with the same words, indented in another way */
	size_t work;
	struct regex *joined; /* made when it is needed first */
};

static void add_place(struct places *p, struct place at)
{
	if (p->n == 0)
		p->first = at;
	if (p->n < SHOWN)
		p->lines[p->n] = at.line + 1;
	p->n++;
}

static int check_work(const struct edit_request *q, struct places *p, size_t compared,
	size_t *steps, struct err *e)
{
	p->work += compared;
	if (p->work > WORK_MAX)
		return err_set(e, ERR_REFUSED,
			"\"oldText\", or its beginning, occurs too often in the file: use a text that occurs once. Nothing was changed.");
	return ++*steps % LOOK_EVERY == 0 && q->stopped && q->stopped(q->ctx)
		? err_set(e, ERR_CANCELLED, "cancelled")
		: 0;
}

/* -- as it is ---------------------------------------------------------------------------------------- */

/* Two characters of one word: letters, digits or _, or anything and its accent.  These scripts have no blanks between words. */
#define UNSPACED "[\\p{Han}\\p{Hiragana}\\p{Katakana}\\p{Thai}\\p{Lao}\\p{Khmer}\\p{Myanmar}]"
#define JOINED "\\A(?:(?!" UNSPACED ")\\w(?!" UNSPACED ")\\w|\\S\\p{M})"

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Does the boundary between a[-1] and a[0] lie inside a word?  Bytes that are not UTF-8 count as letters. */
static bool splits_word(const struct edit_request *q, struct places *p, const char *at)
{
	const char *end = q->text + q->text_n, *left = at - 1;
	char why[REGEX_WHY_MAX];
	uint32_t before, after;
	size_t n;

	if (at == q->text || at == end)
		return false;
	if ((unsigned char)at[-1] < 0x80 && (unsigned char)*at < 0x80)
		return is_word(at[-1]) && is_word(*at);
	while (left > q->text && at - left < 4 && ((unsigned char)*left & 0xC0) == 0x80)
		left--;
	n = utf8_next(at, (size_t)(end - at), &after);
	if (left + utf8_next(left, (size_t)(end - left), &before) != at || before == TEXT_BAD ||
		after == TEXT_BAD)
		return is_word(at[-1]) && is_word(*at);
	if (!p->joined)
		p->joined = regex_new(JOINED, 0, why);
	return p->joined && regex_find(p->joined, left, (size_t)(at - left) + n, 0, NULL, NULL) > 0;
}

static int find_plain(const struct edit_request *q, struct places *p, struct err *e)
{
	const char *end = q->text + q->text_n, *from = q->text, *counted = q->text, *at;
	size_t line = 0, steps = 0;

	while ((at = memmem(from, (size_t)(end - from), q->old, q->old_n)) != NULL) {
		for (const char *nl; (nl = memchr(counted, '\n', (size_t)(at - counted)));
			counted = nl + 1)
			line++;
		if (splits_word(q, p, at) || splits_word(q, p, at + q->old_n))
			p->inside = p->inside ? p->inside : line + 1;
		else
			add_place(p,
				(struct place){(size_t)(at - q->text),
					(size_t)(at - q->text) + q->old_n, line});
		from = at + 1;
		if (check_work(q, p, q->old_n, &steps, e))
			return -1;
	}
	return 0;
}

static bool has_crlf(const char *s, size_t n)
{
	return memmem(s, n, "\r\n", 2) != NULL;
}

static void add_plain(struct str *out, const char *s, size_t n)
{
	for (const char *end = s + n, *cr; s < end; s = cr + 1) {
		cr = memmem(s, (size_t)(end - s), "\r\n", 2);
		str_add(out, s, (size_t)((cr ? cr : end) - s));
		if (!cr)
			return;
	}
}

/* Where in the text the byte lies that is at `plain` when each CR LF is one byte. */
static size_t place_of(const struct edit_request *q, size_t plain)
{
	const char *s = q->text, *end = s + q->text_n, *cr;

	while ((cr = memmem(s, (size_t)(end - s), "\r\n", 2)) && (size_t)(cr - s) < plain) {
		plain -= (size_t)(cr - s) + 1;
		s = cr + 2;
	}
	return (size_t)(s - q->text) + plain;
}

/* CR LF and LF are the same: a client that reads lines sends LF. */
static int find_exact(const struct edit_request *q, struct places *p, struct err *e)
{
	AUTO_STR struct str text = STR_INIT, old = STR_INIT;
	struct edit_request plain = *q;

	if (!has_crlf(q->text, q->text_n) && !has_crlf(q->old, q->old_n))
		return find_plain(q, p, e);
	add_plain(&text, q->text, q->text_n);
	add_plain(&old, q->old, q->old_n);
	plain.text = text.s;
	plain.text_n = text.len;
	plain.old = old.s;
	plain.old_n = old.len;
	if (find_plain(&plain, p, e))
		return -1;
	p->first.from = place_of(q, p->first.from);
	p->first.to = place_of(q, p->first.to);
	return 0;
}

/* -- by lines ---------------------------------------------------------------------------------------- */

struct line {
	const char *s;
	size_t len;          /* with its line end */
	size_t indent, trim; /* blanks before; what is between them and those behind */
	bool newline, cr;
	uint64_t hash; /* of what is between */
};

struct lines {
	struct line *at;
	size_t n, cap;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static void split_lines(const char *s, size_t n, struct lines *ret)
{
	for (const char *p = s, *end = s + n; p < end;) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		struct line l = {.s = p, .newline = nl != NULL};
		size_t stop;

		l.len = (size_t)((nl ? nl + 1 : end) - p);
		stop = l.len - l.newline;
		l.cr = stop && p[stop - 1] == '\r';
		stop -= l.cr;
		while (stop && is_blank(p[stop - 1]))
			stop--;
		while (l.indent < stop && is_blank(p[l.indent]))
			l.indent++;
		l.trim = stop - l.indent;
		l.hash = XXH3_64bits(p + l.indent, l.trim);
		ret->at = mem_grow(ret->at, &ret->cap, ret->n + 1, sizeof *ret->at);
		ret->at[ret->n++] = l;
		p += l.len;
	}
}

static bool same_words(const struct line *a, const struct line *b)
{
	return a->hash == b->hash && a->trim == b->trim &&
		memcmp(a->s + a->indent, b->s + b->indent, a->trim) == 0;
}

#define INDENTS_MAX 32

/* Which indentation of the file each one that the edit says stands for. */
struct shift {
	struct {
		const char *said, *had;
		size_t said_n, had_n;
	} map[INDENTS_MAX];
	size_t n;
	bool uniform; /* all of them are the same one more, or less: any other can be told, too */
	size_t said_n, had_n; /* what that is: the first bytes of the first pair */
};

static void common_end(const char *a, size_t *an, const char *b, size_t *bn)
{
	while (*an && *bn && a[*an - 1] == b[*bn - 1]) {
		--*an;
		--*bn;
	}
}

static bool same_bytes(const char *a, size_t an, const char *b, size_t bn)
{
	return an == bn && !memcmp(a, b, an);
}

static void look_at_uniform(struct shift *x, const struct line *said, const struct line *had)
{
	size_t s = said->indent, h = had->indent;

	/* What both end with is deeper within. */
	common_end(said->s, &s, had->s, &h);
	if (x->n == 1) {
		x->said_n = s;
		x->had_n = h;
		x->uniform = true;
	} else {
		x->uniform = x->uniform && same_bytes(said->s, s, x->map[0].said, x->said_n) &&
			same_bytes(had->s, h, x->map[0].had, x->had_n);
	}
}

/* Learn from one pair of lines; false: it contradicts another. */
static bool learn_shift(struct shift *x, const struct line *said, const struct line *had)
{
	for (size_t i = 0; i < x->n; i++)
		if (same_bytes(said->s, said->indent, x->map[i].said, x->map[i].said_n))
			return same_bytes(had->s, had->indent, x->map[i].had, x->map[i].had_n);
	if (x->n == INDENTS_MAX)
		return false;
	x->map[x->n].said = said->s;
	x->map[x->n].said_n = said->indent;
	x->map[x->n].had = had->s;
	x->map[x->n++].had_n = had->indent;
	look_at_uniform(x, said, had);
	return true;
}

enum match { NO_MATCH, OTHER_INDENT, MATCH };

static enum match match_at(
	const struct lines *text, size_t from, const struct lines *old, struct shift *x)
{
	bool fits = true;

	*x = (struct shift){.n = 0};
	for (size_t i = 0; i < old->n; i++) {
		const struct line *t = &text->at[from + i], *o = &old->at[i];

		/* The last line of the edit may leave the line end out; no other may. */
		if (!same_words(t, o) || (o->newline && !t->newline))
			return NO_MATCH;
		fits = fits && (!o->trim || learn_shift(x, o, t));
	}
	return !x->n ? NO_MATCH : fits ? MATCH : OTHER_INDENT;
}

/* The failure function of Knuth, Morris and Pratt over hashes of lines. */
static size_t *build_table(const struct lines *old)
{
	size_t *table = xcalloc(old->n + 1, sizeof *table);

	for (size_t i = 1, k = 0; i < old->n; i++) {
		while (k && old->at[i].hash != old->at[k].hash)
			k = table[k - 1];
		k += old->at[i].hash == old->at[k].hash;
		table[i] = k;
	}
	return table;
}

static int find_lines(const struct edit_request *q, const struct lines *text,
	const struct lines *old, struct places *p, struct shift *x, struct err *e)
{
	AUTO_FREE size_t *table = build_table(old);
	size_t steps = 0;

	for (size_t i = 0, k = 0; i < text->n; i++) {
		while (k && text->at[i].hash != old->at[k].hash)
			k = table[k - 1];
		k += text->at[i].hash == old->at[k].hash;
		if (k == old->n) {
			size_t from = i + 1 - k;
			const struct line *last = &text->at[i];
			struct shift here;

			switch (match_at(text, from, old, &here)) {
			case NO_MATCH: break;
			case OTHER_INDENT: p->near = from + 1; break;
			case MATCH:
				if (p->n == 0)
					*x = here;
				add_place(p,
					(struct place){(size_t)(text->at[from].s - q->text),
						(size_t)(last->s - q->text) +
							(old->at[old->n - 1].newline ? last->len
										     : last->len -
										last->newline -
										last->cr),
						from});
			}
			k = table[k - 1];
			if (check_work(q, p, q->old_n, &steps, e))
				return -1;
		}
		if (check_work(q, p, 0, &steps, e))
			return -1;
	}
	return 0;
}

/* -- putting in -------------------------------------------------------------------------------------- */

/* Do the lines from `line` on, as many as the place has, end with CR LF?  -1: some do. */
static int has_cr(const struct lines *text, const struct place *p, const char *top)
{
	int some = 0, all = 1;

	/* The last line of a file may have no end: the one before it says. */
	if (p->line && p->line + 1 == text->n && !text->at[p->line].newline)
		return text->at[p->line - 1].cr;
	for (size_t i = p->line; i < text->n && text->at[i].s < top + (p->to ? p->to : 1); i++) {
		if (!text->at[i].newline)
			continue;
		some |= text->at[i].cr;
		all &= text->at[i].cr;
	}
	return some && all ? 1 : some ? -1 : 0;
}

static int put_line(struct str *out, const struct line *l, const struct shift *x, struct err *e)
{
	if (!l->trim)
		return 0; /* an empty line stays empty */
	for (size_t i = 0; i < x->n; i++)
		if (same_bytes(l->s, l->indent, x->map[i].said, x->map[i].said_n)) {
			str_add(out, x->map[i].had, x->map[i].had_n);
			str_add(out, l->s + l->indent, l->trim);
			return 0;
		}
	if (!x->uniform || l->indent < x->said_n || memcmp(l->s, x->map[0].said, x->said_n) != 0)
		return err_set(e, ERR_REFUSED,
			"\"oldText\" matches only with another indentation, and the indentation of "
			"\"newText\" cannot be derived from it: use the lines as they are in the file. "
			"Nothing was changed.");
	str_add(out, x->map[0].had, x->had_n);
	str_add(out, l->s + x->said_n, l->indent - x->said_n + l->trim);
	return 0;
}

/* The new text with the line ends `cr` says, and shifted. */
static int put_new(const struct edit_request *q, const struct shift *x, bool cr, struct str *out,
	struct err *e)
{
	struct lines new = {0};
	int rc = 0;

	split_lines(q->new, q->new_n, &new);
	for (size_t i = 0; i < new.n && !rc; i++) {
		const struct line *l = &new.at[i];

		if (x->n)
			rc = put_line(out, l, x, e);
		else
			str_add(out, l->s, l->len - l->newline - l->cr);
		if (l->newline)
			str_adds(out, cr ? "\r\n" : "\n");
		else if (l->cr)
			str_addc(out, '\r');
	}
	free(new.at);
	return rc;
}

static int refuse_several(const struct places *p, struct err *e)
{
	AUTO_STR struct str lines = STR_INIT;

	for (size_t i = 0; i < p->n && i < SHOWN; i++)
		str_addf(&lines, "%s%zu", i ? ", " : "", p->lines[i]);
	return err_set(e, ERR_CONFLICT,
		"\"oldText\" occurs %zu times (lines %s%s): include more surrounding lines. Nothing was changed.",
		p->n, lines.s, p->n > SHOWN ? ", ..." : "");
}

static int refuse_none(const struct edit_request *q, const struct places *p, struct err *e)
{
	if (p->near)
		return err_set(e, ERR_NOT_FOUND,
			"\"oldText\" matches line %zu and below except for leading whitespace: use the lines as they are in the file. Nothing was changed.",
			p->near);
	if (p->inside)
		return err_set(e, ERR_NOT_FOUND,
			"\"oldText\" is only part of a longer word in line %zu: %.120s. Use the whole word. Nothing was changed.",
			p->inside, q->old);
	return err_set(e, ERR_NOT_FOUND,
		"Could not find exact match for the edit: %.200s; nothing was changed. Read the file again.",
		q->old);
}

static int apply_edit(const struct edit_request *q, const struct lines *text,
	const struct lines *old, struct places *p, struct str *out, struct err *e)
{
	struct shift x = {.n = 0};
	int cr;

	if (find_exact(q, p, e) || (!p->n && find_lines(q, text, old, p, &x, e)))
		return -1;
	if (!p->n)
		return refuse_none(q, p, e);
	if (p->n > 1)
		return refuse_several(p, e);
	cr = has_cr(text, &p->first, q->text);
	if (cr < 0)
		return err_set(e, ERR_REFUSED,
			"the lines of \"oldText\" have different line ends (LF and CR LF): replace them one at a time. Nothing "
			"was changed.");
	if (x.uniform && !x.said_n && !x.had_n)
		x.n = 0; /* nothing to shift */
	str_add(out, q->text, p->first.from);
	if (put_new(q, &x, cr, out, e))
		return -1;
	str_add(out, q->text + p->first.to, q->text_n - p->first.to);
	return 0;
}

int edit_apply(const struct edit_request *q, struct str *out, struct err *e)
{
	struct lines text = {0}, old = {0};
	struct places p = {0};
	int rc;

	split_lines(q->text, q->text_n, &text);
	split_lines(q->old, q->old_n, &old);
	rc = apply_edit(q, &text, &old, &p, out, e);
	regex_free(p.joined);
	free(text.at);
	free(old.at);
	return rc;
}
