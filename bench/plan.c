/* plan.c - turns names and suite files into a list of cases; every error has a position. */
#include "plan.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/bench.h>
#include <berth/mem.h>

#define SUITE(name, about) extern const struct bench_suite suite_##name;
SUITES(SUITE)
#undef SUITE

const struct bench_suite *const bench_suites[] = {
#define SUITE(name, about) &suite_##name,
	SUITES(SUITE)
#undef SUITE
};
const size_t bench_nsuites = COUNT(bench_suites);

#define NAMES_MAX 256

void plan_init(struct plan *p)
{
	memset(p, 0, sizeof *p);
	arena_init(&p->mem, 4096);
}

void plan_release(struct plan *p)
{
	free(p->items);
	arena_release(&p->mem);
	plan_init(p);
	arena_release(&p->mem);
}

void plan_push(struct plan *p, const struct bench_suite *s, const struct bench_case *c, int reps)
{
	p->items = mem_grow(p->items, &p->cap, p->n + 1, sizeof *p->items);
	p->items[p->n++] = (struct planned){s, c, reps, p->file};
}

const struct bench_case *bench_find(const char *suite, const char *name)
{
	for (size_t i = 0; i < bench_nsuites; i++)
		for (const struct bench_case *c = bench_suites[i]->cases; c->name; c++)
			if (!strcmp(bench_suites[i]->name, suite) && !strcmp(c->name, name))
				return c;
	/* What a suite file made of a template: NAME-NUMBER. */
	for (const struct bench_test *t = bench_tests; t->name; t++)
		for (size_t i = 0; t->templates && t->templates[i]; i++) {
			const struct bench_case *c = t->templates[i];
			size_t len = strlen(c->name);

			if (!strcmp(t->group, suite) && !strncmp(c->name, name, len) &&
				name[len] == '-')
				return c;
		}
	return NULL;
}

void plan_all(struct plan *p)
{
	for (size_t i = 0; i < bench_nsuites; i++)
		for (const struct bench_case *c = bench_suites[i]->cases; c->name; c++)
			plan_push(p, bench_suites[i], c, 0);
}

