/* roster.h - shared by roster.c (reading) and roster_acts.c (operations). */
#ifndef CONSOLE_ROSTER_H
#define CONSOLE_ROSTER_H

#include "console/core.h"

#include "agents/survey.h"

#define TOLD_MAX 64 /* agents whose last failure is remembered */

struct deal;

struct told { /* how the last act on an agent ended, or that one is under way */
	char *name;
	enum agent_act pending;
	char *problem;
};

struct roster {
	pthread_mutex_t lock;
	struct backend *b; /* under lock; NULL: the backend has ended */
	struct mailbox letters;
	size_t users; /* under lock: threads, and the backend */
	char *host, *context;
	struct agents_defaults defaults;

	/* the loop's */
	struct survey *survey;
	bool looking, again;
	bool looking_whole,
		whole; /* all of its containers were inspected: in the look, in what is published */
	int64_t looked_ns, shown_ns; /* shown_ns: when `shown` came */
	struct blocking_task work;
	struct survey_look look, shown; /* the worker's while `looking`; what is published */
	struct deal *deals;
	struct told told[TOLD_MAX];
	size_t ntold;
};

struct told *roster_told(struct roster *r, const char *name, bool make); /* NULL: nothing */
const struct agent *roster_shown(const struct roster *r, const char *name);
void roster_wake(void *ctx);
void roster_leave(struct roster *r);               /* the last one out frees it */
void roster_stop_acts(struct roster *r, bool all); /* those whose jobs were cancelled, or all */

#endif
