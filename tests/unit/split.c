/* split.c - frames, lines, stamps, JSON objects and reply heads, cut in every way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <berth/mem.h>

#include "engine/split.h"
#include "net/reply_head.h"

static struct str got;

static void on_demux_piece(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)ctx;
	/* pieces of one stream in a row are one */
	if (got.len == 0 || got.s[0] != '0' + stream)
		str_addf(&got, "%s%d:", got.len ? "|" : "", stream);
	str_add(&got, bytes, n);
}

static void test_demux(void **state)
{
	static const char in[] = "\1\0\0\0\0\0\0\3abc"
				 "\1\0\0\0\0\0\0\0"
				 "\1\0\0\0\0\0\0\2de";
	struct err e = ERR_INIT;

	(void)state;
	for (size_t step = 1; step < sizeof in; step++) {
		struct demux d = {0};

		str_clear(&got);
		for (size_t i = 0; i < sizeof in - 1; i += step) {
			size_t n = sizeof in - 1 - i < step ? sizeof in - 1 - i : step;

			assert_int_equal(demux_feed(&d, in + i, n, on_demux_piece, NULL, &e), 0);
		}
		assert_string_equal(got.s, "1:abcde");
	}
	str_clear(&got);
	assert_int_equal(
		demux_feed(&(struct demux){0}, "\2\0\0\0\0\0\0\1x\7", 10, on_demux_piece, NULL, &e),
		0);
	assert_int_equal(demux_feed(&(struct demux){0}, "\2\0\0\0\0\0\0\1xhello wo", 17,
				 on_demux_piece, NULL, &e),
		-1);
	assert_int_equal(e.kind, ERR_PROTOCOL);
	str_release(&got);
}

static void on_cut_line(void *ctx, const struct log_line *line)
{
	(void)ctx;
	str_addf(&got, "%d %lld %u%s%s%s%s [%.*s]\n", line->stream, (long long)line->wall_ns,
		line->len, line->clipped ? " clipped" : "", line->more ? " more" : "",
		line->unended ? " unended" : "", line->cr ? " cr" : "",
		(int)(line->len < 20 ? line->len : 20), line->text);
}

static void test_split_lines(void **state)
{
	struct str in = STR_INIT, want = STR_INIT;

	(void)state;
	str_adds(&in,
		"1970-01-01T00:00:01.5Z one\n\n1970-01-01T00:00:02Z \n"
		"1970-01-01T00:00:03Z cr\r\nno stamp\n1970-01-01T00:00:04Z ");
	for (int i = 0; i < 3 * LOG_LINE_MAX; i++)
		str_addc(&in, 'x');
	str_adds(&in, "\n1970-01-01T00:00:05Z last");
	str_adds(&want,
		"1 1500000000 3 [one]\n1 1500000000 0 []\n1 2000000000 0 []\n"
		"1 3000000000 2 cr [cr]\n1 3000000000 8 [no stamp]\n"
		"1 4000000000 8192 clipped [xxxxxxxxxxxxxxxxxxxx]\n"
		"1 5000000000 4 unended [last]\n");
	for (size_t step = 1; step <= in.len; step = step < 40 ? step + 1 : step * 3) {
		struct lines l;

		lines_init(&l, NULL, false);
		str_clear(&got);
		for (size_t i = 0; i < in.len; i += step)
			lines_feed(&l, 1, in.s + i, in.len - i < step ? in.len - i : step,
				on_cut_line, NULL);
		lines_end(&l, false, on_cut_line, NULL);
		assert_string_equal(got.s, want.s);
		lines_release(&l);
	}
	str_release(&in);
	str_release(&want);
	str_release(&got);
}

static void test_lines_two(void **state)
{
	struct lines l;

	(void)state;
	lines_init(&l, NULL, false);
	lines_feed(&l, 1, "a", 1, on_cut_line, NULL);
	lines_feed(&l, 2, "b\nc", 3, on_cut_line, NULL);
	lines_feed(&l, 1, "d\n", 2, on_cut_line, NULL);
	lines_end(&l, false, on_cut_line, NULL);
	lines_end(&l, false, on_cut_line, NULL);
	assert_string_equal(got.s, "2 0 1 [b]\n1 0 2 [ad]\n2 0 1 unended [c]\n");
	lines_release(&l);
	str_release(&got);
}

static void add_frame(struct str *to, int stream, const char *stamp, const char *text, size_t n)
{
	size_t len = strlen(stamp) + n;
	const char head[8] = {(char)stream, 0, 0, 0, (char)(len >> 24), (char)(len >> 16),
		(char)(len >> 8), (char)len};

	str_add(to, head, 8);
	str_adds(to, stamp);
	str_add(to, text, n);
}

static struct demux frames;
static bool piece_stamps;

static void on_log_frame(void *ctx, int stream, const char *bytes, size_t n)
{
	if (frames.fresh)
		lines_frame(ctx, stream, on_cut_line, NULL);
	lines_feed(ctx, stream, bytes, n, on_cut_line, NULL);
}

