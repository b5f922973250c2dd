/* shell.c - a reader of shell scripts that looks for commands and runs nothing. */
#include "rules/parser.h"

#include <stddef.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#define SCRIPT_MAX ((size_t)256 << 10)
#define COMMANDS_MAX 4096

/* frames: the patterns of a case, and the commands behind one */
#define PATTERN 'p'
#define CASE 'c'

void parser_fail(struct parser *p, const char *why)
{
	if (!p->out->problem)
		p->out->problem = why;
}

bool parser_deeper(struct parser *p)
{
	if (p->depth >= DEPTH_MAX) {
		parser_fail(p, "it is nested too deeply");
		return false;
	}
	p->depth++;
	return true;
}

/* Blanks, and lines that go on in the next one: how many bytes of them there are. */
static size_t blanks(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && (space(s[i]) || (s[i] == '\\' && i + 1 < n && s[i + 1] == '\n')))
		i += space(s[i]) ? 1 : 2;
	return i;
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

static bool loop_head(const struct shell_word *w)
{
	return !w->quoted && (!strcmp(w->text, "for") || !strcmp(w->text, "select"));
}

/* Does a command begin here?  Keywords may stand before it. */
static bool at_start(const struct parser *p)
{
	for (size_t i = 0; i < p->nwords; i++)
		if (!keyword(&p->word[i]))
			return false;
	return true;
}

static void open_frame(struct parser *p, char kind)
{
	if (p->nframes == COUNT(p->frame)) {
		parser_fail(p, "it is nested too deeply");
		return;
	}
	p->frame[p->nframes++] =
		(struct frame){.kind = kind, .function = p->body ? p->outer : p->function};
	p->body = false;
}

static char top(const struct parser *p)
{
	return p->nframes ? p->frame[p->nframes - 1].kind : '\0';
}

/* Closes the innermost of its kind, and what was left open in it. */
static bool close_frame(struct parser *p, char kind)
{
	for (size_t i = p->nframes; i--;)
		if (p->frame[i].kind == kind) {
			p->function = p->frame[i].function;
			p->nframes = i;
			return true;
		}
	return false;
}

