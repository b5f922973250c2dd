/* shell_reader.c - parses shell scripts to find commands, without running anything. */
#include "policy/parser.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "policy/harm.h"

#define SCRIPT_MAX ((size_t)256 << 10)
#define COMMANDS_MAX 4096

/* what ends a simple command */
enum end { END_LINE, END_PIPE, END_BACKGROUND, END_AND, END_OR };

static char top_frame(const struct parser *p)
{
	return p->nframes ? p->frame[p->nframes - 1].kind : '\0';
}

/* Assignments in front: with no command behind them they last. */
static size_t take_assignments(struct parser *p, size_t first, bool lasting)
{
	size_t end = first;

	while (end < p->nwords && p->word[end].assigns)
		end++;
	for (; first < end; first++) {
		const char *text = p->word[first].text, *eq = strchr(text, '=');
		size_t n = strcspn(text, "[+=");

		variable_set(p, text, n, p->word[first].dynamic || text + n != eq ? NULL : eq + 1,
			lasting && end == p->nwords);
	}
	return end;
}

/* What a cd that failed leaves behind for what stands behind its chain: cd x && make; rm -rf * */
static void end_chain(struct parser *p, const struct shell_command *c, enum end end)
{
	static const char *const harmless[] = {"true", ":", "echo", "printf", "false", NULL};

	if (p->nframes > p->behind_frames)
		return;
	if (end == END_AND || end == END_OR) {
		p->after_or = end == END_OR;
		return;
	}
	/* cd x || exit; cd x || true */
	if (p->after_or && c->n && !harm_one_of(c->word[0].text, harmless))
		p->behind_cwd = NULL;
	if (p->behind_cwd && end == END_LINE)
		p->or_cwd = p->behind_cwd;
	p->behind_cwd = NULL;
	p->after_or = false;
}

/* End of a simple command: keep it unless nothing but keywords and assignments was there. */
static void end_simple_command(struct parser *p, enum end end)
{
	struct shell_script *out = p->out;
	struct shell_command c = {.piped = end == END_PIPE,
		.background = end == END_BACKGROUND,
		.function = p->function,
		.input = p->input,
		.cwd = p->cwd,
		.or_cwd = p->or_cwd};
	static const char *const asking[] = {"if", "elif", "while", "until", "done", NULL};
	const char *listing = p->listing;
	size_t first = 0;
	bool waits = end == END_LINE || end == END_AND || end == END_OR, kept;

	for (; first < p->nwords && keyword(&p->word[first]); first++) {
		p->linear &= !strcmp(p->word[first].text, "!");
		if (harm_one_of(p->word[first].text, asking))
			variable_end_loops(p);
	}
	/* time -f FORMAT: the program */
	if (first && first < p->nwords && p->word[first].text[0] == '-' &&
		!strcmp(p->word[first - 1].text, "time"))
		first--;
	if (first && !strcmp(p->word[first - 1].text, "coproc"))
		parser_unclear(p, "coproc");
	waits &= !p->nwrites || first == p->nwords;
	first = take_assignments(p, first, waits);
	c.n = p->nwords - first;
	c.nwrites = p->nwrites;
	kept = c.n || c.nwrites;
	for (size_t i = 0; i < p->nhere; i++)
		if (p->here[i].command == NO_COMMAND)
			p->here[i].command = kept && c.n ? out->n : NO_COMMAND - 1;
	p->nwords = p->nwrites = 0;
	p->redirected = false;
	p->input = NULL;
	if (kept && out->n == COMMANDS_MAX)
		parser_fail(p, "it has too many commands");
	else if (kept) {
		c.word = arena_array(&out->mem, c.n + 1, sizeof *c.word);
		if (c.n)
			memcpy(c.word, p->word + first, c.n * sizeof *c.word);
		c.writes = arena_array(&out->mem, c.nwrites + 1, sizeof *c.writes);
		if (c.nwrites)
			memcpy(c.writes, p->writes, c.nwrites * sizeof *c.writes);
		out->command = mem_grow(out->command, &p->cap, out->n + 1, sizeof *out->command);
		out->command[out->n++] = c;
		builtin_command(p, c.word, c.n, first || end == END_AND || end == END_OR);
		/* ls | while read f */
		if (listing && c.n > 1 && !strcmp(c.word[0].text, "read") &&
			!c.word[c.n - 1].dynamic)
			variable_loop(
				p, c.word[c.n - 1].text, strlen(c.word[c.n - 1].text), listing);
		p->listing = end == END_PIPE ? listing_of(c.word, c.n, &out->mem) : NULL;
		/* if cd x; then ...: asked already */
		if (first && keyword(&p->word[first - 1]))
			p->behind_cwd = NULL;
		end_chain(p, &c, end);
	}
	if (end == END_AND || end == END_OR)
		variable_end_loops(p);
	p->linear &= end == END_LINE;
}

