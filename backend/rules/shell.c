/* shell.c - a reader of shell scripts that looks for commands and runs nothing. */
#include "rules/shell.h"

#include <ctype.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#define SCRIPT_MAX ((size_t)256 << 10)
#define COMMANDS_MAX 4096
#define WORDS_MAX 4096
#define DEPTH_MAX 32
#define VARIABLES_MAX 64

struct variable {
	const char *name, *value;
};

struct here {
	const char *end;
	bool tabs, quoted; /* tabs before a line go; nothing in it is expanded */
};

struct parser {
	struct shell_script *out;
	size_t cap;
	const char *home;
	struct variable variable[VARIABLES_MAX];
	size_t nvariables;
	int depth;
	/* the command being collected */
	struct shell_word word[WORDS_MAX], writes[64];
	size_t nwords, nwrites;
	const char *function;
	/* the here-documents that begin behind this line */
	struct here here[16];
	size_t nhere;
};

static void parse(struct parser *p, const char *s, size_t n);

static bool space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Blanks, and lines that go on in the next one: how many bytes of them there are. */
static size_t blanks(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (space(s[i]) || (s[i] == '\\' && i + 1 < n && s[i + 1] == '\n')))
		i += space(s[i]) ? 1 : 2;
	return i;
}

static bool name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void fail(struct parser *p, const char *why)
{
	if (!p->out->problem)
		p->out->problem = why;
}

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

static bool assignment(const struct shell_word *w)
{
	const char *eq = strchr(w->text, '=');

	if (!eq || eq == w->text || isdigit((unsigned char)*w->text))
		return false;
	for (const char *c = w->text; c < eq; c++)
		if (!name_char(*c) && !(c + 1 == eq && *c == '+'))
			return false;
	return true;
}

static void remember(struct parser *p, const struct shell_word *w)
{
	const char *eq = strchr(w->text, '=');

	if (w->dynamic || p->nvariables == VARIABLES_MAX)
		return;
	p->variable[p->nvariables++] = (struct variable){
		arena_strndup(&p->out->mem, w->text, (size_t)(eq - w->text)), eq + 1};
}

static bool keyword(const struct shell_word *w)
{
	static const char *const words[] = {"if", "then", "elif", "else", "fi", "do", "done",
		"while", "until", "!", "{", "}", "esac", "time", "coproc"};

	for (size_t i = 0; !w->quoted && i < COUNT(words); i++)
		if (!strcmp(w->text, words[i]))
			return true;
	return false;
}

/* End of a simple command: keep it unless nothing but keywords and assignments was there. */
static void end_command(struct parser *p, bool piped, bool background)
{
	struct shell_script *out = p->out;
	struct shell_command c = {
		.piped = piped, .background = background, .function = p->function};
	size_t first = 0;

	while (first < p->nwords && keyword(&p->word[first]))
		first++;
	while (first < p->nwords && assignment(&p->word[first]))
		remember(p, &p->word[first++]);
	if (first < p->nwords && !strcmp(p->word[first].text, "for"))
		first = p->nwords;
	c.n = p->nwords - first;
	c.nwrites = p->nwrites;
	p->nwords = p->nwrites = 0;
	if (!c.n && !c.nwrites)
		return;
	if (out->n == COMMANDS_MAX) {
		fail(p, "it has too many commands");
		return;
	}
	c.word = arena_array(&out->mem, c.n + 1, sizeof *c.word);
	memcpy(c.word, p->word + first, c.n * sizeof *c.word);
	c.writes = arena_array(&out->mem, c.nwrites + 1, sizeof *c.writes);
	memcpy(c.writes, p->writes, c.nwrites * sizeof *c.writes);
	out->command = mem_grow(out->command, &p->cap, out->n + 1, sizeof *out->command);
	out->command[out->n++] = c;
}

