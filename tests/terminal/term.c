/* term.c - a program in a terminal, for tests: a pty whose other end is libvterm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <utmp.h>
#include <vterm.h>
#include <cmocka.h>

#include "terminal/term.h"

#define WAIT_MS 60000
#define MODE_MAX 2100
#define OUTPUT_MAX ((size_t)64 << 20)

struct term {
	pid_t pid;
	int pidfd, master;
	bool ended;
	int status;
	VTerm *vt;
	VTermScreen *screen;
	VTermPos cursor;
	struct termios before;
	char *out;
	size_t nout, cap;
	char row[4096];
	/* a small reader of CSI ? n ; n h|l: libvterm keeps some modes to itself */
	enum { GROUND, ESCAPE, CSI, PRIVATE } state;
	int numbers[8], nnumbers;
	bool modes[MODE_MAX];
};

static struct term *last; /* a test that fails does not come to its term_free */

static void read_modes(struct term *t, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char c = bytes[i];

		if (c == '\033') {
			t->state = ESCAPE;
		} else if (t->state == ESCAPE) {
			t->state = c == '[' ? CSI : GROUND;
		} else if (t->state == CSI) {
			t->state = c == '?' ? PRIVATE : GROUND;
			t->nnumbers = 1;
			memset(t->numbers, 0, sizeof t->numbers);
		} else if (t->state == PRIVATE) {
			int *number = &t->numbers[t->nnumbers - 1];

			if (c >= '0' && c <= '9' && *number < MODE_MAX) {
				*number = *number * 10 + (c - '0');
			} else if (c == ';' && t->nnumbers < 8) {
				t->nnumbers++;
			} else {
				for (int k = 0; (c == 'h' || c == 'l') && k < t->nnumbers; k++) {
					if (t->numbers[k] < MODE_MAX)
						t->modes[t->numbers[k]] = c == 'h';
				}
				t->state = GROUND;
			}
		}
	}
}

static int on_cursor(VTermPos pos, VTermPos old, int visible, void *user)
{
	struct term *t = user;

	(void)old, (void)visible;
	t->cursor = pos;
	return 1;
}

static const VTermScreenCallbacks callbacks = {.movecursor = on_cursor};

/* Answers of the terminal to the program's questions. */
static void on_terminal_reply(const char *bytes, size_t len, void *user)
{
	struct term *t = user;

	if (t->master >= 0 && write(t->master, bytes, len) < 0)
		return; /* nobody listens any more */
}

static void apply_env(const char *const *env)
{
	for (; env && *env; env++) {
		char *copy = strdup(*env), *eq = strchr(copy, '=');

		if (eq) {
			*eq = '\0';
			setenv(copy, eq + 1, 1);
		} else {
			unsetenv(copy);
		}
		free(copy);
	}
}

