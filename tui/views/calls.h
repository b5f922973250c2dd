/* calls.h - opening the calls of an agent. */
#ifndef TUI_VIEWS_CALLS_H
#define TUI_VIEWS_CALLS_H

#include "app/app.h"

/* Valid during app_push. */
struct calls_seed {
	const char *agent; /* its id; NULL or "": of all */
};
extern const struct view_ops calls_view;

#endif
