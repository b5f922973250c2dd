/* clean_verbs.h - what `berth clean` prints and asks, shared by its form for one engine and that for several. */
#ifndef CLI_CLEAN_VERBS_H
#define CLI_CLEAN_VERBS_H

#include <berth/clean.h>

struct cli;
struct jsonw;
struct settings;

/* One line of a plan; its reason below, where the terminal is narrow.  host: in a column of host_w; "" and 0. */
void cli_clean_item(const struct clean_item *it, const char *host, int host_w, int columns);
/* The number of items must be typed: this cannot be undone. */
bool cli_clean_confirm(size_t n);
void cli_clean_sum(const struct clean_sum *s);
/* Members of an open object: sums, error and items.  outcome NULL: nothing was begun. */
void cli_clean_result(struct jsonw *j, const struct clean_plan *p,
	const struct clean_outcome *outcome, const struct clean_sum *sum, const struct err *e);
int cli_clean_read(const char *path, struct str *text, struct err *e);
/* The first SIGINT or SIGTERM from now on cancels, and what was stopped is started again; the second one ends us. */
void cli_clean_heed(void);
bool cli_clean_stops(void *ctx);
int cli_clean_cancelled(void); /* says so; the exit code of that signal */

/* `berth clean --all-hosts`. */
int cli_clean_hosts(const struct cli *c, const struct settings *s, struct err *e);

#endif
