/* journal_play.c - keeps the clock of a command's output that is played back. */
#include "views/journal_play.h"

#include <stdio.h>
#include <stdlib.h>

#include <berth/mem.h>

static const double speeds[] = {0.25, 0.5, 1, 2, 4, 8, 16, 32};
#define USUAL_SPEED 2

void player_add(struct player *p, size_t upto, int64_t at_ms)
{
	struct play_mark *was = p->n ? &p->mark[p->n - 1] : NULL;
	int64_t gap = at_ms - p->last_ms;

	if (gap < 0)
		gap = 0;
	p->last_ms += gap;
	gap = gap < PLAY_IDLE_MS ? gap : PLAY_IDLE_MS;
	if (was && !gap) {
		was->upto = upto;
		return;
	}
	p->mark = mem_grow(p->mark, &p->cap, p->n + 1, sizeof *p->mark);
	p->mark[p->n] = (struct play_mark){upto, (p->n ? p->mark[p->n - 1].ms : 0) + gap};
	p->n++;
}

void player_clear(struct player *p)
{
	p->on = p->paused = false;
	p->n = 0;
	p->last_ms = 0;
}

void player_release(struct player *p)
{
	free(p->mark);
	p->mark = NULL;
	p->n = p->cap = 0;
}

static int64_t play_end_ns(const struct player *p)
{
	return p->n ? p->mark[p->n - 1].ms * 1000000 : 0;
}

void player_press(struct player *p, int64_t now_ns)
{
	if (!p->on || p->played_ns >= play_end_ns(p)) {
		if (!p->on && !p->speed)
			p->speed = USUAL_SPEED + 1;
		p->on = true;
		p->paused = false;
		p->played_ns = 0;
	} else {
		p->paused = !p->paused;
	}
	p->seen = now_ns;
}

void player_change(struct player *p, int by)
{
	int to = p->speed + by;

	p->speed = to < 1 ? 1 : to > (int)COUNT(speeds) ? (int)COUNT(speeds) : to;
}

void player_step(struct player *p, int64_t now_ns)
{
	if (p->on && !p->paused && now_ns > p->seen)
		p->played_ns += (int64_t)((double)(now_ns - p->seen) * speeds[p->speed - 1]);
	p->seen = now_ns;
	if (p->on && p->played_ns >= play_end_ns(p)) {
		p->played_ns = play_end_ns(p);
		p->paused = true;
	}
}

size_t player_shown(const struct player *p)
{
	size_t upto = 0;

	for (size_t i = 0; i < p->n && p->mark[i].ms * 1000000 <= p->played_ns; i++)
		upto = p->mark[i].upto;
	return upto;
}

void player_text(const struct player *p, char *buf, size_t cap)
{
	bool ended = p->played_ns >= play_end_ns(p);

	snprintf(buf, cap, "%s %.1f of %.1f s, x%g",
		ended               ? "played"
			: p->paused ? "paused"
				    : "playing",
		(double)p->played_ns / 1e9, (double)play_end_ns(p) / 1e9, speeds[p->speed - 1]);
}
