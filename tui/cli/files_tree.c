/* files_tree.c - `berth files scan`, `copy`, `move` and `delete`. */
#include "cli/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <berth/format.h>
#include <berth/mem.h>

static const char *type_name(enum files_type t)
{
	return t == FILES_FILE    ? "file"
		: t == FILES_DIR  ? "directory"
		: t == FILES_LINK ? "link"
				  : "other";
}

static void json_entry(struct jsonw *j, const struct files_cli *x, const struct files_entry *entry)
{
	AUTO_FREE char *path = *x->prefix ? xasprintf("%s/%s", x->prefix, entry->path) : NULL;

	jsonw_object(j, NULL);
	jsonw_text(j, "path", path ? path : entry->path);
	jsonw_text(j, "type", type_name(entry->type));
	if (entry->meta) {
		jsonw_uint(j, "size_bytes", entry->size);
		jsonw_int(j, "modified_ms", entry->mtime_ns / 1000000);
		jsonw_uint(j, "mode", entry->mode & 07777);
		jsonw_uint(j, "uid", entry->uid);
		jsonw_uint(j, "gid", entry->gid);
	}
	jsonw_end(j);
}

static void print_entry(
	const struct files_cli *x, const struct files_entry *entry, char end, bool meta)
{
	char stamp[FORMAT_MAX];

	if (meta && entry->meta)
		printf("%12" PRIu64 " %s ", entry->size,
			format_stamp(stamp, entry->mtime_ns / 1000000));
	if (end) {
		files_cli_path(x, entry->path, entry->path_len);
	} else {
		if (*x->prefix) {
			files_cli_text(x, x->prefix, strlen(x->prefix));
			putchar('/');
		}
		files_cli_text(x, entry->path, entry->path_len);
	}
	putchar_unlocked(end);
}

static void json_scan_summary(struct jsonw *j, const struct files_scan_totals *t)
{
	jsonw_object(j, NULL);
	jsonw_object(j, "summary");
	jsonw_text(j, "schema", "berth.files_scan/1");
	jsonw_uint(j, "files", t->files);
	jsonw_uint(j, "directories", t->dirs);
	jsonw_uint(j, "links", t->links);
	jsonw_uint(j, "others", t->others);
	jsonw_uint(j, "size_bytes", t->bytes);
	jsonw_uint(j, "errors", t->errors);
	jsonw_bool(j, "clipped", t->clipped);
	jsonw_end(j);
	jsonw_end(j);
}

int cli_files_scan(struct files_cli *x, struct err *e)
{
	struct files_cli_filter f;
	bool totals_only = cli_flag(x->c, "totals");
	/* Sizes are looked up only where they are asked for. */
	struct files_scan_options o = {
		.meta = cli_flag(x->c, "meta") || totals_only, .sorted = cli_flag(x->c, "sort")};
	char end = cli_flag(x->c, "null") ? '\0' : '\n';
	const struct files_scan_totals *t;
	struct files_entry entry;
	struct files_scan *s;
	struct jsonw j;
	int rc;

	if (files_cli_filter(x->c, &f, e) < 0 ||
		cli_number(x->c, "max", 0, &o.max_entries, e) < 0 ||
		files_cli_root(x, x->c->argc ? x->c->argv[0] : NULL, e) < 0)
		return -1;
	o.filter = f.filter;
	files_cli_progress(x);
	if (files_scan(x->files, x->root, x->start, &o, &s, e) < 0)
		return -1;
	files_cli_quiet();
	jsonw_init(&j, true);
	while (files_scan_next(s, &entry)) {
		if (totals_only)
			continue;
		if (!x->json) {
			print_entry(x, &entry, end, o.meta);
			continue;
		}
		json_entry(&j, x, &entry);
		if (j.out.len > 65536) {
			fwrite(j.out.s, 1, j.out.len, stdout);
			str_clear(&j.out);
		}
	}
	t = files_scan_totals(s);
	for (size_t i = 0; files_scan_error(s, i); i++)
		cli_fail(files_scan_error(s, i));
	rc = t->errors ? 1 : 0;
	if (x->json)
		json_scan_summary(&j, t);
	else if (totals_only)
		printf("%" PRIu64 " files, %" PRIu64 " directories, %" PRIu64 " links, %" PRIu64
		       " others, %" PRIu64 " bytes\n",
			t->files, t->dirs, t->links, t->others, t->bytes);
	if (t->clipped)
		fputs("berth: the list was cut off at the requested number of entries.\n", stderr);
	files_scan_free(s);
	if (!x->json)
		jsonw_release(&j);
	else if (jsonw_print(&j))
		rc = 1;
	return rc;
}

