/* port_open.c - opens, closes and lists ports, and keeps the file that says which should be open. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "egress/ports.h"

#define FILE_BYTES (PORTS_MAX * 128)
#define BACKLOG 512

/* ---- words */

static int read_port_number(const char **at, bool zero, uint16_t *ret)
{
	char *end;
	unsigned long n = **at >= '0' && **at <= '9' ? strtoul(*at, &end, 10) : 65536;

	if (n > 65535 || (!n && !zero) || end - *at > (**at == '0' ? 1 : 5))
		return -1;
	*ret = (uint16_t)n;
	*at = end;
	return 0;
}

int port_parse(const char *text, struct port_spec *ret, struct err *e)
{
	struct port_spec s = {.at = {.family = AF_INET, .v4.s_addr = htonl(INADDR_LOOPBACK)}};
	const char *at = text;

	if (!read_port_number(&at, false, &s.port)) {
		s.host_port = s.port;
		if (*at == ':' && (at++, read_port_number(&at, true, &s.host_port)))
			at = "?";
		if (!*at) {
			*ret = s;
			return 0;
		}
	}
	return err_set(e, ERR_USAGE,
		"\"%.40s\" is not a port: PORT or PORT:HOSTPORT, numbers from 1 to 65535; HOSTPORT 0 is any that is free.",
		text);
}

static bool is_this_machine_only(const struct egress_address *a)
{
	return a->family == AF_INET ? ntohl(a->v4.s_addr) >> 24 == 127
				    : IN6_IS_ADDR_LOOPBACK(&a->v6);
}

int port_set_address(struct port_spec *s, const char *address, bool public, struct err *e)
{
	struct egress_address a = {.family = AF_INET};

	if (inet_pton(AF_INET, address, &a.v4) != 1) {
		a.family = AF_INET6;
		if (inet_pton(AF_INET6, address, &a.v6) != 1)
			return err_set(e, ERR_USAGE,
				"\"%.60s\" is not an address of this machine, such as 127.0.0.1 or ::1.",
				address);
	}
	if (!is_this_machine_only(&a) && !public)
		return err_set(e, ERR_REFUSED,
			"%s is not this machine's loopback: others could reach the agent's server; --public allows that",
			address);
	s->at = a;
	return 0;
}

void port_write_where(const struct port_row *r, char out[PORT_WHERE_MAX])
{
	char address[EGRESS_ADDRESS_MAX];

	inet_ntop(r->at.family, &r->at.v6, address, sizeof address);
	snprintf(out, PORT_WHERE_MAX, r->at.family == AF_INET6 ? "[%s]:%u" : "%s:%u", address,
		r->host_port);
}

/* ---- what should be open: a line each, "PORT ADDRESS HOSTPORT SINCE" */

static int read_port_line(const char *line, struct port_row *r)
{
	char address[EGRESS_ADDRESS_MAX];

	if (sscanf(line, "%" SCNu16 " %45s %" SCNu16 " %" SCNd64, &r->port, address, &r->host_port,
		    &r->since_ms) != 4)
		return -1;
	r->at.family = strchr(address, ':') ? AF_INET6 : AF_INET;
	return inet_pton(r->at.family, address, &r->at.v6) == 1 ? 0 : -1;
}

static size_t read_port_file(const char *container, struct port_row out[PORTS_MAX])
{
	AUTO_STR struct str text = STR_INIT;
	char path[EGRESS_PATH_MAX], *save = NULL;
	size_t n = 0;

	if (egress_place(container, EGRESS_PORTS, path, NULL) ||
		file_read(AT_FDCWD, path, O_NOFOLLOW, FILE_BYTES, &text, NULL))
		return 0;
	for (char *line = strtok_r(text.s, "\n", &save); line && n < PORTS_MAX;
		line = strtok_r(NULL, "\n", &save)) {
		struct port_row r = {0};

		snprintf(r.container, sizeof r.container, "%s", container);
		if (!read_port_line(line, &r))
			out[n++] = r;
	}
	return n;
}

