/* files_sieve.c - what names lines before PCRE2 looks at them never leaves out one that has a match: the patterns
 * of tests/data/patterns.txt and made ones, on generated and on real text, with and without it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "files/match/automaton.h"
#include "files/match/matcher.h"
#include "files/match/sieve.h"
#include "lib/paths.h"

#define FILE_MAX (4u << 20)

static uint32_t seed = 1;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)seed * n >> 32);
}

/* Places of all that is found, as search takes them: the first of a line, then the next line; or each line as
 * if it were all.  "-": no pattern. */
static char *find_lines(struct files_pattern p, const char *text, size_t n, bool alone)
{
	struct matcher *m = matcher_new(&p, NULL);
	struct str out = STR_INIT;
	struct matcher_local l;
	size_t start, end;

	if (!m) {
		str_addc(&out, '-');
		return str_detach(&out);
	}
	matcher_local_init(&l, m);
	for (size_t from = 0; from <= n;) {
		const char *nl = alone ? memchr(text + from, '\n', n - from) : NULL;
		size_t base = alone ? from : 0, most = nl ? (size_t)(nl - text) : n;

		if (matcher_find(&l, text + base, most - base, from - base, &start, &end)) {
			str_addf(&out, "%zu-%zu ", base + start, base + end);
			nl = memchr(text + base + start, '\n', n - base - start);
		} else if (!alone) {
			break;
		}
		from = nl ? (size_t)(nl + 1 - text) : n + 1;
	}
	matcher_local_release(&l);
	matcher_free(m);
	return str_detach(&out);
}

/* With a comment in front there is no sieve.  The text stands in memory of its own, so that reading beyond it is
 * seen. */
static bool same_without(
	const char *pattern, bool ignore_case, const char *text, size_t n, bool alone)
{
	struct files_pattern p = {
		.text = pattern, .len = strlen(pattern), .regex = true, .ignore_case = ignore_case};
	AUTO_FREE char *plain = xasprintf("(?#)%s", pattern), *exact = malloc(n ? n : 1);
	AUTO_FREE char *got = NULL, *want = NULL;

	memcpy(exact, text, n);
	got = find_lines(p, exact, n, false);
	p.text = plain;
	p.len = strlen(plain);
	want = find_lines(p, exact, n, alone);
	if (strcmp(got, want) != 0)
		fail_msg("%s%s finds %.300s and not %.300s", ignore_case ? "-i " : "", pattern, got,
			want);
	return *want && *want != '-';
}

