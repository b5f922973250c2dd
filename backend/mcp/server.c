/* server.c - starts the server and shuts it down in order. */
#include "mcp/tools_verbs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "audit/audit.h"
#include "job/board.h"

#define HEAPS 4
/* Without a call that ends, once the client has closed its end: then the rest is cancelled.  Long enough for a machine that
 * stands still for a second while it swaps.  A client that is slow to read what it asked for has longer. */
#define LAST_MS 5000
#define LAST_READ_MS 10000
#define END_S 15 /* for what was cancelled then and is stuck in the kernel */

static bool client_left(const struct server *s)
{
	struct pollfd p[2] = {{s->o->out, 0, 0}, {s->o->stop, POLLIN, 0}};

	return s->gone || poll(p, 2, 0) < 0 || p[0].revents & (POLLERR | POLLNVAL) || p[1].revents;
}

/* A client that lives and reads nothing keeps whoever writes to it, and those that wait for him: no call ends in order any more,
 * and the kernel ends us.  (TSan 14 does not know pthread_mutex_clocklock.) */
static bool is_client_stuck(struct server *s)
{
	const struct timespec nap = {0, 10000000};
	int64_t until = clock_mono_ns() + LEAVE_MS * 1000000ll;

	while (pthread_mutex_trylock(&s->out_lock)) {
		if (clock_mono_ns() >= until)
			return true;
		nanosleep(&nap, NULL);
	}
	pthread_mutex_unlock(&s->out_lock);
	return false;
}

/* What was asked before the client closed its end is answered, as long as somebody reads it: no more can come, so there is
 * an end, however slow the machine is. */
static void finish_calls(struct server *s, bool answers)
{
	int64_t now = clock_mono_ns(), until = now + LAST_MS * 1000000ll,
		read_until = now + LAST_READ_MS * 1000000ll;
	size_t ended = 0, n;

	for (; answers && !client_left(s) && now < until; now = clock_mono_ns()) {
		if (calls_idle(s, &n))
			return;
		if (n != ended)
			read_until = now + LAST_READ_MS * 1000000ll;
		if (n != ended || (s->writing && now < read_until))
			until = now + LAST_MS * 1000000ll;
		ended = n;
	}
	alarm(END_S);
	atomic_store(&s->leaving, true);
	calls_cancel(s, NULL);
	if (is_client_stuck(s))
		raise(SIGALRM);
}

static void release_server(struct server *s)
{
	audit_close(s->audit);
	files_close(s->opener);
	for (size_t i = 0; i < COUNT(s->queue); i++)
		pthread_cond_destroy(&s->queue[i].work);
	pthread_cond_destroy(&s->reading.change);
	pthread_cond_destroy(&s->less);
	pthread_mutex_destroy(&s->lock);
	pthread_mutex_destroy(&s->out_lock);
}

int server_begin(struct server *s, const struct mcp_options *o, struct err *e)
{
	const struct files_options fo = {.program = "mcp", .avoid = FILES_AVOID_BOARD};
	const struct audit_options ao = {.program = "mcp", .agent = o->agent ? o->agent->id : NULL};

	*s = (struct server){.o = o, .left = client_left};
	/* Many calls at once, in as many heaps as glibc would make, keep most of what they took. */
	mallopt(M_ARENA_MAX, HEAPS);
	/* What is started here is recorded as this agent's. */
	if (o->agent)
		setenv(AUDIT_FOR_AGENT, o->agent->id, 1);
	else
		unsetenv(AUDIT_FOR_AGENT);
	/* What is done as the user of the container is not done with root's groups. */
	if (geteuid() == 0 && setgroups(0, NULL) < 0)
		return err_sys(e, errno, "cannot give up root's groups");
	for (size_t i = 0; i < COUNT(s->queue); i++) {
		s->queue[i].last = &s->queue[i].first;
		pthread_cond_init(&s->queue[i].work, NULL);
	}
	pthread_mutex_init(&s->out_lock, NULL);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->less, NULL);
	pthread_cond_init(&s->reading.change, NULL);
	s->opener = files_open(&fo);
	s->audit = audit_open(&ao, e);
	if (!s->audit || (o->agent && reach_open(&s->reach, o->agent, o->policy, s->opener, e))) {
		release_server(s);
		return -1;
	}
	s->lacks = o->agent ? tool_lacks(s) : 0;
	/* Without one jobs are not shown. */
	s->board = board_open("mcp", NULL);
	s->shown = callboard_open(o->who, NULL);
	s->read = reads_new();
	s->commands = commands_new(s);
	s->tasks = tasks_new(s);
	s->listeners = listeners_new(s);
	return 0;
}

void server_end(struct server *s)
{
	atomic_store(&s->leaving, true);
	calls_end(s);
	listeners_end(s->listeners);
	tasks_free(s->tasks);
	commands_end(s->commands);
	reads_free(s->read);
	callboard_close(s->shown);
	board_close(s->board);
	reach_close(&s->reach);
	release_server(s);
}

int mcp_serve(const struct mcp_options *o, struct err *e)
{
	struct server s;

	if (server_begin(&s, o, e))
		return -1;
	finish_calls(&s, reading_run(&s));
	server_end(&s);
	return 0;
}
