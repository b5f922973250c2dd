/* judge.c - decides from what was seen of a terminal what it does, and says why. */
#include <stdarg.h>
#include <stdio.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/terminal_status.h>
#include <berth/text.h>

#include "terminals/seen.h"

#define SETTLED_MS 500     /* without output: the screen is no longer being drawn */
#define MARK_HOLDS_MS 2000 /* output that long after a mark: it went on */

const char *terminal_does_name(enum terminal_does d)
{
	static const char *const names[] = {"working", "waiting", "idle", "quiet", "ended"};

	return names[d];
}

__attribute__((format(printf, 4, 5))) static void say(
	struct terminal_judged *r, enum terminal_does does, int64_t since_ms, const char *fmt, ...)
{
	va_list args;
	int n;

	r->does = does;
	r->since_ms = since_ms;
	va_start(args, fmt);
	n = vsnprintf(r->reason, sizeof r->reason, fmt, args);
	va_end(args);
	if (n >= (int)sizeof r->reason)
		r->reason[utf8_whole(r->reason, sizeof r->reason - 1)] = '\0';
}

static const char *name_program(const struct terminal_evidence *o)
{
	return *o->program ? o->program : "its program";
}

/* A mark is a shell's; that of a shell which started the program, or of what ended, says nothing of it. */
static bool marks_prompt(const struct terminal_evidence *o)
{
	return (o->shell || !*o->program) &&
		(o->screen->prompt == SEEN_PROMPT || o->screen->prompt == SEEN_TYPING);
}

static bool judge_end(const struct terminal_evidence *o, struct terminal_judged *r)
{
	const struct terminal_screen *s = o->screen;

	if (s->status == TERMINAL_ENDED)
		say(r, TERMINAL_OVER, s->changed_ms, "exit code %d", s->exit_code);
	else if (s->status == TERMINAL_LOST)
		say(r, TERMINAL_OVER, s->changed_ms, "the process that kept it was killed");
	return s->status != TERMINAL_RUNS;
}

static bool judge_reading(const struct terminal_evidence *o, struct terminal_judged *r)
{
	if (o->front != TERMINAL_FRONT_READS)
		return false;
	if (o->shows == TERMINAL_SHOWS_QUESTION)
		say(r, TERMINAL_WAITING, o->screen->changed_ms, "%s asks: %s", name_program(o),
			o->text);
	else if (o->shows == TERMINAL_SHOWS_PROMPT || marks_prompt(o))
		say(r, TERMINAL_IDLE, o->screen->changed_ms, "%s is at its prompt",
			name_program(o));
	else
		say(r, TERMINAL_WAITING, o->screen->changed_ms, "%s reads from the terminal",
			name_program(o));
	return true;
}

/* A bell or a notice, and nothing since but what belongs to it; nor has anybody answered. */
static bool judge_marks(
	const struct terminal_evidence *o, int64_t silent_ms, struct terminal_judged *r)
{
	const struct terminal_screen *s = o->screen;

	if (o->front == TERMINAL_FRONT_RUNS || silent_ms < SETTLED_MS)
		return false;
	if (s->marked_ms > s->answered_ms && s->changed_ms - s->marked_ms <= MARK_HOLDS_MS)
		return say(r, TERMINAL_WAITING, s->marked_ms,
			       s->marked_notice ? "it sent a notice: %s" : "it rang the bell%s",
			       s->marked_notice ? s->notice : ""),
		       true;
	if (marks_prompt(o))
		return say(r, TERMINAL_IDLE, s->changed_ms, "its shell is at its prompt"), true;
	return false;
}

static bool judge_shown(
	const struct terminal_evidence *o, int64_t silent_ms, struct terminal_judged *r)
{
	if (o->shows == TERMINAL_SHOWS_WORK && silent_ms < TERMINAL_QUIET_MS)
		return say(r, TERMINAL_WORKING, 0, "%s shows: %s", name_program(o), o->text), true;
	if (silent_ms < SETTLED_MS || o->front == TERMINAL_FRONT_RUNS)
		return false;
	if (o->shows == TERMINAL_SHOWS_QUESTION)
		return say(r, TERMINAL_WAITING, o->screen->changed_ms, "%s asks: %s",
			       name_program(o), o->text),
		       true;
	if (o->shows == TERMINAL_SHOWS_PROMPT)
		return say(r, TERMINAL_IDLE, o->screen->changed_ms, "%s is at its prompt",
			       name_program(o)),
		       true;
	return false;
}

void terminal_judge(const struct terminal_evidence *o, struct terminal_judged *ret)
{
	int64_t silent_ms = o->now_ms - o->screen->changed_ms;
	char n[FORMAT_MAX];

	silent_ms = silent_ms < 0 ? 0 : silent_ms;
	if (judge_end(o, ret) || judge_reading(o, ret) || judge_marks(o, silent_ms, ret) ||
		judge_shown(o, silent_ms, ret))
		return;
	format_span(n, silent_ms / 1000);
	if (o->front == TERMINAL_FRONT_RUNS)
		say(ret, TERMINAL_WORKING, 0, "%s runs", name_program(o));
	else if (silent_ms < TERMINAL_QUIET_MS)
		say(ret, TERMINAL_WORKING, 0, "printed %s ago", n);
	else
		say(ret, TERMINAL_QUIET, o->screen->changed_ms, "quiet for %s", n);
}
