/* pool_registry.c - keeps the files in which warm containers are offered and found. */
#include "run/pool_registry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/pool.h>
#include <berth/runtime.h>

int registry_dir(char dir[PATH_MAX], struct err *e)
{
	char base[PATH_MAX];

	return runtime_dir(base, sizeof base, e) || runtime_subdir(dir, PATH_MAX, base, "pool", e)
		? -1
		: 0;
}

static int lock_ticket(int fd, short how)
{
	struct flock l = {.l_type = how, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &l);
}

/* Somebody living holds it. */
static bool is_held(int fd)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return !fcntl(fd, F_OFD_GETLK, &l) && l.l_type != F_UNLCK;
}

static struct pool_board *map_board(int fd)
{
	struct stat st;
	struct pool_board *b;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		st.st_size < (off_t)sizeof *b)
		return NULL;
	b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED)
		return NULL;
	if (b->magic == POOL_MAGIC)
		return b;
	munmap(b, sizeof *b);
	return NULL;
}

struct pool_board *registry_board(const char *key, int *fd, struct err *e)
{
	char dir[PATH_MAX - 64], path[PATH_MAX];
	struct pool_board fresh = {.magic = POOL_MAGIC, .pid = getpid()}, *b = NULL;

	if (registry_dir(path, e))
		return NULL;
	snprintf(dir, sizeof dir, "%s", path);
	snprintf(path, sizeof path, "%s/%s-%d.pool", dir, key, (int)getpid());
	unlink(path);
	*fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd >= 0 && !lock_ticket(*fd, F_WRLCK) &&
		write(*fd, &fresh, sizeof fresh) == sizeof fresh)
		b = map_board(*fd);
	if (b)
		return b;
	err_sys(e, errno, "cannot make the pool's board %s", path);
	if (*fd >= 0) {
		unlink(path);
		close(*fd);
		*fd = -1;
	}
	return NULL;
}

void registry_board_close(const char *key, struct pool_board *b, int fd)
{
	char dir[PATH_MAX], path[PATH_MAX + 64];

	if (!registry_dir(dir, NULL)) {
		snprintf(path, sizeof path, "%s/%s-%d.pool", dir, key, (int)getpid());
		unlink(path);
	}
	munmap(b, sizeof *b);
	close(fd);
}

static void ticket_path(char *path, size_t cap, const char *key, unsigned serial, const char *end)
{
	char dir[PATH_MAX];

	path[0] = '\0';
	if (!registry_dir(dir, NULL))
		snprintf(path, cap, "%s/%s-%d-%u%s", dir, key, (int)getpid(), serial, end);
}

int registry_offer(const char *key, unsigned serial, const struct pool_ticket *t, struct err *e)
{
	char path[PATH_MAX + 64];

	ticket_path(path, sizeof path, key, serial, ".warm");
	if (file_replace(path, t, sizeof *t, false) < 0)
		return err_sys(e, errno, "cannot offer a container at %s", path);
	return 0;
}

enum registry_state registry_look(const char *key, unsigned serial)
{
	char path[PATH_MAX + 64];
	AUTO_CLOSE int fd = -1;

	ticket_path(path, sizeof path, key, serial, ".warm");
	if (!access(path, F_OK))
		return TICKET_WARM;
	ticket_path(path, sizeof path, key, serial, ".taken");
	fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? TICKET_GONE : is_held(fd) ? TICKET_TAKEN : TICKET_ORPHANED;
}

bool registry_withdraw(const char *key, unsigned serial)
{
	char from[PATH_MAX + 64], to[PATH_MAX + 64];

	ticket_path(from, sizeof from, key, serial, ".warm");
	ticket_path(to, sizeof to, key, serial, ".new");
	return !rename(from, to);
}

void registry_forget(const char *key, unsigned serial)
{
	static const char *const ends[] = {".new", ".warm", ".taken"};
	char path[PATH_MAX + 64];

	for (size_t i = 0; i < COUNT(ends); i++) {
		ticket_path(path, sizeof path, key, serial, ends[i]);
		unlink(path);
	}
}

