/* back.c - restores a tree to a checkpoint by its name, so that it can be undone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>

#include "checkpoint/restore.h"

static int note_restore(struct checkpoint_store *s, const char *name, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->fd, RESTORING ".new",
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || file_write(fd, name, strlen(name)) < 0 || fsync(fd) < 0 ||
		renameat(s->fd, RESTORING ".new", s->fd, RESTORING) < 0 || fsync(s->fd) < 0)
		return err_sys(e, errno, "cannot note that %s is being restored", name);
	s->noted = true;
	return 0;
}

bool checkpoint_pending(struct checkpoint_store *s, char name[CHECKPOINT_NAME_MAX + 1])
{
	AUTO_CLOSE int fd = openat(s->fd, RESTORING, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, CHECKPOINT_NAME_MAX);

	name[n > 0 ? n : 0] = '\0';
	return n > 0 && store_check_name(name, NULL) == 0;
}

/* What was begun and does not go on (the disk, or a quota, is full) leaves all as it was: what came goes first, so there
 * is room for what was there. */
static int undo_restore(struct checkpoint_store *s, int root, const struct manifest *was,
	const struct checkpoint_options *o, struct err *e)
{
	struct manifest now;
	struct err why = ERR_INIT;
	int rc;

	manifest_init(&now);
	rc = store_survey(s, root, o, &now, &why);
	if (rc == 0) {
		manifest_index(&now);
		rc = restore_tree(
			&(struct restore){
				.store = s, .pool = s->pool, .root = root, .live = &now, .to = was},
			NULL, &why);
	}
	manifest_release(&now);
	if (rc == 0 && unlinkat(s->fd, RESTORING, 0) == 0)
		return err_wrap(e, "everything is as it was before");
	return err_wrap(
		e, "the restore is incomplete; the previous state is in %.200s", was->head.name);
}

int checkpoint_restore(struct checkpoint_store *s, int root, const char *name, const char *undo,
	const struct checkpoint_options *o, struct checkpoint_restored *ret, struct err *e)
{
	struct checkpoint_options synced = o ? *o : (struct checkpoint_options){0};
	struct checkpoint_info made;
	struct manifest to, live;
	int rc;

	if (store_lock(s, e) < 0)
		return -1;
	s->noted = false;
	manifest_init(&to);
	manifest_init(&live);
	synced.sync = true; /* what is about to be taken away must be safe */
	rc = store_load(s, name, &to, e);
	if (rc == 0 && undo) {
		rc = checkpoint_make(s, root, undo, &synced, &made, e);
		if (rc == 0 && synced.allow && synced.allow(synced.ctx, &made, e) < 0) {
			checkpoint_drop(s, undo, NULL, NULL);
			rc = -1;
		}
		if (rc == 0)
			rc = store_load(s, undo, &live, e);
	} else if (rc == 0) {
		rc = store_survey(s, root, o, &live, e);
	}
	if (rc == 0) {
		manifest_index(&live);
		rc = restore_tree(&(struct restore){.store = s,
					  .pool = s->pool,
					  .root = root,
					  .live = &live,
					  .to = &to,
					  .begin = note_restore},
			ret, e);
		if (rc < 0 && undo && s->noted)
			undo_restore(s, root, &live, o, e);
	}
	if (rc == 0 && unlinkat(s->fd, RESTORING, 0) < 0)
		rc = err_sys(e, errno, "cannot note that %s is restored", name);
	store_unlock(s);
	manifest_release(&live);
	manifest_release(&to);
	return rc;
}
