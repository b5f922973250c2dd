/* rate.c - sets rate limits on both ends of a container's network interface. */
#include "container/rate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "lane/lane.h"

#define OUTPUT_MAX 65536
#define PATIENCE_MS 5000
#define INTERFACE "eth0" /* what the engine calls the first one of a container */

static const char *find_program(const char *const places[2])
{
	for (int i = 0; i < 2; i++)
		if (!access(places[i], X_OK))
			return places[i];
	return NULL;
}

static size_t read_tc_output(int fd, char *out)
{
	int64_t until = clock_mono_ns() + (int64_t)PATIENCE_MS * 1000000;
	size_t n = 0;

	while (n < OUTPUT_MAX - 1) {
		struct pollfd p = {fd, POLLIN, 0};
		int64_t left = (until - clock_mono_ns()) / 1000000;
		ssize_t r;

		if (left <= 0 || poll(&p, 1, (int)left) <= 0)
			break;
		r = read(fd, out + n, OUTPUT_MAX - 1 - n);
		if (r <= 0)
			break;
		n += (size_t)r;
	}
	out[n] = '\0';
	return n;
}

/* Run a program of iproute2 in the network namespace of a process.  What it prints, errors too, goes to
 * `out`.  Between fork and exec there are system calls only: other threads are at work. */
static int run_in_netns(pid_t pid, const char *const *argv, char out[OUTPUT_MAX])
{
	char path[64];
	char *const no_environment[] = {NULL};
	AUTO_CLOSE int ns = -1, from = -1;
	int p[2], status = -1;
	pid_t child;

	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	ns = open(path, O_RDONLY | O_CLOEXEC);
	if (ns < 0 || pipe2(p, O_CLOEXEC))
		return -1;
	from = p[0];
	child = spawn_fork();
	if (child == 0) {
		if (setns(ns, CLONE_NEWNET) || dup2(p[1], 1) < 0 || dup2(p[1], 2) < 0)
			_exit(126);
		execve(argv[0], (char *const *)argv, no_environment);
		_exit(127);
	}
	close(p[1]);
	if (child < 0)
		return -1;
	read_tc_output(from, out);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* Whoever started the container's init, its shim, is in the engine's network namespace. */
static pid_t read_parent(pid_t pid)
{
	char text[1024];
	const char *after;

	if (proc_file(pid, "stat", text, sizeof text) || !(after = strrchr(text, ')')) ||
		strlen(after) < 5)
		return -1;
	return (pid_t)atoi(after + 4);
}

/* "27: veth1c0ffee@if26: <...": the interface whose number is `index`. */
static int find_interface(const char *list, int index, char name[32])
{
	char start[24];
	const char *at = list;

	snprintf(start, sizeof start, "%d: ", index);
	while (at && strncmp(at, start, strlen(start)) != 0) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	return at && sscanf(at + strlen(start), "%31[^@: ]", name) == 1 ? 0 : -1;
}

/* The engine's end of the container's interface: the container's is "26: eth0@if27: <...". */
static int other_end(pid_t pid, pid_t engine, char name[32])
{
	static const char *const places[2] = {"/usr/sbin/ip", "/sbin/ip"};
	AUTO_FREE char *out = xmalloc(OUTPUT_MAX);
	const char *ip = find_program(places), *at;
	const char *ours[] = {ip, "-o", "link", "show", "dev", INTERFACE, NULL};
	const char *theirs[] = {ip, "-o", "link", "show", NULL};
	int index;

	if (!ip || run_in_netns(pid, ours, out) || !(at = strstr(out, INTERFACE "@if")))
		return -1;
	index = atoi(at + strlen(INTERFACE "@if"));
	return index > 0 && !run_in_netns(engine, theirs, out) ? find_interface(out, index, name)
							       : -1;
}

static int set_one(const char *tc, pid_t in, const char *interface, uint64_t rate, struct err *e)
{
	AUTO_FREE char *out = xmalloc(OUTPUT_MAX);
	/* At least one full frame with segmentation offload, else what the rate lets through in 10 ms. */
	uint64_t bucket = rate / 100 > 65536 ? rate / 100 : 65536;
	AUTO_FREE char *speed = xasprintf("%llubit", (unsigned long long)rate * 8);
	AUTO_FREE char *burst = xasprintf("%llu", (unsigned long long)bucket);
	const char *argv[] = {tc, "qdisc", "replace", "dev", interface, "root", "tbf", "rate",
		speed, "burst", burst, "latency", "100ms", NULL};

	*out = '\0';
	if (!run_in_netns(in, argv, out))
		return 0;
	out[strcspn(out, "\n")] = '\0';
	return err_set(
		e, ERR_REFUSED, "the kernel rejects it (%.200s)", *out ? out : "tc did not run");
}

static int set_both(pid_t pid, uint64_t rate, struct err *e)
{
	static const char *const places[2] = {"/usr/sbin/tc", "/sbin/tc"};
	const char *tc = find_program(places);
	pid_t engine = read_parent(pid);
	char name[32];

	if (geteuid() != 0)
		return err_set(e, ERR_REFUSED, "that requires root");
	if (!tc)
		return err_set(e, ERR_REFUSED, "tc is not installed; install iproute2");
	if (other_end(pid, engine, name))
		return err_set(e, ERR_REFUSED,
			"the engine's end of the container's network cannot be found");
	return set_one(tc, pid, INTERFACE, rate, e) || set_one(tc, engine, name, rate, e) ? -1 : 0;
}

int rate_set(pid_t pid, uint64_t bytes_per_s, struct err *e)
{
	struct err why = ERR_INIT;

	if (!set_both(pid, bytes_per_s, &why))
		return 0;
	return err_set(e, ERR_REFUSED,
		"the network rate limit cannot be set here: %s; berth never ignores a "
		"limit: remove network_rate:, or make it possible",
		why.msg);
}

/* "qdisc tbf 8001: root refcnt 2 rate 8Mbit burst ..." */
int64_t rate_get(pid_t pid)
{
	static const char *const places[2] = {"/usr/sbin/tc", "/sbin/tc"};
	static const struct {
		const char *word;
		double bits;
	} units[] = {{"bit", 1}, {"Kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}};
	AUTO_FREE char *out = xmalloc(OUTPUT_MAX);
	const char *tc = find_program(places), *at;
	const char *argv[] = {tc, "qdisc", "show", "dev", INTERFACE, NULL};
	char word[8];
	double n;

	if (!tc || geteuid() != 0 || run_in_netns(pid, argv, out))
		return -1;
	at = strstr(out, " tbf ");
	at = at ? strstr(at, " rate ") : NULL;
	if (!at || sscanf(at, " rate %lf%7[A-Za-z]", &n, word) != 2)
		return 0;
	for (size_t i = 0; i < COUNT(units); i++)
		if (!strcmp(word, units[i].word))
			return (int64_t)(n * units[i].bits / 8 + 0.5);
	return 0;
}
