/*
 * tame.c - removes the control sequences from output that do more than display text.
 *
 * Control sequences are read as ECMA-48 5.4 and 5.6 lay them out.  Of them pass, without private parameters and
 * intermediate bytes: SGR (m), cursor motion (A-H, d, f) and erasing (J, K).  A string (OSC, DCS, APC, PM, SOS) that
 * nothing ends is given up after STRING_MAX bytes, so that no program hides all that follows.
 */
#include <string.h>

#include <berth/journal.h>
#include <berth/text.h>

#define STRING_MAX 4096
#define ESC 0x1B

enum { IN_TEXT_BYTES, AFTER_ESC, IN_CSI, IN_CSI_LONG, IN_STRING, IN_STRING_ESC };

static bool is_kept_final(char c)
{
	return strchr("ABCDEFGHdfmJK", c) != NULL;
}

static bool is_kept_sequence(const struct journal_tamer *t)
{
	for (int i = 0; i < t->n; i++)
		if (!strchr("0123456789;:", t->held[i]))
			return false;
	return true;
}

static void end_sequence(struct journal_tamer *t, char final, struct str *out)
{
	/* 3 J takes away what was on the terminal before. */
	bool kept = t->state == IN_CSI && is_kept_final(final) && is_kept_sequence(t) &&
		!(final == 'J' && memchr(t->held, '3', t->n));

	if (kept) {
		str_adds(out, "\x1b[");
		str_add(out, t->held, t->n);
		str_addc(out, final);
	}
	t->state = IN_TEXT_BYTES;
	t->n = 0;
}

static void begin_after_esc(struct journal_tamer *t, unsigned char c)
{
	t->n = 0;
	t->inside = 0;
	if (c == '[')
		t->state = IN_CSI;
	else if (strchr("]PX^_", c) && c)
		t->state = IN_STRING;
	else if (c >= 0x20 && c <= 0x2F)
		; /* ESC ( B and its like: one more follows */
	else
		t->state = IN_TEXT_BYTES;
}

/* A whole character, or one byte that is none. */
static void put_character(const char *bytes, size_t n, uint32_t cp, struct str *out)
{
	if (cp == TEXT_BAD || text_cp_width(cp) < 0)
		str_adds(out, "\xEF\xBF\xBD");
	else
		str_add(out, bytes, n);
}

static size_t utf8_length(unsigned char c)
{
	return c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC2 ? 2 : 1;
}

/* What is held begins a character; `c` goes on with it or begins anew. */
static void take_text_byte(struct journal_tamer *t, unsigned char c, struct str *out)
{
	uint32_t cp;

	if (t->n && (c & 0xC0) != 0x80) {
		put_character(t->held, t->n, TEXT_BAD, out);
		t->n = 0;
	}
	if (c == ESC) {
		t->state = AFTER_ESC;
	} else if (c < 0x20 || c == 0x7F) {
		if (strchr("\n\r\t\b", c) && c)
			str_addc(out, (char)c);
	} else {
		t->held[t->n++] = (char)c;
		if (t->n < utf8_length((unsigned char)t->held[0]))
			return;
		if (utf8_next(t->held, t->n, &cp) != t->n)
			cp = TEXT_BAD;
		/* C1 as U+0080 to U+009F: some terminals obey them. */
		if (cp < 0x80 || cp > 0x9F)
			put_character(t->held, t->n, cp, out);
		t->n = 0;
	}
}

static void take_string_byte(struct journal_tamer *t, unsigned char c)
{
	/* CAN and SUB end any sequence, BEL an OSC; ST is ESC \. */
	if (c == 0x07 || c == 0x18 || c == 0x1A || ++t->inside > STRING_MAX ||
		(t->state == IN_STRING_ESC && c == '\\'))
		t->state = IN_TEXT_BYTES;
	else if (t->state == IN_STRING_ESC && c != ESC)
		begin_after_esc(t, c);
	else
		t->state = c == ESC ? IN_STRING_ESC : IN_STRING;
}

static void take_csi_byte(struct journal_tamer *t, unsigned char c, struct str *out)
{
	if (c == ESC) {
		t->n = 0;
		t->state = AFTER_ESC;
	} else if (c >= 0x40 && c <= 0x7E) {
		end_sequence(t, (char)c, out);
	} else if (c < 0x20 || c >= 0x7F) {
		/* Within one it has no business. */
		t->state = IN_TEXT_BYTES;
		t->n = 0;
	} else if (t->n < sizeof t->held) {
		t->held[t->n++] = (char)c;
	} else {
		t->state = IN_CSI_LONG;
	}
}

void journal_tame(struct journal_tamer *t, const char *bytes, size_t n, struct str *out)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		switch (t->state) {
		case AFTER_ESC:
			if (c != ESC)
				begin_after_esc(t, c);
			break;
		case IN_CSI:
		case IN_CSI_LONG: take_csi_byte(t, c, out); break;
		case IN_STRING:
		case IN_STRING_ESC: take_string_byte(t, c); break;
		default: take_text_byte(t, c, out);
		}
	}
}
