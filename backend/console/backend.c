/*
 * backend.c - runs the backend thread: starts it, handles commands, wakes the console, stops in order.
 *
 * Start: the endpoint is chosen and everything is set up by the caller's thread, so that what
 * cannot work is said at once; then the thread runs the loop until asked to quit. Stop: running
 * acts get a moment to tell how they ended; then the engine is closed, which ends every call with
 * ERR_CANCELLED; when its last handle is gone the timers are closed and the loop ends.
 */
#include "console/core.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/spawn.h>
#include <berth/trace.h>
#include <berth/users.h>

#define PULSE_MS 250
#define STOP_ACTS_MS 800 /* for acts to tell how they ended */
#define STOP_MS 2000

/* ---- commands */

static void do_refresh(struct backend *b, const struct command *c)
{
	for (size_t i = 0; i < b->nsites; i++) {
		watch_hurry(&b->site[i]);
		watch_refresh(&b->site[i]);
	}
	backend_result(b, c->id, NULL);
}

static void do_rate(struct backend *b, const struct command *c)
{
	stats_rate(b, c->hz);
	backend_result(b, c->id, NULL);
}

/* The end of read-only, until it is on disk that it was asked for. */
struct unlock {
	struct backend *b;
	uint64_t id;
	struct gate_ticket *ticket;
};

static struct audit_record describe_read_only(bool on, struct key_value *to)
{
	*to = (struct key_value){"read_only", on ? "on" : "off", false};
	return (struct audit_record){.operation = OP_POLICY_CHANGE,
		.target_type = "policy",
		.name = on ? "read-only on" : "read-only off",
		.nparams = 1,
		.params = to};
}

static void on_unlock(void *ctx, const struct err *err)
{
	struct unlock *u = ctx;
	struct backend *b = u->b;
	struct err why = err ? *err : (struct err)ERR_INIT;

	if (!err && (b->recording.unlock != u || b->stopping))
		err_set(&why, ERR_CANCELLED, "Read-only stays on: it was requested again.");
	if (b->recording.unlock == u)
		b->recording.unlock = NULL;
	if (!why.kind)
		b->home->state.read_only = b->recording.policy.read_only = false;
	gate_end(u->ticket, &why);
	if (!b->stopping) {
		publish_now(b);
		if (!why.kind)
			backend_notice(b, "Read-only is off.");
	}
	backend_result(b, u->id, why.kind ? &why : NULL);
	free(u);
}

/* On holds at once, recorded or not; off, like all that loosens, only when it can be recorded. */
static void do_read_only(struct backend *b, const struct command *c)
{
	struct key_value to;
	const struct audit_record r = describe_read_only(c->read_only, &to);
	struct err e = ERR_INIT;
	struct unlock *u;

	b->recording.unlock = NULL;
	if (c->read_only) {
		b->home->state.read_only = b->recording.policy.read_only = true;
		gate_note(gate_of(b->home), &r, NULL);
		publish_now(b);
		backend_result(b, c->id, NULL);
		return;
	}
	u = xcalloc(1, sizeof *u);
	*u = (struct unlock){.b = b, .id = c->id};
	u->ticket = gate_begin(gate_of(b->home), &r, NULL, on_unlock, u, &e);
	if (u->ticket) {
		b->recording.unlock = u;
		return;
	}
	backend_result(b, c->id, &e);
	free(u);
}

static void do_logs_close(struct backend *b, const struct command *c)
{
	logs_close(b, c->ref);
}

