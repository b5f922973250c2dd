/*
 * roster_acts.c - brings agents up, takes them down and recreates them, several at a time, off the loop.
 *
 * One act may take as long as an engine takes, so each command has up to five threads.  They share
 * nothing with the loop but a mailbox: each agent's result is a message, and the last one ends the job.
 */
#include "console/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <berth/agents.h>
#include <berth/check.h>
#include <berth/mem.h>
#include <berth/message.h>

#define AT_ONCE 5

/* One agent of one command. */
struct turn {
	struct mail mail; /* first: comes back as a letter */
	struct deal *deal;
	char *name, *file, *base; /* container, its team file */
	char id[64];
	bool begun; /* the letter says that it began */
	struct err err;
};

/* One command.  What the threads use is const but for `next` and `stop`. */
struct deal {
	struct deal *next;
	struct roster *r;
	uint64_t id; /* of the command */
	enum agent_act act;
	const char *host, *context; /* the roster's */
	struct policy policy;
	struct arena mem;
	size_t n;
	struct turn *turn, *start; /* start: the letters that say so */
	atomic_size_t taken;
	atomic_bool stop;
	int stop_fd; /* AGENT_RUN: readable when it is to end; -1 */
	size_t argc; /* AGENT_RUN */
	const char **argv;
	atomic_uint refs; /* each thread's, and the loop's while letters may come */
	/* the loop's */
	size_t done, failed, given_up;
	struct err error;
	struct job *job;
};

static void set_told(
	struct roster *r, const char *name, enum agent_act pending, const char *problem)
{
	struct told *t = roster_told(r, name, true);

	if (!t)
		return;
	t->pending = pending;
	free(t->problem);
	t->problem = problem ? xstrdup(problem) : NULL;
}

/* Acting: on the threads. */

static int find_def(
	const struct turn *t, struct team *team, const struct agent_def **def, struct err *e)
{
	if (!t->file[0])
		return err_set(e, ERR_NOT_FOUND,
			"%s cannot be brought up from here: no team file is known to define it.",
			t->name);
	if (team_read(t->file, t->base[0] ? t->base : "/", team, e))
		return -1;
	for (size_t i = 0; i < team->nagents; i++)
		if (!strcmp(team->agents[i].container, t->name)) {
			*def = &team->agents[i];
			return 0;
		}
	err_set(e, ERR_NOT_FOUND, "%s no longer defines %s.", t->file, t->name);
	team_release(team);
	return -1;
}

static int bring_up_turn(struct agents_host *h, const struct turn *t, struct err *e)
{
	const struct agent_def *def;
	struct agent_up up;
	struct team team;
	int result;

	if (find_def(t, &team, &def, e))
		return -1;
	result = agents_up(h, &team, def, &up, e);
	team_release(&team);
	return result;
}

