/* hold.c - keeps one terminal: reads its output, draws it, answers for it, and shows it in a file. */
#include "terminals/hold.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>

#define CHUNK 65536
#define READS_AT_ONCE 16
#define LOOK_AT 32768
#define RESUME_WITHIN 4096
#define INPUT_MAX ((size_t)64 << 10)

struct held *held_open(
	const struct terminals_keep *k, int screen, int conn, int in, int out, struct err *e)
{
	struct held *h = xcalloc(1, sizeof *h);

	*h = (struct held){.c = {.conn = conn, .in = in, .out = out, .error = -1, .id = ""},
		.file = {.fd = screen},
		.sending.conn = -1,
		.stopper = -1};
	memcpy(h->name, k->name, sizeof h->name);
	h->name[sizeof h->name - 1] = '\0';
	memcpy(h->screen.command, k->command, sizeof h->screen.command);
	h->screen.command[sizeof h->screen.command - 1] = '\0';
	h->screen.keeper = getpid();
	h->screen.supervisor = k->supervisor;
	h->screen.started_ms = h->screen.changed_ms = clock_wall_ms();
	str_init(&h->input);
	str_init(&h->passed);
	seen_init(&h->seen);
	h->em = emulator_open(k->columns, k->rows);
	h->ring = xmalloc(HELD_RING);
	for (int i = 0; i < 3; i++)
		fcntl((const int[]){conn, in, out}[i], F_SETFL, O_NONBLOCK);
	emulator_show(h->em, &h->screen);
	if (!screen_file_write(&h->file, &h->screen, e))
		return h;
	held_close(h);
	return NULL;
}

void held_close(struct held *h)
{
	lane_command_release(&h->c);
	screen_file_close(&h->file);
	terminal_screen_release(&h->screen);
	emulator_close(h->em);
	str_release(&h->input);
	str_release(&h->passed);
	viewers_close(&h->viewers);
	cleanup_close(&h->sending.conn);
	cleanup_close(&h->stopper);
	free(h->ring);
	free(h);
}

static void keep_bytes(struct held *h, const char *bytes, size_t n)
{
	size_t over = h->waiting + n > HELD_RING ? h->waiting + n - HELD_RING : 0, end, first;

	h->at = (h->at + over) % HELD_RING;
	h->waiting -= over;
	h->missed += over;
	end = (h->at + h->waiting) % HELD_RING;
	first = n < HELD_RING - end ? n : HELD_RING - end;
	memcpy(h->ring + end, bytes, first);
	memcpy(h->ring, bytes + first, n - first);
	h->waiting += n;
}

void held_read(struct held *h)
{
	char chunk[CHUNK];

	for (int i = 0; h->c.out >= 0 && i < READS_AT_ONCE; i++) {
		ssize_t n = read(h->c.out, chunk, sizeof chunk);

		if (n > 0) {
			keep_bytes(h, chunk, (size_t)n);
		} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
			close(h->c.out);
			h->c.out = -1;
		} else {
			return;
		}
	}
}

static void take_held(void *ctx, const struct lex_token *t)
{
	struct held *h = ctx;

	uint32_t before = h->seen.modes & SEEN_BIT(ALTERNATE);

	emulator_take(h->em, t);
	seen_take(&h->seen, t);
	if (!h->viewers.n)
		return;
	pass_take(&h->pass, t, &h->passed);
	/* Another screen than that which is shown, or all of it as at the start. */
	if (before != (h->seen.modes & SEEN_BIT(ALTERNATE)) ||
		(t->kind == LEX_ESCAPE && t->final == 'c' && !t->between))
		h->redraw = true;
}

static void show_viewers(struct held *h)
{
	if (h->redraw)
		viewers_redraw(&h->viewers);
	else
		viewers_print(&h->viewers, &h->screen, h->passed.s, h->passed.len);
	h->redraw = false;
	str_clear(&h->passed);
}

/* What is looked at next may begin in the middle of a sequence: from the next line, or the next sequence. */
static void skip_missed(struct held *h)
{
	emulator_skip(h->em, h->missed);
	h->screen.missed += h->missed;
	h->missed = 0;
	h->redraw = true;
	memset(&h->lexer, 0, sizeof h->lexer);
	for (int i = 0; i < RESUME_WITHIN && h->waiting; i++) {
		char c = h->ring[h->at];

		if (c == '\n' || c == '\x1b')
			return;
		h->at = (h->at + 1) % HELD_RING;
		h->waiting--;
	}
}

