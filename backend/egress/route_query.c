/*
 * route_query.c - keeps keys and other methods out of the query of a request to a route.
 *
 * Google's APIs, and others, take a key or the method from the query as well as from a header.  A name is compared as the
 * most lenient server would read it: decoded as often as it can be, up to a bracket or a NUL, letters and digits only.
 *
 * Sources: Google API "System parameters" (key, $key, access_token, $httpMethod, $httpHeaders), RFC 6750 2.3.
 */
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "egress/head_lines.h"
#include "egress/routes.h"

static int read_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* In `text`, which becomes shorter: %256b is %6b is k. */
static size_t decode_whole(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		text[n++] = text[i];
		while (n >= 3 && text[n - 3] == '%' && read_hex(text[n - 2]) >= 0 &&
			read_hex(text[n - 1]) >= 0) {
			text[n - 3] = (char)(16 * read_hex(text[n - 2]) + read_hex(text[n - 1]));
			n -= 2;
		}
	}
	return n;
}

/* The caller frees it. */
static char *simplify_name(struct slice name)
{
	char *text = xstrndup(name.at, name.n);
	size_t len = decode_whole(text, name.n), n = 0;

	for (size_t i = 0; i < len && text[i] && text[i] != '['; i++) {
		char c = (char)(text[i] | 0x20);

		if ((c >= 'a' && c <= 'z') || (text[i] >= '0' && text[i] <= '9'))
			text[n++] = c >= 'a' && c <= 'z' ? c : text[i];
	}
	text[n] = '\0';
	return text;
}

static bool is_one_of(const char *name, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], name))
			return true;
	return false;
}

static bool names_key(const char *name)
{
	static const char *const words[] = {"key", "apikey", "accesskey", "accesstoken", "token",
		"authtoken", "bearertoken", "oauthtoken", "privatetoken", "jobtoken",
		"subscriptionkey", "ocpapimsubscriptionkey", "authorization", "xapikey",
		"xgoogapikey", "xauthtoken", "xaccesstoken", "xamzsecuritytoken", "xamzcredential",
		"xamzsignature"};

	return is_one_of(name, words, COUNT(words));
}

static bool names_method(const char *name)
{
	static const char *const words[] = {"httpmethod", "httpheaders", "xhttpmethod",
		"httpmethodoverride", "xhttpmethodoverride", "methodoverride", "xmethodoverride"};

	return is_one_of(name, words, COUNT(words));
}

bool route_names_key(const char *name, size_t n)
{
	AUTO_FREE char *simple = simplify_name((struct slice){name, n});

	return names_key(simple);
}

bool route_overrides_method(const char *name, size_t n)
{
	AUTO_FREE char *simple = simplify_name((struct slice){name, n});

	return names_method(simple);
}

/* "_method" is one, "method" is a word like any other. */
static bool overrides_by_query(struct slice raw, const char *simple)
{
	return names_method(simple) ||
		(!strcmp(simple, "method") && raw.n && (*raw.at | 0x20) != 'm');
}

static int add_parameter(struct slice part, char before, struct str *out, struct err *e)
{
	struct slice rest = part, name = slice_take_until(&rest, '=');
	AUTO_FREE char *simple = simplify_name(name);

	if (overrides_by_query(name, simple))
		return err_set(e, ERR_USAGE,
			"a route takes the method from the request line only; remove the query parameter %.40s",
			simple);
	if (names_key(simple))
		return 0;
	str_addc(out, before);
	str_add(out, part.at, part.n);
	return 0;
}

int route_add_query(const char *query, size_t len, struct str *out, struct err *e)
{
	size_t begin = out->len;
	char before = '?';

	for (size_t at = 0, n; at <= len; at += n + 1) {
		for (n = 0; at + n < len && query[at + n] != '&' && query[at + n] != ';';)
			n++;
		if (add_parameter(
			    (struct slice){query + at, n}, out->len > begin ? before : '?', out, e))
			return -1;
		before = at + n < len ? query[at + n] : '?';
	}
	return 0;
}
