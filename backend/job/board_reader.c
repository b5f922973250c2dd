/* board_reader.c - everybody's job boards, read without trusting any of them. */
#include "job/board.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/runtime.h>
#include <berth/text.h>

#include "job/board_layout.h"

#define TIDY_AT_ONCE 4  /* boards that one process looks at when it ends; it leaves one at most */
#define BOARDS_MAX 1024 /* more files than this in the folder are not ours to read */
#define TORN_RETRIES 3

struct list {
	struct job_info *jobs;
	size_t n, cap;
};

static int open_folder(char *dir, size_t cap, struct err *e)
{
	char top[PATH_MAX];
	int fd;

	if (runtime_dir(top, sizeof top, e) < 0 ||
		runtime_subdir(dir, cap, top, BOARD_FOLDER, e) < 0)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_sys(e, errno, "cannot open %s", dir) : fd;
}

/* A board of ours: a regular file of exactly the right size that nobody else may write. */
static int open_board(int folder, const char *name, int flags, struct board_header *h)
{
	AUTO_CLOSE int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
		pread(fd, h, sizeof *h, 0) != sizeof *h)
		return -1;
	if (memcmp(h->magic, BOARD_MAGIC, sizeof h->magic) != 0 || h->version != BOARD_VERSION ||
		h->slots != BOARD_SLOTS || h->slot_size != sizeof(struct slot) || h->pid <= 0 ||
		atomic_load(&h->used) > BOARD_SLOTS ||
		!is_board_size(st.st_size, atomic_load(&h->used)))
		return -1;
	return steal_fd(&fd);
}

static char *clean_text(char *out, size_t cap, char *in, size_t size)
{
	in[size - 1] = '\0';
	return text_clean(out, cap, in);
}

/* An entry costs about as much as so many bytes of a large one: many that are tiny, or empty, are work, too. */
#define ENTRY_BYTES 65536.0

static double weigh_work(const struct job_info *j, uint64_t items, uint64_t bytes)
{
	return !j->bytes_total    ? (double)items
		: !j->items_total ? (double)bytes
				  : (double)bytes + ENTRY_BYTES * (double)items;
}

static void set_speed(struct job_info *j, const struct slot *s, int64_t now)
{
	bool bytes = j->bytes_done > 0;
	uint64_t done = bytes ? j->bytes_done : j->items_done;
	const struct mark *m = &s->marks[0];
	uint64_t before = bytes ? m->bytes : m->items;
	double seconds = (double)(now - m->mono_ns) / 1e9;
	double all = weigh_work(j, j->items_total, j->bytes_total);
	double through = weigh_work(j, j->items_done, j->bytes_done);
	double since = through - weigh_work(j, m->items, m->bytes);

	if (job_ended(j->state)) {
		seconds = (double)j->elapsed_ms / 1e3;
		before = 0;
	}
	j->rate = seconds > 0.05 && done >= before ? (double)(done - before) / seconds : -1;
	j->eta_ms = -1;
	if (!job_ended(j->state) && j->rate >= 0 && since > 0 && !j->counting && all > through) {
		double left = (all - through) / since * seconds * 1e3;

		j->eta_ms = left < 1e15 ? (int64_t)left : -1;
	}
	/* Of one thing alone, no byte of which is counted, nothing is known before it is done. */
	j->fraction = j->state == JOB_DONE                                 ? 1.0
		: j->counting                                              ? -1.0
		: j->items_total == 1 && !j->bytes_total && !j->items_done ? -1.0
		: all <= 0                                                 ? -1.0
		: through >= all                                           ? 1.0
									   : through / all;
}

/* A number of a process is given again: what is older than this process, it did not start. */
static bool is_child_board(const struct board_header *h)
{
	return h->parent == getpid() && h->started >= process_started(h->parent);
}

/* Turn a slot, untorn but possibly nonsense, into what others see.  false: not a job. */
static bool convert_slot(
	struct slot *s, const struct board_header *h, bool dead, struct job_info *j)
{
	int64_t now = clock_mono_ns();
	uint32_t serial = atomic_load(&s->serial);

