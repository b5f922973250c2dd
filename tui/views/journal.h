/* journal.h - opening the journal of an agent. */
#ifndef TUI_VIEWS_JOURNAL_H
#define TUI_VIEWS_JOURNAL_H

#include "app/app.h"

/* seed: const char *, the name of the agent's container; valid during app_push. */
extern const struct view_ops journal_view;

/* How long a command took: "3 ms", "1.3 s", "2m05s".  buf: FORMAT_MAX. */
char *journal_took(char *buf, int64_t ms);

#endif
