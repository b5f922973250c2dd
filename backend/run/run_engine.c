/*
 * run_engine.c - runs a command through the engine's exec, with the same results as over the lane where possible.
 *
 * The engine starts commands and tells how they ended, but ends none, and hanging up on it changes
 * nothing.  So the command gets a mark in its environment, and when its main process is gone, or its
 * time is over, or it is cancelled, everything with that mark is killed: from this side where the
 * engine is on this machine (tree.h), by a small script in the container where it is not.
 *
 * Where its runtime has a kernel of its own, its processes are in no list of this machine: then a command of berth's own
 * containers is started by berth's guest, which ends with it what it started (guest/run.c).
 *
 * The main process's end is seen by its pidfd, elsewhere by asking: the end of the streams says
 * nothing, for a child may hold them open.
 */
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <uv.h>

#include <berth/hex.h>
#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>

#include "container/container.h"
#include "run/target.h"
#include "journal/journal.h"

enum { CHUNK = 65536, PIECE = 4096, EARLY_MAX = 1 << 20 };
enum { UNDERWAY_MAX = 16 << 20 }; /* more than pipes, sockets and the engine hold of it */
enum { GATE_MS = 1, GATE_TRIES = 5000 };
enum { STARTED_MS = 5, RETRY_MS = 2, SWEEP_MS = 10, ASK_MS = 100 };
#define END_LIMIT_NS \
	INT64_C(5000000000) /* until the tree is gone, and without a byte of its output */
#define BEGIN_LIMIT_NS \
	INT64_C(30000000000) /* until what the engine was asked to start is there, or it says how it ended */
#define CANCEL_LIMIT_NS INT64_C(700000000) /* the same when somebody waits who pressed C-c */

enum why { BY_ITSELF, BY_TIMEOUT, BY_CANCEL, BY_OUTPUT };

struct away {
	struct running run; /* first */
	struct exec_target target;
	struct engine_tty *exec;
	struct engine_call *asking;
	uv_loop_t *loop;
	uv_timer_t deadline, tick, feeder;
	uv_poll_t poll;
	int events, pidfd; /* an epoll instance; the command's main process */
	char mark[33];
	bool again; /* its container was started anew under it */
	bool local, ready, started, not_started, gone, over, input_held, input_over;
	bool deaf[3];            /* nobody takes this stream's output any more */
	bool local_end;          /* its main process's end is seen by the pidfd */
	struct tree_group group; /* for this command alone, where that can be */
	int gate_tries;          /* looked at while its process comes to the gate */
	bool gated;              /* it begins at the gate */
	bool by_guest;           /* the guest in there starts it */
	bool not_run;            /* and says that it cannot be run */
	enum why why;
	pid_t pid;
	int exit_code;
	int64_t start_ns, end_ns, cancel_ns; /* cancel_ns: when somebody asked to stop; 0: nobody */
	struct err err;                      /* of the engine */
	struct str early[3], words;          /* output before it is known whether it started */
	char *held;
	size_t held_n;
	uint64_t ooms;
};

/* -- output -------------------------------------------------------------------------------------- */

/* Not longer than the command may run: who does not read must not keep it alive. */
static bool may_write(struct away *a, int fd)
{
	struct pollfd p[2] = {{fd, POLLOUT, 0}, {a->run.r->cancel_fd, POLLIN, 0}};
	int64_t left = a->run.r->timeout_ms && a->start_ns
		? a->run.r->timeout_ms - (clock_mono_ns() - a->start_ns) / 1000000
		: -1;

	if (a->why != BY_ITSELF || (a->run.r->timeout_ms && left < 0))
		left = 0;
	while (poll(p, 2, (int)left) < 0)
		if (errno != EINTR)
			return false;
	return p[0].revents != 0;
}

/* The engine would go on reading: hanging up on it ends nothing. */
static void lose_exec_output(struct away *a, int stream, int errnum)
{
	a->deaf[stream] = true;
	if (a->run.unwritten || a->why != BY_ITSELF)
		return;
	a->run.unwritten = errnum;
	a->run.unwritten_to = stream;
	if (!a->gone)
		a->why = BY_OUTPUT;
}

