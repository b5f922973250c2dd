/* armour.c - the AppArmor profile: reading what the kernel says, choosing it, asking for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/apparmor.h>
#include <berth/mem.h>
#include <berth/str.h>
#include "container/container.h"

#include "engine/sync.h"

static void test_holds(void **state)
{
	(void)state;
	assert_true(apparmor_holds("docker-default (enforce)", "docker-default"));
	assert_true(apparmor_holds("docker-default (enforce)", ""));
	assert_false(apparmor_holds("docker-default (enforce)", "berth-agent"));
	assert_false(apparmor_holds("docker-default (enforce)", "docker"));
	assert_false(apparmor_holds("docker-default (complain)", "docker-default"));
	assert_false(apparmor_holds("docker-default (complain)", ""));
	assert_false(apparmor_holds("docker-default", "docker-default"));
	assert_false(apparmor_holds("unconfined", ""));
	assert_false(apparmor_holds("", ""));
	assert_false(apparmor_holds(" (enforce)", ""));
	assert_false(apparmor_holds("docker-default//&other (enforce)", "docker-default"));
}

static void test_loaded(void **state)
{
	static const char *const folders[] = {"docker-default.3", "berth-agent-old.4",
		"berth-agent.x", "berth-agent.", "x.berth-agent.1"};
	char dir[] = "/tmp/berth-armour-XXXXXX", path[128];

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	assert_true(apparmor_loaded(dir, "docker-default"));
	assert_false(apparmor_loaded(dir, "berth-agent"));
	snprintf(path, sizeof path, "%s/berth-agent.12", dir);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_true(apparmor_loaded(dir, "berth-agent"));
	rmdir(path);
	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof path, "%s/%s", dir, folders[i]);
		rmdir(path);
	}
	rmdir(dir);
	assert_false(apparmor_loaded(dir, "docker-default"));
}

static void test_choice(void **state)
{
	(void)state;
	assert_null(armour_choose(false, false, "docker", false));
	assert_null(armour_choose(true, true, "docker", true));
	assert_string_equal(armour_choose(true, false, "docker", false), "docker-default");
	assert_string_equal(armour_choose(true, true, "docker", false), "berth-agent");
	assert_string_equal(armour_choose(true, false, "podman", false), "");
	assert_string_equal(armour_choose(true, true, "podman", false), "berth-agent");
}

/* How often `what` is asked for among the container's security options. */
static int count_asked(const char *profile, const char *what, char hash[17])
{
	struct spec s = {.role = SPEC_AGENT,
		.name = "berth-x",
		.session = "s",
		.proof = "p",
		.image = "box:1",
		.apparmor = profile};
	AUTO_STR struct str body = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	const cJSON *option;
	int n = 0;

	spec_hash(&s, hash);
	spec_body(&s, &body);
	root = ejson_parse(body.s, body.len, NULL);
	assert_non_null(root);
	cJSON_ArrayForEach(option, ejson_path(root, "HostConfig", "SecurityOpt", NULL))
	{
		n += !strncmp(ejson_text(option), what, strlen(what));
	}
	return n;
}

static void test_asked_for(void **state)
{
	char none[17], any[17], dockers[17], ours[17];

	(void)state;
	assert_int_equal(count_asked(NULL, "apparmor", none), 0);
	assert_int_equal(count_asked("", "apparmor", any), 0);
	assert_int_equal(count_asked("docker-default", "apparmor=docker-default", dockers), 1);
	assert_int_equal(count_asked("berth-agent", "apparmor=berth-agent", ours), 1);
	/* A container that was made without it, or with another, is not what is asked for now. */
	assert_string_not_equal(none, dockers);
	assert_string_not_equal(dockers, ours);
}

/* Ours, with what was asked for in its words; what is not run by the guest has none. */
static void test_health(void **state)
{
	static const char *const words[] = {"CMD", "/.berth/init", "health", "1024", "4096",
		"65536", "32", "ro", "/", "rw", "/tmp", "rw", "/home/agent"};
	static const char *const entry[] = {"/.berth/init", "chown"};
	struct spec s = {.role = SPEC_AGENT,
		.name = "berth-x",
		.session = "s",
		.proof = "p",
		.image = "box:1",
		.home = "v",
		.limits = {
			.open_files = 1024, .file_bytes = 4096, .memory_bytes = 65536, .pids = 32}};

	(void)state;
	for (int helper = 0; helper < 2; helper++) {
		AUTO_STR struct str body = STR_INIT;
		AUTO_JSON cJSON *root = NULL;
		const cJSON *health, *test;

		s.entry = helper ? entry : NULL;
		s.nentry = helper ? 2 : 0;
		spec_body(&s, &body);
		root = ejson_parse(body.s, body.len, NULL);
		health = ejson_get(root, "Healthcheck");
		test = ejson_get(health, "Test");
		if (helper) {
			assert_int_equal(cJSON_GetArraySize(test), 1);
			assert_string_equal(ejson_text(cJSON_GetArrayItem(test, 0)), "NONE");
			continue;
		}
		assert_int_equal(cJSON_GetArraySize(test), COUNT(words));
		for (int i = 0; i < (int)COUNT(words); i++)
			assert_string_equal(ejson_text(cJSON_GetArrayItem(test, i)), words[i]);
		assert_true(ejson_i64(health, "Interval", 0) == INT64_C(3600000000000));
		assert_true(ejson_i64(health, "Timeout", 0) == INT64_C(30000000000));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds),
		cmocka_unit_test(test_loaded),
		cmocka_unit_test(test_choice),
		cmocka_unit_test(test_asked_for),
		cmocka_unit_test(test_health),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
