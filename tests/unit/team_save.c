/* team_save.c - a rule more in a person's team file: one item, and every other byte as it was; or a refusal. */
#include <fcntl.h>
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

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/team.h>

#define ONE "agents:\n  one:\n    workspace: /w # mine\n    network:\n"

static int add_rules(struct str *text, const char *before, const char *rule, struct err *e)
{
	str_clear(text);
	str_adds(text, before);
	return team_add_rules(text, "team.yaml", "one", true, &rule, 1, e);
}

static void test_rule_added(void **state)
{
	static const struct {
		const char *before, *rule, *after;
	} cases[] = {
		{ONE "      allow: [pypi.org]\n", "x.org", ONE "      allow: [pypi.org, x.org]\n"},
		{ONE "      allow: []\n", "x.org", ONE "      allow: [x.org]\n"},
		{ONE "      allow: [ ] # none\n", "x.org", ONE "      allow: [x.org ] # none\n"},
		{ONE "      allow: [pypi.org,]\n", "x.org", ONE "      allow: [pypi.org, x.org]\n"},
		{ONE "      allow: [a.org, 'b]#.org', \"c\\\"].org\"] # ]\n", "x.org",
			ONE "      allow: [a.org, 'b]#.org', \"c\\\"].org\", x.org] # ]\n"},
		{ONE "      allow: [a.org] # \xc3\xa4\n      ask: true\n", "*.x.org:22",
			ONE "      allow: [a.org, \"*.x.org:22\"] # \xc3\xa4\n      ask: true\n"},
		{ONE "      allow: [\n        a.org, # first\n        b.org  # second\n      ]\n",
			"x.org",
			ONE
			"      allow: [\n        a.org, # first\n        b.org,  # second\n        x.org\n      "
			"]\n"},
		{ONE "      allow: [\n        a.org,\n      ]\n", "x.org",
			ONE "      allow: [\n        a.org,\n        x.org,\n      ]\n"},
		{ONE "      allow:\n        - a.org # first\n        # between\n        - b.org # last\n\n      ask: "
		     "true\n",
			"[2001:db8::1]:80",
			ONE
			"      allow:\n        - a.org # first\n        # between\n        - b.org # last\n"
			"        - \"[2001:db8::1]:80\"\n\n      ask: true\n"},
		{ONE "      allow:\n      -   'a.org'", "X.org.",
			ONE "      allow:\n      -   'a.org'\n      -   x.org"},
		{"agents: {\xc3\xbc: {}, one: {network: {allow: [a.org], ask: true}}, two: {network: {allow: [a.org]}}}",
			"b.org",
			"agents: {\xc3\xbc: {}, one: {network: {allow: [a.org, b.org], ask: true}}, two: {network: "
			"{allow: [a.org]}}}"},
		{ONE "      allow: [{host: \"a.org:1\", tls: true}]\n", "tls://b.org:1",
			ONE "      allow: [{host: \"a.org:1\", tls: true}, \"tls://b.org:1\"]\n"},
		{ONE "      allow: [{host: \"a.org:1\", tls: yes}]\n", "tls://a.org:1",
			ONE "      allow: [{host: \"a.org:1\", tls: yes}]\n"},
		{ONE "      allow: [{host: \"a.org:1\", tls: true}]\n", "a.org:1",
			ONE "      allow: [{host: \"a.org:1\", tls: true}, \"a.org:1\"]\n"},
		{ONE "      allow:\n        - {host: \"a.org:1\"}\n", "tls://a.org:1",
			ONE
			"      allow:\n        - {host: \"a.org:1\"}\n        - \"tls://a.org:1\"\n"},
	};
	AUTO_STR struct str text = STR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err e = ERR_INIT;

		if (add_rules(&text, cases[i].before, cases[i].rule, &e))
			fail_msg("case %zu: %s", i, e.msg);
		assert_string_equal(text.s, cases[i].after);
		/* Once more is no more. */
		assert_int_equal(add_rules(&text, cases[i].after, cases[i].rule, NULL), 0);
		assert_string_equal(text.s, cases[i].after);
	}
}

