/* dialog.c - draws the confirmation dialog and handles its keys. */
#include "dialog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

void dialog_open(struct dialog *d, const struct dialog_ask *ask, int64_t now_ns)
{
	dialog_close(d);
	*d = (struct dialog){.open = true,
		.title = xstrdup(ask->title),
		.where = xstrdup(ask->where ? ask->where : ""),
		.effect = xstrdup(ask->effect ? ask->effect : ""),
		.verb = xstrdup(ask->verb),
		.word = xstrdup(ask->word),
		.nitems = ask->nitems,
		.danger = ask->danger,
		.opened_ns = now_ns};
	d->items = xcalloc(ask->nitems + 1, sizeof *d->items);
	for (size_t i = 0; i < ask->nitems; i++)
		d->items[i] = xstrdup(ask->items[i]);
	prompt_open(&d->typed, "", NULL);
}

void dialog_close(struct dialog *d)
{
	for (size_t i = 0; i < d->nitems; i++)
		free(d->items[i]);
	free(d->items);
	free(d->title);
	free(d->where);
	free(d->effect);
	free(d->verb);
	free(d->word);
	*d = (struct dialog){0};
}

static void scroll_dialog(struct dialog *d, long by)
{
	long most = (long)d->nitems - d->page, at = (long)d->top + by;

	at = at > most ? most : at;
	d->top = at < 0 ? 0 : (size_t)at;
}

static bool scroll_key(struct dialog *d, struct key k)
{
	switch (k.code) {
	case NAMED_UP: scroll_dialog(d, -1); return true;
	case NAMED_DOWN: scroll_dialog(d, 1); return true;
	case NAMED_PAGE_UP: scroll_dialog(d, -d->page); return true;
	case NAMED_PAGE_DOWN: scroll_dialog(d, d->page); return true;
	default: return false;
	}
}

static enum dialog_end typed_key(struct dialog *d, struct key k)
{
	d->said = NULL;
	if (k.code == NAMED_ENTER) {
		if (strcmp(d->typed.text, d->word) == 0)
			return DIALOG_CONFIRMED;
		if (d->typed.len == 0)
			return DIALOG_CANCELLED; /* the focus is on Cancel */
		d->said = "does not match";
		return DIALOG_STAYS;
	}
	return prompt_key(&d->typed, k) == PROMPT_CANCELLED ? DIALOG_CANCELLED : DIALOG_STAYS;
}

enum dialog_end dialog_key(struct dialog *d, struct key k, int64_t now_ns)
{
	bool leave = k.code == NAMED_ESC || (k.code == 'c' && k.mods == MOD_CTRL);

	if (leave)
		return DIALOG_CANCELLED;
	if (now_ns - d->opened_ns < DIALOG_BLIND_NS || scroll_key(d, k))
		return DIALOG_STAYS;
	if (d->word)
		return typed_key(d, k);
	switch (k.mods ? 0 : k.code) {
	case 'y':
	case 'Y': return d->danger ? DIALOG_STAYS : DIALOG_CONFIRMED;
	case 'n':
	case 'N':
	case 'q': return DIALOG_CANCELLED;
	case NAMED_TAB:
	case NAMED_LEFT:
	case NAMED_RIGHT: d->on_verb = !d->on_verb; return DIALOG_STAYS;
	case NAMED_ENTER:
		if (!d->on_verb)
			return DIALOG_CANCELLED;
		return d->danger ? DIALOG_STAYS : DIALOG_CONFIRMED;
	default: return DIALOG_STAYS;
	}
}

static bool is_inside(struct area a, int x, int y)
{
	return x >= a.x && x < a.x + a.w && y >= a.y && y < a.y + a.h;
}

enum dialog_end dialog_click(struct dialog *d, int x, int y, int64_t now_ns)
{
	if (now_ns - d->opened_ns < DIALOG_BLIND_NS)
		return DIALOG_STAYS;
	if (is_inside(d->cancel_box, x, y))
		return DIALOG_CANCELLED;
	if (!d->word && !d->danger && is_inside(d->verb_box, x, y))
		return DIALOG_CONFIRMED;
	return DIALOG_STAYS;
}

static int widest_line(const char *text, int least)
{
	for (;;) {
		const char *end = strchrnul(text, '\n');
		int w = text_width(text, (size_t)(end - text));

		least = w > least ? w : least;
		if (!*end)
			return least;
		text = end + 1;
	}
}

static struct area box_of(const struct dialog *d, const struct canvas *c, int *items)
{
	int w = widest_line(d->effect, widest_line(d->where, widest_line(d->title, 36))), h;

