/* ssh.c - starts ssh to forward an engine's socket. */
#include "engine/ssh.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/hex.h>
#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/text.h>

#include "engine/choose.h"

#define FAR_SOCKET "/var/run/docker.sock"
#define LOCK_LOOK_MS 20 /* between two looks at a lock that somebody has */
#define NOT_STARTED 127 /* as berth-ssh says it */
#define NO_ANSWER (-1)  /* in time, or nobody waits for it any more */
#define KILLED (-2)     /* berth-ssh was */
#define STEP_S 10       /* for an ssh that only talks to another one here */
#define SAID_MAX 2048   /* of what ssh says, at most */

/* ---- the address */

static char *hash_text(char hash[17], const char *text, size_t bytes)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	CHECK(EVP_Digest(text, strlen(text), digest, &len, EVP_sha256(), NULL) && len >= bytes);
	return hex_text(hash, digest, bytes);
}

/* Ours: named after the host, as it is connected to, and the socket there. */
static int name_near_path(struct endpoint *ep, struct err *e)
{
	AUTO_FREE char *to =
		xasprintf("%s@%s:%u", ep->user ? ep->user : "", ep->host, (unsigned)ep->port);
	char run[PATH_MAX], dir[PATH_MAX], host[17], far[17];

	if (runtime_dir(run, sizeof run, e) || runtime_subdir(dir, sizeof dir, run, "ssh", e))
		return -1;
	/* It is in an argument of what ssh forwards, where these have a meaning. */
	if (dir[strcspn(dir, "%$:\\")])
		return err_set(e, ERR_CONFIG,
			"%s contains one of the characters %% $ : \\, which ssh would expand: set "
			"XDG_RUNTIME_DIR to a directory without them.",
			dir);
	ep->path =
		xasprintf("%s/%s-%s", dir, hash_text(host, to, 6), hash_text(far, ep->far_path, 4));
	/* ssh puts 17 bytes behind the name of its control socket while it makes it. */
	if (strlen(dir) + sizeof "/012345678901.ctl" + 17 >= 108)
		return err_set(e, ERR_CONFIG,
			"%s is too long for the name of a socket: set XDG_RUNTIME_DIR to a shorter "
			"directory.",
			dir);
	return 0;
}

/* Of the host: "DIR/HOST.ctl" for "DIR/HOST-SOCKET". */
static char *name_of_host(const struct endpoint *ep, const char *suffix)
{
	return xasprintf("%.*s%s", (int)(strrchr(ep->path, '-') - ep->path), ep->path, suffix);
}

static int read_wait(struct endpoint *ep, struct err *e)
{
	const char *text = getenv("BERTH_SSH_TIMEOUT");
	unsigned long s = SSH_WAIT_S;
	char *end = NULL;

	if (text && *text)
		s = isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
	if (!s || s > SSH_WAIT_MAX_S || (end && *end))
		return err_set(e, ERR_USAGE,
			"BERTH_SSH_TIMEOUT is not a number of seconds from 1 to %d",
			SSH_WAIT_MAX_S);
	ep->wait_s = (int)s;
	return 0;
}

int ssh_parse(const char *s, struct endpoint *ep, struct err *e)
{
	const char *fault = host_ssh_fault(s);
	size_t user = strcspn(s, "@/"), host;
	char port[8] = "";
	bool six;

	if (fault)
		return err_set(e, ERR_USAGE,
			"%s: ssh://[USER@]HOST[:PORT][/SOCKET] is expected: %s", ep->source, fault);
	if (s[user] == '@') {
		ep->user = xstrndup(s, user);
		s += user + 1;
	}
	six = *s == '[';
	s += six;
	host = strcspn(s, six ? "]" : ":/");
	ep->host = xstrndup(s, host);
	s += host + six;
	if (*s == ':') {
		ep->port = (uint16_t)strtoul(s + 1, NULL, 10);
		s += strcspn(s, "/");
	}
	ep->far_path = xstrdup(strlen(s) > 1 ? s : FAR_SOCKET);
	ep->transport = TRANSPORT_SSH;
	if (ep->port)
		snprintf(port, sizeof port, ":%u", ep->port);
	ep->url = xasprintf("ssh://%s%s%s%s%s%s%s", ep->user ? ep->user : "", ep->user ? "@" : "",
		six ? "[" : "", ep->host, six ? "]" : "", port,
		strcmp(ep->far_path, FAR_SOCKET) ? ep->far_path : "");
	return read_wait(ep, e) || name_near_path(ep, e) ? -1 : 0;
}

/* ---- ssh */

/* How long one way to a host is waited for, whatever it takes. */
struct reaching {
	const struct endpoint_reach *how;
	bool ask;
	int64_t until_ns; /* where nobody is asked */
};

static int64_t seconds_from_now(int s)
{
	return clock_mono_ns() + s * INT64_C(1000000000);
}

