/* diff.c - lines that differ: the fewest of them, and applying them to the old text gives the new one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/diff.h>
#include <berth/mem.h>

/* The new text, put together from the old one and the changes alone. */
static void check_changes(const char *old, const char *new, size_t most)
{
	AUTO_STR struct str made = STR_INIT;
	struct change *c;
	size_t n = diff_lines(old, strlen(old), new, strlen(new), &c), at = 0;

	assert_true(n <= most);
	for (size_t i = 0; i < n; i++) {
		assert_true(c[i].old_from >= at && c[i].old_to >= c[i].old_from);
		str_add(&made, old + at, c[i].old_from - at);
		str_add(&made, new + c[i].new_from, c[i].new_to - c[i].new_from);
		at = c[i].old_to;
	}
	str_adds(&made, old + at);
	assert_string_equal(made.s, new);
	free(c);
}

static void test_changes(void **state)
{
	(void)state;
	check_changes("", "", 0);
	check_changes("a\nb\n", "a\nb\n", 0);
	check_changes("", "a\n", 1);
	check_changes("a\n", "", 1);
	check_changes("a\nb\nc\n", "a\nX\nc\n", 1);
	check_changes("a\nb\nc\nd\ne\n", "X\nb\nc\nd\nY\n", 2);
	check_changes("a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 5);
	check_changes("no end", "no end\n", 1);
	check_changes("a\na\na\n", "a\na\n", 1);
}

static void test_random_texts(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct str text[2] = {STR_INIT, STR_INIT};

		for (int side = 0; side < 2; side++) {
			seed = seed * 1664525u + 1013904223u;
			for (uint32_t left = (seed >> 24) % 40; left; left--) {
				seed = seed * 1664525u + 1013904223u;
				str_addf(&text[side], "%c\n", 'a' + (int)((seed >> 24) % 4));
			}
		}
		check_changes(text[0].s, text[1].s, 40);
		str_release(&text[0]);
		str_release(&text[1]);
	}
}

static void test_too_different(void **state)
{
	AUTO_STR struct str a = STR_INIT;
	AUTO_STR struct str b = STR_INIT;

	(void)state;
	str_adds(&a, "same\n");
	str_adds(&b, "same\n");
	for (int i = 0; i < 2000; i++) {
		str_addf(&a, "a%d\n", i);
		str_addf(&b, "b%d\n", i);
	}
	check_changes(a.s, b.s, 1);
}

static void test_unified(void **state)
{
	static const char old[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
			  new[] = "1\n2\n3\n4\nX\n6\n7\n8\n9\n";
	AUTO_STR struct str out = STR_INIT;
	struct change *c;
	size_t n = diff_lines(old, sizeof old - 1, new, sizeof new - 1, &c);

	(void)state;
	diff_unified(&out, "f", old, sizeof old - 1, new, sizeof new - 1, c, n);
	assert_string_equal(
		out.s, "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
	str_clear(&out);
	diff_unified(&out, "a b\n+++ b/c", old, sizeof old - 1, new, sizeof new - 1, c, n);
	assert_true(strncmp(out.s, "--- \"a/a b\\n+++ b/c\"\t\n+++ \"b/a b\\n+++ b/c\"\t\n@@ -2,7",
			    50) == 0);
	free(c);
	str_clear(&out);
	diff_unified(&out, "f", old, sizeof old - 1, old, sizeof old - 1, NULL, 0);
	assert_string_equal(out.s, "");
}

static void check_git(const char *path, const struct diff_side *old, const struct diff_side *new,
	const char *want)
{
	AUTO_STR struct str out = STR_INIT;
	AUTO_FREE struct change *c = NULL;
	size_t n = diff_lines(
		old->text ? old->text : "", old->n, new->text ? new->text : "", new->n, &c);

	diff_git(&out, path, old, new, c, n);
	assert_string_equal(out.s, want);
}

static void test_git(void **state)
{
	static const struct diff_side nothing,
		empty = {DIFF_PLAIN, "", 0}, a = {DIFF_PLAIN, "a\n", 2},
		x = {DIFF_EXECUTABLE, "a\n", 2}, end = {DIFF_PLAIN, "a", 1},
		link = {DIFF_SYMLINK, "t", 1};
	AUTO_STR struct str out = STR_INIT;

	(void)state;
	check_git("f", &empty, &a, "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
	check_git("f", &nothing, &a,
		"diff --git a/f b/f\nnew file mode 100644\n--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n");
	check_git("d e/f", &a, &nothing,
		"diff --git a/d e/f b/d e/f\ndeleted file mode 100644\n--- a/d e/f\t\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
	check_git("f", &nothing, &empty, "diff --git a/f b/f\nnew file mode 100644\n");
	check_git("f", &a, &x, "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
	check_git("f", &x, &end,
		"diff --git a/f b/f\nold mode 100755\nnew mode 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+a\n"
		"\\ No newline at end of file\n");
	check_git("\n\xff", &nothing, &link,
		"diff --git \"a/\\n\\377\" \"b/\\n\\377\"\nnew file mode 120000\n--- /dev/null\n"
		"+++ \"b/\\n\\377\"\n@@ -0,0 +1 @@\n+t\n\\ No newline at end of file\n");
	diff_git_binary(&out, "f", 0, DIFF_PLAIN);
	assert_string_equal(out.s,
		"diff --git a/f b/f\nnew file mode 100644\nBinary files /dev/null and b/f differ\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_random_texts),
		cmocka_unit_test(test_too_different),
		cmocka_unit_test(test_unified),
		cmocka_unit_test(test_git),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
