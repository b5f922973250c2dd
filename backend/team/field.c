/* field.c - reads YAML maps by a table of fields. */
#include "team/field.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <berth/mem.h>
#include <berth/str.h>
#include <berth/team.h>

#define KEYS_MAX 64

static const char *kind_name(const struct node *n)
{
	if (n->kind == NODE_SCALAR)
		return *n->value ? "a single value" : "nothing";
	return n->kind == NODE_MAP ? "keys with values" : "a list";
}

int field_expect_map(const struct reader *r, const struct node *n, struct err *e)
{
	if (n->kind == NODE_MAP || (n->kind == NODE_SCALAR && !*n->value))
		return 0;
	return node_err(r->c, n, e, "found %s, expected keys with values.", kind_name(n));
}

/* "..", as the kernel walks it: from where a link leads to, not from where it stands. */
static void climb_path(struct str *at)
{
	AUTO_FREE char *real = NULL;
	struct stat st;
	char *slash;

	if (!lstat(at->len ? at->s : "/", &st) && S_ISLNK(st.st_mode) &&
		(real = realpath(at->s, NULL))) {
		str_clear(at);
		str_adds(at, real);
	}
	slash = at->len ? strrchr(at->s, '/') : NULL;
	if (slash) {
		*slash = '\0';
		at->len = (size_t)(slash - at->s);
	}
}

const char *field_path(const struct reader *r, const char *path)
{
	AUTO_STR struct str all = STR_INIT, out = STR_INIT;
	char *save = NULL;

	if (path[0] == '~' && (path[1] == '/' || !path[1]) && getenv("HOME"))
		str_addf(&all, "%s%s", getenv("HOME"), path + 1);
	else if (path[0] == '/')
		str_adds(&all, path);
	else
		str_addf(&all, "%s/%s", r->base, path);
	for (char *part = strtok_r(all.s, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
		if (!strcmp(part, ".."))
			climb_path(&out);
		else if (strcmp(part, ".") != 0)
			str_addf(&out, "/%s", part);
	}
	return arena_strdup(r->mem, out.len ? out.s : "/");
}

static int read_words(
	const struct reader *r, const struct node *n, struct words *out, struct err *e)
{
	size_t count = n->kind == NODE_LIST ? n->n : 1;
	const char **word = arena_array(r->mem, count, sizeof *word);

	if (n->kind == NODE_MAP)
		return node_err(
			r->c, n, e, "found keys with values, expected a list such as [a, b].");
	for (size_t i = 0; i < count; i++) {
		const struct node *item = n->kind == NODE_LIST ? n->child[i] : n;

		if (item->kind != NODE_SCALAR || (!*item->value && !item->quoted))
			return node_err(
				r->c, item, e, "found %s, expected a word.", kind_name(item));
		word[i] = arena_strdup(r->mem, item->value);
	}
	*out = (struct words){count, word};
	return 0;
}

static int read_amount(const struct reader *r, const struct field *f, const struct node *n,
	uint64_t *out, struct err *e)
{
	uint64_t v;

	if (node_bytes(r->c, n, &v, e))
		return -1;
	if ((double)v < f->min || (double)v > f->max)
		return node_err(r->c, n, e, "found \"%s\", expected an amount from %.0fm to %.0fg.",
			n->value, f->min / (1 << 20), f->max / (1 << 30));
	*out = v;
	return 0;
}

int field_one(const struct reader *r, const struct field *f, const struct node *n, void *at,
	struct err *e)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_PATH:
		if (n->kind != NODE_SCALAR || !*n->value)
			return node_err(r->c, n, e, "found %s, expected %s.", kind_name(n),
				f->type == FIELD_TEXT ? "a word" : "a path");
		*(const char **)at = f->type == FIELD_TEXT ? arena_strdup(r->mem, n->value)
							   : field_path(r, n->value);
		return 0;
	case FIELD_BOOL: return node_bool(r->c, n, at, e);
	case FIELD_INT: return node_int(r->c, n, (int64_t)f->min, (int64_t)f->max, at, e);
	case FIELD_NUMBER: return node_double(r->c, n, f->min, f->max, at, e);
	case FIELD_BYTES: return read_amount(r, f, n, at, e);
	case FIELD_CHOICE: return node_choice(r->c, n, f->words, at, e);
	case FIELD_WORDS: return read_words(r, n, at, e);
	case FIELD_NESTED: return f->read(r, n, at, e);
	}
	return 0;
}

int field_go_on(const struct reader *r, struct err *e)
{
	if (!r->found)
		return -1;
	r->found->tell(r->found->ctx, e);
	((struct team_found *)(uintptr_t)r->found)->n++;
	*e = (struct err)ERR_INIT;
	return 0;
}

/* The key is none of the table's: said with the nearest of them. */
static int refuse_key(
	const struct reader *r, const struct node *n, const struct field *fields, struct err *e)
{
	struct node one = {
		.kind = NODE_MAP, .n = 1, .child = (struct node *[]){(struct node *)(uintptr_t)n}};
	const char *known[KEYS_MAX];
	size_t i = 0;

	for (; fields[i].key && i < KEYS_MAX - 1; i++)
		known[i] = fields[i].key;
	known[i] = NULL;
	return node_unknown(r->c, &one, known, e);
}

int field_read_known(const struct reader *r, const struct node *map, const struct field *fields,
	void *out, int (*other)(const struct reader *r, const struct node *n, struct err *e),
	struct err *e)
{
	if (field_expect_map(r, map, e))
		return -1;
	for (size_t i = 0; map->kind == NODE_MAP && i < map->n; i++) {
		const struct node *n = map->child[i];
		const struct field *f = fields;

		while (f->key && strcmp(f->key, n->key))
			f++;
		if ((f->key                 ? field_one(r, f, n, (char *)out + f->offset, e)
				    : other ? other(r, n, e)
					    : refuse_key(r, n, fields, e)) &&
			field_go_on(r, e))
			return -1;
	}
	return 0;
}

int field_read(const struct reader *r, const struct node *map, const struct field *fields,
	void *out, struct err *e)
{
	return field_read_known(r, map, fields, out, NULL, e);
}
