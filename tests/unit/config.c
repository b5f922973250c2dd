/* config.c - YAML read into a tree: places, limits, exact sentences, hostile files. */
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

#include <berth/config.h>
#include <berth/str.h>

static struct config parse_config(const char *text)
{
	struct config c;
	struct err e = ERR_INIT;

	if (config_parse("t.yaml", text, strlen(text), &c, &e) < 0)
		fail_msg("%s", e.msg);
	return c;
}

static void refused_n(const char *text, size_t n, const char *sentence)
{
	struct config c;
	struct err e = ERR_INIT;

	assert_int_equal(config_parse("t.yaml", text, n, &c, &e), -1);
	assert_string_equal(e.msg, sentence);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_int_equal(config_parse("t.yaml", text, n, &c, NULL), -1);
}

static void refuse_config(const char *text, const char *sentence)
{
	refused_n(text, strlen(text), sentence);
}

static void tree_with_places(void **state)
{
	struct config c = parse_config("a: 1\nlist:\n  - x\n  - {k: \"5\"}\nempty:\n");
	const struct node *n;

	(void)state;
	assert_int_equal(c.root->kind, NODE_MAP);
	assert_int_equal(c.root->n, 3);
	n = node_get(c.root, "a");
	assert_string_equal(n->value, "1");
	assert_int_equal(n->line, 1);
	assert_int_equal(n->column, 4);
	assert_int_equal(n->key_column, 1);
	assert_false(n->quoted);
	n = node_get(c.root, "list");
	assert_int_equal(n->kind, NODE_LIST);
	assert_int_equal(n->n, 2);
	assert_null(n->child[0]->key);
	n = node_get(n->child[1], "k");
	assert_int_equal(n->line, 4);
	assert_int_equal(n->column, 9);
	assert_true(n->quoted);
	assert_string_equal(node_get(c.root, "empty")->value, "");
	assert_null(node_get(c.root, "none"));
	assert_null(node_get(node_get(c.root, "a"), "none"));
	config_release(&c);
}

static void empty_files(void **state)
{
	static const char *const texts[] = {"", "\n", "# only a comment\n", "---\n", "---\n...\n",
		"\xEF\xBB\xBF", "{}", "\r\n"};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
		struct config c = parse_config(texts[i]);

		assert_int_equal(c.root->kind, NODE_MAP);
		assert_int_equal(c.root->n, 0);
		config_release(&c);
	}
}

static void bom_and_crlf(void **state)
{
	struct config c = parse_config("\xEF\xBB\xBF"
				       "a: x\r\nb: y\r\n");

	(void)state;
	assert_string_equal(node_get(c.root, "a")->value, "x");
	assert_string_equal(node_get(c.root, "b")->value, "y");
	assert_int_equal(node_get(c.root, "b")->line, 2);
	config_release(&c);
}

static void words_stay_words(void **state)
{
	struct config c = parse_config(
		"a: no\nb: off\nc: 0123\nd: \"~\"\ne: 1_000\nf: 12:30:45\ng: nUll\nnull: x\n");

	(void)state;
	assert_string_equal(node_get(c.root, "a")->value, "no");
	assert_string_equal(node_get(c.root, "b")->value, "off");
	assert_string_equal(node_get(c.root, "c")->value, "0123");
	assert_string_equal(node_get(c.root, "d")->value, "~");
	assert_string_equal(node_get(c.root, "e")->value, "1_000");
	assert_string_equal(node_get(c.root, "f")->value, "12:30:45");
	assert_string_equal(node_get(c.root, "g")->value, "nUll");
	assert_string_equal(node_get(c.root, "null")->value, "x");
	config_release(&c);
}

static void null_is_nothing(void **state)
{
	struct config c = parse_config("a: ~\nb: null\nc: Null\nd: NULL\ne:\nf: &x ~\ng: *x\n");
	struct config quoted = parse_config("a: 'null'\nb: \"~\"\n");
	struct err e = ERR_INIT;
	int64_t v;

	(void)state;
	for (size_t i = 0; i < c.root->n; i++) {
		assert_int_equal(c.root->child[i]->kind, NODE_SCALAR);
		assert_string_equal(c.root->child[i]->value, "");
		assert_false(c.root->child[i]->quoted);
	}
	assert_int_equal(node_int(&c, c.root->child[1], 0, 9, &v, &e), -1);
	assert_string_equal(
		e.msg, "t.yaml:2:4: found nothing, expected a whole number from 0 to 9.");
	assert_string_equal(quoted.root->child[0]->value, "null");
	assert_string_equal(quoted.root->child[1]->value, "~");
	config_release(&c);
	config_release(&quoted);
}

