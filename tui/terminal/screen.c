/* screen.c - owns the terminal: detects its abilities, paints changes, restores it. */
#include "terminal/screen.h"

#include <errno.h>
#include <langinfo.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#define NCURSES_NOMACROS
#include <curses.h>
#include <term.h>
#undef columns /* term.h names its capabilities so */
#undef lines
#undef hangup

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "terminal/tty.h"

/* curses.h has names for keys of its own; ours begin with NAMED_. */
#define ESC_WAIT_MS 25
#define PAIRS_MAX 512
#define INKED_MAX 256
#define NOTIFY_MAX 300 /* bytes of a notification */

struct shade {
	attr_t attrs;
	int pair;
	bool known;
};

struct screen {
	SCREEN *curses;
	enum colours colours;
	bool utf8, light, xterm, mouse, lost;
	char notice[160];
	int columns, rows;
	struct canvas shadow; /* what the terminal shows; columns 0: unknown */
	bool redraw;
	struct shade shades[ROLE_COUNT]
			   [ROLE_COUNT]; /* role, role below; without attributes added */
	struct inked {
		struct style of;
		struct shade shade;
	} inked[INKED_MAX]; /* with colours of logs, by their hash; another takes its place */
	int npairs;
	struct {
		int32_t fg, bg;
	} pair[PAIRS_MAX]; /* [0] is the terminal's own */
	struct input_reader reader;
};

/* What terminfo knows: the entry asked for, a direct-colour one beside it, or a fallback. */

static bool knows_terminal(const char *term)
{
	int why;
	bool good;

	if (setupterm(term, STDOUT_FILENO, &why) != OK)
		return false;
	good = tigetstr("cup") && tigetstr("cup") != (char *)-1;
	del_curterm(cur_term);
	return good;
}

static bool true_colour_asked(void)
{
	const char *v = getenv("COLORTERM");

	return v && (strcmp(v, "truecolor") == 0 || strcmp(v, "24bit") == 0);
}

/* The entry of the same family that takes colours as RGB. */
static bool direct_entry(const char *term, char buf[64])
{
	size_t n = strcspn(term, "-");

	if (!true_colour_asked() || n > 40)
		return false;
	snprintf(buf, 64, "%.*s-direct", (int)n, term);
	return knows_terminal(buf);
}

static const char *choose_entry(struct screen *s, char buf[64])
{
	static const char *const others[] = {"xterm-256color", "xterm", "vt100", "ansi", "linux"};
	const char *term = getenv("TERM");

	if (term && *term && strlen(term) < 48) {
		if (direct_entry(term, buf))
			return buf;
		if (knows_terminal(term))
			return term;
		/* A terminal that says it can do nothing is believed. */
		if (strcmp(term, "dumb") == 0)
			return NULL;
	}
	for (size_t i = 0; i < COUNT(others); i++) {
		if (!knows_terminal(others[i]))
			continue;
		snprintf(s->notice, sizeof s->notice, "Unknown terminal `%.40s`: treated as %s.",
			term ? term : "", others[i]);
		for (char *p = s->notice; *p; p++)
			if (*p < 0x20 || *p == 0x7F)
				*p = '?';
		return others[i];
	}
	return NULL;
}

static enum colours count_colours(void)
{
	const char *no = getenv("NO_COLOR");

	if ((no && *no) || !has_colors() || start_color() == ERR)
		return COLOURS_NONE;
	use_default_colors();
	if (COLORS >= 0x1000000)
		return COLOURS_TRUE;
	return COLORS >= 256   ? COLOURS_256
		: COLORS >= 16 ? COLOURS_16
		: COLORS >= 8  ? COLOURS_8
			       : COLOURS_NONE;
}

static bool light_background(void)
{
	const char *v = getenv("COLORFGBG"), *last = v ? strrchr(v, ';') : NULL;

	return last && (strcmp(last, ";15") == 0 || strcmp(last, ";7") == 0);
}

