/* control_socket.c - creates and connects to the control socket of an egress process. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <berth/mem.h>

#include "egress/egress.h"

#define ANSWER_S 2

static int place_socket(const char *name, const char *suffix, struct sockaddr_un *at, struct err *e)
{
	char path[EGRESS_PATH_MAX];

	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (egress_place(name, suffix, path, e))
		return -1;
	if (strlen(path) >= sizeof at->sun_path)
		return err_set(e, ERR_CONFIG,
			"the path %s is too long for a socket; set XDG_RUNTIME_DIR to a shorter one",
			path);
	strcpy(at->sun_path, path);
	return 0;
}

int egress_listen(const char *name, const char *suffix, struct err *e)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;

	if (place_socket(name, suffix, &at, e))
		return -1;
	unlink(at.sun_path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || chmod(at.sun_path, 0600) ||
		listen(fd, 16))
		return err_sys(e, errno, "cannot listen on %s", at.sun_path);
	return steal_fd(&fd);
}

int egress_dial(const char *name, const char *suffix, bool block, struct err *e)
{
	AUTO_CLOSE int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (block ? 0 : SOCK_NONBLOCK), 0);
	const struct timeval soon = {ANSWER_S, 0};
	struct sockaddr_un at;

	if (place_socket(name, suffix, &at, e))
		return -1;
	if (fd < 0)
		return err_sys(e, errno, "cannot make a socket");
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof soon);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof soon);
	if (!connect(fd, (struct sockaddr *)&at, sizeof at))
		return steal_fd(&fd);
	if (errno == ENOENT || errno == ECONNREFUSED)
		return err_set(e, ERR_NOT_FOUND,
			strcmp(suffix, EGRESS_SOCK)
				? "no port of %s is open"
				: "the egress of %s is not running; `berth up FILE` starts it",
			name);
	return err_sys(e, errno, "cannot ask the egress of %s", name);
}

int egress_say(int conn, const void *bytes, size_t size, const int *fds, int nfds)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, size};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * EGRESS_FDS_MAX)];
	} control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (nfds) {
		struct cmsghdr *c = &control.align;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	return sendmsg(conn, &msg, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

int egress_hear(int conn, void *bytes, size_t size, int fds[EGRESS_FDS_MAX], int *nfds)
{
	struct iovec iov = {bytes, size};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * EGRESS_FDS_MAX)];
	} control;
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof control};
	ssize_t n = recvmsg(conn, &msg, MSG_CMSG_CLOEXEC);

	*nfds = 0;
	for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
			got > EGRESS_FDS_MAX)
			continue;
		memcpy(fds, CMSG_DATA(c), got * sizeof(int));
		*nfds = (int)got;
	}
	if (n == (ssize_t)size && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return 0;
	while (*nfds)
		close(fds[--*nfds]);
	return errno = n < 0 ? errno : EPROTO, -1;
}
