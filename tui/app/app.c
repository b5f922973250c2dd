/* app.c - the UI loop: wait, take what came, act, paint once; and the stack of views. */
#include "app/app.h"

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/text.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app_state.h"
#include "views/list.h"

/* Pictures that only new data asked for come at most this often; keys are answered at once. */
#define CALM_NS 30000000
/* Events taken at one go before the terminal is looked at again. */
#define DRAIN_NS 6000000

static const struct view_ops *const tabs[] = {
#define TAB(name) &name##_view,
	TABS(TAB)
#undef TAB
};

const struct snapshot *app_snapshot(struct app *a)
{
	return a->shown;
}

int64_t app_now_ns(struct app *a)
{
	return a->frozen ? a->frozen_ns : clock_mono_ns();
}

uint64_t app_send(struct app *a, struct command *c)
{
	return backend_send(a->o->backend, c);
}

bool app_read_only(struct app *a)
{
	return a->policy.read_only || a->live->engine.read_only;
}

const struct settings *app_settings(struct app *a)
{
	return a->settings;
}

const struct keymap *app_keys(struct app *a)
{
	return &a->keys;
}

void app_dirty(struct app *a)
{
	a->dirty = true;
}

void app_say(struct app *a, enum role role, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(a->said, sizeof a->said, fmt, ap);
	va_end(ap);
	a->said_role = role;
	a->dirty = true;
}

/* Views */

struct slot *app_top(struct app *a)
{
	return a->npushed ? &a->pushed[a->npushed - 1] : &a->tab[a->at];
}

static void slot_open(struct app *a, struct slot *s, const struct view_ops *ops, const void *seed)
{
	*s = (struct slot){.view = {.ops = ops, .app = a, .seed = seed}};
	s->view.state = xcalloc(1, ops->state_size ? ops->state_size : 1);
	if (ops->open)
		ops->open(&s->view);
	s->view.seed = NULL;
}

static void slot_close(struct slot *s)
{
	if (s->view.ops->close)
		s->view.ops->close(&s->view);
	free(s->view.state);
	free(s->filter);
	*s = (struct slot){0};
}

static void show_or_hide(struct app *a, bool on)
{
	struct view *v = &app_top(a)->view;
	void (*op)(struct view *) = on ? v->ops->show : v->ops->hide;

	if (op)
		op(v);
	a->dirty = true;
}

void app_push(struct app *a, const struct view_ops *ops, void *seed)
{
	if (a->npushed == PUSHED_MAX) {
		app_say(a, ROLE_WARN, "Too many views are open: Esc closes this one.");
		return;
	}
	show_or_hide(a, false);
	slot_open(a, &a->pushed[a->npushed], ops, seed);
	a->npushed++;
	if (ops->snapshot)
		ops->snapshot(&app_top(a)->view, a->shown);
	show_or_hide(a, true);
}

void app_pop(struct app *a)
{
	if (a->npushed == 0)
		return;
	show_or_hide(a, false);
	slot_close(&a->pushed[--a->npushed]);
	show_or_hide(a, true);
}

static void to_tab(struct app *a, size_t i)
{
	while (a->npushed)
		app_pop(a);
	if (i == a->at)
		return;
	show_or_hide(a, false);
	a->at = i;
	show_or_hide(a, true);
}

/* By number: a place of its own, not a step away from where one was. */
void app_show_tab(struct app *a, size_t i)
{
	if (i >= a->ntabs)
		return;
	a->ndepth = 0;
	to_tab(a, i);
}

void app_switch(struct app *a, const char *view)
{
	for (size_t i = 0; i < a->ntabs; i++) {
		if (strcmp(a->tab[i].view.ops->name, view) != 0)
			continue;
		if (i != a->at && a->ndepth < COUNT(a->came_from))
			a->came_from[a->ndepth++] = a->at;
		to_tab(a, i);
	}
}

struct view *app_view(struct app *a, const char *name)
{
	for (size_t i = 0; i < a->ntabs; i++)
		if (strcmp(a->tab[i].view.ops->name, name) == 0)
			return &a->tab[i].view;
	return NULL;
}

