/* app.c - runs the UI loop: waits for input, handles it, paints once; starts and ends the console. */
#include "app/app.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/text.h>

#include "app/app_state.h"

/* Pictures that only new data asked for come at most this often; keys are answered at once. */
#define CALM_NS 30000000

/* The terminal's side */

static void take_input(struct app *a, bool hangup)
{
	struct input in;

	while (!a->quit && !a->shell && !a->paging && screen_next(a->screen, hangup, &in)) {
		switch (in.kind) {
		case INPUT_RESIZE: screen_size(a->screen, &in.x, &in.y); /* fall through */
		case INPUT_KEY:
		case INPUT_PASTE:
		case INPUT_CLICK:
		case INPUT_WHEEL: app_input(a, &in); break;
		case INPUT_STOP: action_run(a, DO_SUSPEND); break;
		case INPUT_END: a->quit = true; break;
		case INPUT_LOST:
			a->quit = true;
			a->exit_code = 1;
			break;
		}
	}
}

static void paint_app(struct app *a)
{
	/* Before drawing: a view that is not through with its work asks for the next frame in it. */
	a->dirty = a->urgent = false;
	frame_draw(a);
	screen_paint(a->screen, &a->canvas, &a->theme);
	a->painted_ns = clock_mono_ns();
}

/* How long may be slept: -1 for ever.  Only a lost engine's seconds are counted here. */
static int sleep_ms(const struct app *a)
{
	int64_t left;

	if (a->dirty) {
		left = a->painted_ns + CALM_NS - clock_mono_ns();
		return left <= 0 || a->urgent ? 0 : (int)(left / 1000000) + 1;
	}
	return a->live->engine.phase == ENGINE_UP || a->frozen ? -1 : 1000;
}

static void run_loop(struct app *a)
{
	struct pollfd fds[3 + TASKS_MAX] = {{.fd = screen_fd(a->screen), .events = POLLIN},
		{.fd = screen_signal_fd(a->screen), .events = POLLIN},
		{.fd = backend_fd(a->o->backend), .events = POLLIN}};

	take_input(a, false);
	while (!a->quit) {
		bool due = a->dirty && (a->urgent || clock_mono_ns() - a->painted_ns >= CALM_NS);
		int n;

		if (due)
			paint_app(a);
		n = poll(fds, 3 + tasks_poll(a, fds + 3), sleep_ms(a));
		if (n < 0 && errno != EINTR)
			check_die("berth: cannot wait for terminal input");
		if (n == 0 && !a->dirty)
			a->dirty = true; /* seconds of a lost engine */
		if (n > 0 && (fds[0].revents || fds[1].revents))
			take_input(a, fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
		if (n > 0 && fds[2].revents)
			app_drain(a);
		tasks_pulse(a);
		if (a->shell)
			shell_relay(a);
		if (a->paging)
			pager_run(a);
	}
}

/* Beginning and end */

static void key_problem(void *ctx, const struct err *e)
{
	struct app *a = ctx;

	if (!a->said[0])
		app_say(a, ROLE_WARN, "%s", e->msg);
}

/* That of the run before, where nothing says otherwise and there are colours to see. */
static bool recall_theme(struct app *a, const struct screen *s)
{
	const char *name = a->o->kept ? a->o->kept->theme : NULL;
	struct err gone = ERR_INIT;

	if (!name || strpbrk(name, "/.") || a->o->theme || (s && screen_colours(s) == COLOURS_NONE))
		return false;
	return a->themed = theme_load(name, &a->theme, &gone) == 0;
}

static int choose_theme(struct app *a, const struct screen *s, struct err *e)
{
	const char *name = a->o->theme ? a->o->theme : a->settings->theme;

	if (recall_theme(a, s))
		return 0;
	if (strcmp(name, "auto") != 0)
		return theme_load(name, &a->theme, e);
	if (s && screen_colours(s) == COLOURS_NONE)
		name = "mono";
	else
		name = s && screen_light(s) ? "light" : "dark";
	return theme_load(name, &a->theme, e);
}

/* The terminal; NULL: a script draws on the canvas alone. */
static struct screen *open_sight(struct app *a, struct err *e)
{
	if (a->o->script) {
		a->script = script_open(a->o->script, e);
		return NULL;
	}
	if (a->o->demo && !(a->script = script_open(a->o->demo, e)))
		return NULL;
	return a->screen = screen_open(a->mouse, e);
}

static void open_canvas(struct app *a)
{
	bool ascii = a->o->ascii || a->settings->ascii == ASCII_YES;
	int w = 80, rows = 24;

	if (a->screen) {
		ascii |= a->settings->ascii == ASCII_AUTO && !screen_utf8(a->screen);
		screen_size(a->screen, &w, &rows);
	}
	canvas_init(&a->canvas, ascii);
	a->canvas.blocks = a->settings->charts == CHARTS_BLOCKS ||
		(a->settings->charts == CHARTS_AUTO && a->screen && !screen_braille(a->screen));
	canvas_resize(&a->canvas, w, rows);
}

static int app_open(struct app *a, struct err *e)
{
	const struct screen *s;

	keymap_defaults(&a->keys);
	if (a->settings->keys)
		keymap_apply(&a->keys, &a->settings->source, a->settings->keys, key_problem, a);
	custom_open(a);
	a->live = backend_snapshot(a->o->backend);
	s = open_sight(a, e);
	if (((!a->script || a->o->demo) && !s) || choose_theme(a, s, e) < 0)
		return -1;
	if (a->screen && screen_notice(a->screen) && !a->said[0])
		app_say(a, ROLE_WARN, "%s", screen_notice(a->screen));
	open_canvas(a);
	a->shown = snapshot_ref(a->live);
	stack_open(a);
	a->orphans = a->shown->orphans;
	if (a->orphans && !a->said[0])
		app_tell_orphans(a, a->orphans);
	a->dirty = a->urgent = true;
	return 0;
}

static void app_close(struct app *a)
{
	/* The terminal first: whatever else takes time, the person has it back. */
	screen_close(a->screen);
	if (a->o->ret_kept && a->tab)
		stack_keep(a);
	shell_free(a);
	stack_close(a);
	tasks_release(a);
	dialog_close(&a->dialog);
	palette_close(&a->palette);
	command_free(a->asked);
	history_release(&a->filters);
	history_release(&a->files);
	history_release(&a->commands);
	history_release(&a->runs);
	command_free(a->prompted);
	script_free(a->script);
	canvas_release(&a->canvas);
	snapshot_unref(a->live);
	snapshot_unref(a->shown);
	free(a);
}

int app_run(const struct app_options *o, struct err *e)
{
	struct app *a = xcalloc(1, sizeof *a);
	int code = 0;

	text_init();
	a->o = o;
	a->settings = o->settings;
	if (o->policy)
		a->policy = *o->policy;
	a->policy.read_only |= o->read_only || o->settings->read_only;
	a->mouse = o->settings->mouse;
	if (app_open(a, e) < 0 || (a->o->demo && demo_run(a, e) < 0))
		code = -1;
	else if (a->script && !a->o->demo)
		code = script_run(a->script, a, e);
	else
		run_loop(a);
	if (code == 0)
		code = a->exit_code;
	app_close(a);
	return code;
}
