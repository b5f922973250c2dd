/* transform.c - replaces a pattern in many files: searched in parallel, written as one batch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/diff.h>
#include <berth/file.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "files/match/searchfile.h"
#include "files/common/token.h"

#define FILE_MAX (64u << 20)
#define HELD_MAX (UINT64_C(1) << 30)
#define HELD_STEP (UINT64_C(1) << 20) /* what grows is counted in steps of so much */

struct edit {
	char *path;
	struct str new;  /* only to be written */
	struct str raw;  /* of a text with a byte order mark: what is written in its place */
	struct str diff; /* only where one is wanted */
	struct change *changes;
	size_t nchanges, cap;
	uint64_t held; /* of transforming.held */
	struct files_token token;
	uint64_t replacements;
};

struct transforming {
	struct walk walk;
	struct op op;
	const struct files_transform_options *o;
	struct matcher *matcher;
	int64_t read_ns;
	pthread_mutex_t lock; /* guards what follows */
	struct edit **edits;
	size_t n, cap;
	uint64_t held, most;
	size_t diffs; /* bytes of those in edits */
	bool walked;
	bool too_much;
	struct files_transform_result totals;
};

struct worker {
	struct matcher_local local;
	char *buf;
	size_t cap;
	const char *text; /* in buf, or decoded: what is matched */
	size_t n;
	struct str decoded;
	size_t held; /* for decoded, of transforming.held */
};

static void init_worker(struct worker *w, struct transforming *x)
{
	*w = (struct worker){.decoded = STR_INIT};
	matcher_local_init(&w->local, x->matcher);
	w->local.op = &x->op;
	w->local.expand_most = (size_t)(x->most / 4);
}

/* Under the lock, or alone. */
static void release_worker(struct worker *w, struct transforming *x)
{
	x->totals.gave_up += w->local.gave_up;
	x->held -= w->cap + w->held;
	matcher_local_release(&w->local);
	str_release(&w->decoded);
	free(w->buf);
}

static void begin_transform(struct walk_worker *me)
{
	struct transforming *x = me->walk->ctx;
	struct worker *w = xmalloc(sizeof *w);

	init_worker(w, x);
	me->data = w;
}

static void end_transform(struct walk_worker *me)
{
	struct transforming *x = me->walk->ctx;
	struct worker *w = me->data;

	pthread_mutex_lock(&x->lock);
	release_worker(w, x);
	pthread_mutex_unlock(&x->lock);
	free(w);
}

static void edit_free(struct edit *ed)
{
	free(ed->path);
	str_release(&ed->new);
	str_release(&ed->raw);
	str_release(&ed->diff);
	free(ed->changes);
	free(ed);
}

/* Count what is held before it is; false: it is more than may be, and the walk ends. */
static bool hold_bytes(struct transforming *x, int64_t more)
{
	bool fits;

	pthread_mutex_lock(&x->lock);
	fits = (int64_t)x->held + more <= (int64_t)x->most;
	if (fits) {
		x->held += (uint64_t)more;
	} else {
		x->too_much = true;
		atomic_store(&x->walk.stop, true);
	}
	pthread_mutex_unlock(&x->lock);
	return fits;
}

/* An edit holds `now` bytes, or will. */
static bool hold_edit(struct transforming *x, struct edit *ed, uint64_t now)
{
	if (!hold_bytes(x, (int64_t)(now - ed->held)))
		return false;
	ed->held = now;
	return true;
}

static uint64_t edit_bytes(const struct edit *ed)
{
	return sizeof *ed + ed->new.cap + ed->raw.cap + ed->diff.cap +
		ed->cap * sizeof *ed->changes;
}

/* A short file with a long replacement becomes as large as both, multiplied. */
static bool hold_growth(struct transforming *x, struct edit *ed)
{
	uint64_t next =
		edit_bytes(ed) + (ed->nchanges == ed->cap ? ed->cap * sizeof *ed->changes : 0);

	return next <= ed->held || hold_edit(x, ed, next + HELD_STEP);
}

/* Note that the line(s) around a match changed; matches of one line are one change.  Nothing before the line of the
 * last match is looked at again: a line may be as long as the file, with a match at every byte. */
