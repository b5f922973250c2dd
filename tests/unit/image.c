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
	struct ignore *g = NULL;
	struct err e = ERR_INIT;
	bool is;

	if (ignore_parse(".dockerignore", patterns, strlen(patterns), &g, &e))
		fail_msg("%s: %s", patterns, e.msg);
	is = ignore_matches(g, path);
	ignore_free(g);
	return is;
}

/* What docker does with each.  M: a case of moby/patternmatcher's own tests; C: filepath.Clean of Go, which every pattern
 * goes through; R: the build reference; I: moby/patternmatcher's ignorefile, which reads the lines; D: seen of docker 28.2,
 * which makes a regular expression of the pattern. */
static const struct {
	const char *patterns, *path;
	bool ignored;
	char source;
} ignore_cases[] = {
	{"", "a", false, 'R'},
	{"# a\n\n  \n", "a", false, 'R'},
	{" # a\n", "a", false, 'R'},
	{" # a\n", "# a", true, 'R'},
	{".\n..\n/\n./\n", "a", false, 'R'},
	{"a", "a", true, 'R'},
	{"a", "a/b/c", true, 'R'},
	{"a", "b/a", false, 'R'},
	{"a", "ab", false, 'R'},
	{"*/a", "b/a", true, 'R'},
	{"*/a", "c/b/a", false, 'R'},
	{"*/*/temp*", "somedir/subdir/temporary.txt", true, 'R'},
	{"temp?", "tempa", true, 'R'},
	{"temp?", "temp", false, 'R'},
	{"**/a", "a", true, 'R'},
	{"**/a", "c/b/a/x", true, 'R'},
	{"**", "c/b", true, 'R'},
	{"a/**/z", "a/z", true, 'R'},
	{"a/**/z", "a/b/c/z", true, 'R'},
	{"a/**/z", "b/a/z", false, 'R'},
	{"*.log", "x.log", true, 'R'},
	{"*.log", "d/x.log", false, 'R'},
	{"**/*.log", "d/x.log", true, 'R'},
	/* The last that matches decides. */
	{"*.md\n!README.md\n", "README.md", false, 'R'},
	{"*.md\n!README.md\n", "NOTES.md", true, 'R'},
	{"*.md\n!README*.md\nREADME-secret.md\n", "README-secret.md", true, 'R'},
	{"!README.md\n*.md\n", "README.md", true, 'R'},
	{"d\n!d/keep\n", "d/keep", false, 'R'},
	{"d\n!d/keep\n", "d/other", true, 'R'},
	{"**\n!util/docker/web", "util/docker/web/foo", false, 'M'},
	{"**\n!util/docker/web\nutil/docker/web/foo", "util/docker/web/foo", true, 'M'},
	/* The lines. */
	{"\xef\xbb\xbf"
	 "a\n",
		"a", true, 'I'},
	{"\xef\xbb\xbf# a\na\n", "a", true, 'I'},
	{"/a/\r\n", "a", true, 'I'},
	{"a", "a\r", false, 'I'},
	{"  a\t\n", "a", true, 'I'},
	{"a\n! a\n", "a", false, 'I'},
	{"a\n  !a  \n", "a", false, 'I'},
	{"a\n!/a\n", "a", false, 'I'},
	{"a\n!./a/\n", "a", false, 'I'},
	{"a b", "a b", true, 'I'},
	{"x/../y", "y", true, 'C'},
	{"./x/../y", "y", true, 'C'},
	{"x//./y/", "x/y", true, 'C'},
	{"/../y", "y", true, 'C'},
	{"../y", "y", false, 'C'},
	{"x/../../y", "y", false, 'C'},
	/* Two stars. */
	{"**/**", "dir/file", true, 'M'},
	{"dir/**", "dir/dir2/file", true, 'M'},
	{"**/dir2/*", "dir/dir2/file", true, 'M'},
	{"**/dir2/**", "dir/dir2/dir3/file", true, 'M'},
	{"**file", "file", true, 'M'},
	{"**file", "dir/dir/file", true, 'M'},
	{"**/file*txt", "dir/dir/file.txt", true, 'M'},
	{"**/file*.txt*", "dir/dir/file.txt", true, 'M'},
	{"**/**/*.txt", "dir/dir/file.txt", true, 'M'},
	{"**/**/*.txt", "file.txt", true, 'M'},
	{"**/**/*.txt2", "dir/dir/file.txt", false, 'M'},
	{"a**/*.txt", "a/file.txt", true, 'M'},
	{"a**/*.txt", "a/dir/dir/file.txt", true, 'M'},
	{"a/*.txt", "a/dir/file.txt", false, 'M'},
	{"a/*.txt**", "a/file.txt", true, 'M'},
	{"abc/**", "abc", false, 'M'},
	{"abc/**", "abc/def/ghi", true, 'M'},
	{"**/foo/bar", "dir/dir2/foo/bar", true, 'M'},
	{"**/.foo", ".foo", true, 'M'},
	{"**/.foo", "bar.foo", false, 'M'},
	/* Characters. */
	{"a[b-d]e", "ace", true, 'M'},
	{"a[b-d]e", "ae", false, 'M'},
	{"a[b-d]e", "aae", false, 'M'},
	{"a[^b-d]e", "aze", true, 'M'},
	{"ab[^c]", "abc", false, 'M'},
	{"[!a]", "b", false, 'M'},
	{"[!a]", "!", true, 'M'},
	{".*", ".foo", true, 'M'},
	{".*", "foo", false, 'M'},
	{"abc.def", "abcZdef", false, 'M'},
	{"abc?def", "abcZdef", true, 'M'},
	{"a(b)c/def", "a(b)c/def", true, 'M'},
	{"a.|)$(}+{bc", "a.|)$(}+{bc", true, 'M'},
	{"dist/*.whl", "dist/proxy.py-2.4.0rc3.dev36+g08acad9-py3-none-any.whl", true, 'M'},
	{"a*b*c*d*e*/f", "axbxcxdxexxx/f", true, 'M'},
	{"a*b*c*d*e*/f", "axbxcxdxe/xxx/f", false, 'M'},
	{"a*b?c*x", "abxbbxdbxebxczzx", true, 'M'},
	{"a*b?c*x", "abxbbxdbxebxczzy", false, 'M'},
	{"a\\*b", "a*b", true, 'M'},
	{"a\\*b", "ab", false, 'M'},
	{"a\\\\", "a\\", true, 'M'},
	{"a?b",
		"a\xe2\x98\xba"
		"b",
		true, 'M'},
	{"a???b",
		"a\xe2\x98\xba"
		"b",
		false, 'M'},
	{"a[^a]b",
		"a\xe2\x98\xba"
		"b",
		true, 'M'},
	{"[a-\xce\xb6]*", "\xce\xb1", true, 'M'},
	{"*[a-\xce\xb6]", "A", false, 'M'},
	{"a?b", "a/b", false, 'M'},
	{"a*b", "a/b", false, 'M'},
	{"[\\]a]", "]", true, 'M'},
	{"[\\-x]", "-", true, 'M'},
	{"[x\\-]", "z", false, 'M'},
	{"\xff", "\xfe", false, 'M'},
	/* White space at both ends, as copied from a page. */
	{"\xc2\xa0"
	 "a",
		"a", true, 'D'},
	{"a\xc2\xa0", "a", true, 'D'},
	{"a\xc2\x85\r\n", "a", true, 'D'},
	{"\xe2\x80\x83"
	 "a\xe3\x80\x80 \xe1\x9a\x80",
		"a", true, 'D'},
	{"\xe2\x80\xa8"
	 "a\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\x9f",
		"a", true, 'D'},
	{"a\n!\xc2\xa0"
	 "a",
		"a", false, 'D'},
	{"\xc2\xa0# x\n\xc2\xa0\n", "a", false, 'D'},
	{"a\xe2\x80\x8b", "a", false, 'D'},
	{"a\xa0", "a\xa0", true, 'D'},
	{"a\xa0", "a", false, 'D'},
	{"a\xc2\xa0"
	 "b",
		"a\xc2\xa0"
		"b",
		true, 'D'},
	{"/ a", "a", true, 'D'},
	{"a /", "a", true, 'D'},
	{"a\n!a /", "a", false, 'D'},
	{"a\n!/ a", "a", true, 'D'},
	{"*\n./!a", "a", false, 'D'},
	{"./!a", "!a", false, 'D'},
	/* Sets. */
	{"[[:alpha:]]", "a", true, 'D'},
	{"[[:alpha:]]", "9", false, 'D'},
	{"[[:alpha:]]", "\xc3\xa9", false, 'D'},
	{"[[:alpha:]]", "a]", false, 'D'},
	{"[^[:alpha:]]", "9", true, 'D'},
	{"[^[:alpha:]]", "a", false, 'D'},
	{"[[:^alpha:]x]", "\xc3\xa9", true, 'D'},
	{"[[:^alpha:]x]", "x", true, 'D'},
	{"[[:^alpha:]x]", "y", false, 'D'},
	{"[[:alpha:][:digit:]_-]*", "_", true, 'D'},
	{"[[:alpha:][:digit:]_-]*", "-x", true, 'D'},
	{"[[:alpha:][:digit:]_-]*", ".x", false, 'D'},
	{"[[:word:]]", "_", true, 'D'},
	{"[[:ascii:]]", "\xc3\xa9", false, 'D'},
	{"[[:xdigit:]]", "f", true, 'D'},
	{"[[:a]", ":", true, 'D'},
	{"[[:a]", "[", true, 'D'},
	{"[a[]", "[", true, 'D'},
	{"[a]b:]", "ab:]", true, 'D'},
	{"[\\*\\?]", "?", true, 'D'},
	{"a]b", "a]b", true, 'D'},
	/* Regular expressions, and what is none. */
	{"^a", "^a", true, 'D'},
	{"**/^a", "d/^a", true, 'D'},
	{"\\^*", "^a", true, 'D'},
	{"[^^]*", "^a", false, 'D'},
	{"a\xff*",
		"a\xfe"
		"b",
		true, 'D'},
	{"**/*.md", "x\ny/a.md", false, 'D'},
	{"**/a.md", "x\ny/a.md", true, 'D'},
	{"x**", "x\ny", true, 'D'},
	{"?**", "x\ny", false, 'D'},
	{"*.md", "x\ny.md", true, 'D'},
	/* What a line did to the directory above, if it was asked there. */
	{"d/a\n!d", "d/a", true, 'D'},
	{"d/a\n!d", "d/b", false, 'D'},
	{"d\n!d", "d/a", false, 'D'},
	{"d\n!d/e\nd", "d/e", false, 'D'},
	{"d\n!d/e\nd", "d/e/f", false, 'D'},
	{"d\n!d/e\nd", "d/a", true, 'D'},
	{"**/*.key\n!d", "d/e/x.key", true, 'D'},
	{"**/*.key\n!d/e", "d/e/x.key", true, 'D'},
	{"*\n!d\nd/e/f\n!d/e", "d/e/f", true, 'D'},
};

