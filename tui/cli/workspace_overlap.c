/* workspace_overlap.c - `berth workspace overlap`: shows what several workspaces changed since their common start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/workspace.h"

/* One of the workspaces, what it began with, and what it made of that. */
struct strand {
	struct workspace_side side;
	struct checkpoint_tree *start;
	struct checkpoint_changes changes;
};

struct touch {
	const struct checkpoint_change *change;
	const struct strand *by;
};

struct overlapping {
	struct strand *strand;
	size_t n;
	struct touch *touch; /* by path, then in the order of the operands */
	size_t ntouch;
};

static struct checkpoint_tree *find_start(const struct overlapping *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->strand[i].start)
			return o->strand[i].start;
	return NULL;
}

/* A workspace that was forked has its start among its checkpoints. */
static int share_start(struct overlapping *o, struct err *e)
{
	const struct checkpoint_tree *start;

	for (size_t i = 0; i < o->n; i++) {
		struct workspace_side *side = &o->strand[i].side;
		struct checkpoint_store *store = side->place.store;
		struct err why = ERR_INIT;

		if (!store) /* an archive without checkpoints */
			continue;
		o->strand[i].start = side->archive < 0
			? checkpoint_tree_start(store, side->place.root, &why)
			: checkpoint_tree_start_of(store, side->tree, &why);
		if (!o->strand[i].start && why.kind != ERR_NOT_FOUND)
			return err_copy(e, &why);
	}
	start = find_start(o);
	for (size_t i = 0; start && i < o->n; i++) {
		struct strand *s = &o->strand[i];

		if (!s->start && s->side.place.store)
			s->start = checkpoint_tree_of(
				s->side.place.store, checkpoint_tree_name(start), NULL);
		if (!s->start || !checkpoint_tree_same(start, s->start))
			start = NULL;
	}
	return start
		? 0
		: err_set(e, ERR_USAGE,
			  "these workspaces have no common start: name forks of one `berth workspace fork`, or the workspace that was forked.");
}

static int order_touches(const void *left, const void *right)
{
	const struct touch *a = left, *b = right;
	int by = strcmp(a->change->path, b->change->path);

	return by ? by : (a->by > b->by) - (a->by < b->by);
}

static void collect_touches(struct overlapping *o)
{
	size_t cap = 0;

	for (size_t i = 0; i < o->n; i++) {
		struct strand *s = &o->strand[i];

		checkpoint_compare(s->start, s->side.tree, &s->changes);
		for (size_t k = 0; k < s->changes.n; k++) {
			/* That of a fork is berth's doing. */
			if (s->side.place.kind == WORKSPACE_TASK &&
				!strcmp(s->changes.all[k].path, "context.json"))
				continue;
			o->touch = mem_grow(o->touch, &cap, o->ntouch + 1, sizeof *o->touch);
			o->touch[o->ntouch++] = (struct touch){&s->changes.all[k], s};
		}
	}
	mem_sort(o->touch, o->ntouch, sizeof *o->touch, order_touches);
}

static bool is_same_outcome(const struct touch *t, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct checkpoint_entry *x = &t[0].change->new, *y = &t[i].change->new;

		if (x->mode != y->mode || x->uid != y->uid || x->gid != y->gid ||
			!checkpoint_same(t[0].by->side.tree, x, t[i].by->side.tree, y))
			return false;
	}
	return true;
}

/* That two made a directory is none: what is in it may be. */
static bool are_dirs(const struct touch *t, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((t[i].change->old.mode && !S_ISDIR(t[i].change->old.mode)) ||
			(t[i].change->new.mode && !S_ISDIR(t[i].change->new.mode)))
			return false;
	return true;
}

static void tell_overlap(struct jsonw *j, const struct touch *t, size_t n)
{
	AUTO_STR struct str path = STR_INIT;
	bool same = is_same_outcome(t, n);

	if (!j) {
		workspace_cli_quote(&path, t->change->path, strlen(t->change->path));
		printf("%s ", path.s);
		for (size_t i = 0; i < n; i++)
			printf(" %s %s%s", t[i].by->side.name,
				workspace_side_word(t[i].change->what), i + 1 < n ? "," : "");
		puts(same ? "; the same" : "");
		return;
	}
	jsonw_object(j, NULL);
	workspace_cli_json_name(j, "path", t->change->path);
	jsonw_bool(j, "same", same);
	jsonw_array(j, "by");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(j, NULL);
		jsonw_text(j, "workspace", t[i].by->side.name);
		jsonw_text(j, "what", workspace_side_word(t[i].change->what));
		jsonw_end(j);
	}
	jsonw_end(j);
	jsonw_end(j);
}

static void tell_overlaps(const struct overlapping *o, struct jsonw *j)
{
	for (size_t i = 0, n; i < o->ntouch; i += n) {
		for (n = 1; i + n < o->ntouch &&
			!strcmp(o->touch[i].change->path, o->touch[i + n].change->path);)
			n++;
		if (n > 1 && !are_dirs(&o->touch[i], n))
			tell_overlap(j, &o->touch[i], n);
	}
}

static int print_overlaps(struct workspace_cli *x, const struct overlapping *o)
{
	struct jsonw j;

	if (!cli_flag(x->c, "json")) {
		tell_overlaps(o, NULL);
		return 0;
	}
	jsonw_document(&j, "berth.workspace_overlap/1");
	jsonw_text(&j, "start", checkpoint_tree_name(o->strand[0].start));
	jsonw_array(&j, "entries");
	tell_overlaps(o, &j);
	return jsonw_print(&j);
}

int cli_workspace_overlap(struct workspace_cli *x, struct err *e)
{
	struct overlapping o = {.strand = xcalloc((size_t)x->c->argc, sizeof *o.strand)};
	int rc = 0;

	for (; rc == 0 && o.n < (size_t)x->c->argc; o.n++)
		rc = workspace_side_open_any(x, x->c->argv[o.n], &o.strand[o.n].side, e);
	for (size_t i = 0; rc == 0 && i < o.n; i++)
		for (size_t k = 0; rc == 0 && k < i; k++)
			if (!strcmp(o.strand[i].side.place.path, o.strand[k].side.place.path))
				rc = err_set(e, ERR_USAGE, "%s is named twice.",
					o.strand[i].side.place.path);
	if (rc == 0)
		rc = share_start(&o, e);
	if (rc == 0) {
		collect_touches(&o);
		rc = print_overlaps(x, &o);
	}
	for (size_t i = 0; i < o.n; i++) {
		checkpoint_changes_release(&o.strand[i].changes);
		checkpoint_tree_free(o.strand[i].start);
		workspace_side_close(&o.strand[i].side);
	}
	free(o.touch);
	free(o.strand);
	return rc;
}
