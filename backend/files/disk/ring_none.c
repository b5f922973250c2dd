/* ring_none.c - in place of ring.c where berth is built without liburing: there is never a ring. */
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
