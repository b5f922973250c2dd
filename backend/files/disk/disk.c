/* disk.c - measuring a disk by reading small files that are not in memory, and remembering it. */
#include "files/disk/disk.h"

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "files/common/paths.h"
#include "files/disk/ring.h"

#define PROBES 96 /* files that are read */
#define PROBE_BYTES 8192
#define ROUNDS 4                      /* the first of them starts threads and does not count */
#define LONGEST_NS INT64_C(300000000) /* for all of it */
#define RECORD_MAX (64u << 10)
#define WORTH 0.9 /* of the time: then less, or the ring, is worth it */

#define WRITE_OUT (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

/* Depths tried, in both ways. */
static const unsigned depths[] = {4, 16, 64};
#define ARMS (2 * COUNT(depths))

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

/* A directory of ours on the same file system. */
static bool place_probes(dev_t dev, char dir[PATH_MAX])
{
	char state[PATH_MAX - 16];
	const char *const places[] = {
		state_dir(state, sizeof state, NULL) < 0 ? "/" : state, "/var/tmp", "/tmp"};
	struct stat st;

	for (size_t i = 0; i < COUNT(places); i++) {
		if (stat(places[i], &st) < 0 || st.st_dev != dev)
			continue;
		snprintf(dir, PATH_MAX, "%s/probe.XXXXXX", places[i]);
		if (mkdtemp(dir))
			return true;
	}
	return false;
}

/* Written, on the disk, and not in memory any more.  `flags`: to make them, or only forget. */
static bool put_out(int dir, int flags)
{
	AUTO_FREE char *text = xcalloc(1, PROBE_BYTES);
	bool out = true;

	for (int i = 0; i < PROBES && out; i++) {
		char name[16], c;
		struct iovec v = {&c, 1};
		AUTO_CLOSE int fd = -1;

		snprintf(name, sizeof name, "%d", i);
		fd = openat(dir, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
		out = fd >= 0 &&
			(!(flags & O_CREAT) ||
				(write(fd, text, PROBE_BYTES) == PROBE_BYTES &&
					sync_file_range(fd, 0, 0, WRITE_OUT) == 0)) &&
			posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0 &&
			preadv2(fd, &v, 1, 0, RWF_NOWAIT) < 0 && errno == EAGAIN;
	}
	return out;
}

static double time_one(struct files *f, struct files_root *r, const struct files_want *want)
{
	struct files_reading *got;
	int64_t begun = clock_mono_ns();
	bool whole;

	if (files_read(f, r, want, PROBES, &(struct files_read_options){0}, &got, NULL) < 0)
		return -1;
	whole = got->failed == 0;
	files_reading_free(got);
	return whole ? (double)(clock_mono_ns() - begun) : -1;
}

/* The greatest depth, unless with less it is clearly faster: files in use miss inodes, too, which the
 * probes do not, so more is sooner right. */
static size_t choose_depth(const double best[])
{
	size_t chosen = COUNT(depths) - 1;

	for (size_t i = chosen; i-- > 0;)
		if (best[i] > 0 && best[i] < best[chosen] * WORTH)
			chosen = i;
	return chosen;
}

static bool measure_in(const char *path, int dir, struct files_disk *d)
{
	struct files *files[ARMS] = {0};
	struct files_root *root = NULL;
	struct files_want want[PROBES] = {0};
	char names[PROBES][16];
	double best[ARMS] = {0}, took = 0;
	int64_t until = clock_mono_ns() + LONGEST_NS;
	size_t plain, ring;

	for (size_t i = 0; i < PROBES; i++) {
		snprintf(names[i], sizeof names[i], "%zu", i);
		want[i].path = names[i];
	}
	if (!put_out(dir, O_RDWR | O_CREAT | O_EXCL))
		return false;
	for (int round = 0; round < ROUNDS && clock_mono_ns() < until; round++)
		for (size_t i = 0; i < ARMS && took >= 0; i++) {
			if (!files[i])
				files[i] = files_open(&(struct files_options){
					.io_depth = depths[i % COUNT(depths)],
					.io_uring = i < COUNT(depths) ? -1 : 1,
					.avoid = FILES_AVOID_BOARD});
			if (!root)
				root = files_root_open(files[i], path, NULL);
			took = root && put_out(dir, O_RDONLY) ? time_one(files[i], root, want) : -1;
			if (round > 0 && took > 0 && (best[i] <= 0 || took < best[i]))
				best[i] = took;
		}
	files_root_close(root);
	for (size_t i = 0; i < ARMS; i++)
		files_close(files[i]);
	plain = choose_depth(best);
	ring = choose_depth(best + COUNT(depths));
	if (took < 0 || best[ARMS - 1] <= 0)
		return false;
	d->io_uring = best[COUNT(depths) + ring] < best[plain] * WORTH;
	d->depth = depths[d->io_uring ? ring : plain];
	d->measured = true;
	return true;
}

static void measure_disk(void *arg)
{
	struct measuring *m = arg;
	struct files_disk d = {FILES_IO_DEPTH, true, false};
	char path[PATH_MAX];
	AUTO_CLOSE int dir = -1;

	if (place_probes(m->dev, path) &&
		(dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0) {
		if (measure_in(path, dir, &d))
			remember_disk(m->key, &d);
		for (int i = 0; i < PROBES; i++) {
			char name[16];

			snprintf(name, sizeof name, "%d", i);
			unlinkat(dir, name, 0);
		}
		rmdir(path);
	}
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
