/* checkpoints.c - measures what is done to workspaces while they live, by berth's commands, against cp, rsync, diff and rm. */
#include "bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "suites/files.h"

#define CHANGED 20 /* files between two checkpoints */
#define FORKS "10"
#define SMOKE_FILES 200

/* A source tree of about 20,000 entries and 200 MB: these directories of a kernel's source. */
#define SOURCE_DIRS "Documentation include fs net kernel"

enum work { CREATE, FIRST, NEXT, BACK, FORK, DIFF, REMOVE, COUNT_COLD, COUNT_CACHED };

struct living {
	struct scratch data, copy;
	char files[PATH_MAX]; /* the task's */
	enum work work;
	unsigned round; /* of changes, names and copies */
	bool smoke;
};

/* ---- programs, with a home of the case's own */

static const char *const places[] = {"XDG_DATA_HOME", "XDG_STATE_HOME"};

static int run_here(const struct living *x, const char *const argv[], struct err *e)
{
	char *before[COUNT(places)];
	AUTO_STR struct str out = STR_INIT;
	int rc;

	for (size_t i = 0; i < COUNT(places); i++) {
		const char *was = getenv(places[i]);

		before[i] = was ? xstrdup(was) : NULL;
		setenv(places[i], x->data.path, 1);
	}
	rc = run_program(argv, &out, e);
	for (size_t i = 0; i < COUNT(places); i++) {
		set_or_unset(places[i], before[i]);
		free(before[i]);
	}
	return rc;
}

static int need(const struct living *x, const char *const argv[], struct err *e)
{
	int rc = run_here(x, argv, e);

	return rc == 0 ? 0
		       : err_set(e, ERR_FAILED, "%s %s %s: exit %d", argv[0],
				 argv[1] ? argv[1] : "", argv[1] && argv[2] ? argv[2] : "", rc);
}

#define NEED(x, e, ...) need((x), (const char *const[]){__VA_ARGS__, NULL}, (e))
#define BERTH(x, e, ...) NEED(x, e, berth_program(), "workspace", __VA_ARGS__)

static int shell(const struct living *x, struct err *e, char *command)
{
	AUTO_FREE char *given = command;

	return NEED(x, e, "sh", "-c", given);
}

/* ---- what is worked on */

static int fill_task(struct living *x, struct err *e)
{
	const char *from = x->smoke ? shared_tree(SMOKE_FILES, e) : kernel_tree(false, e);

	if (!from || BERTH(x, e, "create", "task", "t"))
		return -1;
	snprintf(x->files, sizeof x->files, "%s/berth/workspaces/tasks/t/files", x->data.path);
	if (x->work == DIFF || x->work == REMOVE || x->work == CREATE)
		return 0;
	if (x->smoke)
		return shell(x, e, xasprintf("cp -a %s/. %s", from, x->files));
	return shell(x, e,
		xasprintf("cd %s/linux-source-* && cp -a " SOURCE_DIRS " %s", from, x->files));
}

/* So many files of about 1 KiB below `dir`, which is made. */
static int make_files(const struct living *x, const char *dir, size_t n, struct err *e)
{
	return shell(x, e,
		xasprintf(
			"mkdir -p %s && cd %s && seq %zu | awk '{d = \"d\" int($1 / 200); if (d != last) { "
			"system(\"mkdir -p \" d); last = d } f = d \"/f\" $1; for (i = 0; i < 40; i++) print "
			"\"line \" i \" of \" $1 > f; close(f)}'",
			dir, dir, n));
}

/* What the other programs keep. */
static const char *copy_path(const struct living *x, const char *name, char buf[PATH_MAX])
{
	snprintf(buf, PATH_MAX, "%.2000s/%s", x->copy.path, name);
	return buf;
}

static int change_some(struct living *x, struct err *e)
{
	x->round++;
	return shell(x, e,
		xasprintf(
			"find %s -type f -size -40k | sort | head -n 4000 | awk 'NR %% 200 == 1' | head -n %d | "
			"while read -r f; do echo 'change %u' >>\"$f\"; done",
			x->files, CHANGED, x->round));
}

static int prepare_diff(struct living *x, struct err *e)
{
	size_t n = x->smoke ? 1000 : 100000;
	char copy[PATH_MAX];

	if (make_files(x, x->files, n, e) ||
		NEED(x, e, "cp", "-a", x->files, copy_path(x, "before", copy)) ||
		BERTH(x, e, "checkpoint", "t", "before"))
		return -1;
	return shell(x, e,
		       xasprintf(
			       "cd %s && for i in 1 201 401 601; do echo changed >>d$((i / 200))/f$i; done",
			       x->files)) ||
			NEED(x, e, "cp", "-a", x->files, copy_path(x, "after", copy)) ||
			BERTH(x, e, "checkpoint", "t", "after")
		? -1
		: 0;
}

