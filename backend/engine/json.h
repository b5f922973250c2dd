/*
 * json.h - reading the engine's JSON as untrusted input.  (ejson_: the command line writes
 * JSON by json_ functions of its own.)
 *
 * Bounded before cJSON sees it: nesting (JSON_DEPTH_MAX) and number of values (JSON_VALUES_MAX).
 * Integers that a double cannot hold stay exact: literals of more than 15 digits reach cJSON as
 * strings, and ejson_i64/ejson_u64 read both.
 *
 * Getters take any node (NULL too) and answer "absent" for null, a wrong type or no such member.
 * Thread: any.
 */
#ifndef BERTH_ENGINE_JSON_H
#define BERTH_ENGINE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#include <berth/arena.h>
#include <berth/err.h>
#include <berth/snapshot.h>
#include <berth/str.h>

#define JSON_DEPTH_MAX 64
#define JSON_VALUES_MAX ((size_t)2000000)

/* NULL and ERR_PROTOCOL when this is not JSON, or too much of it.  Free with cJSON_Delete. */
cJSON *ejson_parse(const char *bytes, size_t n, struct err *e);
void ejson_cleanup(cJSON **node);
#define AUTO_JSON __attribute__((cleanup(ejson_cleanup)))

const cJSON *ejson_get(const cJSON *object, const char *name); /* NULL when absent */
/* One member after the other: ejson_path(o, "State", "Health", NULL). */
const cJSON *ejson_path(const cJSON *object, ...) __attribute__((sentinel));
const char *ejson_string(const cJSON *object, const char *name); /* "" when absent */
bool ejson_bool(const cJSON *object, const char *name);          /* false when absent */
int64_t ejson_i64(const cJSON *object, const char *name, int64_t absent);
uint64_t ejson_u64(const cJSON *object, const char *name); /* absent or negative: 0; saturates */
int ejson_int(const cJSON *object, const char *name, int absent);
int64_t ejson_stamp_ms(
	const cJSON *object, const char *name); /* RFC 3339 to Unix ms, 0 for never */

/* The node's own value. */
const char *ejson_text(const cJSON *node); /* "" when it is no string */
size_t ejson_count(const cJSON *node);     /* members of an array or object */

/* Copies that outlive the tree. */
const char *ejson_keep(struct arena *a, const cJSON *object, const char *name);
const struct key_value *ejson_pairs(struct arena *a, const cJSON *object, size_t *ret_n);
const char *const *ejson_words(struct arena *a, const cJSON *array, size_t *ret_n);

/* Of a list of containers: of a row's names the container's own (links of old add others), its state. */
const char *parse_name(const cJSON *row, struct arena *a);
enum container_state parse_state(const char *word);

#endif
