/* shape.c - writing and reading structs by their tables. */
#include "tape/shape.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/snapshot.h>

/* What a number may be so that differences, sums and roundings of a few stay numbers. */
#define INT_MOST ((int64_t)1 << 61)
#define REAL_MOST 1e15

/* ---- members in memory */

static uint64_t load_bits(const char *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size); /* of the small end, as all machines here have it */
	return v;
}

static int64_t load_int(const char *p, size_t size)
{
	unsigned shift = 64 - 8 * (unsigned)size;

	return (int64_t)(load_bits(p, size) << shift) >> shift;
}

static const void *load_pointer(const char *p)
{
	const void *v;

	memcpy(&v, p, sizeof v);
	return v;
}

static void store_pointer(char *p, const void *v)
{
	memcpy(p, &v, sizeof v);
}

static size_t load_count(const struct field *f, const char *base)
{
	return (size_t)load_bits(base + f->count, f->count_size);
}

static void store_count(const struct field *f, char *base, size_t n)
{
	memcpy(base + f->count, &n, f->count_size);
}

/* ---- writing */

struct writing {
	struct jsonw *j;
	const struct container *rows; /* of the snapshot */
};

static void write_members(const struct writing *w, const struct shape *s, const char *base);

static void write_numbers(const struct writing *w, const struct field *f, const char *base)
{
	size_t n = load_count(f, base);

	if (!n)
		return;
	jsonw_array(w->j, f->name);
	for (size_t i = 0; i < n; i++) {
		const char *at = base + f->offset + i * (f->type == FIELD_FLOATS ? 4 : 2);
		char text[32];
		float v;

		memcpy(&v, at, f->type == FIELD_FLOATS ? sizeof v : 0);
		if (f->type == FIELD_SHORTS)
			jsonw_uint(w->j, NULL, load_bits(at, 2));
		else if (isfinite(v) && snprintf(text, sizeof text, "%.9g", (double)v) > 0)
			jsonw_raw(w->j, NULL, text);
		else
			jsonw_uint(w->j, NULL, 0);
	}
	jsonw_end(w->j);
}

static void write_real(const struct writing *w, const char *name, double v)
{
	char text[40];

	if (!isfinite(v) || !(v > 0 || v < 0))
		return;
	snprintf(text, sizeof text, "%.17g", v);
	jsonw_raw(w->j, name, text);
}

static void write_list(const struct writing *w, const struct field *f, const char *base)
{
	const char *at = load_pointer(base + f->offset);
	size_t n = load_count(f, base);

	if (!n)
		return;
	jsonw_array(w->j, f->name);
	for (size_t i = 0; i < n; i++) {
		if (f->type == FIELD_TEXTS) {
			jsonw_text(w->j, NULL, ((const char *const *)(const void *)at)[i]);
			continue;
		}
		jsonw_object(w->j, NULL);
		write_members(w, f->of, at + i * f->of->size);
		jsonw_end(w->j);
	}
	jsonw_end(w->j);
}

static void write_struct(const struct writing *w, const struct field *f, const char *at)
{
	jsonw_object(w->j, f->name);
	write_members(w, f->of, at);
	jsonw_end(w->j);
}

static void write_text_member(
	const struct writing *w, const struct field *f, const char *s, size_t n)
{
	if (s && (n || f->type == FIELD_MAYBE))
		jsonw_textn(w->j, f->name, s, n);
}

static void write_pointer(const struct writing *w, const struct field *f, const char *base)
{
	const char *p = load_pointer(base + f->offset);

	switch (f->type) {
	case FIELD_BYTES: write_text_member(w, f, p, load_count(f, base)); break;
	case FIELD_TEXTS:
	case FIELD_LIST: write_list(w, f, base); break;
	case FIELD_OWN:
		if (p)
			write_struct(w, f, p);
		break;
	case FIELD_ROW:
		if (p)
			jsonw_int(w->j, f->name,
				1 + ((const struct container *)(const void *)p - w->rows));
		break;
	default: write_text_member(w, f, p, p ? strlen(p) : 0);
	}
}

