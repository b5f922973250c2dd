/*
 * rules.h - which commands an agent may run: a courtesy in addition to isolation.
 *
 * What keeps an agent from doing harm is its container.  These rules only stop accidents early,
 * with a sentence that the agent can act on: plainly destructive commands (rm -rf / in all its
 * spellings, dd to a device, mkfs, fork bombs, sudo where it is not enabled), and the allow and
 * block lists of a definition.  They judge parsed words, never raw text: every simple command of a
 * shell script, and what wrappers such as env, xargs, find -exec or busybox would run.  They can be bypassed on
 * purpose; the container's isolation does not depend on them.
 *
 * A pattern of a list is a regular expression (berth/regex.h) over the command's words joined by one
 * blank and must match from beginning to end.  /bin, /usr/bin, /usr/local/bin and the like are taken off the
 * first word; a program elsewhere may be a file of the agent's own: it is allowed only by its path, as written,
 * and blocked by its path or its name.  Where a pattern begins with a plain word, the command's name must be
 * that word or that word and a version: `python.*` means python and python3.11 with any arguments, and not
 * pythonevil.  With an allow list every simple command must match one of its patterns; no simple command may
 * match one of the block list.
 *
 * A script is refused under a list of either kind where it holds a construct that the reader does not
 * understand for sure (shell_reader.h), and under an allow list where the name of a command, or a script
 * that is handed on as text, is known only when it runs.  An unset variable counts as empty for what
 * is plainly destructive: rm -rf "$DIR" with a wildcard behind it.  Emptying the workspace, where
 * commands begin, counts as that too.
 *
 * Thread: pure; a rule set may be shared by threads after rule_set_compile.
 */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>

struct rule_set;

struct rule_options {
	bool sudo;                   /* the definition enables it */
	const char *home;            /* of the container's user; NULL: /root */
	const char *workdir;         /* where commands begin; NULL: not known */
	const char *const *writable; /* directories in which rm -rf is the agent's own business */
	size_t nwritable;
	const char *const *allow, *const *block;
	size_t nallow, nblock;
};

/* NULL and ERR_CONFIG for a pattern that is no regular expression. */
struct rule_set *rule_set_compile(const struct rule_options *o, struct err *e);
void rule_set_free(struct rule_set *r);

/* "NAME=VALUE" that a caller gives to a command.  Under lists: ERR_REFUSED for a variable that decides which program a word
 * means, or makes the shell or the loader run something else first (PATH, LD_PRELOAD, BASH_ENV ...). */
int rule_set_check_env(
	const struct rule_set *r, const char *const *env, size_t envc, struct err *e);

/* 0, or -1 with ERR_REFUSED and a sentence that names the command and the rule. */
int rule_set_check(const struct rule_set *r, const char *const *argv, size_t argc, struct err *e);

#endif
