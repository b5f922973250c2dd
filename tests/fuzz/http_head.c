/* http_head.c - fuzz target: the head of a hijacked reply, whole and byte by byte. */
#include <stdint.h>
#include <stdlib.h>

#include "net/reply_head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reply_head whole, cut;
	ssize_t used, n = 0, total = 0;

	reply_head_init(&whole);
	reply_head_init(&cut);
	used = reply_head_feed(&whole, (const char *)data, size, NULL);
	for (size_t i = 0; i < size && !cut.complete && n >= 0; i++) {
		n = reply_head_feed(&cut, (const char *)data + i, 1, NULL);
		total += n;
	}
	if ((used < 0) != (n < 0) || (used >= 0 && used != total) ||
		whole.complete != cut.complete || whole.status != cut.status ||
		whole.length != cut.length || whole.length < -1)
		abort();
	if (whole.complete && (whole.status < 101 || whole.status > 999))
		abort();
	reply_head_release(&whole);
	reply_head_release(&cut);
	return 0;
}
