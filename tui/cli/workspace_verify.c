/* workspace_verify.c - `berth workspace verify`: verifies stored data against its hashes. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/mem.h>
#include <berth/share.h>
#include <berth/text.h>

#include "cli/workspace_archive.h"

struct verifying {
	struct workspace_cli *x;
	const char *point;  /* the only checkpoint that is meant; NULL: all */
	size_t looked, bad; /* at checkpoints and archives */
	bool whole;         /* names of workspaces before those of checkpoints */
};

static void tell_verified(struct verifying *v, const char *name, int rc, const struct err *why)
{
	v->looked++;
	if (rc == 0) {
		printf("%s: sound\n", name);
		return;
	}
	v->bad++;
	cli_fail(why);
}

static int verify_store(
	struct verifying *v, enum workspace_kind kind, const char *name, struct err *e)
{
	struct checkpoint_store *s = workspace_cli_store(v->x, kind, name, e);
	AUTO_FREE struct checkpoint_info *all = NULL;
	size_t n;

	if (!s || checkpoint_list(s, &all, &n, e)) {
		checkpoint_close(s);
		return -1;
	}
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *shown = v->whole
			? xasprintf("%s/%s@%s", workspace_kind_folder(kind), name, all[i].name)
			: xstrdup(all[i].name);
		struct err why = ERR_INIT;

		if (v->point && strcmp(v->point, all[i].name) != 0)
			continue;
		tell_verified(v, shown, checkpoint_verify(s, all[i].name, &why), &why);
	}
	checkpoint_close(s);
	return 0;
}

static void verify_archive(struct verifying *v, enum workspace_kind kind, const char *name)
{
	AUTO_FREE char *shown = xasprintf("archives/%s/%s", workspace_kind_folder(kind), name);
	struct err why = ERR_INIT;

	tell_verified(v, shown, workspace_verify_archive(v->x->all, kind, name, &why), &why);
}

/* One that a container has again, or a person works on, is another one by now. */
static void verify_kept(struct verifying *v, const char *name)
{
	AUTO_FREE char *shown = xasprintf("%s/%s", workspace_kind_folder(WORKSPACE_TASK), name);
	struct err why = ERR_INIT;
	bool sealed;
	int rc = workspace_verify_kept(v->x->all, name, &sealed, &why);

	if (rc == 0 && !sealed)
		printf("%s: no hashes were saved when it failed\n", shown);
	else
		tell_verified(v, shown, rc, &why);
}

static int verify_failed_tasks(struct verifying *v, const char *only, struct err *e)
{
	AUTO_FREE struct workspace_info *all = NULL;
	size_t n;

	if (workspace_list(v->x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		if (all[i].kind == WORKSPACE_TASK && all[i].state == WORKSPACE_FAILED &&
			(!only || strcmp(only, all[i].name) == 0))
			verify_kept(v, all[i].name);
	return 0;
}

/* Those of workspaces that are gone, too. */
static int verify_stores(struct verifying *v, enum workspace_kind kind, struct err *e)
{
	AUTO_FREE char *folder =
		xasprintf("%s/checkpoints/%s", v->x->dir, workspace_kind_folder(kind));
	struct dirent **list = NULL;
	int n = scandir(folder, &list, NULL, alphasort), rc = 0;

	if (n < 0)
		return errno == ENOENT
			? 0
			: err_sys(e, errno, "cannot read the checkpoints in %.300s", folder);
	for (int i = 0; i < n; i++) {
		if (rc == 0 && text_is_plain_name(list[i]->d_name, WORKSPACE_NAME_MAX))
			rc = verify_store(v, kind, list[i]->d_name, e);
		free(list[i]);
	}
	free(list);
	return rc;
}

/* Versions of shared/ that are older than their hashes cannot be told from others. */
static int verify_shared(struct verifying *v, struct err *e)
{
	AUTO_FREE struct share_version *all = NULL;
	size_t n;

	if (share_list(v->x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		AUTO_FREE char *shown = xasprintf("shared@%s", all[i].name);
		struct err why = ERR_INIT;
		bool kept;
		int rc = share_verify(v->x->all, all[i].name, &kept, &why);

		if (rc == 0 && !kept)
			printf("%s: no hashes were saved when it was made\n", shown);
		else
			tell_verified(v, shown, rc, &why);
	}
	return 0;
}

static int verify_everything(struct verifying *v, struct err *e)
{
	AUTO_FREE struct workspace_archive *all = NULL;
	size_t n;

	v->whole = true;
	if (workspace_archives(v->x->all, &all, &n, e))
		return -1;
	for (size_t i = 0; i < n; i++)
		verify_archive(v, all[i].kind, all[i].name);
	for (int k = 0; k < WORKSPACE_KINDS; k++)
		if (verify_stores(v, (enum workspace_kind)k, e))
			return -1;
	return verify_failed_tasks(v, NULL, e) || verify_shared(v, e) ? -1 : 0;
}

static int name_verified(struct workspace_cli *x, const char *said, struct err *e)
{
	struct err why = ERR_INIT;
	struct workspace_place p;

	if (!workspace_cli_place(x, said, &p, &why)) {
		workspace_cli_name(x, p.kind, p.name);
		workspace_cli_leave(&p);
		return 0;
	}
	return why.kind == ERR_NOT_FOUND && !workspace_cli_find_archive(x, said, NULL)
		? 0
		: err_copy(e, &why);
}

int cli_workspace_verify(struct workspace_cli *x, struct err *e)
{
	struct verifying v = {.x = x, .point = x->c->argc > 1 ? x->c->argv[1] : NULL};

	if (x->c->argc == 0) {
		if (verify_everything(&v, e))
			return -1;
		return v.bad ? 1 : 0;
	}
	if (name_verified(x, x->c->argv[0], e) || verify_store(&v, x->kind, x->name, e))
		return -1;
	if (!v.point && x->kind == WORKSPACE_TASK && verify_failed_tasks(&v, x->name, e))
		return -1;
	if (!v.point && workspace_is_archived(x->all, (int)x->kind, x->name))
		verify_archive(&v, x->kind, x->name);
	if (v.point && !v.looked)
		return err_set(
			e, ERR_NOT_FOUND, "%s has no checkpoint \"%.64s\".", x->path, v.point);
	return v.bad ? 1 : 0;
}
