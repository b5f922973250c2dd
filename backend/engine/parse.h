/*
 * parse.h - the engine's JSON into our structs: pure functions, for the verbs, tests and fuzzing.
 *
 * Strings of the results live in the arena given.  Absent strings are "", absent numbers 0.
 */
#ifndef BERTH_ENGINE_PARSE_H
#define BERTH_ENGINE_PARSE_H

#include <berth/arena.h>

#include "engine/engine.h"
#include "engine/json.h"

void parse_version(const cJSON *root, struct arena *a, struct engine_info *info);
/* What an engine is known by: its own id, and where its data is.  "" without an id. */
const char *identify_engine(struct arena *a, const char *id, const char *dir);
void parse_info(const cJSON *root, struct arena *a, struct engine_info *info);

/* Rows without an id are left out; -1 and ERR_PROTOCOL when this is no list. */
int parse_list(const cJSON *root, struct arena *a, struct engine_summary **ret_rows, size_t *ret_n,
	struct err *e);
int parse_inspect(const cJSON *root, struct arena *a, struct engine_container *c, struct err *e);

/* Memory as docker stats shows it; at_ns is the caller's. */
int parse_stats(const cJSON *root, struct counters *c, struct err *e);

int parse_top(const cJSON *root, struct arena *a, struct process_info **ret_p, size_t *ret_n,
	struct err *e);

/* False for what is no event that anybody could use. */
bool parse_event(const cJSON *root, struct arena *a, struct engine_event *ev);

/* What a progress stream (import, pull) says went wrong, "" when this object is no error. */
const char *parse_stream_error(const cJSON *root);

#endif