static void add_keys(struct input_reader *r)
{
	static const struct {
		const char *cap;
		uint32_t code;
		uint8_t mods;
	} keys[] = {{"kcuu1", NAMED_UP, 0}, {"kcud1", NAMED_DOWN, 0}, {"kcub1", NAMED_LEFT, 0},
		{"kcuf1", NAMED_RIGHT, 0}, {"khome", NAMED_HOME, 0}, {"kend", NAMED_END, 0},
		{"kpp", NAMED_PAGE_UP, 0}, {"knp", NAMED_PAGE_DOWN, 0}, {"kdch1", NAMED_DELETE, 0},
		{"kich1", NAMED_INSERT, 0}, {"kcbt", NAMED_TAB, MOD_SHIFT},
		{"kbs", NAMED_BACKSPACE, 0}, {"kent", NAMED_ENTER, 0}, {"kf1", NAMED_F1, 0},
		{"kf2", NAMED_F1 + 1, 0}, {"kf3", NAMED_F1 + 2, 0}, {"kf4", NAMED_F1 + 3, 0},
		{"kf5", NAMED_F1 + 4, 0}, {"kf6", NAMED_F1 + 5, 0}, {"kf7", NAMED_F1 + 6, 0},
		{"kf8", NAMED_F1 + 7, 0}, {"kf9", NAMED_F1 + 8, 0}, {"kf10", NAMED_F1 + 9, 0},
		{"kf11", NAMED_F1 + 10, 0}, {"kf12", NAMED_F1 + 11, 0}};

	for (size_t i = 0; i < COUNT(keys); i++) {
		const char *seq = tigetstr(keys[i].cap);

		if (seq && seq != (char *)-1)
			input_extra(r, seq, (struct key){keys[i].code, keys[i].mods});
	}
}

/* Modes that curses does not manage. */
static void extra_modes(struct screen *s, bool on)
{
	if (!s->xterm)
		return;
	terminal_write(on ? "\033[?2004h" : "\033[?2004l");
	terminal_write(on && s->mouse ? "\033[?1000h\033[?1006h" : "\033[?1006l\033[?1000l");
}

static void read_size(struct screen *s)
{
	struct winsize w = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0 || w.ws_row == 0) {
		s->columns = COLS;
		s->rows = LINES;
	} else {
		s->columns = w.ws_col;
		s->rows = w.ws_row;
	}
}

/* Everything a dying process must still say to the terminal. */
static void prepare_restore(const struct screen *s)
{
	static const char *const caps[] = {"sgr0", "cnorm", "rmkx", "rmcup"};

	if (s->xterm)
		terminal_restore_add("\033[?1006l\033[?1000l\033[?2004l");
	for (size_t i = 0; i < COUNT(caps); i++) {
		const char *seq = tigetstr(caps[i]);

		if (seq && seq != (char *)-1)
			terminal_restore_add(seq);
	}
	terminal_restore_arm();
}

struct screen *screen_open(bool mouse, struct err *e)
{
	struct screen *s;
	const char *entry, *kmous;
	char buf[64];

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_null(err_set(e, ERR_FAILED,
			"the console needs a terminal on standard input and output; `berth ps` "
			"prints the containers once, without one"));
	s = xcalloc(1, sizeof *s);
	s->utf8 = strcasecmp(nl_langinfo(CODESET), "UTF-8") == 0;
	entry = choose_entry(s, buf);
	if (!entry) {
		err_set(e, ERR_FAILED,
			"the terminal `%.40s` cannot place the cursor; set TERM to what it really "
			"is, or use `berth ps`",
			getenv("TERM") ? getenv("TERM") : "");
		free(s);
		return NULL;
	}
	/* Before curses, which leaves signals alone that somebody handles. */
	terminal_open();
	s->curses = newterm(entry, stdout, stdin);
	if (!s->curses) {
		terminal_close();
		free(s);
		return err_null(
			err_set(e, ERR_FAILED, "the terminal `%s` could not be set up", entry));
	}
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	curs_set(0);
	s->colours = count_colours();
	s->light = light_background();
	s->mouse = mouse;
	kmous = tigetstr("kmous");
	s->xterm = kmous && kmous != (char *)-1;
	input_init(&s->reader);
	add_keys(&s->reader);
	canvas_init(&s->shadow, false);
	prepare_restore(s);
	read_size(s);
	resizeterm(s->rows, s->columns);
	extra_modes(s, true);
	s->redraw = true;
	return s;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	extra_modes(s, false);
	if (!s->lost)
		endwin();
	terminal_close();
	delscreen(s->curses);
	input_release(&s->reader);
	canvas_release(&s->shadow);
	free(s);
}

