/* shell.c - connects a terminal to a shell in a container, passing raw bytes both ways. */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/message.h>
#include <berth/str.h>

#include "container/container.h"

struct shell {
	struct shell *next;
	struct backend *b;
	struct site *at; /* NULL: it is of no engine that is shown */
	uint64_t id;
	struct engine_tty *tty; /* NULL: its intent is not on disk yet */
	bool closing;           /* the person left before it was */
	struct gate_ticket *ticket;
	size_t argc;
	const char **argv;
	int columns, rows;
	const char *engine, *target, *name, *user; /* user: NULL: the container's */
	struct start start; /* whose mounts were checked; pid 0: a stranger's */
	struct str command; /* as it is recorded */
	struct arena mem;
};

static void on_shell_ready(void *ctx)
{
	struct shell *sh = ctx;
	struct event *ev;

	if (sh->b->stopping)
		return;
	ev = event_new(EV_SHELL_READY);
	ev->id = sh->id;
	backend_up(sh->b, ev);
}

static void on_shell_output(void *ctx, const char *bytes, size_t n)
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

static void on_shell_end(void *ctx, int exit_code, const struct err *err)
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
	gate_end(sh->ticket, err);
	str_release(&sh->command);
	arena_release(&sh->mem);
	free(sh);
}

static const struct engine_tty_events events = {on_shell_ready, on_shell_output, on_shell_end};

static const char *label_of(const struct row *r, const char *key)
{
	for (size_t i = 0; i < r->nlabels; i++)
		if (!strcmp(r->labels[i].key, key))
			return r->labels[i].value;
	return "";
}

/* As for every other command (run/target.c). */
static int check_shell_mounts(struct shell *sh, const struct row *r, struct err *e)
{
	const struct container *c = &r->c;
	enum mounts_state m = checked_look(c->id, c->pid, &sh->start, e);

	if (m == MOUNTS_CHECKED)
		return 0;
	sh->start.pid = 0;
	if (m != MOUNTS_STRANGER)
		return -1;
	if (!tree_is_here(c->pid, c->id) ||
		!own_proven(sh->engine, c->name, label_of(r, "berth.session"),
			label_of(r, "berth.proof")))
		return 0;
	return err_set(e, ERR_REFUSED,
		"The mounts of %s since its start are unknown, so nothing runs in it; "
		"bring its agent up again.",
		c->name);
}

/* A stop of the container unmakes what was made in it, so from here on it is this start or none. */
static int on_shell_made(void *ctx, struct err *e)
{
	const struct shell *sh = ctx;

	if (!sh->start.pid || start_lives(&sh->start))
		return 0;
	return err_set(e, ERR_REFUSED,
		"%s was restarted just now; its mounts have not been checked since.", sh->name);
}

/* Another user inside than the one that a container of berth's has would have what its definition did not give; also for
 * one that only calls itself so (run/target.c). */
static int check_shell_user(const struct shell *sh, const struct row *r, struct err *e)
{
	if (!sh->user || (r->inspected && !sh->start.pid && !*label_of(r, "berth.session")))
		return 0;
	if (!r->inspected)
		return err_set(e, ERR_CONFLICT,
			"berth does not know %s well enough yet to open a shell as another user; try again.",
			r->c.name);
	return err_set(e, ERR_REFUSED,
		"%s was created by berth: shells run as its own user, not as %.60s; with enable_sudo in its definition, use sudo inside.",
		r->c.name, sh->user);
}

static int may_open(struct shell *sh, const struct command *c, struct err *e)
{
	const struct target *t = c->targets;
	const struct row *r;

	if (!c->ntargets || !c->shell.argc)
		return err_set(e, ERR_USAGE, "A shell needs a container and a command.");
	r = sh->at ? model_find(&sh->at->model, t->id) : NULL;
	if (!r)
		return err_set(e, ERR_NOT_FOUND, "%s no longer exists.", t->name);
	if (r->inspected && r->c.state != CONTAINER_RUNNING)
		return err_set(e, ERR_CONFLICT, "%s is %s: a shell needs a running container.",
			t->name, container_state_name(r->c.state));
	if (check_shell_mounts(sh, r, e) < 0 || check_shell_user(sh, r, e) < 0)
		return -1;
	return site_may_change(sh->at, "open the shell", e);
}

