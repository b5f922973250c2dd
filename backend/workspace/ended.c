/* ended.c - records how a task ended, in a file that no task can write. */
#include "workspace/loop_image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define ENDED ".ended"
#define ENDED_MAX 100 /* bytes of one */

static const char *const states[] = {
	[WORKSPACE_OPEN] = "open", [WORKSPACE_DONE] = "done", [WORKSPACE_FAILED] = "failed"};

const char *workspace_state_name(enum workspace_state s)
{
	return states[s];
}

/* "done INODE MS": of another directory of that name, or unreadable, it says nothing, and the task is open. */
void workspace_recall_end(struct workspaces *w, struct workspace_info *i)
{
	char path[sizeof ENDED "/" + WORKSPACE_NAME_MAX], word[8];
	AUTO_STR struct str text = STR_INIT;
	uint64_t inode;
	int64_t ms;

	snprintf(path, sizeof path, ENDED "/%s", i->name);
	if (i->kind != WORKSPACE_TASK ||
		file_read(w->fd, path, O_NOFOLLOW, ENDED_MAX, &text, NULL) < 0 ||
		sscanf(text.s, "%7s %" SCNu64 " %" SCNd64, word, &inode, &ms) != 3 ||
		inode != i->inode)
		return;
	for (int s = WORKSPACE_DONE; s <= WORKSPACE_FAILED; s++)
		if (!strcmp(word, states[s])) {
			i->state = (enum workspace_state)s;
			i->ended_ms = ms;
		}
}

/* Most have not ended, so those are looked for of which something is kept. */
void workspace_recall_ends(struct workspaces *w, struct workspace_info *all, size_t n,
	int (*order)(const void *, const void *))
{
	int fd = openat(w->fd, ENDED, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct workspace_info key = {.kind = WORKSPACE_TASK}, *found;
	struct dirent *at;

	while (d && (at = readdir(d))) {
		if (!text_is_plain_name(at->d_name, WORKSPACE_NAME_MAX))
			continue;
		snprintf(key.name, sizeof key.name, "%.*s", WORKSPACE_NAME_MAX, at->d_name);
		found = bsearch(&key, all, n, sizeof *all, order);
		if (found)
			workspace_recall_end(w, found);
	}
	if (d)
		closedir(d);
}

/* Its hashes are those of the end before. */
static void forget_hashes(struct workspaces *w, const char *name)
{
	char path[sizeof SEALED "/" + WORKSPACE_NAME_MAX];

	snprintf(path, sizeof path, SEALED "/%s", name);
	unlinkat(w->fd, path, 0);
}

int workspace_forget_end(struct workspaces *w, const char *name, struct err *e)
{
	char path[sizeof ENDED "/" + WORKSPACE_NAME_MAX];

	forget_hashes(w, name);
	snprintf(path, sizeof path, ENDED "/%s", name);
	return unlinkat(w->fd, path, 0) < 0 && errno != ENOENT
		? err_sys(e, errno, "cannot clear how task %s ended", name)
		: 0;
}

static int keep_end(struct workspaces *w, const struct workspace_info *i,
	enum workspace_state state, int64_t now_ms, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" ENDED "/%s", w->dir, i->name);
	char text[ENDED_MAX];
	int n = snprintf(
		text, sizeof text, "%s %" PRIu64 " %" PRId64 "\n", states[state], i->inode, now_ms);

	forget_hashes(w, i->name);
	if ((mkdirat(w->fd, ENDED, 0700) < 0 && errno != EEXIST) ||
		file_replace(path, text, (size_t)n, true) < 0)
		return err_sys(e, errno, "cannot save how task %s ended", i->name);
	return 0;
}

int workspace_end(struct workspaces *w, const char *name, enum workspace_state state,
	int64_t now_ms, struct err *e)
{
	AUTO_CLOSE int dir = workspace_enter(w, WORKSPACE_TASK, name, e);
	struct workspace_info i = {.kind = WORKSPACE_TASK};
	struct stat st;
	int rc;

	if (dir < 0 || workspaces_lock(w, e) < 0)
		return -1;
	if (fstat(dir, &st) < 0) {
		rc = err_sys(e, errno, "cannot look at task %s", name);
	} else {
		i.inode = workspace_number(w, WORKSPACE_TASK, name, &st);
		snprintf(i.name, sizeof i.name, "%s", name);
		rc = state == WORKSPACE_OPEN ? workspace_forget_end(w, name, e)
					     : keep_end(w, &i, state, now_ms, e);
	}
	flock(w->fd, LOCK_UN);
	return rc;
}
