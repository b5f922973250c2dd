/* measure.c - probes are written, forgotten by the kernel, and read in each way in turn. */
#include "files/disk/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "files/disk/missed.h"
#include "files/disk/ring.h"

#define PROBES 96 /* files that are read */
#define PROBE_BYTES 8192
#define ROUNDS 4                      /* the first of them starts threads and does not count */
#define LONGEST_NS INT64_C(300000000) /* for all of it */
#define WORTH 0.9                     /* of the time: then less, or the ring, is worth it */

#define WRITE_OUT (SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER)

/* Depths tried, in both ways. */
static const unsigned depths[] = {4, 16, 64};
#define ARMS (2 * COUNT(depths))

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

/* All probes read; nanoseconds, or -1 when one could not be. */
static double time_probes(struct files *f, struct files_root *root, const struct files_want *want,
	struct ring *ring, unsigned depth)
{
	struct slab_chain chain;
	struct reading r = {.root = root,
		.options = {.max_file_bytes = PROBE_BYTES + 1, .max_total_bytes = 1u << 30}};
	struct files_got got[PROBES] = {0};
	struct task tasks[PROBES], *list[PROBES];
	int64_t begun = clock_mono_ns(), took;

	reading_begin(&r, f, &chain);
	for (size_t i = 0; i < PROBES; i++) {
		task_init(&tasks[i], &want[i], &got[i]);
		list[i] = &tasks[i];
	}
	missed_read(&r, list, PROBES, ring, depth);
	took = clock_mono_ns() - begun;
	for (size_t i = 0; i < PROBES; i++)
		free(got[i].err);
	slab_chain_release(&chain);
	return r.failed ? -1 : (double)took;
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

/* The best time of each arm; false: not all could be timed. */
static bool time_arms(
	struct files *f, struct files_root *root, int dir, struct ring *ring, double best[ARMS])
{
	struct files_want want[PROBES] = {0};
	char names[PROBES][16];
	double took = 0;
	int64_t until = clock_mono_ns() + LONGEST_NS;

	for (size_t i = 0; i < PROBES; i++) {
		snprintf(names[i], sizeof names[i], "%zu", i);
		want[i].path = names[i];
	}
	for (int round = 0; round < ROUNDS && clock_mono_ns() < until; round++)
		for (size_t i = 0; i < ARMS && took >= 0; i++) {
			took = put_out(dir, O_RDONLY)
				? time_probes(f, root, want, i < COUNT(depths) ? NULL : ring,
					  depths[i % COUNT(depths)])
				: -1;
			if (round > 0 && took > 0 && (best[i] <= 0 || took < best[i]))
				best[i] = took;
		}
	return took >= 0 && best[ARMS - 1] > 0;
}

static bool measure_in(const char *path, int dir, struct files_disk *d)
{
	/* Threads of its own: those of the operation that had to wait are at work. */
	struct files own = {.pool = pool_new()};
	struct files_root *root = path_root_open(path, false, NULL);
	struct ring *ring = ring_new(FILES_IO_DEPTH);
	double best[ARMS] = {0};
	bool told;

	slab_store_init(&own.store);
	told = root && put_out(dir, O_RDWR | O_CREAT | O_EXCL) &&
		time_arms(&own, root, dir, ring, best);
	pool_free(own.pool);
	ring_free(ring);
	slab_store_release(&own.store);
	if (root)
		path_root_close(root);
	if (told) {
		size_t plain = choose_depth(best), with_ring = choose_depth(best + COUNT(depths));

		d->io_uring = best[COUNT(depths) + with_ring] < best[plain] * WORTH;
		d->depth = depths[d->io_uring ? with_ring : plain];
		d->measured = true;
	}
	return told;
}

bool disk_measure(dev_t dev, struct files_disk *d)
{
	char path[PATH_MAX];
	AUTO_CLOSE int dir = -1;
	bool told;

	if (!place_probes(dev, path))
		return false;
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	told = dir >= 0 && measure_in(path, dir, d);
	for (int i = 0; dir >= 0 && i < PROBES; i++) {
		char name[16];

		snprintf(name, sizeof name, "%d", i);
		unlinkat(dir, name, 0);
	}
	rmdir(path);
	return told;
}
