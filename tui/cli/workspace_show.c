/* workspace_show.c - `berth workspace show` and `usage`: what is known of a workspace, how much is in all. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/users.h>

#include "cli/workspace.h"

static void json_usage(struct jsonw *j, const struct workspace_usage *u)
{
	jsonw_text(j, "kind", workspace_kind_name(u->info.kind));
	jsonw_text(j, "name", u->info.name);
	jsonw_uint(j, "uid", u->info.uid);
	jsonw_uint(j, "files", u->files);
	jsonw_uint(j, "directories", u->dirs);
	jsonw_uint(j, "others", u->others);
	jsonw_uint(j, "bytes", u->bytes);
	jsonw_uint(j, "unread", u->unread);
	jsonw_int(j, "used_ms", u->used_ns / 1000000);
	jsonw_int(j, "counted_ms", u->counted_ns / 1000000);
}

static char *print_age(char *buf, int64_t ns)
{
	int64_t ms = clock_wall_ms() - ns / 1000000;

	return format_age(buf, ms > 0 ? ms : 0); /* a file's time may be anything */
}

/* ---- show */

struct shown_workspace {
	struct workspace_usage usage;
	struct checkpoint_tree *start; /* NULL: no fork */
	struct checkpoint_info *points;
	size_t npoints;
	char pending[CHECKPOINT_NAME_MAX + 1]; /* "": none */
};

static int learn_workspace(struct workspace_cli *x, struct shown_workspace *s, struct err *e)
{
	struct err why = ERR_INIT;

	if (workspace_cli_enter(x, e) || workspace_count(x->all, x->kind, x->name, &s->usage, e) ||
		checkpoint_list(x->store, &s->points, &s->npoints, e))
		return -1;
	if (!checkpoint_pending(x->store, s->pending))
		s->pending[0] = '\0';
	s->start = checkpoint_tree_start(x->store, x->root, &why);
	return s->start || why.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &why);
}

static void print_workspace(const struct workspace_cli *x, const struct shown_workspace *s)
{
	const struct workspace_usage *u = &s->usage;
	char bytes[FORMAT_MAX], count[FORMAT_MAX], age[FORMAT_MAX], owner[USER_NAME_MAX];

	printf("%-12s %s/%s\n", workspace_kind_name(x->kind), x->tree, x->path);
	printf("%-12s %s, mode %04o\n", "owner", user_name(u->info.uid, owner),
		(unsigned)u->info.mode);
	printf("%-12s %s in %s files\n", "size", format_bytes(bytes, u->bytes),
		format_count(count, u->files));
	if (u->unread)
		printf("%-12s %s directories could not be read\n", "",
			format_count(count, u->unread));
	printf("%-12s %s ago\n", "last change", print_age(age, u->used_ns));
	if (s->start)
		printf("%-12s %s\n", "forked from", checkpoint_tree_name(s->start));
	if (*s->pending)
		printf("%-12s a restore of %s was interrupted: `berth workspace restore %s %s` finishes it\n",
			"state", s->pending, x->path, s->pending);
	printf("%-12s %zu\n", "checkpoints", s->npoints);
	for (size_t i = 0; i < s->npoints; i++)
		workspace_cli_point(&s->points[i]);
}

static int json_workspace(const struct workspace_cli *x, const struct shown_workspace *s)
{
	AUTO_FREE char *path = xasprintf("%s/%s", x->tree, x->path);
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.workspace/1");
	json_usage(&j, &s->usage);
	jsonw_text(&j, "path", path);
	jsonw_text(&j, "forked_from", s->start ? checkpoint_tree_name(s->start) : NULL);
	jsonw_text(&j, "pending", *s->pending ? s->pending : NULL);
	jsonw_array(&j, "checkpoints");
	for (size_t i = 0; i < s->npoints; i++) {
		jsonw_object(&j, NULL);
		workspace_cli_json_point(&j, &s->points[i]);
		jsonw_end(&j);
	}
	jsonw_end(&j);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int show_workspace(struct workspace_cli *x, struct err *e)
{
	struct shown_workspace s = {0};
	int rc = learn_workspace(x, &s, e);

	if (rc == 0 && cli_flag(x->c, "json"))
		rc = json_workspace(x, &s);
	else if (rc == 0)
		print_workspace(x, &s);
	checkpoint_tree_free(s.start);
	free(s.points);
	return rc;
}

/* ---- usage */

static void print_usages(const struct workspace_usage *all, size_t n)
{
	char bytes[FORMAT_MAX], count[FORMAT_MAX], age[FORMAT_MAX];
	uint64_t sum = 0, files = 0;

	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];

		printf("%8s  %11s files  changed %6s ago  %s/%s%s\n", format_bytes(bytes, u->bytes),
			format_count(count, u->files), print_age(age, u->used_ns),
			workspace_kind_folder(u->info.kind), u->info.name,
			u->unread ? "  not all could be read" : "");
		sum += u->bytes;
		files += u->files;
	}
	printf("%8s  %11s files  in %zu workspace%s\n", format_bytes(bytes, sum),
		format_count(count, files), n, n == 1 ? "" : "s");
}

static void json_named(struct jsonw *j, const char *key, const struct workspace_usage *u)
{
	AUTO_FREE char *path =
		u ? xasprintf("%s/%s", workspace_kind_folder(u->info.kind), u->info.name) : NULL;

	jsonw_text(j, key, path);
}

static int json_usages(const struct workspace_usage *all, size_t n)
{
	const struct workspace_usage *largest = NULL, *oldest = NULL;
	uint64_t sum = 0, files = 0;
	struct jsonw j;

	jsonw_init(&j, false);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.workspace_usage/1");
	jsonw_array(&j, "workspaces");
	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];

		jsonw_object(&j, NULL);
		json_usage(&j, u);
		jsonw_end(&j);
		sum += u->bytes;
		files += u->files;
		if (!largest || u->bytes > largest->bytes)
			largest = u;
		if (!oldest || u->used_ns < oldest->used_ns)
			oldest = u;
	}
	jsonw_end(&j);
	jsonw_uint(&j, "count", n);
	jsonw_uint(&j, "files", files);
	jsonw_uint(&j, "bytes", sum);
	jsonw_uint(&j, "average_bytes", n ? sum / n : 0);
	json_named(&j, "largest", largest);
	json_named(&j, "oldest", oldest);
	jsonw_end(&j);
	return jsonw_print(&j);
}

static int tell_usage(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t n;

	if (workspace_usage(x->all, cli_flag(x->c, "cached"), &all, &n, e))
		return -1;
	if (cli_flag(x->c, "json"))
		return json_usages(all, n);
	print_usages(all, n);
	return 0;
}

int cli_workspace_show(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, show_workspace, e);
}

int cli_workspace_usage(const struct cli *c, const struct settings *s, struct err *e)
{
	(void)s;
	return workspace_cli_run(c, tell_usage, e);
}
