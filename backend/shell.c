/* shell.c - a terminal in a container: bytes both ways, raw, for the person asked for them. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

struct shell {
	struct shell *next;
	struct backend *b;
	uint64_t id;
	struct engine_tty *tty;
};

static void on_ready(void *ctx)
{
	struct shell *sh = ctx;
	struct event *ev;

	if (sh->b->stopping)
		return;
	ev = event_new(EV_SHELL_READY);
	ev->id = sh->id;
	backend_up(sh->b, ev);
}

static void on_output(void *ctx, const char *bytes, size_t n)
{
	struct shell *sh = ctx;
	struct event *ev;
	char *copy;

	if (sh->b->stopping)
		return;
	ev = event_new(EV_SHELL_OUTPUT);
	ev->id = sh->id;
	copy = arena_alloc(&ev->mem, n + 1);
	memcpy(copy, bytes, n);
	ev->bytes = copy;
	ev->nbytes = n;
	backend_up(sh->b, ev);
}

static void on_end(void *ctx, int exit_code, const struct err *err)
{
	struct shell *sh = ctx;
	struct shell **p = &sh->b->shells;
	struct event *ev = event_new(EV_SHELL_END);

	ev->id = sh->id;
	ev->exit_code = exit_code;
	if (err)
		ev->err = *err;
	backend_up(sh->b, ev);
	while (*p != sh)
		p = &(*p)->next;
	*p = sh->next;
	free(sh);
}

static const struct engine_tty_events events = {on_ready, on_output, on_end};

static int may_open(struct backend *b, const struct command *c, struct err *e)
{
	const struct target *t = c->targets;
	const struct row *r;

	if (!c->ntargets || !c->argc)
		return err_set(e, ERR_USAGE, "A shell needs a container and a command.");
	if (backend_may_change(b, "a shell", e) < 0)
		return -1;
	r = strcmp(t->engine, b->model.engine) == 0 ? model_find(&b->model, t->id) : NULL;
	if (!r)
		return err_set(e, ERR_NOT_FOUND, "%s does not exist any more.", t->name);
	if (r->inspected && r->c.state != CONTAINER_RUNNING)
		return err_set(e, ERR_CONFLICT, "%s is %s: a shell needs a running container.",
			t->name, container_state_name(r->c.state));
	return 0;
}

void shell_open(struct backend *b, const struct command *c)
{
	struct err e = ERR_INIT;
	struct shell *sh;

	if (may_open(b, c, &e) < 0) {
		struct event *ev = event_new(EV_SHELL_END);

		ev->id = c->id;
		ev->err = e;
		ev->exit_code = -1;
		backend_up(b, ev);
		return;
	}
	sh = xcalloc(1, sizeof *sh);
	sh->b = b;
	sh->id = c->id;
	sh->next = b->shells;
	b->shells = sh;
	sh->tty = engine_exec_tty(
		b->engine, c->targets[0].id, c->argv, c->argc, c->columns, c->rows, &events, sh);
}

void shell_command(struct backend *b, const struct command *c)
{
	struct shell *sh = b->shells;

	while (sh && sh->id != c->ref)
		sh = sh->next;
	/* It may have ended while the command was on its way. */
	if (!sh || !sh->tty)
		return;
	if (c->kind == CMD_SHELL_INPUT) {
		if (!engine_tty_input(sh->tty, c->bytes, c->nbytes))
			backend_notice(b,
				"The command in the container reads nothing: "
				"what was typed was dropped.");
	} else if (c->kind == CMD_SHELL_RESIZE) {
		engine_tty_resize(sh->tty, c->columns, c->rows);
	} else {
		engine_tty_close(sh->tty);
	}
}

void shell_pause(struct backend *b, bool paused)
{
	for (struct shell *sh = b->shells; sh; sh = sh->next)
		engine_tty_pause(sh->tty, paused);
}

void shell_stop(struct backend *b)
{
	for (struct shell *sh = b->shells; sh; sh = sh->next)
		engine_tty_close(sh->tty);
}
