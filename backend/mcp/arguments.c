/* arguments.c - generates the schema of a tool's arguments, and checks arguments against it. */
#include <stdio.h>
#include <string.h>

#include <berth/mem.h>

#include "mcp/tool_call.h"

#define PATHS_MOST 20000   /* of one call */
#define PATTERNS_MOST 1000 /* each is compared with each name */

/* How many items such a list may have; 0: as many as a message. */
static size_t items_most(const struct arg_def *a)
{
	static const char *const patterns[] = {"glob", "exclude", "excludePatterns"};

	if (a->type != ARG_TEXTS)
		return 0;
	for (size_t i = 0; i < COUNT(patterns); i++)
		if (!strcmp(a->name, patterns[i]))
			return PATTERNS_MOST;
	return strcmp(a->name, "paths") != 0 ? 0 : PATHS_MOST;
}

/* -- the schema ------------------------------------------------------------------------------------ */

static void put_args_schema(struct jsonw *j, const struct arg_def *fields);

static void put_arg_schema(struct jsonw *j, const struct arg_def *a)
{
	static const char *const types[] = {
		"string", "string", "integer", "boolean", "array", "array", "object"};

	jsonw_object(j, a->name);
	jsonw_text(j, "type", types[a->type]);
	if (a->help)
		jsonw_text(j, "description", a->help);
	if (a->words) {
		jsonw_array(j, "enum");
		for (size_t i = 0; a->words[i]; i++)
			jsonw_text(j, NULL, a->words[i]);
		jsonw_end(j);
	}
	if (a->type == ARG_NUMBER) {
		jsonw_int(j, "minimum", 0);
		jsonw_int(j, "maximum", ARG_NUMBER_MAX);
	}
	if (a->type == ARG_TEXTS || a->type == ARG_OBJECTS) {
		jsonw_object(j, "items");
		jsonw_text(j, "type", a->type == ARG_TEXTS ? "string" : "object");
		if (a->fields)
			put_args_schema(j, a->fields);
		jsonw_end(j);
		if (a->required)
			jsonw_int(j, "minItems", 1);
		if (items_most(a))
			jsonw_int(j, "maxItems", (int64_t)items_most(a));
	}
	if (a->type == ARG_MAP) {
		jsonw_object(j, "additionalProperties");
		jsonw_text(j, "type", "string");
		jsonw_end(j);
	}
	jsonw_end(j);
}

static void put_args_schema(struct jsonw *j, const struct arg_def *fields)
{
	bool any = false;

	jsonw_object(j, "properties");
	for (const struct arg_def *a = fields; a->name; a++) {
		put_arg_schema(j, a);
		any |= a->required;
	}
	jsonw_end(j);
	if (any) {
		jsonw_array(j, "required");
		for (const struct arg_def *a = fields; a->name; a++)
			if (a->required)
				jsonw_text(j, NULL, a->name);
		jsonw_end(j);
	}
	jsonw_bool(j, "additionalProperties", false);
}

static void put_outputs(struct jsonw *j, const struct answer_member *outputs)
{
	static const char *const types[] = {
		"string", "integer", "number", "boolean", "array", "object"};

	jsonw_object(j, "properties");
	for (const struct answer_member *m = outputs; m->name; m++) {
		jsonw_object(j, m->name);
		jsonw_text(j, "type", types[m->type & ANSWER_TYPE]);
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_array(j, "required");
	for (const struct answer_member *m = outputs; m->name; m++)
		if (!(m->type & ANSWER_SOMETIMES))
			jsonw_text(j, NULL, m->name);
	jsonw_end(j);
}

void tool_schemas(struct jsonw *j, const struct tool *t)
{
	static const struct arg_def none[] = {{0}};
	static const struct answer_member text[] = {{"content", ANSWER_STRING}, {0}};

	jsonw_object(j, "inputSchema");
	jsonw_text(j, "type", "object");
	put_args_schema(j, t->args ? t->args : none);
	jsonw_end(j);
	jsonw_object(j, "outputSchema");
	jsonw_text(j, "type", "object");
	put_outputs(j, t->json ? t->outputs : text);
	jsonw_end(j);
}

/* -- the check ------------------------------------------------------------------------------------- */

static bool is_plain_string(const struct json *j)
{
	return json_is(j, JSON_STRING) && !memchr(j->text, '\0', j->len);
}

static int check_fields(
	const struct arg_def *fields, const struct json *o, const char *where, struct err *e);

static int check_items(const struct arg_def *a, const struct json *v, struct err *e)
{
	size_t i = 0;

	if (!json_is(v, JSON_ARRAY))
		return err_set(e, ERR_USAGE, "\"%s\" must be an array.", a->name);
	if (a->required && !v->n)
		return err_set(e, ERR_USAGE, "\"%s\" is empty.", a->name);
	if (items_most(a) && v->n > items_most(a))
		return err_set(e, ERR_USAGE, "\"%s\" has %zu items; at most %zu are allowed.",
			a->name, v->n, items_most(a));
	for (const struct json *j = v->first; j; j = j->next, i++) {
		char where[96];

		snprintf(where, sizeof where, "%s[%zu]", a->name, i);
		if (a->type == ARG_TEXTS && !is_plain_string(j))
			return err_set(
				e, ERR_USAGE, "\"%s\" must be a string without NUL bytes.", where);
		if (a->type == ARG_OBJECTS && check_fields(a->fields, j, where, e))
			return -1;
	}
	return 0;
}

static int check_map(const struct arg_def *a, const struct json *v, struct err *e)
{
	if (!json_is(v, JSON_OBJECT))
		return err_set(e, ERR_USAGE, "\"%s\" must be an object of strings.", a->name);
	for (const struct json *j = v->first; j; j = j->next)
		if (!is_plain_string(j) || memchr(j->key, '\0', j->key_len) || !j->key_len)
			return err_set(e, ERR_USAGE,
				"\"%s\" must contain strings without NUL bytes.", a->name);
	return 0;
}

static int check_word(const struct arg_def *a, const struct json *v, struct err *e)
{
	for (size_t i = 0; a->words && a->words[i]; i++)
		if (!strcmp(a->words[i], v->text))
			return 0;
	return a->words ? err_set(e, ERR_USAGE, "\"%s\" cannot be \"%.40s\".", a->name, v->text)
			: 0;
}

static int check_value(const struct arg_def *a, const struct json *v, struct err *e)
{
	int64_t number;

	switch (a->type) {
	case ARG_TEXT:
		return json_is(v, JSON_STRING)
			? check_word(a, v, e)
			: err_set(e, ERR_USAGE, "\"%s\" must be a string.", a->name);
	case ARG_PATH:
		return is_plain_string(v)
			? 0
			: err_set(e, ERR_USAGE, "\"%s\" must be a string without NUL bytes.",
				  a->name);
	case ARG_NUMBER:
		return json_integer(v, &number) && number >= 0 && number <= ARG_NUMBER_MAX
			? 0
			: err_set(e, ERR_USAGE, "\"%s\" must be a whole number, 0 to 1000000000.",
				  a->name);
	case ARG_FLAG:
		return json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE)
			? 0
			: err_set(e, ERR_USAGE, "\"%s\" must be true or false.", a->name);
	case ARG_MAP: return check_map(a, v, e);
	case ARG_TEXTS:
	case ARG_OBJECTS:
	default: return check_items(a, v, e);
	}
}

