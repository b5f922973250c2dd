/* image.c - inspects, removes and imports images, with a job around every change. */
#include "image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/container_id.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

struct images *images_open(const struct images_options *o, struct err *e)
{
	struct images *im = xcalloc(1, sizeof *im);
	const struct engine_session_options how = {.host = o->host,
		.context = o->context,
		.program = o->program,
		.policy = o->policy,
		.stop = image_stop,
		.ctx = im};

	im->o = *o;
	str_init(&im->line);
	if (engine_session_open(&im->at, &how, e) == 0)
		return im;
	images_close(im);
	return NULL;
}

void images_close(struct images *im)
{
	if (!im)
		return;
	engine_session_close(&im->at);
	board_close(im->board);
	str_release(&im->line);
	for (size_t i = 0; i < IMAGE_LINES_KEPT; i++)
		free(im->kept[i]);
	free(im);
}

void images_cancel(struct images *im)
{
	im->stop = 1;
}

bool image_stop(void *ctx)
{
	struct images *im = ctx;

	return im->stop || (im->job && job_cancelled(im->job));
}

bool images_progress(struct images *im, struct job_info *out)
{
	struct job_info jobs[64];
	uint32_t serial = atomic_load(&im->serial);
	size_t n = serial ? jobs_read(im->board, jobs, COUNT(jobs)) : 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i].own && jobs[i].id.serial == serial) {
			*out = jobs[i];
			return true;
		}
	return false;
}

/* ---- lines */

static void keep_line(struct images *im)
{
	char **slot = &im->kept[im->nkept++ % IMAGE_LINES_KEPT];

	free(*slot);
	*slot = xstrdup(im->line.s);
	if (im->o.line)
		im->o.line(im->o.ctx, im->line.s);
	str_clear(&im->line);
}

void image_print(struct images *im, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n') {
			keep_line(im);
		} else if (bytes[i] == '\r') {
			/* A progress bar of its own: only its last state is a line. */
			if (i + 1 < n && bytes[i + 1] != '\n')
				str_clear(&im->line);
		} else if (im->line.len < IMAGE_LINE_MAX) {
			str_addc(&im->line, bytes[i] ? bytes[i] : ' ');
		}
	}
}

void image_flush(struct images *im)
{
	if (im->line.len)
		keep_line(im);
}

size_t images_last_lines(struct images *im, const char *const **lines)
{
	size_t n = im->nkept < IMAGE_LINES_KEPT ? im->nkept : IMAGE_LINES_KEPT;

	for (size_t i = 0; i < n; i++)
		im->lines[i] = im->kept[(im->nkept - n + i) % IMAGE_LINES_KEPT];
	*lines = im->lines;
	return n;
}

/* ---- the job under way */

void image_current(struct images *im, const char *text)
{
	char clean[JOB_TEXT_MAX];

	job_current(im->job, text_clean(clean, sizeof clean, text));
}

void image_items(struct images *im, uint64_t done, uint64_t total)
{
	im->items_total = total;
	job_total(im->job, total, im->bytes_total);
	if (done > im->items)
		job_add(im->job, done - im->items, 0, 0);
	im->items = done > im->items ? done : im->items;
}

void image_bytes(struct images *im, uint64_t more)
{
	job_add(im->job, 0, more, 0);
	im->bytes += more;
}

void image_bytes_total(struct images *im, uint64_t more)
{
	im->bytes_total += more;
	job_total(im->job, im->items_total, im->bytes_total);
}

void image_forget_bytes(struct images *im)
{
	job_add(im->job, 0, -im->bytes, 0);
	im->moved += im->bytes;
	im->bytes = im->bytes_total = 0;
	job_total(im->job, im->items_total, 0);
}

void image_sent(void *ctx, uint64_t sent, uint64_t total)
{
	struct images *im = ctx;

	if (total > im->to_send)
		image_bytes_total(im, total - im->to_send);
	im->to_send = total;
	if (sent > im->sent)
		image_bytes(im, sent - im->sent);
	im->sent = sent;
}

