/*
 * matcher.c - matches patterns by PCRE2 with JIT, on the lines that a cheaper test (sieve.h, then an automaton)
 * selects. PCRE2 decides what is found, so a sieve may only let through too much.
 *
 * The dialect of berth/regex.h, which is for short texts: here a line may be longer than memory bears in one
 * piece.
 */
#include "files/match/matcher.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <berth/mem.h>

#include "files/common/op.h"
#include "files/match/automaton.h"
#include "files/match/sieve.h"

#define PATTERN_MAX 65536
/* No call of PCRE2 can be stopped, so none is given much: lines of PIECE bytes in all, and of a line
 * longer than LONG a few places to start from, see match_far(). */
#define PIECE (16u << 10)
#define LONG (64u << 10)
#define OVERLAP (64u << 10) /* longest match that is found for sure where a line is cut */
#define NEAR_REACH 256      /* bytes behind a place to start from, and the places at first */
#define NEAR_MAX 4096       /* places at a time where nothing is hard */
#define NEAR_LIMIT 64       /* of PCRE2, for each place */
#define LIMIT_COST 8        /* looks at a byte that one step of PCRE2's limit is worth */
#define SPENT_MAX (UINT64_C(1) << 31) /* looks, some seconds: then a long line is given up */
#define MATCH_LIMIT 1000000           /* some 10 ms: then a line is given up */
#define STACK_MAX (1u << 20)

/* Above this share of places or lines the automaton reads everything, instead of what places name. */
#define SHARE_MAX 0.02
#define SHARE_ALONE 0.1 /* the same where there is no automaton */
#define LINE_USUAL 48

struct matcher {
	struct literal literal;      /* len 0: none */
	struct sieve sieve;          /* width 0: none */
	struct automaton *automaton; /* or NULL */
	pcre2_code *code;            /* NULL: the literal is all */
	bool jit;
	bool expands;  /* a regular expression: its groups may be named in a replacement */
	bool names_cr; /* it may speak of carriage returns: those that end a line are its to match */
	bool ends; /* it asks for the end of the text: no pieces, which would be ends of their own */
	char *text;
};

/* The literal as a pattern: punctuation escaped, everything else as it is. */
static char *quote_literal(const char *text, size_t n)
{
	struct str out = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x80 && !isalnum(c))
			str_addf(&out, "\\x%02x", c);
		else
			str_addc(&out, text[i]);
	}
	return str_detach(&out);
}

static pcre2_code *compile_text(
	const char *text, size_t n, uint32_t options, int *code, PCRE2_SIZE *at)
{
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);
	pcre2_code *compiled;

	pcre2_set_newline(c, PCRE2_NEWLINE_LF);
	/* Letters, digits and blanks are Unicode's, as for ripgrep.  Without PCRE2_UCP the JIT of 10.42 and earlier
	 * besides finds no character beyond ASCII for \S, \D and \W (PCRE2's issue 224). */
	compiled = pcre2_compile((PCRE2_SPTR)text, n,
		options | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, code, at, c);
	/* A pattern that is no UTF-8 is meant as bytes. */
	if (!compiled && *code <= PCRE2_ERROR_UTF8_ERR1 && *code >= PCRE2_ERROR_UTF8_ERR21)
		compiled = pcre2_compile((PCRE2_SPTR)text, n, options, code, at, c);
	pcre2_compile_context_free(c);
	return compiled;
}

