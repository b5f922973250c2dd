/*
 * lane_port.c - fuzz target: hostile bytes at both ends of the lane of a port.  The first byte says which: what a guest answers
 * to the host (even), or what somebody sends to the process that dials in a container (odd).  Then packets as in packets.h.
 * What comes to the host is a client of TCP or nothing, answers have the numbers of questions, and no descriptor stays open.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "lane/guest/dial.c"
#include "lane/lane.h"
#include "packets.h"

#define CLOSED_PORT 1 /* of the machine that fuzzes: nobody is there */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_ports_end(int conn)
{
	int fd, error, protocol = 0, r;
	socklen_t len = sizeof protocol;
	uint32_t number;

	while ((r = lane_port_answer(conn, &number, &fd, &error)) > 0) {
		if (fd >= 0 &&
			(error || getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) ||
				protocol != IPPROTO_TCP))
			abort();
		if (fd < 0 && !error)
			abort();
		if (fd >= 0)
			close(fd);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned before = open_files();
	int pair[2], fds[FDS_MOST], tcp;
	bool dials = size && data[0] & 1;

	if (!size || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return 0;
	tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int i = 0; i < FDS_MOST; i++)
		fds[i] = i % 2 == (data[0] >> 1 & 1) ? tcp : pair[0];
	send_packets(pair[0], data + 1, size - 1, fds, 1);
	shutdown(pair[0], SHUT_WR);
	if (dials)
		guest_dial(pair[1], CLOSED_PORT);
	else
		as_ports_end(pair[1]);
	close(tcp);
	close(pair[0]);
	close(pair[1]);
	if (open_files() != before)
		abort(); /* a descriptor stayed open */
	return 0;
}
