/*
 * jsonw.h - a JSON writer, for --json and for clients.
 *
 * One document, built in memory.  Commas and indentation are the writer's; the caller nests
 * jsonw_object / jsonw_array with jsonw_end.  `key` is NULL inside of an array.  Text may be any
 * bytes: what is no valid UTF-8 becomes U+FFFD, and control characters are escaped, so the output
 * is valid and harmless on a terminal.  64-bit integers are written exactly.
 *
 * Why not cJSON: it keeps numbers as doubles, passes bytes on that are no UTF-8, and builds a tree of what is
 * written only once.
 *
 * Thread: one owner at a time.
 */
#ifndef BERTH_JSONW_H
#define BERTH_JSONW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "str.h"

#define JSON_DEPTH_MAX 16

struct jsonw {
	struct str out;
	bool lines; /* one object a line: no indentation */
	int depth;
	bool array[JSON_DEPTH_MAX], filled[JSON_DEPTH_MAX];
};

void jsonw_init(struct jsonw *j, bool lines);
void jsonw_document(
	struct jsonw *j, const char *schema); /* an indented object that begins with it */
void jsonw_release(struct jsonw *j);

void jsonw_object(struct jsonw *j, const char *key);
void jsonw_array(struct jsonw *j, const char *key);
void jsonw_end(struct jsonw *j); /* of the innermost; a newline after the outermost */

void jsonw_text(struct jsonw *j, const char *key, const char *s); /* NULL: null */
void jsonw_textn(struct jsonw *j, const char *key, const char *s, size_t n);
void jsonw_int(struct jsonw *j, const char *key, int64_t v);
void jsonw_uint(struct jsonw *j, const char *key, uint64_t v);
void jsonw_number(struct jsonw *j, const char *key, double v, int decimals); /* not finite: null */
void jsonw_bool(struct jsonw *j, const char *key, bool v);
void jsonw_null(struct jsonw *j, const char *key);
void jsonw_raw(struct jsonw *j, const char *key, const char *json); /* a whole value, as it is */

/* `s` as a JSON string, quotes and all, behind what `out` holds. */
void jsonw_quote(struct str *out, const char *s, size_t n);

#endif
