/* files_search.c - searching and transforming: hits, context, windows, binaries, hard patterns. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/sanitized.h>

#include "files/match/matcher.h"
#include "lib/rooted.h"

static bool collect_hits(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	struct str *out = ctx;

	for (size_t i = 0; i < n; i++) {
		if (hits[i].binary) {
			str_addf(out, "%s: binary at %llu\n", path,
				(unsigned long long)hits[i].offset);
			continue;
		}
		str_addf(out, "%s:%llu%c%u:%s%.*s%s\n", path, (unsigned long long)hits[i].line,
			hits[i].column ? ':' : '-', hits[i].column, hits[i].cut_before ? "<" : "",
			(int)hits[i].len, hits[i].text, hits[i].clipped ? ">" : "");
	}
	return true;
}

static struct files_search_totals totals;

static char *search_tree(const char *start, const struct files_search_options *o)
{
	struct str out = STR_INIT;
	struct err e = ERR_INIT;

	if (files_search(f, root, start, o, collect_hits, &out, &totals, &e) < 0)
		str_addf(&out, "error %d: %s", e.kind, e.msg);
	return str_detach(&out);
}

#define LITERAL(s)                             \
	{                                      \
		.text = s, .len = sizeof s - 1 \
	}
#define REGEX(s)                                              \
	{                                                     \
		.text = s, .len = sizeof s - 1, .regex = true \
	}
#define SEARCH(want, start, ...)                                                \
	do {                                                                    \
		struct files_search_options o_ = {.sorted = true, __VA_ARGS__}; \
		char *got_ = search_tree(start, &o_);                           \
		assert_string_equal(got_, want);                                \
		free(got_);                                                     \
	} while (0)

static void test_hits(void **state)
{
	(void)state;
	tree_text("root/a/one", "alpha\nbeta gamma beta\n\ndelta");
	tree_text("root/b", "no\nBeta\n");
	tree_text("root/c", "");
	tree_write("root/bin", "beta\0beta", 9);
	SEARCH("a/one:2:1:beta gamma beta\n", "", .pattern = LITERAL("beta"));
	assert_int_equal(totals.files, 4);
	assert_int_equal(totals.matched_files, 1);
	assert_int_equal(totals.skipped_binary, 1);
	assert_string_equal(totals.engine, "literal");
	SEARCH("a/one:2:1:beta gamma beta\nb:2:1:Beta\n", "",
		.pattern = {.text = "BETA", .len = 4, .ignore_case = true});
	SEARCH("a/one:4:1:delta\n", "a", .pattern = REGEX("^d\\w+$"));
	SEARCH("a/one:4:1:delta\n", "a/one", .pattern = REGEX("^d\\w+$"));
	SEARCH("a/one:3:1:\n", "", .pattern = REGEX("^$"));
	SEARCH("a/one:2:6:beta gamma beta\n", "",
		.pattern = {.text = "gamma", .len = 5, .word = true});
	SEARCH("", "", .pattern = {.text = "gamm", .len = 4, .word = true});
}

static void test_context(void **state)
{
	(void)state;
	tree_text("root/ctx", "1\n2\nhit\n4\n5\n6\nhit\nhit\n9\n10\n");
	SEARCH("ctx:2-0:2\nctx:3:1:hit\nctx:4-0:4\nctx:6-0:6\nctx:7:1:hit\nctx:8:1:hit\nctx:9-0:9\n",
		"ctx", .pattern = LITERAL("hit"), .before = 1, .after = 1);
	SEARCH("ctx:1-0:1\nctx:2-0:2\nctx:3:1:hit\nctx:4-0:4\nctx:5-0:5\nctx:6-0:6\nctx:7:1:hit\nctx:8:1:hit\nctx:9-0:9\nctx:10-0:10\n",
		"ctx", .pattern = LITERAL("hit"), .before = 3, .after = 3);
	SEARCH("ctx:3:1:hit\n", "ctx", .pattern = LITERAL("hit"), .max_file_hits = 1);
	SEARCH("ctx:3:1:hit\nctx:7:1:hit\n", "ctx", .pattern = LITERAL("hit"), .max_hits = 2);
	assert_true(totals.clipped);
	SEARCH("ctx:0-0:\n", "ctx", .pattern = LITERAL("hit"), .names_only = true);
}

/* What is behind the last hit belongs to it, what is before the next one does not. */
static void test_context_at_limits(void **state)
{
	size_t n = 5u << 20, line = 80;
	char *big = xmalloc(n);

	(void)state;
	tree_text("root/limit/1", "1\nhit\n3\n4\n5\nhit\nhit\n8\n");
	tree_text("root/limit/2", "1\nhit\n3\n");
	SEARCH("limit/1:1-0:1\nlimit/1:2:1:hit\nlimit/1:3-0:3\nlimit/2:1-0:1\nlimit/2:2:1:hit\nlimit/2:3-0:3\n",
		"limit", .pattern = LITERAL("hit"), .before = 1, .after = 1, .max_file_hits = 1);
	assert_false(totals.clipped);
	SEARCH("limit/1:2:1:hit\nlimit/1:3-0:3\nlimit/1:4-0:4\nlimit/1:5-0:5\nlimit/1:6:1:hit\nlimit/1:7-0:hit\nlimit/1:8-0:8\n",
		"limit/1", .pattern = LITERAL("hit"), .after = 3, .max_file_hits = 2);
	SEARCH("limit/1:1-0:1\nlimit/1:2:1:hit\nlimit/1:3-0:3\n", "limit",
		.pattern = LITERAL("hit"), .before = 1, .after = 1, .max_hits = 1);
	assert_true(totals.clipped);
	SEARCH("limit/1:1-0:1\nlimit/1:2:1:hit\n", "limit", .pattern = LITERAL("hit"), .before = 2,
		.max_hits = 1);
	SEARCH("limit/1:1-0:1\nlimit/1:2:1:hit\nlimit/1:3-0:3\nlimit/1:5-0:5\nlimit/1:6:1:hit\nlimit/1:7:1:hit\nlimit/1:8-0:8\n",
		"limit", .pattern = LITERAL("hit"), .before = 1, .max_hits = 3, .after = 1);
	assert_int_equal(totals.hits, 3);
	/* The context is in the next window. */
	memset(big, '.', n);
	for (size_t i = line - 1; i < n; i += line)
		big[i] = '\n';
	memcpy(big + (4u << 20) / line * line - line, "hit", 3);
	tree_write("root/limit/big", big, n);
	{
		struct files_search_options o = {
			.pattern = LITERAL("hit"), .after = 3, .max_file_hits = 1, .max_line = 3};
		char *got = search_tree("limit/big", &o);

		assert_string_equal(got,
			"limit/big:52428:1:hit>\nlimit/big:52429-0:...>\nlimit/big:52430-0:...>\nlimit/big:52431-0:...>\n");
		free(got);
	}
	free(big);
}

