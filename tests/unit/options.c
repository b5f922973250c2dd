/* options.c - the command line's parser: what is understood, and the sentence for what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#define CLI_TABLE
#include "cli/commands.h"
#include "lib/paths.h"

static char *words[32], line[1024];

/* Split at spaces; `_` is an empty word. */
static int parse_options(const char *text, struct cli *c, struct err *e)
{
	int n = 0;

	snprintf(line, sizeof line, "berth %s", text);
	for (char *p = strtok(line, " "); p; p = strtok(NULL, " "))
		words[n++] = strcmp(p, "_") ? p : p + 1;
	words[n] = NULL;
	return cli_parse(&cli_root, n, words, c, e);
}

static struct cli parse_good(const char *text)
{
	struct err e = ERR_INIT;
	struct cli c;

	if (parse_options(text, &c, &e) < 0)
		fail_msg("%s: %s", text, e.msg);
	return c;
}

static void expect_sentence(const char *text, const char *sentence)
{
	struct err e = ERR_INIT;
	struct cli c;

	assert_int_equal(parse_options(text, &c, &e), -1);
	assert_string_equal(e.msg, sentence);
	assert_int_equal(err_exit_code(&e), 2);
}

static void test_console_options(void **state)
{
	struct cli c = parse_good("");

	(void)state;
	assert_null(c.command);
	assert_int_equal(c.argc, 0);
	c = parse_good("-H unix:///x --theme=dark --read-only -cteam.yaml --settings _");
	assert_null(c.command);
	assert_string_equal(cli_value(&c, "host"), "unix:///x");
	assert_string_equal(cli_value(&c, "theme"), "dark");
	assert_string_equal(cli_value(&c, "team"), "team.yaml");
	assert_string_equal(cli_value(&c, "settings"), "");
	assert_true(cli_flag(&c, "read-only"));
	assert_false(cli_flag(&c, "ascii"));
	assert_null(cli_value(&c, "context"));
	c = parse_good("--theme a --theme b");
	assert_string_equal(cli_value(&c, "theme"), "b");
}

static void test_command_options(void **state)
{
	char path[64];
	struct cli c = parse_good("--host h ps -a --json");

	(void)state;
	assert_string_equal(c.command->name, "ps");
	assert_null(c.group);
	assert_true(cli_flag(&c, "all") && cli_flag(&c, "json"));
	assert_string_equal(cli_value(&c, "host"), "h");
	c = parse_good("config check x.yaml");
	assert_string_equal(cli_path(&c, path, sizeof path), "config check");
	assert_int_equal(c.argc, 1);
	assert_string_equal(c.argv[0], "x.yaml");
	c = parse_good("config check -- -x.yaml");
	assert_string_equal(c.argv[0], "-x.yaml");
	c = parse_good("config check -");
	assert_string_equal(c.argv[0], "-");
	/* Options anywhere before "--", those of all commands too; behind it none is one. */
	c = parse_good("up team.yaml --json -H unix:///x");
	assert_true(cli_flag(&c, "json"));
	assert_string_equal(cli_value(&c, "host"), "unix:///x");
	assert_int_equal(c.argc, 1);
	c = parse_good("files -c t read a --json b -- --root -c");
	assert_true(cli_flag(&c, "json"));
	assert_int_equal(c.argc, 4);
	assert_string_equal(c.argv[1], "b");
	assert_string_equal(c.argv[3], "-c");
	c = parse_good("exec --json alpha --timeout 3 -- ls -- -la");
	assert_string_equal(cli_value(&c, "timeout"), "3");
	assert_int_equal(c.argc, 1);
	assert_int_equal(c.nwords, 3);
	assert_string_equal(c.words[2], "-la");
	c = parse_good("tool run lint");
	assert_int_equal(c.nwords, 0);
	c = parse_good("completion zsh");
	assert_string_equal(c.argv[0], "zsh");
}

static void help_and_version(void **state)
{
	struct cli c = parse_good("--version nonsense");

	(void)state;
	assert_true(c.version);
	c = parse_good("-h");
	assert_true(c.help && !c.command);
	c = parse_good("ps --help");
	assert_true(c.help && c.command);
	c = parse_good("config -h");
	assert_true(c.help && c.group && !c.command);
	c = parse_good("config check --help");
	assert_true(c.help && c.command); /* though FILE is missing */
}

