/*
 * events.c - reads the engine's event stream.
 *
 * Type, Action and Actor are there since API 1.22; the older status, id and from went with 1.52.
 * podman says died and remove where docker says die and destroy.
 */
#include <inttypes.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/str.h>

#include "engine/call.h"
#include "engine/parse.h"
#include "engine/split.h"

#define EVENT_MAX ((size_t)1 << 20)

static const struct {
	const char *theirs, *ours;
} renamed[] = {
	{"died", "die"}, {"remove", "destroy"}, {"cleanup", ""}, /* podman's own housekeeping */
};

static const char *describe_event(const char *action, const cJSON *attributes, struct arena *a)
{
	static const struct {
		const char *action, *attribute, *word;
	} told[] = {
		{"die", "exitCode", "exit"},
		{"die", "containerExitCode", "exit"}, /* podman */
		{"exec_die", "exitCode", "exit"},
		{"kill", "signal", "signal"},
		{"rename", "oldName", "was"},
		{"connect", "container", "container"},
		{"disconnect", "container", "container"},
	};

	for (size_t i = 0; i < COUNT(told); i++) {
		const cJSON *v = ejson_get(attributes, told[i].attribute);

		if (strcmp(told[i].action, action) == 0 && cJSON_IsString(v))
			return arena_printf(a, "%s %s", told[i].word, v->valuestring);
	}
	if (*ejson_string(attributes, "image"))
		return arena_printf(a, "image %s", ejson_string(attributes, "image"));
	return "";
}

static int64_t event_time(const cJSON *root)
{
	int64_t ns = ejson_i64(root, "timeNano", 0), s = ejson_i64(root, "time", 0);

	if (ns > 0)
		return ns;
	return s > 0 && s < INT64_MAX / 1000000000 ? s * 1000000000 : 0;
}

bool parse_event(const cJSON *root, struct arena *a, struct engine_event *ev)
{
	const cJSON *actor = ejson_get(root, "Actor"), *attributes = ejson_get(actor, "Attributes");
	const char *action = ejson_string(root, "Action"), *colon;

	if (!*action)
		action = ejson_string(root, "status");
	*ev = (struct engine_event){.wall_ns = event_time(root)};
	ev->type = ejson_keep(a, root, "Type");
	ev->id = ejson_keep(a, actor, "ID");
	if (!*ev->id)
		ev->id = ejson_keep(a, root, "id");
	ev->name = ejson_keep(a, attributes, "name");
	/* "exec_start: sh -c ls", "health_status: healthy": the word, then its object */
	colon = strchr(action, ':');
	if (colon) {
		ev->action = arena_strndup(a, action, (size_t)(colon - action));
		ev->more = arena_strdup(a, colon + 1 + (colon[1] == ' '));
	} else {
		ev->action = arena_strdup(a, action);
		for (size_t i = 0; i < COUNT(renamed); i++)
			if (strcmp(renamed[i].theirs, action) == 0 &&
				strcmp(ev->type, "container") == 0)
				ev->action = renamed[i].ours;
		ev->more = describe_event(ev->action, attributes, a);
	}
	return *ev->action && *ev->type;
}

struct events {
	struct engine_call call;
	int64_t since, until; /* 0: open */
	void (*opened)(void *ctx);
	engine_event_fn fn;
	engine_done_fn end;
	void *ctx;
	struct objects objects;
	struct arena mem;
};

static void events_start(struct engine_call *c)
{
	struct events *s = (struct events *)c;
	AUTO_STR struct str target = STR_INIT;

	str_adds(&target, "/events");
	if (s->since > 0)
		str_addf(&target, "?since=%" PRId64 ".%09" PRId64, s->since / 1000000000,
			s->since % 1000000000);
	if (s->until > 0)
		str_addf(&target, "%cuntil=%" PRId64 ".%09" PRId64, s->since > 0 ? '&' : '?',
			s->until / 1000000000, s->until % 1000000000);
	call_send(c, "GET", target.s, NULL, HTTP_LANE_STREAM, 0);
}

static void events_head(struct engine_call *c)
{
	struct events *s = (struct events *)c;

	if (s->opened)
		s->opened(s->ctx);
}

static void one_event(void *ctx, const char *json, size_t n)
{
	struct events *s = ctx;
	AUTO_JSON cJSON *root = NULL;
	struct engine_event ev;

	if (s->call.cancelled || !json) /* one that long is no news: the next list will tell */
		return;
	root = ejson_parse(json, n, NULL);
	arena_reset(&s->mem);
	if (root && parse_event(root, &s->mem, &ev))
		s->fn(s->ctx, &ev);
}

static void events_data(struct engine_call *c, const char *bytes, size_t n)
{
	struct events *s = (struct events *)c;

	if (objects_feed(&s->objects, bytes, n, one_event, s, &c->err))
		http_cancel(c->http);
}

static void events_eof(struct engine_call *c)
{
	struct events *s = (struct events *)c;

	s->end(s->ctx, NULL);
	call_free(c);
}

static void events_failed(struct engine_call *c, const struct err *err)
{
	struct events *s = (struct events *)c;

	s->end(s->ctx, err);
}

static void events_release(struct engine_call *c)
{
	struct events *s = (struct events *)c;

	objects_release(&s->objects);
	arena_release(&s->mem);
}

static const struct call_ops events_ops = {
	.what = "follow the engine's events",
	.start = events_start,
	.head = events_head,
	.data = events_data,
	.eof = events_eof,
	.failed = events_failed,
	.release = events_release,
};

struct engine_call *engine_events(struct engine *en, int64_t since_wall_ns, int64_t until_wall_ns,
	void (*opened)(void *ctx), engine_event_fn fn, engine_done_fn end, void *ctx)
{
	struct events *s = call_new(en, &events_ops, sizeof *s, NULL);

	s->since = since_wall_ns;
	s->until = until_wall_ns;
	s->opened = opened;
	s->fn = fn;
	s->end = end;
	s->ctx = ctx;
	objects_init(&s->objects, EVENT_MAX);
	arena_init(&s->mem, 4096);
	return &s->call;
}
