/* store.c - creates, lists and loads checkpoints. */
#include "checkpoint/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "checkpoint/pack.h"
#include "checkpoint/below.h"
#include "files/files.h"

#define UNFINISHED ".new" /* a manifest that is being written */

int store_check_name(const char *name, struct err *e)
{
	char shown[80];

	if (text_is_plain_name(name, CHECKPOINT_NAME_MAX))
		return 0;
	text_clean(shown, sizeof shown, name);
	return err_set(e, ERR_USAGE,
		"\"%s\" is not a valid checkpoint name: use 1 to 64 letters, digits, . "
		"_ or -, and no leading dot",
		shown);
}

static int open_part(struct checkpoint_store *s, const char *name, struct err *e)
{
	int fd;

	if (mkdirat(s->fd, name, 0700) < 0 && errno != EEXIST)
		return err_sys(
			e, errno, "cannot make %s in the checkpoint store %.300s", name, s->name);
	fd = below_open_leaf(s->fd, name, O_RDONLY | O_DIRECTORY);
	return fd < 0
		? err_sys(e, errno, "cannot open %s in the checkpoint store %.300s", name, s->name)
		: fd;
}

struct checkpoint_store *checkpoint_open(const char *dir, struct err *e)
{
	struct checkpoint_store *s = xcalloc(1, sizeof *s);
	struct stat st;

	*s = (struct checkpoint_store){.fd = -1, .checkpoints = -1, .packs = -1, .synced = -1};
	s->name = xstrdup(dir);
	s->pool = pool_new();
	if (mkdir(dir, 0700) < 0 && errno != EEXIST) {
		err_sys(e, errno, "cannot make the checkpoint store %.400s", dir);
		goto fail;
	}
	s->fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->fd < 0 || fstat(s->fd, &st) < 0) {
		err_sys(e, errno, "cannot open the checkpoint store %.400s", dir);
		goto fail;
	}
	if (st.st_uid != geteuid() || st.st_mode & 0077) {
		err_set(e, ERR_REFUSED,
			"the checkpoint store %.400s is accessible to other users: it must be yours, with mode 0700",
			dir);
		goto fail;
	}
	if ((s->checkpoints = open_part(s, "checkpoints", e)) < 0 ||
		(s->packs = open_part(s, "packs", e)) < 0 ||
		(s->synced = open_part(s, "synced", e)) < 0)
		goto fail;
	return s;
fail:
	checkpoint_close(s);
	return NULL;
}

static void close_part(int fd)
{
	if (fd >= 0)
		close(fd);
}

void checkpoint_close(struct checkpoint_store *s)
{
	if (!s)
		return;
	close_part(s->checkpoints);
	close_part(s->packs);
	close_part(s->synced);
	close_part(s->fd);
	pool_free(s->pool);
	free(s->name);
	free(s);
}

