/*
 * run.c - one function runs every command.
 *
 * Over the lane where there is one; the registry names the container and the cgroup proves it, so the
 * engine is not asked at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/file.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "run/journalled.h"
#include "run/run.h"
#include "audit/audit.h"
#include "journal/journal.h"
#include "lane/lane.h"

#define CHUNK 65536
#define LEFT_MS 1000

const char *run_ended_name(enum run_ended r)
{
	static const char *const names[] = {
		"exit", "signal", "timeout", "oom", "cancelled", "refused", "failed"};

	return names[r];
}

struct stream {
	int from, to;
	int number; /* 1 or 2; 0: standard input */
	uint64_t seen, max;
	size_t ahead; /* bytes still in `from` that the journal has seen */
	bool plain;   /* `to` takes no splice */
};

struct running {
	const struct run_request *r;
	struct run_result *out;
	struct lane_command c;
	struct stream in, stdout_, stderr_;
	struct lane_ended end;
	struct journal_entry *journal; /* NULL: none is kept */
	int64_t lasts_ns; /* when it has run for so long that `lasts` is called; 0: it was */
	bool ended, cancelled;
	int unwritten; /* errno of a write of output that made this end the command; 0: none */
	int unwritten_to;
	char *buf;  /* CHUNK bytes */
	char *held; /* input that the command has not taken yet */
	size_t held_at, held_n;
};

bool run_reader_left(int errnum)
{
	return errnum == EPIPE || errnum == ECONNRESET;
}

void run_unwritten(struct run_result *ret, int errnum, int stream)
{
	if (run_reader_left(errnum)) {
		ret->ended = ENDED_CANCELLED;
		ret->exit_code = 128 + SIGPIPE;
		return;
	}
	ret->ended = ENDED_FAILED;
	ret->code = errnum;
	ret->exit_code = 125;
	if (!ret->err.kind)
		err_sys(&ret->err, errnum, "cannot write the command's output to standard %s",
			stream == 2 ? "error" : "output");
}

static void drain_stream(struct running *g, struct stream *s);

/* Nobody takes this output any more.  A command whose reader left meets that itself, as it would on the
 * host; behind a terminal there is a relay that would not tell it, and a full disk it cannot see. */
static void lose_output(struct running *g, struct stream *s, int errnum)
{
	s->to = -1;
	if (run_reader_left(errnum) && !g->r->tty) {
		drain_stream(g, s); /* into the journal */
		return;
	}
	if (g->cancelled)
		return;
	g->unwritten = errnum;
	g->unwritten_to = s->number;
	g->cancelled = true;
	if (!g->ended)
		lane_cancel(&g->c);
}

static void deliver_chunk(struct running *g, struct stream *s, size_t n)
{
	size_t take = n, known = g->journal && s->ahead < n ? s->ahead : n;
	int errnum = 0;

	if (g->journal) {
		s->ahead -= known;
		journal_add(g->journal, s->number, g->buf + known, n - known);
	}
	if (s->max && s->seen + n > s->max)
		take = s->seen < s->max ? (size_t)(s->max - s->seen) : 0;
	s->seen += n;
	g->out->dropped_bytes += n - take;
	if (!take)
		return;
	if (g->r->output)
		g->r->output(g->r->ctx, s->number, g->buf, take);
	else if (s->to >= 0)
		errnum = file_write(s->to, g->buf, take) < 0 ? errno : 0;
	if (errnum)
		lose_output(g, s, errnum);
}

/* A pipe straight into another descriptor, where the kernel can do that.  true: done for now. */
static bool splice_stream(struct running *g, struct stream *s)
{
	ssize_t n;

	if (g->r->output || s->plain || s->max || s->to < 0)
		return false;
	if (!g->journal)
		s->ahead = CHUNK * 16;
	else if (!s->ahead && (n = journal_peek(g->journal, s->number, s->from)) > 0)
		s->ahead = (size_t)n;
	if (!s->ahead)
		return false;
	n = splice(s->from, NULL, s->to, NULL, s->ahead, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n > 0) {
		s->seen += (uint64_t)n;
		s->ahead -= (size_t)n;
		return true;
	}
	if (n < 0 && errno == EAGAIN) {
		/* The reader may be slow: wait for it, not for us. */
		struct pollfd p = {s->to, POLLOUT, 0};

		poll(&p, 1, 100);
		return g->journal != NULL;
	}
	s->plain = n < 0 && errno != EINTR;
	return false;
}

static void pump_stream(struct running *g, struct stream *s)
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
static void feed_input(struct running *g)
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

static int on_lane(struct running *g, struct err *e)
{
	struct err why = ERR_INIT;
	int what = lane_next(&g->c, &g->end, &why);

	if (what < 0 && !g->c.supervisor)
		return err_copy(e, &why); /* it never ran */
	if (what < 0)
		lane_broke(&g->c, &g->end, &g->out->err);
	else if (what == 2 && g->end.left)
		g->end.left = (uint32_t)lane_end_command(&g->c, LEFT_MS);
	g->ended |= what == 2 || what < 0;
	return 0;
}

