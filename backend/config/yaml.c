/*
 * yaml.c - parses YAML into a tree of nodes with line numbers.
 *
 * libyaml's events are read one by one, so every limit stops the reading where it is passed.  An
 * alias shares the children of its anchor, but counts as if they were copied: nobody who walks the
 * tree later meets more than NODES_MAX values.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include <berth/check.h>
#include <berth/config.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#include "config/node.h"

#define FILE_MAX ((size_t)1 << 20)
#define NODES_MAX 100000
#define DEPTH_MAX 32
#define ANCHORS_MAX 1000

struct anchor {
	const char *name;
	const struct node *node; /* NULL while it is still being read */
	size_t nodes;            /* values in it, itself included */
	int height;              /* levels below it */
};

struct reader {
	struct config *c;
	yaml_parser_t parser;
	yaml_event_t event; /* the one in hand; valid when `held` */
	bool held;
	size_t nodes;
	size_t nanchors;
	struct anchor anchors[ANCHORS_MAX];
};

static int fail_at(const struct reader *r, yaml_mark_t at, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static int fail_at(const struct reader *r, yaml_mark_t at, struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	config_verr(r->c, (int)at.line + 1, (int)at.column + 1, e, fmt, ap);
	va_end(ap);
	return -1;
}

static int syntax_err(const struct reader *r, struct err *e)
{
	const yaml_parser_t *p = &r->parser;
	const char *problem = p->problem ? p->problem : "it cannot be read";

	if (p->context)
		return fail_at(r, p->problem_mark, e,
			"not valid YAML: %s (%s that begins in line %d).", problem, p->context,
			(int)p->context_mark.line + 1);
	return fail_at(r, p->problem_mark, e, "not valid YAML: %s.", problem);
}

/* Make the next event the one in hand. */
static int read_event(struct reader *r, struct err *e)
{
	if (r->held)
		yaml_event_delete(&r->event);
	r->held = false;
	if (!yaml_parser_parse(&r->parser, &r->event))
		return syntax_err(r, e);
	r->held = true;
	return 0;
}

static struct node *new_node(struct reader *r, enum node_kind kind)
{
	struct node *n = arena_alloc(&r->c->mem, sizeof *n);

	n->kind = kind;
	n->line = (int)r->event.start_mark.line + 1;
	n->column = (int)r->event.start_mark.column + 1;
	n->value = "";
	return n;
}

static int count_nodes(struct reader *r, size_t more, int depth, struct err *e)
{
	if (depth > DEPTH_MAX)
		return fail_at(r, r->event.start_mark, e,
			"found more than %d levels, expected less nesting.", DEPTH_MAX);
	r->nodes += more;
	if (r->nodes > NODES_MAX)
		return fail_at(r, r->event.start_mark, e,
			"found more than %d values (aliases count as what they stand for), expected a "
			"smaller file.",
			NODES_MAX);
	return 0;
}

/* An anchor is entered before its value is read, so that a reference to itself is noticed. */
static int open_anchor(struct reader *r, const yaml_char_t *name, size_t *slot, struct err *e)
{
	*slot = ANCHORS_MAX;
	if (!name)
		return 0;
	if (r->nanchors == ANCHORS_MAX)
		return fail_at(r, r->event.start_mark, e,
			"found more than %d anchors, expected fewer.", ANCHORS_MAX);
	*slot = r->nanchors++;
	r->anchors[*slot].name = arena_strdup(&r->c->mem, (const char *)name);
	return 0;
}

static void close_anchor(
	struct reader *r, size_t slot, const struct node *n, size_t before, int height)
{
	if (slot == ANCHORS_MAX)
		return;
	r->anchors[slot].node = n;
	r->anchors[slot].nodes = r->nodes - before;
	r->anchors[slot].height = height;
}

static int no_tag(struct reader *r, const yaml_char_t *tag, struct err *e)
{
	char shown[64];

	if (!tag)
		return 0;
	return fail_at(r, r->event.start_mark, e,
		"found the tag \"%s\", expected a plain value: tags are not supported.",
		text_clean(shown, sizeof shown, (const char *)tag));
}

/* The spellings of YAML's null. */
static bool is_null(const char *text)
{
	return !strcmp(text, "~") || !strcmp(text, "null") || !strcmp(text, "Null") ||
		!strcmp(text, "NULL");
}

static int read_scalar(struct reader *r, struct node **ret, struct err *e)
{
	const char *text = (const char *)r->event.data.scalar.value;
	size_t len = r->event.data.scalar.length;

	if (no_tag(r, r->event.data.scalar.tag, e) < 0)
		return -1;
	if (memchr(text, 0, len))
		return fail_at(r, r->event.start_mark, e,
			"found a NUL character (\\0) in a text, expected none.");
	*ret = new_node(r, NODE_SCALAR);
	(*ret)->value = arena_strndup(&r->c->mem, text, len);
	(*ret)->quoted = r->event.data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
	return 0;
}

static int read_alias(struct reader *r, int depth, int *height, struct node **ret, struct err *e)
{
	const char *name = (const char *)r->event.data.alias.anchor;
	const struct anchor *a = NULL;
	char shown[64];

	/* The latest anchor of that name counts. */
	for (size_t i = r->nanchors; i-- > 0 && !a;)
		if (!strcmp(r->anchors[i].name, name))
			a = &r->anchors[i];
	text_clean(shown, sizeof shown, name);
	if (!a)
		return fail_at(r, r->event.start_mark, e,
			"found the alias *%s, expected an anchor &%s before it.", shown, shown);
	if (!a->node)
		return fail_at(r, r->event.start_mark, e,
			"found the alias *%s inside of its own anchor, expected it after the end of &%s.",
			shown, shown);
	if (count_nodes(r, a->nodes - 1, depth + a->height, e) < 0)
		return -1;
	*height = a->height;
	*ret = arena_alloc(&r->c->mem, sizeof **ret);
	**ret = *a->node;
	(*ret)->key = NULL;
	return 0;
}

static int compare_keys(const void *a, const void *b)
{
	const struct node *const *x = a, *const *y = b;
	int order = strcmp((*x)->key, (*y)->key);

	if (order)
		return order;
	if ((*x)->key_line != (*y)->key_line)
		return (*x)->key_line < (*y)->key_line ? -1 : 1;
	return (*x)->key_column - (*y)->key_column;
}

/* Sorted, because a hostile file may hold a hundred thousand keys. */
static int no_duplicates(struct reader *r, const struct node *map, struct err *e)
{
	AUTO_FREE struct node **sorted = xreallocarray(NULL, map->n, sizeof *sorted);
	const struct node *first = NULL, *again = NULL;
	char shown[64];

	if (map->n)
		memcpy(sorted, map->child, map->n * sizeof *sorted);
	mem_sort(sorted, map->n, sizeof *sorted, compare_keys);
	for (size_t i = 1; i < map->n; i++) {
		const struct node *n = sorted[i];

		if (strcmp(n->key, sorted[i - 1]->key) != 0)
			continue;
		if (again &&
			(n->key_line > again->key_line ||
				(n->key_line == again->key_line &&
					n->key_column > again->key_column)))
			continue;
		again = n;
		first = sorted[i - 1];
	}
	if (!again)
		return 0;
	return config_err(r->c, again->key_line, again->key_column, e,
		"duplicate key \"%s\": it is already in line %d.",
		text_clean(shown, sizeof shown, again->key), first->key_line);
}

static int read_node(struct reader *r, int depth, int *height, struct node **ret, struct err *e);

/* Take the key in hand and go on to its value. */
static int read_map_key(struct reader *r, struct node *key, struct err *e)
{
	struct node *text;

	if (r->event.type != YAML_SCALAR_EVENT)
		return fail_at(r, r->event.start_mark, e,
			"found a key that is not a plain word, expected `key: value`.");
	if (read_scalar(r, &text, e) < 0)
		return -1;
	if (!*text->value) /* NOLINT(clang-analyzer-core.NullDereference): -1 above when not set */
		return fail_at(
			r, r->event.start_mark, e, "found an empty key, expected `key: value`.");
	if (!text->quoted && !strcmp(text->value, "<<"))
		return fail_at(r, r->event.start_mark, e,
			"found a merge key (<<), expected the keys themselves: merge keys are not supported.");
	key->key = text->value;
	key->key_line = text->line;
	key->key_column = text->column;
	return read_event(r, e);
}

/* The children of a map or list, up to its end event. */
static int read_children(
	struct reader *r, struct node *parent, int depth, int *height, struct err *e)
{
	yaml_event_type_t end =
		parent->kind == NODE_MAP ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT;
	AUTO_FREE struct node **child = NULL;
	size_t cap = 0;

	if (read_event(r, e) < 0)
		return -1;
	while (r->event.type != end) {
		struct node key = {.key = NULL}, *value;
		int below = 0;

		if (parent->kind == NODE_MAP && read_map_key(r, &key, e) < 0)
			return -1;
		if (read_node(r, depth + 1, &below, &value, e) < 0)
			return -1;
		value->key = key.key;
		value->key_line = key.key_line;
		value->key_column = key.key_column;
		child = mem_grow(child, &cap, parent->n + 1, sizeof *child);
		child[parent->n++] = value;
		if (below + 1 > *height)
			*height = below + 1;
		if (read_event(r, e) < 0)
			return -1;
	}
	parent->child = arena_array(&r->c->mem, parent->n, sizeof *child);
	if (child)
		memcpy(parent->child, child, parent->n * sizeof *child);
	return parent->kind == NODE_MAP ? no_duplicates(r, parent, e) : 0;
}

/* The value whose first event is in hand; leaves its last event in hand. */
static int read_node(struct reader *r, int depth, int *height, struct node **ret, struct err *e)
{
	bool map = r->event.type == YAML_MAPPING_START_EVENT;
	size_t slot, before = r->nodes;

	*height = 0;
	if (count_nodes(r, 1, depth, e) < 0)
		return -1;
	if (r->event.type == YAML_ALIAS_EVENT)
		return read_alias(r, depth, height, ret, e);
	if (r->event.type == YAML_SCALAR_EVENT) {
		if (open_anchor(r, r->event.data.scalar.anchor, &slot, e) < 0 ||
			read_scalar(r, ret, e) < 0)
			return -1;
		if (!(*ret)->quoted && is_null((*ret)->value))
			(*ret)->value = "";
		close_anchor(r, slot, *ret, before, 0);
		return 0;
	}
	if (no_tag(r, map ? r->event.data.mapping_start.tag : r->event.data.sequence_start.tag, e) <
			0 ||
		open_anchor(r,
			map ? r->event.data.mapping_start.anchor
			    : r->event.data.sequence_start.anchor,
			&slot, e) < 0)
		return -1;
	*ret = new_node(r, map ? NODE_MAP : NODE_LIST);
	if (read_children(r, *ret, depth, height, e) < 0)
		return -1;
	close_anchor(r, slot, *ret, before, *height);
	return 0;
}

/* STREAM-START [DOCUMENT-START node DOCUMENT-END] STREAM-END */
static int read_stream(struct reader *r, struct err *e)
{
	int height;

	if (read_event(r, e) < 0 || read_event(r, e) < 0)
		return -1;
	if (r->event.type == YAML_STREAM_END_EVENT)
		return 0;
	if (read_event(r, e) < 0)
		return -1;
	/* A document of comments alone, or `---`, is an empty one. */
	if (r->event.type == YAML_SCALAR_EVENT && !r->event.data.scalar.length &&
		r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		;
	else if (r->event.type != YAML_MAPPING_START_EVENT)
		return fail_at(r, r->event.start_mark, e,
			"found %s at the top, expected `key: value` lines.",
			r->event.type == YAML_SEQUENCE_START_EVENT ? "a list" : "a single value");
	else if (read_node(r, 1, &height, &r->c->root, e) < 0)
		return -1;
	if (read_event(r, e) < 0 || read_event(r, e) < 0)
		return -1;
	if (r->event.type != YAML_STREAM_END_EVENT)
		return fail_at(r, r->event.start_mark, e,
			"found a second document (---), expected one document in the file.");
	return 0;
}

/* What libyaml would refuse with a byte offset only, or guess an encoding from. */
static int check_bytes(const struct config *c, const char *s, size_t n, struct err *e)
{
	int line = 1, column = 1;

	for (size_t i = 0; i < n;) {
		size_t from = i;
		uint32_t cp;

		i += utf8_next(s + i, n - i, &cp);
		if (cp == '\n' || (cp == '\r' && !(i < n && s[i] == '\n'))) {
			line++;
			column = 1;
			continue;
		}
		if (cp == TEXT_BAD && i - from == 1)
			return config_err(c, line, column, e,
				"found the byte 0x%02x, expected UTF-8 text.",
				(unsigned)(unsigned char)s[from]);
		if ((cp < 0x20 && cp != '\t' && cp != '\r') || (cp >= 0x7F && cp < 0xA0) ||
			cp == 0xFEFF || (cp & 0xFFFE) == 0xFFFE)
			return config_err(c, line, column, e,
				"found the control character U+%04X, expected text.", (unsigned)cp);
		column++;
	}
	return 0;
}

int config_parse(const char *name, const char *text, size_t n, struct config *ret, struct err *e)
{
	struct config c;
	struct reader *r;
	int rc;

	arena_init(&c.mem, 4096);
	c.file = arena_strdup(&c.mem, name);
	c.root = arena_alloc(&c.mem, sizeof *c.root);
	*c.root = (struct node){.kind = NODE_MAP, .line = 1, .column = 1, .value = ""};
	if (n >= 3 && !memcmp(text, "\xEF\xBB\xBF", 3)) {
		text += 3;
		n -= 3;
	}
	if (n > FILE_MAX)
		rc = config_err(&c, 1, 1, e, "found %zu bytes, expected at most %zu.", n, FILE_MAX);
	else
		rc = check_bytes(&c, text, n, e);
	if (rc == 0) {
		r = xcalloc(1, sizeof *r);
		r->c = &c;
		if (!yaml_parser_initialize(&r->parser))
			check_die("berth: out of memory"); /* the only way it fails */
		yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
		yaml_parser_set_input_string(&r->parser, (const unsigned char *)text, n);
		rc = read_stream(r, e);
		if (r->held)
			yaml_event_delete(&r->event);
		yaml_parser_delete(&r->parser);
		free(r);
	}
	if (rc < 0) {
		config_release(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void config_release(struct config *c)
{
	if (!c)
		return;
	arena_release(&c->mem);
	c->root = NULL;
	c->file = NULL;
}

int config_read(const char *file, struct config *ret, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;

	if (file_read(AT_FDCWD, file, 0, FILE_MAX, &text, e) < 0) {
		if (e)
			e->kind = ERR_CONFIG;
		return -1;
	}
	return config_parse(file, text.s, text.len, ret, e);
}
