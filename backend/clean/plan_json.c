/* plan_json.c - writes plans as JSON (berth.clean_plan/1) and reads them as untrusted input. */
#include <stdio.h>
#include <string.h>

#include <berth/clean.h>
#include <berth/hash.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "clean/verdict.h"

#define SCHEMA "berth.clean_plan/1"
#define SCHEMA_OF_SEVERAL "berth.clean_plans/1"
#define TEXT_MAX 1024 /* bytes of one text */
#define NAME_DIGITS 8 /* of a plan */

struct clean_plan *clean_plan_copy(const struct clean_plan *p, struct arena *mem)
{
	struct clean_plan *to = arena_alloc(mem, sizeof *to);

	*to = *p;
	to->name = arena_strdup(mem, p->name);
	to->engine = arena_strdup(mem, p->engine);
	to->engine_name = arena_strdup(mem, p->engine_name);
	to->endpoint = arena_strdup(mem, p->endpoint);
	to->item = arena_array(mem, p->n + 1, sizeof *to->item);
	for (size_t i = 0; i < p->n; i++) {
		struct clean_item *it = &to->item[i];

		*it = p->item[i];
		it->id = arena_strdup(mem, it->id);
		it->name = arena_strdup(mem, it->name);
		it->owner = arena_strdup(mem, it->owner);
		it->why = arena_strdup(mem, it->why);
		it->keep = arena_strdup(mem, it->keep);
	}
	return to;
}

/* Valid UTF-8 whatever the bytes are, and harmless on a terminal: what must not be shown is escaped. */
static void quote_json(struct str *out, const char *s)
{
	size_t left = strlen(s);

	str_addc(out, '"');
	while (left > 0) {
		uint32_t cp;
		size_t n = utf8_next(s, left, &cp);

		if (cp == '"' || cp == '\\')
			str_addf(out, "\\%c", (char)cp);
		else if (cp == TEXT_BAD)
			str_adds(out, "\xef\xbf\xbd");
		else if (text_cp_width(cp) >= 0)
			str_add(out, s, n);
		else if (cp < 0x10000)
			str_addf(out, "\\u%04x", cp);
		else
			str_addf(out, "\\u%04x\\u%04x", 0xD800 + ((cp - 0x10000) >> 10),
				0xDC00 + ((cp - 0x10000) & 0x3FF));
		s += n;
		left -= n;
	}
	str_addc(out, '"');
}

static void write_quoted(struct str *out, const char *key, const char *value)
{
	str_addf(out, "\"%s\": ", key);
	if (value)
		quote_json(out, value);
	else
		str_adds(out, "null");
}

static void write_number(struct str *out, const char *key, int64_t v, int64_t unknown)
{
	if (v == unknown)
		str_addf(out, ", \"%s\": null", key);
	else
		str_addf(out, ", \"%s\": %lld", key, (long long)v);
}

static void write_flag(struct str *out, const char *key, bool v)
{
	str_addf(out, ", \"%s\": %s", key, v ? "true" : "false");
}

static void write_item(struct str *out, const struct clean_item *it)
{
	str_adds(out, "    {");
	write_quoted(out, "type", clean_type_name(it->type));
	str_adds(out, ", ");
	write_quoted(out, "id", it->id);
	str_adds(out, ", ");
	write_quoted(out, "name", it->name);
	str_adds(out, ", ");
	write_quoted(out, "reason", clean_reason_name(it->reason));
	str_adds(out, ", ");
	write_quoted(out, "why", it->why);
	str_adds(out, ", ");
	write_quoted(out, "owner", it->owner);
	write_number(out, "bytes", it->bytes, -1);
	write_number(out, "created_ms", it->made_ms, 0);
	write_flag(out, "running", it->running);
	write_flag(out, "foreign", it->foreign);
	write_flag(out, "marked", it->marked);
	str_adds(out, ", ");
	write_quoted(out, "protected", it->keep);
	str_addc(out, '}');
}

