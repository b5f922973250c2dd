/* workspace_auto.c - `berth workspace checkpoint --auto`: creates unnamed checkpoints and deletes the oldest. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <berth/format.h>
#include <berth/mem.h>

#include "cli/workspace.h"

#define KEEP_MOST 1000000
#define STAMP "00000000T000000.000Z" /* 0: a digit */

bool workspace_auto_word(const char *name)
{
	return !strncmp(name, WORKSPACE_AUTO, strlen(WORKSPACE_AUTO));
}

/* Exactly as they are named here: what a person called auto-fix before that was refused is theirs. */
static bool is_automatic(const char *name)
{
	const char *shape = STAMP;

	if (!workspace_auto_word(name))
		return false;
	for (name += strlen(WORKSPACE_AUTO); *shape; name++, shape++)
		if (*shape == '0' ? *name < '0' || *name > '9' : *name != *shape)
			return false;
	return !*name;
}

static int read_keep(const char *text, long *ret, struct err *e)
{
	char *end;

	errno = 0;
	*ret = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *ret >= 1 && *ret <= KEEP_MOST
		? 0
		: err_set(e, ERR_USAGE,
			  "--auto takes the number to keep, from 1 to %d, not \"%.40s\".",
			  KEEP_MOST, text);
}

static int do_drop(void *ctx, struct audit_record *r, struct err *e)
{
	struct workspace_cli *x = ctx;

	(void)r;
	return checkpoint_drop(x->store, x->point, &x->freed, e);
}

int workspace_cli_drop(struct workspace_cli *x, struct err *e)
{
	return workspace_cli_act(x, OP_WORKSPACE_DROP, do_drop, e);
}

static bool differs_in_nothing(struct checkpoint_tree *a, struct checkpoint_tree *b)
{
	struct checkpoint_changes c;
	bool same;

	checkpoint_compare(a, b, &c);
	same = !c.n;
	checkpoint_changes_release(&c);
	return same;
}

/* The newest one before it, where that holds the same. */
static int find_equal(struct workspace_cli *x, char ret[CHECKPOINT_NAME_MAX + 1], struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	const struct checkpoint_info *last = NULL;
	struct checkpoint_tree *was, *is;
	struct err why = ERR_INIT; /* a person may have dropped it by now */
	size_t n;

	if (checkpoint_list(x->store, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (!all[i].damaged && all[i].serial < x->made.serial)
			last = &all[i];
	if (!last)
		return 0;
	was = checkpoint_tree_of(x->store, last->name, &why);
	if (!was)
		return why.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &why);
	is = checkpoint_tree_of(x->store, x->point, e);
	if (is && differs_in_nothing(was, is))
		memcpy(ret, last->name, sizeof last->name);
	checkpoint_tree_free(was);
	checkpoint_tree_free(is);
	return is ? 0 : -1;
}

struct making {
	struct workspace_cli *x;
	struct workspace_auto *ret;
};

static int do_automatic(void *ctx, struct audit_record *r, struct err *e)
{
	struct making *m = ctx;
	struct workspace_cli *x = m->x;

	(void)r;
	if (workspace_cli_checkpoint(x, x->point, e) || find_equal(x, m->ret->unchanged, e))
		return -1;
	return *m->ret->unchanged ? checkpoint_drop(x->store, x->point, &x->freed, e) : 0;
}

static int record_automatic(void *ctx, struct err *e)
{
	struct making *m = ctx;
	struct workspace_cli *x = m->x;
	struct key_value kv[] = {{.key = "checkpoint", .value = x->point}};
	struct audit_record r = {.operation = OP_WORKSPACE_SNAPSHOT,
		.target_type = "workspace",
		.name = x->path,
		.nparams = COUNT(kv),
		.params = kv};

	return record_act(&x->by, &r, NULL, do_automatic, m, e);
}

static int make_automatic(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1],
	struct workspace_auto *ret, struct err *e)
{
	struct making m = {x, ret};

	return workspace_cli_stamped(x, name, WORKSPACE_AUTO, record_automatic, &m, e);
}

