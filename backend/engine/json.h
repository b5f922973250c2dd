/*
 * json.h - the engine's JSON, read with suspicion.
 *
 * Bounded before cJSON sees it: nesting (JSON_DEPTH_MAX) and number of values (JSON_VALUES_MAX).
 * Integers that a double cannot hold stay exact: literals of more than 15 digits reach cJSON as
 * strings, and json_i64/json_u64 read both.
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
cJSON *json_parse(const char *bytes, size_t n, struct err *e);
void json_cleanup(cJSON **node);
#define AUTO_JSON __attribute__((cleanup(json_cleanup)))

const cJSON *json_get(const cJSON *object, const char *name); /* NULL when absent */
/* One member after the other: json_path(o, "State", "Health", NULL). */
const cJSON *json_path(const cJSON *object, ...) __attribute__((sentinel));
const char *json_string(const cJSON *object, const char *name); /* "" when absent */
bool json_bool(const cJSON *object, const char *name);          /* false when absent */
int64_t json_i64(const cJSON *object, const char *name, int64_t absent);
uint64_t json_u64(const cJSON *object, const char *name); /* absent or negative: 0; saturates */
int json_int(const cJSON *object, const char *name, int absent);
int64_t json_stamp_ms(const cJSON *object, const char *name); /* RFC 3339 to Unix ms, 0 for never */

/* The node's own value. */
const char *json_text(const cJSON *node); /* "" when it is no string */
size_t json_count(const cJSON *node);     /* members of an array or object */

/* Copies that outlive the tree. */
const char *json_keep(struct arena *a, const cJSON *object, const char *name);
const struct key_value *json_pairs(struct arena *a, const cJSON *object, size_t *ret_n);
const char *const *json_words(struct arena *a, const cJSON *array, size_t *ret_n);

/* Append a JSON string literal. */
void json_quote(struct str *out, const char *s);

#endif
