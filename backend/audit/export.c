/* export.c - exports the audit log as one file, reads its head, and verifies it on a thread. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/check.h>
#include <berth/clock.h>
#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "audit/record.h"
#include "audit/source.h"

#define WRITE_AT ((size_t)1 << 20)
#define HEAD_WAIT_MS 10000
#define EXPORT_TRIES 100 /* that retention may outrun */

/* The first key is in the first record; in a pruned log the first checkpoint tells it. */
static void learn_key(const char *line, size_t len, struct arena *mem, char key[AUDIT_HEX])
{
	struct audit_record r;
	const char *hex;

	arena_reset(mem);
	if (key[0] || !record_parse(line, len, mem, &r))
		return;
	hex = r.operation == OP_LOG_START || r.operation == OP_LOG_CHECKPOINT
		? record_param(&r, "key")
		: NULL;
	if (hex && strlen(hex) == 2 * SEAL_KEY)
		memcpy(key, hex, AUDIT_HEX);
}

static int copy_lines(
	struct source *src, int fd, uint64_t *records, char key[AUDIT_HEX], struct err *e)
{
	AUTO_STR struct str out = STR_INIT;
	off_t at = SOURCE_BUNDLE_LINE;
	struct arena mem;
	const char *line;
	size_t len;
	int ret;

	arena_init(&mem, 8192);
	do {
		struct record_frame f;

		ret = source_line(src, &line, &len, e);
		if (ret > 0) {
			if (!key[0] && record_frame(line, len, &f) && f.internal)
				learn_key(line, len, &mem, key);
			str_add(&out, line, len);
			str_addc(&out, '\n');
			++*records;
		}
		if (out.len && (ret <= 0 || out.len >= WRITE_AT)) {
			if (audit_pwrite_all(&audit_sys_real, fd, out.s, out.len, at) < 0)
				ret = err_sys(e, errno, "Cannot write the bundle");
			at += (off_t)out.len;
			str_clear(&out);
		}
	} while (ret > 0);
	arena_release(&mem);
	return ret;
}

/* Fills the file; *ret_moved: in vain, for what was still to be copied may have been pruned meanwhile. */
static int write_bundle(
	const char *dir, const char *to, int fd, uint64_t *records, bool *ret_moved, struct err *e)
{
	char first[SOURCE_BUNDLE_LINE], key[AUDIT_HEX] = "";
	struct source src;
	int ret;

	*records = 0;
	if (ftruncate(fd, 0) < 0)
		return err_sys(e, errno, "Cannot write %s", to);
	if (source_open(&src, dir, e) < 0)
		return -1;
	ret = copy_lines(&src, fd, records, key, e);
	/* A segment that is gone; what else fails would fail again. */
	*ret_moved = ret < 0 && e->sys == ENOENT && source_moved(&src, dir);
	if (ret == 0) {
		source_bundle_line(first, key[0] ? key : "0", &src.head);
		if (audit_pwrite_all(&audit_sys_real, fd, first, sizeof first, 0) < 0 ||
			fsync(fd) < 0)
			ret = err_sys(e, errno, "Cannot write %s", to);
	}
	source_close(&src);
	return ret;
}

int audit_export(const char *dir, const char *to, uint64_t *ret_records, struct err *e)
{
	uint64_t records = 0;
	struct source src;
	struct err why;
	bool moved;
	int fd, ret, tries = 0;

	/* Nothing is made where there is no log. */
	if (source_open(&src, dir, e) < 0)
		return -1;
	source_close(&src);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_sys(e, errno, "Cannot make %s", to);
	do {
		why = (struct err)ERR_INIT;
		moved = false;
		ret = write_bundle(dir, to, fd, &records, &moved, &why);
	} while (moved && ++tries < EXPORT_TRIES);
	close(fd);
	/* Half a bundle would only be mistaken for a whole one. */
	if (ret < 0)
		unlink(to);
	if (ret_records)
		*ret_records = records;
	return ret < 0 ? err_copy(e, &why) : 0;
}

/* Without the writers' lock, so that nobody who is stopped while holding it stops us: half of a new head does not
 * fit its check sum, and a moment later it is whole.  With it only where the head stays damaged: the first writer may
 * just be making the log.  0; or -1, and *ret_empty: nobody has ever written one. */
