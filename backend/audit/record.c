/* record.c - writes audit records in their canonical form. */
#include "audit/record.h"

#include <string.h>

#include <berth/check.h>
#include <berth/hex.h>
#include <berth/text.h>

#define CLIP_NOTE 32 /* room for "... (N bytes)" */

/* A record is a score of short pieces, so adding one must cost no more than its copy. */
static inline void add_piece(struct str *out, const char *s, size_t n)
{
	if (out->cap - out->len <= n)
		str_reserve(out, n);
	memcpy(out->s + out->len, s, n);
	out->len += n;
	out->s[out->len] = '\0';
}

#define ADD(out, literal) add_piece(out, literal, sizeof(literal) - 1)

const char *audit_phase_name(enum audit_phase p)
{
	static const char *const names[] = {"intent", "outcome", "event"};

	return p <= AUDIT_EVENT ? names[p] : "";
}

const char *audit_result_name(enum audit_result r)
{
	static const char *const names[] = {"", "ok", "failed", "refused", "cancelled", "timeout"};

	return r <= AUDIT_TIMEOUT ? names[r] : "";
}

/* Code points that would not be one visible thing in a line. */
static bool is_hidden(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7F && cp <= 0x9F) || cp == 0xAD || cp == 0x61C ||
		cp == 0x180E || (cp >= 0x200B && cp <= 0x200F) || (cp >= 0x2028 && cp <= 0x202E) ||
		(cp >= 0x2060 && cp <= 0x206F) || cp == 0xFEFF || (cp >= 0xFFF9 && cp <= 0xFFFB);
}

static bool needs_no_escape(unsigned char c)
{
	return c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
}

/* How many bytes from s on are plain; eight at a time. */
static size_t plain_run(const char *s, size_t n)
{
	const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t w, quote, slash, del;

		memcpy(&w, s + i, 8);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		del = w ^ ones * 0x7F;
		/* A borrow runs upwards only: whether there is a byte that is not plain is exact. */
		if ((w | (w - ones * 0x20) | (quote - ones) | (slash - ones) | (del - ones)) & high)
			break;
	}
	while (i < n && needs_no_escape((unsigned char)s[i]))
		i++;
	return i;
}

/* Encode the character at s into out (at most 16 bytes); returns bytes written, *used those read.
 */
static size_t encode_one(const char *s, size_t n, char *out, size_t *used)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t cp;

	*used = utf8_next(s, n, &cp);
	if (cp == '"' || cp == '\\') {
		out[0] = '\\';
		out[1] = (char)cp;
		return 2;
	}
	/* U+FFFD of one byte is an undecodable one, of three bytes it is itself. */
	if ((cp == TEXT_BAD && *used == 1) || (cp & ~0xFFu) == RECORD_BYTE_PLANE) {
		*used = 1;
		return utf8_put(RECORD_BYTE_PLANE + (unsigned char)*s, out);
	}
	if (is_hidden(cp)) {
		memcpy(out, "\\u", 2);
		for (int i = 0; i < 4; i++)
			out[2 + i] = digits[cp >> (12 - 4 * i) & 15];
		return 6;
	}
	return utf8_put(cp, out);
}

/* A quoted string of at most max encoded bytes; what is clipped ends in a note of its length. */
static void add_string(struct str *out, const char *s, size_t max)
{
	size_t n, i = 0, start, fits;

	s = s ? s : "";
	n = strlen(s);
	ADD(out, "\"");
	if (n <= max && plain_run(s, n) == n) {
		add_piece(out, s, n);
		ADD(out, "\"");
		return;
	}
	start = fits = out->len;
	while (i < n) {
		char put[16];
		size_t run = i, len, used;

		run += plain_run(s + i, n - i <= max ? n - i : max + 1);
		if (run > i) {
			size_t limit = start + max - CLIP_NOTE, before = out->len;

			str_add(out, s + i, run - i);
			i = run;
			/* Plain characters may be cut anywhere, unless an escape already crossed. */
			if (before <= limit)
				fits = out->len < limit ? out->len : limit;
		} else {
			len = encode_one(s + i, n - i, put, &used);
			str_add(out, put, len);
			i += used;
			if (out->len - start <= max - CLIP_NOTE)
				fits = out->len;
		}
		if (out->len - start > max) {
			out->len = fits;
			str_addf(out, "... (%zu bytes)", n);
			break;
		}
	}
	ADD(out, "\"");
}

#define ADD_STRING(out, key, value, max) (ADD(out, key), add_string(out, value, max))

static void add_member(struct str *out, const char *key, size_t key_len, const char *value)
{
	if (!value || !*value)
		return;
	add_piece(out, key, key_len);
	add_string(out, value, RECORD_TEXT_MAX);
}

#define ADD_MEMBER(out, key, value) add_member(out, key, sizeof(key) - 1, value)