/* Larger than a window, lines across its edge, one line longer than several windows. */
static void test_windows(void **state)
{
	size_t n = 11u << 20;
	char *big = malloc(n + 1);
	struct files_search_options o = {.pattern = LITERAL("needle"), .max_line = 10};
	char *got;

	(void)state;
	memset(big, 'x', n);
	memcpy(big + (4u << 20) - 3, "needle", 6); /* over the edge of the first window */
	memcpy(big + (9u << 20), "needle", 6);
	tree_write("root/line", big, n);
	got = search_tree("line", &o);
	assert_true(strncmp(got, "line:1:4194302:", 15) == 0);
	assert_int_equal(totals.hits, 1); /* one line, one hit */
	free(got);
	for (size_t i = 79; i < n; i += 80)
		big[i] = '\n';
	memcpy(big + 80 * 100000, "needle", 6);
	tree_write("root/lines", big, n);
	o.before = 1;
	got = search_tree("lines", &o);
	assert_int_equal(totals.hits, 3);
	assert_non_null(strstr(got, "lines:100001:1:needlexxxx>\n"));
	assert_non_null(strstr(got, "lines:100000-0:xxxxxxxxxx>\n"));
	free(got);
	o.pattern = (struct files_pattern)REGEX("nee.le");
	o.before = 0;
	got = search_tree("lines", &o);
	assert_int_equal(totals.hits, 3);
	free(got);
	free(big);
}

static void test_hard_patterns(void **state)
{
	char line[3000];
	struct files_search_options o = {.pattern = REGEX("(a+)+$")};
	char *got;

	(void)state;
	memset(line, 'a', sizeof line);
	line[sizeof line - 2] = 'b';
	line[sizeof line - 1] = '\n';
	tree_write("root/redos", line, sizeof line);
	got = search_tree("redos", &o);
	/* Found nothing, or gave the line up: but it came back. */
	assert_int_equal(totals.hits, 0);
	free(got);
	o.pattern = (struct files_pattern)REGEX("(x+x+)+y");
	memset(line, 'x', sizeof line - 1);
	tree_write("root/redos", line, sizeof line);
	free(search_tree("redos", &o));
	assert_int_equal(totals.hits, 0);
	/* Nothing reaches over a line's end. */
	tree_text("root/nl", "ab\ncd\n");
	SEARCH("", "nl", .pattern = REGEX("b\\sc"));
	SEARCH("nl:1:2:ab\nnl:2:1:cd\n", "nl", .pattern = REGEX("[^a]+"));
	SEARCH("error 3: the pattern is invalid at byte 1: missing closing parenthesis", "nl",
		.pattern = REGEX("("));
	SEARCH("error 3: an empty pattern matches everything", "nl", .pattern = LITERAL(""));
	SEARCH("error 6: cannot scan ../x: it leads outside the allowed directory", "../x",
		.pattern = LITERAL("x"));
	tree_text("root/u", "na\xc3\xafve \xff caf\xc3\xa9\n");
	SEARCH("u:1:1:na\xc3\xafve \xff caf\xc3\xa9\n", "u", .pattern = REGEX("na.ve"));
	SEARCH("u:1:10:na\xc3\xafve \xff caf\xc3\xa9\n", "u", .pattern = REGEX("caf\xc3\xa9?"));
	SEARCH("u:1:9:na\xc3\xafve \xff caf\xc3\xa9\n", "u", .pattern = REGEX(".*caf"));
	SEARCH("u:1:9:na\xc3\xafve \xff caf\xc3\xa9\n", "u", .pattern = REGEX("(.*?)(?=caf)"));
}

/* Long lines, where each place to start from costs as much as the line is long: given up after a
 * while, found where it can be, and cancelled at any time. */
static void test_long_lines(void **state)
{
	size_t n = 3u << 20;
	char *text = xmalloc(n + 8), *got;
	/* The comment in front lets no sieve leave the line out. */
	struct files_search_options o = {.pattern = REGEX("(?#)[ab]*c")};

	(void)state;
	memset(text, 'a', n);
	memcpy(text + n, "\nxabc\n", 7);
	tree_write("root/long", text, n + 6);
	o.max_line = 20;
	got = search_tree("long", &o);
	assert_string_equal(got, "long:2:2:xabc\n");
	assert_int_equal(totals.gave_up, 1);
	free(got);
	/* Far into the line, over many slices. */
	memcpy(text + n - 10, "xyyyz", 5);
	tree_write("root/long", text, n + 6);
	o.pattern = (struct files_pattern)REGEX("x[y]+?z");
	got = search_tree("long", &o);
	assert_string_equal(got, "long:1:3145719:<aaaaaaaaaaxyyyzaaaaa\n");
	assert_int_equal(totals.gave_up, 0);
	free(got);
	free(text);
	unlink(tree_path("root/long"));
}

