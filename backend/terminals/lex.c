/* lex.c - cuts a program's terminal output into characters, controls and sequences. */
#include "terminals/lex.h"

#include <string.h>

#include <berth/text.h>

#define ESC 0x1B
#define CAN 0x18
#define SUB 0x1A
#define BEL 0x07
#define DEL 0x7F

enum { AT_TEXT, AT_ESC, AT_CSI, AT_CSI_BAD, AT_STRING, AT_STRING_ESC };

static void emit_char(struct lexer *x, uint32_t cp, lex_fn *fn, void *ctx)
{
	struct lex_token t = {.kind = LEX_CHAR, .cp = cp, .bytes = x->utf8, .n = x->nchar};

	x->nchar = 0;
	fn(ctx, &t);
}

static void emit_control(unsigned char c, lex_fn *fn, void *ctx)
{
	struct lex_token t = {.kind = LEX_CONTROL, .cp = c};

	if (c)
		fn(ctx, &t);
}

static void begin_escape(struct lexer *x)
{
	x->state = AT_ESC;
	x->nheld = x->nbetween = 0;
	x->between = 0;
}

/* A character of several bytes: `c` begins one, or is its next byte.  false: it is not, and is still to be read. */
static bool take_utf8(struct lexer *x, unsigned char c, lex_fn *fn, void *ctx)
{
	uint32_t cp;

	if (x->nchar && (c & 0xC0) != 0x80) {
		emit_char(x, TEXT_BAD, fn, ctx);
		return false;
	}
	if (!x->nchar)
		x->chars_due = c >= 0xF0 && c <= 0xF4 ? 4
			: c >= 0xE0 && c < 0xF0       ? 3
			: c >= 0xC2 && c < 0xE0       ? 2
						      : 1;
	x->utf8[x->nchar++] = (char)c;
	if (x->nchar < x->chars_due)
		return true;
	if (utf8_next(x->utf8, x->nchar, &cp) != x->nchar)
		cp = TEXT_BAD;
	emit_char(x, cp, fn, ctx);
	return true;
}

/* How many of the bytes were read: a run of ASCII, or one. */
static size_t take_text(struct lexer *x, const char *s, size_t n, lex_fn *fn, void *ctx)
{
	unsigned char c = (unsigned char)s[0];
	size_t run = 0;

	if (x->nchar || c >= 0x80)
		return take_utf8(x, c, fn, ctx) ? 1 : 0;
	if (c == ESC) {
		begin_escape(x);
		return 1;
	}
	if (c < 0x20 || c == DEL) {
		if (c != DEL && c != CAN && c != SUB)
			emit_control(c, fn, ctx);
		return 1;
	}
	while (run < n && s[run] >= 0x20 && s[run] < DEL)
		run++;
	fn(ctx, &(struct lex_token){.kind = LEX_ASCII, .bytes = s, .n = run});
	return run;
}

static void take_escape(struct lexer *x, unsigned char c, lex_fn *fn, void *ctx)
{
	struct lex_token t = {.kind = LEX_ESCAPE, .between = x->between, .final = (char)c};

	if (c >= 0x20 && c <= 0x2F) {
		x->between = (char)c;
		x->nbetween = (uint8_t)(x->nbetween ? 2 : 1);
	} else if (!x->nbetween && c == '[') {
		x->state = AT_CSI;
	} else if (!x->nbetween && strchr("]PX^_", c)) {
		x->state = AT_STRING;
		x->final = (char)c;
		x->inside = 0;
	} else {
		x->state = AT_TEXT;
		if (c >= 0x30 && c <= 0x7E && x->nbetween < 2)
			fn(ctx, &t);
	}
}

/* The numbers of a sequence; false: there are too many. */
static bool read_args(const char *s, size_t n, struct lex_token *t)
{
	uint32_t value = LEX_NONE;

	for (size_t i = 0; i <= n; i++) {
		char c = i < n ? s[i] : ';';

		if (c >= '0' && c <= '9') {
			value = (value == LEX_NONE ? 0 : value) * 10 + (uint32_t)(c - '0');
			if (value > LEX_ARG_MAX)
				value = LEX_ARG_MAX;
			continue;
		}
		if (t->nargs == LEX_ARGS)
			return false;
		if (c == ':')
			t->joined |= 1u << t->nargs;
		t->arg[t->nargs++] = (uint16_t)value;
		value = LEX_NONE;
	}
	if (t->nargs == 1 && t->arg[0] == LEX_NONE)
		t->nargs = 0;
	return true;
}

