/* command.c - relays a command's streams and reports how it ended. */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789"
#define KEPT_MAX ((size_t)1 << 20) /* of each stream, with --json */

static int cancel_pipe[2], resize_pipe[2];
static volatile sig_atomic_t ended_by; /* the signal, or 0 */

static void on_end_signal(int sig)
{
	int saved = errno;

	ended_by = sig;
	if (write(cancel_pipe[1], "x", 1) < 0)
		errno = saved;
	errno = saved;
}

static void on_size(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(resize_pipe[1], "x", 1) < 0)
		errno = saved;
	errno = saved;
}

static sigset_t get_ending_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return set;
}

static void watch_signals(bool tty)
{
	const sigset_t held = get_ending_signals();
	struct sigaction end = {.sa_handler = on_end_signal, .sa_flags = SA_RESTART},
			 size = {.sa_handler = on_size, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (tty)
		sigaction(SIGWINCH, &size, NULL);
	/* Held back by the program that became this one. */
	sigprocmask(SIG_UNBLOCK, &held, NULL);
}

bool command_hand_on(struct command_io *io)
{
	struct pollfd p = {io->q.cancel_fd, POLLIN, 0};
	const sigset_t held = get_ending_signals();

	command_close(io);
	sigprocmask(SIG_BLOCK, &held, NULL);
	return poll(&p, 1, 0) <= 0;
}

static void terminal_size(void *ctx, int *columns, int *rows)
{
	struct winsize w;

	(void)ctx;
	*columns = 80;
	*rows = 24;
	if (!ioctl(STDIN_FILENO, TIOCGWINSZ, &w) && w.ws_col && w.ws_row) {
		*columns = w.ws_col;
		*rows = w.ws_row;
	}
}

static void keep_output_text(void *ctx, int stream, const char *bytes, size_t n)
{
	struct command_io *io = ctx;

	str_add(&io->text[stream], bytes, n);
}

int cli_timeout(const struct cli *c, int64_t *ms, struct err *e)
{
	const char *text = cli_value(c, "timeout");
	char *end;
	double s;

	*ms = 0;
	if (!text)
		return 0;
	s = strtod(text, &end);
	/* 0.0001 would be no limit; hexadecimal and blanks are strtod's, nobody's seconds. */
	if (*end || text[strspn(text, "0123456789.")] || !(s >= 0.001) || s > 604800)
		return err_set(e, ERR_USAGE,
			"--timeout takes seconds from 0.001 to 604800, not `%s`.", text);
	*ms = (int64_t)(s * 1000 + 0.5);
	return 0;
}

/* -e NAME=VALUE, or NAME for the value that it has here; with a terminal its TERM before them. */
static int add_variables(struct command_io *io, const struct cli *c, struct err *e)
{
	io->env = xcalloc(c->ngiven + 2, sizeof *io->env);
	io->q.env = io->env;
	if (io->q.tty) {
		io->term = xasprintf("TERM=%s", getenv("TERM") ? getenv("TERM") : "xterm");
		io->env[io->q.envc++] = io->term;
	}
	for (size_t i = 0; i < c->ngiven; i++) {
		const char *text = c->given[i].value;
		size_t n;

		if (strcmp(c->given[i].option->name, "env") != 0)
			continue;
		n = strcspn(text, "=");
		if (!n || strspn(text, NAME_CHARS) < n || (*text >= '0' && *text <= '9'))
			return err_set(e, ERR_USAGE,
				"--env takes NAME=VALUE, or NAME for the value it has here, not "
				"\"%.60s\".",
				text);
		if (text[n]) {
			io->env[io->q.envc++] = text;
			continue;
		}
		/* The environment is a list of just such texts. */
		for (char **own = environ; *own; own++)
			if (!strncmp(*own, text, n) && (*own)[n] == '=')
				io->env[io->q.envc++] = *own;
	}
	return 0;
}

int command_open(struct command_io *io, const struct cli *c, struct err *e)
{
	bool tty = cli_flag(c, "tty");

	*io = (struct command_io){.text = {STR_INIT, STR_INIT, STR_INIT}};
	if (pipe2(cancel_pipe, O_CLOEXEC | O_NONBLOCK) ||
		pipe2(resize_pipe, O_CLOEXEC | O_NONBLOCK))
		return err_sys(e, errno, "cannot make a pipe");
	watch_signals(tty);
	io->q = (struct run_request){.tty = tty,
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.error = STDERR_FILENO,
		.cancel_fd = cancel_pipe[0],
		.resize_fd = tty ? resize_pipe[0] : -1,
		.size = terminal_size};
	if (cli_timeout(c, &io->q.timeout_ms, e))
		return -1;
	if (tty && (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &io->before)))
		return err_set(e, ERR_USAGE, "-t needs a terminal, but standard input is not one.");
	if (!tty && !cli_flag(c, "interactive") && isatty(STDIN_FILENO))
		io->q.in = -1;
	io->q.cwd = cli_value(c, "workdir");
	io->q.user = cli_value(c, "user");
	if (add_variables(io, c, e))
		return -1;
	if (cli_flag(c, "json")) {
		io->q.output = keep_output_text;
		io->q.ctx = io;
		io->q.output_max = KEPT_MAX;
	}
	if (tty) {
		struct termios raw = io->before;

		terminal_size(NULL, &io->q.columns, &io->q.rows);
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
		io->raw = true;
	}
	return 0;
}

