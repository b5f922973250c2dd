/*
 * dial.c - connects to servers in the container on behalf of the host, by sockets of its network namespace.
 *
 * The host asks for each connection, is handed the socket and moves the bytes by itself.  Nothing here waits for a server:
 * what is not connected yet is passed as it is, and the host sees what becomes of it.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

/* A socket that is connected or about to be; -1 with errno. */
static int dial_loopback(int family, uint16_t port)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};
	bool is_v4 = family == AF_INET;
	socklen_t len = sizeof(int);
	int on = 1, why, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	if (!connect(fd, is_v4 ? (const void *)&v4 : (const void *)&v6,
		    is_v4 ? sizeof v4 : sizeof v6))
		return fd;
	why = errno;
	/* On loopback who refuses has done so by now. */
	if (why == EINPROGRESS && !getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &len) && !why)
		return fd;
	close(fd);
	return errno = why, -1;
}

static int pass_connection(int conn, uint32_t number, uint16_t port)
{
	struct lane_dialled said = {.number = number};
	int result, fd = dial_loopback(AF_INET, port);

	if (fd < 0 && errno == ECONNREFUSED) {
		/* A server may be at ::1 alone; that nobody is there either says nothing new. */
		fd = dial_loopback(AF_INET6, port);
		if (fd < 0)
			errno = ECONNREFUSED;
	}
	if (fd < 0) {
		said.error = errno;
		return wire_send(conn, LANE_DIAL, &said, sizeof said);
	}
	result = wire_send_fds(conn, LANE_DIAL, &said, sizeof said, &fd, 1);
	close(fd);
	return result;
}

int guest_dial(int conn, uint16_t port)
{
	static char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds, proof = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct lane_msg head;
	uint32_t number;

	if (proof < 0 || wire_send_fds(conn, LANE_PORT, NULL, 0, &proof, 1))
		return -1;
	close(proof);
	while (wire_recv(conn, &head, body, fds, &nfds) > 0) {
		wire_close_all(fds, nfds);
		if (head.type != LANE_DIAL || head.len != sizeof number)
			return errno = EPROTO, -1;
		memcpy(&number, body, sizeof number);
		if (pass_connection(conn, number, port))
			return -1;
	}
	return errno = EPIPE, -1;
}
