/*
 * shell.c - `x`: gives the terminal to a program in a container until it exits.
 *
 * Bytes pass as they are, both ways: the person asked for them.  Ctrl-] leaves it (said before), so
 * that a program that hangs cannot keep the terminal.  Afterwards the terminal is reset to a known
 * state, whatever that program did to it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app_state.h"

#define LEAVE_KEY 0x1D /* Ctrl-] */

#define ALTERNATE "\033[?1049" /* and h or l */

struct shell {
	uint64_t id; /* of CMD_SHELL_OPEN */
	char *name;
	bool ended, left; /* left: by Ctrl-], before it ended */
	bool alternate;   /* its program is in the alternate screen */
	size_t matched;   /* bytes of ALTERNATE that came last */
	int exit_code;
	struct err err;
};

static void send_bytes(struct app *a, const char *bytes, size_t n)
{
	struct command *c = command_new(CMD_SHELL_INPUT);
	char *copy = arena_alloc(&c->mem, n);

	memcpy(copy, bytes, n);
	c->ref = a->shell->id;
	c->input.bytes = copy;
	c->input.n = n;
	app_send(a, c);
}

static void send_size(struct app *a)
{
	struct command *c = command_new(CMD_SHELL_RESIZE);

	c->ref = a->shell->id;
	screen_size(a->screen, &c->size.columns, &c->size.rows);
	app_send(a, c);
}

/* What was typed behind `:shell`, cut up in place. */
static int shell_words(struct app *a, const char *words[TASK_WORDS_MAX], struct err *e)
{
	return a->shell_words ? task_words(a->shell_words, words, e) : 0;
}

static void set_shell_words(struct command *c, const char *const *words, size_t n)
{
	c->shell.argv = arena_array(&c->mem, n, sizeof *c->shell.argv);
	c->shell.argc = n;
	for (size_t i = 0; i < n; i++)
		c->shell.argv[i] = arena_strdup(&c->mem, words[i]);
}

void app_shell(struct app *a, const struct target *t)
{
	/* The better shell where there is one. */
	static const char *const command[] = {
		"sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"};
	const char *words[TASK_WORDS_MAX] = {NULL}, *user = NULL;
	struct err e = ERR_INIT;
	struct command *c;
	int n, at = 0;

	if (a->shell)
		return;
	n = shell_words(a, words, &e);
	if (n > 0 && !strcmp(words[0], "-u")) {
		user = n > 1 ? words[1] : NULL;
		at = 2;
	}
	if (n < 0 || (at && !user)) {
		app_say(a, ROLE_WARN, "%s", n < 0 ? e.msg : "shell [-u USER] [COMMAND ...]");
		return;
	}
	if (app_read_only(a)) {
		app_say(a, ROLE_WARN, "Read-only: no shell is opened.");
		return;
	}
	if (app_may(a, OP_CONTAINER_SHELL, snapshot_find(a->live, t->engine, t->id), &e) < 0) {
		app_say(a, ROLE_WARN, "%s", e.msg);
		return;
	}
	if (!a->screen) {
		app_say(a, ROLE_WARN, "A shell needs a terminal.");
		return;
	}
	c = command_new(CMD_SHELL_OPEN);
	c->shell.user = arena_strdup(&c->mem, user);
	set_shell_words(
		c, n > at ? words + at : command, n > at ? (size_t)(n - at) : COUNT(command));
	command_target(c, t->engine, t->id, t->name);
	c->shell.columns = a->canvas.columns;
	c->shell.rows = a->canvas.rows;
	a->shell = xcalloc(1, sizeof *a->shell);
	a->shell->name = xstrdup(t->name);
	a->shell->id = app_send(a, c);
}

static void note_alternate(struct shell *s, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (s->matched == strlen(ALTERNATE) && (bytes[i] == 'h' || bytes[i] == 'l'))
			s->alternate = bytes[i] == 'h';
		if (s->matched < strlen(ALTERNATE) && bytes[i] == ALTERNATE[s->matched])
			s->matched++;
		else
			s->matched = bytes[i] == ALTERNATE[0];
	}
}

