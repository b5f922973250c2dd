/*
 * logs_agent.h - the output of agents' commands as log lines; their containers' own logs are empty, because init runs
 * the commands.
 *
 * Thread: main.
 */
#ifndef CLI_LOGS_AGENT_H
#define CLI_LOGS_AGENT_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/stream.h>

struct agent_logs;

/* `name`: of each an agent or its container; NULL: none, its lines have none.  They must stay. */
struct agent_logs *agent_logs_open(const char *const *name, size_t n);
void agent_logs_close(struct agent_logs *a);

/* What is new since the last call, by time; `source` is the index of the name.  `all`: also lines that have not ended.
 * Valid until the next call.  Returns how many. */
size_t agent_logs_next(struct agent_logs *a, bool all, const struct log_line **ret);

#endif
