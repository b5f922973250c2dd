/* workspace_show.c - `berth workspace show` and `usage`: prints the details and the usage of workspaces. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/flags.h>
#include <berth/format.h>
#include <berth/jsonw.h>
#include <berth/keeper.h>
#include <berth/live.h>
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

static void print_workspace_limits(
	struct workspace_cli *x, const struct workspace_amount *a, bool live)
{
	AUTO_STR struct str words = STR_INIT;
	char used[FORMAT_MAX], files[FORMAT_MAX];
	struct workspace_quota q;
	enum workspace_kept quota = workspace_quota(x->root, &q);

	workspace_cli_words(&x->limits, quota, &words);
	printf("%-12s %s\n", "limits", words.s);
	printf("%-12s %s on disk, %s files and directories%s%s\n", "", format_bytes(used, a->bytes),
		format_count(files, a->files), live ? ", as the keeper counts" : "",
		workspace_over(&x->limits, a) ? ": above its limit" : "");
	if (quota)
		printf("%-12s %s in %s files by the file system's own count\n", "",
			format_bytes(used, q.used_bytes), format_count(files, q.used_files));
	if (x->still.n && !keeper_find())
		printf("%-12s keeper lost, so nothing is counted: `berth up` starts one\n", "");
	for (size_t i = 0; i < x->still.n; i++) {
		char why[256];

		if (freeze_why(&x->still.box[i], why, sizeof why))
			printf("%-12s %s is frozen: %s\n", "", x->still.box[i].name, why);
		if (freeze_refuses(&x->still.box[i], why, sizeof why))
			printf("%-12s %s starts nothing new: %s\n", "", x->still.box[i].name, why);
	}
}

struct shown_workspace {
	struct workspace_usage usage;
	struct checkpoint_tree *start; /* NULL: no fork */
	struct checkpoint_info *points;
	size_t npoints;
	char pending[CHECKPOINT_NAME_MAX + 1]; /* "": none */
	bool archived;                         /* then this is what there is: */
	struct workspace_archive archive;
	struct workspace_amount amount;
	bool live; /* the keeper keeps it, and what that counts is enforced: */
	struct live kept;
	struct workspace_git git; /* of a project */
	struct flags flags;
};

static int look_for_flags(struct workspace_cli *x, struct shown_workspace *s, struct err *e)
{
	AUTO_FREE char *place = xasprintf("%s/%s", x->tree, x->path);

	return flags_find(x->root, place, s->points, s->npoints, &s->flags, e);
}

static void print_flag(void *ctx, const char *line)
{
	bool *first = ctx;

	printf("%-12s %s\n", *first ? "flags" : "", line);
	*first = false;
}

static void print_flags(const struct flags *f)
{
	bool first = true;

	if (!flags_lines(f, clock_wall_ms(), print_flag, &first))
		print_flag(&first, "none");
}

static void json_flag_sums(struct jsonw *j, const struct flag_sums *s)
{
	jsonw_uint(j, "executables", s->executables);
	jsonw_uint(j, "links_out", s->links);
	jsonw_uint(j, "small_files_per_minute", s->small);
	jsonw_bool(j, "flood", s->small >= FLAG_FLOOD);
	jsonw_uint(j, "secrets", s->secrets);
	jsonw_uint(j, "unsearched", s->unsearched);
}

/* Less thorough, but known without a look: since a container has it. */
static void json_live_flags(struct jsonw *j, const struct live *l)
{
	if (!l || !l->flags_ns) {
		jsonw_null(j, "live_flags");
		return;
	}
	jsonw_object(j, "live_flags");
	jsonw_int(j, "looked_ms", l->flags_ns / 1000000);
	json_flag_sums(j, &l->flags);
	jsonw_end(j);
}

static void json_flags(struct jsonw *j, const struct flags *f)
{
	static const char *const words[] = {
		[FLAG_EXECUTABLE] = "executable", [FLAG_LINK] = "link", [FLAG_SECRET] = "secret"};

	jsonw_object(j, "flags");
	jsonw_text(j, "since", *f->since ? f->since : NULL);
	json_flag_sums(j, &f->sums);
	jsonw_array(j, "found");
	for (int k = 0; k < FLAG_KINDS; k++)
		for (size_t i = 0; i < f->nnamed[k]; i++) {
			jsonw_object(j, NULL);
			jsonw_text(j, "flag", words[k]);
			jsonw_text(j, "path", f->named[k][i].path);
			jsonw_uint(j, "line", f->named[k][i].line);
			jsonw_text(j, "what", f->named[k][i].what);
			jsonw_end(j);
		}
	jsonw_end(j);
	jsonw_end(j);
}