static void test_duplicates(void **state)
{
	(void)state;
	refuse_config(
		"a: 1\nb: 2\na: 3\n", "t.yaml:3:1: duplicate key \"a\": it is already in line 1.");
	refuse_config("m:\n  x: 1\n  \"x\": 2\n",
		"t.yaml:3:3: duplicate key \"x\": it is already in line 2.");
	refuse_config("b: 1\nb: 2\na: 3\na: 4\n",
		"t.yaml:2:1: duplicate key \"b\": it is already in line 1.");
}

static void bad_bytes(void **state)
{
	(void)state;
	refused_n("a: x\0y\n", 7, "t.yaml:1:5: found the control character U+0000, expected text.");
	refuse_config("a: 1\nb: \xff\n", "t.yaml:2:4: found the byte 0xff, expected UTF-8 text.");
	refuse_config("a: \xc0\xaf\n", "t.yaml:1:4: found the byte 0xc0, expected UTF-8 text.");
	refuse_config("a: \xed\xa0\x80\n", "t.yaml:1:4: found the byte 0xed, expected UTF-8 text.");
	refuse_config("\xff\xfe"
		      "a",
		"t.yaml:1:1: found the byte 0xff, expected UTF-8 text.");
	refuse_config("\xc3\xa9\xc3\xa9: \x1b[31m\n",
		"t.yaml:1:5: found the control character U+001B, expected text.");
	refuse_config("a: b\r\nc: \xef\xbb\xbf\n",
		"t.yaml:2:4: found the control character U+FEFF, expected text.");
	refuse_config("a: \"x\\0y\"\n",
		"t.yaml:1:4: found a NUL character (\\0) in a text, expected none.");
}

static void bad_shapes(void **state)
{
	(void)state;
	refuse_config("- a\n", "t.yaml:1:1: found a list at the top, expected `key: value` lines.");
	refuse_config("word\n",
		"t.yaml:1:1: found a single value at the top, expected `key: value` lines.");
	refuse_config("\"\"\n",
		"t.yaml:1:1: found a single value at the top, expected `key: value` lines.");
	refuse_config("a: 1\n---\nb: 2\n",
		"t.yaml:2:1: found a second document (---), expected one "
		"document in the file.");
	refuse_config("? [x]\n: 1\n",
		"t.yaml:1:3: found a key that is not a plain word, expected `key: value`.");
	refuse_config("\"\": 1\n", "t.yaml:1:1: found an empty key, expected `key: value`.");
	refuse_config("a: !!python/object x\n",
		"t.yaml:1:4: found the tag "
		"\"tag:yaml.org,2002:python/object\", expected a plain value: tags are not supported.");
	refuse_config("a: &a {x: 1}\nb:\n  <<: *a\n",
		"t.yaml:3:3: found a merge key (<<), expected the keys themselves: merge keys are not supported.");
	refuse_config("a: [1, 2\n",
		"t.yaml:2:1: not valid YAML: did not find expected ',' or ']' "
		"(while parsing a flow sequence that begins in line 1).");
	refuse_config("a: 1\n\tb: 2\n",
		"t.yaml:2:1: not valid YAML: found a tab character that violates indentation "
		"(while scanning a plain scalar that begins in line 1).");
	refuse_config("a: b: c\n",
		"t.yaml:1:5: not valid YAML: mapping values are not allowed in this "
		"context.");
}

static void test_aliases(void **state)
{
	struct config c = parse_config("a: &x {k: v}\nb: *x\nc: [*x, *x]\n");

	(void)state;
	assert_string_equal(node_get(node_get(c.root, "b"), "k")->value, "v");
	assert_string_equal(node_get(c.root, "b")->key, "b");
	assert_string_equal(node_get(c.root, "a")->key, "a");
	assert_int_equal(node_get(c.root, "c")->n, 2);
	config_release(&c);
	refuse_config(
		"a: *x\n", "t.yaml:1:4: found the alias *x, expected an anchor &x before it.");
	refuse_config("a: &x [*x]\n",
		"t.yaml:1:8: found the alias *x inside of its own anchor, expected "
		"it after the end of &x.");
}

