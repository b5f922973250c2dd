/* take.c - what an agent made becomes a person's: planned file by file, written as one batch. */
#include <berth/take.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/files.h>
#include <berth/mem.h>
#include <berth/str.h>

#define TAKE_FILE_MAX (64ull << 20)
#define TAKE_BYTES_MAX (256ull << 20)
#define TAKE_FILES_MAX 100000

/* Beside each item. */
struct taking {
	struct checkpoint_entry entry; /* in `from` */
	struct str content;
	struct files_token token; /* of what the target has */
	bool there;               /* in the target */
};

struct plan {
	struct take public;
	struct take_wish wish;
	struct checkpoint_changes changes;
	struct taking *taking;
	size_t cap_item, cap_taking, cap_secret;
	uint64_t bytes;
	struct files *files;
	struct files_root *into;
};

static struct take_item *add_item(struct plan *p, const char *path)
{
	struct take *t = &p->public;

	t->item = mem_grow(t->item, &p->cap_item, t->nitem + 1, sizeof *t->item);
	p->taking = mem_grow(p->taking, &p->cap_taking, t->nitem + 1, sizeof *p->taking);
	t->item[t->nitem] = (struct take_item){.path = path};
	p->taking[t->nitem] = (struct taking){.content = STR_INIT};
	return &t->item[t->nitem++];
}

static void set_fate(struct take_item *item, enum take_fate fate, const char *why)
{
	item->fate = fate;
	item->why = why;
}

/* --- what is asked for --- */

static bool is_all(const char *path)
{
	return !strcmp(path, ".") || !strcmp(path, "./");
}

static bool is_below_path(const char *path, const char *top)
{
	size_t n = strlen(top);

	while (n > 1 && top[n - 1] == '/')
		n--;
	return is_all(top) || (!strncmp(path, top, n) && (path[n] == '/' || !path[n]));
}

static bool is_asked_for(const struct plan *p, const char *path)
{
	for (size_t i = 0; i < p->wish.npath; i++)
		if (is_below_path(path, p->wish.path[i]))
			return !p->wish.own || strcmp(path, p->wish.own) != 0;
	return false;
}

static int check_asked(const struct plan *p, struct err *e)
{
	struct checkpoint_entry x;

	for (size_t i = 0; i < p->wish.npath; i++) {
		const char *path = p->wish.path[i];

		if (!*path || *path == '/')
			return err_set(e, ERR_USAGE,
				"\"%.80s\" is not a path in the workspace: it begins at its top, as in src/a.c",
				path);
		if (!checkpoint_lookup(p->wish.from, path, &x) &&
			!(p->wish.start && checkpoint_lookup(p->wish.start, path, &x)))
			return err_set(
				e, ERR_NOT_FOUND, "there is no %.200s in what is taken from", path);
	}
	return 0;
}

/* Also .GIT: there are file systems to which that is the same. */
static bool is_of_git(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (!strncasecmp(at, ".git", 4) && (!at[4] || at[4] == '/'))
			return true;
	}
	return false;
}

static const char *left_behind(const struct checkpoint_entry *x, uid_t owner)
{
	bool ids = x->mode & (S_ISUID | S_ISGID), foreign = x->uid != owner;

	if (ids)
		return x->attributes || foreign ? "set-id bits, attributes or owner"
						: "set-id bits";
	if (x->attributes)
		return foreign ? "attributes and owner" : "attributes";
	return foreign ? "owner" : NULL;
}

static void choose_change(
	struct plan *p, const struct checkpoint_change *c, const struct checkpoint_entry *top)
{
	struct take_item *item;

