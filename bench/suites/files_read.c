/* files_read.c - measures reading many files: the engine against a plain loop. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>

#include "suites/files.h"
#include "suites/templates.h"

#define SIZE 8192
#define TOUCHED 8 /* files of their own, read by every arm after the caches were dropped */

struct reads {
	struct scratch dir;
	struct files *many, *one, *threads; /* default, one thread, without io_uring */
	struct files_root *root;
	struct files_want *want;
	char **bytes; /* of the loop */
	size_t n;
};

static void release_reads(void *ctx)
{
	struct reads *x = ctx;

	for (size_t i = 0; i < x->n; i++)
		free((char *)x->want[i].path);
	free(x->want);
	free(x->bytes);
	files_root_close(x->root);
	files_close(x->many);
	files_close(x->one);
	files_close(x->threads);
	scratch_release(&x->dir);
	free(x);
}

/* `apart`: each file in a directory of its own, as files that an agent asks for mostly are. */
static void *make_reads(size_t n, bool apart, struct err *e)
{
	struct reads *x = xcalloc(1, sizeof *x);

	x->want = xcalloc(n + TOUCHED, sizeof *x->want);
	x->bytes = xcalloc(n + TOUCHED, sizeof *x->bytes);
	x->many = bench_files(0, 0);
	x->one = bench_files(1, FILES_AVOID_URING);
	x->threads = bench_files(0, FILES_AVOID_URING);
	if (scratch_init(&x->dir, e) < 0)
		goto fail;
	x->n = n + TOUCHED;
	for (size_t i = 0; i < x->n; i++) {
		x->want[i].path = i >= n ? xasprintf("touched/file%zu", i)
			: apart          ? xasprintf("a%zu/b%zu/file%zu", i % 10, i, i)
					 : xasprintf("d%zu/file%zu", i / 20, i);
		if (scratch_file(&x->dir, x->want[i].path, SIZE, i, e) < 0)
			goto fail;
	}
	x->root = files_root_open(x->many, x->dir.path, e);
	/* What was written less than 20 ms ago is hashed when it is read (token_racy): files that an
	 * agent asks for are older. */
	usleep(50000);
	if (x->root && chdir(x->dir.path) == 0)
		return x;
fail:
	release_reads(x);
	return NULL;
}

static int read_in_loop(
	const struct files_want *w, char **bytes, size_t n, uint64_t *digest, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		int fd = open(w[i].path, O_RDONLY | O_CLOEXEC);
		ssize_t got;

		if (fd < 0 || fstat(fd, &st) < 0)
			return err_sys(e, errno, "cannot read %s", w[i].path);
		bytes[i] = malloc((size_t)st.st_size + 1);
		got = read(fd, bytes[i], (size_t)st.st_size + 1);
		if (got != SIZE)
			return err_set(e, ERR_FAILED, "%s is short", w[i].path);
		close(fd);
	}
	*digest = n;
	return 0;
}

static int read_naively(void *ctx, struct sample *s, struct err *e)
{
	struct reads *x = ctx;

	if (read_in_loop(x->want, x->bytes, x->n - TOUCHED, &s->digest, e) < 0)
		return -1;
	for (size_t i = 0; i < x->n - TOUCHED; i++) {
		s->digest = digest_bytes(s->digest, x->bytes[i], 64);
		free(x->bytes[i]);
	}
	return 0;
}

static int read_with(struct files *f, struct reads *x, struct sample *s, struct err *e)
{
	struct files_reading *r;

	if (files_read(f, x->root, x->want, x->n - TOUCHED, &(struct files_read_options){0}, &r,
		    e) < 0)
		return -1;
	s->digest = r->n - r->failed;
	for (size_t i = 0; i < r->n; i++)
		s->digest = digest_bytes(s->digest, r->items[i].bytes, r->items[i].err ? 0 : 64);
	files_reading_free(r);
	return 0;
}

static int read_by_engine(void *ctx, struct sample *s, struct err *e)
{
	struct reads *x = ctx;

	return read_with(x->many, x, s, e);
}

static int engine_one(void *ctx, struct sample *s, struct err *e)
{
	struct reads *x = ctx;

	return read_with(x->one, x, s, e);
}

static int engine_threads(void *ctx, struct sample *s, struct err *e)
{
	struct reads *x = ctx;

	return read_with(x->threads, x, s, e);
}

/* Cold files, but our own code and threads in memory: every arm reads a few other files first. */
static int prepare_cold(void *ctx, struct err *e)
{
	struct reads *x = ctx;
	struct files *each[] = {x->many, x->threads, x->one};
	size_t first = x->n - TOUCHED;
	uint64_t digest;

	if (drop_caches(e) < 0 || read_in_loop(x->want + first, x->bytes, 2, &digest, e) < 0)
		return -1;
	free(x->bytes[0]);
	free(x->bytes[1]);
	for (size_t i = 0; i < COUNT(each); i++) {
		struct files_reading *r;

		if (files_read(each[i], x->root, x->want + first + 2 * i + 2, 2,
			    &(struct files_read_options){0}, &r, e) < 0)
			return -1;
		files_reading_free(r);
	}
	return 0;
}

