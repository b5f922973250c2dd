/* files_scan.c - measures listing 100,000 files: the engine against nftw, find, fd, bfs and du. */
#include "bench.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "suites/files.h"

#define FILES 100000
#define FILES_SMOKE 2000

static struct files *files;
static struct files_root *root;
static const char *tree;

static void *setup(struct bench_run *r, struct err *e)
{
	tree = shared_tree(bench_smoke(r) ? FILES_SMOKE : FILES, e);
	if (!tree || chdir(tree) < 0)
		return NULL;
	files = bench_files(0, 0);
	root = files_root_open(files, ".", e);
	if (!root)
		return NULL;
	return &files;
}

static void *setup_scan_tree(const char *path, struct err *e)
{
	tree = path;
	if (!tree || chdir(tree) < 0)
		return NULL;
	files = bench_files(0, 0);
	root = files_root_open(files, ".", e);
	return root ? &files : NULL;
}

static void *setup_scan_kernel(struct bench_run *r, struct err *e)
{
	return setup_scan_tree(kernel_tree(bench_smoke(r), e), e);
}

static void *setup_scan_fastapi(struct bench_run *r, struct err *e)
{
	(void)r;
	return setup_scan_tree(fastapi_tree(e), e);
}

static void teardown(void *ctx)
{
	(void)ctx;
	files_root_close(root);
	files_close(files);
}

static int drop_scan_caches(void *ctx, struct err *e)
{
	(void)ctx;
	return drop_caches(e);
}

/* --- sizes: every arm gives the number of files and the sum of their sizes --- */

static uint64_t seen, bytes;

static int count_visited(const char *path, const struct stat *st, int type, struct FTW *w)
{
	(void)path;
	(void)w;
	if (type == FTW_F) {
		seen++;
		bytes += (uint64_t)st->st_size;
	}
	return 0;
}

static int with_nftw(void *ctx, struct sample *s, struct err *e)
{
	(void)ctx;
	seen = bytes = 0;
	if (nftw(".", count_visited, 64, FTW_PHYS) < 0)
		return err_sys(e, errno, "nftw failed");
	s->digest = seen * 1000003 + bytes;
	return 0;
}

static int with_engine(void *ctx, struct sample *s, struct err *e)
{
	struct files_scan_options o = {.meta = true};
	struct files_entry entry;
	struct files_scan *scan;

	(void)ctx;
	if (files_scan(files, root, "", &o, &scan, e) < 0)
		return -1;
	seen = bytes = 0;
	while (files_scan_next(scan, &entry))
		if (entry.type == FILES_FILE) {
			seen++;
			bytes += entry.size;
		}
	files_scan_free(scan);
	s->digest = seen * 1000003 + bytes;
	return 0;
}

/* Sum the number that begins each line. */
static int sizes_of(const char *const argv[], struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	int64_t begun = clock_mono_ns();

	if (run_program(argv, &out, e) != 0)
		return err_set(e, ERR_FAILED, "%s failed", argv[0]);
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	seen = bytes = 0;
	for (const char *at = out.s; *at; at = strchr(at, '\n') + 1) {
		seen++;
		bytes += strtoull(at, NULL, 10);
	}
	s->digest = seen * 1000003 + bytes;
	return 0;
}

static int sizes_find(void *ctx, struct sample *s, struct err *e)
{
	const char *argv[] = {"find", ".", "-type", "f", "-printf", "%s %p\n", NULL};

	(void)ctx;
	return sizes_of(argv, s, e);
}

static int sizes_bfs(void *ctx, struct sample *s, struct err *e)
{
	const char *argv[] = {"bfs", ".", "-type", "f", "-printf", "%s %p\n", NULL};

	(void)ctx;
	return sizes_of(argv, s, e);
}

/* du tells directories, too: ours are the lines of files, which all have names in .txt. */
static int sizes_du(void *ctx, struct sample *s, struct err *e)
{
	const char *argv[] = {"du", "-ab", ".", NULL};
	AUTO_STR struct str out = STR_INIT;
	int64_t begun = clock_mono_ns();

	(void)ctx;
	if (run_program(argv, &out, e) != 0)
		return err_set(e, ERR_FAILED, "du failed");
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	seen = bytes = 0;
	for (const char *at = out.s, *end; *at; at = end + 1) {
		end = strchr(at, '\n');
		if (end - at < 4 || memcmp(end - 4, ".txt", 4) != 0)
			continue;
		seen++;
		bytes += strtoull(at, NULL, 10);
	}
	s->digest = seen * 1000003 + bytes;
	return 0;
}