void command_close(struct command_io *io)
{
	if (io->raw)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &io->before);
	io->raw = false;
}

void command_release(struct command_io *io)
{
	command_close(io);
	for (int i = 0; i < 3; i++)
		str_release(&io->text[i]);
	free(io->env);
	free(io->term);
}

void command_words(const struct cli *c, struct run_request *q)
{
	q->argv = (const char *const *)c->words;
	q->argc = (size_t)c->nwords;
}

void command_json(struct jsonw *j, const struct command_io *io, const struct run_result *r)
{
	jsonw_text(j, "ended", run_ended_name(r->ended));
	jsonw_int(j, "exit_code", r->exit_code);
	if (r->ended == ENDED_SIGNAL)
		jsonw_int(j, "signal", r->code);
	else
		jsonw_null(j, "signal");
	jsonw_text(j, "path", r->path == RUN_LANE ? "lane" : "engine");
	jsonw_text(j, "mounts", mounts_state_name(r->mounts));
	jsonw_text(j, "tree", r->left_behind ? "left" : r->whole_tree ? "whole" : "best effort");
	jsonw_number(j, "duration_ms", r->duration_ms, 3);
	/* The engine does not say what a command used. */
	if (r->path == RUN_ENGINE) {
		jsonw_null(j, "user_ms");
		jsonw_null(j, "system_ms");
		jsonw_null(j, "max_rss_bytes");
	} else {
		jsonw_number(j, "user_ms", r->user_ms, 3);
		jsonw_number(j, "system_ms", r->system_ms, 3);
		jsonw_uint(j, "max_rss_bytes", r->max_rss_bytes);
	}
	jsonw_textn(j, "stdout", io->text[1].s, io->text[1].len);
	jsonw_textn(j, "stderr", io->text[2].s, io->text[2].len);
	jsonw_uint(j, "stdout_bytes", r->out_bytes);
	jsonw_uint(j, "stderr_bytes", r->error_bytes);
	jsonw_uint(j, "dropped_bytes", r->dropped_bytes);
	if (r->err.kind)
		jsonw_text(j, "error", r->err.msg);
	else
		jsonw_null(j, "error");
}

void command_cancelled(struct run_result *r)
{
	if (r->err.kind != ERR_CANCELLED || !ended_by)
		return;
	r->ended = ENDED_CANCELLED;
	r->exit_code = 128 + ended_by;
}

void command_tell(const struct run_result *r)
{
	if (r->err.kind) {
		text_init(); /* here, for a command that ends well need not load it */
		cli_fail(&r->err);
	} else if (r->ended == ENDED_OOM) {
		fputs("berth: the command was killed: out of memory\n", stderr);
	}
	if (r->left_behind) {
		char shown[sizeof r->name];

		text_init();
		fprintf(stderr,
			"berth: not all processes that the command started could be ended; some may still run in %s\n",
			*r->name ? text_clean(shown, sizeof shown, r->name) : "its container");
	}
	if (r->dropped_bytes)
		fprintf(stderr, "berth: %llu bytes of its output were dropped: over the limit\n",
			(unsigned long long)r->dropped_bytes);
}
