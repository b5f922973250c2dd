/* expand.c - evaluates $, `...` and double quotes in a word, and the commands in them. */
#include "policy/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

#include "policy/harm.h"

/* $'...': C escapes */
static size_t expand_ansi(struct parser *p, const char *s, size_t n, struct str *w)
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
		if (s[i] == '\'' && !p->o->bash)
			parser_unclear(p, "a $'...' with a quote in it, which ends sooner for sh");
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
		} else if (strchr("uUc", s[i])) {
			parser_unclear(p, "a $'...' with \\u or \\c in it");
		} else {
			const char *from = "abefnrtv", *at = strchr(from, s[i]);

			str_addc(w, at ? "\a\b\033\f\n\r\t\v"[at - from] : s[i]);
		}
	}
	if (i >= n)
		parser_unclear(p, "a quote that never ends");
	if (strstr(w->s, "$(") || strchr(w->s, '`'))
		p->out->hidden = true;
	return i < n ? i + 1 : n;
}

/* stop: '"', '}' or 0 (all of it); `quoted`: as between double quotes */
static size_t expand_text(
	struct parser *p, const char *s, size_t n, char stop, bool quoted, struct reading *w)
{
	size_t i = 0;

	while (i < n && !(stop && s[i] == stop)) {
		if (s[i] == '\\' && i + 1 < n &&
			(!quoted || s[i + 1] == stop || strchr("$`\"\\\n", s[i + 1]))) {
			if (s[i + 1] != '\n')
				str_addc(&w->text, s[i + 1]);
			else if (i && strchr("${", s[i - 1]))
				parser_unclear(p, "a line broken inside an expansion");
			if (s[i + 1] == '`' || (s[i + 1] == '$' && i + 2 < n && s[i + 2] == '('))
				p->out->hidden = true;
			i += 2;
		} else if (s[i] == '$') {
			i += expand_dollar(p, s + i, n - i, w, quoted);
		} else if (s[i] == '`') {
			i += expand_backtick(p, s + i, n - i, w, quoted);
		} else if (s[i] == '"' && stop) {
			i++;
			i += expand_text(p, s + i, n - i, '"', true, w);
		} else if (s[i] == '\'' && stop == '}') {
			/* Between double quotes it is one of the text, but not for all operators. */
			if (quoted)
				parser_unclear(p, "a ' in a ${...} between double quotes");
			for (i++; i < n && s[i] != '\'' && !quoted; i++)
				str_addc(&w->text, s[i]);
			i += !quoted;
		} else {
			str_addc(&w->text, s[i++]);
		}
	}
	if (stop && i >= n)
		parser_unclear(p, "a quote or ${ that never ends");
	return i < n ? i + 1 : n;
}

size_t expand_quoted(struct parser *p, const char *s, size_t n, char stop, struct reading *w)
{
	return expand_text(p, s, n, stop, true, w);
}

/* Where the shell is when the commands since `first` have ended, if they are cd and a pwd; NULL */
static const char *printed_directory(const struct parser *p, size_t first)
{
	const struct shell_command *c = NULL;

	for (size_t i = first; i < p->out->n; i++) {
		c = &p->out->command[i];
		if (!c->n || strcmp(c->word[0].text, i + 1 == p->out->n ? "pwd" : "cd") != 0)
			return NULL;
	}
	return c ? c->cwd : NULL;
}

/* What the commands since `first` print: $(pwd) is where it is, $(ls) a wildcard. */
static void add_output(struct parser *p, size_t first, struct reading *w, bool quoted)
{
	const char *known = NULL;

	if (p->o->reading != SHELL_CERTAIN)
		known = printed_directory(p, first);
	if (known) {
		str_adds(&w->text, known);
		return;
	}
	/* only where it is no part of a name */
	if (p->o->reading != SHELL_CERTAIN && w->operand && !quoted && !w->text.len &&
		p->out->n == first + 1)
		known = listing_of(
			p->out->command[first].word, p->out->command[first].n, &p->out->mem);
	if (known) {
		w->glob = true;
		str_adds(&w->text, known);
		return;
	}
	w->dynamic = true;
	w->loose |= !quoted;
	str_adds(&w->text, "$()");
}

