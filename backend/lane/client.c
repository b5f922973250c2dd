/* client.c - runs one command over the lane, on the host's side. */
#include "lane/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/trace.h>

#include "lane/peer.h"
#include "lane/wire_io.h"

#define CONNECT_MS 5000

/* Nobody listens: there is no lane, and the engine's own way is not barred.  Anything else is a lane that does not
 * do what it should. */
static int no_lane(const char *path, int errnum, struct err *e)
{
	if (errnum == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "there is no lane at %s", path);
	if (errnum == ECONNREFUSED)
		return err_set(e, ERR_NOT_FOUND,
			"nothing listens on the lane %s (%s): the container is stopped, "
			"or was restarted; `berth up FILE` gives it a new one",
			path, strerrordesc_np(errnum));
	if (errnum == EAGAIN)
		return err_set(e, ERR_FAILED,
			"lane lost: too many commands are waiting at %s and its init "
			"accepts none; is the container paused? `berth up FILE` "
			"recreates it",
			path);
	return err_sys(e, errnum, "lane lost: cannot connect to %s", path);
}

/* Opening first and connecting through the descriptor leaves no moment in which another socket
 * could be put in its place. */
static int connect_to(const char *dir, int timeout_ms, struct err *e)
{
	AUTO_CLOSE int at = -1, conn = -1;
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	struct timeval soon = {timeout_ms / 1000, timeout_ms % 1000 * 1000};
	char path[LANE_PATH_MAX + 8];
	struct stat st;

	snprintf(path, sizeof path, "%s" LANE_SOCK, dir);
	at = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0 || fstat(at, &st))
		return no_lane(path, errno, e);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return err_set(
			e, ERR_FAILED, "lane lost: %s is not the socket that berth created", path);
	conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (conn < 0)
		return err_sys(e, errno, "cannot make a socket");
	/* Those who wait for a paused container's init fill its queue. */
	setsockopt(conn, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	snprintf(to.sun_path, sizeof to.sun_path, "/proc/self/fd/%d", at);
	if (connect(conn, (struct sockaddr *)&to, sizeof to))
		return no_lane(path, errno, e);
	return steal_fd(&conn);
}

/* Who hangs up first may have said why; that is read where the answer is. */
static bool hung_up(int errnum)
{
	return errnum == EPIPE || errnum == ECONNRESET;
}

static int cannot_send(struct err *e, int errnum)
{
	return hung_up(errnum) ? 0 : err_sys(e, errnum, "lane lost: cannot send the command");
}

/* The words of a request in as few messages as they need. */
static int send_words(int conn, const struct lane_request *r, struct err *e)
{
	const size_t most = LANE_MSG_MAX - sizeof(struct lane_msg);
	AUTO_STR struct str words = STR_INIT;

	str_add(&words, r->cwd ? r->cwd : "", strlen(r->cwd ? r->cwd : "") + 1);
	for (size_t i = 0; i < r->argc; i++)
		str_add(&words, r->argv[i], strlen(r->argv[i]) + 1);
	for (size_t i = 0; i < r->envc; i++)
		str_add(&words, r->env[i], strlen(r->env[i]) + 1);
	if (words.len + (r->argc + r->envc) * LANE_POINTER > LANE_WORDS_MAX)
		return err_set(e, ERR_USAGE,
			"the command line is too long: %zu words of %zu bytes in all, and no kernel "
			"accepts more than %u; pass them in standard input or a file",
			r->argc + r->envc, words.len, LANE_WORDS_MAX);
	for (size_t at = 0; at < words.len;) {
		size_t n = words.len - at;

		/* A piece ends where a word ends; one in a longer word is what older guests do not take. */
		if (n > most) {
			const char *end = memrchr(words.s + at, '\0', most);

			n = end ? (size_t)(end + 1 - (words.s + at)) : most;
		}
		if (wire_send(conn, LANE_WORDS, words.s + at, n))
			return cannot_send(e, errno);
		at += n;
	}
	return 0;
}

