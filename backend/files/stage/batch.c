/* batch.c - keeps the errors and staged names of the items of a batch. */
#include "files/stage/batch.h"

#include <errno.h>

void batch_fail(struct batch *b, struct batch_item *it, const struct err *e)
{
	if (it->res->err)
		return;
	it->res->err = err_box(e);
	atomic_fetch_add(&b->failed, 1);
	job_fail(b->op.job, e->msg);
}

int batch_far(const struct batch_item *it, struct err *e)
{
	return err_set(e, ERR_REFUSED,
		"%.200s is on another file system than the root: open that as a root",
		it->put->path);
}

int batch_name(struct batch *b, struct batch_item *it, struct err *e)
{
	if (it->staged)
		return 0;
	stage_name(b->staging, it->j.stage);
	if (staging_link(it->fd, b->staging->stage, it->j.stage) < 0)
		return errno == EXDEV
			? batch_far(it, e)
			: err_sys(e, errno, "cannot make room for %.200s", it->put->path);
	it->staged = true;
	return 0;
}
