/* egress_target.c - parses the name and port that a program asked for. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <berth/egress.h>
#include <berth/text.h>

#define LABEL_MAX 63

static int refuse_target(struct err *e, const char *text, size_t len, const char *why)
{
	char raw[128], clean[128];

	snprintf(raw, sizeof raw, "%.*s", (int)(len < sizeof raw ? len : sizeof raw), text);
	text_clean(clean, sizeof clean, raw);
	return err_set(e, ERR_USAGE, "\"%s\" %s", clean, why);
}

/* What remains when the machine's resolver takes numbers in forms of its own: 127.1, 0x7f000001, 017700000001. */
static bool is_numeric(const char *name)
{
	const char *last = strrchr(name, '.');

	last = last ? last + 1 : name;
	return (*last >= '0' && *last <= '9' && last[strspn(last, "0123456789")] == '\0') ||
		(!strncmp(last, "0x", 2) && last[2 + strspn(last + 2, "0123456789abcdef")] == '\0');
}

static bool is_name(const char *name)
{
	size_t label = 0;

	for (const char *s = name; *s; s++) {
		bool edge = label == 0 || !s[1] || s[1] == '.';

		if (*s == '.') {
			if (!label)
				return false;
			label = 0;
			continue;
		}
		if (!((*s >= 'a' && *s <= 'z') || (*s >= '0' && *s <= '9') || *s == '_' ||
			    (*s == '-' && !edge)) ||
			++label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

static int read_port(const char *text, size_t len, uint16_t *port)
{
	unsigned value = 0;

	if (!len || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = 10 * value + (unsigned)(text[i] - '0');
	}
	if (!value || value > 65535 || *text == '0')
		return -1;
	*port = (uint16_t)value;
	return 0;
}

static int read_v6(struct egress_target *t, const char *text, size_t len)
{
	char host[INET6_ADDRSTRLEN];

	if (len >= sizeof host)
		return -1;
	memcpy(host, text, len);
	host[len] = '\0';
	t->literal.family = AF_INET6;
	if (strlen(host) != len || inet_pton(AF_INET6, host, &t->literal.v6) != 1)
		return -1;
	/* The kernel dials the v4 address: one rule is for both spellings. */
	if (IN6_IS_ADDR_V4MAPPED(&t->literal.v6))
		t->literal = egress_v4_inside(&t->literal);
	return inet_ntop(t->literal.family, &t->literal.v6, t->host, sizeof t->host) ? 0 : -1;
}

static int read_name(struct egress_target *t, const char *text, size_t len)
{
	if (len && text[len - 1] == '.')
		len--;
	if (!len || len >= sizeof t->host || memchr(text, '\0', len))
		return -1;
	for (size_t i = 0; i < len; i++)
		t->host[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
	t->host[len] = '\0';
	if (inet_pton(AF_INET, t->host, &t->literal.v4) == 1) {
		t->literal.family = AF_INET;
		return inet_ntop(AF_INET, &t->literal.v4, t->host, sizeof t->host) ? 0 : -1;
	}
	return is_name(t->host) && !is_numeric(t->host) ? 0 : -1;
}

int egress_parse_target(
	const char *text, size_t len, uint16_t port, struct egress_target *ret, struct err *e)
{
	const char *end = len && *text == '[' ? memchr(text, ']', len) : NULL,
		   *colon = end ? end + 1 : memchr(text, ':', len);
	size_t host = colon ? (size_t)(colon - text) : len, rest = len - host;
	int bad;

	*ret = (struct egress_target){.port = port};
	if (len && memchr(text, '@', len))
		return refuse_target(e, text, len, "names a user; a target is host:port");
	bad = end ? read_v6(ret, text + 1, (size_t)(end - text) - 1) : read_name(ret, text, host);
	if (bad)
		return refuse_target(e, text, len,
			"is not a host: use a name of letters, digits and -, an IPv4 address, or [IPv6]");
	if (rest ? *colon != ':' || read_port(colon + 1, rest - 1, &ret->port) : !port)
		return refuse_target(e, text, len, "has no port from 1 to 65535");
	return 0;
}

void egress_write_target(const struct egress_target *t, char out[EGRESS_HOST_MAX + 8])
{
	bool v6 = t->literal.family == AF_INET6;
	int n = snprintf(out, EGRESS_HOST_MAX + 8, "%s%s%s", v6 ? "[" : "", t->host, v6 ? "]" : "");

	if (t->port != EGRESS_TLS_PORT)
		snprintf(out + n, (size_t)(EGRESS_HOST_MAX + 8 - n), ":%u", t->port);
}
