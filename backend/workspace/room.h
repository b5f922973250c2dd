/* room.h - an open tree of workspaces. */
#ifndef WORKSPACE_ROOM_H
#define WORKSPACE_ROOM_H

#include <stdbool.h>

#include <berth/workspace.h>

struct workspaces {
	int fd, kind[WORKSPACE_KINDS]; /* the folders */
	char *dir;
};

/* Waits for other processes; flock(w->fd, LOCK_UN) ends it. */
int workspaces_lock(struct workspaces *w, struct err *e);
/* Fills in how a task ended, where that is known. */
void workspace_recall_end(struct workspaces *w, struct workspace_info *i);
int workspace_forget_end(struct workspaces *w, const char *name, struct err *e);
/* What lies under this name; false: no workspace. */
bool workspace_describe(struct workspaces *w, int kind, const char *name, struct workspace_info *i);

#endif
