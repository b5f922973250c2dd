/* node.h - errors with a file and line, shared by the files of this module. */
#ifndef BERTH_NODE_H
#define BERTH_NODE_H

#include <stdarg.h>

#include <berth/config.h>

/* ERR_CONFIG "file:line:column: " + sentence.  Always -1. */
int config_err(const struct config *c, int line, int column, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
int config_verr(const struct config *c, int line, int column, struct err *e, const char *fmt,
	va_list ap) __attribute__((format(printf, 5, 0)));

#endif
