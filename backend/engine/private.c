/* private.c - starts, stops and finds berth's own dockerd. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/private_engine.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/text.h>

#define START_MS 30000
#define STOP_MS 30000
#define SBIN "/usr/local/sbin:/usr/sbin:/sbin"

/* What private_engine leaves out: only this file needs it. */
struct places {
	char dir[PATH_MAX];
	char pidfile[PATH_MAX];
	char lock[PATH_MAX];
	char config[PATH_MAX];
	char exec[64]; /* /run/berth-engine-HASH */
	char name[32]; /* berth-HASH: the containerd namespace */
};

static int path_in(char *buf, size_t cap, const char *dir, const char *name, struct err *e)
{
	if ((size_t)snprintf(buf, cap, "%s/%s", dir, name) >= cap)
		return err_set(e, ERR_CONFIG,
			"The path %s/%s is too long for the private engine: set XDG_STATE_HOME to a "
			"shorter directory.",
			dir, name);
	return 0;
}

static int find_places(struct places *p, struct private_engine *pe, struct err *e)
{
	char state[PATH_MAX];
	uint32_t hash;

	*p = (struct places){0};
	*pe = (struct private_engine){0};
	if (state_dir(state, sizeof state, e) < 0 ||
		runtime_subdir(p->dir, sizeof p->dir, state, "engine", e) < 0 ||
		path_in(pe->socket, sizeof pe->socket, p->dir, "docker.sock", e) < 0 ||
		path_in(pe->data, sizeof pe->data, p->dir, "data", e) < 0 ||
		path_in(pe->log, sizeof pe->log, p->dir, "dockerd.log", e) < 0 ||
		path_in(p->pidfile, sizeof p->pidfile, p->dir, "docker.pid", e) < 0 ||
		path_in(p->lock, sizeof p->lock, p->dir, "lock", e) < 0 ||
		path_in(p->config, sizeof p->config, p->dir, "daemon.json", e) < 0)
		return -1;
	/* Two state directories must not meet in /run. */
	hash = hash_short(p->dir);
	snprintf(p->exec, sizeof p->exec, "/run/berth-engine-%08x", hash);
	snprintf(p->name, sizeof p->name, "berth-%08x", hash);
	return 0;
}

int private_engine_socket(char *buf, size_t cap)
{
	struct places p;
	struct private_engine pe;

	if (find_places(&p, &pe, NULL) < 0 || strlen(pe.socket) >= cap)
		return -1;
	strcpy(buf, pe.socket);
	return 0;
}

/* Does process `pid` run `program` with exactly `arg` among its arguments? */
static bool process_is(pid_t pid, const char *program, const char *arg)
{
	char path[64], buf[8192];
	const char *base, *slash;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	n = file_text(path, buf, sizeof buf);
	slash = strrchr(buf, '/');
	base = slash ? slash + 1 : buf;
	if (n <= 0 || strcmp(base, program) != 0)
		return false;
	for (size_t at = 0; at < (size_t)n; at += strlen(buf + at) + 1) {
		if (strcmp(buf + at, arg) == 0)
			return true;
	}
	return false;
}

/* The process that the pid file names, held by a pidfd, if it is what it should be; else -1.  The
 * check comes after the pidfd is open: a process that reuses the number later is not meant by it.
 */
static int hold_process(const char *pidfile, const char *program, const char *arg, pid_t *pid)
{
	AUTO_CLOSE int fd = -1;
	char buf[32];

	*pid = 0;
	if (file_text(pidfile, buf, sizeof buf) <= 0 || atoi(buf) <= 1)
		return -1;
	fd = pidfd_open(atoi(buf), 0);
	if (fd < 0 || !process_is(atoi(buf), program, arg))
		return -1;
	*pid = atoi(buf);
	return steal_fd(&fd);
}

static int hold_dockerd(const struct places *p, pid_t *pid)
{
	char arg[PATH_MAX + 16];

	snprintf(arg, sizeof arg, "--pidfile=%s", p->pidfile);
	return hold_process(p->pidfile, "dockerd", arg, pid);
}

/* Did the process behind the pidfd end within `ms`? */
static bool wait_for_end(int pidfd, int ms)
{
	struct pollfd pfd = {.fd = pidfd, .events = POLLIN};

	return poll(&pfd, 1, ms) == 1;
}

