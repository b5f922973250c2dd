/* declared_terminals.h - the terminals that a team file gives an agent: started with it, compared with what runs. */
#ifndef AGENTS_DECLARED_TERMINALS_H
#define AGENTS_DECLARED_TERMINALS_H

#include <berth/agents.h>

struct recorder;

/* Start those of an agent that is up.  One that runs stays as it is, and one that ended where `fresh` is false unless
 * it failed and its definition says that it is started again then; one that a person stopped stays stopped. */
int declared_start(struct recorder *by, const struct agent_def *a, bool fresh, struct err *e);
/* Each one that is not as it was asked for; one line for all that are.  How many. */
size_t declared_check(const struct agent_def *a, struct enforced *out, size_t max);

#endif
