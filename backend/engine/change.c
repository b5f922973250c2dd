/* change.c - starts, stops, restarts, pauses, unpauses, kills and removes containers. */
#include <limits.h>
#include <stdio.h>

#include <berth/mem.h>

#include "engine/call.h"

static const struct {
	const char *what, *method, *path;
	int ms;         /* how long the engine may take, without the grace */
	bool grace;     /* takes ?t= */
	int grace_else; /* seconds of grace to reckon with where none is given */
} acts[ACT_COUNT] = {
	[ACT_START] = {"start %s", "POST", "/start", 60000, false, 0},
	[ACT_STOP] = {"stop %s", "POST", "/stop", 30000, true, 90},
	[ACT_RESTART] = {"restart %s", "POST", "/restart", 60000, true, 90},
	[ACT_PAUSE] = {"pause %s", "POST", "/pause", 30000, false, 0},
	[ACT_UNPAUSE] = {"unpause %s", "POST", "/unpause", 30000, false, 0},
	[ACT_KILL] = {"kill %s", "POST", "/kill", 30000, false, 0},
	[ACT_REMOVE] = {"remove %s", "DELETE", "", 120000, false, 0},
};

struct act_call {
	struct engine_call call;
	struct call_ops ops; /* with the words for this act */
	enum act act;
	bool force, volumes;
	int number, own_grace;
	engine_done_fn fn;
	void *ctx;
};

static bool is_killed_first(const struct engine_call *c)
{
	const struct act_call *a = (const struct act_call *)c;

	return a->act == ACT_REMOVE && a->force && c->en->product->remove_stops && c->step == 0;
}

static void act_start(struct engine_call *c)
{
	struct act_call *a = (struct act_call *)c;
	AUTO_STR struct str after = STR_INIT;
	char number[16];
	int grace = 0;

	if (is_killed_first(c)) {
		call_send_to(c, "POST", "/kill?signal=SIGKILL", HTTP_LANE_SLOW, acts[ACT_KILL].ms);
		return;
	}
	snprintf(number, sizeof number, "%d", a->number);
	str_adds(&after, acts[a->act].path);
	if (acts[a->act].grace) {
		grace = a->number >= 0 ? a->number : a->own_grace;
		if (a->number >= 0)
			str_addf(&after, "?t=%d", a->number);
	}
	if (a->act == ACT_KILL)
		str_addf(&after, "?signal=%s%s", a->number > 0 ? "" : "SIG",
			a->number > 0 ? number : "KILL");
	if (a->act == ACT_REMOVE)
		str_addf(&after, "?force=%d&v=%d", a->force, a->volumes);
	if (grace > 3600)
		grace = 3600;
	call_send_to(
		c, acts[a->act].method, after.s, HTTP_LANE_SLOW, acts[a->act].ms + grace * 1000);
}

static void act_reply(struct engine_call *c, const struct http_reply *r)
{
	struct act_call *a = (struct act_call *)c;

	(void)r; /* 204, or 304: it is so already */
	if (is_killed_first(c)) {
		c->step++;
		act_start(c);
		return;
	}
	a->fn(a->ctx, NULL);
	call_free(c);
}

/* One that did not run could not be killed, and that it is not there is said of the removal. */
static bool act_refused(struct engine_call *c, const struct http_reply *r)
{
	(void)r;
	if (!is_killed_first(c))
		return false;
	c->step++;
	act_start(c);
	return true;
}

static void act_failed(struct engine_call *c, const struct err *err)
{
	struct act_call *a = (struct act_call *)c;

	a->fn(a->ctx, err);
}

struct engine_call *engine_act(struct engine *en, enum act act, const char *id, bool force,
	bool volumes, int number, engine_done_fn fn, void *ctx)
{
	static const struct call_ops ops = {.start = act_start,
		.reply = act_reply,
		.refused = act_refused,
		.failed = act_failed};
	struct act_call *a = call_new(en, &ops, sizeof *a, id);

	a->ops = ops;
	a->ops.what = acts[act].what;
	a->call.ops = &a->ops;
	a->act = act;
	a->force = force;
	a->volumes = volumes;
	a->number = number;
	a->own_grace = acts[act].grace_else;
	a->fn = fn;
	a->ctx = ctx;
	return &a->call;
}

void engine_act_grace(struct engine_call *c, int seconds)
{
	((struct act_call *)c)->own_grace = seconds >= 0 ? seconds : INT_MAX;
}
