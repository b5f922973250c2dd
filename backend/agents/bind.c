/* bind.c - assigns an agent its workspace from `berth up` to `berth down`. */
#include "agents/bind.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/share.h>
#include <berth/str.h>
#include <berth/workspace.h>

#define OF_ROOT 1000 /* as of every workspace that `up` makes for root */

static struct workspaces *open_places(struct err *e)
{
	char dir[PATH_MAX];

	return workspaces_dir(dir, sizeof dir, e) ? NULL : workspaces_open(dir, e);
}

/* An empty one in its place would look as if its contents were lost. */
static int refuse_archived(
	const struct agent_def *a, enum workspace_kind kind, const char *name, struct err *e)
{
	const char *folder = workspace_kind_folder(kind);

	return err_set(e, ERR_CONFLICT,
		"the %s %s of the agent %s is archived; restore it first: `berth workspace unarchive "
		"%s/%s`.",
		workspace_kind_name(kind), name, a->id, folder, name);
}

int bind_look(const struct agent_def *a, struct err *e)
{
	enum workspace_kind kind;
	const char *name = workspace_word(a->bound, &kind);
	struct workspaces *w = open_places(e); /* what has an image is mounted by that */
	struct stat st;
	bool archived;

	if (!w)
		return -1;
	archived = name && workspace_is_archived(w, (int)kind, name);
	workspaces_close(w);
	if (stat(a->workspace, &st) == 0)
		return st.st_uid
			? 0
			: err_set(e, ERR_REFUSED,
				  "the %s %s belongs to root, and %s runs as 1000:1000; give it to "
				  "that user: chown -R 1000:1000 %s (`berth up --create` does this).",
				  workspace_kind_name(kind), name, a->id, a->workspace);
	if (errno == ENOENT && archived)
		return refuse_archived(a, kind, name, e);
	return errno == ENOENT
		? err_set(e, ERR_CONFIG,
			  "the %s %s of the agent %s does not exist; create it first (`berth workspace "
			  "create %s %s`, or `berth up --create`).",
			  workspace_kind_name(kind), name, a->id, workspace_kind_name(kind), name)
		: 0;
}

int bind_make(const struct agent_def *a, struct err *e)
{
	struct workspaces *w = open_places(e);
	struct workspace_new n = {.environment = a->image,
		.now_ms = clock_wall_ms(),
		.uid = geteuid() ? (uid_t)-1 : OF_ROOT,
		.gid = geteuid() ? (gid_t)-1 : OF_ROOT};
	struct err why = ERR_INIT;
	int made = 1;

	n.name = workspace_word(a->bound, &n.kind);
	if (!w || !n.name)
		made = -1;
	else if (workspace_is_archived(w, (int)n.kind, n.name) && access(a->workspace, F_OK))
		made = refuse_archived(a, n.kind, n.name, e);
	else if (workspace_create(w, &n, &why))
		made = why.kind == ERR_CONFLICT ? 0 : err_copy(e, &why);
	workspaces_close(w);
	return made;
}

static const char *engine_word(const char *engine)
{
	return *engine ? engine : "-";
}

/* What is mounted beside it must be there. */
static int make_beside_task(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (kind != WORKSPACE_TASK)
		return 0;
	fd = workspace_inbox(w, name, NULL, e);
	return fd < 0 || share_keep(w, name, e) ? -1 : 0;
}

static void name_holder(struct workspace_holder *by, const struct agent_def *a, const char *engine)
{
	snprintf(by->container, sizeof by->container, "%s", a->container);
	snprintf(by->agent, sizeof by->agent, "%s", a->id);
	snprintf(by->engine, sizeof by->engine, "%s", engine_word(engine));
}

static void describe_full(
	struct str *out, uint64_t most, const struct workspace_total *t, size_t before)
{
	char holds[FORMAT_MAX], may[FORMAT_MAX];

