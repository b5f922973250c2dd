/* recover.c - finishes or undoes interrupted batches of dead processes. */
#include "files/stage/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/stage/commit_record.h"
#include "files/stage/removal.h"

#define SETTLE_MS 10000

typedef int entry_fn(struct files_root *r, struct staging *s, const char *name, struct err *e);

static DIR *open_listing(int dir)
{
	AS_PROCESS;
	/* A description of its own: others read the same directory at the same time. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Call fn for every entry of the directory that belongs to a dead process. */
static int each_dead(struct files_root *r, struct staging *s, int dir, entry_fn *fn, struct err *e)
{
	AUTO_CLOSEDIR DIR *d = open_listing(dir);
	int rc = d ? 0
		   : err_sys(e, errno, "cannot read the leftovers of interrupted changes in %s",
			     r->name);
	struct dirent *entry;
	char id[STAGING_ID_LEN + 1], last[STAGING_ID_LEN + 1] = "";
	bool last_dead = false;

	while (rc == 0) {
		errno = 0;
		entry = readdir(d);
		if (!entry) {
			if (errno)
				rc = err_sys(e, errno,
					"cannot read the leftovers of interrupted changes in %s",
					r->name);
			break;
		}
		if (!staging_id_of(entry->d_name, id))
			continue;
		if (strcmp(id, last) != 0) {
			strcpy(last, id);
			last_dead = staging_is_dead(s, id);
		}
		if (last_dead)
			rc = fn(r, s, entry->d_name, e);
	}
	return rc;
}

static int stop_at_first(struct files_root *r, struct staging *s, const char *name, struct err *e)
{
	(void)r;
	(void)s;
	(void)name;
	(void)e;
	return 1;
}

static int finish_note(struct files_root *r, struct staging *s, const char *name, struct err *e)
{
	(void)e;
	remove_noted(r, s, name);
	return 0;
}

/* What a process needs stays while a record of it is there.  Asked after it was found dead: it makes no new one. */
static bool has_record(const struct staging *s, const char *id)
{
	AUTO_CLOSEDIR DIR *d = open_listing(s->journal);
	struct dirent *entry;
	char of[STAGING_ID_LEN + 1];
	bool found = !d;

	while (!found && (entry = readdir(d)) != NULL)
		found = staging_id_of(entry->d_name, of) && strcmp(of, id) == 0;
	return found;
}

static void unlink_owner(struct staging *s, const char *name)
{
	AS_PROCESS;

	unlinkat(s->dir, name, 0);
}

/* The stage of an owner that is gone, then the owner; and those that went before they became owners. */
static void bury_owner(struct staging *s, const char *name)
{
	char id[STAGING_ID_LEN + 1], dir[STAGING_DIR_MAX];
	struct files_tree_totals t = {0};

	if (!staging_id_of(name, id) || strcmp(id, s->id) == 0 || !staging_is_unlocked(s, name) ||
		has_record(s, id))
		return;
	/* A new one may have become an owner since it was listed: its directory is not looked at. */
	if (staging_is_owner(name))
		remove_tree(s, s->top, staging_dir_name(dir, id), NULL, &t);
	if (t.errors == 0)
		unlink_owner(s, name);
}

static void bury_owners(struct staging *s)
{
	AUTO_CLOSEDIR DIR *d = open_listing(s->dir);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL)
		bury_owner(s, entry->d_name);
}

int staging_recover(struct files_root *r, struct staging *s, bool thorough,
	const struct patience *p, struct err *e)
{
	int journals = s->dir < 0 ? 0 : each_dead(r, s, s->journal, stop_at_first, e);

	if (journals > 0) {
		AUTO_CLOSE int fd = staging_lock_all(s, p, e);

		if (fd < 0 || each_dead(r, s, s->journal, journal_replay, e) < 0)
			return -1;
	}
	if (journals < 0 || !thorough || s->dir < 0)
		return journals < 0 ? -1 : 0;
	if (each_dead(r, s, s->notes, finish_note, e) < 0)
		return -1;
	bury_owners(s);
	return 0;
}

/* In use already. */
static struct staging *open_recovered(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s = staging_open(r, p, e);

	if (!s)
		return NULL;
	if (staging_use(s, r->name, e) == 0) {
		if (staging_recover(r, s, true, p, e) == 0)
			return s;
		staging_leave(s);
	}
	staging_unref(s);
	return NULL;
}

struct staging *staging_get(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s;

	pthread_mutex_lock(&r->lock);
	s = r->staging;
	if (!s)
		s = r->staging = open_recovered(r, p, e);
	else if (staging_use(s, r->name, e) < 0)
		s = NULL;
	pthread_mutex_unlock(&r->lock);
	return s;
}

void staging_put(struct staging *const *s)
{
	if (*s)
		staging_leave(*s);
}

static bool has_stage(const struct files_root *r)
{
	DIR *d = open_listing(r->fd);
	struct dirent *entry;
	bool found = false;

	while (d && !found && (entry = readdir(d)) != NULL)
		found = staging_is_ours(entry->d_name);
	if (d)
		closedir(d);
	return found;
}

void files_settle(struct files_root *r)
{
	const struct patience wait = patience(SETTLE_MS, NULL);
	struct staging *s = has_stage(r) ? staging_get(r, &wait, NULL) : NULL;

	staging_put(&s);
}
