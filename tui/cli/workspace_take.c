/* workspace_take.c - `berth workspace take`: files from an agent's workspace into a project. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/take.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/workspace.h"

static const char *const fates[] = {[TAKE_NEW] = "new",
	[TAKE_CHANGED] = "changed",
	[TAKE_SAME] = "same",
	[TAKE_CONFLICT] = "conflict",
	[TAKE_BLOCKED] = "blocked",
	[TAKE_DROPPED] = "dropped"};

struct taking_cli {
	struct workspace_cli *x;
	struct workspace_side from;
	struct checkpoint_tree *start;
	struct workspace_place project; /* where the target is one */
	int into;
	struct take *plan;
};

/* A workspace by its name, else a directory. */
static int open_target(struct taking_cli *t, const char *said, struct err *e)
{
	struct err why = ERR_INIT;

	if (workspace_cli_place(t->x, said, &t->project, &why) == 0) {
		t->into = fcntl(t->project.root, F_DUPFD_CLOEXEC, 0);
		return t->into < 0 ? err_sys(e, errno, "cannot open %s", t->project.path) : 0;
	}
	if (why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	t->into = open(said, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return t->into < 0
		? err_sys(e, errno, "%.200s is no workspace, and cannot be opened as a directory",
			  said)
		: 0;
}

static int open_taking(struct taking_cli *t, struct err *e)
{
	const struct cli *c = t->x->c;
	struct take_wish wish = {
		.path = (const char *const *)c->argv + 1, .npath = (size_t)c->argc - 1};
	struct err why = ERR_INIT;

	if (!cli_value(c, "into"))
		return err_set(e, ERR_USAGE, "say where to: --into DIR, or the name of a project.");
	if (workspace_side_open(t->x, c->argv[0], &t->from, e) ||
		open_target(t, cli_value(c, "into"), e))
		return -1;
	t->start = checkpoint_tree_start(t->from.place.store, t->from.place.root, &why);
	if (!t->start && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	wish.from = t->from.tree;
	wish.start = t->start;
	wish.into = t->into;
	wish.own = t->from.place.kind == WORKSPACE_TASK ? "context.json" : NULL;
	t->plan = take_prepare(&wish, e);
	return t->plan ? 0 : -1;
}

static void close_taking(struct taking_cli *t)
{
	take_free(t->plan);
	checkpoint_tree_free(t->start);
	if (t->into >= 0)
		close(t->into);
	workspace_cli_leave(&t->project);
	workspace_side_close(&t->from);
}

static int do_take(void *ctx, struct audit_record *r, struct err *e)
{
	struct taking_cli *t = ctx;

	(void)r;
	return take_carry_out(t->plan, cli_flag(t->x->c, "force"), e);
}

static int record_take(struct taking_cli *t, struct err *e)
{
	const struct take *p = t->plan;
	AUTO_FREE const char **path = xcalloc(p->nitem + 1, sizeof *path);
	AUTO_FREE char *into = NULL;
	char real[PATH_MAX];
	ssize_t length;
	struct key_value kv[2];
	struct audit_record r = {.deed = DEED_WORKSPACE_TAKE,
		.target_type = "workspace",
		.name = t->from.name,
		.nparams = COUNT(kv),
		.params = kv};
	size_t n = 0;

	into = xasprintf("/proc/self/fd/%d", t->into);
	length = readlink(into, real, sizeof real - 1);
	real[length > 0 ? length : 0] = '\0';
	kv[0] = (struct key_value){.key = "into", .value = real};
	kv[1] = (struct key_value){
		.key = "force", .value = cli_flag(t->x->c, "force") ? "yes" : "no"};
	for (size_t i = 0; i < p->nitem; i++)
		if (p->item[i].fate == TAKE_NEW || p->item[i].fate == TAKE_CHANGED ||
			p->item[i].fate == TAKE_CONFLICT)
			path[n++] = p->item[i].path;
	record_manifest(&r, n, path);
	return record_act(&t->x->by, &r, NULL, do_take, t, e);
}

/* ---- what is told */

static void print_take(const struct take *p)
{
	for (size_t i = 0; i < p->nitem; i++) {
		const struct take_item *item = &p->item[i];
		AUTO_STR struct str path = STR_INIT;
		char bytes[FORMAT_MAX];

		text_neutralise(&path, item->path, strlen(item->path), false);
		printf("%-8s %s  %s", fates[item->fate], path.s, format_bytes(bytes, item->size));
		if (item->executable)
			printf("  executable");
		if (item->without)
			printf("  without its %s", item->without);
		if (item->why)
			printf("  %s", item->why);
		putchar('\n');
	}
	for (size_t i = 0; i < p->nsecret; i++) {
		AUTO_STR struct str path = STR_INIT;

		text_neutralise(&path, p->secret[i].path, strlen(p->secret[i].path), false);
		if (p->secret[i].line)
			printf("secret   %s:%u  likely %s\n", path.s, p->secret[i].line,
				p->secret[i].what);
		else
			printf("secret   %s  likely %s\n", path.s, p->secret[i].what);
	}
}

static int json_take(const struct taking_cli *t, bool taken)
{
	const struct take *p = t->plan;
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.workspace_take/1");
	jsonw_text(&j, "from", t->from.name);
	jsonw_text(&j, "into", cli_value(t->x->c, "into"));
	jsonw_text(&j, "start", t->start ? checkpoint_tree_name(t->start) : NULL);
	jsonw_bool(&j, "taken", taken);
	jsonw_array(&j, "items");
	for (size_t i = 0; i < p->nitem; i++) {
		const struct take_item *item = &p->item[i];

		jsonw_object(&j, NULL);
		jsonw_text(&j, "path", item->path);
		jsonw_text(&j, "fate", fates[item->fate]);
		jsonw_text(&j, "why", item->why);
		jsonw_text(&j, "without", item->without);
		jsonw_uint(&j, "bytes", item->size);
		jsonw_bool(&j, "executable", item->executable);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_array(&j, "secrets");
	for (size_t i = 0; i < p->nsecret; i++) {
		jsonw_object(&j, NULL);
		jsonw_text(&j, "path", p->secret[i].path);
		jsonw_uint(&j, "line", p->secret[i].line);
		jsonw_text(&j, "what", p->secret[i].what);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int tell_take(const struct taking_cli *t, bool taken)
{
	const struct take *p = t->plan;

	if (cli_flag(t->x->c, "json"))
		return json_take(t, taken);
	print_take(p);
	if (taken)
		printf("%" PRIu64 " taken, %" PRIu64 " the same already, %" PRIu64 " dropped\n",
			p->count[TAKE_NEW] + p->count[TAKE_CHANGED] + p->count[TAKE_CONFLICT],
			p->count[TAKE_SAME], p->count[TAKE_DROPPED]);
	return 0;
}

static int take_files(struct workspace_cli *x, struct err *e)
{
	struct taking_cli t = {.x = x, .from.place.root = -1, .project.root = -1, .into = -1};
	bool dry = cli_flag(x->c, "dry-run");
	int rc = open_taking(&t, e), told;

	if (rc == 0) {
		if (!dry)
			rc = record_take(&t, e);
		told = tell_take(&t, !dry && rc == 0);
		rc = rc ? rc : told;
	}
	close_taking(&t);
	return rc;
}

int cli_workspace_take(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, take_files, e);
}