static void add_write(struct parser *p, const struct reading *w, bool appends)
{
	p->writes = mem_grow(p->writes, &p->writes_room, p->nwrites + 1, sizeof *p->writes);
	p->writes[p->nwrites++] =
		(struct shell_word){arena_strndup(&p->out->mem, w->text.s, w->text.len), w->dynamic,
			w->quoted, w->glob, w->loose, false, appends};
}

/* A redirection's target; s is behind the operator. */
static size_t read_target(
	struct parser *p, bool writes, bool duplicate, bool appends, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i = parser_blanks(p, s, n);

	if (i + 1 < n && (s[i] == '<' || s[i] == '>') && s[i + 1] == '(') /* done < <(...) */
		return i + 2 + parse_inside(p, s + i + 2, n - i - 2, true);
	i += word_read(p, s + i, n - i, &w);
	if (!w.started)
		parser_unclear(p, "a redirection without a target");
	if (writes && w.started && p->nwrites < WORDS_MAX &&
		!(duplicate && (isdigit((unsigned char)w.text.s[0]) || w.text.s[0] == '-')))
		add_write(p, &w, appends);
	str_release(&w.text);
	return i;
}

/* <<< word: the input of the command */
static size_t here_string(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i = parser_blanks(p, s, n);

	i += word_read(p, s + i, n - i, &w);
	p->input = w.dynamic ? NULL : arena_strndup(&p->out->mem, w.text.s, w.text.len);
	str_release(&w.text);
	return i;
}

/* > >> >| >& < <& <> << <<- <<<; s is behind the operator's first character. */
static size_t read_redirection(struct parser *p, char op, const char *s, size_t n)
{
	char next = n ? s[0] : '\0';

	p->redirected = true;
	if (op == '<' && next == '<' && n > 1 && s[1] == '<')
		return 2 + here_string(p, s + 2, n - 2);
	if (op == '<' && next == '<') {
		bool tabs = n > 1 && s[1] == '-';
		size_t i = 1 + tabs;

		i += parser_blanks(p, s + i, n - i);
		return i + here_begin(p, s + i, n - i, tabs);
	}
	if (next == '&')
		return 1 + read_target(p, op == '>', true, false, s + 1, n - 1);
	if (next == '>' || (op == '>' && next == '|'))
		return 1 + read_target(p, true, false, next == '>', s + 1, n - 1);
	return read_target(p, op == '>', false, false, s, n);
}

/* &> FILE and &>> FILE: for sh an & and a redirection, with what follows in a command of its own */
static size_t redirect_both(struct parser *p, const char *s, size_t n)
{
	size_t i = read_redirection(p, '>', s, n), behind = i + parser_blanks(p, s + i, n - i);

	if (!p->o->bash && behind < n && !strchr(";&|)\n#", s[behind]))
		parser_unclear(p, "words behind &>, which sh reads in another way");
	return i;
}

/* !(a|b) as the end of a word, where extglob is on: ( at s[0], all but a and b is as good as all */
static size_t extended_glob(struct parser *p, const char *s, size_t n, char before)
{
	struct shell_word *w = p->nwords ? &p->word[p->nwords - 1] : NULL;
	size_t len = w ? strlen(w->text) : 0, used = 0;
	int depth = 0;

	if (before != '!' || !len || w->text[len - 1] != '!' || w->quoted)
		return 0;
	do {
		depth += s[used] == '(';
		depth -= s[used] == ')';
		used++;
	} while (depth && used < n);
	if (used < n && !strchr(" \t\n;&|)", s[used]))
		return 0;
	w->text = arena_printf(&p->out->mem, "%.*s*", (int)len - 1, w->text);
	w->glob = true;
	return used;
}

