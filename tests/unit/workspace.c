/* workspace.c - workspaces: what they begin with, names, owners, what was left unfinished, listing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/workspace.h>

#include "lib/tree.h"

static struct workspaces *w;
static struct err e;

static int setup(void **state)
{
	(void)state;
	tree_make("workspace");
	e = (struct err)ERR_INIT;
	w = workspaces_open(tree_path("w"), &e);
	return w ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	workspaces_close(w);
	tree_remove();
	return 0;
}

static int create_named(enum workspace_kind kind, const char *name)
{
	return workspace_create(w,
		&(struct workspace_new){.kind = kind,
			.name = name,
			.prompt = "Count the lines.\n",
			.environment = "box:1 \"quoted\"",
			.now_ms = 1763850000000,
			.uid = (uid_t)-1,
			.gid = (gid_t)-1},
		&e);
}

static unsigned mode_of(const char *name)
{
	struct stat st;

	return lstat(tree_path(name), &st) ? 0 : (unsigned)st.st_mode;
}

static void test_task(void **state)
{
	mode_t old = umask(0);

	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), 0);
	umask(old);
	assert_true(tree_has("w/tasks/t-1/prompt.md", "Count the lines.\n"));
	assert_true(tree_has("w/tasks/t-1/context.json",
		"{\n  \"task_id\": \"t-1\",\n  \"created_at\": \"2025-11-22T22:20:00.000Z\",\n"
		"  \"environment\": \"box:1 \\\"quoted\\\"\"\n}\n"));
	assert_true(tree_has("w/tasks/t-1/.gitignore", "*.env\n*.key\n*.pem\n*.secret\n"));
	assert_true(tree_has("w/tasks/t-1/output", ""));
	assert_int_equal(mode_of("w"), S_IFDIR | 0700);
	assert_int_equal(mode_of("w/tasks/t-1"), S_IFDIR | 0700);
	assert_int_equal(mode_of("w/tasks/t-1/files"), S_IFDIR | 0700);
	assert_int_equal(mode_of("w/tasks/t-1/logs"), S_IFDIR | 0700);
	assert_int_equal(mode_of("w/tasks/t-1/.env"), S_IFREG | 0600);
}

static void test_project(void **state)
{
	char command[PATH_MAX + 64];

	(void)state;
	assert_int_equal(create_named(WORKSPACE_PROJECT, "shop"), 0);
	assert_true(tree_has("w/projects/shop/README.md", "# shop\n"));
	assert_true(tree_exists("w/projects/shop/tasks"));
	assert_true(tree_exists("w/projects/shop/.env.example"));
	assert_true(tree_exists("w/shared/inter_task"));
	/* Where there is git, it takes it for a repository. */
	snprintf(command, sizeof command,
		"! command -v git >/dev/null || git -C '%s' rev-parse -q --git-dir >/dev/null",
		tree_path("w/projects/shop"));
	assert_int_equal(system(command), 0);
}

static void test_conflict(void **state)
{
	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "t"), 0);
	tree_text("w/tasks/t/files/mine", "work");
	assert_int_equal(create_named(WORKSPACE_TASK, "t"), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
	assert_true(tree_has("w/tasks/t/files/mine", "work"));
	assert_false(tree_exists("w/tasks/.new.t"));
	assert_int_equal(create_named(WORKSPACE_PROJECT, "t"), 0);
}

