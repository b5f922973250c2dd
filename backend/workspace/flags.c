/* flags.c - looks for what is suspicious in a workspace: executables, links that lead out, floods of files, secrets. */
#include <berth/flags.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/file.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/workspace.h>

#define SMALL 4096
#define MINUTE_NS (60 * INT64_C(1000000000))
#define MINUTES_MAX (1u << 20) /* small files of which the time is kept: 8 MiB */
#define SEARCHED_MAX (1u << 20)
#define SEARCHED_ALL (64u << 20)

struct looking {
	struct flag_sums *ret;
	flag_fn *tell;
	void *ctx;
	int dir;
	const char *place;
	int64_t since_ns;
	int64_t *minute; /* of each small file that is new */
	size_t nminutes, cap;
	char *bytes; /* room for one file */
	uint64_t searched;
};

static void raise_flag(
	struct looking *l, enum flag flag, const char *path, unsigned line, const char *what)
{
	if (l->tell)
		l->tell(l->ctx, flag, path, line, what);
}

/* One that says where it leads by an absolute name leads back where that is the workspace's own. */
static bool leads_back(const struct looking *l, const char *target)
{
	size_t n = strlen(l->place);
	AUTO_CLOSE int fd = -1;

	if (strncmp(target, l->place, n) != 0 || (target[n] && target[n] != '/'))
		return false;
	target += n + strspn(target + n, "/");
	fd = beneath_open(l->dir, *target ? target : ".", O_PATH, 0);
	return fd >= 0 || errno == ENOENT;
}

/* The kernel is asked, not the text: what lies on the way may be links, too. */
static void look_at_link(struct looking *l, const char *path)
{
	AUTO_CLOSE int fd = beneath_open(l->dir, path, O_PATH, 0);
	char target[PATH_MAX];
	ssize_t n;

	if (fd >= 0 || errno != EXDEV)
		return;
	n = readlinkat(l->dir, path, target, sizeof target - 1);
	target[n > 0 ? n : 0] = '\0';
	if (n > 0 && leads_back(l, target))
		return;
	l->ret->links++;
	raise_flag(l, FLAG_LINK, path, 0, target);
}

static void on_secret(void *ctx, const char *path, unsigned line, const char *what)
{
	raise_flag(ctx, FLAG_SECRET, path, line, what);
}

static void search_file(struct looking *l, const char *path, uint64_t size)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;
	ssize_t n;

	if (size > SEARCHED_MAX || l->searched + size > SEARCHED_ALL) {
		l->ret->unsearched++;
		return;
	}
	fd = beneath_open(
		l->dir, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, RESOLVE_NO_SYMLINKS);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		l->ret->unsearched += fd >= 0 || errno != ENOENT; /* else it is gone */
		return;
	}
	n = pread(fd, l->bytes, SEARCHED_MAX, 0);
	if (n < 0) {
		l->ret->unsearched++;
		return;
	}
	l->searched += (uint64_t)n;
	l->ret->secrets += workspace_find_secrets(path, l->bytes, (size_t)n, on_secret, l);
}

static void look_at_file(struct looking *l, const struct files_entry *x)
{
	struct stat st;
	int64_t changed;

	/* Where a directory was swapped in between it tells of another file, and nothing is read through it. */
	if (fstatat(l->dir, x->path, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		l->ret->unsearched += errno != ENOENT;
		return;
	}
	changed = (int64_t)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
	if (!S_ISREG(st.st_mode) || changed <= l->since_ns)
		return;
	if (st.st_mode & 0111) {
		l->ret->executables++;
		raise_flag(l, FLAG_EXECUTABLE, x->path, 0, "");
	}
	if (st.st_size <= SMALL && l->nminutes < MINUTES_MAX) {
		l->minute = mem_grow(l->minute, &l->cap, l->nminutes + 1, sizeof *l->minute);
		l->minute[l->nminutes++] = changed / MINUTE_NS;
	}
	search_file(l, x->path, (uint64_t)st.st_size);
}

static int order_minutes(const void *left, const void *right)
{
	int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static void find_flood(struct looking *l)
{
	mem_sort(l->minute, l->nminutes, sizeof *l->minute, order_minutes);
	for (size_t i = 0, n; i < l->nminutes; i += n) {
		for (n = 1; i + n < l->nminutes && l->minute[i + n] == l->minute[i];)
			n++;
		if (n > l->ret->small) {
			l->ret->small = n;
			l->ret->small_ns = l->minute[i] * MINUTE_NS;
		}
	}
}

int flags_look(int dir, const char *place, int64_t since_ns, struct flag_sums *ret, flag_fn *tell,
	void *ctx, struct err *e)
{
	static const struct files_scan_options how = {.one_device = true};
	struct looking l = {ret, tell, ctx, .dir = dir, .place = place, .since_ns = since_ns};
	struct files *f =
		files_open(&(struct files_options){.program = "workspace", .cpu_width = 1});
	struct files_root *r = files_root_open_at(f, dir, place, e);
	struct files_scan *s = NULL;
	struct files_entry x;
	int rc = r ? files_scan(f, r, "", &how, &s, e) : -1;

	*ret = (struct flag_sums){0};
	l.bytes = xmalloc(SEARCHED_MAX);
	while (rc == 0 && files_scan_next(s, &x))
		if (x.type == FILES_LINK)
			look_at_link(&l, x.path);
		else if (x.type == FILES_FILE)
			look_at_file(&l, &x);
	while (rc == 0 && files_scan_error(s, ret->unread))
		ret->unread++;
	find_flood(&l);
	free(l.minute);
	free(l.bytes);
	files_scan_free(s);
	files_root_close(r);
	files_close(f);
	return rc;
}
