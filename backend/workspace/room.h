/* room.h - an open tree of workspaces. */
#ifndef WORKSPACE_ROOM_H
#define WORKSPACE_ROOM_H

#include <stdbool.h>

#include <berth/workspace.h>

struct workspaces {
	int fd, kind[WORKSPACE_KINDS]; /* the folders */
	char *dir;
};

/* What lies under this name; false: no workspace. */
bool workspace_describe(struct workspaces *w, int kind, const char *name, struct workspace_info *i);

#endif
