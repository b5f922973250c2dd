/*
 * tap.c - reads a copy of a command's output while the kernel moves it.
 *
 * tee() gives a second pipe references to the same pages, so the bytes go to their file or pipe by
 * splice() as if nobody looked.  The tap is read when the entry is written, every FLUSH_MS; what comes
 * faster than that pushes the older half out unread, for only the last of it would be kept anyway.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <berth/mem.h>

#include "journal/entry.h"
#include "journal/journal.h"

#define AT_ONCE ((size_t)1 << 20)
#define FEW 16384 /* pages with little in them fill a pipe too */

static int make_tap(struct journal_entry *j, struct tap *t)
{
	int p[2];

	t->made = true;
	if (!j->null)
		j->null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (j->null < 0 || pipe2(p, O_CLOEXEC | O_NONBLOCK))
		return t->broken = true, -1;
	t->out = p[0];
	t->in = p[1];
	/* Room for what would be kept. */
	fcntl(t->in, F_SETPIPE_SZ, (int)(j->file->cap < AT_ONCE ? 2 * j->file->cap : AT_ONCE));
	return 0;
}

static void drain_tap(struct journal_entry *j, int stream)
{
	struct tap *t = &j->tap[stream - 1];
	AUTO_FREE char *buf = t->held ? xmalloc(65536) : NULL;

	while (t->held) {
		ssize_t n = read(t->out, buf, 65536);

		if (n <= 0) {
			t->held = 0;
			t->broken = true;
			return;
		}
		t->held -= (size_t)n < t->held ? (size_t)n : t->held;
		journal_put(j, stream, buf, (size_t)n);
	}
}

static void make_tap_room(struct journal_entry *j, int stream)
{
	struct tap *t = &j->tap[stream - 1];
	ssize_t n;

	if (t->held <= FEW) {
		drain_tap(j, stream);
		return;
	}
	n = splice(t->out, NULL, j->null, NULL, t->held / 2, SPLICE_F_NONBLOCK);
	if (n > 0) {
		t->held -= (size_t)n;
		journal_lose(j, stream, (uint64_t)n);
	} else {
		drain_tap(j, stream);
	}
}

ssize_t journal_peek(struct journal_entry *j, int stream, int from)
{
	struct tap *t = &j->tap[stream - 1];
	ssize_t n;

	if ((!t->made && make_tap(j, t)) || t->broken)
		return -1;
	if (j->tap[2 - stream].held) /* came before */
		drain_tap(j, 3 - stream);
	n = tee(from, t->in, AT_ONCE, SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EAGAIN && t->held) {
		make_tap_room(j, stream);
		n = tee(from, t->in, AT_ONCE, SPLICE_F_NONBLOCK);
	}
	if (n > 0)
		t->held += (size_t)n;
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		t->broken = true;
	return t->broken ? -1 : n > 0 ? n : 0;
}

void tap_drain(struct journal_entry *j)
{
	drain_tap(j, 1);
	drain_tap(j, 2);
}

void tap_release(struct journal_entry *j)
{
	for (int i = 0; i < 2; i++)
		if (j->tap[i].made && j->tap[i].in) {
			close(j->tap[i].in);
			close(j->tap[i].out);
		}
	if (j->null > 0)
		close(j->null);
}
