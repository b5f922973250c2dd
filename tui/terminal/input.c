/* input.c - decodes the input of a terminal. */
#include "terminal/input.h"

#include <stdlib.h>
#include <string.h>

#include <berth/text.h>

#define ESC 0x1B
#define TWICE_NS 400000000
#define SEQUENCE_MAX 64 /* longer ones are nobody's: dropped */

void input_init(struct input_reader *r)
{
	*r = (struct input_reader){.click_x = -1};
	str_init(&r->paste);
}

void input_release(struct input_reader *r)
{
	str_release(&r->paste);
}

void input_extra(struct input_reader *r, const char *bytes, struct key key)
{
	size_t n = strlen(bytes);

	/* Single bytes and plain text have their meaning already. */
	if (r->nextra == INPUT_EXTRA_MAX || n < 2 || n > sizeof r->extra[0].bytes ||
		bytes[0] != ESC)
		return;
	memcpy(r->extra[r->nextra].bytes, bytes, n);
	r->extra[r->nextra].n = n;
	r->extra[r->nextra++].key = key;
}

char *input_room(struct input_reader *r, size_t *ret_cap)
{
	*ret_cap = sizeof r->buf - r->n;
	return r->buf + r->n;
}

void input_took(struct input_reader *r, size_t n)
{
	r->n += n;
}

static void consume_bytes(struct input_reader *r, size_t n)
{
	memmove(r->buf, r->buf + n, r->n - n);
	r->n -= n;
}

/* How a sequence was understood. */
enum found { FOUND_EVENT, FOUND_NOTHING, FOUND_PART };

static enum found key_event(struct input *ret, uint32_t code, uint8_t mods)
{
	*ret = (struct input){.kind = INPUT_KEY, .key = {code, mods}};
	return FOUND_EVENT;
}

static uint8_t decode_modifiers(int param)
{
	int bits = param > 1 ? param - 1 : 0;

	return (uint8_t)((bits & 1 ? MOD_SHIFT : 0) | (bits & 2 ? MOD_ALT : 0) |
		(bits & 4 ? MOD_CTRL : 0));
}

/* A character with modifiers as the parameters of CSI u and modifyOtherKeys give it. */
static enum found char_event(struct input *ret, int cp, uint8_t mods)
{
	if (cp == 27)
		return key_event(ret, NAMED_ESC, mods);
	if (cp == 13)
		return key_event(ret, NAMED_ENTER, mods);
	if (cp == 9)
		return key_event(ret, NAMED_TAB, mods);
	if (cp == 127 || cp == 8)
		return key_event(ret, NAMED_BACKSPACE, mods);
	if (cp < 0x20 || cp > 0x10FFFF)
		return FOUND_NOTHING;
	/* The character itself says that Shift was held. */
	return key_event(ret, (uint32_t)cp, mods & (uint8_t)~MOD_SHIFT);
}

static uint32_t letter_key(char final)
{
	switch (final) {
	case 'A': return NAMED_UP;
	case 'B': return NAMED_DOWN;
	case 'C': return NAMED_RIGHT;
	case 'D': return NAMED_LEFT;
	case 'H': return NAMED_HOME;
	case 'F': return NAMED_END;
	case 'P': return NAMED_F1;
	case 'Q': return NAMED_F1 + 1;
	case 'R': return NAMED_F1 + 2;
	case 'S': return NAMED_F1 + 3;
	case 'M': return NAMED_ENTER;
	default: return 0;
	}
}

static uint32_t tilde_key(int n)
{
	static const uint32_t keys[] = {[1] = NAMED_HOME,
		[2] = NAMED_INSERT,
		[3] = NAMED_DELETE,
		[4] = NAMED_END,
		[5] = NAMED_PAGE_UP,
		[6] = NAMED_PAGE_DOWN,
		[7] = NAMED_HOME,
		[8] = NAMED_END,
		[11] = NAMED_F1,
		[12] = NAMED_F1 + 1,
		[13] = NAMED_F1 + 2,
		[14] = NAMED_F1 + 3,
		[15] = NAMED_F1 + 4,
		[17] = NAMED_F1 + 5,
		[18] = NAMED_F1 + 6,
		[19] = NAMED_F1 + 7,
		[20] = NAMED_F1 + 8,
		[21] = NAMED_F1 + 9,
		[23] = NAMED_F1 + 10,
		[24] = NAMED_F1 + 11};

	return n > 0 && n < (int)(sizeof keys / sizeof keys[0]) ? keys[n] : 0;
}

