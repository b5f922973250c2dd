/* packets.h - for fuzz targets of the lane: packets made of any bytes, and descriptors that must not stay open. */
#ifndef FUZZ_PACKETS_H
#define FUZZ_PACKETS_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#define FDS_MOST 8

/* Mostly as many as belong there: `few`. */
static inline void send_packet(
	int to, const uint8_t *bytes, size_t n, const int fds[FDS_MOST], size_t few)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control = {.space = {0}};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	size_t nfds = n % 8 == 7 ? FDS_MOST : few;

	if (fds) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.align.cmsg_level = SOL_SOCKET;
		control.align.cmsg_type = SCM_RIGHTS;
		control.align.cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, nfds * sizeof(int));
	}
	if (sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
}

/* A length of two bytes, the upper bit "with descriptors", and the bytes; and so on. */
static inline void send_packets(
	int to, const uint8_t *data, size_t size, const int fds[FDS_MOST], size_t few)
{
	for (size_t at = 0; at + 2 <= size;) {
		size_t n = (size_t)(data[at] | (data[at + 1] & 0x7f) << 8);
		bool with_fds = data[at + 1] & 0x80;

		at += 2;
		if (n > size - at)
			n = size - at;
		send_packet(to, data + at, n, with_fds ? fds : NULL, few);
		at += n;
	}
}

static inline unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#endif
