/*
 * key_names.c - what a named key sends to a program.
 *
 * Names are tmux's (tmux(1), KEY BINDINGS) and those of berth's own keys, bytes are xterm's (ctlseqs, "PC-Style Function Keys"): with a modifier the
 * sequence gets a number, 1 + shift + 2 alt + 4 control.
 */
#include <string.h>
#include <strings.h>

#include <berth/mem.h>
#include <berth/terminal.h>
#include <berth/text.h>

enum { SHIFT = 1, ALT = 2, CONTROL = 4 };

/* `letter`: CSI letter, or SS3 letter in application mode or of F1 to F4; else CSI number ~; else the byte. */
static const struct {
	const char *name;
	char letter;
	unsigned char number, byte;
	bool always_ss3;
} keys[] = {
	{"Enter", .byte = '\r'},
	{"Tab", .byte = '\t'},
	{"Escape", .byte = 0x1B},
	{"Esc", .byte = 0x1B},
	{"Space", .byte = ' '},
	{"BSpace", .byte = 0x7F},
	{"Backspace", .byte = 0x7F},
	{"Up", .letter = 'A'},
	{"Down", .letter = 'B'},
	{"Right", .letter = 'C'},
	{"Left", .letter = 'D'},
	{"Home", .letter = 'H'},
	{"End", .letter = 'F'},
	{"F1", .letter = 'P', .always_ss3 = true},
	{"F2", .letter = 'Q', .always_ss3 = true},
	{"F3", .letter = 'R', .always_ss3 = true},
	{"F4", .letter = 'S', .always_ss3 = true},
	{"Insert", .number = 2},
	{"Delete", .number = 3},
	{"PageUp", .number = 5},
	{"PageDown", .number = 6},
	{"Ins", .number = 2},
	{"Del", .number = 3},
	{"PgUp", .number = 5},
	{"PgDn", .number = 6},
	{"F5", .number = 15},
	{"F6", .number = 17},
	{"F7", .number = 18},
	{"F8", .number = 19},
	{"F9", .number = 20},
	{"F10", .number = 21},
	{"F11", .number = 23},
	{"F12", .number = 24},
};

static int no_key(const char *name, struct err *e)
{
	char shown[64];

	return err_set(e, ERR_USAGE,
		"`%s` is not a key; keys are Enter, Tab, BTab, Esc, Space, BSpace, Up, Down, Left, Right, Home, End, "
		"Insert, Delete, PageUp, PageDown, F1 to F12 and single characters, with C-, M- or S- in front",
		text_clean(shown, sizeof shown, name));
}

/* What control makes of a character; -1: nothing. */
static int control_byte(char c)
{
	if (c == '?')
		return 0x7F;
	if (c == ' ')
		return 0;
	return (c | 32) >= 'a' && (c | 32) <= 'z' ? c & 31
		: strchr("@[\\]^_", c) && c       ? c & 31
						  : -1;
}

static int add_character(const char *name, int modifiers, struct str *out, struct err *e)
{
	uint32_t cp;
	size_t n = strlen(name);
	int byte = n == 1 ? control_byte(*name) : -1;

	if (!n || utf8_next(name, n, &cp) != n || cp == TEXT_BAD || cp < 0x20 || cp == 0x7F ||
		(modifiers & SHIFT) || (modifiers & CONTROL && byte < 0))
		return no_key(name, e);
	if (modifiers & ALT)
		str_addc(out, 0x1B);
	if (modifiers & CONTROL)
		str_addc(out, (char)byte);
	else
		str_add(out, name, n);
	return 0;
}

static void add_named(size_t i, int modifiers, bool application, struct str *out)
{
	if (keys[i].byte) {
		if (modifiers & ALT)
			str_addc(out, 0x1B);
		str_addc(out,
			keys[i].byte == ' ' && modifiers & CONTROL ? '\0' : (char)keys[i].byte);
	} else if (keys[i].letter) {
		if (modifiers)
			str_addf(out, "\x1b[1;%d%c", modifiers + 1, keys[i].letter);
		else
			str_addf(out, "\x1b%c%c", application || keys[i].always_ss3 ? 'O' : '[',
				keys[i].letter);
	} else if (modifiers) {
		str_addf(out, "\x1b[%u;%d~", keys[i].number, modifiers + 1);
	} else {
		str_addf(out, "\x1b[%u~", keys[i].number);
	}
}

int terminal_key(const char *name, bool application, struct str *out, struct err *e)
{
	const char *key = name;
	int modifiers = 0;

	while (key[0] && key[1] == '-' && key[2] && strchr("CMS", key[0])) {
		modifiers |= key[0] == 'C' ? CONTROL : key[0] == 'M' ? ALT : SHIFT;
		key += 2;
	}
	if (!strcasecmp(key, "BTab") || (!strcasecmp(key, "Tab") && modifiers == SHIFT)) {
		str_adds(out, "\x1b[Z");
		return 0;
	}
	for (size_t i = 0; i < COUNT(keys); i++) {
		if (strcasecmp(keys[i].name, key) != 0)
			continue;
		add_named(i, modifiers, application, out);
		return 0;
	}
	return add_character(key, modifiers, out, e);
}