int image_begin(struct images *im, struct image_operation *d, enum operation operation,
	const char *name, const char *param, const char *value, const char *unit, struct err *e)
{
	struct audit_record r = {.operation = operation,
		.target_type = "image",
		.engine = im->at.info.id,
		.name = name};
	char title[JOB_TEXT_MAX];

	d->kv[0] = (struct key_value){param, value, false};
	r.params = d->kv;
	r.nparams = param ? 1 : 0;
	if (record_begin(&d->rec, &im->at.recorder, &r, e))
		return -1;
	if (!im->board)
		im->board = board_open(im->o.program, NULL); /* without one nobody else sees it */
	im->begun_ns = clock_mono_ns();
	im->items = im->items_total = im->bytes = im->bytes_total = im->sent = im->to_send =
		im->moved = 0;
	im->nlayers = im->nkept = 0;
	im->made[0] = '\0';
	str_clear(&im->line);
	snprintf(title, sizeof title, "%s %.100s", operation_table[operation].words, name);
	im->job = job_new(im->board, title, im->o.owner, unit, true);
	atomic_store(&im->serial, job_id(im->job).serial);
	return 0;
}

int image_end(struct images *im, struct image_operation *d, const char *reference, struct err *err,
	struct err *e)
{
	char result[JOB_TEXT_MAX], size[FORMAT_MAX];
	bool cancelled = image_stop(im);
	int there;

	image_flush(im);
	if (!err->kind) {
		there = image_look(im, reference, d->made, NULL, NULL, 0, err);
		if (!there)
			err_set(err, ERR_FAILED,
				"The engine reported %s as done, but it does not exist.",
				reference);
	}
	if (err->kind == ERR_CANCELLED)
		err_set(err, ERR_CANCELLED, "%s was cancelled: nothing was created.",
			d->rec.r.name);
	d->made->duration_ms = (clock_mono_ns() - im->begun_ns) / 1000000;
	d->made->transferred_bytes = im->moved + im->bytes;
	record_end(&d->rec, err);
	if (err->kind)
		snprintf(result, sizeof result, "%s", err->msg);
	else
		snprintf(result, sizeof result, "%.60s is ready: %s, %llu layers.", reference,
			format_bytes(size, d->made->size_bytes),
			(unsigned long long)d->made->layers);
	atomic_store(&im->serial, 0);
	job_end(im->job, !err->kind ? JOB_DONE : cancelled ? JOB_CANCELLED : JOB_FAILED, result);
	im->job = NULL;
	return err->kind ? err_copy(e, err) : 0;
}

/* ---- references */

