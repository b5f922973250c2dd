/* wire_io.c - sends and receives lane messages over SOCK_SEQPACKET. Linked into the static guest: libc only. */
#include "lane/wire_io.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

int wire_send_fds(
	int conn, enum lane_type type, const void *body, size_t len, const int *fds, int nfds)
{
	struct lane_msg head = {(uint16_t)type, LANE_VERSION, (uint32_t)len};
	struct iovec iov[2] = {{&head, sizeof head}, {(void *)body, len}};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * LANE_FDS_MAX)];
	} control;
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = len ? 2 : 1};
	ssize_t n;

	if (len > LANE_MSG_MAX - sizeof head || nfds > LANE_FDS_MAX)
		return errno = EMSGSIZE, -1;
	if (nfds) {
		struct cmsghdr *c = &control.align;

		memset(&control, 0, sizeof control);
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)nfds);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)nfds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * (size_t)nfds);
	}
	do
		n = sendmsg(conn, &msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : 0;
}

int wire_send(int conn, enum lane_type type, const void *body, size_t len)
{
	return wire_send_fds(conn, type, body, len, NULL, 0);
}

void wire_close_all(const int *fds, int nfds)
{
	for (int i = 0; i < nfds; i++)
		close(fds[i]);
}

int wire_recv(int conn, struct lane_msg *head, char *body, int fds[LANE_FDS_MAX], int *nfds)
{
	pid_t sender;

	return wire_recv_from(conn, head, body, fds, nfds, &sender);
}

int wire_recv_from(int conn, struct lane_msg *head, char *body, int fds[LANE_FDS_MAX], int *nfds,
	pid_t *sender)
{
	struct iovec iov[2] = {{head, sizeof *head}, {body, LANE_MSG_MAX - sizeof *head}};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(sizeof(int) * LANE_FDS_MAX) +
			CMSG_SPACE(sizeof(struct ucred))];
	} control;
	struct msghdr msg = {.msg_iov = iov,
		.msg_iovlen = 2,
		.msg_control = &control,
		.msg_controllen = sizeof control};
	ssize_t n;

	*nfds = 0;
	*sender = 0;
	do
		n = recvmsg(conn, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -1;
	/* An empty message may carry descriptors as well. */
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);
		struct ucred who;

		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
			bytes == sizeof who) {
			memcpy(&who, CMSG_DATA(c), sizeof who);
			*sender = who.pid;
		}
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < bytes / sizeof(int); i++) {
			int fd;

			/* The kernel has given us all that fit; none may stay open unseen. */
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof fd);
			if (*nfds < LANE_FDS_MAX)
				fds[(*nfds)++] = fd;
			else
				close(fd);
		}
	}
	if (!n) {
		wire_close_all(fds, *nfds);
		*nfds = 0;
		return 0;
	}
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || (size_t)n < sizeof *head ||
		head->version != LANE_VERSION || head->len != (size_t)n - sizeof *head) {
		wire_close_all(fds, *nfds);
		*nfds = 0;
		return errno = (size_t)n >= sizeof *head && head->version != LANE_VERSION
			       ? EPROTONOSUPPORT
			       : EPROTO,
		       -1;
	}
	return 1;
}

void wire_refuse(int conn, enum lane_stage stage, int errnum)
{
	struct lane_ended end = {.how = LANE_NOT_RUN, .code = (uint32_t)errnum, .stage = stage};

	wire_send(conn, LANE_ENDED, &end, sizeof end);
}