static void write_out(struct away *a, int stream, int fd, const char *bytes, size_t n)
{
	while (n && !a->deaf[stream]) {
		ssize_t w;

		a->deaf[stream] = !may_write(a, fd);
		if (a->deaf[stream])
			return;
		w = write(fd, bytes, n < PIECE ? n : PIECE);
		if (w > 0) {
			bytes += w;
			n -= (size_t)w;
		} else if (w == 0 || (errno != EINTR && errno != EAGAIN)) {
			lose_exec_output(a, stream, w ? errno : EIO);
		}
	}
}

static void deliver_output(struct away *a, int stream, const char *bytes, size_t n)
{
	size_t take;
	int to = stream == 2 ? a->run.r->error : a->run.r->out;

	if (a->run.journal)
		journal_add(a->run.journal, stream, bytes, n);
	take = run_seen(&a->run, stream, n);
	if (take && a->run.r->output)
		a->run.r->output(a->run.r->ctx, stream, bytes, take);
	else if (take && to >= 0)
		write_out(a, stream, to, bytes, take);
}

/* The engine's own sentence about a command that it could not start comes in the place of output. */
static void on_frame(void *ctx, int stream, const char *bytes, size_t n)
{
	struct away *a = ctx;

	stream = stream == 2 ? 2 : 1;
	if (a->by_guest && stream == 2 && !a->run.seen[2] && !a->early[2].len &&
		n >= sizeof GUEST_NOT_RUN - 1 &&
		!memcmp(bytes, GUEST_NOT_RUN, sizeof GUEST_NOT_RUN - 1)) {
		a->not_run = true;
		return;
	}
	if (a->started)
		deliver_output(a, stream, bytes, n);
	else if (a->early[stream].len < EARLY_MAX)
		str_add(&a->early[stream], bytes, n);
}

static void on_exec_stdout(void *ctx, const char *bytes, size_t n)
{
	on_frame(ctx, 1, bytes, n);
}

/* -- start and end ------------------------------------------------------------------------------- */

static void ask_state(struct away *a);

static void on_exec_tick(uv_timer_t *timer)
{
	struct away *a = timer->data;

	journal_tick(a->run.journal);
	if (a->ready && !a->gone && !a->over && !(a->started && a->local_end))
		ask_state(a);
}

static int started_again(const struct exec_target *t, struct err *e)
{
	return err_set(e, ERR_REFUSED,
		"%s was restarted just now, and its mounts have not been checked "
		"since; try again, or: berth up FILE",
		t->name);
}

static void begin_exec(struct away *a)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = -2};

	a->started = a->local_end = true;
	if (a->target.mounts == MOUNTS_CHECKED && !start_lives(&a->target.start)) {
		a->again = true;
		a->why = BY_CANCEL;
	}
	if (a->local && tree_is_here(a->pid, a->target.id))
		a->pidfd = (int)syscall(SYS_pidfd_open, a->pid, 0);
	/* Gone already, or not ours to see: then the engine is asked. */
	if (a->pidfd < 0 || epoll_ctl(a->events, EPOLL_CTL_ADD, a->pidfd, &ev))
		a->local_end = false;
	if (!a->local_end || a->run.journal)
		uv_timer_start(&a->tick, on_exec_tick, ASK_MS, ASK_MS);
	for (int i = 1; i < 3; i++) {
		if (a->early[i].len)
			deliver_output(a, i, a->early[i].s, a->early[i].len);
		str_clear(&a->early[i]);
	}
	engine_tty_pause(a->exec, false);
}

/* It waits there for its group; who never comes, or has gone on, is what the mark and descent find. */
static void on_gate(uv_timer_t *timer)
{
	struct away *a = timer->data;
	int at = tree_at_gate(a->pid);

	if (a->over || a->why != BY_ITSELF)
		return;
	a->gate_tries++;
	if (at < 0) {
		/* It ended before: the engine knows with what. */
		ask_state(a);
	} else if (at == 0 && a->gate_tries < GATE_TRIES) {
		uv_timer_start(timer, on_gate, GATE_MS, 0);
	} else {
		a->run.out->whole_tree = !tree_group_take(&a->group, a->pid);
		begin_exec(a);
	}
}

