/*
 * areas.c - who may read and change what: each rule on each kind of path, spelt in each way.
 *
 * The tree, of which the first is the agent's workspace, the others are granted:
 *   ws/            to change          ws/fixed  protected        ws/fixed/open  granted again, so to change
 *   docs/          to read            docs/draft  to change      docs/one.txt   a file, to read
 *   ctx/           to change          ctx/kept  protected        ctx/kept.txt   a protected file
 *   lib/.git       to change: a grant of its own of a name that is kept elsewhere
 *   temp/          outputs of others, to read
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/policy.h>

#include "lib/tree.h"
#include "mcp/areas.h"
#include "mcp/server.h"

/* What may be done with a path, by the three uses: 'r' read, 'w' change, 't' move or delete; "": out of reach. */
struct area_case {
	const char *path, *may;
};

static const struct area_case cases[] = {
	/* depth: the deepest that was given decides */
	{"ws", "rw"},
	{"ws/a", "rwt"},
	{"ws/deep/er/a", "rwt"},
	{"ws/fixed", "r"},
	{"ws/fixed/a", "r"},
	{"ws/fixed/deep/er/a", "r"},
	{"ws/fixed/open", "rw"},
	{"ws/fixed/open/a", "rwt"},
	{"docs", "r"},
	{"docs/a", "r"},
	{"docs/deep/er/a", "r"},
	{"docs/draft", "rw"},
	{"docs/draft/a", "rwt"},
	{"docs/draft/deep/er", "rwt"},
	{"ctx", "rw"},
	{"ctx/a", "rwt"},
	{"ctx/deep/er/a", "rwt"},
	{"ctx/kept", "r"},
	{"ctx/kept/a", "r"},
	{"temp", "r"},
	{"temp/other/out", "r"},
	/* an exact file before its directory */
	{"docs/one.txt", "r"},
	{"ctx/kept.txt", "r"},
	/* what holds one that stays as it is does not go */
	{"ws/deep", "rwt"},
	{"ctx/deep", "rwt"},
	/* a name that begins with that of an area is another */
	{"wsx", ""},
	{"ws2/a", ""},
	{"w", ""},
	{"ws/fixedx", "rwt"},
	{"ws/fixed2/a", "rwt"},
	{"ws/fixe", "rwt"},
	{"docs/drafts", "r"},
	{"docs/draf", "r"},
	{"docsx/a", ""},
	{"ctx/keptx", "rwt"},
	{"ctx/kept.txt2", "rwt"},
	{"ctx/kept.tx", "rwt"},
	{"ctxx", ""},
	{"temporary", ""},
	/* case counts */
	{"WS/a", ""},
	{"Ws", ""},
	{"ws/FIXED/a", "rwt"},
	{"ws/Fixed", "rwt"},
	{"DOCS/a", ""},
	{"docs/DRAFT/a", "r"},
	{"docs/One.txt", "r"},
	{"ctx/KEPT/a", "rwt"},
	{"ctx/Kept.txt", "rwt"},
	{"ctx/.GIT/config", "rwt"},
	{"ctx/Node_Modules/x", "rwt"},
	/* names that are kept outside of the workspace, as file, as directory, far down */
	{"ctx/.git", "r"},
	{"ctx/.git/config", "r"},
	{"ctx/.git/hooks/post-commit", "r"},
	{"ctx/deep/er/.git/config", "r"},
	{"ctx/.env", "r"},
	{"ctx/deep/.env", "r"},
	{"ctx/.massgen/x", "r"},
	{"ctx/node_modules/a/index.js", "r"},
	{"ctx/deep/node_modules", "r"},
	{"ctx/__pycache__/a.pyc", "r"},
	{"ctx/.venv/bin/python", "r"},
	{"ctx/venv/bin/python", "r"},
	{"ctx/.pytest_cache/x", "r"},
	{"ctx/.mypy_cache/x", "r"},
	{"ctx/.ruff_cache/x", "r"},
	{"ctx/.DS_Store", "r"},
	{"ctx/massgen_logs/x", "r"},
	{"docs/draft/.git/config", "r"},
	{"docs/draft/node_modules/x", "r"},
	{"docs/draft/.env", "r"},
	{"ctx/.git/node_modules/.env", "r"},
	{"ctx/kept/.git", "r"},
	{"ctx/deep/er/massgen_logs", "r"},
	/* and what only looks like one */
	{"ctx/.gitignore", "rwt"},
	{"ctx/.github/workflows/a", "rwt"},
	{"ctx/.env.example", "rwt"},
	{"ctx/.environment", "rwt"},
	{"ctx/my.env", "rwt"},
	{"ctx/git/config", "rwt"},
	{"ctx/node_modules2/a", "rwt"},
	{"ctx/my_node_modules", "rwt"},
	{"ctx/venvs/a", "rwt"},
	{"ctx/build/a", "rwt"},
	{"ctx/dist/a", "rwt"},
	{"ctx/notes.next", "rwt"},
	/* in the workspace they are the agent's */
	{"ws/.git", "rwt"},
	{"ws/.git/config", "rwt"},
	{"ws/.env", "rwt"},
	{"ws/node_modules/a", "rwt"},
	{"ws/__pycache__", "rwt"},
	{"ws/deep/.venv/x", "rwt"},
	{"ws/fixed/.git/config", "r"},
	/* a grant of its own */
	{"lib/.git", "rw"},
	{"lib/.git/config", "rwt"},
	{"lib/.git/deep/node_modules", "r"},
	{"lib", ""},
	{"lib/src", ""},
	/* to read they are as any */
	{"docs/.git/config", "r"},
	{"temp/.env", "r"},
	/* what nobody was given */
	{"", ""},
	{"other", ""},
	{"other/ws/a", ""},
	{"etc/passwd", ""},
	{"proc/self/environ", ""},
};

