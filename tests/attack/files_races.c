/*
 * files_races.c - directories swapped for symlinks while the file engine works in them.
 *
 * One thread exchanges a directory with a link that leads out of the root, as fast as it can, on
 * two levels, and moves the directory out of the root and back; another one swaps a file for a FIFO.
 * Meanwhile every operation runs.  Whatever it reports, it must never read what lies outside, change
 * anything there, or hang.  Some rounds are required to succeed and some to meet the attack, or the
 * race was none.  With BERTH_SOAK=1 a minute each.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "lib/rooted.h"

static _Atomic bool stop;
static _Atomic uint64_t swaps;
static uint64_t good, refused;

static void allow_races(int rc)
{
	if (rc < 0 && errno != ENOENT && errno != EBUSY && errno != EEXIST && errno != ENOTEMPTY)
		abort();
}

/* root/a/b <-> root/a/evil (-> outside), root/a <-> root/evil (-> outside/a). */
static void *swap_levels(void *arg)
{
	int top = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int a = openat(top, "a", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int out = open(tree_top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	for (int i = 0; !atomic_load(&stop); i++) {
		allow_races(renameat2(a, "b", a, "evil", RENAME_EXCHANGE));
		allow_races(renameat2(a, "b", a, "evil", RENAME_EXCHANGE));
		allow_races(renameat2(top, "a", top, "evil", RENAME_EXCHANGE));
		allow_races(renameat2(top, "a", top, "evil", RENAME_EXCHANGE));
		if (i % 16 == 0) {
			allow_races(renameat(a, "b", out, "moved"));
			allow_races(renameat(out, "moved", a, "b"));
		}
		atomic_fetch_add(&swaps, 1);
	}
	close(a);
	close(top);
	close(out);
	return NULL;
}

static void *swap_fifo(void *arg)
{
	int top = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)arg;
	while (!atomic_load(&stop))
		allow_races(renameat2(top, "swapped", top, "fifo", RENAME_EXCHANGE));
	close(top);
	return NULL;
}

static void count_result(enum err_kind kind)
{
	good += kind == ERR_NONE;
	refused += kind != ERR_NONE;
}

static void op_read(int i)
{
	struct files_want want[] = {
		{.path = "a/b/file"}, {.path = "swapped"}, {.path = "a/b/../b/file"}};
	struct files_reading *r;

	(void)i;
	assert_int_equal(
		files_read(f, root, want, COUNT(want), &(struct files_read_options){0}, &r, NULL),
		0);
	for (size_t k = 0; k < COUNT(want); k++) {
		const struct files_got *g = &r->items[k];

		if (!g->err && strstr(g->bytes, "SECRET"))
			fail_msg("read what lies outside");
		count_result(g->err ? g->err->kind : ERR_NONE);
	}
	files_reading_free(r);
}

static void op_write(int i)
{
	struct files_put puts[] = {{.path = "a/b/new", .bytes = "data", .len = 4},
		{.path = "a/b/file", .bytes = "inside", .len = 6}};
	static const enum files_promise promises[] = {
		FILES_VISIBLE, FILES_ALL_OR_NOTHING, FILES_VISIBLE};
	struct files_writing *w;
	struct err e = ERR_INIT;

	files_write(f, root, puts, COUNT(puts),
		&(struct files_write_options){.promise = promises[i % 3], .parents = false}, &w,
		&e);
	files_writing_free(w);
	count_result(e.kind);
}

static void op_make_parents(int i)
{
	char path[64];
	struct files_put p = {.path = path, .bytes = "x", .len = 1};
	struct files_writing *w;
	struct err e = ERR_INIT;

	snprintf(path, sizeof path, "a/b/made%d/deep/x", i % 50);
	files_write(f, root, &p, 1, &(struct files_write_options){.parents = true}, &w, &e);
	files_writing_free(w);
	count_result(e.kind);
}

static void op_scan(int i)
{
	struct files_scan *s;
	struct files_entry entry;
	struct err e = ERR_INIT;

	if (files_scan(f, root, i % 2 ? "" : "a/b", &(struct files_scan_options){.meta = true}, &s,
		    &e) == 0)
		while (files_scan_next(s, &entry))
			if (strstr(entry.name, "secret"))
				fail_msg("listed what lies outside: %s", entry.path);
	files_scan_free(s);
	count_result(e.kind);
}

static bool no_secret(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	(void)ctx;
	(void)hits;
	(void)n;
	fail_msg("found what lies outside: %s", path);
	return true;
}

static void op_search(int i)
{
	struct files_search_options o = {.pattern = {.text = "SECRET", .len = 6}};
	struct files_search_totals t;
	struct err e = ERR_INIT;

	files_search(f, root, i % 2 ? "" : "a/b", &o, no_secret, NULL, &t, &e);
	count_result(e.kind);
}

static void op_transform(int i)
{
	struct files_transform_options o = {.pattern = {.text = "inside", .len = 6},
		.replacement = "INSIDE",
		.replacement_len = 6};
	struct files_transform_result r;
	struct err e = ERR_INIT;

	if (i % 2) {
		o.pattern.text = "INSIDE";
		o.replacement = "inside";
	}
	files_transform(f, root, "", &o, &r, &e);
	str_release(&r.diff);
	count_result(e.kind);
}

static void op_copy(int i)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;
	char to[32];

	snprintf(to, sizeof to, "a/b/copy%d", i % 20);
	files_copy(f, root, "stuff", root, to, &(struct files_copy_options){.overwrite = true}, &t,
		&e);
	count_result(e.kind);
	e = (struct err)ERR_INIT;
	files_copy(f, root, "a/b/file", root, "taken",
		&(struct files_copy_options){.overwrite = true}, &t, &e);
	if (e.kind == ERR_NONE && tree_has("root/taken", "SECRET\n"))
		fail_msg("copied what lies outside");
	count_result(e.kind);
}

