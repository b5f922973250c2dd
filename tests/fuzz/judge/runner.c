/*
 * runner.c - for tests/fuzz/shells.py: runs scripts in real shells and says which markers ran.
 *
 *   rules-runner ROOT WORKERS LIMIT_MS <cases >results
 *
 * Cases: fields that end with NUL, two a case: bash, dash or sh (bash under that name), and a script.
 * Results: a line each in the same order, the markers in the order in which they began, or "late": it was
 * not done within the limit.
 *
 * ROOT is a tree with the shells and their libraries, the markers in /m, and /w, /log, /dev.  Every worker is
 * process 1 of a pid namespace of its own, so that what a script leaves behind is its to end, and has /w and
 * /log for itself; there is no network.  A case costs a fork and an exec, and nothing else.  Exit code 77: no
 * namespaces can be had here.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define RAN_MAX 1024

struct one {
	const char *shell, *script;
};

struct result {
	bool done, late;
	char ran[RAN_MAX];
};

struct shared {
	atomic_size_t next;
	struct result result[];
};

static const char *root;
static struct itimerval limit;
static volatile sig_atomic_t late;

static _Noreturn void die_of(const char *what)
{
	fprintf(stderr, "rules-runner: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void write_or_fail(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die_of(path);
	close(fd);
}

/* All standard input; ends with NUL. */
static char *read_input(size_t *n)
{
	size_t room = 1 << 20, got;
	char *text = malloc(room);

	for (*n = 0; text && (got = fread(text + *n, 1, room - *n - 1, stdin)) > 0; *n += got)
		if (*n + got == room - 1)
			text = realloc(text, room *= 2);
	if (!text)
		die_of("cases");
	text[*n] = '\0';
	return text;
}

static struct one *split_cases(char *text, size_t n, size_t *count)
{
	struct one *cases = calloc(n / 2 + 1, sizeof *cases);

	if (!cases)
		die_of("cases");
	*count = 0;
	for (char *at = text; at < text + n; (*count)++) {
		cases[*count].shell = at;
		at += strlen(at) + 1;
		cases[*count].script = at;
		at += strlen(at) + 1;
	}
	return cases;
}

/* No network and mounts of its own; an ordinary user becomes root in there. */
static void unshare_all(void)
{
	int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	char map[64];

	if (unshare(flags | (uid ? CLONE_NEWUSER : 0)))
		exit(77);
	if (uid) {
		write_or_fail("/proc/self/setgroups", "deny");
		snprintf(map, sizeof map, "0 %u 1", uid);
		write_or_fail("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "0 %u 1", gid);
		write_or_fail("/proc/self/gid_map", map);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die_of("private mounts");
}

/* What is the worker's alone in the tree, and then the tree as /. */
static void enter_tree(void)
{
	if (chdir(root) || mount("none", "w", "tmpfs", 0, "size=16m") ||
		mount("none", "log", "tmpfs", 0, "size=16m") ||
		mount("/dev/null", "dev/null", NULL, MS_BIND, NULL) || chroot("."))
		die_of(root);
}

/* What another script left is gone; there is one empty file. */
static void clear_workspace(void)
{
	DIR *d = opendir("/w");
	const struct dirent *entry;

	if (!d)
		die_of("/w");
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			unlinkat(dirfd(d), entry->d_name, 0);
	closedir(d);
	write_or_fail("/w/f", "");
	write_or_fail("/log/ran", "");
}

static _Noreturn void exec_shell(const struct one *c)
{
	static const struct {
		int what;
		rlim_t limit;
	} limits[] = {
		{RLIMIT_CPU, 1}, {RLIMIT_FSIZE, 1 << 20}, {RLIMIT_NOFILE, 64}, {RLIMIT_CORE, 0}};
	const char *argv[] = {c->shell, "-c", c->script, NULL};
	const char *env[] = {"PATH=/m", "HOME=/w", "LC_ALL=C", NULL};
	int null = open("/dev/null", O_RDWR);

	setsid();
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	if (chdir("/w"))
		_exit(126);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit l = {limits[i].limit, limits[i].limit};

		setrlimit(limits[i].what, &l);
	}
	execve(strcmp(c->shell, "dash") ? "/bin/bash" : "/bin/dash", (char **)argv, (char **)env);
	_exit(126);
}

/* All but process 1, again and again: one may just have been made. */
static void end_all(int signal)
{
	(void)signal;
	late = 1;
	kill(-1, SIGKILL);
}

static void run_one_case(const struct one *c, struct result *r)
{
	struct itimerval off = {0};
	pid_t pid;
	ssize_t n;
	int fd;

	clear_workspace();
	late = 0;
	pid = fork();
	if (pid < 0)
		die_of("fork");
	if (!pid)
		exec_shell(c);
	setitimer(ITIMER_REAL, &limit, NULL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	setitimer(ITIMER_REAL, &off, NULL);
	fd = open("/log/ran", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, r->ran, sizeof r->ran - 1);
	if (n < 0)
		die_of("/log/ran");
	close(fd);
	r->ran[n] = '\0';
	r->late = late;
	r->done = true;
}

/* Process 1 of a namespace; what it has done is seen in `all`. */
static _Noreturn void judge_cases(const struct one *cases, size_t count, struct shared *all)
{
	struct sigaction action = {.sa_handler = end_all};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGALRM, &action, NULL);
	enter_tree();
	for (size_t i; (i = atomic_fetch_add(&all->next, 1)) < count;)
		run_one_case(&cases[i], &all->result[i]);
	exit(0);
}

/* The worker is its child: whoever unshares the namespace of processes is not in it. */
static void start_worker(const struct one *cases, size_t count, struct shared *all)
{
	int status = 0;
	pid_t pid = fork();

	if (pid < 0)
		die_of("fork");
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		exit(77);
	pid = fork();
	if (!pid)
		judge_cases(cases, count, all);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	exit(pid < 0 || !WIFEXITED(status) ? 1 : WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	struct shared *all;
	struct one *cases;
	size_t n, count;
	char *text;
	int status, worst = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: rules-runner ROOT WORKERS LIMIT_MS\n");
		return 2;
	}
	root = argv[1];
	limit.it_value.tv_sec = atoi(argv[3]) / 1000;
	limit.it_value.tv_usec = atoi(argv[3]) % 1000 * 1000;
	limit.it_interval.tv_usec = 20000;
	text = read_input(&n);
	cases = split_cases(text, n, &count);
	all = mmap(NULL, sizeof *all + count * sizeof *all->result, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		die_of("results");
	unshare_all();
	for (int i = atoi(argv[2]); i > 0; i--)
		start_worker(cases, count, all);
	while (wait(&status) > 0)
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			worst = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	if (worst)
		return worst;
	for (size_t i = 0; i < count; i++)
		puts(all->result[i].late ? "late" : all->result[i].ran);
	free(cases);
	free(text);
	return 0;
}
