/*
 * rulebook.h - the command rules that an agent was brought up with, beside its lane.
 *
 * `exec` takes its rules from there: <runtime>/lanes/NAME.rules, one "word value" a line (sudo, writable,
 * allow, block).  No such file: no rules but the plainly destructive ones.
 */
#ifndef AGENTS_RULEBOOK_H
#define AGENTS_RULEBOOK_H

#include <stddef.h>

#include <berth/err.h>
#include <berth/team.h>

int rulebook_write(const struct agent_def *a, struct err *e);
void rulebook_forget(const char *container);

/* 0, or -1 with ERR_REFUSED and the sentence. */
int rulebook_check(const char *container, const char *const *argv, size_t argc, struct err *e);

#endif
