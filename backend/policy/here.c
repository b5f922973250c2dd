/* here.c - parses here-documents. */
#include "policy/parser.h"

#include <string.h>

#include <berth/arena.h>
#include <berth/mem.h>

size_t here_begin(struct parser *p, const char *s, size_t n, bool tabs)
{
	AUTO_STR struct str end = STR_INIT;
	char quote = 0;
	bool quoted = false, plain = true;
	size_t i = 0;

	for (; i < n && (quote || (!space(s[i]) && !strchr("\n;&|<>()", s[i]))); i++) {
		plain &= isalnum((unsigned char)s[i]) || strchr("'\"\\_.!@%+:,/-= ", s[i]);
		if (s[i] == quote) {
			quote = 0;
		} else if (!quote && (s[i] == '\'' || s[i] == '"')) {
			quote = s[i];
			quoted = true;
		} else if (s[i] == '\\' && quote) {
			plain = false;
			str_addc(&end, s[i]);
		} else if (s[i] == '\\' && i + 1 < n) {
			quoted = true;
			plain &= isalnum((unsigned char)s[i + 1]) != 0;
			str_addc(&end, s[++i]);
		} else {
			str_addc(&end, s[i]);
		}
	}
	/* $'A' and $(x) are read in one way here, in others there. */
	if (!plain || quote || !i || (i < n && strchr("()", s[i])))
		parser_unclear(p, "a here-document whose delimiter is not a plain word");
	/* Its quotes go, nothing in it is expanded. */
	if (i && p->nhere == COUNT(p->here))
		parser_fail(p, "one of its lines has too many here-documents");
	else if (i)
		p->here[p->nhere++] = (struct here){
			arena_strndup(&p->out->mem, end.s, end.len), tabs, quoted, NO_COMMAND};
	return i;
}

/* Does this line go on in the next?  Then that is no delimiter. */
static bool goes_on(const char *line, size_t len)
{
	size_t slashes = 0;

	while (slashes < len && line[len - 1 - slashes] == '\\')
		slashes++;
	return slashes % 2;
}

/* The body of a here-document, up to a line that is the delimiter, is data; but substitutions in it
 * are run, unless the delimiter was quoted. */
static size_t read_here(struct parser *p, const struct here *h, const char *s, size_t n)
{
	struct reading body = READING_INIT;
	size_t want = strlen(h->end), length = n, used = n;
	bool joined = false;

	for (size_t i = 0; i < n && used == n;) {
		const char *end = memchr(s + i, '\n', n - i);
		size_t len = end ? (size_t)(end - (s + i)) : n - i, skip = 0;

		while (h->tabs && skip < len && s[i + skip] == '\t')
			skip++;
		if (!joined && len - skip >= want && !memcmp(s + i + skip, h->end, want)) {
			bool early = len - skip != want && p->nested &&
				memchr(s + i + skip + want, ')', len - skip - want);

			/* $(cat <<E ... E) ends it as well, for some */
			if (early)
				parser_unclear(p, "a here-document that ends with a )");
			if (len - skip == want || early) {
				length = i;
				used = i + skip + want;
				break;
			}
		}
		joined = !h->quoted && goes_on(s + i, len);
		if (joined && len - 1 - skip < want &&
			!memcmp(s + i + skip, h->end, len - 1 - skip))
			parser_unclear(
				p, "a here-document whose delimiter may be broken over lines");
		i += len + 1;
	}
	if (used == n && (length == n))
		parser_unclear(p, "a here-document that never ends");
	if (h->quoted)
		str_add(&body.text, s, length);
	else
		expand_quoted(p, s, length, 0, &body);
	if (h->command < p->out->n && !body.dynamic)
		p->out->command[h->command].input =
			arena_strndup(&p->out->mem, body.text.s, body.text.len);
	str_release(&body.text);
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
