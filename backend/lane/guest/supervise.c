/*
 * supervise.c - supervises one command, from its request to its result.
 *
 * Forked by PID 1 for each connection, so that a command's limits, tree and failures are its own.
 * The command gets pipes made by the client; only a terminal passes through here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

#define REQUEST_LIMIT_MS 10000
#define END_LIMIT_NS 2000000000
#define RELAY_MAX 65536
/* How time in which the whole container stood still is noticed: by waits that took longer, and not for want of a
 * processor. */
#define SLICE_MS 250
#define GAP_NS 50000000

struct flow { /* one direction of the terminal's relay */
	int from, to;
	size_t at, n;
	char buf[RELAY_MAX];
};

struct command {
	int conn;
	struct lane_run ask;
	char *words; /* cwd, argv, env: one block, NUL after each */
	uint32_t nwords;
	char **argv, **envp;
	int pipes[LANE_FDS_MAX], npipes;
	int terminal; /* master, or -1 */
	struct flow in, out;
	pid_t pid;
	bool ended, cancelled, timed_out, gone; /* gone: the client is */
	int status;
	int64_t start_ns, deadline_ns, kill_ns; /* 0: none */
};

static struct command cmd; /* one per supervisor, and there is one supervisor per process */

static int refuse_harm(enum lane_stage stage, int errnum)
{
	wire_refuse(cmd.conn, stage, errnum);
	return 1;
}

static int append_words(const char *body, uint32_t len)
{
	if (!len || cmd.nwords + len > LANE_WORDS_MAX)
		return errno = E2BIG, -1;
	cmd.words = realloc(cmd.words, cmd.nwords + len);
	if (!cmd.words)
		return errno = ENOMEM, -1;
	memcpy(cmd.words + cmd.nwords, body, len);
	cmd.nwords += len;
	return 0;
}

/* Split the words: exactly 1 + argc + envc of them must be there. */
static int split_words(void)
{
	uint64_t want = 1 + (uint64_t)cmd.ask.argc + cmd.ask.envc;
	char *at = cmd.words;
	const char *end;

	if (!cmd.ask.argc || want > LANE_WORDS_MAX / LANE_POINTER || !at ||
		cmd.words[cmd.nwords - 1])
		return errno = EINVAL, -1;
	cmd.argv = calloc(want + 2, sizeof *cmd.argv);
	if (!cmd.argv)
		return errno = ENOMEM, -1;
	cmd.envp = cmd.argv + cmd.ask.argc + 1;
	end = at + cmd.nwords;
	at += strlen(at) + 1;
	for (uint64_t i = 1; i < want; i++) {
		if (at >= end)
			return errno = EINVAL, -1;
		if (i <= cmd.ask.argc)
			cmd.argv[i - 1] = at;
		else
			cmd.envp[i - 1 - cmd.ask.argc] = at;
		at += strlen(at) + 1;
	}
	return at == end ? 0 : (errno = EINVAL, -1);
}

/* Not a command: the host's end of the proxy wants the sockets to accept on, and does so until it hangs up. */
static int pass_listeners(void)
{
	char none;

	if (!guest_nlisteners)
		return errno = ENOENT, -1;
	if (wire_send_fds(cmd.conn, LANE_LISTENERS, NULL, 0, guest_listener, guest_nlisteners))
		return -1;
	*guest_accepting = getpid();
	while (recv(cmd.conn, &none, 1, 0) > 0)
		;
	return errno = EPIPE, -1;
}

static int receive_request(void)
{
	static char body[LANE_MSG_MAX];
	int64_t deadline = guest_now_ns() + (int64_t)REQUEST_LIMIT_MS * 1000000;

	for (;;) {
		struct pollfd p = {cmd.conn, POLLIN, 0};
		int64_t left = (deadline - guest_now_ns()) / 1000000;
		struct lane_msg head;
		int r;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			return errno = ETIMEDOUT, -1;
		r = wire_recv(cmd.conn, &head, body, cmd.pipes, &cmd.npipes);
		if (r <= 0)
			return r ? -1 : (errno = EPIPE, -1);
		if (head.type == LANE_LISTENERS && !cmd.npipes)
			return pass_listeners();
		if (head.type == LANE_PORT && !cmd.npipes && head.len == sizeof(uint16_t)) {
			uint16_t port;

			memcpy(&port, body, sizeof port);
			return guest_dial(cmd.conn, port);
		}
		if (head.type == LANE_WORDS && !cmd.npipes) {
			if (append_words(body, head.len))
				return -1;
		} else if (head.type == LANE_RUN && head.len == sizeof cmd.ask) {
			memcpy(&cmd.ask, body, sizeof cmd.ask);
			if (cmd.npipes != (cmd.ask.flags & LANE_TTY ? 2 : 3))
				return errno = EPROTO, -1;
			return split_words();
		} else {
			return errno = EPROTO, -1;
		}
	}
}