static struct reaching begin_reaching(const struct endpoint *ep, const struct endpoint_reach *how)
{
	return (struct reaching){how, how->ask, seconds_from_now(ep->wait_s)};
}

/* The part of an ssh that asks nobody.  The time for which a person was asked does not count. */
static struct reaching begin_step(const struct reaching *r)
{
	int64_t until = seconds_from_now(STEP_S);

	return (struct reaching){
		r->how, false, r->ask || until < r->until_ns ? until : r->until_ns};
}

static bool must_stop(const struct reaching *r)
{
	return r->how->stop && r->how->stop(r->how->ctx);
}

/* Its exit code, NO_ANSWER or KILLED. */
static int await_ssh(int from, const struct reaching *r)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	unsigned char code;
	int n = 0;

	while (n <= 0 && !must_stop(r) && (r->ask || clock_mono_ns() < r->until_ns))
		n = poll(&p, 1, ENDPOINT_BEAT_MS);
	return n <= 0 ? NO_ANSWER : read(from, &code, 1) == 1 ? code : KILLED;
}

/* By berth-ssh, which is gone as a child at once, and kills ssh and all that it started when the pipe is closed before its
 * end; out of the terminal's reach where nobody is asked.  `control`: "" where ssh leaves nothing running. */
static int spawn_ssh(const char *control, const char *const *argv, int said, bool ask,
	int *ret_from, struct err *e)
{
	char program[PATH_MAX];
	const char *all[64] = {"berth-ssh", control};
	struct spawn p = {.path = program,
		.argv = all,
		.err = said,
		.apart = ask ? SPAWN_TOGETHER : SPAWN_SESSION};
	int fd[2], rc;
	pid_t pid;

	for (size_t n = 2; *argv; n++)
		all[n] = *argv++;
	if (runtime_program("berth-ssh", program, e))
		return -1;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot wait for ssh");
	p.out = fd[1];
	rc = spawn_start(&p, &pid);
	close(fd[1]);
	if (rc) {
		close(fd[0]);
		return err_sys(e, rc, "cannot start %s", program);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*ret_from = fd[0];
	return 0;
}

/* The last line that it said, which is the reason. */
static void read_reason(int said, char *buf, size_t cap)
{
	char text[SAID_MAX + 1], *line;
	ssize_t n = pread(said, text, SAID_MAX, 0);

	text[n > 0 ? n : 0] = '\0';
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	text_clean(buf, cap, strncmp(line, "ssh: ", 5) ? line : line + 5);
}

static int explain_ssh(const struct endpoint *ep, int said, int code, struct err *e)
{
	char reason[300];
	const char *hint = "";

	read_reason(said, reason, sizeof reason);
	if (strstr(reason, "Permission denied"))
		hint = " (load the key with ssh-add, or run `berth -H` with it once in a terminal, where "
		       "ssh can ask)";
	else if (strstr(reason, "Host key verification failed"))
		hint = " (connect once with ssh itself, and check the host's key)";
	return err_set(e, ERR_UNREACHABLE, "cannot reach the engine at %s (from %s): ssh: %s%s",
		ep->url, ep->source,
		*reason                     ? reason
			: code == NO_ANSWER ? "no answer in time"
			: code == KILLED    ? "berth-ssh was killed"
					    : "it exited without an error message",
		hint);
}

static int run_ssh(const struct endpoint *ep, const char *control, const char *const *argv,
	const struct reaching *r, struct err *e)
{
	AUTO_CLOSE int said = memfd_create("ssh", MFD_CLOEXEC), from = -1;
	int code;

	if (said < 0)
		return err_sys(e, errno, "cannot keep the output of ssh");
	if (spawn_ssh(control, argv, said, r->ask, &from, e))
		return -1;
	code = await_ssh(from, r);
	if (code && must_stop(r))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (code == NOT_STARTED)
		return err_set(e, ERR_UNREACHABLE,
			"cannot reach the engine at %s (from %s): ssh cannot be started: install "
			"openssh-client",
			ep->url, ep->source);
	return code ? explain_ssh(ep, said, code, e) : 0;
}

/* One that may have forwardings of its own from the configuration must not make them again: they are cleared, and
 * ours is asked for when it stands. */
static int start_master(
	const struct endpoint *ep, const char *control, const struct reaching *r, struct err *e)
{
	char port[8], connect[32];
	const char *argv[48] = {"ssh", "-f", "-N", "-T", "-M", "-a", "-x", "-S", control, "-o",
		"ControlPersist=" SSH_IDLE_S, "-o", "ClearAllForwardings=yes", "-o",
		"PermitLocalCommand=no", "-o", "RemoteCommand=none", "-o", "Tunnel=no", "-o",
		connect, "-o", "ServerAliveInterval=" SSH_ALIVE_S, "-o", "ServerAliveCountMax=3"};
	size_t n = 25;

	/* So that ssh itself says why, where it can: 30 s of the usual 45. */
	snprintf(connect, sizeof connect, "ConnectTimeout=%d", (2 * ep->wait_s + 2) / 3);
	if (!r->ask) {
		argv[n++] = "-o";
		argv[n++] = "BatchMode=yes";
	}
	if (ep->port) {
		snprintf(port, sizeof port, "%u", ep->port);
		argv[n++] = "-p";
		argv[n++] = port;
	}
	if (ep->user) {
		argv[n++] = "-l";
		argv[n++] = ep->user;
	}
	argv[n++] = "--";
	argv[n++] = ep->host;
	return run_ssh(ep, control, argv, r, e);
}

/* Without a configuration: what that forwards would be asked for as well. */
static int ask_to_forward(
	const struct endpoint *ep, const char *control, const struct reaching *r, struct err *e)
{
	const struct reaching step = begin_step(r);
	AUTO_FREE char *way = xasprintf("%s:%s", ep->path, ep->far_path);
	const char *const argv[] = {"ssh", "-F", "none", "-S", control, "-O", "forward", "-o",
		"StreamLocalBindUnlink=yes", "-L", way, "--", ep->host, NULL};

	return run_ssh(ep, "", argv, &step, e);
}

/* Asked of ssh itself: to try the socket would be a connection to the far one, for each command. */
static bool is_forwarded(const struct endpoint *ep, const char *control)
{
	return choose_listens(control) && !access(ep->path, F_OK);
}

/* Whoever has it may be waiting for a host that does not answer, or for a person. */
static int take_ssh_lock(const struct endpoint *ep, const struct reaching *r, struct err *e)
{
	AUTO_FREE char *path = name_of_host(ep, ".lock");
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600), why = 0;

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && !why) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			why = errno;
		else if (must_stop(r))
			why = ECANCELED;
		else if (!r->ask && clock_mono_ns() > r->until_ns)
			why = ETIMEDOUT;
		else
			poll(NULL, 0, LOCK_LOOK_MS);
	}
	if (fd >= 0 && !why)
		return fd;
	if (fd < 0)
		return err_sys(e, errno, "cannot lock %s", path);
	close(fd);
	if (why == ECANCELED)
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (why == ETIMEDOUT)
		return err_set(e, ERR_UNREACHABLE,
			"cannot reach the engine at %s (from %s): another berth is still connecting to "
			"that host",
			ep->url, ep->source);
	return err_sys(e, why, "cannot lock %s", path);
}

