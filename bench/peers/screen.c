/* screen.c - runs a console in a pty with a terminal emulator. */
#include "peers/screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vterm.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

struct screen_peer {
	pid_t pid;
	int fd, columns, rows;
	VTerm *vt;
	VTermScreen *screen;
	char *row;
};

static void answer_terminal(const char *bytes, size_t n, void *ctx)
{
	struct screen_peer *p = ctx;

	if (write(p->fd, bytes, n) < 0)
		return;
}

struct screen_peer *peer_start(
	const char *const *argv, const char *const *env, int columns, int rows, struct err *e)
{
	struct screen_peer *p = xcalloc(1, sizeof *p);
	struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};

	p->columns = columns;
	p->rows = rows;
	p->vt = vterm_new(rows, columns);
	vterm_set_utf8(p->vt, 1);
	vterm_output_set_callback(p->vt, answer_terminal, p);
	p->screen = vterm_obtain_screen(p->vt);
	vterm_screen_enable_altscreen(p->screen, 1);
	vterm_screen_reset(p->screen, 1);
	p->row = xmalloc((size_t)columns * 24 + 1);
	p->pid = forkpty(&p->fd, NULL, NULL, &size);
	if (p->pid < 0) {
		err_sys(e, errno, "cannot make a terminal");
		p->fd = -1;
		peer_end(p);
		return NULL;
	}
	if (p->pid == 0) {
		setenv("TERM", "xterm-256color", 1);
		setenv("LANG", "C.UTF-8", 1);
		for (; env && *env; env++)
			putenv((char *)*env);
		execv(argv[0], (char *const *)argv);
		_exit(127);
	}
	fcntl(p->fd, F_SETFL, O_NONBLOCK);
	return p;
}

void peer_end(struct screen_peer *p)
{
	if (!p)
		return;
	if (p->pid > 0) {
		kill(p->pid, SIGTERM);
		peer_drain(p, 200);
		kill(p->pid, SIGKILL);
		waitpid(p->pid, NULL, 0);
	}
	cleanup_close(&p->fd);
	vterm_free(p->vt);
	free(p->row);
	free(p);
}

pid_t peer_pid(const struct screen_peer *p)
{
	return p->pid;
}

void peer_send(struct screen_peer *p, const char *keys)
{
	if (write(p->fd, keys, strlen(keys)) < 0)
		return;
}

/* Read once, waiting at most `ms`; false when nothing came. */
static bool feed_emulator(struct screen_peer *p, int ms)
{
	struct pollfd poll_fd = {p->fd, POLLIN, 0};
	char buf[65536];
	ssize_t n;

	if (poll(&poll_fd, 1, ms) <= 0)
		return false;
	n = read(p->fd, buf, sizeof buf);
	if (n <= 0)
		return false;
	vterm_input_write(p->vt, buf, (size_t)n);
	return true;
}

int64_t peer_wait(struct screen_peer *p, bool (*until)(struct screen_peer *p, void *ctx), void *ctx,
	int timeout_ms)
{
	int64_t deadline = clock_mono_ns() + (int64_t)timeout_ms * 1000000;

	for (;;) {
		int64_t left = (deadline - clock_mono_ns()) / 1000000, read_at;

		if (left <= 0 || !feed_emulator(p, (int)left))
			return until(p, ctx) ? clock_mono_ns() : 0;
		read_at = clock_mono_ns();
		if (until(p, ctx))
			return read_at;
	}
}

void peer_drain(struct screen_peer *p, int ms)
{
	int64_t deadline = clock_mono_ns() + (int64_t)ms * 1000000;

	while (clock_mono_ns() < deadline &&
		feed_emulator(p, (int)((deadline - clock_mono_ns()) / 1000000) + 1))
		;
}

int peer_rows(const struct screen_peer *p)
{
	return p->rows;
}

const char *peer_row(struct screen_peer *p, int row)
{
	size_t n = 0;

	for (int column = 0; column < p->columns; column++) {
		VTermScreenCell cell;

		if (!vterm_screen_get_cell(p->screen, (VTermPos){row, column}, &cell) ||
			cell.chars[0] == (uint32_t)-1)
			continue;
		if (!cell.chars[0])
			p->row[n++] = ' ';
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i]; i++)
			n += utf8_put(cell.chars[i], p->row + n);
	}
	while (n && p->row[n - 1] == ' ')
		n--;
	p->row[n] = '\0';
	return p->row;
}

bool peer_shows(struct screen_peer *p, const char *text)
{
	for (int row = 0; row < p->rows; row++)
		if (strstr(peer_row(p, row), text))
			return true;
	return false;
}
