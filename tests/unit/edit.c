/* edit.c - edits of a text: where they belong, what they keep of the file, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "mcp/edit.h"

static enum err_kind edit(
	const char *text, const char *old, const char *new, char **ret, struct err *e)
{
	const struct edit_request q = {.text = text,
		.text_n = strlen(text),
		.old = old,
		.old_n = strlen(old),
		.new = new,
		.new_n = strlen(new)};
	struct str out = STR_INIT;
	int rc = edit_apply(&q, &out, e);

	*ret = str_detach(&out);
	assert_true((rc < 0) == (e->kind != ERR_NONE));
	return e->kind;
}

static void test_good(void **state)
{
	static const struct {
		const char *text, *old, *new, *want;
	} cases[] = {
		/* as it is */
		{"one two three", "two", "2", "one 2 three"},
		{"a\nb\nc\n", "b\n", "", "a\nc\n"},
		{"f(x);\n", "(x)", "(y)", "f(y);\n"},
		{"import os\nimport osmium\n", "import os", "import sys",
			"import sys\nimport osmium\n"},
		{"x = \xc3\xa4\n", "\xc3\xa4", "b", "x = b\n"},
		/* what is not a letter ends a word: a byte order mark, quotes, a dash, a blank, an emoji */
		{"\xef\xbb\xbfusing A;\n", "using A", "using B", "\xef\xbb\xbfusing B;\n"},
		{"\xef\xbb\xbfusing A;\nb\n", "using A;\nb\n", "x\n", "\xef\xbb\xbfx\n"},
		{"\xe2\x80\x9chello\xe2\x80\x9d", "hello", "hi", "\xe2\x80\x9chi\xe2\x80\x9d"},
		{"x\xe2\x80\x94y", "y", "z", "x\xe2\x80\x94z"},
		{"x\xc2\xa0y", "y", "z", "x\xc2\xa0z"},
		{"\xf0\x9f\x8e\x89over", "over", "now", "\xf0\x9f\x8e\x89now"},
		/* scripts without blanks have no words that could be told */
		{"\xe4\xbd\xa0\xe5\xa5\xbd\xe4\xb8\x96\xe7\x95\x8c", "\xe4\xb8\x96\xe7\x95\x8c",
			"x", "\xe4\xbd\xa0\xe5\xa5\xbdx"},
		{"v2\xe3\x81\xa7\xe3\x81\x99", "v2", "v3", "v3\xe3\x81\xa7\xe3\x81\x99"},
		/* the file's line ends stay: of one line, and of several */
		{"a\r\nb\r\nc\r\n", "b", "x\ny", "a\r\nx\r\ny\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"},
		{"a\r\nb\r\nc\r\n", "a\r\nb\r\n", "x\n", "x\r\nc\r\n"},
		{"a\nb\nc\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\nc\n"},
		{"a\r\nb", "b", "x\ny", "a\r\nx\r\ny"},
		{" return 1\r\n", "return 1\n", "return 1\n  }\n", " return 1\r\n  }\r\n"},
		{"a\r\n  # c\r\n", "\n  # c", "\nb\n  # c", "a\r\nb\r\n  # c\r\n"},
		{"\r\n\r\na\r\n", "a\n", "", "\r\n\r\n"},
		/* blanks that end a line do not count, and one indentation more or less is kept */
		{"\tif (x)  \n\t\ty();\n", "if (x)\n\ty();", "z();\n\nif (q)\n\tr();",
			"\tz();\n\n\tif (q)\n\t\tr();\n"},
		{"        if a:\n            b()\n        else:\n            c()\n",
			"if a:\n    b()\nelse:\n    c()\n", "if a:\n    d()\nelse:\n    e()\n",
			"        if a:\n            d()\n        else:\n            e()\n"},
		{"a()\nb()\n", "    a()\n    b()", "    c()", "c()\n"},
		{"  a\n\n  b\n", "a\n\nb", "c\n\nd", "  c\n\n  d\n"},
		{"\tif (x)\n\t\ty();\n", "if (x)\n    y();", "if (z)\n    y();\nw();",
			"\tif (z)\n\t\ty();\n\tw();\n"},
		/* without a line end it takes none away */
		{"  a  \nb\n", "a", "c", "  c  \nb\n"},
		{"  x y  \n  z\nb\n", "x y\nz", "c", "  c\nb\n"},
		/* one level up from what was found */
		{"a:\n  b:\n    c\n", "    b:\n      c", "  d", "a:\nd\n"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err e = ERR_INIT;
		AUTO_FREE char *got = NULL;

		if (edit(cases[i].text, cases[i].old, cases[i].new, &got, &e) != ERR_NONE)
			fail_msg("case %zu: %s", i, e.msg);
		assert_string_equal(got, cases[i].want);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *old, *new;
		enum err_kind kind;
		const char *says;
	} cases[] = {
		{"a\n", "b", "c", ERR_NOT_FOUND, "exact match"},
		/* several places: how many, and where */
		{"x = 1\ny\nx = 1\n", "x = 1", "x = 2", ERR_CONFLICT, "2 times (lines 1, 3)"},
		{"a-a-a", "a-a", "b", ERR_CONFLICT, "2 times"},
		{"  a  \n  b\nq\n    a\n    b \n", "a\nb", "c", ERR_CONFLICT,
			"2 times (lines 1, 4)"},
		{"c\r\nc\n", "c\n", "d\n", ERR_CONFLICT, "2 times (lines 1, 2)"},
		/* within a word */
		{"import osmium\n", "import os", "import sys", ERR_NOT_FOUND,
			"longer word in line 1"},
		{"reimport os\n", "import os", "import sys", ERR_NOT_FOUND, "longer word"},
		{"caf\xc3\xa9s\n", "caf\xc3\xa9", "x", ERR_NOT_FOUND, "longer word"},
		{"\xd0\xb4\xd0\xb0\xd0\xb4", "\xd0\xb4\xd0\xb0", "x", ERR_NOT_FOUND, "longer word"},
		{"cafe\xcc\x81\n", "cafe", "x", ERR_NOT_FOUND, "longer word"},
		{"caf\xe9s\n", "caf", "x", ERR_NOT_FOUND, "longer word"},
		/* blanks that contradict each other, or cannot be told from those of the old lines */
		{"if a:\n    b\n      c\n", "if a:\nb\nc", "x", ERR_NOT_FOUND,
			"leading whitespace"},
		{"\tif a:\n\t\tb\n", "if a:\n    b", "if a:\n    if b:\n        c", ERR_REFUSED,
			"cannot be derived"},
		{"a:\n  b:\n    c\n", "    b:\n      c", " d", ERR_REFUSED, "cannot be derived"},
		/* line ends that differ */
		{"a\r\nb\nc\r\n", "a\r\nb\n", "x\n", ERR_REFUSED, "different line ends"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct err e = ERR_INIT;
		AUTO_FREE char *got = NULL;

		if (edit(cases[i].text, cases[i].old, cases[i].new, &got, &e) != cases[i].kind ||
			!strstr(e.msg, cases[i].says))
			fail_msg("case %zu: %d %s, %s", i, e.kind, e.msg, got ? got : "");
	}
}

