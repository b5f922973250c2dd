/* filter.c - evaluates shell patterns, gitignore rules and the other conditions of a walk. */
#include "files/walk/filter.h"

#include <stdint.h>
#include <string.h>
#include <wctype.h>

#include <berth/mem.h>
#include <berth/str.h>

/* --- patterns --- */

/* "[:alpha:]" within brackets; of ASCII alone.  false: there is no such class. */
static bool match_class(const char *name, size_t len, unsigned char c, bool *matched)
{
	char text[8] = "";
	wctype_t class;

	memcpy(text, name, len < sizeof text ? len : 0);
	class = wctype(text);
	*matched = c < 0x80 && iswctype(c, class);
	/* Git's tables know neither \v nor \f as a space. */
	if (!strcmp(text, "space"))
		*matched = *matched && c != '\v' && c != '\f';
	return class != 0;
}

/* One bracket expression against c.  Returns the pattern after it, NULL when it is not closed or names a
 * class that does not exist: such a pattern matches nothing. */
static const char *match_bracket(const char *p, unsigned char c, bool *matched)
{
	bool invert = *p == '!' || *p == '^', found = false, in_class;
	unsigned char from = 0; /* that a range may begin with */
	const char *end = p;    /* the next bracket that closes */

	p += invert;
	do {
		const char *name = p[0] == '[' && p[1] == ':' ? p + 2 : NULL;

		if (name && end <= p && !(end = strchr(p, ']')))
			return NULL;
		if (*p == '-' && from && p[1] && p[1] != ']') {
			p++;
			if (*p == '\\')
				p++;
			found |= from <= c && c <= (unsigned char)*p;
			from = 0;
		} else if (name && end > name && end[-1] == ':') {
			if (!match_class(name, (size_t)(end - name - 1), c, &in_class))
				return NULL;
			found |= in_class;
			p = end;
			from = 0;
		} else {
			if (*p == '\\')
				p++;
			from = (unsigned char)*p;
			found |= from == c;
		}
		if (!*p)
			return NULL;
	} while (*++p != ']');
	*matched = found != invert;
	return p + 1;
}

/* One character's worth of pattern; NULL: no match.  Not for '*'. */
static const char *match_char(const char *p, unsigned char c, bool path)
{
	bool matched;

	switch (*p) {
	case '?': return path && c == '/' ? NULL : p + 1;
	case '[':
		p = match_bracket(p + 1, c, &matched);
		return p && matched && !(path && c == '/') ? p : NULL;
	case '\\': p++; break;
	}
	return (unsigned char)*p == c ? p + 1 : NULL;
}

/* Two places to come back to: the last `*` and the last `**`.  A star that failed to match further
 * need not be tried again once a later one of its kind was reached, so time is bounded by the
 * product of the lengths (once per directory for a star between two `**`). */
bool glob_match(const char *pattern, const char *t, bool path)
{
	const char *p = pattern, *star = NULL, *star_at = NULL, *deep = NULL, *deep_at = NULL,
		   *next;

	for (;;) {
		if (*p == '*') {
			/* Leading, between slashes, or at the end: any number of directories. */
			bool alone = path && p[1] == '*' && (p == pattern || p[-1] == '/');

			while (*p == '*')
				p++;
			if (alone && *p == '\0')
				return true;
			if (alone && p[0] == '\\' && p[1] == '/') {
				/* Before this slash git wants one at least. */
				t = strchr(t, '/');
				if (!t)
					return false;
				t++;
				p++;
			}
			if (alone && *p == '/') {
				deep = ++p;
				deep_at = t;
				star = NULL;
				continue;
			}
			star = p;
			star_at = t;
			continue;
		}
		if (*p == '\0' && *t == '\0')
			return true;
		if (*t && *p && (next = match_char(p, (unsigned char)*t, path))) {
			p = next;
			t++;
			continue;
		}
		if (star && *star_at && !(path && *star_at == '/')) {
			p = star;
			t = ++star_at;
			continue;
		}
		if (deep && (deep_at = strchr(deep_at, '/'))) {
			p = deep;
			t = ++deep_at;
			star = NULL;
			continue;
		}
		return false;
	}
}

const char *glob_skip_bracket(const char *p)
{
	bool matched;

	return match_bracket(p + 1, 0, &matched);
}

const char *glob_flaw(const char *p)
{
	while (*p) {
		if (*p == '[') {
			p = glob_skip_bracket(p);
			if (!p)
				return "a [ is not closed, or names an unknown class (\\[ is the character itself)";
			continue;
		}
		if (*p == '\\' && !*++p)
			return "it ends in a backslash";
		p++;
	}
	return NULL;
}

/* --- ignore files --- */

enum kind { NAME, SUFFIX, GLOB };

struct rule {
	const char *pattern; /* of a SUFFIX: what follows the star */
	size_t len;
	unsigned char kind;
	bool negate, dir_only, anchored;
};

struct rules {
	const struct rules *outer;
	size_t base, n;
	struct rule *rules;
	const char *prefix; /* of a directory above the start of the walk: the way down from it */
};

static bool is_literal(const char *s)
{
	return !strpbrk(s, "*?[\\");
}

