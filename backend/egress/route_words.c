/* route_words.c - parses a route of a team file: target, permissions, and where the key goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/route.h>

#include "egress/head_lines.h"

#define HTTPS "https://"
#define HTTP "http://"

bool route_reaches_host(const struct egress_target *t)
{
	const struct egress_address *a = &t->literal;

	if (a->family == AF_INET)
		return ntohl(a->v4.s_addr) >> 24 == IN_LOOPBACKNET;
	return a->family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&a->v6) : !strcmp(t->host, "localhost");
}

int route_parse_to(const char *text, struct route_to *ret, struct err *e)
{
	const char *host;
	size_t len;

	ret->tls = !strncmp(text, HTTPS, sizeof HTTPS - 1);
	if (!ret->tls && strncmp(text, HTTP, sizeof HTTP - 1) != 0)
		return err_set(e, ERR_USAGE, "to: must be https://HOST[:PORT]");
	host = text + (ret->tls ? sizeof HTTPS : sizeof HTTP) - 1;
	len = strlen(host);
	if (len && host[len - 1] == '/')
		len--;
	if (memchr(host, '/', len))
		return err_set(e, ERR_USAGE, "to: must not have a path; list the paths in allow:");
	if (egress_parse_target(host, len, ret->tls ? EGRESS_TLS_PORT : 80, &ret->at, e))
		return -1;
	if (!ret->tls && !route_reaches_host(&ret->at))
		return err_set(e, ERR_USAGE,
			"to: http:// would send the key unencrypted; use https://, or a server on this machine's loopback");
	return 0;
}

/* What a part of a path may hold, apart from %XX. */
static bool is_path_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		(c && strchr("-._~!$&'()*+,=:/", c));
}

static int read_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* %XX for what could be written no other way, so that nothing is hidden behind it. */
static bool is_plain_escape(const char *at, size_t left)
{
	int high = left > 2 ? read_hex_digit(at[1]) : -1,
	    low = left > 2 ? read_hex_digit(at[2]) : -1, byte = 16 * high + low;

	return high >= 0 && low >= 0 && byte >= 0x20 && byte < 0x100 && byte != 0x7f &&
		!is_path_byte((char)byte) && !strchr("%\\;@#?", byte);
}

bool route_path_plain(const char *path, size_t len)
{
	if (!len || len >= ROUTE_PATH_MAX || *path != '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (path[i] == '%' ? !is_plain_escape(path + i, len - i) : !is_path_byte(path[i]))
			return false;
		if (path[i] != '/' || i + 1 == len)
			continue;
		if (path[i + 1] == '/')
			return false;
		/* A part of dots only. */
		for (size_t k = i + 1; k <= len && k - i <= 3; k++) {
			if (k > i + 1 && (k == len || path[k] == '/'))
				return false;
			if (k == len || path[k] != '.')
				break;
		}
	}
	return true;
}

int route_parse_permit(const char *text, struct route_permit *ret, struct err *e)
{
	struct slice path = {text, strlen(text)}, method = slice_take_until(&path, ' ');

	*ret = (struct route_permit){.below = path.n && path.at[path.n - 1] == '*'};
	path = slice_trim(path);
	path.n -= ret->below;
	if (!slice_is_token(method) || method.n >= sizeof ret->method ||
		!route_path_plain(path.at, path.n) || memchr(path.at, '*', path.n))
		return err_set(e, ERR_USAGE,
			"\"%.80s\" is not valid in allow: of a route: use METHOD /path, as in POST /v1/chat/completions; a * at the end matches anything",
			text);
	memcpy(ret->method, method.at, method.n);
	memcpy(ret->path, path.at, path.n);
	return 0;
}

bool route_permits(const struct route_permit *permit, size_t n, const char *method, size_t nmethod,
	const char *path, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		size_t want = strlen(permit[i].path);

		if (strlen(permit[i].method) == nmethod &&
			!memcmp(permit[i].method, method, nmethod) &&
			(permit[i].below ? len >= want : len == want) &&
			!memcmp(permit[i].path, path, want))
			return true;
	}
	return false;
}

static int keep_header_part(char out[ROUTE_HEADER_MAX], struct slice part)
{
	if (part.n >= ROUTE_HEADER_MAX || !slice_is_printable(part, true))
		return -1;
	memcpy(out, part.at, part.n);
	out[part.n] = '\0';
	return 0;
}

int route_parse_header(const char *text, struct route_header *ret, struct err *e)
{
	static const char opening[] = "${secret:";
	struct slice value = {text, strlen(text)}, name = slice_take_until(&value, ':');
	const char *at = strstr(text, opening), *end = at ? strchr(at, '}') : NULL,
		   *secret = end ? at + sizeof opening - 1 : NULL;

	*ret = (struct route_header){0};
	value = slice_trim(value);
	if (!end || at < value.at || strstr(end, "${") || !slice_is_token(name) ||
		(size_t)(end - secret) >= sizeof ret->secret || end == secret ||
		keep_header_part(ret->name, name) ||
		keep_header_part(ret->before, (struct slice){value.at, (size_t)(at - value.at)}) ||
		keep_header_part(ret->after,
			(struct slice){end + 1, (size_t)(value.at + value.n - end - 1)}))
		return err_set(e, ERR_USAGE,
			"\"%.80s\" is not a valid header: use NAME: ${secret:NAME}, as in Authorization: Bearer "
			"${secret:OPENAI}",
			text);
	memcpy(ret->secret, secret, (size_t)(end - secret));
	return 0;
}

bool route_key_fits(const char *key, size_t len)
{
	bool plain = len >= ROUTE_KEY_MIN && len <= ROUTE_KEY_MAX;

	for (size_t i = 0; i < len; i++)
		plain &= key[i] > ' ' && key[i] < 0x7f;
	return plain;
}

const char *route_state_name(enum route_state s)
{
	static const char *const names[] = {"ready", "key missing", "budget spent"};

	return s <= ROUTE_SPENT ? names[s] : "unknown";
}
