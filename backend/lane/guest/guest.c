/*
 * guest.c - berth-guest: PID 1 of every container that berth makes.
 *
 * It reaps, forwards signals, keeps secrets as files in memory, and runs commands that the host
 * sends over the lane (wire.h); `berth-guest alone` does without one.  A static program, mounted read-only, run as the container's user
 * without any capability; `berth-guest as UID GID`, where the definition allows sudo, runs as root and
 * its commands as that user.
 *
 * Threats.  The commands it runs are hostile, run under the same user, and may do anything to what
 * this user owns.  So:
 *  - It is not dumpable: no ptrace, no /proc/1/mem, no environment to read.  PID 1 gets no signal
 * from inside its namespace for which it has no handler, SIGKILL and SIGSTOP included.
 *  - The lane's directory is a read-only mount, which not even root in here can rename.  The listening
 *    socket was bound by the host, outside of it, and came over the boot connection: no container has a name for it,
 * its own or another's, by which it could issue commands as the host.  listen() is called
 *    again here, which makes the kernel report this process, PID 1, as the peer; the host checks that.
 *  - Besides, a connection is only served when the kernel says its peer is outside this PID namespace
 *    (pid 0).  By itself that would not do: a peer in a sibling's namespace is 0 as well.
 *  - Each command has a supervisor of its own (supervise.c), the subreaper of everything it starts.
 *    A command may kill or stop its supervisor: its tree then becomes ours, and what is ours but no
 * supervisor is killed at once.
 *  - All it can gain by tampering is to lie about its own result.  The host treats every byte from
 *    here as hostile, and ends the container by its cgroup if the guest does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define SUPERVISORS_MAX 4096
#define BOOT_RETRY_MS 200
#define STOP_GRACE_MS 2000
#define CHASES_MAX 256
#define HOST_LIMIT_S 10
#define SIGNALS_AT_ONCE 32
#define DEAF_MS 20

struct guest_user guest_user;
int guest_listener[LANE_FDS_MAX], guest_nlisteners;
volatile pid_t *guest_accepting;
static pid_t supervisor[SUPERVISORS_MAX];
static int nsupervisors;

static void print_error(const char *what)
{
	fprintf(stderr, "berth-guest: %s: %m\n", what);
}

static bool is_supervisor(pid_t pid)
{
	for (int i = 0; i < nsupervisors; i++)
		if (supervisor[i] == pid)
			return true;
	return false;
}

static void forget_supervisor(pid_t pid)
{
	for (int i = 0; i < nsupervisors; i++)
		if (supervisor[i] == pid) {
			supervisor[i] = supervisor[--nsupervisors];
			return;
		}
}

/* What reparented to us without being a supervisor belonged to one that was killed.  One pass: the ends of these
 * are told by SIGCHLD too, and what reparents by them is found then. */
static void kill_strays(void)
{
	static pid_t kids[GUEST_PROCESSES_MAX]; /* untouched pages cost nothing */
	int n = guest_children(getpid(), kids, GUEST_PROCESSES_MAX);

	for (int i = 0; i < n; i++)
		if (!is_supervisor(kids[i]))
			kill(kids[i], SIGKILL);
}

/*
 * SIGCHLD: a supervisor that ended in order leaves nothing; after any other death look for strays.  One that was
 * stopped was stopped by its command, to outlive a time-out: it ends, and with it the command.  Strays that are
 * always elsewhere when the list of processes is read are ended with everything else here.
 */
static void reap_children(void)
{
	static int chases;
	bool strays = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
		if (WIFSTOPPED(status)) {
			kill(pid, SIGKILL);
		} else if (is_supervisor(pid)) {
			strays |= !WIFEXITED(status);
			forget_supervisor(pid);
			if (guest_accepting && *guest_accepting == pid)
				*guest_accepting = 0;
		} else {
			strays = true;
		}
	}
	if (strays)
		kill_strays();
	chases = strays ? chases + 1 : 0;
	if (chases > CHASES_MAX) {
		kill(-1, SIGKILL);
		chases = 0;
	}
}

