/* terminal_screen.c - the screen of a terminal: what libvterm makes of output, its scrollback, and the file that shows it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/emulate.h"
#include "terminals/screen_file.h"

struct shown {
	struct lexer lexer;
	struct emulator *em;
	struct terminal_screen screen;
};

static void take_shown(void *ctx, const struct lex_token *t)
{
	emulator_take(ctx, t);
}

static void write_bytes(struct shown *s, const char *bytes, size_t n)
{
	lex(&s->lexer, bytes, n, take_shown, s->em);
}

static void write_text(struct shown *s, const char *text)
{
	write_bytes(s, text, strlen(text));
}

static struct shown *open_shown(int columns, int rows)
{
	struct shown *s = xcalloc(1, sizeof *s);

	s->em = emulator_open(columns, rows);
	return s;
}

static void close_shown(struct shown *s)
{
	emulator_close(s->em);
	terminal_screen_release(&s->screen);
	free(s);
}

static void expect_row(struct shown *s, int y, const char *text)
{
	AUTO_STR struct str row = STR_INIT;

	emulator_show(s->em, &s->screen);
	assert_true(y < s->screen.rows);
	terminal_row_text(&s->screen, y, false, &row);
	assert_string_equal(row.s, text);
}

static void expect_cursor(struct shown *s, int x, int y)
{
	emulator_show(s->em, &s->screen);
	assert_int_equal(s->screen.cursor_x, x);
	assert_int_equal(s->screen.cursor_y, y);
}

static void expect_line(struct shown *s, size_t i, const char *text)
{
	size_t n;
	const char *line = emulator_line(s->em, i, &n);

	assert_int_equal(n, strlen(text));
	assert_memory_equal(line, text, n);
}

static void text_and_motion_are_drawn(void **state)
{
	struct shown *s = open_shown(20, 4);

	(void)state;
	write_text(s, "one\r\ntwo\x1b[3;5Hthree\x1b[1;2H\x1b[1P");
	expect_row(s, 0, "oe");
	expect_row(s, 1, "two");
	expect_row(s, 2, "    three");
	expect_cursor(s, 1, 0);
	write_text(s, "\x1b[?25l\x1b[4;20Hab");
	expect_cursor(s, 1, 3);
	assert_false(s->screen.cursor_shown);
	expect_row(s, 3, "b");
	assert_int_equal(emulator_lines(s->em), 1);
	expect_line(s, 0, "oe");
	write_text(s, "\x1b(0qx\x1b(B\x1b[sq\x1b[H\x1b[u!\x1b[3b.");
	expect_row(s, 3, "b\xE2\x94\x80\xE2\x94\x82!!!!.");
	close_shown(s);
}

static void styles_are_kept(void **state)
{
	struct shown *s = open_shown(40, 2);
	AUTO_STR struct str row = STR_INIT;

	(void)state;
	write_text(s,
		"a\x1b[1;31mb\x1b[0;48;5;200mc\x1b[m\x1b[38;2;1;2;3md\x1b[0;38:2::4:5:6me\x1b[39;4:3mf\x1b[4:0mg\x1b[38:5:9;7mh");
	write_text(s, "\x1b[0;58;5;1;9mi\x1b[0;38;2mj\x1b[0;97mk\x1b[m   ");
	emulator_show(s->em, &s->screen);
	terminal_row_text(&s->screen, 0, true, &row);
	assert_string_equal(row.s,
		"a\x1b[0;1;31mb\x1b[0;48;5;200mc\x1b[0;38;2;1;2;3md\x1b[0;38;2;4;5;6me\x1b[0;4mf\x1b[0mg\x1b[0;7;91mh"
		"\x1b[0;9mi\x1b[0mj\x1b[0;97mk\x1b[0m");
	close_shown(s);
}

static void wide_characters_take_two_columns(void **state)
{
	struct shown *s = open_shown(6, 3);

	(void)state;
	/* One of Unicode 1, and two that are younger than libvterm's tables; a mark; one that lost its right half. */
	write_text(s, "\xE4\xB8\xAD\xF0\x9F\xA7\xAA\xF0\x9F\x9F\xA2|");
	expect_row(s, 0, "\xE4\xB8\xAD\xF0\x9F\xA7\xAA\xF0\x9F\x9F\xA2");
	expect_row(s, 1, "|");
	assert_int_equal(s->screen.cells[2].width, 2);
	assert_int_equal(s->screen.cells[2].ch[0], 0x1F9EA);
	assert_int_equal(s->screen.cells[3].width, 0);
	write_text(s, "e\xCC\x81\xCC\x88\xCC\x81\xCC\x81\x1b[3;1H\xE4\xB8\xAD\x1b[3;2Hx");
	expect_row(s, 1, "|e\xCC\x81\xCC\x88");
	expect_row(s, 2, " x");
	/* Nothing that a program may write is what stands for another. */
	write_text(s,
		"\x1b[2J\x1b[H\xF0\xBF\xA7\xAA\xC2\x9b"
		"a\xC2\xAD\xE2\x80\xAE");
	expect_row(s, 0,
		"\xEF\xBF\xBD\xEF\xBF\xBD"
		"a\xEF\xBF\xBD");
	close_shown(s);
}

