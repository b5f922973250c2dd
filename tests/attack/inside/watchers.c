/*
 * watchers.c - what a command can do to the init, to the supervisors of commands and to each of their threads,
 * which have its own uid, by every call that names another process; and that the same calls still serve oneself.
 *
 * `watchers try` prints findings; `watchers pester SECONDS` keeps on sending what can be sent.
 */
#include "inside.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define NUMBER 0 /* the host knows these attacks by name */
#define IOPRIO_IDLE (3 << 13)

struct attributes { /* sched_setattr's */
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

static const struct {
	int number;
	const char *name;
} limits[] = {{RLIMIT_NOFILE, "descriptors"}, {RLIMIT_CPU, "processor time"}, {RLIMIT_AS, "memory"},
	{RLIMIT_DATA, "data"}, {RLIMIT_STACK, "stack"}, {RLIMIT_NPROC, "processes"},
	{RLIMIT_FSIZE, "file size"}, {RLIMIT_SIGPENDING, "signals"},
	{RLIMIT_MEMLOCK, "locked memory"}, {RLIMIT_RTTIME, "real time"}, {RLIMIT_NICE, "nice"},
	{RLIMIT_MSGQUEUE, "queues"}};

/* Nobody may do it, however the kernel says so. */
static void report_forbidden(const char *what, pid_t pid, long result)
{
	char text[96];

	snprintf(text, sizeof text, "%s of %d", what, (int)pid);
	refused(NUMBER, text, result, NULL);
}

static void take_resources(pid_t pid)
{
	struct attributes idle = {.size = sizeof idle, .policy = SCHED_IDLE};
	struct sched_param none = {0}, one = {1};
	char what[64];
	cpu_set_t cpu;

	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		struct rlimit r = {3, 3};

		snprintf(what, sizeof what, "the limit of %s", limits[i].name);
		report_forbidden(
			what, pid, syscall(SYS_prlimit64, pid, limits[i].number, &r, NULL));
	}
	report_forbidden("prlimit64 by a number that is cut off", pid,
		syscall(SYS_prlimit64, (1L << 32) + pid, RLIMIT_NOFILE, &(struct rlimit){3, 3},
			NULL));
	report_forbidden("setpriority", pid, syscall(SYS_setpriority, PRIO_PROCESS, pid, 19));
	report_forbidden("setpriority, group", pid, syscall(SYS_setpriority, PRIO_PGRP, pid, 19));
	report_forbidden("ioprio_set", pid, syscall(SYS_ioprio_set, 1, pid, IOPRIO_IDLE));
	report_forbidden("ioprio_set, group", pid, syscall(SYS_ioprio_set, 2, pid, IOPRIO_IDLE));
	report_forbidden("sched_setscheduler, idle", pid,
		syscall(SYS_sched_setscheduler, pid, SCHED_IDLE, &none));
	report_forbidden("sched_setscheduler, batch", pid,
		syscall(SYS_sched_setscheduler, pid, SCHED_BATCH, &none));
	report_forbidden("sched_setscheduler, fifo", pid,
		syscall(SYS_sched_setscheduler, pid, SCHED_FIFO, &one));
	report_forbidden("sched_setparam", pid, syscall(SYS_sched_setparam, pid, &none));
	report_forbidden("sched_setattr", pid, syscall(SYS_sched_setattr, pid, &idle, 0));
	CPU_ZERO(&cpu);
	CPU_SET(0, &cpu);
	report_forbidden(
		"sched_setaffinity", pid, syscall(SYS_sched_setaffinity, pid, sizeof cpu, &cpu));
	report_forbidden("setpgid", pid, syscall(SYS_setpgid, pid, getpgrp()));
	report_forbidden("core scheduling", pid, prctl(62, 2, pid, 0, 0));
}

