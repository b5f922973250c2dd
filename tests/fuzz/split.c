/* split.c - fuzz target: frames, lines and objects give the same however the bytes are cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/str.h>

#include "engine/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct run {
	struct demux demux;
	struct lines lines;
	struct str out;
};

static void on_split_line(void *ctx, const struct log_line *line)
{
	struct run *r = ctx;

	if (line->len > LOG_LINE_MAX || memchr(line->text, '\n', line->len))
		abort();
	str_addf(&r->out, "%d %d %lld ", line->stream, line->clipped, (long long)line->wall_ns);
	str_add(&r->out, line->text, line->len);
}

static void on_split_piece(void *ctx, int stream, const char *bytes, size_t n)
{
	struct run *r = ctx;

	if (r->demux.fresh)
		lines_frame(&r->lines, stream, on_split_line, r);
	lines_feed(&r->lines, stream, bytes, n, on_split_line, r);
}

static void on_split_object(void *ctx, const char *json, size_t n)
{
	struct run *r = ctx;

	if (json && (json[0] != '{' || json[n - 1] != '}'))
		abort();
	str_addf(&r->out, "%zu ", n);
	if (json)
		str_add(&r->out, json, n);
}

static void run_splitter(struct run *r, int kind, const char *s, size_t size, size_t step)
{
	struct objects objects;
	int rc = 0;

	r->demux = (struct demux){0};
	lines_init(&r->lines, NULL, kind == 1);
	objects_init(&objects, 64);
	for (size_t i = 0; i < size && rc == 0; i += step) {
		size_t n = size - i < step ? size - i : step;

		if (kind == 0)
			rc = demux_feed(&r->demux, s + i, n, on_split_piece, r, NULL);
		else if (kind == 1)
			lines_feed(&r->lines, 1, s + i, n, on_split_line, r);
		else
			rc = objects_feed(&objects, s + i, n, on_split_object, r, NULL);
	}
	lines_end(&r->lines, false, on_split_line, r);
	str_addf(&r->out, " %d %d", rc, objects_inside(&objects));
	lines_release(&r->lines);
	objects_release(&objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct run whole, cut;

	if (size < 2)
		return 0;
	str_init(&whole.out);
	str_init(&cut.out);
	run_splitter(&whole, data[0] % 3, (const char *)data + 2, size - 2, size);
	run_splitter(&cut, data[0] % 3, (const char *)data + 2, size - 2, data[1] % 64 + 1);
	if (whole.out.len != cut.out.len || memcmp(whole.out.s, cut.out.s, cut.out.len) != 0)
		abort();
	str_release(&whole.out);
	str_release(&cut.out);
	return 0;
}
