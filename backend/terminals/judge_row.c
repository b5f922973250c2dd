/* judge_row.c - looks at a running terminal: its processes, and what its program shows. */
#include <string.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/terminal_status.h>

#include "terminals/foreground.h"

void terminal_judge_row(const struct terminal_row *row, const struct terminal_programs *p,
	struct terminal_judged *ret)
{
	struct terminal_screen screen = {0};
	const struct terminal_screen *s = &row->screen;
	struct foreground f = {.front = TERMINAL_FRONT_UNKNOWN};
	const char *names[FOREGROUND_NAMES];
	char text[TERMINAL_REASON_MAX / 2] = "";
	struct terminal_evidence o = {
		.now_ms = clock_wall_ms(), .screen = s, .program = "", .text = text};

	if (s->status == TERMINAL_RUNS)
		foreground_look(s->supervisor, row->id, &f);
	for (size_t i = 0; i < f.n; i++)
		names[i] = f.name[i];
	o.front = f.front;
	o.shell = f.shell;
	if (f.n)
		o.program = f.name[0];
	if (p && f.n && !terminals_read(row->container, row->name, &screen, NULL)) {
		o.screen = &screen;
		o.shows = terminal_programs_look(p, names, f.n, &screen, text, sizeof text);
	}
	terminal_judge(&o, ret);
	terminal_screen_release(&screen);
}
