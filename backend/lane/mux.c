/* mux.c - multiplexes connections over one byte stream (mux.h). */
#include "lane/mux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define READ_BYTES 65536
#define ROUNDS_MAX 16 /* of reading, in one turn */
#define EVENTS_MAX 64
#define ACCEPTS_MAX 64
#define ENGINE_HEAD 8u /* kind of output, three zeroes, length with its highest byte first */
#define ENGINE_OUTPUT 1
#define HEAD_BYTES ((uint32_t)sizeof(struct mux_frame))

enum { TAG_IN = MUX_STREAMS, TAG_OUT, TAG_LISTENER }; /* below: a connection */

/* -- what is waited for --------------------------------------------------------------------------- */

static int wait_for_fd(const struct mux *m, int fd, uint32_t tag, uint32_t *now, uint32_t events)
{
	/* With nothing to wait for there is still its end, which would be told for ever. */
	struct epoll_event ev = {.events = events ? events : EPOLLET, .data.u32 = tag};
	int how = *now ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

	if (*now == ev.events)
		return 0;
	*now = ev.events;
	return epoll_ctl(m->epoll, how, fd, &ev);
}

static uint32_t mux_room(const struct mux *m)
{
	return MUX_OUT - m->nwrite;
}

/* -- output --------------------------------------------------------------------------------------- */

static void put_mux_frame(struct mux *m, enum mux_type type, unsigned stream, uint32_t n)
{
	const struct mux_frame f = {(uint8_t)type, 0, (uint16_t)stream, n};

	memcpy(m->write + m->nwrite, &f, sizeof f);
	m->nwrite += HEAD_BYTES;
}

static void free_stream(struct mux *m, struct mux_stream *s)
{
	free(s->ring);
	*s = (struct mux_stream){.fd = -1};
	m->open--;
}

static void hang_up_stream(struct mux_stream *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

/* What its owner has still to be told of it, as far as there is room: a frame at most of each kind. */
static void tell_stream(struct mux *m, unsigned i)
{
	struct mux_stream *s = &m->stream[i];

	if (mux_room(m) < 3 * HEAD_BYTES)
		return;
	if (s->fd >= 0 && s->taken) {
		put_mux_frame(m, MUX_TAKEN, i, s->taken);
		s->taken = 0;
	}
	if (s->ended && !s->end_sent && !s->close_sent) {
		put_mux_frame(m, MUX_END, i, 0);
		s->end_sent = true;
	}
	/* Both directions are over, or it broke. */
	if (s->fd >= 0 && s->end_sent && s->passed)
		hang_up_stream(s);
	if (s->fd < 0 && !s->close_sent) {
		put_mux_frame(m, MUX_CLOSE, i, 0);
		s->close_sent = true;
	}
	if (s->close_sent && s->other_closed)
		free_stream(m, s);
}

/* 0 all of it, or what the other end takes now; -1 it is gone. */
static int write_mux(struct mux *m)
{
	while (m->sent < m->nwrite) {
		ssize_t n = write(m->out, m->write + m->sent, m->nwrite - m->sent);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n <= 0)
			return errno = errno == EPIPE || errno == ECONNRESET ? 0 : errno, -1;
		m->sent += (uint32_t)n;
	}
	m->nwrite -= m->sent;
	memmove(m->write, m->write + m->sent, m->nwrite);
	m->sent = 0;
	return 0;
}

/* -- connections ---------------------------------------------------------------------------------- */

/* What its socket says, for the other end. */
static void read_mux_client(struct mux *m, unsigned i, bool gone)
{
	struct mux_stream *s = &m->stream[i];
	uint32_t room = mux_room(m) / 2; /* the other half is for those who have a word to say */
	uint32_t most = s->may < MUX_PIECE ? s->may : MUX_PIECE;
	ssize_t n;

	/* Its other side is closed altogether: what it has not read nobody will. */
	if (s->ended && gone)
		hang_up_stream(s);
	if (s->ended || !most || room < HEAD_BYTES + most)
		return;
	n = read(s->fd, m->write + m->nwrite + HEAD_BYTES, most);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		hang_up_stream(s);
	} else if (!n) {
		s->ended = true;
		if (gone)
			hang_up_stream(s);
	} else {
		put_mux_frame(m, MUX_DATA, i, (uint32_t)n);
		m->nwrite += (uint32_t)n;
		s->may -= (uint32_t)n;
	}
}

