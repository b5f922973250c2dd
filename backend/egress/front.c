/* front.c - parses proxy requests of clients (front.h). */
#include "egress/front.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <berth/mem.h>

#include "egress/head_lines.h"

#define HTTP_PORT 80
#define SOCKS_CONNECT 1
#define SOCKS_V4 1
#define SOCKS_NAME 3
#define SOCKS_V6 4
#define SOCKS_NOT_ALLOWED 2
#define SOCKS_NO_SUCH_COMMAND 7
#define SOCKS_NO_SUCH_ADDRESS 8
#define NO_PASSWORD 0

/* "http://authority/path" */
static int read_absolute(
	struct slice target, struct front_ask *a, struct slice *path, struct err *e)
{
	static const char scheme[] = "http://";
	struct slice authority = {target.at + sizeof scheme - 1, 0};

	if (target.n < sizeof scheme || strncasecmp(target.at, scheme, sizeof scheme - 1) != 0)
		return err_set(e, ERR_USAGE,
			"use CONNECT host:port or an http:// address; https clients must use CONNECT");
	while (authority.at + authority.n < target.at + target.n &&
		!strchr("/?#", authority.at[authority.n]))
		authority.n++;
	*path = (struct slice){
		authority.at + authority.n, target.n - (sizeof scheme - 1) - authority.n};
	if (memchr(path->at, '#', path->n))
		return err_set(e, ERR_USAGE, "the address must not contain #");
	return egress_parse_target(authority.at, authority.n, HTTP_PORT, &a->to, e);
}

/* What is between the client and us, or would let a second request follow.  Expect: is the target's to answer. */
static bool is_hop(struct slice name)
{
	static const char *const hops[] = {
		"connection", "keep-alive", "te", "trailer", "upgrade", "host"};

	for (size_t i = 0; i < COUNT(hops); i++)
		if (slice_is(name, hops[i]))
			return true;
	return name.n > 6 && !strncasecmp(name.at, "proxy-", 6);
}

static int read_header(struct slice line, struct front_ask *a, bool *length, struct err *e)
{
	struct slice value = line, name = slice_take_until(&value, ':');
	struct egress_target host;

	if (name.n == line.n || !slice_is_token(name) || !slice_is_printable(value, true))
		return err_set(e, ERR_USAGE, "a header line of the request is malformed");
	value = slice_trim(value);
	if (slice_is(name, "host")) {
		if (egress_parse_target(value.at, value.n, HTTP_PORT, &host, e))
			return -1;
		return strcmp(host.host, a->to.host) != 0 || host.port != a->to.port
			? err_set(e, ERR_USAGE,
				  "the Host: header does not match the requested host")
			: 0;
	}
	if (slice_is(name, "transfer-encoding"))
		return err_set(e, ERR_USAGE, "send the request's body with a Content-Length:");
	if (slice_is(name, "content-length")) {
		if (*length || slice_read_number(value, &a->body))
			return err_set(
				e, ERR_USAGE, "the Content-Length: of the request is not a number");
		*length = true;
	}
	if (!is_hop(name))
		str_addf(&a->head, "%.*s: %.*s\r\n", (int)name.n, name.at, (int)value.n, value.at);
	return 0;
}

static void begin_head(struct front_ask *a, struct slice method, struct slice path)
{
	char host[EGRESS_HOST_MAX + 8];
	bool v6 = a->to.literal.family == AF_INET6;

	snprintf(host, sizeof host, "%s%s%s", v6 ? "[" : "", a->to.host, v6 ? "]" : "");
	str_addf(&a->head, "%.*s %s%.*s HTTP/1.1\r\nHost: %s", (int)method.n, method.at,
		path.n && *path.at == '/' ? "" : "/", (int)path.n, path.at, host);
	if (a->to.port != HTTP_PORT)
		str_addf(&a->head, ":%u", a->to.port);
	str_adds(&a->head, "\r\nConnection: close\r\n");
}

