/* feed.c - what the backend sends: events, handed to every view, and snapshots, to the one on screen. */
#include "app/app_state.h"

#include <berth/clock.h>
#include <berth/message.h>

/* Events taken at one go before the terminal is looked at again. */
#define DRAIN_NS 6000000

static void show_snapshot(struct app *a, const struct snapshot *s)
{
	if (s == a->shown)
		return;
	snapshot_unref(a->shown);
	a->shown = snapshot_ref(s);
	stack_snapshot(a);
	stack_pulse(a);
	if (s->orphans > a->orphans && !a->said[0])
		app_tell_orphans(a, s->orphans);
	a->orphans = s->orphans;
	a->dirty = true;
}

static void take_event(struct app *a, const struct event *e)
{
	switch (e->kind) {
	case EV_RESULT: acts_result(a, e); break;
	case EV_NOTICE: app_say(a, ROLE_TEXT, "%s", e->notice ? e->notice : ""); break;
	case EV_SHELL_READY:
	case EV_SHELL_OUTPUT:
	case EV_SHELL_END: shell_event(a, e); return;
	default: break;
	}
	for (size_t i = 0; i < a->ntabs; i++)
		if (a->tab[i].view.ops->event)
			a->tab[i].view.ops->event(&a->tab[i].view, e);
	for (size_t i = 0; i < a->npushed; i++)
		if (a->pushed[i].view.ops->event)
			a->pushed[i].view.ops->event(&a->pushed[i].view, e);
	if (!a->frozen)
		a->dirty = true;
}

void app_drain(struct app *a)
{
	int64_t until = clock_mono_ns() + DRAIN_NS;
	const struct snapshot *s;
	struct event *e;

	/* A frozen clock (scripts) never reaches the limit, as it should. */
	while (clock_mono_ns() <= until && (e = backend_next(a->o->backend))) {
		take_event(a, e);
		event_free(e);
	}
	s = backend_snapshot(a->o->backend);
	snapshot_unref(a->live);
	a->live = s;
	if (!a->frozen)
		show_snapshot(a, s);
}
