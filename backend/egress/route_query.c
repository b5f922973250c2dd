/*
 * route_query.c - keeps keys and other methods out of the query of a request to a route.
 *
 * Google's APIs, and others, take a key or the method from the query as well as from a header.  A name is compared as the
 * most lenient server would read it: decoded as often as it can be, up to a bracket or without it, letters and digits only.
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

/* %256b is %6b is k.  `text` has room for all of `name`. */
static size_t decode_whole(char *text, struct slice name)
{
	size_t n = 0;

	for (size_t i = 0; i < name.n; i++) {
		text[n++] = name.at[i];
		while (n >= 3 && text[n - 3] == '%' && read_hex(text[n - 2]) >= 0 &&
			read_hex(text[n - 1]) >= 0) {
			text[n - 3] = (char)(16 * read_hex(text[n - 2]) + read_hex(text[n - 1]));
			n -= 2;
		}
	}
	return n;
}

/* Of what is decoded: letters, small, and digits, up to a NUL and, if `cut`, up to a bracket.  The caller frees it. */
static char *simplify_name(struct slice name, bool cut)
{
	char *text = xmalloc(name.n + 1);
	size_t len = decode_whole(text, name), n = 0;

	for (size_t i = 0; i < len && text[i] && !(cut && text[i] == '['); i++) {
		char c = (char)(text[i] | 0x20);

		if ((c >= 'a' && c <= 'z') || (text[i] >= '0' && text[i] <= '9'))
			text[n++] = c >= 'a' && c <= 'z' ? c : text[i];
	}
	text[n] = '\0';
	return text;
}

/* "key[0]" is an array called key, and PHP reads "api[key" as api_key. */
static bool is_one_of(struct slice name, const char *const *words, size_t n)
{
	AUTO_FREE char *cut = simplify_name(name, true), *whole = simplify_name(name, false);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(words[i], cut) || !strcmp(words[i], whole))
			return true;
	return false;
}

bool route_names_key(const char *name, size_t n)
{
	static const char *const words[] = {"key", "apikey", "appkey", "authkey", "accesskey",
		"accesstoken", "apitoken", "token", "authtoken", "bearertoken", "oauthtoken",
		"privatetoken", "jobtoken", "subscriptionkey", "ocpapimsubscriptionkey",
		"authorization", "appid", "clientsecret", "sig", "signature", "awsaccesskeyid",
		"xapikey", "xgoogapikey", "xgoogcredential", "xgoogsignature", "xauthtoken",
		"xaccesstoken", "xamzsecuritytoken", "xamzcredential", "xamzsignature"};

	return is_one_of((struct slice){name, n}, words, COUNT(words));
}

bool route_overrides_method(const char *name, size_t n)
{
	static const char *const words[] = {"httpmethod", "httpheaders", "xhttpmethod", "xhttpverb",
		"httpmethodoverride", "xhttpmethodoverride", "methodoverride", "xmethodoverride"};

	return is_one_of((struct slice){name, n}, words, COUNT(words));
}

/* "_method" is one, "method" is a word like any other. */
static bool overrides_by_query(struct slice name)
{
	static const char *const word = "method";

	return route_overrides_method(name.at, name.n) ||
		(name.n && (*name.at | 0x20) != 'm' && is_one_of(name, &word, 1));
}

/* Servers differ in where it ends, or in what it says: IIS reads %u006b as k. */
static bool is_ambiguous_name(struct slice name)
{
	AUTO_FREE char *text = xmalloc(name.n + 1);
	size_t len = decode_whole(text, name);

	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == 0x7f || c == '=' || c == '&' || c == ';' ||
			(c == '%' && i + 1 < len && (text[i + 1] | 0x20) == 'u'))
			return true;
	}
	return false;
}

/* Without its key, DELETE /items?key=abc would be DELETE /items. */
static bool may_drop_key(const char *method, struct slice value)
{
	return !strcmp(method, "GET") || !strcmp(method, "HEAD") || !strcmp(method, "POST") ||
		(value.n == sizeof ROUTE_PLACEHOLDER - 1 &&
			!memcmp(value.at, ROUTE_PLACEHOLDER, value.n));
}

static int add_parameter(
	struct slice part, char before, const char *method, struct str *out, struct err *e)
{
	struct slice value = part, name = slice_take_until(&value, '=');
	int shown = (int)(name.n < 40 ? name.n : 40);

	if (is_ambiguous_name(name))
		return err_set(e, ERR_USAGE,
			"the name of the query parameter %.*s has a %%u escape, or an encoded control character, =, & or ;",
			shown, name.at);
	if (overrides_by_query(name))
		return err_set(e, ERR_USAGE,
			"a route takes the method from the request line only; remove the query parameter %.*s",
			shown, name.at);
	if (!route_names_key(name.at, name.n)) {
		str_addc(out, before);
		str_add(out, part.at, part.n);
	} else if (!may_drop_key(method, value)) {
		return err_set(e, ERR_USAGE,
			"a route removes the query parameter %.*s, and %s without it may do something else; send the request without it",
			shown, name.at, method);
	}
	return 0;
}

int route_add_query(
	const char *query, size_t len, const char *method, struct str *out, struct err *e)
{
	size_t begin = out->len;
	char before = '?';

	for (size_t at = 0, n; at <= len; at += n + 1) {
		for (n = 0; at + n < len && query[at + n] != '&' && query[at + n] != ';';)
			n++;
		if (add_parameter((struct slice){query + at, n}, out->len > begin ? before : '?',
			    method, out, e))
			return -1;
		before = at + n < len ? query[at + n] : '?';
	}
	return 0;
}