/* One GET /_ping over a plain socket: this runs before there is a loop or libcurl. */
static bool ping_socket(const char *path)
{
	static const char request[] =
		"GET /_ping HTTP/1.1\r\nHost: berth\r\nConnection: close\r\n\r\n";
	static const char good[] = "HTTP/1.1 200";
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct timeval second = {.tv_sec = 1};
	char reply[sizeof good - 1];

	if (fd < 0 || strlen(path) >= sizeof sa.sun_path)
		return false;
	strcpy(sa.sun_path, path);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
	return connect(fd, (struct sockaddr *)&sa, sizeof sa) == 0 &&
		send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1 &&
		recv(fd, reply, sizeof reply, MSG_WAITALL) == sizeof reply &&
		memcmp(reply, good, sizeof reply) == 0;
}

int private_engine_status(struct private_engine *ret, struct err *e)
{
	struct places p;
	AUTO_CLOSE int pidfd = -1;

	if (find_places(&p, ret, e) < 0)
		return -1;
	pidfd = hold_dockerd(&p, &ret->pid);
	ret->answers = pidfd >= 0 && ping_socket(ret->socket);
	return 0;
}

/* Full path of dockerd; also looked for where a user's PATH often does not lead. */
static int find_dockerd(char *buf, size_t cap, struct err *e)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *dirs = xasprintf("%s:%s", path ? path : "/usr/bin", SBIN);
	char *rest = dirs;

	for (char *dir; (dir = strsep(&rest, ":"));) {
		if (dir[0] == '/' && (size_t)snprintf(buf, cap, "%s/dockerd", dir) < cap &&
			access(buf, X_OK) == 0)
			return 0;
	}
	return err_set(e, ERR_NOT_FOUND,
		"dockerd was not found on this machine: install it (Debian: apt-get install docker.io).");
}

/* Does another dockerd live in our network namespace?  Then docker0 and iptables are its own. */
static bool other_dockerd(void)
{
	AUTO_CLOSEDIR DIR *proc = opendir("/proc");
	char path[64], comm[32];
	struct stat ours, theirs;
	bool found = false;

	if (!proc)
		return false;
	if (stat("/proc/self/ns/net", &ours) < 0)
		ours.st_ino = 0;
	for (struct dirent *d; !found && (d = readdir(proc));) {
		if (d->d_name[0] < '1' || d->d_name[0] > '9')
			continue;
		snprintf(path, sizeof path, "/proc/%.16s/comm", d->d_name);
		file_text(path, comm, sizeof comm);
		snprintf(path, sizeof path, "/proc/%.16s/ns/net", d->d_name);
		found = strcmp(comm, "dockerd\n") == 0 && stat(path, &theirs) == 0 &&
			theirs.st_ino == ours.st_ino;
	}
	return found;
}

/*
 * docker0, iptables and addresses of this machine are another engine's: this one gets a network
 * namespace to itself, with bridges but no way out.  (`--bridge=none` would not do: dockerd then
 * removes docker0, whosever it is.)
 */
static int own_network(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	AUTO_CLOSE int fd = -1;

	if (unshare(CLONE_NEWNET))
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -1 : ioctl(fd, SIOCSIFFLAGS, &lo);
}

/* In the child: everything from the parent is dropped, then dockerd takes over.  Does not return.
 */
