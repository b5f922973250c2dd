/* audit_decisions.h - the decisions in the audit log, a line of JSON each. */
#ifndef CLI_AUDIT_DECISIONS_H
#define CLI_AUDIT_DECISIONS_H

#include "cli/cli.h"

/* Into the operand, or to standard output; exit code, or -1. */
int audit_decisions(const struct cli *c, struct err *e);

#endif
