/*
 * dockerignore.c - applies .dockerignore to a build context.
 *
 * One pattern a line, from the context's root: * and ? within a component, [a-z] and [^a-z], \x for x itself, ** for
 * any number of directories, ! takes back.  What matches a directory matches all below it; the last line that matches
 * decides.  A line that is no pattern is an error, as it is for docker.
 *
 * Source: Docker's build reference, "dockerignore files", which refers to filepath.Match and filepath.Clean of Go, and
 * moby/patternmatcher, which docker's builders ask; of that one are the exceptions for ** (put_stars).
 */
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#define PATTERNS_MAX 4096
#define PATTERN_MAX 4096

enum token_kind {
	TOKEN_CHAR,
	TOKEN_ONE,  /* ? */
	TOKEN_STAR, /* * */
	TOKEN_DEEP, /* any number of directories, each with its slash */
	TOKEN_ALL,  /* anything at all */
	TOKEN_SET,  /* [..] */
};

struct token {
	enum token_kind kind;
	uint32_t c;
	const char *set, *set_end; /* behind the bracket and the ^; the closing bracket */
	bool negate;
};

struct pattern {
	bool back; /* ! */
	char *text;
	size_t n;
	struct token *token;
};

struct ignore {
	size_t n, cap;
	struct pattern *pattern;
	bool turns;
};

/* One character; a byte that belongs to none is one of its own. */
static uint32_t next_rune(const char **s)
{
	unsigned char first = (unsigned char)**s;
	uint32_t c;
	size_t n = utf8_next(*s, strnlen(*s, 4), &c);

	*s += n;
	return n == 1 && first >= 0x80 ? 0x110000u + first : c;
}

/* One end of a range; false: there is none. */
static bool read_bound(const char **s, uint32_t *ret)
{
	if (**s == '-' || **s == ']')
		return false;
	if (**s == '\\')
		++*s;
	if (!**s)
		return false;
	*ret = next_rune(s);
	return true;
}

/* Behind the bracket.  NULL: no set. */
static const char *put_set(struct pattern *p, const char *s)
{
	bool negate = *s == '^';
	const char *begin = s += negate;
	uint32_t from, to;

	do {
		if (!read_bound(&s, &from) || (*s == '-' && (s++, !read_bound(&s, &to))))
			return NULL;
	} while (*s != ']');
	p->token[p->n++] =
		(struct token){.kind = TOKEN_SET, .set = begin, .set_end = s, .negate = negate};
	return s + 1;
}

static bool set_holds(const struct token *t, uint32_t c)
{
	const char *s = t->set;
	uint32_t from = 0, to = 0;
	bool found = false;

	while (s < t->set_end) {
		read_bound(&s, &from);
		to = from;
		if (*s == '-') {
			s++;
			read_bound(&s, &to);
		}
		found |= from <= c && c <= to;
	}
	return found != t->negate;
}

/* Two stars at s: at the end of a pattern they stand for anything, with plain text behind them at its beginning for
 * any beginning, else for directories. */
static const char *put_stars(struct pattern *p, const char *s)
{
	bool first = s == p->text;

	s += 2;
	if (!*s || (first && *s != '/' && !strpbrk(s, "*?[]\\"))) {
		p->token[p->n++] = (struct token){.kind = TOKEN_ALL};
		return s;
	}
	p->token[p->n++] = (struct token){.kind = TOKEN_DEEP};
	return s + (*s == '/');
}

static int compile_tokens(struct pattern *p)
{
	p->token = xcalloc(strlen(p->text) + 1, sizeof *p->token);
	for (const char *s = p->text; *s;) {
		if (s[0] == '*' && s[1] == '*') {
			s = put_stars(p, s);
		} else if (*s == '*' || *s == '?') {
			p->token[p->n++] =
				(struct token){.kind = *s++ == '*' ? TOKEN_STAR : TOKEN_ONE};
		} else if (*s == '[') {
			s = put_set(p, s + 1);
			if (!s)
				return -1;
		} else {
			if (*s == '\\' && !*++s)
				return -1;
			p->token[p->n++] = (struct token){.kind = TOKEN_CHAR, .c = next_rune(&s)};
		}
	}
	return 0;
}

/* As filepath.Clean has it, and without a slash in front. */
static char *clean_pattern(const char *line, size_t n)
{
	char *out = xcalloc(n + 1, 1);
	size_t len = 0, low = 0; /* up to here are steps upwards, which nothing undoes */
	bool rooted = n && *line == '/';

	while (n) {
		size_t part = 0;

		while (part < n && line[part] != '/')
			part++;
		if (part == 2 && !memcmp(line, "..", 2) && (len > low || rooted)) {
			while (len > low && out[--len] != '/')
				;
		} else if (part && !(part == 1 && *line == '.')) {
			if (len)
				out[len++] = '/';
			memcpy(out + len, line, part);
			len += part;
			if (part == 2 && !memcmp(line, "..", 2))
				low = len;
		}
		line += part < n ? part + 1 : part;
		n -= part < n ? part + 1 : part;
	}
	out[len] = '\0';
	return out;
}