int parse_formats(const char *word, unsigned *ret, struct err *e)
{
	static const char *const words[] = {"markdown", "json", "html", "svg", "all", NULL};
	static const unsigned bits[] = {FORMAT_MARKDOWN, FORMAT_JSON, FORMAT_HTML, FORMAT_HTML,
		FORMAT_MARKDOWN | FORMAT_JSON | FORMAT_HTML};
	const char *near;

	for (size_t i = 0; words[i]; i++)
		if (!strcmp(words[i], word)) {
			*ret |= bits[i];
			return 0;
		}
	near = nearest_word(word, words);
	return err_set(e, ERR_USAGE,
		"unknown report format `%.40s`%s%s%s: use markdown, json, html or all.", word,
		near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

/* Suite files. */

/* Like team files: who can write the file can run commands as this user. */
static int check_suite_owner(const char *path, struct err *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(e, errno, "cannot read the suite file %s", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return err_set(e, ERR_REFUSED,
			"%s belongs to another user (%u): it could name any command.  Copy it to a file "
			"of your own.",
			path, (unsigned)st.st_uid);
	if (st.st_mode & 022)
		return err_set(e, ERR_REFUSED,
			"%s can be written by others, and could name any command: chmod go-w %s",
			path, path);
	return 0;
}

static const struct bench_suite *suite_named(const char *name)
{
	for (size_t i = 0; i < bench_nsuites; i++)
		if (!strcmp(bench_suites[i]->name, name))
			return bench_suites[i];
	return NULL;
}

static int repetitions_of(const struct config *c, const struct node *test, int *ret, struct err *e)
{
	const struct node *n = node_get(test, "repetitions");
	int64_t v = 0;

	if (n && node_int(c, n, 1, REPETITIONS_MAX, &v, e) < 0)
		return -1;
	*ret = (int)v;
	return 0;
}

static int push_made(struct plan *p, const struct bench_suite *s, const struct bench_test *t,
	int64_t param, int reps)
{
	for (size_t i = 0; t->templates[i]; i++) {
		struct bench_case *made = arena_alloc(&p->mem, sizeof *made);

		*made = *t->templates[i];
		made->param = param;
		made->name =
			arena_printf(&p->mem, "%s-%lld", t->templates[i]->name, (long long)param);
		plan_push(p, s, made, reps);
	}
	return 0;
}

static int add_test(struct plan *p, const struct config *c, const struct node *test,
	const struct bench_suite *s, const struct bench_test *t, int reps, struct err *e)
{
	const char *const known[] = {"test", "repetitions", t->param, NULL};
	const struct node *list = t->param ? node_get(test, t->param) : NULL;
	size_t before = p->n;
	int64_t v;

	if (node_unknown(c, test, known, e) < 0)
		return -1;
	if (list && list->kind == NODE_SCALAR) {
		if (node_int(c, list, t->least, t->most, &v, e) < 0)
			return -1;
		push_made(p, s, t, v, reps);
	} else if (list && (list->kind != NODE_LIST || !list->n)) {
		return node_err(
			c, list, e, "`%s` must be a number or a list of numbers.", t->param);
	}
	for (size_t i = 0; list && list->kind == NODE_LIST && i < list->n; i++) {
		if (node_int(c, list->child[i], t->least, t->most, &v, e) < 0)
			return -1;
		push_made(p, s, t, v, reps);
	}
	for (size_t i = 0; t->templates && !list && t->usual[i]; i++)
		push_made(p, s, t, t->usual[i], reps);
	for (size_t i = 0; t->cases && i < bench_nsuites; i++)
		for (const struct bench_case *k = bench_suites[i]->cases; k->name; k++) {
			char path[256];

			snprintf(path, sizeof path, "%s/%s", bench_suites[i]->name, k->name);
			if (fnmatch(t->cases, path, 0) == 0)
				plan_push(p, bench_suites[i], k, reps);
		}
	return p->n > before
		? 0
		: node_err(c, test, e, "the test `%s` is not part of this program.", t->name);
}

/* Case names are spelt with dashes; people also write underscores. */
static bool same_word(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr("-_", *a) && strchr("-_", *b)))
			return false;
	return *a == *b;
}

static int read_planned(struct plan *p, const struct config *c, const struct node *group,
	const struct node *test, struct err *e)
{
	static const char *const own_keys[] = {"test", "repetitions", NULL};
	const struct bench_suite *suite = suite_named(group->key);
	const struct node *name = test->kind == NODE_MAP ? node_get(test, "test") : NULL;
	const char *names[NAMES_MAX], *near;
	struct bench_suite *made;
	size_t n = 0;
	int reps;

	if (!name || name->kind != NODE_SCALAR)
		return node_err(c, test, e, "each entry must begin with `test: NAME`.");
	made = arena_alloc(&p->mem, sizeof *made);
	*made = (struct bench_suite){arena_strdup(&p->mem, group->key), NULL};
	if (!strcmp(name->value, "command"))
		return own_case(p, c, test, made, e);
	if (repetitions_of(c, test, &reps, e) < 0)
		return -1;
	for (const struct bench_test *t = bench_tests; t->name; t++) {
		if (strcmp(t->group, group->key) != 0)
			continue;
		if (!strcmp(t->name, name->value))
			return add_test(p, c, test, made, t, reps, e);
		if (n + 2 < NAMES_MAX)
			names[n++] = t->name;
	}
	for (const struct bench_case *k = suite ? suite->cases : NULL; k && k->name; k++) {
		if (same_word(k->name, name->value)) {
			plan_push(p, suite, k, reps);
			return node_unknown(c, test, own_keys, e);
		}
		if (n + 2 < NAMES_MAX)
			names[n++] = k->name;
	}
	names[n++] = "command";
	names[n] = NULL;
	near = nearest_word(name->value, names);
	return node_err(c, name, e,
		n == 1 ? "`%.60s` is neither a group of tests nor a suite, so its tests are `command`; "
			 "`berth bench list` names the others.%.0s%.0s%.0s"
		       : "the group `%.60s` has no test `%.60s`%s%s%s; `berth bench list` lists them.",
		group->key, name->value, near ? " (did you mean " : "", near ? near : "",
		near ? "?)" : "");
}

static int read_report(struct plan *p, const struct config *c, const struct node *r, struct err *e)
{
	static const char *const known[] = {"format", "compare_to", "threshold", NULL};
	const struct node *n;

	if (r->kind != NODE_MAP)
		return node_err(c, r, e,
			"`report` must be a map with the keys format, compare_to and threshold.");
	if (node_unknown(c, r, known, e) < 0)
		return -1;
	if ((n = node_get(r, "format"))) {
		struct err why = ERR_INIT;
		size_t count = n->kind == NODE_LIST ? n->n : 1;

		for (size_t i = 0; i < count; i++) {
			const struct node *one = n->kind == NODE_LIST ? n->child[i] : n;

			if (one->kind != NODE_SCALAR ||
				parse_formats(one->value, &p->formats, &why) < 0)
				return node_err(c, one, e, "%s",
					why.kind ? why.msg
						 : "a format must be one word or a list of words.");
		}
	}
	if ((n = node_get(r, "compare_to"))) {
		if (n->kind != NODE_SCALAR || !*n->value)
			return node_err(
				c, n, e, "`compare_to` must be a version, a commit or a day.");
		p->compare_to = arena_strdup(&p->mem, n->value);
	}
	n = node_get(r, "threshold");
	return n ? node_double(c, n, 0.01, 1, &p->threshold, e) : 0;
}

static bool go_on(const struct plan *p, struct err *e)
{
	if (!p->found)
		return false;
	p->found(p->found_ctx, e);
	*e = (struct err)ERR_INIT;
	return true;
}

static int read_suites(struct plan *p, const struct config *c, struct err *e)
{
	static const char *const known[] = {"benchmarks", "report", NULL};
	const struct node *groups = node_get(c->root, "benchmarks");
	const struct node *report = node_get(c->root, "report");

	if (node_unknown(c, c->root, known, e) < 0)
		return -1;
	if (!groups || groups->kind != NODE_MAP || !groups->n)
		return node_err(c, groups ? groups : c->root, e,
			"a suite file needs a map `benchmarks:` of groups of tests.");
	for (size_t i = 0; i < groups->n; i++) {
		const struct node *g = groups->child[i];

		if (g->kind != NODE_LIST || !g->n) {
			node_err(
				c, g, e, "`%.60s` must be a list of tests (- test: NAME).", g->key);
			if (!go_on(p, e))
				return -1;
		}
		for (size_t k = 0; g->kind == NODE_LIST && k < g->n; k++)
			if (read_planned(p, c, g, g->child[k], e) < 0 && !go_on(p, e))
				return -1;
	}
	return report ? read_report(p, c, report, e) : 0;
}

static int add_file(struct plan *p, const char *path, struct err *e)
{
	AUTO_FREE char *whole = NULL;
	struct config c;
	int rc;

	if (check_suite_owner(path, e) < 0 || config_read(path, &c, e) < 0)
		return -1;
	whole = realpath(path, NULL);
	p->file = arena_strdup(&p->mem, whole ? whole : path);
	rc = read_suites(p, &c, e);
	p->file = NULL;
	config_release(&c);
	return rc;
}

static bool is_file(const char *word)
{
	const char *dot = strrchr(word, '.');
	struct stat st;

	return (dot && (!strcmp(dot, ".yaml") || !strcmp(dot, ".yml"))) ||
		(stat(word, &st) == 0 && S_ISREG(st.st_mode));
}

int plan_add(struct plan *p, const char *word, struct err *e)
{
	const char *slash = strchr(word, '/'), *near, *names[NAMES_MAX];
	size_t len = slash ? (size_t)(slash - word) : strlen(word), n = 0, before = p->n;
	char own[PATH_MAX];

	if (access(word, F_OK) != 0 && !suite_named(word) && own_suite_path(word, own, sizeof own))
		return add_file(p, own, e);
	if (is_file(word))
		return add_file(p, word, e);
	for (size_t i = 0; i < bench_nsuites; i++) {
		const struct bench_suite *s = bench_suites[i];

		names[n++] = s->name;
		if (strncmp(s->name, word, len) != 0 || s->name[len])
			continue;
		for (const struct bench_case *c = s->cases; c->name; c++) {
			if (!slash || same_word(c->name, slash + 1))
				plan_push(p, s, c, 0);
			if (slash && n + 1 < NAMES_MAX)
				names[n++] = c->name;
		}
	}
	if (p->n > before)
		return 0;
	names[n] = NULL;
	near = nearest_word(slash ? slash + 1 : word, names);
	return err_set(e, ERR_USAGE,
		"there is neither a benchmark nor a file `%.80s`%s%s%s; `berth bench list` names all.",
		word, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}