static enum found read_mouse(
	struct input_reader *r, const int *p, char final, int64_t now, struct input *ret)
{
	int button = p[0];

	*ret = (struct input){.x = p[1] - 1, .y = p[2] - 1};
	if (final != 'M' || p[1] < 1 || p[2] < 1)
		return FOUND_NOTHING;
	if (button & 64) {
		if ((button & 3) > 1)
			return FOUND_NOTHING; /* sideways */
		ret->kind = INPUT_WHEEL;
		ret->lines = button & 1 ? 3 : -3;
		return FOUND_EVENT;
	}
	if (button & 32 || (button & 3) != 0)
		return FOUND_NOTHING; /* moved, or another button */
	ret->kind = INPUT_CLICK;
	ret->twice = r->click_x == ret->x && r->click_y == ret->y && now - r->click_ns < TWICE_NS;
	r->click_x = ret->twice ? -1 : ret->x;
	r->click_y = ret->y;
	r->click_ns = now;
	return FOUND_EVENT;
}

/* CSI: parameters, then a final byte.  *used is set unless more is needed. */
static enum found read_csi(struct input_reader *r, int64_t now, struct input *ret, size_t *used)
{
	int p[4] = {0}, np = 0;
	size_t i = 2;
	char lead = 0, final;

	if (r->n > 2 && r->buf[2] == '[') { /* Linux console: ESC [ [ A */
		if (r->n < 4)
			return FOUND_PART;
		*used = 4;
		return r->buf[3] >= 'A' && r->buf[3] <= 'E'
			? key_event(ret, NAMED_F1 + (uint32_t)(r->buf[3] - 'A'), 0)
			: FOUND_NOTHING;
	}
	if (i < r->n && strchr("<=>?", r->buf[i]) && r->buf[i])
		lead = r->buf[i++];
	for (; i < r->n && (unsigned char)r->buf[i] < 0x40; i++) {
		char ch = r->buf[i];

		if ((unsigned char)ch < 0x20 || i > SEQUENCE_MAX) {
			*used = i;
			return FOUND_NOTHING;
		}
		if (ch >= '0' && ch <= '9') {
			if (np < 4 && p[np] < 10000000)
				p[np] = p[np] * 10 + (ch - '0');
		} else if (ch == ';') {
			np += np < 4;
		}
	}
	if (i == r->n)
		return FOUND_PART;
	final = r->buf[i];
	*used = i + 1;
	if (lead == '<')
		return read_mouse(r, p, final, now, ret);
	if (lead)
		return FOUND_NOTHING;
	if (final == 'M' && np == 0 && p[0] == 0) { /* X10 mouse: three bytes follow, unasked */
		*used = i + 4 <= r->n ? i + 4 : r->n;
		return FOUND_NOTHING;
	}
	if (final == '~' && p[0] == 200) {
		r->pasting = true;
		str_clear(&r->paste);
		return FOUND_NOTHING;
	}
	if (final == '~' && p[0] == 27)
		return char_event(ret, p[2], decode_modifiers(p[1]));
	if (final == '~')
		return tilde_key(p[0]) ? key_event(ret, tilde_key(p[0]), decode_modifiers(p[1]))
				       : FOUND_NOTHING;
	if (final == 'u')
		return char_event(ret, p[0], decode_modifiers(p[1]));
	if (final == 'Z')
		return key_event(ret, NAMED_TAB, MOD_SHIFT);
	if (final != 'M' && letter_key(final))
		return key_event(ret, letter_key(final), decode_modifiers(p[1]));
	return FOUND_NOTHING;
}

static enum found read_plain(struct input_reader *r, size_t at, bool final, uint8_t mods,
	struct input *ret, size_t *used)
{
	unsigned char ch = (unsigned char)r->buf[at];
	size_t n, want = ch >= 0xF0 ? 4 : ch >= 0xE0 ? 3 : ch >= 0xC0 ? 2 : 1;
	uint32_t cp;