/* Blanks at the end of a line count only behind a backslash. */
static void cut_blanks(char *line)
{
	char *end = line;

	for (char *p = line; *p; p++) {
		bool escaped = p[0] == '\\' && p[1];

		p += escaped;
		if (escaped || *p != ' ')
			end = p + 1;
	}
	*end = '\0';
}

/* One line without its end, ours to change.  false: nothing in it. */
static bool compile_rule(char *line, struct rule *out)
{
	size_t n;

	*out = (struct rule){0};
	cut_blanks(line);
	n = strlen(line);
	if (*line == '#' || *line == '\0')
		return false;
	if (*line == '!') {
		out->negate = true;
		line++;
		n--;
	}
	if (n > 0 && line[n - 1] == '/') {
		out->dir_only = true;
		line[--n] = '\0';
	}
	out->anchored = strchr(line, '/') != NULL;
	if (*line == '/') {
		line++;
		n--;
	}
	if (n == 0)
		return false;
	/* A leading star-star-slash before a plain name is the same as the name alone. */
	if (strncmp(line, "**/", 3) == 0 && !strchr(line + 3, '/') && line[3]) {
		out->anchored = false;
		line += 3;
		n -= 3;
	}
	out->pattern = line;
	out->len = n;
	out->kind = is_literal(line) ? NAME : GLOB;
	if (out->kind == GLOB && !out->anchored && *line == '*' && is_literal(line + 1)) {
		out->kind = SUFFIX;
		out->pattern++;
		out->len--;
	}
	return true;
}

struct rules *rules_compile(
	struct slab *slab, const struct rules *outer, const char *text, size_t n, size_t base)
{
	struct rules *r = slab_alloc(slab, sizeof *r);
	char *copy, *stop;
	size_t lines = 1;

	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		text += 3;
		n -= 3;
	}
	copy = slab_alloc(slab, n + 1);
	memcpy(copy, text, n);
	stop = copy + n;
	for (size_t i = 0; i < n; i++)
		lines += copy[i] == '\n';
	*r = (struct rules){.outer = outer, .base = base};
	r->rules = slab_alloc(slab, lines * sizeof *r->rules);
	for (char *line = copy, *end; line < stop; line = end + 1) {
		end = memchr(line, '\n', (size_t)(stop - line));
		if (!end)
			end = stop;
		/* A NUL hides the rest of its line, as it does from git. */
		end[end > line && end[-1] == '\r' ? -1 : 0] = '\0';
		if (compile_rule(line, &r->rules[r->n]))
			r->n++;
	}
	return r;
}

struct rules *rules_compile_above(struct slab *slab, const struct rules *outer, const char *text,
	size_t n, const char *prefix)
{
	struct rules *r = rules_compile(slab, outer, text, n, 0);

	r->prefix = *prefix ? prefix : NULL;
	return r;
}

struct rules *rules_from_list(struct slab *slab, const char *const *lines, size_t n)
{
	struct rules *r = slab_alloc(slab, sizeof *r);

	*r = (struct rules){0};
	r->rules = slab_alloc(slab, (n + 1) * sizeof *r->rules);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(lines[i]);
		char *copy = memcpy(slab_alloc(slab, len + 1), lines[i], len + 1);

		if (compile_rule(copy, &r->rules[r->n]))
			r->n++;
	}
	return r;
}

static bool rule_matches(
	const struct rule *rule, const char *relative, const char *name, size_t len, bool dir)
{
	if (rule->dir_only && !dir)
		return false;
	if (rule->anchored)
		return rule->kind == NAME ? strcmp(rule->pattern, relative) == 0
					  : glob_match(rule->pattern, relative, true);
	switch (rule->kind) {
	case NAME: return len == rule->len && memcmp(rule->pattern, name, len) == 0;
	case SUFFIX:
		return len >= rule->len &&
			memcmp(rule->pattern, name + len - rule->len, rule->len) == 0;
	default: return glob_match(rule->pattern, name, true);
	}
}

int rules_judge(const struct rules *r, const char *path, const char *name, bool dir)
{
	size_t len = strlen(name);

	for (; r; r = r->outer) {
		AUTO_STR struct str joined = STR_INIT;
		const char *relative = path + r->base;

		for (size_t i = r->n; i-- > 0;) {
			if (r->rules[i].anchored && r->prefix && !joined.len) {
				str_addf(&joined, "%s%s", r->prefix, path);
				relative = joined.s;
			}
			if (rule_matches(&r->rules[i], relative, name, len, dir))
				return !r->rules[i].negate;
		}
	}
	return -1;
}

/* --- the rest --- */

bool filter_wants_meta(const struct files_filter *f)
{
	return f->min_size || f->max_size || f->newer_ns || f->older_ns;
}

bool filter_meta(
	const struct files_filter *f, enum files_type type, uint64_t size, int64_t mtime_ns)
{
	if (f->min_size || f->max_size) {
		if (type != FILES_FILE || size < f->min_size || (f->max_size && size > f->max_size))
			return false;
	}
	return !(f->newer_ns && mtime_ns <= f->newer_ns) &&
		!(f->older_ns && mtime_ns >= f->older_ns);
}
