/* theme.c - loads themes, and maps colours to what the terminal can show. */
#include "terminal/theme.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

static const char *const role_names[] = {
#define X(id, name) name,
	THEME_ROLES(X)
#undef X
		NULL};

static const char *const attr_names[] = {"bold", "underline", "reverse", "dim", "italic", NULL};

/* A colour of the file's palette. */
struct colour {
	int32_t rgb;
	int16_t of16;
};

static int parse_colour(
	const struct config *c, const struct node *n, struct colour *ret, struct err *e)
{
	char more[16] = "default", end;
	unsigned rgb;
	int of16 = COLOUR_DEFAULT;

	if (n->kind != NODE_SCALAR)
		return node_err(c, n, e, "a colour is written \"#RRGGBB N\"");
	if (sscanf(n->value, "#%6x %15s %c", &rgb, more, &end) > 2 || strlen(n->value) < 7 ||
		strspn(n->value + 1, "0123456789abcdefABCDEF") != 6)
		return node_err(c, n, e,
			"`%s` is not a colour: \"#RRGGBB N\", N from 0 to 15 or `default`",
			n->value);
	if (strcmp(more, "default") != 0 &&
		(sscanf(more, "%2d%c", &of16, &end) != 1 || of16 < 0 || of16 > 15))
		return node_err(
			c, n, e, "`%s` is not one of the 16 colours: 0 to 15, or `default`", more);
	*ret = (struct colour){(int32_t)rgb, (int8_t)of16};
	return 0;
}

static int find_colour(const struct config *c, const struct node *at, const char *word,
	struct colour *ret, struct err *e)
{
	const struct node *palette = node_get(c->root, "colours");
	const struct node *n = palette ? node_get(palette, word) : NULL;
	const char *list[64];
	const char *near;
	size_t count = 0;

	if (strcmp(word, "default") == 0) {
		*ret = (struct colour){COLOUR_DEFAULT, COLOUR_DEFAULT};
		return 0;
	}
	if (n)
		return parse_colour(c, n, ret, e);
	for (size_t i = 0; palette && i < palette->n && count < COUNT(list) - 1; i++)
		list[count++] = palette->child[i]->key;
	list[count] = NULL;
	near = nearest_word(word, list);
	return node_err(c, at, e, "unknown colour `%s`%s%s%s", word, near ? " (did you mean `" : "",
		near ? near : "", near ? "`?)" : "");
}

static int word_index(const char *const *words, const char *word)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

/* "FG [on BG] [ATTR...]" over *st, which holds what is not named. */
static int parse_style(
	const struct config *c, const struct node *n, struct theme_style *st, struct err *e)
{
	AUTO_FREE char *copy = NULL;
	char *rest = NULL;
	bool background = false;
	struct colour colour = {0};
	int words = 0;

	if (n->kind != NODE_SCALAR)
		return node_err(c, n, e, "a style is written FG [on BG] [bold underline ...]");
	copy = xstrdup(n->value);
	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest), words++) {
		int attr = word_index(attr_names, w);

		if (words && strcmp(w, "on") == 0) {
			background = true;
			continue;
		}
		if (words && attr >= 0 && !background) {
			st->attrs |= (uint8_t)(1 << attr);
			continue;
		}
		if (words && !background)
			return node_err(c, n, e, "`%s` is not an attribute: %s", w,
				"bold, underline, reverse, dim or italic");
		if (find_colour(c, n, w, &colour, e) < 0)
			return -1;
		if (background) {
			st->bg = colour.rgb;
			st->bg16 = colour.of16;
		} else {
			st->fg = colour.rgb;
			st->fg16 = colour.of16;
		}
		background = false;
	}
	if (words == 0 || background)
		return node_err(c, n, e, "a style is written FG [on BG] [bold underline ...]");
	return 0;
}

