/*
 * json.h - a JSON writer: what --json prints.
 *
 * One document, built in memory.  Commas and indentation are the writer's; the caller nests
 * json_object / json_array with json_end.  `key` is NULL inside of an array.  Text may be any
 * bytes: what is no valid UTF-8 becomes U+FFFD, and control characters are escaped, so the output
 * is valid and harmless on a terminal.  64-bit integers are written exactly.
 *
 * Thread: one owner at a time.
 */
#ifndef CLI_JSON_H
#define CLI_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/str.h>

#define JSON_DEPTH_MAX 16

struct json {
	struct str out;
	bool lines; /* one object a line: no indentation */
	int depth;
	bool array[JSON_DEPTH_MAX], filled[JSON_DEPTH_MAX];
};

void json_init(struct json *j, bool lines);
void json_release(struct json *j);

void json_object(struct json *j, const char *key);
void json_array(struct json *j, const char *key);
void json_end(struct json *j); /* of the innermost; a newline after the outermost */

void json_text(struct json *j, const char *key, const char *s); /* NULL: null */
void json_textn(struct json *j, const char *key, const char *s, size_t n);
void json_int(struct json *j, const char *key, int64_t v);
void json_uint(struct json *j, const char *key, uint64_t v);
void json_number(struct json *j, const char *key, double v, int decimals); /* not finite: null */
void json_bool(struct json *j, const char *key, bool v);
void json_null(struct json *j, const char *key);

/* Write what there is to stdout and release it: 0, or 1 when it did not arrive. */
int json_print(struct json *j);

#endif
