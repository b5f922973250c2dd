/* logbuf.c - the bounded, time-ordered log lines, wrapping, and the patterns searched in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "views/logs/logbuf.h"
#include "views/wrap.h"

static struct log_line make_log_line(uint16_t source, int64_t ns, const char *text)
{
	return (struct log_line){.source = source,
		.stream = 1,
		.wall_ns = ns,
		.len = (uint32_t)strlen(text),
		.text = text};
}

static void add_log_line(struct logbuf *b, uint16_t source, int64_t ns, const char *text)
{
	struct log_line l = make_log_line(source, ns, text);

	logbuf_append(b, &l, 1);
}

static void assert_line(const struct logbuf *b, size_t i, const char *want)
{
	const struct logbuf_line *l = logbuf_at(b, i);

	assert_int_equal(l->len, strlen(want));
	assert_memory_equal(logbuf_text(b, l), want, l->len);
}

static void test_log_order(void **state)
{
	struct log_line batch[] = {make_log_line(0, 10, "a10"), make_log_line(0, 40, "a40"),
		make_log_line(1, 20, "b20"), make_log_line(1, 30, "b30"),
		make_log_line(1, 25, "b25 with its clock set back"), make_log_line(1, 50, "b50")};
	static const char *const want[] = {"a10", "c15", "b20", "b30",
		"b25 with its clock set back", "a40", "b50", "no stamp"};
	struct logbuf b;
	struct log_key key;

	(void)state;
	logbuf_init(&b, 1 << 20, 100);
	logbuf_append(&b, batch, COUNT(batch));
	add_log_line(&b, 2, 15, "c15");
	add_log_line(&b, 2, 0, "no stamp");
	assert_int_equal(b.count, COUNT(want));
	for (size_t i = 0; i < COUNT(want); i++)
		assert_line(&b, i, want[i]);
	assert_int_equal(logbuf_at(&b, 7)->flags, LOG_NO_STAMP);
	/* A key finds its line again after others were put before it. */
	key = logbuf_at(&b, 5)->key;
	add_log_line(&b, 3, 5, "d5");
	assert_line(&b, logbuf_find(&b, key), "a40");
	assert_int_equal(logbuf_find(&b, (struct log_key){INT64_MAX, 0}), b.count);
	logbuf_release(&b);
}

static void test_log_bounds(void **state)
{
	enum { N = 50000 };
	struct logbuf b;
	char text[LOG_LINE_MAX];
	size_t held = 0;

	(void)state;
	logbuf_init(&b, 256 << 10, 1000);
	for (int i = 0; i < N; i++) {
		snprintf(text, sizeof text, "line %d", i);
		add_log_line(&b, (uint16_t)(i % 3), i + 1, text);
	}
	assert_int_equal(b.count, 1000);
	assert_line(&b, 0, "line 49000");
	assert_line(&b, 999, "line 49999");
	/* Long lines: the bytes are the bound now; late ones go first, new ones stay. */
	memset(text, 'x', sizeof text);
	for (int i = 0; i < 500; i++) {
		struct log_line l = {.source = (uint16_t)(i % 2), .stream = 1, .text = text};

		l.len = sizeof text;
		l.wall_ns = i % 2 ? N + i : N - 100 + i;
		logbuf_append(&b, &l, 1);
		for (size_t c = held = 0; c < b.nchunks; c++)
			held += b.live[c];
		assert_int_equal(held, b.count);
	}
	assert_true(b.count >= 2 && b.count <= 32);
	for (size_t i = 0; i + 1 < b.count; i++)
		assert_true(logbuf_at(&b, i)->key.ns <= logbuf_at(&b, i + 1)->key.ns);
	/* More than fits, at once. */
	{
		struct log_line *many = xcalloc(3000, sizeof *many);

		for (int i = 0; i < 3000; i++)
			many[i] = make_log_line(0, 2 * N - i, "m");
		logbuf_append(&b, many, 3000);
		free(many);
	}
	assert_int_equal(b.count, 1000);
	logbuf_clear(&b);
	assert_int_equal(b.count, 0);
	add_log_line(&b, 5, 1, "again");
	assert_line(&b, 0, "again");
	add_log_line(&b, LOGBUF_SOURCES, 2, "one source too many");
	assert_int_equal(b.count, 1);
	assert_int_equal(b.lost, 1);
	logbuf_release(&b);
}

static void assert_run(const struct logbuf *b, size_t line, size_t i, size_t at, struct ink want)
{
	const struct logbuf_line *l = logbuf_at(b, line);
	struct log_run r;

	assert_true(i < l->nruns);
	r = logbuf_run(b, l, i);
	assert_int_equal(r.at, at);
	assert_int_equal(r.ink.fg, want.fg);
	assert_int_equal(r.ink.bg, want.bg);
	assert_int_equal(r.ink.attrs, want.attrs);
}