int theme_parse(const struct config *c, struct theme *ret, struct err *e)
{
	static const char *const keys[] = {"about", "colours", "styles", NULL};
	const struct node *styles = node_get(c->root, "styles"), *text, *about;
	struct theme_style base = {COLOUR_DEFAULT, COLOUR_DEFAULT, -1, -1, 0};

	if (node_unknown(c, c->root, keys, e) < 0)
		return -1;
	if (!styles || styles->kind != NODE_MAP)
		return node_err(c, styles ? styles : c->root, e, "a theme has a map `styles`");
	if (node_unknown(c, styles, role_names, e) < 0)
		return -1;
	about = node_get(c->root, "about");
	if (about && about->kind == NODE_SCALAR)
		snprintf(ret->about, sizeof ret->about, "%s", about->value);
	text = node_get(styles, role_names[ROLE_TEXT]);
	if (text && parse_style(c, text, &base, e) < 0)
		return -1;
	for (int i = 0; i < ROLE_COUNT; i++)
		ret->style[i] = base;
	for (size_t i = 0; i < styles->n; i++) {
		struct theme_style st = base;
		int role = word_index(role_names, styles->child[i]->key);

		st.attrs = 0;
		if (parse_style(c, styles->child[i], &st, e) < 0)
			return -1;
		ret->style[role] = st;
	}
	return 0;
}

const char *theme_name(size_t i, char buf[32])
{
	const char *name = embedded_name("themes/", i);

	if (!name)
		return NULL;
	snprintf(buf, 32, "%s", name + strlen("themes/"));
	if (strstr(buf, ".yaml"))
		*strstr(buf, ".yaml") = '\0';
	return buf;
}

static int no_theme(const char *name, struct err *e)
{
	char names[32][32];
	const char *list[COUNT(names) + 1];
	const char *near;
	size_t n = 0;
	char text[ERR_MSG_MAX] = "";

	while (n < COUNT(names) && theme_name(n, names[n])) {
		list[n] = names[n];
		snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", n ? ", " : "",
			names[n]);
		n++;
	}
	list[n] = NULL;
	near = nearest_word(name, list);
	return err_set(e, ERR_CONFIG, "unknown theme `%s`%s%s%s; available: %s", name,
		near ? " (did you mean `" : "", near ? near : "", near ? "`?)" : "", text);
}

int theme_load(const char *name, struct theme *ret, struct err *e)
{
	size_t n = strlen(name), len;
	bool path = strchr(name, '/') || (n > 5 && strcmp(name + n - 5, ".yaml") == 0);
	char file[80];
	const char *text, *base = strrchr(name, '/');
	struct theme t = {0};
	struct config c;
	int bad;

	snprintf(file, sizeof file, "themes/%.60s.yaml", name);
	text = path ? NULL : embedded_file(file, &len);
	if (!path && !text)
		return no_theme(name, e);
	bad = path ? config_read(name, &c, e) : config_parse(file, text, len, &c, e);
	if (bad < 0)
		return -1;
	snprintf(t.name, sizeof t.name, "%s", base ? base + 1 : name);
	if (path && strstr(t.name, ".yaml"))
		*strstr(t.name, ".yaml") = '\0';
	bad = theme_parse(&c, &t, e);
	config_release(&c);
	if (bad == 0)
		*ret = t;
	return bad;
}

struct theme_style theme_resolve(
	const struct theme *t, uint8_t role, uint8_t attrs, uint8_t under, bool colours16)
{
	struct theme_style st = t->style[role < ROLE_COUNT ? role : ROLE_TEXT];

	st.attrs |= attrs;
	if (under && under < ROLE_COUNT) {
		const struct theme_style *below = &t->style[under];

		st.bg = below->bg;
		st.bg16 = below->bg16;
		st.attrs |= below->attrs;
		/* Few colours: what would vanish in the lower one's background takes its text's. */
		if (colours16 && below->bg16 != t->style[ROLE_TEXT].bg16)
			st.fg16 = below->fg16;
	}
	return st;
}

