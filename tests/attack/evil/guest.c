/*
 * guest.c - a guest that lies: what a container's init would be if it fell into the wrong hands.
 *
 * It takes its lane as the real one does and then answers each request as its first word says.  The host may
 * believe a lie about the command's result; it may not crash, hang, leak or be fooled about anything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lane/wire_io.h"

static char body[LANE_MSG_MAX];
static unsigned *listeners_asked; /* so often, of all that serve */

static int take_evil_lane(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = LANE_DIR "/" LANE_BOOT_SOCK};
	struct lane_hello hello = {(uint32_t)getpid(), getuid(), getgid()};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0), fds[LANE_FDS_MAX], nfds, lane = -1;
	const char *lie = getenv("EVIL_BOOT");
	struct lane_msg head;

	if (connect(fd, (struct sockaddr *)&to, sizeof to))
		return -1;
	if (lie && !strcmp(lie, "hello"))
		wire_send(fd, LANE_HELLO, body, 9999);
	else
		wire_send(fd, LANE_HELLO, &hello, sizeof hello);
	while (lane < 0 && wire_recv(fd, &head, body, fds, &nfds) > 0) {
		struct lane_stated out = {0};
		struct stat st;

		if (head.type == LANE_STAT) {
			if (lstat(body, &st))
				out.error = errno;
			out.dev = st.st_dev;
			out.ino = st.st_ino + (lie && !strcmp(lie, "stat"));
			wire_send(fd, LANE_STATED, &out, sizeof out);
		} else if (head.type == LANE_LISTEN && nfds == 1) {
			lane = fds[0];
		}
	}
	if (lane >= 0) {
		listen(lane, 64);
		wire_send(fd, LANE_READY, NULL, 0);
	}
	close(fd);
	return lane;
}

static void answer_by_mode(int conn, const char *mode, const int *pipes)
{
	struct lane_ended end = {.how = LANE_EXIT, .code = 7};
	uint32_t pid = 42;

	if (!strcmp(mode, "fine")) {
		wire_send(conn, LANE_STARTED, &pid, sizeof pid);
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "garbage")) {
		memset(body, 0xa5, 4096);
		send(conn, body, 4096, 0);
	} else if (!strcmp(mode, "one-byte")) {
		send(conn, "x", 1, 0);
	} else if (!strcmp(mode, "empty")) {
		send(conn, "", 0, 0);
	} else if (!strcmp(mode, "version")) {
		struct lane_msg head = {LANE_ENDED, LANE_VERSION + 1, 0};

		send(conn, &head, sizeof head, 0);
	} else if (!strcmp(mode, "length")) {
		struct lane_msg head = {LANE_ENDED, LANE_VERSION, 0xffffffff};

		send(conn, &head, sizeof head, 0);
	} else if (!strcmp(mode, "short")) {
		wire_send(conn, LANE_ENDED, &end, sizeof end - 1);
	} else if (!strcmp(mode, "long")) {
		wire_send(conn, LANE_ENDED, body, LANE_MSG_MAX - sizeof(struct lane_msg));
	} else if (!strcmp(mode, "type")) {
		wire_send(conn, (enum lane_type)77, &end, sizeof end);
	} else if (!strcmp(mode, "request")) {
		wire_send(conn, LANE_RUN, &end, sizeof end);
	} else if (!strcmp(mode, "huge")) {
		memset(&end, 0xff, sizeof end);
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "errno")) {
		end = (struct lane_ended){.how = LANE_NOT_RUN, .code = 99999, .stage = 4711};
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "signal")) {
		end = (struct lane_ended){.how = LANE_BY_SIGNAL, .code = 70000};
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "left")) {
		end.left = 3;
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "descriptors")) {
		int given[3] = {0, 1, 2};

		for (int i = 0; i < 2000; i++)
			wire_send_fds(conn, LANE_STARTED, &pid, sizeof pid, given, 3);
		wire_send_fds(conn, LANE_ENDED, &end, sizeof end, given, 3);
	} else if (!strcmp(mode, "twice")) {
		wire_send(conn, LANE_ENDED, &end, sizeof end);
		end.code = 8;
		wire_send(conn, LANE_ENDED, &end, sizeof end);
	} else if (!strcmp(mode, "holds-output")) {
		wire_send(conn, LANE_ENDED, &end, sizeof end);
		while (write(pipes[1], "after the end\n", 14) > 0)
			;
		pause();
	} else if (!strcmp(mode, "started-flood")) {
		while (!wire_send(conn, LANE_STARTED, &pid, sizeof pid))
			;
		pause();
	} else if (!strcmp(mode, "output-flood")) {
		memset(body, 'x', sizeof body);
		while (write(pipes[1], body, sizeof body) > 0)
			;
		pause();
	} else if (!strcmp(mode, "silent")) {
		pause();
	}
	/* "close": nothing at all */
}