static void (*const commands[])(struct backend *b, const struct command *c) = {
	[CMD_ACT] = act_command,
	[CMD_CLEAN_PLAN] = cleaning_command,
	[CMD_CLEAN_RUN] = cleaning_command,
	[CMD_AGENTS] = roster_command,
	[CMD_JOURNAL] = chores_journal,
	[CMD_REFRESH] = do_refresh,
	[CMD_FOCUS] = detail_focus,
	[CMD_VISIBLE] = stats_visible,
	[CMD_RATE] = do_rate,
	[CMD_READ_ONLY] = do_read_only,
	[CMD_INSPECT] = chores_inspect,
	[CMD_LOGS_OPEN] = logs_subscribe,
	[CMD_LOGS_CLOSE] = do_logs_close,
	[CMD_SHELL_OPEN] = shell_open,
	[CMD_SHELL_INPUT] = shell_command,
	[CMD_SHELL_RESIZE] = shell_command,
	[CMD_SHELL_CLOSE] = shell_command,
	[CMD_JOB_CANCEL] = chores_cancel_job,
	[CMD_JOB_DISMISS] = chores_dismiss_job,
	[CMD_JOB_ALLOW] = chores_allow_job,
	[CMD_IMAGE_IMPORT] = chores_import,
	[CMD_CALLS] = chores_calls,
	[CMD_NET] = asking_rules,
	[CMD_WORKSPACES] = workspaces_command,
	[CMD_PATHS] = paths_command,
	[CMD_SAVE] = chores_save,
	[CMD_WORK] = view_work_command,
	[CMD_HOLDINGS] = cleaning_command,
};

static struct command *pop_command(struct backend *b)
{
	struct envelope *l = (struct envelope *)mailbox_take(&b->down);
	struct command *c;

	if (!l)
		return NULL;
	c = l->command;
	free(l);
	return c;
}

static void begin_stop(struct backend *b);
static void close_when_done(struct backend *b);

static void on_backend_wake(uv_async_t *h)
{
	struct backend *b = h->data;
	struct command *c;

	/* Wakes coalesce: drain. */
	gate_drain(&b->recording.gate);
	roster_drain(b);
	cleaning_drain(b);
	while ((c = pop_command(b))) {
		CHECK((size_t)c->kind < COUNT(commands));
		trace(TRACE_COMMANDS, "%s %llu of %zu, the first %s", command_kind_name(c->kind),
			(unsigned long long)c->id, c->ntargets,
			c->ntargets ? c->targets[0].name : "-");
		if (!b->stopping)
			commands[c->kind](b, c);
		command_free(c);
	}
	services_drained(b);
	if (atomic_load(&b->quit))
		begin_stop(b);
	close_when_done(b);
}

/* ---- what services and watch tell */

static void on_paused(struct backend *b, bool paused)
{
	logs_pause(b, paused);
	shell_pause(b, paused);
	for (size_t i = 0; i < b->nsites; i++) {
		struct site *at = &b->site[i];

		if (!at->watch.events)
			continue;
		engine_pause(at->watch.events, paused);
		/* The engine drops events that nobody reads. */
		if (!paused)
			watch_refresh(at);
	}
}

static void on_row(struct site *at, struct row *r)
{
	stats_row(at, r);
	logs_row(at, r);
	detail_row(at, r);
}

static const struct listener listener = {
	.publish = publish_snapshot,
	.paused = on_paused,
	.row = on_row,
	.gone = logs_gone,
	.listed = logs_listed,
	.lost = logs_lost,
	.happened = remembering_event,
};

/* ---- the thread */

static void on_pulse(uv_timer_t *t)
{
	struct backend *b = t->data;

	for (size_t i = 0; i < b->nsites; i++)
		watch_pulse(&b->site[i]);
	act_pulse(b);
	logs_pulse(b);
	chores_pulse(b);
	detail_pulse(b);
	roster_pulse(b);
	terminals_pulse(b);
	asking_pulse(b);
	cleaning_pulse(b);
	upkeep_pulse(b);
	alerts_pulse(b);
	recording_pulse(b);
	publish_jobs(b);
}

static void close_handle(uv_handle_t *h, void *arg)
{
	(void)arg;
	if (!uv_is_closing(h) && !blocking_owns(h))
		uv_close(h, NULL);
}

/* What is left are our own timers and the async; an answer of the audit log, and who cleans up, still
 * need that. */
static void close_when_done(struct backend *b)
{
	if (b->nclosed == b->nsites && !b->recording.gate.waiting && !cleaning_works(b))
		uv_walk(&b->loop, close_handle, NULL);
}

static void on_engine_closed(void *ctx)
{
	struct backend *b = ctx;

	b->nclosed++;
	close_when_done(b);
}

