/* pass.c - passes a program's output on to a person's terminal, less what a table refuses. */
#include "terminals/pass.h"

#include <string.h>

#include <berth/mem.h>
#include <berth/text.h>

#define ANY '\xFF' /* whatever the intermediate byte is */

/* The first row that fits decides; what fits none is PASS_UNKNOWN. */
static const struct {
	enum lex_kind kind;
	char leader, between;
	const char *finals; /* "": any */
	enum pass_reason reason;
} rows[] = {
	{LEX_ESCAPE, 0, 0, "78DEM=>", PASS_OK},
	{LEX_ESCAPE, 0, 0, "c", PASS_SCREEN},
	{LEX_ESCAPE, 0, 0, "H", PASS_LASTING}, /* tab stops */
	{LEX_ESCAPE, 0, 0, "Z", PASS_QUERY},
	{LEX_ESCAPE, 0, '(', "0AB", PASS_OK},
	{LEX_ESCAPE, 0, ')', "0AB", PASS_OK},
	{LEX_ESCAPE, 0, '#', "8", PASS_OK},
	{LEX_CSI, 0, 0, "@ABCDEFGHIJKLMPSTXZ`abdefmrsu", PASS_OK},
	{LEX_CSI, 0, 0, "g", PASS_LASTING},
	{LEX_CSI, 0, ' ', "q", PASS_OK},
	{LEX_CSI, 0, '!', "p", PASS_OK},
	{LEX_CSI, 0, 0, "cnx", PASS_QUERY},     /* device attributes, status, parameters */
	{LEX_CSI, '?', 0, "cnuSm", PASS_QUERY}, /* keyboard, graphics, modifiers */
	{LEX_CSI, '>', 0, "cq", PASS_QUERY},
	{LEX_CSI, '=', 0, "c", PASS_QUERY},
	{LEX_CSI, 0, '$', "pwu", PASS_QUERY},
	{LEX_CSI, '?', '$', "p", PASS_QUERY},
	{LEX_CSI, 0, '*', "y", PASS_QUERY}, /* a checksum of the screen */
	{LEX_CSI, 0, '\'', "|", PASS_QUERY},
	{LEX_CSI, 0, 0, "t", PASS_WINDOW}, /* sizes, titles reported, icons */
	{LEX_CSI, '>', 0, "t", PASS_WINDOW},
	{LEX_CSI, '>', 0, "um", PASS_LASTING}, /* keyboard protocols */
	{LEX_CSI, '<', 0, "u", PASS_LASTING},
	{LEX_CSI, '=', 0, "u", PASS_LASTING},
	{LEX_CSI, 0, 0, "i", PASS_DEVICE}, /* the printer */
	{LEX_CSI, '?', 0, "i", PASS_DEVICE},
	{LEX_STRING, 0, ANY, "PX^_", PASS_DEVICE},
};

/* Of OSC; what is refused by its number. */
static const struct {
	const char *number;
	enum pass_reason reason;
} commands[] = {
	{"0", PASS_OK},
	{"1", PASS_OK},
	{"2", PASS_OK},
	{"133", PASS_OK},
	{"4", PASS_LASTING},
	{"5", PASS_LASTING},
	{"10", PASS_LASTING},
	{"11", PASS_LASTING},
	{"12", PASS_LASTING},
	{"17", PASS_LASTING},
	{"19", PASS_LASTING},
	{"50", PASS_LASTING},
	{"104", PASS_LASTING},
	{"110", PASS_LASTING},
	{"111", PASS_LASTING},
	{"112", PASS_LASTING},
	{"7", PASS_LASTING},
	{"52", PASS_CLIPBOARD},
	{"9", PASS_NOTICE},
	{"99", PASS_NOTICE},
	{"777", PASS_NOTICE},
	{"1337", PASS_DEVICE},
};

/* DECSET's numbers that pass; each alone, so that one that is refused takes no other with it. */
static bool is_mode_passed(char leader, unsigned n)
{
	static const uint16_t plain[] = {4, 20}, private[] = {PASS_MODES, 1048};
	const uint16_t *known = leader ? private : plain;
	size_t count = leader ? COUNT(private) : COUNT(plain);

	for (size_t i = 0; i < count; i++)
		if (known[i] == n)
			return true;
	return false;
}

static bool is_screen_mode(char leader, unsigned n)
{
	return leader && (n == 47 || n == 1047 || n == 1049);
}

struct passing {
	struct pass *pass;
	struct str *out;
};

static void pass_modes(struct passing *p, const struct lex_token *t)
{
	for (unsigned i = 0; i < t->nargs; i++) {
		if (is_mode_passed(t->leader, t->arg[i]))
			str_addf(p->out, "\x1b[%s%u%c", t->leader ? "?" : "", t->arg[i], t->final);
		else
			p->pass->refused[is_screen_mode(t->leader, t->arg[i]) ? PASS_SCREEN
									      : PASS_UNKNOWN]++;
	}
}

