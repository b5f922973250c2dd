/*
 * dockerignore.c - applies .dockerignore to a build context.
 *
 * One pattern a line, from the context's root: * and ? within a component, [a-z], [^a-z] and [[:alpha:]], \* for * itself,
 * ** for any number of directories, ! takes back.  What matches a directory matches all below it; the last line that
 * matches decides.  A line is not compared with a directory for which it would change nothing: after d/a, !d does not
 * take back d/a, because d is not ignored.
 *
 * Nothing that docker leaves out may be sent, because it may be a secret.  docker checks a pattern with Go's filepath.Match,
 * turns it into a regular expression, and fails where either does not accept it.  So does berth; it also refuses what the
 * conversion changes the meaning of (\d, [*], ^*).
 *
 * Source: Docker's build reference, "dockerignore files"; moby/patternmatcher, which docker's builders use; filepath.Match,
 * filepath.Clean, strings.TrimSpace and regexp/syntax of Go.
 */
#include "image/image.h"

#include <ctype.h>
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
	bool back;  /* ! */
	bool plain; /* no regular expression: at most two stars at one end */
	char *text;
	size_t n;
	struct token *token;
};

struct ignore {
	size_t n, cap;
	struct pattern *pattern;
	bool turns;
	char *dir; /* the directory that was asked about last */
	bool *matched; /* by pattern: whether that one, or one above it, matched; then as many for what is in it */
};

/* A part of a set. */
struct member {
	uint32_t from, to;
	int (*is)(int);
	bool negate;
};

static const char malformed[] =
	"a [ is not closed, is empty or has a stray -, or a \\ is the last character";

/* One character.  A byte that belongs to none is one of its own; in a regular expression they are all the same. */
static uint32_t next_rune(const char **s, bool plain)
{
	unsigned char first = (unsigned char)**s;
	uint32_t c;
	size_t n = utf8_next(*s, strnlen(*s, 4), &c);

	*s += n;
	return plain && n == 1 && first >= 0x80 ? 0x110000u + first : c;
}

/* One end of a range as filepath.Match has it; false: there is none. */
static bool skip_bound(const char **s)
{
	uint32_t c;
	size_t n;

	if (**s == '-' || **s == ']')
		return false;
	if (**s == '\\')
		++*s;
	if (!**s)
		return false;
	n = utf8_next(*s, strnlen(*s, 4), &c);
	*s += n;
	return c != TEXT_BAD || n > 1;
}

/* Does filepath.Match take the pattern? */
static bool is_well_formed(const char *s)
{
	while (*s) {
		if (*s == '\\') {
			if (!s[1])
				return false;
			s += 2;
			continue;
		}
		if (*s++ != '[')
			continue;
		s += *s == '^';
		do {
			if (!skip_bound(&s) || (*s == '-' && (s++, !skip_bound(&s))))
				return false;
		} while (*s != ']');
		s++;
	}
	return true;
}

/* What is behind a backslash.  NULL, or what is wrong. */
static const char *read_escaped(const char **s, uint32_t *ret)
{
	if (!**s)
		return malformed;
	*ret = next_rune(s, false);
	return *ret >= 0x80 || isalnum((int)*ret)
		? "docker reads a \\ before a letter or digit as part of a regular expression: remove it, or write / between directories"
		: NULL;
}

static const char *read_bound(const char **s, uint32_t *ret)
{
	if (**s == '\\') {
		++*s;
		return read_escaped(s, ret);
	}
	if (!**s)
		return malformed;
	if (**s == '*' || **s == '?')
		return "within [ ] write \\* or \\? for the character itself";
	*ret = next_rune(s, false);
	return NULL;
}

static int is_ascii(int c)
{
	return c < 0x80;
}

static int is_word(int c)
{
	return isalnum(c) || c == '_';
}

/* "[:alpha:]" or "[:^alpha:]" at s. */
static const char *read_class(const char **s, struct member *ret)
{
	static const struct {
		const char *name;
		int (*is)(int);
	} classes[] = {
		{"alnum", isalnum},
		{"alpha", isalpha},
		{"ascii", is_ascii},
		{"blank", isblank},
		{"cntrl", iscntrl},
		{"digit", isdigit},
		{"graph", isgraph},
		{"lower", islower},
		{"print", isprint},
		{"punct", ispunct},
		{"space", isspace},
		{"upper", isupper},
		{"word", is_word},
		{"xdigit", isxdigit},
	};
	const char *name = *s + 2, *end = strstr(name, ":]");

	ret->negate = *name == '^';
	name += ret->negate;
	for (size_t i = 0; i < COUNT(classes); i++)
		if (strlen(classes[i].name) == (size_t)(end - name) &&
			!strncmp(classes[i].name, name, (size_t)(end - name)))
			ret->is = classes[i].is;
	*s = end + 2;
	return ret->is ? NULL : "not a known character class";
}

