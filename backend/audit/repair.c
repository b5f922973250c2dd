/* repair.c - finds the end of the audit log at the first start, after crashes and after removals. */
#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>

#include "audit/keys.h"

#define BLOCK ((size_t)1 << 20)
#define TORN_KEPT ((uint64_t)16 << 20) /* bytes of a torn end that are kept aside */

struct walk {
	struct head *h;    /* moves on with every valid record */
	bool anchored;     /* h says what the next record must look like */
	bool named_key;    /* a record told the key in force */
	uint64_t prune_to; /* said, but not yet signed */
};

/* What a record of the log about itself means for the head. */
static void apply_record(struct walk *w, const struct audit_record *r)
{
	struct head *h = w->h;
	const char *key = NULL, *text;

	switch (r->operation) {
	case OP_LOG_START:
		h->signed_seq = r->seq;
		key = record_param(r, "key");
		w->named_key = true;
		break;
	case OP_LOG_DAMAGE: key = record_param(r, "key"); break;
	case OP_LOG_CHECKPOINT:
		text = record_param(r, "checkpoint");
		h->checkpoints = text ? strtoull(text, NULL, 10) : 0;
		h->signed_seq = r->seq;
		if (w->prune_to)
			h->pruned_to = w->prune_to;
		w->prune_to = 0;
		key = record_param(r, "next");
		w->named_key = true;
		break;
	case OP_LOG_PRUNED:
		text = record_param(r, "to_seq");
		w->prune_to = text ? strtoull(text, NULL, 10) : 0;
		break;
	case OP_LOG_CLOCK:
		h->wall_ms = r->wall_ms;
		h->mono_us = r->mono_us;
		snprintf(h->boot, sizeof h->boot, "%s", r->boot);
		break;
	default: break;
	}
	if (key && strlen(key) == 2 * SEAL_KEY)
		hex_parse(h->next_key, key, SEAL_KEY);
}

/* One line; false when it is not the next record. */
static bool take_record(struct walk *w, const char *line, size_t len)
{
	struct record_frame f;

	if (!record_frame(line, len, &f) || !record_frame_holds(&f))
		return false;
	if (w->anchored && (memcmp(f.prev, w->h->hash, SEAL_HASH) != 0 || f.seq <= w->h->seq))
		return false;
	w->anchored = true;
	if (f.internal) {
		struct audit_record r;
		struct arena mem;

		arena_init(&mem, 4096);
		if (record_parse(line, len, &mem, &r))
			apply_record(w, &r);
		arena_release(&mem);
	}
	w->h->seq = f.seq;
	memcpy(w->h->hash, f.hash, SEAL_HASH);
	w->h->offset += len + 1;
	return true;
}

/* From h->offset on, as far as the records are good. */
static int walk_on(struct chain *c, struct walk *w, struct err *e)
{
	AUTO_FREE char *block = xmalloc(BLOCK);

	for (;;) {
		ssize_t n = file_fill_at(c->segfd, block, BLOCK, (off_t)w->h->offset);
		char *line = block, *newline;

		if (n < 0)
			return err_sys(e, errno, "Cannot read the audit log in %s", c->path);
		while ((newline = memchr(line, '\n', (size_t)(block + n - line)))) {
			if (!take_record(w, line, (size_t)(newline - line)))
				return 0;
			line = newline + 1;
		}
		if (line == block)
			return 0;
	}
}

/* After a power failure the head may name a segment that was full long ago. */
static int walk_segments(struct chain *c, struct walk *w, struct err *e)
{
	for (;;) {
		struct err why = ERR_INIT;
		struct stat st;

		if (walk_on(c, w, e) < 0)
			return -1;
		if (fstat(c->segfd, &st) < 0)
			return err_sys(e, errno, "Cannot read the audit log in %s", c->path);
		if ((uint64_t)st.st_size != w->h->offset || w->h->seq + 1 == c->segment)
			return 0;
		if (chain_open_segment(c, w->h->seq + 1, false, &why) < 0)
			return why.kind == ERR_NOT_FOUND ? 0 : err_copy(e, &why);
		w->h->segment = c->segment;
		w->h->offset = 0;
	}
}

