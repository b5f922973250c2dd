/*
 * tarball.h - the format of an archive, for its writer and its reader.
 *
 *   zstd frames            a tar (pax): all that is no file, then the files in the order of the manifest, then
 *                          further names of inodes; no sockets, which a tar cannot hold
 *   a frame that is skipped: the manifest, then struct tarball_end
 */
#ifndef CHECKPOINT_TARBALL_H
#define CHECKPOINT_TARBALL_H

#include <pthread.h>

#include "checkpoint/manifest.h"
#include "checkpoint/pack.h"

#define TARBALL_SKIPPED 0x184D2A5Bu /* zstd skips a frame that begins so */
#define TARBALL_END "berthar1"
#define TARBALL_LONGEST (1ull << 40) /* bytes of a file */

struct tarball_skip {
	uint32_t magic, length;
};
struct tarball_end {
	uint64_t tar_bytes;
	char magic[8];
};

/* Bytes of a file, as far as somebody has written them. */
struct tarball_growth {
	pthread_mutex_t lock;
	pthread_cond_t more;
	uint64_t bytes;
	bool ended;
};

/* A regular file of a tar as it was read. */
struct tarball_file {
	const char *path; /* until the next one */
	uint8_t hash[HASH_BYTES];
	uint64_t size, stored;
	bool sparse;
};

/* The manifest behind the tar, into an empty one, and how long the tar is. */
int tarball_load(
	int file, const char *name, struct manifest *m, uint64_t *tar_bytes, struct err *e);
int tarball_refuse(struct err *e, const char *name, const char *why);

struct untar;
/* The tar in the first `bytes` of the file, or in what grows (then `bytes` is not looked at).  With `keyed` the hashes
 * of files without holes are its; else, and of those with holes, they are SHA-256. */
struct untar *untar_open(
	int file, uint64_t bytes, struct tarball_growth *growth, struct hasher *keyed);
void untar_close(struct untar *u);
/* The next regular file, its content into the open one (-1: only hashed).  1: there it is, 0: there is none;
 * -1 and errno (EBADMSG: no tar, or it is longer than `most`). */
int untar_next(struct untar *u, int into, uint64_t most, struct tarball_file *ret);
/* The file itself against x. */
bool untar_is(const struct tarball_file *f, const struct entry *x);

/* Whose content the tar has, in its order. */
static inline bool tarball_has(const struct manifest *m, uint32_t i)
{
	const struct entry *x = &m->entry[i];

	return S_ISREG(x->mode) && x->link == i && !(x->flags & ENTRY_MOUNT);
}

#endif
