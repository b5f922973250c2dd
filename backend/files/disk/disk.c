/* disk.c - what is known of a disk: remembered by file system, and measured when it is not. */
#include "files/disk/disk.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/runtime.h>

#include "files/common/paths.h"
#include "files/disk/measure.h"
#include "files/disk/ring.h"

#define RECORD_MAX (64u << 10)

struct measuring {
	struct files *files;
	dev_t dev;
	char key[DISK_KEY_MAX];
};

/* --- what is known --- */

/* The file system, not its device's number alone: that may be another's after the next start. */
static void make_key(const struct files_root *r, char key[DISK_KEY_MAX])
{
	struct statfs fs = {0};
	struct utsname u;
	unsigned id[2] = {0};

	fstatfs(r->fd, &fs);
	memcpy(id, &fs.f_fsid, sizeof id);
	uname(&u);
	snprintf(key, DISK_KEY_MAX, "1 %llx %lx %x%08x %.60s %u", (unsigned long long)r->dev,
		(unsigned long)fs.f_type, id[0], id[1], u.release, pool_processors());
}

static int open_record(int flags)
{
	char path[PATH_MAX + 8];

	if (state_dir(path, PATH_MAX, NULL) < 0)
		return -1;
	strcat(path, "/disks");
	return open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
}

/* The newest line for `key`. */
static bool recall_disk(const char *key, struct files_disk *d)
{
	AUTO_CLOSE int fd = open_record(O_RDONLY);
	AUTO_FREE char *text = fd < 0 ? NULL : xmalloc(RECORD_MAX + 1);
	ssize_t n = fd < 0 ? -1 : read(fd, text, RECORD_MAX);
	size_t len = strlen(key);
	bool found = false;

	if (n <= 0)
		return false;
	text[n] = '\0';
	for (char *line = text; *line; line = strchr(line, '\n') + 1) {
		unsigned depth, ring;

		if (!strchr(line, '\n'))
			break;
		if (strncmp(line, key, len) == 0 &&
			sscanf(line + len, " %u %u", &depth, &ring) == 2 && depth > 0 &&
			depth <= FILES_IO_DEPTH) {
			*d = (struct files_disk){depth, ring != 0, true};
			found = true;
		}
	}
	return found;
}

/* A line of its own, also behind one that was torn. */
static void remember_disk(const char *key, const struct files_disk *d)
{
	AUTO_CLOSE int fd = open_record(O_WRONLY | O_CREAT | O_APPEND);
	char line[DISK_KEY_MAX + 32];
	struct stat st;
	int n = snprintf(line, sizeof line, "\n%s %u %u\n", key, d->depth, d->io_uring);

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_size > (off_t)(RECORD_MAX - sizeof line))
		(void)!ftruncate(fd, 0);
	(void)!write(fd, line, (size_t)n); /* else it is measured again some day */
}

/* Under the lock.  The oldest goes when there are many. */
static struct known_disk *find_disk_slot(struct files *f, dev_t dev)
{
	struct known_disk *k;

	for (size_t i = 0; i < COUNT(f->disks); i++)
		if (f->disks[i].used && f->disks[i].dev == dev)
			return &f->disks[i];
	k = &f->disks[f->next_disk++ % COUNT(f->disks)];
	*k = (struct known_disk){.dev = dev};
	return k;
}

struct files_disk disk_of(struct files *f, const struct files_root *r)
{
	struct files_disk d = {FILES_IO_DEPTH, true, false};
	struct known_disk *k;

	pthread_mutex_lock(&f->disk_lock);
	k = find_disk_slot(f, r->dev);
	if (!k->used) {
		char key[DISK_KEY_MAX];

		k->used = true;
		make_key(r, key);
		if (f->io_depth || !recall_disk(key, &d))
			d.measured = false;
		k->disk = d;
	}
	d = k->disk;
	pthread_mutex_unlock(&f->disk_lock);
	if (f->io_depth)
		d.depth = f->io_depth;
	if (f->uring)
		d.io_uring = f->uring > 0;
	if (f->avoid & FILES_AVOID_URING)
		d.io_uring = false;
	return d;
}

/* --- measuring --- */

static void measure_disk(void *arg)
{
	struct measuring *m = arg;
	struct files_disk d = {FILES_IO_DEPTH, true, false};

	if (disk_measure(m->dev, &d))
		remember_disk(m->key, &d);
	pthread_mutex_lock(&m->files->disk_lock);
	find_disk_slot(m->files, m->dev)->disk = d;
	pthread_mutex_unlock(&m->files->disk_lock);
	free(m);
}

/* Whose turn it is to measure: once per struct files and file system. */
static struct measuring *begin_measuring(struct files *f, const struct files_root *r)
{
	struct measuring *m = NULL;
	struct known_disk *k;

	pthread_mutex_lock(&f->disk_lock);
	k = find_disk_slot(f, r->dev);
	if (!f->io_depth && !k->asked && !k->disk.measured) {
		m = xmalloc(sizeof *m);
		*m = (struct measuring){.files = f, .dev = r->dev};
		make_key(r, m->key);
	}
	k->asked = true;
	pthread_mutex_unlock(&f->disk_lock);
	return m;
}

void disk_waited(struct files *f, const struct files_root *r)
{
	struct measuring *m;
	double load[1];

	/* On a busy machine the others would be measured, and once is for good. */
	if (getloadavg(load, 1) == 1 && load[0] > 1.5 * pool_processors())
		return;
	disk_of(f, r);
	m = begin_measuring(f, r);
	if (m && !pool_later(f->pool, 1, measure_disk, m))
		measure_disk(m);
}

struct files_disk files_disk(struct files *f, const struct files_root *r, bool now)
{
	struct files_disk d = disk_of(f, r);
	struct measuring *m = now && !d.measured ? begin_measuring(f, r) : NULL;

	if (m)
		measure_disk(m);
	return disk_of(f, r);
}
