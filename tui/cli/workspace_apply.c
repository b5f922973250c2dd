/* workspace_apply.c - `berth workspace apply`: applies files of an agent's workspace to a project. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/apply.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/apply_branch.h"
#include "cli/workspace.h"

static const char *const fates[] = {[APPLY_NEW] = "new",
	[APPLY_CHANGED] = "changed",
	[APPLY_SAME] = "same",
	[APPLY_CONFLICT] = "conflict",
	[APPLY_BLOCKED] = "blocked",
	[APPLY_DROPPED] = "dropped",
	[APPLY_LEFT] = "left"};

struct applying_cli {
	struct workspace_cli *x;
	struct workspace_side from;
	struct checkpoint_tree *start;
	struct workspace_place project; /* where the target is one */
	int into;
	struct apply *plan;
	struct apply_branch branch; /* with --branch */
	char id[APPLY_ID_MAX];
	bool asked; /* a person chose each hunk */
};

/* A workspace by its name, else a directory. */
static int open_target(struct applying_cli *t, const char *said, struct err *e)
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
		? err_sys(e, errno,
			  "%.200s is not a workspace, and cannot be opened as a directory", said)
		: 0;
}

/* ---- hunks */

static int check_choosing(const struct cli *c, struct err *e)
{
	bool patch = cli_flag(c, "patch"), dry = cli_flag(c, "dry-run");

	if (patch && cli_value(c, "hunks"))
		return err_set(e, ERR_USAGE, "give --patch or --hunks, not both.");
	if (patch && cli_flag(c, "json") && !dry)
		return err_set(e, ERR_USAGE, "--patch is interactive: with --json use --hunks.");
	if (patch && !dry && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)))
		return err_set(e, ERR_USAGE,
			"--patch asks on a terminal, and this is not one: use --hunks LIST; --dry-run --patch numbers them.");
	return 0;
}

/* "1,3-5" */
static int read_hunk_numbers(const char *said, bool *chosen, size_t n, struct err *e)
{
	const char *at = said;

	while (*at) {
		char *end;
		unsigned long from = strtoul(at, &end, 10), to = from;
		bool number = isdigit((unsigned char)*at);

		if (number && *end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		if (!number || (*end && (*end != ',' || !end[1])) || !from || to < from || to > n)
			return err_set(e, ERR_USAGE,
				"\"%.80s\" is not a list of hunks: write 1,3-5, of 1 to %zu (--dry-run --patch shows "
				"them).",
				said, n);
		while (from <= to)
			chosen[from++ - 1] = true;
		at = end + (*end == ',');
	}
	return at > said ? 0 : err_set(e, ERR_USAGE, "give a list of hunks: --hunks 1,3-5.");
}

static void print_hunk(struct apply *p, size_t i, bool secrets)
{
	const struct apply_item *item = &p->item[p->hunk[i].item];
	AUTO_STR struct str text = STR_INIT, path = STR_INIT;
	char bytes[FORMAT_MAX];

	workspace_cli_quote(&path, item->path, strlen(item->path));
	printf("hunk %zu of %zu  %-8s %s%s%s\n", i + 1, p->nhunk, fates[item->fate], path.s,
		item->why ? "  " : "", item->why ? item->why : "");
	apply_show_hunk(p, i, secrets, &text);
	if (p->hunk[i].whole)
		printf("the whole file, %s%s\n", format_bytes(bytes, item->size),
			item->executable ? ", executable" : "");
	else
		workspace_cli_lines(&text, isatty(STDOUT_FILENO));
}

/* From `i` on, and how many: y and n speak of one, a and d of what is left of the file, q of all that is left. */
static size_t ask_hunk(struct apply *p, size_t i, bool secrets, bool *chosen, struct err *e)
{
	char line[16];
	size_t end = i + 1;

	for (;;) {
		print_hunk(p, i, secrets);
		printf("apply it? (y)es, (n)o, (a)ll or none (d) of what is left of the file, (q)uit: ");
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin)) {
			err_set(e, ERR_CANCELLED, "nothing was applied: no answer");
			return p->nhunk;
		}
		while (!strchr(line, '\n') && !feof(stdin) && getchar() != '\n')
			;
		if (*line == 'q')
			return p->nhunk;
		if (*line && strchr("ynad", *line))
			break;
	}
	while ((*line == 'a' || *line == 'd') && end < p->nhunk &&
		p->hunk[end].item == p->hunk[i].item)
		end++;
	for (; i < end; i++)
		chosen[i] = *line == 'y' || *line == 'a';
	return end;
}

