/* verify.c - verifies the audit log and reports the first error in it. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <berth/arena.h>
#include <berth/hex.h>
#include <berth/text.h>

#include "audit/keys.h"
#include "audit/record.h"
#include "audit/source.h"

#define PROGRESS_EVERY ((uint64_t)16 << 20)
#define AGAIN_PRUNED 100 /* verifications that retention may outrun */
#define AGAIN_FAULT 3    /* that find a fault in a log that others write to */

const char *audit_fault_name(enum audit_fault f)
{
	static const char *const names[] = {"clean", "changed", "removed", "moved", "inserted",
		"truncated", "rewritten", "no_key", "unproven"};

	return f <= AUDIT_UNPROVEN ? names[f] : "";
}

struct checker {
	const struct audit_verify *what;
	struct audit_verdict *v;
	struct source src;
	struct arena mem;
	bool any;     /* a record was seen */
	uint64_t seq; /* of the last good one */
	uint8_t hash[SEAL_HASH];
	uint8_t start_prev[SEAL_HASH];
	bool have_key,
		pruned_start; /* key in force is known; the log does not begin at its beginning */
	uint8_t key[SEAL_KEY], first_key[SEAL_KEY];
	char original[AUDIT_HEX]; /* of a pruned log: the first key of all, as it says; or "" */
	bool anchored;            /* a record told where a pruned log begins ... */
	uint64_t anchored_at;     /* ... and this one; it counts once it is signed */
	uint64_t checkpoint;      /* number of the last one */
	uint64_t first_signed;    /* record of the first one */
	bool want_head;
	uint8_t head[SEAL_HASH];
	uint8_t head_file[SEAL_HASH];
	bool passed_head_file; /* the record that the head file names was seen */
};

