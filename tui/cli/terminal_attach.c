/*
 * terminal_attach.c - `berth terminal attach`: a person at an agent's terminal.
 *
 * The person's terminal shows its alternate screen as long as that lasts.  What is printed there comes from
 * terminal_view_read, which lets nothing else through than its table says; what is sent to put the terminal back afterwards
 * (LEAVE) undoes all that this lets through.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <berth/agents.h>
#include <berth/arena.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/terminal.h>
#include <berth/text.h>

#include "cli/commands.h"
#include "cli/gate.h"
#include "cli/run.h"
#include "terminal/tty.h"

#define TAKE_KEY 0x14 /* C-t, of one who watches */
#define TAKE_NAME "C-t"
#define SHOWN_MAX ((size_t)256 << 10)
#define TYPED_MAX ((size_t)1 << 20)
#define LEAVE_MS 1000
#define END_MS 3000

/* The title is kept, then the other screen. */
#define ENTER "\x1b[22;0t\x1b[?1049h\x1b[H\x1b[2J"
#define LEAVE                                                                           \
	"\x18\x1b[!p\x1b]8;;\x1b\\\x1b[4l\x1b[20l\x1b>\x1b(B\x1b)B\x0f\x1b[r\x1b[?1l"   \
	"\x1b[?5l\x1b[?6l\x1b[?9l\x1b[?12l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l" \
	"\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?2004l\x1b[?2026l\x1b[?7h\x1b[0 q\x1b[m" \
	"\x1b[?25h\x1b[?1049l\x1b[23;0t"

struct attached {
	struct terminal_view *view;
	const char *agent, *name;
	char container[64];
	char detach;
	const char *detach_name;
	bool watches;
	int out; /* the person's terminal, which is not waited for; or standard output */
	int columns, rows;
	struct str shown; /* that it has not taken yet */
	struct str typed; /* that is not sent yet */
	bool watched;     /* the screen is that of one who watches */
	bool status_due;  /* on its last line, when that screen is drawn */
	int signal;       /* that ended it */
	bool detached;
	struct key_value kv[3];
	char keys[24];
};

static void read_size(struct attached *a)
{
	struct winsize w;

	a->columns = TERMINAL_COLUMNS;
	a->rows = TERMINAL_ROWS;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col && w.ws_row) {
		a->columns = w.ws_col;
		a->rows = w.ws_row;
	}
}

/* "root on pts/3" */
static void name_person(char who[TERMINAL_WHO_MAX])
{
	const char *const names[] = {getenv("SUDO_USER"), getenv("LOGNAME"), getenv("USER")};
	const char *name = "someone", *tty = ttyname(STDIN_FILENO);
	char all[TERMINAL_WHO_MAX];

	for (size_t i = COUNT(names); i-- > 0;)
		if (names[i] && *names[i])
			name = names[i];
	if (tty && !strncmp(tty, "/dev/", 5))
		tty += 5;
	snprintf(all, sizeof all, "%.32s%s%.24s", name, tty ? " on " : "", tty ? tty : "");
	text_clean(who, TERMINAL_WHO_MAX, all);
}

/* The last line of one who watches. */
static void draw_status(struct attached *a)
{
	const char *who = terminal_view_typist(a->view);
	char line[256], clean[256];
	AUTO_STR struct str text = STR_INIT;
	int width;

	snprintf(line, sizeof line, " %s  %s: detach | %s of %.63s | %s types",
		a->watches ? "read-only" : TAKE_NAME ": type here", a->detach_name, a->name,
		a->agent, *who ? who : "no one");
	text_clean(clean, sizeof clean, line);
	if (a->columns > 1)
		str_adds(&text, clean);
	cli_clip(&text, a->columns);
	width = text_width(text.s, text.len);
	str_addf(&a->shown,
		"\x1b"
		"7\x1b[%d;1H\x1b[0;7m%s%*s\x1b[0m\x1b"
		"8",
		a->rows, text.s, a->columns - width, "");
	a->status_due = false;
}

/* What came: 0, or -1 when nothing more comes. */
static int read_view(struct attached *a)
{
	int r = 1;

	while (a->shown.len < SHOWN_MAX && r == 1) {
		size_t before = a->shown.len;

		r = terminal_view_read(a->view, &a->shown);
		if (r != 1)
			break;
		if (terminal_view_types(a->view)) {
			a->watched = a->status_due = false;
		} else if (a->shown.len == before) {
			/* Who types now; before the first screen of one who watches, other modes may hold. */
			a->status_due = true;
			if (a->watched)
				draw_status(a);
		} else if (a->status_due) {
			draw_status(a);
		}
		if (a->shown.len > before && !terminal_view_types(a->view))
			a->watched = true;
	}
	return r < 0 ? -1 : 0;
}

