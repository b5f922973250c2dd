/* engine_json.c - the engine's JSON: recorded, of other versions, and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "engine/parse.h"
#include "lib/paths.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static struct arena mem;

static cJSON *load_recorded(const char *name)
{
	AUTO_FREE char *path = xasprintf("%s/engine/%s", test_data, name);
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;
	FILE *f = fopen(path, "r");
	char buf[4096];
	cJSON *root;
	size_t n;

	if (!f)
		fail_msg("there is no %s", path);
	while ((n = fread(buf, 1, sizeof buf, f)) > 0)
		str_add(&text, buf, n);
	fclose(f);
	root = ejson_parse(text.s, text.len, &e);
	if (!root)
		fail_msg("%s: %s", name, e.msg);
	return root;
}

static cJSON *parse_engine_json(const char *text)
{
	struct err e = ERR_INIT;
	cJSON *root = ejson_parse(text, strlen(text), &e);

	if (!root)
		fail_msg("%s: %s", text, e.msg);
	return root;
}

static int setup(void **state)
{
	(void)state;
	arena_init(&mem, 4096);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	arena_release(&mem);
	return 0;
}

static void test_json_numbers(void **state)
{
	AUTO_JSON cJSON *o =
		parse_engine_json("{\"a\":9007199254740993,\"b\":-9007199254740993,"
				  "\"c\":18446744073709551615,\"d\":1e30,\"e\":-1,\"f\":\"x\","
				  "\"g\":null,\"h\":99999999999999999999,\"i\":1.5,"
				  "\"s\":\"9007199254740993 \\\" 12345678901234567890\"}");

	(void)state;
	assert_true(ejson_i64(o, "a", 0) == 9007199254740993);
	assert_true(ejson_u64(o, "a") == 9007199254740993);
	assert_true(ejson_i64(o, "b", 0) == -9007199254740993);
	assert_true(ejson_u64(o, "b") == 0);
	assert_true(ejson_u64(o, "c") == UINT64_MAX);
	assert_true(ejson_i64(o, "c", 0) == INT64_MAX);
	assert_true(ejson_i64(o, "d", 0) == INT64_MAX);
	assert_true(ejson_u64(o, "d") == UINT64_MAX);
	assert_true(ejson_u64(o, "e") == 0 && ejson_i64(o, "e", 0) == -1);
	assert_true(ejson_i64(o, "f", 7) == 7 && ejson_i64(o, "g", 7) == 7);
	assert_true(ejson_i64(o, "none", 7) == 7 && ejson_i64(NULL, "a", 7) == 7);
	assert_true(ejson_u64(o, "h") == UINT64_MAX);
	assert_true(ejson_i64(o, "i", 0) == 1);
	assert_int_equal(ejson_int(o, "a", 0), INT32_MAX);
	assert_string_equal(ejson_string(o, "s"), "9007199254740993 \" 12345678901234567890");
}

static void refuse_json(const char *text, size_t n)
{
	struct err e = ERR_INIT;
	cJSON *root = ejson_parse(text, n, &e);

	assert_null(root);
	assert_int_equal(e.kind, ERR_PROTOCOL);
}

static void test_json_bounds(void **state)
{
	static const char *const wrong[] = {"", " ", "{", "[1,", "{\"a\":}", "nul", "{\"a\":1}x",
		"\"open", "{\"a\" 1}", "-", "123456789012345678901", "[12345678901234567890"};
	char *deep = xmalloc(20001);
	struct str big = STR_INIT;
	cJSON *root;

	(void)state;
	for (size_t i = 0; i < COUNT(wrong); i++)
		if (i != 10)
			refuse_json(wrong[i], strlen(wrong[i]));
	memset(deep, '[', 10000);
	memset(deep + 10000, ']', 10000);
	refuse_json(deep, 20000);
	root = ejson_parse(deep + 10000 - JSON_DEPTH_MAX, 2 * JSON_DEPTH_MAX, NULL);
	assert_non_null(root);
	cJSON_Delete(root);
	free(deep);
	/* ten megabytes in one string are just a string */
	str_adds(&big, "{\"Id\":\"");
	for (int i = 0; i < 10; i++) {
		str_reserve(&big, 1 << 20);
		memset(big.s + big.len, 'x', 1 << 20);
		big.len += 1 << 20;
	}
	str_adds(&big, "\"}");
	root = ejson_parse(big.s, big.len, NULL);
	assert_int_equal(strlen(ejson_string(root, "Id")), 10 << 20);
	cJSON_Delete(root);
	/* three million values are not */
	str_clear(&big);
	str_addc(&big, '[');
	for (int i = 0; i < 3000000; i++)
		str_add(&big, "1,", 2);
	str_add(&big, "1]", 2);
	refuse_json(big.s, big.len);
	str_release(&big);
}

