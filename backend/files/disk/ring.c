/* ring.c - reads many files through io_uring, with opens and reads overlapping up to its depth. */
#include "files/disk/ring.h"

#include <errno.h>
#include <liburing.h>
#include <linux/openat2.h>
#include <stdlib.h>

#include <berth/check.h>
#include <berth/mem.h>

struct ring {
	struct io_uring uring;
	unsigned depth;
};

/* The same resolution as path_open, done by the kernel's worker where it has to wait. */
static struct open_how beneath = {
	.flags = PATH_READ | O_CLOEXEC,
	.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
};

struct ring *ring_new(unsigned depth)
{
	struct ring *ring = xcalloc(1, sizeof *ring);
	struct io_uring_params p = {.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_CLAMP};
	/* Opens that miss the cache each block a kernel worker: the default of 4 per processor
	 * would be the depth. */
	unsigned workers[2] = {depth, depth};
	struct io_uring_probe *probe = NULL;

	ring->depth = depth;
	if (io_uring_queue_init_params(depth, &ring->uring, &p) < 0)
		goto none;
	probe = io_uring_get_probe_ring(&ring->uring);
	if (!probe || !io_uring_opcode_supported(probe, IORING_OP_OPENAT2) ||
		!io_uring_opcode_supported(probe, IORING_OP_READ) ||
		!(p.features & IORING_FEAT_NODROP)) {
		io_uring_queue_exit(&ring->uring);
		goto none;
	}
	io_uring_free_probe(probe);
	io_uring_register_iowq_max_workers(&ring->uring, workers); /* older kernels: fewer */
	return ring;
none:
	if (probe)
		io_uring_free_probe(probe);
	free(ring);
	return NULL;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	io_uring_queue_exit(&ring->uring);
	free(ring);
}

static void submit_read(struct ring *ring, struct reading *r, struct task *t)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	CHECK(sqe); /* never more in flight than the ring has room for */
	if (t->fd < 0) {
		io_uring_prep_openat2(sqe, r->root->fd, t->want->path, &beneath);
	} else {
		size_t room;
		void *to = task_buffer(t, &room);

		io_uring_prep_read(sqe, t->fd, to, (unsigned)(room > 1u << 30 ? 1u << 30 : room),
			(uint64_t)task_offset(t));
	}
	io_uring_sqe_set_data(sqe, t);
}

/* One request ended.  true: the task goes on with another. */
static bool advance_task(struct reading *r, struct task *t, int result)
{
	if (t->fd < 0) {
		if (result == -EAGAIN || result == -ENAMETOOLONG) {
			/* The rare cases are handled where they are handled already. */
			task_block(r, t);
			return false;
		}
		if (result < 0) {
			task_fail(r, t, -result, "read");
			return false;
		}
		t->fd = result;
		return task_plan(r, t);
	}
	if (result == -EAGAIN || result == -EINTR)
		return true;
	return task_got(r, t, result);
}

unsigned ring_read(
	struct ring *ring, struct reading *r, struct task **tasks, size_t n, unsigned depth)
{
	struct reader me;
	unsigned flying = 0, most = 0;
	size_t next = 0, nagain = 0;
	/* Out of descriptors: these come again.  They were in flight, so there are never more. */
	AUTO_FREE struct task **again = NULL;

	reader_init(&me, r);
	if (depth > ring->depth)
		depth = ring->depth;
	again = xmalloc(depth * sizeof(struct task *));
	while (next < n || nagain > 0 || flying > 0) {
		struct io_uring_cqe *cqe;
		unsigned head, seen = 0;
		bool stopped = op_stopped(&r->op);

		while ((next < n || nagain > 0) && flying < depth) {
			struct task *t = nagain > 0 ? again[--nagain] : tasks[next++];

			t->me = &me;

			if (stopped) {
				task_drop(t);
				continue;
			}
			if (t->fd >= 0 && !t->planned && !task_plan(r, t))
				continue;
			submit_read(ring, r, t);
			flying++;
		}
		if (flying == 0)
			break;
		if (flying > most)
			most = flying;
		io_uring_submit_and_wait(&ring->uring, 1);
		io_uring_for_each_cqe(&ring->uring, head, cqe)
		{
			struct task *t = io_uring_cqe_get_data(cqe);

			seen++;
			/* A request in flight owns the buffer until it ends, cancelled or not. */
			if (stopped && (t->fd >= 0 || cqe->res < 0)) {
				task_drop(t);
				flying--;
			} else if (t->fd < 0 && (cqe->res == -EMFILE || cqe->res == -ENFILE)) {
				flying--;
				if (flying == 0 && seen == 1)
					task_block(r, t); /* nobody here gives one back */
				else
					again[nagain++] = t;
				depth = flying > 1 ? flying : 1;
			} else if (advance_task(r, t, cqe->res)) {
				submit_read(ring, r, t);
			} else {
				flying--;
			}
		}
		io_uring_cq_advance(&ring->uring, seen);
		reader_flush(&me, r);
	}
	reader_flush(&me, r);
	return most;
}
