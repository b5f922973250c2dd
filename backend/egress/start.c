/* start.c - starts an agent's egress process with all its descriptors. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>
#include <berth/str.h>

#include "egress/egress.h"
#include "lane/lane.h"

#define KILL_MS 2000

_Static_assert(LANE_PROXY_PORT == 3128, "ROUTE_BASE of berth/route.h names the port");
_Static_assert(EGRESS_GIVEN_MAX == EGRESS_FD_LISTENER + LANE_LISTENERS_MAX, "each has a place");

/* In a child of ours that has nothing to lose: the descriptors get their numbers, and nothing else stays open. */
static void become_end(const char *program, char *const argv[], int *given, int n)
{
	/* Not "x.pypi.org.corp.example", where the rules say "x.pypi.org": names are looked up as they are. */
	char *envp[] = {(char *)"LOCALDOMAIN=", NULL};
	int null = open("/dev/null", O_RDWR);

	for (int i = EGRESS_FD_CONTROL; i < n; i++) {
		given[i] = fcntl(given[i], F_DUPFD, EGRESS_GIVEN_MAX);
		if (given[i] < 0)
			_exit(1);
	}
	for (int i = EGRESS_FD_CONTROL; i < n; i++)
		dup2(given[i], i);
	for (int i = 0; i < EGRESS_FD_CONTROL; i++)
		dup2(null, i);
	syscall(SYS_close_range, (unsigned)n, ~0U, 0);
	signal(SIGPIPE, SIG_DFL);
	if (chdir("/"))
		_exit(1);
	execve(program, argv, envp);
	_exit(1);
}

int egress_spawn(const char *name, char *const argv[], int *given, int n, struct err *e)
{
	char program[PATH_MAX];
	int pid;

	if (runtime_program(EGRESS_PROGRAM, program, e))
		return -1;
	/* Before descriptors get numbers, for libuv opens some in each child. */
	pid = spawn_orphan();
	if (pid < 0)
		return err_sys(e, errno, "cannot start the egress of %s", name);
	if (pid == 0)
		become_end(program, argv, given, n);
	return 0;
}

int egress_container(const char *who, char name[64], struct err *e)
{
	struct lane_about about;

	if (lane_find(who, &about, e))
		return -1;
	snprintf(name, 64, "%s", about.name);
	return 0;
}

/* `words`: its arguments, each with its NUL. */
static bool is_end_of(pid_t pid, const struct str *words)
{
	AUTO_STR struct str text = STR_INIT, status = STR_INIT;
	const char *numbers;
	char path[64];

	/* In a container anybody can call himself so: there it has a second number.  Its command line is not asked for: it may
	 * be in a page that never comes. */
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	if (file_read(AT_FDCWD, path, 0, 65536, &status, NULL))
		return false;
	numbers = strstr(status.s, "\nNSpid:\t");
	if (!numbers || numbers[8 + strcspn(numbers + 8, "\t\n")] != '\n')
		return false;
	snprintf(path, sizeof path, "/proc/%d/cmdline", pid);
	return !file_read(AT_FDCWD, path, 0, 4096, &text, NULL) && text.len > words->len &&
		!memcmp(text.s, words->s, words->len);
}

static void kill_end_process(int pidfd)
{
	struct pollfd p = {pidfd, POLLIN, 0};

	if (!syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0))
		poll(&p, 1, KILL_MS);
}

/* With its rules file: another user, or another engine's berth, may have an agent of this name. */
static void end_all_of(const char *name)
{
	AUTO_STR struct str words = STR_INIT;
	char rules[EGRESS_PATH_MAX];
	const struct dirent *x;
	AUTO_CLOSEDIR DIR *proc = NULL;

	if (egress_place(name, ".rules", rules, NULL))
		return;
	str_add(&words, EGRESS_PROGRAM, sizeof EGRESS_PROGRAM);
	str_add(&words, name, strlen(name) + 1);
	str_add(&words, rules, strlen(rules) + 1);
	proc = opendir("/proc");
	while (proc && (x = readdir(proc))) {
		pid_t pid = (pid_t)strtol(x->d_name, NULL, 10);
		AUTO_CLOSE int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

		if (fd >= 0 && is_end_of(pid, &words))
			kill_end_process(fd);
	}
}