static void note_change(struct edit *ed, const char *s, size_t n, size_t match, size_t copied)
{
	struct change *last = ed->nchanges ? &ed->changes[ed->nchanges - 1] : NULL;
	size_t line = last ? last->old_to : 0; /* one begins here */
	const char *nl;

	if (last && (match < line || line == n))
		return;
	nl = memrchr(s + line, '\n', match - line);
	line = nl ? (size_t)(nl + 1 - s) : line;
	nl = memchr(s + match, '\n', n - match);
	ed->changes = mem_grow(ed->changes, &ed->cap, ed->nchanges + 1, sizeof *ed->changes);
	/* What lies before the match in its line is in the new text already. */
	ed->changes[ed->nchanges++] = (struct change){
		.old_from = line,
		.old_to = nl ? (size_t)(nl + 1 - s) : n,
		.new_from = ed->new.len - (copied - line),
	};
}

/* s with every match replaced; NULL: there was none. */
static struct edit *replace_matches(
	struct transforming *x, struct worker *w, const char *s, size_t n)
{
	const struct files_transform_options *o = x->o;
	struct edit *ed = NULL;
	size_t from = 0, copied = 0, done = SIZE_MAX, at, stop, before;
	uint32_t behind;
	bool fits = true;

	w->local.steady = true;
	w->local.line_to = 0;
	while (fits && matcher_find(&w->local, s, n, from, &at, &stop)) {
		if (at == n && n > 0 && s[n - 1] == '\n')
			break; /* an empty match behind the last line */
		if (!matcher_leave_line_end(&w->local, s, n, done, &at, &stop)) {
			from = stop > at ? stop : at + 1;
			continue;
		}
		if (!ed) {
			ed = xcalloc(1, sizeof *ed);
			str_init(&ed->new);
			str_init(&ed->raw);
			str_init(&ed->diff);
			fits = hold_edit(x, ed, n + n / 8 + HELD_STEP);
			if (!fits)
				break;
			str_reserve(&ed->new, n + n / 8 + 64);
		}
		str_add(&ed->new, s + copied, at - copied);
		copied = at;
		fits = hold_growth(x, ed);
		if (!fits)
			break;
		note_change(ed, s, n, at, copied);
		before = ed->new.len;
		matcher_replace(&w->local, s, o->replacement, o->replacement_len, &ed->new, NULL);
		/* It ends there, unfinished. */
		if (ed->new.len - before > w->local.expand_most)
			fits = hold_bytes(x, (int64_t)x->most + 1);
		copied = done = stop;
		ed->replacements++;
		/* Nothing is put into a character. */
		from = stop > at ? stop : at < n ? at + utf8_next(s + at, n - at, &behind) : n + 1;
		if (from > n || op_stopped(&x->op))
			break;
	}
	if (ed && !fits) {
		edit_free(ed);
		return NULL;
	}
	if (ed)
		str_add(&ed->new, s + copied, n - copied);
	return ed;
}

/* The end of each change in the new text: the rest after it is as it was. */
static void finish_changes(struct edit *ed, size_t old_n)
{
	for (size_t i = 0; i < ed->nchanges; i++) {
		struct change *c = &ed->changes[i];
		size_t next_old = i + 1 < ed->nchanges ? c[1].old_from : old_n;
		size_t next_new = i + 1 < ed->nchanges ? c[1].new_from : ed->new.len;

		c->new_to = next_new - (next_old - c->old_to);
	}
}

/* What was changed in `old`, as far as it is wanted.  The new text stays only if it is to be written. */
static bool make_diff(struct transforming *x, struct edit *ed, const char *old, size_t old_n)
{
	/* A byte before each line, of which the shortest has one. */
	uint64_t most = 2 * ((uint64_t)old_n + ed->new.len) + HELD_STEP;
	bool fits = true;

	if (x->o->max_diff && most > 2 * x->o->max_diff + HELD_STEP)
		most = 2 * x->o->max_diff + HELD_STEP;
	if (x->o->diff || x->o->preview) {
		fits = hold_edit(x, ed, edit_bytes(ed) + most);
		if (fits)
			diff_unified_most(&ed->diff, x->o->max_diff ? x->o->max_diff + 1 : SIZE_MAX,
				ed->path, old, old_n, ed->new.s, ed->new.len, ed->changes,
				ed->nchanges);
	}
	free(ed->changes);
	ed->changes = NULL;
	ed->cap = ed->nchanges = 0;
	if (x->o->preview)
		str_release(&ed->raw);
	if (x->o->preview || ed->raw.len)
		str_release(&ed->new);
	return fits && hold_edit(x, ed, edit_bytes(ed) + strlen(ed->path));
}

