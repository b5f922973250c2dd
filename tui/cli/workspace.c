/* workspace.c - `berth workspace`: dispatches its verbs; creates and lists workspaces. */
#include "cli/workspace.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "cli/gate.h"

#define NAME_TRIES 8

void workspace_cli_name(struct workspace_cli *x, enum workspace_kind kind, const char *name)
{
	x->kind = kind;
	snprintf(x->name, sizeof x->name, "%s", name);
	snprintf(x->path, sizeof x->path, "%s/%s", workspace_kind_folder(kind), x->name);
}

static int refuse_unknown_workspace(struct workspace_cli *x, const char *said, struct err *e)
{
	for (int k = 0; k < WORKSPACE_KINDS; k++) {
		const char *folder = workspace_kind_folder((enum workspace_kind)k);
		const char *slash = strchr(said, '/');

		if (slash &&
			((size_t)(slash - said) != strlen(folder) ||
				strncmp(said, folder, strlen(folder)) != 0))
			continue;
		if (workspace_is_archived(x->all, k, slash ? slash + 1 : said))
			return err_set(e, ERR_NOT_FOUND,
				"%.80s is archived: `berth workspace unarchive %.80s` restores it.",
				said, said);
	}
	return err_set(e, ERR_NOT_FOUND,
		"there is no workspace \"%.80s\"; `berth workspace list` lists all.", said);
}

/* `said` is "tasks/ID", "projects/NAME", or a name that only one of them has. */
static bool is_said(const char *said, enum workspace_kind kind, const char *name)
{
	char path[16 + WORKSPACE_NAME_MAX];

	snprintf(path, sizeof path, "%s/%s", workspace_kind_folder(kind), name);
	return !strcmp(said, strchr(said, '/') ? path : name);
}

static int find_workspace(
	struct workspace_cli *x, const char *said, struct workspace_place *p, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	unsigned found = 0;
	size_t n;

	if (workspace_list(x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!is_said(said, all[i].kind, all[i].name))
			continue;
		p->kind = all[i].kind;
		snprintf(p->name, sizeof p->name, "%s", all[i].name);
		snprintf(p->path, sizeof p->path, "%s/%s", workspace_kind_folder(p->kind), p->name);
		p->info = all[i];
		found++;
	}
	if (found > 1)
		return err_set(e, ERR_USAGE,
			"a task and a project are both named \"%.64s\": write "
			"tasks/%.64s or projects/%.64s.",
			said, said, said);
	return found ? 0 : refuse_unknown_workspace(x, said, e);
}

int workspace_cli_find_archive(struct workspace_cli *x, const char *said, struct err *e)
{
	AUTO_FREE struct workspace_archive *all = NULL;
	unsigned found = 0;
	size_t n;

	if (workspace_archives(x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (!is_said(said, all[i].kind, all[i].name))
			continue;
		workspace_cli_name(x, all[i].kind, all[i].name);
		found++;
	}
	if (found > 1)
		return err_set(e, ERR_USAGE,
			"a task and a project are both archived as \"%.64s\": write tasks/%.64s "
			"or projects/%.64s.",
			said, said, said);
	return found
		? 0
		: err_set(e, ERR_NOT_FOUND,
			  "there is no archive \"%.80s\"; `berth workspace archives` lists them.",
			  said);
}

const char *workspace_cli_archive_word(const char *said)
{
	return strncmp(said, "archives/", 9) ? NULL : said + 9;
}

struct checkpoint_store *workspace_cli_store(
	struct workspace_cli *x, enum workspace_kind kind, const char *name, struct err *e)
{
	char points[PATH_MAX], folder[PATH_MAX];
	AUTO_FREE char *dir = NULL;

	if (runtime_subdir(points, sizeof points, x->dir, "checkpoints", e) ||
		runtime_subdir(folder, sizeof folder, points, workspace_kind_folder(kind), e))
		return NULL;
	dir = xasprintf("%s/%s", folder, name);
	return checkpoint_open(dir, e);
}

int workspace_cli_place(
	struct workspace_cli *x, const char *said, struct workspace_place *p, struct err *e)
{
	*p = (struct workspace_place){.root = -1};
	if (find_workspace(x, said, p, e))
		return -1;
	p->root = workspace_enter(x->all, p->kind, p->name, e);
	if (p->root >= 0)
		p->store = workspace_cli_store(x, p->kind, p->name, e);
	if (p->store)
		return 0;
	workspace_cli_leave(p);
	return -1;
}

int workspace_cli_info(
	struct workspace_cli *x, const char *said, struct workspace_info *ret, struct err *e)
{
	struct workspace_place p = {.root = -1};

	if (find_workspace(x, said, &p, e))
		return -1;
	*ret = p.info;
	return 0;
}

void workspace_cli_leave(struct workspace_place *p)
{
	checkpoint_close(p->store);
	if (p->root >= 0)
		close(p->root);
	*p = (struct workspace_place){.root = -1};
}

int workspace_cli_enter(struct workspace_cli *x, struct err *e)
{
	struct workspace_place p;

	if (workspace_cli_place(x, x->c->argv[0], &p, e))
		return -1;
	workspace_cli_name(x, p.kind, p.name);
	x->root = p.root;
	x->store = p.store;
	return 0;
}

int cli_workspace(const struct cli *c, const struct settings *s, struct err *e)
{
	struct workspace_cli x = {.c = c, .s = s, .root = -1};
	struct policy policy;
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);
	char program[40];
	int rc = -1;

	snprintf(program, sizeof program, "workspace %s", c->command->name);
	x.by = (struct recorder){.program = program, .policy = &policy, .direct = true};
	if (!cli_policy(c, &policy, &mem, e) && !data_dir(x.dir, sizeof x.dir, e) &&
		!workspaces_dir(x.tree, sizeof x.tree, e)) {
		x.all = workspaces_open(x.tree, e);
		if (x.all)
			rc = c->command->workspace(&x, e);
	}
	checkpoint_close(x.store);
	if (x.root >= 0)
		close(x.root);
	workspaces_close(x.all);
	/* With the store its threads are gone: what is forked here allocates. */
	recorder_settle(&x.by);
	return rc < 0 ? -1 : cli_recorded(cli_finish() ? 1 : rc, 1);
}

