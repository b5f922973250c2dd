/* foreground.c - finds a terminal's foreground processes, and whether they wait for a key. */
#include "terminals/foreground.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/major.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "lane/lane.h"

#define POLLED_MAX 32

struct process {
	pid_t pid;
	char state;
	int group, terminal, front_group, threads;
};

/* The name may hold anything but ends at the last ')'.  Behind it, by proc(5): state, ppid, pgrp, session, tty_nr, tpgid. */
static int read_process(pid_t pid, struct process *p)
{
	char text[1024];
	const char *after;

	*p = (struct process){.pid = pid};
	if (proc_file(pid, "stat", text, sizeof text) || !(after = strrchr(text, ')')))
		return -1;
	return sscanf(after + 1,
		       " %c %*d %d %*d %d %d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
		       &p->state, &p->group, &p->terminal, &p->front_group, &p->threads) == 5
		? 0
		: -1;
}

/* The first ones where there are many. */
static size_t list_threads(const struct process *p, pid_t tid[FOREGROUND_THREADS])
{
	const struct dirent *x;
	char path[64];
	size_t n = 0;
	DIR *d;

	tid[n++] = p->pid;
	if (p->threads < 2)
		return n;
	snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
	d = opendir(path);
	while (d && n < FOREGROUND_THREADS && (x = readdir(d))) {
		int id = atoi(x->d_name);

		if (id > 0 && id != p->pid)
			tid[n++] = id;
	}
	if (d)
		closedir(d);
	return n;
}

/* Children of that thread, behind what `pid` holds. */
static size_t add_children(pid_t of, pid_t thread, pid_t *pid, size_t n)
{
	char name[40], text[4096], *save = NULL;

	snprintf(name, sizeof name, "task/%d/children", (int)thread);
	if (proc_file(of, name, text, sizeof text))
		return n;
	for (char *word = strtok_r(text, " \n", &save); word && n < FOREGROUND_TREE;
		word = strtok_r(NULL, " \n", &save))
		if (atoi(word) > 0)
			pid[n++] = atoi(word);
	return n;
}

/* The process's own terminal, as tty_nr names it; not another one, nor the side of it that its keeper holds.  Nothing is
 * asked of a file system, which an agent may have made to hang. */
static bool is_terminal(const struct process *p, uint64_t fd)
{
	unsigned number = (unsigned)p->terminal;
	char path[64];
	struct statx st;

	snprintf(path, sizeof path, "/proc/%d/fd/%" PRIu64, (int)p->pid, fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st) || !S_ISCHR(st.stx_mode))
		return false;
	if (st.stx_rdev_major == TTYAUX_MAJOR)
		return st.stx_rdev_minor == 0; /* /dev/tty */
	return st.stx_rdev_major == (number >> 8 & 0xFFF) &&
		st.stx_rdev_minor == ((number & 0xFF) | (number >> 12 & 0xFFF00));
}

static bool read_memory(pid_t pid, uint64_t at, void *buf, size_t n)
{
	char path[40];
	AUTO_CLOSE int fd = -1;

	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && at <= INT64_MAX && pread(fd, buf, n, (off_t)at) == (ssize_t)n;
}

/* Terminals alone, and at least one. */
static bool selects_terminal(const struct process *p, uint64_t nfds, uint64_t readable)
{
	fd_set set;
	size_t n = 0;

	if (!readable || nfds < 1 || nfds > FD_SETSIZE)
		return false;
	FD_ZERO(&set);
	if (!read_memory(p->pid, readable, &set, (nfds + 63) / 64 * 8))
		return false;
	for (uint64_t fd = 0; fd < nfds; fd++)
		if (FD_ISSET((int)fd, &set)) {
			if (!is_terminal(p, fd))
				return false;
			n++;
		}
	return n > 0;
}

static bool polls_terminal(const struct process *p, uint64_t at, uint64_t n)
{
	struct pollfd polled[POLLED_MAX];
	size_t terminals = 0;

	if (n < 1 || n > POLLED_MAX || !read_memory(p->pid, at, polled, n * sizeof *polled))
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (polled[i].fd >= 0) {
			if (!is_terminal(p, (uint64_t)polled[i].fd))
				return false;
			terminals++;
		}
	return terminals > 0;
}

