/* settings.c - berth.yaml over its defaults: every kind of setting, exact sentences. */
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

#include <berth/mem.h>
#include <berth/policy.h>
#include <berth/settings.h>
#include <berth/str.h>

static int settings_from_text(const char *text, struct settings *s, struct err *e)
{
	struct config c;
	int rc;

	if (config_parse("berth.yaml", text, strlen(text), &c, e) < 0)
		return -1;
	rc = settings_from(&c, s, e);
	if (rc < 0)
		config_release(&c);
	return rc;
}

static void refuse_settings(const char *text, const char *sentence)
{
	struct settings s;
	struct err e = ERR_INIT;

	assert_int_equal(settings_from_text(text, &s, &e), -1);
	assert_string_equal(e.msg, sentence);
	assert_int_equal(err_exit_code(&e), 2);
}

/* The shipped file sets every setting of the table, and the values here are documented ones. */
static void test_setting_defaults(void **state)
{
	struct settings s;
	struct config c;
	size_t n;
	const char *text = embedded_file(SETTINGS_DEFAULTS, &n);

	(void)state;
	assert_int_equal(settings_from(NULL, &s, NULL), 0);
	assert_null(s.source.root);
	assert_string_equal(s.theme, "auto");
	assert_int_equal(s.ascii, ASCII_AUTO);
	assert_int_equal(s.charts, CHARTS_AUTO);
	assert_true(s.mouse && s.groups && s.stopped);
	assert_false(s.read_only);
	assert_true(s.hz == 1);
	assert_string_equal(s.sort, "name");
	assert_true(s.log_buffer_bytes == 4u << 20);
	assert_true(s.log_tail == 2000 && s.confirm_threshold == 5);
	assert_true(!s.columns.n && !s.keys);
	/* What settings_load_bare relies on. */
	assert_true(!s.protected_names.n && !s.protected_labels.n && !s.protected_images.n &&
		!s.nhosts);
	settings_release(&s);

	assert_int_equal(config_parse(SETTINGS_DEFAULTS, text, n, &c, NULL), 0);
	for (const struct setting *t = setting_table; t->name; t++) {
		const char *dot = strchr(t->name, '.');
		char section[64];
		const struct node *map = c.root;

		if (dot) {
			snprintf(section, sizeof section, "%.*s", (int)(dot - t->name), t->name);
			map = node_get(c.root, section);
		}
		if (!node_get(map, dot ? dot + 1 : t->name))
			fail_msg("%s has no default", t->name);
		assert_true(strlen(t->help) > 10);
	}
	config_release(&c);
}

static void everything_set(void **state)
{
	struct settings s;
	struct err e = ERR_INIT;

	(void)state;
	if (settings_from_text(
		    "theme: light\nascii: yes\nmouse: off\nread_only: true\nhz: 2.5\ngroups: no\n"
		    "stopped: no\nsort: -cpu\ncolumns: [name, cpu]\nlogs: {buffer: 1m, tail: 0}\n"
		    "confirm_threshold: 2\nprotected:\n  names: [\"db-*\"]\n  labels: [keep, a=b]\n"
		    "  images: [x]\nkeys:\n  quit: \"C-q\"\n  mark: \"\"\n",
		    &s, &e) < 0)
		fail_msg("%s", e.msg);
	assert_string_equal(s.source.file, "berth.yaml");
	assert_string_equal(s.theme, "light");
	assert_int_equal(s.ascii, ASCII_YES);
	assert_false(s.mouse || s.groups || s.stopped);
	assert_true(s.read_only);
	assert_true(s.hz == 2.5);
	assert_string_equal(s.sort, "-cpu");
	assert_int_equal(s.columns.n, 2);
	assert_string_equal(s.columns.item[1], "cpu");
	assert_true(s.log_buffer_bytes == 1u << 20 && s.log_tail == 0);
	assert_int_equal(s.confirm_threshold, 2);
	assert_string_equal(s.protected_names.item[0], "db-*");
	assert_int_equal(s.protected_labels.n, 2);
	assert_string_equal(s.protected_images.item[0], "x");
	assert_int_equal(s.keys->n, 2);
	assert_string_equal(node_get(s.keys, "quit")->value, "C-q");
	assert_int_equal(node_get(s.keys, "quit")->line, 17);
	settings_release(&s);
}

