/*
 * remover.h - the least that a program must do to make or remove many containers at once: threads, each
 * with one unix socket on which it writes requests and reads replies.  No library but libc.
 */
#ifndef BENCH_PEER_REMOVER_H
#define BENCH_PEER_REMOVER_H

#include <stddef.h>

#include <berth/err.h>

struct removing {
	const char *socket; /* path */
	int width;          /* threads */
	size_t n;
	char (*id)[65];
	/* Bodies of POST /containers/create; NULL: remove the ids.  Ids are filled in. */
	const char *const *body;
	const char *const *name;
};

/* Every container must be made, or be removed: one refusal is an error. */
int remover_run(struct removing *r, struct err *e);

#endif
