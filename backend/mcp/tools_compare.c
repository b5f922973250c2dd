/* tools_compare.c - compares two files or two directories. */
#include <stdlib.h>
#include <string.h>

#include <berth/diff.h>
#include <berth/mem.h>

#include "mcp/tools_files.h"

#define COMPARE_MOST ((uint64_t)16 << 20)
#define LISTED_MOST 1000 /* names of each kind in one answer */
#define BATCH 64         /* pairs of files that are read at once */

#define LINE_BYTES 100

int lines_fit(struct call *c, const struct files_got *g, struct err *e)
{
	size_t n = 0;

	for (const char *at = g->bytes, *end = at + g->len;
		(at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
		n++;
	return n * LINE_BYTES > g->len ? budget_more(c, n * LINE_BYTES - g->len, e) : 0;
}

int tool_compare_files(struct call *c, struct err *e)
{
	struct files_reading *a = NULL, *b = NULL;
	struct place_in first, second;
	struct change *changes;
	int rc;

	if (call_place(c, "file1", REACH_READ, &first, e) ||
		call_place(c, "file2", REACH_READ, &second, e))
		return -1;
	rc = read_whole_place(c, &first, COMPARE_MOST, &a, e) ||
		read_whole_place(c, &second, COMPARE_MOST, &b, e) ||
		lines_fit(c, &a->items[0], e) || lines_fit(c, &b->items[0], e);
	if (!rc) {
		const struct files_got *x = &a->items[0], *y = &b->items[0];
		bool equal = x->len == y->len && !memcmp(x->bytes, y->bytes, x->len);
		bool binary = files_judge(x->bytes, x->len) != FILES_TEXT ||
			files_judge(y->bytes, y->len) != FILES_TEXT;
		AUTO_STR struct str diff = STR_INIT;

		if (!equal && !binary) {
			size_t n = diff_lines(x->bytes, x->len, y->bytes, y->len, &changes);

			diff_unified(&diff, second.path + 1, x->bytes, x->len, y->bytes, y->len,
				changes, n);
			free(changes);
		}
		jsonw_bool(&c->out, "equal", equal);
		jsonw_bool(&c->out, "binary", binary);
		jsonw_uint(&c->out, "bytes1", x->len);
		jsonw_uint(&c->out, "bytes2", y->len);
		jsonw_textn(&c->out, "diff", diff.s, diff.len);
	}
	files_reading_free(a);
	files_reading_free(b);
	return rc ? -1 : 0;
}

/* -- directories ----------------------------------------------------------------------------------- */

struct side_entry {
	char *path; /* below the directory */
	enum files_type type;
	uint64_t size;
};

struct side {
	struct place_in place;
	struct side_entry *v;
	size_t n, cap;
};

static int compare_side_entries(const void *a, const void *b)
{
	return strcmp(((const struct side_entry *)a)->path, ((const struct side_entry *)b)->path);
}

static int scan_side(struct call *c, const char *name, struct side *s, struct err *e)
{
	struct files_scan_options o = {.meta = true};
	struct files_entry it;
	struct files_scan *scan;
	size_t skip;

	if (call_place(c, name, REACH_READ, &s->place, e))
		return -1;
	o.filter.excludes = call_texts(c, "exclude", &o.filter.nexcludes);
	if (files_look(s->place.root, s->place.rel, &it, e))
		return -1;
	if (it.type != FILES_DIR)
		return err_set(e, ERR_REFUSED, "%.200s is not a directory.", s->place.path);
	if (files_scan(call_files(c), s->place.root, place_start(&s->place), &o, &scan, e))
		return -1;
	skip = strlen(place_start(&s->place));
	while (!call_cancelled(c) && files_scan_next(scan, &it)) {
		const char *path = it.path + skip;

		path += *path == '/';
		if (!*path || !strcmp(path, "."))
			continue;
		s->v = mem_grow(s->v, &s->cap, s->n + 1, sizeof *s->v);
		s->v[s->n++] = (struct side_entry){xstrdup(path), it.type, it.size};
	}
	files_scan_free(scan);
	mem_sort(s->v, s->n, sizeof *s->v, compare_side_entries);
	return 0;
}

static void release_side(struct side *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].path);
	free(s->v);
}

struct name_list {
	struct str json; /* strings with commas between */
	size_t n;
};

