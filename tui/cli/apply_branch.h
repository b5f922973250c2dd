/* apply_branch.h - applies files as a branch of the target's repository. */
#ifndef CLI_APPLY_BRANCH_H
#define CLI_APPLY_BRANCH_H

#include <berth/repo.h>
#include <berth/apply.h>

struct apply_branch {
	const char *name;
	int repo;    /* the directory whose .git it is; the caller's */
	char *dir;   /* what HEAD has of the files, then what is taken */
	int scratch; /* the same, open; -1: none */
	char head[REPO_ID_MAX], commit[REPO_ID_MAX];
};

/* Makes that directory the target of the wish.  Close it whatever comes back. */
int apply_branch_open(
	struct apply_branch *b, const char *name, int repo, struct apply_wish *wish, struct err *e);
/* Of a plan that was carried out: b->commit. */
int apply_branch_make(
	struct apply_branch *b, const struct apply *p, const char *from, struct err *e);
void apply_branch_close(struct apply_branch *b);

#endif