void app_filtered(struct app *a, const struct view *v, const char *text)
{
	for (size_t i = 0; i < a->ntabs; i++)
		if (v == &a->tab[i].view) {
			free(a->tab[i].filter);
			a->tab[i].filter = xstrdup(text);
		}
}

/* Esc and q: the nearest thing that can be left. */
static void go_back(struct app *a, bool may_quit)
{
	if (app_top(a)->filter) {
		deed_filter_off(a);
	} else if (a->npushed) {
		app_pop(a);
	} else if (a->ndepth) {
		to_tab(a, a->came_from[--a->ndepth]);
	} else if (may_quit) {
		deed(a, DO_QUIT);
	}
}

/* Input */

bool app_greyed(struct app *a, enum action act)
{
	struct view *v = &app_top(a)->view;

	if (!(action_info[act].flags & ACTION_CHANGES))
		return false;
	if (app_read_only(a))
		return true;
	if (act == DO_IMPORT)
		return app_may(a, DEED_IMAGE_IMPORT, NULL, NULL) < 0;
	return v->ops->refused && v->ops->refused(v, act);
}

void app_do(struct app *a, enum action act)
{
	struct view *v = &app_top(a)->view;
	const struct action_info *info = &action_info[act];

	a->dirty = true;
	if (!(info->where & v->ops->context))
		return;
	if (info->flags & ACTION_CHANGES && app_read_only(a)) {
		app_say(a, ROLE_WARN, "Read-only: `%s` does nothing.  %s", info->name,
			app_read_only_stays(a) ? "It was asked for at the start and stays."
					       : "`:ro` switches it off.");
		return;
	}
	if (v->ops->act && v->ops->act(v, act))
		return;
	if (act == DO_BACK)
		go_back(a, false);
	else
		deed(a, act);
}

/* A key that does nothing looks like a console that hangs. */
static void say_no_key(struct app *a, struct key k)
{
	enum action elsewhere = keymap_find(&a->keys, k, IN_ANY);
	char key[KEY_TEXT_MAX], help[KEY_TEXT_MAX];

	key_format(key, k);
	keymap_first(&a->keys, DO_HELP, help);
	if (elsewhere)
		app_say(a, ROLE_DIM, "%s (%s) is for %s; %s shows the keys of this view.", key,
			action_info[elsewhere].word, context_name(action_info[elsewhere].where),
			help);
	else
		app_say(a, ROLE_DIM, "%s has no meaning here; %s shows the keys of this view.", key,
			help);
}

void app_key(struct app *a, struct key k)
{
	const struct palette_item *chosen;
	enum action act;

	a->dirty = a->urgent = true;
	if (a->dialog.open) {
		deed_dialog(a, dialog_key(&a->dialog, k, clock_mono_ns()));
		return;
	}
	if (a->palette.open) {
		enum prompt_end end = palette_key(&a->palette, k, &chosen);

		deed_palette(a, end, chosen);
		return;
	}
	if (a->prompting) {
		deed_prompt(a, prompt_key(&a->prompt, k));
		return;
	}
	a->said[0] = '\0';
	act = keymap_find(&a->keys, k, app_top(a)->view.ops->context);
	if (act == DO_BACK && k.code == 'q') {
		struct view *v = &app_top(a)->view;

		if (!v->ops->act || !v->ops->act(v, act))
			go_back(a, true);
	} else if (act) {
		app_do(a, act);
	} else {
		say_no_key(a, k);
	}
}

void app_paste(struct app *a, const char *text, size_t n)
{
	a->dirty = a->urgent = true;
	if (a->dialog.open)
		return; /* a confirmation is typed, never pasted by accident */
	if (a->palette.open) {
		palette_paste(&a->palette, text, n);
	} else if (a->prompting) {
		prompt_paste(&a->prompt, text, n);
		deed_prompt(a, PROMPT_EDITED);
	}
}

static bool is_in_area(struct area r, int x, int y)
{
	return x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
}

