/* clean_plan.c - fuzz target: any bytes as a saved clean-up plan; what is taken comes out the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clean.h>
#include <berth/text.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_STR struct str once = STR_INIT, twice = STR_INIT;
	struct err e = ERR_INIT;
	struct clean_plan *p;
	struct arena mem;

	text_init();
	arena_init(&mem, 4096);
	p = clean_plan_parse((const char *)data, size, &mem, &e);
	if (!p && (e.kind != ERR_USAGE || !e.msg[0]))
		abort();
	if (p) {
		clean_plan_json(p, &once);
		p = clean_plan_parse(once.s, once.len, &mem, &e);
		if (!p)
			abort();
		clean_plan_json(p, &twice);
		if (once.len != twice.len || memcmp(once.s, twice.s, once.len) != 0)
			abort();
		/* What becomes part of a request target can only be one component of it. */
		for (size_t i = 0; i < p->n; i++)
			if (strpbrk(p->item[i].id, "/?#% \r\n") || p->item[i].id[0] == '.')
				abort();
	}
	arena_release(&mem);
	return 0;
}
