/*
 * build.c - builds an image by the engine's builder.
 *
 * The context goes up as one tar; what comes back is text in pieces, with "Step 3/7 : ..." in front of
 * each step, and at the end the id of what was made.  An answer that ends without one made nothing.
 */
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#define STEPS_MAX 10000

static void take_step(struct images *im, const char *text)
{
	unsigned at, of;
	int used = 0;

	if (sscanf(text, "Step %5u/%5u : %n", &at, &of, &used) < 2 || !used || !at || at > of ||
		of > STEPS_MAX)
		return;
	image_forget_bytes(im);
	image_items(im, at - 1, of);
	image_current(im, text + used);
}

static void build_said(void *ctx, const struct engine_said *said)
{
	struct images *im = ctx;

	if (*said->image)
		text_clean(im->made, sizeof im->made, said->image);
	if (*said->stream) {
		take_step(im, said->stream);
		image_print(im, said->stream, strlen(said->stream));
	} else if (*said->status && !image_layer(im, said)) {
		image_flush(im);
		image_print(im, said->status, strlen(said->status));
		image_flush(im);
	}
}

static void add_args(struct str *target, size_t n, const char *const *args)
{
	AUTO_STR struct str json = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *name = xstrndup(args[i], strcspn(args[i], "="));

		str_addc(&json, i ? ',' : '{');
		str_add_json(&json, name);
		str_addc(&json, ':');
		str_add_json(&json, args[i] + strlen(name) + 1);
	}
	str_addc(&json, '}');
	str_adds(target, "&buildargs=");
	url_escape(target, json.s);
}

int image_build_fd(struct images *im, int fd, const char *file, const struct image_build *b,
	const char *label, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	AUTO_FREE char *header = login_all_header();
	struct engine_transfer t = {.what = "build %s",
		.path = "the context",
		.fd = fd,
		.header = header,
		.said = build_said,
		.progress = image_sent};
	const char *called = b->tag ? b->tag : "the image";

	im->sent = im->to_send = 0;
	str_adds(&target, "/build?rm=1&forcerm=1&dockerfile=");
	url_escape(&target, file);
	if (b->tag) {
		str_adds(&target, "&t=");
		url_escape(&target, b->tag);
	}
	if (b->network) {
		str_adds(&target, "&networkmode=");
		url_escape(&target, b->network);
	}
	if (b->no_cache)
		str_adds(&target, "&nocache=1");
	if (b->pull)
		str_adds(&target, "&pull=1");
	if (b->nargs)
		add_args(&target, b->nargs, b->args);
	if (label) {
		str_adds(&target, "&labels=");
		url_escape(&target, label);
	}
	t.target = target.s;
	if (sync_transfer(im->at.engine, called, &t, image_stop, im, e))
		return -1;
	image_flush(im);
	if (!*im->made)
		return err_set(e, ERR_PROTOCOL,
			"the engine ended the build of %s without returning an image id.", called);
	image_items(im, im->items_total, im->items_total);
	return 0;
}

static int check_build(const struct image_build *b, char tag[IMAGE_REFERENCE_MAX], struct err *e)
{
	const char *file = b->file ? b->file : "Dockerfile";

	if (b->tag && image_reference(b->tag, tag, e))
		return -1;
	if (b->tag && strchr(tag, '@'))
		return err_set(e, ERR_USAGE, "--tag takes a name and a tag, not a digest.");
	if (*file == '/' || !strcmp(file, "..") || !strncmp(file, "../", 3) || strstr(file, "/../"))
		return err_set(e, ERR_USAGE,
			"--file is relative to the directory that is built, and must "
			"be inside it.");
	for (size_t i = 0; i < b->nargs; i++)
		if (!strchr(b->args[i], '=') || *b->args[i] == '=')
			return err_set(e, ERR_USAGE, "--build-arg takes NAME=VALUE.");
	return 0;
}

int images_build(
	struct images *im, const struct image_build *given, struct image_made *ret, struct err *e)
{
	struct image_build b = *given;
	const char *named = b.file ? b.file : "Dockerfile";
	AUTO_FREE char *file = ignore_clean(named, strlen(named));
	struct image_operation d = {.made = ret};
	struct err err = ERR_INIT;
	char tag[IMAGE_REFERENCE_MAX];
	AUTO_CLOSE int fd = -1;
	uint64_t size;

	memset(ret, 0, sizeof *ret);
	if (check_build(&b, tag, e))
		return -1;
	if (b.tag)
		b.tag = tag;
	b.file = file;
	if (image_begin(
		    im, &d, OP_IMAGE_BUILD, b.tag ? b.tag : b.dir, "context", b.dir, "steps", e))
		return -1;
	image_current(im, "reading the context");
	if (!context_of_dir(im, &b, &fd, &size, &err))
		image_build_fd(im, fd, file, &b, NULL, &err);
	return image_end(im, &d, b.tag ? b.tag : im->made, &err, e);
}