static void test_info(void **state)
{
	AUTO_JSON cJSON *v = load_recorded("docker-20.10.24.version.json"),
			*i = load_recorded("docker-20.10.24.info.json"),
			*pv = load_recorded("podman-4.3.1.version.json"),
			*pi = load_recorded("podman-4.3.1.info.json"),
			*v29 = load_recorded("shape-29.version.json");
	struct engine_info info = {0};

	(void)state;
	parse_version(v, &mem, &info);
	parse_info(i, &mem, &info);
	assert_string_equal(info.version, "20.10.24+dfsg1");
	assert_string_equal(info.product, "docker");
	assert_string_equal(info.cgroup, "1");
	assert_string_equal(info.storage, "overlay2");
	assert_string_equal(info.name, "host");
	assert_int_equal(strlen(info.id), 59 + 9); /* and the hash of the data directory */
	assert_true(info.cpus > 0 && info.memory_bytes > 1 << 30);
	assert_string_equal(info.default_runtime, "runc");
	assert_int_equal(info.nruntimes, 3);
	assert_string_equal(info.runtimes[2].key, "runc");
	assert_string_equal(info.runtimes[2].value, "runc");
	info = (struct engine_info){0};
	parse_version(pv, &mem, &info);
	parse_info(pi, &mem, &info);
	assert_string_equal(info.product, "podman");
	assert_string_equal(info.version, "4.3.1");
	assert_false(info.rootless);
	cJSON_ReplaceItemInObjectCaseSensitive(pi, "Rootless", cJSON_CreateTrue());
	parse_info(pi, &mem, &info);
	assert_true(info.rootless);
	info = (struct engine_info){0};
	parse_info(i, &mem, &info); /* alone it must do */
	assert_string_equal(info.version, "20.10.24+dfsg1");
	assert_string_equal(info.product, "docker");
	assert_string_equal(info.arch, "x86_64");
	info = (struct engine_info){0};
	parse_version(v29, &mem, &info);
	assert_string_equal(info.arch, "arm64");
}

