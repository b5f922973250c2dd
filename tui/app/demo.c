/*
 * demo.c - `berth --demo FILE`: plays a script (script.h) on the terminal, for teaching.
 *
 * The console is the real one and shows what there is; nothing can be changed in it, for whoever wrote the file is not who
 * plays it.  Space pauses, n goes on at once, q and Esc leave it; then the console is the person's.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>

#include <berth/check.h>
#include <berth/clock.h>

#include "app/app_state.h"

#define LINE_MS 900 /* after each line of the script; a sentence stays longer */
#define LETTER_READ_MS 45

struct demo {
	bool paused, hurry, left;
};

static void paint_demo(struct app *a)
{
	const struct demo *d = a->demo;
	struct canvas *c = &a->canvas;

	a->dirty = a->urgent = false;
	frame_draw(a);
	canvas_fill(c, (struct area){0, c->rows - 1, c->columns, 1}, STYLE(WARN), ' ');
	canvas_printf(c, 1, c->rows - 1, c->columns - 1, STYLE(WARN), "%s",
		d->paused ? "Demo, paused: Space resumes  n: next  q: leave"
			  : "Demo: Space pauses  n: next  q: leave");
	screen_paint(a->screen, c, &a->theme);
	a->painted_ns = clock_mono_ns();
}

static void take_demo_key(struct demo *d, struct key k)
{
	if (k.code == 'q' || k.code == NAMED_ESC || (k.code == 'c' && k.mods == MOD_CTRL))
		d->left = true;
	else if (k.code == ' ')
		d->paused = !d->paused;
	else if (k.code == 'n' || k.code == NAMED_RIGHT)
		d->hurry = true;
}

static void take_demo_input(struct app *a, bool hangup)
{
	struct demo *d = a->demo;
	struct input in;

	while (!a->quit && screen_next(a->screen, hangup, &in)) {
		if (in.kind == INPUT_KEY)
			take_demo_key(d, in.key);
		else if (in.kind == INPUT_STOP)
			screen_suspend(a->screen);
		else if (in.kind == INPUT_END || in.kind == INPUT_LOST)
			a->quit = true;
		else if (in.kind == INPUT_RESIZE) {
			screen_size(a->screen, &in.x, &in.y);
			app_input(a, &in);
		}
		a->dirty = true;
	}
}

/* Let time pass and show what happens; false: it was left. */
static bool pace_demo(struct app *a, int ms)
{
	struct demo *d = a->demo;
	int64_t until = clock_real_ms() + ms;

	a->dirty = true;
	while (!a->quit && !d->left) {
		struct pollfd fds[3 + TASKS_MAX] = {{.fd = screen_fd(a->screen), .events = POLLIN},
			{.fd = screen_signal_fd(a->screen), .events = POLLIN},
			{.fd = backend_fd(a->o->backend), .events = POLLIN}};
		int64_t left = until - clock_real_ms();

		if (a->dirty)
			paint_demo(a);
		if (d->hurry || (left <= 0 && !d->paused))
			break;
		if (poll(fds, 3 + tasks_poll(a, fds + 3), d->paused ? -1 : (int)left) < 0 &&
			errno != EINTR)
			check_die("berth: cannot wait for terminal input");
		if (fds[0].revents || fds[1].revents)
			take_demo_input(a, fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
		if (fds[2].revents)
			app_drain(a);
		tasks_pulse(a);
	}
	d->hurry = false;
	return !a->quit && !d->left;
}

int demo_run(struct app *a, struct err *e)
{
	struct demo d = {0};
	int more = 1;

	a->demo = &d;
	script_pace(a->script, pace_demo);
	while (more > 0 && pace_demo(a, LINE_MS + LETTER_READ_MS * (int)strlen(a->said)))
		more = script_next(a->script, a, e);
	a->demo = NULL;
	a->paging = false;
	a->dirty = a->urgent = true;
	if (more < 0 && !d.left && !a->quit)
		return -1;
	app_say(a, ROLE_DIM,
		d.left ? "The demo was left; the console is yours, read-only."
		       : "The demo has ended; the console is yours, read-only.");
	return 0;
}