int store_lock(struct checkpoint_store *s, struct err *e)
{
	if (s->locked == 0)
		while (flock(s->fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return err_sys(e, errno, "cannot lock the checkpoint store %.400s",
					s->name);
	s->locked++;
	return 0;
}

void store_unlock(struct checkpoint_store *s)
{
	if (--s->locked == 0)
		flock(s->fd, LOCK_UN);
}

int checkpoint_turn(struct checkpoint_store *s, struct err *e)
{
	while (flock(s->checkpoints, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock the checkpoints in %.400s", s->name);
	return 0;
}

void checkpoint_turn_end(struct checkpoint_store *s)
{
	flock(s->checkpoints, LOCK_UN);
}

int store_open_pack(struct checkpoint_store *s, uint32_t serial, int flags)
{
	char name[16];

	snprintf(name, sizeof name, "%u", serial);
	return openat(s->packs, name, flags | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* --- reading what is there --- */

static int open_manifest(struct checkpoint_store *s, const char *name, struct err *e)
{
	int fd;

	if (store_check_name(name, e) < 0)
		return -1;
	fd = openat(s->checkpoints, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "there is no checkpoint %s", name);
	return fd < 0 ? err_sys(e, errno, "cannot open the checkpoint %s", name) : fd;
}

int store_load(struct checkpoint_store *s, const char *name, struct manifest *m, struct err *e)
{
	AUTO_CLOSE int fd = open_manifest(s, name, e);

	return fd < 0 ? -1 : manifest_read(m, fd, name, e);
}

static void tell_info(struct checkpoint_store *s, const char *name, const struct header *h,
	struct checkpoint_info *i)
{
	if (h)
		manifest_info(h, i);
	else
		*i = (struct checkpoint_info){.damaged = true};
	snprintf(i->name, sizeof i->name, "%s", name);
	if (!h)
		return;
	i->synced = faccessat(s->synced, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int checkpoint_show(
	struct checkpoint_store *s, const char *name, struct checkpoint_info *ret, struct err *e)
{
	AUTO_CLOSE int fd = open_manifest(s, name, e);
	struct header h;

	if (fd < 0)
		return -1;
	tell_info(s, name, manifest_head(&h, fd) == 0 ? &h : NULL, ret);
	return 0;
}

static int order_infos(const void *a, const void *b)
{
	const struct checkpoint_info *x = a, *y = b;

	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return strcmp(x->name, y->name);
}

int checkpoint_list(
	struct checkpoint_store *s, struct checkpoint_info **ret, size_t *n, struct err *e)
{
	int copy = openat(s->checkpoints, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	size_t cap = 0;

	*ret = NULL;
	*n = 0;
	if (!d) {
		if (copy >= 0)
			close(copy);
		return err_sys(e, errno, "cannot read the checkpoint store %.400s", s->name);
	}
	while ((entry = readdir(d))) {
		if (store_check_name(entry->d_name, NULL) < 0)
			continue;
		*ret = mem_grow(*ret, &cap, *n + 1, sizeof **ret);
		if (checkpoint_show(s, entry->d_name, &(*ret)[*n], NULL) == 0)
			(*n)++;
	}
	closedir(d);
	mem_sort(*ret, *n, sizeof **ret, order_infos);
	return 0;
}

static int add_disk(const struct checkpoint_store *s, int part, uint64_t *bytes, struct err *e)
{
	int copy = openat(part, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = copy < 0 ? NULL : fdopendir(copy);
	struct dirent *entry;
	struct stat st;

	if (!d) {
		close_part(copy);
		return err_sys(e, errno, "cannot read the checkpoint store %.400s", s->name);
	}
	while ((entry = readdir(d)))
		if (fstatat(copy, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_blocks * 512;
	closedir(d);
	return 0;
}

int checkpoint_disk(struct checkpoint_store *s, uint64_t *bytes, struct err *e)
{
	*bytes = 0;
	return add_disk(s, s->packs, bytes, e) || add_disk(s, s->checkpoints, bytes, e) ? -1 : 0;
}

/* A manifest is written just before it gets its name, and never again. */
size_t checkpoint_glance(
	int at, const char *dir, char newest[CHECKPOINT_NAME_MAX + 1], int64_t *newest_ns)
{
	AUTO_FREE char *path = xasprintf("%s/checkpoints", dir);
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;
	size_t n = 0;
	int64_t ns;

	newest[0] = '\0';
	*newest_ns = 0;
	while (d && (entry = readdir(d))) {
		if (store_check_name(entry->d_name, NULL) < 0 ||
			fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		n++;
		ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
		if (ns < *newest_ns)
			continue;
		*newest_ns = ns;
		snprintf(newest, CHECKPOINT_NAME_MAX + 1, "%s", entry->d_name);
	}
	if (d)
		closedir(d);
	else
		close_part(fd);
	return n;
}

bool store_base(struct checkpoint_store *s, int root, struct manifest *m)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	struct manifest now;
	struct stat st;
	size_t n = 0;

	manifest_init(&now);
	capture_boot(now.head.boot);
	if (fstat(root, &st) < 0 || checkpoint_list(s, &all, &n, NULL) < 0)
		n = 0;
	while (n-- > 0) {
		if (all[n].damaged || store_load(s, all[n].name, m, NULL) < 0)
			continue;
		/* What was not synced before a power failure may be half there. */
		if (m->head.root_ino == st.st_ino && m->head.root_dev == st.st_dev &&
			(all[n].synced ||
				memcmp(m->head.boot, now.head.boot, sizeof now.head.boot) == 0)) {
			manifest_index(m);
			manifest_release(&now);
			return true;
		}
		manifest_release(m);
	}
	manifest_release(&now);
	return false;
}

int store_survey(struct checkpoint_store *s, int root, const struct checkpoint_options *o,
	struct manifest *m, struct err *e)
{
	struct manifest base;
	struct capture how = {.root = root, .o = o, .pool = s->pool};
	int rc;

	manifest_init(&base);
	if (store_base(s, root, &base))
		how.base = &base;
	rc = capture_tree(&how, m, e);
	manifest_release(&base);
	return rc;
}

/* --- making --- */

/* One more than any that is there, and than the pack of any. */
static uint32_t next_serial(struct checkpoint_store *s, struct err *e)
{
	AUTO_FREE struct checkpoint_info *all = NULL;
	size_t n = 0;

	if (checkpoint_list(s, &all, &n, e) < 0)
		return 0;
	if (n && all[n - 1].serial >= UINT32_MAX - 1) {
		err_set(e, ERR_FAILED, "the checkpoint store %.400s is full", s->name);
		return 0;
	}
	return n ? (uint32_t)all[n - 1].serial + 1 : 1;
}

static int publish_manifest(
	struct checkpoint_store *s, const struct manifest *m, const char *name, struct err *e)
{
	AUTO_CLOSE int fd = openat(s->checkpoints, UNFINISHED,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_sys(e, errno, "cannot write the checkpoint %s", name);
	if (manifest_write(m, fd, e) < 0) {
		unlinkat(s->checkpoints, UNFINISHED, 0);
		return -1;
	}
	if (renameat2(s->checkpoints, UNFINISHED, s->checkpoints, name, RENAME_NOREPLACE) < 0) {
		int saved = errno;

		unlinkat(s->checkpoints, UNFINISHED, 0);
		return saved == EEXIST
			? err_set(e, ERR_CONFLICT, "the checkpoint %s already exists", name)
			: err_sys(e, saved, "cannot finish the checkpoint %s", name);
	}
	return 0;
}

static void discard_pack(struct checkpoint_store *s, uint32_t serial)
{
	char name[16];

	snprintf(name, sizeof name, "%u", serial);
	unlinkat(s->packs, name, 0);
}

static int fill_store(struct checkpoint_store *s, int root, const char *name, uint32_t serial,
	const struct checkpoint_options *o, struct checkpoint_info *ret, struct err *e)
{
	AUTO_CLOSE int fd = store_open_pack(s, serial, O_RDWR | O_CREAT | O_TRUNC);
	struct manifest m, base;
	struct pack pack;
	struct capture how = {.root = root, .o = o, .pool = s->pool, .pack = &pack};
	int rc;

	if (fd < 0)
		return err_sys(
			e, errno, "cannot make a pack in the checkpoint store %.400s", s->name);
	manifest_init(&m);
	manifest_init(&base);
	pack_init(&pack, fd, serial);
	if (store_base(s, root, &base)) {
		how.base = &base;
		pack_know(&pack, &base);
	}
	rc = capture_tree(&how, &m, e);
	if (rc == 0) {
		m.head.serial = serial;
		m.head.stored = atomic_load(&pack.stored);
		snprintf(m.head.name, sizeof m.head.name, "%s", name);
		rc = publish_manifest(s, &m, name, e);
	}
	if (rc < 0 || atomic_load(&pack.stored) == 0)
		discard_pack(s, serial);
	if (rc == 0 && ret)
		tell_info(s, name, &m.head, ret);
	pack_release(&pack);
	manifest_release(&base);
	manifest_release(&m);
	return rc;
}

int checkpoint_make(struct checkpoint_store *s, int root, const char *name,
	const struct checkpoint_options *o, struct checkpoint_info *ret, struct err *e)
{
	uint32_t serial;
	int rc = -1;

	if (store_check_name(name, e) < 0 || store_lock(s, e) < 0)
		return -1;
	if (faccessat(s->checkpoints, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		err_set(e, ERR_CONFLICT, "the checkpoint %s already exists", name);
	else if ((serial = next_serial(s, e)) != 0) {
		/* Left over from one whose manifest was dropped between. */
		unlinkat(s->synced, name, 0);
		rc = fill_store(s, root, name, serial, o, ret, e);
	}
	if (rc == 0 && o && o->sync) {
		rc = checkpoint_sync(s, name, e);
		if (rc == 0 && ret)
			ret->synced = true;
	}
	store_unlock(s);
	return rc;
}

/* --- packs --- */

static int order_serials(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

void packs_init(struct packs *p, struct checkpoint_store *s, const struct manifest *m)
{
	size_t cap = 0;
	uint32_t last = 0;

	*p = (struct packs){.store = s};
	for (uint32_t i = 0; i < m->n; i++) {
		const struct entry *x = &m->entry[i];
		bool there = x->pack == last;

		if (!S_ISREG(x->mode) || x->stored == 0 || x->pack == 0)
			continue;
		for (size_t k = 0; k < p->n && !there; k++)
			there = p->serial[k] == x->pack;
		last = x->pack;
		if (there)
			continue;
		p->serial = mem_grow(p->serial, &cap, p->n + 1, sizeof *p->serial);
		p->serial[p->n++] = x->pack;
	}
	mem_sort(p->serial, p->n, sizeof *p->serial, order_serials);
	p->fd = xreallocarray(NULL, p->n + 1, sizeof *p->fd);
	for (size_t k = 0; k < p->n; k++)
		p->fd[k] = store_open_pack(s, p->serial[k], O_RDONLY);
}

int packs_fd(const struct packs *p, uint32_t serial)
{
	const uint32_t *at =
		p->n ? bsearch(&serial, p->serial, p->n, sizeof *p->serial, order_serials) : NULL;

	return at ? p->fd[at - p->serial] : -1;
}

void packs_release(struct packs *p)
{
	for (size_t k = 0; k < p->n; k++)
		close_part(p->fd[k]);
	free(p->fd);
	free(p->serial);
}

static int sync_file(int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -1 : fsync(fd);
}

int checkpoint_sync(struct checkpoint_store *s, const char *name, struct err *e)
{
	AUTO_CLOSE int mark = -1;
	struct manifest m;
	struct packs packs;
	bool good = true;

	manifest_init(&m);
	if (store_load(s, name, &m, e) < 0)
		return -1;
	packs_init(&packs, s, &m);
	for (size_t k = 0; k < packs.n; k++)
		good = good && packs.fd[k] >= 0 && fsync(packs.fd[k]) == 0;
	packs_release(&packs);
	manifest_release(&m);
	if (!good || fsync(s->packs) < 0 || sync_file(s->checkpoints, name) < 0 ||
		fsync(s->checkpoints) < 0)
		return err_sys(e, errno, "cannot sync the checkpoint %s", name);
	mark = openat(s->synced, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (mark < 0 || fsync(s->synced) < 0 || fsync(s->fd) < 0)
		return err_sys(e, errno, "cannot mark the checkpoint %s as synced", name);
	return 0;
}

/* --- checking --- */

struct checking {
	const struct manifest *m;
	const bool *need;
	const struct packs *packs;
	_Atomic size_t next;
	_Atomic uint32_t bad;
	_Atomic int error;
};

static void check_objects(void *ctx, unsigned worker, struct crew *c)
{
	struct checking *k = ctx;
	struct pack_hands h;
	size_t i;

	(void)worker;
	(void)c;
	hands_init(&h);
	while ((i = atomic_fetch_add(&k->next, 1)) < k->m->n) {
		const struct entry *x = &k->m->entry[i];

		if (!S_ISREG(x->mode) || x->link != i || x->stored == 0 ||
			(k->need && !k->need[i]) || x->flags & ENTRY_MOUNT)
			continue;
		if (pack_check(packs_fd(k->packs, x->pack), &h, x) < 0) {
			atomic_store(&k->error, errno);
			atomic_store(&k->bad, (uint32_t)i);
			atomic_store(&k->next, k->m->n);
		}
	}
	hands_release(&h);
}

int store_check(
	struct checkpoint_store *s, const struct manifest *m, const bool *need, struct err *e)
{
	struct checking k = {.m = m, .need = need, .bad = NOWHERE};
	AUTO_STR struct str path = STR_INIT;
	struct packs packs;
	char shown[256];

	packs_init(&packs, s, m);
	k.packs = &packs;
	crew_run(s->pool, pool_processors(), check_objects, &k);
	packs_release(&packs);
	if (k.bad == NOWHERE)
		return 0;
	manifest_path(m, k.bad, &path);
	text_clean(shown, sizeof shown, path.s);
	return k.error == EBADMSG || k.error == EBADF
		? err_set(e, ERR_FAILED,
			  "the checkpoint %s is damaged: its copy of %s differs from "
			  "what was stored",
			  m->head.name, shown)
		: err_sys(e, k.error, "cannot read what the checkpoint %s holds of %s",
			  m->head.name, shown);
}

int checkpoint_verify(struct checkpoint_store *s, const char *name, struct err *e)
{
	struct manifest m;
	int rc;

	manifest_init(&m);
	if (store_lock(s, e) < 0)
		return -1;
	rc = store_load(s, name, &m, e);
	if (rc == 0)
		rc = store_check(s, &m, NULL, e);
	store_unlock(s);
	manifest_release(&m);
	return rc;
}
