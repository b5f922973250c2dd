/* view_work.c - runs blocking work of views (view_work.h) on worker threads. */
#include "console/core.h"

#include <stdlib.h>

#include <berth/mem.h>
#include <berth/message.h>

struct away {
	struct blocking_task work;
	struct backend *b;
	uint64_t id;
	struct view_work *thing;
};

static void do_view_work(struct blocking_task *x)
{
	struct away *l = x->data;

	l->thing->work(l->thing);
}

static void on_view_work_done(struct blocking_task *x)
{
	struct away *l = x->data;
	struct event *ev = event_new(EV_WORKED);

	ev->id = l->id;
	event_work(ev, l->thing);
	if (l->b->stopping)
		event_free(ev);
	else
		backend_up(l->b, ev);
	free(l);
}

void view_work_command(struct backend *b, const struct command *c)
{
	struct away *l = xcalloc(1, sizeof *l);

	l->work.data = l;
	l->b = b;
	l->id = c->id;
	l->thing = view_work_take(c->work);
	if (!blocking_start(&b->loop, &l->work, do_view_work, on_view_work_done))
		return;
	backend_notice(b, "Cannot start a thread to read files (see ulimit -u).");
	on_view_work_done(&l->work);
}
