/* jsonw.c - writes JSON documents. */
#include <berth/jsonw.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <berth/check.h>
#include <berth/text.h>

void jsonw_init(struct jsonw *j, bool lines)
{
	*j = (struct jsonw){.lines = lines};
	str_init(&j->out);
}

void jsonw_document(struct jsonw *j, const char *schema)
{
	jsonw_init(j, false);
	jsonw_object(j, NULL);
	jsonw_text(j, "schema", schema);
}

void jsonw_release(struct jsonw *j)
{
	str_release(&j->out);
}

static void begin_line(struct jsonw *j)
{
	if (j->lines)
		return;
	str_addc(&j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		str_adds(&j->out, "  ");
}

void jsonw_quote(struct str *out, const char *s, size_t n)
{
	str_addc(out, '"');
	for (size_t i = 0; i < n;) {
		size_t plain = text_plain_span(s + i, n - i);
		char put[4];
		uint32_t cp;

		str_add(out, s + i, plain);
		i += plain;
		if (i == n)
			break;
		i += utf8_next(s + i, n - i, &cp);
		if (cp == '"')
			str_add(out, "\\\"", 2);
		else if (cp == '\\')
			str_add(out, "\\\\", 2);
		else if (cp == '\n')
			str_add(out, "\\n", 2);
		else if (cp == '\t')
			str_add(out, "\\t", 2);
		/* C1 controls, bidi and other invisible characters are legal in JSON but not on
		 * a terminal. */
		else if (cp < 0x20 || cp == 0x7F ||
			(cp != TEXT_BAD && cp < 0x10000 && text_cp_width(cp) < 0))
			str_addf(out, "\\u%04x", (unsigned)cp);
		else if (cp != TEXT_BAD && cp >= 0x10000 && text_cp_width(cp) < 0)
			str_addf(out, "\\u%04x\\u%04x", 0xD800 + (unsigned)((cp - 0x10000) >> 10),
				0xDC00 + (unsigned)((cp - 0x10000) & 0x3FF));
		else
			str_add(out, put, utf8_put(cp, put));
	}
	str_addc(out, '"');
}

/* Comma, line and key of the next value. */
static void begin_value(struct jsonw *j, const char *key)
{
	if (!j->depth) {
		CHECK(!key);
		return;
	}
	CHECK(j->array[j->depth - 1] == !key);
	if (j->filled[j->depth - 1])
		str_adds(&j->out, j->lines ? ", " : ",");
	j->filled[j->depth - 1] = true;
	begin_line(j);
	if (key) {
		jsonw_quote(&j->out, key, strlen(key));
		str_adds(&j->out, ": ");
	}
}

static void open_value(struct jsonw *j, const char *key, bool array)
{
	begin_value(j, key);
	CHECK(j->depth < JSON_DEPTH_MAX);
	str_addc(&j->out, array ? '[' : '{');
	j->array[j->depth] = array;
	j->filled[j->depth] = false;
	j->depth++;
}

void jsonw_object(struct jsonw *j, const char *key)
{
	open_value(j, key, false);
}

void jsonw_array(struct jsonw *j, const char *key)
{
	open_value(j, key, true);
}

void jsonw_end(struct jsonw *j)
{
	CHECK(j->depth > 0);
	j->depth--;
	if (j->filled[j->depth])
		begin_line(j);
	str_addc(&j->out, j->array[j->depth] ? ']' : '}');
	if (!j->depth)
		str_addc(&j->out, '\n');
}

void jsonw_textn(struct jsonw *j, const char *key, const char *s, size_t n)
{
	begin_value(j, key);
	jsonw_quote(&j->out, s, n);
}

void jsonw_text(struct jsonw *j, const char *key, const char *s)
{
	if (s)
		jsonw_textn(j, key, s, strlen(s));
	else
		jsonw_null(j, key);
}

void jsonw_int(struct jsonw *j, const char *key, int64_t v)
{
	begin_value(j, key);
	str_addf(&j->out, "%lld", (long long)v);
}

void jsonw_uint(struct jsonw *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	str_addf(&j->out, "%llu", (unsigned long long)v);
}

void jsonw_number(struct jsonw *j, const char *key, double v, int decimals)
{
	char buf[400], *end;

	if (!isfinite(v)) {
		jsonw_null(j, key);
		return;
	}
	begin_value(j, key);
	/* The program sets no LC_NUMERIC; should a library do so, a comma would not be JSON. */
	end = buf + snprintf(buf, sizeof buf, "%.*f", decimals, v);
	for (char *p = buf; *p; p++)
		if (*p == ',')
			*p = '.';
	if (strchr(buf, '.')) {
		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			*--end = '\0';
	}
	str_adds(&j->out, !strcmp(buf, "-0") ? "0" : buf);
}

void jsonw_bool(struct jsonw *j, const char *key, bool v)
{
	begin_value(j, key);
	str_adds(&j->out, v ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
	begin_value(j, key);
	str_adds(&j->out, "null");
}

void jsonw_raw(struct jsonw *j, const char *key, const char *json)
{
	begin_value(j, key);
	str_adds(&j->out, json);
}
