/* flags_work.c - looks for what is suspicious in a workspace on a worker thread. */
#include "views/workspaces/flags_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <berth/file.h>
#include <berth/mem.h>

static void look_for_flags(struct view_work *w)
{
	struct flags_work *f = (struct flags_work *)w;
	AUTO_CLOSE int dir = open(f->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0)
		err_sys(&f->err, errno, "cannot read %s", f->path);
	else
		flags_find(dir, f->path, f->points, f->npoints, &f->flags, &f->err);
}

static void drop_flags(struct view_work *w)
{
	flags_work_drop((struct flags_work *)w);
}

struct flags_work *flags_work_new(const struct overview_one *one)
{
	struct flags_work *f = xcalloc(1, sizeof *f);

	f->work = (struct view_work){look_for_flags, drop_flags};
	f->path = xstrdup(one->path);
	f->npoints = one->npoints;
	f->points = xcalloc(one->npoints + 1, sizeof *f->points);
	memcpy(f->points, one->points, one->npoints * sizeof *f->points);
	return f;
}

void flags_work_drop(struct flags_work *f)
{
	if (!f)
		return;
	flags_release(&f->flags);
	free(f->points);
	free(f->path);
	free(f);
}