static int sizes_berth(void *ctx, struct sample *s, struct err *e)
{
	const char *argv[] = {berth_program(), "files", "scan", "--meta", "--type", "f", NULL};

	(void)ctx;
	return sizes_of(argv, s, e);
}

/* --- names: every arm gives the same set of paths --- */

static int names_of(const char *const argv[], struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	int64_t begun = clock_mono_ns();

	if (run_program(argv, &out, e) != 0)
		return err_set(e, ERR_FAILED, "%s failed", argv[0]);
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	for (const char *at = out.s; *at;) {
		const char *end = strchr(at, '\n');

		if (strncmp(at, "./", 2) == 0)
			at += 2;
		if (end > at && strncmp(at, ".\n", 2) != 0)
			s->digest += digest_bytes(0, at, (size_t)(end - at) - (end[-1] == '/'));
		at = end + 1;
	}
	return 0;
}

#define NAMES(arm, ...)                                                    \
	static int names_##arm(void *ctx, struct sample *s, struct err *e) \
	{                                                                  \
		const char *argv[] = {__VA_ARGS__, NULL};                  \
		(void)ctx;                                                 \
		return names_of(argv, s, e);                               \
	}
NAMES(find, "find", ".")
NAMES(bfs, "bfs", ".")
NAMES(fd, "fdfind", "--unrestricted", "--hidden")
NAMES(berth, berth_program(), "files", "scan")

/* The same on trees that people really have. */
#define REAL(name_, what, setup_)                                                            \
	{.name = name_ "-sizes",                                                             \
		.about = what ", with sizes, cached",                                        \
		.samples = 30,                                                               \
		.warmup = 2,                                                                 \
		.setup = (setup_),                                                           \
		.teardown = teardown,                                                        \
		.arms = {{"bfs", sizes_bfs}, {"berth files scan", sizes_berth},              \
			{"find", sizes_find}, {"nftw", with_nftw}, {"engine", with_engine}}, \
		.targets = {{"scans with metadata >= 1x over the best peer warm",            \
			"berth files scan", ON_RATIO, 1, NO_BOUND}}},                        \
	{                                                                                    \
		.name = name_ "-names", .about = what ", names only, cached", .samples = 30, \
		.warmup = 2, .setup = (setup_), .teardown = teardown,                        \
		.arms = {{"bfs", names_bfs}, {"berth files scan", names_berth},              \
			{"find", names_find}, {"fd", names_fd}},                             \
		.targets = {{"names only >= 1.3x over the best peer", "berth files scan",    \
			ON_RATIO, 1.3, NO_BOUND}},                                           \
	}

static const struct bench_case cases[] = {
	REAL("kernel", "the kernel's source", setup_scan_kernel),
	REAL("fastapi", "FastAPI", setup_scan_fastapi),
	{.name = "sizes-warm",
		.about = "100,000 files with their sizes, cached",
		.samples = 30,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"nftw", with_nftw}, {"engine", with_engine},
			{"berth files scan", sizes_berth}, {"find", sizes_find}, {"bfs", sizes_bfs},
			{"du", sizes_du}},
		.targets = {{"no slower than nftw warm", "engine", ON_RATIO, 1, NO_BOUND}}},
	{.name = "sizes-cold",
		.about = "100,000 files with their sizes, guest-cold",
		.samples = 15,
		.warmup = 1,
		.setup = setup,
		.teardown = teardown,
		.prepare = drop_scan_caches,
		.arms = {{"nftw", with_nftw}, {"engine", with_engine},
			{"berth files scan", sizes_berth}, {"find", sizes_find}, {"bfs", sizes_bfs},
			{"du", sizes_du}},
		.targets = {{"scans with metadata >= 5x guest-cold over nftw", "engine", ON_RATIO,
			5, NO_BOUND}}},
	{.name = "sizes-warm-peers",
		.about = "the same, over the best peer: bfs",
		.samples = 30,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"bfs", sizes_bfs}, {"berth files scan", sizes_berth},
			{"find", sizes_find}, {"du", sizes_du}},
		.targets = {{"scans with metadata >= 1x over the best peer warm",
			"berth files scan", ON_RATIO, 1, NO_BOUND}}},
	{.name = "names-warm",
		.about = "100,000 files, names only, cached, as programs",
		.samples = 30,
		.warmup = 2,
		.setup = setup,
		.teardown = teardown,
		.arms = {{"bfs", names_bfs}, {"berth files scan", names_berth},
			{"find", names_find}, {"fd", names_fd}},
		.targets = {{"names only >= 1.3x over the best peer", "berth files scan", ON_RATIO,
			1.3, NO_BOUND}}},
	{.name = NULL},
};

const struct bench_suite suite_files_scan = {"files_scan", cases};
