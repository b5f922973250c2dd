/* workspace_points.c - `berth workspace checkpoint` and `restore`: creates and restores checkpoints. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/workspace.h"

#define QUIETEN_TRIES 8
#define UNREAD_TOLD 10 /* names */
#define END_BUSY_MS 5000

void workspace_cli_json_point(struct jsonw *j, const struct checkpoint_info *p)
{
	jsonw_text(j, "name", p->name);
	jsonw_bool(j, "damaged", p->damaged);
	jsonw_int(j, "made_ms", p->made_ns / 1000000);
	jsonw_uint(j, "files", p->files);
	jsonw_uint(j, "bytes", p->bytes);
	jsonw_uint(j, "stored_bytes", p->stored);
	jsonw_uint(j, "moving", p->moving);
	jsonw_uint(j, "gone", p->gone);
	jsonw_uint(j, "mounts", p->mounts);
	jsonw_uint(j, "unread", p->unread);
	jsonw_bool(j, "synced", p->synced);
}

void workspace_cli_point(const struct checkpoint_info *p)
{
	char bytes[FORMAT_MAX], stored[FORMAT_MAX], age[FORMAT_MAX];

	if (p->damaged) {
		printf("%-32s  damaged\n", p->name);
		return;
	}
	printf("%-32s  %6s ago  %7" PRIu64 " files  %7s  %7s stored%s\n", p->name,
		format_age(age, clock_wall_ms() - p->made_ns / 1000000), p->files,
		format_bytes(bytes, p->bytes), format_bytes(stored, p->stored),
		p->synced ? "" : "  not synced");
}

void workspace_cli_tell_unread(const struct checkpoint_tree *t, const char *of)
{
	struct checkpoint_info info;
	uint64_t told = 0;

	checkpoint_tree_info(t, &info);
	for (uint32_t at = 0; told < info.unread && told < UNREAD_TOLD; told++) {
		AUTO_STR struct str path = STR_INIT, clean = STR_INIT;

		if (!checkpoint_tree_unread(t, &at, &path))
			break;
		workspace_cli_quote(&clean, path.s, path.len);
		fprintf(stderr, "berth: %s of %s was skipped: you cannot read it.\n", clean.s, of);
	}
	if (told < info.unread)
		fprintf(stderr, "berth: %" PRIu64 " more of %s were skipped, too.\n",
			info.unread - told, of);
}

void workspace_cli_tell_gone(uint64_t gone, const char *of)
{
	if (gone)
		fprintf(stderr, "berth: %" PRIu64 " entr%s disappeared while %s was read.\n", gone,
			gone == 1 ? "y" : "ies", of);
}

/* Of a checkpoint by its name; what has gone since is nobody's concern here. */
static void tell_unread_of(struct workspace_cli *x, const char *name)
{
	struct checkpoint_tree *t = checkpoint_tree_of(x->store, name, NULL);

	if (t)
		workspace_cli_tell_unread(t, x->path);
	checkpoint_tree_free(t);
}

void workspace_cli_warn(struct workspace_cli *x)
{
	const struct checkpoint_info *p = &x->made;

	if (p->moving)
		fprintf(stderr,
			"berth: %" PRIu64 " file%s changed while they were read: stop "
			"what writes there to capture a single moment.\n",
			p->moving, p->moving == 1 ? "" : "s");
	workspace_cli_tell_gone(p->gone, x->path);
	if (p->unread)
		tell_unread_of(x, p->name);
	if (p->mounts)
		fprintf(stderr, "berth: nothing was read below %" PRIu64 " mount%s.\n", p->mounts,
			p->mounts == 1 ? "" : "s");
}

static const char *point_operand(const struct workspace_cli *x)
{
	return x->c->argc > 1 ? x->c->argv[1] : NULL;
}

