/* feed.c - passes events from the backend to every view, and snapshots to the one on screen. */
#include "app/app_state.h"

#include <berth/clock.h>
#include <berth/message.h>
#include <berth/settings.h>

/* Events taken at one go before the terminal is looked at again. */
#define DRAIN_NS 6000000

void app_show_live(struct app *a)
{
	const struct snapshot *s = a->live;

	if (s == a->shown)
		return;
	snapshot_unref(a->shown);
	a->shown = snapshot_ref(s);
	stack_snapshot(a);
	stack_pulse(a);
	if (s->orphans > a->orphans && !a->said[0])
		app_tell_orphans(a, s->orphans);
	a->orphans = s->orphans;
	app_tell_asks(a, s);
	a->dirty = true;
}

/* A script has no terminal that could ring. */
static void take_alert(struct app *a, const struct event *e)
{
	app_say(a, ROLE_WARN, "%s", e->notice ? e->notice : "");
	if (!a->screen)
		return;
	a->ring |= e->alert_bell;
	if (e->alert_notify)
		screen_notify(a->screen, e->notice, e->alert_notify == ALERT_OSC_777);
}

static void take_event(struct app *a, const struct event *e)
{
	switch (e->kind) {
	case EV_RESULT: acts_result(a, e); break;
	case EV_NOTICE: app_say(a, ROLE_TEXT, "%s", e->notice ? e->notice : ""); break;
	case EV_ALERT: take_alert(a, e); break;
	case EV_WORKED: delete_event(a, e); break;
	case EV_PATHS: complete_event(a, e); return;
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

void app_take_event(struct app *a, struct event *ev)
{
	take_event(a, ev);
	event_free(ev);
}

void app_take_snapshot(struct app *a, const struct snapshot *s)
{
	bool other = s != a->live;

	snapshot_unref(a->live);
	a->live = s;
	if (other && !a->frozen)
		app_show_live(a);
}

void app_drain(struct app *a)
{
	int64_t until = clock_mono_ns() + DRAIN_NS;
	struct event *e;

	/* A frozen clock (scripts) never reaches the limit, as it should. */
	while (clock_mono_ns() <= until && (e = backend_next(a->o->backend)))
		app_take_event(a, e);
	app_take_snapshot(a, backend_snapshot(a->o->backend));
	/* Once for all that came together. */
	if (a->ring)
		screen_bell(a->screen);
	a->ring = false;
}
