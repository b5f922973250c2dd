/* regex.c - compiles and runs regular expressions by PCRE2, with limits and without JIT, for short texts. */
#include <berth/regex.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <berth/mem.h>

/* PCRE2 counts the steps of each place to start from; all of a text get about so many, some 50 ms. */
#define STEPS 4000000
#define STEPS_LEAST 500
#define DEPTH 20000
#define HEAP_KIB 8192

struct regex {
	pcre2_code *code;
	bool whole;
};

struct regex *regex_new(const char *text, unsigned flags, char why[REGEX_WHY_MAX])
{
	/* Behind a byte that is not UTF-8 ".*" may begin, too, not only at the start of a line. */
	uint32_t options = PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY | PCRE2_NO_DOTSTAR_ANCHOR;
	uint32_t utf = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF;
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);
	struct regex *r = xcalloc(1, sizeof *r);
	PCRE2_UCHAR reason[REGEX_WHY_MAX - 32];
	PCRE2_SIZE at = 0;
	int bad = 0;

	if (flags & REGEX_FOLD)
		options |= PCRE2_CASELESS;
	if (flags & REGEX_LINES)
		options |= PCRE2_MULTILINE;
	if (flags & REGEX_WHOLE)
		options |= PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOTALL;
	r->whole = (flags & REGEX_WHOLE) != 0;
	pcre2_set_newline(c, PCRE2_NEWLINE_LF);
	for (; !r->code; utf = 0) {
		r->code =
			pcre2_compile((PCRE2_SPTR)text, strlen(text), options | utf, &bad, &at, c);
		if (!utf || bad > PCRE2_ERROR_UTF8_ERR1 || bad < PCRE2_ERROR_UTF8_ERR21)
			break;
	}
	pcre2_compile_context_free(c);
	if (r->code)
		return r;
	pcre2_get_error_message(bad, reason, sizeof reason);
	snprintf(why, REGEX_WHY_MAX, "%s, at character %zu", (const char *)reason, (size_t)at + 1);
	free(r);
	return NULL;
}

void regex_free(struct regex *r)
{
	if (!r)
		return;
	pcre2_code_free(r->code);
	free(r);
}

static pcre2_match_context *bound_match(const struct regex *r, size_t n)
{
	pcre2_match_context *c = pcre2_match_context_create(NULL);
	size_t places = r->whole ? 1 : n + 1, steps = STEPS / places;

	pcre2_set_match_limit(c, steps < STEPS_LEAST ? STEPS_LEAST : (uint32_t)steps);
	pcre2_set_depth_limit(c, DEPTH);
	pcre2_set_heap_limit(c, HEAP_KIB);
	return c;
}

int regex_find(const struct regex *r, const char *s, size_t n, size_t from, size_t *ret_start,
	size_t *ret_end)
{
	pcre2_match_data *found = pcre2_match_data_create(1, NULL);
	pcre2_match_context *c = bound_match(r, n);
	int rc = pcre2_match(r->code, (PCRE2_SPTR)s, n, from, 0, found, c);

	if (rc >= 0) {
		const PCRE2_SIZE *at = pcre2_get_ovector_pointer(found);

		if (ret_start)
			*ret_start = at[0];
		if (ret_end)
			*ret_end = at[1];
	}
	pcre2_match_context_free(c);
	pcre2_match_data_free(found);
	return rc >= 0 ? 1 : rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}
