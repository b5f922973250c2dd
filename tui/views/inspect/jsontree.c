/* jsontree.c - parses JSON into a foldable tree, tolerantly and within bounds. */
#include "views/inspect/jsontree.h"

#include <stdlib.h>
#include <string.h>

#include <berth/check.h>
#include <berth/mem.h>
#include <berth/text.h>

void jsontree_init(struct jsontree *t)
{
	memset(t, 0, sizeof *t);
}

void jsontree_release(struct jsontree *t)
{
	free(t->text);
	free(t->node);
	free(t->row);
	memset(t, 0, sizeof *t);
}

/* Reading: an iterative scan with the open node as its stack. */
struct reader {
	struct jsontree *t;
	size_t at;
	uint32_t key, key_len;
};

static int stop_reading(struct reader *r, const char *why)
{
	r->t->problem = why;
	r->t->problem_at = (uint32_t)r->at;
	return -1;
}

static void skip_blanks(struct reader *r)
{
	while (r->at < r->t->len && strchr(" \t\r\n", r->t->text[r->at]) && r->t->text[r->at])
		r->at++;
}

static char peek_char(struct reader *r)
{
	skip_blanks(r);
	return r->at < r->t->len ? r->t->text[r->at] : '\0';
}

/* At the opening quote; leaves the slice between the quotes. */
static int read_string(struct reader *r, uint32_t *at, uint32_t *len)
{
	const char *s = r->t->text;
	size_t i = r->at + 1;

	while (i < r->t->len && s[i] != '"')
		i += s[i] == '\\' ? 2 : 1;
	if (i >= r->t->len)
		return stop_reading(r, "a string without its closing quote");
	*at = (uint32_t)(r->at + 1);
	*len = (uint32_t)(i - r->at - 1);
	r->at = i + 1;
	return 0;
}

static int add_node(struct reader *r, enum json_kind kind, int64_t parent, struct json_node **ret)
{
	struct jsontree *t = r->t;
	struct json_node *n;

	if (t->count >= JSON_NODES_MAX)
		return stop_reading(r, "more values than berth shows");
	t->node = mem_grow(t->node, &t->cap, t->count + 1, sizeof *t->node);
	n = &t->node[t->count];
	memset(n, 0, sizeof *n);
	n->kind = (uint8_t)kind;
	n->key = r->key;
	n->key_len = r->key_len;
	r->key_len = 0;
	if (parent >= 0) {
		n->parent = (uint32_t)parent;
		n->depth = (uint8_t)(t->node[parent].depth + 1);
		n->place = t->node[parent].children++;
	}
	t->count++;
	n->end = (uint32_t)t->count;
	*ret = n;
	return 0;
}

static bool word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		c == '-' || c == '+' || c == '.' || c == '_';
}

/* One value at the cursor below `parent`; *open becomes its index when it is a container. */
static int read_value(struct reader *r, int64_t parent, int64_t *open)
{
	struct json_node *n;
	char c = peek_char(r);
	size_t start;

	if (c == '{' || c == '[') {
		if (parent >= 0 && r->t->node[parent].depth + 1 >= JSON_DEPTH_MAX)
			return stop_reading(r, "nesting deeper than berth shows");
		if (add_node(r, c == '{' ? JSON_OBJECT : JSON_LIST, parent, &n))
			return -1;
		r->at++;
		*open = (int64_t)r->t->count - 1;
		return 0;
	}
	if (c == '"') {
		uint32_t at, len;

		if (read_string(r, &at, &len) || add_node(r, JSON_STRING, parent, &n))
			return -1;
		n->value = at;
		n->value_len = len;
		return 0;
	}
	for (start = r->at; r->at < r->t->len && word_char(r->t->text[r->at]); r->at++)
		;
	if (r->at == start)
		return stop_reading(
			r, c ? "a character that starts no value" : "the text ends early");
	if (add_node(r, c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_WORD, parent, &n))
		return -1;
	n->value = (uint32_t)start;
	n->value_len = (uint32_t)(r->at - start);
	return 0;
}

/* Inside the container `open`: one more member, or its end.  Returns -1 when reading stops. */
static int read_member(struct reader *r, int64_t *open)
{
	struct json_node *n = &r->t->node[*open];
	bool object = n->kind == JSON_OBJECT;
	char c = peek_char(r);

	if (c == (object ? '}' : ']')) {
		r->at++;
		*open = *open ? (int64_t)n->parent : -1;
		return 0;
	}
	if (n->children) {
		if (c != ',')
			return stop_reading(r, c ? "a comma is missing" : "the text ends early");
		r->at++;
		c = peek_char(r);
	}
	if (object) {
		if (c != '"')
			return stop_reading(r, c ? "a name is missing" : "the text ends early");
		if (read_string(r, &r->key, &r->key_len))
			return -1;
		if (peek_char(r) != ':')
			return stop_reading(r, "a colon is missing");
		r->at++;
	}
	return read_value(r, *open, open);
}

