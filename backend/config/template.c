/* template.c - finds a piece of a template and writes it with its slots filled. */
#include <berth/template.h>

#include <string.h>

#include <berth/check.h>
#include <berth/config.h>
#include <berth/text.h>

static void put_escaped(FILE *out, const char *text)
{
	char clean[TEMPLATE_TEXT_MAX];

	text_clean(clean, sizeof clean, text);
	for (const char *p = clean; *p; p++)
		switch (*p) {
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '&': fputs("&amp;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc(*p, out);
		}
}

/* The lines between "@@piece" and the next that begins so. */
static const char *find_piece(const char *file, const char *piece, size_t *ret_n)
{
	char mark[64];
	size_t n, len = (size_t)snprintf(mark, sizeof mark, "\n@@%s\n", piece);
	const char *text = embedded_file(file, &n), *from, *end;

	CHECK(text);
	from = memmem(text, n, mark, len);
	CHECK(from);
	from += len;
	n -= (size_t)(from - text);
	end = memmem(from - 1, n + 1, "\n@@", 3);
	*ret_n = end ? (size_t)(end + 1 - from) : n;
	return from;
}

static void fill_slot(FILE *out, const char *name, size_t n, const struct slot *slots)
{
	const struct slot *s = slots;

	while (s && s->name && !(strlen(s->name) == n && memcmp(s->name, name, n) == 0))
		s++;
	CHECK(s && s->name);
	if (s->text)
		put_escaped(out, s->text);
	else
		fprintf(out, "%.*f", s->digits, s->number);
}

void template_fill(FILE *out, const char *file, const char *piece, const struct slot *slots)
{
	size_t n;
	const char *at = find_piece(file, piece, &n), *end = at + n, *open;

	while ((open = memmem(at, (size_t)(end - at), "{{", 2)) != NULL) {
		const char *close = memmem(open, (size_t)(end - open), "}}", 2);

		CHECK(close);
		fwrite(at, 1, (size_t)(open - at), out);
		fill_slot(out, open + 2, (size_t)(close - open - 2), slots);
		at = close + 2;
	}
	fwrite(at, 1, (size_t)(end - at), out);
}
