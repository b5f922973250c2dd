/*
 * rulebook.h - the command rules that an agent was brought up with, beside its lane.
 *
 * `exec` takes its rules from there: <runtime>/lanes/NAME.rules, one "word value" a line (endpoint and
 * engine_name for rules of single hosts; sudo, writable, allow, block).  No such file: no rules but the
 * plainly destructive ones.
 */
#ifndef RUN_RULEBOOK_H
#define RUN_RULEBOOK_H

#include <stddef.h>

#include <berth/err.h>
#include <berth/policy.h>
#include <berth/team.h>

int rulebook_write(
	const struct agent_def *a, const char *endpoint, const char *engine_name, struct err *e);
void rulebook_forget(const char *container);

/* Policy first (NULL: none), then the rules: those of `def` where it is given.  0, or -1 with
 * ERR_REFUSED and the sentence. */
int rulebook_check(const char *container, const struct policy *policy, const struct agent_def *def,
	const char *const *argv, size_t argc, struct err *e);

#endif
