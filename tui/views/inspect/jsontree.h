/*
 * jsontree.h - a JSON text as a tree that can be folded, for the inspect view.
 *
 * A tolerant tokenizer of our own over the text as it came: numbers and strings are slices of it,
 * so that 64-bit values and key order survive.  Broken or cut JSON gives the part that could be
 * read and says where it ended.  Limits: 16 MiB, 200,000 nodes, depth 64.
 *
 * Thread: main.
 */
#ifndef INSPECT_JSONTREE_H
#define INSPECT_JSONTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <berth/str.h>

#define JSON_BYTES_MAX (16u << 20)
#define JSON_NODES_MAX 200000u
#define JSON_DEPTH_MAX 64

enum json_kind { JSON_OBJECT, JSON_LIST, JSON_STRING, JSON_NUMBER, JSON_WORD };

struct json_node {
	uint8_t kind, depth;
	bool open;                 /* folded out; objects and lists */
	uint32_t parent;           /* the root is its own */
	uint32_t end;              /* the first node after this one and all below it */
	uint32_t children;         /* objects and lists */
	uint32_t place;            /* in its parent, from 0 */
	uint32_t key, key_len;     /* without quotes, still escaped; in a list: none */
	uint32_t value, value_len; /* scalars; strings without quotes, still escaped */
};

struct jsontree {
	char *text;
	size_t len;
	struct json_node *node; /* in the order of the text */
	size_t count, cap;
	const char *problem; /* where and why reading stopped, or NULL */
	uint32_t problem_at;
	uint32_t *row; /* nodes that are visible, in order */
	size_t nrows, row_cap;
};

void jsontree_init(struct jsontree *t);
void jsontree_release(struct jsontree *t);
/* Copies the text.  Nodes of depth below `open_depth` are folded out. */
void jsontree_read(struct jsontree *t, const char *text, size_t n, int open_depth);

/* Fold one node, or all nodes from a depth on; the rows follow. */
void jsontree_fold(struct jsontree *t, uint32_t node, bool open);
void jsontree_fold_depth(struct jsontree *t, int open_depth);
/* Fold out all above `node`, so that it has a row; returns that row. */
size_t jsontree_reveal(struct jsontree *t, uint32_t node);
size_t jsontree_row_of(const struct jsontree *t, uint32_t node); /* nrows when it is hidden */

/* Append the scalar unescaped (invalid escapes stay as they are). */
void jsontree_value(const struct jsontree *t, uint32_t node, struct str *out);
/* ".Config.Env[3]", as jq writes it. */
void jsontree_path(const struct jsontree *t, uint32_t node, struct str *out);
/* The text of this node and all below it, indented by two blanks, secrets masked. */
void jsontree_print(const struct jsontree *t, uint32_t node, struct str *out);

/* Is this string "NAME=value" in a list called Env, or a value under a name, that looks secret?
 * Then how many bytes of the (escaped) value may be shown; else value_len. */
uint32_t jsontree_shown_len(const struct jsontree *t, uint32_t node);

#endif