static int boot_connect(void)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = LANE_DIR "/" LANE_BOOT_SOCK};
	struct timeval limit = {HOST_LIMIT_S, 0};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	/* A host that has stopped in the middle, or others who fill its queue, must not keep us from the signals. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
	if (connect(fd, (struct sockaddr *)&to, sizeof to)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Only this user's processes may see them, and they stay in memory: the directory is a tmpfs. */
static int keep_secret(char *body, uint32_t len)
{
	const char *end = memchr(body, '\0', len);
	char path[512];
	size_t n;
	int fd;

	/* $NAME: a variable of the commands to come, kept in this process, which nobody can read. */
	if (end && *body == '$') {
		body[len] = '\0'; /* the buffer is longer than any message's body */
		return end - body < 2 || strchr(body, '=') ? (errno = EINVAL, -1)
							   : setenv(body + 1, end + 1, 1);
	}
	if (!end || end == body || end - body > NAME_MAX || strchr(body, '/') || body[0] == '.')
		return errno = EINVAL, -1;
	snprintf(path, sizeof path, LANE_SECRETS_DIR "/%.255s", body);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0400);
	if (fd < 0)
		return -1;
	n = len - (size_t)(end + 1 - body);
	if ((guest_user.other && fchown(fd, guest_user.uid, guest_user.gid)) ||
		write(fd, end + 1, n) != (ssize_t)n) {
		close(fd);
		unlink(path);
		return -1;
	}
	return close(fd);
}

/* Before anything runs here the host compares what is mounted with what it checked. */
static int tell_stat(int fd, char *path, uint32_t len)
{
	struct lane_stated out = {0};
	struct stat st;

	path[len < PATH_MAX ? len : PATH_MAX - 1] = '\0';
	if (lstat(path, &st)) {
		out.error = errno;
	} else {
		out.mode = st.st_mode;
		out.dev = st.st_dev;
		out.ino = st.st_ino;
	}
	return wire_send(fd, LANE_STATED, &out, sizeof out);
}

