/* take_branch.h - applies files as a branch of the target's repository. */
#ifndef CLI_TAKE_BRANCH_H
#define CLI_TAKE_BRANCH_H

#include <berth/repo.h>
#include <berth/take.h>

struct take_branch {
	const char *name;
	int repo;    /* the directory whose .git it is; the caller's */
	char *dir;   /* what HEAD has of the files, then what is taken */
	int scratch; /* the same, open; -1: none */
	char head[REPO_ID_MAX], commit[REPO_ID_MAX];
};

/* Makes that directory the target of the wish.  Close it whatever comes back. */
int take_branch_open(
	struct take_branch *b, const char *name, int repo, struct take_wish *wish, struct err *e);
/* Of a plan that was carried out: b->commit. */
int take_branch_make(struct take_branch *b, const struct take *p, const char *from, struct err *e);
void take_branch_close(struct take_branch *b);

#endif
