/* workspace_share.c - `berth workspace share` and `shared`: manages versions of the files that every task may read. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/files.h>
#include <berth/format.h>
#include <berth/mem.h>
#include <berth/share.h>
#include <berth/text.h>

#include "cli/workspace.h"

struct sharing {
	struct workspace_cli *x;
	struct workspace_side from;
	enum share_kind kind;
	char version[WORKSPACE_NAME_MAX + 1];
	int into;
	struct apply *plan;
};

/* --- changing --- */

static int add_to_version(void *ctx, int dir, struct err *e)
{
	struct sharing *s = ctx;
	const struct cli *c = s->x->c;
	struct apply_wish wish = {.from = s->from.tree,
		.path = (const char *const *)c->argv + 1,
		.npath = (size_t)c->argc - 1};

	s->into = openat(
		dir, share_kind_name(s->kind), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->into < 0)
		return err_sys(e, errno, "cannot open %s", share_kind_name(s->kind));
	wish.into = s->into;
	s->plan = apply_prepare(&wish, e);
	if (!s->plan)
		return -1;
	if (workspace_cli_check_secrets(c, s->plan, "shared", e))
		return -1;
	return apply_carry_out(s->plan, true, e);
}

/* "templates/docs/a": its kind, and what comes behind; NULL: it is none. */
static const char *split_shared_path(const char *path, enum share_kind *kind)
{
	const char *slash = strchr(path, '/');
	AUTO_FREE char *word = slash ? xasprintf("%.*s", (int)(slash - path), path) : NULL;

	*kind = word ? share_kind_of(word) : SHARE_KINDS;
	return *kind < SHARE_KINDS && slash[1] ? slash + 1 : NULL;
}

static int remove_from_version(void *ctx, int dir, struct err *e)
{
	struct sharing *s = ctx;
	const struct cli *c = s->x->c;
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", dir);
	struct files *f = files_open(&(struct files_options){.program = "workspace"});
	struct files_root *r = files_root_open(f, path, e);
	struct files_tree_totals t;
	int rc = r ? 0 : -1;

	for (int i = 0; rc == 0 && i < c->argc; i++)
		rc = files_delete(f, r, c->argv[i], true, &t, e);
	files_root_close(r);
	files_close(f);
	return rc;
}

static int do_share(void *ctx, struct audit_record *r, struct err *e)
{
	struct sharing *s = ctx;
	const char *back = cli_value(s->x->c, "restore");

	(void)r;
	umask(022); /* tasks run as other users where we are root */
	if (back)
		return share_return(s->x->all, back, e);
	return share_make(s->x->all, s->version,
		cli_flag(s->x->c, "remove") ? remove_from_version : add_to_version, s, e);
}

static int check_share(struct sharing *s, struct err *e)
{
	const struct cli *c = s->x->c;
	const char *back = cli_value(c, "restore"), *into = cli_value(c, "into");
	enum share_kind kind;

	if (!!back + cli_flag(c, "remove") + !!into != 1)
		return err_set(
			e, ERR_USAGE, "give one of --into KIND, --remove and --restore VERSION.");
	if (back)
		return c->argc ? err_set(e, ERR_USAGE, "--restore takes only VERSION.") : 0;
	if (c->argc < (into ? 2 : 1))
		return err_set(e, ERR_USAGE, "missing: %s.",
			into ? "a workspace, and paths in it" : "KIND/PATH...");
	for (int i = 0; !into && i < c->argc; i++)
		if (!split_shared_path(c->argv[i], &kind))
			return err_set(e, ERR_USAGE,
				"\"%.80s\" is not a path in shared/: use KIND/PATH, as in templates/a.md.",
				c->argv[i]);
	s->kind = into ? share_kind_of(into) : SHARE_KINDS;
	return into && s->kind == SHARE_KINDS
		? err_set(e, ERR_USAGE,
			  "\"%.40s\" is not a kind: use templates, libraries, datasets or configs.",
			  into)
		: 0;
}

static int record_share(struct sharing *s, struct err *e)
{
	const struct cli *c = s->x->c;
	const char *back = cli_value(c, "restore"), *as = cli_value(c, "as");
	struct key_value kv[] = {{.key = "version", .value = s->version},
		{.key = "act",
			.value = back                   ? "restore"
				: cli_flag(c, "remove") ? "remove"
							: "add"}};
	struct audit_record r = {.operation = OP_WORKSPACE_SHARE,
		.target_type = "workspace",
		.name = "shared",
		.nparams = COUNT(kv),
		.params = kv};

	if (back || as)
		snprintf(s->version, sizeof s->version, "%s", back ? back : as);
	else
		workspace_cli_stamp(s->version, sizeof s->version, "v-");
	record_manifest(&r, (size_t)c->argc, (const char *const *)c->argv);
	return record_act(&s->x->by, &r, NULL, do_share, s, e);
}

