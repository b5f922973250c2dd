/* apply.c - applies files of a workspace to a project: planned file by file, written as one batch. */
#include <berth/apply.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <berth/format.h>
#include <berth/leak_blocks.h>
#include <berth/mem.h>
#include <berth/path.h>
#include <berth/str.h>
#include <berth/sum.h>
#include <berth/text.h>

#include "workspace/apply_plan.h"

#define APPLY_BYTES_MAX (256ull << 30)
#define APPLY_FILES_MAX 100000
#define APPLY_LOOKED_MAX (1ull << 30) /* of a file, for secrets */

static struct apply_item *add_item(struct plan *p, const char *path)
{
	struct apply *t = &p->public;

	t->item = mem_grow(t->item, &p->cap_item, t->nitem + 1, sizeof *t->item);
	p->applying = mem_grow(p->applying, &p->cap_applying, t->nitem + 1, sizeof *p->applying);
	t->item[t->nitem] = (struct apply_item){.path = path};
	p->applying[t->nitem] = (struct applying){.content = STR_INIT,
		.old = STR_INIT,
		.made = STR_INIT,
		.old_masked = STR_INIT,
		.masked = STR_INIT};
	return &t->item[t->nitem++];
}

static bool may_pass(const struct apply_item *item)
{
	return item->fate == APPLY_NEW || item->fate == APPLY_CHANGED ||
		item->fate == APPLY_CONFLICT;
}

/* --- what is asked for --- */

static bool is_all(const char *path)
{
	return !strcmp(path, ".") || !strcmp(path, "./");
}

static bool is_below_path(const char *path, const char *top)
{
	return is_all(top) || path_is_in(path, top);
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
			return err_set(e, ERR_NOT_FOUND, "%.200s is not in the source", path);
	}
	return 0;
}

