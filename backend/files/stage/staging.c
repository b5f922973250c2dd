/* staging.c - the directory .berth of a root: who owns what in it, and the locks. */
#include "files/common/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/clock.h>
#include <berth/mem.h>

#include "files/stage/staging.h"

#define MANY_KEYS 1024 /* from here on the whole root is locked instead */
#define KEY_LAST ((UINT64_C(1) << 62) - 1)
#define GATE (KEY_LAST + 1)
#define PRESENT (KEY_LAST + 2)
#define ENTRIES_MAX 1000 /* tries, while others come and go */
#define OWNER "owner."
#define NEW_OWNER "new." /* until it is locked */

/* Open (or make) a directory of ours below `parent`. */
static int open_own_dir(int parent, const char *name, const char *root, struct err *e)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make %s in %s", name, root);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(e, errno, "cannot open %s in %s", name, root);
	if (st.st_uid != path_user() || (st.st_mode & 022))
		return err_set(e, ERR_REFUSED,
			"%s in %.200s belongs to another user or is writable by others: remove it",
			name, root);
	return steal_fd(&fd);
}

static int lock_range(int fd, short type, uint64_t from, uint64_t n)
{
	struct flock l = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = (off_t)from,
		.l_len = (off_t)n,
	};

	return fcntl(fd, F_OFD_SETLK, &l);
}

struct patience patience(int timeout_ms, const struct op *op)
{
	return (struct patience){clock_mono_ns() + (int64_t)timeout_ms * 1000000, op};
}

/* There is no waiting with a time limit in the kernel, so ask again, with pauses that grow and
 * differ from process to process. */
static int lock_patiently(
	int fd, short type, uint64_t from, uint64_t n, const struct patience *p, struct err *e)
{
	unsigned pause = 200, noise = (unsigned)getpid() * 2654435761u + (unsigned)(uintptr_t)&fd;

	while (lock_range(fd, type, from, n) < 0) {
		/* NFS and FUSE may have no such locks: version tokens still find conflicts. */
		if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS)
			return 0;
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			return err_sys(e, errno, "cannot lock the files to be written");
		if (p->op && op_stopped(p->op))
			return op_cancelled(e);
		if (clock_mono_ns() >= p->until)
			return err_set(e, ERR_TIMEOUT,
				"another process has the files to be written locked: try again");
		noise = noise * 1103515245u + 12345u;
		usleep(pause / 2 + noise % pause);
		if (pause < 10000)
			pause += pause / 4;
	}
	return 0;
}

/* One of those that change something.  With `gate` shut nobody new comes in after us until
 * open_gate: who waits for all others would else wait for ever where there are many. */
static int come_in(int fd, bool shut, const struct patience *p, struct err *e)
{
	return lock_patiently(fd, shut ? F_WRLCK : F_RDLCK, GATE, 1, p, e) < 0
		? -1
		: lock_patiently(fd, F_RDLCK, 0, 1, p, e);
}

static void open_gate(int fd)
{
	lock_range(fd, F_UNLCK, GATE, 1);
}

