/* scan.c - lists a tree: names, and sizes and times if asked for. */
#include "files/walk/cursor.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <berth/format.h>
#include <berth/mem.h>
#include <berth/sum.h>

#define DEFAULT_MAX 50000000

struct files_scan {
	struct walk walk;
	struct op op;
	struct files_scan_options o;
	char *start;
	struct files_scan_totals totals;
	struct cursor cursor;
	_Atomic uint64_t found;
	uint64_t left; /* of max_entries, to be handed out */
	struct err *errors;
	size_t nerrors, errors_cap;
};

static void count_entry(struct files_scan_totals *t, const struct walk_entry *entry)
{
	switch (entry->type) {
	case FILES_FILE:
		t->files++;
		if (entry->meta)
			sum_add(&t->bytes, entry->meta->size);
		break;
	case FILES_DIR: t->dirs++; break;
	case FILES_LINK: t->links++; break;
	default: t->others++;
	}
}

static void scan_entries(struct walk_worker *me, struct walk_dir *d, int fd, size_t from, size_t to)
{
	struct files_scan *s = me->walk->ctx;
	const struct files_filter *f = &s->o.filter;
	bool conditions = filter_wants_meta(f);
	uint64_t found = 0;

	if (s->o.meta || conditions)
		walk_stat(me, d, fd, from, to);
	for (size_t i = from; i < to; i++) {
		struct walk_entry *entry = &d->entries[i];

		if (conditions && entry->wanted)
			entry->wanted = entry->meta &&
				filter_meta(
					f, entry->type, entry->meta->size, entry->meta->mtime_ns);
		if (entry->wanted) {
			count_entry(&me->totals, entry);
			found++;
		}
	}
	/* One more is known to be there before the list is called cut. */
	if (s->o.max_entries && atomic_fetch_add(&s->found, found) + found > s->o.max_entries)
		atomic_store(&me->walk->stop, true);
}

/* A directory is looked at when it is open: nobody can put another in its place then. */
static bool enter_own_device(struct walk_worker *me, struct walk_dir *d, int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_dev == me->walk->root->dev)
		return true;
	d->n = 0;
	return false;
}

static const struct walk_ops scan_ops = {.entries = scan_entries};
static const struct walk_ops device_ops = {.entries = scan_entries, .enter = enter_own_device};

int files_scan(struct files *f, struct files_root *r, const char *start,
	const struct files_scan_options *o, struct files_scan **ret, struct err *e)
{
	struct files_scan *s = xcalloc(1, sizeof *s);
	struct err why = ERR_INIT;
	char files[FORMAT_COUNTED_MAX], dirs[FORMAT_COUNTED_MAX];
	int rc;

	*ret = NULL;
	if (*start && path_check(start, e) < 0) {
		free(s);
		return -1;
	}
	s->o = *o;
	s->start = xstrdup(start);
	op_begin_small(&s->op, f);
	s->walk = (struct walk){
		.op = &s->op,
		.root = r,
		.start = s->start,
		.verb = "scan",
		.filter = &s->o.filter,
		.ops = o->one_device ? &device_ops : &scan_ops,
		.ctx = s,
		.sorted = o->sorted,
		.ahead = o->meta || filter_wants_meta(&o->filter) ? AHEAD_ENTRIES : AHEAD_NOT,
		.max_entries = DEFAULT_MAX,
		/* Only listing is done by then: nothing worth sharing. */
		.whole_dirs = !o->meta && !filter_wants_meta(&o->filter),
	};
	rc = walk_run(&s->walk, &why);
	s->totals = s->walk.totals;
	s->totals.clipped = atomic_load(&s->walk.stop);
	op_end(&s->op, rc, &why, "Found %s in %s.",
		format_counted(files, s->totals.files, "file", "files"),
		format_counted(dirs, s->totals.dirs, "directory", "directories"));
	s->walk.op = NULL;
	if (rc < 0) {
		files_scan_free(s);
		return err_copy(e, &why);
	}
	cursor_init(&s->cursor, &s->walk);
	s->left = o->max_entries ? o->max_entries : UINT64_MAX;
	*ret = s;
	return 0;
}

const struct files_scan_totals *files_scan_totals(const struct files_scan *s)
{
	return &s->totals;
}

static void fill_entry(struct files_scan *s, const struct walk_dir *d,
	const struct walk_entry *entry, struct files_entry *out)
{
	*out = (struct files_entry){
		.path = s->cursor.path.s,
		.name = s->cursor.path.s + s->cursor.path.len - entry->name_len,
		.path_len = s->cursor.path.len,
		.type = entry->type,
		.depth = d->depth + 1,
		.inode = entry->inode,
	};
	if (!entry->meta)
		return;
	out->meta = true;
	out->size = entry->meta->size;
	out->blocks = entry->meta->blocks;
	out->mtime_ns = entry->meta->mtime_ns;
	out->mode = entry->meta->mode;
	out->uid = entry->meta->uid;
	out->gid = entry->meta->gid;
	out->nlink = entry->meta->nlink;
}

static void note_error(struct files_scan *s, const struct walk_dir *d)
{
	s->errors = mem_grow(s->errors, &s->errors_cap, s->nerrors + 1, sizeof *s->errors);
	s->errors[s->nerrors] = (struct err)ERR_INIT;
	path_error(&s->errors[s->nerrors++], d->error, "read the directory", s->cursor.path.s);
}

/* What was not looked at, for the walk had ended by then or the directory is gone, may be what does not fit. */
static bool is_found(const struct files_scan *s, const struct walk_entry *entry)
{
	return entry->wanted &&
		(entry->meta ||
			!(filter_wants_meta(&s->o.filter) || (s->o.meta && s->totals.clipped)));
}

bool files_scan_next(struct files_scan *s, struct files_entry *out)
{
	struct walk_dir *d;
	size_t i;

	while (s->left && cursor_next(&s->cursor, &d, &i)) {
		struct walk_entry *entry = &d->entries[i];

		if (entry->dir && entry->dir->error)
			note_error(s, entry->dir);
		if (is_found(s, entry)) {
			fill_entry(s, d, entry, out);
			s->left--;
			return true;
		}
	}
	return false;
}

const struct err *files_scan_error(const struct files_scan *s, size_t i)
{
	return i < s->nerrors ? &s->errors[i] : NULL;
}

void files_scan_free(struct files_scan *s)
{
	if (!s)
		return;
	walk_release(&s->walk);
	free(s->start);
	free(s->errors);
	cursor_release(&s->cursor);
	free(s);
}