static void on_state(void *ctx, const char *body, size_t len, const struct err *err)
{
	struct away *a = ctx;
	AUTO_JSON cJSON *root = err ? NULL : ejson_parse(body, len, NULL);
	bool ended = engine_exec_ended(sync_engine(a->target.at.engine), root);

	a->asking = NULL;
	if (a->over)
		return;
	if (ejson_int(root, "Pid", 0) > 0)
		a->pid = ejson_int(root, "Pid", 0);
	if (a->started) {
		a->gone |= ended;
	} else if (a->pid > 0 && a->gated && !ended) {
		uv_timer_start(&a->tick, on_gate, a->gate_tries ? GATE_MS : 0, 0);
	} else if (a->pid > 0 && !a->gated) {
		begin_exec(a);
		a->gone |= ended;
	} else if (ended) {
		a->not_started = true;
		engine_tty_pause(a->exec, false);
	} else {
		uv_timer_start(&a->tick, on_exec_tick, STARTED_MS, 0);
	}
	if (ended)
		a->exit_code = ejson_int(root, "ExitCode", -1);
}

static void ask_state(struct away *a)
{
	AUTO_STR struct str target = STR_INIT;

	if (a->asking)
		return;
	str_addf(&target, "/exec/%s/json", engine_tty_exec_id(a->exec));
	a->asking = engine_ask(sync_engine(a->target.at.engine), "ask about the command in %s",
		a->target.name, "GET", target.s, NULL, 0, on_state, a);
}

static void on_exec_ready(void *ctx)
{
	struct away *a = ctx;

	a->ready = true;
	a->start_ns = clock_mono_ns();
	/* Its number here is nobody's, and whether the command could be run is what the guest says. */
	if (a->by_guest) {
		begin_exec(a);
		return;
	}
	engine_tty_pause(a->exec, true);
	ask_state(a);
}

/* A stop of the container unmakes what was made in it, so from here on it is this start or none. */
static int on_exec_made(void *ctx, struct err *e)
{
	struct away *a = ctx;

	if (a->target.mounts != MOUNTS_CHECKED || start_lives(&a->target.start))
		return 0;
	a->run.out->mounts = MOUNTS_UNKNOWN;
	return started_again(&a->target, e);
}

static void on_exec_end(void *ctx, int exit_code, const struct err *err)
{
	struct away *a = ctx;

	a->over = a->gone = true;
	a->exec = NULL;
	if (err)
		a->err = *err;
	else
		a->exit_code = exit_code;
}

static const struct engine_tty_events exec_events = {on_exec_ready, on_exec_stdout, on_exec_end};

/* -- input, signals, time ------------------------------------------------------------------------ */

static void on_feed(uv_timer_t *timer);

static void no_more_input(struct away *a)
{
	a->input_over = true;
	epoll_ctl(a->events, EPOLL_CTL_DEL, a->run.r->in, NULL);
	if (!a->exec)
		return;
	/* A terminal's end of input is a character. */
	if (a->run.r->tty)
		engine_tty_input(a->exec, "\x04", 1);
	else
		engine_tty_finish(a->exec);
}

/* One piece at a time; while the command does not take it, nothing more is read. */
static void feed_exec(struct away *a)
{
	if (a->input_over || !a->exec)
		return;
	if (!a->held_n) {
		ssize_t n = read(a->run.r->in, a->held, CHUNK);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			no_more_input(a);
			return;
		}
		a->held_n = (size_t)n;
	}
	if (engine_tty_input(a->exec, a->held, a->held_n)) {
		a->held_n = 0;
		if (a->input_held) {
			struct epoll_event ev = {.events = EPOLLIN, .data.fd = a->run.r->in};

			a->input_held = false;
			/* A file cannot be waited for: it is read as fast as it is taken. */
			if (epoll_ctl(a->events, EPOLL_CTL_ADD, a->run.r->in, &ev))
				a->input_held = true;
		}
	} else if (!a->input_held) {
		a->input_held = true;
		epoll_ctl(a->events, EPOLL_CTL_DEL, a->run.r->in, NULL);
	}
	if (a->input_held)
		uv_timer_start(&a->feeder, on_feed, a->held_n ? RETRY_MS : 0, 0);
}

