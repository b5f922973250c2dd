/* pattern.c - searches bounded text, plainly or by a regular expression. */
#include "views/pattern.h"

#include <ctype.h>
#include <string.h>

#include <berth/regex.h>

int pattern_compile(struct pattern *p, const char *text, struct err *e)
{
	struct pattern fresh = {.set = true, .literal = true, .fold = true};

	if (*text == '!') {
		fresh.inverse = true;
		text++;
	}
	if (!*text) {
		pattern_release(p);
		return 0;
	}
	fresh.len = strlen(text);
	if (fresh.len >= PATTERN_MAX)
		return err_set(e, ERR_USAGE, "This pattern is longer than %d characters.",
			PATTERN_MAX - 1);
	memcpy(fresh.text, text, fresh.len + 1);
	for (size_t i = 0; i < fresh.len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (strchr("\\^$.[]|()?*+{}", c))
			fresh.literal = false;
		if (isupper(c))
			fresh.fold = false;
		/* Folding beyond ASCII needs tables: leave that to the expression. */
		if (c >= 0x80)
			fresh.literal = false;
	}
	if (!fresh.literal) {
		char why[REGEX_WHY_MAX];

		fresh.regex = regex_new(text, fresh.fold ? REGEX_FOLD : 0, why);
		if (!fresh.regex)
			return err_set(
				e, ERR_USAGE, "`%s` is not a regular expression: %s.", text, why);
	}
	pattern_release(p);
	*p = fresh;
	return 0;
}

void pattern_release(struct pattern *p)
{
	regex_free(p->regex);
	memset(p, 0, sizeof *p);
}

static bool equal_folded(const char *a, const char *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
			return false;
	return true;
}

/* The first of two spellings of one letter at or after `at`; NULL when there is none. */
static const char *find_either_case(const char *s, const char *stop, int lower, int upper)
{
	const char *a = memchr(s, lower, (size_t)(stop - s));
	const char *b = memchr(s, upper, (size_t)((a ? a : stop) - s));

	return b ? b : a;
}

static const char *find_plain(const struct pattern *p, const char *s, size_t n)
{
	const char *stop;
	int lower = tolower((unsigned char)p->text[0]), upper = toupper((unsigned char)p->text[0]);

	if (!p->fold)
		return memmem(s, n, p->text, p->len);
	if (n < p->len)
		return NULL;
	stop = s + n - p->len + 1;
	while (s < stop && (s = find_either_case(s, stop, lower, upper))) {
		if (equal_folded(s + 1, p->text + 1, p->len - 1))
			return s;
		s++;
	}
	return NULL;
}

bool pattern_next(
	const struct pattern *p, const char *s, size_t n, size_t from, size_t *start, size_t *end)
{
	if (!p->set)
		return false;
	if (p->literal) {
		const char *hit = from < n ? find_plain(p, s + from, n - from) : NULL;

		if (!hit)
			return false;
		*start = (size_t)(hit - s);
		*end = *start + p->len;
		return true;
	}
	for (; from < n && regex_find(p->regex, s, n, from, start, end) > 0; from = *end + 1)
		if (*end > *start)
			return true;
	return false;
}

bool pattern_match(const struct pattern *p, const char *s, size_t n)
{
	size_t start, end;
	int found;

	if (!p->set)
		return true;
	if (p->literal)
		return pattern_next(p, s, n, 0, &start, &end) != p->inverse;
	found = regex_find(p->regex, s, n, 0, NULL, NULL);
	/* What takes too many steps to tell is shown. */
	return found < 0 || (found > 0) != p->inverse;
}
