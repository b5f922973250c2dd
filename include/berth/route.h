/*
 * route.h - routes: http://127.0.0.1:3128/NAME/... inside becomes a request to one server, with a key that stays outside.
 *
 * Scheme, host and port are the team file's; an agent gives method, path and query, and only those that are listed.  The
 * key is added by the agent's end on the host (berth/egress.h) and covered in whatever comes back.
 *
 * Sources: RFC 3986 3.3 (paths), RFC 9112 (requests).  Thread: any; nothing here keeps state.
 */
#ifndef BERTH_ROUTE_H
#define BERTH_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress.h"
#include "err.h"

#define ROUTE_BASE "http://127.0.0.1:3128/"
#define ROUTES_MAX 16 /* of one agent */
#define ROUTE_NAME_MAX 33
#define ROUTE_PERMITS_MAX 64
#define ROUTE_PATH_MAX 2048
#define ROUTE_HEADER_MAX 128
#define ROUTE_KEY_MIN 8 /* a shorter one would be found in every answer */
#define ROUTE_KEY_MAX 4096
/* Can it be one: of that many bytes, all printable, no blank? */
bool route_key_fits(const char *key, size_t len);
/* What an agent has in a key's place. */
#define ROUTE_PLACEHOLDER "berth-adds-the-key-outside"
#define ROUTE_CA_MAX 65536

struct route_to {
	bool tls;
	struct egress_target at;
};

/* "https://HOST[:PORT]"; http:// only to this machine's loopback, for a key is not sent in the clear.  No path, no user. */
int route_parse_to(const char *text, struct route_to *ret, struct err *e);

struct route_permit {
	char method[16];
	char path[ROUTE_PATH_MAX];
	bool below; /* it ended in *: whatever begins so */
};

/* What listens on this machine's loopback. */
bool route_reaches_host(const struct egress_target *t);

/* "POST /v1/chat/completions"; a star at the end stands for any rest. */
int route_parse_permit(const char *text, struct route_permit *ret, struct err *e);

/* A path that means the same to everybody: no . or .. as a part, no //, no %2e, %2f, %5c, %00 and the like, no @ \ ; # */
bool route_path_plain(const char *path, size_t len);
bool route_permits(const struct route_permit *permit, size_t n, const char *method, size_t nmethod,
	const char *path, size_t len);

/* "Authorization: Bearer ${secret:OPENAI}" in its parts; `secret` is what stands for the key, once. */
struct route_header {
	char name[ROUTE_HEADER_MAX], before[ROUTE_HEADER_MAX], secret[64], after[ROUTE_HEADER_MAX];
};
int route_parse_header(const char *text, struct route_header *ret, struct err *e);

/* --- what came of it: a file beside the rules, written by the agent's end, kept until down --- */

enum route_state { ROUTE_READY, ROUTE_KEY_MISSING, ROUTE_SPENT };
const char *route_state_name(enum route_state s);

struct route_figures {
	char name[ROUTE_NAME_MAX + 7]; /* "" none; to a multiple of 8 */
	uint64_t state;                /* enum route_state */
	uint64_t requests, refused, up, down;
	uint64_t tokens_in, tokens_out;
	uint64_t nano_dollars;
	uint64_t estimated; /* requests whose answer named no tokens, counted by their bytes */
	uint64_t unpriced;  /* requests to a model without a price */
};

/* ROUTES_MAX of them; *n are in use.  ERR_NOT_FOUND: the container `name` has no routes. */
int route_read_figures(const char *name, struct route_figures *out, size_t *n, struct err *e);

#endif