static void add_word(struct parser *p, const char *text, size_t n, struct shell_word like)
{
	if (p->nwords == WORDS_MAX) {
		fail(p, "one of its commands has too many words");
		return;
	}
	like.text = arena_strndup(&p->out->mem, text, n);
	p->word[p->nwords++] = like;
}

/* {a,b} outside quotes becomes one word for each; nested lists stay as they are. */
static void add_braced(struct parser *p, const char *text, struct shell_word like)
{
	const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
	const char *comma = open ? strchr(open, ',') : NULL;

	if (!close || !comma || comma > close) {
		add_word(p, text, strlen(text), like);
		return;
	}
	for (const char *at = open + 1; at <= close;) {
		size_t n = strcspn(at, ",}");
		AUTO_STR struct str one = STR_INIT;

		str_add(&one, text, (size_t)(open - text));
		str_add(&one, at, n);
		str_adds(&one, close + 1);
		if (one.len)
			add_word(p, one.s, one.len, like);
		at += n + 1;
	}
}

/* Where the substitution that starts after "$(" ends: at its ')'. */
static size_t substitution_end(const char *s, size_t n)
{
	int depth = 1;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\') {
			i++;
		} else if (s[i] == '\'') {
			while (++i < n && s[i] != '\'')
				;
		} else if (s[i] == '(') {
			depth++;
		} else if (s[i] == ')' && --depth == 0) {
			return i;
		}
	}
	return n;
}

static void parse_inside(struct parser *p, const char *s, size_t n)
{
	struct parser *inner;

	if (p->depth >= DEPTH_MAX) {
		fail(p, "it is nested too deeply");
		return;
	}
	/* Its own words, the same output. */
	inner = xmalloc(sizeof *inner);
	*inner = *p;
	inner->depth++;
	inner->nwords = inner->nwrites = inner->nhere = 0;
	parse(inner, s, n);
	p->cap = inner->cap;
	cleanup_free(&inner);
}

/* $... at s[0]; returns the bytes used.  *split: an unquoted expansion brought white space. */
static size_t dollar(
	struct parser *p, const char *s, size_t n, struct str *w, bool *dynamic, bool *split)
{
	const char *value = NULL;
	size_t used = 1, len;

	if (n >= 2 && s[1] == '(') {
		len = substitution_end(s + 2, n - 2);
		if (!(n >= 3 && s[2] == '('))
			parse_inside(p, s + 2, len);
		*dynamic = true;
		str_adds(w, "$()");
		return len + 3 > n ? n : len + 3;
	}
	if (n >= 2 && s[1] == '\'') { /* $'...' */
		size_t i = 2;

		for (; i < n && s[i] != '\''; i++) {
			if (s[i] == '\\' && i + 1 < n) {
				i++;
				if (s[i] == 'x' && i + 2 < n && isxdigit((unsigned char)s[i + 1]) &&
					isxdigit((unsigned char)s[i + 2])) {
					char hex[3] = {s[i + 1], s[i + 2], 0};
					int v = 0;

					for (int k = 0; k < 2; k++)
						v = v * 16 +
							(isdigit((unsigned char)hex[k])
									? hex[k] - '0'
									: (hex[k] | 32) - 'a' + 10);
					str_addc(w, (char)v);
					i += 2;
				} else if (s[i] >= '0' && s[i] <= '7') {
					int v = 0, k = 0;

					while (k < 3 && i < n && s[i] >= '0' && s[i] <= '7') {
						v = v * 8 + (s[i++] - '0');
						k++;
					}
					i--;
					str_addc(w, (char)v);
				} else {
					str_addc(w, s[i] == 'n' ? '\n' : s[i] == 't' ? '\t' : s[i]);
				}
				continue;
			}
			str_addc(w, s[i]);
		}
		return i + 1 > n ? n : i + 1;
	}
	if (n >= 2 && s[1] == '{') {
		const char *close = memchr(s, '}', n);
		size_t name = 0;

		if (!close)
			return n;
		while (s + 2 + name < close && name_char(s[2 + name]))
			name++;
		used = (size_t)(close + 1 - s);
		value = s + 2 + name == close ? value_of(p, s + 2, name) : NULL;
		if (!value && s[2 + name] == ':' && (s[3 + name] == '-' || s[3 + name] == '=')) {
			/* ${X:-word}: the word, as nothing is known of X */
			str_add(w, s + 4 + name, (size_t)(close - (s + 4 + name)));
			return used;
		}
	} else {
		while (used < n && name_char(s[used]))
			used++;
		if (used == 1 && n > 1 && strchr("@*#?!$-", s[1]))
			used = 2;
		else if (used > 1)
			value = value_of(p, s + 1, used - 1);
	}
	if (used == 1) {
		str_addc(w, '$');
		return 1;
	}
	if (value) {
		*split |= strpbrk(value, " \t\n") != NULL;
		str_adds(w, value);
	} else {
		*dynamic = true;
		str_add(w, s, used);
	}
	return used;
}

