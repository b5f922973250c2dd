/* reads.c - remembers files read or written in this session, for read_before_delete. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>

#include "mcp/server.h"

#define READS_MOST 200000
#define READS_BYTES ((size_t)32 << 20)

struct read_files {
	pthread_mutex_t lock;
	void *tree; /* of paths */
	size_t n, bytes;
};

static int compare_reads(const void *a, const void *b)
{
	return strcmp(a, b);
}

struct read_files *reads_new(void)
{
	struct read_files *r = xcalloc(1, sizeof *r);

	pthread_mutex_init(&r->lock, NULL);
	return r;
}

void reads_free(struct read_files *r)
{
	tdestroy(r->tree, free);
	pthread_mutex_destroy(&r->lock);
	free(r);
}

void reads_note(struct read_files *r, const char *path)
{
	size_t bytes = strlen(path) + 1;
	char *own, **at;

	pthread_mutex_lock(&r->lock);
	if (r->n < READS_MOST && r->bytes + bytes <= READS_BYTES &&
		!tfind(path, &r->tree, compare_reads)) {
		own = xstrdup(path);
		at = tsearch(own, &r->tree, compare_reads);
		r->n += at != NULL;
		r->bytes += at ? bytes : 0;
		if (!at)
			free(own);
	}
	pthread_mutex_unlock(&r->lock);
}

bool reads_has(struct read_files *r, const char *path)
{
	bool has;

	pthread_mutex_lock(&r->lock);
	has = tfind(path, &r->tree, compare_reads) != NULL;
	pthread_mutex_unlock(&r->lock);
	return has;
}