static int note_fault(struct checker *c, enum audit_fault what, uint64_t seq, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Remember the first thing that is wrong.  Returns 1: stop. */
static int note_fault(struct checker *c, enum audit_fault what, uint64_t seq, const char *fmt, ...)
{
	va_list ap;

	if (c->v->fault != AUDIT_CLEAN)
		return 1;
	c->v->fault = what;
	c->v->at_seq = seq;
	c->v->line = c->src.line;
	source_name(&c->src, c->v->file);
	va_start(ap, fmt);
	vsnprintf(c->v->sentence, sizeof c->v->sentence, fmt, ap);
	va_end(ap);
	return 1;
}

static bool same_hash(const uint8_t *a, const uint8_t *b)
{
	return memcmp(a, b, SEAL_HASH) == 0;
}

static bool param_is_hash(const struct audit_record *r, const char *name, uint8_t out[SEAL_HASH])
{
	const char *hex = record_param(r, name);

	return hex && strlen(hex) == 2 * SEAL_HASH && hex_parse(out, hex, SEAL_HASH);
}

/* -- what the log says about itself --------------------------------------------------------------
 */

static int on_start(struct checker *c, const struct audit_record *r)
{
	if (r->seq != 1)
		return note_fault(c, AUDIT_INSERTED, r->seq,
			"Record %" PRIu64 " starts another log.", r->seq);
	c->have_key = param_is_hash(r, "key", c->key);
	if (!c->have_key)
		return note_fault(c, AUDIT_CHANGED, 1, "Record 1 names no signing key.");
	memcpy(c->first_key, c->key, SEAL_KEY);
	return 0;
}

/* The signature stands at the very end of the params, over everything before it. */
static bool signature_holds(const struct record_frame *f, const uint8_t key[SEAL_KEY])
{
	size_t tail = strlen(",\"sig\":\"") + 2 * SEAL_SIG + strlen("\"}");
	const char *sig = f->text + f->hashed - tail;
	uint8_t bytes[SEAL_SIG], text[SEAL_HASH + AUDIT_LINE_MAX];

	if (f->hashed < tail || memcmp(sig, ",\"sig\":\"", 8) != 0 ||
		!hex_parse(bytes, sig + 8, SEAL_SIG))
		return false;
	memcpy(text, f->prev, SEAL_HASH);
	memcpy(text + SEAL_HASH, f->text, f->hashed - tail);
	return seal_signed(key, text, SEAL_HASH + f->hashed - tail, bytes);
}

static int on_checkpoint(
	struct checker *c, const struct record_frame *f, const struct audit_record *r)
{
	const char *text = record_param(r, "checkpoint");
	uint64_t number = text ? strtoull(text, NULL, 10) : 0;
	uint8_t key[SEAL_KEY], next[SEAL_KEY];

	if (!param_is_hash(r, "key", key) || !param_is_hash(r, "next", next))
		return note_fault(c, AUDIT_REWRITTEN, r->seq,
			"Checkpoint %" PRIu64 " names no keys.", r->seq);
	if (!c->have_key) {
		/* Only after pruning: the record that says so must name the same key. */
		memcpy(c->key, key, SEAL_KEY);
		memcpy(c->first_key, key, SEAL_KEY);
		c->have_key = true;
	}
	if (c->pruned_start && !c->v->checkpoints)
		c->checkpoint = number - 1;
	if (!same_hash(key, c->key) || number != c->checkpoint + 1)
		return note_fault(c, AUDIT_REWRITTEN, r->seq,
			"Records after %" PRIu64 " were rewritten: the checkpoint at %" PRIu64
			" is not signed with the key that the one before it names.",
			c->v->signed_seq, r->seq);
	if (!signature_holds(f, key))
		return note_fault(c, AUDIT_REWRITTEN, r->seq,
			"Records between %" PRIu64 " and %" PRIu64
			" are not those that were signed: the signature of the checkpoint at %" PRIu64
			" is not valid.",
			c->v->signed_seq + 1, r->seq, r->seq);
	memcpy(c->key, next, SEAL_KEY);
	c->checkpoint = number;
	if (!c->v->checkpoints++)
		c->first_signed = r->seq;
	c->v->signed_seq = r->seq;
	return 0;
}

static void on_pruned(struct checker *c, const struct audit_record *r)
{
	const char *to = record_param(r, "to_seq");
	uint8_t hash[SEAL_HASH], key[SEAL_KEY];

	if (!c->pruned_start || !to || strtoull(to, NULL, 10) + 1 != c->v->first_seq)
		return;
	if (!param_is_hash(r, "to_hash", hash) || !same_hash(hash, c->start_prev))
		return;
	if (!param_is_hash(r, "key", key) || (c->have_key && !same_hash(key, c->first_key)))
		return;
	c->anchored = true;
	c->anchored_at = r->seq;
	if (param_is_hash(r, "first", hash))
		hex_digits(c->original, hash, SEAL_HASH);
	if (!c->have_key) {
		memcpy(c->key, key, SEAL_KEY);
		memcpy(c->first_key, key, SEAL_KEY);
		c->have_key = true;
	}
}

static int on_damage(struct checker *c, const struct audit_record *r)
{
	const char *what = record_param(r, "what"), *missing = record_param(r, "missing");
	const char *until = record_param(r, "acknowledged"), *found = record_param(r, "found");
	char shown[200];

	text_clean(shown, sizeof shown, missing ? missing : "");
	if (what && strcmp(what, "key") == 0)
		return note_fault(c, AUDIT_NO_KEY, r->seq,
			"At record %" PRIu64 " berth noticed: %s. Records after %" PRIu64
			" that came before it are not covered by a signature.",
			r->seq, shown, c->v->signed_seq);
	return note_fault(c, AUDIT_TRUNCATED, r->seq,
		"At record %" PRIu64
		" berth noticed: %s (%s was acknowledged, %s was the last one found).",
		r->seq, shown, until ? until : "?", found ? found : "?");
}

static int on_internal(struct checker *c, const struct record_frame *f, size_t len)
{
	struct audit_record r;

	arena_reset(&c->mem);
	if (!record_parse(f->text, len, &c->mem, &r))
		return note_fault(c, AUDIT_CHANGED, f->seq,
			"Record %" PRIu64 " is not in the format berth writes.", f->seq);
	switch (r.operation) {
	case OP_LOG_START: return on_start(c, &r);
	case OP_LOG_CHECKPOINT: return on_checkpoint(c, f, &r);
	case OP_LOG_PRUNED: on_pruned(c, &r); return 0;
	case OP_LOG_TORN: c->v->torn++; return 0;
	case OP_LOG_DAMAGE: return on_damage(c, &r);
	default: return 0;
	}
}

/* -- the chain -----------------------------------------------------------------------------------
 */

/* Does the rest of the log hold the record that belongs here, and the one before `f`? */
static void search_rest(
	struct checker *c, const struct record_frame *f, bool *ret_continues, bool *ret_moved)
{
	uint8_t before[SEAL_HASH];
	const char *line;
	size_t len;

	memcpy(before, f->prev, sizeof before);
	*ret_continues = *ret_moved = false;
	while (source_line(&c->src, &line, &len, NULL) > 0) {
		struct record_frame g;

		if (!record_frame(line, len, &g))
			continue;
		*ret_continues |= g.seq == c->seq + 1 && same_hash(g.prev, c->hash);
		*ret_moved |= same_hash(g.hash, before);
	}
}

/* The record is whole, but it is not the one that belongs here. */
static int judge_misplaced(struct checker *c, const struct record_frame *f)
{
	uint64_t seq = f->seq, line = c->src.line;
	bool continues, moved;
	char file[64];

	if (same_hash(f->prev, c->hash) && seq > c->seq + 1)
		return note_fault(c, AUDIT_TRUNCATED, c->seq + 1,
			"Records %" PRIu64 " to %" PRIu64 " were acknowledged and are missing.",
			c->seq + 1, seq - 1);
	if (seq == c->seq + 1)
		return note_fault(c, AUDIT_REWRITTEN, c->seq,
			"Record %" PRIu64 " was replaced by another, or %" PRIu64
			" is of another log: it does not follow the one before it.",
			c->seq, seq);
	source_name(&c->src, file);
	search_rest(c, f, &continues, &moved);
	if (seq > c->seq && moved)
		note_fault(c, AUDIT_MOVED, c->seq + 1,
			"Record %" PRIu64 " is out of place: records were moved.", c->seq + 1);
	else if (seq <= c->seq || continues)
		note_fault(c, AUDIT_INSERTED, seq,
			"After record %" PRIu64
			" comes one that does not belong there, numbered %" PRIu64
			": a copy, or of another log.",
			c->seq, seq);
	else
		note_fault(c, AUDIT_REMOVED, c->seq + 1,
			"Records %" PRIu64 " to %" PRIu64 " are missing.", c->seq + 1, seq - 1);
	c->v->line = line;
	memcpy(c->v->file, file, sizeof file);
	return 1;
}

static int on_first(struct checker *c, const struct record_frame *f)
{
	static const uint8_t zero[SEAL_HASH];

	c->v->first_seq = f->seq;
	c->pruned_start = f->seq != 1;
	memcpy(c->start_prev, f->prev, SEAL_HASH);
	if (f->seq == 1 && !same_hash(f->prev, zero))
		return note_fault(c, AUDIT_CHANGED, 1, "Record 1 refers to a record before it.");
	return 0;
}

static int verify_line(struct checker *c, const char *line, size_t len)
{
	struct record_frame f;
	int stop = 0;

	if (!record_frame(line, len, &f))
		return note_fault(c, AUDIT_CHANGED, c->seq + 1,
			"The line after record %" PRIu64 " is not a record.", c->seq);
	if (!record_frame_holds(&f))
		return note_fault(c, AUDIT_CHANGED, f.seq,
			"Record %" PRIu64 " was changed: its hash does not match its contents.",
			f.seq);
	if (!c->any)
		stop = on_first(c, &f);
	else if (f.seq != c->seq + 1 || !same_hash(f.prev, c->hash))
		stop = judge_misplaced(c, &f);
	if (stop)
		return stop;
	c->any = true;
	c->seq = f.seq;
	memcpy(c->hash, f.hash, SEAL_HASH);
	c->v->records++;
	c->v->last_seq = f.seq;
	if (c->want_head && same_hash(f.hash, c->head)) {
		c->v->head_found = true;
		c->v->head_seq = f.seq;
	}
	if (c->src.has_head && f.seq == c->src.head.seq) {
		c->passed_head_file = true;
		memcpy(c->head_file, f.hash, SEAL_HASH);
	}
	return f.internal ? on_internal(c, &f, len) : 0;
}

/* -- the end -------------------------------------------------------------------------------------
 */

static int check_beginning(struct checker *c)
{
	if (!c->pruned_start || (c->anchored && c->anchored_at < c->v->signed_seq))
		return 0;
	return note_fault(c, AUDIT_REMOVED, 1,
		"Records 1 to %" PRIu64
		" are missing, and no signed record says that they were pruned.",
		c->v->first_seq - 1);
}

/* What a pruned log says about its first key nobody can check who has only that key: its records are gone,
 * and who writes a log anew can say it too.  A head kept since shows that it is this log, if the keys that
 * sign what comes after it are named before it. */
static int check_key(struct checker *c, const char *key)
{
	char begins[AUDIT_HEX] = "";

	if (c->have_key)
		hex_digits(begins, c->first_key, SEAL_KEY);
	if (strcmp(key, begins) == 0)
		return 0;
	if (!c->pruned_start || (c->original[0] && strcmp(key, c->original) != 0))
		return note_fault(c, AUDIT_REWRITTEN, 0,
			"The log does not begin with the key you saved: it is a different log.");
	if (!c->original[0])
		return note_fault(c, AUDIT_UNPROVEN, 0,
			"It cannot be determined whether the log began with the key you saved: the records before %" PRIu64
			" were pruned, and the log does not say what it began with.",
			c->v->first_seq);
	if (c->v->head_found && c->v->head_seq >= c->first_signed)
		return 0;
	return note_fault(c, AUDIT_UNPROVEN, 0,
		"The log claims to have begun with the key you saved, but the proof was pruned with "
		"the records before %" PRIu64 ": also give a newer head with --head.",
		c->v->first_seq);
}

static int check_given(struct checker *c)
{
	if (c->want_head && !c->v->head_found && c->pruned_start)
		return note_fault(c, AUDIT_UNPROVEN, 0,
			"The head you saved is not among the records that retention left, from %" PRIu64
			" on: it is of an older one, or the log was truncated or "
			"rewritten after it was taken. These cannot be told apart.",
			c->v->first_seq);
	if (c->want_head && !c->v->head_found)
		return note_fault(c, AUDIT_TRUNCATED, 0,
			"The head you saved is not in this log: the log was truncated "
			"to an earlier state, or rewritten, after it was taken.");
	return c->what->key ? check_key(c, c->what->key) : 0;
}

static bool is_key_held(const struct source *s, const uint8_t key[SEAL_KEY])
{
	for (size_t i = 0; i < s->nkeys; i++)
		if (same_hash(s->key[i], key))
			return true;
	return false;
}

/* Where it is written a log also has its head file and its key; a bundle says its head. */
static int check_place(struct checker *c)
{
	const struct head *h = &c->src.head;
	char begins[AUDIT_HEX] = "";

	if (!c->src.has_head)
		return note_fault(c, AUDIT_TRUNCATED, 0,
			"The head file is missing or damaged: whether records after %" PRIu64
			" were removed is unknown.",
			c->seq);
	if (h->seq > c->seq)
		return note_fault(c, AUDIT_TRUNCATED, c->seq + 1,
			"Records %" PRIu64 " to %" PRIu64
			" were acknowledged and are missing at the end.",
			c->seq + 1, h->seq);
	if (h->seq && (!c->passed_head_file || !same_hash(c->head_file, h->hash)))
		return note_fault(c, AUDIT_REWRITTEN, h->seq,
			"Record %" PRIu64 " is not the one that the head file names.", h->seq);
	if (c->have_key)
		hex_digits(begins, c->first_key, SEAL_KEY);
	if (c->src.dir < 0 && strcmp(c->src.first_key, begins) != 0)
		return note_fault(
			c, AUDIT_REWRITTEN, 0, "The bundle does not begin with the key it names.");
	if (c->src.dir >= 0 && c->have_key && !is_key_held(&c->src, c->key))
		return note_fault(c, AUDIT_NO_KEY, 0,
			"The signing key is not the one that the last checkpoint "
			"names: the log was truncated to it, or the key is lost.");
	return 0;
}

static int verify_lines(struct checker *c, struct err *e)
{
	uint64_t told = 0;
	const char *line;
	size_t len;
	int ret;

	while ((ret = source_line(&c->src, &line, &len, e)) > 0) {
		if (c->what->progress && c->src.done - told >= PROGRESS_EVERY) {
			told = c->src.done;
			if (c->what->progress(c->what->ctx, told, c->src.bytes))
				return err_set(
					e, ERR_CANCELLED, "Checking the audit log was cancelled.");
		}
		if (verify_line(c, line, len))
			return 0;
	}
	if (ret < 0)
		return -1;
	c->v->unacknowledged_bytes = c->src.torn_bytes;
	if (!c->any && c->src.has_head && c->src.head.seq)
		return note_fault(c, AUDIT_REMOVED, 1, "All %" PRIu64 " records are missing.",
			       c->src.head.seq),
		       0;
	if (c->original[0])
		memcpy(c->v->first_key, c->original, AUDIT_HEX);
	else if (c->have_key)
		hex_digits(c->v->first_key, c->first_key, SEAL_KEY);
	if (!check_beginning(c) && !check_place(c))
		check_given(c);
	return 0;
}

static bool hex_given(const char *hex, uint8_t out[SEAL_HASH])
{
	return strlen(hex) == 2 * SEAL_HASH && hex_parse(out, hex, SEAL_HASH);
}

static int verify_once(
	const struct audit_verify *what, struct audit_verdict *ret, bool *ret_moved, struct err *e)
{
	struct checker c = {.what = what, .v = ret};
	int failed;

	memset(ret, 0, sizeof *ret);
	c.want_head = what->head && hex_given(what->head, c.head);
	if (source_open(&c.src, what->path, e) < 0)
		return -1;
	arena_init(&c.mem, 8192);
	failed = verify_lines(&c, e);
	ret->bytes = c.src.done;
	hex_digits(ret->head, c.hash, SEAL_HASH);
	arena_release(&c.mem);
	/* A segment that is gone; what else cannot be read would not be the next time. */
	*ret_moved = (failed ? e->sys == ENOENT : ret->fault != AUDIT_CLEAN) &&
		source_moved(&c.src, what->path);
	source_close(&c.src);
	return failed;
}

/* What is read is what there was under the lock, so others may write meanwhile.  But retention removes segments, and
 * the end that a killed writer left is cut off and overwritten: what is wrong in a log that has moved since is only
 * believed when it is found again. */
int audit_verify(const struct audit_verify *what, struct audit_verdict *ret, struct err *e)
{
	uint8_t bytes[SEAL_HASH];
	struct err why;
	bool moved;
	int failed, tries = 0;

	memset(ret, 0, sizeof *ret);
	if ((what->head && !hex_given(what->head, bytes)) ||
		(what->key && !hex_given(what->key, bytes)))
		return err_set(e, ERR_USAGE, "A head or key is 64 lower-case hexadecimal digits.");
	do {
		why = (struct err)ERR_INIT;
		moved = false;
		failed = verify_once(what, ret, &moved, &why);
	} while (moved && why.kind != ERR_CANCELLED &&
		++tries < (failed ? AGAIN_PRUNED : AGAIN_FAULT));
	return failed ? err_copy(e, &why) : 0;
}
