/* projects.c - caches the git state of projects, in a file that no agent can write. */
#include "workspace/loop_image.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#define SEEN_MAX 512 /* bytes of one */
#define SEEN_PATH (sizeof GIT_STATE "/" + WORKSPACE_NAME_MAX)

/* "INODE LOOKED_NS KNOWN WHY STAGED CHANGED UNTRACKED CONFLICTS UNPUSHED REMOTES BRANCH": of another directory of that
 * name it says nothing. */
void workspace_git(struct workspaces *w, const struct workspace_info *i, struct workspace_git *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct workspace_git g = {0};
	struct repo_state *s = &g.state;
	char path[SEEN_PATH];
	uint64_t inode;

	*ret = g;
	snprintf(path, sizeof path, GIT_STATE "/%s", i->name);
	if (i->kind != WORKSPACE_PROJECT ||
		file_read(w->fd, path, O_NOFOLLOW, SEEN_MAX, &text, NULL) < 0 ||
		sscanf(text.s,
			"%" SCNu64 " %" SCNd64 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64
			" %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %127s",
			&inode, &g.looked_ns, &s->known, &s->why, &s->staged, &s->changed,
			&s->untracked, &s->conflicts, &s->unpushed, &s->remotes, s->branch) < 10 ||
		inode != i->inode || s->why >= REPO_WHYS)
		return;
	*ret = g;
}

static int keep_git(struct workspaces *w, const struct workspace_info *i,
	const struct workspace_git *g, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" GIT_STATE "/%s", w->dir, i->name);
	const struct repo_state *s = &g->state;
	char text[SEEN_MAX];
	int n = snprintf(text, sizeof text,
		"%" PRIu64 " %" PRId64 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64
		" %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
		i->inode, g->looked_ns, s->known, s->why, s->staged, s->changed, s->untracked,
		s->conflicts, s->unpushed, s->remotes, s->branch);

	if ((mkdirat(w->fd, GIT_STATE, 0700) < 0 && errno != EEXIST) ||
		file_replace(path, text, (size_t)n, false) < 0)
		return err_sys(e, errno, "cannot save what git says of %s", i->name);
	return 0;
}

int workspace_git_look(
	struct workspaces *w, const char *name, struct workspace_git *ret, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, WORKSPACE_PROJECT, name, e);
	struct workspace_info i;
	struct stat st;

	*ret = (struct workspace_git){0};
	if (dir < 0)
		return -1;
	if (fstat(dir, &st) < 0 || !workspace_describe(w, WORKSPACE_PROJECT, name, &i) ||
		workspace_number(w, WORKSPACE_PROJECT, name, &st) != i.inode)
		return err_set(e, ERR_CONFLICT, "project %s was replaced in the meantime", name);
	if (repo_look(dir, &ret->state, e))
		return -1;
	/* An agent chose it. */
	workspace_mask_secrets("", ret->state.branch, strlen(ret->state.branch));
	ret->looked_ns = clock_wall_ms() * 1000000;
	return keep_git(w, &i, ret, e);
}

int workspace_git_renew(
	struct workspaces *w, int64_t older_ns, workspace_go_fn *go, void *ctx, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	struct workspace_git g;
	size_t n, done = 0;

	if (workspace_list(w, &all, &n, e) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct err why = ERR_INIT;

		if (all[i].kind != WORKSPACE_PROJECT)
			continue;
		workspace_git(w, &all[i], &g);
		if (g.looked_ns >= older_ns)
			continue;
		if (!go(ctx, &all[i], done++, n))
			return 0;
		if (workspace_git_look(w, all[i].name, &g, &why) && why.kind != ERR_NOT_FOUND)
			return err_copy(e, &why);
	}
	return 0;
}