void clean_plan_json(const struct clean_plan *p, struct str *out)
{
	struct clean_totals t = clean_totals(p);

	str_adds(out, "{\n  ");
	write_quoted(out, "schema", SCHEMA);
	str_adds(out, ",\n  ");
	write_quoted(out, "plan", p->name);
	str_adds(out, ",\n  ");
	write_quoted(out, "engine", p->engine);
	str_adds(out, ",\n  ");
	write_quoted(out, "engine_name", p->engine_name);
	str_adds(out, ",\n  ");
	write_quoted(out, "endpoint", p->endpoint);
	str_addf(out, ",\n  \"made_ms\": %lld,\n  \"foreign\": %s,\n  \"marked\": %zu,\n",
		(long long)p->made_ms, p->foreign ? "true" : "false", t.marked);
	str_addf(out, "  \"bytes\": %llu,\n  \"items\": [", (unsigned long long)t.bytes);
	for (size_t i = 0; i < p->n; i++) {
		str_adds(out, i ? ",\n" : "\n");
		write_item(out, &p->item[i]);
	}
	str_adds(out, p->n ? "\n  ]\n}\n" : "]\n}\n");
}

/* Reading. */

static int refuse_plan(struct err *e, size_t at, const char *what)
{
	return at == SIZE_MAX
		? err_set(e, ERR_USAGE, "This is not a clean-up plan: %s.", what)
		: err_set(e, ERR_USAGE, "This is not a clean-up plan: item %zu: %s.", at + 1, what);
}

/* Every member has one of these names, and each at most once. */
static int check_members(
	const cJSON *object, const char *const *name, size_t n, size_t at, struct err *e)
{
	unsigned seen = 0;
	const cJSON *m;

	cJSON_ArrayForEach(m, object)
	{
		char clean[80], say[160];
		size_t i = 0;

		while (i < n && strcmp(name[i], m->string ? m->string : "") != 0)
			i++;
		snprintf(clean, sizeof clean, "%.60s", m->string ? m->string : "");
		if (i == n)
			snprintf(say, sizeof say, "unknown key `%s`", clean);
		else if (seen & 1u << i)
			snprintf(say, sizeof say, "`%s` appears twice", clean);
		else
			say[0] = '\0';
		if (*say)
			return refuse_plan(e, at, say);
		seen |= 1u << i;
	}
	return 0;
}

/* A text, clipped to what anybody would read; NULL when it is none. */
static const char *read_clipped(struct arena *mem, const cJSON *object, const char *key)
{
	const cJSON *v = ejson_get(object, key);
	size_t len = cJSON_IsString(v) ? strlen(v->valuestring) : 0, n = 0, step;
	uint32_t cp;

	if (!cJSON_IsString(v))
		return NULL;
	while (n < len) {
		step = utf8_next(v->valuestring + n, len - n, &cp);
		if (cp == TEXT_BAD && strncmp(v->valuestring + n, "\xef\xbf\xbd", 3) != 0)
			return NULL;
		if (n + step > TEXT_MAX)
			break;
		n += step;
	}
	return arena_strndup(mem, v->valuestring, n);
}

static bool read_truth(const cJSON *object, const char *key, bool *ret)
{
	const cJSON *v = ejson_get(object, key);

	*ret = cJSON_IsTrue(v);
	return cJSON_IsBool(v);
}

static bool is_hex(const char *s, size_t digits)
{
	size_t n = strspn(s, "0123456789abcdef");

	return n == digits && !s[n];
}

static bool is_hash(const char *s)
{
	return is_hex(s, 64);
}

/* Ids become parts of request targets and of paths. */
static bool id_ok(enum clean_type t, const char *id)
{
	size_t n = strlen(id);

	switch (t) {
	case CLEAN_CONTAINER:
	case CLEAN_NETWORK: return is_hash(id);
	case CLEAN_IMAGE: return !strncmp(id, "sha256:", 7) && is_hash(id + 7);
	default:
		return n > 0 && n < 256 && id[0] != '.' && id[0] != '-' &&
			strspn(id,
				"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") ==
			n;
	}
}

static int read_item(const cJSON *o, size_t at, bool foreign, struct clean_item *it,
	struct arena *mem, struct err *e)
{
	static const char *const known[] = {"type", "id", "name", "reason", "why", "owner", "bytes",
		"created_ms", "running", "foreign", "marked", "protected"};
	const char *type = ejson_string(o, "type"), *reason = ejson_string(o, "reason");
	int t = 0, r = CLEAN_NOTHING + 1;