static void on_feed(uv_timer_t *timer)
{
	feed_exec(timer->data);
}

static void on_deadline(uv_timer_t *timer)
{
	struct away *a = timer->data;

	if (a->why == BY_ITSELF && !a->gone)
		a->why = BY_TIMEOUT;
}

static void on_events(uv_poll_t *poll, int status, int what)
{
	struct away *a = poll->data;
	struct epoll_event ev[8];
	int n = epoll_wait(a->events, ev, 8, 0);

	(void)status;
	(void)what;
	for (int i = 0; i < n; i++) {
		int fd = ev[i].data.fd, columns, rows;
		char byte;

		if (fd == -2) {
			a->gone = true;
			epoll_ctl(a->events, EPOLL_CTL_DEL, a->pidfd, NULL);
		} else if (fd == a->run.r->cancel_fd) {
			a->why = a->why == BY_ITSELF && !a->gone ? BY_CANCEL : a->why;
			a->cancel_ns = clock_mono_ns();
			epoll_ctl(a->events, EPOLL_CTL_DEL, fd, NULL);
		} else if (fd == a->run.r->resize_fd) {
			if (read(fd, &byte, 1) > 0 && a->run.r->size && a->exec) {
				a->run.r->size(a->run.r->ctx, &columns, &rows);
				engine_tty_resize(a->exec, columns, rows);
			}
		} else {
			feed_exec(a);
		}
	}
}

/* -- ending the tree ----------------------------------------------------------------------------- */

struct script { /* the one that looks from inside */
	const struct exec_target *target;
	bool over;
	int exit_code;
};

static void script_ready(void *ctx)
{
	(void)ctx;
}

static void script_frame(void *ctx, int stream, const char *bytes, size_t n)
{
	(void)ctx;
	(void)stream;
	(void)bytes;
	(void)n;
}

static int script_made(void *ctx, struct err *e)
{
	const struct script *s = ctx;

	return s->target->mounts != MOUNTS_CHECKED || start_lives(&s->target->start)
		? 0
		: started_again(s->target, e);
}

static void script_end(void *ctx, int exit_code, const struct err *err)
{
	struct script *s = ctx;

	s->over = true;
	s->exit_code = err ? -1 : exit_code;
}

static void ignore_timer(uv_timer_t *timer)
{
	(void)timer;
}

static void run_loop_once(struct away *a, int ms)
{
	uv_timer_start(&a->feeder, ignore_timer, (uint64_t)ms, 0);
	sync_turn(a->target.at.engine);
}

/* 0: nothing is left; 1: something was, and was killed; -1: there is no shell in there. */
static int kill_inside(struct away *a, int64_t limit_ns)
{
	static const char text[] = "f=0; for d in /proc/[0-9]*; do "
				   "grep -qs \"" RUN_MARK "=$1\" $d/environ && "
				   "! grep -q '^State:.[ZX]' $d/status 2>/dev/null && "
				   "kill -9 ${d#/proc/} 2>/dev/null && f=1; done; exit $f";
	static const struct engine_tty_events events = {script_ready, NULL, script_end};
	const char *argv[] = {"sh", "-c", text, "sh", a->mark};
	const struct engine_exec_ask ask = {
		.argv = argv, .argc = 5, .frame = script_frame, .made = script_made};
	struct script s = {.target = &a->target};
	struct engine_tty *exec;

	exec = engine_exec(sync_engine(a->target.at.engine), a->target.id, &ask, &events, &s);
	while (!s.over && clock_mono_ns() < limit_ns)
		run_loop_once(a, SWEEP_MS);
	if (!s.over)
		engine_tty_close(exec);
	while (!s.over)
		sync_turn(a->target.at.engine);
	return s.exit_code == 0 ? 0 : s.exit_code == 1 ? 1 : -1;
}