static int write_port_file(const char *container, const struct port_row *r, size_t n, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	char path[EGRESS_PATH_MAX], address[EGRESS_ADDRESS_MAX];

	if (egress_place(container, EGRESS_PORTS, path, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		inet_ntop(r[i].at.family, &r[i].at.v6, address, sizeof address);
		str_addf(&text, "%u %s %u %" PRId64 "\n", r[i].port, address, r[i].host_port,
			r[i].since_ms);
	}
	if (n ? file_replace(path, text.s, text.len, false) : unlink(path) && errno != ENOENT)
		return err_sys(e, errno, "cannot write %s", path);
	return 0;
}

static size_t find_row(const struct port_row *r, size_t n, uint16_t port)
{
	size_t i = 0;

	while (i < n && r[i].port != port)
		i++;
	return i;
}

/* ---- asking the process */

/* The connection, for who waits for its end; -1. */
static int ask_ports(const char *container, const struct port_question *q, const int *fds, int nfds,
	void *answer, size_t size, struct err *e)
{
	AUTO_CLOSE int conn = egress_dial(container, EGRESS_PORTS_SOCK, true, e);
	struct port_said said;

	if (conn < 0)
		return -1;
	if (egress_say(conn, q, sizeof *q, fds, nfds))
		return err_sys(e, errno, "cannot ask about the ports of %s", container);
	if (recv(conn, answer, size, 0) != (ssize_t)size)
		return err_set(e, ERR_FAILED,
			"the process that holds the ports of %s open does not answer; `berth port list` shows what is left",
			container);
	memcpy(&said, answer, sizeof said);
	if (!said.error)
		return steal_fd(&conn);
	return err_set(e, ERR_CONFLICT, "%s cannot have port %u opened or closed: %s", container,
		q->port, strerrordesc_np(said.error));
}

static int start_ports_end(const char *container, pid_t init, struct err *e)
{
	char *argv[] = {(char *)EGRESS_PROGRAM, (char *)"ports", (char *)container, NULL};
	AUTO_CLOSE int guest = (int)syscall(SYS_pidfd_open, init, 0), control = -1;
	int given[EGRESS_GIVEN_MAX];

	if (guest < 0)
		return err_sys(e, errno, "cannot watch the init of %s", container);
	control = egress_listen(container, EGRESS_PORTS_SOCK, e);
	if (control < 0)
		return -1;
	given[PORTS_FD_CONTROL] = control;
	given[PORTS_FD_GUEST] = guest;
	return egress_spawn(container, argv, given, PORTS_FDS, e);
}

/* ---- opening */

/* The socket on this host, and which port it got. */
static int listen_on_host(const struct port_spec *s, struct port_row *r, struct err *e)
{
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons(s->host_port), .sin6_addr = s->at.v6};
	struct sockaddr_in v4 = {
		.sin_family = AF_INET, .sin_port = htons(s->host_port), .sin_addr = s->at.v4};
	bool is_v4 = s->at.family == AF_INET;
	struct sockaddr *at = is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6;
	socklen_t len = is_v4 ? sizeof v4 : sizeof v6;
	AUTO_CLOSE int fd = socket(s->at.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;
	char where[PORT_WHERE_MAX];

	r->at = s->at;
	r->host_port = s->host_port;
	port_write_where(r, where);
	if (fd < 0)
		return err_sys(e, errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (!is_v4)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (!bind(fd, at, len) && !listen(fd, BACKLOG) && !getsockname(fd, at, &len)) {
		r->host_port = ntohs(is_v4 ? v4.sin_port : v6.sin6_port);
		return steal_fd(&fd);
	}
	if (errno == EADDRINUSE)
		return err_set(e, ERR_CONFLICT,
			"%s is taken on this machine; name another: %u:HOSTPORT, or %u:0 for any that is free",
			where, s->port, s->port);
	return err_sys(e, errno, "cannot listen on %s", where);
}

static int refuse_open(const struct port_row *row, size_t n, const char *who,
	const struct port_spec *s, struct err *e)
{
	size_t i = find_row(row, n, s->port);
	char where[PORT_WHERE_MAX];

	if (i < n && !row[i].lost) {
		port_write_where(&row[i], where);
		return err_set(e, ERR_CONFLICT, "port %u of %s is already open, at %s", s->port,
			who, where);
	}
	if (i == n && n == PORTS_MAX)
		return err_set(e, ERR_REFUSED, "%s already has %d ports open, which is the limit",
			who, PORTS_MAX);
	return 0;
}

/* Handed to the process that runs, or to a new one. */
static int hand_port(
	const char *container, uint16_t port, const int *fds, pid_t init, struct err *e)
{
	const struct port_question q = {PORTS_OPEN, port};
	struct port_said said;
	struct err why = ERR_INIT;
	AUTO_CLOSE int conn =
		ask_ports(container, &q, fds, PORTS_FDS_TOLD, &said, sizeof said, &why);

	if (conn < 0 && why.kind == ERR_NOT_FOUND) {
		if (start_ports_end(container, init, e))
			return -1;
		conn = ask_ports(container, &q, fds, PORTS_FDS_TOLD, &said, sizeof said, e);
		return conn < 0 ? -1 : 0;
	}
	return conn < 0 ? err_copy(e, &why) : 0;
}

int port_open(const char *who, const struct port_spec *s, struct port_row *ret, struct err *e)
{
	struct port_row row[PORTS_MAX];
	AUTO_CLOSE int lock = -1, listener = -1, lane = -1;
	struct lane_about about;
	int fds[PORTS_FDS_TOLD];
	pid_t init;
	size_t n, i;

	if (lane_find(who, &about, e) || (lock = egress_lock(about.name, e)) < 0)
		return -1;
	n = port_list(about.name, row, PORTS_MAX);
	if (refuse_open(row, n, who, s, e))
		return -1;
	*ret = (struct port_row){.port = s->port, .since_ms = clock_wall_ms()};
	memcpy(ret->container, about.name, sizeof ret->container);
	memcpy(ret->agent, about.agent, sizeof ret->agent);
	lane = lane_port(&about, s->port, &init, e);
	listener = lane < 0 ? -1 : listen_on_host(s, ret, e);
	if (listener < 0)
		return -1;
	fds[PORTS_LISTENER] = listener;
	fds[PORTS_LANE] = lane;
	i = find_row(row, n, s->port);
	row[i] = *ret;
	n += i == n;
	if (write_port_file(about.name, row, n, e))
		return -1;
	if (!hand_port(about.name, s->port, fds, init, e))
		return 0;
	row[i] = row[--n];
	write_port_file(about.name, row, n, NULL);
	return -1;
}

int port_open_lost(const struct port_row *lost, struct err *e)
{
	const struct port_spec s = {lost->port, lost->host_port, lost->at};
	struct port_row ignored;

	return port_open(lost->container, &s, &ignored, e);
}

/* The last one closed ends the process, and is over when that has ended. */
int port_close(const char *who, uint16_t port, struct err *e)
{
	const struct port_question q = {PORTS_CLOSE, port};
	struct port_row row[PORTS_MAX];
	AUTO_CLOSE int lock = -1, conn = -1;
	struct lane_about about;
	struct port_said said;
	struct err why = ERR_INIT;
	size_t n, i;
	char none;

	if (lane_find(who, &about, e) || (lock = egress_lock(about.name, e)) < 0)
		return -1;
	n = read_port_file(about.name, row);
	i = find_row(row, n, port);
	if (i == n)
		return err_set(e, ERR_NOT_FOUND,
			"port %u of %s is not open; `berth port list %s` lists open ports", port,
			who, who);
	conn = ask_ports(about.name, &q, NULL, 0, &said, sizeof said, &why);
	if (conn >= 0 && recv(conn, &none, 1, 0) < 0 && errno != ECONNRESET)
		return err_sys(
			e, errno, "the process that holds the ports of %s open does not exit", who);
	/* What was lost is closed. */
	if (conn < 0 && why.kind != ERR_NOT_FOUND && why.kind != ERR_CONFLICT)
		return err_copy(e, &why);
	row[i] = row[--n];
	return write_port_file(about.name, row, n, e);
}

/* ---- what is open */

static void add_port_figures(struct port_row *row, size_t n)
{
	const struct port_question q = {.what = PORTS_ASK};
	struct {
		struct port_said said;
		struct port_figures figures[PORTS_MAX];
	} answer;
	AUTO_CLOSE int conn =
		n ? ask_ports(row->container, &q, NULL, 0, &answer, sizeof answer, NULL) : -1;

	for (size_t i = 0; i < n; i++)
		row[i].lost = true;
	for (size_t i = 0; conn >= 0 && i < answer.said.n && i < PORTS_MAX; i++) {
		const struct port_figures *f = &answer.figures[i];
		size_t at = find_row(row, n, f->port);

		if (at == n)
			continue;
		row[at].lost = false;
		row[at].open = f->open;
		row[at].connections = f->connections;
		row[at].refused = f->refused;
		row[at].up = f->up;
		row[at].down = f->down;
	}
}

static int compare_ports(const void *a, const void *b)
{
	const struct port_row *x = a, *y = b;

	return (x->port > y->port) - (x->port < y->port);
}

static size_t list_container(const char *container, struct port_row *out, size_t most)
{
	struct port_row row[PORTS_MAX];
	struct lane_about about = {0};
	size_t n = read_port_file(container, row);

	if (n && lane_find(container, &about, NULL))
		*about.agent = '\0';
	for (size_t i = 0; i < n; i++)
		memcpy(row[i].agent, about.agent, sizeof row[i].agent);
	add_port_figures(row, n);
	mem_sort(row, n, sizeof *row, compare_ports);
	n = n < most ? n : most;
	memcpy(out, row, n * sizeof *out);
	return n;
}

size_t port_list(const char *container, struct port_row *out, size_t most)
{
	char(*names)[64];
	size_t n = 0, nnames;

	if (container)
		return list_container(container, out, most);
	names = xcalloc(PORTS_CONTAINERS_MAX, sizeof *names);
	nnames = egress_places(EGRESS_PORTS, names, PORTS_CONTAINERS_MAX);
	for (size_t i = 0; i < nnames && n < most; i++)
		n += list_container(names[i], out + n, most - n);
	free(names);
	return n;
}
