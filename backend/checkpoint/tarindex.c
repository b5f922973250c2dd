/* tarindex.c - reads the manifest behind an archive's tar. */
#include "checkpoint/tarball.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "checkpoint/trees.h"

int tarball_refuse(struct err *e, const char *name, const char *why)
{
	return err_set(e, ERR_FAILED, "the archive %.80s is damaged: %.200s", name, why);
}

/* Where the manifest begins and how long it is; 0: there is none. */
static uint64_t find_manifest(int file, uint64_t *at)
{
	struct tarball_skip skip;
	struct tarball_end end;
	struct stat st;
	uint64_t size;

	if (fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	size = (uint64_t)st.st_size;
	if (size < sizeof skip + sizeof end ||
		pread(file, &end, sizeof end, (off_t)(size - sizeof end)) != sizeof end ||
		memcmp(end.magic, TARBALL_END, sizeof end.magic) != 0 ||
		end.tar_bytes > size - sizeof skip - sizeof end ||
		pread(file, &skip, sizeof skip, (off_t)end.tar_bytes) != sizeof skip ||
		skip.magic != TARBALL_SKIPPED || end.tar_bytes + sizeof skip + skip.length != size)
		return 0;
	*at = end.tar_bytes + sizeof skip;
	return skip.length - sizeof end;
}

int tarball_load(int file, const char *name, struct manifest *m, uint64_t *tar_bytes, struct err *e)
{
	AUTO_FREE char *bytes = NULL;
	struct err why = ERR_INIT;
	uint64_t at, length = find_manifest(file, &at);

	if (length == 0)
		return tarball_refuse(e, name, "it is truncated or not a berth archive");
	bytes = xmalloc(length);
	if (pread(file, bytes, length, (off_t)at) != (ssize_t)length)
		return tarball_refuse(e, name, "its manifest cannot be read");
	if (manifest_parse(m, bytes, length, name, &why) < 0)
		return tarball_refuse(e, name, "its manifest does not match its hash");
	*tar_bytes = at - sizeof(struct tarball_skip);
	return 0;
}

int checkpoint_archive_show(int file, const char *name, struct checkpoint_info *ret, struct err *e)
{
	uint64_t at, length = find_manifest(file, &at);
	struct header h;

	if (length < sizeof h || pread(file, &h, sizeof h, (off_t)at) != sizeof h ||
		!manifest_is_form(&h, length))
		return tarball_refuse(e, name, "it is truncated or not a berth archive");
	manifest_info(&h, ret);
	return 0;
}

struct checkpoint_tree *checkpoint_archive_open(int file, const char *name, struct err *e)
{
	struct checkpoint_tree *t = xcalloc(1, sizeof *t);
	uint64_t bytes;

	*t = (struct checkpoint_tree){.from = TREE_NAMES, .root = -1};
	t->place = (struct below_place)BELOW_NO_PLACE;
	manifest_init(&t->m);
	if (tarball_load(file, name, &t->m, &bytes, e) < 0) {
		checkpoint_tree_free(t);
		return NULL;
	}
	manifest_index(&t->m);
	return t;
}