/* As regexp/syntax has it. */
static const char *read_member(const char **s, struct member *ret)
{
	const char *wrong;

	*ret = (struct member){0};
	if (!strncmp(*s, "[:", 2) && strstr(*s + 2, ":]"))
		return read_class(s, ret);
	wrong = read_bound(s, &ret->from);
	ret->to = ret->from;
	if (!wrong && **s == '-' && (*s)[1] != ']') {
		++*s;
		wrong = read_bound(s, &ret->to);
	}
	if (!wrong && ret->from > ret->to)
		wrong = "the second character of a range comes before the first";
	return wrong;
}

/* s is behind the bracket. */
static const char *put_set(struct pattern *p, const char **s)
{
	bool negate = **s == '^';
	const char *begin = *s += negate;
	struct member m;

	do {
		const char *wrong = read_member(s, &m);

		if (wrong)
			return wrong;
	} while (**s != ']');
	p->token[p->n++] =
		(struct token){.kind = TOKEN_SET, .set = begin, .set_end = *s, .negate = negate};
	++*s;
	return NULL;
}

static bool set_holds(const struct token *t, uint32_t c)
{
	const char *s = t->set;
	struct member m;
	bool found = false;

	while (s < t->set_end && !read_member(&s, &m))
		found |= m.is ? (c < 0x80 && m.is((int)c)) != m.negate : m.from <= c && c <= m.to;
	return found != t->negate;
}

static bool is_plain(const char *s)
{
	static const char special[] = "*?[]\\";
	size_t n = strlen(s), at = strcspn(s, special);

	return at == n || (at + 2 == n && !strcmp(s + at, "**")) ||
		(!strncmp(s, "**", 2) && !strpbrk(s + 2, special));
}

/* Two stars at s: at the end of a pattern they stand for anything, with plain text behind them at its beginning for
 * any beginning, else for directories. */
static const char *put_stars(struct pattern *p, const char *s)
{
	bool first = s == p->text;

	s += 2;
	if (!*s || (first && p->plain && *s != '/')) {
		p->token[p->n++] = (struct token){.kind = TOKEN_ALL};
		return s;
	}
	p->token[p->n++] = (struct token){.kind = TOKEN_DEEP};
	return s + (*s == '/');
}

/* NULL, or what is wrong. */
static const char *compile_tokens(struct pattern *p)
{
	const char *wrong = is_well_formed(p->text) ? NULL : malformed;

	p->plain = is_plain(p->text);
	p->token = xcalloc(strlen(p->text) + 1, sizeof *p->token);
	for (const char *s = p->text; *s && !wrong;) {
		struct token *t = &p->token[p->n];

		if (s[0] == '*' && s[1] == '*') {
			s = put_stars(p, s);
		} else if (*s == '*' || *s == '?') {
			t->kind = *s++ == '*' ? TOKEN_STAR : TOKEN_ONE;
			p->n++;
		} else if (*s == '[') {
			s++;
			wrong = put_set(p, &s);
		} else if (*s == '\\') {
			s++;
			wrong = read_escaped(&s, &t->c);
			p->n++;
		} else if (*s == '^' && !p->plain) {
			wrong = "docker reads a ^ next to wildcards as the beginning of the path: write \\^";
		} else {
			t->c = next_rune(&s, p->plain);
			p->n++;
		}
	}
	return wrong;
}

char *ignore_clean(const char *line, size_t n)
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