struct term *term_start(const char *const *argv, const char *const *env, int columns, int rows)
{
	struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};
	struct term *t = calloc(1, sizeof *t);
	int slave;

	assert_non_null(t);
	last = t;
	t->modes[25] = true; /* a terminal begins with a cursor */
	t->vt = vterm_new(rows, columns);
	vterm_set_utf8(t->vt, 1);
	vterm_output_set_callback(t->vt, on_terminal_reply, t);
	t->screen = vterm_obtain_screen(t->vt);
	vterm_screen_set_callbacks(t->screen, &callbacks, t);
	vterm_screen_enable_altscreen(t->screen, 1);
	vterm_screen_reset(t->screen, 1);
	assert_int_equal(openpty(&t->master, &slave, NULL, NULL, &size), 0);
	fcntl(t->master, F_SETFD, FD_CLOEXEC);
	assert_int_equal(tcgetattr(slave, &t->before), 0);
	t->pid = fork();
	assert_true(t->pid >= 0);
	if (t->pid == 0) {
		login_tty(slave);
		apply_env(env);
		execvp(argv[0], (char *const *)argv);
		dprintf(2, "cannot run %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	/* Our copy of the slave stays closed: the program's end must be noticed as a lost terminal
	 * is. */
	close(slave);
	fcntl(t->master, F_SETFL, O_NONBLOCK);
	t->pidfd = pidfd_open(t->pid, 0);
	assert_true(t->pidfd >= 0);
	return t;
}

void term_free(struct term *t)
{
	if (!t)
		return;
	if (t == last)
		last = NULL;
	if (!t->ended) {
		kill(t->pid, SIGKILL);
		waitpid(t->pid, NULL, 0);
	}
	if (t->master >= 0)
		close(t->master);
	close(t->pidfd);
	vterm_free(t->vt);
	free(t->out);
	free(t);
}

void term_free_last(void)
{
	term_free(last);
}

static void keep_output(struct term *t, const char *bytes, size_t n)
{
	if (t->nout + n > t->cap) {
		assert_true(t->nout + n < OUTPUT_MAX);
		t->cap = 2 * (t->nout + n);
		t->out = realloc(t->out, t->cap);
		assert_non_null(t->out);
	}
	memcpy(t->out + t->nout, bytes, n);
	t->nout += n;
	read_modes(t, bytes, n);
	vterm_input_write(t->vt, bytes, n);
}

/* Read what there is. */
static bool drain_pty(struct term *t)
{
	char buf[65536];
	ssize_t n = t->master < 0 ? 0 : read(t->master, buf, sizeof buf);

	if (n > 0)
		keep_output(t, buf, (size_t)n);
	return n > 0;
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

bool term_wait(struct term *t, bool (*until)(struct term *t, void *ctx), void *ctx, int ms)
{
	int64_t deadline = now_ms() + ms;

	for (;;) {
		struct pollfd fds[2] = {{.fd = t->master, .events = POLLIN},
			{.fd = t->ended ? -1 : t->pidfd, .events = POLLIN}};
		int64_t left = deadline - now_ms();

		while (drain_pty(t))
			;
		if (!t->ended && waitpid(t->pid, &t->status, WNOHANG) == t->pid) {
			t->ended = true;
			while (drain_pty(t))
				;
		}
		if (until(t, ctx))
			return true;
		if (left <= 0)
			return false;
		/* after its end the master only says POLLHUP, at once: nothing more will come */
		if (t->ended)
			return false;
		poll(fds, 2, (int)left);
	}
}

void term_send(struct term *t, const char *bytes)
{
	size_t n = strlen(bytes);

	while (n > 0) {
		ssize_t done = write(t->master, bytes, n);
		struct pollfd fd = {.fd = t->master, .events = POLLOUT};

		if (done < 0 && errno == EAGAIN) {
			drain_pty(t);
			poll(&fd, 1, 100);
			continue;
		}
		assert_true(done > 0);
		bytes += done;
		n -= (size_t)done;
	}
}

void term_resize(struct term *t, int columns, int rows)
{
	struct winsize size = {.ws_col = (unsigned short)columns, .ws_row = (unsigned short)rows};

	vterm_set_size(t->vt, rows, columns);
	assert_int_equal(ioctl(t->master, TIOCSWINSZ, &size), 0);
}

void term_signal(struct term *t, int sig)
{
	assert_int_equal(kill(t->pid, sig), 0);
}

void term_hang_up(struct term *t)
{
	close(t->master);
	t->master = -1;
}

pid_t term_pid(const struct term *t)
{
	return t->pid;
}

int term_columns(const struct term *t)
{
	int rows, columns;

	vterm_get_size(t->vt, &rows, &columns);
	return columns;
}

int term_rows(const struct term *t)
{
	int rows, columns;

	vterm_get_size(t->vt, &rows, &columns);
	return rows;
}

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80)
		return out[0] = (char)c, 1;
	if (c < 0x800)
		return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
	if (c < 0x10000)
		return out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
		       out[2] = (char)(0x80 | (c & 63)), 3;
	return out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
	       out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

const char *term_row(struct term *t, int row)
{
	size_t n = 0, used = 0;

	for (int column = 0; column < term_columns(t) && n < sizeof t->row - 64; column++) {
		VTermScreenCell cell;

		vterm_screen_get_cell(t->screen, (VTermPos){row, column}, &cell);
		if (cell.chars[0] == (uint32_t)-1)
			continue; /* the right half of a wide one */
		if (!cell.chars[0])
			t->row[n++] = ' ';
		for (int k = 0; k < VTERM_MAX_CHARS_PER_CELL && cell.chars[k]; k++) {
			n += put_utf8(t->row + n, cell.chars[k]);
			if (cell.chars[k] != ' ')
				used = n;
		}
	}
	t->row[used] = '\0';
	return t->row;
}

bool term_find(struct term *t, const char *text, int *row, int *column)
{
	for (int r = 0; r < term_rows(t); r++) {
		const char *line = term_row(t, r), *at = strstr(line, text);

		if (!at)
			continue;
		if (row)
			*row = r;
		if (column) {
			/* wide characters before it are not counted twice: enough for tests */
			*column = 0;
			for (const char *p = line; p < at; p++)
				*column += ((unsigned char)*p & 0xC0) != 0x80;
		}
		return true;
	}
	return false;
}

void term_dump(struct term *t)
{
	fprintf(stderr, "screen of %d columns, %s:\n", term_columns(t),
		t->ended ? "the program has ended" : "the program runs");
	for (int r = 0; r < term_rows(t); r++)
		fprintf(stderr, "%3d|%s\n", r, term_row(t, r));
}

static bool has_text(struct term *t, void *text)
{
	return term_find(t, text, NULL, NULL);
}

static bool lacks_text(struct term *t, void *text)
{
	return !term_find(t, text, NULL, NULL);
}

static bool has_ended(struct term *t, void *ctx)
{
	(void)ctx;
	return t->ended;
}

void term_expect(struct term *t, const char *text)
{
	if (term_wait(t, has_text, (void *)(uintptr_t)text, WAIT_MS))
		return;
	term_dump(t);
	fail_msg("\"%s\" did not appear", text);
}

void term_expect_gone(struct term *t, const char *text)
{
	if (term_wait(t, lacks_text, (void *)(uintptr_t)text, WAIT_MS))
		return;
	term_dump(t);
	fail_msg("\"%s\" did not go away", text);
}

int term_expect_end(struct term *t)
{
	if (!term_wait(t, has_ended, NULL, WAIT_MS)) {
		term_dump(t);
		fail_msg("the program did not end");
	}
	return t->status;
}

bool term_mode(const struct term *t, int mode)
{
	return mode >= 0 && mode < MODE_MAX && t->modes[mode];
}

bool term_mouse(const struct term *t)
{
	return t->modes[9] || t->modes[1000] || t->modes[1001] || t->modes[1002] || t->modes[1003];
}

void term_cursor(const struct term *t, int *row, int *column)
{
	*row = t->cursor.row;
	*column = t->cursor.col;
}

const char *term_output(const struct term *t, size_t *len)
{
	*len = t->nout;
	return t->out ? t->out : "";
}

struct term_cell term_cell(struct term *t, int row, int column)
{
	VTermScreenCell cell;
	struct term_cell c = {0};

	vterm_screen_get_cell(t->screen, (VTermPos){row, column}, &cell);
	c.fg_default = VTERM_COLOR_IS_DEFAULT_FG(&cell.fg);
	c.bg_default = VTERM_COLOR_IS_DEFAULT_BG(&cell.bg);
	vterm_screen_convert_color_to_rgb(t->screen, &cell.fg);
	vterm_screen_convert_color_to_rgb(t->screen, &cell.bg);
	c.ch = cell.chars[0];
	memcpy(c.fg, (uint8_t[]){cell.fg.rgb.red, cell.fg.rgb.green, cell.fg.rgb.blue}, 3);
	memcpy(c.bg, (uint8_t[]){cell.bg.rgb.red, cell.bg.rgb.green, cell.bg.rgb.blue}, 3);
	c.bold = cell.attrs.bold;
	c.underline = cell.attrs.underline != 0;
	c.reverse = cell.attrs.reverse;
	return c;
}

void term_expect_restored(struct term *t)
{
	struct termios after;

	assert_false(term_mode(t, 1049)); /* alternate screen */
	assert_false(term_mode(t, 47));
	assert_false(term_mode(t, 1047));
	assert_true(term_mode(t, 25)); /* cursor */
	assert_false(term_mouse(t));
	assert_false(term_mode(t, 1006)); /* SGR mouse coordinates */
	assert_false(term_mode(t, 1004)); /* focus reports */
	assert_false(term_mode(t, 2004)); /* bracketed paste */
	assert_false(term_mode(t, 1));    /* application cursor keys */
	/* the master of a Linux pty tells its slave's settings */
	assert_int_equal(tcgetattr(t->master, &after), 0);
	assert_int_equal(after.c_iflag, t->before.c_iflag);
	assert_int_equal(after.c_oflag, t->before.c_oflag);
	assert_int_equal(after.c_lflag, t->before.c_lflag);
	assert_int_equal(after.c_cflag, t->before.c_cflag);
	assert_memory_equal(after.c_cc, t->before.c_cc, sizeof after.c_cc);
}