/* The same place in other words. */
static const struct {
	const char *before, *behind;
} spellings[] = {{"", ""}, {"", "/"}, {"", "//"}, {"", "/."}, {"./", ""}, {"/", ""}, {"ws/../", ""},
	{"nowhere/../", ""}, {"ws/fixed/../../", "/./"}, {"", "/nowhere/.."}};

static const enum reach_use uses[] = {REACH_READ, REACH_WRITE, REACH_TREE};

static struct reach reach;
static struct files *engine;
static struct policy policy;

static const char *const made[] = {"ws/deep/er", "ws/fixed/open", "docs/draft", "docs/deep/er",
	"ctx/deep/er", "ctx/kept", "lib/.git", "temp/other", "wsx", "other"};

/* As long as the test runs. */
static const char *keep_path(const char *name)
{
	static char paths[16][PATH_MAX];
	static size_t n;

	assert_true(n < 16);
	snprintf(paths[n], PATH_MAX, "%s", tree_path(name));
	return paths[n++];
}

static int setup_areas(void **state)
{
	const char *of_ws[] = {keep_path("ws/fixed")};
	const char *of_ctx[] = {keep_path("ctx/kept"), keep_path("ctx/kept.txt")};
	struct path_grant grants[] = {
		{.path = keep_path("ws"), .write = true, .protected_paths = {1, of_ws}},
		{.path = keep_path("ws/fixed/open"), .write = true},
		{.path = keep_path("docs")},
		{.path = keep_path("docs/draft"), .write = true},
		{.path = keep_path("docs/one.txt")},
		{.path = keep_path("ctx"), .write = true, .protected_paths = {2, of_ctx}},
		{.path = keep_path("lib/.git"), .write = true},
	};
	struct agent_def a = {.id = "a",
		.temporary = keep_path("temp"),
		.npaths = sizeof grants / sizeof *grants,
		.paths = grants};
	struct err e = ERR_INIT;

	(void)state;
	a.workspace = keep_path("ws");
	engine = files_open(&(struct files_options){.program = "test"});
	return reach_open(&reach, &a, &policy, engine, &e) ? (print_error("%s\n", e.msg), -1) : 0;
}

static int make_areas(void **state)
{
	tree_make("areas");
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		tree_mkdirs(made[i]);
	tree_text("docs/one.txt", "one\n");
	tree_text("ctx/kept.txt", "kept\n");
	return setup_areas(state);
}

static int remove_areas(void **state)
{
	(void)state;
	reach_close(&reach);
	files_close(engine);
	tree_remove();
	return 0;
}

static void judge_case(const struct area_case *x, const char *path, size_t use)
{
	struct place_in p;
	struct err e = ERR_INIT;
	bool wanted = strchr(x->may, "rwt"[use]) && *x->may;
	bool may = reach_find(&reach, path, uses[use], &p, &e) == 0;

	if (may != wanted)
		fail_msg("%s, by '%c': %s", path, "rwt"[use], may ? "allowed" : e.msg);
	if (!may)
		assert_int_equal(e.kind, ERR_REFUSED);
	else if (uses[use] != REACH_READ && !p.area->own)
		assert_ptr_equal(p.root, p.area->strict); /* through no link */
}

static void test_each(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t use = 0; use < 3; use++, n++)
			judge_case(&cases[i], tree_path(cases[i].path), use);
	assert_true(n >= 300);
}

