/* workspace_diff.c - `berth workspace diff`: compares two workspaces, checkpoints or archives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/diff.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

#include "cli/workspace.h"

#define SHOWN_MAX (8ull << 20) /* bytes of a file whose lines are compared */
#define BINARY_LOOKED 8192

struct diffing {
	const struct cli *c;
	struct workspace_side a, b;
	struct checkpoint_changes changes;
	bool terminal;
	bool masked; /* something was */
	uint64_t count[CHECKPOINT_MODE + 1], plus, minus;
};

/* Both texts of a change, and the lines that differ. */
struct shown {
	struct str old, new;
	struct change *lines;
	size_t n;
	uint64_t plus, minus;
	const char *why;                         /* there are no lines to show: "binary" */
	struct str path, old_target, new_target; /* as they are shown */
};

static const char *name_of_type(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG: return "file";
	case S_IFDIR: return "directory";
	case S_IFLNK: return "link";
	case S_IFIFO: return "fifo";
	case S_IFSOCK: return "socket";
	default: return "device";
	}
}

/* ---- one change */

static bool is_binary(const struct str *s)
{
	return memchr(s->s, '\0', s->len < BINARY_LOOKED ? s->len : BINARY_LOOKED) != NULL;
}

static int read_side(struct checkpoint_tree *t, struct checkpoint_entry *x, struct shown *s,
	struct str *ret, struct err *e)
{
	struct err why = ERR_INIT;

	if (!S_ISREG(x->mode))
		return 0;
	if (x->size > SHOWN_MAX) {
		s->why = "large";
		return 0;
	}
	if (checkpoint_content(t, x, SHOWN_MAX, ret, &why)) {
		if (why.kind != ERR_CONFLICT && why.kind != ERR_REFUSED)
			return err_copy(e, &why);
		s->why = why.kind == ERR_REFUSED ? "large" : "gone"; /* since its tree was read */
		return 0;
	}
	checkpoint_entry_again(t, x);
	if (is_binary(ret))
		s->why = "binary";
	return 0;
}

static uint64_t count_text_lines(const char *s, size_t from, size_t to)
{
	uint64_t n = 0;

	for (size_t i = from; i < to; i++)
		n += s[i] == '\n' || i + 1 == to;
	return n;
}

static int show_change(
	struct diffing *d, struct checkpoint_change *c, struct shown *s, struct err *e)
{
	if (c->what == CHECKPOINT_MODE)
		return 0;
	if (read_side(d->a.tree, &c->old, s, &s->old, e) ||
		read_side(d->b.tree, &c->new, s, &s->new, e))
		return -1;
	if (s->why)
		return 0;
	s->n = diff_lines(s->old.s, s->old.len, s->new.s, s->new.len, &s->lines);
	for (size_t i = 0; i < s->n; i++) {
		s->minus += count_text_lines(s->old.s, s->lines[i].old_from, s->lines[i].old_to);
		s->plus += count_text_lines(s->new.s, s->lines[i].new_from, s->lines[i].new_to);
	}
	return 0;
}

static void release_shown(struct shown *s)
{
	str_release(&s->old);
	str_release(&s->new);
	str_release(&s->path);
	str_release(&s->old_target);
	str_release(&s->new_target);
	free(s->lines);
}

/* ---- for a person */

static void print_side(const struct checkpoint_entry *x, const struct str *target)
{
	char bytes[FORMAT_MAX];

	if (S_ISREG(x->mode))
		printf("%s", format_bytes(bytes, x->size));
	else if (S_ISLNK(x->mode)) {
		AUTO_STR struct str quoted = STR_INIT;

		text_quote_name(&quoted, target->s, target->len);
		printf("-> %s", quoted.s);
	} else
		printf("%s", name_of_type(x->mode));
}

/* "changed  src/a.c  1.2K, 1.3K  +3 -1", with a neutral name wherever it goes: a name must not look like more
 * than one line. */
static void print_change(const struct checkpoint_change *c, const struct shown *s, const char *path)
{
	printf("%-8s %s  ", workspace_side_word(c->what), path);
	if (c->what == CHECKPOINT_MODE)
		printf("%04o %u:%u, %04o %u:%u", (unsigned)c->old.mode & 07777, c->old.uid,
			c->old.gid, (unsigned)c->new.mode & 07777, c->new.uid, c->new.gid);
	else {
		if (c->old.mode)
			print_side(&c->old, &s->old_target);
		if (c->old.mode && c->new.mode)
			printf(", ");
		if (c->new.mode)
			print_side(&c->new, &s->new_target);
	}
	if (s->why)
		printf("  %s", s->why);
	else if (s->plus || s->minus)
		printf("  +%" PRIu64 " -%" PRIu64, s->plus, s->minus);
	putchar('\n');
}

/* 0: git knows nothing like it. */
static unsigned git_mode(const struct checkpoint_entry *x)
{
	if (S_ISLNK(x->mode))
		return DIFF_SYMLINK;
	if (!S_ISREG(x->mode))
		return 0;
	return x->mode & 0100 ? DIFF_EXECUTABLE : DIFF_PLAIN;
}