/* Nine levels of nine aliases: four hundred million values in 500 bytes. */
static void alias_bomb(void **state)
{
	struct str s = STR_INIT;
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	str_adds(&s, "l0: &l0 [x]\n");
	for (int i = 1; i < 10; i++) {
		str_addf(&s, "l%d: &l%d [", i, i);
		for (int j = 0; j < 9; j++)
			str_addf(&s, "%s*l%d", j ? ", " : "", i - 1);
		str_adds(&s, "]\n");
	}
	assert_int_equal(config_parse("t.yaml", s.s, s.len, &c, &e), -1);
	assert_string_equal(e.msg,
		"t.yaml:6:40: found more than 100000 values (aliases count as "
		"what they stand for), expected a smaller file.");
	str_release(&s);
}

/* An alias may not carry its anchor's levels below the limit either. */
static void test_depth(void **state)
{
	struct str s = STR_INIT;
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	str_adds(&s, "a: ");
	for (int i = 0; i < 30; i++)
		str_addc(&s, '[');
	str_addc(&s, 'x');
	for (int i = 0; i < 30; i++)
		str_addc(&s, ']');
	c = parse_config(s.s);
	config_release(&c);
	str_clear(&s);
	str_adds(&s, "a: ");
	for (int i = 0; i < 32; i++)
		str_addc(&s, '[');
	refuse_config(s.s, "t.yaml:1:35: found more than 32 levels, expected less nesting.");
	str_clear(&s);
	str_adds(&s,
		"a: &a [[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]\nb: [[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]\n");
	assert_int_equal(config_parse("t.yaml", s.s, s.len, &c, &e), -1);
	assert_string_equal(
		e.msg, "t.yaml:2:20: found more than 32 levels, expected less nesting.");
	str_clear(&s);
	for (int i = 0; i < 200000; i++)
		str_addc(&s, '[');
	assert_int_equal(config_parse("t.yaml", s.s, s.len, &c, NULL), -1);
	str_release(&s);
}

static void test_file_size(void **state)
{
	struct str s = STR_INIT;
	struct config c;
	struct err e = ERR_INIT;

	(void)state;
	while (s.len < (1 << 20))
		str_adds(&s, "# sixteen bytes\n");
	c = parse_config(s.s);
	config_release(&c);
	str_addc(&s, '\n');
	assert_int_equal(config_parse("t.yaml", s.s, s.len, &c, &e), -1);
	assert_string_equal(e.msg, "t.yaml:1:1: found 1048577 bytes, expected at most 1048576.");
	str_clear(&s);
	for (int i = 0; i < 70000; i++)
		str_addf(&s, "k%d: %d\n", i, i);
	c = parse_config(s.s);
	assert_int_equal(c.root->n, 70000);
	config_release(&c);
	str_clear(&s);
	while (s.len < 300000)
		str_adds(&s, "- 1\n- 2\n");
	str_clear(&s);
	str_adds(&s, "a:\n");
	for (int i = 0; i < 100000; i++)
		str_adds(&s, "- 1\n");
	assert_int_equal(config_parse("t.yaml", s.s, s.len, &c, &e), -1);
	assert_string_equal(e.msg,
		"t.yaml:100000:3: found more than 100000 values (aliases count "
		"as what they stand for), expected a smaller file.");
	str_release(&s);
}

static struct config one; /* "v: TEXT" for the readings below */

static const struct node *parse_value(const char *text)
{
	char buf[256];

	config_release(&one);
	snprintf(buf, sizeof buf, "v: %s\n", text);
	one = parse_config(buf);
	return node_get(one.root, "v");
}

static void test_integers(void **state)
{
	static const char *const bad[][2] = {
		{"010",
			"t.yaml:1:4: found \"010\", expected a whole number from -5 to 100 without "
			"leading zeros."},
		{"0x10",
			"t.yaml:1:4: found \"0x10\", expected a whole number from -5 to 100 without "
			"leading zeros."},
		{"101", "t.yaml:1:4: found \"101\", expected a whole number from -5 to 100."},
		{"-6", "t.yaml:1:4: found \"-6\", expected a whole number from -5 to 100."},
		{"1.5", "t.yaml:1:4: found \"1.5\", expected a whole number from -5 to 100."},
		{"no", "t.yaml:1:4: found \"no\", expected a whole number from -5 to 100."},
		{"\"5\"",
			"t.yaml:1:4: found \"5\" in quotes, expected a whole number from -5 to "
			"100."},
		{"", "t.yaml:1:3: found nothing, expected a whole number from -5 to 100."},
		{"[1]", "t.yaml:1:4: found a list, expected a whole number from -5 to 100."},
		{"{a: 1}",
			"t.yaml:1:4: found keys with values, expected a whole number from -5 to "
			"100."},
		{"99999999999999999999",
			"t.yaml:1:4: found \"99999999999999999999\", expected a "
			"whole number from -5 to 100."},
		{"5 ", NULL},
	};
	int64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const struct node *n = parse_value(bad[i][0]);
		struct err e = ERR_INIT;

		v = 77;
		if (!bad[i][1]) {
			assert_int_equal(node_int(&one, n, -5, 100, &v, &e), 0);
			continue;
		}
		assert_int_equal(node_int(&one, n, -5, 100, &v, &e), -1);
		assert_string_equal(e.msg, bad[i][1]);
		assert_int_equal(v, 77);
	}
	assert_int_equal(
		node_int(&one, parse_value("9223372036854775807"), 0, INT64_MAX, &v, NULL), 0);
	assert_true(v == INT64_MAX);
	assert_int_equal(node_int(&one, parse_value("-3"), -5, 5, &v, NULL), 0);
	assert_int_equal(v, -3);
	assert_int_equal(node_int(&one, parse_value("0"), -5, 5, &v, NULL), 0);
	assert_int_equal(v, 0);
}

