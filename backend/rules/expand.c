/* expand.c - what $, `...` and double quotes put into a word, and the commands that they run. */
#include "rules/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

static const char *value_of(struct parser *p, const char *name, size_t n)
{
	for (size_t i = p->nvariables; i--;)
		if (strlen(p->variable[i].name) == n && !memcmp(p->variable[i].name, name, n))
			return p->variable[i].value;
	if (n == 4 && !memcmp(name, "HOME", 4))
		return p->home;
	if (n == 3 && !memcmp(name, "IFS", 3))
		return " ";
	return NULL;
}

/* $'...': C escapes */
static size_t ansi(const char *s, size_t n, struct str *w)
{
	size_t i = 2;

	for (; i < n && s[i] != '\''; i++) {
		unsigned v = 0;
		size_t k = 0;

		if (s[i] != '\\' || i + 1 >= n) {
			str_addc(w, s[i]);
			continue;
		}
		i++;
		if (s[i] == 'x' && i + 1 < n && isxdigit((unsigned char)s[i + 1])) {
			for (; k < 2 && i + 1 < n && isxdigit((unsigned char)s[i + 1]); k++) {
				i++;
				v = v * 16 +
					(unsigned)(isdigit((unsigned char)s[i])
							? s[i] - '0'
							: (s[i] | 32) - 'a' + 10);
			}
			str_addc(w, (char)v);
		} else if (s[i] >= '0' && s[i] <= '7') {
			for (; k < 3 && i < n && s[i] >= '0' && s[i] <= '7'; k++)
				v = v * 8 + (unsigned)(s[i++] - '0');
			i--;
			str_addc(w, (char)v);
		} else {
			str_addc(w, s[i] == 'n' ? '\n' : s[i] == 't' ? '\t' : s[i]);
		}
	}
	return i < n ? i + 1 : n;
}

static size_t text(struct parser *p, const char *s, size_t n, char stop, bool quoted, struct str *w,
	bool *dynamic)
{
	size_t i = 0;
	bool ignored = false;

	while (i < n && !(stop && s[i] == stop)) {
		if (s[i] == '\\' && i + 1 < n &&
			(!quoted || s[i + 1] == stop || strchr("$`\"\\\n", s[i + 1]))) {
			if (s[i + 1] != '\n')
				str_addc(w, s[i + 1]);
			i += 2;
		} else if (s[i] == '$') {
			i += expand_dollar(p, s + i, n - i, w, dynamic, quoted ? NULL : &ignored);
		} else if (s[i] == '`') {
			i += expand_backtick(p, s + i, n - i, w, dynamic);
		} else if (s[i] == '"' && stop) {
			i++;
			i += text(p, s + i, n - i, '"', true, w, dynamic);
		} else if (s[i] == '\'' && !quoted) {
			for (i++; i < n && s[i] != '\''; i++)
				str_addc(w, s[i]);
			i++;
		} else {
			str_addc(w, s[i++]);
		}
	}
	return i < n ? i + 1 : n;
}

size_t expand_quoted(
	struct parser *p, const char *s, size_t n, char stop, struct str *w, bool *dynamic)
{
	return text(p, s, n, stop, true, w, dynamic);
}

size_t expand_backtick(struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic)
{
	AUTO_STR struct str inner = STR_INIT;
	size_t i = 1;

	for (; i < n && s[i] != '`'; i++) {
		if (s[i] == '\\' && i + 1 < n && strchr("`\\$", s[i + 1]))
			i++;
		str_addc(&inner, s[i]);
	}
	parse_inside(p, inner.s, inner.len, false);
	*dynamic = true;
	str_adds(w, "$()");
	return i < n ? i + 1 : n;
}

size_t arithmetic_end(const char *s, size_t n)
{
	int depth = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\') {
			i++;
		} else if (s[i] == '\'' || s[i] == '"') {
			const char *end = memchr(s + i + 1, s[i], n - i - 1);

			i = end ? (size_t)(end - s) : n;
		} else if (s[i] == '(') {
			depth++;
		} else if (s[i] == ')' && depth-- == 0) {
			return i + 1 < n && s[i + 1] == ')' ? i + 2 : 0;
		}
	}
	return 0;
}

size_t expand_arithmetic(struct parser *p, const char *s, size_t n)
{
	AUTO_STR struct str ignored = STR_INIT;
	bool dynamic = false;
	size_t end = arithmetic_end(s, n);

	if (end && parser_deeper(p)) {
		text(p, s, end - 2, 0, true, &ignored, &dynamic);
		p->depth--;
	}
	return end;
}

/* ${...} */
static size_t braced(
	struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic, bool *split)
{
	AUTO_STR struct str rest = STR_INIT;
	const char *value, *word = rest.s;
	size_t name = 0, used;
	bool unknown = false;

	while (2 + name < n && name_char(s[2 + name]))
		name++;
	if (!parser_deeper(p))
		return n;
	used = 2 + name;
	used += text(p, s + used, n - used, '}', !split, &rest, &unknown);
	p->depth--;
	value = value_of(p, s + 2, name);
	word = rest.s + (*rest.s == ':');
	if (rest.len && name && (*word == '-' || *word == '=')) {
		/* ${X:-word}: the word, when nothing is known of X */
		if (!value || (!*value && *rest.s == ':')) {
			value = word + 1;
			*dynamic |= unknown;
		}
	} else if (rest.len || !value) {
		*dynamic = true;
		str_add(w, s, used);
		return used;
	}
	if (split)
		*split |= strpbrk(value, " \t\n") != NULL;
	str_adds(w, value);
	return used;
}

size_t expand_dollar(
	struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic, bool *split)
{
	const char *value = NULL;
	size_t used = 1;

	if (n >= 2 && s[1] == '(') {
		*dynamic = true;
		str_adds(w, "$()");
		used = n >= 3 && s[2] == '(' ? expand_arithmetic(p, s + 3, n - 3) : 0;
		return used ? used + 3 : parse_inside(p, s + 2, n - 2, true) + 2;
	}
	if (n >= 2 && s[1] == '\'' && split)
		return ansi(s, n, w);
	if (n >= 2 && s[1] == '"' && split) /* $"..." is a text to be translated */
		return 1;
	if (n >= 2 && s[1] == '{')
		return braced(p, s, n, w, dynamic, split);
	while (used < n && name_char(s[used]))
		used++;
	if (used == 1 && n > 1 && strchr("@*#?!$-", s[1]))
		used = 2;
	else if (used > 1)
		value = value_of(p, s + 1, used - 1);
	if (used == 1) {
		str_addc(w, '$');
	} else if (value) {
		if (split)
			*split |= strpbrk(value, " \t\n") != NULL;
		str_adds(w, value);
	} else {
		*dynamic = true;
		str_add(w, s, used);
	}
	return used;
}
