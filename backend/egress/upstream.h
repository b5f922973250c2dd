/* upstream.h - the request to an upstream proxy and its answer. */
#ifndef EGRESS_UPSTREAM_H
#define EGRESS_UPSTREAM_H

#include <stdbool.h>
#include <stdint.h>

#include <berth/str.h>

/* CONNECT to the host, a name or an address; `login`, NULL: none, is USER:PASSWORD. */
void upstream_write(struct str *out, const char *host, uint16_t port, const struct str *login);
/* More of what it says; `reply` is added to.  0: not all has come.  1: *status is the answer's, 0: it is none.  -1: it has
 * gone, or says too much. */
int upstream_hear(int server, struct str *reply, int *status);

#endif
