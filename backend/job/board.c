/* board.c - writes the job board of this process. */
#include "job/board.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/runtime.h>

#include "job/board_layout.h"

#define UNSEEN_NS 200000000
#define MARK_NS 2000000000 /* rates are measured over two to four seconds */

struct board {
	pthread_mutex_t lock; /* slots are given out and taken back under it */
	int fd;               /* holds the lock that says we live */
	struct board_header *header;
	struct slot *slots;
	struct job *jobs[BOARD_SLOTS]; /* running job of each slot */
	char path[PATH_MAX];
};

struct job {
	struct slot *slot; /* on the board, or &hidden */
	struct board *board;
	uint32_t serial;
	size_t index;
	struct slot hidden;
};

static _Atomic uint32_t last_serial; /* one sequence per process: ids stay unique */

/* A slot's seq is also its writers' lock.  Nobody holds it for longer than a few stores. */
static void slot_lock(struct slot *s)
{
	uint32_t seq = atomic_load_explicit(&s->seq, memory_order_relaxed) & ~1u;

	while (!atomic_compare_exchange_weak_explicit(
		&s->seq, &seq, seq + 1, memory_order_acq_rel, memory_order_relaxed))
		seq &= ~1u;
	atomic_thread_fence(memory_order_seq_cst);
}

static bool slot_trylock(struct slot *s)
{
	uint32_t seq = atomic_load_explicit(&s->seq, memory_order_relaxed);

	if ((seq & 1) ||
		!atomic_compare_exchange_strong_explicit(
			&s->seq, &seq, seq + 1, memory_order_acq_rel, memory_order_relaxed))
		return false;
	atomic_thread_fence(memory_order_seq_cst);
	return true;
}

static void slot_unlock(struct slot *s)
{
	atomic_fetch_add_explicit(&s->seq, 1, memory_order_release);
}

static void put_slot_text(char *to, size_t cap, const char *from)
{
	size_t n = from ? strnlen(from, cap - 1) : 0;

	if (n)
		memcpy(to, from, n);
	memset(to + n, 0, cap - n);
}

uint64_t process_started(int32_t pid)
{
	char path[64], text[1024];
	unsigned long long started;
	const char *after;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	if (file_text(path, text, sizeof text) <= 0)
		return 0;
	/* The command's name may hold anything, so count from its closing parenthesis. */
	after = strrchr(text, ')');
	if (!after ||
		sscanf(after + 1,
			" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d "
			"%*d %*d %*d %llu",
			&started) != 1)
		return 0;
	return started;
}

/* Give the finished file its name; one of a dead process of the same name is replaced. */
static int name_board_file(int fd, const char *temporary, const char *path, struct err *e)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &lock) < 0)
		return err_sys(e, errno, "cannot lock the job board %s", temporary);
	for (int attempt = 0; attempt < 3; attempt++) {
		AUTO_CLOSE int old = -1;

		if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			break;
		old = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
		lock.l_type = F_WRLCK;
		if (old >= 0 && fcntl(old, F_OFD_SETLK, &lock) < 0)
			return err_set(e, ERR_CONFLICT, "%s belongs to a living process", path);
		unlink(path);
	}
	return err_sys(e, errno, "cannot create the job board %s", path);
}

