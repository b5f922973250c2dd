/* workspace_archive.c - `berth workspace archive`, `unarchive`, `archives`: archives workspaces and restores them. */
#include "cli/workspace_archive.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/clock.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/mem.h>
#include <berth/text.h>

/* ---- a workspace becomes an archive */

static void note_archived_secret(void *ctx, const char *path, unsigned line, const char *what)
{
	struct archiving_cli *a = ctx;

	a->secret = mem_grow(a->secret, &a->cap, a->nsecret + 1, sizeof *a->secret);
	a->secret[a->nsecret++] = (struct apply_secret){xstrdup(path), what, line};
}

static int do_archive(void *ctx, struct audit_record *r, struct err *e)
{
	struct archiving_cli *a = ctx;
	struct workspace_archiving how = {.kind = a->kind,
		.name = a->name,
		.as = a->as,
		.level = (int)a->s->workspaces_level,
		.threads = (unsigned)a->s->workspaces_threads,
		.leak = note_archived_secret,
		.ctx = a};

	(void)r;
	return workspace_archive(a->x->all, &how, &a->made, e);
}

int workspace_cli_archive(struct archiving_cli *a, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/%s", workspace_kind_folder(a->kind), a->name);
	struct key_value kv = {.key = "archive", .value = a->as ? a->as : a->name};
	struct audit_record r = {.operation = OP_WORKSPACE_ARCHIVE,
		.target_type = "workspace",
		.name = path,
		.nparams = 1,
		.params = &kv};

	return record_act(&a->x->by, &r, NULL, do_archive, a, e);
}

void workspace_cli_forget_secrets(struct archiving_cli *a)
{
	for (size_t i = 0; i < a->nsecret; i++)
		free((char *)(uintptr_t)a->secret[i].path);
	free(a->secret);
	a->secret = NULL;
	a->nsecret = a->cap = 0;
}

static void json_archive(
	struct jsonw *j, const struct workspace_cli *x, const struct workspace_archive *i)
{
	AUTO_FREE char *path = xasprintf(
		"%s/archives/%s/%s.tar.zst", x->tree, workspace_kind_folder(i->kind), i->name);

	jsonw_text(j, "kind", workspace_kind_name(i->kind));
	jsonw_text(j, "name", i->name);
	jsonw_text(j, "path", path);
	jsonw_bool(j, "damaged", i->damaged);
	jsonw_int(j, "made_ms", i->made_ms);
	jsonw_uint(j, "files", i->files);
	jsonw_uint(j, "directories", i->dirs);
	jsonw_uint(j, "others", i->others);
	jsonw_uint(j, "bytes", i->bytes);
	jsonw_uint(j, "packed_bytes", i->packed);
}

static int print_archiving(const struct archiving_cli *a)
{
	char bytes[FORMAT_MAX], packed[FORMAT_MAX];
	const struct workspace_cli *x = a->x;
	struct jsonw j;

	if (!cli_flag(x->c, "json")) {
		workspace_cli_secrets(a->secret, a->nsecret);
		printf("%s: archived, %" PRIu64 " files, %s in %s\n", x->path, a->made.files,
			format_bytes(bytes, a->made.bytes), format_bytes(packed, a->made.packed));
		return 0;
	}
	jsonw_document(&j, "berth.workspace_archive/1");
	jsonw_text(&j, "workspace", x->path);
	json_archive(&j, x, &a->made);
	workspace_cli_json_secrets(&j, a->secret, a->nsecret);
	return jsonw_print(&j);
}

int cli_workspace_archive(struct workspace_cli *x, struct err *e)
{
	struct archiving_cli a = {.x = x, .s = x->s, .as = cli_value(x->c, "as")};
	struct workspace_place p;
	int rc;

	if (workspace_cli_place(x, x->c->argv[0], &p, e))
		return -1;
	workspace_cli_name(x, p.kind, p.name);
	workspace_cli_leave(&p);
	a.kind = x->kind;
	a.name = x->name;
	rc = workspace_cli_archive(&a, e);
	if (rc == 0)
		rc = print_archiving(&a);
	workspace_cli_forget_secrets(&a);
	return rc;
}

/* ---- and back */

