/* meter.c - draws bars, sparklines and charts with block and braille characters. */
#include "meter.h"

#include <math.h>

#include <berth/text.h>

void meter_bar(struct canvas *c, int x, int y, int w, enum role full, double fraction)
{
	int filled;

	if (!(fraction > 0)) /* NaN too */
		fraction = 0;
	filled = fraction >= 1 ? w : (int)lround(fraction * w);
	if (filled == w && fraction < 1 && w > 0)
		filled = w - 1;
	if (filled == 0 && fraction * w >= 0.02 * w && w > 0)
		filled = 1;
	for (int i = 0; i < w; i++)
		canvas_glyph(c, x + i, y,
			(struct style){.role = (uint8_t)(i < filled ? full : ROLE_BAR_REST)},
			i < filled ? GLYPH_BAR : GLYPH_BAR_REST);
}

void meter_level(struct canvas *c, int x, int y, int w, double fraction, double warn, double bad)
{
	enum role role = fraction >= bad ? ROLE_BAR_BAD
		: fraction >= warn       ? ROLE_BAR_WARN
					 : ROLE_BAR;

	meter_bar(c, x, y, w, role, fraction);
}

void meter_spark(struct canvas *c, int x, int y, int w, struct style st, const uint16_t *v, int n,
	double top)
{
	int from = n > w ? n - w : 0;

	if (!(top > 0)) {
		top = 1;
		for (int i = from; i < n; i++)
			top = v[i] > top ? v[i] : top;
	}
	for (int i = from; i < n; i++) {
		int level = (int)(v[i] / top * 7 + 0.5);
		char text[5] = {0};

		utf8_put(0x2581u + (uint32_t)(level > 6 ? 6 : level), text); /* rows stay apart */
		canvas_text(c, x + w - n + i, y, 1, st, text);
	}
}

static double chart_top(const float *v, int from, int n)
{
	double top = 0;

	for (int i = from; i < n; i++)
		top = v[i] > top ? v[i] : top;
	return top > 0 ? top : 1;
}

void meter_level_line(struct canvas *c, struct area a, struct style st, double fraction)
{
	int row = (int)(fraction * a.h);

	if (a.h < 3) /* there it would be most of the chart */
		return;
	canvas_hline(c, a.x, a.y + a.h - 1 - (row < a.h ? row : a.h - 1), a.w, st);
}

/* How many of `steps` a value fills; something always shows. */
static int steps_of(float v, double top, int steps)
{
	int n = v > 0 ? (int)ceil(v / top * steps - 1e-9) : 0;

	return n > steps ? steps : n;
}

int meter_each(const struct canvas *c)
{
	return c->ascii || c->blocks ? 1 : 2;
}

/* One value a column, two steps a row. */
static void chart_cells(
	struct canvas *c, struct area a, struct style st, const float *v, int n, double top)
{
	const char *full = c->ascii ? "#" : "\u2588", *half = c->ascii ? "." : "\u2584";
	int from = n > a.w ? n - a.w : 0;

	for (int i = from; i < n; i++) {
		int x = a.x + a.w - n + i, filled = steps_of(v[i], top, a.h * 2);

		if (isnan(v[i]))
			continue;
		for (int row = 0; row < a.h; row++) {
			int here = filled - row * 2;

			if (here > 0 || row == 0)
				canvas_text(c, x, a.y + a.h - 1 - row, 1, st,
					here >= 2           ? full
						: here == 1 ? half
							    : "_");
		}
	}
}

double meter_chart(
	struct canvas *c, struct area a, struct style st, const float *v, int n, double top)
{
	static const uint8_t left[5] = {0, 0x40, 0x44, 0x46, 0x47};
	static const uint8_t right[5] = {0, 0x80, 0xA0, 0xB0, 0xB8};
	int width = a.w * meter_each(c), from = n > width ? n - width : 0;

	if (a.w <= 0 || a.h <= 0)
		return top;
	if (!(top > 0))
		top = chart_top(v, from, n);
	if (meter_each(c) == 1) {
		chart_cells(c, a, st, v, n, top);
		return top;
	}
	for (int col = 0; col < a.w; col++) {
		/* Values are aligned at the right edge. */
		int i = n - width + col * 2;
		int l = i >= 0 && i < n && !isnan(v[i]) ? steps_of(v[i], top, a.h * 4) : -1;
		int r = i + 1 >= 0 && i + 1 < n && !isnan(v[i + 1])
			? steps_of(v[i + 1], top, a.h * 4)
			: -1;

		for (int row = 0; row < a.h; row++) {
			int hl = l - row * 4, hr = r - row * 4;
			uint32_t dots = 0;
			char text[5] = {0};

			hl = hl < 0 ? 0 : hl > 4 ? 4 : hl;
			hr = hr < 0 ? 0 : hr > 4 ? 4 : hr;
			/* The base line is there wherever there are values. */
			if (row == 0) {
				hl = l >= 0 && hl == 0 ? 1 : hl;
				hr = r >= 0 && hr == 0 ? 1 : hr;
			}
			dots = (uint32_t)left[hl] | right[hr];
			if (!dots)
				continue;
			utf8_put(0x2800u + dots, text);
			canvas_text(c, a.x + col, a.y + a.h - 1 - row, 1, st, text);
		}
	}
	return top;
}
