/* op.c - operations as jobs: begun, shown when they take a while, ended with a sentence. */
#include "files/common/op.h"

#include <stdarg.h>
#include <stdio.h>

#include <berth/format.h>
#include <berth/mem.h>

/* Making the board takes longer than a small operation. */
static struct board *board_of(struct files *f)
{
	pthread_mutex_lock(&f->board_lock);
	if (!f->board_tried)
		f->board = board_open(f->program, NULL);
	f->board_tried = true;
	pthread_mutex_unlock(&f->board_lock);
	return f->board;
}

unsigned files_width(struct files *f)
{
	if (!f->cpu_width)
		f->cpu_width = pool_processors();
	return f->cpu_width;
}

static _Thread_local const struct op *within;

void op_within(const struct op *outer)
{
	within = outer;
}

static void show_job(struct op *op, const char *unit, const char *name, va_list ap)
{
	struct files *f = op->files;
	struct board *board = board_of(f);
	char text[JOB_TEXT_MAX];

	if (board)
		vsnprintf(text, sizeof text, name, ap);
	op->job = job_new(board, board ? text : "", f->owner, unit, true);
	op->shown = true;
	if (board)
		atomic_store(&f->running, job_id(op->job).serial);
	if (f->told)
		f->told();
}

void op_begin(struct op *op, struct files *f, const char *unit, const char *name, ...)
{
	va_list ap;

	op->files = f;
	op->outer = within;
	op->cancels = atomic_load(&f->cancels);
	va_start(ap, name);
	show_job(op, unit, name, ap);
	va_end(ap);
}

void op_begin_small(struct op *op, struct files *f)
{
	op->files = f;
	op->outer = within;
	op->cancels = atomic_load(&f->cancels);
	op->job = NULL;
	op->shown = false;
}

void op_publish(struct op *op, const char *unit, const char *name, ...)
{
	va_list ap;

	if (op->shown)
		return;
	va_start(ap, name);
	show_job(op, unit, name, ap);
	va_end(ap);
}

int op_end(struct op *op, int rc, const struct err *e, const char *result, ...)
{
	char text[JOB_TEXT_MAX];
	va_list ap;

	if (!op->shown)
		return rc;
	va_start(ap, result);
	vsnprintf(text, sizeof text, result, ap);
	va_end(ap);
	if (rc == 0)
		job_end(op->job, JOB_DONE, text);
	else
		job_end(op->job, e && e->kind == ERR_CANCELLED ? JOB_CANCELLED : JOB_FAILED,
			e ? e->msg : "It failed.");
	return rc;
}

char *op_bytes(char *buf, uint64_t n)
{
	return n < 1024 ? format_counted(buf, n, "byte", "bytes") : format_bytes(buf, n);
}

int op_cancelled(struct err *e)
{
	return err_set(e, ERR_CANCELLED, "cancelled before it finished");
}

struct err *err_box(const struct err *e)
{
	struct err *box = xmalloc(sizeof *box);

	*box = *e;
	return box;
}
