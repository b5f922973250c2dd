/*
 * image.h - internals of the image module: one job at a time, its log lines, its layers.
 *
 *   image.c    open, list, look, remove, import; the job and its record around every change
 *   pull.c     pull, and what a progress stream says about layers
 *   build.c    build, with steps as items
 *   context.c  a directory as the tar that a build is sent; the only one that knows libarchive
 *   dockerignore.c  .dockerignore
 *   known.c    the shipped images by name, for everybody
 *   shipped.c  the images of configs/images, and the bases that they stand on
 *   login.c    what the docker command knows of registries
 */
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <signal.h>
#include <stdatomic.h>

#include <berth/images.h>
#include <berth/str.h>

#include "job/board.h"
#include "engine_session/engine_session.h"

#define IMAGE_LAYERS_MAX 512
#define IMAGE_LINES_KEPT 20
#define IMAGE_LINE_MAX 4096

struct layer {
	char id[65];
	uint64_t done, total; /* bytes to fetch */
	bool known, ready;    /* total is; it is on the engine */
};

struct images {
	struct images_options o;
	struct engine_session at;
	struct board *board;

	volatile sig_atomic_t stop;
	struct job *job; /* under way */
	_Atomic uint32_t serial;
	int64_t begun_ns;
	uint64_t items, items_total, bytes, bytes_total, moved, sent, to_send;

	size_t nlayers;
	struct layer layer[IMAGE_LAYERS_MAX];
	char made[80]; /* what the stream says a build made */

	struct str line;                     /* begun, without its newline */
	char *kept[IMAGE_LINES_KEPT];        /* a ring */
	const char *lines[IMAGE_LINES_KEPT]; /* in order */
	size_t nkept;
};

/* A change to an image: policy, record, job; then the work; then how it ended. */
struct image_operation {
	struct recording rec;
	struct key_value kv[4];
	struct image_made *made;
};
int image_begin(struct images *im, struct image_operation *d, enum operation operation,
	const char *name, const char *param, const char *value, const char *unit, struct err *e);
/* Looks at `reference` where it went well and tells job and log.  Returns 0 or -1 as `err` says. */
int image_end(struct images *im, struct image_operation *d, const char *reference, struct err *err,
	struct err *e);

bool image_stop(void *ctx);                              /* for sync_transfer, ctx an images */
void image_current(struct images *im, const char *text); /* from outside */
void image_items(struct images *im, uint64_t done, uint64_t total);
void image_bytes(struct images *im, uint64_t more);
void image_bytes_total(struct images *im, uint64_t more);
/* From here on items tell how far it is: the board goes by bytes where there are any. */
void image_forget_bytes(struct images *im);
void image_sent(void *ctx, uint64_t sent, uint64_t total);        /* `progress` of a transfer */
void image_print(struct images *im, const char *bytes, size_t n); /* lines, cut as they come */
void image_flush(struct images *im);

/* A harmless reference, with :latest where it has no tag; ERR_USAGE else. */
int image_reference(const char *given, char full[IMAGE_REFERENCE_MAX], struct err *e);
/* 1 there, 0 not, -1 error; `label` (or NULL) is looked up into value. */
int image_look(struct images *im, const char *reference, struct image_made *ret, const char *label,
	char *value, size_t cap, struct err *e);
/* Send the tar in fd as `reference`, with "LABEL x=y" or NULL; within the job under way. */
int image_send(struct images *im, int fd, const char *path, const char *reference,
	const char *change, struct err *e);

/* pull.c: one object about a layer; true when it was about one. */
bool image_layer(struct images *im, const struct engine_said *said);

/* build.c: within the job under way; fd is the context. */
int image_build_fd(struct images *im, int fd, const char *file, const struct image_build *b,
	const char *label, struct err *e);

/* context.c: an unlinked file with the tar, *ret_size its length. */
struct image_file {
	const char *name;
	const char *bytes;
	size_t len;
};
int context_of_dir(struct images *im, const struct image_build *b, int *ret_fd, uint64_t *ret_size,
	struct err *e);
int context_of_files(const struct image_file *file, size_t n, int *ret_fd, struct err *e);

/* dockerignore.c */
/* A path as filepath.Clean of Go has it, and without a slash in front; to be freed. */
char *ignore_clean(const char *path, size_t n);
struct ignore;
int ignore_parse(const char *name, const char *text, size_t n, struct ignore **ret, struct err *e);
void ignore_free(struct ignore *g);                      /* NULL is fine */
bool ignore_matches(struct ignore *g, const char *path); /* below the context, no ./ */
bool ignore_may_turn(const struct ignore *g); /* has exceptions: look into ignored directories */

/* login.c: header lines, to be freed; NULL when the docker command knows nothing. */
char *login_header(const char *reference);
char *login_all_header(void);

#endif
