/*
 * rulebook.h - the command rules of an agent, stored next to its lane.
 *
 * `exec` takes its rules from there: <runtime>/lanes/NAME.rules, one "word value" a line (endpoint and
 * engine_name for rules of single hosts; sudo, writable, allow, block; save KEEP WORKSPACE).  No such file: no rules but the
 * plainly destructive ones.
 */
#ifndef RUN_RULEBOOK_H
#define RUN_RULEBOOK_H

#include <stddef.h>

#include <berth/agents.h>
#include <berth/err.h>
#include <berth/policy.h>
#include <berth/team.h>

int rulebook_write(
	const struct agent_def *a, const char *endpoint, const char *engine_name, struct err *e);
void rulebook_forget(const char *container);

/* What is saved before each command: checkpoints: {every: command}. */
struct rulebook_save {
	char workspace[80]; /* "tasks/ID"; "": none */
	unsigned keep;
};

/* Policy first (NULL: none), then the rules: those of q->def where it is given, on q->argv and q->env.  0, or -1 with
 * ERR_REFUSED and the sentence.  `save` (or NULL) is what the book says of it, whatever q->def does. */
int rulebook_check(const char *container, const struct policy *policy, const struct run_request *q,
	struct rulebook_save *save, struct err *e);
/* The same alone. */
int rulebook_saves(const char *container, struct rulebook_save *ret, struct err *e);

#endif
