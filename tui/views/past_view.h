/* past_view.h - opening the history of a container, an agent, or of all together. */
#ifndef TUI_VIEWS_PAST_VIEW_H
#define TUI_VIEWS_PAST_VIEW_H

#include "app/app.h"

/* Valid during app_push; without a seed all together. */
struct history_seed {
	const char *engine; /* its id; NULL: whichever */
	const char *name;   /* of the container; "": all together */
};
extern const struct view_ops history_view;

#endif
