/*
 * terminal_watch.c - looks at agents' terminals twice a second, and puts what they do into snapshots.
 *
 * The look (terminal_status.h) reads files and /proc, so it runs on a worker thread.  Nothing is started for it while there
 * is no terminal but once a second a look for one.
 */
#include "console/core.h"

#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/terminal_status.h>

#define TERMINALS_SHOWN 256
#define LOOK_NS (400 * 1000000LL)
#define LOOK_RARELY_NS (1000 * 1000000LL) /* while there is none */

struct terminals_look {
	struct terminal_row row[TERMINALS_SHOWN];
	struct terminal_followed followed[TERMINALS_SHOWN];
	size_t n;
};

struct terminals_watch {
	struct terminal_programs *programs; /* NULL: not read, or they cannot be */
	struct terminals_look *now, *next;  /* next: the worker's while `looking` */
	struct blocking_task work;
	struct backend *b;
	uint64_t questions; /* so many were asked; the worker's */
	int64_t looked_ns;
	bool looking, tried;
	struct err why; /* of the patterns, said once */
};

/* NULL: it is new. */
static const struct terminal_followed *look_before(
	const struct terminals_look *l, const struct terminal_row *r)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (!strcmp(l->row[i].container, r->container) && !strcmp(l->row[i].name, r->name))
			return &l->followed[i];
	return NULL;
}

static void look_at_row(struct terminals_watch *w, struct terminals_look *l, size_t i)
{
	const struct terminal_row *r = &l->row[i];
	int64_t now_ms = clock_wall_ms();

	terminal_judge_row(r, w->programs, &l->followed[i].judged);
	terminal_follow(look_before(w->now, r), &r->screen, now_ms, &w->questions, &l->followed[i]);
}

static void look_work(struct blocking_task *t)
{
	struct terminals_watch *w = t->data;
	struct terminals_look *l = w->next;

	l->n = terminals_list(NULL, l->row, TERMINALS_SHOWN);
	if (l->n && !w->tried) {
		w->programs = terminal_programs_open(&w->why);
		w->tried = true;
	}
	for (size_t i = 0; i < l->n; i++)
		look_at_row(w, l, i);
}

static bool same_look(const struct terminals_look *a, const struct terminals_look *b)
{
	if (!a || a->n != b->n)
		return !a && !b->n;
	for (size_t i = 0; i < a->n; i++) {
		const struct terminal_followed *x = &a->followed[i], *y = &b->followed[i];

		if (strcmp(a->row[i].container, b->row[i].container) != 0 ||
			strcmp(a->row[i].name, b->row[i].name) != 0 ||
			x->judged.does != y->judged.does ||
			x->judged.since_ms != y->judged.since_ms || x->question != y->question)
			return false;
	}
	return true;
}

static void free_watch(struct terminals_watch *w)
{
	terminal_programs_free(w->programs);
	free(w->now);
	free(w->next);
	free(w);
}

static void look_done(struct blocking_task *t)
{
	struct terminals_watch *w = t->data;
	struct backend *b = w->b;
	bool same;

	w->looking = false;
	if (!b) {
		free_watch(w);
		return;
	}
	if (w->why.kind)
		backend_notice(b, "Programs in terminals are not recognised: %s", w->why.msg);
	w->why = (struct err)ERR_INIT;
	same = same_look(w->now, w->next);
	free(w->now);
	w->now = STEAL(w->next);
	if (!w->now->n)
		free(STEAL(w->now));
	if (!same)
		publish_soon(b);
}

void terminals_pulse(struct backend *b)
{
	struct terminals_watch *w = b->terminals;
	int64_t now = backend_now(b);

	if (!w || w->looking || now - w->looked_ns < (w->now ? LOOK_NS : LOOK_RARELY_NS))
		return;
	w->looked_ns = now;
	w->next = xcalloc(1, sizeof *w->next);
	w->work.data = w;
	w->looking = true;
	if (!blocking_start(&b->loop, &w->work, look_work, look_done))
		return;
	/* no thread for it: it is looked again later */
	w->looking = false;
	free(STEAL(w->next));
}

/* --- into a snapshot --- */

static int by_need(const void *a, const void *b)
{
	const struct agent_terminal *x = a, *y = b;
	int order = (y->does == TERMINAL_WAITING) - (x->does == TERMINAL_WAITING);

	if (!order && x->does == TERMINAL_WAITING)
		order = (x->since_wall_ms > y->since_wall_ms) -
			(x->since_wall_ms < y->since_wall_ms);
	return order ? order : strcmp(x->name, y->name);
}

static void copy_terminals(const struct terminals_look *l, struct agent *a, struct arena *mem)
{
	struct agent_terminal *out = NULL;

	for (size_t i = 0; i < l->n; i++) {
		const struct terminal_row *r = &l->row[i];
		const struct terminal_followed *f = &l->followed[i];
		AUTO_STR struct str title = STR_INIT;

		if (strcmp(r->container, a->name) != 0)
			continue;
		if (!out)
			out = arena_array(mem, l->n - i, sizeof *out);
		terminal_title_text(&r->screen, &title);
		out[a->nterminals++] = (struct agent_terminal){.name = copy_text(mem, r->name),
			.title = copy_text(mem, title.s),
			.reason = copy_text(mem, f->judged.reason),
			.does = f->judged.does,
			.since_wall_ms = f->judged.since_ms,
			.question = f->question,
			.exit_code = r->screen.exit_code};
		a->nwaiting += f->judged.does == TERMINAL_WAITING;
	}
	if (out)
		mem_sort(out, a->nterminals, sizeof *out, by_need);
	a->terminals = out;
}

void terminals_copy(struct backend *b, struct snapshot *s, struct arena *mem)
{
	struct agent *agents = (struct agent *)(uintptr_t)s->agents;

	for (size_t i = 0; b->terminals && b->terminals->now && i < s->nagents; i++)
		copy_terminals(b->terminals->now, &agents[i], mem);
}

void terminals_open(struct backend *b, const struct backend_options *o)
{
	if (o->once)
		return;
	b->terminals = xcalloc(1, sizeof *b->terminals);
	b->terminals->b = b;
}

/* A thread that is still at work frees it. */
void terminals_close(struct backend *b)
{
	struct terminals_watch *w = STEAL(b->terminals);

	if (!w)
		return;
	w->b = NULL;
	if (!w->looking)
		free_watch(w);
}
