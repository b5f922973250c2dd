/* fork.c - writes a checkpoint into empty directories, all of them at once. */
#include <stdlib.h>

#include <berth/mem.h>

#include "checkpoint/restore.h"
#include "checkpoint/trees.h"

static int begin_target(struct checkpoint_store *s, const struct manifest *to,
	struct checkpoint_target *t, struct manifest *live, struct err *e)
{
	static const pid_t nobody; /* maps what is in an empty directory */
	const struct checkpoint_options quiet = {.pids = &nobody};
	struct capture how = {.root = t->root, .o = &quiet, .pool = s->pool};

	if (capture_tree(&how, live, e) < 0)
		return -1;
	if (live->n != 1)
		return err_set(e, ERR_CONFLICT,
			"the directory for a fork of %s is not empty: use a new one",
			to->head.name);
	manifest_index(live);
	return t->begins ? store_begin(t->begins, t->root, to, e) : 0;
}

/* Those that could begin, side by side. */
static void write_targets(struct checkpoint_store *s, const struct manifest *to,
	struct checkpoint_target *t, const struct manifest *live, size_t n)
{
	AUTO_FREE struct restore_result *result = xcalloc(n, sizeof *result);
	AUTO_FREE struct restore *how = xcalloc(n, sizeof *how);
	size_t begun = 0, k = 0;

	for (size_t i = 0; i < n; i++)
		if (t[i].err.kind == ERR_NONE)
			how[begun++] = (struct restore){.store = s,
				.pool = s->pool,
				.root = t[i].root,
				.live = &live[i],
				.to = to,
				.sound = true};
	if (begun)
		restore_trees(how, begun, result);
	for (size_t i = 0; i < n; i++) {
		if (t[i].err.kind != ERR_NONE)
			continue;
		t[i].done = result[k].done;
		if (result[k].failed)
			t[i].err = result[k].err;
		k++;
	}
}

int checkpoint_fork(struct checkpoint_store *s, const char *name, struct checkpoint_target *t,
	size_t n, struct err *e)
{
	AUTO_FREE struct manifest *live = xcalloc(n, sizeof *live);
	struct manifest to;
	int rc;

	for (size_t i = 0; i < n; i++)
		t[i].err = (struct err)ERR_INIT;
	if (store_lock(s, e) < 0)
		return -1;
	manifest_init(&to);
	rc = store_load(s, name, &to, e);
	/* Of many forks the first looks whether all is sound. */
	if (rc == 0 && (s->sound != to.head.serial || s->sound_ns != to.head.begun_ns)) {
		rc = store_check(s, &to, NULL, e);
		s->sound = rc == 0 ? to.head.serial : 0;
		s->sound_ns = to.head.begun_ns;
	}
	for (size_t i = 0; rc == 0 && i < n; i++) {
		manifest_init(&live[i]);
		begin_target(s, &to, &t[i], &live[i], &t[i].err);
	}
	if (rc == 0) {
		write_targets(s, &to, t, live, n);
		for (size_t i = 0; i < n; i++)
			manifest_release(&live[i]);
	}
	store_unlock(s);
	manifest_release(&to);
	return rc;
}
