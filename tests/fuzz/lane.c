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
#include "packets.h"

struct guest_user guest_user; /* guest.c has main() */
int guest_listener[LANE_FDS_MAX], guest_nlisteners;
volatile pid_t *guest_accepting;

/* A socket of the container's network is made in its child: no part of what is read. */
int guest_dial(int conn, uint16_t port)
{
	(void)conn;
	(void)port;
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	int pair[2], fds[FDS_MOST];
	bool guest = size && data[0] & 1;

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	for (int i = 0; i < FDS_MOST; i++)
		fds[i] = pair[0];
	send_packets(pair[0], data + 1, size - 1, fds, 3);
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