enum colours screen_colours(const struct screen *s)
{
	return s->colours;
}

bool screen_light(const struct screen *s)
{
	return s->light;
}

bool screen_utf8(const struct screen *s)
{
	return s->utf8;
}

bool screen_braille(const struct screen *s)
{
	const char *term = getenv("TERM");

	return s->utf8 && term && strncmp(term, "linux", 5) != 0;
}

const char *screen_notice(const struct screen *s)
{
	return s->notice[0] ? s->notice : NULL;
}

void screen_size(const struct screen *s, int *columns, int *rows)
{
	*columns = s->columns;
	*rows = s->rows;
}

/* Painting */

/* A direct-colour terminal takes the values below 8 for its palette: nudge those off it. */
static int32_t avoid_palette(int32_t rgb)
{
	return rgb >= 0 && rgb < 8 ? 8 : rgb;
}

/* -1: there is none left; logs have half of them, whatever they ask for. */
static int pair_of(struct screen *s, int32_t fg, int32_t bg, bool inked)
{
	int most = COLOR_PAIRS < PAIRS_MAX ? COLOR_PAIRS : PAIRS_MAX;

	if (fg == COLOUR_DEFAULT && bg == COLOUR_DEFAULT)
		return 0;
	for (int i = 1; i <= s->npairs; i++)
		if (s->pair[i].fg == fg && s->pair[i].bg == bg)
			return i;
	if (s->npairs + 1 >= (inked ? most / 2 : most) ||
		init_extended_pair(s->npairs + 1, fg, bg) == ERR)
		return -1;
	s->npairs++;
	s->pair[s->npairs].fg = fg;
	s->pair[s->npairs].bg = bg;
	return s->npairs;
}

static attr_t curses_attrs(uint8_t attrs)
{
	return (attrs & ATTR_BOLD ? A_BOLD : 0) | (attrs & ATTR_UNDERLINE ? A_UNDERLINE : 0) |
		(attrs & ATTR_REVERSE ? A_REVERSE : 0) | (attrs & ATTR_DIM ? A_DIM : 0) |
		(attrs & ATTR_ITALIC ? A_ITALIC : 0);
}

static struct shade make_shade(struct screen *s, const struct theme *t, struct style of)
{
	bool few = s->colours <= COLOURS_16, inked = of.ink || of.paper;
	struct theme_style st = theme_inked(
		theme_resolve(t, of.role, 0, of.under, few), of.ink, of.under ? 0 : of.paper);
	struct shade sh = {.attrs = curses_attrs(st.attrs), .known = true};
	int fg = st.fg16, bg = st.bg16;

	switch (s->colours) {
	case COLOURS_NONE: return sh;
	case COLOURS_TRUE:
		sh.pair = pair_of(s, avoid_palette(st.fg), avoid_palette(st.bg), inked);
		return sh;
	case COLOURS_256:
		sh.pair = pair_of(s, theme_nearest_256(st.fg), theme_nearest_256(st.bg), inked);
		return sh;
	case COLOURS_8:
		/* The bright half of 16 is bold here. */
		if (fg >= 8) {
			fg -= 8;
			sh.attrs |= A_BOLD;
		}
		bg = bg >= 8 ? bg - 8 : bg;
		if (fg == bg && fg >= 0)
			fg = bg == 7 ? 0 : 7;
		break;
	default: break;
	}
	sh.pair = pair_of(s, fg, bg, inked);
	return sh;
}

static struct shade *find_shade(struct screen *s, const struct theme *t, struct style of)
{
	struct inked *k =
		&s->inked[(of.ink * 31u + of.paper * 7u + of.role + of.under) % INKED_MAX];
	struct shade *sh = &s->shades[of.role][of.under];

