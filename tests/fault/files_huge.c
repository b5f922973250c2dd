/*
 * files_huge.c - a line of a gigabyte, a directory of a million entries, and stopping anywhere.
 *
 * What is huge must come out right or be refused by a sentence, in bounded memory.  Whatever is
 * stopped, by the word on the job board as another process would, returns and leaves nothing half
 * done; how soon is printed, not asserted.  BERTH_SOAK=1: the full sizes; else 32 MiB, 20,000
 * entries and few moments.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/sanitized.h>

#include "files/files.h"
#include "job/board.h"
#include "lib/tree.h"

#define MIB (UINT64_C(1) << 20)

#define SHADOW (SANITIZED ? 6 : 1) /* what a sanitizer keeps beside each byte counts as ours */

static bool soak;

/* In a child: its memory is what is measured, and cmocka must not go on there. */
#define HOLDS(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			fprintf(stderr, "line %d: not %s\n", __LINE__, #what); \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static void expect_bounded(
	const char *label, void (*what)(struct files *, struct files_root *), uint64_t most)
{
	int64_t begun = clock_mono_ns();
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		long before = peak_kib(), used;
		struct files *f = files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD});
		struct files_root *r = files_root_open(f, tree_path("root"), NULL);

		HOLDS(r);
		what(f, r);
		files_root_close(r);
		files_close(f);
		used = peak_kib() - before;
		fprintf(stderr, "%s: %ld MiB of memory at most, %lld ms\n", label, used >> 10,
			(long long)(clock_mono_ns() - begun) / 1000000);
		HOLDS((uint64_t)used << 10 < most * SHADOW);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* --- one line --- */

#define HEAD "first\n"
#define NEEDLE "needle"
#define TAIL "\nlast needle\n"

static uint64_t line_bytes, middle; /* of the long line; where in it the needle is */

