/*
 * progress.h - how far a job is, on standard error: a line that is rewritten in place on a terminal, else one
 * every ten seconds.
 *
 * Thread: main; the line is written by a thread of its own that takes no signal.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>

#include <berth/job.h>

/* `read` is called on that thread, false: there is no job now. */
void cli_progress_start(bool (*read)(void *ctx, struct job_info *out), void *ctx);
/* A line of text from outside on stdout, neutralised, above the progress. */
void cli_progress_print(const char *text);
/* Take the line away before something is printed; it comes again in a while. */
void cli_progress_clear(void);
/* A line that is no progress, for runtime_on_wait: whoever waits at a terminal is told for whom. */
void cli_progress_wait(const char *whom);
/* A line on `fd` can be drawn again where it stands: a terminal that says how wide it is.  A serial console
 * without a size is often only recorded: every drawing would make its one line longer. */
bool cli_progress_in_place(int fd);
/* Between two lines where none is drawn in place; one that has not changed is not printed again. */
extern int cli_progress_log_ms;
void cli_progress_stop(void); /* the line is taken away; not started is fine */

#endif