int lane_start(const struct lane_about *about, const struct lane_request *r,
	struct lane_command *ret, struct err *e)
{
	AUTO_CLOSE int conn = -1;
	char dir[LANE_PATH_MAX];
	int ours[3] = {-1, -1, -1}, theirs[3] = {-1, -1, -1},
	    n = r->limits.flags & LANE_TTY ? 2 : 3;
	struct lane_run run = r->limits;
	int result = -1, on = 1;

	if (lane_place(about->name, dir, e))
		return -1;
	conn = connect_to(dir, CONNECT_MS, e);
	if (conn < 0 || peer_is_init(conn, about->id, &ret->guest, e))
		return -1;
	/* From now on the kernel says who sent an answer: the command's supervisor. */
	setsockopt(conn, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
	for (int i = 0; i < n; i++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC)) {
			err_sys(e, errno, "cannot make a pipe");
			goto out;
		}
		ours[i] = p[i == 0];
		theirs[i] = p[i != 0];
		fcntl(ours[i], F_SETFL, O_NONBLOCK);
	}
	run.argc = (uint32_t)r->argc;
	run.envc = (uint32_t)r->envc;
	trace(TRACE_LANE, "> %s: %s, %zu words, %zu of the environment, in %s, %u ms", about->name,
		r->argc ? r->argv[0] : "nothing", r->argc, r->envc, r->cwd ? r->cwd : "/",
		run.timeout_ms);
	if (send_words(conn, r, e))
		goto out;
	if (wire_send_fds(conn, LANE_RUN, &run, sizeof run, theirs, n) && cannot_send(e, errno))
		goto out;
	fcntl(conn, F_SETFL, O_NONBLOCK);
	*ret = (struct lane_command){.conn = steal_fd(&conn),
		.in = ours[0],
		.out = ours[1],
		.error = ours[2],
		.guest = ret->guest,
		.id = about->id,
		.asked_ns = clock_mono_ns()};
	if (run.timeout_ms)
		ret->due_ns = ret->asked_ns + (run.timeout_ms + (int64_t)LANE_MARGIN_MS) * 1000000;
	result = 0;
out:
	for (int i = 0; i < 3; i++) {
		cleanup_close(&theirs[i]);
		if (result)
			cleanup_close(&ours[i]);
	}
	return result;
}

int lane_try(const struct lane_about *about, int timeout_ms, struct err *e)
{
	AUTO_CLOSE int conn = -1;
	char dir[LANE_PATH_MAX], body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds = 0;
	struct lane_msg head;
	struct pollfd p;
	pid_t guest;

	if (lane_place(about->name, dir, e))
		return -1;
	conn = connect_to(dir, timeout_ms, e);
	if (conn < 0 || peer_is_init(conn, about->id, &guest, e))
		return -1;
	/* A request that is none is answered by what answers all of them. */
	p = (struct pollfd){conn, POLLIN, 0};
	if (!wire_send(conn, LANE_CANCEL, NULL, 0) && poll(&p, 1, timeout_ms) > 0 &&
		wire_recv(conn, &head, body, fds, &nfds) > 0 && head.type == LANE_ENDED) {
		wire_close_all(fds, nfds);
		return 0;
	}
	wire_close_all(fds, nfds);
	if (lane_frozen(guest, about->id))
		return 0;
	return err_set(e, ERR_FAILED, "lane lost: the init of %s does not answer", about->name);
}

/* One of ours: it listens for TCP at the proxy's port of its own loopback. */
static bool is_listener(int fd)
{
	struct sockaddr_in6 at = {0};
	const struct sockaddr_in *v4 = (const void *)&at;
	int listens = 0, protocol = 0;
	socklen_t size = sizeof at, one = sizeof listens, two = sizeof protocol;

	if (getsockname(fd, (struct sockaddr *)&at, &size) ||
		getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &one) || !listens ||
		getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &two) || protocol != IPPROTO_TCP)
		return false;
	if (at.sin6_family == AF_INET6)
		return ntohs(at.sin6_port) == LANE_PROXY_PORT &&
			IN6_IS_ADDR_LOOPBACK(&at.sin6_addr);
	return at.sin6_family == AF_INET && ntohs(v4->sin_port) == LANE_PROXY_PORT &&
		v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
}

