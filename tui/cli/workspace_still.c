/* workspace_still.c - `berth workspace thaw`, and freezing containers while their workspace is read or written. */
#include <stdio.h>
#include <unistd.h>

#include "cli/workspace.h"

/* Where the kernel's freezer is not this user's to write the engine does it, by the command that anybody has. */
int workspace_cli_ask_engine(void *ctx, const struct freeze_box *b, bool pause, struct err *e)
{
	const struct cli *c = ctx;
	const char *const words[] = {pause ? "pause" : "unpause", b->name, NULL};

	return cli_call(c, "berth-core", words, STDERR_FILENO) == 0
		? 0
		: err_set(e, ERR_FAILED, "%s could not be %s.", b->name,
			  pause ? "paused" : "unpaused");
}

int workspace_cli_still(struct workspace_cli *x, const char *why, struct err *e)
{
	x->still.pause = workspace_cli_ask_engine;
	x->still.ctx = (void *)x->c;
	return freeze_begin(&x->still, why, e);
}

int workspace_cli_go_on(struct workspace_cli *x, struct err *e)
{
	return freeze_end(&x->still, e);
}

void workspace_cli_tell_still(const struct workspace_cli *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->still.n; i++)
		if (x->still.box[i].stood)
			printf("%s%s", n++ ? ", " : "", x->still.box[i].name);
	if (n)
		printf(" %s frozen for %.0f ms.\n", n == 1 ? "was" : "were",
			(double)x->still.lasted_ns / 1e6);
}

void workspace_cli_json_still(const struct workspace_cli *x, struct jsonw *j)
{
	bool any = false;

	jsonw_array(j, "frozen");
	for (size_t i = 0; i < x->still.n; i++)
		if (x->still.box[i].stood) {
			jsonw_text(j, NULL, x->still.box[i].name);
			any = true;
		}
	jsonw_end(j);
	jsonw_int(j, "frozen_ms", any ? x->still.lasted_ns / 1000000 : 0);
}

/* ---- thaw */

struct thawing {
	struct workspace_cli *x;
	int n;
};

static int do_thaw(void *ctx, struct audit_record *r, struct err *e)
{
	struct thawing *t = ctx;

	(void)r;
	t->n = freeze_thaw(&t->x->still, e);
	return t->n < 0 ? -1 : 0;
}

/* Where it holds more than it may it goes on with what it held, so that what runs in it can make room. */
static int let_it_be(struct workspace_cli *x, const struct workspace_amount *held, struct err *e)
{
	if (!workspace_over(&x->limits, held))
		return 0;
	x->limits.let_bytes = held->bytes;
	x->limits.let_files = held->files;
	if (workspace_cli_limit(x, e))
		return -1;
	printf("%s holds more than its limit, which is enforced again as soon as it grows.\n",
		x->path);
	return 0;
}

static bool any_held(const struct workspace_cli *x)
{
	char why[256];

	for (size_t i = 0; i < x->still.n; i++)
		if (freeze_why(&x->still.box[i], why, sizeof why) ||
			freeze_refuses(&x->still.box[i], why, sizeof why))
			return true;
	return false;
}

/* First that it may, then that it does: the keeper may look at any moment. */
int cli_workspace_thaw(struct workspace_cli *x, struct err *e)
{
	struct thawing t = {x, 0};
	struct audit_record r = {
		.operation = OP_WORKSPACE_THAW, .target_type = "workspace", .name = x->path};
	struct workspace_amount held;

	if (workspace_cli_enter(x, e) || freeze_find(&x->still, x->root, e) ||
		workspace_cli_limits(x, e) || workspace_amount(x->root, &held, NULL, NULL, e))
		return -1;
	x->still.pause = workspace_cli_ask_engine;
	x->still.ctx = (void *)x->c;
	if ((any_held(x) && let_it_be(x, &held, e)) || record_act(&x->by, &r, NULL, do_thaw, &t, e))
		return -1;
	if (t.n)
		printf("%s: %d container%s run%s again.\n", x->path, t.n, t.n == 1 ? "" : "s",
			t.n == 1 ? "s" : "");
	else
		printf("%s: berth has frozen no container that has it.\n", x->path);
	return 0;
}
