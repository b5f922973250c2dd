/*
 * lane.c - fuzz target: hostile bytes at both ends of the lane.  The first byte says which: what a guest
 * sends to the host (even), or what somebody sends to a command's supervisor (odd), up to the point where
 * it would start something.  Then packets: a length of two bytes, the upper bit "with a descriptor", and
 * the bytes.  Nothing may crash, and no descriptor may stay open.
 */
#include <stdint.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <berth/clock.h>

#include "lane/guest/supervise.c"
#include "lane/guest/command_tree.c"
#include "lane/lane.h"

#define FDS_MOST 8

struct guest_user guest_user; /* guest.c has main() */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void send_packet(int to, const uint8_t *bytes, size_t n, bool with_fd)
{
	struct iovec iov = {(void *)(uintptr_t)bytes, n};
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(FDS_MOST * sizeof(int))];
	} control = {.space = {0}};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[FDS_MOST] = {to, to, to, to, to, to, to, to};
	/* Mostly as many as belong there. */
	size_t nfds = n % 8 == 7 ? FDS_MOST : 3;

	if (with_fd) {
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

static unsigned open_files(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void as_host(int conn)
{
	struct lane_command c = {.conn = conn, .in = -1, .out = -1, .error = -1};
	struct lane_ended end;
	int what;

	while ((what = lane_next(&c, &end, NULL)) > 0)
		if (what != 1 && what != 2)
			abort();
}

static void as_supervisor(int conn)
{
	memset(&cmd, 0, sizeof cmd);
	cmd.conn = conn;
	if (!receive_request()) {
		/* Exactly the words that were announced, each ended, all within the block. */
		for (uint32_t i = 0; i < cmd.ask.argc; i++)
			if (cmd.argv[i] < cmd.words ||
				cmd.argv[i] + strlen(cmd.argv[i]) >= cmd.words + cmd.nwords)
				abort();
		if (cmd.argv[cmd.ask.argc] || cmd.envp[cmd.ask.envc])
			abort();
	}
	wire_close_all(cmd.pipes, cmd.npipes); /* a refused supervisor ends, and they with it */
	free(cmd.words);
	free(cmd.argv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = open_files();
	int pair[2];
	bool guest = size && data[0] & 1;

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	for (size_t at = 1; at + 2 <= size;) {
		size_t n = (size_t)(data[at] | (data[at + 1] & 0x7f) << 8);
		bool with_fd = data[at + 1] & 0x80;

		at += 2;
		if (n > size - at)
			n = size - at;
		send_packet(pair[0], data + at, n, with_fd);
		at += n;
	}
	close(pair[0]);
	if (guest)
		as_supervisor(pair[1]);
	else
		as_host(pair[1]);
	close(pair[1]);
	if (open_files() != before)
		abort(); /* a descriptor stayed open */
	return 0;
}