/* Count the call with those who keep pools for it: all of them missed, or the one that had it. */
static void count_call(const char *dir, const char *key, const char *hit)
{
	AUTO_CLOSEDIR DIR *d = opendir(dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		const char *dot = strrchr(entry->d_name, '.');
		char path[PATH_MAX + 256];
		AUTO_CLOSE int fd = -1;
		struct pool_board *b;
		size_t n;

		if (!dot || strcmp(dot, ".pool") || strncmp(entry->d_name, key, strlen(key)))
			continue;
		n = (size_t)(dot - entry->d_name);
		if (hit && (strncmp(hit, entry->d_name, n) || hit[n] != '-'))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		b = fd < 0 ? NULL : map_board(fd);
		if (!b)
			continue;
		if (hit)
			atomic_fetch_sub(&b->warm, atomic_load(&b->warm) > 0);
		atomic_fetch_add(hit ? &b->hits : &b->misses, 1);
		munmap(b, sizeof *b);
	}
}

/* The lock comes before the name: a keeper that sees `.taken` sees it held. */
static bool take_one(
	const char *dir, const char *file, struct pool_ticket *ret, int *fd, char path[PATH_MAX])
{
	char from[PATH_MAX + 256];
	AUTO_CLOSE int at = -1;
	struct stat st;

	snprintf(from, sizeof from, "%s/%s", dir, file);
	if (snprintf(path, PATH_MAX, "%s/%.*s.taken", dir, (int)(strlen(file) - 5), file) >=
		PATH_MAX)
		return false;
	at = open(from, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (at < 0 || fstat(at, &st) || st.st_uid != geteuid() || lock_ticket(at, F_WRLCK) ||
		pread(at, ret, sizeof *ret, 0) != sizeof *ret)
		return false;
	ret->name[sizeof ret->name - 1] = ret->id[sizeof ret->id - 1] = '\0';
	ret->network[sizeof ret->network - 1] = '\0';
	ret->engine[sizeof ret->engine - 1] = ret->session[sizeof ret->session - 1] = '\0';
	/* One that its keeper should have replaced long ago has no keeper any more. */
	if (clock_mono_ns() - ret->ready_ns > ret->idle_ns + INT64_C(60000000000) ||
		rename(from, path))
		return false;
	*fd = steal_fd(&at);
	return true;
}

bool registry_take(const char *key, struct pool_ticket *ret, int *fd, char path[PATH_MAX])
{
	char dir[PATH_MAX];
	bool found = false;
	struct dirent *entry;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (registry_dir(dir, NULL))
		return false;
	d = opendir(dir);
	while (d && !found && (entry = readdir(d))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (!dot || strcmp(dot, ".warm") || strncmp(entry->d_name, key, strlen(key)))
			continue;
		found = take_one(dir, entry->d_name, ret, fd, path);
		if (found)
			count_call(dir, key, entry->d_name);
	}
	if (!found)
		count_call(dir, key, NULL);
	return found;
}

void registry_done(int fd, const char *path)
{
	unlink(path);
	close(fd);
}

size_t pool_list(struct pool_info *out, size_t max)
{
	char dir[PATH_MAX], path[PATH_MAX + 256];
	struct dirent *entry;
	size_t n = 0;
	AUTO_CLOSEDIR DIR *d = NULL;

	if (registry_dir(dir, NULL))
		return 0;
	d = opendir(dir);
	while (d && n < max && (entry = readdir(d))) {
		const char *dot = strrchr(entry->d_name, '.');
		AUTO_CLOSE int fd = -1;
		struct pool_board b;
		int64_t oldest;

		if (!dot || strcmp(dot, ".pool"))
			continue;
		snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0 || pread(fd, &b, sizeof b, 0) != sizeof b || b.magic != POOL_MAGIC)
			continue;
		if (!is_held(fd)) { /* its keeper died */
			unlink(path);
			continue;
		}
		b.tool[sizeof b.tool - 1] = b.problem[sizeof b.problem - 1] = '\0';
		oldest = atomic_load(&b.oldest_ns);
		out[n] = (struct pool_info){.pid = b.pid,
			.size = b.size,
			.warm = atomic_load(&b.warm),
			.hits = atomic_load(&b.hits),
			.misses = atomic_load(&b.misses),
			.made = atomic_load(&b.made),
			.failed = atomic_load(&b.failed),
			.oldest_ms = oldest ? (clock_mono_ns() - oldest) / 1000000 : -1,
			.idle_ms = b.idle_ns / 1000000};
		memcpy(out[n].tool, b.tool, sizeof b.tool);
		memcpy(out[n].problem, b.problem, sizeof b.problem);
		n++;
	}
	return n;
}
