/* jsonr.c - fuzz target: any bytes as a message: what is read is within bounds, and once spelt out again reads the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/jsonr.h>
#include <berth/jsonw.h>
#include <berth/mem.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_tree(const struct json *j, int depth)
{
	size_t n = 0;

	if (depth > JSON_DEEPEST || (j->key && strlen(j->key) > j->key_len) ||
		(j->type == JSON_STRING && j->text[j->len]))
		abort();
	for (const struct json *m = j->first; m; m = m->next, n++)
		check_tree(m, depth + 1);
	if (n != j->n)
		abort();
}

/* A string that was read comes back from what the writer makes of it. */
static void check_string(const struct json *j)
{
	AUTO_STR struct str again = STR_INIT;
	struct err fault, e = ERR_INIT;
	const struct json *back;
	struct arena mem;

	arena_init(&mem, 256);
	jsonw_quote(&again, j->text, j->len);
	back = json_parse(&mem, again.s, again.len, &fault, &e);
	if (!back || fault.kind || back->len != j->len || memcmp(back->text, j->text, j->len) != 0)
		abort();
	arena_release(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err fault, e = ERR_INIT;
	struct arena mem;
	AUTO_FREE char *text = xmalloc(size + 1);
	const struct json *j;

	if (size)
		memcpy(text, data, size);
	arena_init(&mem, 256);
	j = json_parse(&mem, text, size, &fault, &e);
	if (!j && e.kind != ERR_PROTOCOL)
		abort();
	if (j)
		check_tree(j, 0);
	if (json_is(j, JSON_STRING) && !fault.kind)
		check_string(j);
	arena_release(&mem);
	return 0;
}