static void emit_csi(struct lexer *x, char final, lex_fn *fn, void *ctx)
{
	struct lex_token t = {.kind = LEX_CSI,
		.between = x->between,
		.final = final,
		.bytes = x->held,
		.n = x->nheld};

	if (t.n && strchr("<=>?", t.bytes[0])) {
		t.leader = *t.bytes++;
		t.n--;
	}
	for (size_t i = 0; i < t.n; i++)
		if (strchr("<=>?", t.bytes[i]))
			return;
	if (read_args(t.bytes, t.n, &t))
		fn(ctx, &t);
}

/* false: the byte ends the sequence and is still to be read. */
static bool take_csi(struct lexer *x, unsigned char c, lex_fn *fn, void *ctx)
{
	if (c >= 0x80) {
		x->state = AT_TEXT;
		return false;
	}
	if (c >= 0x40 && c < DEL) {
		bool whole = x->state == AT_CSI;

		x->state = AT_TEXT;
		if (whole)
			emit_csi(x, (char)c, fn, ctx);
	} else if (c >= 0x30 && c < 0x40) {
		if (x->between || x->nheld == LEX_SEQUENCE_MAX)
			x->state = AT_CSI_BAD;
		else
			x->held[x->nheld++] = (char)c;
	} else if (c >= 0x20 && c < 0x30) {
		if (x->between)
			x->state = AT_CSI_BAD;
		x->between = (char)c;
	}
	return true;
}

static void end_string(struct lexer *x, bool bell, lex_fn *fn, void *ctx)
{
	struct lex_token t = {.kind = LEX_STRING,
		.final = x->final,
		.bytes = x->string,
		.n = x->inside < LEX_STRING_MAX ? x->inside : LEX_STRING_MAX,
		.cut = x->inside > LEX_STRING_MAX,
		.bell = bell};

	x->state = AT_TEXT;
	fn(ctx, &t);
}

static void take_string(struct lexer *x, unsigned char c, lex_fn *fn, void *ctx)
{
	if (c == BEL && x->final == ']') {
		end_string(x, true, fn, ctx);
	} else if (c >= 0x20 && c != DEL) {
		if (x->inside < LEX_STRING_MAX)
			x->string[x->inside] = (char)c;
		/* One that nothing ends would hide all that follows. */
		if (++x->inside == LEX_STRING_END)
			x->state = AT_TEXT;
	}
}

/* What is the same in all sequences; true: that was all. */
static bool take_anywhere(struct lexer *x, unsigned char c, lex_fn *fn, void *ctx)
{
	bool string = x->state == AT_STRING || x->state == AT_STRING_ESC;

	if (x->state == AT_TEXT)
		return false;
	if (c == CAN || c == SUB) {
		x->state = AT_TEXT;
		return true;
	}
	if (x->state == AT_STRING_ESC) {
		/* ST, or another sequence that begins within the string and drops it. */
		if (c == '\\') {
			end_string(x, false, fn, ctx);
			return true;
		}
		begin_escape(x);
		string = false;
	}
	if (c == ESC) {
		if (string)
			x->state = AT_STRING_ESC;
		else
			begin_escape(x);
		return true;
	}
	if (string || (c >= 0x20 && c != DEL))
		return false;
	if (c != DEL)
		emit_control(c, fn, ctx);
	return true;
}

void lex(struct lexer *x, const char *bytes, size_t n, lex_fn *fn, void *ctx)
{
	for (size_t i = 0, used; i < n; i += used) {
		unsigned char c = (unsigned char)bytes[i];

		used = 1;
		if (take_anywhere(x, c, fn, ctx))
			continue;
		switch (x->state) {
		case AT_ESC:
			if (c < 0x80) {
				take_escape(x, c, fn, ctx);
				break;
			}
			x->state = AT_TEXT;
			used = 0;
			break;
		case AT_CSI:
		case AT_CSI_BAD: used = take_csi(x, c, fn, ctx); break;
		case AT_STRING: take_string(x, c, fn, ctx); break;
		default: used = take_text(x, bytes + i, n - i, fn, ctx);
		}
	}
}