/* ( at s[0]: a function, an array, arithmetic or a subshell */
static size_t read_parenthesis(struct parser *p, const char *s, size_t n, char before)
{
	size_t used = 0;

	if (function_head(p, s, n, &used))
		return used;
	if (before == '=' && p->nwords && p->word[p->nwords - 1].assigns) {
		const char *eq = strchr(p->word[p->nwords - 1].text, '=');

		if (eq && !eq[1]) {
			p->word[p->nwords - 1].dynamic = true;
			return 1 + array(p, s + 1, n - 1);
		}
	}
	if (!at_start(p))
		parser_unclear(p, "a ( inside of a command");
	if (!at_start(p) && (used = extended_glob(p, s, n, before)))
		return used;
	if (at_start(p) && n > 1 && s[1] == '(' && (used = expand_arithmetic(p, s + 2, n - 2))) {
		/* For sh a plain ((...)) is two subshells: both are judged.  The << in one is a
		 * here-document for those only. */
		if (!p->o->bash) {
			parser_unclear(p,
				"((...)), which is bash's alone; write [ $((...)) -ne 0 ], or run it by bash -c");
			parse_inside(p, s + 2, used - 2, false);
		}
		p->linear = false;
		return used + 2;
	}
	end_simple_command(p, END_LINE);
	frame_open(p, '(');
	return 1;
}

/* A line's comment, or its end, or ; & | and the like at s[0]; 0: none of them */
static size_t read_operator(struct parser *p, const char *s, size_t n)
{
	char c = s[0], next = n > 1 ? s[1] : '\0';
	size_t used = 1;

	if (c == '#') {
		while (used < n && s[used] != '\n')
			used++;
		return used;
	}
	if (c == '\n') {
		end_simple_command(p, END_LINE);
		return 1 + here_bodies(p, s + 1, n - 1);
	}
	if (c == ';') {
		end_simple_command(p, END_LINE);
		if (top_frame(p) == FRAME_CASE && (next == ';' || next == '&')) {
			p->frame[p->nframes - 1].kind = FRAME_PATTERN;
			p->frame[p->nframes - 1].depth = 0;
			while (used < n && (s[used] == ';' || s[used] == '&'))
				used++;
		}
		return used;
	}
	if (c == '|') {
		end_simple_command(p, next == '|' ? END_OR : END_PIPE);
		return next == '|' || next == '&' ? 2 : 1;
	}
	if (c == '&' && next == '>')
		return 2 + redirect_both(p, s + 2, n - 2);
	if (c == '&') {
		end_simple_command(p, next == '&' ? END_AND : END_BACKGROUND);
		return next == '&' ? 2 : 1;
	}
	if ((c == '<' || c == '>') && next == '(') {
		used = 2 + parse_inside(p, s + 2, n - 2, true);
		word_add(p, "/dev/fd/63", 10, (struct shell_word){.dynamic = true});
		return used;
	}
	if (c == '<' || c == '>')
		return 1 + read_redirection(p, c, s + 1, n - 1);
	return 0;
}

/* 2>file, {fd}>file: the word in front belongs to the redirection */
static bool is_descriptor(const struct reading *w, const char *s, size_t n)
{
	size_t len = w->text.len;

	if (!n || (*s != '>' && *s != '<') || w->quoted || w->dynamic || !len)
		return false;
	if (strspn(w->text.s, "0123456789") == len)
		return true;
	if (w->text.s[0] != '{' || w->text.s[len - 1] != '}' || len < 3)
		return false;
	for (size_t i = 1; i + 1 < len; i++)
		if (!name_char(w->text.s[i]))
			return false;
	return true;
}

/* Is it this word, without quotes, where a command begins? */
static bool is_bare_word(const struct parser *p, const struct reading *w, const char *text)
{
	return !w->quoted && !w->dynamic && !strcmp(w->text.s, text) && at_start(p);
}

/* -p or -- behind time */
static bool time_option(const struct parser *p, const struct reading *w)
{
	return p->nwords && (is_bare_word(p, w, "-p") || is_bare_word(p, w, "--")) &&
		!strcmp(p->word[p->nwords - 1].text, "time");
}

static size_t read_word(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i;

	w.operand = !at_start(p);
	i = word_read(p, s, n, &w);
	i += !i; /* whatever it is */
	if (p->nhere && memchr(s, '\n', i))
		parser_unclear(p, "a line break inside of a word, behind a here-document");
	if (is_descriptor(&w, s + i, n - i) || time_option(p, &w)) {
		;
	} else if (is_bare_word(p, &w, "}")) {
		end_simple_command(p, END_LINE);
		if (!frame_close(p, '{'))
			parser_unclear(p, "a } without its {");
	} else if (is_bare_word(p, &w, "case")) {
		i += case_head(p, s + i, n - i);
	} else if (is_bare_word(p, &w, "esac")) {
		end_simple_command(p, END_LINE);
		if (!frame_close(p, FRAME_CASE))
			parser_unclear(p, "an esac without its case");
	} else if (is_bare_word(p, &w, "function")) {
		i += function_word(p, s + i, n - i);
	} else if (is_bare_word(p, &w, "for") || is_bare_word(p, &w, "select")) {
		i += for_head(p, s + i, n - i);
	} else if (is_bare_word(p, &w, "[[")) {
		i += condition(p, s + i, n - i);
	} else if (w.started) {
		if (is_bare_word(p, &w, "{"))
			frame_open(p, '{');
		else if (p->function)
			p->body = false;
		word_take(p, &w);
	}
	str_release(&w.text);
	return i;
}

