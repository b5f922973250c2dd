/* prompt.c - edits one line of text. */
#include "prompt.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

void history_add(struct history *h, const char *line)
{
	if (!line[0] || (h->n && strcmp(h->line[h->n - 1], line) == 0))
		return;
	if (h->n == HISTORY_MAX) {
		free(h->line[0]);
		memmove(h->line, h->line + 1, (HISTORY_MAX - 1) * sizeof *h->line);
		h->n--;
	}
	h->line[h->n++] = xstrdup(line);
}

void history_release(struct history *h)
{
	for (size_t i = 0; i < h->n; i++)
		free(h->line[i]);
	*h = (struct history){0};
}

static void set_text(struct prompt *p, const char *text)
{
	size_t n = strlen(text);

	if (n >= PROMPT_MAX)
		n = 0;
	memmove(p->text, text, n);
	p->text[n] = '\0';
	p->len = p->at = n;
}

void prompt_open(struct prompt *p, const char *text, struct history *history)
{
	*p = (struct prompt){.history = history, .recalled = history ? history->n : 0};
	set_text(p, text ? text : "");
}

static size_t char_before(const struct prompt *p, size_t at)
{
	while (at > 0 && ((unsigned char)p->text[--at] & 0xC0) == 0x80)
		;
	return at;
}

static size_t char_after(const struct prompt *p, size_t at)
{
	if (at < p->len)
		at++;
	while (at < p->len && ((unsigned char)p->text[at] & 0xC0) == 0x80)
		at++;
	return at;
}

static enum prompt_end cut_text(struct prompt *p, size_t from, size_t to)
{
	if (from >= to)
		return PROMPT_STAYS;
	memmove(p->text + from, p->text + to, p->len - to + 1);
	p->len -= to - from;
	p->at = from;
	return PROMPT_EDITED;
}

static bool insert_text(struct prompt *p, const char *bytes, size_t n)
{
	if (p->len + n >= PROMPT_MAX)
		return false;
	memmove(p->text + p->at + n, p->text + p->at, p->len - p->at + 1);
	memcpy(p->text + p->at, bytes, n);
	p->len += n;
	p->at += n;
	return true;
}

static enum prompt_end recall_line(struct prompt *p, int by)
{
	if (!p->history || (by < 0 ? p->recalled == 0 : p->recalled >= p->history->n))
		return PROMPT_STAYS;
	if (p->recalled == p->history->n)
		memcpy(p->typed, p->text, p->len + 1);
	p->recalled += (size_t)by;
	set_text(p, p->recalled == p->history->n ? p->typed : p->history->line[p->recalled]);
	return PROMPT_EDITED;
}

static size_t word_start(const struct prompt *p)
{
	size_t at = p->at;

	while (at > 0 && p->text[at - 1] == ' ')
		at--;
	while (at > 0 && p->text[at - 1] != ' ')
		at--;
	return at;
}

void prompt_select(struct prompt *p)
{
	p->selected = p->len > 0;
}

/* The key is for the whole text: its place is taken, or it goes.  true: that was all. */
static bool replace_selected(struct prompt *p, uint32_t cp, struct key k)
{
	bool selected = p->selected,
	     erase = !k.mods && (k.code == NAMED_BACKSPACE || k.code == NAMED_DELETE);

	p->selected = false;
	if (selected && (cp || erase))
		set_text(p, "");
	return selected && erase;
}

enum prompt_end prompt_key(struct prompt *p, struct key k)
{
	uint32_t cp = key_char(k);
	char bytes[4];

	if (replace_selected(p, cp, k))
		return PROMPT_EDITED;
	if (cp)
		return text_cp_width(cp) >= 0 && insert_text(p, bytes, utf8_put(cp, bytes))
			? PROMPT_EDITED
			: PROMPT_STAYS;
	if (k.mods == MOD_CTRL) {
		switch (k.code) {
		case 'a': p->at = 0; return PROMPT_STAYS;
		case 'e': p->at = p->len; return PROMPT_STAYS;
		case 'b': p->at = char_before(p, p->at); return PROMPT_STAYS;
		case 'f': p->at = char_after(p, p->at); return PROMPT_STAYS;
		case 'u': return cut_text(p, 0, p->at);
		case 'k': return cut_text(p, p->at, p->len);
		case 'w': return cut_text(p, word_start(p), p->at);
		case 'd': return cut_text(p, p->at, char_after(p, p->at));
		case 'p': return recall_line(p, -1);
		case 'n': return recall_line(p, 1);
		case 'c':
		case 'g': return PROMPT_CANCELLED;
		default: return PROMPT_STAYS;
		}
	}
	if (k.mods)
		return PROMPT_STAYS;
	switch (k.code) {
	case NAMED_LEFT: p->at = char_before(p, p->at); return PROMPT_STAYS;
	case NAMED_RIGHT: p->at = char_after(p, p->at); return PROMPT_STAYS;
	case NAMED_HOME: p->at = 0; return PROMPT_STAYS;
	case NAMED_END: p->at = p->len; return PROMPT_STAYS;
	case NAMED_BACKSPACE: return cut_text(p, char_before(p, p->at), p->at);
	case NAMED_DELETE: return cut_text(p, p->at, char_after(p, p->at));
	case NAMED_UP: return recall_line(p, -1);
	case NAMED_DOWN: return recall_line(p, 1);
	case NAMED_ENTER:
		if (p->history)
			history_add(p->history, p->text);
		return PROMPT_DONE;
	case NAMED_ESC: return PROMPT_CANCELLED;
	default: return PROMPT_STAYS;
	}
}

void prompt_insert(struct prompt *p, const char *text, size_t n)
{
	p->selected = false;
	insert_text(p, text, n);
}

void prompt_paste(struct prompt *p, const char *text, size_t n)
{
	if (p->selected)
		set_text(p, "");
	p->selected = false;
	for (size_t i = 0; i < n;) {
		char bytes[4];
		uint32_t cp;

		i += utf8_next(text + i, n - i, &cp);
		if (cp < 0x20 || cp == TEXT_BAD || text_cp_width(cp) < 0)
			cp = ' ';
		if (!insert_text(p, bytes, utf8_put(cp, bytes)))
			return;
	}
}

void prompt_draw(const struct prompt *p, struct canvas *c, int x, int y, int w, const char *label)
{
	int used = canvas_clip(c, x, y, w, STYLE(KEY), label);
	size_t from = 0;

	x += used;
	w -= used;
	if (w < 2)
		return;
	while (from < p->at && text_width(p->text + from, p->at - from) > w - 2)
		from = char_after(p, from);
	canvas_fill(c, (struct area){x, y, w, 1}, STYLE(INPUT), ' ');
	canvas_textn(c, x, y, w,
		p->selected ? (struct style){.role = ROLE_INPUT, .attrs = ATTR_REVERSE}
			    : STYLE(INPUT),
		p->text + from, p->len - from);
	c->cursor_x = x + text_width(p->text + from, p->at - from);
	c->cursor_y = y;
}
