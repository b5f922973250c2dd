/* kept_flags.c - looks for executables, links that lead out, floods of files and secrets in directories that change. */
#include "keeper/watched.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/workspace.h>

#define SMALL 4096
#define MINUTE_S 60
#define DIRS_MAX 4096   /* that have something in them */
#define SECRETS_MAX 256 /* files that do */
#define SEARCHED_MAX (UINT64_C(256) << 10)
#define ROOM_MAX (UINT64_C(8) << 20)
#define ROOM_PER_S (UINT64_C(1) << 20)
#define NS_PER_S INT64_C(1000000000)

struct flagged_dir {
	int wd;
	uint32_t executables, links, secrets, unsearched;
	uint32_t minute, small[2]; /* new small files of that minute and of the one before */
};

struct flagged_secret {
	int wd;
	uint32_t n;
	uint64_t inode;
	int64_t changed_ns;
	bool met; /* by this look at its directory */
};

/* One pass. */
struct flagging {
	struct kept_flags *f;
	int root;
	const char *place;
	uint32_t now_s;
	char *bytes; /* room for one file; NULL: none was searched yet */
	bool full;   /* there were more directories than are remembered */
};

/* One directory of it. */
struct flagging_dir {
	struct flagging *g;
	int fd;
	const char *path;
	uint32_t seen_s; /* what changed before was searched */
	bool again;      /* something was not, for want of room */
	struct flagged_dir sums;
};

/* -- secrets ------------------------------------------------------------------------------------------ */

static struct flagged_secret *find_known(
	const struct kept_flags *f, int wd, uint64_t inode, int64_t changed_ns)
{
	for (size_t i = 0; i < f->nsecrets; i++)
		if (f->secret[i].wd == wd && f->secret[i].inode == inode &&
			f->secret[i].changed_ns == changed_ns)
			return &f->secret[i];
	return NULL;
}

static void fill_room(struct kept_flags *f)
{
	int64_t now = clock_mono_ns(), elapsed_s = (now - f->filled_ns) / NS_PER_S;

	if (elapsed_s <= 0)
		return;
	f->room += (uint64_t)elapsed_s * ROOM_PER_S;
	f->room = f->room < ROOM_MAX ? f->room : ROOM_MAX;
	f->filled_ns = now;
}