static void op_move(int i)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;

	(void)i;
	files_move(f, root, "a/b/victim", "a/b/victim2", true, &t, &e);
	count_result(e.kind);
	e = (struct err)ERR_INIT;
	files_move(f, root, "a/b/victim2", "a/b/victim", true, &t, &e);
	count_result(e.kind);
}

static void op_delete(int i)
{
	struct files_tree_totals t;
	struct err e = ERR_INIT;
	char path[32];

	snprintf(path, sizeof path, "a/b/copy%d", i % 20);
	files_delete(f, root, path, true, &t, &e);
	count_result(e.kind);
	e = (struct err)ERR_INIT;
	files_delete(f, root, "a/b/secret", false, &t, &e);
	if (e.kind == ERR_NONE)
		fail_msg("deleted what lies outside");
}

/* What lies outside, byte for byte and name for name. */
static void assert_outside_untouched(void)
{
	static const char *const places[] = {"outside", "outside/a", "outside/a/b"};

	for (size_t i = 0; i < COUNT(places); i++) {
		DIR *d = opendir(tree_path(places[i]));
		struct dirent *entry;
		char at[64];

		while ((entry = readdir(d)))
			if (strcmp(entry->d_name, "secret") && strcmp(entry->d_name, "file") &&
				strcmp(entry->d_name, "victim") && strcmp(entry->d_name, ".") &&
				strcmp(entry->d_name, "..") && strcmp(entry->d_name, "a") &&
				strcmp(entry->d_name, "b"))
				fail_msg("%s appeared in %s", entry->d_name, places[i]);
		closedir(d);
		snprintf(at, sizeof at, "%s/secret", places[i]);
		assert_true(tree_has(at, "SECRET\n"));
		snprintf(at, sizeof at, "%s/file", places[i]);
		assert_true(tree_has(at, "SECRET\n"));
		snprintf(at, sizeof at, "%s/victim", places[i]);
		assert_true(tree_has(at, "SECRET\n"));
	}
}

/* Enough met; a machine with other things to do takes longer for it (60 s are for ever here). */
static bool met_enough(int64_t until)
{
	return (refused && good + refused > 10 && atomic_load(&swaps) > 10) ||
		clock_mono_ns() > until + 60000000000;
}

static void race_operation(void (*op)(int))
{
	int64_t until = clock_mono_ns() + (getenv("BERTH_SOAK") ? 60000000000 : 400000000);
	pthread_t a, b;

	good = refused = 0;
	atomic_store(&stop, false);
	atomic_store(&swaps, 0);
	pthread_create(&a, NULL, swap_levels, NULL);
	pthread_create(&b, NULL, swap_fifo, NULL);
	for (int i = 0; clock_mono_ns() < until || !met_enough(until); i++)
		op(i);
	atomic_store(&stop, true);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	assert_outside_untouched();
	assert_true(atomic_load(&swaps) > 10);
	assert_true(good + refused > 10);
	print_message("%llu done, %llu met the attack, %llu swaps\n", (unsigned long long)good,
		(unsigned long long)refused, (unsigned long long)atomic_load(&swaps));
}

#define RACE(op)                            \
	static void race_##op(void **state) \
	{                                   \
		(void)state;                \
		race_operation(op_##op);    \
	}
RACE(read)
RACE(write)
RACE(make_parents)
RACE(scan)
RACE(search)
RACE(transform)
RACE(copy)
RACE(move)
RACE(delete)

static int make_race_tree(unsigned avoid)
{
	tree_make("files-races");
	tree_text("root/a/b/file", "inside");
	tree_text("root/a/b/victim", "inside");
	tree_text("root/stuff/x/y", "stuff");
	tree_text("root/stuff/z", "stuff");
	tree_text("root/swapped", "inside");
	tree_text("outside/secret", "SECRET\n");
	tree_text("outside/file", "SECRET\n");
	tree_text("outside/victim", "SECRET\n");
	tree_text("outside/a/secret", "SECRET\n");
	tree_text("outside/a/file", "SECRET\n");
	tree_text("outside/a/victim", "SECRET\n");
	tree_text("outside/a/b/secret", "SECRET\n");
	tree_text("outside/a/b/file", "SECRET\n");
	tree_text("outside/a/b/victim", "SECRET\n");
	if (symlink(tree_path("outside"), tree_path("root/a/evil")) ||
		symlink(tree_path("outside/a"), tree_path("root/evil")) ||
		mkfifo(tree_path("root/fifo"), 0600))
		return -1;
	rooted_open(&(struct files_options){.avoid = FILES_AVOID_BOARD | avoid, .cpu_width = 2},
		"root");
	return 0;
}

static int with_openat2(void **state)
{
	(void)state;
	return make_race_tree(0);
}

static int with_walk(void **state)
{
	(void)state;
	return make_race_tree(FILES_AVOID_OPENAT2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(race_read),
		cmocka_unit_test(race_write),
		cmocka_unit_test(race_make_parents),
		cmocka_unit_test(race_scan),
		cmocka_unit_test(race_search),
		cmocka_unit_test(race_transform),
		cmocka_unit_test(race_copy),
		cmocka_unit_test(race_move),
		cmocka_unit_test(race_delete),
	};

	return cmocka_run_group_tests_name("openat2", tests, with_openat2, rooted_remove) +
		cmocka_run_group_tests_name("walk", tests, with_walk, rooted_remove);
}
