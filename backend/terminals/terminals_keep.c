/*
 * terminals_keep.c - the process that keeps an agent's terminals.
 *
 * One loop, one container.  It opens nothing: what it works on comes by the socket.  It ends with its last terminal, and
 * these end with their commands, with their container, or with it.  It waits for no client: a connection on which not all
 * has come yet is kept until it has.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/confine.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "lane/wire_io.h"
#include "terminals/hold.h"

#define NOBODY 65534
#define FIRST_MS 30000 /* to be given a terminal */
#define WISHES_MAX 16

/* A connection that has not said all yet. */
struct wish {
	int conn;
	int screen; /* of TERMINALS_SHOW_IN, or -1 */
};

struct keeping {
	uid_t owner;
	struct held *held[TERMINALS_MAX];
	size_t n;
	struct wish wish[WISHES_MAX]; /* the oldest first */
	size_t nwishes;
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
	struct err why = ERR_INIT;
	struct held *h;

	memcpy(&k, body, sizeof k);
	if (find_held(all, k.name) || all->n == TERMINALS_MAX) {
		wire_close_all(fds, 3);
		close(screen);
		return all->n == TERMINALS_MAX ? EMFILE : EEXIST;
	}
	h = held_open(&k, screen, fds[0], fds[1], fds[2], &why);
	if (!h)
		return why.sys ? why.sys : EIO;
	all->held[all->n++] = h;
	return 0;
}

