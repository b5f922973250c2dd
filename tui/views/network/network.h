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

/* A target that somebody asks for, something else that waits for a person's word, or an agent with what it reaches.  All of
 * it is a copy: what a key acts on is what was drawn. */
struct network_row {
	char id[NETWORK_ID_MAX]; /* "c/CONTAINER", "t/CONTAINER/HOST:PORT" or "j/PID.STARTED.SERIAL" */
	char agent[64], container[64]; /* container "": asked by who is no agent */
	bool target, approval;
	bool gone; /* it was answered or is asked no longer; stays until the cursor moves */
	const char *answer; /* by this console: "once", "session", "deny"; NULL: none */
	int64_t born_ns;    /* drawn first; 0: not yet */
	int64_t wall_ms;    /* now */
	struct egress_target to;
	int64_t first_wall_ms, last_wall_ms;
	uint32_t count, held;
	char process[64], reason[EGRESS_REASON_MAX * 3]; /* neutralised */
	struct job_id job;                               /* of an approval */
	char title[JOB_TEXT_MAX], about[JOB_TEXT_MAX];   /* likewise, neutralised */
	struct agent_egress egress;
};

extern const struct table_column network_columns[];
extern const size_t network_ncolumns;

void network_row_of_ask(struct network_row *r, const struct agent_ask *k);
void network_row_of_approval(
	struct network_row *r, const struct job_info *j, const struct snapshot *snap);
void network_row_of_agent(struct network_row *r, const struct agent *a);
/* The target with the part of the name that somebody registers in bold; what has no room goes at the left, for the
 * right end says whose it is.  Returns the columns used. */
int network_draw_target(struct canvas *c, int x, int y, int w, const struct egress_target *to);

#endif
