/*
 * alerts.h - shared by the files of alerts: rules (alerts.c), log conditions (alert_logs.c), commands and webhooks
 * (alert_acts.c).
 *
 * One process at a time tells of the rules that it was given on one engine: whoever has the lock on a file in the runtime
 * directory, whose name is made of both.  What was told and still holds stands in that file, so that the next does not
 * tell it again.
 *
 * Thread: the loop's, but for what alert_acts.c says of its workers.
 */
#ifndef CONSOLE_ALERTS_H
#define CONSOLE_ALERTS_H

#include <berth/settings.h>
#include <berth/where.h>

#include "console/core.h"

struct alert_act;
struct alert_log;

struct alert {
	const struct alert_rule *rule;
	struct where *where;
	uint64_t hash; /* of the rule: names it in the file */
};

/* A rule and who it holds for. */
struct cause {
	size_t alert;
	char *id;         /* of the container, or the name of an agent's that is not there */
	int64_t since_ns; /* as seen by this process */
	int64_t start_ms; /* of the container */
	int64_t told_ms;  /* Unix time; 0: not yet */
	bool line, seen;  /* it was a line of log; in this look */
	bool old;         /* it was told by another process, and not looked at long enough yet */
};

struct alerts {
	struct backend *b;
	size_t n;
	struct alert *alert;
	struct cause *cause;
	size_t ncauses, causes_cap;
	size_t hint;                  /* where the last one was found */
	int lock;                     /* -1: another process has it, or it was not tried */
	int64_t try_ns, held_wall_ms; /* when next; since when it is held */
	bool changed;                 /* what the file should say */
	unsigned told;                /* in this look */
	uv_timer_t due;
	struct alert_log *logs;
	struct alert_act *acts; /* that wait for their turn, oldest first */
	size_t nacts, working;
	int stop_fd; /* readable: workers end */
};

/* A line that fits is no news again before that. */
#define ALERT_LINE_MS INT64_C(60000)

/* alerts.c: the cause, made when it is new. */
struct cause *alert_cause(struct alerts *k, size_t alert, const char *id);
int64_t alert_line_ms(
	const struct alerts *k, const struct cause *c); /* until a line is news again */
/* Tells it now; false: later, for there is too much at once, or it is a quiet time. */
bool alert_tell(struct alerts *k, struct cause *c, const struct where_row *row);

/* alert_logs.c */
void alert_logs_begin(struct alerts *k);
/* Which rules could hold for this container with a line of its log. */
void alert_logs_want(struct alerts *k, const struct where_row *row);
void alert_logs_end(struct alerts *k); /* opens what is wanted, closes the rest */
void alert_logs_stop(struct alerts *k);

/* alert_acts.c */
#define ALERT_ACTS_MAX 64 /* that wait */
void alert_act(
	struct alerts *k, const struct alert_rule *rule, bool hook, const struct where_row *row);
void alert_acts_stop(struct alerts *k);

#endif
