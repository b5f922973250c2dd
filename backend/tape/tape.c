/* tape.c - writing: moments go to a thread, which makes lines of them, compresses them and writes them. */
#include <berth/tape.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zlib.h>

#include <berth/check.h>
#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/message.h>
#include <berth/spawn.h>
#include <berth/snapshot.h>

#include "base/mailbox.h"
#include "base/snapshot.h"
#include "tape/shape.h"

#define WAITING_MOST ((size_t)64 << 20) /* weight of what is not yet written */
#define FLUSH_MS 1000                   /* what a console that is killed may leave unwritten */

struct moment_mail {
	struct mail mail; /* first */
	struct tape_moment m;
	struct tape_input input;
	char *text; /* the input's */
};

struct tape {
	char *path;
	pthread_t thread;
	struct mailbox box;
	int wake_fd;
	atomic_bool quit, ended; /* ended: why is in `trouble`, which is not written any more */
	atomic_bool crowded;     /* more came than could be written */
	bool begun, told;
	/* the thread's, until it ended */
	gzFile file;
	int64_t flush_at_ms; /* real time, 0: all is flushed */
	struct err trouble;
};

/* ---- the thread */

static void fail_tape(struct tape *t, const char *what, int number)
{
	if (atomic_load(&t->ended))
		return;
	if (number)
		err_sys(&t->trouble, number, "The recording %s ends here: it cannot be written",
			t->path);
	else
		err_set(&t->trouble, ERR_FAILED, "The recording %s ends here: %s", t->path, what);
	atomic_store(&t->ended, true);
}

static void check_write(struct tape *t, bool good)
{
	int number = errno;

	if (!good)
		fail_tape(t, "it cannot be compressed.", number);
	else if ((size_t)gzoffset(t->file) > TAPE_FILE_MAX)
		fail_tape(t, "it has reached 256 MiB.", 0);
}

static void write_tape_line(struct tape *t, const struct str *line)
{
	if (atomic_load(&t->ended))
		return;
	if (line->len >= TAPE_LINE_MAX) {
		fail_tape(t, "more happened at once than it can hold.", 0);
		return;
	}
	errno = 0;
	check_write(t, gzwrite(t->file, line->s, (unsigned)line->len) == (int)line->len);
	if (!t->flush_at_ms)
		t->flush_at_ms = clock_real_ms() + FLUSH_MS;
}

static void write_moment(struct tape *t, const struct tape_moment *m)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_int(&j, "at", m->mono_ns);
	jsonw_int(&j, "wall", m->wall_ms);
	if (m->sent)
		jsonw_uint(&j, "sent", m->sent);
	if (m->snapshot)
		shape_write(&j, "snapshot", &shape_snapshot, m->snapshot);
	else if (m->event)
		shape_write(&j, "event", &shape_event, m->event);
	else if (m->input)
		shape_write(&j, "input", &shape_input, m->input);
	else
		jsonw_uint(&j, "picture", m->picture);
	jsonw_end(&j);
	write_tape_line(t, &j.out);
	jsonw_release(&j);
}

static void drop_moment(struct moment_mail *l)
{
	snapshot_unref(l->m.snapshot);
	event_free(l->m.event);
	free(l->text);
	free(l);
}

static void drain_tape(struct tape *t)
{
	struct moment_mail *l;

	while ((l = (struct moment_mail *)mailbox_take(&t->box))) {
		write_moment(t, &l->m);
		drop_moment(l);
	}
	if (atomic_load(&t->crowded))
		fail_tape(t, "the disk is too slow.", 0);
}

static void flush_tape(struct tape *t)
{
	t->flush_at_ms = 0;
	if (atomic_load(&t->ended))
		return;
	errno = 0;
	check_write(t, gzflush(t->file, Z_SYNC_FLUSH) == Z_OK);
}

/* Until the next flush is due, however much comes in between; -1: for ever. */
static int wait_ms_of_tape(const struct tape *t)
{
	int64_t left = t->flush_at_ms - clock_real_ms();

	if (!t->flush_at_ms)
		return -1;
	return left < 0 ? 0 : (int)left;
}