static void reach_into(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), status;
	struct iovec here = {&status, sizeof status};
	void *page = &status, *head;
	size_t len;

	report_forbidden("ptrace", pid, ptrace(PTRACE_SEIZE, pid, 0, 0));
	report_forbidden(
		"process_vm_readv", pid, syscall(SYS_process_vm_readv, pid, &here, 1, &here, 1, 0));
	report_forbidden("process_vm_writev", pid,
		syscall(SYS_process_vm_writev, pid, &here, 1, &here, 1, 0));
	report_forbidden(
		"move_pages", pid, syscall(SYS_move_pages, pid, 1, &page, NULL, &status, 0));
	report_forbidden(
		"migrate_pages", pid, syscall(SYS_migrate_pages, pid, 8, &(long){1}, &(long){1}));
	report_forbidden("kcmp", pid, syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
	report_forbidden("get_robust_list", pid, syscall(SYS_get_robust_list, pid, &head, &len));
	report_forbidden(
		"perf_event_open", pid, syscall(SYS_perf_event_open, NULL, pid, -1, -1, 0));
	report_forbidden(
		"process_madvise", pid, syscall(SYS_process_madvise, pidfd, &here, 1, 21, 0));
	report_forbidden("process_mrelease", pid, syscall(SYS_process_mrelease, pidfd, 0));
	report_forbidden("pidfd_getfd", pid, syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	report_forbidden("setns", pid, syscall(SYS_setns, pidfd, 0x20000000));
	close(pidfd);
}

/* Signals that say they come from outside. */
static void forge_signals(pid_t pid)
{
	static const int stops[] = {SIGTERM, SIGINT, SIGQUIT, SIGPWR, SIGHUP};
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0), pair[2];

	for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
		siginfo_t info = {.si_signo = stops[i], .si_code = SI_QUEUE};

		report_forbidden(
			"rt_sigqueueinfo", pid, syscall(SYS_rt_sigqueueinfo, pid, stops[i], &info));
		report_forbidden("rt_tgsigqueueinfo", pid,
			syscall(SYS_rt_tgsigqueueinfo, pid, pid, stops[i], &info));
		report_forbidden("pidfd_send_signal with words of its own", pid,
			syscall(SYS_pidfd_send_signal, pidfd, stops[i], &info, 0));
		/* By a descriptor that owns it: allowed, and to the init no order to stop. */
		if (pid != 1 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			continue;
		fcntl(pair[0], F_SETOWN, pid);
		fcntl(pair[0], F_SETSIG, stops[i]);
		fcntl(pair[0], F_SETFL, O_ASYNC | O_NONBLOCK);
		if (write(pair[1], "x", 1) == 1)
			usleep(20000);
		close(pair[0]);
		close(pair[1]);
	}
	close(pidfd);
}

static void write_to(pid_t pid)
{
	static const char *const files[][2] = {{"oom_score_adj", "1000"}, {"oom_adj", "15"},
		{"autogroup", "19"}, {"timerslack_ns", "1000000000"}, {"coredump_filter", "0"},
		{"clear_refs", "1"}, {"comm", "x"}, {"sched", "0"}, {"loginuid", "0"},
		{"attr/current", "x"}, {"attr/exec", "x"}, {"mem", "x"}, {"uid_map", "0 0 1"},
		{"setgroups", "deny"}, {"make-it-fail", "1"}, {"timens_offsets", "1 1 1"}};
	char path[64];

	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		int fd;

		snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, files[i][0]);
		fd = open(path, O_WRONLY);
		report_forbidden(
			path, pid, fd < 0 ? -1 : write(fd, files[i][1], strlen(files[i][1])));
		if (fd >= 0)
			close(fd);
	}
}

static void try_one(pid_t pid)
{
	take_resources(pid);
	reach_into(pid);
	forge_signals(pid);
	write_to(pid);
}

/* The init's program is the init's and the supervisors'. */
static bool is_watcher(const char *pid)
{
	char path[64], name[64];

	snprintf(path, sizeof path, "/proc/%s/comm", pid);
	return slurp(path, name, sizeof name) > 0 && !strncmp(name, "berth-", 6);
}

