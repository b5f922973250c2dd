/*
 * holdings.h - what an engine holds besides containers: images, volumes, networks, and who uses them.
 *
 * All of it is the engine's word, copied.  Removing goes by a plan of what was chosen: clean_plan_choose
 * (clean.h).  Sizes have to be measured by the engine, which may take it a while.
 *
 * Thread: holdings_look blocks: for command lines and workers; the rest is plain data.
 */
#ifndef BERTH_HOLDINGS_H
#define BERTH_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "clean.h"
#include "err.h"

#define HOLDINGS_MAX 20000
#define HOLDING_WORDS_MAX 4096 /* users, names, layers, subnets of one */

enum holding_kind { HOLDING_IMAGES, HOLDING_VOLUMES, HOLDING_NETWORKS, HOLDING_KINDS };
const char *holding_kind_name(enum holding_kind k);      /* "images" */
const char *holding_kind_one(enum holding_kind k);       /* "image" */
enum clean_type holding_clean_type(enum holding_kind k); /* what a plan calls one */

struct holding_user { /* a container */
	const char *id, *name;
	const char *address; /* in a network; "" */
	bool running;
};

struct holding_layer { /* of an image, newest first */
	const char *made_by;
	int64_t bytes, made_ms;
};

struct holding {
	const char *id;     /* sha256:..., 64 hex digits, a volume's name */
	const char *name;   /* an image's first tag, "" when it is dangling */
	const char *driver; /* "" of an image */
	const char *owner;  /* who made it, as clean-up says: "agent researcher", "compose web" */
	const char *place;  /* a volume's mount point, a network's scope; "" */
	int64_t made_ms;    /* Unix time; 0 unknown */
	int64_t bytes;      /* -1 unknown */
	int64_t shared;     /* of an image, in layers that others have too; -1 unknown */
	bool ours;          /* proven */
	bool internal;      /* a network without a way out */
	size_t nnames, nsubnets, nusers, nlabels, nlayers;
	const char *const *names;   /* of an image */
	const char *const *subnets; /* of a network: "172.17.0.0/16 via 172.17.0.1" */
	const struct holding_user *users;
	const struct key_value *labels;
	const struct holding_layer *layers; /* when it was asked for by its id */
};

struct holdings {
	enum holding_kind kind;
	bool measured;
	bool one; /* it was asked for by its id */
	size_t n;
	const struct holding *item; /* in the engine's order */
};

/* `id` NULL: all; else that one, an image with its layers (n 0: it is gone). */
struct holdings *holdings_look(struct clean_host *h, enum holding_kind kind, const char *id,
	bool measure, struct arena *mem, struct err *e);
struct holdings *holdings_copy(const struct holdings *h, struct arena *mem);
/* What was not measured this time is as it was. */
void holdings_keep_sizes(struct holdings *h, const struct holdings *old);
/* What is free without it: of an image the layers that no other has; -1 unknown. */
static inline int64_t holding_own_bytes(const struct holding *h)
{
	return h->shared >= 0 && h->bytes >= h->shared ? h->bytes - h->shared : h->bytes;
}

#endif
