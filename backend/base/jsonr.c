/* jsonr.c - parses JSON in one pass into a tree in an arena. */
#include <berth/jsonr.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <berth/text.h>

struct reader {
	const char *p, *end, *begin;
	struct arena *mem;
	size_t values;
	struct err *fault, *e;
};

static void note_json_fault(struct reader *r, const char *what)
{
	if (!r->fault->kind)
		err_set(r->fault, ERR_PROTOCOL, "%s (at byte %zu)", what,
			(size_t)(r->p - r->begin));
}

static int fail_json(const struct reader *r, const char *what)
{
	return err_set(
		r->e, ERR_PROTOCOL, "not JSON: %s at byte %zu", what, (size_t)(r->p - r->begin));
}

static void skip_json_blank(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r'))
		r->p++;
}

static int read_json_hex(struct reader *r, uint32_t *ret)
{
	*ret = 0;
	if (r->end - r->p < 4)
		return fail_json(r, "a truncated escape");
	for (int i = 0; i < 4; i++) {
		char c = *r->p++;
		uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
			: c >= 'a' && c <= 'f'        ? (uint32_t)(c - 'a') + 10
			: c >= 'A' && c <= 'F'        ? (uint32_t)(c - 'A') + 10
						      : 16;

		if (digit == 16)
			return fail_json(r, "an invalid \\u escape");
		*ret = *ret << 4 | digit;
	}
	return 0;
}

static int read_unicode_escape(struct reader *r, char **out)
{
	uint32_t cp, low;

	if (read_json_hex(r, &cp))
		return -1;
	if (cp >= 0xD800 && cp < 0xDC00 && r->end - r->p >= 2 && r->p[0] == '\\' &&
		r->p[1] == 'u') {
		const char *before = r->p;

		r->p += 2;
		if (read_json_hex(r, &low))
			return -1;
		if (low >= 0xDC00 && low < 0xE000)
			cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
		else
			r->p = before;
	}
	if (cp >= 0xD800 && cp < 0xE000) {
		note_json_fault(r, "a string contains an unpaired surrogate");
		cp = TEXT_BAD;
	}
	*out += utf8_put(cp, *out);
	return 0;
}

static int read_json_escape(struct reader *r, char **out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;

	if (++r->p == r->end)
		return fail_json(r, "an unterminated string");
	if (*r->p == 'u') {
		r->p++;
		return read_unicode_escape(r, out);
	}
	at = *r->p ? strchr(from, *r->p) : NULL;
	if (!at)
		return fail_json(r, "an unknown escape");
	*(*out)++ = to[at - from];
	r->p++;
	return 0;
}

static void check_json_utf8(struct reader *r, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		uint32_t cp;
		size_t step = (unsigned char)s[i] < 0x80 ? 1 : utf8_next(s + i, n - i, &cp);

		/* U+FFFD itself takes three bytes, what stands for a wrong byte one. */
		if ((unsigned char)s[i] >= 0x80 && step == 1) {
			note_json_fault(r, "a string is not valid UTF-8");
			return;
		}
		i += step;
	}
}

/* Plain bytes up to what ends or escapes.  Nothing that is read becomes longer than it was written, but for
 * what is wrong: half of a pair is six bytes and becomes three. */
static int read_json_string(struct reader *r, const char **ret, size_t *len)
{
	const char *begin = ++r->p, *close = begin;
	char *text, *out;

	while (close < r->end && *close != '"')
		close += *close == '\\' && close + 1 < r->end ? 2 : 1;
	if (close >= r->end)
		return fail_json(r, "an unterminated string");
	out = text = arena_alloc(r->mem, (size_t)(close - begin) + 1);
	while (r->p < close) {
		const char *plain = r->p;

		while (r->p < close && *r->p != '\\' && (unsigned char)*r->p >= ' ')
			r->p++;
		memcpy(out, plain, (size_t)(r->p - plain));
		out += r->p - plain;
		if (r->p < close && *r->p != '\\')
			return fail_json(r, "a control character in a string");
		if (r->p < close && read_json_escape(r, &out))
			return -1;
	}
	r->p = close + 1;
	*ret = text;
	*len = (size_t)(out - text);
	check_json_utf8(r, text, *len);
	return 0;
}

