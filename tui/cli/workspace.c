/* workspace.c - `berth workspace`: workspaces, and going back in them. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/checkpoint.h>
#include <berth/clock.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/record.h>
#include <berth/runtime.h>
#include <berth/workspace.h>
#include <berth/jsonw.h>

#include "cli/commands.h"
#include "cli/gate.h"

/* What a verb works on; what it has no use for is not there. */
struct workspace_cli {
	const struct cli *c;
	struct recorder by;
	char dir[PATH_MAX];  /* of all that berth keeps for its user */
	char tree[PATH_MAX]; /* of the workspaces in it */
	struct workspaces *all;
	enum workspace_kind kind;
	char name[WORKSPACE_NAME_MAX + 1];
	char path[16 + WORKSPACE_NAME_MAX]; /* "tasks/ID" */
	int root;                           /* the workspace's directory */
	struct checkpoint_store *store;
	const char *point; /* the checkpoint that is meant; NULL: none */
	char undo[CHECKPOINT_NAME_MAX + 1];
	struct checkpoint_info made;
	struct checkpoint_restored done;
	uint64_t freed; /* bytes */
};

typedef int workspace_verb_fn(struct workspace_cli *x, struct err *e);

static void set_workspace(struct workspace_cli *x, enum workspace_kind kind, const char *name)
{
	x->kind = kind;
	snprintf(x->name, sizeof x->name, "%s", name);
	snprintf(x->path, sizeof x->path, "%s/%s", workspace_kind_folder(kind), x->name);
}