static void write_field(const struct writing *w, const struct field *f, const char *base)
{
	const char *at = base + f->offset;
	double v;

	switch (f->type) {
	case FIELD_BOOL:
		if (*at)
			jsonw_bool(w->j, f->name, true);
		break;
	case FIELD_INT:
		if (load_int(at, f->size))
			jsonw_int(w->j, f->name, load_int(at, f->size));
		break;
	case FIELD_UINT:
	case FIELD_ENUM:
		if (f->word && load_bits(at, f->size))
			jsonw_text(w->j, f->name, f->word((unsigned)load_bits(at, f->size)));
		else if (load_bits(at, f->size))
			jsonw_uint(w->j, f->name, load_bits(at, f->size));
		break;
	case FIELD_REAL:
		memcpy(&v, at, sizeof v);
		write_real(w, f->name, v);
		break;
	case FIELD_CHARS: write_text_member(w, f, at, strnlen(at, f->size)); break;
	case FIELD_FLOATS:
	case FIELD_SHORTS: write_numbers(w, f, base); break;
	case FIELD_PART: write_struct(w, f, at); break;
	case FIELD_NONE: break;
	default: write_pointer(w, f, base);
	}
}

static void write_members(const struct writing *w, const struct shape *s, const char *base)
{
	for (size_t i = 0; i < s->n; i++)
		write_field(w, &s->field[i], base);
}

void shape_write(struct jsonw *j, const char *key, const struct shape *s, const void *from)
{
	const struct snapshot *snap = from;
	const struct writing w = {j, s == &shape_snapshot ? snap->containers : NULL};

	jsonw_object(j, key);
	write_members(&w, s, from);
	jsonw_end(j);
}

/* ---- reading */

struct reading {
	struct arena *mem;
	const struct snapshot *snapshot; /* that is being read; NULL */
	struct err *e;
};

static int read_members(
	const struct reading *r, const struct shape *s, const struct json *j, char *base);

static int refuse_field(const struct reading *r, const struct field *f, const char *what)
{
	return err_set(r->e, ERR_USAGE, "`%s` is not %s", f->name, what);
}

/* A number's text ends in what cannot be of one. */
static int read_int(const struct reading *r, const struct field *f, const struct json *j, char *at)
{
	int64_t most = f->size == 8 ? INT_MOST : ((int64_t)1 << (8 * f->size - 1)) - 1, v;

	if (!json_integer(j, &v) || v > most || v < -most)
		return refuse_field(r, f, "a number in its range");
	memcpy(at, &v, f->size);
	return 0;
}

static int read_uint(const struct reading *r, const struct field *f, const struct json *j, char *at)
{
	uint64_t most = f->type == FIELD_ENUM ? f->most
		: f->size == 8                ? UINT64_MAX
					      : ((uint64_t)1 << (8 * f->size)) - 1;
	char *end = NULL;
	uint64_t v;

	if (!json_is(j, JSON_NUMBER) || *j->text == '-')
		return refuse_field(r, f, "a number in its range");
	errno = 0;
	v = strtoull(j->text, &end, 10);
	if (errno || end != j->text + j->len || v > most)
		return refuse_field(r, f, "a number in its range");
	memcpy(at, &v, f->size);
	return 0;
}

static int read_enum_word(
	const struct reading *r, const struct field *f, const struct json *j, char *at)
{
	for (unsigned i = 0; json_is(j, JSON_STRING) && i <= f->most; i++)
		if (strcmp(f->word(i), j->text) == 0) {
			memcpy(at, &i, f->size);
			return 0;
		}
	return refuse_field(r, f, "a word that is known");
}

static bool json_real(const struct json *j, double *ret)
{
	if (!json_is(j, JSON_NUMBER))
		return false;
	*ret = strtod(j->text, NULL);
	return isfinite(*ret) && fabs(*ret) <= REAL_MOST;
}

static int read_numbers(
	const struct reading *r, const struct field *f, const struct json *j, char *base)
{
	size_t each = f->type == FIELD_FLOATS ? 4 : 2, n = 0;

	if (!json_is(j, JSON_ARRAY) || j->n > f->size / each)
		return refuse_field(r, f, "a list of its length");
	for (const struct json *i = j->first; i; i = i->next, n++) {
		double v;
		float real;
		uint16_t whole;

		if (!json_real(i, &v) || (f->type == FIELD_SHORTS && !(v >= 0 && v <= 65535)))
			return refuse_field(r, f, "a list of numbers");
		real = (float)v;
		whole = f->type == FIELD_SHORTS ? (uint16_t)v : 0;
		memcpy(base + f->offset + n * each,
			f->type == FIELD_FLOATS ? (void *)&real : (void *)&whole, each);
	}
	store_count(f, base, n);
	return 0;
}

