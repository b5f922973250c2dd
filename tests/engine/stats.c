/*
 * stats.c - berth's figures against those of `docker stats`, for the same containers at the same
 * time: means over a steady load within 2 %.
 *
 * `docker stats` divides by the machine's time as /proc/stat counts it, berth by the clock.  Where the
 * kernel counts stolen time beside idle time the two differ, so docker's figure is put to the clock first.
 * Both look at their own moments, and a stall of the machine between them moves a mean of twenty; a true
 * difference shows in every window, a stall in some: the test fails when six windows in a row differ.  A window
 * lasts until both have enough samples, longer on a busy machine; one in which they have not says nothing.  At either
 * end one may have seen a sample that the other has not: what that can move follows from docker's own highest and lowest.
 */
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/backend.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>

#define SKIP 77

static const char *host;
static char prefix[48];
static int seconds = 20; /* the long form of the tests takes 30 */

#define WINDOWS 6
#define LONGER 5 /* times `seconds`: what a window may take on a busy machine */

struct mean {
	double cpu, memory;
	double least, most; /* cpu */
	size_t n;
};

/* Loads that are the same every second: a small quota, a cache of files, idleness. */
static const struct {
	const char *name, *options, *script;
} loads[] = {
	{"spin", "--cpus 0.05", "while :; do :; done"},
	{"cache", "--memory 64m",
		"dd if=/dev/zero of=/f bs=1M count=20 2>/dev/null; cat /f >/dev/null; sleep 1000"},
	{"idle", "", "sleep 1000"},
};

static int docker_stats(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static int docker_stats(const char *fmt, ...)
{
	char args[1024], cmd[1280];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(args, sizeof args, fmt, ap);
	va_end(ap);
	snprintf(cmd, sizeof cmd, "docker -H %s %s", host, args);
	return system(cmd);
}

static int setup(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(loads); i++)
		if (docker_stats("run -d --name %s-%s %s box:1 sh -c '%s' >/dev/null", prefix,
			    loads[i].name, loads[i].options, loads[i].script))
			return -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(loads); i++)
		docker_stats("rm -fv %s-%s >/dev/null", prefix, loads[i].name);
	return 0;
}

static double parse_amount(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"B", 1}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
	char unit[8];
	double v;

	assert_int_equal(sscanf(text, "%lf%7[A-Za-z]", &v, unit), 2);
	for (size_t i = 0; i < COUNT(units); i++)
		if (strcmp(unit, units[i].unit) == 0)
			return v * units[i].factor;
	fail_msg("unit %s", unit);
	return 0;
}

static void add_sample(struct mean *m, double cpu, double memory)
{
	m->least = m->n && m->least < cpu ? m->least : cpu;
	m->most = m->n && m->most > cpu ? m->most : cpu;
	m->cpu += cpu;
	m->memory += memory;
	m->n++;
}

/* What two samples, one at each end, move of a mean at most. */
static double read_edges(const struct mean *theirs, const struct mean *ours)
{
	return (theirs->most - theirs->least) * 2 / (double)ours->n;
}

/* "NAME 12.34% 1.2MiB / 64MiB" lines of docker stats, which repaints twice a second. */
static void take_theirs(const char *line, struct mean *theirs)
{
	char name[128], cpu[32], memory[32];
	const char *start = strstr(line, prefix);

	if (!start || sscanf(start, "%127s %31s %31s", name, cpu, memory) != 3 || cpu[0] == '-')
		return;
	for (size_t i = 0; i < COUNT(loads); i++) {
		if (strcmp(name + strlen(prefix) + 1, loads[i].name) != 0)
			continue;
		add_sample(&theirs[i], strtod(cpu, NULL), parse_amount(memory));
	}
}

static void take_ours(const struct snapshot *s, struct mean *ours)
{
	for (size_t i = 0; i < s->ncontainers; i++) {
		const struct container *c = &s->containers[i];

		if (strncmp(c->name, prefix, strlen(prefix)) != 0 || !c->stats.rates)
			continue;
		for (size_t k = 0; k < COUNT(loads); k++) {
			if (strcmp(c->name + strlen(prefix) + 1, loads[k].name) != 0)
				continue;
			add_sample(&ours[k], c->stats.cpu_percent, (double)c->stats.memory_bytes);
		}
	}
}

/* Within 2 %, or within what their rounding hides and a process of a few pages moves. */
static bool is_same_figure(
	const char *what, const char *name, double ours, double theirs, double grain)
{
	double diff = ours > theirs ? ours - theirs : theirs - ours;

	printf("# %-6s %-6s ours %.3f theirs %.3f (%+.2f %%)\n", name, what, ours, theirs,
		theirs > 0 ? (ours / theirs - 1) * 100 : 0);
	return diff <= theirs * 0.02 || diff <= grain;
}

/* Seconds that /proc/stat has counted on all processors, as docker's engine adds them up: guest time is in
 * user time already. */