/* A check of berth's and one of somebody's say the same words of different things. */
static void test_own_check(void **state)
{
	static const struct {
		const char *test;
		enum health health, own;
	} of[] = {
		{"[\"CMD\",\"/.berth/init\",\"health\",\"1\"]", HEALTH_NONE, HEALTH_UNHEALTHY},
		{"[\"CMD\",\"/bin/check\",\"health\"]", HEALTH_UNHEALTHY, HEALTH_NONE},
		{"[\"CMD-SHELL\",\"/.berth/init health\"]", HEALTH_UNHEALTHY, HEALTH_NONE},
		{"null", HEALTH_UNHEALTHY, HEALTH_NONE},
		{"{}", HEALTH_UNHEALTHY, HEALTH_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(of); i++) {
		struct engine_container c;
		char text[256];
		AUTO_JSON cJSON *root = NULL;

		snprintf(text, sizeof text,
			"{\"Id\":\"" ID
			"\",\"Config\":{\"Healthcheck\":{\"Test\":%s}},\"State\":{\"Health\":{"
			"\"Status\":\"unhealthy\"}}}",
			of[i].test);
		root = ejson_parse(text, strlen(text), NULL);
		assert_int_equal(parse_inspect(root, &mem, &c, NULL), 0);
		assert_int_equal(c.health, of[i].health);
		assert_int_equal(c.own_health, of[i].own);
	}
}

/* As dockerd 20.10.24 words it, paused or resumed since: after a check that succeeded, before the first, after one that
 * failed; and checks of somebody's, which docker's words are for. */
static void test_health_after_a_pause(void **state)
{
	static const struct {
		const char *health;
		enum health own;
	} of[] = {
		{"\"FailingStreak\":0,\"Log\":[{\"ExitCode\":0,\"Output\":\"\"}]", HEALTH_HEALTHY},
		{"\"FailingStreak\":0,\"Log\":[]", HEALTH_STARTING},
		{"\"FailingStreak\":0,\"Log\":null", HEALTH_STARTING},
		{"\"FailingStreak\":1,\"Log\":[{\"ExitCode\":1,\"Output\":\"\"}]",
			HEALTH_UNHEALTHY},
		{"\"Log\":[]", HEALTH_UNHEALTHY},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT(of); i++) {
		bool own = i < COUNT(of);
		AUTO_FREE char *text = xasprintf(
			"{\"Id\":\"" ID
			"\",\"Config\":{\"Healthcheck\":{\"Test\":[\"CMD\",\"%s\",\"health\"]}},"
			"\"State\":{\"Health\":{\"Status\":\"unhealthy\",%s}}}",
			own ? "/.berth/init" : "/bin/check", of[i % COUNT(of)].health);
		AUTO_JSON cJSON *root = ejson_parse(text, strlen(text), NULL);
		struct engine_container c;

		assert_int_equal(parse_inspect(root, &mem, &c, NULL), 0);
		assert_int_equal(own ? c.own_health : c.health, own ? of[i].own : HEALTH_UNHEALTHY);
	}
}

/* What is not a full id names no container: it becomes part of paths, and decides which processes are killed. */
static void test_bad_ids(void **state)
{
	static const char *const bad[] = {"null", "1", "\"\"", "\"/\"", "\"0123456789ab\"",
		"\"" ID "0\"", "\"../" ID "\"",
		"\"0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef\""};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++) {
		AUTO_FREE char *text = xasprintf("{\"Id\":%s,\"State\":{\"Pid\":1}}", bad[i]);
		AUTO_JSON cJSON *root = ejson_parse(text, strlen(text), NULL);
		struct err e = ERR_INIT;
		struct engine_container c;

		assert_int_equal(parse_inspect(root, &mem, &c, &e), -1);
		assert_int_equal(e.kind, ERR_PROTOCOL);
		{
			struct engine_summary *rows;
			AUTO_FREE char *both =
				xasprintf("[%s,{\"Id\":\"" ID "\",\"Names\":[\"/good\"]}]", text);
			AUTO_JSON cJSON *list = ejson_parse(both, strlen(both), NULL);
			size_t n;

			assert_int_equal(parse_list(list, &mem, &rows, &n, NULL), 0);
			assert_int_equal(n, 1);
			assert_string_equal(rows[0].id, ID);
		}
	}
}

static void test_security_options(void **state)
{
	static const struct {
		const char *options;
		bool apparmor, rootless;
	} of[] = {{"[\"name=apparmor\",\"name=seccomp,profile=default\"]", true, false},
		{"[\"name=seccomp,profile=default\"]", false, false},
		{"[\"name=apparmorish\"]", false, false},
		{"[\"name=apparmor,profile=x\"]", true, false},
		{"[\"name=seccomp,profile=default\",\"name=rootless\"]", false, true},
		{"[\"apparmor\",\"rootless\"]", false, false}, {"null", false, false},
		{"[null,1,{}]", false, false}};

	(void)state;
	for (size_t i = 0; i < COUNT(of); i++) {
		struct engine_info info = {0};
		char text[128];
		AUTO_JSON cJSON *root = NULL;

		snprintf(text, sizeof text, "{\"SecurityOptions\":%s}", of[i].options);
		root = ejson_parse(text, strlen(text), NULL);
		assert_non_null(root);
		parse_info(root, &mem, &info);
		assert_int_equal(info.apparmor, of[i].apparmor);
		assert_int_equal(info.rootless, of[i].rootless);
	}
}

static void test_json_list(void **state)
{
	static const char *const files[] = {"docker-20.10.24.list.json", "podman-4.3.1.list.json",
		"shape-24.list.json", "shape-25.list.json", "shape-28.list.json",
		"shape-29.list.json"};
	struct engine_summary *rows;
	size_t n;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		AUTO_JSON cJSON *root = load_recorded(files[i]);

		assert_int_equal(parse_list(root, &mem, &rows, &n, NULL), 0);
		assert_int_equal(n, 1);
		assert_int_equal(strlen(rows[0].id), 64);
		assert_string_equal(rows[0].name, i < 2 ? "recorded" : "shape");
		assert_int_equal(rows[0].state, CONTAINER_RUNNING);
		assert_true(rows[0].created_wall_ms > 1767000000000);
		assert_true(strstr(rows[0].image, i < 2 ? "box:1" : "demo:2") != NULL);
		assert_int_equal(rows[0].nlabels, i < 2 ? 2 : i < 5 ? 1 : 0);
	}
}

