/* freeze.c - finds the containers that have a directory mounted and freezes them. */
#include <berth/freeze.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <berth/clock.h>
#include <berth/mem.h>
#include <berth/spawn.h>

#include "container/container.h"
#include "lane/lane.h"

#define FREEZE_MS 5000
#define DONE 'd' /* to the guard: nothing is left to do */

/* -- who ------------------------------------------------------------------------------------------- */

static bool add_box(void *ctx, const char *id, const char *name, pid_t init)
{
	struct freeze *f = ctx;
	struct freeze_box *b = &f->box[f->n];

	if (f->n == FREEZE_MAX)
		return false;
	*b = (struct freeze_box){.init = init, .turn = -1};
	snprintf(b->id, sizeof b->id, "%s", id);
	snprintf(b->name, sizeof b->name, "%s", name);
	f->n++;
	return true;
}

int freeze_find(struct freeze *f, int root, struct err *e)
{
	char link[32], path[PATH_MAX];
	ssize_t n;

	f->n = 0;
	f->guard = -1;
	snprintf(link, sizeof link, "/proc/self/fd/%d", root);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return err_sys(e, errno, "cannot determine the path of the directory");
	path[n] = '\0';
	return checked_holders(path, add_box, f)
		? err_set(e, ERR_REFUSED, "more than %d containers have %.200s mounted.",
			  FREEZE_MAX, path)
		: 0;
}

size_t freeze_busy(const struct freeze *f, const struct freeze_box **ret)
{
	pid_t some[256];
	size_t all = 0;

	for (size_t i = 0; i < f->n; i++) {
		size_t n = lane_commands(f->box[i].init, f->box[i].id, some, COUNT(some));

		if (n && !all)
			*ret = &f->box[i];
		all += n;
	}
	return all;
}

int freeze_end_busy(const struct freeze *f, int limit_ms, struct err *e)
{
	for (size_t i = 0; i < f->n; i++) {
		int left;

		/* What is seen of it here is the sandbox itself. */
		if (sandbox_is(f->box[i].init))
			return err_set(e, ERR_REFUSED,
				"processes in %s cannot be ended from here because its runtime provides its own kernel; berth down ends the agent.",
				f->box[i].name);
		left = lane_end_commands(f->box[i].init, f->box[i].id, limit_ms);
		if (left)
			return err_set(e, ERR_FAILED, "%d processes in %s could not be ended%s.",
				left, f->box[i].name,
				lane_frozen(f->box[i].init, f->box[i].id) ? ": it is frozen" : "");
	}
	return 0;
}

/* -- still ------------------------------------------------------------------------------------------- */

static int let_box_go(struct freeze *f, struct freeze_box *b, struct err *e)
{
	if (b->paused ? f->pause(f->ctx, b, false, e) : lane_thaw(b->init, b->id, e))
		return -1;
	b->frozen = b->paused = false;
	lane_hold_forget(b->id);
	return 0;
}

/* What ended meanwhile needs no thawing. */
static bool is_gone(const struct freeze_box *b)
{
	return !proc_in_container(b->init, b->id);
}

static int let_all_go(struct freeze *f, struct err *e)
{
	int rc = 0;

	for (size_t i = f->n; i-- > 0;) {
		struct err why = ERR_INIT;

		if (!f->box[i].frozen)
			continue;
		if (is_gone(&f->box[i]))
			lane_hold_forget(f->box[i].id);
		else if (let_box_go(f, &f->box[i], &why))
			rc = err_copy(e, &why);
	}
	return rc;
}

static int hold_still(struct freeze *f, struct freeze_box *b, struct lane_hold *h, struct err *e)
{
	struct err why = ERR_INIT;

	/* Noted before, so that what stands still is never without a reason. */
	h->init = b->init;
	h->paused = false;
	if (lane_hold_save(b->id, h, e))
		return -1;
	b->frozen = b->stood = true;
	if (!lane_freeze(b->init, b->id, FREEZE_MS, &why))
		return 0;
	b->paused = f->pause && why.kind == ERR_SYS;
	h->paused = b->paused;
	if (b->paused && !lane_hold_save(b->id, h, e) && !f->pause(f->ctx, b, true, e))
		return 0;
	b->frozen = b->paused = b->stood = false;
	lane_hold_forget(b->id);
	return e->kind ? -1 : err_copy(e, &why);
}