static int create_board(struct board *b, const char *program, struct err *e)
{
	char dir[PATH_MAX], jobs[PATH_MAX], temporary[PATH_MAX];
	int32_t pid = getpid();
	uint64_t started = process_started(pid);
	void *map;

	if (runtime_dir(dir, sizeof dir, e) < 0 ||
		runtime_subdir(jobs, sizeof jobs, dir, BOARD_FOLDER, e) < 0)
		return -1;
	if (snprintf(temporary, sizeof temporary, "%s/.new-%d-XXXXXX", jobs, (int)pid) >=
			(int)sizeof temporary ||
		snprintf(b->path, sizeof b->path, "%s/%d-%llu" BOARD_SUFFIX, jobs, (int)pid,
			(unsigned long long)started) >= (int)sizeof b->path)
		return err_set(e, ERR_REFUSED, "the path of the runtime directory is too long");
	b->fd = mkostemp(temporary, O_CLOEXEC);
	if (b->fd < 0)
		return err_sys(e, errno, "cannot create a job board in %s", jobs);
	/* Reserved, not only sized: a full disk must show here, not as SIGBUS on a store. */
	if ((errno = posix_fallocate(b->fd, 0, BOARD_BYTES)) != 0 ||
		(map = mmap(NULL, BOARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, b->fd, 0)) ==
			MAP_FAILED) {
		err_sys(e, errno, "cannot make room for the job board in %s", jobs);
		goto undo;
	}
	b->header = map;
	b->slots = (struct slot *)((char *)map + BOARD_HEADER);
	memcpy(b->header->magic, BOARD_MAGIC, 8);
	b->header->version = BOARD_VERSION;
	b->header->slots = BOARD_SLOTS;
	b->header->slot_size = sizeof(struct slot);
	b->header->pid = pid;
	b->header->started = started;
	b->header->parent = getppid();
	put_slot_text(b->header->program, sizeof b->header->program, program);
	if (name_board_file(b->fd, temporary, b->path, e) == 0)
		return 0;
	munmap(map, BOARD_BYTES);
undo:
	unlink(temporary);
	close(b->fd);
	return -1;
}

struct board *board_open(const char *program, struct err *e)
{
	struct board *b = xcalloc(1, sizeof *b);

	if (create_board(b, program, e) < 0) {
		free(b);
		return NULL;
	}
	pthread_mutex_init(&b->lock, NULL);
	return b;
}

/* Whether the process that started this one has a board: a console shows its person every job that was asked for. */
static bool is_child_of_berth(const struct board *b)
{
	char path[PATH_MAX];
	int dir = (int)(strrchr(b->path, '/') - b->path), parent = getppid();

	return snprintf(path, sizeof path, "%.*s/%d-%llu" BOARD_SUFFIX, dir, b->path, parent,
		       (unsigned long long)process_started(parent)) < (int)sizeof path &&
		access(path, F_OK) == 0;
}

/* What is left of it: the slots in use, for as long as somebody may want to see how it went. */
static void leave_board(struct board *b)
{
	uint32_t used = atomic_load(&b->header->used), kept = 0;
	bool asked_for = is_child_of_berth(b);

	for (uint32_t i = 0; i < used && i < BOARD_SLOTS; i++) {
		struct slot *s = &b->slots[i];

		/* Over before anybody could look, and as it should be: nobody asks for it. */
		if (!asked_for && s->state == JOB_DONE &&
			s->ended_mono_ns - s->started_mono_ns < UNSEEN_NS)
			atomic_store(&s->dismissed, atomic_load(&s->serial));
		else
			kept++;
	}
	atomic_store(&b->header->dead_since, clock_wall_ms());
	if (kept == 0 || used > BOARD_SLOTS || ftruncate(b->fd, (off_t)slot_offset(used)) < 0)
		unlink(b->path);
}

void board_close(struct board *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < BOARD_SLOTS; i++)
		if (b->jobs[i])
			job_end(b->jobs[i], JOB_CANCELLED, "berth ended before it finished.");
	leave_board(b);
	munmap(b->header, BOARD_BYTES);
	close(b->fd);
	boards_tidy();
	pthread_mutex_destroy(&b->lock);
	free(b);
}

/* The place for a new job: a free slot, else the one that ended first.  BOARD_SLOTS: all run. */
static size_t choose_slot(const struct board *b)
{
	size_t used = atomic_load(&b->header->used), best = BOARD_SLOTS;

	for (size_t i = 0; i < used; i++) {
		if (b->jobs[i])
			continue;
		if (best == BOARD_SLOTS || b->slots[i].ended_mono_ns < b->slots[best].ended_mono_ns)
			best = i;
	}
	/* Ended jobs stay in sight for as long as there is room. */
	return used < BOARD_SLOTS ? used : best;
}

