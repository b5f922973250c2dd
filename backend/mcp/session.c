/* session.c - the protocol: what a message asks for, in both eras. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "mcp/server.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define MODERN "2026-07-28"
#define LIST_TTL_MS 3600000 /* the list of tools does not change while the server runs */

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)
#define METHOD_NOT_FOUND (-32601)
#define INVALID_PARAMS (-32602)
#define UNKNOWN_VERSION (-32022)

/* Newest first: what is answered to a version that is not known. */
static const char *const sessions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

struct request {
	const char *id; /* as it was written; NULL: a notification */
	const char *method;
	const struct json *params; /* an object or NULL */
	const struct json *meta;
	bool modern;
	size_t bytes; /* of the message */
};

/* -- what is said ---------------------------------------------------------------------------------- */

static void put_capabilities(struct jsonw *j)
{
	jsonw_object(j, "capabilities");
	jsonw_object(j, "tools");
	jsonw_end(j);
	jsonw_end(j);
}

static void put_instructions(const struct server *s, struct jsonw *j)
{
	AUTO_STR struct str text = STR_INIT;

	str_addf(&text,
		"Files are worked on in parallel: prefer read_multiple_files, write_multiple_files, "
		"search_text and scan_directory to many single calls. Relative paths count from %s. ",
		s->reach.home);
	if (s->o->groups & MCP_COMMANDS)
		str_adds(&text, "Commands run in the agent's container, at the same paths.");
	jsonw_text(j, "instructions", text.s);
}

/* -- methods --------------------------------------------------------------------------------------- */

static void answer_initialize(struct server *s, const struct request *r)
{
	const char *asked = json_string(r->params, "protocolVersion"), *version = sessions[0];
	struct jsonw j;

	if (!asked) {
		message_fail(s, r->id, INVALID_PARAMS, "initialize needs \"protocolVersion\".");
		return;
	}
	for (size_t i = 0; i < COUNT(sessions); i++)
		if (!strcmp(sessions[i], asked))
			version = sessions[i];
	s->session = true;
	message_begin(&j, r->id, "result");
	jsonw_text(&j, "protocolVersion", version);
	put_capabilities(&j);
	message_server_info(s, &j, "serverInfo");
	put_instructions(s, &j);
	message_send(s, &j);
}

static void answer_ping(struct server *s, const struct request *r)
{
	struct jsonw j;

	message_begin(&j, r->id, "result");
	message_send(s, &j);
}

/* How long it holds, and for whom. */
static void put_cacheable(struct jsonw *j)
{
	jsonw_int(j, "ttlMs", LIST_TTL_MS);
	jsonw_text(j, "cacheScope", "private");
}

static void answer_discover(struct server *s, const struct request *r)
{
	struct jsonw j;

	message_begin(&j, r->id, "result");
	jsonw_array(&j, "supportedVersions");
	jsonw_text(&j, NULL, MODERN);
	for (size_t i = 0; i < COUNT(sessions); i++)
		jsonw_text(&j, NULL, sessions[i]);
	jsonw_end(&j);
	put_capabilities(&j);
	put_instructions(s, &j);
	put_cacheable(&j);
	message_result(s, &j, true);
	message_send(s, &j);
}

static bool is_offered(const struct server *s, const struct tool *t)
{
	return (t->group & s->o->groups) && t->title;
}

static void put_tool(struct jsonw *j, const struct tool *t)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "name", t->name);
	jsonw_text(j, "title", t->title);
	jsonw_text(j, "description", t->help);
	tool_schemas(j, t);
	jsonw_object(j, "annotations");
	jsonw_bool(j, "readOnlyHint", t->hints & HINT_READS);
	if (!(t->hints & HINT_READS)) {
		jsonw_bool(j, "destructiveHint", t->hints & HINT_DESTROYS);
		jsonw_bool(j, "idempotentHint", t->hints & HINT_REPEATS);
	}
	jsonw_bool(j, "openWorldHint", false);
	jsonw_end(j);
	jsonw_end(j);
}

static void answer_tools_list(struct server *s, const struct request *r)
{
	const struct json *cursor = json_member(r->params, "cursor");
	struct jsonw j;

	if (cursor && !json_is(cursor, JSON_NULL)) {
		message_fail(s, r->id, INVALID_PARAMS,
			"There is no such cursor: the list has one page.");
		return;
	}
	message_begin(&j, r->id, "result");
	jsonw_array(&j, "tools");
	for (const struct tool *t = tool_table; t->name; t++)
		if (is_offered(s, t))
			put_tool(&j, t);
	jsonw_end(&j);
	if (r->modern)
		put_cacheable(&j);
	message_result(s, &j, r->modern);
	message_send(s, &j);
}

/* -- tools/call ------------------------------------------------------------------------------------ */

static const struct tool *find_tool(const struct server *s, const char *name)
{
	for (const struct tool *t = tool_table; name && t->name; t++)
		if ((t->group & s->o->groups) && !strcmp(t->name, name))
			return t;
	return NULL;
}

/* A string or a whole number, as JSON again; NULL: it is neither. */
static char *spell_id(const struct json *j)
{
	struct str out = STR_INIT;
	int64_t number;

	if (json_is(j, JSON_STRING))
		jsonw_quote(&out, j->text, j->len);
	else if (json_integer(j, &number))
		str_add(&out, j->text, j->len);
	else
		return NULL;
	return str_detach(&out);
}

