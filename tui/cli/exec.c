/*
 * exec.c - `berth exec`: one command in a running agent's container.
 *
 * Lives in a program of its own, for it must start fast: it asks no engine, and loads neither libcurl
 * nor curses.  The command's output passes through untouched, as the person asked for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/mem.h>
#include <berth/str.h>

#include "cli/cli.h"
#include "cli/exec.h"
#include "cli/gate.h"
#include "cli/jsonw.h"

#define KEPT_MAX ((size_t)1 << 20) /* of each stream, with --json */

static int cancel_pipe[2], resize_pipe[2];

static void on_end(int sig)
{
	int saved = errno;

	(void)sig;
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

static void watch_signals(bool tty)
{
	struct sigaction end = {.sa_handler = on_end, .sa_flags = SA_RESTART},
			 size = {.sa_handler = on_size, .sa_flags = SA_RESTART};

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (tty)
		sigaction(SIGWINCH, &size, NULL);
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

struct kept {
	struct str text[3];
};

static void keep(void *ctx, int stream, const char *bytes, size_t n)
{
	struct kept *k = ctx;

	str_add(&k->text[stream], bytes, n);
}

static int print_json(const struct run_result *r, const struct kept *k)
{
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.exec/1");
	jsonw_text(&j, "ended", run_ended_name(r->ended));
	jsonw_int(&j, "exit_code", r->exit_code);
	if (r->ended == ENDED_SIGNAL)
		jsonw_int(&j, "signal", r->code);
	else
		jsonw_null(&j, "signal");
	jsonw_text(&j, "path", r->path == RUN_LANE ? "lane" : "engine");
	jsonw_number(&j, "duration_ms", r->duration_ms, 3);
	jsonw_number(&j, "user_ms", r->user_ms, 3);
	jsonw_number(&j, "system_ms", r->system_ms, 3);
	jsonw_uint(&j, "max_rss_bytes", r->max_rss_bytes);
	jsonw_textn(&j, "stdout", k->text[1].s, k->text[1].len);
	jsonw_textn(&j, "stderr", k->text[2].s, k->text[2].len);
	jsonw_uint(&j, "stdout_bytes", r->out_bytes);
	jsonw_uint(&j, "stderr_bytes", r->error_bytes);
	jsonw_uint(&j, "dropped_bytes", r->dropped_bytes);
	if (r->err.kind)
		jsonw_text(&j, "error", r->err.msg);
	else
		jsonw_null(&j, "error");
	jsonw_end(&j);
	return jsonw_print(&j);
}

/* "1.5" seconds, as the option gives them. */
static int timeout_of(const struct cli *c, int64_t *ms, struct err *e)
{
	const char *text = cli_value(c, "timeout");
	char *end;
	double s;

	*ms = 0;
	if (!text)
		return 0;
	s = strtod(text, &end);
	if (*end || end == text || !(s > 0) || s > 604800)
		return err_set(e, ERR_USAGE,
			"--timeout takes seconds from 0.001 to 604800, not `%s`.", text);
	*ms = (int64_t)(s * 1000 + 0.5);
	return 0;
}

static int run(const struct cli *c, const struct policy *policy, struct run_result *r,
	struct kept *kept, struct err *e)
{
	bool tty = cli_flag(c, "tty"), json = cli_flag(c, "json");
	struct termios before, raw;
	struct run_request q = {.agent = c->argv[0],
		.argv = (const char *const *)c->argv + 1,
		.argc = (size_t)c->argc - 1,
		.tty = tty,
		.in = STDIN_FILENO,
		.out = STDOUT_FILENO,
		.error = STDERR_FILENO,
		.cancel_fd = cancel_pipe[0],
		.resize_fd = tty ? resize_pipe[0] : -1,
		.size = terminal_size};
	int result;

	if (q.argc && !strcmp(q.argv[0], "--")) {
		q.argv++;
		q.argc--;
	}
	if (!q.argc)
		return err_set(
			e, ERR_USAGE, "exec needs a command: berth exec %s -- ls", c->argv[0]);
	if (timeout_of(c, &q.timeout_ms, e))
		return -1;
	if (tty && (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before)))
		return err_set(e, ERR_USAGE, "-t asks for a terminal, but standard input is none.");
	if (!tty && isatty(STDIN_FILENO))
		q.in = -1;
	if (json) {
		q.output = keep;
		q.ctx = kept;
		q.output_max = KEPT_MAX;
	}
	if (tty) {
		terminal_size(NULL, &q.columns, &q.rows);
		raw = before;
		cfmakeraw(&raw);
		tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
	}
	result = agents_run_recorded(&q, policy, "exec", r, e);
	if (tty)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &before);
	return result;
}

int cli_exec(const struct cli *c)
{
	struct kept kept = {{STR_INIT, STR_INIT, STR_INIT}};
	struct run_result r = {.ended = ENDED_FAILED, .exit_code = 125};
	struct err e = ERR_INIT;
	struct policy policy;
	struct arena mem;

	if (pipe2(cancel_pipe, O_CLOEXEC | O_NONBLOCK) ||
		pipe2(resize_pipe, O_CLOEXEC | O_NONBLOCK)) {
		err_sys(&e, errno, "cannot make a pipe");
		cli_fail(&e);
		return 125;
	}
	watch_signals(cli_flag(c, "tty"));
	arena_init(&mem, 1024);
	if (cli_policy(c, &policy, &mem, &e) || run(c, &policy, &r, &kept, &e)) {
		r.err = e;
		/* Wrong usage is berth's own failure to those who wait for the command's exit code. */
		r.exit_code = 125;
	}
	if (cli_flag(c, "json"))
		print_json(&r, &kept);
	else if (r.err.kind)
		cli_fail(&r.err);
	else if (r.ended == ENDED_OOM)
		fputs("berth: the command was ended for want of memory\n", stderr);
	for (int i = 0; i < 3; i++)
		str_release(&kept.text[i]);
	arena_release(&mem);
	return r.exit_code;
}
