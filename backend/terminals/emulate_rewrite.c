/*
 * emulate_rewrite.c - writes a program's sequences anew for libvterm: those of a table, each number bounded, one mode and
 * one style at a time, and what it reads otherwise than xterm does in words that it knows.
 */
#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#include "terminals/emulate.h"

/* libvterm bounds the cursor at the end of each sequence, and of this one does nothing else. */
#define BOUND_CURSOR "\x1b[0n"
#define RESTORE_CURSOR \
	"\x1b"         \
	"8" BOUND_CURSOR

/* Sequences without leader and intermediate byte that pass with so many numbers. */
static const struct {
	char final;
	unsigned char numbers;
} passed[] = {{'@', 1}, {'A', 1}, {'B', 1}, {'C', 1}, {'D', 1}, {'E', 1}, {'F', 1}, {'G', 1},
	{'H', 2}, {'I', 1}, {'J', 1}, {'K', 1}, {'L', 1}, {'M', 1}, {'P', 1}, {'S', 1}, {'T', 1},
	{'X', 1}, {'Z', 1}, {'`', 1}, {'a', 1}, {'d', 1}, {'e', 1}, {'f', 2}, {'r', 2}};

static void rewrite_passed(const struct lex_token *t, struct str *out)
{
	for (size_t i = 0; i < COUNT(passed); i++) {
		if (passed[i].final != t->final || t->nargs > passed[i].numbers || t->joined)
			continue;
		str_adds(out, "\x1b[");
		for (unsigned k = 0; k < t->nargs; k++) {
			if (k)
				str_addc(out, ';');
			if (t->arg[k] != LEX_NONE)
				str_addf(out, "%u", t->arg[k]);
		}
		str_addc(out, t->final);
	}
}

static void rewrite_modes(const struct lex_token *t, struct str *out)
{
	/* What libvterm keeps and nothing on the screen shows, seen.h does. */
	static const uint16_t plain[] = {4, 20}, private[] = {5, 6, 7, 25, 1047, 1048, 1049};
	const uint16_t *known = t->leader ? private : plain;
	size_t n = t->leader ? COUNT(private) : COUNT(plain);

	for (unsigned i = 0; i < t->nargs; i++) {
		unsigned mode = t->arg[i] == 47 && t->leader ? 1047 : t->arg[i];

		for (size_t k = 0; k < n; k++)
			if (mode == known[k])
				str_addf(out, "\x1b[%s%u%c", t->leader ? "?" : "", mode, t->final);
	}
}

/* 38 or 48 and what belongs to it, of both forms: 38;5;n, 38;2;r;g;b, 38:5:n, 38:2:r:g:b, 38:2:space:r:g:b.  How many
 * numbers these are. */
static unsigned rewrite_colour(const struct lex_token *t, unsigned i, struct str *out)
{
	unsigned joined = 0, from, n, what;

	while (i + joined < t->nargs && t->joined >> (i + joined) & 1)
		joined++;
	what = lex_arg(t, i + 1, 0);
	n = joined ? joined + 1 : what == 5 ? 3 : what == 2 ? 5 : 2;
	if (i + n > t->nargs || t->arg[i] == 58)
		return n;
	from = i + 2 + (joined >= 5 && what == 2);
	if (what == 5 && n >= 3)
		str_addf(out, "\x1b[%u;5;%um", t->arg[i], lex_arg(t, from, 0) & 255);
	else if (what == 2 && n >= 5)
		str_addf(out, "\x1b[%u;2;%u;%u;%um", t->arg[i], lex_arg(t, from, 0) & 255,
			lex_arg(t, from + 1, 0) & 255, lex_arg(t, from + 2, 0) & 255);
	return n;
}

static bool is_style(unsigned n)
{
	return n <= 1 || (n >= 3 && n <= 5) || n == 7 || n == 9 || (n >= 21 && n <= 25) ||
		n == 27 || n == 29 || (n >= 30 && n <= 49 && n != 38 && n != 48) ||
		(n >= 90 && n <= 107);
}

static void rewrite_style(const struct lex_token *t, struct str *out)
{
	if (!t->nargs)
		str_adds(out, "\x1b[0m");
	for (unsigned i = 0; i < t->nargs; i++) {
		unsigned n = lex_arg(t, i, 0);

		if (n == 38 || n == 48 || n == 58) {
			i += rewrite_colour(t, i, out) - 1;
		} else if (t->joined >> i & 1) {
			/* 4:3, a curly underline; 4:0, none. */
			if (n == 4)
				str_adds(out, lex_arg(t, i + 1, 1) ? "\x1b[4m" : "\x1b[24m");
			while (t->joined >> i & 1 && i + 1 < t->nargs)
				i++;
		} else if (is_style(n)) {
			str_addf(out, "\x1b[%um", n);
		}
	}
}

