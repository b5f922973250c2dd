/* journal.h - opening the journal of an agent. */
#ifndef TUI_VIEWS_JOURNAL_H
#define TUI_VIEWS_JOURNAL_H

#include "app/app.h"

/* Valid during app_push. */
struct journal_seed {
	const char *name; /* of the agent's container */
	bool next;        /* what it runs from now on: its output, as it comes */
};
/* seed: struct journal_seed */
extern const struct view_ops journal_view;

/* How long a command took: "3 ms", "1.3 s", "2m05s".  buf: FORMAT_MAX. */
char *journal_took(char *buf, int64_t ms);

#endif