static void the_other_screen_has_no_scrollback(void **state)
{
	struct shown *s = open_shown(10, 2);

	(void)state;
	write_text(s, "shell\x1b[?1049h\x1b[2J\x1b[H1\n2\n3\n4");
	assert_int_equal(emulator_lines(s->em), 0);
	write_text(s, "\x1b[?1049l");
	expect_row(s, 0, "shell");
	expect_cursor(s, 5, 0);
	write_text(s,
		"\x1b[?47;25hinside\x1b"
		"c");
	expect_row(s, 0, "");
	write_text(s, "a\r\nb\r\nc");
	assert_int_equal(emulator_lines(s->em), 1);
	close_shown(s);
}

static void scrollback_is_bounded(void **state)
{
	struct shown *s = open_shown(80, 2);
	AUTO_STR struct str line = STR_INIT;
	char text[32];
	size_t all = 0, n;

	(void)state;
	for (int i = 0; i < TERMINAL_LINES + 100; i++) {
		snprintf(text, sizeof text, "%d\r\n", i);
		write_text(s, text);
	}
	assert_int_equal(emulator_lines(s->em), TERMINAL_LINES);
	expect_line(s, 0, "99");
	emulator_skip(s->em, 5 << 20);
	expect_line(s, TERMINAL_LINES - 1, "[5.0M not kept: printed too fast]");
	/* Each cell of another colour: lines of more bytes. */
	emulator_resize(s->em, TERMINAL_COLUMNS_MAX, 2);
	for (int i = 0; i < TERMINAL_COLUMNS_MAX; i++)
		str_addf(&line, "\x1b[38;2;200;%d;%d;48;2;111;%d;222mX", 100 + i % 100, i % 7,
			i % 5 + 200);
	for (int i = 0; i < 400; i++)
		write_text(s, line.s);
	assert_true(emulator_lines(s->em) < 200);
	for (size_t i = 0; i < emulator_lines(s->em); i++, all += n)
		emulator_line(s->em, i, &n);
	assert_true(all <= TERMINAL_LINES_BYTES && all > TERMINAL_LINES_BYTES / 2);
	close_shown(s);
}

static void expect_answer(const char *asked, const char *answer)
{
	struct shown *s = open_shown(80, 24);
	char got[EMULATOR_ANSWERS + 1];
	size_t n;

	write_text(s, asked);
	n = emulator_answers(s->em, got, EMULATOR_ANSWERS);
	got[n] = '\0';
	assert_string_equal(got, answer);
	assert_int_equal(emulator_answers(s->em, got, EMULATOR_ANSWERS), 0);
	close_shown(s);
}

static void questions_are_answered(void **state)
{
	struct shown *s = open_shown(80, 24);
	char got[EMULATOR_ANSWERS];

	(void)state;
	expect_answer("\x1b[c", "\x1b[?62;22c");
	expect_answer("\x1b[>0c", "\x1b[>1;100;0c");
	expect_answer("\x1b[5n", "\x1b[0n");
	expect_answer("\x1b[3;4Hab\x1b[6n", "\x1b[3;6R");
	expect_answer("ab\x1b[?6n", "\x1b[?1;3R");
	expect_answer("\x1b[?25l\x1b[?25$p\x1b[?7$p\x1b[?2026$p\x1b[?1049h\x1b[?1049$p",
		"\x1b[?25;2$y\x1b[?7;1$y\x1b[?2026;0$y\x1b[?1049;1$y");
	expect_answer("\x1b[21t\x1b[18t\x1bZ\x05\x1b[?u\x1bP$qm\x1b\\\x1b]11;?\a\x1b[1c", "");
	for (int i = 0; i < 100000; i++)
		write_text(s, "\x1b[c");
	assert_true(emulator_answers(s->em, got, sizeof got) > EMULATOR_ANSWERS - 16);
	close_shown(s);
}