	of.attrs = 0;
	if (of.ink || of.paper) {
		sh = &k->shade;
		sh->known = sh->known && memcmp(&k->of, &of, sizeof of) == 0;
		k->of = of;
	}
	if (!sh->known)
		*sh = make_shade(s, t, of);
	if (sh->pair < 0 && (of.ink || of.paper))
		return find_shade(s, t, (struct style){.role = of.role, .under = of.under});
	if (sh->pair < 0)
		sh->pair = 0;
	return sh;
}

static void put_cell(struct screen *s, const struct theme *t, int x, int y, const struct cell *cell)
{
	struct style of = cell->style;
	struct shade *sh;
	wchar_t text[CCHARW_MAX + 1] = {L' '};
	cchar_t cc;
	size_t n = 0;

	of.role = of.role < ROLE_COUNT ? of.role : ROLE_TEXT;
	of.under = of.under < ROLE_COUNT ? of.under : 0;
	sh = find_shade(s, t, of);
	for (size_t i = 0; i < cell->len && n < CCHARW_MAX;) {
		uint32_t cp;

		i += utf8_next(cell->text + i, cell->len - i, &cp);
		text[n++] = (wchar_t)cp;
	}
	/* Not more than one character of a locale that has no others. */
	if (!s->utf8 && text[0] > 0x7E)
		text[0] = L'?';
	text[n ? n : 1] = L'\0';
	setcchar(&cc, text, sh->attrs | curses_attrs(cell->style.attrs), 0, &sh->pair);
	mvadd_wch(y, x, &cc);
}

static void forget_shades(struct screen *s)
{
	memset(s->shades, 0, sizeof s->shades);
	memset(s->inked, 0, sizeof s->inked);
	s->npairs = 0;
	reset_color_pairs();
}

void screen_paint(struct screen *s, const struct canvas *c, const struct theme *t)
{
	bool all = s->redraw || s->shadow.columns != c->columns || s->shadow.rows != c->rows;

	if (all) {
		canvas_resize(&s->shadow, c->columns, c->rows);
		forget_shades(s);
		erase();
		clearok(stdscr, TRUE);
		s->redraw = false;
	}
	for (int y = 0; y < c->rows; y++) {
		const struct cell *row = &c->cells[(size_t)y * (size_t)c->columns];
		struct cell *old = &s->shadow.cells[(size_t)y * (size_t)c->columns];
		size_t bytes = (size_t)c->columns * sizeof *row;

		if (!all && memcmp(row, old, bytes) == 0)
			continue;
		for (int x = 0; x < c->columns; x++) {
			bool wide = row[x].width == 2 && x + 1 < c->columns;

			if (row[x].width == 0)
				continue;
			if (all || memcmp(&row[x], &old[x], sizeof *row) != 0 ||
				(wide && memcmp(&row[x + 1], &old[x + 1], sizeof *row) != 0))
				put_cell(s, t, x, y, &row[x]);
		}
		memcpy(old, row, bytes);
	}
	if (c->cursor_x >= 0) {
		move(c->cursor_y, c->cursor_x);
		curs_set(1);
	} else {
		curs_set(0);
	}
	refresh();
}

void screen_redraw(struct screen *s)
{
	s->redraw = true;
}

void screen_mouse(struct screen *s, bool on)
{
	s->mouse = on;
	extra_modes(s, true);
}

void screen_copy(struct screen *s, const char *text, size_t n)
{
	AUTO_STR struct str out = STR_INIT;

	if (!s->xterm || n > SCREEN_COPY_MAX)
		return;
	str_adds(&out, "\033]52;c;");
	str_add_base64(&out, text, n);
	str_addc(&out, '\a');
	terminal_write(out.s);
}

void screen_bell(struct screen *s)
{
	(void)s;
	terminal_write("\a");
}