/* What is found in a long line is what is found in a short one, however far a match has to look. */
static void test_long_line_found(void **state)
{
	static const struct {
		const char *pattern, *text; /* `text` stands at 200000 */
		size_t gave_up, column;     /* 0: nothing */
	} table[] = {
		{"needle", "needle", 0, 200001},
		{"\\bneedle\\b", " needle ", 0, 200002},
		{"(?<=xy)z", "xyz", 0, 200003},
		{"q.*e", "qe", 0, 200001},     /* looks to the end of the line and back */
		{"k.{3000}r", "k", 0, 200001}, /* r stands 3001 behind it */
		{"k[^r]*r", "k", 0, 200001},
		{"ab\\Kc", "abc", 0, 200003},
		{"(r|s)$", "-", 0, 400000}, /* the last byte of the line is r */
		{"e$", "needle", 0, 0},
		{"\\A.*needle", "needle", 0, 1},
		{"(?#)(-+)+q", "n", 1, 0}, /* each place costs more than the one before it */
		{"(?:--?)*+needle", "needle", 0, 1},
	};
	char *text = xmalloc(400002);

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct files_search_options o = {.pattern = REGEX(""), .max_line = 1};
		AUTO_FREE char *want = NULL, *got = NULL;

		o.pattern.text = table[i].pattern;
		o.pattern.len = strlen(table[i].pattern);
		memset(text, '-', 400000);
		text[203001] = text[399999] = 'r';
		text[400000] = '\n';
		memcpy(text + 200000, table[i].text, strlen(table[i].text));
		want = table[i].column
			? xasprintf("far:1:%zu:%s%c%s\n", table[i].column,
				  table[i].column > 1 ? "<" : "", text[table[i].column - 1],
				  table[i].column < 400000 ? ">" : "")
			: xstrdup("");
		tree_write("root/far", text, 400001);
		got = search_tree("far", &o);
		if (strcmp(got, want) || totals.gave_up != table[i].gave_up)
			fail_msg("%s: %s (gave up %d)", table[i].pattern, got, (int)totals.gave_up);
	}
	free(text);
	unlink(tree_path("root/far"));
}

/* Of a line that is too long the part with the match is shown, and marked where it goes on. */
static void test_cut(void **state)
{
	static const struct {
		const char *pattern, *want;
	} table[] = {
		{"aa01", "cut:1:1:aa01aa02aa03>\n"},
		{"aa03", "cut:1:9:aa01aa02aa03>\n"},
		{"aa05", "cut:1:17:<aa04aa05aa06>\n"},
		{"aa20", "cut:1:77:<aa18aa19aa20\n"},
		{"a.*9a", "cut:1:1:aa01aa02aa03>\n"},
		{"07.{40}", "cut:1:27:<07aa08aa09aa>\n"},
	};
	AUTO_STR struct str line = STR_INIT;

	(void)state;
	for (int i = 1; i <= 20; i++)
		str_addf(&line, "aa%02d", i);
	str_addc(&line, '\n');
	tree_text("root/cut", line.s);
	for (size_t i = 0; i < COUNT(table); i++) {
		struct files_search_options o = {.pattern = REGEX(""), .max_line = 12};
		AUTO_FREE char *got = NULL;

		o.pattern.text = table[i].pattern;
		o.pattern.len = strlen(table[i].pattern);
		got = search_tree("cut", &o);
		assert_string_equal(got, table[i].want);
	}
	/* Not through a character. */
	tree_text("root/cut",
		"\u00e9\u00e9\u00e9\u00e9\u00e9\u00e9x\u00e9\u00e9\u00e9\u00e9\u00e9\n");
	SEARCH("cut:1:13:<\u00e9x\u00e9>\n", "cut", .pattern = LITERAL("x"), .max_line = 6);
	unlink(tree_path("root/cut"));
}

/* A NUL byte anywhere makes a file one that is not text: it is never silent that it matches. */
static void test_search_binary(void **state)
{
	size_t n = 9u << 20;
	char *text = xmalloc(n);

	(void)state;
	tree_write("root/binary/head", "needle\0needle", 13);
	memset(text, '\n', n);
	memcpy(text + 100, "needle", 6);
	text[20000] = '\0';
	tree_write("root/binary/late", text, 30000);
	memset(text, '\n', 200);
	memcpy(text + n - 100, "needle", 6);
	tree_write("root/binary/later", text, n);
	SEARCH("binary/late: binary at 20000\nbinary/later: binary at 20000\n", "binary",
		.pattern = LITERAL("needle"));
	assert_int_equal(totals.hits, 2);
	assert_int_equal(totals.skipped_binary, 1);
	SEARCH("", "binary", .pattern = LITERAL("haystack"));
	/* The one that is named is looked at. */
	SEARCH("binary/head: binary at 6\n", "binary/head", .pattern = LITERAL("needle"));
	assert_int_equal(totals.skipped_binary, 0);
	SEARCH("binary/head:0-0:\nbinary/late:0-0:\nbinary/later:0-0:\n", "binary",
		.pattern = LITERAL("needle"), .names_only = true, .binary = true);
	unlink(tree_path("root/binary/head"));
	unlink(tree_path("root/binary/late"));
	unlink(tree_path("root/binary/later"));
	free(text);
}

static void put_utf16(struct str *out, const char *text, bool big)
{
	for (; *text; text++) {
		str_addc(out, big ? 0 : *text);
		str_addc(out, big ? *text : 0);
	}
}

