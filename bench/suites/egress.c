/*
 * egress.c - measures an egress process against a direct connection and a bare relay: throughput, latency, many
 * connections.
 *
 * The end is the program that `berth up` starts, on a listener that no container made; its init is a process that waits.
 * Every arm asks the same server of this process, over loopback, for the same bytes.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#include "egress/egress.h"
#include "peers/engine.h"
#include "suites/files.h"

#define GIB ((uint64_t)1 << 30)
#define CHUNK ((size_t)256 << 10)
#define PIPE_BYTES 65536 /* as the end has */
#define MANY 1000
#define BACKLOG 4096
#define PATIENCE_S 30
#define NAME "bench" /* of the container that the end is for */

struct egress_bench {
	struct scratch dir;
	pid_t init, end;
	int server, relay, agent; /* listening */
	uint16_t server_port, relay_port, agent_port;
	pthread_t serving, relaying;
	bool threads;
	uint64_t bytes; /* a sample's */
	char *buf, *sent;
	struct sockaddr_un control; /* of the end, by a name that the kernel chose */
	socklen_t ncontrol;
	int watch;             /* somebody who can be asked; -1: none */
	uint64_t held;         /* the connection that waited last, as the end counts them */
	bool known;            /* to other berth processes: by files in directories of its own */
	char *runtime, *state; /* what these were before */
};

/* -- sockets ------------------------------------------------------------------------------------------- */

static int listen_here(uint16_t *port, struct err *e)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) || listen(fd, BACKLOG) ||
		getsockname(fd, (struct sockaddr *)&at, &len)) {
		err_sys(e, errno, "cannot listen on loopback");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*port = ntohs(at.sin_port);
	return fd;
}

static int connect_here(uint16_t port, struct err *e)
{
	const struct sockaddr_in at = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {PATIENCE_S, 0};
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at)) {
		err_sys(e, errno, "cannot connect over loopback");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	return fd;
}

static int send_all(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return -1;
		bytes += sent;
		n -= (size_t)sent;
	}
	return 0;
}

/* -- the server: eight bytes say how many are wanted ----------------------------------------------------- */

static void answer_wanted(struct egress_bench *b, int fd)
{
	uint64_t want;

	if (recv(fd, &want, sizeof want, MSG_WAITALL) != (ssize_t)sizeof want) {
		close(fd);
		return;
	}
	while (want) {
		size_t n = want < CHUNK ? (size_t)want : CHUNK;

		if (send_all(fd, b->sent, n))
			return;
		want -= n;
	}
}

/* Until the listener is shut down. */
static void *serve_wanted(void *ctx)
{
	struct egress_bench *b = ctx;
	int poll = epoll_create1(EPOLL_CLOEXEC), on = 1;
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = b->server};

	epoll_ctl(poll, EPOLL_CTL_ADD, b->server, &ev);
	while (epoll_wait(poll, &ev, 1, -1) == 1 || errno == EINTR) {
		int fd = ev.data.fd;

		if (fd != b->server) {
			answer_wanted(b, fd);
			continue;
		}
		fd = accept4(b->server, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			break;
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
		ev = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
		epoll_ctl(poll, EPOLL_CTL_ADD, fd, &ev);
	}
	close(poll);
	return NULL;
}

/* -- a bare relay: two calls for 64 KiB, and nothing asked or counted ------------------------------------ */

static void relay_one(int client, int server)
{
	uint64_t want;
	int pipe[2];
	ssize_t n = 1;

	if (recv(client, &want, sizeof want, MSG_WAITALL) != (ssize_t)sizeof want ||
		send_all(server, (const char *)&want, sizeof want) || pipe2(pipe, O_CLOEXEC))
		return;
	while (want && n > 0) {
		ssize_t held = splice(server, NULL, pipe[1], NULL, PIPE_BYTES, SPLICE_F_MOVE);

		n = held;
		want -= held > 0 ? (uint64_t)held : 0;
		while (held > 0 && n > 0) {
			n = splice(pipe[0], NULL, client, NULL, (size_t)held, SPLICE_F_MOVE);
			held -= n > 0 ? n : 0;
		}
	}
	close(pipe[0]);
	close(pipe[1]);
}

