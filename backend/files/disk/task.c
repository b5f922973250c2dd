/* task.c - reads one file: limits, memory, the lines asked for, its token. */
#include "files/disk/reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <berth/mem.h>

#include "files/common/seeklines.h"

#define PROC_STEP 65536   /* files that claim to be empty are read in such steps */
#define BUDGET (1u << 20) /* of the total limit, taken by a worker in advance */
#define EMFILE_RETRIES 1000

static const char *want_name(const struct files_want *w)
{
	return w->named ? w->named : w->path;
}

void task_fail(struct reading *r, struct task *t, int errnum, const char *verb)
{
	struct err e = ERR_INIT;

	path_error(&e, errnum, verb, want_name(t->want));
	task_drop(t);
	t->got->err = err_box(&e);
	atomic_fetch_add(&r->failed, 1);
	op_add(&r->op, 1, 0);
	if (r->op.job)
		job_fail(r->op.job, e.msg);
}

void task_drop(struct task *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
	t->got->bytes = NULL;
	t->got->len = 0;
}

void task_refuse(struct reading *r, struct task *t, const struct err *e)
{
	task_drop(t);
	t->got->err = err_box(e);
	atomic_fetch_add(&r->failed, 1);
	op_add(&r->op, 1, 0);
	if (r->op.job)
		job_fail(r->op.job, e->msg);
}

/* Take `n` bytes of the total that may be held: in advance while there is plenty. */
static bool reserve_bytes(struct reading *r, struct task *t, uint64_t n)
{
	struct reader *me = t->me;
	uint64_t most = r->options.max_total_bytes;
	struct err e; /* clearing it takes as long as a call */

	if (n <= me->budget) {
		me->budget -= n;
		return true;
	}
	n -= me->budget;
	if (atomic_fetch_add(&r->taken, n + BUDGET) + n + BUDGET <= most) {
		me->budget = BUDGET;
		return true;
	}
	if (atomic_fetch_sub(&r->taken, BUDGET) - BUDGET <= most) {
		me->budget = 0;
		return true;
	}
	atomic_fetch_sub(&r->taken, n);
	err_set(&e, ERR_REFUSED,
		"%.200s would take the batch beyond its limit of %llu bytes: read fewer files at once",
		want_name(t->want), (unsigned long long)most);
	task_refuse(r, t, &e);
	return false;
}

/* Where the lines asked for begin in a file that is not read from its start.  -1 and errno. */
static int seek_lines(const struct reading *r, struct task *t)
{
	const struct files_want *w = t->want;
	uint64_t size = (uint64_t)t->st.st_size, lines = w->first_line - 1;
	int rc;

	if (w->tail_lines)
		return lines_back(t->fd, size, w->tail_lines, &r->op, &t->offset);
	/* What is read from its start anyway is cut in memory. */
	if (w->first_line < 2 || w->offset || size <= r->options.max_file_bytes)
		return 0;
	rc = lines_skip(t->fd, &t->offset, &lines, &r->op);
	t->line = w->first_line - lines;
	return rc;
}

bool task_plan(struct reading *r, struct task *t)
{
	const struct files_want *w = t->want;
	struct err e; /* clearing it takes as long as a call */
	uint64_t size, want;

	t->planned = true;
	if (path_regular(t->fd, want_name(w), &t->st, &e) < 0) {
		task_refuse(r, t, &e);
		return false;
	}
	if (seek_lines(r, t) < 0) {
		task_fail(r, t, errno, "read");
		return false;
	}
	size = (uint64_t)t->st.st_size;
	t->limit = r->options.max_file_bytes;
	if (w->length && w->length < t->limit)
		t->limit = w->length;
	want = size > t->offset ? size - t->offset : 0;
	if (want > t->limit)
		want = t->limit;
	if (!reserve_bytes(r, t, want))
		return false;
	/* One byte more than expected: a file that grew or whose size is a lie shows by filling it.
	 */
	t->cap = (size_t)want + (want < t->limit);
	if (want == 0)
		t->cap = t->limit < PROC_STEP ? (size_t)t->limit : PROC_STEP;
	t->got->bytes = slab_alloc(&t->me->slab, t->cap + 1);
	return true;
}

static bool has_file_moved(const struct stat *a, const struct stat *b)
{
	return a->st_size != b->st_size || a->st_mtim.tv_sec != b->st_mtim.tv_sec ||
		a->st_mtim.tv_nsec != b->st_mtim.tv_nsec ||
		a->st_ctim.tv_sec != b->st_ctim.tv_sec || a->st_ctim.tv_nsec != b->st_ctim.tv_nsec;
}