static void send_answers(struct held *h)
{
	char answers[EMULATOR_ANSWERS];
	size_t n = emulator_answers(h->em, answers, sizeof answers);

	/* A program that asks and never reads asks for nothing. */
	if (n && h->input.len + n <= INPUT_MAX)
		str_add(&h->input, answers, n);
	held_write(h);
}

void held_look(struct held *h)
{
	uint64_t bells = h->seen.bells, notices = h->seen.notices;
	size_t n;

	if (h->missed)
		skip_missed(h);
	n = h->waiting < LOOK_AT ? h->waiting : LOOK_AT;
	if (n > HELD_RING - h->at)
		n = HELD_RING - h->at;
	if (!n)
		return;
	lex(&h->lexer, h->ring + h->at, n, take_held, h);
	h->at = (h->at + n) % HELD_RING;
	h->waiting -= n;
	h->changed = true;
	h->screen.changed_ms = clock_wall_ms();
	show_viewers(h);
	if (h->seen.bells != bells || h->seen.notices != notices) {
		h->screen.marked_ms = h->screen.changed_ms;
		h->screen.marked_notice = h->seen.notices != notices;
	}
	send_answers(h);
}

int held_wait_ms(const struct held *h)
{
	int64_t left = h->shown_ms + HELD_SHOW_MS - clock_real_ms();

	return !h->changed ? -1 : left <= 0 ? 0 : (int)left;
}

void held_take_screen(struct held *h)
{
	emulator_show(h->em, &h->screen);
	memcpy(h->screen.title, h->seen.title, sizeof h->screen.title);
}

void held_show(struct held *h, bool now)
{
	if (!h->changed || (!now && held_wait_ms(h)))
		return;
	held_take_screen(h);
	h->screen.bells = h->seen.bells;
	h->screen.notices = h->seen.notices;
	h->screen.prompt = h->seen.prompt;
	memcpy(h->screen.notice, h->seen.notice, sizeof h->screen.notice);
	/* On a full disk what was there before stays. */
	screen_file_write(&h->file, &h->screen, NULL);
	h->changed = false;
	h->shown_ms = clock_real_ms();
}

void held_write(struct held *h)
{
	ssize_t n;

	if (h->c.in < 0 || !h->input.len)
		return;
	n = write(h->c.in, h->input.s, h->input.len);
	if (n > 0) {
		str_remove_front(&h->input, (size_t)n);
		h->sending.from -= h->sending.from < (size_t)n ? h->sending.from : (size_t)n;
		h->sending.to -= h->sending.to < (size_t)n ? h->sending.to : (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		close(h->c.in);
		h->c.in = -1;
		str_clear(&h->input);
	}
}

/* By the contract of `exec`. */
static int judge_code(const struct lane_ended *end)
{
	switch (end->how) {
	case LANE_EXIT: return (int)(end->code & 255);
	case LANE_BY_SIGNAL: return 128 + (int)(end->code & 127);
	case LANE_TIMED_OUT: return 124;
	case LANE_CANCELLED: return 128 + 15;
	default: return end->stage != LANE_AT_EXEC ? 125 : end->code == ENOENT ? 127 : 126;
	}
}

static void say_not_run(struct held *h, const struct lane_ended *end)
{
	char text[200];
	int n = snprintf(text, sizeof text, "\r\nberth: cannot run it: %s\r\n",
		strerrordesc_np((int)end->code));

	if (n > 0)
		keep_bytes(h, text, (size_t)n);
}

void held_hear(struct held *h)
{
	struct lane_ended end = {.how = LANE_BY_SIGNAL, .code = 9};
	int what = lane_next(&h->c, &end, NULL);

	if (what == 0 || what == 1)
		return;
	/* All that it wrote is in the pipe; who else holds its other end is not waited for. */
	held_read(h);
	if (what == 2 && end.how == LANE_NOT_RUN)
		say_not_run(h, &end);
	while (h->waiting)
		held_look(h);
	h->ended = h->changed = true;
	h->screen.status = TERMINAL_ENDED;
	h->screen.exit_code = judge_code(&end);
	h->screen.changed_ms = clock_wall_ms();
	held_show(h, true);
	held_turn(h);
}
