/* compound.c - parses the heads of compound commands (for, case, if, ...). */
#include "policy/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

#include "policy/harm.h"

/* The next { or ( opens the body of the function. */
static void begin_function(struct parser *p, const char *name)
{
	if (!p->body)
		p->outer = p->function;
	p->function = name;
	p->body = true;
	p->linear = false;
}

/* name() { or function name {: the words so far name a function; its body is read in place. */
bool function_head(struct parser *p, const char *s, size_t n, size_t *used)
{
	struct shell_word *name = p->nwords ? &p->word[p->nwords - 1] : NULL;
	size_t i;

	if (!name || name->dynamic || keyword(name) || name->assigns || !n || s[0] != '(')
		return false;
	for (size_t k = 0; k + 1 < p->nwords; k++)
		if (!keyword(&p->word[k]))
			return false;
	i = 1 + parser_blanks(p, s + 1, n - 1);
	if (i >= n || s[i] != ')')
		return false;
	begin_function(p, name->text);
	p->nwords = 0;
	*used = i + 1;
	return true;
}

/* function name {, perhaps with () behind the name */
size_t function_word(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i = parser_blanks(p, s, n), used;

	i += word_read(p, s + i, n - i, &w);
	begin_function(p, arena_strndup(&p->out->mem, w.text.s, w.text.len));
	str_release(&w.text);
	p->nwords = 0;
	used = i + parser_blanks(p, s + i, n - i);
	if (used >= n || s[used] != '(')
		return i;
	used++;
	used += parser_blanks(p, s + used, n - used);
	return used < n && s[used] == ')' ? used + 1 : i;
}

/* Is the word `in` at s? */
static bool word_in(const char *s, size_t n)
{
	return n >= 2 && !memcmp(s, "in", 2) && (n == 2 || space(s[2]) || strchr("\n\\(;", s[2]));
}

/* case WORD in: patterns follow. */
size_t case_head(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i = parser_blanks(p, s, n), used;

	i += word_read(p, s + i, n - i, &w);
	str_release(&w.text);
	used = i + parser_lines(p, s + i, n - i);
	if (!word_in(s + used, n - used)) {
		parser_unclear(p, "a case without its in");
		return i;
	}
	p->nwords = 0;
	variable_end_loops(p);
	frame_open(p, FRAME_PATTERN);
	return used + 2;
}

/* What stands in a pattern of a case, up to its ): nothing of it is a command.  0: it ends the
 * pattern in another way. */
size_t case_pattern(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	struct frame *top = &p->frame[p->nframes - 1];
	size_t used = 1;

	if (*s == ')' && !top->depth) {
		top->kind = FRAME_CASE;
		p->nwords = 0;
	} else if (*s == '(' || *s == ')') {
		/* the first ( belongs to the case, others to a pattern such as @(a|b) */
		if (*s == ')') {
			top->depth--;
		} else if (p->nwords) {
			parser_unclear(p, "a pattern with parentheses in it");
			top->depth++;
		}
	} else if (*s == '|') {
		;
	} else if (strchr(";&<>", *s)) {
		parser_unclear(p, "a pattern of a case with an operator in it");
		top->kind = FRAME_CASE;
		used = 0;
	} else {
		used = word_read(p, s, n, &w);
		if (!p->nwords && !w.quoted && !strcmp(w.text.s, "esac"))
			frame_close(p, FRAME_PATTERN);
		else
			word_add(p, w.text.s, w.text.len, (struct shell_word){.quoted = true});
		str_release(&w.text);
	}
	return used;
}

/* Does its last part match everything? */
static bool is_bare_path(const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	return listing_is_bare(path + n);
}

/* for NAME in WORDS, for NAME, for ((...)), select: the words are no command, and what follows the
 * name alone begins one. */
size_t for_head(struct parser *p, const char *s, size_t n)
{
	struct reading w = READING_INIT;
	size_t i = parser_blanks(p, s, n), used;
	const char *name = NULL, *each = NULL;

	p->linear = false;
	p->nwords = 0;
	if (i + 1 < n && s[i] == '(' && s[i + 1] == '(' &&
		(used = expand_arithmetic(p, s + i + 2, n - i - 2)))
		return i + 2 + used;
	i += word_read(p, s + i, n - i, &w);
	if (w.dynamic || w.quoted || !w.text.len)
		parser_unclear(p, "a for without a plain name");
	else
		name = arena_strndup(&p->out->mem, w.text.s, w.text.len);
	str_release(&w.text);
	if (name)
		variable_set(p, name, strlen(name), NULL, false);
	used = i + parser_lines(p, s + i, n - i);
	if (!word_in(s + used, n - used))
		return used;
	for (used += 2; used < n && !p->out->problem;) {
		struct reading value = READING_INIT;
		size_t step;

		value.operand = true;

		used += parser_blanks(p, s + used, n - used);
		step = word_read(p, s + used, n - used, &value);
		if (value.glob && is_bare_path(value.text.s))
			each = arena_strndup(&p->out->mem, value.text.s, value.text.len);
		str_release(&value.text);
		if (step) {
			used += step;
			continue;
		}
		if (used + 1 < n && strchr("<>", s[used]) && s[used + 1] == '(') {
			used += 2 + parse_inside(p, s + used + 2, n - used - 2, true);
			continue;
		}
		if (used < n && s[used] != ';' && s[used] != '\n')
			parser_unclear(p, "a for with an operator among its words");
		break;
	}
	if (name && each)
		variable_loop(p, name, strlen(name), each);
	return used;
}

/* [[ ... ]]: operators of its own, words, nothing that runs but substitutions. */
size_t condition(struct parser *p, const char *s, size_t n)
{
	static const char *const evaluating[] = {
		"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", NULL};
	bool ended = false, foreign = false;
	size_t i = 0;

	p->linear = false;
	while (i < n && !ended && !p->out->problem) {
		struct reading w = READING_INIT;
		size_t used;

		i += parser_lines(p, s + i, n - i);
		if (i + 1 < n && strchr("<>", s[i]) && s[i + 1] == '(') {
			i += 2 + parse_inside(p, s + i + 2, n - i - 2, true);
			continue;
		}
		used = word_read(p, s + i, n - i, &w);
		ended = !w.quoted && !w.dynamic && !strcmp(w.text.s, "]]");
		for (const char *const *at = evaluating; *at; at++)
			p->out->evaluates |= !strcmp(w.text.s, *at);
		str_release(&w.text);
		if (!used && i < n && (s[i] == ';' || s[i] == '\n'))
			break;
		foreign |= !used;
		i += used ? used : 1;
	}
	p->nwords = 0;
	if (!ended)
		parser_unclear(p, "a [[ without its ]]");
	if (foreign && !p->o->bash)
		parser_unclear(p,
			"a [[ ]] with operators in it, which are bash's alone; run it by bash -c");
	return i;
}

/* NAME=( behind its parenthesis: words, up to the ). */
size_t array(struct parser *p, const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && !p->out->problem) {
		struct reading w = READING_INIT;
		size_t used;

		i += parser_lines(p, s + i, n - i);
		if (i < n && s[i] == ')')
			return i + 1;
		if (i + 1 < n && strchr("<>", s[i]) && s[i + 1] == '(') {
			i += 2 + parse_inside(p, s + i + 2, n - i - 2, true);
			continue;
		}
		/* [subscript]=word */
		p->out->evaluates |= i < n && s[i] == '[';
		used = word_read(p, s + i, n - i, &w);
		str_release(&w.text);
		if (!used)
			break;
		i += used;
	}
	parser_unclear(p, "an array with operators among its words");
	return i;
}
