/* agents.h - shared by the suites of agents: a team in directories of the benchmark's own. */
#ifndef BENCH_AGENTS_H
#define BENCH_AGENTS_H

#include <berth/agents.h>

#include "peers/docker.h"
#include "suites/files.h"

struct crew {
	struct scratch dir;
	char url[128], workspace[300], file[300];
	struct mini mini;
	struct team team;
	struct agents_host *host;
	bool read;
};

/* The engine, its image, directories, and a workspace of the agents' user.  -1: nothing is left of it. */
int crew_open(struct crew *k, struct err *e);
void crew_close(struct crew *k);
/* The team of a file with that text. */
int crew_read(struct crew *k, const char *text, struct err *e);
/* An agent's home goes too: it is of no use to anybody. */
void crew_take_down(struct crew *k, size_t agent);
/* A run_request's output, into a struct str. */
void crew_output(void *ctx, int stream, const char *bytes, size_t n);

#endif