	if (!cJSON_IsObject(o))
		return refuse_plan(e, at, "it is not an object");
	if (check_members(o, known, COUNT(known), at, e))
		return -1;
	while (t < CLEAN_TYPES && strcmp(clean_type_name((enum clean_type)t), type) != 0)
		t++;
	while (r < CLEAN_REASONS && strcmp(clean_reason_name((enum clean_reason)r), reason) != 0)
		r++;
	if (t == CLEAN_TYPES)
		return refuse_plan(
			e, at, "`type` must be container, network, volume, image or leftover");
	if (r == CLEAN_REASONS)
		return refuse_plan(e, at, "unknown `reason`");
	/* The rules would not object: only who is asked at once may choose. */
	if (r == CLEAN_CHOSEN)
		return refuse_plan(
			e, at, "it was chosen by name; choose it again with `berth image rm`");
	it->type = (enum clean_type)t;
	it->reason = (enum clean_reason)r;
	it->id = read_clipped(mem, o, "id");
	it->name = read_clipped(mem, o, "name");
	it->owner = read_clipped(mem, o, "owner");
	it->why = read_clipped(mem, o, "why");
	it->keep = read_clipped(mem, o, "protected");
	it->bytes = ejson_i64(o, "bytes", -1);
	it->made_ms = ejson_i64(o, "created_ms", 0);
	if (it->bytes < 0)
		it->bytes = -1;
	if (!it->id || !id_ok(it->type, it->id))
		return refuse_plan(e, at, "`id` is not a full id of that type");
	if (!it->name || !it->owner || !it->why)
		return refuse_plan(e, at, "`name`, `owner` and `why` must be strings");
	if (!read_truth(o, "running", &it->running) || !read_truth(o, "foreign", &it->foreign) ||
		!read_truth(o, "marked", &it->marked))
		return refuse_plan(
			e, at, "`running`, `foreign` and `marked` must be true or false");
	if (it->foreign && !foreign)
		return refuse_plan(e, at, "it is foreign, but the plan is not");
	if (it->marked && it->keep)
		return refuse_plan(e, at, "it is both protected and marked");
	return 0;
}

/* Sorted by hand would be quadratic for a hostile plan: a hash set of type and id. */
static bool any_twice(const struct clean_plan *p, size_t *at)
{
	size_t size = 1, mask;
	AUTO_FREE uint32_t *slot = NULL;

	while (size < 2 * p->n + 2)
		size *= 2;
	mask = size - 1;
	slot = xcalloc(size, sizeof *slot);
	for (size_t i = 0; i < p->n; i++) {
		uint64_t h = hash_string(HASH_START + p->item[i].type, p->item[i].id);

		for (h &= mask; slot[h]; h = (h + 1) & mask) {
			const struct clean_item *other = &p->item[slot[h] - 1];

			if (other->type == p->item[i].type && !strcmp(other->id, p->item[i].id)) {
				*at = i;
				return true;
			}
		}
		slot[h] = (uint32_t)i + 1;
	}
	return false;
}

static int read_items(const cJSON *root, struct clean_plan *p, struct arena *mem, struct err *e)
{
	const cJSON *items = ejson_get(root, "items"), *o;
	size_t at;

	if (!cJSON_IsArray(items))
		return refuse_plan(e, SIZE_MAX, "`items` must be a list");
	if (ejson_count(items) > CLEAN_ITEMS_MAX)
		return refuse_plan(e, SIZE_MAX, "it has too many items");
	p->item = arena_array(mem, ejson_count(items) + 1, sizeof *p->item);
	cJSON_ArrayForEach(o, items)
	{
		if (read_item(o, p->n, p->foreign, &p->item[p->n], mem, e))
			return -1;
		p->n++;
	}
	return any_twice(p, &at) ? refuse_plan(e, at, "it appears twice") : 0;
}

static struct clean_plan *read_clean_plan(const cJSON *root, struct arena *mem, struct err *e)
{
	static const char *const known[] = {"schema", "plan", "engine", "engine_name", "endpoint",
		"made_ms", "foreign", "marked", "bytes", "items"};
	struct clean_plan *p = arena_alloc(mem, sizeof *p);