struct job *job_new(
	struct board *b, const char *name, const char *owner, const char *unit, bool cancellable)
{
	struct job *j = xcalloc(1, sizeof *j);
	struct slot *s;
	int64_t now;

	j->slot = &j->hidden;
	do
		j->serial = atomic_fetch_add(&last_serial, 1) + 1;
	while (j->serial == 0);
	if (b) {
		pthread_mutex_lock(&b->lock);
		j->index = choose_slot(b);
		if (j->index < BOARD_SLOTS) {
			j->board = b;
			j->slot = &b->slots[j->index];
			b->jobs[j->index] = j;
			if (atomic_load(&b->header->used) <= j->index)
				atomic_store(&b->header->used, (uint32_t)j->index + 1);
		}
		pthread_mutex_unlock(&b->lock);
	}
	/* Nobody but us can see the others: they only count and can be cancelled. */
	if (!j->board)
		return j;
	now = clock_mono_ns();
	s = j->slot;
	slot_lock(s);
	atomic_store(&s->serial, j->serial);
	s->state = JOB_RUNNING;
	s->cancellable = cancellable;
	s->started_wall_ms = clock_wall_ms();
	s->started_mono_ns = now;
	s->ended_wall_ms = s->ended_mono_ns = 0;
	put_slot_text(s->name, sizeof s->name, name);
	put_slot_text(s->owner, sizeof s->owner, owner);
	put_slot_text(s->unit, sizeof s->unit, unit);
	put_slot_text(s->current, sizeof s->current, NULL);
	put_slot_text(s->result, sizeof s->result, NULL);
	memset(s->error, 0, sizeof s->error);
	atomic_store(&s->items_done, 0);
	atomic_store(&s->items_total, 0);
	atomic_store(&s->bytes_done, 0);
	atomic_store(&s->bytes_total, 0);
	atomic_store(&s->failed, 0);
	atomic_store(&s->counting, 0);
	atomic_store(&s->dismissed, 0);
	atomic_store(&s->asked, 0);
	s->marks[0] = s->marks[1] = (struct mark){.mono_ns = now};
	atomic_store(&s->next_mark_ns, now + MARK_NS);
	slot_unlock(s);
	return j;
}

void job_current(struct job *j, const char *item)
{
	/* Somebody else is writing: what is in hand right now is not worth a wait. */
	if (!j->board || !slot_trylock(j->slot))
		return;
	put_slot_text(j->slot->current, sizeof j->slot->current, item);
	slot_unlock(j->slot);
}

static void store_totals(struct slot *s, uint64_t items, uint64_t bytes)
{
	atomic_store_explicit(&s->items_total, items, memory_order_relaxed);
	atomic_store_explicit(&s->bytes_total, bytes, memory_order_relaxed);
}

void job_total(struct job *j, uint64_t items, uint64_t bytes)
{
	store_totals(j->slot, items, bytes);
	atomic_store_explicit(&j->slot->counting, 0, memory_order_relaxed);
}

void job_total_least(struct job *j, uint64_t items, uint64_t bytes)
{
	atomic_store_explicit(&j->slot->counting, 1, memory_order_relaxed);
	store_totals(j->slot, items, bytes);
}

static void move_marks(struct slot *s, int64_t now)
{
	if (!slot_trylock(s))
		return;
	s->marks[0] = s->marks[1];
	s->marks[1].mono_ns = now;
	s->marks[1].items = atomic_load_explicit(&s->items_done, memory_order_relaxed);
	s->marks[1].bytes = atomic_load_explicit(&s->bytes_done, memory_order_relaxed);
	atomic_store_explicit(&s->next_mark_ns, now + MARK_NS, memory_order_relaxed);
	slot_unlock(s);
}