void app_click(struct app *a, int x, int y, bool twice)
{
	struct view *v = &app_top(a)->view;

	a->dirty = a->urgent = true;
	if (a->dialog.open) {
		deed_dialog(a, dialog_click(&a->dialog, x, y, clock_mono_ns()));
		return;
	}
	if (a->palette.open) {
		const struct palette_item *chosen = palette_click(&a->palette, x, y);

		deed_palette(a, chosen ? PROMPT_DONE : PROMPT_CANCELLED, chosen);
		return;
	}
	/* What is being typed is for the view below it: that must stay the same one. */
	if (a->prompting)
		return;
	for (size_t i = 0; i < a->ntabs; i++)
		if (is_in_area(a->tab_box[i], x, y))
			app_show_tab(a, i);
	if (is_in_area(a->body, x, y) && v->ops->click && v == &app_top(a)->view)
		v->ops->click(v, x - a->body.x, y - a->body.y, twice);
}

void app_wheel(struct app *a, int lines)
{
	struct view *v = &app_top(a)->view;

	a->dirty = a->urgent = true;
	if (a->dialog.open || a->palette.open) {
		struct key k = {lines < 0 ? NAMED_UP : NAMED_DOWN, 0};

		app_key(a, k);
	} else if (v->ops->wheel) {
		v->ops->wheel(v, lines);
	}
}

/* The backend's side */

static void show_snapshot(struct app *a, const struct snapshot *s)
{
	const struct snapshot *old = a->shown;

	if (s == old)
		return;
	a->shown = snapshot_ref(s);
	/* Every view, for what they keep may point into the old one. */
	for (size_t i = 0; i < a->ntabs; i++)
		if (a->tab[i].view.ops->snapshot)
			a->tab[i].view.ops->snapshot(&a->tab[i].view, s);
	for (size_t i = 0; i < a->npushed; i++)
		if (a->pushed[i].view.ops->snapshot)
			a->pushed[i].view.ops->snapshot(&a->pushed[i].view, s);
	snapshot_unref(old);
	if (s->orphans > a->orphans && !a->said[0])
		app_tell_orphans(a, s->orphans);
	a->orphans = s->orphans;
	a->dirty = true;
}

static void take_event(struct app *a, const struct event *e)
{
	switch (e->kind) {
	case EV_RESULT: acts_result(a, e); break;
	case EV_NOTICE: app_say(a, ROLE_TEXT, "%s", e->notice ? e->notice : ""); break;
	case EV_SHELL_READY:
	case EV_SHELL_OUTPUT:
	case EV_SHELL_END: shell_event(a, e); return;
	default: break;
	}
	for (size_t i = 0; i < a->ntabs; i++)
		if (a->tab[i].view.ops->event)
			a->tab[i].view.ops->event(&a->tab[i].view, e);
	for (size_t i = 0; i < a->npushed; i++)
		if (a->pushed[i].view.ops->event)
			a->pushed[i].view.ops->event(&a->pushed[i].view, e);
	if (!a->frozen)
		a->dirty = true;
}

void app_drain(struct app *a)
{
	int64_t until = clock_mono_ns() + DRAIN_NS;
	const struct snapshot *s;
	struct event *e;

	/* A frozen clock (scripts) never reaches the limit, as it should. */
	while (clock_mono_ns() <= until && (e = backend_next(a->o->backend))) {
		if (e->kind != EV_SNAPSHOT)
			take_event(a, e);
		event_free(e);
	}
	s = backend_snapshot(a->o->backend);
	snapshot_unref(a->live);
	a->live = s;
	if (!a->frozen)
		show_snapshot(a, s);
}

/* The terminal's side */

void app_resize(struct app *a, int columns, int rows)
{
	canvas_resize(&a->canvas, columns, rows);
	a->dirty = a->urgent = true;
}

