/* run_lane.c - runs a command over the lane, without asking the engine. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>

#include "journal/journal.h"

#define CHUNK 65536
#define LEFT_MS 1000

struct stream {
	int from, to;
	int number;   /* 1 or 2; 0: standard input */
	size_t ahead; /* bytes still in `from` that the journal has seen */
	bool plain;   /* `to` takes no splice */
};

struct on_lane {
	struct running run; /* first */
	struct lane_about about;
	struct lane_command c;
	struct stream in, stdout_, stderr_;
	struct lane_ended end;
	uint64_t ooms;
	int64_t lasts_ns; /* when it has run for so long that `lasts` is called; 0: it was */
	bool ended, cancelled;
	char *buf;  /* CHUNK bytes */
	char *held; /* input that the command has not taken yet */
	size_t held_at, held_n;
};

static void drain_stream(struct on_lane *g, struct stream *s);

/* Nobody takes this output any more.  A command whose reader left meets that itself, as it would on the
 * host; behind a terminal there is a relay that would not tell it, and a full disk it cannot see. */
static void lose_output(struct on_lane *g, struct stream *s, int errnum)
{
	s->to = -1;
	if (run_reader_left(errnum) && !g->run.r->tty) {
		drain_stream(g, s); /* into the journal */
		return;
	}
	if (g->cancelled)
		return;
	g->run.unwritten = errnum;
	g->run.unwritten_to = s->number;
	g->cancelled = true;
	if (!g->ended)
		lane_cancel(&g->c);
}

static void deliver_chunk(struct on_lane *g, struct stream *s, size_t n)
{
	size_t take, known = g->run.journal && s->ahead < n ? s->ahead : n;
	int errnum = 0;

	if (g->run.journal) {
		s->ahead -= known;
		journal_add(g->run.journal, s->number, g->buf + known, n - known);
	}
	take = run_seen(&g->run, s->number, n);
	if (!take)
		return;
	if (g->run.r->output)
		g->run.r->output(g->run.r->ctx, s->number, g->buf, take);
	else if (s->to >= 0)
		errnum = file_write(s->to, g->buf, take) < 0 ? errno : 0;
	if (errnum)
		lose_output(g, s, errnum);
}

/* A pipe straight into another descriptor, where the kernel can do that.  true: done for now. */
static bool splice_stream(struct on_lane *g, struct stream *s)
{
	ssize_t n;

	if (g->run.r->output || s->plain || g->run.r->output_max || s->to < 0)
		return false;
	if (!g->run.journal)
		s->ahead = CHUNK * 16;
	else if (!s->ahead && (n = journal_peek(g->run.journal, s->number, s->from)) > 0)
		s->ahead = (size_t)n;
	if (!s->ahead)
		return false;
	n = splice(s->from, NULL, s->to, NULL, s->ahead, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		g->run.seen[s->number] += (uint64_t)n;
		s->ahead -= (size_t)n;
		return true;
	}
	if (n < 0 && errno == EAGAIN) {
		/* The reader may be slow: wait for it, not for us. */
		struct pollfd p = {s->to, POLLOUT, 0};

		poll(&p, 1, 100);
		return g->run.journal != NULL;
	}
	s->plain = n < 0 && errno != EINTR;
	return false;
}

static void pump_stream(struct on_lane *g, struct stream *s)
{
	ssize_t n;

	if (splice_stream(g, s))
		return;
	n = read(s->from, g->buf, CHUNK);
	if (n > 0) {
		deliver_chunk(g, s, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(s->from);
		s->from = -1;
	}
}

/* Input: what was read and not taken yet is kept, never more than one chunk. */
static void feed_input(struct on_lane *g)
{
	ssize_t n;

	if (!g->held_n) {
		n = read(g->in.from, g->held, CHUNK);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			close(g->c.in);
			g->c.in = g->in.to = -1;
			return;
		}
		g->held_at = 0;
		g->held_n = (size_t)n;
	}
	n = write(g->in.to, g->held + g->held_at, g->held_n);
	if (n > 0) {
		g->held_at += (size_t)n;
		g->held_n -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* It does not read any more; that is its business. */
		close(g->c.in);
		g->c.in = g->in.to = -1;
	}
}

