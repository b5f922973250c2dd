/* emulate.c - keeps the screen of one terminal with libvterm. */
#include "terminals/emulate.h"

#include <stdio.h>
#include <string.h>
#include <vterm.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#define PENDING_MAX 4096 /* libvterm keeps as many characters on its stack */
#define MARKS_MAX (TERMINAL_CELL_CHARS - 1)
#define REPEAT_MAX TERMINAL_COLUMNS_MAX

struct emulator {
	VTermAllocatorFunctions functions;
	VTerm *vt;
	VTermScreen *screen;
	VTermState *state;
	struct str pending; /* rewritten, not yet given to libvterm */
	uint32_t last;      /* the last character that was printed, 0: something else came since */
	int marks;          /* that combined with it */
	bool cursor_shown, wraps, inserts, alternate;
	bool has_saved;
	struct emulator_cursor saved;
	struct scrollback lines;
	struct str answers;
};

static void *allocate(size_t size, void *ctx)
{
	(void)ctx;
	return xcalloc(1, size);
}

static void release(void *p, void *ctx)
{
	(void)ctx;
	free(p);
}

static int take_property(VTermProp prop, VTermValue *value, void *ctx)
{
	struct emulator *em = ctx;

	if (prop == VTERM_PROP_CURSORVISIBLE)
		em->cursor_shown = value->boolean != 0;
	if (prop == VTERM_PROP_ALTSCREEN)
		em->alternate = value->boolean != 0;
	return 1;
}

static uint32_t convert_colour(VTermColor c)
{
	if (VTERM_COLOR_IS_DEFAULT_FG(&c) || VTERM_COLOR_IS_DEFAULT_BG(&c))
		return 0;
	if (VTERM_COLOR_IS_INDEXED(&c))
		return TERMINAL_INDEXED | c.indexed.idx;
	return TERMINAL_RGB | (uint32_t)c.rgb.red << 16 | (uint32_t)c.rgb.green << 8 | c.rgb.blue;
}

/* `*width`: what libvterm says, at most what is left of the row. */
static struct terminal_cell convert_cell(const VTermScreenCell *from)
{
	struct terminal_cell c = {.width = 1};
	uint32_t base = emulator_undisguise(from->chars[0]);
	int width = from->chars[0] == UINT32_MAX ? -1 : text_cp_width(base);

	c.ink = convert_colour(from->fg);
	c.paper = convert_colour(from->bg);
	c.flags = (uint8_t)((from->attrs.bold ? TERMINAL_BOLD : 0) |
		(from->attrs.underline ? TERMINAL_UNDERLINE : 0) |
		(from->attrs.italic ? TERMINAL_ITALIC : 0) |
		(from->attrs.blink ? TERMINAL_BLINK : 0) |
		(from->attrs.reverse ? TERMINAL_REVERSE : 0) |
		(from->attrs.strike ? TERMINAL_STRIKE : 0));
	/* Half of a wide character that was overwritten. */
	if (!from->chars[0] || width <= 0 || (width == 2 && from->width != 2))
		return c;
	c.width = (uint8_t)width;
	c.ch[0] = base;
	for (int i = 1; i < TERMINAL_CELL_CHARS && from->chars[i]; i++)
		c.ch[i] = from->chars[i];
	return c;
}

/* Never printed to, as most of a line on a wide screen is. */
static bool is_untouched(const VTermScreenCell *c)
{
	return !c->chars[0] && VTERM_COLOR_IS_DEFAULT_BG(&c->bg) && !c->attrs.reverse &&
		!c->attrs.underline && !c->attrs.strike;
}

static int keep_line(int columns, const VTermScreenCell *cells, void *ctx)
{
	struct emulator *em = ctx;
	struct terminal_cell row[TERMINAL_COLUMNS_MAX];
	AUTO_STR struct str text = STR_INIT;
	int n = columns < TERMINAL_COLUMNS_MAX ? columns : TERMINAL_COLUMNS_MAX;

	while (n && is_untouched(&cells[n - 1]))
		n--;
	for (int i = 0; i < n; i++) {
		row[i] = convert_cell(&cells[i]);
		if (row[i].width == 2 && i + 1 < n) {
			row[i + 1] = row[i];
			row[++i].width = 0;
		}
	}
	terminal_cells_text(row, n, true, &text);
	scrollback_add(&em->lines, text.s, text.len);
	return 1;
}