/* As ripgrep does: a byte order mark says what the text is, and is no part of it. */
static void test_byte_order_marks(void **state)
{
	struct files_search_options o = {.pattern = REGEX("^line 70000")};
	char *got;

	(void)state;
	for (int big = 0; big < 2; big++) {
		struct str text = STR_INIT;

		str_adds(&text, big ? "\xfe\xff" : "\xff\xfe");
		put_utf16(&text, "first needle\r\n", big);
		/* A character of two units, one alone, and a byte too few in the end. */
		str_add(&text, big ? "\xd8\x3d\xde\x00" : "\x3d\xd8\x00\xde", 4);
		str_add(&text, big ? "\xdc\x00" : "\x00\xdc", 2);
		put_utf16(&text, " needle\n", big);
		str_addc(&text, 'x');
		tree_write("root/wide", text.s, text.len);
		SEARCH("wide:1:7:first needle\r\n"
		       "wide:2:9:\xf0\x9f\x98\x80\xef\xbf\xbd needle\n",
			"wide", .pattern = LITERAL("needle"));
		SEARCH("wide:1:1:first needle\r\n", "wide", .pattern = REGEX("^first"));
		/* Far beyond the first buffers. */
		text.len = 2;
		for (int i = 0; i < 80000; i++) {
			char line[32];

			snprintf(line, sizeof line, "line %d\n", i);
			put_utf16(&text, line, big);
		}
		tree_write("root/wide", text.s, text.len);
		got = search_tree("wide", &o);
		assert_string_equal(got, "wide:70001:1:line 70000\n");
		free(got);
		str_release(&text);
	}
	tree_text("root/wide", "\xef\xbb\xbfword\n");
	SEARCH("wide:1:1:word\n", "wide", .pattern = REGEX("^word$"));
	unlink(tree_path("root/wide"));
}

/* Literal and sieve against the plain way, on random bytes of a small alphabet. */
static void test_literals(void **state)
{
	char text[400], needle[40];
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t n = round % sizeof text, k = (size_t)round % 9 + 1;
		struct literal l;

		for (size_t i = 0; i < n; i++)
			text[i] = "abc\n"[(seed = seed * 1664525 + 1013904223) >> 30];
		for (size_t i = 0; i < k; i++)
			needle[i] = "abc"[((seed = seed * 1664525 + 1013904223) >> 24) % 3];
		literal_init(&l, needle, k);
		/* A copy of its own, so that reading beyond the end is seen. */
		char *exact = malloc(n ? n : 1);

		memcpy(exact, text, n);
		const char *got = literal_find(&l, exact, n), *want = memmem(exact, n, needle, k);

		assert_ptr_equal(got, want);
		free(exact);
	}
}

/* All that a pattern finds in the text; "-": it is none. */
static char *all_matches(const char *pattern, bool word, const char *text, size_t n)
{
	struct files_pattern p = {
		.text = pattern, .len = strlen(pattern), .regex = true, .word = word};
	struct matcher *m = matcher_new(&p, NULL);
	struct str out = STR_INIT;
	struct matcher_local l;
	size_t start, end;

	if (!m) {
		str_adds(&out, "-");
		return str_detach(&out);
	}
	matcher_local_init(&l, m);
	for (size_t from = 0; from <= n && matcher_find(&l, text, n, from, &start, &end);
		from = end > start ? end : start + 1)
		str_addf(&out, "%zu-%zu ", start, end);
	matcher_local_release(&l);
	matcher_free(m);
	return str_detach(&out);
}

/* The literal that is looked for before a pattern is never one that a match may lack: with a comment
 * in front nothing is looked for, and the same is found. */
/* One thread does all of it, so ThreadSanitizer sees nothing in the later ones and takes most of a minute. */
#define SIEVE_ROUNDS (THREAD_SANITIZED ? 4000 : 20000)

static void test_sieve(void **state)
{
	static const char *const parts[] = {"foo", "ab", "b", "{", "}", "]", "[", "(", ")", "*",
		"?", "+", "{0}", "{0,}", "{,2}", "{1,2}", "{ 0 }", "|", "(?:", "(?i)", "(?x)",
		"(?=f", "[ab]", "[]a]", "[^]x]", "[[:alpha:]]", "[[:space:]]", "[^[:^digit:]f]",
		"[[:foo]", "[a[:]", "[[.a.]]", "[\\]]", "[\\E]a]", "[\\Qa]\\E]", "[\\c]]", "[}",
		"[|]", "\\Q", "\\E", "\\Q(\\E", "\\x41", "\\x{66}", "\\w", "\\d", "\\b", "\\*",
		"\\{", "\\\\", "\\1", "\\K", "\\N", "^", "$", ".", " ", "#", "\u00e9", "\\\u00e9",
		"(*ACCEPT)", "\\p{Ll}"};
	static const char text[] =
		"foo\nFOO\nab\nb\nA\na b\n foo\n]foo\n}foo\n{foo}\nfo\nf*o\n]\n{0}\n"
		"ab{,2}\nabb]foo\n|foo\n\\foo\n\u00e9foo\nfoo\u00e9\nEfoo\n1foo\n"
		"fooab{ 0 }\nx#ab\na[:foo\n:]foo\n.]ab\nfooAb\n(foo)\n";
	char pattern[256], plain[300], long_one[400];
	unsigned understood = 0, found = 0;
	uint32_t seed = 11;

	(void)state;
	for (int round = 0; round < SIEVE_ROUNDS; round++) {
		bool word = round % 16 == 15;
		char *want, *got;

		pattern[0] = '\0';
		/* Each alone and each pair first; then whatever comes. */
		if ((size_t)round < COUNT(parts) * COUNT(parts))
			snprintf(pattern, sizeof pattern, "%s%sfoo",
				parts[(size_t)round % COUNT(parts)],
				parts[(size_t)round / COUNT(parts)]);
		else
			for (int i = 0; i < 2 + round % 5; i++)
				strcat(pattern,
					parts[((seed = seed * 1664525 + 1013904223) >> 8) %
						COUNT(parts)]);
		snprintf(plain, sizeof plain, "(?#)%s", pattern);
		want = all_matches(plain, word, text, sizeof text - 1);
		got = all_matches(pattern, word, text, sizeof text - 1);
		if (strcmp(got, want) != 0)
			fail_msg("%s finds %s and not %s", pattern, got, want);
		understood += *want != '-';
		found += *want && *want != '-';
		free(want);
		free(got);
	}
	assert_true(understood > SIEVE_ROUNDS / 4 && found > SIEVE_ROUNDS / 8);
	/* Longer than what is looked for may be, and cut within a character. */
	for (size_t n = 253; n < 258; n++) {
		memset(long_one, 'x', n);
		strcpy(long_one + n, "\u00e9*");
		char *got = all_matches(long_one, false, long_one, n);

		assert_string_not_equal(got, "");
		free(got);
	}
}

