/*
 * end.h - shared by the files of an egress process: end.c (the process), link.h (a connection), control.c (requests of
 * people), asked.c (questions to people).
 *
 * One process, one loop, one agent.  It accepts on sockets that the agent's init made inside, dials on the host, and knows
 * that agent's rules only.  It ends with the init.
 */
#ifndef EGRESS_END_H
#define EGRESS_END_H

#include <stdio.h>
#include <uv.h>

#include <berth/egress.h>

#include "egress/egress.h"
#include "egress/relay.h"

#define END_LINKS_MAX 1024
#define END_LINK_FDS 6    /* of one: two sockets, and a pipe each way */
#define END_SPARE_FDS 128 /* for names that are looked up, people, and the loop */
#define END_LISTENERS 2
enum { END_UP, END_DOWN, END_WAYS }; /* from and to the agent */
#define END_WATCHERS 8
#define END_GRANTS 16

struct link;
struct wish;

struct watcher { /* a person who can be asked */
	uv_poll_t poll;
	struct end *end;
	int conn;          /* -1: free, once libuv has let go of it */
	bool used, behind; /* behind: it has not had the newest */
};

/* What asked.c keeps. */
struct asking {
	struct egress_asked at[EGRESS_ASKED_MAX];
	size_t n;
	struct watcher watcher[END_WATCHERS];
	size_t watchers;
	struct wish *wishes; /* requests by words that wait */
	struct {             /* allowed once, and nobody has come yet */
		struct egress_target to;
		int64_t until_ns;
	} grant[END_GRANTS];
	size_t ngrants;
	uv_timer_t push;
};
struct routes;
struct mux;

struct end {
	uv_loop_t loop;
	uv_poll_t listener[END_LISTENERS], control, guest;
	int nlisteners;
	struct mux *mux; /* in the listeners' place; NULL */
	uv_poll_t mux_poll;
	struct egress_rule rules[EGRESS_RULES_MAX];
	size_t nrules;
	struct link *links;
	struct routes *routes;
	struct relay_pipes pipes;
	unsigned links_max;
	struct relay_rate rate[END_WAYS];
	uv_timer_t rate_timer;
	struct egress_event
		event[EGRESS_EVENTS_MAX]; /* a ring; event id is at id % EGRESS_EVENTS_MAX */
	uint64_t
		last_id; /* of the newest event; who is turned away when all places are taken has none */
	struct egress_usage usage;
	struct egress_reached reached[EGRESS_REACHED_MAX + 1]; /* the last: all others */
	size_t nreached;                                       /* without that */
	struct asking asking;
};

/* No file, no program, no privilege, no memory for others to read: from here on the agent's bytes may do what they like.
 * Root becomes nobody. */
int end_confine(struct err *e);
/* How many connections, of `each` descriptors, there is room for: at most `most`.  One that cannot be accepted for want of them
 * would keep the loop busy. */
unsigned end_room_for(unsigned most, unsigned each);

/* A client has come (link.c owns the descriptor). */
void link_begin(struct end *end, int client);
/* After the rules changed: what they allow no longer is closed. */
void link_judge_again(struct end *end);
/* The limit of its rules, for all that passes from then on. */
void link_set_rate(struct end *end);
void link_open_rate(struct end *end);
/* Something waits for its rate: a connection, or a request of a route. */
static inline void end_await_rate(struct end *end)
{
	if (!uv_is_active((uv_handle_t *)&end->rate_timer))
		uv_timer_again(&end->rate_timer);
}
/* The bytes so far of those that are open are added to their events. */
void link_count(struct end *end);

static inline struct egress_event *end_event(struct end *end, uint64_t id)
{
	struct egress_event *e = &end->event[id % EGRESS_EVENTS_MAX];

	return id && e->id == id ? e : NULL;
}

/* One request on a control connection.  True: it is kept open, and closed later. */
bool control_answer(struct end *end, int conn, uid_t owner);

/* A connection held for `to` may go on, or is refused for `v`. */
void link_allow_held(struct end *end, const struct egress_target *to);
void link_refuse_held(struct end *end, enum egress_verdict v);

/* --- addresses.c --- */
/* v4 mapped into v6 as v4. */
struct egress_address address_read(const struct sockaddr *at);
int address_parse(const char *text, struct egress_address *ret);
/* That names the address itself; NULL: none. */
const struct egress_rule *address_rule(
	const struct end *end, const struct egress_address *a, uint16_t port);
/* That denies it, as it stands or as the v4 address that it carries; NULL: none. */
const struct egress_rule *address_denial(
	const struct end *end, const struct egress_address *a, uint16_t port);
/* What an allowed name comes to. */
bool address_may_be_dialled(const struct end *end, const struct egress_address *a, uint16_t port);
/* The proxy that is asked for it.  NULL: it is this machine's, or everything is dialled from here. */
const struct egress_rule *address_upstream(const struct end *end, const struct egress_address *a);

/* --- reached.c --- */
/* A connection to it passes bytes from now on, or the server of a route does; what it returns stays. */
struct egress_reached *reached_add(struct end *end, const struct egress_target *to, bool by_route);
/* NULL is fine: it has not got there. */
void reached_count(struct egress_reached *r, uint64_t up, uint64_t down);

/* --- asked.c --- */
void asked_open(struct end *end);
enum asked { ASKED_REFUSE, ASKED_ALONE, ASKED_FULL, ASKED_HELD, ASKED_GRANTED };
/* No rule decides on `to`: may it wait for a person?  HELD: asked_left is called when it waits no longer. */
enum asked asked_join(struct end *end, const struct egress_target *to, uint16_t port);
void asked_left(struct end *end, const struct egress_target *to);
/* Rules are other ones: what they decide is asked no longer. */
void asked_settle(struct end *end);
/* Bytes moved, or somebody came: those who watch hear of it within a second. */
void asked_traffic(struct end *end);
void asked_tell_queue(struct end *end, int conn);
/* The connection is theirs. */
bool asked_watch(struct end *end, int conn);
bool asked_wish(struct end *end, int conn, const struct egress_wish *w);
enum egress_verdict asked_decide(struct end *end, const struct egress_decision *d);

#endif