static void test_ignore(void **state)
{
	/* Of filepath.Match's tests those that are errors, and what is no regular expression; docker ends with an error then,
	 * too. */
	static const char *const bad[] = {"!", "a\n!  \n", "[]a]", "[-]", "[x-]", "[-x]", "\\",
		"a\\", "[a-b-c]", "[", "[^", "[^bc", "a[", "[]", "![", "!/", "./!", "/!", "!/ /",
		"[\xff]", "[z-a]", "[[::]", "[[:foo:]]", "[[:^:]]", "[[:alpha:]", "[[:a]b:]",
		"[[:Alpha:]]", "[[:alpha:][-x]]", "a\\\xc3\xa9",
		/* In these docker's expression means something else than the pattern. */
		"\\a", "\\d*", "src\\bin", "!\\w", "[\\d]", "[a-\\z]", "[*]", "[a?]",
		"[[:alpha:]*]", "^*", "a/^?", "[a]^", "^\\*", "a\n\xef\xbb\xbf*.log",
		"/\xef\xbb\xbf*.log"};

	(void)state;
	for (size_t i = 0; i < COUNT(ignore_cases); i++)
		if (is_ignored(ignore_cases[i].patterns, ignore_cases[i].path) !=
			ignore_cases[i].ignored)
			fail_msg("%s of %s is %signored (%c)", ignore_cases[i].path,
				ignore_cases[i].patterns, ignore_cases[i].ignored ? "not " : "",
				ignore_cases[i].source);
	for (size_t i = 0; i < COUNT(bad); i++) {
		struct ignore *g = NULL;
		struct err e = ERR_INIT;

		if (!ignore_parse(".dockerignore", bad[i], strlen(bad[i]), &g, &e))
			fail_msg("%s is taken", bad[i]);
		assert_int_equal(e.kind, ERR_USAGE);
	}
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
		str_adds(&pattern, "x/*");
	assert_true(is_ignored(pattern.s, pattern.s));
	assert_false(is_ignored(pattern.s, "x"));
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
	expect_remedy("box:1", "if a registry has it");
	expect_remedy("mine:local", "no registry has it");
	expect_remedy("localhost/mine:2", "`berth image build --tag localhost/mine:2 DIR`");
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
