/*
 * workspace_results.c - `berth workspace put-result`, `results` and `drop-result`: saves, prints and deletes results
 * of tasks.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/results.h>
#include <berth/text.h>

#include "cli/workspace.h"

struct keeping {
	struct workspace_cli *x;
	struct workspace_place task;
	char of[64];
	struct results *all;
	struct result result;
	struct str text;
	size_t shown;
	bool whole; /* one result, all of it */
	struct jsonw *json;
};

static struct results *open_results(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/.results.db", x->tree);

	return results_open(path, e);
}

/* Its inode may be that of another one later; when it was made, too, is not. */
static int enter_task(struct keeping *k, const char *said, struct err *e)
{
	struct statx st;

	if (workspace_cli_place(k->x, said, &k->task, e))
		return -1;
	if (k->task.kind != WORKSPACE_TASK)
		return err_set(
			e, ERR_USAGE, "%s is a project: only tasks have results.", k->task.path);
	if (statx(k->task.root, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return err_sys(e, errno, "cannot look at %s", k->task.path);
	snprintf(k->of, sizeof k->of, "%llu-%lld.%u", (unsigned long long)st.stx_ino,
		(long long)st.stx_btime.tv_sec, st.stx_btime.tv_nsec);
	return 0;
}

static void leave_task(struct keeping *k)
{
	results_close(k->all);
	workspace_cli_leave(&k->task);
	str_release(&k->text);
}

/* --- keeping one --- */

static int check_path_in_task(struct keeping *k, const char *path, struct err *e)
{
	AUTO_CLOSE int fd = *path == '/'
		? (errno = EXDEV, -1)
		: beneath_open(k->task.root, path, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	return fd < 0
		? err_set(e, errno == ENOENT ? ERR_NOT_FOUND : ERR_REFUSED,
			  "%.200s is not a path in %s: it begins at its top, as in files/a.csv, and "
			  "goes through no link",
			  path, k->task.path)
		: 0;
}

static int read_result_text(struct keeping *k, struct err *e)
{
	const struct cli *c = k->x->c;
	const char *path = cli_value(c, "path");
	bool operand = c->argc > 2;

	if (operand + !!path + cli_flag(c, "stdin") != 1)
		return err_set(e, ERR_USAGE, "give one of TEXT, --path PATH and --stdin.");
	if (cli_flag(c, "stdin"))
		return file_rest(STDIN_FILENO, "standard input", RESULT_TEXT_MAX, &k->text, e);
	str_adds(&k->text, operand ? c->argv[2] : path);
	return path ? check_path_in_task(k, path, e) : 0;
}

static int do_put(void *ctx, struct audit_record *r, struct err *e)
{
	struct keeping *k = ctx;
	size_t secrets = k->result.shareable && !cli_flag(k->x->c, "secrets")
		? workspace_find_secrets("result", k->text.s, k->text.len, NULL, NULL)
		: 0;

	(void)r;
	if (secrets)
		return err_set(e, ERR_REFUSED,
			"%s probably contains a secret that every task could read: use --secrets if it does not",
			k->result.name);
	return results_put(k->all, &k->result, e);
}

static int record_put(struct keeping *k, struct err *e)
{
	struct key_value kv[] = {{.key = "result", .value = k->result.name},
		{.key = "shareable", .value = k->result.shareable ? "yes" : "no"}};
	struct audit_record r = {.operation = OP_WORKSPACE_RESULT,
		.target_type = "workspace",
		.name = k->task.path,
		.nparams = COUNT(kv),
		.params = kv};

	return record_act(&k->x->by, &r, NULL, do_put, k, e);
}

static int put_result_of(struct keeping *k, struct err *e)
{
	const struct cli *c = k->x->c;

	if (enter_task(k, c->argv[0], e) || read_result_text(k, e) ||
		!(k->all = open_results(k->x, e)))
		return -1;
	k->result = (struct result){.task = k->task.name,
		.of = k->of,
		.name = c->argv[1],
		.text = k->text.s,
		.size = k->text.len,
		.is_path = cli_value(c, "path") != NULL,
		.shareable = cli_flag(c, "shareable"),
		.kept_ms = clock_wall_ms()};
	return record_put(k, e);
}

static int tell_put(const struct keeping *k)
{
	struct jsonw j;

	if (!cli_flag(k->x->c, "json")) {
		printf("%s: %s kept, %zu bytes%s\n", k->task.path, k->result.name, k->result.size,
			k->result.shareable ? ", for every task" : "");
		return 0;
	}
	jsonw_document(&j, "berth.workspace_put_result/1");
	jsonw_text(&j, "task", k->task.name);
	jsonw_text(&j, "name", k->result.name);
	jsonw_bool(&j, "shareable", k->result.shareable);
	jsonw_uint(&j, "bytes", k->result.size);
	return jsonw_print(&j);
}

int cli_workspace_put_result(struct workspace_cli *x, struct err *e)
{
	struct keeping k = {.x = x, .task.root = -1, .text = STR_INIT};
	int rc = put_result_of(&k, e);

	rc = rc ? rc : tell_put(&k);
	leave_task(&k);
	return rc;
}

/* --- dropping one --- */

static int do_drop_result(void *ctx, struct audit_record *r, struct err *e)
{
	struct keeping *k = ctx;

	(void)r;
	k->all = open_results(k->x, e);
	return k->all ? results_drop(k->all, k->x->name, k->x->c->argv[1], e) : -1;
}

int cli_workspace_drop_result(struct workspace_cli *x, struct err *e)
{
	struct keeping k = {.x = x, .task.root = -1, .text = STR_INIT};
	struct key_value kv = {.key = "result", .value = x->c->argv[1]};
	struct audit_record r = {.operation = OP_WORKSPACE_FORGET,
		.target_type = "workspace",
		.name = x->path,
		.nparams = 1,
		.params = &kv};
	const char *said = x->c->argv[0];
	int rc;

	/* The task itself may be gone. */
	workspace_cli_name(x, WORKSPACE_TASK, strncmp(said, "tasks/", 6) ? said : said + 6);
	rc = record_act(&x->by, &r, NULL, do_drop_result, &k, e);
	if (rc == 0)
		printf("%s: %s dropped\n", x->path, x->c->argv[1]);
	leave_task(&k);
	return rc;
}

/* --- reading --- */

static void json_kept_result(struct jsonw *j, const struct result *x)
{
	jsonw_object(j, NULL);
	jsonw_text(j, "task", x->task);
	jsonw_text(j, "name", x->name);
	jsonw_textn(j, x->is_path ? "path" : "text", x->text, x->size);
	jsonw_bool(j, "shareable", x->shareable);
	jsonw_int(j, "kept_ms", x->kept_ms);
	jsonw_end(j);
}

/* The first line, as far as it fits. */
static void print_result_line(const struct result *x)
{
	AUTO_STR struct str masked = STR_INIT, line = STR_INIT;
	char bytes[FORMAT_MAX], age[FORMAT_MAX];
	size_t n = strcspn(x->text, "\n");
	int64_t ms = clock_wall_ms() - x->kept_ms;

	workspace_add_masked(&masked, x->text, n);
	text_neutralise(&line, masked.s, n < 60 ? n : 60, false);
	printf("%-24s %-24s %8s %6s ago  %s  %s%s\n", x->task, x->name,
		format_bytes(bytes, x->size), format_age(age, ms > 0 ? ms : 0),
		x->shareable ? "every task" : "its task  ", x->is_path ? "path " : "", line.s);
}

static int show_result(void *ctx, const struct result *x)
{
	struct keeping *k = ctx;
	AUTO_STR struct str text = STR_INIT;

	if (!k->shown++ && !k->json && !k->whole)
		printf("%-24s %-24s %8s %10s  %-10s  %s\n", "TASK", "NAME", "SIZE", "AGE",
			"READ BY", "TEXT");
	if (k->json) {
		json_kept_result(k->json, x);
	} else if (k->whole) {
		if (isatty(STDOUT_FILENO))
			text_neutralise(&text, x->text, x->size, true);
		else
			str_add(&text, x->text, x->size);
		fwrite(text.s, 1, text.len, stdout);
		if (!text.len || text.s[text.len - 1] != '\n')
			putchar('\n');
	} else {
		print_result_line(x);
	}
	return 0;
}

static int read_results(struct keeping *k, struct err *e)
{
	const struct cli *c = k->x->c;
	const char *task = c->argc > 0 ? c->argv[0] : NULL, *name = c->argc > 1 ? c->argv[1] : NULL;
	const char *as = cli_value(c, "as");
	struct results_reader by;
	int n;

	if (task && !strncmp(task, "tasks/", 6))
		task += 6;
	if (as && enter_task(k, as, e))
		return -1;
	k->all = open_results(k->x, e);
	if (!k->all)
		return -1;
	by = (struct results_reader){k->task.name, k->of};
	n = results_each(k->all, as ? &by : NULL, task, name, show_result, k, e);
	if (n == 0 && name)
		return err_set(e, ERR_NOT_FOUND,
			"the task %.64s has no result %.64s%s; `berth workspace results` lists them",
			task, name, as ? " that this one may read" : "");
	return n < 0 ? -1 : 0;
}

int cli_workspace_results(struct workspace_cli *x, struct err *e)
{
	struct keeping k = {.x = x, .task.root = -1, .text = STR_INIT, .whole = x->c->argc > 1};
	struct jsonw j;
	int rc;

	if (cli_flag(x->c, "json")) {
		k.json = &j;
		jsonw_document(&j, "berth.workspace_results/1");
		jsonw_array(&j, "results");
	}
	rc = read_results(&k, e);
	if (k.json && rc == 0)
		rc = jsonw_print(&j);
	else if (k.json)
		jsonw_release(&j);
	leave_task(&k);
	return rc;
}
