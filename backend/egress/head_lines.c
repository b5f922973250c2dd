/* head_lines.c - splits the head of a request or an answer into lines. */
#include "egress/head_lines.h"

#include <string.h>
#include <strings.h>

bool slice_is(struct slice s, const char *word)
{
	return s.n == strlen(word) && !strncasecmp(s.at, word, s.n);
}

bool slice_is_token(struct slice s)
{
	static const char marks[] = "!#$%&'*+-.^_`|~";

	for (size_t i = 0; i < s.n; i++) {
		char c = s.at[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			    (c && strchr(marks, c))))
			return false;
	}
	return s.n > 0;
}

bool slice_is_printable(struct slice s, bool blanks)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.at[i];

		if (c == 0x7f || (c < 0x20 && !(blanks && c == '\t')) || (c == ' ' && !blanks))
			return false;
	}
	return true;
}

int slice_find_head(const char *bytes, size_t len, size_t most, struct slice *ret, struct err *e)
{
	const char *end = memmem(bytes, len, "\r\n\r\n", 4);

	if (!end && len < most && !memchr(bytes, '\0', len))
		return 0;
	if (!end)
		return err_set(
			e, ERR_USAGE, "the head of the request is longer than %zu bytes", most);
	*ret = (struct slice){bytes, (size_t)(end + 4 - bytes)};
	return 1;
}

struct slice slice_take_line(struct slice *rest)
{
	const char *lf = memchr(rest->at, '\n', rest->n);
	struct slice line = {rest->at, 0};

	if (!lf || lf == rest->at || lf[-1] != '\r')
		return (struct slice){NULL, 0};
	line.n = (size_t)(lf - 1 - rest->at);
	rest->n -= line.n + 2;
	rest->at = lf + 1;
	return line;
}

struct slice slice_take_until(struct slice *rest, char end)
{
	const char *at = memchr(rest->at, end, rest->n);
	struct slice piece = {rest->at, at ? (size_t)(at - rest->at) : rest->n};

	rest->at += piece.n + (at != NULL);
	rest->n -= piece.n + (at != NULL);
	return piece;
}

struct slice slice_trim(struct slice s)
{
	while (s.n && (*s.at == ' ' || *s.at == '\t'))
		s.at++, s.n--;
	while (s.n && (s.at[s.n - 1] == ' ' || s.at[s.n - 1] == '\t'))
		s.n--;
	return s;
}

int slice_read_number(struct slice value, uint64_t *out)
{
	uint64_t n = 0;

	if (!value.n || value.n > 18)
		return -1;
	for (size_t i = 0; i < value.n; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return -1;
		n = 10 * n + (uint64_t)(value.at[i] - '0');
	}
	*out = n;
	return 0;
}
