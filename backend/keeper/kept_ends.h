/*
 * kept_ends.h - the ends of agents' egress: which there are, and starting one again that has died.
 *
 * An end that dies while its agent's init lives is started again, by a child for each, for finding it, its secrets and its
 * start may all take their time; one that keeps dying or cannot be started is tried less and less often, and then left to
 * the next `up`.
 *
 * Thread: one, and no other in the process.
 */
#ifndef KEEPER_KEPT_ENDS_H
#define KEEPER_KEPT_ENDS_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/record.h>

struct kept_end;
struct kept_ends {
	struct recorder *by;
	struct kept_end *end;
	size_t n;
	int fd;    /* readable: something happened */
	int files; /* readable: agents came or went */
};

int kept_ends_open(struct kept_ends *k, struct recorder *by, struct err *e);
void kept_ends_close(struct kept_ends *k);
/* Looks at all that has happened. */
void kept_ends_go_on(struct kept_ends *k);
/* How long it may be left alone; -1: until `fd` is readable. */
int kept_ends_wait_ms(const struct kept_ends *k);
/* Is there anything to keep? */
bool kept_ends_any(const struct kept_ends *k);

#endif
