/*
 * egress.h - where an agent without a network may go: targets, rules, and the judge of both.
 *
 * A target is what a program inside asked for by name; a rule is a line of the team file or a person's decision.  Judging
 * needs no network: names are looked up only after a rule allowed them, and what they come to is judged again
 * (egress_special).
 *
 * Sources: RFC 9110 7.2 and 9.3.6 (authority, CONNECT), RFC 1123 2.1 (host names), IANA's special-purpose address
 * registries of 2025-10.  Thread: any; nothing here keeps state.
 */
#ifndef BERTH_EGRESS_H
#define BERTH_EGRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "err.h"

#define EGRESS_HOST_MAX 254 /* a name of DNS and its end */
#define EGRESS_RULES_MAX 512
#define EGRESS_TLS_PORT 443
#define EGRESS_OWN_HOST "host.docker.internal" /* this machine's loopback */

struct egress_address {
	int family; /* AF_INET, AF_INET6; 0: none */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	};
};

struct egress_target {
	char host
		[EGRESS_HOST_MAX]; /* lower case, no dot at its end; an address as inet_ntop writes it, v4 mapped into v6 as v4 */
	struct egress_address literal; /* family 0: it is a name */
	uint16_t port;
};

/* "host:port", "[v6]:port", and without a port where `port` is not 0.  Refused (ERR_USAGE): user@, bytes that no name
 * holds, numbers that are no address in four parts (octal, hexadecimal, one number), zones. */
int egress_parse_target(
	const char *text, size_t len, uint16_t port, struct egress_target *ret, struct err *e);
bool egress_same_target(const struct egress_target *a, const struct egress_target *b);
/* As it is written in a rule: "pypi.org", "git.example.org:22", "[::1]:80". */
void egress_write_target(const struct egress_target *t, char out[EGRESS_HOST_MAX + 8]);

#define EGRESS_TLS "tls://"
#define EGRESS_RULE_MAX (EGRESS_HOST_MAX + 16) /* one as text, and its end */
#define EGRESS_PRESET "preset:"
#define EGRESS_PRESET_MAX 24

enum egress_origin { EGRESS_FILE, EGRESS_SESSION, EGRESS_ONCE };
const char *egress_origin_name(enum egress_origin o);

struct egress_rule {
	bool allow, below; /* below: *.host, which is not host itself */
	bool tls;          /* allow: it asks for the check of port 443 on another port */
	/* Not 0: it is none of those, but says that a person is asked about what no rule decides, for so many
	 * seconds; `at` is empty. */
	uint16_t ask_s;
	/* Not 0: it decides on nothing either, but names the proxy (`at`) by which all that is not this machine's goes. */
	uint8_t upstream; /* bits of enum egress_upstream_bit */
	uint64_t rate;    /* nor here: not 0: so many bytes a second may pass, each way */
	/* Nor here: not 0: `at` is a network of the engine, of so many bits, where nothing is dialled unless a rule names
	 * the address itself. */
	uint8_t net_bits;
	enum egress_origin origin;
	int64_t since_s;                /* Unix time; 0 for what the file says */
	char preset[EGRESS_PRESET_MAX]; /* EGRESS_FILE: which of configs/presets.yaml; "" none */
	struct egress_target at;
};

#define EGRESS_ASK_S 30
#define EGRESS_ASK_S_MAX 600
const char *egress_rule_verb(
	const struct egress_rule *r); /* "allow", "deny", "ask", "upstream", "rate", "engine" */
static inline bool egress_rule_decides(const struct egress_rule *r)
{
	return !r->ask_s && !r->upstream && !r->rate && !r->net_bits;
}

enum egress_upstream_bit {
	EGRESS_UPSTREAM = 1,
	EGRESS_UPSTREAM_LOGIN = 2, /* it wants one, which no file holds */
	EGRESS_UPSTREAM_TRUSTED =
		4, /* it is given names, and looks up those that this machine cannot */
};
/* "http://HOST:PORT", and behind it ",login" and ",trusted"; as egress_write_rule writes it. */
#define EGRESS_UPSTREAM_HOST_MAX 200
int egress_parse_upstream(const char *text, struct egress_rule *ret, struct err *e);
/* NULL: everything is dialled from here. */
const struct egress_rule *egress_upstream(const struct egress_rule *rules, size_t n);
/* 0: nothing limits it. */
uint64_t egress_rate(const struct egress_rule *rules, size_t n);
/* "172.30.0.0/16", as the engine writes the subnet of one of its networks. */
int egress_parse_network(const char *text, struct egress_rule *ret, struct err *e);
/* Is it in one of the engine's networks, as it stands or as the v4 address that it carries? */
bool egress_of_engine(const struct egress_rule *rules, size_t n, const struct egress_address *a);
/* How long to wait for a person's decision; 0: do not ask. */
uint16_t egress_asks(const struct egress_rule *rules, size_t n);
/* "NAME", "*.NAME", "NAME:PORT", an address with or without a port.  Without one it is 443.  What allows a name may begin
 * with EGRESS_TLS. */
