/*
 * checked.h - the mounts of a container's present start are the ones that were checked.
 *
 * The engine resolves the sources of mounts again at each start, and not every start is berth's: docker
 * restart, docker start, a restart policy, an engine that comes back.  What was found at `up` therefore
 * holds for one start: the init's pid, when it began, and the boot.  It is kept in <state>/checked/ID by
 * the container's full id, with the device and inode of every source.  Another start is compared again
 * from this side, by the init's own view of its files, or nothing runs in it.  That view is root's to
 * see: to others a start that is not berth's is unknown, which is refused as well.
 *
 * Over the lane there is nothing to ask: its socket was handed to one init, after the comparison, and is
 * gone with it.
 *
 * Thread: any; files are written whole and renamed.
 */
#ifndef CONTAINER_CHECKED_H
#define CONTAINER_CHECKED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <berth/err.h>
#include <berth/snapshot.h>

#include "team/mounts.h"

struct start {
	pid_t pid;
	uint64_t since; /* clock ticks after boot */
	char boot[40];
};

/* The start whose init is `pid` on this machine; -1: there is none. */
int start_read(pid_t pid, struct start *ret);
/* Is that init still there? */
bool start_lives(const struct start *s);

/* The mounts of this start were compared.  `name` and `file` (the team file) are for the sentences; rate: bytes
 * per second that its network is limited to, 0: not.  ERR_REFUSED: from here it looks different. */
struct checked_of {
	const char *id, *name, *file;
	uint64_t rate;
	bool secrets;  /* some were handed over: they are in this start's memory, and go with it */
	bool finished; /* something was set after the start (memory_fs.h): it goes with it, too */
	bool alone; /* its init has told nothing: what cannot be seen from here is refused, too */
};
int checked_save(
	const struct checked_of *of, pid_t pid, const struct mount_list *mounts, struct err *e);
void checked_forget(const char *id);
/* A record is kept of it, so berth here made it. */
bool checked_known(const char *id);

/* Container `id`, its init `pid` as the engine tells: as checked, or compared now and kept.  MOUNTS_CHANGED and
 * MOUNTS_UNKNOWN come with the sentence that refuses, which names the remedy; MOUNTS_STRANGER: no record. */
enum mounts_state checked_look(const char *id, pid_t pid, struct start *ret, struct err *e);
/* Whose present start is on record with the directory `path`, something in it, or what it is in, mounted to be
 * written; `path` NULL: all.  -1: `tell` said that it has enough. */
typedef bool checked_holder_fn(void *ctx, const char *id, const char *name, pid_t init);
int checked_holders(const char *path, checked_holder_fn *tell, void *ctx);
/* After the look.  ERR_REFUSED, with the remedy: a start that is not berth's has lost the secrets. */
int checked_secrets(const char *id, struct err *e);

#endif
