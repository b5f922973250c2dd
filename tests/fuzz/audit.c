/*
 * audit.c - fuzzing the reader of audit records: any line is refused or understood, and what was
 * understood, written again, is understood the same way.
 */
#include "audit/record.h"

#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>

#include "audit/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line that a record stands for. */
static void rewrite_record(const struct audit_record *r, struct str *out)
{
	AUTO_STR struct str body = STR_INIT;
	uint8_t hash[SEAL_HASH];

	record_body(&body, r);
	record_line(out, r->seq, r->intent, body.s, body.len, r->prev, hash);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STR struct str first = STR_INIT, second = STR_INIT;
	struct audit_record r, again;
	struct record_frame f;
	struct head head;
	struct arena mem;
	AUTO_FREE char *copy = xmalloc(size); /* exactly as long: reading past it is noticed */

	memcpy(copy, data, size);
	if (size >= HEAD_SIZE)
		head_parse(copy, &head);
	if (record_frame(copy, size, &f))
		record_frame_holds(&f);
	arena_init(&mem, 4096);
	if (record_parse(copy, size, &mem, &r)) {
		rewrite_record(&r, &first);
		CHECK(record_parse(first.s, first.len - 1, &mem, &again));
		rewrite_record(&again, &second);
		CHECK(first.len == second.len && memcmp(first.s, second.s, first.len) == 0);
		CHECK(record_frame(first.s, first.len - 1, &f) && record_frame_holds(&f));
	}
	arena_release(&mem);
	return 0;
}