static void test_bad_workspace_names(void **state)
{
	static const char *const bad[] = {"", ".", "..", ".new.x", "a/b", "../x", "a b", "\033[2J",
		"01234567890123456789012345678901234567890123456789012345678901234"};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_int_equal(create_named(WORKSPACE_TASK, bad[i]), -1);
		assert_int_equal(e.kind, ERR_USAGE);
		assert_null(strchr(e.msg, '\033'));
		assert_int_equal(workspace_enter(w, WORKSPACE_TASK, bad[i], &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
}

/* Of several the one that is to fail leaves its file behind. */
static void fill_together(void *ctx, struct workspace_one *all, size_t count)
{
	const char *fails = ctx;

	for (size_t i = 0; i < count; i++) {
		int fd = all[i].dir < 0 ? -1 : openat(all[i].dir, "f", O_CREAT | O_WRONLY, 0600);

		if (fd >= 0)
			close(fd);
		if (strcmp(all[i].name, fails) == 0)
			err_set(&all[i].err, ERR_FAILED, "this one not");
	}
}

static void test_together(void **state)
{
	struct workspace_one all[] = {{.name = "a"}, {.name = "old"}, {.name = "../b"},
		{.name = "fails"}, {.name = "c"}, {.name = "c"}};
	static const enum err_kind ends[] = {
		ERR_NONE, ERR_CONFLICT, ERR_USAGE, ERR_FAILED, ERR_NONE, ERR_SYS};
	char fails[] = "fails", path[64];
	struct workspace_info *list;
	size_t n;

	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "old"), 0);
	assert_int_equal(workspace_create_together(w,
				 &(struct workspace_new){.kind = WORKSPACE_TASK, .ctx = fails}, all,
				 sizeof all / sizeof *all, fill_together, &e),
		0);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		snprintf(path, sizeof path, "w/tasks/%s/f", all[i].name);
		assert_int_equal(all[i].err.kind, ends[i]);
		assert_int_equal(all[i].dir, -1);
		assert_int_equal(tree_exists(path), ends[i] == ERR_NONE || i == 5);
	}
	assert_true(tree_exists("w/tasks/old/prompt.md"));
	assert_false(tree_exists("w/tasks/.new.fails"));
	assert_false(tree_exists("w/tasks/.new.c"));
	assert_int_equal(workspace_list(w, &list, &n, &e), 0);
	free(list);
	assert_int_equal(n, 3);
}

/* A dead process left half of one, with a link in it: that goes, what it points to stays. */
static void test_unfinished(void **state)
{
	(void)state;
	workspaces_close(w);
	tree_text("keep/file", "precious");
	tree_mkdirs("w/tasks/.new.half/files");
	assert_int_equal(symlink(tree_path("keep"), tree_path("w/tasks/.new.half/out")), 0);
	w = workspaces_open(tree_path("w"), &e);
	assert_non_null(w);
	assert_false(tree_exists("w/tasks/.new.half"));
	assert_true(tree_has("keep/file", "precious"));
}

/* Who changes the tree may take long: others open it all the same, and what a dead process left goes at the next change. */
static void test_opening_waits_for_nobody(void **state)
{
	int other = open(tree_path("w"), O_RDONLY | O_DIRECTORY | O_CLOEXEC), dir;

	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "a"), 0);
	workspaces_close(w);
	tree_text("w/tasks/.new.b/files/half", "");
	tree_mkdirs("w/tasks/.end.c");
	assert_int_equal(flock(other, LOCK_EX), 0);
	alarm(30); /* or it would wait for ever */
	w = workspaces_open(tree_path("w"), &e);
	alarm(0);
	assert_non_null(w);
	dir = workspace_enter(w, WORKSPACE_TASK, "a", &e);
	assert_true(dir >= 0);
	close(dir);
	assert_true(tree_exists("w/tasks/.new.b"));
	close(other);
	dir = workspace_enter(w, WORKSPACE_TASK, "c", &e); /* was out of its place */
	assert_true(dir >= 0);
	close(dir);
	assert_false(tree_exists("w/tasks/.new.b"));
	assert_int_equal(create_named(WORKSPACE_TASK, "b"), 0);
	assert_false(tree_exists("w/tasks/b/files/half"));
}

