/*
 * audit_rows.h - the records that the audit view has loaded: newest first, more on demand.
 *
 * They are read by a worker of the backend (view_work.h) in bounded steps, so that neither a slow disk nor a rare filter on a
 * log of ten million records holds up a key press.  What was loaded stays until the first step of a new filter is back.
 *
 * Thread: main, but for what is away.
 */
#ifndef AUDIT_ROWS_H
#define AUDIT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/arena.h>
#include <berth/audit.h>
#include <berth/view_work.h>

#define AUDIT_ROWS_MAX 20000 /* of each direction; the command line lists more */
#define AUDIT_FILTER_MAX 256

struct audit_look;

struct audit_rows {
	struct audit_look *look; /* NULL: it is away, or there never was one */
	bool away;
	char filter[AUDIT_FILTER_MAX];
	bool begin;       /* the next step opens the log anew */
	struct arena mem; /* of the rows */
	const struct audit_record **older,
		**fresh; /* from opening back in time; and what came since */
	size_t nolder, older_cap, nfresh, fresh_cap;
	uint64_t *awaited; /* intents of outcomes that are there: they are no rows of their own */
	size_t nawaited, awaited_cap;
	bool more;        /* there may be older ones that match */
	bool checkpoints; /* those that sign the log are rows too; else only where the filter says log. */
	char problem[200]; /* why nothing is shown; "" */
	struct audit_head head;
	bool has_head;
};

/* "agent=a act=file.* outcome=!ok target=web since=2h until=... words": the words are one regular
 * expression that is searched in the record as it is written.  ERR_USAGE leaves what is loaded as it is. */
int audit_rows_open(struct audit_rows *r, const char *filter, struct err *e);
void audit_rows_release(struct audit_rows *r);
/* What is to be sent so that older ones are looked for until `want` are there, and for new ones; NULL: one is away. */
struct view_work *audit_rows_ask(struct audit_rows *r, size_t want);
/* It came back.  true: it should go again, for it has not found `want` yet, or was opened anew meanwhile. */
bool audit_rows_take(struct audit_rows *r, struct view_work *l, size_t want);

/* Where the record of that number is shown: for an intent that has ended since, the number of its outcome. */
uint64_t audit_rows_moved(const struct audit_rows *r, uint64_t seq);

static inline size_t audit_rows_count(const struct audit_rows *r)
{
	return r->nfresh + r->nolder;
}
/* 0 is the newest. */
static inline const struct audit_record *audit_row(const struct audit_rows *r, size_t i)
{
	return i < r->nfresh ? r->fresh[r->nfresh - 1 - i] : r->older[i - r->nfresh];
}

#endif