/* A second question, for one that was about to end has ended by then. */
static bool end_answers(const char *name, struct err *why)
{
	struct egress_usage now;

	for (int i = 0; i < 2; i++) {
		*why = (struct err)ERR_INIT;
		if (!egress_ask_usage(name, &now, why))
			return true;
		if (why->kind == ERR_NOT_FOUND)
			break;
	}
	return false;
}

/* It knows the newest question. */
static bool has_our_words(const char *name)
{
	AUTO_FREE struct egress_reached *reached = xcalloc(EGRESS_REACHED_MAX + 1, sizeof *reached);
	struct err why = ERR_INIT;

	return egress_ask_reached(name, reached, &why) >= 0 || why.kind != ERR_PROTOCOL;
}

int egress_end_silent(const char *name, struct err *e)
{
	AUTO_CLOSE int lock = egress_lock(name, e);
	struct err why;

	if (lock < 0)
		return -1;
	if (end_answers(name, &why) ? !has_our_words(name) : why.kind != ERR_NOT_FOUND)
		end_all_of(name);
	return 0;
}

/* By descriptors: the listeners, and the connection that says that they are served. */
static int take_listeners(
	const char *name, const char *id, int *fds, int *n, pid_t *init, struct err *e)
{
	struct lane_about about = {0};

	snprintf(about.name, sizeof about.name, "%s", name);
	snprintf(about.id, sizeof about.id, "%s", id);
	return lane_listeners(&about, fds, n, init, e);
}

/* By a relay: its stream in their place, and nothing that the end would have to say. */
static int take_relay(const char *name, const char *id, const struct egress_relay *r, int *fds,
	int *n, pid_t *init, struct err *e)
{
	/* Started again since, it has another one, and this number may be anybody's. */
	if (strcmp(r->id, id) != 0 || !proc_in_container(r->init, id))
		return err_set(e, ERR_NOT_FOUND,
			"%s has changed since it was brought up; run berth up", name);
	fds[0] = egress_open_relay(name, r, e);
	if (fds[0] < 0)
		return -1;
	*n = 1;
	*init = r->init;
	return open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* Under the lock: 0 started, 1 it runs. */
static int start_locked(const char *name, const char *id, struct err *e)
{
	AUTO_CLOSE int control = -1, guest = -1, lane = -1;
	char rules[EGRESS_PATH_MAX];
	int given[EGRESS_GIVEN_MAX], n = 0, result, relayed;
	struct egress_relay relay;
	struct egress_usage now;
	struct err why;
	pid_t init;

	if (end_answers(name, &why))
		return 1;
	/* Both would have the same clients. */
	if (why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	relayed = egress_kept_relay(name, &relay, e);
	if (relayed < 0 || egress_place(name, ".rules", rules, e))
		return -1;
	lane = relayed ? take_relay(name, id, &relay, given + EGRESS_FD_LISTENER, &n, &init, e)
		       : take_listeners(name, id, given + EGRESS_FD_LISTENER, &n, &init, e);
	if (lane < 0)
		return -1;
	guest = (int)syscall(SYS_pidfd_open, init, 0);
	if (guest < 0)
		result = err_sys(e, errno, "cannot watch the init of %s", name);
	else
		result = control = egress_listen(name, EGRESS_SOCK, e);
	given[EGRESS_FD_CONTROL] = control;
	given[EGRESS_FD_GUEST] = guest;
	given[EGRESS_FD_LANE] = lane;
	if (result >= 0) {
		char count[] = {(char)(relayed ? '0' : '0' + n), '\0'};
		char *argv[] = {(char *)EGRESS_PROGRAM, (char *)name, rules, count, NULL};

		result = egress_spawn(name, argv, given, EGRESS_FD_LISTENER + n, e);
	}
	for (int i = 0; i < n; i++)
		close(given[EGRESS_FD_LISTENER + i]);
	/* It listens already; that it answers is known when it has given up everything else. */
	return result < 0 ? -1 : egress_ask_usage(name, &now, e);
}

int egress_start(const char *name, const char *id, struct err *e)
{
	AUTO_CLOSE int lock = egress_lock(name, e);

	return lock < 0 || start_locked(name, id, e) < 0 ? -1 : 0;
}

int egress_start_again(
	const char *name, const char *id, const char *routes, size_t len, struct err *e)
{
	AUTO_CLOSE int lock = egress_lock(name, e);
	int r = lock < 0 ? -1 : start_locked(name, id, e);

	return r || !len ? r : egress_tell_routes(name, routes, len, e);
}