int workspace_cli_act(
	struct workspace_cli *x, enum operation operation, record_act_fn *act, struct err *e)
{
	struct key_value kv[] = {{.key = "checkpoint", .value = x->point}};
	struct audit_record r = {.operation = operation,
		.target_type = "workspace",
		.name = x->path,
		.nparams = x->point ? 1 : 0,
		.params = kv};

	return record_act(&x->by, &r, NULL, act, x, e);
}

void workspace_cli_stamp(char *buf, size_t cap, const char *before)
{
	char stamp[FORMAT_MAX], *to = stamp;

	for (const char *at = format_stamp(stamp, clock_wall_ms()); *at; at++)
		if (!strchr("-:", *at))
			*to++ = *at;
	*to = '\0';
	snprintf(buf, cap, "%s%s", before, stamp);
}

int workspace_cli_stamped(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1],
	const char *before, int (*make)(void *ctx, struct err *e), void *ctx, struct err *e)
{
	struct err why;

	for (int tries = 0; tries < NAME_TRIES; tries++) {
		workspace_cli_stamp(name, CHECKPOINT_NAME_MAX + 1, before);
		x->point = name;
		why = (struct err)ERR_INIT;
		if (make(ctx, &why) == 0)
			return 0;
		if (why.kind != ERR_CONFLICT || *x->made.name)
			break;
		poll(NULL, 0, 1 + tries);
	}
	return err_copy(e, &why);
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
		.gid = (gid_t)-1,
		.image = x->limits.bytes ? &x->limits : NULL};

	(void)r;
	return workspace_create(x->all, &n, e);
}

static int record_create(struct workspace_cli *x, struct err *e)
{
	struct key_value loop = {.key = "loop", .value = cli_value(x->c, "loop")};
	struct audit_record r = {.operation = OP_WORKSPACE_CREATE,
		.target_type = "workspace",
		.name = x->path,
		.nparams = loop.value ? 1 : 0,
		.params = &loop};

	return record_act(&x->by, &r, NULL, do_create, x, e);
}

int cli_workspace_create(struct workspace_cli *x, struct err *e)
{
	enum workspace_kind kind = WORKSPACE_TASK;

	while (kind < WORKSPACE_KINDS && strcmp(x->c->argv[0], workspace_kind_name(kind)))
		kind++;
	if (kind == WORKSPACE_KINDS)
		return err_set(e, ERR_USAGE, "a workspace is a task or a project, not \"%.40s\".",
			x->c->argv[0]);
	if (kind != WORKSPACE_TASK && cli_value(x->c, "prompt"))
		return err_set(e, ERR_USAGE, "--prompt is for tasks only.");
	if (kind != WORKSPACE_TASK && cli_value(x->c, "loop"))
		return err_set(e, ERR_USAGE, "--loop is for tasks only.");
	workspace_cli_name(x, kind, x->c->argv[1]);
	if ((cli_value(x->c, "loop") && workspace_cli_loop(x, e)) || record_create(x, e))
		return -1;
	printf("%s/%s\n", x->tree, x->path);
	return 0;
}