static int open_lock(struct staging *s, struct err *e)
{
	int fd = openat(s->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(e, errno, "cannot open the lock file in " STAGING_NAME) : fd;
}

int staging_lock_all(struct staging *s, const struct patience *p, struct err *e)
{
	AUTO_CLOSE int fd = open_lock(s, e);

	if (fd < 0 || lock_patiently(fd, F_WRLCK, GATE, 1, p, e) < 0 ||
		lock_patiently(fd, F_WRLCK, 0, 1, p, e) < 0)
		return -1;
	return steal_fd(&fd);
}

uint64_t staging_key(const struct stat *dir, const char *leaf)
{
	uint64_t where[2] = {dir->st_dev, dir->st_ino};
	uint64_t seed = XXH3_64bits(where, sizeof where);

	return 1 + XXH3_64bits_withSeed(leaf, strlen(leaf), seed) % (KEY_LAST - 1);
}

int staging_lock(
	struct staging *s, const uint64_t *keys, size_t n, const struct patience *p, struct err *e)
{
	AUTO_CLOSE int fd = open_lock(s, e);
	bool all = n > MANY_KEYS;

	if (fd < 0 || come_in(fd, all, p, e) < 0)
		return -1;
	if (all && lock_patiently(fd, F_WRLCK, 1, KEY_LAST, p, e) < 0)
		return -1;
	open_gate(fd);
	for (size_t i = 0; !all && i < n; i++)
		if ((i == 0 || keys[i] != keys[i - 1]) &&
			lock_patiently(fd, F_WRLCK, keys[i], 1, p, e) < 0)
			return -1;
	return steal_fd(&fd);
}

char *stage_name(struct staging *s, char buf[STAGE_NAME_MAX])
{
	snprintf(buf, STAGE_NAME_MAX, "%s.%llu", s->id,
		(unsigned long long)atomic_fetch_add(&s->serial, 1));
	return buf;
}

bool staging_can_link(void)
{
	static _Atomic int known; /* 1 no, 2 yes */

	if (!atomic_load(&known))
		atomic_store(&known, access("/proc/self/fd", X_OK) == 0 ? 2 : 1);
	return atomic_load(&known) == 2;
}

int staging_link(int fd, int dir, const char *leaf)
{
	char path[32];
	/* Before Linux 6.10 this takes a capability, and says ENOENT without it. */
	int rc = linkat(fd, "", dir, leaf, AT_EMPTY_PATH);

	if (rc == 0 || errno != ENOENT)
		return rc;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, leaf, AT_SYMLINK_FOLLOW);
}

