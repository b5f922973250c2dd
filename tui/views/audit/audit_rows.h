/*
 * audit_rows.h - the records that the audit view has loaded: newest first, more on demand.
 *
 * Reading is done in bounded steps, so that a rare filter on a log of ten million records never holds
 * up a key press.  Thread: main.
 */
#ifndef AUDIT_ROWS_H
#define AUDIT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/arena.h>
#include <berth/audit.h>

#define AUDIT_ROWS_MAX 20000 /* of each direction; the command line lists more */
#define AUDIT_FILTER_MAX 256

struct audit_rows {
	struct audit_reader *reader; /* NULL: no log yet */
	char filter[AUDIT_FILTER_MAX];
	struct arena mem;                     /* of the rows */
	struct audit_record **older, **fresh; /* from opening back in time; and what came since */
	size_t nolder, older_cap, nfresh, fresh_cap;
	bool more;        /* there may be older ones that match */
	bool checkpoints; /* those that sign the log are rows too; else only where the filter says log. */
	char problem[200]; /* why nothing is shown; "" */
};

/* "agent=a act=file.* outcome=!ok target=web since=2h until=... words": words are searched in the
 * record as it is written.  ERR_USAGE leaves what is loaded as it is. */
int audit_rows_open(struct audit_rows *r, const char *filter, struct err *e);
void audit_rows_release(struct audit_rows *r);
/* Look for older ones until `want` rows are there, and for new ones, each as far as one step goes. */
void audit_rows_step(struct audit_rows *r, size_t want);

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
