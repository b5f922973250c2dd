/*
 * apply_branch.c - `berth workspace apply --branch`: applies files as a commit on a new branch instead of to the
 * working tree.
 */
#include "cli/apply_branch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/files.h>
#include <berth/mem.h>

#include "cli/workspace.h"

static int fetch_from_head(void *ctx, const char *const *path, size_t n, struct err *e)
{
	struct apply_branch *b = ctx;

	return repo_read_head(b->repo, path, n, b->scratch, b->head, e);
}

int apply_branch_open(
	struct apply_branch *b, const char *name, int repo, struct apply_wish *wish, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	b->name = name;
	b->repo = repo;
	b->dir = xasprintf("%s/berth-branch-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (!mkdtemp(b->dir)) {
		free(STEAL(b->dir));
		return err_sys(e, errno, "cannot make a directory for the files of the branch");
	}
	b->scratch = open(b->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (b->scratch < 0)
		return err_sys(e, errno, "cannot open %.300s", b->dir);
	wish->into = b->scratch;
	wish->fetch = fetch_from_head;
	wish->ctx = b;
	return 0;
}

int apply_branch_make(
	struct apply_branch *b, const struct apply *p, const char *from, struct err *e)
{
	AUTO_FREE const char **path = NULL;
	size_t n = workspace_cli_passing(p, &path);
	AUTO_FREE char *message = xasprintf("Apply %zu file%s of %s\n", n, n == 1 ? "" : "s", from);
	const struct repo_branch branch = {.name = b->name,
		.message = message,
		.author = from,
		.head = b->head,
		.from = b->scratch,
		.path = path,
		.n = n};

	if (!n)
		return err_set(e, ERR_NOT_FOUND,
			"no branch was made: there is nothing to apply that HEAD does not have");
	return repo_make_branch(b->repo, &branch, b->commit, e);
}

void apply_branch_close(struct apply_branch *b)
{
	const char *name = b->dir ? strrchr(b->dir, '/') : NULL;
	AUTO_FREE char *above = name ? xasprintf("%.*s/", (int)(name - b->dir), b->dir) : NULL;
	struct files_tree_totals t;
	struct files *f = name ? files_open(&(struct files_options){.program = "workspace"}) : NULL;
	struct files_root *r = f ? files_root_open(f, above, NULL) : NULL;

	if (b->scratch >= 0)
		close(b->scratch);
	b->scratch = -1;
	if (r)
		files_delete(f, r, name + 1, true, &t, NULL);
	files_root_close(r);
	files_close(f);
	free(b->dir);
}
