/*
 * signals.h - signals by their names.  Thread: any.
 */
#ifndef BERTH_SIGNALS_H
#define BERTH_SIGNALS_H

#include "err.h"

#define SIGNAL_NAME_MAX 24

/* "TERM", "SIGTERM", "sigterm", "15", "RTMIN+3": its number; -1 and a sentence. */
int signal_number(const char *text, struct err *e);
/* "SIGTERM", "SIGRTMIN+3"; returns buf. */
char *signal_name(int number, char buf[SIGNAL_NAME_MAX]);

#endif
