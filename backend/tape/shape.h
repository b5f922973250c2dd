/*
 * shape.h - plain structs as JSON and back, by tables of their members (shapes.c): none is described twice.
 *
 * Members that are 0, "", NULL or empty are left out.  What is read is unknown members' skipped, missing ones' 0 or "",
 * so that recordings outlive versions.
 * Thread: any.
 */
#ifndef TAPE_SHAPE_H
#define TAPE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include <berth/arena.h>
#include <berth/err.h>
#include <berth/jsonr.h>
#include <berth/jsonw.h>

enum field_type {
	FIELD_BOOL,
	FIELD_INT,
	FIELD_UINT,
	FIELD_ENUM,   /* up to `most`; by its `word`, where it has one: enums grow in the middle */
	FIELD_REAL,   /* double */
	FIELD_TEXT,   /* const char *, when read never NULL */
	FIELD_MAYBE,  /* const char *, or NULL */
	FIELD_CHARS,  /* char[size] */
	FIELD_BYTES,  /* const char * of `count` bytes */
	FIELD_TEXTS,  /* const char *const * of `count` */
	FIELD_FLOATS, /* float[] and uint16_t[], `count` of them */
	FIELD_SHORTS,
	FIELD_PART, /* a struct in place */
	FIELD_LIST, /* a pointer to `count` structs */
	FIELD_OWN,  /* a pointer to one, or NULL */
	FIELD_ROW,  /* a pointer to a container of the same snapshot, or NULL */
	FIELD_NONE, /* not of the session */
};

struct shape;

struct field {
	const char *name;
	enum field_type type;
	size_t offset, size;
	size_t count,
		count_size; /* where how many are in it stands, and how large that is; 0: nowhere */
	size_t most;
	const struct shape *of;
	const char *(*word)(unsigned value);
};

struct shape {
	size_t size, n;
	const struct field *field;
};

extern const struct shape shape_snapshot, shape_event, shape_input, shape_head;
extern const struct shape *const all_shapes[]; /* NULL at the end */

void shape_write(struct jsonw *j, const char *key, const struct shape *s, const void *from);
/* Into `to`, which is all zero; what it points to into mem.  `j` NULL: as an empty object. */
int shape_read(
	const struct shape *s, const struct json *j, struct arena *mem, void *to, struct err *e);

#endif
