/* replay.c - `--replay`: a recorded session instead of a backend and a person; its own clock, nothing else happens. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/tape.h>

#include "app/app_state.h"

#define PLACE_MOST 10000 /* of the pointer; what it scrolls */

struct replay {
	struct tape_reader *reader;
	char *was[3];            /* of the environment */
	struct tape_moment next; /* when `has` */
	bool has;
	int64_t began_ns;
	size_t pictures, others; /* others: not as they were recorded */
	int64_t first_other_ns;
	/* on the terminal */
	struct screen *screen;
	struct canvas seen;       /* as much of the picture as the terminal has room for */
	bool left, paused, hurry; /* hurry: to what is pressed next */
	int64_t due_ms;           /* real time less the session's */
};

static int look_ahead(struct replay *r, struct err *e)
{
	int got = tape_next(r->reader, &r->next, e);

	r->has = got > 0;
	return got;
}

/* What views ask this machine for is not to be seen in a session of another: the local time is that in which it was
 * recorded, and there is neither a benchmark nor an audit log. */
static const char *const variables[] = {"TZ", "BERTH_BENCH_LIVE", "XDG_STATE_HOME"};

static void set_world(struct replay *r, int offset_s)
{
	char zone[32];

	for (size_t i = 0; i < COUNT(variables); i++)
		r->was[i] = xstrdup(getenv(variables[i]));
	/* POSIX counts westwards. */
	snprintf(zone, sizeof zone, "<rec>%c%d:%02d", offset_s < 0 ? '+' : '-',
		abs(offset_s) / 3600, abs(offset_s) / 60 % 60);
	setenv("TZ", zone, 1);
	setenv("BERTH_BENCH_LIVE", "", 1);
	setenv("XDG_STATE_HOME", "/dev/null", 1);
	tzset();
}

static void restore_world(struct replay *r)
{
	for (size_t i = 0; i < COUNT(variables); i++) {
		if (r->was[i])
			setenv(variables[i], r->was[i], 1);
		else
			unsetenv(variables[i]);
		free(r->was[i]);
	}
	tzset();
}

int replay_open(struct app *a, struct err *e)
{
	const struct tape_head *h = tape_head_of(a->o->replay);
	struct replay *r = a->replay = xcalloc(1, sizeof *r);
	int got;

	r->reader = a->o->replay;
	set_world(r, h->utc_offset_s);
	got = look_ahead(r, e);
	if (got > 0 && !r->next.snapshot)
		got = 0;
	if (got <= 0)
		return got < 0 ? -1 : err_set(e, ERR_USAGE, "This recording is empty.");
	clock_hold(r->next.mono_ns, r->next.wall_ms);
	r->began_ns = r->next.mono_ns;
	a->live = r->next.snapshot;
	if (*h->notice)
		app_say(a, ROLE_WARN, "%s", h->notice);
	r->has = false;
	return look_ahead(r, e) < 0 ? -1 : 0;
}

static void tell_replay(const struct replay *r)
{
	fprintf(stderr, "berth: %zu pictures, ", r->pictures);
	if (r->others)
		fprintf(stderr, "%zu are not as they were recorded, the first at %.1f s", r->others,
			(double)(r->first_other_ns - r->began_ns) / 1e9);
	else
		fprintf(stderr, "all as they were recorded");
	fprintf(stderr, "%s.\n",
		tape_is_cut(r->reader) ? "; the console was ended before it could end the recording"
				       : "");
}

static void drop_next(struct replay *r)
{
	if (!r->has)
		return;
	snapshot_unref(r->next.snapshot);
	event_free(r->next.event);
	r->has = false;
}

void replay_leave(struct app *a)
{
	if (a->replay)
		screen_close(STEAL(a->replay->screen));
}

void replay_close(struct app *a)
{
	struct replay *r = a->replay;

	if (!r)
		return;
	canvas_release(&r->seen);
	if (!a->o->out && r->pictures)
		tell_replay(r);
	drop_next(r);
	restore_world(r);
	clock_let_go();
	free(r);
	a->replay = NULL;
}

/* ---- one moment */

static int limit_place(int v, int most)
{
	return v < -most ? -most : v > most ? most : v;
}

/* What is none that can be is the key that does nothing. */
static struct input read_taped_input(const struct tape_input *t)
{
	struct input in = {.x = limit_place(t->x, PLACE_MOST),
		.y = limit_place(t->y, PLACE_MOST),
		.lines = limit_place(t->lines, PLACE_MOST),
		.twice = t->twice,
		.text = t->n ? t->text : "",
		.n = t->n < INPUT_PASTE_MAX ? t->n : INPUT_PASTE_MAX};

	for (int i = 0; i < INPUT_TAPED; i++)
		if (strcmp(input_words[i], t->what) == 0)
			in.kind = (enum input_kind)i;
	if (in.kind != INPUT_KEY || key_parse(t->key, strlen(t->key), &in.key, NULL) < 0)
		in.key = (struct key){0};
	return in;
}

static void play_input(struct app *a, const struct tape_input *t)
{
	struct input in = read_taped_input(t);

	if (a->shell)
		shell_replay(a, &in);
	else
		app_input(a, &in);
}

static void play_picture(struct app *a, const struct tape_moment *m)
{
	struct replay *r = a->replay;

	frame_draw(a);
	r->pictures++;
	if (picture_sum(&a->canvas) == m->picture)
		return;
	if (!r->others++)
		r->first_other_ns = m->mono_ns;
}

