/*
 * relay.h - bytes from one socket to another without touching them.
 *
 * Through a pipe by splice(2), in one direction; a connection has two.  Pipes are lent while bytes are in them, so that
 * a thousand idle connections hold none.  Thread: the loop's.
 */
#ifndef EGRESS_RELAY_H
#define EGRESS_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_SPARE 32

struct relay_pipes { /* of one end */
	int spare[RELAY_SPARE][2];
	int n;
};

struct relay_rate {        /* of all connections and requests of an agent, in one direction */
	uint64_t a_second; /* bytes; 0: there is no limit */
	uint64_t left;     /* that may pass now */
	uint64_t owed;     /* that passed before it might, to be waited for first */
	uint64_t share;    /* of it in a turn; 0: it is not enough yet for all that wait */
	int64_t at_ns;     /* when that was counted */
};

struct relay {
	int from, to;
	int pipe[2];
	size_t held;              /* bytes in the pipe */
	uint64_t moved;           /* bytes delivered */
	uint64_t left;            /* so many may still be read */
	struct relay_rate *rate;  /* NULL: none */
	bool lent, ended, passed; /* a pipe is ours; nothing more comes; and `to` was told */
	bool starved;             /* by its rate: not to be read before it may be again */
};

#define RELAY_ALL UINT64_MAX

void relay_init(struct relay *r, int from, int to, uint64_t most, struct relay_rate *rate);
/* Time has passed; so many connections wait for it. */
void relay_rate_go_on(struct relay_rate *rate, unsigned waiting);
/* So many of `want` bytes may pass now, and are counted; 0: they must wait. */
size_t relay_rate_take(struct relay_rate *rate, size_t want);
/* The same for what cannot be cut in two.  False: it must wait. */
bool relay_rate_take_whole(struct relay_rate *rate, size_t bytes);
/* So many pass in any case: what comes next waits for them. */
void relay_rate_owe(struct relay_rate *rate, size_t bytes);
/* Move what can be moved now.  -1: the connection is broken. */
int relay_move(struct relay *r, struct relay_pipes *pipes);
bool relay_wants_read(const struct relay *r);
bool relay_wants_write(const struct relay *r);
void relay_release(struct relay *r, struct relay_pipes *pipes);
void relay_pipes_release(struct relay_pipes *pipes);

#endif