static int tell_share(const struct sharing *s, bool shared)
{
	struct jsonw j;

	if (!cli_flag(s->x->c, "json")) {
		if (s->plan)
			workspace_cli_apply(s->plan);
		if (shared)
			printf("shared/ is version %s\n", s->version);
		return 0;
	}
	jsonw_document(&j, "berth.workspace_share/1");
	jsonw_text(&j, "version", s->version);
	jsonw_bool(&j, "shared", shared);
	workspace_cli_json_apply(&j, s->plan ? s->plan : &(struct apply){0});
	return jsonw_print(&j);
}

int cli_workspace_share(struct workspace_cli *x, struct err *e)
{
	struct sharing s = {.x = x, .from.place.root = -1, .into = -1};
	int rc = check_share(&s, e), told;

	if (rc == 0 && cli_value(x->c, "into"))
		rc = workspace_side_open(x, x->c->argv[0], &s.from, e);
	if (rc == 0) {
		rc = record_share(&s, e);
		told = rc == 0 || s.plan ? tell_share(&s, rc == 0) : 0;
		rc = rc ? rc : told;
	}
	apply_free(s.plan);
	if (s.into >= 0)
		close(s.into);
	workspace_side_close(&s.from);
	return rc;
}

/* --- looking --- */

static void tell_shared_file(struct jsonw *j, const struct files_entry *x)
{
	AUTO_STR struct str path = STR_INIT;
	char bytes[FORMAT_MAX];

	if (x->type != FILES_FILE)
		return;
	if (j) {
		jsonw_object(j, NULL);
		workspace_cli_json_name(j, "path", x->path);
		jsonw_uint(j, "bytes", x->size);
		jsonw_end(j);
		return;
	}
	workspace_cli_quote(&path, x->path, x->path_len);
	printf("%8s  %s\n", format_bytes(bytes, x->size), path.s);
}

static int list_shared_files(
	struct workspace_cli *x, const char *version, struct jsonw *j, struct err *e)
{
	static const struct files_scan_options how = {.meta = true, .sorted = true};
	AUTO_CLOSE int dir = share_open(x->all, version, e);
	AUTO_FREE char *path = xasprintf("/proc/self/fd/%d", dir);
	struct files *f =
		dir < 0 ? NULL : files_open(&(struct files_options){.program = "workspace"});
	struct files_root *r = f ? files_root_open(f, path, e) : NULL;
	struct files_scan *s = NULL;
	struct files_entry at;
	int rc = r ? files_scan(f, r, ".", &how, &s, e) : -1;

	while (rc == 0 && files_scan_next(s, &at))
		tell_shared_file(j, &at);
	files_scan_free(s);
	files_root_close(r);
	if (f)
		files_close(f);
	return rc;
}

static void tell_version(struct jsonw *j, const struct share_version *v)
{
	char bytes[FORMAT_MAX], count[FORMAT_MAX], stamp[FORMAT_MAX];

	if (!j) {
		printf("%s %-40s %s  %8s in %s files  %zu task%s\n", v->present ? "*" : " ",
			v->name, format_stamp(stamp, v->made_ms), format_bytes(bytes, v->bytes),
			format_count(count, v->files), v->ntasks, v->ntasks == 1 ? "" : "s");
		return;
	}
	jsonw_object(j, NULL);
	jsonw_text(j, "name", v->name);
	jsonw_int(j, "made_ms", v->made_ms);
	jsonw_uint(j, "files", v->files);
	jsonw_uint(j, "bytes", v->bytes);
	jsonw_bool(j, "present", v->present);
	jsonw_uint(j, "tasks", v->ntasks);
	jsonw_end(j);
}

static int list_versions(struct workspace_cli *x, struct jsonw *j, struct err *e)
{
	AUTO_FREE struct share_version *all = NULL;
	size_t n;

	if (share_list(x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		tell_version(j, &all[i]);
	return 0;
}

/* The version that is meant; *ret NULL: all versions. */
static int choose_version(
	struct workspace_cli *x, char name[WORKSPACE_NAME_MAX + 1], const char **ret, struct err *e)
{
	const char *as = cli_value(x->c, "as");
	struct workspace_place p;

	*ret = x->c->argc ? x->c->argv[0] : as ? name : NULL;
	if (!as || x->c->argc)
		return 0;
	if (workspace_cli_place(x, as, &p, e))
		return -1;
	workspace_cli_name(x, p.kind, p.name);
	workspace_cli_leave(&p);
	return x->kind == WORKSPACE_TASK
		? share_kept(x->all, x->name, name, e)
		: err_set(e, ERR_USAGE, "%s is a project: only tasks keep a version.", x->path);
}

int cli_workspace_shared(struct workspace_cli *x, struct err *e)
{
	char name[WORKSPACE_NAME_MAX + 1] = "";
	const char *version;
	struct jsonw j;
	int rc;

	if (choose_version(x, name, &version, e))
		return -1;
	if (!cli_flag(x->c, "json"))
		return version ? list_shared_files(x, version, NULL, e) : list_versions(x, NULL, e);
	jsonw_document(&j, "berth.workspace_shared/1");
	jsonw_text(&j, "version", version);
	jsonw_array(&j, version ? "files" : "versions");
	rc = version ? list_shared_files(x, version, &j, e) : list_versions(x, &j, e);
	jsonw_end(&j);
	jsonw_end(&j);
	return rc ? rc : jsonw_print(&j);
}
