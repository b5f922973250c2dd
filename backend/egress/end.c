/* end.c - runs the event loop of an agent's egress process. */
#include "egress/end.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "egress/routes.h"
#include "lane/mux.h"

#define ACCEPTS_AT_ONCE 64

static void on_agent(uv_poll_t *p, int status, int events)
{
	struct end *end = p->data;

	(void)events;
	for (int i = 0; !status && i < ACCEPTS_AT_ONCE; i++) {
		int fd, client;

		if (uv_fileno((uv_handle_t *)p, &fd))
			return;
		client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (client < 0)
			return;
		link_begin(end, client);
	}
}

/* A relay that is over, by itself or for what it said, is replaced with this process. */
static void on_relay(uv_poll_t *p, int status, int events)
{
	struct end *end = p->data;

	(void)events;
	if (status || mux_turn(end->mux, 0))
		uv_stop(&end->loop);
}

static void on_relayed_client(void *ctx, int fd)
{
	link_begin(ctx, fd);
}

struct asked_by {
	uid_t owner;
	struct end *end;
};

static void on_person(uv_poll_t *p, int status, int events)
{
	const struct asked_by *by = p->data;
	int fd, conn;

	(void)events;
	/* libuv made it not to wait, and what is accepted waits as control_answer says. */
	if (status || uv_fileno((uv_handle_t *)p, &fd))
		return;
	conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (conn < 0)
		return;
	if (!control_answer(by->end, conn, by->owner))
		close(conn);
}

static void on_agent_gone(uv_poll_t *p, int status, int events)
{
	(void)status;
	(void)events;
	uv_stop(p->loop);
}

static int watch_fd(struct end *end, uv_poll_t *p, int fd, void *data, uv_poll_cb fn)
{
	if (uv_poll_init(&end->loop, p, fd))
		return -1;
	p->data = data;
	return uv_poll_start(p, UV_READABLE, fn);
}

static int watch_relay(struct end *end)
{
	end->mux = xcalloc(1, sizeof *end->mux);
	end->mux->engine = true;
	end->mux->opened = on_relayed_client;
	end->mux->ctx = end;
	end->usage.relayed = 1;
	if (mux_open(end->mux, EGRESS_FD_LISTENER, EGRESS_FD_LISTENER, NULL, 0) ||
		mux_turn(end->mux, 0))
		return -1;
	return watch_fd(end, &end->mux_poll, end->mux->epoll, end, on_relay);
}

static int watch_listeners(struct end *end, int count)
{
	int n = 0;

	if (!count)
		return watch_relay(end);
	while (n < count && n < END_LISTENERS) {
		fcntl(EGRESS_FD_LISTENER + n, F_SETFL, O_NONBLOCK);
		if (watch_fd(end, &end->listener[n], EGRESS_FD_LISTENER + n, end, on_agent))
			return -1;
		n++;
	}
	return n ? 0 : -1;
}

/* The number of the process that the descriptor holds, before this one gives up reading such files. */
static int32_t read_held_pid(int pidfd)
{
	AUTO_STR struct str text = STR_INIT;
	char path[64];
	const char *at;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	if (file_read(AT_FDCWD, path, 0, 4096, &text, NULL))
		return 0;
	at = strstr(text.s, "Pid:");
	return at ? (int32_t)strtol(at + 4, NULL, 10) : 0;
}

int egress_main(const char *rules, int listeners, struct err *e)
{
	AUTO_FREE struct end *end = xcalloc(1, sizeof *end);
	struct asked_by by = {geteuid(), end};
	AUTO_STR struct str text = STR_INIT;

	/* splice has no flag against it: a client that goes while it is sent to would end the end. */
	signal(SIGPIPE, SIG_IGN);
	end->usage.since_ms = clock_wall_ms();
	end->usage.init = read_held_pid(EGRESS_FD_GUEST);
	end->usage.self = getpid();
	end->routes = xcalloc(1, sizeof *end->routes);
	str_init(&end->routes->told);
	str_init(&end->routes->login);
	end->routes->figures = figures_map(rules);
	if (file_read(AT_FDCWD, rules, O_NOFOLLOW, EGRESS_RULES_BYTES, &text, e) ||
		egress_read_rules(text.s, text.len, end->rules, &end->nrules, e) || end_confine(e))
		return -1;
	end->links_max = end_room_for(END_LINKS_MAX, END_LINK_FDS);
	if (uv_loop_init(&end->loop) || watch_listeners(end, listeners) ||
		watch_fd(end, &end->control, EGRESS_FD_CONTROL, &by, on_person) ||
		watch_fd(end, &end->guest, EGRESS_FD_GUEST, end, on_agent_gone))
		return err_set(e, ERR_FAILED, "berth-egress is started by berth up, not by hand");
	asked_open(end);
	link_open_rate(end);
	uv_run(&end->loop, UV_RUN_DEFAULT);
	if (end->mux)
		mux_close(end->mux);
	free(end->mux);
	relay_pipes_release(&end->pipes);
	routes_release(end->routes);
	return 0;
}
