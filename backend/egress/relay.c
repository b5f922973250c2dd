/* relay.c - copies bytes between two sockets by splice(2). */
#include "egress/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES 65536
#define ROUNDS_MAX 16 /* in one turn; others want theirs */

void relay_init(struct relay *r, int from, int to, uint64_t most)
{
	*r = (struct relay){.from = from, .to = to, .pipe = {-1, -1}, .left = most, .ended = !most};
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
static int fill_pipe(struct relay *r)
{
	size_t want = r->left < PIPE_BYTES ? (size_t)r->left : PIPE_BYTES;
	ssize_t n =
		splice(r->from, NULL, r->pipe[1], NULL, want, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n < 0)
		return is_later(errno) ? 0 : -1;
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
	for (int round = 0; round < ROUNDS_MAX; round++) {
		int filled = 0, emptied = 0;

		if (!r->ended && !r->held) {
			if (borrow_pipe(r, pipes))
				return -1;
			filled = fill_pipe(r);
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
	return !r->ended && !r->held;
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