static void check_recorded(const struct engine_container *c, bool podman)
{
	assert_string_equal(c->name, "recorded");
	assert_string_equal(c->user, "1000:1000");
	assert_string_equal(c->workdir, "/tmp");
	assert_string_equal(c->restart_policy, "on-failure:3");
	assert_string_equal(c->network_mode, "none");
	assert_string_equal(c->seccomp, "default");
	assert_true(c->memory_limit == 67108864 && c->pids_limit == 50);
	assert_true(c->nano_cpus == 500000000 || c->cpu_quota > 0);
	assert_true(c->read_only_root && c->no_new_privileges && !c->privileged);
	assert_true(c->ncap_drop >= 1 && (podman || c->ncap_add == 1));
	assert_true(c->nmounts >= 1 && c->nenv >= 2 && c->nlabels == 2);
	assert_true(c->pid > 1 && c->started_wall_ms >= c->created_wall_ms);
	assert_true(c->finished_wall_ms == 0);
	for (size_t i = 0; i < c->nmounts; i++)
		if (strcmp(c->mounts[i].target, "/zones") == 0)
			assert_true(c->mounts[i].read_only);
}

static void check_shaped(const struct engine_container *c)
{
	assert_string_equal(c->name, "shape");
	assert_int_equal(c->health, HEALTH_HEALTHY);
	assert_int_equal(c->restarts, 2);
	assert_true(c->memory_swap_limit == UINT64_MAX && c->init && c->host_pid && !c->host_ipc);
	assert_string_equal(c->seccomp, "unconfined");
	assert_string_equal(c->apparmor, "docker-default");
	assert_true(c->no_new_privileges);
	assert_string_equal(c->command, "sleep 1000");
	assert_int_equal(c->nnetworks, 1);
	assert_string_equal(c->networks[0].value, "172.17.0.2");
	assert_int_equal(c->nports, 3);
	assert_string_equal(c->ports[0].value, "0.0.0.0:8080");
	assert_string_equal(c->ports[1].value, "[::]:8080");
	assert_string_equal(c->ports[2].key, "90/udp");
	assert_string_equal(c->ports[2].value, "");
	assert_int_equal(c->nmounts, 2);
	assert_string_equal(c->mounts[0].source, "data");
	assert_true(!c->mounts[0].read_only && c->mounts[1].read_only);
	assert_int_equal(c->nenv, 3);
	assert_string_equal(c->env[2].key, "NOEQ");
	assert_true(c->started_wall_ms == 1767323046000 && c->created_wall_ms == 1767323045678);
}

static void test_json_inspect(void **state)
{
	static const char *const files[] = {"docker-20.10.24.inspect.json",
		"podman-4.3.1.inspect.json", "shape-24.inspect.json", "shape-25.inspect.json",
		"shape-28.inspect.json", "shape-29.inspect.json"};
	struct engine_container c;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		AUTO_JSON cJSON *root = load_recorded(files[i]);

		assert_int_equal(parse_inspect(root, &mem, &c, NULL), 0);
		assert_int_equal(c.state, CONTAINER_RUNNING);
		if (i < 2)
			check_recorded(&c, i == 1);
		else
			check_shaped(&c);
	}
}