static int open_command_pty(char name[64])
{
	struct winsize w = {.ws_row = cmd.ask.rows, .ws_col = cmd.ask.columns};

	cmd.terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (cmd.terminal < 0 || grantpt(cmd.terminal) || unlockpt(cmd.terminal) ||
		ptsname_r(cmd.terminal, name, 64))
		return -1;
	ioctl(cmd.terminal, TIOCSWINSZ, &w);
	cmd.in.from = cmd.pipes[0];
	cmd.in.to = cmd.terminal;
	cmd.out.from = cmd.terminal;
	cmd.out.to = cmd.pipes[1];
	fcntl(cmd.in.from, F_SETFL, fcntl(cmd.in.from, F_GETFL) | O_NONBLOCK);
	fcntl(cmd.out.to, F_SETFL, fcntl(cmd.out.to, F_GETFL) | O_NONBLOCK);
	return 0;
}

/* In the child, sharing memory with the supervisor until execve (vfork): only system calls.  Stage
 * and errno travel through the shared memory. */
static volatile int child_stage, child_errno;

static void child_fail(enum lane_stage stage)
{
	child_errno = errno;
	child_stage = (int)stage;
	_exit(127);
}

/* Not by libc's functions: they would tell other threads, and this is a vfork. */
static void become_user(void)
{
	if (!guest_user.other)
		return;
	if (syscall(SYS_setgroups, 0, NULL) ||
		syscall(SYS_setresgid, guest_user.gid, guest_user.gid, guest_user.gid) ||
		syscall(SYS_setresuid, guest_user.uid, guest_user.uid, guest_user.uid))
		child_fail(LANE_AT_SETUP);
}

static void run_child(const char *terminal)
{
	sigset_t none;
	int fd;

	if (setsid() < 0)
		child_fail(LANE_AT_SETUP);
	if (terminal) {
		fd = open(terminal, O_RDWR);
		if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) || dup2(fd, 0) < 0 || dup2(fd, 1) < 0 ||
			dup2(fd, 2) < 0 ||
			(guest_user.other && fchown(fd, guest_user.uid, guest_user.gid)))
			child_fail(LANE_AT_SETUP);
		if (fd > 2)
			close(fd);
	} else {
		for (int i = 0; i < 3; i++)
			if (dup2(cmd.pipes[i], i) < 0)
				child_fail(LANE_AT_SETUP);
	}
	/* The first to go when memory runs out; a supervisor should live to tell. */
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (write(fd, "500", 3) < 0)
			child_errno = errno;
		close(fd);
	}
	become_user();
	if (cmd.words[0] && chdir(cmd.words))
		child_fail(LANE_AT_CWD);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execvpe(cmd.argv[0], cmd.argv, environ);
	child_fail(LANE_AT_EXEC);
}

static int start_command(void)
{
	char name[64];
	bool tty = cmd.ask.flags & LANE_TTY;
	uint32_t self;

	cmd.terminal = -1;
	/* Pipe ends that happen to be 0, 1 or 2 would be overwritten before they are copied. */
	for (int i = 0; i < cmd.npipes; i++)
		if (cmd.pipes[i] < 3) {
			int high = fcntl(cmd.pipes[i], F_DUPFD_CLOEXEC, 3);

			if (high < 0)
				return refuse_harm(LANE_AT_SETUP, errno);
			cmd.pipes[i] = high;
		}
	if (tty && open_command_pty(name))
		return refuse_harm(LANE_AT_SETUP, errno);
	/* The container's environment, with what the request adds; execvpe looks in its PATH. */
	for (char **v = cmd.envp; *v; v++)
		if (strchr(*v, '='))
			putenv(*v);
	cmd.start_ns = guest_now_ns();
	/* Said before: once the command runs it may end this process before it can say anything.  Who has given
	 * up waiting was told that it did not run. */
	self = (uint32_t)getpid();
	if (wire_send(cmd.conn, LANE_STARTED, &self, sizeof self))
		return 1;
	cmd.pid = vfork();
	if (cmd.pid == 0)
		run_child(tty ? name : NULL);
	if (cmd.pid < 0)
		return refuse_harm(LANE_AT_FORK, errno);
	for (int i = 0; !tty && i < cmd.npipes; i++)
		close(cmd.pipes[i]);
	if (child_stage) {
		waitpid(cmd.pid, NULL, 0);
		return refuse_harm((enum lane_stage)child_stage, child_errno);
	}
	if (cmd.ask.timeout_ms)
		cmd.deadline_ns = cmd.start_ns + (int64_t)cmd.ask.timeout_ms * 1000000;
	return 0;
}