	for (size_t i = 0; i < d->nitems && i < 200; i++)
		w = widest_line(d->items[i], w);
	w += 6;
	w = w > 90 ? 90 : w;
	w = w > c->columns ? c->columns : w;
	/* edge, title, where, blank, [items, blank], effect, blank, [what to type], answer, edge */
	h = 7 + canvas_wrap(NULL, (struct area){.w = w - 6}, STYLE(DIALOG), d->effect) +
		(d->word != NULL);
	*items = d->nitems > 12 ? 12 : (int)d->nitems;
	if (h + *items + 1 > c->rows)
		*items = c->rows - h - 1;
	*items = *items < 1 && d->nitems ? 1 : *items;
	h += *items + (*items > 0);
	h = h > c->rows ? c->rows : h;
	return (struct area){(c->columns - w) / 2, (c->rows - h) / 2, w, h};
}

static void draw_items(struct dialog *d, struct canvas *c, struct area a)
{
	d->page = a.h;
	scroll_dialog(d, 0);
	for (int i = 0; i < a.h && d->top + (size_t)i < d->nitems; i++)
		canvas_clip(c, a.x, a.y + i, a.w,
			(struct style){.role = ROLE_DIALOG, .attrs = ATTR_BOLD},
			d->items[d->top + (size_t)i]);
	if (d->top)
		canvas_glyph(c, a.x - 2, a.y, STYLE(DIALOG), GLYPH_UP);
	if (d->top + (size_t)a.h < d->nitems) {
		char more[48];

		snprintf(more, sizeof more, " %zu more below ", d->nitems - d->top - (size_t)a.h);
		canvas_glyph(c, a.x - 2, a.y + a.h - 1, STYLE(DIALOG), GLYPH_DOWN);
		canvas_right(c, a.x, a.y + a.h - 1, a.w, STYLE(DIALOG), more);
	}
}

static int draw_button(
	struct canvas *c, int x, int y, bool focus, const char *text, struct area *box)
{
	struct style st = focus ? STYLE(BUTTON_FOCUS) : STYLE(BUTTON);
	int w = canvas_printf(c, x, y, -1, st, focus ? "[ %s ]" : "  %s  ", text);

	*box = (struct area){x, y, w, 1};
	return w;
}

/* What to type or press, at the bottom; returns the lines taken. */
static int draw_ending(struct dialog *d, struct canvas *c, struct area in)
{
	int x = in.x, y = in.y + in.h - 1, w = in.w - 12;
	char label[160];

	d->verb_box = (struct area){0};
	if (d->word) {
		snprintf(label, sizeof label,
			d->said ? "%s: type %s and Enter" : "%sType %s and Enter",
			d->said ? d->said : "", d->word);
		canvas_clip(c, x, y - 1, in.w, d->said ? STYLE(DANGER) : STYLE(DIALOG), label);
		prompt_draw(&d->typed, c, x, y, w, "> ");
		canvas_under(c, (struct area){x, y, w, 1}, ROLE_DIALOG);
		draw_button(c, in.x + in.w - 10, y, d->typed.len == 0, "Cancel", &d->cancel_box);
		return 2;
	}
	x += draw_button(c, x, y, !d->on_verb, "Cancel", &d->cancel_box) + 2;
	x += draw_button(c, x, y, d->on_verb, d->verb, &d->verb_box) + 2;
	canvas_clip(c, x, y, in.x + in.w - x, STYLE(DIALOG), "y confirms");
	return 1;
}

void dialog_draw(struct dialog *d, struct canvas *c)
{
	int items, y, last, lines;
	struct area box = box_of(d, c, &items);
	struct area in = {box.x + 3, box.y + 1, box.w - 6, box.h - 2};

	canvas_frame(c, box, STYLE(DIALOG));
	lines = canvas_wrap(NULL, in, STYLE(DIALOG), d->effect);
	y = in.y;
	last = in.y + in.h - draw_ending(d, c, in); /* the first line that is not free */
	canvas_clip(c, in.x, y++, in.w,
		d->danger ? STYLE(DANGER) : (struct style){.role = ROLE_DIALOG, .attrs = ATTR_BOLD},
		d->title);
	if (y < last)
		canvas_clip(c, in.x, y++, in.w, STYLE(DIALOG), d->where);
	/* Blank lines only where there is room for them. */
	y += y + items + lines < last;
	if (items > 0 && y + items <= last) {
		draw_items(d, c, (struct area){in.x + 1, y, in.w - 1, items});
		y += items;
	}
	y += y + lines < last;
	canvas_wrap(c, (struct area){in.x, y, in.w, last - y}, STYLE(DIALOG), d->effect);
}