static void transform_tree(const char *start, const struct files_transform_options *o,
	struct files_transform_result *res, enum err_kind want)
{
	struct err e = ERR_INIT;

	files_transform(f, root, start, o, res, &e);
	if (e.kind != want)
		print_message("%s\n", e.msg);
	assert_int_equal(e.kind, want);
}

static void test_transform(void **state)
{
	/* What reaches beyond a line is a mistake, and no pattern that finds nothing. */
	static const char *const never[] = {"a\nb", "a\\nb", "a\\r?\\n", "[a]\\n", "[]\\]]\\n",
		"[^]a]\\n", "[[:alpha:]x]\\n", "\\Q\\n\\E\\n", "\\\\\\n"};
	static const char *const fine[] = {"Z[\\n]", "Z[^\\n]", "Z[]\\n]", "Z\\\\n", "Z\\Q\\n\\E",
		"Z\\Q\\n", "Z[[:alpha:]\\n]", "Z[\\]\\n]", "Z\\["};
	struct files_transform_result res;
	struct files_transform_options o = {
		.pattern = REGEX("(\\w+)=(\\w+)"),
		.replacement = "$2=${1}$$",
		.replacement_len = 9,
		.preview = true,
	};

	(void)state;
	tree_text("root/t/a", "1\n2\n3\n4\nkey=value b=c\n6\n7\n8\n9\n10\n11\n12\nx=y");
	tree_text("root/t/b", "nothing\n");
	tree_text("root/t/sub/c", "p=q\n");
	transform_tree("t", &o, &res, ERR_NONE);
	assert_string_equal(res.diff.s,
		"--- a/t/a\n+++ b/t/a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-key=value b=c\n+value=key$ c=b$\n 6\n 7\n 8\n"
		"@@ -10,4 +10,4 @@\n 10\n 11\n 12\n-x=y\n\\ No newline at end of file\n+y=x$\n\\ No newline at end of file\n"
		"--- a/t/sub/c\n+++ b/t/sub/c\n@@ -1 +1 @@\n-p=q\n+q=p$\n");
	str_release(&res.diff);
	assert_true(tree_has("root/t/sub/c", "p=q\n"));
	o.preview = false;
	o.promise = FILES_ALL_OR_NOTHING;
	transform_tree("t", &o, &res, ERR_NONE);
	assert_int_equal(res.changed, 2);
	assert_int_equal(res.replacements, 4);
	str_release(&res.diff);
	assert_true(tree_has("root/t/sub/c", "q=p$\n"));
	assert_true(
		tree_has("root/t/a", "1\n2\n3\n4\nvalue=key$ c=b$\n6\n7\n8\n9\n10\n11\n12\ny=x$"));
	/* A literal takes the replacement as it is; an empty one deletes; one file alone. */
	o = (struct files_transform_options){
		.pattern = LITERAL("$"), .replacement = "", .preview = false};
	transform_tree("t/sub", &o, &res, ERR_NONE);
	assert_true(tree_has("root/t/sub/c", "q=p\n"));
	str_release(&res.diff);
	o.pattern = (struct files_pattern)REGEX("(a)");
	o.replacement = "$2";
	o.replacement_len = 2;
	transform_tree("t", &o, &res, ERR_USAGE);
	str_release(&res.diff);
	o.replacement_len = 0;
	for (size_t i = 0; i < COUNT(never); i++) {
		o.pattern = (struct files_pattern){
			.text = never[i], .len = strlen(never[i]), .regex = true};
		transform_tree("t", &o, &res, ERR_USAGE);
		str_release(&res.diff);
	}
	for (size_t i = 0; i < COUNT(fine); i++) {
		o.pattern = (struct files_pattern){
			.text = fine[i], .len = strlen(fine[i]), .regex = true};
		transform_tree("t", &o, &res, ERR_NONE);
		assert_int_equal(res.replacements, 0);
		str_release(&res.diff);
	}
	/* A line that is too hard stays as it is, and is counted. */
	char line[3010];

	memset(line, 'x', sizeof line);
	strcpy(line + 3000, "\nxxy\n");
	tree_text("root/hard/line", line);
	o = (struct files_transform_options){
		.pattern = REGEX("(?#)(x+x+)+[yz]"), .replacement = "z", .replacement_len = 1};
	transform_tree("hard", &o, &res, ERR_NONE);
	assert_int_equal(res.replacements, 1);
	assert_int_equal(res.gave_up, 1);
	str_release(&res.diff);
	strcpy(line + 3000, "\nz\n");
	assert_true(tree_has("root/hard/line", line));
}

