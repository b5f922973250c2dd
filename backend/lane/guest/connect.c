/*
 * connect.c - `/.berth/init connect HOST PORT`: connects standard input and output through the proxy, for ssh and git.
 *
 * Run by commands, with no more rights than theirs.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest.h"

#define REPLY_MAX 2048
#define PIECE 65536

static int fail_connect(const char *why)
{
	fprintf(stderr, "berth: %s\n", why);
	return 1;
}

static int reach_proxy(void)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(LANE_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && !connect(fd, (const struct sockaddr *)&at, sizeof at) ? fd : -1;
}

static bool write_to_peer(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		bytes += done;
		n -= (size_t)done;
	}
	return true;
}

/* The proxy's head, byte by byte: what follows is the target's. */
static int read_proxy_reply(int fd, char reply[REPLY_MAX])
{
	size_t n = 0;

	while (n < REPLY_MAX - 1 && read(fd, reply + n, 1) == 1) {
		reply[++n] = '\0';
		if (n >= 4 && !memcmp(reply + n - 4, "\r\n\r\n", 4))
			return 0;
	}
	return -1;
}

/* What the proxy says after a refusal is its reason. */
static int tell_refusal(int fd)
{
	char why[REPLY_MAX];
	size_t n = 0;
	ssize_t got;

	while (n < sizeof why - 1 && (got = read(fd, why + n, sizeof why - 1 - n)) > 0)
		n += (size_t)got;
	why[n] = '\0';
	fputs(n ? why : "berth: the connection was refused\n", stderr);
	return 1;
}

static int pass_both_ways(int fd)
{
	static char piece[PIECE];
	bool reading = true;

	for (;;) {
		struct pollfd p[2] = {{fd, POLLIN, 0}, {reading ? STDIN_FILENO : -1, POLLIN, 0}};
		ssize_t n;

		if (poll(p, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (p[1].revents) {
			n = read(STDIN_FILENO, piece, sizeof piece);
			reading = n > 0;
			if (!reading)
				shutdown(fd, SHUT_WR);
			else if (!write_to_peer(fd, piece, (size_t)n))
				return 1;
		}
		if (p[0].revents) {
			n = read(fd, piece, sizeof piece);
			if (n <= 0)
				return n < 0;
			if (!write_to_peer(STDOUT_FILENO, piece, (size_t)n))
				return 1;
		}
	}
}

int guest_connect(const char *host, const char *port)
{
	char text[REPLY_MAX];
	bool v6 = strchr(host, ':') != NULL;
	int n = snprintf(text, sizeof text, "CONNECT %s%s%s:%s HTTP/1.1\r\n\r\n", v6 ? "[" : "",
		    host, v6 ? "]" : "", port),
	    fd = reach_proxy();

	if (host[strcspn(host, " \t\r\n")] || port[strcspn(port, " \t\r\n")])
		return fail_connect("a host and a port must not contain spaces");
	if (fd < 0)
		return fail_connect(
			"there is no proxy in this container: its egress is not running");
	if (n >= (int)sizeof text || !write_to_peer(fd, text, (size_t)n) ||
		read_proxy_reply(fd, text))
		return fail_connect("the proxy does not answer");
	if (strncmp(text, "HTTP/1.1 200 ", 13) != 0)
		return tell_refusal(fd);
	return pass_both_ways(fd);
}
