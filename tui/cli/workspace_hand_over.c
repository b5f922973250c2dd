/* workspace_hand_over.c - `berth workspace hand-over`: gives another task read access to files of a task. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/sum.h>

#include "cli/workspace.h"

struct handing {
	struct workspace_cli *x;
	struct workspace_side from;
	struct workspace_place to;
	bool full;           /* what was handed over before leaves no room */
	char path[PATH_MAX]; /* where it lies then, for the receiver, too */
	int into;
	int turn; /* the lock on it; -1: not taken */
	struct apply *plan;
};

static int check_ends(const struct handing *h, struct err *e)
{
	if (h->from.place.kind != WORKSPACE_TASK || h->to.kind != WORKSPACE_TASK)
		return err_set(e, ERR_USAGE,
			"%s is a project: hand-over is from task to task (`berth workspace apply` is for "
			"projects).",
			h->to.kind == WORKSPACE_TASK ? h->from.place.path : h->to.path);
	if (!strcmp(h->from.place.name, h->to.name))
		return err_set(e, ERR_USAGE, "%s has that already.", h->to.path);
	return 0;
}

static int open_handing(struct handing *h, struct err *e)
{
	const struct cli *c = h->x->c;
	struct apply_wish wish = {.path = (const char *const *)c->argv + 2,
		.npath = (size_t)c->argc - 2,
		.own = "context.json"};

	if (workspace_side_open(h->x, c->argv[0], &h->from, e) ||
		workspace_cli_place(h->x, c->argv[1], &h->to, e) || check_ends(h, e))
		return -1;
	snprintf(h->path, sizeof h->path, "%.*s/shared/inter_task/%s/%s", PATH_MAX - 200,
		h->x->tree, h->to.name, h->from.place.name);
	h->into = workspace_inbox(h->x->all, h->to.name, h->from.place.name, e);
	if (h->into < 0)
		return -1;
	wish.from = h->from.tree;
	wish.into = h->into;
	wish.settle = !h->x->by.policy->read_only;
	h->plan = apply_prepare(&wish, e);
	return h->plan ? 0 : -1;
}

static void close_handing(struct handing *h)
{
	apply_free(h->plan);
	cleanup_close(&h->turn);
	if (h->into >= 0) {
		close(h->into);
		rmdir(h->path); /* where nothing was handed over, and nothing had been */
	}
	workspace_cli_leave(&h->to);
	workspace_side_close(&h->from);
}

/* Of several at once each counts what those before it handed over.  The file is where no agent could hold it. */
static int take_turn(struct handing *h, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/.handing", h->x->tree);

	h->turn = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	while (h->turn >= 0 && flock(h->turn, LOCK_EX) < 0 && errno == EINTR)
		;
	return h->turn < 0 ? err_sys(e, errno, "cannot open %.400s", path) : 0;
}

/* What an agent handed over to a task is bounded as its workspace is, or other names each time would fill the disk.  What
 * is replaced is no larger than that. */
static int check_inbox_room(struct handing *h, struct err *e)
{
	struct workspace_amount held;
	struct workspace_limits limits;
	char taken[FORMAT_MAX], limit[FORMAT_MAX];

	if (!record_agent())
		return 0;
	if (take_turn(h, e))
		return -1;
	workspace_cli_usual(h->x->s, &limits);
	workspace_limits(h->x->all, &h->from.place.info, &limits);
	if (workspace_amount(h->into, &held, NULL, NULL, e))
		return -1;
	for (size_t i = 0; i < h->plan->nitem; i++) {
		bool new = h->plan->item[i].fate == APPLY_NEW;

		held.files += new;
		sum_add(&held.bytes, new ? h->plan->item[i].size : 0);
	}
	h->full = workspace_over(&limits, &held);
	return h->full ? err_set(e, ERR_REFUSED,
				 "%s would have handed over %s in %" PRIu64
				 " files to %s, more than the limit of its workspace (%s, %" PRIu64
				 " files); nothing was handed over.",
				 h->from.place.path, format_bytes(taken, held.bytes), held.files,
				 h->to.path, format_bytes(limit, limits.bytes), limits.files)
		       : 0;
}

static int do_hand_over(void *ctx, struct audit_record *r, struct err *e)
{
	struct handing *h = ctx;

	(void)r;
	if (workspace_cli_check_secrets(h->x->c, h->plan, "handed over", e) ||
		check_inbox_room(h, e))
		return -1;
	umask(022); /* the receiver is another user where we are root */
	/* What it handed over before is its own to replace. */
	return apply_carry_out(h->plan, true, e);
}

static int record_hand_over(struct handing *h, struct err *e)
{
	AUTO_FREE const char **path = NULL;
	struct key_value kv[] = {{.key = "to", .value = h->to.path},
		{.key = "secrets", .value = cli_flag(h->x->c, "secrets") ? "yes" : "no"}};
	struct audit_record r = {.operation = OP_WORKSPACE_HAND_OVER,
		.target_type = "workspace",
		.name = h->from.name,
		.nparams = COUNT(kv),
		.params = kv};
	size_t n;

	n = workspace_cli_passing(h->plan, &path);
	record_manifest(&r, n, path);
	return record_act(&h->x->by, &r, NULL, do_hand_over, h, e);
}

static int tell_handing(const struct handing *h, bool handed)
{
	const struct apply *p = h->plan;
	struct jsonw j;

	if (!cli_flag(h->x->c, "json")) {
		workspace_cli_apply(p);
		if (handed)
			printf("%" PRIu64 " handed over, %" PRIu64 " the same already, %" PRIu64
			       " dropped: %s\n",
				p->count[APPLY_NEW] + p->count[APPLY_CONFLICT],
				p->count[APPLY_SAME], p->count[APPLY_DROPPED], h->path);
		return 0;
	}
	jsonw_document(&j, "berth.workspace_hand_over/1");
	jsonw_text(&j, "from", h->from.name);
	jsonw_text(&j, "to", h->to.path);
	jsonw_text(&j, "path", h->path);
	jsonw_bool(&j, "handed_over", handed);
	workspace_cli_json_apply(&j, p);
	return jsonw_print(&j);
}

int cli_workspace_hand_over(struct workspace_cli *x, struct err *e)
{
	struct handing h = {.x = x, .from.place.root = -1, .to.root = -1, .into = -1, .turn = -1};
	bool dry = cli_flag(x->c, "dry-run");
	int rc = open_handing(&h, e), told;

	if (rc == 0) {
		if (!dry)
			rc = record_hand_over(&h, e);
		told = h.full ? 0 : tell_handing(&h, !dry && rc == 0);
		rc = rc ? rc : told;
		if (rc == 0 && !dry)
			rc = workspace_cli_check_whole(h.plan, "handed over", e);
	}
	close_handing(&h);
	return rc;
}
