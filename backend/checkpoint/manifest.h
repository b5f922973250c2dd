/*
 * manifest.h - all that a checkpoint knows of a tree but the contents: entries, names, attributes.
 *
 * In memory as on disk: a header, fixed entries of which every one stands behind its parent, a string
 * of names and attributes that they point into, and the SHA-256 of all before it.  Read by the machine
 * that wrote it only; the byte order is in the header.  A reader takes nothing that is not checked:
 * every index and offset holds afterwards.
 */
#ifndef CHECKPOINT_MANIFEST_H
#define CHECKPOINT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include <berth/checkpoint.h>
#include <berth/str.h>

#define HASH_BYTES 32
#define ENTRIES_MAX (16u << 20)
#define NOWHERE UINT32_MAX /* no entry */

enum entry_flags {
	ENTRY_SPARSE = 1, /* the object is a table of extents, then their bytes */
	ENTRY_MAPPED = 2, /* somebody could write it without a trace in its times */
	ENTRY_MOUNT = 4,  /* a mount point: what is below is not ours */
	ENTRY_UNREAD = 8 /* with ENTRY_MOUNT: it was closed to us, and nobody knows what is in it */
};

struct entry {
	uint8_t hash[HASH_BYTES]; /* of the object; a regular file's only */
	uint64_t ino;
	uint64_t size;                        /* bytes; of a device its number */
	uint64_t offset, stored;              /* the object: where in the pack, how many bytes */
	int64_t mtime_ns, ctime_ns, atime_ns; /* the low 64 bits: by themselves 1677 to 2262 */
	uint32_t pack;                        /* serial of the checkpoint that stored the object */
	uint32_t parent;
	uint32_t name;   /* offset in text; the root's is "" */
	uint32_t link;   /* the first entry of the same inode; itself for most */
	uint32_t target; /* of a symbolic link: offset in text */
	uint32_t attrs;  /* offset in text of a struct attrs; 0: none */
	uint32_t mode, uid, gid, flags;
	uint32_t names;               /* links of the inode, those outside of the tree too */
	int16_t mtime_far, atime_far; /* the bits above these; 0 of most */
};

/* Extended attributes in text: this length, then NAME NUL LENGTH VALUE each, sorted by name. */
typedef uint32_t attrs_length;

struct header {
	char magic[8];
	uint32_t order, entry_bytes;
	uint64_t serial, root_ino, root_dev;
	int64_t begun_ns;
	uint64_t entries, text_bytes;
	uint64_t files, dirs, others, bytes, stored;
	uint32_t moving, gone, mounts, unread;
	uint8_t boot[16]; /* of which boot: what was not synced may be lost after it */
	char name[CHECKPOINT_NAME_MAX + 8];
};

struct manifest {
	struct header head;
	struct entry *entry; /* 0: the root */
	size_t n, cap;
	struct str text; /* begins with a NUL */
	uint32_t *index; /* entries by parent and name; made by manifest_index */
	size_t index_mask;
};

void manifest_init(struct manifest *m);
void manifest_release(struct manifest *m);

/* Room for one more; the caller fills it in.  NULL: too many. */
struct entry *manifest_add(struct manifest *m);
/* `n` bytes and a NUL into text; 0 with *e where there is no room. */
uint32_t manifest_text(struct manifest *m, const void *bytes, size_t n, struct err *e);

static inline const char *manifest_name(const struct manifest *m, uint32_t i)
{
	return m->text.s + m->entry[i].name;
}
/* Without the entries of which out[i], and all that is below them; its index is to be made after this. */
void manifest_leave_out(struct manifest *m, const bool *out);
/* What is behind the length of entry i's attributes; NULL and 0: none. */
const char *manifest_attrs(const struct manifest *m, uint32_t i, size_t *n);
/* The path of entry i from the root on, appended; "." for the root. */
void manifest_path(const struct manifest *m, uint32_t i, struct str *out);
void manifest_index(struct manifest *m);
/* The entry called `name` in the directory `parent`, or NOWHERE.  Indexed only. */
uint32_t manifest_find(const struct manifest *m, uint32_t parent, const char *name);
/* Entries of the same type: whether their content, target or number is the same; whether mode, owner and
 * attributes are. */
bool manifest_same_content(
	const struct manifest *a, uint32_t i, const struct manifest *b, uint32_t k);
bool manifest_same_dress(
	const struct manifest *a, uint32_t i, const struct manifest *b, uint32_t k);

int manifest_write(const struct manifest *m, int fd, struct err *e);
/* `name` for sentences.  An empty manifest is filled; on failure it is empty again. */
int manifest_parse(
	struct manifest *m, const char *bytes, size_t n, const char *name, struct err *e);
int manifest_read(struct manifest *m, int fd, const char *name, struct err *e);
/* Whether `bytes` that begin with h may be a manifest; what it says of itself, unchecked. */
bool manifest_is_form(const struct header *h, uint64_t bytes);
void manifest_info(const struct header *h, struct checkpoint_info *ret);
/* Only the header, unchecked but for its form. */
int manifest_head(struct header *h, int fd);

/* SHA-256, as often as wanted.  One thread at a time. */
struct hasher;
struct hasher *hasher_new(void);
void hasher_free(struct hasher *h);
void hasher_begin(struct hasher *h);
void hasher_add(struct hasher *h, const void *bytes, size_t n);
void hasher_end(struct hasher *h, uint8_t hash[HASH_BYTES]);

/* The same with a MAC under a key of this process, to compare what it wrote with what it reads back: several times as
 * fast, and nobody can choose bytes that it takes for others. */
#define READBACK_KEY_BYTES 16
struct hasher *hasher_new_keyed(const uint8_t key[READBACK_KEY_BYTES]);

#endif
