/* files_ahead.c - a job that takes long learns how much there is to do. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "lib/rooted.h"

#define FILES 400
#define DIRS 4
#define TOTAL (FILES + DIRS + 1) /* and .hidden */
#define BYTES (FILES * 10 + 7)

static struct job_info seen;

/* The work stands still until somebody has counted all of it. */
static bool wait_for_total(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	(void)path;
	(void)hits;
	(void)n;
	clock_advance(400000000);
	/* From the next file on it is a job, and somebody counts. */
	if ((*(size_t *)ctx)++ == 0)
		return true;
	for (int i = 0; i < 10000; i++) {
		assert_true(files_progress(f, &seen));
		if (seen.items_total && !seen.counting)
			return true;
		usleep(1000);
	}
	fail_msg("nobody counted");
	return false;
}

static void search_ahead(const struct files_filter *filter)
{
	struct files_search_options o = {.filter = *filter, .names_only = true};
	struct files_search_totals t;
	struct err e = ERR_INIT;
	size_t hits = 0;

	o.pattern = (struct files_pattern){.text = "ten", .len = 3};
	seen = (struct job_info){0};
	if (files_search(f, root, "", &o, wait_for_total, &hits, &t, &e) < 0)
		fail_msg("%s", e.msg);
	assert_true(hits > 1);
}

static void test_totals(void **state)
{
	static const char *const globs[] = {"*.c"};

	(void)state;
	search_ahead(&(struct files_filter){0});
	assert_int_equal(seen.items_total, TOTAL);
	assert_int_equal(seen.bytes_total, BYTES);
	/* Of what the work itself takes: half of the files are looked into. */
	search_ahead(&(struct files_filter){.skip_hidden = true, .globs = globs, .nglobs = 1});
	assert_int_equal(seen.items_total, TOTAL - 1);
	assert_int_equal(seen.bytes_total, FILES / 2 * 10);
}

static atomic_bool over;

static void *hurry_clock(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		clock_advance(400000000);
		sched_yield();
	}
	return NULL;
}

/* Each operation as the console shows it when it is over: what was done is what there was. */
static void test_operations(void **state)
{
	struct files_copy_options copy = {.overwrite = true};
	struct files_tree_totals t;
	struct job_info jobs[64];
	struct err e = ERR_INIT;
	pthread_t clock;
	bool copied = false, deleted = false;

	(void)state;
	atomic_store(&over, false);
	assert_int_equal(pthread_create(&clock, NULL, hurry_clock, NULL), 0);
	for (int i = 0; i < 100 && !(copied && deleted); i++) {
		size_t n;

		assert_int_equal(files_copy(f, root, "d0", root, "copy", &copy, &t, &e), 0);
		n = jobs_read(NULL, jobs, COUNT(jobs));
		for (size_t k = 0; k < n; k++)
			if (jobs[k].bytes_total == FILES / DIRS * 10 && !jobs[k].counting) {
				assert_int_equal(jobs[k].bytes_done, jobs[k].bytes_total);
				assert_int_equal(jobs[k].items_done, jobs[k].items_total);
				copied = true;
			}
		assert_int_equal(files_delete(f, root, "copy", true, &t, &e), 0);
		n = jobs_read(NULL, jobs, COUNT(jobs));
		for (size_t k = 0; k < n; k++)
			if (strncmp(jobs[k].name, "delete", 6) == 0 && jobs[k].items_total) {
				assert_int_equal(jobs[k].items_total, FILES / DIRS + 1);
				assert_int_equal(jobs[k].items_done, jobs[k].items_total);
				deleted = true;
			}
	}
	atomic_store(&over, true);
	pthread_join(clock, NULL);
	assert_true(copied);
	assert_true(deleted);
}

/* Many directories go at once, on as many threads as there are: what is counted is what goes. */
static void test_many_directories(void **state)
{
	enum { AT_ALL = 1 + 30 * (1 + 2 + 2 * 3) };
	struct files_tree_totals t;
	struct job_info jobs[64];
	struct err e = ERR_INIT;
	pthread_t clock;
	bool counted = false;
	char name[64];

	(void)state;
	atomic_store(&over, false);
	assert_int_equal(pthread_create(&clock, NULL, hurry_clock, NULL), 0);
	for (int round = 0; round < 40 && !counted; round++) {
		for (int i = 0; i < 30 * 2 * 3; i++) {
			snprintf(name, sizeof name, "root/many/d%d/e%d/f%d", i / 6, i / 3 % 2, i);
			tree_text(name, "x");
		}
		assert_int_equal(files_delete(f, root, "many", true, &t, &e), 0);
		assert_false(tree_exists("root/many"));
		assert_int_equal(t.files, 30 * 2 * 3);
		assert_int_equal(t.dirs, 1 + 30 * 3);
		for (size_t n = jobs_read(NULL, jobs, COUNT(jobs)); n-- > 0;)
			if (strcmp(jobs[n].name, "delete many") == 0 && jobs[n].items_total) {
				assert_int_equal(jobs[n].items_total, AT_ALL);
				assert_int_equal(jobs[n].items_done, AT_ALL);
				counted = true;
			}
	}
	atomic_store(&over, true);
	pthread_join(clock, NULL);
	assert_true(counted);
}

static int setup(void **state)
{
	struct files_options o = {.program = "test", .owner = "me"};
	char name[64];

	(void)state;
	tree_make("files-ahead");
	tree_mkdirs("root");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof name, "root/d%d/f%03d.%c", i % DIRS, i,
			i / DIRS % 2 ? 'h' : 'c');
		tree_text(name, "ten bytes\n");
	}
	tree_text("root/.hidden", "seven b");
	setenv("XDG_RUNTIME_DIR", tree_path(""), 1);
	clock_freeze(1000000000000, 1700000000000);
	rooted_open(&o, "root");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_operations),
		cmocka_unit_test(test_many_directories),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