static void trim_ends(const char **s, size_t *n)
{
	static const char blanks[] = " \t\r\v\f";

	while (*n && memchr(blanks, **s, sizeof blanks - 1)) {
		++*s;
		--*n;
	}
	while (*n && memchr(blanks, (*s)[*n - 1], sizeof blanks - 1))
		--*n;
}

/* What is wrong with it; NULL: nothing. */
static const char *add_pattern(struct ignore *g, const char *line, size_t n)
{
	struct pattern p = {.back = n && *line == '!'};

	line += p.back;
	n -= p.back;
	trim_ends(&line, &n);
	if (!n)
		return p.back ? "a pattern is missing behind the !" : NULL;
	if (n > PATTERN_MAX || memchr(line, '\0', n))
		return "the pattern is too long, or contains a NUL";
	if (g->n == PATTERNS_MAX)
		return "too many patterns";
	p.text = clean_pattern(line, n);
	g->turns |= p.back;
	g->pattern = mem_grow(g->pattern, &g->cap, g->n + 1, sizeof *g->pattern);
	g->pattern[g->n++] = p;
	return compile_tokens(&g->pattern[g->n - 1])
		? "a [ is not closed or has an odd range, or a \\ is the last"
		: NULL;
}

int ignore_parse(const char *text, size_t n, struct ignore **ret, struct err *e)
{
	struct ignore *g = xcalloc(1, sizeof *g);
	const char *end = text + n;

	if (n >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		text += 3;
	for (unsigned number = 1; text < end; number++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text)), *line = text,
			   *wrong;
		size_t len = (size_t)((newline ? newline : end) - text);

		/* A comment begins in the first column. */
		if (len && *line == '#')
			len = 0;
		trim_ends(&line, &len);
		wrong = add_pattern(g, line, len);
		if (wrong) {
			AUTO_FREE char *bad = xstrndup(line, len);
			char shown[80];

			ignore_free(g);
			return err_set(e, ERR_USAGE, ".dockerignore, line %u, \"%s\": %s.", number,
				text_clean(shown, sizeof shown, bad), wrong);
		}
		text = newline ? newline + 1 : end;
	}
	*ret = g;
	return 0;
}

void ignore_free(struct ignore *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++) {
		free(g->pattern[i].text);
		free(g->pattern[i].token);
	}
	free(g->pattern);
	free(g);
}

/* What was read so far matches the tokens before k: and before those behind it, where k may match nothing. */
static void reach_token(const struct pattern *p, bool *state, size_t k)
{
	state[k] = true;
	for (; k < p->n; k++) {
		enum token_kind kind = p->token[k].kind;

		if (kind != TOKEN_STAR && kind != TOKEN_DEEP && kind != TOKEN_ALL)
			break;
		state[k + 1] = true;
	}
}

static void step_token(const struct pattern *p, size_t k, uint32_t c, bool *next)
{
	const struct token *t = &p->token[k];

	switch (t->kind) {
	case TOKEN_CHAR:
		if (c == t->c)
			reach_token(p, next, k + 1);
		break;
	case TOKEN_ONE:
		if (c != '/')
			reach_token(p, next, k + 1);
		break;
	case TOKEN_SET:
		if (set_holds(t, c))
			reach_token(p, next, k + 1);
		break;
	case TOKEN_STAR:
		if (c != '/')
			reach_token(p, next, k);
		break;
	case TOKEN_ALL: reach_token(p, next, k); break;
	case TOKEN_DEEP:
		/* Within a directory it cannot end. */
		next[k] = true;
		if (c == '/')
			reach_token(p, next, k + 1);
		break;
	}
}

/* Does the pattern match the path, or a directory above it?  All ways to match are followed side by side: one after
 * the other takes exponential time. */
static bool matches_path(const struct pattern *p, const char *path)
{
	AUTO_FREE bool *states = xcalloc(2 * (p->n + 1), sizeof *states);
	bool *now = states, *next = states + p->n + 1, *other;

	reach_token(p, now, 0);
	while (*path) {
		uint32_t c = next_rune(&path);

		memset(next, 0, (p->n + 1) * sizeof *next);
		for (size_t k = 0; k < p->n; k++)
			if (now[k])
				step_token(p, k, c, next);
		other = now;
		now = next;
		next = other;
		if ((!*path || *path == '/') && now[p->n])
			return true;
		if (!memchr(now, true, p->n + 1))
			return false;
	}
	return false;
}

bool ignore_matches(const struct ignore *g, const char *path)
{
	bool out = false;

	for (size_t i = 0; g && i < g->n; i++)
		if (g->pattern[i].back == out && matches_path(&g->pattern[i], path))
			out = !out;
	return out;
}

bool ignore_may_turn(const struct ignore *g)
{
	return g && g->turns;
}