/* The keeper's count, which limits are enforced by, where it keeps this one. */
static int learn_amount(struct workspace_cli *x, struct shown_workspace *s, struct err *e)
{
	AUTO_FREE struct live *all = NULL;
	size_t n = live_read(x->all, &all);
	const struct live *l = live_find(all, n, &s->usage.info);

	s->live = l != NULL;
	if (!l)
		return workspace_amount(x->root, &s->amount, NULL, NULL, e);
	s->kept = *l;
	s->amount = l->amount;
	return 0;
}

static int learn_workspace(struct workspace_cli *x, struct shown_workspace *s, struct err *e)
{
	struct err why = ERR_INIT;

	if (workspace_cli_enter(x, e) || workspace_cli_limits(x, e) ||
		freeze_find(&x->still, x->root, e) ||
		workspace_count(x->all, x->kind, x->name, &s->usage, e) || learn_amount(x, s, e) ||
		checkpoint_list(x->store, &s->points, &s->npoints, e) || look_for_flags(x, s, e) ||
		(x->kind == WORKSPACE_PROJECT && workspace_git_look(x->all, x->name, &s->git, e)))
		return -1;
	if (!checkpoint_pending(x->store, s->pending))
		s->pending[0] = '\0';
	s->start = checkpoint_tree_start(x->store, x->root, &why);
	return s->start || why.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &why);
}

static void print_workspace(struct workspace_cli *x, const struct shown_workspace *s)
{
	AUTO_STR struct str by = STR_INIT, git = STR_INIT;
	const struct workspace_usage *u = &s->usage;
	char bytes[FORMAT_MAX], count[FORMAT_MAX], age[FORMAT_MAX], owner[USER_NAME_MAX];

	printf("%-12s %s/%s\n", workspace_kind_name(x->kind), x->tree, x->path);
	printf("%-12s %s, mode %04o\n", "owner", user_name(u->info.uid, owner),
		(unsigned)u->info.mode);
	workspace_cli_holders(x, &u->info, &by);
	if (by.len)
		printf("%-12s %s\n", "in use by", by.s);
	printf("%-12s %s in %s files\n", "size", format_bytes(bytes, u->bytes),
		format_count(count, u->files));
	if (u->unread)
		printf("%-12s %s directories could not be read\n", "",
			format_count(count, u->unread));
	print_workspace_limits(x, &s->amount, s->live);
	printf("%-12s %s ago\n", "last change", print_age(age, u->used_ns));
	workspace_cli_git(&s->git, &git);
	if (git.len)
		printf("%-12s %s\n", "git", git.s);
	print_flags(&s->flags);
	if (s->start)
		printf("%-12s %s\n", "forked from", checkpoint_tree_name(s->start));
	if (*s->pending)
		printf("%-12s a restore of %s was interrupted: `berth workspace restore %s %s` finishes it\n",
			"state", s->pending, x->path, s->pending);
	printf("%-12s %zu\n", "checkpoints", s->npoints);
	for (size_t i = 0; i < s->npoints; i++)
		workspace_cli_point(&s->points[i]);
}

static void json_quota(struct jsonw *j, const struct workspace_quota *q)
{
	jsonw_object(j, "quota");
	jsonw_uint(j, "bytes", q->bytes);
	jsonw_uint(j, "files", q->files);
	jsonw_uint(j, "used_bytes", q->used_bytes);
	jsonw_uint(j, "used_files", q->used_files);
	jsonw_end(j);
}

static void json_workspace_limits(
	struct workspace_cli *x, const struct workspace_amount *a, bool live, struct jsonw *j)
{
	char why[256], other[256];
	bool frozen = false, refused = false;
	struct workspace_quota q;
	enum workspace_kept quota = workspace_quota(x->root, &q);

	for (size_t i = 0; i < x->still.n; i++) {
		frozen |= freeze_why(&x->still.box[i], why, sizeof why);
		refused |= freeze_refuses(&x->still.box[i], other, sizeof other);
	}
	jsonw_object(j, "limits");
	jsonw_text(j, "kind", workspace_limit_kind(quota));
	jsonw_uint(j, "bytes", x->limits.bytes);
	jsonw_uint(j, "files", x->limits.files);
	jsonw_text(j, "on_breach", workspace_breach_name(x->limits.breach));
	jsonw_uint(j, "used_bytes", a->bytes);
	jsonw_uint(j, "used_files", a->files);
	jsonw_bool(j, "live", live);
	jsonw_bool(j, "over", workspace_over(&x->limits, a));
	jsonw_bool(j, "enforced", x->still.n && keeper_find());
	jsonw_text(j, "frozen", frozen ? why : NULL);
	jsonw_text(j, "refused", refused ? other : NULL);
	if (quota)
		json_quota(j, &q);
	else
		jsonw_null(j, "quota");
	jsonw_end(j);
}