static void test_json_stats(void **state)
{
	AUTO_JSON cJSON *docker = load_recorded("docker-20.10.24.stats.json"),
			*podman = load_recorded("podman-4.3.1.stats.json"),
			*s24 = load_recorded("shape-24.stats.json"),
			*s29 = load_recorded("shape-29.stats.json"),
			*v1 = parse_engine_json(
				"{\"cpu_stats\":{},\"memory_stats\":{\"usage\":100,\"stats\":"
				"{\"total_inactive_file\":30,\"inactive_file\":90}}}"),
			*more = parse_engine_json(
				"{\"cpu_stats\":{},\"memory_stats\":{\"usage\":100,"
				"\"stats\":{\"inactive_file\":200}}}");
	struct counters c;

	(void)state;
	assert_int_equal(parse_stats(docker, &c, NULL), 0);
	assert_true(c.cpu_ns > 0 && c.system_ns > c.cpu_ns && c.online_cpus == 2);
	assert_true(c.memory_limit == 67108864 && c.memory_bytes > 0 && !c.net);
	assert_true(c.pids >= 1 && c.pids_limit == 50);
	assert_int_equal(parse_stats(podman, &c, NULL), 0);
	assert_true(c.cpu_ns > 0 && c.memory_limit > 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(parse_stats(i ? s29 : s24, &c, NULL), 0);
		assert_true(c.cpu_ns == 9007199254740993 && c.system_ns == INT64_MAX);
		assert_true(c.memory_bytes == 100000000 && c.memory_limit == 1 << 30);
		assert_true(c.block_read == 4097 && c.block_write == 8192);
		assert_true(c.net && c.net_rx == 11 && c.net_tx == 22);
		assert_true(c.pids == 3 && c.pids_limit == 0);
	}
	assert_int_equal(parse_stats(v1, &c, NULL), 0);
	assert_int_equal(c.memory_bytes, 70);
	assert_int_equal(parse_stats(more, &c, NULL), 0);
	assert_int_equal(c.memory_bytes, 100);
}