static void close_engine(uv_timer_t *t)
{
	struct backend *b = t->data;

	uv_timer_stop(t);
	if (b->stopping)
		return;
	b->stopping = true;
	for (size_t i = 0; i < b->nsites; i++)
		watch_stop(&b->site[i]);
	stats_stop(b);
	logs_stop(b);
	shell_stop(b);
	detail_stop(b);
	cleaning_stop(b);
	workspaces_stop(b);
	upkeep_stop(b);
	alerts_stop(b);
	asking_stop(b);
	uv_timer_stop(&b->pulse);
	uv_timer_stop(&b->publish);
	for (size_t i = 0; i < b->nsites; i++)
		if (b->site[i].engine)
			engine_close(STEAL(b->site[i].engine), on_engine_closed, b);
}

static void check_farewell(uv_timer_t *t)
{
	struct backend *b = t->data;

	if ((!act_busy(b) && !roster_busy(b) && !cleaning_busy(b)) ||
		backend_now(b) - b->farewell_ns > STOP_ACTS_MS * 1000000LL)
		close_engine(t);
}

static void begin_stop(struct backend *b)
{
	if (b->stopping || uv_is_active((uv_handle_t *)&b->farewell))
		return;
	if (!act_busy(b) && !roster_busy(b) && !cleaning_busy(b)) {
		close_engine(&b->farewell);
		return;
	}
	uv_timer_stop(&b->publish);
	uv_timer_stop(&b->tick);
	b->farewell_ns = backend_now(b);
	uv_timer_start(&b->farewell, check_farewell, 10, 10);
}

static void *run_backend(void *arg)
{
	struct backend *b = arg;

	for (size_t i = 0; i < b->nsites; i++)
		watch_start(&b->site[i]);
	stats_start(b);
	uv_timer_start(&b->pulse, on_pulse, PULSE_MS, PULSE_MS);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	gate_close(&b->recording.gate);
	atomic_store(&b->ended, true);
	return NULL;
}

static void set_up_backend(struct backend *b, const struct backend_options *o)
{
	char user[USER_NAME_MAX];

	b->listener = &listener;
	b->once = o->once;
	b->unmeasured = o->unmeasured;
	b->since_ns = o->since_ns;
	b->until_ns = o->until_ns;
	b->labels = o->labels;
	b->attended = o->attended;
	b->hz = o->hz > 0 ? fmin(fmax(o->hz, 0.1), 10) : 1;
	b->program = xstrdup(o->program ? o->program : "berth");
	b->user = xstrdup(user_name(geteuid(), user));
	sites_set_up(b);
	recording_init(b, o);
	mailbox_init(&b->up, services_wake_main, b);
	snapshot_slot_init(&b->slot);
	roster_open(b, o);
	terminals_open(b, o);
	cleaning_open(b, o);
	upkeep_open(b, o);
	alerts_open(b, o);
	remembering_open(b);
	if (b->attended) {
		b->board = board_open(b->program, NULL);
		board_attend(b->board, !b->recording.policy.read_only);
	}
	host_init(&b->host);
	timer_init(b, &b->tick, b);
	timer_init(b, &b->pulse, b);
	timer_init(b, &b->publish, b);
	timer_init(b, &b->farewell, b);
}

static void wake_backend(void *ctx)
{
	struct backend *b = ctx;

	uv_async_send(&b->wake);
}

static void free_letters(struct mailbox *m)
{
	struct envelope *l;

	while ((l = (struct envelope *)mailbox_take(m))) {
		command_free(l->command);
		event_free(l->event);
		free(l);
	}
	mailbox_release(m);
}

static void tear_down_backend(struct backend *b)
{
	terminals_close(b);
	roster_close(b);
	cleaning_close(b);
	upkeep_close(b);
	attention_close(b);
	alerts_close(b);
	remembering_close(b);
	recording_release(b);
	free_letters(&b->down);
	free_letters(&b->up);
	snapshot_slot_release(&b->slot);
	board_close(b->board);
	sites_free(b);
	host_release(&b->host);
	free(b->program);
	free(b->user);
	cleanup_close(&b->wake_fd);
	free(b);
}