static void test_each_in_other_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (size_t k = 0; k < sizeof spellings / sizeof *spellings; k++)
			for (size_t use = 0; use < 3; use++) {
				char said[PATH_MAX], path[PATH_MAX];

				snprintf(said, sizeof said, "%s%s%s", spellings[k].before,
					cases[i].path, spellings[k].behind);
				snprintf(path, sizeof path, "%s/%s", tree_top, said);
				judge_case(&cases[i], path, use);
				snprintf(path, sizeof path, "../%s", said); /* from the workspace */
				judge_case(&cases[i], path, use);
			}
}

static void test_what_is_no_path(void **state)
{
	AUTO_FREE char *deep = malloc(2 * REACH_PATH + 1), *name = malloc(300);
	struct place_in p;
	struct err e = ERR_INIT;

	(void)state;
	memset(deep, 0, 2 * REACH_PATH + 1);
	for (size_t i = 0; i < REACH_PATH; i++)
		memcpy(deep + 2 * i, "a/", 2);
	memset(name, 'a', 299);
	name[299] = '\0';
	for (size_t use = 0; use < 3; use++) {
		const char *const none[] = {"", deep, name};

		for (size_t i = 0; i < 3; i++) {
			e = (struct err)ERR_INIT;
			assert_int_equal(reach_find(&reach, none[i], uses[use], &p, &e), -1);
			assert_int_equal(e.kind, ERR_USAGE);
		}
	}
	for (int i = 0; i < 50; i++) /* nothing is above the root */
		assert_int_equal(reach_find(&reach, "../../../../../../../../../../etc/passwd",
					 REACH_READ, &p, &e),
			-1);
}

/* MassGen's: what is read or written may be deleted, and of a path the whole counts, not how it ends. */
static void test_reads(void **state)
{
	static const char *const seen[] = {"/w/a", "/w/build/a", "/w/dist/a", "/w/notes"};
	static const char *const others[] = {"/w", "/w/", "/w/a/", "/w/ab", "/w/A", "/w/build",
		"/w/build/b", "/w/dist/b", "/w/notes.next", "/w/.next/notes", "a", "/a", "/w2/a",
		"/w/target/a", "/w/a.pyc"};
	struct read_files *r = reads_new();
	char name[4001] = "", number[16];

	(void)state;
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		assert_false(reads_has(r, seen[i]));
	for (int twice = 0; twice < 2; twice++)
		for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
			reads_note(r, seen[i]);
	for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
		assert_true(reads_has(r, seen[i]));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_false(reads_has(r, others[i]));
	/* Long names fill the memory for them: what was not noted was not read. */
	memset(name, 'n', sizeof name - 1);
	for (int i = 0; i < 9000; i++) {
		snprintf(number, sizeof number, "%08d", i);
		memcpy(name, number, 8);
		reads_note(r, name);
	}
	assert_true(reads_has(r, seen[0]));
	assert_false(reads_has(r, name));
	memcpy(name, "00000000", 8);
	assert_true(reads_has(r, name));
	reads_free(r);
}

/* What `up` does not mount for its place is not served either, by whatever name the environment has it. */
static void test_never_served(void **state)
{
	static const struct {
		const char *path, *why; /* NULL: it is */
	} table[] = {{"home/data/berth/checkpoints", "belongs to berth itself"},
		{"home/data/berth", "belongs to berth itself"},
		{"home/data", "belongs to berth itself"}, {"home/.ssh", "holds credentials"},
		{"home", "is a home directory"}, {"home/data/berth/workspaces/tasks/t", NULL},
		{"home/work", NULL}};
	struct agent_def a = {.id = "a", .workspace = keep_path("ws"), .npaths = 1};
	struct path_grant grant = {0};
	struct reach r;

	(void)state;
	tree_mkdirs("home/data/berth/checkpoints");
	tree_mkdirs("home/data/berth/workspaces/tasks/t");
	tree_mkdirs("home/.ssh");
	tree_mkdirs("home/work");
	assert_int_equal(symlink("home", tree_path("way")), 0);
	setenv("HOME", keep_path("way"), 1);
	setenv("XDG_DATA_HOME", keep_path("way/data"), 1);
	a.paths = &grant;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct err e = ERR_INIT;
		AUTO_FREE char *path = xstrdup(tree_path(table[i].path));
		int rc;

		grant.path = path;
		rc = reach_open(&r, &a, &policy, engine, &e);
		if (rc == 0)
			reach_close(&r);
		if (rc != (table[i].why ? -1 : 0) || (rc && !strstr(e.msg, table[i].why)))
			fail_msg("%s: %s", table[i].path, rc ? e.msg : "served");
		if (rc)
			assert_int_equal(e.kind, ERR_REFUSED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_each),
		cmocka_unit_test(test_each_in_other_words), cmocka_unit_test(test_what_is_no_path),
		cmocka_unit_test(test_reads), cmocka_unit_test(test_never_served)};

	return cmocka_run_group_tests(tests, make_areas, remove_areas);
}
