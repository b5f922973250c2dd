/* apply_target.c - compares a file to apply with the target: the same, unchanged since the start, or different. */
#include "workspace/apply_plan.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/beneath.h>
#include <berth/mem.h>

#define APPLY_READ_MAX (64ull << 20) /* what differs by its size alone is hashed up to here */

int apply_look_into(int into, const char *path, const char **why)
{
	struct stat st;
	int fd = beneath_open(
		into, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);

	*why = NULL;
	if (fd < 0) {
		if (errno == ELOOP)
			*why = "a symbolic link is in the way";
		else if (errno == ENOTDIR)
			*why = "a file is where its directory would be";
		else if (errno == EXDEV)
			*why = "something is mounted there";
		else if (errno != ENOENT)
			*why = "it cannot be looked at";
		return -1;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		*why = S_ISDIR(st.st_mode)    ? "a directory is there"
			: S_ISLNK(st.st_mode) ? "a symbolic link is in the way"
					      : "what is there is not a file";
	close(fd);
	return *why ? -1 : 0;
}

/* The target's file, block by block, beside what is taken. */
struct comparing {
	const struct applying *x;
	struct checkpoint_reader *reader; /* where that is not held */
	struct checkpoint_sum *sum;       /* of the target's; NULL: nobody asks */
	struct str *old;                  /* keeps it; NULL: need not be */
	char *buf;
	uint64_t at;
	bool same, failed; /* failed: what is taken could not be read */
};

static bool is_next_of_reader(struct comparing *c, const char *bytes, size_t n, struct err *e)
{
	size_t have = 0;

	while (have < n) {
		ssize_t got = checkpoint_read(c->reader, c->buf + have, n - have, e);

		c->failed = got < 0;
		if (got <= 0)
			return false;
		have += (size_t)got;
	}
	return !memcmp(c->buf, bytes, n);
}

static int compare_block(void *ctx, const char *bytes, size_t n, struct err *e)
{
	struct comparing *c = ctx;
	const struct str *held = &c->x->content;

	if (c->sum)
		checkpoint_sum_add(c->sum, bytes, n);
	if (c->old && c->old->len + n <= APPLY_TEXT_MAX + 1)
		str_add(c->old, bytes, n);
	if (c->same && c->x->held)
		c->same = c->at + n <= held->len && !memcmp(held->s + c->at, bytes, n);
	else if (c->same)
		c->same = is_next_of_reader(c, bytes, n, e);
	c->at += n;
	return c->failed ? -1 : 0;
}

/* What is read to its end is what was planned. */
static int end_comparing(struct comparing *c, struct err *e)
{
	char more;
	ssize_t n = c->same && c->reader ? checkpoint_read(c->reader, &more, 1, e) : 0;

	c->failed = n < 0;
	return c->failed ? -1 : 0;
}

static int read_target_beside(struct plan *p, const struct apply_item *item, struct applying *x,
	struct comparing *c, struct err *e)
{
	AUTO_FREE char *buf = NULL;
	int rc;

	if (c->same && !x->held) {
		c->buf = buf = xmalloc(APPLY_BLOCK);
		c->reader = checkpoint_reader_open(p->wish.from, &x->entry, e);
		c->failed = !c->reader;
	}
	rc = c->failed || files_read_blocks(p->into, item->path, compare_block, c, &x->token, e) ||
			end_comparing(c, e)
		? -1
		: 0;
	checkpoint_reader_close(c->reader);
	return rc;
}

/* Of the bit, as of the content: what only one side changed since the start is what it becomes. */
static int choose_executable(const struct apply_item *item, bool there, const uint32_t *before)
{
	if (item->executable == there ||
		(before && item->executable == apply_is_executable(*before)))
		return 0;
	return item->executable ? 1 : -1;
}

int apply_judge(struct plan *p, struct apply_item *item, struct applying *x, struct err *e)
{
	struct checkpoint_entry before;
	struct files_entry there;
	struct comparing c = {.x = x};
	bool begun = p->wish.start && checkpoint_lookup(p->wish.start, item->path, &before), asked;
	struct err why = ERR_INIT;
	int rc = files_look(p->into, item->path, &there, &why);

	x->there = true;
	x->executable = rc ? 0
			   : choose_executable(item, apply_is_executable(there.mode),
				     begun ? &before.mode : NULL);
	c.same = rc == 0 && there.size == item->size;
	asked = rc == 0 && begun && there.size == before.size;
	if (asked)
		c.sum = checkpoint_sum_new();
	if (p->wish.hunks && x->held && rc == 0 && there.size <= APPLY_TEXT_MAX &&
		p->held + there.size <= APPLY_HELD_MAX) {
		c.old = &x->old;
		x->compared = true;
		p->held += there.size;
	}
	if (rc == 0 && !c.same && !asked && there.size > APPLY_READ_MAX)
		rc = files_read_blocks(p->into, item->path, NULL, NULL, &x->token, &why);
	else if (rc == 0)
		rc = read_target_beside(p, item, x, &c, &why);
	if (rc && !c.failed)
		apply_set_fate(item, APPLY_BLOCKED, "it cannot be read, or is being written");
	else if (c.same && !x->executable)
		apply_set_fate(item, APPLY_SAME, NULL);
	else if (c.same ? begun : c.sum && checkpoint_sum_is(c.sum, p->wish.start, &before))
		apply_set_fate(item, APPLY_CHANGED, NULL);
	else if (c.same)
		apply_set_fate(item, APPLY_CONFLICT,
			x->executable > 0 ? "there it is not executable"
					  : "there it is executable");
	else
		apply_set_fate(item, APPLY_CONFLICT,
			p->wish.start ? "it changed there, too" : "there is another");
	if (item->fate == APPLY_CHANGED && x->executable < 0)
		item->why = "no longer executable";
	checkpoint_sum_free(c.sum);
	return c.failed ? err_copy(e, &why) : 0;
}