static size_t skip_json_digits(struct reader *r)
{
	const char *begin = r->p;

	while (r->p < r->end && *r->p >= '0' && *r->p <= '9')
		r->p++;
	return (size_t)(r->p - begin);
}

static int read_json_number(struct reader *r)
{
	const char *begin;

	r->p += *r->p == '-';
	begin = r->p;
	if (!skip_json_digits(r) || (*begin == '0' && r->p - begin > 1))
		return fail_json(r, "an invalid number");
	if (r->p < r->end && *r->p == '.') {
		r->p++;
		if (!skip_json_digits(r))
			return fail_json(r, "an invalid number");
	}
	if (r->p < r->end && (*r->p == 'e' || *r->p == 'E')) {
		r->p++;
		if (r->p < r->end && (*r->p == '+' || *r->p == '-'))
			r->p++;
		if (!skip_json_digits(r))
			return fail_json(r, "an invalid number");
	}
	return 0;
}

static int read_json_word(struct reader *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || memcmp(r->p, word, n) != 0)
		return fail_json(r, "an unknown word");
	r->p += n;
	return 0;
}

static struct json *read_json_value(struct reader *r, int depth);

static bool has_json_key(const struct json *o, const struct json *member)
{
	for (const struct json *j = o->first; j != member; j = j->next)
		if (j->key_len == member->key_len && !memcmp(j->key, member->key, j->key_len))
			return true;
	return false;
}

#define KEYS_MOST 256 /* in one object: what is asked for has far fewer */

static int pass_json_string(struct reader *r)
{
	for (r->p++; r->p < r->end && *r->p != '"'; r->p++)
		if (*r->p == '\\' && r->p + 1 < r->end)
			r->p++;
	if (r->p == r->end)
		return fail_json(r, "an unterminated string");
	r->p++;
	return 0;
}

/* Behind a key; `kept`: with its text, decoded. */
static int read_json_key(struct reader *r, bool kept, const char **key, size_t *len)
{
	if (kept ? read_json_string(r, key, len) : pass_json_string(r))
		return -1;
	skip_json_blank(r);
	if (r->p == r->end || *r->p != ':')
		return fail_json(r, "no colon");
	r->p++;
	return 0;
}

/* One value that is not kept: up to the bracket that closes it, or what comes behind it. */
static int pass_json_value(struct reader *r)
{
	size_t open = 0;

	skip_json_blank(r);
	do {
		if (r->p == r->end)
			return fail_json(r, "an unexpected end");
		if (*r->p == '"') {
			if (pass_json_string(r))
				return -1;
			continue;
		}
		if (!open && (*r->p == ',' || *r->p == ']' || *r->p == '}'))
			break;
		open += *r->p == '[' || *r->p == '{';
		open -= *r->p == ']' || *r->p == '}';
		r->p++;
	} while (open || (r->p < r->end && *r->p != ',' && *r->p != ']' && *r->p != '}'));
	return 0;
}

/* What is beyond the limits; not the first id of a request. */
static const char *find_json_excess(const struct reader *r, const struct json *j, int depth)
{
	static const char id[] = "\"id\"";
	bool object = j->type == JSON_OBJECT;

	if (object && !depth && (size_t)(r->end - r->p) >= sizeof id - 1 &&
		!memcmp(r->p, id, sizeof id - 1) && !json_member(j, "id"))
		return NULL;
	return depth == JSON_DEEPEST          ? "it is nested too deeply"
		: r->values >= JSON_MOST      ? "it has too many values"
		: object && j->n >= KEYS_MOST ? "an object has too many keys"
					      : NULL;
}

static int add_json_member(struct reader *r, struct json *j, const struct json ***last, int depth)
{
	const char *key = NULL, *excess;
	size_t key_len = 0;
	struct json *member;

	skip_json_blank(r);
	if (j->type == JSON_OBJECT && (r->p == r->end || *r->p != '"'))
		return fail_json(r, "no key");
	excess = find_json_excess(r, j, depth);
	if (j->type == JSON_OBJECT && read_json_key(r, !excess, &key, &key_len))
		return -1;
	if (excess) {
		note_json_fault(r, excess);
		return pass_json_value(r);
	}
	member = read_json_value(r, depth + 1);
	if (!member)
		return -1;
	member->key = key;
	member->key_len = key_len;
	**last = member;
	*last = &member->next;
	j->n++;
	if (key && has_json_key(j, member))
		note_json_fault(r, "duplicate key in an object");
	return 0;
}

