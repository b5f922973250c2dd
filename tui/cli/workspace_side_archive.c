/* workspace_side_archive.c - opens an archive as one side of a comparison, without unpacking it. */
#include <stdio.h>
#include <unistd.h>

#include <berth/mem.h>

#include "cli/workspace.h"

/* Its checkpoints stayed when the workspace went; where there are none, no place is made for any. */
static int open_store_left(struct workspace_cli *x, struct workspace_place *p, struct err *e)
{
	AUTO_FREE char *dir =
		xasprintf("%s/checkpoints/%s/%s", x->dir, workspace_kind_folder(p->kind), p->name);

	if (access(dir, F_OK) < 0)
		return 0;
	p->store = workspace_cli_store(x, p->kind, p->name, e);
	return p->store ? 0 : -1;
}

static int open_archive_side(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e)
{
	struct workspace_place *p = &s->place;

	*s = (struct workspace_side){.place.root = -1, .archive = -1, .scratch = -1};
	if (workspace_cli_find_archive(x, said, e))
		return -1;
	p->kind = x->kind;
	snprintf(p->name, sizeof p->name, "%s", x->name);
	snprintf(p->path, sizeof p->path, "archives/%s", x->path);
	snprintf(s->name, sizeof s->name, "%s", p->path);
	s->archive = workspace_open_archive(x->all, p->kind, p->name, &s->scratch, e);
	if (s->archive < 0 || open_store_left(x, p, e))
		return -1;
	s->tree = checkpoint_archive_open(s->archive, s->name, e);
	return s->tree ? 0 : -1;
}

int workspace_side_open_any(
	struct workspace_cli *x, const char *said, struct workspace_side *s, struct err *e)
{
	const char *archive = workspace_cli_archive_word(said);

	return archive ? open_archive_side(x, archive, s, e) : workspace_side_open(x, said, s, e);
}

int workspace_side_fetch(struct workspace_side *s, const struct checkpoint_entry *const *files,
	size_t n, struct err *e)
{
	return s->archive < 0
		? 0
		: checkpoint_archive_fetch(s->tree, s->archive, s->scratch, files, n, e);
}
