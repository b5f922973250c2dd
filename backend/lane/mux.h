/*
 * mux.h - many connections over one stream of bytes each way: a container's relay, where no descriptor crosses.
 *
 * One end is inside and takes in connections, the other is the host's and is handed each as a socket of its own.  The
 * stream is the input and output of a program that the engine runs in that container (guest/relay.c): who speaks on it is
 * in there, whatever he says.  So all that the other end says is hostile: a frame is of a known kind, bounded, of a
 * connection that is there, and within the bytes that were granted to it, or the whole relay ends.
 *
 *   frame   type, connection, n (host order: one machine), and behind MUX_DATA n bytes
 *   HELLO   first of all, from the host; answered, n is errno.  Once more from who will serve it: then it begins
 *   OPEN    from inside alone
 *   DATA    at most MUX_PIECE bytes, and no more under way than MUX_WINDOW
 *   TAKEN   n bytes of it were taken, so many more may come
 *   END     nothing more comes on that connection
 *   CLOSE   the sender is done with it; its number is free when both have said so
 *
 * Memory: a window of MUX_WINDOW for each connection, and one buffer of output: a side whose output is full reads nothing
 * more from its sockets.
 *
 * Used by the static guest as well as by the host: libc only.  Thread: its owner's.
 */
#ifndef LANE_MUX_H
#define LANE_MUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUX_STREAMS 256
#define MUX_WINDOW 65536u
#define MUX_PIECE 16384u
#define MUX_OUT 131072u
#define MUX_LISTENERS 2

enum mux_type { MUX_HELLO = 1, MUX_OPEN, MUX_DATA, MUX_TAKEN, MUX_END, MUX_CLOSE };

struct mux_frame {
	uint8_t type, zero;
	uint16_t stream;
	uint32_t n;
};

struct mux_stream {
	int fd;          /* -1: closed here */
	bool used;       /* its number is taken */
	uint32_t events; /* that are waited for; 0: none */
	uint8_t *ring;   /* of MUX_WINDOW, what came for fd and it has not taken */
	uint32_t at, held;
	uint32_t may;             /* bytes that may still be sent */
	uint32_t taken;           /* to be told */
	bool ended, end_sent;     /* fd said its last; so it was told */
	bool other_ended, passed; /* the other end did; and fd was told */
	bool close_sent, other_closed;
};

struct mux {
	int in, out; /* one socket, or two pipes; -1: over */
	bool inside; /* it takes connections in; else it is handed them */
	bool engine; /* what comes is in the engine's own frames: outputs apart, of which the first counts */
	bool waits; /* output does, for the other end to read */
	int epoll;  /* readable: mux_turn has something to do */
	int listener[MUX_LISTENERS], nlisteners;
	bool full; /* nobody more is taken in: they are not looked at */
	/* The host's: what to do with a new connection, whose descriptor becomes the callee's. */
	void (*opened)(void *ctx, int fd);
	void *ctx;
	uint8_t head[8]; /* of the engine's frame */
	uint32_t nhead, left;
	bool skip;
	uint8_t frame[sizeof(struct mux_frame) + MUX_PIECE];
	uint32_t nframe;
	uint8_t *write; /* MUX_OUT */
	uint32_t nwrite, sent;
	uint32_t open; /* connections whose number is taken */
	struct mux_stream stream[MUX_STREAMS];
};

/* Large and all zeroes at first; the descriptors become its own, non-blocking.  -1 with errno. */
int mux_open(struct mux *m, int in, int out, const int *listeners, int nlisteners);
/* What can be done now, after at most wait_ms.  -1: it is over, errno is 0 where the other end hung up, EPROTO where it
 * said what it may not. */
int mux_turn(struct mux *m, int wait_ms);
void mux_close(struct mux *m);

/* The host's first word, and the answer: 0, or -1 with errno, which may be the other end's own.  `fd` is of the engine's
 * frames and not read further. */
int mux_greet(int fd, int timeout_ms);
/* Inside: waits for it and answers. */
int mux_greeted(int in);
int mux_answer(int out, int errnum);

#endif
