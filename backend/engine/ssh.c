/* ssh.c - starts ssh to forward an engine's socket. */
#include "engine/ssh.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>

#include <berth/check.h>
#include <berth/hex.h>
#include <berth/hosts.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/text.h>

#include "engine/choose.h"

#define FAR_SOCKET "/var/run/docker.sock"
#define LOCK_LOOK_MS 20 /* between two looks at a lock that somebody has */
#define SAID_MAX 2048   /* of what ssh says, at most */

/* ---- the address */

/* Ours: named after all that makes it another connection. */
static int name_near_path(struct endpoint *ep, struct err *e)
{
	char run[PATH_MAX], dir[PATH_MAX], hash[17];
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned len = 0;

	if (runtime_dir(run, sizeof run, e) || runtime_subdir(dir, sizeof dir, run, "ssh", e))
		return -1;
	/* It is an argument of what ssh forwards, where these have a meaning. */
	if (dir[strcspn(dir, "%$:\\")])
		return err_set(e, ERR_CONFIG,
			"%s contains one of the characters %% $ : \\, which ssh would expand: set "
			"XDG_RUNTIME_DIR to a directory without them.",
			dir);
	CHECK(EVP_Digest(ep->url, strlen(ep->url), digest, &len, EVP_sha256(), NULL) && len >= 8);
	ep->path = xasprintf("%s/%s", dir, hex_text(hash, digest, 8));
	/* ssh puts 17 bytes behind the name of its control socket while it makes it. */
	if (strlen(ep->path) + sizeof ".ctl" + 17 >= 108)
		return err_set(e, ERR_CONFIG,
			"%s is too long for the name of a socket: set XDG_RUNTIME_DIR to a shorter "
			"directory.",
			dir);
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
	return name_near_path(ep, e);
}

/* ---- ssh */

/* Who is asked, and what ends the waiting. */
struct patience {
	bool ask;
	int stop_fd;
};

static bool patience_ends(const struct patience *w, int ms)
{
	struct pollfd p = {.fd = w->stop_fd, .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

/* Its exit code; -1: it did not end in time, or never began. */
static int await_ssh(pid_t pid, const struct patience *w)
{
	AUTO_CLOSE int fd = pidfd_open(pid, 0);
	struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = w->stop_fd, .events = POLLIN}};
	int status = 0, n = fd >= 0 ? poll(p, 2, w->ask ? -1 : SSH_WAIT_S * 1000) : -1;

	if (n == 0 || (n > 0 && !p[0].revents))
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Out of the terminal's reach where nobody is asked. */
static int spawn_ssh(const char *const *argv, int said, bool ask, pid_t *pid)
{
	struct spawn p = {.path = "ssh",
		.argv = argv,
		.err = said,
		.apart = ask ? SPAWN_TOGETHER : SPAWN_SESSION};

	return spawn_start(&p, pid);
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
		*reason            ? reason
			: code < 0 ? "no answer in time"
				   : "it exited without an error message",
		hint);
}

static int run_ssh(
	const struct endpoint *ep, const char *const *argv, const struct patience *w, struct err *e)
{
	AUTO_CLOSE int said = memfd_create("ssh", MFD_CLOEXEC);
	pid_t pid;
	int rc;

	if (said < 0)
		return err_sys(e, errno, "cannot keep the output of ssh");
	rc = spawn_ssh(argv, said, w->ask, &pid);
	if (rc)
		return err_set(e, ERR_UNREACHABLE,
			"cannot reach the engine at %s (from %s): ssh cannot be started (%s): install "
			"openssh-client",
			ep->url, ep->source, strerrordesc_np(rc));
	rc = await_ssh(pid, w);
	if (rc && patience_ends(w, 0))
		return err_set(e, ERR_CANCELLED, "cancelled");
	return rc ? explain_ssh(ep, said, rc, e) : 0;
}

/* One that may have forwardings of its own from the configuration must not make them again: they are cleared, and
 * ours is asked for when it stands. */
static int start_master(
	const struct endpoint *ep, const char *control, const struct patience *w, struct err *e)
{
	char port[8];
	const char *argv[48] = {"ssh", "-f", "-N", "-T", "-M", "-a", "-x", "-S", control, "-o",
		"ControlPersist=" SSH_IDLE_S, "-o", "ClearAllForwardings=yes", "-o",
		"PermitLocalCommand=no", "-o", "RemoteCommand=none", "-o", "Tunnel=no", "-o",
		"ConnectTimeout=30", "-o", "ServerAliveInterval=" SSH_ALIVE_S, "-o",
		"ServerAliveCountMax=3"};
	size_t n = 25;

	if (!w->ask) {
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
	return run_ssh(ep, argv, w, e);
}

/* Without a configuration: what that forwards would be asked for as well. */
static int ask_to_forward(
	const struct endpoint *ep, const char *control, int stop_fd, struct err *e)
{
	AUTO_FREE char *way = xasprintf("%s:%s", ep->path, ep->far_path);
	const char *const argv[] = {"ssh", "-F", "none", "-S", control, "-O", "forward", "-o",
		"StreamLocalBindUnlink=yes", "-L", way, "--", ep->host, NULL};

	return run_ssh(ep, argv, &(struct patience){false, stop_fd}, e);
}

/* Asked of ssh itself: to try the socket would be a connection to the far one, for each command. */
static bool is_forwarded(const struct endpoint *ep, const char *control)
{
	return choose_listens(control) && !access(ep->path, F_OK);
}

/* Whoever has it may be waiting for a host that does not answer. */
static int take_ssh_lock(const char *path, const struct patience *w, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int why = errno;

		if ((why == EWOULDBLOCK || why == EINTR) && !patience_ends(w, LOCK_LOOK_MS))
			continue;
		close(fd);
		return why == EWOULDBLOCK || why == EINTR ? err_set(e, ERR_CANCELLED, "cancelled")
							  : err_sys(e, why, "cannot lock %s", path);
	}
	return fd >= 0 ? fd : err_sys(e, errno, "cannot lock %s", path);
}

int ssh_forward(const struct endpoint *ep, bool ask, int stop_fd, struct err *e)
{
	const struct patience w = {ask, stop_fd};
	AUTO_FREE char *control = xasprintf("%s.ctl", ep->path),
		       *lock = xasprintf("%s.lock", ep->path);
	AUTO_CLOSE int fd = -1;

	if (is_forwarded(ep, control))
		return 0;
	fd = take_ssh_lock(lock, &w, e);
	if (fd < 0)
		return -1;
	if (is_forwarded(ep, control))
		return 0;
	unlink(ep->path);
	/* One that goes on without what was forwarded is of no use, and in the way. */
	if (choose_listens(control) && ask_to_forward(ep, control, stop_fd, NULL) == 0)
		return 0;
	unlink(control);
	return start_master(ep, control, &w, e) < 0 ? -1 : ask_to_forward(ep, control, stop_fd, e);
}

int ssh_forget(const struct endpoint *ep, struct err *e)
{
	AUTO_FREE char *control = xasprintf("%s.ctl", ep->path),
		       *lock = xasprintf("%s.lock", ep->path);
	const char *const argv[] = {
		"ssh", "-F", "none", "-S", control, "-O", "exit", "--", ep->host, NULL};
	const struct patience w = {false, -1};
	AUTO_CLOSE int fd = take_ssh_lock(lock, &w, e);

	if (fd < 0 || (choose_listens(control) && run_ssh(ep, argv, &w, e) < 0))
		return -1;
	unlink(ep->path);
	unlink(control);
	return 0;
}
