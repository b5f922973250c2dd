/* tools_change.c - implements the file tools that change: write, edit, transform, move, copy, delete. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/diff.h>
#include <berth/mem.h>

#include "mcp/edit.h"
#include "mcp/tools_files.h"

#define KEPT_MOST 16 /* names of reach_kept, at most */
#define EDIT_MOST ((uint64_t)16 << 20)
#define DIFF_SHOWN 65536
#define EDIT_TRIES 64

/* What becomes a file, or what `from` is: a name that ends with a slash is that of a directory. */
static int check_target(const struct place_in *from, const char *to, struct err *e)
{
	size_t n = strlen(to);
	struct files_entry it;

	if (!n || to[n - 1] != '/' ||
		(from && !files_look(from->root, from->rel, &it, NULL) && it.type == FILES_DIR))
		return 0;
	return err_set(e, ERR_USAGE,
		"%.200s ends with a slash, as the name of a directory does: leave out the slash to create a file of that name.",
		to);
}

/* -- write ----------------------------------------------------------------------------------------- */

int tool_write(struct call *c, struct err *e)
{
	const struct json *content = json_member(c->args, "content");
	const struct files_write_options o = {.promise = FILES_VISIBLE, .parents = true};
	struct files_put put = {.bytes = content->text, .len = content->len};
	struct files_writing *w = NULL;
	struct place_in p;
	int rc;

	if (check_target(NULL, call_text(c, "path"), e) ||
		call_place(c, "path", REACH_WRITE, &p, e))
		return -1;
	put.path = p.rel;
	rc = files_write(call_files(c), p.root, &put, 1, &o, &w, e);
	files_writing_free(w);
	if (rc)
		return -1;
	reads_note(c->server->read, p.path);
	str_adds(&c->text, "Successfully wrote to ");
	put_quoted_name(&c->text, p.path);
	return 0;
}

static int parse_promise(struct call *c, enum files_promise *ret)
{
	const char *word = call_text(c, "promise");

	*ret = !word || !strcmp(word, "all") ? FILES_ALL_OR_NOTHING
		: !strcmp(word, "durable")   ? FILES_DURABLE
					     : FILES_VISIBLE;
	return 0;
}

/* One batch has one root: what lies in several areas would not be all or nothing. */
static int place_puts(struct call *c, struct files_put *puts, const char **paths,
	struct files_root **root, struct err *e)
{
	size_t i = 0;

	for (const struct json *item = call_array(c, "files"); item; item = item->next, i++) {
		const struct json *content = json_member(item, "content");
		struct place_in p;

		if (check_target(NULL, json_string(item, "path"), e) ||
			reach_find(call_reach(c), json_string(item, "path"), REACH_WRITE, &p, e) ||
			place_has_room(c, &p, e))
			return -1;
		if (i && p.root != *root)
			return err_set(e, ERR_USAGE,
				"%.120s and %.120s are in different directories of this agent; a batch must stay within one.",
				paths[0], p.path);
		*root = p.root;
		paths[i] = arena_strdup(&c->mem, p.path);
		puts[i] = (struct files_put){.path = arena_strdup(&c->mem, p.rel),
			.bytes = content->text,
			.len = content->len,
			.create_only = json_is(json_member(item, "create_only"), JSON_TRUE)};
	}
	return 0;
}

static int write_files_at_once(
	struct call *c, struct files_put *puts, const char **paths, size_t n, struct err *e)
{
	struct files_write_options o = {.parents = true};
	struct files_writing *w = NULL;
	struct files_root *root = NULL;
	int rc;

	parse_promise(c, &o.promise);
	if (place_puts(c, puts, paths, &root, e))
		return -1;
	rc = files_write(call_files(c), root, puts, n, &o, &w, e);
	if (!rc) {
		for (size_t i = 0; i < n; i++)
			reads_note(c->server->read, paths[i]);
		jsonw_uint(&c->out, "written", n);
		jsonw_uint(&c->out, "bytes", w->bytes);
	}
	files_writing_free(w);
	return rc;
}

int tool_write_many(struct call *c, struct err *e)
{
	size_t n = json_member(c->args, "files")->n;
	const char **paths = xcalloc(n, sizeof *paths);
	struct files_put *puts = xcalloc(n, sizeof *puts);
	int rc = write_files_at_once(c, puts, paths, n, e);

	free(paths);
	free(puts);
	return rc;
}