static int read_text(
	const struct reading *r, const struct field *f, const struct json *j, char *base)
{
	char *at = base + f->offset;

	if (!json_is(j, JSON_STRING))
		return refuse_field(r, f, "text");
	if (f->type == FIELD_CHARS) {
		memcpy(at, j->text, j->len < f->size ? j->len : f->size - 1);
		return 0;
	}
	store_pointer(at, arena_strndup(r->mem, j->text, j->len));
	if (f->type == FIELD_BYTES)
		store_count(f, base, j->len);
	return 0;
}

static int read_list(
	const struct reading *r, const struct field *f, const struct json *j, char *base)
{
	size_t each = f->type == FIELD_TEXTS ? sizeof(char *) : f->of->size, n = 0;
	char *list;

	if (!json_is(j, JSON_ARRAY) || j->n > f->most)
		return refuse_field(r, f, "a list of its length");
	list = arena_array(r->mem, j->n + 1, each);
	for (const struct json *i = j->first; i; i = i->next, n++) {
		if (f->type == FIELD_LIST && read_members(r, f->of, i, list + n * each) < 0)
			return err_wrap(r->e, "%s[%zu]", f->name, n);
		if (f->type == FIELD_TEXTS && !json_is(i, JSON_STRING))
			return refuse_field(r, f, "a list of texts");
		if (f->type == FIELD_TEXTS)
			store_pointer(list + n * each, arena_strndup(r->mem, i->text, i->len));
	}
	store_pointer(base + f->offset, list);
	store_count(f, base, n);
	return 0;
}

static int read_own(const struct reading *r, const struct field *f, const struct json *j, char *at)
{
	char *own = arena_alloc(r->mem, f->of->size);

	store_pointer(at, own);
	return read_members(r, f->of, j, own) < 0 ? err_wrap(r->e, "%s", f->name) : 0;
}

static int read_row_number(
	const struct reading *r, const struct field *f, const struct json *j, char *at)
{
	int64_t row;

	if (!r->snapshot || !json_integer(j, &row) || row < 1 ||
		(uint64_t)row > r->snapshot->ncontainers)
		return refuse_field(r, f, "a container of this snapshot");
	store_pointer(at, &r->snapshot->containers[row - 1]);
	return 0;
}

static int read_field(
	const struct reading *r, const struct field *f, const struct json *j, char *base)
{
	char *at = base + f->offset;
	double v;

	switch (f->type) {
	case FIELD_BOOL: *at = json_is(j, JSON_TRUE); return 0;
	case FIELD_INT: return read_int(r, f, j, at);
	case FIELD_ENUM:
		if (f->word)
			return read_enum_word(r, f, j, at);
		/* fall through */
	case FIELD_UINT: return read_uint(r, f, j, at);
	case FIELD_REAL:
		if (!json_real(j, &v))
			return refuse_field(r, f, "a number in its range");
		memcpy(at, &v, sizeof v);
		return 0;
	case FIELD_FLOATS:
	case FIELD_SHORTS: return read_numbers(r, f, j, base);
	case FIELD_TEXTS:
	case FIELD_LIST: return read_list(r, f, j, base);
	case FIELD_PART:
		return read_members(r, f->of, j, at) < 0 ? err_wrap(r->e, "%s", f->name) : 0;
	case FIELD_OWN: return read_own(r, f, j, at);
	case FIELD_ROW: return read_row_number(r, f, j, at);
	case FIELD_NONE: return 0;
	default: return read_text(r, f, j, base);
	}
}

/* What is not there: texts are "", and so are those of parts. */
static void leave_field(const struct reading *r, const struct field *f, char *base)
{
	if (f->type == FIELD_TEXT || f->type == FIELD_BYTES)
		store_pointer(base + f->offset, "");
	else if (f->type == FIELD_PART)
		read_members(r, f->of, NULL, base + f->offset);
}

static int read_members(
	const struct reading *r, const struct shape *s, const struct json *j, char *base)
{
	if (j && !json_is(j, JSON_OBJECT))
		return err_set(r->e, ERR_USAGE, "there is no object");
	for (size_t i = 0; i < s->n; i++) {
		const struct json *m = json_member(j, s->field[i].name);

		if (!m)
			leave_field(r, &s->field[i], base);
		else if (read_field(r, &s->field[i], m, base) < 0)
			return -1;
	}
	return 0;
}

int shape_read(
	const struct shape *s, const struct json *j, struct arena *mem, void *to, struct err *e)
{
	const struct reading r = {mem, s == &shape_snapshot ? to : NULL, e};

	return read_members(&r, s, j, to);
}