/* `in` as it comes in steps of that many bytes, from a terminal (raw) or in frames. */
static void split_log(struct lines *l, bool raw, const struct log_span *as, const struct str *in,
	size_t step, bool cut)
{
	frames = (struct demux){0};
	lines_init(l, as, raw);
	l->piece_stamps = piece_stamps;
	str_clear(&got);
	for (size_t i = 0; i < in->len; i += step) {
		size_t n = in->len - i < step ? in->len - i : step;

		if (raw)
			lines_feed(l, 1, in->s + i, n, on_cut_line, NULL);
		else
			assert_int_equal(
				demux_feed(&frames, in->s + i, n, on_log_frame, l, NULL), 0);
	}
	lines_end(l, cut, on_cut_line, NULL);
	lines_release(l);
}

#define AT_1 "1970-01-01T00:00:01.000000000Z "
#define AT_2 "1970-01-01T00:00:02.000000000Z "
#define AT_3 "1970-01-01T00:00:03.000000000Z "

/* What an engine stores of a long line in pieces is one line; what a writer left without a newline is another. */
static void test_log_pieces(void **state)
{
	static char text[40000];
	struct log_span whole = {.line_max = 1 << 20}, pieces = {.line_max = 8192, .pieces = true};
	struct str framed = STR_INIT, raw = STR_INIT;
	struct lines l;

	(void)state;
	memset(text, 'x', sizeof text);
	add_frame(&framed, 1, AT_1, text, 16384);
	add_frame(&framed, 2, AT_1, "between\n", 8);
	add_frame(&framed, 1, AT_1, text, 16384);
	add_frame(&framed, 1, AT_1, "end\r\n", 5);
	add_frame(&framed, 1, AT_1, "no newline", 10);
	add_frame(&framed, 1, AT_2, "another run\n", 12);
	for (size_t step = 1; step <= framed.len; step = step < 80 ? step + 1 : step * 3) {
		split_log(&l, false, &whole, &framed, step, false);
		assert_string_equal(got.s,
			"2 1000000000 7 [between]\n"
			"1 1000000000 32771 cr [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 1000000000 10 unended [no newline]\n"
			"1 2000000000 11 [another run]\n");
		split_log(&l, false, NULL, &framed, step, false);
		assert_string_equal(got.s,
			"2 1000000000 7 [between]\n"
			"1 1000000000 8192 clipped [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 1000000000 10 unended [no newline]\n"
			"1 2000000000 11 [another run]\n");
		split_log(&l, false, &pieces, &framed, step, false);
		assert_non_null(strstr(got.s,
			"1 1000000000 8192 more [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 1000000000 3 cr [end]\n"
			"1 1000000000 10 unended [no newline]\n"));
	}
	framed.len -= 6;
	split_log(&l, false, &whole, &framed, 7, true);
	assert_true(demux_inside(&frames));
	assert_non_null(strstr(got.s, "1 2000000000 6 clipped unended [anothe]\n"));
	/* A terminal has no frames.  A stamp of another time is the program's own text. */
	str_adds(&raw, AT_1);
	str_add(&raw, text, 16384);
	str_adds(&raw, AT_1);
	str_add(&raw, text, 16384);
	str_adds(&raw, AT_2 "of mine\r\n" AT_2 "next\r\n");
	for (size_t step = 1; step <= raw.len; step = step < 80 ? step + 1 : step * 3) {
		split_log(&l, true, &whole, &raw, step, false);
		assert_string_equal(got.s,
			"1 1000000000 32806 cr [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 2000000000 4 cr [next]\n");
	}
	str_release(&framed);
	str_release(&raw);
	str_release(&got);
}

/* Podman stamps each piece with its own time: only a start of the container between two makes them two lines. */
static void test_stamped_pieces(void **state)
{
	static char text[8192];
	struct log_span whole = {.line_max = 1 << 20};
	struct str framed = STR_INIT;
	struct lines l;

	(void)state;
	memset(text, 'x', sizeof text);
	add_frame(&framed, 1, AT_1, text, 8192);
	add_frame(&framed, 2, AT_1, "between\n", 8);
	add_frame(&framed, 1, AT_2, text, 100);
	add_frame(&framed, 1, AT_2, "end\n", 4);
	add_frame(&framed, 1, AT_2, "ask: ", 5);
	add_frame(&framed, 1, AT_3, "answer\n", 7);
	piece_stamps = true;
	for (size_t step = 1; step <= framed.len; step = step < 80 ? step + 1 : step * 3) {
		whole.started_ns = 0;
		split_log(&l, false, &whole, &framed, step, false);
		assert_string_equal(got.s,
			"2 1000000000 7 [between]\n"
			"1 1000000000 8295 [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 2000000000 11 [ask: answer]\n");
		whole.started_ns = 3000000001;
		split_log(&l, false, &whole, &framed, step, false);
		assert_string_equal(got.s,
			"2 1000000000 7 [between]\n"
			"1 1000000000 8295 [xxxxxxxxxxxxxxxxxxxx]\n"
			"1 2000000000 5 unended [ask: ]\n"
			"1 3000000000 6 [answer]\n");
	}
	piece_stamps = false;
	str_release(&framed);
	str_release(&got);
}