static void exec_dockerd(const char *dockerd, const struct places *p,
	const struct private_engine *pe, bool apart, int log)
{
	const char *path = getenv("PATH");
	AUTO_FREE char *config = xasprintf("--config-file=%s", p->config);
	AUTO_FREE char *host = xasprintf("--host=unix://%s", pe->socket);
	AUTO_FREE char *data = xasprintf("--data-root=%s", pe->data);
	AUTO_FREE char *exec = xasprintf("--exec-root=%s", p->exec);
	AUTO_FREE char *pidfile = xasprintf("--pidfile=%s", p->pidfile);
	AUTO_FREE char *space = xasprintf("--containerd-namespace=%s", p->name);
	AUTO_FREE char *plugins = xasprintf("--containerd-plugins-namespace=%s-plugins", p->name);
	AUTO_FREE char *env = xasprintf("%s:%s", path ? path : "/usr/bin:/bin", SBIN);
	const char *argv[] = {"dockerd", config, host, data, exec, pidfile, space, plugins,
		"--shutdown-timeout=10", NULL};
	int null = open("/dev/null", O_RDONLY);

	if (apart && own_network()) {
		dprintf(log, "cannot create a network namespace: %m\n");
		_exit(126);
	}
	setsid();
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, SIG_DFL);
	dup2(null, 0);
	dup2(log, 1);
	dup2(log, 2);
	close_range(3, ~0u, 0);
	setenv("PATH", env, 1);
	if (chdir("/") == 0)
		execv(dockerd, (char **)argv);
	dprintf(2, "cannot run %s: %m\n", dockerd);
	_exit(127);
}

/* The last line of the log, its msg="..." field where it has one. */
static char *last_words(const char *log, char *buf, size_t cap)
{
	AUTO_CLOSE int fd = open(log, O_RDONLY | O_CLOEXEC);
	char tail[4096], *line, *msg;
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	off_t from = size > (off_t)sizeof tail - 1 ? size - ((off_t)sizeof tail - 1) : 0;
	ssize_t n = fd < 0 ? 0 : pread(fd, tail, sizeof tail - 1, from);

	while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
		n--;
	if (n <= 0) {
		snprintf(buf, cap, "it said nothing");
		return buf;
	}
	tail[n] = '\0';
	line = strrchr(tail, '\n');
	line = line ? line + 1 : tail;
	msg = strstr(line, "msg=\"");
	return text_clean(buf, cap, msg ? msg + 5 : line);
}

/* /etc/docker/daemon.json is the system engine's and would fight with our options; dockerd accepts
 * no empty file. */
static int write_config(const struct places *p, struct err *e)
{
	AUTO_CLOSE int fd =
		open(p->config, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, "{}\n", 3) != 3)
		return err_sys(e, errno, "Cannot write %s", p->config);
	return 0;
}

