/* recover.c - looking for what dead processes left: journals first, then what they needed. */
#include "files/stage/recover.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/stage/commit_record.h"
#include "files/stage/removal.h"

/* "ID.N": ID of 16 hexadecimal digits. */
static bool split_id(const char *name, char id[17])
{
	if (strspn(name, "0123456789abcdef") != 16 || name[16] != '.')
		return false;
	memcpy(id, name, 16);
	id[16] = '\0';
	return true;
}

typedef int entry_fn(struct files_root *r, struct staging *s, const char *name, struct err *e);

/* Call fn for every entry of the directory that belongs to a dead process. */
static int each_dead(struct files_root *r, struct staging *s, int dir, entry_fn *fn, struct err *e)
{
	/* A description of its own: others read the same directory at the same time. */
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	char id[17], last[17] = "";
	bool last_dead = false;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return err_sys(e, errno, "cannot read " STAGING_NAME " in %s", r->name);
	}
	while (rc == 0) {
		const char *name;

		errno = 0;
		entry = readdir(d);
		if (!entry) {
			if (errno)
				rc = err_sys(
					e, errno, "cannot read " STAGING_NAME " in %s", r->name);
			break;
		}
		name = entry->d_name;
		if (!split_id(name, id))
			continue;
		if (strcmp(id, last) != 0) {
			strcpy(last, id);
			last_dead = staging_is_dead(s, id);
		}
		if (last_dead)
			rc = fn(r, s, name, e);
	}
	closedir(d);
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

static int has_journal(struct files_root *r, struct staging *s, const char *name, struct err *e)
{
	(void)r;
	(void)e;
	return memcmp(name, s->clearing, 17) == 0;
}

/* Entries of a dead process are needed only while a journal of it is there.  Asked after the process
 * was found dead: it makes no new one, and who replays it removes these first. */
static int remove_staged(struct files_root *r, struct staging *s, const char *name, struct err *e)
{
	struct files_tree_totals t = {0};

	if (memcmp(name, s->clearing, 17) != 0) {
		memcpy(s->clearing, name, 17);
		s->keep = each_dead(r, s, s->journal, has_journal, e) != 0;
	}
	if (s->keep)
		return 0;
	remove_noted(r, s, name);
	remove_tree(s, s->stage, name, NULL, &t);
	return 0;
}

int staging_recover(struct files_root *r, struct staging *s, bool thorough,
	const struct patience *p, struct err *e)
{
	int journals = each_dead(r, s, s->journal, stop_at_first, e);

	if (journals > 0) {
		AUTO_CLOSE int fd = staging_lock_all(s, p, e);

		if (fd < 0 || each_dead(r, s, s->journal, journal_replay, e) < 0)
			return -1;
	}
	if (journals < 0 || !thorough)
		return journals < 0 ? -1 : 0;
	s->clearing[0] = '\0';
	if (each_dead(r, s, s->stage, remove_staged, e) < 0)
		return -1;
	staging_bury(s);
	return 0;
}

static struct staging *open_recovered(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s = staging_open(r, p, e);

	if (s && staging_recover(r, s, true, p, e) < 0) {
		staging_unref(s);
		s = NULL;
	}
	return s;
}

struct staging *staging_get(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s;

	pthread_mutex_lock(&r->lock);
	if (!r->staging)
		r->staging = open_recovered(r, p, e);
	s = r->staging;
	pthread_mutex_unlock(&r->lock);
	return s;
}
