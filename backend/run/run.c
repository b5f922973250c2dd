/*
 * run.c - runs a command: finds the container, records the intent, runs it, records the result.
 *
 * What carries it differs (struct carrier, run.h): the lane (run_lane.c) or the engine (run_engine.c).
 */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <berth/str.h>

#include "audit/audit.h"
#include "journal/journal.h"

bool run_reader_left(int errnum)
{
	return errnum == EPIPE || errnum == ECONNRESET;
}

/* Whose output is cut off: as SIGPIPE ends a command when its reader left, otherwise 125 and the sentence. */
static void judge_unwritten(struct run_result *ret, int errnum, int stream)
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

void run_where(struct run_result *ret, const struct lane_about *about)
{
	snprintf(ret->id, sizeof ret->id, "%s", about->id);
	snprintf(ret->name, sizeof ret->name, "%s", about->name);
	snprintf(ret->agent, sizeof ret->agent, "%s", about->agent);
	snprintf(ret->engine, sizeof ret->engine, "%s", about->engine);
	snprintf(ret->session, sizeof ret->session, "%s", about->session);
}

static void tell_place(const struct run_result *r, struct lane_about *ret)
{
	*ret = (struct lane_about){0};
	snprintf(ret->id, sizeof ret->id, "%s", r->id);
	snprintf(ret->name, sizeof ret->name, "%s", r->name);
	snprintf(ret->agent, sizeof ret->agent, "%s", r->agent);
	snprintf(ret->engine, sizeof ret->engine, "%s", r->engine);
	snprintf(ret->session, sizeof ret->session, "%s", r->session);
}

/* errno, and where it went wrong. */
static void judge_not_run(
	struct run_result *ret, const struct run_request *r, enum lane_stage stage, int errnum)
{
	ret->ended = ENDED_FAILED;
	ret->code = errnum;
	ret->exit_code = stage != LANE_AT_EXEC ? 125 : errnum == ENOENT ? 127 : 126;
	if (stage == LANE_AT_CWD && r->cwd)
		err_sys(&ret->err, errnum, "cannot run %s in the directory %.200s", r->argv[0],
			r->cwd);
	else
		err_sys(&ret->err, errnum,
			stage == LANE_AT_EXEC          ? "cannot run %s"
				: stage == LANE_AT_CWD ? "cannot enter the directory for %s"
						       : "cannot start %s",
			r->argv[0]);
}

size_t run_seen(struct running *g, int stream, size_t n)
{
	uint64_t max = g->r->output_max;
	size_t take = n;

	if (max && g->seen[stream] + n > max)
		take = g->seen[stream] < max ? (size_t)(max - g->seen[stream]) : 0;
	g->seen[stream] += n;
	g->out->dropped_bytes += n - take;
	return take;
}

/* The contract: 128+n, and 124 to 127 as env, timeout and docker have them. */
static void judge_end(const struct running *g, const struct run_end *end)
{
	struct run_result *out = g->out;

	out->code = end->code;
	switch (end->how) {
	case LANE_EXIT:
		out->ended = ENDED_EXIT;
		out->exit_code = end->code & 255;
		break;
	case LANE_BY_SIGNAL:
		out->ended = ENDED_SIGNAL;
		out->exit_code = 128 + (end->code & 127);
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
	default: judge_not_run(out, g->r, end->stage, end->code); break;
	}
	/* A shell reports its child's death by SIGKILL as 137; it was the kernel's doing all the same. */
	if (end->oom && out->exit_code == 137 &&
		(out->ended == ENDED_SIGNAL || out->ended == ENDED_EXIT))
		out->ended = ENDED_OOM;
	/* It may have ended before; what is cut off is cut off all the same. */
	if (g->unwritten && (end->how == LANE_CANCELLED || !run_reader_left(g->unwritten)))
		judge_unwritten(out, g->unwritten, g->unwritten_to);
}

struct journal_entry *journal_open_for(const struct run_request *r, const struct lane_about *about)
{
	AUTO_STR struct str command = STR_INIT;

	audit_argv(&command, r->argc, r->argv);
	return journal_begin(about->name, r->program, command.s, r->tty);
}

static int carry_command(
	const struct carrier *t, struct running *g, struct run_end *end, struct err *e)
{
	struct lane_about about;

	if ((g->r->begin && g->r->begin(g->r->by, g->out, e)) || t->start(g, e))
		return -1;
	tell_place(g->out, &about);
	g->journal = journal_open_for(g->r, &about);
	g->begun = true;
	return t->relay(g, end, e);
}

int run_over(const struct carrier *t, struct running *g, const struct run_request *r,
	struct run_result *ret, struct err *e)
{
	struct run_end end = {0};
	struct err why = ERR_INIT;
	int result;

	memset(ret, 0, sizeof *ret);
	ret->ended = ENDED_FAILED;
	ret->exit_code = 125;
	ret->path = t->path;
	g->r = r;
	g->out = ret;
	result = t->find(g, &why);
	if (result > 0) {
		t->release(g);
		return why.kind ? err_copy(e, &why) : 0;
	}
	if (!result)
		result = carry_command(t, g, &end, &why);
	if (result)
		ret->err = why;
	else if (!end.told)
		judge_end(g, &end);
	if (result && (ret->mounts == MOUNTS_UNKNOWN || why.kind == ERR_REFUSED))
		ret->ended = ENDED_REFUSED;
	ret->out_bytes = g->seen[1];
	ret->error_bytes = g->seen[2];
	journal_end(g->journal, ret);
	t->release(g);
	return result ? err_copy(e, &why) : 0;
}
