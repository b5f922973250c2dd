/* workspace.h - `berth workspace`: what its verbs share. */
#ifndef CLI_WORKSPACE_H
#define CLI_WORKSPACE_H

#include <limits.h>
#include <stdint.h>

#include <berth/checkpoint.h>
#include <berth/jsonw.h>
#include <berth/record.h>
#include <berth/workspace.h>

#include "cli/commands.h"

/* What a verb works on; what it has no use for is not there. */
struct workspace_cli {
	const struct cli *c;
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
	uint64_t freed; /* bytes */
};

/* What a verb does between opening and closing: policy, the tree and the log are around it.  Both return the
 * process's exit code, or -1 with *e. */
typedef int workspace_verb_fn(struct workspace_cli *x, struct err *e);
int workspace_cli_run(const struct cli *c, workspace_verb_fn *verb, struct err *e);

/* Of which one x speaks from now on; nothing is looked at. */
void workspace_cli_name(struct workspace_cli *x, enum workspace_kind kind, const char *name);

/* A workspace that was named, opened. */
struct workspace_place {
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	char path[16 + WORKSPACE_NAME_MAX]; /* "tasks/ID" */
	int root;
	struct checkpoint_store *store;
};
/* `said` is tasks/ID, projects/NAME, or a name that only one of them has. */
int workspace_cli_place(
	struct workspace_cli *x, const char *said, struct workspace_place *p, struct err *e);
void workspace_cli_leave(struct workspace_place *p);
/* The checkpoints of a workspace that need not be there yet. */
struct checkpoint_store *workspace_cli_store(
	struct workspace_cli *x, enum workspace_kind kind, const char *name, struct err *e);

/* What WORKSPACE holds now, or what WORKSPACE@CHECKPOINT held.  To be closed also where it could not be opened. */
struct workspace_side {
	struct workspace_place place;
	char name[17 + WORKSPACE_NAME_MAX + CHECKPOINT_NAME_MAX]; /* "tasks/ID@NAME" */
	struct checkpoint_tree *tree;
};
int workspace_side_open(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e);
void workspace_side_close(struct workspace_side *s);
/* "added", "removed", "changed", "type", "mode" */
const char *workspace_side_word(enum checkpoint_difference d);

/* The workspace that the first operand names, opened, and its checkpoints. */
int workspace_cli_enter(struct workspace_cli *x, struct err *e);
/* A checkpoint as a line, and as members of a JSON object. */
void workspace_cli_point(const struct checkpoint_info *p);
void workspace_cli_json_point(struct jsonw *j, const struct checkpoint_info *p);
/* What a person must know of how a checkpoint was read, on stderr. */
void workspace_cli_warn(const struct checkpoint_info *p);
/* The whole way of an act on a workspace or one of its checkpoints; `act` gets x. */
int workspace_cli_act(struct workspace_cli *x, enum deed deed, record_act_fn *act, struct err *e);
/* BEFORE20261123T084001.123Z: a name for who gave none. */
void workspace_cli_stamp(char *buf, size_t cap, const char *before);

#endif