static void make_line(void)
{
	AUTO_FREE char *some = xmalloc(MIB);
	int fd;

	line_bytes = soak ? 1024 * MIB : 32 * MIB;
	middle = line_bytes / 2 - 3; /* across the edge of a window, wherever that is */
	tree_mkdirs("root");
	fd = open(tree_path("root/line"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	memset(some, 'x', MIB);
	assert_true(fd >= 0 && write(fd, HEAD, strlen(HEAD)) > 0);
	for (uint64_t at = 0; at < line_bytes; at += MIB)
		assert_int_equal(write(fd, some, MIB), MIB);
	assert_true(write(fd, TAIL, strlen(TAIL)) > 0);
	assert_int_equal(
		pwrite(fd, NEEDLE, strlen(NEEDLE), (off_t)(strlen(HEAD) + middle)), strlen(NEEDLE));
	close(fd);
}

struct hits {
	size_t n;
	struct files_hit first, last;
};

static bool see_line(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	struct hits *seen = ctx;

	HOLDS(strcmp(path, "line") == 0 && n > 0);
	if (seen->n == 0)
		seen->first = hits[0];
	seen->n += n;
	seen->last = hits[n - 1];
	for (size_t i = 0; i < n; i++)
		HOLDS(hits[i].len <= 4096);
	return true;
}

static void search_line(struct files *f, struct files_root *r)
{
	static const struct files_pattern patterns[] = {
		{.text = NEEDLE, .len = strlen(NEEDLE)},
		{.text = "n[e]{2}dl.", .len = 10, .regex = true},
		{.text = "[m-o]e+d[k-m]e", .len = 14, .regex = true},
	};
	struct files_search_totals t;
	struct err e = ERR_INIT;

	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct files_search_options o = {.pattern = patterns[i]};
		struct hits seen = {0};

		HOLDS(files_search(f, r, "", &o, see_line, &seen, &t, &e) == 0);
		HOLDS(t.bytes == strlen(HEAD) + line_bytes + strlen(TAIL));
		HOLDS(t.gave_up == 0 && t.hits == 2 && seen.n == 2);
		HOLDS(seen.first.line == 2 && seen.first.column == middle + 1);
		HOLDS(seen.first.offset == strlen(HEAD) + middle && seen.first.clipped);
		HOLDS(seen.last.line == 3 && seen.last.column == 6 && !seen.last.clipped);
	}
}

/* Longer than any window, and looked for from each place: an answer or "gave up", and an end. */
static void search_backtracking(struct files *f, struct files_root *r)
{
	/* The comment in front lets no sieve leave the line out. */
	struct files_search_options o = {
		.pattern = {.text = "(?#)(x+x+)+y", .len = 12, .regex = true}};
	struct files_search_totals t;
	struct hits seen = {0};

	HOLDS(files_search(f, r, "", &o, see_line, &seen, &t, NULL) == 0);
	HOLDS(t.hits == 0 && t.gave_up > 0);
	/* Where a window ends is neither the start nor the end of a line. */
	for (size_t i = 0; i < 2; i++) {
		o.pattern.text = i ? "x$" : "^x{3}needle";
		o.pattern.len = strlen(o.pattern.text);
		HOLDS(files_search(f, r, "", &o, see_line, &seen, &t, NULL) == 0);
		HOLDS(t.hits == i && seen.n == i);
	}
	HOLDS(seen.first.line == 2 && seen.first.column == line_bytes);
}

static void read_line(struct files *f, struct files_root *r)
{
	const struct files_want want[] = {
		{.path = "line", .first_line = 1, .last_line = 1},
		{.path = "line", .first_line = 2, .last_line = 2},
		{.path = "line", .first_line = 3},
	};
	/* What the normal limits are to a gigabyte. */
	struct files_read_options o = {.max_file_bytes = line_bytes / 16};
	struct files_transform_options change = {.pattern = {.text = NEEDLE, .len = 6},
		.replacement = "pin",
		.replacement_len = 3,
		.max_file_bytes = line_bytes / 16};
	struct files_transform_result changed;
	struct files_reading *got;

	HOLDS(files_read(f, r, want, COUNT(want), &o, &got, NULL) == 0 && got->failed == 0);
	HOLDS(strcmp(got->items[0].bytes, HEAD) == 0 && !got->items[0].clipped);
	HOLDS(got->items[1].clipped && got->items[1].bytes[0] == 'x' &&
		got->items[1].len == line_bytes / 16);
	HOLDS(!got->items[2].clipped && strcmp(got->items[2].bytes, &TAIL[1]) == 0);
	files_reading_free(got);
	/* Room for one of them, but not for all three. */
	o = (struct files_read_options){
		.max_file_bytes = 2 * line_bytes, .max_total_bytes = line_bytes / 2};
	HOLDS(files_read(f, r, want, COUNT(want), &o, &got, NULL) == 0);
	HOLDS(got->failed == COUNT(want) && got->items[2].err->kind == ERR_REFUSED);
	files_reading_free(got);
	HOLDS(files_transform(f, r, "", &change, &changed, NULL) == 0);
	HOLDS(changed.skipped_large == 1 && changed.changed == 0);
	str_release(&changed.diff);
}

static void test_line(void **state)
{
	(void)state;
	make_line();
	expect_bounded("search of a long line", search_line, 24 * MIB);
	expect_bounded("search that backtracks", search_backtracking, 24 * MIB);
	expect_bounded("read of lines", read_line, 3 * line_bytes / 16 + 24 * MIB);
	assert_int_equal(unlink(tree_path("root/line")), 0);
}

/* --- one directory --- */

static unsigned entries;

static void make_many(const char *dir, unsigned n, unsigned each, size_t bytes)
{
	AUTO_FREE char *text = xmalloc(bytes + 1);
	char name[64];

	memset(text, 'a', bytes);
	for (unsigned i = 0; i < n; i++) {
		int fd;

		snprintf(name, sizeof name, "%s/d%03u", dir, i / each);
		if (i % each == 0)
			tree_mkdirs(name);
		snprintf(name, sizeof name, "%s/d%03u/f%07u", dir, i / each, i);
		fd = open(tree_path(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		if (fd < 0 || (bytes && write(fd, text, bytes) != (ssize_t)bytes))
			fail_msg("%s: %s", name, strerror(errno));
		close(fd);
	}
}

static void scan_many(struct files *f, struct files_root *r)
{
	struct files_scan_options o = {.meta = true, .sorted = true};
	const struct files_scan_totals *t;
	struct files_scan *s;
	struct files_entry entry;
	char before[64] = "";
	unsigned n = 0;

	HOLDS(files_scan(f, r, "big/d000", &o, &s, NULL) == 0);
	t = files_scan_totals(s);
	HOLDS(t->files == entries && t->errors == 0 && !t->clipped && t->bytes == 0);
	while (files_scan_next(s, &entry)) {
		HOLDS(strcmp(before, entry.name) < 0 && entry.meta);
		snprintf(before, sizeof before, "%s", entry.name);
		n++;
	}
	HOLDS(n == entries);
	files_scan_free(s);
	/* Of 100 names in a row one ends so. */
	o = (struct files_scan_options){
		.filter = {.globs = (const char *const[]){"*77"}, .nglobs = 1}};
	HOLDS(files_scan(f, r, "big/d000", &o, &s, NULL) == 0);
	HOLDS(files_scan_totals(s)->files == entries / 100);
	files_scan_free(s);
	o = (struct files_scan_options){.max_entries = 1000};
	HOLDS(files_scan(f, r, "big/d000", &o, &s, NULL) == 0);
	HOLDS(files_scan_totals(s)->clipped);
	files_scan_free(s);
}

static bool expect_one_name(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	(void)hits;
	HOLDS(n == 1 && strcmp(path, "big/d000/f0000007") == 0);
	++*(int *)ctx;
	return true;
}

static void search_many(struct files *f, struct files_root *r)
{
	struct files_search_options o = {
		.pattern = {.text = "found", .len = 5}, .names_only = true, .sorted = true};
	struct files_search_totals t;
	int seen = 0;

	HOLDS(files_search(f, r, "big", &o, expect_one_name, &seen, &t, NULL) == 0);
	HOLDS(t.files == entries && t.matched_files == 1 && seen == 1 && t.errors == 0);
}

static void delete_many(struct files *f, struct files_root *r)
{
	struct files_tree_totals t;

	HOLDS(files_delete(f, r, "big", true, &t, NULL) == 0);
	HOLDS(t.files == entries && t.dirs == 2 && t.errors == 0);
	HOLDS(!tree_exists("root/big"));
}

/* --- stopping --- */

struct stopping {
	struct files *f;
	int64_t after_ns;
	_Atomic int64_t asked; /* when the word was set; 0: there was nothing to stop */
	_Atomic bool returned;
};

/* The job of the call itself is the oldest of those begun since: others may work for it. */
static void *stop_it(void *arg)
{
	struct stopping *s = arg;
	struct job_info jobs[64];
	struct timespec t = {s->after_ns / 1000000000, s->after_ns % 1000000000};
	const struct job_info *job = NULL;
	size_t n;

	nanosleep(&t, NULL);
	n = atomic_load(&s->returned) ? 0 : jobs_read(NULL, jobs, COUNT(jobs));
	for (size_t i = 0; i < n; i++)
		if (jobs[i].id.pid == getpid() && jobs[i].state == JOB_RUNNING &&
			(!job || jobs[i].id.serial < job->id.serial))
			job = &jobs[i];
	if (job && jobs_cancel(&job->id, NULL) == 0)
		atomic_store(&s->asked, clock_mono_ns());
	return NULL;
}

struct work {
	const char *name;
	int (*run)(struct files *f, struct files_root *r, struct err *e);
	void (*again)(void);         /* makes what run needs, or NULL */
	void (*whole)(bool stopped); /* looks at what is there afterwards, or NULL */
};

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void stop_at_moments(const struct work *w, int moments)
{
	struct files *f = files_open(&(struct files_options){0});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);
	int64_t took[64], whole_ns, middling;
	struct err e = ERR_INIT;
	int n = 0;

	assert_non_null(r);
	if (w->again)
		w->again();
	whole_ns = clock_mono_ns();
	if (w->run(f, r, &e) < 0)
		fail_msg("%s: %s", w->name, e.msg);
	whole_ns = clock_mono_ns() - whole_ns;
	if (w->whole)
		w->whole(false);
	for (int i = 0; i < moments; i++) {
		struct stopping s = {.f = f, .after_ns = whole_ns * i / moments};
		int64_t now;
		pthread_t t;
		int rc;

		if (w->again)
			w->again();
		pthread_create(&t, NULL, stop_it, &s);
		rc = w->run(f, r, &e);
		now = clock_mono_ns();
		atomic_store(&s.returned, true);
		pthread_join(t, NULL);
		if (rc < 0)
			assert_int_equal(e.kind, ERR_CANCELLED);
		if (w->whole)
			w->whole(rc < 0);
		if (atomic_load(&s.asked) && atomic_load(&s.asked) < now)
			took[n++] = now - atomic_load(&s.asked);
	}
	files_root_close(r);
	files_close(f);
	if (!n) {
		print_message("%s: never stopped in time (%lld ms)\n", w->name,
			(long long)whole_ns / 1000000);
		return;
	}
	mem_sort(took, (size_t)n, sizeof took[0], by_time);
	middling = took[n / 2];
	print_message("%-22s of %6lld ms, stopped %2d times, after ms: median %.1f, most %.1f\n",
		w->name, (long long)whole_ns / 1000000, n, (double)middling / 1e6,
		(double)took[n - 1] / 1e6);
}

static int scan_it(struct files *f, struct files_root *r, struct err *e)
{
	struct files_scan_options o = {.meta = true, .sorted = true};
	struct files_scan *s;
	int rc = files_scan(f, r, "", &o, &s, e);

	if (rc == 0)
		files_scan_free(s);
	return rc;
}

static bool take_any(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	(void)ctx, (void)path, (void)hits, (void)n;
	return true;
}

static int search_it(struct files *f, struct files_root *r, struct err *e)
{
	struct files_search_options o = {
		.pattern = {.text = "(a|b)+c", .len = 7, .regex = true}, .sorted = true};
	struct files_search_totals t;

	return files_search(f, r, "", &o, take_any, NULL, &t, e);
}

#define BYTES 3000 /* of each file that is copied, written and transformed */

static unsigned small; /* so many of them */

/* Every file below root/`dir` is as it was or as it should be, and nothing else is there. */
static void none_torn(const char *dir)
{
	char command[2 * PATH_MAX];

	snprintf(command, sizeof command,
		"cd '%s/%s' 2>/dev/null || exit 0; ! find . -type f '(' ! -name 'f*' -o ! -size %dc ')' | grep -q .",
		tree_path("root"), dir, BYTES);
	if (system(command) != 0)
		fail_msg("something in %s is half done", dir);
	/* Workers remove what was staged, after the call. */
	snprintf(command, sizeof command,
		"! find '%s'/.berth-* '%s/journal' -type f 2>/dev/null | grep -q .",
		tree_path("root"), tree_place("root"));
	for (int i = 0; system(command) != 0; i++) {
		if (i > 600)
			fail_msg("something of %s is left in the stage", dir);
		usleep(100000);
	}
}

static void no_copy(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof command, "rm -rf '%s'", tree_path("root/copy"));
	assert_int_equal(system(command), 0);
}

static int copy_it(struct files *f, struct files_root *r, struct err *e)
{
	struct files_tree_totals t;

	return files_copy(f, r, "small", r, "copy", &(struct files_copy_options){0}, &t, e);
}

static void copy_whole(bool stopped)
{
	(void)stopped;
	none_torn("copy");
}

static int delete_it(struct files *f, struct files_root *r, struct err *e)
{
	struct files_tree_totals t;

	return files_delete(f, r, "copy", true, &t, e);
}

static void copy_again(void)
{
	struct files *f = files_open(&(struct files_options){.avoid = FILES_AVOID_BOARD});
	struct files_root *r = files_root_open(f, tree_path("root"), NULL);

	no_copy();
	assert_int_equal(copy_it(f, r, NULL), 0);
	files_root_close(r);
	files_close(f);
}

static void delete_whole(bool stopped)
{
	/* Out of sight as a whole, or not begun. */
	if (!stopped)
		assert_false(tree_exists("root/copy"));
	else if (tree_exists("root/copy"))
		assert_true(tree_exists("root/copy/d000/f0000000"));
}

static char mark = 'a'; /* what the small files are full of */

static int write_as(
	struct files *f, struct files_root *r, enum files_promise promise, struct err *e)
{
	AUTO_FREE struct files_put *puts = xcalloc(small, sizeof *puts);
	AUTO_FREE char(*names)[32] = xcalloc(small, sizeof *names);
	char text[BYTES], next = mark == 'a' ? 'b' : 'a';
	struct files_writing *w;
	int rc;

	memset(text, next, sizeof text);
	for (unsigned i = 0; i < small; i++) {
		snprintf(names[i], sizeof names[i], "small/d%03u/f%07u", i / 100, i);
		puts[i] = (struct files_put){.path = names[i], .bytes = text, .len = sizeof text};
	}
	rc = files_write(
		f, r, puts, small, &(struct files_write_options){.promise = promise}, &w, e);
	files_writing_free(w);
	if (rc == 0)
		mark = next;
	return rc;
}

static int write_visible(struct files *f, struct files_root *r, struct err *e)
{
	return write_as(f, r, FILES_VISIBLE, e);
}

static int write_durable(struct files *f, struct files_root *r, struct err *e)
{
	return write_as(f, r, FILES_DURABLE, e);
}

static int write_all_or_nothing(struct files *f, struct files_root *r, struct err *e)
{
	return write_as(f, r, FILES_ALL_OR_NOTHING, e);
}

/* All files hold what the call that returned last says that they do. */
static void small_whole(bool stopped)
{
	char command[2 * PATH_MAX];

	(void)stopped;
	none_torn("small");
	snprintf(command, sizeof command, "! grep -rq '[^%c]' '%s'", mark, tree_path("root/small"));
	if (system(command) != 0)
		fail_msg("a batch that was stopped is half there");
}

static int transform_it(struct files *f, struct files_root *r, struct err *e)
{
	char from[] = "[a]", to[] = "b";
	struct files_transform_options o = {.pattern = {.text = from, .len = 3, .regex = true},
		.replacement = to,
		.replacement_len = 1};
	struct files_transform_result res;
	int rc;

	from[1] = mark;
	to[0] = mark == 'a' ? 'b' : 'a';
	rc = files_transform(f, r, "small", &o, &res, e);
	str_release(&res.diff);
	if (rc == 0)
		mark = to[0];
	return rc;
}

static void test_stop_small(void **state)
{
	static const struct work works[] = {
		{"scan", scan_it, NULL, NULL},
		{"search", search_it, NULL, NULL},
		{"copy", copy_it, no_copy, copy_whole},
		{"delete", delete_it, copy_again, delete_whole},
		{"write", write_visible, NULL, small_whole},
		{"write, durable", write_durable, NULL, small_whole},
		{"write, all or nothing", write_all_or_nothing, NULL, small_whole},
		{"transform", transform_it, NULL, small_whole},
	};

	(void)state;
	small = soak ? 20000 : 200;
	make_many("root/small", small, 100, BYTES);
	for (size_t i = 0; i < COUNT(works); i++)
		stop_at_moments(&works[i], soak ? 8 : 3);
}

static void test_many_entries(void **state)
{
	static const struct work works[] = {
		{"scan of one directory", scan_it, NULL, NULL},
		{"search of one directory", search_it, NULL, NULL},
	};

	(void)state;
	entries = soak ? 1000000 : 20000;
	make_many("root/big", entries, entries, 0);
	expect_bounded("scan of one directory", scan_many, 32 * MIB + 400 * entries);
	tree_text("root/big/d000/f0000007", "here it is found\n");
	expect_bounded("search of one directory", search_many, 32 * MIB + 400 * entries);
	for (size_t i = 0; i < COUNT(works); i++)
		stop_at_moments(&works[i], soak ? 16 : 2);
	expect_bounded("delete of one directory", delete_many, 24 * MIB);
}

static int setup(void **state)
{
	(void)state;
	soak = getenv("BERTH_SOAK") != NULL;
	tree_make("files-huge");
	tree_mkdirs("root");
	tree_mkdirs("run");
	chmod(tree_path("run"), 0700);
	setenv("XDG_RUNTIME_DIR", tree_path("run"), 1);
	setenv("XDG_STATE_HOME", tree_path("state"), 1);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_line),
		cmocka_unit_test(test_many_entries), cmocka_unit_test(test_stop_small)};

	return cmocka_run_group_tests(tests, setup, teardown);
}