/* What is listened on, at 127.0.0.1 unless `anywhere`. */
static int make_socket(int kind, uint16_t port, bool anywhere, bool listens)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(anywhere ? INADDR_ANY : INADDR_LOOPBACK)};
	int on = 1, fd = socket(AF_INET, kind, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (const struct sockaddr *)&at, sizeof at) || (listens && listen(fd, 1)))
		_exit(1);
	return fd;
}

/* In the place of the sockets that clients of a proxy come to: another kind of thing each time, at last the right one. */
static void pass_false_listeners(int conn)
{
	int fd[LANE_FDS_MAX], n = 1;

	switch ((*listeners_asked)++) {
	case 0: fd[0] = open("/dev/null", O_RDWR); break;
	case 1: fd[0] = make_socket(SOCK_DGRAM, LANE_PROXY_PORT, false, false); break;
	case 2: fd[0] = make_socket(SOCK_STREAM, LANE_PROXY_PORT + 1, false, true); break;
	case 3: fd[0] = make_socket(SOCK_STREAM, LANE_PROXY_PORT, true, true); break;
	case 4: fd[0] = make_socket(SOCK_STREAM, LANE_PROXY_PORT, false, false); break;
	case 5:
		fd[0] = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(fd[0], &(struct sockaddr){.sa_family = AF_UNIX}, sizeof(sa_family_t)) ||
			listen(fd[0], 1))
			_exit(1);
		break;
	case 6: n = 0; break;
	case 7:
		fd[0] = make_socket(SOCK_STREAM, LANE_PROXY_PORT, false, true);
		fd[1] = conn;
		n = 2;
		break;
	case 8:
		fd[0] = fd[1] = fd[2] = make_socket(SOCK_STREAM, LANE_PROXY_PORT, false, true);
		n = 3;
		break;
	default: fd[0] = make_socket(SOCK_STREAM, LANE_PROXY_PORT, false, true);
	}
	wire_send_fds(conn, LANE_LISTENERS, NULL, 0, fd, n);
	_exit(0);
}

static void serve_lies(int conn)
{
	char mode[64] = "";
	struct lane_msg head;
	int fds[LANE_FDS_MAX], nfds;

	while (wire_recv(conn, &head, body, fds, &nfds) > 0) {
		if (head.type == LANE_WORDS && !*mode) /* cwd NUL argv[0] NUL ... */
			snprintf(mode, sizeof mode, "%s", body + strlen(body) + 1);
		if (head.type == LANE_LISTENERS)
			pass_false_listeners(conn);
		if (head.type == LANE_RUN) {
			answer_by_mode(conn, mode, fds);
			break;
		}
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int lane;

	(void)argv;
	if (argc > 1) /* as the helper that hands a volume over */
		return 0;

	signal(SIGCHLD, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, _exit);
	listeners_asked = mmap(NULL, sizeof *listeners_asked, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while ((lane = take_evil_lane()) < 0)
		usleep(20000);
	for (;;) {
		int conn = accept(lane, NULL, NULL);

		if (conn >= 0 && fork() == 0)
			serve_lies(conn);
		close(conn);
	}
}
