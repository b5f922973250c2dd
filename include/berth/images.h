/*
 * images.h - pull, build, import and remove images; the shipped ones among them.  holdings.h lists them.
 *
 * For command lines and workers: every call blocks until it is done.  Pull, build and import are jobs on
 * this process's board, with layers or steps as items, and can be cancelled from any process that sees
 * the board.  A failure that the engine tells of in its stream, after HTTP 200, is a failure here; what
 * the engine calls done is looked at again before it is believed.
 *
 * Limits: a reference has at most 255 characters; a build's context 1 GiB (or what is asked for),
 * 100,000 files and 64 levels; of a pull 512 layers are counted.
 *
 * Thread: one owner at a time, but images_cancel and images_progress may be called by anyone meanwhile.
 */
#ifndef BERTH_IMAGES_H
#define BERTH_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "err.h"
#include "job.h"
#include "policy.h"

struct images;

struct images_options {
	const char *host, *context; /* as in backend_options */
	const char *program;        /* what the audit log calls this process: "image pull" */
	const char *owner;          /* of the jobs */
	const struct policy *policy;
	/* One line of what the engine, or a build, prints: raw bytes from outside, no newline.  Or NULL. */
	void (*line)(void *ctx, const char *text);
	void *ctx;
};

struct images *images_open(const struct images_options *o, struct err *e);
void images_close(struct images *im); /* NULL is fine */
/* End what is under way; the call returns with ERR_CANCELLED.  May be called by a signal handler. */
void images_cancel(struct images *im);
/* The job under way; false when there is none. */
bool images_progress(struct images *im, struct job_info *out);
/* The newest lines that were printed, oldest first; valid until the next call. */
size_t images_last_lines(struct images *im, const char *const **lines);

#define IMAGE_REFERENCE_MAX 256
struct image_made {
	char reference[IMAGE_REFERENCE_MAX], id[80];
	uint64_t size_bytes;
	uint64_t transferred_bytes; /* sent to or fetched by the engine */
	uint64_t layers;            /* in the image */
	int64_t duration_ms;
};

int images_pull(struct images *im, const char *reference, struct image_made *ret, struct err *e);
/* A tar file of a root file system. */
int images_import(struct images *im, const char *path, const char *reference,
	struct image_made *ret, struct err *e);

struct image_build {
	const char *dir;     /* the context; .dockerignore is honoured */
	const char *file;    /* of the Dockerfile, below dir; NULL: Dockerfile */
	const char *tag;     /* NULL: the image stays without a name */
	const char *network; /* of the steps: default, none, host; NULL: the engine's */
	size_t nargs;
	const char *const *args; /* "NAME=value" */
	bool no_cache, pull;     /* pull: look for a newer base */
	uint64_t context_max;    /* bytes; 0: 1 GiB */
};
int images_build(
	struct images *im, const struct image_build *b, struct image_made *ret, struct err *e);

/* The shipped images, NULL after the last. */
struct image_shipped {
	const char *name, *tag, *about;
	const char *sets[3]; /* whose package lists it has, NULL after the last */
};
extern const struct image_shipped images_shipped[];
const struct image_shipped *images_shipped_named(const char *name); /* or NULL */
/* The command that makes this reference present, for sentences. */
void images_remedy(const char *reference, char *buf, size_t cap);
/*
 * Build a shipped one.  `base` NULL: a base that was made on this machine from Debian's packages
 * (mmdebstrap; it is made when missing), else, for shell, of busybox; else the registry's debian.
 * `network`, `no_cache` as above.
 */
int images_build_shipped(struct images *im, const struct image_shipped *what,
	const struct image_build *b, const char *base, struct image_made *ret, struct err *e);

struct image_removed {
	size_t untagged, deleted;
};
/* `force`: also with several names, or used by stopped containers. */
int images_remove(struct images *im, const char *reference, bool force, struct image_removed *ret,
	struct err *e);

#endif