/* Close all subtrees: a node ends where the next one that is not deeper begins. */
static void set_ends(struct jsontree *t)
{
	for (size_t i = t->count; i-- > 1;) {
		struct json_node *up = &t->node[t->node[i].parent];

		if (up->end < t->node[i].end)
			up->end = t->node[i].end;
	}
}

static void set_rows(struct jsontree *t)
{
	t->nrows = 0;
	if (t->row_cap < t->count)
		t->row = mem_grow(t->row, &t->row_cap, t->count, sizeof *t->row);
	for (uint32_t i = 0; i < t->count;) {
		bool folded = t->node[i].kind <= JSON_LIST && !t->node[i].open;

		t->row[t->nrows++] = i;
		i = folded ? t->node[i].end : i + 1;
	}
}

void jsontree_read(struct jsontree *t, const char *text, size_t n, int open_depth)
{
	struct reader r = {.t = t};
	int64_t open = -1;

	jsontree_release(t);
	t->len = n < JSON_BYTES_MAX ? n : JSON_BYTES_MAX;
	t->text = xmalloc(t->len + 1);
	memcpy(t->text, text, t->len);
	t->text[t->len] = '\0';
	if (!read_value(&r, -1, &open)) {
		while (open >= 0 && !read_member(&r, &open))
			;
		if (!t->problem && peek_char(&r))
			stop_reading(&r, "more text after the end");
	}
	set_ends(t);
	jsontree_fold_depth(t, open_depth);
}

void jsontree_fold(struct jsontree *t, uint32_t node, bool open)
{
	CHECK(node < t->count);
	t->node[node].open = open;
	set_rows(t);
}

void jsontree_fold_depth(struct jsontree *t, int open_depth)
{
	for (size_t i = 0; i < t->count; i++)
		t->node[i].open = t->node[i].depth < open_depth;
	set_rows(t);
}

size_t jsontree_row_of(const struct jsontree *t, uint32_t node)
{
	size_t low = 0, high = t->nrows;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->row[mid] < node)
			low = mid + 1;
		else
			high = mid;
	}
	return low < t->nrows && t->row[low] == node ? low : t->nrows;
}

size_t jsontree_reveal(struct jsontree *t, uint32_t node)
{
	CHECK(node < t->count);
	for (uint32_t i = node; i; i = t->node[i].parent)
		t->node[t->node[i].parent].open = true;
	set_rows(t);
	return jsontree_row_of(t, node);
}

static int parse_hex4(const char *s, size_t n, uint32_t *out)
{
	*out = 0;
	if (n < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef", *d;

		if (!s[i] || !(d = strchr(digits, s[i] | 0x20)) || s[i] < '0')
			return -1;
		*out = *out << 4 | (uint32_t)(d - digits);
	}
	return 0;
}

/* "\uXXXX", or two of them that make one character.  Returns bytes used, 0 when it is neither. */
static size_t unicode_escape(const char *s, size_t n, char put[4], size_t *len)
{
	uint32_t cp, low;
	size_t used = 6;

	if (n < 6 || parse_hex4(s + 2, n - 2, &cp))
		return 0;
	if (cp >= 0xD800 && cp < 0xDC00 && n >= 12 && s[6] == '\\' && s[7] == 'u' &&
		!parse_hex4(s + 8, n - 8, &low) && low >= 0xDC00 && low < 0xE000) {
		cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
		used = 12;
	} else if (cp >= 0xD800 && cp < 0xE000) {
		cp = TEXT_BAD;
	}
	*len = utf8_put(cp, put);
	return used;
}

static void unescape_text(const char *s, size_t n, struct str *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";

	for (size_t i = 0; i < n;) {
		const char *esc = memchr(s + i, '\\', n - i), *which;
		size_t stop_at = esc ? (size_t)(esc - s) : n, len, used;
		char put[4];

		str_add(out, s + i, stop_at - i);
		i = stop_at;
		if (i >= n)
			break;
		if (i + 1 < n && s[i + 1] && (which = strchr(from, s[i + 1]))) {
			str_addc(out, to[which - from]);
			i += 2;
		} else if (i + 1 < n && s[i + 1] == 'u' &&
			(used = unicode_escape(s + i, n - i, put, &len))) {
			str_add(out, put, len);
			i += used;
		} else {
			str_addc(out, s[i++]);
		}
	}
}

