/*
 * routes.h - routes with keys in an egress process: configuration, requests, answers.
 *
 * route_tell.c reads what berth up tells, route_request.c and route_query.c what the agent asks, route_link.c is one request,
 * route_curl.c the library that makes it, route_answer.c what the agent gets to see, route_tokens.c what it cost.
 */
#ifndef EGRESS_ROUTES_H
#define EGRESS_ROUTES_H

#include <berth/route.h>
#include <berth/str.h>

#include "egress/end.h"
#include "egress/front.h"

#define PRICES_MAX 256
#define ROUTE_LINKS_MAX 256

/* --- what is covered: a key's bytes, wherever they are cut in two --- */

struct mask {
	const char *key;
	const uint16_t
		*back;    /* by how much of it has been seen: how much of that begins it again */
	size_t len, held; /* held back: so many of its first bytes */
};

uint16_t *mask_table(const char *key, size_t len);
void mask_add(struct mask *m, const char *bytes, size_t n, struct str *out);
void mask_end(struct mask *m, struct str *out);

/* --- what an answer says of tokens: OpenAI's, Anthropic's and Gemini's shapes, whole or as events --- */

enum token_kind {
	TOKENS_IN,
	TOKENS_OUT,
	TOKENS_CACHE_MADE,
	TOKENS_CACHE_READ,
	TOKENS_THOUGHT,
	TOKEN_KINDS
};

struct token_scan {
	bool events; /* text/event-stream: each line stands for itself */
	bool in_string, escaped, number, odd_number;
	unsigned depth;
	uint64_t usage; /* a bit for each depth: the object there is called usage */
	char word[64], key[64], model[64];
	size_t nword;
	uint64_t value, count[TOKEN_KINDS];
	bool found;
};

void token_scan_add(struct token_scan *s, const char *bytes, size_t n);
uint64_t token_scan_in(const struct token_scan *s);
uint64_t token_scan_out(const struct token_scan *s);

/* --- what was told --- */

struct route {
	char name[ROUTE_NAME_MAX];
	struct route_to to;
	struct route_header header;
	char *key; /* NULL: missing */
	size_t nkey;
	uint16_t *back;
	struct route_permit *permit;
	size_t npermits;
	struct str ca;
	uint64_t requests_most, bytes_most; /* a minute */
	uint64_t tokens_most, nano_most;    /* until down */
	int64_t minute_ms;                  /* when it began, and what came in it */
	uint64_t requests, bytes;
	struct route_figures *figures;
};

struct price { /* by how a model's name begins; the longest that fits */
	char model[64];
	uint64_t in, out; /* nano-dollars a token */
};

struct route_link;
struct route_curl;

struct routes {
	struct route route[ROUTES_MAX];
	size_t n;
	struct price price[PRICES_MAX];
	size_t nprices;
	struct route_figures *figures; /* ROUTES_MAX, in the file */
	struct str told;
	struct str login; /* of the upstream proxy, USER:PASSWORD; "" none was told */
	struct route_link *links;
	size_t nlinks;
	struct route_curl *curl; /* NULL: not loaded */
};

/* The text of egress_tell_routes.  *r is as it was where it is wrong. */
int routes_read(struct routes *r, const char *text, size_t len, struct err *e);
void routes_release(struct routes *r); /* wipes */
struct route *routes_find(struct routes *r, const char *name);
/* What one answer cost is added.  `whole`: it has come to its end, where the last figures stand. */
void routes_charge(struct routes *r, struct route *route, const struct token_scan *s, uint64_t up,
	uint64_t down, bool whole);
/* Why no request may go now, as the answer's status and words; 0: it may. */
int routes_refuse(struct route *route, int64_t now_ms, struct str *why);

/* Before the end gives up its files: the figures of `rules`' neighbour, shared with whoever reads them. */
struct route_figures *figures_map(const char *rules);

/* --- one request of the agent --- */

struct route_ask {
	size_t used; /* bytes of it that were read; what comes after is its body */
	char method[16];
	char name[ROUTE_NAME_MAX];
	struct str target;  /* path and query, as the server gets them */
	size_t path;        /* bytes of it that are the path */
	struct str headers; /* "Name: value\n" each: what is passed on */
	uint64_t body;
	bool has_body, chunked, expects;
};

