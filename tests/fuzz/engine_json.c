/* engine_json.c - fuzz target: any bytes as any reply of the engine. */
#include <stdint.h>
#include <stdlib.h>

#include "engine/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	AUTO_JSON cJSON *root = ejson_parse((const char *)data, size, &e);
	struct engine_info info = {0};
	struct engine_summary *rows;
	struct engine_container c;
	struct process_info *p;
	struct engine_event ev;
	struct counters k;
	struct arena mem;
	size_t n;

	if (!root) {
		if (e.kind != ERR_PROTOCOL || !e.msg[0])
			abort();
		return 0;
	}
	arena_init(&mem, 1024);
	parse_version(root, &mem, &info);
	parse_info(root, &mem, &info);
	if (parse_list(root, &mem, &rows, &n, NULL) == 0)
		for (size_t i = 0; i < n; i++)
			if (!rows[i].id[0] || !rows[i].name)
				abort();
	if (parse_inspect(root, &mem, &c, NULL) == 0 && (!c.seccomp || !c.restart_policy))
		abort();
	parse_stats(root, &k, NULL);
	parse_top(root, &mem, &p, &n, NULL);
	if (parse_event(root, &mem, &ev) && (!ev.more || !ev.name || !ev.id))
		abort();
	parse_stream_error(root);
	arena_release(&mem);
	return 0;
}
