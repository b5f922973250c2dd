/* staging.c - manages the staging directory of a change, and its locks and owners in the state directory. */
#include "files/common/paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "files/stage/staging.h"

#define MANY_KEYS 1024 /* from here on the whole root is locked instead */
#define KEY_LAST ((UINT64_C(1) << 62) - 1)
#define GATE (KEY_LAST + 1)
#define PRESENT (KEY_LAST + 2)
#define ENTRIES_MAX 1000 /* tries, while others come and go */
#define OWNER "owner."
#define NEW_OWNER "new." /* until it is locked */

bool staging_is_ours(const char *name)
{
	const char *id = name + strlen(STAGING_PREFIX);

	return strncmp(name, STAGING_PREFIX, strlen(STAGING_PREFIX)) == 0 &&
		strspn(id, "0123456789abcdef") == STAGING_ID_LEN && !id[STAGING_ID_LEN];
}

char *staging_dir_name(char buf[STAGING_DIR_MAX], const char *id)
{
	snprintf(buf, STAGING_DIR_MAX, STAGING_PREFIX "%.*s", STAGING_ID_LEN, id);
	return buf;
}

int staging_open_stage(const struct staging *s, const char *id)
{
	char name[STAGING_DIR_MAX];
	AUTO_CLOSE int fd = openat(s->top, staging_dir_name(name, id),
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (st.st_uid != path_user() || (st.st_mode & 022)) {
		errno = EPERM;
		return -1;
	}
	return steal_fd(&fd);
}

/* Open (or make) a directory below one of the state directory. */
static int open_own_dir(int parent, const char *name, struct err *e)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make the directory %s for changes", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, errno, "cannot open the directory %s for changes", name) : fd;
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
		/* NFS and FUSE may have no such locks, nor has a directory: version tokens still find conflicts. */
		if (errno == EINVAL || errno == EOPNOTSUPP || errno == ENOSYS || errno == EBADF)
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
	AS_PROCESS;
	/* Without a state directory nothing can be locked: any descriptor serves. */
	int fd = s->dir < 0
		? openat(s->top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
		: openat(s->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? err_sys(e, errno, "cannot open the lock of changes") : fd;
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

bool staging_is_unlocked(struct staging *s, const char *name)
{
	AS_PROCESS;
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
	snprintf(name, sizeof name, OWNER "%.*s", STAGING_ID_LEN, id);
	return staging_is_unlocked(s, name);
}

bool staging_is_owner(const char *name)
{
	return strncmp(name, OWNER, strlen(OWNER)) == 0;
}

bool staging_id_of(const char *name, char id[STAGING_ID_LEN + 1])
{
	static const char *const prefixes[] = {OWNER, NEW_OWNER, ""};
	size_t skip = 0;

	for (size_t i = 0; i < COUNT(prefixes); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0) {
			skip = strlen(prefixes[i]);
			break;
		}
	if (strspn(name + skip, "0123456789abcdef") != STAGING_ID_LEN ||
		name[skip + STAGING_ID_LEN] != (skip ? '\0' : '.'))
		return false;
	memcpy(id, name + skip, STAGING_ID_LEN);
	id[STAGING_ID_LEN] = '\0';
	return true;
}

static int choose_id(struct staging *s, struct err *e)
{
	uint64_t id[2];

	if (getrandom(id, sizeof id, 0) != sizeof id)
		return err_sys(e, errno, "cannot get random numbers");
	snprintf(s->id, sizeof s->id, "%016llx%016llx", (unsigned long long)id[0],
		(unsigned long long)id[1]);
	return 0;
}

static int become_owner(struct staging *s, struct err *e)
{
	char fresh[64], name[64];

	/* Under another name until it is locked: unlocked it would be a dead process's. */
	snprintf(fresh, sizeof fresh, NEW_OWNER "%s", s->id);
	snprintf(name, sizeof name, OWNER "%s", s->id);
	for (int attempt = 0; attempt < 100; attempt++) {
		s->owner = openat(
			s->dir, fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (s->owner < 0)
			break;
		lock_range(s->owner, F_WRLCK, 0, 0);
		if (renameat(s->dir, fresh, s->dir, name) == 0)
			return 0;
		/* Somebody tidied up between the two calls. */
		close(s->owner);
		s->owner = -1;
		if (errno != ENOENT)
			break;
	}
	return err_sys(e, errno, "cannot create %s for changes", name);
}

static bool is_same_file(int dir, const char *name, int fd)
{
	struct stat there, here;

	return fstatat(dir, name, &there, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &here) == 0 &&
		there.st_dev == here.st_dev && there.st_ino == here.st_ino;
}

/* Below changes/: the file system's id is the same after a restart, where it has one. */
static int name_place(struct staging *s)
{
	struct statfs fs;
	struct stat st;
	uint64_t id = 0;

	if (fstatfs(s->top, &fs) < 0 || fstat(s->top, &st) < 0)
		return -1;
	memcpy(&id, &fs.f_fsid, sizeof fs.f_fsid < sizeof id ? sizeof fs.f_fsid : sizeof id);
	snprintf(s->place, sizeof s->place, "%016llx-%llx",
		(unsigned long long)(id ? id : st.st_dev), (unsigned long long)st.st_ino);
	return 0;
}

static int open_changes(struct err *e)
{
	char state[PATH_MAX], changes[PATH_MAX];
	int fd;

	if (state_dir(state, sizeof state, e) < 0 ||
		runtime_subdir(changes, sizeof changes, state, "changes", e) < 0)
		return -1;
	fd = open(changes, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, errno, "cannot open %s", changes) : fd;
}

/* What is open is what others find, and not what somebody has removed meanwhile. */
static bool is_in_place(const struct staging *s, int changes)
{
	return is_same_file(changes, s->place, s->dir) && is_same_file(s->dir, "lock", s->held);
}

static int enter_once(struct staging *s, int changes, const struct patience *p, struct err *e)
{
	return (s->dir = open_own_dir(changes, s->place, e)) < 0 || (s->held = open_lock(s, e)) < 0
		? -1
		: lock_patiently(s->held, F_RDLCK, PRESENT, 1, p, e);
}

/* Be one of those that have it open.  Whoever was the last may be removing it at this moment. */
static int enter_place(struct staging *s, int changes, const struct patience *p, struct err *e)
{
	struct err why = ERR_INIT;

	for (int i = 0; i < ENTRIES_MAX; i++) {
		why = (struct err)ERR_INIT;
		if (enter_once(s, changes, p, &why) == 0 && is_in_place(s, changes))
			return 0;
		cleanup_close(&s->held);
		cleanup_close(&s->dir);
		s->held = s->dir = -1;
		if (why.kind && why.sys != ENOENT)
			break;
	}
	if (!why.kind)
		err_set(&why, ERR_CONFLICT,
			"another program keeps removing the directory for changes: try again");
	err_copy(e, &why);
	return -1;
}

/* -1: the state directory cannot be used. */
static int open_place(struct staging *s, const struct patience *p, struct err *e)
{
	AS_PROCESS;
	AUTO_CLOSE int changes = open_changes(e);

	if (changes < 0 || name_place(s) < 0 || enter_place(s, changes, p, e) < 0)
		return -1;
	if ((s->journal = open_own_dir(s->dir, "journal", e)) < 0 ||
		(s->notes = open_own_dir(s->dir, "notes", e)) < 0 || become_owner(s, e) < 0) {
		cleanup_close(&s->notes);
		cleanup_close(&s->journal);
		cleanup_close(&s->held);
		cleanup_close(&s->dir);
		s->dir = s->journal = s->notes = s->held = -1;
		return -1;
	}
	return 0;
}

/* Never one that somebody else made. */
static int make_stage(struct staging *s, const char *root, struct err *e)
{
	char name[STAGING_DIR_MAX];

	if (mkdirat(s->top, staging_dir_name(name, s->id), 0700) < 0 &&
		!(errno == EEXIST && s->stage_stays))
		return err_sys(e, errno, "cannot prepare a change in %s", root);
	s->stage = staging_open_stage(s, s->id);
	return s->stage < 0 ? err_sys(e, errno, "cannot prepare a change in %s", root) : 0;
}

int staging_use(struct staging *s, const char *root, struct err *e)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	rc = s->stage_users ? 0 : make_stage(s, root, e);
	s->stage_users += rc == 0;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void staging_leave(struct staging *s)
{
	char name[STAGING_DIR_MAX];

	pthread_mutex_lock(&s->lock);
	if (--s->stage_users == 0) {
		/* What is still in it is needed, or could not be removed. */
		s->stage_stays =
			unlinkat(s->top, staging_dir_name(name, s->id), AT_REMOVEDIR) < 0 &&
			errno != ENOENT;
		cleanup_close(&s->stage);
		s->stage = -1;
	}
	pthread_mutex_unlock(&s->lock);
}

struct staging *staging_open(struct files_root *r, const struct patience *p, struct err *e)
{
	struct staging *s = xmalloc(sizeof *s);
	struct err why = ERR_INIT;

	*s = (struct staging){.dir = -1,
		.stage = -1,
		.journal = -1,
		.notes = -1,
		.owner = -1,
		.held = -1,
		.users = 1,
		.fixed = r->fixed,
		.nfixed = r->nfixed};
	pthread_mutex_init(&s->lock, NULL);
	s->top = openat(r->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->top < 0) {
		err_sys(e, errno, "cannot open %s", r->name);
		goto fail;
	}
	if (choose_id(s, e) < 0)
		goto fail;
	/* Without a state directory there are no locks and nothing is replayed; with one there are. */
	if (open_place(s, p, &why) < 0 &&
		(why.kind == ERR_TIMEOUT || why.kind == ERR_CANCELLED ||
			why.kind == ERR_CONFLICT)) {
		err_copy(e, &why);
		goto fail;
	}
	return s;
fail:
	staging_unref(s);
	return NULL;
}

/* Is there something that a berth of another version has put there, or that is still needed? */
static bool has_others(const struct staging *s)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	bool any = !d;

	while (d && !any && (entry = readdir(d)))
		any = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
			strcmp(entry->d_name, "lock") != 0 && strcmp(entry->d_name, "notes") != 0 &&
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
	AUTO_CLOSE int changes = open_changes(NULL);

	lock_range(s->held, F_UNLCK, PRESENT, 1);
	if (changes < 0 || lock_range(s->held, F_WRLCK, PRESENT, 1) < 0 ||
		!is_in_place(s, changes) || has_others(s))
		return;
	if (unlinkat(s->dir, "journal", AT_REMOVEDIR) < 0 ||
		unlinkat(s->dir, "notes", AT_REMOVEDIR) < 0 || unlinkat(s->dir, "lock", 0) < 0)
		return;
	unlinkat(changes, s->place, AT_REMOVEDIR);
}

static void staging_close(struct staging *s)
{
	char name[64];

	if (s->dir >= 0) {
		AS_PROCESS;

		/* The owner's file tells the next change of a stage that stays, or that a power failure would bring back. */
		if (s->durable && s->owner >= 0 && fsync(s->top) < 0)
			s->stage_stays = true;
		snprintf(name, sizeof name, OWNER "%s", s->id);
		if (!s->stage_stays && s->owner >= 0)
			unlinkat(s->dir, name, 0);
		if (s->held >= 0)
			remove_as_last(s);
	}
	cleanup_close(&s->owner);
	cleanup_close(&s->notes);
	cleanup_close(&s->journal);
	cleanup_close(&s->held);
	cleanup_close(&s->dir);
	cleanup_close(&s->top);
	pthread_mutex_destroy(&s->lock);
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