static void flush_pending(struct emulator *em)
{
	for (size_t at = 0, n; at < em->pending.len; at += n) {
		n = em->pending.len - at < PENDING_MAX ? em->pending.len - at : PENDING_MAX;
		if (n == PENDING_MAX)
			n = utf8_whole(em->pending.s + at, n);
		vterm_input_write(em->vt, em->pending.s + at, n);
	}
	str_clear(&em->pending);
}

struct emulator *emulator_open(int columns, int rows)
{
	static const VTermScreenCallbacks callbacks = {
		.settermprop = take_property, .sb_pushline = keep_line};
	struct emulator *em = xcalloc(1, sizeof *em);

	str_init(&em->pending);
	str_init(&em->answers);
	em->functions = (VTermAllocatorFunctions){.malloc = allocate, .free = release};
	em->vt = vterm_new_with_allocator(terminal_within(1, rows, TERMINAL_ROWS_MAX),
		terminal_within(TERMINAL_COLUMNS_MIN, columns, TERMINAL_COLUMNS_MAX),
		&em->functions, NULL);
	vterm_set_utf8(em->vt, 1);
	em->state = vterm_obtain_state(em->vt);
	em->screen = vterm_obtain_screen(em->vt);
	vterm_screen_set_callbacks(em->screen, &callbacks, em);
	vterm_screen_set_damage_merge(em->screen, VTERM_DAMAGE_SCREEN);
	vterm_screen_enable_altscreen(em->screen, 1);
	vterm_screen_reset(em->screen, 1);
	em->wraps = true;
	return em;
}

void emulator_close(struct emulator *em)
{
	if (!em)
		return;
	vterm_free(em->vt);
	scrollback_release(&em->lines);
	str_release(&em->pending);
	str_release(&em->answers);
	free(em);
}

static VTermPos find_cursor(struct emulator *em)
{
	VTermPos at;
	int rows, columns;

	flush_pending(em);
	vterm_state_get_cursorpos(em->state, &at);
	vterm_get_size(em->vt, &rows, &columns);
	return (VTermPos){
		terminal_within(0, at.row, rows - 1), terminal_within(0, at.col, columns - 1)};
}

static void answer(struct emulator *em, const char *text)
{
	if (em->answers.len + strlen(text) <= EMULATOR_ANSWERS)
		str_adds(&em->answers, text);
}

static void answer_mode(struct emulator *em, unsigned mode)
{
	bool known = true, set = false;
	char text[32];

	flush_pending(em);
	switch (mode) {
	case 7: set = em->wraps; break;
	case 25: set = em->cursor_shown; break;
	case 47:
	case 1047:
	case 1049: set = em->alternate; break;
	default: known = false;
	}
	snprintf(text, sizeof text, "\x1b[?%u;%d$y", mode, !known ? 0 : set ? 1 : 2);
	answer(em, text);
}

/* Programs wait for these; all else has no answer. */
static void answer_csi(struct emulator *em, const struct lex_token *t)
{
	unsigned what = lex_arg(t, 0, 0);
	char text[32];
	VTermPos at;

	if (t->between == '$' && t->leader == '?' && t->final == 'p')
		answer_mode(em, what);
	if (t->between)
		return;
	if (t->final == 'c' && !what && !t->leader)
		answer(em, "\x1b[?62;22c"); /* a VT220 with colours */
	else if (t->final == 'c' && !what && t->leader == '>')
		answer(em, "\x1b[>1;100;0c");
	else if (t->final == 'n' && what == 5 && !t->leader)
		answer(em, "\x1b[0n");
	else if (t->final == 'n' && what == 6 && (!t->leader || t->leader == '?')) {
		at = find_cursor(em);
		snprintf(text, sizeof text, "\x1b[%s%d;%dR", t->leader ? "?" : "", at.row + 1,
			at.col + 1);
		answer(em, text);
	}
}

