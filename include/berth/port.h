/*
 * port.h - ports of an agent that are open on this machine.
 *
 * A server inside a container that has no network is reached from the host's loopback through a process on the host, one
 * for each container that has ports open (backend/egress/port_end.c).  Its connections are made inside by the container's
 * init and handed over.  A port is open until it is closed or the container goes down; what ended otherwise is told as lost
 * until it is closed, opened again, or `up` does that.
 *
 * Thread: any; these block for the time of a process's start, at most seconds.
 */
#ifndef BERTH_PORT_H
#define BERTH_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "egress.h"
#include "err.h"

#define PORTS_MAX 16             /* of one container */
#define PORT_LINKS_MAX 256       /* connections at once, of one container */
#define PORTS_CONTAINERS_MAX 256 /* that are listed */
#define PORT_WHERE_MAX (EGRESS_ADDRESS_MAX + 9)

struct port_spec {
	uint16_t port, host_port; /* host_port 0: any that is free */
	struct egress_address at; /* of the host: where it listens */
};

/* "3000", "3000:8080", "3000:0"; at the host's 127.0.0.1. */
int port_parse(const char *text, struct port_spec *ret, struct err *e);
/* Another address of the host.  ERR_REFUSED: it is not its loopback, and `public` does not say that this is meant. */
int port_set_address(struct port_spec *s, const char *address, bool public, struct err *e);

struct port_row {
	char container[64], agent[64]; /* agent: "" when it is not known */
	uint16_t port, host_port;
	struct egress_address at;
	int64_t since_ms;                        /* Unix time */
	uint32_t open;                           /* connections now */
	bool lost;                               /* it was open, and what served it has gone */
	uint64_t connections, refused, up, down; /* bytes: from the agent's server, and to it */
};
/* "127.0.0.1:8080", "[::1]:8080" */
void port_write_where(const struct port_row *r, char out[PORT_WHERE_MAX]);

/* `who`: an agent or a container of berth's.  ERR_NOT_FOUND: it does not run.  ERR_CONFLICT: the port is open already, or
 * that of the host is taken.  ERR_REFUSED: it has too many. */
int port_open(const char *who, const struct port_spec *s, struct port_row *ret, struct err *e);
/* What is open through it is closed.  ERR_NOT_FOUND: the port is not open. */
int port_close(const char *who, uint16_t port, struct err *e);
/* One that was lost, as it was. */
int port_open_lost(const struct port_row *lost, struct err *e);
/* Those of the container (NULL: of all), by container and port. */
size_t port_list(const char *container, struct port_row *out, size_t most);

/* The program berth-egress, as `berth-egress ports`.  Returns when the agent's init has ended, or the last port was closed. */
int port_main(struct err *e);

#endif