void screen_notify(struct screen *s, const char *text, bool titled)
{
	AUTO_STR struct str clean = STR_INIT, out = STR_INIT;

	if (!s->xterm)
		return;
	text_neutralise(&clean, text, strnlen(text, NOTIFY_MAX), !s->utf8);
	str_adds(&out, titled ? "\033]777;notify;berth;" : "\033]9;");
	/* A semicolon begins the next field; and what begins with a digit means something else to some. */
	if (!titled)
		str_adds(&out, "berth: ");
	for (const char *p = clean.s; *p; p++)
		str_addc(&out, *p == ';' ? ',' : *p);
	str_addc(&out, '\a');
	terminal_write(out.s);
}

/* Input */

int screen_fd(const struct screen *s)
{
	(void)s;
	return STDIN_FILENO;
}

int screen_signal_fd(const struct screen *s)
{
	(void)s;
	return terminal_signal_fd();
}

static bool new_size(struct screen *s)
{
	int w = s->columns, h = s->rows;

	read_size(s);
	if (w == s->columns && h == s->rows)
		return false;
	resizeterm(s->rows, s->columns);
	return true;
}

bool screen_signal(struct screen *s, bool away, struct input *ret)
{
	for (;;) {
		switch (terminal_signal()) {
		case SIGWINCH:
			/* Others that came with it are not to wait for the next one. */
			if (!new_size(s))
				continue;
			*ret = (struct input){.kind = INPUT_RESIZE};
			return true;
		case SIGCONT:
			/* Whoever stopped us may have used the terminal. */
			if (away) {
				terminal_raw();
			} else {
				reset_prog_mode();
				extra_modes(s, true);
			}
			s->redraw = true;
			new_size(s);
			*ret = (struct input){.kind = INPUT_RESIZE};
			return true;
		case SIGTSTP: *ret = (struct input){.kind = INPUT_STOP}; return true;
		case 0: return false;
		default: *ret = (struct input){.kind = INPUT_END}; return true;
		}
	}
}

static bool has_input(int timeout_ms)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&p, 1, timeout_ms) > 0 && p.revents & (POLLIN | POLLHUP | POLLERR);
}

/* true: bytes came. */
static bool fill_reader(struct screen *s)
{
	size_t cap;
	char *at = input_room(&s->reader, &cap);
	ssize_t n;

	if (cap == 0 || !has_input(0))
		return false;
	n = read(STDIN_FILENO, at, cap);
	if (n > 0) {
		input_took(&s->reader, (size_t)n);
		return true;
	}
	s->lost |= n == 0 || (errno != EINTR && errno != EAGAIN);
	return false;
}

bool screen_next(struct screen *s, bool hangup, struct input *ret)
{
	for (;;) {
		if (screen_signal(s, false, ret))
			return true;
		if (input_next(&s->reader, false, clock_mono_ns(), ret))
			return true;
		if (fill_reader(s))
			continue;
		if (s->lost || (hangup && !has_input(0))) {
			s->lost = true;
			*ret = (struct input){.kind = INPUT_LOST};
			return true;
		}
		if (!input_partial(&s->reader))
			return false;
		/* An ESC alone, or the beginning of a sequence? */
		if (has_input(ESC_WAIT_MS))
			continue;
		return input_next(&s->reader, true, clock_mono_ns(), ret);
	}
}

/* Giving the terminal away and taking it back */

void screen_lend(struct screen *s)
{
	extra_modes(s, false);
	endwin();
}

void screen_leave(struct screen *s)
{
	screen_lend(s);
	terminal_raw();
}

void screen_return(struct screen *s)
{
	/* Whatever the other program switched on: soft reset (DECSTR), character set, mouse reports of
	 * all kinds.  Of the alternate screen only the caller knows. */
	if (s->xterm)
		terminal_write("\033[!p\033(B\017\033[?1000l\033[?1002l\033[?1003l"
			       "\033[?1005l\033[?1006l\033[?1015l\033[?7h");
	reset_prog_mode();
	new_size(s);
	refresh();
	extra_modes(s, true);
	s->redraw = true;
}

void screen_suspend(struct screen *s)
{
	extra_modes(s, false);
	endwin();
	terminal_stop();
	reset_prog_mode();
	new_size(s);
	refresh();
	extra_modes(s, true);
	s->redraw = true;
}