/* Run one dockerd until it answers.  0, or -1 with no process left. */
static int launch_dockerd(const char *dockerd, const struct places *p, struct private_engine *pe,
	bool apart, struct err *e)
{
	AUTO_CLOSE int log = open(
		pe->log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	AUTO_CLOSE int pidfd = -1;
	int64_t until = clock_mono_ns() + (int64_t)START_MS * 1000000;
	char words[256];
	pid_t pid;

	if (log < 0)
		return err_sys(e, errno, "Cannot write %s", pe->log);
	pid = spawn_fork();
	if (pid < 0)
		return err_sys(e, errno, "Cannot start dockerd");
	if (pid == 0)
		exec_dockerd(dockerd, p, pe, apart, log);
	pidfd = pidfd_open(pid, 0);
	while (pidfd >= 0 && clock_mono_ns() < until) {
		if (wait_for_end(pidfd, 50)) {
			waitpid(pid, NULL, 0);
			return err_set(e, ERR_FAILED,
				"The private engine did not start: %s (see %s).",
				last_words(pe->log, words, sizeof words), pe->log);
		}
		if (ping_socket(pe->socket)) {
			pe->pid = pid;
			pe->answers = pe->started = true;
			return 0;
		}
	}
	kill(pid, SIGTERM); /* our own child, not yet waited for: the number cannot be another's */
	if (pidfd < 0 || !wait_for_end(pidfd, STOP_MS))
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return err_set(e, ERR_TIMEOUT,
		"The private engine did not answer within %d s: %s (see %s).", START_MS / 1000,
		last_words(pe->log, words, sizeof words), pe->log);
}

/* One berth at a time starts or stops it. */
static int take_lock(const struct places *p, struct err *e)
{
	AUTO_CLOSE int fd = open(p->lock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return err_sys(e, errno, "Cannot lock %s", p->lock);
	return steal_fd(&fd);
}

/* The pid files of an engine that died: dockerd takes any living process, and a zombie, for its
 * own. containerd dies with its dockerd. */
static void forget_dead(const struct places *p)
{
	char pidfile[128];

	snprintf(pidfile, sizeof pidfile, "%s/containerd/containerd.pid", p->exec);
	unlink(pidfile);
	unlink(p->pidfile);
}

int private_engine_start(struct private_engine *ret, struct err *e)
{
	struct places p;
	AUTO_CLOSE int lock = -1, pidfd = -1;
	char dockerd[PATH_MAX];
	bool apart;

	if (find_places(&p, ret, e) < 0 || find_dockerd(dockerd, sizeof dockerd, e) < 0)
		return -1;
	if (geteuid() != 0)
		return err_set(e, ERR_REFUSED,
			"Only root can start the private engine: run `sudo berth engine start`, or "
			"join the group that is allowed to use the system's engine.");
	lock = take_lock(&p, e);
	if (lock < 0)
		return -1;
	pidfd = hold_dockerd(&p, &ret->pid);
	if (pidfd >= 0) {
		ret->answers = ping_socket(ret->socket);
		return ret->answers
			? 0
			: err_set(e, ERR_FAILED,
				  "The private engine runs (process %d) but does not answer: run "
				  "`berth engine stop` and start it again.",
				  (int)ret->pid);
	}
	if (write_config(&p, e) < 0)
		return -1;
	forget_dead(&p);
	apart = other_dockerd();
	if (launch_dockerd(dockerd, &p, ret, apart, e) == 0)
		return 0;
	return apart ? -1 : launch_dockerd(dockerd, &p, ret, true, e);
}

static int remove_busy_aside(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	remove(path); /* what is busy stays */
	return 0;
}

/* dockerd mounts its data root on itself, and one that crashed left that, and its containers'
 * roots, to the next.  Newest first, as mountinfo has them last. */
static void unmount_below(const char *dir)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char **points = NULL, *line = NULL;
	size_t n = 0, cap = 0, len = strlen(dir), line_cap = 0;

	while (f && getline(&line, &line_cap, f) > 0) {
		char *rest = line, *point = NULL;

		for (int field = 0; field < 5; field++)
			point = strsep(&rest, " ");
		if (point && strncmp(point, dir, len) == 0 && (!point[len] || point[len] == '/')) {
			points = mem_grow(points, &cap, n + 1, sizeof *points);
			points[n++] = xstrdup(point);
		}
	}
	if (f)
		fclose(f);
	free(line);
	while (n > 0) {
		umount2(points[--n], MNT_DETACH | UMOUNT_NOFOLLOW);
		free(points[n]);
	}
	free(points);
}

/* After a SIGKILL its containerd lives on; shims then end with their containers' init. */
static void stop_containerd(const struct places *p)
{
	char pidfile[128], arg[128];
	AUTO_CLOSE int pidfd = -1;
	pid_t pid;

	snprintf(pidfile, sizeof pidfile, "%s/containerd/containerd.pid", p->exec);
	snprintf(arg, sizeof arg, "%s/containerd/containerd.toml", p->exec);
	pidfd = hold_process(pidfile, "containerd", arg, &pid);
	if (pidfd < 0)
		return;
	pidfd_send_signal(pidfd, SIGTERM, NULL, 0);
	if (!wait_for_end(pidfd, 5000))
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
}

int private_engine_stop(struct private_engine *ret, struct err *e)
{
	struct places p;
	AUTO_CLOSE int lock = -1, pidfd = -1;

	if (find_places(&p, ret, e) < 0)
		return -1;
	lock = take_lock(&p, e);
	if (lock < 0)
		return -1;
	pidfd = hold_dockerd(&p, &ret->pid);
	if (pidfd < 0)
		return 0;
	if (pidfd_send_signal(pidfd, SIGTERM, NULL, 0) < 0 && errno != ESRCH)
		return err_sys(
			e, errno, "Cannot stop the private engine (process %d)", (int)ret->pid);
	if (!wait_for_end(pidfd, STOP_MS)) {
		pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
		if (!wait_for_end(pidfd, 5000))
			return err_set(e, ERR_FAILED,
				"The private engine (process %d) does not end, even when killed.",
				(int)ret->pid);
	}
	stop_containerd(&p);
	unmount_below(ret->data);
	unmount_below(p.exec);
	nftw(p.exec, remove_busy_aside, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	unlink(ret->socket);
	unlink(p.pidfile);
	return 0;
}