/* Colours are kept, and nothing else that an escape sequence asks for. */
static void test_runs_of_ink(void **state)
{
	static const struct {
		const char *text, *left;
		size_t nruns, at;
		struct ink ink; /* of the last run */
	} c[] = {
		{"\x1b[1;32mINFO\x1b[0m ok", "INFO ok", 2, 4, {0}},
		{"a\x1b[31mb", "ab", 1, 1, {.fg = 1}},
		{"\x1b[30mb", "b", 1, 0, {.fg = 16}},
		{"\x1b[97;104;3;4mb", "b", 1, 0, {15, 12, ATTR_ITALIC | ATTR_UNDERLINE}},
		{"\x1b[38;5;208mb", "b", 1, 0, {.fg = 208}},
		{"\x1b[38:5:208mb", "b", 1, 0, {.fg = 208}},
		{"\x1b[38;2;255;0;0;1mb", "b", 1, 0, {.fg = 196, .attrs = ATTR_BOLD}},
		{"\x1b[48:2::255:0:0mb", "b", 1, 0, {.bg = 196}},
		{"\x1b[38:2:255:0:0mb", "b", 1, 0, {.fg = 196}},
		{"\x1b[4:3mb", "b", 1, 0, {.attrs = ATTR_UNDERLINE}},
		{"\x1b[4m\x1b[4:0mb", "b", 0, 0, {0}},
		{"\x1b[31m50 %\r\x1b[32m100 %", "100 %", 1, 0, {.fg = 2}},
		{"\x1b[31m\x1b[39;8;5mhidden", "hidden", 0, 0, {0}},
		{"\x1b[>4mb\x1b[?1;31mc\x1b[2J\x1b[31Hd", "bcd", 0, 0, {0}},
		{"\x1b[38;5mb", "b", 0, 0, {0}},
		{"\x1b[99999999999999999999;31mb", "b", 1, 0, {.fg = 1}},
	};
	struct logbuf b, some;

	(void)state;
	logbuf_init(&b, 1 << 20, 100);
	logbuf_init(&some, 1 << 20, 100);
	for (size_t i = 0; i < COUNT(c); i++) {
		add_log_line(&b, 0, (int64_t)i + 1, c[i].text);
		assert_line(&b, i, c[i].left);
		assert_int_equal(logbuf_at(&b, i)->nruns, c[i].nruns);
		if (c[i].nruns)
			assert_run(&b, i, c[i].nruns - 1, c[i].at, c[i].ink);
	}
	/* What the filter lets through has them, too; a line's colours end with it. */
	logbuf_copy(&some, &b, logbuf_at(&b, 1));
	assert_line(&some, 0, "ab");
	assert_run(&some, 0, 0, 1, (struct ink){.fg = 1});
	add_log_line(&some, 0, 100, "plain");
	assert_int_equal(logbuf_at(&some, 1)->nruns, 0);
	logbuf_release(&some);
	logbuf_release(&b);
}

/* A line of nothing but colours: bounded, and the text is whole. */
static void test_runs_of_ink_many(void **state)
{
	char text[LOG_LINE_MAX], want[LOG_LINE_MAX / 6];
	size_t n = 0, chars = 0;
	struct log_line l = {.stream = 1, .text = text};
	struct logbuf b;

	(void)state;
	while (n + 6 <= sizeof text) {
		memcpy(text + n, chars % 2 ? "\x1b[31mx" : "\x1b[32mx", 6);
		want[chars++] = 'x';
		n += 6;
	}
	l.len = (uint32_t)n;
	logbuf_init(&b, 128 << 10, 1000);
	for (int i = 0; i < 500; i++) {
		l.wall_ns = i + 1;
		logbuf_append(&b, &l, 1);
		assert_int_equal(logbuf_at(&b, b.count - 1)->nruns, LOG_RUNS_MAX);
		assert_int_equal(logbuf_at(&b, b.count - 1)->len, chars);
		assert_memory_equal(logbuf_text(&b, logbuf_at(&b, 0)), want, chars);
	}
	logbuf_release(&b);
}

static void test_settle(void **state)
{
	static const char *const pair[][2] = {
		{"\x1b[1;32mINFO\x1b[0m ok", "INFO ok"},
		{"\x1b]0;title\atext", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"10 %\r50 %\r100 % done", "100 % done"},
		{"windows\r\n", "windows"},
		{"a\tb", "a       b"},
		{"12345678\tb", "12345678        b"},
		{"\x1b(Bx", "x"},
		{"cut \x1b[3", "cut "},
		{"cut \x1b", "cut "},
		{"bell\x07 stays, drawing shows it", "bell\x07 stays, drawing shows it"},
	};
	struct logbuf b;
	char tabs[LOG_LINE_MAX];
	struct log_line l = {.stream = 1, .text = tabs, .len = sizeof tabs};

	(void)state;
	logbuf_init(&b, 1 << 20, 100);
	for (size_t i = 0; i < COUNT(pair); i++) {
		add_log_line(&b, 0, (int64_t)i + 1, pair[i][0]);
		assert_line(&b, i, pair[i][1]);
		assert_int_equal(logbuf_at(&b, i)->flags, 0);
	}
	memset(tabs, '\t', sizeof tabs);
	logbuf_append(&b, &l, 1);
	assert_int_equal(logbuf_at(&b, b.count - 1)->flags, LOG_CLIPPED | LOG_NO_STAMP);
	logbuf_gap(&b, 1234);
	assert_line(&b, b.count - 1, "1,234 lines lost here, faster than they could be read");
	assert_int_equal(logbuf_at(&b, b.count - 1)->flags & LOG_GAP, LOG_GAP);
	assert_int_equal(b.lost, 1234);
	logbuf_release(&b);
}

