/* past.c - the ring on disk: what is written comes back, gaps are gaps, one writes, what is not ours is put aside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "lib/tree.h"
#include "past/past.h"
#include "past/past_format.h"

#define NOW INT64_C(1795211100000) /* a multiple of five minutes */

static const char *ring_path(void)
{
	return tree_path("history.ring");
}

static int remove_ring(void **state)
{
	(void)state;
	unlink(ring_path());
	return 0;
}

static struct past_writer *start_ring(void)
{
	struct past_writer *p = past_start(ring_path());

	assert_true(past_wait(p));
	return p;
}

static struct container_stats use_of(double cpu, uint64_t memory)
{
	return (struct container_stats){.cpu_percent = cpu,
		.memory_bytes = memory,
		.memory_limited = true,
		.memory_limit_bytes = UINT64_C(2) << 30,
		.net_rx_bytes_per_s = 1000,
		.throttles = true,
		.throttled_percent = 12.5,
		.pids = 37,
		.pids_limit = 256};
}

/* A sample a second from `from` on. */
static void add_seconds(struct past_writer *p, int row, int64_t from, int n, double cpu)
{
	for (int i = 0; i < n; i++) {
		struct container_stats s = use_of(cpu, 100 << 20);

		past_add(p, row, from + (int64_t)i * 1000, &s);
		past_round(p, from + (int64_t)i * 1000);
	}
}

static bool is_near(double got, double want)
{
	return fabs(got - want) <= want * 0.001 + 0.005;
}

static void test_codes(void **state)
{
	(void)state;
	assert_int_equal(past_code(0), 0);
	assert_int_equal(past_code(-1), 0);
	assert_int_equal(past_code(NAN), 0);
	assert_int_equal(past_code(1e300), UINT16_MAX);
	for (double v = 1; v < 1e15; v *= 1.7)
		assert_true(fabs(past_decode(past_code(v)) - v) <= v * 0.0008);
	for (int n = 0; n < 1000; n++)
		assert_int_equal(lround(past_decode(past_code(n))), n);
	assert_true(past_size() <= 64000000);
}

