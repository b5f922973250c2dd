/*
 * workspaces.c - workspaces for the console: looked at and counted on worker threads.
 *
 * A look costs a few milliseconds for a thousand of them, and next to nothing where nothing changed.  A
 * count is a job: it is on the board, and can be cancelled.  What changes a workspace is not done here:
 * those are commands of berth, as processes (tui/app/task_acts.c).
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/overview.h>
#include <berth/runtime.h>

struct workspaces_work {
	struct blocking_task work;
	struct workspaces_work *next;
	struct backend *b;
	uint64_t seen;
	bool whole;
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	int64_t older_ns;
	struct job *job; /* with older_ns */
	struct event *answer;
	atomic_bool stop;
};

/* ---- the worker's */

static bool go_on_counting(void *ctx, const struct workspace_info *next, size_t done, size_t all)
{
	struct workspaces_work *w = ctx;

	if (!done)
		job_total(w->job, all, 0);
	else
		job_add(w->job, 1, 0, 0);
	job_current(w->job, next->name);
	return !atomic_load(&w->stop) && !job_cancelled(w->job);
}

static bool go_on_looking(void *ctx, const struct workspace_info *next, size_t done, size_t all)
{
	struct workspaces_work *w = ctx;

	(void)done;
	(void)all;
	job_current(w->job, next->name);
	return !atomic_load(&w->stop) && !job_cancelled(w->job);
}

static void count_workspaces(struct workspaces_work *w, const char *data, struct err *e)
{
	AUTO_FREE char *dir = xasprintf("%s/workspaces", data);
	struct err why = ERR_INIT;
	struct workspaces *all = workspaces_peek(dir, &why);
	bool stopped;

	if (all && workspace_usage_renew(all, w->older_ns, go_on_counting, w, &why) == 0)
		workspace_git_renew(all, w->older_ns, go_on_looking, w, &why);
	workspaces_close(all);
	if (why.kind == ERR_NOT_FOUND)
		why = (struct err)ERR_INIT;
	stopped = atomic_load(&w->stop) || job_cancelled(w->job);
	job_end(w->job, why.kind ? JOB_FAILED : stopped ? JOB_CANCELLED : JOB_DONE, why.msg);
	if (why.kind)
		err_copy(e, &why);
}

static void look_at_one(struct workspaces_work *w, const char *data)
{
	struct event *ev = w->answer;
	struct overview_one *one = arena_alloc(&ev->mem, sizeof *one);

	if (overview_one(data, keeper_find(), w->kind, w->name, w->seen, one, &ev->mem, &ev->err) ==
		0) {
		ev->kind = EV_WORKSPACE;
		ev->workspace = one;
	}
}

static void look_at_all(struct workspaces_work *w, const char *data)
{
	struct event *ev = w->answer;
	struct overview *all = arena_alloc(&ev->mem, sizeof *all);

	if (overview_look(data, keeper_find(), w->seen, all, &ev->mem, &ev->err) == 0) {
		ev->kind = EV_WORKSPACES;
		ev->overview = all;
	}
}

static void work_on_workspaces(struct blocking_task *x)
{
	struct workspaces_work *w = x->data;
	char data[PATH_MAX];
	int rc = data_dir(data, sizeof data, &w->answer->err);

	if (w->older_ns) {
		if (rc == 0)
			count_workspaces(w, data, &w->answer->err);
		else
			job_end(w->job, JOB_FAILED, w->answer->err.msg);
	} else if (rc == 0 && w->whole) {
		look_at_one(w, data);
	} else if (rc == 0) {
		look_at_all(w, data);
	}
}

/* ---- the loop's */

static void on_workspaces_done(struct blocking_task *x)
{
	struct workspaces_work *w = x->data, **p = &w->b->workspaces;

	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
	if (w->b->stopping)
		event_free(w->answer);
	else
		backend_up(w->b, w->answer);
	free(w);
}

void workspaces_command(struct backend *b, const struct command *c)
{
	struct workspaces_work *w = xcalloc(1, sizeof *w);
	int refused;

	w->work.data = w;
	w->b = b;
	w->seen = c->workspaces.seen;
	w->whole = c->workspaces.whole;
	w->kind = c->workspaces.kind;
	w->older_ns = c->workspaces.older_ns;
	snprintf(w->name, sizeof w->name, "%s", c->workspaces.name ? c->workspaces.name : "");
	w->answer = event_new(EV_RESULT);
	w->answer->id = c->id;
	if (w->older_ns)
		w->job = job_new(backend_board(b), "count workspaces", b->user, "workspaces", true);
	w->next = b->workspaces;
	b->workspaces = w;
	refused = blocking_start(&b->loop, &w->work, work_on_workspaces, on_workspaces_done);
	if (!refused)
		return;
	err_sys(&w->answer->err, refused, "Cannot start a thread to look at the workspaces");
	if (w->job)
		job_end(w->job, JOB_FAILED, w->answer->err.msg);
	on_workspaces_done(&w->work);
}

void workspaces_stop(struct backend *b)
{
	for (struct workspaces_work *w = b->workspaces; w; w = w->next)
		atomic_store(&w->stop, true);
}