/* The next { or ( opens the body of the function. */
static void begin_function(struct parser *p, const char *name)
{
	if (!p->body)
		p->outer = p->function;
	p->function = name;
	p->body = true;
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
	if (first < p->nwords && loop_head(&p->word[first]))
		first = p->nwords;
	c.n = p->nwords - first;
	c.nwrites = p->nwrites;
	p->nwords = p->nwrites = 0;
	if (!c.n && !c.nwrites)
		return;
	if (out->n == COMMANDS_MAX) {
		parser_fail(p, "it has too many commands");
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
		parser_fail(p, "one of its commands has too many words");
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
			w->quoted = true;
			i++;
			i += expand_quoted(p, s + i, n - i, '"', &w->text, &w->dynamic);
		} else if (c == '`') {
			i += expand_backtick(p, s + i, n - i, &w->text, &w->dynamic);
		} else if (c == '$') {
			i += expand_dollar(p, s + i, n - i, &w->text, &w->dynamic, &w->split);
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
		return i + here_begin(p, s + i, n - i, tabs);
	}
	while (i < n && strchr("<>&|-", s[i])) {
		if (s[i] == '>')
			writes = true;
		if (s[i] == '&')
			duplicate = true;
		i++;
	}
	i += blanks(s + i, n - i);
	if (i + 1 < n && (s[i] == '<' || s[i] == '>') && s[i + 1] == '(') /* done < <(...) */
		return i + 2 + parse_inside(p, s + i + 2, n - i - 2, true);
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

/* name() { or function name {: the words so far name a function; its body is read in place. */
static bool function_head(struct parser *p, const char *s, size_t n, size_t *used)
{
	size_t i = 0;

	struct shell_word *name = p->nwords ? &p->word[p->nwords - 1] : NULL;

	if (!name || name->dynamic || keyword(name) || assignment(name) || !n || s[0] != '(')
		return false;
	for (size_t k = 0; k + 1 < p->nwords; k++)
		if (!keyword(&p->word[k]))
			return false;
	i = 1 + blanks(s + 1, n - 1);
	if (i >= n || s[i] != ')')
		return false;
	begin_function(p, name->text);
	p->nwords = 0;
	*used = i + 1;
	return true;
}

/* function name {, perhaps with () behind the name */
static size_t function_word(struct parser *p, const char *s, size_t n)
{
	struct word_state w = {.text = STR_INIT};
	size_t i = blanks(s, n), used;

	i += read_word(p, s + i, n - i, &w);
	begin_function(p, arena_strndup(&p->out->mem, w.text.s, w.text.len));
	str_release(&w.text);
	used = i + blanks(s + i, n - i);
	if (used >= n || s[used] != '(')
		return i;
	used++;
	used += blanks(s + used, n - used);
	return used < n && s[used] == ')' ? used + 1 : i;
}

/* case WORD in: patterns follow. */
static size_t case_head(struct parser *p, const char *s, size_t n)
{
	struct word_state w = {.text = STR_INIT};
	size_t i = blanks(s, n), used;

	i += read_word(p, s + i, n - i, &w);
	str_release(&w.text);
	for (used = i; used < n && (s[used] == '\n' || blanks(s + used, n - used));)
		used += s[used] == '\n' ? 1 : blanks(s + used, n - used);
	if (used + 2 > n || memcmp(s + used, "in", 2) ||
		(used + 2 < n && !space(s[used + 2]) && !strchr("\n\\(", s[used + 2])))
		return i;
	p->nwords = 0;
	open_frame(p, PATTERN);
	return used + 2;
}

/* What stands in a pattern of a case, up to its ): nothing of it is a command.  0: it ends the
 * pattern in another way. */
static size_t pattern(struct parser *p, const char *s, size_t n)
{
	struct word_state w = {.text = STR_INIT};
	struct frame *top = &p->frame[p->nframes - 1];
	size_t used = 1;

	if (*s == ')' && !top->depth) {
		top->kind = CASE;
		p->nwords = 0;
	} else if (*s == '(' || *s == ')') {
		/* the first ( belongs to the case, others to a pattern such as @(a|b) */
		if (*s == ')')
			top->depth--;
		else if (p->nwords)
			top->depth++;
	} else if (*s == '|') {
		;
	} else if (strchr(";&<>", *s)) {
		top->kind = CASE;
		used = 0;
	} else {
		used = read_word(p, s, n, &w);
		if (!p->nwords && !w.quoted && !strcmp(w.text.s, "esac"))
			close_frame(p, PATTERN);
		else
			add_word(p, w.text.s, w.text.len, (struct shell_word){.quoted = true});
		str_release(&w.text);
	}
	return used;
}

/* Is it this word, without quotes, where a command begins? */
static bool bare(const struct parser *p, const struct word_state *w, const char *text)
{
	return !w->quoted && !w->dynamic && !strcmp(w->text.s, text) && at_start(p);
}

/* Reads up to the end, or to the ) that ends a substitution. */
static size_t parse(struct parser *p, const char *s, size_t n)
{
	for (size_t i = 0; i < n && !p->out->problem;) {
		char c = s[i];
		size_t used;

		used = blanks(s + i, n - i);
		if (!used && top(p) == PATTERN && c != '#' && c != '\n')
			used = pattern(p, s + i, n - i);
		if (used) {
			i += used;
		} else if (c == '#') {
			while (i < n && s[i] != '\n')
				i++;
		} else if (c == '\n') {
			end_command(p, false, false);
			i++;
			i += here_bodies(p, s + i, n - i);
		} else if (c == ';') {
			end_command(p, false, false);
			i++;
			if (top(p) == CASE && i < n && (s[i] == ';' || s[i] == '&')) {
				p->frame[p->nframes - 1].kind = PATTERN;
				p->frame[p->nframes - 1].depth = 0;
				while (i < n && (s[i] == ';' || s[i] == '&'))
					i++;
			}
		} else if (c == ')') {
			end_command(p, false, false);
			i++;
			if (!close_frame(p, '(') && p->nested)
				return i;
		} else if (c == '(') {
			if (function_head(p, s + i, n - i, &used)) {
				i += used;
				continue;
			}
			/* A plain ((...)) is two subshells for some shells: both are judged.  The
			 * << in one is a here-document for those only. */
			if (at_start(p) && i + 1 < n && s[i + 1] == '(' &&
				(used = arithmetic_end(s + i + 2, n - i - 2))) {
				parse_inside(p, s + i + 2, used - 2, false);
				i += used + 2;
				continue;
			}
			if (p->nwords && loop_head(&p->word[p->nwords - 1]) && i + 1 < n &&
				s[i + 1] == '(' &&
				(used = expand_arithmetic(p, s + i + 2, n - i - 2))) {
				i += used + 2;
				continue;
			}
			end_command(p, false, false);
			open_frame(p, '(');
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
			i += 2 + parse_inside(p, s + i + 2, n - i - 2, true);
			add_word(p, "/dev/fd/63", 10, (struct shell_word){.dynamic = true});
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
			if (bare(p, &w, "}")) {
				end_command(p, false, false);
				close_frame(p, '{');
			} else if (bare(p, &w, "case")) {
				i += case_head(p, s + i, n - i);
			} else if (bare(p, &w, "esac")) {
				end_command(p, false, false);
				close_frame(p, CASE);
			} else if (bare(p, &w, "function")) {
				i += function_word(p, s + i, n - i);
			} else if (w.started) {
				if (bare(p, &w, "{"))
					open_frame(p, '{');
				else if (p->function)
					p->body = false;
				take_word(p, &w);
			}
			str_release(&w.text);
		}
	}
	end_command(p, false, false);
	return n;
}

size_t parse_inside(struct parser *p, const char *s, size_t n, bool nested)
{
	struct parser *inner;
	size_t used;

	if (!parser_deeper(p))
		return n;
	/* Its own words, the same output. */
	inner = xmalloc(sizeof *inner);
	memcpy(inner, p, offsetof(struct parser, writes));
	inner->nwords = inner->nwrites = inner->nhere = inner->nframes = 0;
	inner->nested = nested;
	inner->body = false;
	used = parse(inner, s, n);
	p->cap = inner->cap;
	p->depth--;
	cleanup_free(&inner);
	return used;
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