static void add_cp(struct str *out, uint32_t cp)
{
	char utf8[4];

	str_add(out, utf8, utf8_put(cp, utf8));
}

static void take_character(struct emulator *em, uint32_t cp)
{
	uint32_t shown = emulator_disguise(cp);

	/* What combines without end would grow without end in libvterm. */
	if (!shown) {
		if (em->last && em->marks < MARKS_MAX && emulator_combines(cp)) {
			em->marks++;
			add_cp(&em->pending, cp);
		}
		return;
	}
	add_cp(&em->pending, shown);
	em->last = shown;
	em->marks = 0;
}

/* REP; never libvterm's. */
static void repeat_last(struct emulator *em, unsigned n)
{
	if (em->last)
		for (unsigned i = 0; i < n && i < REPEAT_MAX; i++)
			add_cp(&em->pending, em->last);
	em->marks = MARKS_MAX;
}

static void note_modes(struct emulator *em, const struct lex_token *t)
{
	if (t->leader == '?' && (t->final == 'h' || t->final == 'l'))
		for (unsigned i = 0; i < t->nargs; i++)
			if (t->arg[i] == 7)
				em->wraps = t->final == 'h';
}

/* DECSC and what has its effect; DECSTR as it is rewritten. */
static bool saves_cursor(const struct lex_token *t)
{
	if (t->kind == LEX_ESCAPE)
		return !t->between && t->final == '7';
	if (t->kind != LEX_CSI)
		return false;
	for (unsigned i = 0; t->leader == '?' && t->final == 'h' && i < t->nargs; i++)
		if (t->arg[i] == 1048 || t->arg[i] == 1049)
			return true;
	return !t->leader &&
		((t->final == 's' && !t->between && !t->nargs) ||
			(t->final == 'p' && t->between == '!'));
}

static void note_cursor(struct emulator *em, const struct lex_token *t)
{
	VTermPos at;

	if (t->kind == LEX_ESCAPE && t->final == 'c' && !t->between)
		em->has_saved = false;
	if (!saves_cursor(t))
		return;
	at = find_cursor(em);
	em->has_saved = true;
	em->saved = (struct emulator_cursor){at.col, at.row, em->cursor_shown, emulator_pen(em)};
}

bool emulator_saved(const struct emulator *em, struct emulator_cursor *ret)
{
	*ret = em->saved;
	return em->has_saved;
}

void emulator_take(struct emulator *em, const struct lex_token *t)
{
	note_cursor(em, t);
	if (t->kind == LEX_CHAR) {
		take_character(em, t->cp);
	} else if (t->kind == LEX_CSI && t->final == 'b' && !t->leader && !t->between) {
		repeat_last(em, lex_arg(t, 0, 1));
	} else {
		emulator_rewrite(t, &em->pending);
		if (t->kind == LEX_ASCII) {
			em->last = (unsigned char)t->bytes[t->n - 1];
			em->marks = 0;
		} else if (t->kind != LEX_CSI || t->final != 'm') {
			em->last = 0;
		}
		if (t->kind == LEX_CSI) {
			note_modes(em, t);
			answer_csi(em, t);
		}
	}
	if (em->pending.len >= PENDING_MAX)
		flush_pending(em);
}

void emulator_resize(struct emulator *em, int columns, int rows)
{
	VTermPos at = find_cursor(em);
	char text[64];
	int n;

	/* Margins outside the new size are not looked at again, and a cursor above its top is not, but by the next
	 * sequence. */
	n = snprintf(text, sizeof text, "\x1b[?6l\x1b[r\x1b[%d;%dH", at.row + 1, at.col + 1);
	vterm_input_write(em->vt, text, (size_t)n);
	vterm_set_size(em->vt, terminal_within(1, rows, TERMINAL_ROWS_MAX),
		terminal_within(TERMINAL_COLUMNS_MIN, columns, TERMINAL_COLUMNS_MAX));
	vterm_input_write(em->vt, "\x1b[0n", 4);
	em->last = 0;
}