static void test_doubles(void **state)
{
	static const char *const bad[] = {".", "1.2.3", "nan", "inf", "1e999", "0x10", "-x", "1,5",
		"\"1\"", "", "[1]", "10.01", "1e", "010", "007",
		"11111111111111111111111111111111111111111111111"
		"11111111111111111111111111111111"};
	struct err e = ERR_INIT;
	double v;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(node_double(&one, parse_value(bad[i]), 0.1, 10, &v, &e), -1);
	assert_int_equal(node_double(&one, parse_value("fast"), 0.1, 10, &v, &e), -1);
	assert_string_equal(e.msg, "t.yaml:1:4: found \"fast\", expected a number from 0.1 to 10.");
	assert_int_equal(node_double(&one, parse_value("010"), 0.1, 10, &v, &e), -1);
	assert_string_equal(e.msg,
		"t.yaml:1:4: found \"010\", expected a number from 0.1 to 10 without leading zeros.");
	assert_int_equal(node_double(&one, parse_value("2.5"), 0.1, 10, &v, NULL), 0);
	assert_true(v == 2.5);
	assert_int_equal(node_double(&one, parse_value(".5"), 0.1, 10, &v, NULL), 0);
	assert_true(v == 0.5);
	assert_int_equal(node_double(&one, parse_value("1e1"), 0.1, 10, &v, NULL), 0);
	assert_true(v == 10);
}

static void test_booleans(void **state)
{
	struct err e = ERR_INIT;
	bool v = false;

	(void)state;
	assert_int_equal(node_bool(&one, parse_value("yes"), &v, NULL), 0);
	assert_true(v);
	assert_int_equal(node_bool(&one, parse_value("off"), &v, NULL), 0);
	assert_false(v);
	assert_int_equal(node_bool(&one, parse_value("True"), &v, NULL), 0);
	assert_true(v);
	assert_int_equal(node_bool(&one, parse_value("1"), &v, &e), -1);
	assert_string_equal(e.msg, "t.yaml:1:4: found \"1\", expected true or false.");
	assert_int_equal(node_bool(&one, parse_value("\"yes\""), &v, &e), -1);
	assert_string_equal(e.msg, "t.yaml:1:4: found \"yes\" in quotes, expected true or false.");
}

static void test_amounts(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"0", 0}, {"512", 512}, {"1k", 1024}, {"2g", 2147483648u},
		{"\"2g\"", 2147483648u}, {"512M", 536870912}, {"1.5GiB", 1610612736}, {"10b", 10},
		{"010k", 10240}, {"\"010\"", 10}, {"4tb", 4398046511104u}};
	static const char *const bad[] = {
		"", "g", "-1", "2x", "2gg", "2gib2", "1e30", "9999999t", "[1]", "2 g", "010"};
	struct err e = ERR_INIT;
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		assert_int_equal(node_bytes(&one, parse_value(good[i].text), &v, NULL), 0);
		assert_true(v == good[i].bytes);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(node_bytes(&one, parse_value(bad[i]), &v, &e), -1);
	assert_int_equal(node_bytes(&one, parse_value("2x"), &v, &e), -1);
	assert_string_equal(
		e.msg, "t.yaml:1:4: found \"2x\", expected an amount such as 512m or 2g.");
}