static void listen_at_loopback(const void *at, socklen_t len, int family)
{
	int on = 1, fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	/* A relay that is started again finds connections of the one before. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, at, len) || listen(fd, 512)) {
		int why = errno;

		close(fd);
		errno = why;
		return;
	}
	guest_listener[guest_nlisteners++] = fd;
}

/* Nobody on the host accepts (any more): clients are told instead of left waiting. */
static void answer_for_host(int listener)
{
	static const char sorry[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 58\r\nConnection: close\r\n\r\n"
		"berth: the egress of this agent is not running (berth up)\n";
	int conn =
		*guest_accepting ? -1 : accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (conn < 0)
		return;
	if (send(conn, sorry, sizeof sorry - 1, MSG_NOSIGNAL) > 0)
		shutdown(conn, SHUT_WR);
	close(conn);
}

void guest_listen(void)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
		.sin_port = htons(LANE_PROXY_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
		.sin6_port = htons(LANE_PROXY_PORT),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT};

	listen_at_loopback(&v4, sizeof v4, AF_INET);
	if (guest_nlisteners)
		listen_at_loopback(&v6, sizeof v6, AF_INET6);
}

/* The host accepts, on the same sockets. */
static void make_listeners(void)
{
	if (guest_nlisteners)
		return;
	guest_accepting = mmap(NULL, sizeof *guest_accepting, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (guest_accepting == MAP_FAILED) {
		guest_accepting = NULL;
		print_error("cannot share memory");
		return;
	}
	guest_listen();
	if (!guest_nlisteners)
		print_error("cannot listen for clients of the proxy");
}

/* Ask the host for the lane's socket.  -1: nobody is there (yet). */
static int boot_guest(void)
{
	static char body[LANE_MSG_MAX];
	struct lane_hello hello = {(uint32_t)getpid(), getuid(), getgid()};
	int fd = boot_connect(), lane = -1, fds[LANE_FDS_MAX], nfds;
	struct lane_msg head;

	if (fd < 0)
		return -1;
	if (wire_send(fd, LANE_HELLO, &hello, sizeof hello))
		goto out;
	while (lane < 0 && wire_recv(fd, &head, body, fds, &nfds) > 0) {
		if (head.type == LANE_SECRET && keep_secret(body, head.len))
			print_error("cannot keep a secret");
		else if (head.type == LANE_STAT && tell_stat(fd, body, head.len))
			break;
		else if (head.type == LANE_PROXY && !nfds)
			make_listeners();
		else if (head.type == LANE_LISTEN && nfds == 1)
			lane = fds[0];
		else
			wire_close_all(fds, nfds);
	}
	if (lane >= 0 && (listen(lane, 512) || wire_send(fd, LANE_READY, NULL, 0))) {
		print_error("cannot listen on the lane");
		close(lane);
		lane = -1;
	}
out:
	memset(body, 0, sizeof body);
	close(fd);
	return lane;
}

/* Standard input serves as the spare: its number is below any limit that lets us have descriptors at all. */
static void refuse_without_descriptors(int lane)
{
	int why = errno, conn;

	close(STDIN_FILENO);
	conn = accept4(lane, NULL, NULL, SOCK_CLOEXEC);
	if (conn >= 0) {
		wire_refuse(conn, LANE_AT_FORK, why);
		close(conn);
	} else {
		poll(NULL, 0, DEAF_MS); /* the next one will not be luckier at once */
	}
	if (open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
		print_error("cannot open the spare descriptor");
}

static void serve_connection(int lane)
{
	struct ucred peer;
	socklen_t len = sizeof peer;
	int conn = accept4(lane, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	if (conn < 0) {
		if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
			refuse_without_descriptors(lane);
		return;
	}
	if (getsockopt(conn, SOL_SOCKET, SO_PEERCRED, &peer, &len) || peer.pid != 0) {
		close(conn);
		return;
	}
	pid = nsupervisors < SUPERVISORS_MAX ? fork() : (errno = EAGAIN, -1);
	if (pid == 0) {
		close(lane);
		_exit(supervise(conn));
	}
	if (pid > 0)
		supervisor[nsupervisors++] = pid;
	else
		wire_refuse(conn, LANE_AT_FORK, errno);
	close(conn);
}

/* `berth-guest chown UID GID DIR`: as root of a helper container, hand a new volume to its user. */
static int chown_volume(char **argv)
{
	if (lchown(argv[4], (uid_t)strtoul(argv[2], NULL, 10), (gid_t)strtoul(argv[3], NULL, 10)) ||
		chmod(argv[4], 0700)) {
		print_error(argv[4]);
		return 1;
	}
	return 0;
}

static bool has_number(const char *line, unsigned long number)
{
	for (int i = 0; i < 2; i++) {
		line += strcspn(line, ":\n");
		if (*line != ':')
			return false;
		line++;
	}
	return *line >= '0' && *line <= '9' && strtoul(line, NULL, 10) == number;
}

/* Append `line` to a file of the kind of passwd unless one of its lines has the number. */
static void introduce_in(const char *path, unsigned long number, const char *line)
{
	static char text[1 << 20];
	/* root's commands may have put anything there before a restart; that must not hold us up. */
	int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	text[n > 0 ? n : 0] = '\0';
	for (const char *at = text; n >= 0 && at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (has_number(at, number))
			n = -2;
	}
	if (n == -1 || (n >= 0 && write(fd, line, strlen(line)) < 0))
		print_error(path);
	if (fd >= 0)
		close(fd);
}

/* sudo serves only users that have a name.  No password, and none in shadow either. */
static void introduce_user(void)
{
	char line[160];
	unsigned long uid = guest_user.uid, gid = guest_user.gid;

	snprintf(line, sizeof line, "berth-%lu:*:%lu:%lu::/home/agent:/bin/sh\n", uid, uid, gid);
	introduce_in("/etc/passwd", uid, line);
	snprintf(line, sizeof line, "berth-%lu:*:%lu:\n", gid, gid);
	introduce_in("/etc/group", gid, line);
}

/* The engine asks us to stop: pass it on, wait a little, and leave; the kernel ends the rest. */
static void stop_container(int sig)
{
	int64_t deadline = guest_now_ns() + (int64_t)STOP_GRACE_MS * 1000000;
	sigset_t chld;

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	kill(-1, sig);
	for (;;) {
		int64_t left = deadline - guest_now_ns();
		struct timespec t = {left / 1000000000, left % 1000000000};

		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (left <= 0 || (kill(-1, 0) && errno == ESRCH))
			_exit(0);
		sigtimedwait(&chld, NULL, &t);
	}
}

/* Who may stop us is outside, where numbers are not ours.  Only of a signal by kill() does the kernel itself say
 * who sent it: with sigqueue the sender writes that, and a descriptor's (F_SETSIG) names nobody. */
static bool from_outside(const struct signalfd_siginfo *info)
{
	return info->ssi_code == SI_USER && !info->ssi_pid;
}

/* A handful: commands can send signals faster than we read them, and the lane must have its turn. */
static void pass_signals(int sfd)
{
	struct signalfd_siginfo info[SIGNALS_AT_ONCE];
	ssize_t n = read(sfd, info, sizeof info);

	for (size_t i = 0; n > 0 && i < (size_t)n / sizeof *info; i++) {
		int sig = (int)info[i].ssi_signo;

		if (sig == SIGCHLD)
			reap_children();
		else if (!from_outside(&info[i]))
			continue;
		else if (sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGPWR)
			stop_container(sig);
		else if (sig == SIGHUP || sig == SIGUSR1 || sig == SIGUSR2 || sig == SIGWINCH)
			kill(-1, sig);
	}
}

int main(int argc, char **argv)
{
	sigset_t all;
	int sfd, lane = -1;
	bool alone = false;

	if (argc > 1 && !strcmp(argv[1], LANE_GUEST_HEALTH))
		return guest_health(argc, argv);
	if (argc == 4 && !strcmp(argv[1], LANE_GUEST_CONNECT))
		return guest_connect(argv[2], argv[3]);
	if (argc == 2 && !strcmp(argv[1], LANE_GUEST_RELAY))
		return guest_relay();
	if (argc > 2 && !strcmp(argv[1], LANE_GUEST_RUN))
		return guest_run(argv + 2);
	if (argc == 5 && !strcmp(argv[1], "chown"))
		return chown_volume(argv);
	if (argc == 4 && !strcmp(argv[1], "as") && getpid() == 1) {
		guest_user = (struct guest_user){
			true, (uid_t)strtoul(argv[2], NULL, 10), (gid_t)strtoul(argv[3], NULL, 10)};
		introduce_user();
	} else if (argc == 2 && !strcmp(argv[1], LANE_GUEST_ALONE) && getpid() == 1) {
		alone = true;
	} else if (argc > 1 || getpid() != 1) {
		fputs("berth-guest: this is the init of berth's containers; it runs as "
		      "process 1 without arguments\n",
			stderr);
		return 2;
	}
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, alone ? GUEST_NAME : GUEST_WAITS);
	umask(022);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sfd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	if (sfd < 0) {
		print_error("cannot watch signals");
		return 1;
	}
	for (;;) {
		struct pollfd p[2 + LANE_FDS_MAX] = {{sfd, POLLIN, 0}, {lane, POLLIN, 0}};
		int unserved = guest_accepting && !*guest_accepting ? guest_nlisteners : 0;

		if (lane < 0 && !alone && (lane = boot_guest()) >= 0) {
			prctl(PR_SET_NAME, GUEST_NAME); /* what guest_health looks for */
			continue;
		}
		for (int i = 0; i < unserved; i++)
			p[2 + i] = (struct pollfd){guest_listener[i], POLLIN, 0};
		if (poll(p, (nfds_t)(2 + unserved), lane < 0 && !alone ? BOOT_RETRY_MS : -1) < 0 &&
			errno != EINTR)
			return 1;
		if (p[0].revents)
			pass_signals(sfd);
		if (lane >= 0 && p[1].revents & POLLIN)
			serve_connection(lane);
		for (int i = 0; i < unserved; i++)
			if (p[2 + i].revents)
				answer_for_host(guest_listener[i]);
	}
}
