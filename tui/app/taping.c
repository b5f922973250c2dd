/* taping.c - `--record`: what the console is given, and what it draws of it, on its way past. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <berth/build.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/message.h>
#include <berth/str.h>
#include <berth/tape.h>

#include "app/app_state.h"

void taping_begin(struct app *a)
{
	if (a->o->tape)
		clock_hold(clock_mono_ns(), clock_wall_ms());
}

void taping_end(struct app *a)
{
	if (a->o->tape)
		clock_let_go();
}

static void put_on_tape(struct app *a, struct tape_moment *m)
{
	m->mono_ns = clock_mono_ns();
	m->wall_ms = clock_wall_ms();
	m->sent = a->sent;
	tape_add(a->o->tape, m);
}

void tape_the_snapshot(struct app *a, const struct snapshot *s)
{
	if (a->o->tape)
		put_on_tape(a, &(struct tape_moment){.snapshot = s});
}

/* What a program in a shell prints is the person's alone. */
void tape_the_event(struct app *a, struct event *ev)
{
	if (a->o->tape && ev->kind != EV_SHELL_OUTPUT)
		put_on_tape(a, &(struct tape_moment){.event = ev});
	else
		event_free(ev);
}

const char *const input_words[INPUT_TAPED] = {[INPUT_KEY] = "key",
	[INPUT_PASTE] = "paste",
	[INPUT_CLICK] = "click",
	[INPUT_WHEEL] = "wheel",
	[INPUT_RESIZE] = "size"};

void tape_the_input(struct app *a, const struct input *in)
{
	struct tape_input t = {.x = in->x,
		.y = in->y,
		.lines = in->lines,
		.twice = in->twice,
		.text = in->text,
		.n = in->kind == INPUT_PASTE ? in->n : 0};

	if (!a->o->tape)
		return;
	snprintf(t.what, sizeof t.what, "%s", input_words[in->kind]);
	if (in->kind == INPUT_KEY)
		key_format(t.key, in->key);
	put_on_tape(a, &(struct tape_moment){.input = &t});
}

/* FNV-1a over words: two pictures of a session are to differ in it, nothing more. */
uint64_t picture_sum(const struct canvas *c)
{
	const char *at = (const char *)c->cells;
	size_t n = (size_t)c->columns * (size_t)c->rows * sizeof *c->cells;
	uint64_t sum = 14695981039346656037u ^ (uint64_t)(c->columns * 1000 + c->rows), word;

	for (; n; at += sizeof word, n -= n < sizeof word ? n : sizeof word) {
		word = 0;
		memcpy(&word, at, n < sizeof word ? n : sizeof word);
		sum = (sum ^ word) * 1099511628211u;
		sum ^= sum >> 29;
	}
	sum ^= (uint64_t)(uint32_t)c->cursor_x << 32 | (uint32_t)c->cursor_y;
	return sum | 1;
}

void tape_the_picture(struct app *a)
{
	if (a->o->tape)
		put_on_tape(a, &(struct tape_moment){.picture = picture_sum(&a->canvas)});
}

int taping_open(struct app *a, struct err *e)
{
	AUTO_STR struct str settings = STR_INIT;
	const char *file = a->settings->source.root ? a->settings->source.file : NULL;
	time_t now = time(NULL);
	struct tm tm;

	if (!a->o->tape)
		return 0;
	localtime_r(&now, &tm);
	if (file && file_read(AT_FDCWD, file, 0, TAPE_SETTINGS_MAX, &settings, e) < 0)
		return -1;
	return tape_begin(a->o->tape,
		&(struct tape_head){.berth = berth_build.version,
			.columns = a->canvas.columns,
			.rows = a->canvas.rows,
			.ascii = a->canvas.ascii,
			.read_only = a->policy.read_only,
			.utc_offset_s = (int)tm.tm_gmtoff,
			.settings = settings.s,
			.notice = a->said},
		e);
}