static void test_choices(void **state)
{
	static const char *const words[] = {"none", "bridge", "host", NULL};
	struct err e = ERR_INIT;
	int v = -1;

	(void)state;
	assert_int_equal(node_choice(&one, parse_value("bridge"), words, &v, NULL), 0);
	assert_int_equal(v, 1);
	assert_int_equal(node_choice(&one, parse_value("brigde"), words, &v, &e), -1);
	assert_string_equal(e.msg,
		"t.yaml:1:4: found \"brigde\", expected none, bridge or host "
		"(did you mean \"bridge\"?).");
	assert_int_equal(node_choice(&one, parse_value("[]"), words, &v, &e), -1);
	assert_string_equal(e.msg, "t.yaml:1:4: found a list, expected none, bridge or host.");
	assert_int_equal(v, 1);
}

static void unknown_keys(void **state)
{
	static const char *const known[] = {"color", "size", "name", NULL};
	struct config c = parse_config("size: 1\ncolr: red\n");
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(node_unknown(&c, c.root, known, &e), -1);
	assert_string_equal(e.msg, "t.yaml:2:1: unknown key \"colr\"; did you mean \"color\"?");
	config_release(&c);
	c = parse_config("size: 1\nzebra: red\n");
	assert_int_equal(node_unknown(&c, c.root, known, &e), -1);
	assert_string_equal(
		e.msg, "t.yaml:2:1: unknown key \"zebra\", expected color, size or name.");
	config_release(&c);
	c = parse_config("size: 1\n");
	assert_int_equal(node_unknown(&c, c.root, known, &e), 0);
	config_release(&c);
}

/* What a message quotes cannot speak to the terminal. */
static void quoted_text_is_neutral(void **state)
{
	struct err e = ERR_INIT;
	int64_t v;

	(void)state;
	assert_int_equal(node_int(&one, parse_value("\"\\e[31mred\""), 0, 1, &v, &e), -1);
	assert_string_equal(e.msg,
		"t.yaml:1:4: found \"^[[31mred\" in quotes, expected a whole number from 0 to 1.");
}

static void test_config_files(void **state)
{
	char path[] = "/tmp/berth-unit-XXXXXX", sentence[256];
	struct config c;
	struct err e = ERR_INIT;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a: 1\n", 5), 5);
	close(fd);
	assert_int_equal(config_read(path, &c, &e), 0);
	assert_string_equal(c.file, path);
	config_release(&c);
	unlink(path);
	assert_int_equal(config_read(path, &c, &e), -1);
	snprintf(sentence, sizeof sentence, "Cannot open %s: No such file or directory", path);
	assert_string_equal(e.msg, sentence);
	assert_int_equal(e.kind, ERR_CONFIG);
	assert_int_equal(config_read("/tmp", &c, &e), -1);
	assert_string_equal(e.msg, "/tmp is not a regular file: name one.");
	/* A FIFO without a writer must not hold anybody up. */
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(config_read(path, &c, &e), -1);
	unlink(path);
}

static void test_embedded(void **state)
{
	size_t n = 0;
	const char *text = embedded_file("configs/berth.yaml", &n), *name;

	(void)state;
	assert_non_null(text);
	assert_int_equal(strlen(text), n);
	assert_null(embedded_file("configs/none.yaml", NULL));
	assert_string_equal(embedded_name("configs/berth.", 0), "configs/berth.yaml");
	assert_null(embedded_name("configs/berth.", 1));
	/* Everything in YAML or JSON that is shipped can be read; scripts and pages are here, too. */
	for (size_t i = 0; (name = embedded_name("", i)); i++) {
		struct config c;
		struct err e = ERR_INIT;

		const char *end = strrchr(name, '.');

		if (!end || (strcmp(end, ".yaml") != 0 && strcmp(end, ".json") != 0))
			continue;
		text = embedded_file(name, &n);
		if (config_parse(name, text, n, &c, &e) < 0)
			fail_msg("%s", e.msg);
		config_release(&c);
	}
}

static int teardown(void **state)
{
	(void)state;
	config_release(&one);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_with_places),
		cmocka_unit_test(empty_files),
		cmocka_unit_test(bom_and_crlf),
		cmocka_unit_test(words_stay_words),
		cmocka_unit_test(null_is_nothing),
		cmocka_unit_test(test_duplicates),
		cmocka_unit_test(bad_bytes),
		cmocka_unit_test(bad_shapes),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(alias_bomb),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_file_size),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_booleans),
		cmocka_unit_test(test_amounts),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(unknown_keys),
		cmocka_unit_test(quoted_text_is_neutral),
		cmocka_unit_test(test_config_files),
		cmocka_unit_test(test_embedded),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