/* Only what is wanted of a preview is held, the first paths; what is to be written is held as a whole. */
static void test_transform_bounds(void **state)
{
	struct files_transform_options o = {.pattern = LITERAL("a"),
		.replacement = "bb",
		.replacement_len = 2,
		.preview = true};
	struct files_transform_result all, some;
	AUTO_FREE char *text = xmalloc(65537);
	char path[64];

	(void)state;
	for (size_t i = 0; i < 65536; i++)
		text[i] = i % 64 == 63 ? '\n' : i % 64 == 5 ? 'a' : 'x';
	text[65536] = '\0';
	for (int i = 0; i < 200; i++) {
		snprintf(path, sizeof path, "root/many/%03d", i);
		tree_text(path, text);
	}
	transform_tree("many", &o, &all, ERR_NONE);
	assert_int_equal(all.replacements, 200 * 1024);
	o.max_held = 8 << 20;
	o.max_diff = 300000;
	transform_tree("many", &o, &some, ERR_NONE);
	assert_int_equal(some.replacements, all.replacements);
	assert_int_equal(some.changed, 200);
	assert_true(some.diff.len > o.max_diff && some.diff.len < 4 * o.max_diff);
	assert_memory_equal(some.diff.s, all.diff.s, o.max_diff);
	str_release(&some.diff);
	o.max_diff = 0;
	transform_tree("many", &o, &some, ERR_REFUSED);
	str_release(&some.diff);
	o = (struct files_transform_options){.pattern = LITERAL("a"),
		.replacement = "bb",
		.replacement_len = 2,
		.max_held = 8 << 20};
	transform_tree("many", &o, &some, ERR_REFUSED);
	str_release(&some.diff);
	assert_true(tree_has("root/many/000", text));
	/* One expansion is as long as the file, as often as the replacement names it. */
	o.pattern = (struct files_pattern)REGEX("(?s).+");
	o.replacement =
		"$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0$0";
	o.replacement_len = strlen(o.replacement);
	memset(text, 'x', 65536);
	tree_text("root/one/a", text);
	o.max_held = 2 << 20;
	transform_tree("one", &o, &some, ERR_REFUSED);
	str_release(&some.diff);
	str_release(&all.diff);
}

/* One line with many matches: work that grows with their square would not end. */
static void test_transform_long_line(void **state)
{
	const struct files_pattern patterns[] = {
		LITERAL("b"), REGEX("b"), REGEX("[bc]+"), REGEX("(?#)(b)"), REGEX("(?<=a)b(?=a)")};
	size_t n = 32u << 20;
	char *text = xmalloc(n + 8);

	(void)state;
	memset(text, 'a', n);
	for (size_t i = 1; i < n; i += 64)
		text[i] = 'b';
	memcpy(text + n, "\naba", 5);
	tree_write("root/wide/a", text, n + 4);
	for (size_t i = 0; i < COUNT(patterns); i++) {
		struct files_transform_result res;
		struct files_transform_options o = {.pattern = patterns[i],
			.replacement = "c",
			.replacement_len = 1,
			.preview = true,
			.max_diff = 100};

		transform_tree("wide", &o, &res, ERR_NONE);
		assert_int_equal(res.replacements, n / 64 + 1);
		assert_int_equal(res.gave_up, 0);
		str_release(&res.diff);
	}
	/* What lies behind the long line. */
	text[n - 1] = '\n';
	tree_write("root/wide/a", text + n - 66, 70);
	transform_tree("wide",
		&(struct files_transform_options){
			.pattern = LITERAL("b"), .replacement = "c", .replacement_len = 1},
		&(struct files_transform_result){0}, ERR_NONE);
	memset(text, 'a', 66);
	memcpy(text, "aaac", 4);
	memcpy(text + 65, "\n\naca", 6);
	assert_true(tree_has("root/wide/a", text));
	free(text);
}

/* A pattern does not take the CR of a CR LF away, nor put anything behind it, unless it speaks of one; a replacement is
 * expanded for a regular expression alone. */
static void test_transform_line_ends(void **state)
{
	static const struct {
		const char *text, *pattern, *replacement, *want;
	} cases[] = {
		{"foo x\r\nb  \r\n\r\n", "foo.*", "bar", "bar\r\nb  \r\n\r\n"},
		{"foo x\r\nb  \r\n\r\n", "(foo.*)", "[$1]", "[foo x]\r\nb  \r\n\r\n"},
		{"foo x\r\nb  \r\n\r\n", "\\s+$", "", "foo x\r\nb\r\n\r\n"},
		{"foo x\r\nb  \r\n\r\n", ".*", "y", "y\r\ny\r\ny\r\n"},
		{"\r\na\r\n", "$", ";", ";\r\na;\r\n"},
		{"\r\na\r\n", "^", "> ", "> \r\n> a\r\n"},
		{"foo\r\n", "o*", "0", "0f00\r\n"},
		{"a\r\nb\r", "(?s).+", "c", "c\r\nc"},
		{"a\r\nb\n", "\\r$", "", "a\nb\n"},
		{"a\r\n", "a\\x0d", "b", "b\n"},
		{"a\r\n", "a\r", "b", "b\n"},
	};
	static const struct files_pattern plain[] = {{.text = "A", .len = 1},
		{.text = "a", .len = 1, .ignore_case = true},
		{.text = "A", .len = 1, .word = true}};
	struct files_transform_options o = {0};
	struct files_transform_result res;

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		tree_text("root/ends/a", cases[i].text);
		o.pattern = (struct files_pattern){
			.text = cases[i].pattern, .len = strlen(cases[i].pattern), .regex = true};
		o.replacement = cases[i].replacement;
		o.replacement_len = strlen(o.replacement);
		transform_tree("ends", &o, &res, ERR_NONE);
		str_release(&res.diff);
		if (!tree_has("root/ends/a", cases[i].want)) {
			AUTO_FREE char *got = tree_read("root/ends/a");

			fail_msg("case %zu: %s", i, got);
		}
	}
	for (size_t i = 0; i < COUNT(plain); i++) {
		tree_text("root/ends/a", "A x\n");
		o.pattern = plain[i];
		o.replacement = "$$5 $1 ${x}";
		o.replacement_len = strlen(o.replacement);
		transform_tree("ends", &o, &res, ERR_NONE);
		str_release(&res.diff);
		assert_true(tree_has("root/ends/a", "$$5 $1 ${x} x\n"));
	}
}

