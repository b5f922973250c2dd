/* reply_head.c - parses the head of an HTTP/1.1 reply, up to the byte where the raw stream begins. */
#include "net/reply_head.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

void reply_head_init(struct reply_head *h)
{
	*h = (struct reply_head){.length = -1};
	str_init(&h->text);
}

void reply_head_release(struct reply_head *h)
{
	str_release(&h->text);
}

/* The value of the header on this line, or NULL. */
static const char *header_value(const char *line, const char *name)
{
	size_t len = strlen(name);

	if (strncasecmp(line, name, len) != 0 || line[len] != ':')
		return NULL;
	return line + len + 1 + strspn(line + len + 1, " \t");
}

static int bad_length(struct err *e)
{
	return err_set(e, ERR_PROTOCOL, "the reply has a Content-Length that is not a number");
}

static int parse_head(struct reply_head *h, struct err *e)
{
	const char *s = h->text.s, *v;
	char *end;

	if (strlen(s) != h->text.len || strncmp(s, "HTTP/1.", 7) != 0 ||
		(s[7] != '0' && s[7] != '1') || s[8] != ' ' || s[9] == '0' ||
		strspn(s + 9, "0123456789") != 3 || !strchr(" \r\n", s[12]))
		return err_set(e, ERR_PROTOCOL, "the reply does not begin like HTTP/1.1");
	h->status = atoi(s + 9);
	h->length = -1;
	h->chunked = false;
	for (const char *line = strchr(s, '\n'); line && line[1]; line = strchr(line, '\n')) {
		line++;
		if ((v = header_value(line, "Content-Length"))) {
			if (*v < '0' || *v > '9')
				return bad_length(e);
			h->length = strtoll(v, &end, 10);
			if (!strchr("\r\n", *end))
				return bad_length(e);
		}
		if ((v = header_value(line, "Transfer-Encoding")) &&
			strncasecmp(v, "chunked", 7) == 0)
			h->chunked = true;
	}
	return 0;
}

static bool is_head_complete(const struct str *t)
{
	return (t->len >= 2 && memcmp(t->s + t->len - 2, "\n\n", 2) == 0) ||
		(t->len >= 4 && memcmp(t->s + t->len - 4, "\r\n\r\n", 4) == 0);
}

ssize_t reply_head_feed(struct reply_head *h, const char *bytes, size_t n, struct err *e)
{
	size_t i = 0;

	while (!h->complete && i < n) {
		if (h->text.len >= REPLY_HEAD_MAX)
			return err_set(e, ERR_PROTOCOL,
				"the head of the reply is longer than %zu bytes", REPLY_HEAD_MAX);
		str_add(&h->text, &bytes[i++], 1);
		if (bytes[i - 1] != '\n' || !is_head_complete(&h->text))
			continue;
		if (parse_head(h, e))
			return -1;
		if (h->status >= 100 && h->status < 200 && h->status != 101)
			str_clear(&h->text);
		else
			h->complete = true;
	}
	return (ssize_t)i;
}