	if (serial == 0 || s->state > JOB_CANCELLED || atomic_load(&s->dismissed) == serial ||
		(job_ended(s->state) && clock_wall_ms() - s->ended_wall_ms >= BOARD_KEPT_MS))
		return false;
	*j = (struct job_info){.id = {h->pid, h->started, serial}, .state = s->state};
	if (dead && !job_ended(j->state))
		j->state = JOB_ORPHANED;
	j->own = !dead && h->pid == getpid();
	j->ours = j->own || (!dead && is_child_board(h));
	j->cancellable = s->cancellable && !job_ended(j->state);
	j->cancelling = !job_ended(j->state) && atomic_load(&s->cancel) == serial;
	j->asks = !job_ended(j->state) && !j->cancelling && atomic_load(&s->asked) == serial;
	clean_text(j->name, sizeof j->name, s->name, sizeof s->name);
	clean_text(j->owner, sizeof j->owner, s->owner, sizeof s->owner);
	clean_text(j->current, sizeof j->current, s->current, sizeof s->current);
	clean_text(j->result, sizeof j->result, s->result, sizeof s->result);
	for (size_t i = 0; i < JOB_ERRORS; i++)
		clean_text(j->error[i], sizeof j->error[i], s->error[i], sizeof s->error[i]);
	clean_text(j->unit, sizeof j->unit, s->unit, sizeof s->unit);
	j->items_done = atomic_load(&s->items_done);
	j->items_total = atomic_load(&s->items_total);
	j->bytes_done = atomic_load(&s->bytes_done);
	j->bytes_total = atomic_load(&s->bytes_total);
	j->failed = atomic_load(&s->failed);
	j->counting = atomic_load(&s->counting) != 0;
	/* Who counts may be behind who works, or too late. */
	if (j->counting &&
		(job_ended(j->state) || j->items_total <= j->items_done ||
			j->bytes_total < j->bytes_done))
		j->items_total = j->bytes_total = 0;
	j->counting = j->counting && j->items_total;
	j->started_wall_ms = s->started_wall_ms;
	j->ended_wall_ms = job_ended(s->state) ? s->ended_wall_ms : 0;
	if (job_ended(s->state))
		now = s->ended_mono_ns;
	if (s->started_mono_ns <= 0 || now < s->started_mono_ns)
		s->started_mono_ns = now;
	if (s->marks[0].mono_ns < s->started_mono_ns || s->marks[0].mono_ns > now)
		s->marks[0] = (struct mark){.mono_ns = s->started_mono_ns};
	j->elapsed_ms = (now - s->started_mono_ns) / 1000000;
	if (j->state == JOB_ORPHANED) {
		snprintf(j->result, sizeof j->result, "Its process %d died before it finished.",
			(int)h->pid);
		j->ended_wall_ms = atomic_load(&h->dead_since);
	}
	set_speed(j, s, now);
	return true;
}

/* Whether slots read between two readings of their counters are whole: equal and even. */
static bool is_slot_whole(const struct slot *before, const struct slot *after)
{
	uint32_t seq = atomic_load(&before->seq);

	return !(seq & 1) && seq == atomic_load(&after->seq);
}

static void read_board_slots(int fd, const struct board_header *h, bool dead, struct list *out)
{
	size_t used = atomic_load(&h->used), bytes = used * sizeof(struct slot);
	AUTO_FREE struct slot *before = xmalloc(bytes), *slots = xmalloc(bytes),
			      *after = xmalloc(bytes);
	bool taken[BOARD_SLOTS] = {false};
	size_t left = used;

	for (int attempt = 0; left > 0 && attempt < TORN_RETRIES; attempt++) {
		/* Three readings, so that whatever order one reading copies in does not matter. */
		if (pread(fd, before, bytes, BOARD_HEADER) != (ssize_t)bytes ||
			pread(fd, slots, bytes, BOARD_HEADER) != (ssize_t)bytes ||
			pread(fd, after, bytes, BOARD_HEADER) != (ssize_t)bytes)
			return;
		for (size_t i = 0; i < used; i++) {
			/* A dead owner's half-written slot will not get any better: take it. */
			if (taken[i] || !(is_slot_whole(&before[i], &after[i]) || dead))
				continue;
			taken[i] = true;
			left--;
			out->jobs = mem_grow(out->jobs, &out->cap, out->n + 1, sizeof *out->jobs);
			out->n += convert_slot(&slots[i], h, dead, &out->jobs[out->n]);
		}
	}
}

/* A dead owner's board is shown for a while, then removed.  false: it is gone, or cannot be kept. */
static bool keep_dead(int folder, const char *name, int fd, struct board_header *h)
{
	int64_t now = clock_wall_ms(), since = atomic_load(&h->dead_since);

	if (since == 0 || since > now) {
		since = now;
		if (pwrite(fd, &since, sizeof since, offsetof(struct board_header, dead_since)) < 0)
			return false;
		atomic_store(&h->dead_since, since);
	}
	if (now - since < BOARD_KEPT_MS)
		return true;
	unlinkat(folder, name, 0);
	return false;
}

