/* kept_terminals.c - finds terminals that failed and starts them again, with growing pauses and a bound. */
#include "keeper/kept_terminals.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/terminal.h>

#include "terminals/terminals.h"

#define ROWS_MAX 256
#define NS_PER_MS 1000000
#define LOOK_NS (INT64_C(500) * NS_PER_MS)
#define LOOK_RARELY_NS (INT64_C(5000) * NS_PER_MS) /* while there is none */
#define FIRST_PAUSE_MS 1000

struct kept_terminal {
	char container[64], name[TERMINAL_NAME_MAX];
	unsigned starts;    /* in a row */
	int64_t due_ns;     /* monotonic; to be started then */
	pid_t starter;      /* starts it now; 0: none does */
	int64_t started_ms; /* as of the last look */
	bool ours;          /* the next start that is seen may be the last one of ours */
	bool here, runs;
};

static struct kept_terminal *meet_terminal(struct kept_terminals *k, const struct terminal_row *r)
{
	struct kept_terminal *t;

	for (size_t i = 0; i < k->n; i++)
		if (!strcmp(k->terminal[i].container, r->container) &&
			!strcmp(k->terminal[i].name, r->name))
			return &k->terminal[i];
	k->terminal = mem_grow(k->terminal, &k->cap, k->n + 1, sizeof *k->terminal);
	t = &k->terminal[k->n++];
	*t = (struct kept_terminal){0};
	memcpy(t->container, r->container, sizeof t->container);
	memcpy(t->name, r->name, sizeof t->name);
	return t;
}

static bool is_wanted(const struct terminal_row *r)
{
	struct terminals_declared d;
	bool wanted;

	if (terminals_declared(r->container, r->name, &d, NULL))
		return false;
	wanted = d.on_failure;
	terminals_declared_release(&d);
	return wanted;
}

/* What a person started, or `berth up` did, has all its starts before it. */
static void note_start(struct kept_terminal *t, int64_t started_ms)
{
	bool again = started_ms != t->started_ms;

	if (again && !t->ours)
		t->starts = 0;
	if (again || !t->starter)
		t->ours = false;
	t->started_ms = started_ms;
}

static void look_at_row(struct kept_terminals *k, const struct terminal_row *r, int64_t now)
{
	const struct terminal_screen *s = &r->screen;
	struct kept_terminal *t;

	if ((s->status == TERMINAL_ENDED && !s->exit_code) || !is_wanted(r))
		return;
	t = meet_terminal(k, r);
	t->here = true;
	t->runs = s->status == TERMINAL_RUNS;
	note_start(t, s->started_ms);
	if (t->runs && clock_wall_ms() - s->started_ms >= KEPT_RUNS_MS)
		t->starts = 0;
	if (t->runs)
		t->due_ns = 0;
	/* A start that failed leaves the end as it was. */
	else if (!t->starter && !t->due_ns && t->starts < KEPT_STARTS)
		t->due_ns = now + ((int64_t)FIRST_PAUSE_MS << t->starts) * NS_PER_MS;
}

static void start_due(struct kept_terminals *k, struct kept_terminal *t, int64_t now)
{
	if (!t->due_ns || now < t->due_ns || t->starter)
		return;
	t->due_ns = 0;
	t->starts++;
	t->ours = true;
	t->starter = k->start(k->ctx, t->container, t->name);
	if (t->starter < 0)
		t->starter = 0;
}

/* Before the look, which then sees what they did: one that has failed again is due from that look on. */
static void reap_starters(struct kept_terminals *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->terminal[i].starter && waitpid(k->terminal[i].starter, NULL, WNOHANG) != 0)
			k->terminal[i].starter = 0;
}

void kept_terminals_go_on(struct kept_terminals *k)
{
	int64_t now = clock_mono_ns();
	AUTO_FREE struct terminal_row *row = NULL;
	size_t n, left = 0;

	if (now < k->next_ns)
		return;
	reap_starters(k);
	row = xcalloc(ROWS_MAX, sizeof *row);
	n = terminals_list(NULL, row, ROWS_MAX);
	for (size_t i = 0; i < k->n; i++)
		k->terminal[i].here = false;
	for (size_t i = 0; i < n; i++)
		look_at_row(k, &row[i], now);
	for (size_t i = 0; i < k->n; i++) {
		struct kept_terminal *t = &k->terminal[i];

		if (!t->here)
			t->due_ns = 0; /* a person stopped it */
		start_due(k, t, now);
		if (t->here || t->starter)
			k->terminal[left++] = *t;
	}
	k->n = left;
	k->next_ns = clock_mono_ns() + (k->n ? LOOK_NS : LOOK_RARELY_NS);
}

int kept_terminals_wait_ms(const struct kept_terminals *k)
{
	int64_t left = (k->next_ns - clock_mono_ns()) / NS_PER_MS + 1;

	return left < 0 ? 0 : (int)left;
}

bool kept_terminals_any(const struct kept_terminals *k)
{
	for (size_t i = 0; i < k->n; i++)
		if (k->terminal[i].runs || k->terminal[i].starter || k->terminal[i].due_ns)
			return true;
	return false;
}

void kept_terminals_close(struct kept_terminals *k)
{
	free(k->terminal);
	*k = (struct kept_terminals){0};
}
