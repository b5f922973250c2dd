/* workspaces.c - measures the end of a workspace: a verified archive on disk, against tar and zstd. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "suites/files.h"

#define FILES 10000
#define FILES_SMOKE 200
#define SIZE 100000u /* bytes of a file, on average */
#define WORDS 4096u

struct ends {
	struct scratch tree, out;
	int root;
};

static uint64_t next_number(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 24;
}

/* Lines of words, some of them often: what zstd makes a third or a quarter of, as of a source. */
static void fill_words(char *text, size_t n, uint64_t seed)
{
	for (size_t at = 0; at < n;) {
		uint64_t r = next_number(&seed), word = r % WORDS & (r >> 12) % WORDS,
			 letters = word;
		size_t length = 2 + (word * 7 + 3) % 9;

		for (size_t k = 0; k < length && at < n; k++)
			text[at++] = "etaoinsrhldcumfp"[next_number(&letters) % 16];
		if (at < n)
			text[at++] = r >> 36 & 7 ? ' ' : '\n';
	}
}

static void fill_noise(char *text, size_t n, uint64_t seed)
{
	for (size_t at = 0; at < n; at++)
		text[at] = (char)next_number(&seed);
}

static int write_ends_file(
	const struct ends *x, size_t i, const char *text, size_t n, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/d%zu/file%zu", x->tree.path, i / 200, i);
	AUTO_CLOSE int fd = -1;

	if (i % 200 == 0) {
		*strrchr(path, '/') = '\0';
		if (mkdir(path, 0755) < 0)
			return err_sys(e, errno, "cannot make %s", path);
		path[strlen(path)] = '/';
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return err_sys(e, errno, "cannot write %s", path);
	return 0;
}

static int fill_ends(const struct ends *x, struct bench_run *r, struct err *e)
{
	size_t files = bench_smoke(r) ? FILES_SMOKE : FILES;
	AUTO_FREE char *text = xmalloc((size_t)2 * SIZE);

	for (size_t i = 0; i < files; i++) {
		uint64_t seed = i;
		size_t n = SIZE / 2 + next_number(&seed) % SIZE;

		if (bench_what(r)->data)
			fill_noise(text, n, seed);
		else
			fill_words(text, n, seed);
		if (write_ends_file(x, i, text, n, e) < 0)
			return -1;
	}
	return 0;
}

static void release_ends(void *ctx)
{
	struct ends *x = ctx;
	const char *argv[] = {"rm", "-rf", x->tree.path, NULL};

	if (x->root >= 0)
		close(x->root);
	if (x->tree.path[0])
		run_program(argv, NULL, NULL);
	scratch_release(&x->tree);
	scratch_release(&x->out);
	free(x);
}

static void *setup_ends(struct bench_run *r, struct err *e)
{
	struct ends *x = xcalloc(1, sizeof *x);

	x->root = -1;
	if (scratch_init(&x->tree, e) == 0 && scratch_init(&x->out, e) == 0 &&
		fill_ends(x, r, e) == 0 && chdir(x->out.path) == 0) {
		x->root = open(x->tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (!have_program("zstd") || !have_program("tar"))
			err_set(e, ERR_NOT_FOUND, "tar and zstd are not installed");
		else if (x->root >= 0)
			return x;
	}
	release_ends(x);
	return NULL;
}

static int settle_ends(void *ctx, struct err *e)
{
	(void)ctx;
	(void)e;
	unlink("a.tar.zst");
	sync();
	return 0;
}

/* What the archive holds by tar's own reading, names and lengths in any order. */
static int digest_tar(struct sample *s, struct err *e)
{
	const char *argv[] = {"tar", "--zstd", "-tvf", "a.tar.zst", NULL};
	AUTO_STR struct str out = STR_INIT;

	if (run_program(argv, &out, e) != 0)
		return err_set(e, ERR_FAILED, "tar cannot read the archive");
	for (const char *at = out.s, *end; *at; at = end + 1) {
		unsigned long long size;
		char name[64];

		end = strchr(at, '\n');
		if (*at == '-' && sscanf(at, "%*s %*s %llu %*s %*s %63s", &size, name) == 2) {
			const char *file = strrchr(name, '/');

			s->digest +=
				digest_bytes(size, file ? file : name, strlen(file ? file : name));
		}
	}
	return 0;
}

static int end_by_tar(void *ctx, struct sample *s, struct err *e)
{
	const struct ends *x = ctx;
	const char *argv[] = {
		"tar", "-I", "zstd -3 -T1", "-cf", "a.tar.zst", "-C", x->tree.path, ".", NULL};
	int64_t begun = clock_mono_ns();
	AUTO_CLOSE int fd = -1;

	if (run_program(argv, NULL, e) != 0)
		return err_set(e, ERR_FAILED, "tar failed");
	if (s->arm && ((fd = open("a.tar.zst", O_RDONLY | O_CLOEXEC)) < 0 || fsync(fd) < 0))
		return err_sys(e, errno, "cannot sync the archive");
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	return digest_tar(s, e);
}

/* With SHA-256 of every file, synced, read back and checked: as before a workspace is removed. */
static int end_by_archive(void *ctx, struct sample *s, struct err *e)
{
	const struct checkpoint_archiving how = {.name = "a", .level = 3, .threads = 1};
	const struct ends *x = ctx;
	int64_t begun = clock_mono_ns();
	AUTO_CLOSE int file = open("a.tar.zst", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct checkpoint_tree *t;

	if (file < 0)
		return err_sys(e, errno, "cannot make the archive");
	t = checkpoint_archive(x->root, file, &how, e);
	if (!t)
		return -1;
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	checkpoint_tree_free(t);
	return digest_tar(s, e);
}

static const char noise[] = "noise";

#define ARCHIVE(name_, about_, data_)                                                              \
	{                                                                                          \
		.name = (name_), .about = (about_), .samples = 9, .warmup = 1, .smoke_samples = 2, \
		.setup = setup_ends, .teardown = release_ends, .prepare = settle_ends,             \
		.data = (data_),                                                                   \
		.arms = {{"tar and zstd -3 -T1", end_by_tar},                                      \
			{"tar and zstd, then fsync", end_by_tar},                                  \
			{"archive: hashed, synced, read back", end_by_archive}},                   \
		.targets = {{"archive >= 0.95x of tar --zstd",                                     \
			"archive: hashed, synced, read back", ON_RATIO, 0.95, NO_BOUND}},          \
	}

static const struct bench_case cases[] = {
	ARCHIVE("archive", "10,000 files, 1 GB of text, into an archive", NULL),
	ARCHIVE("archive-noise", "10,000 files, 1 GB that cannot be compressed", noise),
	{.name = NULL},
};

const struct bench_suite suite_workspaces = {"workspaces", cases};