/* What happened to a tree, also when not all of it did. */
static int print_totals(struct files_cli *x, const char *what, const struct files_tree_totals *t,
	int rc, const struct err *e)
{
	char schema[48];
	struct jsonw j;

	if (!x->json) {
		char files[FORMAT_COUNTED_MAX], dirs[FORMAT_MAX];

		/* Scripts want silence, a person who waited wants to know. */
		if (rc == 0 && isatty(2) && t->dirs)
			fprintf(stderr, "berth: %s files in %s directories.\n",
				format_count(files, t->files + t->links),
				format_count(dirs, t->dirs));
		if (t->special)
			fprintf(stderr, "berth: %s (sockets or devices) %s not copied.\n",
				format_counted(files, t->special, "special file", "special files"),
				t->special == 1 ? "was" : "were");
		if (t->gone)
			fprintf(stderr, "berth: %s disappeared before %s copied.\n",
				format_counted(files, t->gone, "entry", "entries"),
				t->gone == 1 ? "it was" : "they were");
		return rc;
	}
	snprintf(schema, sizeof schema, "berth.files_%s/1", what);
	jsonw_document(&j, schema);
	jsonw_uint(&j, "files", t->files);
	jsonw_uint(&j, "directories", t->dirs);
	jsonw_uint(&j, "links", t->links);
	jsonw_uint(&j, "size_bytes", t->bytes);
	jsonw_uint(&j, "skipped", t->skipped);
	if (strcmp(what, "delete") != 0) {
		jsonw_uint(&j, "special", t->special);
		jsonw_uint(&j, "disappeared", t->gone);
	}
	jsonw_uint(&j, "errors", t->errors);
	jsonw_text(&j, "error", rc < 0 ? e->msg : NULL);
	return jsonw_print(&j) ? 1 : rc;
}

int cli_files_copy(struct files_cli *x, struct err *e)
{
	struct files_copy_options o = {
		.resume = cli_flag(x->c, "resume"),
		.overwrite = cli_flag(x->c, "overwrite"),
		.durable = cli_flag(x->c, "durable"),
		.keep_owner = cli_flag(x->c, "keep-owner"),
	};
	const char *to_root = cli_value(x->c, "to-root");
	const char *from = x->c->argv[0], *into = x->c->argv[1], *near, *near_to = NULL;
	struct files_tree_totals t;
	struct files_root *to;
	int rc;

	if (!cli_value(x->c, "root") && files_cli_check_target(from, into, e))
		return -1;
	x->root = files_cli_near(x, &from, 1, false, &near, e);
	if (!x->root)
		return -1;
	to = to_root ? files_root_open(x->files, to_root, e)
		     : files_cli_near(x, &into, 1, false, &near_to, e);
	if (!to)
		return -1;
	files_cli_progress(x);
	rc = files_copy(x->files, x->root, from, to, into, &o, &t, e);
	files_cli_quiet();
	files_root_close(to);
	if (rc < 0 && (near || near_to))
		err_wrap(e, "copying %.150s to %.150s", x->c->argv[0], x->c->argv[1]);
	return print_totals(x, "copy", &t, rc, e);
}

int cli_files_move(struct files_cli *x, struct err *e)
{
	const char *path[] = {x->c->argv[0], x->c->argv[1]}, *near;
	struct files_tree_totals t;
	int rc;

	if (!cli_value(x->c, "root") && files_cli_check_target(path[0], path[1], e))
		return -1;
	x->root = files_cli_near(x, path, 2, false, &near, e);
	if (!x->root)
		return -1;
	files_cli_progress(x);
	rc = files_move(x->files, x->root, path[0], path[1], cli_flag(x->c, "overwrite"), &t, e);
	files_cli_quiet();
	if (rc < 0 && near)
		err_wrap(e, "in %.200s", near);
	return print_totals(x, "move", &t, rc, e);
}

/* Each where it is: they need not be near each other. */
static int delete_one(
	struct files_cli *x, const char *path, struct files_tree_totals *t, struct err *e)
{
	const char *near;
	struct files_root *root = files_cli_near(x, &path, 1, false, &near, e);
	int rc;

	*t = (struct files_tree_totals){0};
	if (!root)
		return -1;
	rc = files_delete(x->files, near ? root : x->root, path, cli_flag(x->c, "recursive"), t, e);
	files_root_close(root);
	return rc < 0 && near ? err_wrap(e, "in %.200s", near) : rc;
}

int cli_files_delete(struct files_cli *x, struct err *e)
{
	struct files_tree_totals t, sum = {0};
	struct err why = ERR_INIT;
	int rc = 0;

	if (files_cli_root(x, NULL, e) < 0)
		return -1;
	files_cli_progress(x);
	for (int i = 0; i < x->c->argc; i++) {
		if (delete_one(x, x->c->argv[i], &t, &why) < 0) {
			/* The others go all the same; each failure is said, the last by the caller. */
			if (rc < 0)
				cli_fail(e);
			rc = err_copy(e, &why);
		}
		sum.files += t.files;
		sum.dirs += t.dirs;
		sum.links += t.links;
		sum.errors += t.errors;
		if (rc < 0 && e->kind == ERR_CANCELLED)
			break;
	}
	files_cli_quiet();
	return print_totals(x, "delete", &sum, rc, e);
}