void job_add(struct job *j, uint64_t items, uint64_t bytes, uint64_t failed)
{
	struct slot *s = j->slot;
	int64_t now;

	if (items)
		atomic_fetch_add_explicit(&s->items_done, items, memory_order_relaxed);
	if (bytes)
		atomic_fetch_add_explicit(&s->bytes_done, bytes, memory_order_relaxed);
	if (failed)
		atomic_fetch_add_explicit(&s->failed, failed, memory_order_relaxed);
	if (!j->board)
		return;
	now = clock_mono_ns();
	if (now >= atomic_load_explicit(&s->next_mark_ns, memory_order_relaxed))
		move_marks(s, now);
}

void job_fail(struct job *j, const char *sentence)
{
	struct slot *s = j->slot;

	job_add(j, 0, 0, 1);
	/* A sentence more or less is not worth a wait, as with what is in hand. */
	if (!j->board || s->error[JOB_ERRORS - 1][0] || !slot_trylock(s))
		return;
	for (size_t i = 0; i < JOB_ERRORS; i++)
		if (!s->error[i][0]) {
			put_slot_text(s->error[i], sizeof s->error[i], sentence);
			break;
		}
	slot_unlock(s);
}

void job_commit(struct job *j)
{
	if (!j->board)
		return;
	slot_lock(j->slot);
	j->slot->cancellable = false;
	slot_unlock(j->slot);
}

bool job_cancelled(const struct job *j)
{
	return atomic_load_explicit(&j->slot->cancel, memory_order_relaxed) == j->serial;
}

void job_end(struct job *j, enum job_state state, const char *result)
{
	struct slot *s = j->slot;

	if (!j->board) {
		free(j);
		return;
	}
	slot_lock(s);
	s->state = state;
	s->ended_wall_ms = clock_wall_ms();
	s->ended_mono_ns = clock_mono_ns();
	put_slot_text(s->current, sizeof s->current, NULL);
	put_slot_text(s->result, sizeof s->result, result);
	slot_unlock(s);
	pthread_mutex_lock(&j->board->lock);
	j->board->jobs[j->index] = NULL;
	pthread_mutex_unlock(&j->board->lock);
	free(j);
}

struct job_id job_id(const struct job *j)
{
	struct job_id id = {.pid = getpid(), .serial = j->serial};

	id.started = j->board ? j->board->header->started : process_started(id.pid);
	return id;
}

/* -- what needs a person's word ---------------------------------------------------------------------- */

#define ASK_LOOK_MS 100

struct job *job_ask(struct board *b, const char *name, const char *owner, const char *about)
{
	struct job *j = job_new(b, name, owner, "", true);

	if (!j->board) {
		free(j);
		return NULL;
	}
	slot_lock(j->slot);
	put_slot_text(j->slot->current, sizeof j->slot->current, about);
	slot_unlock(j->slot);
	atomic_store(&j->slot->asked, j->serial);
	return j;
}

bool job_allowed(const struct job *j)
{
	return atomic_load(&j->slot->asked) == ~j->serial;
}

void board_attend(struct board *b, bool on)
{
	if (b)
		atomic_store(&b->header->attended, on);
}

/* 0 while it is open. */
static int judge_ask(const struct job *j, int64_t until, struct err *e)
{
	if (job_cancelled(j))
		return err_set(e, ERR_REFUSED, "A person refused it.");
	if (!jobs_attended())
		return err_set(e, ERR_REFUSED, "No console is open to approve it: start `berth`.");
	return clock_mono_ns() < until ? 0 : err_set(e, ERR_TIMEOUT, "No one answered in time.");
}

int job_ask_wait(struct job *j, int64_t ms, int cancel_fd, struct err *e)
{
	int64_t until = clock_mono_ns() + ms * 1000000;
	struct pollfd p = {cancel_fd, POLLIN, 0};
	struct err why = ERR_INIT;
	int rc = 0;

	while (!job_allowed(j) && !rc) {
		rc = judge_ask(j, until, &why);
		if (!rc && poll(&p, 1, ASK_LOOK_MS) > 0)
			rc = err_set(&why, ERR_CANCELLED, "cancelled");
	}
	job_end(j, rc ? JOB_CANCELLED : JOB_DONE, rc ? why.msg : "Allowed.");
	return rc ? err_copy(e, &why) : 0;
}