static int compare_edits(const void *a, const void *b)
{
	return strcmp((*(struct edit *const *)a)->path, (*(struct edit *const *)b)->path);
}

/* Under the lock: diffs behind those that fill what is wanted, by path, are not shown whatever still comes. */
static void drop_diffs(struct transforming *x)
{
	size_t shown = 0, kept = 0;

	mem_sort(x->edits, x->n, sizeof *x->edits, compare_edits);
	x->diffs = 0;
	for (size_t i = 0; i < x->n; i++) {
		struct edit *ed = x->edits[i];
		uint64_t bytes = ed->diff.cap;

		if (shown <= x->o->max_diff) {
			shown += ed->diff.len;
			x->diffs += ed->diff.len;
			x->edits[kept++] = ed;
			continue;
		}
		if (x->o->preview) {
			x->held -= ed->held;
			edit_free(ed);
			continue;
		}
		str_release(&ed->diff);
		ed->held -= bytes;
		x->held -= bytes;
		x->edits[kept++] = ed;
	}
	x->n = kept;
}

static void keep_edit(struct transforming *x, struct edit *ed)
{
	pthread_mutex_lock(&x->lock);
	x->edits = mem_grow(x->edits, &x->cap, x->n + 1, sizeof *x->edits);
	x->edits[x->n++] = ed;
	x->diffs += ed->diff.len;
	if (x->o->max_diff && x->diffs / 4 > x->o->max_diff)
		drop_diffs(x);
	pthread_mutex_unlock(&x->lock);
}

static ssize_t read_whole(struct transforming *x, struct worker *w, int fd, size_t size)
{
	size_t cap = size + 1 > 65536 ? size + 1 : 65536;
	ssize_t got;

	if (w->cap < cap) {
		if (!hold_bytes(x, (int64_t)(cap - w->cap))) {
			errno = EFBIG;
			return -1;
		}
		w->cap = cap;
		w->buf = xrealloc(w->buf, w->cap);
	}
	got = file_fill(fd, w->buf, size + 1);
	/* It grew while we read: the next attempt of the caller will see all of it. */
	if (got > (ssize_t)size) {
		errno = EBUSY;
		return -1;
	}
	return got;
}

/* What is written: the mark again, and UTF-16 where the file has it.  NULL: that is more than may be held. */
static struct edit *put_mark(
	struct transforming *x, struct edit *ed, const char *mark, size_t n, bool wide)
{
	if (!hold_edit(x, ed,
		    edit_bytes(ed) + n + (wide ? 2 : 1) * (uint64_t)ed->new.len + HELD_STEP)) {
		edit_free(ed);
		return NULL;
	}
	str_add(&ed->raw, mark, n);
	if (wide)
		utf16_encode(*mark == '\xFE', ed->new.s, ed->new.len, &ed->raw);
	else
		str_add(&ed->raw, ed->new.s, ed->new.len);
	return ed;
}

/* Decode a text in UTF-16 to w->text.  1: it is none, for it would not come back as it was; -1: no memory for it. */
static int decode_text(struct transforming *x, struct worker *w, bool big)
{
	size_t most = 3 * w->n; /* as UTF-8, and encoded again */
	AUTO_STR struct str back = STR_INIT;

	if (most > w->held) {
		if (!hold_bytes(x, (int64_t)(most - w->held)))
			return -1;
		w->held = most;
	}
	str_clear(&w->decoded);
	utf16_decode(big, w->text, w->n, &w->decoded);
	utf16_encode(big, w->decoded.s, w->decoded.len, &back);
	if (back.len != w->n || memcmp(back.s, w->text, w->n) != 0)
		return 1;
	w->text = w->decoded.s;
	w->n = w->decoded.len;
	return 0;
}

/* The same of what a file holds, behind the mark that may begin it.  A text in UTF-16 is changed as UTF-8 and written as it
 * was; *left: it is none. */
static struct edit *replace_in_text(struct transforming *x, struct worker *w, size_t n, bool *left)
{
	bool wide, big;
	size_t mark = text_mark(w->buf, n, &wide, &big);
	struct edit *ed;
	int rc = 0;

