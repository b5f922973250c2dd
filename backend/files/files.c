/* files.c - opening the engine, its operations as jobs, tokens of what was read. */
#include "files/files.h"

#include <berth/clock.h>
#include <berth/mem.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "files/disk/ring.h"
#include "files/common/internal.h"

/* Two ticks of the slowest clock in use (CONFIG_HZ=100): a file changed that short before it was
 * read may change again without a new time stamp. */
#define RACY_NS 20000000

static struct files *open_with(const struct files_options *o)
{
	struct files *f = xcalloc(1, sizeof *f);

	f->pool = pool_new();
	f->cpu_width = o->cpu_width;
	f->told = o->shown;
	f->io_depth = o->io_depth > FILES_IO_DEPTH ? FILES_IO_DEPTH : o->io_depth;
	f->uring = o->io_uring;
	f->avoid = o->avoid;
	snprintf(f->owner, sizeof f->owner, "%s", o->owner ? o->owner : "");
	snprintf(f->program, sizeof f->program, "%s", o->program ? o->program : "files");
	pthread_mutex_init(&f->board_lock, NULL);
	pthread_mutex_init(&f->ring_lock, NULL);
	pthread_mutex_init(&f->disk_lock, NULL);
	slab_store_init(&f->store);
	return f;
}

struct files *files_open(const struct files_options *o)
{
	struct files *f = open_with(o);

	f->board_tried = (o->avoid & FILES_AVOID_BOARD) != 0;
	f->own_board = true;
	return f;
}

struct files *files_open_on(struct board *board, const struct files_options *o)
{
	struct files *f = open_with(o);

	f->board = board;
	f->board_tried = true;
	return f;
}

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

void files_close(struct files *f)
{
	if (!f)
		return;
	pool_free(f->pool);
	ring_free(f->ring);
	if (f->own_board)
		board_close(f->board);
	pthread_mutex_destroy(&f->board_lock);
	pthread_mutex_destroy(&f->ring_lock);
	pthread_mutex_destroy(&f->disk_lock);
	slab_store_release(&f->store);
	free(f);
}

void files_cancel(struct files *f)
{
	atomic_fetch_add(&f->cancels, 1);
}

bool files_progress(struct files *f, struct job_info *out)
{
	struct job_info jobs[64];
	uint32_t serial = atomic_load(&f->running);
	size_t n = serial ? jobs_read(f->board, jobs, COUNT(jobs)) : 0;

	for (size_t i = 0; i < n; i++)
		if (jobs[i].own && jobs[i].id.serial == serial) {
			*out = jobs[i];
			return true;
		}
	return false;
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

int op_cancelled(struct err *e)
{
	return err_set(e, ERR_CANCELLED, "cancelled before it was done");
}

struct err *err_box(const struct err *e)
{
	struct err *box = xmalloc(sizeof *box);

	*box = *e;
	return box;
}

static int64_t timespec_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

int64_t stat_mtime_ns(const struct stat *st)
{
	return timespec_ns(&st->st_mtim);
}

int64_t token_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME_COARSE, &now);
	return timespec_ns(&now);
}

void token_fill(struct files_token *t, const struct stat *st, int64_t read_ns)
{
	*t = (struct files_token){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = timespec_ns(&st->st_mtim),
		.ctime_ns = timespec_ns(&st->st_ctim),
		.read_ns = read_ns,
	};
}

void token_hash(struct files_token *t, const void *bytes, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(bytes, n);

	t->hash[0] = h.high64;
	t->hash[1] = h.low64;
	t->hashed = true;
}

bool token_racy(const struct files_token *t)
{
	/* ctime moves with every change, whatever somebody does to mtime. */
	return t->ctime_ns + RACY_NS > t->read_ns;
}

static bool same_content(const struct files_token *t, int fd)
{
	AUTO_FREE char *buf = xmalloc(256 * 1024);
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t h;
	off_t at = 0;
	ssize_t n;

	XXH3_128bits_reset(state);
	while ((n = pread(fd, buf, 256 * 1024, at)) > 0) {
		XXH3_128bits_update(state, buf, (size_t)n);
		at += n;
	}
	h = XXH3_128bits_digest(state);
	XXH3_freeState(state);
	return n == 0 && h.high64 == t->hash[0] && h.low64 == t->hash[1];
}

bool token_holds(const struct files_token *t, const struct stat *st, int fd)
{
	bool same = t->dev == st->st_dev && t->ino == st->st_ino &&
		t->size == (uint64_t)st->st_size && t->mtime_ns == timespec_ns(&st->st_mtim) &&
		t->ctime_ns == timespec_ns(&st->st_ctim);

	if (same && !token_racy(t))
		return true;
	/* The same bytes under new time stamps are what the reader saw, too. */
	return t->hashed && t->size == (uint64_t)st->st_size && same_content(t, fd);
}

char *files_token_print(char buf[FILES_TOKEN_MAX], const struct files_token *t)
{
	int n = snprintf(buf, FILES_TOKEN_MAX,
		"1:%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64 ":%" PRIx64, t->dev,
		t->ino, t->size, (uint64_t)t->mtime_ns, (uint64_t)t->ctime_ns,
		(uint64_t)t->read_ns);

	if (t->hashed)
		snprintf(buf + n, FILES_TOKEN_MAX - (size_t)n, ":%016" PRIx64 ":%016" PRIx64,
			t->hash[0], t->hash[1]);
	return buf;
}

int files_token_parse(const char *text, struct files_token *t, struct err *e)
{
	uint64_t v[8];
	size_t n = 0;
	const char *at = text;

	if (strncmp(at, "1:", 2) == 0)
		for (at += 1; *at == ':' && n < COUNT(v);) {
			size_t digits = strspn(++at, "0123456789abcdef");

			if (digits == 0 || digits > 16)
				break;
			v[n++] = strtoull(at, NULL, 16);
			at += digits;
		}
	if (*at || (n != 6 && n != 8))
		return err_set(e, ERR_USAGE,
			"%.40s is not a version token: use the one that the read printed", text);
	*t = (struct files_token){v[0], v[1], v[2], (int64_t)v[3], (int64_t)v[4], (int64_t)v[5],
		{n == 8 ? v[6] : 0, n == 8 ? v[7] : 0}, n == 8};
	return 0;
}