static void sizes_change_and_stay_within_bounds(void **state)
{
	struct shown *s = open_shown(0, -1);

	(void)state;
	emulator_show(s->em, &s->screen);
	assert_int_equal(s->screen.columns, TERMINAL_COLUMNS_MIN);
	assert_int_equal(s->screen.rows, 1);
	emulator_resize(s->em, 100000, 100000);
	emulator_show(s->em, &s->screen);
	assert_int_equal(s->screen.columns, TERMINAL_COLUMNS_MAX);
	assert_int_equal(s->screen.rows, TERMINAL_ROWS_MAX);
	emulator_resize(s->em, 20, 5);
	write_text(s, "\x1b[2J\x1b[1;1H1\r\n2\r\n3\r\n4\r\n5");
	emulator_resize(s->em, 20, 3);
	expect_row(s, 0, "3");
	expect_row(s, 2, "5");
	expect_cursor(s, 1, 2);
	close_shown(s);
}

/* Each of these reads outside libvterm's arrays, or never returns, when it is given to libvterm as it is. */
static void what_libvterm_cannot_bear_does_no_harm(void **state)
{
	struct shown *s = open_shown(2, 3);
	AUTO_STR struct str many = STR_INIT;

	(void)state;
	write_text(s, "\x1b[5b\x1b[2147483647b");
	write_text(s, "\xE4\xB8\xAD\xE4\xB8\xAD\x1b#6\xE4\xB8\xAD\x1b#3\xE4\xB8\xAD");
	write_text(s, "\x1b[1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1;1m");
	write_text(s, "\x1b[38;5m\x1b[48m\x1b[38;2;1m\x1b[38:2m\x1b[4:m\x1b[:m\x1b[58:2:1m");
	emulator_resize(s->em, 40, 20);
	write_text(s,
		"\x1b[18;20r\x1b[20;40H\x1b"
		"7\x1b[?69h\x1b[30;40s");
	emulator_resize(s->em, 3, 2);
	write_text(s,
		"x\n\n\x1b"
		"8y\n\x1b[uz\x1b[?1048lz\x1bM\x1bM\x1b[99L\x1b[99M\x1b[99@");
	emulator_resize(s->em, 40, 20);
	write_text(s, "\x1b[20;1Hlast\x1b[2;1H");
	emulator_resize(s->em, 40, 4);
	write_text(s, "up\x1b[A\x1b[1J");
	/* What combines, without end: with what it combines, alone, wide, and over motion. */
	str_adds(&many, "a");
	for (int i = 0; i < 20000; i++)
		str_adds(&many, i % 2 ? "\xCC\x81" : "\xE3\x82\x99");
	for (int i = 0; i < 20000; i++)
		str_adds(&many, i % 3 ? "\xD8\x80" : "\x1b[m\xCC\x81");
	write_text(s, many.s);
	for (int i = 0; i < 20000; i++)
		write_text(s, "\xCC\x81");
	emulator_show(s->em, &s->screen);
	assert_int_equal(s->screen.columns, 40);
	close_shown(s);
}

/* All characters, at the edge of a narrow screen. */
static void every_character_is_shown_as_wide_as_it_is(void **state)
{
	struct shown *s = open_shown(8, 1);
	char utf8[8];

	(void)state;
	for (uint32_t cp = 0x20; cp <= 0x10FFFF; cp++) {
		size_t n = utf8_put(cp, utf8);
		int width = cp == 0x7F ? 0 : text_cp_width(cp);

		/* One in 16 of the largest blocks. */
		if ((cp >= 0xD800 && cp < 0xE000) || (cp >= 0x20000 && cp & 15))
			continue;
		write_text(s, "\r\x1b[K");
		write_bytes(s, utf8, n);
		write_text(s, "|");
		emulator_show(s->em, &s->screen);
		/* Unassigned ones of blocks that are wide may be shown as two. */
		if (width == 2)
			assert_int_equal(s->screen.cells[2].ch[0], '|');
		else if (width == 1)
			assert_true(
				s->screen.cells[1].ch[0] == '|' || s->screen.cells[2].ch[0] == '|');
		else
			assert_true(
				s->screen.cells[0].ch[0] == '|' || s->screen.cells[1].ch[0] == '|');
	}
	close_shown(s);
}

static void place(char path[256], const char *name)
{
	static char folder[200];

	if (!*folder) {
		snprintf(folder, sizeof folder, "/tmp/berth-terminal-XXXXXX");
		assert_non_null(mkdtemp(folder));
	}
	snprintf(path, 256, "%s/%s", folder, name);
}

