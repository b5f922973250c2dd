/*
 * containers.h - shared by the suites of containers: an engine, and containers that are removed again.
 *
 * All are named berth-bench-PID-N and labelled berth.bench; those of a benchmark that was killed are removed
 * by the next one.  Images: box:1 (berth makes it without any registry), and for the load time of
 * dependencies the images of `berth image build`.
 */
#ifndef BENCH_CONTAINERS_H
#define BENCH_CONTAINERS_H

#include <stdbool.h>

#include "bench.h"
#include "engine/sync.h"
#include "peers/docker.h"

#define YARD_MAX 64

#define OVER_MINIMAL /* a goal; REQUIREMENTS 4.1 */                                        \
	{                                                                                  \
		"at most 1.1x + 5 ms over a minimal client", "berth", ON_FLOOR, 0.005, 1.1 \
	}

struct yard {
	struct mini mini;
	struct engine_sync *berth; /* berth's own client */
	size_t n;                  /* containers that exist */
	char id[YARD_MAX][72];
};

/* With `image` there, else ERR_NOT_FOUND. */
struct yard *yard_open(const char *image, struct err *e);
void yard_close(void *yard); /* every container of it is removed */

/* How a container is asked for; `host` are fields of HostConfig, each followed by a comma, or "". */
void yard_body(struct str *out, const char *image, const char *argv_json, const char *host);

/* Either client: the same calls with the same bodies. */
enum client { MINI, BERTH }; /* in the order of the arms */
int yard_create(struct yard *y, enum client by, const char *body, char id[72], struct err *e);
int yard_start(struct yard *y, enum client by, const char *id, struct err *e);
int yard_remove(struct yard *y, enum client by, const char *id, struct err *e);
/* Created, started and kept until the yard is closed; its id, or NULL. */
const char *yard_keep(struct yard *y, const char *image, const char *host, struct err *e);

#endif