int replay_step(struct app *a, struct err *e)
{
	struct replay *r = a->replay;
	struct tape_moment m = r->next;

	if (!r->has || a->quit)
		return 0;
	r->has = false;
	clock_hold(m.mono_ns, m.wall_ms);
	a->sent = m.sent;
	if (m.snapshot)
		app_take_snapshot(a, m.snapshot);
	else if (m.event)
		app_take_event(a, m.event);
	else if (m.input)
		play_input(a, m.input);
	else
		play_picture(a, &m);
	return look_ahead(r, e) < 0 ? -1 : 1;
}

bool replay_ended(const struct app *a)
{
	return !a->replay->has || a->quit;
}

const char *replay_pressed(struct app *a, char *buf, size_t cap)
{
	const struct replay *r = a->replay;
	char key[KEY_TEXT_MAX];
	struct input in;
	int n;

	if (replay_ended(a) || !r->next.input)
		return NULL;
	in = read_taped_input(r->next.input);
	n = snprintf(buf, cap, "%.3f s: ", (double)(r->next.mono_ns - r->began_ns) / 1e9);
	switch (in.kind) {
	case INPUT_KEY:
		snprintf(buf + n, cap - (size_t)n, "key %s", key_format(key, in.key));
		break;
	case INPUT_PASTE: snprintf(buf + n, cap - (size_t)n, "paste of %zu bytes", in.n); break;
	case INPUT_CLICK: snprintf(buf + n, cap - (size_t)n, "click %d %d", in.x, in.y); break;
	case INPUT_WHEEL: snprintf(buf + n, cap - (size_t)n, "wheel %d", in.lines); break;
	default: snprintf(buf + n, cap - (size_t)n, "size %d %d", in.x, in.y);
	}
	return buf;
}

/* ---- on the terminal */

static void copy_picture(struct replay *r, const struct canvas *from)
{
	int w, h;

	screen_size(r->screen, &w, &h);
	canvas_resize(&r->seen, w, h);
	canvas_clear(&r->seen);
	for (int y = 0; y < h && y < from->rows; y++) {
		struct cell *to = &r->seen.cells[(size_t)y * (size_t)w];
		int n = w < from->columns ? w : from->columns;

		memcpy(to, &from->cells[(size_t)y * (size_t)from->columns], (size_t)n * sizeof *to);
		if (to[n - 1].width == 2)
			to[n - 1] = (struct cell){.width = 1};
	}
	if (from->cursor_x < w && from->cursor_y < h) {
		r->seen.cursor_x = from->cursor_x;
		r->seen.cursor_y = from->cursor_y;
	}
}

static void show_replay(struct app *a)
{
	struct replay *r = a->replay;
	const char *what = replay_ended(a) ? "The recording ends here."
		: r->paused                ? "Paused: Space goes on."
					   : NULL;

	copy_picture(r, &a->canvas);
	if (what) {
		canvas_fill(&r->seen, (struct area){0, r->seen.rows - 1, r->seen.columns, 1},
			STYLE(WARN), ' ');
		canvas_printf(&r->seen, 1, r->seen.rows - 1, -1, STYLE(WARN),
			"%s  n: what is pressed next  q: ends the replay", what);
	}
	screen_paint(r->screen, &r->seen, &a->theme);
}

/* From now on: the next moment is due at once, the others as long after it as they came. */
static void reset_pace(struct replay *r)
{
	r->due_ms = clock_real_ms() - r->next.mono_ns / 1000000;
}

static void take_player_key(struct replay *r, struct key k)
{
	if (k.code == 'q' || k.code == NAMED_ESC || (k.code == 'c' && k.mods == MOD_CTRL))
		r->left = true;
	else if (k.code == ' ' || k.code == NAMED_RIGHT || k.code == 'n')
		reset_pace(r);
	if (k.code == ' ')
		r->paused = !r->paused;
	else if (k.code == NAMED_RIGHT || k.code == 'n')
		r->hurry = true;
}

static void take_player_input(struct replay *r, bool hangup)
{
	struct input in;

	while (!r->left && screen_next(r->screen, hangup, &in)) {
		if (in.kind == INPUT_KEY)
			take_player_key(r, in.key);
		else if (in.kind == INPUT_RESIZE)
			screen_redraw(r->screen);
		else if (in.kind == INPUT_STOP)
			screen_suspend(r->screen);
		else if (in.kind == INPUT_END || in.kind == INPUT_LOST)
			r->left = true;
	}
}

/* Real milliseconds until the next moment is due; -1: not before a key says so. */
static int next_is_due(struct app *a)
{
	struct replay *r = a->replay;
	int64_t left = r->due_ms + r->next.mono_ns / 1000000 - clock_real_ms();

	if (replay_ended(a) || (r->paused && !r->hurry))
		return -1;
	return r->hurry || left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
}

/* One moment; a picture is shown. */
static int play_due(struct app *a, struct err *e)
{
	struct replay *r = a->replay;
	size_t drawn = r->pictures;
	bool pressed = r->next.input;

	if (replay_step(a, e) < 0)
		return -1;
	if (pressed && r->hurry) {
		r->hurry = false;
		reset_pace(r);
	}
	if (r->pictures > drawn || replay_ended(a))
		show_replay(a);
	return 0;
}

int replay_run(struct app *a, struct err *e)
{
	struct replay *r = a->replay;
	struct pollfd fds[2] = {{.fd = screen_fd(r->screen), .events = POLLIN},
		{.fd = screen_signal_fd(r->screen), .events = POLLIN}};

	reset_pace(r);
	take_player_input(r, false);
	while (!r->left) {
		int due = next_is_due(a), n = poll(fds, 2, due);

		if (n > 0) {
			take_player_input(r, fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
			show_replay(a);
		}
		if (n == 0 && due >= 0 && next_is_due(a) == 0 && play_due(a, e) < 0)
			return -1;
	}
	return 0;
}

struct screen *replay_screen(struct app *a, struct err *e)
{
	return a->replay->screen = screen_open(false, e);
}