/* What search finds is changed: one file by its name, behind a byte order mark, in UTF-16.  What is not text by any of its
 * bytes is left as it is, and counted. */
static void test_transform_kinds(void **state)
{
	struct files_transform_options o = {.pattern = REGEX("^key"),
		.replacement = "\xc3\xa9",
		.replacement_len = 2,
		.diff = true};
	struct files_transform_result res;
	AUTO_FREE char *archive = xcalloc(1, 40000);

	(void)state;
	tree_text("root/kinds/mark", "\xef\xbb\xbfkey\nkey\n");
	transform_tree("kinds/mark", &o, &res, ERR_NONE);
	assert_int_equal(res.replacements, 2);
	assert_int_equal(res.files, 1);
	assert_non_null(strstr(res.diff.s, "--- a/kinds/mark\n+++ b/kinds/mark\n"));
	str_release(&res.diff);
	assert_true(tree_has("root/kinds/mark", "\xef\xbb\xbf\xc3\xa9\n\xc3\xa9\n"));
	for (int big = 0; big < 2; big++) {
		AUTO_STR struct str text = STR_INIT, want = STR_INIT;
		AUTO_FREE char *got = NULL;

		str_adds(&text, big ? "\xfe\xff" : "\xff\xfe");
		put_utf16(&text, "key\r\n", big);
		str_add(&text, big ? "\xd8\x3d\xde\x00" : "\x3d\xd8\x00\xde", 4);
		str_adds(&want, big ? "\xfe\xff" : "\xff\xfe");
		str_add(&want, big ? "\0\xe9" : "\xe9", 2);
		str_add(&want, text.s + 8, text.len - 8);
		tree_write("root/kinds/wide", text.s, text.len);
		transform_tree("kinds", &o, &res, ERR_NONE);
		assert_int_equal(res.replacements, 1);
		assert_non_null(strstr(res.diff.s, "-key\r\n+\xc3\xa9\r\n \xf0\x9f\x98\x80"));
		str_release(&res.diff);
		got = tree_read("root/kinds/wide");
		assert_memory_equal(got, want.s, want.len);
		/* A unit alone would not come back as it was. */
		str_add(&text, big ? "\xdc\x00" : "\x00\xdc", 2);
		tree_write("root/kinds/wide", text.s, text.len);
		transform_tree("kinds", &o, &res, ERR_NONE);
		assert_int_equal(res.replacements, 0);
		assert_int_equal(res.skipped_binary, 1);
		str_release(&res.diff);
		unlink(tree_path("root/kinds/wide"));
	}
	/* A script with what it unpacks behind it. */
	memset(archive, '\n', 30000);
	memcpy(archive, "key", 3);
	memcpy(archive + 35000, "\nkey", 4);
	tree_write("root/kinds/installer", archive, 40000);
	transform_tree("kinds", &o, &res, ERR_NONE);
	assert_int_equal(res.changed, 0);
	assert_int_equal(res.skipped_binary, 1);
	str_release(&res.diff);
	o.max_file_bytes = 5;
	transform_tree("kinds/mark", &o, &res, ERR_NONE);
	assert_int_equal(res.skipped_large, 1);
	str_release(&res.diff);
	transform_tree("kinds/none", &o, &res, ERR_NOT_FOUND);
	str_release(&res.diff);
}

/* The preview is a patch that patch(1) would apply: applying it gives what the transformation
 * gives. */