static int read_log_head(int fd, const char *path, struct head *ret, bool *ret_empty, struct err *e)
{
	char raw[HEAD_SIZE];
	ssize_t n = 0;

	*ret_empty = false;
	for (int i = 0; i < 100; i++)
		if (file_fill_at(fd, raw, sizeof raw, 0) == HEAD_SIZE && head_parse(raw, ret))
			return 0;
	if (head_lock(fd, false, HEAD_WAIT_MS, e) < 0)
		return -1;
	n = file_fill_at(fd, raw, sizeof raw, 0);
	head_unlock(fd);
	if (n == HEAD_SIZE && head_parse(raw, ret))
		return 0;
	*ret_empty = n == 0;
	return err_set(e, ERR_FAILED,
		"The audit log's head file in %s is damaged; run \"berth audit verify\".", path);
}

int audit_head_read(const char *dir, struct audit_head *h, struct err *e)
{
	char path[PATH_MAX];
	AUTO_CLOSE int dfd = segments_dir(dir, false, path, sizeof path, e);
	AUTO_CLOSE int fd =
		dfd < 0 ? -1 : openat(dfd, "head", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct err why = ERR_INIT;
	struct segments s;
	struct head head;
	bool empty;
	int failed;

	if (dfd < 0)
		return -1;
	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "There is no audit log in %s yet.", path);
	if (fd < 0)
		return err_sys(e, errno, "Cannot read the audit log's head in %s", path);
	failed = read_log_head(fd, path, &head, &empty, &why);
	if (segments_list(dfd, &s, e) < 0)
		return -1;
	if (failed) {
		if (empty && !s.n)
			err_set(e, ERR_NOT_FOUND, "There is no audit log in %s yet.", path);
		else
			err_copy(e, &why);
		segments_release(&s);
		return -1;
	}
	memset(h, 0, sizeof *h);
	h->seq = head.seq;
	h->first = head.pruned_to + 1;
	h->signed_seq = head.signed_seq;
	h->checkpoints = head.checkpoints;
	h->segments = (unsigned)s.n;
	for (size_t i = 0; i < s.n; i++)
		h->bytes += s.v[i].size;
	hex_digits(h->hash, head.hash, SEAL_HASH);
	hex_digits(h->next_key, head.next_key, SEAL_KEY);
	segments_release(&s);
	return 0;
}

/* -- checking on a thread ------------------------------------------------------------------------
 */

struct audit_check {
	pthread_t thread;
	char *path;
	pthread_mutex_t lock;
	struct audit_check_state state; /* under lock */
	bool stop;                      /* under lock */
	bool threaded; /* false: the system refused the thread, and state says so */
};

static bool on_verify_progress(void *ctx, uint64_t done, uint64_t total)
{
	struct audit_check *c = ctx;
	bool stop;

	pthread_mutex_lock(&c->lock);
	c->state.bytes_done = done;
	c->state.bytes_total = total;
	stop = c->stop;
	pthread_mutex_unlock(&c->lock);
	return stop;
}

static void *run_check(void *arg)
{
	struct audit_check *c = arg;
	struct audit_verify what = {.path = c->path, .progress = on_verify_progress, .ctx = c};
	struct audit_verdict verdict;
	struct err err = ERR_INIT;

	audit_verify(&what, &verdict, &err);
	pthread_mutex_lock(&c->lock);
	c->state.verdict = verdict;
	c->state.err = err;
	c->state.at_wall_ms = clock_wall_ms();
	c->state.done = true;
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct audit_check *audit_check_start(const char *path)
{
	struct audit_check *c = xcalloc(1, sizeof *c);
	int failed;

	c->path = xstrdup(path);
	pthread_mutex_init(&c->lock, NULL);
	failed = spawn_thread(&c->thread, run_check, c);
	c->threaded = !failed;
	if (failed) {
		err_sys(&c->state.err, failed, "Cannot start a thread to check the log");
		c->state.at_wall_ms = clock_wall_ms();
		c->state.done = true;
	}
	return c;
}

void audit_check_poll(struct audit_check *c, struct audit_check_state *ret)
{
	pthread_mutex_lock(&c->lock);
	*ret = c->state;
	pthread_mutex_unlock(&c->lock);
}

void audit_check_free(struct audit_check *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	c->stop = true;
	pthread_mutex_unlock(&c->lock);
	if (c->threaded)
		pthread_join(c->thread, NULL);
	pthread_mutex_destroy(&c->lock);
	free(c->path);
	free(c);
}