/* Somebody else's stays; one that a dead process of ours left is taken over. */
static bool stands_for_others(const struct freeze_box *b)
{
	struct lane_hold h;

	return lane_frozen(b->init, b->id) && (!lane_hold_read(b->id, &h) || !h.brief || h.alive);
}

/* Who reads two workspaces of one container at once would let it go too early: one after the other.  The lock is
 * on the directory of its lane; the order of ids keeps two from waiting for each other. */
static int wait_for_turn(struct freeze_box *b, struct err *e)
{
	char dir[LANE_PATH_MAX];

	if (lane_place(b->name, dir, e))
		return -1;
	b->turn = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (b->turn >= 0 && flock(b->turn, LOCK_EX) < 0)
		if (errno != EINTR)
			return err_sys(e, errno, "cannot lock %s", dir);
	return 0; /* without a lane nobody else can find it either */
}

static void end_turns(struct freeze *f)
{
	for (size_t i = 0; i < f->n; i++) {
		if (f->box[i].turn >= 0)
			close(f->box[i].turn);
		f->box[i].turn = -1;
	}
}

static int order_boxes(const void *a, const void *b)
{
	return strcmp(((const struct freeze_box *)a)->id, ((const struct freeze_box *)b)->id);
}

static int wait_for_turns(struct freeze *f, struct err *e)
{
	mem_sort(f->box, f->n, sizeof *f->box, order_boxes);
	for (size_t i = 0; i < f->n; i++)
		if (wait_for_turn(&f->box[i], e)) {
			end_turns(f);
			return -1;
		}
	return 0;
}

/* What the dead process `by` had frozen. */
static void let_go_of(struct freeze *f, pid_t by)
{
	struct err ignored = ERR_INIT;

	for (size_t i = 0; i < f->n; i++) {
		struct lane_hold h;

		f->box[i].frozen = lane_hold_read(f->box[i].id, &h) && h.brief && h.by == by;
		f->box[i].paused = f->box[i].frozen && h.paused;
	}
	let_all_go(f, &ignored);
}

/* Its end of the pipe says when that process is gone; it has nothing else of it. */
static void guard_frozen(struct freeze *f, pid_t of, int fd)
{
	char word = 0;

	dup2(fd, 3);
	close_range(4, ~0u, 0);
	fd = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3 && fd >= 0; i++)
		dup2(fd, i);
	while (read(3, &word, 1) < 0 && errno == EINTR)
		;
	if (word != DONE)
		let_go_of(f, of);
	_exit(0);
}

static int start_guard(struct freeze *f, struct err *e)
{
	pid_t self = getpid();
	int p[2], pid;

	if (pipe2(p, O_CLOEXEC) < 0)
		return err_sys(e, errno, "cannot make a pipe");
	pid = spawn_orphan();
	if (pid == 0) {
		close(p[1]);
		guard_frozen(f, self, p[0]);
	}
	close(p[0]);
	f->guard = p[1];
	if (pid > 0)
		return 0;
	close(f->guard);
	f->guard = -1;
	return err_set(e, ERR_FAILED, "cannot start the process that would thaw what is frozen");
}