int rename_new(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;
	int saved;

	if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if ((errno != EINVAL && errno != ENOSYS) ||
		fstatat(from_dir, from, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (!S_ISDIR(st.st_mode) && linkat(from_dir, from, to_dir, to, 0) == 0) {
		if (unlinkat(from_dir, from, 0) == 0 || errno == ENOENT)
			return 0;
		saved = errno;
		unlinkat(to_dir, to, 0);
		errno = saved;
		return -1;
	}
	if (!S_ISDIR(st.st_mode) && errno != EPERM && errno != ENOSYS && errno != EOPNOTSUPP)
		return -1;
	if (fstatat(to_dir, to, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? renameat(from_dir, from, to_dir, to) : -1;
	errno = EEXIST;
	return -1;
}

static bool is_unlocked(struct staging *s, const char *name)
{
	struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	AUTO_CLOSE int fd = openat(s->dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return errno == ENOENT;
	return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type == F_UNLCK;
}

/* Its lock file may be missing, too. */
bool staging_is_dead(struct staging *s, const char *id)
{
	char name[64];

	if (strcmp(id, s->id) == 0)
		return false;
	snprintf(name, sizeof name, OWNER "%.20s", id);
	return is_unlocked(s, name);
}

void staging_bury(struct staging *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	while (d && (entry = readdir(d)) != NULL)
		if ((strncmp(entry->d_name, OWNER, strlen(OWNER)) == 0 ||
			    strncmp(entry->d_name, NEW_OWNER, strlen(NEW_OWNER)) == 0) &&
			is_unlocked(s, entry->d_name))
			unlinkat(s->dir, entry->d_name, 0);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
}

static int become_owner(struct staging *s, struct err *e)
{
	char fresh[64], name[64];
	uint64_t id;

	/* Under another name until it is locked: unlocked it would be a dead process's. */
	for (int attempt = 0; attempt < 100; attempt++) {
		if (getrandom(&id, sizeof id, 0) != sizeof id)
			return err_sys(e, errno, "cannot get random numbers");
		snprintf(s->id, sizeof s->id, "%016llx", (unsigned long long)id);
		snprintf(fresh, sizeof fresh, NEW_OWNER "%s", s->id);
		snprintf(name, sizeof name, OWNER "%s", s->id);
		s->owner = openat(
			s->dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (s->owner < 0 && errno != EEXIST)
			break;
		if (s->owner < 0)
			continue;
		lock_range(s->owner, F_WRLCK, 0, 0);
		if (renameat(s->dir, fresh, s->dir, name) == 0)
			return 0;
		/* Somebody tidied up between the two calls. */
		close(s->owner);
		s->owner = -1;
		if (errno != ENOENT)
			break;
	}
	return err_sys(e, errno, "cannot create %s in " STAGING_NAME, name);
}

static bool is_same_file(int dir, const char *name, int fd)
{
	struct stat there, here;

	return fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &here) == 0 &&
		there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* What is open is what others find, and not what somebody has removed meanwhile. */
static bool is_in_place(const struct staging *s)
{
	return is_same_file(s->top, STAGING_NAME, s->dir) && is_same_file(s->dir, "lock", s->held);
}

static int enter_once(struct staging *s, const char *root, const struct patience *p, struct err *e)
{
	return (s->dir = open_own_dir(s->top, STAGING_NAME, root, e)) < 0 ||
			(s->held = open_lock(s, e)) < 0
		? -1
		: lock_patiently(s->held, F_RDLCK, PRESENT, 1, p, e);
}

/* Be one of those that have it open.  Whoever was the last may be removing it at this moment. */
static int enter_staging(
	struct staging *s, const char *root, const struct patience *p, struct err *e)
{
	struct err why = ERR_INIT;

	for (int i = 0; i < ENTRIES_MAX; i++) {
		why = (struct err)ERR_INIT;
		if (enter_once(s, root, p, &why) == 0 && is_in_place(s))
			return 0;
		cleanup_close(&s->held);
		cleanup_close(&s->dir);
		s->held = s->dir = -1;
		if (why.kind && why.sys != ENOENT)
			break;
	}
	if (!why.kind)
		err_set(&why, ERR_CONFLICT, STAGING_NAME " in %.200s keeps being removed by others",
			root);
	err_copy(e, &why);
	return -1;
}

struct staging *staging_open(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s = xmalloc(sizeof *s);

	*s = (struct staging){
		.dir = -1, .stage = -1, .journal = -1, .owner = -1, .held = -1, .users = 1};
	s->top = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->top < 0) {
		err_sys(e, errno, "cannot open %s", r->name);
		goto fail;
	}
	if (enter_staging(s, r->name, p, e) < 0 ||
		(s->stage = open_own_dir(s->dir, "stage", r->name, e)) < 0 ||
		(s->journal = open_own_dir(s->dir, "journal", r->name, e)) < 0 ||
		become_owner(s, e) < 0)
		goto fail;
	return s;
fail:
	staging_unref(s);
	return NULL;
}

/* Is there something that a berth of another version, or nobody, has put there? */
static bool has_strangers(const struct staging *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool any = !d;

	while (d && !any && (entry = readdir(d)))
		any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			strcmp(entry->d_name, "lock") != 0 && strcmp(entry->d_name, "stage") != 0 &&
			strcmp(entry->d_name, "journal") != 0;
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return any;
}

/* Nobody is in it while the last byte is ours alone, and nobody comes in.  Our share of it is given up
 * first: of two that leave at once neither would else be the last.  That lets others remove it and make it
 * again, so what is removed must be what we had open.  Where nothing can be locked it stays. */
static void remove_as_last(struct staging *s)
{
	lock_range(s->held, F_UNLCK, PRESENT, 1);
	if (lock_range(s->held, F_WRLCK, PRESENT, 1) < 0 || !is_in_place(s) || has_strangers(s))
		return;
	if (unlinkat(s->dir, "journal", AT_REMOVEDIR) < 0 ||
		unlinkat(s->dir, "stage", AT_REMOVEDIR) < 0 || unlinkat(s->dir, "lock", 0) < 0)
		return;
	unlinkat(s->top, STAGING_NAME, AT_REMOVEDIR);
}

static void staging_close(struct staging *s)
{
	if (s->owner >= 0) {
		char name[64];

		snprintf(name, sizeof name, OWNER "%s", s->id);
		unlinkat(s->dir, name, 0);
	}
	if (s->held >= 0)
		remove_as_last(s);
	cleanup_close(&s->owner);
	cleanup_close(&s->journal);
	cleanup_close(&s->stage);
	cleanup_close(&s->held);
	cleanup_close(&s->dir);
	cleanup_close(&s->top);
	free(s);
}

struct staging *staging_ref(struct staging *s)
{
	atomic_fetch_add(&s->users, 1);
	return s;
}

void staging_unref(struct staging *s)
{
	if (s && atomic_fetch_sub(&s->users, 1) == 1)
		staging_close(s);
}