static void test_stamp(void **state)
{
	static const struct {
		const char *text;
		size_t used;
		int64_t ns;
	} all[] = {
		{"1970-01-01T00:00:00Z", 20, 0},
		{"2026-11-20T22:59:35.702837759Z x", 30, 1795215575702837759},
		{"2026-11-20T23:59:35.702837759+01:00", 35, 1795215575702837759},
		{"2024-02-29T12:00:00.5-00:30", 27, 1709209800500000000},
		{"0001-01-01T00:00:00Z", 20, 0},
		{"9999-12-31T23:59:59Z", 20, INT64_MAX},
		{"2026-11-20T22:59:35", 0, -1},
		{"2026-13-20T22:59:35Z", 0, -1},
		{"2026-11-20 22:59:35Z", 0, -1},
		{"2026-11-20T22:59:35.Z", 0, -1},
		{"2026-11-20T22:59:35+1:00", 0, -1},
		{"2026-11-20T22:59:35.1234567890123Z", 34, 1795215575123456789},
		{"", 0, -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(all); i++) {
		int64_t ns = -1;

		assert_int_equal(stamp_parse(all[i].text, strlen(all[i].text), &ns), all[i].used);
		assert_true(ns == all[i].ns);
		for (size_t n = 0; n < all[i].used; n++) /* never past the end */
			stamp_parse(all[i].text, n, &ns);
	}
}

static void on_cut_object(void *ctx, const char *json, size_t n)
{
	(void)ctx;
	if (json)
		str_addf(&got, "%.*s;", (int)n, json);
	else
		str_addf(&got, "dropped %zu;", n);
}

static void test_objects(void **state)
{
	static const char in[] =
		"{\"a\":\"}\\\"{\"}\r\n{}\x1e{\"b\":{\"c\":[{}]}}"
		"{\"long\":\"0123456789012345678901234567890123456789\"} {\"d\":1}";
	struct err e = ERR_INIT;

	(void)state;
	for (size_t step = 1; step < sizeof in; step++) {
		struct objects o;

		objects_init(&o, 40);
		str_clear(&got);
		for (size_t i = 0; i < sizeof in - 1; i += step) {
			size_t n = sizeof in - 1 - i < step ? sizeof in - 1 - i : step;

			assert_int_equal(objects_feed(&o, in + i, n, on_cut_object, NULL, &e), 0);
		}
		assert_string_equal(
			got.s, "{\"a\":\"}\\\"{\"};{};{\"b\":{\"c\":[{}]}};dropped 51;{\"d\":1};");
		assert_false(objects_inside(&o));
		assert_int_equal(objects_feed(&o, "{", 1, on_cut_object, NULL, &e), 0);
		assert_true(objects_inside(&o));
		objects_release(&o);
	}
	for (const char *bad = "x]}\"1"; *bad; bad++) {
		struct objects o;

		objects_init(&o, 40);
		assert_int_equal(objects_feed(&o, bad, 1, on_cut_object, NULL, &e), -1);
		objects_release(&o);
	}
	str_release(&got);
}

static void test_head(void **state)
{
	static const char in[] = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 UPGRADED\r\n"
				 "content-type: x\r\nConnection: Upgrade\r\n\r\nraw";
	static const char *const wrong[] = {"HTTP/2 200\r\n\r\n", "SSH-2.0-x\r\n\r\n", "\r\n\r\n",
		"HTTP/1.1 20 x\r\n\r\n", "HTTP/1.1 099 x\r\n\r\n", "HTTP/1.1 2000\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"};
	struct reply_head h;
	struct err e = ERR_INIT;
	char *big = xmalloc(REPLY_HEAD_MAX + 10);

	(void)state;
	for (size_t step = 1; step < sizeof in; step++) {
		size_t used = 0;

		reply_head_init(&h);
		while (!h.complete) {
			size_t left = sizeof in - 1 - used;
			ssize_t n = reply_head_feed(&h, in + used, left < step ? left : step, &e);

			assert_true(n > 0);
			used += (size_t)n;
		}
		assert_int_equal(h.status, 101);
		assert_string_equal(in + used, "raw");
		reply_head_release(&h);
	}
	reply_head_init(&h);
	assert_true(
		reply_head_feed(&h, "HTTP/1.0 404 Not Found\ncontent-length:12\n\nx", 43, &e) > 0);
	assert_true(h.status == 404 && h.length == 12 && !h.chunked);
	reply_head_release(&h);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		reply_head_init(&h);
		assert_int_equal(reply_head_feed(&h, wrong[i], strlen(wrong[i]), &e), -1);
		reply_head_release(&h);
	}
	memset(big, 'a', REPLY_HEAD_MAX + 10);
	reply_head_init(&h);
	assert_int_equal(reply_head_feed(&h, big, REPLY_HEAD_MAX + 10, &e), -1);
	reply_head_release(&h);
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_demux),
		cmocka_unit_test(test_split_lines),
		cmocka_unit_test(test_lines_two),
		cmocka_unit_test(test_log_pieces),
		cmocka_unit_test(test_stamped_pieces),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_head),
	};

	str_init(&got);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
