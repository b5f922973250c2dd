/*
 * stats.c - measures one sweep over 1,000 real cgroups.
 *
 * The cgroups are made with mkdir under every controller that a sweep reads.  A helper process visits
 * each, so that the reader finds it the way it does in life (/proc/PID/cgroup); then it moves on, and
 * one in twenty keeps a sleeping process.  A reader's descriptors stay with the cgroup.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "observe/observe.h"

#define GROUPS 1000
#define KEEP_EVERY 20
#define ID_LEN 64

static const char *const controllers_v1[] = {"cpuacct", "memory", "blkio", "pids", NULL};
static const char *const controllers_v2[] = {"", NULL};

struct groups {
	const char *const *controller;
	char parent[64];
	pid_t helper, kept[GROUPS / KEEP_EVERY];
	size_t made, nkept;
	struct model model;
	struct sweep sweep;
};

static void make_group_path(const struct groups *g, const char *controller, size_t i,
	const char *file, char *path, size_t cap)
{
	int n = snprintf(path, cap, "/sys/fs/cgroup/%s/%s", controller, g->parent);

	if (i < GROUPS)
		n += snprintf(path + n, cap - (size_t)n, "/%0*zx", ID_LEN, i + 1);
	if (file)
		snprintf(path + n, cap - (size_t)n, "/%s", file);
}

static int move_into(const struct groups *g, size_t i, pid_t pid)
{
	char path[512], text[16];
	int n = snprintf(text, sizeof text, "%d", (int)pid);

	for (const char *const *c = g->controller; *c; c++) {
		AUTO_CLOSE int fd = -1;

		make_group_path(g, *c, i, "cgroup.procs", path, sizeof path);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, text, (size_t)n) != n)
			return -1;
	}
	return 0;
}

static pid_t start_sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		/* A container has a network of its own; this machine's may have a hundred interfaces. */
		if (unshare(CLONE_NEWNET))
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

