/* palette.c - finds an action by a few of its letters. */
#include "palette.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <berth/mem.h>
#include <berth/text.h>

/* Letters in order; a run, a word's start and the name's start count more, a long name less. */
int palette_score(const char *typed, const char *name)
{
	int score = 0, run = 0;
	const char *at = name;

	for (; *typed; typed++) {
		const char *from = at;

		if (*typed == ' ' && !strchr(at, ' '))
			continue;
		while (*at && tolower((unsigned char)*at) != tolower((unsigned char)*typed))
			at++;
		if (!*at)
			return -1;
		run = at == from && at > name ? run + 1 : 0;
		score += 10 + 6 * run;
		if (at == name)
			score += 20;
		else if (at[-1] == '-' || at[-1] == ' ')
			score += 12;
		at++;
	}
	score = score * 4 - (int)strlen(name);
	return score < 0 ? 0 : score;
}

void palette_open(struct palette *p, struct history *history)
{
	palette_close(p);
	p->open = true;
	prompt_open(&p->line, "", history);
}

void palette_add(struct palette *p, struct palette_item item)
{
	p->items = mem_grow(p->items, &p->items_cap, p->nitems + 1, sizeof *p->items);
	p->items[p->nitems++] = item;
}

void palette_close(struct palette *p)
{
	free(p->items);
	free(p->shown);
	*p = (struct palette){0};
}

static int by_score(const void *pa, const void *pb, void *ctx)
{
	const struct palette *p = ctx;
	size_t a = *(const size_t *)pa, b = *(const size_t *)pb;

	if (p->items[a].score != p->items[b].score)
		return p->items[b].score - p->items[a].score;
	return (a > b) - (a < b);
}

static const char *typed_text(const struct palette *p)
{
	return p->line.text + strspn(p->line.text, ": ");
}

/* Is what was typed, up to a blank, one of these words? */
static bool is_other_word(const char *typed, const char *words)
{
	size_t n = strcspn(typed, " ");

	for (const char *at = words; n && at && *at; at += strcspn(at, " "), at += strspn(at, " "))
		if (strcspn(at, " ") == n && !strncmp(at, typed, n))
			return true;
	return false;
}

const char *palette_words(const struct palette *p, const struct palette_item *it)
{
	const char *typed = typed_text(p);
	size_t n = is_other_word(typed, it->also) ? strcspn(typed, " ") : strlen(it->name);

	if (!it->takes_words ||
		(strncmp(typed, it->name, n) != 0 && !is_other_word(typed, it->also)) ||
		typed[n] != ' ')
		return "";
	return typed + n + strspn(typed + n, " ");
}

/* A word of another program's is meant as a whole, and nothing behind it. */
static bool is_meant(const struct palette *p, const struct palette_item *it)
{
	const char *typed = typed_text(p);

	return palette_words(p, it)[0] || (!strchr(typed, ' ') && is_other_word(typed, it->also));
}

static void match_items(struct palette *p)
{
	const char *typed = typed_text(p);

	p->nshown = p->at = p->top = 0;
	for (size_t i = 0; i < p->nitems; i++) {
		p->items[i].score = is_meant(p, &p->items[i])
			? INT_MAX
			: palette_score(typed, p->items[i].name);
		/* The words of the help find it too, behind all names. */
		if (p->items[i].score < 0 && strlen(typed) >= 3 &&
			strcasestr(p->items[i].help, typed))
			p->items[i].score = 0;
		if (p->items[i].score >= 0)
			p->shown[p->nshown++] = i;
	}
	if (typed[0])
		qsort_r(p->shown, p->nshown, sizeof *p->shown, by_score, p);
}

bool palette_takes_words(const struct palette *p)
{
	return p->nshown && palette_words(p, &p->items[p->shown[p->at]])[0];
}

void palette_edited(struct palette *p)
{
	match_items(p);
}

void palette_ready(struct palette *p)
{
	p->shown = xcalloc(p->nitems + 1, sizeof *p->shown);
	match_items(p);
}