/* What came for its socket. */
static void write_client(struct mux_stream *s)
{
	while (s->fd >= 0 && s->held) {
		uint32_t piece = MUX_WINDOW - s->at < s->held ? MUX_WINDOW - s->at : s->held;
		ssize_t n = send(s->fd, s->ring + s->at, piece, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			hang_up_stream(s);
			return;
		}
		s->at = (s->at + (uint32_t)n) % MUX_WINDOW;
		s->held -= (uint32_t)n;
		s->taken += (uint32_t)n;
	}
	if (s->fd >= 0 && s->other_ended && !s->passed) {
		shutdown(s->fd, SHUT_WR);
		s->passed = true;
	}
}

static int begin_stream(struct mux *m, unsigned i, int fd)
{
	struct mux_stream *s = &m->stream[i];

	*s = (struct mux_stream){
		.fd = fd, .used = true, .may = MUX_WINDOW, .ring = malloc(MUX_WINDOW)};
	m->open++;
	return s->ring ? 0 : -1;
}

static void watch_stream(const struct mux *m, unsigned i)
{
	struct mux_stream *s = (struct mux_stream *)&m->stream[i];
	uint32_t events = 0;

	if (s->fd < 0)
		return;
	if (!s->ended && s->may && mux_room(m) / 2 >= HEAD_BYTES + MUX_PIECE)
		events |= EPOLLIN;
	if (s->held)
		events |= EPOLLOUT;
	wait_for_fd(m, s->fd, i, &s->events, events);
}

static unsigned find_free_stream(const struct mux *m)
{
	unsigned i = 0;

	while (i < MUX_STREAMS && m->stream[i].used)
		i++;
	return i;
}

/* Inside: clients beyond the last number wait in the listener's queue. */
static void accept_clients(struct mux *m, int listener)
{
	for (int i = 0; i < ACCEPTS_MAX && mux_room(m) >= HEAD_BYTES; i++) {
		unsigned at = find_free_stream(m);
		int fd = at == MUX_STREAMS
			? -1
			: accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0)
			return;
		if (begin_stream(m, at, fd)) {
			close(fd);
			free_stream(m, &m->stream[at]);
			return;
		}
		put_mux_frame(m, MUX_OPEN, at, 0);
	}
}

/* The host: a socket for who serves it. */
static int hand_stream(struct mux *m, unsigned i)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair))
		pair[0] = pair[1] = -1;
	if (begin_stream(m, i, pair[1])) {
		close(pair[0]);
		return errno = ENOMEM, -1;
	}
	/* Without a descriptor to spare it is closed as it is opened. */
	if (pair[0] >= 0)
		m->opened(m->ctx, pair[0]);
	return 0;
}

/* -- input ---------------------------------------------------------------------------------------- */

static int wrong_frame(void)
{
	return errno = EPROTO, -1;
}

static int take_data(struct mux_stream *s, const uint8_t *bytes, uint32_t n)
{
	uint32_t to = (s->at + s->held) % MUX_WINDOW, first = MUX_WINDOW - to;

	if (!n || s->other_ended || s->held + s->taken + n > MUX_WINDOW)
		return wrong_frame();
	if (s->fd < 0)
		return 0; /* it is closed here, and they have not heard of it yet */
	if (first > n)
		first = n;
	memcpy(s->ring + to, bytes, first);
	memcpy(s->ring, bytes + first, n - first);
	s->held += n;
	return 0;
}

static int take_mux_frame(struct mux *m, const struct mux_frame *f, const uint8_t *bytes)
{
	struct mux_stream *s = f->stream < MUX_STREAMS ? &m->stream[f->stream] : NULL;

	if (!s || f->zero || (f->type != MUX_DATA && f->type != MUX_TAKEN && f->n))
		return wrong_frame();
	if (f->type == MUX_OPEN)
		return m->inside || s->used ? wrong_frame() : hand_stream(m, f->stream);
	if (!s->used || s->other_closed)
		return wrong_frame();
	switch (f->type) {
	case MUX_DATA: return take_data(s, bytes, f->n);
	case MUX_TAKEN:
		if (f->n > MUX_WINDOW - s->may)
			return wrong_frame();
		s->may += f->n;
		return 0;
	case MUX_END:
		if (s->other_ended)
			return wrong_frame();
		s->other_ended = true;
		return 0;
	case MUX_CLOSE:
		/* Both have said so: the next frame may be of the next connection of that number. */
		if (s->close_sent) {
			free_stream(m, s);
			return 0;
		}
		s->other_closed = true;
		/* What came before it is still its client's. */
		s->other_ended = true;
		s->ended = true;
		s->end_sent = true;
		return 0;
	default: return wrong_frame();
	}
}

