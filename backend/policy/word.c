/* word.c - parses words: quotes, escapes, brace lists, word splitting. */
#include "policy/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/str.h>

void word_add(struct parser *p, const char *text, size_t n, struct shell_word like)
{
	if (p->nwords == WORDS_MAX) {
		parser_fail(p, "one of its commands has too many words");
		return;
	}
	like.text = arena_strndup(&p->out->mem, text, n);
	p->word = mem_grow(p->word, &p->words_room, p->nwords + 1, sizeof *p->word);
	p->word[p->nwords++] = like;
}

/* {a,b} outside quotes becomes one word for each; nested lists stay as they are. */
static void add_braced(struct parser *p, const char *text, struct shell_word like)
{
	const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
	const char *comma = open ? strchr(open, ',') : NULL;
	bool list = close && comma && comma < close;

	if (like.quoted || like.dynamic || !list || strchr(open + 1, '{')) {
		/* A list among quotes, one in another, a range: what comes of it is not known. */
		if (open && strchr(open, '}') && (comma || strstr(open, "..")) && !like.assigns &&
			!(like.quoted && !list))
			like.dynamic = like.loose = true;
		word_add(p, text, strlen(text), like);
		return;
	}
	for (const char *at = open + 1; at <= close;) {
		size_t n = strcspn(at, ",}");
		AUTO_STR struct str one = STR_INIT;

		str_add(&one, text, (size_t)(open - text));
		str_add(&one, at, n);
		str_adds(&one, close + 1);
		if (one.len)
			word_add(p, one.s, one.len, like);
		at += n + 1;
	}
}

/* Is what was read so far the name of a variable?  `plus`: as in NAME+= */
static bool plain_name(const struct reading *w, bool plus)
{
	size_t i = 0;

	if (w->quoted || w->dynamic || isdigit((unsigned char)w->text.s[0]))
		return false;
	while (name_char(w->text.s[i]))
		i++;
	return i && i + (plus && w->text.s[i] == '+') == w->text.len;
}

/* NAME[...]= at the [: the subscript up to its ] is expanded; 0: it is none. */
static size_t read_subscript(struct parser *p, const char *s, size_t n, struct reading *w)
{
	size_t i = 1, line = 1;
	bool plain = true;

	while (line < n && s[line] != '\n')
		line++;
	for (int depth = 1; i < line; i++) {
		depth += s[i] == '[';
		depth -= s[i] == ']';
		if (!depth)
			break;
		plain &= !strchr(" \t;&|<>'\"\\", s[i]);
	}
	if (i + 1 >= line || !plain ||
		!(s[i + 1] == '=' || (s[i + 1] == '+' && i + 2 < line && s[i + 2] == '='))) {
		/* As a word among others it ends at the blank, here perhaps not. */
		if (at_start(p))
			parser_unclear(p, "a subscript with blanks, quotes or operators in it");
		return 0;
	}
	str_addc(&w->text, '[');
	p->out->evaluates |= strspn(s + 1, "0123456789") < i - 1;
	expand_quoted(p, s + 1, i - 1, 0, w);
	w->assigns = true;
	str_addc(&w->text, ']');
	return i + 1;
}

/* '...' at s[0] */
static size_t read_literal(struct parser *p, const char *s, size_t n, struct reading *w)
{
	const char *end = memchr(s + 1, '\'', n - 1);
	size_t len = end ? (size_t)(end - (s + 1)) : n - 1;

	if (!end)
		parser_unclear(p, "a quote that never ends");
	w->quoted = true;
	str_add(&w->text, s + 1, len);
	if (memchr(s + 1, '`', len) || memmem(s + 1, len, "$(", 2) || memmem(s + 1, len, "${", 2))
		p->out->hidden = true;
	return end ? len + 2 : n;
}

/* \X at s[0] */
static size_t read_escape(struct parser *p, const char *s, size_t n, struct reading *w)
{
	if (n > 1 && s[1] == '\n')
		return 2;
	w->quoted = true;
	if (n > 1) {
		str_addc(&w->text, s[1]);
		p->out->hidden |= s[1] == '`' || (s[1] == '$' && n > 2 && strchr("({\\", s[2]));
	}
	return n > 1 ? 2 : 1;
}

size_t word_read(struct parser *p, const char *s, size_t n, struct reading *w)
{
	size_t i = 0, used;

	while (i < n) {
		char c = s[i];

		if (space(c) || strchr("\n;&|<>()", c))
			break;
		w->started = true;
		if (c == '\\') {
			i += read_escape(p, s + i, n - i, w);
		} else if (c == '\'') {
			i += read_literal(p, s + i, n - i, w);
		} else if (c == '"') {
			w->quoted = true;
			i++;
			i += expand_quoted(p, s + i, n - i, '"', w);
		} else if (c == '`') {
			i += expand_backtick(p, s + i, n - i, w, false);
		} else if (c == '$') {
			i += expand_dollar(p, s + i, n - i, w, false);
		} else if (c == '~' && !w->text.len && !w->quoted &&
			(i + 1 >= n || strchr("/ \t\n;&|)", s[i + 1]))) {
			str_adds(&w->text, p->o->home);
			i++;
		} else if (c == '[' && plain_name(w, false) &&
			(used = read_subscript(p, s + i, n - i, w))) {
			i += used;
		} else {
			if (c == '\r')
				parser_unclear(p, "a carriage return");
			w->assigns |= c == '=' && plain_name(w, true);
			w->glob |= c == '*' || c == '?' || c == '[';
			str_addc(&w->text, c);
			i++;
		}
	}
	return i > n ? n : i;
}

void word_take(struct parser *p, const struct reading *w)
{
	struct shell_word like = {
		NULL, w->dynamic, w->quoted, w->glob, w->loose, w->assigns, false};

	/* X=; $X rm: what expands to nothing is no word */
	if (!w->quoted && !w->dynamic && !w->text.len)
		return;
	if (!w->split || w->assigns) {
		add_braced(p, w->text.s, like);
		return;
	}
	/* An unquoted value with blanks in it is several words: rm$IFS-rf$IFS/ */
	for (const char *at = w->text.s; *at;) {
		size_t n = strcspn(at, " \t\n");

		if (n)
			word_add(p, at, n, like);
		at += n + (at[n] != '\0');
	}
}
