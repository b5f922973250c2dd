/* network.h - shared by the files of the Network view: network.c (the view), network_rows.c (its rows and columns). */
#ifndef VIEWS_NETWORK_NETWORK_H
#define VIEWS_NETWORK_NETWORK_H

#include <berth/egress.h>
#include <berth/message.h>
#include <berth/snapshot.h>

#include "app/app.h"
#include "widgets/widgets.h"

#define NETWORK_ID_MAX (64 + EGRESS_HOST_MAX + 16)
#define NETWORK_YOUNG_NS (500 * INT64_C(1000000)) /* in which a row takes no key */

struct agent;
struct agent_ask;

/* A target that somebody asks for, or an agent with what it reaches.  All of it is a copy: what a key acts on is what
 * was drawn. */
struct network_row {
	char id[NETWORK_ID_MAX]; /* "c/CONTAINER" or "t/CONTAINER/HOST:PORT" */
	char agent[64], container[64];
	bool target;
	bool gone; /* it was answered or is asked no longer; stays until the cursor moves */
	const char *answer; /* by this console: "once", "session", "deny"; NULL: none */
	int64_t born_ns;    /* drawn first; 0: not yet */
	int64_t wall_ms;    /* now */
	struct egress_target to;
	int64_t first_wall_ms, last_wall_ms;
	uint32_t count, held;
	char process[64], reason[EGRESS_REASON_MAX * 3]; /* neutralised */
	struct agent_egress egress;
};

extern const struct table_column network_columns[];
extern const size_t network_ncolumns;

void network_row_of_ask(struct network_row *r, const struct agent_ask *k);
void network_row_of_agent(struct network_row *r, const struct agent *a);
/* The target with the part of the name that somebody registers in bold; what has no room goes at the left, for the
 * right end says whose it is.  Returns the columns used. */
int network_draw_target(struct canvas *c, int x, int y, int w, const struct egress_target *to);

#endif