/* Of an array or object, between its brackets. */
static int read_json_members(struct reader *r, struct json *j, int depth)
{
	char closes = j->type == JSON_OBJECT ? '}' : ']';
	const struct json **last = &j->first;
	bool any = false;

	r->p++;
	skip_json_blank(r);
	for (; r->p < r->end && (*r->p != closes || any); any = true) {
		if (add_json_member(r, j, &last, depth))
			return -1;
		skip_json_blank(r);
		if (r->p == r->end || (*r->p != ',' && *r->p != closes))
			return fail_json(r, "no comma");
		if (*r->p == closes)
			break;
		r->p++;
	}
	if (r->p == r->end)
		return fail_json(r, "an unexpected end");
	r->p++;
	return 0;
}

static int read_json_into(struct reader *r, struct json *j, int depth)
{
	switch (*r->p) {
	case '{': j->type = JSON_OBJECT; return read_json_members(r, j, depth);
	case '[': j->type = JSON_ARRAY; return read_json_members(r, j, depth);
	case '"': j->type = JSON_STRING; return read_json_string(r, &j->text, &j->len);
	case 't': j->type = JSON_TRUE; return read_json_word(r, "true");
	case 'f': j->type = JSON_FALSE; return read_json_word(r, "false");
	case 'n': j->type = JSON_NULL; return read_json_word(r, "null");
	default: j->type = JSON_NUMBER; return read_json_number(r);
	}
}

static struct json *read_json_value(struct reader *r, int depth)
{
	const char *begin;
	struct json *j;

	skip_json_blank(r);
	if (r->p == r->end)
		return err_null(fail_json(r, "an unexpected end"));
	r->values++;
	begin = r->p;
	j = arena_alloc(r->mem, sizeof *j);
	if (read_json_into(r, j, depth))
		return NULL;
	if (j->type != JSON_STRING) {
		j->text = begin;
		j->len = (size_t)(r->p - begin);
	}
	return j;
}

const struct json *json_parse(
	struct arena *mem, const char *text, size_t n, struct err *fault, struct err *e)
{
	struct reader r = {
		.p = text, .begin = text, .end = text + n, .mem = mem, .fault = fault, .e = e};
	struct json *j;

	*fault = (struct err)ERR_INIT;
	j = read_json_value(&r, 0);
	if (!j)
		return NULL;
	skip_json_blank(&r);
	if (r.p != r.end)
		return err_null(fail_json(&r, "more than one value"));
	return j;
}

const struct json *json_member(const struct json *o, const char *key)
{
	size_t n = strlen(key);

	if (!json_is(o, JSON_OBJECT))
		return NULL;
	for (const struct json *j = o->first; j; j = j->next)
		if (j->key_len == n && !memcmp(j->key, key, n))
			return j;
	return NULL;
}

const char *json_string(const struct json *o, const char *key)
{
	const struct json *j = json_member(o, key);

	return json_is(j, JSON_STRING) && !memchr(j->text, '\0', j->len) ? j->text : NULL;
}

bool json_integer(const struct json *j, int64_t *ret)
{
	char digits[24], *end;
	double v;

	if (!json_is(j, JSON_NUMBER) || j->len >= sizeof digits)
		return false;
	memcpy(digits, j->text, j->len);
	digits[j->len] = '\0';
	errno = 0;
	*ret = strtoll(digits, &end, 10);
	if (!*end)
		return !errno;
	/* Where doubles hold every whole number. */
	v = strtod(digits, NULL);
	if (!(v > -0x1p53 && v < 0x1p53) || v != (double)(int64_t)v)
		return false;
	*ret = (int64_t)v;
	return true;
}

bool json_is(const struct json *j, enum json_type type)
{
	return j && j->type == type;
}
