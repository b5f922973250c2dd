/* record_parse.c - parses audit records in their canonical form, strictly; the frame of a line also quickly. */
#include "audit/record.h"

#include <string.h>

#include <berth/hex.h>
#include <berth/text.h>

struct cursor {
	const char *s, *end;
	struct arena *mem;
	bool bad;
};

static bool take_literal(struct cursor *c, const char *literal)
{
	size_t n = strlen(literal);

	if (c->bad || (size_t)(c->end - c->s) < n || memcmp(c->s, literal, n) != 0)
		return false;
	c->s += n;
	return true;
}

static void need_literal(struct cursor *c, const char *literal)
{
	if (!take_literal(c, literal))
		c->bad = true;
}

/* Decimal, no leading zeros, at most 2^63 - 1. */
static uint64_t parse_number(struct cursor *c)
{
	const char *start = c->s;
	uint64_t n = 0;

	while (c->s < c->end && *c->s >= '0' && *c->s <= '9' && c->s - start < 19)
		n = n * 10 + (uint64_t)(*c->s++ - '0');
	if (c->s == start || n > INT64_MAX || (*start == '0' && c->s - start > 1))
		c->bad = true;
	return n;
}

/* The four digits of a \u escape. */
static uint32_t parse_escape(struct cursor *c)
{
	uint32_t cp = 0;

	if (c->end - c->s < 4)
		c->bad = true;
	for (int i = 0; i < 4 && !c->bad; i++) {
		char d = *c->s++;

		if (d >= '0' && d <= '9')
			cp = cp << 4 | (uint32_t)(d - '0');
		else if (d >= 'a' && d <= 'f')
			cp = cp << 4 | (uint32_t)(d - 'a' + 10);
		else
			c->bad = true;
	}
	/* A NUL cannot come from a C string. */
	if (!cp || (cp >= 0xD800 && cp <= 0xDFFF))
		c->bad = true;
	return cp;
}

/* A quoted string, decoded into mem. */
static const char *parse_string(struct cursor *c)
{
	const char *close;
	char *out, *start;

	need_literal(c, "\"");
	for (close = c->s; !c->bad && close < c->end && *close != '"'; close++)
		if (*close == '\\')
			close++;
	if (c->bad || close >= c->end) {
		c->bad = true;
		return "";
	}
	out = start = arena_alloc(c->mem, (size_t)(close - c->s) + 1);
	while (!c->bad && c->s < close) {
		uint32_t cp;
		size_t used;

		if (*c->s == '\\') {
			char kind = c->s[1];

			c->s += 2;
			if (kind == 'u')
				out += utf8_put(parse_escape(c), out);
			else if (kind == '"' || kind == '\\')
				*out++ = kind;
			else
				c->bad = true;
			continue;
		}
		if ((unsigned char)*c->s < 0x80) {
			if ((unsigned char)*c->s < 0x20)
				c->bad = true;
			*out++ = *c->s++;
			continue;
		}
		used = utf8_next(c->s, (size_t)(close - c->s), &cp);
		c->s += used;
		if (cp == TEXT_BAD && used == 1) {
			c->bad = true;
			break;
		}
		if ((cp & ~0xFFu) == RECORD_BYTE_PLANE) {
			if (!(cp & 0x80))
				c->bad = true;
			*out++ = (char)(cp & 0xFF);
		} else {
			out += utf8_put(cp, out);
		}
	}
	*out = '\0';
	c->s = close + 1;
	return start;
}

static const char *parse_member(struct cursor *c, const char *key)
{
	return take_literal(c, key) ? parse_string(c) : "";
}

static void parse_hash(struct cursor *c, uint8_t out[SEAL_HASH])
{
	if (c->bad || c->end - c->s < 2 * SEAL_HASH || !hex_parse(out, c->s, SEAL_HASH)) {
		c->bad = true;
		return;
	}
	c->s += 2 * SEAL_HASH;
}

static void parse_params(struct cursor *c, struct audit_record *r)
{
	struct key_value *p = arena_array(c->mem, AUDIT_PARAMS_MAX, sizeof *p);

	r->params = p;
	do {
		if (r->nparams == AUDIT_PARAMS_MAX) {
			c->bad = true;
			return;
		}
		p[r->nparams].key = parse_string(c);
		need_literal(c, ":");
		p[r->nparams].value = parse_string(c);
		p[r->nparams].secret = strcmp(p[r->nparams].value, "***") == 0;
		r->nparams++;
	} while (take_literal(c, ","));
	need_literal(c, "}");
}

static enum audit_phase phase_named(struct cursor *c, const char *name)
{
	for (int i = 0; i <= AUDIT_EVENT; i++)
		if (strcmp(audit_phase_name((enum audit_phase)i), name) == 0)
			return (enum audit_phase)i;
	c->bad = true;
	return AUDIT_EVENT;
}