static unsigned for_threads(const char *pid, void (*what)(pid_t))
{
	struct dirent *e;
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%s/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			what((pid_t)atoi(e->d_name));
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

static unsigned for_each(void (*what)(pid_t))
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_watcher(e->d_name))
			n += for_threads(e->d_name, what);
	if (d)
		closedir(d);
	return n;
}

/* What means them without their number. */
static void by_user(void)
{
	struct sched_param none = {0};

	report_forbidden("setpriority, everybody of the user", 0,
		syscall(SYS_setpriority, PRIO_USER, 0, 19));
	report_forbidden("setpriority, everybody by number", 0,
		syscall(SYS_setpriority, PRIO_USER, getuid(), 19));
	report_forbidden(
		"ioprio_set, everybody of the user", 0, syscall(SYS_ioprio_set, 3, 0, IOPRIO_IDLE));
	report_forbidden("ioprio_set, everybody by number", 0,
		syscall(SYS_ioprio_set, 3, getuid(), IOPRIO_IDLE));
	report_forbidden(
		"sched_setscheduler", -1, syscall(SYS_sched_setscheduler, -1, SCHED_IDLE, &none));
}

static void report_works(const char *what, long result)
{
	report(NUMBER, result >= 0, "%s, of oneself: %s", what,
		result < 0 ? strerrorname_np(errno) : "works");
}

static void change_oneself(void)
{
	struct attributes mine = {.size = sizeof mine};
	struct sched_param none = {0};
	pthread_attr_t attr;
	struct rlimit r;
	cpu_set_t cpu;
	void *head;
	size_t len;

	report_works("prlimit64", syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &r));
	r.rlim_cur = r.rlim_cur > 64 ? 64 : r.rlim_cur;
	report_works("setrlimit", setrlimit(RLIMIT_NOFILE, &r));
	report_works("sched_getaffinity", sched_getaffinity(0, sizeof cpu, &cpu));
	report_works("sched_getaffinity by number", sched_getaffinity(gettid(), sizeof cpu, &cpu));
	report_works("sched_setaffinity", sched_setaffinity(0, sizeof cpu, &cpu));
	report_works("pthread_getattr_np", -pthread_getattr_np(pthread_self(), &attr));
	report_works("nice", nice(1) == -1 ? -1 : 0);
	/* one less than what it has: the tests may have been started with less than others */
	report_works("setpriority", setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 1));
	report_works(
		"getpriority by number", getpriority(PRIO_PROCESS, (id_t)getpid()) == -1 ? -1 : 0);
	report_works("ioprio_set", syscall(SYS_ioprio_set, 1, 0, (2 << 13) | 5));
	report_works("sched_getattr", syscall(SYS_sched_getattr, 0, &mine, sizeof mine, 0));
	report_works("sched_setattr", syscall(SYS_sched_setattr, 0, &mine, 0));
	report_works("sched_setscheduler", sched_setscheduler(0, SCHED_BATCH, &none));
	report_works("sched_setparam", sched_setparam(0, &none));
	report_works("get_robust_list", syscall(SYS_get_robust_list, 0, &head, &len));
	signal(SIGUSR1, SIG_IGN);
	report_works("kill", kill(getpid(), SIGUSR1));
	report_works("tgkill", syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1));
	report_works("pidfd_send_signal",
		syscall(SYS_pidfd_send_signal, syscall(SYS_pidfd_open, getpid(), 0), SIGUSR1, NULL,
			0));
}

static void pester_one(pid_t pid)
{
	for (int sig = 1; sig < 65; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			for (int i = 0; i < 64; i++)
				kill(pid, sig);
}

void watchers(const struct words *w)
{
	if (!strcmp(word_or(w, 0, ""), "pester")) {
		double until = now() + atof(word_or(w, 1, "3"));

		for (int i = 0; i < 4; i++)
			if (fork() == 0)
				break;
		while (now() < until)
			for_each(pester_one);
		return;
	}
	report(NUMBER, for_each(try_one) >= 3,
		"the init, this command's supervisor and another's were tried");
	by_user();
	change_oneself();
}