static void *run_tape(void *ctx)
{
	struct tape *t = ctx;
	struct pollfd p = {.fd = t->wake_fd, .events = POLLIN};
	uint64_t drop;
	bool last;

	do {
		int n = poll(&p, 1, wait_ms_of_tape(t));

		last = atomic_load(&t->quit);
		if (n > 0 && read(t->wake_fd, &drop, sizeof drop) < 0)
			continue;
		drain_tape(t);
		if (wait_ms_of_tape(t) == 0)
			flush_tape(t);
	} while (!last);
	return NULL;
}

static void wake_tape(void *ctx)
{
	const struct tape *t = ctx;
	uint64_t one = 1;

	while (write(t->wake_fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

/* ---- the console's side */

static int start_tape_thread(struct tape *t, struct err *e)
{
	int rc = spawn_thread(&t->thread, run_tape, t);

	return rc ? err_sys(e, rc, "cannot start the thread that records") : 0;
}

static struct tape *open_tape(const char *path, int fd)
{
	struct tape *t = xcalloc(1, sizeof *t);

	t->path = xstrdup(path);
	t->file = gzdopen(fd, "wb6");
	t->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(t->file && t->wake_fd >= 0);
	mailbox_init(&t->box, wake_tape, t);
	return t;
}

static void free_tape(struct tape *t)
{
	mailbox_release(&t->box);
	close(t->wake_fd);
	free(t->path);
	free(t);
}

struct tape *tape_create(const char *path, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct err why = ERR_INIT;

	if (fd < 0 && errno == EEXIST) {
		err_set(e, ERR_USAGE, "--record: %s already exists: name another file.", path);
		return NULL;
	}
	if (fd < 0) {
		err_sys(&why, errno, "--record: cannot write to %s", path);
		why.kind = ERR_USAGE;
		err_copy(e, &why);
		return NULL;
	}
	return open_tape(path, fd);
}

int tape_begin(struct tape *t, const struct tape_head *head, struct err *e)
{
	struct jsonw j;

	jsonw_init(&j, true);
	jsonw_object(&j, NULL);
	jsonw_text(&j, "schema", "berth.recording/1");
	shape_write(&j, "head", &shape_head, head);
	jsonw_end(&j);
	write_tape_line(t, &j.out);
	jsonw_release(&j);
	t->begun = start_tape_thread(t, e) == 0;
	return t->begun ? 0 : -1;
}

static size_t weigh_moment(const struct tape_moment *m)
{
	return sizeof *m + (m->snapshot ? snapshot_used(m->snapshot) : 0) +
		(m->event ? arena_bytes(&m->event->mem) : 0);
}

void tape_add(struct tape *t, const struct tape_moment *m)
{
	struct moment_mail *l = xcalloc(1, sizeof *l);

	l->m = *m;
	if (m->snapshot)
		l->m.snapshot = snapshot_ref(m->snapshot);
	if (m->input) {
		l->input = *m->input;
		l->input.text = l->text =
			m->input->n ? xstrndup(m->input->text, m->input->n) : NULL;
		l->m.input = &l->input;
	}
	l->mail.bytes = weigh_moment(m);
	if (mailbox_bytes(&t->box) > WAITING_MOST)
		atomic_store(&t->crowded, true);
	if (atomic_load(&t->ended) || atomic_load(&t->crowded)) {
		drop_moment(l);
		return;
	}
	mailbox_put(&t->box, &l->mail);
}

bool tape_stopped(struct tape *t, struct err *e)
{
	if (t->told || !atomic_load(&t->ended))
		return false;
	t->told = true;
	err_copy(e, &t->trouble);
	return true;
}

int tape_close(struct tape *t, struct err *e)
{
	int rc = 0;

	if (!t)
		return 0;
	atomic_store(&t->quit, true);
	wake_tape(t);
	if (t->begun)
		pthread_join(t->thread, NULL);
	errno = 0;
	if (gzclose(t->file) != Z_OK)
		fail_tape(t, "it cannot be compressed.", errno);
	if (!t->begun)
		unlink(t->path);
	if (atomic_load(&t->ended))
		rc = err_copy(e, &t->trouble);
	free_tape(t);
	return rc;
}