/* Numbers of hunks mean what they did where they were read, or nothing. */
static int check_plan_is(const struct applying_cli *t, const char *said, struct err *e)
{
	return !said || !strcmp(said, t->id)
		? 0
		: err_set(e, ERR_CONFLICT,
			  "nothing was applied: source or target changed since that plan was made: review it again");
}

/* What some tool would run of it. */
static void print_runs(const struct apply *p)
{
	for (size_t i = 0; i < p->nruns; i++) {
		AUTO_STR struct str path = STR_INIT;

		workspace_cli_quote(&path, p->runs[i].path, strlen(p->runs[i].path));
		printf("runs     %s  %s\n", path.s, p->runs[i].what);
	}
	fflush(stdout);
}

static void json_runs(struct jsonw *j, const struct apply *p)
{
	jsonw_array(j, "runs");
	for (size_t i = 0; i < p->nruns; i++) {
		jsonw_object(j, NULL);
		workspace_cli_json_name(j, "path", p->runs[i].path);
		jsonw_text(j, "what", p->runs[i].what);
		jsonw_end(j);
	}
	jsonw_end(j);
}

/* What is likely a secret of what passes. */
static void print_secrets(const struct apply *p)
{
	workspace_cli_secrets(p->secret, p->nsecret);
	for (size_t i = 0; i < p->nunchecked; i++) {
		AUTO_STR struct str path = STR_INIT;

		workspace_cli_quote(&path, p->unchecked[i].path, strlen(p->unchecked[i].path));
		printf("unchecked %s  looked through for secrets %s\n", path.s,
			p->unchecked[i].why);
	}
}

/* Before anything is taken. */
static void print_warnings(const struct apply *p)
{
	print_secrets(p);
	print_runs(p);
}

static int choose_hunks(struct applying_cli *t, struct err *e)
{
	const struct cli *c = t->x->c;
	struct apply *p = t->plan;
	AUTO_FREE bool *chosen = xcalloc(p->nhunk + 1, sizeof *chosen);
	bool secrets = cli_flag(c, "secrets");
	struct err why = ERR_INIT;

	if (check_plan_is(t, cli_value(c, "plan"), e))
		return -1;
	if (cli_value(c, "hunks")) {
		if (read_hunk_numbers(cli_value(c, "hunks"), chosen, p->nhunk, e))
			return -1;
		apply_choose(p, chosen);
	} else if (cli_flag(c, "patch") && cli_flag(c, "dry-run")) {
		if (!cli_flag(c, "json"))
			printf("plan %s\n", t->id);
		for (size_t i = 0; i < p->nhunk && !cli_flag(c, "json"); i++)
			print_hunk(p, i, secrets);
	} else if (cli_flag(c, "patch")) {
		print_warnings(p);
		for (size_t i = 0; i < p->nhunk && !why.kind;)
			i = ask_hunk(p, i, secrets, chosen, &why);
		if (why.kind)
			return err_copy(e, &why);
		apply_choose(p, chosen);
		t->asked = true;
	}
	return 0;
}