int tool_make_directory(struct call *c, struct err *e)
{
	struct place_in p;

	if (call_place(c, "path", REACH_WRITE, &p, e) || files_make_directory(p.root, p.rel, e))
		return -1;
	str_adds(&c->text, "Successfully created directory ");
	put_quoted_name(&c->text, p.path);
	return 0;
}

/* -- edit ------------------------------------------------------------------------------------------ */

static bool is_edit_stopped(void *ctx)
{
	return call_cancelled(ctx);
}

static int apply_edit(
	struct call *c, struct str *text, const struct json *edit, size_t number, struct err *e)
{
	const struct json *old = json_member(edit, "oldText"), *new = json_member(edit, "newText");
	const struct edit_request q = {.text = text->s,
		.text_n = text->len,
		.old = old->text,
		.old_n = old->len,
		.new = new->text,
		.new_n = new->len,
		.stopped = is_edit_stopped,
		.ctx = c};
	struct str out = STR_INIT;

	if (!old->len)
		return err_set(e, ERR_USAGE, "edits[%zu]: \"oldText\" is empty.", number);
	if (call_cancelled(c))
		return err_set(e, ERR_CANCELLED, "cancelled");
	if (edit_apply(&q, &out, e)) {
		str_release(&out);
		return e->kind == ERR_CANCELLED ? -1 : err_wrap(e, "edits[%zu]", number);
	}
	str_release(text);
	*text = out;
	return 0;
}

/* `*ret_again`: the file is no longer what was read, and was left alone. */
static int edit_text(struct call *c, const struct place_in *p, const struct files_got *g,
	struct str *text, bool *ret_again, struct err *e)
{
	const struct files_write_options o = {.promise = FILES_VISIBLE};
	struct files_put put = {.path = p->rel, .expect = &g->token};
	struct files_writing *w = NULL;
	struct change *changes;
	size_t i = 0, n;
	int rc;

	for (const struct json *edit = call_array(c, "edits"); edit; edit = edit->next)
		if (apply_edit(c, text, edit, i++, e))
			return -1;
	n = diff_lines(g->bytes, g->len, text->s, text->len, &changes);
	str_adds(&c->text, "```diff\n");
	diff_unified(&c->text, p->rel, g->bytes, g->len, text->s, text->len, changes, n);
	str_adds(&c->text, "```\n");
	free(changes);
	if (call_flag(c, "dryRun"))
		return 0;
	put.bytes = text->s;
	put.len = text->len;
	rc = files_write(call_files(c), p->root, &put, 1, &o, &w, e);
	files_writing_free(w);
	*ret_again = rc && e->kind == ERR_CONFLICT;
	return rc;
}

/* The memory of the lines is claimed by the first try. */
static int edit_place(
	struct call *c, const struct place_in *p, int nth, bool *ret_again, struct err *e)
{
	AUTO_STR struct str text = STR_INIT;
	struct files_reading *got = NULL;
	int rc = read_whole_place(c, p, EDIT_MOST, &got, e);

	str_clear(&c->text);
	*ret_again = false;
	if (!rc)
		rc = check_is_text(&got->items[0], p->path, e);
	if (!rc && nth == 0)
		rc = lines_fit(c, &got->items[0], e);
	if (!rc) {
		str_add(&text, got->items[0].bytes, got->items[0].len);
		rc = edit_text(c, p, &got->items[0], &text, ret_again, e);
	}
	files_reading_free(got);
	return rc;
}

/* An edit means the file as it is: where another was faster, as with several edits of one file at once, it is made of what
 * that one left.  Each try that fails is another's success. */
int tool_edit(struct call *c, struct err *e)
{
	struct err why = ERR_INIT;
	bool again = true;
	struct place_in p;
	int rc = 0;

	if (call_place(c, "path", REACH_WRITE, &p, e))
		return -1;
	for (int i = 0; again && i < EDIT_TRIES; i++)
		rc = edit_place(c, &p, i, &again, &why);
	return rc ? err_copy(e, &why) : 0;
}

/* What below `p` may not be changed is left out, as lines of .gitignore; behind those that the call gives. */
static void exclude_fixed(struct call *c, const struct place_in *p, struct files_filter *f)
{
	const struct reach *r = call_reach(c);
	size_t len = strlen(p->path), given;
	const char *const *asked = call_texts(c, "exclude", &given);
	const char **lines = arena_array(&c->mem, given + r->n + KEPT_MOST, sizeof *lines);

	for (f->nexcludes = 0; f->nexcludes < given; f->nexcludes++)
		lines[f->nexcludes] = asked[f->nexcludes];
	for (size_t i = 0; i < r->n; i++) {
		const char *path = r->areas[i].path;
		AUTO_STR struct str line = STR_INIT;

		if (r->areas[i].write || strncmp(path, p->path, len) != 0 || path[len] != '/')
			continue;
		for (path += len; *path; path++) {
			if (*path != '/')
				str_addc(&line, '\\');
			str_addc(&line, *path);
		}
		lines[f->nexcludes++] = arena_strdup(&c->mem, line.s);
	}
	for (size_t i = 0; !p->area->own && i < KEPT_MOST && reach_kept[i]; i++)
		lines[f->nexcludes++] = reach_kept[i];
	f->excludes = lines;
}

