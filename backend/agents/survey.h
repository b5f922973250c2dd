/*
 * survey.h - the list of agents and what each of them is doing.
 *
 * Agents are known from three sides: the definitions of team files (the one the console was given,
 * and those that agents on record came from), the session records of this user, and containers that
 * call themselves agents.  One look joins them; what commands run comes from /proc, what is in force
 * from the kernel and the engine (agents_check), the latter seldom, for it asks the engine.
 *
 * Thread: one at a time, never the backend's: everything here may block.
 */
#ifndef AGENTS_SURVEY_H
#define AGENTS_SURVEY_H

#include <berth/arena.h>
#include <berth/snapshot.h>

struct survey;

struct survey_options {
	const char *host, *context; /* of the engine, as in agents_options */
	const char *team;           /* a team file to begin with; NULL */
};

/* A container as the backend's table has it. */
struct survey_seen {
	const char *name, *id, *agent, *session, *role, *proof, *image;
	enum container_state state;
	bool inspected; /* else its pid is not known yet */
	int pid;        /* 0: none, or not visible from here */
};

struct survey_look {
	const char *engine; /* engine id */
	bool reachable;     /* the engine may be asked */
	bool check_now; /* something was done to agents: do not wait for the next round of checks */
	size_t nseen;
	const struct survey_seen *seen;
	/* out, in `mem`: container is not set, ids[i] is its full id ("" none) */
	size_t n;
	struct agent *agents;
	const char **ids;
	/* A team file that cannot be read: said once for each of its versions; "" nothing new. */
	char notice[512];
	struct arena mem;
};

struct survey *survey_open(const struct survey_options *o);
void survey_close(struct survey *s);
void survey_look(struct survey *s, struct survey_look *l);

#endif