/* It holds a lock for life.  Only asked for, not taken: other readers ask as well. */
static bool is_owner_alive(int fd)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

static void read_board(int folder, const char *name, struct list *out)
{
	struct board_header h;
	AUTO_CLOSE int fd = open_board(folder, name, O_RDWR, &h);

	if (fd >= 0 && is_owner_alive(fd))
		read_board_slots(fd, &h, false, out);
	else if (fd >= 0 && keep_dead(folder, name, fd, &h))
		read_board_slots(fd, &h, true, out);
}

static bool is_board(const char *name)
{
	size_t n = strlen(name), suffix = strlen(BOARD_SUFFIX);

	return name[0] != '.' && n > suffix && strcmp(name + n - suffix, BOARD_SUFFIX) == 0;
}

/* Running first, then the newest; ties by identity so that rows do not jump. */
static int compare_jobs(const void *pa, const void *pb)
{
	const struct job_info *a = pa, *b = pb;
	bool a_ended = job_ended(a->state), b_ended = job_ended(b->state);

	if (a_ended != b_ended)
		return a_ended - b_ended;
	if (a->started_wall_ms != b->started_wall_ms)
		return a->started_wall_ms < b->started_wall_ms ? 1 : -1;
	if (a->id.pid != b->id.pid)
		return a->id.pid < b->id.pid ? 1 : -1;
	return (a->id.serial < b->id.serial) - (a->id.serial > b->id.serial);
}

size_t jobs_read(struct board *own, struct job_info *out, size_t max)
{
	char dir[PATH_MAX];
	struct list found = {0};
	struct dirent *entry;
	size_t boards = 0, n;
	int folder = open_folder(dir, sizeof dir, NULL);
	AUTO_CLOSEDIR DIR *listing = folder < 0 ? NULL : fdopendir(folder);

	(void)own; /* its file is in the folder like everybody's, and read the same way */
	if (!listing) {
		if (folder >= 0)
			close(folder);
		return 0;
	}
	while (boards < BOARDS_MAX && (entry = readdir(listing)) != NULL) {
		if (!is_board(entry->d_name))
			continue;
		boards++;
		read_board(folder, entry->d_name, &found);
	}
	mem_sort(found.jobs, found.n, sizeof *found.jobs, compare_jobs);
	n = found.n < max ? found.n : max;
	if (n)
		memcpy(out, found.jobs, n * sizeof *out);
	free(found.jobs);
	return n;
}

/* The job of that serial, and where its slot is; -1: there is none. */
static off_t find_slot(int fd, const struct board_header *h, uint32_t serial, struct slot *ret)
{
	for (size_t i = 0, used = atomic_load(&h->used); i < used; i++)
		if (pread(fd, ret, sizeof *ret, (off_t)slot_offset(i)) == sizeof *ret &&
			atomic_load(&ret->serial) == serial)
			return (off_t)slot_offset(i);
	return -1;
}

static int write_mark(
	int fd, off_t slot, size_t member, uint32_t mark, const char *what, struct err *e)
{
	return pwrite(fd, &mark, sizeof mark, slot + (off_t)member) == sizeof mark
		? 0
		: err_sys(e, errno, "cannot %s", what);
}

/* The board of that job's process, open; -1 and *e: there is none any more. */
static int open_job_board(const struct job_id *id, struct board_header *h, struct err *e)
{
	char dir[PATH_MAX], name[64];
	AUTO_CLOSE int folder = open_folder(dir, sizeof dir, e);
	AUTO_CLOSE int fd = -1;

	if (folder < 0)
		return -1;
	snprintf(name, sizeof name, "%d-%llu" BOARD_SUFFIX, (int)id->pid,
		(unsigned long long)id->started);
	fd = open_board(folder, name, O_RDWR, h);
	if (fd < 0 || h->pid != id->pid || h->started != id->started || id->serial == 0)
		return err_set(e, ERR_NOT_FOUND, "the process of this job has ended");
	return steal_fd(&fd);
}

/* The same of a process that lives. */
static int open_living_board(const struct job_id *id, struct board_header *h, struct err *e)
{
	AUTO_CLOSE int fd = open_job_board(id, h, e);

	if (fd >= 0 && !is_owner_alive(fd))
		return err_set(e, ERR_NOT_FOUND, "the process of this job has ended");
	return steal_fd(&fd);
}

