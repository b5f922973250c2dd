/* here.c - here-documents: delimiters in a line, bodies behind it. */
#include "rules/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

size_t here_begin(struct parser *p, const char *s, size_t n, bool tabs)
{
	AUTO_STR struct str end = STR_INIT;
	char quote = 0;
	bool quoted = false;
	size_t i = 0;

	for (; i < n && (quote || (!space(s[i]) && !strchr("\n;&|<>()", s[i]))); i++) {
		if (s[i] == quote) {
			quote = 0;
		} else if (!quote && (s[i] == '\'' || s[i] == '"')) {
			quote = s[i];
			quoted = true;
		} else if (s[i] == '\\' && quote != '\'' && i + 1 < n) {
			quoted = true;
			str_addc(&end, s[++i]);
		} else {
			str_addc(&end, s[i]);
		}
	}
	/* Its quotes go, nothing in it is expanded. */
	if (i && p->nhere == COUNT(p->here))
		parser_fail(p, "one of its lines has too many here-documents");
	else if (i)
		p->here[p->nhere++] =
			(struct here){arena_strndup(&p->out->mem, end.s, end.len), tabs, quoted};
	return i;
}

/* The body of a here-document, up to a line that is the delimiter, is data; but substitutions in it
 * are run, unless the delimiter was quoted. */
static size_t read_here(struct parser *p, const struct here *h, const char *s, size_t n)
{
	AUTO_STR struct str ignored = STR_INIT;
	size_t want = strlen(h->end), body = n, used = n;
	bool dynamic = false;

	for (size_t i = 0; i < n && used == n;) {
		const char *end = memchr(s + i, '\n', n - i);
		size_t len = end ? (size_t)(end - (s + i)) : n - i, skip = 0;

		while (h->tabs && skip < len && s[i + skip] == '\t')
			skip++;
		if (len - skip >= want && !memcmp(s + i + skip, h->end, want)) {
			/* $(cat <<E ... E) ends it as well */
			if (len - skip == want ||
				(p->nested && memchr(s + i + skip, ')', len - skip))) {
				body = i;
				used = i + skip + want;
				break;
			}
		}
		i += len + 1;
	}
	if (!h->quoted)
		expand_quoted(p, s, body, 0, &ignored, &dynamic);
	return used;
}

size_t here_bodies(struct parser *p, const char *s, size_t n)
{
	size_t i = 0, count = p->nhere;

	p->nhere = 0;
	for (size_t k = 0; k < count; k++) {
		/* The line of the delimiter before still has its end. */
		i += k && i < n && s[i] == '\n';
		i += read_here(p, &p->here[k], s + i, n - i);
	}
	return i;
}