	if (strcmp(ejson_string(root, "schema"), SCHEMA) != 0)
		return err_null(refuse_plan(e, SIZE_MAX, "its `schema` is not " SCHEMA));
	if (check_members(root, known, COUNT(known), SIZE_MAX, e))
		return NULL;
	p->name = read_clipped(mem, root, "plan");
	p->engine = read_clipped(mem, root, "engine");
	p->engine_name = read_clipped(mem, root, "engine_name");
	p->endpoint = read_clipped(mem, root, "endpoint");
	p->made_ms = ejson_i64(root, "made_ms", 0);
	if (!p->name || !p->engine || !*p->engine || !p->engine_name || !p->endpoint)
		return err_null(refuse_plan(e, SIZE_MAX,
			"`plan`, `engine`, `engine_name` and `endpoint` must be strings"));
	/* It is shown as it is, and recorded. */
	if (!is_hex(p->name, NAME_DIGITS))
		return err_null(refuse_plan(e, SIZE_MAX, "`plan` must be 8 hex digits"));
	if (!read_truth(root, "foreign", &p->foreign))
		return err_null(refuse_plan(e, SIZE_MAX, "`foreign` must be true or false"));
	return read_items(root, p, mem, e) ? NULL : p;
}

static cJSON *parse_plan_text(const char *bytes, size_t n, struct err *e)
{
	struct err why = ERR_INIT;
	cJSON *root;

	if (n > CLEAN_JSON_MAX)
		return err_null(refuse_plan(e, SIZE_MAX, "it is larger than 16 MB"));
	root = ejson_parse(bytes, n, &why);
	if (!root)
		err_set(e, ERR_USAGE, "This is not a clean-up plan: %s", why.msg);
	return root;
}

struct clean_plan *clean_plan_parse(const char *bytes, size_t n, struct arena *mem, struct err *e)
{
	AUTO_JSON cJSON *root = parse_plan_text(bytes, n, e);

	return root ? read_clean_plan(root, mem, e) : NULL;
}

/* A host without a plan was not reached when it was made. */
static int read_host_plan(
	const cJSON *o, struct clean_named_plan *ret, size_t *n, struct arena *mem, struct err *e)
{
	static const char *const known[] = {"host", "problem", "plan"};
	const cJSON *plan = ejson_get(o, "plan");
	const char *name = read_clipped(mem, o, "host");

	if (!cJSON_IsObject(o) || !name)
		return refuse_plan(e, SIZE_MAX, "each of its hosts must have a name, `host`");
	if (check_members(o, known, COUNT(known), SIZE_MAX, e))
		return -1;
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(ret[i].name, name))
			return refuse_plan(e, SIZE_MAX, "a host appears twice");
	ret[*n] = (struct clean_named_plan){.name = name};
	if (plan && !cJSON_IsNull(plan) && !(ret[*n].plan = read_clean_plan(plan, mem, e)))
		return -1;
	++*n;
	return 0;
}

int clean_plans_parse(const char *bytes, size_t n, struct clean_named_plan *ret, size_t max,
	size_t *ret_n, struct arena *mem, struct err *e)
{
	static const char *const known[] = {"schema", "hosts"};
	AUTO_JSON cJSON *root = parse_plan_text(bytes, n, e);
	const cJSON *hosts = ejson_get(root, "hosts"), *o;

	*ret_n = 0;
	if (!root)
		return -1;
	if (strcmp(ejson_string(root, "schema"), SCHEMA_OF_SEVERAL) != 0)
		return refuse_plan(e, SIZE_MAX,
			"its `schema` is not " SCHEMA_OF_SEVERAL
			" (a plan for one engine goes without --all-hosts)");
	if (check_members(root, known, COUNT(known), SIZE_MAX, e))
		return -1;
	if (!cJSON_IsArray(hosts) || ejson_count(hosts) > max)
		return refuse_plan(e, SIZE_MAX, "`hosts` must be a list of at most 64");
	cJSON_ArrayForEach(o, hosts)
	{
		if (read_host_plan(o, ret, ret_n, mem, e))
			return -1;
	}
	return 0;
}