/* SIGKILL for the tree, from the next look on. */
static void end_command_tree(void)
{
	if (!cmd.kill_ns)
		cmd.kill_ns = guest_now_ns();
}

static void on_message(void)
{
	static char body[LANE_MSG_MAX];
	int fds[LANE_FDS_MAX], nfds;
	struct lane_msg head;
	int r = wire_recv(cmd.conn, &head, body, fds, &nfds);
	uint16_t size[2];

	if (r <= 0) {
		cmd.gone = true;
		cmd.cancelled = true;
		end_command_tree();
		return;
	}
	wire_close_all(fds, nfds);
	if (head.type == LANE_CANCEL) {
		cmd.cancelled = true;
		end_command_tree();
	} else if (head.type == LANE_RESIZE && head.len == sizeof size && cmd.terminal >= 0) {
		struct winsize w = {0};

		memcpy(size, body, sizeof size);
		w.ws_col = size[0];
		w.ws_row = size[1];
		ioctl(cmd.terminal, TIOCSWINSZ, &w);
	}
}

static void on_child(int sfd)
{
	struct signalfd_siginfo
		info[4]; /* one for the process and one for its only thread can wait */
	int status;
	pid_t pid;

	if (read(sfd, info, sizeof info) < 0)
		return;
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == cmd.pid) {
			cmd.ended = true;
			cmd.status = status;
		}
}

/* Move what can be moved.  false: this direction is finished. */
static bool relay_flow(struct flow *f, short can_read, short can_write)
{
	ssize_t n;

	if (!f->n && can_read) {
		n = read(f->from, f->buf, sizeof f->buf);
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return false;
		f->at = 0;
		f->n = n > 0 ? (size_t)n : 0;
		can_write = 1;
	}
	if (f->n && can_write) {
		n = write(f->to, f->buf + f->at, f->n);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return false;
		if (n > 0) {
			f->at += (size_t)n;
			f->n -= (size_t)n;
		}
	}
	return true;
}

static void close_end(int *fd)
{
	close(*fd);
	*fd = -1;
}

enum { P_CONN, P_CHILD, P_IN_FROM, P_IN_TO, P_OUT_FROM, P_OUT_TO, P_COUNT };

/* The terminal's part of one turn. */
static void relay_all(const struct pollfd *p)
{
	if (cmd.pipes[0] >= 0 && !relay_flow(&cmd.in, p[P_IN_FROM].revents, p[P_IN_TO].revents)) {
		/* The client's end of input is the terminal's end-of-file character. */
		if (write(cmd.terminal, "\x04", 1) < 0)
			cmd.in.n = 0;
		close_end(&cmd.pipes[0]);
	}
	if (cmd.pipes[1] >= 0 && !relay_flow(&cmd.out, p[P_OUT_FROM].revents, p[P_OUT_TO].revents))
		close_end(&cmd.pipes[1]);
}

static int command_wait_ms(void)
{
	int64_t until = cmd.kill_ns ? cmd.kill_ns : cmd.deadline_ns, left;

	if (!until)
		return -1;
	left = (until - guest_now_ns() + 999999) / 1000000;
	return left < 0 ? 0 : left > SLICE_MS ? SLICE_MS : (int)left;
}

/* How long this process could have run and had no processor, be it for others or for its limit; -1: not told. */
static int64_t read_delay_ns(void)
{
	char text[128], *end;
	int fd = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	strtoull(text, &end, 10);
	return *end == ' ' ? strtoll(end, NULL, 10) : -1;
}

