/* chain.c - appends records to the audit log while holding its lock. */
#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/check.h>
#include <berth/file.h>
#include <berth/mem.h>
#include <berth/users.h>

#include "audit/keys.h"

#define CLOCK_STEP_MS 500 /* differences below this are two readings of one clock */
#define ALLOCATE_AHEAD ((uint64_t)1 << 20)
#define HAND_ON ((size_t)256 << 10) /* bytes of a batch that go to the file before the rest */

static void read_boot_id(char out[40])
{
	file_text("/proc/sys/kernel/random/boot_id", out, 37);
	for (char *s = out; *s; s++)
		if (!strchr("0123456789abcdef-", *s))
			*s = '-';
}

static void know_thyself(struct chain *c)
{
	char host[256] = "", boot[40], user[USER_NAME_MAX];
	const char *agent = c->o.agent ? c->o.agent : getenv(AUDIT_FOR_AGENT);

	gethostname(host, sizeof host - 1);
	read_boot_id(boot);
	c->self.host = xstrdup(host);
	c->self.boot = xstrdup(boot);
	c->self.user = xstrdup(user_name(geteuid(), user));
	c->self.uid = geteuid();
	c->self.pid = (uint32_t)getpid();
	c->self.program = xstrdup(c->o.program ? c->o.program : "berth");
	c->self.agent = xstrdup(agent ? agent : "");
	c->self.session = xstrdup(c->o.session ? c->o.session : "");
	c->self.duration_us = -1;
	str_init(&c->self_text);
	record_self(&c->self_text, &c->self);
}

static void close_chain_files(struct chain *c)
{
	int *fds[] = {&c->dir, &c->headfd, &c->segfd, &c->keyfd};

	for (size_t i = 0; i < COUNT(fds); i++) {
		cleanup_close(fds[i]);
		*fds[i] = -1;
	}
	c->open = false;
}