static bool stop_now(void *ctx)
{
	++*(int *)ctx;
	return true;
}

/* What repeats itself ends all the same: as a refusal, or when the call is given up. */
static void test_repeats(void **state)
{
	size_t n = (size_t)4 << 20;
	AUTO_FREE char *text = xmalloc(n), *old = xmalloc(n / 2);
	struct edit_request q = {
		.text = text, .text_n = n, .old = old, .old_n = n / 2, .new = "x", .new_n = 1};
	struct str out = STR_INIT;
	struct err e = ERR_INIT;
	int asked = 0;

	(void)state;
	memset(text, 'a', n);
	memset(old, 'a', n / 2);
	assert_int_equal(edit_apply(&q, &out, &e), -1);
	assert_int_equal(e.kind, ERR_REFUSED);
	for (size_t i = 0; i < n; i += 2)
		memcpy(text + i, "a\n", 2);
	for (size_t i = 0; i < n / 2; i += 2)
		memcpy(old + i, "a\n", 2);
	old[n / 2 - 2] = 'b';
	e = (struct err)ERR_INIT;
	assert_int_equal(edit_apply(&q, &out, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	q.stopped = stop_now;
	q.ctx = &asked;
	e = (struct err)ERR_INIT;
	assert_int_equal(edit_apply(&q, &out, &e), -1);
	assert_int_equal(e.kind, ERR_CANCELLED);
	assert_int_equal(asked, 1);
	str_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_repeats),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