/* White space as strings.TrimSpace has it. */
static bool is_white(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xA0 || c == 0x1680 ||
		(c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
		c == 0x205F || c == 0x3000;
}

/* Bytes of the white space that the n bytes at s end with, 0: they do not. */
static size_t white_end(const char *s, size_t n)
{
	uint32_t c;

	for (size_t k = 1; k <= 3 && k <= n; k++)
		if (utf8_next(s + n - k, k, &c) == k && is_white(c))
			return k;
	return 0;
}

static void trim_end(const char *s, size_t *n)
{
	for (size_t k; (k = white_end(s, *n)) > 0;)
		*n -= k;
}

static void trim_ends(const char **s, size_t *n)
{
	uint32_t c;

	trim_end(*s, n);
	while (*n) {
		size_t k = utf8_next(*s, *n, &c);

		if (!is_white(c))
			break;
		*s += k;
		*n -= k;
	}
}

/* docker trims and cleans twice: the second time where the slash in front is gone and a ! is in its place. */
static const char *clean_line(struct pattern *p, const char *line, size_t n)
{
	AUTO_FREE char *once = ignore_clean(line, n);
	const char *s = once;
	size_t len = strlen(s);

	if (p->back)
		trim_end(s, &len);
	else
		trim_ends(&s, &len);
	if (p->back && !len && *line == '/')
		return "a pattern is missing behind the !";
	p->text = ignore_clean(s, len);
	if (!strncmp(p->text, "\xef\xbb\xbf", 3))
		return "the pattern begins with a byte order mark: remove it";
	if (!p->back && *p->text == '!') {
		p->back = true;
		memmove(p->text, p->text + 1, strlen(p->text));
		return *p->text ? NULL : "a pattern is missing behind the !";
	}
	return NULL;
}

/* NULL, or what is wrong. */
static const char *add_pattern(struct ignore *g, const char *line, size_t n)
{
	struct pattern p = {.back = n && *line == '!'};
	const char *wrong;

	line += p.back;
	n -= p.back;
	trim_ends(&line, &n);
	if (!n)
		return p.back ? "a pattern is missing behind the !" : NULL;
	if (n > PATTERN_MAX || memchr(line, '\0', n))
		return "the pattern is too long, or contains a NUL";
	if (g->n == PATTERNS_MAX)
		return "too many patterns";
	wrong = clean_line(&p, line, n);
	if (wrong) {
		free(p.text);
		return wrong;
	}
	g->turns |= p.back;
	g->pattern = mem_grow(g->pattern, &g->cap, g->n + 1, sizeof *g->pattern);
	g->pattern[g->n++] = p;
	return compile_tokens(&g->pattern[g->n - 1]);
}

int ignore_parse(const char *name, const char *text, size_t n, struct ignore **ret, struct err *e)
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
			return err_set(e, ERR_USAGE, "%s, line %u, \"%s\": %s.", name, number,
				text_clean(shown, sizeof shown, bad), wrong);
		}
		text = newline ? newline + 1 : end;
	}
	g->dir = xstrdup("");
	g->matched = xcalloc(2 * g->n + 1, sizeof *g->matched);
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
	free(g->dir);
	free(g->matched);
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
	case TOKEN_ALL:
		if (p->plain || c != '\n')
			reach_token(p, next, k);
		break;
	case TOKEN_DEEP:
		/* Within a directory it cannot end. */
		next[k] = p->plain || c != '\n';
		if (c == '/')
			reach_token(p, next, k + 1);
		break;
	}
}

/* All ways to match are followed side by side: one after the other takes exponential time. */
static bool matches_path(const struct pattern *p, const char *path)
{
	AUTO_FREE bool *states = xcalloc(2 * (p->n + 1), sizeof *states);
	bool *now = states, *next = states + p->n + 1, *other;

	reach_token(p, now, 0);
	while (*path) {
		uint32_t c = next_rune(&path, p->plain);

		memset(next, 0, (p->n + 1) * sizeof *next);
		for (size_t k = 0; k < p->n; k++)
			if (now[k])
				step_token(p, k, c, next);
		other = now;
		now = next;
		next = other;
		if (!memchr(now, true, p->n + 1))
			return false;
	}
	return now[p->n];
}

/* From what matched the directory above to what matches the path.  Is the path left out? */
static bool judge_path(const struct ignore *g, const char *path, bool *matched)
{
	bool out = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct pattern *p = &g->pattern[i];

		if (!matched[i] && p->back == out)
			matched[i] = matches_path(p, path);
		if (matched[i])
			out = !p->back;
	}
	return out;
}

/* Ask about each directory down to the one that is the first n bytes of the path. */
static void enter_dir(struct ignore *g, const char *path, size_t n)
{
	free(g->dir);
	g->dir = xstrndup(path, n);
	memset(g->matched, 0, g->n * sizeof *g->matched);
	for (size_t i = 1; i <= n; i++)
		if (path[i] == '/') {
			AUTO_FREE char *dir = xstrndup(path, i);

			judge_path(g, dir, g->matched);
		}
}

bool ignore_matches(struct ignore *g, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) : 0;

	if (!g)
		return false;
	if (strlen(g->dir) != n || memcmp(g->dir, path, n) != 0)
		enter_dir(g, path, n);
	memcpy(g->matched + g->n, g->matched, g->n * sizeof *g->matched);
	return judge_path(g, path, g->matched + g->n);
}

bool ignore_may_turn(const struct ignore *g)
{
	return g && g->turns;
}