/* Bytes that are not UTF-8 stay as they are, what is beside them is changed, and nothing is put into a character. */
static void test_transform_bad_bytes(void **state)
{
	static const struct {
		const char *pattern, *to, *before, *after;
	} cases[] = {
		{"x*", "-", "a\xc3\xa9\xf0\x9f\x98\x80xb\n", "-a-\xc3\xa9-\xf0\x9f\x98\x80--b-\n"},
		{"\\b", "|", "\xc3\xa9t\xc3\xa9\n", "|\xc3\xa9t\xc3\xa9|\n"},
		{".*b", "<$0>",
			"ab\xff"
			"cb\n\xe9"
			"bd\n",
			"<ab>\xff<cb>\n\xe9<b>d\n"},
		{"[^a]", "",
			"a\xff"
			"b\xe9\n",
			"a\xff\xe9\n"},
		{"b", "c",
			"\xf0\x9f"
			"b\x80\xc3",
			"\xf0\x9f"
			"c\x80\xc3"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct files_transform_result res;
		struct files_transform_options o = {
			.pattern = {.text = cases[i].pattern,
				.len = strlen(cases[i].pattern),
				.regex = true},
			.replacement = cases[i].to,
			.replacement_len = strlen(cases[i].to),
		};

		tree_text("root/bad/a", cases[i].before);
		transform_tree("bad", &o, &res, ERR_NONE);
		str_release(&res.diff);
		assert_true(tree_has("root/bad/a", cases[i].after));
	}
}

static void test_diff_applies(void **state)
{
	struct files_transform_options o = {.pattern = REGEX("b(.)"),
		.replacement = "<$1>\nnew",
		.replacement_len = 8,
		.preview = true};
	struct files_transform_result res;
	char command[PATH_MAX * 2];
	uint32_t seed = 99;

	(void)state;
	if (system("command -v patch >/dev/null") != 0) {
		print_message("not run: there is no patch(1) here\n");
		skip();
	}
	for (int round = 0; round < 30; round++) {
		struct str text = STR_INIT;

		for (int i = 0; i < 60; i++) {
			seed = seed * 1664525 + 1013904223;
			str_adds(&text,
				(seed >> 24) % 9 == 0      ? "abc b1\n"
					: (seed >> 24) % 7 ? "same\n"
							   : "\n");
		}
		text.len -= (size_t)round % 2;
		tree_write("root/p/file", text.s, text.len);
		tree_write("patched/p/file", text.s, text.len);
		o.preview = true;
		transform_tree("p", &o, &res, ERR_NONE);
		tree_text("the.patch", res.diff.s);
		str_release(&res.diff);
		snprintf(command, sizeof command, "cd %s/patched && patch -s -p1 < ../the.patch",
			tree_top);
		assert_int_equal(system(command), 0);
		o.preview = false;
		transform_tree("p", &o, &res, ERR_NONE);
		str_release(&res.diff);
		char *a = tree_read("root/p/file"), *b = tree_read("patched/p/file");

		assert_string_equal(a, b);
		free(a);
		free(b);
		str_release(&text);
	}
}

/* What others see of an operation, and that they can stop it. */
static struct job_info seen[16];
static size_t nseen;
static bool cancel_it;

static bool look_at_jobs(void *ctx, const char *path, const struct files_hit *hits, size_t n)
{
	(void)ctx;
	(void)path;
	(void)hits;
	(void)n;
	nseen = jobs_read(NULL, seen, COUNT(seen));
	if (cancel_it && nseen)
		assert_int_equal(jobs_cancel(&seen[0].id, NULL), 0);
	return !cancel_it || nseen;
}

static void test_search_job(void **state)
{
	struct files_search_options o = {.pattern = LITERAL("x")};
	struct files *own;
	struct files_root *r;
	struct job_info progress;
	struct err e = ERR_INIT;
	AUTO_STR struct str large = STR_INIT;

	(void)state;
	tree_mkdirs("run");
	chmod(tree_path("run"), 0700);
	tree_mkdirs("root/job");
	tree_write("root/job/file", "x\n", 2);
	setenv("XDG_RUNTIME_DIR", tree_path("run"), 1);
	/* What is over at once is no job, and makes no board; a busy machine may need another try. */
	for (int i = 0;; i++) {
		int64_t begun = clock_mono_ns();

		own = files_open(&(struct files_options){.program = "test", .owner = "agent-1"});
		r = files_root_open(own, tree_path("root"), NULL);
		assert_int_equal(
			files_search(own, r, "job", &o, look_at_jobs, NULL, &totals, &e), 0);
		if (clock_mono_ns() - begun < 20000000)
			break;
		if (i == 500)
			fail_msg("one line is never searched within 20 ms");
		files_root_close(r);
		files_close(own);
	}
	assert_int_equal(nseen, 0);
	assert_false(files_progress(own, &progress));
	str_adds(&large, "x\n");
	while (large.len < 5 << 20)
		str_adds(&large, "y\n");
	tree_write("root/job/file", large.s, large.len);
	assert_int_equal(files_search(own, r, "job", &o, look_at_jobs, NULL, &totals, &e), 0);
	assert_int_equal(nseen, 1);
	assert_int_equal(seen[0].state, JOB_RUNNING);
	assert_true(seen[0].cancellable && seen[0].own);
	assert_string_equal(seen[0].owner, "agent-1");
	assert_true(strncmp(seen[0].name, "search ", 7) == 0);
	assert_int_equal(jobs_read(NULL, seen, COUNT(seen)), 1);
	assert_int_equal(seen[0].state, JOB_DONE);
	assert_true(strncmp(seen[0].result, "Found ", 6) == 0);
	assert_true(files_progress(own, &progress));
	cancel_it = true;
	assert_int_equal(files_search(own, r, "job", &o, look_at_jobs, NULL, &totals, &e), -1);
	assert_int_equal(e.kind, ERR_CANCELLED);
	nseen = jobs_read(NULL, seen, COUNT(seen));
	assert_int_equal(nseen, 2);
	assert_int_equal(seen[0].state, JOB_CANCELLED);
	files_root_close(r);
	files_close(own);
	/* What was cancelled is to be seen still. */
	assert_int_equal(jobs_read(NULL, seen, COUNT(seen)), 1);
	assert_false(seen[0].own);
}

static int setup(void **state)
{
	(void)state;
	rooted_make("files-search");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hits),
		cmocka_unit_test(test_context),
		cmocka_unit_test(test_context_at_limits),
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_hard_patterns),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_long_line_found),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_search_binary),
		cmocka_unit_test(test_byte_order_marks),
		cmocka_unit_test(test_literals),
		cmocka_unit_test(test_sieve),
		cmocka_unit_test(test_transform),
		cmocka_unit_test(test_transform_bounds),
		cmocka_unit_test(test_transform_long_line),
		cmocka_unit_test(test_transform_kinds),
		cmocka_unit_test(test_transform_bad_bytes),
		cmocka_unit_test(test_transform_line_ends),
		cmocka_unit_test(test_diff_applies),
		cmocka_unit_test(test_search_job),
	};

	return cmocka_run_group_tests(tests, setup, rooted_remove);
}
