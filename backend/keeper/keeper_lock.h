/* keeper_lock.h - shared by the files of this module. */
#ifndef KEEPER_KEEPER_LOCK_H
#define KEEPER_KEEPER_LOCK_H

#include <berth/keeper.h>

/* A descriptor; closing it makes room for another one.  -1: ERR_CONFLICT, one is there. */
int keeper_take_place(struct err *e);

/* Bytes of files on the file system of `root` that have no name any more and that processes of the containers have
 * open, as far as this user may see that. */
uint64_t keeper_unlinked(const struct freeze *f, int root);

#endif
