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

static bool is_ignored(const char *patterns, const char *path)
{
	struct ignore *g = ignore_parse(patterns, strlen(patterns));
	bool is = ignore_matches(g, path);

	ignore_free(g);
	return is;
}

static void test_ignore(void **state)
{
	(void)state;
	assert_false(is_ignored("", "a"));
	assert_false(is_ignored("# a\n\n  \n!\n/\n.\n..\n", "a"));
	assert_true(is_ignored("a", "a"));
	assert_true(is_ignored("/a/\r\n", "a"));
	assert_true(is_ignored("a", "a/b/c"));
	assert_false(is_ignored("a", "b/a"));
	assert_false(is_ignored("a", "ab"));
	assert_true(is_ignored("*/a", "b/a"));
	assert_false(is_ignored("*/a", "c/b/a"));
	assert_true(is_ignored("**/a", "a"));
	assert_true(is_ignored("**/a", "c/b/a/x"));
	assert_true(is_ignored("**", "c/b"));
	assert_true(is_ignored("a/**/z", "a/z"));
	assert_true(is_ignored("a/**/z", "a/b/c/z"));
	assert_false(is_ignored("a/**/z", "b/a/z"));
	assert_true(is_ignored("*.log", "x.log"));
	assert_false(is_ignored("*.log", "d/x.log"));
	assert_true(is_ignored("**/*.log", "d/x.log"));
	assert_true(is_ignored("[a-c]?", "b1"));
	assert_true(is_ignored("./x/../y", "y"));
	assert_true(is_ignored("../y", "y"));
	assert_true(is_ignored("\xef\xbb\xbf"
			       "a\n",
		"a"));
	/* The last that matches decides. */
	assert_false(is_ignored("*.md\n!README.md\n", "README.md"));
	assert_true(is_ignored("*.md\n!README.md\n", "NOTES.md"));
	assert_true(is_ignored("!README.md\n*.md\n", "README.md"));
	assert_false(is_ignored("d\n!d/keep\n", "d/keep"));
	assert_true(is_ignored("d\n!d/keep\n", "d/other"));
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
	assert_false(is_ignored(pattern.s, path.s));
	str_clear(&pattern);
	for (int i = 0; i < 200; i++)
		str_adds(&pattern, "x/"); /* more parts than are kept */
	is_ignored(pattern.s, "x");
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

static void expect_remedy(const char *reference, const char *part)
{
	char remedy[IMAGE_REFERENCE_MAX * 3];

	images_remedy(reference, remedy, sizeof remedy);
	if (!strstr(remedy, part))
		fail_msg("%s is missing in %s", part, remedy);
}

/* The defaults of team files are images that can be built by name. */
static void test_shipped_images(void **state)
{
	static const char text[] =
		"agents:\n  a: {workspace: /w}\n  b: {workspace: /v, sudo: true}\n";
	struct team t;

	(void)state;
	expect_remedy("berth/python:local", "`berth image build python`");
	expect_remedy("python:3", "`berth image pull python:3`");
	expect_remedy("massgen/mcp-runtime:latest",
		"image build --tag massgen/mcp-runtime:latest runtime`");
	expect_remedy("ghcr.io/massgen/mcp-runtime-sudo:latest", " runtime-sudo`");
	for (const struct image_shipped *s = images_shipped; s->name; s++) {
		AUTO_FREE char *file = xasprintf("configs/images/%s/Dockerfile", s->name);
		size_t len;

		assert_ptr_equal(images_shipped_named(s->name), s);
		assert_non_null(embedded_file(file, &len));
	}
	assert_int_equal(team_parse("t", text, sizeof text - 1, "/", &t, NULL), 0);
	expect_remedy(team_agent(&t, "a")->image, "`berth image build runtime`");
	expect_remedy(team_agent(&t, "b")->image, "`berth image build runtime-sudo`");
	team_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ignore),
		cmocka_unit_test(test_ignore_is_bounded),
		cmocka_unit_test(test_reference),
		cmocka_unit_test(test_shipped_images),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