/* -1: it could not be read. */
static int64_t search_file(struct flagging_dir *d, const char *name)
{
	struct flagging *g = d->g;
	AUTO_CLOSE int fd = beneath_try(d->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	if (!g->bytes)
		g->bytes = xmalloc(SEARCHED_MAX);
	n = pread(fd, g->bytes, SEARCHED_MAX, 0);
	return n < 0 ? -1 : (int64_t)workspace_find_secrets(name, g->bytes, (size_t)n, NULL, NULL);
}

static void keep_secret(
	struct flagging_dir *d, const struct stat *st, int64_t changed_ns, uint32_t n)
{
	struct kept_flags *f = d->g->f;

	d->sums.secrets += n;
	if (f->nsecrets == SECRETS_MAX) {
		d->again = true;
		return;
	}
	f->secret = mem_grow(f->secret, &f->secret_cap, f->nsecrets + 1, sizeof *f->secret);
	f->secret[f->nsecrets++] = (struct flagged_secret){.wd = d->sums.wd,
		.n = n,
		.inode = st->st_ino,
		.changed_ns = changed_ns,
		.met = true};
}

/* What changed a moment ago may change again within the same tick of the clock of files. */
static bool was_searched(const struct flagging_dir *d, int64_t changed_ns)
{
	return changed_ns / NS_PER_S + 1 < d->seen_s;
}

static void look_for_secrets(
	struct flagging_dir *d, const char *name, const struct stat *st, int64_t changed_ns)
{
	uint64_t size = (uint64_t)st->st_size;
	struct flagged_secret *known;
	int64_t n;

	if (size > SEARCHED_MAX) {
		d->sums.unsearched++;
		return;
	}
	if (was_searched(d, changed_ns)) {
		known = find_known(d->g->f, d->sums.wd, st->st_ino, changed_ns);
		if (known)
			known->met = true;
		d->sums.secrets += known ? known->n : 0;
		return;
	}
	if (size > d->g->f->room) {
		d->sums.unsearched++;
		d->again = true;
		return;
	}
	d->g->f->room -= size;
	n = search_file(d, name);
	if (n < 0)
		d->sums.unsearched++;
	else if (n > 0)
		keep_secret(d, st, changed_ns, n > UINT16_MAX ? UINT16_MAX : (uint32_t)n);
}

/* Of files that are gone, or changed since. */
static void drop_unmet(struct kept_flags *f, int wd)
{
	size_t left = 0;

	for (size_t i = 0; i < f->nsecrets; i++) {
		struct flagged_secret *s = &f->secret[i];

		if (s->wd == wd && !s->met)
			continue;
		s->met = false;
		f->secret[left++] = *s;
	}
	f->nsecrets = left;
}

/* -- links --------------------------------------------------------------------------------------------- */

/* "a/b" of a file of the tree; what is not there leads nowhere. */
static bool is_beneath(int root, const char *path)
{
	AUTO_CLOSE int fd = beneath_try(root, *path ? path : ".", O_PATH, 0);

	return fd >= 0 || errno != EXDEV;
}

static bool leads_out(const struct flagging_dir *d, const char *name)
{
	const struct flagging *g = d->g;
	size_t place = strlen(g->place);
	char target[PATH_MAX];
	ssize_t n = readlinkat(d->fd, name, target, sizeof target - 1);
	AUTO_FREE char *path = NULL;

	if (n <= 0)
		return false;
	target[n] = '\0';
	if (*target != '/' && !strstr(target, ".."))
		return false; /* unless by another link, which is one itself */
	if (*target == '/' && strncmp(target, g->place, place) == 0 &&
		(!target[place] || target[place] == '/'))
		return !is_beneath(g->root, target + place + strspn(target + place, "/"));
	path = xasprintf("%s%s%s", d->path, *d->path ? "/" : "", name);
	return !is_beneath(g->root, path);
}

/* -- a directory ------------------------------------------------------------------------------------- */

static void look_at_file(struct flagging_dir *d, const char *name, const struct stat *st)
{
	int64_t changed = (int64_t)st->st_ctim.tv_sec * NS_PER_S + st->st_ctim.tv_nsec;
	uint32_t minute = (uint32_t)(st->st_ctim.tv_sec / MINUTE_S);

	if (changed <= d->g->f->since_ns)
		return;
	d->sums.executables += (st->st_mode & 0111) != 0;
	if (st->st_size <= SMALL && minute <= d->sums.minute && d->sums.minute - minute < 2)
		d->sums.small[d->sums.minute - minute]++;
	look_for_secrets(d, name, st, changed);
}

static void look_at_entries(struct flagging_dir *d, DIR *in)
{
	const struct dirent *at;
	struct stat st;

	while ((at = readdir(in)))
		if (at->d_type == DT_LNK)
			d->sums.links += leads_out(d, at->d_name);
		else if ((at->d_type == DT_REG || at->d_type == DT_UNKNOWN) &&
			!fstatat(d->fd, at->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
			S_ISREG(st.st_mode))
			look_at_file(d, at->d_name, &st);
}

static int order_flagged(const void *wd, const void *dir)
{
	int at = ((const struct flagged_dir *)dir)->wd;

	return (*(const int *)wd > at) - (*(const int *)wd < at);
}

static struct flagged_dir *find_flagged(const struct kept_flags *f, int wd)
{
	return f->n ? bsearch(&wd, f->dir, f->n, sizeof *f->dir, order_flagged) : NULL;
}

static bool has_any(const struct flagging *g, const struct flagged_dir *d)
{
	bool flood = d->minute + 1 >= g->now_s / MINUTE_S && (d->small[0] || d->small[1]);

	return flood || d->executables || d->links || d->secrets || d->unsearched;
}

static void keep_dir(struct flagging *g, const struct flagged_dir *d)
{
	bool any = has_any(g, d);
	struct kept_flags *f = g->f;
	struct flagged_dir *known = find_flagged(f, d->wd);
	size_t at = f->n;

	if (known) {
		*known = *d; /* one with nothing in it goes with those that are gone */
		return;
	}
	g->full |= any && f->n == DIRS_MAX;
	if (!any || f->n == DIRS_MAX)
		return;
	f->dir = mem_grow(f->dir, &f->cap, f->n + 1, sizeof *f->dir);
	for (; at && f->dir[at - 1].wd > d->wd; at--)
		f->dir[at] = f->dir[at - 1];
	f->dir[at] = *d;
	f->n++;
}

static void look_at_dir(void *ctx, int fd, int wd, const char *path, uint32_t *seen_s)
{
	struct flagging *g = ctx;
	struct flagging_dir d = {.g = g,
		.fd = fd,
		.path = path,
		.seen_s = *seen_s > g->now_s ? 0 : *seen_s, /* the clock was set back */
		.sums = {.wd = wd, .minute = g->now_s / MINUTE_S}};
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	DIR *in = copy < 0 ? NULL : fdopendir(copy);

	if (!in) {
		if (copy >= 0)
			close(copy);
		return;
	}
	look_at_entries(&d, in);
	closedir(in);
	drop_unmet(g->f, wd);
	*seen_s = d.again ? 0 : g->now_s;
	keep_dir(g, &d.sums);
}

/* -- all of it --------------------------------------------------------------------------------------- */

static void drop_gone(struct flagging *g, const struct watched *w)
{
	struct kept_flags *f = g->f;
	size_t left = 0, secrets = 0;

	for (size_t i = 0; i < f->n; i++)
		if (has_any(g, &f->dir[i]) && watched_has(w, f->dir[i].wd))
			f->dir[left++] = f->dir[i];
	for (size_t i = 0; i < f->nsecrets; i++)
		if (watched_has(w, f->secret[i].wd))
			f->secret[secrets++] = f->secret[i];
	f->n = left;
	f->nsecrets = secrets;
}

static void find_flood(struct kept_flags *f, uint32_t minute)
{
	uint64_t n = 0;

	for (size_t i = 0; i < f->n; i++) {
		const struct flagged_dir *d = &f->dir[i];

		if (d->minute >= minute && d->minute - minute < 2)
			n += d->small[d->minute - minute];
	}
	if (n > f->sums.small) {
		f->sums.small = n;
		f->sums.small_ns = (int64_t)minute * MINUTE_S * NS_PER_S;
	}
}

static void sum_flagged(struct flagging *g)
{
	struct kept_flags *f = g->f;
	struct flag_sums sums = {.small = f->sums.small, .small_ns = f->sums.small_ns};

	for (size_t i = 0; i < f->n; i++) {
		sums.executables += f->dir[i].executables;
		sums.links += f->dir[i].links;
		sums.secrets += f->dir[i].secrets;
		sums.unsearched += f->dir[i].unsearched;
	}
	sums.unread = g->full;
	f->sums = sums;
	find_flood(f, g->now_s / MINUTE_S);
	find_flood(f, g->now_s / MINUTE_S - 1);
}

void kept_flags_look(struct kept_flags *f, struct watched *w, struct watched_tree *t,
	const char *place, int64_t since_ns)
{
	struct flagging g = {.f = f,
		.root = t->root,
		.place = place,
		.now_s = (uint32_t)(clock_wall_ms() / 1000)};

	/* What was new before may be so no longer. */
	if (since_ns != f->since_ns) {
		for (size_t i = 0; i < f->n; i++)
			watched_again(w, f->dir[i].wd);
		f->sums.small = 0;
	}
	f->since_ns = since_ns;
	fill_room(f);
	watched_look(w, t, look_at_dir, &g);
	drop_gone(&g, w);
	sum_flagged(&g);
	free(g.bytes);
}

void kept_flags_release(struct kept_flags *f)
{
	free(f->dir);
	free(f->secret);
	*f = (struct kept_flags){0};
}