static void test_host_settings(void **state)
{
	struct settings s;
	struct policy p;
	struct arena mem;
	struct err e = ERR_INIT;

	(void)state;
	if (settings_from_text(
		    "read_only: false\nhosts:\n  - host: \"tcp://prod*\"\n    read_only: true\n"
		    "    protected: {names: [\"db-*\"], labels: [keep, a=b], images: [\"x:*\"]}\n"
		    "  - {host: box}\n",
		    &s, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(s.nhosts, 2);
	assert_string_equal(s.hosts[0].host, "tcp://prod*");
	assert_true(s.hosts[0].read_only);
	assert_false(s.hosts[1].read_only || s.hosts[1].protected_names.n);

	/* The policy is a copy: it stays when the settings go. */
	arena_init(&mem, 0);
	policy_from_settings(&p, &s, &mem);
	settings_release(&s);
	assert_false(p.read_only || p.keep.names.n);
	assert_int_equal(p.nhosts, 2);
	assert_string_equal(p.hosts[0].host, "tcp://prod*");
	assert_true(p.hosts[0].read_only);
	assert_int_equal(p.hosts[0].keep.names.n, 1);
	assert_string_equal(p.hosts[0].keep.names.v[0], "db-*");
	assert_int_equal(p.hosts[0].keep.labels.n, 2);
	assert_string_equal(p.hosts[0].keep.labels.v[1], "a=b");
	assert_string_equal(p.hosts[0].keep.images.v[0], "x:*");
	assert_string_equal(p.hosts[1].host, "box");
	assert_false(p.hosts[1].read_only || p.hosts[1].keep.names.n);
	arena_release(&mem);

	assert_int_equal(settings_from_text("hosts:\n", &s, NULL), 0);
	assert_int_equal(s.nhosts, 0);
	settings_release(&s);
}

/* An engine by name: what is refused, and that its rule holds there. */
static void test_named_hosts(void **state)
{
	static const struct {
		const char *text, *says; /* NULL: it is taken */
	} cases[] = {
		{"{name: b1, endpoint: \"ssh://me@b1:2222/run/x.sock\"}", NULL},
		{"{name: b1, endpoint: \"ssh://[::1]\"}", NULL},
		{"{name: b1, endpoint: \"tcp://[::1]:2375\"}", NULL},
		{"{name: b1, endpoint: \"unix:///run/x.sock\"}", NULL},
		{"{name: b1, endpoint: \"ssh://b1\", secrets: true}", NULL},
		{"{host: b*, secrets: true}", "a named engine"},
		{"{name: b1}", "either"},
		{"{endpoint: \"ssh://b1\"}", "either"},
		{"{name: b1, endpoint: \"ssh://b1\", host: x}", "either"},
		{"{read_only: true}", "without \"host\""},
		{"{name: -b1, endpoint: \"ssh://b1\"}", "letters, digits"},
		{"{name: \"b 1\", endpoint: \"ssh://b1\"}", "letters, digits"},
		{"{name: \"b\\u00e9\", endpoint: \"ssh://b1\"}", "letters, digits"},
		{"{name: auto, endpoint: \"ssh://b1\"}", "reserved"},
		{"{name: b1, endpoint: \"ssh://b1 \"}", "must not contain spaces"},
		{"{name: b1, endpoint: \"ssh://b*\"}", "must not contain spaces"},
		{"{name: b1, endpoint: \"b1:2375\"}", "an endpoint is"},
		{"{name: b1, endpoint: \"tcp://b1\"}", "tcp://HOST:PORT"},
		{"{name: b1, endpoint: \"tcp://b1:0123\"}", "tcp://HOST:PORT"},
		{"{name: b1, endpoint: \"tcp://b1:2375/\"}", "tcp://HOST:PORT"},
		{"{name: b1, endpoint: \"ssh://b1:022\"}", "ssh://[USER@]HOST"},
		{"{name: b1, endpoint: \"ssh://-oProxyCommand=x\"}", "host name"},
		{"{name: b1, endpoint: \"ssh://b1/run/${SECRET}\"}", "socket's path"},
		{"{name: b1, endpoint: \"ssh://${SECRET}@b1\"}", "user name"},
		{"{name: b1, endpoint: \"ssh://b1/var/run/docker.sock\"}", "default one"},
		{"{name: b1, endpoint: \"ssh://b1\"}\n  - {name: b1, endpoint: \"ssh://b2\"}",
			"two engines"},
	};
	struct arena mem;
	struct settings s;
	struct policy p;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		AUTO_STR struct str text = STR_INIT;
		struct err e = ERR_INIT;
		int rc;

		str_addf(&text, "hosts:\n  - %s\n", cases[i].text);
		rc = settings_from_text(text.s, &s, &e);
		if (rc == 0)
			settings_release(&s);
		if ((rc == 0) != !cases[i].says || (rc && !strstr(e.msg, cases[i].says)))
			fail_msg("%s: %d %s", cases[i].text, rc, e.msg);
	}
	assert_int_equal(
		settings_from_text(
			"hosts:\n  - {name: b1, endpoint: \"ssh://me@b1\", read_only: true}\n", &s,
			NULL),
		0);
	arena_init(&mem, 0);
	policy_from_settings(&p, &s, &mem);
	settings_release(&s);
	for (int i = 0; i < 2; i++) {
		const struct policy_act act = {.operation = OP_CONTAINER_STOP,
			.endpoint = i ? "ssh://you@b1" : "ssh://me@b1",
			.engine_name = "any",
			.name = "box",
			.id = "1",
			.image = "box:1"};

		assert_int_equal(policy_check(&p, &act, NULL), i ? 0 : -1);
	}
	arena_release(&mem);

	for (int n = 63; n <= 64; n++) {
		AUTO_STR struct str text = STR_INIT;
		int rc;

		str_adds(&text, "hosts:\n");
		for (int i = 0; i < n; i++)
			str_addf(&text, "  - {name: b%d, endpoint: \"ssh://b%d\"}\n", i, i);
		rc = settings_from_text(text.s, &s, NULL);
		assert_int_equal(rc, n > 63 ? -1 : 0);
		if (rc == 0)
			settings_release(&s);
	}

	/* Secrets go where that is said, and where nothing is. */
	assert_int_equal(
		settings_from_text("hosts:\n  - {name: b1, endpoint: \"ssh://b1\"}\n"
				   "  - {name: b2, endpoint: \"ssh://b2\", secrets: true}\n"
				   "  - {host: \"ssh://b3\"}\n",
			&s, NULL),
		0);
	arena_init(&mem, 0);
	policy_from_settings(&p, &s, &mem);
	settings_release(&s);
	for (int i = 1; i <= 4; i++) {
		char endpoint[16];
		struct policy_act act = {.operation = OP_AGENT_UP,
			.endpoint = endpoint,
			.engine_name = "any",
			.name = "berth-a",
			.id = ""};

		snprintf(endpoint, sizeof endpoint, "ssh://b%d", i);
		assert_int_equal(policy_check(&p, &act, NULL), 0);
		act.secrets = true;
		assert_int_equal(policy_check(&p, &act, NULL), i == 1 ? -1 : 0);
	}
	arena_release(&mem);
}

static void test_command_settings(void **state)
{
	AUTO_STR struct str many = STR_INIT;
	struct settings s;
	struct err e = ERR_INIT;

	(void)state;
	if (settings_from_text("commands:\n  - {name: a, key: M-s, help: h, run: 'x \"$Y\"'}\n"
			       "  - {name: b.c, exec: y, confirm: name}\n",
		    &s, &e) < 0)
		fail_msg("%s", e.msg);
	assert_int_equal(s.ncommands, 2);
	assert_string_equal(s.commands[0].run, "x \"$Y\"");
	assert_string_equal(s.commands[0].key, "M-s");
	assert_string_equal(s.commands[0].help, "h");
	assert_true(!s.commands[0].exec && s.commands[0].confirm == CUSTOM_ASKS);
	assert_string_equal(s.commands[1].name, "b.c");
	assert_true(!s.commands[1].run && s.commands[1].confirm == CUSTOM_WANTS_NAME);
	settings_release(&s);
	assert_int_equal(settings_from_text("commands:\n", &s, NULL), 0);
	assert_int_equal(s.ncommands, 0);
	settings_release(&s);

	refuse_settings("commands: x\n",
		"berth.yaml:1:11: found a single value, expected a list of commands such as - name: ports.");
	refuse_settings("commands: [x]\n",
		"berth.yaml:1:12: found a single value, expected a command such as name: ports.");
	refuse_settings("commands: [{run: x}]\n",
		"berth.yaml:1:12: a command without a \"name\" of letters, digits, dots and dashes.");
	refuse_settings("commands: [{name: 'a b', run: x}]\n",
		"berth.yaml:1:12: a command without a \"name\" of letters, digits, dots and dashes.");
	refuse_settings("commands: [{name: a}]\n",
		"berth.yaml:1:12: the command a has neither, expected either \"run\" (on this machine) or "
		"\"exec\" (in the container).");
	refuse_settings("commands: [{name: a, run: x}, {name: a, run: y}]\n",
		"berth.yaml:1:31: a second command is called a.");
	refuse_settings("commands: [{name: a, run: x, confirm: perhaps}]\n",
		"berth.yaml:1:39: found \"perhaps\", expected yes, no or name.");
	str_adds(&many, "commands:\n");
	for (int i = 0; i <= CUSTOM_COMMANDS_MAX; i++)
		str_addf(&many, "  - {name: c%d, run: x}\n", i);
	refuse_settings(many.s, "berth.yaml:2:3: found 65 commands, expected at most 64.");
}

static void empty_sections(void **state)
{
	struct settings s;

	(void)state;
	assert_int_equal(settings_from_text("keys:\nlogs:\nprotected:\n", &s, NULL), 0);
	assert_true(s.log_tail == 2000);
	settings_release(&s);
}

static void test_setting_sentences(void **state)
{
	(void)state;
	refuse_settings(
		"theem: dark\n", "berth.yaml:1:1: unknown key \"theem\"; did you mean \"theme\"?");
	refuse_settings("logs:\n  tial: 3\n",
		"berth.yaml:2:3: unknown key \"tial\"; did you mean \"tail\"?");
	refuse_settings(
		"logs:\n  x: 3\n", "berth.yaml:2:3: unknown key \"x\", expected buffer or tail.");
	refuse_settings("logs.tail: 3\n",
		"berth.yaml:1:1: unknown key \"logs.tail\", expected theme, ascii, charts, "
		"mouse, read_only, hz, groups, stopped, sort, columns, logs, "
		"confirm_threshold, protected, hosts, alerts, audit, clean, journal, terminals, egress, files, mcp, workspaces, commands or keys.");
	refuse_settings(
		"logs: 3\n", "berth.yaml:1:7: found no map, expected the settings of \"logs\".");
	refuse_settings(
		"hz: 11\n", "berth.yaml:1:5: found \"11\", expected a number from 0.1 to 10.");
	refuse_settings(
		"ascii: maybe\n", "berth.yaml:1:8: found \"maybe\", expected auto, yes or no.");
	refuse_settings("columns: cpu\n",
		"berth.yaml:1:10: found a single value, expected a list such as [a, b].");
	refuse_settings(
		"columns: [cpu, [x]]\n", "berth.yaml:1:16: found a list or keys, expected a word.");
	refuse_settings("theme: []\n", "berth.yaml:1:8: found a list or keys, expected a word.");
	refuse_settings("theme:\n", "berth.yaml:1:7: found nothing, expected a word.");
	refuse_settings("logs: {buffer: 1k}\n",
		"berth.yaml:1:16: found \"1k\", expected an amount from 64k to 1024m.");
	refuse_settings("audit: {keep_bytes: 255k}\n",
		"berth.yaml:1:21: found \"255k\", expected 0 (any size) or at least 256k, the "
		"smallest part of the audit log.");
	refuse_settings("hosts: prod\n",
		"berth.yaml:1:8: found a single value, expected a list of rules such as "
		"- host: \"tcp://prod*\".");
	refuse_settings("hosts: {host: prod}\n",
		"berth.yaml:1:8: found keys with values, expected a list of rules such as "
		"- host: \"tcp://prod*\".");
	refuse_settings("hosts: [prod]\n",
		"berth.yaml:1:9: found a single value, expected a rule such as "
		"host: \"tcp://prod*\".");
	refuse_settings("hosts:\n  - host: a\n  - read_only: true\n",
		"berth.yaml:3:5: found a rule without \"host\", expected the pattern of an endpoint or "
		"an engine's name.");
	refuse_settings("hosts:\n  - host: a\n    readonly: true\n",
		"berth.yaml:3:5: unknown key \"readonly\"; did you mean \"read_only\"?");
	refuse_settings("hosts:\n  - host: a\n    read_only: perhaps\n",
		"berth.yaml:3:16: found \"perhaps\", expected true or false.");
	refuse_settings("hosts:\n  - host: a\n    protected: {name: [b]}\n",
		"berth.yaml:3:17: unknown key \"name\"; did you mean \"names\"?");
	refuse_settings("hosts:\n  - host: a\n    protected: {names: b}\n",
		"berth.yaml:3:24: found a single value, expected a list such as [a, b].");
	refuse_settings("hosts:\n  - host: []\n",
		"berth.yaml:2:11: found a list or keys, expected a word.");
	refuse_settings("keys: [a]\n",
		"berth.yaml:1:7: found no map, expected lines of ACTION: \"KEY KEY\".");
}

static void test_places(void **state)
{
	char dir[] = "/tmp/berth-unit-XXXXXX", path[128], expected[256];
	struct settings s;
	struct err e = ERR_INIT;
	FILE *f;

	(void)state;
	assert_non_null(mkdtemp(dir));
	setenv("XDG_CONFIG_HOME", dir, 1);
	assert_int_equal(settings_load(NULL, &s, &e), 0);
	assert_null(s.source.root);
	settings_release(&s);

	snprintf(path, sizeof path, "%s/none.yaml", dir);
	assert_int_equal(settings_load(path, &s, &e), -1);
	snprintf(expected, sizeof expected, "Cannot open %s: No such file or directory", path);
	assert_string_equal(e.msg, expected);
	assert_int_equal(err_exit_code(&e), 2);

	snprintf(path, sizeof path, "%s/berth", dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/berth/berth.yaml", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("hz: 4\n", f);
	fclose(f);
	assert_int_equal(settings_load(NULL, &s, &e), 0);
	assert_string_equal(s.source.file, path);
	assert_true(s.hz == 4);
	settings_release(&s);
	assert_int_equal(settings_load_bare(NULL, &s, &e), 0);
	assert_true(s.hz == 4 && !s.theme);
	settings_release(&s);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(dir);
}

static void test_alerts(void **state)
{
	struct settings s;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(
		settings_from_text(
			"alerts:\n"
			"  - when: 'state = exited and exit_code != 0'\n"
			"  - {name: full, when: memory_percent > 90 for 30s, bell: false, notify: osc777,\n"
			"     command: 'echo x', webhook: 'https://h.example/x', again_seconds: 60,\n"
			"     quiet: ['22:00-07:00', '12:30-13:00']}\n",
			&s, &e),
		0);
	assert_int_equal(s.nalerts, 2);
	assert_true(s.alerts[0].bell && !s.alerts[0].notify && !s.alerts[0].command &&
		!s.alerts[0].webhook && !s.alerts[0].nquiet && !s.alerts[0].again_s);
	assert_string_equal(s.alerts[0].name, "state = exited and exit_code != 0");
	assert_string_equal(s.alerts[1].name, "full");
	assert_true(!s.alerts[1].bell && s.alerts[1].notify == ALERT_OSC_777);
	assert_int_equal(s.alerts[1].again_s, 60);
	assert_int_equal(s.alerts[1].nquiet, 2);
	assert_int_equal(s.alerts[1].quiet[0].from, 22 * 60);
	assert_int_equal(s.alerts[1].quiet[0].to, 7 * 60);
	assert_int_equal(s.alerts[1].quiet[1].from, 12 * 60 + 30);
	settings_release(&s);
	refuse_settings("hz: 1\nalerts:\n  - when: 'memry_percent > 90'\n",
		"berth.yaml:3:11: in \"when\" at character 1: unknown column \"memry_percent\"; nearest "
		"known: \"memory_percent\".");
	refuse_settings("alerts: [{bell: true}]",
		"berth.yaml:1:10: found an alert without \"when\", expected a condition such as "
		"\"memory_percent > 90 for 30s\".");
	refuse_settings("alerts: [{when: 'pids > 1', wen: 2}]",
		"berth.yaml:1:29: unknown key \"wen\"; did you mean \"when\"?");
	refuse_settings("alerts: {when: 'pids > 1'}",
		"berth.yaml:1:9: found keys with values, expected a list of alerts such as - when: "
		"\"memory_percent > 90\".");
	refuse_settings("alerts: [{when: 'pids > 1', webhook: 'file:///etc/passwd'}]",
		"berth.yaml:1:38: found \"file:///etc/passwd\", expected an address that begins with "
		"https:// or http://.");
	refuse_settings("alerts: [{when: 'pids > 1', quiet: ['24:00-07:00']}]",
		"berth.yaml:1:37: found \"24:00-07:00\", expected a time of day such as "
		"\"22:00-07:00\".");
	refuse_settings("alerts: [{when: 'pids > 1', notify: osc8}]",
		"berth.yaml:1:37: found \"osc8\", expected no, osc9 or osc777 (did you mean \"osc9\"?).");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_defaults),
		cmocka_unit_test(everything_set),
		cmocka_unit_test(test_host_settings),
		cmocka_unit_test(test_named_hosts),
		cmocka_unit_test(test_command_settings),
		cmocka_unit_test(empty_sections),
		cmocka_unit_test(test_setting_sentences),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_alerts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
