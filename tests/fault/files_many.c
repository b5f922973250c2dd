/*
 * files_many.c - 64 processes write overlapping batches: nothing torn, nothing lost.
 *
 * Every process adds one to several of a few shared counters, again and again, all-or-nothing and
 * with the tokens of what it read; on a conflict it reads again.  In the end each counter holds
 * exactly the additions that were reported as done.  BERTH_SOAK=1: many more rounds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "files/files.h"
#include "lib/tree.h"

#define PROCESSES 64
#define COUNTERS 12
#define EACH 3

static _Atomic uint64_t *added; /* shared: what was reported as written */

/* A counter file: the number, then the same number many times, so that a mixture would show. */
static int parse_counter(const char *text, size_t len, uint64_t *v)
{
	char first[32], again[32];
	size_t n = strcspn(text, "\n") + 1;

	if (n > len || n >= sizeof first)
		return -1;
	memcpy(first, text, n);
	for (size_t at = 0; at < len; at += n) {
		if (at + n > len)
			return -1;
		memcpy(again, text + at, n);
		if (memcmp(first, again, n) != 0)
			return -1;
	}
	*v = strtoull(first, NULL, 10);
	return 0;
}

static void print_counter(struct str *out, uint64_t v)
{
	str_clear(out);
	for (int i = 0; i < 200; i++)
		str_addf(out, "%llu\n", (unsigned long long)v);
}

static void work_on_counters(int seed, int rounds)
{
	struct files *f =
		files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD, .cpu_width = 1});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	unsigned dice = (unsigned)seed * 2654435761u;

	for (int done = 0; done < rounds;) {
		struct files_want want[EACH] = {0};
		struct files_put puts[EACH] = {0};
		struct str text[EACH];
		char names[EACH][8];
		int which[EACH];
		struct files_reading *got;
		struct files_writing *w;
		struct err e = ERR_INIT;

		for (int i = 0; i < EACH; i++) {
			dice = dice * 1664525 + 1013904223;
			which[i] = (int)(dice >> 16) % COUNTERS;
			for (int k = 0; k < i; k++)
				if (which[k] == which[i]) {
					which[i] = (which[i] + 1) % COUNTERS;
					k = -1;
				}
			snprintf(names[i], sizeof names[i], "c%d", which[i]);
			want[i].path = names[i];
			str_init(&text[i]);
		}
		if (files_read(f, r, want, EACH, &(struct files_read_options){.hash = true}, &got,
			    &e) < 0)
			_exit(2);
		for (int i = 0; i < EACH; i++) {
			uint64_t v;

			if (got->items[i].err ||
				parse_counter(got->items[i].bytes, got->items[i].len, &v) < 0)
				_exit(3); /* torn */
			print_counter(&text[i], v + 1);
			puts[i] = (struct files_put){.path = names[i],
				.bytes = text[i].s,
				.len = text[i].len,
				.expect = &got->items[i].token};
		}
		/* Sometimes the promise with the journal, mostly the quick one on a single file. */
		bool all = dice % 4 == 0;
		size_t n = all ? EACH : 1;
		int rc = files_write(f, r, puts, n,
			&(struct files_write_options){
				.promise = all ? FILES_ALL_OR_NOTHING : FILES_VISIBLE,
				/* less than the test's own limit: who waits for ever says so */
				.lock_timeout_ms = 300000},
			&w, &e);

		if (rc == 0) {
			done++;
			for (size_t i = 0; i < n; i++)
				added[which[i]]++;
		} else if (e.kind != ERR_CONFLICT) {
			fprintf(stderr, "%s\n", e.msg);
			_exit(4);
		}
		files_writing_free(w);
		files_reading_free(got);
		for (int i = 0; i < EACH; i++)
			str_release(&text[i]);
	}
	files_root_close(r);
	files_close(f);
	_exit(0);
}

static void test_many_writers(void **state)
{
	int rounds = getenv("BERTH_SOAK") ? 500 : 8, bad = 0;
	struct str zero = STR_INIT;
	uint64_t sum = 0;

	(void)state;
	added = mmap(NULL, COUNTERS * sizeof *added, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	print_counter(&zero, 0);
	for (int i = 0; i < COUNTERS; i++) {
		char name[32];

		snprintf(name, sizeof name, "root/c%d", i);
		tree_write(name, zero.s, zero.len);
	}
	str_release(&zero);
	for (int i = 0; i < PROCESSES; i++)
		if (fork() == 0)
			work_on_counters(i + 1, rounds);
	for (int i = 0, status; i < PROCESSES; i++) {
		wait(&status);
		if (status != 0) {
			print_message("a process ended with %x\n", (unsigned)status);
			bad++;
		}
	}
	assert_int_equal(bad, 0);
	for (int i = 0; i < COUNTERS; i++) {
		char name[32], *text;
		uint64_t v = 0;

		snprintf(name, sizeof name, "root/c%d", i);
		text = tree_read(name);
		assert_int_equal(parse_counter(text, strlen(text), &v), 0);
		assert_int_equal(v, added[i]);
		sum += v;
		free(text);
	}
	print_message(
		"%d processes, %llu additions, none lost\n", PROCESSES, (unsigned long long)sum);
}

static int setup(void **state)
{
	(void)state;
	tree_make("files-many");
	tree_mkdirs("root");
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many_writers)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