static void json_hunks(struct jsonw *j, struct apply *p, bool secrets)
{
	jsonw_array(j, "hunks");
	for (size_t i = 0; i < p->nhunk; i++) {
		AUTO_STR struct str text = STR_INIT;

		apply_show_hunk(p, i, secrets, &text);
		jsonw_object(j, NULL);
		jsonw_uint(j, "number", i + 1);
		workspace_cli_json_name(j, "path", p->item[p->hunk[i].item].path);
		jsonw_text(j, "lines", p->hunk[i].whole ? NULL : text.s);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static int open_taking(struct applying_cli *t, struct err *e)
{
	const struct cli *c = t->x->c;
	struct apply_wish wish = {
		.path = (const char *const *)c->argv + 1, .npath = (size_t)c->argc - 1};
	struct err why = ERR_INIT;

	if (!cli_value(c, "into"))
		return err_set(
			e, ERR_USAGE, "--into is required: a directory, or the name of a project.");
	if (check_choosing(c, e))
		return -1;
	if (workspace_side_open(t->x, c->argv[0], &t->from, e) ||
		open_target(t, cli_value(c, "into"), e))
		return -1;
	t->start = checkpoint_tree_start(t->from.place.store, t->from.place.root, &why);
	if (!t->start && why.kind != ERR_NOT_FOUND)
		return err_copy(e, &why);
	wish.from = t->from.tree;
	wish.start = t->start;
	wish.into = t->into;
	wish.settle = !t->x->by.policy->read_only;
	wish.hunks = cli_flag(c, "patch") || cli_value(c, "hunks");
	if (cli_value(c, "branch") &&
		apply_branch_open(&t->branch, cli_value(c, "branch"), t->into, &wish, e))
		return -1;
	wish.own = t->from.place.kind == WORKSPACE_TASK ? "context.json" : NULL;
	t->plan = apply_prepare(&wish, e);
	if (!t->plan)
		return -1;
	apply_id(t->plan, t->id);
	return choose_hunks(t, e);
}

static void close_taking(struct applying_cli *t)
{
	apply_free(t->plan);
	apply_branch_close(&t->branch);
	checkpoint_tree_free(t->start);
	if (t->into >= 0)
		close(t->into);
	workspace_cli_leave(&t->project);
	workspace_side_close(&t->from);
}

static int do_apply(void *ctx, struct audit_record *r, struct err *e)
{
	struct applying_cli *t = ctx;

	(void)r;
	if (apply_carry_out(t->plan, t->asked || cli_flag(t->x->c, "force"), e))
		return -1;
	return t->branch.name ? apply_branch_make(&t->branch, t->plan, t->from.name, e) : 0;
}

size_t workspace_cli_passing(const struct apply *p, const char ***ret)
{
	const char **path = xcalloc(p->nitem + 1, sizeof *path);
	size_t n = 0;

	for (size_t i = 0; i < p->nitem; i++)
		if (p->item[i].fate == APPLY_NEW || p->item[i].fate == APPLY_CHANGED ||
			p->item[i].fate == APPLY_CONFLICT)
			path[n++] = p->item[i].path;
	*ret = path;
	return n;
}

static int record_apply(struct applying_cli *t, struct err *e)
{
	const struct apply *p = t->plan;
	const char *hunks = cli_value(t->x->c, "hunks");
	AUTO_FREE const char **path = NULL;
	AUTO_FREE char *into = NULL;
	char real[PATH_MAX];
	ssize_t length;
	struct key_value kv[4];
	struct audit_record r = {.operation = OP_WORKSPACE_TAKE,
		.target_type = "workspace",
		.name = t->from.name,
		.nparams = COUNT(kv),
		.params = kv};
	size_t n;

	into = xasprintf("/proc/self/fd/%d", t->into);
	length = readlink(into, real, sizeof real - 1);
	real[length > 0 ? length : 0] = '\0';
	kv[0] = (struct key_value){.key = "into", .value = real};
	kv[1] = (struct key_value){
		.key = "force", .value = cli_flag(t->x->c, "force") ? "yes" : "no"};
	kv[2] = (struct key_value){.key = "hunks", .value = hunks ? hunks : "all"};
	if (t->asked)
		kv[2].value = "asked";
	kv[3] = (struct key_value){
		.key = "branch", .value = t->branch.name ? t->branch.name : "none"};
	n = workspace_cli_passing(p, &path);
	record_manifest(&r, n, path);
	return record_act(&t->x->by, &r, NULL, do_apply, t, e);
}

/* ---- what is told */

static void print_items(const struct apply *p)
{
	for (size_t i = 0; i < p->nitem; i++) {
		const struct apply_item *item = &p->item[i];
		AUTO_STR struct str path = STR_INIT;
		char bytes[FORMAT_MAX];

		workspace_cli_quote(&path, item->path, strlen(item->path));
		printf("%-8s %s  %s", fates[item->fate], path.s, format_bytes(bytes, item->size));
		if (item->executable)
			printf("  executable");
		if (item->without)
			printf("  without its %s", item->without);
		if (item->why)
			printf("  %s", item->why);
		putchar('\n');
	}
}

void workspace_cli_apply(const struct apply *p)
{
	print_items(p);
	print_secrets(p);
}

int workspace_cli_check_secrets(
	const struct cli *c, const struct apply *p, const char *done, struct err *e)
{
	if (cli_flag(c, "secrets"))
		return 0;
	if (p->nsecret)
		return err_set(e, ERR_REFUSED,
			"nothing was %s: %zu likely secret%s in it; remove them, or use --secrets if they are not secrets",
			done, p->nsecret, p->nsecret == 1 ? "" : "s");
	if (p->nunchecked)
		return err_set(e, ERR_REFUSED,
			"nothing was %s: %zu file%s of it could not be scanned for secrets; use --secrets if there are none",
			done, p->nunchecked, p->nunchecked == 1 ? "" : "s");
	return 0;
}

int workspace_cli_check_whole(const struct apply *p, const char *done, struct err *e)
{
	return p->nchanged
		? err_set(e, ERR_CONFLICT,
			  "%zu file%s changed or disappeared while %s read and %s not %s; the rest was.",
			  p->nchanged, p->nchanged == 1 ? "" : "s",
			  p->nchanged == 1 ? "it was" : "they were",
			  p->nchanged == 1 ? "was" : "were", done)
		: 0;
}

void workspace_cli_json_apply(struct jsonw *j, const struct apply *p)
{
	jsonw_array(j, "items");
	for (size_t i = 0; i < p->nitem; i++) {
		const struct apply_item *item = &p->item[i];

		jsonw_object(j, NULL);
		workspace_cli_json_name(j, "path", item->path);
		jsonw_text(j, "fate", fates[item->fate]);
		jsonw_text(j, "why", item->why);
		jsonw_text(j, "without", item->without);
		jsonw_uint(j, "bytes", item->size);
		jsonw_bool(j, "executable", item->executable);
		jsonw_end(j);
	}
	jsonw_end(j);
	workspace_cli_json_secrets(j, p->secret, p->nsecret);
	jsonw_array(j, "unchecked");
	for (size_t i = 0; i < p->nunchecked; i++) {
		jsonw_object(j, NULL);
		workspace_cli_json_name(j, "path", p->unchecked[i].path);
		jsonw_text(j, "why", p->unchecked[i].why);
		jsonw_end(j);
	}
	jsonw_end(j);
}

static int json_apply(const struct applying_cli *t, bool taken)
{
	struct jsonw j;

	jsonw_document(&j, "berth.workspace_take/1");
	jsonw_text(&j, "from", t->from.name);
	jsonw_text(&j, "into", cli_value(t->x->c, "into"));
	jsonw_text(&j, "start", t->start ? checkpoint_tree_name(t->start) : NULL);
	jsonw_text(&j, "plan", t->id);
	jsonw_text(&j, "branch", t->branch.name);
	jsonw_text(&j, "commit", *t->branch.commit ? t->branch.commit : NULL);
	jsonw_bool(&j, "taken", taken);
	workspace_cli_json_apply(&j, t->plan);
	json_runs(&j, t->plan);
	json_hunks(&j, t->plan, cli_flag(t->x->c, "secrets"));
	return jsonw_print(&j);
}

static int tell_apply(const struct applying_cli *t, bool taken)
{
	const struct apply *p = t->plan;

	if (cli_flag(t->x->c, "json"))
		return json_apply(t, taken);
	if (cli_flag(t->x->c, "dry-run"))
		print_warnings(p);
	print_items(p);
	if (taken)
		printf("%" PRIu64 " applied, %" PRIu64 " the same already, %" PRIu64 " dropped\n",
			p->count[APPLY_NEW] + p->count[APPLY_CHANGED] + p->count[APPLY_CONFLICT],
			p->count[APPLY_SAME], p->count[APPLY_DROPPED]);
	if (taken && t->branch.name)
		printf("branch %s is %s\n", t->branch.name, t->branch.commit);
	return 0;
}

int cli_workspace_apply(struct workspace_cli *x, struct err *e)
{
	struct applying_cli t = {.x = x,
		.from.place.root = -1,
		.project.root = -1,
		.into = -1,
		.branch.scratch = -1};
	bool dry = cli_flag(x->c, "dry-run");
	int rc = open_taking(&t, e), told;

	if (rc == 0) {
		if (!dry && !cli_flag(x->c, "json") && !t.asked)
			print_warnings(t.plan);
		if (!dry)
			rc = record_apply(&t, e);
		told = tell_apply(&t, !dry && rc == 0);
		rc = rc ? rc : told;
		if (rc == 0 && !dry)
			rc = workspace_cli_check_whole(t.plan, "applied", e);
	}
	close_taking(&t);
	return rc;
}