enum prompt_end palette_key(struct palette *p, struct key k, const struct palette_item **ret)
{
	enum prompt_end end;

	*ret = NULL;
	if (k.mods == 0 && k.code == NAMED_UP) {
		p->at -= p->at > 0;
		return PROMPT_STAYS;
	}
	if (k.mods == 0 && (k.code == NAMED_DOWN || k.code == NAMED_TAB)) {
		p->at += p->at + 1 < p->nshown;
		return PROMPT_STAYS;
	}
	if (k.mods == 0 && k.code == NAMED_BACKSPACE && p->line.len == 0)
		return PROMPT_CANCELLED;
	end = prompt_key(&p->line, k);
	if (end == PROMPT_EDITED)
		match_items(p);
	if (end == PROMPT_DONE && p->nshown)
		*ret = &p->items[p->shown[p->at]];
	return end;
}

void palette_paste(struct palette *p, const char *text, size_t n)
{
	prompt_paste(&p->line, text, n);
	match_items(p);
}

const struct palette_item *palette_click(struct palette *p, int x, int y)
{
	size_t i = p->top + (size_t)(y - p->list.y);

	if (x < p->list.x || x >= p->list.x + p->list.w || y < p->list.y ||
		y >= p->list.y + p->list.h || i >= p->nshown)
		return NULL;
	return &p->items[p->shown[i]];
}

static void draw_item(const struct palette *p, struct canvas *c, size_t i, struct area row)
{
	const struct palette_item *it = &p->items[p->shown[i]];
	struct style name = it->greyed ? STYLE(DIALOG)
				       : (struct style){.role = ROLE_DIALOG, .attrs = ATTR_BOLD};
	struct style plain = STYLE(DIALOG);
	int names = row.w < 60 ? row.w - 12 : 22;

	if (i == p->at) {
		name = plain = STYLE(BUTTON_FOCUS);
		canvas_fill(c, row, plain, ' ');
		canvas_glyph(c, row.x, row.y, plain, GLYPH_RIGHT);
	}
	canvas_clip(c, row.x + 2, row.y, names, name, it->name);
	canvas_right(c, row.x + 2 + names, row.y, 8, plain, it->key);
	if (row.w >= 60)
		canvas_clip(c, row.x + names + 13, row.y, row.w - names - 14, plain,
			it->greyed ? "not while read-only" : it->help);
}

void palette_draw(struct palette *p, struct canvas *c)
{
	int w = c->columns > 90 ? 86 : c->columns - 4, h = c->rows > 28 ? 18 : c->rows - 6;
	struct area box;

	w = w < 20 ? c->columns : w;
	h = h < 3 ? 3 : h;
	box = (struct area){(c->columns - w) / 2, 2, w, h};
	canvas_frame(c, box, STYLE(DIALOG));
	p->list = (struct area){box.x + 1, box.y + 2, w - 2, h - 3};
	p->page = p->list.h > 0 ? p->list.h : 1;
	if (p->at < p->top)
		p->top = p->at;
	if (p->at >= p->top + (size_t)p->page)
		p->top = p->at - (size_t)p->page + 1;
	for (int i = 0; i < p->list.h && p->top + (size_t)i < p->nshown; i++)
		draw_item(p, c, p->top + (size_t)i,
			(struct area){p->list.x, p->list.y + i, p->list.w, 1});
	if (p->nshown == 0)
		canvas_clip(c, p->list.x + 2, p->list.y, p->list.w - 2, STYLE(DIALOG),
			"no matching action");
	if (p->note && *p->note && p->nshown == 1 && p->list.h > 1)
		canvas_wrap(c,
			(struct area){p->list.x + 2, p->list.y + 1, p->list.w - 3, p->list.h - 1},
			STYLE(DIALOG), p->note);
	prompt_draw(&p->line, c, box.x + 2, box.y + 1, w - 4, ": ");
	canvas_under(c, (struct area){box.x + 2, box.y + 1, w - 4, 1}, ROLE_DIALOG);
}