static void add_name(struct name_list *l, const char *name)
{
	if (l->n++ >= LISTED_MOST)
		return;
	if (l->json.len)
		str_adds(&l->json, ", ");
	jsonw_quote(&l->json, name, strlen(name));
}

struct pairs {
	struct call *c;
	const struct side *side[2];
	const struct side_entry *v[BATCH];
	size_t n;
	struct name_list differ;
	uint64_t equal;
};

static int read_pairs(struct pairs *p, int side, struct files_reading **ret, struct err *e)
{
	const struct files_read_options o = {.max_file_bytes = COMPARE_MOST};
	struct files_want want[BATCH] = {{0}};
	AUTO_STR struct str all = STR_INIT;
	const char *start = place_start(&p->side[side]->place);
	size_t at[BATCH];

	for (size_t i = 0; i < p->n; i++) {
		at[i] = all.len;
		str_addf(&all, "%s%s%s", start, *start ? "/" : "", p->v[i]->path);
		str_addc(&all, '\0');
	}
	for (size_t i = 0; i < p->n; i++)
		want[i].path = all.s + at[i];
	return files_read(call_files(p->c), p->side[side]->place.root, want, p->n, &o, ret, e);
}

/* Files of equal size.  What cannot be read, or is larger than what is compared, counts as different. */
static int compare_pairs(struct pairs *p, struct err *e)
{
	struct files_reading *a = NULL, *b = NULL;
	int rc = 0;

	if (p->n)
		rc = read_pairs(p, 0, &a, e) || read_pairs(p, 1, &b, e);
	for (size_t i = 0; !rc && i < p->n; i++) {
		const struct files_got *x = &a->items[i], *y = &b->items[i];

		if (!x->err && !y->err && !x->clipped && !y->clipped && x->len == y->len &&
			!memcmp(x->bytes, y->bytes, x->len))
			p->equal++;
		else
			add_name(&p->differ, p->v[i]->path);
	}
	files_reading_free(a);
	files_reading_free(b);
	p->n = 0;
	return rc ? -1 : 0;
}

static int compare_both(
	struct pairs *p, const struct side_entry *a, const struct side_entry *b, struct err *e)
{
	if (a->type != b->type || (a->type == FILES_FILE && a->size != b->size)) {
		add_name(&p->differ, a->path);
		return 0;
	}
	if (a->type != FILES_FILE)
		return 0;
	p->v[p->n++] = a;
	return p->n == BATCH ? compare_pairs(p, e) : 0;
}

static void put_names(struct jsonw *j, const char *key, struct name_list *l)
{
	AUTO_STR struct str array = STR_INIT;

	str_addf(&array, "[%s]", l->json.s);
	jsonw_raw(j, key, array.s);
	str_release(&l->json);
}

static int compare_sides(struct call *c, const struct side *a, const struct side *b, struct err *e)
{
	struct name_list only[2] = {{.json = STR_INIT}, {.json = STR_INIT}};
	struct pairs p = {.c = c, .side = {a, b}, .differ = {.json = STR_INIT}};
	size_t i = 0, k = 0;
	int rc = 0;

	while (!rc && (i < a->n || k < b->n)) {
		if (call_cancelled(c)) {
			rc = err_set(e, ERR_CANCELLED, "cancelled");
			break;
		}
		int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->v[i].path, b->v[k].path);

		if (order < 0)
			add_name(&only[0], a->v[i++].path);
		else if (order > 0)
			add_name(&only[1], b->v[k++].path);
		else
			rc = compare_both(&p, &a->v[i++], &b->v[k++], e);
	}
	rc = rc || compare_pairs(&p, e);
	jsonw_bool(&c->out, "equal", !only[0].n && !only[1].n && !p.differ.n);
	jsonw_uint(&c->out, "equal_files", p.equal);
	jsonw_bool(&c->out, "truncated",
		only[0].n > LISTED_MOST || only[1].n > LISTED_MOST || p.differ.n > LISTED_MOST);
	put_names(&c->out, "only_in_dir1", &only[0]);
	put_names(&c->out, "only_in_dir2", &only[1]);
	put_names(&c->out, "different", &p.differ);
	return rc ? -1 : 0;
}

int tool_compare_directories(struct call *c, struct err *e)
{
	struct side a = {0}, b = {0};
	int rc = scan_side(c, "dir1", &a, e) || scan_side(c, "dir2", &b, e) ||
		compare_sides(c, &a, &b, e);

	release_side(&a);
	release_side(&b);
	return rc ? -1 : 0;
}