struct word_state {
	struct str text;
	bool dynamic, quoted, started, split, glob;
};

/* One word at s; returns the bytes used, 0 when none starts here. */
static size_t read_word(struct parser *p, const char *s, size_t n, struct word_state *w)
{
	size_t i = 0;

	while (i < n) {
		char c = s[i];

		if (space(c) || strchr("\n;&|<>()", c))
			break;
		w->started = true;
		if (c == '\\') {
			if (i + 1 < n && s[i + 1] == '\n') {
				i += 2;
				continue;
			}
			w->quoted = true;
			if (i + 1 < n)
				str_addc(&w->text, s[i + 1]);
			i += 2;
		} else if (c == '\'') {
			const char *end = memchr(s + i + 1, '\'', n - i - 1);
			size_t len = end ? (size_t)(end - (s + i + 1)) : n - i - 1;

			w->quoted = true;
			str_add(&w->text, s + i + 1, len);
			i += len + 2;
		} else if (c == '"') {
			bool ignored = false;

			w->quoted = true;
			for (i++; i < n && s[i] != '"';) {
				if (s[i] == '\\' && i + 1 < n && strchr("$`\"\\\n", s[i + 1])) {
					if (s[i + 1] != '\n')
						str_addc(&w->text, s[i + 1]);
					i += 2;
				} else if (s[i] == '$') {
					i += dollar(
						p, s + i, n - i, &w->text, &w->dynamic, &ignored);
				} else if (s[i] == '`') {
					const char *end = memchr(s + i + 1, '`', n - i - 1);
					size_t len = end ? (size_t)(end - (s + i + 1)) : n - i - 1;

					parse_inside(p, s + i + 1, len);
					w->dynamic = true;
					i += len + 2;
				} else {
					str_addc(&w->text, s[i++]);
				}
			}
			i++;
		} else if (c == '`') {
			const char *end = memchr(s + i + 1, '`', n - i - 1);
			size_t len = end ? (size_t)(end - (s + i + 1)) : n - i - 1;

			parse_inside(p, s + i + 1, len);
			w->dynamic = true;
			i += len + 2;
		} else if (c == '$') {
			i += dollar(p, s + i, n - i, &w->text, &w->dynamic, &w->split);
		} else if (c == '~' && !w->text.len &&
			(i + 1 >= n || strchr("/ \t\n;&|)", s[i + 1]))) {
			str_adds(&w->text, p->home);
			i++;
		} else {
			w->glob |= c == '*' || c == '?' || c == '[';
			str_addc(&w->text, c);
			i++;
		}
	}
	return i > n ? n : i;
}