/* Ask its init for descriptors with one message, which is answered by one of the same type.  The connection, which the
 * caller closes, as what is in `got`; nothing is where the answer is another.  -1: it is not that init. */
static int ask_init(const struct lane_about *about, enum lane_type type, const void *body,
	size_t size, pid_t *guest, int got[LANE_FDS_MAX], int *ngot, struct err *e)
{
	AUTO_CLOSE int conn = -1;
	const struct timeval soon = {CONNECT_MS / 1000, 0};
	char dir[LANE_PATH_MAX], answer[LANE_MSG_MAX];
	struct lane_msg head;

	*ngot = 0;
	if (lane_place(about->name, dir, e))
		return -1;
	conn = connect_to(dir, CONNECT_MS, e);
	if (conn < 0 || peer_is_init(conn, about->id, guest, e))
		return -1;
	setsockopt(conn, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	if (wire_send(conn, type, body, size) || wire_recv(conn, &head, answer, got, ngot) <= 0 ||
		head.type != type)
		*ngot = (wire_close_all(got, *ngot), 0);
	return steal_fd(&conn);
}

int lane_listeners(const struct lane_about *about, int fds[LANE_LISTENERS_MAX], int *n,
	pid_t *guest, struct err *e)
{
	int got[LANE_FDS_MAX], ngot, good = 0;
	AUTO_CLOSE int conn = ask_init(about, LANE_LISTENERS, NULL, 0, guest, got, &ngot, e);

	if (conn < 0)
		return -1;
	while (good < ngot && good < LANE_LISTENERS_MAX && is_listener(got[good]))
		good++;
	if (!good || good < ngot) {
		wire_close_all(got, ngot);
		return err_set(e, ERR_PROTOCOL,
			"the init of %s does not listen for clients of a proxy", about->name);
	}
	memcpy(fds, got, (size_t)good * sizeof *fds);
	*n = good;
	return steal_fd(&conn);
}

/* Of the internet, for TCP, and listening nowhere. */
static bool is_tcp_client(int fd)
{
	int protocol = 0, listens = 1;
	socklen_t one = sizeof protocol, two = sizeof listens;

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &one) &&
		protocol == IPPROTO_TCP &&
		!getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &two) && !listens;
}

/* The network namespace that a socket lives in; 0: the kernel does not say (before Linux 5.14). */
static uint64_t read_net_cookie(int fd)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof cookie;

	return getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) ? 0 : cookie;
}

static int compare_loopbacks(int theirs, const char *name, struct err *e)
{
	AUTO_CLOSE int ours = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t there = read_net_cookie(theirs), here = ours < 0 ? 0 : read_net_cookie(ours);

	if (!there || !here)
		return err_set(e, ERR_REFUSED,
			"this kernel cannot tell whether %s has a loopback of its own; Linux 5.14 or later can",
			name);
	return there != here
		? 0
		: err_set(e, ERR_REFUSED,
			  "%s is on the host's own network: its ports are already open there",
			  name);
}

int lane_port(const struct lane_about *about, uint16_t port, pid_t *guest, struct err *e)
{
	int got[LANE_FDS_MAX], ngot, result;
	AUTO_CLOSE int conn = lane_is_none(about->name)
		? err_set(e, ERR_REFUSED,
			  "%s has no lane, which opening ports needs: its runtime provides its own kernel",
			  about->name)
		: ask_init(about, LANE_PORT, &port, sizeof port, guest, got, &ngot, e);

	if (conn < 0)
		return -1;
	if (ngot != 1 || !is_tcp_client(got[0]))
		result = err_set(e, ERR_PROTOCOL,
			"the init of %s cannot open ports: it is of an older berth, or does not answer (run berth up)",
			about->name);
	else
		result = compare_loopbacks(got[0], about->name, e);
	wire_close_all(got, ngot);
	return result ? -1 : steal_fd(&conn);
}

