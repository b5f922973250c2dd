/* wrap.c - wraps text at a width in columns. */
#include "views/wrap.h"

#include <berth/text.h>

/* Columns the code point takes once neutralised (text.h): controls are drawn as ^X. */
static int shown_width(uint32_t cp)
{
	int w;

	if (cp < 0x20 || cp == 0x7F)
		return cp == '\t' ? 1 : 2;
	w = text_cp_width(cp);
	return w < 0 ? 1 : w;
}

size_t wrap_next(const char *text, size_t len, size_t from, int width)
{
	int column = 0;

	for (size_t i = from; i < len;) {
		uint32_t cp;
		size_t used = utf8_next(text + i, len - i, &cp);
		int w = shown_width(cp);

		if (column + w > width && i > from)
			return i;
		column += w;
		i += used;
	}
	return len;
}

size_t wrap_rows(const char *text, size_t len, int width)
{
	size_t rows = 0, at = 0;

	do {
		at = wrap_next(text, len, at, width);
		rows++;
	} while (at < len);
	return rows;
}

size_t text_skip(const char *text, size_t len, int column)
{
	return column <= 0 ? 0 : wrap_next(text, len, 0, column);
}