#define SETUP_WARM(n)                                              \
	static void *setup_##n(struct bench_run *r, struct err *e) \
	{                                                          \
		(void)r;                                           \
		return make_reads(n, false, e);                    \
	}
#define SETUP_COLD(n)                                                      \
	static void *setup_##n##_cold(struct bench_run *r, struct err *e)  \
	{                                                                  \
		note_overlap(r, n);                                        \
		return make_reads(n, false, e);                            \
	}                                                                  \
	static void *setup_##n##_apart(struct bench_run *r, struct err *e) \
	{                                                                  \
		note_overlap(r, n);                                        \
		return make_reads(n, true, e);                             \
	}
SETUP_WARM(10)
SETUP_WARM(100)
SETUP_WARM(1000)
SETUP_COLD(10)
SETUP_COLD(50)
SETUP_COLD(100)
SETUP_COLD(1000)

/* As many as a suite file asks for. */
static void *setup_param(struct bench_run *r, struct err *e)
{
	return make_reads((size_t)bench_param(r), false, e);
}

#define ARMS                                                                                     \
	{                                                                                        \
		{"loop", read_naively}, {"engine", read_by_engine},                              \
			{"engine, threads", engine_threads}, {"engine, one thread", engine_one}, \
	}
#define COLD(n, factor, words)                                                                    \
	{                                                                                         \
		.name = "read-" #n "-cold", .about = #n " files of 8 KiB, guest-cold",            \
		.samples = 20, .warmup = 1, .setup = setup_##n##_cold, .teardown = release_reads, \
		.prepare = prepare_cold, .arms = ARMS,                                            \
		.targets = {{words, "engine", ON_RATIO, factor, NO_BOUND}},                       \
	}
#define APART(n, factor, words)                                                                  \
	{                                                                                        \
		.name = "read-" #n "-apart-cold",                                                \
		.about = #n " files of 8 KiB in as many directories, guest-cold", .samples = 20, \
		.warmup = 1, .setup = setup_##n##_apart, .teardown = release_reads,              \
		.prepare = prepare_cold, .arms = ARMS,                                           \
		.targets = {{words, "engine", ON_RATIO, factor, NO_BOUND}},                      \
	}
#define WARM(n, factor, words)                                                                     \
	{                                                                                          \
		.name = "read-" #n "-warm", .about = #n " files of 8 KiB, cached", .samples = 200, \
		.warmup = 5, .setup = setup_##n, .teardown = release_reads, .arms = ARMS,          \
		.targets = {{words, "engine", ON_RATIO, factor, NO_BOUND}},                        \
	}

static const struct bench_case cases[] = {
	COLD(10, 10, "reads >= 10x guest-cold (never below 5x)"),
	COLD(50, 10, "reads >= 10x guest-cold (never below 5x)"),
	COLD(100, 10, "reads >= 10x guest-cold (never below 5x)"),
	APART(10, 10, "reads >= 10x guest-cold (never below 5x)"),
	APART(50, 10, "reads >= 10x guest-cold (never below 5x)"),
	APART(100, 10, "reads >= 10x guest-cold (never below 5x)"),
	APART(1000, 4, "1,000 files >= 4x guest-cold"),
	COLD(1000, 4, "1,000 files >= 4x guest-cold"),
	WARM(10, 0.95, "never slower than 0.95x warm"),
	WARM(100, 0.95, "never slower than 0.95x warm"),
	WARM(1000, 1.7, "1,000 files >= 1.7x warm"),
	{.name = NULL},
};

const struct bench_suite suite_files_read = {"files_read", cases};

/* For suite files (tests.c): so many files as they say. */
const struct bench_case files_read_warm = {
	.name = "read_files_parallel-warm",
	.about = "files of 8 KiB, cached",
	.samples = 50,
	.warmup = 3,
	.setup = setup_param,
	.teardown = release_reads,
	.arms = ARMS,
	.targets = {{"never slower than 0.95x warm", "engine", ON_RATIO, 0.95, NO_BOUND}},
};

const struct bench_case files_read_cold = {
	.name = "read_files_parallel-cold",
	.about = "files of 8 KiB, guest-cold",
	.samples = 20,
	.warmup = 1,
	.setup = setup_param,
	.teardown = release_reads,
	.prepare = prepare_cold,
	.arms = ARMS,
	.targets = {{"reads >= 5x guest-cold", "engine", ON_RATIO, 5, NO_BOUND}},
};