/* True: the connection waits for its end. */
static bool stop_terminal(struct keeping *all, const char *name, int conn)
{
	struct held *h = find_held(all, name);

	if (!h || lane_cancel(&h->c)) {
		say_done(conn, h ? errno : ENOENT);
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

/* What becomes of the connection. */
enum wish_fate { WISH_WAITS, WISH_TAKEN, WISH_OVER };

static enum wish_fate take_or_close(bool taken)
{
	return taken ? WISH_TAKEN : WISH_OVER;
}

static enum wish_fate read_wish(struct keeping *all, struct wish *w)
{
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], n = 0, error = EPROTO;
	struct lane_msg head;
	int r = wire_recv(w->conn, &head, body, fds, &n);

	if (r <= 0)
		return r < 0 && (errno == EAGAIN || errno == EINTR) ? WISH_WAITS : WISH_OVER;
	if (head.type == TERMINALS_SHOW_IN && n == 1 && w->screen < 0) {
		w->screen = fds[0];
		return WISH_WAITS;
	}
	if (head.type == TERMINALS_STOP && head.len == TERMINAL_NAME_MAX && !n)
		return take_or_close(stop_terminal(all, body, w->conn));
	if (head.type == TERMINALS_SEND && head.len >= sizeof(struct terminals_send) && !n)
		return take_or_close(send_typed(all, body, head.len, w->conn));
	if (head.type == TERMINALS_ATTACH && head.len == sizeof(struct terminals_attach) && !n)
		return take_or_close(attach_viewer(all, body, w->conn));
	if (head.type == TERMINALS_KEEP && head.len == sizeof(struct terminals_keep) && n == 3 &&
		w->screen >= 0) {
		error = take_terminal(all, body, steal_fd(&w->screen), fds);
		n = 0;
	}
	wire_close_all(fds, n);
	say_done(w->conn, error);
	return WISH_OVER;
}

static void remove_wish(struct keeping *all, size_t i, bool close_it)
{
	struct wish *w = &all->wish[i];

	if (close_it)
		close(w->conn);
	cleanup_close(&w->screen);
	memmove(w, w + 1, (--all->nwishes - i) * sizeof *w);
}

static void on_wish(struct keeping *all, size_t i)
{
	enum wish_fate fate = read_wish(all, &all->wish[i]);

	if (fate != WISH_WAITS)
		remove_wish(all, i, fate == WISH_OVER);
}

static void accept_wish(struct keeping *all)
{
	AUTO_CLOSE int conn =
		accept4(TERMINALS_FD_CONTROL, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (conn < 0 || !is_owner(conn, all->owner))
		return;
	/* So many others have come since the oldest one did. */
	if (all->nwishes == WISHES_MAX)
		remove_wish(all, 0, true);
	all->wish[all->nwishes++] = (struct wish){steal_fd(&conn), -1};
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

enum { P_CONTROL, P_WISHES, P_HELD = P_WISHES + WISHES_MAX };
/* Of each terminal. */
enum { P_CONN, P_OUT, P_IN, P_VIEWERS, P_EACH = P_VIEWERS + VIEWERS_MAX };

static struct pollfd poll_viewer(const struct held *h, size_t i)
{
	const struct viewer *v = &h->viewers.of[i];
	bool reads = !v->types || held_takes_keys(h), writes = v->rest.len || !v->told;

	if (i >= h->viewers.n)
		return (struct pollfd){-1, 0, 0};
	return (struct pollfd){v->conn, (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0)), 0};
}

static int sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int fill_polls(const struct keeping *all, struct pollfd *p)
{
	int wait = all->n ? -1 : FIRST_MS;

	p[P_CONTROL] = (struct pollfd){TERMINALS_FD_CONTROL, POLLIN, 0};
	for (size_t i = 0; i < WISHES_MAX; i++)
		p[P_WISHES + i] =
			(struct pollfd){i < all->nwishes ? all->wish[i].conn : -1, POLLIN, 0};
	for (size_t i = 0; i < all->n; i++) {
		const struct held *h = all->held[i];
		struct pollfd *of = p + P_HELD + i * P_EACH;
		int due = h->waiting ? 0 : held_wait_ms(h), turn = held_turn_ms(h);

		of[P_CONN] = (struct pollfd){
			h->c.conn, (short)(POLLIN | (h->size_due ? POLLOUT : 0)), 0};
		of[P_OUT] = (struct pollfd){h->c.out, POLLIN, 0};
		of[P_IN] = (struct pollfd){h->input.len ? h->c.in : -1, POLLOUT, 0};
		for (size_t k = 0; k < VIEWERS_MAX; k++)
			of[P_VIEWERS + k] = poll_viewer(h, k);
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
	if (p[P_CONN].revents & POLLOUT)
		held_send_size(h);
	if (p[P_CONN].revents & ~POLLOUT)
		held_hear(h);
	else
		held_show(h, false);
}

static void turn_all(struct keeping *all, size_t nheld, const struct pollfd *p)
{
	for (size_t i = 0; i < nheld; i++)
		turn_held(all->held[i], p + P_HELD + i * P_EACH);
	/* Before its name is given to another. */
	drop_ended(all);
	/* From the last one on: those behind one that is removed move up. */
	for (size_t i = all->nwishes; i-- > 0;)
		if (p[P_WISHES + i].revents)
			on_wish(all, i);
	if (p[P_CONTROL].revents)
		accept_wish(all);
}

int terminals_main(struct err *e)
{
	struct pollfd p[P_HELD + TERMINALS_MAX * P_EACH];
	struct keeping all = {.owner = geteuid()};
	socklen_t len = sizeof(int);
	bool given = false;
	int type;

	if (getsockopt(TERMINALS_FD_CONTROL, SOL_SOCKET, SO_TYPE, &type, &len))
		return err_set(e, ERR_USAGE,
			"berth-terminal is started by berth terminal start, not by hand");
	if (give_up(e))
		return -1;
	do {
		size_t before = all.n;
		int wait = fill_polls(&all, p), ready = poll(p, P_HELD + before * P_EACH, wait);

		if (ready < 0 && errno != EINTR)
			return err_sys(e, errno, "waiting for a terminal failed");
		if (!ready && !all.n)
			break;
		if (ready >= 0)
			turn_all(&all, before, p);
		given |= all.n > 0;
	} while (all.n || !given);
	return 0;
}