static int compile_pattern(struct matcher *m, const struct files_pattern *p, struct err *e)
{
	AUTO_FREE char *text =
		p->regex ? xstrndup(p->text, p->len) : quote_literal(p->text, p->len);
	size_t n = p->regex ? p->len : strlen(text);
	/* Where a byte is not UTF-8, ".*" may begin behind it, too, not only at the start of a line. */
	uint32_t options = PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT |
		PCRE2_NO_DOTSTAR_ANCHOR;
	PCRE2_UCHAR why[128];
	PCRE2_SIZE at = 0;
	int code = 0;

	if (memchr(text, '\0', n))
		return err_set(e, ERR_USAGE, "the pattern contains a NUL byte: write it as \\x00");
	if (p->ignore_case)
		options |= PCRE2_CASELESS;
	if (p->word) {
		char *framed = xasprintf("(?<!\\w)(?:%s)(?!\\w)", text);

		free(text);
		text = framed;
		n = strlen(text);
	}
	m->ends = strstr(text, "\\z") || strstr(text, "\\Z");
	m->code = compile_text(text, n, options, &code, &at);
	if (!m->code) {
		pcre2_get_error_message(code, why, sizeof why);
		return err_set(e, ERR_USAGE, "the pattern is invalid at byte %zu: %s", (size_t)at,
			(char *)why);
	}
	/* No JIT where memory may not be made executable: the interpreter does the same, slower. */
	m->jit = pcre2_jit_compile(m->code, PCRE2_JIT_COMPLETE) == 0;
	return 0;
}

/* What names the lines that PCRE2 looks at; nothing for patterns that are not plain. */
static void make_sieve(struct matcher *m, const struct files_pattern *p)
{
	AUTO_FREE char *text =
		p->regex ? xstrndup(p->text, p->len) : quote_literal(p->text, p->len);
	AUTO_FREE struct shape *s = xmalloc(sizeof *s);
	uint32_t options = 0;

	pcre2_pattern_info(m->code, PCRE2_INFO_ALLOPTIONS, &options);
	if (!(options & PCRE2_UTF) || !pattern_shape(s, text, strlen(text), p->ignore_case))
		return;
	m->automaton = automaton_new(s);
	sieve_init(&m->sieve, s);
	if (m->sieve.len)
		literal_init(&m->literal, m->sieve.text, m->sieve.len);
	if (m->sieve.len || !sieve_works() ||
		m->sieve.share > (m->automaton ? SHARE_MAX : SHARE_ALONE) ||
		(m->sieve.width == 1 && m->automaton && automaton_skips(m->automaton)))
		m->sieve.width = 0;
	/* Reading everything pays where it leaves out all that it can. */
	if (m->automaton && !m->literal.len && !m->sieve.width && automaton_clips(m->automaton)) {
		automaton_free(m->automaton);
		m->automaton = NULL;
	}
}

/* Behind a class that begins at p: "]" is in it where it comes first, and in "[:name:]". */
static const char *skip_class(const char *p, const char *end)
{
	p += 1 + (p + 1 < end && p[1] == '^');
	for (const char *first = p; p < end; p++) {
		if (*p == '\\')
			p++;
		else if (*p == ']' && p > first)
			return p;
		else if (*p == '[' && p + 1 < end && strchr(":.=", p[1])) {
			const char *close =
				memmem(p + 2, (size_t)(end - p - 2), (char[]){p[1], ']'}, 2);

			p = close ? close + 1 : p;
		}
	}
	return end;
}

/* "\n" outside a class: as ripgrep has it, that is a mistake rather than a pattern that finds nothing. */
static bool has_escaped_line_feed(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '[')
			p = skip_class(p, end);
		else if (*p == '\\' && ++p < end) {
			if (*p == 'n')
				return true;
			if (*p == 'Q' && !(p = memmem(p, (size_t)(end - p), "\\E", 2)))
				return false;
		}
	}
	return false;
}

/* Any escape that could stand for a carriage return alone; \s and a dot are what everybody writes of blanks and of all. */
static bool may_name_cr(const char *p, const char *end)
{
	for (; p < end; p++)
		if (*p == '\r' || (*p == '\\' && ++p < end && strchr("rRvxco0123", *p)))
			return true;
	return false;
}

struct matcher *matcher_new(const struct files_pattern *p, struct err *e)
{
	struct matcher *m;

