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

#include <berth/policy.h>
#include <berth/settings.h>

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
	assert_true(s.mouse && s.groups && s.stopped);
	assert_false(s.read_only);
	assert_true(s.hz == 1);
	assert_string_equal(s.sort, "name");
	assert_true(s.log_buffer_bytes == 8u << 20);
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
		"berth.yaml:1:1: unknown key \"logs.tail\", expected theme, ascii, "
		"mouse, read_only, hz, groups, stopped, sort, columns, logs, "
		"confirm_threshold, protected, hosts, audit, journal, files or keys.");
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
		"berth.yaml:3:5: a rule without \"host\", expected the pattern of an endpoint or "
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_setting_defaults),
		cmocka_unit_test(everything_set),
		cmocka_unit_test(test_host_settings),
		cmocka_unit_test(empty_sections),
		cmocka_unit_test(test_setting_sentences),
		cmocka_unit_test(test_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