static const struct arg_def *find_arg(const struct arg_def *fields, const struct json *j)
{
	for (const struct arg_def *a = fields; a->name; a++)
		if (strlen(a->name) == j->key_len && !memcmp(a->name, j->key, j->key_len))
			return a;
	return NULL;
}

static int refuse_unknown_arg(
	const struct arg_def *fields, const struct json *j, const char *where, struct err *e)
{
	AUTO_STR struct str known = STR_INIT;

	for (const struct arg_def *a = fields; a->name; a++)
		str_addf(&known, "%s%s", known.len ? ", " : "", a->name);
	return err_set(e, ERR_USAGE, "\"%.60s\" is not an argument of %s, which takes %s.", j->key,
		where, known.len ? known.s : "none");
}

static int check_fields(
	const struct arg_def *fields, const struct json *o, const char *where, struct err *e)
{
	if (o && !json_is(o, JSON_OBJECT) && !json_is(o, JSON_NULL))
		return err_set(e, ERR_USAGE, "%s takes an object.", where);
	for (const struct json *j = o ? o->first : NULL; j; j = j->next) {
		const struct arg_def *a = find_arg(fields, j);

		if (!a)
			return refuse_unknown_arg(fields, j, where, e);
		/* Many clients send null for what they leave out. */
		if (json_is(j, JSON_NULL) && !a->required)
			continue;
		if (check_value(a, j, e))
			return -1;
	}
	for (const struct arg_def *a = fields; a->name; a++)
		if (a->required && !json_member(o, a->name))
			return err_set(e, ERR_USAGE, "%s needs \"%s\".", where, a->name);
	return 0;
}

int call_check(const struct tool *t, const struct json *args, struct err *e)
{
	static const struct arg_def none[] = {{0}};

	return check_fields(t->args ? t->args : none, args, t->name, e);
}

/* -- for tools ------------------------------------------------------------------------------------- */

const struct json *call_value(const struct call *c, const char *name)
{
	const struct json *j = json_member(c->args, name);

	return json_is(j, JSON_NULL) ? NULL : j;
}

const char *call_text(const struct call *c, const char *name)
{
	const struct json *j = json_member(c->args, name);

	return json_is(j, JSON_STRING) ? j->text : NULL;
}

bool call_flag(const struct call *c, const char *name)
{
	return json_is(json_member(c->args, name), JSON_TRUE);
}

int64_t call_number(const struct call *c, const char *name, int64_t otherwise)
{
	int64_t v;

	return json_integer(json_member(c->args, name), &v) ? v : otherwise;
}

const struct json *call_array(const struct call *c, const char *name)
{
	const struct json *j = json_member(c->args, name);

	return j ? j->first : NULL;
}

const char *const *call_texts(struct call *c, const char *name, size_t *n)
{
	const struct json *j = json_member(c->args, name);
	const char **list;
	size_t i = 0;

	*n = j ? j->n : 0;
	list = arena_array(&c->mem, *n + 1, sizeof *list);
	for (const struct json *item = j ? j->first : NULL; item; item = item->next)
		list[i++] = item->text;
	return list;
}
