/* workspace_limit.c - `berth workspace limit` and `keep`: sets and enforces limits. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/config.h>
#include <berth/format.h>
#include <berth/keeper.h>
#include <berth/mem.h>
#include <berth/settings.h>
#include <berth/spawn.h>

#include "cli/workspace.h"

void workspace_cli_usual(const struct settings *s, struct workspace_limits *ret)
{
	*ret = (struct workspace_limits){.bytes = s->workspace_bytes,
		.files = (uint64_t)s->workspace_files,
		.breach = (enum workspace_breach)s->workspace_breach};
}

/* ---- limit */

static bool read_limit_bytes(const char *option, const char *text, uint64_t *ret)
{
	return !node_bytes(&(const struct config){.file = option},
		       &(const struct node){.kind = NODE_SCALAR, .value = text}, ret, NULL) &&
		*ret;
}

static int read_amount_limit(const char *text, uint64_t *ret, struct err *e)
{
	if (!strcmp(text, "none"))
		*ret = 0;
	else if (!read_limit_bytes("--bytes", text, ret))
		return err_set(e, ERR_USAGE,
			"--bytes takes an amount (500m, 2g) or none, not \"%.40s\".", text);
	return 0;
}

static int read_files_limit(const char *text, uint64_t *ret, struct err *e)
{
	char *end;

	if (!strcmp(text, "none")) {
		*ret = 0;
		return 0;
	}
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret && *ret < INT64_MAX
		? 0
		: err_set(e, ERR_USAGE,
			  "--files takes a number of at least 1, or none, not \"%.40s\".", text);
}

static int read_breach_word(const char *text, enum workspace_breach *ret, struct err *e)
{
	for (int b = 0; b < WORKSPACE_BREACHES; b++)
		if (!strcmp(text, workspace_breach_name((enum workspace_breach)b))) {
			*ret = (enum workspace_breach)b;
			return 0;
		}
	return err_set(
		e, ERR_USAGE, "--on-breach is freeze, warn, kill or refuse, not \"%.40s\".", text);
}

static int read_limit_options(const struct cli *c, struct workspace_limits *l, struct err *e)
{
	const char *bytes = cli_value(c, "bytes"), *files = cli_value(c, "files"),
		   *breach = cli_value(c, "on-breach");

	if (!bytes && !files && !breach)
		return err_set(
			e, ERR_USAGE, "give at least one of --bytes, --files and --on-breach.");
	if ((bytes && read_amount_limit(bytes, &l->bytes, e)) ||
		(files && read_files_limit(files, &l->files, e)) ||
		(breach && read_breach_word(breach, &l->breach, e)))
		return -1;
	l->let_bytes = l->let_files = 0;
	return 0;
}

static int do_limit(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return workspace_limit(x->all, x->kind, x->name, &x->limits, e);
}

int workspace_cli_limit(struct workspace_cli *x, struct err *e)
{
	char bytes[24], files[24];
	struct key_value kv[] = {{.key = "bytes", .value = bytes}, {.key = "files", .value = files},
		{.key = "on-breach", .value = workspace_breach_name(x->limits.breach)}};
	struct audit_record r = {.operation = OP_WORKSPACE_LIMIT,
		.target_type = "workspace",
		.name = x->path,
		.nparams = COUNT(kv),
		.params = kv};

	snprintf(bytes, sizeof bytes, "%" PRIu64, x->limits.bytes);
	snprintf(files, sizeof files, "%" PRIu64, x->limits.files);
	return record_act(&x->by, &r, NULL, do_limit, x, e);
}

void workspace_cli_words(
	const struct workspace_limits *l, enum workspace_kept kept, struct str *out)
{
	static const char *const done[] = {[WORKSPACE_FREEZE] = "frozen",
		[WORKSPACE_WARN] = "recorded",
		[WORKSPACE_KILL] = "killed",
		[WORKSPACE_REFUSE] = "refused"};
	char bytes[FORMAT_MAX], files[FORMAT_MAX];

	str_adds(out, l->bytes ? format_bytes(bytes, l->bytes) : "any size");
	str_addf(out, ", %s files", l->files ? format_count(files, l->files) : "any number of");
	str_addf(out, ", %s; a breach is %s", workspace_limit_kind(kept), done[l->breach]);
}

/* What was said of one, or goes for all. */
int workspace_cli_limits(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	size_t n;

	if (workspace_list(x->all, &all, &n, e))
		return -1;
	workspace_cli_usual(x->s, &x->limits);
	for (size_t i = 0; i < n; i++)
		if (all[i].kind == x->kind && !strcmp(all[i].name, x->name))
			workspace_limits(x->all, &all[i], &x->limits);
	return 0;
}

int workspace_cli_loop(struct workspace_cli *x, struct err *e)
{
	const char *said = cli_value(x->c, "loop");

	workspace_cli_usual(x->s, &x->limits);
	return read_limit_bytes("--loop", said, &x->limits.bytes)
		? 0
		: err_set(e, ERR_USAGE, "--loop takes a size (500m, 2g), not \"%.40s\".", said);
}

int cli_workspace_limit(struct workspace_cli *x, struct err *e)
{
	struct workspace_quota quota;
	AUTO_STR struct str words = STR_INIT;

	if (workspace_cli_enter(x, e) || workspace_cli_limits(x, e) ||
		read_limit_options(x->c, &x->limits, e) || workspace_cli_limit(x, e))
		return -1;
	workspace_cli_words(&x->limits, workspace_quota(x->root, &quota), &words);
	printf("%s: %s\n", x->path, words.s);
	return 0;
}

/* ---- keep */

static pid_t start_program(
	const struct cli *c, const char *program, const char *const *words, struct arena *mem)
{
	char **argv = cli_call_line(c, words, mem);
	struct err ignored = ERR_INIT;
	pid_t pid;

	fflush(NULL);
	pid = spawn_fork();
	if (pid)
		return pid;
	dup2(STDERR_FILENO, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	cli_become(program, argv, &ignored);
	_exit(1);
}

/* Its checkpoints are made by a process that ends: what it needs for them is not the keeper's for ever. */
static pid_t start_saver(void *ctx, const char *workspace, int64_t keep)
{
	char many[24];
	const char *const words[] = {"workspace", "checkpoint", "--auto", many, workspace, NULL};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);

	snprintf(many, sizeof many, "%" PRId64, keep);
	return start_program(ctx, "berth-files", words, &mem);
}

static pid_t start_terminal(void *ctx, const char *container, const char *name)
{
	const char *const words[] = {"terminal", "start", "--restart", container, name, NULL};
	AUTO_ARENA struct arena mem = ARENA_INIT(1024);

	return start_program(ctx, "berth-core", words, &mem);
}

int cli_workspace_keep(struct workspace_cli *x, struct err *e)
{
	struct keeper_options o = {.tree = x->tree,
		.by = &x->by,
		.pause = workspace_cli_ask_engine,
		.save = start_saver,
		.start_terminal = start_terminal,
		.ctx = (void *)x->c};

	workspace_cli_usual(x->s, &o.usual);
	workspaces_close(x->all); /* it opens its own, and never the lock of this one */
	x->all = NULL;
	return keeper_run(&o, e);
}
