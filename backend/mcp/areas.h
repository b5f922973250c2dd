/*
 * areas.h - the areas an agent can access: its workspace, granted paths, and what of that is writable.
 *
 * The same as its container mounts, at the same paths, so a path means one thing inside and outside.  The deepest area
 * that holds a path decides.  That nothing leads out of an area is the kernel's to see to (files.h); where an
 * area that may be changed holds one that may not, changes there follow no symlink at all, so that no other
 * name leads into it.  Outside of the workspace names like .git and node_modules cannot be changed either, but by a
 * grant of their own.  (Of berth's tools: a command in the container is held by its mounts.)
 *
 * Thread: reach_open and reach_close one; the rest any.
 */
#ifndef MCP_AREAS_H
#define MCP_AREAS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <berth/files.h>
#include <berth/policy.h>
#include <berth/team.h>

#define REACH_PATH 4096

struct reach_area {
	const char *path; /* absolute, normalised */
	size_t len;
	const char *source;      /* what of the host lies there; NULL: path */
	const char *leaf;        /* of a single file: its name, and the roots are its directory's */
	bool write, holds_fixed; /* holds_fixed: below it lies one that may not be changed */
	bool own;                /* the workspace, or within it */
	int fd;                  /* of that directory */
	struct files_root *root; /* NULL for a file */
	struct files_root *strict; /* the same, through which no symlink is followed */
};

struct reach {
	size_t n;
	struct reach_area *areas;
	const char *home; /* relative paths count from here */
	uid_t uid;        /* who works in the container */
	gid_t gid;
};

/* Where the call's work takes place. */
struct place_in {
	const struct reach_area *area;
	struct files_root *root;
	char rel[REACH_PATH];  /* below the root; "." for itself */
	char path[REACH_PATH]; /* absolute, normalised */
};

enum reach_use {
	REACH_READ,
	REACH_WRITE, /* the file itself */
	REACH_TREE,  /* what is there with all below it changes or goes */
};

/* ERR_CONFIG: an area is not there, or policy refuses it. */
int reach_open(struct reach *r, const struct agent_def *a, const struct policy *policy,
	struct files *f, struct err *e);
void reach_close(struct reach *r);

/* ERR_REFUSED with the areas there are, ERR_USAGE for what is not a path. */
int reach_find(const struct reach *r, const char *path, enum reach_use use, struct place_in *ret,
	struct err *e);

/* The names that cannot be changed outside of the workspace; ends with NULL. */
extern const char *const reach_kept[];
/* That of these which stands in a path below the area; NULL: none, or the area is in the workspace. */
const char *reach_keeps(const struct reach_area *a, const char *below);

#endif
