/* json.c - parses JSON within limits, and type-checked getters. */
#include "engine/json.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "engine/split.h"

enum { EXACT_DIGITS = 15 }; /* every integer of that many digits is exact as a double */

/* Length of the number that begins at s[0..n); *ret_big when it is an integer of too many digits.
 */
static size_t measure_number(const char *s, size_t n, bool *ret_big)
{
	size_t i = s[0] == '-', digits = 0;
	bool integer = true;

	for (; i < n; i++) {
		if (s[i] >= '0' && s[i] <= '9')
			digits++;
		else if (s[i] == '.' || s[i] == 'e' || s[i] == 'E' || s[i] == '+' || s[i] == '-')
			integer = false;
		else
			break;
	}
	*ret_big = integer && digits > EXACT_DIGITS;
	return i;
}

static size_t string_end(const char *s, size_t n, size_t i)
{
	for (i++; i < n && s[i] != '"'; i++)
		if (s[i] == '\\')
			i++;
	return i < n ? i : n - 1;
}

/* Check the bounds and, only where there are integers too long for a double, write a copy in which
 * they are strings. */
static int survey_json(const char *s, size_t n, struct str *copy, struct err *e)
{
	size_t depth = 0, values = 0, copied = 0;

	for (size_t i = 0; i < n; i++) {
		char c = s[i];

		if (c == '"') {
			i = string_end(s, n, i);
		} else if (c == '[' || c == '{') {
			values++;
			if (++depth > JSON_DEPTH_MAX)
				return err_set(e, ERR_PROTOCOL,
					"the JSON is nested deeper than %d levels", JSON_DEPTH_MAX);
		} else if (c == ']' || c == '}') {
			depth -= depth > 0;
		} else if (c == ',') {
			if (++values > JSON_VALUES_MAX)
				return err_set(e, ERR_PROTOCOL, "the JSON has more than %zu values",
					JSON_VALUES_MAX);
		} else if (c == '-' || (c >= '0' && c <= '9')) {
			bool big;
			size_t len = measure_number(s + i, n - i, &big);

			if (big) {
				str_add(copy, s + copied, i - copied);
				str_addc(copy, '"');
				str_add(copy, s + i, len);
				str_addc(copy, '"');
				copied = i + len;
			}
			i += len - 1;
		}
	}
	if (copied > 0)
		str_add(copy, s + copied, n - copied);
	return 0;
}

cJSON *ejson_parse(const char *bytes, size_t n, struct err *e)
{
	AUTO_STR struct str copy = STR_INIT;
	const char *end = NULL, *limit;
	cJSON *root;

	if (survey_json(bytes, n, &copy, e))
		return NULL;
	if (copy.len > 0) {
		bytes = copy.s;
		n = copy.len;
	}
	root = cJSON_ParseWithLengthOpts(bytes, n, &end, 0);
	if (!root)
		return err_null(err_set(e, ERR_PROTOCOL, "this is not JSON"));
	for (limit = bytes + n; end < limit && (isspace((unsigned char)*end) || !*end); end++)
		;
	if (end < limit) {
		cJSON_Delete(root);
		return err_null(err_set(e, ERR_PROTOCOL, "there is trailing data after the JSON"));
	}
	return root;
}

void ejson_cleanup(cJSON **node)
{
	cJSON_Delete(*node);
}

const cJSON *ejson_get(const cJSON *object, const char *name)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(object, name);

	return cJSON_IsNull(v) ? NULL : v;
}

const cJSON *ejson_path(const cJSON *object, ...)
{
	const char *name;
	va_list ap;

	va_start(ap, object);
	while (object && (name = va_arg(ap, const char *)))
		object = ejson_get(object, name);
	va_end(ap);
	return object;
}

const char *ejson_text(const cJSON *node)
{
	return cJSON_IsString(node) ? node->valuestring : "";
}

const char *ejson_string(const cJSON *object, const char *name)
{
	return ejson_text(ejson_get(object, name));
}

bool ejson_bool(const cJSON *object, const char *name)
{
	return cJSON_IsTrue(ejson_get(object, name));
}

int64_t ejson_i64(const cJSON *object, const char *name, int64_t absent)
{
	const cJSON *v = ejson_get(object, name);

	if (cJSON_IsNumber(v)) {
		double d = v->valuedouble;

		if (isnan(d))
			return absent;
		return d >= 0x1p63 ? INT64_MAX : d < -0x1p63 ? INT64_MIN : (int64_t)d;
	}
	if (cJSON_IsString(v) && v->valuestring[0]) {
		char *end;
		long long n = strtoll(v->valuestring, &end, 10); /* saturates */

		if (!*end)
			return n;
	}
	return absent;
}

uint64_t ejson_u64(const cJSON *object, const char *name)
{
	const cJSON *v = ejson_get(object, name);

	if (cJSON_IsNumber(v)) {
		double d = v->valuedouble;

		return d >= 0x1p64 ? UINT64_MAX : d > 0 ? (uint64_t)d : 0;
	}
	if (cJSON_IsString(v) && isdigit((unsigned char)v->valuestring[0])) {
		char *end;
		unsigned long long n = strtoull(v->valuestring, &end, 10);

		if (!*end)
			return n;
	}
	return 0;
}

int ejson_int(const cJSON *object, const char *name, int absent)
{
	int64_t n = ejson_i64(object, name, absent);

	return n > INT_MAX ? INT_MAX : n < INT_MIN ? INT_MIN : (int)n;
}

int64_t ejson_stamp_ms(const cJSON *object, const char *name)
{
	const char *s = ejson_string(object, name);
	int64_t ns = 0;

	return stamp_parse(s, strlen(s), &ns) ? ns / 1000000 : 0;
}

size_t ejson_count(const cJSON *node)
{
	return cJSON_IsArray(node) || cJSON_IsObject(node) ? (size_t)cJSON_GetArraySize(node) : 0;
}

const char *ejson_keep(struct arena *a, const cJSON *object, const char *name)
{
	const char *s = ejson_string(object, name);

	return *s ? arena_strdup(a, s) : "";
}

const struct key_value *ejson_pairs(struct arena *a, const cJSON *object, size_t *ret_n)
{
	const cJSON *member;
	struct key_value *pairs;
	size_t n = 0;

	*ret_n = 0;
	if (!cJSON_IsObject(object) || ejson_count(object) == 0)
		return NULL;
	pairs = arena_array(a, ejson_count(object), sizeof *pairs);
	cJSON_ArrayForEach(member, object)
	{
		pairs[n].key = arena_strdup(a, member->string ? member->string : "");
		pairs[n++].value = arena_strdup(a, ejson_text(member));
	}
	*ret_n = n;
	return pairs;
}

const char *const *ejson_words(struct arena *a, const cJSON *array, size_t *ret_n)
{
	const cJSON *item;
	const char **words;
	size_t n = 0;

	*ret_n = 0;
	if (!cJSON_IsArray(array) || ejson_count(array) == 0)
		return NULL;
	words = arena_array(a, ejson_count(array), sizeof *words);
	cJSON_ArrayForEach(item, array)
	{
		if (cJSON_IsString(item))
			words[n++] = arena_strdup(a, item->valuestring);
	}
	*ret_n = n;
	return words;
}
