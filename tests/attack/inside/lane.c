/*
 * lane.c - one container speaks for the host on the lane of another.
 *
 * `lane give SOCKET` sends descriptors of everything by which its own lane might be found, over a socket at a
 * path that both share, to `lane take SOCKET MARK`, which connects by each of them and, where somebody answers,
 * asks for a command that writes MARK.  `lane knock SECONDS DIR...` wants to be taken for the init while a lane
 * is offered, through what lies at DIR.
 */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lane/wire_io.h"

#define NUMBER 0 /* the host knows these attacks by name */
#define DESCRIPTORS_MAX 4096

/* Where the sockets may be, below a directory that leads there. */
static const char *const doors[] = {"lane", "boot", "lane/lane", "lane/boot", ".berth/lane",
	".berth/boot", ".berth/lane/lane", ".berth/lane/boot", "../lane", "../../lane"};

static int to_socket(const char *path, int type)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK, 0);

	if (strlen(path) >= sizeof at.sun_path)
		return errno = ENAMETOOLONG, close(fd), -1;
	strcpy(at.sun_path, path);
	if (connect(fd, (struct sockaddr *)&at, sizeof at)) {
		int why = errno;

		close(fd);
		return errno = why, -1;
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/* As the host would.  true: it was believed. */
static bool ask_as_host(int conn, const char *mark)
{
	static char body[LANE_MSG_MAX], words[PATH_MAX + 64];
	struct lane_run run = {.argc = 3};
	struct pollfd p = {conn, POLLIN, 0};
	int pipes[3][2], fds[LANE_FDS_MAX], nfds,
		n = snprintf(words, sizeof words, "%csh%c-c%cecho taken >>%s%c", 0, 0, 0, mark, 0);
	struct lane_msg head;

	for (int i = 0; i < 3; i++)
		if (pipe(pipes[i]))
			return false;
	fds[0] = pipes[0][0];
	fds[1] = pipes[1][1];
	fds[2] = pipes[2][1];
	if (wire_send(conn, LANE_WORDS, words, (size_t)n) ||
		wire_send_fds(conn, LANE_RUN, &run, sizeof run, fds, 3))
		return false;
	return poll(&p, 1, 2000) > 0 && wire_recv(conn, &head, body, fds, &nfds) > 0 &&
		head.type == LANE_STARTED;
}

static unsigned tried, reached;

static void try_door(const char *path, const char *what, const char *mark)
{
	int conn = to_socket(path, SOCK_SEQPACKET);

	tried++;
	if (conn < 0)
		return;
	reached++;
	report(NUMBER, !ask_as_host(conn, mark),
		"through %s: somebody listens, and believes nothing", what);
	close(conn);
}

static void try_doors(const char *dir, const char *what, const char *mark)
{
	for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
		char path[PATH_MAX], text[PATH_MAX];

		snprintf(path, sizeof path, "%s/%s", dir, doors[i]);
		snprintf(text, sizeof text, "%.200s, then %s", what, doors[i]);
		try_door(path, text, mark);
	}
}

/* The other's /proc: its processes' roots, working directories and descriptors. */
static void try_proc(const char *proc, const char *mark)
{
	DIR *d = opendir(proc);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char dir[320], what[384];

		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		for (int i = 0; i < 66; i++) {
			if (i < 2)
				snprintf(dir, sizeof dir, "%s/%s/%s", proc, e->d_name,
					i ? "cwd" : "root");
			else
				snprintf(dir, sizeof dir, "%s/%s/fd/%d", proc, e->d_name, i - 2);
			snprintf(what, sizeof what, "its %s", dir + strlen(proc));
			try_door(dir, what, mark);
			if (i < 2)
				try_doors(dir, what, mark);
		}
	}
	if (d)
		closedir(d);
}

static void take_socket(const char *path, const char *mark)
{
	static char name[LANE_MSG_MAX];
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_SEQPACKET, 0), conn, fds[LANE_FDS_MAX], nfds;
	struct lane_msg head;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	unlink(path);
	if (bind(listener, (struct sockaddr *)&at, sizeof at) || chmod(path, 0666) ||
		listen(listener, 1))
		exit(1);
	puts("ready");
	fflush(stdout);
	conn = accept(listener, NULL, NULL);
	while (wire_recv(conn, &head, name, fds, &nfds) > 0 && nfds == 1) {
		char here[64];
		struct stat st;

		snprintf(here, sizeof here, "/proc/self/fd/%d", fds[0]);
		try_door(here, name, mark);
		if (fstat(fds[0], &st) || !S_ISDIR(st.st_mode))
			continue;
		if (strcmp(name, "/proc"))
			try_doors(here, name, mark);
		else
			try_proc(here, mark);
	}
	report(NUMBER, tried > 20, "%u ways, %u with somebody at the end", tried, reached);
}

