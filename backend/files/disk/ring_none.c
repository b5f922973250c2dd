/* ring_none.c - replaces ring.c if berth is built without liburing. */
#include "files/disk/ring.h"

struct ring *ring_new(unsigned depth)
{
	(void)depth;
	return NULL;
}

void ring_free(struct ring *ring)
{
	(void)ring;
}

unsigned ring_read(
	struct ring *ring, struct reading *r, struct task **tasks, size_t n, unsigned depth)
{
	(void)ring;
	(void)r;
	(void)tasks;
	(void)n;
	(void)depth;
	return 0;
}