	if (p->len == 0)
		return err_null(err_set(e, ERR_USAGE, "an empty pattern matches everything"));
	if (p->len > PATTERN_MAX)
		return err_null(
			err_set(e, ERR_USAGE, "the pattern is longer than %d bytes", PATTERN_MAX));
	if (memchr(p->text, '\n', p->len) ||
		(p->regex && has_escaped_line_feed(p->text, p->text + p->len)))
		return err_null(err_set(e, ERR_USAGE,
			"a pattern matches within lines: it cannot contain a line feed"));
	m = xcalloc(1, sizeof *m);
	m->expands = p->regex;
	m->names_cr = !p->regex || may_name_cr(p->text, p->text + p->len);
	if (!p->regex && !p->ignore_case) {
		m->text = xmalloc(p->len);
		memcpy(m->text, p->text, p->len);
		literal_init(&m->literal, m->text, p->len);
	}
	if ((p->regex || p->ignore_case || p->word) && compile_pattern(m, p, e) < 0) {
		matcher_free(m);
		return NULL;
	}
	if (!m->literal.len)
		make_sieve(m, p);
	return m;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	pcre2_code_free(m->code);
	automaton_free(m->automaton);
	free(m->text);
	free(m);
}

const char *matcher_engine(const struct matcher *m)
{
	return !m->code ? "literal" : m->jit ? "pcre2-jit" : "pcre2";
}

size_t matcher_overlap(const struct matcher *m, size_t *skip)
{
	*skip = m->code ? 1 : 0;
	return m->code ? OVERLAP : m->literal.len - 1;
}

void matcher_local_init(struct matcher_local *l, const struct matcher *m)
{
	pcre2_jit_stack *stack;

	*l = (struct matcher_local){.m = m};
	if (!m->code)
		return;
	l->match = pcre2_match_data_create_from_pattern(m->code, NULL);
	l->context = pcre2_match_context_create(NULL);
	stack = pcre2_jit_stack_create(32 * 1024, STACK_MAX, NULL);
	l->stack = stack;
	pcre2_set_match_limit(l->context, MATCH_LIMIT);
	pcre2_set_heap_limit(l->context, 64 * 1024);
	if (stack)
		pcre2_jit_stack_assign(l->context, NULL, stack);
}

void matcher_local_release(struct matcher_local *l)
{
	if (l->match)
		pcre2_match_data_free(l->match);
	if (l->part)
		pcre2_code_free(l->part);
	if (l->context)
		pcre2_match_context_free(l->context);
	if (l->stack)
		pcre2_jit_stack_free(l->stack);
}

static const char *line_end(const char *at, const char *end)
{
	const char *nl = memchr(at, '\n', (size_t)(end - at));

	return nl ? nl : end;
}

/* The same of the line that holds s[at].  A long one is not looked through again for each of its matches. */
static size_t find_stop(struct matcher_local *l, const char *s, size_t n, size_t at)
{
	size_t stop;

	if (l->steady && at >= l->line_from && at < l->line_to)
		return l->line_to < n ? l->line_to : n;
	stop = (size_t)(line_end(s + at, s + n) - s);
	l->line_from = at;
	l->line_to = stop;
	return stop;
}

static bool is_match_stopped(const struct matcher_local *l)
{
	return l->op && op_stopped(l->op);
}

