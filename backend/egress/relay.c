/* relay.c - copies bytes between two sockets by splice(2). */
#include "egress/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>

#define PIPE_BYTES 65536
#define BURSTS_A_SECOND 4 /* so much of a second's bytes may come at once */
#define LEAST_BYTES 1024  /* that are worth a call */
#define ROUNDS_MAX 16     /* in one turn; others want theirs */

void relay_init(struct relay *r, int from, int to, uint64_t most, struct relay_rate *rate)
{
	*r = (struct relay){.from = from,
		.to = to,
		.pipe = {-1, -1},
		.left = most,
		.ended = !most,
		.rate = rate};
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void relay_rate_go_on(struct relay_rate *rate, unsigned waiting)
{
	uint64_t all = waiting ? waiting : 1, least = all * LEAST_BYTES,
		 burst = largest(rate->a_second / BURSTS_A_SECOND, least);
	int64_t now = clock_mono_ns();
	double passed = (double)(now - rate->at_ns) / 1e9,
	       more = (double)rate->left + passed * (double)rate->a_second,
	       paid = more < (double)rate->owed ? more : (double)rate->owed;

	rate->owed = rate->a_second ? rate->owed - (uint64_t)paid : 0;
	more -= paid;
	rate->left = more < (double)burst ? (uint64_t)more : burst;
	/* Before there is enough for all, who is asked first would have all of it, each time. */
	rate->share = rate->left < least ? 0 : rate->left / all;
	rate->at_ns = now;
}

/* Of `want` bytes so many may be read now. */
static size_t ask_rate(struct relay *r, size_t want, uint64_t turn)
{
	uint64_t may = r->rate->left < turn ? r->rate->left : turn;

	r->starved = may < want && may < LEAST_BYTES;
	return r->starved ? 0 : want < may ? want : (size_t)may;
}

size_t relay_rate_take(struct relay_rate *rate, size_t want)
{
	uint64_t turn = rate->left < rate->share ? rate->left : rate->share;
	size_t may = turn < want ? (size_t)turn : want;

	if (!rate->a_second)
		return want;
	if (may < want && may < LEAST_BYTES)
		return 0;
	rate->left -= may;
	return may;
}

void relay_rate_owe(struct relay_rate *rate, size_t bytes)
{
	rate->owed += rate->a_second ? bytes : 0;
}

bool relay_rate_take_whole(struct relay_rate *rate, size_t bytes)
{
	size_t some = relay_rate_take(rate, bytes);

	relay_rate_owe(rate, some ? bytes - some : 0);
	return some || !bytes;
}

static int borrow_pipe(struct relay *r, struct relay_pipes *pipes)
{
	if (r->lent)
		return 0;
	if (pipes->n) {
		pipes->n--;
		r->pipe[0] = pipes->spare[pipes->n][0];
		r->pipe[1] = pipes->spare[pipes->n][1];
	} else if (pipe2(r->pipe, O_CLOEXEC | O_NONBLOCK)) {
		return -1;
	}
	r->lent = true;
	return 0;
}

/* Only an empty one may serve another connection. */
static void return_pipe(struct relay *r, struct relay_pipes *pipes)
{
	if (!r->lent)
		return;
	if (!r->held && pipes->n < RELAY_SPARE) {
		pipes->spare[pipes->n][0] = r->pipe[0];
		pipes->spare[pipes->n][1] = r->pipe[1];
		pipes->n++;
	} else {
		close(r->pipe[0]);
		close(r->pipe[1]);
	}
	r->lent = false;
	r->held = 0;
}

static bool is_later(int errnum)
{
	return errnum == EAGAIN || errnum == EINTR;
}

/* 1 something came, 0 nothing now, -1 broken. */
static int fill_pipe(struct relay *r, uint64_t *turn)
{
	size_t want = r->left < PIPE_BYTES ? (size_t)r->left : PIPE_BYTES;
	bool limited = r->rate && r->rate->a_second;
	ssize_t n;

	if (limited && !(want = ask_rate(r, want, *turn)))
		return 0;
	n = splice(r->from, NULL, r->pipe[1], NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0)
		return is_later(errno) ? 0 : -1;
	if (limited) {
		r->rate->left -= (uint64_t)n;
		*turn -= (uint64_t)n;
	}
	r->held += (size_t)n;
	if (r->left != RELAY_ALL)
		r->left -= (uint64_t)n;
	r->ended = !n || !r->left;
	return n > 0;
}

static int empty_pipe(struct relay *r)
{
	/* Without SPLICE_F_MORE: it would keep the end of an answer back. */
	ssize_t n =
		splice(r->pipe[0], NULL, r->to, NULL, r->held, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return is_later(errno) ? 0 : -1;
	r->held -= (size_t)n;
	r->moved += (uint64_t)n;
	return n > 0;
}

int relay_move(struct relay *r, struct relay_pipes *pipes)
{
	uint64_t turn = r->rate ? r->rate->share : 0;

	r->starved = false;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int filled = 0, emptied = 0;

		if (!r->ended && !r->held) {
			if (borrow_pipe(r, pipes))
				return -1;
			filled = fill_pipe(r, &turn);
		}
		if (r->held)
			emptied = empty_pipe(r);
		if (filled < 0 || emptied < 0)
			return -1;
		if (!filled && !emptied)
			break;
	}
	if (!r->held)
		return_pipe(r, pipes);
	/* A limited direction stays open for the answer: the target was told how long the request is. */
	if (r->ended && !r->held && !r->passed) {
		if (r->left)
			shutdown(r->to, SHUT_WR);
		r->passed = true;
	}
	return 0;
}

bool relay_wants_read(const struct relay *r)
{
	return !r->ended && !r->held && !r->starved;
}

bool relay_wants_write(const struct relay *r)
{
	return r->held > 0;
}

void relay_release(struct relay *r, struct relay_pipes *pipes)
{
	return_pipe(r, pipes);
}

void relay_pipes_release(struct relay_pipes *pipes)
{
	while (pipes->n) {
		pipes->n--;
		close(pipes->spare[pipes->n][0]);
		close(pipes->spare[pipes->n][1]);
	}
}