/* Of a restore that was cut short the checkpoint is needed. */
static int drop_oldest(
	struct workspace_cli *x, size_t keep, struct workspace_auto *ret, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	char pending[CHECKPOINT_NAME_MAX + 1];
	bool cut;
	size_t n, automatic = 0;

	if (checkpoint_list(x->store, &all, &n, e))
		return -1;
	cut = checkpoint_pending(x->store, pending);
	for (size_t i = 0; i < n; i++)
		automatic += is_automatic(all[i].name);
	for (size_t i = 0; i < n && automatic > keep; i++) {
		struct err why = ERR_INIT; /* a person may have dropped it by now */
		const char *point = x->point;
		int rc;

		if (!is_automatic(all[i].name) || (cut && !strcmp(all[i].name, pending)))
			continue;
		x->point = all[i].name;
		rc = workspace_cli_drop(x, &why);
		x->point = point;
		automatic--;
		if (rc == 0)
			ret->dropped++;
		else if (why.kind != ERR_NOT_FOUND)
			return err_copy(e, &why);
	}
	return 0;
}

/* The oldest one but that which was just made, or is asked for, and that of a restore that was cut short.  1: it went;
 * 0: none can. */
static int drop_for_room(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	const char *point = x->point;
	char pending[CHECKPOINT_NAME_MAX + 1];
	size_t n, i = 0;
	bool cut;
	int rc;

	if (checkpoint_list(x->store, &all, &n, e))
		return -1;
	cut = checkpoint_pending(x->store, pending);
	while (i < n &&
		(!is_automatic(all[i].name) || !strcmp(all[i].name, x->made.name) ||
			(point && !strcmp(all[i].name, point)) ||
			(cut && !strcmp(all[i].name, pending))))
		i++;
	if (i == n)
		return 0;
	x->point = all[i].name;
	rc = workspace_cli_drop(x, e) ? -1 : 1;
	x->point = point;
	return rc;
}

/* 1: there is room; 0: there is not, which *e says. */
static int measure_room(struct workspace_cli *x, unsigned more, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	uint64_t most = x->s->checkpoint_bytes, count = (uint64_t)x->s->checkpoint_count, bytes;
	char taken[FORMAT_MAX], limit[FORMAT_MAX];
	size_t n;

	if (checkpoint_list(x->store, &all, &n, e) || checkpoint_disk(x->store, &bytes, e))
		return -1;
	if ((!count || n + more <= count) && (!most || bytes + more <= most))
		return 1;
	if (count && n + more > count)
		err_set(e, ERR_REFUSED,
			"%s has %zu checkpoints, and agents may save no more than %" PRIu64
			" (workspaces.checkpoint_count); to delete one: berth workspace drop %s NAME",
			x->path, n, count, x->path);
	else
		err_set(e, ERR_REFUSED,
			"the checkpoints of %s would take %s, and agents may save no more than %s "
			"(workspaces.checkpoint_bytes); to delete one: berth workspace drop %s NAME",
			x->path, format_bytes(taken, bytes), format_bytes(limit, most), x->path);
	return 0;
}

int workspace_cli_room(struct workspace_cli *x, unsigned more, struct err *e)
{
	struct err full = ERR_INIT;
	int rc;

	if (!record_agent() && !cli_value(x->c, "auto"))
		return 0;
	while ((rc = measure_room(x, more, &full)) == 0) {
		struct err why = ERR_INIT;

		rc = drop_for_room(x, &why);
		if (rc == 0 || (rc < 0 && why.kind != ERR_NOT_FOUND))
			return err_copy(e, rc ? &why : &full);
	}
	return rc < 0 ? err_copy(e, &full) : 0;
}

int workspace_cli_hold(struct workspace_cli *x, struct err *e)
{
	struct err why = ERR_INIT, ignored = ERR_INIT;

	if (!workspace_cli_room(x, 0, &why))
		return 0;
	x->point = x->made.name;
	workspace_cli_drop(x, &ignored);
	return err_copy(e, &why);
}

int workspace_cli_auto(struct workspace_cli *x, char name[CHECKPOINT_NAME_MAX + 1],
	struct workspace_auto *ret, struct err *e)
{
	long keep;
	int rc;

	if (x->c->argc > 1)
		return err_set(e, ERR_USAGE,
			"--auto gives the checkpoint its name; leave out \"%.40s\".",
			x->c->argv[1]);
	if (read_keep(cli_value(x->c, "auto"), &keep, e) || workspace_cli_enter(x, e) ||
		checkpoint_turn(x->store, e))
		return -1;
	/* Who counted one that another process then does not keep would drop too many. */
	rc = workspace_cli_room(x, 1, e) || make_automatic(x, name, ret, e) ||
			drop_oldest(x, (size_t)keep, ret, e) ||
			(!*ret->unchanged && workspace_cli_hold(x, e))
		? -1
		: 0;
	checkpoint_turn_end(x->store);
	x->point = name;
	return rc;
}
