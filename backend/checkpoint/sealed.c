/* sealed.c - stores and verifies the hashes of a tree that must not change. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/mem.h>

#include "checkpoint/capture.h"
#include "checkpoint/manifest.h"
#include "files/files.h"

/* Every content is hashed. */
static int read_sealed_tree(int root, struct manifest *m, struct err *e)
{
	struct capture how = {.root = root, .pool = pool_new(), .whole = true};
	int rc = capture_tree(&how, m, e);

	pool_free(how.pool);
	return rc;
}

int checkpoint_seal(int root, int file, struct err *e)
{
	struct manifest m;
	int rc;

	manifest_init(&m);
	rc = read_sealed_tree(root, &m, e);
	if (rc == 0)
		rc = manifest_write(&m, file, e);
	if (rc == 0 && fsync(file) < 0)
		rc = err_sys(e, errno, "cannot save the hashes of a tree");
	manifest_release(&m);
	return rc;
}

static int refuse_broken(
	struct err *e, const char *name, const struct manifest *m, uint32_t i, const char *what)
{
	AUTO_STR struct str path = STR_INIT;

	manifest_path(m, i, &path);
	return err_set(e, ERR_FAILED, "%.80s is damaged: %.300s %s", name, path.s, what);
}

static int compare_sealed(
	const struct manifest *was, const struct manifest *is, const char *name, struct err *e)
{
	AUTO_FREE uint32_t *match = xcalloc(is->n, sizeof *match);
	AUTO_FREE bool *seen = xcalloc(was->n, sizeof *seen);

	for (uint32_t i = 0; i < is->n; i++) {
		uint32_t k = i == 0
			? 0
			: manifest_find(was, match[is->entry[i].parent], manifest_name(is, i));

		match[i] = k;
		if (k == NOWHERE)
			return refuse_broken(e, name, is, i, "was added");
		if (!manifest_same_content(was, k, is, i) || !manifest_same_dress(was, k, is, i))
			return refuse_broken(e, name, is, i, "is not what it was");
		seen[k] = true;
	}
	for (uint32_t k = 0; k < was->n; k++)
		if (!seen[k])
			return refuse_broken(e, name, was, k, "is missing");
	return 0;
}

int checkpoint_check_seal(int root, int file, const char *name, struct err *e)
{
	struct manifest was, is;
	int rc;

	manifest_init(&was);
	manifest_init(&is);
	rc = manifest_read(&was, file, name, e);
	if (rc == 0)
		rc = read_sealed_tree(root, &is, e);
	if (rc == 0) {
		manifest_index(&was);
		rc = compare_sealed(&was, &is, name, e);
	}
	manifest_release(&is);
	manifest_release(&was);
	return rc;
}
