/* files_change.c - measures writing, transforming and copying many files, against the usual alternatives. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "suites/files.h"
#include "suites/templates.h"

#define SIZE 8192

struct changes {
	struct scratch dir;
	struct files *files;
	struct files_root *root;
	size_t n;
	struct files_put *puts;
	char text[SIZE];
	unsigned round;
	char tree[16]; /* of this sample */
};

static void release_changes(void *ctx)
{
	struct changes *x = ctx;

	for (size_t i = 0; x->puts && i < x->n; i++)
		free((char *)x->puts[i].path);
	free(x->puts);
	files_root_close(x->root);
	files_close(x->files);
	scratch_release(&x->dir);
	free(x);
}

static struct changes *make_changes(size_t n, struct err *e)
{
	struct changes *x = xcalloc(1, sizeof *x);

	x->n = n;
	x->files = bench_files(0, 0);
	if (scratch_init(&x->dir, e) == 0)
		x->root = files_root_open(x->files, x->dir.path, e);
	if (x->root && chdir(x->dir.path) == 0)
		return x;
	release_changes(x);
	return NULL;
}

/* --- durable writes --- */

static void *setup_write(size_t n, struct err *e)
{
	struct changes *x = make_changes(n, e);

	if (!x)
		return NULL;
	memset(x->text, 'x', sizeof x->text);
	x->puts = xcalloc(n, sizeof *x->puts);
	return x;
}

/* Names in directories of this sample alone: an inode that was given up a moment ago makes the next
 * one dear on some file systems (ext4 without a journal walks over all of them), which is not what
 * is measured here.  With `again` they stay: every sample replaces the files of the one before. */
static int name_files(struct changes *x, bool again)
{
	for (size_t i = 0; i < x->n; i++) {
		char dir[32];

		if (again && x->puts[i].path)
			continue;
		free((char *)x->puts[i].path);
		snprintf(dir, sizeof dir, "r%u", x->round);
		mkdir(dir, 0755);
		snprintf(dir, sizeof dir, "r%u/d%zu", x->round, i / 20);
		mkdir(dir, 0755);
		x->puts[i] = (struct files_put){
			.path = xasprintf("%s/file%zu", dir, i), .bytes = x->text, .len = SIZE};
	}
	x->text[0] = (char)('a' + x->round++ % 26);
	sync();
	return 0;
}

static int settle_changes(void *ctx, struct err *e)
{
	(void)e;
	return name_files(ctx, false);
}

static int settle_again(void *ctx, struct err *e)
{
	(void)e;
	return name_files(ctx, true);
}

static int each_by_itself(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;

	for (size_t i = 0; i < x->n; i++) {
		const char *path = x->puts[i].path, *slash = strrchr(path, '/');
		AUTO_FREE char *temporary = xasprintf("%s.new", path);
		AUTO_FREE char *parent = xstrndup(path, (size_t)(slash - path));
		int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644), dir;

		if (fd < 0 || write(fd, x->text, SIZE) != SIZE || fsync(fd) < 0 || close(fd) < 0 ||
			rename(temporary, path) < 0)
			return err_sys(e, errno, "cannot write %s", path);
		dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || fsync(dir) < 0 || close(dir) < 0)
			return err_sys(e, errno, "cannot flush %s", parent);
	}
	s->digest = x->n;
	return 0;
}

static int write_batch(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;
	struct files_write_options o = {
		.promise = s->arm == 1 ? FILES_DURABLE : FILES_ALL_OR_NOTHING};
	struct files_writing *w;
	int rc = files_write(x->files, x->root, x->puts, x->n, &o, &w, e);

	s->digest = w->n - w->failed;
	files_writing_free(w);
	return rc;
}

#define SETUP(n)                                                         \
	static void *setup_write_##n(struct bench_run *r, struct err *e) \
	{                                                                \
		(void)r;                                                 \
		return setup_write(n, e);                                \
	}
SETUP(1)
SETUP(10)
SETUP(100)
SETUP(1000)

#define WRITE(n, factor, words)                                                                 \
	{                                                                                       \
		.name = "write-" #n, .about = #n " files of 8 KiB, durable", .samples = 20,     \
		.warmup = 1, .setup = setup_write_##n, .teardown = release_changes,             \
		.prepare = settle_changes,                                                      \
		.arms = {{"write, fsync, rename, fsync dir", each_by_itself},                   \
			{"durable batch", write_batch}, {"all-or-nothing batch", write_batch}}, \
		.targets = {{words, "durable batch", ON_RATIO, factor, NO_BOUND}},              \
	}

static void *setup_write_param(struct bench_run *r, struct err *e)
{
	return setup_write((size_t)bench_param(r), e);
}

/* For suite files (tests.c). */
const struct bench_case files_write_many = {
	.name = "write_files_batch",
	.about = "files of 8 KiB, durable",
	.samples = 20,
	.warmup = 1,
	.setup = setup_write_param,
	.teardown = release_changes,
	.prepare = settle_changes,
	.arms = {{"write, fsync, rename, fsync dir", each_by_itself},
		{"durable batch", write_batch}, {"all-or-nothing batch", write_batch}},
	.targets = {{"durable writes >= 3x", "durable batch", ON_RATIO, 3, NO_BOUND}},
};

/* --- transform: 10,000 files, one word each --- */

#define EDITED 10000

static void *setup_transform(struct bench_run *r, struct err *e)
{
	return make_changes(bench_smoke(r) ? 200 : EDITED, e);
}

