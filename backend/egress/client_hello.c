/*
 * client_hello.c - reads the server name from the first message of a TLS connection, which is hostile input.
 *
 * RFC 8446 4.1.2 and 5.1, RFC 6066 3.  Records are joined first, for a client may cut its message anywhere.
 */
#include <string.h>
#include <sys/types.h>

#include <berth/egress.h>

#define RECORD_HEAD 5
#define RECORD_HANDSHAKE 22
#define RECORD_MAX 16384
#define HANDSHAKE_HEAD 4
#define CLIENT_HELLO 1
#define BEFORE_SESSION 34 /* version and random */
#define SERVER_NAME 0

struct span { /* what is left to read; NULL once a length did not fit */
	const uint8_t *at;
	size_t n;
};

static struct span take_span(struct span *s, size_t n)
{
	struct span piece = {s->at, n};

	if (!s->at || n > s->n)
		return s->at = NULL, s->n = 0, (struct span){NULL, 0};
	s->at += n;
	s->n -= n;
	return piece;
}

static size_t take_number(struct span *s, int bytes)
{
	struct span piece = take_span(s, (size_t)bytes);
	size_t value = 0;

	for (size_t i = 0; i < piece.n && piece.at; i++)
		value = value << 8 | piece.at[i];
	return value;
}

/* A field whose length stands before it in `bytes` bytes. */
static struct span take_field(struct span *s, int bytes)
{
	size_t n = take_number(s, bytes);

	return take_span(s, n);
}

/* How long the first message says that it is, with its head; 0: it does not say yet. */
static size_t message_length(const uint8_t *joined, size_t n)
{
	return n < HANDSHAKE_HEAD
		? 0
		: HANDSHAKE_HEAD + ((size_t)joined[1] << 16 | (size_t)joined[2] << 8 | joined[3]);
}

/* The handshake bytes of the records so far, until the first message is whole: how many, or -1.  Behind it a client may
 * send data already (RFC 8446 4.2.10). */
static ssize_t join_records(const uint8_t *bytes, size_t len, uint8_t *out)
{
	size_t n = 0;

	while (len >= RECORD_HEAD && (!message_length(out, n) || n < message_length(out, n))) {
		size_t body = (size_t)bytes[3] << 8 | bytes[4], here;

		if (bytes[0] != RECORD_HANDSHAKE || bytes[1] != 3 || !body || body > RECORD_MAX)
			return -1;
		here = len - RECORD_HEAD < body ? len - RECORD_HEAD : body;
		memcpy(out + n, bytes + RECORD_HEAD, here);
		n += here;
		bytes += RECORD_HEAD + here;
		len -= RECORD_HEAD + here;
		if (here < body)
			break;
	}
	return (ssize_t)n;
}

static int read_server_name(struct span names, char name[EGRESS_HOST_MAX])
{
	struct egress_target t;
	struct span list = take_field(&names, 2), host;
	int type = (int)take_number(&list, 1);

	host = take_field(&list, 2);
	/* Exactly one name, of a host: what a second one would mean is each server's own affair. */
	if (!host.at || !host.n || type || list.n || names.n || memchr(host.at, ':', host.n) ||
		host.at[host.n - 1] == '.' ||
		egress_parse_target((const char *)host.at, host.n, EGRESS_TLS_PORT, &t, NULL) ||
		t.literal.family)
		return -1;
	memcpy(name, t.host, EGRESS_HOST_MAX);
	return 1;
}

static int read_hello(struct span hello, char name[EGRESS_HOST_MAX])
{
	struct span extensions;
	int found = -1;

	take_span(&hello, BEFORE_SESSION);
	take_field(&hello, 1);
	take_field(&hello, 2);
	take_field(&hello, 1);
	extensions = take_field(&hello, 2);
	while (extensions.n) {
		size_t type = take_number(&extensions, 2);
		struct span body = take_field(&extensions, 2);

		if (!body.at)
			return -1;
		if (type != SERVER_NAME)
			continue;
		if (found > 0)
			return -1;
		found = read_server_name(body, name);
		if (found < 0)
			return -1;
	}
	return found;
}

int egress_hello_name(const uint8_t *bytes, size_t len, char name[EGRESS_HOST_MAX])
{
	uint8_t joined[EGRESS_HELLO_MAX];
	ssize_t n;
	size_t want;

	if (len && *bytes != RECORD_HANDSHAKE)
		return -1;
	if (len > EGRESS_HELLO_MAX || (n = join_records(bytes, len, joined)) < 0)
		return -1;
	if (n && *joined != CLIENT_HELLO)
		return -1;
	want = message_length(joined, (size_t)n);
	if (want > EGRESS_HELLO_MAX)
		return -1;
	if (!want || (size_t)n < want)
		return len == EGRESS_HELLO_MAX ? -1 : 0;
	return read_hello((struct span){joined + HANDSHAKE_HEAD, want - HANDSHAKE_HEAD}, name);
}