	*used = at + 1;
	if (ch == 0)
		return key_event(ret, ' ', mods | MOD_CTRL);
	if (ch == '\r' || ch == '\n')
		return key_event(ret, NAMED_ENTER, mods);
	if (ch == '\t')
		return key_event(ret, NAMED_TAB, mods);
	if (ch == 8 || ch == 127)
		return key_event(ret, NAMED_BACKSPACE, mods);
	if (ch == ESC)
		return key_event(ret, NAMED_ESC, mods);
	if (ch < 0x20)
		return key_event(ret, ch <= 26 ? ch + 'a' - 1u : ch + 0x40u, mods | MOD_CTRL);
	if (want > r->n - at && !final)
		return FOUND_PART;
	n = utf8_next(r->buf + at, r->n - at, &cp);
	*used = at + n;
	if (cp == TEXT_BAD || (cp >= 0x80 && cp < 0xA0))
		return FOUND_NOTHING;
	return key_event(ret, cp, mods);
}

static enum found read_extra(struct input_reader *r, struct input *ret, size_t *used)
{
	for (size_t i = 0; i < r->nextra; i++) {
		if (r->n < r->extra[i].n || memcmp(r->buf, r->extra[i].bytes, r->extra[i].n) != 0)
			continue;
		*used = r->extra[i].n;
		return key_event(ret, r->extra[i].key.code, r->extra[i].key.mods);
	}
	return FOUND_NOTHING;
}

static enum found read_escape_sequence(
	struct input_reader *r, bool final, int64_t now, struct input *ret, size_t *used)
{
	enum found f;

	if (r->n == 1) {
		*used = 1;
		return final ? key_event(ret, NAMED_ESC, 0) : FOUND_PART;
	}
	if (read_extra(r, ret, used) == FOUND_EVENT)
		return FOUND_EVENT;
	if (r->buf[1] == '[' || r->buf[1] == 'O') {
		f = FOUND_PART;
		if (r->buf[1] == '[') {
			f = read_csi(r, now, ret, used);
		} else if (r->n > 2) {
			uint32_t code = letter_key(r->buf[2]);

			*used = 3;
			f = code ? key_event(ret, code, 0) : FOUND_NOTHING;
		}
		if (f != FOUND_PART || !final)
			return f;
		/* Nothing more came: these were keys pressed with Alt. */
	}
	if (r->buf[1] == ESC) {
		*used = 1;
		return key_event(ret, NAMED_ESC, 0);
	}
	return read_plain(r, 1, final, MOD_ALT, ret, used);
}

/* Collect a paste up to its end mark; true when it is whole. */
static bool read_paste(struct input_reader *r, struct input *ret)
{
	static const char end[] = "\033[201~";
	const size_t len = sizeof end - 1;
	char *mark = memmem(r->buf, r->n, end, len);
	size_t take = mark ? (size_t)(mark - r->buf) : r->n;

	/* The mark's beginning may be the end of what is there. */
	if (!mark)
		for (size_t part = len - 1; part > 0; part--)
			if (take >= part && memcmp(r->buf + take - part, end, part) == 0) {
				take -= part;
				break;
			}
	if (r->paste.len < INPUT_PASTE_MAX)
		str_add(&r->paste, r->buf,
			take < INPUT_PASTE_MAX - r->paste.len ? take
							      : INPUT_PASTE_MAX - r->paste.len);
	consume_bytes(r, take + (mark ? len : 0));
	if (!mark)
		return false;
	r->pasting = false;
	*ret = (struct input){.kind = INPUT_PASTE, .text = r->paste.s, .n = r->paste.len};
	return true;
}

bool input_next(struct input_reader *r, bool final, int64_t now_ns, struct input *ret)
{
	while (r->n > 0) {
		size_t used = 1;
		enum found f;

		if (r->pasting)
			return read_paste(r, ret);
		f = r->buf[0] == ESC ? read_escape_sequence(r, final, now_ns, ret, &used)
				     : read_plain(r, 0, final, 0, ret, &used);
		if (f == FOUND_PART && r->n < SEQUENCE_MAX)
			return false;
		if (f == FOUND_PART)
			used = 1;
		consume_bytes(r, used);
		if (f == FOUND_EVENT)
			return true;
	}
	return false;
}