/* Each pattern of the list on one text.  Returns how many found something. */
static unsigned try_patterns(const char *text, size_t n)
{
	AUTO_FREE char *patterns = xasprintf("%s/patterns.txt", test_data);
	AUTO_STR struct str all = STR_INIT;
	struct err e = ERR_INIT;
	unsigned found = 0;
	char *line, *rest;

	if (file_read(AT_FDCWD, patterns, 0, FILE_MAX, &all, &e) < 0)
		fail_msg("%s", e.msg);
	for (line = strtok_r(all.s, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		bool ignore_case = strncmp(line, "i ", 2) == 0;

		if (strncmp(line, "# ", 2) != 0)
			found += same_without(line + 2 * ignore_case, ignore_case, text, n, false);
	}
	return found;
}

static void test_real_text(void **state)
{
	static const char *const files[] = {"backend/files/match/matcher.c",
		"tests/unit/files_search.c", "README.md", "configs/berth.yaml", "CMakeLists.txt",
		"configs/pages/berth-network.7.txt", "tests/data/patterns.txt"};
	unsigned found = 0;

	(void)state;
	for (size_t i = 0; i < COUNT(files); i++) {
		AUTO_FREE char *path = xasprintf("%s/%s", test_source, files[i]);
		AUTO_STR struct str text = STR_INIT;
		struct err e = ERR_INIT;

		if (file_read(AT_FDCWD, path, 0, FILE_MAX, &text, &e) < 0)
			fail_msg("%s", e.msg);
		found += try_patterns(text.s, text.len);
	}
	assert_true(found > 60);
}

/* Pieces that the patterns of the list are made for, put together by chance. */
static void add_text_piece(struct str *out)
{
	static const char *const pieces[] = {" ", "_", "\n", "\r\n", "\t", "(", ")", ".", ";", "\"",
		"foo", "bar", "a", "Z", "7", "123", "0xdeadBEEF", "ENOMEM", "Copyright",
		"CopyRight", "spin_loc\u212a", "mas\u212a_x", "MASK_a", "licen\u017fe", "error",
		"\u00e9", "\xff", "\xc3", "static const struct of_device_id x[]", "return -EINVAL;",
		"#define A_MAX", "2024-01-02", "malloc (", "alpha1", "unlock_irqrestore",
		"struct a *b)", "printf(\"%04d", "aeiou", "un"};
	const char *piece = pieces[random_below(COUNT(pieces))];

	if (random_below(40) == 0)
		str_addc(out, '\0');
	str_adds(out, piece);
}

static void test_generated_text(void **state)
{
	unsigned found = 0;

	(void)state;
	for (int round = 0; round < 60; round++) {
		AUTO_STR struct str text = STR_INIT;
		size_t n = (size_t)1 << random_below(14);

		/* One with a line longer than what PCRE2 gets at once. */
		if (round == 0)
			for (size_t i = 0; i < 30000; i++)
				str_adds(&text, "xy 1_");
		while (text.len < n)
			add_text_piece(&text);
		found += try_patterns(text.s, text.len);
	}
	assert_true(found > 600);
}

static bool has_sieve_of(const struct shape *s)
{
	struct automaton *a = automaton_new(s);
	struct sieve v;
	bool has;

	sieve_init(&v, s);
	has = a || v.width;
	automaton_free(a);
	return has;
}

/* Patterns put together by chance, most of them such as are looked into. */
static void test_generated_patterns(void **state)
{
	static const char *const parts[] = {"foo", "a", "b", "_", "7", " ", "k", "S", "\u00e9",
		"\u212a", "\u017f", ".", "[a-f]", "[^a]", "[A-Z_]", "[\\d_-]", "[^\\w]", "[]x]",
		"[[:upper:]]", "[^[:^alpha:]]", "[a-\u00e9]", "[k-l]", "[^s]", "[\u017f]", "\\w",
		"\\W", "\\d", "\\s", "\\S", "\\b", "\\B", "^", "$", "*", "+", "?", "*?", "+?",
		"{2}", "{1,3}", "{2,}", "{0}", "{0,40}", "(", ")", "(?:", "(?i:", "(?i)", "(?-i)",
		"(?<n>", "|", "|", "\\x61", "\\x{e9}", "\\.", "\\p{Lu}", "(?=a)", "(?!a)", "\\1",
		"a++", "(?>a*)", "\\n", "\\r"};
	static const char text[] =
		"foo\nFOO bar\r\nab_7\n\n_foo7\nk\nK\n\u212a\ns\u017fS\n\u00e9t\u00e9\nABCDEF_7\n"
		"aaaaaaaa bbbbbbbb\n  a  \nfoofoo foo\n\xff\xc3 a\n77 77\nxk7\nab\0cd\n_\n.\nFoO_S";
	unsigned understood = 0, found = 0, rounds = 10000;
	struct shape *s = xmalloc(sizeof *s);

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		char pattern[128] = "";
		/* What gives nothing back or looks around may see the next line in one way of
		 * looking and not in the other; it is never looked into. */
		bool ignore_case = round % 3 == 0, odd = false;

		for (uint32_t i = 0, n = 1 + random_below(7); i < n; i++) {
			const char *part = parts[random_below(COUNT(parts))];

			odd |= !strncmp(part, "(?=", 3) || !strncmp(part, "(?!", 3) ||
				!strcmp(part, "\\1") || !strcmp(part, "a++") ||
				!strncmp(part, "(?>", 3);
			strcat(pattern, part);
		}
		if (odd) {
			assert_false(pattern_shape(s, pattern, strlen(pattern), ignore_case));
			continue;
		}
		/* Where a match may be empty nothing is left out. */
		if (!pattern_shape(s, pattern, strlen(pattern), ignore_case) || !has_sieve_of(s))
			continue;
		understood++;
		/* Line by line, for whether a byte that is no UTF-8 is part of a match depends in PCRE2
		 * 10.42 on how much stands behind it. */
		found += same_without(pattern, ignore_case, text, sizeof text - 1, true);
	}
	free(s);
	assert_true(understood > rounds / 4 && found > rounds / 10);
}

