/*
 * jsonr.h - reading untrusted JSON: one message, within limits, without loss.
 *
 * Why not cJSON: it cuts strings at NUL, takes bytes that are no UTF-8 and keys that come twice, and
 * rounds large integers; ids of requests must come back as they were, and files be written as they were sent.
 *
 * Limits: JSON_DEEPEST levels, JSON_MOST values.  What is more is left out; that, and what is JSON but cannot
 * be meant (a key twice in one object, half of a surrogate pair, bytes that are no UTF-8), is read to the end, for
 * whoever asked wants an answer to his id, and told by json_parse's `fault`.
 * Thread: any; the tree lives in the arena given and points into it and into the text.
 */
#ifndef BERTH_JSONR_H
#define BERTH_JSONR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

#define JSON_DEEPEST 64
#define JSON_MOST 400000

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

struct json {
	enum json_type type;
	const char *key; /* in an object; terminated */
	size_t key_len;
	const char *text; /* of a string: decoded, terminated; of all else: as it was written */
	size_t len;
	size_t n; /* of an array or object: how many are in it */
	const struct json *first, *next;
};

/* NULL and ERR_PROTOCOL: no JSON.  `fault`: what else is wrong with it (kind ERR_NONE: nothing). */
const struct json *json_parse(
	struct arena *mem, const char *text, size_t n, struct err *fault, struct err *e);

/* The member of that name; NULL: there is none, or `o` is no object (NULL is fine). */
const struct json *json_member(const struct json *o, const char *key);
/* The same if it is a string without a NUL byte; else NULL. */
const char *json_string(const struct json *o, const char *key);
/* A whole number, exactly; 1.0 and 1e3 are such.  false: it is none, or too large. */
bool json_integer(const struct json *j, int64_t *ret);
bool json_is(const struct json *j, enum json_type type); /* NULL: false */

#endif