static void *relay_wanted(void *ctx)
{
	struct egress_bench *b = ctx;
	int client, server;

	while ((client = accept4(b->relay, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		server = connect_here(b->server_port, NULL);
		if (server >= 0) {
			relay_one(client, server);
			close(server);
		}
		close(client);
	}
	return NULL;
}

/* -- the end --------------------------------------------------------------------------------------------- */

static pid_t start_init(void)
{
	pid_t parent = getpid(), pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

static void become_bench_end(const char *program, const char *rules, const int *given, int n)
{
	char *argv[] = {(char *)EGRESS_PROGRAM, (char *)NAME, (char *)rules, (char *)"1", NULL};
	char *envp[] = {NULL};

	for (int i = 0; i < n; i++)
		dup2(given[i], 40 + i);
	for (int i = 0; i < n; i++)
		dup2(40 + i, EGRESS_FD_CONTROL + i);
	syscall(SYS_close_range, (unsigned)(EGRESS_FD_CONTROL + n), ~0U, 0);
	execve(program, argv, envp);
	_exit(1);
}

/* By a name that the kernel chooses; one that does not listen would wake the end all the time. */
static int listen_unnamed(void)
{
	const struct sockaddr none = {.sa_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, &none, sizeof none.sa_family) || listen(fd, 8)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

/* As `up` has it for those that decide by the agent's name: its lane is known, and its end has rules and a socket. */
static int make_known(struct egress_bench *b, char rules[EGRESS_PATH_MAX], struct err *e)
{
	char run[PATH_MAX], lanes[PATH_MAX], path[PATH_MAX + 16];
	FILE *f;

	b->known = true;
	b->runtime = xstrdup(getenv("XDG_RUNTIME_DIR"));
	b->state = xstrdup(getenv("XDG_STATE_HOME"));
	setenv("XDG_RUNTIME_DIR", b->dir.path, 1);
	setenv("XDG_STATE_HOME", b->dir.path, 1);
	if (runtime_dir(run, sizeof run, e) ||
		runtime_subdir(lanes, sizeof lanes, run, "lanes", e) ||
		egress_place(NAME, ".rules", rules, e))
		return -1;
	snprintf(path, sizeof path, "%s/" NAME ".lane", lanes);
	f = fopen(path, "we");
	if (!f)
		return err_sys(e, errno, "cannot write %s", path);
	fprintf(f, NAME "\n%064d\n" NAME "\nengine\nsession\n", 0);
	fclose(f);
	return 0;
}

/* `asks`: no rule allows the server, and a person is asked.  `known`: and may decide by the agent's name. */
static int start_end(struct egress_bench *b, bool asks, bool known, struct err *e)
{
	char program[PATH_MAX], rules[PATH_MAX + 16];
	int control, guest, null;
	FILE *f;

	if (runtime_program(EGRESS_PROGRAM, program, e))
		return err_set(e, ERR_NOT_FOUND, "%s is not next to this program", EGRESS_PROGRAM);
	snprintf(rules, sizeof rules, "%s/bench.rules", b->dir.path);
	if (known && make_known(b, rules, e))
		return -1;
	f = fopen(rules, "we");
	if (!f)
		return err_sys(e, errno, "cannot write %s", rules);
	if (asks)
		fprintf(f, "ask file 0 %d\n", PATIENCE_S);
	else
		fprintf(f, "allow file 0 127.0.0.1:%u\n", b->server_port);
	fclose(f);
	control = known ? egress_listen(NAME, EGRESS_SOCK, NULL) : listen_unnamed();
	b->ncontrol = sizeof b->control;
	if (control < 0 || getsockname(control, (struct sockaddr *)&b->control, &b->ncontrol))
		return err_sys(e, errno, "cannot listen for questions to the end");
	b->init = start_init();
	guest = (int)syscall(SYS_pidfd_open, b->init, 0);
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	b->end = fork();
	if (!b->end) {
		const int given[] = {control, guest, null, b->agent};

		become_bench_end(program, rules, given, (int)COUNT(given));
	}
	close(control);
	close(guest);
	close(null);
	return b->init < 0 || b->end < 0 ? err_sys(e, errno, "cannot start a process") : 0;
}

static void teardown(void *ctx)
{
	struct egress_bench *b = ctx;

	if (b->init > 0) {
		kill(b->init, SIGKILL);
		waitpid(b->init, NULL, 0);
	}
	if (b->end > 0)
		waitpid(b->end, NULL, 0); /* it ends with its init */
	shutdown(b->server, SHUT_RDWR);
	shutdown(b->relay, SHUT_RDWR);
	if (b->threads) {
		pthread_join(b->relaying, NULL);
		pthread_join(b->serving, NULL);
	}
	close(b->server);
	close(b->relay);
	close(b->agent);
	if (b->watch >= 0)
		close(b->watch);
	if (b->known) {
		egress_forget(NAME);
		set_or_unset("XDG_RUNTIME_DIR", b->runtime);
		set_or_unset("XDG_STATE_HOME", b->state);
	}
	scratch_release(&b->dir);
	free(b->runtime);
	free(b->state);
	free(b->buf);
	free(b->sent);
	free(b);
}

static void *set_up_end(struct bench_run *r, bool asks, bool known, struct err *e)
{
	struct egress_bench *b = xcalloc(1, sizeof *b);
	struct rlimit files;

	b->watch = -1;
	b->bytes = bench_smoke(r) ? GIB / 16 : GIB;
	b->buf = xmalloc(CHUNK);
	b->sent = xcalloc(1, CHUNK);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	b->server = listen_here(&b->server_port, e);
	b->relay = listen_here(&b->relay_port, e);
	b->agent = listen_here(&b->agent_port, e);
	if (b->server < 0 || b->relay < 0 || b->agent < 0 || scratch_init(&b->dir, e) ||
		start_end(b, asks, known, e)) {
		teardown(b);
		return NULL;
	}
	signal(SIGPIPE, SIG_IGN); /* splice has no flag against it */
	b->threads = !pthread_create(&b->serving, NULL, serve_wanted, b) &&
		!pthread_create(&b->relaying, NULL, relay_wanted, b);
	return b;
}

static void *setup(struct bench_run *r, struct err *e)
{
	return set_up_end(r, false, false, e);
}

/* -- the ways -------------------------------------------------------------------------------------------- */

/* As a program inside says it. */
static int connect_by_proxy(struct egress_bench *b, struct err *e)
{
	int fd = connect_here(b->agent_port, e);
	char ask[128];
	int n = snprintf(ask, sizeof ask,
		"CONNECT 127.0.0.1:%u HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n", b->server_port,
		b->server_port);

	if (fd >= 0 && send_all(fd, ask, (size_t)n))
		return err_sys(e, errno, "the end takes no request");
	return fd;
}

static int hear_established(int fd, struct err *e)
{
	static const char yes[] = "HTTP/1.1 200 Connection established\r\n\r\n";
	char said[sizeof yes];
	ssize_t n = recv(fd, said, sizeof yes - 1, MSG_WAITALL);

	return n == (ssize_t)sizeof yes - 1 && !memcmp(said, yes, sizeof yes - 1)
		? 0
		: err_set(e, ERR_FAILED, "the end refuses the connection");
}

/* `want` bytes, all looked at by being received. */
static int fetch_bytes(
	struct egress_bench *b, int fd, uint64_t want, struct sample *s, struct err *e)
{
	uint64_t got = 0;

	if (send_all(fd, (const char *)&want, sizeof want))
		return err_sys(e, errno, "nothing can be asked");
	while (got < want) {
		ssize_t n = recv(fd, b->buf, CHUNK, 0);

		if (n <= 0)
			return err_set(e, ERR_FAILED, "the bytes ended after %llu of %llu",
				(unsigned long long)got, (unsigned long long)want);
		got += (uint64_t)n;
	}
	s->digest = digest_bytes(0, &got, sizeof got);
	return 0;
}

static int fetch_from(
	struct egress_bench *b, uint16_t port, uint64_t want, struct sample *s, struct err *e)
{
	AUTO_CLOSE int fd = connect_here(port, e);

	return fd < 0 ? -1 : fetch_bytes(b, fd, want, s, e);
}

static int fetch_through(struct egress_bench *b, uint64_t want, struct sample *s, struct err *e)
{
	AUTO_CLOSE int fd = connect_by_proxy(b, e);

	return fd < 0 || hear_established(fd, e) ? -1 : fetch_bytes(b, fd, want, s, e);
}

static int bytes_loopback(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;

	return fetch_from(b, b->server_port, b->bytes, s, e);
}

static int bytes_splice(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;

	return fetch_from(b, b->relay_port, b->bytes, s, e);
}

static int bytes_egress(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;

	return fetch_through(b, b->bytes, s, e);
}

static int one_loopback(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;

	return fetch_from(b, b->server_port, 1, s, e);
}

static int one_egress(void *ctx, struct sample *s, struct err *e)
{
	return fetch_through(ctx, 1, s, e);
}

/* All are open before the first is asked for a byte. */
static int fetch_many(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;
	bool through = s->arm;
	int *fd = xcalloc(MANY, sizeof *fd);
	int n = 0, rc = 0;

	while (n < MANY && !rc) {
		fd[n] = through ? connect_by_proxy(b, e) : connect_here(b->server_port, e);
		rc = fd[n] < 0 ? -1 : 0;
		n += !rc;
	}
	for (int i = 0; i < n && !rc && through; i++)
		rc = hear_established(fd[i], e);
	for (int i = 0; i < n && !rc; i++)
		rc = fetch_bytes(b, fd[i], 1, s, e);
	for (int i = 0; i < n; i++)
		close(fd[i]);
	free(fd);
	return rc;
}

/* -- an answer: as `berth net ask` and the console tell it to the end, without the start of a process --------- */

static int say_to_end(
	struct egress_bench *b, uint32_t what, const void *more, size_t size, struct err *e)
{
	const struct timeval patience = {PATIENCE_S, 0};
	struct egress_question q = {what, (uint32_t)size};
	char message[sizeof q + sizeof(struct egress_decision)];
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	memcpy(message, &q, sizeof q);
	if (size)
		memcpy(message + sizeof q, more, size);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (fd < 0 || connect(fd, (struct sockaddr *)&b->control, b->ncontrol) ||
		send(fd, message, sizeof q + size, MSG_NOSIGNAL) < 0)
		return err_sys(e, errno, "the end takes no question");
	return steal_fd(&fd);
}

/* Heard by the end once it says what waits: a connection that came before would be refused, as nobody could be asked. */
static int watch_end(struct egress_bench *b, struct err *e)
{
	AUTO_FREE struct egress_queue *q = xcalloc(1, sizeof *q);

	b->watch = say_to_end(b, EGRESS_WATCH, NULL, 0, e);
	if (b->watch < 0)
		return -1;
	return recv(b->watch, q, sizeof *q, 0) > 0
		? 0
		: err_set(e, ERR_FAILED, "the end does not say what waits");
}

static void *set_up_watched(struct bench_run *r, bool known, struct err *e)
{
	struct egress_bench *b = set_up_end(r, true, known, e);

	if (b && watch_end(b, e)) {
		teardown(b);
		return NULL;
	}
	return b;
}

static void *set_up_asking(struct bench_run *r, struct err *e)
{
	return set_up_watched(r, false, e);
}

static void *set_up_deciding(struct bench_run *r, struct err *e)
{
	if (!berth_program()) {
		err_set(e, ERR_NOT_FOUND, "berth is not beside this program");
		return NULL;
	}
	return set_up_watched(r, true, e);
}

/* A new one, not what was said of the one before. */
static int await_held(struct egress_bench *b, struct err *e)
{
	AUTO_FREE struct egress_queue *q = xcalloc(1, sizeof *q);

	while (recv(b->watch, q, sizeof *q, 0) > 0)
		if (q->usage.held && q->usage.connections > b->held) {
			b->held = q->usage.connections;
			return 0;
		}
	return err_set(e, ERR_FAILED, "the end reports no connection that waits");
}

static int tell_answer(struct egress_bench *b, enum egress_answer answer, struct err *e)
{
	struct egress_decision d = {.answer = answer};
	struct egress_said said;
	char target[32];
	int fd, rc;

	snprintf(target, sizeof target, "127.0.0.1:%u", b->server_port);
	if (egress_parse_target(target, strlen(target), 0, &d.to, e))
		return -1;
	fd = say_to_end(b, EGRESS_DECIDE, &d, sizeof d, e);
	if (fd < 0)
		return -1;
	rc = recv(fd, &said, sizeof said, 0) == (ssize_t)sizeof said &&
			said.verdict == EGRESS_ALLOWED
		? 0
		: err_set(e, ERR_FAILED, "the end does not take the answer");
	close(fd);
	return rc;
}

/* A connection that is held, answered, and has its first byte. */
static int answer_once(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;
	AUTO_CLOSE int fd = connect_by_proxy(b, e);
	double began;

	if (fd < 0 || await_held(b, e))
		return -1;
	began = now_s();
	if (tell_answer(b, EGRESS_ANSWER_ONCE, e) || hear_established(fd, e) ||
		fetch_bytes(b, fd, 1, s, e))
		return -1;
	s->seconds = now_s() - began;
	return 0;
}

/* -- a decision: as the keys of the queue write it, and as a command that is started --------------------------- */

/* Before each: nothing is decided yet. */
static int forget_decisions(void *ctx, struct err *e)
{
	const struct egress_rule ask = {.ask_s = PATIENCE_S};
	AUTO_CLOSE int lock = egress_lock(NAME, e);

	(void)ctx;
	return lock < 0 ? -1 : egress_save_rules(NAME, &ask, 1, e);
}

/* What A, S and X do, and `berth net ask`: the end acts, and a rule for the session is written down. */
static int write_decision(struct egress_bench *b, enum egress_answer a, struct err *e)
{
	struct egress_target to;
	char target[32];

	snprintf(target, sizeof target, "127.0.0.1:%u", b->server_port);
	return egress_parse_target(target, strlen(target), 0, &to, e)
		? -1
		: egress_decide(NAME, &to, a, e);
}

static int start_net(struct egress_bench *b, const char *verb, pid_t *ret, struct err *e)
{
	char target[32];
	const char *argv[] = {"berth", "net", verb, NAME, target, NULL};
	int rc;

	snprintf(target, sizeof target, "127.0.0.1:%u", b->server_port);
	rc = spawn_start(&(struct spawn){.path = berth_program(), .argv = argv}, ret);
	return rc ? err_sys(e, rc, "cannot start berth net %s", verb) : 0;
}

static int end_net(pid_t pid, struct err *e)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status)
		? 0
		: err_set(e, ERR_FAILED, "berth net failed");
}

static int connect_held(struct egress_bench *b, struct err *e)
{
	AUTO_CLOSE int fd = connect_by_proxy(b, e);

	return fd < 0 || await_held(b, e) ? -1 : steal_fd(&fd);
}

static int hear_refusal(int fd, struct sample *s, struct err *e)
{
	static const char no[] = "HTTP/1.1 403";
	const uint64_t one = 1;
	char said[sizeof no];

	s->digest = digest_bytes(0, &one, sizeof one);
	return recv(fd, said, sizeof no - 1, MSG_WAITALL) == (ssize_t)sizeof no - 1 &&
			!memcmp(said, no, sizeof no - 1)
		? 0
		: err_set(e, ERR_FAILED, "the connection that was held is not refused");
}

static int decide_held(
	struct egress_bench *b, enum egress_answer a, struct sample *s, struct err *e)
{
	AUTO_CLOSE int fd = connect_held(b, e);
	double began = now_s();

	if (fd < 0 || write_decision(b, a, e) ||
		(a == EGRESS_ANSWER_DENY ? hear_refusal(fd, s, e)
					 : hear_established(fd, e) || fetch_bytes(b, fd, 1, s, e)))
		return -1;
	s->seconds = now_s() - began;
	return 0;
}

static int key_once(void *ctx, struct sample *s, struct err *e)
{
	return decide_held(ctx, EGRESS_ANSWER_ONCE, s, e);
}

static int key_session(void *ctx, struct sample *s, struct err *e)
{
	return decide_held(ctx, EGRESS_ANSWER_SESSION, s, e);
}

static int key_deny(void *ctx, struct sample *s, struct err *e)
{
	return decide_held(ctx, EGRESS_ANSWER_DENY, s, e);
}

static int net_allow(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;
	AUTO_CLOSE int fd = connect_held(b, e);
	double began = now_s();
	pid_t pid;
	int rc;

	if (fd < 0 || start_net(b, "allow", &pid, e))
		return -1;
	rc = hear_established(fd, e) || fetch_bytes(b, fd, 1, s, e) ? -1 : 0;
	s->seconds = now_s() - began;
	return end_net(pid, rc ? NULL : e) ? -1 : rc;
}

/* What is open ends. */
static int net_deny(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;
	AUTO_CLOSE int fd = connect_held(b, e);
	double began;
	char byte;
	ssize_t n;
	pid_t pid;
	int rc;

	if (fd < 0 || write_decision(b, EGRESS_ANSWER_SESSION, e) || hear_established(fd, e) ||
		fetch_bytes(b, fd, 1, s, e))
		return -1;
	began = now_s();
	if (start_net(b, "deny", &pid, e))
		return -1;
	n = recv(fd, &byte, 1, 0);
	rc = !n || (n < 0 && errno == ECONNRESET) ? 0
						  : err_set(e, ERR_FAILED, "what was open goes on");
	s->seconds = now_s() - began;
	return end_net(pid, rc ? NULL : e) ? -1 : rc;
}

static int one_splice(void *ctx, struct sample *s, struct err *e)
{
	struct egress_bench *b = ctx;

	return fetch_from(b, b->relay_port, 1, s, e);
}

/* Of its own: what is not shared with other processes, by a file that everybody may read. */
static double private_mb(pid_t pid)
{
	unsigned long all, resident, shared;
	char path[64];
	int n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	n = fscanf(f, "%lu %lu %lu", &all, &resident, &shared);
	fclose(f);
	return n == 3 ? (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / 1e6 : -1;
}

static int measure_private(struct bench_run *r, void *ctx, struct err *e)
{
	struct egress_bench *b = ctx;
	struct sample s = {0};

	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		double mb = fetch_through(b, 1 << 20, &s, e) ? -1 : private_mb(b->end);

		if (mb < 0)
			return err_set(e, ERR_FAILED, "the end has ended");
		bench_value(r, "private", mb);
	}
	return 0;
}

/* One connection is open meanwhile, and nothing is said. */
static int measure_idle(struct bench_run *r, void *ctx, struct err *e)
{
	struct egress_bench *b = ctx;
	double seconds = bench_smoke(r) ? 1 : 30, used;
	AUTO_CLOSE int fd = connect_by_proxy(b, e);

	if (fd < 0 || hear_established(fd, e))
		return -1;
	used = cpu_of_pid(b->end);
	usleep((useconds_t)(seconds * 1e6));
	bench_value(r, "idle", 100 * (cpu_of_pid(b->end) - used) / seconds);
	return 0;
}

static const struct bench_case cases[] = {
	{.name = "bytes",
		.about =
			"1 GiB from a server, over loopback: directly, by two calls of splice, through an agent's end",
		.samples = 15,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.baseline = 1,
		.arms = {{"loopback", bytes_loopback}, {"splice relay", bytes_splice},
			{"egress", bytes_egress}},
		.targets = {{"at least 0.9x of a bare splice relay", "egress", ON_RATIO, 0.9,
				    NO_BOUND},
			{"at least 1 GB/s", "egress", ON_MEDIAN, NO_BOUND, (double)GIB / 1e9}}},
	{.name = "connection",
		.about = "a connection and its first byte, directly and through an agent's end",
		.samples = 500,
		.warmup = 20,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"loopback", one_loopback}, {"egress", one_egress}},
		.targets = {{"at most 0.3 ms more than over loopback", "egress", ON_OVER, NO_BOUND,
			0.0003}}},
	{.name = "answer",
		.about =
			"a held connection, from a person's answer to its first byte; beside it a connection by two calls of splice, to its first byte",
		.samples = 100,
		.warmup = 3,
		.setup = set_up_asking,
		.teardown = teardown,
		.arms = {{"splice relay", one_splice}, {"answer", answer_once}},
		.targets = {{"at most 100 ms from the answer to the effect", "answer", ON_MAX,
			NO_BOUND, 0.1}}},
	{.name = "decision",
		.about =
			"a held connection, from the decision that a key of the queue writes, or from the start of berth net allow, to its first byte or the refusal; an open one, from the start of berth net deny to its end",
		.samples = 100,
		.warmup = 3,
		.setup = set_up_deciding,
		.teardown = teardown,
		.prepare = forget_decisions,
		.arms = {{"allow once", key_once}, {"allow for the session", key_session},
			{"deny", key_deny}, {"net allow", net_allow}, {"net deny", net_deny}},
		.targets = {{"at most 100 ms from the decision to the effect", "allow once", ON_MAX,
				    NO_BOUND, 0.1},
			{"at most 100 ms from the decision to the effect", "allow for the session",
				ON_MAX, NO_BOUND, 0.1},
			{"at most 100 ms from the decision to the effect", "deny", ON_MAX, NO_BOUND,
				0.1},
			{"at most 100 ms from the start of the command to the effect", "net allow",
				ON_MAX, NO_BOUND, 0.1},
			{"at most 100 ms from the start of the command to the effect", "net deny",
				ON_MAX, NO_BOUND, 0.1}}},
	{.name = "many",
		.about = "1,000 connections, all open at once, and a byte from each",
		.samples = 10,
		.warmup = 1,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"loopback", fetch_many}, {"egress", fetch_many}}},
	{.name = "memory",
		.about = "private memory of an end, after some connections",
		.unit = "MB",
		.samples = 5,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_private,
		.targets = {{"at most 4 MB private an agent", "private", ON_MAX, NO_BOUND, 4}}},
	{.name = "idle",
		.about = "CPU of an end with one open connection, on which nothing is said",
		.unit = "%",
		.samples = 1,
		.smoke_samples = 1,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_idle,
		.targets = {{"0 % idle", "idle", ON_MAX, NO_BOUND, 0.05}}},
	{0},
};

const struct bench_suite suite_egress = {"egress", cases};