/* Bytes of frames, cut anywhere. */
static int feed_frames(struct mux *m, const uint8_t *bytes, size_t n)
{
	while (n) {
		struct mux_frame f;
		uint32_t want = HEAD_BYTES, take;

		if (m->nframe >= HEAD_BYTES) {
			memcpy(&f, m->frame, sizeof f);
			want += f.type == MUX_DATA ? f.n : 0;
		}
		take = want - m->nframe < n ? want - m->nframe : (uint32_t)n;
		memcpy(m->frame + m->nframe, bytes, take);
		m->nframe += take;
		bytes += take;
		n -= take;
		if (m->nframe < HEAD_BYTES)
			return 0;
		memcpy(&f, m->frame, sizeof f);
		if (f.type == MUX_DATA && (!f.n || f.n > MUX_PIECE))
			return wrong_frame();
		if (m->nframe < HEAD_BYTES + (f.type == MUX_DATA ? f.n : 0))
			continue;
		if (take_mux_frame(m, &f, m->frame + HEAD_BYTES))
			return -1;
		m->nframe = 0;
	}
	return 0;
}

/* The engine's own frames are taken off. */
static int feed_engine(struct mux *m, const uint8_t *bytes, size_t n)
{
	while (n) {
		if (m->left) {
			size_t take = m->left < n ? m->left : n;

			if (!m->skip && feed_frames(m, bytes, take))
				return -1;
			m->left -= (uint32_t)take;
			bytes += take;
			n -= take;
			continue;
		}
		m->head[m->nhead++] = *bytes++;
		n--;
		if (m->nhead < ENGINE_HEAD)
			continue;
		m->nhead = 0;
		m->skip = m->head[0] != ENGINE_OUTPUT;
		m->left = (uint32_t)m->head[4] << 24 | (uint32_t)m->head[5] << 16 |
			(uint32_t)m->head[6] << 8 | m->head[7];
	}
	return 0;
}

static int read_mux(struct mux *m)
{
	uint8_t buf[READ_BYTES];

	for (int i = 0; i < ROUNDS_MAX; i++) {
		ssize_t n = read(m->in, buf, sizeof buf);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return errno = n && errno != ECONNRESET ? errno : 0, -1;
		if (m->engine ? feed_engine(m, buf, (size_t)n) : feed_frames(m, buf, (size_t)n))
			return -1;
		if ((size_t)n < sizeof buf)
			return 0;
	}
	return 0;
}

/* -- the whole ------------------------------------------------------------------------------------ */

/* Output that waits is waited for, and nothing else of it. */
static int watch_output(struct mux *m)
{
	struct epoll_event ev = {.data.u32 = TAG_OUT};
	bool waits = m->nwrite > 0;
	int how;

	if (waits == m->waits)
		return 0;
	m->waits = waits;
	if (m->in == m->out) {
		ev.data.u32 = TAG_IN;
		ev.events = EPOLLIN | (waits ? EPOLLOUT : 0);
		return epoll_ctl(m->epoll, EPOLL_CTL_MOD, m->in, &ev);
	}
	ev.events = EPOLLOUT;
	how = waits ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
	return epoll_ctl(m->epoll, how, m->out, &ev);
}

int mux_open(struct mux *m, int in, int out, const int *listeners, int nlisteners)
{
	uint32_t none = 0;

	m->in = in;
	m->out = out;
	m->inside = nlisteners > 0;
	for (unsigned i = 0; i < MUX_STREAMS; i++)
		m->stream[i].fd = -1;
	m->write = malloc(MUX_OUT);
	m->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!m->write || m->epoll < 0 || fcntl(in, F_SETFL, O_NONBLOCK) ||
		fcntl(out, F_SETFL, O_NONBLOCK) || wait_for_fd(m, in, TAG_IN, &none, EPOLLIN))
		return -1;
	if (!m->inside)
		put_mux_frame(m, MUX_HELLO, 0, 0); /* somebody is there to be handed connections */
	while (m->nlisteners < nlisteners && m->nlisteners < MUX_LISTENERS) {
		uint32_t tag = TAG_LISTENER + (uint32_t)m->nlisteners;

		m->listener[m->nlisteners] = listeners[m->nlisteners];
		none = 0;
		if (wait_for_fd(m, listeners[m->nlisteners], tag, &none, EPOLLIN))
			return -1;
		m->nlisteners++;
	}
	return 0;
}