int freeze_begin(struct freeze *f, const char *why, struct err *e)
{
	struct lane_hold h = {.by = getpid(), .brief = true, .since_ms = clock_wall_ms()};
	struct err first = ERR_INIT, ignored = ERR_INIT;

	f->lasted_ns = 0;
	for (size_t i = 0; i < f->n; i++)
		f->box[i].stood = false;
	f->since_ns = clock_mono_ns();
	if (!f->n)
		return 0;
	snprintf(h.why, sizeof h.why, "%s", why);
	if (wait_for_turns(f, e))
		return -1;
	if (start_guard(f, e)) {
		end_turns(f);
		return -1;
	}
	for (size_t i = 0; i < f->n; i++)
		if (!stands_for_others(&f->box[i]) && hold_still(f, &f->box[i], &h, &first)) {
			freeze_end(f, &ignored);
			return err_copy(e, &first);
		}
	f->since_ns = clock_mono_ns();
	return 0;
}

int freeze_end(struct freeze *f, struct err *e)
{
	const char done = DONE;
	int rc = let_all_go(f, e);

	f->lasted_ns = clock_mono_ns() - f->since_ns;
	/* What could not be thawed here is tried there once more. */
	if (f->guard >= 0 && rc == 0 && write(f->guard, &done, 1) < 0)
		rc = err_sys(e, errno, "cannot end the process that watches over what is frozen");
	if (f->guard >= 0)
		close(f->guard);
	f->guard = -1;
	end_turns(f);
	return rc;
}

int freeze_thaw(struct freeze *f, struct err *e)
{
	int n = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct freeze_box *b = &f->box[i];
		char why[256];
		struct lane_hold h;

		n += lane_refused(b->id, why, sizeof why);
		lane_refuse_no_more(b->id);
		if (!lane_hold_read(b->id, &h))
			continue;
		if (h.brief && h.alive)
			return err_set(e, ERR_CONFLICT,
				"%s is temporarily frozen by process %d: %s; it resumes automatically.",
				b->name, (int)h.by, h.why);
		b->paused = h.paused && f->pause;
		n += lane_frozen(b->init, b->id);
		if (let_box_go(f, b, e))
			return -1;
	}
	return n;
}

/* -- for longer -------------------------------------------------------------------------------------- */

int freeze_hold(struct freeze *f, const char *why, struct err *e)
{
	struct lane_hold h = {.by = getpid(), .since_ms = clock_wall_ms()};
	int rc = 0;

	if (wait_for_turns(f, e))
		return -1;
	snprintf(h.why, sizeof h.why, "%s", why);
	for (size_t i = 0; i < f->n; i++) {
		struct err first = ERR_INIT;

		if (!stands_for_others(&f->box[i]) && hold_still(f, &f->box[i], &h, &first))
			rc = err_copy(e, &first);
	}
	end_turns(f);
	return rc;
}

struct leaving {
	struct freeze *f;
	pid_t by;
};

static void let_left_go(void *ctx, const char *id, const struct lane_hold *h)
{
	struct leaving *l = ctx;
	struct freeze_box b = {.init = h->init, .paused = h->paused && l->f->pause, .turn = -1};
	struct err ignored = ERR_INIT;

	if (h->brief || h->by != l->by)
		return;
	snprintf(b.id, sizeof b.id, "%s", id);
	snprintf(b.name, sizeof b.name, "%.12s", id);
	if (is_gone(&b))
		lane_hold_forget(id);
	else
		let_box_go(l->f, &b, &ignored);
}

void freeze_left(struct freeze *f, pid_t by)
{
	lane_hold_each(let_left_go, &(struct leaving){f, by});
}

bool freeze_why(const struct freeze_box *b, char *why, size_t cap)
{
	struct lane_hold h;

	if (!lane_hold_read(b->id, &h) || !lane_frozen(b->init, b->id))
		return false;
	snprintf(why, cap, "%s%s", h.why, h.alive ? "" : " (the process that froze it is dead)");
	return true;
}

int freeze_refuse(const struct freeze *f, const char *why, struct err *e)
{
	for (size_t i = 0; i < f->n; i++)
		if (lane_refuse(f->box[i].id, why, e))
			return -1;
	return 0;
}

bool freeze_refuses(const struct freeze_box *b, char *why, size_t cap)
{
	return lane_refused(b->id, why, cap);
}