static void write_shown(struct attached *a)
{
	ssize_t n = a->shown.len ? write(a->out, a->shown.s, a->shown.len) : 0;

	if (n > 0)
		str_remove_front(&a->shown, (size_t)n);
}

static void send_typed(struct attached *a)
{
	size_t n = a->typed.len ? terminal_view_type(a->view, a->typed.s, a->typed.len) : 0;

	str_remove_front(&a->typed, n);
}

static void read_keys(struct attached *a)
{
	char keys[4096];
	ssize_t n = read(STDIN_FILENO, keys, sizeof keys);
	const char *end;
	size_t typed;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		a->detached = true;
		return;
	}
	end = memchr(keys, a->detach, (size_t)n);
	typed = end ? (size_t)(end - keys) : (size_t)n;
	if (terminal_view_types(a->view)) {
		/* What does not fit is lost; the key that detaches is still seen. */
		if (a->typed.len + typed <= TYPED_MAX)
			str_add(&a->typed, keys, typed);
		send_typed(a);
	} else if (!a->watches && memchr(keys, TAKE_KEY, typed)) {
		terminal_view_take(a->view);
	}
	if (end)
		a->detached = true;
}

/* 0; or the signal that ends it. */
static int take_signals(struct attached *a)
{
	for (int sig; (sig = terminal_signal());) {
		switch (sig) {
		case SIGTSTP: break; /* C-z is the program's */
		case SIGCONT:
			/* A shell that it was stopped in set its own modes. */
			terminal_raw();
			/* fall through */
		case SIGWINCH:
			read_size(a);
			a->status_due = true;
			terminal_view_resize(a->view, a->columns, a->rows);
			break;
		default: return sig;
		}
	}
	return 0;
}

enum { P_KEYS, P_VIEW, P_OUT, P_SIGNAL, P_COUNT };

static int wait_for(struct attached *a, struct pollfd p[P_COUNT])
{
	short view = (short)(a->shown.len >= SHOWN_MAX ? 0
			: a->typed.len                 ? POLLIN | POLLOUT
						       : POLLIN);

	p[P_KEYS] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	p[P_VIEW] = (struct pollfd){view ? terminal_view_fd(a->view) : -1, view, 0};
	p[P_OUT] = (struct pollfd){a->shown.len ? a->out : -1, POLLOUT, 0};
	p[P_SIGNAL] = (struct pollfd){terminal_signal_fd(), POLLIN, 0};
	return poll(p, P_COUNT, -1) < 0 && errno != EINTR ? -1 : 0;
}

/* Until he detaches, a signal comes, or nothing more does. */
static void relay(struct attached *a)
{
	struct pollfd p[P_COUNT];

	while (!a->detached && !a->signal) {
		if (wait_for(a, p))
			return;
		/* Also one that came after the poll, before keys that were typed after it. */
		a->signal = take_signals(a);
		if (p[P_VIEW].revents & (POLLIN | POLLHUP | POLLERR) && read_view(a))
			return;
		if (p[P_KEYS].revents)
			read_keys(a);
		send_typed(a);
		write_shown(a);
	}
}

/* What is left to be printed, as far as the terminal takes it. */
static void leave_screen(struct attached *a)
{
	int64_t until = clock_real_ms() + LEAVE_MS;

	if (a->detached)
		str_clear(&a->shown);
	str_adds(&a->shown, LEAVE);
	while (a->shown.len && clock_real_ms() < until) {
		struct pollfd p = {a->out, POLLOUT, 0};

		if (poll(&p, 1, LEAVE_MS) > 0)
			write_shown(a);
		if (p.revents & (POLLHUP | POLLERR))
			break;
	}
}