static int take_frame(struct on_lane *g, struct err *e)
{
	struct err why = ERR_INIT;
	int what = lane_next(&g->c, &g->end, &why);

	if (what < 0 && !g->c.supervisor)
		return err_copy(e, &why); /* it never ran */
	if (what < 0)
		lane_broke(&g->c, &g->end, &g->run.out->err);
	else if (what == 2 && g->end.left)
		g->end.left = (uint32_t)lane_end_command(&g->c, LEFT_MS);
	g->ended |= what == 2 || what < 0;
	return 0;
}

/* The guest had its time. */
static int on_overdue(struct on_lane *g, struct err *e)
{
	struct err why = ERR_INIT;
	int what = lane_overdue(&g->c, &g->end, &why);

	if (what < 0)
		return err_copy(e, &why);
	if (what == 2) {
		g->run.out->err = why;
		if (g->cancelled)
			g->end.how = LANE_CANCELLED;
		g->ended = true;
	}
	return 0;
}

static int pick_sooner(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int next_lasts_ms(const struct on_lane *g)
{
	int64_t left = g->lasts_ns - clock_mono_ns();

	return !g->lasts_ns ? -1 : left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

static int next_wait_ms(const struct on_lane *g)
{
	return pick_sooner(pick_sooner(journal_wait_ms(g->run.journal), lane_wait_ms(&g->c)),
		next_lasts_ms(g));
}

enum { P_LANE, P_OUT, P_ERROR, P_IN_FROM, P_IN_TO, P_CANCEL, P_RESIZE, P_COUNT };

/* With its tree gone all that a command wrote is in the pipe.  Whoever else holds the other end (it can be
 * passed on, to a process of another command, or something lives that could not be ended) is not waited for. */
static void drain_stream(struct on_lane *g, struct stream *s)
{
	int room = s->from >= 0 ? fcntl(s->from, F_GETPIPE_SZ) : 0;
	uint64_t *seen = &g->run.seen[s->number], most = *seen + (room > 0 ? (uint64_t)room : 0);

	while (s->from >= 0 && *seen < most) {
		struct pollfd p = {s->from, POLLIN, 0};

		if (poll(&p, 1, 0) <= 0)
			break;
		pump_stream(g, s);
	}
	cleanup_close(&s->from);
	s->from = -1;
}

static int relay_streams(struct on_lane *g, struct err *e)
{
	while (!g->ended) {
		struct pollfd p[P_COUNT] = {{g->c.conn, POLLIN, 0}, {g->stdout_.from, POLLIN, 0},
			{g->stderr_.from, POLLIN, 0},
			{g->in.to >= 0 && !g->held_n ? g->in.from : -1, POLLIN, 0},
			{g->held_n ? g->in.to : -1, POLLOUT, 0},
			{g->cancelled ? -1 : g->run.r->cancel_fd, POLLIN, 0},
			{g->run.r->resize_fd, POLLIN, 0}};
		int n = poll(p, P_COUNT, next_wait_ms(g));

		if (n < 0 && errno != EINTR)
			return err_sys(e, errno, "waiting for the command failed");
		if (n < 0)
			continue;
		if (on_overdue(g, e))
			return -1;
		journal_tick(g->run.journal);
		if (!next_lasts_ms(g)) {
			g->lasts_ns = 0;
			g->run.r->lasts(g->run.r->by);
		}
		if (p[P_OUT].revents)
			pump_stream(g, &g->stdout_);
		if (p[P_ERROR].revents)
			pump_stream(g, &g->stderr_);
		if (p[P_IN_FROM].revents || p[P_IN_TO].revents)
			feed_input(g);
		if (p[P_CANCEL].revents) {
			g->cancelled = true;
			lane_cancel(&g->c);
		}
		if (p[P_RESIZE].revents) {
			char byte;
			int columns, rows;

			if (read(g->run.r->resize_fd, &byte, 1) > 0 && g->run.r->size) {
				g->run.r->size(g->run.r->ctx, &columns, &rows);
				lane_resize(&g->c, columns, rows);
			}
		}
		if (p[P_LANE].revents && take_frame(g, e))
			return -1;
	}
	drain_stream(g, &g->stdout_);
	drain_stream(g, &g->stderr_);
	return 0;
}

/* -- the carrier ----------------------------------------------------------------------------------- */

/* The registry names the container and the kernel proves it when it is called (peer.h): no lane is offered that was
 * not checked, and its init is that of this start. */
static int find_on_lane(struct running *run, struct err *e)
{
	struct on_lane *g = (struct on_lane *)run;

	if (lane_find(run->r->agent, &g->about, e))
		return -1;
	if (lane_is_none(g->about.name))
		return err_set(e, ERR_NOT_FOUND, "%s has no lane", g->about.name);
	run_where(run->out, &g->about);
	return 0;
}

static int start_on_lane(struct running *run, struct err *e)
{
	struct on_lane *g = (struct on_lane *)run;
	const struct run_request *r = run->r;
	const struct lane_request request = {.argv = r->argv,
		.argc = r->argc,
		.env = r->env,
		.envc = r->envc,
		.cwd = r->cwd,
		.limits = {.flags = r->tty ? LANE_TTY : 0,
			.timeout_ms =
				r->timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)r->timeout_ms,
			.columns = (uint16_t)r->columns,
			.rows = (uint16_t)r->rows}};

	if (lane_start(&g->about, &request, &g->c, e))
		return -1;
	run->out->mounts = MOUNTS_CHECKED;
	run->out->whole_tree = true;
	g->ooms = oom_kills(g->c.guest, g->about.id);
	g->lasts_ns = r->lasts ? clock_mono_ns() + RUN_LASTS_MS * INT64_C(1000000) : 0;
	g->buf = xmalloc(CHUNK);
	g->held = xmalloc(CHUNK);
	g->stdout_ = (struct stream){g->c.out, r->out, 1, 0, false};
	g->stderr_ = (struct stream){g->c.error, r->error, 2, 0, false};
	g->c.out = g->c.error = -1; /* pump closes them */
	g->in = (struct stream){r->in, g->c.in, 0, 0, false};
	if (r->in < 0) {
		cleanup_close(&g->c.in);
		g->c.in = g->in.to = -1;
	}
	return 0;
}

static int relay_on_lane(struct running *run, struct run_end *ret, struct err *e)
{
	struct on_lane *g = (struct on_lane *)run;
	const struct lane_ended *end = &g->end;
	struct run_result *out = run->out;

	if (relay_streams(g, e))
		return -1;
	*ret = (struct run_end){.how = (enum lane_how)end->how,
		.stage = (enum lane_stage)end->stage,
		.code = (int)end->code};
	ret->oom = (end->how != LANE_EXIT || end->code != 0) &&
		oom_kills(g->c.guest, g->about.id) > g->ooms;
	out->duration_ms = (double)end->wall_ns / 1e6;
	out->user_ms = (double)end->user_us / 1e3;
	out->system_ms = (double)end->system_us / 1e3;
	out->max_rss_bytes = end->max_rss_bytes;
	out->left_behind = end->left > 0;
	return 0;
}

static void release_on_lane(struct running *run)
{
	struct on_lane *g = (struct on_lane *)run;

	cleanup_close(&g->stdout_.from);
	cleanup_close(&g->stderr_.from);
	lane_command_release(&g->c);
	free(g->buf);
	free(g->held);
}

static const struct carrier lane_carrier = {
	RUN_LANE, find_on_lane, start_on_lane, relay_on_lane, release_on_lane};

int agents_run(const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct on_lane g = {.c = {.conn = -1, .in = -1, .out = -1, .error = -1},
		.stdout_ = {.from = -1},
		.stderr_ = {.from = -1}};
	struct err why = ERR_INIT;

	if ((r->host || r->context || r->user) && r->fall_back)
		return r->fall_back(r, ret, e);
	if (run_over(&lane_carrier, &g.run, r, ret, &why) == 0)
		return 0;
	/* A lane that is not there or does not answer; anything else is wrong with the request. */
	if (!g.run.begun && why.kind == ERR_NOT_FOUND && r->fall_back)
		return r->fall_back(r, ret, e);
	return err_copy(e, &why);
}
