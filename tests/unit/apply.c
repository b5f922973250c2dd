/* apply.c - files taken from one tree into another: nothing that changed since it was looked at is written over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/apply.h>

#include "lib/tree.h"

static struct checkpoint_store *store;
static struct checkpoint_tree *from, *start;
static int root, into;
static struct err e;

/* a and b as they were in both; then the agent's change. */
static int setup(void **state)
{
	(void)state;
	tree_make("take");
	tree_text("root/a", "one");
	tree_text("root/b", "one");
	tree_text("into/a", "one");
	tree_text("into/b", "one");
	e = (struct err)ERR_INIT;
	root = open(tree_path("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	into = open(tree_path("into"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	store = checkpoint_open(tree_path("store"), &e);
	assert_non_null(store);
	assert_int_equal(checkpoint_make(store, root, "start", NULL, NULL, &e), 0);
	start = checkpoint_tree_of(store, "start", &e);
	tree_text("root/a", "agent");
	tree_text("root/new", "new");
	from = checkpoint_tree_now(store, root, NULL, &e);
	assert_non_null(from);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	checkpoint_tree_free(from);
	checkpoint_tree_free(start);
	checkpoint_close(store);
	close(root);
	close(into);
	tree_remove();
	return 0;
}

static struct apply *prepare_all(void)
{
	static const char *const all[] = {"."};
	const struct apply_wish wish = {
		.from = from, .start = start, .path = all, .npath = 1, .into = into};
	struct apply *t = apply_prepare(&wish, &e);

	if (!t)
		fail_msg("%s", e.msg);
	return t;
}

static void assert_refused(struct apply *t, bool force)
{
	assert_int_equal(apply_carry_out(t, force, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	apply_free(t);
	assert_false(tree_exists("into/new"));
}

static void test_apply_what_changed(void **state)
{
	struct apply *t = prepare_all();

	(void)state;
	assert_int_equal(t->nitem, 2);
	assert_string_equal(t->item[0].path, "a");
	assert_int_equal(t->item[0].fate, APPLY_CHANGED);
	assert_int_equal(t->item[1].fate, APPLY_NEW);
	assert_true(tree_has("into/a", "one")); /* looking changes nothing */
	assert_int_equal(apply_carry_out(t, false, &e), 0);
	apply_free(t);
	assert_true(tree_has("into/a", "agent"));
	assert_true(tree_has("into/new", "new"));
}

static void test_target_changed_since(void **state)
{
	struct apply *t = prepare_all();

	(void)state;
	tree_text("into/a", "a person's");
	assert_refused(t, true);
	assert_true(tree_has("into/a", "a person's"));
}

static void test_target_came_since(void **state)
{
	struct apply *t = prepare_all();

	(void)state;
	tree_text("into/new", "a person's");
	assert_int_equal(apply_carry_out(t, true, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	apply_free(t);
	assert_true(tree_has("into/new", "a person's"));
	assert_true(tree_has("into/a", "one"));
}

static void test_target_became_a_link(void **state)
{
	struct apply *t = prepare_all();

	(void)state;
	tree_text("away", "one");
	assert_int_equal(unlink(tree_path("into/a")), 0);
	assert_int_equal(symlink("../away", tree_path("into/a")), 0);
	assert_int_equal(apply_carry_out(t, true, &e), -1);
	apply_free(t);
	assert_true(tree_has("away", "one"));
	assert_false(tree_exists("into/new"));
}

/* Also one that leads to another directory of the target. */
static void test_target_directory_became_a_link(void **state)
{
	struct apply *t;

	(void)state;
	tree_text("root/sub/hook", "agent");
	tree_mkdirs("into/sub");
	tree_mkdirs("into/kept/hooks");
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	t = prepare_all();
	assert_int_equal(t->count[APPLY_NEW], 2);
	assert_int_equal(rmdir(tree_path("into/sub")), 0);
	assert_int_equal(symlink("kept/hooks", tree_path("into/sub")), 0);
	assert_int_equal(apply_carry_out(t, true, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	apply_free(t);
	assert_false(tree_exists("into/kept/hooks/hook"));
	assert_true(tree_has("into/a", "one"));
}

/* What has become something else does not pass, and keeps nothing from passing. */
static void test_source_changed_since(void **state)
{
	struct apply *t;

	(void)state;
	assert_int_equal(unlink(tree_path("root/a")), 0);
	assert_int_equal(symlink("/etc/passwd", tree_path("root/a")), 0);
	t = prepare_all();
	assert_int_equal(t->item[0].fate, APPLY_DROPPED);
	assert_int_equal(t->nchanged, 1);
	assert_int_equal(apply_carry_out(t, false, &e), 0);
	apply_free(t);
	assert_true(tree_has("into/a", "one"));
	assert_true(tree_has("into/new", "new"));
}

/* Saved since it was listed: what is planned is what is there, and nothing that comes after the plan. */
static void test_source_saved_since(void **state)
{
	struct apply *t;

	(void)state;
	tree_text("root/a.new", "agent again");
	assert_int_equal(chmod(tree_path("root/a.new"), 0755), 0);
	assert_int_equal(rename(tree_path("root/a.new"), tree_path("root/a")), 0);
	t = prepare_all();
	assert_int_equal(t->item[0].fate, APPLY_CHANGED);
	assert_int_equal(t->item[0].size, 11);
	assert_true(t->item[0].executable);
	tree_text("root/a", "too late");
	assert_int_equal(apply_carry_out(t, false, &e), 0);
	apply_free(t);
	assert_true(tree_has("into/a", "agent again"));
}

static void test_apply_conflict(void **state)
{
	struct apply *t;

	(void)state;
	tree_text("into/a", "a person's");
	t = prepare_all();
	assert_int_equal(t->item[0].fate, APPLY_CONFLICT);
	assert_refused(t, false);
	t = prepare_all();
	assert_int_equal(apply_carry_out(t, true, &e), 0);
	apply_free(t);
	assert_true(tree_has("into/a", "agent"));
}

static void expect_fate(const struct apply *t, const char *path, bool dropped)
{
	for (size_t i = 0; i < t->nitem; i++)
		if (!strcmp(t->item[i].path, path)) {
			if ((t->item[i].fate == APPLY_DROPPED) != dropped)
				fail_msg(
					"%s: %s", path, t->item[i].why ? t->item[i].why : "passes");
			return;
		}
	fail_msg("no %s", path);
}

/* What a berth that was killed left there. */
static void test_unfinished_changes(void **state)
{
	struct apply *t;

	(void)state;
	tree_text("root/.berth.12.link", "");
	tree_text("root/d/.berth.12.7f00", "");
	tree_text("root/.berth-00/x", "");
	tree_text("root/.berthed", "");
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	t = prepare_all();
	expect_fate(t, ".berth.12.link", true);
	expect_fate(t, "d/.berth.12.7f00", true);
	expect_fate(t, ".berth-00/x", true);
	expect_fate(t, ".berthed", false);
	apply_free(t);
}

/* In a bare repository git runs what its config says; also in one that only the target makes whole. */
static void test_bare_repositories(void **state)
{
	static const char *const dropped[] = {"whole/HEAD", "whole/objects/x", "whole/refs/y",
		"whole/config", "whole/sub/z", "deep/a/b/head", "deep/a/b/Objects/x",
		"deep/a/b/REFS/y", "common/HEAD", "common/commondir", "half/HEAD", "fixture/config",
		"fixture/hooks/post-checkout", "linked/HEAD", "long/HEAD", "long/object\xc5\xbf/x",
		"long/ref\xc5\xbf/y", "one/way/HEAD", "One/way/objects/x", "one/way. /refs/y"},
				 *const passing[] = {"lone/HEAD", "lone/objects/x", "deep/a/file",
					 "objects/x", "refs/x"};
	struct apply *t;

	(void)state;
	tree_text("into/half/objects/x", "");
	tree_text("into/half/refs/x", "");
	tree_text("into/fixture/HEAD", "ref: refs/heads/main\n");
	tree_text("into/fixture/objects/x", "");
	tree_text("into/fixture/refs/x", "");
	tree_mkdirs("into/linked");
	assert_int_equal(symlink("../half/objects", tree_path("into/linked/objects")), 0);
	assert_int_equal(symlink("../half/refs", tree_path("into/linked/refs")), 0);
	for (size_t i = 0; i < COUNT(dropped) + COUNT(passing); i++) {
		char path[64];

		snprintf(path, sizeof path, "root/%s",
			i < COUNT(dropped) ? dropped[i] : passing[i - COUNT(dropped)]);
		tree_text(path, "ref: refs/heads/main\n");
	}
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	t = prepare_all();
	for (size_t i = 0; i < COUNT(dropped); i++)
		expect_fate(t, dropped[i], true);
	for (size_t i = 0; i < COUNT(passing); i++)
		expect_fate(t, passing[i], false);
	assert_int_equal(apply_carry_out(t, false, &e), 0);
	apply_free(t);
	assert_true(tree_exists("into/lone/HEAD"));
	assert_false(tree_exists("into/half/HEAD"));
}

/* Where the target is a commit, it is asked for what would make a repository whole. */
static int fetch_half(void *ctx, const char *const *path, size_t n, struct err *err)
{
	(void)ctx;
	(void)err;
	for (size_t i = 0; i < n; i++)
		if (!strcmp(path[i], "half/objects") || !strcmp(path[i], "half/refs")) {
			char name[64];

			snprintf(name, sizeof name, "into/%s", path[i]);
			tree_mkdirs(name);
		}
	return 0;
}

static void test_bare_repository_of_commit(void **state)
{
	static const char *const all[] = {"."};
	struct apply_wish wish = {
		.start = start, .path = all, .npath = 1, .into = into, .fetch = fetch_half};
	struct apply *t;

	(void)state;
	tree_text("root/half/HEAD", "ref: refs/heads/main\n");
	checkpoint_tree_free(from);
	wish.from = from = checkpoint_tree_now(store, root, NULL, &e);
	t = apply_prepare(&wish, &e);
	assert_non_null(t);
	expect_fate(t, "half/HEAD", true);
	expect_fate(t, "new", false);
	apply_free(t);
}

static bool is_told(const struct apply *t, const char *path)
{
	for (size_t i = 0; i < t->nruns; i++)
		if (!strcmp(t->runs[i].path, path))
			return *t->runs[i].what != '\0';
	return false;
}

/* By whatever name some file system finds git's directory, nothing gets into it. */
static void test_git_names(void **state)
{
	static const char *const dropped[] = {".git/hooks/x", "sub/.GIT/config", ".git./config",
		"sub/.git /config", ".git . ./config", "git~1/config", "sub/GIT~1/hooks/x",
		".g\xe2\x80\x8cit/config", ".git\xef\xbb\xbf/config", ".g\xc2\xadit/config",
		".git\xef\xb8\x8f/hooks/x", ".git::$INDEX_ALLOCATION/config"};
	static const char *const passing[] = {".gitignore", ".github/x", ".git.bak/x", "git~2x/a",
		"git/x", "a.git/x", ".gi/t", ".git-blame-ignore-revs", "\xe2\x80\x8c/x"};
	struct apply *t;

	(void)state;
	for (size_t i = 0; i < COUNT(dropped) + COUNT(passing); i++) {
		char path[64];

		snprintf(path, sizeof path, "root/%s",
			i < COUNT(dropped) ? dropped[i] : passing[i - COUNT(dropped)]);
		tree_text(path, "x");
	}
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	t = prepare_all();
	for (size_t i = 0; i < COUNT(dropped); i++)
		expect_fate(t, dropped[i], true);
	for (size_t i = 0; i < COUNT(passing); i++)
		expect_fate(t, passing[i], false);
	apply_free(t);
}

/* What a tool runs by itself is told, and passes. */
static void test_what_runs(void **state)
{
	static const struct {
		const char *path, *text;
		bool told;
	} files[] = {
		{".envrc", "", true},
		{"sub/.vscode/tasks.json", "", true},
		{"sub/.idea/runConfigurations/x.xml", "", true},
		{"package.json", "{\"scripts\": {\"postinstall\": \"x\"}}", true},
		{"sub/package.json", "{\"name\": \"x\"}", false},
		{".gitattributes", "* text=auto\n", false},
		{"sub/.gitattributes", "* filter=x\n", true},
		{"Makefile", "all:\n", true},
		{"conftest.py", "", true},
		{".gdbinit", "", true},
		{"sub/.Rprofile", "", true},
		{".eslintrc.json", "{}", true},
		{"Cargo.toml", "build = \"x.rs\"\n", true},
		{"sub/Cargo.toml", "name = \"x\"\n", false},
		{"main.tf", "", true},
		{"CMakeUserPresets.json", "", true},
		{".github/workflows/ci.yml", "", true},
		{"workflows/ci.yml", "", false},
		{"src/main.c", "", false},
		{"vscode/tasks.json", "", false},
		{"my.envrc", "", false},
	};
	struct apply *t;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		char path[64];

		snprintf(path, sizeof path, "root/%s", files[i].path);
		tree_text(path, files[i].text);
	}
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	t = prepare_all();
	for (size_t i = 0; i < COUNT(files); i++) {
		expect_fate(t, files[i].path, false);
		if (is_told(t, files[i].path) != files[i].told)
			fail_msg("%s", files[i].path);
	}
	apply_free(t);
}

/* Of three changes the first and the last; and what a person writes after choosing is not written over. */
static void test_apply_hunks(void **state)
{
	static const char *const all[] = {"a"};
	struct apply_wish wish = {
		.start = start, .path = all, .npath = 1, .into = into, .hunks = true};
	const bool chosen[] = {true, false, true};
	struct apply *t;

	(void)state;
	tree_text("into/a", "1\n2\n3\n4\n5\n6");
	tree_text("root/a", "one\n2\n3!\n4\n5\nsix");
	checkpoint_tree_free(from);
	from = wish.from = checkpoint_tree_now(store, root, NULL, &e);
	t = apply_prepare(&wish, &e);
	assert_non_null(t);
	assert_int_equal(t->nhunk, 3);
	apply_choose(t, chosen);
	tree_text("into/a", "later");
	assert_int_equal(apply_carry_out(t, true, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	apply_free(t);
	assert_true(tree_has("into/a", "later"));
	tree_text("into/a", "1\n2\n3\n4\n5\n6");
	t = apply_prepare(&wish, &e);
	assert_non_null(t);
	apply_choose(t, chosen);
	assert_int_equal(apply_carry_out(t, true, &e), 0);
	apply_free(t);
	assert_true(tree_has("into/a", "one\n2\n3\n4\n5\nsix"));
}

#define LARGE (20u << 20) /* more than is held */

/* `n` bytes, of which none is like the one beside it; holes where it begins. */
static void write_large_file(const char *path, size_t n, unsigned seed)
{
	AUTO_FREE char *bytes = xmalloc(n);
	int fd;

	for (size_t i = 0; i < n; i++)
		bytes[i] = (char)(seed + i * 31 + (i >> 9));
	tree_text(path, "");
	fd = open(tree_path(path), O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, bytes + (1 << 20), n - (1 << 20), 1 << 20), n - (1 << 20));
	close(fd);
}

static void assert_same_files(const char *a, const char *b)
{
	AUTO_FREE char *command = xasprintf("cmp '%s' '%s'", tree_path(a), tree_path(b));

	assert_int_equal(system(command), 0);
}

static void survey_again(void)
{
	checkpoint_tree_free(from);
	from = checkpoint_tree_now(store, root, NULL, &e);
	assert_non_null(from);
}

static enum apply_fate fate_of(const struct apply *t, const char *path)
{
	for (size_t i = 0; i < t->nitem; i++)
		if (!strcmp(t->item[i].path, path))
			return t->item[i].fate;
	return APPLY_FATES;
}

/* Of each fate, by what they hold. */
static void test_apply_large(void **state)
{
	struct apply *t;

	(void)state;
	write_large_file("root/was", LARGE, 1);
	write_large_file("root/both", LARGE, 1);
	assert_int_equal(checkpoint_make(store, root, "large", NULL, NULL, &e), 0);
	checkpoint_tree_free(start);
	start = checkpoint_tree_of(store, "large", &e);
	assert_non_null(start);
	write_large_file("into/was", LARGE, 1);
	write_large_file("root/was", LARGE + 1, 2);
	write_large_file("into/both", LARGE, 3);
	write_large_file("root/both", LARGE, 4);
	write_large_file("root/same", LARGE, 5);
	write_large_file("into/same", LARGE, 5);
	write_large_file("root/fresh", LARGE, 6);
	write_large_file("root/other", LARGE, 7);
	write_large_file("into/other", LARGE, 8);
	survey_again();
	t = prepare_all();
	assert_int_equal(fate_of(t, "was"), APPLY_CONFLICT); /* holes: it is not told what it was */
	assert_int_equal(fate_of(t, "both"), APPLY_CONFLICT);
	assert_int_equal(fate_of(t, "same"), APPLY_SAME);
	assert_int_equal(fate_of(t, "fresh"), APPLY_NEW);
	assert_int_equal(fate_of(t, "other"), APPLY_CONFLICT);
	assert_int_equal(t->nunchecked, 0);
	assert_int_equal(apply_carry_out(t, false, &e), -1);
	apply_free(t);
	t = prepare_all();
	if (apply_carry_out(t, true, &e))
		fail_msg("%s", e.msg);
	apply_free(t);
	assert_same_files("root/was", "into/was");
	assert_same_files("root/both", "into/both");
	assert_same_files("root/fresh", "into/fresh");
	assert_same_files("root/other", "into/other");
}

static void test_apply_large_as_it_was(void **state)
{
	AUTO_FREE char *bytes = xcalloc(1, LARGE);
	struct apply *t;

	(void)state;
	memset(bytes, 'x', LARGE);
	tree_write("root/was", bytes, LARGE);
	tree_write("into/was", bytes, LARGE);
	assert_int_equal(checkpoint_make(store, root, "large", NULL, NULL, &e), 0);
	checkpoint_tree_free(start);
	start = checkpoint_tree_of(store, "large", &e);
	bytes[LARGE - 1] = 'y';
	tree_write("root/was", bytes, LARGE);
	survey_again();
	t = prepare_all();
	assert_int_equal(fate_of(t, "was"), APPLY_CHANGED);
	/* A person's change after the plan, of one byte. */
	bytes[5] = 'z';
	tree_write("into/was", bytes, LARGE);
	assert_int_equal(apply_carry_out(t, true, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	apply_free(t);
	assert_false(tree_exists("into/new"));
}

/* More than may be held of files that each might be. */
static void test_apply_many(void **state)
{
	AUTO_FREE char *bytes = xcalloc(1, 7 << 20);
	char name[32];
	struct apply *t;

	(void)state;
	for (int i = 0; i < 12; i++) {
		snprintf(name, sizeof name, "root/many%d", i);
		memset(bytes, 'a' + i, 7 << 20);
		tree_write(name, bytes, 7 << 20);
	}
	survey_again();
	t = prepare_all();
	assert_int_equal(apply_carry_out(t, false, &e), 0);
	apply_free(t);
	for (int i = 0; i < 12; i++) {
		char to[32];

		snprintf(name, sizeof name, "root/many%d", i);
		snprintf(to, sizeof to, "into/many%d", i);
		assert_same_files(name, to);
	}
}

/* What an agent writes between the plan and the taking does not pass, and nothing of the batch does. */
static void test_large_source_changes(void **state)
{
	static const char *const spoils[] = {"cp %s %s.new && mv %s.new %s && printf x >> %s",
		"printf x | dd of=%s bs=1 seek=9000000 conv=notrunc status=none",
		"truncate -s 9000000 %s", "printf more >> %s", "rm %s", "rm %s && mkdir %s",
		"rm %s && ln -s /etc/passwd %s", "rm %s && mkfifo %s"};

	(void)state;
	for (size_t i = 0; i < COUNT(spoils); i++) {
		AUTO_STR struct str command = STR_INIT;
		struct apply *t;

		AUTO_FREE char *clear = xasprintf("rm -rf '%s'", tree_path("root/large"));

		assert_int_equal(system(clear), 0);
		write_large_file("root/large", LARGE, 1);
		survey_again();
		t = prepare_all();
		for (const char *at = spoils[i]; *at; at++)
			if (*at == '%' && at[1] == 's')
				str_adds(&command, tree_path("root/large")), at++;
			else
				str_add(&command, at, 1);
		assert_int_equal(system(command.s), 0);
		e = (struct err)ERR_INIT;
		assert_int_equal(apply_carry_out(t, true, &e), -1);
		assert_int_equal(e.kind, ERR_CONFLICT);
		apply_free(t);
		assert_false(tree_exists("into/large"));
		assert_false(tree_exists("into/new"));
		assert_true(tree_has("into/a", "one"));
		assert_true(tree_is_clean("into"));
	}
}

/* A secret on the last line of a large file; a file of nothing else is not looked through to its end, and says so. */
static void test_secrets_in_large(void **state)
{
	AUTO_STR struct str text = STR_INIT;
	struct apply *t;

	(void)state;
	while (text.len < LARGE)
		str_adds(&text, "an ordinary line of text\n");
	str_addf(&text, "gh%s\n", "p_16C7e42F292c6912E7710c838347Ae178B4a");
	tree_write("root/one", text.s, text.len);
	str_clear(&text);
	while (text.len < LARGE)
		str_addf(&text, "gh%s\n", "p_16C7e42F292c6912E7710c838347Ae178B4a");
	tree_write("root/two", text.s, text.len);
	survey_again();
	t = prepare_all();
	assert_int_equal(t->nsecret, 1001);
	assert_string_equal(t->secret[0].path, "one");
	assert_int_equal(t->secret[0].line, LARGE / 25 + 2);
	assert_int_equal(t->nunchecked, 1);
	assert_string_equal(t->unchecked[0].path, "two");
	apply_free(t);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_apply_what_changed),
		CASE(test_target_changed_since),
		CASE(test_target_came_since),
		CASE(test_target_became_a_link),
		CASE(test_target_directory_became_a_link),
		CASE(test_source_changed_since),
		CASE(test_source_saved_since),
		CASE(test_unfinished_changes),
		CASE(test_bare_repositories),
		CASE(test_bare_repository_of_commit),
		CASE(test_git_names),
		CASE(test_what_runs),
		CASE(test_apply_conflict),
		CASE(test_apply_hunks),
		CASE(test_apply_large),
		CASE(test_apply_large_as_it_was),
		CASE(test_apply_many),
		CASE(test_large_source_changes),
		CASE(test_secrets_in_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