/* To some file systems (macOS's, ext4 with casefold) these are no part of a name: Unicode's Default_Ignorable_Code_Point. */
static bool is_ignored_there(uint32_t cp)
{
	static const uint32_t ranges[][2] = {{0xAD, 0xAD}, {0x34F, 0x34F}, {0x61C, 0x61C},
		{0x115F, 0x1160}, {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},
		{0x202A, 0x202E}, {0x2060, 0x206F}, {0x3164, 0x3164}, {0xFE00, 0xFE0F},
		{0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3},
		{0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

	for (size_t i = 0; cp >= ranges[0][0] && i < COUNT(ranges); i++)
		if (cp >= ranges[i][0] && cp <= ranges[i][1])
			return true;
	return false;
}

uint32_t apply_next_letter(const char **at, const char *end)
{
	const char *s = *at;
	uint32_t cp = 0;

	while (!cp && s != end && *s) {
		size_t tail = strspn(s, ". ");

		/* FAT and NTFS take dots and blanks at the end away; behind a colon NTFS has a stream of the file. */
		if (s[tail] == ':')
			tail += strcspn(s + tail, "/");
		if (tail && (!s[tail] || s[tail] == '/')) {
			s += tail;
			continue;
		}
		s += utf8_next(s, strnlen(s, 4), &cp);
		if (is_ignored_there(cp))
			cp = 0;
	}
	*at = s;
	/* Of others than ASCII's letters these two have their small ones there. */
	return cp >= 'A' && cp <= 'Z' ? cp + 'a' - 'A'
		: cp == 0x17F         ? 's'
		: cp == 0x212A        ? 'k'
				      : cp;
}

bool apply_is_named(const char *part, const char *name)
{
	uint32_t a, b;

	do {
		a = apply_next_letter(&part, NULL);
		b = apply_next_letter(&name, NULL);
	} while (a == b && b);
	return !b && (!a || a == '/');
}

/* Or the short name that NTFS and FAT give it. */
static bool is_of_git(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (apply_is_named(at, ".git") || apply_is_named(at, "git~1"))
			return true;
	}
	return false;
}

/* What berth itself puts into a tree while it changes it; of another version, too. */
static bool is_of_berth(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		size_t n;

		at += *at == '/';
		n = strcspn(at, "/");
		if ((n == 6 && !strncmp(at, ".berth", n)) || !strncmp(at, ".berth-", 7) ||
			!strncmp(at, ".berth.", 7))
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

static void describe_taken(struct apply_item *item, const struct checkpoint_entry *x)
{
	item->size = x->size;
	item->executable = apply_is_executable(x->mode);
}

static void choose_change(
	struct plan *p, const struct checkpoint_change *c, const struct checkpoint_entry *top)
{
	struct apply_item *item;

	if (!is_asked_for(p, c->path) || S_ISDIR(c->new.mode) ||
		(!c->new.mode &&S_ISDIR(c->old.mode)))
		return;
	item = add_item(p, c->path);
	p->applying[p->public.nitem - 1].entry = c->new;
	describe_taken(item, &c->new);
	if (is_of_git(c->path))
		apply_set_fate(
			item, APPLY_DROPPED, "git's files may contain programs of the agent");
	else if (is_of_berth(c->path))
		apply_set_fate(item, APPLY_DROPPED, "berth keeps its own unfinished changes there");
	else if (!c->new.mode)
		apply_set_fate(item, APPLY_DROPPED, "it was removed there");
	else if (S_ISLNK(c->new.mode))
		apply_set_fate(item, APPLY_DROPPED, "a symbolic link");
	else if (!S_ISREG(c->new.mode))
		apply_set_fate(item, APPLY_DROPPED, "a device, socket or FIFO");
	else if (c->what == CHECKPOINT_MODE &&
		apply_is_executable(c->old.mode) == apply_is_executable(c->new.mode))
		apply_set_fate(item, APPLY_DROPPED, "only its mode, owner or attributes changed");
	else
		item->without = left_behind(&c->new, top->uid);
}

/* --- item by item --- */

static int plan_file(struct plan *p, struct apply_item *item, struct applying *t, struct err *e)
{
	struct checkpoint_entry before;
	const char *why;

	sum_add(&p->bytes, item->size);
	if (p->bytes > APPLY_BYTES_MAX)
		return err_set(e, ERR_REFUSED,
			"more than %llu GiB in one batch: apply fewer or smaller ones",
			APPLY_BYTES_MAX >> 30);
	t->held = item->size <= APPLY_TEXT_MAX && p->held + item->size <= APPLY_HELD_MAX;
	if (t->held &&
		checkpoint_content(p->wish.from, &t->entry, APPLY_TEXT_MAX, &t->content, e)) {
		/* It grew, or was closed, since it was listed. */
		if (e->kind == ERR_REFUSED)
			e->kind = ERR_CONFLICT;
		return -1;
	}
	if (t->held) { /* saved anew, perhaps */
		checkpoint_entry_again(p->wish.from, &t->entry);
		describe_taken(item, &t->entry);
	}
	p->held += t->held ? item->size : 0;
	if (apply_look_into(p->wish.into, item->path, &why) == 0)
		return apply_judge(p, item, t, e);
	if (why)
		apply_set_fate(item, APPLY_BLOCKED, why);
	else if (p->wish.start && checkpoint_lookup(p->wish.start, item->path, &before))
		apply_set_fate(item, APPLY_CONFLICT, "it no longer exists");
	else
		apply_set_fate(item, APPLY_NEW, NULL);
	return 0;
}

/* --- secrets --- */

static void add_secret(struct apply_secret **all, size_t *n, size_t *cap, struct apply_secret one)
{
	*all = mem_grow(*all, cap, *n + 1, sizeof **all);
	(*all)[(*n)++] = one;
}

static void note_leak(void *ctx, const char *path, unsigned line, const char *what)
{
	struct plan *p = ctx;
	struct apply *t = &p->public;

	add_secret(
		&t->secret, &t->nsecret, &p->cap_secret, (struct apply_secret){path, what, line});
}

static void note_leak_of(void *ctx, const char *path, unsigned line, const char *what)
{
	struct applying *x = ctx;

	add_secret(
		&x->secret, &x->nsecret, &x->cap_secret, (struct apply_secret){path, what, line});
}

/* Of one that is not held; once, for what it holds does not change. */
static int look_through(
	struct plan *p, const struct apply_item *item, struct applying *x, struct err *e)
{
	struct checkpoint_reader *r = checkpoint_reader_open(p->wish.from, &x->entry, e);
	AUTO_FREE char *buf = xmalloc(APPLY_BLOCK);
	struct leak_search s;
	uint64_t done = 0;
	ssize_t n = r ? 1 : -1;

	leak_search_init(&s, item->path, note_leak_of, x);
	while (n > 0 && !x->unchecked && (n = checkpoint_read(r, buf, APPLY_BLOCK, e)) > 0) {
		done += (uint64_t)n;
		if (!leak_search_add(&s, buf, (size_t)n))
			x->unchecked = "only up to 1,000 likely secrets";
		else if (done >= APPLY_LOOKED_MAX && done < item->size)
			x->unchecked = "only its first GiB";
	}
	leak_search_end(&s);
	leak_search_release(&s);
	checkpoint_reader_close(r);
	return n < 0 ? -1 : 0;
}

static void repeat_findings(struct plan *p, const struct apply_item *item, const struct applying *x)
{
	struct apply *t = &p->public;

	for (size_t i = 0; i < x->nsecret; i++)
		note_leak(p, item->path, x->secret[i].line, x->secret[i].what);
	if (!x->unchecked)
		return;
	t->unchecked =
		mem_grow(t->unchecked, &p->cap_unchecked, t->nunchecked + 1, sizeof *t->unchecked);
	t->unchecked[t->nunchecked++] = (struct apply_unchecked){item->path, x->unchecked};
}

/* What is written of it. */
static const struct str *bytes_of_outcome(const struct applying *x)
{
	return x->partly ? &x->made : &x->content;
}

static void add_runs(struct plan *p, const struct apply_item *item, const struct applying *x)
{
	struct apply *t = &p->public;
	const char *what = apply_what_runs(item->path, x->held ? bytes_of_outcome(x) : NULL);

	if (!what)
		return;
	t->runs = mem_grow(t->runs, &p->cap_runs, t->nruns + 1, sizeof *t->runs);
	t->runs[t->nruns++] = (struct apply_runs){item->path, what};
}

/* How many there are of each fate, what of it looks like a secret, and what some tool will run. */
static void sum_up_plan(struct plan *p)
{
	struct apply *t = &p->public;

	t->nsecret = t->nunchecked = t->nruns = 0;
	memset(t->count, 0, sizeof t->count);
	for (size_t i = 0; i < t->nitem; i++) {
		const struct applying *x = &p->applying[i];

		t->count[t->item[i].fate]++;
		if (may_pass(&t->item[i]))
			add_runs(p, &t->item[i], x);
		if (may_pass(&t->item[i]) && x->held)
			workspace_find_secrets(t->item[i].path, bytes_of_outcome(x)->s,
				bytes_of_outcome(x)->len, note_leak, p);
		else if (may_pass(&t->item[i]))
			repeat_findings(p, &t->item[i], x);
	}
}

/* --- hunks --- */

static bool has_lines(const struct str *s)
{
	return s->len <= APPLY_TEXT_MAX && !memchr(s->s, '\0', s->len);
}

static void add_hunk(struct plan *p, const struct apply_hunk *h)
{
	struct apply *t = &p->public;

	t->hunk = mem_grow(t->hunk, &p->cap_hunk, t->nhunk + 1, sizeof *t->hunk);
	t->hunk[t->nhunk++] = *h;
}

static void find_hunks(struct plan *p, size_t item)
{
	const struct applying *x = &p->applying[item];
	AUTO_FREE struct change *all = NULL;
	size_t n = 0;

	if (x->there && x->compared && has_lines(&x->old) && has_lines(&x->content))
		n = diff_lines(x->old.s, x->old.len, x->content.s, x->content.len, &all);
	for (size_t i = 0; i < n; i++)
		add_hunk(p, &(struct apply_hunk){.item = item, .lines = all[i]});
	if (!n)
		add_hunk(p, &(struct apply_hunk){.item = item, .whole = true});
}

/* Of the same length, so that a hunk is where it is. */
static void mask_once(const char *path, struct applying *x)
{
	if (x->looked)
		return;
	x->looked = true;
	if (!workspace_find_secrets(path, x->old.s, x->old.len, NULL, NULL) &&
		!workspace_find_secrets(path, x->content.s, x->content.len, NULL, NULL))
		return;
	str_add(&x->old_masked, x->old.s, x->old.len);
	str_add(&x->masked, x->content.s, x->content.len);
	workspace_mask_secrets(path, x->old_masked.s, x->old_masked.len);
	workspace_mask_secrets(path, x->masked.s, x->masked.len);
}

void apply_show_hunk(struct apply *t, size_t hunk, bool secrets, struct str *out)
{
	struct plan *p = (struct plan *)t;
	const struct apply_hunk *h = &t->hunk[hunk];
	struct applying *x = &p->applying[h->item];
	const char *path = t->item[h->item].path;
	const struct str *old = &x->old, *new = &x->content;
	AUTO_STR struct str shown = STR_INIT;

	if (h->whole)
		return;
	str_adds(&shown, path);
	if (!secrets) {
		mask_once(path, x);
		workspace_mask_secrets("", shown.s, shown.len);
	}
	if (!secrets && (x->old_masked.len || x->masked.len)) {
		old = &x->old_masked;
		new = &x->masked;
	}
	diff_unified(out, shown.s, old->s, old->len, new->s, new->len, &h->lines, 1);
}

/* The target's lines, but where a hunk of hunk[from..to) was chosen. */
static void put_together(struct plan *p, size_t from, size_t to, const bool *chosen)
{
	const struct apply *t = &p->public;
	struct applying *x = &p->applying[t->hunk[from].item];
	size_t at = 0;

	x->partly = true;
	str_clear(&x->made);
	for (size_t i = from; i < to; i++) {
		const struct change *c = &t->hunk[i].lines;

		if (!chosen[i])
			continue;
		str_add(&x->made, x->old.s + at, c->old_from - at);
		str_add(&x->made, x->content.s + c->new_from, c->new_to - c->new_from);
		at = c->old_to;
	}
	str_add(&x->made, x->old.s + at, x->old.len - at);
}

void apply_choose(struct apply *t, const bool *chosen)
{
	struct plan *p = (struct plan *)t;

	/* What is in the way of a file that could not be chosen is in nobody's way. */
	for (size_t i = 0; i < t->nitem; i++)
		if (t->item[i].fate == APPLY_BLOCKED)
			t->item[i].fate = APPLY_LEFT;
	for (size_t i = 0, next; i < t->nhunk; i = next) {
		size_t n = 0;

		for (next = i; next < t->nhunk && t->hunk[next].item == t->hunk[i].item; next++)
			n += chosen[next];
		if (!n)
			apply_set_fate(&t->item[t->hunk[i].item], APPLY_LEFT, "not chosen");
		else if (n < next - i)
			put_together(p, i, next, chosen);
	}
	sum_up_plan(p);
}

/* --- which plan it is --- */

static void add_to_id(struct checkpoint_sum *sum, const struct plan *p, size_t i)
{
	const struct apply_item *item = &p->public.item[i];
	const struct applying *x = &p->applying[i];
	const struct files_token *t = &x->token;
	AUTO_FREE char *facts = xasprintf("%d %d %d %o %" PRIu64 " %d %d", (int)item->fate,
		(int)item->executable, x->executable, (unsigned)x->entry.mode, item->size,
		(int)x->there, (int)t->hashed);

	checkpoint_sum_add(sum, item->path, strlen(item->path) + 1);
	checkpoint_sum_add(sum, facts, strlen(facts) + 1);
	if (S_ISREG(x->entry.mode))
		checkpoint_sum_add(sum, checkpoint_hash_of(p->wish.from, &x->entry), 32);
	if (x->there && t->hashed)
		checkpoint_sum_add(sum, t->hash, sizeof t->hash);
	else if (x->there)
		checkpoint_sum_add(
			sum, &(int64_t[]){(int64_t)t->size, t->mtime_ns, t->ctime_ns}, 24);
}

char *apply_id(const struct apply *t, char id[APPLY_ID_MAX])
{
	const struct plan *p = (const struct plan *)t;
	struct checkpoint_sum *sum = checkpoint_sum_new();
	char hex[65];

	for (size_t i = 0; i < t->nitem; i++)
		add_to_id(sum, p, i);
	checkpoint_sum_print(sum, hex);
	checkpoint_sum_free(sum);
	snprintf(id, APPLY_ID_MAX, "%.32s", hex);
	return id;
}

/* --- the plan --- */

static int plan_item(struct plan *p, struct apply_item *item, struct applying *x, struct err *e)
{
	struct err why = ERR_INIT;

	if (plan_file(p, item, x, &why) == 0 &&
		(!may_pass(item) || x->held || look_through(p, item, x, &why) == 0))
		return 0;
	if (why.kind != ERR_CONFLICT)
		return err_copy(e, &why);
	apply_set_fate(item, APPLY_DROPPED, "it was removed or changed while it was read");
	p->public.nchanged++;
	return 0;
}

static int plan_items(struct plan *p, struct err *e)
{
	struct apply *t = &p->public;

	for (size_t i = 0; i < t->nitem; i++) {
		struct apply_item *item = &t->item[i];

		p->applying[i].plan = p;
		if (item->fate != APPLY_DROPPED && plan_item(p, item, &p->applying[i], e))
			return -1;
		if (p->wish.hunks && may_pass(item))
			find_hunks(p, i);
	}
	sum_up_plan(p);
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
	return p->public.nitem <= APPLY_FILES_MAX
		? 0
		: err_set(e, ERR_REFUSED, "more than %d files in one batch: apply fewer",
			  APPLY_FILES_MAX);
}

static int fetch_target(struct plan *p, struct apply_bare *bare, struct err *e)
{
	char *const *ask;
	size_t nask, n = 0;
	AUTO_FREE const char **path = NULL;

	if (!p->wish.fetch)
		return 0;
	nask = apply_bare_ask(bare, &ask);
	path = xcalloc(p->public.nitem + nask + 1, sizeof *path);
	for (size_t i = 0; i < p->public.nitem; i++)
		if (p->public.item[i].fate != APPLY_DROPPED)
			path[n++] = p->public.item[i].path;
	for (size_t i = 0; i < nask; i++)
		path[n++] = ask[i];
	return p->wish.fetch(p->wish.ctx, path, n, e);
}

static int look_at_target(struct plan *p, struct err *e)
{
	struct apply_bare *bare = apply_bare_begin(&p->public);
	int rc = fetch_target(p, bare, e);

	if (rc == 0)
		apply_bare_drop(bare, &p->public, p->wish.into);
	apply_bare_end(bare);
	return rc;
}

struct apply *apply_prepare(const struct apply_wish *wish, struct err *e)
{
	struct plan *p = xcalloc(1, sizeof *p);
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", wish->into);

	p->wish = *wish;
	pthread_mutex_init(&p->opening, NULL);
	/* Through no link: who can write there could put one where a directory was looked at. */
	p->files = files_open(
		&(struct files_options){.program = "workspace", .avoid = FILES_AVOID_OPENAT2});
	p->into = files_root_open(p->files, path, e);
	if (p->into && wish->settle)
		files_settle(p->into);
	if (p->into && check_asked(p, e) == 0 && choose_items(p, e) == 0 &&
		look_at_target(p, e) == 0 && plan_items(p, e) == 0)
		return &p->public;
	apply_free(&p->public);
	return NULL;
}

void apply_free(struct apply *t)
{
	struct plan *p = (struct plan *)t;

	if (!p)
		return;
	for (size_t i = 0; i < t->nitem; i++) {
		str_release(&p->applying[i].content);
		str_release(&p->applying[i].old);
		str_release(&p->applying[i].made);
		str_release(&p->applying[i].old_masked);
		str_release(&p->applying[i].masked);
		free(p->applying[i].secret);
		checkpoint_reader_close(p->applying[i].reader);
	}
	pthread_mutex_destroy(&p->opening);
	free(t->unchecked);
	free(t->runs);
	free(t->hunk);
	free(t->item);
	free(t->secret);
	free(p->applying);
	checkpoint_changes_release(&p->changes);
	files_root_close(p->into);
	files_close(p->files);
	free(p);
}

/* --- carrying it out --- */

static ssize_t pull_content(void *ctx, void *to, size_t n, struct err *e)
{
	struct applying *x = ctx;
	ssize_t got;

	if (!x->reader) {
		pthread_mutex_lock(&x->plan->opening);
		x->reader = checkpoint_reader_open(x->plan->wish.from, &x->entry, e);
		pthread_mutex_unlock(&x->plan->opening);
	}
	got = x->reader ? checkpoint_read(x->reader, to, n, e) : -1;
	if (got <= 0)
		checkpoint_reader_close(STEAL(x->reader));
	return got;
}

static struct files_put describe_put(const struct apply_item *item, struct applying *x)
{
	struct files_put put = {.path = item->path,
		.create_only = !x->there,
		.expect = x->there ? &x->token : NULL,
		.executable = x->there ? x->executable : item->executable};

	if (x->held) {
		put.bytes = bytes_of_outcome(x)->s;
		put.len = bytes_of_outcome(x)->len;
	} else {
		put.len = item->size;
		put.pull = pull_content;
		put.ctx = x;
	}
	return put;
}

/* It would show while it is written, too, but by then the disk is full for everybody. */
static int check_room_for_puts(int into, const struct files_put *put, size_t n, struct err *e)
{
	char needed[FORMAT_MAX], free_bytes[FORMAT_MAX];
	uint64_t bytes = 0, room;
	struct statvfs st;

	for (size_t i = 0; i < n; i++)
		bytes += put[i].len;
	if (fstatvfs(into, &st) < 0 || !st.f_blocks)
		return 0;
	room = (uint64_t)st.f_bavail * st.f_frsize;
	return bytes <= room ? 0
			     : err_set(e, ERR_FAILED, "not enough space: %s needed, %s free",
				       format_bytes(needed, bytes), format_bytes(free_bytes, room));
}

int apply_carry_out(struct apply *t, bool force, struct err *e)
{
	static const struct files_write_options whole = {
		.promise = FILES_ALL_OR_NOTHING, .parents = true};
	struct plan *p = (struct plan *)t;
	AUTO_FREE struct files_put *put = xcalloc(t->nitem + 1, sizeof *put);
	struct files_writing *w = NULL;
	size_t n = 0;
	int rc = 0;

	if (t->count[APPLY_BLOCKED] || (t->count[APPLY_CONFLICT] && !force))
		return err_set(e, ERR_CONFLICT,
			"nothing was applied: %llu in conflict, %llu blocked",
			(unsigned long long)t->count[APPLY_CONFLICT],
			(unsigned long long)t->count[APPLY_BLOCKED]);
	for (size_t i = 0; i < t->nitem; i++)
		if (may_pass(&t->item[i]))
			put[n++] = describe_put(&t->item[i], &p->applying[i]);
	if (n)
		rc = check_room_for_puts(p->wish.into, put, n, e) ||
				files_write(p->files, p->into, put, n, &whole, &w, e)
			? -1
			: 0;
	files_writing_free(w);
	/* What it staged below the target goes now, not when the plan does. */
	files_root_close(STEAL(p->into));
	return rc;
}