size_t expand_backtick(struct parser *p, const char *s, size_t n, struct reading *w, bool quoted)
{
	AUTO_STR struct str inner = STR_INIT;
	size_t i = 1, first = p->out->n;

	for (; i < n && s[i] != '`'; i++) {
		if (s[i] == '\\' && i + 1 < n && strchr(quoted ? "`\\$\"" : "`\\$", s[i + 1]))
			i++;
		str_addc(&inner, s[i]);
	}
	if (i >= n)
		parser_unclear(p, "a ` that never ends");
	parse_inside(p, inner.s, inner.len, false);
	add_output(p, first, w, quoted);
	return i < n ? i + 1 : n;
}

/* How far it goes, with its "))". */
static size_t arithmetic_end(const char *s, size_t n)
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

/* An expression: its names are expanded, and what they hold is evaluated again. */
static void evaluate_arithmetic(struct parser *p, const char *s, size_t n)
{
	struct reading ignored = READING_INIT;

	for (size_t i = 0; i < n; i++) {
		p->out->evaluates |= isalpha((unsigned char)s[i]) || s[i] == '$' || s[i] == '_';
		if (strchr("'\"\\`#", s[i]) && !(s[i] == '#' && i && strchr("${", s[i - 1])) &&
			!(s[i] == '#' && i && isalnum((unsigned char)s[i - 1])))
			parser_unclear(p, "quotes or a # in arithmetic");
	}
	if (!parser_deeper(p))
		return;
	expand_text(p, s, n, 0, true, &ignored);
	p->depth--;
	str_release(&ignored.text);
}

size_t expand_arithmetic(struct parser *p, const char *s, size_t n)
{
	size_t end = arithmetic_end(s, n);

	if (end)
		evaluate_arithmetic(p, s, end - 2);
	return end;
}

/* $[...]: for sh it is no expansion. */
static size_t old_arithmetic(struct parser *p, const char *s, size_t n, struct reading *w)
{
	size_t i = 2;

	for (int depth = 1; i < n; i++) {
		depth += s[i] == '[';
		depth -= s[i] == ']';
		if (!depth)
			break;
	}
	parser_unclear(p, "$[...]; write $((...))");
	evaluate_arithmetic(p, s + 2, i - 2);
	w->dynamic = true;
	str_adds(&w->text, "$[]");
	return i < n ? i + 1 : n;
}

/* The name in ${...}; `indirect`: ${!name} */
static size_t read_parameter(struct parser *p, const char *s, size_t n)
{
	size_t i = 0;

	if (n && isdigit((unsigned char)*s)) {
		while (i < n && isdigit((unsigned char)s[i]))
			i++;
		return i;
	}
	while (i < n && name_char(s[i]))
		i++;
	if (!i)
		return n && strchr("@*#?!$-", *s) ? 1 : 0;
	if (i < n && s[i] == '[') {
		const char *end = memchr(s + i, ']', n - i);
		size_t len = end ? (size_t)(end - (s + i)) : 0;

		if (len != 2 || !strchr("@*", s[i + 1]))
			p->out->evaluates = true;
	}
	return i;
}

/* Is what stands behind the name one of the operators that are known?  -1: the whole is not. */
static void check_operator(struct parser *p, const char *s, size_t n)
{
	if (!n || strchr("}-=?+#%/^,[", *s))
		return;
	if (*s == '@') {
		if (n > 1 && s[1] == 'P')
			parser_unclear(p, "${NAME@P}, which expands what is in NAME once more");
		return;
	}
	if (*s == ':') {
		if (n > 1 && !strchr("-=?+", s[1]))
			p->out->evaluates = true;
		return;
	}
	if (*s == '*')
		return;
	parser_unclear(p, "a form of ${...} that is not known");
}