static void start_shell(struct shell *sh)
{
	static const char *const env[] = {"TERM=xterm-256color"};
	const struct engine_exec_ask ask = {.argv = sh->argv,
		.env = env,
		.argc = sh->argc,
		.envc = 1,
		.user = sh->user,
		.tty = true,
		.input = true,
		.columns = sh->columns,
		.rows = sh->rows,
		.made = on_shell_made};

	sh->tty = engine_exec(sh->at->engine, sh->target, &ask, &events, sh);
	if (sh->tty && sh->b->paused)
		engine_tty_pause(sh->tty, true);
}

/* The intent is on disk, or it is known why it is not. */
static void on_shell_intent(void *ctx, const struct err *err)
{
	struct shell *sh = ctx;
	struct err e = ERR_INIT;

	if (!err && (sh->closing || sh->b->stopping || !sh->at->engine)) {
		err_set(&e, ERR_CANCELLED, "The shell was closed before it was open.");
		err = &e;
	}
	if (err)
		on_shell_end(sh, -1, err);
	else
		start_shell(sh);
}

static struct shell *shell_new(struct backend *b, const struct command *c)
{
	struct shell *sh = xcalloc(1, sizeof *sh);

	arena_init(&sh->mem, 512);
	str_init(&sh->command);
	sh->b = b;
	sh->id = c->id;
	sh->columns = c->shell.columns;
	sh->rows = c->shell.rows;
	sh->argc = c->shell.argc;
	sh->argv = arena_array(&sh->mem, sh->argc + 1, sizeof *sh->argv);
	for (size_t i = 0; i < sh->argc; i++)
		sh->argv[i] = arena_strdup(&sh->mem, c->shell.argv[i]);
	sh->engine = arena_strdup(&sh->mem, c->ntargets ? c->targets[0].engine : "");
	sh->at = site_of(b, sh->engine);
	sh->target = arena_strdup(&sh->mem, c->ntargets ? c->targets[0].id : "");
	sh->name = arena_strdup(&sh->mem, c->ntargets ? c->targets[0].name : "");
	sh->user = arena_strdup(&sh->mem, c->shell.user);
	audit_argv(&sh->command, sh->argc, sh->argv);
	sh->next = b->shells;
	b->shells = sh;
	return sh;
}

void shell_open(struct backend *b, const struct command *c)
{
	struct shell *sh = shell_new(b, c);
	const struct target t = {sh->engine, sh->target, sh->name};
	const struct key_value params[] = {
		{"command", sh->command.s, false}, {"user", sh->user, false}};
	struct record_target of;
	struct audit_record r =
		record_of_container(sh->at ? sh->at : b->home, OP_CONTAINER_SHELL, &t, &of);
	struct err e = ERR_INIT;

	r.params = params;
	r.nparams = sh->user ? 2 : 1;
	if (may_open(sh, c, &e) == 0)
		sh->ticket = gate_begin(gate_of(sh->at), &r, &of, on_shell_intent, sh, &e);
	if (!sh->ticket)
		on_shell_end(sh, -1, &e);
}

void shell_command(struct backend *b, const struct command *c)
{
	struct shell *sh = b->shells;

	while (sh && sh->id != c->ref)
		sh = sh->next;
	/* It may have ended while the command was on its way. */
	if (!sh)
		return;
	if (!sh->tty) {
		sh->closing |= c->kind == CMD_SHELL_CLOSE;
		if (c->kind == CMD_SHELL_RESIZE) {
			sh->columns = c->size.columns;
			sh->rows = c->size.rows;
		}
		return;
	}
	if (c->kind == CMD_SHELL_INPUT) {
		if (!engine_tty_input(sh->tty, c->input.bytes, c->input.n))
			backend_notice(b,
				"The command in the container does not read its input: typed input was dropped.");
	} else if (c->kind == CMD_SHELL_RESIZE) {
		engine_tty_resize(sh->tty, c->size.columns, c->size.rows);
	} else {
		engine_tty_close(sh->tty);
	}
}

void shell_pause(struct backend *b, bool paused)
{
	for (struct shell *sh = b->shells; sh; sh = sh->next)
		if (sh->tty) /* else its intent is not on disk yet */
			engine_tty_pause(sh->tty, paused);
}

void shell_stop(struct backend *b)
{
	for (struct shell *sh = b->shells; sh; sh = sh->next)
		if (sh->tty)
			engine_tty_close(sh->tty);
}
