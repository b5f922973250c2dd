/* jobs_total.h - all jobs in one line, and how the states of jobs look. */
#ifndef JOBS_TOTAL_H
#define JOBS_TOTAL_H

#include <berth/snapshot.h>

#include "terminal/terminal.h"

struct job_look {
	const char *word;
	enum role role;
	enum glyph glyph;
};
extern const struct job_look job_look[JOB_ORPHANED + 1];
/* That of its state, or of what waits for a person. */
const struct job_look *job_looks_like(const struct job_info *j);

/* "4 running · 12 queued      ▇▇▇▇▇░░  64 %   2s left   1.8G of 2.8G": what fits. */
void jobs_total_draw(struct canvas *c, struct area a, const struct snapshot *snap);

/* One line for each kind of job ("search", "image build") that is at work, the busiest first, when there
 * are more jobs than one can follow one by one.  Returns the rows used, at most a.h. */
int jobs_kinds_draw(struct canvas *c, struct area a, const struct snapshot *snap);

#endif