static void rewrite_csi(const struct lex_token *t, struct str *out)
{
	if (t->between) {
		/* DECSTR, which libvterm does not know. */
		if (t->between == '!' && t->final == 'p' && !t->leader)
			str_adds(out,
				"\x1b"
				"7\x1b[r" RESTORE_CURSOR "\x1b[?6l\x1b[4l\x1b[?7h\x1b[?25h\x1b[m");
	} else if (t->leader) {
		if (t->leader == '?' && (t->final == 'h' || t->final == 'l'))
			rewrite_modes(t, out);
	} else if (t->final == 'h' || t->final == 'l') {
		rewrite_modes(t, out);
	} else if (t->final == 'm') {
		rewrite_style(t, out);
	} else if (t->final == 's' && !t->nargs) {
		/* libvterm sets margins. */
		str_adds(out,
			"\x1b"
			"7");
	} else if (t->final == 'u' && !t->nargs) {
		str_adds(out, RESTORE_CURSOR);
	} else {
		rewrite_passed(t, out);
	}
}

static void rewrite_escape(const struct lex_token *t, struct str *out)
{
	if (!t->between && t->final == 'c')
		/* It leaves the alternate screen shown. */
		str_adds(out,
			"\x1b[?1047l\x1b"
			"c");
	else if (!t->between && t->final == '8')
		str_adds(out, RESTORE_CURSOR);
	else if (!t->between && strchr("7DEM", t->final))
		str_addf(out, "\x1b%c", t->final);
	else if (t->between && strchr("()*+", t->between) && strchr("0AB", t->final))
		str_addf(out, "\x1b%c%c", t->between, t->final);
	else if (t->between == '#' && t->final == '8')
		str_adds(out, "\x1b#8");
}

void emulator_rewrite(const struct lex_token *t, struct str *out)
{
	switch (t->kind) {
	case LEX_ASCII: str_add(out, t->bytes, t->n); break;
	case LEX_CONTROL:
		if (strchr("\b\t\n\v\f\r\x0e\x0f", (int)t->cp))
			str_addc(out, (char)t->cp);
		break;
	case LEX_ESCAPE: rewrite_escape(t, out); break;
	case LEX_CSI: rewrite_csi(t, out); break;
	case LEX_CHAR:
	case LEX_STRING: break;
	}
}

/* Blocks of plane 1 whose characters are wide (emoji, Tangut, Kana) and were not when libvterm's tables were made: they
 * are given to it as characters of plane 3, all of which it takes for wide and none of which is assigned. */
#define WIDE_FROM 0x16FE0u
#define WIDE_TO 0x1FBFFu
#define DISGUISE 0x20000u

uint32_t emulator_undisguise(uint32_t cp)
{
	return cp >= WIDE_FROM + DISGUISE && cp <= WIDE_TO + DISGUISE ? cp - DISGUISE : cp;
}

uint32_t emulator_disguise(uint32_t cp)
{
	/* It says that these combine: format characters of Arabic, Syriac, Hanunoo. */
	static const uint32_t odd[] = {0x600, 0x601, 0x602, 0x603, 0x6DD, 0x6DE, 0x70F, 0x1734};
	int width = text_cp_width(cp);

	if (!width || cp == 0xAD)
		return 0;
	for (size_t i = 0; i < COUNT(odd); i++)
		if (cp == odd[i])
			return TEXT_BAD;
	if (width == 2 && cp >= WIDE_FROM && cp <= WIDE_TO)
		return cp + DISGUISE;
	/* Not assigned: one column here, two there. */
	return width < 0 || (width == 1 && cp >= 0x20000 && cp < 0x40000) ? TEXT_BAD : cp;
}

bool emulator_combines(uint32_t cp)
{
	/* Of those that have no width here and none there.  Others of other scripts are left out. */
	static const struct {
		uint32_t from, to;
	} marks[] = {{0x300, 0x36F}, {0x483, 0x486}, {0x591, 0x5BD}, {0x64B, 0x655}, {0x93C, 0x93C},
		{0x941, 0x948}, {0x94D, 0x94D}, {0xE31, 0xE31}, {0xE34, 0xE3A}, {0xE47, 0xE4E},
		{0x200B, 0x200D}, {0x20D0, 0x20EF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE23}};

	for (size_t i = 0; i < COUNT(marks); i++)
		if (cp >= marks[i].from && cp <= marks[i].to)
			return true;
	return false;
}