/* A tree for every sample: what was given up by the one before would slow it down (name_files). */
static int fresh_tree(void *ctx, struct err *e)
{
	struct changes *x = ctx;

	x->round++;
	snprintf(x->tree, sizeof x->tree, "t%u", x->round);
	for (size_t i = 0; i < x->n; i++) {
		AUTO_FREE char *name = xasprintf("%s/d%zu/file%zu", x->tree, i / 100, i);
		FILE *f;

		if (scratch_file(&x->dir, name, 1500, i, e) < 0)
			return -1;
		f = fopen(name, "a");
		if (f) {
			fprintf(f, "\nred herring\n");
			fclose(f);
		}
	}
	sync();
	return 0;
}

static int count_blue(struct changes *x, struct sample *s, struct err *e)
{
	const char *argv[] = {"sh", "-c", "grep -rl 'blue herring' \"$0\" | wc -l", x->tree, NULL};
	AUTO_STR struct str out = STR_INIT;

	if (run_program(argv, &out, e) != 0)
		return -1;
	s->digest = strtoull(out.s, NULL, 10);
	return s->digest == x->n ? 0
				 : err_set(e, ERR_FAILED, "%s of %zu files changed", out.s, x->n);
}

static int transform_sed(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;
	const char *argv[] = {"sh", "-c",
		"find \"$0\" -type f -print0 | xargs -0 sed -i 's/red herring/blue herring/'",
		x->tree, NULL};
	int64_t begun = clock_mono_ns();

	if (run_program(argv, NULL, e) != 0)
		return err_set(e, ERR_FAILED, "sed failed");
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	return count_blue(ctx, s, e);
}

static int transform_files(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;
	struct files_transform_options o = {
		.pattern = {.text = "red herring", .len = 11},
		.replacement = "blue herring",
		.replacement_len = 12,
		.promise = s->arm == 1 ? FILES_VISIBLE : FILES_ALL_OR_NOTHING,
	};
	struct files_transform_result r;
	int64_t begun = clock_mono_ns();
	int rc = files_transform(x->files, x->root, x->tree, &o, &r, e);

	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	str_release(&r.diff);
	return rc < 0 ? -1 : count_blue(x, s, e);
}

/* --- copy: a tree of 20,000 files --- */

#define COPIED 20000

static void *setup_copy(struct bench_run *r, struct err *e)
{
	struct changes *x = make_changes(bench_smoke(r) ? 200 : COPIED, e);

	for (size_t i = 0; x && i < x->n; i++) {
		AUTO_FREE char *name = xasprintf("src/d%zu/e%zu/file%zu", i / 800, i / 40, i);

		if (scratch_file(&x->dir, name, i % 100 == 0 ? 200000 : 2000, i, e) < 0) {
			release_changes(x);
			return NULL;
		}
	}
	return x;
}

static int next_copy(void *ctx, struct err *e)
{
	struct changes *x = ctx;

	(void)e;
	snprintf(x->tree, sizeof x->tree, "dst%u", x->round++);
	sync();
	return 0;
}

static int count_copy(struct changes *x, struct sample *s, struct err *e)
{
	const char *argv[] = {"sh", "-c",
		"find \"$0\" -type f -printf '%s %m %T@ %P\\n' | sort | cksum", x->tree, NULL};
	AUTO_STR struct str out = STR_INIT;

	if (run_program(argv, &out, e) != 0)
		return -1;
	s->digest = digest_bytes(0, out.s, out.len);
	return 0;
}

static int copy_cp(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;
	const char *argv[] = {"cp", "-a", "src", x->tree, NULL};
	int64_t begun = clock_mono_ns();

	if (run_program(argv, NULL, e) != 0)
		return err_set(e, ERR_FAILED, "cp failed");
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	return count_copy(x, s, e);
}

static int copy_by_files(void *ctx, struct sample *s, struct err *e)
{
	struct changes *x = ctx;
	struct files_copy_options o = {.keep_owner = true};
	struct files_tree_totals t;
	int64_t begun = clock_mono_ns();

	if (files_copy(x->files, x->root, "src", x->root, x->tree, &o, &t, e) < 0)
		return -1;
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	return count_copy(x, s, e);
}

static const struct bench_case cases[] = {
	WRITE(1, 0.9, "one file: no slower"),
	WRITE(10, 3, "durable writes >= 3x at 10 files"),
	WRITE(100, 5, "durable writes >= 5x at 100"),
	WRITE(1000, 6, "durable writes >= 6x at 1,000"),
	{.name = "write-100-again",
		.about = "100 files of 8 KiB replaced by new ones, durable",
		.samples = 20,
		.warmup = 1,
		.setup = setup_write_100,
		.teardown = release_changes,
		.prepare = settle_again,
		.arms = {{"write, fsync, rename, fsync dir", each_by_itself},
			{"durable batch", write_batch}, {"all-or-nothing batch", write_batch}}},
	{.name = "transform",
		.about = "one word in each of 10,000 files",
		.samples = 15,
		.warmup = 1,
		.setup = setup_transform,
		.teardown = release_changes,
		.prepare = fresh_tree,
		.arms = {{"find | xargs sed -i", transform_sed}, {"visible", transform_files},
			{"all or nothing, durable", transform_files}},
		.targets = {{"transform >= 3x over sed -i", "visible", ON_RATIO, 3, NO_BOUND}}},
	{.name = "copy",
		.about = "a tree of 20,000 files",
		.samples = 15,
		.warmup = 1,
		.setup = setup_copy,
		.teardown = release_changes,
		.prepare = next_copy,
		.arms = {{"cp -a", copy_cp}, {"engine", copy_by_files}},
		.targets = {{"copy >= 1.5x over cp -a", "engine", ON_RATIO, 1.5, NO_BOUND}}},
	{.name = NULL},
};

const struct bench_suite suite_files_change = {"files_change", cases};
