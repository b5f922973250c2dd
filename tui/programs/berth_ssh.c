/*
 * berth_ssh.c - berth-ssh: runs ssh for an engine behind it, and leaves none of its processes behind.
 *
 *     berth-ssh CONTROL ssh ARG...  started by berth with a pipe as standard output
 *
 * ssh has children that outlive it: a ProxyCommand, masters of jump hosts, itself in the background (-f). All of them are
 * adopted here, and killed when
 *   - the pipe's reader has gone before it was told that ssh has connected: berth gave up, or was killed;
 *   - ssh fails, which is one byte on the pipe: its exit code;
 *   - the connection has ended: nothing listens on CONTROL any more. CONTROL "": when ssh exits.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/spawn.h>

#define KILL_ROUNDS 200
#define TERM_ROUNDS 20 /* the first of them: an ssh that asks gives the terminal its echo back */
#define KILL_ROUND_MS 10
#define NOT_STARTED 127

/* The parent in /proc/PID/stat: behind the name, which may hold anything. */
static pid_t read_parent(const char *pid)
{
	char path[64], text[512], *end;
	int fd;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static void signal_own_children(int sig)
{
	const struct dirent *d;
	DIR *proc = opendir("/proc");
	pid_t self = getpid();

	while (proc && (d = readdir(proc)))
		if (isdigit((unsigned char)*d->d_name) && read_parent(d->d_name) == self)
			kill((pid_t)strtol(d->d_name, NULL, 10), sig);
	if (proc)
		closedir(proc);
}

/* What a child leaves is a child the next time. One of another user (sudo) may stay. */
static void kill_all(void)
{
	for (int i = 0; i < KILL_ROUNDS; i++) {
		pid_t ended;

		signal_own_children(i < TERM_ROUNDS ? SIGTERM : SIGKILL);
		while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (ended < 0)
			return;
		poll(NULL, 0, KILL_ROUND_MS);
	}
}

static bool is_listening(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	bool listens;
	int fd;

	if (strlen(path) >= sizeof address.sun_path)
		return false;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	listens = connect(fd, (struct sockaddr *)&address, sizeof address) == 0 || errno == EAGAIN;
	close(fd);
	return listens;
}

static void await_child(int signals, struct pollfd *reader)
{
	struct signalfd_siginfo info;
	struct pollfd p[] = {{.fd = signals, .events = POLLIN}, *reader};

	poll(p, 2, -1);
	*reader = p[1];
	if (p[0].revents && read(signals, &info, sizeof info) < 0)
		return;
}

/* ssh's exit code; -1: nobody waits for it any more. */
static int await_ssh(pid_t ssh, int signals)
{
	struct pollfd reader = {.fd = STDOUT_FILENO}; /* its end is reported as an error */
	int status = 0;
	pid_t ended;

	for (;;) {
		while ((ended = waitpid(-1, &status, WNOHANG)) > 0)
			if (ended == ssh)
				return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
		if (reader.revents)
			return -1;
		await_child(signals, &reader);
	}
}

/* As long as the connection lives, that is: a process here or there may end meanwhile. */
static void await_end(const char *control, int signals)
{
	struct pollfd nobody = {.fd = -1};

	while (is_listening(control)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (waitpid(-1, NULL, WNOHANG) < 0)
			return;
		await_child(signals, &nobody);
	}
}

int main(int argc, char **argv)
{
	struct spawn how = {.path = "ssh", .argv = (const char *const *)(argv + 2), .err = 2};
	sigset_t all;
	unsigned char code;
	int signals, rc;
	pid_t own, ssh;

	if (argc < 3 || isatty(STDOUT_FILENO)) {
		fputs("berth-ssh: berth starts it, for an engine at ssh://\n", stderr);
		return 2;
	}
	/* Nobody's child, and still in the terminal's foreground where ssh asks there. */
	own = fork();
	if (own < 0)
		perror("berth-ssh");
	if (own != 0)
		_exit(own < 0);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = signals < 0 || spawn_start(&how, &ssh) ? NOT_STARTED : await_ssh(ssh, signals);
	if (rc || !*argv[1])
		kill_all();
	code = (unsigned char)rc;
	if (rc < 0)
		return 0;
	if (write(STDOUT_FILENO, &code, 1) != 1) {
		kill_all(); /* berth has gone just as ssh connected */
		return 0;
	}
	if (rc || !*argv[1])
		return 0;
	/* Whoever waited may close the terminal now. */
	setsid();
	close(STDOUT_FILENO);
	await_end(argv[1], signals);
	kill_all();
	return 0;
}
