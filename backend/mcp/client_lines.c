/* client_lines.c - splits what a client sends into messages, one a line. */
#include <string.h>

#include "mcp/server.h"

#define HELD_MOST \
	((size_t)1 << 20) /* of memory between messages: what a large one took is not kept */

static void take_line(struct client_lines *l)
{
	if (l->skips)
		l->take(l->ctx, NULL, 0);
	else if (strspn(l->held.s, " \t\r") < l->held.len)
		l->take(l->ctx, l->held.s, l->held.len);
	l->skips = false;
	str_clear(&l->held);
	if (l->held.cap > HELD_MOST)
		str_release(&l->held);
}

void client_lines_split(struct client_lines *l, const char *bytes, size_t n)
{
	while (n) {
		const char *end = memchr(bytes, '\n', n);
		size_t part = end ? (size_t)(end - bytes) : n;

		l->skips |= part > l->most || l->held.len > l->most - part;
		if (!l->skips)
			str_add(&l->held, bytes, part);
		if (!end)
			return;
		take_line(l);
		bytes += part + 1;
		n -= part + 1;
	}
}

void client_lines_end(struct client_lines *l)
{
	if (l->held.len || l->skips)
		take_line(l);
}

void client_lines_release(struct client_lines *l)
{
	str_release(&l->held);
}