static void test_sentences(void **state)
{
	(void)state;
	expect_sentence("ps --jsn", "unknown option \"--jsn\"; did you mean \"--json\"?");
	expect_sentence("--themes x", "unknown option \"--themes\"; did you mean \"--theme\"?");
	expect_sentence("pss", "unknown subcommand \"pss\"; did you mean \"ps\"?");
	expect_sentence("zzzzzzz", "unknown subcommand \"zzzzzzz\": see `berth --help`.");
	expect_sentence(
		"config chek", "unknown config subcommand \"chek\"; did you mean \"check\"?");
	expect_sentence("config", "`berth config` needs a subcommand: see `berth config --help`.");
	expect_sentence("ps --json=1", "--json takes no value.");
	expect_sentence("--host", "--host needs a value: --host HOST.");
	expect_sentence("-c", "-c needs a value: -c FILE.");
	expect_sentence("ps x", "`berth ps` does not take \"x\".");
	expect_sentence("config check", "`berth config check` needs FILE.");
	expect_sentence("config check a b", "`berth config check` does not take \"b\".");
	expect_sentence(
		"config check a -x", "unknown option \"-x\": see `berth config check --help`.");
	expect_sentence("exec --json alpha ls -la /srv",
		"`berth exec` needs -- before \"ls\": berth exec alpha -- ls -la /srv");
	expect_sentence("exec alpha", "`berth exec` needs AGENT -- CMD ARG....");
	expect_sentence("exec alpha --", "`berth exec` needs AGENT -- CMD ARG....");
	expect_sentence("exec -- ls", "`berth exec` needs AGENT -- CMD ARG....");
	expect_sentence("tool run lint a.c",
		"`berth tool run` needs -- before \"a.c\": berth tool run lint -- a.c");
	expect_sentence(
		"complete x y", "`berth complete` needs -- before \"x\": berth complete -- x y");
	expect_sentence("completion csh", "unknown operand \"csh\"; did you mean \"zsh\"?");
	expect_sentence("-Z", "unknown option \"-Z\": see `berth --help`.");
	expect_sentence("ps -aZ", "unknown option \"-Z\": see `berth ps --help`.");
}

static void test_hostile_options(void **state)
{
	struct err e = ERR_INIT;
	struct cli c;
	char *argv[CLI_GIVEN_MAX + 3], esc[] = "\x1b]0;x\a", name[] = "berth", flag[] = "--ascii";
	char *big = xmalloc(100001);

	(void)state;
	argv[0] = name;
	argv[1] = esc;
	assert_int_equal(cli_parse(&cli_root, 2, argv, &c, &e), -1);
	assert_string_equal(e.msg, "unknown subcommand \"^[]0;x^G\": see `berth --help`.");
	memset(big, '-', 100000);
	big[100000] = '\0';
	argv[1] = big;
	assert_int_equal(cli_parse(&cli_root, 2, argv, &c, &e), -1);
	for (int i = 1; i < CLI_GIVEN_MAX + 2; i++)
		argv[i] = flag;
	assert_int_equal(cli_parse(&cli_root, CLI_GIVEN_MAX + 2, argv, &c, &e), -1);
	assert_string_equal(e.msg, "more than 64 options are too many.");
	assert_int_equal(cli_parse(&cli_root, 0, argv, &c, &e), 0);
	free(big);
}

/* Of what --json prints the man page has the fields, from the schema. */
static void check_schema(const struct cli_command *k)
{
	const struct cli_option *o = k->options;
	char list[128], file[256];

	while (o && o->name && strcmp(o->name, "json") != 0 && strcmp(o->name, "decisions") != 0)
		o++;
	assert_true((o && o->name) == (k->schema != NULL));
	snprintf(list, sizeof list, "%s", k->schema ? k->schema : "");
	for (char *word = strtok(list, " "); word; word = strtok(NULL, " ")) {
		char *slash = strchr(word, '/');

		if (!strcmp(word, "or"))
			continue;
		assert_true(!strncmp(word, "berth.", 6) && slash);
		snprintf(file, sizeof file, "%s/schema/%.*s.json", test_data,
			(int)(slash - word) - 6, word + 6);
		if (access(file, R_OK))
			fail_msg("%s %s: there is no %s", k->name, word, file);
	}
}

/* The table itself: what help, completions and man page rely on. */
static void check_table(const struct cli_command *k, const char *group)
{
	for (; k->name; k++) {
		assert_non_null(k->operands);
		assert_true(k->help && strlen(k->help) > 10);
		assert_true(k->help[strlen(k->help) - 1] != '.');
		assert_true(!k->verbs || !*group);
		for (const struct cli_option *o = k->options; o && o->name; o++)
			for (const struct cli_option *p = o + 1; p->name; p++) {
				assert_string_not_equal(o->name, p->name);
				assert_true(!o->letter || o->letter != p->letter);
			}
		check_schema(k);
		if (k->verbs) {
			check_table(k->verbs, k->name);
			continue;
		}
		assert_true(k->program && !strncmp(k->program, "berth", 5));
		assert_true(k->max_operands < 0 || k->max_operands >= k->min_operands);
	}
}

static void test_command_table(void **state)
{
	(void)state;
	check_table(cli_root.verbs, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_console_options),
		cmocka_unit_test(test_command_options),
		cmocka_unit_test(help_and_version),
		cmocka_unit_test(test_sentences),
		cmocka_unit_test(test_hostile_options),
		cmocka_unit_test(test_command_table),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
