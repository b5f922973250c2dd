/*
 * search.h - one file searched, line by line as far as others can tell; what search and transform
 * share.
 */
#ifndef BERTH_FILES_SEARCH_H
#define BERTH_FILES_SEARCH_H

#include "files/matcher.h"
#include "files/walk.h"

/* The hits of one file while they are found.  Text lies in `text`, by offset. */
struct found {
	struct files_hit *hits;
	size_t n, cap;
	struct str text;
	uint64_t matches; /* hits that are not context */
};

struct searcher {
	struct matcher_local local;
	char *buf;
	size_t cap;
	struct found found;
	struct files_search_totals totals;
};

void searcher_init(struct searcher *s, const struct matcher *m);
void searcher_release(struct searcher *s);

enum searched { SEARCHED, SEARCH_BINARY, SEARCH_LARGE, SEARCH_FAILED };
/* fd is open on a regular file.  Fills s->found (cleared first). */
enum searched search_fd(struct searcher *s, int fd, const struct stat *st,
	const struct files_search_options *o, const struct op *op);

/* Open `name` in dirfd when it is still a regular file; -1 otherwise. */
int search_open(int dirfd, const char *name, struct stat *st);

#endif
