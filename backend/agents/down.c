/* down.c - removes the containers of agents, and lists those that are known. */
#include "agents/down.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <berth/agents.h>
#include <berth/journal.h>
#include <berth/mem.h>

#include "agents/bind.h"
#include "egress/egress.h"
#include "journal/journal.h"
#include "lane/lane.h"
#include "run/rulebook.h"
#include "terminals/terminals.h"

int agent_hold(struct agents_host *h, const char *container, struct err *e)
{
	const struct timespec pause = {.tv_nsec = 20000000};
	bool told = false;

	for (;;) {
		struct err why = ERR_INIT;
		int fd = session_hold(container, &why);

		if (fd >= 0)
			return fd;
		if (why.kind != ERR_CONFLICT)
			return err_copy(e, &why);
		if (h->stop && h->stop(h->stop_ctx))
			return err_set(e, ERR_CANCELLED, "%s; cancelled while waiting.", why.msg);
		if (h->say && !told)
			h->say(h->say_ctx, container, "waiting for another berth process");
		told = true;
		nanosleep(&pause, NULL);
	}
}

static int do_take_down(void *ctx, struct audit_record *r, struct err *e)
{
	struct removal *rm = ctx;

	(void)r;
	if (host_remove(rm->h, rm->x->id, e))
		return -1;
	network_tidy(rm->h, rm->x->network);
	return 0;
}

static int take_agent_down(
	struct agents_host *h, const char *container, const struct existing *x, struct err *e)
{
	const struct audit_record r = {.operation = OP_AGENT_DOWN,
		.target_type = "container",
		.target = x->id,
		.name = container,
		.session = x->session};
	struct removal rm = {h, x};

	if (!x->ours)
		return err_set(e, ERR_CONFLICT,
			"the container %s was not created by berth here, so it is left alone.",
			container);
	return record_act(&h->at.recorder, &r, &x->of, do_take_down, &rm, e);
}

int agents_down(struct agents_host *h, const char *container, struct err *e)
{
	AUTO_CLOSE int held = agent_hold(h, container, e);
	AUTO_FREE char *home = xasprintf("berth-home-%s", container);
	struct existing x;
	AUTO_ARENA struct arena mem = ARENA_INIT(2048);
	int found;

	if (held < 0)
		return -1;
	found = host_look_whole(h, container, &x, &mem, e);
	if (found > 0 && take_agent_down(h, container, &x, e))
		found = -1;
	if (found < 0)
		return -1;
	if (session_here(container, h->at.info.id, found ? NULL : e))
		return found ? 0 : -1;
	lane_forget(container);
	egress_end_silent(container, NULL);
	egress_forget(container);
	terminals_forget(container);
	journal_forget(container);
	rulebook_forget(container);
	home_note_use(home);
	session_forget(container);
	if (agents_unbind(container, h->at.info.id, e))
		return -1;
	return found ? 0 : err_set(e, ERR_NOT_FOUND, "%s is not up.", container);
}

size_t agents_sessions(struct agent_session *out, size_t max)
{
	AUTO_FREE struct session *all = xcalloc(max, sizeof *all);
	size_t n = session_all(all, max);

	for (size_t i = 0; i < n; i++) {
		snprintf(out[i].container, sizeof out[i].container, "%s", all[i].name);
		snprintf(out[i].engine, sizeof out[i].engine, "%s", all[i].engine);
		snprintf(out[i].file, sizeof out[i].file, "%s", all[i].file);
	}
	return n;
}

int agents_runs(struct agents_host *h, const char *container, struct err *e)
{
	struct existing x;
	int found = host_look(h, container, &x, e);

	return found > 0 ? x.running && x.ours : found;
}

const char *agents_engine(const struct agents_host *h)
{
	return h->at.info.id;
}