	w->text = w->buf + mark;
	w->n = n - mark;
	if (wide)
		rc = decode_text(x, w, big);
	*left = rc > 0;
	ed = rc ? NULL : replace_matches(x, w, w->text, w->n);
	return ed && mark ? put_mark(x, ed, w->buf, mark, wide) : ed;
}

/* `d` NULL: the start itself. */
static void transform_fd(struct transforming *x, struct worker *w, int fd, const struct stat *st,
	const struct walk_dir *d, const struct walk_entry *entry, struct files_transform_result *t)
{
	uint64_t most = x->o->max_file_bytes ? x->o->max_file_bytes : FILE_MAX;
	struct str path = STR_INIT;
	enum files_text what;
	struct edit *ed;
	bool left = false;
	ssize_t n;

	t->files++;
	if ((uint64_t)st->st_size > most) {
		t->skipped_large++;
		return;
	}
	n = read_whole(x, w, fd, (size_t)st->st_size);
	if (n < 0) {
		t->errors++;
		t->error = errno;
		return;
	}
	what = files_judge(w->buf, (size_t)n);
	ed = what == FILES_BINARY ? NULL : replace_in_text(x, w, (size_t)n, &left);
	t->skipped_binary += what == FILES_BINARY || left;
	if (!ed)
		return;
	if (ed->new.len == w->n && memcmp(ed->new.s, w->text, w->n) == 0) {
		hold_edit(x, ed, 0);
		edit_free(ed);
		return;
	}
	finish_changes(ed, w->n);
	token_fill(&ed->token, st, x->read_ns);
	token_hash(&ed->token, w->buf, (size_t)n);
	if (d)
		walk_entry_path(&x->walk, d, entry, &path);
	else
		str_adds(&path, x->walk.start);
	ed->path = str_detach(&path);
	t->changed++;
	t->replacements += ed->replacements;
	if (!make_diff(x, ed, w->text, w->n))
		edit_free(ed);
	else
		keep_edit(x, ed);
}

static void add_transform_totals(struct transforming *x, const struct files_transform_result *t)
{
	pthread_mutex_lock(&x->lock);
	x->totals.files += t->files;
	x->totals.changed += t->changed;
	x->totals.replacements += t->replacements;
	x->totals.skipped_binary += t->skipped_binary;
	x->totals.skipped_large += t->skipped_large;
	x->totals.errors += t->errors;
	if (t->error)
		x->totals.error = t->error;
	pthread_mutex_unlock(&x->lock);
}

static void transform_entries(
	struct walk_worker *me, struct walk_dir *d, int dirfd, size_t from, size_t to)
{
	struct transforming *x = me->walk->ctx;
	const struct files_filter *f = me->walk->filter;
	struct files_transform_result t = {0};
	bool conditions = filter_wants_meta(f);

	if (conditions)
		walk_stat(me, d, dirfd, from, to);
	for (size_t i = from; i < to && !op_stopped(&x->op) && !atomic_load(&me->walk->stop); i++) {
		const struct walk_entry *entry = &d->entries[i];
		struct stat st;
		int fd;

		if (entry->type != FILES_FILE || !entry->wanted ||
			(conditions &&
				!(entry->meta &&
					filter_meta(f, FILES_FILE, entry->meta->size,
						entry->meta->mtime_ns))))
			continue;
		fd = search_open(dirfd, entry->name, &st);
		if (fd < 0) {
			if (errno != ENOENT) {
				t.errors++;
				t.error = errno;
			}
			continue;
		}
		transform_fd(x, me->data, fd, &st, d, entry, &t);
		me->bytes += (uint64_t)st.st_size;
		walk_show_late(me->walk);
		close(fd);
	}
	add_transform_totals(x, &t);
}

static const struct walk_ops transform_ops = {
	.worker_begin = begin_transform, .worker_end = end_transform, .entries = transform_entries};