/* Who waits there would wake it for nothing. */
static int watch_mux_listeners(struct mux *m)
{
	bool full = m->open == MUX_STREAMS || mux_room(m) < HEAD_BYTES;

	for (int i = 0; full != m->full && i < m->nlisteners; i++) {
		struct epoll_event ev = {
			.events = full ? 0 : EPOLLIN, .data.u32 = TAG_LISTENER + (uint32_t)i};

		if (epoll_ctl(m->epoll, EPOLL_CTL_MOD, m->listener[i], &ev))
			return -1;
	}
	m->full = full;
	return 0;
}

int mux_turn(struct mux *m, int wait_ms)
{
	struct epoll_event ev[EVENTS_MAX];
	int n = epoll_wait(m->epoll, ev, EVENTS_MAX, wait_ms);
	bool input = false;

	for (int i = 0; i < n; i++) {
		uint32_t tag = ev[i].data.u32;

		if (tag >= TAG_LISTENER)
			accept_clients(m, m->listener[tag - TAG_LISTENER]);
		else if (tag == TAG_IN)
			input = true;
		else if (tag == TAG_OUT)
			continue; /* it is tried below */
		else if (m->stream[tag].fd >= 0 && ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
			read_mux_client(m, tag, ev[i].events & (EPOLLHUP | EPOLLERR));
	}
	if (input && read_mux(m))
		return -1;
	for (unsigned i = 0; m->open && i < MUX_STREAMS; i++)
		if (m->stream[i].used) {
			write_client(&m->stream[i]);
			tell_stream(m, i);
		}
	if (write_mux(m))
		return -1;
	for (unsigned i = 0; m->open && i < MUX_STREAMS; i++)
		if (m->stream[i].used)
			watch_stream(m, i);
	return watch_mux_listeners(m) || watch_output(m) ? -1 : 0;
}

void mux_close(struct mux *m)
{
	for (unsigned i = 0; i < MUX_STREAMS; i++)
		if (m->stream[i].used) {
			hang_up_stream(&m->stream[i]);
			free_stream(m, &m->stream[i]);
		}
	close(m->in);
	if (m->out != m->in)
		close(m->out);
	close(m->epoll);
	free(m->write);
	m->write = NULL;
	m->in = m->out = m->epoll = -1;
}

/* -- the first word ------------------------------------------------------------------------------- */

int mux_greet(int fd, int timeout_ms)
{
	const struct timeval limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	const struct mux_frame hello = {.type = MUX_HELLO};
	uint8_t got[ENGINE_HEAD + sizeof(struct mux_frame)];
	struct mux_frame f;
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) != (ssize_t)sizeof hello)
		return -1;
	n = recv(fd, got, sizeof got, MSG_WAITALL);
	if (n < 0)
		return errno = errno == EAGAIN ? ETIMEDOUT : errno, -1;
	if (n != (ssize_t)sizeof got)
		return errno = ECONNRESET, -1;
	memcpy(&f, got + ENGINE_HEAD, sizeof f);
	if (got[0] != ENGINE_OUTPUT || got[7] != sizeof f || f.type != MUX_HELLO || f.n > 4095)
		return wrong_frame();
	return f.n ? (errno = (int)f.n, -1) : 0;
}

int mux_greeted(int in)
{
	struct mux_frame f = {0};
	size_t got = 0;

	while (got < sizeof f) {
		ssize_t n = read(in, (char *)&f + got, sizeof f - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		got += (size_t)n;
	}
	return f.type == MUX_HELLO ? 0 : wrong_frame();
}

int mux_answer(int out, int errnum)
{
	const struct mux_frame f = {.type = MUX_HELLO, .n = (uint32_t)errnum};

	return write(out, &f, sizeof f) == (ssize_t)sizeof f ? 0 : -1;
}
