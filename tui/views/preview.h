/* preview.h - shows what one of an agent's terminals shows, live and read-only. */
#ifndef VIEWS_PREVIEW_H
#define VIEWS_PREVIEW_H

#include "app/app.h"

struct preview_seed {
	const char *id, *container; /* of the agent */
	const char *name;           /* of the terminal */
};
extern const struct view_ops preview_view;

#endif
