/* typed.c - tells keys from the reports of a terminal, as xterm sends them. */
#include "terminals/typed.h"

#define MOUSE_BYTES 3 /* behind CSI M: button, column, row */

static bool is_report(const struct lex_token *t)
{
	if (t->kind != LEX_CSI || t->between)
		return false;
	return t->final == 'M' || t->final == 'm' ||
		(!t->nargs && (t->final == 'I' || t->final == 'O'));
}

static void take_token(void *ctx, const struct lex_token *token)
{
	struct typed *t = ctx;
	size_t n = token->kind == LEX_ASCII || token->kind == LEX_CHAR ? token->n : 1,
	       of_report = t->report < n ? t->report : n;

	t->report -= of_report;
	if (is_report(token))
		t->report = token->final == 'M' && !token->nargs ? MOUSE_BYTES : 0;
	else if (token->kind == LEX_ASCII)
		t->keys += n - of_report;
	else
		t->keys += !of_report;
}

void typed_take(struct typed *t, const char *bytes, size_t n)
{
	/* Backspace and C-Space, which no output has a token for. */
	for (size_t i = 0; i < n; i++)
		t->keys += bytes[i] == 0x7F || !bytes[i];
	lex(&t->lexer, bytes, n, take_token, t);
}

uint64_t typed_keys(const struct typed *t)
{
	/* A lone Escape is still the beginning of a sequence. */
	return t->keys + (t->lexer.state ? 1 : 0);
}