/* -1: not known; 1: it is in a call that only a key ends. */
static int reads_terminal(const struct process *p, pid_t thread)
{
	uint64_t a[6];
	char text[256];
	long call;

	if (proc_file(thread, "syscall", text, sizeof text))
		return -1;
	if (sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64,
		    &call, &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]) != 7)
		return 0;
	switch (call) {
	case SYS_read:
	case SYS_readv: return is_terminal(p, a[0]);
	case SYS_ppoll: return !a[2] && polls_terminal(p, a[0], a[1]);
	case SYS_pselect6: return !a[4] && selects_terminal(p, a[0], a[1]);
#ifdef SYS_poll
	case SYS_poll: return (int32_t)a[2] < 0 && polls_terminal(p, a[0], a[1]);
	case SYS_select: return !a[4] && selects_terminal(p, a[0], a[1]);
#endif
	default: return 0;
	}
}

static void add_name(struct foreground *f, const char *name)
{
	const char *slash = strrchr(name, '/');

	name = slash ? slash + 1 : name;
	if (*name && f->n < FOREGROUND_NAMES)
		text_clean(f->name[f->n++], FOREGROUND_NAME_MAX, name);
}

/* `n` bytes of words, each with its NUL: a shell with options alone, which runs neither a script nor -c. */
static bool is_shell(const char *words, size_t n)
{
	static const char *const shells[] = {"bash", "sh", "dash", "ash", "zsh", "fish", "ksh"};
	const char *slash = strrchr(words, '/'), *name = slash ? slash + 1 : words;
	bool known = false;

	name += *name == '-';
	for (size_t i = 0; i < COUNT(shells); i++)
		known |= !strcmp(name, shells[i]);
	for (const char *w = words + strlen(words) + 1; known && w < words + n; w += strlen(w) + 1)
		known = *w == '-' && w[1] != 'c';
	return known;
}

static void name_program(struct foreground *f, pid_t pid)
{
	char text[1024] = "", path[40];
	AUTO_CLOSE int fd = -1;
	const char *second;
	ssize_t n;

	f->n = 0;
	f->shell = false;
	if (!proc_file(pid, "comm", text, sizeof text)) {
		text[strcspn(text, "\n")] = '\0';
		add_name(f, text);
	}
	snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return;
	text[n] = '\0'; /* the process may have written over its own */
	f->shell = is_shell(text, (size_t)n);
	add_name(f, *text == '-' ? text + 1 : text); /* a login shell's */
	second = text + strlen(text) + 1;
	if (second < text + n && *second != '-')
		add_name(f, second);
}

/* What is known of the group with this process as well. */
static void add_process(struct foreground *f, const struct process *p, bool *ret_known)
{
	pid_t tid[FOREGROUND_THREADS];
	size_t n = list_threads(p, tid);

	for (size_t i = 0; i < n; i++) {
		struct process thread;
		int reads;

		if (read_process(tid[i], &thread))
			continue;
		if (thread.state == 'R' || thread.state == 'D')
			f->front = TERMINAL_FRONT_RUNS;
		reads = f->front == TERMINAL_FRONT_RUNS ? 0 : reads_terminal(p, tid[i]);
		*ret_known |= reads >= 0;
		if (reads == 1 && f->front != TERMINAL_FRONT_READS) {
			f->front = TERMINAL_FRONT_READS;
			name_program(f, p->pid);
		}
	}
	if (!f->n)
		name_program(f, p->pid);
}

void foreground_read(pid_t supervisor, struct foreground *ret)
{
	pid_t all[FOREGROUND_TREE] = {supervisor}, tid[FOREGROUND_THREADS];
	size_t n = 1;
	int terminal = 0; /* that of the first process; others may have made one of their own */
	bool known = false;

	*ret = (struct foreground){.front = TERMINAL_FRONT_SLEEPS};
	for (size_t i = 0; i < n; i++) {
		struct process p;
		size_t threads;

		if (read_process(all[i], &p))
			continue;
		if (i == 1)
			terminal = p.terminal;
		if (i && terminal && p.terminal == terminal && p.front_group > 0 &&
			p.group == p.front_group)
			add_process(ret, &p, &known);
		threads = list_threads(&p, tid);
		for (size_t k = 0; k < threads; k++)
			n = add_children(p.pid, tid[k], all, n);
	}
	if (!known && ret->front == TERMINAL_FRONT_SLEEPS)
		ret->front = TERMINAL_FRONT_UNKNOWN;
}
