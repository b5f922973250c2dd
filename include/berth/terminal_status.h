/*
 * terminal_status.h - what an agent's terminal does: working, waiting for a person, idle, quiet or ended, and why.
 *
 * A status never claims more than was seen.  In this order: its end; the foreground processes, as the host's /proc shows
 * them; bells, notices and prompt marks; what the screen of a known program shows (configs/terminals.yaml); silence.
 * Thread: any; a terminal_programs is read-only once made.
 */
#ifndef BERTH_TERMINAL_STATUS_H
#define BERTH_TERMINAL_STATUS_H

#include "terminal.h"

enum terminal_does {
	TERMINAL_WORKING,
	TERMINAL_WAITING, /* for a person */
	TERMINAL_IDLE,    /* at its prompt: nothing was asked */
	TERMINAL_QUIET,   /* nothing says what it does */
	TERMINAL_OVER
};
const char *terminal_does_name(
	enum terminal_does d); /* "working", "waiting", "idle", "quiet", "ended" */

#define TERMINAL_REASON_MAX 160
#define TERMINAL_QUIET_MS 10000 /* without output: from then on it is not called working */
struct terminal_judged {
	enum terminal_does does;
	int64_t since_ms; /* Unix time; 0: not known.  Nobody saw when it began: its last output, the bell or notice that it
			   * waits with, its end */
	char reason
		[TERMINAL_REASON_MAX]; /* a clause, neutralised: "python3 reads from the terminal" */
};

/* The processes of the terminal's foreground group. */
enum terminal_front {
	TERMINAL_FRONT_UNKNOWN, /* this user may not see them, or there are none */
	TERMINAL_FRONT_SLEEPS,
	TERMINAL_FRONT_RUNS, /* one uses a processor, or waits for a disk */
	TERMINAL_FRONT_READS, /* all sleep, and one of them in a read of the terminal that has no end but a key */
};

/* What a known program shows. */
enum terminal_shows {
	TERMINAL_SHOWS_NOTHING,
	TERMINAL_SHOWS_WORK,
	TERMINAL_SHOWS_QUESTION,
	TERMINAL_SHOWS_PROMPT
};

/* All that is judged. */
struct terminal_evidence {
	int64_t now_ms;                       /* Unix time */
	const struct terminal_screen *screen; /* its cells are not looked at */
	enum terminal_front front;
	const char *program; /* in the foreground, neutralised; "": not known */
	bool shell;          /* a shell that runs no script: prompt marks are its own */
	enum terminal_shows shows;
	const char *text; /* that of the screen which says so, neutralised */
};
void terminal_judge(const struct terminal_evidence *o, struct terminal_judged *ret);

/* The patterns of known programs: those of the file ~/.config/berth/terminals.yaml, which may be missing, before those that
 * berth has.  NULL: that file is wrong, with its place. */
struct terminal_programs;
struct terminal_programs *terminal_programs_open(struct err *e);
void terminal_programs_free(struct terminal_programs *p); /* NULL is fine */

/* What the program, known by one of `names`, shows; text: at most `cap` bytes of it, neutralised. */
#define TERMINAL_SHOWN_ROWS 16 /* the last ones that hold something are looked at */
enum terminal_shows terminal_programs_look(const struct terminal_programs *p,
	const char *const *names, size_t n, const struct terminal_screen *s, char *text,
	size_t cap);

/* Look at a terminal now: its screen, its processes.  p NULL: without patterns.  Reads /proc. */
void terminal_judge_row(const struct terminal_row *row, const struct terminal_programs *p,
	struct terminal_judged *ret);

/* A terminal from one look to the next. */
struct terminal_followed {
	struct terminal_judged judged;
	int64_t started_ms,
		looked_ms;           /* Unix time, as the next two: of its command; of this look */
	int64_t waited_ms, asked_ms; /* when it was last seen to wait, and since when it did */
	uint64_t question;           /* what it waits with, or waited with last; 0: never */
};
/* `now` has what this look judged, and the rest of it is filled in.  since_ms: not before the last look (`was`, NULL: this is
 * the first one) that saw it do something else, and of one that waits not before the last key.  A question that is news gets
 * the next number, counted in *questions. */
void terminal_follow(const struct terminal_followed *was, const struct terminal_screen *s,
	int64_t now_ms, uint64_t *questions, struct terminal_followed *now);

#endif