static int open_head(struct chain *c, struct err *e)
{
	int fd = c->sys->openat(c->dir, "head", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(e, errno, "Cannot write to the audit log in %s", c->path);
	if (c->headfd >= 0)
		close(c->headfd);
	c->headfd = fd;
	return 0;
}

/* Whole segments are removed, so a log that is to be small has small ones. */
static uint64_t choose_segment(uint64_t keep_bytes)
{
	uint64_t part = keep_bytes / 4;

	return !keep_bytes || part >= AUDIT_SEGMENT ? AUDIT_SEGMENT
		: part < AUDIT_SEGMENT_LEAST        ? AUDIT_SEGMENT_LEAST
						    : part;
}

void chain_init(struct chain *c, const struct audit_options *o)
{
	memset(c, 0, sizeof *c);
	c->dir = c->headfd = c->segfd = c->keyfd = c->gap.fd = -1;
	c->look_for_gap = true;
	c->o = *o;
	c->o.dir = xstrdup(o->dir);
	c->sys = o->sys ? o->sys : &audit_sys_real;
	if (!c->o.segment_bytes)
		c->o.segment_bytes = choose_segment(o->keep_bytes);
	if (!c->o.reserve_bytes)
		c->o.reserve_bytes = AUDIT_RESERVE;
	if (!c->o.checkpoint_records)
		c->o.checkpoint_records = AUDIT_CHECKPOINT;
	str_init(&c->buf);
	str_init(&c->scratch);
	know_thyself(c);
}

/* What an interrupted checkpoint or pruning left. */
static void tidy_up(struct chain *c)
{
	c->keyfd = keys_open(c->sys, c->dir, NULL);
	if (c->keyfd >= 0)
		keys_tidy(c->sys, c->keyfd, c->head.next_key, NULL);
	if (c->head.pruned_to)
		chain_finish_prune(c);
}

int chain_open(struct chain *c, struct err *e)
{
	c->dir = segments_dir(c->o.dir, true, c->path, sizeof c->path, e);
	if (c->dir < 0 || open_head(c, e) < 0)
		goto fail;
	/* An empty batch makes a new log, or repairs what a crash left, before anybody relies on it.
	 * Records that wait for their disk are no damage, and not waited for. */
	if (chain_begin(c, 0, e) < 0)
		goto fail;
	if ((c->buf.len || !c->durable) && chain_sync(c, e) < 0) {
		chain_end(c);
		goto fail;
	}
	if (!c->o.brief)
		tidy_up(c);
	chain_end(c);
	c->open = true;
	return 0;
fail:
	close_chain_files(c);
	return -1;
}

void chain_release(struct chain *c)
{
	close_chain_files(c);
	str_release(&c->buf);
	str_release(&c->scratch);
	str_release(&c->self_text);
	free((char *)c->o.dir);
	free((char *)c->self.host);
	free((char *)c->self.boot);
	free((char *)c->self.user);
	free((char *)c->self.program);
	free((char *)c->self.agent);
	free((char *)c->self.session);
}

int chain_open_segment(struct chain *c, uint64_t first, bool make, struct err *e)
{
	char name[SEGMENT_NAME];
	int fd = c->sys->openat(c->dir, segment_name(name, first),
		O_RDWR | (make ? O_CREAT : 0) | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "The audit log's segment %s is missing.", name);
	if (fd < 0)
		return err_sys(e, errno, "Cannot open the audit log's segment %s", name);
	/* A new file's name must be on disk before anything in it is said to be. */
	if (make && c->sys->fsync(c->dir) < 0) {
		err_sys(e, errno, "Cannot make the audit log's segment %s durable", name);
		close(fd);
		return -1;
	}
	if (c->segfd >= 0)
		close(c->segfd);
	c->segfd = fd;
	c->segment = first;
	c->allocated = 0;
	return 0;
}

static bool segment_ends_at_head(struct chain *c)
{
	struct stat st;

	return c->segfd >= 0 && c->segment == c->head.segment && fstat(c->segfd, &st) == 0 &&
		st.st_nlink > 0 && (uint64_t)st.st_size == c->head.offset;
}

/* Is there one behind the head's? */
static bool has_next_segment(struct chain *c)
{
	char name[SEGMENT_NAME];

	return c->head.seq + 1 != c->segment &&
		faccessat(c->dir, segment_name(name, c->head.seq + 1), F_OK, AT_SYMLINK_NOFOLLOW) ==
		0;
}

/* Another process may have appended, rotated or died since we last held the lock. */
static int look_again(struct chain *c, struct err *e)
{
	char raw[HEAD_SIZE];
	ssize_t n = file_fill_at(c->headfd, raw, sizeof raw, 0);
	struct head now;

	if (n < 0)
		return err_sys(e, errno, "Cannot read the audit log's head");
	if (n == HEAD_SIZE && memcmp(raw, c->raw, HEAD_SIZE) == 0 && segment_ends_at_head(c))
		return 0;
	if (n == HEAD_SIZE && head_parse(raw, &now)) {
		if (now.segment != c->segment)
			chain_open_segment(c, now.segment, false, NULL);
		c->head = now;
		c->durable = now.seq;
		c->dirty = false;
		memcpy(c->raw, raw, HEAD_SIZE);
		/* Only a power failure leaves a head from before a rotation, so the first look is enough. */
		if (segment_ends_at_head(c) && (c->open || !has_next_segment(c)))
			return 0;
	}
	return chain_repair(c, raw, n, e);
}

int chain_note(struct chain *c, enum operation operation, const struct key_value *params, size_t n,
	struct err *e)
{
	struct audit_record r = c->self;

	r.operation = operation;
	r.phase = AUDIT_EVENT;
	r.result = AUDIT_OK;
	r.wall_ms = c->sys->wall_ms();
	r.mono_us = c->sys->mono_us();
	r.agent = r.session = NULL;
	r.params = params;
	r.nparams = n;
	str_clear(&c->scratch);
	record_body(&c->scratch, &r);
	return chain_add(c, operation, c->scratch.s, c->scratch.len, 0, NULL, e);
}

/* Within one boot the two clocks run in step; where they do not, somebody set the wall clock. */
static int note_clock(struct chain *c, struct err *e)
{
	int64_t wall = c->sys->wall_ms(), mono = c->sys->mono_us(), step;
	char text[32];

	if (!c->head.seq || strcmp(c->head.boot, c->self.boot) != 0)
		return 0;
	step = (wall - c->head.wall_ms) - (mono - c->head.mono_us) / 1000;
	if (step < CLOCK_STEP_MS && step > -CLOCK_STEP_MS)
		return 0;
	snprintf(text, sizeof text, "%" PRId64, step);
	/* Said once, also while no head is written. */
	c->tip.wall_ms = wall;
	c->tip.mono_us = mono;
	return chain_note(c, OP_LOG_CLOCK, &(struct key_value){"step_ms", text, false}, 1, e);
}

/* Keep the reserve allocated beyond what is about to be written. */
static void allocate_ahead(struct chain *c, size_t bytes)
{
	uint64_t want = bytes + c->o.reserve_bytes;
	bool done = false;
	struct stat st;

	if (c->no_reserve)
		return;
	/* Segments have no holes: what a process before this one allocated is there in whole. */
	if (!c->allocated && fstat(c->segfd, &st) == 0)
		c->allocated = (uint64_t)st.st_blocks * 512;
	if (c->allocated >= c->head.offset + want) {
		c->low = false;
		return;
	}
	for (int i = 0; i < 2 && !done; i++) {
		uint64_t n = want + (i ? 0 : ALLOCATE_AHEAD);

		done = c->sys->fallocate(
			       c->segfd, FALLOC_FL_KEEP_SIZE, (off_t)c->head.offset, (off_t)n) == 0;
		if (done)
			c->allocated = c->head.offset + n;
		else if (errno != ENOSPC && errno != EDQUOT)
			break;
	}
	if (!done && (errno == EOPNOTSUPP || errno == ENOSYS))
		c->no_reserve = true;
	c->low = !done && !c->no_reserve;
}

/* Not on a full disk: that is not over yet, and each of these would take from the reserve. */
static int note_gap(struct chain *c, struct err *e)
{
	char count[32], from[32], to[32];

	if (!c->look_for_gap || c->low)
		return 0;
	c->look_for_gap = false;
	if (!gap_take(&c->gap))
		return 0;
	snprintf(count, sizeof count, "%" PRIu64, c->gap.count);
	snprintf(from, sizeof from, "%" PRId64, c->gap.from_ms);
	snprintf(to, sizeof to, "%" PRId64, c->gap.to_ms);
	return chain_note(c, OP_LOG_GAP,
		(struct key_value[]){{"unrecorded", count, false}, {"from_ms", from, false},
			{"to_ms", to, false}, {"acts", c->gap.acts, false}},
		4, e);
}

int chain_begin(struct chain *c, size_t bytes, struct err *e)
{
	struct stat st;

	if (c->broken.kind)
		return err_copy(e, &c->broken);
	if (head_lock(c->headfd, true, CHAIN_LOCK_MS, e) < 0)
		return -1;
	/* Somebody who removes the head file would otherwise give us a lock of our own. */
	while (fstat(c->headfd, &st) == 0 && st.st_nlink == 0)
		if (open_head(c, e) < 0 || head_lock(c->headfd, true, CHAIN_LOCK_MS, e) < 0)
			return -1;
	str_clear(&c->buf);
	c->handed = 0;
	if (look_again(c, e) < 0) {
		head_unlock(c->headfd);
		return -1;
	}
	if (!c->buf.len)
		c->tip = c->head;
	allocate_ahead(c, bytes);
	if (note_clock(c, e) < 0 || note_gap(c, e) < 0) {
		head_unlock(c->headfd);
		return -1;
	}
	return 0;
}

static int hand_on(struct chain *c)
{
	if (!c->hand_errno &&
		audit_pwrite_all(c->sys, c->segfd, c->buf.s, c->buf.len,
			(off_t)(c->head.offset + c->handed)) < 0)
		c->hand_errno = errno;
	if (c->hand_errno)
		return -1;
	c->handed += c->buf.len;
	str_clear(&c->buf);
	return 0;
}

/* A large batch: the disk works while the rest is hashed.  What fails here fails in chain_sync. */
static void hand_on_early(struct chain *c)
{
	off_t at = (off_t)(c->head.offset + c->handed), n = (off_t)c->buf.len;

	if (hand_on(c) == 0)
		sync_file_range(c->segfd, at, n, SYNC_FILE_RANGE_WRITE);
}

int chain_full(const struct chain *c, struct err *e)
{
	return err_set(e, ERR_FAILED,
		"The disk that holds the audit log (%s) is full: until there is space, only operations that free space are allowed.",
		c->path);
}

int chain_add(struct chain *c, enum operation operation, const char *body, size_t len,
	uint64_t intent, uint64_t *ret_seq, struct err *e)
{
	uint8_t prev[SEAL_HASH];

	if (c->low && !intent && !(operation_table[operation].flags & OP_FREES) &&
		operation_table[operation].class != OP_INTERNAL)
		return chain_full(c, e);
	memcpy(prev, c->tip.hash, sizeof prev);
	c->tip.seq++;
	record_line(&c->buf, c->tip.seq, intent, body, len, prev, c->tip.hash);
	c->tip.offset = c->head.offset + c->handed + c->buf.len;
	if (c->buf.len >= HAND_ON)
		hand_on_early(c);
	if (ret_seq)
		*ret_seq = c->tip.seq;
	return 0;
}

int chain_write_head(struct chain *c)
{
	c->head.wall_ms = c->sys->wall_ms();
	c->head.mono_us = c->sys->mono_us();
	snprintf(c->head.boot, sizeof c->head.boot, "%s", c->self.boot);
	head_format(&c->head, c->raw);
	if (audit_pwrite_all(c->sys, c->headfd, c->raw, HEAD_SIZE, 0) == 0) {
		c->durable = c->head.seq;
		return 0;
	}
	/* A head that is behind is lawful; one we do not know is read again. */
	memset(c->raw, 0, HEAD_SIZE);
	return -1;
}

/* Take what was added back, so that it cannot be taken for a record later. */
static int undo_append(struct chain *c, bool lost_trust, const struct err *why)
{
	struct stat st;
	bool extended = fstat(c->segfd, &st) < 0 || (uint64_t)st.st_size != c->head.offset;

	if (extended) {
		if (c->sys->ftruncate(c->segfd, (off_t)c->head.offset) < 0)
			lost_trust = true;
		c->allocated = 0;
	}
	/* After a failed fdatasync the kernel calls pages clean that never reached the disk, and
	 * the next one succeeds: nothing this process still holds of the file can be trusted. */
	if (lost_trust) {
		c->broken = *why;
		err_wrap(&c->broken,
			"The audit log can no longer be written; repair the disk and "
			"start berth again");
	}
	str_clear(&c->buf);
	c->handed = 0;
	c->hand_errno = 0;
	c->tip = c->head;
	gap_release(&c->gap, false);
	c->look_for_gap = true;
	return -1;
}

static int hand_on_rest(struct chain *c, struct err *e)
{
	struct err why = ERR_INIT;

	if (!c->buf.len || hand_on(c) == 0)
		return 0;
	err_sys(&why, c->hand_errno, "Cannot write to the audit log in %s", c->path);
	undo_append(c, false, &why);
	return err_copy(e, &why);
}

int chain_write(struct chain *c, struct err *e)
{
	if (!c->buf.len && !c->handed)
		return 0;
	if (hand_on_rest(c, e) < 0)
		return -1;
	c->head = c->tip;
	c->handed = 0;
	c->dirty = true;
	gap_release(&c->gap, true);
	return 0;
}

/* The head file names `to`, which is on disk; what was written since waits for the next time. */
static int name_head(struct chain *c, const struct head *to, struct err *e)
{
	struct head end = c->head;
	int failed;

	c->head = *to;
	failed = chain_write_head(c);
	c->head = end;
	c->dirty = failed || end.seq != to->seq;
	return failed ? err_sys(e, errno, "Cannot write the audit log's head") : 0;
}

int chain_flush(struct chain *c, struct err *e)
{
	struct head to;
	int fd, ret = 0;

	if (chain_begin(c, 0, e) < 0)
		return -1;
	/* What beginning had to say (a torn line, a new log) is not to be left behind. */
	if (c->buf.len && chain_sync(c, e) < 0)
		ret = -1;
	to = c->head;
	fd = c->segfd;
	chain_end(c);
	if (ret < 0 || to.seq == c->durable)
		return ret;
	if (c->sys->fdatasync(fd) < 0) {
		err_sys(&c->broken, errno, "Cannot make the audit log in %s durable", c->path);
		return err_copy(e, &c->broken);
	}
	if (chain_begin(c, 0, e) < 0)
		return -1;
	if (c->buf.len)
		ret = chain_sync(c, e);
	/* Whoever was quicker, or signed, or began a new segment, has named it or what comes after it. */
	else if (c->durable < to.seq && c->head.segment == to.segment)
		ret = name_head(c, &to, e);
	chain_end(c);
	return ret;
}

int chain_sync(struct chain *c, struct err *e)
{
	struct err why = ERR_INIT;
	bool first = c->head.seq == 0;

	if (!c->buf.len && !c->handed && !c->dirty)
		return 0;
	if (hand_on_rest(c, e) < 0)
		return -1;
	if (c->sys->fdatasync(c->segfd) < 0) {
		err_sys(&why, errno, "Cannot make the audit log in %s durable", c->path);
		undo_append(c, true, &why);
		return err_copy(e, &why);
	}
	c->head = c->tip;
	c->handed = 0;
	gap_release(&c->gap, true);
	c->dirty = chain_write_head(c) < 0;
	/* Once, so that a power failure cannot leave a log without any head. */
	if (first)
		c->sys->fsync(c->headfd);
	return 0;
}

void chain_end(struct chain *c)
{
	CHECK(!c->buf.len && !c->handed);
	head_unlock(c->headfd);
}