static int json_workspace(struct workspace_cli *x, const struct shown_workspace *s)
{
	AUTO_FREE char *path =
		xasprintf(s->archived ? "%s/archives/%s.tar.zst" : "%s/%s", x->tree, x->path);
	struct jsonw j;

	jsonw_document(&j, "berth.workspace/1");
	json_usage(&j, &s->usage);
	jsonw_text(&j, "path", path);
	if (s->archived)
		jsonw_uint(&j, "archive_bytes", s->archive.packed);
	else
		jsonw_null(&j, "archive_bytes");
	jsonw_text(&j, "forked_from", s->start ? checkpoint_tree_name(s->start) : NULL);
	jsonw_text(&j, "pending", *s->pending ? s->pending : NULL);
	workspace_cli_json_holders(x, &s->usage.info, &j);
	workspace_cli_json_git(&s->git, &j);
	json_workspace_limits(x, &s->amount, s->live, &j);
	if (s->archived)
		jsonw_null(&j, "flags");
	else
		json_flags(&j, &s->flags);
	json_live_flags(&j, s->live ? &s->kept : NULL);
	jsonw_array(&j, "checkpoints");
	for (size_t i = 0; i < s->npoints; i++) {
		jsonw_object(&j, NULL);
		workspace_cli_json_point(&j, &s->points[i]);
		jsonw_end(&j);
	}
	return jsonw_print(&j);
}

/* One that is an archive by now. */
static int learn_archive(struct workspace_cli *x, struct shown_workspace *s, struct err *e)
{
	struct workspace_archive *a = &s->archive;

	if (workspace_cli_find_archive(x, x->c->argv[0], e) ||
		workspace_show_archive(x->all, x->kind, x->name, a, e))
		return -1;
	s->usage = (struct workspace_usage){.info = {.kind = x->kind, .uid = geteuid()},
		.files = a->files,
		.dirs = a->dirs,
		.others = a->others,
		.bytes = a->bytes,
		.used_ns = a->made_ms * 1000000,
		.counted_ns = a->made_ms * 1000000};
	snprintf(s->usage.info.name, sizeof s->usage.info.name, "%s", x->name);
	x->store = workspace_cli_store(x, x->kind, x->name, e);
	return x->store ? checkpoint_list(x->store, &s->points, &s->npoints, e) : -1;
}

static int print_archive(const struct workspace_cli *x, const struct shown_workspace *s)
{
	char bytes[FORMAT_MAX], packed[FORMAT_MAX], age[FORMAT_MAX];

	printf("%-12s %s/archives/%s.tar.zst\n", "archive", x->tree, x->path);
	if (s->archive.damaged)
		printf("%-12s damaged: `berth workspace verify` shows details\n", "state");
	else
		printf("%-12s %s in %" PRIu64 " files, compressed to %s\n", "size",
			format_bytes(bytes, s->archive.bytes), s->archive.files,
			format_bytes(packed, s->archive.packed));
	printf("%-12s %s ago; `berth workspace unarchive %s` brings it back\n", "archived",
		print_age(age, s->usage.used_ns), x->path);
	printf("%-12s %zu\n", "checkpoints", s->npoints);
	for (size_t i = 0; i < s->npoints; i++)
		workspace_cli_point(&s->points[i]);
	return 0;
}

int cli_workspace_show(struct workspace_cli *x, struct err *e)
{
	struct shown_workspace s = {0};
	struct err why = ERR_INIT;
	int rc = learn_workspace(x, &s, &why);

	if (rc < 0 && why.kind == ERR_NOT_FOUND && learn_archive(x, &s, NULL) == 0) {
		s.archived = true;
		rc = 0;
	} else if (rc < 0) {
		err_copy(e, &why);
	}
	if (rc == 0 && s.archived && !cli_flag(x->c, "json"))
		rc = print_archive(x, &s);
	else if (rc == 0 && cli_flag(x->c, "json"))
		rc = json_workspace(x, &s);
	else if (rc == 0)
		print_workspace(x, &s);
	checkpoint_tree_free(s.start);
	flags_release(&s.flags);
	free(s.points);
	return rc;
}