/* Keep only the lines asked for. */
static void cut_lines(struct task *t)
{
	struct files_got *g = t->got;
	uint64_t line = t->line;
	char *from = g->bytes, *end = g->bytes + g->len, *at = from;

	for (; line < t->want->first_line && at < end; line++) {
		char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
	}
	from = at;
	while (t->want->last_line && line <= t->want->last_line && at < end) {
		char *nl = memchr(at, '\n', (size_t)(end - at));

		at = nl ? nl + 1 : end;
		line += nl != NULL; /* without its end the limit may have cut it */
	}
	if (t->want->last_line) {
		/* All lines asked for are here: what the limit cut off was not wanted. */
		if (line > t->want->last_line)
			g->clipped = false;
		end = at > from ? at : from;
	}
	g->len = (size_t)(end - from);
	memmove(g->bytes, from, g->len);
}

/* Everything is in the buffer.  true: it changed under us, read it once more. */
static bool finish_task(struct reading *r, struct task *t)
{
	struct files_got *g = t->got;
	const struct files_want *w = t->want;
	uint64_t size = (uint64_t)t->st.st_size, end = t->offset + g->len;
	bool whole;
	struct stat now;

	/* A second look where the first cannot be trusted: several reads, a size that does not fit,
	 * a file that was being written a moment ago. */
	token_fill(&g->token, &t->st, r->read_ns);
	if ((g->len > PROC_STEP || (end != size && !g->clipped && !w->length) ||
		    token_racy(&g->token)) &&
		fstat(t->fd, &now) == 0 && has_file_moved(&t->st, &now)) {
		t->st = now;
		if (t->attempt++ == 0) {
			g->len = 0;
			g->clipped = false;
			return true;
		}
		g->unstable = true;
		/* Of a time before the change: only its content, maybe torn, can vouch for it. */
		token_fill(&g->token, &now, r->read_ns);
	}
	g->bytes[g->len] = '\0';
	whole = t->offset == 0 && !g->clipped && !w->length;
	if (whole && (r->options.hash || token_racy(&g->token)))
		token_hash(&g->token, g->bytes, g->len);
	if (w->first_line > 1 || w->last_line)
		cut_lines(t);
	g->bytes[g->len] = '\0';
	slab_trim(&t->me->slab, g->bytes, t->cap + 1, g->len + 1);
	reader_close(t->me, t->fd);
	t->fd = -1;
	t->me->items++;
	t->me->bytes += g->len;
	return false;
}

bool task_got(struct reading *r, struct task *t, ssize_t n)
{
	struct files_got *g = t->got;

	if (n < 0) {
		task_fail(r, t, (int)-n, "read");
		return false;
	}
	g->len += (size_t)n;
	/* A short read of a regular file is its end; asking again only where the size said more. */
	if (n == 0 ||
		(g->len < t->cap && t->offset + g->len >= (uint64_t)t->st.st_size &&
			t->st.st_size > 0))
		return finish_task(r, t);
	if (g->len < t->cap)
		return true;
	if (g->len >= t->limit) {
		char more;

		/* A length that was asked for is no cut, a limit below it is. */
		g->clipped =
			t->limit != t->want->length && pread(t->fd, &more, 1, task_offset(t)) > 0;
		return finish_task(r, t);
	}
	/* It grew, or has no size of its own (/proc). */
	size_t step = t->cap < PROC_STEP ? PROC_STEP : t->cap;

	if (step > t->limit - t->cap)
		step = (size_t)(t->limit - t->cap);
	if (!reserve_bytes(r, t, step))
		return false;
	t->cap += step;
	g->bytes = memcpy(slab_alloc(&t->me->slab, t->cap + 1), g->bytes, g->len);
	return true;
}

/* Out of descriptors: others will close theirs.  So wait, but not for ever. */
static int open_patiently(struct reading *r, const char *path)
{
	for (int attempt = 0;; attempt++) {
		int fd = path_open(r->root, path, PATH_READ);

		if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || attempt == EMFILE_RETRIES ||
			op_stopped(&r->op))
			return fd;
		usleep(attempt < 10 ? 50 : 1000);
	}
}

void task_block(struct reading *r, struct task *t)
{
	struct err e = ERR_INIT;
	ssize_t n;
	size_t room;

	if (t->fd < 0) {
		if (path_check(t->want->path, &e) < 0) {
			task_refuse(r, t, &e);
			return;
		}
		t->fd = open_patiently(r, t->want->path);
		if (t->fd < 0) {
			task_fail(r, t, errno, "read");
			return;
		}
	}
	if (!t->planned && !task_plan(r, t))
		return;
	do {
		void *to = task_buffer(t, &room);

		if (op_stopped(&r->op)) {
			task_drop(t);
			return;
		}
		n = pread(t->fd, to, room > 1 << 20 ? 1 << 20 : room, task_offset(t));
	} while ((n < 0 && errno == EINTR) || task_got(r, t, n < 0 ? -errno : n));
}
