/* dispatch.c - passes keys, clicks and pastes to the topmost element, the view or the app. */
#include "app/app_state.h"

#include <string.h>

#include <berth/clock.h>

/* One q too many closes no console: it takes a second one, that is not of the same burst. */
static void quit_by_q(struct app *a)
{
	int64_t now = clock_mono_ns();
	bool again = a->quit_asked_ns && now - a->quit_asked_ns >= DIALOG_BLIND_NS;

	action_quit(a, again);
	a->quit_asked_ns = now;
}

/* Esc and q: the nearest thing that can be left. */
static void go_back(struct app *a, bool may_quit)
{
	if (app_top(a)->filter) {
		action_filter_off(a);
	} else if (a->npushed) {
		app_pop(a);
	} else if (a->ndepth) {
		stack_turn_to(a, a->came_from[--a->ndepth]);
	} else if (may_quit) {
		quit_by_q(a);
	}
}

void app_do(struct app *a, enum action act)
{
	struct view *v = &app_top(a)->view;
	const struct action_info *info = &action_info[act];

	a->dirty = true;
	if (!(info->where & v->ops->context))
		return;
	if (info->flags & ACTION_CHANGES && app_read_only(a)) {
		app_say(a, ROLE_WARN, "Read-only: `%s` is disabled.  %s", info->name,
			app_read_only_stays(a)
				? "It was set at start-up and cannot be turned off here."
				: "`:ro` switches it off.");
		return;
	}
	if (v->ops->act && v->ops->act(v, act))
		return;
	if (act == DO_BACK)
		go_back(a, false);
	else
		action_run(a, act);
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
		app_say(a, ROLE_DIM, "%s is not bound here; %s shows the keys of this view.", key,
			help);
}

void app_key(struct app *a, struct key k)
{
	const struct palette_item *chosen;
	enum action act;

	a->dirty = a->urgent = true;
	if (a->dialog.open) {
		action_dialog(a, dialog_key(&a->dialog, k, clock_mono_ns()));
		return;
	}
	if (complete_key(a, k))
		return;
	if (a->palette.open) {
		enum prompt_end end = palette_key(&a->palette, k, &chosen);

		action_palette(a, end, chosen);
		return;
	}
	if (a->prompting) {
		action_prompt(a, prompt_key(&a->prompt, k));
		return;
	}
	a->said[0] = '\0';
	act = keymap_find(&a->keys, k, app_top(a)->view.ops->context);
	if (k.code != 'q')
		a->quit_asked_ns = 0;
	if (act == DO_BACK && k.code == 'q') {
		struct view *v = &app_top(a)->view;

		if (!v->ops->act || !v->ops->act(v, act))
			go_back(a, true);
	} else if (act) {
		app_do(a, act);
	} else if (!custom_key(a, k)) {
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
		action_prompt(a, PROMPT_EDITED);
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
		action_dialog(a, dialog_click(&a->dialog, x, y, clock_mono_ns()));
		return;
	}
	if (a->palette.open) {
		const struct palette_item *chosen = palette_click(&a->palette, x, y);

		action_palette(a, chosen ? PROMPT_DONE : PROMPT_CANCELLED, chosen);
		return;
	}
	/* What is being typed is for the view below it: that must stay the same one. */
	if (a->prompting)
		return;
	for (size_t i = 0; i < a->ntabs; i++)
		if (is_in_area(a->tab[i].box, x, y))
			app_show_tab(a, i);
	if (is_in_area(a->beside_body, x, y) && a->split) {
		/* What was there is drawn in the same place. */
		struct area here = a->beside_body;

		stack_swap(a);
		a->beside_body = a->body;
		a->body = here;
		v = &app_top(a)->view;
	}
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

void app_input(struct app *a, const struct input *in)
{
	switch (in->kind) {
	case INPUT_KEY: app_key(a, in->key); break;
	case INPUT_PASTE: app_paste(a, in->text, in->n); break;
	case INPUT_CLICK: app_click(a, in->x, in->y, in->twice); break;
	case INPUT_WHEEL: app_wheel(a, in->lines); break;
	case INPUT_RESIZE: app_resize(a, in->x, in->y); break;
	default: break;
	}
}
