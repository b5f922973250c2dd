/* checkpoint.c - fuzz target: any bytes as a checkpoint's manifest, with a right sum; what is taken holds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "checkpoint/restore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *bytes = xmalloc(size + HASH_BYTES);
	AUTO_STR struct str path = STR_INIT;
	struct hasher *h = hasher_new();
	struct err e = ERR_INIT;
	struct manifest m;

	if (size)
		memcpy(bytes, data, size);
	hasher_begin(h);
	hasher_add(h, bytes, size);
	hasher_end(h, (uint8_t *)bytes + size);
	hasher_free(h);
	manifest_init(&m);
	if (manifest_parse(&m, bytes, size + HASH_BYTES, "fuzz", &e) < 0) {
		if (e.kind != ERR_FAILED || m.n != 0)
			abort();
		manifest_release(&m);
		return 0;
	}
	manifest_index(&m);
	for (uint32_t i = 0; i < m.n; i++) {
		size_t n;

		str_clear(&path);
		manifest_path(&m, i, &path);
		/* Nothing but names below the root, and each is found again. */
		if (path.s[0] == '/' || strlen(path.s) != path.len || strstr(path.s, "//") ||
			(i &&
				manifest_find(&m, m.entry[i].parent, manifest_name(&m, i)) ==
					NOWHERE))
			abort();
		manifest_attrs(&m, i, &n);
		if (n > m.text.len || m.entry[i].link > i || (i && m.entry[i].parent >= i))
			abort();
	}
	manifest_release(&m);
	return 0;
}