static int sweep_tree(struct away *a, int64_t limit_ns)
{
	int n;

	if (a->run.out->whole_tree)
		return tree_group_kill(&a->group);
	/* Who ended the guest's process has ended with its code. */
	if (a->by_guest && a->gone && a->why == BY_ITSELF && a->exit_code >= 0 &&
		a->exit_code != 128 + SIGKILL)
		return 0;
	n = a->local ? tree_kill(a->target.id, a->mark, a->gone ? 0 : a->pid) : -1;
	if (n >= 0)
		return n;
	/* What runs here may belong to another user: then the same is done from inside. */
	a->local = false;
	return kill_inside(a, limit_ns);
}

static bool is_time_over(const struct away *a, int64_t limit_ns)
{
	int64_t now = clock_mono_ns();

	return now >= limit_ns || (a->cancel_ns && now >= a->cancel_ns + CANCEL_LIMIT_NS);
}

/* 0 when nothing of it is left, else it is there or may come yet. */
static int end_processes(struct away *a)
{
	bool begun = a->pid > 0;
	int64_t limit = clock_mono_ns() + (begun ? END_LIMIT_NS : BEGIN_LIMIT_NS);
	int found = 1;

	while (found > 0 && !is_time_over(a, limit)) {
		found = sweep_tree(a, limit);
		if (!begun && (found > 0 || a->pid > 0 || a->over)) {
			begun = true;
			limit = clock_mono_ns() + END_LIMIT_NS;
		}
		if (found > 0 || (!a->gone && found == 0 && !a->over)) {
			found = 1; /* killed is not yet gone */
			run_loop_once(a, SWEEP_MS);
		}
	}
	return found;
}

/* What is still under way of its output; then whoever holds the pipes is none of ours. */
static void read_rest(struct away *a)
{
	uint64_t at_end = a->run.seen[1] + a->run.seen[2], before = at_end;
	int64_t limit = clock_mono_ns() + END_LIMIT_NS;

	while (!a->over && !is_time_over(a, limit)) {
		uint64_t now;

		run_loop_once(a, SWEEP_MS);
		now = a->run.seen[1] + a->run.seen[2];
		if (now != before && now - at_end < UNDERWAY_MAX)
			limit = clock_mono_ns() + END_LIMIT_NS;
		before = now;
	}
}

/* The engine may be long about it, but a code that was not told is none. */
static void learn_exit_code(struct away *a)
{
	int64_t limit = clock_mono_ns() + BEGIN_LIMIT_NS;

	while (!a->over && a->started && a->why == BY_ITSELF && a->exit_code < 0 &&
		!is_time_over(a, limit)) {
		ask_state(a);
		run_loop_once(a, ASK_MS);
	}
}

static void end_tree(struct away *a)
{
	int found;

	a->end_ns = clock_mono_ns();
	/* It was held until the command is known to have begun, but its end is to be seen as well. */
	if (a->exec)
		engine_tty_pause(a->exec, false);
	found = end_processes(a);
	/* Where nobody could look, what ended by itself has most likely left nothing. */
	a->run.out->left_behind = found > 0 || (found < 0 && a->why != BY_ITSELF);
	a->run.out->whole_tree &= found == 0;
	read_rest(a);
	learn_exit_code(a);
	if (!a->over)
		engine_tty_close(a->exec);
	while (!a->over)
		sync_turn(a->target.at.engine);
	if (a->err.kind == ERR_CANCELLED)
		a->err = (struct err)ERR_INIT;
}

/* -- the whole ----------------------------------------------------------------------------------- */

/* A file or /dev/null cannot be waited for, and need not be. */
static void watch_input(struct away *a, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};

	if (fd < 0 || !epoll_ctl(a->events, EPOLL_CTL_ADD, fd, &ev) || fd != a->run.r->in)
		return;
	a->input_held = true;
	uv_timer_start(&a->feeder, on_feed, 0, 0);
}

