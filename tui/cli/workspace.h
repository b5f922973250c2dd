/* workspace.h - shared by the verbs of `berth workspace`. */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include <limits.h>
#include <stdint.h>

#include <berth/checkpoint.h>
#include <berth/freeze.h>
#include <berth/jsonw.h>
#include <berth/record.h>
#include <berth/settings.h>
#include <berth/str.h>
#include <berth/apply.h>
#include <berth/workspace.h>

#include "cli/commands.h"

/* What a verb works on; what it has no use for is not there. */
struct workspace_cli {
	const struct cli *c;
	const struct settings *s; /* NULL without NEEDS_SETTINGS */
	struct recorder by;
	char dir[PATH_MAX];  /* of all that berth keeps for its user */
	char tree[PATH_MAX]; /* of the workspaces in it */
	struct workspaces *all;
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	char path[16 + WORKSPACE_NAME_MAX]; /* "tasks/ID" */
	int root;                           /* the workspace's directory */
	struct checkpoint_store *store;
	const char *point; /* the checkpoint that is meant; NULL: none */
	char undo[CHECKPOINT_NAME_MAX + 1];
	struct checkpoint_info made;
	struct checkpoint_restored done;
	uint64_t freed;      /* bytes */
	struct freeze still; /* the containers that have it mounted */
	struct workspace_limits limits;
	bool stop; /* what runs in them may be ended */
};

/* Of which one x speaks from now on; nothing is looked at. */
void workspace_cli_name(struct workspace_cli *x, enum workspace_kind kind, const char *name);

/* Of which archive x speaks from now on: tasks/NAME, projects/NAME, or a name that only one has. */
int workspace_cli_find_archive(struct workspace_cli *x, const char *said, struct err *e);

/* "archives/tasks/NAME" or "archives/NAME": what is behind "archives/"; NULL: it names no archive. */
const char *workspace_cli_archive_word(const char *said);

/* A workspace that was named, opened. */
struct workspace_place {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	char path[24 + WORKSPACE_NAME_MAX]; /* "tasks/ID", "archives/tasks/ID" */
	struct workspace_info info;
	int root;
	struct checkpoint_store *store;
};
/* `said` is tasks/ID, projects/NAME, or a name that only one of them has. */
int workspace_cli_place(
	struct workspace_cli *x, const char *said, struct workspace_place *p, struct err *e);
void workspace_cli_leave(struct workspace_place *p);
/* The same of one that need not be opened: somebody else may have closed it. */
int workspace_cli_info(
	struct workspace_cli *x, const char *said, struct workspace_info *ret, struct err *e);
/* The checkpoints of a workspace that need not be there yet. */
struct checkpoint_store *workspace_cli_store(
	struct workspace_cli *x, enum workspace_kind kind, const char *name, struct err *e);

/* What WORKSPACE holds now, or what WORKSPACE@CHECKPOINT held.  To be closed also where it could not be opened. */
struct workspace_side {
	struct workspace_place place;
	char name[25 + WORKSPACE_NAME_MAX + CHECKPOINT_NAME_MAX]; /* "tasks/ID@NAME" */
	struct checkpoint_tree *tree;
	int archive, scratch; /* of an archive; else -1 */
};
int workspace_side_open(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e);
void workspace_side_close(struct workspace_side *s);
/* That, or what "archives/WORKSPACE" holds; what of its contents will be asked for is fetched before. */
int workspace_side_open_any(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e);
int workspace_side_fetch(struct workspace_side *s, const struct checkpoint_entry *const *files,
	size_t n, struct err *e);
/* "added", "removed", "changed", "type", "mode" */
const char *workspace_side_word(enum checkpoint_difference d);

/* The workspace that the first operand names, opened, and its checkpoints. */
int workspace_cli_enter(struct workspace_cli *x, struct err *e);
/* Which containers have it: words for a person ("": none), and "held_by" of a JSON object. */
void workspace_cli_holders(
	struct workspace_cli *x, const struct workspace_info *i, struct str *out);
void workspace_cli_json_holders(
	struct workspace_cli *x, const struct workspace_info *i, struct jsonw *j);
/* What git says of a project: words for a person ("": nothing is known), and "git" of a JSON object. */
void workspace_cli_git(const struct workspace_git *g, struct str *out);
void workspace_cli_json_git(const struct workspace_git *g, struct jsonw *j);
/* Lines of files, which may be anything: on a terminal each is made harmless. */
void workspace_cli_lines(const struct str *text, bool terminal);
/* A name, or the target of a link, that an agent chose: likely secrets in it masked, and quoted where it has to be. */
void workspace_cli_quote(struct str *out, const char *name, size_t n);
void workspace_cli_json_name(struct jsonw *j, const char *key, const char *name);
/* What passes, and what does not: lines for a person, "items", "secrets" and "unchecked" of a JSON object, and the names of what
 * is written (free(*ret)). */