struct torn {
	char bytes[32], sha256[AUDIT_HEX], kept_as[64];
};

/* What is behind the valid end goes into a file of its own. */
static int set_torn_aside(struct chain *c, uint64_t size, struct torn *torn, struct err *e)
{
	uint64_t n = size - c->head.offset, kept = n < TORN_KEPT ? n : TORN_KEPT;
	AUTO_FREE char *bytes = xmalloc(kept);
	uint8_t hash[SEAL_HASH];
	AUTO_CLOSE int fd = -1;

	if (file_fill_at(c->segfd, bytes, kept, (off_t)c->head.offset) != (ssize_t)kept)
		return err_sys(e, errno, "Cannot read the audit log in %s", c->path);
	snprintf(torn->kept_as, sizeof torn->kept_as, "torn-%020" PRIu64, c->head.seq + 1);
	fd = c->sys->openat(
		c->dir, torn->kept_as, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Best effort: on a full disk the hash in the record has to do. */
	if (fd < 0 || audit_pwrite_all(c->sys, fd, bytes, kept, 0) < 0 || c->sys->fdatasync(fd) < 0)
		snprintf(torn->kept_as, sizeof torn->kept_as, "nowhere");
	if (c->sys->ftruncate(c->segfd, (off_t)c->head.offset) < 0)
		return err_sys(e, errno, "Cannot cut a torn line off the audit log in %s", c->path);
	c->allocated = 0;
	seal_hash(bytes, kept, hash);
	memset(torn->sha256, 0, sizeof torn->sha256);
	hex_digits(torn->sha256, hash, SEAL_HASH);
	snprintf(torn->bytes, sizeof torn->bytes, "%" PRIu64, n);
	return 0;
}

/* As above when there is anything; torn->bytes is "" otherwise. */
static int set_aside_rest(struct chain *c, struct torn *torn, struct err *e)
{
	struct stat st;

	torn->bytes[0] = '\0';
	if (fstat(c->segfd, &st) < 0)
		return err_sys(e, errno, "Cannot read the audit log in %s", c->path);
	if ((uint64_t)st.st_size <= c->head.offset)
		return 0;
	return set_torn_aside(c, (uint64_t)st.st_size, torn, e);
}

static int note_torn(struct chain *c, const struct torn *torn, struct err *e)
{
	if (!torn->bytes[0])
		return 0;
	return chain_note(c, OP_LOG_TORN,
		(struct key_value[]){{"bytes", torn->bytes, false}, {"sha256", torn->sha256, false},
			{"kept_as", torn->kept_as, false}},
		3, e);
}

static int start_log(struct chain *c, struct err *e)
{
	char key[AUDIT_HEX] = "", id[33] = "";
	uint8_t random[16];
	struct torn torn;

	memset(&c->head, 0, sizeof c->head);
	c->head.segment = 1;
	if (keys_create(c->sys, c->dir, c->head.next_key, e) < 0 ||
		chain_open_segment(c, 1, true, e) < 0)
		return -1;
	c->tip = c->head;
	c->dirty = true;
	if (set_aside_rest(c, &torn, e) < 0)
		return -1;
	seal_random(random, sizeof random);
	hex_digits(id, random, sizeof random);
	hex_digits(key, c->head.next_key, SEAL_KEY);
	c->tip.signed_seq = 1;
	if (chain_note(c, OP_LOG_START,
		    (struct key_value[]){{"format", "berth.audit/1", false}, {"log", id, false},
			    {"key", key, false}},
		    3, e) < 0)
		return -1;
	/* The start comes first, whatever else there is to say. */
	return note_torn(c, &torn, e);
}

/* The newest record there is, by reading segments from the last one back. */
static int find_tail(struct chain *c, const struct segments *s, struct head *ret, struct err *e)
{
	struct head found = {0};
	bool have = false, key = false;

	for (size_t i = s->n; i-- > 0 && !(have && key);) {
		struct head h = {.segment = s->v[i].first};
		struct walk w = {.h = &h};

		if (chain_open_segment(c, h.segment, false, e) < 0 || walk_on(c, &w, e) < 0)
			return -1;
		if (!have && h.seq) {
			found = h;
			have = true;
		} else if (w.named_key) {
			memcpy(found.next_key, h.next_key, SEAL_KEY);
			found.checkpoints = h.checkpoints;
			found.signed_seq = h.signed_seq;
		}
		key |= w.named_key;
	}
	*ret = found;
	return 0;
}

static int note_damage(struct chain *c, const char *what, const char *missing, uint64_t expected,
	uint64_t found, struct err *e)
{
	char a[32], b[32];

	snprintf(a, sizeof a, "%" PRIu64, expected);
	snprintf(b, sizeof b, "%" PRIu64, found);
	return chain_note(c, OP_LOG_DAMAGE,
		(struct key_value[]){{"what", what, false}, {"missing", missing, false},
			{"acknowledged", a, false}, {"found", b, false}},
		4, e);
}

/* The head names a record that is not there, or there is no head although there is a log. */
static int repair_damage(struct chain *c, bool knew, struct err *e)
{
	struct head was = c->head, found;
	struct segments s;
	struct torn torn;
	int ret;

	if (segments_list(c->dir, &s, e) < 0)
		return -1;
	ret = find_tail(c, &s, &found, e);
	segments_release(&s);
	if (ret < 0)
		return -1;
	if (!knew && !found.seq)
		return start_log(c, e);
	c->head = found;
	c->dirty = true;
	if (knew) {
		/* The numbers go on where they were, so that the gap stays visible for ever. */
		c->head.seq = was.seq > found.seq ? was.seq : found.seq;
		c->head.signed_seq = was.signed_seq;
		c->head.checkpoints = was.checkpoints;
		c->head.pruned_to = was.pruned_to;
		memcpy(c->head.next_key, was.next_key, SEAL_KEY);
	}
	if (!found.seq) {
		c->head.segment = c->head.seq + 1;
		memcpy(c->head.hash, was.hash, SEAL_HASH);
	}
	if (chain_open_segment(c, c->head.segment, true, e) < 0)
		return -1;
	c->tip = c->head;
	if (set_aside_rest(c, &torn, e) < 0 || note_torn(c, &torn, e) < 0)
		return -1;
	/* A log of one record without a head was killed before it had one. */
	if (!knew && found.seq <= 1)
		return 0;
	return note_damage(c, knew ? "records" : "head",
		knew ? "acknowledged records are missing" : "the head file is missing or damaged",
		was.seq, found.seq, e);
}

int chain_repair(struct chain *c, const char *raw, ssize_t n, struct err *e)
{
	struct walk w = {.h = &c->head, .anchored = true};
	struct torn torn;
	struct head before;
	struct stat st;

	if (n != HEAD_SIZE || !head_parse(raw, &c->head)) {
		memset(&c->head, 0, sizeof c->head);
		return repair_damage(c, false, e);
	}
	if (c->segment != c->head.segment || c->segfd < 0 || fstat(c->segfd, &st) < 0 ||
		st.st_nlink == 0) {
		/* Only a segment that was never acknowledged to hold anything may be missing. */
		if (chain_open_segment(c, c->head.segment, c->head.offset == 0, e) < 0) {
			if (!e || e->kind != ERR_NOT_FOUND)
				return -1;
			*e = (struct err)ERR_INIT;
			return repair_damage(c, true, e);
		}
	}
	if (fstat(c->segfd, &st) < 0)
		return err_sys(e, errno, "Cannot read the audit log in %s", c->path);
	if ((uint64_t)st.st_size < c->head.offset)
		return repair_damage(c, true, e);
	before = c->head;
	if (walk_segments(c, &w, e) < 0)
		return -1;
	c->tip = c->head;
	c->dirty |= c->head.seq != before.seq || c->head.segment != before.segment;
	return set_aside_rest(c, &torn, e) < 0 ? -1 : note_torn(c, &torn, e);
}