/* Is an operator broken over two lines?  `used` bytes of blanks begin at i. */
static bool broken_operator(const char *s, size_t n, size_t i, size_t used)
{
	static const char set[] = "<>&|;()-";

	return i && s[i] == '\\' && strchr(set, s[i - 1]) && i + used < n &&
		strchr(set, s[i + used]) && used == strspn(s + i, "\\\n");
}

/* Reads up to the end, or to the ) that ends a substitution. */
static size_t parse_script(struct parser *p, const char *s, size_t n)
{
	bool ended = false;
	size_t i = 0;

	while (i < n && !ended && !p->out->problem) {
		char c = s[i];
		size_t used = parser_blanks(p, s + i, n - i);

		if (used && broken_operator(s, n, i, used))
			parser_unclear(p, "a line broken inside an operator");
		if (!used && top_frame(p) == FRAME_PATTERN && c != '#' && c != '\n')
			used = case_pattern(p, s + i, n - i);
		if (used) {
			i += used;
		} else if (c == ')') {
			end_simple_command(p, END_LINE);
			i++;
			if (frame_close(p, '('))
				continue;
			ended = p->nested;
			if (!ended)
				parser_unclear(p, "a ) without its (");
		} else if (c == '(') {
			i += read_parenthesis(p, s + i, n - i, i ? s[i - 1] : '\0');
		} else {
			used = read_operator(p, s + i, n - i);
			i += used ? used : read_word(p, s + i, n - i);
		}
	}
	end_simple_command(p, END_LINE);
	if (p->nframes || (p->nested && !ended))
		parser_unclear(p, "a compound command that never ends");
	if (p->nhere)
		parser_unclear(p, "a here-document that never begins");
	return i;
}

static void free_parser(struct parser *p)
{
	free(p->variable);
	free(p->writes);
	free(p->word);
	free(p);
}

static size_t parse_commands(struct parser *p, const char *s, size_t n, bool nested)
{
	struct parser *inner;
	size_t used;

	if (!parser_deeper(p))
		return n;
	/* Its own words, a copy of the variables, the same output. */
	inner = xmalloc(sizeof *inner);
	*inner = *p;
	inner->word = inner->writes = NULL;
	inner->words_room = inner->writes_room = 0;
	inner->variables_room = p->nvariables;
	inner->variable = xcalloc(p->nvariables, sizeof *inner->variable);
	if (p->nvariables)
		memcpy(inner->variable, p->variable, p->nvariables * sizeof *inner->variable);
	inner->nwords = inner->nwrites = inner->nhere = inner->nframes = 0;
	inner->nested = nested;
	inner->body = inner->linear = inner->redirected = false;
	inner->input = inner->behind_cwd = inner->listing = NULL;
	used = parse_script(inner, s, n);
	p->cap = inner->cap;
	p->depth--;
	free_parser(inner);
	return used;
}

void shell_parse(const char *text, const struct shell_options *o, struct shell_script *ret)
{
	struct shell_options own = *o;
	struct parser *p;
	size_t n = strlen(text);

	memset(ret, 0, sizeof *ret);
	arena_init(&ret->mem, 4096);
	if (n > SCRIPT_MAX) {
		ret->problem = "it is longer than 256 KiB";
		return;
	}
	own.home = o->home ? o->home : "/root";
	p = xcalloc(1, sizeof *p);
	p->parse = parse_commands;
	p->out = ret;
	p->o = &own;
	p->text = text;
	p->cwd = o->cwd;
	p->errexit = o->errexit;
	p->linear = true;
	parse_script(p, text, n);
	if (ret->evaluates && ret->hidden)
		parser_unclear(p,
			"a $( or ` in quotes, in a script that evaluates text again (arithmetic, "
			"subscripts, [[ -v ]], ...)");
	free_parser(p);
}

void shell_release(struct shell_script *s)
{
	cleanup_free(&s->command);
	arena_release(&s->mem);
	memset(s, 0, sizeof *s);
}
