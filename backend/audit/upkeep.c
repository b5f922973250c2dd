/* upkeep.c - maintains the audit log: checkpoints, rotation and retention. */
#include "audit/chain.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <berth/arena.h>
#include <berth/file.h>
#include <berth/hex.h>
#include <berth/mem.h>

#include "audit/keys.h"

#define BEGINNING (2 * (size_t)AUDIT_LINE_MAX)

bool chain_unsigned(const struct chain *c, uint64_t at_least)
{
	return c->head.seq - c->head.signed_seq >= at_least && c->head.seq >= c->retry_signing_at;
}

/* The key that should sign is gone: go on with a new one, visibly. */
static int replace_key(struct chain *c, struct err *e)
{
	char hex[AUDIT_HEX] = "", lost[AUDIT_HEX] = "";
	uint8_t key[SEAL_KEY];

	hex_digits(lost, c->head.next_key, SEAL_KEY);
	if (keys_replace(c->sys, c->dir, key, e) < 0)
		return -1;
	if (c->keyfd >= 0)
		close(c->keyfd);
	c->keyfd = keys_open(c->sys, c->dir, e);
	if (c->keyfd < 0)
		return -1;
	hex_digits(hex, key, SEAL_KEY);
	c->tip = c->head;
	memcpy(c->tip.next_key, key, SEAL_KEY);
	if (chain_note(c, OP_LOG_DAMAGE,
		    (struct key_value[]){{"what", "key", false},
			    {"missing", "the signing key is missing or not the one that was named",
				    false},
			    {"lost", lost, false}, {"key", hex, false}},
		    4, e) < 0)
		return -1;
	return chain_sync(c, e);
}

static int advance_keys(struct chain *c, struct keys_step *step, struct err *e)
{
	if (c->keyfd < 0)
		c->keyfd = keys_open(c->sys, c->dir, e);
	if (c->keyfd < 0)
		return -1;
	return keys_advance(c->sys, c->keyfd, c->head.next_key, step, e);
}

/* The body of a checkpoint, signature included. */
static void sign_checkpoint(struct chain *c, const struct keys_step *step, struct str *body)
{
	char key[AUDIT_HEX] = "", next[AUDIT_HEX] = "", number[32], sig[2 * SEAL_SIG];
	const struct key_value params[] = {
		{"checkpoint", number, false}, {"key", key, false}, {"next", next, false}};
	struct audit_record r = c->self;
	uint8_t bytes[SEAL_SIG];
	AUTO_STR struct str text = STR_INIT;

	snprintf(number, sizeof number, "%" PRIu64, c->head.checkpoints + 1);
	hex_digits(key, c->head.next_key, SEAL_KEY);
	hex_digits(next, step->next_public, SEAL_KEY);
	r.agent = r.session = NULL;
	r.operation = OP_LOG_CHECKPOINT;
	r.phase = AUDIT_EVENT;
	r.result = AUDIT_OK;
	r.wall_ms = c->sys->wall_ms();
	r.mono_us = c->sys->mono_us();
	r.params = params;
	r.nparams = COUNT(params);
	record_body(body, &r);
	body->s[--body->len] =
		'\0'; /* the brace that closes the params comes after the signature */
	str_add(&text, c->tip.hash, SEAL_HASH);
	str_addf(&text, "{\"seq\":%" PRIu64, c->tip.seq + 1);
	str_add(&text, body->s, body->len);
	seal_sign(step->seed, text.s, text.len, bytes);
	hex_digits(sig, bytes, SEAL_SIG);
	str_adds(body, ",\"sig\":\"");
	str_add(body, sig, sizeof sig);
	str_adds(body, "\"}");
}

int chain_checkpoint(struct chain *c, struct err *e)
{
	AUTO_STR struct str body = STR_INIT;
	struct keys_step step;
	struct err why = ERR_INIT;
	int ret;

	if (c->broken.kind)
		return err_copy(e, &c->broken);
	ret = advance_keys(c, &step, &why);
	if (ret < 0 && why.kind == ERR_NOT_FOUND && replace_key(c, &why) == 0)
		ret = advance_keys(c, &step, &why);
	if (ret < 0) {
		c->retry_signing_at = c->head.seq + c->o.checkpoint_records;
		return err_copy(e, &why);
	}
	c->tip = c->head;
	sign_checkpoint(c, &step, &body);
	chain_add(c, OP_LOG_CHECKPOINT, body.s, body.len, 0, NULL, NULL);
	memcpy(c->tip.next_key, step.next_public, SEAL_KEY);
	c->tip.checkpoints++;
	c->tip.signed_seq = c->tip.seq;
	if (c->prune_to)
		c->tip.pruned_to = c->prune_to;
	if (chain_sync(c, e) < 0) {
		keys_keep(&step);
		c->retry_signing_at = c->head.seq + c->o.checkpoint_records;
		return -1;
	}
	return keys_forget(c->sys, &step, e);
}

