/*
 * gate.c - runs hot paths a given number of times, so that tests/bench/gate.sh can count their cost.
 *
 *   bench-gate PATH ROUNDS DIR     prints "allocations N bytes N" of so many rounds, warm-up not counted
 *
 * Nothing here depends on time, chance or the machine: the same build gives the same counts.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/audit.h>
#include <berth/clock.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/text.h>

#include "app/app.h"
#include "views/list.h"
#include "audit/audit.h"
#include "bench.h"
#include "golden/fixture/fixture.h"
#include "observe/observe.h"

#define WARM 3
#define FILES 100
#define FILE_BYTES 8192
#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static int rounds;
static const char *dir;
static uint64_t allocations, bytes;

/* What this process read and wrote so far, by system calls. */
static uint64_t count_moved(void)
{
	char text[512] = "";
	int fd = open("/proc/self/io", O_RDONLY | O_CLOEXEC);
	unsigned long long in = 0, out = 0;

	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		sscanf(text, "rchar: %llu wchar: %llu", &in, &out);
	if (fd >= 0)
		close(fd);
	return in + out;
}

static void begin_counting(void)
{
	allocations = bench_allocations();
	bytes = count_moved();
}

static void end_counting(void)
{
	bytes = count_moved() - bytes;
	allocations = bench_allocations() - allocations;
}

static int report_failure(const struct err *e)
{
	fprintf(stderr, "bench-gate: %s\n", e->msg);
	return 1;
}

/* One container's statistics, from cgroup files. */
static int sweep_container(void)
{
	struct cgroup_mounts m;
	struct cgroup_reader r;
	struct counters c;
	struct err e = ERR_INIT;

	cgroup_reader_init(&r);
	if (cgroup_mounts_read(&m, BERTH_DATA "/cgroup/v2", &e) < 0 ||
		cgroup_reader_open(&r, &m, ID, 100, true, &e) < 0)
		return report_failure(&e);
	for (int i = 0; i < WARM + rounds; i++) {
		if (i == WARM)
			begin_counting();
		if (cgroup_read(&r, &c) < 0)
			return 1;
	}
	end_counting();
	cgroup_reader_close(&r);
	cgroup_mounts_release(&m);
	return 0;
}

/* 100 small files, cached, on the calling thread. */
static int read_small_files(void)
{
	struct files *f = files_open(&(struct files_options){
		.program = "gate", .cpu_width = 1, .avoid = FILES_AVOID_URING | FILES_AVOID_BOARD});
	struct files_want want[FILES] = {{0}};
	static char content[FILE_BYTES], names[FILES][32];
	struct files_root *root;
	struct err e = ERR_INIT;

	for (int i = 0; i < FILES; i++) {
		char path[4096];
		FILE *out;

		snprintf(names[i], sizeof names[i], "file%d", i);
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		want[i].path = names[i];
		if (!(out = fopen(path, "we")) ||
			fwrite(content, 1, FILE_BYTES, out) != FILE_BYTES || fclose(out))
			return 1;
	}
	if (!(root = files_root_open(f, dir, &e)))
		return report_failure(&e);
	for (int i = 0; i < WARM + rounds; i++) {
		struct files_reading *r;

		if (i == WARM)
			begin_counting();
		if (files_read(f, root, want, FILES, &(struct files_read_options){0}, &r, &e) < 0)
			return report_failure(&e);
		if (r->n != FILES || r->failed)
			return 1;
		files_reading_free(r);
	}
	end_counting();
	files_root_close(root);
	files_close(f);
	return 0;
}

/* A key and a paint of the containers view. */
static int paint_once(void)
{
	struct backend_options bo = {.program = "console"};
	struct settings settings;
	struct str out;
	struct err e = ERR_INIT;
	struct app_options o = {.views = all_tabs, .help = &help_view, .out = &out};
	char script[4096];
	FILE *f;
	int code;

	snprintf(script, sizeof script, "%s/script", dir);
	if (!(f = fopen(script, "we")))
		return 1;
	fputs("key 2\n", f);
	for (int i = 0; i < rounds; i++)
		fprintf(f, "key %s\ndump\n", i % 2 ? "Up" : "Down");
	fclose(f);
	str_init(&out);
	fixture_choose("full");
	clock_freeze(1000000000000, 1763678702000);
	setenv("BERTH_BENCH_LIVE", "", 1);
	if (settings_from(NULL, &settings, &e) < 0)
		return report_failure(&e);
	o.script = script;
	o.settings = &settings;
	o.backend = backend_start(&bo, &e);
	begin_counting();
	code = app_run(&o, &e);
	end_counting();
	backend_stop(o.backend);
	settings_release(&settings);
	str_release(&out);
	return code < 0 ? report_failure(&e) : code;
}

/* A record whose writer waits until it is on the disk. */
static int append_record(void)
{
	struct audit_record r = {.operation = OP_CONTAINER_REMOVE,
		.phase = AUDIT_INTENT,
		.agent = "agent_a",
		.target_type = "container",
		.target = ID,
		.name = "gate"};
	struct err e = ERR_INIT;
	struct audit *log = audit_open(&(struct audit_options){.dir = dir, .program = "gate"}, &e);

	for (int i = 0; log && i < WARM + rounds; i++) {
		if (i == WARM)
			begin_counting();
		if (audit_write(log, &r, NULL, &e) < 0)
			return report_failure(&e);
	}
	if (!log)
		return report_failure(&e);
	end_counting();
	audit_close(log);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} paths[] = {{"sweep", sweep_container}, {"read-100", read_small_files},
		{"paint", paint_once}, {"audit", append_record}};

	if (argc != 4 || (rounds = atoi(argv[2])) < 1)
		return 2;
	dir = argv[3];
	text_init();
	setenv("TZ", "UTC", 1);
	for (size_t i = 0; i < COUNT(paths); i++)
		if (!strcmp(paths[i].name, argv[1])) {
			int code = paths[i].run();

			printf("allocations %llu bytes %llu\n", (unsigned long long)allocations,
				(unsigned long long)bytes);
			return code;
		}
	return 2;
}