int tool_transform(struct call *c, struct err *e)
{
	const struct json *pattern = json_member(c->args, "pattern"),
			  *replacement = json_member(c->args, "replacement");
	const struct json *dry = json_member(c->args, "dry_run");
	struct files_transform_options o = {.pattern = {.text = pattern->text,
						    .len = pattern->len,
						    .regex = call_flag(c, "regex"),
						    .ignore_case = call_flag(c, "ignore_case"),
						    .word = call_flag(c, "word")},
		.replacement = replacement->text,
		.replacement_len = replacement->len,
		.filter = {.ignore_files = true, .skip_hidden = true},
		.preview = !json_is(dry, JSON_FALSE),
		.diff = true,
		.max_diff = DIFF_SHOWN,
		.max_held = budget_transform(c->server),
		.promise = FILES_ALL_OR_NOTHING};
	struct files_transform_result r = {.diff = STR_INIT};
	struct place_in p;
	int rc;

	o.filter.globs = call_texts(c, "glob", &o.filter.nglobs);
	if (call_place(c, "path", REACH_WRITE, &p, e))
		return -1;
	exclude_fixed(c, &p, &o.filter);
	rc = files_transform(call_files(c), p.root, place_start(&p), &o, &r, e);
	if (!rc) {
		jsonw_bool(&c->out, "applied", !o.preview);
		jsonw_uint(&c->out, "files", r.files);
		jsonw_uint(&c->out, "changed", r.changed);
		jsonw_uint(&c->out, "replacements", r.replacements);
		jsonw_textn(&c->out, "diff", r.diff.s,
			r.diff.len > DIFF_SHOWN ? DIFF_SHOWN : r.diff.len);
		jsonw_bool(&c->out, "truncated", r.diff.len > DIFF_SHOWN);
		put_left_out(c, r.skipped_binary, r.skipped_large, r.errors, r.gave_up, r.ignored);
	}
	str_release(&r.diff);
	return rc;
}

/* -- move, copy, delete ---------------------------------------------------------------------------- */

static bool lies_in_tree(const struct place_in *p, const struct place_in *tree)
{
	size_t n = strlen(tree->path);

	return !strncmp(p->path, tree->path, n) && (!p->path[n] || p->path[n] == '/');
}

/* A tree goes, or comes into `area`, with all that is in it. */
static int check_keeps_nothing(
	struct call *c, const struct place_in *p, const struct reach_area *area, struct err *e)
{
	const struct files_scan_options o = {0};
	size_t above = strlen(place_start(p));
	const char *kept = NULL;
	struct files_entry it;
	struct files_scan *s;

	if (area->own)
		return 0;
	if (files_look(p->root, p->rel, &it, e))
		return -1;
	if (it.type != FILES_DIR)
		return 0;
	if (files_scan(call_files(c), p->root, place_start(p), &o, &s, e))
		return -1;
	while (!kept && files_scan_next(s, &it))
		kept = it.path_len > above ? reach_keeps(area, it.path + above) : NULL;
	files_scan_free(s);
	return kept
		? err_set(e, ERR_REFUSED,
			  "%.200s was not changed: %s in it cannot be changed outside of the workspace.",
			  p->path, kept)
		: 0;
}

int tool_move(struct call *c, struct err *e)
{
	struct files_tree_totals t;
	struct place_in from, to;
	int rc;

	if (call_place(c, "source", REACH_TREE, &from, e) ||
		call_place(c, "destination", REACH_TREE, &to, e) ||
		check_target(&from, call_text(c, "destination"), e))
		return -1;
	if (lies_in_tree(&to, &from))
		return err_set(e, ERR_USAGE, "%.200s cannot be moved into itself.", from.path);
	if (check_keeps_nothing(c, &from, from.area, e) ||
		check_keeps_nothing(c, &from, to.area, e))
		return -1;
	if (from.area != to.area && place_has_room(c, &to, e))
		return -1;
	if (from.root == to.root)
		rc = files_move(call_files(c), from.root, from.rel, to.rel, false, &t, e);
	else
		rc = files_move_between(call_files(c), from.root, from.rel, to.root, to.rel,
			&(const struct files_copy_options){0}, &t, e);
	if (rc)
		return -1;
	str_adds(&c->text, "Successfully moved ");
	put_quoted_name(&c->text, from.path);
	str_adds(&c->text, " to ");
	put_quoted_name(&c->text, to.path);
	return 0;
}

