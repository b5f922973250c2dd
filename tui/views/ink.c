/* ink.c - parses SGR colour sequences in log lines. */
#include "views/ink.h"

#include <stdbool.h>

#define PARAMS_MAX 32 /* of one sequence; those beyond are left out */
#define BLACK 16      /* as 0 is the theme's own */

/* Numbers between `;`, and those that `:` ties to the one before; -1: empty. */
struct params {
	int n[PARAMS_MAX];
	bool tied[PARAMS_MAX];
	size_t count; /* 0: these are not for colours */
};

static struct params read_params(const char *s, size_t n)
{
	struct params p = {.n = {-1}, .count = 1};

	for (size_t i = 0; i < n; i++) {
		int *last = &p.n[p.count - 1];

		if (s[i] >= '0' && s[i] <= '9')
			*last = *last > 999 ? *last : (*last < 0 ? 0 : *last * 10) + (s[i] - '0');
		else if (s[i] != ';' && s[i] != ':')
			return (struct params){.count = 0}; /* private, as in "ESC [ > 4 m" */
		else if (p.count == PARAMS_MAX)
			break;
		else
			p.tied[p.count] = s[i] == ':', p.n[p.count++] = -1;
	}
	return p;
}

static uint8_t palette_number(int n)
{
	return n > 0 && n < 256 ? (uint8_t)n : BLACK;
}

static int colour_part(int n)
{
	return n < 0 ? 0 : n > 255 ? 255 : n;
}

static uint8_t nearest_colour(const int *p)
{
	int rgb = colour_part(p[0]) << 16 | colour_part(p[1]) << 8 | colour_part(p[2]);

	return (uint8_t)theme_nearest_256(rgb);
}

/* Behind a 38 or 48 at p[0], of n; returns how many it takes in all. */
static size_t take_colour(uint8_t *to, const int *p, size_t n, bool tied)
{
	if (n > 2 && p[1] == 5) {
		*to = palette_number(p[2]);
		return tied ? n : 3;
	}
	/* "38:2::R:G:B" names a space of colours, mostly none. */
	if (n > 4 && p[1] == 2)
		*to = nearest_colour(tied ? p + n - 3 : p + 2);
	return tied || n < 5 ? n : 5;
}

static void take_attr(struct ink *k, int p)
{
	switch (p) {
	case 1: k->attrs |= ATTR_BOLD; break;
	case 2: k->attrs |= ATTR_DIM; break;
	case 3: k->attrs |= ATTR_ITALIC; break;
	case 4: k->attrs |= ATTR_UNDERLINE; break;
	case 7: k->attrs |= ATTR_REVERSE; break;
	case 22: k->attrs &= (uint8_t) ~(ATTR_BOLD | ATTR_DIM); break;
	case 23: k->attrs &= (uint8_t)~ATTR_ITALIC; break;
	case 24: k->attrs &= (uint8_t)~ATTR_UNDERLINE; break;
	case 27: k->attrs &= (uint8_t)~ATTR_REVERSE; break;
	case 39: k->fg = 0; break;
	case 49: k->bg = 0; break;
	default: break;
	}
}

/* One that is not tied, and what belongs to it; returns how many that are. */
static size_t take_param(struct ink *k, const struct params *p, size_t i)
{
	int n = p->n[i];
	size_t tied = 1;

	while (i + tied < p->count && p->tied[i + tied])
		tied++;
	if (n == 38 || n == 48)
		return take_colour(n == 38 ? &k->fg : &k->bg, p->n + i,
			tied > 1 ? tied : p->count - i, tied > 1);
	if (n <= 0)
		*k = (struct ink){0};
	else if (n >= 30 && n <= 37)
		k->fg = palette_number(n - 30);
	else if (n >= 40 && n <= 47)
		k->bg = palette_number(n - 40);
	else if (n >= 90 && n <= 97)
		k->fg = palette_number(n - 90 + 8);
	else if (n >= 100 && n <= 107)
		k->bg = palette_number(n - 100 + 8);
	else
		take_attr(k, n == 4 && tied > 1 && p->n[i + 1] == 0 ? 24 : n);
	return tied;
}

void ink_take(struct ink *k, const char *s, size_t n)
{
	struct params p = read_params(s, n);

	for (size_t i = 0; i < p.count;)
		i += take_param(k, &p, i);
}

struct style ink_style(struct ink k, struct style st)
{
	st.ink = k.fg;
	st.paper = k.bg;
	st.attrs |= k.attrs;
	return st;
}
