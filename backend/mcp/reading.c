/*
 * reading.c - reads the client's messages, and runs a short call itself when nothing else is there to be read.
 *
 * To wake another thread takes longer than to read a cached file.  Of two threads one reads and the other watches it: where a
 * call keeps the reader for longer than STUCK_NS (a slow disk, memory that others hold), the watcher reads on in its place, so
 * a cancellation and other calls are never behind it, and the reader of before watches once it has answered.
 */
#include "mcp/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define CHUNK 65536
#define STUCK_NS 1000000ll
#define WATCH_MS 1
#define QUIET_NS 50000000ll /* after the last call that the reader ran the watcher sleeps */

static void take_message_line(void *ctx, const char *text, size_t n)
{
	struct server *s = ctx;

	if (text)
		session_message(s, text, n);
	else
		message_fail(s, NULL, -32600, "A message is longer than 64 MiB.");
}

/* Not 0: there are bytes, or an end; 0: for the time of a rest there was neither. */
static int poll_client(const struct server *s, struct pollfd p[3], bool rests)
{
	int n;

	p[0] = (struct pollfd){s->o->in, POLLIN, 0};
	p[1] = (struct pollfd){s->o->out, 0, 0};
	p[2] = (struct pollfd){s->o->stop, POLLIN, 0};
	do
		n = poll(p, 3, rests ? -1 : REST_S * 1000);
	while (n < 0 && errno == EINTR);
	return n;
}

/* false: the client has closed its end, has gone away, or somebody wants an end. */
static bool wait_for_bytes(struct server *s, struct worker *w)
{
	struct pollfd p[3];
	bool rests = !w;
	int n;

	while (!(n = poll_client(s, p, rests))) {
		calls_rest(w, true);
		rests = true;
	}
	if (w && rests)
		calls_rest(w, false);
	return n > 0 && !s->gone && !(p[1].revents & (POLLERR | POLLNVAL)) && !p[2].revents &&
		!(p[0].revents & POLLNVAL);
}

/* The one message of what was read last: the reader may run its call.  Not while there is more to be read. */
static bool is_alone(const struct server *s, const char *bytes, size_t n)
{
	return s->reading.watched && memchr(bytes, '\n', n) == bytes + n - 1 &&
		poll(&(struct pollfd){s->o->in, POLLIN, 0}, 1, 0) == 0;
}

/* false: meanwhile the other took over. */
static bool run_here(struct server *s, struct worker *w)
{
	struct reading *r = &s->reading;
	struct call *c = STEAL(s->here);
	bool mine, wake;

	if (!c)
		return true;
	pthread_mutex_lock(&s->lock);
	r->here_ns = r->last_ns = clock_mono_ns();
	wake = r->sleeps;
	pthread_mutex_unlock(&s->lock);
	if (wake)
		pthread_cond_broadcast(&r->change);
	calls_run_here(w, c);
	pthread_mutex_lock(&s->lock);
	mine = r->reader == w;
	if (mine)
		r->here_ns = 0;
	pthread_mutex_unlock(&s->lock);
	return mine;
}

static void end_reading(struct server *s, bool whole)
{
	pthread_mutex_lock(&s->lock);
	s->reading.over = true;
	s->reading.whole = whole;
	pthread_mutex_unlock(&s->lock);
	pthread_cond_broadcast(&s->reading.change);
}

/* Until its end, or until the other takes over: what it read is worked on by then. */
static void read_messages(struct server *s, struct worker *w)
{
	struct client_lines l = {
		.most = MCP_LINE_MAX, .take = take_message_line, .ctx = s, .held = STR_INIT};
	char *buf = xmalloc(CHUNK);
	bool ended = false, mine = true;

	while (mine && !ended && wait_for_bytes(s, w)) {
		ssize_t n = read(s->o->in, buf, CHUNK);

		if (n > 0) {
			s->may_run = is_alone(s, buf, (size_t)n);
			client_lines_split(&l, buf, (size_t)n);
			s->may_run = false;
			mine = run_here(s, w);
		}
		ended = n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN);
	}
	if (ended)
		client_lines_end(&l);
	if (mine)
		end_reading(s, ended);
	client_lines_release(&l);
	free(buf);
}

/* Under the lock. */
static bool is_reader_stuck(const struct reading *r)
{
	return r->here_ns && clock_mono_ns() - r->here_ns > STUCK_NS;
}

/* Under the lock. */
static void watch_reader(struct worker *w)
{
	struct server *s = w->server;
	struct reading *r = &s->reading;
	bool rests = false;

	r->watched = true;
	while (!r->over && !is_reader_stuck(r)) {
		bool busy = r->here_ns || clock_mono_ns() - r->last_ns < QUIET_NS;
		struct timespec until = clock_in_ms(busy ? WATCH_MS : REST_S * 1000);

		r->sleeps = !busy;
		if (rests && !busy)
			pthread_cond_wait(&r->change, &s->lock);
		else if (pthread_cond_clockwait(&r->change, &s->lock, CLOCK_MONOTONIC, &until) ==
				ETIMEDOUT &&
			!busy) {
			calls_rest_locked(w, true);
			rests = true;
		}
		r->sleeps = false;
	}
	if (rests)
		calls_rest_locked(w, false);
	r->watched = false;
}

/* false: there is no more to be read. */
static bool become_reader(struct worker *w)
{
	struct server *s = w->server;
	struct reading *r = &s->reading;
	bool over;

	pthread_mutex_lock(&s->lock);
	if (r->reader != w) {
		watch_reader(w);
		r->reader = w;
		r->here_ns = 0;
	}
	over = r->over;
	pthread_mutex_unlock(&s->lock);
	return !over;
}

static void *serve_reading(void *ctx)
{
	struct worker *w = ctx;

	while (become_reader(w))
		read_messages(w->server, w);
	return NULL;
}

bool reading_run(struct server *s)
{
	struct reading *r = &s->reading;
	bool alone;

	pthread_mutex_lock(&s->lock);
	r->reader = calls_start_thread(s, &s->queue[QUEUE_SHORT], serve_reading);
	alone = !r->reader;
	if (!alone)
		calls_start_thread(s, &s->queue[QUEUE_SHORT], serve_reading);
	while (!alone && !r->over)
		pthread_cond_wait(&r->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
	if (alone)
		read_messages(s, NULL);
	return r->whole;
}