int jobs_cancel(const struct job_id *id, struct err *e)
{
	struct board_header h;
	AUTO_CLOSE int fd = open_living_board(id, &h, e);
	struct slot s;
	off_t at;

	if (fd < 0)
		return -1;
	at = find_slot(fd, &h, id->serial, &s);
	if (at < 0 || job_ended(s.state))
		return err_set(e, ERR_NOT_FOUND, "this job has ended");
	if (!s.cancellable)
		return err_set(e, ERR_REFUSED, "this job cannot be cancelled");
	return write_mark(
		fd, at, offsetof(struct slot, cancel), id->serial, "write the cancel request", e);
}

int jobs_allow(const struct job_id *id, struct err *e)
{
	struct board_header h;
	AUTO_CLOSE int fd = open_living_board(id, &h, e);
	struct slot s;
	off_t at;

	if (fd < 0)
		return -1;
	at = find_slot(fd, &h, id->serial, &s);
	if (at < 0 || job_ended(s.state) || atomic_load(&s.asked) != id->serial ||
		atomic_load(&s.cancel) == id->serial)
		return err_set(e, ERR_NOT_FOUND, "this question is no longer open");
	return write_mark(fd, at, offsetof(struct slot, asked), ~id->serial, "write the answer", e);
}

bool jobs_attended(void)
{
	char dir[PATH_MAX];
	struct dirent *entry;
	size_t boards = 0;
	bool yes = false;
	int folder = open_folder(dir, sizeof dir, NULL);
	AUTO_CLOSEDIR DIR *listing = folder < 0 ? NULL : fdopendir(folder);

	if (!listing && folder >= 0)
		close(folder);
	while (listing && !yes && boards < BOARDS_MAX && (entry = readdir(listing)) != NULL) {
		struct board_header h;
		AUTO_CLOSE int fd = is_board(entry->d_name)
			? open_board(folder, entry->d_name, O_RDWR, &h)
			: -1;

		boards += fd >= 0;
		yes = fd >= 0 && atomic_load(&h.attended) == 1 && is_owner_alive(fd);
	}
	return yes;
}

int jobs_dismiss(const struct job_id *id, struct err *e)
{
	struct board_header h;
	AUTO_CLOSE int fd = open_job_board(id, &h, e);
	struct slot s;
	off_t at;

	if (fd < 0)
		return -1;
	at = find_slot(fd, &h, id->serial, &s);
	if (at < 0)
		return err_set(e, ERR_NOT_FOUND, "this job no longer exists");
	if (!job_ended(s.state) && is_owner_alive(fd))
		return err_set(e, ERR_CONFLICT, "this job still runs");
	return write_mark(
		fd, at, offsetof(struct slot, dismissed), id->serial, "dismiss the job", e);
}

struct remains {
	int64_t since;
	char name[64];
};

static int compare_remains(const void *pa, const void *pb)
{
	const struct remains *a = pa, *b = pb;

	return (a->since > b->since) - (a->since < b->since);
}

void boards_tidy(void)
{
	char dir[PATH_MAX];
	AUTO_FREE struct remains *all = NULL;
	struct dirent *entry;
	size_t boards = 0, skip = 0, most = BOARDS_MAX, n = 0, cap = 0, seen = 0;
	int folder = open_folder(dir, sizeof dir, NULL);
	AUTO_CLOSEDIR DIR *listing = folder < 0 ? NULL : fdopendir(folder);

	if (!listing) {
		if (folder >= 0)
			close(folder);
		return;
	}
	while (boards <= BOARDS_KEPT && (entry = readdir(listing)) != NULL)
		boards += is_board(entry->d_name);
	/* Each command ends with this: a few of them, and others each time. */
	if (boards <= BOARDS_KEPT) {
		most = TIDY_AT_ONCE;
		skip = boards > most ? (size_t)getpid() * most % (boards - most + 1) : 0;
	}
	rewinddir(listing);
	while (seen < most && (entry = readdir(listing)) != NULL) {
		bool board = is_board(entry->d_name) && strlen(entry->d_name) < sizeof all->name,
		     skipped = board && skip > 0;
		struct board_header h;
		AUTO_CLOSE int fd =
			board && !skipped ? open_board(folder, entry->d_name, O_RDWR, &h) : -1;

		skip -= skipped;
		seen += fd >= 0;
		if (fd < 0 || is_owner_alive(fd) || !keep_dead(folder, entry->d_name, fd, &h))
			continue;
		all = mem_grow(all, &cap, n + 1, sizeof *all);
		all[n].since = atomic_load(&h.dead_since);
		strcpy(all[n++].name, entry->d_name);
	}
	/* The older half of too many, so that the next time is far off. */
	if (n > BOARDS_KEPT) {
		mem_sort(all, n, sizeof *all, compare_remains);
		for (size_t i = 0; i < n / 2; i++)
			unlinkat(folder, all[i].name, 0);
	}
}
