/*
 * field.h - reading a YAML map into a struct by a table: one line per key.
 *
 * Unknown keys are errors that name the nearest known one (field_read), or are left to the caller
 * (field_read_known).  Everything that is kept is copied into the arena.
 */
#ifndef TEAM_FIELD_H
#define TEAM_FIELD_H

#include <stddef.h>

#include <berth/arena.h>
#include <berth/config.h>
#include <berth/err.h>
#include <berth/team.h>

struct reader { /* what a nested reading may need */
	const struct config *c;
	struct arena *mem;
	const char *base; /* relative paths count from here */
	void *ctx;
	/* NULL: the first error ends the reading.  Else each is told, and the reading goes on. */
	const struct team_found *found;
};

/* After an error: -1 the reading ends with it; 0 it was told, and *e is empty again. */
int field_go_on(const struct reader *r, struct err *e);

enum field_type {
	FIELD_TEXT,   /* const char *, not empty */
	FIELD_PATH,   /* const char *, made absolute and normalised */
	FIELD_BOOL,   /* bool */
	FIELD_INT,    /* int64_t within min .. max */
	FIELD_NUMBER, /* double within min .. max */
	FIELD_BYTES,  /* uint64_t within min .. max */
	FIELD_CHOICE, /* int, index into words */
	FIELD_WORDS,  /* struct words: a list, or one word */
	FIELD_NESTED, /* read(r, node, at, e) */
};

struct field {
	const char *key; /* NULL ends the table */
	enum field_type type;
	size_t offset;
	double min, max;
	const char *const *words;
	int (*read)(const struct reader *r, const struct node *n, void *at, struct err *e);
};

/* One value as `f` says, into *at. */
int field_one(const struct reader *r, const struct field *f, const struct node *n, void *at,
	struct err *e);
int field_read(const struct reader *r, const struct node *map, const struct field *fields,
	void *out, struct err *e);
/* As field_read; `other` is called for each key the table lacks and may refuse it. */
int field_read_known(const struct reader *r, const struct node *map, const struct field *fields,
	void *out, int (*other)(const struct reader *r, const struct node *n, struct err *e),
	struct err *e);

/* A map or ERR_CONFIG; an empty scalar counts as an empty map. */
int field_expect_map(const struct reader *r, const struct node *n, struct err *e);

/* `path` made absolute against base, without "." and ".."; these lead where the kernel would go, links
 * before them followed.  In the arena. */
const char *field_path(const struct reader *r, const char *path);

#endif