static int set_up_exec(struct away *a, struct err *e)
{
	unsigned char bytes[16];
	int failed;

	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_sys(e, errno, "cannot generate a mark for the command");
	hex_text(a->mark, bytes, sizeof bytes);
	a->events = epoll_create1(EPOLL_CLOEXEC);
	if (a->events < 0)
		return err_sys(e, errno, "cannot wait for the command");
	a->loop = sync_loop(a->target.at.engine);
	failed = -uv_poll_init(a->loop, &a->poll, a->events);
	if (failed) {
		cleanup_close(&a->events);
		return err_sys(e, failed, "cannot wait for the command");
	}
	uv_timer_init(a->loop, &a->deadline);
	uv_timer_init(a->loop, &a->tick);
	uv_timer_init(a->loop, &a->feeder);
	a->deadline.data = a->tick.data = a->feeder.data = a->poll.data = a;
	uv_poll_start(&a->poll, UV_READABLE, on_events);
	a->held = xmalloc(CHUNK);
	watch_input(a, a->run.r->cancel_fd);
	watch_input(a, a->run.r->resize_fd);
	watch_input(a, a->run.r->in);
	if (a->run.r->timeout_ms)
		uv_timer_start(&a->deadline, on_deadline, (uint64_t)a->run.r->timeout_ms, 0);
	return 0;
}

static void start_exec(struct away *a)
{
	static const char *const gate[] = {"/bin/sh", "-c", TREE_GATE, "sh"},
				 *const guest[] = {LANE_GUEST_PATH, LANE_GUEST_RUN};
	const struct run_request *r = a->run.r;
	AUTO_FREE const char **env = xcalloc(r->envc + 1, sizeof *env);
	AUTO_FREE const char **argv = xcalloc(r->argc + COUNT(gate), sizeof *argv);
	AUTO_FREE char *mark = xasprintf(RUN_MARK "=%s", a->mark);
	struct engine_exec_ask ask = {.argv = r->argv,
		.argc = r->argc,
		.env = env,
		.envc = r->envc + 1,
		.cwd = r->cwd,
		.user = r->user,
		.tty = r->tty,
		.input = r->in >= 0,
		.columns = r->columns,
		.rows = r->rows,
		.frame = on_frame,
		.made = on_exec_made};

	for (size_t i = 0; i < r->envc; i++)
		env[i] = r->env[i];
	env[r->envc] = mark;
	a->gated = a->local && !tree_group_make(&a->group, a->target.pid, a->target.id, a->mark);
	if (a->gated) {
		memcpy(argv, gate, sizeof gate);
		memcpy(argv + COUNT(gate), r->argv, r->argc * sizeof *argv);
		ask.argv = argv;
		ask.argc += COUNT(gate);
	}
	a->by_guest = a->target.sandbox && a->target.mounts == MOUNTS_CHECKED;
	if (a->by_guest) {
		memcpy(argv, guest, sizeof guest);
		memcpy(argv + COUNT(guest), r->argv, r->argc * sizeof *argv);
		ask.argv = argv;
		ask.argc += COUNT(guest);
	}
	a->exec =
		engine_exec(sync_engine(a->target.at.engine), a->target.id, &ask, &exec_events, a);
}

static void tear_down_exec(struct away *a)
{
	engine_cancel(a->asking);
	uv_close((uv_handle_t *)&a->deadline, NULL);
	uv_close((uv_handle_t *)&a->tick, NULL);
	uv_close((uv_handle_t *)&a->feeder, NULL);
	uv_close((uv_handle_t *)&a->poll, NULL);
	for (int i = 0; i < 3; i++)
		uv_run(a->loop, UV_RUN_NOWAIT);
	tree_group_remove(&a->group);
	close(a->events);
	cleanup_close(&a->pidfd);
	for (int i = 0; i < 3; i++)
		str_release(&a->early[i]);
	free(a->held);
}

/* "... executable file not found in $PATH", "... permission denied", "... chdir to cwd ...", "Cwd must be an absolute path" */
static void judge_not_started(const struct away *a, struct run_end *end)
{
	const char *words = a->early[1].len ? a->early[1].s : a->early[2].s;
	bool absent = strstr(words, "not found") || strstr(words, "no such file");
	bool relative = strcasestr(words, "cwd must be an absolute path");

	end->how = LANE_NOT_RUN;
	end->stage = relative || strstr(words, "chdir to cwd") ? LANE_AT_CWD : LANE_AT_EXEC;
	if (end->stage == LANE_AT_CWD)
		end->code = absent || relative ? ENOENT : EACCES;
	else if (absent || (!*words && a->exit_code == 127))
		end->code = ENOENT;
	else
		end->code = strstr(words, "exec format error") ? ENOEXEC : EACCES;
}