static struct diff_side git_side(
	const struct checkpoint_entry *x, const struct str *content, const struct str *target)
{
	unsigned mode = git_mode(x);
	const struct str *text = mode == DIFF_SYMLINK ? target : content;

	return (struct diff_side){.mode = mode, .text = text->s, .n = text->len};
}

/* All of one side, which goes or comes. */
static void put_git_whole(struct str *out, const char *path, const struct shown *s,
	const struct diff_side *old, const struct diff_side *new)
{
	const struct change all = {0, old->n, 0, new->n};

	if (s->why && (old->mode | new->mode) != DIFF_SYMLINK)
		diff_git_binary(out, path, old->mode, new->mode);
	else
		diff_git(out, path, old, new, &all, old->n || new->n);
}

/* As git prints it; nothing where git has no form for it.  A file of another type, or a link that leads elsewhere, goes
 * and comes again. */
static void put_git(struct str *out, const struct checkpoint_change *c, const struct shown *s)
{
	static const struct diff_side nothing;
	const struct diff_side old = git_side(&c->old, &s->old, &s->old_target),
			       new = git_side(&c->new, &s->new, &s->new_target);

	if (c->what == CHECKPOINT_MODE && old.mode == new.mode)
		return;
	if (!old.mode || !new.mode) {
		if (old.mode || new.mode)
			put_git_whole(out, s->path.s, s, &old, &new);
	} else if (old.mode == DIFF_SYMLINK || new.mode == DIFF_SYMLINK) {
		put_git_whole(out, s->path.s, s, &old, &nothing);
		put_git_whole(out, s->path.s, s, &nothing, &new);
	} else if (s->why) {
		diff_git_binary(out, s->path.s, old.mode, new.mode);
	} else if (s->n || old.mode != new.mode) {
		diff_git(out, s->path.s, &old, &new, s->lines, s->n);
	}
}

static void add_shown(struct diffing *d, struct str *to, const char *text)
{
	if (cli_flag(d->c, "secrets"))
		str_adds(to, text);
	else
		d->masked |= workspace_add_masked(to, text, strlen(text));
}

/* What an agent chose: names and targets of links may be secrets, too. */
static void show_names(struct diffing *d, const struct checkpoint_change *c, struct shown *s)
{
	add_shown(d, &s->path, c->path);
	add_shown(d, &s->old_target, S_ISLNK(c->old.mode) ? c->old.target : "");
	add_shown(d, &s->new_target, S_ISLNK(c->new.mode) ? c->new.target : "");
}

/* Of the same length, so that what differs is where it is. */
static void mask_change(struct diffing *d, const struct checkpoint_change *c, struct shown *s)
{
	if (cli_flag(d->c, "secrets"))
		return;
	d->masked |= workspace_mask_secrets(c->path, s->old.s, s->old.len) > 0;
	d->masked |= workspace_mask_secrets(c->path, s->new.s, s->new.len) > 0;
}

static void print_change_text(struct diffing *d, const struct checkpoint_change *c, struct shown *s)
{
	AUTO_STR struct str path = STR_INIT, text = STR_INIT;

	if (!cli_flag(d->c, "stat") && s->n)
		mask_change(d, c, s);
	if (!cli_flag(d->c, "stat"))
		put_git(&text, c, s);
	/* In a patch a line like this one is a comment. */
	if (!text.len || c->what == CHECKPOINT_MODE) {
		text_quote_name(&path, s->path.s, s->path.len);
		print_change(c, s, path.s);
	}
	workspace_cli_lines(&text, d->terminal);
}

static void print_diff_sum(const struct diffing *d)
{
	printf("%" PRIu64 " added, %" PRIu64 " removed, %" PRIu64 " changed, %" PRIu64
	       " of another type, %" PRIu64 " of another mode or owner; +%" PRIu64 " -%" PRIu64
	       " lines\n",
		d->count[CHECKPOINT_ADDED], d->count[CHECKPOINT_REMOVED],
		d->count[CHECKPOINT_CONTENT], d->count[CHECKPOINT_TYPE], d->count[CHECKPOINT_MODE],
		d->plus, d->minus);
}

/* ---- JSON */

static void json_side(struct jsonw *j, const char *key, const struct checkpoint_entry *x,
	const struct str *target)
{
	if (!x->mode) {
		jsonw_null(j, key);
		return;
	}
	jsonw_object(j, key);
	jsonw_text(j, "type", name_of_type(x->mode));
	jsonw_uint(j, "mode", x->mode & 07777);
	jsonw_uint(j, "uid", x->uid);
	jsonw_uint(j, "gid", x->gid);
	jsonw_uint(j, "bytes", x->size);
	jsonw_text(j, "target", S_ISLNK(x->mode) ? target->s : x->target);
	jsonw_end(j);
}