static void a_picture_is_read_as_it_was_written(void **state)
{
	struct shown *s = open_shown(10, 2);
	struct terminal_screen read = {0};
	struct screen_file f;
	struct err e = ERR_INIT;
	struct stat st;
	char path[256];

	(void)state;
	place(path, "screen");
	assert_int_equal(screen_file_read(path, &read, &e), -1);
	assert_int_equal(e.kind, ERR_NOT_FOUND);
	assert_int_equal(screen_file_open(&f, path, &e), 0);
	assert_int_equal(screen_file_read(path, &read, &e), -1);
	write_text(s,
		"\x1b[1;33m\xE4\xB8\xAD"
		"e\xCC\x81\x1b[m.");
	emulator_show(s->em, &s->screen);
	snprintf(s->screen.title, sizeof s->screen.title, "evil\x1b]0;x");
	s->screen.bells = 3;
	s->screen.keeper = getpid();
	assert_int_equal(screen_file_write(&f, &s->screen, &e), 0);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.columns, 10);
	assert_int_equal(read.rows, 2);
	assert_int_equal(read.cursor_x, 4);
	assert_memory_equal(read.cells, s->screen.cells, 20 * sizeof *read.cells);
	assert_string_equal(read.title, "evil^[]0;x");
	assert_int_equal(read.bells, 3);
	assert_int_equal(read.status, TERMINAL_RUNS);
	assert_int_equal(read.keeper, getpid());
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	/* Two cannot write it, and nobody who ended does. */
	{
		struct screen_file other;

		assert_true(screen_file_kept(path));
		assert_int_equal(screen_file_open(&other, path, &e), -1);
		assert_int_equal(e.kind, ERR_CONFLICT);
	}
	emulator_resize(s->em, 30, 3);
	emulator_show(s->em, &s->screen);
	assert_int_equal(screen_file_write(&f, &s->screen, &e), 0);
	screen_file_close(&f);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.columns, 30);
	assert_int_equal(read.status, TERMINAL_LOST);
	assert_int_equal(read.keeper, 0);
	assert_int_equal(screen_file_open(&f, path, &e), 0);
	s->screen.status = TERMINAL_ENDED;
	s->screen.exit_code = 7;
	assert_int_equal(screen_file_write(&f, &s->screen, &e), 0);
	assert_false(screen_file_kept(path));
	screen_file_close(&f);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.status, TERMINAL_ENDED);
	assert_int_equal(read.exit_code, 7);
	terminal_screen_release(&read);
	close_shown(s);
	unlink(path);
}

static void check_read(const struct terminal_screen *s)
{
	assert_in_range(s->columns, TERMINAL_COLUMNS_MIN, TERMINAL_COLUMNS_MAX);
	assert_in_range(s->rows, 1, TERMINAL_ROWS_MAX);
	assert_in_range(s->cursor_x, 0, s->columns - 1);
	assert_in_range(s->cursor_y, 0, s->rows - 1);
	assert_in_range(s->exit_code, 0, 255);
	for (int i = 0; i < s->columns * s->rows; i++) {
		const struct terminal_cell *c = &s->cells[i];
		bool right = i % s->columns && s->cells[i - 1].width == 2;

		assert_int_equal(c->width == 0, right);
		assert_true(c->width < 2 || i % s->columns < s->columns - 1);
		assert_int_equal(c->flags & ~TERMINAL_FLAGS, 0);
		if (c->ch[0])
			assert_int_equal(text_cp_width(c->ch[0]), c->width);
		for (int k = 1; k < TERMINAL_CELL_CHARS; k++)
			assert_true(!c->ch[k] || (c->ch[k - 1] && !text_cp_width(c->ch[k])));
	}
}

