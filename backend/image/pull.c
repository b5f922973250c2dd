/*
 * pull.c - pulls an image from a registry.
 *
 * The engine tells of each layer by itself: what there is to fetch becomes known piece by piece, and
 * the total grows with it.  A layer that starts again counts once.
 */
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

static struct layer *layer_of(struct images *im, const char *id)
{
	for (size_t i = 0; i < im->nlayers; i++)
		if (!strncmp(im->layer[i].id, id, sizeof im->layer[i].id - 1))
			return &im->layer[i];
	if (im->nlayers == IMAGE_LAYERS_MAX)
		return NULL;
	im->layer[im->nlayers] = (struct layer){{0}, 0, 0, false, false};
	snprintf(im->layer[im->nlayers].id, sizeof im->layer[0].id, "%s", id);
	return &im->layer[im->nlayers++];
}

static bool is_one_of(const char *status, const char *const *words)
{
	while (*words && strcmp(*words, status))
		words++;
	return *words;
}

static void count_fetched(struct images *im, struct layer *l, const struct engine_said *said)
{
	if (said->total > 0 && !l->known) {
		l->known = true;
		l->total = (uint64_t)said->total;
		image_bytes_total(im, l->total);
	}
	/* The engine's words are its own: never more than it said there is. */
	if (said->current > 0 && (uint64_t)said->current > l->done &&
		(uint64_t)said->current <= l->total) {
		image_bytes(im, (uint64_t)said->current - l->done);
		l->done = (uint64_t)said->current;
	}
}

static void layer_ready(struct images *im, struct layer *l, const char *status)
{
	uint64_t done = 0;
	char line[160];

	if (l->ready)
		return;
	l->ready = true;
	if (l->done < l->total) {
		image_bytes(im, l->total - l->done);
		l->done = l->total;
	}
	for (size_t i = 0; i < im->nlayers; i++)
		done += im->layer[i].ready;
	image_items(im, done, im->nlayers);
	snprintf(line, sizeof line, "%s: %s", l->id, status);
	image_print(im, line, strlen(line));
	image_flush(im);
}

bool image_layer(struct images *im, const struct engine_said *said)
{
	static const char *const begins[] = {"Pulling fs layer", "Waiting", "Downloading",
		"Verifying Checksum", "Download complete", "Extracting", NULL};
	static const char *const ends[] = {"Pull complete", "Already exists", NULL};
	bool ready = is_one_of(said->status, ends);
	struct layer *l;
	char current[JOB_TEXT_MAX];

	if (!*said->id || (!ready && !is_one_of(said->status, begins)))
		return false;
	l = layer_of(im, said->id);
	if (!l)
		return true;
	snprintf(current, sizeof current, "%s %.12s", said->status, l->id);
	image_current(im, current);
	if (ready) {
		layer_ready(im, l, said->status);
	} else {
		if (!strcmp(said->status, "Downloading"))
			count_fetched(im, l, said);
		image_items(im, im->items, im->nlayers);
	}
	return true;
}

static void pull_said(void *ctx, const struct engine_said *said)
{
	struct images *im = ctx;

	if (image_layer(im, said) || !*said->status)
		return;
	if (*said->id) {
		image_print(im, said->id, strlen(said->id));
		image_print(im, ": ", 2);
	}
	image_print(im, said->status, strlen(said->status));
	image_flush(im);
}

/* What people run into, in words that say what to do. */
static void explain_pull_error(const char *reference, struct err *err)
{
	static const struct {
		const char *sign, *what;
	} known[] = {
		{"no such host",
			"the registry's name cannot be resolved: is this machine offline?"},
		{"server misbehaving",
			"the registry's name cannot be resolved: is this machine offline?"},
		{"connection refused", "nothing answers there: is the registry's address right?"},
		{"network is unreachable", "the engine cannot reach the registry."},
		{"i/o timeout", "the registry did not answer in time."},
		{"manifest unknown", "the registry has no image with that name and tag."},
		{"unauthorized", "log in first, with `docker login`."},
		{"no basic auth credentials", "log in first, with `docker login`."},
		{"pull access denied",
			"the registry has no such image, or wants a `docker login` first."},
		{"server gave HTTP response to HTTPS client",
			"the registry speaks plain HTTP: name it in the engine's insecure-registries."},
	};

	for (size_t i = 0; i < COUNT(known); i++)
		if (err->kind == ERR_FAILED && strstr(err->msg, known[i].sign)) {
			struct err why = *err;

			err_set(err, ERR_FAILED, "cannot pull %s: %s (%s)", reference,
				known[i].what, why.msg);
			return;
		}
}

int images_pull(struct images *im, const char *reference, struct image_made *ret, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_FREE char *header = NULL;
	char full[IMAGE_REFERENCE_MAX];
	struct image_operation d = {.made = ret};
	struct engine_transfer t = {.what = "pull %s", .fd = -1, .said = pull_said};
	struct err err = ERR_INIT;

	memset(ret, 0, sizeof *ret);
	if (image_reference(reference, full, e))
		return -1;
	if (image_begin(im, &d, OP_IMAGE_PULL, full, NULL, NULL, "layers", e))
		return -1;
	header = login_header(full);
	str_adds(&target, "/images/create?fromImage=");
	url_escape(&target, full);
	t.target = target.s;
	t.header = header;
	image_current(im, "asking the registry");
	if (sync_transfer(im->at.engine, full, &t, image_stop, im, &err))
		explain_pull_error(full, &err);
	return image_end(im, &d, full, &err, e);
}