/* One who does not read holds nobody up: so printing must not wait, which another open file of the terminal sees to. */
static int open_output(void)
{
	const char *tty = ttyname(STDOUT_FILENO);
	int fd = tty ? open(tty, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;

	return fd < 0 ? STDOUT_FILENO : fd;
}

static void show_terminal(struct attached *a)
{
	int columns = a->columns, rows = a->rows;

	a->out = open_output();
	terminal_open();
	terminal_restore_add(LEAVE);
	terminal_restore_arm();
	terminal_raw();
	/* No signal said so before. */
	read_size(a);
	if (a->columns != columns || a->rows != rows)
		terminal_view_resize(a->view, a->columns, a->rows);
	str_adds(&a->shown, ENTER);
	relay(a);
	leave_screen(a);
	/* Reports of the mouse that were on their way are not for the person's shell. */
	tcflush(STDIN_FILENO, TCIFLUSH);
	terminal_close();
	if (a->out != STDOUT_FILENO)
		close(a->out);
}

static int do_attach(void *ctx, struct audit_record *r, struct err *e)
{
	struct attached *a = ctx;
	char who[TERMINAL_WHO_MAX];
	struct terminal_view_wish wish = {.who = who, .watches = a->watches};
	struct terminal_screen s = {0};

	snprintf(a->container, sizeof a->container, "%s", r->name);
	if (terminals_read(a->container, a->name, &s, e))
		return -1;
	terminal_screen_release(&s);
	if (s.status != TERMINAL_RUNS)
		return err_set(e, ERR_USAGE,
			"the terminal `%s` of %s has ended; `berth terminal screen` prints what it showed last",
			a->name, a->agent);
	name_person(who);
	read_size(a);
	wish.columns = a->columns;
	wish.rows = a->rows;
	a->view = terminal_view_open(a->container, a->name, &wish, e);
	if (!a->view)
		return -1;
	a->status_due = !terminal_view_types(a->view);
	show_terminal(a);
	snprintf(a->keys, sizeof a->keys, "%" PRIu64, terminal_view_keys(a->view));
	if (!a->watches)
		a->kv[r->nparams++] = (struct key_value){"typed", a->keys, false};
	terminal_view_close(STEAL(a->view));
	return 0;
}

/* How it ended, which its process writes before it closes the connection; the exit code. */
static int say_end(const struct attached *a, struct err *e)
{
	int64_t until = clock_real_ms() + END_MS;
	struct terminal_screen s = {0};
	struct err why = ERR_INIT;

	if (a->signal)
		return 128 + a->signal;
	if (a->detached) {
		printf("detached from terminal %s of %s\n", a->name, a->agent);
		return 0;
	}
	do {
		if (terminals_read(a->container, a->name, &s, &why))
			return why.kind == ERR_NOT_FOUND
				? err_set(e, ERR_FAILED,
					  "terminal %s of %s was removed: it was stopped, or its agent is down",
					  a->name, a->agent)
				: err_copy(e, &why);
		terminal_screen_release(&s);
		if (s.status == TERMINAL_RUNS)
			poll(NULL, 0, 10);
	} while (s.status == TERMINAL_RUNS && clock_real_ms() < until);
	if (s.status == TERMINAL_ENDED) {
		printf("terminal %s of %s has ended: exit code %d\n", a->name, a->agent,
			s.exit_code);
		return s.exit_code;
	}
	return err_set(e, ERR_FAILED,
		s.status == TERMINAL_LOST
			? "the process that kept terminal %s of %s was killed, so its command has been ended"
			: "the connection to terminal %s of %s broke; it continues",
		a->name, a->agent);
}

static int read_detach_key(struct attached *a, const struct settings *s, struct err *e)
{
	AUTO_STR struct str bytes = STR_INIT;

	a->detach_name = s->terminal_detach;
	if (terminal_key(a->detach_name, false, &bytes, NULL) || bytes.len != 1 ||
		(unsigned char)*bytes.s >= ' ' || *bytes.s == TAKE_KEY ||
		strchr("\x1b\r\t", *bytes.s))
		return err_set(e, ERR_CONFIG,
			"terminals.detach in berth.yaml must be a key with Ctrl other than " TAKE_NAME
			", such as C-], not `%.40s`",
			a->detach_name);
	a->detach = *bytes.s;
	return 0;
}

static int check_terminal(struct err *e)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			"attach needs a terminal as standard input and output; "
			"`berth terminal screen` prints what one shows, `berth terminal send` types into it");
	if (!term || !*term || !strcmp(term, "dumb"))
		return err_set(e, ERR_USAGE, "attach needs a terminal that TERM names, not `%s`",
			term ? term : "");
	return 0;
}

static int attach_recorded(const struct cli *c, struct attached *a, struct err *e)
{
	struct policy policy;
	const struct audit_record r = {
		.operation = a->watches ? OP_TERMINAL_WATCH : OP_TERMINAL_ATTACH,
		.params = a->kv,
		.nparams = 1};
	struct arena mem;
	int rc;

	a->kv[0] = (struct key_value){"terminal", a->name, false};
	arena_init(&mem, 1024);
	rc = cli_policy(c, &policy, &mem, e);
	if (!rc)
		rc = agents_act_on_terminal(a->agent, &r, &policy, do_attach, a, e);
	arena_release(&mem);
	return rc;
}

int cli_terminal_attach(const struct cli *c, const struct settings *s, struct err *e)
{
	struct attached a = {.agent = c->argv[0],
		.name = c->argc > 1 ? c->argv[1] : USUAL_NAME,
		.watches = cli_flag(c, "read-only") || s->read_only,
		.shown = STR_INIT,
		.typed = STR_INIT};
	int rc;

	text_init();
	if (check_terminal(e) || terminal_check_name(a.name, e) || read_detach_key(&a, s, e))
		return -1;
	rc = attach_recorded(c, &a, e);
	if (!rc)
		rc = say_end(&a, e);
	str_release(&a.shown);
	str_release(&a.typed);
	return rc < 0 ? -1 : cli_recorded(cli_finish() ? 1 : rc, 1);
}