static int prepare_many(struct living *x, struct err *e)
{
	size_t n = x->smoke ? 20 : 1000;

	return shell(x, e,
		xasprintf(
			"for i in $(seq %zu); do '%s' workspace create task w$i >/dev/null && cp -a %s/one/d0/. "
			"%s/berth/workspaces/tasks/w$i/files; done",
			n, berth_program(), x->copy.path, x->data.path));
}

static void release_living(void *ctx)
{
	struct living *x = ctx;
	const char *argv[] = {"rm", "-rf", x->data.path, x->copy.path, NULL};

	if (x->data.path[0])
		run_program(argv, NULL, NULL);
	scratch_release(&x->data);
	scratch_release(&x->copy);
	free(x);
}

static int set_up(struct living *x, struct err *e)
{
	char copy[PATH_MAX];

	if (!berth_program())
		return err_set(e, ERR_NOT_FOUND, "berth is not next to this program");
	if (scratch_init(&x->data, e) || scratch_init(&x->copy, e) || fill_task(x, e))
		return -1;
	switch (x->work) {
	case CREATE:
	case FIRST:
	case FORK:
	case REMOVE: return 0;
	case NEXT: return BERTH(x, e, "checkpoint", "t", "c0");
	case BACK:
		return BERTH(x, e, "checkpoint", "t", "start") ||
				NEED(x, e, "cp", "-a", x->files, copy_path(x, "start", copy))
			? -1
			: 0;
	case DIFF: return prepare_diff(x, e);
	case COUNT_COLD:
	case COUNT_CACHED:
		return make_files(x, copy_path(x, "one", copy), 99, e) || prepare_many(x, e) ? -1
											     : 0;
	}
	return 0;
}

static void *setup_living(struct bench_run *r, struct err *e)
{
	struct living *x = xcalloc(1, sizeof *x);

	x->work = *(const enum work *)bench_what(r)->data;
	x->smoke = bench_smoke(r);
	if (set_up(x, e) == 0)
		return x;
	release_living(x);
	return NULL;
}

/* ---- before each sample */

static int prepare_living(void *ctx, struct err *e)
{
	struct living *x = ctx;
	char copy[PATH_MAX];

	switch (x->work) {
	case FIRST:
		return shell(x, e,
			xasprintf("rm -rf %s/first %s/berth/checkpoints/tasks/t", x->copy.path,
				x->data.path));
	case NEXT:
	case BACK: return change_some(x, e);
	case FORK:
		return shell(x, e,
			xasprintf("rm -rf %s/fork* %s/berth/workspaces/tasks/t-* "
				  "%s/berth/checkpoints/tasks/t-*",
				x->copy.path, x->data.path, x->data.path));
	case REMOVE:
		return make_files(x, copy_path(x, "removed", copy), x->smoke ? 1000 : 100000, e);
	case COUNT_COLD:
		return shell(x, e, xasprintf("rm -rf %s/berth/workspaces/.usage", x->data.path)) ||
				drop_caches(e)
			? -1
			: 0;
	case CREATE:
	case DIFF:
	case COUNT_CACHED: break;
	}
	return 0;
}

/* ---- the arms */

static int by_others(void *ctx, struct sample *s, struct err *e)
{
	struct living *x = ctx;
	char copy[PATH_MAX], other[PATH_MAX];

	s->digest = 1;
	switch (x->work) {
	case CREATE:
		copy_path(x, "made", copy);
		snprintf(other, sizeof other, "%.2000s/made%u", x->copy.path, x->round++);
		return shell(x, e,
			xasprintf(
				"mkdir -p %s/output %s/files %s/logs && : >%s/context.json && : >%s/prompt.md",
				other, other, other, other, other));
	case FIRST:
		return NEED(
			x, e, "cp", "-a", "--reflink=auto", x->files, copy_path(x, "first", copy));
	case NEXT:
		snprintf(other, sizeof other, "%.3000s/", x->files);
		return NEED(x, e, "rsync", "-a", "--delete", other, copy_path(x, "next", copy));
	case BACK:
		return NEED(
			x, e, "rsync", "-a", "--delete", copy_path(x, "start/", copy), x->files);
	case FORK:
		return shell(x, e,
			xasprintf("for i in $(seq " FORKS
				  "); do cp -a --reflink=auto %s %s/fork$i; done",
				x->files, x->copy.path));
	case DIFF:
		return shell(x, e,
			xasprintf("diff -rq %s/before %s/after >/dev/null; [ $? = 1 ]",
				x->copy.path, x->copy.path));
	case REMOVE: return NEED(x, e, "rm", "-rf", copy_path(x, "removed", copy));
	case COUNT_COLD:
	case COUNT_CACHED:
		snprintf(other, sizeof other, "%.3000s/berth/workspaces/tasks", x->data.path);
		return NEED(x, e, "du", "-s", "--inodes", other);
	}
	return 0;
}

