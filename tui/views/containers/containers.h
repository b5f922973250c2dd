/* containers.h - shared by the files of the Containers view: rows, columns, selection. */
#ifndef CONTAINERS_CONTAINERS_H
#define CONTAINERS_CONTAINERS_H

#include <berth/snapshot.h>

#include "app/app.h"
#include "views/list.h"
#include "views/moment.h"
#include "widgets/widgets.h"

/* A container, or the head over several. */
struct item {
	const struct container *c; /* NULL: a head */
	const struct moment *moment;
	enum { BY_AGENT, BY_PROJECT, BY_HOST, UNGROUPED } kind;
	const char *group; /* name of the agent, project or host; "" */
	const char *host;  /* of several; "" */
	const struct agent
		*agent; /* heads: the agent of that name; of a row below one: whose container it
				      is; NULL: none that berth knows */
	/* Heads: all of theirs together. */
	size_t n, running;
	bool net, lost; /* lost: their engine, of several, is: what they use now is unknown */
	double cpu_percent, net_rx, net_tx, block_read, block_write;
	uint64_t memory_bytes, pids;
};

/* Indices of those that code speaks of. */
enum {
	CONTAINER_NAME,
	CONTAINER_STATE,
	CONTAINER_CPU,
	CONTAINER_MEM,
	CONTAINER_LIMIT,
	CONTAINER_PIDS = 7,
	CONTAINER_UP,
	CONTAINER_AGE = 16,
	CONTAINER_PORTS,
	CONTAINER_HOST = 21,
};
/* The state as a person says it: "running", "exited 1", "out of memory", "stopping". */
void container_state_text(const struct container *c, char *buf, size_t cap, struct style *st);
/* Its name, cut where it says least. */
void container_name_draw(const struct container *k, struct canvas *c, struct area a,
	struct style st, const char *name);
enum glyph container_glyph(const struct container *c, struct style *st);
/* Are there numbers, and are they of now? */
bool container_has_stats(const struct container *c);
bool container_stats_old(const struct container *c, const struct moment *m);

/* What an action is about: all marked rows; without marks the row under the cursor, or all of the
 * group it heads. */
struct chosen {
	const struct container **c;
	size_t n, cap;
	size_t hidden; /* marked ones that are not on the list as it is shown */
};
struct chosen containers_chosen(struct view *v); /* free .c */

/* Ask about those of the chosen that are in a state for the action; false: it is no act. */
bool containers_ask(struct view *v, enum action a);
bool containers_refused(struct view *v, enum action a); /* all of those, by policy */
void containers_logs(struct view *v);
void containers_records(struct view *v); /* what was done to the row, in the audit view */

#endif
