/*
 * config.h - configuration as a plain tree with places, read from YAML.
 *
 * One parser (backend/config, libyaml) reads settings, themes, keys, team files and suites alike.
 * The tree lives in one arena; every node knows file, line and column, so that every reader can say
 * exactly where something is wrong.  Limits: 1 MiB, depth 32, 100,000 nodes, no aliases that expand
 * beyond that; duplicate keys are errors.  All scalars stay text: `no`, `off`, 0123 mean what they
 * say; but null and ~ without quotes are nothing, as if the value were left out.
 *
 * Thread: one owner at a time.
 */
#ifndef BERTH_CONFIG_H
#define BERTH_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"

enum node_kind { NODE_SCALAR, NODE_MAP, NODE_LIST };

struct node {
	enum node_kind kind;
	int line, column; /* from 1 */
	const char *key;  /* in a map; else NULL */
	int key_line, key_column;
	const char *value; /* scalars; "" for an empty one and null */
	bool quoted;       /* "5" is not 5 */
	size_t n;          /* children */
	struct node **child;
};

struct config {
	const char *file;  /* as named in messages */
	struct node *root; /* a map; empty for an empty file */
	struct arena mem;
};

/* ERR_CONFIG with "file:line:column: what was found, what was expected". */
int config_read(const char *file, struct config *ret, struct err *e);
int config_parse(const char *name, const char *text, size_t n, struct config *ret, struct err *e);
void config_release(struct config *c);

const struct node *node_get(const struct node *map, const char *key); /* NULL when absent */

/* "file:line:column: " + sentence, ERR_CONFIG. */
int node_err(const struct config *c, const struct node *n, struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Typed readings of a scalar; the error says what was expected. */
int node_int(const struct config *c, const struct node *n, int64_t min, int64_t max, int64_t *out,
	struct err *e);
int node_double(const struct config *c, const struct node *n, double min, double max, double *out,
	struct err *e);
int node_bool(const struct config *c, const struct node *n, bool *out, struct err *e);
int node_bytes(
	const struct config *c, const struct node *n, uint64_t *out, struct err *e); /* "2g" */
int node_choice(const struct config *c, const struct node *n, const char *const *words, int *out,
	struct err *e); /* `words` ends in NULL; the nearest one is named */

/* A key that is none of `known` (ends in NULL): "unknown key `colr`, nearest known: `color`". */
int node_unknown(
	const struct config *c, const struct node *map, const char *const *known, struct err *e);
/* The word of `known` nearest to `word` (Damerau-Levenshtein), or NULL when none is near. */
const char *nearest_word(const char *word, const char *const *known);

/* Insertions, deletions, replacements and swaps between two words; SIZE_MAX when one is very long.
 */
size_t word_distance(const char *a, const char *b);

/* Files shipped with berth (themes, defaults), embedded at build time.  NULL: no such file. */
const char *embedded_file(const char *name, size_t *len); /* "themes/dark.yaml" */
/* i-th name that starts with `prefix`, or NULL. */
const char *embedded_name(const char *prefix, size_t i);

#endif