void emulator_skip(struct emulator *em, uint64_t bytes)
{
	char size[FORMAT_MAX];
	AUTO_STR struct str text = STR_INIT;

	flush_pending(em);
	str_addf(&text, "[%s not kept: printed too fast]", format_bytes(size, bytes));
	scrollback_add(&em->lines, text.s, text.len);
}

void emulator_show(struct emulator *em, struct terminal_screen *s)
{
	VTermPos at = find_cursor(em);
	int rows, columns;

	vterm_get_size(em->vt, &rows, &columns);
	if (s->rows != rows || s->columns != columns || !s->cells) {
		s->cells =
			xreallocarray(s->cells, (size_t)rows * (size_t)columns, sizeof *s->cells);
		s->rows = rows;
		s->columns = columns;
	}
	s->cursor_x = at.col;
	s->cursor_y = at.row;
	s->cursor_shown = em->cursor_shown;
	for (int y = 0; y < rows; y++) {
		struct terminal_cell *row = s->cells + (size_t)y * (size_t)columns;

		for (int x = 0; x < columns; x++) {
			VTermScreenCell cell = {.chars = {0}};

			vterm_screen_get_cell(em->screen, (VTermPos){y, x}, &cell);
			row[x] = convert_cell(&cell);
			if (row[x].width == 2) {
				row[x + 1] = (struct terminal_cell){.ink = row[x].ink,
					.paper = row[x].paper,
					.flags = row[x].flags};
				x++;
			}
		}
	}
}

static int pen_number(const struct emulator *em, VTermAttr attr)
{
	VTermValue v = {.number = 0};

	return vterm_state_get_penattr(em->state, attr, &v) ? v.number : 0;
}

static uint32_t pen_colour(const struct emulator *em, VTermAttr attr)
{
	VTermValue v = {.number = 0};

	return vterm_state_get_penattr(em->state, attr, &v) ? convert_colour(v.color) : 0;
}

static bool pen_bit(const struct emulator *em, VTermAttr attr)
{
	VTermValue v = {.number = 0};

	return vterm_state_get_penattr(em->state, attr, &v) && v.boolean;
}

struct terminal_cell emulator_pen(struct emulator *em)
{
	flush_pending(em);
	return (struct terminal_cell){.width = 1,
		.ink = pen_colour(em, VTERM_ATTR_FOREGROUND),
		.paper = pen_colour(em, VTERM_ATTR_BACKGROUND),
		.flags = (uint8_t)((pen_bit(em, VTERM_ATTR_BOLD) ? TERMINAL_BOLD : 0) |
			(pen_number(em, VTERM_ATTR_UNDERLINE) ? TERMINAL_UNDERLINE : 0) |
			(pen_bit(em, VTERM_ATTR_ITALIC) ? TERMINAL_ITALIC : 0) |
			(pen_bit(em, VTERM_ATTR_BLINK) ? TERMINAL_BLINK : 0) |
			(pen_bit(em, VTERM_ATTR_REVERSE) ? TERMINAL_REVERSE : 0) |
			(pen_bit(em, VTERM_ATTR_STRIKE) ? TERMINAL_STRIKE : 0))};
}

size_t emulator_lines(struct emulator *em)
{
	flush_pending(em);
	return em->lines.count;
}

const char *emulator_line(const struct emulator *em, size_t i, size_t *ret_n)
{
	size_t at = (em->lines.first + i) % TERMINAL_LINES;

	*ret_n = em->lines.line[at].n;
	return em->lines.line[at].text;
}

size_t emulator_answers(struct emulator *em, char *buf, size_t cap)
{
	size_t n = em->answers.len < cap ? em->answers.len : cap;

	if (n)
		memcpy(buf, em->answers.s, n);
	str_remove_front(&em->answers, n);
	return n;
}