static void add_number(struct str *out, const char *key, size_t key_len, uint64_t n)
{
	char digits[20];
	size_t i = sizeof digits;

	CHECK(n <= INT64_MAX);
	do
		digits[--i] = (char)('0' + n % 10);
	while (n /= 10);
	add_piece(out, key, key_len);
	add_piece(out, digits + i, sizeof digits - i);
}

#define ADD_NUMBER(out, key, n) add_number(out, key, sizeof(key) - 1, n)

static void add_params(struct str *out, const struct audit_record *r)
{
	size_t start = out->len, n = r->nparams < AUDIT_PARAMS_MAX ? r->nparams : AUDIT_PARAMS_MAX;

	if (!n)
		return;
	ADD(out, ",\"params\":{");
	for (size_t i = 0; i < n; i++) {
		const struct key_value *p = &r->params[i];
		size_t used = out->len - start;
		bool masked = p->secret || text_looks_secret(p->key);

		/* What is internal to the log is not anybody's secret: keys there are public ones.
		 */
		if (masked && operation_table[r->operation].class == OP_INTERNAL)
			masked = false;
		if (i)
			ADD(out, ",");
		add_string(out, p->key, 64);
		ADD(out, ":");
		if (masked)
			ADD(out, "\"***\"");
		else
			add_string(out, p->value,
				used + RECORD_TEXT_MAX < RECORD_PARAMS_MAX ? RECORD_TEXT_MAX : 64);
	}
	ADD(out, "}");
}

void record_self(struct str *out, const struct audit_record *r)
{
	ADD_STRING(out, ",\"host\":", r->host, 256);
	ADD_STRING(out, ",\"boot\":", r->boot, 64);
	ADD_NUMBER(out, ",\"pid\":", r->pid);
	ADD_STRING(out, ",\"program\":", r->program, 64);
	ADD_NUMBER(out, ",\"uid\":", r->uid);
	ADD_STRING(out, ",\"user\":", r->user, 256);
}

void record_body_by(struct str *out, const struct audit_record *r, const struct str *self)
{
	CHECK(r->operation > OP_NONE && r->operation < OP_COUNT);
	ADD(out, ",\"act\":\"");
	str_adds(out, operation_table[r->operation].name);
	ADD(out, "\",\"phase\":\"");
	str_adds(out, audit_phase_name(r->phase));
	ADD_NUMBER(out, "\",\"wall_ms\":", r->wall_ms > 0 ? (uint64_t)r->wall_ms : 0);
	ADD_NUMBER(out, ",\"mono_us\":", r->mono_us > 0 ? (uint64_t)r->mono_us : 0);
	add_piece(out, self->s, self->len);
	ADD_MEMBER(out, ",\"agent\":", r->agent);
	ADD_MEMBER(out, ",\"session\":", r->session);
	ADD_MEMBER(out, ",\"target_type\":", r->target_type);
	ADD_MEMBER(out, ",\"engine\":", r->engine);
	ADD_MEMBER(out, ",\"id\":", r->target);
	ADD_MEMBER(out, ",\"name\":", r->name);
	if (r->items)
		ADD_NUMBER(out, ",\"items\":", r->items);
	if (r->has_manifest) {
		char hex[2 * AUDIT_HASH];

		hex_digits(hex, r->manifest, AUDIT_HASH);
		ADD(out, ",\"manifest\":\"");
		add_piece(out, hex, sizeof hex);
		ADD(out, "\"");
	}
	if (r->result != AUDIT_PENDING)
		ADD_MEMBER(out, ",\"outcome\":", audit_result_name(r->result));
	if (r->duration_us >= 0 && r->phase != AUDIT_INTENT)
		ADD_NUMBER(out, ",\"duration_us\":", (uint64_t)r->duration_us);
	ADD_MEMBER(out, ",\"error\":", r->error);
	add_params(out, r);
}

void record_body(struct str *out, const struct audit_record *r)
{
	AUTO_STR struct str self = STR_INIT;

	record_self(&self, r);
	record_body_by(out, r, &self);
}

void record_line(struct str *out, uint64_t seq, uint64_t intent, const char *body, size_t len,
	const uint8_t prev[SEAL_HASH], uint8_t ret_hash[SEAL_HASH])
{
	size_t start = out->len;
	char tail[RECORD_TAIL];

	str_reserve(out, len + RECORD_TAIL + 64);
	ADD_NUMBER(out, "{\"seq\":", seq);
	if (intent)
		ADD_NUMBER(out, ",\"intent\":", intent);
	add_piece(out, body, len);
	seal_hash2(prev, SEAL_HASH, out->s + start, out->len - start, ret_hash);
	memcpy(tail, ",\"prev\":\"", 9);
	hex_digits(tail + 9, prev, SEAL_HASH);
	memcpy(tail + 73, "\",\"hash\":\"", 10);
	hex_digits(tail + 83, ret_hash, SEAL_HASH);
	memcpy(tail + 147, "\"}\n", 3);
	add_piece(out, tail, sizeof tail);
	CHECK(out->len - start <= AUDIT_LINE_MAX);
}