/* Frozen, time does not pass for the command: its time-out stands still, too. */
static void skip_frozen(int64_t before_ns, int64_t delay_ns, int wait_ms)
{
	int64_t gap = guest_now_ns() - before_ns - (int64_t)wait_ms * 1000000;
	int64_t now_delay = gap > GAP_NS ? read_delay_ns() : -1;

	if (now_delay < 0 || delay_ns < 0)
		return;
	gap -= now_delay - delay_ns;
	if (gap <= GAP_NS)
		return;
	if (cmd.deadline_ns)
		cmd.deadline_ns += gap;
	if (cmd.kill_ns)
		cmd.kill_ns += gap;
}

static void watch_command(int sfd)
{
	while (!cmd.ended) {
		bool tty = cmd.terminal >= 0;
		struct pollfd p[P_COUNT] = {{cmd.gone ? -1 : cmd.conn, POLLIN, 0}, {sfd, POLLIN, 0},
			{tty && !cmd.in.n ? cmd.pipes[0] : -1, POLLIN, 0},
			{tty && cmd.in.n ? cmd.terminal : -1, POLLOUT, 0},
			{tty && !cmd.out.n && cmd.pipes[1] >= 0 ? cmd.terminal : -1, POLLIN, 0},
			{tty && cmd.out.n ? cmd.pipes[1] : -1, POLLOUT, 0}};
		int wait = command_wait_ms();
		int64_t before = wait < 0 ? 0 : guest_now_ns();
		int64_t delay = wait < 0 ? -1 : read_delay_ns();

		if (poll(p, P_COUNT, wait) < 0 && errno != EINTR)
			return;
		if (wait >= 0)
			skip_frozen(before, delay, wait);
		if (p[P_CONN].revents)
			on_message();
		if (p[P_CHILD].revents)
			on_child(sfd);
		if (tty)
			relay_all(p);
		if (!cmd.kill_ns && cmd.deadline_ns && guest_now_ns() >= cmd.deadline_ns) {
			cmd.timed_out = true;
			end_command_tree();
		}
		if (cmd.kill_ns && guest_now_ns() >= cmd.kill_ns)
			return;
	}
}

/* What the terminal still holds after its last writer left. */
static void drain_terminal(void)
{
	int64_t deadline = guest_now_ns() + END_LIMIT_NS;

	if (cmd.pipes[1] >= 0)
		fcntl(cmd.pipes[1], F_SETFL, fcntl(cmd.pipes[1], F_GETFL) & ~O_NONBLOCK);
	while (cmd.pipes[1] >= 0 && !cmd.gone && guest_now_ns() < deadline)
		if (!relay_flow(&cmd.out, 1, 1) || (!cmd.out.n && errno == EAGAIN))
			break;
}

static uint64_t timeval_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void report_end(void)
{
	struct lane_ended end = {0};
	struct rusage all;

	end.wall_ns = (uint64_t)(guest_now_ns() - cmd.start_ns);
	end.left = guest_end_tree(END_LIMIT_NS);
	if (cmd.terminal >= 0)
		drain_terminal();
	/* Everything this supervisor waited for belongs to the command. */
	getrusage(RUSAGE_CHILDREN, &all);
	end.user_us = timeval_us(all.ru_utime);
	end.system_us = timeval_us(all.ru_stime);
	end.max_rss_bytes = (uint64_t)all.ru_maxrss * 1024;
	if (cmd.timed_out) {
		end.how = LANE_TIMED_OUT;
	} else if (cmd.cancelled) {
		end.how = LANE_CANCELLED;
	} else if (cmd.ended && WIFEXITED(cmd.status)) {
		end.how = LANE_EXIT;
		end.code = (uint32_t)WEXITSTATUS(cmd.status);
	} else {
		end.how = LANE_BY_SIGNAL;
		end.code = cmd.ended ? (uint32_t)WTERMSIG(cmd.status) : SIGKILL;
	}
	if (!cmd.gone)
		wire_send(cmd.conn, LANE_ENDED, &end, sizeof end);
}

int supervise(int conn)
{
	sigset_t chld;
	int sfd;

	cmd.conn = conn;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	prctl(PR_SET_NAME, "berth-command");
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sfd = signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC);
	if (sfd < 0)
		return refuse_harm(LANE_AT_SETUP, errno);
	if (receive_request())
		return refuse_harm(LANE_AT_REQUEST, errno);
	if (start_command())
		return 1;
	watch_command(sfd);
	report_end();
	return 0;
}