static void take_word(struct parser *p, struct word_state *w)
{
	struct shell_word like = {NULL, w->dynamic, w->quoted, w->glob};

	/* X=; $X rm: what expands to nothing is no word */
	if (!w->quoted && !w->dynamic && !w->text.len)
		return;
	if (w->split) {
		/* An unquoted value with blanks in it is several words: rm$IFS-rf$IFS/ */
		for (char *at = w->text.s; *at;) {
			size_t n = strcspn(at, " \t\n");

			if (n)
				add_word(p, at, n, like);
			at += n + (at[n] != '\0');
		}
	} else if (!w->quoted) {
		add_braced(p, w->text.s, like);
	} else {
		add_word(p, w->text.s, w->text.len, like);
	}
}

/* The delimiter of a here-document: its quotes go, nothing in it is expanded. */
static size_t delimiter(struct parser *p, const char *s, size_t n, bool tabs)
{
	AUTO_STR struct str end = STR_INIT;
	char quote = 0;
	bool quoted = false;
	size_t i = 0;

	for (; i < n && (quote || (!space(s[i]) && !strchr("\n;&|<>()", s[i]))); i++) {
		if (s[i] == quote) {
			quote = 0;
		} else if (!quote && (s[i] == '\'' || s[i] == '"')) {
			quote = s[i];
			quoted = true;
		} else if (s[i] == '\\' && quote != '\'' && i + 1 < n) {
			quoted = true;
			str_addc(&end, s[++i]);
		} else {
			str_addc(&end, s[i]);
		}
	}
	if (i && p->nhere == COUNT(p->here))
		fail(p, "one of its lines has too many here-documents");
	else if (i)
		p->here[p->nhere++] = (struct here){
			arena_strndup(&p->out->mem, end.s, end.len), tabs, quoted};
	return i;
}

/* > word, >> word, 2> word, &> word, < word, << word; s is behind the operator's first character.
 */
static size_t redirect(struct parser *p, char op, const char *s, size_t n)
{
	struct word_state w = {.text = STR_INIT};
	bool writes = op == '>', duplicate = false;
	size_t i = 0;

	if (op == '<' && n && s[0] == '<' && !(n > 1 && s[1] == '<')) {
		bool tabs = n > 1 && s[1] == '-';

		i = 1 + tabs;
		i += blanks(s + i, n - i);
		return i + delimiter(p, s + i, n - i, tabs);
	}
	while (i < n && strchr("<>&|-", s[i])) {
		if (s[i] == '>')
			writes = true;
		if (s[i] == '&')
			duplicate = true;
		i++;
	}
	i += blanks(s + i, n - i);
	i += read_word(p, s + i, n - i, &w);
	if (writes && w.started && !(duplicate && isdigit((unsigned char)w.text.s[0]))) {
		if (p->nwrites < COUNT(p->writes))
			p->writes[p->nwrites++] = (struct shell_word){
				arena_strndup(&p->out->mem, w.text.s, w.text.len), w.dynamic,
				w.quoted, w.glob};
	}
	str_release(&w.text);
	return i;
}

/* The body of a here-document is data, up to a line that is the delimiter. */
static size_t skip_here(const struct here *h, const char *s, size_t n)
{
	size_t want = strlen(h->end);

	for (size_t i = 0; i < n;) {
		const char *end = memchr(s + i, '\n', n - i);
		size_t len = end ? (size_t)(end - (s + i)) : n - i, skip = 0;

		while (h->tabs && skip < len && s[i + skip] == '\t')
			skip++;
		if (len - skip == want && !memcmp(s + i + skip, h->end, want))
			return i + len;
		i += len + 1;
	}
	return n;
}

/* The bodies of all here-documents of the line that has just ended. */
static size_t skip_all_here(struct parser *p, const char *s, size_t n)
{
	size_t i = 0;

	for (size_t k = 0; k < p->nhere; k++) {
		/* The line of the delimiter before still has its end. */
		i += k && i < n;
		i += skip_here(&p->here[k], s + i, n - i);
	}
	p->nhere = 0;
	return i;
}