static int cube_level(int v)
{
	return v < 48 ? 0 : v < 115 ? 1 : (v - 35) / 40;
}

static int color_distance(int32_t rgb, int r, int g, int b)
{
	int dr = (rgb >> 16 & 255) - r, dg = (rgb >> 8 & 255) - g, db = (rgb & 255) - b;

	return 2 * dr * dr + 4 * dg * dg + 3 * db * db;
}

int theme_nearest_256(int32_t rgb)
{
	static const int level[6] = {0, 95, 135, 175, 215, 255};
	int r, g, b, grey, value;

	if (rgb < 0)
		return COLOUR_DEFAULT;
	r = cube_level(rgb >> 16 & 255);
	g = cube_level(rgb >> 8 & 255);
	b = cube_level(rgb & 255);
	grey = ((rgb >> 16 & 255) + (rgb >> 8 & 255) + (rgb & 255)) / 3;
	grey = grey < 8 ? 0 : grey > 238 ? 23 : (grey - 3) / 10;
	value = 8 + 10 * grey;
	if (color_distance(rgb, value, value, value) <
		color_distance(rgb, level[r], level[g], level[b]))
		return 232 + grey;
	return 16 + 36 * r + 6 * g + b;
}

static double linear_channel(int v)
{
	double s = v / 255.0;

	return s <= 0.03928 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
}

static double relative_luminance(int32_t rgb)
{
	return 0.2126 * linear_channel(rgb >> 16 & 255) + 0.7152 * linear_channel(rgb >> 8 & 255) +
		0.0722 * linear_channel(rgb & 255);
}

double theme_contrast(int32_t a, int32_t b)
{
	double x = relative_luminance(a), y = relative_luminance(b);

	return x > y ? (x + 0.05) / (y + 0.05) : (y + 0.05) / (x + 0.05);
}

/* Colours of logs */

#define INK_CONTRAST 2.0 /* below, it is hidden rather than coloured */

/* The first 16 as terminals have them today: none so dark or bright that it blinds. */
static const int32_t palette16[16] = {0x000000, 0xCD3131, 0x0DBC79, 0xC5B510, 0x2472C8, 0xBC3FBC,
	0x11A8CD, 0xE5E5E5, 0x767676, 0xF14C4C, 0x23D18B, 0xE5D543, 0x3B8EEA, 0xD670D6, 0x29B8DB,
	0xFFFFFF};

static int32_t palette_rgb(uint8_t n)
{
	static const int level[6] = {0, 95, 135, 175, 215, 255};
	int grey = 8 + 10 * (n - 232);

	if (n < 16)
		return palette16[n];
	if (n >= 232)
		return grey << 16 | grey << 8 | grey;
	n = (uint8_t)(n - 16);
	return level[n / 36] << 16 | level[n / 6 % 6] << 8 | level[n % 6];
}

static int16_t palette_of16(uint8_t n)
{
	int32_t rgb = palette_rgb(n);
	int best = 0, least = INT_MAX;

	if (n < 16)
		return n;
	for (int i = 0; i < 16; i++) {
		int32_t q = palette16[i];
		int d = color_distance(rgb, q >> 16, q >> 8 & 255, q & 255);

		if (d < least) {
			least = d;
			best = i;
		}
	}
	return (int16_t)best;
}

struct theme_style theme_inked(struct theme_style st, uint8_t ink, uint8_t paper)
{
	struct theme_style s = st;

	/* A theme without colours is meant so. */
	if (st.fg == COLOUR_DEFAULT || st.bg == COLOUR_DEFAULT)
		return st;
	if (ink) {
		s.fg = palette_rgb(ink);
		s.fg16 = palette_of16(ink);
	}
	if (paper) {
		s.bg = palette_rgb(paper);
		s.bg16 = palette_of16(paper);
	}
	return theme_contrast(s.fg, s.bg) < INK_CONTRAST || s.fg16 == s.bg16 ? st : s;
}