static bool key_is(const struct jsontree *t, uint32_t node, const char *word)
{
	const struct json_node *n = &t->node[node];

	return n->key_len == strlen(word) && !memcmp(t->text + n->key, word, n->key_len);
}

uint32_t jsontree_shown_len(const struct jsontree *t, uint32_t node)
{
	const struct json_node *n = &t->node[node];
	const char *s = t->text + n->value, *eq;
	char name[128];
	size_t len;

	if (n->kind != JSON_STRING || !node || !n->value_len)
		return n->value_len;
	if (t->node[n->parent].kind == JSON_LIST && key_is(t, n->parent, "Env")) {
		if (!(eq = memchr(s, '=', n->value_len)))
			return n->value_len;
		len = (size_t)(eq - s);
	} else if (n->key_len && t->node[n->parent].kind == JSON_OBJECT &&
		key_is(t, n->parent, "Labels")) {
		s = t->text + n->key;
		len = n->key_len;
		eq = NULL;
	} else {
		return n->value_len;
	}
	if (len >= sizeof name)
		len = sizeof name - 1;
	memcpy(name, s, len);
	name[len] = '\0';
	if (!text_looks_secret(name))
		return n->value_len;
	return eq ? (uint32_t)(eq + 1 - s) : 0;
}

#define MASK "******"

void jsontree_value(const struct jsontree *t, uint32_t node, struct str *out)
{
	const struct json_node *n = &t->node[node];
	uint32_t shown = jsontree_shown_len(t, node);

	if (n->kind == JSON_STRING)
		unescape_text(t->text + n->value, shown, out);
	else
		str_add(out, t->text + n->value, n->value_len);
	if (shown < n->value_len)
		str_adds(out, MASK);
}

static bool plain_key(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!word_char(s[i]) || s[i] == '-' || s[i] == '+' || s[i] == '.')
			return false;
	return n && !(s[0] >= '0' && s[0] <= '9');
}

void jsontree_path(const struct jsontree *t, uint32_t node, struct str *out)
{
	uint32_t up[JSON_DEPTH_MAX + 1];
	int depth = 0;

	for (uint32_t i = node; i; i = t->node[i].parent)
		up[depth++] = i;
	if (!depth)
		str_addc(out, '.');
	while (depth--) {
		const struct json_node *n = &t->node[up[depth]];
		const char *key = t->text + n->key;

		if (t->node[n->parent].kind == JSON_LIST)
			str_addf(out, "%s[%u]", n->depth == 1 ? "." : "", n->place);
		else if (plain_key(key, n->key_len))
			str_addf(out, ".%.*s", (int)n->key_len, key);
		else
			str_addf(out, "%s[\"%.*s\"]", n->depth == 1 ? "." : "", (int)n->key_len,
				key);
	}
}

static void print_scalar(const struct jsontree *t, uint32_t i, struct str *out)
{
	const struct json_node *n = &t->node[i];
	uint32_t shown = jsontree_shown_len(t, i);
	const char *quote = n->kind == JSON_STRING ? "\"" : "";

	str_adds(out, quote);
	str_add(out, t->text + n->value, shown);
	str_adds(out, shown < n->value_len ? MASK : "");
	str_adds(out, quote);
}

void jsontree_print(const struct jsontree *t, uint32_t node, struct str *out)
{
	uint32_t open[JSON_DEPTH_MAX + 1];
	int depth = 0;

	for (uint32_t i = node; i < t->node[node].end; i++) {
		const struct json_node *n = &t->node[i];

		if (i > node) {
			str_adds(out, n->place ? ",\n" : "\n");
			str_addf(out, "%*s", 2 * depth, "");
			if (t->node[n->parent].kind == JSON_OBJECT) {
				str_addc(out, '"');
				str_add(out, t->text + n->key, n->key_len);
				str_adds(out, "\": ");
			}
		}
		if (n->kind > JSON_LIST) {
			print_scalar(t, i, out);
		} else {
			str_addc(out, n->kind == JSON_OBJECT ? '{' : '[');
			open[depth++] = i;
		}
		while (depth && i + 1 == t->node[open[depth - 1]].end) {
			const struct json_node *done = &t->node[open[--depth]];

			if (done->children)
				str_addf(out, "\n%*s", 2 * depth, "");
			str_addc(out, done->kind == JSON_OBJECT ? '}' : ']');
		}
	}
	str_addc(out, '\n');
}