static int write_edits(struct transforming *x, struct files *f, struct files_root *r, struct err *e)
{
	AUTO_FREE struct files_put *puts = xcalloc(x->n, sizeof *puts);
	struct files_write_options o = {.promise = x->o->promise};
	struct files_writing *w;
	int rc;

	for (size_t i = 0; i < x->n; i++) {
		const struct edit *ed = x->edits[i];
		const struct str *bytes = ed->raw.len ? &ed->raw : &ed->new;

		puts[i] = (struct files_put){
			.path = ed->path,
			.bytes = bytes->s,
			.len = bytes->len,
			.expect = &ed->token,
		};
	}
	op_within(&x->op);
	rc = files_write(f, r, puts, x->n, &o, &w, e);
	op_within(NULL);
	files_writing_free(w);
	return rc;
}

static int refuse_held(const struct transforming *x, struct err *e)
{
	return err_set(e, ERR_REFUSED,
		"what would be changed holds more than %llu MiB: transform fewer files at once",
		(unsigned long long)(x->most >> 20));
}

/* The start is a file: that one alone.  1: it is none. */
static int transform_one(struct transforming *x, struct files_root *r, struct err *e)
{
	struct files_transform_result t = {0};
	struct worker w;
	struct stat st;
	AUTO_CLOSE int fd = *x->walk.start ? path_open(r, x->walk.start, PATH_READ) : -1;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	init_worker(&w, x);
	transform_fd(x, &w, fd, &st, NULL, NULL, &t);
	release_worker(&w, x);
	add_transform_totals(x, &t);
	return op_stopped(&x->op) ? op_cancelled(e) : 0;
}

static int run_transform(struct transforming *x, struct files *f, struct files_root *r,
	struct files_transform_result *res, struct err *e)
{
	int rc = transform_one(x, r, e);

	x->walked = rc > 0;
	if (x->walked)
		rc = walk_run(&x->walk, e);
	x->totals.errors += x->walk.totals.errors;
	x->totals.ignored = x->walk.totals.ignored;
	if (rc == 0 && x->too_much)
		rc = refuse_held(x, e);
	if (rc < 0)
		return rc;
	mem_sort(x->edits, x->n, sizeof *x->edits, compare_edits);
	for (size_t i = 0; i < x->n && !(x->o->max_diff && res->diff.len > x->o->max_diff); i++) {
		struct edit *ed = x->edits[i];

		if (op_stopped(&x->op))
			return op_cancelled(e);
		if (!hold_bytes(x, (int64_t)ed->diff.len))
			return refuse_held(x, e);
		str_add(&res->diff, ed->diff.s, ed->diff.len);
		hold_bytes(x, -(int64_t)ed->diff.cap);
		str_release(&ed->diff);
	}
	return x->o->preview || x->n == 0 ? 0 : write_edits(x, f, r, e);
}

int files_transform(struct files *f, struct files_root *r, const char *start,
	const struct files_transform_options *o, struct files_transform_result *res, struct err *e)
{
	struct transforming x = {
		.o = o, .read_ns = token_now(), .most = o->max_held ? o->max_held : HELD_MAX};
	struct str diff = STR_INIT;
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], places[FORMAT_COUNTED_MAX];
	int rc;

	*res = (struct files_transform_result){.diff = diff};
	if (*start && path_check(start, e) < 0)
		return -1;
	x.matcher = matcher_new(&o->pattern, e);
	if (!x.matcher)
		return -1;
	if (matcher_check_replacement(x.matcher, o->replacement, o->replacement_len, e) < 0) {
		matcher_free(x.matcher);
		return -1;
	}
	pthread_mutex_init(&x.lock, NULL);
	op_begin(&x.op, f, "entries", "%s %s", o->preview ? "preview" : "transform",
		*start ? start : r->name);
	x.walk = (struct walk){
		.op = &x.op,
		.root = r,
		.start = start,
		.filter = &o->filter,
		.ops = &transform_ops,
		.ctx = &x,
		.ahead = AHEAD_BYTES,
	};
	rc = run_transform(&x, f, r, res, &why);
	x.totals.diff = res->diff;
	*res = x.totals;
	if (x.walked)
		walk_release(&x.walk);
	for (size_t i = 0; i < x.n; i++)
		edit_free(x.edits[i]);
	free(x.edits);
	matcher_free(x.matcher);
	pthread_mutex_destroy(&x.lock);
	if (rc < 0)
		err_copy(e, &why);
	return op_end(&x.op, rc, &why, "%s in %s.",
		format_counted(places, res->replacements, "replacement", "replacements"),
		format_counted(files, res->changed, "file", "files"));
}
