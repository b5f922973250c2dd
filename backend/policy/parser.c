/* parser.c - provides what all parts of the shell parser use: errors, depth, blanks, keywords, nesting. */
#include "policy/parser.h"

#include <berth/mem.h>

#include "policy/harm.h"

void parser_fail(struct parser *p, const char *why)
{
	if (!p->out->problem)
		p->out->problem = why;
}

void parser_unclear(struct parser *p, const char *construct)
{
	if (!p->out->unclear)
		p->out->unclear = construct;
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

size_t parser_blanks(struct parser *p, const char *s, size_t n)
{
	size_t i = 0;

	(void)p;
	while (i < n && (space(s[i]) || (s[i] == '\\' && i + 1 < n && s[i + 1] == '\n')))
		i += space(s[i]) ? 1 : 2;
	return i;
}

size_t parser_lines(struct parser *p, const char *s, size_t n)
{
	size_t i = parser_blanks(p, s, n);

	while (i < n && (s[i] == '\n' || s[i] == '#')) {
		if (s[i] == '\n' && p->nhere)
			parser_unclear(p, "a here-document inside of a compound command's head");
		while (i < n && s[i] != '\n')
			i++;
		i += i < n;
		i += parser_blanks(p, s + i, n - i);
	}
	return i;
}

bool keyword(const struct shell_word *w)
{
	static const char *const words[] = {"if", "then", "elif", "else", "fi", "do", "done",
		"while", "until", "!", "{", "}", "esac", "time", "coproc"};

	for (size_t i = 0; !w->quoted && i < COUNT(words); i++)
		if (harm_same(w->text, words[i]))
			return true;
	return false;
}

bool at_start(const struct parser *p)
{
	for (size_t i = 0; i < p->nwords; i++)
		if (!keyword(&p->word[i]))
			return false;
	return !p->redirected;
}

void frame_open(struct parser *p, char kind)
{
	p->linear = false;
	if (p->nframes == COUNT(p->frame)) {
		parser_fail(p, "it is nested too deeply");
		return;
	}
	p->frame[p->nframes++] = (struct frame){.kind = kind,
		.function = p->body ? p->outer : p->function,
		.cwd = p->cwd,
		.or_cwd = p->or_cwd};
	p->body = false;
}

bool frame_close(struct parser *p, char kind)
{
	for (size_t i = p->nframes; i--;) {
		const struct frame *f = &p->frame[i];

		if (f->kind != kind)
			continue;
		/* A subshell's cd stays in it, a function's runs when it is called. */
		if (kind == '(' || f->function != p->function) {
			p->cwd = f->cwd;
			p->or_cwd = f->or_cwd;
		}
		p->function = f->function;
		p->nframes = i;
		return true;
	}
	return false;
}