void workspace_cli_apply(const struct apply *p);
void workspace_cli_json_apply(struct jsonw *j, const struct apply *p);
size_t workspace_cli_passing(const struct apply *p, const char ***ret);
/* Likely secrets: a line each, and "secrets" of a JSON object. */
void workspace_cli_secrets(const struct apply_secret *secret, size_t n);
void workspace_cli_json_secrets(struct jsonw *j, const struct apply_secret *secret, size_t n);
/* ERR_REFUSED, without --secrets, where there are likely ones, or not all could be looked through; "nothing was DONE". */
int workspace_cli_check_secrets(
	const struct cli *c, const struct apply *p, const char *done, struct err *e);
/* ERR_CONFLICT when files changed while they were read, and so were not "DONE". */
int workspace_cli_check_whole(const struct apply *p, const char *done, struct err *e);
/* A checkpoint as a line, and as members of a JSON object. */
void workspace_cli_point(const struct checkpoint_info *p);
void workspace_cli_json_point(struct jsonw *j, const struct checkpoint_info *p);
/* What a person must know of how the checkpoint x->made was read, on stderr. */
void workspace_cli_warn(struct workspace_cli *x);
/* What went away while `of` was read, and the names of what could not be read of it, on stderr. */
void workspace_cli_tell_gone(uint64_t gone, const char *of);
void workspace_cli_tell_unread(const struct checkpoint_tree *t, const char *of);
/* The whole way of an act on a workspace or one of its checkpoints; `act` gets x. */
int workspace_cli_act(
	struct workspace_cli *x, enum operation operation, record_act_fn *act, struct err *e);
/* A checkpoint of x, synced, while the containers that have it stand still. */
int workspace_cli_checkpoint(struct workspace_cli *x, const char *name, struct err *e);
/* The act of dropping the checkpoint x->point. */
int workspace_cli_drop(struct workspace_cli *x, struct err *e);

/* Checkpoints that berth makes by itself have names of their own: WORKSPACE_AUTO and a time. */
#define WORKSPACE_AUTO "auto-"
bool workspace_auto_word(const char *name); /* it begins so, and is not for a person to give */
struct workspace_auto {
	char unchanged[CHECKPOINT_NAME_MAX +
		1]; /* from which nothing differs, so it was not kept; "" */
	size_t dropped;
};
/* One of these, of the workspace that the first operand names; --auto says how many stay. */
int workspace_cli_auto(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1],
	struct workspace_auto *ret, struct err *e);

/* What agents, and berth automatically, may save of a workspace is limited by the settings; a person is not.  Deletes
 * the oldest automatic checkpoints until there is room for `more` others.  ERR_REFUSED: there still is not. */
int workspace_cli_room(struct workspace_cli *x, unsigned more, struct err *e);
/* After x->made: the same, or that one is deleted again. */
int workspace_cli_hold(struct workspace_cli *x, struct err *e);

/* What reads or writes the tree as a whole: as an act, while the containers that have it stand still. */
int workspace_cli_still(struct workspace_cli *x, const char *why, struct err *e);
int workspace_cli_go_on(struct workspace_cli *x, struct err *e);
/* Who stood still for how long: a sentence, and members of a JSON object. */
void workspace_cli_tell_still(const struct workspace_cli *x);
void workspace_cli_json_still(const struct workspace_cli *x, struct jsonw *j);
/* A freeze_pause_fn; ctx is the struct cli. */
int workspace_cli_ask_engine(void *ctx, const struct freeze_box *b, bool pause, struct err *e);
/* x->limits: what holds for it; and the act of setting that. */
int workspace_cli_limits(struct workspace_cli *x, struct err *e);
int workspace_cli_limit(struct workspace_cli *x, struct err *e);
/* `kept`: what is in force beside the count. */
void workspace_cli_words(
	const struct workspace_limits *l, enum workspace_kept kept, struct str *out);
/* x->limits of a task that is made with --loop. */
int workspace_cli_loop(struct workspace_cli *x, struct err *e);
void workspace_cli_usual(const struct settings *s, struct workspace_limits *ret);
/* BEFORE20261123T084001.123Z: a name for who gave none. */
void workspace_cli_stamp(char *buf, size_t cap, const char *before);
/* `make` a checkpoint under such a name, which is x->point then; another process may make one within the same
 * millisecond, and then under the next. */
int workspace_cli_stamped(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1],
	const char *before, int (*make)(void *ctx, struct err *e), void *ctx, struct err *e);

#endif