static void test_search(void **state)
{
	struct pattern p = {0};
	struct logbuf b;
	struct err e = ERR_INIT;
	size_t at, start, end;
	char text[64], hard[4000];

	(void)state;
	logbuf_init(&b, 1 << 20, 2000);
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "%s number %d", i % 100 ? "line" : "Error:", i);
		add_log_line(&b, 0, i + 1, text);
	}
	assert_int_equal(pattern_compile(&p, "error", &e), 0);
	at = 1;
	assert_int_equal(logbuf_search(&b, &p, true, SIZE_MAX, &at), 1);
	assert_int_equal(at, 100);
	at = 99;
	assert_int_equal(logbuf_search(&b, &p, false, SIZE_MAX, &at), 1);
	assert_int_equal(at, 0);
	at = 901;
	assert_int_equal(logbuf_search(&b, &p, true, SIZE_MAX, &at), 0);
	/* In slices: the same hit, with nothing skipped. */
	at = 101;
	while (logbuf_search(&b, &p, true, 100, &at) < 0)
		;
	assert_int_equal(at, 200);
	assert_int_equal(pattern_compile(&p, "ERROR", &e), 0);
	at = 0;
	assert_int_equal(logbuf_search(&b, &p, true, SIZE_MAX, &at), 0);
	assert_int_equal(pattern_compile(&p, "(", &e), -1);
	assert_int_equal(e.kind, ERR_USAGE);
	assert_string_equal(p.text, "ERROR");
	assert_int_equal(pattern_compile(&p, "[0-9]+$", &e), 0);
	assert_true(pattern_next(&p, "abc 123", 7, 0, &start, &end));
	assert_int_equal(start, 4);
	assert_int_equal(end, 7);
	assert_int_equal(pattern_compile(&p, "x*", &e), 0);
	assert_true(pattern_next(&p, "aaxxa", 5, 0, &start, &end));
	assert_int_equal(start, 2);
	assert_false(pattern_next(&p, "aaxxa", 5, end, &start, &end));
	assert_true(pattern_match(&p, "a", 1));
	assert_int_equal(pattern_compile(&p, "!web", &e), 0);
	assert_false(pattern_match(&p, "my-Web-1", 8));
	assert_true(pattern_match(&p, "my-db-1", 7));
	assert_int_equal(pattern_compile(&p, "", &e), 0);
	assert_false(p.set);
	assert_true(pattern_match(&p, "anything", 8));
	assert_false(pattern_next(&p, "anything", 8, 0, &start, &end));
	/* What is hard for an expression does not hide from it. */
	memset(hard, 'e', sizeof hard);
	memcpy(hard, "curl evil ", 10);
	assert_int_equal(pattern_compile(&p, "curl.*evil", &e), 0);
	assert_true(pattern_match(&p, hard, sizeof hard));
	assert_int_equal(pattern_compile(&p, "!curl.*evil", &e), 0);
	assert_true(pattern_match(&p, hard, sizeof hard));
	memset(text, 'a', sizeof text);
	assert_int_equal(pattern_compile(&p, "aab", &e), 0);
	assert_false(pattern_next(&p, text, sizeof text, 0, &start, &end));
	pattern_release(&p);
	logbuf_release(&b);
}

static void test_wrap(void **state)
{
	(void)state;
	assert_int_equal(wrap_next("abcdef", 6, 0, 4), 4);
	assert_int_equal(wrap_next("abcdef", 6, 4, 4), 6);
	assert_int_equal(wrap_rows("abcdefgh", 8, 4), 2);
	assert_int_equal(wrap_rows("", 0, 4), 1);
	/* A wide character that does not fit goes to the next row whole. */
	assert_int_equal(wrap_next("abc\xe4\xbd\xa0", 6, 0, 4), 3);
	assert_int_equal(wrap_rows("\xe4\xbd\xa0\xe5\xa5\xbd", 6, 1), 2);
	assert_int_equal(text_skip("abcdef", 6, 2), 2);
	assert_int_equal(text_skip("abcdef", 6, 20), 6);
	assert_int_equal(text_skip("abcdef", 6, 0), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_log_order),
		cmocka_unit_test(test_log_bounds),
		cmocka_unit_test(test_settle),
		cmocka_unit_test(test_runs_of_ink),
		cmocka_unit_test(test_runs_of_ink_many),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_wrap),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