	if (!is_asked_for(p, c->path) || S_ISDIR(c->new.mode) ||
		(!c->new.mode &&S_ISDIR(c->old.mode)))
		return;
	item = add_item(p, c->path);
	p->taking[p->public.nitem - 1].entry = c->new;
	item->size = c->new.size;
	item->executable = c->new.mode & 0111;
	if (is_of_git(c->path))
		set_fate(item, TAKE_DROPPED, "what is git's may hold programs of the agent");
	else if (!c->new.mode)
		set_fate(item, TAKE_DROPPED, "it was removed there");
	else if (S_ISLNK(c->new.mode))
		set_fate(item, TAKE_DROPPED, "a symbolic link");
	else if (!S_ISREG(c->new.mode))
		set_fate(item, TAKE_DROPPED, "a device, socket or FIFO");
	else if (c->what == CHECKPOINT_MODE)
		set_fate(item, TAKE_DROPPED, "only its mode, owner or attributes changed");
	else
		item->without = left_behind(&c->new, top->uid);
}

/* --- the target --- */

/* What the target has under this name, opened only to look at it; -1: nothing, or *why not. */
static int look_into_target(int into, const char *path, const char **why)
{
	struct stat st;
	int fd = beneath_open(
		into, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	*why = NULL;
	if (fd < 0) {
		if (errno == ELOOP)
			*why = "a symbolic link is in the way";
		else if (errno == ENOTDIR)
			*why = "a file is where its directory would be";
		else if (errno == EXDEV)
			*why = "something is mounted there";
		else if (errno != ENOENT)
			*why = "it cannot be looked at";
		return -1;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		*why = S_ISDIR(st.st_mode)    ? "a directory is there"
			: S_ISLNK(st.st_mode) ? "a symbolic link is in the way"
					      : "what is there is no file";
	close(fd);
	return *why ? -1 : 0;
}

static bool has_same_bytes(const struct files_got *g, const struct str *content)
{
	return g->len == content->len && (g->len == 0 || !memcmp(g->bytes, content->s, g->len));
}

static int compare_target(struct plan *p, struct take_item *item, struct taking *t, struct err *e)
{
	const struct files_want want = {.path = item->path};
	const struct files_read_options how = {.max_file_bytes = TAKE_FILE_MAX, .hash = true};
	struct checkpoint_entry before;
	struct files_reading *r;
	const struct files_got *g;

	if (files_read(p->files, p->into, &want, 1, &how, &r, e))
		return -1;
	g = &r->items[0];
	t->there = true;
	t->token = g->token;
	if (g->err || g->clipped || g->unstable)
		set_fate(
			item, TAKE_BLOCKED, "it cannot be read, is too large, or is being written");
	else if (has_same_bytes(g, &t->content))
		set_fate(item, TAKE_SAME, NULL);
	else if (p->wish.start && checkpoint_lookup(p->wish.start, item->path, &before) &&
		checkpoint_has_content(p->wish.start, &before, g->bytes, g->len))
		set_fate(item, TAKE_CHANGED, NULL);
	else
		set_fate(item, TAKE_CONFLICT,
			p->wish.start ? "it changed there, too" : "there is another");
	files_reading_free(r);
	return 0;
}

static int plan_file(struct plan *p, struct take_item *item, struct taking *t, struct err *e)
{
	struct checkpoint_entry before;
	const char *why;

	p->bytes += item->size;
	if (p->bytes > TAKE_BYTES_MAX)
		return err_set(e, ERR_REFUSED,
			"more than %llu MiB at once: take fewer, or smaller ones",
			TAKE_BYTES_MAX >> 20);
	if (checkpoint_content(p->wish.from, &t->entry, TAKE_FILE_MAX, &t->content, e))
		return -1;
	if (look_into_target(p->wish.into, item->path, &why) == 0)
		return compare_target(p, item, t, e);
	if (why)
		set_fate(item, TAKE_BLOCKED, why);
	else if (p->wish.start && checkpoint_lookup(p->wish.start, item->path, &before))
		set_fate(item, TAKE_CONFLICT, "it is not there any more");
	else
		set_fate(item, TAKE_NEW, NULL);
	return 0;
}

static void note_leak(void *ctx, const char *path, unsigned line, const char *what)
{
	struct plan *p = ctx;
	struct take *t = &p->public;

	t->secret = mem_grow(t->secret, &p->cap_secret, t->nsecret + 1, sizeof *t->secret);
	t->secret[t->nsecret++] = (struct take_secret){path, what, line};
}

/* --- the plan --- */

static int plan_items(struct plan *p, struct err *e)
{
	struct take *t = &p->public;

	for (size_t i = 0; i < t->nitem; i++) {
		struct take_item *item = &t->item[i];
		struct taking *x = &p->taking[i];

		if (item->fate != TAKE_DROPPED && plan_file(p, item, x, e))
			return -1;
		t->count[item->fate]++;
		if (item->fate == TAKE_NEW || item->fate == TAKE_CHANGED ||
			item->fate == TAKE_CONFLICT)
			workspace_find_secrets(
				item->path, x->content.s, x->content.len, note_leak, p);
	}
	return 0;
}

static int choose_items(struct plan *p, struct err *e)
{
	struct checkpoint_tree *empty = p->wish.start ? NULL : checkpoint_tree_empty();
	struct checkpoint_entry top;

	checkpoint_lookup(p->wish.from, ".", &top);
	checkpoint_compare(p->wish.start ? p->wish.start : empty, p->wish.from, &p->changes);
	checkpoint_tree_free(empty);
	for (size_t i = 0; i < p->changes.n; i++)
		choose_change(p, &p->changes.all[i], &top);
	return p->public.nitem <= TAKE_FILES_MAX
		? 0
		: err_set(e, ERR_REFUSED, "more than %d files at once: take fewer", TAKE_FILES_MAX);
}

struct take *take_prepare(const struct take_wish *wish, struct err *e)
{
	struct plan *p = xcalloc(1, sizeof *p);
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", wish->into);

	p->wish = *wish;
	p->files = files_open(&(struct files_options){.program = "workspace"});
	p->into = files_root_open(p->files, path, e);
	if (p->into && check_asked(p, e) == 0 && choose_items(p, e) == 0 && plan_items(p, e) == 0)
		return &p->public;
	take_free(&p->public);
	return NULL;
}

void take_free(struct take *t)
{
	struct plan *p = (struct plan *)t;

	if (!p)
		return;
	for (size_t i = 0; i < t->nitem; i++)
		str_release(&p->taking[i].content);
	free(t->item);
	free(t->secret);
	free(p->taking);
	checkpoint_changes_release(&p->changes);
	files_root_close(p->into);
	files_close(p->files);
	free(p);
}

/* --- carrying it out --- */

int take_carry_out(struct take *t, bool force, struct err *e)
{
	static const struct files_write_options whole = {
		.promise = FILES_ALL_OR_NOTHING, .parents = true};
	struct plan *p = (struct plan *)t;
	AUTO_FREE struct files_put *put = xcalloc(t->nitem + 1, sizeof *put);
	struct files_writing *w = NULL;
	size_t n = 0;
	int rc;

	if (t->count[TAKE_BLOCKED] || (t->count[TAKE_CONFLICT] && !force))
		return err_set(e, ERR_CONFLICT, "nothing was taken: %llu in conflict, %llu blocked",
			(unsigned long long)t->count[TAKE_CONFLICT],
			(unsigned long long)t->count[TAKE_BLOCKED]);
	for (size_t i = 0; i < t->nitem; i++) {
		const struct take_item *item = &t->item[i];
		const struct taking *x = &p->taking[i];

		if (item->fate == TAKE_SAME || item->fate == TAKE_DROPPED)
			continue;
		put[n++] = (struct files_put){.path = item->path,
			.bytes = x->content.s,
			.len = x->content.len,
			.create_only = !x->there,
			.expect = x->there ? &x->token : NULL,
			.mode = item->executable ? 0755 : 0};
	}
	rc = n ? files_write(p->files, p->into, put, n, &whole, &w, e) : 0;
	files_writing_free(w);
	return rc;
}