static int start_backend_thread(struct backend *b, struct err *e)
{
	int failed = spawn_thread(&b->thread, run_backend, b);

	if (failed)
		return err_sys(e, failed, "Cannot start a thread (see ulimit -u)");
	pthread_setname_np(b->thread, "berth-backend");
	return 0;
}

/* The loop and what wakes it, and what wakes the console. */
static int open_loop(struct backend *b, struct err *e)
{
	int failed = -uv_loop_init(&b->loop);

	if (failed)
		return err_sys(e, failed, "Too many open files (see ulimit -n)");
	b->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	failed = b->wake_fd < 0 ? errno : -uv_async_init(&b->loop, &b->wake, on_backend_wake);
	if (failed) {
		cleanup_close(&b->wake_fd);
		uv_loop_close(&b->loop);
		return err_sys(e, failed, "Too many open files (see ulimit -n)");
	}
	b->wake.data = b;
	mailbox_init(&b->down, wake_backend, b);
	return 0;
}

struct backend *backend_start(const struct backend_options *o, struct err *err)
{
	struct backend *b = xcalloc(1, sizeof *b);

	b->wake_fd = -1;
	if (sites_choose(b, o, err) < 0 || open_loop(b, err) < 0) {
		sites_free(b);
		free(b);
		return NULL;
	}
	set_up_backend(b, o);
	if (sites_open(b, err) < 0) {
		uv_walk(&b->loop, close_handle, NULL);
		uv_run(&b->loop, UV_RUN_DEFAULT);
		uv_loop_close(&b->loop);
		tear_down_backend(b);
		return NULL;
	}
	/* The first picture names the endpoint, however long that takes to answer. */
	publish_now(b);
	b->published_ns = 0;
	if (start_backend_thread(b, err) == 0)
		return b;
	/* What waits on its loop is ended there, by this thread. */
	atomic_store(&b->quit, true);
	uv_async_send(&b->wake);
	run_backend(b);
	CHECK(uv_loop_close(&b->loop) == 0);
	tear_down_backend(b);
	return NULL;
}

void backend_stop(struct backend *b)
{
	struct timespec until;

	if (!b)
		return;
	atomic_store(&b->quit, true);
	uv_async_send(&b->wake);
	/* By the wall clock, for clang's TSan does not see the other join. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += STOP_MS / 1000;
	if (pthread_timedjoin_np(b->thread, NULL, &until) != 0) {
		/* Something blocks it (a dead disk); the process ends anyway, so let it be. */
		pthread_detach(b->thread);
		return;
	}
	CHECK(uv_loop_close(&b->loop) == 0);
	tear_down_backend(b);
}

/* ---- from the main thread */

int backend_fd(const struct backend *b)
{
	return b->wake_fd;
}

uint64_t backend_send(struct backend *b, struct command *c)
{
	struct envelope *l = xcalloc(1, sizeof *l);
	uint64_t id = ++b->next_id;

	c->id = id;
	l->command = c;
	l->mail.bytes = sizeof *l;
	mailbox_put(&b->down, &l->mail);
	return id;
}

static struct event *next_event(struct backend *b)
{
	struct envelope *l = (struct envelope *)mailbox_take(&b->up);
	struct event *ev;

	if (!l)
		return NULL;
	ev = l->event;
	free(l);
	if (atomic_load(&b->crowded) && mailbox_bytes(&b->up) < UP_LOW)
		uv_async_send(&b->wake);
	return ev;
}

struct event *backend_next(struct backend *b)
{
	struct event *ev = next_event(b);
	uint64_t drained;

	if (ev)
		return ev;
	/* Clear the descriptor first, look again after: nothing can fall between. */
	while (read(b->wake_fd, &drained, sizeof drained) < 0 && errno == EINTR)
		;
	atomic_store(&b->fresh, false);
	return next_event(b);
}

const struct snapshot *backend_snapshot(struct backend *b)
{
	return snapshot_take(&b->slot);
}
