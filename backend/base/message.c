/* message.c - creates and frees messages. */
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>

const char *command_kind_name(enum command_kind kind)
{
	static const char *const names[] = {[CMD_ACT] = "act",
		[CMD_AGENTS] = "agents",
		[CMD_JOURNAL] = "journal",
		[CMD_REFRESH] = "refresh",
		[CMD_FOCUS] = "focus",
		[CMD_VISIBLE] = "visible",
		[CMD_RATE] = "rate",
		[CMD_READ_ONLY] = "read-only",
		[CMD_INSPECT] = "inspect",
		[CMD_LOGS_OPEN] = "logs-open",
		[CMD_LOGS_CLOSE] = "logs-close",
		[CMD_SHELL_OPEN] = "shell-open",
		[CMD_SHELL_INPUT] = "shell-input",
		[CMD_SHELL_RESIZE] = "shell-resize",
		[CMD_SHELL_CLOSE] = "shell-close",
		[CMD_JOB_CANCEL] = "job-cancel",
		[CMD_JOB_DISMISS] = "job-dismiss",
		[CMD_JOB_ALLOW] = "job-allow",
		[CMD_IMAGE_IMPORT] = "image-import",
		[CMD_CLEAN_PLAN] = "clean-plan",
		[CMD_CLEAN_RUN] = "clean-run",
		[CMD_CALLS] = "calls",
		[CMD_NET] = "net",
		[CMD_WORKSPACES] = "workspaces",
		[CMD_PATHS] = "paths",
		[CMD_SAVE] = "save",
		[CMD_WORK] = "work",
		[CMD_HOLDINGS] = "holdings"};

	return (size_t)kind < COUNT(names) ? names[kind] : "";
}

const char *event_kind_name(enum event_kind kind)
{
	static const char *const names[] = {[EV_RESULT] = "result",
		[EV_NOTICE] = "notice",
		[EV_ALERT] = "alert",
		[EV_ENGINE] = "engine",
		[EV_INSPECT] = "inspect",
		[EV_JOURNAL] = "journal",
		[EV_CALLS] = "calls",
		[EV_NET] = "net",
		[EV_LOG_LINES] = "log-lines",
		[EV_LOG_END] = "log-end",
		[EV_SHELL_READY] = "shell-ready",
		[EV_SHELL_OUTPUT] = "shell-output",
		[EV_SHELL_END] = "shell-end",
		[EV_PATHS] = "paths",
		[EV_CLEAN_PLAN] = "clean-plan",
		[EV_CLEAN_ITEM] = "clean-item",
		[EV_WORKSPACES] = "workspaces",
		[EV_WORKSPACE] = "workspace",
		[EV_WORKED] = "worked",
		[EV_HOLDINGS] = "holdings",
		[EV_CLEAN_END] = "clean-end"};

	return (size_t)kind < COUNT(names) ? names[kind] : "";
}

struct command *command_new(enum command_kind kind)
{
	struct command *c = xcalloc(1, sizeof *c);

	c->kind = kind;
	if (kind == CMD_ACT)
		c->act.timeout_s = -1;
	if (kind == CMD_LOGS_OPEN)
		c->logs.span.tail = -1;
	arena_init(&c->mem, 512);
	return c;
}

struct view_work *view_work_take(struct view_work **held)
{
	struct view_work *l = held ? *held : NULL;

	if (held)
		*held = NULL;
	return l;
}

static void drop_view_work(struct view_work **held)
{
	struct view_work *l = view_work_take(held);

	if (l)
		l->drop(l);
}

static struct view_work **hold_view_work(struct arena *mem, struct view_work *l)
{
	struct view_work **held = arena_alloc(mem, sizeof *held);

	*held = l;
	return held;
}

void command_work(struct command *c, struct view_work *l)
{
	c->work = hold_view_work(&c->mem, l);
}

void event_work(struct event *e, struct view_work *l)
{
	e->work = hold_view_work(&e->mem, l);
}

void command_free(struct command *c)
{
	if (!c)
		return;
	if (c->kind == CMD_WORK)
		drop_view_work(c->work);
	arena_release(&c->mem);
	free(c);
}

struct event *event_new(enum event_kind kind)
{
	struct event *e = xcalloc(1, sizeof *e);

	e->kind = kind;
	arena_init(&e->mem, 512);
	return e;
}

void event_free(struct event *e)
{
	if (!e)
		return;
	drop_view_work(e->work);
	arena_release(&e->mem);
	free(e);
}

void command_target(struct command *c, const char *engine, const char *id, const char *name)
{
	/* Doubling at powers of two keeps the count as the only state. */
	if ((c->ntargets & (c->ntargets - 1)) == 0) {
		struct target *more =
			arena_array(&c->mem, c->ntargets ? c->ntargets * 2 : 1, sizeof *more);

		if (c->ntargets)
			memcpy(more, c->targets, c->ntargets * sizeof *more);
		c->targets = more;
	}
	c->targets[c->ntargets++] = (struct target){arena_strdup(&c->mem, engine),
		arena_strdup(&c->mem, id), arena_strdup(&c->mem, name)};
}
