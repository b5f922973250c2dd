/*
 * product.h - how the products differ whose API this is: all of it, in one table.
 *
 * Docker is what everything else is written for; a member says where a product wants it differently.
 *
 * Thread: constants.
 */
#ifndef ENGINE_PRODUCT_H
#define ENGINE_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/err.h>

struct engine_info;

struct product {
	const char *name;         /* "docker" */
	bool new_ids;             /* makes up an id for every answer: host and store tell it */
	const char *stats;        /* after /containers/ID: one reading */
	const char *top;          /* after /containers/ID: its processes */
	const char *top_fallback; /* where its ps does not know those options; NULL: it has none */
	const char *apparmor;     /* its own profile; "": named by its version */
	/* What its exec is to take for the wish to hang up, which it looks for in any input and ends it there;
	 * NULL: it does not. */
	const char *detach_keys;
	bool nproc; /* asks for an ulimit of processes that the machine may not have, unless one is given */
	bool seccomp_file; /* takes the path of a filter, not its text */
	bool tmpfs_plain; /* of a file system in memory knows size and mode, and fills it from the image */
	bool tmp_writable; /* a read-only root has a /var/tmp in memory unless one is given */
	bool serial;       /* answers what is asked about one container one after the other */
	bool remove_stops; /* removes by force what runs only after the grace of a stop */
	bool exec_zero;    /* of a command that is not yet started says that it ended with 0 */
	bool mount_words; /* mounts are words between commas, where no option is a choice of `false` */
	bool piece_stamps;  /* of a line in its log each piece has a time of its own */
	bool copies_mounts; /* from its version 3.1 on: see engine.h */
	bool one_owner;     /* of all files of a container in the tar that it sends of them */
	/* Bits of enum lack: of each of its engines, and of those without root in addition. */
	uint64_t lacks, lacks_rootless;
};

const struct product *product_named(const char *name); /* docker for one that is not known */
/* What this engine lacks (berth/product.h), by what it told of itself. */
uint64_t product_lacks(const struct engine_info *info);
bool product_copies_mounts(const struct engine_info *info);
/* A wall that it cannot give, and nobody else: ERR_REFUSED, with the reason. */
int product_refuses(const struct engine_info *info, struct err *e);

#endif
