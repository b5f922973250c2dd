/* resources.c - serves resources by URI: berth://agent/ID/journal and the others. */
#include <stdio.h>
#include <string.h>

#include <berth/file.h>
#include <berth/hash.h>
#include <berth/mem.h>

#include "mcp/tools_own.h"

/* A look that starts processes is worth it less often. */
#define LOOK_NS 500000000ll
#define LOOK_VERB_NS 3000000000ll

static const struct tool resources[] = {
	{"journal", MCP_ALL, HINT_READS, OP_NONE, own_journal, true, NULL, "Commands",
		"Commands that ran in the agent's container, newest first.", NULL},
	{"limits", MCP_ALL, HINT_READS | HINT_LONG, OP_NONE, own_limits, true, NULL, "Limits",
		"Requested limits, enforced limits, and current usage.", NULL},
	{"network", MCP_ALL, HINT_READS | HINT_LONG, OP_NONE, own_connections, true, NULL,
		"Network", "Where connections went.", NULL},
	{"workspace", MCP_ALL, HINT_READS | HINT_LONG, OP_NONE, own_workspace, true, NULL,
		"Workspace", "Its size and its checkpoints.", NULL},
};

size_t resource_count(void)
{
	return COUNT(resources);
}

void resource_uri(const struct server *s, size_t i, char uri[RESOURCE_URI_MAX])
{
	snprintf(uri, RESOURCE_URI_MAX, "berth://agent/%.64s/%s", s->o->agent->id,
		resources[i].name);
}

const struct tool *resource_find(const struct server *s, const char *uri)
{
	char own[RESOURCE_URI_MAX];

	for (size_t i = 0; uri && s->o->agent && i < COUNT(resources); i++) {
		resource_uri(s, i, own);
		if (!strcmp(own, uri))
			return &resources[i];
	}
	return NULL;
}

size_t resource_index(const struct tool *t)
{
	return (size_t)(t - resources);
}

void resource_list(const struct server *s, struct jsonw *j)
{
	char uri[RESOURCE_URI_MAX];

	for (size_t i = 0; s->o->agent && i < COUNT(resources); i++) {
		resource_uri(s, i, uri);
		jsonw_object(j, NULL);
		jsonw_text(j, "uri", uri);
		jsonw_text(j, "name", resources[i].name);
		jsonw_text(j, "title", resources[i].title);
		jsonw_text(j, "description", resources[i].help);
		jsonw_text(j, "mimeType", "application/json");
		jsonw_end(j);
	}
}

int64_t resource_period_ns(size_t i)
{
	return resources[i].hints & HINT_LONG ? LOOK_VERB_NS : LOOK_NS;
}

uint64_t resource_stamp(struct server *s, size_t i)
{
	struct call c = {.server = s, .tool = &resources[i], .looks = true, .cancel = {-1, -1}};
	struct err why = ERR_INIT;
	uint64_t h;

	arena_init(&c.mem, 1024);
	jsonw_init(&c.out, true);
	jsonw_object(&c.out, NULL);
	resources[i].run(&c, &why);
	jsonw_end(&c.out);
	h = hash_more(HASH_START, c.out.out.s, c.out.out.len);
	jsonw_release(&c.out);
	arena_release(&c.mem);
	for (int k = 0; k < 2; k++)
		cleanup_close(&c.cancel[k]);
	return h;
}