static int by_berth(void *ctx, struct sample *s, struct err *e)
{
	struct living *x = ctx;
	char name[32], copy[PATH_MAX];

	s->digest = 1;
	snprintf(name, sizeof name, "n%u", x->round++);
	switch (x->work) {
	case CREATE: return BERTH(x, e, "create", "task", name);
	case FIRST:
	case NEXT: return BERTH(x, e, "checkpoint", "t", name);
	case BACK: return BERTH(x, e, "restore", "t", "start");
	case FORK: return BERTH(x, e, "fork", "t", FORKS);
	case DIFF: return BERTH(x, e, "diff", "t@before", "t@after", "--stat");
	case REMOVE:
		return NEED(x, e, berth_program(), "files", "delete", "--recursive",
			copy_path(x, "removed", copy));
	case COUNT_COLD: return BERTH(x, e, "usage");
	case COUNT_CACHED: return BERTH(x, e, "usage", "--cached");
	}
	return 0;
}

static const enum work works[] = {
	CREATE, FIRST, NEXT, BACK, FORK, DIFF, REMOVE, COUNT_COLD, COUNT_CACHED};

#define AT_MOST(sentence_, seconds_)                                        \
	{                                                                   \
		{                                                           \
			sentence_, "berth", ON_MEDIAN, NO_BOUND, (seconds_) \
		}                                                           \
	}
#define RATIO(sentence_, ratio_)                                         \
	{                                                                \
		{                                                        \
			sentence_, "berth", ON_RATIO, (ratio_), NO_BOUND \
		}                                                        \
	}

#define LIVING(name_, about_, work_, samples_, other_, ...)                                 \
	{                                                                                   \
		.name = (name_), .about = (about_), .samples = (samples_), .warmup = 1,     \
		.smoke_samples = 2, .setup = setup_living, .teardown = release_living,      \
		.prepare = prepare_living, .data = &works[work_],                           \
		.arms = {{other_, by_others}, {"berth", by_berth}}, .targets = __VA_ARGS__, \
	}

static const struct bench_case cases[] = {
	LIVING("create", "a task", CREATE, 200, "mkdir and touch by sh",
		AT_MOST("create without git <= 5 ms p50", 0.005)),
	LIVING("first", "the first checkpoint of 20,000 entries, 200 MB", FIRST, 9,
		"cp -a --reflink=auto", AT_MOST("first checkpoint <= 1 s", 1)),
	LIVING("next", "the next one, 20 files changed", NEXT, 9, "rsync -a --delete",
		AT_MOST("the next with 20 changed files <= 150 ms", 0.15)),
	LIVING("restore", "going back to one, 20 files changed", BACK, 9, "rsync -a --delete",
		AT_MOST("restore of it <= 300 ms", 0.3)),
	LIVING("fork", "ten copies of that tree", FORK, 5, "cp -a --reflink=auto, ten times",
		AT_MOST("fork of 10 <= 3 s", 3)),
	LIVING("diff", "two checkpoints of 100,000 files", DIFF, 9, "diff -rq",
		AT_MOST("diff of two checkpoints of 100,000 files <= 1 s", 1)),
	LIVING("remove", "100,000 files", REMOVE, 5, "rm -rf",
		RATIO("removal of 100,000 files >= 1.3x rm -rf", 1.3)),
	LIVING("usage-cold", "the size of 1,000 tasks with 100 files each", COUNT_COLD, 5,
		"du -s --inodes", RATIO("cold >= 3x du", 3)),
	LIVING("usage-cached", "the same, known", COUNT_CACHED, 20, "du -s --inodes",
		AT_MOST("1,000 workspaces x 100 files from cache <= 10 ms", 0.01)),
	{.name = NULL},
};

const struct bench_suite suite_checkpoints = {"checkpoints", cases};