/* ${...} */
static size_t expand_braced(
	struct parser *p, const char *s, size_t n, struct reading *w, bool quoted)
{
	struct reading rest = READING_INIT;
	const char *value, *word;
	size_t from = 2, name, used;
	bool known = true, each = false;

	/* ${#X} and ${!X} */
	if (n > 3 && (s[2] == '#' || s[2] == '!') && (name_char(s[3]) || strchr("@*", s[3]))) {
		from = 3;
		known = false;
		p->out->evaluates |= s[2] == '!';
	}
	name = read_parameter(p, s + from, n - from);
	if (!name)
		parser_unclear(p, "a form of ${...} that is not known");
	check_operator(p, s + from + name, n - from - name);
	if (!parser_deeper(p)) {
		str_release(&rest.text);
		return n;
	}
	used = from + name;
	used += expand_text(p, s + used, n - used, '}', quoted, &rest);
	p->depth--;
	value = known ? variable_value(p, s + from, name, &each) : NULL;
	word = rest.text.s + (*rest.text.s == ':');
	if (rest.text.len && known && (*word == '-' || *word == '=')) {
		/* ${X:-word}: the word, when nothing is known of X */
		if (*word == '=')
			variable_set(p, s + from, name, NULL, false);
		if (p->o->reading == SHELL_CERTAIN)
			value = NULL;
		else if (!value || (!*value && *rest.text.s == ':')) {
			value = word + 1;
			w->dynamic |= rest.dynamic;
		}
	} else if (value && rest.text.len && (*word == '?' || *word == '+')) {
		value = *value && *word == '?' ? value : NULL;
	} else if (value && *value && rest.text.len) {
		value = NULL;
	}
	if (!value) {
		w->dynamic = true;
		w->loose |= !quoted;
		str_add(&w->text, s, used);
	} else {
		w->split |= !quoted && strpbrk(value, " \t\n") != NULL;
		w->glob |= each || (!quoted && strpbrk(value, "*?[") != NULL);
		str_adds(&w->text, value);
	}
	str_release(&rest.text);
	return used;
}

/* $(...) and $((...)) */
static size_t read_substitution(struct parser *p, const char *s, size_t n)
{
	size_t used = 0;

	if (n >= 3 && s[2] == '(')
		used = expand_arithmetic(p, s + 3, n - 3);
	if (used)
		return used + 3;
	return parse_inside(p, s + 2, n - 2, true) + 2;
}

size_t expand_dollar(struct parser *p, const char *s, size_t n, struct reading *w, bool quoted)
{
	const char *value = NULL;
	size_t used = 1;
	bool each = false;

	if (n >= 2 && s[1] == '(') {
		size_t first = p->out->n;

		used = read_substitution(p, s, n);
		add_output(p, first, w, quoted);
		return used;
	}
	if (n >= 2 && s[1] == '\'' && !quoted) {
		w->quoted = true;
		return expand_ansi(p, s, n, &w->text);
	}
	if (n >= 2 && s[1] == '"' && !quoted) /* $"..." is a text to be translated */
		return 1;
	if (n >= 2 && s[1] == '[')
		return old_arithmetic(p, s, n, w);
	if (n >= 2 && s[1] == '{')
		return expand_braced(p, s, n, w, quoted);
	if (n >= 3 && s[1] == '\\' && s[2] == '\n')
		parser_unclear(p, "a line broken inside an expansion");
	if (n > 1 && isdigit((unsigned char)s[1]))
		used = 2;
	else
		while (used < n && name_char(s[used]))
			used++;
	if (used == 1 && n > 1 && strchr("@*#?!$-", s[1]))
		used = 2;
	else if (used > 1)
		value = variable_value(p, s + 1, used - 1, &each);
	if (used == 1) {
		str_addc(&w->text, '$');
	} else if (value) {
		w->split |= !quoted && strpbrk(value, " \t\n") != NULL;
		w->glob |= each || (!quoted && strpbrk(value, "*?[") != NULL);
		str_adds(&w->text, value);
	} else {
		w->dynamic = true;
		w->loose |= !quoted;
		str_add(&w->text, s, used);
	}
	return used;
}
