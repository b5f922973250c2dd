/* list.c - lists all containers, and counts images, networks and volumes. */
#include <string.h>

#include <berth/container_id.h>
#include <berth/mem.h>

#include "engine/call.h"
#include "engine/parse.h"

static const struct {
	const char *word;
	enum container_state state;
} states[] = {
	{"created", CONTAINER_CREATED},
	{"running", CONTAINER_RUNNING},
	{"paused", CONTAINER_PAUSED},
	{"restarting", CONTAINER_RESTARTING},
	{"removing", CONTAINER_REMOVING},
	{"exited", CONTAINER_EXITED},
	{"dead", CONTAINER_DEAD},
	/* podman's own */
	{"configured", CONTAINER_CREATED},
	{"initialized", CONTAINER_CREATED},
	{"stopping", CONTAINER_RUNNING},
	{"stopped", CONTAINER_EXITED},
};

enum container_state parse_state(const char *word)
{
	for (size_t i = 0; i < COUNT(states); i++)
		if (strcmp(states[i].word, word) == 0)
			return states[i].state;
	return CONTAINER_UNKNOWN;
}

const char *parse_name(const cJSON *row, struct arena *a)
{
	const char *name = ejson_text(cJSON_GetArrayItem(ejson_get(row, "Names"), 0));

	/* "/name", and "/other/alias" for links of old: the one without a second slash is it */
	const cJSON *item;
	cJSON_ArrayForEach(item, ejson_get(row, "Names"))
	{
		const char *s = ejson_text(item);

		if (*s == '/' && !strchr(s + 1, '/')) {
			name = s;
			break;
		}
	}
	return arena_strdup(a, name + (*name == '/'));
}

static void one_row(const cJSON *row, struct arena *a, struct engine_summary *s)
{
	int64_t created = ejson_i64(row, "Created", 0);

	s->id = ejson_keep(a, row, "Id");
	s->name = parse_name(row, a);
	s->image = ejson_keep(a, row, "Image");
	s->image_id = ejson_keep(a, row, "ImageID");
	s->command = ejson_keep(a, row, "Command");
	s->status = ejson_keep(a, row, "Status");
	s->state = parse_state(ejson_string(row, "State"));
	s->created_wall_ms = created > 0 && created < INT64_MAX / 1000 ? created * 1000 : 0;
	s->labels = ejson_pairs(a, ejson_get(row, "Labels"), &s->nlabels);
}

int parse_list(const cJSON *root, struct arena *a, struct engine_summary **ret_rows, size_t *ret_n,
	struct err *e)
{
	const cJSON *row;
	size_t n = 0;

	*ret_rows = NULL;
	*ret_n = 0;
	if (cJSON_IsNull(root))
		return 0;
	if (!cJSON_IsArray(root))
		return err_set(e, ERR_PROTOCOL, "the list of containers is not an array");
	*ret_rows = arena_array(a, ejson_count(root), sizeof **ret_rows);
	cJSON_ArrayForEach(row, root)
	{
		if (id_is_whole(ejson_string(row, "Id")))
			one_row(row, a, &(*ret_rows)[n++]);
	}
	*ret_n = n;
	return 0;
}

struct list {
	struct engine_call call;
	engine_list_fn fn;
	void *ctx;
};

static void list_start(struct engine_call *c)
{
	call_send(c, "GET", "/containers/json?all=1", NULL, HTTP_LANE_SHORT, 0);
}

static void list_reply(struct engine_call *c, const struct http_reply *r)
{
	struct list *l = (struct list *)c;
	AUTO_JSON cJSON *root = call_json(c, r);
	struct engine_summary *rows;
	struct err e = ERR_INIT;
	AUTO_ARENA struct arena mem = ARENA_INIT(r->len / 2 + 1024);
	size_t n;

	if (!root)
		return;
	if (parse_list(root, &mem, &rows, &n, &e))
		l->fn(l->ctx, NULL, 0, &e);
	else
		l->fn(l->ctx, rows, n, NULL);
	call_free(c);
}

static void list_failed(struct engine_call *c, const struct err *err)
{
	struct list *l = (struct list *)c;

	l->fn(l->ctx, NULL, 0, err);
}

static const struct call_ops list_ops = {
	.what = "list the containers",
	.start = list_start,
	.reply = list_reply,
	.failed = list_failed,
};

struct engine_call *engine_list(struct engine *en, engine_list_fn fn, void *ctx)
{
	struct list *l = call_new(en, &list_ops, sizeof *l, NULL);

	l->fn = fn;
	l->ctx = ctx;
	return &l->call;
}

/* Counts: three lists, one after the other. */

struct counts {
	struct engine_call call;
	engine_counts_fn fn;
	void *ctx;
	int n[3];
};

static const char *const countable[3] = {"/images/json", "/networks", "/volumes"};

static void counts_start(struct engine_call *c)
{
	call_send(c, "GET", countable[c->step], NULL, HTTP_LANE_SHORT, 0);
}

static void counts_reply(struct engine_call *c, const struct http_reply *r)
{
	struct counts *k = (struct counts *)c;
	AUTO_JSON cJSON *root = call_json(c, r);
	const cJSON *array = cJSON_IsObject(root) ? ejson_get(root, "Volumes") : root;

	if (!root)
		return;
	k->n[c->step] = (int)ejson_count(array);
	if (++c->step < 3) {
		counts_start(c);
		return;
	}
	k->fn(k->ctx, k->n[0], k->n[1], k->n[2], NULL);
	call_free(c);
}

static void counts_failed(struct engine_call *c, const struct err *err)
{
	struct counts *k = (struct counts *)c;

	k->fn(k->ctx, -1, -1, -1, err);
}

static const struct call_ops counts_ops = {
	.what = "count images, networks and volumes",
	.start = counts_start,
	.reply = counts_reply,
	.failed = counts_failed,
};

struct engine_call *engine_counts(struct engine *en, engine_counts_fn fn, void *ctx)
{
	struct counts *k = call_new(en, &counts_ops, sizeof *k, NULL);

	k->fn = fn;
	k->ctx = ctx;
	return &k->call;
}