int image_reference(const char *given, char full[IMAGE_REFERENCE_MAX], struct err *e)
{
	static const char fine[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:@";
	const char *slash = strrchr(given, '/');
	char shown[80];

	if (!*given || strlen(given) + 8 > IMAGE_REFERENCE_MAX ||
		strspn(given, fine) != strlen(given) || strchr("-./:@", *given) ||
		strstr(given, "//") || strchr("/:@", given[strlen(given) - 1]))
		return err_set(e, ERR_USAGE,
			"\"%s\" is not a valid image name; one looks like python:3.12, "
			"or registry.example:5000/team/tools:v2.",
			text_clean(shown, sizeof shown, given));
	snprintf(full, IMAGE_REFERENCE_MAX, "%s%s", given,
		strchr(slash ? slash : given, ':') || strchr(given, '@') ? "" : ":latest");
	return 0;
}

int image_look(struct images *im, const char *reference, struct image_made *ret, const char *label,
	char *value, size_t cap, struct err *e)
{
	AUTO_JSON cJSON *root = NULL;
	int there = sync_image(im->at.engine, reference, 0, &root, e);

	if (there <= 0)
		return there;
	if (ret) {
		snprintf(ret->reference, sizeof ret->reference, "%s", reference);
		text_clean(ret->id, sizeof ret->id, ejson_string(root, "Id"));
		ret->size_bytes = ejson_u64(root, "Size");
		ret->layers = ejson_count(ejson_path(root, "RootFS", "Layers", NULL));
	}
	if (label)
		snprintf(value, cap, "%s",
			ejson_string(ejson_path(root, "Config", "Labels", NULL), label));
	return 1;
}

/* ---- import */

static void import_said(void *ctx, const struct engine_said *said)
{
	struct images *im = ctx;

	image_print(im, said->status, strlen(said->status));
	image_flush(im);
}

int image_send(struct images *im, int fd, const char *path, const char *reference,
	const char *change, struct err *e)
{
	AUTO_STR struct str target = STR_INIT;
	struct engine_transfer t = {.what = "import %s",
		.path = path,
		.fd = fd,
		.said = import_said,
		.progress = image_sent};

	im->sent = im->to_send = 0;
	engine_import_target(&target, reference);
	if (change) {
		str_adds(&target, "&changes=");
		url_escape(&target, change);
	}
	t.target = target.s;
	return sync_transfer(im->at.engine, reference, &t, image_stop, im, e);
}

int images_import(struct images *im, const char *path, const char *reference,
	struct image_made *ret, struct err *e)
{
	char full[IMAGE_REFERENCE_MAX];
	struct image_operation d = {.made = ret};
	struct err err = ERR_INIT;
	struct stat st;

	memset(ret, 0, sizeof *ret);
	if (image_reference(reference, full, e))
		return -1;
	if (stat(path, &st))
		return err_sys(e, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return err_set(e, ERR_USAGE, "cannot import %s: it is %s", path,
			S_ISREG(st.st_mode) ? "empty" : "not a regular file");
	if (image_begin(im, &d, OP_IMAGE_IMPORT, full, "path", path, "images", e))
		return -1;
	image_current(im, path);
	if (!image_send(im, -1, path, full, NULL, &err))
		image_items(im, 1, 1);
	return image_end(im, &d, full, &err, e);
}

/* ---- remove */

/* Every name that goes: the reference alone where it is a tag, else (an id, a digest, another spelling)
 * all the tags too. */
static struct record_target goes_with(const char *reference, const cJSON *image, struct arena *mem)
{
	const char *const *tag, **name;
	struct record_target t = {.nimages = 1};
	size_t n;

	tag = ejson_words(mem, ejson_get(image, "RepoTags"), &n);
	name = arena_array(mem, n + 1, sizeof *name);
	name[0] = reference;
	for (size_t i = 0; i < n; i++) {
		if (!strcmp(tag[i], reference)) {
			t.nimages = 1;
			break;
		}
		name[t.nimages++] = tag[i];
	}
	t.images = name;
	t.labels = ejson_pairs(mem, ejson_path(image, "Config", "Labels", NULL), &t.nlabels);
	return t;
}

struct image_removing {
	struct images *im;
	bool force;
	struct image_removed *ret;
};

static int do_remove_image(void *ctx, struct audit_record *r, struct err *e)
{
	struct image_removing *rm = ctx;
	AUTO_STR struct str target = STR_INIT, reply = STR_INIT;
	AUTO_JSON cJSON *root = NULL;
	const cJSON *one;

	url_image(&target, r->name, rm->force ? "?force=1" : "?force=0");
	if (sync_ask(rm->im->at.engine, "remove the image %s", r->name, "DELETE", target.s, NULL, 0,
		    &reply, e))
		return -1;
	root = ejson_parse(reply.s, reply.len, NULL);
	cJSON_ArrayForEach(one, root)
	{
		rm->ret->untagged += *ejson_string(one, "Untagged") != '\0';
		rm->ret->deleted += *ejson_string(one, "Deleted") != '\0';
	}
	return 0;
}

static int remove_image(struct images *im, const char *full, bool force, const cJSON *image,
	struct image_removed *ret, struct err *e)
{
	struct image_removing removing = {im, force, ret};
	struct record_target t;
	struct audit_record r = {.operation = OP_IMAGE_REMOVE,
		.target_type = "image",
		.engine = im->at.info.id,
		.name = full};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char id[80];

	r.target = text_clean(id, sizeof id, ejson_string(image, "Id"));
	t = goes_with(full, image, &mem);
	return record_act(&im->at.recorder, &r, &t, do_remove_image, &removing, e);
}

int images_remove(struct images *im, const char *reference, bool force, struct image_removed *ret,
	struct err *e)
{
	AUTO_JSON cJSON *image = NULL;
	char full[IMAGE_REFERENCE_MAX];
	int there;

	memset(ret, 0, sizeof *ret);
	if (image_reference(reference, full, e))
		return -1;
	/* An id has no tag. */
	if (!strchr(reference, ':') && !strchr(reference, '/') && strlen(reference) >= 12 &&
		strspn(reference, "0123456789abcdef") == strlen(reference))
		snprintf(full, sizeof full, "%s", reference);
	there = sync_image(im->at.engine, full, 0, &image, e);
	if (there < 0)
		return -1;
	if (!there)
		return err_set(e, ERR_NOT_FOUND, "there is no image %s on this engine.", full);
	return remove_image(im, full, force, image, ret, e);
}