/* name() { or function name {: the words so far name a function; its body is read in place. */
static bool function_head(struct parser *p, const char *s, size_t n, size_t *used)
{
	size_t i = 0;

	if (p->nwords != 1 || p->word[0].dynamic || !n || s[0] != '(')
		return false;
	i = 1 + blanks(s + 1, n - 1);
	if (i >= n || s[i] != ')')
		return false;
	p->function = p->word[0].text;
	p->nwords = 0;
	*used = i + 1;
	return true;
}

static void parse(struct parser *p, const char *s, size_t n)
{
	int braces = 0;

	for (size_t i = 0; i < n && !p->out->problem;) {
		char c = s[i];
		size_t used;

		if ((used = blanks(s + i, n - i))) {
			i += used;
		} else if (c == '#') {
			while (i < n && s[i] != '\n')
				i++;
		} else if (c == '\n') {
			end_command(p, false, false);
			i++;
			i += skip_all_here(p, s + i, n - i);
		} else if (c == ';' || c == ')') {
			end_command(p, false, false);
			i++;
		} else if (c == '(') {
			if (function_head(p, s + i, n - i, &used)) {
				i += used;
				continue;
			}
			end_command(p, false, false);
			i++;
		} else if (c == '|') {
			bool or = i + 1 < n && s[i + 1] == '|';

			end_command(p, ! or, false);
			i += or || (i + 1 < n && s[i + 1] == '&') ? 2 : 1;
		} else if (c == '&' && i + 1 < n && s[i + 1] == '>') {
			i += 2;
			i += redirect(p, '>', s + i, n - i);
		} else if (c == '&') {
			bool and = i + 1 < n && s[i + 1] == '&';

			end_command(p, false, !and);
			i += and? 2 : 1;
		} else if ((c == '<' || c == '>') && i + 1 < n && s[i + 1] == '(') {
			used = substitution_end(s + i + 2, n - i - 2);
			parse_inside(p, s + i + 2, used);
			add_word(p, "/dev/fd/63", 10, (struct shell_word){.dynamic = true});
			i += used + 3;
		} else if (c == '<' || c == '>') {
			i++;
			i += redirect(p, c, s + i, n - i);
		} else {
			struct word_state w = {.text = STR_INIT};

			used = read_word(p, s + i, n - i, &w);
			i += used ? used : 1;
			/* 2>file: the digits belong to the redirection */
			if (i < n && (s[i] == '>' || s[i] == '<') && !w.quoted &&
				strspn(w.text.s, "0123456789") == w.text.len && w.text.len) {
				str_release(&w.text);
				continue;
			}
			if (!w.quoted && !strcmp(w.text.s, "{"))
				braces++;
			if (!w.quoted && !strcmp(w.text.s, "}")) {
				end_command(p, false, false);
				if (--braces <= 0)
					p->function = NULL;
			} else if (!w.quoted && !strcmp(w.text.s, "function") && !p->nwords) {
				/* the name follows; `function f { ...` has no parentheses */
				struct word_state f = {.text = STR_INIT};

				i += blanks(s + i, n - i);
				i += read_word(p, s + i, n - i, &f);
				p->function = arena_strndup(&p->out->mem, f.text.s, f.text.len);
				str_release(&f.text);
			} else if (w.started) {
				take_word(p, &w);
			}
			str_release(&w.text);
		}
	}
	end_command(p, false, false);
}

void shell_parse(const char *text, const char *home, struct shell_script *ret)
{
	struct parser *p;
	size_t n = strlen(text);

	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	if (n > SCRIPT_MAX) {
		ret->problem = "it is longer than 256 KiB";
		return;
	}
	p = xcalloc(1, sizeof *p);
	p->out = ret;
	p->home = home ? home : "/root";
	parse(p, text, n);
	cleanup_free(&p);
}

void shell_release(struct shell_script *s)
{
	cleanup_free(&s->command);
	arena_release(&s->mem);
	memset(s, 0, sizeof *s);
}