static void test_levels(void **state)
{
	struct past_writer *p = start_ring();
	int row = past_row_of(p, "E", "web", "agent", true, NOW);
	struct past got;
	struct stat st;

	(void)state;
	assert_true(row >= 0);
	add_seconds(p, row, NOW, 300, 50);
	add_seconds(p, row, NOW + 300000, 10, 150);
	past_stop(p);
	assert_int_equal(stat(ring_path(), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, past_size());

	assert_int_equal(past_read(ring_path(), NULL, "web", NOW, 1000, 400, &got, NULL), 0);
	for (size_t i = 0; i < 400; i++)
		assert_int_equal(got.point[i].seen, i < 310);
	assert_true(is_near(got.point[0].v[PAST_CPU], 50));
	assert_true(is_near(got.point[305].v[PAST_CPU], 150));
	assert_true(is_near(got.point[5].v[PAST_MEMORY], 100 << 20));
	assert_true(is_near(got.point[5].v[PAST_THROTTLED], 12.5));
	assert_true(is_near(got.point[5].v[PAST_MEMORY_LIMIT], 2147483648.0));
	assert_true(got.point[5].v[PAST_PIDS] == 37 && got.point[5].v[PAST_PIDS_LIMIT] == 256);
	past_release(&got);
	/* Five minutes a point: what is not complete comes of the finer ones; by its agent's name as well. */
	assert_int_equal(past_read(ring_path(), "E", "agent", NOW, 300000, 3, &got, NULL), 0);
	assert_true(got.point[0].seen && got.point[1].seen && !got.point[2].seen);
	assert_true(is_near(got.point[0].v[PAST_CPU], 50));
	assert_true(is_near(got.point[1].v[PAST_CPU_MAX], 150));
	past_release(&got);
	/* A day later the seconds are gone, and finer steps show what is left. */
	p = start_ring();
	row = past_row_of(p, "E", "web", "agent", false, NOW);
	add_seconds(p, row, NOW + 86400000, 700, 10);
	past_stop(p);
	assert_int_equal(past_read(ring_path(), NULL, "web", NOW, 1000, 2, &got, NULL), 0);
	assert_true(got.point[0].seen && is_near(got.point[0].v[PAST_CPU], 50));
	past_release(&got);
	assert_int_equal(past_read(ring_path(), NULL, "nobody", NOW, 1000, 2, &got, NULL), -1);
	past_release(&got);
}

static void test_events(void **state)
{
	struct past_writer *p = start_ring();
	int row = past_row_of(p, "E", "web", "", true, NOW), other;
	struct past got;

	(void)state;
	past_tell(p, row, NOW + 1000, PAST_STARTED, 0);
	past_tell(p, row, NOW + 2000, PAST_OOM, 137);
	past_tell(p, row, NOW + 2000, PAST_ENDED, 137); /* on record */
	other = past_row_of(p, "E", "db", "", true, NOW);
	past_tell(p, other, NOW + 1500, PAST_PAUSED, 0);
	past_row_of(p, "E", "", "", true, NOW);
	past_round(p, NOW);
	past_stop(p);
	/* The next one that writes goes on from there. */
	p = start_ring();
	row = past_row_of(p, "E", "web", "", false, NOW);
	past_tell(p, row, NOW + 1000, PAST_STARTED, 0);
	past_tell(p, row, NOW + 2500, PAST_OOM, -1);
	past_tell(p, row, NOW + 3000, PAST_STARTED, 1);
	past_round(p, NOW);
	past_stop(p);
	assert_int_equal(past_read(ring_path(), NULL, "web", NOW, 1000, 60, &got, NULL), 0);
	assert_int_equal(got.nevents, 4);
	assert_int_equal(got.event[0].what, PAST_STARTED);
	assert_int_equal(got.event[1].what, PAST_OOM);
	assert_int_equal(got.event[1].value, 137);
	assert_true(got.event[2].what == PAST_OOM && got.event[2].value == -1);
	assert_int_equal(got.event[3].at_ms, NOW + 3000);
	past_release(&got);
	assert_int_equal(past_read(ring_path(), NULL, "", NOW, 1000, 60, &got, NULL), 0);
	assert_int_equal(got.nevents, 5);
	assert_string_equal(got.event[1].name, "db");
	past_release(&got);
}

/* All rows taken: the one that lived shortest goes, one that is seen now never. */
static void test_rows(void **state)
{
	struct past_writer *p = start_ring();
	struct past got;
	char name[PAST_NAME_MAX];
	int row;

	(void)state;
	for (int i = 0; i < PAST_ROWS; i++) {
		snprintf(name, sizeof name, "c%d", i);
		row = past_row_of(p, "E", name, "", true, NOW);
		assert_int_equal(row, i);
		add_seconds(p, row, NOW, i == 7 ? 1 : 2, 99);
	}
	assert_int_equal(past_row_of(p, "E", "new", "", true, NOW + 3000), -1);
	row = past_row_of(p, "E", "new", "", true, NOW + 120000);
	assert_int_equal(row, 7);
	add_seconds(p, row, NOW + 120000, 3, 10);
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	assert_int_equal(past_row_of(p, "E", name, "", false, NOW), -1);
	past_stop(p);
	/* What the one before it left there is not shown as its own. */
	assert_int_equal(past_read(ring_path(), NULL, "new", NOW, 1000, 130, &got, NULL), 0);
	assert_false(got.point[0].seen);
	assert_true(got.point[121].seen && is_near(got.point[121].v[PAST_CPU], 10));
	past_release(&got);
	assert_int_equal(past_read(ring_path(), NULL, "c7", NOW, 1000, 1, &got, NULL), -1);
	past_release(&got);
}

/* The second one waits for the first; what it is told meanwhile goes nowhere. */
static void test_one_writer(void **state)
{
	struct past_writer *p = start_ring(), *other = past_start(ring_path());
	struct err e = ERR_INIT;
	struct past_row *rows;
	size_t n;

	(void)state;
	assert_false(past_wait(other));
	assert_int_equal(past_row_of(other, "E", "other", "", true, NOW), -1);
	assert_true(past_row_of(p, "E", "web", "", true, NOW) >= 0);
	past_stop(other);
	past_stop(p);
	assert_int_equal(past_list(ring_path(), &rows, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(rows[0].name, "web");
	free(rows);
	other = start_ring();
	assert_int_equal(past_row_of(other, "E", "web", "", false, NOW), 0);
	past_stop(other);
}

/* Who has no thread writes while no console is there, and gives way as soon as one is. */
static void test_yielding(void **state)
{
	struct past_writer *keeper = past_start_yielding(ring_path()), *console;
	struct past got;
	int row;

	(void)state;
	assert_true(past_writes(keeper));
	row = past_row_of(keeper, "E", "web", "agent", true, NOW);
	assert_int_equal(row, 0);
	add_seconds(keeper, row, NOW, 30, 20);
	/* It has the lock until it looks again. */
	console = past_start(ring_path());
	assert_false(past_wait(console));
	assert_false(past_writes(keeper));
	assert_int_equal(past_row_of(keeper, "E", "web", "agent", true, NOW), -1);
	past_stop(console);
	console = start_ring();
	assert_int_equal(past_row_of(console, "E", "web", "agent", false, NOW), 0);
	add_seconds(console, 0, NOW + 60000, 5, 30);
	assert_false(past_writes(keeper));
	past_stop(console);
	assert_true(past_writes(keeper));
	add_seconds(
		keeper, past_row_of(keeper, "E", "web", "agent", false, NOW), NOW + 90000, 5, 40);
	past_stop(keeper);
	assert_int_equal(past_read(ring_path(), NULL, "web", NOW, 1000, 100, &got, NULL), 0);
	for (size_t i = 0; i < 100; i++) {
		double want = i < 30 ? 20 : i >= 90 && i < 95 ? 40 : 30;

		if (i < 29 || (i >= 60 && i < 65) || (i >= 90 && i < 95))
			assert_true(got.point[i].seen && is_near(got.point[i].v[PAST_CPU], want));
		else if (i >= 30 && i < 60)
			assert_false(got.point[i].seen);
	}
	past_release(&got);
	past_stop(NULL);
}

static size_t count_aside(void)
{
	DIR *d = opendir(tree_path(""));
	struct dirent *at;
	size_t n = 0;

	while ((at = readdir(d))) {
		if (!strstr(at->d_name, "history.ring.damaged-"))
			continue;
		unlink(tree_path(at->d_name));
		n++;
	}
	closedir(d);
	return n;
}

static void spoil_ring(int64_t at, const void *bytes, size_t n)
{
	int fd = open(ring_path(), O_RDWR);

	assert_int_equal(pwrite(fd, bytes, n, at), (ssize_t)n);
	close(fd);
}

static void test_damaged_ring(void **state)
{
	struct past_writer *p;
	struct past_row *rows;
	struct past_header h;
	char why[ERR_MSG_MAX];
	struct err e = ERR_INIT;
	size_t n;

	(void)state;
	tree_text("history.ring", "something else\n");
	assert_int_equal(past_list(ring_path(), &rows, &n, &e), -1);
	free(rows);
	p = start_ring();
	assert_true(past_trouble(p, why, sizeof why));
	assert_non_null(strstr(why, "renamed"));
	assert_false(past_trouble(p, why, sizeof why));
	assert_int_equal(count_aside(), 1);
	assert_true(past_row_of(p, "E", "web", "", true, NOW) >= 0);
	assert_true(past_row_of(p, "E", "db", "", true, NOW) >= 0);
	past_stop(p);
	/* A torn entry is none, and nothing else is lost. */
	spoil_ring(past_entry_at(0) + 40, "????", 4);
	p = start_ring();
	assert_false(past_trouble(p, why, sizeof why));
	assert_int_equal(past_row_of(p, "E", "web", "", false, NOW), -1);
	assert_int_equal(past_row_of(p, "E", "db", "", false, NOW), 1);
	past_stop(p);
	/* Cut short. */
	assert_int_equal(truncate(ring_path(), past_size() - 1), 0);
	p = start_ring();
	assert_true(past_trouble(p, why, sizeof why));
	past_stop(p);
	assert_int_equal(count_aside(), 1);
	/* Of a newer berth: left alone, and nothing written. */
	past_header_fill(&h);
	h.version = PAST_VERSION + 1;
	spoil_ring(0, &h, sizeof h);
	p = past_start(ring_path());
	assert_false(past_wait(p));
	assert_true(past_trouble(p, why, sizeof why));
	assert_non_null(strstr(why, "newer"));
	assert_int_equal(past_row_of(p, "E", "web", "", true, NOW), -1);
	past_stop(p);
	assert_int_equal(count_aside(), 0);
	/* Neither through a link nor into a directory. */
	unlink(ring_path());
	assert_int_equal(symlink("elsewhere", ring_path()), 0);
	p = past_start(ring_path());
	assert_false(past_wait(p));
	past_stop(p);
	assert_int_equal(access(tree_path("elsewhere"), F_OK), -1);
}

static int setup(void **state)
{
	(void)state;
	tree_make("past");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tree_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_codes),
		cmocka_unit_test_setup(test_levels, remove_ring),
		cmocka_unit_test_setup(test_events, remove_ring),
		cmocka_unit_test_setup(test_rows, remove_ring),
		cmocka_unit_test_setup(test_one_writer, remove_ring),
		cmocka_unit_test_setup(test_yielding, remove_ring),
		cmocka_unit_test_setup(test_damaged_ring, remove_ring),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
