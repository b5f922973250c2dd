/* limits.c - records the limits of a workspace, in a file that no task can write. */
#include "workspace/workspace_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/mem.h>
#include <berth/str.h>

#define LIMITED ".limits"
#define LIMITED_MAX 200 /* bytes of one */
#define LIMITED_PATH (sizeof LIMITED "/project:" + WORKSPACE_NAME_MAX)

static const char *const breaches[] = {[WORKSPACE_FREEZE] = "freeze",
	[WORKSPACE_WARN] = "warn",
	[WORKSPACE_KILL] = "kill",
	[WORKSPACE_REFUSE] = "refuse"};

const char *workspace_breach_name(enum workspace_breach b)
{
	return breaches[b];
}

static void name_limits(char path[LIMITED_PATH], enum workspace_kind kind, const char *name)
{
	snprintf(path, LIMITED_PATH, LIMITED "/%s:%s", workspace_kind_name(kind), name);
}

/* "INODE BYTES FILES BREACH LET_BYTES LET_FILES": of another directory of that name it says nothing. */
void workspace_limits(
	struct workspaces *w, const struct workspace_info *i, struct workspace_limits *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct workspace_limits l;
	char path[LIMITED_PATH];
	uint64_t inode;
	int breach;

	name_limits(path, i->kind, i->name);
	if (file_read(w->fd, path, O_NOFOLLOW, LIMITED_MAX, &text, NULL) < 0 ||
		sscanf(text.s, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %d %" SCNu64 " %" SCNu64,
			&inode, &l.bytes, &l.files, &breach, &l.let_bytes, &l.let_files) != 6 ||
		inode != i->inode || breach < 0 || breach >= WORKSPACE_BREACHES)
		return;
	l.breach = (enum workspace_breach)breach;
	*ret = l;
}

int workspace_keep_limits(struct workspaces *w, uint64_t inode, enum workspace_kind kind,
	const char *name, const struct workspace_limits *l, struct err *e)
{
	char record[LIMITED_PATH], text[LIMITED_MAX];
	AUTO_FREE char *path = NULL;
	int n;

	name_limits(record, kind, name);
	path = xasprintf("%s/%s", w->dir, record);
	n = snprintf(text, sizeof text,
		"%" PRIu64 " %" PRIu64 " %" PRIu64 " %d %" PRIu64 " %" PRIu64 "\n", inode, l->bytes,
		l->files, (int)l->breach, l->let_bytes, l->let_files);
	if ((mkdirat(w->fd, LIMITED, 0700) < 0 && errno != EEXIST) ||
		file_replace(path, text, (size_t)n, true) < 0)
		return err_sys(e, errno, "cannot save the limits of %s", strchr(record, '/') + 1);
	return 0;
}

static const char *const kinds_kept[] = {[WORKSPACE_COUNTED] = "counted",
	[WORKSPACE_PROJECT_QUOTA] = "project quota",
	[WORKSPACE_LOOP_IMAGE] = "loop image"};

const char *workspace_limit_kind(enum workspace_kept k)
{
	return kinds_kept[k];
}

bool workspace_over(const struct workspace_limits *l, const struct workspace_amount *a)
{
	uint64_t bytes = l->let_bytes > l->bytes ? l->let_bytes : l->bytes;
	uint64_t files = l->let_files > l->files ? l->let_files : l->files;

	return (l->bytes && a->bytes > bytes) || (l->files && a->files > files);
}