	str_addf(out,
		"waiting: all tasks together hold %s, more than %s (workspaces.total_bytes), %zu before this one; the largest:",
		format_bytes(holds, t->bytes), format_bytes(may, most), before);
	for (size_t i = 0; i < t->n; i++)
		str_addf(out, "%s tasks/%s (%s, %s)", i ? "," : "", t->largest[i].name,
			format_bytes(holds, t->largest[i].bytes),
			workspace_state_name(t->largest[i].state));
	str_adds(out, "; make room with `berth workspace archive` or `clean`");
}

static void tell_line(struct agents_host *h, const struct agent_def *a,
	const struct workspace_turn *t, const struct workspace_line *l)
{
	AUTO_STR struct str line = STR_INIT;

	if (l->full)
		describe_full(&line, h->defaults.tasks.bytes, &t->total, l->before);
	else
		str_addf(&line,
			"waiting: %zu of %zu tasks are active (workspaces.active), %zu before this one; `berth workspace list` shows them",
			l->active, h->defaults.tasks.active, l->before);
	if (h->say)
		h->say(h->say_ctx, a->id, line.s);
}

static int refuse_stopped(const struct agents_host *h, const struct agent_def *a,
	const struct workspace_line *l, struct err *e)
{
	if (l->full)
		return err_set(e, ERR_CANCELLED,
			"%s was left unchanged: cancelled while all tasks together held too much.",
			a->id);
	return err_set(e, ERR_CANCELLED,
		"%s was left unchanged: cancelled while %zu of %zu tasks were active.", a->id,
		l->active, h->defaults.tasks.active);
}

int bind_wait(
	struct agents_host *h, const struct agent_def *a, struct bind_turn *ret, struct err *e)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	struct workspace_holder by = {0};
	struct workspace_line line;
	enum workspace_kind kind;
	bool told = false, told_full = false;
	int rc;

	*ret = (struct bind_turn){.turn.fd = -1};
	if ((!h->defaults.tasks.active && !h->defaults.tasks.bytes) || !a->bound ||
		!workspace_word(a->bound, &kind) || kind != WORKSPACE_TASK)
		return 0;
	ret->w = open_places(e);
	if (!ret->w)
		return -1;
	name_holder(&by, a, h->at.info.id);
	while ((rc = workspace_turn(ret->w, &by, &h->defaults.tasks, &ret->turn, &line, e)) == 0) {
		bool *said = line.full ? &told_full : &told;

		if (h->stop && h->stop(h->stop_ctx))
			return refuse_stopped(h, a, &line, e);
		/* Those before it may be about to begin. */
		if (!*said &&
			(line.full ||
				(h->defaults.tasks.active &&
					line.active >= h->defaults.tasks.active))) {
			tell_line(h, a, &ret->turn, &line);
			*said = true;
		}
		nanosleep(&pause, NULL);
	}
	return rc < 0 ? -1 : 0;
}

void bind_waited(struct bind_turn *t)
{
	if (!t->w)
		return;
	workspace_turn_end(t->w, &t->turn);
	workspaces_close(t->w);
	t->w = NULL;
}

int bind_hold(const struct agent_def *a, const char *engine, const struct workspace_limits *usual,
	struct err *e)
{
	struct workspaces *w = open_places(e);
	struct workspace_holder by = {.every_s = a->checkpoints.every_s,
		.keep = a->checkpoints.every_s ? a->checkpoints.keep : 0};
	enum workspace_kind kind;
	const char *name = workspace_word(a->bound, &kind);
	int rc;

	name_holder(&by, a, engine);
	rc = w && name && make_beside_task(w, kind, name, e) == 0 &&
			workspace_quota_begin(w, kind, name, usual, e) >= 0
		? workspace_hold(w, kind, name, &by, e)
		: -1;
	workspaces_close(w);
	return rc;
}

int agents_unbind(const char *container, const char *engine, struct err *e)
{
	char dir[PATH_MAX];
	struct workspaces *w;
	int rc;

	if (workspaces_dir(dir, sizeof dir, e))
		return -1;
	if (access(dir, F_OK))
		return 0; /* nobody has any */
	w = workspaces_open(dir, e);
	rc = w ? workspace_release(w, container, engine_word(engine), e) : -1;
	workspaces_close(w);
	return rc;
}
