/*
 * loop_image.h - workspaces with a file system of their own, each in an image on a loop device.
 *
 * All but what only looks is called under the lock of the tree, by root.
 */
#ifndef WORKSPACE_LOOP_IMAGE_H
#define WORKSPACE_LOOP_IMAGE_H

#include <sys/stat.h>

#include "workspace/workspace_tree.h"

/* The inode of its image; 0: it has none. */
uint64_t workspace_image(struct workspaces *w, enum workspace_kind kind, const char *name);
/* What stands for the workspace in what is kept of it: the inode of its image, or of `top`. */
uint64_t workspace_number(
	struct workspaces *w, enum workspace_kind kind, const char *name, const struct stat *top);
/* Can there be any in this tree? */
bool workspace_images(struct workspaces *w);
/* What dead processes left goes; what is not mounted is, or w->unmounted says why one is not. */
void workspace_recover_images(struct workspaces *w);
/* -1, ERR_CONFLICT: it has an image, and `dir`, what is at its place, is not that. */
int workspace_check_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, int dir, struct err *e);

/* The empty top of a new one, mounted as *top and at no place yet; or -1.  *number: as workspace_image. */
int workspace_begin_image(struct workspaces *w, enum workspace_kind kind, const char *name,
	const struct workspace_limits *l, int *top, uint64_t *number, struct err *e);
/* Mounts what was begun: the workspace is there. */
int workspace_place_image(struct workspaces *w, enum workspace_kind kind, const char *name, int top,
	int dir, struct err *e);
/* Takes away what was begun, if it was. */
void workspace_spoil_image(struct workspaces *w, enum workspace_kind kind, const char *name);

/* Nobody finds it any more; who is in it already still is.  A descriptor that puts it back with
 * workspace_attach_image. */
int workspace_detach_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);
int workspace_attach_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, int top, struct err *e);
/* A detached one is removed for good. */
int workspace_drop_image(
	struct workspaces *w, enum workspace_kind kind, const char *name, struct err *e);

/* What the file system `dir` has and holds; false: it is no image's. */
bool workspace_image_quota(int dir, struct workspace_quota *ret);
/* Makes room for these limits, where it has an image that is too small; none is made smaller. */
int workspace_grow_image(struct workspaces *w, enum workspace_kind kind, const char *name, int dir,
	const struct workspace_limits *l, struct err *e);

#endif
