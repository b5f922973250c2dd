/*
 * leak_blocks.h - workspace_find_secrets for a content that is not in memory as a whole.
 *
 * Thread: any; one search at a time.
 */
#ifndef BERTH_LEAK_BLOCKS_H
#define BERTH_LEAK_BLOCKS_H

#include "str.h"
#include "workspace.h"

#define LEAKS_TOLD 1000 /* of one file; further ones are not told */

struct leak_search {
	const char *path;
	workspace_secret_fn *tell;
	void *ctx;
	struct str window;
	unsigned line; /* lines before the window */
	unsigned last; /* that was told */
	size_t told;
	bool begun;
};

/* `path` and `ctx` stay the caller's. */
void leak_search_init(
	struct leak_search *s, const char *path, workspace_secret_fn *tell, void *ctx);
void leak_search_release(struct leak_search *s);
/* Blocks of at most 1 MiB.  false: so much was told that no more will be. */
bool leak_search_add(struct leak_search *s, const char *bytes, size_t n);
void leak_search_end(struct leak_search *s); /* what was held back is looked at, too */

#endif