static void test_refused_shapes(void **state)
{
	static const char *const texts[] = {
		"agents: {two: {}}\n",
		"agents: [{id: one}]\n",
		"agents: one\n",
		ONE "      ask: true\n",
		ONE "      allow: a.org\n",
		ONE "      allow:\n",
		"agents:\n  one: {network: none}\n",
		"agents:\n  one: {network: {allow: [[a.org]]}}\n",
		/* what others are, too */
		"agents:\n  one: {network: {allow: &a [a.org]}}\n  two: {network: {allow: *a}}\n",
		"agents:\n  two: {network: &n {allow: [a.org]}}\n  one: {network: *n}\n",
		"agents:\n  two: {network: {allow: &a [a.org]}}\n  one: {network: {allow: *a}}\n",
		/* an item of two lines, and another kind of line */
		ONE "      allow:\n        - a\n         .org\n",
		ONE "      allow:\n        - >-\n          a.org\n",
		ONE "      allow:\n        -\n          a.org\n",
		ONE "      allow:\r\n        - a.org\r\n",
		ONE "      allow:\n        - !!str a.org\n        - &x b.org\n",
		ONE "      allow: !!seq [a.org]\n",
		ONE "      allow: [it's, \"a.org\"]\n",
		ONE "      allow: [{host: {a: b}}]\n",
		ONE "      allow: [{host: [a.org]}]\n",
		ONE "      allow:\n        - host: a.org:1\n          tls: true\n",
		"not: [yaml\n",
		"",
	};
	static const char *const rules[] = {"", "a b.org", "x.org, evil.org", "x\n- y",
		"user@x.org", "*.org", "\"", "x.org]", "http://x.org/"};
	AUTO_STR struct str text = STR_INIT;

	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct err e = ERR_INIT;

		if (!add_rules(&text, texts[i], "x.org", &e))
			fail_msg("%s became %s", texts[i], text.s);
		assert_int_equal(e.kind, ERR_CONFIG);
		assert_true(strlen(e.msg) > 20);
	}
	for (size_t i = 0; i < COUNT(rules); i++)
		assert_int_equal(
			add_rules(&text, ONE "      allow: [a.org]\n", rules[i], NULL), -1);
}

static char file[64];

static int make_team_file(void **state)
{
	(void)state;
	snprintf(file, sizeof file, "/tmp/berth-save-XXXXXX");
	if (!mkdtemp(file))
		return -1;
	strcat(file, "/t.yaml");
	return file_replace(
		file, ONE "      allow: [a.org]\n", strlen(ONE "      allow: [a.org]\n"), false);
}

static int remove_team_file(void **state)
{
	(void)state;
	unlink(file);
	*strrchr(file, '/') = '\0';
	return rmdir(file);
}

static void test_file_is_kept(void **state)
{
	const char *const rules[] = {"b.org", "*.c.org"};
	AUTO_STR struct str text = STR_INIT;
	struct err e = ERR_INIT;
	struct stat st;

	(void)state;
	assert_int_equal(chmod(file, 0640), 0);
	if (team_save_rules(file, "one", true, rules, 2, &e))
		fail_msg("%s", e.msg);
	assert_int_equal(file_read(AT_FDCWD, file, 0, 4096, &text, NULL), 0);
	assert_string_equal(text.s, ONE "      allow: [a.org, b.org, \"*.c.org\"]\n");
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	/* What others may write is not read, and what cannot be a team file any more is not written. */
	assert_int_equal(chmod(file, 0666), 0);
	assert_int_equal(team_save_rules(file, "one", true, rules, 1, &e), -1);
	assert_non_null(strstr(e.msg, "written by others"));
	assert_int_equal(chmod(file, 0600), 0);
	assert_int_equal(team_save_rules(file, "two", true, rules, 1, &e), -1);
	assert_int_equal(team_save_rules(file, "one", false, rules, 1, &e), -1);
	assert_non_null(strstr(e.msg, "`deny: []`"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rule_added),
		cmocka_unit_test(test_refused_shapes),
		cmocka_unit_test_setup_teardown(
			test_file_is_kept, make_team_file, remove_team_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
