/*
 * link.h - one connection of an agent, shared by link.c (request and data), link_judge.c (permission), link_dial.c
 * (connecting).
 */
#ifndef EGRESS_LINK_H
#define EGRESS_LINK_H

#include "egress/end.h"
#include "egress/front.h"

#define LINK_ADDRESSES_MAX 16
#define LINK_HEAD_MS \
	10000 /* for what the client says first, and for the lookup and the dialling each */

enum link_state {
	LINK_GREETING, /* the first byte, and SOCKS5's greeting */
	LINK_HEAD,
	LINK_SOCKS,
	LINK_HELD, /* no rule decides: a person is asked */
	LINK_LOOKUP,
	LINK_DIAL,
	LINK_UPSTREAM, /* the other proxy is asked */
	LINK_HELLO,    /* allowed, and not a byte passes before TLS has named the target */
	LINK_RELAY,
	LINK_LINGER,
	LINK_CLOSED,
};

struct link {
	struct end *end;
	struct link *next, **self;
	enum link_state state;
	int client, server; /* -1: none */
	uv_poll_t client_poll;
	uv_poll_t *
		server_poll; /* one for each address that is tried; freed when libuv has let go of it */
	uv_timer_t timer;
	uv_getaddrinfo_t lookup;
	int handles; /* that libuv has not given back */
	bool looking_up;
	uint8_t *in; /* what the client has sent that is not passed on */
	size_t nin;
	char *out; /* for the target, before anything is relayed */
	size_t nout, sent;
	bool paid; /* that counts in what passes in a second */
	struct front_ask ask;
	bool asked;   /* the target is known */
	bool granted; /* by a person, this once */
	bool named;   /* TLS has named the target */
	struct egress_address address[LINK_ADDRESSES_MAX];
	size_t naddresses, tried;
	struct egress_address at; /* that it leads to; family 0: not known yet */
	bool by_rule;             /* and a rule names that address */
	uint16_t port;            /* that is dialled there */
	bool by_proxy;            /* these are the upstream proxy's */
	struct str via, reply;    /* what it is asked, a login with it; and what it says */
	struct relay up, down;
	uint64_t counted_up, counted_down; /* of theirs */
	struct egress_reached *reached;    /* NULL: not yet */
	uint64_t id;
	int64_t begun_ns;
};

/* --- link.c --- */
void link_close(struct link *l);
void link_wait(struct link *l, uint64_t ms);
/* After its state has changed outside of its own events. */
void link_watch(struct link *l);
void link_note(struct link *l, enum egress_verdict v);
void link_drop_server(struct link *l);
/* Said to the client; what it has still to send is read until it has seen it. */
void link_refuse(struct link *l, enum egress_verdict v, const char *why);
void link_refuse_target(struct link *l, enum egress_verdict v, const char *fmt); /* %s: it */
/* When libuv has let go of it. */
void link_give_back(struct link *l);

/* --- link_judge.c: its target is known --- */
void link_judge(struct link *l);
void link_refuse_denied(struct link *l, const struct egress_rule *r);
/* By the rules as they are now: not a byte may pass before TLS has named the target. */
bool link_wants_tls(const struct link *l);

/* --- link_dial.c --- */
/* It may go there: where is it? */
void link_locate(struct link *l);
/* The next address, when the one before has not answered. */
void link_dial_next(struct link *l);
/* By the rules as they are now: may it lead to the address that it leads to? */
bool link_may_stay(const struct link *l);

#endif