/*
 * Commands come by the dozen, each with a process that records it, and a signature costs more than all the
 * rest of that.  So the last one out signs for all: who waits holds a shared lock on the key file, and only
 * who finds nobody else waiting goes on.  The lock ends with its holder, however that ends.
 */
bool chain_last_out(struct chain *c)
{
	struct timespec nap = {0, (long)c->o.linger_ms * 1000000};

	if (!c->o.linger_ms || c->keyfd < 0 || chain_unsigned(c, AUDIT_LINGER))
		return true;
	/* Somebody signs just now, maybe from before this record. */
	for (unsigned tries = 0; !keys_wait(c->keyfd, false); tries++) {
		if (tries == c->o.linger_ms)
			return true;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	nanosleep(&nap, NULL);
	/* Given up first: of two that end at once one gets it. */
	keys_wait_end(c->keyfd);
	return keys_wait(c->keyfd, true);
}

int chain_rotate(struct chain *c, struct err *e)
{
	int old = c->segfd;
	struct head was;

	if (c->head.offset < c->o.segment_bytes || c->low || c->broken.kind)
		return 0;
	if (c->head.seq != c->head.signed_seq && chain_checkpoint(c, e) < 0)
		return -1;
	was = c->head;
	c->segfd = -1;
	if (chain_open_segment(c, c->head.seq + 1, true, e) < 0) {
		c->segfd = old;
		return -1;
	}
	c->head.segment = c->segment;
	c->head.offset = 0;
	c->tip = c->head;
	/* Others would go on in the old one. */
	if (chain_write_head(c) < 0) {
		err_sys(e, errno, "Cannot write the audit log's head");
		close(c->segfd);
		c->segfd = old;
		c->segment = was.segment;
		c->head = c->tip = was;
		c->dirty = true;
		return -1;
	}
	/* Gives back what was allocated ahead. */
	c->sys->ftruncate(old, (off_t)was.offset);
	close(old);
	/* A power failure could leave the head that names the old one: chain_repair finds its way from
	 * there, but only while the old one is there. */
	if (c->sys->fsync(c->headfd) < 0)
		return err_sys(e, errno, "Cannot make the audit log's head durable");
	if (c->o.keep_bytes || c->o.keep_ms)
		return chain_prune(c, c->o.keep_ms, c->o.keep_bytes, NULL, e);
	return 0;
}

/* The last line of a closed segment, parsed into mem. */
static int last_record(struct chain *c, const struct segment *s, struct arena *mem,
	struct audit_record *ret, struct err *e)
{
	size_t want = s->size < AUDIT_LINE_MAX ? (size_t)s->size : AUDIT_LINE_MAX;
	AUTO_FREE char *text = xmalloc(want + 1);
	char name[SEGMENT_NAME], *line;
	AUTO_CLOSE int fd = openat(c->dir, segment_name(name, s->first),
		O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0 || file_fill_at(fd, text, want, (off_t)(s->size - want)) != (ssize_t)want)
		return err_sys(e, errno, "Cannot read the audit log's segment %s", name);
	line = want > 1 && text[want - 1] == '\n' ? memrchr(text, '\n', want - 1) : NULL;
	line = line ? line + 1 : text;
	if (want < 2 || !record_parse(line, want - 1 - (size_t)(line - text), mem, ret))
		return err_set(e, ERR_FAILED,
			"Will not prune the audit log: its segment %s does not end in a record. Verify it first.",
			name);
	return 0;
}

/* How many segments may go, and what the last of them ends in. */
static int choose_expired(struct chain *c, const struct segments *s, int64_t keep_ms,
	uint64_t keep_bytes, struct arena *mem, struct audit_record *last, size_t *ret_n,
	struct err *e)
{
	int64_t now = c->sys->wall_ms();
	uint64_t total = 0;

	*ret_n = 0;
	for (size_t i = 0; i < s->n; i++)
		total += s->v[i].size;
	/* The active segment always stays. */
	for (size_t i = 0; i + 1 < s->n; i++) {
		struct audit_record r;

		if (!s->v[i].size)
			continue;
		if (last_record(c, &s->v[i], mem, &r, e) < 0)
			return -1;
		if (!(keep_bytes && total > keep_bytes) && !(keep_ms && now - r.wall_ms > keep_ms))
			break;
		/* Only where the key in force is told can the rest be checked on its own. */
		if (r.operation == OP_LOG_CHECKPOINT) {
			*last = r;
			*ret_n = i + 1;
		}
		total -= s->v[i].size;
	}
	return 0;
}

void chain_finish_prune(struct chain *c)
{
	struct segments s;
	size_t n = 0;

	if (segments_list(c->dir, &s, NULL) < 0)
		return;
	while (n + 1 < s.n && s.v[n + 1].first <= c->head.pruned_to + 1)
		n++;
	/* A head that named what is gone would look like damage after a power failure. */
	if (!n || c->sys->fsync(c->headfd) < 0) {
		segments_release(&s);
		return;
	}
	/* Oldest first: what remains of an interrupted run is still a whole tail. */
	for (size_t i = 0; i < n; i++) {
		char name[SEGMENT_NAME + 4];

		c->sys->unlinkat(c->dir, segment_name(name, s.v[i].first), 0);
		strcpy(strstr(name, ".jsonl"), ".idx");
		c->sys->unlinkat(c->dir, name, 0);
	}
	c->sys->fsync(c->dir);
	segments_release(&s);
}

/* A parameter of the first record of this operation near the segment's beginning; false: there is no such
 * record.  "" when it does not have it. */
static bool begins_with(struct chain *c, const struct segment *s, enum operation operation,
	const char *param, struct arena *mem, char ret[AUDIT_HEX])
{
	AUTO_FREE char *text = xmalloc(BEGINNING);
	char name[SEGMENT_NAME], *line = text, *newline;
	AUTO_CLOSE int fd = openat(c->dir, segment_name(name, s->first),
		O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : file_fill_at(fd, text, BEGINNING, 0);

	while (n > 0 && (newline = memchr(line, '\n', (size_t)(text + n - line)))) {
		size_t len = (size_t)(newline - line);
		struct record_frame f;
		struct audit_record r;

		if (record_frame(line, len, &f) && f.internal && record_parse(line, len, mem, &r) &&
			r.operation == operation) {
			const char *value = record_param(&r, param);

			snprintf(ret, AUDIT_HEX, "%s", value ? value : "");
			return true;
		}
		line = newline + 1;
	}
	return false;
}

/* The key that the log began with; "" when that is not known (any more). */
static void original_key(
	struct chain *c, const struct segments *s, struct arena *mem, char ret[AUDIT_HEX])
{
	ret[0] = '\0';
	if (begins_with(c, &s->v[0], OP_LOG_START, "key", mem, ret))
		return;
	/* Pruned before, when a segment was full: the record of that begins the next. */
	for (size_t i = s->n; i-- > 0;)
		if (begins_with(c, &s->v[i], OP_LOG_PRUNED, "first", mem, ret))
			return;
}

int chain_prune(
	struct chain *c, int64_t keep_ms, uint64_t keep_bytes, uint64_t *ret_removed, struct err *e)
{
	char seq[32], hash[AUDIT_HEX] = "", segments[32], first[AUDIT_HEX];
	struct audit_record last;
	struct segments s;
	struct arena mem;
	size_t n = 0;
	int ret = -1;

	if (ret_removed)
		*ret_removed = 0;
	if (segments_list(c->dir, &s, e) < 0)
		return -1;
	arena_init(&mem, 4096);
	if (choose_expired(c, &s, keep_ms, keep_bytes, &mem, &last, &n, e) < 0)
		goto out;
	if (!n) {
		ret = 0;
		goto out;
	}
	snprintf(seq, sizeof seq, "%" PRIu64, last.seq);
	snprintf(segments, sizeof segments, "%zu", n);
	hex_digits(hash, last.hash, SEAL_HASH);
	original_key(c, &s, &mem, first);
	c->tip = c->head;
	chain_note(c, OP_LOG_PRUNED,
		(struct key_value[]){{"to_seq", seq, false}, {"to_hash", hash, false},
			{"key", record_param(&last, "next"), false}, {"segments", segments, false},
			{"first", first, false}},
		first[0] ? 5 : 4, NULL);
	/* Said, signed, and only then done. */
	if (chain_sync(c, e) < 0)
		goto out;
	c->prune_to = last.seq;
	ret = chain_checkpoint(c, e);
	c->prune_to = 0;
	if (ret < 0)
		goto out;
	chain_finish_prune(c);
	if (ret_removed)
		*ret_removed = last.seq + 1 - s.v[0].first;
	ret = 0;
out:
	arena_release(&mem);
	segments_release(&s);
	return ret;
}