/* A keeper that an agent got hold of writes what it likes. */
static void nothing_in_the_file_is_trusted(void **state)
{
	struct shown *s = open_shown(6, 3);
	struct terminal_screen read = {0};
	AUTO_STR struct str good = STR_INIT;
	struct screen_file f;
	unsigned seed = 12345;
	char path[256];
	int readable = 0;

	(void)state;
	place(path, "lies");
	write_text(s,
		"\xE4\xB8\xAD"
		"abc");
	emulator_show(s->em, &s->screen);
	assert_int_equal(screen_file_open(&f, path, NULL), 0);
	assert_int_equal(screen_file_write(&f, &s->screen, NULL), 0);
	screen_file_close(&f);
	assert_int_equal(file_read(AT_FDCWD, path, 0, 1 << 20, &good, NULL), 0);
	for (int round = 0; round < 3000; round++) {
		AUTO_FREE char *bad = xmalloc(good.len);
		size_t n = good.len;

		memcpy(bad, good.s, good.len);
		for (int k = 0; k < 1 + round % 40; k++) {
			seed = seed * 1103515245 + 12345;
			/* The numbers at its beginning, and the cells at its end. */
			bad[(seed >> 8) % 3 ? good.len - 1 - (seed >> 12) % 432
					    : 12 + (seed >> 12) % 100] = (char)(seed >> 24);
		}
		if (round % 7 == 0)
			n = seed % good.len;
		assert_int_equal(file_replace(path, bad, n, false), 0);
		if (!screen_file_read(path, &read, NULL)) {
			check_read(&read);
			readable++;
		}
	}
	assert_true(readable > 100);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(screen_file_read(path, &read, NULL), -1);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(screen_file_read(path, &read, NULL), -1);
	unlink(path);
	terminal_screen_release(&read);
	close_shown(s);
}

/* Its counter is odd: a living writer is given time to end it, of a dead one it is the last. */
static void half_a_picture_is_not_shown_while_its_writer_lives(void **state)
{
	struct terminal_screen read = {0};
	struct shown *s = open_shown(20, 2);
	struct screen_file f;
	struct err e = ERR_INIT;
	uint32_t odd = 7;
	char path[256];

	(void)state;
	place(path, "half");
	emulator_show(s->em, &s->screen);
	assert_int_equal(screen_file_open(&f, path, NULL), 0);
	assert_int_equal(screen_file_write(&f, &s->screen, NULL), 0);
	assert_int_equal(pwrite(f.fd, &odd, sizeof odd, 12), sizeof odd);
	assert_int_equal(screen_file_read(path, &read, &e), -1);
	assert_int_equal(e.kind, ERR_TIMEOUT);
	assert_int_equal(screen_file_head(path, &read, &e), 0);
	assert_int_equal(read.status, TERMINAL_RUNS);
	assert_int_equal(screen_file_write(&f, &s->screen, NULL), 0);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(pwrite(f.fd, &odd, sizeof odd, 12), sizeof odd);
	screen_file_close(&f);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.status, TERMINAL_LOST);
	unlink(path);
	terminal_screen_release(&read);
	close_shown(s);
}

/* A full disk, as its writer sees it. */
static void a_picture_that_has_no_room_leaves_the_last_one(void **state)
{
	struct terminal_screen read = {0};
	struct shown *s = open_shown(20, 2);
	struct rlimit was, full;
	struct screen_file f;
	struct err e = ERR_INIT;
	struct stat st;
	char path[256];
	int result;

	(void)state;
	place(path, "full");
	emulator_show(s->em, &s->screen);
	assert_int_equal(screen_file_open(&f, path, NULL), 0);
	assert_int_equal(screen_file_write(&f, &s->screen, NULL), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	signal(SIGXFSZ, SIG_IGN);
	full = (struct rlimit){(rlim_t)st.st_size, was.rlim_max};
	emulator_resize(s->em, 80, 24);
	emulator_show(s->em, &s->screen);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &full), 0);
	result = screen_file_write(&f, &s->screen, &e);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	assert_int_equal(result, -1);
	assert_int_equal(e.sys, EFBIG);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.columns, 20);
	assert_int_equal(screen_file_write(&f, &s->screen, NULL), 0);
	assert_int_equal(screen_file_read(path, &read, &e), 0);
	assert_int_equal(read.columns, 80);
	screen_file_close(&f);
	unlink(path);
	terminal_screen_release(&read);
	close_shown(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_and_motion_are_drawn),
		cmocka_unit_test(styles_are_kept),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(the_other_screen_has_no_scrollback),
		cmocka_unit_test(scrollback_is_bounded),
		cmocka_unit_test(questions_are_answered),
		cmocka_unit_test(sizes_change_and_stay_within_bounds),
		cmocka_unit_test(what_libvterm_cannot_bear_does_no_harm),
		cmocka_unit_test(every_character_is_shown_as_wide_as_it_is),
		cmocka_unit_test(a_picture_is_read_as_it_was_written),
		cmocka_unit_test(nothing_in_the_file_is_trusted),
		cmocka_unit_test(half_a_picture_is_not_shown_while_its_writer_lives),
		cmocka_unit_test(a_picture_that_has_no_room_leaves_the_last_one),
	};

	text_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
