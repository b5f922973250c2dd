/*
 * front.h - parses what clients send to a proxy: HTTP CONNECT and absolute form, and SOCKS5 with names.
 *
 * All of it on one port; the first byte tells them apart.  Every byte is the agent's.
 *
 * Sources: RFC 9110, RFC 9112 (3.2.2 absolute form, 6.1 lengths), RFC 1928.
 */
#ifndef EGRESS_FRONT_H
#define EGRESS_FRONT_H

#include <berth/egress.h>
#include <berth/str.h>

#define FRONT_HEAD_MAX 16384
#define SOCKS_VERSION 5

enum front_kind { FRONT_CONNECT, FRONT_FORWARD, FRONT_SOCKS };

struct front_ask {
	enum front_kind kind;
	struct egress_target to;
	size_t used;     /* bytes of it that were read; what comes after is for the target */
	struct str head; /* FRONT_FORWARD: what the target is sent in their place */
	uint64_t body;   /* FRONT_FORWARD: so many bytes may follow, and no second request */
};

/* 1 read, 0 more bytes are needed, -1 it is none: *e says why in words for the client.  ret->head is the caller's. */
int front_read_http(const char *bytes, size_t len, struct front_ask *ret, struct err *e);

/* The client's greeting: as above; it offers to come without a password. */
int front_read_greeting(const uint8_t *bytes, size_t len, size_t *used);
/* Its request.  -1: *reply is the code of RFC 1928 6. */
int front_read_socks(
	const uint8_t *bytes, size_t len, struct front_ask *ret, uint8_t *reply, struct err *e);

#endif