static void test_list(void **state)
{
	struct workspace_info *all;
	size_t n;

	(void)state;
	assert_int_equal(workspace_list(w, &all, &n, &e), 0);
	assert_int_equal(n, 0);
	free(all);
	assert_int_equal(create_named(WORKSPACE_PROJECT, "a"), 0);
	assert_int_equal(create_named(WORKSPACE_TASK, "c"), 0);
	assert_int_equal(create_named(WORKSPACE_TASK, "b"), 0);
	tree_text("w/tasks/file", "no workspace");
	tree_mkdirs("w/tasks/not a name");
	assert_int_equal(symlink("b", tree_path("w/tasks/link")), 0);
	assert_int_equal(workspace_list(w, &all, &n, &e), 0);
	assert_int_equal(n, 3);
	assert_string_equal(all[0].name, "b");
	assert_string_equal(all[1].name, "c");
	assert_string_equal(all[2].name, "a");
	assert_string_equal(workspace_kind_name(all[2].kind), "project");
	assert_int_equal(all[0].mode, 0700);
	assert_int_equal(all[0].uid, geteuid());
	free(all);
}

static void test_enter(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(workspace_enter(w, WORKSPACE_TASK, "t", &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(create_named(WORKSPACE_TASK, "t"), 0);
	fd = workspace_enter(w, WORKSPACE_TASK, "t", &e);
	assert_true(fd >= 0);
	assert_int_equal(faccessat(fd, "context.json", F_OK, 0), 0);
	close(fd);
	/* A link in its place is not followed. */
	assert_int_equal(symlink("/", tree_path("w/tasks/swapped")), 0);
	assert_int_equal(workspace_enter(w, WORKSPACE_TASK, "swapped", &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
}

static void test_not_ours_alone(void **state)
{
	(void)state;
	tree_mkdirs("open");
	assert_int_equal(chmod(tree_path("open"), 0755), 0);
	assert_null(workspaces_open(tree_path("open"), &e));
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(symlink("w", tree_path("link")), 0);
	assert_null(workspaces_open(tree_path("link"), &e));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static int fill_as_told(void *ctx, int dir, struct err *ret)
{
	int fd = openat(dir, "context.json", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(mkdirat(dir, "half", 0700), 0);
	return ctx ? err_set(ret, ERR_FAILED, "no more") : 0;
}

/* What fills it makes all of it but its context.json; where that fails there is nothing. */
static void test_filled_by_caller(void **state)
{
	bool fails = true;
	struct workspace_new n = {
		.kind = WORKSPACE_TASK, .name = "f", .fill = fill_as_told, .ctx = &fails};

	(void)state;
	assert_int_equal(workspace_create(w, &n, &e), -1);
	assert_string_equal(e.msg, "no more");
	assert_false(tree_exists("w/tasks/f"));
	assert_false(tree_exists("w/tasks/.new.f"));
	n.ctx = NULL;
	assert_int_equal(workspace_create(w, &n, &e), 0);
	assert_true(tree_exists("w/tasks/f/half"));
	assert_false(tree_exists("w/tasks/f/prompt.md"));
	assert_true(tree_has("w/tasks/f/context.json",
		"{\n  \"task_id\": \"f\",\n  \"created_at\": \"1970-01-01T00:00:00.000Z\",\n"
		"  \"environment\": null\n}\n"));
	/* One that is there is not filled again: what fills it notes things under its name. */
	n.ctx = &fails;
	e = (struct err)ERR_INIT;
	assert_int_equal(workspace_create(w, &n, &e), -1);
	assert_int_equal(e.kind, ERR_CONFLICT);
}

static void fill_usage(void)
{
	assert_int_equal(create_named(WORKSPACE_TASK, "u-1"), 0);
	assert_int_equal(create_named(WORKSPACE_PROJECT, "shop"), 0);
	tree_text("w/tasks/u-1/files/deep/a", "12345");
	assert_int_equal(symlink("/etc", tree_path("w/tasks/u-1/files/out")), 0);
}

static void test_usage_of_one(void **state)
{
	struct workspace_usage u;

	(void)state;
	fill_usage();
	tree_text("w/tasks/u-1/prompt.md", "");
	tree_text("w/tasks/u-1/context.json", "");
	tree_text("w/tasks/u-1/.gitignore", "");
	assert_int_equal(workspace_count(w, WORKSPACE_TASK, "u-1", &u, &e), 0);
	assert_int_equal(u.bytes, 5);
	assert_int_equal(u.files, 6); /* with output and .env */
	assert_int_equal(u.dirs, 3);
	assert_int_equal(u.others, 1); /* the link; what it leads to is not counted */
	assert_int_equal(u.unread, 0);
	assert_int_equal(workspace_count(w, WORKSPACE_PROJECT, "u-1", &u, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
}

static uint64_t usage_bytes(bool cached, size_t i, size_t want)
{
	struct workspace_usage *all;
	uint64_t bytes;
	size_t n;

	if (workspace_usage(w, cached, &all, &n, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(n, want);
	assert_string_equal(all[i].info.name, i ? "shop" : "u-1");
	bytes = all[i].bytes;
	free(all);
	return bytes;
}

static void test_usage_is_kept(void **state)
{
	uint64_t before;

	(void)state;
	fill_usage();
	before = usage_bytes(true, 0, 2); /* nothing is known: counted */
	tree_text("w/tasks/u-1/files/b", "123");
	assert_int_equal(usage_bytes(true, 0, 2), before);
	assert_int_equal(usage_bytes(false, 0, 2), before + 3);
	assert_int_equal(usage_bytes(true, 0, 2), before + 3);
	/* Another one of the same name was not counted. */
	assert_int_equal(rename(tree_path("w/tasks/u-1"), tree_path("gone")), 0);
	assert_int_equal(create_named(WORKSPACE_TASK, "u-1"), 0);
	assert_int_equal(usage_bytes(true, 0, 2), before - 5);
}

/* Many are counted in one scan: each gets what it gets alone, and nobody what lies beside them. */
static void test_usage_together(void **state)
{
	static const char *const names[] = {"a", "a-1", "a.b", "b"};
	struct workspace_usage *all, one;
	size_t n;

	(void)state;
	fill_usage();
	for (size_t i = 0; i < 4; i++) {
		char path[100];

		assert_int_equal(create_named(WORKSPACE_TASK, names[i]), 0);
		for (size_t k = 0; k <= i; k++) {
			snprintf(path, sizeof path, "w/tasks/%s/files/d%zu/f", names[i], k);
			tree_text(path, "123456789");
		}
	}
	tree_text("w/tasks/.new.c/files/f", "123");
	tree_text("w/tasks/aa", "not a directory");
	assert_int_equal(symlink("a", tree_path("w/tasks/c")), 0);
	assert_int_equal(workspace_usage(w, false, &all, &n, &e), 0);
	assert_int_equal(n, 6);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(
			workspace_count(w, all[i].info.kind, all[i].info.name, &one, &e), 0);
		assert_true(all[i].counted_ns > 0);
		assert_int_equal(all[i].files, one.files);
		assert_int_equal(all[i].dirs, one.dirs);
		assert_int_equal(all[i].others, one.others);
		assert_int_equal(all[i].bytes, one.bytes);
		assert_int_equal(all[i].disk, one.disk);
		assert_int_equal(all[i].unread, 0);
		assert_int_equal(all[i].used_ns, one.used_ns);
	}
	assert_int_equal(all[3].bytes - all[0].bytes, 3 * 9);
	free(all);
}

static void test_usage_with_the_clock_set_back(void **state)
{
	uint64_t before;
	int64_t now_ms = clock_wall_ms();

	(void)state;
	fill_usage();
	clock_hold(1000000000, now_ms);
	before = usage_bytes(true, 0, 2);
	tree_text("w/tasks/u-1/files/b", "123");
	clock_hold(1000000000, now_ms - 3600000);
	assert_int_equal(usage_bytes(true, 0, 2), before + 3);
	clock_let_go();
}

static void test_kept_usage_is_not_trusted(void **state)
{
	uint64_t before;

	(void)state;
	fill_usage();
	before = usage_bytes(false, 1, 2);
	tree_text("w/.usage",
		"nonsense\n0 ../x 1 2 3 4 5 6 7 8\n9 u-1 1 2 3 4 5 6 7 8\n0 u-1 1 2\n\n");
	assert_int_equal(usage_bytes(true, 1, 2), before);
	assert_int_equal(unlink(tree_path("w/.usage")), 0);
	assert_int_equal(symlink("/etc/passwd", tree_path("w/.usage")), 0);
	assert_int_equal(usage_bytes(true, 1, 2), before);
}

static struct workspace_info only_one(void)
{
	struct workspace_info *list = NULL, i;
	size_t n;

	assert_int_equal(workspace_list(w, &list, &n, &e), 0);
	assert_int_equal(n, 1);
	i = list[0];
	free(list);
	return i;
}

static void test_end(void **state)
{
	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), 0);
	assert_int_equal(only_one().state, WORKSPACE_OPEN);
	assert_int_equal(workspace_end(w, "t-1", WORKSPACE_FAILED, 1763850000000, &e), 0);
	assert_int_equal(only_one().state, WORKSPACE_FAILED);
	assert_int_equal(only_one().ended_ms, 1763850000000);
	assert_int_equal(workspace_end(w, "t-1", WORKSPACE_OPEN, 1763850000001, &e), 0);
	assert_int_equal(only_one().state, WORKSPACE_OPEN);
	assert_int_equal(only_one().ended_ms, 0);
	assert_int_equal(workspace_end(w, "nothing", WORKSPACE_DONE, 1, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	e = (struct err)ERR_INIT;
	assert_int_equal(workspace_end(w, "../x", WORKSPACE_DONE, 1, &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
}

/* Its inode may be that of the old one: what was said must not stay. */
static void test_end_is_of_one_task(void **state)
{
	char text[100];
	struct stat st;

	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), 0);
	assert_int_equal(workspace_end(w, "t-1", WORKSPACE_DONE, 1, &e), 0);
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), -1);
	assert_int_equal(only_one().state, WORKSPACE_DONE);
	e = (struct err)ERR_INIT;
	assert_int_equal(rename(tree_path("w/tasks/t-1"), tree_path("gone")), 0);
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), 0);
	assert_false(tree_exists("w/.ended/t-1"));
	/* And where another way than ours put it there. */
	assert_int_equal(stat(tree_path("gone"), &st), 0);
	snprintf(text, sizeof text, "done %ju 1\n", (uintmax_t)st.st_ino);
	tree_text("w/.ended/t-1", text);
	assert_int_equal(only_one().state, WORKSPACE_OPEN);
}

static void test_kept_end_is_not_trusted(void **state)
{
	static const char *const bad[] = {"", "done", "done x 1\n", "doneandmore 1 1\n", "\n\n"};
	char text[100];
	struct stat st;

	(void)state;
	assert_int_equal(create_named(WORKSPACE_TASK, "t-1"), 0);
	assert_int_equal(workspace_end(w, "t-1", WORKSPACE_DONE, 1, &e), 0);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		tree_text("w/.ended/t-1", bad[i]);
		assert_int_equal(only_one().state, WORKSPACE_OPEN);
	}
	assert_int_equal(stat(tree_path("w/tasks/t-1"), &st), 0);
	snprintf(text, sizeof text, "done %ju 1\n", (uintmax_t)st.st_ino);
	tree_text("elsewhere", text);
	assert_int_equal(unlink(tree_path("w/.ended/t-1")), 0);
	assert_int_equal(symlink(tree_path("elsewhere"), tree_path("w/.ended/t-1")), 0);
	assert_int_equal(only_one().state, WORKSPACE_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_task),
		CASE(test_project),
		CASE(test_conflict),
		CASE(test_together),
		CASE(test_bad_workspace_names),
		CASE(test_unfinished),
		CASE(test_opening_waits_for_nobody),
		CASE(test_list),
		CASE(test_enter),
		CASE(test_not_ours_alone),
		CASE(test_filled_by_caller),
		CASE(test_usage_of_one),
		CASE(test_usage_is_kept),
		CASE(test_usage_together),
		CASE(test_usage_with_the_clock_set_back),
		CASE(test_kept_usage_is_not_trusted),
		CASE(test_end),
		CASE(test_end_is_of_one_task),
		CASE(test_kept_end_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
