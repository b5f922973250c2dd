/* terminals_start.c - starts a terminal's command and hands it to the process that keeps it; stops and shows one. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/spawn.h>

#include "lane/wire_io.h"
#include "terminals/screen_file.h"
#include "terminals/terminals.h"

#define PROGRAM "berth-terminal"
#define START_MS 10000

int terminals_read(
	const char *container, const char *name, struct terminal_screen *ret, struct err *e)
{
	char path[TERMINALS_PATH_MAX];
	struct err why = ERR_INIT;

	if (terminals_file(container, name, TERMINALS_SCREEN, path, e))
		return -1;
	if (!screen_file_read(path, ret, &why))
		return 0;
	if (why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	return err_set(e, ERR_NOT_FOUND,
		"%s has no terminal named `%s`; `berth terminal list` prints those there are",
		container, name);
}

static int lock_folder(const char *container, struct err *e)
{
	char path[TERMINALS_PATH_MAX];
	AUTO_CLOSE int fd = -1;

	if (terminals_place(container, "lock", path, e))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "cannot create %s", path);
	if (flock(fd, LOCK_EX))
		return err_sys(e, errno, "cannot lock %s", path);
	return steal_fd(&fd);
}

/* In a child of ours that has nothing to lose. */
static void become_keeper(const char *program, const char *container, int control)
{
	char *const argv[] = {(char *)PROGRAM, (char *)container, NULL}, *const envp[] = {NULL};
	int null = open("/dev/null", O_RDWR), at = fcntl(control, F_DUPFD, TERMINALS_FDS);

	if (null < 0 || at < 0 || dup2(at, TERMINALS_FD_CONTROL) < 0)
		_exit(1);
	for (int i = 0; i < TERMINALS_FD_CONTROL; i++)
		dup2(null, i);
	syscall(SYS_close_range, TERMINALS_FDS, ~0U, 0);
	if (chdir("/"))
		_exit(1);
	execve(program, argv, envp);
	_exit(1);
}

static int start_keeper(const char *container, struct err *e)
{
	char program[PATH_MAX];
	AUTO_CLOSE int control = -1;
	int pid;

	if (runtime_program(PROGRAM, program, e))
		return err_wrap(e, "terminals need a berth that was built with libvterm");
	control = terminals_listen(container, e);
	if (control < 0)
		return -1;
	pid = spawn_orphan();
	if (pid < 0)
		return err_sys(
			e, errno, "cannot start the process of the terminals of %s", container);
	if (pid == 0)
		become_keeper(program, container, control);
	return 0;
}

static int say_all(
	int conn, const struct terminals_keep *keep, int screen, const struct lane_command *c)
{
	const int fds[] = {c->conn, c->in, c->out};

	return wire_send_fds(conn, (enum lane_type)TERMINALS_SHOW_IN, NULL, 0, &screen, 1) ||
			wire_send_fds(
				conn, (enum lane_type)TERMINALS_KEEP, keep, sizeof *keep, fds, 3)
		? -1
		: 0;
}

/* To the process that runs, which may be about to end with its last terminal; else to a new one. */
int terminals_hand_over(const char *container, const struct terminals_keep *keep, int screen,
	const struct lane_command *c, struct err *e)
{
	for (int i = 0; i < 2; i++) {
		struct err why = ERR_INIT;
		AUTO_CLOSE int conn = terminals_dial(container, &why);

		if (conn >= 0 && say_all(conn, keep, screen, c))
			err_set(&why, ERR_NOT_FOUND, "the process of the terminals of %s has ended",
				container);
		else if (conn >= 0 && !terminals_hear(conn, container, &why))
			return 0;
		if (i || why.kind != ERR_NOT_FOUND)
			return err_copy(e, &why);
		if (start_keeper(container, e))
			return -1;
	}
	return -1;
}

/* Its init says so before it runs it. */
static int await_start(struct lane_command *c, const char *container, struct err *e)
{
	struct pollfd p = {c->conn, POLLIN, 0};
	struct lane_ended end;
	int what;

	if (poll(&p, 1, START_MS) <= 0)
		return err_set(e, ERR_TIMEOUT,
			"lane lost: the init of %s does not start the command; is it paused?",
			container);
	what = lane_next(c, &end, e);
	if (what == 1)
		return 0;
	return what < 0
		? -1
		: err_sys(e, (int)end.code, "the init of %s cannot start the command", container);
}

/* The screen of one that ended is replaced when the command has started. */
static int hand_over_at(const char *path, const char *container, const struct terminals_keep *keep,
	const struct lane_command *c, struct err *e)
{
	struct screen_file f;
	struct err why = ERR_INIT;
	int result;

	if (screen_file_open(&f, path, e))
		return -1;
	result = terminals_hand_over(container, keep, f.fd, c, &why);
	if (result)
		unlink(path);
	screen_file_close(&f);
	if (result && (why.sys == ENOSPC || why.sys == EDQUOT))
		return err_sys(e, why.sys, "cannot write %s", path);
	return result ? err_copy(e, &why) : 0;
}