static double machine_seconds(void)
{
	unsigned long long v[8] = {0}, sum = 0;
	FILE *f = fopen("/proc/stat", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &v[0], &v[1],
				 &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]),
		8);
	fclose(f);
	for (size_t i = 0; i < COUNT(v); i++)
		sum += v[i];
	return (double)sum / (double)sysconf(_SC_CLK_TCK);
}

/* Have both seen each of them often enough? */
static bool have_enough(const struct mean *ours, const struct mean *theirs)
{
	for (size_t i = 0; i < COUNT(loads); i++)
		if (ours[i].n < (size_t)seconds / 2 || theirs[i].n < (size_t)seconds / 2)
			return false;
	return true;
}

/* Docker's first sample of a container is its mean since the machine began: the load that is never at rest shows when it
 * has two. */
static bool has_second_sample(const char *line, char first[32])
{
	char name[128], cpu[32];
	const char *start = strstr(line, prefix);

	if (!start || sscanf(start, "%127s %31s", name, cpu) != 2 || cpu[0] == '-' ||
		strcmp(name + strlen(prefix) + 1, loads[0].name) != 0)
		return false;
	if (!*first)
		memcpy(first, cpu, sizeof cpu);
	return strcmp(first, cpu) != 0;
}

/* Both look at the same containers for the same time; true when every figure agrees. */
static bool compare_window(struct backend *b)
{
	struct mean ours[COUNT(loads)] = {0}, theirs[COUNT(loads)] = {0};
	char cmd[1024], line[512], first[32] = "";
	int64_t from = 0, last;
	uint64_t seq = 0;
	int64_t last_ns = 0;
	double machine = 0, stretch;
	bool agree = true;
	FILE *f;

	snprintf(cmd, sizeof cmd,
		"timeout %d docker -H %s stats --format '{{.Name}} {{.CPUPerc}} {{.MemUsage}}' "
		"$(docker -H %s ps -q --filter name=%s) 2>/dev/null",
		LONGER * seconds + 3, host, host, prefix);
	f = popen(cmd, "r");
	assert_non_null(f);
	setvbuf(f, NULL, _IONBF, 0); /* what was read is not waited for: it would count late */
	last = clock_mono_ns() + LONGER * seconds * 1000000000LL;
	while (clock_mono_ns() < last &&
		(!from || clock_mono_ns() < from + seconds * 1000000000LL ||
			!have_enough(ours, theirs))) {
		struct pollfd p[2] = {{backend_fd(b), POLLIN, 0}, {fileno(f), POLLIN, 0}};
		const struct snapshot *s;
		struct event *ev;

		poll(p, 2, 1000);
		while ((ev = backend_next(b)))
			event_free(ev);
		s = backend_snapshot(b);
		/* one value per sample, not per picture */
		if (s->seq != seq && s->ncontainers && s->containers[0].stats.at_ns != last_ns) {
			last_ns = s->containers[0].stats.at_ns;
			if (from)
				take_ours(s, ours);
		}
		seq = s->seq;
		snapshot_unref(s);
		if (!(p[1].revents & (POLLIN | POLLHUP)))
			continue;
		if (!fgets(line, sizeof line, f))
			break;
		if (!from && has_second_sample(line, first)) {
			machine = machine_seconds();
			from = clock_mono_ns();
		}
		if (from)
			take_theirs(line, theirs);
	}
	if (!from || !have_enough(ours, theirs)) {
		printf("# too few samples: ours %zu, theirs %zu\n", ours[0].n, theirs[0].n);
		pclose(f);
		return false;
	}
	stretch = (machine_seconds() - machine) /
		((double)(clock_mono_ns() - from) / 1e9 * (double)sysconf(_SC_NPROCESSORS_ONLN));
	printf("# the machine counts %.4f seconds a second\n", stretch);
	pclose(f);
	for (size_t i = 0; i < COUNT(loads); i++) {
		agree &= is_same_figure("cpu", loads[i].name, ours[i].cpu / (double)ours[i].n,
			theirs[i].cpu / (double)theirs[i].n * stretch,
			0.02 + read_edges(&theirs[i], &ours[i]));
		agree &= is_same_figure("memory", loads[i].name, ours[i].memory / (double)ours[i].n,
			theirs[i].memory / (double)theirs[i].n, 65536);
	}
	return agree;
}

static void test_equal(void **state)
{
	const struct backend_options o = {.host = host, .program = "test", .hz = 1};
	struct err e = ERR_INIT;
	struct backend *b;
	bool agree = false;

	(void)state;
	b = backend_start(&o, &e);
	assert_non_null(b);
	for (int i = 0; i < WINDOWS && !agree; i++)
		agree = compare_window(b);
	backend_stop(b);
	assert_true(agree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_equal, setup, teardown),
	};

	host = getenv("BERTH_TEST_ENGINE");
	if (!host || system("command -v docker >/dev/null") != 0) {
		fprintf(stderr,
			"BERTH_TEST_ENGINE names no engine, or there is no docker client.\n");
		return SKIP;
	}
	if (getenv("BERTH_SOAK"))
		seconds = 30;
	snprintf(prefix, sizeof prefix, "observe-eq-%d", (int)getpid());
	return cmocka_run_group_tests(tests, NULL, NULL);
}