/* PCRE2 on s[0 .. n) from `from`.  1, 0 or -1 (its limit was reached). */
static int match_regex(struct matcher_local *l, const char *s, size_t n, size_t from)
{
	int rc = pcre2_match(l->m->code, (PCRE2_SPTR)s, n, from, l->cut ? PCRE2_NOTEOL : 0,
		l->match, l->context);

	return rc > 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

/* How one call on a part of a long line is bounded, and what was spent on the line so far. */
struct far {
	size_t places; /* to start from at a time, when nothing is hard */
	size_t alone;  /* up to here one place at a time: which of them is hard is not known */
	uint64_t spent;
};

/* Start at s[from] or one of the `places - 1` behind it, looking no further than `reach` behind the last.
 * 1, 0, -1 (`limit` was reached) or -2: a match that starts at *ret_at has to look further. */
static int match_near(struct matcher_local *l, const char *s, size_t n, size_t from, size_t places,
	size_t reach, uint32_t limit, size_t *ret_at)
{
	size_t end = n - from > places + reach ? from + places + reach : n;
	PCRE2_SIZE at;
	int rc;

	pcre2_set_match_limit(l->context, limit);
	pcre2_set_offset_limit(l->context, n - from >= places ? from + places - 1 : PCRE2_UNSET);
	if (end == n)
		return match_regex(l, s, n, from);
	rc = pcre2_match(
		l->part, (PCRE2_SPTR)s, end, from, PCRE2_PARTIAL_HARD, l->match, l->context);
	if (rc != PCRE2_ERROR_PARTIAL)
		return rc > 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
	at = pcre2_get_ovector_pointer(l->match)[0];
	*ret_at = at < from ? from : at >= from + places ? from + places - 1 : at;
	return -2;
}

/* From one place that is hard: with more each time, to the end of the line and to the last limit. */
static int match_place(struct matcher_local *l, const char *s, size_t n, size_t from, struct far *f)
{
	size_t reach = NEAR_REACH, at;
	uint32_t limit = NEAR_LIMIT;

	for (;;) {
		int rc = match_near(l, s, n, from, 1, reach, limit, &at);

		f->spent += (n - from > reach ? reach : n - from) +
			(limit > NEAR_LIMIT ? (uint64_t)limit * LIMIT_COST : 0);
		if (rc >= 0 || (rc == -1 && limit == MATCH_LIMIT))
			return rc;
		if (is_match_stopped(l))
			return 0;
		if (f->spent > SPENT_MAX)
			return -1;
		if (rc == -2)
			reach *= 4;
		else
			limit = limit < MATCH_LIMIT / 8 ? limit * 8 : MATCH_LIMIT;
	}
}

/*
 * On one long line, some places to start from at a time: what is cheap everywhere costs next to nothing more,
 * every call is short, so that a cancelled search ends, and whether the line is given up depends on the work
 * done and not on the time it took.  PCRE2 cannot count that work: what a repeated class runs over is not in
 * its match limit.  So it gets to see only a little of the line, and where it asks for more (a partial match)
 * that place alone gets more, and what it was shown is counted.
 */
static int match_far(struct matcher_local *l, const char *s, size_t n, size_t from)
{
	struct far f = {.places = NEAR_REACH};
	int rc = 0;

	if (!l->part) {
		l->part = pcre2_code_copy(l->m->code);
		if (l->m->jit)
			pcre2_jit_compile(l->part, PCRE2_JIT_PARTIAL_HARD);
	}
	while (rc == 0 && from <= n && !is_match_stopped(l)) {
		size_t at = from;

		if (from >= f.alone) {
			rc = match_near(l, s, n, from, f.places, NEAR_REACH, NEAR_LIMIT, &at);
			if (rc == 0)
				from += f.places;
			if (rc == -1)
				f.alone = from + f.places;
			f.places = rc ? NEAR_REACH : f.places < NEAR_MAX ? f.places * 2 : NEAR_MAX;
			if (rc >= 0)
				continue;
		}
		from = at;
		rc = match_place(l, s, n, from++, &f);
		if (rc == 0 && f.spent > SPENT_MAX)
			rc = -1;
	}
	pcre2_set_offset_limit(l->context, PCRE2_UNSET);
	pcre2_set_match_limit(l->context, MATCH_LIMIT);
	return rc;
}

/* Within the line that holds `from`, and not before that. */
static int match_line(
	struct matcher_local *l, const char *s, size_t n, size_t from, size_t *ret_end)
{
	size_t stop = find_stop(l, s, n, from);
	int rc = stop - from > LONG ? match_far(l, s, stop, from) : match_regex(l, s, stop, from);

	*ret_end = stop;
	if (rc < 0)
		l->gave_up++;
	return rc;
}

static void take_match(struct matcher_local *l, size_t *start, size_t *end)
{
	const PCRE2_SIZE *at = pcre2_get_ovector_pointer(l->match);

	*start = at[0];
	/* \K can put the start behind the end. */
	*end = at[1] < at[0] ? at[0] : at[1];
}

static bool has_sieve(const struct matcher *m)
{
	return m->literal.len || m->sieve.width || m->automaton;
}

/* A byte of the first line in s[from .. n) that may hold a match, or NULL. */
static const char *find_candidate(struct matcher_local *l, const char *s, size_t n, size_t from)
{
	const struct matcher *m = l->m;

	if (m->automaton && (l->dense || (!m->literal.len && !m->sieve.width)))
		return automaton_find(m->automaton, s + from, n - from);
	if (m->literal.len)
		return literal_find(&m->literal, s + from, n - from);
	return sieve_find(&m->sieve, s + from, n - from);
}

/* Whether PCRE2 shall look at the line that begins at s[from] and has a candidate. */
static bool check_candidate(struct matcher_local *l, const char *s, size_t n, size_t from)
{
	const struct matcher *m = l->m;

	if (!m->automaton || l->dense || (!m->literal.len && !m->sieve.width))
		return true;
	return automaton_find(m->automaton, s + from, find_stop(l, s, n, from) - from) != NULL;
}

/* Bytes were passed, and a line looked at in vain: where nearly every line is, reading all is cheaper. */
static void count_missed(struct matcher_local *l, size_t bytes)
{
	l->passed += bytes;
	l->missed++;
	l->dense = l->missed > 64 && l->missed * LINE_USUAL > l->passed;
}

static bool find_sieved(
	struct matcher_local *l, const char *s, size_t n, size_t from, size_t *start, size_t *end)
{
	while (from <= n && !is_match_stopped(l)) {
		const char *hit = find_candidate(l, s, n, from);
		const char *line;
		size_t begin, next;

		if (!hit) {
			l->passed += n - from;
			return false;
		}
		line = memrchr(s + from, '\n', (size_t)(hit - s) - from);
		begin = line ? (size_t)(line + 1 - s) : from;
		if (!check_candidate(l, s, n, begin)) {
			next = find_stop(l, s, n, (size_t)(hit - s));
		} else if (match_line(l, s, n, begin, &next) == 1) {
			take_match(l, start, end);
			return true;
		}
		count_missed(l, next + 1 - from);
		from = next + 1;
	}
	return false;
}

/* Where the lines from `from` on end that are matched in one go: before a long line, which is matched
 * by itself. */
static size_t piece_end(struct matcher_local *l, const char *s, size_t n, size_t from)
{
	size_t end;
	const char *nl;

	if (l->m->ends || n - from <= PIECE)
		return n;
	end = find_stop(l, s, n, from);
	if (end - from <= PIECE)
		end = find_stop(l, s, n, from + PIECE);
	if (end - from <= LONG)
		return end;
	nl = memrchr(s + from, '\n', PIECE);
	return nl ? (size_t)(nl - s) : end;
}

/* The lines of s[from .. end), one by one. */
static bool find_by_line(struct matcher_local *l, const char *s, size_t end, size_t from,
	size_t *ret_start, size_t *ret_end)
{
	while (from <= end && !is_match_stopped(l)) {
		size_t next;

		if (match_line(l, s, end, from, &next) == 1) {
			take_match(l, ret_start, ret_end);
			return true;
		}
		from = next + 1;
	}
	return false;
}

/* The same, all at once.  -1: that was too much, go on line by line from *ret_start. */
static int find_in_piece(struct matcher_local *l, const char *s, size_t end, size_t from,
	size_t *ret_start, size_t *ret_end)
{
	int rc = match_regex(l, s, end, from);
	size_t next;

	*ret_start = from;
	if (rc <= 0)
		return rc;
	take_match(l, ret_start, ret_end);
	if (*ret_end <= find_stop(l, s, end, *ret_start))
		return 1;
	/* It ran on into the next line: what is there within this one? */
	from = *ret_start;
	if (match_line(l, s, end, from, &next) == 1) {
		take_match(l, ret_start, ret_end);
		return 1;
	}
	*ret_start = next + 1;
	return -1;
}

bool matcher_find(struct matcher_local *l, const char *s, size_t n, size_t from, size_t *ret_start,
	size_t *ret_end)
{
	const struct matcher *m = l->m;

	if (!m->code) {
		const char *hit = from <= n ? literal_find(&m->literal, s + from, n - from) : NULL;

		if (hit) {
			*ret_start = (size_t)(hit - s);
			*ret_end = *ret_start + m->literal.len;
		}
		return hit != NULL;
	}
	if (has_sieve(m))
		return find_sieved(l, s, n, from, ret_start, ret_end);
	while (from <= n && !is_match_stopped(l)) {
		size_t end = piece_end(l, s, n, from);
		int rc = -1;

		*ret_start = from;
		if (m->ends || end - from <= LONG)
			rc = find_in_piece(l, s, end, from, ret_start, ret_end);
		if (rc > 0 || (rc < 0 && find_by_line(l, s, end, *ret_start, ret_start, ret_end)))
			return true;
		from = end + 1;
	}
	return false;
}

/* The group that `$...` at p names; its length in *used, 0: a plain dollar sign. */
static int group_at(const struct matcher *m, const char *p, size_t n, size_t *used)
{
	char name[64];
	size_t len = 0, from = 1;
	bool braces = n > 1 && p[1] == '{';

	*used = 0;
	from += braces;
	while (from + len < n && len < sizeof name - 1 &&
		(braces ? p[from + len] != '}' : isdigit((unsigned char)p[from + len]) != 0)) {
		name[len] = p[from + len];
		len++;
	}
	name[len] = '\0';
	if (len == 0 || (braces && (from + len >= n || p[from + len] != '}')))
		return -1;
	*used = from + len + braces;
	if (isdigit((unsigned char)name[0]))
		return atoi(name);
	return m->code ? pcre2_substring_number_from_name(m->code, (PCRE2_SPTR)name) : -1;
}

int matcher_check_replacement(
	const struct matcher *m, const char *replacement, size_t n, struct err *e)
{
	uint32_t groups = 0;
	size_t used;

	if (!m->expands)
		return 0;
	pcre2_pattern_info(m->code, PCRE2_INFO_CAPTURECOUNT, &groups);
	for (size_t i = 0; i < n; i++) {
		int group;

		if (replacement[i] != '$')
			continue;
		if (i + 1 < n && replacement[i + 1] == '$') {
			i++;
			continue;
		}
		group = group_at(m, replacement + i, n - i, &used);
		if (used && (group < 0 || (uint32_t)group > groups))
			return err_set(e, ERR_USAGE,
				"the replacement names the group %.*s, which the pattern does not have",
				(int)used, replacement + i);
	}
	return 0;
}

bool matcher_leave_line_end(
	struct matcher_local *l, const char *s, size_t n, size_t done, size_t *start, size_t *end)
{
	size_t cr = *end - 1;
	PCRE2_SIZE *at;

	if (l->m->names_cr || !*end || *end == n || s[*end] != '\n' || s[cr] != '\r')
		return true;
	if (*start == cr || (*start == *end && done == cr))
		return false;
	at = pcre2_get_ovector_pointer(l->match);
	for (uint32_t i = 0; i < 2 * pcre2_get_ovector_count(l->match); i++)
		if (at[i] != PCRE2_UNSET && at[i] > cr)
			at[i] = cr;
	*start = *start < cr ? *start : cr;
	*end = cr;
	return true;
}

int matcher_replace(struct matcher_local *l, const char *s, const char *replacement, size_t n,
	struct str *out, struct err *e)
{
	size_t end = out->len + (l->expand_most ? l->expand_most : SIZE_MAX / 2);
	const PCRE2_SIZE *at;

	(void)e;
	if (!l->m->expands) {
		str_add(out, replacement, n);
		return 0;
	}
	at = pcre2_get_ovector_pointer(l->match);
	for (size_t i = 0; i < n && out->len <= end; i++) {
		size_t used = 0;
		int group = -1;

		if (replacement[i] != '$') {
			str_addc(out, replacement[i]);
			continue;
		}
		if (i + 1 < n && replacement[i + 1] == '$')
			i++;
		else
			group = group_at(l->m, replacement + i, n - i, &used);
		if (used == 0) {
			str_addc(out, '$');
			continue;
		}
		if (group >= 0 && at[2 * group] != PCRE2_UNSET &&
			at[2 * group + 1] >= at[2 * group])
			str_add(out, s + at[2 * group], at[2 * group + 1] - at[2 * group]);
		i += used - 1;
	}
	return 0;
}
