/* policy.c - patterns, read-only mode, protection, host rules, mounts; the table of operations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/arena.h>
#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/settings.h>
#include <berth/text.h>

#define LIST(...)                                                                  \
	{                                                                          \
		COUNT(((const char *const[]){__VA_ARGS__})), (const char *const[]) \
		{                                                                  \
			__VA_ARGS__                                                \
		}                                                                  \
	}

static const struct policy_act victim = {.operation = OP_CONTAINER_REMOVE,
	.endpoint = "unix:///run/docker.sock",
	.engine_name = "box",
	.name = "web",
	.id = "8f2d6c0e3b1a",
	.image = "nginx:1",
	.nlabels = 0,
	.labels = (const struct key_value[]){{"", "", false}}};

static void expect_yes(const struct policy *p, const struct policy_act *act)
{
	struct err e = ERR_INIT;

	if (policy_check(p, act, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(e.kind, ERR_NONE);
}

static void expect_no(const struct policy *p, const struct policy_act *act, const char *why)
{
	struct err e = ERR_INIT;

	assert_int_equal(policy_check(p, act, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	assert_int_equal(err_exit_code(&e), 4);
	if (!strstr(e.msg, why))
		fail_msg("\"%s\" does not hold \"%s\"", e.msg, why);
	assert_int_equal(policy_check(p, act, NULL), -1);
}

static void test_match(void **state)
{
	char deep[256], text[4096];

	(void)state;
	assert_true(policy_match("web", "web"));
	assert_false(policy_match("web", "web2"));
	assert_true(policy_match("web*", "web"));
	assert_true(policy_match("*web", "myweb"));
	assert_true(policy_match("*a*b*c*", "xxaxxbxxcxx"));
	assert_false(policy_match("*a*b*c*", "xxaxxcxxbxx"));
	assert_true(policy_match("w?b", "web"));
	assert_false(policy_match("w?b", "wb"));
	assert_true(policy_match("*", ""));
	assert_false(policy_match("", "x"));
	assert_true(policy_match("", ""));
	assert_false(policy_match("*ab", "aab\n"));
	/* What makes a naive matcher take exponential time. */
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	for (size_t i = 0; i < sizeof deep - 3; i += 2)
		memcpy(deep + i, "*a", 3);
	strcpy(deep + 252, "*b");
	assert_false(policy_match(deep, text));
}

static void test_policy_read_only(void **state)
{
	struct policy p = {.read_only = true, .read_only_by = "--read-only"};
	struct policy_act act = victim;

	(void)state;
	for (int d = OP_NONE + 1; d < OP_COUNT; d++) {
		act.operation = (enum operation)d;
		if (operation_table[d].class == OP_INTERNAL)
			expect_no(&p, &act, "does not know");
		else if (operation_table[d].flags & OP_CHANGES)
			expect_no(&p, &act, "read-only mode (--read-only)");
		else
			expect_yes(&p, &act);
	}
	act.operation = OP_NONE;
	expect_no(&p, &act, "does not know");
	act.operation = (enum operation)1000;
	expect_no(&p, &act, "does not know");
}

static void test_policy_protected(void **state)
{
	struct policy p = {.keep = {.names = LIST("db-*", "gateway"),
				   .labels = LIST("keep", "tier=prod*"),
				   .images = LIST("postgres:*")}};
	const struct key_value prod[] = {{"other", "x", false}, {"tier", "production", false}};
	const struct key_value dev[] = {{"tier", "dev", false}};
	struct policy_act act = victim;

	(void)state;
	expect_yes(&p, &act);
	act.name = "db-main";
	expect_no(&p, &act, "db-*");
	act.operation = OP_CONTAINER_START; /* harms nothing */
	expect_yes(&p, &act);
	act = victim;
	act.image = "postgres:16";
	expect_no(&p, &act, "postgres:*");
	/* As podman writes it. */
	act.image = "docker.io/library/postgres:16";
	expect_no(&p, &act, "postgres:*");
	act.image = "localhost/postgres:16";
	expect_no(&p, &act, "postgres:*");
	act.image = "example.org/postgres:16";
	expect_yes(&p, &act);
	act = victim;
	act.labels = prod;
	act.nlabels = COUNT(prod);
	expect_no(&p, &act, "tier=prod*");
	act.labels = dev;
	act.nlabels = COUNT(dev);
	expect_yes(&p, &act);
	/* What is not known is refused, except for greying out. */
	act = victim;
	act.labels = NULL;
	expect_no(&p, &act, "labels");
	act.guess = true;
	expect_yes(&p, &act);
	act = victim;
	act.image = NULL;
	expect_no(&p, &act, "image");
	act = victim;
	act.name = act.id = NULL;
	expect_no(&p, &act, "name");
	/* A hostile name cannot reach the terminal through the sentence. */
	act = victim;
	act.name = "db-\x1b[2J\nx";
	expect_no(&p, &act, "db-^[[2J^Jx");
}