int lane_port_ask(int conn, uint32_t number)
{
	return wire_send(conn, LANE_DIAL, &number, sizeof number);
}

int lane_port_answer(int conn, uint32_t *number, int *fd, int *error)
{
	char body[LANE_MSG_MAX];
	int got[LANE_FDS_MAX], ngot;
	struct lane_dialled said;
	struct lane_msg head;
	int r = wire_recv(conn, &head, body, got, &ngot);

	if (r < 0 && errno == EAGAIN)
		return 0;
	if (r <= 0)
		return -1;
	if (head.type != LANE_DIAL || head.len != sizeof said || ngot > 1 ||
		(ngot && !is_tcp_client(got[0]))) {
		wire_close_all(got, ngot);
		return -1;
	}
	memcpy(&said, body, sizeof said);
	*number = said.number;
	*fd = ngot ? got[0] : -1;
	*error = ngot ? 0 : said.error ? said.error : EPROTO;
	return 1;
}

int lane_next(struct lane_command *c, struct lane_ended *end, struct err *e)
{
	char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds;
	struct lane_msg head;
	pid_t sender;
	bool other;
	int r = wire_recv_from(c->conn, &head, body, fds, &nfds, &sender);

	/* A guest that cannot take the command says so and hangs up at once.  That it did so without reading
	 * everything is told first; what it said comes after. */
	if (r < 0 && errno == ECONNRESET)
		r = wire_recv_from(c->conn, &head, body, fds, &nfds, &sender);
	if (r < 0 && errno == EAGAIN)
		return 0;
	other = r < 0 && errno == EPROTONOSUPPORT;
	/* Nothing from inside a container may become a descriptor of ours. */
	wire_close_all(fds, nfds);
	if (r > 0 && head.type == LANE_STARTED && head.len == sizeof(uint32_t)) {
		c->supervisor = sender > 0 ? sender : -1;
		trace(TRACE_LANE, "< %.12s: started, its supervisor is %d", c->id, (int)sender);
		return 1;
	}
	if (r > 0 && head.type == LANE_ENDED && head.len == sizeof *end) {
		memcpy(end, body, sizeof *end);
		trace(TRACE_LANE, "< %.12s: ended, how %u, code %u, stage %u, %u left", c->id,
			end->how, end->code, end->stage, end->left);
		return 2;
	}
	trace(TRACE_LANE, "< %.12s: %s, type %u, %u bytes", c->id, r ? "no answer" : "the end",
		r > 0 ? head.type : 0u, r > 0 ? head.len : 0u);
	if (other)
		return err_set(e, ERR_PROTOCOL,
			"another version of berth brought this container up: berth up recreates it");
	return err_set(e, ERR_PROTOCOL,
		r ? "the container's init sent an invalid answer"
		  : "the container ended before the command did");
}

int lane_resize(struct lane_command *c, int columns, int rows)
{
	uint16_t size[2] = {(uint16_t)columns, (uint16_t)rows};

	trace(TRACE_LANE, "> %.12s: resize %d x %d", c->id, columns, rows);
	return wire_send(c->conn, LANE_RESIZE, size, sizeof size);
}

int lane_cancel(struct lane_command *c)
{
	int64_t due = clock_mono_ns() + LANE_MARGIN_MS * INT64_C(1000000);

	if (!c->due_ns || due < c->due_ns)
		c->due_ns = due;
	c->cancelled = true;
	trace(TRACE_LANE, "> %.12s: cancel", c->id);
	return wire_send(c->conn, LANE_CANCEL, NULL, 0);
}

void lane_command_release(struct lane_command *c)
{
	cleanup_close(&c->conn);
	cleanup_close(&c->in);
	cleanup_close(&c->out);
	cleanup_close(&c->error);
	c->conn = c->in = c->out = c->error = -1;
}