static void test_json_top(void **state)
{
	AUTO_JSON cJSON *docker = load_recorded("docker-20.10.24.top.json"),
			*podman = load_recorded("podman-4.3.1.top.json"),
			*plain = parse_engine_json(
				"{\"Titles\":[\"UID\",\"PID\",\"TIME\",\"CMD\"],\"Processes\":"
				"[[\"root\",\"7\",\"1-02:03:04\",\"a b\"],[],null,[1]]}"),
			*go = parse_engine_json("{\"Titles\":[\"PID\",\"TIME\"],\"Processes\":"
						"[[\"7\",\"1h2m3.5s\"],[\"8\",\"12ms\"]]}");
	struct process_info *p;
	size_t n;

	(void)state;
	assert_int_equal(parse_top(docker, &mem, &p, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_true(p[0].pid > 1 && p[0].memory_bytes > 1 << 20);
	assert_string_equal(p[1].command, "sleep 1");
	assert_int_equal(parse_top(podman, &mem, &p, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_string_equal(p[0].state, "S");
	assert_int_equal(parse_top(plain, &mem, &p, &n, NULL), 0);
	assert_int_equal(n, 4);
	assert_true(p[0].cpu_ms == ((26 * 60 + 3) * 60 + 4) * 1000 && p[0].cpu_percent < 0);
	assert_string_equal(p[0].command, "a b");
	assert_int_equal(p[1].pid, 0);
	assert_int_equal(parse_top(go, &mem, &p, &n, NULL), 0);
	assert_true(p[0].cpu_ms == 3723500 && p[1].cpu_ms == 12);
}

static void test_json_events(void **state)
{
	static const char *const files[] = {"shape-28.event.json", "shape-29.event.json"};
	AUTO_JSON cJSON *exec = parse_engine_json(
				"{\"Type\":\"container\",\"Action\":\"exec_start: sh -c ls\","
				"\"Actor\":{\"ID\":\"x\",\"Attributes\":null}}"),
			*podman = parse_engine_json(
				"{\"Type\":\"container\",\"Action\":\"died\",\"Actor\":"
				"{\"ID\":\"x\",\"Attributes\":{\"containerExitCode\":\"3\"}}}"),
			*gone = parse_engine_json("{\"Type\":\"container\",\"Action\":\"remove\"}"),
			*image = parse_engine_json(
				"{\"Type\":\"image\",\"Action\":\"remove\",\"time\":5}");
	struct engine_event ev;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		AUTO_JSON cJSON *root = load_recorded(files[i]);

		assert_true(parse_event(root, &mem, &ev));
		assert_string_equal(ev.action, "die");
		assert_string_equal(ev.more, "exit 137");
		assert_string_equal(ev.name, "shape");
		assert_int_equal(strlen(ev.id), 64);
		assert_true(ev.wall_ns == 1767323045123456789);
	}
	assert_true(parse_event(exec, &mem, &ev));
	assert_string_equal(ev.action, "exec_start");
	assert_string_equal(ev.more, "sh -c ls");
	assert_true(parse_event(podman, &mem, &ev));
	assert_string_equal(ev.action, "die");
	assert_string_equal(ev.more, "exit 3");
	assert_true(parse_event(gone, &mem, &ev));
	assert_string_equal(ev.action, "destroy");
	assert_true(parse_event(image, &mem, &ev));
	assert_string_equal(ev.action, "remove");
	assert_true(ev.wall_ns == 5000000000);
}

/* Every parser on every value that is not what it expects. */
static void feed_all(const cJSON *root)
{
	struct engine_info info = {0};
	struct engine_summary *rows;
	struct engine_container c;
	struct process_info *p;
	struct engine_event ev;
	struct counters k;
	size_t n;

	arena_reset(&mem);
	parse_version(root, &mem, &info);
	parse_info(root, &mem, &info);
	parse_list(root, &mem, &rows, &n, NULL);
	parse_inspect(root, &mem, &c, NULL);
	parse_stats(root, &k, NULL);
	parse_top(root, &mem, &p, &n, NULL);
	parse_event(root, &mem, &ev);
	parse_stream_error(root);
}

/* Replace each node of the tree in turn by something else, and parse. */
static void spoil_node(cJSON *root, cJSON *node)
{
	for (cJSON *child = node->child; child; child = child->next) {
		static const int types[] = {cJSON_NULL, cJSON_True, cJSON_Number, cJSON_Array,
			cJSON_Object, cJSON_String};
		cJSON saved = *child;

		spoil_node(root, child);
		for (size_t i = 0; i < COUNT(types); i++) {
			child->type = types[i];
			child->child = NULL;
			child->valuedouble = -1e300;
			child->valuestring =
				types[i] == cJSON_String ? (char *)"\x1b[31m:/=" : NULL;
			feed_all(root);
		}
		child->type = saved.type;
		child->child = saved.child;
		child->valuedouble = saved.valuedouble;
		child->valuestring = saved.valuestring;
	}
}

static void test_spoilt(void **state)
{
	static const char *const files[] = {"docker-20.10.24.list.json", "podman-4.3.1.stats.json",
		"shape-29.inspect.json", "docker-20.10.24.info.json", "docker-20.10.24.top.json",
		"shape-29.event.json", "docker-20.10.24.version.json"};
	static const char *const alone[] = {"null", "1", "\"x\"", "[]", "{}", "[null,{},[],1]",
		"{\"Titles\":null,\"Processes\":{}}", "{\"error\":null,\"errorDetail\":1}"};

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		AUTO_JSON cJSON *root = load_recorded(files[i]);

		spoil_node(root, root);
	}
	for (size_t i = 0; i < COUNT(alone); i++) {
		AUTO_JSON cJSON *root = parse_engine_json(alone[i]);

		feed_all(root);
	}
}

static void test_stream_error(void **state)
{
	AUTO_JSON cJSON *fresh = parse_engine_json(
				"{\"errorDetail\":{\"code\":1,\"message\":\"new\"}}"),
			*old = parse_engine_json("{\"error\":\"old\"}"),
			*fine = parse_engine_json("{\"status\":\"x\"}");

	(void)state;
	assert_string_equal(parse_stream_error(fresh), "new");
	assert_string_equal(parse_stream_error(old), "old");
	assert_string_equal(parse_stream_error(fine), "");
}

static void test_quote(void **state)
{
	AUTO_STR struct str s = STR_INIT;

	(void)state;
	str_add_json(&s, "a\"b\\c\n\x01\xc3\xa9");
	assert_string_equal(s.s, "\"a\\\"b\\\\c\\u000a\\u0001\xc3\xa9\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_numbers),
		cmocka_unit_test(test_json_bounds),
		cmocka_unit_test(test_info),
		cmocka_unit_test(test_own_check),
		cmocka_unit_test(test_health_after_a_pause),
		cmocka_unit_test(test_bad_ids),
		cmocka_unit_test(test_security_options),
		cmocka_unit_test(test_json_list),
		cmocka_unit_test(test_json_inspect),
		cmocka_unit_test(test_json_stats),
		cmocka_unit_test(test_json_top),
		cmocka_unit_test(test_json_events),
		cmocka_unit_test(test_spoilt),
		cmocka_unit_test(test_stream_error),
		cmocka_unit_test(test_quote),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