/* ---- usage */

/* Nothing is opened where there can be none. */
static enum workspace_kept find_quota(
	struct workspace_cli *x, bool any, const struct workspace_info *i)
{
	struct err ignored = ERR_INIT;
	AUTO_CLOSE int dir = any ? workspace_enter(x->all, i->kind, i->name, &ignored) : -1;
	struct workspace_quota q;

	return dir >= 0 ? workspace_quota(dir, &q) : WORKSPACE_COUNTED;
}

/* A container has it. */
static bool is_active(struct workspace_cli *x, const struct workspace_info *i)
{
	struct workspace_holder by[WORKSPACE_HOLDERS_MAX];

	return workspace_holders(x->all, i, by) > 0;
}

static void print_usages(struct workspace_cli *x, const struct workspace_usage *all, size_t n)
{
	char bytes[FORMAT_MAX], count[FORMAT_MAX], age[FORMAT_MAX];
	uint64_t sum = 0, files = 0;
	size_t active = 0;
	bool any = workspace_quotas(x->all);

	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];
		enum workspace_kept kept = find_quota(x, any, &u->info);

		printf("%8s  %11s files  changed %6s ago  %s/%s%s%s%s\n",
			format_bytes(bytes, u->bytes), format_count(count, u->files),
			print_age(age, u->used_ns), workspace_kind_folder(u->info.kind),
			u->info.name,
			u->info.unmounted   ? "  not mounted"
				: u->unread ? "  not all could be read"
					    : "",
			kept ? "  " : "", kept ? workspace_limit_kind(kept) : "");
		sum += u->bytes;
		files += u->files;
		active += is_active(x, &u->info);
	}
	printf("%8s  %11s files  in %zu workspace%s, %zu in use\n", format_bytes(bytes, sum),
		format_count(count, files), n, n == 1 ? "" : "s", active);
}

static void json_named(struct jsonw *j, const char *key, const struct workspace_usage *u)
{
	AUTO_FREE char *path =
		u ? xasprintf("%s/%s", workspace_kind_folder(u->info.kind), u->info.name) : NULL;

	jsonw_text(j, key, path);
}

static void json_usage_limits(
	struct workspace_cli *x, bool any, struct jsonw *j, const struct workspace_usage *u)
{
	uint64_t names = u->files + u->dirs + u->others;
	struct workspace_limits l;

	workspace_cli_usual(x->s, &l);
	workspace_limits(x->all, &u->info, &l);
	jsonw_object(j, "limits");
	jsonw_text(j, "kind", workspace_limit_kind(find_quota(x, any, &u->info)));
	jsonw_uint(j, "bytes", l.bytes);
	jsonw_uint(j, "files", l.files);
	jsonw_uint(j, "used_bytes", u->disk);
	jsonw_uint(j, "used_files", names ? names - 1 : 0); /* the directory itself is none */
	jsonw_end(j);
}

static int json_usages(struct workspace_cli *x, const struct workspace_usage *all, size_t n)
{
	const struct workspace_usage *largest = NULL, *oldest = NULL;
	uint64_t sum = 0, files = 0;
	size_t active = 0;
	bool any = workspace_quotas(x->all);
	struct jsonw j;

	jsonw_document(&j, "berth.workspace_usage/1");
	jsonw_array(&j, "workspaces");
	for (size_t i = 0; i < n; i++) {
		const struct workspace_usage *u = &all[i];

		bool in_use = is_active(x, &u->info);

		jsonw_object(&j, NULL);
		json_usage(&j, u);
		jsonw_bool(&j, "active", in_use);
		active += in_use;
		json_usage_limits(x, any, &j, u);
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
	jsonw_uint(&j, "active", active);
	jsonw_uint(&j, "files", files);
	jsonw_uint(&j, "bytes", sum);
	jsonw_uint(&j, "average_bytes", n ? sum / n : 0);
	json_named(&j, "largest", largest);
	json_named(&j, "oldest", oldest);
	return jsonw_print(&j);
}

int cli_workspace_usage(struct workspace_cli *x, struct err *e)
{
	AUTO_FREE struct workspace_usage *all = NULL;
	size_t n;

	if (workspace_usage(x->all, cli_flag(x->c, "cached"), &all, &n, e))
		return -1;
	if (cli_flag(x->c, "json"))
		return json_usages(x, all, n);
	print_usages(x, all, n);
	return 0;
}