void shell_event(struct app *a, const struct event *e)
{
	struct shell *s = a->shell;

	if (!s || e->id != s->id)
		return;
	if (e->kind == EV_SHELL_OUTPUT && !s->ended) {
		note_alternate(s, e->bytes, e->nbytes);
		file_write(STDOUT_FILENO, e->bytes, e->nbytes);
	}
	if (e->kind == EV_SHELL_END) {
		s->ended = true;
		s->exit_code = e->exit_code;
		s->err = e->err;
	}
}

static void leave_shell(struct app *a)
{
	struct command *c = command_new(CMD_SHELL_CLOSE);

	c->ref = a->shell->id;
	app_send(a, c);
	a->shell->ended = a->shell->left = true;
}

/* Keys go to the shell, all but the one that leaves it. */
static void take_keys(struct app *a, bool hangup)
{
	char buf[4096];
	ssize_t n = read(STDIN_FILENO, buf, sizeof buf);
	const char *end;

	if (n <= 0) {
		if (hangup || n == 0 || (errno != EAGAIN && errno != EINTR)) {
			leave_shell(a);
			a->quit = true;
			a->exit_code = 1;
		}
		return;
	}
	end = memchr(buf, LEAVE_KEY, (size_t)n);
	if (end)
		n = end - buf;
	if (n > 0)
		send_bytes(a, buf, (size_t)n);
	if (end)
		leave_shell(a);
}

/* What is typed meanwhile is not for us: only signals are taken. */
static void take_signals(struct app *a)
{
	struct input in;

	while (screen_signal(a->screen, true, &in)) {
		if (in.kind == INPUT_RESIZE) {
			send_size(a);
		} else if (in.kind == INPUT_END) {
			leave_shell(a);
			a->quit = true;
		}
	}
}

/* The terminal is ours again. */
static void return_from_shell(struct app *a, const struct input *size)
{
	struct shell *s = a->shell;
	char name[128];

	text_clean(name, sizeof name, s->name);
	app_input(a, size);
	if (s->err.kind)
		app_say(a, ROLE_BAD, "%s", s->err.msg);
	else if (s->left)
		app_say(a, ROLE_DIM, "Left the shell in %s.", name);
	else
		app_say(a, s->exit_code ? ROLE_WARN : ROLE_DIM, "The shell in %s ended with %d.",
			name, s->exit_code);
	shell_free(a);
}

void shell_relay(struct app *a)
{
	struct pollfd fds[3] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = screen_signal_fd(a->screen), .events = POLLIN},
		{.fd = backend_fd(a->o->backend), .events = POLLIN}};
	struct shell *s = a->shell;
	struct input size = {.kind = INPUT_RESIZE};
	char buf[512], name[128];

	screen_leave(a->screen);
	snprintf(buf, sizeof buf, "\r\nberth: a shell in %s; exit or Ctrl-] returns\r\n",
		text_clean(name, sizeof name, s->name));
	file_write(STDOUT_FILENO, buf, strlen(buf));
	while (!s->ended && !a->quit) {
		int n = poll(fds, COUNT(fds), -1);

		if (n < 0 && errno != EINTR)
			check_die("berth: cannot wait for terminal input");
		if (n > 0 && fds[2].revents)
			app_drain(a);
		if (n > 0 && fds[1].revents)
			take_signals(a);
		if (n > 0 && fds[0].revents && !s->ended)
			take_keys(a, fds[0].revents & (POLLHUP | POLLERR));
	}
	if (a->quit) {
		shell_free(a);
		return;
	}
	/* Leaving it restores the cursor saved on entry: where nobody entered it, one above the text printed since.
	 */
	if (s->alternate)
		file_write(STDOUT_FILENO, ALTERNATE "l", strlen(ALTERNATE "l"));
	if (s->left)
		file_write(STDOUT_FILENO, "\r\n", 2);
	screen_return(a->screen);
	screen_size(a->screen, &size.x, &size.y);
	return_from_shell(a, &size);
}

void shell_free(struct app *a)
{
	if (!a->shell)
		return;
	free(a->shell->name);
	free(a->shell);
	a->shell = NULL;
}