static int take_down_turn(struct agents_host *h, const struct turn *t, struct err *e)
{
	struct err why = ERR_INIT;

	/* What is not up is down. */
	if (agents_down(h, t->name, &why) && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	return 0;
}

/* A definition that cannot be read must not cost the agent that runs. */
static int recreate_turn(struct agents_host *h, const struct turn *t, struct err *e)
{
	const struct agent_def *def;
	struct agent_up up;
	struct team team;
	int result;

	if (find_def(t, &team, &def, e))
		return -1;
	result = take_down_turn(h, t, e) || agents_up(h, &team, def, &up, e);
	team_release(&team);
	return result ? -1 : 0;
}

/* What it prints is kept by its journal. */
static int run_in_agent(struct agents_host *h, const struct turn *t, struct err *e)
{
	const struct run_request r = {.agent = t->name,
		.argv = t->deal->argv,
		.argc = t->deal->argc,
		.program = "console",
		.in = -1,
		.out = -1,
		.error = -1,
		.cancel_fd = t->deal->stop_fd,
		.resize_fd = -1};
	struct run_result ret;

	if (agents_run_hosted(h, &r, &ret, e))
		return -1;
	if (ret.ended == ENDED_CANCELLED)
		return err_set(e, ERR_CANCELLED, "The command in %s was killed.", t->id);
	if (ret.ended == ENDED_EXIT && !ret.exit_code)
		return 0;
	return err_set(e, ERR_FAILED, "The command in %s ended with %s %d; `o` shows its output.",
		t->id, run_ended_name(ret.ended), ret.exit_code);
}

static int carry_out_turn(
	enum agent_act act, struct agents_host *h, const struct turn *t, struct err *e)
{
	switch (act) {
	case AGENT_BRING_UP: return bring_up_turn(h, t, e);
	case AGENT_TAKE_DOWN: return take_down_turn(h, t, e);
	case AGENT_RUN: return run_in_agent(h, t, e);
	default: return recreate_turn(h, t, e);
	}
}

static void deal_unref(struct deal *d)
{
	if (atomic_fetch_sub(&d->refs, 1) != 1)
		return;
	arena_release(&d->mem);
	cleanup_close(&d->stop_fd);
	free(d);
}

static bool is_deal_stopped(void *ctx)
{
	struct deal *d = ctx;

	return atomic_load(&d->stop);
}

/* Why it takes so long: it waits in line, or prepares an image. */
static void show_on_job(void *ctx, const char *agent, const char *line)
{
	struct deal *d = ctx;
	char text[JOB_TEXT_MAX];

	snprintf(text, sizeof text, "%s: %s", agent, line);
	job_current(d->job, text);
}

static void *run_deal(void *arg)
{
	struct deal *d = arg;
	struct roster *r = d->r;
	const struct agents_options o = {.host = d->host,
		.context = d->context,
		.program = "console",
		.policy = &d->policy,
		.defaults = r->defaults,
		.stop = is_deal_stopped,
		.stop_ctx = d,
		.say = show_on_job,
		.say_ctx = d};
	struct agents_host *h = NULL;
	size_t i;

	while ((i = atomic_fetch_add(&d->taken, 1)) < d->n) {
		struct turn *t = &d->turn[i];

		if (atomic_load(&d->stop)) {
			err_set(&t->err, ERR_CANCELLED, "%s was left unchanged: cancelled.",
				t->name);
		} else {
			mailbox_put(&r->letters, &d->start[i].mail);
			if (!h)
				h = agents_open(&o, &t->err);
			if (h)
				carry_out_turn(d->act, h, t, &t->err);
		}
		mailbox_put(&r->letters, &t->mail);
	}
	agents_close(h);
	deal_unref(d);
	roster_leave(r);
	return NULL;
}

/* Acting: on the loop. */

static void name_job(const struct deal *d, char name[JOB_TEXT_MAX])
{
	if (d->n == 1)
		snprintf(name, JOB_TEXT_MAX, "%s %.90s", agent_act_name(d->act), d->turn[0].id);
	else
		snprintf(name, JOB_TEXT_MAX, "%s %zu agents", agent_act_name(d->act), d->n);
}

static void take_turns(struct deal *d, const struct command *c)
{
	d->turn = arena_array(&d->mem, c->ntargets, sizeof *d->turn);
	d->start = arena_array(&d->mem, c->ntargets, sizeof *d->start);
	for (size_t i = 0; i < c->ntargets; i++) {
		const char *name = c->targets[i].name;
		const struct agent *a = roster_shown(d->r, name);
		const struct told *told = roster_told(d->r, name, false);
		struct turn *t = &d->turn[d->n];

		if (!a || (told && told->pending && d->act != AGENT_RUN))
			continue;
		*t = (struct turn){.deal = d,
			.name = arena_strdup(&d->mem, name),
			.file = arena_strdup(&d->mem, a->file),
			.base = arena_strdup(&d->mem, a->base)};
		snprintf(t->id, sizeof t->id, "%s", a->id);
		d->start[d->n] = (struct turn){.deal = d, .name = t->name, .begun = true};
		d->n++;
		if (d->act != AGENT_RUN)
			set_told(d->r, name, d->act, NULL);
	}
}

static void start_threads(struct deal *d)
{
	size_t n = d->n < AT_ONCE ? d->n : AT_ONCE, started = 0;
	struct roster *r = d->r;
	pthread_t thread;

	atomic_store(&d->refs, (unsigned)n + 1);
	pthread_mutex_lock(&r->lock);
	r->users += n;
	pthread_mutex_unlock(&r->lock);
	while (started < n && !pthread_create(&thread, NULL, run_deal, d)) {
		pthread_detach(thread);
		started++;
	}
	/* What is done is done by whoever did start; nobody: then all of it has failed. */
	for (size_t i = 0; !started && i < d->n; i++) {
		err_sys(&d->turn[i].err, EAGAIN, "%s: cannot start a thread", d->turn[i].name);
		mailbox_put(&r->letters, &d->turn[i].mail);
	}
	for (size_t i = started; i < n; i++)
		roster_leave(r);
	/* the share of those that did not start; ours is still in it */
	atomic_fetch_sub(&d->refs, (unsigned)(n - started));
}

void roster_command(struct backend *b, const struct command *c)
{
	struct roster *r = b->roster;
	struct deal *d = xcalloc(1, sizeof *d);
	struct err e = ERR_INIT;
	char name[JOB_TEXT_MAX];

	d->r = r;
	d->id = c->id;
	d->act = c->agents.what;
	d->host = r->host;
	d->context = r->context;
	d->stop_fd = -1;
	arena_init(&d->mem, 2048);
	policy_copy(&d->policy, &b->recording.policy, &d->mem);
	take_turns(d, c);
	if (!d->n) {
		err_set(&e, ERR_CONFLICT, "berth is already doing that: nothing was started.");
		backend_result(b, c->id, &e);
		arena_release(&d->mem);
		free(d);
		return;
	}
	if (d->act == AGENT_RUN) {
		d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		d->argc = c->agents.argc;
		d->argv = arena_array(&d->mem, d->argc + 1, sizeof *d->argv);
		for (size_t i = 0; i < d->argc; i++)
			d->argv[i] = arena_strdup(&d->mem, c->agents.argv[i]);
	}
	name_job(d, name);
	d->job = job_new(backend_board(b), name, b->user, "agents", true);
	job_total(d->job, d->n, 0);
	d->next = r->deals;
	r->deals = d;
	start_threads(d);
	publish_soon(b);
}

static void finish_deal(struct backend *b, struct deal *d)
{
	struct deal **p = &b->roster->deals;
	struct event *ev = event_new(EV_RESULT);
	struct err sum = ERR_INIT;

	if (d->failed && d->n > 1 && d->act == AGENT_RUN)
		err_set(&sum, d->error.kind, "The command failed in %zu of %zu agents. %s",
			d->failed, d->n, d->error.msg);
	else if (d->failed && d->n > 1)
		err_set(&sum, d->error.kind, "%s: %zu of %zu agents failed; %s",
			agent_act_name(d->act), d->failed, d->n, d->error.msg);
	else if (d->failed)
		sum = d->error;
	else if (d->given_up)
		err_set(&sum, ERR_CANCELLED, "%s was cancelled after %zu of %zu agents.",
			agent_act_name(d->act), d->done, d->n);
	job_end(d->job, d->failed ? JOB_FAILED : d->given_up ? JOB_CANCELLED : JOB_DONE, sum.msg);
	while (*p != d)
		p = &(*p)->next;
	*p = d->next;
	ev->id = d->id;
	ev->agent_act = d->act;
	ev->done = d->done;
	ev->failed = d->failed;
	ev->err = sum;
	ev->target = (struct target){"", "", arena_strdup(&ev->mem, d->turn[0].id)};
	deal_unref(d);
	publish_now(b);
	backend_up(b, ev);
}

static void take_letter(struct backend *b, struct turn *t)
{
	struct deal *d = t->deal;

	if (t->begun) {
		job_current(d->job, t->name);
		return;
	}
	if (!t->err.kind) {
		d->done++;
	} else if (t->err.kind == ERR_CANCELLED) {
		d->given_up++;
	} else {
		if (!d->failed++)
			d->error = t->err;
	}
	/* How a command ended stands in the journal, not as a problem of the agent's. */
	if (d->act != AGENT_RUN)
		set_told(b->roster, t->name, AGENT_LEAVE,
			t->err.kind && t->err.kind != ERR_CANCELLED ? t->err.msg : NULL);
	job_add(d->job, 1, 0, 0);
	if (t->err.kind && t->err.kind != ERR_CANCELLED)
		job_fail(d->job, t->err.msg);
	b->roster->again = true;
	watch_refresh(b->home);
	if (d->done + d->failed + d->given_up == d->n)
		finish_deal(b, d);
}

void roster_drain(struct backend *b)
{
	struct turn *t;

	while (b->roster && (t = (struct turn *)mailbox_take(&b->roster->letters)))
		if (!b->stopping)
			take_letter(b, t);
	if (b->roster && !b->stopping)
		roster_pulse(b);
}

bool roster_busy(const struct backend *b)
{
	return b->roster && b->roster->deals;
}

void roster_stop_acts(struct roster *r, bool all)
{
	for (struct deal *d = r->deals; d; d = d->next)
		if ((all || job_cancelled(d->job)) && !atomic_exchange(&d->stop, true) &&
			d->stop_fd >= 0)
			eventfd_write(d->stop_fd, 1);
}