static void hand_descriptor(int conn, const char *path)
{
	int fd = open(path, O_PATH | O_NOFOLLOW);

	if (fd >= 0) {
		wire_send_fds(conn, LANE_WORDS, path, strlen(path) + 1, &fd, 1);
		close(fd);
	}
}

static void hand_below(int conn, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	hand_descriptor(conn, dir);
	while (d && (e = readdir(d))) {
		char path[PATH_MAX];

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
		if (e->d_type == DT_DIR)
			hand_below(conn, path);
		else
			hand_descriptor(conn, path);
	}
	if (d)
		closedir(d);
}

/* Names for it elsewhere, which the other could use without us. */
static void link_elsewhere(const char *shared)
{
	char dir[PATH_MAX], name[PATH_MAX + 32];

	snprintf(dir, sizeof dir, "%s", shared);
	*strrchr(dir, '/') = '\0';
	for (size_t i = 0; i < sizeof doors / sizeof *doors; i++) {
		char door[64];

		snprintf(door, sizeof door, "/.berth/%s", doors[i]);
		snprintf(name, sizeof name, "%s/link%zu", dir, i);
		refused(NUMBER, "a hard link to it in the shared directory", link(door, name),
			NULL);
		refused(NUMBER, "a rename into the shared directory", rename(door, name), NULL);
		snprintf(name, sizeof name, "/.berth/link%zu", i);
		refused(NUMBER, "a hard link beside it", link(door, name), NULL);
	}
}

static void give_doors(const char *path)
{
	int conn = to_socket(path, SOCK_SEQPACKET);

	if (conn < 0)
		exit(1);
	link_elsewhere(path);
	hand_below(conn, "/.berth");
	hand_descriptor(conn, "/");
	hand_descriptor(conn, "/proc");
	close(conn);
}

static volatile sig_atomic_t stopped;

static void stop_knocking(int sig)
{
	(void)sig;
	stopped = 1;
}

/* Each connection says hello as an init would; whoever gets an answer other than a hang-up was taken for it. */
static void knock_on_boot(const struct words *w)
{
	static char body[LANE_MSG_MAX];
	double until = now() + atof(word_or(w, 1, "5"));
	static int kept[DESCRIPTORS_MAX];
	unsigned knocks = 0, answers = 0;
	int n = 0;

	signal(SIGUSR1, stop_knocking);
	while (!stopped && now() < until) {
		for (int i = 2; i < w->n; i++) {
			char path[PATH_MAX];
			struct lane_hello hello = {1, 1000, 1000};
			struct lane_msg head;
			int conn, fds[LANE_FDS_MAX], nfds;

			snprintf(path, sizeof path, "%s/boot", w->word[i]);
			conn = to_socket(path, SOCK_SEQPACKET);
			if (conn < 0)
				continue;
			knocks++;
			wire_send(conn, LANE_HELLO, &hello, sizeof hello);
			fcntl(conn, F_SETFL, O_NONBLOCK);
			kept[n++] = conn;
			for (int k = 0; k < n; k++)
				if (wire_recv(kept[k], &head, body, fds, &nfds) > 0)
					answers++;
			if (n == 64)
				while (n)
					close(kept[--n]);
		}
		poll(NULL, 0, 1);
	}
	report(NUMBER, !answers, "%u knocks, %u answers", knocks, answers);
}

void lane(const struct words *w)
{
	const char *what = word_or(w, 0, "");

	if (!strcmp(what, "take"))
		take_socket(word_or(w, 1, "/tmp/take"), word_or(w, 2, "/tmp/mark"));
	else if (!strcmp(what, "give"))
		give_doors(word_or(w, 1, "/tmp/take"));
	else if (!strcmp(what, "knock"))
		knock_on_boot(w);
	else if (!strcmp(what, "stop")) {
		signal(SIGUSR1, SIG_IGN);
		report(NUMBER, !kill(-1, SIGUSR1), "those who knock were told to stop");
	}
}