static void test_hosts(void **state)
{
	const struct policy_host hosts[] = {
		{.host = "ssh://prod*", .read_only = true},
		{.host = "box", .keep = {.names = LIST("web")}},
	};
	struct policy p = {.nhosts = COUNT(hosts), .hosts = hosts};
	struct policy_act act = victim;

	(void)state;
	expect_no(&p, &act, "\"web\"");
	act.engine_name = "other";
	expect_yes(&p, &act);
	act.endpoint = "ssh://prod-3";
	expect_no(&p, &act, "read-only");
	act.operation = OP_CONTAINER_INSPECT;
	expect_yes(&p, &act);
}

static void test_mounts(void **state)
{
	struct policy p = {
		.private_dirs = LIST("/home/me/.local/state/berth", "/run/user/1000/berth/"),
		.data_dir = "/data/berth"};
	struct policy_act act = {
		.operation = OP_CONTAINER_MOUNT, .name = "a", .id = "b", .image = ""};
	static const char *const bad[] = {"/home/me/.local/state/berth",
		"/home/me/.local/state/berth/audit", "/home/me/.local/state/berth/audit/key",
		"/home/me/.local/state", "/home/me", "/", "/run", "/run/user/1000/berth/lanes",
		"relative", "/home/me/x/../.local/state/berth", "/a//b", "/a/./b", "/a/..", "",
		"/data", "/data/berth", "/data/berth/checkpoints/tasks/a", "/data/berth/workspaces",
		"/data/berth/workspaces/tasks", "/data/berth/workspaces/tasks/",
		"/data/berth/workspaces/.images/tasks/a"};
	static const char *const good[] = {"/home/me/.local/state/berth2", "/home/you",
		"/srv/..data", "/home/me/work", "/run/user/1000/berthing", "/data/berth2",
		"/data/berth/workspaces/tasks/a", "/data/berth/workspaces/projects/p/src",
		"/data/berth/workspaces/shared/inter_task/a"};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		act.path = bad[i];
		expect_no(&p, &act, "Will not mount");
	}
	for (size_t i = 0; i < COUNT(good); i++) {
		act.path = good[i];
		expect_yes(&p, &act);
	}
}

/* As on systems where /home is a link, and of those who keep their configuration elsewhere. */
static void test_dirs_behind_links(void **state)
{
	static const char *const dirs[] = {
		"real", "real/me", "real/run", "real/dot", "real/dot/berth", "real/store"};
	/* ".." is the directory of all. */
	static const char *const bad[] = {"..", "real", "real/me", "real/me/.config",
		"real/me/.local", "real/me/.local/state/berth/audit", "real/dot", "real/dot/berth",
		"real/dot/berth/berth.yaml", "real/run/berth", "real/store", "real/store/berth",
		"real/store/berth/checkpoints", "me/.config/berth"};
	static const char *const good[] = {"real/me/work", "real/me/.config/other",
		"real/dot/other", "real/store/other", "real/store/berth/workspaces/tasks/a"};
	char made[] = "/tmp/berth-XXXXXX";
	AUTO_FREE char *top = realpath(mkdtemp(made), NULL),
		       *rm = xasprintf("cd / && rm -rf %s", made);
	AUTO_ARENA struct arena mem = ARENA_INIT(0);
	const struct settings none = {0};
	struct policy p, copy;

	(void)state;
	assert_int_equal(chdir(top), 0);
	for (size_t i = 0; i < COUNT(dirs); i++)
		assert_int_equal(mkdir(dirs[i], 0700), 0);
	assert_int_equal(symlink("real/me", "me") | symlink("../dot", "real/me/.config") |
			symlink("real/store", "data"),
		0);
	setenv("HOME", arena_printf(&mem, "%s/me", top), 1);
	setenv("XDG_DATA_HOME", arena_printf(&mem, "%s/data", top), 1);
	setenv("XDG_RUNTIME_DIR", arena_printf(&mem, "%s/real/run", top), 1);
	unsetenv("XDG_STATE_HOME");
	unsetenv("XDG_CONFIG_HOME");
	policy_from_settings(&p, &none, &mem);
	policy_copy(&copy, &p, &mem);
	for (size_t i = 0; i < COUNT(bad); i++)
		if (!policy_own_dir(&copy,
			    strcmp(bad[i], "..") ? arena_printf(&mem, "%s/%s", top, bad[i]) : top))
			fail_msg("%s", bad[i]);
	for (size_t i = 0; i < COUNT(good); i++)
		if (policy_own_dir(&copy, arena_printf(&mem, "%s/%s", top, good[i])))
			fail_msg("%s", good[i]);
	assert_int_equal(system(rm), 0);
	assert_int_equal(chdir("/"), 0);
}

static void test_operations(void **state)
{
	(void)state;
	for (int d = OP_NONE + 1; d < OP_COUNT; d++) {
		const struct operation_info *info = &operation_table[d];

		assert_true(info->name[0] && info->words[0]);
		assert_int_equal(operation_named(info->name), d);
		/* Whatever harms is not done without a durable intent, single moves of files apart.
		 */
		if (info->flags & OP_HARMS)
			assert_true(info->class == OP_GUARDED || info->class == OP_BATCH);
		if (info->flags & OP_FREES)
			assert_true(info->flags & OP_HARMS);
	}
	assert_int_equal(operation_named("nonsense"), OP_NONE);
	assert_int_equal(operation_named(""), OP_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_policy_read_only),
		cmocka_unit_test(test_policy_protected),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_dirs_behind_links),
		cmocka_unit_test(test_operations),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
