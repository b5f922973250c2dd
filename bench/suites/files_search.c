/* files_search.c - measures searching 100,000 small files and a few large ones: berth, ripgrep and grep. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "suites/files.h"

static const char *tree;

static void *setup(struct bench_run *r, struct err *e)
{
	if (!have_program("rg"))
		return err_null(err_set(e, ERR_NOT_FOUND, "there is no ripgrep here"));
	tree = shared_tree(bench_smoke(r) ? 2000 : 100000, e);
	return tree && chdir(tree) == 0 ? &tree : NULL;
}

static int drop_search_caches(void *ctx, struct err *e)
{
	(void)ctx;
	return drop_caches(e);
}

/* Every arm prints path:line:text; the set of these is the result. */
static int hits_of(const char *const argv[], struct sample *s, struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	int64_t begun = clock_mono_ns();

	if (run_program(argv, &out, e) > 1)
		return err_set(e, ERR_FAILED, "%s failed", argv[0]);
	s->seconds = (double)(clock_mono_ns() - begun) / 1e9;
	for (const char *at = out.s; *at;) {
		const char *end = strchr(at, '\n');

		if (strncmp(at, "./", 2) == 0)
			at += 2;
		s->digest += digest_bytes(0, at, (size_t)(end - at));
		at = end + 1;
	}
	return 0;
}

#define ARM(name, ...)                                              \
	static int name(void *ctx, struct sample *s, struct err *e) \
	{                                                           \
		const char *argv[] = {__VA_ARGS__, NULL};           \
		(void)ctx;                                          \
		return hits_of(argv, s, e);                         \
	}
/* Words that the generated text holds rarely: a few hundred hits. */
#define LITERAL "needle of"
#define REGEX "needle [o-q][a-g] \\w+ 7[0-9]"
ARM(literal_rg, "rg", "--no-config", "-uu", "-n", "--no-heading", "--max-columns=0", LITERAL, ".")
ARM(literal_grep, "grep", "-rnI", LITERAL, ".")
ARM(literal_berth, berth_program(), "files", "search", "--all", LITERAL)
ARM(regex_rg, "rg", "--no-config", "-uu", "-n", "--no-heading", "--max-columns=0", REGEX, ".")
ARM(regex_grep, "grep", "-rnIP", REGEX, ".")
ARM(regex_berth, berth_program(), "files", "search", "--all", "-E", REGEX)

/* The same on trees that people really have. */
#define REAL_ARMS(which, literal)                                                            \
	ARM(which##_rg, "rg", "--no-config", "-uu", "-n", "--no-heading", "--max-columns=0", \
		literal, ".")                                                                \
	ARM(which##_grep, "grep", "-rnIP", literal, ".")
REAL_ARMS(kernel_literal, "spin_lock_irqsave")
REAL_ARMS(kernel_regex, "static const struct [a-z]+_device_id \\w+\\[\\]")
REAL_ARMS(fastapi_literal, "Depends")
REAL_ARMS(fastapi_regex, "def [a-z]+_[a-z]+\\(\\w+")
ARM(kernel_literal_berth, berth_program(), "files", "search", "--all", "spin_lock_irqsave")
ARM(kernel_regex_berth, berth_program(), "files", "search", "--all", "-E",
	"static const struct [a-z]+_device_id \\w+\\[\\]")
ARM(fastapi_literal_berth, berth_program(), "files", "search", "--all", "Depends")
ARM(fastapi_regex_berth, berth_program(), "files", "search", "--all", "-E",
	"def [a-z]+_[a-z]+\\(\\w+")

static void *setup_search_tree(const char *path, struct err *e)
{
	if (path && !have_program("rg"))
		return err_null(err_set(e, ERR_NOT_FOUND, "there is no ripgrep here"));
	tree = path;
	return tree && chdir(tree) == 0 ? &tree : NULL;
}

static void *setup_search_kernel(struct bench_run *r, struct err *e)
{
	return setup_search_tree(kernel_tree(bench_smoke(r), e), e);
}

static void *setup_search_fastapi(struct bench_run *r, struct err *e)
{
	(void)r;
	return setup_search_tree(fastapi_tree(e), e);
}

#define REAL(name_, what, setup_, which)                                                          \
	{                                                                                         \
		.name = (name_), .about = "search in " what ", warm", .samples = 30, .warmup = 1, \
		.setup = (setup_),                                                                \
		.arms = {{"ripgrep", which##_rg}, {"berth files search", which##_berth},          \
			{"grep -r", which##_grep}},                                               \
		.targets = {{"search >= 1x over ripgrep", "berth files search", ON_RATIO, 1,      \
			NO_BOUND}},                                                               \
	}

#define CASE(which, how, n, prepare_)                                                        \
	{                                                                                    \
		.name = #which "-" how, .about = #which " search in 100,000 files, " how,    \
		.samples = (n), .warmup = 1, .setup = setup, .prepare = (prepare_),          \
		.arms = {{"ripgrep", which##_rg}, {"berth files search", which##_berth},     \
			{"grep -r", which##_grep}},                                          \
		.targets = {{"search >= 1x over ripgrep", "berth files search", ON_RATIO, 1, \
			NO_BOUND}},                                                          \
	}

static const struct bench_case cases[] = {
	CASE(literal, "warm", 30, NULL),
	CASE(regex, "warm", 30, NULL),
	CASE(literal, "cold", 15, drop_search_caches),
	CASE(regex, "cold", 15, drop_search_caches),
	REAL("kernel-literal", "the kernel's source", setup_search_kernel, kernel_literal),
	REAL("kernel-regex", "the kernel's source", setup_search_kernel, kernel_regex),
	REAL("fastapi-literal", "FastAPI", setup_search_fastapi, fastapi_literal),
	REAL("fastapi-regex", "FastAPI", setup_search_fastapi, fastapi_regex),
	{.name = NULL},
};

const struct bench_suite suite_files_search = {"files_search", cases};
