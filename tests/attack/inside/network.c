/* network.c - check 55: with network none nothing is reached; and peers, for agents that have some. */
#include "inside.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* 0: connected; else errno.  A second must do: nothing answers slower on this machine. */
static int connect_within(const char *address, int port, int type)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	struct sockaddr_in6 v6 = {
		.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_scope_id = 1};
	bool six = strchr(address, ':');
	int fd = socket(six ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK, 0), error = 0;
	struct pollfd p = {fd, POLLOUT, 0};
	socklen_t len = sizeof error;

	if (fd < 0)
		return errno;
	inet_pton(six ? AF_INET6 : AF_INET, address,
		six ? (void *)&v6.sin6_addr : (void *)&v4.sin_addr);
	if (!connect(fd, six ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		    six ? sizeof v6 : sizeof v4)) {
		if (type == SOCK_DGRAM && send(fd, "x", 1, 0) < 0)
			error = errno;
	} else if (errno != EINPROGRESS) {
		error = errno;
	} else if (poll(&p, 1, 1000) != 1) {
		error = ETIMEDOUT;
	} else {
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
	}
	close(fd);
	return error;
}

static void report_unreachable(const char *name, const char *address, int port, int type)
{
	int error = connect_within(address, port, type);

	report(55, error != 0, "%s %s:%d: %s", name, address, port,
		error ? strerrorname_np(error) : "reached");
}

static void only_loopback(void)
{
	char text[8192], *at;
	int others = 0, seen = 0;

	slurp("/proc/net/dev", text, sizeof text);
	for (at = strchr(text, ':'); at; at = strchr(at + 1, ':')) {
		seen++;
		others += !(at - text >= 2 && !strncmp(at - 2, "lo", 2));
	}
	report(55, seen == 1 && !others, "%d interfaces, %d beside lo", seen, others);
	report(55,
		slurp("/proc/net/route", text, sizeof text) >= 0 &&
			!strchr(strchr(text, '\n') ? strchr(text, '\n') + 1 : "", '\n'),
		"no routes");
}

/* The host listens on one of this name; abstract names belong to the network namespace. */
static void reach_abstract(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	size_t n = strlen(name);

	memcpy(to.sun_path + 1, name, n);
	refused(55, "the abstract socket of the host",
		connect(fd, (struct sockaddr *)&to, (socklen_t)(sizeof(sa_family_t) + 1 + n)),
		NULL);
	close(fd);
}

/* network none ABSTRACT PORT ADDRESS... | network reach ADDRESS PORT | network serve PORT */
static void reach_nothing(const struct words *w)
{
	int port = atoi(word_or(w, 2, "80"));
	int fd = socket(AF_INET, SOCK_DGRAM, 1);

	only_loopback();
	reach_abstract(word_or(w, 1, "x"));
	for (int i = 3; i < w->n; i++) {
		report_unreachable("TCP", w->word[i], port, SOCK_STREAM);
		report_unreachable("UDP", w->word[i], port, SOCK_DGRAM);
	}
	report_unreachable("TCP", "169.254.169.254", 80, SOCK_STREAM);
	report_unreachable("UDP", "169.254.169.254", 53, SOCK_DGRAM);
	report_unreachable("TCP", "172.17.0.1", 2375, SOCK_STREAM);
	report_unreachable("TCP", "10.0.0.1", 443, SOCK_STREAM);
	report_unreachable("DNS", "127.0.0.11", 53, SOCK_STREAM);
	report_unreachable("TCP", "fe80::1", 80, SOCK_STREAM);
	report_unreachable("UDP", "ff02::1", 5353, SOCK_DGRAM);
	report_unreachable("the host's loopback", "127.0.0.1", port, SOCK_STREAM);
	refused(55, "raw ICMP", socket(AF_INET, SOCK_RAW, 1), eperm);
	if (fd >= 0) {
		struct sockaddr_in to = {
			.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x08080808)};

		refused(55, "ping",
			sendto(fd, "\x08\0\0\0\0\0\0\0", 8, 0, (struct sockaddr *)&to, sizeof to),
			NULL);
	} else {
		report(55, true, "ping socket: %s", strerrorname_np(errno));
	}
}

static void serve_port(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, 8))
		exit(1);
	puts("listening");
	fflush(stdout);
	for (;;)
		close(accept(fd, NULL, NULL));
}

void network(const struct words *w)
{
	const char *what = word_or(w, 0, "none");

	if (!strcmp(what, "none")) {
		reach_nothing(w);
	} else if (!strcmp(what, "serve")) {
		serve_port(atoi(word_or(w, 1, "80")));
	} else {
		int error = connect_within(
			word_or(w, 1, "127.0.0.1"), atoi(word_or(w, 2, "80")), SOCK_STREAM);

		puts(error ? strerrorname_np(error) : "reached");
	}
}