void route_ask_release(struct route_ask *a);
/* Does it begin as one?  The target of a request begins with '/'. */
bool route_asks(const char *bytes, size_t len);
/* As front_read_http.  The header that the key is put into is dropped later, when the route is known. */
int route_read_request(const char *bytes, size_t len, struct route_ask *ret, struct err *e);
/* Is it one that the agent has no say in? */
bool route_drops_header(const char *name, size_t n);
bool route_same_header(const char *name, size_t n, const char *word);
/* "?" and the query, without the parameters that name a key.  -1: one of them asks for another method, can be read in two
 * ways, or is a key without which `method` would do something else. */
int route_add_query(
	const char *query, size_t len, const char *method, struct str *out, struct err *e);
/* Of a parameter or a header, which would be a key beside the route's. */
bool route_names_key(const char *name, size_t n);
/* A header by which some servers take another method than that of the request line. */
bool route_overrides_method(const char *name, size_t n);

enum body_state {
	BODY_SIZE,
	BODY_SIZE_END,
	BODY_DATA,
	BODY_DATA_CR,
	BODY_DATA_LF,
	BODY_LAST_CR,
	BODY_LAST_LF,
	BODY_DONE
};

struct route_body {
	bool chunked;
	enum body_state state;
	uint64_t left;
	unsigned digits;
};

void route_body_init(struct route_body *b, const struct route_ask *a);
/* Of `n` bytes that came: *used are taken, so many of the body are in out.  -1: they are none. */
ssize_t route_body_take(
	struct route_body *b, const char *bytes, size_t n, char *out, size_t cap, size_t *used);

/* --- the answer's head --- */

struct route_answer {
	struct str lines; /* "Name: value\r\n" */
	int status;
	char reason[64];
	bool encoded; /* in a way that could hide a key */
	bool events;
};

/* One line as it came. */
void answer_line(struct route_answer *a, const char *line, size_t n);

/* --- the loop --- */

/* The client's socket and what it has said become the routes'. */
void route_begin(struct end *end, int client, uint8_t *in, size_t nin, uint64_t id);
/* Those that wait for the agent's rate are counted; some time later they go on. */
void route_count_waiting(const struct end *end, unsigned waiting[END_WAYS]);
void route_rate_go_on(struct end *end);
/* After rules or routes changed: what may not be is closed. */
void route_judge_again(struct end *end, bool all);
/* On the control connection. */
int routes_told(struct end *end, const char *text, size_t len, struct err *e);

/* --- route_curl.c: libcurl on the end's loop, loaded when the first routes are told --- */

struct route_curl *route_curl_load(uv_loop_t *loop, struct err *e);

#define TRANSFER_LATER ((size_t)-1)
#define TRANSFER_FAIL ((size_t)-2)

/* One request.  All but `done` are called by libcurl: they may not cancel it. */
struct transfer {
	void *ctx;
	size_t (*give)(void *ctx, char *out, size_t cap); /* bytes of the body; 0: that was all */
	int (*head)(void *ctx, const char *line, size_t n);
	size_t (*body)(void *ctx, const char *bytes, size_t n);
	void (*done)(void *ctx, const char *trouble); /* NULL: all has come */
	/* Before an address is dialled, and again (`connected`) before the request goes there: the connection may be that
	 * of an earlier one.  Not of the proxy's own. */
	bool (*reach)(void *ctx, const struct egress_address *a, bool connected);
	const char *login;               /* of `proxy`; NULL: none */
	const struct egress_rule *proxy; /* NULL: none */
	uint64_t
		rate; /* bytes a second; 0: no limit.  It is kept by give and body; pieces are small for it */
	struct egress_address
		at; /* that the proxy is asked for, in the name's place; family 0: none */
	void *easy, *headers, *via; /* NULL: none */
	struct route_curl *curl;
};

int transfer_begin(
	struct transfer *t, const struct route *r, const struct route_ask *a, struct err *e);
int64_t transfer_length(const struct transfer *t); /* of the answer's body; -1: it does not say */
/* What was told to be later may be now. */
void transfer_go_on(struct transfer *t);
void transfer_end(struct transfer *t); /* NULL members are fine */

#endif