int workspace_cli_checkpoint(struct workspace_cli *x, const char *name, struct err *e)
{
	struct err why = ERR_INIT;
	int rc;

	if (freeze_find(&x->still, x->root, e) ||
		workspace_cli_still(x, "a checkpoint is made of its workspace", e))
		return -1;
	rc = checkpoint_make(x->store, x->root, name, NULL, &x->made, e);
	if (workspace_cli_go_on(x, &why) && rc == 0)
		rc = err_copy(e, &why);
	if (rc == 0)
		rc = checkpoint_sync(x->store, name, e);
	x->made.synced = rc == 0;
	return rc;
}

static int do_checkpoint(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_cli_checkpoint(x, x->point, e);
}

static int record_checkpoint(void *ctx, struct err *e)
{
	return workspace_cli_act(ctx, OP_WORKSPACE_SNAPSHOT, do_checkpoint, e);
}

static int make_named(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1], struct err *e)
{
	x->point = point_operand(x);
	if (x->point && workspace_auto_word(x->point))
		return err_set(e, ERR_USAGE,
			"names that begin with " WORKSPACE_AUTO
			" are for automatic checkpoints; choose another one.");
	if (workspace_cli_enter(x, e) || workspace_cli_room(x, 1, e))
		return -1;
	return (x->point ? record_checkpoint(x, e)
			 : workspace_cli_stamped(x, name, "", record_checkpoint, x, e)) ||
			workspace_cli_hold(x, e)
		? -1
		: 0;
}

int cli_workspace_checkpoint(struct workspace_cli *x, struct err *e)
{
	char name[CHECKPOINT_NAME_MAX + 1];
	struct workspace_auto by_itself = {0};
	struct jsonw j;

	if (cli_value(x->c, "auto") ? workspace_cli_auto(x, name, &by_itself, e)
				    : make_named(x, name, e))
		return -1;
	workspace_cli_warn(x);
	if (!cli_flag(x->c, "json")) {
		if (*by_itself.unchanged)
			printf("%s is unchanged since %s; nothing was saved.\n", x->path,
				by_itself.unchanged);
		else
			workspace_cli_point(&x->made);
		workspace_cli_tell_still(x);
		return 0;
	}
	jsonw_document(&j, "berth.checkpoint/1");
	jsonw_text(&j, "workspace", x->path);
	workspace_cli_json_point(&j, &x->made);
	jsonw_text(&j, "unchanged_since", *by_itself.unchanged ? by_itself.unchanged : NULL);
	jsonw_uint(&j, "dropped", by_itself.dropped);
	workspace_cli_json_still(x, &j);
	return jsonw_print(&j);
}

