/* workspace_points.c - `berth workspace checkpoint` and its kin: keeping what a workspace holds, and going back. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>

#include "cli/workspace.h"

void workspace_cli_json_point(struct jsonw *j, const struct checkpoint_info *p)
{
	jsonw_text(j, "name", p->name);
	jsonw_bool(j, "damaged", p->damaged);
	jsonw_int(j, "made_ms", p->made_ns / 1000000);
	jsonw_uint(j, "files", p->files);
	jsonw_uint(j, "bytes", p->bytes);
	jsonw_uint(j, "stored_bytes", p->stored);
	jsonw_uint(j, "moving", p->moving);
	jsonw_uint(j, "mounts", p->mounts);
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

void workspace_cli_warn(const struct checkpoint_info *p)
{
	if (p->moving)
		fprintf(stderr,
			"berth: %" PRIu64 " file%s changed while they were read: stop "
			"what writes there to capture a single moment.\n",
			p->moving, p->moving == 1 ? "" : "s");
	if (p->mounts)
		fprintf(stderr, "berth: nothing was read below %" PRIu64 " mount%s.\n", p->mounts,
			p->mounts == 1 ? "" : "s");
}

static const char *point_operand(const struct workspace_cli *x)
{
	return x->c->argc > 1 ? x->c->argv[1] : NULL;
}

static int do_checkpoint(void *ctx, struct audit_record *r, struct err *e)
{
	static const struct checkpoint_options whole = {.sync = true};
	struct workspace_cli *x = ctx;

	(void)r;
	return checkpoint_make(x->store, x->root, x->point, &whole, &x->made, e);
}

static int make_checkpoint(struct workspace_cli *x, struct err *e)
{
	char name[CHECKPOINT_NAME_MAX + 1];
	struct jsonw j;

	x->point = point_operand(x);
	if (!x->point) {
		workspace_cli_stamp(name, sizeof name, "");
		x->point = name;
	}
	if (workspace_cli_enter(x, e) ||
		workspace_cli_act(x, DEED_WORKSPACE_SNAPSHOT, do_checkpoint, e))
		return -1;
	workspace_cli_warn(&x->made);
	if (!cli_flag(x->c, "json")) {
		workspace_cli_point(&x->made);
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.checkpoint/1");
	jsonw_text(&j, "workspace", x->path);
	workspace_cli_json_point(&j, &x->made);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int list_checkpoints(struct workspace_cli *x, struct err *e)
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
		for (size_t i = 0; i < n; i++)
			workspace_cli_point(&all[i]);
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.checkpoints/1");
	jsonw_text(&j, "workspace", x->path);
	jsonw_text(&j, "pending", cut ? pending : NULL);
	jsonw_array(&j, "checkpoints");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		workspace_cli_json_point(&j, &all[i]);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int do_restore(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return checkpoint_restore(x->store, x->root, x->point, x->undo, NULL, &x->done, e);
}

static int restore_checkpoint(struct workspace_cli *x, struct err *e)
{
	char bytes[FORMAT_MAX];
	struct jsonw j;

	x->point = x->c->argv[1];
	workspace_cli_stamp(x->undo, sizeof x->undo, "before-");
	if (workspace_cli_enter(x, e) ||
		workspace_cli_act(x, DEED_WORKSPACE_RESTORE, do_restore, e))
		return -1;
	if (!cli_flag(x->c, "json")) {
		printf("%s is as in %s: %" PRIu64 " recreated (%s), %" PRIu64 " removed, %" PRIu64
		       " corrected. The previous state is in %s.\n",
			x->path, x->point, x->done.written, format_bytes(bytes, x->done.bytes),
			x->done.removed, x->done.mended, x->undo);
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.restore/1");
	jsonw_text(&j, "workspace", x->path);
	jsonw_text(&j, "checkpoint", x->point);
	jsonw_text(&j, "undo", x->undo);
	jsonw_uint(&j, "written", x->done.written);
	jsonw_uint(&j, "removed", x->done.removed);
	jsonw_uint(&j, "mended", x->done.mended);
	jsonw_uint(&j, "bytes", x->done.bytes);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int do_drop(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return checkpoint_drop(x->store, x->point, &x->freed, e);
}

static int drop_checkpoint(struct workspace_cli *x, struct err *e)
{
	char bytes[FORMAT_MAX];

	x->point = x->c->argv[1];
	if (workspace_cli_enter(x, e) || workspace_cli_act(x, DEED_WORKSPACE_DROP, do_drop, e))
		return -1;
	printf("%s: dropped, %s freed\n", x->point, format_bytes(bytes, x->freed));
	return 0;
}

/* All of them, or the one that was named: a sentence for each that is not what was stored. */
static int verify_checkpoints(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	size_t n, bad = 0, looked = 0;

	if (workspace_cli_enter(x, e) || checkpoint_list(x->store, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct err why = ERR_INIT;

		if (point_operand(x) && strcmp(point_operand(x), all[i].name) != 0)
			continue;
		looked++;
		if (!checkpoint_verify(x->store, all[i].name, &why)) {
			printf("%s: sound\n", all[i].name);
			continue;
		}
		bad++;
		cli_fail(&why);
	}
	if (point_operand(x) && !looked)
		return err_set(e, ERR_NOT_FOUND, "%s has no checkpoint \"%.64s\".", x->path,
			point_operand(x));
	return bad ? 1 : 0;
}

int cli_workspace_checkpoint(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, make_checkpoint, e);
}

int cli_workspace_checkpoints(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, list_checkpoints, e);
}

int cli_workspace_restore(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, restore_checkpoint, e);
}

int cli_workspace_drop(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, drop_checkpoint, e);
}

int cli_workspace_verify(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, verify_checkpoints, e);
}