/* With the lock: what was forwarded by a master that is gone, or is about to go. */
static void unlink_near_paths(const struct endpoint *ep)
{
	AUTO_FREE char *start = name_of_host(ep, "-"), *dir = xstrdup(ep->path);
	const char *name = strrchr(start, '/') + 1;
	struct dirent *d;
	DIR *list;

	*strrchr(dir, '/') = '\0';
	list = opendir(dir);
	while (list && (d = readdir(list)))
		if (!strncmp(d->d_name, name, strlen(name)))
			unlinkat(dirfd(list), d->d_name, 0);
	if (list)
		closedir(list);
}

/* With the lock. */
static int end_master(
	const struct endpoint *ep, const char *control, const struct reaching *r, struct err *e)
{
	const struct reaching step = begin_step(r);
	const char *const argv[] = {
		"ssh", "-F", "none", "-S", control, "-O", "exit", "--", ep->host, NULL};

	if (choose_listens(control) && run_ssh(ep, "", argv, &step, e) < 0)
		return -1;
	unlink_near_paths(ep);
	unlink(control);
	return 0;
}

int ssh_forward(const struct endpoint *ep, const struct endpoint_reach *how, struct err *e)
{
	const struct reaching r = begin_reaching(ep, how);
	AUTO_FREE char *control = name_of_host(ep, ".ctl");
	AUTO_CLOSE int fd = -1;

	if (is_forwarded(ep, control))
		return 0;
	fd = take_ssh_lock(ep, &r, e);
	if (fd < 0)
		return -1;
	if (is_forwarded(ep, control))
		return 0;
	unlink(ep->path);
	if (choose_listens(control) && ask_to_forward(ep, control, &r, NULL) == 0)
		return 0;
	if (must_stop(&r))
		return err_set(e, ERR_CANCELLED, "cancelled");
	/* One that does not forward any more is of no use to anybody. */
	if (end_master(ep, control, &r, NULL)) {
		unlink_near_paths(ep);
		unlink(control);
	}
	return start_master(ep, control, &r, e) < 0 ? -1 : ask_to_forward(ep, control, &r, e);
}

int ssh_forget(const struct endpoint *ep, struct err *e)
{
	static const struct endpoint_reach how;
	const struct reaching r = begin_reaching(ep, &how);
	AUTO_FREE char *control = name_of_host(ep, ".ctl");
	AUTO_CLOSE int fd = take_ssh_lock(ep, &r, e);

	return fd < 0 ? -1 : end_master(ep, control, &r, e);
}