struct unarchiving_cli {
	struct workspace_cli *x;
	struct str dropped; /* lines */
	struct jsonw j;
	bool json;
};

static void note_dropped(void *ctx, const char *path, const char *what)
{
	struct unarchiving_cli *u = ctx;
	AUTO_STR struct str clean = STR_INIT;

	if (u->json) {
		jsonw_object(&u->j, NULL);
		workspace_cli_json_name(&u->j, "path", path);
		jsonw_text(&u->j, "what", what);
		jsonw_end(&u->j);
		return;
	}
	workspace_cli_quote(&clean, path, strlen(path));
	str_addf(&u->dropped, "dropped  %s  %s\n", clean.s, what);
}

static int do_unarchive(void *ctx, struct audit_record *r, struct err *e)
{
	struct unarchiving_cli *u = ctx;
	struct workspace_cli *x = u->x;
	struct workspace_unarchiving how = {.kind = x->kind,
		.name = x->name,
		.as = cli_value(x->c, "as"),
		.keep = cli_flag(x->c, "keep"),
		.now_ms = clock_wall_ms(),
		.dropped = note_dropped,
		.ctx = u};

	(void)r;
	return workspace_unarchive(x->all, &how, e);
}

static int record_unarchive(struct unarchiving_cli *u, struct err *e)
{
	struct workspace_cli *x = u->x;
	struct key_value kv = {.key = "as", .value = cli_value(x->c, "as")};
	struct audit_record r = {.operation = OP_WORKSPACE_UNARCHIVE,
		.target_type = "workspace",
		.name = x->path,
		.nparams = kv.value ? 1 : 0,
		.params = &kv};

	return record_act(&x->by, &r, NULL, do_unarchive, u, e);
}

int cli_workspace_unarchive(struct workspace_cli *x, struct err *e)
{
	struct unarchiving_cli u = {.x = x, .dropped = STR_INIT, .json = cli_flag(x->c, "json")};
	AUTO_FREE char *path = NULL;
	int rc;

	if (workspace_cli_find_archive(x, x->c->argv[0], e))
		return -1;
	path = xasprintf("%s/%s/%s", x->tree, workspace_kind_folder(x->kind),
		cli_value(x->c, "as") ? cli_value(x->c, "as") : x->name);
	jsonw_document(&u.j, "berth.workspace_unarchive/1");
	jsonw_text(&u.j, "archive", x->path);
	jsonw_text(&u.j, "path", path);
	jsonw_array(&u.j, "dropped");
	rc = record_unarchive(&u, e);
	jsonw_end(&u.j);
	jsonw_end(&u.j);
	if (rc < 0)
		jsonw_release(&u.j);
	else if (u.json)
		rc = jsonw_print(&u.j);
	else {
		jsonw_release(&u.j);
		printf("%s%s\n", u.dropped.len ? u.dropped.s : "", path);
	}
	str_release(&u.dropped);
	return rc;
}

/* ---- which there are */

int cli_workspace_archives(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_archive *all = NULL;
	char bytes[FORMAT_MAX], packed[FORMAT_MAX], age[FORMAT_MAX];
	struct jsonw j;
	size_t n;

	if (workspace_archives(x->all, &all, &n, e))
		return -1;
	if (!cli_flag(x->c, "json")) {
		if (n)
			printf("%-8s  %-40s  %10s  %13s  %7s    %s\n", "KIND", "NAME", "AGE",
				"FILES", "SIZE", "PACKED");
		for (size_t i = 0; i < n; i++) {
			const struct workspace_archive *a = &all[i];

			if (a->damaged)
				printf("%-8s  %-40s  damaged\n", workspace_kind_name(a->kind),
					a->name);
			else
				printf("%-8s  %-40s  %6s ago  %7" PRIu64 " files  %7s in %s\n",
					workspace_kind_name(a->kind), a->name,
					format_age(age, clock_wall_ms() - a->made_ms), a->files,
					format_bytes(bytes, a->bytes),
					format_bytes(packed, a->packed));
		}
		return 0;
	}
	jsonw_document(&j, "berth.workspace_archives/1");
	jsonw_array(&j, "archives");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j, NULL);
		json_archive(&j, x, &all[i]);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}