int tool_copy(struct call *c, struct err *e)
{
	struct files_tree_totals t;
	struct place_in from, to;

	if (call_place(c, "source", REACH_READ, &from, e) ||
		call_place(c, "destination", REACH_TREE, &to, e) ||
		check_target(&from, call_text(c, "destination"), e) || place_has_room(c, &to, e))
		return -1;
	if (lies_in_tree(&to, &from))
		return err_set(e, ERR_USAGE, "%.200s cannot be copied into itself.", from.path);
	if (check_keeps_nothing(c, &from, to.area, e))
		return -1;
	if (files_copy(call_files(c), from.root, from.rel, to.root, to.rel,
		    &(const struct files_copy_options){.overwrite = call_flag(c, "overwrite")}, &t,
		    e))
		return -1;
	jsonw_uint(&c->out, "files", t.files);
	jsonw_uint(&c->out, "directories", t.dirs);
	jsonw_uint(&c->out, "links", t.links);
	jsonw_uint(&c->out, "bytes", t.bytes);
	jsonw_uint(&c->out, "special_left_out", t.special);
	jsonw_uint(&c->out, "disappeared", t.gone);
	return 0;
}

/* Under read_before_delete: each file was read, or written, by this agent. */
static int check_were_read(struct call *c, const struct place_in *p, bool recursive, struct err *e)
{
	const struct files_scan_options o = {.filter = {.types = FILES_FILE}};
	AUTO_STR struct str unread = STR_INIT;
	struct files_entry it;
	struct files_scan *s;
	size_t n = 0;

	if (!call_options(c)->agent->read_before_delete)
		return 0;
	if (files_look(p->root, p->rel, &it, e))
		return -1;
	if (it.type == FILES_LINK || (it.type == FILES_DIR && !recursive))
		return 0;
	if (it.type == FILES_FILE)
		return reads_has(c->server->read, p->path)
			? 0
			: err_set(e, ERR_REFUSED, "%.200s has not been read; read it first.",
				  p->path);
	if (files_scan(call_files(c), p->root, place_start(p), &o, &s, e))
		return -1;
	while (files_scan_next(s, &it)) {
		AUTO_STR struct str path = STR_INIT;

		put_place(&path, p, it.path);
		if (it.type == FILES_FILE && !reads_has(c->server->read, path.s) && n++ < 3)
			str_addf(&unread, "%s%s", unread.len ? ", " : "", path.s);
	}
	files_scan_free(s);
	return n ? err_set(e, ERR_REFUSED,
			   "%zu files below %.100s have not been read; read them first: %.300s", n,
			   p->path, unread.s)
		 : 0;
}

/* All of them are looked at before the first goes. */
int tool_delete(struct call *c, struct err *e)
{
	bool recursive = call_flag(c, "recursive");
	struct files_tree_totals t, sum = {0};
	struct files_entry it;
	struct place_in p;
	size_t n;
	const char *const *paths = call_texts(c, "paths", &n);

	for (size_t i = 0; i < n; i++) {
		if (call_cancelled(c))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (reach_find(call_reach(c), paths[i], REACH_TREE, &p, e) ||
			files_look(p.root, p.rel, &it, e) ||
			check_keeps_nothing(c, &p, p.area, e) ||
			check_were_read(c, &p, recursive, e))
			return -1;
		if (it.type == FILES_DIR && !recursive)
			return err_set(e, ERR_REFUSED,
				"%.200s is a directory; \"recursive\": true deletes it with all that "
				"is in it.",
				p.path);
	}
	for (size_t i = 0; i < n; i++) {
		if (call_cancelled(c))
			return err_set(e, ERR_CANCELLED, "cancelled");
		if (reach_find(call_reach(c), paths[i], REACH_TREE, &p, e) ||
			files_delete(call_files(c), p.root, p.rel, recursive, &t, e))
			return -1;
		sum.files += t.files + t.links;
		sum.dirs += t.dirs;
		sum.bytes += t.bytes;
	}
	jsonw_uint(&c->out, "files", sum.files);
	jsonw_uint(&c->out, "directories", sum.dirs);
	return 0;
}
