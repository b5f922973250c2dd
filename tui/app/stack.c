/*
 * stack.c - keeps the open views, and provides what a view may ask of the app.
 *
 * The bottom of this folder: it calls none of the other files.
 */
#include "app/app_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/message.h>

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
	CHECK(!a->painting);
	if (a->o->backend)
		return a->sent = backend_send(a->o->backend, c);
	command_free(c);
	return ++a->sent;
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

void app_resize(struct app *a, int columns, int rows)
{
	canvas_resize(&a->canvas, columns, rows);
	a->dirty = a->urgent = true;
}

/* Views */

struct slot *app_top(struct app *a)
{
	return a->npushed ? &a->pushed[a->npushed - 1] : &a->tab[a->at];
}

static void open_view_slot(
	struct app *a, struct slot *s, const struct view_ops *ops, const void *seed)
{
	*s = (struct slot){.view = {.ops = ops, .app = a, .seed = seed}};
	s->view.state = xcalloc(1, ops->state_size ? ops->state_size : 1);
	if (ops->open)
		ops->open(&s->view);
	s->view.seed = NULL;
}

static void close_view_slot(struct slot *s)
{
	if (s->view.ops->close)
		s->view.ops->close(&s->view);
	free(s->view.state);
	free(s->filter);
	snapshot_unref(s->seen);
	*s = (struct slot){0};
}

static void give_snapshot(struct app *a, struct slot *s)
{
	const struct snapshot *old = s->seen;

	if (old == a->shown)
		return;
	s->seen = snapshot_ref(a->shown);
	if (s->view.ops->snapshot)
		s->view.ops->snapshot(&s->view, a->shown);
	snapshot_unref(old);
}

void stack_snapshot(struct app *a)
{
	give_snapshot(a, app_top(a));
	if (a->split)
		give_snapshot(a, &a->tab[a->beside]);
}

static void pulse_slots(struct slot *s, size_t n, const struct snapshot *now)
{
	for (size_t i = 0; i < n; i++)
		if (s[i].view.ops->pulse)
			s[i].view.ops->pulse(&s[i].view, now);
}

void stack_pulse(struct app *a)
{
	pulse_slots(a->tab, a->ntabs, a->shown);
	pulse_slots(a->pushed, a->npushed, a->shown);
}

static void show_top_view(struct app *a, bool on)
{
	struct view *v = &app_top(a)->view;
	void (*op)(struct view *) = on ? v->ops->show : v->ops->hide;

	if (on)
		stack_snapshot(a);
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
	show_top_view(a, false);
	open_view_slot(a, &a->pushed[a->npushed], ops, seed);
	a->npushed++;
	show_top_view(a, true);
}

void app_pop(struct app *a)
{
	if (a->npushed == 0)
		return;
	show_top_view(a, false);
	close_view_slot(&a->pushed[--a->npushed]);
	show_top_view(a, true);
}

void stack_turn_to(struct app *a, size_t i)
{
	while (a->npushed)
		app_pop(a);
	if (i == a->at)
		return;
	if (a->split && i == a->beside) {
		stack_swap(a);
		return;
	}
	show_top_view(a, false);
	a->at = i;
	show_top_view(a, true);
}

void stack_swap(struct app *a)
{
	size_t was = a->at;

	while (a->npushed)
		app_pop(a);
	a->at = a->beside;
	a->beside = was;
	a->beside_is_upper = !a->beside_is_upper;
	a->dirty = true;
}

void stack_unsplit(struct app *a)
{
	struct view *v = &a->tab[a->beside].view;

	if (!a->split)
		return;
	a->split = false;
	if (v->ops->hide)
		v->ops->hide(v);
	a->dirty = true;
}

void stack_split(struct app *a, size_t i)
{
	struct view *v = &a->tab[i].view;

	stack_unsplit(a);
	if (i == a->at)
		return;
	a->split = true;
	a->beside = i;
	a->beside_is_upper = false;
	stack_snapshot(a);
	if (v->ops->show)
		v->ops->show(v);
	a->dirty = true;
}

/* By number: a place of its own, not a step away from where one was. */
void app_show_tab(struct app *a, size_t i)
{
	if (i >= a->ntabs)
		return;
	a->ndepth = 0;
	stack_turn_to(a, i);
}

void app_switch(struct app *a, const char *view)
{
	for (size_t i = 0; i < a->ntabs; i++) {
		if (strcmp(a->tab[i].view.ops->name, view) != 0)
			continue;
		if (i != a->at && a->ndepth < COUNT(a->came_from))
			a->came_from[a->ndepth++] = a->at;
		stack_turn_to(a, i);
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

static void recall_view(struct app *a, struct view *v)
{
	const struct app_kept *kept = a->o->kept;

	for (size_t i = 0; kept && i < kept->n; i++)
		if (v->ops->recall && strcmp(kept->view[i].view, v->ops->name) == 0)
			v->ops->recall(v, kept->view[i].of);
}

void stack_open(struct app *a)
{
	const struct view_ops *const *ops = a->o->views;
	size_t n = 0;

	while (ops[n])
		n++;
	CHECK(n);
	a->tab = xcalloc(n, sizeof *a->tab);
	for (a->ntabs = 0; a->ntabs < n; a->ntabs++) {
		open_view_slot(a, &a->tab[a->ntabs], ops[a->ntabs], NULL);
		recall_view(a, &a->tab[a->ntabs].view);
	}
	/* Everything that runs is the picture to begin with, agents or not. */
	for (a->at = a->ntabs - 1; a->at > 0; a->at--)
		if (strcmp(a->tab[a->at].view.ops->name, "containers") == 0)
			break;
	show_top_view(a, true);
}

void stack_keep(struct app *a)
{
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	if (a->themed)
		jsonw_text(&j, "theme", a->theme.name);
	jsonw_object(&j, "views");
	for (size_t i = 0; i < a->ntabs; i++)
		if (a->tab[i].view.ops->keep) {
			jsonw_object(&j, a->tab[i].view.ops->name);
			a->tab[i].view.ops->keep(&a->tab[i].view, &j);
			jsonw_end(&j);
		}
	jsonw_end(&j);
	jsonw_end(&j);
	str_adds(a->o->ret_kept, j.out.s);
	jsonw_release(&j);
}

void stack_close(struct app *a)
{
	while (a->npushed)
		close_view_slot(&a->pushed[--a->npushed]);
	for (size_t i = 0; i < a->ntabs; i++)
		close_view_slot(&a->tab[i]);
	free(a->tab);
}
