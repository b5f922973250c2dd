/* scrollback.c - the lines that left a terminal's screen at its top, the newest of them. */
#include <string.h>

#include <berth/mem.h>

#include "terminals/emulate.h"

static void drop_oldest(struct scrollback *b)
{
	b->bytes -= b->line[b->first].n;
	free(STEAL(b->line[b->first].text));
	b->first = (b->first + 1) % TERMINAL_LINES;
	b->count--;
}

void scrollback_add(struct scrollback *b, const char *text, size_t n)
{
	size_t at;

	while (b->count == TERMINAL_LINES || (b->count && b->bytes + n > TERMINAL_LINES_BYTES))
		drop_oldest(b);
	at = (b->first + b->count++) % TERMINAL_LINES;
	b->line[at].text = xstrndup(text, n);
	b->line[at].n = n;
	b->bytes += n;
}

void scrollback_release(struct scrollback *b)
{
	while (b->count)
		drop_oldest(b);
}
