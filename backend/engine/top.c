/* top.c - lists the processes of a container, as the engine's ps prints them. */
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "engine/call.h"
#include "engine/parse.h"

#define MS_MAX 1e18 /* fits int64_t with room for one more step */

enum column { PID, USER, STATE, CPU, RSS, TIME, COMMAND, COLUMNS };

static const struct {
	const char *title;
	enum column column;
} titles[] = {
	{"PID", PID},
	{"HPID", PID},
	{"USER", USER},
	{"UID", USER},
	{"STAT", STATE},
	{"S", STATE},
	{"STATE", STATE},
	{"%CPU", CPU},
	{"RSS", RSS},
	{"TIME", TIME},
	{"COMMAND", COMMAND},
	{"CMD", COMMAND},
};

/* "00:01:02", "2-03:04:05", and Go's "1h2m3.5s" as podman prints it. */
static int64_t cpu_time_ms(const char *s)
{
	int64_t days = 0, part = 0;
	double ms = 0, v;
	char *end;

	if (!strchr(s, ':')) {
		for (; *s; s = end) {
			v = strtod(s, &end);
			if (end == s || v < 0 || v > 1e9)
				return 0;
			if (strncmp(end, "ms", 2) == 0)
				ms += v, end += 2;
			else if (*end == 'h' || *end == 'm' || *end == 's')
				ms += v * (*end == 'h' ? 3600e3 : *end == 'm' ? 60e3 : 1e3), end++;
			else
				return (int64_t)ms; /* µs and ns do not count */
			if (ms > MS_MAX)
				return 0;
		}
		return (int64_t)ms;
	}
	for (; *s; s++) {
		if (*s >= '0' && *s <= '9' && part < 100000000)
			part = part * 10 + (*s - '0');
		else if (*s == '-')
			days = part, part = 0;
		else if (*s == ':')
			ms = ms * 60 + (double)part, part = 0;
		if (ms > MS_MAX / 1e6)
			return 0;
	}
	return (int64_t)((ms * 60 + (double)part) * 1000) + days * 86400000;
}

static void one_process(
	const cJSON *row, const int at[COLUMNS], struct arena *a, struct process_info *p)
{
	const char *field[COLUMNS] = {"", "", "", "", "", "", ""};
	const cJSON *item;
	int i = 0;

	cJSON_ArrayForEach(item, row)
	{
		for (int k = 0; k < COLUMNS; k++)
			if (at[k] == i)
				field[k] = ejson_text(item);
		i++;
	}
	p->pid = atoi(field[PID]);
	p->user = arena_strdup(a, field[USER]);
	p->state = arena_strdup(a, field[STATE]);
	p->command = arena_strdup(a, field[COMMAND]);
	p->cpu_percent = *field[CPU] ? strtod(field[CPU], NULL) : -1;
	p->memory_bytes = strtoull(field[RSS], NULL, 10) * 1024;
	p->cpu_ms = cpu_time_ms(field[TIME]);
}

int parse_top(const cJSON *root, struct arena *a, struct process_info **ret_p, size_t *ret_n,
	struct err *e)
{
	const cJSON *rows = ejson_get(root, "Processes"), *item;
	int at[COLUMNS] = {-1, -1, -1, -1, -1, -1, -1}, i = 0;

	*ret_p = NULL;
	*ret_n = 0;
	cJSON_ArrayForEach(item, ejson_get(root, "Titles"))
	{
		for (size_t k = 0; k < COUNT(titles); k++)
			if (at[titles[k].column] < 0 &&
				strcmp(ejson_text(item), titles[k].title) == 0)
				at[titles[k].column] = i;
		i++;
	}
	if (at[PID] < 0)
		return err_set(e, ERR_PROTOCOL, "the list of processes has no PID column");
	if (!cJSON_IsArray(rows) || ejson_count(rows) == 0)
		return 0;
	*ret_p = arena_array(a, ejson_count(rows), sizeof **ret_p);
	cJSON_ArrayForEach(item, rows) one_process(item, at, a, &(*ret_p)[(*ret_n)++]);
	return 0;
}

struct top {
	struct engine_call call;
	engine_top_fn fn;
	void *ctx;
};

static void top_start(struct engine_call *c)
{
	call_send_to(c, "GET", c->en->product->top, HTTP_LANE_SHORT, 0);
}

/* A ps that does not know -eo (busybox on the engine's host): take what it prints by itself. */
static bool top_refused(struct engine_call *c, const struct http_reply *r)
{
	if (c->step++ > 0 || !c->en->product->top_fallback || r->status < 500)
		return false;
	call_send_to(c, "GET", c->en->product->top_fallback, HTTP_LANE_SHORT, 0);
	return true;
}

static void top_reply(struct engine_call *c, const struct http_reply *r)
{
	struct top *t = (struct top *)c;
	AUTO_JSON cJSON *root = call_json(c, r);
	struct process_info *p;
	struct err e = ERR_INIT;
	AUTO_ARENA struct arena mem = ARENA_INIT(4096);
	size_t n;

	if (!root)
		return;
	if (parse_top(root, &mem, &p, &n, &e))
		t->fn(t->ctx, NULL, 0, &e);
	else
		t->fn(t->ctx, p, n, NULL);
	call_free(c);
}

static void top_failed(struct engine_call *c, const struct err *err)
{
	struct top *t = (struct top *)c;

	t->fn(t->ctx, NULL, 0, err);
}

static const struct call_ops top_ops = {
	.what = "list the processes of %s",
	.start = top_start,
	.reply = top_reply,
	.refused = top_refused,
	.failed = top_failed,
};

struct engine_call *engine_top(struct engine *en, const char *id, engine_top_fn fn, void *ctx)
{
	struct top *t = call_new(en, &top_ops, sizeof *t, id);

	t->fn = fn;
	t->ctx = ctx;
	return &t->call;
}