int egress_parse_rule(const char *text, bool allow, struct egress_rule *ret, struct err *e);
/* The same, or "preset:NAME RULE", which is that preset's. */
int egress_parse_file_rule(const char *text, bool allow, struct egress_rule *ret, struct err *e);
void egress_write_rule(const struct egress_rule *r, char out[EGRESS_RULE_MAX]);

/* The rule that decides, NULL: none does.  A denial counts more than any permission; of those that allow, one that asks for
 * TLS, else the first. */
const struct egress_rule *egress_judge(
	const struct egress_rule *rules, size_t n, const struct egress_target *t);
/* Where the part of a name begins that somebody registers ("github.com" of "api.github.com"); 0 for an address.  By
 * habit, not by a list: the last two labels, three below a short second level of a country ("co.uk"). */
size_t egress_registrable(const struct egress_target *t);
/* A rule for another name of the same owner, which does not decide on `t`; NULL: none. */
const struct egress_rule *egress_near(
	const struct egress_rule *rules, size_t n, const struct egress_target *t);
/* Only TLS may be spoken there, with the target's name in its first message.  `r` decides on it, NULL: a person. */
bool egress_wants_tls(const struct egress_rule *r, const struct egress_target *t);

/* Why nothing may be dialled at `a` unless a rule names the address itself; NULL: it is an ordinary one.  v4 inside v6
 * (mapped, 6to4, NAT64) is judged as v4. */
const char *egress_special(const struct egress_address *a);
/* That v4 address; *a where there is none. */
struct egress_address egress_v4_inside(const struct egress_address *a);
/* As above, of what is asked for by its address or as this machine, with the engine's networks among the rules; NULL: it is
 * ordinary, or a name, which nobody has looked up. */
const char *egress_leads_to(
	const struct egress_rule *rules, size_t n, const struct egress_target *t);
bool egress_loopback(const struct egress_address *a);
bool egress_this_machine(const struct egress_address *a); /* in any of the ways to write it */
/* It allows what listens on this machine's loopback: EGRESS_OWN_HOST, or such an address itself. */
bool egress_reaches_host(const struct egress_rule *r);
bool egress_same_address(const struct egress_address *a, const struct egress_address *b);

/* The name in a TLS ClientHello, of which `len` bytes have come: 1 found, 0 more bytes are needed, -1 it is no ClientHello,
 * names nobody, or is longer than EGRESS_HELLO_MAX. */
#define EGRESS_HELLO_MAX 16384
int egress_hello_name(const uint8_t *bytes, size_t len, char name[EGRESS_HOST_MAX]);

/* --- the end: the process on the host that dials for one agent --- */

enum egress_verdict {
	EGRESS_ALLOWED,
	EGRESS_DENIED,      /* by a rule */
	EGRESS_NO_RULE,     /* none allows it */
	EGRESS_MALFORMED,   /* it is no request */
	EGRESS_NO_ADDRESS,  /* the name is unknown, or resolves to an address of no host */
	EGRESS_UNREACHABLE, /* no answer from there */
	EGRESS_OTHER_NAME,  /* TLS for another name, or no TLS */
	EGRESS_FULL,        /* too many connections at once */
	EGRESS_CLOSED,      /* allowed and open, until its rule went */
	EGRESS_HELD,        /* no rule decides, and a person is asked */
	EGRESS_UNANSWERED,  /* no decision in time */
};
const char *egress_verdict_name(enum egress_verdict v);

#define EGRESS_ADDRESS_MAX 46
#define EGRESS_EVENTS_MAX 512 /* kept by an end */

struct egress_event {  /* one connection; plain bytes, sent as they are */
	uint64_t id;   /* counted from 1 by each end, without those for which it had no place */
	int64_t at_ms; /* Unix time */
	struct egress_target to;
	uint8_t verdict; /* enum egress_verdict */
	uint8_t open;
	char address[EGRESS_ADDRESS_MAX]; /* that was dialled; "" none */
	uint64_t up, down;                /* bytes, from and to the agent */
	int64_t took_us;                  /* from the first byte to the answer */
};

/* Targets that an end counts one by one: each that a rule may name, and as many names below domains. */
#define EGRESS_REACHED_MAX (2 * EGRESS_RULES_MAX)

struct egress_reached {          /* a target that was reached; plain bytes, sent as they are */
	struct egress_target to; /* "*.NAME": other names below it; port 0: all others */
	uint64_t connections, up, down;
	int64_t first_ms, last_ms; /* Unix time: the first connection, the last byte */
};

struct egress_usage {
	uint64_t connections, refused, up, down;
	uint32_t open, rules;
	uint32_t held;    /* connections and requests that wait for a person now */
	uint32_t relayed; /* its clients come by a program in the container, not by descriptors */
	int32_t init;     /* the agent's init, as the host numbers it */
	int32_t self;     /* the end's process */
	int64_t since_ms; /* Unix time of the end's start, from which all of this is counted */
};

