/* logs.h - how other views open logs. */
#ifndef LOGS_LOGS_H
#define LOGS_LOGS_H

#include "app/app.h"

/* Show the logs of these containers, merged; what was shown before is closed. */
void logs_open(struct view *v, const struct target *targets, size_t n);

#endif
