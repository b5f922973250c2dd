/*
 * lex.h - what a program writes to its terminal, cut into characters, controls and sequences.
 *
 * One reader for all that look at such output (emulate.h, seen.h, pass.h), so that they agree on where each sequence
 * ends.  However the bytes are cut into pieces, the same tokens come, but that a run of ASCII may come as several.
 *
 * Sources: ECMA-48 5.4 to 5.6 (control sequences, control strings), the state machine of Paul Williams
 * (vt100.net/emu/dec_ansi_parser), RFC 3629 (UTF-8).  8-bit controls are not obeyed: the output is UTF-8, in which their
 * bytes are parts of characters.
 *
 * Limits: a sequence of at most LEX_SEQUENCE_MAX parameter bytes and LEX_ARGS numbers, longer ones are dropped; of a
 * string the first LEX_STRING_MAX bytes, and it ends after LEX_STRING_END.  Thread: one owner; plain data, no memory of
 * its own; a zeroed one is at the beginning.
 */
#ifndef TERMINALS_LEX_H
#define TERMINALS_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEX_SEQUENCE_MAX 128
#define LEX_STRING_MAX 4096
#define LEX_STRING_END ((size_t)4 << 20)
#define LEX_ARGS 32
#define LEX_ARG_MAX 9999
#define LEX_NONE UINT16_MAX /* a number that is not there */

enum lex_kind {
	LEX_ASCII,   /* bytes[n]: 0x20 to 0x7E */
	LEX_CHAR,    /* cp, of bytes[n]; TEXT_BAD for what is not UTF-8 */
	LEX_CONTROL, /* cp: 0x01 to 0x1F but ESC */
	LEX_ESCAPE,  /* between, final */
	LEX_CSI,     /* leader, arg[nargs], between, final; bytes[n]: the parameters */
	LEX_STRING   /* final: ] P X ^ or _; bytes[n]: what is in it */
};

struct lex_token {
	enum lex_kind kind;
	uint32_t cp;
	const char *bytes; /* until the callback returns; no NUL behind them */
	size_t n;
	char leader;  /* < = > ?, or 0 */
	char between; /* the intermediate byte, or 0 */
	char final;
	bool cut;  /* LEX_STRING: it was longer than what is here */
	bool bell; /* LEX_STRING: it ended with BEL */
	uint8_t nargs;
	uint32_t joined; /* bit i: a colon, not a semicolon, follows arg[i] */
	uint16_t arg[LEX_ARGS];
};

struct lexer {
	uint8_t state, nchar, nheld, nbetween, chars_due;
	char final, between;
	char utf8[4];
	char held[LEX_SEQUENCE_MAX];
	size_t inside;
	char string[LEX_STRING_MAX];
};

typedef void lex_fn(void *ctx, const struct lex_token *t);
void lex(struct lexer *x, const char *bytes, size_t n, lex_fn *fn, void *ctx);

/* arg[i], or `missing` where there is none. */
static inline unsigned lex_arg(const struct lex_token *t, unsigned i, unsigned missing)
{
	return i < t->nargs && t->arg[i] != LEX_NONE ? t->arg[i] : missing;
}

#endif