/* --- what a person is asked --- */

#define EGRESS_HELD_MAX 16  /* at once, of one agent: connections, and requests with a reason */
#define EGRESS_ASKED_MAX 64 /* targets that are listed */
#define EGRESS_REASON_MAX 200

enum egress_answer { EGRESS_ANSWER_ONCE, EGRESS_ANSWER_SESSION, EGRESS_ANSWER_DENY };
const char *egress_answer_name(enum egress_answer a); /* "once", "session", "deny" */
/* -1: none of them. */
int egress_answer_of(const char *word);

struct egress_asked { /* a target that no rule decides; plain bytes, sent as they are */
	struct egress_target to;
	int64_t first_ms, last_ms; /* Unix time */
	uint32_t count;            /* asked for so often */
	uint32_t held; /* so many wait now; 0: they were refused, and it can be decided for later */
	uint16_t port; /* of the client that came last, inside; 0: it was asked for by words */
	char reason[EGRESS_REASON_MAX]; /* the agent's words, raw; "" none */
};

struct egress_queue {
	struct egress_usage usage;
	uint32_t ask_s; /* 0: unknown targets are refused */
	uint32_t n;
	struct egress_asked asked[EGRESS_ASKED_MAX]; /* by first_ms */
};

/* What a container's end is asked; `name` is the container's.  ERR_NOT_FOUND: it has none that runs.  At most 2 s. */
int egress_ask_usage(const char *name, struct egress_usage *ret, struct err *e);
/* The last `n` connections, oldest first, at most EGRESS_EVENTS_MAX; returns how many, -1. */
int egress_ask_log(const char *name, struct egress_event *out, size_t n, struct err *e);

/* Connections before that Unix time (ms) are not known: its end was started again, or (now) does not answer.  0: all were
 * counted, or the container has no egress. */
int64_t egress_known_since(const char *name);

/* What was reached since the end's start, in that order, EGRESS_REACHED_MAX + 1 at most; returns how many, -1. */
int egress_ask_reached(const char *name, struct egress_reached *out, struct err *e);

/* Be there to be asked: a descriptor that is readable when the queue or the traffic has changed; as long as one is
 * open, connections to unknown targets are held.  Does not block.  ERR_NOT_FOUND: the container has no egress; any
 * other: its end is away. */
int egress_watch(const char *name, struct err *e);
/* What has come: 1 with the newest, 0 nothing yet, -1 the end has gone. */
int egress_watched(int watch, struct egress_queue *ret);
/* The queue as it is, for a caller that does not follow it. */
int egress_ask_queue(const char *name, struct egress_queue *ret, struct err *e);
/* A person has decided on what is in the queue: it acts before this returns, and a rule for the session is kept.
 * ERR_CONFLICT: it is no longer there: another person decided first. */
int egress_decide(
	const char *name, const struct egress_target *to, enum egress_answer a, struct err *e);
/* An agent asks by words.  Blocks until it is decided, at most for the time in which people are asked, or until `cancel`
 * is readable (-1: never; ERR_CANCELLED).  `why` says in a sentence what came of it, yes or no. */
struct egress_reply {
	enum egress_verdict verdict; /* EGRESS_ALLOWED: it may go there */
	bool once;                   /* for one connection, that comes soon */
	char why[256];
};
int egress_request(const char *name, const struct egress_target *to, const char *reason, int cancel,
	struct egress_reply *ret, struct err *e);
/* The command of the process in the container that holds the client's end of `port`, raw: "" where that cannot be
 * seen from here.  Reads the container's /proc. */
void egress_client(pid_t init, uint16_t port, char out[16]);

/* The container that `who`, an agent or a container of berth's, runs in; name holds 64 bytes. */
int egress_container(const char *who, char name[64], struct err *e);

/* Containers that have rules, by name; at most `most`. */
size_t egress_names(char (*names)[64], size_t most);
/* Its rules, beside its socket in <runtime dir>/egress: written whole, mode 0600.  A container without the file has
 * none (ERR_NOT_FOUND). */
int egress_load_rules(const char *name, struct egress_rule *out, size_t *n, struct err *e);
/* Replaces them, and tells the end when it runs: what is open and no longer allowed is closed before this returns. */
int egress_save_rules(const char *name, const struct egress_rule *rules, size_t n, struct err *e);
/* Held while rules are read, changed and saved; a descriptor to close. */
int egress_lock(const char *name, struct err *e);
/* The program berth-egress: `rules` is a file, `listeners` how many it was given; 0: a relay in their place.  Returns when the agent's init has
 * ended. */
int egress_main(const char *rules, int listeners, struct err *e);
/* The container is gone. */
void egress_forget(const char *name);

#endif