/* The guest had its time. */
static int on_overdue(struct running *g, struct err *e)
{
	struct err why = ERR_INIT;
	int what = lane_overdue(&g->c, &g->end, &why);

	if (what < 0)
		return err_copy(e, &why);
	if (what == 2) {
		g->out->err = why;
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

static int next_lasts_ms(const struct running *g)
{
	int64_t left = g->lasts_ns - clock_mono_ns();

	return !g->lasts_ns ? -1 : left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

static int next_wait_ms(const struct running *g)
{
	return pick_sooner(
		pick_sooner(journal_wait_ms(g->journal), lane_wait_ms(&g->c)), next_lasts_ms(g));
}

enum { P_LANE, P_OUT, P_ERROR, P_IN_FROM, P_IN_TO, P_CANCEL, P_RESIZE, P_COUNT };

/* With its tree gone all that a command wrote is in the pipe.  Whoever else holds the other end (it can be
 * passed on, to a process of another command, or something lives that could not be ended) is not waited for. */
static void drain_stream(struct running *g, struct stream *s)
{
	int room = s->from >= 0 ? fcntl(s->from, F_GETPIPE_SZ) : 0;
	uint64_t most = s->seen + (room > 0 ? (uint64_t)room : 0);

	while (s->from >= 0 && s->seen < most) {
		struct pollfd p = {s->from, POLLIN, 0};

		if (poll(&p, 1, 0) <= 0)
			break;
		pump_stream(g, s);
	}
	cleanup_close(&s->from);
	s->from = -1;
}

static int relay_streams(struct running *g, struct err *e)
{
	while (!g->ended) {
		struct pollfd p[P_COUNT] = {{g->c.conn, POLLIN, 0}, {g->stdout_.from, POLLIN, 0},
			{g->stderr_.from, POLLIN, 0},
			{g->in.to >= 0 && !g->held_n ? g->in.from : -1, POLLIN, 0},
			{g->held_n ? g->in.to : -1, POLLOUT, 0},
			{g->cancelled ? -1 : g->r->cancel_fd, POLLIN, 0},
			{g->r->resize_fd, POLLIN, 0}};
		int n = poll(p, P_COUNT, next_wait_ms(g));

		if (n < 0 && errno != EINTR)
			return err_sys(e, errno, "waiting for the command failed");
		if (n < 0)
			continue;
		if (on_overdue(g, e))
			return -1;
		journal_tick(g->journal);
		if (!next_lasts_ms(g)) {
			g->lasts_ns = 0;
			g->r->lasts(g->r->by);
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

			if (read(g->r->resize_fd, &byte, 1) > 0 && g->r->size) {
				g->r->size(g->r->ctx, &columns, &rows);
				lane_resize(&g->c, columns, rows);
			}
		}
		if (p[P_LANE].revents && on_lane(g, e))
			return -1;
	}
	drain_stream(g, &g->stdout_);
	drain_stream(g, &g->stderr_);
	return 0;
}

void run_where(struct run_result *ret, const struct lane_about *about)
{
	snprintf(ret->id, sizeof ret->id, "%s", about->id);
	snprintf(ret->name, sizeof ret->name, "%s", about->name);
	snprintf(ret->agent, sizeof ret->agent, "%s", about->agent);
	snprintf(ret->engine, sizeof ret->engine, "%s", about->engine);
	snprintf(ret->session, sizeof ret->session, "%s", about->session);
}

void run_about(const struct run_result *r, struct lane_about *ret)
{
	*ret = (struct lane_about){0};
	snprintf(ret->id, sizeof ret->id, "%s", r->id);
	snprintf(ret->name, sizeof ret->name, "%s", r->name);
	snprintf(ret->agent, sizeof ret->agent, "%s", r->agent);
	snprintf(ret->engine, sizeof ret->engine, "%s", r->engine);
	snprintf(ret->session, sizeof ret->session, "%s", r->session);
}

void run_not_started(struct run_result *ret, enum lane_stage stage, int errnum, const char *command)
{
	ret->ended = ENDED_FAILED;
	ret->code = errnum;
	ret->exit_code = stage != LANE_AT_EXEC ? 125 : errnum == ENOENT ? 127 : 126;
	err_sys(&ret->err, errnum,
		stage == LANE_AT_EXEC          ? "cannot run %s"
			: stage == LANE_AT_CWD ? "cannot enter the directory for %s"
					       : "cannot start %s",
		command);
}

/* A shell reports its child's death by SIGKILL as 137; it was the kernel's doing all the same. */
void run_oom(struct run_result *ret, bool killed)
{
	if (killed && ret->exit_code == 137 &&
		(ret->ended == ENDED_SIGNAL || ret->ended == ENDED_EXIT))
		ret->ended = ENDED_OOM;
}

/* The contract: 128+n, and 124 to 127 as env, timeout and docker have them. */
static void judge_end(struct running *g, bool oom)
{
	struct run_result *out = g->out;
	const struct lane_ended *end = &g->end;

	out->code = (int)end->code;
	switch ((enum lane_how)end->how) {
	case LANE_EXIT:
		out->ended = ENDED_EXIT;
		out->exit_code = out->code & 255;
		break;
	case LANE_BY_SIGNAL:
		out->ended = ENDED_SIGNAL;
		out->exit_code = 128 + (out->code & 127);
		break;
	case LANE_TIMED_OUT:
		out->ended = ENDED_TIMEOUT;
		out->exit_code = 124;
		break;
	case LANE_CANCELLED:
		out->ended = ENDED_CANCELLED;
		out->exit_code = 128 + SIGTERM;
		break;
	case LANE_NOT_RUN:
	default: run_not_started(out, (enum lane_stage)end->stage, out->code, g->r->argv[0]); break;
	}
	run_oom(out, oom);
	if (g->unwritten && (end->how == LANE_CANCELLED || !run_reader_left(g->unwritten)))
		run_unwritten(out, g->unwritten, g->unwritten_to);
	out->duration_ms = (double)end->wall_ns / 1e6;
	out->user_ms = (double)end->user_us / 1e3;
	out->system_ms = (double)end->system_us / 1e3;
	out->max_rss_bytes = end->max_rss_bytes;
	out->left_behind = end->left > 0;
}

struct journal_entry *journal_open_for(const struct run_request *r, const struct lane_about *about)
{
	AUTO_STR struct str command = STR_INIT;

	audit_argv(&command, r->argc, r->argv);
	return journal_begin(about->name, r->program, command.s, r->tty);
}

static int begin_on(const struct run_request *r, struct run_result *ret,
	const struct lane_about *about, struct err *e)
{
	run_where(ret, about);
	return r->begin ? r->begin(r->by, ret, e) : 0;
}

int agents_run(const struct run_request *r, struct run_result *ret, struct err *e)
{
	struct running g = {
		.r = r, .out = ret, .c = {.conn = -1, .in = -1, .out = -1, .error = -1}};
	struct lane_request request = {.argv = r->argv,
		.argc = r->argc,
		.env = r->env,
		.envc = r->envc,
		.cwd = r->cwd,
		.limits = {.flags = r->tty ? LANE_TTY : 0,
			.timeout_ms =
				r->timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)r->timeout_ms,
			.columns = (uint16_t)r->columns,
			.rows = (uint16_t)r->rows}};
	struct lane_about about;
	struct err why = ERR_INIT;
	uint64_t ooms;
	int result;

	memset(ret, 0, sizeof *ret);
	ret->ended = ENDED_FAILED;
	ret->exit_code = 125;
	ret->path = RUN_LANE;
	if ((r->host || r->context) && r->fall_back)
		return r->fall_back(r, ret, e);
	if (lane_find(r->agent, &about, &why) || begin_on(r, ret, &about, &why) ||
		lane_start(&about, &request, &g.c, &why)) {
		/* A lane that is not there or does not answer; anything else is wrong with the request. */
		if (why.kind == ERR_NOT_FOUND && r->fall_back)
			return r->fall_back(r, ret, e);
		ret->err = why;
		return err_copy(e, &why);
	}
	ret->mounts = MOUNTS_CHECKED;
	ret->whole_tree = true;
	ooms = oom_kills(g.c.guest, about.id);
	g.journal = journal_open_for(r, &about);
	g.lasts_ns = r->lasts ? clock_mono_ns() + RUN_LASTS_MS * INT64_C(1000000) : 0;
	g.buf = xmalloc(CHUNK);
	g.held = xmalloc(CHUNK);
	g.stdout_ = (struct stream){g.c.out, r->out, 1, 0, r->output_max, 0, false};
	g.stderr_ = (struct stream){g.c.error, r->error, 2, 0, r->output_max, 0, false};
	g.c.out = g.c.error = -1; /* pump closes them */
	g.in = (struct stream){r->in, g.c.in, 0, 0, 0, 0, false};
	if (r->in < 0) {
		cleanup_close(&g.c.in);
		g.c.in = g.in.to = -1;
	}
	result = relay_streams(&g, e);
	if (result) {
		if (e)
			ret->err = *e;
	} else {
		judge_end(&g,
			(g.end.how != LANE_EXIT || g.end.code != 0) &&
				oom_kills(g.c.guest, about.id) > ooms);
	}
	journal_end(g.journal, ret);
	ret->out_bytes = g.stdout_.seen;
	ret->error_bytes = g.stderr_.seen;
	cleanup_close(&g.stdout_.from);
	cleanup_close(&g.stderr_.from);
	lane_command_release(&g.c);
	free(g.buf);
	free(g.held);
	return result;
}