static int read_request(struct slice head, struct front_ask *a, struct err *e)
{
	struct slice line = slice_take_line(&head), method, target, path = {0};
	bool length = false;

	if (!line.at)
		return err_set(e, ERR_USAGE, "the lines of a request must end with CR LF");
	method = slice_take_until(&line, ' ');
	target = slice_take_until(&line, ' ');
	if (!slice_is_token(method) || !slice_is_printable(target, false) ||
		(!slice_is(line, "HTTP/1.1") && !slice_is(line, "HTTP/1.0")))
		return err_set(e, ERR_USAGE, "this is not an HTTP/1.1 request");
	a->kind = slice_is(method, "CONNECT") ? FRONT_CONNECT : FRONT_FORWARD;
	if (a->kind == FRONT_CONNECT)
		return egress_parse_target(target.at, target.n, 0, &a->to, e);
	if (read_absolute(target, a, &path, e))
		return -1;
	begin_head(a, method, path);
	while (head.n > 2) {
		line = slice_take_line(&head);
		if (!line.at)
			return err_set(e, ERR_USAGE, "the lines of a request must end with CR LF");
		if (read_header(line, a, &length, e))
			return -1;
	}
	str_adds(&a->head, "\r\n");
	return 0;
}

int front_read_http(const char *bytes, size_t len, struct front_ask *ret, struct err *e)
{
	struct slice head;
	int found = slice_find_head(bytes, len, FRONT_HEAD_MAX, &head, e);

	if (found <= 0)
		return found;
	ret->used = head.n;
	return read_request(head, ret, e) ? -1 : 1;
}

int front_read_greeting(const uint8_t *bytes, size_t len, size_t *used)
{
	if (len < 2 || len < 2u + bytes[1])
		return 0;
	*used = 2u + bytes[1];
	return memchr(bytes + 2, NO_PASSWORD, bytes[1]) ? 1 : -1;
}

/* Where the port begins; 0: not all has come. */
static size_t find_socks_port(const uint8_t *bytes, size_t len)
{
	size_t at = bytes[3] == SOCKS_V4 ? 8
		: bytes[3] == SOCKS_V6   ? 20
		: len < 5                ? 0
					 : 5u + bytes[4];

	return at && len >= at + 2 ? at : 0;
}

static void write_socks_host(const uint8_t *bytes, size_t port, char out[300])
{
	char text[INET6_ADDRSTRLEN] = "";
	bool v6 = bytes[3] == SOCKS_V6;

	if (bytes[3] == SOCKS_NAME) {
		snprintf(out, 300, "%.*s", (int)(port - 5), (const char *)bytes + 5);
		return;
	}
	inet_ntop(v6 ? AF_INET6 : AF_INET, bytes + 4, text, sizeof text);
	snprintf(out, 300, v6 ? "[%s]" : "%s", text);
}

int front_read_socks(
	const uint8_t *bytes, size_t len, struct front_ask *ret, uint8_t *reply, struct err *e)
{
	char host[300];
	size_t at, n;

	if (len < 4)
		return 0;
	*reply = SOCKS_NO_SUCH_COMMAND;
	if (bytes[0] != SOCKS_VERSION || bytes[1] != SOCKS_CONNECT || bytes[2])
		return err_set(e, ERR_USAGE, "of SOCKS5 only CONNECT is supported");
	*reply = SOCKS_NO_SUCH_ADDRESS;
	if (bytes[3] != SOCKS_V4 && bytes[3] != SOCKS_NAME && bytes[3] != SOCKS_V6)
		return err_set(e, ERR_USAGE, "SOCKS5 has no address of that type");
	at = find_socks_port(bytes, len);
	if (!at)
		return 0;
	write_socks_host(bytes, at, host);
	n = strlen(host);
	*reply = SOCKS_NOT_ALLOWED;
	/* A name with NUL, a colon or brackets in it is not what it looks like. */
	if (bytes[3] == SOCKS_NAME && (n != at - 5 || strpbrk(host, ":[]")))
		return err_set(e, ERR_USAGE, "the name in the SOCKS5 request is not valid");
	*ret = (struct front_ask){.kind = FRONT_SOCKS, .used = at + 2, .head = ret->head};
	/* The port is given for it: 0 is none. */
	return egress_parse_target(host, n, (uint16_t)(bytes[at] << 8 | bytes[at + 1]), &ret->to, e)
		? -1
		: 1;
}