void workspace_cli_holders(struct workspace_cli *x, const struct workspace_info *i, struct str *out)
{
	struct workspace_holder by[WORKSPACE_HOLDERS_MAX];
	size_t n = workspace_holders(x->all, i, by);

	for (size_t k = 0; k < n; k++)
		str_addf(out, "%s%s (agent %s)", k ? ", " : "", by[k].container, by[k].agent);
}

void workspace_cli_json_holders(
	struct workspace_cli *x, const struct workspace_info *i, struct jsonw *j)
{
	struct workspace_holder by[WORKSPACE_HOLDERS_MAX];
	size_t n = workspace_holders(x->all, i, by);

	jsonw_array(j, "held_by");
	for (size_t k = 0; k < n; k++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "container", by[k].container);
		jsonw_text(j, "agent", by[k].agent);
		jsonw_end(j);
	}
	jsonw_end(j);
}

void workspace_cli_git(const struct workspace_git *g, struct str *out)
{
	char words[160];

	if (!g->looked_ns)
		return;
	repo_words(&g->state, words, sizeof words);
	text_neutralise(out, g->state.branch, strlen(g->state.branch), false);
	str_addf(out, "%s%s", out->len ? ": " : "", words);
}

void workspace_cli_json_git(const struct workspace_git *g, struct jsonw *j)
{
	const struct repo_state *s = &g->state;

	if (!g->looked_ns) {
		jsonw_null(j, "git");
		return;
	}
	jsonw_object(j, "git");
	jsonw_int(j, "looked_ms", g->looked_ns / 1000000);
	jsonw_text(j, "branch", *s->branch ? s->branch : NULL);
	jsonw_uint(j, "staged", s->staged);
	jsonw_uint(j, "changed", s->changed);
	jsonw_uint(j, "untracked", s->untracked);
	jsonw_uint(j, "conflicts", s->conflicts);
	jsonw_uint(j, "unpushed", s->unpushed);
	jsonw_bool(j, "has_remote", s->remotes);
	jsonw_text(j, "unknown", repo_why_name((enum repo_why)s->why));
	jsonw_end(j);
}

void workspace_cli_secrets(const struct apply_secret *secret, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		AUTO_STR struct str path = STR_INIT;

		workspace_cli_quote(&path, secret[i].path, strlen(secret[i].path));
		if (secret[i].line)
			printf("secret   %s:%u  likely %s\n", path.s, secret[i].line,
				secret[i].what);
		else
			printf("secret   %s  likely %s\n", path.s, secret[i].what);
	}
}

void workspace_cli_json_secrets(struct jsonw *j, const struct apply_secret *secret, size_t n)
{
	jsonw_array(j, "secrets");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(j, NULL);
		workspace_cli_json_name(j, "path", secret[i].path);
		jsonw_uint(j, "line", secret[i].line);
		jsonw_text(j, "what", secret[i].what);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static void print_listed(struct workspace_cli *x, const struct workspace_info *i)
{
	AUTO_STR struct str by = STR_INIT, git = STR_INIT;
	struct workspace_git g;
	char age[FORMAT_MAX];

	workspace_cli_holders(x, i, &by);
	workspace_git(x->all, i, &g);
	workspace_cli_git(&g, &git);
	printf("%-8s  %-40s  %-6s  %04o  %6s%s%s%s%s%s\n", workspace_kind_name(i->kind), i->name,
		workspace_state_name(i->state), (unsigned)i->mode,
		format_age(age, clock_wall_ms() - i->changed_ns / 1000000), by.len ? "  " : "",
		by.len ? by.s : "", git.len ? "  " : "", git.len ? git.s : "",
		i->unmounted ? "  not mounted" : "");
}

int cli_workspace_list(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	struct workspace_git git;
	struct jsonw j;
	size_t n;

	if (workspace_list(x->all, &all, &n, e))
		return -1;
	if (!cli_flag(x->c, "json")) {
		if (n)
			printf("%-8s  %-40s  %-6s  %4s  %6s  %s\n", "KIND", "NAME", "STATE", "MODE",
				"AGE", "USED BY, GIT");
		for (size_t i = 0; i < n; i++)
			print_listed(x, &all[i]);
		return 0;
	}
	jsonw_document(&j, "berth.workspace_list/1");
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
		jsonw_text(&j, "state", workspace_state_name(all[i].state));
		if (all[i].state == WORKSPACE_OPEN)
			jsonw_null(&j, "ended_ms");
		else
			jsonw_int(&j, "ended_ms", all[i].ended_ms);
		workspace_cli_json_holders(x, &all[i], &j);
		workspace_git(x->all, &all[i], &git);
		workspace_cli_json_git(&git, &j);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}
