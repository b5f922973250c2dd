/*
 * inside.h - copies files between a container and this machine, through the engine.
 *
 * The rules of `docker cp`: a destination that does not exist gets the source's content, one that is a directory gets
 * the source in it, and a source that ends with "/." is its content.  It works on containers that do not run.
 *
 * The engine sees the file system of the image and the volumes, not what is mounted when the container starts: a tmpfs,
 * /dev, /proc, /sys (podman does, while the container runs).  Paths in these are refused, also when links of the container
 * lead there; a tmpfs below what is copied is counted.
 *
 * Everything that comes out of a container is hostile: nothing is written outside of the destination, set-user-ID and
 * set-group-ID bits are removed, and pipes and devices are left out and counted (sockets the engine leaves out itself, uncounted; extended
 * attributes are not copied).  A link that comes out may lead anywhere: none is followed during the copy, and those that
 * lead out of what was copied are counted.  What is there already is replaced file by file; each file has its old content
 * or all of the new.  A destination that is a link to a directory is followed, as docker does; any other link is replaced.
 *
 * A tar is kept in an unnamed temporary file on its way: as much space as is copied, in $TMPDIR or /var/tmp.  Large copies
 * stop when less than 256 MiB would be left there or at the destination.
 *
 * Existing directories keep their owner and mode.  Of what is copied into a container, files lose set-user-ID and
 * set-group-ID bits, directories only the former.  An engine refuses a relative link that leads out of the volume to which it
 * is copied.  It unpacks by names: a process in the container that meanwhile puts a link in the place of a directory can
 * have it unpacked elsewhere in the container.  That is detected (ERR_CONFLICT) only if the link is still there afterwards.
 *
 * A tar that the engine cut off where the last 1024 bytes are zeros is taken for a complete one: right after a file, and on
 * its way to standard output also within a file.
 *
 * Thread: any; it blocks.
 */
#ifndef BERTH_INSIDE_H
#define BERTH_INSIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "policy.h"
#include "snapshot.h"

#define INSIDE_ENTRIES_MAX 2000000 /* files and directories of one copy */
#define INSIDE_DEPTH_MAX 512       /* directories in each other */
#define INSIDE_NAME_MAX 256

struct inside_copy {
	const char *host, *context; /* of the engine; NULL: as the settings say */
	const struct policy *policy;
	const struct container *container; /* from a snapshot */
	/* The path in the container, where a relative one begins at /; the path here, or "-": a tar, from standard input
	 * or to standard output. */
	const char *inside, *outside;
	bool into;   /* the container; else out of it */
	bool follow; /* the source, if it is a link */
	/* Owners stay, by number; not out of a container of podman, which does not send them (ERR_USAGE).  Else they become
	 * the caller, or in a container its user. */
	bool keep_owner;
	bool (*stop)(void *ctx); /* asked often; true ends it with ERR_CANCELLED; may be NULL */
	void *ctx;
};

/* Texts are neutralised and may be clipped. */
struct inside_copied {
	uint64_t files, dirs, links; /* of "-" nothing is counted but bytes */
	uint64_t bytes;              /* of these files; of "-" those of the tar */
	uint64_t left_out;           /* pipes, sockets, devices */
	uint64_t cleared; /* files and directories that lost a set-user-ID or set-group-ID bit */
	uint64_t outward; /* of a copy out: links that lead out of what was copied */
	uint64_t unseen;  /* tmpfs that files were not copied out of, or that hide them */
	bool partial;     /* of a failure: something may have been copied before */
	char first_left_out[INSIDE_NAME_MAX], first_outward[INSIDE_NAME_MAX],
		first_unseen[INSIDE_NAME_MAX];
	char to[INSIDE_NAME_MAX]; /* the path that has it now; "" before that is known */
};

/* ERR_USAGE and ERR_REFUSED: nothing was done.  Any other error: see ret->partial. */
int inside_copy(const struct inside_copy *c, struct inside_copied *ret, struct err *e);

#endif