/* "tasks/ID", "projects/NAME", or a name that only one of them has. */
static int find_workspace(struct workspace_cli *x, const char *said, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	bool whole = strchr(said, '/');
	unsigned found = 0;
	size_t n;

	if (workspace_list(x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		char path[sizeof x->path];

		snprintf(path, sizeof path, "%s/%s", workspace_kind_folder(all[i].kind),
			all[i].name);
		if (strcmp(said, whole ? path : all[i].name))
			continue;
		set_workspace(x, all[i].kind, all[i].name);
		found++;
	}
	if (found > 1)
		return err_set(e, ERR_USAGE,
			"a task and a project are both named \"%.64s\": write "
			"tasks/%.64s or projects/%.64s.",
			said, said, said);
	return found
		? 0
		: err_set(e, ERR_NOT_FOUND,
			  "there is no workspace \"%.80s\"; `berth workspace list` names them.",
			  said);
}

static int open_checkpoints(struct workspace_cli *x, struct err *e)
{
	char points[PATH_MAX], folder[PATH_MAX];
	AUTO_FREE char *dir = NULL;

	if (runtime_subdir(points, sizeof points, x->dir, "checkpoints", e) ||
		runtime_subdir(folder, sizeof folder, points, workspace_kind_folder(x->kind), e))
		return -1;
	dir = xasprintf("%s/%s", folder, x->name);
	x->store = checkpoint_open(dir, e);
	return x->store ? 0 : -1;
}

/* The workspace that the first operand names, and its checkpoints. */
static int enter_workspace(struct workspace_cli *x, struct err *e)
{
	if (find_workspace(x, x->c->argv[0], e))
		return -1;
	x->root = workspace_enter(x->all, x->kind, x->name, e);
	return x->root < 0 ? -1 : open_checkpoints(x, e);
}

static int run_workspace_verb(const struct cli *c, workspace_verb_fn *verb, struct err *e)
{
	struct workspace_cli x = {.c = c, .root = -1};
	struct policy policy;
	struct arena mem;
	char program[40];
	int rc = -1;

	snprintf(program, sizeof program, "workspace %s", c->command->name);
	x.by = (struct recorder){.program = program, .policy = &policy, .direct = true};
	arena_init(&mem, 1024);
	if (!cli_policy(c, &policy, &mem, e) && !data_dir(x.dir, sizeof x.dir, e)) {
		snprintf(x.tree, sizeof x.tree, "%.*s/workspaces", PATH_MAX - 16, x.dir);
		x.all = workspaces_open(x.tree, e);
		if (x.all)
			rc = verb(&x, e);
	}
	recorder_settle(&x.by);
	checkpoint_close(x.store);
	if (x.root >= 0)
		close(x.root);
	workspaces_close(x.all);
	arena_release(&mem);
	return rc < 0 ? -1 : cli_recorded(cli_finish() ? 1 : rc, 1);
}

/* The whole way of an act on a workspace or one of its checkpoints; `act` gets x. */
static int act_on_workspace(
	struct workspace_cli *x, enum deed deed, record_act_fn *act, struct err *e)
{
	struct key_value kv[] = {{.key = "checkpoint", .value = x->point}};
	struct audit_record r = {.deed = deed,
		.target_type = "workspace",
		.name = x->path,
		.nparams = x->point ? 1 : 0,
		.params = kv};

	return record_act(&x->by, &r, NULL, act, x, e);
}

/* "20261123T084001.123Z": a name for who gave none. */
static void name_by_time(char *buf, size_t cap, const char *before)
{
	char stamp[FORMAT_MAX], *to = stamp;

	for (const char *at = format_stamp(stamp, clock_wall_ms()); *at; at++)
		if (!strchr("-:", *at))
			*to++ = *at;
	*to = '\0';
	snprintf(buf, cap, "%s%s", before, stamp);
}

/* ---- create, list */

static int do_create(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;
	struct workspace_new n = {.kind = x->kind,
		.name = x->c->argv[1],
		.prompt = cli_value(x->c, "prompt"),
		.now_ms = clock_wall_ms(),
		.uid = (uid_t)-1,
		.gid = (gid_t)-1};

	(void)r;
	return workspace_create(x->all, &n, e);
}

static int create_workspace(struct workspace_cli *x, struct err *e)
{
	enum workspace_kind kind = WORKSPACE_TASK;

	while (kind < WORKSPACE_KINDS && strcmp(x->c->argv[0], workspace_kind_name(kind)))
		kind++;
	if (kind == WORKSPACE_KINDS)
		return err_set(e, ERR_USAGE, "a workspace is a task or a project, not \"%.40s\".",
			x->c->argv[0]);
	if (kind != WORKSPACE_TASK && cli_value(x->c, "prompt"))
		return err_set(e, ERR_USAGE, "--prompt is of a task; a project has none.");
	set_workspace(x, kind, x->c->argv[1]);
	if (act_on_workspace(x, DEED_WORKSPACE_CREATE, do_create, e))
		return -1;
	printf("%s/%s\n", x->tree, x->path);
	return 0;
}

static int list_workspaces(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	char age[FORMAT_MAX];
	struct jsonw j;
	size_t n;

	if (workspace_list(x->all, &all, &n, e))
		return -1;
	if (!cli_flag(x->c, "json")) {
		for (size_t i = 0; i < n; i++)
			printf("%-8s  %-40s  %04o  %6s\n", workspace_kind_name(all[i].kind),
				all[i].name, (unsigned)all[i].mode,
				format_age(age, clock_wall_ms() - all[i].changed_ns / 1000000));
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.workspace_list/1");
	jsonw_array(&j, "workspaces");
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *path = xasprintf(
			"%s/%s/%s", x->tree, workspace_kind_folder(all[i].kind), all[i].name);

		jsonw_object(&j, NULL);
		jsonw_text(&j, "kind", workspace_kind_name(all[i].kind));
		jsonw_text(&j, "name", all[i].name);
		jsonw_text(&j, "path", path);
		jsonw_uint(&j, "uid", all[i].uid);
		jsonw_int(&j, "changed_ms", all[i].changed_ns / 1000000);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

/* ---- checkpoints */

static void json_point(struct jsonw *j, const struct checkpoint_info *p)
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

static void print_point(const struct checkpoint_info *p)
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

/* What a person must know of how it was read. */
static void warn_of_point(const struct checkpoint_info *p)
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
		name_by_time(name, sizeof name, "");
		x->point = name;
	}
	if (enter_workspace(x, e) || act_on_workspace(x, DEED_WORKSPACE_SNAPSHOT, do_checkpoint, e))
		return -1;
	warn_of_point(&x->made);
	if (!cli_flag(x->c, "json")) {
		print_point(&x->made);
		return 0;
	}
	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.checkpoint/1");
	jsonw_text(&j, "workspace", x->path);
	json_point(&j, &x->made);
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

	if (enter_workspace(x, e) || checkpoint_list(x->store, &all, &n, e))
		return -1;
	cut = checkpoint_pending(x->store, pending);
	if (cut)
		fprintf(stderr,
			"berth: a restore of %s was interrupted: `berth workspace "
			"restore %s %s` finishes it.\n",
			pending, x->path, pending);
	if (!cli_flag(x->c, "json")) {
		for (size_t i = 0; i < n; i++)
			print_point(&all[i]);
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
		json_point(&j, &all[i]);
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
	name_by_time(x->undo, sizeof x->undo, "before-");
	if (enter_workspace(x, e) || act_on_workspace(x, DEED_WORKSPACE_RESTORE, do_restore, e))
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
	if (enter_workspace(x, e) || act_on_workspace(x, DEED_WORKSPACE_DROP, do_drop, e))
		return -1;
	printf("%s: dropped, %s freed\n", x->point, format_bytes(bytes, x->freed));
	return 0;
}

/* All of them, or the one that was named: a sentence for each that is not what was stored. */
static int verify_checkpoints(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	size_t n, bad = 0, looked = 0;

	if (enter_workspace(x, e) || checkpoint_list(x->store, &all, &n, e))
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

int cli_workspace_create(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, create_workspace, e);
}

int cli_workspace_list(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, list_workspaces, e);
}

int cli_workspace_checkpoint(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, make_checkpoint, e);
}

int cli_workspace_checkpoints(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, list_checkpoints, e);
}

int cli_workspace_restore(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, restore_checkpoint, e);
}

int cli_workspace_drop(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, drop_checkpoint, e);
}

int cli_workspace_verify(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return run_workspace_verb(c, verify_checkpoints, e);
}
