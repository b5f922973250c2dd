/*
 * upstream.c - connects through the proxy of this machine's network.
 *
 * Sources: RFC 9110 9.3.6 (CONNECT), RFC 7617 (Basic).
 */
#include "egress/upstream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define REPLY_MAX 8192
#define STATUS_LINE 12 /* "HTTP/1.1 200" */

void upstream_write(struct str *out, const char *host, uint16_t port, const struct str *login)
{
	bool v6 = strchr(host, ':') != NULL;

	/* So that no part of a login is left where it was before it grew. */
	str_reserve(out, 2 * strlen(host) + 2 * (login ? login->len : 0) + 128);
	for (int i = 0; i < 2; i++)
		str_addf(out, "%s%s%s%s:%u%s", i ? "Host: " : "CONNECT ", v6 ? "[" : "", host,
			v6 ? "]" : "", port, i ? "\r\n" : " HTTP/1.1\r\n");
	if (login) {
		str_adds(out, "Proxy-Authorization: Basic ");
		str_add_base64(out, login->s, login->len);
		str_adds(out, "\r\n");
	}
	str_adds(out, "\r\n");
}

/* 1: its head is there; not a byte behind it is taken, for that is the target's.  -1: none will be. */
static int read_upstream_head(int server, struct str *reply)
{
	char bytes[1024];
	ssize_t n = recv(server, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
	size_t had = reply->len, take;
	const char *end;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0 || had + (size_t)n > REPLY_MAX)
		return -1;
	str_add(reply, bytes, (size_t)n);
	end = memmem(reply->s, reply->len, "\r\n\r\n", 4);
	take = end ? (size_t)(end + 4 - reply->s) - had : (size_t)n;
	if (recv(server, bytes, take, MSG_DONTWAIT) != (ssize_t)take)
		return -1;
	return end != NULL;
}

/* 0: it is no answer of HTTP/1. */
static int read_upstream_status(const struct str *reply)
{
	const char *s = reply->s;
	int status = 0;

	if (reply->len <= STATUS_LINE || memcmp(s, "HTTP/1.", 7) != 0 || s[8] != ' ' ||
		(s[STATUS_LINE] != ' ' && s[STATUS_LINE] != '\r'))
		return 0;
	for (int i = 9; i < STATUS_LINE; i++) {
		if (s[i] < '0' || s[i] > '9')
			return 0;
		status = 10 * status + s[i] - '0';
	}
	return status;
}

int upstream_hear(int server, struct str *reply, int *status)
{
	int r = read_upstream_head(server, reply);

	*status = r > 0 ? read_upstream_status(reply) : 0;
	return r;
}
