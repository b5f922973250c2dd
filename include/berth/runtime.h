/*
 * runtime.h - the directories of berth's files, and the messages while it waits.
 *
 *   runtime_dir  $XDG_RUNTIME_DIR/berth (job boards, lanes, the private engine's socket); where that
 *                variable is unset or names a directory that is not ours: /run/user/UID/berth; where there
 *                is none: berth-UID in $TMPDIR or /tmp.  Made when missing.
 *   state_dir    $XDG_STATE_HOME/berth, else ~/.local/state/berth (audit, history).  Made when missing.
 *   data_dir     $XDG_DATA_HOME/berth, else ~/.local/share/berth (workspaces, their checkpoints).  Made
 *                when missing.
 *   config_dir   $XDG_CONFIG_HOME/berth, else ~/.config/berth.  Never made, need not exist.
 *
 * A directory that is made has mode 0700.  One that is already there is refused unless it is a real
 * directory (no symlink), belongs to the effective user and nobody else may enter it (runtime) or
 * write to it (state): others must not be able to plant a board or a socket.  As the XDG base
 * directory specification 0.8 asks, relative paths in the variables are ignored.
 *
 * Each fills buf (cap bytes, PATH_MAX is enough) with an absolute path without a trailing slash.
 * Thread: any; they read the environment.
 */
#ifndef BERTH_RUNTIME_H
#define BERTH_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>

#include "err.h"

int runtime_dir(char *buf, size_t cap, struct err *e);
int state_dir(char *buf, size_t cap, struct err *e);
/* The state directory, its folders and the log's key, as far as they are there, belong to this user alone.  ERR_REFUSED: the
 * sentence has the first that does not, its mode or owner, and the command that puts all of it right. */
int state_check(struct err *e);
int data_dir(char *buf, size_t cap, struct err *e);
int data_dir_path(char *buf, size_t cap, struct err *e); /* where it is, or would be; not made */
/* Whether agents may see what is at `below` in it ("/workspaces/tasks/a/src"): of a workspace, or what workspaces share. */
bool data_dir_shows(const char *below);
int config_dir(char *buf, size_t cap, struct err *e);
/* Of all workspaces, below data_dir; not made. */
int workspaces_dir(char *buf, size_t cap, struct err *e);

/* For a program that lives for one command: from now on this thread looks at the first two once. */
void runtime_hold(void);

/* A folder below one of ours, made with mode 0700 when missing: "jobs", "engine".  `name` is one
 * path component.  The same checks apply. */
int runtime_subdir(char *buf, size_t cap, const char *dir, const char *name, struct err *e);

/* The program `name` of berth's: beside this one (a build tree, libexec/berth), in ../libexec/berth, or in ../../bin.
 * path holds PATH_MAX bytes. */
int runtime_program(const char *name, char *path, struct err *e);

/* A command line's own word about waiting: fn(whom) is called when an answer that somebody waits for is a
 * second late, once for each wait, on the thread that waits.  Set before there are threads; NULL, as at
 * the start: nothing is said. */
#define RUNTIME_LATE_MS 1000
void runtime_on_wait(void (*fn)(const char *whom));
void runtime_waits(const char *whom);
/* Is a person there whom a program that we start (ssh) may ask on the terminal?  Never in the console. */
bool runtime_may_ask(void);

#endif
