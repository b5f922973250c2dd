/* live.c - hands on what the keeper counts, in a file that no task can write. */
#include "workspace/workspace_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/file.h>
#include <berth/live.h>
#include <berth/mem.h>
#include <berth/str.h>
#include <berth/text.h>

#define LIVE ".live"
#define NOW LIVE "/now"
#define LIVE_MAX (4u << 20)

int live_start(struct workspaces *w, struct err *e)
{
	AUTO_CLOSE int fd = -1;

	if (mkdirat(w->fd, LIVE, 0700) < 0 && errno != EEXIST)
		return err_sys(e, errno, "cannot make " LIVE " in %.300s", w->dir);
	unlinkat(w->fd, NOW, 0); /* a dead one's */
	fd = openat(w->fd, LIVE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno, "cannot open " LIVE " in %.300s", w->dir);
	/* Readers hold it for a moment. */
	while (flock(fd, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock " LIVE " in %.300s", w->dir);
	return steal_fd(&fd);
}

int live_write(struct workspaces *w, const struct live *all, size_t n, struct err *e)
{
	AUTO_FREE char *path = xasprintf("%s/" NOW, w->dir);
	AUTO_STR struct str text = STR_INIT;

	for (size_t i = 0; i < n; i++) {
		const struct live *l = &all[i];

		str_addf(&text,
			"%d %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %d %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
			" %" PRId64 " %" PRIu64 " %" PRIu64 "\n",
			(int)l->kind, l->name, l->inode, l->amount.bytes, l->amount.files,
			l->amount.unread, l->bytes, l->files, l->partly, l->changed_ns, l->flags_ns,
			l->flags.executables, l->flags.links, l->flags.secrets, l->flags.small,
			l->flags.small_ns, l->flags.unsearched, l->flags.unread);
	}
	return file_replace(path, text.s, text.len, false) < 0
		? err_sys(e, errno, "cannot save what is counted in %.300s", w->dir)
		: 0;
}

int64_t live_since(struct workspaces *w, const struct workspace_info *i)
{
	AUTO_FREE char *held = xasprintf(".held/%s:%s", workspace_kind_name(i->kind), i->name);
	AUTO_FREE char *store =
		xasprintf("../checkpoints/%s/%s", workspace_kind_folder(i->kind), i->name);
	char newest[CHECKPOINT_NAME_MAX + 1];
	int64_t since = 0, made;
	struct stat st;

	if (fstatat(w->fd, held, &st, AT_SYMLINK_NOFOLLOW) == 0)
		since = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	checkpoint_glance(w->fd, store, newest, &made);
	return made > since ? made : since;
}

static bool parse_live(const char *line, struct live *l)
{
	int kind, partly, used = 0;

	*l = (struct live){0};
	if (sscanf(line,
		    "%d %64s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %d %" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		    " %" SCNd64 " %" SCNu64 " %" SCNu64 "%n",
		    &kind, l->name, &l->inode, &l->amount.bytes, &l->amount.files,
		    &l->amount.unread, &l->bytes, &l->files, &partly, &l->changed_ns, &l->flags_ns,
		    &l->flags.executables, &l->flags.links, &l->flags.secrets, &l->flags.small,
		    &l->flags.small_ns, &l->flags.unsearched, &l->flags.unread, &used) != 18 ||
		line[used] || kind < 0 || kind >= WORKSPACE_KINDS ||
		!text_is_plain_name(l->name, WORKSPACE_NAME_MAX))
		return false;
	l->kind = (enum workspace_kind)kind;
	l->partly = partly != 0;
	return true;
}

static bool is_kept(struct workspaces *w)
{
	AUTO_CLOSE int fd = openat(w->fd, LIVE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
}

size_t live_read(struct workspaces *w, struct live **ret)
{
	AUTO_STR struct str text = STR_INIT;
	size_t n = 0, cap = 0;

	*ret = NULL;
	if (!is_kept(w) || file_read(w->fd, NOW, O_NOFOLLOW, LIVE_MAX, &text, NULL) < 0)
		return 0;
	for (char *rest = NULL, *line = strtok_r(text.s, "\n", &rest); line;
		line = strtok_r(NULL, "\n", &rest)) {
		*ret = mem_grow(*ret, &cap, n + 1, sizeof **ret);
		n += parse_live(line, &(*ret)[n]);
	}
	return n;
}

const struct live *live_find(const struct live *all, size_t n, const struct workspace_info *i)
{
	for (size_t k = 0; k < n; k++)
		if (all[k].kind == i->kind && all[k].inode == i->inode &&
			strcmp(all[k].name, i->name) == 0)
			return &all[k];
	return NULL;
}