static void kill_sleeper(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void teardown(void *ctx)
{
	struct groups *g = ctx;
	char path[512];

	model_release(&g->model);
	cgroup_mounts_release(&g->sweep.mounts);
	kill_sleeper(g->helper);
	for (size_t i = 0; i < g->nkept; i++)
		kill_sleeper(g->kept[i]);
	for (const char *const *c = g->controller; *c; c++) {
		for (size_t i = 0; i < g->made; i++) {
			make_group_path(g, *c, i, NULL, path, sizeof path);
			rmdir(path);
		}
		make_group_path(g, *c, GROUPS, NULL, path, sizeof path);
		rmdir(path);
	}
	free(g);
}

static int add_cgroup(struct groups *g, size_t i, struct err *e)
{
	struct engine_container ec = {0};
	char path[512], id[ID_LEN + 1];
	struct row *row;

	for (const char *const *c = g->controller; *c; c++) {
		make_group_path(g, *c, i, NULL, path, sizeof path);
		if (mkdir(path, 0755))
			return err_sys(e, errno, "cannot make the cgroup %s", path);
	}
	g->made = i + 1;
	if (i % KEEP_EVERY == 0) {
		g->kept[g->nkept] = start_sleeper();
		if (move_into(g, i, g->kept[g->nkept++]))
			return err_sys(e, errno, "cannot move a process into %s", path);
	}
	if (move_into(g, i, g->helper))
		return err_sys(e, errno, "cannot move a process into %s", path);
	snprintf(id, sizeof id, "%0*zx", ID_LEN, i + 1);
	ec.id = ec.name = id;
	ec.image = ec.image_id = ec.command = ec.user = ec.workdir = ec.hostname =
		ec.restart_policy = ec.network_mode = ec.runtime = ec.log_driver = ec.error =
			ec.seccomp = ec.apparmor = "";
	ec.state = CONTAINER_RUNNING;
	ec.pid = (int)g->helper;
	row = model_take_inspection(&g->model, &ec, clock_mono_ns());
	sweep_attach(&g->sweep, &g->model, row);
	return row->cgroup.open ? 0
				: err_set(e, ERR_FAILED, "the reader did not find cgroup %s", id);
}

static void *setup(struct bench_run *r, struct err *e)
{
	struct groups *g = xcalloc(1, sizeof *g);
	char path[512];

	g->controller = access("/sys/fs/cgroup/memory", F_OK) ? controllers_v2 : controllers_v1;
	snprintf(g->parent, sizeof g->parent, "berth-bench-%d", (int)getpid());
	model_init(&g->model);
	model_clear(&g->model, "bench");
	g->sweep.fd_budget = sweep_raise_fds();
	g->helper = start_sleeper();
	usleep(20000); /* into its own network */
	if (cgroup_mounts_read(&g->sweep.mounts, "", e))
		goto fail;
	for (const char *const *c = g->controller; *c; c++) {
		make_group_path(g, *c, GROUPS, NULL, path, sizeof path);
		if (mkdir(path, 0755)) {
			err_set(e, ERR_NOT_FOUND,
				"cgroups cannot be made here (%s: %s): run as root", path,
				strerrordesc_np(errno));
			goto fail;
		}
	}
	for (size_t i = 0; i < GROUPS; i++) {
		if (bench_cancelled(r)) {
			err_set(e, ERR_CANCELLED, "cancelled");
			goto fail;
		}
		if (add_cgroup(g, i, e))
			goto fail;
	}
	bench_note(r, "%d cgroups, %zu with a process, %s, %zu descriptors", GROUPS, g->nkept,
		g->controller == controllers_v1 ? "version 1" : "version 2", g->model.fds);
	return g;
fail:
	teardown(g);
	return NULL;
}

/* On a machine that does something else too, wall time is mostly that. */
static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* From here on every reader finds that its container used CPU time since it looked last. */
static void unsettle_rows(struct groups *g)
{
	for (size_t i = 0; i < g->model.n; i++)
		g->model.row[i]->cgroup.cpu_ns = UINT64_MAX;
}

static int sweep_once(
	struct bench_run *r, struct groups *g, const char *wall, const char *cpu, struct err *e)
{
	int64_t start = clock_mono_ns(), used = cpu_ns();
	size_t n = sweep_all(&g->sweep, &g->model);

	start = clock_mono_ns() - start;
	used = cpu_ns() - used;
	bench_value(r, wall, (double)start / 1e3 / GROUPS);
	bench_value(r, cpu, (double)used / 1e3 / GROUPS);
	return n == GROUPS ? 0
			   : err_set(e, ERR_FAILED, "the sweep read %zu of %d cgroups", n, GROUPS);
}

static int measure_sweep(struct bench_run *r, void *ctx, struct err *e)
{
	struct groups *g = ctx;
	uint64_t before;

	for (int i = 0; i < 5; i++)
		sweep_all(&g->sweep, &g->model);
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++)
		if (sweep_once(r, g, "sweep, per container", "its CPU time", e) < 0)
			return -1;
	for (int i = 0; i < bench_samples(r) && !bench_cancelled(r); i++) {
		unsettle_rows(g);
		if (sweep_once(r, g, "as if all had run", "its CPU time then", e) < 0)
			return -1;
	}
	before = bench_allocations();
	sweep_all(&g->sweep, &g->model);
	bench_value(r, "allocations in a sweep", (double)(bench_allocations() - before));
	if (!bench_counts_allocations())
		bench_note(r, "allocations are not counted in this build");
	return 0;
}

static const struct bench_case cases[] = {
	{.name = "sweep",
		.about = "one stats sweep over 1,000 cgroups",
		.unit = "us",
		.samples = 200,
		.setup = setup,
		.teardown = teardown,
		.measure = measure_sweep,
		.phases = 2,
		.targets = {{"at most 8 us a container", "sweep, per container", ON_MEDIAN,
				    NO_BOUND, 8},
			{"no allocation", "allocations in a sweep", ON_MAX, NO_BOUND, 0}}},
	{.name = NULL},
};

const struct bench_suite suite_stats = {"stats", cases};