static int start_on(const struct lane_about *about, const struct terminals_wish *w,
	const struct lane_request *r, const char *path, struct err *e)
{
	struct lane_request request = *r;
	struct lane_command c = {.conn = -1, .in = -1, .out = -1, .error = -1};
	struct terminals_keep keep = {.columns = w->columns, .rows = w->rows};
	int result;

	request.limits.flags |= LANE_TTY;
	request.limits.columns = (uint16_t)w->columns;
	request.limits.rows = (uint16_t)w->rows;
	snprintf(keep.name, sizeof keep.name, "%s", w->name);
	snprintf(keep.command, sizeof keep.command, "%s", w->command);
	result = lane_start(about, &request, &c, e) || await_start(&c, about->name, e) ? -1 : 0;
	keep.supervisor = c.supervisor > 0 ? c.supervisor : 0;
	if (!result)
		result = hand_over_at(path, about->name, &keep, &c, e);
	lane_command_release(&c);
	return result;
}

int terminals_start(const struct lane_about *about, const struct terminals_wish *w,
	const struct lane_request *r, struct err *e)
{
	AUTO_FREE struct terminal_row *row = xcalloc(TERMINALS_MAX, sizeof *row);
	char path[TERMINALS_PATH_MAX];
	AUTO_CLOSE int lock = -1;
	bool known = false;
	size_t n;

	if (w->columns < TERMINAL_COLUMNS_MIN || w->columns > TERMINAL_COLUMNS_MAX || w->rows < 1 ||
		w->rows > TERMINAL_ROWS_MAX)
		return err_set(e, ERR_USAGE,
			"a terminal has %d to %d columns and 1 to %d rows, not %dx%d",
			TERMINAL_COLUMNS_MIN, TERMINAL_COLUMNS_MAX, TERMINAL_ROWS_MAX, w->columns,
			w->rows);
	if (terminals_file(about->name, w->name, TERMINALS_SCREEN, path, e))
		return -1;
	lock = lock_folder(about->name, e);
	if (lock < 0)
		return -1;
	n = terminals_list(about->name, row, TERMINALS_MAX);
	for (size_t i = 0; i < n; i++)
		known |= !strcmp(row[i].name, w->name);
	if (!known && w->restart)
		return err_set(e, ERR_NOT_FOUND, "the terminal `%s` of %s was stopped", w->name,
			about->name);
	if (!known && n == TERMINALS_MAX)
		return err_set(e, ERR_REFUSED,
			"%s already has %d terminals, which is the limit; `berth terminal stop` removes one",
			about->name, TERMINALS_MAX);
	if (screen_file_kept(path))
		return err_set(e, ERR_CONFLICT,
			"the terminal `%s` of %s is already running; stop it, or name another",
			w->name, about->name);
	return start_on(about, w, r, path, e);
}

static int ask_to_stop(const char *container, const char *name, struct err *e)
{
	AUTO_CLOSE int conn = terminals_dial(container, e);
	char named[TERMINAL_NAME_MAX] = "";

	if (conn < 0)
		return -1;
	snprintf(named, sizeof named, "%s", name);
	if (wire_send(conn, (enum lane_type)TERMINALS_STOP, named, sizeof named))
		return err_sys(e, errno, "cannot ask for the terminals of %s", container);
	return terminals_hear(conn, container, e);
}

static int stop_running(const char *container, const char *name, const char *path, struct err *e)
{
	struct err why = ERR_INIT;

	/* It may end before its process hears of this; what is not kept any more has ended. */
	if (!ask_to_stop(container, name, &why) || !screen_file_kept(path))
		return 0;
	if (why.kind == ERR_TIMEOUT || why.sys == EAGAIN)
		return err_set(e, ERR_TIMEOUT,
			"the command of the terminal `%s` of %s does not end; is the container paused?",
			name, container);
	return err_copy(e, &why);
}

int terminals_stop(const char *container, const char *name, struct err *e)
{
	struct terminal_screen s = {0};
	char path[TERMINALS_PATH_MAX];
	AUTO_CLOSE int lock = -1;

	if (terminals_file(container, name, TERMINALS_SCREEN, path, e))
		return -1;
	/* A start that is under way is waited for: what it starts is stopped. */
	lock = lock_folder(container, e);
	if (lock < 0 || terminals_read(container, name, &s, e))
		return -1;
	terminal_screen_release(&s);
	if (s.status == TERMINAL_RUNS && stop_running(container, name, path, e))
		return -1;
	if (unlink(path) && errno != ENOENT)
		return err_sys(e, errno, "cannot remove %s", path);
	return 0;
}