static void begin_tool_call(struct server *s, const struct request *r, struct arena *mem)
{
	const char *name = json_string(r->params, "name");
	const struct tool *t = find_tool(s, name);
	struct call *c;

	if (!t) {
		char text[200];

		snprintf(text, sizeof text, "There is no tool \"%.100s\".", name ? name : "");
		message_fail(s, r->id, INVALID_PARAMS, text);
		return;
	}
	if (calls_known(s, r->id)) {
		message_fail(s, r->id, INVALID_REQUEST, "A request of this id is under way.");
		return;
	}
	c = xcalloc(1, sizeof *c);
	c->server = s;
	c->tool = t;
	c->args = json_member(r->params, "arguments");
	c->id = xstrdup(r->id);
	c->token = spell_id(json_member(r->meta, "progressToken"));
	c->modern = r->modern;
	c->cancel[0] = c->cancel[1] = -1;
	c->started_ns = clock_mono_ns();
	c->bytes = r->bytes;
	c->mem = *mem;
	arena_init(mem, 64);
	str_init(&c->text);
	str_init(&c->extra);
	jsonw_init(&c->out, true);
	if (c->token)
		calls_watch(s);
	calls_add(s, c);
}

static void cancel_request(struct server *s, const struct request *r)
{
	AUTO_FREE char *id = spell_id(json_member(r->params, "requestId"));

	if (id)
		calls_cancel(s, id);
}

/* -- one message ----------------------------------------------------------------------------------- */

static bool check_modern(struct server *s, const struct request *r)
{
	const char *version = json_string(r->meta, META_VERSION);
	struct jsonw j;

	if (version && !strcmp(version, MODERN)) {
		if (json_is(json_member(r->meta, META_CAPABILITIES), JSON_OBJECT))
			return true;
		message_fail(s, r->id, INVALID_PARAMS, "_meta needs \"" META_CAPABILITIES "\".");
		return false;
	}
	message_begin(&j, r->id, "error");
	jsonw_int(&j, "code", version ? UNKNOWN_VERSION : INVALID_PARAMS);
	jsonw_text(&j, "message",
		version ? "This protocol version is not spoken here."
			: "\"" META_VERSION "\" has to be a string.");
	if (version) {
		jsonw_object(&j, "data");
		jsonw_array(&j, "supported");
		jsonw_text(&j, NULL, MODERN);
		for (size_t i = 0; i < COUNT(sessions); i++)
			jsonw_text(&j, NULL, sessions[i]);
		jsonw_end(&j);
		jsonw_text(&j, "requested", version);
		jsonw_end(&j);
	}
	message_send(s, &j);
	return false;
}

static void answer_request(struct server *s, const struct request *r, struct arena *mem)
{
	if (r->modern && !check_modern(s, r))
		return;
	if (!r->modern && !strcmp(r->method, "initialize"))
		answer_initialize(s, r);
	else if (!r->modern && !strcmp(r->method, "ping"))
		answer_ping(s, r);
	else if (r->modern && !strcmp(r->method, "server/discover"))
		answer_discover(s, r);
	else if (!r->modern && !s->session)
		message_fail(s, r->id, INVALID_REQUEST,
			"Begin with initialize, or name a protocol version in _meta.");
	else if (!strcmp(r->method, "tools/list"))
		answer_tools_list(s, r);
	else if (!strcmp(r->method, "tools/call"))
		begin_tool_call(s, r, mem);
	else
		message_fail(s, r->id, METHOD_NOT_FOUND, "There is no such method here.");
}

static void take_message(struct server *s, const struct json *m, size_t bytes,
	const struct err *fault, struct arena *mem)
{
	const struct json *id = json_member(m, "id"), *params = json_member(m, "params");
	AUTO_FREE char *spelt = spell_id(id);
	const char *version = json_string(m, "jsonrpc");
	struct request r = {
		.id = spelt, .method = json_string(m, "method"), .params = params, .bytes = bytes};

	/* Nothing is asked of the client, so nothing that it answers is waited for. */
	if (json_is(m, JSON_OBJECT) && !json_member(m, "method") &&
		(json_member(m, "result") || json_member(m, "error")))
		return;
	if (!version || strcmp(version, "2.0") != 0 || !r.method || (id && !spelt))
		message_fail(s, spelt, INVALID_REQUEST,
			json_is(m, JSON_ARRAY) ? "Batches are not spoken here: one message a line."
					       : "This is no JSON-RPC 2.0 request.");
	else if (fault->kind)
		message_fail(s, spelt, INVALID_REQUEST, fault->msg);
	else if (params && !json_is(params, JSON_OBJECT))
		message_fail(s, spelt, INVALID_PARAMS, "\"params\" has to be an object.");
	else {
		r.meta = json_member(params, "_meta");
		r.modern = json_member(r.meta, META_VERSION) != NULL;
		if (r.id)
			answer_request(s, &r, mem);
		else if (!strcmp(r.method, "notifications/cancelled"))
			cancel_request(s, &r);
	}
}

void session_message(struct server *s, const char *text, size_t n)
{
	struct err e = ERR_INIT, fault;
	const struct json *m;
	struct arena mem;
	char *own;

	arena_init(&mem, n < 4096 ? 4096 : 2 * n);
	own = arena_strndup(&mem, text, n);
	m = json_parse(&mem, own, n, &fault, &e);
	if (m)
		take_message(s, m, n, &fault, &mem);
	else
		message_fail(s, NULL, PARSE_ERROR, e.msg);
	arena_release(&mem);
}