static void json_change(struct jsonw *j, const struct checkpoint_change *c, const struct shown *s)
{
	bool lines = !s->why && (S_ISREG(c->old.mode) || S_ISREG(c->new.mode)) &&
		c->what != CHECKPOINT_MODE;

	jsonw_object(j, NULL);
	jsonw_text(j, "path", s->path.s);
	jsonw_text(j, "what", workspace_side_word(c->what));
	json_side(j, "old", &c->old, &s->old_target);
	json_side(j, "new", &c->new, &s->new_target);
	if (lines) {
		jsonw_uint(j, "lines_added", s->plus);
		jsonw_uint(j, "lines_removed", s->minus);
	} else {
		jsonw_null(j, "lines_added");
		jsonw_null(j, "lines_removed");
	}
	jsonw_end(j);
}

/* ---- all of it */

/* Whether it is one of the operands behind the two sides, or below one. */
static bool is_asked(const struct cli *c, const char *path)
{
	for (int i = 2; i < c->argc; i++) {
		size_t n = strlen(c->argv[i]);

		while (n > 1 && c->argv[i][n - 1] == '/')
			n--;
		if (!strncmp(path, c->argv[i], n) && (path[n] == '/' || !path[n]))
			return true;
	}
	return c->argc <= 2;
}

/* The contents that are in an archive are read from it at once, for there is one way through it. */
static int fetch_contents(struct diffing *d, bool old, struct err *e)
{
	AUTO_FREE const struct checkpoint_entry **file = xcalloc(d->changes.n + 1, sizeof *file);
	size_t n = 0;

	for (size_t i = 0; i < d->changes.n; i++) {
		const struct checkpoint_change *c = &d->changes.all[i];
		const struct checkpoint_entry *x = old ? &c->old : &c->new;

		if (c->what != CHECKPOINT_MODE && S_ISREG(x->mode) && x->size <= SHOWN_MAX &&
			is_asked(d->c, c->path))
			file[n++] = x;
	}
	return workspace_side_fetch(old ? &d->a : &d->b, file, n, e);
}

static int tell_changes(struct diffing *d, struct jsonw *j, struct err *e)
{
	for (size_t i = 0; i < d->changes.n; i++) {
		struct checkpoint_change *c = &d->changes.all[i];
		struct shown s = {.old = STR_INIT,
			.new = STR_INIT,
			.path = STR_INIT,
			.old_target = STR_INIT,
			.new_target = STR_INIT};
		int rc;

		if (!is_asked(d->c, c->path))
			continue;
		rc = show_change(d, c, &s, e);
		if (rc == 0) {
			d->count[c->what]++;
			d->plus += s.plus;
			d->minus += s.minus;
			show_names(d, c, &s);
			if (j)
				json_change(j, c, &s);
			else
				print_change_text(d, c, &s);
		}
		release_shown(&s);
		if (rc)
			return -1;
	}
	return 0;
}

static int tell_diff(struct diffing *d, struct err *e)
{
	struct checkpoint_info a, b;
	struct jsonw j;

	if (!cli_flag(d->c, "json")) {
		if (tell_changes(d, NULL, e))
			return -1;
		fflush(stdout);
		if (d->masked)
			fprintf(stderr,
				"berth: likely secrets are masked: a patch that is to be applied needs --secrets.\n");
		if (cli_flag(d->c, "stat"))
			print_diff_sum(d);
		return 0;
	}
	jsonw_document(&j, "berth.workspace_diff/1");
	jsonw_text(&j, "from", d->a.name);
	jsonw_text(&j, "to", d->b.name);
	checkpoint_tree_info(d->a.tree, &a);
	checkpoint_tree_info(d->b.tree, &b);
	jsonw_uint(&j, "unread", a.unread + b.unread);
	jsonw_array(&j, "changes");
	if (tell_changes(d, &j, e)) {
		jsonw_release(&j);
		return -1;
	}
	jsonw_end(&j);
	for (int i = 0; i <= CHECKPOINT_MODE; i++)
		jsonw_uint(&j, workspace_side_word((enum checkpoint_difference)i), d->count[i]);
	jsonw_uint(&j, "lines_added", d->plus);
	jsonw_uint(&j, "lines_removed", d->minus);
	return jsonw_print(&j);
}

int cli_workspace_diff(struct workspace_cli *x, struct err *e)
{
	struct diffing d = {.c = x->c, .terminal = isatty(STDOUT_FILENO)};
	int rc = workspace_side_open_any(x, x->c->argv[0], &d.a, e);

	if (rc == 0) {
		rc = workspace_side_open_any(x, x->c->argv[1], &d.b, e);
		if (rc == 0) {
			checkpoint_compare(d.a.tree, d.b.tree, &d.changes);
			rc = fetch_contents(&d, true, e) || fetch_contents(&d, false, e)
				? -1
				: tell_diff(&d, e);
		}
		workspace_side_close(&d.b);
	}
	checkpoint_changes_release(&d.changes);
	workspace_side_close(&d.a);
	return rc;
}
