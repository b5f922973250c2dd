/*
 * ports.h - inside of berth/port.h: port_open.c (asks), port_end.c (the process), port_link.c (a connection).
 */
#ifndef EGRESS_PORTS_H
#define EGRESS_PORTS_H

#include <uv.h>

#include <berth/port.h>

#include "egress/egress.h"
#include "lane/lane.h"

/* What the process finds open; a port's two descriptors come with the question. */
enum { PORTS_FD_CONTROL = 3, PORTS_FD_GUEST, PORTS_FDS };
enum { PORTS_LISTENER, PORTS_LANE, PORTS_FDS_TOLD };

enum port_question_kind { PORTS_ASK = 1, PORTS_OPEN, PORTS_CLOSE };

struct port_question {
	uint32_t what; /* enum port_question_kind */
	uint16_t port;
};

struct port_said {
	int32_t error; /* errno, 0: done */
	uint32_t n;    /* PORTS_ASK: so many figures are behind it */
};

struct port_figures { /* plain bytes, sent as they are */
	uint16_t port;
	uint32_t open;
	uint64_t connections, refused, up, down;
};

/* --- the process --- */

#define PORT_CHUNK 65536

struct port_link;

struct ports_end {
	uv_loop_t loop;
	uv_poll_t control, guest;
	uid_t owner;
	struct port *port[PORTS_MAX];
	size_t nports, nlinks, links_max;
	int closer; /* a pipe: what is written to it is closed by another thread */
	int waits;  /* who closed it; it hears of our end by ours */
	uint8_t chunk[PORT_CHUNK];
};

struct port {
	struct ports_end *end;
	uv_poll_t listener_poll, lane_poll;
	int listener, lane;
	int handles; /* that libuv has not given back */
	uint32_t next;
	struct port_link *links;
	struct port_figures figures;
};

/* The descriptors are the port's from then on. */
void port_begin(struct ports_end *end, uint16_t port, int listener, int lane);
void port_end(struct port *p);

/* A client has come; the descriptor is the link's. */
void port_link_begin(struct port *p, int client);
/* The container's init has answered to one of them. */
void port_link_dialled(struct port *p, uint32_t number, int fd);
void port_links_end(struct port *p);
/* A socket that the container may hold as well is closed, by who can wait. */
void port_drop_inside(struct ports_end *end, int fd);

#endif
