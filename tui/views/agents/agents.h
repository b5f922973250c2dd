/* agents.h - shared by the files of the Agents view: rows, columns, the detail pane, operations. */
#ifndef AGENTS_AGENTS_H
#define AGENTS_AGENTS_H

#include "views/containers/containers.h"
#include "views/page.h"

/* An agent, or a container of a tool or helper below it. */
struct agent_row {
	struct item item; /* first: the columns of the Containers view draw it; .c may be NULL */
	const struct agent *a; /* NULL: a tool's container */
};

/* Indices of those that code speaks of. */
enum { AGENT_NAME, AGENT_STATE, AGENT_COMMAND, AGENT_TERMINALS };
extern const struct table_column agent_columns[];
extern const size_t agent_ncolumns;

enum glyph agent_glyph(const struct agent *a, struct style *st);
/* The state as a person says it: "up", "coming up…", "down", "stopped 137", "up, 2 drift". */
void agent_state_text(const struct agent *a, char *buf, size_t cap, struct style *st);

/* What it runs and for how long, or how long it has been idle: "pytest -q tests  6s"; false: it is not up. */
bool agent_doing(const struct agent *a, int64_t wall_ms, char *buf, size_t cap);

/* "waiting 12s", "ended (3) 4m10s" */
void agent_terminal_text(
	const struct agent_terminal *t, int64_t wall_ms, char *buf, size_t cap, struct style *st);

/* The call that it waits for, for how long, and how many more: "search_text  4s, 2 more"; false: none runs. */
bool agent_calling(const struct calls_now *k, int64_t wall_ms, char *buf, size_t cap);

void agent_detail_draw(struct page *p, struct canvas *c, struct area a, const struct agent *agent,
	const struct moment *m);

/* agents_ports.c: a port is asked for, and the agent that it is of. */
struct agent_ports {
	char container[64], id[64];
	bool closing;
};
/* false: it is no action about ports.  `a`: the agent under the cursor; NULL: none. */
bool agents_port_act(
	struct view *v, struct agent_ports *p, enum action action, const struct agent *a);
void agents_port_typed(struct view *v, const struct agent_ports *p, const char *text);

/* What an action is about: all marked agents, else the one under the cursor. */
struct agents_chosen {
	const struct agent **a;
	size_t n, cap, hidden;
};
struct agents_chosen agents_chosen(struct view *v); /* free .a */

/* Ask about those of the chosen that are in a state for the action; false: it is no act. */
bool agents_ask(struct view *v, enum action a);
bool agents_refused(struct view *v, enum action a);

#endif
