/* image.c - .dockerignore, names of images, and what the shipped ones are called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/config.h>
#include <berth/mem.h>
#include <berth/team.h>

#include "image/image.h"

static bool ignored(const char *patterns, const char *path)
{
	struct ignore *g = ignore_parse(patterns, strlen(patterns));
	bool is = ignore_matches(g, path);

	ignore_free(g);
	return is;
}

static void test_ignore(void **state)
{
	(void)state;
	assert_false(ignored("", "a"));
	assert_false(ignored("# a\n\n  \n!\n/\n.\n..\n", "a"));
	assert_true(ignored("a", "a"));
	assert_true(ignored("/a/\r\n", "a"));
	assert_true(ignored("a", "a/b/c"));
	assert_false(ignored("a", "b/a"));
	assert_false(ignored("a", "ab"));
	assert_true(ignored("*/a", "b/a"));
	assert_false(ignored("*/a", "c/b/a"));
	assert_true(ignored("**/a", "a"));
	assert_true(ignored("**/a", "c/b/a/x"));
	assert_true(ignored("**", "c/b"));
	assert_true(ignored("a/**/z", "a/z"));
	assert_true(ignored("a/**/z", "a/b/c/z"));
	assert_false(ignored("a/**/z", "b/a/z"));
	assert_true(ignored("*.log", "x.log"));
	assert_false(ignored("*.log", "d/x.log"));
	assert_true(ignored("**/*.log", "d/x.log"));
	assert_true(ignored("[a-c]?", "b1"));
	assert_true(ignored("./x/../y", "y"));
	assert_true(ignored("../y", "y"));
	assert_true(ignored("\xef\xbb\xbf"
			    "a\n",
		"a"));
	/* The last that matches decides. */
	assert_false(ignored("*.md\n!README.md\n", "README.md"));
	assert_true(ignored("*.md\n!README.md\n", "NOTES.md"));
	assert_true(ignored("!README.md\n*.md\n", "README.md"));
	assert_false(ignored("d\n!d/keep\n", "d/keep"));
	assert_true(ignored("d\n!d/keep\n", "d/other"));
}

/* Patterns that are slow where each ** is tried at every place. */
static void test_ignore_is_bounded(void **state)
{
	AUTO_STR struct str pattern = STR_INIT, path = STR_INIT;

	(void)state;
	for (int i = 0; i < 30; i++)
		str_adds(&pattern, "**/a/");
	str_adds(&pattern, "b");
	for (int i = 0; i < 500; i++)
		str_adds(&path, "a/");
	str_adds(&path, "c");
	assert_false(ignored(pattern.s, path.s));
	str_clear(&pattern);
	for (int i = 0; i < 200; i++)
		str_adds(&pattern, "x/"); /* more parts than are kept */
	ignored(pattern.s, "x");
}

static void test_reference(void **state)
{
	static const char *const bad[] = {"", "-x", "a b", "a//b", "x:", "x/", "x@", "/x", ":x",
		".x", "x\n", "x?y", "x%2f", "\xc3\xa9"};
	char full[IMAGE_REFERENCE_MAX], longest[300];

	(void)state;
	assert_int_equal(image_reference("x", full, NULL), 0);
	assert_string_equal(full, "x:latest");
	assert_int_equal(image_reference("r:5000/team/x", full, NULL), 0);
	assert_string_equal(full, "r:5000/team/x:latest");
	assert_int_equal(image_reference("r:5000/x:v2", full, NULL), 0);
	assert_string_equal(full, "r:5000/x:v2");
	assert_int_equal(image_reference("x@sha256:00", full, NULL), 0);
	assert_string_equal(full, "x@sha256:00");
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct err e = ERR_INIT;

		assert_int_equal(image_reference(bad[i], full, &e), -1);
		assert_int_equal(e.kind, ERR_USAGE);
	}
	memset(longest, 'x', sizeof longest);
	longest[sizeof longest - 1] = '\0';
	assert_int_equal(image_reference(longest, full, NULL), -1);
}

static void says(const char *reference, const char *part)
{
	char remedy[IMAGE_REFERENCE_MAX * 3];

	images_remedy(reference, remedy, sizeof remedy);
	if (!strstr(remedy, part))
		fail_msg("%s is missing in %s", part, remedy);
}

/* The defaults of team files are images that can be built by name. */
static void test_shipped(void **state)
{
	static const char text[] =
		"agents:\n  a: {workspace: /w}\n  b: {workspace: /v, sudo: true}\n";
	struct team t;

	(void)state;
	says("berth/python:local", "`berth image build python`");
	says("python:3", "`berth image pull python:3`");
	says("massgen/mcp-runtime:latest", "image build --tag massgen/mcp-runtime:latest runtime`");
	says("ghcr.io/massgen/mcp-runtime-sudo:latest", " runtime-sudo`");
	for (const struct image_shipped *s = images_shipped; s->name; s++) {
		AUTO_FREE char *file = xasprintf("configs/images/%s/Dockerfile", s->name);
		size_t len;

		assert_ptr_equal(images_shipped_named(s->name), s);
		assert_non_null(embedded_file(file, &len));
	}
	assert_int_equal(team_parse("t", text, sizeof text - 1, "/", &t, NULL), 0);
	says(team_agent(&t, "a")->image, "`berth image build runtime`");
	says(team_agent(&t, "b")->image, "`berth image build runtime-sudo`");
	team_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ignore),
		cmocka_unit_test(test_ignore_is_bounded),
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