static void judge_exec_end(struct away *a, struct run_end *end)
{
	struct run_result *out = a->run.out;

	out->duration_ms = (double)(a->end_ns - a->start_ns) / 1e6;
	out->code = end->code = a->exit_code;
	if (a->again) {
		end->told = true;
		out->ended = ENDED_REFUSED;
		out->mounts = MOUNTS_UNKNOWN;
		started_again(&a->target, &out->err);
	} else if (a->why == BY_TIMEOUT) {
		end->how = LANE_TIMED_OUT;
	} else if (a->why != BY_ITSELF) {
		end->how = LANE_CANCELLED;
	} else if (a->not_run && (a->exit_code == 126 || a->exit_code == 127)) {
		*end = (struct run_end){.how = LANE_NOT_RUN,
			.stage = LANE_AT_EXEC,
			.code = a->exit_code == 127 ? ENOENT : EACCES};
	} else if (a->not_started || !a->started) {
		judge_not_started(a, end);
	} else if (a->exit_code < 0) {
		end->told = true;
		err_set(&out->err, ERR_TIMEOUT,
			"the command in %s has ended, but the engine does not report how",
			a->target.name);
	} else {
		end->how = LANE_EXIT;
		end->oom = (a->exit_code & 255) == 137 &&
			target_ooms(&a->target, a->start_ns) > a->ooms;
	}
}

/* -- the carrier ----------------------------------------------------------------------------------- */

/* The container that was asked for by its engine has a lane here.  -1: it cannot be used after all. */
static int over_lane(const struct exec_target *t, const struct run_request *r,
	struct run_result *ret, struct err *e)
{
	const struct run_result found = *ret;
	struct run_request q = *r;

	q.fall_back = NULL;
	q.host = q.context = NULL;
	q.agent = t->name;
	if (!agents_run(&q, ret, e) || e->kind != ERR_NOT_FOUND)
		return 0;
	*ret = found;
	*e = (struct err)ERR_INIT;
	return -1;
}

static int find_away(struct running *run, struct err *e)
{
	struct away *a = (struct away *)run;

	if (target_find(&a->target, run->r, run->out, e))
		return -1;
	if (a->target.lane && !over_lane(&a->target, run->r, run->out, e))
		return 1;
	if (!checked_secrets(a->target.id, e))
		return 0;
	run->out->ended = ENDED_REFUSED;
	return -1;
}

static int start_away(struct running *run, struct err *e)
{
	struct away *a = (struct away *)run;

	if (set_up_exec(a, e))
		return -1;
	a->local = a->target.local && !a->target.sandbox;
	a->ooms = target_ooms(&a->target, 0);
	start_exec(a);
	return 0;
}

static int relay_away(struct running *run, struct run_end *end, struct err *e)
{
	struct away *a = (struct away *)run;

	while (!a->over && !a->gone && a->why == BY_ITSELF)
		sync_turn(a->target.at.engine);
	/* Once the engine has been asked to start it, it may do so yet. */
	if (a->ready || (a->exec && *engine_tty_exec_id(a->exec)))
		end_tree(a);
	else if (a->exec)
		engine_tty_close(a->exec);
	while (!a->over)
		sync_turn(a->target.at.engine);
	if (a->err.kind && a->why == BY_ITSELF)
		return err_copy(e, &a->err);
	judge_exec_end(a, end);
	return 0;
}

static void release_away(struct running *run)
{
	struct away *a = (struct away *)run;

	if (a->loop)
		tear_down_exec(a);
	target_release(&a->target);
}

static const struct carrier engine_carrier = {
	RUN_ENGINE, find_away, start_away, relay_away, release_away};

int agents_run_engine(const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct away a = {.events = -1,
		.pidfd = -1,
		.exit_code = -1,
		.early = {STR_INIT, STR_INIT, STR_INIT}};

	return run_over(&engine_carrier, &a.run, r, ret, e);
}