static enum audit_result parse_result(struct cursor *c, const char *name)
{
	for (int i = 0; i <= AUDIT_TIMEOUT; i++)
		if (strcmp(audit_result_name((enum audit_result)i), name) == 0)
			return (enum audit_result)i;
	c->bad = true;
	return AUDIT_PENDING;
}

static void parse_actor(struct cursor *c, struct audit_record *r)
{
	need_literal(c, ",\"wall_ms\":");
	r->wall_ms = (int64_t)parse_number(c);
	need_literal(c, ",\"mono_us\":");
	r->mono_us = (int64_t)parse_number(c);
	need_literal(c, ",\"host\":");
	r->host = parse_string(c);
	need_literal(c, ",\"boot\":");
	r->boot = parse_string(c);
	need_literal(c, ",\"pid\":");
	r->pid = (uint32_t)parse_number(c);
	need_literal(c, ",\"program\":");
	r->program = parse_string(c);
	need_literal(c, ",\"uid\":");
	r->uid = (uint32_t)parse_number(c);
	need_literal(c, ",\"user\":");
	r->user = parse_string(c);
	r->agent = parse_member(c, ",\"agent\":");
	r->session = parse_member(c, ",\"session\":");
}

static void parse_target(struct cursor *c, struct audit_record *r)
{
	r->target_type = parse_member(c, ",\"target_type\":");
	r->engine = parse_member(c, ",\"engine\":");
	r->target = parse_member(c, ",\"id\":");
	r->name = parse_member(c, ",\"name\":");
	if (take_literal(c, ",\"items\":"))
		r->items = parse_number(c);
	if (take_literal(c, ",\"manifest\":\"")) {
		r->has_manifest = true;
		parse_hash(c, r->manifest);
		need_literal(c, "\"");
	}
	r->result = parse_result(c, parse_member(c, ",\"outcome\":"));
	r->duration_us = take_literal(c, ",\"duration_us\":") ? (int64_t)parse_number(c) : -1;
	r->error = parse_member(c, ",\"error\":");
	if (take_literal(c, ",\"params\":{"))
		parse_params(c, r);
}

bool record_parse(const char *line, size_t len, struct arena *mem, struct audit_record *ret)
{
	struct cursor c = {line, line + len, mem, false};

	memset(ret, 0, sizeof *ret);
	if (len > AUDIT_LINE_MAX)
		return false;
	need_literal(&c, "{\"seq\":");
	ret->seq = parse_number(&c);
	if (take_literal(&c, ",\"intent\":"))
		ret->intent = parse_number(&c);
	need_literal(&c, ",\"act\":");
	ret->operation = operation_named(parse_string(&c));
	need_literal(&c, ",\"phase\":");
	ret->phase = phase_named(&c, parse_string(&c));
	parse_actor(&c, ret);
	parse_target(&c, ret);
	need_literal(&c, ",\"prev\":\"");
	parse_hash(&c, ret->prev);
	need_literal(&c, "\",\"hash\":\"");
	parse_hash(&c, ret->hash);
	need_literal(&c, "\"}");
	return !c.bad && c.s == c.end && ret->operation != OP_NONE;
}

bool record_frame(const char *line, size_t len, struct record_frame *ret)
{
	struct cursor c = {line, line + len, NULL, false};
	const char *tail;

	if (len < RECORD_TAIL + 8 || len >= AUDIT_LINE_MAX)
		return false;
	tail = line + len - (RECORD_TAIL - 1);
	need_literal(&c, "{\"seq\":");
	ret->seq = parse_number(&c);
	if (take_literal(&c, ",\"intent\":"))
		parse_number(&c);
	need_literal(&c, ",\"act\":\"");
	if (c.bad || c.s > tail)
		return false;
	ret->internal = take_literal(&c, "log.");
	ret->text = line;
	ret->hashed = (size_t)(tail - line);
	return memcmp(tail, ",\"prev\":\"", 9) == 0 && hex_parse(ret->prev, tail + 9, SEAL_HASH) &&
		memcmp(tail + 73, "\",\"hash\":\"", 10) == 0 &&
		hex_parse(ret->hash, tail + 83, SEAL_HASH) && memcmp(tail + 147, "\"}", 2) == 0;
}

bool record_frame_holds(const struct record_frame *f)
{
	uint8_t now[SEAL_HASH];

	seal_hash2(f->prev, SEAL_HASH, f->text, f->hashed, now);
	return memcmp(now, f->hash, SEAL_HASH) == 0;
}

const char *record_param(const struct audit_record *r, const char *key)
{
	for (size_t i = 0; i < r->nparams; i++)
		if (strcmp(r->params[i].key, key) == 0)
			return r->params[i].value;
	return NULL;
}
