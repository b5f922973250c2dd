/*
 * terminals_keep.c - the process that keeps an agent's terminals.
 *
 * One loop, one container.  It opens nothing: what it works on comes by the socket.  It ends with its last terminal, and
 * these end with their commands, with their container, or with it.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <berth/confine.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/hold.h"

#define NOBODY 65534
#define FIRST_MS 30000 /* to be given a terminal */

struct keeping {
	uid_t owner;
	struct held *held[TERMINALS_MAX];
	size_t n;
};

static int give_up(struct err *e)
{
	signal(SIGPIPE, SIG_IGN);
	text_init();
	if (confine_begin(e))
		return -1;
	if (!geteuid() &&
		(setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
			setresuid(NOBODY, NOBODY, NOBODY)))
		return err_sys(e, errno, "cannot drop the privileges of root");
	return confine_calls(false, e);
}

static bool is_owner(int conn, uid_t owner)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return !getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) &&
		(peer.uid == owner || !peer.uid);
}

static void say_done(int conn, int32_t error)
{
	send(conn, &error, sizeof error, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static struct held *find_held(const struct keeping *all, const char *name)
{
	for (size_t i = 0; i < all->n; i++)
		if (!strncmp(all->held[i]->name, name, TERMINAL_NAME_MAX))
			return all->held[i];
	return NULL;
}

/* An errno; the descriptors are kept, or closed. */
static int take_terminal(struct keeping *all, const char *body, int screen, const int fds[3])
{
	struct terminals_keep k;
	struct held *h;

	memcpy(&k, body, sizeof k);
	if (find_held(all, k.name) || all->n == TERMINALS_MAX) {
		wire_close_all(fds, 3);
		close(screen);
		return all->n == TERMINALS_MAX ? EMFILE : EEXIST;
	}
	h = held_open(&k, screen, fds[0], fds[1], fds[2], NULL);
	if (!h)
		return EIO;
	all->held[all->n++] = h;
	return 0;
}

/* True: the connection waits for its end. */
static bool stop_terminal(struct keeping *all, const char *name, int conn)
{
	struct held *h = find_held(all, name);

	if (!h || lane_cancel(&h->c)) {
		say_done(conn, h ? EIO : ENOENT);
		return false;
	}
	/* Whoever asked before may have given up. */
	cleanup_close(&h->stopper);
	h->stopper = conn;
	return true;
}

/* Both: true if the connection is kept. */
static bool send_typed(struct keeping *all, const char *body, size_t n, int conn)
{
	struct terminals_sent sent = {.error = ENOENT};
	struct held *h = find_held(all, body);

	if (h)
		sent.error = held_send(h, conn, body, n);
	if (sent.error)
		send(conn, &sent, sizeof sent, MSG_NOSIGNAL | MSG_DONTWAIT);
	return !sent.error;
}

static bool attach_viewer(struct keeping *all, const char *body, int conn)
{
	struct terminals_attach a;
	struct held *h;
	int error = ENOENT;

	memcpy(&a, body, sizeof a);
	h = find_held(all, a.name);
	/* Said before anything else is. */
	if (h && h->viewers.n < VIEWERS_MAX)
		error = 0;
	else if (h)
		error = EUSERS;
	say_done(conn, error);
	return !error && !held_attach(h, conn, &a);
}

/* One or two messages, which are there already or come at once.  True: the connection is kept. */
static bool answer_wish(struct keeping *all, int conn)
{
	const struct timeval soon = {0, 200000};
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], n = 0, screen, error = EPROTO;
	struct lane_msg head;

	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	if (!is_owner(conn, all->owner) || wire_recv(conn, &head, body, fds, &n) <= 0)
		return false;
	if (head.type == TERMINALS_STOP && head.len == TERMINAL_NAME_MAX && !n)
		return stop_terminal(all, body, conn);
	if (head.type == TERMINALS_SEND && head.len >= sizeof(struct terminals_send) && !n)
		return send_typed(all, body, head.len, conn);
	if (head.type == TERMINALS_ATTACH && head.len == sizeof(struct terminals_attach) && !n)
		return attach_viewer(all, body, conn);
	if (head.type == TERMINALS_SHOW_IN && n == 1) {
		screen = fds[0];
		if (wire_recv(conn, &head, body, fds, &n) > 0 && head.type == TERMINALS_KEEP &&
			head.len == sizeof(struct terminals_keep) && n == 3) {
			error = take_terminal(all, body, screen, fds);
			n = 0;
		} else {
			close(screen);
		}
	}
	wire_close_all(fds, n);
	say_done(conn, error);
	return false;
}

static void on_wish(struct keeping *all)
{
	int conn = accept4(TERMINALS_FD_CONTROL, NULL, NULL, SOCK_CLOEXEC);

	if (conn >= 0 && !answer_wish(all, conn))
		close(conn);
}

static void drop_ended(struct keeping *all)
{
	for (size_t i = 0; i < all->n;) {
		struct held *h = all->held[i];

		if (!h->ended) {
			i++;
			continue;
		}
		if (h->stopper >= 0)
			say_done(h->stopper, 0);
		held_close(h);
		all->held[i] = all->held[--all->n];
	}
}

enum { P_CONN, P_OUT, P_IN, P_VIEWERS, P_EACH = P_VIEWERS + VIEWERS_MAX };

static struct pollfd poll_viewer(const struct viewers *all, size_t i)
{
	const struct viewer *v = &all->of[i];

	if (i >= all->n)
		return (struct pollfd){-1, 0, 0};
	return (struct pollfd){
		v->conn, (short)(POLLIN | (v->rest.len || !v->told ? POLLOUT : 0)), 0};
}

static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int fill_polls(const struct keeping *all, struct pollfd *p)
{
	int wait = all->n ? -1 : FIRST_MS;

	p[0] = (struct pollfd){TERMINALS_FD_CONTROL, POLLIN, 0};
	for (size_t i = 0; i < all->n; i++) {
		const struct held *h = all->held[i];
		struct pollfd *of = p + 1 + i * P_EACH;
		int due = h->waiting ? 0 : held_wait_ms(h), turn = held_turn_ms(h);

		of[P_CONN] = (struct pollfd){h->c.conn, POLLIN, 0};
		of[P_OUT] = (struct pollfd){h->c.out, POLLIN, 0};
		of[P_IN] = (struct pollfd){h->input.len ? h->c.in : -1, POLLOUT, 0};
		for (size_t k = 0; k < VIEWERS_MAX; k++)
			of[P_VIEWERS + k] = poll_viewer(&h->viewers, k);
		wait = sooner(sooner(wait, due), turn);
	}
	return wait;
}

static void turn_held(struct held *h, const struct pollfd *p)
{
	if (p[P_OUT].revents)
		held_read(h);
	if (p[P_IN].revents)
		held_write(h);
	/* From the last one on: one that is removed leaves its place to it. */
	for (size_t i = VIEWERS_MAX; i-- > 0;)
		if (p[P_VIEWERS + i].fd >= 0 && p[P_VIEWERS + i].revents & ~POLLOUT)
			held_hear_viewer(h, i);
	held_look(h);
	held_turn(h);
	if (p[P_CONN].revents)
		held_hear(h);
	else
		held_show(h, false);
}

int terminals_main(struct err *e)
{
	struct pollfd p[1 + TERMINALS_MAX * P_EACH];
	struct keeping all = {.owner = geteuid()};
	socklen_t len = sizeof(int);
	int type;

	if (getsockopt(TERMINALS_FD_CONTROL, SOL_SOCKET, SO_TYPE, &type, &len))
		return err_set(e, ERR_USAGE,
			"berth-terminal is started by berth terminal start, not by hand");
	if (give_up(e))
		return -1;
	do {
		size_t before = all.n;
		int wait = fill_polls(&all, p), ready = poll(p, 1 + before * P_EACH, wait);

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready < 0)
			return err_sys(e, errno, "waiting for a terminal failed");
		for (size_t i = 0; i < before; i++)
			turn_held(all.held[i], p + 1 + i * P_EACH);
		if (ready && p[0].revents)
			on_wish(&all);
		drop_ended(&all);
	} while (all.n);
	return 0;
}
