/*
 * tools_operator.c - implements the operator's tools: hosts, agents, containers, logs, audit records, and changes.
 *
 * All of it is a command line of berth's.  What comes back was written by containers, agents and whoever named them: it
 * is answered as `data`, neutralised and said to be just that.  A change is asked in an open console, each by itself;
 * what decides over egress, ports, limits, policy or keys is not among them.
 */
#include "mcp/tools_operator.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "mcp/verbs.h"

#define LOG_LINES 100
#define LOG_LINES_MOST 2000
#define NAME_MOST 128

static void put_neutral(struct jsonw *j, const char *key, const char *s, size_t n)
{
	AUTO_STR struct str shown = STR_INIT;

	for (size_t at = 0; at < n;) {
		const char *end = memchr(s + at, '\n', n - at);
		size_t len = end ? (size_t)(end - s) - at : n - at;

		text_neutralise(&shown, s + at, len, false);
		if (end)
			str_addc(&shown, '\n');
		at += len + 1;
	}
	jsonw_textn(j, key, shown.s, shown.len);
}

static void put_neutral_value(struct jsonw *j, const char *key, const struct json *v, int depth)
{
	bool object = v->type == JSON_OBJECT;

	if (v->type == JSON_STRING) {
		put_neutral(j, key, v->text, v->len);
		return;
	}
	if (v->type != JSON_ARRAY && !object) {
		verb_put(j, key, v);
		return;
	}
	if (object)
		jsonw_object(j, key);
	else
		jsonw_array(j, key);
	for (const struct json *m = depth > JSON_DEPTH_MAX - 8 ? NULL : v->first; m; m = m->next) {
		AUTO_STR struct str name = STR_INIT;

		/* A label's name is its author's choice, too. */
		if (object)
			text_neutralise(&name, m->key, m->key_len, false);
		put_neutral_value(j, object ? name.s : NULL, m, depth + 1);
	}
	jsonw_end(j);
}

static void put_mark(struct jsonw *j, const char *source)
{
	jsonw_text(j, "source", source);
	jsonw_bool(j, "untrusted", true);
}

/* "berth ps --json": one document. */
static int tell_document(struct call *c, const struct verb_words *w, const char *source,
	const char *member, struct err *e)
{
	const struct json *d = verb_ask(c, w, e);
	const struct json *v = d && member ? json_member(d, member) : d;

	if (!d)
		return -1;
	put_mark(&c->out, source);
	if (v)
		put_neutral_value(&c->out, "data", v, 0);
	else
		jsonw_null(&c->out, "data");
	return 0;
}

/* Lines of text, whoever wrote them. */
static int tell_lines(struct call *c, const struct verb_words *w, const char *source, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;

	if (verb_print(c, w, &text, e))
		return -1;
	put_mark(&c->out, source);
	put_neutral(&c->out, "data", text.s, text.len);
	return 0;
}

/* A name of a container, no option. */
static const char *read_container_name(struct call *c, struct err *e)
{
	const char *name = call_text(c, "container");

	if (name && *name && *name != '-' && strlen(name) <= NAME_MOST)
		return name;
	return err_null(err_set(e, ERR_USAGE, "\"container\" must be a name or an id."));
}

/* What `berth WORD list --json` prints, or a member of it. */
static int tell_list(
	struct call *c, const char *word, const char *source, const char *member, struct err *e)
{
	struct verb_words w;

	verb_begin(c, &w);
	verb_word(&w, word);
	verb_word(&w, "list");
	verb_word(&w, "--json");
	return tell_document(c, &w, source, member, e);
}

int tool_op_hosts(struct call *c, struct err *e)
{
	return tell_list(c, "host", "berth host list", "hosts", e);
}

int tool_op_agents(struct call *c, struct err *e)
{
	return tell_list(c, "agent", "berth agent list", NULL, e);
}

int tool_op_containers(struct call *c, struct err *e)
{
	const char *agent = call_text(c, "agent");
	struct verb_words w;

	verb_begin(c, &w);
	verb_word(&w, "ps");
	verb_word(&w, "--json");
	if (call_flag(c, "all"))
		verb_word(&w, "--all");
	if (agent) {
		verb_word(&w, "-f");
		verb_word(&w, arena_printf(&c->mem, "agent=%s", agent));
	}
	return tell_document(c, &w, "berth ps", "containers", e);
}

int tool_op_logs(struct call *c, struct err *e)
{
	const char *name = read_container_name(c, e);
	int64_t lines = call_number(c, "lines", LOG_LINES);
	struct verb_words w;

	if (!name)
		return -1;
	verb_begin(c, &w);
	verb_word(&w, "logs");
	verb_word(&w, "-n");
	verb_word(&w,
		arena_printf(
			&c->mem, "%d", (int)(lines < LOG_LINES_MOST ? lines : LOG_LINES_MOST)));
	verb_word(&w, name);
	return tell_lines(c, &w, "berth logs", e);
}

int tool_op_audit(struct call *c, struct err *e)
{
	const char *since = call_text(c, "since"), *agent = call_text(c, "agent");
	struct verb_words w;

	verb_begin(c, &w);
	verb_word(&w, "audit");
	verb_word(&w, "list");
	verb_word(&w, "--json");
	verb_word(&w, arena_printf(&c->mem, "--since=%s", since ? since : "1h"));
	if (agent)
		verb_word(&w, arena_printf(&c->mem, "--agent=%s", agent));
	return tell_lines(c, &w, "berth audit list", e);
}

int tool_op_benches(struct call *c, struct err *e)
{
	bool runs = call_flag(c, "runs");
	struct verb_words w;

	verb_begin(c, &w);
	verb_word(&w, "bench");
	verb_word(&w, "list");
	verb_word(&w, "--json");
	if (runs)
		verb_word(&w, "--runs");
	return tell_document(c, &w, runs ? "berth bench list --runs" : "berth bench list", NULL, e);
}

/* -- changes ----------------------------------------------------------------------------------------- */

static int change_container(struct call *c, const char *verb, const char *option, struct err *e)
{
	const char *name = read_container_name(c, e), *reason = call_text(c, "reason");
	struct verb_words w;

	if (!name ||
		call_ask(c, arena_printf(&c->mem, "%s container %s", verb, name),
			reason ? reason : "", e))
		return -1;
	verb_begin(c, &w);
	verb_word(&w, !strcmp(verb, "remove") ? "rm" : verb);
	if (option)
		verb_word(&w, option);
	verb_word(&w, name);
	return tell_lines(c, &w, verb, e);
}

int tool_op_start(struct call *c, struct err *e)
{
	return change_container(c, "start", NULL, e);
}

int tool_op_stop(struct call *c, struct err *e)
{
	return change_container(c, "stop", NULL, e);
}

int tool_op_restart(struct call *c, struct err *e)
{
	return change_container(c, "restart", NULL, e);
}

int tool_op_remove(struct call *c, struct err *e)
{
	return change_container(c, "remove", "--yes", e);
}