static void pass_csi(struct passing *p, const struct lex_token *t)
{
	str_adds(p->out, "\x1b[");
	if (t->leader)
		str_addc(p->out, t->leader);
	for (unsigned i = 0; i < t->nargs; i++) {
		if (i)
			str_addc(p->out, t->joined >> (i - 1) & 1 ? ':' : ';');
		if (t->arg[i] != LEX_NONE)
			str_addf(p->out, "%u", t->arg[i]);
	}
	if (t->between)
		str_addc(p->out, t->between);
	str_addc(p->out, t->final);
}

static void pass_escape(struct passing *p, const struct lex_token *t)
{
	str_addc(p->out, '\x1b');
	if (t->between)
		str_addc(p->out, t->between);
	str_addc(p->out, t->final);
}

/* "8;id=x;https://...", and "8;;", which ends one. */
static enum pass_reason judge_link(const char *s, size_t n)
{
	const char *at = n > 2 ? memchr(s + 2, ';', n - 2) : NULL;
	size_t left = at ? n - (size_t)(at + 1 - s) : 0;

	if (!at)
		return PASS_LINK;
	at++;
	if (!left || (left > 7 && !memcmp(at, "http://", 7)) ||
		(left > 8 && !memcmp(at, "https://", 8)))
		return PASS_OK;
	return PASS_LINK;
}

static enum pass_reason judge_command(const struct lex_token *t)
{
	const char *end = memchr(t->bytes, ';', t->n);
	size_t n = end ? (size_t)(end - t->bytes) : t->n;

	if (t->cut)
		return PASS_UNKNOWN;
	if (n == 1 && t->bytes[0] == '8')
		return judge_link(t->bytes, t->n);
	for (size_t i = 0; i < COUNT(commands); i++)
		if (strlen(commands[i].number) == n && !memcmp(commands[i].number, t->bytes, n))
			return commands[i].reason;
	return PASS_UNKNOWN;
}

/* What the numbers decide: a person's own scrollback, which CSI 3 J clears, and mouse tracking that waits for an answer. */
static enum pass_reason judge_numbers(const struct lex_token *t)
{
	for (unsigned i = 0; t->final == 'J' && i < t->nargs; i++)
		if (t->arg[i] == 3)
			return PASS_LASTING;
	return t->final == 'T' && t->nargs > 1 ? PASS_UNKNOWN : PASS_OK;
}

static enum pass_reason judge_sequence(const struct lex_token *t)
{
	if (t->kind == LEX_STRING && t->final == ']')
		return judge_command(t);
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].kind == t->kind && rows[i].leader == t->leader &&
			(rows[i].between == t->between || rows[i].between == ANY) &&
			strchr(rows[i].finals, t->final))
			return rows[i].reason || t->kind != LEX_CSI ? rows[i].reason
								    : judge_numbers(t);
	return PASS_UNKNOWN;
}

/* Made longer than what is read of one, by what may not be shown: it is not passed. */
static enum pass_reason pass_command(struct passing *p, const struct lex_token *t)
{
	AUTO_STR struct str text = STR_INIT;

	text_neutralise(&text, t->bytes, t->n, false);
	if (text.len > LEX_STRING_MAX)
		return PASS_UNKNOWN;
	str_adds(p->out, "\x1b]");
	str_add(p->out, text.s, text.len);
	str_adds(p->out, "\x1b\\");
	return PASS_OK;
}

static void pass_sequence(struct passing *p, const struct lex_token *t)
{
	enum pass_reason reason;

	if (t->kind == LEX_CSI && (t->final == 'h' || t->final == 'l') && !t->between &&
		(!t->leader || t->leader == '?')) {
		pass_modes(p, t);
		return;
	}
	reason = judge_sequence(t);
	if (!reason && t->kind == LEX_STRING)
		reason = pass_command(p, t);
	else if (!reason && t->kind == LEX_CSI)
		pass_csi(p, t);
	else if (!reason)
		pass_escape(p, t);
	if (reason)
		p->pass->refused[reason]++;
}

static void pass_token(void *ctx, const struct lex_token *t)
{
	const struct passing *p = ctx;

	pass_take(p->pass, t, p->out);
}

void pass_take(struct pass *pass, const struct lex_token *t, struct str *out)
{
	struct passing to = {pass, out}, *p = &to;

	switch (t->kind) {
	case LEX_ASCII: str_add(p->out, t->bytes, t->n); break;
	case LEX_CHAR:
		if (t->cp == TEXT_BAD || text_cp_width(t->cp) < 0)
			str_adds(p->out, "\xEF\xBF\xBD");
		else
			str_add(p->out, t->bytes, t->n);
		break;
	case LEX_CONTROL:
		/* ENQ is answered; of the others that are missing here nothing is known. */
		if (strchr("\a\b\t\n\v\f\r\x0e\x0f", (int)t->cp))
			str_addc(p->out, (char)t->cp);
		else
			p->pass->refused[t->cp == 5 ? PASS_QUERY : PASS_UNKNOWN]++;
		break;
	default: pass_sequence(p, t);
	}
}

void pass_through(struct pass *p, const char *bytes, size_t n, struct str *out)
{
	struct passing to = {p, out};

	lex(&p->lexer, bytes, n, pass_token, &to);
}
