/*
 * docker.h - the smallest client of the Docker Engine API there can be: one unix socket, blocking reads and
 * writes, no library.  It is the floor that berth's own client is measured against: same calls, same bodies.
 *
 * Thread: one owner at a time for each.
 */
#ifndef BENCH_PEER_DOCKER_H
#define BENCH_PEER_DOCKER_H

#include <stdbool.h>
#include <stddef.h>

#include <berth/err.h>
#include <berth/str.h>

#include "engine/sync.h"

#define MINI_NAME_MAX 80
#define BOX "box:1" /* what containers to measure with are made of */

struct mini {
	int fd; /* kept open from call to call; -1: connect at the next */
	char path[108];
};

/* -H and --context of the command line, or NULL; they come before the variables, and must stay. */
void bench_engine_is(const char *host, const char *context);
/* The engine of BERTH_BENCH_ENGINE or BERTH_TEST_ENGINE, else the one that any berth command would talk to; it must be
 * behind a unix socket of this machine.  Release it. */
int bench_endpoint(struct endpoint *ret, struct err *e);
/* That one; ERR_NOT_FOUND when it does not answer. */
int mini_open(struct mini *m, struct err *e);
void mini_close(struct mini *m);
const char *mini_url(const struct mini *m, char *buf, size_t cap); /* unix://... */

/* ERR_NOT_FOUND where the engine lacks the image; BOX is made. */
int mini_image(struct mini *m, const char *image, struct err *e);

/* One call; the body of the answer is appended to *reply (may be NULL).  The HTTP status, or -1. */
int mini_call(struct mini *m, const char *method, const char *target, const char *body,
	struct str *reply, struct err *e);
/* The same where anything but `wanted` is an error with the engine's own words. */
int mini_must(struct mini *m, int wanted, const char *method, const char *target, const char *body,
	struct str *reply, struct err *e);

/* A command in a running container: its output (both streams) and exit code. */
int mini_exec(struct mini *m, const char *id, const char *argv_json, struct str *out, int *code,
	struct err *e);

/* The text of "key":"..." in JSON that an engine wrote; false when it is not there. */
bool mini_text(const char *json, const char *key, char *buf, size_t cap);

/* Containers of benchmarks whose process is gone: remove them. */
void mini_sweep(struct mini *m);

#endif