int cli_workspace_checkpoints(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	char pending[CHECKPOINT_NAME_MAX + 1];
	struct jsonw j;
	bool cut;
	size_t n;

	if (workspace_cli_enter(x, e) || checkpoint_list(x->store, &all, &n, e))
		return -1;
	cut = checkpoint_pending(x->store, pending);
	if (cut)
		fprintf(stderr,
			"berth: a restore of %s was interrupted: `berth workspace "
			"restore %s %s` finishes it.\n",
			pending, x->path, pending);
	if (!cli_flag(x->c, "json")) {
		if (n)
			printf("%-32s  %10s  %13s  %7s  %7s\n", "NAME", "AGE", "FILES", "SIZE",
				"STORED");
		for (size_t i = 0; i < n; i++)
			workspace_cli_point(&all[i]);
		return 0;
	}
	jsonw_document(&j, "berth.checkpoints/1");
	jsonw_text(&j, "workspace", x->path);
	jsonw_text(&j, "pending", cut ? pending : NULL);
	jsonw_array(&j, "checkpoints");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		workspace_cli_json_point(&j, &all[i]);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

static int refuse_busy(
	const struct workspace_cli *x, size_t n, const struct freeze_box *b, struct err *e)
{
	return err_set(e, ERR_CONFLICT,
		"%zu process%s run%s in %s, which has %s mounted: wait for %s, or end %s with --stop.",
		n, n == 1 ? "" : "es", n == 1 ? "s" : "", b->name, x->path, n == 1 ? "it" : "them",
		n == 1 ? "it" : "them");
}

/* Nothing but inits is in the containers, and they stand still.  Until then something may begin. */
static int quieten_containers(struct workspace_cli *x, struct err *e)
{
	for (int tries = 0; tries < QUIETEN_TRIES; tries++) {
		struct err ignored = ERR_INIT;
		const struct freeze_box *b = NULL;
		size_t n = freeze_busy(&x->still, &b);

		if (n && !x->stop)
			return refuse_busy(x, n, b, e);
		if (n && freeze_end_busy(&x->still, END_BUSY_MS, e))
			return -1;
		if (workspace_cli_still(x, "its workspace is restored", e))
			return -1;
		if (!freeze_busy(&x->still, &b))
			return 0;
		workspace_cli_go_on(x, &ignored);
	}
	return err_set(e, ERR_CONFLICT, "commands are started in %s faster than they can be ended.",
		x->still.box[0].name);
}

/* What the state before it takes is known only now. */
static int allow_restore(void *ctx, const struct checkpoint_info *undo, struct err *e)
{
	struct workspace_cli *x = ctx;

	x->made = *undo;
	return workspace_cli_room(x, 0, e);
}

static int do_restore(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;
	const struct checkpoint_options o = {.allow = allow_restore, .ctx = x};
	struct err why = ERR_INIT;
	int rc;

	(void)r;
	if (freeze_find(&x->still, x->root, e) || freeze_writer(&x->still, x->root, e) ||
		quieten_containers(x, e))
		return -1;
	rc = checkpoint_restore(x->store, x->root, x->point, x->undo, &o, &x->done, e);
	if (workspace_cli_go_on(x, &why) && rc == 0)
		rc = err_copy(e, &why);
	return rc;
}

int cli_workspace_restore(struct workspace_cli *x, struct err *e)
{
	char bytes[FORMAT_MAX];
	struct jsonw j;

	x->point = x->c->argv[1];
	x->stop = cli_flag(x->c, "stop");
	workspace_cli_stamp(x->undo, sizeof x->undo, "before-");
	if (workspace_cli_enter(x, e) || workspace_cli_room(x, 1, e) ||
		workspace_cli_act(x, OP_WORKSPACE_RESTORE, do_restore, e))
		return -1;
	if (x->done.left) {
		tell_unread_of(x, x->undo);
		tell_unread_of(x, x->point);
		fprintf(stderr,
			"berth: %" PRIu64
			" entr%s that cannot be read, or could not when %s was made, "
			"stay%s as %s.\n",
			x->done.left, x->done.left == 1 ? "y" : "ies", x->point,
			x->done.left == 1 ? "s" : "", x->done.left == 1 ? "it is" : "they are");
	}
	if (!cli_flag(x->c, "json")) {
		printf("%s is as in %s: %" PRIu64 " recreated (%s), %" PRIu64 " removed, %" PRIu64
		       " corrected. The previous state is in %s.\n",
			x->path, x->point, x->done.written, format_bytes(bytes, x->done.bytes),
			x->done.removed, x->done.mended, x->undo);
		workspace_cli_tell_still(x);
		return 0;
	}
	jsonw_document(&j, "berth.restore/1");
	jsonw_text(&j, "workspace", x->path);
	jsonw_text(&j, "checkpoint", x->point);
	jsonw_text(&j, "undo", x->undo);
	jsonw_uint(&j, "written", x->done.written);
	jsonw_uint(&j, "removed", x->done.removed);
	jsonw_uint(&j, "mended", x->done.mended);
	jsonw_uint(&j, "left", x->done.left);
	jsonw_uint(&j, "bytes", x->done.bytes);
	workspace_cli_json_still(x, &j);
	return jsonw_print(&j);
}

int cli_workspace_drop(struct workspace_cli *x, struct err *e)
{
	char bytes[FORMAT_MAX];

	x->point = x->c->argv[1];
	if (workspace_cli_enter(x, e) || workspace_cli_drop(x, e))
		return -1;
	printf("%s: dropped, %s freed\n", x->point, format_bytes(bytes, x->freed));
	return 0;
}