static void take_input(struct app *a, bool hangup)
{
	struct input in;
	int w, h;

	while (!a->quit && !a->shell && screen_next(a->screen, hangup, &in)) {
		switch (in.kind) {
		case INPUT_KEY: app_key(a, in.key); break;
		case INPUT_PASTE: app_paste(a, in.text, in.n); break;
		case INPUT_CLICK: app_click(a, in.x, in.y, in.twice); break;
		case INPUT_WHEEL: app_wheel(a, in.lines); break;
		case INPUT_RESIZE:
			screen_size(a->screen, &w, &h);
			app_resize(a, w, h);
			break;
		case INPUT_STOP: deed(a, DO_SUSPEND); break;
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
	struct pollfd fds[3] = {{.fd = screen_fd(a->screen), .events = POLLIN},
		{.fd = screen_signal_fd(a->screen), .events = POLLIN},
		{.fd = backend_fd(a->o->backend), .events = POLLIN}};

	take_input(a, false);
	while (!a->quit) {
		bool due = a->dirty && (a->urgent || clock_mono_ns() - a->painted_ns >= CALM_NS);
		int n;

		if (due)
			paint_app(a);
		n = poll(fds, COUNT(fds), sleep_ms(a));
		if (n < 0 && errno != EINTR)
			check_die("berth: the terminal cannot be waited for");
		if (n == 0 && !a->dirty)
			a->dirty = true; /* seconds of a lost engine */
		if (n > 0 && (fds[0].revents || fds[1].revents))
			take_input(a, fds[0].revents & (POLLHUP | POLLERR | POLLNVAL));
		if (n > 0 && fds[2].revents)
			app_drain(a);
		if (a->shell)
			shell_relay(a);
	}
}

/* Beginning and end */

static void key_problem(void *ctx, const struct err *e)
{
	struct app *a = ctx;

	if (!a->said[0])
		app_say(a, ROLE_WARN, "%s", e->msg);
}

static int choose_theme(struct app *a, struct err *e)
{
	const char *name = a->o->theme ? a->o->theme : a->settings->theme;

	if (strcmp(name, "auto") != 0)
		return theme_load(name, &a->theme, e);
	if (a->screen && screen_colours(a->screen) == COLOURS_NONE)
		name = "mono";
	else
		name = a->screen && screen_light(a->screen) ? "light" : "dark";
	return theme_load(name, &a->theme, e);
}

static int app_open(struct app *a, struct err *e)
{
	int w = 80, h = 24;
	bool ascii = a->o->ascii || a->settings->ascii == ASCII_YES;

	keymap_defaults(&a->keys);
	if (a->settings->keys)
		keymap_apply(&a->keys, &a->settings->source, a->settings->keys, key_problem, a);
	if (a->o->script)
		a->script = script_open(a->o->script, e);
	else
		a->screen = screen_open(a->mouse, e);
	if ((!a->script && !a->screen) || choose_theme(a, e) < 0)
		return -1;
	if (a->screen) {
		ascii |= a->settings->ascii == ASCII_AUTO && !screen_utf8(a->screen);
		screen_size(a->screen, &w, &h);
		if (screen_notice(a->screen) && !a->said[0])
			app_say(a, ROLE_WARN, "%s", screen_notice(a->screen));
	}
	canvas_init(&a->canvas, ascii);
	canvas_resize(&a->canvas, w, h);
	a->live = backend_snapshot(a->o->backend);
	a->shown = snapshot_ref(a->live);
	for (a->ntabs = 0; a->ntabs < COUNT(tabs) && a->ntabs < TABS_MAX; a->ntabs++)
		slot_open(a, &a->tab[a->ntabs], tabs[a->ntabs], NULL);
	for (size_t i = 0; i < a->ntabs; i++)
		if (tabs[i]->snapshot)
			tabs[i]->snapshot(&a->tab[i].view, a->shown);
	/* Everything that runs is the picture to begin with, agents or not. */
	while (a->at < a->ntabs - 1 && tabs[a->at] != &containers_view)
		a->at++;
	show_or_hide(a, true);
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
	shell_free(a);
	while (a->npushed)
		slot_close(&a->pushed[--a->npushed]);
	for (size_t i = 0; i < a->ntabs; i++)
		slot_close(&a->tab[i]);
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
	if (app_open(a, e) < 0)
		code = -1;
	else if (a->script)
		code = script_run(a->script, a, e);
	else
		run_loop(a);
	if (code == 0)
		code = a->exit_code;
	app_close(a);
	return code;
}