/* That it leaves out what has no match: what it is for. */
static void test_left_out(void **state)
{
	static const struct {
		const char *pattern, *has, *has_not;
	} table[] = {
		{"[a-z]+_[0-9]{3,}\\b", "x foo_123", "x foo_12 foo_ 123 _123"},
		{"\\d+\\.\\d+\\.\\d+", "v 1.22.3", "1.2 3.4 .5.6."},
		{"\\w+\\s+\\w+\\(", "int  main(", "main( int (int main"},
		{"^\\w+:", "label: x", " label: x"},
		{";\\s*;$", "a;  ;", ";a; ;;b"},
		{"foo|ba[rz]|\\d{20}", "abaz", "fo ba bax 1234567890123456789"},
		{"a{30}b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "aab"},
		{"(?i)Mask_", "maS\u212a_", "mask mas\u00e9"},
		{"[^a-z]\u00e9x", "\u00e8\u00e9x", "a\x07x"},
	};
	struct shape *s = xmalloc(sizeof *s);

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct automaton *a;

		assert_true(pattern_shape(s, table[i].pattern, strlen(table[i].pattern), false));
		a = automaton_new(s);
		assert_non_null(a);
		if (!automaton_find(a, table[i].has, strlen(table[i].has)))
			fail_msg("%s leaves out %s", table[i].pattern, table[i].has);
		if (automaton_find(a, table[i].has_not, strlen(table[i].has_not)))
			fail_msg("%s does not leave out %s", table[i].pattern, table[i].has_not);
		automaton_free(a);
	}
	/* A match may be empty: every line has one.  And what needs more states than there may be. */
	assert_true(pattern_shape(s, "a*", 2, false));
	assert_null(automaton_new(s));
	assert_true(pattern_shape(s, "((((x|){9}){9}){9}){9}", 22, false));
	assert_null(automaton_new(s));
	free(s);
}

/* The places of a sieve against its tables looked at one by one, at every length and start. */
static void test_sieve_places(void **state)
{
	static const char *const patterns[] = {"x", "[0-9]b", "a_[0-9]", "ab|c[0-9]|.x",
		"[a-f][0-9]_z", "[^a]b", "(?i)sk_", "[ _]$", "a[b9]*$"};
	struct shape *s = xmalloc(sizeof *s);

	(void)state;
	for (size_t i = 0; sieve_works() && i < COUNT(patterns); i++) {
		struct sieve v;

		assert_true(pattern_shape(s, patterns[i], strlen(patterns[i]), false));
		sieve_init(&v, s);
		assert_true(v.width >= 1);
		for (size_t n = 0; n < 200; n++) {
			char *text = malloc(n ? n : 1);
			const char *want = NULL, *got;

			for (size_t k = 0; k < n; k++)
				text[k] = "abcx_19zk\n      \xc3"[random_below(n % 3 ? 17 : 8)];
			for (size_t at = 0; at < n && !want; at++) {
				unsigned char all = 0xFF;

				for (unsigned j = 0; j < v.width; j++) {
					unsigned char c =
						at + j < n ? (unsigned char)text[at + j] : '\n';

					all &= c < 0x80 ? v.low[j][c & 15] & v.top[j][c >> 4] : 0;
				}
				if (all || (v.high && (unsigned char)text[at] >= 0x80))
					want = text + at;
			}
			got = sieve_find(&v, text, n);
			assert_ptr_equal(got, want);
			free(text);
		}
	}
	free(s);
}

/* Of the places that a match has, those are looked for that are rare in text: the capital within a word. */
static void test_sieve_takes_what_is_rare(void **state)
{
	static const char text[] = "The First Word of SOME Lines, then a camelCase one";
	static const char pattern[] = "[A-Z][a-z]+[A-Z]\\w*";
	struct shape *s = xmalloc(sizeof *s);
	struct sieve v;

	(void)state;
	assert_true(pattern_shape(s, pattern, strlen(pattern), false));
	sieve_init(&v, s);
	assert_int_equal(v.width, 2);
	assert_true(v.share < 0.02);
	if (sieve_works())
		assert_ptr_equal(sieve_find(&v, text, strlen(text)), strstr(text, "lCase"));
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_text),
		cmocka_unit_test(test_generated_text),
		cmocka_unit_test(test_generated_patterns),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_sieve_places),
		cmocka_unit_test(test_sieve_takes_what_is_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
